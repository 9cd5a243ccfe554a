"""Motions of systems whose Jacobian is rectangular or of deficient rank: redundant rows, overdetermined and hidden constraints."""

from fractions import Fraction

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import chetaev as ch
from chetaev.core.symbols import Coordinate, Parameter
from chetaev.numerics.flow.closure import closure, closure_of
from chetaev.numerics.flow.compiled import compile_at, compile_equations, compile_system
from chetaev.numerics.flow.elimination import Samples, elimination_order, solve
from chetaev.numerics.flow.locus import locus_at
from chetaev.numerics.flow.prolongation import prolongation

PENDULUM = ch.System("x y", "m g l", lagrangian="m/2*(x'^2 + y'^2) - m*g*y", kinematic=["x^2 + y^2 = l^2"], name="pendulum")
VALUES = {"m": 1.3, "g": 9.81, "l": 2.0}
START = {"x": 1.2, "y": -1.6, "x'": 0.4}

# -- elimination ---------------------------------------------------------------------------------------------------------------------


def numbers(expressions):
    return np.array(ca.Function("f", [], [ca.vertcat(*expressions)])()["o0"]).ravel() if expressions else np.zeros(0)


@pytest.mark.parametrize(("m", "n", "r"), [(4, 4, 4), (5, 3, 3), (3, 5, 3), (6, 6, 4), (7, 4, 2), (3, 3, 0)])
def test_elimination_of_any_rank(m, n, r):
    """A solution where there is one, what is left where there is none, and the null space."""
    chance = np.random.default_rng(10 * m + n)
    matrices = [chance.normal(size=(m, r)) @ chance.normal(size=(r, n)) for _ in range(3)]
    order = elimination_order(Samples.of(matrices), r)
    assert len(order.pairs) == r
    a = matrices[0]
    entries = [[ca.SX(float(v)) for v in line] for line in a]
    good, bad = a @ chance.normal(size=n), chance.normal(size=m)
    solved = solve(entries, [ca.SX(float(v)) for v in good], order, Samples.of(matrices))
    assert np.allclose(a @ numbers(solved.solution), good, atol=1e-9)
    assert len(solved.null) == n - r and len(solved.leftover) == m - r
    for column in solved.null:
        assert np.allclose(a @ numbers(column), 0, atol=1e-9) and np.abs(numbers(column)).max() >= 1
    assert np.allclose(numbers([e for _, e in solved.leftover]), 0, atol=1e-9)
    left = numbers([e for _, e in solve(entries, [ca.SX(float(v)) for v in bad], order, Samples.of(matrices)).leftover])
    inside = np.allclose(a @ np.linalg.lstsq(a, bad, rcond=1e-9)[0], bad, atol=1e-9)
    assert np.allclose(left, 0, atol=1e-9) == inside


def test_the_determinant_has_its_sign():
    chance = np.random.default_rng(4)
    for n in range(1, 6):
        a = chance.normal(size=(n, n))
        order = elimination_order(Samples.of([a]))
        solved = solve([[ca.SX(float(v)) for v in line] for line in a], [ca.SX(0)] * n, order, Samples.of([a]))
        assert solved.sign * np.prod(numbers(solved.pivots)) == pytest.approx(np.linalg.det(a))


def test_constants_are_preferred_as_pivots():
    a = np.array([[1.0, 1.0], [1.0, -1.0]])
    assert elimination_order(Samples.of([a]), constant=np.array([[False, False], [False, True]])).pairs[0] == (1, 1)
    assert elimination_order(Samples.of([a])).pairs[0] == (0, 0)


def test_units_do_not_hide_an_entry():
    """Scaled rows and columns give the same order; entries of 1e-40 beside 1 are not taken for round-off."""
    chance = np.random.default_rng(8)
    a = chance.normal(size=(4, 4))
    scaled = np.diag(10.0 ** np.array([-20, 0, 7, 3])) @ a @ np.diag(10.0 ** np.array([-20, 5, 0, 1]))
    order = elimination_order(Samples.of([scaled]))
    assert len(order.pairs) == 4
    x = 10.0 ** np.array([20, -5, 0, -1])
    right = [ca.SX(float(v)) for v in scaled @ x]
    found = solve([[ca.SX(float(v)) for v in line] for line in scaled], right, order, Samples.of([scaled])).solution
    assert numbers(found) == pytest.approx(x, rel=1e-9)


# -- redundant constraints -----------------------------------------------------------------------------------------------------------


def test_a_row_stated_twice_changes_no_motion():
    single = ch.simulate(ch.derive(PENDULUM, ch.DAlembert()), START, (0, 5), parameters=VALUES, tolerance=1e-11)
    twice = PENDULUM.replace(kinematic=["x^2 + y^2 = l^2", "2*x^2 + 2*y^2 = 2*l^2"])
    double = ch.simulate(ch.derive(twice, ch.DAlembert()), START, (0, 5), parameters=VALUES, tolerance=1e-11)
    assert double.outcome == "finished"
    assert double.final["x"] == pytest.approx(single.final["x"], abs=1e-12)
    assert max(v for k, v in double.drift.items() if k != "balance") < 1e-14
    one = single["lambda1"][-1]
    assert (double["lambda1"][-1], double["lambda2"][-1]) == pytest.approx((one / 5, 2 * one / 5), rel=1e-9)
    assert double.reaction("x")[-1] == pytest.approx(single.reaction("x")[-1], rel=1e-9)


@pytest.mark.parametrize(
    "rows",
    [
        ["y'*cos(z) = x'*sin(z)", "y'*sin(z)*cos(z) = x'*sin(z)^2"],
        ["x = y", "2*x = 2*y"],
        ["x^2 + y^2 + z^2 = 1", "x*x' + y*y' + z*z' = 0"],
        ["x' = y*z'", "2*x' = 2*y*z'", "-x' = -y*z'"],
    ],
)
def test_redundant_rows_of_every_kind_move_as_one(rows):
    system = ch.System("x y z", lagrangian="(x'^2 + 2*y'^2 + z'^2)/2 - z*x", kinematic=rows)
    start = ch.State({"x": 0.6, "z": 0.3, "z'": 0.2}, {"y": 0.6 if "x = y" in rows else 0.7, "x'": 0.4, "y'": 0.1})
    both = ch.simulate(ch.derive(system, ch.DAlembert()), start, (0, 2), tolerance=1e-11)
    first = {name: float(both[name][0]) for name in ("x", "y", "z", "x'", "y'", "z'")}
    alone = ch.simulate(ch.derive(system.replace(kinematic=rows[:1]), ch.DAlembert()), first, (0, 2), tolerance=1e-11)
    for name in first:
        assert both.final[name] == pytest.approx(alone.final[name], abs=1e-8), name
    assert max(v for k, v in both.drift.items() if k != "balance") < 1e-12


def linkage():
    """A bar on three equal parallel cranks: the third is redundant while the bar stays parallel to the base."""
    rows = []
    for k, crank in enumerate("abc"):
        rows += [f"X + {k}*cos(phi) = {k} + r*cos({crank})", f"Y + {k}*sin(phi) = r*sin({crank})"]
    kinetic = "(X'^2 + Y'^2 + phi'^2)/2 + J/2*(a'^2 + b'^2 + c'^2)"
    return ch.derive(ch.System("X Y phi a b c", "r J", lagrangian=f"{kinetic} - Y + sin(a)/10", kinematic=rows), ch.DAlembert())


def test_a_redundant_crank():
    r, J, angle, speed = 0.9, 0.3, 0.7, 0.5
    guess = {"b": angle, "c": angle, "phi": 0, "X": r * np.cos(angle), "Y": r * np.sin(angle)}
    start = ch.State({"a": angle, "a'": speed}, {**guess, "phi'": 0, "b'": speed, "c'": speed, "X'": 0, "Y'": 0})
    equations, values = linkage(), {"r": r, "J": J}
    motion = ch.simulate(equations, start, (0, 3), parameters=values, tolerance=1e-11)
    # one degree: (r^2 + 3 J) a'' = -(r - 1/10) cos(a)
    rate = lambda t, y: [y[1], -(r - 0.1) * np.cos(y[0]) / (r**2 + 3 * J)]  # noqa: E731
    exact = solve_ivp(rate, (0, 3), [angle, speed], rtol=1e-12, atol=1e-13, method="DOP853").y[:, -1]
    assert motion.outcome == "finished"
    assert [motion.final[n] for n in ("a", "b", "c")] == pytest.approx([exact[0]] * 3, abs=1e-10)
    assert [motion.final[n] for n in ("a'", "phi")] == pytest.approx([exact[1], 0], abs=1e-10)
    assert max(v for k, v in motion.drift.items() if k != "balance") < 1e-13
    now = ch.evaluate(equations, motion.final, parameters=values)
    assert now.undetermined == tuple(f"lambda{k}" for k in range(1, 7))
    multipliers = [motion[n][-1] for n in now.undetermined]
    assert multipliers == pytest.approx([now[n] for n in now.undetermined], abs=1e-10)
    along = np.array([np.cos(exact[0]), np.sin(exact[0])])
    stress = np.concatenate([along, -2 * along, along])  # forces along the cranks that cancel on the bar: what no motion shows
    assert np.dot(stress, multipliers) == pytest.approx(0, abs=1e-10)
    total = sum(now[f"lambda{k}"] for k in (1, 3, 5))
    assert total == pytest.approx(now["X''"], abs=1e-10)


# -- overdetermined and singular systems ---------------------------------------------------------------------------------------------


def test_the_transformer_starts_and_runs_from_its_currents():
    """004, example 3: lambda1 = -2 I1, lambda2 = 2 R1 L2 I1/(M R2), and a linear flow of the two currents."""
    model = ch.gallery("transformer")
    R1, R2, L1, L2, M = (model.parameters[k] for k in ("R1", "R2", "L1", "L2", "M"))
    k = R2 / (L2**2 * R1 + M**2 * R2)
    flow = k * np.array([[L2 * R1, -M * R2], [-M * R1, -L2 * R1]])
    first = np.array([0.5, -0.3])
    now, rates = ch.evaluate(model), flow @ first
    assert (now["I1'"], now["I2'"]) == pytest.approx(tuple(rates), abs=1e-14)
    assert now["epsilon"] == pytest.approx(R1 * 0.5 + L1 * rates[0] + M * rates[1], abs=1e-14)
    assert (now["lambda1"], now["lambda2"]) == pytest.approx((-1.0, 2 * R1 * L2 * 0.5 / (M * R2)), abs=1e-14)
    for T in (0.75, 3.0):
        motion = ch.simulate(model, t=(0, T), tolerance=1e-12)
        assert (motion.final["I1"], motion.final["I2"]) == pytest.approx(tuple(expm(flow * T) @ first), rel=2e-12)
        assert max(v for label, v in motion.drift.items() if label != "balance") < 1e-13
        assert {"consequence[0]", "consequence[1]"} <= set(motion.drift)


def test_data_off_a_consequence_are_refused():
    model = ch.gallery("transformer")
    with pytest.raises(ch.InitialError, match="contradict"):
        ch.evaluate(ch.derive(model), {"I1": 0.5, "I2": -0.3, "lambda1": 1.0}, parameters=model.parameters)


W = {
    "w1": "psi'*sin(theta)*sin(phi) + theta'*cos(phi)",
    "w2": "-psi'*sin(theta)*cos(phi) + theta'*sin(phi)",
    "w3": "phi' + psi'*cos(theta)",
}


def ball(**changes):
    parts = {
        "coordinates": "theta phi psi a1 a2",
        "parameters": "I M g",
        "lagrangian": "I/2*(theta'^2 + phi'^2 + psi'^2 + 2*phi'*psi'*cos(theta)) + M/2*(a1'^2 + a2'^2) - M*g*a1",
        "quasi": W,
        "kinematic": ["a1' = w2'", "a2' = -w1'", "w3' = 0"],
        "variational": ["δa1 = δw2", "δa2 = -δw1"],
    }
    return ch.derive(ch.System(**(parts | changes)), ch.VirtualWork())


def test_an_elastic_ball_on_a_slope_in_euler_angles():
    """Eight rows for seven unknowns; rolling without spin, (M + I) a1'' = -M g and a2'' = 0, lambda1 = M (a1'' + g)."""
    equations, values = ball(), {"I": 0.4, "M": 1.3, "g": 2.0}
    assert equations.counts == (8, 7)
    start = {"theta": 1.1, "phi": 0.3, "psi": -0.4, "a1": 0.2, "a2": 0.1, "a1'": 0.5, "a2'": -0.3}
    now = ch.evaluate(equations, start, parameters=values)
    fall = -1.3 * 2.0 / 1.7
    assert (now["a1''"], now["a2''"]) == pytest.approx((fall, 0), abs=1e-13)
    assert (now["lambda1"], now["lambda2"]) == pytest.approx((1.3 * (fall + 2.0), 0), abs=1e-13)
    motion = ch.simulate(equations, start, (0, 1), parameters=values, tolerance=1e-11)
    assert (motion.final["a1"], motion.final["a2"]) == pytest.approx((0.2 + 0.5 + fall / 2, -0.2), abs=1e-10)
    assert np.abs(motion["w3'"]).max() < 1e-14


def test_special_motions_of_the_inhomogeneous_ball():
    """Straight rolling about a horizontal principal axis is a motion; rolling about another horizontal axis is none."""
    body = {
        "b1": "phi'*sin(theta)*sin(psi) + theta'*cos(psi)",
        "b2": "phi'*sin(theta)*cos(psi) - theta'*sin(psi)",
        "b3": "phi'*cos(theta) + psi'",
    }
    lagrangian = "(I1*b1^2 + I2*b2^2 + I3*b3^2)/2 + M/2*(a1'^2 + a2'^2)"
    equations = ball(where=body, lagrangian=lagrangian, parameters="I1 I2 I3 M")
    values = {"I1": 0.4, "I2": 0.7, "I3": 0.9, "M": 1.3}
    roll = {"theta": 1.1, "phi": 0.3, "psi": 0, "a1": 0.2, "a2": 0.1, "theta'": 0.8, "phi'": 0, "psi'": 0}
    now = ch.evaluate(equations, roll, parameters=values)
    assert (now["a1'"], now["a2'"]) == pytest.approx((0.8 * np.sin(0.3), -0.8 * np.cos(0.3)), abs=1e-13)
    assert [now[f"{n}''"] for n in ("theta", "phi", "psi", "a1", "a2")] == pytest.approx([0] * 5, abs=1e-12)
    motion = ch.simulate(equations, roll, (0, 2), parameters=values, tolerance=1e-10)
    assert motion.outcome == "finished" and motion.final["theta"] == pytest.approx(1.1 + 1.6, abs=1e-9)
    with pytest.raises(ch.InitialError, match="consequence"):
        ch.evaluate(equations, roll | {"psi": 0.5}, parameters=values)


def test_two_rows_that_hide_a_relation_between_positions():
    """x' = y and x' = z: y = z follows from both together; then y'' = 0 and lambda1 + lambda2 = y' + 0.6 x."""
    system = ch.System("x y z", lagrangian="(x'^2 + y'^2 + z'^2)/2 - 0.3*x^2", kinematic=["x' = y", "x' = z"])
    equations = ch.derive(system, ch.DAlembert())
    start = {"x": 0.1, "y": 0.2, "y'": 0.3}
    now = ch.evaluate(equations, start)
    assert (now["z"], now["z'"], now["x''"]) == pytest.approx((0.2, 0.3, 0.3), abs=1e-14)
    assert (now["lambda1"], now["lambda2"]) == pytest.approx((0.18, 0.18), abs=1e-14)
    motion = ch.simulate(equations, start, (0, 2), tolerance=1e-11)
    assert [motion.final[n] for n in ("x", "y", "z")] == pytest.approx([0.1 + 0.4 + 0.6, 0.8, 0.8], abs=1e-12)


def test_a_lagrangian_that_leaves_no_initial_value_free():
    """L = (x' - a)^2/2 + (y' - x)^2/2 - y^2/2 in x, y, a: E_a gives x' = a, E_x then y' = x, E_y y = 0, and all vanish."""
    now = ch.evaluate(ch.derive(ch.System("x y a", lagrangian="(x' - a)^2/2 + (y' - x)^2/2 - y^2/2")), {})
    assert all(v == pytest.approx(0, abs=1e-15) for v in now.values())


def test_driven_rows_stated_in_two_guises():
    """x' = (y + sin(t)) cos(x) and the same times cos(x); y'' = 0. Four rows for three unknowns, explicit in time."""
    rows = ["x' = (y + sin(t))*cos(x)", "x'*cos(x) = (y + sin(t))*cos(x)^2"]
    system = ch.System("x y", "k", lagrangian="(x'^2 + y'^2)/2 - k*x^2/2", kinematic=rows, variational=["δx = 0"])
    equations = ch.derive(system, ch.VirtualWork())
    motion = ch.simulate(equations, {"x": 0.1, "y": 0.2, "y'": 0.1}, (0, 2), parameters={"k": 1}, tolerance=1e-11)
    rate = lambda t, x: (0.2 + 0.1 * t + np.sin(t)) * np.cos(x)  # noqa: E731
    exact = solve_ivp(rate, (0, 2), [0.1], rtol=1e-12, atol=1e-13, method="DOP853").y[0, -1]
    assert motion.final["x"] == pytest.approx(exact, abs=1e-10)
    assert max(v for k, v in motion.drift.items() if k != "balance") < 1e-13


def test_redundant_vakonomic_constraints():
    """A holonomic row stated twice under the vakonomic principle: only the multipliers are open."""
    twice = PENDULUM.replace(kinematic=["x^2 + y^2 = l^2", "2*x^2 + 2*y^2 = 2*l^2"])
    one, two = (ch.evaluate(ch.derive(s, ch.Vakonomic()), START, parameters=VALUES) for s in (PENDULUM, twice))
    assert two["x''"] == pytest.approx(one["x''"], abs=1e-12)
    assert (two["lambda1"], two["lambda2"]) == pytest.approx((one["lambda1"] / 5, 2 * one["lambda1"] / 5), abs=1e-12)


def test_a_gauge_row_closes_a_gauge_system():
    """L = (q1' - q2)^2/2 demands q1' - q2 constant in time, and zero: with q2 = cos(2 t) the rest follows, q1 = sin(2 t)/2."""
    equations = ch.derive(ch.System("q1 q2", lagrangian="(q1' - q2)^2/2"))
    stated = closure_of(equations)
    assert stated.free
    gauge = stated.system.algebra.of(ch.parse("q2 - cos(2*t)", equations))
    found = closure(stated.system.extended([gauge], ["gauge[0]"]))
    assert found.determined
    flow = compile_system(found.system, "gauge").flow
    rates = flow.rhs()
    q2 = lambda t: np.cos(2 * t)  # noqa: E731
    for t in (0.3, 1.1):
        state = {"q1": np.sin(2 * t) / 2, "q1'": q2(t), "q2": q2(t)}
        x = [state[z.name] for z in flow.state]
        exact = {"q1": q2(t), "q1'": -2 * np.sin(2 * t), "q2": -2 * np.sin(2 * t)}
        assert np.array(rates(t, x, [0.0])).ravel() == pytest.approx([exact[z.name] for z in flow.state], abs=1e-13)
        assert np.array(flow.project()(t, [v + 1e-3 for v in x], [0.0])).ravel()[flow.state.index(Coordinate("q2"))] == pytest.approx(q2(t))


@pytest.mark.parametrize("size", [0.0, 1e-200, 1e-30, 1e-9, 1.0])
def test_redundant_rows_do_not_contradict_each_other_at_small_states(size):
    """Two guises of one knife edge at rest or nearly so: what is left of the redundant row is round-off, however small the terms are."""
    rows = ["y'*cos(z) = x'*sin(z)", "y'*sin(z)*cos(z) = x'*sin(z)^2"]
    system = ch.System("x y z", lagrangian="(x'^2 + 2*y'^2 + z'^2)/2 - z*x", kinematic=rows)
    now = ch.evaluate(ch.derive(system, ch.DAlembert()), {"x": 0.6, "y": 0.1, "z": 0.3, "x'": size, "z'": size})
    alone = ch.evaluate(
        ch.derive(system.replace(kinematic=rows[:1]), ch.DAlembert()), {"x": 0.6, "y": 0.1, "z": 0.3, "x'": size, "z'": size}
    )
    assert [now[n] for n in ("x''", "y''", "z''")] == pytest.approx([alone[n] for n in ("x''", "y''", "z''")], abs=1e-12)


# -- what is watched -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", [1e-6, 1e-3, 1e3, 1e6])
def test_the_smallest_pivot_has_no_units(unit):
    """A cart and a pendulum bob, with the cart's coordinate in other units: the pivots chosen at the state are about as good."""

    def smallest(u):
        kinetic = f"(m*({u}*x')^2 + (({u}*x' + l*cos(a)*a')^2 + (l*sin(a)*a')^2))/2"
        equations = ch.derive(
            ch.System("x a", "m l", lagrangian=f"{kinetic} + cos(a)", kinematic=[f"{u}*x = l*sin(a) + a^3"]), ch.DAlembert()
        )
        state = {Coordinate("x"): 0.3 / u, Coordinate("a"): 0.4, Coordinate("x", 1): 0.0, Coordinate("a", 1): 0.0}
        point = {**state, Parameter("m"): 1.2, Parameter("l"): 0.8}
        flow = compile_at(prolongation(equations), point).flow
        return float(flow.watch()(0.0, [point[z] for z in flow.state], [*[point[z] for z in flow.arguments], 0.0])[1])

    assert 0.2 < smallest(Fraction(unit).limit_denominator(10**7)) / smallest(1) < 5


def test_kernels_are_made_once():
    compiled = compile_equations(ch.derive(PENDULUM, ch.DAlembert()))
    assert compiled.watch(()) is compiled.watch(())
    assert compiled.energy is compiled.energy
    assert compiled.conserving() is compiled.conserving()
    state = np.array([1.2, 0.4, -1.6, 0.3])
    p = np.array([1.3, 9.81, 2.0, 0.0])
    assert compiled.energy(0.0, state, p)[0] == pytest.approx(1.3 / 2 * 0.25 - 1.3 * 9.81 * 1.6)
    assert compiled.energy_at(0.0, state, np.array([1.3, 9.81, 2.0, 77.0])) == pytest.approx(1.3 / 2 * 0.25 - 1.3 * 9.81 * 1.6)


def test_the_energy_does_not_count_the_work_done():
    equations = ch.derive(ch.System("x", "m", lagrangian="m*x'^2/2 - x^4", forces={"x": "-x'"}))
    compiled = compile_equations(equations)
    order = [z.name for z in compiled.flow.state]
    state = np.array([{"x": 0.7, "x'": -1.1}[name] for name in order] + [5.0])
    assert compiled.energy_at(0.0, state, np.array([1.9, 3.0])) == pytest.approx(1.9 / 2 * 1.21 + 0.7**4, rel=1e-14)


def test_the_locus_is_named():
    model = ch.gallery("rocard")
    equations = ch.derive(model)
    now = ch.evaluate(model)
    values = {p: model.parameters[p.name] for p in equations.system.parameters}
    on = {**values, **now.jets, Coordinate("psi", 1): 0.0}
    assert locus_at(equations, on) == "psi' = 0"
    assert locus_at(equations, {**values, **now.jets}) == ""


def test_a_locus_without_a_formula_is_described_by_null_vectors(monkeypatch):
    from chetaev.numerics.flow import locus

    monkeypatch.setattr(locus, "locus_factors", lambda equations: None)
    model = ch.gallery("rocard")
    equations = ch.derive(model)
    values = {p: model.parameters[p.name] for p in equations.system.parameters}
    found = locus.locus_at(equations, {**values, **ch.evaluate(model).jets, Coordinate("psi", 1): 0.0})
    assert found.startswith("epsilon' is left open: kinematic[2]")


@pytest.mark.parametrize("t", [0, 2, -0.3])
@pytest.mark.parametrize("start", [{}, {"y": 3}, {"y": 0.4, "y'": -0.3}, {"y'": 1}, {"y": 3, "y'": 0}, {"y": 1, "y'": -1, "y''": 3}])
def test_the_example_of_a_gauge_meets_the_start(start, t):
    """Following the advice gives a motion that begins with the given values."""
    equations = ch.derive(ch.System("x y", lagrangian="x'^2/2"))
    with pytest.raises(ch.GaugeError) as told:
        ch.simulate(equations, {"x": 0, "x'": 1, **start}, (t, t + 1))
    [advice] = told.value.fixes
    motion = ch.simulate(equations, {"x": 0, "x'": 1, **start}, (t, t + 1), gauge=dict(advice.functions))
    assert motion.outcome == "finished"
    assert {name: motion[name][0] for name in start} == pytest.approx(start, abs=1e-12)


def test_the_example_of_the_gallery_leads_to_a_motion():
    with pytest.raises(ch.GaugeError) as told:
        ch.simulate(ch.gallery("krupkova"))
    [advice] = told.value.fixes
    assert ch.simulate(ch.gallery("krupkova"), gauge=dict(advice.functions)).outcome == "finished"
