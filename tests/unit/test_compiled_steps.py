"""Steps in machine code: Taylor series and Radau IIA, in strides that end where something happens."""

import math
import sys

import casadi as ca
import mpmath
import numpy as np
import pytest
from scipy.linalg import expm

import chetaev as ch
from chetaev.numerics.methods import python_loop
from chetaev.numerics.methods.compiled_stepper import Strides
from chetaev.numerics.methods.taylor.series import series_of

BOTH = [ch.Implicit(), ch.Taylor()]
SPRING = ch.derive(ch.System("x", lagrangian="x'^2/2 - x^2/2", name="spring"))
PENDULUM = ch.derive(ch.System("x y", lagrangian="(x'^2 + y'^2)/2 - 9.81*y", kinematic=["x^2 + y^2 = 1"]), ch.DAlembert())
KEPLER = ch.derive(ch.System("x y", lagrangian="(x'^2 + y'^2)/2 + 1/sqrt(x^2 + y^2)"))


# ------------------------------------------------------------ coefficients


FUNCTIONS = {
    **{name: (getattr(ca, name), getattr(mpmath, name), 0.3) for name in "sin cos tan asin acos atan sinh cosh tanh asinh exp".split()},
    **{name: (getattr(ca, name), getattr(mpmath, name), 0.3) for name in "atanh log sqrt erf".split()},
    "acosh": (ca.acosh, mpmath.acosh, 1.7),
    "atan2": (lambda x: ca.atan2(x, 2 - x), lambda x: mpmath.atan2(x, 2 - x), 0.3),
    "x^5": (lambda x: x**5, lambda x: x**5, 0.7),
    "0^5": (lambda x: x**5, lambda x: x**5, 0.0),
    "x^-3": (lambda x: x**-3, lambda x: x**-3, 0.7),
    "x^2.5": (lambda x: x**2.5, lambda x: x ** mpmath.mpf(2.5), 0.7),
    "x^0.37": (lambda x: x**0.37, lambda x: x ** mpmath.mpf(0.37), 0.7),
    "x^x": (lambda x: x**x, lambda x: x**x, 0.7),
    "quotient": (lambda x: (1 + x * x) / (2 - ca.sin(x)), lambda x: (1 + x * x) / (2 - mpmath.sin(x)), 0.4),
    "products": (lambda x: -x * ca.exp(x) * (2 * x), lambda x: -x * mpmath.exp(x) * (2 * x), 0.4),
    "x^-1.5": (lambda x: x**-1.5, lambda x: x ** mpmath.mpf(-1.5), 0.7),
    "(x-2)^-3": (lambda x: (x - 2) ** -3, lambda x: (x - 2) ** -3, 0.7),
    "x/r/r/r": (lambda x: -x / _root(x) / _root(x) / _root(x), lambda x: -x / mpmath.sqrt(2 - x) ** 3, 0.4),
    "1/(s r)": (lambda x: ca.sin(x) / ((2 - x) * _root(x)), lambda x: mpmath.sin(x) / mpmath.sqrt(2 - x) ** 3, 0.4),
    "1/s/s": (lambda x: 1 / (x - 2) / (x - 2), lambda x: 1 / (x - 2) ** 2, 0.4),
    "multiples": (lambda x: (-2 * x) * (3 * ca.cos(x)) / (4 * (2 * x - 5)), lambda x: -1.5 * x * mpmath.cos(x) / (2 * x - 5), 0.4),
}


def _root(x):
    return ca.sqrt(2 - x)


def test_a_power_of_a_root_has_no_value_where_the_root_has_none():
    """1/r/r is 1/s for s = r^2, but not where s is negative."""
    t, y, p = ca.SX.sym("t"), ca.SX.sym("y", 1), ca.SX.sym("p", 1)
    series = series_of(ca.Function("rates", [t, y, p], [1 / ca.sqrt(y) / ca.sqrt(y)]), 4)
    assert np.array(series(0.0, [4.0], [0.0])).ravel() == pytest.approx([1 / 4, -1 / 128, 1 / 2048, -5 / 131072])  # y = sqrt(16 + 2 t)
    assert np.isnan(np.array(series(0.0, [-4.0], [0.0]))).all()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_coefficients_of_every_operation(name):
    """x' = 1, z' = f(x): the coefficients of z are those of f, differentiated by mpmath to fifty digits."""
    made, exact, start = FUNCTIONS[name]
    t, y, p = ca.SX.sym("t"), ca.SX.sym("y", 2), ca.SX.sym("p", 1)
    order = 12
    coefficients = series_of(ca.Function("rates", [t, y, p], [ca.vertcat(1, made(y[0]))]), order)
    found = np.array(coefficients(0.0, [start, 0.0], [0.0])).reshape(2, order)
    with mpmath.workdps(50):
        wanted = [float(c / (k + 1)) for k, c in enumerate(mpmath.taylor(exact, mpmath.mpf(start), order - 1))]
    assert found[0].tolist() == [1.0, *[0.0] * (order - 1)]
    assert found[1] == pytest.approx(wanted, rel=2e-13, abs=1e-14)


def test_time_and_parameters_have_coefficients_too():
    """y' = p^2 t^p with p = 3/2, from t = 2: derivatives of a power by hand."""
    t, y, p = ca.SX.sym("t"), ca.SX.sym("y", 1), ca.SX.sym("p", 1)
    found = np.array(series_of(ca.Function("rates", [t, y, p], [p**2 * t**p]), 5)(2.0, [0.0], [1.5])).ravel()
    falling = [math.prod(1.5 - i for i in range(k)) for k in range(5)]
    assert found == pytest.approx([2.25 * falling[k] * 2 ** (1.5 - k) / math.factorial(k + 1) for k in range(5)], rel=1e-14)


def test_rows_are_padded():
    """Zeros behind the coefficients of each component, up to a multiple of the block."""
    t, y, p = ca.SX.sym("t"), ca.SX.sym("y", 2), ca.SX.sym("p", 1)
    rates = ca.Function("rates", [t, y, p], [ca.vertcat(y[1], -y[0])])
    found = np.array(series_of(rates, 5, 4)(0.0, [1.0, 0.0], [0.0])).reshape(2, 8)
    assert found[0] == pytest.approx([0, -1 / 2, 0, 1 / 24, 0, 0, 0, 0])
    assert found[1] == pytest.approx([-1, 0, 1 / 6, 0, -1 / 120, 0, 0, 0])


def test_a_corner_has_no_series():
    t, y, p = ca.SX.sym("t"), ca.SX.sym("y", 1), ca.SX.sym("p", 1)
    with pytest.raises(ch.UsageError, match="fabs has no Taylor series"):
        series_of(ca.Function("rates", [t, y, p], [ca.fabs(y)]), 5)


# ------------------------------------------------------------ motions


def test_radau_follows_a_stiff_linear_system():
    """Four oscillators with friction between 1 and 1e5: the matrix exponential."""
    rates = [1.0, 30.0, 1e3, 1e5]
    names = "a b c d".split()
    forces = {name: f"-{rate:g}*({name}' - {other}'/2)" for name, rate, other in zip(names, rates, names[1:] + names[:1], strict=True)}
    system = ch.System(names, lagrangian=" + ".join(f"{name}'^2/2 - {name}^2/2" for name in names), forces=forces)
    start = dict(zip(names, [1.0, -0.5, 0.25, 0.7], strict=True)) | {f"{name}'": 0.0 for name in names}
    motion = ch.simulate(ch.derive(system), start, (0, 5), tolerance=1e-9, method=ch.Implicit())
    damping = np.diag(rates) @ (np.roll(np.eye(4), 1, axis=1) / 2 - np.eye(4))
    matrix = np.block([[np.zeros((4, 4)), np.eye(4)], [-np.eye(4), damping]])
    exact = expm(5 * matrix) @ [1.0, -0.5, 0.25, 0.7, 0, 0, 0, 0]
    assert motion.outcome == "finished"
    assert [motion.final[name] for name in names] == pytest.approx(exact[:4], abs=1e-7)
    assert motion.counts["accepted"] < 1000


@pytest.mark.parametrize("method", BOTH, ids=str)
def test_every_root_of_a_long_motion(method):
    """A spring over 300 units of time crosses x = 0 at pi/2 + k pi, and events do not disturb the strides between them."""
    motion = ch.simulate(SPRING, {"x": 1, "x'": 0}, (0, 300), tolerance=1e-11, method=method, events=["x"])
    wanted = np.pi / 2 + np.pi * np.arange(95)
    assert [e.t for e in motion.events] == pytest.approx(wanted, abs=2e-7 if isinstance(method, ch.Implicit) else 1e-10)
    assert motion.final["x"] == pytest.approx(math.cos(300), abs=1e-6 if isinstance(method, ch.Implicit) else 1e-9)


@pytest.mark.parametrize("method", BOTH, ids=str)
@pytest.mark.parametrize("case", ["kepler", "pendulum"])
def test_strides_make_the_steps_of_the_loop_in_python(method, case, monkeypatch):
    """The same nodes, states, residuals and extremes as where `python_loop` looks at every step."""
    equations, start = {
        "kepler": (KEPLER, {"x": 1, "y": 0, "x'": 0, "y'": 1.2}),
        "pendulum": (PENDULUM, {"x": 0.6, "y": -0.8, "x'": 0}),
    }[case]
    one = ch.simulate(equations, start, (0, 8), tolerance=1e-9, method=method)
    with monkeypatch.context() as patch:
        patch.setattr(python_loop, "Striding", ())
        two = ch.simulate(equations, start, (0, 8), tolerance=1e-9, method=method)
    assert len(one.t) == len(two.t) > 20
    assert one.t == pytest.approx(two.t, abs=1e-8)
    times = np.linspace(0, 8, 101)
    assert one.at(times)["x"] == pytest.approx(two.at(times)["x"], abs=1e-9)  # the loops remember a step before and after its projection
    assert one.final["x"] == pytest.approx(two.final["x"], abs=1e-10)
    assert one.extrema["x"] == pytest.approx(two.extrema["x"], abs=1e-8)
    assert one.drift["balance"] == pytest.approx(two.drift["balance"], rel=0.1, abs=1e-14)
    assert one.counts["accepted"] == two.counts["accepted"]
    assert one.certificate.ok
    assert two.certificate.ok


def test_a_series_with_roots_is_computed_in_strides(monkeypatch):
    """Kepler's ellipse closes after its period, and the loop in Python makes no step, not even the first."""
    single, step = [], Strides.step
    monkeypatch.setattr(Strides, "step", lambda self: single.append(1) or step(self))
    period = 2 * math.pi * (2 - 1.2**2) ** -1.5
    motion = ch.simulate(KEPLER, {"x": 1, "y": 0, "x'": 0, "y'": 1.2}, (0, 3 * period), tolerance=1e-13, method=ch.Taylor())
    assert [motion.final[z] for z in ("x", "y", "x'", "y'")] == pytest.approx([1, 0, 0, 1.2], abs=1e-10)
    assert not single and motion.counts["accepted"] > 50


def test_a_stride_ends_where_a_root_takes_its_other_branch():
    """x'' = sqrt(1 - cos(t)^2) = |sin(t)|: corners at pi and 2 pi, quiet steps between them. Integrated by hand from t = 1/2."""
    system = ch.System("x", lagrangian="x'^2/2 + x*sqrt(1 - cos(t)^2)")
    motion = ch.simulate(ch.derive(system), {"x": 0, "x'": 0}, (0.5, 8), tolerance=1e-12, method=ch.Taylor(), max_step=0.2)
    c = math.cos(0.5)  # x' = c - cos(t), then c + 2 + cos(t), then c + 4 - cos(t)
    travelled = c * 7.5 + math.sin(0.5) + 2 * math.pi + 4 * (8 - 2 * math.pi) - math.sin(8)
    assert motion.outcome == "finished"
    assert motion.final["x'"] == pytest.approx(c + 4 - math.cos(8), abs=1e-9)
    assert motion.final["x"] == pytest.approx(travelled, abs=1e-9)


@pytest.mark.parametrize("method", BOTH, ids=str)
def test_what_is_kept_is_the_same_motion(method):
    """Steps, given times and the end only; a spring to compare with."""
    options = {"tolerance": 1e-11, "method": method}
    steps = ch.simulate(SPRING, {"x": 1, "x'": 0}, (0, 60), **options)
    times = np.linspace(0, 60, 601)
    given = ch.simulate(SPRING, {"x": 1, "x'": 0}, times, **options)
    final = ch.simulate(SPRING, {"x": 1, "x'": 0}, (0, 60), keep="final", **options)
    assert np.array_equal(given.t, times)
    assert given["x"] == pytest.approx(np.cos(times), abs=1e-8)
    assert given["x"] == pytest.approx(steps.at(times)["x"], abs=1e-14)
    assert final.final["x"] == steps.final["x"] == given.final["x"]
    assert final.drift["balance"] == steps.drift["balance"]


@pytest.mark.parametrize("method", BOTH, ids=str)
def test_backwards_and_in_short_steps(method):
    back = ch.simulate(SPRING, {"x": 1, "x'": 0}, (0, -40), tolerance=1e-11, method=method, max_step=0.05)
    assert np.abs(np.diff(back.t)).max() <= 0.05 * (1 + 1e-12)
    assert back.final["x"] == pytest.approx(math.cos(40), abs=1e-8)
    assert back.final["x'"] == pytest.approx(math.sin(40), abs=1e-8)


@pytest.mark.parametrize("method", BOTH, ids=str)
def test_a_budget_of_steps_ends_a_stride(method):
    motion = ch.simulate(SPRING, {"x": 1, "x'": 0}, (0, 1e4), tolerance=1e-11, method=method, max_steps=150)
    assert motion.outcome == "step_too_small"
    assert motion.counts["accepted"] + motion.counts["rejected"] == 150


@pytest.mark.parametrize("method", BOTH, ids=str)
def test_a_narrow_barrier_after_a_long_flight(method):
    """A hill of height 1, a twentieth wide, after 500 units of free flight in steps as long as they like, turns the motion back."""
    barrier = ch.derive(ch.System("q", lagrangian="q'^2/2 - exp(-(20*(q - 500))^2)"))
    flight = ch.simulate(barrier, {"q": 0, "q'": 1}, (0, 1000), tolerance=1e-10, method=method)
    assert flight.final["q'"] == pytest.approx(-1, abs=1e-6)
    assert flight.enclosed.worst < 30
    assert flight.enclosed.shortened > 0


@pytest.mark.parametrize("method", BOTH, ids=str)
def test_a_singular_locus_ends_a_stride(method):
    """The mass of x vanishes at x = 1, where x = t/10 arrives at t = 10."""
    equations = ch.derive(ch.System("x y", lagrangian="(1 - x)*y'^2/2 + x'^2/2"))
    motion = ch.simulate(equations, {"x": 0, "x'": 0.1, "y": 0, "y'": 0}, (0, 20), tolerance=1e-10, method=method)
    assert motion.outcome == "left_domain"
    assert motion.end[0] == pytest.approx(10, abs=1e-5)


def test_taylor_needs_no_package(monkeypatch):
    """The series are the library's own."""
    monkeypatch.setitem(sys.modules, "heyoka", None)
    motion = ch.simulate(SPRING, {"x": 1, "x'": 0}, (0, 5), tolerance=1e-14, method=ch.Taylor())
    assert motion.final["x"] == pytest.approx(math.cos(5), abs=1e-14)


@pytest.mark.parametrize("method", [ch.Taylor(), ch.Implicit()], ids=str)
def test_a_ramp_that_the_first_step_does_not_see(method):
    """A body climbs a ramp that begins at x = 3 and rolls back. SciPy on the equation in x alone: 2.83738, -1.99994."""
    ramp = "y' = 0.15*(1 + tanh(20*(x - 3)))*x'"
    equations = ch.derive(ch.System("x y", lagrangian="(x'^2 + y'^2)/2 - 9.81*y", kinematic=[ramp]), ch.DAlembert())
    motion = ch.simulate(equations, {"x": 2, "y": 0, "x'": 2}, (0, 2), method=method, tolerance=1e-10)
    assert motion.outcome == "finished", motion.message
    assert (motion.final["x"], motion.final["x'"]) == pytest.approx((2.837379, -1.999945), abs=2e-6)
