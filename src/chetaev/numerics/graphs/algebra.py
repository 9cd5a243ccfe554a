"""Expressions as an automatic-differentiation graph: the algebra that numerics works in.

CasADi's SX graphs share sub-expressions and differentiate in a time proportional to their size, where SymPy's trees swell. The assembler,
the structural analysis and everything below them run on either algebra; this module has the one for numbers.

A number that is not exactly a double, such as 1/10 or pi, is a leaf of the graph like a parameter: then 3*(1/10) - 3/10 is exactly zero for
formal questions (`program`), and becomes 5.6e-17 only where the graph is made into a function of doubles (`function`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import casadi as ca
import sympy
from sympy import Expr, Symbol

from chetaev.core.exact.constants import cancelled, constant_part
from chetaev.core.exact.program import Compound, Program
from chetaev.core.exact.signature import vanishing
from chetaev.core.functions import SPELLING
from chetaev.core.groups.coordinate import coordinate_of
from chetaev.core.symbols import Entry, Parameter
from chetaev.core.values import Tape
from chetaev.numerics.graphs.arithmetic import (
    NOTHING,
    balanced,
    dense,
    minus,
    piecewise,
    plus,
    raised,
    step,
    times,
)
from chetaev.numerics.graphs.graph_tape import GraphTape
from chetaev.numerics.graphs.guarded import UNARY, Guarded
from chetaev.numerics.graphs.rewriting import exponentials, overflow
from chetaev.numerics.graphs.rewriting.cancelling_sums import Suspect, may_cancel, suspects_in, without
from chetaev.numerics.graphs.rewriting.dominant import growths
from chetaev.numerics.graphs.rewriting.removable import removable
from chetaev.numerics.machine.tape import LIMIT, program_of

_MOST_FORWARD = 2
"""Most symbols for which derivatives are taken in forward mode, one symbol at a time. Reverse mode, for more, leaves more round-off where
slopes vanish."""
_CACHED_PROGRAMS = 24
"""Size of the cache of programs. With a smaller one the programs of a single analysis evict each other, which costs time only."""
_CACHED_LINES = 1_000_000
"""Most instructions of cached programs besides the last one; each takes 150 bytes."""
_BINARY = {"atan2": int(ca.OP_ATAN2), "min": int(ca.OP_FMIN), "max": int(ca.OP_FMAX)}


_BUILT: dict[str, Callable[..., ca.SX]] = {"step": step, "piecewise": piecewise}
"""Functions made of several operations of the graph."""


class GraphAlgebra:
    """SX expressions; one instance owns the graph's symbols, so expressions of different instances do not mix.

    The instance caches the symbols and gradients of expressions, because the same rows are analysed many times.
    """

    def __init__(self) -> None:
        self._leaves: dict[Symbol, ca.SX] = {}
        self._names: dict[str, Symbol] = {}
        self._numbers: dict[Expr, ca.SX] = {}
        self._values: dict[str, float] = {}
        """The values of leaves that stand for numbers, by name."""
        self._limits: dict[Expr, ca.SX] = {}
        """Numbers that arguments of growing functions are compared with."""
        self._known: dict[Expr, ca.SX] = {}
        self._vectors: dict[tuple[Symbol, ...], ca.SX] = {}
        self._programs: dict[Any, tuple[list[ca.SX], Program, list[Symbol]]] = {}
        # keyed by the address of a node; the expressions are stored too, so that the address is not reused
        self._symbols: dict[int, tuple[ca.SX, frozenset[Symbol]]] = {}
        self._gradients: dict[tuple[int, tuple[Symbol, ...]], tuple[ca.SX, dict[Symbol, ca.SX]]] = {}

    def of(self, expression: Expr) -> ca.SX:
        """Return the graph of an expression, with each shared sub-expression once. Terms that cancel identically are left out."""
        made = self._make(expression)
        cancelled = self._cancelled(made)
        if cancelled:
            for node in made:
                if node.has(*cancelled):
                    del self._known[node]
            for node, rest in cancelled.items():  # inner ones first
                self._make(rest)
                self._known[node] = self._known[rest]
            self._make(expression)
        return self._known[expression]

    def reduced(self, expression: Expr) -> Expr:
        """Return an expression without terms that cancel identically."""
        found: Expr = expression.xreplace(self._cancelled(self._make(expression)))
        return found

    def _make(self, expression: Expr) -> list[Expr]:
        """Make the graphs of an expression and its parts that are not known yet, and return these expressions, the inner ones first."""
        made: list[Expr] = []
        stack: list[tuple[Expr, bool]] = [(expression, False)]
        while stack:
            node, ready = stack.pop()
            if node in self._known:
                continue
            if node.args and not ready:
                stack.append((node, True))
                stack += [(a, False) for a in node.args]
                continue
            self._known[node] = self._made(node)
            made.append(node)
        return made

    def _cancelled(self, made: Sequence[Expr]) -> dict[Expr, Expr]:
        """Return what is left of those sums, among expressions that were made, in which terms cancel identically."""
        sums = [node for node in made if may_cancel(node)]
        suspects = suspects_in(sums, self._known, self._values) if sums else []
        if not suspects:
            return {}
        for each in suspects:
            self._make(each.number)
        differences = [minus(balanced([self._known[a] for a in each.terms], plus), self._known[each.number]) for each in suspects]
        zero = vanishing(self.program(differences)[0]) or [False] * len(suspects)
        found: dict[Expr, list[Suspect]] = {}
        for each, z in zip(suspects, zero, strict=True):
            if z:
                found.setdefault(each.node, []).append(each)
        return {node: without(node, some) for node, some in found.items()}

    def leaf(self, symbol: Symbol) -> ca.SX:
        """The graph's symbol for a symbol."""
        if symbol not in self._leaves:
            name = f"{type(symbol).__name__}:{symbol.name}"
            self._leaves[symbol] = ca.SX.sym(name)
            self._names[name] = symbol
        return self._leaves[symbol]

    def numeric(self, e: ca.SX) -> ca.SX:
        """The expression with its numbers rounded to doubles."""
        numbers = [*self._numbers.items(), *self._limits.items()]
        present = {leaf.name() for leaf in ca.symvar(e)} if numbers else set()
        used = [(leaf, _float(node)) for node, leaf in numbers if leaf.name() in present]
        return ca.substitute(e, ca.vertcat(*[leaf for leaf, _ in used]), ca.DM([number for _, number in used])) if used else e

    def function(self, name: str, arguments: Sequence[ca.SX], column: ca.SX, **options: Any) -> ca.Function:
        """A function of doubles with one dense output column."""
        return ca.Function(name, list(arguments), [dense(self.numeric(column))], options)

    def program(self, expressions: Sequence[ca.SX], symbols: Sequence[Symbol] | None = None) -> tuple[Program, list[Symbol]]:
        """Return the expressions as instructions for exact arithmetic, and the symbols that are its inputs; numbers are exact.

        The last results are cached, because several analyses use the same rows.
        """
        key = tuple(int(e.element_hash()) if e.nnz() else 0 for e in expressions), None if symbols is None else tuple(symbols)
        if key not in self._programs:
            made = (list(expressions), *self._new_program(expressions, symbols))
            room = _CACHED_LINES - len(made[1].lines)
            while self._programs and (
                len(self._programs) == _CACHED_PROGRAMS or sum(len(program.lines) for _, program, _ in self._programs.values()) > room
            ):
                del self._programs[next(iter(self._programs))]
            self._programs[key] = made
        _, program, order = self._programs[key]
        return program, order

    def _new_program(self, expressions: Sequence[ca.SX], symbols: Sequence[Symbol] | None) -> tuple[Program, list[Symbol]]:
        column = ca.vertcat(*expressions) if expressions else ca.SX(0, 1)
        order = sorted(self.symbols_of(expressions), key=lambda z: z.name) if symbols is None else list(symbols)
        leaves = [self.vector(order), *self._numbers.values(), *self._limits.values()]
        numbers = [*map(_exact, self._numbers), *[LIMIT] * len(self._limits)]
        found = program_of(ca.Function("exact", [ca.vertcat(*leaves)], [dense(column)]), numbers)
        found.positive = {k for k, z in enumerate(order) if z.is_positive}
        return found, order

    def vector(self, symbols: Sequence[Symbol]) -> ca.SX:
        """A column of leaves."""
        key = tuple(symbols)
        if key not in self._vectors:
            self._vectors[key] = ca.vertcat(*map(self.leaf, key)) if key else ca.SX(0, 1)
        return self._vectors[key]

    def gradient(self, e: ca.SX, symbols: Sequence[Symbol]) -> list[ca.SX]:
        """Return the partial derivatives. One reverse sweep gives the derivatives by all moving symbols, and is cached.

        For at most `_MOST_FORWARD` symbols a forward sweep for each is made instead, as CasADi does by default: it leaves less round-off
        where slopes vanish.
        """
        occurring = self.symbols(e)
        present = [z for z in symbols if z in occurring]
        several = len(present) > _MOST_FORWARD
        key = (int(e.element_hash()), () if several else tuple(present))
        known = self._gradients.setdefault(key, (e, {}))[1]
        missing = {z for z in present if z not in known}
        if missing:
            wanted = [z for z in occurring if not isinstance(z, Parameter) or z in missing] if several else present
            row: Any = ca.jacobian(e, self.vector(wanted))
            known |= zip(wanted, dense(row).elements(), strict=True)
        return [known.get(z, NOTHING) for z in symbols]

    def along(self, expressions: Sequence[ca.SX], rates: Mapping[Symbol, ca.SX]) -> list[ca.SX]:
        if not rates or not expressions:
            return [ca.SX(0) for _ in expressions]
        column: Any = ca.jtimes(ca.vertcat(*expressions), self.vector(tuple(rates)), ca.vertcat(*rates.values()))
        derivatives: list[ca.SX] = dense(column).elements()
        return derivatives

    def symbols(self, e: ca.SX) -> frozenset[Symbol]:
        if not e.is_scalar(True):
            return self._symbols_in(e)
        if e.is_constant():
            return frozenset()
        key = int(e.element_hash())
        if key not in self._symbols:
            self._symbols[key] = (e, self._symbols_in(e))
        return self._symbols[key][1]

    def _symbols_in(self, e: ca.SX) -> frozenset[Symbol]:
        names = self._names
        return frozenset(names[name] for leaf in ca.symvar(e) if (name := leaf.name()) in names)

    def symbols_of(self, expressions: Sequence[ca.SX]) -> frozenset[Symbol]:
        known: list[frozenset[Symbol]] = []
        for e in expressions:
            if not e.is_scalar(True) or (not e.is_constant() and int(e.element_hash()) not in self._symbols):
                return self.symbols(ca.vertcat(*expressions))
            known.append(self.symbols(e))
        return frozenset().union(*known)

    def symbols_of_each(self, expressions: Sequence[ca.SX]) -> list[frozenset[Symbol]]:
        # from the sparsity pattern of the Jacobian, which is faster than searching each expression
        if expressions:
            leaves = tuple(self._leaves)
            found: list[list[Symbol]] = [[] for _ in expressions]
            pattern = ca.jacobian_sparsity(ca.vertcat(*expressions), self.vector(leaves))
            for i, j in zip(pattern.row(), pattern.get_col(), strict=True):
                found[i].append(leaves[j])
            self._symbols |= {int(e.element_hash()): (e, frozenset(present)) for e, present in zip(expressions, found, strict=True)}
        return [self.symbols(e) for e in expressions]

    def which_contain(self, expressions: Sequence[ca.SX], symbols: Sequence[Symbol]) -> list[bool]:
        if not expressions or not symbols:
            return [False] * len(expressions)
        found: list[bool] = ca.which_depends(dense(ca.vertcat(*expressions)), self.vector(symbols), 1, True)
        return found

    def without(self, e: ca.SX, symbols: Sequence[Symbol]) -> ca.SX:
        return ca.substitute(e, self.vector(symbols), ca.SX.zeros(len(symbols), 1)) if symbols else e

    def tape(self, expressions: Sequence[ca.SX]) -> GraphTape:
        return GraphTape(self, expressions)

    @property
    def _guarded(self) -> Guarded:
        return Guarded(self)  # not stored: a cycle of references would keep graphs alive

    def _made(self, node: Expr) -> ca.SX:
        if isinstance(node, Entry):
            return self.of(coordinate_of(node.group, node.kind).chart[node])
        if isinstance(node, Symbol):
            return self.leaf(node)
        if node.is_Rational and _is_short(node):
            return ca.SX(_float(node)) if node.p else NOTHING
        if node.is_Rational or node.is_NumberSymbol:
            return self._number_leaf(self._numbers, node, f"number {node}")
        constant = constant_part(node)
        known = None if constant is None else cancelled(constant)
        if constant is not None and known is not None:
            number = ca.SX(0) if known.zero else self._number_leaf(self._numbers, constant, f"number {constant}")
            rest = [self._known[a] for a in node.args if not a.is_number] if node.is_Add else []
            return balanced([number, *rest] if not known.zero else rest or [number], plus)
        together = exponentials.merged(node) if node.is_Mul else None
        if together is not None:
            return self.of(together)
        series = removable(node) if node.is_Mul or node.is_Add else None
        if series is not None:
            return self._guarded.with_series(series)
        absorbed = exponentials.into_powers(node) if node.is_Mul else None
        if absorbed is not None:
            others, root, powers = absorbed
            absorbing = [raised(times(self.of(root), self.of(base)), sympy.Integer(n), self.of(sympy.Integer(n))) for base, n in powers]
            return balanced([self.of(others), *absorbing], times)
        growing_factors = growths(node.args) if node.is_Mul else None
        if growing_factors:
            return self._guarded.product(node.args, growing_factors)
        arguments = [self._known[a] for a in node.args]
        if node.is_Add:
            return balanced(arguments, plus)
        if node.is_Mul:
            return balanced(arguments, times)
        if node.is_Pow:
            growing = overflow.parts(node.base, node.exp)
            if growing is not None:
                return self._guarded.quotient(node.exp, arguments[1], *growing)
            found = self._guarded.saturated(node)
            base = arguments[0] if node.exp.is_Integer else self._unfolded(node.base)
            return raised(base, node.exp, arguments[1]) if found is None else found
        if all(a.is_constant() for a in arguments):
            arguments = [self._unfolded(a) for a in node.args]
        name = SPELLING[type(node)]
        found = self._guarded.saturated(node)
        if found is not None:
            return found
        if name in _BUILT:
            return _BUILT[name](*arguments)
        return ca.SX.unary(UNARY[name], *arguments) if name in UNARY else ca.SX.binary(_BINARY[name], *arguments)

    def _number_leaf(self, leaves: dict[Expr, ca.SX], number: Expr, name: str) -> ca.SX:
        if number not in leaves:
            leaves[number], self._values[name] = ca.SX.sym(name), _float(number)
        return leaves[number]

    def limit(self, number: Expr) -> ca.SX:
        """A leaf for a number that arguments of growing functions are compared with; in exact arithmetic they never reach it."""
        return self._number_leaf(self._limits, number, f"limit {number}")

    def _unfolded(self, node: Expr) -> ca.SX:
        """Return an argument of a function; a number as a leaf, since CasADi would make the value of log(2) a double."""
        return self._number_leaf(self._numbers, node, f"number {node}") if node.is_Rational else self._known[node]

    def forget(self, symbol: Symbol) -> None:
        """Forget a symbol that was needed for a moment, and all expressions with it."""
        self._names.pop(f"{type(symbol).__name__}:{symbol.name}")
        del self._leaves[symbol]
        for e in [e for e in self._known if symbol in e.free_symbols]:
            del self._known[e]


_LARGEST_SHORT_NUMBER = 2**13
"""Largest numerator and denominator of a number that CasADi may multiply: a product of four of these is exactly a double. With larger
numbers 1e12*1e12 becomes a double beside 1e24, and exact arithmetic finds a difference that is not in the text."""


def _is_short(node: Expr) -> bool:
    """Tell whether a rational number is a double with few digits, so that products of some of these are exact."""
    return bool(node.q & (node.q - 1) == 0 and abs(node.p) <= _LARGEST_SHORT_NUMBER and node.q <= _LARGEST_SHORT_NUMBER)


def _float(node: Expr) -> float:
    if not node.is_Rational:
        constant = cancelled(node) if node.args else None
        return float(node) if constant is None else constant.value
    try:
        found = node.p / node.q
    except OverflowError:
        return math.inf if node.p > 0 else -math.inf  # reported when the graph is evaluated
    return found if found or not node.p else math.nan  # likewise a nonzero number that underflows a double


def _exact(node: Expr) -> Fraction | str | Compound:
    """A number for exact arithmetic: a fraction, the name of a constant, or a constant with its own instructions."""
    if node.is_Rational:
        return Fraction(node.p, node.q)
    return Compound(str(node), Tape([node]).program()[0]) if node.args else str(node)
