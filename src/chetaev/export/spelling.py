"""The syntax of the operations of a graph in NumPy, CasADi, JavaScript and C.

A template has `{a}` and `{b}` for its arguments, a rank, and the least rank of each argument: an argument of lower rank is put in brackets.
Sums have rank 1, products 2, powers 3; names, numbers and calls have rank 4 and never need brackets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca

from chetaev.core.functions import SMOOTH

SUM, PRODUCT, POWER, ATOM = 1, 2, 3, 4  # ranks: how tightly an operation binds


@dataclass(frozen=True)
class Template:
    """The text of an operation, its rank (binding strength), and for each argument the lowest rank that needs no brackets."""

    text: str
    rank: int = ATOM
    needs: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Spelling:
    """A language: its operations, its form of an assignment, its word for infinity, and the `words` that cannot be names."""

    operations: Mapping[int, Template]
    assignment: str
    infinity: str
    words: frozenset[str]

    def number(self, value: float) -> str:
        """Write a constant so that it reads back as the same double."""
        if value != value or value in (float("inf"), float("-inf")):
            return ("-" if value < 0 else "") + self.infinity
        return repr(value)


def _code(name: str) -> int:
    return int(getattr(ca, f"OP_{name.upper()}"))


_ARITHMETIC = {
    _code("add"): Template("{a} + {b}", SUM, (SUM, PRODUCT)),
    _code("sub"): Template("{a} - {b}", SUM, (SUM, PRODUCT)),
    _code("mul"): Template("{a}*{b}", PRODUCT, (PRODUCT, POWER)),
    _code("div"): Template("{a}/{b}", PRODUCT, (PRODUCT, POWER)),
    _code("neg"): Template("-{a}", SUM, (PRODUCT, 0)),
    _code("twice"): Template("2.0*{a}", PRODUCT, (POWER, 0)),
    _code("inv"): Template("1.0/{a}", PRODUCT, (POWER, 0)),
}
_SAME = " ".join([*[name for name, function in SMOOTH.items() if not function.numpy], *"floor ceil log1p expm1".split()])
"""Functions that all languages call by the same name."""
_OTHERS = {name: function.numpy for name, function in SMOOTH.items() if function.numpy}
"""Functions of one argument that NumPy calls by another name."""
_PYTHON_POWERS = {
    _code("sq"): Template("{a}**2", POWER, (ATOM, 0)),
    _code("pow"): Template("{a}**{b}", POWER, (ATOM, ATOM)),
    _code("constpow"): Template("{a}**{b}", POWER, (ATOM, ATOM)),
}


def _calls(prefix: str, names: Mapping[str, str], arguments: str) -> dict[int, Template]:
    return {_code(operation): Template(f"{prefix}{name}({arguments})") for operation, name in names.items()}


def _as_they_are(names: str) -> dict[str, str]:
    return {name: name for name in names.split()}


NUMPY = Spelling(
    {
        **_ARITHMETIC,
        **_PYTHON_POWERS,
        **_calls("np.", _as_they_are(_SAME + " sign fabs"), "{a}"),
        **_calls("np.", _OTHERS, "{a}"),
        **_calls("np.", {**_as_they_are("fmin fmax copysign hypot fmod"), "atan2": "arctan2"}, "{a}, {b}"),
        **{_code(name): Template(f"np.where({{a}} {sign} {{b}}, 1.0, 0.0)", ATOM, (SUM, SUM)) for name, sign in
           {"lt": "<", "le": "<=", "eq": "==", "ne": "!="}.items()},
        _code("not"): Template("np.where({a} == 0.0, 1.0, 0.0)", ATOM, (SUM, 0)),
        _code("and"): Template("np.where(({a} != 0.0) & ({b} != 0.0), 1.0, 0.0)", ATOM, (SUM, SUM)),
        _code("or"): Template("np.where(({a} != 0.0) | ({b} != 0.0), 1.0, 0.0)", ATOM, (SUM, SUM)),
        _code("if_else_zero"): Template("np.where({a} != 0.0, {b}, 0.0)", ATOM, (SUM, 0)),
    },
    "{name} = {value}",
    "np.inf",
    frozenset(
        "and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal "
        "not or pass raise return try while with yield False None True match case np main".split()
    ),
)  # fmt: skip
"""NumPy."""

CASADI = Spelling(
    {
        **_ARITHMETIC,
        **_PYTHON_POWERS,
        **_calls("ca.", _as_they_are(" ".join([_SAME, "sign fabs", *_OTHERS])), "{a}"),
        **_calls("ca.", _as_they_are("fmin fmax copysign hypot fmod atan2 remainder"), "{a}, {b}"),
        **{_code(name): Template(f"({{a}} {sign} {{b}})", ATOM, (SUM, SUM)) for name, sign in
           {"lt": "<", "le": "<=", "eq": "==", "ne": "!="}.items()},
        _code("not"): Template("ca.logic_not({a})"),
        _code("and"): Template("ca.logic_and({a}, {b})"),
        _code("or"): Template("ca.logic_or({a}, {b})"),
        _code("if_else_zero"): Template("ca.if_else({a}, {b}, 0.0)"),
    },
    "{name} = {value}",
    "ca.inf",
    NUMPY.words | {"ca"},
)  # fmt: skip
"""CasADi, in Python."""

JAVASCRIPT = Spelling(
    {
        **_ARITHMETIC,
        _code("sq"): Template("square({a})"),
        **_calls("Math.", {name: name for name in [*_SAME.split(), *_OTHERS] if name != "erf"} | {"sign": "sign", "fabs": "abs"}, "{a}"),
        _code("erf"): Template("erf({a})"),
        **_calls("Math.", {"pow": "pow", "constpow": "pow", "fmin": "min", "fmax": "max", "hypot": "hypot", "atan2": "atan2"}, "{a}, {b}"),
        _code("copysign"): Template("copysign({a}, {b})"),
        _code("fmod"): Template("(({a})%({b}))"),
        **{_code(name): Template(f"({{a}} {sign} {{b}} ? 1 : 0)", ATOM, (SUM, SUM)) for name, sign in
           {"lt": "<", "le": "<=", "eq": "===", "ne": "!=="}.items()},
        _code("not"): Template("({a} === 0 ? 1 : 0)", ATOM, (SUM, 0)),
        _code("and"): Template("({a} !== 0 && {b} !== 0 ? 1 : 0)", ATOM, (SUM, SUM)),
        _code("or"): Template("({a} !== 0 || {b} !== 0 ? 1 : 0)", ATOM, (SUM, SUM)),
        _code("if_else_zero"): Template("({a} !== 0 ? {b} : 0)", ATOM, (SUM, SUM)),
    },
    "const {name} = {value};",
    "Infinity",
    frozenset(
        "abstract arguments async await boolean break byte case catch char class const continue debugger default delete do double else "
        "enum eval export extends false final finally float for function get goto if implements import in instanceof int interface let "
        "long native new null of package private protected public return set short static super switch synchronized this throw throws "
        "transient true try typeof undefined var void volatile while with yield NaN Infinity Math Number Object Array Map Set Error JSON "
        "Float64Array ArrayBuffer globalThis window document self square erf copysign s p u j a t solved found "
        "matrixAtFilled slopesAtFilled surfaceSlopesAtFilled".split()
    ),
)  # fmt: skip
"""JavaScript, as a module."""

C = Spelling(
    {
        **_ARITHMETIC,
        _code("sq"): Template("sq({a})"),
        **_calls("", _as_they_are(" ".join([_SAME, "sign fabs", *_OTHERS])), "{a}"),
        **_calls("", {**_as_they_are("pow fmin fmax copysign hypot fmod atan2 remainder"), "constpow": "pow"}, "{a}, {b}"),
        **{_code(name): Template(f"(double)({{a}} {sign} {{b}})", POWER, (SUM, SUM)) for name, sign in
           {"lt": "<", "le": "<=", "eq": "==", "ne": "!="}.items()},
        _code("not"): Template("(double)({a} == 0.0)", POWER, (SUM, 0)),
        _code("and"): Template("(double)({a} != 0.0 && {b} != 0.0)", POWER, (SUM, SUM)),
        _code("or"): Template("(double)({a} != 0.0 || {b} != 0.0)", POWER, (SUM, SUM)),
        _code("if_else_zero"): Template("({a} != 0.0 ? {b} : 0.0)", ATOM, (SUM, SUM)),
    },
    "const double {name} = {value};",
    "INFINITY",
    frozenset(
        "auto break case char const continue default do double else enum extern float for goto if inline int long register restrict return "
        "short signed sizeof static struct switch typedef union unsigned void volatile while bool true false nullptr constexpr "
        "asm typeof linux unix main printf eliminate sq sign "
        "floor ceil log1p expm1 fabs pow fmin fmax copysign hypot fmod atan2 remainder INFINITY HUGE_VAL NAN NULL EOF M_PI M_E".split()
    ) | SMOOTH.keys(),
)  # fmt: skip
"""C99 with libm."""
