"""Strides of methods whose steps are polynomials in powers: many steps in machine code between two looks from Python.

A stride makes steps and checks each of them with the rules of `python_loop`: the end is projected onto the constraints, nodes are enclosed
over the tube of the step, watched functions must keep their signs, residuals are measured. The first step in which something happens, or
may happen, ends the stride before it; `python_loop` makes this step once more and does what has to be done. So a stride decides nothing
that `python_loop` would decide otherwise.

`series` and `radau` make a step; `checks` asks whether it is quiet; `polynomial`, `sizes` and `matrices` are what these need; `loop` puts
them together, and is compiled (`loaded`). `types` and `codes` are the arguments, `radau_tableau` has the numbers of Radau IIA.
`methods.compiled_stepper` has the stepper of such methods.
"""
