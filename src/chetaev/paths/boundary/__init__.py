"""The boundary value problem of a path.

`ends` reads the conditions at both ends, `attitudes` those of group elements; `counting` counts them and finds an integral that separates
the ends; `sizes` estimates typical sizes; `shooting` solves the problem by changing the start.
"""
