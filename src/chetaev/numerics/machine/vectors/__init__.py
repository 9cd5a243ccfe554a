"""Machine code on vectors of numbers: `directions` for derivatives in several directions at once, `states` for several states."""
