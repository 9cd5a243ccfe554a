"""From a system to its equations, and what can be said of them without integrating: SymPy, and NumPy for ranks.

`principles` rewrite a system into normal form, `assemble` makes rows of it over any algebra, `derivation` is the verb, `equations` its
result; `multiplier_elimination` removes the multipliers. `structure` is Pryce's structural analysis (with `assignment`), `ranks` are ranks
at points and in a finite field, `classify` tells kinds of constraints (with `distributions` and `integrals`). `analysis` holds
what `analyze` says, with formulas from `singular_locus`. `group_chart` writes groups in coordinates. `model` joins a system with its
values.
"""
