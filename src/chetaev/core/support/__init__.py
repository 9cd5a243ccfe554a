"""Small tools without mechanics: atomic files, frozen mappings, recursion limits, budgets, checks of texts, registries, the version."""
