"""Equilibria and steady motions found from a guess, and what is said where there is none or the question is wrong."""

import math

import numpy as np
import pytest

import chetaev as ch
from chetaev.numerics.stability import eigenvalue_sweep, equilibria, linearize

ANGLE = ch.System("theta", "m g l", lagrangian="m*l^2/2*theta'^2 + m*g*l*cos(theta)", name="pendulum")
CARTESIAN = ch.System("x y", "m g l", lagrangian="m/2*(x'^2 + y'^2) - m*g*y", kinematic=["x^2 + y^2 = l^2"], name="bob")
VALUES = {"m": 1.3, "g": 9.81, "l": 1.1}
HOOP = ch.System(
    "theta", "w c", lagrangian="theta'^2/2 + w^2*sin(theta)^2/2 + cos(theta)", dissipation="c/2*theta'^2", name="bead on a hoop"
)


def test_both_equilibria_of_the_cartesian_pendulum():
    """The rod pulls below and pushes above: lambda1 = m g y/(2 l^2)."""
    found = equilibria(ch.derive(CARTESIAN, ch.DAlembert()), [{"x": 0.1, "y": y} for y in (-0.8, 0.7, -1.0)], parameters=VALUES)
    assert [state["y"] for state in found] == pytest.approx([-1.1, 1.1], abs=1e-13)
    for state in found:
        assert dict(state) == {"x": 0, "x'": 0, "y": state["y"], "y'": 0}
        assert state.now["lambda1"] == pytest.approx(VALUES["m"] * VALUES["g"] * state["y"] / (2 * VALUES["l"] ** 2), rel=1e-13)
        assert state.residual < 1e-13
    assert [linearize(ch.derive(CARTESIAN, ch.DAlembert()), s, parameters=VALUES).stable for s in found] == [None, False]


def test_four_equilibria_of_the_double_pendulum():
    guesses = [{"theta1": a, "theta2": b} for a in (0.2, 3) for b in (-0.1, 3)]
    found = equilibria(ch.gallery("double-pendulum"), guesses)
    assert [(round(s["theta1"], 12), round(s["theta2"], 12)) for s in found] == [
        (a, b) for a in (0, round(math.pi, 12)) for b in (0, round(math.pi, 12))
    ]


def test_the_bead_leaves_the_bottom():
    """cos(theta) = 1/w^2; lambda^2 + c lambda + (w^2 - 1/w^2) = 0."""
    values = {"w": 1.3, "c": 0.3}
    state = equilibria(ch.derive(HOOP), {"theta": 0.7}, parameters=values)
    assert state["theta"] == pytest.approx(math.acos(1 / 1.3**2), rel=1e-13)
    found = linearize(ch.derive(HOOP), state, parameters=values)
    np.testing.assert_allclose(np.poly(found.eigenvalues), [1, 0.3, 1.3**2 - 1 / 1.3**2], atol=1e-11)
    assert found.stable is True


def test_an_equilibrium_under_an_input_and_a_constraint():
    """A force u along x on a pendulum: tan of the angle is u/(m g)."""
    system = ch.System(
        "x y", "m g l", lagrangian=CARTESIAN.lagrangian, kinematic=["x^2 + y^2 = l^2"], forces={"x": "u"}, inputs={"u": None}
    )
    state = equilibria(ch.derive(system, ch.DAlembert()), {"x": 0.1, "y": -1}, parameters=VALUES, inputs={"u": "2.5"})
    assert -state["x"] / state["y"] == pytest.approx(2.5 / (VALUES["m"] * VALUES["g"]), rel=1e-12)


def test_what_is_fixed_stays_and_what_is_free_stays_near():
    model = ch.gallery("cart-pendulum")
    state = equilibria(model, {"x": 0.37, "theta": 0.2})
    assert (state["x"], state["theta"]) == (0.37, 0)
    circle = ch.derive(ch.System("x y", lagrangian="(x'^2 + y'^2)/2 - (x^2 + y^2 - 1)^2"))
    assert equilibria(circle, {"x": 0.6, "y": 0.7}, fixed="x")["y"] == pytest.approx(0.8, abs=1e-9)
    assert equilibria(circle, ch.State({"x": 0.6}, {"y": 0.7}))["y"] == pytest.approx(0.8, abs=1e-9)


def test_straight_rolling_is_found_from_the_speed_alone():
    """Cyclic coordinates follow: x1', x2' from the constraints."""
    model = ch.gallery("rocard")
    state = equilibria(model, {"psi": 0.3, "theta": 0.7, "epsilon": 0.1, "psi'": 1.8}, fixed=["psi'", "theta"])
    assert state["epsilon"] == pytest.approx(0, abs=1e-13)
    assert (state["x1'"], state["x2'"]) == pytest.approx((1.8 * math.cos(0.7), 1.8 * math.sin(0.7)), abs=1e-12)
    assert linearize(model, state).stable is True


def test_a_disk_on_a_circle():
    """Neimark and Fufaev: with lean theta, heading rate q and spin p, (J + m R^2) p q cos(theta) = m g R sin(theta)
    + (J + m R^2 - I) q^2 sin(theta) cos(theta); I about a diameter."""
    model = ch.gallery("leaning-disk")
    m, R, I, J, g = (model.parameters[name] for name in "m R I J g".split())
    p, q = 7.0, 1.5
    state = equilibria(model, {"phi": 0.6, "theta": 0.2, "psi'": p, "phi'": q}, fixed=["psi'", "phi'"])
    theta = state["theta"]
    left = (J + m * R**2) * p * q * math.cos(theta)
    right = m * g * R * math.sin(theta) + (J + m * R**2 - I) * q**2 * math.sin(theta) * math.cos(theta)
    assert abs(theta) > 0.1
    assert left == pytest.approx(right, rel=1e-11)
    found = linearize(model, state)
    assert found.steady and "a steady motion" in found.title
    assert int(np.sum(np.abs(found.eigenvalues) > 1e-9)) == 2


def test_the_action_need_not_rest_where_it_has_no_effect():
    """L without s: at rest at x = 1, s' = L = -3."""
    system = ch.System("x", lagrangian="x'^2/2 - (x - 1)^2/2 - 3", action="s")
    state = equilibria(ch.derive(system, ch.Herglotz()), {"x": 0.4, "s": 0.2})
    assert state["x"] == pytest.approx(1, abs=1e-14) and state["s"] == 0.2
    assert state.now["s'"] == pytest.approx(-3)
    assert "residual" in str(state) and state.residual < 1e-13


# -- misuse -------------------------------------------------------------------------------------------------------------------------

BOB = ch.derive(CARTESIAN, ch.DAlembert())
REST = {"x": 0, "y": -1.1, "x'": 0}
MISTAKES = {
    "linearize takes equations or a model, not System.": (ch.UsageError, lambda: linearize(CARTESIAN, REST)),
    "no state is given.": (ch.UsageError, lambda: linearize(BOB, parameters=VALUES)),
    "no value for parameters g l.": (ch.ParameterError, lambda: linearize(BOB, REST, parameters={"m": 1})),
    "the data contradict kinematic[0]: it is off by 14.8.": (ch.InitialError, lambda: linearize(BOB, {**REST, "y": 4}, parameters=VALUES)),
    "z is not an unknown of the motion.": (ch.InitialError, lambda: equilibria(BOB, REST, parameters=VALUES, fixed=["m"])),
    "y' is fixed, and the guess gives it no value.": (ch.InitialError, lambda: equilibria(BOB, REST, parameters=VALUES, fixed=["y'"])),
    "fixed is not a list of names.": (ch.UsageError, lambda: equilibria(BOB, REST, parameters=VALUES, fixed={"x": 1})),
    "a guess is a mapping from names to values, not 3.": (ch.UsageError, lambda: equilibria(BOB, 3, parameters=VALUES)),
    "k is not a parameter.": (ch.ParameterError, lambda: eigenvalue_sweep(BOB, REST, "k", [1.0], parameters=VALUES)),
    "a value of the parameter is not finite.": (ch.ParameterError, lambda: eigenvalue_sweep(BOB, REST, "m", [math.nan], parameters=VALUES)),
    "the values of the parameter are not a list of numbers.": (ch.UsageError, lambda: eigenvalue_sweep(BOB, REST, "m", 1.0)),
    "the values of the parameter are not numbers.": (ch.UsageError, lambda: eigenvalue_sweep(BOB, REST, "m", ["a"])),
}


@pytest.mark.parametrize("what", MISTAKES)
def test_mistakes_are_named(what):
    kind, act = MISTAKES[what]
    with pytest.raises(kind) as error:
        act()
    assert error.value.what == what.replace("z is", "m is")
    assert error.value.where.split()[0] in ("linearize", "equilibria", "eigenvalue_sweep")
    assert error.value.hint


def test_no_equilibrium():
    falling = ch.derive(ch.System("z", "g", lagrangian="z'^2/2 - g*z", name="stone"))
    with pytest.raises(ch.InitialError) as error:
        equilibria(falling, {"z": 3}, parameters={"g": 9.81})
    assert error.value.what == "no equilibrium found from this guess: E_z is left with 9.81."
    assert error.value.where == "equilibria of 'stone'"
    with pytest.raises(ch.InitialError, match="none of 2 guesses"):
        equilibria(falling, [{"z": 3}, {"z": 4}], parameters={"g": 9.81})
    with pytest.raises(ch.InitialError, match="no equilibrium"):
        equilibria(ch.derive(ch.System("x", lagrangian="x'^2/2 - exp(-x)")), {"x": 0})  # the force only fades


def test_a_state_that_passes_is_no_equilibrium():
    pendulum = ch.derive(ANGLE)
    with pytest.raises(ch.InitialError, match="passed through"):
        equilibria(pendulum, {"theta": 0.2, "theta'": 1}, parameters=VALUES, fixed=["theta'"])
    driven = ch.derive(ch.System("x", lagrangian="x'^2/2 - (x - sin(t))^2/2"))
    with pytest.raises(ch.InitialError, match="passed through"):
        equilibria(driven, {"x": 0.3})
    with pytest.raises(ch.InitialError, match="it vanishes in a steady motion"):
        equilibria(pendulum, {"theta": 0.2, "theta''": 1}, parameters=VALUES, fixed=["theta''"])


def test_singular_states_name_their_locus():
    model = ch.gallery("rocard")
    with pytest.raises(ch.StateError, match="epsilon' is not determined") as error:
        linearize(ch.derive(model), {**model.start.fixed, "psi'": 0}, parameters=model.parameters)
    assert "psi' = 0" in error.value.what and error.value.where.startswith("linearize")
    with pytest.raises(ch.StateError, match="epsilon' is not determined") as error:
        equilibria(model, {"theta": 0.1})
    assert error.value.where.startswith("equilibria of")


def test_systems_for_the_constraint_algorithm_are_sent_there():
    model = ch.gallery("krupkova")
    for act in (lambda: linearize(model), lambda: equilibria(model, {})):
        with pytest.raises(ch.GaugeError, match="is not fixed by the equations"):
            act()


def test_a_model_brings_its_start_as_a_guess():
    """The gallery's double pendulum starts in motion; with its upper rod beyond the horizontal it leads to the upright one."""
    model = ch.gallery("double-pendulum")
    found = ch.equilibria(model)
    assert dict(found) == dict(ch.equilibria(model, {"theta1": 1.9, "theta2": -0.7}))
    assert dict(found) == pytest.approx({"theta1": math.pi, "theta1'": 0, "theta2": 0, "theta2'": 0}, abs=1e-9)
    assert ch.linearize(model).title.startswith("linearisation of")


def test_equations_bring_no_guess():
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2 - x^2/2", name="spring"))
    with pytest.raises(ch.UsageError, match=r"no guess is given(?s:.)*equilibria\(equations, \{\"x\": 0, \.\.\.\}\)"):
        ch.equilibria(equations)


@pytest.mark.parametrize("option", ["branch", "gauge"])
@pytest.mark.parametrize(
    ("verb", "call"),
    [
        ("linearize", lambda e, **o: ch.linearize(e, {"x": 0, "x'": 0}, **o)),
        ("equilibria", lambda e, **o: ch.equilibria(e, {"x": 0}, **o)),
        ("eigenvalue_sweep", lambda e, **o: ch.eigenvalue_sweep(e, {"x": 0, "x'": 0}, "k", [1], **o)),
    ],
)
def test_branches_and_gauges_are_for_simulate(option, verb, call):
    equations = ch.derive(ch.System("x", "k", lagrangian="x'^2/2 - k*x^2/2", name="spring"))
    with pytest.raises(ch.UsageError) as caught:
        call(equations, **{option: 0 if option == "branch" else {"x": "t"}})
    told = str(caught.value)
    assert told.startswith(f"UsageError · {verb}")
    assert f"{verb} takes no {option}" in told and f"simulate(..., {option}=...)" in told
