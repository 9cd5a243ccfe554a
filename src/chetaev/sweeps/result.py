"""The result of a sweep, read from its store."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chetaev.core.errors import UsageError
from chetaev.core.fixes import Ask
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.io.reading import loads
from chetaev.mechanics.model import Model
from chetaev.numerics.motion.storage.tables import package
from chetaev.numerics.motion.trajectory import Outcome
from chetaev.sweeps.blocks import size_of
from chetaev.sweeps.lock import is_held, owner

Array = NDArray[np.float64]

NOT_RUN = "not_run"
"""The outcome of a point whose chunk is not done yet."""


@public
@dataclass(frozen=True, eq=False, repr=False)
class Sweep:
    """A sweep: an array for each measure, over the dimensions of the varied names."""

    path: Path
    """The folder of the store."""
    record: Frozen[str, Any]
    """The description in the store: model, points, measures, versions, settings and processor."""
    points: Frozen[str, Array]
    """The values of the varied parameters and initial values, by name."""
    arrays: Frozen[str, Array]
    """The measures by name; NaN for motions that did not finish or have not run yet."""
    outcome: NDArray[Any]
    """The outcome of every motion, as a word."""
    chunks: tuple[int, int]
    """The number of finished chunks, and of all chunks."""

    @property
    def dimensions(self) -> tuple[str, ...]:
        """The names of the dimensions: those of a grid, or `sample` or `point`."""
        return tuple(self.record["points"]["dimensions"])

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the dimensions."""
        return tuple(self.record["points"]["shape"])

    @property
    def complete(self) -> bool:
        """Whether all chunks are done."""
        return self.chunks[0] == self.chunks[1]

    @cached_property
    def model(self) -> Model:
        """The model in the store."""
        return loads(self.record["model"], self.path.name)

    def __getitem__(self, name: str) -> NDArray[Any]:
        """A measure, `outcome`, or the values of a varied name."""
        if name == "outcome":
            return self.outcome
        for known in (self.arrays, self.points):
            if name in known:
                return known[name].copy()
        hint = " ".join([*self.arrays, "outcome", *self.points])
        raise UsageError(f"{name} is neither measured nor varied.", where=f"sweep {self.path.name}", hint=hint)

    def to_xarray(self) -> Any:
        """An xarray Dataset over the varied names, with the measures and `outcome` as variables."""
        xarray = package("xarray", "to_xarray")
        grid = self.record["points"]["grid"]
        along = {name: ((name if grid else self.dimensions[0],), values) for name, values in self.points.items()}
        columns = {name: (self.dimensions, values) for name, values in self.arrays.items()}
        columns["outcome"] = (self.dimensions, self.outcome.astype(str))
        attributes = {"model": self.record["model"], "chetaev": self.record["versions"]["chetaev"], "store": self.path.name}
        attributes["system"] = self.model.system.name
        return xarray.Dataset(columns, along, attributes)

    def __str__(self) -> str:
        size = int(np.prod(self.shape))
        sizes = " x ".join(f"{name} ({n})" for name, n in zip(self.dimensions, self.shape, strict=True))
        lines = [f"{self.path.name}: {size} motions over {sizes}"]
        done, total = self.chunks
        lines.append(f"  {done} of {total} chunks are done" if not self.complete else f"  complete, in {total} chunk{'s' * (total != 1)}")
        counted = Counter(self.outcome.ravel().tolist())
        words = [*map(str, Outcome), NOT_RUN]
        lines.append("  " + ", ".join(f"{counted[word]} {word.replace('_', ' ')}" for word in words if counted[word]))
        width = max(len(name) for name in self.arrays)
        for name, values in self.arrays.items():
            known = values[np.isfinite(values)]
            said = f"{known.min():.6g} to {known.max():.6g}" if len(known) else "no value"
            missing = values.size - len(known)
            lines.append(f"  {name:<{width}}  {said}" + (f", NaN for {missing}" if missing else ""))
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """The text, and a chart if there are one or two dimensions and matplotlib is installed."""
        return f"<pre>{escape(str(self))}</pre>{self._picture()}"

    def _picture(self) -> str:
        from importlib.util import find_spec

        if len(self.shape) > 2 or find_spec("matplotlib") is None:
            return ""
        from chetaev.plot.charts import as_html

        return as_html(self)


@public
def open_sweep(path: str | os.PathLike[str]) -> Sweep:
    """Read the store of a sweep, complete or not, and verify the checksums of all files.

    Args:
        path: The folder of the store.

    Returns:
        The sweep.

    Raises:
        UsageError: If there is no such store, or a later version of the library wrote it.
        StoreError: If files of the store are damaged.
    """
    if not isinstance(path, str | os.PathLike):
        raise UsageError(f"{path!r} is not the name of a folder.", where="open_sweep", hint=Ask("ch.open_sweep", '"chart.zarr"'))
    folder = Path(os.path.realpath(path))
    where = f"open_sweep {folder.name}"
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}.", where=where, hint="the folder that sweep made")
    from chetaev.sweeps.store import opened

    store = opened(folder, where)
    done = store.verify()
    codes = store.values("outcome", done)
    words = np.full(256, NOT_RUN, object)
    words[: len(store.record["outcomes"])] = store.record["outcomes"]
    return Sweep(
        folder,
        Frozen(store.record),
        Frozen(store.coordinates()),
        Frozen({name: store.values(name, done) for name in store.record["measures"]}),
        words[codes],
        (len(done), len(store.blocks)),
    )


def status(path: str | os.PathLike[str]) -> str:
    """The state of a sweep as text: finished chunks, the process that works on it, and the time left."""
    folder = Path(os.path.realpath(path))
    found = open_sweep(folder)
    lines = [str(found)]
    if found.complete:
        return lines[0]
    if not is_held(folder):
        lines.append("  no process works on it; the same call resumes it")
        return "\n".join(lines)
    lines.append(f"  {owner(folder) or 'a process'} works on it{_left(folder)}")
    return "\n".join(lines)


def _left(folder: Path) -> str:
    """The time left, from the times at which the last chunks were written."""
    from chetaev.sweeps.store import opened

    store = opened(folder, "status")
    done = store.done()
    written = sorted((folder.joinpath("done", "c", *map(str, at)).stat().st_mtime, size_of(store.blocks[at])) for at in done)[-_LAST:]
    if len(written) < 2 or written[-1][0] <= written[0][0]:
        return ""
    rate = sum(size for _, size in written[1:]) / (written[-1][0] - written[0][0])
    seconds = sum(size_of(block) for at, block in store.blocks.items() if at not in done) / rate
    return f", {rate:.4g} motions per second; {_in_words(seconds)} left"


_LAST = 20
"""Number of latest chunks whose times give the speed; older chunks may be from before an interruption."""


def _in_words(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    if seconds < 5400:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.1f} hours"
