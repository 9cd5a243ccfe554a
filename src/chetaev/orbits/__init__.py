"""Orbits, and what happens near them: periodic orbits with their multipliers, exponents of Lyapunov, sections, families.

`flow` has the map over a time with its derivative and the tangent space, `invariants` integrals and symmetries with the eigenvalues that
they explain, `periodic` finds periodic orbits, `lyapunov` exponents in the volume that `volume` chooses, `section` the
points where motions cross a surface.

`continuation` follows families of equilibria, steady motions and periodic orbits: `rest_curve` and `orbit_curve` have their equations,
`orbit_starts` the points where curves of orbits begin; `arclength` follows a curve, `special_points` finds its special points, `switching`
the other curve at a branch point, `family` is the result.
"""

from chetaev.orbits.continuation import continuation
from chetaev.orbits.family import Family, Point, Special
from chetaev.orbits.lyapunov import Lyapunov, lyapunov
from chetaev.orbits.periodic import Orbit, periodic
from chetaev.orbits.section import Crossings, section

__all__ = ["Crossings", "Family", "Lyapunov", "Orbit", "Point", "Special", "continuation", "lyapunov", "periodic", "section"]
