"""Wrong model files, made from right ones: each entry is a name, what was done, and the bytes of the file."""

from __future__ import annotations

import re
from collections.abc import Iterator

SLEIGH = """\
name = "sleigh"
lagrangian = "m/2*(x'^2 + y'^2) + J/2*theta'^2"

[coordinates]
x = "line"
y = "line"
theta = "angle"

[parameters]
m = 1.2
J = {value = 0.4, kind = "positive"}
a = 0.25

[constraints]
kinematic = ["y'*cos(theta) - x'*sin(theta) = a*theta'"]

[principle]
name = "dalembert"

[initial]
fixed = ["x = 0", "y = 0", "theta = pi/6", "x' = 1", "theta' = 0.3"]

[simulate]
t = [0, 5]
tolerance = 1e-10
"""

TYRE = """\
name = "tyre"
lagrangian = "I/2*psi'^2 + J/2*theta'^2 + M/2*(x1'^2 + x2'^2) - K/2*epsilon^2"

[coordinates]
psi = "angle"
theta = "angle"
epsilon = "angle"
x1 = "line"
x2 = "line"

[parameters]
I = 0.7
J = 0.9
M = 1.5
K = 2.0
a = 3.0

[constraints]
kinematic = [
  "x1' = psi'*cos(theta - epsilon)",
  "x2' = psi'*sin(theta - epsilon)",
  "-psi''*tan(epsilon) + psi'*(theta' - epsilon') = sign(psi')*a/M*tan(epsilon)",
]
variational = ["δpsi*cos(theta) - δx1 = 0", "δpsi*sin(theta) - δx2 = 0", "δtheta - δepsilon = 0"]

[principle]
name = "virtual-work"

[initial]
fixed = ["psi = 0.2", "theta = 0.5", "epsilon = 0.15", "x1 = 0.1", "x2 = -0.2", "psi' = 1.8", "theta' = 0.6"]
"""

DRIVEN = """\
name = "driven"
lagrangian = "x'^2/2 - k*x^2/2 - c*s"
action = "s"

[coordinates]
x = "line"

[parameters]
k = 4.0
c = 0.2

[forces]
x = "u"

[inputs]
u = "open"

[values]
u = "sin(2*t)"

[principle]
name = "herglotz"

[initial]
fixed = ["x = 1", "x' = 0", "s = 0"]
guess = []

[[compare]]
name = "herglotz"
inner = "vakonomic"
fixed = []

[invariants]
"""

NEEDED = r"lagrangian|\[(?!simulate|initial|invariants|\[compare)|name = \"(dal|vir)|\w+ = (\d|\"line|\"angle|\{value)|action|kinematic"
"""Lines without which a model is not complete."""

GOOD = {"sleigh": SLEIGH, "tyre": TYRE, "driven": DRIVEN}

Wrong = tuple[str, str, bytes]


def wrong_models() -> list[Wrong]:
    """All of them."""
    made = [*deleted(), *misspelt(), *wrong_types(), *unbalanced(), *huge(), *look_alikes(), *damaged(), *meaningless()]
    return [(f"{k:03d}-{kind}", what, content) for k, (kind, what, content) in enumerate(made)]


def _changed(kind: str, base: str, old: str, new: str, count: int = 1) -> Wrong:
    assert old in GOOD[base], (base, old)
    return kind, f"{base}: {old!r} -> {new!r}", GOOD[base].replace(old, new, count).encode()


def deleted() -> Iterator[Wrong]:
    """Lines without which the model is not complete: every declaration that is used, every head of a table, every datum."""
    for base in GOOD:
        lines = GOOD[base].splitlines(keepends=True)
        for k, line in enumerate(lines):
            needed = re.match(NEEDED, line)
            if needed and not line.startswith("[values]") and not re.match(r'tolerance|x = "u"', line):
                yield "deleted", f"{base}: line {k + 1} {line.strip()!r} deleted", "".join(lines[:k] + lines[k + 1 :]).encode()
    for datum in ('"x = 0", ', '"theta = pi/6", ', ', "theta\' = 0.3"'):
        yield _changed("deleted", "sleigh", datum, "")


def misspelt() -> Iterator[Wrong]:
    """Every key and every table with a letter too many, too few, or two exchanged."""
    for base in GOOD:
        for found in re.finditer(r"^(\[+)?([a-z]+)", GOOD[base], re.MULTILINE):
            word = found[2]
            if word in ("x", "y", "k", "c", "u", "m", "a", "psi", "theta", "epsilon", "name") and not (
                word == "name" and found.start() == 0
            ):
                continue
            spelling = word[0] + word[2] + word[1] + word[3:] if len(word) > 3 and word[1] != word[2] else word + "s"
            yield (
                "misspelt",
                f"{base}: {word} -> {spelling}",
                (GOOD[base][: found.start(2)] + spelling + GOOD[base][found.end(2) :]).encode(),
            )
    yield _changed("misspelt", "sleigh", '"dalembert"', '"dalambert"')
    yield _changed("misspelt", "sleigh", '"angle"', '"angel"')
    yield _changed("misspelt", "sleigh", "cos(theta)", "cos(thta)")
    yield _changed("misspelt", "sleigh", "cos(theta)", "cosine(theta)")
    yield _changed("misspelt", "sleigh", '"theta = pi/6"', '"teta = pi/6"')
    yield _changed("misspelt", "sleigh", 'kind = "positive"', 'kind = "positiv"')


def wrong_types() -> Iterator[Wrong]:
    """Values of another kind than their keys ask for."""
    for base in GOOD:
        for found in re.finditer(r'^([\w]+) = ("[^"\n]*"|[-\d.e]+|\[[^\n]*\])$', GOOD[base], re.MULTILINE):
            given = found[2]
            others = (
                ["12", "true", "[[1]]"] if given.startswith('"') else ["1979-05-27", "{}"] if given.startswith("[") else ["true", "[1.5]"]
            )
            for other in others:
                text = GOOD[base][: found.start(2)] + other + GOOD[base][found.end(2) :]
                yield "type", f"{base}: {found[1]} = {other}", text.encode()


def unbalanced() -> Iterator[Wrong]:
    """Brackets and quotes that do not close."""
    for old, new in (
        ("cos(theta)", "cos(theta"),
        ("cos(theta)", "cos theta)"),
        ("(x'^2 + y'^2)", "(x'^2 + y'^2"),
        ("(x'^2 + y'^2)", "x'^2 + y'^2)"),
        ("[0, 5]", "[0, 5"),
        ("[0, 5]", "0, 5]"),
        ('"line"', '"line'),
        ("[coordinates]", "[coordinates"),
        ("[coordinates]", "coordinates]"),
        ("theta'\"]", "theta'\""),
        ('kind = "positive"}', 'kind = "positive"'),
        ("m/2*(", "m/2*(("),
        ("sin(theta)", "sin()"),
        ("cos(theta)", "|theta|"),
        ("cos(theta)", "cos[theta]"),
        ("fixed = [", "fixed = [["),
    ):
        yield _changed("brackets", "sleigh", old, new)


def huge() -> Iterator[Wrong]:
    """Numbers, powers, nesting and lengths beyond what is read."""
    for old, new in (
        ("m = 1.2", "m = 1e400"),
        ("m = 1.2", "m = -inf"),
        ("m = 1.2", "m = nan"),
        ("m = 1.2", "m = " + "9" * 5000),
        ("m = 1.2", 'm = "1/0"'),
        ("m = 1.2", 'm = "10^400"'),
        ("m = 1.2", 'm = "exp(1000)"'),
        ('"x = 0"', '"x = 1e999"'),
        ('"x = 0"', '"x = ' + "9" * 500 + '"'),
        ('"x = 0"', '"x = 1/0"'),
        ("theta'^2", "theta'^100000"),
        ("theta'^2", "D(theta, 21)"),
        ("theta'^2", "D(theta, 10000000000)"),
        ("m/2*", "m/" + "3" * 500 + "*"),
        ("m/2*(", "m/2*" + "(" * 300),
        ("[0, 5]", "[0, 1e400]"),
        ("[0, 5]", "[5, 5]"),
        ("[0, 5]", "[0, 2, 1]"),
        ("1e-10", "-1e-10"),
        ("1e-10", "1e-300"),
        ("1e-10", "1e400"),
        ("theta'^2", "theta'^2^2^2^2^2^2"),
        ("fixed = [", "fixed = " + "[" * 2000),
        ("value = 0.4", "value = -0.4"),
    ):
        yield _changed("huge", "sleigh", old, new)
    yield "huge", "a file of two million bytes", (SLEIGH + "#" * 2_000_000).encode()
    yield "huge", "a key of four hundred thousand parts", ("a" + ".a" * 400_000 + " = 1\n").encode()
    yield "huge", "a hundred thousand brackets", SLEIGH.replace("m/2*", "(" * 100_000).encode()


def look_alikes() -> Iterator[Wrong]:
    """Characters that look like others: Cyrillic and full-width letters, superscripts, typographic quotes and signs."""
    for old, new in (
        ("a*theta'", "а*theta'"),
        ("x'^2", "х'^2"),
        ("x'^2", "x'²"),
        ("x'^2", "x’^2"),
        ("x'^2", "x′^2"),
        ("m/2*(", "m/2×("),
        ("m/2*(", "m/2·("),
        ("m/2*(", "m÷2*("),
        (" - x'", " − x'"),
        ("cos(theta)", "соs(theta)"),
        ('"line"', "“line”"),
        ("m = 1.2", "м = 1.2"),
        ("m = 1.2", "m = １.2"),
        ("m/2*(", "ｍ/2*("),
        ("cos(theta)", "cos（theta）"),
        ("cos(theta)", "cos(thеta)"),
        ("cos(theta)", "cos(the\u200bta)"),
        ("lagrangian", "lаgrangian"),
        ("[initial]", "[іnitial]"),
        ("theta'^2", "theta'⁲"),
        ("J/2", "½*J"),
        ("pi/6", "ℼ/6"),
        ('theta = "angle"', 'θ = "angle"\ntheta = "angle"'),
        ('"dalembert"', '"d’alembert"'),
        (" = a*theta'", " ＝ a*theta'"),
    ):
        yield _changed("look-alike", "sleigh", old, new)


def damaged() -> Iterator[Wrong]:
    """Bytes that are no text, and texts that are no TOML."""
    yield "damaged", "an empty file", b""
    yield "damaged", "blanks only", b"  \n\n"
    yield "damaged", "a picture", bytes(range(256)) * 4
    yield "damaged", "Latin-1", SLEIGH.replace("sleigh", "Schl\u00fcssel").encode("latin-1")
    yield "damaged", "UTF-16", SLEIGH.encode("utf-16")
    yield "damaged", "a zero byte", SLEIGH.replace("theta", "the\0ta", 1).encode()
    yield "damaged", "JSON", b'{"name": "sleigh"}'
    yield "damaged", "Python", b"import chetaev as ch\nprint(ch)\n"
    for old, new in (
        ("m = 1.2", "m = 1.2\nm = 1.3"),
        ("[parameters]", "[coordinates]"),
        ("m = 1.2", "m = 1,2"),
        ("m = 1.2", "m: 1.2"),
        ("m = 1.2", "m = "),
        ("m = 1.2", "m = 1.2 kg"),
        ('name = "sleigh"', "name = sleigh"),
        ("[principle]", "principle"),
        ("[parameters]", "[[parameters]]"),
        ("[initial]", "[initial.more]"),
        ("m = 1.2", "m.value = 1.2"),
        ("m = 1.2", 'm = "\\q"'),
    ):
        yield _changed("damaged", "sleigh", old, new)


def meaningless() -> Iterator[Wrong]:
    """Files in order whose mathematics, or mechanics, is not."""
    for old, new in (
        ("= a*theta'", "== a*theta'"),
        ("= a*theta'", "= a*theta' = 0"),
        ("a*theta'", "a'*theta'"),
        ("a*theta'", "2a*theta'"),
        ("cos(theta)", "cos(theta, x)"),
        ("m/2*(", "m/2*+*("),
        ("y'*cos", "δy*cos"),
        ('x = "line"', 'x = "line"\nt = "line"'),
        ('x = "line"', 'x = "line"\nsin = "line"'),
        ("m = 1.2", "m = 1.2\nx = 3"),
        ('x = "line"', 'x = "line"\nlambda1 = "line"'),
        ('"dalembert"', '"hamilton"'),
        ('"dalembert"', '"virtual-work"'),
        ('"dalembert"', '"herglotz"'),
        ('"dalembert"', '"dalembert"\ninner = "vakonomic"'),
        ('"dalembert"', '"vakonomic"'),
        ("y'*cos(theta)", "y''^2*cos(theta)"),
        ('"x = 0"', '"x == 0"'),
        ('"x = 0"', '"x"'),
        ('"x = 0"', '"= 0"'),
        ('"x = 0"', '"x = t"'),
        ('"x = 0"', '"x = q"'),
        ('"x = 0"', '"m = 0"'),
        ('"x = 0"', '"lambda7 = 0", "x = 0"'),
        ('"x = 0"', '"x = 0", "x = 1"'),
        ('"y = 0"', '"y = 0", "y\' = 7"'),
        ("m/2*(x'^2 + y'^2) + J/2*theta'^2", ""),
        ("m/2*(x'^2 + y'^2) + J/2*theta'^2", "x^2"),
        ("m/2*(x'^2 + y'^2) + J/2*theta'^2", "__import__('os').system('true')"),
        ("J/2*", "J/2*foo(x)*"),
        ("1.2", '"a"'),
        ('"y = 0", ', '"y = 0", "x^2 + y^2 = 1", '),
    ):
        yield _changed("meaningless", "sleigh", old, new)
    yield _changed("meaningless", "tyre", "δtheta - δepsilon = 0", "δtheta - epsilon' = 0")
    yield _changed("meaningless", "tyre", "δtheta - δepsilon = 0", "δs = 0")
    yield _changed("meaningless", "tyre", '"virtual-work"', '"dalembert"')
    yield _changed("meaningless", "driven", 'u = "sin(2*t)"', 'v = "sin(2*t)"')
    yield _changed("meaningless", "driven", 'u = "sin(2*t)"', 'u = "sin(2*zz)"')
    yield _changed("meaningless", "driven", "[invariants]\n", '[invariants]\nenergy = "x\'^2/2 + q"\n')
    yield _changed("meaningless", "driven", 'action = "s"', 'action = "x"')
    yield _changed("meaningless", "driven", "fixed = []", 'fixed = ["mu = 1"]')
    yield _changed("meaningless", "driven", 'x = "u"', 'z = "u"')
