r"""The volume in which exponents are taken: that of coordinates and momenta where the flow keeps it, by Liouville's theorem.

Exponents of long motions do not depend on the volume, but their sum over a finite time does, by the logarithm of its density at both ends
over that time. With the momenta $p = \partial L/\partial q'$ of a free system the sum is zero to the accuracy of the motion.
"""

from __future__ import annotations

from collections.abc import Mapping

from sympy import Expr

from chetaev.core.calculus import SYMBOLIC
from chetaev.core.symbols import TIME, Jet
from chetaev.orbits.flow import Flow


def canonical(flow: Flow) -> Mapping[Jet, Expr]:
    """Velocities and their momenta; empty where forces, constraints or the state rule this volume out."""
    system, jets = flow.equations.lowered.system, list(flow.run.jets)
    free = not (system.equations or system.kinematic or system.variational or system.forces or system.groups)
    if not free or system.dissipation != 0 or system.action is not None or flow.equations.multipliers:
        return {}
    velocities = [z for z in jets if z.order == 1]
    expected = {z for q in flow.equations.unknowns for z in (q.d(-q.order), q.d(1 - q.order))}
    written = flow.equations.lagrangian
    outside = any(z == TIME or (isinstance(z, Jet) and z not in expected) for z in written.free_symbols)
    if set(jets) != expected or outside:
        return {}
    return dict(zip(velocities, SYMBOLIC.gradient(written, velocities), strict=True))
