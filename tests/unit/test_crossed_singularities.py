"""Motions cross the removable singularities of their forces, masses, rows, inputs and events, against SciPy with values of fifty digits."""

import mpmath as mp
import pytest
from scipy.integrate import solve_ivp

import chetaev as ch

FUNCTIONS = {
    "x^2/sin(x)^2": lambda x: x**2 / mp.sin(x) ** 2,
    "1/x - 1/tan(x)": lambda x: 1 / x - mp.cot(x),
    "2/x - 1/sin(x) - cos(x)/sin(x)": lambda x: 2 / x - mp.csc(x) - mp.cot(x),
    "1/x^3 - 1/(x^2*sin(x)) + 1/(6*x)": lambda x: 1 / x**3 - 1 / (x**2 * mp.sin(x)) + 1 / (6 * x),
    "(x - sin(x))/(1 - cos(x))": lambda x: (x - mp.sin(x)) / (1 - mp.cos(x)),
    "(x - 0.3)/(exp(x) - exp(0.3))": lambda x: (x - mp.mpf("0.3")) / (mp.exp(x) - mp.exp(mp.mpf("0.3"))),
    "sin(x)*(x - 1/10)/(x^2 - x/10)": lambda x: mp.sinc(x),
    "exp(-x/sin(x))": lambda x: mp.exp(-x / mp.sin(x)),
    "1/(exp(x) - 1) - 1/x": lambda x: 1 / mp.expm1(x) - 1 / x,
}


def exact(text):
    def value(x):
        with mp.workdps(50):
            return float(FUNCTIONS[text](mp.mpf(float(x)) + mp.mpf(10) ** -15))  # beside the singular place itself

    return value


def integrated(rates, start, end):
    return solve_ivp(rates, (0, end), start, method="DOP853", rtol=1e-10, atol=1e-12).y[:, -1]


@pytest.mark.parametrize("text", FUNCTIONS)
def test_a_force_a_row_and_an_input(text):
    """One motion crosses with x, a rolling coordinate z' = f(x) and an input of time follow along."""
    f, inputs = exact(text), {"u": text.replace("exp", "EXP").replace("x", "(t - 1)").replace("EXP", "exp")}
    system = ch.System(
        "x y z",
        lagrangian="(x'^2 + y'^2 + z'^2)/2",
        forces={"x": f"0.3*({text})", "y": "u"},
        kinematic=[f"z' = 0.2*({text})"],
        inputs={"u": None},
    )
    start = {"x": -1, "x'": 1, "y": 0, "y'": 0, "z": 0}
    motion = ch.simulate(ch.derive(system, ch.DAlembert()), start, (0, 2), inputs=inputs, tolerance=1e-9)

    def rates(t, s):
        return [s[1], 0.3 * f(s[0]), s[3], f(t - 1), 0.2 * f(s[0])]

    right = integrated(rates, [-1, 1, 0, 0, 0], 2)
    assert motion.outcome == "finished"
    assert [motion.final[z] for z in ("x", "x'", "y", "y'", "z")] == pytest.approx(right, abs=1e-7)


@pytest.mark.parametrize("text", ["x^2/sin(x)^2", "1/x - 1/tan(x)", "(x - sin(x))/(1 - cos(x))"])
def test_a_mass(text):
    """sqrt(m) x' is constant."""
    f = exact(text)
    motion = ch.simulate(ch.derive(ch.System("x", lagrangian=f"(2 + ({text})/10)*x'^2/2")), {"x": -1, "x'": 1}, (0, 2), tolerance=1e-9)
    p = (2 + f(-1) / 10) ** 0.5
    right = integrated(lambda _, s: [p / (2 + f(s[0]) / 10) ** 0.5], [-1], 2)
    assert motion.outcome == "finished" and motion.final["x"] == pytest.approx(right[0], abs=1e-7)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1/(x - y) - 1/tan(x - y)", lambda x, y, v, t: 1 / (x - y) - mp.cot(x - y)),
        ("k*y'/x - k*y'/tan(x) + sin(t)", lambda x, y, v, t: 3 * v / 2 * (1 / x - mp.cot(x)) + mp.sin(t)),
        ("x*y'/sin(x)/(2 + y) + y", lambda x, y, v, t: x * v / mp.sin(x) / (2 + y) + y),
        ("1/(k*x + y) - 1/tan(k*x + y)", lambda x, y, v, t: 1 / (1.5 * x + y) - mp.cot(1.5 * x + y)),
    ],
)
def test_differences_other_factors_and_other_terms(text, value):
    def rates(t, s):
        with mp.workdps(50):
            force = float(value(*[mp.mpf(float(v)) for v in (s[0] + 1e-14, s[1], s[3])], mp.mpf(t)))
        return [s[2], s[3], force, -0.2 * s[1]]

    equations = ch.derive(ch.System("x y", "k", lagrangian="(x'^2 + y'^2)/2", forces={"x": text, "y": "-y/5"}))
    start = {"x": -1, "y": 0.1, "x'": 1.2, "y'": 0.3}
    motion = ch.simulate(equations, start, (0, 2), parameters={"k": 1.5}, tolerance=1e-9)
    right = integrated(rates, list(start.values()), 2)
    assert motion.outcome == "finished" and [motion.final[z] for z in start] == pytest.approx(right, abs=1e-7)


def test_singular_places_of_every_turn():
    """sin(3*x)/sin(x) = 1 + 2*cos(2*x) is singular at all multiples of pi, and 1/tan(x) regular where the tangent is not."""
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": "sin(3*x)/sin(x)"}))
    motion = ch.simulate(equations, {"x": 0.5, "x'": 4}, (0, 4), tolerance=1e-9)
    right = integrated(lambda _, s: [s[1], 1 + 2 * mp.cos(2 * s[0])], [0.5, 4], 4)
    assert motion.outcome == "finished" and motion.final["x"] > 5 * mp.pi
    assert [motion.final["x"], motion.final["x'"]] == pytest.approx(right, abs=1e-6)
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": "1/tan(x)"}))
    motion = ch.simulate(equations, {"x": 1, "x'": 0.5}, (0, 1), tolerance=1e-9)
    right = integrated(lambda _, s: [s[1], mp.cos(s[0]) / mp.sin(s[0])], [1, 0.5], 1)
    assert motion.outcome == "finished" and motion.final["x"] == pytest.approx(right[0], abs=1e-7) and right[0] > mp.pi / 2


def test_an_event():
    """Its roots are found and the singular place is none."""
    free = ch.derive(ch.System("x", lagrangian="x'^2/2"))
    motion = ch.simulate(free, {"x": -1, "x'": 1}, (0, 2.5), events=[ch.On("1/x - 1/tan(x) - 1/5"), ch.On("x^2/sin(x)^2 - 11/10")])
    root = mp.findroot(lambda x: 1 / x - mp.cot(x) - mp.mpf(1) / 5, 0.5)
    second = mp.findroot(lambda x: x**2 / mp.sin(x) ** 2 - mp.mpf(11) / 10, 0.5)
    found = sorted(event.t for event in motion.events)
    assert found == pytest.approx([1 - second, 1 + second, 1 + root], abs=1e-9)


@pytest.mark.parametrize(
    ("text", "place"), [("1/x - 2/tan(x)", 0), ("1e-6/x - 1.000001e-6/tan(x)", 0), ("x/sin(x)/10", mp.pi), ("-sin(x)/x^2/100", 0)]
)
def test_true_poles_are_not_crossed(text, place):
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": text}))
    motion = ch.simulate(equations, {"x": place - 1, "x'": 1.5}, (0, 4))
    assert motion.outcome != "finished" and motion.final["x"] == pytest.approx(place, abs=1e-6)
