r"""The functions of the notation, and those with a corner: abs, sign, step, min, max and piecewise.

SymPy differentiates `sign` to a Dirac delta and `Max` to a Heaviside step. Mechanics on a switching surface is an event,
not a distribution, so the corner functions here have the classical one-sided derivatives: $D\,\mathrm{sign} = D\,\mathrm{step} = 0$,
$D|u| = \mathrm{sign}(u)\,Du$, $D\max(a, b) = \tfrac12(1 + \mathrm{sign}(a-b))\,Da + \tfrac12(1 - \mathrm{sign}(a-b))\,Db$, and that of
`piecewise(u, a, b)` is $Da$ where $u < 0$, else $Db$.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import sympy
from sympy import Expr, default_sort_key
from sympy.printing.latex import LatexPrinter

from chetaev.core.symbols import long


class _Corner(sympy.Function):
    """Abstract: a real function that is smooth except on a switching surface."""

    def _eval_is_real(self) -> bool | None:
        return True if all(a.is_real for a in self.args) else None

    def _eval_is_finite(self) -> bool | None:
        return True if all(a.is_finite for a in self.args) else None

    def _latex(self, printer: LatexPrinter, exp: str | None = None) -> str:
        from chetaev.core.notation.show import show

        text = show(self, "latex")
        return text if exp is None else rf"\left({text}\right)^{{{exp}}}"


class Sign(_Corner):
    """`sign(u)`: -1, 0 or 1; its derivative is zero off the surface u = 0."""

    nargs = 1

    @classmethod
    def eval(cls, u: Expr) -> Expr | None:
        return _known_sign(u)

    def fdiff(self, argindex: int = 1) -> Expr:
        return sympy.S.Zero


class Step(_Corner):
    """`step(u)`: 0 for u < 0, 1 for u > 0, and 1/2 at u = 0, so that `step(u) = (1 + sign(u))/2` everywhere."""

    nargs = 1

    @classmethod
    def eval(cls, u: Expr) -> Expr | None:
        known = _known_sign(u)
        return None if known is None else (1 + known) / 2

    def fdiff(self, argindex: int = 1) -> Expr:
        return sympy.S.Zero


class Branch(_Corner):
    """`piecewise(u, a, b)`: a where u < 0, and b where u >= 0."""

    nargs = 3

    @classmethod
    def eval(cls, u: Expr, a: Expr, b: Expr) -> Expr | None:
        if a == b:
            return a
        if _opaque(u):
            return None
        if u.is_negative:
            return a
        return b if u.is_nonnegative else None

    def _eval_derivative(self, s: Expr) -> Expr:
        u, a, b = self.args
        return Branch(u, a.diff(s), b.diff(s))

    def fdiff(self, argindex: int = 1) -> Expr:
        return sympy.S.Zero if argindex == 1 else Branch(self.args[0], *(sympy.Integer(argindex == k) for k in (2, 3)))


class Magnitude(_Corner):
    """`abs(u)`; its derivative is `sign(u)`."""

    nargs = 1

    @classmethod
    def eval(cls, u: Expr) -> Expr | None:
        if _opaque(u):
            return None
        if u.is_nonnegative:
            return u
        return -u if u.is_nonpositive else None

    def fdiff(self, argindex: int = 1) -> Expr:
        return Sign(self.args[0])


class _Choice(_Corner):
    """Abstract: the smaller or the larger of two values; `_side` is -1 for min and +1 for max."""

    nargs = 2
    _side = 0

    @classmethod
    def eval(cls, a: Expr, b: Expr) -> Expr | None:
        difference = a - b
        if _opaque(difference):
            return None
        if difference.is_nonnegative:
            return a if cls._side > 0 else b
        if difference.is_nonpositive:
            return b if cls._side > 0 else a
        return None

    def fdiff(self, argindex: int = 1) -> Expr:
        a, b = self.args
        toward = self._side if argindex == 1 else -self._side
        return (1 + toward * Sign(a - b)) / 2


class Minimum(_Choice):
    """`min(a, b)`."""

    _side = -1


class Maximum(_Choice):
    """`max(a, b)`."""

    _side = 1


def _known_sign(u: Expr) -> Expr | None:
    """The sign of `u` if SymPy's assumptions give it, else None."""
    if _opaque(u):
        return None
    if u.is_zero:
        return sympy.S.Zero
    if u.is_positive:
        return sympy.S.One
    return sympy.S.NegativeOne if u.is_negative else None


def _opaque(u: Expr) -> bool:
    """Whether SymPy may not find the sign of `u` in finite time: constants such as sin(exp(exp(10))), and long expressions."""
    return long(u) or bool(u.is_number and not u.is_Rational)


@dataclass(frozen=True)
class Smooth:
    """A smooth function of one argument, with its spellings that differ from its name in the notation.

    Python's `math`, mpmath, CasADi and C know it by its name in the notation.
    """

    make: Any
    """SymPy's class or function."""
    parity: int = 0
    """1 for even and -1 for odd functions whose argument may change its sign in normal form, else 0."""
    numpy: str = ""
    """Its name in NumPy."""
    latex: str = ""
    """Its name in LaTeX."""
    opaque: bool = False
    """Whether the constraint algorithm knows no algebraic relation for it and replaces it by a symbol."""
    slope: str = ""
    """The slope at `u`, in the notation, of a function that rises everywhere and has no other rules: exact arithmetic, bounds of round-off
    and enclosures then follow from it. The other functions have rules of their own there."""
    odd: bool = False
    """Whether it changes its sign with its argument."""
    increasing: bool = False
    """Whether it rises wherever it is defined, so that it has every value at most once."""
    whole_line: bool = True
    """Whether it is defined for every argument."""
    bounded: bool = False
    """Whether its values are bounded."""

    @property
    def saturates(self) -> bool:
        """Whether it rises from one finite limit to another."""
        return self.increasing and self.whole_line and self.bounded


SMOOTH: dict[str, Smooth] = {
    "sin": Smooth(sympy.sin, -1, odd=True, bounded=True),
    "cos": Smooth(sympy.cos, 1, bounded=True),
    "tan": Smooth(sympy.tan, -1, odd=True, whole_line=False),
    "asin": Smooth(sympy.asin, 0, "arcsin", r"\arcsin", True, odd=True, increasing=True, whole_line=False, bounded=True),
    "acos": Smooth(sympy.acos, 0, "arccos", r"\arccos", True, whole_line=False, bounded=True),
    "atan": Smooth(sympy.atan, 0, "arctan", r"\arctan", True, odd=True, increasing=True, bounded=True),
    "sinh": Smooth(sympy.sinh, -1, odd=True, increasing=True),
    "cosh": Smooth(sympy.cosh, 1),
    "tanh": Smooth(sympy.tanh, -1, odd=True, increasing=True, bounded=True),
    "asinh": Smooth(sympy.asinh, 0, "arcsinh", r"\operatorname{arsinh}", True, odd=True, increasing=True),
    "acosh": Smooth(sympy.acosh, 0, "arccosh", r"\operatorname{arcosh}", True, increasing=True, whole_line=False),
    "atanh": Smooth(sympy.atanh, 0, "arctanh", r"\operatorname{artanh}", True, odd=True, increasing=True, whole_line=False),
    "exp": Smooth(sympy.exp, increasing=True),
    "log": Smooth(sympy.log, 0, "", r"\ln", True, increasing=True, whole_line=False),
    "erf": Smooth(
        sympy.erf, 0, "vectorize(math.erf)", r"\operatorname{erf}", True, "2/sqrt(pi)*exp(-u^2)", odd=True, increasing=True, bounded=True
    ),
    "sqrt": Smooth(sympy.sqrt, increasing=True, whole_line=False),
}
"""The smooth functions of one argument. A new one that CasADi has and that rises everywhere is one entry here, with its slope. Another one
needs its rules of computation too: its values in exact arithmetic (`core/exact/functions.py`), its slope
(`numerics/graphs/rounding_bounds.py`), its intervals (`numerics/enclosures/expression.py` and `ranges.py`) and its Taylor coefficients
(`numerics/methods/taylor/series.py`)."""

FUNCTIONS: dict[str, tuple[Callable[..., Any], int]] = {
    **{name: (function.make, 1) for name, function in SMOOTH.items()},
    "atan2": (sympy.atan2, 2),
    "abs": (Magnitude, 1),
    "sign": (Sign, 1),
    "min": (Minimum, 2),
    "max": (Maximum, 2),
    "step": (Step, 1),
    "piecewise": (Branch, 3),
}
"""Every function of the notation with its number of arguments; nothing else can be called."""

DECLARABLE = {"step", "erf", "piecewise"}
"""Functions whose names a system may declare too: before a parenthesis the name is the function, elsewhere the declared quantity.
`notation.defined` adds the functions that programs register."""

CORNERS = (Sign, Step, Branch, Magnitude, Minimum, Maximum)
"""The functions that are smooth except on a switching surface."""

_EVEN, _ODD = (tuple(function.make for function in SMOOTH.values() if function.parity == parity) for parity in (1, -1))
"""SymPy's classes of the even and the odd functions."""


def called(make: Callable[..., Any], *arguments: Expr) -> Expr:
    """`make(*arguments)`, several times faster for polynomials of symbols and of the even and odd functions.

    SymPy looks for multiples of pi and i, poles and inverse functions in every argument of a sine, and evaluates an argument without
    symbols to many digits. In such a polynomial only the sign can be normalised, and only that is done here.
    """
    if (make in _EVEN or make in _ODD) and _polynomial(arguments[0]):
        (u,) = arguments
        negative = _leads_with_minus(u)
        value = make(-u if negative else u, evaluate=False)
        return -value if negative and make in _ODD else value
    return make(*arguments)


def _leads_with_minus(u: Expr) -> bool:
    """Whether SymPy's normal form is -u. For a difference of two symbols that is so if the symbol that sorts first is subtracted."""
    if u.is_Add and len(u.args) == 2:
        plain = [a for a in u.args if a.is_Symbol]
        minus = [a.args[1] for a in u.args if a.is_Mul and len(a.args) == 2 and a.args[0] == -1 and a.args[1].is_Symbol]
        if len(plain) == len(minus) == 1:
            return bool(default_sort_key(minus[0]) < default_sort_key(plain[0]))
    return bool(u.could_extract_minus_sign())


def _polynomial(u: Expr) -> bool:
    """Whether an expression is a sum of products of symbols, even and odd functions and rational numbers, but not a number itself."""
    parts = [part for term in sympy.Add.make_args(u) for part in sympy.Mul.make_args(term)]
    return not u.is_Rational and all(part.is_Symbol or part.is_Rational or isinstance(part, _EVEN + _ODD) for part in parts)


SPELLING: dict[type, str] = {make: name for name, (make, _) in FUNCTIONS.items() if isinstance(make, type)}
"""The name of each function class in the notation."""

SYMPY_CORNERS: dict[type, Any] = {sympy.Abs: Magnitude, sympy.sign: Sign, sympy.Min: Minimum, sympy.Max: Maximum}
"""SymPy's corner functions, with those of the notation that take the same arguments."""


def in_sympy(corner: Expr) -> Expr:
    """A corner function as SymPy writes it."""
    if isinstance(corner, Step):
        return sympy.Heaviside(corner.args[0], sympy.Rational(1, 2))
    if isinstance(corner, Branch):
        u, a, b = corner.args
        return sympy.Piecewise((a, u < 0), (b, True))
    return next(theirs for theirs, ours in SYMPY_CORNERS.items() if isinstance(corner, ours))(*corner.args)


def in_own_functions(e: Expr) -> Expr:
    """`e` in the functions of the notation: SymPy turns `sqrt(x^2)` into `Abs(x)`, and `tan(x + pi/2)` into `-cot(x)`."""
    if not e.has(sympy.Abs, sympy.sign, sympy.cot):
        return e
    e = e.replace(sympy.cot, lambda u: sympy.cos(u) / sympy.sin(u))
    return e.replace(lambda f: isinstance(f, sympy.Abs | sympy.sign), lambda f: SYMPY_CORNERS[type(f)](*f.args))


def has_corner(e: Expr, without: set[Expr] | None = None) -> bool:
    """Whether `e` contains a corner function. Parts in `without` are known to contain none; if `e` has none, its parts are added there."""
    known = set() if without is None else without
    stack, seen = [e], {e}
    while stack:
        node = stack.pop()
        if isinstance(node, _Corner):
            return True
        new = [a for a in node.args if a not in seen and a not in known]
        seen.update(new)
        stack += new
    known |= seen
    return False


def corners_in(e: Expr) -> set[Expr]:
    """All corner functions in `e`, also nested ones; shared parts are visited once."""
    found: set[Expr] = set()
    seen = {e}
    stack = [e]
    while stack:
        node = stack.pop()
        if isinstance(node, _Corner):
            found.add(node)
        new = [a for a in node.args if a not in seen]
        seen.update(new)
        stack += new
    return found


def has_corner_in(e: Expr, symbols: Iterable[sympy.Symbol]) -> bool:
    """Whether a corner function in `e` depends on some of `symbols`: then `e` is not affine, although its second derivatives vanish."""
    wanted = set(symbols)
    return any(wanted & corner.free_symbols for corner in corners_in(e))
