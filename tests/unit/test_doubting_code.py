"""Bounds of rounding errors in code of their own: the bits are those of the interpreter."""

import casadi as ca
import numpy as np
import pytest

from chetaev.numerics.machine.engine import entry_of
from chetaev.numerics.machine.interpreter import interprets
from chetaev.numerics.machine.kernels import compile_kernel
from chetaev.numerics.machine.rounding_bounds import doubting
from chetaev.numerics.methods.dop853 import STEPS, Code, Limits, repeated_calls, run, stages_of
from chetaev.numerics.methods.dop853.whole_steps.doubting_code import doubting_code

pytestmark = pytest.mark.skipif(not interprets(), reason="programs are not interpreted here")
T, Y, P = ca.SX.sym("t"), ca.SX.sym("y", 4), ca.SX.sym("p", 2)
A, B, C, D = ca.vertsplit(Y)
PROGRAMS = {
    "sums and products": [A + B * C - D, (A - B) * (A + B) / (C + D), P[0] * A**2 - P[1] * B**2, 0.1 * A - 1 / D, -A, A + A],
    "roots and powers": [ca.sqrt(A * A + B * B), (A * A + 1) ** 1.5, C**3, 1 / ca.sqrt(1 + D * D)],
    "angles": [ca.sin(A) * ca.cos(B) - ca.sin(A - B), ca.cos(C * D), ca.sin(ca.cos(A) + T), 1 - ca.cos(1e-9 * A)],
    "choices": [ca.fmin(A, B), ca.fmax(C, 0), ca.fabs(D), ca.if_else(A < B, C, D), ca.sign(A) * B, A <= B, ca.logic_and(A, B), ca.floor(A)],
    "no angle and no sum": [A, P[0], 0.0, 2.5],
}
POINTS = {
    "usual": [0.3, -1.2, 0.7, 2.1],
    "large angles": [1e10, -1e12, 3.0, 1e8],
    "zeros": [0.0, -0.0, 0.0, 0.0],
    "without end": [np.inf, 1.0, -np.inf, 0.0],
    "no number": [np.nan, 1.0, 2.0, 3.0],
}


def _bits(address: int, y: list[float], outputs: int) -> np.ndarray:
    state, p, out = np.array(y), np.array([1.3, 0.7]), np.full(2 * outputs, 7.0)
    entry_of(address)(0.4, state.ctypes.data, p.ctypes.data, out.ctypes.data)
    return out.view(np.uint64)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("point", POINTS)
def test_bits_are_those_of_the_interpreter(name: str, point: str) -> None:
    kernel = compile_kernel(ca.Function("f", [T, Y, P], [ca.vertcat(*PROGRAMS[name])]))
    interpreter = doubting(kernel, often=True)
    own = doubting_code(interpreter)
    assert own != interpreter
    found, wanted = _bits(own, POINTS[point], kernel.n_out), _bits(interpreter, POINTS[point], kernel.n_out)
    numbers = ~np.isnan(wanted.view(float))
    assert np.array_equal(found[numbers], wanted[numbers])
    assert np.isnan(found.view(float)[~numbers]).all()


def test_programs_that_call_the_library_keep_the_interpreter() -> None:
    kernel = compile_kernel(ca.Function("f", [T, Y, P], [ca.vertcat(ca.exp(A), B)]))
    interpreter = doubting(kernel, often=True)
    assert doubting_code(interpreter) == interpreter
    assert doubting_code(12345) == 12345


def test_a_run_has_the_same_bits_with_either(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_stages", "_doubting"):
        monkeypatch.setattr(repeated_calls, name, {})
    kernel = compile_kernel(ca.Function("f", [T, Y, P], [ca.vertcat(C, D, -P[0] * ca.sin(A - B), P[1] * ca.sin(A - B) - 0.1 * D)]))
    code = Code(kernel.address, doubting=doubting(kernel, often=True))
    plain = run(code, 0.0, 40.0, [0.4, -0.2, 1.0, 0.3], [1.3, 0.7], Limits(1e-10), keep=STEPS)
    assert plain.inside[repeated_calls.codes.ROUNDED].any()
    stages_of(code, 4)
    assert repeated_calls.with_stages(code, 4).doubting != code.doubting
    again = run(code, 0.0, 40.0, [0.4, -0.2, 1.0, 0.3], [1.3, 0.7], Limits(1e-10), keep=STEPS)
    for one, other in ((plain.y, again.y), (plain.inside, again.inside), (plain.states, again.states)):
        assert np.array_equal(one, other)
