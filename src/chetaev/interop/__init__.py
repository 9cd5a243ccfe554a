"""Systems and motions of other programs.

`mechanics` reads the objects of `sympy.physics.mechanics` (its `System`, `LagrangesMethod`, `KanesMethod`, and models built on them);
`kinematics` finds velocities of points and frames from positions and orientations. `differentiable` makes the end of a motion a function of
JAX or PyTorch, with exact derivatives.
"""

from __future__ import annotations

from chetaev.core.support.lazy import lazily

_HOMES = {
    "chetaev.interop.differentiable": "EndOfMotion end_of_motion jax torch",
    "chetaev.core.errors": "VelocityWarning",
    "chetaev.interop.mechanics": "from_mechanics",
}
__getattr__, __dir__, __all__ = lazily(__name__, _HOMES)
