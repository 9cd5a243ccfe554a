"""Exit codes of verbs that simulate."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from chetaev.cli.session import DONE, INTERRUPTED, UNFINISHED


def code_of(motions: Iterable[Any]) -> int:
    """Done if every motion reached its end or an event that ends it; Ctrl-C counts before any other end."""
    outcomes = [motion.outcome for motion in motions]
    if "interrupted" in outcomes:
        return INTERRUPTED
    return DONE if all(outcome.reached_end for outcome in outcomes) else UNFINISHED
