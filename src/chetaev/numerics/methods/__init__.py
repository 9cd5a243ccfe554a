"""How to step. A method is a class with a `stepper`, which the loop in `python_loop` leads along a piece, with the roots that
`watched_roots` locates; `one_step` has a stepper for formulas of one step with an estimate of their error. `registry` knows methods by
their words. `dop853` is the usual one, compiled with its own loop; `lanes` makes its steps for several members of an ensemble at once,
and `frames` carries directions along its motions. `taylor`, whose coefficients `series` finds, and `implicit` are compiled too
(`compiled_steps`, through `compiled_stepper`):
`python_loop` makes their steps where something happens.

`base` has the class `Method`, `accuracy` has tolerances and sizes of jets. For methods that step in Python `sizes`, `changes` and
`enclosed` do what the compiled loop does itself: sizes of components, roots in a step, and functions that a step did not see.
"""
