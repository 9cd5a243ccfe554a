r"""A program whose values are all wrong by one unit in the last place: what it gives differently is round-off.

After each operation that rounds, the value is multiplied by $1 \pm 2^{-52}$ with a sign that looks random and is always the same (J.
Vignes, A stochastic arithmetic for reliable scientific computation, Math. Comput. Simulation 35 (1993) 233). Unlike a bound of the error
this is about as large as the error itself, however long the program is. The difference $1 - \cos x$ at $x = 10^{-9}$, which is zero in
doubles, becomes $10^{-16}$, and a quotient by $x^2$ shows that it has no correct digit.

The entries of the state are rounded numbers too, and are shaken. Parameters and constants are taken as exact.
"""

from __future__ import annotations

import casadi
import numpy as np

from chetaev.numerics.machine.instructions import CONST, PARAMETER, STORE, TIME, operands_in

_EXACT = np.array(
    [
        CONST, TIME, PARAMETER, STORE, casadi.OP_NEG, casadi.OP_FABS, casadi.OP_TWICE, casadi.OP_FMIN, casadi.OP_FMAX, casadi.OP_SIGN,
        casadi.OP_LT, casadi.OP_LE, casadi.OP_EQ, casadi.OP_NE, casadi.OP_NOT, casadi.OP_AND, casadi.OP_OR, casadi.OP_IF_ELSE_ZERO,
        casadi.OP_FLOOR, casadi.OP_CEIL, casadi.OP_COPYSIGN, casadi.OP_FMOD, casadi.OP_REMAINDER,
    ]
)  # fmt: skip
"""Operations whose result is no rounded number. The time is shaken by whoever calls, because inputs depend on it too."""
_UNIT = 2.0**-52
"""Relative error given to a value: one unit in the last place, twice the largest error of one operation."""


def shaken(program: bytes) -> bytes:
    """The program with every rounded value multiplied by one plus or minus a unit in the last place."""
    table = np.frombuffer(program, np.int32).reshape(-1, 4)
    rounded = ~np.isin(table[:, 0], _EXACT)
    ends = 1 + np.cumsum(1 + rounded)  # behind two constants, each value is followed by its product if it is rounded
    found = np.zeros((2 + len(table) + int(rounded.sum()), 4), np.int32)
    found[:2, 0] = CONST
    found[:2, 2:] = np.array([1.0 + _UNIT, 1.0 - _UNIT]).view(np.int32).reshape(2, 2)
    values = table.copy()
    for column, reads in enumerate(operands_in(table[:, 0]), start=1):
        values[reads, column] = ends[table[reads, column]]
    places = ends - rounded
    found[places] = values
    products = ends[rounded]
    found[products, 0] = casadi.OP_MUL
    found[products, 1] = places[rounded]
    found[products, 2] = np.random.default_rng(14).integers(0, 2, len(products))
    return found.tobytes()
