"""Expressions as CasADi graphs, and what their numbers are worth.

`algebra` is the algebra of graphs that assembler and structural analysis run on; `binding` gives parameters, inputs and time their values.
`residues` decides zeros of a matrix in a finite field; `doubts` bounds round-off, `magnitude` the sizes of terms, `bounds` what holds at
every state; `overflow` keeps quotients finite; `small_constants` finds constants below their own round-off; `remembered` is a cache by
identity.
"""
