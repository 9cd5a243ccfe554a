"""compare: one system under several principles, from the same initial data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chetaev.core.display.html import card, columns, facts, number, set_symbol
from chetaev.core.errors import UsageError, about
from chetaev.core.fixes import Ask
from chetaev.core.state import State
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.core.system import System
from chetaev.core.zero import known_zero
from chetaev.mechanics.classify import constraints_are_holonomic
from chetaev.mechanics.derivation import derive
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.model import Model
from chetaev.mechanics.principles import Principle
from chetaev.mechanics.principles.base import points_of, same_span
from chetaev.numerics.comparison.coincidence import coinciding_multipliers
from chetaev.numerics.motion.simulate import simulate
from chetaev.numerics.motion.trajectory import Trajectory

Array = NDArray[np.float64]
_TIMES_COMPARED = 201
"""Times at which motions over an interval are compared; the largest distance may be missed between them."""
_SHOWN = 9
"""Most coordinates whose differences are printed one by one: a line of a page, and all entries of a rotation."""


@public
@dataclass(frozen=True)
class Pair:
    """The comparison of two principles."""

    first: Principle
    second: Principle
    identical: bool | None
    """Whether all motions agree; None if neither that nor the opposite is proved."""
    reason: str
    distances: Frozen[str, Array]
    """The differences of the motions at each time, by coordinate."""
    coinciding: Frozen[str, float] | None
    """Initial multipliers for which the vakonomic motion is the other one; None if none were found or searched for."""
    searched: bool = False
    """Whether such multipliers were searched for: one principle is vakonomic, and the motions are not identical."""

    @property
    def distance(self) -> Array:
        """The largest of all differences at each time. Coordinates may have different units; `distances` has each by itself."""
        found: Array = np.max([*self.distances.values()], axis=0)
        return found

    def lines(self) -> list[str]:
        """The result as sentences, one per line; all but the first are indented."""
        verdict = {True: "agree identically", False: "differ", None: "differ or agree: undecided"}[self.identical]
        found = [f"{self.first} and {self.second} {verdict}: {self.reason}."]
        found.append(f"  {self._differences()}")
        if self.searched and self.coinciding is None:
            found.append("  no initial multipliers were found for which the motions coincide")
        if self.coinciding is not None:
            data = ", ".join(f"{name} = {v:.6g}" for name, v in self.coinciding.items())
            found.append(f"  the motions coincide for {data} at the start")
        return found

    def _differences(self) -> str:
        """The largest difference of each coordinate by itself, since metres and radians cannot be compared."""
        most = {name: float(d.max()) for name, d in self.distances.items()}
        if not any(most.values()):
            return "here they do not differ at all"
        shown = [f"{name} {size:.3g}" for name, size in most.items()]
        rest = len(shown) - _SHOWN
        more = [f"and of {rest} more coordinates {max([*most.values()][_SHOWN:]):.3g} at most"] if rest > 0 else []
        return "largest differences here: " + ", ".join([*shown[:_SHOWN], *more])


@public
@dataclass(frozen=True, repr=False)
class Comparison:
    """Motions of one system under several principles, and their differences.

    `comparison[DAlembert()]` is a motion. Each of `comparison.pairs` says of two principles whether they are `identical` and for which
    `reason`, their `distances` at each time of `comparison.t` by coordinate, and the `coinciding` initial multipliers. `print` shows the
    final values.
    """

    t: Array
    """The times of the comparison."""
    motions: Frozen[Principle, Trajectory]
    """The motions by principle."""
    pairs: tuple[Pair, ...]
    """The comparisons of each two principles."""

    def __getitem__(self, principle: Principle) -> Trajectory:
        return self.motions[principle]

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        first = next(iter(self.motions.values()))
        names = shown_names(first.equations.system)
        ends = [(escape(str(p)), *(number(motion.final[name]) for name in names)) for p, motion in self.motions.items()]
        title = f"{first.equations.system.name or 'system'}, t = {self.t[0]:g} to {self.t[-1]:g}"
        said = [escape(" ".join(line.strip() for line in pair.lines())) for pair in self.pairs]
        return card(title, columns(("at the end", *map(set_symbol, names)), ends), facts(said))

    def __str__(self) -> str:
        first = next(iter(self.motions.values()))
        lines = [f"{first.equations.system.name or 'system'}, t = {self.t[0]:g} to {self.t[-1]:g}"]
        names = shown_names(first.equations.system)
        width = max(len(str(p)) for p in self.motions)
        columns = [max(len(name), 13) for name in names]
        lines.append("  " + " " * width + "  " + "  ".join(f"{name:>{w}}" for name, w in zip(names, columns, strict=True)))
        for principle, motion in self.motions.items():
            values = "  ".join(f"{motion.final[name]:>{w}.6g}" for name, w in zip(names, columns, strict=True))
            lines.append(f"  {principle!s:<{width}}  {values}")
        lines += [f"  {line}" for pair in self.pairs for line in pair.lines()]
        return "\n".join(lines)


@public
def compare(
    system: System | Model,
    principles: Sequence[Principle] | None = None,
    start: Any = None,
    t: Any = None,
    *,
    parameters: Mapping[str, Any] | None = None,
    inputs: Mapping[str, Any] | None = None,
    tolerance: float = 1e-10,
) -> Comparison:
    """Simulate a system under several principles from the same initial data, and compare the motions.

    For every vakonomic motion, initial multipliers are sought for which it coincides with the other motions.

    Args:
        system: A system, or a model, which has principles, start, interval and values.
        principles: The principles.
        start: Initial data. Multipliers in it are used by principles under which they are part of the state, as vakonomic motion needs:
            `{..., "lambda1": 0}`; the other principles ignore them.
        t: The interval `(t0, t1)`, or an array of times.
        parameters: Values of the parameters, by name.
        inputs: Functions of time for the inputs, by name.
        tolerance: The tolerance of `simulate`.

    Returns:
        The motions, and the distances between each two of them.

    Raises:
        UsageError: If principles, start or interval are missing.

    >>> from chetaev import DAlembert, Vakonomic
    >>> skate = System("x y theta", lagrangian="(x'^2 + y'^2 + theta'^2)/2", kinematic=["y'*cos(theta) = x'*sin(theta)"], name="skate")
    >>> start = {"x": 0, "y": 0, "theta": 0, "x'": 1, "theta'": 0.5, "lambda1": 0}
    >>> print(compare(skate, [DAlembert(), Vakonomic()], start, t=(0, 1)))
    skate, t = 0 to 1
                               x              y          theta
      DAlembert()       0.958851       0.244835            0.5
      Vakonomic()       0.905475       0.243319        0.58239
      DAlembert() and Vakonomic() differ: the constraints are not integrable.
        largest differences here: x 0.0534, y 0.00152, theta 0.0824
        no initial multipliers were found for which the motions coincide
    """
    cases = _cases(system, principles, start)
    model = system if isinstance(system, Model) else None
    t = model.t if t is None and model else t
    if t is None:
        raise UsageError("no interval is given.", where=about("compare", "t"), hint=Ask("compare", "system, [...], start, t=(0, 10)"))
    values: dict[str, Any] = {
        "parameters": {**(model.parameters if model else {}), **(parameters or {})},
        "inputs": {**(model.inputs if model else {}), **(inputs or {})},
    }
    stepping = {name: model.run[name] for name in ("method", "max_step", "scale")} if model else {}
    times = np.linspace(float(t[0]), float(t[-1]), _TIMES_COMPARED) if len(t) == 2 else np.asarray(t, dtype=float)
    equations = {p: derive(model.system if model else system, p) for p in cases}
    motions = {p: simulate(equations[p], cases[p], times, tolerance=tolerance, **stepping, **values) for p in cases}
    motions = {p: replace(motion, scene=model.scene if model else None) for p, motion in motions.items()}
    pairs = [_pair(motions[a], motions[b], times, values) for a, b in combinations(cases, 2)]
    return Comparison(times, Frozen(motions), tuple(pairs))


def _cases(system: System | Model, principles: Sequence[Principle] | None, start: Any) -> dict[Principle, State]:
    """The start for every principle."""
    if isinstance(system, Model):
        chosen = system.principles if principles is None else principles
        if start is None:
            return {p: system.under(p).start for p in chosen}
    elif principles is None or start is None:
        raise UsageError(
            "compare needs principles and a start.", where="compare", hint=Ask("compare", "system, [DAlembert(), Vakonomic()], start")
        )
    else:
        chosen = principles
    state = start if isinstance(start, State) else State(dict(start))
    return dict.fromkeys(chosen, state)


def _pair(first: Trajectory, second: Trajectory, times: Array, values: Mapping[str, Any]) -> Pair:
    identical, reason = same_motions(first.equations, second.equations)
    names = shown_names(first.equations.system)
    shorter = min(len(first.t), len(second.t))
    distances = Frozen({n: np.abs(first[n][:shorter] - second[n][:shorter]) for n in names})
    coinciding = None
    searched = False
    vakonomic = [m for m in (first, second) if m.equations.lowered.costates]
    if len(vakonomic) == 1 and identical is not True:
        searched, other = True, second if vakonomic[0] is first else first
        coinciding = coinciding_multipliers(vakonomic[0].equations, other, times, **values)
    return Pair(first.equations.principle, second.equations.principle, identical, reason, distances, coinciding, searched)


def shown_names(system: System) -> list[str]:
    """Return the names of positions: coordinates, and the entries of the matrices of group coordinates."""
    found: list[str] = []
    for name in system.kinds:
        group = system.groups.get(name)
        found += [name] if group is None else [str(z) for z in group.chart] or [q.d().name for q in group.components]
    return found


def same_motions(first: Equations, second: Equations) -> tuple[bool | None, str]:
    """Whether two principles give the same motions of one system, and why."""
    a, b = first.lowered, second.lowered
    if bool(a.costates) != bool(b.costates):
        if (a.costates and a.reactions) or (b.costates and b.reactions):
            return None, "some rows are varied and others have reactions"
        holonomic = None if any(row.has_action for row in first.system.kinematic) else constraints_are_holonomic(first.system)
        reasons: dict[bool | None, str] = {True: "the constraints are holonomic", False: "the constraints are not integrable"}
        return holonomic, reasons.get(holonomic, "no theorem covers these constraints")
    if (a.action is None) != (b.action is None):
        free = a.action is None or known_zero(first.lagrangian.diff(a.action))
        return (True, "the action does not occur in the Lagrangian") if free else (False, "the action occurs in the Lagrangian")
    if a.reactions == b.reactions and known_zero(a.lagrangian - b.lagrangian):
        return True, "the equations are the same, row by row"
    if a.costates:
        return None, "both have multipliers that are varied"
    points = points_of(first.system, first.system.kinematic)
    if same_span(tuple(a.reactions.values()), tuple(b.reactions.values()), first.system.coordinates, points):
        return True, "the variational rows span the same covectors on the constraints"
    return False, "the virtual displacements differ"
