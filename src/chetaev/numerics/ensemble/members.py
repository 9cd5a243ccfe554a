"""Single members of an ensemble as motions of their own: `simulate` with the data and the settings of a member."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sympy import Expr

from chetaev.core.errors import ChetaevError, Interrupted
from chetaev.core.state import State
from chetaev.mechanics.equations import Equations
from chetaev.numerics.ensemble.arguments import Given, Group, Notes, refusal
from chetaev.numerics.ensemble.batch import Array
from chetaev.numerics.ensemble.threads import Workers
from chetaev.numerics.methods.accuracy import Accuracy
from chetaev.numerics.methods.base import Method
from chetaev.numerics.motion.simulate import simulate
from chetaev.numerics.motion.trajectory import Trajectory


@dataclass(frozen=True, eq=False)
class Settings:
    """The arguments of `simulate_many` that are those of `simulate`."""

    times: Array
    accuracy: Accuracy
    method: Method
    events: Any
    max_steps: int
    max_step: Any
    branch: Any = None
    gauge: Any = None
    slopes: Sequence[str] | None = None
    """What motions are differentiated by."""
    texts: Mapping[str, Any] = field(default_factory=dict)
    """Values of the starts that are texts or expressions, the same for all members: slopes need them as such."""
    sampled: Mapping[str, Any] = field(default_factory=dict)
    """Inputs that are no formulas: samples and controllers."""
    conserve: str | None = None

    @property
    def series(self) -> bool:
        """Whether states at given times are kept."""
        return len(self.times) > 2


@dataclass(frozen=True, eq=False)
class Members:
    """The data of all members, and how their motions are computed."""

    equations: Equations
    groups: tuple[Group, ...]
    values: Array
    """The values of the parameters, one row per member."""
    inputs: Mapping[str, Expr]
    settings: Settings

    @staticmethod
    def of(read: Given, settings: Settings, equations: Equations, without: frozenset[str]) -> Members:
        """The members that were read, of the equations as stated; `without` names guesses that are not the user's."""
        groups = tuple(
            replace(group, guess={z: v for z, v in group.guess.items() if z.name not in without}) if without else group
            for group in read.groups
        )
        return Members(equations, groups, read.batch.p[:, : len(equations.system.parameters)], read.given_inputs, settings)

    def motion(self, member: int, keep: str = "steps") -> Trajectory:
        """The motion of a member, bit for bit the one of the ensemble."""
        group = next(group for group in self.groups if member in group.members)
        data, asked = group.data(member), self.settings
        start = State({z.name: v for z, v in data.fixed.items()} | dict(asked.texts), {z.name: v for z, v in data.guess.items()})
        names = [str(z.name) for z in self.equations.system.parameters]
        return simulate(
            self.equations,
            start,
            asked.times,
            parameters=dict(zip(names, map(float, self.values[member]), strict=True)),
            inputs={**self.inputs, **asked.sampled},
            **asked.accuracy.wish,
            method=asked.method,
            events=asked.events,
            branch=asked.branch,
            gauge=asked.gauge,
            slopes=asked.slopes,
            conserve=asked.conserve,
            keep=keep,
            max_steps=asked.max_steps,
            max_step=asked.max_step,
            progress=False,
        )


def follow_alone(members: Members, some: Iterable[int], workers: Workers) -> tuple[dict[int, Trajectory], Notes]:
    """Return the motions of some members by `simulate`, one after another, and notes for those without one.

    These are members that meet a corner of sign, abs, min or max, or whose checks fail; and all members, where there are events or another
    method than the usual one. Ctrl-C ends the current motion and starts no other.
    """
    motions: dict[int, Trajectory] = {}
    notes: Notes = {}
    for member in some:
        if workers.stopped:
            break
        try:
            motions[member] = members.motion(member, "steps" if members.settings.series else "final")
        except ChetaevError as refused:
            notes[member] = refusal(refused)
            continue
        except Interrupted as stopped:
            motions[member] = stopped.motion
            workers.flag[0] = 1
        except KeyboardInterrupt:  # before the motion began
            workers.flag[0] = 1
        workers.show()
    return motions, notes
