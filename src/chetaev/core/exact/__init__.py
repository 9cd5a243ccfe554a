"""Formal questions answered exactly: is this expression zero, which jets does a row contain, what is the rank of this matrix?

The answer belongs to the expression and not to a point, so it is not found with floating-point numbers. An expression is written as a
`Program` (a list of instructions) and run in a finite field, where arithmetic is exact and the functions of the notation obey their
addition theorems: G. H. Gonnet, Determining equivalence of expressions in random polynomial time, STOC 1984. The residue at a random
point is the *signature* of the expression.

- `program`: the form in which expressions come in, whatever algebra made them.
- `field`: the finite field, and the numbers a + bi over it.
- `functions`: exp, sin, sqrt, log, sign, ... in the field.
- `signature`: running a program at random points; which outputs vanish identically.
- `matrices`: rank and elimination of matrices of residues.
- `manifold`: random points of the field that satisfy given rows.
"""
