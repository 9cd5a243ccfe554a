"""Model files: TOML for structure, the notation for mathematics. Reading one runs nothing, and reads nothing else."""
