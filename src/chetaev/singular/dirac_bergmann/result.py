"""The result of Dirac and Bergmann's analysis: constraints, classes, brackets, and how they are printed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

from sympy import Expr, MatrixBase, Symbol

from chetaev.core.errors import UsageError
from chetaev.core.notation import Vocabulary, from_sympy, parse_expression, show
from chetaev.core.support.budget import allowance
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.core.symbols import Coordinate, Jet, Parameter, jets_in
from chetaev.singular.algorithm.branches import Branch, refine
from chetaev.singular.algorithm.space import Space
from chetaev.singular.dirac_bergmann.classes import Classes, poisson_bracket
from chetaev.singular.dirac_bergmann.legendre_map import Source, tidied

_SHORTENING_SECONDS = 5.0
"""Budget, in seconds of counted operations, for shortening a function on the final manifold; beyond
it the function is returned as it is."""
_GENERATIONS = ("primary", "secondary", "tertiary", "quaternary")
"""Names of the first generations of constraints."""


@public
@dataclass(frozen=True)
class Dirac:
    """Constraints in phase space, their classes, the total Hamiltonian and the motion.

    `generations` are the primary, secondary, tertiary, ... constraints as they arise, each reduced by those before it. `hamiltonian` is the
    canonical one, `total` adds the primary constraints with the multipliers u1, u2, ...; `multipliers` gives their values in terms of the
    free ones. `rates` maps positions and momenta to their rates on the final manifold. If `consistent` is False there is no motion, because
    the expressions `failing` cannot vanish.
    """

    source: Source = field(repr=False)
    """The Lagrangian with its coordinates and momenta."""
    hamiltonian: Expr
    generations: tuple[tuple[Expr, ...], ...]
    consistent: bool
    failing: tuple[Expr, ...]
    total: Expr
    multipliers: Mapping[Symbol, Expr]
    free: tuple[Symbol, ...]
    """The multipliers that are not determined: the free functions of the motion."""
    velocities: Mapping[Symbol, Jet]
    """The velocities that equal the multipliers, where the primary constraints are solved for momenta."""
    classes: Classes = field(repr=False)
    """The constraints of first and second class."""
    primary_first_class: tuple[Expr, ...]
    """The combinations of primary constraints that the free multipliers multiply."""
    gauge_directions: int | None
    """The number of independent directions in which the free functions move a state; None without a real point."""
    rates: Mapping[Symbol, Expr] = field(repr=False)
    irregular: tuple[Expr, ...]
    """Constraints that vanish together with their differential; expressions with the same zeros replaced them."""
    excluded: tuple[Expr, ...]
    """Expressions at whose zeros the formulas do not hold; these sets are not analysed."""
    assumptions: tuple[Expr, ...]
    """Expressions in parameters that must not vanish."""
    point: Mapping[Symbol, float] | None = field(repr=False, compare=False)
    """A real point of the final manifold with values of the parameters, if one was found."""

    @property
    def coordinates(self) -> tuple[Jet, ...]:
        """The coordinates of the configuration space."""
        return self.source.coordinates

    @property
    def momenta(self) -> tuple[Coordinate, ...]:
        """The momenta of the coordinates, in the same order."""
        return self.source.momenta

    @cached_property
    def pairs(self) -> tuple[Any, ...]:
        """Coordinates with their momenta; on groups all pairs of variables with a nonzero bracket, and the bracket."""
        table = self.source.written
        return tuple(tuple(table.get(z, z.xreplace(table)) for z in pair) for pair in self.source.pairs)

    @property
    def primary(self) -> tuple[Expr, ...]:
        """The primary constraints."""
        return self.generations[0] if self.generations else ()

    @property
    def secondary(self) -> tuple[Expr, ...]:
        """All constraints that are not primary."""
        return tuple(e for step in self.generations[1:] for e in step)

    @property
    def constraints(self) -> tuple[Expr, ...]:
        """All constraints, which are independent of each other."""
        return tuple(e for step in self.generations for e in step)

    @property
    def first_class(self) -> tuple[Expr, ...]:
        """The constraints whose brackets with all constraints vanish on the final manifold."""
        return self.classes.first

    @property
    def second_class(self) -> tuple[Expr, ...]:
        """The constraints with a regular matrix of brackets."""
        return self.classes.second

    @property
    def free_functions(self) -> int:
        """The number of free functions of the motion."""
        return len(self.free)

    @property
    def dimension(self) -> int:
        """The dimension of the final manifold in phase space, without time."""
        return len(self.momenta) + len(self.source.placed) - len(self.constraints)

    @property
    def physical_dimension(self) -> int | None:
        """The dimension of the final manifold without the directions of the free functions; None if their number is unknown."""
        return None if self.gauge_directions is None else self.dimension - self.gauge_directions

    @property
    def conjecture(self) -> bool | None:
        """Whether Dirac's conjecture holds: the free functions move a state along every constraint of first class."""
        return None if self.gauge_directions is None else self.gauge_directions == len(self.first_class)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The names that an expression in phase space may contain."""
        jets: dict[str, Any] = {z.base: z for z in (*self.coordinates, *self.momenta)}
        known = self.source.system.vocabulary
        return Vocabulary(
            jets=jets,
            parameters={p.name: p for p in self.source.parameters},
            entries=known.entries,
            forbidden=known.forbidden,
            frame=known.frame,
        )

    def poisson(self, f: Any, g: Any) -> Expr:
        """The Poisson bracket of two functions in phase space, given as strings or expressions.

        Args:
            f: A function of positions and momenta.
            g: Another function.

        Raises:
            UsageError: If a function contains velocities.
            NotationError: If a text is not an expression in positions and momenta.
        """
        return tidied(poisson_bracket(self.read(f), self.read(g), self.pairs))

    def bracket(self, f: Any, g: Any, *, on_manifold: bool = True) -> Expr:
        """The Dirac bracket of two functions, reduced on the final manifold unless `on_manifold` is False.

        Args:
            f: A function of positions and momenta.
            g: Another function.
            on_manifold: Whether to reduce the bracket on the final manifold.

        Raises:
            UsageError: If a function contains velocities.
            NotationError: If a text is not an expression in positions and momenta.
        """
        value = self.classes.bracket(self.read(f), self.read(g), self.pairs)
        return self.reduce(value) if on_manifold else tidied(value)

    def reduce(self, e: Any) -> Expr:
        """A function on the final manifold, shortened by the constraints within a budget of `_SHORTENING_SECONDS`.

        Args:
            e: A function of positions and momenta.

        Raises:
            UsageError: If `e` contains velocities.
            NotationError: If a text is not an expression in positions and momenta.
        """
        e = self.read(e)
        found = [e]
        with allowance(_SHORTENING_SECONDS):
            phase = [*self.momenta, *self.source.positions]
            e, *constraints = (f.xreplace(self.source.stored) for f in (e, *self.constraints))
            space = Space(phase, [e, *constraints], self.source.parameters)
            branches, _ = refine(space, Branch(nonzero=tuple(space.nonzero)), [*space.relations, *[space.read(c)[0] for c in constraints]])
            if len(branches) == 1:
                n, d = (branches[0].reduce(space, part) for part in space.read(e))
                if d:
                    n, d = space.cancel(n, d) if n else (n, space.one)
                    found.append((space.expression(n) / space.expression(d)).xreplace(self.source.written))
        return tidied(found[-1])

    def read(self, given: Any) -> Expr:
        """Read a function in phase space from a string or an expression.

        Args:
            given: A function of positions and momenta, as text or as an expression.

        Raises:
            UsageError: If the function contains velocities.
            NotationError: If a text is not an expression in positions and momenta.
        """
        e = parse_expression(given, self.vocabulary) if isinstance(given, str) else from_sympy(given, self._names(given), "dirac")
        high = [z for z in jets_in(e) if z.order]
        if high:
            raise UsageError(
                f"{high[0]} is not a function of positions and momenta.",
                where=f"dirac {self.source.label}",
                hint=f"the momenta are {' '.join(p.name for p in self.momenta)}",
            )
        return e

    def _names(self, given: Any) -> Vocabulary:
        """The vocabulary, with the multipliers that occur in an expression as additional names."""
        extra = {z.name: z for z in getattr(given, "free_symbols", ()) if z in self.multipliers or isinstance(z, Parameter)}
        return replace(self.vocabulary, parameters={**self.vocabulary.parameters, **extra})

    def __str__(self) -> str:
        lines = [f"{self.source.system.name or 'system'} · Dirac's analysis", f"  {'H':<13} {show(self.hamiltonian)}"]
        for k, step in enumerate(self.generations):
            title = _GENERATIONS[k] if k < len(_GENERATIONS) else f"generation {k + 1}"
            lines += [f"  {title if n == 0 else '':<13} {show(e)} = 0" for n, e in enumerate(step)]
        if not self.consistent:
            return "\n".join([*lines, *[f"  no motion     {show(e)} cannot vanish" for e in self.failing]])
        lines.append(f"  {'first class':<13} {', '.join(show(tidied(e)) for e in self.first_class) or 'none'}")
        lines.append(f"  {'second class':<13} {', '.join(show(e) for e in self.second_class) or 'none'}")
        lines.append(f"  {'H_T':<13} {show(self.total)}")
        for u, value in self.multipliers.items():
            what = "is free" if u in self.free else f"= {show(value)}"
            lines.append(f"  {'multiplier':<13} {u.name} {what}" + self._meaning(u))
        lines.append(f"  {'states':<13} {self._counts()}")
        lines += [f"  {'irregular':<13} {show(e)}: its differential vanishes with it" for e in self.irregular]
        if self.conjecture is False:
            lines.append(f"  {'conjecture':<13} Dirac's fails: not every constraint of first class moves a state")
        lines += [f"  {'excluded':<13} {show(e)} = 0 is not analysed" for e in self.excluded]
        if self.assumptions:
            lines.append(f"  {'generic':<13} {', '.join(f'{show(a)} != 0' for a in self.assumptions)}")
        return "\n".join(lines)

    def _meaning(self, u: Symbol) -> str:
        if u in self.velocities:
            return f"  ({self.velocities[u].name})"
        return "  (positive, or the velocities belong to the opposite momenta)" if len(self.multipliers) == 1 else ""

    def _counts(self) -> str:
        many = f"{self.free_functions} free function{'s' * (self.free_functions != 1)}"
        physical = "" if self.gauge_directions in (0, None) else f", {self.physical_dimension} without the directions of the free functions"
        return f"dimension {self.dimension}{physical}; {many}"


def in_entries(found: Dirac) -> Dirac:
    """The analysis with the entries of matrices in place of the numbers that store them."""
    table = found.source.written
    if not table:
        return found

    def written(value: Any) -> Any:
        if isinstance(value, Expr | MatrixBase):
            return value.xreplace(table)
        if isinstance(value, tuple):
            return tuple(map(written, value))
        if isinstance(value, Classes):
            return Classes(*[written(getattr(value, part.name)) for part in fields(Classes)])
        return Frozen({written(z): written(e) for z, e in value.items()}) if isinstance(value, Mapping) else value

    parts = [part.name for part in fields(Dirac) if part.name not in ("source", "velocities")]
    return replace(found, **{name: written(getattr(found, name)) for name in parts})
