"""From rows to a flow: differentiation, elimination and projection.

`prolongation` holds the rows with their total derivatives, `closure` adds their consequences where the Jacobian is singular,
`constraint_set` has the states on which they hold, `elimination` solves the linear systems with pivots chosen once by `pivot_choice` and
`pivot_search`, or on the diagonal by `symmetric_order`, `flow` is the result as one graph with `energy`, `compiled` the same as machine
code. `constraints` keeps states on the rows, by a projection or in velocities that the rows leave free. `local_rank` and `forty_digits`
decide ranks; `locus` names singular loci and undefined expressions. `pole_rewriting` rewrites rows, `held_rows` evaluates the rows of
motion with the rates that were found, `exact_rates` the rates in many digits. `nested` finds sparse rows for long chains.
"""
