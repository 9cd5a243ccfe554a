"""Integrals and measures in exact arithmetic.

`polynomial_field` writes the reduced equations of a system as quotients of polynomials; `first_integrals` finds all polynomials up to a
degree that are constant along motions, `invariant_measure` a density that the motions keep, or shows that there is none.
"""
