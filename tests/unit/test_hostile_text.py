"""Names, titles and prose stay texts: no terminal, compiler, typesetter or browser obeys them."""

import ast
import re
import unicodedata
from dataclasses import replace

import pytest

import chetaev as ch
from chetaev.core.support.text import in_c_comment, visible
from chetaev.io.reading import loads
from chetaev.io.writing import dumps

CODE = '#include <stdlib.h>\n__attribute__((constructor)) static void f(void){ system("id"); }'
OBEYED = [
    f"pendulum *\\\n/\n{CODE}\n/*",
    f"pendulum *??/\n/\n{CODE}\n/*",
    f"a\n*/ {CODE}",
    "\x1b]0;title\x07",
    "\x1b[2J\x1b[H",
    "\x1b[31mred\x1b[0m",
    "\x9b31m",
    "\x90q#0\x9c",
    "\x07",
    "a\rb",
    "a\r\nb",
    "a\nb",
    "a\tb",
    "a\x00b",
    "a\x08\x08b",
    "a\x0bb",
    "a\x0cb",
    "a\x7fb",
    "a\x85b",
    "a\u2028b",
    "a\u2029b",
    "\u202eevil",
    "\u2066x\u2069",
    "\u200ex",
    "\ufeffx",
    "\U000e0041x",
    "\ud800",
    "\x0e\x0f",
    "\x1bPq\x1b\\",
    "a" * 501,
]
"""Names with characters that something obeys, or too long: refused."""
MARKUP = [
    "a */ b",
    "*/",
    "/*",
    "**/ int x; /*",
    "a \\",
    "*\\/",
    "a ??/",
    "*??/",
    "???/",
    "\\u002a/",
    "//",
    '"""',
    '""""',
    "'''",
    '"""; import os; os.system("id"); """',
    "\\",
    "\\\\",
    '\\"""',
    "{}",
    "{0}",
    "%s %d",
    "#include <x>",
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    "<!--",
    "-->",
    "]]>",
    "&lt;script&gt;",
    '" onload="alert(1)',
    "${7*7}",
    "$x$",
    "$",
    "$\\frac{",
    "\\input{/etc/passwd}",
    "\\write18{id}",
    "}\\def\\x{",
    "{",
    "}",
    "a_b^c~d%e#f&g",
    "\\end{array}",
    "[red]x[/red]",
    "[link=http://x]y[/link]",
    "$(id) `id` ;id",
    "=cmd|' /C calc'!A0",
    "مثال\u200cنام",
    "θ pendulum é 日本",
]
"""Names of visible characters only: accepted, and shown."""

SYSTEM = ch.System("x", "k", lagrangian="x'^2/2 - k*x^2/2")
MODEL = ch.Model(SYSTEM, ch.Hamilton(), {"k": 1}, {"x": 1, "x'": 0})
_ALLOWED = r"\\(text|backslash|sim|wedge|displaystyle|begin\{array\}|end\{array\}|frac|dot|[{}$&#_%\\ ])|\{<\}|\{>\}"


def named(name):
    return replace(MODEL, system=SYSTEM.replace(name=name))


def acting(text):
    """The characters of a text that act, line ends and tabs apart; found without the library."""
    return [c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs") and c not in "\n\t\u200c\u200d"]


def code_of_c(text):
    """What a C compiler sees: trigraphs, then joined lines, then comments away (C99, 5.1.1.2, phases 1 to 3)."""
    for k, c in zip("=/'()!<>-", "#\\^[]|{}~", strict=True):
        text = text.replace(f"??{k}", c)
    text = re.sub(r"\\[ \t]*\n", "", text)
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


@pytest.mark.parametrize("name", OBEYED, ids=ascii)
def test_a_name_that_something_obeys_is_refused_and_quoted_visibly(name):
    with pytest.raises(ch.ModelError) as told:
        ch.System("x", lagrangian="x'^2/2", name=name)
    assert not acting(str(told.value)) and "the name" in str(told.value)


@pytest.mark.parametrize("name", MARKUP, ids=ascii)
def test_a_name_that_looks_like_markup_is_shown_as_it_is(name):
    model = named(name)
    assert str(model.system).startswith(name.rstrip()) and loads(dumps(model)).name == name
    latex = model.system._repr_latex_()
    assert not re.search(r"<[A-Za-z!/?]", latex)  # what opens a tag
    rest = re.sub(_ALLOWED, "", latex)
    assert "\\" not in rest and "%" not in rest and "#" not in rest and rest.count("$") == 2
    bare = re.sub(r"\\.", "", latex)
    assert bare.count("{") == bare.count("}")


@pytest.mark.parametrize("name", MARKUP, ids=ascii)
def test_a_name_stays_inside_the_comment_of_a_program(name):
    c = ch.code(named(name), "c")
    assert code_of_c(c).lstrip().startswith("#include <math.h>")
    assert code_of_c(c).count("#include") == 3  # math.h, stdio.h, stdlib.h
    for language in ("numpy", "casadi"):
        head, imported = ast.parse(ch.code(named(name), language)).body[:2]
        assert name in ast.literal_eval(head.value) and isinstance(imported, ast.Import)


def test_what_ends_a_comment_of_c_after_lines_are_joined():
    for text in ("*/", "*\\\n/", "*??/\n/", "*\\ \n/", "?" * 9 + "/", "*\\\n\\\n/", "/*/"):
        assert code_of_c(f"/* {in_c_comment(text)} */x") == "x"


@pytest.mark.parametrize("part", ["prose", "reference", "corrections", "invariants"])
def test_prose_that_a_terminal_obeys_is_refused(part):
    text = "a\x1b]0;b"
    given = {"corrections": (text,), "invariants": {text: "x"}}.get(part, text)
    with pytest.raises(ch.ModelError, match="U\\+001B") as told:
        replace(MODEL, **{part: given})
    assert not acting(str(told.value))
    assert replace(MODEL, prose="two\nlines").prose == "two\nlines"


@pytest.mark.parametrize(
    "line",
    [
        'name = "\\u001b]0;a"',
        'name = "a\\nb"',
        'prose = "\\u001b[2J"',
        '"\\u001b[2J" = 1',
        'lagrangian = "x \\u001b[2J"',
        '[coordinates]\n"\\u001b" = "line"',
        '[parameters]\n"\\u202ek" = 1',
        '[principle]\nname = "\\u001b[2J"',
        '[initial]\nfixed = ["\\u001b = 1"]',
        '[invariants]\n"\\u001b[1m" = "x"',
        '[where]\n"\\u009b1m" = "x"',
        '[forces]\n"x\\u0007" = "x"',
    ],
)
def test_model_files_with_control_characters_are_refused_visibly(line):
    text = dumps(MODEL)
    head = re.match(r'(\[\w+\]|\w+ = |")', line)[0]
    if head.startswith("["):
        text = text.replace(head, "").replace('\nx = "line"', "") if head == "[coordinates]" else re.sub(rf"\{head[:-1]}\][^\[]*", "", text)
        text = f"{text}\n{line}\n"
    else:
        text = f"{line}\n" + re.sub(rf"^{re.escape(head)}.*\n", "", text, flags=re.MULTILINE)
    with pytest.raises(ch.ChetaevError) as told:
        loads(text, "hostile\x1b.toml")
    assert not acting(str(told.value))


@pytest.mark.parametrize("text", ["\x1b[2J", "1\r2", "\x9b1m", "\u202e1", "1\u20282"], ids=ascii)
@pytest.mark.parametrize("part", ["parameters", "start", "inputs", "gauge", "scale", "invariants", "also"])
def test_names_and_values_that_a_terminal_obeys_are_refused(part, text):
    for given in ({text: 1}, {"x": text}):
        if part == "scale" and text in given.values():
            continue
        with pytest.raises(ch.ModelError, match="contains the control character") as told:
            replace(MODEL, **{part: {ch.DAlembert(): given} if part == "also" else given})
        assert not acting(str(told.value))


def test_errors_never_carry_a_character_that_acts():
    for kind in (ch.ModelError, ch.NotationError, ch.UsageError):
        error = kind("what\x1b[2J", where="where\x9b", why="why\u202e", hint="hint\x07")
        assert not acting(str(error)) and "\\x1b" in str(error)
    assert visible("a\nb\tc θ é") == "a\nb\tc θ é"


@pytest.mark.parametrize("name", ["x<y", "x$", "x\\y", "\x1b", "", "x\n", "{x", "a&b", "x%", "\u202ex"])
def test_symbols_made_by_hand_have_words_for_names(name):
    for kind in (ch.Coordinate, ch.Parameter, ch.Input):
        with pytest.raises(ValueError, match="cannot be the name"):
            kind(name)


@pytest.mark.parametrize(
    ("name", "typeset"), [(word, rf"\mathrm{{{word}}}") for word in ("xdot", "xprime", "alphahat", "xmag")] + [("theta", r"\theta")]
)
def test_a_name_that_ends_like_an_accent_is_typeset_as_a_name(name, typeset):
    assert ch.show(ch.Coordinate(name), "latex") == typeset  # SymPy would write a dot above x: the velocity of another coordinate
