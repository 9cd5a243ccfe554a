"""Differentiated rows with values for parameters, inputs and time: their numbers at a state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import sympy
from sympy import Expr, Symbol

from chetaev.core.errors import StateError
from chetaev.core.notation import show
from chetaev.core.support.budget import allowance, size, spend
from chetaev.core.symbols import Jet
from chetaev.core.values import Undefined
from chetaev.mechanics.ranks.generic import Matrix
from chetaev.mechanics.ranks.sizes import Sizes
from chetaev.mechanics.ranks.sparse import Numbers, values_at, whole
from chetaev.numerics.flow.prolongation.ranks import Prolongation
from chetaev.numerics.flow.prolongation.rows import Pair
from chetaev.numerics.graphs.binding import Binding

_SEARCH_SECONDS = 2.0
"""Budget of the search for the sub-expression without a value; without a result the message names none."""


@dataclass(frozen=True)
class Problem:
    """Equations with values for parameters, inputs and time, ready for evaluation."""

    system: Prolongation
    binding: Binding
    t: float
    where: str
    centre: Mapping[Jet, float] = field(default_factory=dict)
    """The numbers of group coordinates around which motions near a state are studied."""

    def numbers(self, pairs: Sequence[Pair], unknowns: Sequence[Jet], jets: Mapping[Jet, float]) -> tuple[Matrix, Matrix]:
        """Residuals of some rows and their Jacobian with respect to some jets, at a state."""
        values, jacobian = self.sparse_numbers(pairs, unknowns, jets)
        return values, whole(jacobian)

    def sparse_numbers(self, pairs: Sequence[Pair], unknowns: Sequence[Jet], jets: Mapping[Jet, float]) -> tuple[Matrix, Numbers]:
        """Residuals of some rows and their Jacobian, which is stored without zeros if these are many."""
        tape = self.system.tape(pairs, unknowns)
        try:
            return values_at(tape, {**self.binding.at(tape.symbols, self.t), **jets}, len(pairs), (len(pairs), len(unknowns)))
        except Undefined:
            raise self.undefined(pairs, jets) from None

    @property
    def sizes(self) -> Sizes:
        """The sizes of symbols, from the numbers in the rows and the values of the parameters."""
        return self.system.sizes_with(self.binding.parameters)

    def point(self, jets: Mapping[Jet, float]) -> dict[Symbol, float]:
        """A state with the values of parameters, time and inputs."""
        return {**self.binding.at(self.system.symbols([*self.system.hidden(), *self.system.stage(0)]), self.t), **jets}

    def undefined(self, pairs: Sequence[Pair], jets: Mapping[Jet, float]) -> StateError:
        """Which part of the rows has no value; derivatives of a row may have none where the row has one."""
        from chetaev.numerics.flow.locus import without_value  # which builds on this module

        equations = self.system.equations
        part: Expr | None = None
        with allowance(_SEARCH_SECONDS):
            rows = [equations.rows[i].residual for i, _ in pairs if i < len(equations.rows)]
            highest = max((times for _, times in pairs), default=0)
            written = [equations.system.charted(row) for row in rows]
            for times in range(highest + 2):  # one more, for the Jacobian
                spend(size(*written))  # the derivatives are longer than what was written before
                written = [equations.system.charted(equations.total(row, times)) for row in rows]
                point = {**self.binding.at(frozenset().union(*[e.free_symbols for e in written]), self.t), **jets}
                part = without_value(written, point) if part is None else part
        what = f"{'the equations have' if part is None else f'{show(part)} has'} no finite value at this state."
        hint = "another state"
        if isinstance(part.base if isinstance(part, sympy.Pow) else part, sympy.exp | sympy.cosh | sympy.sinh):
            hint += "; if a quotient stays finite where this is too large for a double, write it with falling exponentials, 1/(1 + exp(-u))"
        return StateError(what, where=self.where, hint=hint)
