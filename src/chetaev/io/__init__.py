"""Model files: TOML for structure, the notation for mathematics. Reading a file runs no code and opens no other file."""
