"""Optimal control by direct collocation on the graphs of the equations.

`problem` turns the user's arguments into graph functions, `conditions` reads the values at the two ends and relations along the path,
`end_conditions` compares the ends with constraints and integrals, `sizes` estimates typical sizes and a first duration, `guesses` makes
first paths, `mesh` has the intervals and the shapes of inputs, `transcription` the nonlinear program, `refinement` estimates its error and
divides intervals, `checks` simulates the inputs that were found, `work` counts the iterations of all programs.
"""
