"""A sweep for the page: a quantity at the end of the motion over one parameter or initial value."""

from __future__ import annotations

from typing import Any

import numpy as np

from chetaev.core.support.frozen import Frozen
from chetaev.mechanics.model import Model
from chetaev.studio.live import around_parameter, around_start
from chetaev.studio.request import Asked, MalformedError
from chetaev.sweeps.measures import read_measures
from chetaev.sweeps.points import read_points
from chetaev.sweeps.study import OUTCOMES, Study

_MEASURE = "measured"
"""The name of the quantity inside the sweep; the page shows its text."""


def swept(asked: Asked) -> dict[str, Any]:
    """Return the values of what is varied, the quantity at the end of each motion (None where one did not finish), and the outcomes.

    Raises:
        MalformedError: If the request does not say what is varied and measured.
    """
    if asked.over is None or not asked.measure:
        raise MalformedError("over and measure are missing.")
    model, over = asked.model(), asked.over
    where = f"sweep {model.system.label}"
    points = read_points({over.name: np.linspace(over.low, over.high, over.count)}, where)
    study = Study(model, Frozen(read_measures({_MEASURE: asked.measure}, points.values, where)), where)
    columns = points.columns((slice(None),))
    study.check({name: values[:1] for name, values in columns.items()})
    found, codes = study.run(columns, threads=1)
    [(name, values)] = columns.items()
    measured = [float(v) if np.isfinite(v) else None for v in found[_MEASURE].tolist()]
    return {"name": name, "measure": asked.measure, "over": values.tolist(), "values": measured, "outcomes": [OUTCOMES[k] for k in codes]}


def ranges(model: Model) -> list[dict[str, Any]]:
    """Return what can be varied, each with a range around its value: parameters and given initial values that are numbers."""
    found = []
    for kind, given, around in (("parameters", model.parameters, around_parameter), ("start", model.start.fixed, around_start)):
        for name, value in given.items():
            if isinstance(value, int | float) and np.isfinite(value):
                low, high = around(float(value))
                found.append({"name": str(name), "kind": kind, "low": low, "high": high})
    return found
