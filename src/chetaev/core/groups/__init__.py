"""Lie groups as kinds of coordinates.

`kinds` holds the groups themselves: their algebra, entries, and how velocities become rates. `coordinate` is a coordinate whose place is an
element of such a group.
"""
