"""Verdicts, classifications, refusals and files: answers that belong to the expressions, not to a few points of order one."""

from __future__ import annotations

import math

import pytest

import chetaev as ch


def test_energy_is_not_conserved_where_a_narrow_force_takes_it():
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": "-10*exp(-(30*(x - 2))^2)*x'"}))
    with pytest.raises(ch.ChetaevError):
        ch.simulate(equations, {"x": 1.9, "x'": 1}, (0, 0.5), conserve="energy")


def test_a_narrow_force_takes_its_energy():
    """x' falls by the integral of 10 exp(-(30 (x - 2))^2), sqrt(pi)/3 in all."""
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": "-10*exp(-(30*(x - 2))^2)*x'"}))
    motion = ch.simulate(equations, {"x": 1.9, "x'": 1}, (0, 0.5), tolerance=1e-10)
    part = 10 * math.sqrt(math.pi) / 60 * (math.erf(30 * (motion.final["x"] - 2)) - math.erf(-3))
    assert motion.final["x'"] == pytest.approx(1 - part, abs=1e-7)


def test_reactions_that_were_eliminated_still_do_work():
    """A block on a belt: the servo-constraint x' = c t needs the force m c, so the energy grows as m (c t)^2 / 2."""
    servo = ch.System("x y", "m c", lagrangian="m*x'^2/2 + y'^2/2", kinematic=["x' = c*t"], variational=["δx = 0"])
    motion = ch.simulate(ch.derive(servo, ch.VirtualWork()).eliminate(), {"x": 0, "y": 0, "y'": 1}, (0, 2), parameters={"m": 3, "c": 0.7})
    assert motion.outcome == "finished"
    assert motion.energy[-1] == pytest.approx(3 * 1.4**2 / 2 + 0.5, rel=1e-9)
    assert abs(motion.balance[-1]) < 1e-9


def test_energy_of_more_rows_than_unknowns_is_conserved():
    """The reactions of rolling act along the row of the speed, and do no work, whatever further rows follow from it."""
    ball = ch.gallery("elastic-ball-inhomogeneous")
    motion = ch.simulate(ball, t=(0, 0.5), conserve="energy")
    assert abs(motion.energy - motion.energy[0]).max() < 1e-12


def test_a_stated_set_of_variations_that_differs_narrowly_is_another_one():
    system = ch.System("x y z", lagrangian="x'^2 + y'^2 + z'^2", kinematic=["z' = y*x'"], variational=["δz = y*δx + exp(-(100*x)^2)*δy"])
    with pytest.raises(ch.PrincipleError):
        ch.derive(system, ch.DAlembert())


def test_rows_that_differ_narrowly_are_independent():
    system = ch.System("x y", lagrangian="x'^2 + y'^2", kinematic=["x' + exp(-(100*x)^2)*y' = 0", "x' = 0"])
    assert ch.classify(system).redundant == ()


@pytest.mark.parametrize("factor", ["exp(-(100*x)^2)", "(1 + tanh(20*(x - 3)))", "max(0, x - 5)", "(x/1e6)^40"])
def test_a_contact_distribution_with_a_narrow_factor_has_no_integral(factor):
    """z' = f(x) y x' is not integrable where f is not zero, and no integral follows from one row."""
    found = ch.classify(ch.System("x y z", lagrangian="x'^2 + y'^2 + z'^2", kinematic=[f"z' = {factor}*y*x'"]))
    assert found.integrable is not True
    assert found.integral_count in (0, None)


@pytest.mark.parametrize("potential", ["max(0, phi - 5)", "exp(-(100*(phi - 3))^2)", "(phi/1e3)^40", "abs(phi - 7) - (7 - phi)"])
def test_a_coordinate_that_matters_somewhere_is_not_cyclic(potential):
    found = ch.symmetries(ch.System("r phi", lagrangian=f"r'^2/2 + r^2*phi'^2/2 - {potential}"))
    assert "phi" not in [str(q) for q in found.cyclic]
    assert "phi'*r^2" not in [str(c) for c in found.conserved]


@pytest.mark.parametrize("values", [{"F": 0.1, "c": 1}, {"F": 3e7, "c": 299792458.0}])
@pytest.mark.parametrize("dimension", [2, 3])
def test_a_relativistic_particle_with_a_symbolic_speed_of_light(values, dimension):
    names = ["x", "y", "z"][:dimension]
    squares = " + ".join(f"{q}'^2" for q in names)
    system = ch.System(" ".join(names), "F c", lagrangian=f"-c^2*sqrt(1 - ({squares})/c^2) + F*x")
    c = values["c"]
    start = dict.fromkeys(names, 0) | {"x'": 0.1 * c, "y'": 0.8 * c} | ({"z'": 0.1 * c} if dimension == 3 else {})
    motion = ch.simulate(ch.derive(system), start, (0, 2), parameters=values, tolerance=1e-10)
    beta = [0.1, 0.8, 0.1][:dimension]
    gamma = 1 / math.sqrt(1 - sum(b * b for b in beta))
    p = [b * gamma for b in beta]
    p[0] += 2 * values["F"] / c
    root = math.sqrt(1 + sum(k * k for k in p))
    assert [motion.final[q + "'"] / c for q in names] == pytest.approx([k / root for k in p], rel=1e-7)


THIRD = ch.System("x y", lagrangian="x'^2/2 + y'^2/2 - y", kinematic=["x''' + y*y''' + 0.3 = 0"])


def test_a_fixed_multiplier_that_is_state_stays():
    """E_x: x'' = lambda1, E_y: y'' + 1 = lambda1*y; guesses may move, fixed values may not."""
    equations = ch.derive(THIRD, ch.Chetaev())
    start = {"x": 0, "x'": 0, "y": 0.5, "y'": 0.2, "lambda1": 0.7}
    now = ch.evaluate(equations, ch.State(start, guess={"x''": 5, "y''": 3}))
    assert [now["lambda1"], now["x''"], now["y''"]] == pytest.approx([0.7, 0.7, -0.65], rel=1e-12)
    motion = ch.simulate(equations, ch.State(start, guess={"x''": 5, "y''": 3}), (0, 0.1))
    assert motion["lambda1"][0] == pytest.approx(0.7, rel=1e-10)


def test_a_fixed_multiplier_that_contradicts_is_refused():
    equations = ch.derive(THIRD, ch.Chetaev())
    with pytest.raises(ch.ChetaevError):
        ch.evaluate(equations, {"x": 0, "x'": 0, "y": 0.5, "y'": 0.2, "lambda1": 0.7, "x''": 0.9})


def test_a_total_derivative_does_not_change_the_motion():
    """The energy of a Lagrangian with D(x'^3, 1) is compiled in a moment, and the motion is that without it."""
    plain = "x'^2/2 + 0.3*cos(x)*x'^2 - cos(x) - log(x^2 + 2) - x^4"
    start = {"x": -0.203, "x'": 1.015}
    ends = []
    for text in (plain, f"{plain} + D(x'^3, 1)"):
        ends.append(ch.simulate(ch.derive(ch.System("x", lagrangian=text)), start, (0, 0.5), tolerance=1e-10).final["x"])
    x, v, h = (
        -0.203,
        1.015,
        0.5 / 4000,
    )  # E: (1 + 0.6 cos x) x'' - 0.3 sin(x) x'^2 = sin x - 2x/(x^2 + 2) - 4 x^3, by Runge and Kutta's method

    def acceleration(x, v):
        return (0.3 * math.sin(x) * v * v + math.sin(x) - 2 * x / (x * x + 2) - 4 * x**3) / (1 + 0.6 * math.cos(x))

    for _ in range(4000):
        a1 = acceleration(x, v)
        a2 = acceleration(x + h / 2 * v, v + h / 2 * a1)
        a3 = acceleration(x + h / 2 * (v + h / 2 * a1), v + h / 2 * a2)
        a4 = acceleration(x + h * (v + h / 2 * a2), v + h * a3)
        x, v = x + h * v + h * h / 6 * (a1 + a2 + a3), v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
    assert ends == pytest.approx([x, x], abs=1e-8)


def test_what_save_writes_load_reads(tmp_path):
    system = ch.System("x", lagrangian="x'^2/2 - x^2/2 - 0.1*s", action="s")
    model = ch.Model(system=system, principle=ch.Herglotz(), start=ch.State({"x": 0.3, "x'": 0.2, "s": 0.1, "s'": -0.035}))
    ch.save(model, tmp_path / "m.toml")
    again = ch.load(tmp_path / "m.toml")
    assert ch.evaluate(ch.derive(again), again.start)["x''"] == pytest.approx(-0.32, rel=1e-12)


def test_the_state_and_not_random_points_decides_what_is_regular():
    """The root has a value only where |x'| > 2: nothing is regular because no random point had a value, and here it is."""
    equations = ch.derive(ch.System("x", lagrangian="sqrt(x'^2 - 4)"))
    now = ch.evaluate(equations, {"x": 0, "x'": 3})
    assert now["x''"] == pytest.approx(0, abs=1e-12)


def test_lengths_far_below_one_are_no_contradiction():
    """A slope of order one in micrometres: x' = sin(x/1e-6) y' ... evaluated by hand."""
    system = ch.System("x y", lagrangian="x'^2/2 + y'^2/2 - 9.81*y", kinematic=["y' = sin(x/1e-6)*x'"])
    now = ch.evaluate(ch.derive(system, ch.DAlembert()), {"x": 0.7e-6, "y": 0, "x'": 1e-6})
    f, bend = math.sin(0.7), math.cos(0.7) * 1e6
    assert now["y'"] == pytest.approx(f * 1e-6, rel=1e-12)
    assert now["x''"] == pytest.approx(-f * (9.81 + bend * 1e-12) / (1 + f * f), rel=1e-10)


def test_a_verdict_says_how_its_rank_was_found():
    free = ch.analyze(ch.derive(ch.System("x", lagrangian="x'^2/2")))
    assert "full at a random point" in free.evidence
    gauge = ch.analyze(ch.derive(ch.System("x y", lagrangian="(x' + y')^2/2")))
    assert gauge.verdict is ch.Verdict.GAUGE and "exact in a finite field" in gauge.evidence


def test_a_constant_below_its_own_round_off_is_kept_and_remarked():
    """cos(1.5707963267948966) is 6e-17, and a mass with this factor is a mass; for zero the user writes pi/2."""
    small = ch.derive(ch.System("x y", lagrangian="x'^2/2 + cos(1.5707963267948966)*y'^2/2"))
    found = ch.analyze(small)
    assert found.verdict is ch.Verdict.REGULAR and found.dimension == 4
    assert "cos(" in found.evidence and "round-off of its own numbers" in found.evidence
    assert "round-off of its own numbers" not in ch.analyze(ch.derive(ch.System("x", lagrangian="sin(0.3)*x'^2/2"))).evidence


def test_multipliers_are_reported_up_to_what_the_equations_determine():
    """Variation of y in L + lambda (y'' - x x'): lambda'' = y''; of x: x'' = lambda'*x."""
    system = ch.System("x y", lagrangian="x'^2/2 + y'^2/2", kinematic=["y'' = x*x'"])
    now = ch.evaluate(ch.derive(system, ch.Vakonomic()), {"x": 1, "x'": 0.5, "y": 0, "y'": 0.2, "lambda1": 0.3, "lambda1'": 0.1})
    assert (now["lambda1''"], now["x''"]) == pytest.approx((0.5, 0.1), rel=1e-12)


def test_a_jet_that_an_iteration_leaves_of_zero_frees_nothing_else():
    """E_e gives e = 0, then the row y' = 0, so that x alone is free; no other jet of order zero tells how small e is."""
    system = ch.System("x y e z", lagrangian="z'^2/2 - e^2/2", kinematic=["x''*sin(e) = y'*cos(e)"], variational=[])
    found = ch.analyze(ch.derive(system, ch.VirtualWork()))
    assert found.verdict is ch.Verdict.GAUGE and [name.rstrip("'") for name in found.free_functions] == ["x"]


@pytest.mark.parametrize("potential", ["0", "x^2/2 - 0.3*y*z"])
def test_a_row_that_floats_take_for_another_one_restricts_the_state(potential):
    """1 + tanh is never zero, so both rows hold only where y' = 0: of x, y, z and three speeds x, y, z, x' are left."""
    rows = ["z' = y*x'", "z' = y*x' + (1 + tanh(50*(x - 8)))*y'"]
    system = ch.System("x y z", lagrangian=f"(x'^2 + y'^2 + z'^2)/2 - ({potential})", kinematic=rows)
    found = ch.analyze(ch.derive(system, ch.Chetaev()))
    assert (found.verdict, found.dimension, found.free_data) == (ch.Verdict.REGULAR, 4, ("x", "x'", "y", "z"))


def test_underflow_makes_no_consequence():
    """With f = (1 + tanh)/2, never zero, E_x gives x^(6), E_y with the derivative of x' = f y' gives y'' and lambda': 9 jets, one row."""
    system = ch.System("x y", lagrangian="x'''^2/2 + y'^2/2 - x^2/2", kinematic=["x' = (1 + tanh(100*(x - 0.938)))/2*y'"])
    found = ch.analyze(ch.derive(system, ch.Vakonomic()))
    assert (found.verdict, found.dimension) == (ch.Verdict.REGULAR, 8)


def test_multipliers_that_follow_a_free_function_are_not_called_redundant():
    """x'' = y with all variations forbidden: x is free, and the reactions are x'' and D(x, 4)."""
    system = ch.System("x y", lagrangian="(x'^2 + y'^2)/2", kinematic=["x'' = y"], variational=["δx = 0", "δy = 0"])
    text = str(ch.analyze(ch.derive(system, ch.VirtualWork())))
    assert "GAUGE" in text and "lambda2" in text and "reactions are unique" not in text


def test_residual_of_something_else_is_refused_in_words():
    with pytest.raises(ch.UsageError, match="residual takes equations, not DynamicalForm"):
        ch.residual(ch.DynamicalForm("q", ["t*q'' - q'"]), {"q": 1})


def test_where_rows_are_not_solvable_is_told_with_its_stratum():
    """t q'' = q' is solvable for q'' wherever t is not 0, and at t = 0 only with q' = 0."""
    text = str(ch.singular.regularity(ch.DynamicalForm("q", ["t*q'' - q'"])))
    assert "B: where t = 0 solvable only where -q' = 0" in text and "B: solvable" not in text
