"""The compiled loop over lanes, and what is evaluated at all members, loaded on first use."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from chetaev.numerics.machine import precompiled
from chetaev.numerics.machine.engine import bind
from chetaev.numerics.machine.precompiled import Precompiled
from chetaev.numerics.methods.dop853.loaded import LOOP

_HERE = Path(__file__)
_ELSEWHERE = ("__init__.py", "at_members.py", "blocks.py", "held_rows.py", "loaded.py", "stages.py", "together.py")
"""Files that the machine code of the loop does not depend on."""

_BUILDING_BLOCKS = ("lane_rows.py", "processor.py")
"""Files of the machine room that it depends on, besides those of every loop."""


class _Lanes(Precompiled):
    """Code in which LLVM has made calls of these functions, on some kinds of machine."""

    def _loaded(self) -> dict[str, Callable[..., None]]:
        for name in ("memset", "fmod"):
            bind(name)  # not every system has them where the engine looks for them
        return super()._loaded()


LANE_LOOP = _Lanes(
    "chetaev.numerics.methods.lanes.loop",
    ("integrate_lanes",),
    sorted(
        {*_HERE.parent.glob("*.py"), *LOOP.sources, *(Path(precompiled.__file__).with_name(name) for name in _BUILDING_BLOCKS)}
        - {_HERE.with_name(name) for name in _ELSEWHERE}
    ),
)

AT_MEMBERS = Precompiled(
    "chetaev.numerics.methods.lanes.at_members",
    ("evaluate_members", "extend_members", "check_ends", "compare_inside"),
    sorted(
        {
            _HERE.with_name("at_members.py"),
            _HERE.with_name("held_rows.py"),
            _HERE.with_name("layout.py"),
            *(Path(precompiled.__file__).with_name(name) for name in _BUILDING_BLOCKS),
            *(file for file in LOOP.sources if file.name in ("codes.py", "types.py")),
        }
    ),
)
