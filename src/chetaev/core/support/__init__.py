"""Small tools without mechanics.

| what | where |
|---|---|
| atomic writing of files, reading of files that may be pipes | `files` |
| a mapping that cannot change | `frozen` |
| values with a word and settings; files and the command line choose them by it; how they are typed | `specs`, `registry` |
| spelling of names: Greek letters, indices, dots | `letters` |
| texts of the user on a terminal and in pictures | `text` |
| numbers as exact fractions | `rationals` |
| checks of plain data from files | `plain` |
| lines of sparse matrices | `lines` |
| limits of work | `budget` |
| the recursion limit for deep expressions | `recursion` |
| public names of a package, imported on first use | `lazy` |
| the mark of public functions and classes, where tracebacks are cut | `public` |
| arguments of a wrong type, named in errors | `argument_types` |
| frames of the library and of the user | `frames` |
| naming work that takes long | `waiting` |
| the version number | `version` |
"""
