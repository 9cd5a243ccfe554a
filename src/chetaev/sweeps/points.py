"""The points of a sweep: grids, lists and samples of parameters and initial values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chetaev.core.errors import UsageError, about, require_mapping
from chetaev.core.fixes import Ask, Code, InPython, SetArgument
from chetaev.core.notation.lexer import spell
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.numerics.graphs.binding import number

Array = NDArray[np.float64]

_KINDS = ("sobol", "latin")
_MOST_VALUES = 100_000_000
"""Largest number of values of one name: almost a gigabyte of memory. A sweep over more would not end."""
_HINT = (
    SetArgument("over", {"a": Code("ch.grid(0, 1, 50)"), "theta'": [0.1, 0.2]}),
    ", a list of mappings, or ",
    Ask("ch.sample", '{"a": (0, 1)}, 1000'),
)


@public
def grid(low: Any, high: Any, n: int, *, scale: str = "linear") -> Array:
    """Evenly spaced values for a sweep, both ends included.

    Args:
        low: The first value, a number or an expression such as `"-pi"`.
        high: The last value.
        n: The number of values.
        scale: `"linear"`, or `"log"` for equal ratios.

    Returns:
        The values.

    Raises:
        UsageError: If `n` is not a positive integer or is too large, for an unknown `scale`, and for a logarithmic grid whose ends are not
            positive.

    >>> grid(0, 1, 5).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    >>> grid(1, 100, 3, scale="log").tolist()
    [1.0, 10.0, 100.0]
    """
    first, last = number(low, {}, "grid", UsageError), number(high, {}, "grid", UsageError)
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise UsageError(f"n = {n!r} is not a number of values.", where=about("grid", "n"), hint=Ask("ch.grid", "0, 1, 50"))
    if n > _MOST_VALUES:
        hint = ("fewer values; ", Ask("sample"), " spreads points over ranges")
        raise UsageError(
            f"n = {n} values of one name are too many.", where=about("grid", "n"), why=f"At most {_MOST_VALUES} fit.", hint=hint
        )
    if scale == "linear":
        return np.linspace(first, last, int(n))
    if scale != "log":
        raise UsageError(
            f"scale = {scale!r} is not known.", where="grid", hint=(SetArgument("scale", "linear"), " or ", SetArgument("scale", "log"))
        )
    if not (first > 0 and last > 0):
        raise UsageError("a logarithmic grid needs positive ends.", where="grid", hint=Ask("ch.grid", '1e-3, 1, 50, scale="log"'))
    return np.geomspace(first, last, int(n))


@public
@dataclass(frozen=True, eq=False)
class Sample:
    """Points spread over ranges of several names; made by `sample`."""

    columns: Frozen[str, Array]
    """The values by name; point k has the k-th value of each."""
    kind: str
    """`"sobol"` or `"latin"`."""
    seed: int
    """The seed of the random numbers."""


@public
def sample(ranges: Mapping[str, Any], n: int, *, kind: str = "sobol", seed: int = 0) -> Sample:
    """Points spread evenly over ranges, for sweeps over more names than a grid can cover.

    Args:
        ranges: The lowest and the highest value of each name.
        n: The number of points; a power of two for Sobol points.
        kind: `"sobol"` for scrambled Sobol points, `"latin"` for a Latin hypercube.
        seed: The seed of the random numbers; the same seed gives the same points.

    Returns:
        The points, for the argument `over` of `sweep`.

    Raises:
        UsageError: For an argument of a wrong type or value.

    >>> found = sample({"a": (0, 1), "b": (10, 20)}, 8)
    >>> sorted(found.columns), len(found.columns["a"])
    (['a', 'b'], 8)
    """
    where = "sample"
    require_mapping(ranges, "ranges are", where, Ask("ch.sample", '{"a": (0, 1)}, 1024'))
    if kind not in _KINDS:
        raise UsageError(
            f"kind = {kind!r} is not known.", where=where, hint=(SetArgument("kind", "sobol"), " or ", SetArgument("kind", "latin"))
        )
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise UsageError(f"n = {n!r} is not a number of points.", where=about(where, "n"), hint=Ask("ch.sample", '{"a": (0, 1)}, 1024'))
    if kind == "sobol" and n & (n - 1):
        near = 1 << n.bit_length()
        raise UsageError(
            f"{n} Sobol points are not balanced.",
            where=where,
            why="Their number must be a power of two.",
            hint=(f"{near}, or ", SetArgument("kind", "latin")),
        )
    ends: dict[str, tuple[float, float]] = {}
    for name, given in ranges.items():
        if isinstance(given, str) or not isinstance(given, Sequence) or len(given) != 2:
            raise UsageError(f"the range of {name} is {given!r}.", where=where, hint=InPython(f'{{"{name}": (0, 1)}}'))
        low, high = (number(end, {}, f"{where}, {name}", UsageError) for end in given)
        ends[spell(str(name))] = (low, high)
    if not ends:
        raise UsageError("no ranges are given.", where=about(where, "ranges"), hint=Ask("ch.sample", '{"a": (0, 1)}, 1024'))
    from scipy.stats import qmc

    engine = qmc.Sobol(len(ends), seed=seed) if kind == "sobol" else qmc.LatinHypercube(len(ends), seed=seed)
    unit = np.asarray(engine.random(n), dtype=float)
    columns = {name: low + (high - low) * unit[:, k] for k, (name, (low, high)) in enumerate(ends.items())}
    return Sample(Frozen(columns), kind, seed)


@dataclass(frozen=True, eq=False)
class Points:
    """The points of a sweep. A grid has a dimension for each name; a list or a sample has one dimension for all names."""

    dimensions: tuple[str, ...]
    shape: tuple[int, ...]
    values: Frozen[str, Array]
    """The values along the dimension of each name."""
    is_grid: bool

    @property
    def size(self) -> int:
        """The number of points."""
        return prod(self.shape)

    def columns(self, block: tuple[slice, ...]) -> dict[str, Array]:
        """The values of all names at the points of a block, in C order."""
        if not self.is_grid:
            return {name: values[block[0]] for name, values in self.values.items()}
        mesh = np.meshgrid(*[values[part] for values, part in zip(self.values.values(), block, strict=True)], indexing="ij")
        return {name: np.ascontiguousarray(column.ravel()) for name, column in zip(self.values, mesh, strict=True)}


def read_points(over: Any, where: str) -> Points:
    """Read the points from the argument `over` of a sweep."""
    if isinstance(over, Sample):
        return _together(over.columns, "sample", where)
    if isinstance(over, Mapping):
        axes = {name: _axis(v, name, where) for name, v in _by_spelling(over, where).items()}
        if not axes:
            raise UsageError("nothing is varied.", where=about(where, "over"), hint=_HINT)
        return Points(tuple(axes), tuple(map(len, axes.values())), Frozen(axes), True)
    if isinstance(over, str) or not isinstance(over, Sequence) or not over or not all(isinstance(point, Mapping) for point in over):
        raise UsageError(f"over is given as {type(over).__name__}.", where=where, hint=_HINT)
    points = [_by_spelling(point, where) for point in over]
    names = list(points[0])
    for k, point in enumerate(points):
        if set(point) != set(names):
            what = f"point {k} of the list has other names than point 0."
            raise UsageError(what, where=where, hint=f"every point with {' '.join(names)}")
    return _together({name: _axis([point[name] for point in points], name, where) for name in names}, "point", where)


def _together(columns: Mapping[str, Array], dimension: str, where: str) -> Points:
    if not columns or dimension in columns:
        raise UsageError(
            "nothing is varied." if not columns else f"{dimension} cannot be varied here.", where=about(where, "over"), hint=_HINT
        )
    return Points((dimension,), (len(next(iter(columns.values()))),), Frozen(columns), False)


def _by_spelling(over: Mapping[Any, Any], where: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, v in over.items():
        name = spell(str(key))
        if name in found:
            raise UsageError(f"{name} is varied twice.", where=about(where, "over", name), hint="give it once")
        found[name] = v
    return found


def _axis(given: Any, name: str, where: str) -> Array:
    """The values of one name."""
    place = f"{where}, over {name}"
    if isinstance(given, np.ndarray) and given.ndim == 1 and given.dtype.kind in "fiu":
        found = given.astype(float)
    elif isinstance(given, str | Mapping) or np.ndim(given) == 0:
        raise UsageError(
            f"{given!r} is not a list of values.",
            where=place,
            hint=(InPython(f'{{"{name}": ch.grid(0, 1, 50)}}'), ", or a list of numbers"),
        )
    else:
        found = np.array([number(v, {}, place, UsageError) for v in given], dtype=float)
    if found.ndim != 1 or not len(found) or not np.isfinite(found).all():
        raise UsageError("the values are not one row of finite numbers.", where=place, hint=InPython(f'{{"{name}": ch.grid(0, 1, 50)}}'))
    return found
