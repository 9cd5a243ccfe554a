"""Budgets count operations: an answer does not depend on the machine or its load, and nothing is interrupted in the user's process."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from functools import lru_cache
from pathlib import Path

import pytest
import sympy
from sympy import cos, cosh, exp, log, sin, sqrt, symbols, tan

import chetaev as ch
from chetaev.core.exact import factors as exact_factors
from chetaev.core.support import budget
from chetaev.core.support.budget import calls, counting, process, worker
from chetaev.singular.algorithm.ring import Ring

SOURCE = Path(ch.__file__).parent
THIRD_ORDER = ch.System("x y", lagrangian="x'^2/2 + y'^2/2 - y", kinematic=["x''' + y*y''' + 0.3 = 0"])
x, y, z, a, b, c = symbols("x y z a b c")
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="signals")


# ---- allowances: our own loops ----


def test_an_allowance_ends_after_the_same_operations_however_long_they_take():
    for pause in (0.0, 1e-4):
        done = 0
        with budget.allowance(800 / budget.OPERATIONS) as spent:
            while True:
                budget.spend(10)
                done += 1
                time.sleep(pause)
        assert spent.expired and not spent.by_clock and done == 80


def test_an_inner_allowance_is_spent_from_the_outer_one():
    with budget.allowance(2 / budget.OPERATIONS) as outer, budget.allowance(1.0) as inner:
        budget.spend(3)
    assert outer.expired and not inner.expired and inner.seconds == pytest.approx(3 / budget.OPERATIONS)


def test_work_apart_is_neither_counted_nor_limited():
    with budget.allowance(2 / budget.OPERATIONS) as spent:
        with budget.apart():
            assert budget.remaining() == float("inf")
            budget.spend(100)
        assert budget.remaining() == 2
    assert not spent.expired and spent.seconds == 0


def test_the_clock_ends_work_that_counts_too_little_and_that_is_reported(monkeypatch):
    now = iter(range(0, 10_000, 3))
    monkeypatch.setattr(counting.time, "thread_time", lambda: next(now))
    done = 0

    def endless():
        nonlocal done
        with budget.allowance(1.0) as spent:
            while True:
                budget.spend(2_001)  # each look at the clock finds three seconds more; the clock ends it after ten
                done += 1
        return spent

    with pytest.warns(ch.errors.ClockWarning, match="the clock ended a computation with a budget of 1 seconds"):
        spent = endless()
    assert spent.expired and spent.by_clock and done == 3


def test_what_a_search_finds_does_not_depend_on_the_clock(monkeypatch):
    """The same branches are left open when every operation takes longer and the clock runs four times as fast."""
    equations = ch.derive(THIRD_ORDER, ch.Chetaev())
    found = ch.constraint_algorithm(equations, seconds=0.02)
    spend, clock = counting._Count.spend, time.thread_time

    def slowly(self, operations):
        time.sleep(2e-5)
        spend(self, operations)

    monkeypatch.setattr(counting._Count, "spend", slowly)
    monkeypatch.setattr(counting.time, "thread_time", lambda: 4 * clock())
    again = ch.constraint_algorithm(equations, seconds=0.02)
    assert "the work allowed ran out" in found.reason and (again.reason, str(again)) == (found.reason, str(found))


@pytest.mark.parametrize("name", ["cawley", "disk-contact", "rolling-disk"])
def test_verdicts_do_not_depend_on_the_clock(name, monkeypatch):
    """With nothing remembered, while every clock of the owner runs four times as fast."""
    if name == "rolling-disk":  # the search for its integrals ends with this budget
        monkeypatch.setattr("chetaev.mechanics.classify._FLAG_SECONDS", 0.01)

    def verdicts():
        for place, module in list(sys.modules.items()):
            if place.startswith("chetaev."):
                for entry in list(vars(module).values()):
                    if isinstance(entry, type(calls_of)):
                        entry.cache_clear()
        calls._KNOWN.clear()
        return str(ch.analyze(ch.gallery(name))), str(ch.classify(ch.gallery(name)))

    found = verdicts()
    assert (budget.OUT_OF_WORK in found[1]) == (name == "rolling-disk")
    thread_time, monotonic = time.thread_time, time.monotonic
    monkeypatch.setattr(time, "thread_time", lambda: 4 * thread_time())
    monkeypatch.setattr(time, "monotonic", lambda: 4 * monotonic())
    assert verdicts() == found


@lru_cache
def calls_of() -> None:
    """A function that remembers, for its type."""


# ---- limited: calls of SymPy ----

CYCLIC = (
    x + y + z + a + b + c,
    x * y + y * z + z * a + a * b + b * c + c * x,
    x * y * z + y * z * a + z * a * b + a * b * c + b * c * x + c * x * y,
    x * y * z * a + y * z * a * b + z * a * b * c + a * b * c * x + b * c * x * y + c * x * y * z,
    x * y * z * a * b + y * z * a * b * c + z * a * b * c * x + a * b * c * x * y + b * c * x * y * z + c * x * y * z * a,
    x * y * z * a * b * c - 1,
)
STALLERS = {
    "an integral that SymPy does not find": (sympy.integrate, exp(sin(x)) * log(x + sqrt(x**3 + 1)), x),
    "a Groebner basis": (sympy.groebner, CYCLIC, x, y, z, a, b, c),
    "a simplification": (sympy.simplify, sympy.Add(*[sin(k * x) ** k / (1 + cos(k * y + z) ** k + tan(x * k)) for k in range(2, 9)])),
    "an inverse": (
        sympy.Matrix.inv,
        sympy.ImmutableMatrix(5, 5, lambda i, j: (x ** (i % 3) + y * j + z * i * j + a) / (b + i * x + j)),
        "ADJ",
    ),
}
"""Each takes minutes or for ever."""


@pytest.fixture
def asked(monkeypatch):
    """The calls that a process is asked, with nothing remembered."""
    found = []
    ask = worker.Worker.ask

    def counted(self, call, seconds):
        found.append(self)
        return ask(self, call, seconds)

    monkeypatch.setattr(worker.Worker, "ask", counted)
    calls._KNOWN.clear()
    return found


def test_a_call_has_the_value_it_has_in_place(asked):
    answer = budget.limited(sympy.factor, sympy.expand((x + y) ** 3 * (x - z)), seconds=2)
    assert answer.done and answer.value == (x + y) ** 3 * (x - z) and 0 < answer.seconds < 2 and len(asked) == 1
    assert budget.limited(sympy.factor, x**2 - y**2, seconds=2, small=True).value == (x - y) * (x + y) and len(asked) == 1


def test_symbols_and_rows_return_as_they_were_sent(asked):
    equations = ch.derive(ch.gallery("veselova"))
    residuals = tuple(row.residual for row in equations.rows)
    assert budget.limited(tuple, residuals, seconds=1).value == residuals and asked
    dummy = sympy.Dummy("u")
    assert budget.limited(sympy.integrate, dummy**2, dummy, seconds=1).value == dummy**3 / 3


@pytest.mark.parametrize("name", STALLERS)
def test_what_takes_for_ever_ends_after_the_work_allowed_and_is_remembered(name, asked):
    answers = [budget.limited(*STALLERS[name], seconds=0.2) for _ in range(2)]
    assert [(answer.value, answer.reason, answer.seconds) for answer in answers] == [(None, "the work allowed ran out", 0.2)] * 2
    assert len(asked) == 1
    assert not budget.limited(*STALLERS[name], seconds=0.1).done and len(asked) == 1  # less would run out too


def test_arguments_that_are_not_hashable_are_remembered_by_their_bytes(asked):
    for _ in range(2):
        assert budget.limited(sympy.linsolve, [x + y - 2, x - y], [x, y], seconds=2).value == sympy.FiniteSet((1, 1))
    assert len(asked) == 1


def test_what_ran_out_in_one_classification_is_not_computed_by_the_next(asked, monkeypatch):
    monkeypatch.setattr("chetaev.mechanics.classify._FLAG_SECONDS", 0.01)
    found = [ch.classify(ch.gallery("rolling-disk")) for _ in range(2)]
    assert [c.integral_count for c in found] == [None, None] and "was not decided: the work allowed ran out" in str(found[0])
    assert len(asked) == 1 and str(found[0]) == str(found[1])


def test_a_value_found_beyond_the_budget_is_not_given(asked):
    """However late the process looks at its count: this call takes less time than lies between two looks."""
    call = (sympy.simplify, sin(x) ** 2 * y + cos(x) ** 2 * y)
    assert budget.limited(*call, seconds=1e-4).reason == budget.OUT_OF_WORK
    whole = budget.limited(*call, seconds=1)
    assert whole.value == y and len(asked) == 2  # more was worth a new attempt
    assert budget.limited(*call, seconds=whole.seconds / 2).reason == budget.OUT_OF_WORK  # remembered with its work
    assert budget.limited(*call, seconds=2 * whole.seconds).value == y and len(asked) == 2


def test_counts_repeat_in_fresh_and_in_used_processes(asked):
    """What was computed before does not change the work of a call; SymPy's sets of classes may differ in order from process to process."""
    counts = []
    for _ in range(3):
        calls._KNOWN.clear()
        counts.append(budget.limited(sympy.integrate, x**2 * exp(a * x), x, seconds=20).seconds)
        budget.limited(sympy.simplify, sin(x) ** 2 + cos(x) ** 2 + a * exp(x), seconds=5)
        if len(counts) == 2:
            worker.end_all()
    assert counts[0] > 0 and counts == pytest.approx([counts[0]] * 3, rel=1e-2 if process.FORKS else 0.2)


USUAL = {
    "integral": (sympy.integrate, x**2 * exp(a * x), x),
    "simplification": (sympy.simplify, sin(x) ** 2 + cos(x) ** 2 + a * exp(x)),
    "roots": (sympy.solve, x**3 - a * x + 1, x),
}


def test_what_a_process_has_imported_does_not_change_counts(asked):
    """SymPy imports its modules of integration when they are first needed; a process that was used before knows them already.

    What stays is that imports ask for facts about numbers, which SymPy keeps: a part in a hundred.
    """

    def counts():
        calls._KNOWN.clear()
        return [budget.limited(*call, seconds=20).seconds for call in USUAL.values()]

    worker.end_all()
    fresh = counts()
    knows = worker.take()
    for module in ("sympy.integrals.risch", "sympy.integrals.manualintegrate", "sympy.integrals.heurisch", "sympy.tensor.tensor"):
        knows.ask(pickle.dumps((module, pickle.dumps((len, ([],), 1e6, 1.0)))), 60)
    worker.give_back(knows)
    again = counts()
    assert asked[-1] is knows and min(fresh) > 0 and again == pytest.approx(fresh, rel=2e-2)


@POSIX
def test_a_process_that_is_stopped_again_and_again_gives_the_same_answers(asked):
    """A machine under load: the process gets a small part of the time."""
    expressions = [sin(x) ** 2 + cos(x) ** 2 * y, cosh(x) ** 2 - y, (x**2 - y**2) / (x - y)]

    def run():
        calls._KNOWN.clear()
        found = []
        with budget.allowance(0.3) as spent:
            for k in range(20):
                found.append(budget.limited(sympy.simplify, expressions[k % 3] + k, seconds=1))
        return found, spent.expired, spent.by_clock

    quiet = run()
    over = threading.Event()

    def disturb():
        while not over.wait(0.01):
            os.killpg(asked[-1]._process.pid, signal.SIGSTOP)
            time.sleep(0.03)
            os.killpg(asked[-1]._process.pid, signal.SIGCONT)

    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        assert run() == quiet and quiet[1:] == (True, False) and 1 < len(quiet[0]) < 20
    finally:
        over.set()
        thread.join()


def test_the_work_is_spent_from_the_allowance_around_the_call(asked):
    found = []
    with budget.allowance(0.05) as spent:
        found.append(budget.limited(*STALLERS["a simplification"], seconds=5))
    assert spent.expired and not spent.by_clock and not found  # the block ended at the call


def test_what_a_function_raises_is_raised_here(asked):
    for _ in range(2):
        with pytest.raises(ValueError, match="Invalid limits given") as caught:
            budget.limited(sympy.integrate, x, 4, 5, seconds=1)
    assert len(asked) == 1 and "Traceback" in caught.value.__notes__[0]


def test_arithmetic_that_nobody_counts_is_ended_by_the_clock_and_that_is_reported(asked, monkeypatch):
    monkeypatch.setattr(counting, "SHORTEST", 0.5)
    if not process.FORKS:
        monkeypatch.setattr(calls, "_WALL_TIME_PER_SECOND", 2.0)
    with pytest.warns(ch.errors.ClockWarning):
        answer = budget.limited(pow, 3, 10**9, seconds=0.05)  # one instruction, which no process can leave by itself
    assert not answer.done and answer.reason == "the clock ended it after 0.5 seconds of processor time"
    assert budget.limited(sympy.factor, x**2 - 1, seconds=1).value == (x - 1) * (x + 1)


@POSIX
def test_a_process_that_is_killed_is_told_and_replaced(asked):
    found = []
    thread = threading.Thread(target=lambda: found.append(budget.limited(*STALLERS["a Groebner basis"], seconds=500)))
    thread.start()
    while not asked:
        time.sleep(0.01)
    asked[0]._process.kill()
    thread.join(60)
    assert found[0].reason == "the process that computed it ended" and found[0].value is None
    assert not calls._KNOWN  # it says nothing about the call
    assert budget.limited(sympy.factor, x**2 - 4, seconds=1).value == (x - 2) * (x + 2)


def test_threads_ask_at_the_same_time(asked):
    found = {}

    def ask(k):
        for m in range(3):
            found[k, m] = budget.limited(sympy.factor, sympy.expand((x + k) * (y + m) ** 2), seconds=2).value

    threads = [threading.Thread(target=ask, args=(k,)) for k in range(1, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {(k, m): (x + k) * (y + m) ** 2 for k in range(1, 4) for m in range(3)}
    assert len(worker._IDLE) <= worker._MOST_IDLE


PROGRAM = """
import os, signal, sympy, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell that runs tests in the background has it ignored
from chetaev.core.support.budget import limited, worker
x = sympy.Symbol("x")
def pid():
    return worker._IDLE[0]._process.pid
print(limited(sympy.factor, x**2 - 1, seconds=1).value, pid(), flush=True)
"""
FOREVER = "limited(sympy.integrate, sympy.exp(sympy.sin(x))*sympy.log(x + sympy.sqrt(x**3 + 1)), x, seconds=1000)"


def started(program):
    return subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", PROGRAM + program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ}
    )


def gone(pid):
    for _ in range(1000):
        try:
            os.killpg(pid, 0)  # the process and its forks
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False


def test_a_program_without_a_main_module_can_ask():
    done = subprocess.run([sys.executable, "-"], input=PROGRAM, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("(x - 1)*(x + 1)") and not done.stderr
    assert sys.platform == "win32" or gone(int(done.stdout.split()[-1]))


def test_a_function_that_only_the_main_module_has_runs_in_place():
    program = started("def f(e): return e + pid()\nprint(limited(f, x, seconds=1).value == x + pid())")
    out, err = program.communicate(timeout=120)
    assert out.split()[-1] == "True" and not err


TELLS_WHEN_ASKED = """
import threading, time
ask = worker.Worker.ask
def told(self, call, seconds):
    threading.Timer(0.5, print, ["asked"], {"flush": True}).start()
    return ask(self, call, seconds)
worker.Worker.ask = told
"""


@POSIX
def test_ctrl_c_ends_the_call_and_its_process():
    stop = f"try:\n    {FOREVER}\nexcept KeyboardInterrupt:\n    print('interrupted', worker._IDLE, flush=True)"
    program = started(TELLS_WHEN_ASKED + stop)
    pid = int(program.stdout.readline().split()[-1])
    assert program.stdout.readline() == "asked\n"
    program.send_signal(signal.SIGINT)
    out, err = program.communicate(timeout=120)
    assert out == "interrupted []\n" and not err and program.returncode == 0 and gone(pid)


@POSIX
def test_no_process_outlives_its_owner():
    program = started(FOREVER)
    pid = int(program.stdout.readline().split()[-1])
    time.sleep(0.5)
    program.kill()
    program.communicate(timeout=60)
    assert gone(pid)


@POSIX
def test_a_forked_child_has_a_process_of_its_own():
    child = "if os.fork() == 0:\n    print(limited(sympy.factor, x**2 - 9, seconds=1).value, pid(), flush=True)\n    os._exit(0)\n"
    program = started(child + "os.wait()\nprint(limited(sympy.factor, x**2 - 4, seconds=1).value, pid(), flush=True)")
    out, err = program.communicate(timeout=120)
    before, forked, after = [line.rsplit(" ", 1) for line in out.splitlines()]
    assert (forked[0], after[0]) == ("(x - 3)*(x + 3)", "(x - 2)*(x + 2)") and before[1] == after[1] != forked[1] and not err


def test_without_an_interpreter_there_is_a_reason_and_no_value(monkeypatch):
    worker.end_all()
    calls._KNOWN.clear()
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    answer = budget.limited(sympy.factor, x**2 - 1, seconds=1)
    assert answer.value is None and answer.reason == "no process could be started for it: this program has no interpreter of its own"


def test_nothing_is_interrupted_from_outside_and_no_clock_is_read_elsewhere():
    """No exception is sent to a thread, no alarm is set, and what decides, derives and transforms does not read a clock."""
    texts = {path.relative_to(SOURCE).as_posix(): path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")}
    for words in ("SetAsyncExc", "setitimer", "signal.alarm", "settrace", "setprofile", "interrupt_main"):
        assert not [name for name, text in texts.items() if words in text], words
    deciding = ("mechanics/", "singular/", "transforms/", "numerics/verdict/", "numerics/flow/", "numerics/start/")
    clocks = ("import time", "from time import", "perf_counter", "process_time", "thread_time", "monotonic(")
    assert not [(name, word) for name, text in texts.items() if name.startswith(deciding) for word in clocks if word in text]


def test_sizes_tell_what_an_expansion_would_make():
    assert budget.size(x + y) == 3
    assert budget.size((x + y + z) ** 30) > 496  # terms of the expansion
    assert budget.size(sin(1000 * x)) > 1000 and budget.size(exp(-sympy.Rational(1901641, 1000000) * x**2)) > 10**6
    assert budget.size(x ** sympy.Integer(10) ** 9) < 10  # a power of a symbol stays one


@pytest.mark.parametrize("parameters", [(), symbols("a b")])
def test_factors_and_their_coefficient_multiply_to_the_polynomial(parameters):
    ring = Ring(symbols("x y z u v w"), parameters, [(0, 3), (3, 6)])
    x, y, z = ring.variables[:3]
    a = ring.ring.ground_new(ring.domain.from_sympy(parameters[0] / (1 + parameters[1]))) if parameters else ring.one * 3
    lead, factors = ring.factor_list(-2 * a * (x + a * y) ** 2 * (x * z - a))
    product = ring.ring.ground_new(lead)
    for g, power in factors:
        product *= g**power
    assert product == -2 * a * (x + a * y) ** 2 * (x * z - a)
    assert sorted(power for _, power in factors) == [1, 2]
    assert ring.factor_list(-2 * a) == ((-2 * a).LC, [])


def test_large_polynomials_have_the_same_factors_and_divisors_elsewhere(asked, monkeypatch):
    """Within an allowance they are computed in a process; the product of the factors is the polynomial."""
    monkeypatch.setattr(exact_factors, "_LARGE", 10)
    ring = Ring(symbols("x y z"), symbols("a b"), [(0, 3)])
    x, y, z = ring.variables
    p, q = (x**2 + y**2 * z + 1) ** 2 * (x * y**2 - z**2), (x**2 + y**2 * z + 1) * (y - z)
    with budget.allowance(5) as spent:
        assert ring.gcd(p, q) == x**2 + y**2 * z + 1
        lead, factors = ring.factor_list(p)
    assert len(asked) >= 2 and 0 < spent.seconds < 5 and lead * factors[0][0] ** factors[0][1] * factors[1][0] ** factors[1][1] == p
