"""Model files: TOML for structure, the notation for mathematics. Reading a file runs no code and opens no other file.

`reading` has `load`: it checks tables and keys (`schema`), then names and values (`meaning`), and finds the lines and
characters of faults (`places`, `spans`).
`writing` has `save`, `toml` the syntax of values and keys. `fixes` prints suggested fixes as keys of a file.
"""
