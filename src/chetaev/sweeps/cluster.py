"""Run chunks on Dask, by a local cluster of processes or any scheduler. Workers compute, the calling process writes the store."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from multiprocessing import current_process
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chetaev.core.errors import ChetaevError, UsageError
from chetaev.core.fixes import SetArgument
from chetaev.numerics.ensemble.threads import processors
from chetaev.sweeps.progress import Bar
from chetaev.sweeps.study import run_chunk

Array = NDArray[np.float64]
Index = tuple[int, ...]
Job = tuple[Index, Mapping[str, Array]]
Found = tuple[Index, dict[str, Array], NDArray[np.uint8], str]

_AT_ONCE = 1000
"""Largest number of chunks submitted to the scheduler at a time: more would only use its memory."""
_DEATHS = 10
"""Number of workers that may die while they compute the same chunk before the sweep fails."""
_SECONDS_FOR_SCHEDULER = 30
"""Seconds to wait for an answer of the scheduler."""


class ClusterError(ChetaevError):
    """The cluster of a sweep failed; finished chunks are kept."""


@contextmanager
def client_of(cluster: str, workers: int | None, where: str) -> Iterator[Any]:
    """A client of a new local cluster, or of the scheduler at an address."""
    try:
        import dask
        from distributed import Client, LocalCluster
    except ModuleNotFoundError:
        raise UsageError("a cluster needs Dask.", where=where, hint="pip install dask distributed") from None
    if cluster == "local":
        if getattr(current_process(), "_inheriting", False):
            raise _unguarded(where)
        page = ":0" if find_spec("bokeh") is not None else None
        with dask.config.set({"distributed.scheduler.allowed-failures": _DEATHS}):
            try:
                made = LocalCluster(
                    n_workers=workers or processors(),
                    threads_per_worker=1,
                    processes=True,
                    dashboard_address=page,
                    silence_logs=logging.CRITICAL,
                )
            except RuntimeError:  # Dask raises it if a worker fails to start
                raise _unguarded(where) from None
            with made, Client(made) as client:
                yield client
        return
    try:
        client = Client(cluster, timeout=_SECONDS_FOR_SCHEDULER)
    except (OSError, TimeoutError, ValueError) as fault:
        hint = (SetArgument("cluster", "local"), ', or the address that the scheduler prints: "tcp://10.0.0.1:8786"')
        raise ClusterError(f"no scheduler answers at {cluster}.", where=where, why=str(fault), hint=hint) from None
    with client:
        yield client


def _unguarded(where: str) -> ClusterError:
    """The error for a program without a guard: the processes that it starts would import it and start the sweep again."""
    return ClusterError(
        "the processes of a local cluster did not start.",
        where=where,
        why="Each new process imports the file of the program; if the import itself starts the sweep, this never ends.",
        hint='put the call under  if __name__ == "__main__":',
    )


def run_on(client: Any, recipe: bytes, jobs: Sequence[Job], bar: Bar, where: str) -> Iterator[Found]:
    """Yield the results of all chunks as workers finish them. Dask repeats a chunk whose worker died."""
    from distributed import KilledWorker, as_completed
    from distributed.client import FutureCancelledError
    from distributed.comm.core import CommClosedError

    if client.dashboard_link and find_spec("bokeh") is not None:
        bar.say(f"dashboard: {client.dashboard_link}")
    waiting = iter(jobs)
    places: dict[Any, Index] = {}

    def submit() -> Any:
        job = next(waiting, None)
        if job is None:
            return None
        future = client.submit(run_chunk, recipe, dict(job[1]), 1, pure=False)  # a unique key: the scheduler may have other sweeps
        places[future.key] = job[0]
        return future

    first = [future for future in (submit() for _ in range(min(_AT_ONCE, len(jobs)))) if future is not None]
    queue = as_completed(first)
    del first  # the scheduler deletes a result when no future refers to it
    kept = "all finished chunks are kept, and the same call resumes"
    try:
        for future in queue:
            at = places.pop(future.key)
            values, codes, processor = future.result()
            following = submit()
            if following is not None:
                queue.add(following)
            yield at, values, codes, processor
    except KilledWorker as fault:
        why = f"{fault.last_worker} was the last of {_DEATHS} or more." if getattr(fault, "last_worker", None) else ""
        hint = f"give workers more memory, or a smaller chunk; {kept}"
        raise ClusterError("workers died repeatedly at the same chunk.", where=where, why=why, hint=hint) from None
    except (FutureCancelledError, CommClosedError, OSError) as fault:
        raise ClusterError("the connection to the scheduler was lost.", where=where, why=str(fault)[:200], hint=kept) from None
    if places:
        raise ClusterError(f"the scheduler lost {len(places)} chunks.", where=where, hint=kept)
