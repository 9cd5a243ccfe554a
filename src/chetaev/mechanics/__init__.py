"""From a system to its equations, and properties of the equations that need no integration. Uses SymPy, and NumPy for ranks.

`principles` rewrite a system into normal form, `assemble` forms its rows over any algebra, `derivation` has `derive`, `equations` its
result, with typed `origins` of its rows. `structure` is Pryce's structural analysis, `ranks` computes ranks at points and in a finite field
(thresholds in `tolerances`), `classify` finds the kinds of constraints (with `distributions`). `analysis` holds the result of `analyze`,
with formulas from `singular_locus`, which leaves out factors without zeros (`definite`). `group_chart`, with `group_product_chart`, writes
group coordinates in ordinary ones. `prolonged` has rows on higher jets. `model` joins a system with its values, `servo` adds rows that
actuators enforce. `brackets` are those of the velocities that rows allow, `quantities` has the units of names and expressions.
"""
