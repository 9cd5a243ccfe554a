"""Graphs of expressions whose plain graph would overflow a double or divide zero by zero: each with the formula that holds there.

A guard compares an argument with a limit and is 1 or 0; it multiplies both the argument and the value, so that the formula that does not
hold is evaluated at a place where it has a value. In exact arithmetic no number reaches a limit, so it sees the plain formula alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca
import sympy
from sympy import Expr

from chetaev.core.functions import SMOOTH, SPELLING
from chetaev.numerics.graphs.arithmetic import balanced, minus, plus, polynomial, raised, times
from chetaev.numerics.graphs.rewriting import overflow
from chetaev.numerics.graphs.rewriting.dominant import VARIABLE, Growth, growths
from chetaev.numerics.graphs.rewriting.removable import Removable
from chetaev.numerics.graphs.rewriting.saturating_functions import LARGE, SATURATING, Growing, terms_of

if TYPE_CHECKING:
    from chetaev.numerics.graphs.algebra import GraphAlgebra

UNARY = {name: int(getattr(ca, f"OP_{name.upper()}")) for name in (*SMOOTH, "sign")} | {"abs": int(ca.OP_FABS)}
"""CasADi's operations by the names of functions of one argument."""


@dataclass(frozen=True)
class Guarded:
    """Makes guarded graphs in one algebra."""

    graph: GraphAlgebra

    def quotient(self, exponent: Expr, converted: ca.SX, number: Expr, terms: Sequence[tuple[Expr, Expr]]) -> ca.SX:
        """Return a quotient whose denominator, a number and growing terms, may overflow a double (`overflow`)."""
        limit = overflow.limit_of(exponent)
        leaf = self.graph.limit(limit)
        inside = overflow.inside(leaf, [(f, self.graph.of(f.args[0])) for _, f in terms])
        summands = [self.graph.of(number)] if number else []
        for factor, f in terms:
            summands.append(times(self.graph.of(factor), ca.SX.unary(UNARY[SPELLING[type(f)]], times(inside, self.graph.of(f.args[0])))))
        base = plus(times(inside, balanced(summands, plus)), minus(ca.SX(1), inside))
        found = times(inside, raised(base, exponent, converted))
        first = overflow.first_term(exponent, number, terms)
        if first is None:
            return found
        factor, (_, f) = first, terms[0]
        outside, exceeding = overflow.outside(leaf, f, self.graph.of(f.args[0]))
        return plus(found, times(outside, times(self.graph.of(factor), ca.SX.unary(ca.OP_EXP, times(converted, exceeding)))))

    def product(self, factors: Sequence[Expr], growing: Mapping[Expr, Growth]) -> ca.SX:
        """Return a product whose factors may overflow a double while it does not (`dominant`)."""
        values, exponents = [], []
        for factor in factors:
            if isinstance(factor, sympy.exp) and factor.args[0].free_symbols:
                exponents.append(self.graph.of(factor.args[0]))
            elif factor in growing:
                value, exponent = self._led(growing[factor])
                values.append(value)
                exponents += exponent
            else:
                values.append(self.graph.of(factor))
        return times(balanced(values, times), ca.SX.unary(ca.OP_EXP, balanced(exponents, plus)))

    def _led(self, growth: Growth) -> tuple[ca.SX, list[ca.SX]]:
        """Return a factor without the exponential of its leading term beyond the limit, and the exponents of that, 0 within."""
        u = self.graph.of(growth.argument)
        leaf = self.graph.limit(growth.limit)
        sides = []
        for leading, reach in ((growth.above, u), (growth.below, ca.SX.unary(ca.OP_NEG, u))):
            if leading is not None:
                sides.append((leading, ca.SX.binary(ca.OP_LT, leaf, reach)))
        inside = balanced([ca.SX.unary(ca.OP_NOT, beyond) for _, beyond in sides], times)
        inner, base = self.graph.leaf(VARIABLE), self.graph.of(growth.written)
        self.graph.forget(VARIABLE)
        held = [times(inside, ca.substitute(base, inner, times(inside, u)))]
        held += [times(beyond, self.graph.of(leading.coefficient)) for leading, beyond in sides]
        exponents = []
        for leading, beyond in sides:
            far = times(beyond, u)
            if growth.algebraic:
                distance = far if leading is growth.above else ca.SX.unary(ca.OP_NEG, far)
                far = ca.SX.unary(ca.OP_LOG, plus(distance, minus(ca.SX(1), beyond)))
            exponents.append(times(far, self.graph.of(growth.power * leading.exponent)))
        return raised(balanced(held, plus), growth.power, self.graph.of(growth.power)), exponents

    def saturated(self, node: Expr) -> ca.SX | None:
        """Return the graph of a function whose argument may overflow a double where it has a limit; None for others."""
        name = "" if node.is_Pow else SPELLING[type(node)]
        if not (name in (*SATURATING, "log") or (node.is_Pow and node.exp.is_Rational and node.exp.p < 0)):
            return None
        terms = terms_of(node.args[0])
        if terms is None or (name == "exp" and all(factor.is_positive for factor, grows in terms if grows)):
            return None
        argument, inside = self._held(terms)
        if node.is_Pow:
            return times(inside, raised(argument, node.exp, self.graph.of(node.exp)))
        if name != "log":
            return ca.SX.unary(UNARY[name], argument)
        large = [(factor, grows) for factor, grows in terms if grows]
        factor, grows = large[0]
        if len(large) > 1 or not isinstance(grows.node, sympy.exp | sympy.cosh) or not factor.is_positive:
            return None
        beyond = minus(ca.SX(1), inside)
        within = ca.SX.unary(ca.OP_LOG, plus(times(inside, argument), beyond))
        leaf = self.graph.limit(grows.limit)
        _, exponent = overflow.outside(leaf, grows.node, self.graph.of(grows.argument))
        first = factor / 2 if isinstance(grows.node, sympy.cosh) else factor  # cosh is half of an exponential there
        return plus(within, plus(exponent, times(beyond, self.graph.of(sympy.log(first)))))

    def _held(self, terms: Sequence[tuple[Expr, Growing | None]]) -> tuple[ca.SX, ca.SX]:
        """Return a sum whose growing terms are held beyond their limits, and 1 within all limits, otherwise 0."""
        summands, inside = [], ca.SX(1)
        for factor, grows in terms:
            if grows is None:
                summands.append(self.graph.of(factor))
                continue
            value, within = self._clamped(grows)
            summands.append(value if factor == 1 else times(self.graph.of(factor), value))
            inside = inside * within
        return balanced(summands, plus), inside

    def _clamped(self, grows: Growing) -> tuple[ca.SX, ca.SX]:
        """Return a growing function that is constant beyond its limit, and 1 within it, otherwise 0."""
        nested = terms_of(grows.argument)
        u = self.graph.of(grows.argument) if nested is None else self._held(nested)[0]
        leaf = self.graph.limit(grows.limit)
        above = ca.SX.binary(ca.OP_LT, leaf, u)
        below = ca.SX.binary(ca.OP_LT, leaf, ca.SX.unary(ca.OP_NEG, u)) if grows.both else ca.SX(0)
        inside = ca.SX.unary(ca.OP_NOT, above) * ca.SX.unary(ca.OP_NOT, below)  # also where u is NaN, which stays visible
        function, power = (grows.node.base, grows.node.exp) if grows.node.is_Pow else (grows.node, sympy.Integer(1))
        value = times(inside, u)
        if isinstance(function, sympy.exp | sympy.sinh | sympy.cosh):
            value = ca.SX.unary(UNARY[SPELLING[type(function)]], value)
        if power != 1:
            value = raised(value, power, self.graph.of(power))
        beyond = minus(above, below) if grows.odd else plus(above, below)
        return plus(times(inside, value), times(beyond, ca.SX(LARGE))), inside

    def with_series(self, found: Removable) -> ca.SX:
        """Return a product or sum with removable singularities (`removable`): the series near these, else the formula.

        The formula is evaluated at another place where the series is used. Numbers are compared with limits, which in exact arithmetic they
        never reach, so that it sees the formula alone.
        """
        u, own = self.graph.of(found.argument), found.function.args
        combine = plus if found.function.is_Add else times
        inner = self.graph.leaf(found.variable)
        grows = growths(own) if found.function.is_Mul else None
        formula = self.product(own, grows) if grows else balanced([self.graph.of(e) for e in own], combine)
        if found.variable != found.argument:
            self.graph.forget(found.variable)
        inside, place, total = ca.SX(1), ca.SX(0), []
        for series in found.series:
            h = minus(u, self.graph.of(series.centre)) if series.centre else u
            if found.turns:  # since the nearest of these places
                angle = times(self.graph.of(found.turns), h)
                h = ca.SX.binary(ca.OP_ATAN2, ca.SX.unary(ca.OP_SIN, angle), ca.SX.unary(ca.OP_COS, angle))
                h = times(h, self.graph.of(1 / found.turns))
            h = times(h, self.graph.of(1 / series.unit)) if series.unit != 1 else h
            square = -(series.radius**2)
            limit = self.graph.limit(square)
            near = ca.SX.binary(ca.OP_LT, limit, ca.SX.unary(ca.OP_NEG, times(h, h)))
            total.append(times(near, polynomial(series.coefficients, times(near, h))))
            inside = times(inside, ca.SX.unary(ca.OP_NOT, near))
            place = plus(place, times(near, ca.SX(float(series.centre + series.radius * series.unit))))
        formula = ca.substitute(formula, inner, plus(times(inside, u), place))
        total.append(times(inside, formula))
        whole = balanced([balanced(total, plus), *[self.graph.of(e) for e in found.others]], times)
        return plus(whole, self.graph.of(sympy.Add(*found.terms))) if found.terms else whole
