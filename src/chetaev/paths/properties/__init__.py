"""Properties of paths that were found.

`ranking` merges paths that are the same curve and ranks them by action; `conjugate` computes conjugate times, `variation` the first
variation of the action and the rank of the end-point map; `paths_in_pieces` makes paths of several motions where a single one is too
unstable.
"""
