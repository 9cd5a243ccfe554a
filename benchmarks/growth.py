"""(e) How set-up time, time per right-hand side and number of instructions grow with n: exponents of power laws."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from integration import rhs_seconds, states_along
from measure import Effort, Spread, Table, take_turns
from setup_time import chetaev_setup
from texts import TITLES

import chetaev as ch
from chetaev.numerics.flow.compiled import compile_equations


def tables(effort: Effort) -> list[Table]:
    """Chain and trailers."""
    sizes = (2, 4, 8) if effort.quick else (5, 10, 20, 40) if effort.long else (4, 8, 16)
    found = Table(
        "(e) Growth with n",
        ["system", "quantity", *[f"n = {n}" for n in sizes], "exponent", "last exponent"],
        "Exponent: slope of the logarithm over all n by least squares; last: between the two largest n.",
    )
    rounds = 2 if effort.long else 3
    for family, title in TITLES.items():
        if family not in ch.gallery():
            continue
        setup = [chetaev_setup(family, n, rounds) for n in sizes]
        models = [ch.gallery(family, n=n) for n in sizes]
        prepared = [states_along(ch.derive(model), model, 0.5) for model in models]
        sides = {str(n): partial(rhs_seconds, *made, 0.02) for n, made in zip(sizes, prepared, strict=True)}
        times = take_turns(sides, effort.repetitions)
        instructions = [Spread((float(compile_equations(ch.derive(model)).rhs.instructions),)) for model in models]
        rows = (
            ("set-up, ms", setup, 1e3),
            ("right-hand side, ns", [times[str(n)] for n in sizes], 1e9),
            ("instructions", instructions, 1.0),
        )
        for quantity, values, unit in rows:
            medians = [v.median for v in values]
            found.add(title, quantity, *[unit * m for m in medians], _slope(sizes, medians), _slope(sizes[-2:], medians[-2:]))
    return [found]


def _slope(sizes: Sequence[int], values: Sequence[float]) -> str:
    return f"{np.polyfit(np.log(sizes), np.log(values), 1)[0]:.2f}"
