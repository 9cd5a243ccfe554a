"""The threads of ensembles: they are kept for the next one, never shared by two at a time, and left behind in a process that is forked."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, get_ident
from time import sleep

import numpy as np
import pytest

import chetaev as ch
from chetaev.numerics.ensemble import threads
from chetaev.numerics.ensemble.threads import Workers

FORKED = """
import os
import chetaev as ch
spring = ch.derive(ch.System("x", lagrangian="x'^2/2 - x^2/2"))
def final():
    return ch.simulate_many(spring, {"x": [1.0, 2.0], "x'": 0.0}, (0, 1), threads=1).final["x"].tolist()
known = final()
child = os.fork()
if child == 0:
    os._exit(0 if final() == known == final() else 1)
assert os.waitpid(child, 0)[1] == 0
assert final() == known
"""

INTERRUPTED = """
import _thread, threading
import chetaev as ch
swing = ch.derive(ch.System("x", lagrangian="x'^2/2 - x^4/4"))
def run(t1):
    return ch.simulate_many(swing, {"x": [1.0 + k/500 for k in range(500)], "x'": 0.0}, (0, t1), threads=1, max_steps=10**9)
known = run(1).final["x"].tolist()
def interrupted():
    threading.Timer(0.5, _thread.interrupt_main).start()
    try:
        run(1e7)
    except KeyboardInterrupt as stopped:
        return getattr(stopped, "motion", None)  # there is none if the tasks were not handed over yet, as on a slow machine
    raise SystemExit("not interrupted")
for _ in range(2):
    motion = next(motion for motion in (interrupted() for _ in range(20)) if motion is not None)
    assert "interrupted" in motion.outcome
    assert run(1).final["x"].tolist() == known
"""


def who_works(found, barrier=None):
    """One task, which notes its thread."""

    def work():
        found.append(get_ident())
        if barrier is not None:
            barrier.wait(60)

    Workers(1, 1, False, "").run([(work, 1)])


def test_one_ensemble_after_another_uses_the_same_thread():
    found = []
    for _ in range(3):
        who_works(found)
    assert len(set(found)) == 1 and found[0] != get_ident()


def test_ensembles_at_the_same_time_use_threads_of_their_own():
    """More of them than threads are kept for; each task waits until all run."""
    n = threads._KEPT + 2
    found, barrier = [], Barrier(n)
    with ThreadPoolExecutor(n) as users:
        for done in [users.submit(who_works, found, barrier) for _ in range(n)]:
            done.result()
    assert len(set(found)) == n
    assert len(threads._waiting) <= threads._KEPT


def test_threads_of_a_run_that_fails_are_not_kept():
    def fail():
        failed.append(get_ident())
        raise ZeroDivisionError

    failed, kept = [], []
    who_works(kept)
    with pytest.raises(ZeroDivisionError):
        Workers(1, 1, False, "").run([(fail, 1)])
    assert failed == kept
    assert all(thread.ident != failed[0] for _, pool in threads._waiting for thread in pool._threads)


def test_tasks_stop_where_an_exception_ends_a_run(monkeypatch):
    """As Ctrl-C does while tasks are handed over: the run waited for their threads for ever."""

    def fail(*_, **__):
        raise ZeroDivisionError

    def work():
        for _ in range(6000):
            if workers.stopped:
                break
            sleep(0.01)
        stopped.append(workers.stopped)

    monkeypatch.setattr(threads, "wait", fail)
    stopped, workers = [], Workers(1, 1, False, "")
    with pytest.raises(ZeroDivisionError):
        workers.run([(work, 1)])
    assert stopped == [True]


def test_the_thread_of_a_run_that_was_interrupted_goes_on_with_the_next_one():
    subprocess.run([sys.executable, "-c", INTERRUPTED], check=True, timeout=300)  # noqa: S603 - text from above


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_forked_process_starts_its_own_threads():
    subprocess.run([sys.executable, "-W", "ignore", "-c", FORKED], check=True, timeout=300)  # noqa: S603 - text from above


def test_the_bits_do_not_depend_on_who_runs_a_member():
    equations = ch.derive(ch.gallery("sleigh"))
    start = {"x": 0, "y": 0, "theta": np.linspace(-1, 1, 300), "x'": 0.8, "theta'": 0.4}
    values = {"m": 1.2, "J": 0.5, "a": 0.2}

    def final(count):
        return ch.simulate_many(equations, start, (0, 2), parameters=values, threads=count).final

    first, *others = (final(count) for count in (1, 2, 3, 1))
    assert all(np.array_equal(first[name], other[name]) for other in others for name in first)
