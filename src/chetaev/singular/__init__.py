"""Singular systems, whose equations do not determine all accelerations, and equations without a Lagrangian.

`forms` has exterior calculus on jets, `dynamical` dynamical forms and constraint structures (Krupková), `inverse` the inverse problem of
the calculus of variations, `contact` the contact geometry of Lagrangians with an action variable, `algorithm` the search for final
constraint manifolds, `regularity_classes` the regularity of a form, and `dirac_bergmann` Dirac's theory in phase space and presymplectic
systems.
"""

from chetaev.core.support.lazy import lazily

__getattr__, __dir__, __all__ = lazily(
    __name__,
    {
        "chetaev.singular.algorithm": "constraint_algorithm",
        "chetaev.singular.contact": "ContactGeometry Precontact contact_geometry precontact",
        "chetaev.singular.dirac_bergmann": "Dirac LagrangianBundle Presymplectic dirac lagrangian_bundle lagrangian_forms "
        "presymplectic vakonomic_brackets",
        "chetaev.singular.dynamical.constrained_system": "ConstrainedSystem constrain pulled_back semiholonomic semiholonomic_degree",
        "chetaev.singular.dynamical.constraint_structure": "ConstraintStructure",
        "chetaev.singular.dynamical.dynamical_form": "DynamicalForm",
        "chetaev.singular.inverse.helmholtz": "helmholtz",
        "chetaev.singular.inverse.lepage_equivalent": "lepagean_equivalent",
        "chetaev.singular.inverse.multipliers": "integrating_factor",
        "chetaev.singular.inverse.order_reduction": "reduce_order",
        "chetaev.singular.inverse.lagrangians": "tonti_lagrangian",
        "chetaev.singular.regularity_classes": "regularity",
    },
)
