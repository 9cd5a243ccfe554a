"""Initial data: read, completed from the constraints, and checked, or refused with the missing values.

`data` reads the user's values, `conditions` evaluates the rows that data must satisfy. `initial` completes stage by stage with `newton`,
`blocks` and `single_root`, `completed` checks the resulting state, `signs` finds the side of every switching surface, `attitude` reads and
prints elements of groups, with `matrix_element` for groups of matrices, `group_columns` along a motion; `data_faults` and `state_faults`
make the errors. `direct_completion` and `clear_states` are faster methods for data that are clear in every respect.
"""
