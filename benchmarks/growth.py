"""(e) How set-up time, time per right-hand side and number of instructions grow with n: exponents of power laws; and the right-hand side of
a chain in angles against two algorithms of O(n) operations: hand-written C (`native/chain.c`) and Pinocchio's for articulated bodies.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import peer
from compiler import compiled
from integration import rhs_seconds, states_along
from measure import Effort, Spread, Table, figures, seconds_per_call, take_turns
from setup_time import chetaev_setup
from texts import FAMILIES, TITLES, unique

import chetaev as ch
from chetaev.numerics.flow.compiled import compile_equations
from chetaev.numerics.machine.engine import entry_of


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
    return [found, _in_angles(effort)]


def _in_angles(effort: Effort) -> Table:
    """The chain as a sum over all pairs of links, and from positions."""
    found = Table(
        "(e) Right-hand side of a chain in angles",
        ["chain", "links", "instructions", "chetaev, ns", "C, ns", "Pinocchio, ns", "chetaev / C", "chetaev / Pinocchio", "differences"],
        "C: tensions of the rods from a tridiagonal system. Pinocchio: articulated bodies in space, in angles of joints, called from "
        "Python, which takes about a microsecond of each call. Differences from C and from Pinocchio: the largest of accelerations, "
        "relative to the largest one." + ("" if peer.has_pinocchio() else " Pinocchio is not installed."),
    )
    for family, n in ((family, n) for family in ("chain", "bobs") for n in ((10, 40) if effort.quick else (10, 20, 40, 100))):
        text = FAMILIES[family](n, 0)
        system = ch.System(
            text.coordinates, " ".join(text.parameters), where=text.where, lagrangian=text.lagrangian.replace(unique(0), "1")
        )
        made = compile_equations(ch.derive(system))
        values = np.array(list(text.values.values()))
        by_hand = compiled("chain", values, f"LINKS={n}")
        if by_hand is None:
            continue
        names = [z.name for z in made.flow.state]
        order = [names.index(z) for z in text.start]
        states = np.random.default_rng(n).uniform(-1, 1, (64, 2 * n))
        own = np.empty_like(states)
        own[:, order] = states
        p = np.array([*[text.values[z.name] for z in made.flow.arguments], 0.0])
        rates, expected = made.rhs(0.0, own[0], p)[order], np.empty(2 * n)
        entry_of(by_hand.address)(0.0, states.ctypes.data, by_hand.p.ctypes.data, expected.ctypes.data)
        sides = {
            "chetaev": partial(rhs_seconds, made.rhs.address, own, p, 0.02),
            "C": partial(rhs_seconds, by_hand.address, states, by_hand.p, 0.02),
        }
        off = [rates - expected]
        if peer.has_pinocchio():
            bodies = peer.articulated_chain(values[:n], values[n : 2 * n], values[-1])
            angles, speeds = (np.diff(half, prepend=0.0) for half in (states[0, :n], states[0, n:]))
            sides["Pinocchio"] = partial(seconds_per_call, partial(bodies, angles, speeds))
            off.append(rates[n:] - np.cumsum(bodies(angles, speeds)))
        times = take_turns(sides, effort.repetitions)
        cells = [1e9 * times[side].median if side in times else None for side in ("chetaev", "C", "Pinocchio")]
        ratios = [times["chetaev"].over(times[side]) if side in times else None for side in ("C", "Pinocchio")]
        differences = ", ".join(figures(float(np.abs(d).max() / np.abs(expected).max())) for d in off)
        found.add(TITLES[family], n, made.rhs.instructions, *cells, *ratios, differences)
    return found


def _slope(sizes: Sequence[int], values: Sequence[float]) -> str:
    return f"{np.polyfit(np.log(sizes), np.log(values), 1)[0]:.2f}"
