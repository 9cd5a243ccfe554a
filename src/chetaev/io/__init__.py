"""Model files: TOML for structure, the notation for mathematics. Reading a file runs no code and opens no other file.

`reading` has `load`: it checks tables and keys (`schema`), then names and values (`meaning`), and finds the lines of faults (`places`).
`writing` has `save`.
"""
