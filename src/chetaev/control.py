"""Control: which directions the admissible velocities reach, which states an equilibrium attracts, where extremals end.

`growth` forms brackets of the vector fields that kinematic rows allow. `basin` estimates the states from which motions reach an
equilibrium, `lyapunov_certificate` proves a region of them. `wavefront` has the ends of all extremals from a point, which bound what can
be reached. Linear control at a state, with optimal feedback, is part of `ch.linearize(..., inputs=[...])`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chetaev.core.support.lazy import lazily
from chetaev.core.support.public import public
from chetaev.mechanics.brackets.growth import Growth, growth_over

_HOMES = {
    "chetaev.control": "growth",
    "chetaev.mechanics.brackets.growth": "Growth",
    "chetaev.numerics.attraction": "Basin LyapunovCertificate basin lyapunov_certificate",
    "chetaev.paths.wavefront": "Wavefront wavefront",
}
__getattr__, __dir__, __all__ = lazily(__name__, _HOMES)


@public
def growth(
    system: Any, at: Mapping[str, Any] | None = None, parameters: Mapping[str, Any] | None = None, *, longest: int | None = None
) -> Growth:
    r"""The growth vector of the velocities that the kinematic rows of a system allow.

    $\Delta_1$ is spanned by the control fields and $\Delta_{k+1} = \Delta_k + [\Delta_1, \Delta_k]$; the vector has their dimensions, by
    exact ranks. Rows are affine in the velocities. Inputs that the system leaves open are controls: `x' = v*cos(theta)` with
    `inputs={"v": None}`.

    Args:
        system: A system or a model; only its kinematic rows count.
        at: Values of coordinates; those without a value are generic. Numbers are read as they are written; `"pi/2"` is exact.
        parameters: Values of parameters; those without a value are generic.
        longest: The length of the longest brackets at a special point, 9 if nothing is given.

    Returns:
        The growth vector with brackets that achieve it, the degree of nonholonomy, and what follows for controllability.

    Raises:
        ModelError: If a row is not affine in the velocities, or depends on time.
        StateError: If the rows depend on each other at the point.
        UsageError: If an argument is of a wrong kind.

    >>> from chetaev import System
    >>> unicycle = System("x y theta", lagrangian="(x'^2 + y'^2 + theta'^2)/2", kinematic=["y'*cos(theta) = x'*sin(theta)"])
    >>> found = growth(unicycle)
    >>> found.vector, found.degree, found.brackets
    ((2, 3), 2, ('X1', 'X2', '[X1, X2]'))

    J.-P. Laumond (ed.), Robot Motion Planning and Control (Springer 1998), chapter 1.
    """
    from chetaev.numerics.graphs.algebra import GraphAlgebra  # loads CasADi, which derivatives of long brackets need

    return growth_over(system, at, parameters, GraphAlgebra(), **({} if longest is None else {"longest": longest}))
