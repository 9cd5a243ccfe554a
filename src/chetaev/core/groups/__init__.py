"""Lie groups as kinds of coordinates.

`kinds` holds the groups of rotations and rigid motions: algebra, matrix entries, and the rates of stored numbers for a velocity.
`matrix_group` makes a group from a basis of matrices, `lie_algebra` an algebra from brackets, both in `exact_numbers`; `ready_made` names
some, and `lookup` finds the group of a word. `coordinate` is a coordinate that takes values in such a group. `registration` checks and adds
groups of other authors.
"""
