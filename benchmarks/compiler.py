"""The hand-written C of `native/`, compiled with gcc and loaded with ctypes."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import DOP853

Array = NDArray[np.float64]

FLAGS = ("-O3", "-march=native")
_SOURCES = Path(__file__).with_name("native")
_STEPS = 10_000_000


@dataclass(frozen=True)
class Native:
    """A system in machine code made from C: the whole integration, and the right-hand side by itself."""

    library: Any
    p: Array

    def integrate(self, t: float, start: Array, tolerance: float) -> Array:
        """The state at t, from 0."""
        y = np.array(start, dtype=float)
        if self.library.integrate(0.0, t, y.ctypes.data, self.p.ctypes.data, tolerance, tolerance, _STEPS) < 0:
            raise RuntimeError("the C loop ran out of steps")
        return y

    def repeat(self, times: int, t: float, start: Array, tolerance: float) -> None:
        """The same integration several times."""
        self.library.repeat(times, t, start.ctypes.data, self.p.ctypes.data, tolerance, tolerance, _STEPS)

    @property
    def address(self) -> int:
        """Where the right-hand side is, `void f(double t, double* y, double* p, double* out)`."""
        return int(ctypes.cast(self.library.right_hand_side, ctypes.c_void_p).value or 0)


def compiled(name: str, p: Array, *defined: str) -> Native | None:
    """The C of a system, with names `defined` for its preprocessor, such as "LINKS=40"; None without gcc."""
    gcc = shutil.which("gcc")
    if gcc is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "stages.h").write_text(_stages())
        target = Path(folder, f"{name}.so")
        command = [
            gcc,
            *FLAGS,
            *[f"-D{each}" for each in defined],
            "-shared",
            "-fPIC",
            f"-I{folder}",
            f'-DSYSTEM="{name}.c"',
            "-o",
            str(target),
            str(_SOURCES / "dop853.c"),
        ]
        subprocess.run([*command, "-lm"], check=True)  # noqa: S603
        library = ctypes.CDLL(str(target))
    real, pointer = ctypes.c_double, ctypes.c_void_p
    library.integrate.argtypes = [real, real, pointer, pointer, real, real, ctypes.c_long]
    library.integrate.restype = ctypes.c_long
    library.repeat.argtypes = [ctypes.c_long, real, pointer, pointer, real, real, ctypes.c_long]
    library.repeat.restype = None
    return Native(library, np.array(p, dtype=float))


def version() -> str:
    """What gcc calls itself."""
    gcc = shutil.which("gcc")
    if gcc is None:
        return "no gcc"
    done = subprocess.run([gcc, "-dumpfullversion"], capture_output=True, text=True, check=True)  # noqa: S603
    return f"gcc {done.stdout.strip()} {' '.join(FLAGS)}"


def _stages() -> str:
    """The sums of SciPy's tableau as lines of C, without the zeros."""
    lines = []
    for s in range(1, 12):
        lines.append(f"for (int j = 0; j < N; j++) z[j] = y[j] + h * ({_sum(DOP853.A[s][:s])});")
        lines.append(f"rhs(t + {float(DOP853.C[s])!r} * h, z, p, k[{s}]);")
    lines.append(f"for (int j = 0; j < N; j++) end[j] = y[j] + h * ({_sum(DOP853.B)});")
    lines += [f"#define ERROR5 {_sum(DOP853.E5)}", f"#define ERROR3 {_sum(DOP853.E3)}"]
    return "\n".join(lines) + "\n"


def _sum(weights: Any) -> str:
    return " + ".join(f"{float(w)!r} * k[{i}][j]" for i, w in enumerate(weights) if w)
