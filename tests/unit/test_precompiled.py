"""Code that is compiled once and loaded from disk: it is found again, made anew when something changed, and checked before it is called."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from chetaev.core.errors import UsageError
from chetaev.numerics.machine import precompiled, processor
from chetaev.numerics.machine.precompiled import Code, Precompiled
from chetaev.numerics.machine.processor import TARGETS, WIDE_TARGETS, targets_to_build, this_target

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
    monkeypatch.setattr(precompiled, "_built", lambda: tmp_path / "built")
    return tmp_path


def kept_in(folder):
    """The machine code and the bitcode that were kept."""
    return sorted((folder / "missing" / "kept").glob("*"), key=lambda file: file.suffix, reverse=True)


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
    before = [file.stat().st_mtime_ns for file in kept_in(folder)]
    assert len(before) == 2
    assert call(lines_of(folder, "straight", 10)) == [[4.0, 17.0], [5.0, 18.0]]
    assert [file.stat().st_mtime_ns for file in kept_in(folder)] == before


def test_loaded_without_numba(folder):
    """A new process loads the stored code and does not import numba."""
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


MAGIC = {
    "linux-x86-64": b"\x7fELF\x02\x01",
    "linux-arm64": b"\x7fELF\x02\x01",
    "darwin-x86-64": (0xFEEDFACF).to_bytes(4, "little") + (0x01000007).to_bytes(4, "little"),
    "darwin-arm64": (0xFEEDFACF).to_bytes(4, "little") + (0x0100000C).to_bytes(4, "little"),
    "win32-x86-64": (0x8664).to_bytes(2, "little"),
}
"""How object files begin: ELF of 64 bits, Mach-O with its processor, COFF."""
ELF_MACHINES = {"linux-x86-64": 62, "linux-arm64": 183}


def test_a_wheel_holds_machine_code_for_every_kind_of_machine_and_bitcode(folder):
    (folder / "built").mkdir()
    made = lines_of(folder, "everywhere", 10).build(folder / "built", TARGETS)
    bitcode, *objects = [Code.unpacked(file.read_bytes()).code for file in made]
    assert bitcode.startswith(b"BC\xc0\xde")
    for target, code in zip(TARGETS, objects, strict=True):
        kind = target.name.removesuffix("-v3")
        assert code.startswith(MAGIC[kind])
        assert kind not in ELF_MACHINES or int.from_bytes(code[18:20], "little") == ELF_MACHINES[kind]


def test_a_wheel_holds_nothing_that_was_kept(folder):
    """What was kept is made for the registers of this processor; a wheel is for others too."""
    call(lines_of(folder, "own", 20))
    _, kept = kept_in(folder)
    kept.write_bytes(replace(Code.unpacked(kept.read_bytes()), code=b"for this processor").packed())
    (made,) = lines_of(folder, "own", 20).build(folder, [])
    assert Code.unpacked(made.read_bytes()).code.startswith(b"BC\xc0\xde")
    assert len(kept_in(folder)) == 2


def test_a_wheel_for_this_machine_only(monkeypatch):
    assert targets_to_build() == TARGETS and targets_to_build(wide=True) == TARGETS + WIDE_TARGETS
    monkeypatch.setenv("CHETAEV_BUILD_FOR", "host")
    assert targets_to_build() == ((this_target(),) if this_target() else ())
    monkeypatch.setattr(processor, "wide_target", lambda: None)
    assert targets_to_build(wide=True) == targets_to_build()
    monkeypatch.setattr(processor, "wide_target", lambda: WIDE_TARGETS[0])
    assert targets_to_build(wide=True) == WIDE_TARGETS[:1] and targets_to_build() != WIDE_TARGETS[:1]


OLDER = next((t for t in TARGETS if this_target() is not None and f"{t.name}-v3" == this_target().name), this_target())
"""The kind of machine that this one includes."""


@pytest.mark.skipif(this_target() is None, reason="no machine code is built for this kind of machine")
@pytest.mark.parametrize("target", dict.fromkeys([this_target(), OLDER]))
def test_installed_code_is_used_as_it_is(folder, monkeypatch, target):
    (folder / "built").mkdir()
    lines_of(folder, f"installed_{target is OLDER}", 30 + (target is OLDER)).build(folder / "built", [target])
    monkeypatch.setattr(precompiled, "this_target", lambda: target)
    monkeypatch.setattr(precompiled, "object_for", lambda *_: pytest.fail("something was compiled"))
    assert call(lines_of(folder, f"installed_{target is OLDER}", 30 + (target is OLDER)))[0] == [4.0, 37.0 + (target is OLDER)]
    assert not kept_in(folder)


@pytest.mark.skipif(this_target() is None, reason="no machine code is built for this kind of machine")
def test_code_for_wider_registers_is_preferred_where_it_is_installed(folder, monkeypatch):
    (folder / "built").mkdir()
    wider = replace(this_target(), name="wider")
    lines_of(folder, "wide", 90).build(folder / "built", [wider])
    monkeypatch.setattr(precompiled, "wide_target", lambda: wider)
    monkeypatch.setattr(precompiled, "object_for", lambda *_: pytest.fail("something was compiled"))
    assert call(lines_of(folder, "wide", 90))[0] == [4.0, 97.0] and not kept_in(folder)


def test_bitcode_serves_machines_of_other_kinds(folder, monkeypatch):
    (folder / "built").mkdir()
    lines_of(folder, "foreign", 50).build(folder / "built", [])
    monkeypatch.setattr(precompiled, "this_target", lambda: None)
    monkeypatch.setattr(Precompiled, "_compiled", lambda self: pytest.fail("numba compiled"))
    assert call(lines_of(folder, "foreign", 50))[0] == [4.0, 57.0]
    assert len(kept_in(folder)) == 1


def test_without_numba_a_message_says_what_to_install(folder, monkeypatch):
    for module in [name for name in sys.modules if name.partition(".")[0] == "numba" or name == "chetaev.numerics.machine.compiling"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "numba", None)
    with pytest.raises(UsageError, match="numba, which compiles it, is not installed") as caught:
        call(lines_of(folder, "lonely", 60))
    assert "pip install numba" in str(caught.value)


@pytest.mark.parametrize("where", ["terminal", "notebook", "pipe"])
def test_compiling_is_announced_where_somebody_reads_it(folder, monkeypatch, capsys, where):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: where == "terminal", raising=False)
    if where == "notebook":
        monkeypatch.setitem(sys.modules, "ipykernel", ModuleType("ipykernel"))
    call(lines_of(folder, f"announced_{where}", 70 + len(where)))
    assert ("compiles its stepping loop" in capsys.readouterr().err) is (where != "pipe")


@pytest.mark.parametrize(
    ("system", "machine", "features", "name"),
    [
        ("linux", "x86_64", "+sse2,+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe", "linux-x86-64-v3"),
        ("linux", "x86_64", "+sse2,+avx,-avx2,+fma", "linux-x86-64"),
        ("win32", "AMD64", "", "win32-x86-64"),
        ("darwin", "arm64", "", "darwin-arm64"),
        ("linux", "aarch64", "+neon", "linux-arm64"),
        ("linux", "riscv64", "", None),
        ("freebsd14", "amd64", "", None),
    ],
)
def test_the_kind_of_a_machine(monkeypatch, system, machine, features, name):
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(processor.platform, "machine", lambda: machine)
    monkeypatch.setattr(processor, "name_and_features", lambda: ("any", features))
    found = processor.this_target()
    assert (found and found.name) == name and processor.wide_target() is None


def test_registers_of_512_bits_are_a_kind_of_their_own(monkeypatch):
    older = "+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe"
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(processor.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(processor, "name_and_features", lambda: ("any", f"{older},+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl"))
    assert (processor.wide_target().name, processor.this_target().name) == ("linux-x86-64-v4", "linux-x86-64-v3")
    monkeypatch.setattr(processor, "name_and_features", lambda: ("any", f"{older},+avx512f"))
    assert processor.wide_target() is None


def test_a_changed_source_is_compiled_again(folder):
    assert call(lines_of(folder, "first", 10))[0] == [4.0, 17.0]
    changed = lines_of(folder, "second", 20)
    assert call(changed)[0] == [4.0, 27.0]
    assert Precompiled("m", [], [folder / "first.py"])._digest != Precompiled("m", [], [folder / "second.py"])._digest


def test_half_a_file_is_not_loaded(folder):
    functions = lines_of(folder, "damaged", 10)
    call(functions)
    kept, _ = kept_in(folder)
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


@pytest.mark.parametrize("place", ["installed", "kept"])
def test_bitcode_of_a_newer_llvm_is_made_again(folder, monkeypatch, place):
    """Two environments share a folder, or an installed package was built with a newer LLVM: ours cannot read its bitcode."""
    monkeypatch.setattr(precompiled, "this_target", lambda: None)
    (folder / "built").mkdir()
    name = f"newer_{place}"
    if place == "installed":
        (file,) = lines_of(folder, name, 80).build(folder / "built", [])
    else:
        call(lines_of(folder, name, 80))
        machine_code, file = kept_in(folder)
        machine_code.unlink()
    code = Code.unpacked(file.read_bytes())
    file.write_bytes(replace(code, code=b"BC\xc0\xde of a future LLVM").packed())
    assert call(lines_of(folder, name, 80))[0] == [4.0, 87.0]
    assert len(kept_in(folder)) == 2


def test_environments_with_other_versions_of_llvm_keep_their_own_files(folder, monkeypatch):
    call(lines_of(folder, "shared", 90))
    monkeypatch.setattr(precompiled.llvmlite, "__version__", "0.0")
    call(lines_of(folder, "shared", 90))
    assert [file.suffix for file in kept_in(folder)] == [".o", ".o", ".bc", ".bc"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only an administrator can make the links of another user")
def test_links_of_another_user_are_not_followed(tmp_path):
    own, shared = tmp_path / "own", tmp_path / "shared"
    own.mkdir(mode=0o700)
    shared.mkdir(mode=0o700)
    (own / "loop.o").write_bytes(precompiled.Code({}, [], b"code").packed())
    (shared / "folder").symlink_to(own)
    (shared / "loop.o").symlink_to(own / "loop.o")
    for link, file in ((shared / "folder", shared / "folder" / "loop.o"), (shared / "loop.o", shared / "loop.o")):
        assert precompiled._read(file, made_here=True) is not None
        os.chown(link, 12345, 12345, follow_symlinks=False)
        assert precompiled._read(file, made_here=True) is None


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


def test_what_a_wheel_is_built_with_needs_no_package_besides_the_build_requirements():
    """`hatch_build.py` imports the loops in an environment with numba, llvmlite and NumPy alone."""
    absent = "import sys; sys.modules.update(dict.fromkeys(('casadi', 'sympy', 'mpmath', 'scipy', 'click', 'rich', 'tqdm')))"
    wanted = "from chetaev.numerics.methods import loops; print(loops.build.__name__)"
    done = subprocess.run([sys.executable, "-c", f"{absent}; {wanted}"], capture_output=True, text=True, check=False)  # noqa: S603
    assert (done.stdout, done.stderr) == ("build\n", "")
