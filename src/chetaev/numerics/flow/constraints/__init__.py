"""How states stay on the rows that restrict them: `projection` moves a state by the least correction, `reduction` finds velocities that the
rows leave free and computes the other jets from them. `triangular` finds recursions in long lists of rows, and `null_space` solves
for accelerations and multipliers with them.
"""
