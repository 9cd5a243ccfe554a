"""Units of quantities: labels and a check of dimensions, which change no equation and no number."""

import pickle
import re
from fractions import Fraction

import numpy as np
import pytest

import chetaev as ch
from chetaev.core.units.unit import BASE, read_unit, typeset
from chetaev.io.reading import loads
from chetaev.io.writing import dumps
from chetaev.mechanics.quantities import unit_of

SLEIGH = {"x": "m", "y": "m", "theta": "rad", "m": "kg", "J": "kg m^2", "a": "m"}
ROW = "y'*cos(theta) - x'*sin(theta) = a*theta'"


def sleigh(units, **parts):
    given = {"lagrangian": "m/2*(x'^2 + y'^2) + J/2*theta'^2", "kinematic": [ROW], "name": "sleigh"} | parts
    return ch.System("x y theta", parameters="m J a", units=units, **given)


def unit(text):
    return read_unit(text, "here")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("N", "kg m/s^2"), ("J", "N m"), ("W", "J/s"), ("Pa", "N/m^2"), ("V", "W/A"), ("Ohm", "V/A"), ("Ω", "V A^-1"), ("F", "C/V"),
        ("H", "Wb/A"), ("T", "Wb/m²"), ("Hz", "1/s"), ("rad", "1"), ("L", "dm^3"), ("µm", "um"), ("kg*m**2/s**2", "kg·m²·s⁻²"),
        ("(m/s)^2", "m^2/s^2"), ("m^(1/2) m^0.5", "m"), ("rpm", "rev/min"), ("psi", "lbf/in^2"), ("t", "Mg"), ("N/m*s", "kg/s"),
    ],
)  # fmt: skip
def test_units_that_are_the_same(one, other):
    assert unit(one) == unit(other)


@pytest.mark.parametrize(
    ("one", "other"), [("mm", "m"), ("g", "kg"), ("deg", "rad"), ("min", "s"), ("N m", "N/m"), ("Hz", "s"), ("%", "1")]
)
def test_units_that_differ(one, other):
    assert unit(one) != unit(other)


@pytest.mark.parametrize(
    ("text", "value", "of"),
    [
        ("lbf", 4.4482216152605, "N"), ("psi", 6894.757293168361, "Pa"), ("eV", 1.602176634e-19, "J"), ("km/h", 1 / 3.6, "m/s"),
        ("kn", 1852 / 3600, "m/s"), ("rpm", 3.141592653589793 / 30, "rad/s"), ("mmHg", 133.322387415, "Pa"), ("mi", 1609.344, "m"),
        ("deg", 3.141592653589793 / 180, "rad"), ("mmol", 1e-3, "mol"), ("dam", 10, "m"), ("cal", 4.184, "J"), ("atm", 101325, "Pa"),
    ],
)  # fmt: skip
def test_sizes_of_units(text, value, of):
    """The factor between two units of one dimension, against the values that metrology publishes."""
    ratio = unit(text) / unit(of)
    assert not set(ratio.factors) & set(BASE)
    size = 1.0
    for name, power in ratio.factors.items():
        size *= (3.141592653589793 if name == "pi" else float(name)) ** float(power)
    assert size == pytest.approx(value, rel=1e-13)


HOSTILE = [
    "", " ", "furlong", "kgg", "kkg", "m^", "m^x", "m^999", "m^(1/0)", "m/", "/m", "(m", "m)", "m//s", "2 m", "3", "m^1e9", "m m^-",
    "W/m K",
    "__import__('os').system('id')", "x.__class__", "lambda: 0", "$m$", "<script>alert(1)</script>", "\\frac{1}{2}", "m\x1b[2J", "\u202em",
    "(" * 60 + "m" + ")" * 60, "m " * 60, "m^" * 40, "{0}", "%d %q", "m\n;rm", "m^^2", "m^2^2", "١", "m^１", "ｍ", "m**", "m^--1",
    "m^(1/2", 3, None, ["m"],
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_what_is_no_unit_is_refused_at_its_place(text):
    with pytest.raises(ch.NotationError) as told:
        sleigh(SLEIGH | {"x": text})
    assert "units.x" in str(told.value) and str(told.value).isprintable() is False  # several lines
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f\u202e]", str(told.value))


FLOOR = {"x": "m", "y": "m", "m": "kg", "g": "m/s^2", "mu": "1", "h": "m", "c": "kg/s"}


def on_floor(units=None, **parts):
    return ch.System("x y", "m g mu h c", lagrangian="m/2*(x'^2 + y'^2) - m*g*y", units=FLOOR | (units or {}), name="body", **parts)


CONSISTENT = {
    "sleigh": lambda: sleigh(SLEIGH),
    "millimetres and grams": lambda: sleigh(SLEIGH | {"x": "mm", "y": "mm", "a": "mm", "m": "g", "J": "g mm^2"}),
    "minutes": lambda: ch.System(
        "x", "m k", lagrangian="m*x'^2/2 - k*x^2/2", units={"x": "m", "m": "kg", "k": "kg/min^2", "t": "min"}
    ),
    "circuit": lambda: ch.System(
        "q", "L R C u0 w", lagrangian="L*q'^2/2 - q^2/(2*C)", dissipation="R*q'^2/2", forces={"q": "u0*sin(w*t)"},
        units={"q": "C", "L": "H", "R": "Ohm", "C": "F", "u0": "V", "w": "rad/s"},
    ),
    "ball on a turntable": lambda: ch.System(
        {"A": "SO3 spatial", "x": "line", "y": "line"}, "m k R Omega", lagrangian="m*k^2/2*(A1'^2 + A2'^2 + A3'^2) + m/2*(x'^2 + y'^2)",
        kinematic=["x' - R*A2' = -Omega*y", "y' + R*A1' = Omega*x"],
        units={"x": "m", "y": "m", "m": "kg", "k": "m", "R": "m", "Omega": "rad/s"},
    ),
    "dry friction": lambda: ch.System(
        "x", "m mu g d", lagrangian="m*x'^2/2", forces={"x": "-mu*m*g*sign(x') + max(d, -d)*step(x)"},
        units={"x": "m", "m": "kg", "mu": "1", "g": "m/s^2", "d": "N"},
    ),
    "names": lambda: ch.System(
        "x y", "m k l", lagrangian="m*(x'^2 + y'^2)/2 - k*(r - l)^2/2", where={"r": "sqrt(x^2 + y^2)"}, quasi={"v": "x'*cos(atan2(y, x))"},
        units={"x": "m", "y": "m", "m": "kg", "k": "N/m", "l": "m", "r": "m", "v": "m"},
    ),
    "second order": lambda: ch.System("q", "w", lagrangian="q''^2/2 - w^2*q'^2/2 + w^4*q^2/2", units={"q": "m", "w": "1/s"}),
    "contact": lambda: ch.System("x", "m c", lagrangian="m*x'^2/2 - c*s", action="s", units={"x": "m", "m": "kg", "c": "1/s", "s": "J s"}),
    "action of the gallery": lambda: ch.gallery("damped-oscillator").system.replace(units={"x": "m", "omega": "rad/s", "gamma": "1/s"}),
    "skate of the gallery": lambda: ch.gallery("action-constraint").system.replace(
        units={"x": "m", "y": "m", "g": "m/s^2", "gamma": "1/s", "kappa": "s/m^2"}
    ),
    "disk of the gallery": lambda: ch.gallery("disk-contact").system.replace(
        units={"x": "1", "y": "1", "theta": "rad", "varphi": "rad", "d": "1/s"}
    ),
    "sleigh of the gallery": lambda: ch.gallery("sleigh-contact").system.replace(
        units={"x": "1", "y": "1", "theta": "rad", "alpha": "1", "beta": "1", "gamma": "1/s"}
    ),
    "friction": lambda: on_floor(kinematic=["y = h"], forces={"x": "-mu*abs(lambda1)*sign(x') - c*x'"}),
    "friction under a rate": lambda: on_floor(kinematic=["y' = 0"], forces={"x": "-mu*abs(lambda1)*sign(x') - c*x'"}),
    "friction in other words": lambda: on_floor(kinematic=["m*y^2 = m*h^2"], forces={"x": "-mu*abs(2*lambda1*m*y)*sign(x')"}),
    "friction along a stated row": lambda: on_floor(
        kinematic=["y = h"], variational=["m*δy = 0"], forces={"x": "-mu*abs(m*lambda1)*sign(x')"}
    ),
    "floor": lambda: on_floor(unilateral={"floor": ("y - h >= 0", "mu")}, forces={"x": "-mu*lambda_floor*sign(x')"}),
    "rope": lambda: on_floor(unilateral={"rope": ("(x^2 + y^2)/(2*h) <= h/2", 0)}),
    "virtual": lambda: sleigh(SLEIGH, variational=["δy*cos(theta) - δx*sin(theta) = a*δtheta"]),
}  # fmt: skip


@pytest.mark.parametrize("name", CONSISTENT)
def test_consistent_units_are_accepted_and_kept(name):
    system = CONSISTENT[name]()
    again = pickle.loads(pickle.dumps(system))  # noqa: S301
    bare = system.replace(units={})
    assert dict(again.units) == dict(system.units) != {} and not bare.units
    assert system == bare and hash(system) == hash(bare) and "units" in str(system) and "units" not in str(bare)


@pytest.mark.parametrize(
    ("changed", "parts", "said"),
    [
        ({"J": "kg m"}, {}, ["lagrangian", "J*theta'^2/2 is in kg m/s^2", "m*(x'^2 + y'^2)/2 is in kg m^2/s^2"]),
        ({"y": "mm"}, {}, ["x'^2 is in m^2/s^2", "y'^2 is in mm^2/s^2", "no number is converted"]),
        ({"a": "kg"}, {}, ["kinematic[0]", "y'*cos(theta) is in m/s", "a*theta' is in kg/s"]),
        ({"theta": "m"}, {"lagrangian": "m*x'^2/2"}, ["kinematic[0]", "theta of ", "is in m", "radians"]),
        ({}, {"forces": {"theta": "a*m"}}, ["forces.theta", "is in kg m, where kg m^2/s^2 is needed"]),
        ({}, {"dissipation": "m*x'^2/2"}, ["dissipation", "kg m^2/s^3 is needed"]),
        ({}, {"lagrangian": "m*x'^2/2 - 9.81*m*y"}, ["-9.81*m*y is in kg m", "a number has no unit"]),
        ({}, {"lagrangian": "m*x'^2/2*exp(-x)"}, ["the argument -x of exp is in m"]),
        ({}, {"lagrangian": "m*x'^2/2*2^(x)"}, ["the exponent x is in m"]),
        ({}, {"variational": ["δx = a*δy"]}, ["variational[0]"]),
        ({}, {"lagrangian": "m*x'^2/2*r", "where": {"r": "x + J/m"}}, ["x is in m", "J/m is in m^2"]),
        ({"r": "m"}, {"lagrangian": "m*x'^2/2", "where": {"r": "x^2"}}, ["where.r", "r is in m^2, and the units say m"]),
        ({}, {"forces": {"x": "piecewise(y, m, J)"}}, ["forces.x"]),
        ({}, {"kinematic": ["x^2 + y^2 = 4"]}, ["kinematic[0]", "4 is a pure number", "a number has no unit"]),
    ],
)  # fmt: skip
def test_sums_of_different_units_are_refused_with_their_terms(changed, parts, said):
    with pytest.raises(ch.ModelError) as told:
        sleigh(SLEIGH | changed, **parts)
    assert [text for text in said if text not in str(told.value)] == []


@pytest.mark.parametrize(
    ("changed", "parts", "said"),
    [
        ({"h": "s"}, {"unilateral": {"floor": ("y - h >= 0", "1/2")}}, ["unilateral.floor", "-h is in s", "y is in m"]),
        ({}, {"unilateral": {"floor": ("y >= h", "h")}}, ["unilateral.floor", "the coefficient of restitution is in m"]),
        ({}, {"kinematic": ["y = h"], "forces": {"x": "-m*abs(lambda1)*sign(x')"}},
         ["forces.x", "is in kg^2 m/s^2, where kg m/s^2 is needed", "lambda1 is in kg m/s^2"]),
        ({}, {"kinematic": ["m*y^2 = m*h^2"], "forces": {"x": "-mu*abs(lambda1)*sign(x')"}}, ["lambda1 is in 1/s^2"]),
        ({}, {"kinematic": ["y = h"], "variational": ["m*δy = 0"], "forces": {"x": "-mu*abs(lambda1)*sign(x')"}}, ["lambda1 is in m/s^2"]),
        ({}, {"unilateral": ["y >= h"], "forces": {"x": "-c*x' - m*lambda_u1*sign(x')"}}, ["forces.x", "-c*x' is in kg m/s^2"]),
        ({"c": "kg"}, {"lagrangian": "m*x'^2/2 - c*s", "action": "s"}, ["lagrangian", "-c*s is in kg^2 m^2/s"]),
        ({"c": "kg"}, {"lagrangian": "m*x'^2/2", "action": "s", "kinematic": ["x' = c*s"]}, ["kinematic[0]", "c*s is in kg^2 m^2/s"]),
    ],
)  # fmt: skip
def test_units_of_contacts_multipliers_and_the_action_follow(changed, parts, said):
    """The units of multipliers by hand: a multiplier times the coefficients of its row is a force."""
    with pytest.raises(ch.ModelError) as told:
        ch.System("x y", "m g mu h c", **({"lagrangian": "m/2*(x'^2 + y'^2) - m*g*y", "units": FLOOR | changed} | parts))
    assert [text for text in said if text not in str(told.value)] == []


@pytest.mark.parametrize("left_out", SLEIGH)
def test_names_without_a_unit_are_compared_with_nothing(left_out):
    some = {name: text for name, text in SLEIGH.items() if name != left_out}
    assert dict(sleigh(some).units) == some
    with pytest.raises(ch.ModelError, match=r"x'\^2 is in m\^2/s\^2|y'\*cos|theta"):  # what remains known still contradicts
        sleigh({"x": "m", "y": "kg", left_out: "m"} if left_out not in ("x", "y") else {"x": "m", "y": "kg"})


def test_names_that_the_system_does_not_have():
    with pytest.raises(ch.ModelError, match="a unit of tehta, which is not a name") as told:
        sleigh({"tehta": "rad"})
    assert "Did you mean theta?" in str(told.value)
    with pytest.raises(ch.ModelError, match="m is not a unit of time"):
        sleigh({"t": "m"})
    with pytest.raises(ch.ModelError, match="two units of theta"):
        sleigh({"theta": "rad", "θ": "rad"})


def test_units_change_no_number_and_label_motions():
    values, start = {"m": 1, "J": 0.4, "a": 0.3}, {"x": 0, "y": 0, "theta": 0.1, "x'": 1, "theta'": 0.4}
    with_units, without = (
        ch.simulate(ch.derive(sleigh(given), ch.DAlembert()), start, (0, 2), parameters=values) for given in (SLEIGH, None)
    )
    assert with_units.equations == without.equations and (with_units.states == without.states).all()
    picture = ch.plot.series(with_units, ["x", "lambda1", "m*x'^2/2", ["x'", "y'"]])
    assert [axes.get_ylabel() for axes in picture.axes] == ["$x$\n[m]", r"$\lambda_{1}$ [kg m/s²]", picture.axes[2].get_ylabel(), ""]
    assert picture.axes[2].get_ylabel().endswith("[kg m²/s²]") and picture.axes[-1].get_xlabel() == "$t$ [s]"
    assert picture.axes[3].get_lines()[0].get_label().endswith(" [m/s]")
    assert ch.plot.series(without, ["x"]).axes[0].get_ylabel() == "$x$"  # equal equations keep labels of their own
    assert ch.plot.balance(with_units).axes[0].get_ylabel() == "energy [kg m²/s²]"
    page = ch.report(with_units, animation=False).html
    assert 'class="unit">kg m²</span>' in page and 'class="unit">rad/s</span>' in page


def test_multipliers_have_the_units_of_their_principle():
    system = sleigh(SLEIGH)
    assert unit_of(ch.derive(system, ch.DAlembert()), "lambda1") == "kg m/s^2"  # a force across the blade
    assert unit_of(ch.derive(system, ch.Vakonomic()), "lambda1") == "kg m/s"  # an impulse: -lambda' is the force
    pendulum = ch.System("x y", "m l", lagrangian="m*(x'^2 + y'^2)/2", kinematic=["x^2 + y^2 = l^2"],
                         units={"x": "m", "y": "m", "m": "kg", "l": "m"})  # fmt: skip
    assert unit_of(ch.derive(pendulum, ch.DAlembert()), "lambda1*x") == "kg m/s^2"


def test_units_travel_in_files_and_motions(tmp_path):
    model = ch.Model(sleigh(SLEIGH), ch.DAlembert(), {"m": 1, "J": 1, "a": 0.3}, {"x": 0, "y": 0, "theta": 0.1, "x'": 1, "theta'": 0.4})
    text = dumps(model)
    assert '[units]\nx = "m"' in text and dict(loads(text).system.units) == SLEIGH
    ch.simulate(model, t=(0, 0.1)).save(tmp_path / "m.npz")
    assert dict(ch.load(tmp_path / "m.npz").equations.system.units) == SLEIGH
    with pytest.raises(ch.ModelError, match="line 2"):
        loads(text.replace('J = "kg m^2"', 'J = "kg m"'))
    with pytest.raises(ch.NotationError, match=r"line \d+"):
        loads(text.replace('J = "kg m^2"', 'J = "kg m^"'))
    with pytest.raises(ch.ModelError, match="a text is expected here"):
        loads(text.replace('J = "kg m^2"', "J = 3"))


def test_transformations_keep_the_units_of_names_that_stay():
    pendulum = ch.System("theta phi", "m l g", lagrangian="m*l^2*(theta'^2 + sin(theta)^2*phi'^2)/2 + m*g*l*cos(theta)",
                         units={"theta": "rad", "phi": "rad", "m": "kg", "l": "m", "g": "m/s^2"})  # fmt: skip
    energies = ch.hamiltonian(pendulum).system
    assert energies.units["l"] == "m" and set(energies.units) == {"theta", "phi", "m", "l", "g"}
    assert ch.routh(pendulum, "phi").system.units["g"] == "m/s^2"
    bead = ch.System("x y", "m g l", lagrangian="m*(x'^2 + y'^2)/2 - m*g*y", kinematic=["y = x^2/l"],
                     units={"x": "m", "y": "m", "m": "kg", "l": "m", "g": "m/s^2"})  # fmt: skip
    assert ch.restrict(ch.derive(bead, ch.DAlembert())).system.units["x"] == "m"
    polar = ch.change_coordinates(bead.replace(kinematic=[]), {"x": "r*cos(phi)", "y": "r*sin(phi)"}).system
    assert set(polar.units) == {"m", "g", "l"}
    with pytest.raises(ch.ModelError, match="lagrangian"):
        bead.replace(lagrangian="m*(x'^2 + y'^2)/2 - m*y")


def test_what_a_servo_follows_is_numbers_in_these_units():
    trolley = ch.System("x y", "m", lagrangian="m*(x'^2 + y'^2)/2", units={"x": "m", "y": "m", "m": "kg"}, name="trolley")
    servo = ch.servo(trolley, follow=["x = sin(t)"], by={"u": {"x": "1"}})
    motion = ch.simulate(servo, {"y": 0, "y'": 1}, (0, 2), parameters={"m": 2})
    assert motion.final["u"] == pytest.approx(-2 * np.sin(2), rel=1e-7)
    assert motion.equations.system.units["x"] == "m" and unit_of(motion.equations, "x'") == "m/s"


def test_units_are_written_as_on_paper():
    assert typeset("kg*m^2/s^2") == "kg·m²/s²" and typeset("m^(1/2)") == "m^(1/2)"
    assert str(unit("J") / unit("rad")) == "J" and str(unit("rad") / unit("s")) == "rad/s" and str(unit("m") ** Fraction(1, 2)) == "m^(1/2)"
