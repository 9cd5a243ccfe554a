"""Lie groups as kinds of coordinates.

`kinds` holds the groups themselves: algebra, matrix entries, and the rates of stored numbers for a velocity. `coordinate` is a coordinate
that takes values in such a group. `registration` checks and adds groups of other authors.
"""
