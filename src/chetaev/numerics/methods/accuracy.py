"""The accuracy of a motion: a relative tolerance, an absolute one, and typical sizes of jets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chetaev.core.errors import InitialError, UsageError, about, did_you_mean
from chetaev.core.fixes import Advice, SetArgument, sentences
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.plain import SMALLEST_TOLERANCE
from chetaev.core.symbols import Jet, Place
from chetaev.numerics.graphs.binding import number
from chetaev.numerics.methods.dop853.arguments import Limits

Array = NDArray[np.float64]

_USUAL = 1e-9
"""The default relative tolerance; documented for `simulate`."""
_LARGEST = float(np.finfo(float).max)
"""Upper limit of a typical size, in units of its jet: relative to an infinite size no error would count."""
_QUATERNION = 0.5
"""Typical size of a component of a quaternion of length one, the root mean square of four."""
_UNLIMITED = 1e100
"""A size beside which no error counts. The square of an error in units of it must not be a denormal number: adding those takes a processor
tens of nanoseconds, a tenth of a step of a small system."""


@dataclass(frozen=True)
class Accuracy:
    """The arguments `tolerance=1e-9`, `tolerance=(1e-9, 1e-12)`, `scale={"x": 1e-9}`.

    One number is relative to each jet itself and its typical size, which is the one given by `scale`, or that over the run so far. With an
    absolute tolerance beside it, the error of a jet x may be `relative*|x| + absolute`.
    """

    relative: float
    absolute: float = 0.0
    scale: Frozen[str, float] = field(default_factory=lambda: Frozen({}))

    @property
    def wish(self) -> dict[str, Any]:
        """The accuracy as arguments of `simulate`."""
        return {"tolerance": (self.relative, self.absolute), "scale": dict(self.scale)}

    def measures(self, state: Sequence[Jet], size: int, before: Mapping[Jet, float] | None = None) -> Measures:
        """The accuracy for the vector of a state, whose last component may be the work done; `before` has the largest values so far."""
        own = 0.0 if self.absolute > 0 else -1.0
        sizes, seen = np.full(size, own), np.zeros(size)
        for k, z in enumerate(state):
            sizes[k] = self.scale.get(z.name, _QUATERNION if _of_quaternion(z, state) else own)
            seen[k] = 0.0 if before is None else before.get(z, 0.0)
        return Measures(self.relative, self.absolute, sizes, seen, kinds_of(state, size))


@dataclass(frozen=True, eq=False)
class Measures:
    """The units of errors of a state vector."""

    rtol: float
    atol: float
    sizes: Array
    """Typical sizes, negative where the run measures them."""
    before: Array
    """The largest values before the run."""
    kinds: NDArray[np.int64]

    def without_work(self, has_power: bool) -> Measures:
        """These measures, without a limit for the last component if that is the work done, which is no part of the motion."""
        sizes = self.sizes.copy()
        if has_power:
            sizes[-1] = _UNLIMITED
        return Measures(self.rtol, self.atol, sizes, self.before, self.kinds)

    def limits(self, max_step: float = np.inf, max_steps: int = 1_000_000) -> Limits:
        """These units as limits of a compiled run."""
        return Limits(self.rtol, self.atol, self.sizes, self.before, self.kinds, max_step=max_step, max_steps=max_steps)


def _of_quaternion(z: Jet, state: Sequence[Jet]) -> bool:
    """Whether a jet is a component of a quaternion, whose length is one: which of them is small depends on where the frame lies."""
    group, _, suffix = z.base.partition(".")
    return isinstance(z, Place) and suffix in ("w", "x", "y", "z") and any(w.base == f"{group}.w" for w in state)


def kinds_of(state: Sequence[Jet], size: int) -> NDArray[np.int64]:
    """A number for each component: jets of coordinates of the same order have the same, and so have multipliers, and places of groups.

    Their units may differ. A component without a size is measured by the largest of its kind.
    """
    return _kinds(tuple(state), size)


@lru_cache(maxsize=64)
def _kinds(state: tuple[Jet, ...], size: int) -> NDArray[np.int64]:
    keys: list[Any] = [(type(z).__name__, z.order) for z in state]
    keys += ["work"] * (size - len(keys))
    known = {key: k for k, key in enumerate(dict.fromkeys(keys))}
    return np.array([known[key] for key in keys], np.int64)


def usual_sizes(sizes: Array, state: Sequence[Jet], span: Any) -> Array:
    """For each component the largest of its kind; a velocity is at least a coordinate over a time. Rows of several motions may be given at
    once, each with its duration.
    """
    kinds = kinds_of(state, sizes.shape[-1])
    among = np.zeros(sizes.shape)
    np.maximum.at(among.T, kinds, sizes.T)
    found: NDArray[np.float64] = among[..., kinds]
    duration = np.abs(span)
    duration = np.where(duration != 0, duration, np.inf)
    places = {z: k for k, z in enumerate(state)}
    for z in sorted(places, key=lambda z: z.order):
        below = places.get(type(z)(z.base, z.order - 1)) if z.order else None
        if below is not None:
            with np.errstate(over="ignore"):
                least = np.minimum(found[..., below] / duration, _LARGEST)
            found[..., places[z]] = np.maximum(found[..., places[z]], least)
    return found


def read_accuracy(tolerance: Any, scale: Any, known: Sequence[str], where: str) -> Accuracy:
    """The user's `tolerance` and `scale`; `known` are the names of the jets of the state."""
    pair = tolerance if isinstance(tolerance, list | tuple) else (_USUAL if tolerance is None else tolerance, 0.0)
    if len(pair) != 2:
        hint: Advice = (SetArgument("tolerance", 1e-9), ", or ", SetArgument("tolerance", (1e-9, 1e-12)), ": relative, absolute")
        raise UsageError(f"tolerance={tolerance!r} is neither a number nor a pair of numbers.", where=about(where, "tolerance"), hint=hint)
    relative = positive(pair[0], "tolerance", where)
    absolute = number(pair[1], {}, f"{where}, tolerance", InitialError)
    if absolute < 0:
        raise InitialError(f"an absolute tolerance of {absolute:g} is negative.", where=where, hint=SetArgument("tolerance", (1e-9, 1e-12)))
    if scale is not None and not isinstance(scale, Mapping):
        raise UsageError(f"scale={scale!r} is not a mapping.", where=where, hint=SetArgument("scale", {"x": 1e-9}))
    sizes = {}
    for name, given in (scale or {}).items():
        if name not in known:
            hint = sentences(f"jets of the state: {' '.join(known)}.", did_you_mean(str(name), list(known)))
            raise UsageError(f"scale: {name} is no jet of the state.", where=about(where, "scale", name), hint=hint)
        sizes[name] = number(given, {}, f"{where}, scale of {name}", InitialError)
        if sizes[name] <= 0:
            raise InitialError(f"scale: {name} = {sizes[name]:g} is not positive.", where=where, hint=SetArgument("scale", {name: 1e-9}))
    return Accuracy(relative, absolute, Frozen(sizes))


def positive(v: Any, name: str, where: str) -> float:
    """A positive number within double precision."""
    found = number(v, {}, f"{where}, {name}", InitialError)
    if found <= 0:
        raise InitialError(f"{name} = {found:g} is not positive.", where=where, hint=SetArgument(name, 1e-9))
    if found < SMALLEST_TOLERANCE:
        raise InitialError(
            f"{name} = {found:g} is beyond double precision.",
            where=where,
            hint=(SetArgument(name, 1e-12), f", and not below {SMALLEST_TOLERANCE:g}"),
        )
    return found
