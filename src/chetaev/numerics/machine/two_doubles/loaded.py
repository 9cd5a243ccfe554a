"""The compiled arithmetic of pairs of doubles, loaded on first use."""

from __future__ import annotations

from pathlib import Path

from chetaev.numerics.machine.precompiled import Precompiled

TWO_DOUBLES = Precompiled(
    "chetaev.numerics.machine.two_doubles.arithmetic",
    ("run_program",),
    [Path(__file__).with_name(name) for name in ("arithmetic.py", "codes.py")],
)
