"""Expressions as CasADi graphs, and bounds of the errors of their values.

`algebra` is the algebra of graphs that assembler and structural analysis run on; `binding` gives parameters, inputs and time their values.
`residues` decides zeros of a matrix in a finite field; `doubts` bounds round-off, `magnitude` the sizes of terms, `bounds` values at all
states; `decided_by_data` decides whether a pivot that doubles lose is zero within the data; `overflow` keeps quotients finite,
`exponentials` products of exponentials, `dominant` products of factors that grow and fall, `saturated` functions with a finite limit,
`removable` has series where a formula has no digits, `cancelled` removes sums that are identically zero.
`group_equations` has the equations of groups of matrices and `group_steps` the step onto them. `buffered` evaluates functions in place;
`remembered` is a cache by identity.
"""
