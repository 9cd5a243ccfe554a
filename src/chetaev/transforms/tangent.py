r"""The tangent lift: a system together with the equations of its variations is again a system of the same kind.

With $D$ the linearisation along a direction, $D q = \dot q_\epsilon$ in coordinates named after it (`dx`) and $D a$ a new parameter (`da`),

$$ L^C = D L, \qquad R_K = 0, \quad D R_K = 0, \qquad R_V \cdot \delta q = 0, \quad R_V \cdot \delta(Dq) + (D R_V) \cdot \delta q = 0. $$

The rows of $\delta(Dq)$ are the original equations, those of $\delta q$ their linearisation; the multipliers of the last rows are those of
the motion, and the multipliers of the rows $R_V \cdot \delta q$ are their derivatives. Vakonomic rows enter through $L + \lambda R_K$: the
multiplier of $D R_K$ is that of the motion. In a frame with structure functions $C$ a variation has components $W$, with
$D\xi^c = W'^c + C^c_{ab}\,\xi^a W^b$ and $D\,\delta q^c = \delta W^c - C^c_{ab}\,W^a\,\delta q^b$.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sympy import Add, Expr, S, Symbol

from chetaev.core.calculus import SYMBOLIC, Calculus, partials, total_derivative
from chetaev.core.errors import UsageError, about
from chetaev.core.fixes import SetArgument
from chetaev.core.notation.lexer import spell
from chetaev.core.rows.constraints import Constraint, VariationalConstraint
from chetaev.core.state import State
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.core.symbols import Action, Coordinate, Input, Jet, Multiplier, Parameter
from chetaev.core.system import System, fresh_coordinates
from chetaev.mechanics.derivation import derive
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.origins import Stated
from chetaev.mechanics.principles import Hamilton, Mixed, Principle, Vakonomic, VirtualWork
from chetaev.numerics.evaluation.evaluate import evaluate
from chetaev.transforms.contact import contact_as_nonholonomic
from chetaev.transforms.tools.morphism import Morphism, identity_on
from chetaev.transforms.tools.options import Form, Option
from chetaev.transforms.tools.pullback import virtual_rows
from chetaev.transforms.tools.theorem import theorem


@public
@dataclass(frozen=True, repr=False)
class Tangent(Morphism):
    """A tangent lift: `forward(start, parameters=...)` completes a start and adds its variations."""

    variations: Frozen[Jet, Jet] = field(default_factory=Frozen)
    """For each unknown of the source, the coordinate of the target that is its variation."""
    along: tuple[str, ...] = ()
    """The parameters and initial values along which the motion varies."""
    linear: Any = field(default=None, repr=False, compare=False)
    """The linearisation along the variations."""

    def forward(self, given: Any, **values: Any) -> Any:
        """A start of the source as a start of the target, with the variations of all given and completed values.

        Args:
            given: A start or a motion of the source.
            values: For a start: `parameters`, `t` and `inputs`, as in `evaluate`.

        Raises:
            UsageError: If `given` is a motion of other equations.
            StateError: If the start has no state.
        """
        if not isinstance(given, Mapping | State):
            return super().forward(given, **values)
        now = evaluate(self.source, given, slopes=list(self.along) or None, **values)
        found: dict[str, float] = {}
        for z in sorted(now.state, key=lambda z: z.order):
            if z.order and self.source.lowered.is_reaction(z):
                continue
            if z.d(-z.order) in self.source.system.frame.turning:
                found[z.name] = now.jets[z]
                continue
            own, image = self._counterparts(z)
            found[image.name] = now.jets[z]
            if own in self.variations:
                found[_jet(self.variations[own], z.order).name] = self._slope(now, z)
        return State({**found, **self._turned(now)})

    def image(self, z: Jet) -> Jet:
        """The jet of the target that a jet of the source's state becomes.

        Args:
            z: A jet of the source's state.
        """
        return self._counterparts(z)[1]

    def _counterparts(self, z: Jet) -> tuple[Jet, Jet]:
        """The unknown of a jet, under which its variation is listed, and the jet of the target."""
        own = next((w for w, image in self.to_source.items() if image == z.d(-z.order)), z.d(-z.order))
        image = next((w for w, e in self.to_target.items() if e == own), own)
        return own, _jet(image, z.order)

    def _turned(self, now: Any) -> dict[str, float]:
        """The variations of group elements along the frame, from the derivatives of their stored numbers and velocities."""
        found: dict[str, float] = {}
        if self.linear is None:
            return found
        known: dict[Symbol, float] = {**now.binding.parameters, **dict(now.jets.items())}
        known |= dict.fromkeys(self.linear.rates.values(), 1.0)
        for group in self.source.system.groups.values():
            matrix = [[float(field_.get(z, S.Zero).xreplace(known)) for field_ in group.fields] for z in group.places]
            slopes = [self._slope(now, z) for z in group.places]
            turned = np.linalg.lstsq(np.array(matrix), np.array(slopes), rcond=None)[0] if matrix else np.zeros(len(group.components))
            for q, v in zip(group.components, turned, strict=True):
                known[self.variations[q]] = float(v)
                if matrix:
                    found[self.variations[q].name] = float(v)
        turning = self.source.system.frame.turning
        for z in sorted((z for z in now.state if z.d(-z.order) in turning), key=lambda z: z.order):
            own = self.variations[z.d(-z.order)].d(z.order)
            rest = (self.linear.seed(z) - own).xreplace(known)
            known[own] = self._slope(now, z) - float(rest)
            found[own.name] = known[own]
        return found

    def _slope(self, now: Any, z: Jet) -> float:
        return sum(now.slope(z.name, by) for by in self.along)


def _jet(z: Jet, order: int) -> Jet:
    return z.d(order)


@public
@theorem(along=Option("along", Form.TEXTS, "NAME", "A parameter or an initial value", "--along a"))
def tangent(given: Any, along: Any = None) -> Morphism:
    r"""Form the complete lift: the system with the equations of its variations along parameters and initial values.

    Args:
        given: A system, a model or equations under any principle.
        along: Parameters such as `["a"]`: the target has their rates `da` as parameters, which the map sets to one. An initial value such
            as `"theta'"` changes the start only. None for variations of initial values.

    Returns:
        The map between the motions; `forward(start, parameters=...)` gives the start with its variations.

    Raises:
        UsageError: If a name in `along` is neither a parameter nor an initial value.

    >>> from chetaev import System
    >>> spring = System("x", "k", lagrangian="x'^2/2 - k*x^2/2", name="spring")
    >>> lifted = tangent(spring, along=["k"]).target
    >>> lifted.counts, [z.name for z in lifted.unknowns]
    ((2, 2), ['x', 'dx'])
    """
    source = given if isinstance(given, Equations) else derive(given)
    names = _names(along, source)
    if source.lowered.action is not None and not source.lowered.costates and _plain(source):
        first = contact_as_nonholonomic(source)
        rest = tangent(first.target, along=[name for name in names if name in {p.name for p in source.system.parameters}])
        return _composed(first, rest, names)
    if source.lowered.action is not None or source.rewritten is not None:
        return _by_rows(source, names)
    return _lifted(source, names)


def _plain(source: Equations) -> bool:
    """Whether the theorem on contact systems applies: coordinates, and a Lagrangian of first order."""
    orders = [z.order for z in source.lagrangian.free_symbols if isinstance(z, Coordinate)]
    return not source.system.groups and max(orders, default=0) <= 1 and source.rewritten is None


def _names(along: Any, source: Equations) -> tuple[str, ...]:
    where = f"tangent {source.system.label}"
    given = () if along is None else (along,) if isinstance(along, str) else tuple(along)
    if not all(isinstance(name, str) for name in given):
        raise UsageError(f"along={along!r} is not a list of names.", where=where, hint=SetArgument("along", ["a"]))
    names = tuple(f"δ{spell(name[1:])}" if name.startswith("δ") else spell(name) for name in given)
    known = {p.name for p in source.system.parameters}
    unknowns = {z.base for z in source.unknowns} | {q.base for group in source.system.groups.values() for q in group.components}
    for name in names:
        if name not in known and name.lstrip("δ").rstrip("'") not in unknowns:
            raise UsageError(
                f"{name} is neither a parameter nor an initial value.",
                where=about(where, "along", name),
                hint=f"parameters: {' '.join(sorted(known))}",
            )
    return names


@dataclass(frozen=True)
class _Linear:
    """Linearisation along variations of the coordinates, parameters and other unknowns."""

    source: Equations
    varied: Mapping[Jet, Coordinate]
    """The variations of unknowns, by the unknown of order 0."""
    rates: Mapping[Symbol, Parameter]

    def __call__(self, e: Expr) -> Expr:
        """D e."""
        symbols = sorted(e.free_symbols, key=lambda z: z.name)
        seeds = [self.seed(z) for z in symbols]
        moving = [z for z, seed in zip(symbols, seeds, strict=True) if seed != 0]
        slopes = partials(e, moving)
        return Add(*[slope * seed for slope, seed in zip(slopes, [seed for seed in seeds if seed != 0], strict=True)])

    def seed(self, z: Symbol) -> Expr:
        """D of a symbol."""
        if z in self.rates:
            return self.rates[z]
        if isinstance(z, Input):
            given = self.source.system.inputs.get(Input(z.base))
            if given is None:
                return S.Zero
            u = total_derivative(given, z.order)
            return Add(*[u.diff(p) * rate for p, rate in self.rates.items()])
        frame = self.source.system.frame
        if isinstance(z, Jet) and z.d(-z.order) in frame.turning:
            return Calculus(SYMBOLIC, frame).total(self._turning(frame.turning[z.d(-z.order)]), z.order - 1)
        if isinstance(z, Jet) and z.d(-z.order) in self.varied:
            return self.varied[z.d(-z.order)].d(z.order)
        fields = [(components[z], self.component(a)) for a, components in enumerate(frame.fields) if z in components]
        return Add(*[c * w for c, w in fields])

    def component(self, a: int) -> Coordinate:
        """The component of the variation along a field of the frame."""
        return self.varied[self.source.system.frame.velocities[a].d(-1)]

    def _turning(self, c: int) -> Expr:
        """D of the velocity of a field."""
        frame = self.source.system.frame
        terms = [
            frame.bracket(a, b).get(c, S.Zero) * xi * self.component(b)
            for a, xi in enumerate(frame.velocities)
            for b in range(len(frame.velocities))
        ]
        return Add(self.component(c).d(), *terms)

    def moved(self, covector: Mapping[Coordinate, Expr]) -> tuple[dict[Coordinate, Expr], dict[Coordinate, Expr]]:
        r"""$D(R_c\,\delta q^c)$: coefficients of the variations of coordinates, and of those of their variations."""
        frame, coordinates = self.source.system.frame, list(self.source.system.coordinates)
        own = {q: self(c) for q, c in covector.items()}
        for q, e in covector.items():
            for a in range(len(coordinates)):
                for b, other in enumerate(coordinates):
                    bracket = frame.bracket(a, b).get(coordinates.index(q), S.Zero)
                    if bracket != 0:
                        own[other] = own.get(other, S.Zero) - e * bracket * self.component(a)
        return {q: c for q, c in own.items() if c != 0}, {self.varied[q]: c for q, c in covector.items()}


def _linear(source: Equations, names: Sequence[str], others: Sequence[Jet] = ()) -> tuple[_Linear, dict[str, Any]]:
    """The linearisation with its new coordinates and parameters, and the coordinates and parameters of the target."""
    system = source.system
    moved = [p for p in system.parameters if p.name in names]
    unknowns = [*system.coordinates, *others]
    added = fresh_coordinates(system, [*[f"d{z.base}" for z in unknowns], *[f"d{p.name}" for p in moved]])
    varied = dict(zip(unknowns, added, strict=False))
    rates = {p: Parameter(z.base) for p, z in zip(moved, added[len(unknowns) :], strict=True)}
    kinds = {**system.kinds, **{varied[q].base: "line" for q in system.coordinates}}
    parameters = [*system.parameters, *rates.values()]
    return _Linear(source, varied, rates), {"coordinates": kinds, "parameters": parameters}


def _lifted(source: Equations, names: tuple[str, ...]) -> Morphism:
    """The lift as a system with Lagrangian and rows, under the same principle."""
    system, lowered = source.system, source.lowered
    D, declared = _linear(source, names)
    rows = list(system.kinematic)
    reactions = list(lowered.reactions.values())
    pulled = [D.moved(row) for row in reactions]
    stated = virtual_rows(source)
    titles = names_of_variations([row.name for row in stated])
    variational: list[VariationalConstraint] | None = [
        *stated,
        *[VariationalConstraint(Frozen({**own, **there}), name=title) for (own, there), title in zip(pulled, titles, strict=True)],
    ]
    principle: Principle = VirtualWork()
    added = names_of_variations([row.name for row in rows])
    labels = [name or f"kinematic[{k}]" for k, name in enumerate([*[row.name for row in rows], *added])]
    if lowered.costates and not reactions:
        variational, principle = None, Vakonomic()
    elif lowered.costates:
        kinds = [Vakonomic() if m in lowered.costates else VirtualWork() for m in lowered.multipliers]
        principle = Mixed(dict(zip(labels, [*kinds, *kinds], strict=True)))
    elif not rows and not reactions:
        variational, principle = None, Hamilton()
    if system.equations:  # a dynamical form: its rows belong to the variations, their linearisation to the coordinates
        variational, principle = (None if not (rows or reactions) else variational), source.principle
        own, there = D.moved(system.equations)
        unmoved = {q: S.Zero for q in system.coordinates if q not in own}
        motion: dict[str, Any] = {"lagrangian": None, "equations": {**own, **unmoved, **there}}
    else:
        motion = {"lagrangian": D(system.lagrangian)}
    target = system.replace(
        **declared,
        **motion,
        kinematic=[*rows, *[_row(D, row, name) for row, name in zip(rows, added, strict=True)]],
        variational=variational,
        forces=_forces(system, D),
        dissipation=None,
        where={},
        quasi={},
        name=f"{system.name}, tangent".lstrip(", "),
    )
    return _morphism(source, derive(target, principle), D, names)


def names_of_variations(names: Sequence[str]) -> list[str]:
    """The names of linearised rows: those of the rows with the prefix d, repeated where a row has such a name itself.

    >>> names_of_variations(["floor", "", "dfloor"])
    ['ddfloor', '', 'dddfloor']
    """
    prefix = "d"
    while any(name and f"{prefix}{name}" in names for name in names):
        prefix += "d"
    return [f"{prefix}{name}" if name else "" for name in names]


def _row(D: Callable[[Expr], Expr], row: Constraint, name: str) -> Constraint:
    return replace(row, text="", lhs=D(row.lhs), rhs=D(row.rhs), name=name)


def _forces(system: System, D: _Linear) -> dict[Coordinate, Expr]:
    """The forces of the lift: on the variations those of the system, on the coordinates their linearisation."""
    forces = {q: system.forces.get(q, S.Zero) - system.dissipation.diff(q.d()) for q in system.coordinates}
    own, there = D.moved({q: u for q, u in forces.items() if u != 0})
    return {**own, **there}


def _morphism(source: Equations, target: Equations, D: _Linear, names: tuple[str, ...]) -> Tangent:
    shared: dict[Jet, Expr] = dict(identity_on(source, target))
    count = len(source.multipliers)
    slopes, own = target.multipliers[:count], target.multipliers[count:]
    variations: dict[Jet, Jet] = {**D.varied, **dict(zip(source.multipliers, slopes, strict=True))}
    return Tangent(
        source,
        target,
        Frozen({**shared, **dict(zip(own, source.multipliers, strict=True))}),
        Frozen({**shared, **dict(zip(source.multipliers, own, strict=True))}),
        "a motion and its variations are the motion of the complete lift",
        constants=Frozen(dict.fromkeys(D.rates.values(), S.One)),
        notes=_notes(source, target),
        variations=Frozen(variations),
        along=names,
        linear=D,
    )


def _notes(source: Equations, target: Equations) -> tuple[str, ...]:
    count = len(source.multipliers)
    pairs = zip(source.multipliers, target.multipliers[:count], target.multipliers[count:], strict=False)
    return tuple(f"{slope.base} is the derivative of {m.base}, {own.base} is {m.base} itself" for m, slope, own in pairs)


def _by_rows(source: Equations, names: tuple[str, ...]) -> Tangent:
    """The lift of arbitrary rows: each row and its linearisation become constraints; multipliers and the action become coordinates."""
    system = source.system
    others: list[Jet] = [*source.multipliers, *([source.lowered.action] if source.lowered.action is not None else [])]
    D, declared = _linear(source, names, others)
    plain = fresh_coordinates(system, [f"mu{k + 1}" if isinstance(z, Multiplier) else f"{z.base}" for k, z in enumerate(others)])
    renamed = dict(
        zip(others, [Coordinate(z.base) if isinstance(z, Action) else w for z, w in zip(others, plain, strict=True)], strict=True)
    )

    def read(e: Expr) -> Expr:
        table = {z: renamed[z.d(-z.order)].d(z.order) for z in e.free_symbols if isinstance(z, Jet) and z.d(-z.order) in renamed}
        found: Expr = e.xreplace(table)
        return found

    rows = [*source.rows]
    given = {label: row.name for label, row in system.kinematic_rows()}
    titles = [given.get(row.label, "") if isinstance(row.origin, Stated) else "" for row in rows]
    kinematic = [Constraint(read(row.lhs), read(row.rhs), name=name) for row, name in zip(rows, titles, strict=True)]
    added = names_of_variations(titles)
    kinematic += [Constraint(read(D(row.lhs)), read(D(row.rhs)), name=name) for row, name in zip(rows, added, strict=True)]
    more = [*renamed.values(), *[D.varied[z] for z in others]]
    target = system.replace(
        coordinates={**declared["coordinates"], **{z.base: "line" for z in more}},
        parameters=declared["parameters"],
        lagrangian=S.Zero,
        equations={},
        kinematic=kinematic,
        variational=[],
        forces={},
        dissipation=None,
        action=None,
        where={},
        quasi={},
        name=f"{system.name}, tangent".lstrip(", "),
    )
    lifted = derive(target, VirtualWork())
    shared: dict[Jet, Expr] = {q: q for q in system.coordinates}
    return Tangent(
        source,
        lifted,
        Frozen({**shared, **{w: z for z, w in renamed.items()}}),
        Frozen({**shared, **renamed}),
        "the rows of a motion and their linearisation, as constraints",
        constants=Frozen(dict.fromkeys(D.rates.values(), S.One)),
        variations=Frozen(dict(D.varied)),
        along=names,
        linear=D,
    )


def _composed(first: Morphism, rest: Morphism, names: tuple[str, ...]) -> Morphism:
    """The lift of a contact system through the equivalent one on Q x R."""
    both = first.then(rest)
    assert isinstance(rest, Tangent)  # noqa: S101 - made above
    variations = {
        z: rest.variations[w] for z in first.source.unknowns for w, e in first.to_target.items() if e == z and w in rest.variations
    }
    return Tangent(
        both.source,
        both.target,
        both.to_target,
        both.to_source,
        both.theorem,
        constants=rest.constants,
        notes=both.notes,
        variations=Frozen(variations),
        along=names,
    )
