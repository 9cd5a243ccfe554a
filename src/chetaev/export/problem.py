r"""The exported problem: the linear system that gives the highest derivatives and the multipliers at a state.

The rows, each differentiated as often as its Pryce offset, are affine in the top jets,
$$ A(t, x, p)\, y = b(t, x, p), $$
with $x$ the state, $p$ the parameters and $y$ the accelerations and multipliers (or jets of several orders). $A$ is square and regular for
most systems. Rows that follow from others are omitted; if redundant constraints do not determine all multipliers, the exported file uses
the solution whose multipliers have the least norm.

The formulas are tapes: the operations of a CasADi graph as plain nodes, in the order of execution.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
from sympy import Symbol

from chetaev.core.calculus import Calculus, total_derivative
from chetaev.core.errors import StateError, UsageError
from chetaev.core.fixes import Ask, InPython
from chetaev.core.symbols import TIME, Input, Jet, Parameter, Place
from chetaev.mechanics.derivation import derive
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.model import Model
from chetaev.mechanics.principles.given_forces import require_given_forces
from chetaev.numerics.driving.feedback import with_feedback
from chetaev.numerics.evaluation.evaluate import Evaluation, evaluate_from
from chetaev.numerics.flow.pivot_choice import make_flow
from chetaev.numerics.flow.prolongation import Problem, Prolongation
from chetaev.numerics.graphs.algebra import GraphAlgebra
from chetaev.numerics.graphs.binding import Binding, bind
from chetaev.numerics.machine.tape import fold
from chetaev.numerics.start.completed import Completed, on_its_component, state_at
from chetaev.numerics.verdict.branch_choice import Selection, chosen

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
    """Nodes in the order of execution, and the index of the node of each result; None if a result is identically zero."""

    nodes: tuple[Node, ...]
    results: tuple[int | None, ...]

    def uses(self) -> list[int]:
        """Return the number of uses of each node."""
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


@dataclass(frozen=True)
class RightHandSide:
    """The right-hand side as data for a program: names, numbers, and tapes of the matrix, the right side and the constraints."""

    equations: Equations
    """The derived equations, quoted at the head of the file."""
    branch: str
    """The chosen branch and gauge as text; empty for most systems."""
    symbols: tuple[Symbol, ...]
    """Time, state and parameters: the inputs of the tapes."""
    state: tuple[Jet, ...]
    unknowns: tuple[Jet, ...]
    parameters: Mapping[Parameter, float]
    start: tuple[float, ...]
    interval: tuple[float, float]
    columns: tuple[int, ...]
    """Indices into `unknowns` of those that the square system determines."""
    opened: tuple[int, ...]
    """Indices into `unknowns` of those that redundant constraints do not determine."""
    system: Tape
    """The matrix row by row, with a column for each of `columns` and of `opened`, and the right side."""
    constraints: Tape
    labels: tuple[str, ...]
    """The names of the constraints."""
    turning: Tape
    """The rates of the numbers that represent group coordinates, from time, state, parameters and unknowns."""
    write_out: Callable[[Any], Any] = field(compare=False, repr=False)
    """Replaces inputs by their functions of time, in an expression of the graph."""

    @property
    def size(self) -> int:
        """The number of rows that are solved."""
        return len(self.columns)

    @property
    def width(self) -> int:
        """The length of a row of the tape: matrix, open columns, right side."""
        return self.size + len(self.opened) + 1

    def rates(self) -> list[tuple[str, int]]:
        """Return for each jet of the state the array that contains its rate (`state`, `unknowns` or `turning`) and the index in it."""
        places = [z for z in self.state if isinstance(z, Place)]
        found = []
        for z in self.state:
            if isinstance(z, Place):
                found.append(("turning", places.index(z)))
            else:
                found.append(("unknowns", self.unknowns.index(z.d())) if z.d() in self.unknowns else ("state", self.state.index(z.d())))
        return found


def right_hand_side(model: Any, branch: Any = None, gauge: Any = None) -> RightHandSide:
    """Return the right-hand side of a model's equations, with its parameters and a consistent start."""
    found, equations, binding, now, words = located(model, branch, gauge)
    return assembled(found.problem.system, equations, binding, now, model, words)


def located(model: Any, branch: Any, gauge: Any) -> tuple[Completed, Equations, Binding, Evaluation, str]:
    """Return the completed start of a model, its equations, values, the evaluation there, and the chosen branch as text."""
    if not isinstance(model, Model):
        what = f"code takes a Model, not {type(model).__name__}."
        raise UsageError(what, where="code", hint=InPython("ch.Model(system, principle, parameters=..., start=...)"))
    equations = derive(model)
    where = f"code for {equations.system.label}"
    require_given_forces(equations.system, "code for")
    equations, inputs = with_feedback(equations, model.inputs, where)
    binding = bind(equations.system, model.parameters, inputs, where)
    t = float(model.t[0])
    branch, gauge = (own if given is None else given for given, own in zip((branch, gauge), model.choice.values(), strict=True))
    meant = chosen(equations, binding, Selection(model.start, t, branch, gauge, where, "code"))
    found = on_its_component(state_at(meant.equations, meant.start, binding, t, meant.where))
    return found, equations, binding, evaluate_from(found), meant.where[len(where) :].lstrip(", ")


def _point(system: Prolongation, binding: Binding, now: Evaluation, where: str) -> dict[Symbol, float]:
    return Problem(system, binding, now.t, where).point({z: v for z, v in now.jets.items() if z in system.structure.state})


def assembled(system: Prolongation, equations: Equations, binding: Binding, now: Evaluation, model: Model, branch: str) -> RightHandSide:
    """Return the right-hand side as tapes, for a system of rows that determines the motion."""
    found = system.structure
    graph: Any = system.algebra
    where = f"code for {equations.system.label}"
    rows, columns = _solved_for(system, _point(system, binding, now, where), where)
    opened = tuple(j for j, z in enumerate(found.top) if z.name in system.undetermined and j not in columns)
    stage, hidden = system.stage(0), system.hidden()
    entries = []
    for i in rows:
        right = -graph.without(system.row(stage[i]), found.top)
        entries += [*[found.jacobian[i][j] for j in (*columns, *opened)], right]
    constraints = [system.row(pair) for pair in hidden]
    symbols = (TIME, *found.state, *binding.parameters)
    write_out = _inputs_written_out(graph, binding, system.symbols([*stage, *hidden]))
    column = graph.vector(symbols)
    return RightHandSide(
        equations=equations,
        branch=branch,
        symbols=symbols,
        state=found.state,
        unknowns=found.top,
        parameters={p: v for p, v in binding.parameters.items() if isinstance(p, Parameter)},
        start=tuple(now.jets[z] for z in found.state),
        interval=model.interval,
        columns=columns,
        opened=opened,
        system=tape_of(graph, column, [write_out(e) for e in entries]),
        constraints=tape_of(graph, column, [write_out(e) for e in constraints]),
        labels=tuple(map(system.label, hidden)),
        turning=tape_of(
            graph,
            graph.vector((*symbols, *found.top)),
            [Calculus(graph, equations.system.frame).total(graph.leaf(z)) for z in found.state if isinstance(z, Place)],
        ),
        write_out=write_out,
    )


def _solved_for(system: Prolongation, point: dict[Symbol, float], where: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return rows and unknowns of a regular block of the matrix: all of them unless rows depend on each other."""
    if system.plain:
        every = tuple(range(len(system.structure.rows)))
        return every, every
    flow = make_flow(system, (point,)) or make_flow(system)
    if flow is None:
        raise StateError("no part of the equations determines the motion everywhere.", where=where, hint=(Ask("analyze"), " gives details"))
    pairs = sorted(flow.order.pairs)
    return tuple(i for i, _ in pairs), tuple(sorted(j for _, j in pairs))


def _inputs_written_out(graph: Any, binding: Binding, symbols: frozenset[Symbol]) -> Any:
    """Return a function that replaces inputs, and their derivatives, by their functions of time."""
    inputs = sorted((z for z in symbols if isinstance(z, Input)), key=lambda z: z.name)
    written = [graph.of(total_derivative(binding.inputs[z.base], z.order)) for z in inputs]

    def write_out(e: ca.SX) -> ca.SX:
        return ca.substitute(e, graph.vector(inputs), ca.vertcat(*written)) if inputs else e

    return write_out
