"""The stages of a step in one function: the bits are those of stages made one by one."""

import casadi as ca
import numpy as np
import pytest

import chetaev as ch
from chetaev.numerics.machine.kernels import compile_kernel, program_at
from chetaev.numerics.methods import base, dop853
from chetaev.numerics.methods.dop853 import FINAL, STEPS, Code, Limits, repeated_calls, run, run_many, stages_of
from chetaev.numerics.methods.dop853.repeated_calls import Runner, state_row
from chetaev.numerics.methods.dop853.whole_steps.stage_code import LONGEST
from chetaev.numerics.methods.dop853.whole_steps.step_code import step_code

T, P = ca.SX.sym("t"), ca.SX.sym("p", 2)


def kernel_of(n, rates):
    y = ca.SX.sym("y", n)
    return compile_kernel(ca.Function("f", [T, y, P], [ca.vertcat(*rates(y))]))


SYSTEMS = {
    "one number, driven": (1, lambda y: [ca.sin(P[0] * T) / P[1] - y[0]], [0.3]),
    "pendulum": (2, lambda y: [y[1], -P[0] * ca.sin(y[0]) / P[1]], [0.5, 2.0]),
    "five numbers": (
        5,
        lambda y: [y[3] * ca.cos(y[2]), y[3] * ca.sin(y[2]), y[4], P[0] * y[4] ** 2, -P[1] * y[3] * y[4]],
        [0, 0, 1, 1, 2.0],
    ),
    "a power and a root": (4, lambda y: [y[2], y[3], *(-P[0] * y[k] / (y[0] ** 2 + y[1] ** 2) ** 1.5 for k in (0, 1))], [1, 0, 0.1, 1.1]),
    **{
        f"{count} angles, and one in another": (
            count,
            lambda y, count=count: [
                *[ca.cos(y[k]) * ca.sin(y[k - 1]) - ca.sin(P[0]) for k in range(1, count)],
                ca.sin(T + P[1] * ca.cos(y[0])),
            ],
            [0.3 * k for k in range(count)],
        )
        for count in (2, 3, 4)
    },
    "no state at all": (3, lambda y: [P[0], T * P[1], 2.0], [0.0, 0.0, 0.0]),
}


@pytest.fixture
def fresh(monkeypatch):
    """No code for stages is known, and none is made unless a test asks for it."""
    monkeypatch.setattr(repeated_calls, "_stages", {})
    monkeypatch.setattr(repeated_calls, "_steps", type(repeated_calls._steps)())


def ends_of(found):
    return [
        found.t,
        found.accepted,
        found.rejected,
        found.evaluations,
        found.y,
        found.nodes,
        found.states,
        found.coefficients,
        found.inside,
    ]


def equal(one, other):
    return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(ends_of(one), ends_of(other), strict=True))


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("keep", [FINAL, STEPS])
def test_a_run_has_the_same_bits(fresh, name, keep):
    n, rates, start = SYSTEMS[name]
    code = Code(kernel_of(n, rates).address)
    plain = run(code, 0.0, 7.0, start, [1.3, 0.7], Limits(1e-10), keep=keep)
    assert stages_of(code, n) != 0
    assert equal(plain, run(code, 0.0, 7.0, start, [1.3, 0.7], Limits(1e-10), keep=keep))


def test_members_and_prepared_runs_have_the_same_bits(fresh):
    n, rates, start = SYSTEMS["five numbers"]
    code = Code(kernel_of(n, rates).address)
    plain = run(code, 0.0, 7.0, start, [1.3, 0.7], keep=FINAL)
    assert stages_of(code, n)
    assert np.array_equal(run_many(code, 0.0, 7.0, [start] * 3, [1.3, 0.7]).y, [plain.y] * 3)
    y, p = state_row(n), np.array([1.3, 0.7])
    prepared = Runner(code, y, p, 0.0, 7.0, Limits(), repeated_calls.Watching())
    y[:] = start
    prepared()
    assert np.array_equal(y, plain.y)


def test_large_angles_are_left_to_the_right_hand_side(fresh):
    code = Code(kernel_of(2, SYSTEMS["pendulum"][1]).address)
    start = [2.0**30 - 1.0, 3.0]  # beyond 2^30 sines are those of the library
    plain = run(code, 0.0, 3.0, start, [1.3, 0.7], Limits(1e-13), keep=STEPS)
    assert plain.y[0] > 2.0**30
    assert stages_of(code, 2)
    assert equal(plain, run(code, 0.0, 3.0, start, [1.3, 0.7], Limits(1e-13), keep=STEPS))


def test_stages_are_made_where_many_steps_were_taken(fresh, monkeypatch):
    n, rates, start = SYSTEMS["pendulum"]
    code = Code(kernel_of(n, rates).address)
    monkeypatch.setattr(repeated_calls, "_PAYS", 100)
    found = run(code, 0.0, 1.0, start, [1.3, 0.7])
    assert repeated_calls.with_stages(code, n).stages == 0
    for _ in range(100 // found.accepted + 1):
        run(code, 0.0, 1.0, start, [1.3, 0.7])
    assert repeated_calls.with_stages(code, n).stages != 0


def test_a_prepared_run_uses_them_from_then_on(fresh, monkeypatch):
    n, rates, start = SYSTEMS["pendulum"]
    code = Code(kernel_of(n, rates).address)
    monkeypatch.setattr(repeated_calls, "_PAYS", 20)
    y, p = state_row(n), np.array([1.3, 0.7])
    prepared, ends = Runner(code, y, p, 0.0, 1.0, Limits(), repeated_calls.Watching()), set()
    for _ in range(40):
        y[:] = start
        prepared()
        ends.add(tuple(y))
    assert repeated_calls.with_stages(code, n).stages != 0
    assert len(ends) == 1


def test_long_programs_and_unknown_code_have_none(fresh):
    long = kernel_of(1, lambda y: [sum((ca.exp(y[0] * (k + 2)) for k in range(LONGEST)), ca.SX(0))])
    assert step_code(long.program, 1, None) == 0
    turning = kernel_of(13, lambda y: [ca.sin(y[k]) for k in range(13)])
    assert step_code(turning.program, 13, None) == 0
    assert program_at(12345) is None
    assert stages_of(Code(12345), 1) == 0
    short = kernel_of(2, SYSTEMS["pendulum"][1])
    assert stages_of(Code(short.address, inputs=short.address), 2) == 0


def test_a_long_run_uses_them_before_its_end(fresh, monkeypatch):
    n, rates, start = SYSTEMS["pendulum"]
    code = Code(kernel_of(n, rates).address)
    plain = run(code, 0.0, 400.0, start, [1.3, 0.7])
    monkeypatch.setattr(repeated_calls, "_steps", type(repeated_calls._steps)())
    monkeypatch.setattr(repeated_calls, "_PAYS", 100)
    seen = []
    again = run(code, 0.0, 400.0, start, [1.3, 0.7], paused=lambda t: seen.append(bool(repeated_calls._stages)))
    assert plain.accepted > 200
    assert any(seen)
    assert not seen[0]
    assert equal(plain, again)


# ------------------------------------------------------------ whole steps

SYSTEMS_WITH_ENDS = {
    "sleigh": 3.0,
    "rocard": 3.0,
    "leaning_disk": 2.0,
    "cartesian_pendulum": 4.0,
    "lagrange_top": 0.3,
    "double_pendulum": 2.0,
    "cart_pendulum": 3.0,
    "heisenberg": 2.0,
    "viscous_particle": 3.0,
    "cawley": 1.0,
    "knife_edge": 3.0,
    "greidanus": 3.0,
    "spherical_pendulum": 3.0,
    "appell_hamel": 2.0,
    "roller_racer": 2.0,
}
"""Systems of the gallery and times: with projections, watched functions, residuals, nodes, determinants, and further components."""


def calls_of(name, tolerance, monkeypatch):
    """What `simulate` asks of the loop for a system of the gallery, with the code for many steps."""
    model = ch.gallery(name)
    end, settings = SYSTEMS_WITH_ENDS[name], {"parameters": model.parameters, "tolerance": tolerance}
    return recorded(monkeypatch, lambda: ch.simulate(ch.derive(model), model.start, (0.0, end), **settings))


def recorded(monkeypatch, simulate):
    """The calls of the loop meanwhile."""
    calls, original = [], dop853.run

    def run_and_keep(*arguments, **options):
        calls.append((arguments, options))
        return original(*arguments, **options)

    monkeypatch.setattr(base, "_FIRST_STEPS", 10**9)
    with monkeypatch.context() as patched:
        patched.setattr(dop853, "run", run_and_keep)
        simulate()
    assert calls
    return calls


def whole(found):
    """All that a run leaves, but for its statistics of time."""
    return [
        *ends_of(found), found.status, found.index, found.found_times, found.found_states, found.minima, found.maxima, found.measured,
        found.next_step, found.projections, found.shortened, found.worst, found.usual, found.looked,
    ]  # fmt: skip


@pytest.mark.parametrize("name", SYSTEMS_WITH_ENDS)
@pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-11])
def test_a_run_of_whole_steps_has_the_same_bits(fresh, monkeypatch, name, tolerance):
    for (code, *rest), options in calls_of(name, tolerance, monkeypatch):
        for keep in (FINAL, STEPS):
            repeated_calls._stages.clear()
            wanted = options | {"keep": keep, "times": (), "paused": None, "led": None}
            plain = run(code, *rest, **wanted)
            assert stages_of(code, code.size(len(rest[2]))) != 0
            fast = run(code, *rest, **wanted)
            assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(whole(plain), whole(fast), strict=True))


ROUGH = {
    "a barrier at 500": lambda: moved("q", "q'^2/2 - exp(-(20*(q - 500))^2)", {"q": 0, "q'": 1}, 600.0),
    "a wall, an event": lambda: moved("q v", "q'^2/2 + v'^2/2 - q^4", {"q": 0, "q'": 1, "v": 0, "v'": 2}, 9.0, events=["v - 3", "q*v"]),
    "friction and its corner": lambda: moved("q", "q'^2/2 - q^2/2", {"q": 2, "q'": 0}, 12.0, forces={"q": "-0.1*sign(q')"}),
    "a determinant that touches zero": lambda: moved("q", "(1 - q)^2*q'^2/2", {"q": 0, "q'": 1}, 3.0),
    "a mass that turns back": lambda: moved("q", "(1.001 + cos(q))*q'^2/2", {"q": 0, "q'": 1}, 9.0),
    "an angle that turns": lambda: moved("q", "q'^2/2 + cos(q)", {"q": 0, "q'": 5}, 60.0),
}


def moved(names, lagrangian, start, end, events=(), **parts):
    return ch.simulate(ch.derive(ch.System(names, lagrangian=lagrangian, **parts)), start, (0, end), events=events, progress=False)


@pytest.mark.parametrize("name", ROUGH)
def test_rough_motions_of_whole_steps_have_the_same_bits(fresh, monkeypatch, name):
    """Steps that are shortened, cut at roots, or end where a determinant vanishes."""
    some = 0
    for (code, *rest), options in recorded(monkeypatch, ROUGH[name]):
        repeated_calls._stages.clear()
        wanted = options | {"keep": STEPS, "times": (), "paused": None, "led": None}
        plain = run(code, *rest, **wanted)
        some += stages_of(code, code.size(len(rest[2]))) != 0
        fast = run(code, *rest, **wanted)
        assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(whole(plain), whole(fast), strict=True))
    assert some


@pytest.mark.parametrize("name", sorted(SYSTEMS_WITH_ENDS.keys() - {"rocard"}))  # it watches a tangent, which is called
def test_the_ends_of_whole_steps_need_no_other_code(fresh, monkeypatch, name):
    ((code, *rest), options), *_ = calls_of(name, 1e-8, monkeypatch)
    n, options = code.size(len(rest[2])), options | {"keep": FINAL, "times": (), "paused": None, "led": None}
    address, right = stages_of(code, n), run(code, *rest, **options)
    outputs = -(-n // 4) * 4 + code.n_watch + code.n_measure
    nowhere = compile_kernel(ca.Function("f", [T, ca.SX.sym("y", n), P], [ca.SX(outputs, 1) + np.nan]))
    wrong = code._replace(ends=nowhere.address)
    assert run(wrong, *rest, **options).status != right.status
    repeated_calls._stages[repeated_calls._key(wrong, n)] = address
    assert equal(right, run(wrong, *rest, **options))
