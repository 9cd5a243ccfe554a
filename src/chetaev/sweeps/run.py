"""sweep: many motions of one model, with results in a store on disk; the same call on the same store resumes an unfinished sweep."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from chetaev.core.errors import UsageError, about
from chetaev.core.fixes import Ask, SetArgument
from chetaev.core.support.public import public
from chetaev.mechanics.model import Model
from chetaev.numerics.ensemble.series import free_memory
from chetaev.sweeps.blocks import chunk_shape, size_of
from chetaev.sweeps.lock import held
from chetaev.sweeps.measures import read_measures, require_file_name
from chetaev.sweeps.points import Points, read_points
from chetaev.sweeps.progress import Bar
from chetaev.sweeps.record import record_of, require_same, require_same_bits, require_same_processor
from chetaev.sweeps.result import Sweep, open_sweep
from chetaev.sweeps.study import Study, recipe_of

_IN_MEMORY = 24
"""Bytes in memory for each motion besides its measures: the code of its outcome, a reference to a word, and its index in a chunk."""

if TYPE_CHECKING:
    from chetaev.sweeps.store import Store


@public
def sweep(
    model: Any,
    over: Any,
    measure: Mapping[str, Any],
    to: str | os.PathLike[str],
    cluster: str | None = None,
    chunk: int | None = None,
    *,
    workers: int | None = None,
    threads: int | None = None,
    progress: bool | None = None,
    anywhere: bool = False,
) -> Sweep:
    """Run a model at many points and write the measures to a store on disk.

    Chunks of points run through `simulate_many`, and each is written as soon as it is finished. The same call resumes a sweep that was
    interrupted or killed, and its store is then equal, bit for bit, to that of a sweep without interruption. A member that did not finish
    has NaN for all measures, and its outcome.

    Args:
        model: The model, with the values that are not varied, the interval and the settings.
        over: The points: a mapping from parameters and initial values to lists or arrays (`grid`), for all combinations; a list of
            mappings, one for each point; or a `sample`.
        measure: The measures by name: a string is an expression at the end of the motion; `count(event)` counts the roots of an event,
            `On(event)` is the time of its first root, or NaN; `largest_lyapunov()` is the largest Lyapunov exponent.
        to: The folder of the store, such as `"chart.zarr"`. It is created, or resumed if it holds the same sweep.
        cluster: None for this process and its threads; `"local"` for processes on this machine, or the address of a Dask scheduler.
        chunk: The largest number of points of a chunk; by default a 32nd of the sweep, within limits.
        workers: The number of processes of a local cluster; by default one for each processor.
        threads: The number of threads of this process; by default one for each processor. The results do not depend on it.
        progress: Whether a bar shows the progress and the time left; by default in a terminal or a notebook.
        anywhere: Whether to resume a store of another processor or version, where last digits may differ.

    Returns:
        The sweep: arrays by name, also as a data set (`to_xarray`) or a picture (`plot.chart`).

    Raises:
        UsageError: For an argument of a wrong type or value, a folder or a store with other contents, and a store that another process is
            writing.
        StoreError: For a full disk and for damaged files. ClusterError if Dask fails. In all cases, finished chunks are kept.
        KeyboardInterrupt: After Ctrl-C; finished chunks are kept.

    >>> import tempfile
    >>> from chetaev import System, Hamilton, Model
    >>> spring = System("x", "k", lagrangian="x'^2/2 - k*x^2/2", name="spring")
    >>> model = Model(spring, Hamilton(), {"k": 1}, {"x": 1, "x'": 0}, t=(0, 3.141592653589793))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = sweep(model, {"k": [1, 4]}, {"end": "x"}, to=f"{folder}/chart.zarr")
    ...     found["end"].round(6).tolist()
    [-1.0, 1.0]
    """
    if not isinstance(model, Model):
        hint = Ask("ch.sweep", "ch.Model(system, principle, ...), over=..., measure=..., to=...")
        raise UsageError(f"sweep takes a model, not {type(model).__name__}.", where=about("sweep", "model"), hint=hint)
    where = f"sweep {model.system.label}"
    _check_numbers(cluster, workers, threads, where)
    points = read_points(over, where)
    for name in (*points.values, *points.dimensions):
        require_file_name(name, where)
    study = Study(model, read_measures(measure, {**points.values, **dict.fromkeys(points.dimensions)}, where), where)
    chunks = chunk_shape(points.shape, chunk, cluster is not None or study.one_by_one, where)
    path = _path(to, where)
    _require_room(points, len(study.measures), path, where)
    study.check(points.columns(tuple(slice(0, 1) for _ in points.shape)))
    wanted = record_of(study, points, chunks)
    from chetaev.sweeps.store import create, opened

    with held(path, where):
        _require_own(path, where)
        store = opened(path, where, writing=True) if path.exists() and any(path.iterdir()) else create(path, wanted, points, where)
        if chunk is None:
            wanted["chunks"] = list(store.chunks)  # by default, the chunks of the store
        require_same(store.record, wanted, path.name, where)
        store.coordinates()
        done = store.verify()
        left = {at: block for at, block in store.blocks.items() if at not in done}
        if left and not anywhere:
            require_same_bits(store.record, wanted, path.name, where)
        before = points.size - sum(map(size_of, left.values()))
        with Bar(progress, points.size, before, model.name or "sweep") as bar:
            try:
                _fill(store, study, points, left, bar, cluster, workers, threads, anywhere)
            except KeyboardInterrupt:
                raise KeyboardInterrupt("the sweep was interrupted; finished chunks are kept, and the same call resumes") from None
    return open_sweep(path)


def _fill(
    store: Store,
    study: Study,
    points: Points,
    left: Mapping[tuple[int, ...], tuple[slice, ...]],
    bar: Bar,
    cluster: str | None,
    workers: int | None,
    threads: int | None,
    anywhere: bool,
) -> None:
    """Compute the unfinished chunks `left`, and write each as soon as it is finished."""
    if not left:
        return
    if cluster is None:
        _fill_here(store, study, points, left, bar, threads)
        return
    from chetaev.sweeps.cluster import client_of, run_on

    jobs = [(at, points.columns(block)) for at, block in left.items()]
    with client_of(cluster, workers, store.where) as client:
        for at, values, codes, made_by in run_on(client, recipe_of(study), jobs, bar, store.where):
            if not anywhere:
                require_same_processor(str(store.record["processor"]), made_by, store.path.name, store.where)
            store.write(at, values, codes)
            bar.add(len(codes))


def _fill_here(
    store: Store, study: Study, points: Points, left: Mapping[tuple[int, ...], tuple[slice, ...]], bar: Bar, threads: int | None
) -> None:
    """Compute chunks in this process; each is written while the next one is computed."""
    with ThreadPoolExecutor(1) as writer:
        writing: Future[None] | None = None
        for at, block in left.items():
            values, codes = study.run(points.columns(block), threads)
            if writing is not None:
                writing.result()
            writing = writer.submit(store.write, at, values, codes)
            bar.add(len(codes))
        if writing is not None:
            writing.result()


def _check_numbers(cluster: Any, workers: Any, threads: Any, where: str) -> None:
    if cluster is not None and not isinstance(cluster, str):
        hint = (SetArgument("cluster", "local"), ", or the address of a scheduler: cluster.scheduler_address")
        raise UsageError(f"cluster={type(cluster).__name__} is not known.", where=about(where, "cluster"), hint=hint)
    for name, given in (("workers", workers), ("threads", threads)):
        if given is not None and (isinstance(given, bool) or not isinstance(given, int | np.integer) or given < 1):
            raise UsageError(f"{name}={given!r} is not a count.", where=where, hint=(SetArgument(name, 4), ", or None"))
    if workers is not None and cluster != "local":
        raise UsageError(
            "workers needs a local cluster.", where=where, hint=(SetArgument("cluster", "local"), ", ", SetArgument("workers", 4))
        )


def _path(to: Any, where: str) -> Path:
    if not isinstance(to, str | os.PathLike) or not str(to):
        raise UsageError(f"to={to!r} is not the name of a folder.", where=where, hint=SetArgument("to", "chart.zarr"))
    path = Path(os.path.realpath(to))  # so that all names of a store share one lock
    if not path.parent.is_dir():
        raise UsageError(f"the folder {path.parent} does not exist.", where=where, hint="a name in a folder that exists")
    return path


def _require_room(points: Points, measures: int, path: Path, where: str) -> None:
    """Raise a UsageError for a sweep whose results do not fit into memory or on the disk, before anything is run."""
    needed, stored = (_IN_MEMORY + 8 * measures) * points.size, 8 * measures * points.size
    motions = f"{points.size} motions with {measures} measure{'s' * (measures != 1)}"
    free = free_memory()
    if free is not None and needed > free:
        raise UsageError(
            f"the results of {motions} take {needed / 1e9:.1f} GB of memory.",
            where=where,
            why=f"{free / 1e9:.1f} GB are free.",
            hint=("fewer points; several sweeps; or ", Ask("sample"), " instead of a grid"),
        )
    left = shutil.disk_usage(path.parent).free
    if stored > left:
        what = f"the results of {motions} may take {stored / 1e9:.1f} GB on the disk, and {left / 1e9:.1f} GB are free there."
        raise UsageError(what, where=where, hint="another disk, or fewer points")


def _require_own(path: Path, where: str) -> None:
    """Raise a UsageError for a file, or a folder that is neither empty nor a store of a sweep."""
    if path.exists() and not path.is_dir():
        raise UsageError(
            f"{path.name} is a file.",
            where=where,
            hint=("the name of a new folder: ", SetArgument("to", "chart.zarr"), "; nothing was changed"),
        )
    if path.is_dir() and any(path.iterdir()) and not (path / "zarr.json").is_file():
        raise UsageError(f"the folder {path.name} has other contents.", where=where, hint="another name; nothing was changed")
