"""What round-off makes of the slopes of a motion: a suspicion by bounds, decided by their rates in many digits.

A formula that has its digits may have derivatives that lose them: (1 - cos(k*x))/x^2 at x = 1e-4 has eight digits, its derivative four.
"""

from __future__ import annotations

import numpy as np

from chetaev.numerics.flow.compiled import Array
from chetaev.numerics.flow.exact_rates import exact_rates
from chetaev.numerics.machine.rounding_bounds import doubting
from chetaev.numerics.methods import dop853
from chetaev.numerics.slopes.directions import Directions
from chetaev.numerics.slopes.variation import from_lanes, moving_parameters, one_direction
from chetaev.numerics.smooth_pieces.piece import Piece

_LOOKS = 8
"""Nodes at which rates of slopes are computed in many digits."""
_PART = 1e-2
"""Part of the usual size of a slope, that of the jet over that of what it is differentiated by, beside which an error counts."""

Figure = tuple[float, str, float]
"""The largest error relative to the size of its slope, the slope, and the time."""


def slope_rounding(piece: Piece, directions: Directions, usual: Array, allowed: float) -> Figure | None:
    """What rounding makes of the slopes of a piece; None if they are clearly known.

    `usual` are their typical sizes, a line for each jet and a column for each direction, and `allowed` is a part of them that does not
    matter. Of a run that did not keep its steps only the end is looked at.
    """
    run, setting, flow = piece.run, piece.setting, piece.setting.flow
    if run.beside is None or not int(run.accepted):
        return None
    times, states, slopes = np.asarray(run.nodes), np.asarray(run.states), from_lanes(np.asarray(run.beside.states), len(directions))
    if len(times) <= int(run.accepted):
        times, states, slopes = (
            np.array([piece.end]),
            np.asarray(run.y)[None, :],
            from_lanes(np.asarray(run.beside.y), len(directions))[None],
        )
    lengths = np.abs(np.gradient(times)) if len(times) > 1 else np.array([abs(piece.end - piece.begin)])
    p, first = setting.parameters(piece.begin, piece.reference), len(flow.system.equations.system.parameters)
    moved = moving_parameters(directions.parameters)
    kernel = one_direction(setting, directions.parameters)
    address = doubting(kernel, setting.compiled.inputs(setting.binding), first)
    worst: Figure | None = None
    for k, by in enumerate(directions.several):
        seeds = np.array([*[float(by.parameter == z) for z in moved], 0.0])
        found = dop853.evaluate(address, times, np.hstack([states, slopes[:, :, k]]), np.concatenate([p, seeds]), 2 * kernel.n_out)
        with np.errstate(invalid="ignore", over="ignore"):
            both = found.reshape(len(times), 2, -1)[:, :, flow.size :]
            rates, shares = both.mean(axis=1), lengths[:, None] * np.abs(both[:, 0] - both[:, 1]) / 2
        scale = np.maximum(np.abs(slopes[:, :, k]).max(axis=0), _PART * usual[:, k])
        scale = np.where(scale > 0, scale, np.inf)
        if (shares.sum(axis=0) <= allowed * scale).all():
            continue
        of_parameters = np.array([float(z == by.parameter) for z in flow.arguments[:first]])
        size, jet, at = _wrong(piece, times, lengths, states, slopes[:, :, k], rates, shares, scale, of_parameters)
        if worst is None or size > worst[0]:
            worst = size, f"slope of {flow.state[jet].name} by {by.name}", at
    return worst


def _wrong(
    piece: Piece,
    times: Array,
    lengths: Array,
    states: Array,
    slopes: Array,
    rates: Array,
    shares: Array,
    scale: Array,
    of_parameters: Array,
) -> tuple[float, int, float]:
    """The error of slopes relative to their sizes, the jet with the largest, and the time: at some nodes rates are compared with those in
    many digits, and their errors are taken for that part of their bounds everywhere.
    """
    setting, exact = piece.setting, exact_rates(piece.setting.compiled, piece.setting.binding)
    weights = np.nan_to_num((shares / scale).max(axis=1), nan=np.inf)
    looked = np.argsort(-weights)[:_LOOKS]
    parts = []
    for i in looked:
        t = float(times[i])
        right = exact.along(t, states[i], setting.parameters(t, piece.reference), slopes[i], of_parameters)
        if right is None:
            continue
        error = lengths[i] * (rates[i] - right[: len(scale)])
        parts.append(np.where(shares[i] > 0, error / np.where(shares[i] > 0, shares[i], 1.0), 0.0))
    if not parts:
        return 0.0, 0, piece.begin
    with np.errstate(invalid="ignore", over="ignore"):
        one_sign = np.abs(np.mean(parts, axis=0)) * shares.sum(axis=0) / len(parts) ** 0.5
        by_chance = np.sqrt(np.mean(np.square(parts), axis=0)) * np.sqrt((shares**2).sum(axis=0))
        total = np.nan_to_num(np.maximum(one_sign, by_chance) / scale, nan=np.inf)
    jet = int(np.argmax(total))
    return float(total[jet]), jet, float(times[looked[0]])
