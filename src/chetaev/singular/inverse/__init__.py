"""The inverse problem: is there a Lagrangian, which one, of which order?

`helmholtz` decides and finds one (`tonti`, `descent`), `multipliers` seeks integrating factors, `order_reduction` an equivalent Lagrangian
of lowest order, `lepage_equivalent` its Cartan form. `variation` is the Euler-Lagrange operator with Krupková's sign, `primitives` and
`root_integrals` find antiderivatives, `source` reads what is given.
"""
