"""Sweeps: thousands to millions of motions of one model, over parameters and starts, in a store on disk.

    ch.sweep(model, over={"a": ch.sweeps.grid(0, 1, 50)}, measure={"hits": ch.sweeps.count("theta")}, to="chart.zarr")

`points` has the points of a sweep (grids, lists, samples), `measures` the measured quantities, `blocks` divides the points into chunks,
`study` runs a chunk through `simulate_many`, `exponents` computes the largest Lyapunov exponents of a chunk. `record` is the description in
a store, `store` the Zarr store itself, `lock` excludes a second writing process, `progress` shows the bar. `run` has `sweep`, `cluster`
sends chunks to Dask, `result` reads a store.
"""

from chetaev.sweeps.measures import count, largest_lyapunov
from chetaev.sweeps.points import Sample, grid, sample
from chetaev.sweeps.result import Sweep, open_sweep
from chetaev.sweeps.run import sweep

__all__ = ["Sample", "Sweep", "count", "grid", "largest_lyapunov", "open_sweep", "sample", "sweep"]
