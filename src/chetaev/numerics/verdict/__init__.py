"""What kind of system it is.

`analyze` is the verb, `chetaev.mechanics.analysis` holds its result; `joined` unites what numbers and what the constraint algorithm say;
`branches` makes rows of the leaves, `branch_choice` takes the one a start lies on, `gauge` adds functions for what is free; `corner_sides`
judges every configuration of signs; `regular_points` and `row_slopes` find rows without a regular point.
"""
