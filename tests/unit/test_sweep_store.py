"""Stores of sweeps: what happens when something goes wrong, and that nothing is lost then."""

import errno
import fcntl
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import tqdm.std

import chetaev as ch
from chetaev.core.support import files
from chetaev.numerics.machine import engine
from chetaev.sweeps import record, store, study
from chetaev.sweeps.lock import held, lock_path
from chetaev.sweeps.progress import Bar
from chetaev.sweeps.result import status
from sweeping import PENDULUM, contents

OVER = {"g": ch.grid(1, 8, 6), "th'": ch.grid(-1, 2, 4)}
MEASURE = {"end": "th", "speed": "th'"}


def run(path, **change):
    return ch.sweep(**({"model": PENDULUM, "over": OVER, "measure": MEASURE, "to": path, "chunk": 4} | change))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "chart.zarr"
    run(path)
    return path


@pytest.fixture
def copy(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "chart.zarr")


@pytest.fixture
def fails(monkeypatch):
    """Make the n-th file that is written fail."""

    def at(n, error):
        written = []

        def write(path, contents):
            written.append(path)
            if len(written) == n:
                raise error
            return files.write_bytes(path, contents)

        monkeypatch.setattr(store, "write_bytes", write)
        return written

    return at


@pytest.mark.parametrize("n", [1, 4, 9, 13, 20, 30])
def test_a_full_disk_is_said_and_the_same_call_resumes(n, whole, tmp_path, fails, monkeypatch):
    fails(n, OSError(errno.ENOSPC, "No space left on device"))
    with pytest.raises(ch.ChetaevError, match=r"disk is full[\s\S]*resumes"):
        run(tmp_path / "chart.zarr")
    kept = contents(tmp_path / "chart.zarr") if (tmp_path / "chart.zarr").exists() else {}
    monkeypatch.undo()
    run(tmp_path / "chart.zarr")
    found = contents(tmp_path / "chart.zarr")
    assert found == contents(whole)
    assert all(found[name] == text for name, text in kept.items())
    assert [path.name for path in tmp_path.iterdir()] == ["chart.zarr"]


@pytest.mark.parametrize("n", [1, 5, 12, 25])
def test_a_crash_at_any_file_leaves_a_store_that_resumes(n, whole, tmp_path, fails, monkeypatch):
    class Crash(BaseException):
        pass

    fails(n, Crash())
    with pytest.raises(BaseException):  # noqa: B017
        run(tmp_path / "chart.zarr")
    monkeypatch.undo()
    assert contents(run(tmp_path / "chart.zarr").path) == contents(whole)


def test_interrupted_sweeps_keep_their_chunks(whole, tmp_path, monkeypatch):
    own, chunks = study.Study.run, []

    def run_some(self, columns, threads, progress=False):
        chunks.append(len(chunks))
        if len(chunks) == 4:
            raise KeyboardInterrupt
        return own(self, columns, threads, progress)

    monkeypatch.setattr(study.Study, "run", run_some)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "chart.zarr")
    found = ch.open_sweep(tmp_path / "chart.zarr")
    assert found.chunks == (3, 6) and np.isnan(found["end"]).sum() == 12
    assert (found["outcome"] == "not_run").sum() == 12
    assert "no process works on it" in status(tmp_path / "chart.zarr")
    run(tmp_path / "chart.zarr")
    assert len(chunks) == 4 + 3 and contents(tmp_path / "chart.zarr") == contents(whole)


@pytest.mark.parametrize("name", ["end/c/2/0", "outcome/c/2/0", "done/c/2/0"])
@pytest.mark.parametrize("fault", ["flipped", "half", "missing"])
def test_a_damaged_chunk_is_named_and_can_be_computed_again(name, fault, copy, whole):
    file = copy / name
    before = bytearray(file.read_bytes())
    if fault == "missing":
        file.unlink()
    elif fault == "half":
        file.write_bytes(before[: len(before) // 2])
    else:
        before[len(before) // 2] ^= 1
        file.write_bytes(before)
    if name.startswith("done") and fault == "missing":
        assert ch.open_sweep(copy).chunks == (5, 6)
    else:
        damaged = contents(copy)
        for call in (ch.open_sweep, run):
            with pytest.raises(store.StoreError, match=r"1 damaged chunk[\s\S]*remove done/c/2/0 "):
                call(copy)
        assert contents(copy) == damaged
        (copy / "done/c/2/0").unlink()
    run(copy)
    assert contents(copy) == contents(whole)


@pytest.mark.parametrize("name", ["zarr.json", "end/zarr.json", "g/c/0", "done/zarr.json"])
def test_every_flipped_byte_elsewhere_is_noticed(name, copy):
    file = copy / name
    before = file.read_bytes()
    for k in np.random.default_rng(0).choice(len(before), size=12, replace=False):
        changed = bytearray(before)
        changed[k] ^= 1
        file.write_bytes(changed)
        try:
            found = ch.open_sweep(copy)
        except ch.ChetaevError:
            continue
        assert name.endswith("zarr.json")  # a byte that says nothing about the results
        assert found["end"].tolist() == ch.sweep(PENDULUM, OVER, MEASURE, to=copy)["end"].tolist()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"model": replace(PENDULUM, parameters={"g": 2, "c": 0.2})}, "the model differs"),
        ({"model": replace(PENDULUM, tolerance=1e-8)}, "the model differs"),
        ({"over": {"g": ch.grid(1, 9, 6), "th'": ch.grid(-1, 2, 4)}}, "values of g"),
        ({"over": {"g": ch.grid(1, 8, 6)}}, "the points differ"),
        ({"measure": {"end": "th", "speed": "2*th'"}}, "measures differ"),
        ({"measure": {"end": "th"}}, "measures differ"),
        ({"chunk": 8}, "size of the chunks"),
    ],
)
def test_a_store_of_another_sweep_is_refused_and_stays(change, words, copy):
    before = contents(copy)
    with pytest.raises(ch.UsageError, match=rf"holds another sweep[\s\S]*{words}|{words}"):
        run(copy, **change)
    assert contents(copy) == before


def test_other_versions_and_processors(copy, monkeypatch, whole):
    (copy / "done/c/5/0").unlink()
    with monkeypatch.context() as other:
        other.setattr(record, "VERSION", "99.0")
        with pytest.raises(ch.UsageError, match=r"begun with chetaev \S+ and this is chetaev 99.0"):
            run(copy)
    with monkeypatch.context() as other:
        other.setattr(record, "processor", lambda: "another +avx")
        with pytest.raises(ch.UsageError, match="processor"):
            run(copy)
        run(copy, anywhere=True)
    assert contents(copy) == contents(whole)
    attributes = json.loads((copy / "zarr.json").read_text())
    later = json.loads(attributes["attributes"]["chetaev_sweep"]) | {"format": 2, "versions": {"chetaev": "99.0"}}
    attributes["attributes"] = record.sealed(later)
    (copy / "zarr.json").write_text(json.dumps(attributes))
    for call in (ch.open_sweep, run):
        with pytest.raises(ch.UsageError, match=r"written by chetaev 99\.0, which is later"):
            call(copy)


def test_foreign_folders_and_files_are_refused_and_stay(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(ch.UsageError, match="has other contents"):
        run(folder)
    (folder / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group", "attributes": {}}')
    for call in (ch.open_sweep, run):
        with pytest.raises(ch.UsageError, match="not a store of a sweep"):
            call(folder)
    with pytest.raises(ch.UsageError, match="is a file"):
        run(folder / "notes.txt")
    assert set(contents(folder)) == {"notes.txt", "zarr.json"}
    with pytest.raises(ch.UsageError, match="there is no folder"):
        ch.open_sweep(tmp_path / "none")
    (tmp_path / "empty").mkdir()
    assert run(tmp_path / "empty").complete


def test_a_second_process_is_refused_and_a_dead_one_is_not(copy):
    text = f"import os, sys\nfrom pathlib import Path\nfrom chetaev.sweeps.lock import held\nwith held(Path({str(copy)!r}), 'x'):\n"
    text += "    print('held', flush=True)\n    sys.stdin.read()\n"
    other = subprocess.Popen([sys.executable, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: S603
    with other:
        assert other.stdout.readline() == "held\n"
        with pytest.raises(ch.UsageError, match=rf"being written by process {other.pid} on"):
            run(copy)
        (copy / "done/c/5/0").unlink()
        assert f"process {other.pid} on" in status(copy)
        other.kill()
        other.wait()
    assert lock_path(copy).exists()  # it was killed
    run(copy)
    assert not lock_path(copy).exists()
    with held(copy, "one"), pytest.raises(ch.UsageError, match=f"process {os.getpid()} "):
        run(copy)


def test_the_time_left_is_told_by_the_last_chunks(copy):
    """Chunks of four motions, one in ten seconds; two of the six are missing."""
    for k in range(6):
        mark = copy / f"done/c/{k}/0"
        os.utime(mark, (1e9 + 10 * k, 1e9 + 10 * k)) if k < 4 else mark.unlink()
    assert "no process works on it" in status(copy)
    with held(copy, "one"):
        assert status(copy).endswith("0.4 motions per second; 20 seconds left")


def test_the_bar_estimates_the_time_left_from_what_this_call_computed(monkeypatch, capsys):
    """Forty of a hundred motions were there already; this call computes ten in a second, and needs five more for the other fifty."""
    now = [0.0]
    monkeypatch.setattr(tqdm.std, "time", lambda: now[0])
    with Bar(True, 100, 40, "pendulum") as bar:
        now[0] = 1.0
        bar.add(10)
        shown = capsys.readouterr().err
        assert "pendulum:  50%" in shown and "50/100 [00:01<00:05, 10.00 motions/s]" in shown
        bar.say("a worker was replaced")
        assert "a worker was replaced" in "".join(capsys.readouterr())
    capsys.readouterr()
    with Bar(None, 100, 40, "pendulum") as bar:  # the output is not a terminal
        bar.add(60)
    assert capsys.readouterr().err == ""


def test_results_without_room_are_refused_before_the_run(tmp_path, monkeypatch):
    """Of 24 motions with two measures: 24 bytes of each for its outcome and place, and 8 for each number."""
    module = sys.modules["chetaev.sweeps.run"]
    monkeypatch.setattr(module, "free_memory", lambda: 24 * (24 + 2 * 8) - 1.0)
    with pytest.raises(ch.UsageError, match=r"24 motions with 2 measures take .* of memory"):
        run(tmp_path / "a.zarr")
    monkeypatch.setattr(module, "free_memory", lambda: 24 * (24 + 2 * 8.0))
    with monkeypatch.context() as full:
        full.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=0))
        with pytest.raises(ch.UsageError, match=r"24 motions with 2 measures may take .* on the disk"):
            run(tmp_path / "a.zarr")
    assert list(tmp_path.iterdir()) == []
    assert run(tmp_path / "a.zarr").complete


def test_two_names_of_a_store_have_one_lock(copy, tmp_path):
    (tmp_path / "link.zarr").symlink_to(copy)
    with held(copy, "one"), pytest.raises(ch.UsageError, match="being written"):
        run(tmp_path / "link.zarr")
    assert run(tmp_path / "link.zarr").complete


def test_locks_that_cannot_be_taken_are_said(copy, monkeypatch):
    def without_locks(handle, how):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", without_locks)
    with pytest.raises(ch.UsageError, match="has no locks: No locks available"):
        run(copy)


def test_the_store_explains_itself(whole):
    found = ch.open_sweep(whole)
    assert found.model.system == PENDULUM.system and found.model.parameters == PENDULUM.parameters
    assert found.record["versions"]["chetaev"] == ch.__version__
    assert found.record["processor"] == study.processor()
    assert found.record["settings"]["t"] == [0.0, 6.0]
    codecs = [codec["name"] for codec in json.loads((whole / "end" / "zarr.json").read_text())["codecs"]]
    assert codecs[-1] == "crc32c"


def test_nothing_is_compiled_again_for_a_chunk(tmp_path, monkeypatch):
    made, after = [], []
    compiled, chunk = engine._compiled, study.Study.run
    monkeypatch.setattr(engine, "_compiled", lambda *given: made.append(given) or compiled(*given))

    def counted(self, *given):
        found = chunk(self, *given)
        after.append(len(made))
        return found

    monkeypatch.setattr(study.Study, "run", counted)
    new = ch.System("th", "g c", lagrangian="th'^2/2 + g*cos(th) - 0.0173*th^4", forces={"th": "-c*th'"})
    run(tmp_path / "chart.zarr", model=replace(PENDULUM, system=new), measure={"top": ch.largest_lyapunov(3), "end": "th"})
    assert len(after) == 6 and made
    assert after == [after[0]] * 6
