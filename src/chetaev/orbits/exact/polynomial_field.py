r"""The reduced equations of a system as a rational field in exact arithmetic.

The equations are solved for accelerations and multipliers. The variables are the velocities and all quantities on which their rates depend,
directly or through other rates: angles enter by their sines and cosines, group elements by the entries of their matrices; quantities
without influence are omitted. For a heavy top these are the angular velocity and the vertical in the body, as in Euler's and Poisson's
equations.

The variables satisfy relations: $\cos^2 + \sin^2 = 1$, rows of a rotation are orthonormal, constraints hold. Constraints are used in
differentiated form, so that the field is tangent to every level set of their functions, not only to the one on which the states lie.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import sympy
from sympy import Expr, Rational, S, Symbol, cos, sin, tan
from sympy.polys.matrices import DomainMatrix
from sympy.polys.orderings import grevlex
from sympy.polys.polyerrors import CoercionFailed
from sympy.polys.rings import PolyElement, PolyRing

from chetaev.core.declarations import read_value
from chetaev.core.errors import ModelError, ParameterError, about, did_you_mean
from chetaev.core.fixes import Ask
from chetaev.core.notation import show
from chetaev.core.notation.lexer import spell
from chetaev.core.symbols import TIME, Action, Entry, Input, Jet
from chetaev.mechanics.derivation import derive
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.model import Model


@dataclass(frozen=True, eq=False)
class RationalField:
    """The rates of variables as quotients of polynomials."""

    ring: Any
    """The polynomials in the variables, over the rational numbers or over quotients of polynomials in parameters."""
    symbols: tuple[Symbol, ...]
    """The variables, in the order of the ring."""
    written: Mapping[Symbol, Expr]
    """For each variable that stands for a sine or a cosine, that expression."""
    speeds: frozenset[Symbol]
    """The variables that are velocities, or unknowns of equations of first order."""
    numerators: tuple[PolyElement, ...]
    """The rates times `denominator`."""
    denominator: PolyElement
    relations: tuple[PolyElement, ...]
    """Polynomials that vanish at every state."""
    where: str
    """The function and the system, for messages."""
    system: str
    """The system as it is called in titles."""

    @cached_property
    def basis(self) -> list[PolyElement]:
        """A Groebner basis of the relations."""
        if not self.relations:
            return []
        found = sympy.groebner([g.as_expr() for g in self.relations], *self.ring.symbols, order="grevlex", domain=self.ring.domain)
        return [self.ring.from_expr(e) for e in found.exprs]

    def normal(self, p: PolyElement) -> PolyElement:
        """The normal form of a polynomial modulo the relations."""
        return p.rem(self.basis) if self.basis else p

    def along(self, p: PolyElement) -> PolyElement:
        """The rate of a polynomial times the denominator."""
        terms = [rate * p.diff(x) for rate, x in zip(self.numerators, self.ring.gens, strict=True)]
        return sum((term for term in terms if term), self.ring.zero)

    def monomials(self, degree: int) -> list[PolyElement]:
        """The monomials of degrees 1 to `degree` that the relations do not reduce."""
        leading = [g.LM for g in self.basis]
        found: list[tuple[int, ...]] = []
        last: list[tuple[int, ...]] = [(0,) * len(self.symbols)]
        for _ in range(degree):
            seen: dict[tuple[int, ...], None] = {}
            for m in last:
                for k in range(len(m)):
                    seen.setdefault((*m[:k], m[k] + 1, *m[k + 1 :]))
            last = [m for m in seen if not any(all(a >= b for a, b in zip(m, g, strict=True)) for g in leading)]
            found += last
        return [self.ring.term_new(m, self.ring.domain.one) for m in found]

    def expression(self, p: PolyElement) -> Expr:
        """A polynomial in the notation of the user."""
        back = dict(zip(self.ring.symbols, self.symbols, strict=True))
        shown: Expr = p.as_expr().xreplace(back).xreplace(dict(self.written))
        return shown

    @property
    def names(self) -> tuple[str, ...]:
        """The variables in the notation of the user."""
        return tuple(show(self.written.get(z, z)) for z in self.symbols)


def rational_field(verb: str, given: Any, parameters: Mapping[str, Any] | None) -> RationalField:
    """The reduced equations of `given` (equations, a model or a system); parameters without a value stay symbols."""
    if isinstance(given, Model):
        parameters = {**given.parameters, **(parameters or {})}
    equations = given if isinstance(given, Equations) else derive(given)
    where = f"{verb} {equations.system.label}"
    return _Reading(equations, _values(equations, parameters or {}, where), where).field()


def _values(equations: Equations, given: Mapping[str, Any], where: str) -> dict[Symbol, Expr]:
    """Exact values of parameters; a decimal number such as 0.1 becomes the fraction 1/10."""
    known = {p.name: p for p in equations.system.parameters}
    found: dict[Symbol, Expr] = {}
    for key, v in given.items():
        name = spell(str(key))
        if name not in known:
            raise ParameterError(
                f"{key} is not a parameter.",
                where=about(where, "parameters", str(key)),
                hint=did_you_mean(name, list(known)) or " ".join(known),
            )
        value = read_value(v, equations.vocabulary, where) if isinstance(v, str) else _fraction(v)
        if value is None or not value.is_Rational:
            hint = "a decimal number or a fraction; a parameter that is left out stays a symbol"
            raise ParameterError(f"{key} = {v} is not a rational number.", where=about(where, "parameters", str(key)), hint=hint)
        found[known[name]] = value
    return found


def _fraction(v: Any) -> Rational | None:
    """The fraction with the decimal digits of a number; None for infinities, NaN and other types."""
    try:
        exact = Fraction(repr(float(v))) if isinstance(v, float) else Fraction(v)
    except (TypeError, ValueError, OverflowError):
        return None
    return Rational(exact.numerator, exact.denominator)


class _Reading:
    """Solves equations for the rates, and collects the variables on which these depend."""

    def __init__(self, equations: Equations, values: Mapping[Symbol, Expr], where: str) -> None:
        self.equations, self.values, self.where = equations, dict(values), where
        self.angles: dict[Expr, Symbol] = {}
        rows = [row.residual for row in equations.rows]
        present = set().union(*(row.free_symbols for row in rows))
        if any(z == TIME or isinstance(z, Input) for z in present):
            raise ModelError("the equations depend on time.", where=where, hint="a system without t and inputs")
        if any(isinstance(z, Action) for z in present):
            raise ModelError("the equations contain the action.", where=where, hint="a system without an action")
        self.top: dict[str, int] = {}
        for z in present:
            if isinstance(z, Jet):
                self.top[z.base] = max(self.top.get(z.base, 0), z.order)
        self.rows = rows
        self.multipliers = [z for z in equations.unknowns if not self.top.get(z.base, 0)]
        """Unknowns without rates."""
        self.coordinates = [z for z in equations.unknowns if self.top.get(z.base, 0)]

    def field(self) -> RationalField:
        """The field."""
        tops: list[Symbol] = [q.d(self.top[q.base] - q.order) for q in self.coordinates] + list(self.multipliers)
        solved_for, constraints = [], []
        for row in self.rows:
            e = row
            while not any(z in e.free_symbols for z in tops):
                constraints.append(e)
                if not e.free_symbols - set(self.equations.system.parameters):
                    raise ModelError(f"the row {show(row)} determines nothing.", where=self.where)
                e = self.equations.total(e)
            solved_for.append(e)
        found = self._solved([self._plain(e) for e in solved_for], tops)
        rates = self._rates(found)
        return self._closed(rates, [self._plain(e) for e in constraints])

    def _plain(self, e: Expr) -> Expr:
        """An expression with values of parameters, and symbols for sines and cosines of coordinates."""
        e = sympy.expand_trig(e.xreplace(self.values).replace(tan, lambda a: sin(a) / cos(a)))
        for part in e.atoms(sin, cos):
            (argument,) = part.args
            if not (isinstance(argument, Jet) and argument.order == 0):
                raise self._not_rational(part)
            self._angle(argument)
        return e.xreplace(self.angles)

    def _angle(self, q: Jet) -> None:
        if cos(q) not in self.angles:
            self.angles[cos(q)] = Symbol(f"cos({q.name})", real=True)
            self.angles[sin(q)] = Symbol(f"sin({q.name})", real=True)

    def _not_rational(self, e: Expr) -> ModelError:
        return ModelError(
            f"{show(e)} is not a quotient of polynomials.",
            where=self.where,
            why="The search uses polynomials in velocities, coordinates, entries of group elements, and sines and cosines of angles.",
            hint="coordinates in which roots, exponentials and other functions do not occur",
        )

    def _solved(self, rows: Sequence[Expr], tops: Sequence[Symbol]) -> dict[Symbol, Expr]:
        """The accelerations and multipliers, by exact elimination."""
        slopes = [[row.diff(z) for z in tops] for row in rows]
        if any(z in e.free_symbols for line in slopes for e in line for z in tops):
            raise ModelError(
                "the equations are not linear in the accelerations.", where=self.where, hint="a regular system of second order"
            )
        still = dict.fromkeys(tops, S.Zero)
        right = [-row.xreplace(still) for row in rows]
        symbols = sorted(set().union(*(e.free_symbols for line in slopes for e in line), *(e.free_symbols for e in right)), key=str)
        domain = sympy.QQ.frac_field(*symbols) if symbols else sympy.QQ
        entries = [[self._element(e, domain) for e in (*line, r)] for line, r in zip(slopes, right, strict=True)]
        reduced, pivots = DomainMatrix(entries, (len(rows), len(tops) + 1), domain).rref()
        if pivots != tuple(range(len(tops))):
            raise ModelError("the equations do not determine the accelerations.", where=self.where, hint=(Ask("classify"), " says why"))
        solution = reduced.to_Matrix()
        return {z: solution[k, len(tops)] for k, z in enumerate(tops)}

    def _element(self, e: Expr, domain: Any) -> Any:
        """An expression as a quotient of polynomials."""
        try:
            return domain.from_sympy(e)
        except (CoercionFailed, ValueError):
            raise self._not_rational(e) from None

    def _rates(self, solved: Mapping[Symbol, Expr]) -> dict[Symbol, Expr]:
        """The rates of all jets below the top, of entries of group elements, and of sines and cosines."""
        system, found = self.equations.system, {}
        for q in self.coordinates:
            for k in range(self.top[q.base]):
                z = q.d(k - q.order)
                if k or z not in system.frame.turning:
                    found[z] = solved.get(z.d(), z.d())
        for group in system.groups.values():
            for z in group.chart:
                found[z] = self.equations.total(z).xreplace(self.values)
        for e, symbol in self.angles.items():
            (q,) = e.args
            other = self.angles[sin(q) if isinstance(e, cos) else cos(q)]
            found[symbol] = (-1 if isinstance(e, cos) else 1) * other * found.get(q, q.d())
        return found

    def _closed(self, rates: dict[Symbol, Expr], constraints: list[Expr]) -> RationalField:
        """The field on the smallest set of variables that contains the velocities."""
        speeds = [q.d(self.top[q.base] - 1 - q.order) for q in self.coordinates]
        known = set(self.equations.system.parameters)
        for _ in range(len(constraints)):  # constraints that give a velocity as a polynomial in the others
            for g in constraints:
                chosen = next((z for z in speeds if (a := g.diff(z)) != 0 and a.free_symbols <= known), None)
                if chosen is None:
                    continue
                value = sympy.cancel(chosen - g / g.diff(chosen))
                rates = {z: e.xreplace({chosen: value}) for z, e in rates.items() if z != chosen}
                constraints = [sympy.cancel(h.xreplace({chosen: value})) for h in constraints if h is not g]
                speeds.remove(chosen)
                break
        used: list[Symbol] = [z for z in speeds if z in rates]
        for z in used:  # grows
            if z not in rates:
                raise ModelError(
                    f"the rate of {show(z)} is not known.", where=self.where, hint=(Ask("classify"), " says what the equations determine")
                )
            used += [y for y in sorted(sympy.cancel(rates[z]).free_symbols - known, key=str) if y not in used]
        return self._assembled(used, [sympy.cancel(rates[z]) for z in used], [g for g in constraints if g != 0], frozenset(speeds))

    def _assembled(
        self, used: Sequence[Symbol], rates: Sequence[Expr], constraints: Sequence[Expr], speeds: frozenset[Symbol]
    ) -> RationalField:
        inside = set(used) | set(self.equations.system.parameters)
        relations = [g for g in (*constraints, *self._identities()) if g.free_symbols <= inside]
        left = sorted(set().union(*(e.free_symbols for e in (*rates, *relations))) - set(used), key=str)
        domain = sympy.QQ.frac_field(*left) if left else sympy.QQ
        plain = {z: Symbol(f"v{k}") for k, z in enumerate(used)}
        ring = PolyRing(list(plain.values()), domain, grevlex)
        tops, bottoms = [], []
        for e in (*rates, *relations):
            numerator, denominator = sympy.fraction(sympy.together(e.xreplace(plain)))
            try:
                tops.append(ring.from_expr(sympy.expand(numerator)))
                bottoms.append(ring.from_expr(sympy.expand(denominator)))
            except (CoercionFailed, ValueError):
                raise self._not_rational(e) from None
        common = ring.one
        for b in bottoms[: len(rates)]:
            common = common.lcm(b)
        numerators = tuple(a * common.exquo(b) for a, b in zip(tops[: len(rates)], bottoms[: len(rates)], strict=True))
        back = {symbol: e for e, symbol in self.angles.items()}
        return RationalField(
            ring,
            tuple(used),
            back,
            speeds & set(used),
            numerators,
            common,
            tuple(tops[len(rates) :]),
            self.where,
            self.equations.system.label,
        )

    def _identities(self) -> list[Expr]:
        """The identities of sines and cosines, and of rows and columns of rotations."""
        found = [self.angles[cos(q)] ** 2 + self.angles[sin(q)] ** 2 - 1 for q in {e.args[0] for e in self.angles}]
        for group in self.equations.system.groups.values():
            if not group.places or not group.group.orthogonal:
                continue
            n = group.group.orthogonal
            turned = group.matrix[:n, :n]
            for product in (turned * turned.T, turned.T * turned):
                found += [product[i, j] - int(i == j) for i in range(n) for j in range(i, n)]
        return [e for e in map(sympy.expand, found) if e.atoms(Entry, Symbol)]
