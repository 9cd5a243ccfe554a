"""States of all members, read by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sympy import Expr

from chetaev.core.notation import parse_expression
from chetaev.mechanics.equations import Equations
from chetaev.numerics.corners.modes import Switched
from chetaev.numerics.ensemble.batch import Array, Batch, Indices
from chetaev.numerics.flow.compiled import compile_equations
from chetaev.numerics.flow.elimination import PivotOrder
from chetaev.numerics.flow.flow import Flow
from chetaev.numerics.motion.trajectory import Trajectory
from chetaev.numerics.start.group_columns import GroupColumns


@dataclass(frozen=True, repr=False, eq=False)
class Columns(GroupColumns, Mapping[str, Any]):
    """States of all members: a mapping over the state that reads any expression, and group coordinates by `rotation` and the like."""

    switched: Switched
    batch: Batch
    t: Array
    states: Array
    flows: tuple[Flow, ...]
    which: Indices
    """The index in `flows` of the flow (the choice of pivots) of each member; -1 for none."""
    alone: Mapping[int, Trajectory] = field(default_factory=dict)
    """Motions that `simulate` computed, by member."""

    @property
    def _of(self) -> Equations:
        return self.switched.original

    def __getitem__(self, name: str) -> Array:
        for k, z in enumerate(self.flows[0].state):
            if z.name == name:
                return self.states[:, k].copy()
        equations = self.switched.original
        found = self._values(parse_expression(name, equations.vocabulary, f"ensemble of {equations.system.label}"))
        for k, motion in self.alone.items():
            found[k] = motion.final[name]
        return found

    def reaction(self, coordinate: str) -> Array:
        """The generalised reaction on a coordinate."""
        found = self._values(self.switched.original.reaction(coordinate))
        for k, motion in self.alone.items():
            found[k] = motion.reaction(coordinate)[-1]
        return found

    def _values(self, expression: Expr) -> Array:
        expression = self.switched.replaced(expression)
        found = np.full(len(self.t), np.nan)
        for k in np.unique(self.which[self.which >= 0]):
            flow, members = self.flows[k], np.flatnonzero(self.which == k)
            function = flow.function([self.batch.with_inputs(flow.on_state(flow.graph.of(expression)))])
            found[members] = self.batch.values(function, self.t, self.states, members)[:, 0]
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without graphs and machine code, which are made again on loading."""
        orders = tuple(flow.order for flow in self.flows)
        parts = (self.switched, self.batch.p, dict(self.batch.written), self.t, self.states, orders, self.which, dict(self.alone))
        return _made_again, parts

    def __iter__(self) -> Iterator[str]:
        return (z.name for z in self.flows[0].state)

    def __len__(self) -> int:
        return len(self.flows[0].state)

    def __repr__(self) -> str:
        return "\n".join(f"{name}  {self[name]}" for name in self)


def _made_again(
    switched: Switched,
    p: Array,
    written: Mapping[str, Expr],
    t: Array,
    states: Array,
    orders: tuple[PivotOrder, ...],
    which: Indices,
    alone: Mapping[int, Trajectory],
) -> Columns:
    compiled = compile_equations(switched.smooth)
    base = compiled.flow
    flows = [base if order == base.order else Flow(base.system, order, base.samples, residues=base.residues) for order in orders]
    return Columns(switched, Batch(compiled, p, written), t, states, tuple(flows), which, alone)
