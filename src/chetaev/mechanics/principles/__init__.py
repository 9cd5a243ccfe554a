"""The principles. A new one is a class with one method, `rewrite`; `register` makes it known to files and the command line.

`base` has the class `Principle` and what rewriting needs, `normal_form` the class `Lowered`; each principle is one file: `hamilton`,
`dalembert`, `chetaev`, `virtual_work`, `vakonomic`, `herglotz`, `mixed`, which gives rows of one system to several principles, and
`as_stated` for systems with equations of their own in the place of a Lagrangian. `given_forces` refuses forces that contain multipliers,
for functions that need forces by time and state.
"""

from chetaev.core.support.registry import spec_of
from chetaev.mechanics.principles.as_stated import AsStated
from chetaev.mechanics.principles.base import PRINCIPLES, Lowered, Principle, of_spec, of_words
from chetaev.mechanics.principles.chetaev import Chetaev
from chetaev.mechanics.principles.dalembert import DAlembert
from chetaev.mechanics.principles.hamilton import Hamilton
from chetaev.mechanics.principles.herglotz import Herglotz
from chetaev.mechanics.principles.mixed import Mixed
from chetaev.mechanics.principles.vakonomic import Vakonomic
from chetaev.mechanics.principles.virtual_work import VirtualWork

for _kind in (Hamilton, DAlembert, Chetaev, VirtualWork, Vakonomic, Herglotz, Mixed, AsStated):
    PRINCIPLES.register(_kind)

__all__ = [
    "PRINCIPLES",
    "AsStated",
    "Chetaev",
    "DAlembert",
    "Hamilton",
    "Herglotz",
    "Lowered",
    "Mixed",
    "Principle",
    "Vakonomic",
    "VirtualWork",
    "of_spec",
    "of_words",
    "spec_of",
]
