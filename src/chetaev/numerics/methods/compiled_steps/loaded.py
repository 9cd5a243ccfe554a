"""The compiled strides, loaded on first use."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from chetaev.numerics.machine.engine import bind
from chetaev.numerics.machine.precompiled import Precompiled
from chetaev.numerics.methods.dop853.loaded import LOOP

_HERE = Path(__file__)
_IN_PYTHON = ("__init__.py", "loaded.py")
"""Files that the machine code does not depend on."""


class _Strides(Precompiled):
    """Code in which LLVM has made calls of `memset` out of loops that write zeros."""

    def _loaded(self) -> dict[str, Callable[..., None]]:
        bind("memset")  # not every system has it where the engine looks for it
        return super()._loaded()


STRIDES = _Strides(
    "chetaev.numerics.methods.compiled_steps.loop",
    ("series_trial", "series_stride", "radau_trial", "radau_stride"),
    sorted({*LOOP.sources, *set(_HERE.parent.glob("*.py")) - {_HERE.with_name(name) for name in _IN_PYTHON}}),
)
