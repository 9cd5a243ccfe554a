"""Exit codes of verbs that simulate."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from chetaev.cli.session import DONE, UNFINISHED


def code_of(motions: Iterable[Any]) -> int:
    """Done if every motion reached its end or an event that ends it."""
    return DONE if all(str(motion.outcome) in ("finished", "event") for motion in motions) else UNFINISHED
