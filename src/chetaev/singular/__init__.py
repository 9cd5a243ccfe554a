"""Systems whose equations do not determine the motion at once, and equations without a Lagrangian.

`forms` is exterior calculus on jets, `dynamical` holds dynamical forms with their constraint structures (Krupková), `inverse` the inverse
problem of the calculus of variations, `constraint_algorithm` the search for final constraint manifolds, `regularity` its classes,
`dirac_bergmann` the Hamiltonian side: Dirac brackets and presymplectic systems.
"""
