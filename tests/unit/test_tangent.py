"""The tangent lift: its rows against those derived by hand, and its motions against differences of motions of the source."""

from __future__ import annotations

import numpy as np
import pytest

import chetaev as ch

SLEIGH = ch.System(
    "x y th", "m J a", lagrangian="m*(x'^2 + y'^2)/2 + J*th'^2/2", kinematic=["y'*cos(th) - x'*sin(th) = a*th'"], name="sleigh"
)
START = {"x": 0, "y": 0, "th": 0.5, "x'": -1, "th'": 0.6}
VALUES = {"m": 1.2, "J": 0.4, "a": 0.25}


def five_point(f, v, h=1e-3):
    return (8 * (f(v + h) - f(v - h)) - (f(v + 2 * h) - f(v - 2 * h))) / (12 * h)


def lifted(equations, start, values, along, t=1.5):
    lift = ch.transforms.tangent(equations, along=along)
    parameters = lift.parameters(start, parameters=values)
    motion = ch.simulate(lift.target, lift.forward(start, parameters=values), (0, t), parameters=parameters, tolerance=1e-12, keep="final")
    return lift, motion


def agrees(equations, start, values, by, names, t=1.5):
    """The variations of unknowns, against five-point differences of motions of the source."""
    lift, motion = lifted(equations, start, values, [by], t)

    def end(v):
        moved, given = dict(values), dict(start)
        (moved if by in moved else given)[by] = v
        found = ch.simulate(equations, given, (0, t), parameters=moved, tolerance=1e-12, keep="final")
        return np.array([found.final[name] for name in names])

    unknown = {z.base: w.base for z, w in lift.variations.items()}
    variations = [unknown[name.rstrip("'")] + "'" * name.count("'") for name in names]
    expected = five_point(end, float({**values, **start}[by]))
    assert [motion.final[name] for name in variations] == pytest.approx(expected, rel=1e-8, abs=1e-9)


def test_the_rows_of_the_sleigh_are_those_derived_by_hand():
    by_hand = ch.System(
        "x y th dx dy dth", "m J a da", lagrangian="m*(x'*dx' + y'*dy') + J*th'*dth'",
        kinematic=["y'*cos(th) - x'*sin(th) = a*th'", "dy'*cos(th) - y'*sin(th)*dth - dx'*sin(th) - x'*cos(th)*dth = a*dth' + da*th'"],
        variational=["δy*cos(th) - δx*sin(th) - a*δth = 0",
                     "δdy*cos(th) - δdx*sin(th) - a*δdth - dth*(sin(th)*δy + cos(th)*δx) - da*δth = 0"],
    )  # fmt: skip
    target = ch.transforms.tangent(ch.derive(SLEIGH, ch.DAlembert()), along=["a"]).target
    expected = ch.derive(by_hand, ch.VirtualWork())
    assert target.labels == expected.labels
    for found, row in zip(target.rows, expected.rows, strict=True):
        assert (found.residual - row.residual).expand() == 0
    assert "dx" in str(target) and r"\lambda" in target.latex()


NONLINEAR = ch.System("x y z", "a g", lagrangian="(x'^2 + y'^2 + z'^2)/2 - g*z - x*y/5", kinematic=["z' = a*sqrt(x'^2 + y'^2)"])
SERVO = ch.System(
    "x y z", "c w", lagrangian="(x'^2 + y'^2 + z'^2)/2 - w*(x^2 + y^2)/2", kinematic=["z' = y*x'"], variational=["δz = c*y*δx"]
)
SECOND = ch.System("x y", "w b", lagrangian="(x''^2 + y'^2)/2 - w*x'^2/2 - b*x*y", kinematic=["y' = x*x' + sin(y)"])
FORCED = SLEIGH.replace(forces={"x": "-a*x'*y", "th": "sin(th)"}, dissipation="m*th'^2/2")
CONTACT = SLEIGH.replace(lagrangian="m*(x'^2 + y'^2)/2 + J*th'^2/2 - a*s", action="s")
TWO = ch.System("x y z", "m c", lagrangian="m*(x'^2 + y'^2 + z'^2)/2 - c*x*z", kinematic=["z' = y*x'", "y' = c*x*z'"])

CASES = {
    "d'Alembert": (SLEIGH, ch.DAlembert(), START, VALUES, "a", ["x", "y'", "lambda1"]),
    "an initial value": (SLEIGH, ch.DAlembert(), START, VALUES, "th'", ["x", "y'", "lambda1"]),
    "forces": (FORCED, ch.DAlembert(), START, VALUES, "a", ["x", "y'", "lambda1"]),
    "vakonomic": (SLEIGH, ch.Vakonomic(), {**START, "lambda1": 0.3}, VALUES, "a", ["x", "y'", "lambda1"]),
    "vakonomic, its multiplier": (SLEIGH, ch.Vakonomic(), {**START, "lambda1": 0.3}, VALUES, "lambda1", ["x", "y'", "lambda1"]),
    "Chetaev": (NONLINEAR, ch.Chetaev(), {"x": 0.1, "y": 0, "z": 0, "x'": 1, "y'": 0.4}, {"a": 0.6, "g": 1.1}, "a", ["x", "z'", "lambda1"]),
    "virtual work": (SERVO, ch.VirtualWork(), {"x": 0.1, "y": 0.4, "z": 0, "x'": 1, "y'": 0}, {"c": 0.6, "w": 1.1}, "c", ["x", "lambda1"]),
    "second order": (
        SECOND, ch.DAlembert(), {"x": 0.3, "y": 0.2, "x'": 0.5, "x''": -0.1, "x'''": 0}, {"w": 1.2, "b": 0.4}, "w", ["x", "y'", "lambda1"],
    ),
    "Herglotz": (CONTACT, ch.Herglotz(ch.DAlembert()), {**START, "s": 0.1}, VALUES, "a", ["x", "y'", "s", "lambda1"]),
    "Herglotz, vakonomic": (CONTACT, ch.Herglotz(ch.Vakonomic()), {**START, "s": 0.1, "lambda1": 0.2}, VALUES, "a", ["x", "s", "lambda1"]),
    "mixed": (
        TWO, ch.Mixed({"kinematic[0]": ch.Vakonomic(), "kinematic[1]": ch.DAlembert()}),
        {"x": 0.5, "y": 0.3, "z": 0.1, "x'": 0.7, "lambda1": 0.2}, {"m": 1.2, "c": 0.4}, "c", ["x", "z'", "lambda1", "lambda2"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_variations_under_every_principle(case):
    system, principle, start, values, by, names = CASES[case]
    agrees(ch.derive(system, principle), start, values, by, names, t=0.8)


@pytest.mark.parametrize("along", ["I1", "δA2", "A1'"])
def test_variations_of_a_rotation_have_components_in_its_frame(along):
    top = ch.System(
        {"A": "SO3 body"}, "I1 g", lagrangian="(I1*A1'^2 + 2*A2'^2 + 2.5*A3'^2)/2 - g*(A33 + A31/3)", forces={"A1": "-g*A1'*A13"}
    )
    start, values = {"A": [0.3, -0.2, 0.5], "A1'": 0.4, "A2'": 1.1, "A3'": -0.3}, {"I1": 1.0, "g": 1.3}
    _, motion = lifted(top, start, values, [along])
    slopes = ch.simulate(ch.derive(top), start, (0, 1.5), parameters=values, slopes=[along], tolerance=1e-12)
    w = [motion.final[f"dA{k}"] for k in (1, 2, 3)]
    turned = motion.final.matrix("A") @ np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
    expected = [[slopes.final.slope(f"A{i}{j}", along) for j in (1, 2, 3)] for i in (1, 2, 3)]
    assert turned == pytest.approx(np.array(expected), abs=1e-10)


def test_eliminated_equations_are_lifted_row_by_row():
    equations = ch.derive(SLEIGH, ch.DAlembert()).eliminate()
    agrees(equations, START, VALUES, "a", ["x", "y'"], t=0.8)


def test_names():
    with pytest.raises(ch.UsageError, match="neither a parameter nor an initial value"):
        ch.transforms.tangent(ch.derive(SLEIGH, ch.DAlembert()), along=["q"])
    lift = ch.transforms.tangent(ch.derive(SLEIGH, ch.DAlembert()))
    assert [p.name for p in lift.target.system.parameters] == ["m", "J", "a"]
    assert "lambda1 is the derivative of lambda1, lambda2 is lambda1 itself" in str(lift)


def test_forms_and_any_group():
    form = ch.derive(ch.DynamicalForm("q1 q2", ["-q1'' - a*q2", "-q2'' + q1*q2"], parameters="a"))
    agrees(form, {"q1": 0.3, "q2": 0.5, "q1'": 0, "q2'": 0.1}, {"a": 0.6}, "a", ["q1", "q2'"], t=1)
    system = ch.System(
        {"A": "SL2 body", "x": "line"}, "g", lagrangian="(A1'^2 + 2*A2'^2 + 3*A3'^2 + x'^2)/2 - g*x*A11", kinematic=["x' = A1' + g*A2'"]
    )
    agrees(
        ch.derive(system, ch.DAlembert()),
        {"A": np.eye(2), "A1'": 0.2, "A2'": 0.3, "A3'": -0.1, "x": 0.1},
        {"g": 0.7},
        "g",
        ["x", "lambda1"],
    )


def test_a_gauge_system_stays_one():
    free = ch.System("q1 q2 z", "a", lagrangian="(q1' - q2')^2/2 + z'^2/2 - a*z^2/2 + z*(q1 - q2)")
    assert ch.analyze(ch.transforms.tangent(free, along=["a"]).target).verdict == "GAUGE"
    start, gauge = {"q1": 0.2, "q1'": 0.1, "z": 0.3, "z'": 0}, {"q2": "sin(a*t)"}
    motion = ch.simulate(ch.derive(free), start, (0, 1), parameters={"a": 0.8}, gauge=gauge, slopes=["a"], tolerance=1e-12)
    assert motion.final.slope("q2", "a") == pytest.approx(np.cos(0.8), rel=1e-9)

    def end(a):
        return ch.simulate(ch.derive(free), start, (0, 1), parameters={"a": a}, gauge=gauge, tolerance=1e-12, keep="final").final["z"]

    assert motion.final.slope("z", "a") == pytest.approx(five_point(end, 0.8), rel=1e-8)


def test_slopes_on_a_branch_with_a_gauge():
    """On the branch q3 = 0 of Cawley's system q1'' = k q2^2/2, so that q2 = t^2 gives q1 = v t + k t^6/60."""
    cawley = ch.derive(ch.System("q1 q2 q3", "k", lagrangian="q1'*q3' + k*q2^2*q3/2"))
    start = {"q1": 0, "q1'": 0.2, "q3": 0, "q3'": 0}
    motion = ch.simulate(cawley, start, (0, 1), parameters={"k": 3}, branch="q3 = 0", gauge={"q2": "t^2"}, slopes=["k", "q1'"])
    assert motion.final["q1"] == pytest.approx(0.25, rel=1e-9)
    assert motion.final.slope("q1", "k") == pytest.approx(1 / 60, rel=1e-9)
    assert motion.final.slope("q1", "q1'") == pytest.approx(1, rel=1e-9)
