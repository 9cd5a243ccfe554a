"""Motions of dynamical forms, free and constrained, against equations written by hand and SciPy."""

from functools import cache

import numpy as np
import pytest
import sympy
from scipy.integrate import solve_ivp

import chetaev as ch


def run(rates, start, end):
    """The end of a motion by SciPy."""
    found = solve_ivp(rates, (0, end), start, method="DOP853", rtol=1e-13, atol=1e-14)
    return found.y[:, -1]


@cache
def spiral():
    """A form that no Lagrangian has: 2x' stands in one row only."""
    return ch.DynamicalForm("x y", ["-x'' - y", "2*x' - x - y''"], name="spiral")


@cache
def ridden():
    """The form under a nonholonomic constraint: B' = -(x^2 + 1)."""
    return ch.constrain(spiral(), ch.ConstraintStructure("x y", ["y' = x*x'"]))


def reaction_of_ridden(x, y, v):
    """x'' = -y - x*lambda, y'' = 2x' - x + lambda, y'' = x'^2 + x*x''."""
    return (v * v - x * y - 2 * v + x) / (1 + x * x)


def end_of_ridden(start, end):
    return run(lambda t, s: [s[2], s[0] * s[2], -s[1] - s[0] * reaction_of_ridden(*s)], start, end)


# ---- equations ----------------------------------------------------------------------------------------------------------------------


def test_rows_are_minus_those_of_the_form():
    form, equations = spiral(), ch.derive(spiral())
    assert [sympy.expand(row.residual + e) for row, e in zip(equations.rows, form.rows, strict=True)] == [0, 0]
    assert equations.labels == ("E_x", "E_y") and equations.multipliers == ()
    assert ch.DynamicalForm.of(equations) == form


def test_multipliers_act_as_on_systems():
    equations = ch.derive(ridden())
    assert str(equations).splitlines()[1:4] == [
        "  E_x           x'' + y = -lambda1*x",
        "  E_y           x + y'' - 2*x' = lambda1",
        "  kinematic[0]  y' - x*x' = 0",
    ]
    assert str(equations.reaction("x")) == "-lambda1*x"


def test_displacements_come_from_a_rows_own_order():
    """A holonomic row and its derivative act by the same covector; a row of order 2 by its slope in the accelerations."""
    form = ch.DynamicalForm("x y z", ["-x''", "-y'' - x'", "-z''"])
    rows = ["y = x^2 + t", "z'' = x'*y''"]
    equations = ch.derive(ch.constrain(form, ch.ConstraintStructure("x y z", rows)))
    x, _ = ch.coordinates("x y")
    found = [{q.base: c for q, c in row.items()} for row in equations.variational]
    assert found == [{"x": -2 * x, "y": 1}, {"y": -x.d(), "z": 1}]


@pytest.mark.parametrize("principle", [ch.Hamilton(), ch.Chetaev()])
def test_no_principle_can_be_named(principle):
    for given in (spiral(), ridden()):
        with pytest.raises(ch.PrincipleError, match="its own equations"):
            ch.derive(given, principle)


def test_a_form_of_equations_gives_them_back():
    system = ch.System("x y", lagrangian="x'^2/2 + y'^2/2 - y", kinematic=["y' = x*x'"])
    equations = ch.derive(system, ch.DAlembert())
    form = ch.DynamicalForm.of(equations)
    assert ch.derive(form) == equations and ch.DynamicalForm.of(ch.derive(form)) == form


def test_a_constrained_lagrangian_form_moves_under_chetaev():
    free = ch.DynamicalForm.of(ch.System("x y", lagrangian="x'^2/2 + y'^2/2 - y"))
    equations = ch.derive(ch.constrain(free, ch.ConstraintStructure("x y", ["y' = x*x'"])))
    assert equations.principle == ch.Chetaev() and str(equations.rows[0].rhs) == "-lambda1*x"


def test_rows_beyond_the_coordinates_are_equations_too():
    form = ch.DynamicalForm("x y", ["x'' + y", "y' - x", "x'' + y + 2*y' - 2*x"])
    equations = ch.derive(form)
    assert ch.DynamicalForm.of(equations) == form
    assert ch.analyze(equations).verdict == ch.Verdict.REGULAR
    found = ch.simulate(equations, {"x": 1, "y": 0.3, "x'": 0}, (0, 1), tolerance=1e-11).final
    assert np.allclose([found["x"], found["y"]], run(lambda t, s: [s[1], -s[2], s[0]], [1, 0, 0.3], 1)[[0, 2]], atol=1e-10)


# ---- motions ------------------------------------------------------------------------------------------------------------------------


def test_a_free_form_moves():
    motion = ch.simulate(ch.derive(spiral()), {"x": 1, "y": 0, "x'": 0, "y'": 0.3}, (0, 2), tolerance=1e-12)
    end = run(lambda t, s: [s[2], s[3], -s[1], 2 * s[2] - s[0]], [1, 0, 0, 0.3], 2)
    assert np.allclose([motion.final[z] for z in ("x", "y", "x'", "y'")], end, atol=1e-11)
    assert motion.certificate.ok


def test_a_constrained_form_moves():
    start = {"x": 1, "y": 0, "x'": 0.5}
    motion = ch.simulate(ch.derive(ridden()), start, (0, 2), tolerance=1e-12)
    x, y, v = end_of_ridden([1, 0, 0.5], 2)
    found = [motion.final[z] for z in ("x", "y", "x'", "lambda1")]
    assert np.allclose(found, [x, y, v, reaction_of_ridden(x, y, v)], atol=1e-11)
    reduced = ch.simulate(ch.derive(ridden().equations), start, (0, 2), tolerance=1e-12)  # without the multiplier
    assert np.allclose([reduced.final["x"], reduced.final["y"]], [x, y], atol=1e-11)


def test_accelerations_and_multipliers():
    now = ch.evaluate(ch.derive(ridden()), {"x": 1.2, "y": -0.4, "x'": 0.5})
    lam = reaction_of_ridden(1.2, -0.4, 0.5)
    assert now["lambda1"] == pytest.approx(lam, abs=1e-14)
    assert now["x''"] == pytest.approx(0.4 - 1.2 * lam, abs=1e-14)
    assert now["y''"] == pytest.approx(1 - 1.2 + lam, abs=1e-14)
    assert now.reaction("x") == pytest.approx(-1.2 * lam, abs=1e-14)
    left = ch.residual(ch.derive(ridden()), {**now})
    assert max(map(abs, left.values())) < 1e-14


def test_b_need_not_be_symmetric_nor_the_row_linear():
    form = ch.DynamicalForm("x y z", ["-x'' - 2*y'' + a*z", "-3*y'' + x'", "-z'' - y*z'"], "a")
    equations = ch.derive(ch.constrain(form, ch.ConstraintStructure("x y z", ["z'^2 = x'^2 + y'^2 + b"], "b")))
    motion = ch.simulate(
        equations, ch.State({"x": 0.1, "y": 0.2, "z": 0.3, "x'": 0.5, "y'": -0.7}, {"z'": 1}), (0, 1.5), parameters={"a": 0.8, "b": 0.3},
        tolerance=1e-12,
    )  # fmt: skip

    def rates(t, s):
        _, y, z, u, v, w = s
        bordered = np.array([[1, 2, 0, 2 * u], [0, 3, 0, 2 * v], [0, 0, 1, -2 * w], [-2 * u, -2 * v, 2 * w, 0]])
        found = np.linalg.solve(bordered, [0.8 * z, u, -y * w, 0])
        return [u, v, w, *found[:3]]

    end = run(rates, [0.1, 0.2, 0.3, 0.5, -0.7, np.sqrt(0.25 + 0.49 + 0.3)], 1.5)
    assert np.allclose([motion.final[z] for z in ("x", "y", "z", "x'", "y'", "z'")], end, atol=1e-10)


def test_a_form_that_is_not_affine_moves():
    equations = ch.derive(ch.DynamicalForm("x", ["x''^3 + x'' + x + k*t"], "k"))
    motion = ch.simulate(equations, {"x": 1, "x'": 0}, (0, 2), parameters={"k": 0.3}, tolerance=1e-12)

    def acceleration(x, t):
        roots = np.roots([1, 0, 1, x + 0.3 * t])
        return roots[np.argmin(abs(roots.imag))].real

    end = run(lambda t, s: [s[1], acceleration(s[0], t)], [1, 0], 2)
    assert np.allclose([motion.final["x"], motion.final["x'"]], end, atol=1e-10)


def test_a_form_of_order_three_with_inputs_moves():
    form = ch.DynamicalForm("x y", ["D(x,3) + u*y", "y'' + w*x'*y'"], inputs={"u": None, "w": "1 + t"})
    equations = ch.derive(form)
    assert ch.DynamicalForm.of(equations) == form
    start = {"x": 1, "x'": 0, "x''": 0.2, "y": 0.4, "y'": 1}
    motion = ch.simulate(equations, start, (0, 2), inputs={"u": "sin(t)"}, tolerance=1e-12)
    end = run(lambda t, s: [s[1], s[2], -np.sin(t) * s[3], s[4], -(1 + t) * s[1] * s[4]], [1, 0, 0.2, 0.4, 1], 2)
    assert np.allclose([motion.final["x"], motion.final["y"]], end[[0, 3]], atol=1e-10)


def test_questions_about_jets_write_inputs_out():
    closed = ch.DynamicalForm("x", ["-x'' + u"], inputs={"u": "sin(t)"})
    assert ch.regularity(closed).regular and ch.helmholtz(closed).variational
    with pytest.raises(ch.ModelError, match="u has no value"):
        ch.constraint_algorithm(ch.DynamicalForm("x", ["-x'' + u"], inputs={"u": None}))


def test_branches_and_gauge():
    equations = ch.derive(ch.DynamicalForm("q1 q2 q3", ["-q3''", "q2*q3", "q2^2/2 - q1''"]))
    assert ch.analyze(equations).verdict == ch.Verdict.BRANCHING
    start = {"q1": 0.5, "q1'": -1, "q3": 0, "q3'": 0}
    with pytest.raises(ch.GaugeError):
        ch.simulate(equations, {**start, "q2": 1, "q2'": 1}, (0, 1))
    motion = ch.simulate(equations, start, (0, 1), branch=1, gauge={"q2": "1 + t"})
    assert motion.final["q1"] == pytest.approx(0.5 - 1 + (2**4 - 1) / 24 - 1 / 6, abs=1e-9)  # q1'' = (1 + t)^2/2


def test_dry_friction_in_a_form_sticks():
    equations = ch.derive(ch.DynamicalForm("x", ["-x'' - sign(x') - x/4"]))
    motion = ch.simulate(equations, {"x": 2, "x'": 1}, (0, 20))
    assert motion.final["x'"] == pytest.approx(0, abs=1e-9) and abs(motion.final["x"]) <= 4


# ---- other verbs --------------------------------------------------------------------------------------------------------------------


def test_ensembles_agree_with_single_motions():
    many = ch.simulate_many(ch.derive(ridden()), {"x": [1.0, 0.6], "y": 0.0, "x'": 0.5}, (0, 2), tolerance=1e-12)
    for k, x in enumerate((1.0, 0.6)):
        assert np.allclose([many.final["x"][k], many.final["y"][k]], end_of_ridden([x, 0, 0.5], 2)[:2], atol=1e-10)


def test_linearize():
    form = ch.DynamicalForm("x y", ["-x'' - 3*x + y' + c*x'", "-y'' - 2*y"], "c")
    found = ch.linearize(ch.derive(form), {"x": 0, "y": 0, "x'": 0, "y'": 0}, parameters={"c": -0.4})
    matrix = np.array([[0, 0, 1, 0], [0, 0, 0, 1], [-3, 0, -0.4, 1], [0, -2, 0, 0]])
    assert np.allclose(np.sort_complex(found.eigenvalues), np.sort_complex(np.linalg.eigvals(matrix)), atol=1e-10)


def test_slopes_of_motions_and_the_tangent_lift():
    form = ch.DynamicalForm("x y", ["-x'' - c*y", "2*x' - x - y''"], "c")
    start = {"x": 1, "y": 0, "x'": 0.5, "y'": 0.1}
    motion = ch.simulate(ch.derive(form), start, (0, 1), parameters={"c": 1.2}, slopes=["c"], tolerance=1e-11)

    def rates(t, s):
        x, y, u, v, dx, dy, du, dv = s
        return [u, v, -1.2 * y, 2 * u - x, du, dv, -1.2 * dy - y, 2 * du - dx]

    end = run(rates, [1, 0, 0.5, 0.1, 0, 0, 0, 0], 1)
    assert np.allclose([motion.slope("x", "c")[-1], motion.slope("y", "c")[-1]], end[4:6], atol=1e-9)
    lift = ch.transforms.tangent(ch.derive(form), along=["c"]).target
    moved = {**start, "dx": 0, "dy": 0, "dx'": 0, "dy'": 0}
    final = ch.simulate(lift, moved, (0, 1), parameters={"c": 1.2, "dc": 1}, tolerance=1e-11).final
    assert np.allclose([final["dx"], final["dy"]], end[4:6], atol=1e-9)


def test_there_is_no_energy():
    motion = ch.simulate(ch.derive(spiral()), {"x": 1, "y": 0, "x'": 0, "y'": 0.3}, (0, 1))
    assert "balance" not in motion.drift and "balance" not in str(motion)
    for verb in (lambda: motion.energy, lambda: motion.balance, lambda: ch.plot.balance(motion)):
        with pytest.raises(ch.UsageError, match="there is no energy"):
            verb()
    with pytest.raises(ch.UsageError, match="not a first integral"):
        ch.simulate(ch.derive(spiral()), {"x": 1, "y": 0, "x'": 0, "y'": 0.3}, (0, 1), conserve="energy")


def test_theorems_about_lagrangians_refuse():
    for verb in (ch.hamiltonian, ch.symmetries, ch.lift, ch.dirac):
        with pytest.raises(ch.PrincipleError):
            verb(ch.derive(spiral()))
    for principle in (ch.Hamilton(), ch.Vakonomic(), ch.Herglotz()):
        with pytest.raises(ch.PrincipleError):
            ch.derive(spiral().system, principle)


def test_a_change_of_coordinates_pulls_the_rows_back():
    morphism = ch.transforms.change_coordinates(ch.derive(spiral()), {"x": "u + y^2"})
    motion = ch.simulate(morphism.source, {"x": 1, "y": 0.2, "x'": 0, "y'": 0.3}, (0, 1), tolerance=1e-12)
    assert morphism.check(motion).largest < 1e-10


# ---- files --------------------------------------------------------------------------------------------------------------------------

FILE = """
[coordinates]
x = "line"
y = "line"
[parameters]
c = 2.0
[constraints]
kinematic = ["y' = x*x'"]
[equations]
x = "-x'' - y"
y = "c*x' - x = y''"
[initial]
fixed = ["x = 1", "y = 0", "x' = 0.5"]
[simulate]
t = [0, 2]
tolerance = 1e-12
"""


def test_a_model_file_states_equations_instead_of_a_lagrangian(tmp_path):
    file = tmp_path / "form.toml"
    file.write_text(FILE)
    model = ch.load(file)
    again = tmp_path / "again.toml"
    ch.save(model, again)
    assert ch.load(again) == model
    end = end_of_ridden([1, 0, 0.5], 2)
    assert np.allclose([ch.simulate(model).final[z] for z in ("x", "y", "x'")], end, atol=1e-11)
    assert "as stated" in ch.report(model).html or "equation" in ch.report(model).html


def test_motions_are_stored_and_read(tmp_path):
    motion = ch.simulate(ch.derive(ridden()), {"x": 1, "y": 0, "x'": 0.5}, (0, 1))
    motion.save(tmp_path / "motion.npz")
    again = ch.load(tmp_path / "motion.npz")
    assert again.equations == motion.equations and again.final["x"] == motion.final["x"]


def test_code_runs(tmp_path):
    model = ch.Model(ridden().system, ch.derive(ridden()).principle, start={"x": 1, "y": 0, "x'": 0.5}, t=(0, 1))
    assert "def " in ch.code(model, "numpy")


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({}, "neither a Lagrangian nor equations"),
        ({"lagrangian": "x'^2", "equations": {"x": "x''", "y": "y''"}}, "a Lagrangian and equations"),
        ({"equations": {"x": "x''"}}, "no equation of y"),
        ({"equations": {"x": "x''", "y": "0", "z": "0"}}, "not a coordinate"),
    ],
)
def test_systems_with_equations_are_checked(parts, said):
    with pytest.raises(ch.ModelError, match=said):
        ch.System("x y", **parts)
