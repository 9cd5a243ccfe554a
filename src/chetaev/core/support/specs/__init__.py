"""Values with a word and settings, such as principles and methods: `specified` is their base, `words` reads and writes them as text."""
