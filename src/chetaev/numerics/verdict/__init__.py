"""The verdict on a system: whether its motion is unique, constrained, free, branching, inconsistent or undecided.

`analyze` is the verb, `chetaev.mechanics.analysis` holds its result; `combined_verdict` combines the numerical analysis with the constraint
algorithm; `branches` makes rows of its leaves, `products` finds branches of rows that are products where it does not end; `branch_choice`
selects the branch of a start, `gauge` adds functions for free unknowns; `corner_sides` analyses every configuration of signs;
`regular_points` and `row_slopes` find rows without a regular point, `redundant_rows` those that follow from others, `contradiction` those
that differ by a constant. `implicit_equation` is the set of jets that a system allows, and the part of it that has motions.
"""
