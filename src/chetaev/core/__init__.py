"""The vocabulary of the library, built on SymPy and mpmath alone: symbols, expressions, exact zero tests, and systems as data.

| what | where |
|---|---|
| coordinates, parameters, jets, multipliers | `symbols` |
| the functions of the notation, one line each | `functions` |
| text to expression and back, and both to LaTeX, through one syntax tree | `notation` |
| derivatives on jets, over any algebra | `calculus` |
| is an expression zero? | `zero`, by signatures in a finite field and values of constants (`exact`); other values in `values` |
| a system | `system`, its parts in `parts`, names, `parse` in `declarations`, rows in `constraints` and `unilateral`, `groups`, `units` |
| initial data; inputs as samples; the checks of a motion; pictures | `state`, `sampled`, `certificate`, `scene` |
| errors in the user's notation | `errors`; suggested fixes, as values, in `fixes` |
| what notebooks show | `display` |
| files, frozen mappings, registries, budgets, untrusted texts | `support` |

`rows` makes rows, forces, equations and inputs of a system from texts. Nothing here imports another layer.
"""
