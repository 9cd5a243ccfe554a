"""Pictures of motions and analyses: functions that return a matplotlib figure.

    ch.plot.series(motion)                 quantities over time
    ch.plot.phase(motion, "theta", "theta'")  one quantity over another
    ch.plot.path(motion, "x", "y")         the same with equal scales
    ch.plot.balance(motion)                energy, work, and what is left of their balance
    ch.plot.drift(motion)                  the largest residual of every constraint
    ch.plot.compare(comparison)            motions side by side, and their distance
    ch.plot.eigenvalues(sweep, values, "k")   eigenvalues along a parameter
    ch.plot.tree(analysis)                 the manifolds on which the motions live

A scene for `ch.animate` is made of `ch.plot.Rod`, `Wheel`, `Ball`, `Trace` and other shapes:
`ch.plot.Scene([ch.plot.Rod("0, 0", "x, y")])`.

Figures belong to the caller and not to pyplot: `figure.savefig("motion.pdf")`, or the last line of a notebook's cell.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from chetaev.core.scene import (
        Arrow,
        Ball,
        Blade,
        Body,
        Circle,
        Dial,
        Disk,
        Ellipsoid,
        Frame,
        Ground,
        Label,
        Patch,
        Pivot,
        Point,
        Rod,
        Scene,
        Slider,
        Spring,
        Trace,
        Tyre,
        Wheel,
    )
    from chetaev.plot.accuracy import balance, drift
    from chetaev.plot.comparison import compare
    from chetaev.plot.manifolds import tree
    from chetaev.plot.over_time import series
    from chetaev.plot.plane import path, phase
    from chetaev.plot.spectrum import eigenvalues
    from chetaev.plot.style import Picture, label

_HOMES = {
    "chetaev.plot.accuracy": "balance drift",
    "chetaev.plot.comparison": "compare",
    "chetaev.plot.manifolds": "tree",
    "chetaev.plot.plane": "path phase",
    "chetaev.plot.over_time": "series",
    "chetaev.core.scene": "Arrow Ball Blade Body Circle Dial Disk Ellipsoid Frame Ground Label Patch Pivot Point Rod Scene Slider Spring "
    "Trace Tyre Wheel",
    "chetaev.plot.spectrum": "eigenvalues",
    "chetaev.plot.style": "Picture label",
}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    """Names are imported when they are first used: scenes are described without matplotlib."""
    if name not in _HOME:
        raise AttributeError(f"module 'chetaev.plot' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return list(__all__)
