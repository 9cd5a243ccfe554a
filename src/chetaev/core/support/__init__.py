"""Small tools without mechanics.

| what | where |
|---|---|
| atomic writing of files, reading of files that may be pipes | `files` |
| a mapping that cannot change | `frozen` |
| values that files and the command line choose by a word | `registry` |
| spelling of names: Greek letters, indices, dots | `letters` |
| texts of the user on a terminal and in pictures | `text` |
| checks of plain data from files | `plain` |
| limits of work | `budget` |
| the recursion limit for deep expressions | `recursion` |
| public names of a package, imported on first use | `lazy` |
| the version number | `version` |
"""
