"""Basins of attraction, and regions that a Lyapunov function proves."""

import functools

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import chetaev as ch

CART = {"m": 0.5, "l": 0.8, "I": 0.4, "g": 9.81, "a": 0.6, "b": -3.0, "mu": 0.1, "nu": 0.2}
UPRIGHT = {"x": 0, "theta": 0, "theta'": 0}


def cart_field(_, y):
    """000, (79), solved for theta'' by hand."""
    m, length, inertia, g, a, b, nu = (CART[name] for name in ("m", "l", "I", "g", "a", "b", "nu"))
    c = np.cos(y[0])
    push = m * g * length * np.sin(y[0]) - (nu - m * length * a * c**2) * y[1]
    return [y[1], push / (inertia + m * length * b * c)]


@functools.cache
def cart():
    return ch.derive(ch.gallery("cart-pendulum"))


@functools.cache
def oscillator():
    """Van der Pol's oscillator with time reversed: its cycle bounds the basin of rest."""
    return ch.derive(ch.System("x", lagrangian="x'^2/2 - x^2/2", forces={"x": "(x^2 - 1)*x'"}, name="van der Pol"))


def test_the_cycle_around_the_controlled_pendulum_is_found():
    """The cycle at theta = 0.79420, against the equation by hand on both sides; the interval of the paper ends at 1.231."""
    found = ch.basin(cart(), UPRIGHT, {"theta": (0.5, 1.0)}, parameters=CART, grid=3, halvings=9, checks=20, t=60)
    assert found.border.shape == (1, 1) and found.width.max() < 3e-4 and found.doubtful == 0
    assert abs(found.border[0, 0] - 0.79420) <= found.width.max() + 1e-5
    assert found.attracted.tolist() == [True, True, False]
    inner, outer = (solve_ivp(cart_field, (0, 30), [0.79420 + d, 0.0], rtol=1e-10, atol=1e-12) for d in (-0.01, 0.01))
    assert np.abs(inner.y[0][inner.t > 28]).max() < 0.7842 < 0.8042 < np.abs(outer.y[0][outer.t > 20]).max()
    assert "0 of 20 random states inside" in str(found) and "arrival is proved" in str(found)


def test_the_proved_region_of_the_controlled_pendulum_is_attracted():
    """Motions of the equation by hand from the rim of the proved ellipse go to the vertical; the place of the cart is left out."""
    found = ch.lyapunov_certificate(cart(), UPRIGHT, parameters=CART)
    assert found and list(found.equilibrium) == ["theta", "theta'"]
    turns = np.linspace(0, 2 * np.pi, 9)[:-1]
    rim = np.linalg.solve(np.linalg.cholesky(found.matrix).T, [np.cos(turns), np.sin(turns)]) * np.sqrt(found.level)
    for start in rim.T:
        run = solve_ivp(cart_field, (0, 150), start, rtol=1e-8, atol=1e-10)
        assert np.abs(run.y[:, -1]).max() < 0.3 * np.abs(rim).max()
    assert found.contains({"theta": 0.999 * rim[0, 0], "theta'": 0.999 * rim[1, 0]})
    assert not found.contains({"theta": 1.001 * rim[0, 0], "theta'": 1.001 * rim[1, 0]})


def test_the_function_of_the_paper_proves_a_larger_region_by_lasalle():
    """000, IV.D: V = theta'^2/2 - (g/|b|) log(h) with h = m l |b| cos(theta) - I, for a > nu m l b^2/I^2."""
    text = "theta'^2/2 - g/abs(b)*log(m*l*abs(b)*cos(theta) - I)"
    values = CART | {"a": 5.0}
    found = ch.lyapunov_certificate(cart(), UPRIGHT, {"theta": (-0.9, 0.9), "theta'": (-4, 4)}, parameters=values, candidate=text)
    assert found and "LaSalle" in found.how
    rim = -9.81 / 3 * np.log(1.2 * np.cos(0.9) - 0.4)
    assert found.level < rim and found.level > 0.5 * rim
    assert found.contains({"theta": 0.6, "theta'": 0.0}) and not found.contains({"theta": 0.6, "theta'": 2.0})


def test_no_region_is_proved_where_damping_has_the_wrong_sign():
    """With a < nu/(m l) the vertical is unstable."""
    unstable = ch.lyapunov_certificate(cart(), UPRIGHT, parameters=CART | {"a": 0.4})
    assert not unstable and unstable.how == "none found" and "unstable" in unstable.tried[0]


def test_the_ellipse_of_van_der_pol():
    """Khalil, Nonlinear Systems, example 8.9: V = 1.5 x^2 - x x' + x'^2 decreases below 2.25, and not in a larger ellipse."""
    found = ch.lyapunov_certificate(oscillator(), {"x": 0, "x'": 0}, candidate="quadratic")
    assert np.array_equal(found.matrix, [[1.5, -0.5], [-0.5, 1.0]]) or np.allclose(found.matrix, [[1.5, 0.5], [0.5, 1.0]])
    assert 2.0 < found.level < 2.32


def test_the_cycle_of_van_der_pol_bounds_the_basin():
    """Its amplitude for mu = 1 is 2.00862."""
    found = ch.basin(oscillator(), {"x": 0, "x'": 0}, {"x": (1.5, 2.5)}, grid=2, halvings=12, checks=0)
    assert abs(found.border[0, 0] - 2.008620) < 3e-4


def test_a_region_never_reaches_beyond_the_true_one():
    """x' = -x + x^3 attracts exactly -1 < x < 1; the same from an equilibrium that is no round number, c^2 = 2."""
    form = ch.derive(ch.DynamicalForm("x", ["x' + x - x^3"]))
    found = ch.lyapunov_certificate(form, {"x": 0})
    assert 0.9 < np.sqrt(found.level / found.matrix[0, 0]) < 1
    shifted = ch.derive(ch.DynamicalForm("x", ["x' + x^2 - 2"]))  # attracts all x > -sqrt(2)
    found = ch.lyapunov_certificate(shifted, {"x": 2**0.5})
    assert found and -(2**0.5) < found.box["x"][0] < -1.2


def test_energy_with_partial_damping_proves_nothing_but_a_quadratic_form_does():
    pair = ch.System("x y", lagrangian="(x'^2 + y'^2)/2 - x^2/2 - y^2 - (x - y)^2/2", dissipation="x'^2/2", name="pair")
    found = ch.lyapunov_certificate(ch.derive(pair), {"x": 0, "y": 0, "x'": 0, "y'": 0})
    assert found and found.matrix is not None and any(line.startswith("the energy: its rate is not proved") for line in found.tried)


@pytest.mark.parametrize(
    ("given", "state", "reason"),
    [
        ({"lagrangian": "x'^2/2 - x^2/2"}, {"x": 0, "x'": 0}, "does not decay"),
        ({"lagrangian": "x'^2/2 - (2 + sin(t))*x^2/2", "dissipation": "x'^2"}, {"x": 0, "x'": 0}, "depend"),
    ],
)
def test_none_found_says_why(given, state, reason):
    found = ch.lyapunov_certificate(ch.derive(ch.System("x", **given)), state)
    assert not found.found and np.isnan(found.level) and not found.contains({"x": 0, "x'": 0})
    assert any(reason in line for line in found.tried) or "not an equilibrium" in found.tried[0]


def test_a_basin_belongs_to_an_equilibrium_that_decays():
    free = ch.derive(ch.System("x", lagrangian="x'^2/2 - x^2/2"))
    with pytest.raises(ch.StateError, match="decays"):
        ch.basin(free, {"x": 0, "x'": 0}, {"x": (-1, 1)})
    with pytest.raises(ch.UsageError, match="range"):
        ch.basin(oscillator(), {"x": 0, "x'": 0}, {"x": (1, -1)})
    with pytest.raises(ch.UsageError, match="grid"):
        ch.basin(oscillator(), {"x": 0, "x'": 0}, {"x": (-1, 1)}, grid=1)
    with pytest.raises(ch.UsageError, match="z is not a jet"):
        ch.basin(oscillator(), {"x": 0, "x'": 0}, {"z": (-1, 1)})
    with pytest.raises(ch.UsageError, match="follows from"):
        ch.basin(cart(), UPRIGHT, {"theta": (-1, 1), "theta'": (-1, 1), "x'": (-1, 1)}, parameters=CART)


def test_the_picture_of_a_basin():
    found = ch.basin(oscillator(), {"x": 0, "x'": 0}, {"x": (-3, 3), "x'": (-3, 3)}, grid=7, halvings=3, checks=10)
    picture = ch.plot.basin(found)
    words = [text.get_text() for text in picture.axes[0].get_legend().get_texts()]
    assert {"attracted", "border", "equilibrium", "proved region"} <= set(words)
    assert found.bounds[0] <= found.fraction <= found.bounds[1]
    with pytest.raises(ch.UsageError, match="jet of the box"):
        ch.plot.basin(found, "y")


def damped_body(_, w):
    """Euler's equations with friction by hand: I w' = (I w) x w - R w."""
    inertia, friction = np.array([1.0, 2.0, 3.0]), np.array([1.0, 0.4, 2.0])
    return (np.cross(inertia * w, w) - friction * w) / inertia


def test_a_region_of_velocities_on_a_group():
    """Where the rates do not depend on the place, the velocities of a group alone have a region; motions from its rim go to rest."""
    damped = {"lagrangian": "(A1'^2 + 2*A2'^2 + 3*A3'^2)/2", "dissipation": "(A1'^2 + 0.4*A2'^2 + 2*A3'^2)/2"}
    body = ch.derive(ch.System({"A": "SO3 body"}, **damped))
    start = {"A": np.eye(3).tolist(), "A1'": 0, "A2'": 0, "A3'": 0}
    found = ch.lyapunov_certificate(body, start, candidate="quadratic")
    assert found and list(found.equilibrium) == ["A1'", "A2'", "A3'"]
    chance = np.random.default_rng(1)
    for direction in chance.normal(size=(6, 3)):
        rim = direction * np.sqrt(found.level / (direction @ found.matrix @ direction))
        levels = [w @ found.matrix @ w for w in solve_ivp(damped_body, (0, 20), rim, rtol=1e-9, atol=1e-12).y.T]
        assert np.all(np.diff(levels) < 0) and levels[-1] < 1e-3 * levels[0]


def test_a_region_for_a_lie_algebra_given_by_brackets():
    """w1' = -w1 - 2*w2^2 and w2' = (2*w1*w2 - w2)/2, by hand; the energy (w1^2 + 2*w2^2)/2 falls everywhere."""
    affine = ch.groups.lie_algebra({(1, 2): {2: 1}}, dimension=2)
    system = ch.System({"w": "aff"}, groups={"aff": affine}, lagrangian="(w1'^2 + 2*w2'^2)/2", dissipation="(w1'^2 + w2'^2)/2")
    found = ch.lyapunov_certificate(ch.derive(system), {"w1'": 0, "w2'": 0}, candidate="quadratic")
    assert found and found.contains({"w1'": 1.0, "w2'": -1.0})
    run = solve_ivp(lambda _, w: [-w[0] - 2 * w[1] ** 2, (2 * w[0] * w[1] - w[1]) / 2], (0, 40), [1.0, -1.0], rtol=1e-9, atol=1e-12)
    assert np.abs(run.y[:, -1]).max() < 1e-6


def test_a_potential_on_a_group_is_refused_with_the_reason():
    top = ch.System({"A": "SO3 body"}, lagrangian="(A1'^2 + 2*A2'^2 + 3*A3'^2)/2 + A33 + A11", dissipation="(A1'^2 + A2'^2 + 2*A3'^2)/2")
    found = ch.lyapunov_certificate(ch.derive(top), {"A": np.eye(3).tolist(), "A1'": 0, "A2'": 0, "A3'": 0})
    assert not found and "depends on A, which lies in a group" in found.tried[0] and "in_coordinates" in found.tried[0]
