"""linearize: the linearised motion at a state, in independent jets of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chetaev.core.errors import StateError, UsageError
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.core.system import System
from chetaev.mechanics.ranks.generic import Matrix
from chetaev.numerics.stability.arguments import Start, local_motion, refuse_choice
from chetaev.numerics.stability.inputs_and_outputs import Ports, ports_at, read_inputs
from chetaev.numerics.stability.linear_control import Gain, controllable, feedback_texts, lqe, lqr, observable, quadratic_form
from chetaev.numerics.stability.motion_near_state import Local
from chetaev.numerics.stability.position import directions, name_of
from chetaev.numerics.stability.spectrum import Complex, ordered
from chetaev.numerics.stability.state_chart import require_digits

_PRINTED_AS_ZERO = 1e-12
"""Relative to the size of the eigenvalues: smaller real and imaginary parts print as zero."""


@public
@dataclass(frozen=True, eq=False, repr=False)
class Linearization:
    """The linearised motion about a state, in independent jets of the state."""

    matrix: Matrix
    """The derivative of the rates of `names` by `names`, on the constraint manifold."""
    names: tuple[str, ...]
    """The independent jets: a chart of the constraint manifold. `δA1` is a small displacement of the group coordinate A along A1."""
    eigenvalues: Complex
    """Of the matrix, the largest real part first."""
    stable: bool | None
    """True: all disturbances decay, except those that lead to another steady motion of a family. False: one grows. None: undecided."""
    verdict: str
    """A sentence that gives the reason."""
    steady: bool
    """Whether all quantities that influence the motion are at rest, so that the matrix is constant along the motion."""
    full: Matrix
    """The derivative of all rates by all jets of the state, constraints disregarded."""
    tangent: Matrix
    """The derivative of all jets of the state by the independent ones: its columns span the tangent space."""
    state: Mapping[str, float]
    """The jets of the state, in the order of `full` and of the rows of `tangent`."""
    rates: Mapping[str, float]
    """The rate of every jet of the state: all zero at an equilibrium."""
    title: str
    """The heading of the printed linearisation."""
    ports: Ports | StateError
    """The matrices of inputs and outputs, or the error to raise if an input occurs in the constraints."""

    def __post_init__(self) -> None:
        for name in ("matrix", "eigenvalues", "full", "tangent"):
            getattr(self, name).setflags(write=False)

    @property
    def A(self) -> Matrix:  # noqa: N802
        """The matrix of the motion, `matrix`."""
        return self.matrix

    @property
    def B(self) -> Matrix:  # noqa: N802
        """The derivative of the rates of `names` by the inputs."""
        return self._ports.B

    @property
    def C(self) -> Matrix:  # noqa: N802
        """The derivative of the outputs by `names`."""
        return self._ports.C

    @property
    def D(self) -> Matrix:  # noqa: N802
        """The derivative of the outputs by the inputs: not zero for accelerations and multipliers."""
        return self._ports.D

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the inputs, in the order of the columns of `B`."""
        return self._ports.inputs

    @property
    def outputs(self) -> tuple[str, ...]:
        """The outputs, in the order of the rows of `C`."""
        return self._ports.outputs

    @property
    def _ports(self) -> Ports:
        if isinstance(self.ports, StateError):
            raise self.ports
        return self.ports

    @property
    def controllable(self) -> bool:
        """Whether the inputs can bring the linearised motion from every state to every other one."""
        return controllable(self.matrix, self.B)

    @property
    def observable(self) -> bool:
        """Whether the outputs over some time determine the state."""
        return observable(self.matrix, self.C)

    def transfer(self, s: complex) -> Complex:
        r"""The transfer matrix $C (s - A)^{-1} B + D$ from inputs to outputs at a complex frequency.

        Args:
            s: A complex frequency that is not an eigenvalue.
        """
        resolvent = s * np.eye(len(self.matrix)) - self.matrix
        return np.asarray(self.C @ np.linalg.solve(resolvent.astype(complex), self.B.astype(complex)) + self.D, dtype=complex)

    def lqr(self, Q: Any, R: Any = 1.0) -> Gain:
        r"""The feedback $u = u_0 - K(y - y_0)$ that minimises $\int (\delta y^T Q\, \delta y + \delta u^T R\, \delta u)\,dt$.

        Directions that cost nothing and that no feedback can stabilise, such as the position of a vehicle, are ignored.

        Args:
            Q: A matrix or a diagonal in the order of `names`, a number, or a text: a quadratic form in jets of the state.
            R: A positive definite form for the inputs, in the same notation.

        Returns:
            The gain K, the eigenvalues of the controlled motion, and the feedback as texts.

        Raises:
            StateError: If no feedback stabilises a direction that Q weighs.
            UsageError: If Q or R is not a quadratic form.
        """
        where = f"lqr, {self.title}"
        if isinstance(Q, str):
            Q = self.tangent.T @ quadratic_form(Q, tuple(self.state), "Q", where) @ self.tangent
        gain, eigenvalues, left = lqr(self.matrix, self.B, Q, R, self.names, self.inputs, where)
        texts = feedback_texts(gain, self.names, self.inputs, self.state, self._ports.operating.tolist())
        return Gain(gain, self.inputs, self.names, eigenvalues, left, texts)

    def lqe(self, G: ArrayLike | None = None, W: Any = 1.0, V: Any = 1.0) -> Gain:
        r"""The gain $L$ of the optimal estimator $\hat y' = A \hat y + B u + L (z - C \hat y - D u)$.

        Args:
            G: How noise enters the rates; None for independent noise in every direction.
            W: The covariance of that noise: a matrix, a diagonal or a number.
            V: The covariance of the noise of the outputs.

        Returns:
            The gain L as `matrix`, with a row per name and a column per output, and the eigenvalues of A - L C.

        Raises:
            StateError: If the outputs do not detect a direction that noise excites.
            UsageError: If a covariance has a wrong shape.
        """
        gain, eigenvalues = lqe(self.matrix, G, self.C, W, V, f"lqe, {self.title}")
        return Gain(gain, self.outputs, self.names, eigenvalues, 0, Frozen({}))

    def to_control(self) -> Any:
        """The linearised motion as a `StateSpace` of the package python-control.

        Raises:
            UsageError: If python-control is not installed.
        """
        try:
            import control
        except ImportError:
            hint = "pip install control"
            raise UsageError("python-control is not installed.", where="to_control", hint=hint) from None
        names = {"states": list(self.names), "inputs": list(self.inputs), "outputs": list(self.outputs)}
        return control.ss(self.matrix, self.B, self.C, self.D, **names)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        size = float(np.abs(self.eigenvalues).max(initial=0.0))
        written = ",  ".join(_complex_text(v, size) for v in self.eigenvalues)
        lines = [self.title, f"  {'eigenvalues':<12} {written or 'none'}"]
        lines.append(f"  {'stability':<12} {self.verdict}")
        cells = [["", *self.names], *[[f"({name})'", *map(_number_text, row)] for name, row in zip(self.names, self.matrix, strict=True)]]
        widths = [max(len(line[j]) for line in cells) for j in range(len(cells[0]))]
        lines += ["  " + "  ".join(cell.rjust(w) for cell, w in zip(line, widths, strict=True)) for line in cells if self.names]
        return "\n".join(lines)


@public
def linearize(
    equations: Any,
    state: Start | None = None,
    parameters: Mapping[str, Any] | None = None,
    *,
    t: float | None = None,
    inputs: Mapping[str, Any] | Sequence[str] | str | None = None,
    outputs: Sequence[Any] | str | None = None,
    branch: None = None,
    gauge: None = None,
) -> Linearization:
    r"""The linearised motion at a state, reduced to independent jets $y$ of it: $\delta y' = A_y X\, \delta y$.

    The state need not be an equilibrium: at a steady motion, such as straight rolling, the eigenvalues decide in the same way. Zero
    eigenvalues are disregarded if a family of steady motions explains them (another position, heading or speed); with another zero
    eigenvalue, or a pair on the imaginary axis, `stable` is None, because terms of higher order decide.

    Args:
        equations: Equations or a model.
        state: The state, completed from the constraints as in `evaluate`; None for a model's start.
        parameters: Values of the parameters, by name.
        t: The time.
        inputs: The inputs by which `B` and `D` are derivatives: names, which have the value 0 at the state, or a mapping from names to
            values or functions of time. Without them only the inputs of a model are bound.
        outputs: Expressions whose derivatives are `C` and `D`, multipliers and accelerations included; None for the independent jets.
        branch: Not supported; only None is accepted.
        gauge: Not supported; only None is accepted.

    Returns:
        The matrix, its eigenvalues, and a verdict on stability.

    Raises:
        StateError: If the state lies on a surface where sign, abs, min or max switch, such as rest under dry friction, or does not
            determine the motion.

    >>> from chetaev import System, derive
    >>> pendulum = derive(System("theta", "g l", lagrangian="l^2*theta'^2/2 + g*l*cos(theta)", name="pendulum"))
    >>> print(linearize(pendulum, {"theta": "pi", "theta'": 0}, parameters={"g": 9, "l": 1}))
    linearisation of 'pendulum' at an equilibrium
      eigenvalues  3,  -3
      stability    unstable: a disturbance grows as exp(3*t).
                 theta  theta'
       (theta)'      0       1
      (theta')'      9       0

    V. I. Arnold, V. V. Kozlov, A. I. Neishtadt, Mathematical Aspects of Classical and Celestial Mechanics, 3rd ed., chapter 7;
    Ju. I. Neimark, N. A. Fufaev, Dynamics of Nonholonomic Systems (AMS 1972), chapter VI.
    """
    refuse_choice("linearize", branch, gauge)
    system = getattr(equations, "system", None)
    names, bound = read_inputs(system, inputs, f"linearize {system.label}") if isinstance(system, System) else ((), None)
    wanted = [outputs] if isinstance(outputs, str) else outputs
    local = local_motion("linearize", equations, state, parameters, t, bound)
    require_digits(local.problem, local.view.spot.x)
    return _described(local, names, wanted, isinstance(inputs, Mapping))


def _described(local: Local, inputs: Sequence[str], outputs: Sequence[Any] | None, lenient: bool) -> Linearization:
    """Return the linearisation with the names of the system."""
    spot = local.view.spot
    names = tuple(name_of(local.problem, z) for z in directions(local.problem.system))
    stable, verdict = local.verdict()
    at_rest = bool(np.all(np.abs(spot.rates) <= spot.negligible))
    kind = "an equilibrium" if at_rest and local.steady else "a steady motion" if local.steady else "a state that passes"
    try:
        ports: Ports | StateError = ports_at(local, inputs, outputs)
    except StateError as error:
        if not lenient or outputs is not None:
            raise
        ports = error  # for inputs that are functions of time the motion still has a linearisation
    return Linearization(
        matrix=local.view.matrix,
        names=tuple(names[i] for i in local.chart.free),
        eigenvalues=ordered(local.spectrum[0]),
        stable=stable,
        verdict=verdict,
        steady=local.steady,
        full=spot.full,
        tangent=local.view.tangent,
        state=Frozen(zip(names, map(float, spot.x), strict=True)),
        rates=Frozen(zip(names, map(float, spot.rates), strict=True)),
        title=f"linearisation of {local.problem.system.equations.system.label} at {kind}",
        ports=ports,
    )


def _number_text(v: float) -> str:
    return f"{v:.6g}"


def _complex_text(v: complex, size: float) -> str:
    real = 0.0 if abs(v.real) < _PRINTED_AS_ZERO * size else v.real
    imag = 0.0 if abs(v.imag) < _PRINTED_AS_ZERO * size else v.imag
    if not imag:
        return f"{real:.6g}"
    sign = "-" if imag < 0 else "+" if real else ""
    return f"{real:.6g} {sign} {abs(imag):.6g}i" if real else f"{sign}{abs(imag):.6g}i"
