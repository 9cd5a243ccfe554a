"""Motions as differentiable functions of JAX and PyTorch.

Both functions map values of parameters and of the start to outputs at the end of the motion. The compiled loop computes the Jacobian along
with the motion, so that neither package differentiates through an integrator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chetaev.core.errors import UnfinishedError, UsageError
from chetaev.core.fixes import Ask
from chetaev.core.state import State
from chetaev.core.support.public import public
from chetaev.mechanics.derivation import derive
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.model import Model
from chetaev.numerics.motion.simulate import simulate
from chetaev.numerics.motion.trajectory import Trajectory

Array = NDArray[np.float64]


@public
@dataclass(frozen=True)
class EndOfMotion:
    """The map from some values to outputs at the end of a motion, with its Jacobian."""

    equations: Equations
    """The equations of motion."""
    start: State
    """The initial data; values of names in `by` replace those given here."""
    t: tuple[float, float]
    """The interval of time."""
    by: tuple[str, ...]
    """The names of the values: parameters and initial values."""
    outputs: tuple[str, ...]
    """Jets, multipliers or expressions at the end of the motion."""
    parameters: Mapping[str, Any]
    """Values of the parameters that are not in `by`."""
    settings: Mapping[str, Any]
    """Other arguments of `simulate`."""

    def motion(self, values: Any, slopes: bool) -> Trajectory:
        """The motion with these values of the parameters and initial values `by`, and with their derivatives if `slopes`.

        Args:
            values: A value for each name in `by`, in this order.
            slopes: Whether to compute the derivatives of the motion by these values.

        Raises:
            UsageError: If the number of values differs from the number of names in `by`.
            UnfinishedError: If the motion ends before its last time.
        """
        numbers = np.asarray(values, float)
        if numbers.shape != (len(self.by),):
            what = f"{len(self.by)} values are needed, not an array of shape {numbers.shape}."
            raise UsageError(what, where=self._where, hint=f"values of {', '.join(self.by)}, in this order")
        given = dict(zip(self.by, map(float, numbers), strict=True))
        own = {p.name for p in self.equations.system.parameters}
        parameters = {**self.parameters, **{name: v for name, v in given.items() if name in own}}
        start = State({**self.start.fixed, **{name: v for name, v in given.items() if name not in own}}, self.start.guess)
        found = simulate(
            self.equations, start, self.t, parameters=parameters, slopes=list(self.by) if slopes else None, progress=False, **self.settings
        )
        if not found.outcome.reached_end:
            raise UnfinishedError(found.message, where=self._where, hint="other values, or a shorter interval")
        return found

    def __call__(self, values: Any) -> Array:
        """The outputs at the end."""
        end = self.motion(values, slopes=False).final
        return np.array([end[name] for name in self.outputs])

    def jacobian(self, values: Any) -> tuple[Array, Array]:
        """The outputs, and their derivatives: a row for each output, a column for each value.

        Args:
            values: A value for each name in `by`, in this order.

        Raises:
            UsageError: If the number of values differs from the number of names in `by`.
            UnfinishedError: If the motion ends before its last time.
        """
        end = self.motion(values, slopes=True).final
        return np.array([end[e] for e in self.outputs]), np.array([[end.slope(e, name) for name in self.by] for e in self.outputs])

    @property
    def _where(self) -> str:
        return f"motion of {self.equations.system.label}"


@public
def end_of_motion(
    equations: Any,
    by: Sequence[str],
    outputs: Sequence[str],
    start: State | Mapping[str, Any] | None = None,
    t: Any = None,
    *,
    parameters: Mapping[str, Any] | None = None,
    **settings: Any,
) -> EndOfMotion:
    """Make the end of a motion a function of parameters and initial values, with its Jacobian.

    Args:
        equations: Equations, or a model, which has a start, an interval and values.
        by: Names of parameters, and of values that the start gives.
        outputs: Jets, multipliers or expressions at the end.
        start: The initial data.
        t: The interval.
        parameters: Values of the parameters that are not in `by`.
        settings: Other arguments of `simulate`.

    Returns:
        A function `f(values)`, with `f.jacobian(values)`.

    Raises:
        UsageError: If start or interval are missing.
    """
    if isinstance(equations, Model):
        model, equations = equations, derive(equations)
        start, t = model.start if start is None else start, model.t if t is None else t
        parameters = {**model.parameters, **(parameters or {})}
        own = {name: v for name, v in model.run.items() if name not in ("slopes", "keep")}
        settings = {**own, "inputs": dict(model.inputs), **settings}
    if not isinstance(equations, Equations) or start is None or t is None:
        raise UsageError(
            "equations, a start and an interval are needed.", where="interop", hint=Ask("jax", "equations, by, outputs, start, (0, 5)")
        )
    given = start if isinstance(start, State) else State(start)
    return EndOfMotion(equations, given, (float(t[0]), float(t[-1])), tuple(by), tuple(outputs), dict(parameters or {}), settings)


@public
def jax(equations: Any, by: Sequence[str], outputs: Sequence[str], start: Any = None, t: Any = None, **settings: Any) -> Any:
    """Make the end of a motion a function for JAX, which can compile and differentiate it forwards and backwards.

    Args:
        equations: This and all other arguments are those of `end_of_motion`.
        by: Names of parameters, and of values that the start gives.
        outputs: Jets, multipliers or expressions at the end.
        start: The initial data.
        t: The interval.
        settings: Values of the other `parameters`, and further arguments of `simulate`.

    Returns:
        A function from an array of values, in the order of `by`, to the outputs. The motion is computed in double precision; with JAX's
        default of single precision the result is rounded.

    Raises:
        ImportError: If JAX is not installed.
        UsageError: If start or interval are missing.
    """
    import jax as theirs
    import jax.numpy as jnp

    end = end_of_motion(equations, by, outputs, start, t, **settings)
    rows, columns = len(end.outputs), len(end.by)

    def kind() -> Any:
        return jnp.zeros(0).dtype

    def with_jacobian(values: Any) -> tuple[Any, Any]:
        value, slopes = end.jacobian(values)
        return value.astype(kind()), slopes.astype(kind())

    @theirs.custom_jvp
    def motion(values: Any) -> Any:
        shape = theirs.ShapeDtypeStruct((rows,), kind())
        return theirs.pure_callback(lambda v: end(v).astype(kind()), shape, values, vmap_method="sequential")

    @motion.defjvp
    def _(primals: Any, tangents: Any) -> tuple[Any, Any]:
        shapes = (theirs.ShapeDtypeStruct((rows,), kind()), theirs.ShapeDtypeStruct((rows, columns), kind()))
        value, slopes = theirs.pure_callback(with_jacobian, shapes, primals[0], vmap_method="sequential")
        return value, slopes @ tangents[0]

    return motion


@public
def torch(equations: Any, by: Sequence[str], outputs: Sequence[str], start: Any = None, t: Any = None, **settings: Any) -> Any:
    """Make the end of a motion a differentiable function for PyTorch.

    Args:
        equations: This and all other arguments are those of `end_of_motion`.
        by: Names of parameters, and of values that the start gives.
        outputs: Jets, multipliers or expressions at the end.
        start: The initial data.
        t: The interval.
        settings: Values of the other `parameters`, and further arguments of `simulate`.

    Returns:
        A function from a tensor of values, in the order of `by`, to a tensor of outputs of the same dtype.

    Raises:
        ImportError: If PyTorch is not installed.
        UsageError: If start or interval are missing.
    """
    import torch as theirs

    end = end_of_motion(equations, by, outputs, start, t, **settings)

    class Motion(theirs.autograd.Function):
        """The end of a motion, and the product of a covector with its Jacobian."""

        @staticmethod
        def forward(context: Any, values: Any) -> Any:
            value, slopes = end.jacobian(values.detach().cpu().numpy())
            context.save_for_backward(values.new_tensor(slopes))
            return values.new_tensor(value)

        @staticmethod
        def backward(context: Any, covector: Any) -> Any:
            (slopes,) = context.saved_tensors
            return covector @ slopes

    return Motion.apply
