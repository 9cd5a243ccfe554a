"""What lies between the places an adaptive step looks at: barriers, pulses, steps of mass, poles."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad

import chetaev as ch

METHODS = pytest.mark.parametrize("method", [None, ch.Implicit(), ch.Taylor()], ids=["default", "implicit", "taylor"])


@pytest.mark.parametrize("place", [5, 30, 100, 500, 3000])
@pytest.mark.parametrize("sharp", [1, 20])
def test_a_barrier_higher_than_the_energy_is_not_passed(place, sharp):
    equations = ch.derive(ch.System("q", lagrangian=f"q'^2/2 - exp(-({sharp}*(q - {place}))^2)"))
    motion = ch.simulate(equations, {"q": 0, "q'": 1}, (0, 2 * place))
    assert motion.outcome == "finished"
    assert motion.final["q'"] == pytest.approx(-1, abs=1e-5)


def test_the_ensemble_does_not_pass_it_either():
    equations = ch.derive(ch.System("q", lagrangian="q'^2/2 - exp(-(q - 500)^2)"))
    assert ch.simulate_many(equations, [{"q": 0, "q'": 1}], (0, 1000)).final["q'"][0] == pytest.approx(-1, abs=1e-5)


def test_taylor_does_not_pass_it_either():
    equations = ch.derive(ch.System("q", lagrangian="q'^2/2 - exp(-(q - 100)^2)"))
    motion = ch.simulate(equations, {"q": 0, "q'": 1}, (0, 200), method=ch.Taylor())
    assert motion.outcome != "finished" or motion.final["q'"] == pytest.approx(-1, abs=1e-5)


@pytest.mark.parametrize("place", [20, 500, 5000])
@pytest.mark.parametrize("sharp", [1, 10])
def test_a_pulse_gives_its_momentum_to_a_body_at_rest(place, sharp):
    force = f"{sharp}*exp(-({sharp}*(t - {place}))^2)/sqrt(pi)"
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": force}))
    motion = ch.simulate(equations, {"x": 0, "x'": 0}, (0, 2 * place))
    assert motion.final["x'"] == pytest.approx(1, abs=1e-6)
    assert motion.final["x"] == pytest.approx(place, rel=1e-6)


def test_a_pulse_as_an_input():
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": "u"}, inputs={"u": "exp(-(t - 500)^2)/sqrt(pi)"}))
    assert ch.simulate(equations, {"x": 0, "x'": 0}, (0, 1000)).final["x'"] == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("steep", [10, 100, 1000, 10000])
@pytest.mark.parametrize("place", [0, 50])
def test_a_steep_step_of_mass(steep, place):
    equations = ch.derive(ch.System("x", lagrangian=f"x'^2/2*(1 + tanh({steep}*(x - {place}))/2)"))
    motion = ch.simulate(equations, {"x": -1, "x'": 1}, (0, place + 3))
    assert motion.final["x'"] == pytest.approx(1 / math.sqrt(3), abs=1e-5)


@pytest.mark.parametrize("k", [1e-6, 1e-9, 1e-11, 1e-12])
def test_a_pole_turns_the_motion_back(k):
    """L = x'^2/2 - k/(x - 1)^2: back with x' = -1."""
    equations = ch.derive(ch.System("x", "k", lagrangian="x'^2/2 - k/(x - 1)^2"))
    motion = ch.simulate(equations, {"x": -1, "x'": 1}, (0, 4), parameters={"k": k})
    if motion.outcome == "finished":
        assert motion.final["x'"] == pytest.approx(-1, abs=1e-4)
    else:
        assert motion.final["x"] < 1


def test_a_head_on_coulomb_barrier_is_not_crossed():
    """The turning point is at r = 2e-12, below the tolerance: back, or told; never through."""
    equations = ch.derive(ch.System("x y", "k", lagrangian="(x'^2 + y'^2)/2 - k/sqrt(x^2 + y^2)"))
    motion = ch.simulate(equations, {"x": -1, "y": 0, "x'": 1, "y'": 0}, (0, 2), parameters={"k": 1e-12})
    assert motion.outcome != "finished" or motion.final["x'"] == pytest.approx(-1, abs=1e-4)
    assert motion.final["x"] < 1e-6


def test_a_drag_that_acts_in_one_place_takes_its_part():
    """x'' = -10 exp(-(30 (x - 2))^2) x': x' falls by sqrt(pi)/3, from far away too."""
    for place in (2, 40, 800):
        equations = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": f"-10*exp(-(30*(x - {place}))^2)*x'"}))
        motion = ch.simulate(equations, {"x": 0, "x'": 1}, (0, 3 * place))
        assert motion.final["x'"] == pytest.approx(1 - math.sqrt(math.pi) / 3, abs=1e-6)


@METHODS
def test_a_dip_of_an_event_is_found(method):
    """1 - 2 exp(-(q - 40)^2) vanishes at 40 - r and 40 + r, r = sqrt(log 2)."""
    free = ch.derive(ch.System("q", lagrangian="q'^2/2"))
    motion = ch.simulate(free, {"q": 0, "q'": 1}, (0, 72), events=[ch.On("1 - 2*exp(-(q - 40)^2)")], method=method)
    r = math.sqrt(math.log(2))
    assert [event.t for event in motion.events] == pytest.approx([40 - r, 40 + r], abs=1e-6)


def test_a_terminal_dip_ends_the_motion():
    free = ch.derive(ch.System("q", lagrangian="q'^2/2"))
    motion = ch.simulate(free, {"q": 0, "q'": 1}, (0, 72), events=[ch.On("1 - 2*exp(-(20*(q - 40))^2)", terminal=True)])
    assert motion.outcome == "event"
    assert motion.final["t"] == pytest.approx(40 - math.sqrt(math.log(2)) / 20, abs=1e-6)


def test_a_switch_in_a_narrow_place_is_found():
    """The force 1 acts where 2 exp(-(20 (q - 40))^2) > 1: energy grows by the width of that place."""
    force = "(1 + sign(2*exp(-(20*(q - 40))^2) - 1))/2"
    motion = ch.simulate(ch.derive(ch.System("q", lagrangian="q'^2/2", forces={"q": force})), {"q": 0, "q'": 1}, (0, 72))
    width = 2 * math.sqrt(math.log(2)) / 20
    assert motion.final["q'"] == pytest.approx(math.sqrt(1 + 2 * width), abs=1e-6)


def test_max_step_bounds_every_step():
    motion = ch.simulate(ch.derive(ch.System("q", lagrangian="q'^2/2")), {"q": 0, "q'": 1}, (0, 10), max_step=0.1)
    assert np.diff(motion.t).max() <= 0.1 * (1 + 1e-12)
    assert motion.final["q"] == pytest.approx(10, rel=1e-12)


def test_a_far_bump_in_a_row_is_climbed():
    """y = h exp(-(x - 300)^2), g*h above the kinetic energy: the bead comes back."""
    system = ch.System("x y", lagrangian="x'^2/2 + y'^2/2 - 9.81*y", kinematic=["y = 0.2*exp(-(x - 300)^2)"])
    motion = ch.simulate(ch.derive(system, ch.DAlembert()), {"x": 0, "x'": 1}, (0, 600))
    assert motion.final["x'"] == pytest.approx(-1, abs=1e-5)


def test_a_certificate_does_not_certify_a_leap():
    """Between all steps, not at evenly spaced points."""
    equations = ch.derive(ch.System("q", lagrangian="q'^2/2 - exp(-(20*(q - 500))^2)"))
    motion = ch.simulate(equations, {"q": 0, "q'": 1}, (0, 1000))
    assert motion.final["q'"] == pytest.approx(-1, abs=1e-5) or motion.verify().worst > 1e-3


@pytest.mark.parametrize(
    ("force", "work"),
    [
        ("exp({u})/(1 + exp({u}))^2", 1),
        ("exp({u})/(1 + exp(2*{u}))", np.pi / 2),
        ("1/(1 + exp({u})) - 1/(1 + exp({u} + 4))", 4),
        ("1/((1 + exp({u}))*(1 + exp(-4 - {u})))", 4 / (1 - np.exp(-4))),
        ("exp({u})*exp(-exp({u}))", 1),
        ("sin(pi/(1 + exp({u})))", 1.8519370519824662 * 2),
        ("1/cosh({u})^2", 2),
        ("1/(exp({u}) + exp(-{u}))^2", 0.5),
    ],
)
@pytest.mark.parametrize("variable", ["x", "t"])
def test_pulses_between_functions_that_only_rise_or_fall(force, work, variable):
    """Neither factor is largest where their product is; far from it, where exp is too large for a double in a denominator, nothing acts.

    The work is the integral over u: Si(pi) twice for the sine. A pulse of time gives its momentum.
    """
    for width in (0.03, 0.01 if force.startswith("exp") else 0.0007):  # exp in a numerator has to be a double
        pulse = force.replace("{u}", f"(({variable} - 3.337)/{width})")
        equations = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": f"0.05/{width}*({pulse})"}))
        motion = ch.simulate(equations, {"x": 0, "x'": 1}, (0, 6), tolerance=1e-10)
        assert motion.outcome == "finished"
        right = 1 + 0.05 * work if variable == "t" else (1 + 2 * 0.05 * work) ** 0.5
        assert motion.final["x'"] == pytest.approx(right, rel=1e-7)


@pytest.mark.parametrize("method", [None, ch.Implicit()], ids=["default", "implicit"])
@pytest.mark.parametrize(
    ("potential", "height"),
    [("1/(1 + exp(-{u}))", 1), ("1/cosh({u})^2", 0), ("1/cosh({u})", 0), ("1/cosh({u})^3", 0), ("2/(3 + 2*exp(-{u}))", 2 / 3)],
)
def test_potentials_that_vanish_where_their_denominators_overflow(potential, height, method):
    """(x - 3.3)/0.001 is 3300 at the start, and exp(710) is no double; the energy 1/2 is kept."""
    text = potential.replace("{u}", "((x - 3.3)/0.001)")
    equations = ch.derive(ch.System("x", lagrangian=f"x'^2/2 - 0.1*{text}"))
    motion = ch.simulate(equations, {"x": 0, "x'": 1}, (0, 6), method=method)
    assert motion.outcome == "finished"
    assert motion.final["x'"] == pytest.approx((1 - 0.2 * height) ** 0.5, abs=1e-6)
    assert motion.final["x"] == pytest.approx(3.3 + 2.7 * motion.final["x'"], abs=2e-3)


def test_a_body_is_reflected_by_a_wall_that_overflows():
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2 - 1/cosh((x - 3.3)/0.001)^2"))
    motion = ch.simulate(equations, {"x": 0, "x'": 1}, (0, 6))
    assert motion.final["x'"] == pytest.approx(-1, abs=1e-6)


def test_a_mass_that_vanishes_by_overflow_is_singular():
    """The mass 1/cosh(1000)^2 is no double: nothing may say that the body moves."""
    equations = ch.derive(ch.System("x", lagrangian="x'^2/cosh(x)^2 - x"))
    with pytest.raises(ch.ChetaevError):
        ch.simulate(equations, {"x": 1000, "x'": 1}, (0, 1))


def test_a_product_of_thirty_cosines_is_a_pulse():
    """3/2^30 * (1 + cos(t))*...*(1 + cos(30 t)) is 3 at t = 2 pi and nothing a third beside it. The momentum by the trapezoidal rule, which
    is exact for trigonometric polynomials over whole periods.
    """
    force = "3/2^30*" + "*".join(f"(1 + cos({k}*t))" for k in range(1, 31))
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": force}))
    motion = ch.simulate(equations, {"x": 0, "x'": 1}, (1, 1 + 2 * math.pi))
    t = np.linspace(0, 2 * math.pi, 2000, endpoint=False)
    gained = 3 / 2**30 * np.prod([1 + np.cos(k * t) for k in range(1, 31)], axis=0).mean() * 2 * math.pi
    assert motion.outcome == "finished"
    assert motion.final["x'"] == pytest.approx(1 + gained, rel=1e-7)


@METHODS
def test_a_pulse_between_roots_that_bend(method):
    """sqrt((t - a)^2 + w^2) is |t - a| beyond w: three of them make a triangle of height 0.006 and half width 0.003."""
    w = 1e-12
    force = f"1e6*(sqrt((t - 3.003)^2 + {w}) + sqrt((t - 2.997)^2 + {w}) - 2*sqrt((t - 3)^2 + {w}))"
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": force}))
    motion = ch.simulate(equations, {"x": 0, "x'": 1}, (0, 6), method=method)
    assert motion.final["x'"] == pytest.approx(1 + 1e6 * 0.003 * 0.006, rel=1e-6)


@pytest.mark.parametrize("variable", ["t", "x"])
@pytest.mark.parametrize(("k", "place"), [(1e3, 5), (1e6, 500), (1e8, 500)])
def test_a_pulse_where_an_oscillation_is_divided_by_what_vanishes(k, place, variable):
    """(1 - cos(k u))/u^2 has no pole; its integral is pi k, all but 2/distance of it near u = 0, within a few times 1/k.

    The oscillation on both sides takes some ten thousand steps, each exact to 1e-9 times a weight of about ten: 5e-4 in all.
    """
    u = f"({variable} - {place})"
    for pulse, values in ((f"(1 - cos({k}*{u}))/{u}^2/{k * math.pi}", {}), (f"(1 - cos(k*{u}))/{u}^2/(k*pi)", {"k": k})):
        equations = ch.derive(ch.System("x", list(values), lagrangian="x'^2/2", forces={"x": pulse}))
        motion = ch.simulate(equations, {"x": 0, "x'": 1}, (0, 1.4 * place), parameters=values)
        right = 2 if variable == "t" else math.sqrt(3)
        few_digits = k * math.ulp(place) > 1e-6  # radians by which the last digit of the place turns the oscillation
        assert motion.outcome == "finished" or (few_digits and motion.outcome == "not_certified")
        assert motion.final["x'"] == pytest.approx(right, abs=5e-4 + 4 / (math.pi * k * 0.4 * place))


@METHODS
@pytest.mark.parametrize(
    ("force", "place", "exact"),
    [
        ("tanh(x)/x", 0, np.tanh),
        ("tanh(x - 1/3)/(x - 1/3)", 1 / 3, np.tanh),
        ("(1 - exp(-x))/x", 0, lambda u: -np.expm1(-u)),
        ("sin(x - c)/(x - c)", 0.25, np.sin),
    ],
)
def test_what_has_no_pole_is_crossed_where_its_denominator_vanishes(force, place, exact, method):
    """The gain of energy is an integral of SciPy, in two parts that meet at the place."""
    motion = ch.simulate(
        ch.derive(ch.System("x", "c", lagrangian="x'^2/2", forces={"x": force})),
        {"x": -2, "x'": 1}, (0, 4), parameters={"c": 0.25}, method=method
    )  # fmt: skip
    end = motion.final["x"] - place
    assert motion.outcome == "finished"
    assert end > 0.5
    work = sum(quad(lambda u: exact(u) / u, *part, epsabs=1e-12)[0] for part in ((-2 - place, 0), (0, end)))
    assert motion.final["x'"] == pytest.approx(math.sqrt(1 + 2 * work), rel=1e-6)


@METHODS
@pytest.mark.parametrize("place", [3, 500])
def test_a_pulse_between_roots_whose_bend_is_a_parameter(place, method):
    """As above, with w^2 as a parameter, which is not declared positive; with w = 0 the roots have kinks."""
    force = "1e6*(sqrt((t - c - 0.003)^2 + w^2) + sqrt((t - c + 0.003)^2 + w^2) - 2*sqrt((t - c)^2 + w^2))"
    equations = ch.derive(ch.System("x", "c w", lagrangian="x'^2/2", forces={"x": force}))
    motion = ch.simulate(equations, {"x": 0, "x'": 1}, (0, 2 * place), method=method, parameters={"c": place, "w": 1e-6})
    assert motion.outcome == "finished"
    assert motion.final["x'"] == pytest.approx(1 + 1e6 * 0.003 * 0.006, rel=1e-4)


def test_a_root_with_a_kink_is_passed():
    """x'' = -sqrt((x - 1)^2 + w): with w = 0 it is |x - 1|, and the kink is no obstacle. Energy as an integral of |x - 1|."""
    equations = ch.derive(ch.System("x", "w", lagrangian="x'^2/2", forces={"x": "-sqrt((x - 1)^2 + w)"}))
    motion = ch.simulate(equations, {"x": 0, "x'": 2}, (0, 1), parameters={"w": 0})
    x = motion.final["x"]
    assert motion.outcome == "finished"
    assert x > 1
    assert motion.final["x'"] == pytest.approx(math.sqrt(4 - 1 - (x - 1) ** 2), rel=1e-7)


@pytest.mark.parametrize("tolerance", [1e-3, 1e-4])
def test_a_place_of_strong_damping_does_not_spoil_the_steps_behind_it(tolerance):
    """An oscillator loses a tenth of its speed where x = a, in a width of 1e-5: its energy afterwards is that of the slower one."""
    w, loss = 1e-5, 0.1
    for a in (0.456, 0.572, 0.719, 0.765, 0.772):
        drag = f"-{loss / (w * math.sqrt(math.pi))}*exp(-((x - {a})/{w})^2)*x'"
        equations = ch.derive(ch.System("x", lagrangian="x'^2/2 - x^2/2", forces={"x": drag}))
        motion = ch.simulate(equations, {"x": 0, "x'": 1}, (0, 2), tolerance=tolerance, method=ch.Implicit())
        energy = ((math.sqrt(1 - a * a) - loss) ** 2 + a * a) / 2
        assert motion.final["x'^2/2 + x^2/2"] == pytest.approx(energy, rel=3 * tolerance)


@METHODS
@pytest.mark.parametrize("depth", [2, 3, 4, 5])
def test_a_power_of_a_power_is_a_pulse(depth, method):
    """(((1 + cos t)/2)^4 + 1e-40)^4 ... is a pulse at t = 2 pi; its integral by the trapezoidal rule, exact over whole periods."""
    force, t = "((1 + cos(t))/2)^4", np.linspace(0, 2 * math.pi, 20000, endpoint=False)
    values = ((1 + np.cos(t)) / 2) ** 4
    for _ in range(depth - 1):
        force, values = f"({force} + 1e-40)^4", (values + 1e-40) ** 4
    equations = ch.derive(ch.System("x", "c", lagrangian="x'^2/2", forces={"x": f"c*{force}"}))
    given = {"c": 0.3 / (values.mean() * 2 * math.pi)}
    motion = ch.simulate(equations, {"x": 0, "x'": 1}, (1, 1 + 2 * math.pi), parameters=given, method=method)
    assert motion.outcome == "finished"
    assert motion.final["x'"] == pytest.approx(1.3, rel=1e-6)


@METHODS
@pytest.mark.parametrize(("terms", "width"), [(20, 3), (60, 8), (120, 16)])
def test_a_fourier_series_is_a_pulse(terms, width, method):
    """1 + 2 sum of exp(-k^2/(2 w^2)) cos(k t) is a pulse at t = 2 pi, whose integral over a period is 2 pi."""
    series = "1" + "".join(f" + {2 * math.exp(-(k**2) / (2 * width**2))}*cos({k}*t)" for k in range(1, terms + 1))
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": f"0.3/(2*pi)*({series})"}))
    motion = ch.simulate(equations, {"x": 0, "x'": 1}, (1, 1 + 2 * math.pi), method=method)
    assert motion.outcome == "finished"
    assert motion.final["x'"] == pytest.approx(1.3, rel=1e-6)
