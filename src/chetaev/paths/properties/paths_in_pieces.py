"""Paths in pieces, from rough curves, where the motion from a single start is too unstable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from chetaev.core.errors import ChetaevError
from chetaev.numerics.motion.simulate import simulate
from chetaev.numerics.smooth_pieces.events import On
from chetaev.paths.boundary.ends import Array
from chetaev.paths.boundary.shooting import Shooting, Shot, Unknowns
from chetaev.paths.path import Path
from chetaev.paths.properties.ranking import Candidate
from chetaev.paths.search.multiple import Chain, chained
from chetaev.paths.search.transcription import LINKS, Rough

_MET = 1e-9
"""Largest residual of a chain that is a path, relative to the sizes."""
_LEADS_TO_KNOWN_PATH = 0.1
"""Largest distance of a rough curve from a known path, relative to the sizes of the coordinates, at which it is taken to lead to that path.
"""
_MOST_CURVES = 6
"""Largest number of rough curves for multiple shooting; each takes about half a second."""


def in_pieces(shooting: Shooting, curves: Sequence[Rough], paths: Sequence[Path], tolerance: float) -> list[Path]:
    """Paths near rough curves to which no single start has led."""
    system = shooting.flow.equations.system
    if shooting.t1 is None or shooting.unknown or system.groups or shooting.ends.periodic:
        return []
    shown = _shown(shooting)
    seen = [np.array([path.motion.at(times)[name] for name in shown]) for times in [_times(shooting)] for path in paths]
    found: list[Path] = []
    tried = 0
    for curve in curves:
        points = _positions(shooting, curve.states)
        if tried >= _MOST_CURVES or any(_apart(shooting, points, other) < _LEADS_TO_KNOWN_PATH for other in seen):
            continue
        seen.append(points)
        tried += 1
        chain = chained(shooting, curve.states)
        if chain is None or not chain.residual < _MET:
            continue
        new = _candidate(shooting, chain, tolerance)
        if new is not None and not any(new.same_curve(path.facts) or new.same_family(path.facts) for path in (*paths, *found)):
            found.append(Path(new))
    return found


def _times(shooting: Shooting) -> Array:
    assert shooting.t1 is not None  # noqa: S101 - the caller has asked
    return np.linspace(shooting.flow.t0, shooting.t1, LINKS + 1)[:-1]


def _shown(shooting: Shooting) -> list[str]:
    """The coordinates in the state; a control such as u in x' = u is not among them if an algebraic row determines it."""
    names = set(shooting.flow.names)
    return [q.name for q in shooting.flow.equations.system.coordinates if q.name in names]


def _places(shooting: Shooting) -> list[int]:
    names = list(shooting.flow.names)
    return [names.index(name) for name in _shown(shooting)]


def _positions(shooting: Shooting, states: Sequence[Array]) -> Array:
    return np.array(states).T[_places(shooting)]


def _apart(shooting: Shooting, one: Array, other: Array) -> float:
    sizes = shooting.flow.sizes[_places(shooting)]
    return float(np.max(np.abs(one - other) / np.maximum(sizes, np.abs(one).max(axis=1))[:, None]))


def _candidate(shooting: Shooting, chain: Chain, tolerance: float) -> Candidate | None:
    """The path of a chain: from its start alone, if that leads to the end, otherwise in pieces."""
    assert shooting.t1 is not None  # noqa: S101 - the caller has asked
    at = Unknowns(chain.states[0], shooting.t1, shooting.flow.p, chain.nu)
    shot = shooting.shot(at)
    if shot is not None and shot.worst < _MET:
        return Candidate.of(shooting, shot, tolerance)
    basis = shooting.flow.tangent(at.y)
    stand_in = Shot(at, np.array([chain.residual]), np.zeros((1, basis.shape[1] + 1)), basis, chain.end)
    return Pieced.along(shooting, stand_in, chain, tolerance)


@dataclass(frozen=True)
class Pieced(Candidate):
    """A path whose motion is reset at some times, by less than the residual."""

    chain: Chain

    @staticmethod
    def along(shooting: Shooting, shot: Shot, chain: Chain, tolerance: float) -> Pieced | None:
        """Simulate a chain; None if the motion does not finish."""
        flow = shooting.flow
        states = [dict(zip(flow.names, y.tolist(), strict=True)) for y in chain.states]
        resets = [On(f"t - ({float(t)!r})", reset=state) for t, state in zip(chain.times[1:-1], states[1:], strict=True)]
        parameters = dict(zip(flow.run.parameters, shot.at.p.tolist(), strict=True))
        try:
            motion = simulate(
                flow.equations,
                states[0],
                (flow.t0, shot.at.t1),
                parameters=parameters,
                events=resets,
                progress=False,
                **flow.run.accuracy.wish,
            )
        except ChetaevError:
            return None
        return Pieced(shooting, shot, motion, tolerance, chain) if motion.outcome.reached_end else None

    @property
    def family(self) -> int:
        """The dimension of the null space of the equations of the chain."""
        return self.chain.family

    @property
    def conjugate(self) -> None:
        """None: conjugate times are not computed, because nearby motions separate too fast."""
        return
