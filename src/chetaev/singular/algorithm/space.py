r"""The ring of the constraints: polynomials in jets, generators and time over rational functions of the parameters.

Parameters are generic: every divisor that depends on them is recorded. Partial derivatives follow the chain rule through the generators, so
that $\partial \cos\theta / \partial\theta = -\sin\theta$ although $c$ and $s$ are variables of the ring.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise, product
from typing import Any

import sympy
from sympy import Expr, S, Symbol
from sympy.polys.domains import QQ

from chetaev.core.exact.constants import is_zero
from chetaev.core.functions import in_own_functions
from chetaev.core.notation.bounds import NOT_FINITE
from chetaev.core.support.budget import spend
from chetaev.core.symbols import TIME, Jet
from chetaev.singular.algorithm.ring import Fraction, Poly, Ring, support
from chetaev.singular.algorithm.translation import Translation

MOST_ANGLES = 3
"""Largest number of angles in a polynomial for which sines and cosines are exchanged; there are 2^n forms."""
_LONG = 200
"""Number of terms of a polynomial above which only its present form is factored. For longer ones, four forms cost more than they save."""


class Space(Ring):
    """Jets of the phase space that occur, generators, and time if it occurs, as variables of one polynomial ring."""

    def __init__(
        self,
        phase: Sequence[Jet],
        expressions: Iterable[Expr],
        parameters: Sequence[Symbol],
        surds: Sequence[Expr] = (),
        chains: bool = False,
    ) -> None:
        given = [*expressions]
        self.phase = tuple(phase)
        self.translation = Translation(given, surds)
        rationals = [self.translation.rational(e) for e in given]
        self._partials = self._close()
        jets, timed = self._occurring(rationals)
        generators = self.translation.generators
        ordered = sorted(jets, key=lambda z: (-z.order, self.phase.index(z)))
        symbols: list[Symbol] = [*ordered, *[g.symbol for g in generators], *([TIME] if timed else [])]
        # chains order jets themselves; Gröbner bases ordered by total degree are found much faster than those ordered by blocks
        blocks = _blocks([0 if chains else z.order if isinstance(z, Jet) else -1 for z in symbols])
        super().__init__(symbols, (*parameters, *self.translation.constants), blocks)
        self.index = {z: i for i, z in enumerate(self.symbols)}
        self._flat_variables = dict(zip(self.flat_ring.symbols, self.flat_ring.gens, strict=True))
        self.generators = {self.index[g.symbol]: g for g in generators}
        self.derivatives = {(self.index[s], z): self.fraction(e) for (s, z), e in self._partials.items()}
        self.relations = [self.polynomial(g.relation) for g in generators if g.relation is not None]
        self.nonzero = [self.polynomial(e) for e in self.translation.nonzero]
        self.nonzero += dict.fromkeys(d for _, d in self.derivatives.values() if not d.is_ground)
        self.positive = {i for i, g in self.generators.items() if g.positive}
        self.surds = {square: self.index[root] for square, root in self.translation.surds.items()}
        self._numbers = {i for i, g in self.generators.items() if not g.definition.free_symbols}
        self.multipliers: frozenset[int] = frozenset()
        """The jets of coordinates without accelerations, if blocks determine multipliers."""
        self.metric: tuple[list[int], list[list[Any]]] | None = None
        """The velocities and the inverse of their constant positive definite mass matrix."""
        self.unsigned: tuple[Symbol, ...] = ()
        """The parameters whose signs decide whether a constant mass matrix is definite, if that is not known."""
        self.chains = chains
        """Whether equations that are linear in their leading jets determine these as blocks (see `chains`)."""
        self.levels: tuple[int, ...] = tuple(-z.order if isinstance(z, Jet) else 1 for z in self.symbols)
        """The level of every variable: blocks are eliminated from the lowest level to the highest."""
        self._back: dict[Symbol, Expr] = {g.symbol: g.definition for g in generators} | self.translation.constants
        self._parts: dict[Poly, dict[Symbol, Fraction]] = {}

    def _close(self) -> dict[tuple[Symbol, Symbol], Expr]:
        """The partial derivatives of all generators; these may bring further generators."""
        found: dict[tuple[Symbol, Symbol], Expr] = {}
        done = 0
        while done < len(self.translation.generators):
            generator = self.translation.generators[done]
            for z in sorted(generator.definition.free_symbols, key=lambda z: z.name):
                if isinstance(z, Jet) or z == TIME:
                    slope = self.translation.partial(generator, z)
                    if slope != 0:
                        found[generator.symbol, z] = slope
            done += 1
        return found

    def _occurring(self, rationals: Sequence[Expr]) -> tuple[set[Jet], bool]:
        """The jets that occur outside functions or as rates of occurring jets, and whether time occurs."""
        everything = [*rationals, *self._partials.values(), *self.translation.nonzero]
        everything += [g.relation for g in self.translation.generators if g.relation is not None]
        present = set().union(*[e.free_symbols for e in everything])
        moving = {z for z in present if isinstance(z, Jet)} | {z for _, z in self._partials if isinstance(z, Jet)}
        inside = {z for z in moving if z not in present}
        known = set(self.phase)
        queue = list(moving)
        while queue:  # the rate of a jet is the next one
            z = queue.pop().d()
            if z in known and z not in moving:
                moving.add(z)
                queue.append(z)
        return {z for z in moving - inside if z in known}, TIME in present

    def fraction(self, e: Expr) -> Fraction:
        """Numerator and denominator of a rational expression in symbols."""
        numerator, denominator = map(self.unflat, self._fraction(e))
        if not denominator.is_ground:
            numerator, denominator = self.cancel(numerator, denominator)
        if denominator.is_ground and denominator != self.one:
            self.record(denominator.LC)
            numerator, denominator = numerator.mul_ground(1 / denominator.LC), self.one
        return numerator, denominator

    def polynomial(self, e: Expr) -> Poly:
        """The numerator of a rational expression in symbols."""
        return self.fraction(e)[0]

    def read(self, e: Expr) -> Fraction:
        """Numerator and denominator of an expression in jets and functions."""
        return self.fraction(self.translation.rational(e))

    def _fraction(self, e: Expr) -> Fraction:
        """Numerator and denominator with parameters as variables; as rational functions these would have to be reduced at every step."""
        one = self.flat_ring.one
        if e.is_Rational:
            return self.flat_ring.ground_new(QQ(e.p, e.q)), one
        if e.is_Symbol:
            return self._flat_variables[e], one
        if e.is_Add:
            return self.sum([self._fraction(a) for a in e.args])
        if e.is_Mul:
            numerator, denominator = one, one
            for a in e.args:
                n, d = self._fraction(a)
                spend(len(numerator) * len(n) + len(denominator) * len(d))
                numerator, denominator = numerator * n, denominator * d
            return numerator, denominator
        n, d = self._fraction(e.base)
        power = int(e.exp)
        if power >= 0:
            return n**power, d**power
        divided = self.unflat(n)
        if divided.is_ground:
            self.record(divided.LC)
        return d**-power, n**-power

    def factors(self, f: Poly) -> list[Poly]:
        r"""The monic irreducible factors of positive degree; with chains, those of the form of `f` with the shortest factors.

        Modulo $c^2 + s^2 = 1$ there are several forms: $1 - s^2 + k c$ is irreducible, and $c^2 + k c$ is a product.
        """
        pairs = self.circles(f) if self.chains else []
        if not pairs or len(pairs) > MOST_ANGLES or len(f) > _LONG:
            return super().factors(f)
        choices = product((0, 1), repeat=len(pairs))
        forms = [self.exchanged(f, [pair[:: 1 - 2 * w] for w, pair in zip(choice, pairs, strict=True)]) for choice in choices]
        if not forms[0]:  # a relation itself
            return super().factors(f)
        found = [super(Space, self).factors(form) for form in dict.fromkeys(forms)]
        return min(found, key=lambda factors: (sum(map(len, factors)), -len(factors)))

    def circles(self, f: Poly) -> list[tuple[int, int]]:
        """The pairs of cosine and sine of one angle of which `f` contains at least one."""
        inside = support(f)
        cosines = [i for i, g in self.generators.items() if isinstance(g.definition, sympy.cos)]
        return [(i, i + 1) for i in cosines if inside & {i, i + 1}]

    def exchanged(self, f: Poly, pairs: Sequence[Sequence[int]]) -> Poly:
        """The polynomial with even powers of the first variable of each pair replaced by $x_i^2 = 1 - x_j^2$."""
        for i, j in pairs:
            square, total = 1 - self.variables[j] ** 2, self.zero
            for m, c in f.items():
                spend(1 + m[i])
                total += self.ring.from_dict({(*m[:i], m[i] % 2, *m[i + 1 :]): c}) * square ** (m[i] // 2)
            f = total
        return f

    def expression(self, f: Poly) -> Expr:
        """A polynomial in the user's notation."""
        return self.in_jets(f.as_expr(*self.symbols)) if f else S.Zero

    def quotient(self, f: Fraction) -> Expr:
        """A fraction in the user's notation."""
        n, d = f
        return self.expression(n) / self.expression(d) if n else S.Zero

    def in_jets(self, e: Expr) -> Expr:
        """An expression in symbols with every generator written out."""
        return e.xreplace(self._back) if self._back else e

    def number(self, f: Poly) -> bool | None:
        """Whether a polynomial in algebraic numbers alone is zero; None if it contains other variables, or if that is not known.

        The relations of nested roots have several solutions: for sqrt(5 + 2*sqrt(6)) these are sqrt(2) + sqrt(3) and its conjugates.
        """
        if not self._numbers or f.is_ground or not support(f) <= self._numbers:
            return None
        e = self.expression(f)
        return None if e.free_symbols else is_zero(e)

    def partials(self, f: Poly) -> dict[Symbol, Fraction]:
        """The partial derivatives with respect to jets and time that do not vanish, generators included."""
        if f not in self._parts:
            self._parts[f] = self._differentiate(f)
        return self._parts[f]

    def _differentiate(self, f: Poly) -> dict[Symbol, Fraction]:
        found: dict[Symbol, list[Fraction]] = {}
        for i, z in enumerate(self.symbols):
            slope = f.diff(self.variables[i])
            if not slope:
                continue
            if i not in self.generators:
                found.setdefault(z, []).append((slope, self.one))
                continue
            for (j, x), (n, d) in self.derivatives.items():
                if i == j:
                    found.setdefault(x, []).append((slope * n, d))
        sums = {z: self.sum(parts) for z, parts in found.items()}
        return {z: (n, d) for z, (n, d) in sums.items() if n}

    def implied(self, i: int, values: dict[int, Poly]) -> Poly | None:
        r"""A polynomial relation for generator `i` after the substitution of `values` for jets: $\exp x = 1$ on $x = 0$. None without one.

        The constant 1, which vanishes nowhere, if the generator then has no real value.
        """
        generator = self.generators[i]
        if generator.definition.is_Pow and generator.relation is not None:
            return None  # a root is determined by its relation
        known: dict[Expr, Expr] = {}
        for z in generator.definition.free_symbols:
            j = self.index.get(z)
            if j is not None and j in values and not any(k in self.generators for k in support(values[j])):
                known[z] = values[j].as_expr(*self.symbols)
        if not known:
            return None
        value = in_own_functions(generator.definition.xreplace(known))
        if value.has(*NOT_FINITE):
            return None  # the branch lies outside the domain of the function; other polynomials exclude it
        if value.is_extended_real is False:
            return self.one  # with a value such as log(-1) the branch has no real point
        count = len(self.translation.generators), len(self.translation.constants)
        changed = self.translation.rational(value)
        if (len(self.translation.generators), len(self.translation.constants)) != count:
            return None
        if not changed.free_symbols <= {*self.symbols, *self.parameters}:
            return None
        n, d = self.fraction(changed)
        f = d * self.variables[i] - n
        return f if f else None


def _blocks(levels: Sequence[int]) -> list[tuple[int, int]]:
    cuts = [0, *[i for i in range(1, len(levels)) if levels[i] != levels[i - 1]], len(levels)]
    return [(a, b) for a, b in pairwise(cuts) if b > a]


def free_names(taken: set[str], count: int) -> list[str]:
    """Names `u1`, `u2`, ... for free functions; more letters `u` if one of these is taken."""
    letter = "u"
    while any(f"{letter}{k + 1}" in taken for k in range(count)):
        letter += "u"
    return [f"{letter}{k + 1}" for k in range(count)]
