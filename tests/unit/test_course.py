"""How simulations run and end: words for outcomes, progress, interruption, memory of what was compiled."""

import io
import math
import os
import signal
import sys
import threading
import time
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

import chetaev as ch
from chetaev.core.certificate import Certificate, Figure
from chetaev.core.support import waiting
from chetaev.numerics.graphs.identity_cache import Remembered
from chetaev.numerics.machine import engine
from chetaev.numerics.methods.dop853 import Status
from chetaev.numerics.motion import progress
from chetaev.numerics.motion.outcomes import Ending, accumulation, verdict
from chetaev.numerics.motion.trajectory import Outcome
from interrupting import interrupted

SPRING = ch.derive(ch.System("x", lagrangian="x'^2/2 - x^2/2", name="spring"))
REST = {"x": 1, "x'": 0}
DRY = ch.derive(ch.System("x", "mu", lagrangian="x'^2/2 - x^2/2", forces={"x": "-mu*sign(x')"}, name="dry"))


def test_every_status_has_an_outcome_and_a_sentence():
    for status in Status:
        outcome, sentence = verdict(status, Ending(1.5, 10))
        assert isinstance(outcome, ch.Outcome)
        assert sentence.endswith(".")
    assert verdict(Status.WATCH, Ending(2.0, event="x - 1")) == ("event", "x - 1 = 0 at t = 2.")
    assert verdict(Status.FLOOR, Ending(2.0, locus="x = 0")) == (
        "left_domain",
        "the system Jacobian becomes singular at t = 2, where x = 0.",
    )
    assert "accumulate at t = 3." in accumulation("z", 2.9, 3.0)[1]
    assert "accumulate" not in accumulation("z", 2.9, None)[1]


def test_the_locus_of_the_cart_pendulum_is_an_angle():
    """000: cos(theta) = -I/(m l b)."""
    model = ch.gallery("cart-pendulum", friction=False)
    motion = ch.simulate(model, {"x": 0, "theta": 0.5, "theta'": 2.0}, (0, 20), parameters={"a": -4.0})
    values = model.parameters
    assert motion.outcome == "left_domain"
    assert "I + b*l*m*cos(theta) = 0" in motion.message
    assert math.cos(motion.final["theta"]) == pytest.approx(-values["I"] / (values["m"] * values["l"] * values["b"]), abs=1e-3)


@pytest.mark.parametrize("force", ["-3", "-1", "-0.3"])
def test_a_braked_tyre_stops_at_its_locus(force):
    model = ch.gallery("rocard")
    braked = ch.derive(model.system.replace(forces={"psi": force}), model.principle)
    motion = ch.simulate(braked, model.start, (0, 20), parameters=model.parameters)
    assert motion.outcome == "left_domain"
    assert motion.message.endswith("where psi' = 0.")
    assert abs(motion.final["psi'"]) < 1e-6


def test_a_bar_is_shown_for_long_runs_only(capsys, monkeypatch):
    ch.simulate(SPRING, REST, (0, 1), progress=True)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(progress, "SHOWN_AFTER", 0.0)
    monkeypatch.setattr(progress, "RENEWED_EVERY", 0.001)
    motion = ch.simulate(SPRING, REST, (0, 3e4), progress=True, keep="final")
    shown = capsys.readouterr().err
    assert "spring" in shown
    assert "%" in shown
    quiet = ch.simulate(SPRING, REST, (0, 3e4), progress=False, keep="final")
    assert capsys.readouterr().err == ""
    assert quiet.final["x"] == motion.final["x"]  # looking changes nothing
    with pytest.raises(ch.UsageError):
        ch.simulate(SPRING, REST, (0, 1), progress="yes")


def test_what_takes_long_before_a_run_is_named_with_its_time(capsys, monkeypatch):
    """A thread looks at it, and ends when nothing is open; nothing is said where nobody watches, or where the user wants no progress."""
    with waiting.setting_up(True, "short"):
        pass
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(waiting, "SHOWN_AFTER", 0.05)
    monkeypatch.setattr(waiting, "RENEWED_EVERY", 0.01)
    with waiting.setting_up(True, "net"), waiting.setting_up(False, "silent"), waiting.setting_up(None, "unwatched"):
        time.sleep(0.5)
    shown = capsys.readouterr().err
    assert "net: setting up, 00:00" in shown
    assert "silent" not in shown
    assert "unwatched" not in shown
    with pytest.raises(ZeroDivisionError), waiting.setting_up(True, "failing"):
        1 / 0  # noqa: B018
    deadline = time.monotonic() + 5
    while any(t.name == "chetaev-waiting" for t in threading.enumerate()) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(t.name == "chetaev-waiting" for t in threading.enumerate())


@pytest.mark.parametrize("kind", ["closed", "without isatty", "gone"])
def test_a_stream_that_cannot_be_written_ends_no_work(kind, monkeypatch):
    """A process may close stderr or put an object of its own in its place, and a terminal may vanish while a motion is computed."""

    class Plain:
        def write(self, text):
            return len(text)

    class Gone(io.StringIO):
        def isatty(self):
            return True

        def write(self, text):
            raise OSError(5, "Input/output error")

    stream = {"closed": io.StringIO(), "without isatty": Plain(), "gone": Gone()}[kind]
    if kind == "closed":
        stream.close()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(waiting, "SHOWN_AFTER", 0.0)
    monkeypatch.setattr(waiting, "RENEWED_EVERY", 0.01)
    assert waiting.output_is_watched() == (kind == "gone")
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2 - 3*x^2/2", name="far"), ch.Hamilton())
    assert ch.evaluate(equations, {"x": 1, "x'": 0})["x''"] == -3
    with waiting.setting_up(None, "far"):
        time.sleep(0.1)
    assert ch.simulate(equations, {"x": 1, "x'": 0}, (0, 1)).outcome == "finished"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_process_watches_its_own_work(monkeypatch, capfd):
    """The thread that looks does not exist there, and its lock may have been taken."""
    monkeypatch.setattr(waiting, "SHOWN_AFTER", 0.0)
    monkeypatch.setattr(waiting, "RENEWED_EVERY", 0.01)
    with waiting.setting_up(True, "parent"), waiting._WATCH.lock:
        child = os.fork()
        if child == 0:
            sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115 - the child ends without cleaning up
            with waiting.setting_up(True, "child"):
                time.sleep(0.3)
            os._exit(0)
        deadline = time.monotonic() + 30
        while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
            time.sleep(0.01)
        if ended == (0, 0):
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    assert ended[1] == 0 and ended[0] == child
    shown = capfd.readouterr().err
    assert "child: setting up" in shown


def test_the_first_motion_of_a_large_system_says_that_it_is_set_up(capsys, monkeypatch):
    monkeypatch.setattr(waiting, "SHOWN_AFTER", 0.0)
    monkeypatch.setattr(waiting, "RENEWED_EVERY", 0.01)
    links = range(1, 25)
    rods = ["x1^2 + y1^2 = 1", *[f"(x{k} - x{k - 1})^2 + (y{k} - y{k - 1})^2 = 1" for k in links[1:]]]
    energy = " + ".join(f"(x{k}'^2 + y{k}'^2)/2 - y{k}" for k in links)
    names = " ".join(f"{c}{k}" for k in links for c in "xy")
    equations = ch.derive(ch.System(names, lagrangian=energy, kinematic=rods, name="long chain"), ch.DAlembert())
    start = {f"x{k}": 0.0 for k in links} | {f"y{k}": -k for k in links} | {f"{c}{k}'": 0.0 for k in links for c in "xy"}
    ch.simulate(equations, start, (0, 0.1), progress=True)
    assert "long chain: setting up, 00:0" in capsys.readouterr().err
    quiet = ch.derive(ch.System(names, lagrangian=f"{energy} - x1", kinematic=rods, name="quiet chain"), ch.DAlembert())
    ch.simulate(quiet, start, (0, 0.1), progress=False)
    assert capsys.readouterr().err == ""


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="this system cannot send a signal to a thread")
@pytest.mark.parametrize("method", [None, ch.Implicit()], ids=str)
def test_ctrl_c_is_raised_with_what_was_computed(method):
    stopped = interrupted(
        lambda: ch.simulate(SPRING, REST, (0, 1e12), keep="final", max_steps=10**8, method=method),
        begun=lambda error: hasattr(error, "motion") and error.motion.end[0] > 0,
    )
    motion = stopped.motion
    assert motion.outcome == "interrupted"
    assert 0 < motion.end[0] < 1e12
    assert len(motion) == 1


@pytest.mark.parametrize("kind", ["defect", "rounding"])
def test_ctrl_c_while_a_motion_is_checked_again_is_raised_too(kind, monkeypatch):
    """A motion whose checks fail is computed again; Ctrl-C in the second run must not be lost, or a loop of the user would go on."""
    module = import_module("chetaev.numerics.motion.simulate")
    follow, runs = module.follow, []

    def observed(*arguments):
        runs.append(follow(*arguments))
        if len(runs) == 1:
            return replace(runs[0], certificate=Certificate((Figure(kind, 1.0, 1e-9, "x", 0.0),)))
        return replace(runs[-1], outcome=Outcome.INTERRUPTED)

    monkeypatch.setattr(module, "follow", observed)
    with pytest.raises(KeyboardInterrupt) as told:
        ch.simulate(SPRING, REST, (0, 1), events=["x - 7"])
    motion = told.value.motion
    assert len(runs) == 2 and motion.outcome == "interrupted" and "computed again" in motion.message and motion.end[0] == 1.0


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="this system cannot send a signal to a thread")
def test_who_handles_ctrl_c_in_another_way_goes_on_doing_so():
    class Asked(Exception):
        pass

    def refuse(number, frame):
        raise Asked

    before = signal.signal(signal.SIGINT, refuse)
    timer = threading.Timer(0.3, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT))

    def soon_stopped():
        timer.start()
        ch.simulate(SPRING, REST, (0, 1e12), keep="final", max_steps=10**8)

    try:
        with pytest.raises(Asked):
            soon_stopped()
        assert signal.getsignal(signal.SIGINT) is refuse
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)


def test_a_simulation_outside_the_main_thread():
    found = []
    worker = threading.Thread(target=lambda: found.append(ch.simulate(SPRING, REST, (0, 1)).final["x"]))
    worker.start()
    worker.join()
    assert found == [ch.simulate(SPRING, REST, (0, 1)).final["x"]]


def test_the_budget_of_steps_counts_all_pieces():
    whole = ch.simulate(DRY, {"x": 10, "x'": 0}, (0, 60), parameters={"mu": 0.9})
    short = ch.simulate(DRY, {"x": 10, "x'": 0}, (0, 60), parameters={"mu": 0.9}, max_steps=30)
    assert whole.counts["accepted"] + whole.counts["rejected"] > 30
    assert short.counts["accepted"] + short.counts["rejected"] == 30
    assert short.outcome == "step_too_small"
    assert "30 steps" in short.message


def test_nothing_is_compiled_twice():
    """A second run, with other values and another start, finds all its machine code; so does one that sticks."""
    options = {"events": ["x - 1/3"], "tolerance": 1e-9}
    ch.simulate(DRY, {"x": 10, "x'": 0}, (0, 60), parameters={"mu": 0.9}, **options)
    known = len(engine._ADDRESSES)
    motion = ch.simulate(DRY, {"x": -7, "x'": 1}, (0, 50), parameters={"mu": 0.8}, **options)
    assert motion.switches[-1].after == 0
    assert len(engine._ADDRESSES) == known


def test_the_trajectory_knows_its_tolerance():
    assert ch.simulate(SPRING, REST, (0, 1), tolerance=1e-7).tolerance == 1e-7
    assert ch.simulate(SPRING, REST, (0, 1)).tolerance == 1e-9


@pytest.mark.parametrize("word", ["branch", "gauge"])
def test_choices_that_a_system_does_not_need_are_refused(word):
    with pytest.raises(ch.UsageError, match=f"{word} is given"):
        ch.simulate(SPRING, REST, (0, 1), **{word: {"x": "t"}})
    ch.simulate(SPRING, REST, (0, 1), **{word: None})


def test_many_events_are_not_all_printed():
    motion = ch.simulate(SPRING, REST, (0, 200), events=["x"])
    assert len(motion.events) == 64
    assert "and 44 more events" in str(motion)


def test_events_that_depend_on_time_are_resolved_at_rest():
    """A free body at rest lets the step grow without bound; sin(t)^3 - 1/2 has two roots in every period all the same."""
    free = ch.derive(ch.System("x", lagrangian="x'^2/2"))
    motion = ch.simulate(free, {"x": 0, "x'": 0}, (0, 200), events=["sin(t)^3 - 1/2"])
    first = math.asin(0.5 ** (1 / 3))
    exact = [v for n in range(32) for v in (2 * math.pi * n + first, 2 * math.pi * n + math.pi - first) if v < 200]
    assert [e.t for e in motion.events] == pytest.approx(exact, abs=1e-6)
    assert motion.states.shape[1] == 2


def test_a_wrong_mode_is_seen_by_the_certificate():
    from dataclasses import replace

    motion = ch.simulate(DRY, {"x": 10, "x'": 0}, (0, 20), parameters={"mu": 0.9}, tolerance=1e-10)
    assert motion.verify().worst < 1e-6

    class Turned:
        """A reader that returns the opposite of every mode."""

        def __init__(self, inner):
            self.inner = inner

        def driven(self, *given):
            return -self.inner.driven(*given)

        def __getattr__(self, name):
            return getattr(self.inner, name)

    found = replace(motion, reader=Turned(motion.reader)).verify()
    assert found["mode of x'"].largest > 0.1
    assert found["E_x"].largest > 0.01


def test_the_memory_is_bounded_and_by_identity():
    made = []
    memory = Remembered(2)
    owners = [[], [], []]
    for owner in owners:
        memory.get(owner, 1, lambda: made.append(1))
    memory.get(owners[2], 1, lambda: made.append(2))
    assert made == [1, 1, 1]
    memory.get(owners[0], 1, lambda: made.append(3))
    assert made == [1, 1, 1, 3]


def test_pieces_of_a_motion_are_consistent_at_their_seams():
    motion = ch.simulate(DRY, {"x": 10, "x'": 0}, (0, 60), parameters={"mu": 0.9}, tolerance=1e-10)
    seams = np.flatnonzero(np.diff(motion.t) == 0)
    assert len(seams) == len(motion.switches)
    assert np.abs(motion.states[seams] - motion.states[seams + 1])[:, :2].max() < 1e-12
    assert np.all(np.diff(motion.pieces) >= 0)
