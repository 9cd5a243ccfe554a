"""Inputs that are no formulas: samples, Python functions, and controllers that are asked once a period.

What comes in are values of `core.sampled`, or a function; what goes out is a schedule: between two breakpoints every input is a polynomial
whose coefficients are parameters of the compiled equations, so that nothing is compiled again where they change. `polynomials` interpolates
samples, `functions` takes samples of a function, `schedule` knows when the coefficients change and to which values. `feedback` puts inputs
that are formulas of the state into the forces.
"""
