"""Long chains in O(n) operations: `sums` writes double sums as nested ones, `variations` forms Euler-Lagrange expressions in which no terms
cancel, `rows` makes intermediate results of rows further unknowns.
"""
