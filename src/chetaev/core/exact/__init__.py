"""Exact answers to formal questions: is this expression zero, which jets does a row contain, what is the rank of this matrix?

The answer is a property of the expression and not of a point, so floating-point numbers cannot give it. An expression is written as a
`Program` (a list of instructions) and run in a finite field, where arithmetic is exact and the functions of the notation obey their
addition theorems: G. H. Gonnet, Determining equivalence of expressions in random polynomial time, STOC 1984. The residue at a random
point is the *signature* of the expression.

- `program`: expressions as instructions, whatever algebra made them; also their values in mpmath.
- `field`: the finite field, and the numbers a + bi over it.
- `functions`: exp, sin, sqrt, log, sign, ... in the field; `numbers`: logarithms and angles of rational numbers by those of primes.
- `signature`: running a program at random points; which outputs vanish identically, and which have values with many digits.
- `matrices`: rank and elimination of matrices of residues.
- `manifold`: random points of the field that satisfy given rows.
- `factors`: divisors and factors of polynomials; `quotients`: rational functions of parameters.
- `constants`: values of constants, also where digits cancel.
"""
