"""The inverse problem of the calculus of variations: whether equations have a Lagrangian, which one, and of which order.

`helmholtz` reads the input and decides, `lagrangians` constructs a Lagrangian, `multipliers` searches integrating factors,
`order_reduction` finds an equivalent Lagrangian of lowest order, `lepage_equivalent` its Cartan form. `variation` has the Euler-Lagrange
operator with Krupková's sign, `primitives` finds antiderivatives.
"""
