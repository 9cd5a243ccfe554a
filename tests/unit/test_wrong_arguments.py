"""Arguments of a wrong type are refused in the words of the library."""

import enum
import inspect

import pytest

import chetaev as ch
from chetaev.core.support.argument_types import may_be, wrong_argument

SYSTEM = ch.System("x y", "m", lagrangian="m/2*(x'^2 + y'^2)", kinematic={"blade": "y' = x*x'"}, name="s")
EQUATIONS = ch.derive(SYSTEM, ch.DAlembert())
WRONG = {"a number": 3, "a text": "x", "None": None, "a system": SYSTEM, "equations": EQUATIONS, "a list": [1, "a"]}
MODULES = (ch, ch.transforms, ch.groups, ch.orbits, ch.control, ch.forms, ch.singular, ch.sweeps)
STARTS_SOMETHING = {"studio", "report", "animate", "save", "sweep"}
DOCUMENTED = {"show": ValueError, "Coordinate": ValueError, "Input": ValueError, "Parameter": ValueError}
"""What the docstring, or the class of symbols, promises instead."""


def _public():
    found = {}
    for module in MODULES:
        for name in [*getattr(module, "__all__", ()), *getattr(module, "ALSO", ())]:
            thing = getattr(module, name)
            is_value = isinstance(thing, type) and issubclass(thing, Exception | enum.Enum)
            if callable(thing) and not is_value and name not in STARTS_SOMETHING:
                found[name] = thing
    return found


PUBLIC = _public()


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_a_wrong_type_is_no_error_of_python(name):
    function = PUBLIC[name]
    needed = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    count = max(1, len([p for p in needed if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]))
    for word, value in WRONG.items():
        named = {p.name: value for p in needed if p.kind is p.KEYWORD_ONLY}
        promised = (ch.ChetaevError, DOCUMENTED.get(name, ch.ChetaevError))
        try:
            function(*[value] * count, **named)
        except Exception as fault:
            if not isinstance(fault, promised) and "argument" not in str(fault):  # nor does it miss an argument
                pytest.fail(f"{name} of {word} raises {fault!r}")


def test_the_message_names_the_argument():
    with pytest.raises(ch.UsageError) as refused:
        ch.forms.rank(3)
    assert str(refused.value) == "UsageError · rank\n  rank takes a Distribution as distribution, not int.\n  -> rank(distribution)"
    with pytest.raises(ch.UsageError, match="a Sequence of Form as forms, not list of int or str"):
        ch.forms.annihilated_by([1, "a"], [])
    with pytest.raises(ch.UsageError, match=r"Form takes a Mapping as terms, not int"):
        ch.forms.Form(1, 3)


def test_only_annotated_types_are_compared():
    def verb(a: int | None, b: list[str], c, *more: int, **named: str): ...

    verb.__qualname__ = "verb"
    assert wrong_argument(verb, (3, ["x"], object(), "y"), {"z": 3}) is None
    assert wrong_argument(verb, (None, ["x"], 3), {}) is None
    assert wrong_argument(verb, (3,), {}) is None  # Python says what is missing
    assert "an int as a, not str" in str(wrong_argument(verb, ("3", ["x"], 3), {}))
    assert may_be(2.5, int) and may_be(3, float) and not may_be("3", float) and not may_be("ab", list[str])


def test_names_and_expressions():
    for make in (ch.coordinates, ch.parameters, ch.inputs):
        with pytest.raises(ch.UsageError, match="'2x' is not a name"):
            make("2x")
        with pytest.raises(ch.UsageError, match=f"{make.__name__} takes a text with names, not int"):
            make(3)
    assert [q.name for q in ch.coordinates("x1 θ")] == ["x1", "θ"]
    assert ch.to_sympy(3) == 3 and 2 * ch.to_sympy(0.5) == 1
    with pytest.raises(ch.UsageError, match="to_sympy takes an expression, not str"):
        ch.to_sympy("x")
    with pytest.raises(ch.UsageError, match="in_coordinates takes a System, not Equations") as refused:
        ch.groups.in_coordinates(EQUATIONS)
    assert refused.value.hint == "in_coordinates(equations.system)"
    with pytest.raises(ch.UsageError, match="x' is a derivative"):
        ch.delta(ch.coordinates("x").d())


def test_named_expressions_are_quoted_in_either_spelling():
    for letter, row in (("ω", "ω = 1"), ("omega", "ω = 1"), ("ω", "omega = 1"), ("omega", "omega = 1")):
        equations = ch.derive(ch.System("x", lagrangian="x'^2/2", where={letter: "x'"}, kinematic=[row]), ch.DAlembert())
        assert "where         omega = x'" in str(equations)
        assert r"\omega &= \dot{x}" in equations.latex()
    other = ch.derive(ch.System("x", lagrangian="x'^2/2", where={"omega": "x'"}, kinematic=["x' = 1"]), ch.DAlembert())
    assert "where" not in str(other)
