"""Members that are run by `simulate`, one after another: those that meet a corner of sign, abs, min or max, which it locates and may slide
along; those whose checks fail; and all members, where there are events or another method than the usual one.
"""

from __future__ import annotations

from collections.abc import Iterable

from chetaev.core.errors import ChetaevError, Interrupted
from chetaev.numerics.ensemble.arguments import Notes, refusal
from chetaev.numerics.ensemble.members import Members
from chetaev.numerics.ensemble.threads import Workers
from chetaev.numerics.motion.trajectory import Trajectory


def follow_alone(members: Members, some: Iterable[int], workers: Workers) -> tuple[dict[int, Trajectory], Notes]:
    """Return the motions of some members, and notes for those without one. Ctrl-C ends the current motion and starts no other."""
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
