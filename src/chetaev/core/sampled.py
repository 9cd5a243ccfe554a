"""Inputs that are not formulas in t: samples with an interpolation, and controllers that are called once per period.

These are values; `numerics.driving` turns them into polynomials between breakpoints, at which a motion is divided into pieces.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from numbers import Real
from typing import Any

from chetaev.core.errors import UsageError
from chetaev.core.fixes import InPython, SetArgument
from chetaev.core.support.public import public

INTERPOLATIONS = ("hold", "linear", "cubic", "order 8")
"""Methods of interpolation between samples. In `"order 8"` every eight intervals share one polynomial through their nine samples."""
GROUP = 8
"""The degree of the polynomials of `"order 8"`."""
MOST_SAMPLES = 1_000_000
"""Most samples of an input: each may begin a piece of the motion, which takes a fraction of a millisecond."""


@public
@dataclass(frozen=True)
class Sampled:
    """An input by its samples.

    `"hold"` keeps each value until the next time, and the last one for ever; `"linear"` joins the samples by lines; `"cubic"` is the
    natural cubic spline, with two continuous derivatives. A time that occurs twice is a jump from the first value to the second one; a
    spline ends before the jump, and another one begins after it.

    >>> Sampled([0, 1, 2], [0, 5, 5])
    Sampled(3 samples from t = 0 to 2, joined by lines)
    """

    times: tuple[float, ...]
    """The times of the samples, in increasing order."""
    values: tuple[float, ...]
    """The values at these times."""
    interpolation: str = "linear"
    """One of `INTERPOLATIONS`."""
    origin: str = field(default="", compare=False)
    """The origin of the samples, if they stand for something else: "a Python function"."""

    def __init__(self, times: Iterable[Any], values: Iterable[Any], interpolation: str = "linear", origin: str = "") -> None:
        """Check the samples.

        Args:
            times: The times, two or more, in increasing order; one may occur twice in a row.
            values: One value for each time.
            interpolation: `"hold"`, `"linear"`, `"cubic"`, or `"order 8"`.
            origin: What the samples stand for.

        Raises:
            UsageError: If `times` and `values` are not samples of a function.
        """
        if interpolation not in INTERPOLATIONS:
            hint = " or ".join(f'"{word}"' for word in INTERPOLATIONS[:3])
            raise UsageError(f"{interpolation!r} is not an interpolation.", where=_WHERE, hint=hint)
        put = object.__setattr__
        put(self, "times", _numbers(times, "times"))
        put(self, "values", _numbers(values, "values"))
        put(self, "interpolation", interpolation)
        put(self, "origin", origin)
        self._check()

    def _check(self) -> None:
        n = len(self.times)
        if n != len(self.values):
            raise UsageError(f"there are {n} times and {len(self.values)} values.", where=_WHERE, hint="a value for every time")
        if not 2 <= n <= MOST_SAMPLES:
            raise UsageError(f"{n} samples do not make a function.", where=_WHERE, hint=f"two to {MOST_SAMPLES} samples")
        for k, (a, b) in enumerate(pairwise(self.times)):
            if a > b:
                raise UsageError(f"the times are not in order: {b:g} follows {a:g}.", where=_WHERE, hint="sort times and values by time")
            if a == b and (k in (0, n - 2) or self.times[k - 1] == a):
                what = f"t = {a:g} occurs more than twice." if 0 < k < n - 2 else f"t = {a:g} occurs twice at an end."
                raise UsageError(what, where=_WHERE, hint="a time may occur twice between others, for a jump")
        if self.interpolation == "order 8" and any((len(part) - 1) % GROUP for part in self.parts()):
            what = f'"order 8" takes {GROUP} intervals at a time, between jumps too.'
            raise UsageError(what, where=_WHERE, hint='"cubic" takes any samples')

    def parts(self) -> list[range]:
        """The ranges of indices of the samples between jumps."""
        cuts = [k + 1 for k, (a, b) in enumerate(pairwise(self.times)) if a == b]
        return [range(a, b) for a, b in pairwise([0, *cuts, len(self.times)])]

    def covers(self, t0: float, t1: float) -> bool:
        """Whether the samples determine the input from `t0` to `t1`.

        Args:
            t0: One end of the interval.
            t1: The other end; it may be the earlier one.
        """
        first, last = min(t0, t1), max(t0, t1)
        return self.times[0] <= first and (last <= self.times[-1] or self.interpolation == "hold")

    @property
    def sentence(self) -> str:
        """The samples in words."""
        of = f" of {self.origin}" if self.origin else ""
        kinds = {"hold": "held", "linear": "joined by lines", "cubic": "joined by a cubic spline"}
        kind = kinds.get(self.interpolation, f"joined by polynomials of degree {GROUP}")
        return f"{len(self.times)} samples{of} from t = {self.times[0]:g} to {self.times[-1]:g}, {kind}"

    @property
    def described(self) -> dict[str, Any]:
        """The samples as lists and texts, for files."""
        plain = {"times": list(self.times), "values": list(self.values), "interpolation": self.interpolation}
        return {**plain, **({"origin": self.origin} if self.origin else {})}

    def __repr__(self) -> str:
        return f"Sampled({self.sentence})"


@public
@dataclass(frozen=True)
class Feedback:
    """A controller in the loop: `function(t, state)` is called once every `period`, and its value is held until the next call.

    `state` maps the names of the jets of the state ("x", "x'", ...) to numbers. The calls are made in the order of time, once each in a
    run: a motion under a feedback is not computed a second time if its checks fail.
    """

    function: Callable[[float, Mapping[str, float]], float]
    """The controller."""
    period: float
    """The time between two calls."""

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise UsageError(
                f"{self.function!r} is not a function.", where=_LOOP, hint=InPython('Feedback(lambda t, state: -2*state["x"], period=0.01)')
            )
        if isinstance(self.period, bool) or not isinstance(self.period, Real) or not 0 < float(self.period) < math.inf:
            raise UsageError(f"period={self.period!r} is not a length of time.", where=_LOOP, hint=SetArgument("period", 0.01))


def sampled_pair(given: Any) -> Any:
    """Return `Sampled` for a pair of times and values, and any other value unchanged."""
    pair = isinstance(given, tuple | list) and len(given) == 2
    rows = pair and all(isinstance(part, Iterable) and not isinstance(part, str | Mapping) for part in given)
    return Sampled(*given) if rows else given


_WHERE = "Sampled"
_LOOP = "Feedback"


def _numbers(given: Any, noun: str) -> tuple[float, ...]:
    """Finite numbers, without NaN: the caller has to fill gaps in measured data."""
    given = given.tolist() if hasattr(given, "tolist") else given
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        raise UsageError(f"{noun} are given as {type(given).__name__}.", where=_WHERE, hint=InPython("Sampled([0, 1, 2], [0.0, 0.3, 0.1])"))
    found = tuple(given)
    for k, v in enumerate(found):
        if isinstance(v, bool) or not isinstance(v, Real):
            raise UsageError(f"{noun}[{k}] is {type(v).__name__}, not a number.", where=_WHERE, hint="a list or an array of numbers")
        if not math.isfinite(v):
            raise UsageError(f"{noun}[{k}] = {float(v)} is not finite.", where=_WHERE, hint="leave out the samples without a value")
    return tuple(map(float, found))
