"""Strides of methods whose steps are polynomials in powers: many steps in machine code between two calls from Python.

A stride makes steps and checks each of them with the rules of `python_loop`: the end is projected onto the constraints, nodes are enclosed
over the tube of the step, watched functions must keep their signs, residuals are measured. The stride ends before the first step that may
contain a root, leap over a feature or touch a small determinant; `python_loop` repeats this step and handles it. So both loops decide in
the same way.

`series` and `radau` make a step; `checks` decides whether it contains no event; `polynomial`, `vectors`, `sizes`, `rough`,
`step_matrices` and `bands` are what these need; `loop` puts them together, and is compiled (`loaded`). `types` and `codes` are the
arguments, `radau_tableau` has the numbers of Radau IIA. `methods.compiled_stepper` has the stepper of such methods.
"""
