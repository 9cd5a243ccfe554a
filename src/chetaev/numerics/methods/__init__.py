"""Methods of integration. A method is a class with a `stepper`, which the loop in `python_loop` calls along a piece, with the roots that
`watched_roots` locates; `one_step` has a stepper for formulas of one step with an estimate of their error. `METHODS` knows methods by their
words. `dop853` is the usual one, compiled with its own loop; `lanes` makes its steps for several members of an ensemble at once,
`checked_runs` makes one call of a run and of checks at its ends, and `frames` integrates directions together with its motions. `taylor` and
`implicit` are compiled too (`compiled_steps`, through `compiled_stepper`); `python_loop` makes the steps that contain an event or may have
to be shortened. `elimination` says how linear systems of implicit steps are solved.

`loops` lists all compiled loops. `base` has the class `Method`, `accuracy` has tolerances and sizes of jets. For methods that step in
Python `sizes`, `changes` and `enclosed` do what the compiled loop does itself: sizes of components, roots in a step, and bounds of
functions between the points that a step evaluates.

Reading a file that names no method, or the usual one by leaving it out, imports no compiler: the methods of the library are imported when
their words are asked for. A new one is a file here and a line in `METHODS`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chetaev.core.errors import UsageError
from chetaev.core.support.registry import Registry

if TYPE_CHECKING:
    from chetaev.numerics.methods.base import Method

_HERE = "chetaev.numerics.methods"
METHODS: Registry[Method] = Registry(
    "method", UsageError, "implicit", {"explicit": f"{_HERE}.base", "implicit": f"{_HERE}.implicit", "taylor": f"{_HERE}.taylor"}
)
"""Every method under its word."""
