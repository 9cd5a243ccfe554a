"""The unit of an expression, where the units of its names are known; sums of different units are refused.

Numbers are pure: `9.81*m*y` has the unit of `m*y`. A product that contains a name without a unit has an unknown unit, and unknown terms are
not compared. The unit of a sum is that of its known terms.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

import sympy
from sympy import Expr

from chetaev.core.errors import ModelError
from chetaev.core.functions import Branch, Magnitude, Maximum, Minimum, Sign, Step
from chetaev.core.notation.show import show
from chetaev.core.support.recursion import deep
from chetaev.core.symbols import TIME, Jet, Variation
from chetaev.core.units.unit import PURE, Unit

_LONGEST_TERM = 60
"""Characters of a term in a message; of a longer one the beginning and the end are quoted."""
_LARGEST_OF_FORMULAS = 9
"""Numerators and denominators up to this are those of formulas, such as 1/2; larger ones may belong to measured numbers, such as 9.81. The
message then says that numbers have no unit."""
_JOINED = (Minimum, Maximum, sympy.Min, sympy.Max)
"""Functions whose value is one of their arguments."""
_ANY = (Sign, Step, sympy.sign, sympy.Heaviside)
"""Functions that ask for the sign of their argument only, which may have any unit."""


class Dimensions:
    """Finds units of expressions from the `units` of names; those of rates follow with the unit of time, `units["t"]`."""

    def __init__(self, units: Mapping[str, Unit], where: str = "units") -> None:
        self.units, self.where = units, where
        self._found: dict[Expr, Unit | None] = {}

    def at(self, where: str) -> Dimensions:
        """Return a copy with `where` as the place for messages."""
        other = Dimensions(self.units, where)
        other._found = self._found
        return other

    def of(self, e: Expr) -> Unit | None:
        """Return the unit of an expression; None if it depends on names without a unit, and for zero, which has every unit.

        Raises a ModelError with the terms if a sum has terms of different units, or a function an argument with a unit.
        """
        with deep():
            return self._of(e)

    def same(self, *terms: Expr) -> Unit | None:
        """Return the one unit of terms that are added or equated."""
        return self._joined([term for e in terms for term in sympy.Add.make_args(e)])

    def name(self, name: str, order: int = 0) -> Unit | None:
        """Return the unit of a name, or of its derivative of an order."""
        known = self.units.get(name)
        return known if known is None or not order else known / self.units["t"] ** order

    def _of(self, e: Expr) -> Unit | None:
        if e not in self._found:
            self._found[e] = self._computed(e)
        return self._found[e]

    def _computed(self, e: Expr) -> Unit | None:
        if e.is_zero and not e.free_symbols:
            return None
        if not e.free_symbols:
            return PURE
        if isinstance(e, sympy.Symbol):
            return self._symbol(e)
        if e.is_Add:
            return self._joined(e.args)
        if e.is_Mul:
            return _product([self._of(factor) for factor in e.args])
        if e.is_Pow and not isinstance(e, sympy.exp):
            return self._power(*e.args)
        return self._function(e)

    def _symbol(self, z: sympy.Symbol) -> Unit | None:
        if z == TIME:
            return self.units["t"]
        if isinstance(z, Variation):
            return self.name(z.coordinate)
        return self.name(z.base, z.order) if isinstance(z, Jet) else self.name(z.name)

    def _power(self, base: Expr, exponent: Expr) -> Unit | None:
        inner, above = self._of(base), self._of(exponent)
        if above is not None and not above.pure:
            raise self._fault(f"the exponent {_quoted(exponent)} is in {above}.", "An exponent is a pure number.")
        if inner is None or inner.pure:
            return inner
        return inner ** Fraction(int(exponent.p), int(exponent.q)) if isinstance(exponent, sympy.Rational) else None

    def _function(self, e: Expr) -> Unit | None:
        if isinstance(e, Branch):
            self._of(e.args[0])
            return self._joined(e.args[1:])
        if isinstance(e, _JOINED):
            return self._joined(e.args)
        if isinstance(e, Magnitude | sympy.Abs):
            return self._of(e.args[0])
        if isinstance(e, sympy.atan2):
            self._joined(e.args)
            return PURE
        units = [self._of(a) for a in e.args]
        if isinstance(e, _ANY):
            return PURE
        if not isinstance(e, sympy.Function):
            return None
        for argument, unit in zip(e.args, units, strict=True):
            if unit is not None and not unit.pure:
                what = f"the argument {_quoted(argument)} of {type(e).__name__} is in {unit}."
                raise self._fault(what, "The argument of this function is a pure number; angles are in radians.")
        return PURE

    def _joined(self, terms: Iterable[Expr]) -> Unit | None:
        known = [(term, unit) for term in terms if (unit := self._of(term)) is not None]
        for term, unit in known[1:]:
            first, one = known[0]
            if unit != one:
                what = f"{_quoted(first)} is {_words(one)}, and {_quoted(term)} is {_words(unit)}."
                raise self._fault(what, _reason(one, unit), number=_measured(first) or _measured(term))
        return known[0][1] if known else None

    def _fault(self, what: str, why: str, number: bool = False) -> ModelError:
        hint = "correct the formula or the units"
        if number:
            hint = "a number has no unit: make it a parameter with a name and a unit; or correct the formula or the units"
        return ModelError(what, where=self.where, why=why, hint=hint)


def _reason(one: Unit, other: Unit) -> str:
    if one.dimension == other.dimension:
        return "Numbers in different units of one dimension cannot be added, since no number is converted."
    return "The terms of a sum and the sides of a row have one dimension."


def _words(unit: Unit) -> str:
    return "a pure number" if unit.pure else f"in {unit}"


def _product(units: Iterable[Unit | None]) -> Unit | None:
    found = PURE
    for unit in units:
        if unit is None:
            return None
        found = found * unit
    return found


def _measured(term: Expr) -> bool:
    """Tell whether a term is, or has as a factor, a number that may be the value of a quantity, such as 9.81."""
    number, rest = term.as_coeff_Mul()
    return not rest.free_symbols or max(abs(number.p), number.q) > _LARGEST_OF_FORMULAS


def _quoted(e: Expr) -> str:
    number, rest = e.as_coeff_Mul()
    decimal = isinstance(number, sympy.Rational) and number.q > _LARGEST_OF_FORMULAS and rest.free_symbols
    text = f"{float(number):.12g}*{show(rest)}" if decimal else show(e)
    return text if len(text) <= _LONGEST_TERM else f"{text[: _LONGEST_TERM // 2]} ... {text[-_LONGEST_TERM // 3 :]}"
