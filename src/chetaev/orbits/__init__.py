"""Orbits, and what happens near them: periodic orbits with their multipliers, exponents of Lyapunov, sections, families.

`flow` has the flow map over a time, its derivative and the tangent space; `invariants` finds integrals and symmetries, and the eigenvalues
that they explain; `displacement` has the finite maps of symmetries. `periodic` finds periodic orbits by the iterations of `closing`,
`lyapunov` the exponents of a motion, `section` the points where motions cross a surface.

`continuation` follows families of equilibria, steady motions and periodic orbits: `steady` and `orbit_curve` have their equations,
`orbit_starts` the points where curves of orbits begin; `arclength` follows a curve, `special_points` finds its special points, `switching`
finds the other curve at a branch point, `family` has the result.

`exact` looks for polynomial integrals and invariant measures of reduced equations.
"""

from chetaev.orbits.closing.orbit import Orbit
from chetaev.orbits.continuation import continuation
from chetaev.orbits.exact.first_integrals import Integrals, first_integrals
from chetaev.orbits.exact.invariant_measure import Measure, invariant_measure
from chetaev.orbits.family import Family, Point, Special
from chetaev.orbits.lyapunov import Lyapunov, lyapunov
from chetaev.orbits.periodic import periodic
from chetaev.orbits.section import Crossings, section

__all__ = [
    "Crossings",
    "Family",
    "Integrals",
    "Lyapunov",
    "Measure",
    "Orbit",
    "Point",
    "Special",
    "continuation",
    "first_integrals",
    "invariant_measure",
    "lyapunov",
    "periodic",
    "section",
]
