"""The operations of a CasADi graph as plain nodes, in the order of execution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca

from chetaev.numerics.graphs.algebra import GraphAlgebra

INPUT, CONSTANT = int(ca.OP_INPUT), int(ca.OP_CONST)
_OUTPUT, _ASSIGN = int(ca.OP_OUTPUT), int(ca.OP_ASSIGN)


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
    register: dict[int, int] = {}
    results: list[int | None] = [None] * len(outputs)
    for k in range(function.n_instructions()):
        operation = int(function.instruction_id(k))
        read, written = function.instruction_input(k), function.instruction_output(k)
        if operation == _OUTPUT:
            results[written[1]] = register[read[0]]
        elif operation == _ASSIGN:
            register[written[0]] = register[read[0]]
        else:
            node = _node(function, k, operation, read, register)
            if node not in known:
                known[node] = len(nodes)
                nodes.append(node)
            register[written[0]] = known[node]
    return Tape(tuple(nodes), tuple(None if k is not None and _is_zero(nodes[k]) else k for k in results))


def _node(function: ca.Function, k: int, operation: int, read: Sequence[int], register: dict[int, int]) -> Node:
    if operation == INPUT:
        return Node(operation, place=int(read[1]))
    if operation == CONSTANT:
        return Node(operation, value=float(function.instruction_constant(k)))
    return Node(operation, tuple(register[r] for r in read))


def _is_zero(node: Node) -> bool:
    return node.operation == CONSTANT and node.value == 0
