"""Sine and cosine in line: exact to the last digit, and the same in all kinds of code."""

import ctypes

import casadi as ca
import mpmath
import numpy as np
import pytest

from chetaev.numerics.machine import instructions, sine
from chetaev.numerics.machine.engine import machine_code
from chetaev.numerics.machine.interpreter import interpreted
from chetaev.numerics.machine.kernels import compile_kernel

ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)

pytestmark = pytest.mark.skipif(not sine.IN_LINE, reason="this processor does not round a product and a sum together")


def turning(count=1):
    """Sines and cosines of the first multiples of an argument: y, 2y, ..."""
    t, y, p = ca.SX.sym("t"), ca.SX.sym("y"), ca.SX.sym("p", 0)
    angles = [k * y for k in range(1, count + 1)]
    return compile_kernel(ca.Function("turning", [t, y, p], [ca.vertcat(*map(ca.sin, angles), *map(ca.cos, angles))]))


def called(address, x, size):
    at, out = np.array([x]), np.empty(size)
    ENTRY(address)(0.0, at.ctypes.data, None, out.ctypes.data)
    return out


def arguments():
    chance = np.random.default_rng(5)
    spread = [chance.uniform(-1, 1, 2000), chance.uniform(-100, 100, 2000), 10.0 ** chance.uniform(-300, 9, 1000)]
    quarters = np.concatenate([np.arange(-1000, 1000), chance.integers(-(10**8), 10**8, 1000)]) * (np.pi / 2)
    return np.concatenate([*spread, quarters, np.nextafter(quarters, 0), [0.0, 5e-324, 2.0**30 - 1, np.nextafter(2.0**30, 0)]])


def test_errors_stay_below_one_unit_in_the_last_place():
    address = turning().address
    with mpmath.workprec(200):
        for x in map(float, arguments()):
            found = called(address, x, 2)
            for value, exact in zip(found, (mpmath.sin(x), mpmath.cos(x)), strict=True):
                allowed = max(float(np.spacing(abs(float(exact)))), 1e-32 * abs(x))
                assert abs(mpmath.mpf(float(value)) - exact) < allowed, x


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 6, instructions.MOST_ANGLES, instructions.MOST_ANGLES + 1])
def test_all_kinds_of_code_agree_to_the_last_bit(count):
    kernel = turning(count)
    in_line = instructions.text_of(kernel.program, interpreted(kernel.program))
    assert (sine.NAME in in_line) == (count > instructions.MOST_ANGLES)
    addresses = [kernel.address, interpreted(kernel.program), machine_code(kernel.text, False), machine_code(kernel.text, True)]
    for x in [*arguments()[::50], 1e9, 2.0**30, -(2.0**30), 3e15, 1e22, -1e300]:
        first, *others = (called(address, float(x), 2 * count) for address in addresses)
        assert all(first.tobytes() == other.tobytes() for other in others), x


def test_large_arguments_are_left_to_the_library():
    address = turning().address
    for x in (2.0**30, 1e15, 1e22, -1e300):
        assert called(address, x, 2) == pytest.approx([float(mpmath.sin(x)), float(mpmath.cos(x))], rel=1e-15)
    for x in (np.inf, -np.inf, np.nan):
        assert np.isnan(called(address, x, 2)).all()


def test_the_sign_of_zero_is_kept():
    address = turning().address
    assert np.signbit(called(address, -0.0, 2)).tolist() == [True, False]
    assert np.signbit(called(address, 0.0, 2)).tolist() == [False, False]


def test_one_large_argument_among_small_ones():
    t, y, p = ca.SX.sym("t"), ca.SX.sym("y", 2), ca.SX.sym("p", 0)
    kernel = compile_kernel(ca.Function("f", [t, y, p], [ca.vertcat(ca.sin(y[0]) * y[1], ca.cos(y[1]), ca.sin(ca.sin(y[1])))]))
    out = np.empty(3)
    at = np.array([0.3, 1e12])
    ENTRY(kernel.address)(0.0, at.ctypes.data, None, out.ctypes.data)
    assert out == pytest.approx([np.sin(0.3) * 1e12, np.cos(1e12), np.sin(np.sin(1e12))], rel=1e-14)
