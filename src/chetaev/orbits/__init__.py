"""Orbits, and what happens near them: periodic orbits with their multipliers, exponents of Lyapunov, sections.

`flow` has the map over a time with its derivative and the tangent space, `invariants` integrals and symmetries with the eigenvalues that
they explain, `periodic` finds periodic orbits, `lyapunov` exponents, `section` the points where motions cross a surface.
"""

from chetaev.orbits.lyapunov import Lyapunov, lyapunov
from chetaev.orbits.periodic import Orbit, periodic
from chetaev.orbits.section import Crossings, section

__all__ = ["Crossings", "Lyapunov", "Orbit", "lyapunov", "periodic", "section"]
