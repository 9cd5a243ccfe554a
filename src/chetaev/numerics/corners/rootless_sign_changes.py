r"""Switching functions that change their sign without a root: at a pole, as tan(x) and 1/(x - 3), or at a jump, as atan(1/x) and atan2.

Only the sign of a switching function matters. A quotient $n/d$ has the sign of $n\,d$, and an odd increasing function has the sign of its
argument, so `plain` removes most poles. For functions whose poles lie deeper, as in $\frac12 + \arctan\frac1x$, `may_jump` is true: their
changes of sign are located on a bounded function of the same sign, and the mode changes there as it does at a root.

A force such as $\arctan\frac1{x - 3}$ jumps at its pole and is bounded, so motions cross it. `with_visible_jumps` writes it as
$\operatorname{atan2}(m, m\,(x - 3))$ with $m = \mathrm{sign}(x - 3)$: smooth on either side and a little beyond, and the jump is a corner.
"""

from __future__ import annotations

from collections.abc import Iterable

import sympy
from sympy import Expr, Mul, Pow, S, fraction, together

from chetaev.core.functions import SMOOTH, Sign
from chetaev.core.symbols import TIME, Entry, Jet, Place, long

_ODD = tuple(function.make for function in SMOOTH.values() if function.odd and function.increasing)
"""Functions with the sign of their argument."""
_JUMPS = (sympy.tan, sympy.atan2)
"""Functions that have a pole or a cut."""


def plain(s: Expr) -> Expr:
    """A function with the sign of `s` but without the poles of quotients, tangents and odd increasing functions of these."""
    if long(s) or not may_jump(s):
        return s
    s = _argument(s)
    tangents = {e: sympy.sin(e.args[0]) / sympy.cos(e.args[0]) for e in s.atoms(sympy.tan)}
    above, below = fraction(together(s.xreplace(tangents)))
    return Mul(*[_above(f) for f in Mul.make_args(above)], *[_below(f) for f in Mul.make_args(below)])


def may_jump(s: Expr) -> bool:
    """Whether a function contains a quotient whose denominator depends on the motion and may vanish, a tangent, or atan2."""
    return _may_jump(s, set())


def with_visible_jumps(e: Expr) -> Expr:
    """`e` with the jump of an arctangent at a pole of its argument written with `sign`."""
    table: dict[Expr, Expr] = {}
    stack, seen = [e], {e}
    while stack:  # parts that occur often are visited once
        node = stack.pop()
        if isinstance(node, sympy.atan) and not long(node) and may_jump(node.args[0]) and (found := _angle(node.args[0])) is not None:
            table[node] = found
        new = [a for a in node.args if a not in seen]
        seen.update(new)
        stack += new
    return e.xreplace(table) if table else e


def _angle(u: Expr) -> Expr | None:
    """The arctangent of a quotient as an angle with two arguments; None if the sign of the denominator is not known by its factors."""
    tangents = {f: sympy.sin(f.args[0]) / sympy.cos(f.args[0]) for f in u.atoms(sympy.tan)}
    above, below = fraction(together(u.xreplace(tangents)))
    turning = []
    for factor in Mul.make_args(below):
        base, exponent = factor.as_base_exp()
        if not exponent.is_Rational or may_jump(base):
            return None
        if exponent.is_odd:
            turning.append(base)
    if not moves(below) or may_jump(above):
        return None
    side = Sign(Mul(*turning)) if turning else S.One
    return sympy.atan2(side * above, side * below)


def jumping_among(functions: Iterable[Expr]) -> frozenset[Expr]:
    """The functions that may jump; parts that they share, as nested corners do, are searched once."""
    free: set[Expr] = set()
    return frozenset(s for s in functions if _may_jump(s, free))


def _may_jump(s: Expr, free: set[Expr]) -> bool:
    """Whether a function may jump, apart from its parts in `free`; if it does not, its parts are added there."""
    stack, seen = [s], {s}
    while stack:
        e = stack.pop()
        if isinstance(e, _JUMPS) and moves(e):
            return True
        if isinstance(e, Pow) and e.exp.is_negative and not e.base.is_nonzero and moves(e.base):
            return True
        new = {a for a in e.args if a not in seen and a not in free}
        seen |= new
        stack += new
    free |= seen
    return False


def _argument(s: Expr) -> Expr:
    """The argument of nested odd increasing functions."""
    while isinstance(s, _ODD):
        s = s.args[0]
    return s


def _above(f: Expr) -> Expr:
    """A factor of a numerator, or one with the same sign."""
    base, exponent = f.as_base_exp()
    return plain(base) if exponent.is_odd and isinstance(base, _ODD) else f


def _below(f: Expr) -> Expr:
    """A factor with the sign of 1/f. Parameters stay in the denominator, where they cause no poles."""
    base, exponent = f.as_base_exp()
    if not moves(f):
        return 1 / f
    if not exponent.is_odd:  # even powers and roots are not negative
        return S.One if exponent.is_number else f
    return plain(base) if isinstance(base, _ODD) else base


def moves(e: Expr) -> bool:
    """Whether an expression changes along a motion; the search ends at the first symbol that does."""
    stack, seen = [e], {e}
    while stack:
        node = stack.pop()
        if isinstance(node, Jet | Entry | Place) or node == TIME:
            return True
        new = [a for a in node.args if a not in seen]
        seen.update(new)
        stack += new
    return False
