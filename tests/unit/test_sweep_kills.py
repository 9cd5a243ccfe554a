"""Sweeps whose processes are killed at random moments: the store that is resumed is the one of a sweep that was left alone.

The environment variable CHETAEV_LONG asks for twenty kills instead of three of the process, and of workers and of schedulers too.
"""

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

import chetaev as ch
from sweeping import CHUNKS, contents, long_sweep

LONG = bool(os.environ.get("CHETAEV_LONG"))
KILLS = 20 if LONG else 3
OTHERS = 20 if LONG else 1
"""How often a worker is killed, and a scheduler."""
SWEEPING = str(Path(__file__).parents[1] / "sweeping.py")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return contents(long_sweep(tmp_path_factory.mktemp("whole") / "chart.zarr").path)


def started(path, *more):
    return subprocess.Popen([sys.executable, SWEEPING, str(path), *more])  # noqa: S603


def wait_for(condition, process=None, seconds=120):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        if process is not None and process.poll() is not None:
            return
        time.sleep(0.005)


def marks(path):
    return sum(1 for _ in path.glob("done/c/*/*") if not _.name.startswith("."))


def test_a_sweep_that_is_killed_again_and_again_has_the_same_store(whole, tmp_path):
    chance = random.Random(4)  # the machine makes the moments different enough
    path, hits = tmp_path / "chart.zarr", 0
    for k in range(KILLS):
        with started(path) as process:
            if k:  # the first one may be killed while it makes the store
                before = marks(path)
                goal = before + chance.randint(1, max(1, (CHUNKS - before) // 3))
                wait_for(lambda goal=goal: marks(path) >= goal, process)
            else:
                wait_for(lambda: (tmp_path / ".chart.zarr.lock").exists(), process)
            time.sleep(chance.random() * 0.02)
            hits += process.poll() is None
            process.kill()
    assert hits >= min(KILLS, 3)
    left = CHUNKS - marks(path) if path.exists() else CHUNKS
    found = long_sweep(path)
    assert left > 0 or KILLS > 3
    assert found.complete and contents(path) == whole
    assert [entry.name for entry in tmp_path.iterdir()] == ["chart.zarr"]


def workers_of(process):
    """The processes of Dask's workers."""
    try:
        found = psutil.Process(process.pid).children(recursive=True)
        return [p for p in found if "spawn_main" in " ".join(p.cmdline())]
    except psutil.NoSuchProcess:
        return []


@pytest.mark.parametrize("seed", range(OTHERS))
def test_a_worker_that_is_killed_is_replaced(seed, whole, tmp_path):
    path, goal = tmp_path / "chart.zarr", random.Random(seed).randint(2, CHUNKS // 2)
    with started(path, "2") as process:
        wait_for(lambda: marks(path) >= goal, process)
        victims = workers_of(process)
        assert victims and process.poll() is None
        victims[0].kill()
        assert process.wait(timeout=120) == 0
    assert contents(path) == whole


@pytest.mark.parametrize("seed", range(OTHERS))
def test_a_scheduler_that_is_killed_loses_nothing(seed, whole, tmp_path):
    """Kill the scheduler of a cluster with one worker, and resume without a cluster."""
    path, file, goal = tmp_path / "chart.zarr", tmp_path / "scheduler.json", random.Random(seed).randint(2, CHUNKS // 2)
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--scheduler-file", str(file), "--no-dashboard"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as scheduler:  # noqa: S603
        wait_for(file.exists)
        address = json.loads(file.read_text())["address"]
        command = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "2", "--no-dashboard", "--no-nanny"]
        with subprocess.Popen([*command, "--death-timeout", "5"], stderr=subprocess.DEVNULL) as worker:  # noqa: S603
            with started(path, address) as process:
                wait_for(lambda: marks(path) >= goal, process)
                scheduler.kill()
                assert process.wait(timeout=120) != 0
            worker.kill()
    assert goal <= marks(path) < CHUNKS
    assert ch.open_sweep(path).chunks[0] == marks(path)
    long_sweep(path)
    assert contents(path) == whole
