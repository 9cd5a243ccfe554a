"""What the library is written in, with SymPy and mpmath alone: symbols, expressions, exact zero tests, and systems as data.

| what | where |
|---|---|
| coordinates, parameters, jets, multipliers | `symbols`; names for new ones in `fresh_names` |
| the functions of the notation, one line each | `functions` |
| text to expression and back, and both to LaTeX, by way of one syntax tree | `notation`, `parsing`; names in `letters` |
| what files choose by a word | `registry` |
| derivatives on jets, over any algebra | `calculus` |
| is it zero? | `zero`, by signatures in a finite field (`exact`); numbers in `values` |
| a system | `system`, its parts in `parts`, names read by `declarations`, rows in `constraints`; `groups`, found by `group_lookup` |
| initial data; the evidence of a motion | `state`, `certificate` |
| refusals in the user's words | `errors`; what mends them, as values, in `fixes` |
| files, frozen mappings, budgets, hostile texts | `support` |

Nothing here imports another layer.
"""
