"""Integrals and measures in exact arithmetic.

`polynomial_field` writes the reduced equations of a system as quotients of polynomials; `first_integrals` finds all polynomials up to a
degree that are constant along motions; `invariant_measure` finds an invariant density, or proves that there is none.
"""
