"""A motion as smooth curves: its nodes, and the dense output between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from chetaev.core.errors import UsageError
from chetaev.core.fixes import InPython, SetArgument
from chetaev.core.support.lazy import made_by
from chetaev.core.system import System
from chetaev.mechanics.tolerances import ALMOST_ZERO
from chetaev.numerics.motion.trajectory import Section, Trajectory

if TYPE_CHECKING:
    from chetaev.numerics.ensemble.result import Ensemble

Array = NDArray[np.float64]

_MOST_MEMBERS = 20
"""Largest number of members of an ensemble that are drawn; each is computed again, and more curves could not be distinguished."""
_POINTS_BETWEEN_NODES = 900
"""Number of points of a curve besides its nodes, distributed by the length of the steps: about one per pixel."""
_MOST_NODES = 8000
"""Largest number of nodes that are drawn; of more, evenly spaced ones are kept, since a figure cannot show them and slows down."""
_POINTS_PER_STEP = 6
"""Least number of points inside a step: a step of order 8 may span half an oscillation, which would look angular with fewer."""


def smooth(motion: Trajectory) -> Section:
    """Return the motion at its nodes and between them; at a jump the time occurs twice. At most `_MOST_NODES` nodes are kept.

    A motion without dense output is returned at its stored times.
    """
    nodes = motion.t
    if len(nodes) < 2:
        raise UsageError(
            "a motion of a single state has no curve.",
            where=f"plot {motion.equations.system.label}",
            hint=SetArgument("t", (0, 10), "simulate"),
        )
    if len(nodes) > _MOST_NODES:
        kept = _thinned(nodes)
        pieces = None if motion.pieces is None else motion.pieces[kept]
        return Section(motion, nodes[kept], motion.states[kept], scalar=False, pieces=pieces)
    inner, place = _between(nodes)
    try:
        states = motion.at(inner).states
    except UsageError:
        return Section(motion, nodes, motion.states, scalar=False, pieces=motion.pieces)
    pieces = np.zeros(len(nodes), np.int64) if motion.pieces is None else motion.pieces
    return Section(
        motion,
        np.insert(nodes, place, inner),
        np.insert(motion.states, place, states[:, : motion.states.shape[1]], axis=0),
        scalar=False,
        pieces=np.insert(pieces, place, pieces[place]),
    )


def _thinned(nodes: Array) -> NDArray[np.int64]:
    """Return the indices of the nodes to draw: `_MOST_NODES` of them, evenly by number, and both sides of every jump."""
    jumps = np.flatnonzero(np.diff(nodes) == 0)
    return np.unique(np.concatenate([np.linspace(0, len(nodes) - 1, _MOST_NODES).astype(np.int64), jumps, jumps + 1]))


def _between(nodes: Array) -> tuple[Array, NDArray[np.int64]]:
    """Return times inside the steps, in order, and for each the index of the node that follows it."""
    lengths = np.abs(np.diff(nodes))
    share = np.ceil(_POINTS_BETWEEN_NODES * lengths / max(float(lengths.sum()), ALMOST_ZERO)).astype(int)
    least = _POINTS_PER_STEP if len(nodes) * _POINTS_PER_STEP < _MOST_NODES else 1
    counts = np.where(lengths > 0, np.maximum(share, least), 0)
    place = np.repeat(np.arange(1, len(nodes)), counts)
    starts = np.repeat(np.cumsum(counts) - counts, counts)
    part = (np.arange(len(place)) - starts + 1) / (np.repeat(counts, counts) + 1)
    return nodes[place - 1] + part * np.repeat(np.diff(nodes), counts), place


def broken(t: Array, *columns: Array, turning: Sequence[Array] = ()) -> tuple[Array, ...]:
    """Interrupt curves by NaN where two times are equal (the motion jumps) and where a wrapped angle changes by a full turn."""
    cut = np.diff(t) == 0
    for angle in turning:
        cut = cut | (np.abs(np.diff(angle)) > np.pi)
    after = np.flatnonzero(cut) + 1
    return tuple(np.insert(c, after, np.nan) for c in (t, *columns))


def usual(system: System) -> list[list[str]]:
    """Return the default names by panel: each coordinate; for a group coordinate the components of its velocity."""
    owners = {q.base: name for name, group in system.groups.items() for q in group.components}
    panels: dict[str, list[str]] = {}
    for q in system.coordinates:
        panels.setdefault(owners.get(q.base, q.base), []).append(q.d().name if q.base in owners else q.name)
    return list(panels.values())


def by_label(motions: Any, where: str) -> dict[str, Trajectory]:
    """Return motions by label, from a mapping, a list, a comparison, an ensemble, or a single motion, whose label is its principle.

    Motions of a list are labelled by their principles if these differ, else by their indices; of an ensemble the first `_MOST_MEMBERS`
    members that started are taken.
    """
    if isinstance(motions, Trajectory):
        return {str(motions.equations.principle): motions}
    found = _members(motions) if made_by(motions, "chetaev.numerics.ensemble.result", "Ensemble") else getattr(motions, "motions", motions)
    if isinstance(found, list | tuple) and all(isinstance(m, Trajectory) for m in found):
        names = [str(m.equations.principle) for m in found]
        found = dict(zip(names if len(set(names)) == len(names) else map(str, range(len(names))), found, strict=True))
    if not isinstance(found, Mapping) or not found or not all(isinstance(m, Trajectory) for m in found.values()):
        what = f"a motion or motions by label are needed, not {type(motions).__name__}."
        raise UsageError(what, where=where, hint=InPython('{"d\'Alembert": motion, "vakonomic": other}'))
    return {str(name): motion for name, motion in found.items()}


def _members(ensemble: Ensemble) -> dict[str, Trajectory]:
    """Return the motions of the first members that started."""
    return {f"member {k}": ensemble[int(k)] for k in np.flatnonzero(ensemble.started)[:_MOST_MEMBERS]}
