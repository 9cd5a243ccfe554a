"""Cendra, Ibort, de León, Martín de Diego (J. Math. Phys. 45, 2004): the rolling balls of sections 2 and 6, by equation number.

The radius is 1 as in the paper. Right-hand sides are typed from the paper; where a printed form is wrong, the test asserts that it fails
and that the corrected one holds.
"""

import numpy as np
import pytest
import sympy
from scipy.spatial.transform import Rotation

import chetaev as ch

KINETIC = "I/2*(A1'^2 + A2'^2 + A3'^2) + M/2*(a1'^2 + a2'^2)"
RIGID = ["δa1 = δA2", "δa2 = -δA1"]
VALUES = {"I": 0.6, "M": 1.5}
WRONG = 1e-3


def elastic(guise="overdetermined"):
    return ch.derive(ch.gallery("elastic-ball", guise=guise))


def row(equations, label):
    """`lhs - rhs` of a row."""
    return next(r.residual for r in equations.rows if r.label == label)


def virtual_work(equations, displacement):
    """E_i - reactions, contracted with a virtual displacement: multipliers drop out if it lies in C_V."""
    return sum(row(equations, f"E_{q}") * c for q, c in displacement.items())


def rules(equations, texts):
    """A substitution typed as text."""
    return {ch.parse(left, equations): ch.parse(right, equations) for left, right in texts.items()}


def vanishes(e):
    return sympy.expand(e) == 0


# ---- section 2: the elastic ball ---------------------------------------------------------------------------------------------------------


def test_eq_1_2_the_rows_are_the_no_sliding_condition():
    """V = (w2, -w1) and w3 = 0, the rows of the gallery's ball, its multipliers being the friction."""
    equations = elastic()
    for label, text in (("kinematic[0]", "a1' - A2'"), ("kinematic[1]", "a2' + A1'"), ("kinematic[2]", "A3'")):
        assert vanishes(row(equations, label) - ch.parse(text, equations))
    assert equations.counts == (8, 7)  # the overdetermined system of the paper, with its two multipliers


def test_eq_13_14_the_equations_of_the_rigid_ball():
    """(I + M) w1' = 0 and (I + M) w2' = 0 from (8)-(12): virtual work along (10), with the derivative of (11)."""
    equations = elastic()
    rolling = rules(equations, {"a1''": "A2''", "a2''": "-A1''"})
    first = virtual_work(equations, {"A1": 1, "a2": -1}).xreplace(rolling)
    second = virtual_work(equations, {"A2": 1, "a1": 1}).xreplace(rolling)
    assert vanishes(first - ch.parse("(I + M)*A1''", equations))
    assert vanishes(second - ch.parse("(I + M)*A2''", equations))


@pytest.mark.erratum("001", "(15)", r"coefficient $I + M$", r"$I$; the equation says the same")
def test_eq_15_has_the_coefficient_I():
    """Printed (I + M) w3' = 0; the ball does not move when it turns about the vertical, so the coefficient is I."""
    equations = elastic()
    third = virtual_work(equations, {"A3": 1})
    assert vanishes(third - ch.parse("I*A3''", equations))
    assert not vanishes(third - ch.parse("(I + M)*A3''", equations))


def turning_ball(rate, t):
    """A ball that rolls around a circle and turns with it: w in space and its derivative, V = (cos, sin)(rate t) being the velocity."""
    c, s = np.cos(rate * t), np.sin(rate * t)
    return np.array([-s, c, rate]), rate * np.array([-c, -s, 0])


@pytest.mark.erratum("001", "section 6", r"(7) with $\omega_2\omega_1' - \omega_1\omega_2'$", r"the opposite sign, as in (7)")
@pytest.mark.parametrize("rate", [0.7, -1.2])
def test_eq_7_says_that_the_path_turns_with_the_ball(rate):
    """w1 w2' - w2 w1' = w3 (w1^2 + w2^2) for the superposition the paper describes; the sign printed in section 6 is the opposite one."""
    equations = elastic("second-order")
    w, dw = turning_ball(rate, 0.4)
    names = {f"A{k + 1}'": float(w[k]) for k in range(3)} | {f"A{k + 1}''": float(dw[k]) for k in range(3)}
    at = {ch.parse(name, equations): value for name, value in names.items()}
    assert abs(row(equations, "kinematic[2]").xreplace(at)) < 1e-15
    printed = ch.parse("A2'*A1'' - A1'*A2'' - A3'*(A1'^2 + A2'^2)", equations)
    assert abs(printed.xreplace(at)) > WRONG
    assert abs(w[2] ** 2 * (1 / rate) ** 2 - (w[0] ** 2 + w[1] ** 2)) < 1e-15  # (3), with the radius 1/rate of the circle


@pytest.mark.erratum(
    "001", "section 2", "(7) and (17) are equivalent", "only where the ball moves: one that spins on the spot satisfies (7)"
)
def test_eq_17_and_eq_7_are_equivalent_only_where_the_ball_moves():
    """A ball that spins on the spot satisfies (13)-(16) and (7), but not (17)."""
    spinning = {"A": np.eye(3), "a1": 0, "a2": 0, "A1'": 0, "A2'": 0, "A3'": 0.9}
    now = ch.evaluate(elastic("second-order"), spinning, parameters=VALUES)
    left = ch.residual(elastic("second-order"), dict(now), parameters=VALUES)
    assert max(map(abs, left.values())) < 1e-15
    with pytest.raises(ch.InitialError, match=r"kinematic\[2\]"):
        ch.evaluate(elastic(), spinning, parameters=VALUES)
    dimensions = [branch.dimension for branch in ch.analyze(elastic("second-order")).branches]
    assert dimensions == [7, 6]
    for guise in ("overdetermined", "second-order", "dalembert"):
        moving = ch.evaluate(elastic(guise), {**spinning, "A1'": 0.5, "A2'": -0.3, "A3'": 0}, parameters=VALUES)
        assert max(abs(moving[n]) for n in ("A1''", "A2''", "A3''", "a1''", "a2''", "A3'")) < 1e-15


# ---- section 6: symmetry --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("guise", ["overdetermined", "second-order", "dalembert"])
def test_eq_47_to_54_reduction_by_right_translations(guise):
    """The system on so(3) x R^2 has the same rows: L, C_K and C_V are invariant."""
    reduction = ch.reduce(ch.gallery("elastic-ball", guise=guise), group="A")
    assert reduction.target.system.kinds["A"] == "so3 spatial"
    assert [r.residual for r in reduction.target.rows] == [r.residual for r in reduction.source.rows]


@pytest.mark.parametrize("guise", ["overdetermined", "dalembert"])
def test_reconstruction_of_the_elastic_ball(guise):
    """The rotation exp(t w) A0 from the constant angular velocity in space."""
    model = ch.gallery("elastic-ball", guise=guise)
    reduction = ch.reduce(model, group="A")
    start = {name: value for name, value in model.start.fixed.items() if name != "A"}
    moved = ch.simulate(reduction.target, start, t=(0, 5), parameters=model.parameters)
    motion = reduction.reconstruct(moved, {"A": [0.3, -0.2, 0.5]})
    exact = Rotation.from_rotvec(5 * np.array([0.7, -0.4, 0])) * Rotation.from_rotvec([0.3, -0.2, 0.5])
    assert np.abs(motion.rotation("A")[-1] - exact.as_matrix()).max() < 1e-9


def test_dalembert_adds_alpha_3():
    """Its virtual displacements have alpha_3 = 0 too; the torque about the vertical is a reaction, and it is zero."""
    equations = elastic("dalembert")
    assert vanishes(equations.reaction("A3") - ch.parse("lambda3", equations))
    assert elastic().reaction("A3") == 0
    now = ch.evaluate(ch.gallery("elastic-ball", guise="dalembert"))
    assert abs(now["lambda3"]) < 1e-15


def inhomogeneous(principle):
    system = ch.gallery("elastic-ball-inhomogeneous").system
    return ch.derive(system if principle == ch.VirtualWork() else system.replace(variational=None), principle)


def test_the_inhomogeneous_ball_contradicts_itself_but_not_under_dalembert():
    """The case announced at the end of section 2: with the rigid ball's variations there is no motion for general data."""
    start = {"A": [0.5, -0.4, 0.3], "a1": 0, "a2": 0, "A1'": 0.8, "A2'": 0.3, "A3'": 0}
    values = ch.gallery("elastic-ball-inhomogeneous").parameters
    assert ch.analyze(inhomogeneous(ch.VirtualWork())).verdict == "INCONSISTENT"
    with pytest.raises(ch.ChetaevError):
        ch.evaluate(inhomogeneous(ch.VirtualWork()), start, parameters=values)
    assert ch.analyze(inhomogeneous(ch.DAlembert())).verdict == "REGULAR"
    now = ch.evaluate(inhomogeneous(ch.DAlembert()), start, parameters=values)
    a, w, dw = now.rotation("A"), np.array([0.8, 0.3, 0]), np.array([now["A1''"], now["A2''"], 0])
    inertia = a @ np.diag([values["I1"], values["I2"], values["I3"]]) @ a.T
    torque = inertia @ dw + np.cross(w, inertia @ w)  # about the centre; the friction (lambda1, lambda2) acts at -e3
    assert torque == pytest.approx([now["lambda2"], -now["lambda1"], now["lambda3"]], abs=1e-13)
    assert abs(now["lambda3"]) > 0.01  # the torque against twisting that the rigid ball's variations forbid


# ---- section 6: the ball on a moving plane ------------------------------------------------------------------------------------------

FIELDS = {
    "quadratic": ("a1*a2/3 - a2^2", "a1^2/2 - 2*a2"),
    "waves": ("sin(2*a2) + cos(a1)/4", "-sin(a1)*a2"),
}


def moving(field, principle):
    """(57)-(61): the rows (61), and (60) as variational rows for the principle of virtual work."""
    v1, v2 = FIELDS[field]
    system = ch.System(
        {"A": "SO3 spatial", "a1": "line", "a2": "line"},
        "I M",
        lagrangian=KINETIC,
        where={"v1": v1, "v2": v2},
        kinematic=["A2' = a1' - v1", "-A1' = a2' - v2"],
        variational=RIGID if principle == ch.VirtualWork() else None,
        name="ball on a moving plane",
    )
    return ch.derive(system, principle)


def along(equations, e):
    """Dv(a) applied to a vector given by two expressions."""
    a1, a2 = ch.parse("a1", equations), ch.parse("a2", equations)
    v = [ch.parse(name, equations) for name in ("v1", "v2")]
    return [component.diff(a1) * e[0] + component.diff(a2) * e[1] for component in v]


def rolled(equations):
    """a' by (61), and a'' by its derivative."""
    v1, v2, a1, a2 = (ch.parse(text, equations) for text in ("A2' + v1", "-A1' + v2", "a1'", "a2'"))
    turned = along(equations, (v1, v2))
    return {
        a1: v1,
        a2: v2,
        a1.d(): ch.parse("A2''", equations) + turned[0],
        a2.d(): ch.parse("-A1''", equations) + turned[1],
    }


@pytest.mark.parametrize("principle", [ch.VirtualWork(), ch.DAlembert(), ch.Chetaev()], ids=str)
@pytest.mark.parametrize("field", FIELDS)
def test_eq_55_56(field, principle):
    """(I + M)(w2', -w1') = -M Dv(a) [(w2, -w1) + v(a)] and w3' = 0, symbolically."""
    equations = moving(field, principle)
    velocity = [ch.parse(text, equations) for text in ("A2' + v1", "-A1' + v2")]
    driven = along(equations, velocity)
    first = virtual_work(equations, {"A2": 1, "a1": 1}).xreplace(rolled(equations))
    second = virtual_work(equations, {"A1": 1, "a2": -1}).xreplace(rolled(equations))
    mass = ch.parse("M", equations)
    assert vanishes(first - ch.parse("(I + M)*A2''", equations) - mass * driven[0])
    assert vanishes(-second - ch.parse("-(I + M)*A1''", equations) - mass * driven[1])
    assert vanishes(virtual_work(equations, {"A3": 1}) - ch.parse("I*A3''", equations))


@pytest.mark.parametrize("principle", [ch.VirtualWork(), ch.DAlembert()], ids=str)
@pytest.mark.parametrize("field", FIELDS)
def test_eq_55_56_numerically_with_the_force_of_the_floor(field, principle):
    """Accelerations at random states; F = M((w2', -w1') + Dv (w2, -w1) + Dv v) is the pair of multipliers up to the sign of the rows."""
    equations = moving(field, principle)
    rng = np.random.default_rng(3)
    for _ in range(3):
        names = ("a1", "a2", "A1'", "A2'", "A3'")
        start = {"A": rng.uniform(-1, 1, 3).tolist(), **dict(zip(names, rng.uniform(0.3, 1.2, 5) * rng.choice([-1, 1], 5), strict=True))}
        now = ch.evaluate(equations, start, parameters=VALUES)
        at = {ch.parse(name, equations): sympy.Float(start[name]) for name in ("a1", "a2")}
        roll = np.array([start["A2'"], -start["A1'"]])
        field_here = np.array([float(ch.parse(name, equations).xreplace(at)) for name in ("v1", "v2")])
        driven = np.array([float(sympy.S(e).xreplace(at)) for e in along(equations, [*map(sympy.Float, roll + field_here)])])
        turned = -VALUES["M"] / (VALUES["I"] + VALUES["M"]) * driven
        assert [now["A2''"], -now["A1''"], now["A3''"]] == pytest.approx([*turned, 0], abs=1e-13)
        assert [now["a1'"], now["a2'"]] == pytest.approx(roll + field_here, abs=1e-14)
        force = VALUES["M"] * (turned + driven)
        sign = 1 if principle == ch.VirtualWork() else -1  # the rows (60) have +δa, the rows (61) have -a'
        assert [now["lambda1"], now["lambda2"]] == pytest.approx(sign * force, abs=1e-13)
        assert [now.reaction("a1"), now.reaction("a2")] == pytest.approx(force, abs=1e-13)
        power = now["I*(A1'*A1'' + A2'*A2'' + A3'*A3'') + M*(a1'*a1'' + a2'*a2'')"]
        assert power == pytest.approx(force @ field_here, abs=1e-13)  # E' = F v(a): the floor works on the ball


def test_eq_61_as_virtual_displacements_would_be_wrong():
    """The variations (60) do not contain v: with (61) as they stand for C_V the rows would not be linear in δ, and the library says so."""
    v1, _ = FIELDS["quadratic"]
    with pytest.raises(ch.NotationError):
        ch.System(
            {"A": "SO3 spatial", "a1": "line", "a2": "line"},
            "I M",
            lagrangian=KINETIC,
            kinematic=[f"A2' = a1' - ({v1})"],
            variational=[f"δA2 = δa1 - ({v1})"],
        )
