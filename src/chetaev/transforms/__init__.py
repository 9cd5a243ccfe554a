"""Transformations: theorems of the form "this system is equivalent to that one", as maps that carry motions. One theorem per file."""
