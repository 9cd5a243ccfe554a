"""Dirac and Bergmann's theory of singular Lagrangians in phase space, and its presymplectic form.

`analysis` runs the algorithm, `legendre_map` reads the input and finds primary constraints, `closure` is the loop on one manifold,
`classes` has Poisson and Dirac brackets, and finds first and second class and gauge directions, `result` has the answer;
`presymplectic` is the algorithm on forms, `lagrangian_bundle` its time-dependent setting with the reduced and the second-order problem, and
`vakonomic` compares the Dirac bracket with the canonical bracket of the reduced phase space.
"""

from chetaev.singular.dirac_bergmann.analysis import dirac
from chetaev.singular.dirac_bergmann.classes import poisson_bracket
from chetaev.singular.dirac_bergmann.lagrangian_bundle import LagrangianBundle, lagrangian_bundle
from chetaev.singular.dirac_bergmann.presymplectic import Presymplectic, lagrangian_forms, presymplectic
from chetaev.singular.dirac_bergmann.result import Dirac
from chetaev.singular.dirac_bergmann.vakonomic import VakonomicBrackets, vakonomic_brackets

__all__ = [
    "Dirac",
    "LagrangianBundle",
    "Presymplectic",
    "VakonomicBrackets",
    "dirac",
    "lagrangian_bundle",
    "lagrangian_forms",
    "poisson_bracket",
    "presymplectic",
    "vakonomic_brackets",
]
