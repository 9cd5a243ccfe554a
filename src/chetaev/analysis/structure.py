r"""Structural analysis by Pryce's Sigma method.

Which rows have to be differentiated, how often, and which jets are then the state? The signature matrix $\sigma_{ij}$ holds the
order of the highest derivative of unknown $j$ in row $i$. A maximum-weight assignment and the smallest offsets with
$d_j - c_i \ge \sigma_{ij}$, equality on the assignment, answer it: row $i$ is differentiated $c_i$ times, jets below $d_j$ are the
state, the derivatives of row $i$ below $c_i$ are constraints on it. Mixed orders, algebraic multipliers and hidden constraints need
no special cases.

J. D. Pryce, A simple structural analysis method for DAEs, BIT 41 (2001) 364-394.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import linear_sum_assignment
from sympy import Expr, S

from chetaev.equations import Equations
from chetaev.symbols import Jet, jets_in
from chetaev.values import Tape, Undefined
from chetaev.zero import random_point

_ABSENT = -(10**6)
_NOISE = 1e-11
_POINTS = 3


@dataclass(frozen=True)
class Structure:
    """Offsets of rows and unknowns; `None` in place of a structure means that no assignment exists."""

    rows: tuple[Expr, ...]
    """The residuals, with jets removed that only seem to occur."""
    unknowns: tuple[Jet, ...]
    signature: tuple[tuple[int | None, ...], ...]
    assignment: tuple[int, ...]
    """The unknown assigned to each row."""
    row_offsets: tuple[int, ...]
    unknown_offsets: tuple[int, ...]

    @property
    def top(self) -> tuple[Jet, ...]:
        """The jets the system is solved for: $q_j^{(d_j)}$."""
        return tuple(z.d(d) for z, d in zip(self.unknowns, self.unknown_offsets, strict=True))

    @property
    def state(self) -> tuple[Jet, ...]:
        """The jets below the top."""
        return tuple(z.d(k) for z, d in zip(self.unknowns, self.unknown_offsets, strict=True) for k in range(d))

    @property
    def dimension(self) -> int:
        r"""Number of free initial values, $\sum d_j - \sum c_i$."""
        return sum(self.unknown_offsets) - sum(self.row_offsets)

    @cached_property
    def jacobian(self) -> tuple[tuple[Expr, ...], ...]:
        r"""The system Jacobian $\partial f_i / \partial q_j^{(d_j - c_i)}$."""
        return tuple(
            tuple(row.diff(z.d(d - c)) if d >= c else S.Zero for z, d in zip(self.unknowns, self.unknown_offsets, strict=True))
            for row, c in zip(self.rows, self.row_offsets, strict=True)
        )


def structure(equations: Equations) -> Structure | None:
    """The structure of a square system, or None if its rows cannot be assigned to its unknowns."""
    rows = [row.residual for row in equations.rows]
    unknowns = equations.unknowns
    if len(rows) != len(unknowns):
        return None
    rows, signature = _signature(rows, unknowns)
    weights = np.array([[_ABSENT if s is None else s for s in line] for line in signature])
    chosen, assignment = linear_sum_assignment(weights, maximize=True)
    if any(weights[i, j] == _ABSENT for i, j in zip(chosen, assignment, strict=True)):
        return None
    c, d = _offsets(weights, assignment)
    lines = tuple(tuple(line) for line in signature)
    return Structure(tuple(rows), unknowns, lines, tuple(map(int, assignment)), tuple(map(int, c)), tuple(map(int, d)))


def _signature(rows: list[Expr], unknowns: tuple[Jet, ...]) -> tuple[list[Expr], list[list[int | None]]]:
    """Orders at which unknowns truly occur: a total derivative added to L writes jets that cancel, and they must not count."""
    cleaned, signature = [], []
    for row in rows:
        present = sorted((z for z in jets_in(row)), key=lambda z: (z.base, -z.order))
        fake = {z: S.Zero for z in present if not _occurs(row, z)}
        row = row.xreplace(fake) if fake else row
        orders = {z.base: z.order for z in sorted(jets_in(row), key=lambda z: z.order)}
        cleaned.append(row)
        signature.append([orders.get(z.base) for z in unknowns])
    return cleaned, signature


def _occurs(row: Expr, z: Jet) -> bool:
    """Whether the derivative with respect to a jet is not zero at random points."""
    derivative = row.diff(z)
    if derivative.is_number:
        return bool(derivative != 0)
    tape = Tape([derivative, row])
    seen = 0
    for seed in range(40):
        try:
            slope, value = tape(random_point(tape.symbols, seed))
        except Undefined:
            continue
        if abs(slope) > _NOISE * max(1.0, abs(value)):
            return True
        seen += 1
        if seen == _POINTS:
            return False
    return True


def _offsets(weights: np.ndarray, assignment: np.ndarray) -> tuple[list[int], list[int]]:
    """The smallest offsets, by Pryce's fixpoint."""
    n = len(assignment)
    c = [0] * n
    while True:
        d = [max(int(weights[i, j]) + c[i] for i in range(n) if weights[i, j] != _ABSENT) for j in range(n)]
        new = [d[assignment[i]] - int(weights[i, assignment[i]]) for i in range(n)]
        if new == c:
            return c, d
        c = new
