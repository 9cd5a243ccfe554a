"""The operations of programs in pairs of doubles, and the kinds of their arrays."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Matrix = Annotated[NDArray[np.float64], 2]
Table = Annotated[NDArray[np.int64], 2]

INPUT, NUMBER, ADD, SUBTRACT, MULTIPLY, DIVIDE, NEGATE, ASSIGN, SIN, COS, SQRT = range(11)
"""Operations: an entry of the inputs, one of the numbers, and functions of one or two values."""
TERMS = 30
"""Terms of the series of sine and cosine together: those left out are below 2^-112 for arguments up to pi/4."""
