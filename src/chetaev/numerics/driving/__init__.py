"""Inputs that are not formulas: samples, Python functions, and controllers that are called once per period.

From values of `core.sampled`, or a function, these modules make a schedule: between two breakpoints every input is a polynomial whose
coefficients are parameters of the compiled equations, so that nothing is compiled again where they change. `polynomials` interpolates
samples, `functions` samples a function, `schedule` holds the breakpoints and the coefficients. `feedback` puts inputs that are formulas of
the state into the forces.
"""
