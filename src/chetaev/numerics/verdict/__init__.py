"""The verdict on a system: whether its motion is unique, constrained, free, branching, inconsistent or undecided.

`analyze` is the verb, `chetaev.mechanics.analysis` holds its result; `combined_verdict` combines the numerical analysis with the constraint
algorithm; `branches` makes rows of its leaves; `branch_choice` selects the branch of a start, `gauge` adds functions for free unknowns;
`corner_sides` analyses every configuration of signs; `regular_points` and `row_slopes` find rows without a regular point, `special_rows`
finds rows that contradict each other, follow from others, or are products. `implicit_equation` is the set of jets that a system allows, and
the part of it through which motions pass.
"""
