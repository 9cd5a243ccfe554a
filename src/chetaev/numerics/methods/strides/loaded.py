"""The compiled strides, loaded on first use."""

from __future__ import annotations

from pathlib import Path

from chetaev.numerics.machine.precompiled import Precompiled
from chetaev.numerics.methods.dop853.loaded import LOOP

_HERE = Path(__file__)
_IN_PYTHON = ("__init__.py", "loaded.py")
"""Files that the machine code does not depend on."""

STRIDES = Precompiled(
    "chetaev.numerics.methods.strides.loop",
    ("series_trial", "series_stride", "radau_trial", "radau_stride"),
    sorted({*LOOP.sources, *set(_HERE.parent.glob("*.py")) - {_HERE.with_name(name) for name in _IN_PYTHON}}),
)
