r"""Modes: corner functions made smooth, with one number $m = \pm 1$ for every switching function (formulas in `corners`).

The result is a smooth system whose modes are parameters, so that one compilation serves all of them, and a surface $s = 0$ is an event at
which a number changes. Functions that are equal up to a factor of constant sign share a mode. The two sides of `piecewise` need not have
values everywhere, and modes in a mass, a constraint or a reaction change the structure of the equations: numbers replace these modes, and
each choice is a system with its own structure, compiled separately. `sliding` has the equations of motion on a surface $s = 0$.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import sympy
from sympy import Expr, Integer, S, Symbol

from chetaev.core.functions import CORNERS, Branch, Sign, corners_in, has_corner
from chetaev.core.notation.show import Showing, show
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.recursion import deep
from chetaev.core.symbols import Jet, Multiplier, Parameter, jets_in, long, note_symbols
from chetaev.mechanics.equations import Equations
from chetaev.numerics.corners.corners import Rewriting, with_each_expression
from chetaev.numerics.corners.hidden_corners import with_visible_corners
from chetaev.numerics.corners.mode import SLIDING, Configuration, Direction, Mode, Touch
from chetaev.numerics.corners.multiplier_modes import tilt_of
from chetaev.numerics.corners.planar_friction import at_rest, directions_in, named
from chetaev.numerics.corners.rootless_sign_changes import jumping_among, plain, with_visible_jumps
from chetaev.numerics.corners.sliding import (
    interpolated,
    size_at_rest,
    sliding,
    with_closed,
    with_numbers,
    with_sizes_of_contacts,
    without_contacts,
)
from chetaev.numerics.graphs.binding import Binding


@dataclass(frozen=True)
class Switched:
    """Equations without corners, and the modes that replace them."""

    original: Equations
    smooth: Equations
    modes: tuple[Mode, ...]
    inputs: Frozen[str, Expr]
    """The functions of time the run is driven by, without corners."""
    chosen: frozenset[Symbol] = frozenset()
    """Modes that numbers replace, because one of the two sides may have no value or another structure."""
    touching: Equations | None = None
    """The equations with the reactions of all contacts; `smooth` has none of them. None without contacts."""

    @cached_property
    def contacts(self) -> tuple[int, ...]:
        """The indices of the modes of unilateral contacts."""
        return tuple(k for k, mode in enumerate(self.modes) if isinstance(mode, Touch))

    @cached_property
    def rough(self) -> bool:
        """Whether a force contains the multiplier of a contact."""
        inside = self.original.system.multipliers_in_forces
        return any(self.modes[k].unknown in inside for k in self.contacts)

    def base(self, configuration: Configuration) -> Equations:
        """The equations with the closed contacts of a configuration as rows, before any mode slides."""
        if self.touching is None or not any(configuration[k] == SLIDING for k in self.contacts):
            return self.smooth
        closed = frozenset(self._touch(k).contact for k in self.contacts if configuration[k] == SLIDING)
        return with_closed(self.touching, closed)

    def _touch(self, k: int) -> Touch:
        mode = self.modes[k]
        assert isinstance(mode, Touch)  # noqa: S101 - `contacts` lists these
        return mode

    def _apart(self, configuration: Configuration) -> dict[Symbol, Expr]:
        """The multipliers of open contacts, which are zero."""
        return {self.modes[k].unknown: S.Zero for k in self.contacts if configuration[k] != SLIDING}

    def equations(self, configuration: Configuration) -> Equations:
        """The equations of a configuration; modes at +1 or -1 are parameters in them, or numbers if they are in `chosen`."""
        slides = tuple(mode for mode, m in zip(self.modes, configuration, strict=True) if m == SLIDING and not isinstance(mode, Touch))
        plain = self._with_numbers(configuration)
        return sliding(plain, slides) if slides else plain

    def _with_numbers(self, configuration: Configuration) -> Equations:
        """The equations before any mode slides."""
        numbers, base = self._numbers(configuration), self.base(configuration)
        return with_numbers(base, Frozen(numbers)) if numbers else base

    def _numbers(self, configuration: Configuration) -> dict[Symbol, Expr]:
        """The values of the modes in `chosen`."""
        return {mode.symbol: Integer(m) for mode, m in zip(self.modes, configuration, strict=True) if m and mode.symbol in self.chosen}

    def kind(self, configuration: Configuration) -> tuple[int | None, ...]:
        """A key for compiled expressions of a configuration, apart from parameters: the modes that slide, and the sides of those in
        `chosen`. Equations may be equal on both sides of a corner while the argument of another corner is not.
        """
        known = zip(self.modes, configuration, strict=True)
        return tuple(m if m == SLIDING or mode.symbol in self.chosen else None for mode, m in known)

    def binding(self, binding: Binding, configuration: Configuration) -> Binding:
        """Values for all parameters, modes among them."""
        modes = zip(self.modes, configuration, strict=True)
        values = {mode.symbol: 0.0 if isinstance(mode, Touch) else float(m) for mode, m in modes if m != SLIDING or isinstance(mode, Touch)}
        numbers = self._numbers(configuration)
        inputs = {name: e.xreplace(numbers) for name, e in self.inputs.items()} if numbers else self.inputs
        return Binding({**binding.parameters, **values}, inputs)

    def read(self, expression: Expr, configuration: Configuration) -> Expr:
        """Return a user's expression for known modes: sign(s) is 0 on the surface s = 0 while the motion slides there."""
        known = {mode.symbol: S.Zero for mode, m in zip(self.modes, configuration, strict=True) if m == SLIDING}
        expression = self._resting(expression, configuration, reading=True)
        return self.replaced(expression).xreplace({**known, **self._numbers(configuration), **self._apart(configuration)})

    def driven(self, expression: Expr, configuration: Configuration) -> Expr:
        """Return an expression of the equations for known modes: sign(s) is the unknown of sliding motion on s = 0."""
        modes = zip(self.modes, configuration, strict=True)
        known = {mode.symbol: self.held(mode, configuration) for mode, m in modes if m == SLIDING and not isinstance(mode, Touch)}
        found = self._resting(self.replaced(expression), configuration, reading=False)
        for symbol in known:
            found = interpolated(found, symbol)
        return found.xreplace({**known, **self._numbers(configuration), **self._apart(configuration)})

    def _resting(self, expression: Expr, configuration: Configuration, reading: bool) -> Expr:
        """Replace unit vectors of vanishing velocities: by zero when `reading`, otherwise by the unknowns."""
        for mode, m in zip(self.modes, configuration, strict=True):
            if m == SLIDING and isinstance(mode, Direction) and any(power.base == mode.function for power in expression.atoms(sympy.Pow)):
                limit = at_rest(expression, mode.function, mode.components, mode.unknowns)
                expression = expression if limit is None else limit
                size = size_at_rest(self._with_numbers(configuration), mode)
                expression = expression.xreplace({n: S.Zero if reading else n / size for n in mode.unknowns})
        return expression

    @property
    def by_itself(self) -> bool:
        """Whether configurations are compiled separately, because numbers replace some modes."""
        return bool(self.chosen) or any(isinstance(mode, Direction | Touch) for mode in self.modes)

    def held(self, mode: Mode, configuration: Configuration) -> Expr:
        """The value of a mode while the motion stays on its surface, in the unknowns of that motion."""
        if isinstance(mode, Direction):
            return mode.length / size_at_rest(self._with_numbers(configuration), mode) ** 2
        tilt = tilt_of(self._with_numbers(configuration), mode.symbol)
        return mode.unknown if tilt is None else mode.unknown / tilt.size

    def implicit(self, mode: Mode) -> bool:
        """Whether the function of a mode contains multipliers, which in turn depend on the modes."""
        return bool(jets_in(mode.function, Multiplier) & self.original.lowered.reactions.keys())

    @cached_property
    def implicit_modes(self) -> tuple[int, ...]:
        """The indices of the modes whose functions contain multipliers."""
        return tuple(k for k, mode in enumerate(self.modes) if self.implicit(mode))

    @cached_property
    def _functions(self) -> frozenset[Expr]:
        """The switching functions of all modes; they contain no corners."""
        return frozenset(mode.function for mode in self.modes)

    @cached_property
    def _jumping(self) -> frozenset[Expr]:
        """The switching functions that may change their sign without a root."""
        return jumping_among(mode.function for mode in self.modes)

    def may_jump(self, mode: Mode) -> bool:
        """Whether the function of a mode may change its sign without a root."""
        return mode.function in self._jumping

    def replaced(self, expression: Expr) -> Expr:
        """An expression in which the corners that have a mode are written with it; others stay."""
        if not self.modes or expression in self._functions or not has_corner(expression):
            return expression
        signs = [mode for mode in self.modes if not isinstance(mode, Touch)]
        table = {mode.function: mode for mode in signs}
        changing = {mode.symbol: mode.function for mode in signs if not mode.constant}

        def known(s: Expr, _: Expr | None) -> Expr | None:
            core, sign = _canonical(s)
            return table[core].symbol * sign if core in table else None

        with deep():
            return Rewriting(known, changing.get)(expression)

    def mode(self, s: Expr) -> tuple[int, int] | None:
        """The index of the mode of a switching function, and +1 if the mode is the sign of `s`, or -1 if it is the sign of -s; None without
        one.
        """
        core, sign = _canonical(self.replaced(s))
        found = [k for k, mode in enumerate(self.modes) if mode.function == core and not isinstance(mode, Touch)]
        return (found[0], sign) if found else None


@lru_cache(maxsize=64)
def smooth(equations: Equations, inputs: Frozen[str, Expr]) -> Switched:
    """The equations with a mode for every corner, in their data and in the functions of time that drive them."""
    modes: dict[Expr, Mode] = {}
    changing: dict[Symbol, Expr] = {}
    signs: dict[Symbol, Expr] = {}
    text_of = Showing()  # a nested corner occurs in the texts of all corners around it

    def mode_of(s: Expr, written: Expr | None) -> Expr:
        core, sign = _canonical(s)
        if core not in modes:
            plain = core.xreplace(signs) if written is None else _canonical(written)[0]
            text = text_of(plain)
            mode = Mode(_unused(f"sign of {text}", signs), core, text)
            modes[core], signs[mode.symbol] = mode, Sign(plain, evaluate=False)
            if not mode.constant:
                changing[mode.symbol] = core
        return modes[core].symbol * sign

    one = Rewriting(mode_of, changing.get)
    with deep():
        shown = with_shown_corners(equations)
        rewritten = with_each_expression(with_sizes_of_contacts(_with_visible_jumps(shown)), one)
        driving = Frozen({name: one(with_visible_corners(e)) for name, e in inputs.items()})
    touching, rewritten = rewritten, without_contacts(rewritten)
    moving = directions_in(touching)
    contacts = [Touch(_unused(f"contact {c.name}", signs), c.gap, show(c.gap), c) for c in equations.system.unilateral]
    if not modes and not moving and not contacts:
        changed = shown is not equations or rewritten.system.forces != equations.system.forces
        return Switched(equations, rewritten if changed else equations, (), inputs)
    plain = {square: parts for square, parts in moving.items() if square.free_symbols.isdisjoint(signs)}
    unit = [Direction(named(square, signs.__contains__), square, show(square), parts) for square, parts in plain.items()]
    corners = (*modes.values(), *unit)
    note_symbols(mode.function for mode in (*corners, *contacts))

    def with_modes(given: Equations) -> Equations:
        system = given.system
        parameters = (*system.parameters, *[mode.symbol for mode in (*corners, *contacts)])
        return replace(given, lowered=given.lowered.exchange(system=system.exchange(parameters=parameters)))

    smoothed, closed = with_modes(rewritten), with_modes(touching) if contacts else None
    chosen = _choosing(smoothed if closed is None else closed, driving, signs)
    return Switched(equations, smoothed, (*corners, *contacts), driving, chosen, closed)


def with_shown_corners(equations: Equations) -> Equations:
    """The equations with corners that smooth functions hide written as such."""
    changed = False

    def one(e: Expr) -> Expr:
        nonlocal changed
        found = with_visible_corners(e)
        changed = changed or found is not e
        return found

    rewritten = with_each_expression(equations, one)
    return rewritten if changed else equations


def _with_visible_jumps(equations: Equations) -> Equations:
    """The equations with forces whose jumps at poles are corners."""
    system = equations.lowered.system
    forces = Frozen({q: with_visible_jumps(u) for q, u in system.forces.items()})
    if forces == system.forces or equations.rewritten is not None:
        return equations
    return replace(equations, lowered=equations.lowered.exchange(system=system.exchange(forces=forces)))


def _choosing(equations: Equations, inputs: Mapping[str, Expr], modes: Iterable[Symbol]) -> frozenset[Symbol]:
    """The modes by which `piecewise` chooses, and those that may stand in the system Jacobian, whose rank they then decide."""
    found: set[Symbol] = set()

    def look(e: Expr) -> Expr:
        for branch in e.atoms(Branch):
            found.update(branch.args[0].free_symbols)
        return e

    with_each_expression(equations, look)
    for e in inputs.values():
        look(e)
    lowered = equations.lowered
    found |= _beside(lowered.lagrangian, lambda z: z.order > 0)
    rows = [
        *[row.residual for row in lowered.system.kinematic],
        *lowered.system.equations.values(),
        *[row.lhs - row.rhs for row in equations.rewritten or ()],
    ]
    for row in rows:
        highest = max((z.order for z in jets_in(row)), default=0)
        found |= _beside(row, lambda z, highest=highest: z.order == highest)  # type: ignore[misc]
    for force in lowered.system.forces.values():
        found |= _beside(force, lambda z: z in lowered.reactions)
    for reaction in lowered.reactions.values():
        found |= {z for c in reaction.values() for z in c.free_symbols}
    return frozenset(found) & frozenset(modes)


def nested_corners(switched: Switched, inputs: Mapping[str, Expr]) -> list[Expr]:
    """The corner functions with others inside, in the data of the equations and in the inputs, as the user wrote them."""
    found: dict[Expr, None] = {}

    def look(e: Expr) -> Expr:
        stack, seen = [e], {e}
        while stack:
            node = stack.pop()
            if isinstance(node, CORNERS):
                if len(corners_in(node)) > 1:
                    found[node] = None
                continue
            new = [a for a in node.args if a not in seen]
            seen.update(new)
            stack += new
        return e

    if switched.modes:
        with_each_expression(switched.original, look)
        for e in inputs.values():
            look(e)
    return list(found)


def _beside(e: Expr, wanted: Callable[[Jet], bool]) -> set[Symbol]:
    """Return the symbols of those terms of an expression that contain a jet for which `wanted` is true."""
    terms = [term.free_symbols for term in sympy.Add.make_args(e)]
    return {z for symbols in terms if any(isinstance(z, Jet) and wanted(z) for z in symbols) for z in symbols}


def _unused(name: str, taken: Mapping[Symbol, Expr]) -> Parameter:
    """Return a parameter `name`, or a similar one if it is taken: different functions may have equal texts once modes are written as
    signs.
    """
    while Parameter(name) in taken:
        name += " again"
    return Parameter(name)


def _canonical(s: Expr) -> tuple[Expr, int]:
    """A switching function without positive factors and poles, with the sign that SymPy's normal form prefers, and that sign."""
    s = plain(s)
    content, s = s.primitive() if long(s) else s.as_content_primitive()
    sign = -1 if content.is_negative else 1
    factors = sympy.Mul.make_args(s)
    definite = {f: bool(f.is_negative) for f in factors if not long(f) and (f.is_positive or f.is_negative)}
    if definite:
        s = sympy.Mul(*[f for f in factors if f not in definite])
        sign *= (-1) ** sum(definite[f] for f in factors if f in definite)
    return (-s, -sign) if s.could_extract_minus_sign() else (s, sign)
