"""A motion as notebooks show it: outcome, accuracy, and a small curve of every quantity. `summary` makes it."""
