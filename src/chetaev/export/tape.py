"""The operations of a CasADi graph as plain nodes, in the order of execution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca

from chetaev.numerics.graphs.algebra import GraphAlgebra
from chetaev.numerics.machine.tape import fold

INPUT, CONSTANT = int(ca.OP_INPUT), int(ca.OP_CONST)


@dataclass(frozen=True)
class Node:
    """One operation: its CasADi code, the indices of its argument nodes, its value if a constant, its index if an input."""

    operation: int
    arguments: tuple[int, ...] = ()
    value: float = 0.0
    place: int = 0


@dataclass(frozen=True)
class Tape:
    """Nodes in the order of execution, and the index of the node of each result; None where a result is identically zero."""

    nodes: tuple[Node, ...]
    results: tuple[int | None, ...]

    def uses(self) -> list[int]:
        """Return how often each node is used."""
        count = [0] * len(self.nodes)
        for k in [a for node in self.nodes for a in node.arguments] + [k for k in self.results if k is not None]:
            count[k] += 1
        return count


def tape_of(graph: GraphAlgebra, inputs: ca.SX, outputs: Sequence[ca.SX]) -> Tape:
    """Return the operations that compute `outputs` from the column `inputs`; equal sub-expressions are computed once."""
    column = ca.vertcat(*outputs) if outputs else ca.SX(0, 1)
    function = graph.function("exported", [inputs], column, cse=True)
    nodes: list[Node] = []
    known: dict[Node, int] = {}

    def number_of(node: Node) -> int:
        if node not in known:
            known[node] = len(nodes)
            nodes.append(node)
        return known[node]

    results = fold(
        function,
        lambda _, entry: number_of(Node(INPUT, place=entry)),
        lambda value: number_of(Node(CONSTANT, value=value)),
        lambda operation, arguments: number_of(Node(operation, arguments)),
    )
    return Tape(tuple(nodes), tuple(None if k is not None and _is_zero(nodes[k]) else k for k in results))


def _is_zero(node: Node) -> bool:
    return node.operation == CONSTANT and node.value == 0
