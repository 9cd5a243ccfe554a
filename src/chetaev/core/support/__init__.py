"""Small tools without mechanics: whole files, frozen mappings, room for recursion, budgets of time, harmless texts, the version."""
