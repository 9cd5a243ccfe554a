"""Long chains in O(n) operations: `sums` writes double sums as nested ones, `rows` makes intermediate results of rows further unknowns."""
