"""Machine code from CasADi tapes: every operation against numpy, and what a kernel promises to compiled loops."""

import gc
import math
import pickle
import re
import subprocess
import sys
import threading
from fractions import Fraction

import casadi as ca
import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

from chetaev.numerics.machine import engine, grouped, instructions, interpreter, tape
from chetaev.numerics.machine import kernels as machine
from chetaev.numerics.machine.kernels import Kernel, compile_kernel, joined_kernel
from chetaev.numerics.machine.native import call_kernel

INF, NAN = math.inf, math.nan
SPECIAL = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -3.0, 1e-300, -1e-300, 1e300, -1e300, INF, -INF, NAN]


class Both(Kernel):
    """A kernel whose program is interpreted, run in loops and compiled at every call: the values must be the same, to the last bit."""

    def __call__(self, t, y, p):
        interpreted = super().__call__(t, y, p)
        kernel = Kernel(self.program, self.n_state, self.n_parameters, self.n_out, self.instructions, self.hot)
        assert kernel.address
        compiled = kernel(t, y, p)
        for found in (interpreted, in_loops(self.program, t, y, p, self.n_out)) if interpreter.interprets() else (interpreted,):
            np.testing.assert_array_equal(found, compiled)
            np.testing.assert_array_equal(np.signbit(found[compiled == compiled]), np.signbit(compiled[compiled == compiled]))
        return interpreted

    @property
    def provisional(self):
        return interpreter.interprets()


def in_loops(program, t, y, p, n_out):
    """The results of a program in loops, however short these are."""
    groups, columns = grouped.tables_of(np.frombuffer(program, np.int32).reshape(-1, 4))
    state, parameters, out = np.array(y, float), np.array(p, float), np.empty(n_out)
    address = grouped._ENTRIES.address(groups.ctypes.data, len(groups), columns.ctypes.data, len(program) // 16)
    engine.entry_of(address)(float(t), state.ctypes.data, parameters.ctypes.data, out.ctypes.data)
    return out


def kernel_of(build, n_state=2, n_parameters=1, **options):
    t, y, p = ca.SX.sym("t"), ca.SX.sym("y", n_state), ca.SX.sym("p", n_parameters)
    function = ca.Function("f", [t, y, p], [build(t, y, p)], options)
    made = compile_kernel(function)
    return Both(made.program, made.n_state, made.n_parameters, made.n_out, made.instructions), function


def operations(function):
    return {function.instruction_id(k) for k in range(function.n_instructions())}


def points(arguments):
    random = np.random.default_rng(5)
    smooth = [*random.normal(size=20), *random.uniform(-1, 1, 10), *random.uniform(1, 40, 10), *np.exp(random.normal(scale=30, size=10))]
    if arguments == 1:
        return np.array([[x, 7.0] for x in SPECIAL + smooth])
    ties = [[x, x] for x in smooth[:5]]
    return np.array([[a, b] for a in SPECIAL for b in SPECIAL] + ties + [*zip(smooth, random.permutation(smooth), strict=True)])


@njit(cache=True)
def call_many(address, t, ys, p, outs):
    for i in range(len(ys)):
        call_kernel(address, t, ys[i].ctypes, p.ctypes, outs[i].ctypes)


def same(ours, theirs, rtol=1e-14):
    np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=0, equal_nan=True)


UNARY = {
    "NEG": (lambda x: -x, np.negative),
    "SQ": (lambda x: x * x, np.square),
    "TWICE": (lambda x: 2 * x, lambda x: x + x),
    "INV": (lambda x: 1 / x, lambda x: 1 / x),
    "SQRT": (ca.sqrt, np.sqrt),
    "SIN": (ca.sin, np.sin),
    "COS": (ca.cos, np.cos),
    "TAN": (ca.tan, np.tan),
    "ASIN": (ca.asin, np.arcsin),
    "ACOS": (ca.acos, np.arccos),
    "ATAN": (ca.atan, np.arctan),
    "SINH": (ca.sinh, np.sinh),
    "COSH": (ca.cosh, np.cosh),
    "TANH": (ca.tanh, np.tanh),
    "ASINH": (ca.asinh, np.arcsinh),
    "ACOSH": (ca.acosh, np.arccosh),
    "ATANH": (ca.atanh, np.arctanh),
    "EXP": (ca.exp, np.exp),
    "LOG": (ca.log, np.log),
    "LOG1P": (ca.log1p, np.log1p),
    "EXPM1": (ca.expm1, np.expm1),
    "FABS": (ca.fabs, np.abs),
    "SIGN": (ca.sign, np.sign),
    "FLOOR": (ca.floor, np.floor),
    "CEIL": (ca.ceil, np.ceil),
    "NOT": (ca.logic_not, lambda x: np.where(x == 0, 1.0, 0.0)),
    "ERF": (ca.erf, np.vectorize(math.erf)),
}

BINARY = {
    "ADD": (lambda a, b: a + b, np.add),
    "SUB": (lambda a, b: a - b, np.subtract),
    "MUL": (lambda a, b: a * b, np.multiply),
    "DIV": (lambda a, b: a / b, np.divide),
    "POW": (lambda a, b: a**b, np.power),
    "ATAN2": (ca.atan2, np.arctan2),
    "FMIN": (ca.fmin, np.fmin),
    "FMAX": (ca.fmax, np.fmax),
    "LT": (lambda a, b: a < b, np.less),
    "LE": (lambda a, b: a <= b, np.less_equal),
    "EQ": (lambda a, b: a == b, np.equal),
    "NE": (lambda a, b: a != b, np.not_equal),
    "AND": (ca.logic_and, np.logical_and),
    "OR": (ca.logic_or, np.logical_or),
    "IF_ELSE_ZERO": (lambda a, b: ca.if_else(a, b, 0), lambda a, b: np.where(a != 0, b, 0.0)),
    "COPYSIGN": (ca.copysign, np.copysign),
    "FMOD": (ca.fmod, np.fmod),
    "HYPOT": (ca.hypot, np.hypot),
    "REMAINDER": (
        ca.remainder,
        np.vectorize(lambda a, b: NAN if math.isinf(a) or b == 0 else math.remainder(a, b), otypes=[float]),
    ),
}


@pytest.mark.parametrize("name", UNARY)
def test_operations_of_one_argument(name):
    write, reference = UNARY[name]
    kernel, function = kernel_of(lambda t, y, p: write(y[0]))
    assert getattr(ca, f"OP_{name}") in operations(function) or name == "TWICE"  # a product, before casadi 3.8
    at = points(1)
    with np.errstate(all="ignore"):
        expected = reference(at[:, 0])
    same([kernel(0.0, y, [0.0])[0] for y in at], expected)


@pytest.mark.parametrize("name", BINARY)
def test_operations_of_two_arguments(name):
    write, reference = BINARY[name]
    kernel, function = kernel_of(lambda t, y, p: write(y[0], y[1]))
    assert getattr(ca, f"OP_{name}") in operations(function)
    at = points(2)
    with np.errstate(all="ignore"):
        expected = reference(at[:, 0], at[:, 1])
    same([kernel(0.0, y, [0.0])[0] for y in at], np.asarray(expected, float))


def test_every_operation_that_compiles_is_tested():
    tested = {getattr(ca, f"OP_{name}") for name in UNARY | BINARY}
    assert set(instructions.LINES) == tested


def test_the_tape_is_read_as_a_whole_and_line_by_line_alike(monkeypatch):
    function = _busy()
    whole = tape.tape_of(function)
    assert len(whole) == function.n_instructions()
    assert function.instruction_constant(int(np.flatnonzero(whole[:, 0] == ca.OP_CONST)[0])) in (0.5, 2.0, 1.0, 0.0)
    monkeypatch.setattr(ca.Function, "serialize", lambda function: "another format")
    assert (tape.tape_of(function) == whole).all()
    assert tape.tape_of(ca.Function("f", [ca.SX.sym("t")], [])).shape == (0, 4)


def test_equal_values_are_computed_once():
    def build(t, y, p):
        twins = [ca.Function("f", [y, p], [ca.sin(y[0] * p[0]) / (1 + y[1])])(y, p) for _ in range(3)]
        return ca.vertcat(*twins, p[0] * y[0])

    kernel, function = kernel_of(build)
    assert function.n_instructions() > 16
    written = kernel.text.rpartition("{\n")[2]
    assert len(re.findall("call .*@sin", written)) == 1
    assert written.count("fmul") == 1  # factors may change places
    same(kernel(0.0, [0.5, 1.5], [2.0]), [math.sin(1.0) / 2.5] * 3 + [1.0])


def test_a_kernel_that_is_asked_for_again_and_again_is_compiled():
    kernel = compile_kernel(pendulum())
    early = {kernel.early for _ in range(machine._OFTEN)}
    assert len(early) == 1
    assert not kernel.provisional
    assert kernel.early == kernel.address


def test_threads_interpret_a_program_at_once():
    kernel = compile_kernel(_busy())
    at = np.random.default_rng(3).uniform(-1, 1, (8, 7))
    expected = [compile_kernel(_busy())(x[0], x[1:5], x[5:]).tolist() for x in at]
    found = [[] for _ in at]

    def work(k):
        found[k] = [kernel(at[k][0], at[k][1:5], at[k][5:]).tolist() for _ in range(300)]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(len(at))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[line] * 300 for line in expected]


def test_corners_and_zeros_have_their_signs():
    kernel, _ = kernel_of(lambda t, y, p: ca.vertcat(ca.sign(y[0]), ca.fabs(y[0]), -y[0], ca.fmin(y[0], y[1]), ca.fmax(y[0], y[1])))
    assert kernel(0.0, [0.0, 0.0], [0.0]).tolist() == [0, 0, 0, 0, 0]
    assert kernel(0.0, [NAN, 2.0], [0.0])[3:].tolist() == [2, 2]
    assert kernel(0.0, [2.0, NAN], [0.0])[3:].tolist() == [2, 2]
    assert math.isnan(kernel(0.0, [NAN, 2.0], [0.0])[0])
    assert math.copysign(1, kernel(0.0, [0.0, 0.0], [0.0])[2]) == -1


@pytest.mark.parametrize("exponent", [2, 3, 5, 7, 10, 64, 100, 101, 127, 128, 129, 1000, -1, -2, -3, -17, -101, -128, -1000])
def test_integer_powers(exponent):
    kernel, _ = kernel_of(lambda t, y, p: y[0] ** exponent)
    at = points(1)[:, 0]
    with np.errstate(all="ignore"):
        expected = at ** float(exponent)
    ours = np.array([kernel(0.0, [x, 0.0], [0.0])[0] for x in at])
    normal = ~((np.abs(expected) < 1e-300) & (expected != 0))  # a reciprocal loses the subnormal powers
    same(ours[normal], expected[normal], rtol=1e-14 + abs(exponent) * 2.3e-16)
    assert (np.abs(ours[~normal]) < 1e-300).all()
    assert ("@pow" in kernel.text) == (abs(exponent) > 128)


@pytest.mark.parametrize("exponent", [0.5, 1.5, 2.5, 12.5, -0.5, -1.5, -2.5, -12.5, 0.3, -0.7, 1 / 3, 200.5])
def test_powers_that_are_no_integers(exponent):
    kernel, _ = kernel_of(lambda t, y, p: y[0] ** exponent)
    at = points(1)[:, 0]
    at = at[at != -INF]  # outside the domain, where a square root is not what pow is: see the next test
    with np.errstate(all="ignore"):
        expected = at**exponent
    ours = np.array([kernel(0.0, [x, 0.0], [0.0])[0] for x in at])
    normal = ~((np.abs(expected) < 1e-300) & (expected != 0))
    same(ours[normal], expected[normal])
    assert ("@pow" in kernel.text) == (exponent not in (0.5, 1.5, 2.5, 12.5, -0.5, -1.5, -2.5, -12.5))


@pytest.mark.parametrize("exponent", [0.5, 1.5, 2.5, 12.5, 127.5, -0.5, -1.5, -2.5, -12.5, -127.5])
def test_half_integer_powers_of_minus_infinity_are_outside_the_domain_like_those_of_other_negative_numbers(exponent):
    """C's pow gives infinity, or a silent 0 for a negative exponent; the root of CasADi's graph, and that of C, give NaN."""
    assert math.pow(-INF, exponent) == (INF if exponent > 0 else 0.0)
    kernel, function = kernel_of(lambda t, y, p: ca.vertcat(y[0] ** exponent, ca.sqrt(y[0]), ca.fmax(y[0] ** exponent, 0)))
    for base in (-1e-300, -2.0, -1e300, -INF):
        found = kernel(0.0, [base, 0.0], [0.0])
        assert np.isnan(found[:2]).all()
        assert found[2] == 0  # whatever guards the finite ones guards this one too
    half, _ = kernel_of(lambda t, y, p: y[0] ** 0.5)
    assert ca.OP_SQRT in operations(function) and "@pow" not in half.text and np.isnan(half(0.0, [-INF, 0.0], [0.0]))
    above = kernel(0.0, [INF, 0.0], [0.0])
    assert above.tolist() == [INF if exponent > 0 else 0.0, INF, INF if exponent > 0 else 0.0]


def test_general_powers_see_the_exponent_as_a_value():
    kernel, _ = kernel_of(lambda t, y, p: y[0] ** p[0])
    for base, exponent in [(2.0, 3.0), (-2.0, 3.0), (-2.0, 0.5), (0.0, 0.0), (0.0, -1.0), (NAN, 0.0), (1.7, -2.4)]:
        with np.errstate(all="ignore"):
            same(kernel(0.0, [base, 0.0], [exponent]), [np.power(base, exponent)])


def test_constants_are_exact_to_the_bit():
    numbers = [math.pi, 1 / 3, 5e-324, -1e308, INF, -INF, NAN, 0.1, -0.0]
    kernel, _ = kernel_of(lambda t, y, p: ca.vertcat(*numbers))
    np.testing.assert_array_equal(kernel(0.0, [1, 2], [3]), numbers)


def test_time_state_and_parameters_keep_their_places():
    kernel, _ = kernel_of(lambda t, y, p: ca.vertcat(p[2], t, y[1], p[0], y[3]), 4, 3)
    assert (kernel.n_state, kernel.n_parameters, kernel.n_out) == (4, 3, 5)
    assert kernel(0.5, [1, 2, 3, 4], [10, 20, 30]).tolist() == [30, 0.5, 2, 10, 4]


def test_a_state_or_a_parameter_may_be_missing():
    kernel, _ = kernel_of(lambda t, y, p: ca.vertcat(t, t * t), 0, 0)
    assert kernel(3.0, [], []).tolist() == [3, 9]
    t, y = ca.SX.sym("t"), ca.SX.sym("y", 1)
    assert compile_kernel(ca.Function("f", [t, y, ca.SX()], [2 * y]))(0.0, [4.0], []).tolist() == [8]


def test_structural_zeros_are_written():
    def build(t, y, p):
        out = ca.SX(5, 1)
        out[1], out[3] = y[0], p[0]
        return out

    kernel, _ = kernel_of(build)
    out = np.full((1, 5), NAN)
    call_many(kernel.address, 0.0, np.array([[1.0, 2.0]]), np.array([3.0]), out)
    assert out.tolist() == [[0, 1, 0, 3, 0]]
    empty, _ = kernel_of(lambda t, y, p: ca.SX(3, 1))
    assert empty(0.0, [1, 2], [3]).tolist() == [0, 0, 0]


def test_a_graph_of_everything_agrees_with_casadis_own_evaluation():
    random = np.random.default_rng(2)

    def build(t, y, p):
        nodes = [t, *ca.vertsplit(y), *ca.vertsplit(p)]
        unary = [ca.sin, ca.tanh, ca.atan, ca.fabs, lambda u: ca.sqrt(1 + u * u), lambda u: ca.exp(-u * u), ca.sign, ca.asinh]
        binary = [
            lambda a, b: a + b,
            lambda a, b: a - b,
            lambda a, b: a * b,
            ca.atan2,
            ca.fmin,
            ca.fmax,
            lambda a, b: ca.if_else(a < b, a, b),
        ]
        for _ in range(300):
            a, b = (nodes[i] for i in random.integers(max(0, len(nodes) - 40), len(nodes), 2))
            nodes.append(unary[random.integers(len(unary))](binary[random.integers(len(binary))](a, b)))
        return ca.vertcat(*nodes[-20:])

    kernel, function = kernel_of(build, 6, 2, cse=True)
    for _ in range(20):
        t, y, p = random.normal(), random.normal(size=6), random.normal(size=2)
        np.testing.assert_allclose(kernel(t, y, p), np.array(function(t, y, p)).ravel(), rtol=1e-9, atol=1e-12)


# what a kernel promises


def pendulum():
    t, y, p = ca.SX.sym("t"), ca.SX.sym("y", 2), ca.SX.sym("p", 3)
    return ca.Function("pendulum", [t, y, p], [ca.vertcat(y[1], -p[0] * ca.sin(y[0]) - p[1] * y[1] + p[2] * ca.cos(2 * t))])


@njit(cache=True)
def rk4(address, y, p, h, n):
    y, z, k = y.copy(), np.empty(y.size), np.empty((4, y.size))
    for i in range(n):
        call_kernel(address, i * h, y.ctypes, p.ctypes, k[0].ctypes)
        for s, a in ((1, h / 2), (2, h / 2), (3, h)):
            for j in range(y.size):
                z[j] = y[j] + a * k[s - 1, j]
            call_kernel(address, i * h + a, z.ctypes, p.ctypes, k[s].ctypes)
        for j in range(y.size):
            y[j] += h / 6 * (k[0, j] + 2 * k[1, j] + 2 * k[2, j] + k[3, j])
    return y


def numpy_rk4(f, y, h, n):
    for i in range(n):
        a = f(i * h, y)
        b = f(i * h + h / 2, y + h / 2 * a)
        c = f(i * h + h / 2, y + h / 2 * b)
        d = f(i * h + h, y + h * c)
        y = y + h / 6 * (a + 2 * b + 2 * c + d)
    return y


START, VALUES = np.array([1.0, 0.2]), np.array([9.81, 0.3, 0.7])


def numpy_pendulum(t, y):
    return np.array([y[1], -9.81 * np.sin(y[0]) - 0.3 * y[1] + 0.7 * np.cos(2 * t)])


def test_a_compiled_loop_agrees_with_numpy():
    ours = rk4(compile_kernel(pendulum()).address, START, VALUES, 1e-2, 500)
    np.testing.assert_allclose(ours, numpy_rk4(numpy_pendulum, START, 1e-2, 500), rtol=0, atol=1e-13)


def test_one_compiled_loop_serves_every_kernel():
    growth, _ = kernel_of(lambda t, y, p: p[0] * y, 2, 1)
    before = len(rk4.signatures)
    rk4(compile_kernel(pendulum()).address, START, VALUES, 1e-2, 1)
    same(rk4(growth.address, np.ones(2), np.array([-1.0]), 1e-2, 100), [math.exp(-1)] * 2, rtol=1e-9)
    assert len(rk4.signatures) == max(before, 1)


def test_the_same_graph_is_compiled_once():
    first, second = compile_kernel(pendulum()), compile_kernel(pendulum())
    assert first.address == second.address
    assert first == second
    assert hash(first) == hash(second)
    other, _ = kernel_of(lambda t, y, p: 2 * y)
    assert other.address != first.address
    assert other != first


def test_the_code_outlives_the_kernel():
    kernel, _ = kernel_of(lambda t, y, p: y * 123.25)
    address, out = kernel.address, np.empty((1, 2))
    del kernel
    gc.collect()
    call_many(address, 0.0, np.array([[1.0, 2.0]]), np.zeros(1), out)
    assert out.tolist() == [[123.25, 246.5]]


def test_a_kernel_cannot_change():
    kernel = compile_kernel(pendulum())
    with pytest.raises(AttributeError):
        kernel.n_state = 3
    assert repr(kernel) == f"Kernel(n_state=2, n_parameters=3, n_out=2, instructions={pendulum().n_instructions()})"


def test_pickling():
    kernel = compile_kernel(pendulum())
    again = pickle.loads(pickle.dumps(kernel))  # noqa: S301
    assert again == kernel
    assert again.address == kernel.address
    assert again(1.0, START, VALUES).tolist() == kernel(1.0, START, VALUES).tolist()


SCRIPT = """
import pickle, sys
import numpy as np
from numba import njit
from chetaev.numerics.machine.native import call_kernel

@njit(cache=True)
def euler(address, y, p, h, n):
    y, k = y.copy(), np.empty(y.size)
    for i in range(n):
        call_kernel(address, i * h, y.ctypes, p.ctypes, k.ctypes)
        for j in range(y.size):
            y[j] += h * k[j]
    return y

kernel = pickle.load(open(sys.argv[1], "rb"))
y = euler(kernel.address, np.array([1.0, 0.2]), np.array([9.81, 0.3, 0.7]), 1e-2, 100)
print(sum(euler.stats.cache_hits.values()), *(float(x).hex() for x in y))
"""


def test_a_kernel_goes_to_another_process_and_its_caller_is_cached_on_disk(tmp_path):
    (tmp_path / "loop.py").write_text(SCRIPT)
    (tmp_path / "kernel.pickle").write_bytes(pickle.dumps(compile_kernel(pendulum())))
    expected = START
    for i in range(100):
        expected = expected + 1e-2 * numpy_pendulum(i * 1e-2, expected)
    for hits in (0, 1):
        command = [sys.executable, str(tmp_path / "loop.py"), str(tmp_path / "kernel.pickle")]
        done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
        found, *state = done.stdout.split()
        assert int(found) == hits
        np.testing.assert_allclose([float.fromhex(x) for x in state], expected, rtol=0, atol=1e-13)


def test_many_threads_compile_at_once_beside_numba():
    def family(i):
        t, y, p = ca.SX.sym("t"), ca.SX.sym("y", 1), ca.SX.sym("p", 1)
        u = y[0]
        for k in range(60):
            u = ca.sin(u * (i % 6 + 1) / 8) + k * p[0]
        return ca.Function("f", [t, y, p], [u])

    functions = [family(i) for i in range(24)]
    kernels, errors, gate = [None] * len(functions), [], threading.Barrier(len(functions) + 1)

    def work(i):
        gate.wait()
        try:
            kernels[i] = compile_kernel(functions[i])
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(functions))]
    for thread in threads:
        thread.start()
    gate.wait()
    assert njit(lambda x: np.sum(np.sin(x)))(np.zeros(3)) == 0
    for thread in threads:
        thread.join()
    assert not errors
    assert len({kernel.address for kernel in kernels}) == 6
    for function, kernel in zip(functions, kernels, strict=True):
        same(kernel(0.0, [0.3], [0.01]), np.array(function(0.0, [0.3], [0.01])).ravel(), rtol=1e-13)


@pytest.mark.parametrize("turns", [100, 1000])
def test_large_tapes(turns):
    """Of 10^4 instructions, optimised, and of 10^5, plain."""

    def spiral(u, v, c):
        for _ in range(turns):
            u, v = u * c - v, v * c + u
        return u, v

    kernel, _ = kernel_of(lambda t, y, p: ca.vertcat(*spiral(y[:25], y[25:], p[0])), 50, 1)
    assert kernel.instructions > 100 * turns
    start = np.linspace(-1, 1, 50)
    np.testing.assert_allclose(kernel(0.0, start, [1e-3]), np.hstack(spiral(start[:25], start[25:], 1e-3)), rtol=1e-10, atol=1e-12)


# refusals


def test_sizes_are_checked():
    kernel = compile_kernel(pendulum())
    with pytest.raises(ValueError, match=r"y is a vector of length 2; this one has the shape \(3,\)"):
        kernel(0.0, [1, 2, 3], VALUES)
    with pytest.raises(ValueError, match=r"p is a vector of length 3; this one has the shape \(\)"):
        kernel(0.0, START, 1.0)
    with pytest.raises(ValueError, match=r"y is a vector of length 2; this one has the shape \(2, 1\)"):
        kernel(0.0, [[1], [2]], VALUES)


def test_any_array_of_numbers_is_read():
    kernel = compile_kernel(pendulum())
    expected = kernel(0.5, START, VALUES).tolist()
    strided = np.array([1.0, -1.0, 0.2, -1.0])[::2]
    assert kernel(np.float64(0.5), strided, tuple(VALUES)).tolist() == expected
    assert kernel(0, [1, 2], [3, 4, 5]).tolist() == kernel(0.0, [1.0, 2.0], [3.0, 4.0, 5.0]).tolist()


def test_functions_that_are_no_right_hand_sides():
    t, y, p, free = ca.SX.sym("t"), ca.SX.sym("y", 2), ca.SX.sym("p", 1), ca.SX.sym("mu")
    m = ca.MX.sym("m")
    refused = [
        (ca.Function("f", [m, ca.MX.sym("y"), ca.MX.sym("p")], [m]), "f is not an SX function"),
        (ca.Function("f", [t, y], [y]), "f has 2 inputs and 1 outputs"),
        (ca.Function("f", [t, y, p], [y, p]), "f has 3 inputs and 2 outputs"),
        (ca.Function("f", [t, y, p], [y * free], {"allow_free": True}), r"f has free variables: mu"),
        (ca.Function("f", [y, y[:0], p], [p]), "input 0 of f is the time"),
        (ca.Function("f", [t, ca.SX.sym("y", 2, 2), p], [p]), "input 1 of f is not a dense vector"),
        (ca.Function("f", [t, ca.SX.sym("y", ca.Sparsity(3, 1)), p], [p]), "input 1 of f is not a dense vector"),
        (ca.Function("f", [t, y, p], [y @ y.T]), r"matrix of shape \(2, 2\)"),
        (ca.Function("f", [t, y, p], [ca.erfinv(y)]), "OP_ERFINV cannot be compiled"),
    ]
    for function, message in refused:
        with pytest.raises(ValueError, match=message):
            compile_kernel(function)


def test_a_function_that_no_library_has():
    with pytest.raises(RuntimeError, match="the function besselish is neither in this process nor in the mathematical library"):
        engine.bind("besselish")


def test_libm_is_found_where_the_process_does_not_show_it(monkeypatch):
    found = {}
    monkeypatch.setattr(engine.llvm, "address_of_symbol", lambda name: None)
    monkeypatch.setattr(engine.llvm, "add_symbol", found.__setitem__)
    for name in instructions.LIBM:
        engine.bind(name)
    assert set(instructions.LIBM) <= set(found)
    assert all(found.values())


def test_a_compiled_caller_hands_over_pointers_to_doubles():
    @njit
    def arrays(address, y):
        call_kernel(address, 0.0, y, y, y)

    @njit
    def singles(address, y):
        call_kernel(address, 0.0, y.ctypes, y.ctypes, y.ctypes)

    for wrong in (lambda: arrays(1, np.zeros(2)), lambda: singles(1, np.zeros(2, np.float32))):
        with pytest.raises(TypingError, match=r"call_kernel takes y\.ctypes of an array of float64 as y"):
            wrong()


def test_division_by_parameters_is_a_product_with_one_inverse():
    y, p = ca.SX.sym("y", 2), ca.SX.sym("p", 2)
    mass = 2 * p[0] + p[1]
    function = ca.Function("f", [ca.SX.sym("t"), y, p], [ca.vertcat(y[0] / mass, y[1] / mass, p[1] / y[0])])
    made = compile_kernel(function)
    assert made.text.count("fdiv") == 2
    np.testing.assert_allclose(made(0.0, [0.7, -1.3], [0.4, 2.1]), [0.7 / 2.9, -1.3 / 2.9, 3.0], rtol=4e-16)
    assert np.isnan(made(0.0, [0.0, 1.0], [0.0, 0.0])[0])
    assert made(0.0, [3.0, -1.0], [0.0, 0.0])[1] == -np.inf


def _busy():
    """More than two hundred instructions with sums of products, sines with cosines, roots, corners and quotients."""
    t, y, p = ca.SX.sym("t"), ca.SX.sym("y", 4), ca.SX.sym("p", 2)
    u, v, w, z = (y[i] for i in range(4))
    for k in range(20):
        u, v = u * ca.cos(v) / 2 - w * ca.sin(v) + t, ca.sin(v * w - u / p[1]) + p[0] * p[1]
        w, z = ca.fmax(w * w + u, -ca.fabs(v)) / (2 + u * u), ca.tanh((k / 20 - z * z) - ca.fmin(u * v, ca.sqrt(1 + z * z) * w))
    return ca.Function("busy", [t, y, p], [ca.vertcat(u, v, w, z)])


def test_code_made_in_a_hurry_computes_the_same_to_the_last_bit():
    function = _busy()
    kernel = compile_kernel(function)
    assert kernel.instructions > machine._SMALL
    points = np.random.default_rng(5).uniform(-2, 2, (100, 7))
    hasty = compile_kernel(function)
    early = np.array([hasty(x[0], x[1:5], x[5:]) for x in points])
    assert hasty.provisional == (sys.platform == "linux")
    assert kernel.address
    assert not kernel.provisional
    assert kernel.early == kernel.address
    assert np.isfinite(early).all()
    for x, found in zip(points, early, strict=True):
        assert kernel(x[0], x[1:5], x[5:]).tobytes() == found.tobytes()
        np.testing.assert_allclose(found, np.array(function(x[0], x[1:5], x[5:])).ravel(), rtol=1e-9)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda a, b, c: a * b + c, "fma(a, b, c)"),
        (lambda a, b, c: c + a * b, "fma(a, b, c)"),
        (lambda a, b, c: a * b - c, "fma(a, b, -c)"),
        (lambda a, b, c: c - a * b, "fma(-a, b, c)"),
        (lambda a, b, c: c - a * a, "fma(-a, a, c)"),
    ],
)
@pytest.mark.skipif("fma" not in engine.llvm.get_host_cpu_features() and sys.platform == "linux", reason="no fused instruction")
def test_a_product_that_is_added_once_is_rounded_with_the_sum(make, expected):
    """Against exact arithmetic: c is the product's rounded value, so that only its rounding error is left."""
    t, y, p = ca.SX.sym("t"), ca.SX.sym("y", 3), ca.SX.sym("p", 0)
    kernel = compile_kernel(ca.Function("f", [t, y, p], [make(y[0], y[1], y[2])]))
    a, b = 1 + 2.0**-30, 1 + 3 * 2.0**-31
    factors = (a, a) if "a, a" in expected else (a, b)
    error = float(Fraction(factors[0]) * Fraction(factors[1]) - Fraction(factors[0] * factors[1]))
    assert error != 0
    signs = {"fma(a, b, c)": (-1, 1), "fma(a, b, -c)": (1, 1)}
    side, sign = signs.get(expected, (1, -1))
    assert kernel(0.0, [a, b, side * factors[0] * factors[1]], [])[0] == sign * error


def test_a_product_that_is_used_twice_is_rounded_by_itself():
    t, y, p = ca.SX.sym("t"), ca.SX.sym("y", 2), ca.SX.sym("p", 0)
    product = y[0] * y[1]
    kernel = compile_kernel(ca.Function("f", [t, y, p], [ca.vertcat(product + 1, product - 2, product + product)]))
    a, b = 1 + 2.0**-30, 1 + 3 * 2.0**-31
    assert kernel(0.0, [a, b], []).tolist() == [a * b + 1, a * b - 2, 2 * (a * b)]


def test_a_kernel_knows_which_entries_of_the_state_it_reads():
    t, y, p = ca.SX.sym("t"), ca.SX.sym("y", 6), ca.SX.sym("p", 2)
    assert compile_kernel(ca.Function("f", [t, y, p], [ca.vertcat(y[4] * p[0], ca.sin(y[1]) + t)])).reads == (1, 4)
    assert compile_kernel(ca.Function("f", [t, y, p], [ca.vertcat(p[1] + t)])).reads == ()


def test_joined_kernels_have_the_bits_of_each():
    """A product that one program rounds with its sum and the other does not stays what it is in each; a gap between them is left alone."""
    t, y, p = ca.SX.sym("t"), ca.SX.sym("y", 3), ca.SX.sym("p", 2)
    product = y[0] * ca.sin(y[1])
    first = compile_kernel(ca.Function("f", [t, y, p], [ca.vertcat(product + y[2], y[1] / p[0])]))
    second = compile_kernel(ca.Function("g", [t, y, p], [ca.vertcat(product + y[2], product, ca.exp(t) * p[1])]))
    joined = joined_kernel((first, 0), (second, 4))
    assert joined.n_out == 7 and joined.instructions < first.instructions + second.instructions
    for state in np.random.default_rng(1).normal(size=(200, 3)):
        found = joined(0.3, state, [0.7, 1.9])
        assert found[:2].tobytes() == first(0.3, state, [0.7, 1.9]).tobytes()
        assert found[4:].tobytes() == second(0.3, state, [0.7, 1.9]).tobytes()


def test_a_program_whose_values_do_not_fit_on_the_stack():
    """Its values are in memory of their own while it is interpreted."""

    def chain(t, y, p):
        x, v = y[0], y[1]
        for _ in range(12_000):
            x, v = x + 0.0001 * v, v - 0.0001 * (x * p[0])
        return ca.vertcat(x, v)

    kernel, function = kernel_of(chain)
    assert kernel.instructions > 40_000
    found = kernel(0.0, [0.5, 2.0], [9.81])
    np.testing.assert_allclose(found, np.array(function(0.0, [0.5, 2.0], [9.81])).ravel(), rtol=1e-12)


def masses(count):
    """Rates of masses in a ring of springs, with a function of each: as many independent operations as masses."""
    t, y, p = ca.SX.sym("t"), ca.SX.sym("y", 2 * count), ca.SX.sym("p", 2)
    x, v = y[:count], y[count:]
    ahead, behind = ca.vertcat(x[1:], x[0]) - x, x - ca.vertcat(x[-1], x[:-1])
    forces = p[0] * (ahead - behind) - 0.1 * v * v * ca.sin(x + t) / (1.5 + ca.cos(ahead)) + p[1] * ca.sqrt(2 + behind * behind)
    return ca.Function("ring", [t, y, p], [ca.vertcat(v, forces)])


@pytest.mark.skipif(not interpreter.interprets(), reason="programs are not interpreted here")
def test_a_long_program_runs_in_loops_and_is_not_compiled(monkeypatch):
    function = masses(5000)
    kernel = compile_kernel(function)
    assert kernel.instructions > 60_000 and not kernel.provisional
    monkeypatch.setattr(machine, "made", lambda *given: pytest.fail("a long program was compiled"))
    y, p = np.random.default_rng(4).normal(size=10_000), np.array([3.0, 0.7])
    found = kernel(0.3, y, p)
    np.testing.assert_allclose(found, np.array(function(0.3, y, p)).ravel(), rtol=1e-13, atol=1e-13)
    assert kernel.early == kernel.address and kernel.address == pickle.loads(pickle.dumps(kernel)).address  # noqa: S301
    answers = [None] * 4

    def ask(k):
        answers[k] = [kernel(0.3, y * (k + 1), p).tobytes() for _ in range(20)]

    threads = [threading.Thread(target=ask, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(set(answer) == {kernel(0.3, y * (k + 1), p).tobytes()} for k, answer in enumerate(answers))


@pytest.mark.skipif(not interpreter.interprets(), reason="programs are not interpreted here")
def test_a_program_of_medium_length_is_compiled_for_many_calls_only():
    kernel = compile_kernel(masses(1800))
    y, p = np.random.default_rng(4).normal(size=3600), np.array([3.0, 0.7])
    assert 20_000 < kernel.instructions < 60_000 and kernel.provisional
    early = kernel(0.3, y, p)
    assert kernel.early == kernel.in_loops != kernel.address
    assert kernel(0.3, y, p).tobytes() == early.tobytes() and not kernel.provisional


def test_operations_one_after_the_other_do_not_run_in_loops():
    t, y, p = ca.SX.sym("t"), ca.SX.sym("y", 1), ca.SX.sym("p", 0)
    x = y[0]
    for _ in range(11_000):
        x = 1.5 * x - x * x
    kernel = compile_kernel(ca.Function("f", [t, y, p], [x]))
    assert kernel.instructions > 20_000 and kernel.in_loops is None


@pytest.mark.parametrize("count", range(1, 8))
def test_inverses_in_vectors_have_the_bits_of_single_ones(count):
    t, y, p = ca.SX.sym("t"), ca.SX.sym("y", 2), ca.SX.sym("p", 7)
    column = ca.vertcat(*[y[0] / p[i] + ca.sin(y[1]) for i in range(count)], p[0] - y[1])
    kernel = compile_kernel(ca.Function("inverses", [t, y, p], [column]))
    assert ("fdiv <" in instructions.text_of(kernel.program, 1)) == (count > 1)
    state, draws = np.array([1.7, 0.4]), np.random.default_rng(count)
    for values in (draws.uniform(-3.0, 3.0, 7), np.array([0.0, -0.0, INF, 1e-310, 3.0, NAN, 7.0])):
        found = np.empty((2, count + 1))
        for address, row in zip((kernel.address, interpreter.interpreted(kernel.program)), found, strict=True):
            engine.entry_of(address)(0.0, state.ctypes.data, values.ctypes.data, row.ctypes.data)
        assert np.array_equal(found[0], found[1], equal_nan=True)
        with np.errstate(divide="ignore", over="ignore"):
            assert found[0, :count] == pytest.approx(state[0] / values[:count] + math.sin(state[1]), rel=1e-14, nan_ok=True)
