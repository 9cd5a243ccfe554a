"""Ctrl-C during a simulation: the loop of the user ends as any other does, and what was computed is not lost."""

from __future__ import annotations

from typing import Any


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, with what was computed until then: `motion` is a Trajectory, or the Ensemble of `simulate_many`.

    Its outcome is `interrupted`. As a KeyboardInterrupt it is not caught by `except Exception`, and ends loops around simulations.
    """

    def __init__(self, motion: Any) -> None:
        super().__init__("the simulation was interrupted; what was computed is the attribute motion of this exception")
        self.motion = motion

    def __reduce__(self) -> tuple[Any, ...]:
        return Interrupted, (self.motion,)
