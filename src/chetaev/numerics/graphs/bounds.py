"""Bounds of graphs that hold at every state, from |sin| <= 1 and |cos| <= 1, as graphs of the parameters."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from chetaev.numerics.graphs.arithmetic import dense, over, plus, size, times

_MOST_NODES = 300
"""Nodes of a graph that are visited, in Python; for a larger graph no bound is given."""
_SUMS, _PRODUCTS = (ca.OP_ADD, ca.OP_SUB, ca.OP_TWICE), (ca.OP_MUL, ca.OP_SQ)


class Bounds:
    """Bounds on graphs of parameters and of symbols that move."""

    def __init__(self, moving: ca.SX) -> None:
        self._moving = moving
        self._left = 0

    def of(self, e: ca.SX) -> ca.SX | None:
        """Return a graph of parameters that bounds |e| at all states; None if none is found."""
        self._left = _MOST_NODES
        return self._bound(e)

    def is_constant(self, e: ca.SX) -> bool:
        """Whether a graph contains nothing that moves."""
        return not ca.depends_on(e, self._moving)

    def which_are_constant(self, expressions: Sequence[ca.SX]) -> list[bool]:
        """Which graphs contain nothing that moves; parts that several graphs share are visited once."""
        if not expressions or not self._moving.numel():
            return [True] * len(expressions)
        return [not moves for moves in ca.which_depends(dense(ca.vertcat(*expressions)), self._moving, 1, True)]

    def _bound(self, e: ca.SX) -> ca.SX | None:
        self._left -= 1
        if self.is_constant(e):
            return size(e)
        if self._left < 0 or e.is_symbolic():
            return None
        operation, parts = e.op(), [e.dep(i) for i in range(e.n_dep())]
        if operation in (ca.OP_SIN, ca.OP_COS):
            return ca.SX(1)
        if operation == ca.OP_DIV:
            above = self._bound(parts[0]) if self.is_constant(parts[1]) else None
            return None if above is None else over(above, size(parts[1]))
        if operation != ca.OP_NEG and operation not in _SUMS and operation not in _PRODUCTS:
            return None
        bounds = [self._bound(part) for part in parts]
        first, last = bounds[0], bounds[-1]
        if first is None or last is None:
            return None
        return plus(first, last) if operation in _SUMS else times(first, last) if operation in _PRODUCTS else first
