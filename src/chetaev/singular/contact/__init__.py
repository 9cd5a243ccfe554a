r"""Contact geometry of Lagrangians with an action variable (002, section 2.5; de León and Lainz 2019).

`geometry` has the contact form, the Reeb field, contact Hamiltonian fields and the Jacobi bracket, and the presymplectic form on
$T(Q \times \mathbb{R})$; `precontact` has the constraint algorithm for singular Lagrangians.
"""

from chetaev.singular.contact.geometry import ContactGeometry, contact_geometry
from chetaev.singular.contact.precontact import Precontact, precontact

__all__ = ["ContactGeometry", "Precontact", "contact_geometry", "precontact"]
