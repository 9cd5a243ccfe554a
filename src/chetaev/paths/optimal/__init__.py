"""Optimal control by direct collocation on the graphs of the equations.

`problem` reads the user's arguments into graph functions, `conditions` the values at the two ends and relations along the path, `reach`
compares the ends with constraints and integrals, `sizes` estimates typical sizes and a first duration, `guesses` makes first paths,
`mesh` holds intervals and shapes of inputs, `transcription` the nonlinear program, `refinement` measures its error and divides intervals,
`checks` simulates the inputs that were found.
"""
