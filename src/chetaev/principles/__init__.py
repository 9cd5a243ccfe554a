"""The principles. A new one is a class with one method, `rewrite`; `register` makes it known to files and the command line."""

from chetaev.principles.base import Lowered, Principle
from chetaev.principles.chetaev import Chetaev
from chetaev.principles.dalembert import DAlembert
from chetaev.principles.hamilton import Hamilton
from chetaev.principles.herglotz import Herglotz
from chetaev.principles.mixed import Mixed
from chetaev.principles.spec import PRINCIPLES, of_spec, of_words, register_principle, spec_of
from chetaev.principles.vakonomic import Vakonomic
from chetaev.principles.virtual_work import VirtualWork

for _kind in (Hamilton, DAlembert, Chetaev, VirtualWork, Vakonomic, Herglotz, Mixed):
    register_principle(_kind)

__all__ = [
    "PRINCIPLES",
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
    "register_principle",
    "spec_of",
]
