"""What is known about paths that were found.

`ranking` merges and ranks them, with `conjugate` times and the first `variation` of the action; `pieced` has those that are motions in
pieces, `locus` the conjugate points and crossings of wavefronts.
"""
