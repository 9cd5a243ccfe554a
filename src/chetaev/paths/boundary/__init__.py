"""The boundary value problem of a path.

`ends` reads the conditions at both ends, `attitudes` those of group elements, `counting` counts them and says which integral separates the
ends, `sizes` finds typical sizes, `shooting` meets the conditions by changing the start.
"""
