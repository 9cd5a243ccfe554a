r"""The volume in which exponents are taken: that of coordinates and momenta where the flow keeps it, by Liouville's theorem.

Exponents of long motions do not depend on the volume, but their sum over a finite time does, by the logarithm of its density at both ends
over that time. With the momenta $p = \partial L/\partial q'$ of a free system the sum is zero to the accuracy of the motion.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from chetaev.core.calculus import SYMBOLIC
from chetaev.core.symbols import TIME, Jet
from chetaev.core.values import Tape, Undefined
from chetaev.orbits.flow import Array, Flow

Change = Callable[[Array], Array]
"""The matrix from changes of the state to changes in the volume, at a state; both in units of the jets."""


def canonical(flow: Flow) -> Change | None:
    """The change to coordinates and momenta; None where forces, constraints or the state rule it out."""
    system, jets = flow.equations.lowered.system, list(flow.run.jets)
    free = not (system.equations or system.kinematic or system.variational or system.forces or system.groups)
    if not free or system.dissipation != 0 or system.action is not None or flow.equations.multipliers:
        return None
    velocities = [z for z in jets if z.order == 1]
    expected = {z for q in flow.equations.unknowns for z in (q.d(-q.order), q.d(1 - q.order))}
    written = flow.equations.lagrangian
    outside = any(z == TIME or (isinstance(z, Jet) and z not in expected) for z in written.free_symbols)
    if set(jets) != expected or outside:
        return None
    momenta = SYMBOLIC.gradient(written, velocities)
    tape = Tape([slope for p in momenta for slope in SYMBOLIC.gradient(p, jets)])
    known = dict(zip(flow.equations.system.parameters, map(float, flow.p), strict=True))
    places = [jets.index(z) for z in velocities]

    def change(x: Array) -> Array:
        found = np.eye(len(x))
        try:
            slopes = np.array(tape({**known, **dict(zip(jets, map(float, x), strict=True))}), dtype=float)
        except Undefined:
            return found
        found[places] = slopes.reshape(len(places), len(x)) * flow.sizes / flow.sizes[places][:, None]
        return found

    return change
