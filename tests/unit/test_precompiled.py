"""Code that is compiled once and loaded from disk: it is found again, made anew when something changed, and checked before it is called."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from chetaev.numerics.machine import precompiled
from chetaev.numerics.machine.precompiled import Code, Precompiled

SOURCE = """
from __future__ import annotations
from typing import Annotated, NamedTuple
import numpy as np
from numpy.typing import NDArray

class Line(NamedTuple):
    slope: float
    points: NDArray[np.float64]
    counts: NDArray[np.int64]

def lines(shift: int, line: Line, out: Annotated[NDArray[np.float64], 2]) -> None:
    for i in range(line.points.size):
        out[i, 0] = line.slope * line.points[i] + shift
        out[i, 1] = line.counts[i] + FACTOR
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(precompiled, "_folders", lambda: [tmp_path / "missing" / "kept"])
    return tmp_path


def lines_of(folder, name, factor):
    file = folder / f"{name}.py"
    file.write_text(SOURCE.replace("FACTOR", str(factor)))
    return Precompiled(name, ["lines"], [file])


def call(functions):
    out = np.zeros((2, 2))
    functions.lines(3, (0.5, np.array([2.0, 4.0]), np.array([7, 8])), out)
    return out.tolist()


def test_compiled_once_then_loaded(folder):
    assert call(lines_of(folder, "straight", 10)) == [[4.0, 17.0], [5.0, 18.0]]
    (kept,) = (folder / "missing" / "kept").iterdir()
    before = kept.stat().st_mtime_ns
    assert call(lines_of(folder, "straight", 10)) == [[4.0, 17.0], [5.0, 18.0]]
    assert kept.stat().st_mtime_ns == before


def test_loaded_without_numba(folder):
    """In a new process the code is there, and nobody imports numba."""
    call(lines_of(folder, "elsewhere", 10))
    program = (
        "import sys\nfrom pathlib import Path\nimport numpy as np\nfrom chetaev.numerics.machine import precompiled\n"
        f"folder = Path({str(folder)!r})\nprecompiled._folders = lambda: [folder / 'missing' / 'kept']\n"
        "found = precompiled.Precompiled('elsewhere', ['lines'], [folder / 'elsewhere.py'])\nout = np.zeros((1, 2))\n"
        "found.lines(1, (2.0, np.array([3.0]), np.array([4])), out)\nprint(out.tolist(), 'numba' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout == "[[7.0, 14.0]] False\n"


def test_a_simulation_needs_no_numba():
    """Once the loop is on disk, which it is after the first line."""
    program = (
        "import sys, chetaev as ch\nmodel = ch.gallery('sleigh')\nch.simulate(model)\n"
        "starts = {'x': [0, 1], 'y': 0, 'theta': 0.4, \"x'\": 0.2, \"theta'\": [0.5, 1]}\n"
        "ch.simulate_many(ch.derive(model), starts, (0, 1), parameters=model.parameters)\n"
        "print('numba' in sys.modules)\n"
    )
    for expected in (None, "False\n"):
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)  # noqa: S603
        assert expected in (None, done.stdout)


def test_a_changed_source_is_compiled_again(folder):
    assert call(lines_of(folder, "first", 10))[0] == [4.0, 17.0]
    changed = lines_of(folder, "second", 20)
    assert call(changed)[0] == [4.0, 27.0]
    assert Precompiled("m", [], [folder / "first.py"])._digest() != Precompiled("m", [], [folder / "second.py"])._digest()


def test_half_a_file_is_not_loaded(folder):
    functions = lines_of(folder, "damaged", 10)
    call(functions)
    (kept,) = (folder / "missing" / "kept").iterdir()
    whole = kept.read_bytes()
    assert Code.unpacked(whole) is not None
    for part in (whole[:-1], whole[: len(whole) // 2], whole[:10], b"", whole.replace(b"lines", b"liens")):
        assert Code.unpacked(part) is None
    kept.write_bytes(whole[: len(whole) // 2])
    assert call(lines_of(folder, "damaged", 10))[0] == [4.0, 17.0]
    assert Code.unpacked(kept.read_bytes()) is not None


def test_a_folder_that_cannot_be_written(folder, monkeypatch):
    blocked = folder / "file"
    blocked.write_text("not a folder")
    monkeypatch.setattr(precompiled, "_folders", lambda: [blocked / "below"])
    assert call(lines_of(folder, "nowhere", 10))[0] == [4.0, 17.0]


def test_other_arguments_are_refused(folder):
    functions, out = lines_of(folder, "checked", 10), np.zeros((2, 2))
    good = (0.5, np.array([2.0, 4.0]), np.array([7, 8]))
    wrong = [
        (3.0, good, out),
        (3, (1, *good[1:]), out),
        (3, good, out[0]),
        (3, (0.5, good[2], good[1]), out),
        (3, (0.5, good[1].astype(np.float32), good[2]), out),
        (3, good),
        (3, good, out, out),
    ]
    for arguments in wrong:
        with pytest.raises(TypeError, match="lines takes int float f8:1 i8:1 f8:2, not"):
            functions.lines(*arguments)
    with pytest.raises(TypeError, match="contiguous"):
        functions.lines(3, good, out.T)
    with pytest.raises(AttributeError, match="no compiled function circles"):
        _ = functions.circles


@pytest.mark.parametrize(("platform", "variable", "place"), [("linux", "XDG_CACHE_HOME", "chetaev"), ("win32", "LOCALAPPDATA", "chetaev")])
def test_where_code_is_kept(tmp_path, monkeypatch, platform, variable, place):
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setenv(variable, str(tmp_path))
    beside, cache = precompiled._folders()
    assert beside == Path(precompiled.__file__).with_name("__pycache__")
    assert cache == tmp_path / place


def test_a_user_without_a_home(monkeypatch):
    def homeless(path):
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "expanduser", homeless)
    assert precompiled._folders() == [Path(precompiled.__file__).with_name("__pycache__")]
