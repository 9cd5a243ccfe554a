"""The user's own words for the parts of a system, as long as they still mean the same.

A text may use names: `where`, `quasi`. In a file it stands beside these names, so it is kept as it is written, and the names are not
written out. But a system can be changed part by part, and a text that was read with other names would then mean something else in the
file. So every text is read again, with the names that the file has; if it does not give the expression of the system, that is written
instead.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from sympy import Expr, S

from chetaev.core.constraints import Constraint, VariationalConstraint
from chetaev.core.declarations import read_value, with_variations
from chetaev.core.errors import ChetaevError
from chetaev.core.notation import Vocabulary, parse_row, show
from chetaev.core.parts import AsWritten
from chetaev.core.symbols import delta
from chetaev.core.system import System


@dataclass(frozen=True)
class Wording(AsWritten):
    """How the formulas and rows of a system are written in its file."""

    system: System

    def formula(self, text: str, expression: Expr) -> str:
        """An expression that the user wrote as a text."""
        try:
            kept = bool(text) and read_value(text, self.system.vocabulary, "text") == expression
        except ChetaevError:  # it uses a name that the system does not have any more
            kept = False
        return text if kept else show(expression)

    def row(self, row: Constraint | VariationalConstraint) -> str:
        """A constraint."""
        return str(row if self._means(row) else replace(row, text=""))

    def _means(self, row: Constraint | VariationalConstraint) -> bool:
        """Whether the text of a row, read again, is this row; a row without a text is."""
        if not row.text:
            return True
        try:
            lhs, rhs = parse_row(row.text, self.system.vocabulary if isinstance(row, Constraint) else self._with_variations)
        except ChetaevError:
            return False
        return (lhs, rhs) == (row.lhs, row.rhs) if isinstance(row, Constraint) else self._coefficients(lhs - rhs) == row.coefficients

    def _coefficients(self, form: Expr) -> dict[object, Expr]:
        flat = dict.fromkeys(map(delta, self.system.coordinates), S.Zero)
        found = {q: form.diff(delta(q)).xreplace(flat) for q in self.system.coordinates if delta(q) in form.free_symbols}
        return {q: c for q, c in found.items() if c != 0}

    @cached_property
    def _with_variations(self) -> Vocabulary:
        return with_variations(self.system.vocabulary, self.system.action)
