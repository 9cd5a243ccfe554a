"""Slopes that are integrated with the state: their code, their first values on the constraints, and their typical sizes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from chetaev.core.symbols import Jet
from chetaev.numerics.flow.compiled import Array
from chetaev.numerics.machine.vectors.directions import lanes_for
from chetaev.numerics.methods.accuracy import usual_sizes
from chetaev.numerics.methods.base import Wide
from chetaev.numerics.slopes.directions import By, Directions
from chetaev.numerics.slopes.linear import Parameters, at_state, of_energy
from chetaev.numerics.slopes.variation import from_lanes, in_lanes, seeds_of, wide_kernels
from chetaev.numerics.smooth_pieces.piece import Setting


def projected(here: Setting, t: float, native: Array, slopes: Array, parameters: Parameters) -> Array:
    """Slopes of a state, a line for each jet, moved onto the linearised constraints."""
    _, project = wide_kernels(here, parameters, False)
    if project is None:
        return slopes
    p = np.concatenate([here.parameters(t), seeds_of(parameters, np.zeros(len(parameters)))])
    return from_lanes(project(t, np.concatenate([native, in_lanes(slopes)]), p)[len(native) :], len(parameters))


def slopes_with_state(
    here: Setting,
    t: float,
    jets: Mapping[Jet, float],
    slopes: Mapping[Jet, Array],
    directions: Directions,
    before: Mapping[Jet, float],
    span: float,
    conserve: bool,
) -> Wide:
    """Slopes to be integrated with the state from `t` on; `before` has the largest values of jets so far, `span` is the duration of the
    run.
    """
    parameters, native = directions.parameters, here.native(jets, 0.0)
    rhs, project = wide_kernels(here, parameters, conserve)
    columns = projected(here, t, native, np.array([slopes[z] for z in here.flow.state]), parameters)
    energies = np.zeros(len(parameters))
    if conserve:
        energies = at_state(here, of_energy(here, parameters), t, native, len(parameters)).along(columns)[0]
    usual = usual_slopes(here, jets, before, directions, span)
    return Wide(rhs, project, in_lanes(columns), seeds_of(parameters, energies), lanes_for(len(parameters)), in_lanes(usual))


def usual_slopes(here: Setting, jets: Mapping[Jet, float], before: Mapping[Jet, float], directions: Directions, span: float) -> Array:
    """Typical sizes of slopes, the size of the jet divided by that of the parameter or initial value: a line for each jet, a column for
    each direction; zero if no size is known yet.
    """
    state = here.flow.state
    largest = np.array([max(abs(jets[z]), before.get(z, 0.0)) for z in state])
    usual = usual_sizes(largest, state, span)
    found = []
    if directions.usual is not None:
        usual = np.array([directions.usual.get(z, v) for z, v in zip(state, usual.tolist(), strict=True)])
    for by in directions.several:
        if directions.usual is not None and by.parameter is None:
            found.append(usual)
            continue
        size = _size(by, here, dict(zip(state, map(float, usual), strict=True)))
        found.append(usual / size if size > 0 else np.zeros(len(state)))
    return np.array(found).T


def _size(by: By, here: Setting, usual: Mapping[Jet, float]) -> float:
    if by.parameter is not None:
        return abs(here.binding.parameters[by.parameter])
    return 1.0 if by.jet is None else usual.get(by.jet, 0.0)
