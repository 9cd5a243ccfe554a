"""Files are whole: killed at any moment, or on a full disk, the old one stays; names say what is inside."""

import os
import resource
import signal
import stat
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas
import pytest
from scipy.io import loadmat

import chetaev as ch
from chetaev.core.support import files
from chetaev.numerics.machine import precompiled

SYSTEM = ch.System("x", "k", lagrangian="x'^2/2 - k*x^2/2", name="spring")
MODEL = ch.Model(SYSTEM, ch.Hamilton(), {"k": 1.0}, {"x": 1.0, "x'": 0.0}, t=(0.0, 1.0))


@pytest.fixture(scope="module")
def motion():
    return ch.simulate(MODEL)


@pytest.fixture(scope="module")
def page(motion):
    return ch.Report("spring", "<!DOCTYPE html>" + "<p>" * 100, ch.analyze(MODEL), motion)


@contextmanager
def full_disk(room):
    """Limit the size of every file to the given number of bytes: the operating system refuses to write more.

    Compiled modules are not written meanwhile: Python does not look how much of one was written, and could not import it again.
    """
    before, writes = resource.getrlimit(resource.RLIMIT_FSIZE), sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        sys.dont_write_bytecode = writes


def only_the_old_one(path):
    """The old file is there, and nothing beside it."""
    return path.read_bytes() == b"old" and [one.name for one in path.parent.iterdir()] == [path.name]


WRITERS = {
    "motion.npz": lambda m, r, path: m.save(path),
    "motion.csv": lambda m, r, path: m.save(path),
    "motion.nc": lambda m, r, path: m.save(path),
    "model.toml": lambda m, r, path: ch.save(MODEL, path),
    "page.html": lambda m, r, path: r.save(path),
    "film.html": lambda m, r, path: ch.animate(m, seconds=1).save(path),
    "film.gif": lambda m, r, path: ch.animate(m, seconds=0.2).save(path, width=100),
    "film.mp4": lambda m, r, path: ch.animate(m, seconds=0.2).save(path, width=100),
    "film.png": lambda m, r, path: ch.animate(m, seconds=0.2).save(path, width=100),
    "plot.svg": lambda m, r, path: ch.plot.series(m).savefig(path),
    "frame.png": lambda m, r, path: ch.animate(m, seconds=0.2).frame().savefig(path),
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_leaves_the_old_file_whole(motion, page, name, tmp_path):
    path = tmp_path / name
    path.write_bytes(b"old")
    with full_disk(100), pytest.raises((ch.ChetaevError, OSError)) as told:
        WRITERS[name](motion, page, path)
    assert only_the_old_one(path), told.value
    WRITERS[name](motion, page, path)
    assert path.read_bytes() != b"old" and len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("line", ["derive spring.toml --code c -o old", "derive spring.toml -o old", "gallery write sleigh old --force"])
def test_the_command_line_leaves_the_old_file_whole(line, tmp_path, monkeypatch):
    from click.testing import CliRunner

    from chetaev.cli import application

    monkeypatch.chdir(tmp_path)
    ch.save(MODEL, "spring.toml")
    Path("old").write_text("old")
    with full_disk(20):
        found = CliRunner().invoke(application, line.split())
    assert found.exit_code == 2 and "cannot be written" in found.stderr
    assert Path("old").read_text() == "old" and sorted(p.name for p in tmp_path.iterdir()) == ["old", "spring.toml"]


KILLED = """
import os, signal, sys
import chetaev as ch
from chetaev.core.support import files

def killed(*_):
    os.kill(os.getpid(), signal.SIGKILL)

model = ch.Model(ch.System("x", lagrangian="x'^2/2"), ch.Hamilton(), {}, {"x": 1, "x'": 0}, t=(0, 1))
thing = ch.simulate(model) if sys.argv[1].endswith("npz") else model
setattr(*{"sync": (os, "fsync", killed), "rename": (os, "replace", killed)}[sys.argv[2]])
ch.save(thing, sys.argv[1])
"""


@pytest.mark.parametrize(("name", "moment"), [("motion.npz", "sync"), ("model.toml", "rename")])
def test_a_process_killed_while_it_writes_leaves_the_old_file_whole(name, moment, motion, tmp_path):
    path = tmp_path / name
    ch.save(motion if name == "motion.npz" else MODEL, path)
    before = path.read_bytes()
    found = subprocess.run([sys.executable, "-c", KILLED, str(path), moment], capture_output=True)  # noqa: S603 - our own text
    assert found.returncode == -signal.SIGKILL, found.stderr
    assert path.read_bytes() == before
    assert str(ch.load(path)) == str(motion if name == "motion.npz" else MODEL)
    assert len(list(tmp_path.iterdir())) == 2  # what the killed process had begun
    ch.save(motion if name == "motion.npz" else MODEL, path)
    assert list(tmp_path.iterdir()) == [path]


def test_what_another_is_writing_is_left_alone(tmp_path):
    path = tmp_path / "a.txt"
    (tmp_path / ".a.0123456789ab.txt").write_text("left behind")
    (tmp_path / ".a.notatemporary.txt").write_text("the user's own")
    with files.replacing(path) as first:
        first.write_text("first")
        files.write_text(path, "second")
        assert first.read_text() == "first" and path.read_text() == "second"
    assert path.read_text() == "first"
    assert sorted(one.name for one in tmp_path.iterdir()) == [".a.notatemporary.txt", "a.txt"]


@pytest.mark.parametrize("name", ["\ud800.npz", "a\0b.npz", "\ud800.toml", "a\0b.toml"])
def test_a_name_that_no_file_can_have_is_refused(motion, name, tmp_path):
    for verb in (lambda path: ch.save(motion if name.endswith("npz") else MODEL, path), ch.load):
        with pytest.raises(ch.ModelError, match=r"cannot be (written|read)"):
            verb(str(tmp_path / name))
    assert not list(tmp_path.iterdir())


def test_what_was_written_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    order = []
    fsync, rename = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda handle: (order.append("sync"), fsync(handle))[1])
    monkeypatch.setattr(os, "replace", lambda a, b: (order.append("rename"), rename(a, b))[1])
    files.write_text(tmp_path / "a.txt", "new")
    assert order == ["sync", "rename", "sync"]  # the file, its name, the folder


def test_links_permissions_and_folders(tmp_path):
    (tmp_path / "folder").mkdir()
    real, link = tmp_path / "folder" / "real.txt", tmp_path / "link.txt"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    files.write_text(link, "new")
    assert link.is_symlink() and real.read_text() == "new" and stat.S_IMODE(real.stat().st_mode) == 0o640
    files.write_text(tmp_path / "fresh.txt", "new")
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE((tmp_path / "fresh.txt").stat().st_mode) == 0o666 & ~umask
    with pytest.raises(IsADirectoryError):
        files.write_text(tmp_path / "folder", "new")
    files.write_text("/dev/null", "new")  # what is no file is written to, not replaced
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    files.write_text(tmp_path / ("n" * 250), "new")
    assert (tmp_path / ("n" * 250)).read_text() == "new"


def test_an_exception_while_writing_leaves_no_traces(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"old")

    def interrupted():
        with files.replacing(tmp_path / "a.txt") as beside:
            beside.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert only_the_old_one(tmp_path / "a.txt")


# ------------------------------------------------------------ endings


@pytest.mark.parametrize("name", ["x.m", "x.json", "plain", "x.npy", "x.npz.gz", "x.xlsx", "x.html"])
def test_a_motion_is_not_written_under_a_name_that_says_something_else(motion, name, tmp_path):
    with pytest.raises(ch.UsageError, match="are not written") as told:
        motion.save(tmp_path / name)
    assert ".npz" in told.value.hint and not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["x.json", "x.npz", "x.yaml", "plain"])
def test_a_model_is_not_written_under_a_name_that_says_something_else(name, tmp_path):
    with pytest.raises(ch.UsageError, match="are not written"):
        ch.save(MODEL, tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["x.pdf", "x.tex", "plain", "x.md"])
def test_a_report_is_not_written_under_a_name_that_says_something_else(page, name, tmp_path):
    with pytest.raises(ch.UsageError, match="are not written"):
        page.save(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_matlab_file_has_the_table(motion, tmp_path):
    found = loadmat(motion.save(tmp_path / "a.mat", points=7), squeeze_me=True)
    assert list(found["names"]) == ["x", "x'", "x''"] and found["t"].shape == (7,) and str(found["outcome"]) == "finished"
    np.testing.assert_array_equal(found["values"], np.column_stack([motion.at(found["t"])[name] for name in ("x", "x'", "x''")]))


def test_a_parquet_file_has_the_table_or_its_package_is_named(motion, tmp_path):
    if find_spec("pyarrow") is None:
        with pytest.raises(ch.UsageError, match="needs the package pyarrow"):
            motion.save(tmp_path / "a.parquet")
        assert not list(tmp_path.iterdir())
        return
    found = pandas.read_parquet(motion.save(tmp_path / "a.parquet"))
    assert list(found) == ["t", "x", "x'", "x''"]
    np.testing.assert_array_equal(found["x''"], motion["x''"])


def test_files_are_what_their_endings_say(motion, tmp_path):
    assert motion.save(tmp_path / "a.NPZ").read_bytes()[:4] == b"PK\x03\x04"
    lines = motion.save(tmp_path / "a.csv").read_text().splitlines()
    assert lines[0] == "t,x,x',x''" and len(lines) == 1 + len(motion.t)
    assert [float(v) for v in lines[-1].split(",")] == [1.0, *(motion.final[name] for name in ("x", "x'", "x''"))]
    assert len(motion.save(tmp_path / "b.csv", points=7).read_text().splitlines()) == 8
    assert motion.save(tmp_path / "a.nc").read_bytes()[:3] == b"CDF"
    assert ch.save(motion, tmp_path / "b.npz").read_bytes() == (tmp_path / "a.NPZ").read_bytes()
    assert str(ch.load(tmp_path / "b.npz")) == str(motion)
    (tmp_path / "c.toml").write_bytes((tmp_path / "b.npz").read_bytes())
    with pytest.raises(ch.ModelError, match="this is an archive, not a text"):
        ch.load(tmp_path / "c.toml")


# ------------------------------------------------------------ pipes and devices


def test_a_pipe_to_which_nobody_writes_does_not_hang(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_SECONDS_FOR_WRITER", 0.1)
    os.mkfifo(tmp_path / "pipe.toml")
    os.mkfifo(tmp_path / "pipe.npz")
    for name in ("pipe.toml", "pipe.npz"):
        with pytest.raises(ch.ModelError, match="it is a pipe"):
            ch.load(tmp_path / name)
    with pytest.raises(ch.ModelError, match="cannot be read"):
        ch.load(tmp_path)
    with pytest.raises(ch.ModelError, match="more than"):
        ch.load("/dev/zero")


@pytest.mark.parametrize("slowly", [False, True])
def test_a_pipe_with_a_writer_is_read_to_its_end(slowly, tmp_path):
    """As a shell's `<(...)`; also if the writer takes its time."""
    pipe, text = tmp_path / "pipe.toml", ch.save(MODEL, tmp_path / "model.toml").read_bytes()
    os.mkfifo(pipe)

    def write():
        with open(pipe, "wb", buffering=0) as stream:
            time.sleep(0.1 if slowly else 0.0)
            for k in range(0, len(text), 100):
                stream.write(text[k : k + 100])

    writer = threading.Thread(target=write)
    writer.start()
    assert ch.load(pipe) == MODEL
    writer.join()


# ------------------------------------------------------------ the cache of machine code


@pytest.mark.parametrize(
    ("folder_mode", "file_mode", "used"), [(0o700, 0o644, True), (0o777, 0o644, False), (0o770, 0o600, False), (0o700, 0o666, False)]
)
def test_code_that_others_could_have_written_is_not_run(folder_mode, file_mode, used, tmp_path):
    code = precompiled.Code({"f": "int"}, [], b"code")
    file = tmp_path / "kept" / "loop.o"
    file.parent.mkdir()
    file.write_bytes(code.packed())
    file.chmod(file_mode)
    file.parent.chmod(folder_mode)
    assert precompiled._read(file, made_here=True) == (code if used else None)


def test_code_is_kept_in_private_folders_only(tmp_path, monkeypatch):
    shared, own = tmp_path / "shared", tmp_path / "own"
    shared.mkdir()
    shared.chmod(0o777)
    monkeypatch.setattr(precompiled, "_folders", lambda: [shared, own])
    precompiled._write("loop.o", b"code")
    assert not list(shared.iterdir()) and (own / "loop.o").read_bytes() == b"code"
    assert stat.S_IMODE(own.stat().st_mode) == 0o700 and stat.S_IMODE((own / "loop.o").stat().st_mode) == 0o644


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only an administrator can give files away")
def test_code_of_another_user_is_not_run(tmp_path):
    file = tmp_path / "loop.o"
    file.write_bytes(precompiled.Code({}, [], b"code").packed())
    tmp_path.chmod(0o700)
    assert precompiled._read(file, made_here=True) is not None
    os.chown(file, 12345, 12345)
    assert precompiled._read(file, made_here=True) is None
