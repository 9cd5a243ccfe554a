"""linearize: the linearised motion at a state, in independent jets of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from chetaev.core.support.frozen import Frozen
from chetaev.mechanics.ranks.generic import Matrix
from chetaev.numerics.stability.given import Start, local_motion, refuse_choice
from chetaev.numerics.stability.local import Local
from chetaev.numerics.stability.position import directions, name_of
from chetaev.numerics.stability.spectrum import Complex, ordered


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

    def __post_init__(self) -> None:
        for name in ("matrix", "eigenvalues", "full", "tangent"):
            getattr(self, name).setflags(write=False)

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


def linearize(
    equations: Any,
    state: Start | None = None,
    parameters: Mapping[str, Any] | None = None,
    *,
    t: float | None = None,
    inputs: Mapping[str, Any] | None = None,
    branch: None = None,
    gauge: None = None,
) -> Linearization:
    r"""The linearised motion at a state, reduced to independent jets $y$ of it: $\delta y' = A_y X\, \delta y$.

    The state need not be an equilibrium: at a steady motion, such as straight rolling, the eigenvalues decide in the same way. Zero
    eigenvalues are disregarded if a family of steady motions explains them (another place, heading or speed); after another zero
    eigenvalue, or a pair on the imaginary axis, `stable` is None, because terms of higher order decide.

    Args:
        equations: Equations or a model.
        state: The state, completed from the constraints as in `evaluate`; None for a model's start.
        parameters: Values of the parameters, by name.
        t: The time.
        inputs: Functions of time for the inputs, by name.
        branch: Not supported; only None is accepted.
        gauge: Not supported; only None is accepted.

    Returns:
        The matrix, its eigenvalues, and a verdict on stability.

    Raises:
        StateError: On a surface where sign, abs, min or max switch, such as rest under dry friction, and where the motion is not
            determined.

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
    return _described(local_motion("linearize", equations, state, parameters, t, inputs))


def _described(local: Local) -> Linearization:
    """Return the linearisation with the names of the system."""
    spot = local.view.spot
    names = tuple(name_of(local.problem, z) for z in directions(local.problem.system))
    stable, verdict = local.verdict()
    at_rest = bool(np.all(np.abs(spot.rates) <= spot.negligible))
    kind = "an equilibrium" if at_rest and local.steady else "a steady motion" if local.steady else "a state that passes"
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
    )


def _number_text(v: float) -> str:
    return f"{v:.6g}"


def _complex_text(v: complex, size: float) -> str:
    real = 0.0 if abs(v.real) < 1e-12 * size else v.real
    imag = 0.0 if abs(v.imag) < 1e-12 * size else v.imag
    if not imag:
        return f"{real:.6g}"
    sign = "-" if imag < 0 else "+" if real else ""
    return f"{real:.6g} {sign} {abs(imag):.6g}i" if real else f"{sign}{abs(imag):.6g}i"
