"""The inverse problem: is there a Lagrangian, which one, of which order?

`helmholtz` reads the input and decides, `lagrangians` constructs one, `multipliers` seeks integrating factors, `order_reduction` an
equivalent Lagrangian of lowest order, `lepage_equivalent` its Cartan form. `variation` is the Euler-Lagrange operator with Krupková's sign,
`primitives` finds antiderivatives.
"""
