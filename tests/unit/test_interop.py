"""The end of a motion as a function of other packages, against closed forms."""

import math

import numpy as np
import pytest

import chetaev as ch
from chetaev.core.errors import UnfinishedError, UsageError
from chetaev.interop import end_of_motion

SPRING = ch.derive(ch.System("x", "k", lagrangian="x'^2/2 - k*x^2/2", name="spring"))
START = {"x": 0.5, "x'": 0.3}
END = 1.7


def exact(k, x0):
    """x and x'^2 at the end, and their derivatives by k and x0, for x = x0 cos wt + v/w sin wt."""
    w, v, t = math.sqrt(k), 0.3, END
    c, s = math.cos(w * t), math.sin(w * t)
    x, u = x0 * c + v / w * s, -x0 * w * s + v * c
    xk = (-x0 * t * s + v / w * t * c - v / w**2 * s) / (2 * w)
    uk = (-x0 * s - x0 * w * t * c - v * t * s) / (2 * w)
    return np.array([x, u**2]), np.array([[xk, c], [2 * u * uk, -2 * u * w * s]])


def spring_map(make):
    return make(SPRING, ["k", "x"], ["x", "x'^2"], START, (0, END), tolerance=1e-11)


def test_the_map_and_its_jacobian():
    found = spring_map(end_of_motion)
    value, slopes = found.jacobian([2.0, 0.4])
    right, derivative = exact(2.0, 0.4)
    assert found([2.0, 0.4]) == pytest.approx(right, rel=1e-9) and value == pytest.approx(right, rel=1e-9)
    assert slopes == pytest.approx(derivative, rel=1e-8)


def test_a_model_brings_its_values():
    model = ch.Model(SPRING.system, ch.Hamilton(), {"k": 2.0}, START, (0, END), 1e-11)
    assert end_of_motion(model, ["x"], ["x"])([0.4])[0] == pytest.approx(exact(2.0, 0.4)[0][0], rel=1e-9)


def test_refusals():
    with pytest.raises(UsageError, match="2 values are needed"):
        spring_map(end_of_motion)([1.0])
    with pytest.raises(UsageError, match="a start and an interval"):
        end_of_motion(SPRING, ["k"], ["x"])
    blow = ch.derive(ch.System("x", lagrangian="x'^2/2 + x^4"))
    with pytest.raises(UnfinishedError):
        end_of_motion(blow, ["x"], ["x"], {"x": 1, "x'": 1}, (0, 50))([2.0])


def test_jax_differentiates_a_motion():
    jax = pytest.importorskip("jax", reason="JAX is not installed: the extra jax has it")
    jax.config.update("jax_enable_x64", True)
    f = spring_map(ch.interop.jax)
    at = jax.numpy.array([2.0, 0.4])
    right, derivative = exact(2.0, 0.4)
    assert np.asarray(jax.jit(f)(at)) == pytest.approx(right, rel=1e-9)
    assert np.asarray(jax.jacfwd(f)(at)) == pytest.approx(derivative, rel=1e-8)
    assert np.asarray(jax.jacrev(f)(at)) == pytest.approx(derivative, rel=1e-8)
    assert np.asarray(jax.grad(lambda p: f(p)[1])(at)) == pytest.approx(derivative[1], rel=1e-8)


def test_torch_differentiates_a_motion():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: the extra torch has it")
    f = spring_map(ch.interop.torch)
    at = torch.tensor([2.0, 0.4], dtype=torch.float64, requires_grad=True)
    right, derivative = exact(2.0, 0.4)
    found = f(at)
    assert found.detach().numpy() == pytest.approx(right, rel=1e-9)
    (gradient,) = torch.autograd.grad(found[1], at)
    assert gradient.numpy() == pytest.approx(derivative[1], rel=1e-8)
