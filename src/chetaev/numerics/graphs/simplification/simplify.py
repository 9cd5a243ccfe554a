"""Expressions of a graph, written with fewer operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import casadi as ca
import sympy
from sympy import Symbol

from chetaev.core.exact.signature import vanishing
from chetaev.core.symbols import Parameter
from chetaev.core.zero import random_point
from chetaev.numerics.graphs.algebra import GraphAlgebra
from chetaev.numerics.graphs.arithmetic import NOTHING, dense, minus
from chetaev.numerics.graphs.rounding_bounds import EPSILON
from chetaev.numerics.graphs.simplification.emission import Code, Emission, choices
from chetaev.numerics.graphs.simplification.normal_forms import INPUT, NUMBER, NormalForms
from chetaev.numerics.machine.tape import fold

_MOST_INSTRUCTIONS = 600
"""Instructions of the longest graph that is simplified; it takes a tenth of a second."""
_WORTHWHILE = 0.9
"""Largest ratio of costs for which the shorter code is used. Little is gained above it."""
_MORE_ROUNDING = 2.0
"""Largest ratio of bounds of rounding errors, after and before, for which the shorter code is used. Bounds of equally exact code differ by
less."""


def simplified(
    graph: GraphAlgebra, expressions: Sequence[ca.SX], counted: Sequence[int], points: Sequence[Mapping[Symbol, float]]
) -> list[ca.SX] | None:
    """Equal expressions with fewer operations; None if there are none with clearly fewer. Only the expressions at `counted` matter.

    Sums and products are rearranged, squares of sines and cosines are added up, and common factors are cancelled. Residues in a finite
    field show that the result is identical with the given expressions, and bounds of rounding errors at `points` that it is as exact.
    """
    if not counted:
        return None
    column = dense(ca.vertcat(*expressions))
    leaves = ca.symvar(column)
    function = ca.Function("simplified", [ca.vertcat(*leaves)], [column])
    if function.n_instructions() > _MOST_INSTRUCTIONS:
        return None
    constant = _constant(graph, leaves)
    forms = NormalForms(function)
    if forms.too_long:
        return None
    places = [k for k, node in enumerate(forms.outputs) if node is not None]
    wanted = [node for node in forms.outputs if node is not None]
    first = [node for k in counted if (node := forms.outputs[k]) is not None]
    plain = Emission(forms, Code(constant), [False] * len(forms.nodes))
    made = [Emission(forms, Code(constant), choice) for choice in choices(forms)]
    costs = [emission.code.cost(emission.outputs(first)) for emission in (plain, *made)]
    best = min(range(len(made)), key=lambda k: costs[k + 1])
    if costs[best + 1] > _WORTHWHILE * costs[0]:
        return None
    outputs = made[best].outputs(wanted)
    values = _values(graph, made[best].code, leaves)
    found = [NOTHING] * len(expressions)
    for k, place in zip(places, outputs, strict=True):
        found[k] = values[place]
    return found if _identical(graph, expressions, found) and _as_exact(graph, expressions, found, points) else None


def cost(graph: GraphAlgebra, expressions: Sequence[ca.SX]) -> float:
    """The cost of computing expressions, in additions; equal operations on equal arguments count once."""
    if not expressions:
        return 0.0
    column = dense(ca.vertcat(*expressions))
    leaves = ca.symvar(column)
    code = Code(_constant(graph, leaves))
    function = ca.Function("cost", [ca.vertcat(*leaves)], [column])
    outputs = fold(
        function,
        lambda _, place: code.add(INPUT, value=place),
        lambda number: code.add(NUMBER, value=number),
        lambda operation, arguments: code.add(operation, *arguments),
    )
    return code.cost([place for place in outputs if place is not None])


def _constant(graph: GraphAlgebra, leaves: Sequence[ca.SX]) -> list[bool]:
    """Which leaves are parameters or numbers."""
    return [all(isinstance(z, Parameter) for z in graph.symbols(leaf)) for leaf in leaves]


def _identical(graph: GraphAlgebra, before: Sequence[ca.SX], after: Sequence[ca.SX]) -> bool:
    """Whether two lists of expressions are shown to be the same, one by one."""
    zero = vanishing(graph.program([minus(a, b) for a, b in zip(before, after, strict=True)])[0])
    return zero is not None and all(zero)


def _as_exact(graph: GraphAlgebra, before: Sequence[ca.SX], after: Sequence[ca.SX], points: Sequence[Mapping[Symbol, float]]) -> bool:
    """Whether the bounds of rounding errors are about as small after as before, wherever expressions have values. Symbols without a value
    get a random one.
    """
    both = graph.tape([*before, *after])
    for k, point in enumerate(points):
        values = {**random_point(both.symbols, k), **point}
        doubts = both.doubts(values, {z: EPSILON * abs(values[z]) for z in both.order})
        for old, new in zip(doubts[: len(before)], doubts[len(before) :], strict=True):
            if old < float("inf") and not new <= _MORE_ROUNDING * old:
                return False
    return True


def _values(graph: GraphAlgebra, code: Code, leaves: Sequence[ca.SX]) -> list[ca.SX]:
    """The results of code as graphs."""
    values: list[ca.SX] = []
    for operation, arguments, value in code.nodes:
        given = [values[k] for k in arguments]
        if operation == INPUT:
            values.append(leaves[value])
        elif operation == NUMBER:
            values.append(_number(graph, value))
        elif len(given) == 1:
            values.append(ca.SX.unary(operation, given[0]))
        else:
            values.append(ca.SX.binary(operation, *given))
    return values


def _number(graph: GraphAlgebra, value: Fraction | float) -> ca.SX:
    """A number; a leaf of the graph if it is not exactly a double."""
    if not isinstance(value, Fraction) or Fraction(float(value)) == value:
        return ca.SX(float(value))
    return graph.of(sympy.Rational(value.numerator, value.denominator))
