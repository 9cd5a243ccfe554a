"""Transformations: theorems of the form "this system is equivalent to that one", as maps of motions. One theorem per file.

| verb | file |
|---|---|
| `change_coordinates` | `coordinates` |
| `restrict`: holonomic constraints removed | `restrict` |
| `reduce_velocities`, `hamel`: quasi-velocities | `reduced_velocities`, `hamel` |
| `hamiltonian`, `routh`: momenta in place of velocities | `legendre`, `routh` |
| `reduced_phase_space`: positions and momenta of vakonomic motion | `reduced_phase_space` |
| `lift`, `linearize_constraints`: lower order, linear rows | `lift`, `linear_constraints` |
| `friction_as_constraint` | `friction` |
| `contact_as_nonholonomic`, `contact_as_vakonomic`, `vakonomic_as_free` | `contact`, `vakonomic_as_free` |
| `tangent`: a system with its variations | `tangent` |
| `reduce`, `symmetries`: reduction by a group, conserved momenta | `group_reduction`, `symmetries` |

`tools` has the parts that several theorems share.
"""

from chetaev.transforms.contact import contact_as_nonholonomic, contact_as_vakonomic
from chetaev.transforms.coordinates import change_coordinates
from chetaev.transforms.friction import friction_as_constraint
from chetaev.transforms.group_reduction import reduce
from chetaev.transforms.hamel import hamel
from chetaev.transforms.legendre import hamiltonian
from chetaev.transforms.lift import lift
from chetaev.transforms.linear_constraints import linearize_constraints
from chetaev.transforms.reduced_phase_space import ReducedPhaseSpace, reduced_phase_space
from chetaev.transforms.reduced_velocities import reduce_velocities
from chetaev.transforms.restrict import restrict
from chetaev.transforms.routh import routh
from chetaev.transforms.symmetries import Symmetries, symmetries
from chetaev.transforms.tangent import Tangent, tangent
from chetaev.transforms.tools.morphism import Morphism
from chetaev.transforms.tools.noether import Symmetry
from chetaev.transforms.vakonomic_as_free import vakonomic_as_free

__all__ = [
    "Morphism",
    "ReducedPhaseSpace",
    "Symmetries",
    "Symmetry",
    "Tangent",
    "change_coordinates",
    "contact_as_nonholonomic",
    "contact_as_vakonomic",
    "friction_as_constraint",
    "hamel",
    "hamiltonian",
    "lift",
    "linearize_constraints",
    "reduce",
    "reduce_velocities",
    "reduced_phase_space",
    "restrict",
    "routh",
    "symmetries",
    "tangent",
    "vakonomic_as_free",
]
