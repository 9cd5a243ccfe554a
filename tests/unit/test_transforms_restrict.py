"""restrict: holonomic and integrable constraints removed, with the constants of integration and the reactions."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import chetaev as ch

TIMES = np.linspace(0, 2, 21)


def close(a, b, tolerance=1e-10):
    assert np.abs(np.asarray(a) - b).max() < tolerance * max(1.0, np.abs(b).max())


def moved(morphism, start, values):
    there = morphism.parameters(start, parameters=values)
    return ch.simulate(morphism.target, morphism.forward(start, parameters=values), TIMES, tolerance=1e-12, parameters=there)


def refused(call, *sentences, error=ch.PrincipleError):
    with pytest.raises(error) as found:
        call()
    for sentence in sentences:
        assert sentence in str(found.value), str(found.value)


@pytest.mark.parametrize("principle", [ch.DAlembert(), ch.Vakonomic()], ids=str)
def test_pendulum_on_its_circle_with_the_tension(principle):
    """theta'' = -g/l*sin(theta), and 2*l^2*lambda1 = m*(g*y - v^2)."""
    model = ch.gallery("cartesian-pendulum").under(principle)
    m, l, g = (model.parameters[n] for n in "m l g".split())
    morphism = ch.restrict(ch.derive(model))
    motion = moved(morphism, model.start, model.parameters)
    angle, spin = motion["alpha"][0], motion["alpha'"][0]
    found = solve_ivp(lambda _, s: [s[1], -g / l * np.sin(s[0])], (0, 2), [angle, spin], "DOP853", TIMES, rtol=2e-13, atol=1e-14).y
    close(motion["alpha"], found[0])
    back = morphism.backward(motion)
    close(back["y"], -l * np.cos(found[0]))
    close(back["lambda1"], m * (-g * l * np.cos(found[0]) - l**2 * found[1] ** 2) / (2 * l**2))


def rolling(principle):
    system = ch.System(
        "x phi", "m I R g a", lagrangian="m/2*x'^2 + I/2*phi'^2 - m*g*x*sin(a)", kinematic=["x' = R*phi'"], name="wheel on a slope"
    )
    return ch.derive(system, principle)


VALUES = {"m": 1.3, "I": 0.4, "R": 0.5, "g": 9.81, "a": 0.2}


@pytest.mark.parametrize("principle", [ch.DAlembert(), ch.Chetaev(), ch.Vakonomic()], ids=str)
def test_a_row_on_velocities_is_integrated_and_its_constant_carried(principle):
    """Rolling down a slope: constant acceleration, x - R*phi keeps its value, lambda1 is the friction at the rim."""
    morphism = ch.restrict(rolling(principle))
    start = {"x": 0.9, "phi": 0.3, "phi'": 1.1} | ({"lambda1": 0.25} if principle == ch.Vakonomic() else {})
    parameters = morphism.parameters(start, parameters=VALUES)
    assert parameters["c1"] == pytest.approx(0.9 - 0.5 * 0.3)
    motion = moved(morphism, start, VALUES)
    acceleration = -VALUES["m"] * 9.81 * np.sin(0.2) * 0.5 / (VALUES["I"] + VALUES["m"] * 0.25)
    phi = 0.3 + 1.1 * TIMES + acceleration * TIMES**2 / 2
    close(motion["phi"], phi)
    back = morphism.backward(motion)
    close(back["x"], 0.75 + 0.5 * phi)
    if principle != ch.Vakonomic():
        close(back["lambda1"], -VALUES["I"] * acceleration / 0.5 + 0 * TIMES)
    else:
        assert "lambda1 starts at 0" in morphism.notes[0]


def test_the_constant_of_a_vakonomic_multiplier_has_no_influence():
    equations = rolling(ch.Vakonomic())
    first = ch.simulate(equations, {"x": 0.9, "phi": 0.3, "phi'": 1.1, "lambda1": 0}, TIMES, tolerance=1e-12, parameters=VALUES)
    second = ch.simulate(equations, {"x": 0.9, "phi": 0.3, "phi'": 1.1, "lambda1": 7}, TIMES, tolerance=1e-12, parameters=VALUES)
    close(first["x"], second["x"])
    morphism = ch.restrict(equations)
    assert morphism.check(second).largest < 1e-10
    assert morphism.inverse.check(morphism_motion(morphism)).largest < 1e-10


def morphism_motion(morphism):
    start = {"phi": 0.3, "phi'": 1.1}
    return ch.simulate(morphism.target, start, TIMES, tolerance=1e-12, parameters={**VALUES, "c1": 0.75})


def test_two_rows_that_are_integrable_only_together():
    """The first row alone is nonholonomic; with z' = y' it says x' = z'. What is left falls with one acceleration."""
    rows = ["x' = y*z' + (1 - y)*y'", "z' = y'"]
    system = ch.System("x y z", "g", lagrangian="x'^2/2 + y'^2/2 + z'^2 - g*x", kinematic=rows, name="two rows")
    assert ch.classify(system.replace(kinematic=rows[:1])).integrable is False
    morphism = ch.restrict(ch.derive(system, ch.DAlembert()))
    start = {"x": 0.4, "y": 0.7, "z": -0.2, "x'": 0.5}
    motion = moved(morphism, start, {"g": 2.0})
    fall = 0.5 * TIMES - TIMES**2 / 4  # (1 + 1 + 2)*x'' = -g
    back = morphism.backward(motion)
    close(back["x"], 0.4 + fall)
    close(back["y"], 0.7 + fall)
    close(back["z"], -0.2 + fall)
    close(back["lambda1"], 2.0 - 0.5 + 0 * TIMES)  # E_x = x'' + g = lambda1


def test_integrals_that_are_not_found_are_said_to_be_missing():
    """x' = y*z', y' = -x*z' turn the plane by the angle z: integrable, but by no formula of the search."""
    system = ch.System("x y z", lagrangian="x'^2/2 + y'^2/2 + z'^2", kinematic=["x' = y*z'", "y' = -x*z'"], name="screw")
    assert ch.classify(system).integrable is True
    refused(
        lambda: ch.restrict(ch.derive(system, ch.DAlembert())),
        "are integrable, but not every integral was found",
        "0 of 2 integrals are known",
    )


def test_holonomic_integrable_and_nonholonomic_rows_together():
    """The holonomic row goes, the integrable row goes with its constant, the nonholonomic row stays with its multiplier."""
    system = ch.System(
        "x y z w",
        "g",
        lagrangian="x'^2/2 + y'^2/2 + z'^2/2 + w'^2 - g*y + x*z/3",
        kinematic=["w = x + t", "y' = x*x' + t", "z' = y*x'"],
        name="mixed",
    )
    equations = ch.derive(system, ch.DAlembert())
    morphism = ch.restrict(equations)
    assert [q.base for q in morphism.system.coordinates] == ["z", "w"]
    assert [row.kind for row in morphism.system.kinematic] == ["affine"]
    assert str(morphism.target.principle) == "DAlembert()"
    motion = ch.simulate(equations, {"x": 0.8, "y": 0.4, "z": 0.1, "x'": 0.5}, (0, 2), tolerance=1e-12, parameters={"g": 0.8})
    agreement = morphism.check(motion)
    assert agreement.largest < 1e-10
    assert {"lambda1", "lambda2", "lambda3", "x", "y"} <= set(agreement.backward)


def test_integration_under_herglotz():
    system = ch.System("x y", "c", lagrangian="x'^2/2 + y'^2/2 - c*s", kinematic=["y' = 2*x'"], action="s", name="damped rail")
    morphism = ch.restrict(ch.derive(system, ch.Herglotz(ch.DAlembert())))
    motion = moved(morphism, {"x": 0.1, "y": 0.5, "x'": 0.7, "s": 0.2}, {"c": 0.6})
    close(motion["x'"], 0.7 * np.exp(-0.6 * TIMES))
    close(morphism.backward(motion)["y"], 0.5 + 2 * (motion["x"] - 0.1))
    assert str(morphism.target.principle) == "Herglotz()"


def test_what_cannot_be_integrated_is_refused():
    for name in ("disk", "sleigh", "heisenberg"):
        refused(
            lambda name=name: ch.restrict(ch.derive(ch.gallery(name))),
            "no holonomic or integrable constraint to remove",
            "A constraint on velocities that cannot be integrated does not confine the positions",
            "reduce_velocities",
        )
    refused(
        lambda: ch.restrict(ch.derive(ch.gallery("cart-pendulum"))), "with stated variations", "its own gradient restricts the variations"
    )
    surface = ch.System("x y z", lagrangian="x'^2 + y'^2 + z'^2", kinematic=["x^2 + y^2 + z^2 = 1"], name="sphere")
    refused(
        lambda: ch.restrict(ch.derive(surface, ch.DAlembert())), "is neither affine in a coordinate with a constant factor nor a circle"
    )


def test_formulas_must_be_a_chart_of_the_surface():
    pendulum = ch.derive(ch.gallery("cartesian-pendulum"))
    right = {"x": "l*sin(u)", "y": "-l*cos(u)"}
    assert ch.restrict(pendulum, right, {"u": "atan2(x, -y)"}).target.counts == (1, 1)
    refused(lambda: ch.restrict(pendulum, right, {"u": "atan2(y, x)"}), "the inverse does not lead back to the surface")
    refused(lambda: ch.restrict(pendulum, right, {"v": "x"}), "v is not a new coordinate", error=ch.UsageError)
    refused(lambda: ch.restrict(pendulum, {"x": "l*sin(u)", "y": "l*cos(u)/2"}), "the formulas do not satisfy x^2 + y^2 = l^2")
    refused(lambda: ch.restrict(pendulum, {"x": "l", "y": "0"}), "the formulas use 0 coordinates", error=ch.ModelError)


def test_a_sphere_with_a_chart_of_the_user():
    """A free particle on a sphere runs along a great circle at constant speed."""
    sphere = ch.System("x y z", "c", lagrangian="(x'^2 + y'^2 + z'^2)/2", kinematic=["x^2 + y^2 + z^2 = c^2"], name="sphere")
    chart = {"x": "c*cos(u)*cos(v)", "y": "c*cos(u)*sin(v)", "z": "c*sin(u)"}
    inverse = {"u": "asin(z/c)", "v": "atan2(y, x)"}
    morphism = ch.restrict(ch.derive(sphere, ch.DAlembert()), chart, inverse)
    motion = moved(morphism, {"x": 2, "y": 0, "z": 0, "y'": 0.6, "z'": 0.8}, {"c": 2})
    back = morphism.backward(motion)
    close(back["x"], 2 * np.cos(TIMES / 2))
    close(back["z"], 1.6 * np.sin(TIMES / 2))
    close(back["lambda1"], -1 / 8 + 0 * TIMES)  # x'' = 2*lambda1*x with x'' = -x*v^2/c^2
