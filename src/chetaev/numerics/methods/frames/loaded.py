"""The compiled loop that carries a frame, loaded on first use."""

from __future__ import annotations

from pathlib import Path

from chetaev.numerics.machine import precompiled
from chetaev.numerics.machine.precompiled import Precompiled
from chetaev.numerics.methods.dop853 import codes
from chetaev.numerics.methods.dop853 import types as dop853_types

_HERE = Path(__file__)

FRAME_LOOP = Precompiled(
    "chetaev.numerics.methods.frames.loop",
    ("carry",),
    [
        _HERE.with_name("loop.py"),
        _HERE.with_name("types.py"),
        Path(codes.__file__),
        Path(dop853_types.__file__),
        *(Path(precompiled.__file__).with_name(name) for name in ("lane_rows.py", "processor.py")),
    ],
)
