"""Expressions as CasADi graphs, and bounds of the errors of their values.

`algebra` is the algebra of graphs that assembler and structural analysis run on, with the operations of `arithmetic`; `guarded` makes
those that would overflow; a `graph_tape` evaluates some of its expressions. `rewriting` gives expressions a form in which doubles neither
overflow nor cancel, `simplification` one with fewer operations. `binding` gives parameters, inputs and time their values. `residues`
decides zeros of a matrix in a finite field; `rounding_bounds` bounds round-off, `magnitude` the sizes of terms, `bounds` values at all
states; `decided_by_data` decides whether a pivot that doubles lose is zero within the data. `group_equations` has the equations of groups
of matrices and `group_steps` the step onto them. `buffered` evaluates functions in place; `identity_cache` is a cache by identity.
"""
