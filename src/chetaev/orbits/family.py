"""Families of equilibria, steady motions and periodic orbits, with their special points."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chetaev.core.errors import UsageError
from chetaev.core.fixes import SetArgument
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.numerics.stability.spectrum import Complex, matched, ordered
from chetaev.orbits.arclength import Array, Node
from chetaev.orbits.special_points import Found, special_points

_POINTS_SHOWN = 12
"""Largest number of points in the text of a family; of more points, this many evenly spaced ones are shown."""


Switch = Callable[[Found, int | None], "Family"]
"""Follows the branch at a special point, for at most a number of points."""
_PRINTED_AS_REAL = 1e-6
"""Relative: a multiplier or eigenvalue with a smaller imaginary part prints as a real number."""
_NEUTRAL = 1e-9
"""Relative to the largest eigenvalue: growth below this is undecided, even where the error bound is smaller."""


@public
@dataclass(frozen=True, eq=False, repr=False)
class Point:
    """One solution of a family."""

    value: float
    """The value of the quantity along which the family is followed."""
    state: Mapping[str, float]
    """The jets of the state, by name; for a periodic orbit, at its first time."""
    eigenvalues: Complex
    """Eigenvalues of the linearised motion, including those that symmetries and integrals make zero; for a periodic orbit, Floquet
    multipliers."""
    stable: bool | None
    """True: disturbances decay, except along the family and symmetries. False: one grows. None: the linearised motion does not decide."""
    period: float | None
    """The period of a periodic orbit; None otherwise."""
    velocities: Mapping[str, float]
    """For a steady motion whose attitude turns, the velocities of the symmetries that carry the state, by name; empty otherwise."""

    def __repr__(self) -> str:
        return f"Point(value={self.value:.12g}, stable={self.stable})"


@public
@dataclass(frozen=True, eq=False, repr=False)
class Special(Point):
    """A special point of a family."""

    kind: str
    """`"hopf"`, `"fold"`, `"branch"`, `"period_doubling"` or `"double"` (two eigenvalues meet and leave an axis)."""
    eigenvalue: complex | None
    """The eigenvalue or multiplier of the pair at a `"hopf"` or `"double"` point and of a period doubling; None otherwise."""

    def __repr__(self) -> str:
        return f"Special(kind={self.kind!r}, value={self.value:.12g})"


@public
@dataclass(frozen=True, eq=False, repr=False)
class Family:
    """A curve of equilibria, steady motions or periodic orbits: `family["theta"]` is a column of its points."""

    kind: str
    """`"equilibria"`, `"steady"` or `"periodic"`."""
    along: str
    """The name of the parameter or jet along which the family was followed."""
    until: tuple[float, float]
    """The interval of values of `along`."""
    points: tuple[Point, ...]
    """The points, in the order in which the curve passes them."""
    special: tuple[Special, ...]
    """The special points, in the same order."""
    ends: tuple[str, str]
    """The reasons why the family ends before its first and after its last point."""
    undecided: tuple[str, ...]
    """A sentence for each point that may be special and could not be located."""
    title: str
    """The heading of the printed family."""
    order: tuple[float, ...] = field(repr=False)
    """For each special point, the index of the point before it plus the fraction of the way to the next."""
    follow: Callable[[int, int | None], Family] = field(repr=False)
    """The implementation of `switch`, without its checks."""

    @property
    def values(self) -> Array:
        """The values of the quantity along which the family was followed."""
        return np.array([p.value for p in self.points])

    @property
    def stable(self) -> NDArray[np.object_]:
        """Whether each point is stable: True, False or None."""
        return np.array([p.stable for p in self.points], dtype=object)

    @property
    def eigenvalues(self) -> Complex:
        """The eigenvalues of all points, a row for each; every column follows one eigenvalue along the family."""
        rows: list[Complex] = []
        lengths: list[float] = []
        spans = {name: float(np.ptp(self[name])) or 1.0 for name in (self.along, *self.points[0].state)}
        for k, p in enumerate(self.points):
            moved = [(self[name][k] - self[name][k - 1]) / span for name, span in spans.items()] if k else [0.0]
            lengths.append((lengths[-1] if k else 0.0) + float(np.linalg.norm(moved)))
            rows.append(p.eigenvalues[matched(rows, np.array(lengths), p.eigenvalues)] if k else p.eigenvalues)
        return np.array(rows)

    def __getitem__(self, name: str) -> Array:
        if name == self.along:
            return self.values
        if name == "period" and self.kind == "periodic":
            return np.array([p.period for p in self.points], dtype=float)
        if not self.points or name not in self.points[0].state:
            known = [*(self.points[0].state if self.points else ()), *(["period"] if self.kind == "periodic" else [])]
            raise UsageError(f"{name} is not in the state.", where=self.title, hint=" ".join(known))
        return np.array([p.state[name] for p in self.points])

    def __len__(self) -> int:
        return len(self.points)

    def switch(self, k: int, most: int | None = None) -> Family:
        """Follow the family that branches off at `special[k]`.

        At a branch point this is the other curve of the same kind through it, at a Hopf point the periodic orbits around the equilibrium,
        at a period doubling the orbits of twice the period.

        Args:
            k: The index of the special point.
            most: The largest number of points in each direction; by default that of this family. A family that approaches a homoclinic
                motion would have no end.

        Returns:
            The other family, over the same interval.

        Raises:
            UsageError: If there is no such special point, or nothing branches off at it.
            StateError: If no point of the other family is found.
        """
        if isinstance(k, bool) or not isinstance(k, int | np.integer) or not -len(self.special) <= k < len(self.special):
            listed = ", ".join(f"{i}: {s.kind}" for i, s in enumerate(self.special)) or "there is none"
            raise UsageError(f"special[{k!r}] does not exist.", where=f"switch, {self.title}", hint=listed)
        if most is not None and (isinstance(most, bool) or not isinstance(most, int) or most < 2):
            raise UsageError(f"most = {most!r} is not a number of points.", where=f"switch, {self.title}", hint=SetArgument("most", 40))
        return self.follow(int(k) % len(self.special), most)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        head = f"{self.title}: {len(self.points)} points, {self.along} from {self.values.min():.6g} to {self.values.max():.6g}"
        lines = [head]
        if self.special:
            width = max(len(s.kind) for s in self.special)
            lines += [f"  [{k}] {s.kind:<{width}}  {self.along} = {s.value:.12g}{_of(s)}" for k, s in enumerate(self.special)]
        else:
            lines.append("  no special points")
        lines += [f"  {'stable' if word else 'unstable' if word is False else 'undecided'}: {text}" for word, text in self._stretches()]
        lines += [f"  not decided: {what}" for what in self.undecided]
        lines += [f"  {name}: {why}" for name, why in zip(("begins", "ends"), self.ends, strict=True)]
        return "\n".join(lines)

    def _stretches(self) -> list[tuple[bool | None, str]]:
        """The parts of the family with the same stability: `stable`, and the values of `along` as text."""
        found: list[tuple[bool | None, str]] = []
        begin = 0
        for k in range(1, len(self.points) + 1):
            if k == len(self.points) or self.points[k].stable is not self.points[begin].stable:
                values = [p.value for p in self.points[begin:k]]
                found.append((self.points[begin].stable, f"{self.along} = {_range(values)}"))
                begin = k
        return found[:_POINTS_SHOWN]


def _range(values: Sequence[float]) -> str:
    """The range from the first value to the last as text, with the extreme values between them."""
    a, b = values[0], values[-1]
    far = [v for v in (min(values), max(values)) if v not in (a, b)]
    way = "".join(f" over {v:.6g}" for v in sorted(far, key=values.index))
    return f"{a:.6g}{way} to {b:.6g}" if len(values) > 1 else f"{a:.6g}"


def _of(s: Special) -> str:
    if s.eigenvalue is None:
        return ""
    v = s.eigenvalue
    if s.kind == "hopf" and s.period is None:
        return f", frequency {abs(v.imag):.6g}"
    word = "multiplier" if s.period is not None else "eigenvalue"
    return f", {word} {v.real:.6g}" + (
        f" {'-' if v.imag < 0 else '+'} {abs(v.imag):.6g}i" if abs(v.imag) > _PRINTED_AS_REAL * abs(v) else ""
    )


def family_of(kind: str, nodes: Sequence[Node], ends: tuple[str, str], until: tuple[float, float], title: str, switch: Switch) -> Family:
    """The family with these points and the special points between them."""
    specials, undecided = special_points(nodes)
    # the median: special points have more trivial eigenvalues, and round-off may hide some at others
    explained = int(np.median([n.curve.trivial(n.u) for n in nodes]))
    follow = _Follow(tuple(specials), switch)
    shown = tuple(_special(f, explained) for f in specials)
    points = tuple(Point(**_figures(n, explained)) for n in nodes)
    order = tuple(f.order for f in specials)
    return Family(kind, nodes[0].curve.name, until, points, shown, ends, undecided, title, order, follow)


@dataclass(frozen=True, eq=False)
class _Follow:
    """Follows the branch at the special point with a given index."""

    found: tuple[Found, ...]
    switch: Switch

    def __call__(self, k: int, most: int | None) -> Family:
        return self.switch(self.found[k], most)


def _figures(node: Node, explained: int) -> dict[str, Any]:
    curve = node.curve
    values, doubts = curve.spectrum(node.u)
    return {
        "value": node.value,
        "state": Frozen(curve.shown(node.u)),
        "eigenvalues": ordered(np.concatenate([values, curve.left_out(node.u)])),
        "stable": _stable(curve, values, doubts, explained),
        "period": curve.period(node.u),
        "velocities": Frozen(curve.carried(node.u)),
    }


def _special(found: Found, explained: int) -> Special:
    return Special(**_figures(found.node, explained), kind=found.kind, eigenvalue=found.eigenvalue)


def _stable(curve: Any, values: Complex, doubts: Array, explained: int) -> bool | None:
    """Whether disturbances decay, without the `explained` eigenvalues nearest to the trivial one; `doubts` are error bounds."""
    growth = curve.growth(values)
    order = np.argsort(curve.from_trivial(values))
    kept = np.sort(order[explained:])
    size = np.maximum(doubts, _NEUTRAL * np.abs(values).max(initial=0.0))
    if np.any(growth[kept] > size[kept]):
        return False
    return True if np.all(growth[kept] < -size[kept]) and len(kept) else None
