"""Names for programs: jets and parameters as identifiers that no language reserves."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sympy import Symbol

from chetaev.core.symbols import TIME, Jet

_OURS = frozenset(
    "t state parameters values unknowns rates solved found left right matrix solution null constraints rhs "
    "STATE UNKNOWNS PARAMETERS START INTERVAL CONSTRAINTS VALUES".split()
)
"""What the exported files call their own things."""


def identifiers(symbols: Iterable[Symbol], words: frozenset[str]) -> dict[Symbol, str]:
    """`theta` for an angle, `theta_d` and `theta_dd` for its derivatives; a name that is taken gets an underscore."""
    taken = set(words | _OURS)
    found: dict[Symbol, str] = {}
    for z in symbols:
        if z == TIME:
            found[z] = "t"
            continue
        name = _plain(z)
        while name in taken or re.fullmatch(r"w\d*", name):  # w1, w2, ... are intermediate results
            name += "_"
        taken.add(name)
        found[z] = name
    return found


def _plain(z: Symbol) -> str:
    if not isinstance(z, Jet) or z.order == 0:
        return re.sub(r"\W", "_", z.base if isinstance(z, Jet) else z.name)
    return f"{z.base}_{'d' * z.order if z.order <= 3 else f'd{z.order}'}"
