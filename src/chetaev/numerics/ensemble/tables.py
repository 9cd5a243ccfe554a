"""Ensembles as tables: data frames and data sets over members, and over time where states are kept."""

from __future__ import annotations

from typing import Any

import numpy as np

from chetaev.core.notation import show
from chetaev.numerics.ensemble.result import Ensemble
from chetaev.numerics.motion.storage.tables import package, table_names


def to_xarray(ensemble: Ensemble) -> Any:
    """A Dataset: every jet of the state, the accelerations and the multipliers; parameters and outcomes are coordinates of the members."""
    xarray = package("xarray", "to_xarray")
    dimensions: tuple[str, ...] = ("member",) if ensemble.series is None else ("member", "t")
    columns = {name: (dimensions, values) for name, values in _columns(ensemble).items()}
    along: dict[str, Any] = {"member": np.arange(len(ensemble)), "outcome": ("member", ensemble.outcome.astype(str))}
    along |= {name: ("member", values) for name, values in ensemble.parameters.items() if name not in columns}
    if ensemble.series is not None:
        along["t"] = ensemble.times
    return xarray.Dataset(columns, along, _attributes(ensemble))


def to_pandas(ensemble: Ensemble) -> Any:
    """A DataFrame with the same columns, a row for each member, or for each member and time."""
    pandas = package("pandas", "to_pandas")
    members = np.arange(len(ensemble))
    if ensemble.series is None or ensemble.times is None:
        index: Any = pandas.Index(members, name="member")
    else:
        index = pandas.MultiIndex.from_product([members, ensemble.times], names=["member", "t"])
    frame = pandas.DataFrame({name: values.ravel() for name, values in _columns(ensemble).items()}, index=index)
    frame.attrs.update(_attributes(ensemble))
    return frame


def _columns(ensemble: Ensemble) -> dict[str, Any]:
    return {name: ensemble[name] for name in table_names(ensemble.equations, ensemble.final.flows[0].state)}


def _attributes(ensemble: Ensemble) -> dict[str, str]:
    system = ensemble.equations.system
    lagrangian = system.lagrangian_text or show(system.lagrangian)
    return {"system": system.name, "lagrangian": lagrangian, "principle": str(ensemble.equations.principle)}
