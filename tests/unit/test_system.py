"""Systems and constraints: frozen, comparable, validated; their kinds."""

import pickle
from inspect import signature

import pytest
import sympy

import chetaev as ch
from chetaev.core.parts import ARGUMENTS, PARTS, AsShown, AsWritten, parts_of
from chetaev.core.symbols import Coordinate, Parameter


def tyre(**changes):
    parts = {
        "coordinates": "psi theta epsilon x1 x2",
        "parameters": "I J M K a",
        "lagrangian": "I/2*psi'^2 + J/2*theta'^2 + M/2*(x1'^2 + x2'^2) - K/2*epsilon^2",
        "kinematic": ["x1' = psi'*cos(theta - epsilon)", "x2' = psi'*sin(theta - epsilon)"],
        "variational": ["δpsi*cos(theta) - δx1 = 0", "δtheta - δepsilon = 0"],
        "name": "tyre",
    }
    return ch.System(**(parts | changes))


def test_a_system_is_a_value():
    assert tyre() == tyre()
    assert hash(tyre()) == hash(tyre())
    assert tyre() != tyre(lagrangian="psi'^2")
    assert pickle.loads(pickle.dumps(tyre())) == tyre()  # noqa: S301
    assert tyre().replace() == tyre()
    assert tyre().replace(name="other").name == "other"
    with pytest.raises(AttributeError):
        tyre().name = "other"
    with pytest.raises(TypeError):
        tyre().kinds["psi"] = "angle"
    with pytest.raises(TypeError, match="no part"):
        tyre().replace(lagrangean="x")


def test_a_system_reads_as_written():
    text = str(tyre())
    assert "x1' = psi'*cos(theta - epsilon)" in text
    assert "δpsi*cos(theta) - δx1 = 0" in text
    assert tyre()._repr_latex_().count("&") == 8


def test_white_space_and_spelling_do_not_matter():
    assert tyre(kinematic=["x1'=psi' * cos(θ - ε)", "x2' - psi'*sin(theta - epsilon) = 0"]).kinematic[0] == tyre().kinematic[0]


@pytest.mark.parametrize(
    ("row", "kind", "order"),
    [
        ("x^2 + y^2 = l^2", "holonomic", 0),
        ("x = u", "holonomic", 0),
        ("x' = y*y'", "linear", 1),
        ("x' = y*y' + x", "affine", 1),
        ("x' = u'", "affine", 1),
        ("x'*t = 0", "linear", 1),
        ("(x' + 1)*(y' + 1) = x'*y' + 1", "linear", 1),
        ("x'/y' = tan(z)", "nonlinear", 1),
        ("x'^2 + y'^2 = 1", "nonlinear", 1),
        ("x'' = y'", "order 2", 2),
        ("x'*y''' = 1", "order 3", 3),
        ("x'*(y + 1) = x'*y + x' + y - x^2", "holonomic", 0),
        ("(x'^2 - y'^2)/(x' - y') = 1", "affine", 1),
        ("y' = abs(x')", "nonlinear", 1),
        ("x'^2*(sin(z)^2 + cos(z)^2 - 1)*y + y' = 0", "linear", 1),
    ],
)
def test_kinds_of_constraints(row, kind, order):
    system = ch.System("x y z", "l", lagrangian="x'^2", kinematic=[row], inputs={"u": None})
    assert (system.kinematic[0].kind, system.kinematic[0].order) == (kind, order)


def test_coordinates_parameters_and_inputs_in_all_their_forms():
    a = ch.System({"x": "angle", "y": "line"}, {"m": "positive"}, lagrangian="m*x'^2 + u*y'^2", inputs={"u": "sin(t)"})
    assert a.kinds == {"x": "angle", "y": "line"}
    assert a.parameters == (Parameter("m", positive=True),)
    b = ch.System([Coordinate("x"), "y"], [Parameter("m", positive=True)], lagrangian="m*x'^2 + u*y'^2", inputs={"u": "sin(t)"})
    assert a.lagrangian == b.lagrangian
    assert a != b  # another kind of coordinate


def test_named_expressions_in_any_order_with_primes_and_variations():
    system = ch.System(
        "r phi",
        "m",
        lagrangian="m/2*(x'^2 + y'^2)",
        where={"y": "r*sine", "x": "r*cos(phi)", "sine": "sin(phi)"},
        variational=["δx = 0"],
    )
    r, phi = system.coordinates
    flat = ch.parse("m/2*(r'^2 + r^2*phi'^2)", system)
    assert sympy.simplify(system.lagrangian - flat) == 0
    assert system.variational[0].coefficients == {r: sympy.cos(phi), phi: -r * sympy.sin(phi)}


def test_quasi_velocities_in_rows():
    system = ch.System(
        "x y theta",
        lagrangian="(x'^2 + y'^2 + theta'^2)/2",
        quasi={"w": "-x'*sin(theta) + y'*cos(theta)"},
        kinematic=["w' = 0"],
        variational=["δw = 0"],
    )
    plain = system.replace(quasi={}, kinematic=["-x'*sin(theta) + y'*cos(theta) = 0"], variational=["-δx*sin(theta) + δy*cos(theta) = 0"])
    assert system.kinematic == plain.kinematic
    assert system.variational == plain.variational
    assert ch.parse("w''", system) == ch.parse("D(-x'*sin(theta) + y'*cos(theta))", system)


def test_decimal_literals_are_exact():
    assert ch.System("x", lagrangian="0.1*x'^2").lagrangian.coeff(Coordinate("x").d() ** 2) == sympy.Rational(1, 10)


def test_corner_functions_are_not_linear():
    with pytest.raises(ch.NotationError, match="not linear"):
        ch.System("x", lagrangian="x'^2", variational=["abs(δx) = 0"])
    with pytest.raises(ch.ModelError, match="not affine"):
        ch.System("x", lagrangian="x'^2", quasi={"w": "abs(x')"})


def test_forces_are_named_once():
    with pytest.raises(ch.ModelError, match="two forces"):
        ch.System("x", lagrangian="x'^2", forces={"x": 1, Coordinate("x"): 2})
    with pytest.raises(ch.ModelError, match="not a coordinate"):
        ch.System("x", lagrangian="x'^2", forces={Coordinate("x").d(): 1})


def test_floats_of_python_keep_all_their_digits():
    velocity = Coordinate("x").d()
    assert float(ch.System("x", lagrangian=sympy.Float(1 / 3) * velocity**2).lagrangian.coeff(velocity**2)) == 1 / 3


def test_a_system_of_rotations_only_prints_no_empty_line_of_coordinates():
    system = ch.System({"A": "SO3 body"}, "I", lagrangian="I/2*(A1'^2 + A2'^2 + A3'^2)", name="ball")
    assert str(system).splitlines() == [
        "ball",
        "group A         SO3 body",
        "parameters      I",
        "lagrangian      I/2*(A1'^2 + A2'^2 + A3'^2)",
    ]
    assert r"\text{coordinates}" not in system._repr_latex_()


NESTED = {
    "lagrangian": "T - V",
    "where": {"r": "sqrt(x^2 +  y^2)", "V": "m*g*r", "T": "m/2*r'^2", "ω": "r*V"},
    "quasi": {"w": "x'*r + y'"},
    "forces": {"x": "omega"},
    "dissipation": "r'^2",
    "inputs": {"u": "sin(2*t)"},
}


def test_a_system_prints_its_parts_as_they_are_written():
    system = ch.System("x y", "m g", **NESTED, name="nested")
    assert str(system).splitlines() == [
        "nested",
        "coordinates     x y",
        "parameters      m g",
        "lagrangian      T - V",
        "where r         sqrt(x^2 + y^2)",
        "where V         m*g*r",
        "where T         m/2*r'^2",
        "where omega     r*V",
        "quasi w'        x'*r + y'",
        "force x         omega",
        "dissipation     r'^2",
        "input u         sin(2*t)",
    ]


def test_what_is_exchanged_is_not_printed_as_it_was_written():
    """A name may mean something else after `where` is exchanged: then formulas are written out."""
    system = ch.System("x y", "m g", **NESTED)
    pushed = str(system.replace(forces={"y": "2*V"}))
    assert "where V         m*g*r" in pushed and "force y         2*V" in pushed and "force x" not in pushed
    other = str(system.replace(where={"r": "x + y"}))
    assert "where r         x + y" in other and "omega" not in other
    assert f"force x         {ch.show(system.forces[system.coordinates[0]])}" in other
    assert system.replace(name="n") == ch.System("x y", "m g", **NESTED, name="n")


def test_texts_follow_the_names_that_they_are_written_with():
    """`r` gets another meaning, and with it every formula and row that is written with `r`; the others stay."""
    given = {
        "lagrangian": "x'^2 + y'^2 - r^2",
        "kinematic": ["r' = 0", "x'' = y"],
        "variational": ["δr = 0"],
        "forces": {"x": "r", "y": "x"},
    }
    system = ch.System("x y", where={"r": "x + y"}, **given)
    changed = system.replace(where={"r": "x - y"})
    assert changed == ch.System("x y", where={"r": "x - y"}, **given)
    assert [str(row) for row in changed.kinematic] == ["r' = 0", "x'' = y"]
    assert [str(row) for row in system.replace(name="same").kinematic] == ["r' = 0", "x'' = y"]
    numbers = ch.System("x", where={"k2": "2"}, lagrangian="x'^2/2 - k2*x^2/2").replace(where={"k2": "5"})
    assert ch.evaluate(ch.derive(numbers), {"x": 1, "x'": 0})["x''"] == -5


def test_texts_with_names_that_are_gone_keep_their_meaning():
    system = ch.System("x y", where={"r": "x + y"}, lagrangian="x'^2 + y'^2", kinematic={"stop": "r' = 0"}, variational=["δr = 0"])
    changed = system.replace(where={})
    assert changed.kinematic == system.kinematic and changed.variational == system.variational
    assert [str(row) for row in changed.kinematic] == ["x' + y' = 0"] and changed.kinematic_labels == ("stop",)
    assert [str(row) for row in changed.variational] == ["delta x + delta y = 0"]


def test_every_argument_of_a_system_has_its_line_in_the_table_of_parts():
    assert list(ARGUMENTS) == [name for name in signature(ch.System).parameters if name != "unknown"]
    fields = {"own_groups" if part.name == "groups" else part.name for part in PARTS}  # `system.groups` are the coordinates
    assert fields <= set(ch.System.__dataclass_fields__)


def test_parts_as_plain_data_give_the_system_again_in_own_words_or_in_the_notation():
    given = tyre(kinematic={"blade": "x1'  = psi'"}, where={"V": "K*x1^2"}, forces={"x1": "u - V  "}, inputs={"u": "sin(t)", "v": None})
    own, shown = (parts_of(given, words) for words in (AsWritten(), AsShown()))
    assert ch.System.of_parts(own) == ch.System.of_parts(shown) == given
    assert (own["forces"], shown["forces"]) == ({"x1": "u - V"}, {"x1": "u - K*x1^2"})
    assert own["kinematic"] == {"blade": "x1' = psi'"} and own["inputs"] == {"u": "sin(t)", "v": None}


def test_parts_that_plain_data_leave_out_are_those_of_a_system_without_them():
    assert ch.System.of_parts({"coordinates": {"x": "line"}, "lagrangian": "x'^2/2"}) == ch.System("x", lagrangian="x'^2/2")
    with pytest.raises(KeyError, match="lagrangian"):
        ch.System.of_parts({"coordinates": {"x": "line"}})
    with pytest.raises(TypeError, match="forces is not a mapping"):
        ch.System.of_parts({"coordinates": {"x": "line"}, "lagrangian": "x'^2/2", "forces": ["x"]})
