"""Units of the quantities of a system, as labels and for a check of dimensions; no number is ever converted.

`unit` reads texts such as `kg m^2/s` and multiplies units exactly; `dimensions` finds the unit of an expression and refuses sums of
different units; `checking` applies this to the parts of a system.
"""
