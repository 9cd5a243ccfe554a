"""The registry of methods: one form of them for model files, motion files, the command line and reports.

Reading a file that names no method, or the usual one by leaving it out, imports no compiler: the methods of the library are imported when
their words are asked for.
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
