r"""A Morphism: two sets of equations and maps between their motions, in both directions.

A map is a table that gives every unknown of the other side as an expression in jets of this side. Total derivatives $D$ give the
derivatives of the unknowns, because a map of curves commutes with $d/dt$. So one table maps states, trajectories and expressions, and maps
compose by substitution.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from html import escape
from typing import TYPE_CHECKING, Any

from sympy import Expr

from chetaev.core.display.html import card, rows, set_row
from chetaev.core.errors import UsageError
from chetaev.core.fixes import Ask
from chetaev.core.notation import parse_expression, show
from chetaev.core.notation.reduction import reduced
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.core.symbols import Input, Jet, Parameter, jets_in
from chetaev.mechanics.equations import Equations, simplified

if TYPE_CHECKING:
    from chetaev.transforms.tools.carried_motions import Agreement

Table = Frozen[Jet, Expr]
"""Unknowns of one side (jets of order 0) as expressions in jets of the other."""


@public
@dataclass(frozen=True, repr=False)
class Morphism:
    """Equivalent equations, and the maps of their motions.

    `morphism.target` has the equations of the other side, `morphism.system` their system. `morphism.forward(start, parameters=...)` maps a
    start of the source to a start of the target, `morphism.forward(motion)` a motion; `backward` is the other direction. If the target has
    further parameters (constants of motion), `morphism.parameters(start, parameters=...)` gives the values of all its parameters.
    `check(motion)` simulates the target and compares. `then` composes maps, `inverse` exchanges source and target; `pulled_back("p_x")`
    writes an expression of the target on the source, `pushed_forward("x'")` an expression of the source on the target; `expressions["H"]`
    is an expression that the theorem names.

    >>> from chetaev import System, hamiltonian, simulate
    >>> legendre = hamiltonian(System("x", "m", lagrangian="m*x'^2/2 - x^2/2", name="spring"))
    >>> legendre.forward({"x": 1, "x'": 3}, parameters={"m": 2})
    State(fixed={'x': 1.0, 'p_x': 6.0}, guess={})
    >>> motion = simulate(legendre.source, {"x": 1, "x'": 3}, (0, 1), parameters={"m": 2}, tolerance=1e-12)
    >>> legendre.check(motion).largest < 1e-10
    True
    """

    source: Equations
    """The given equations."""
    target: Equations
    """The equivalent equations."""
    to_target: Table
    """Unknowns of the target in jets of the source."""
    to_source: Table
    """Unknowns of the source in jets of the target."""
    theorem: str
    """The theorem by which they are equivalent, with its reference."""
    chosen: Frozen[Jet, Expr] = field(default_factory=Frozen)
    """Values of the target's state that motions of the source do not determine, such as scales; they are set at the start."""
    also_chosen: Frozen[Jet, Expr] = field(default_factory=Frozen)
    """Values of the source's state that motions of the target do not determine."""
    notes: tuple[str, ...] = ()
    """Remarks for the user: the domain of validity, and choices."""
    constants: Frozen[Parameter, Expr] = field(default_factory=Frozen)
    """Parameters of the target that are constants of motion of the source."""
    also_constants: Frozen[Parameter, Expr] = field(default_factory=Frozen)
    """Parameters of the source that are constants of motion of the target."""
    expressions: Frozen[str, Expr] = field(default_factory=Frozen)
    """Expressions on the target that the theorem names: the Hamiltonian "H", the Routhian "R", ..."""
    also_expressions: Frozen[str, Expr] = field(default_factory=Frozen)
    """Expressions on the source that the theorem names."""

    @property
    def system(self) -> Any:
        """The target as a system."""
        return self.target.system

    @property
    def inverse(self) -> Morphism:
        """This equivalence with source and target exchanged."""
        return Morphism(
            self.target,
            self.source,
            self.to_source,
            self.to_target,
            self.theorem,
            self.also_chosen,
            self.chosen,
            self.notes,
            self.also_constants,
            self.constants,
            self.also_expressions,
            self.expressions,
        )

    def then(self, other: Morphism) -> Morphism:
        """This map followed by `other`, whose source is the target of this map.

        Args:
            other: A map whose source is the target of this map.

        Raises:
            UsageError: If `other` has another source.
        """
        if other.source != self.target:
            raise UsageError(
                f"the second map starts from {other.source.system.label}, the first ends at {self.target.system.label}.",
                where="then",
                hint=("compose maps whose ends meet: ", Ask("lift", "system"), " then ", Ask("linearize_constraints", "lifted.target")),
            )
        return Morphism(
            self.source,
            other.target,
            _through(other.to_target, self.to_target, self.source),
            _through(self.to_source, other.to_source, other.target),
            f"{self.theorem}; then {other.theorem}",
            _chosen_through(other.chosen, other.to_target, self.to_target, self.chosen, self.source),
            _chosen_through(self.also_chosen, self.to_source, other.to_source, other.also_chosen, other.target),
            (*self.notes, *other.notes),
            Frozen({**self.constants, **_through(other.constants, self.to_target, self.source)}),
            Frozen({**other.also_constants, **_through(self.also_constants, other.to_source, other.target)}),
            Frozen({**_through(self.expressions, other.to_source, other.target), **other.expressions}),
            Frozen({**self.also_expressions, **_through(other.also_expressions, self.to_target, self.source)}),
        )

    def simplify(self, seconds: float = 10.0) -> Morphism:
        """This equivalence with the target's rows, both maps and the named expressions simplified by SymPy.

        Args:
            seconds: The budget of the rows in seconds, and again that of all other expressions; expressions beyond it are not simplified.

        Raises:
            UsageError: If `seconds` is not a positive number.
        """
        target = self.target.simplify(seconds)
        names = ("to_target", "to_source", "constants", "also_constants", "expressions", "also_expressions")
        tables: dict[str, Frozen[Any, Expr]] = {name: getattr(self, name) for name in names}
        found = iter(simplified([(e,) for table in tables.values() for e in table.values()], seconds))
        shorter: dict[str, Any] = {name: Frozen({key: next(found)[0] for key in table}) for name, table in tables.items()}
        return replace(self, target=target, **shorter)

    def pulled_back(self, expression: Expr | str) -> Expr:
        """Write an expression of the target in jets of the source.

        Args:
            expression: An expression in jets of the target, or its text.

        Raises:
            UsageError: If an unknown in `expression` has no image.
            NotationError: If a text is not an expression in the names of the target.
        """
        return _read_across(expression, self.target, self.to_target, self.source)

    def pushed_forward(self, expression: Expr | str) -> Expr:
        """Write an expression of the source in jets of the target.

        Args:
            expression: An expression in jets of the source, or its text.

        Raises:
            UsageError: If an unknown in `expression` has no image.
            NotationError: If a text is not an expression in the names of the source.
        """
        return _read_across(expression, self.source, self.to_source, self.target)

    def forward(self, given: Any, **values: Any) -> Any:
        """Map a start of the source, with `parameters=` and `t=`, or a motion of the source to the target.

        Args:
            given: A start or a motion of the source.
            values: For a start: `parameters`, `t` and `inputs`.

        Raises:
            UsageError: If `given` is a motion of other equations.
        """
        from chetaev.transforms.tools.carried_motions import carried

        return carried(self, given, **values)

    def backward(self, given: Any, **values: Any) -> Any:
        """Map a start or a motion of the target to the source.

        Args:
            given: A start or a motion of the target.
            values: For a start: `parameters`, `t` and `inputs`.

        Raises:
            UsageError: If `given` is a motion of other equations.
        """
        return self.inverse.forward(given, **values)

    def reconstruct(self, motion: Any, given: Any = None) -> Any:
        """The motion of the source whose image is `motion`; `given` has initial values that the target does not determine.

        For a system reduced by a symmetry this is the value of the group coordinate: `reduction.reconstruct(motion, {"A": numpy.eye(3)})`.

        Args:
            motion: A motion of the target.
            given: Initial values that the target does not determine.

        Raises:
            UsageError: If `motion` is not a motion of the target.
            StateError: If the motion of the source ends early, or if its image differs from `motion` by more than the tolerance allows.
        """
        from chetaev.transforms.tools.carried_motions import reconstructed

        return reconstructed(self, motion, given)

    def parameters(self, start: Any, **values: Any) -> dict[str, float]:
        """The target's parameters: those of the source, and the constants of motion at a start.

        Args:
            start: A start of the source.
            values: `parameters`, `t` and `inputs`.
        """
        from chetaev.transforms.tools.carried_motions import target_parameters

        return target_parameters(self, start, **values)

    def check(self, motion: Any, **settings: Any) -> Agreement:
        """Simulate the target from the image of the motion's start; return the largest differences in both directions.

        Args:
            motion: A motion of the source.
            settings: `tolerance` of the simulation, and `points`, the number of times that are compared.

        Raises:
            UsageError: If `motion` is not a motion of the source.
            StateError: If the motion of the target ends early.
        """
        from chetaev.transforms.tools.carried_motions import agreement

        return agreement(self, motion, **settings)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        there = [("", set_row(show(reduced(e)), z.name, reduced(e))) for z, e in self.to_target.items() if e != z]
        there += [("by choice, at the start", set_row(show(reduced(e)), z.name, reduced(e))) for z, e in self.chosen.items()]
        there += [("constant of motion", set_row(show(reduced(e)), p.name, reduced(e))) for p, e in self.constants.items()]
        there += [("", set_row(show(reduced(e)), name, reduced(e))) for name, e in self.expressions.items()]
        back = [("", set_row(show(reduced(e)), z.name, reduced(e))) for z, e in self.to_source.items() if e != z]
        notes = [f"<p>{escape(note)}</p>" for note in self.notes]
        title = f"{_titled(self.source)}  →  {_titled(self.target)}"
        return card(title, f"<p>{escape(self.theorem)}</p>", rows(there), "<p>and back</p>" if back else "", rows(back), *notes)

    def __str__(self) -> str:
        lines = [f"{_titled(self.source)}  ->  {_titled(self.target)}", f"  {self.theorem}"]
        lines += [f"  {z.name} = {show(reduced(e))}" for z, e in self.to_target.items() if e != z]
        lines += [f"  {z.name} = {show(reduced(e))} at the start, by choice" for z, e in self.chosen.items()]
        lines += [f"  {p.name} = {show(reduced(e))}, a constant of motion" for p, e in self.constants.items()]
        lines += [f"  {name} = {show(reduced(e))}" for name, e in self.expressions.items()]
        lines += ["  and back"]
        lines += [f"  {z.name} = {show(reduced(e))}" for z, e in self.to_source.items() if e != z]
        lines += [f"  {note}" for note in self.notes]
        return "\n".join(line for line in lines)


def identity_on(*equations: Equations) -> dict[Jet, Expr]:
    """The coordinates that both equations have, each mapped to itself."""
    first, second = equations
    return {z: z for z in first.system.coordinates if z in second.system.coordinates}


def image_of(expression: Expr, table: Mapping[Jet, Expr], onto: Equations) -> Expr:
    """An expression with every jet replaced by the derivative of its unknown's image."""
    replaced: dict[Jet, Expr] = {}
    for z in jets_in(expression):
        if isinstance(z, Input):
            continue
        root = type(z)(z.base, 0)
        if root not in table:
            raise UsageError(
                f"{z.base} has no image under this map.",
                where=f"map to {onto.system.label}",
                why="It is a scale, or a constant of motion, that the other side does not have.",
            )
        replaced[z] = onto.total(table[root], z.order)
    return expression.xreplace(replaced)


def _through(outer: Mapping[Any, Expr], inner: Table, onto: Equations) -> Frozen[Any, Expr]:
    """The composition of two tables: `outer` with `inner` substituted, without entries that contain unknowns missing in `inner`."""
    known = {z.base for z in inner}
    reached = {z: e for z, e in outer.items() if {w.base for w in jets_in(e) if not isinstance(w, Input)} <= known}
    return Frozen({z: image_of(e, inner, onto) for z, e in reached.items()})


def _chosen_through(chosen: Mapping[Jet, Expr], outer: Table, inner: Table, inner_chosen: Mapping[Jet, Expr], onto: Equations) -> Table:
    """The choices at the start of a composed map: those of the outer map, and unknowns that depend on choices of the inner map."""
    free = {z: e for z, e in inner_chosen.items() if z.order == 0 and z not in inner}
    table = Frozen({**inner, **free})
    depending = {z: e for z, e in outer.items() if (jets_in(e) & set(free)) and not _moves(e, free)}
    return Frozen({**_through(depending, table, onto), **_through(chosen, table, onto)})


def _moves(expression: Expr, chosen: Mapping[Jet, Expr]) -> bool:
    """Whether `expression` contains a derivative of a chosen unknown, which a choice at the start does not determine."""
    bases = {z.base for z in chosen}
    return any(z.order and z.base in bases for z in jets_in(expression))


def _read_across(expression: Expr | str, own: Equations, table: Table, onto: Equations) -> Expr:
    if isinstance(expression, str):
        expression = parse_expression(expression, own.vocabulary, f"expression on {own.system.label}")
    return image_of(expression, table, onto)


def _titled(equations: Equations) -> str:
    return f"{equations.system.name or 'system'} · {equations.principle}"
