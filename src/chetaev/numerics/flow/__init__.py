"""From rows to a flow: what has to be differentiated, solved and projected.

`prolongation` holds the rows with their total derivatives, `closure` adds their consequences where the Jacobian is singular,
`state_families` finds several families of states, `elimination` solves the linear systems with pivots chosen once, `flow` is the result as
one graph with `energy` and `projection`, `compiled` the same as machine code. `sampling` finds points of the constraint set, `component`
those of the part a state lies on, `local_rank` and `forty_digits` decide ranks there; `locus` says where the equations fail.
"""
