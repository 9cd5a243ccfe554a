"""Large and deeply nested models are read in one pass, or refused with a reason; nothing ends in a RecursionError."""

import pytest

import chetaev as ch
from chetaev.io.places import line_of, place
from chetaev.io.reading import loads

HEAD = 'name = "p"\nlagrangian = "x\'^2/2"\n[coordinates]\nx = "line"\n[principle]\nname = "hamilton"\n'


def table(name, entries):
    return HEAD + f"[{name}]\n" + "\n".join(entries) + "\n"


LARGE = {
    "parameters": table("parameters", (f"p{k} = {k}" for k in range(5_000))),
    "names": table("where", ['w0 = "x"', *(f'w{k} = "w{k - 1} + 1"' for k in range(1, 2_000))]),
    "inputs": table("inputs", (f'u{k} = "sin(t)"' for k in range(2_000))),
    "rows": table("constraints", ["kinematic = [", *(f'"x = {k}",' for k in range(1, 1_000)), "]"]),
    "values": table("invariants", (f'v{k} = "x + {k}"' for k in range(2_000))),
}
"""Each would take minutes if the time grew with the square of the number of entries; the suite's own limit is the judge."""


@pytest.mark.parametrize("name", LARGE)
def test_the_time_to_read_grows_with_the_length(name):
    model = loads(LARGE[name])
    count = {
        "parameters": len(model.parameters),
        "names": len(model.system.where),
        "inputs": len(model.system.inputs),
        "rows": len(model.system.kinematic) + 1,
        "values": len(model.invariants),
    }[name]
    assert count in (1_000, 2_000, 5_000)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (table("constraints", ["kinematic = [", *['"x = 1",'] * 10_001, "]"]), "at most 10000 are read"),
        (table("quasi", (f'q{k} = "x\'"' for k in range(5_001))), "at most 5000 are read"),
        (table("where", ['w0 = "x"', *(f'w{k} = "sin(w{k - 1})"' for k in range(1, 600))]), "nested more than 500 deep"),
        (table("where", ['w0 = "x"', *(f'w{k} = "w{k - 1}*sin(w{k - 1} + {k})"' for k in range(1, 60))]), "terms when"),
        (HEAD.replace("x'^2/2", "(" * 100_000), "nested more than 200 deep"),
        (HEAD.replace("x'^2/2", "sin(" * 10_000), "nested more than 200 deep"),
        (HEAD.replace("x'^2/2", "x^" * 10_000), "nested more than 200 deep"),
        (HEAD.replace("x'^2/2", "max(x, " * 300), "nested more than 200 deep"),
        ("a = " + "[" * 100_000, "nested too deeply"),
        ("a = " + "{a = " * 100_000, "nested too deeply"),
        (".".join("a" * 100_000) + " = 1", "too many parts"),
        (HEAD.replace('x = "line"', f'{"n" * 101} = "line"'), "is not a name"),
        (HEAD + f"[groups.{'G' * 101}]\nbasis = [[[1]]]", "cannot be the word of a group"),
        (HEAD + "".join(f"[groups.G{k}]\nbasis = [[[0, 1], [0, 0]]]\n" for k in range(501)), "at most 500 are read"),
        (f'name = "{"n" * 501}"\n' + HEAD.partition("\n")[2], "at most 500"),
    ],
)
def test_what_is_too_large_or_too_deep_is_refused(text, told):
    with pytest.raises(ch.ChetaevError, match=told):
        loads(text)


@pytest.mark.parametrize(
    "text",
    [
        HEAD.replace('"line"', f'"{"k" * 300_000}"'),
        f"{'k' * 300_000} = 1\n{HEAD}",
        HEAD.replace("hamilton", "k" * 300_000),
        HEAD + f'[simulate]\nmethod = "{"k" * 300_000}"',
        HEAD + f'[initial]\nfixed = ["{"k" * 300_000}"]',
        HEAD + f"[scene]\n{'k' * 300_000} = 1",
    ],
)
def test_a_message_does_not_repeat_a_text_without_end(text):
    with pytest.raises(ch.ChetaevError) as told:
        loads(text)
    assert len(str(told.value)) < 20_000 and "characters)" in str(told.value)


@pytest.mark.parametrize("written", ["max(x, ", "sin(2*", "-(", "2^("])
def test_sixty_levels_are_read_derived_and_shown(written):
    text = written * 60 + "y" + ")" * 60
    equations = ch.derive(ch.System("x y", lagrangian=f"x'^2/2 + y'^2/2 - {text}"))
    assert ch.parse(ch.show(equations.system.lagrangian), equations) == equations.system.lagrangian
    assert equations.system._repr_latex_() and equations.latex()
    assert len([line for line in str(equations).splitlines() if "simplify" not in line]) == 4


def test_sums_of_many_signs_and_terms():
    assert ch.parse("-" * 100_001 + "x", coordinates="x") == -ch.Coordinate("x")
    assert ch.parse("+".join(["x"] * 5_000), coordinates="x") == 5_000 * ch.Coordinate("x")


def test_places_of_keys_tables_and_entries():
    text = 'a = 1\n[t]\nb = 2\nlist = [\n  "one",\n  "two",\n]\n[[c]]\nname = 1\n[[c]]\nname = 2\n"q r" = 3\n'
    assert [line_of(text, *at) for at in (("", "a"), ("t",), ("t", "b"), ("c", "name", 0), ("c", "name", 1), ("c", "q r", 1))] == [
        1,
        2,
        3,
        9,
        11,
        12,
    ]
    assert line_of(text, "t", "a") is None and line_of(text, "c", "name", 2) is None
    assert place("f", text, "t", "list", index=1) == "f, t.list[1], line 6"
    assert place("f", text, "t", "list", index=9) == "f, t.list[9], line 4"


def test_a_principle_to_compare_is_named_once():
    entry = '[[compare]]\nname = "vakonomic"\nfixed = []\n'
    assert len(loads(HEAD + entry).also) == 1
    with pytest.raises(ch.ModelError, match="named twice"):
        loads(HEAD + entry + entry)
    with pytest.raises(ch.ModelError, match="named twice"):
        loads(HEAD + entry.replace("vakonomic", "hamilton"))
