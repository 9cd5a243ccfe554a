"""Dynamical forms (ordinary differential equations of any order), their Lepage classes, and constraint structures on jets.

`dynamical_form` has the forms, `lepage` their Lepage 2-forms and Hamilton's equations, `constraint_structure` the constraints with their
canonical distribution, `constrained_system` forms with constraints, `constraint_dynamics` the distribution and the semispray of their
motions; `closed_representative` decides whether they are Lagrangian.
"""
