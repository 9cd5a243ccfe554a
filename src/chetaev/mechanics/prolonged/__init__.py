"""Rows and their total derivatives on higher jets: `constraints` has C_K^[r], `lower_rows` finds consequences of lower order."""
