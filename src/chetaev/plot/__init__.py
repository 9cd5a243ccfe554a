"""Pictures of motions and analyses: functions that return a matplotlib figure.

    ch.plot.series(motion)                 quantities over time
    ch.plot.phase(motion, "theta", "theta'")  one quantity over another
    ch.plot.path(motion, "x", "y")         a curve in the plane, with equal scales
    ch.plot.balance(motion)                energy, work, and the error of their balance
    ch.plot.drift(motion)                  the largest residual of every constraint
    ch.plot.compare(comparison)            motions side by side, and their distance
    ch.plot.residuals(fit)                 data, the fitted motion, and the residuals
    ch.plot.eigenvalues(sweep, values, "k")   eigenvalues along a parameter
    ch.plot.basin(basin)                   states that an equilibrium attracts, and the border
    ch.plot.family(families, "theta")      equilibria, steady motions, orbits along a parameter
    ch.plot.tree(analysis)                 the manifolds that contain the motions
    ch.plot.fan(ensemble, "x")             quantiles of many motions over time
    ch.plot.chart(sweep, "top")            a measure of a sweep over one or two parameters

A scene for `ch.animate` is made of `ch.plot.Rod`, `Wheel`, `Ball`, `Trace` and other shapes:
`ch.plot.Scene([ch.plot.Rod("0, 0", "x, y")])`.

Each function is in the module of its subject: `over_time`, `plane`, `accuracy`, `attraction`, `comparison`, `fitted`, `spectrum`,
`families`, `manifolds`, `ensembles`, `charts`;
`curves` makes smooth curves of motions, `style` has the style of all pictures, `saving` writes them. `animation` has `animate`, which draws
with `scenes`.

Figures are not registered with pyplot: call `figure.savefig("motion.pdf")`, or make a figure the last line of a notebook cell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chetaev.core.scene.shapes import SHAPES
from chetaev.core.support.lazy import lazily

if TYPE_CHECKING:
    from chetaev.core.scene.scene import Scene
    from chetaev.core.scene.shapes import *  # noqa: F403
    from chetaev.plot.accuracy import balance, drift
    from chetaev.plot.attraction import basin
    from chetaev.plot.charts import chart
    from chetaev.plot.comparison import compare
    from chetaev.plot.ensembles import fan
    from chetaev.plot.families import family
    from chetaev.plot.fitted import residuals
    from chetaev.plot.manifolds import tree
    from chetaev.plot.over_time import series
    from chetaev.plot.plane import path, phase
    from chetaev.plot.spectrum import eigenvalues
    from chetaev.plot.style import Picture, label

__getattr__, __dir__, __all__ = lazily(
    __name__,
    {
        "chetaev.plot.accuracy": "balance drift",
        "chetaev.plot.attraction": "basin",
        "chetaev.plot.charts": "chart",
        "chetaev.plot.comparison": "compare",
        "chetaev.plot.ensembles": "fan",
        "chetaev.plot.manifolds": "tree",
        "chetaev.plot.plane": "path phase",
        "chetaev.plot.families": "family",
        "chetaev.plot.fitted": "residuals",
        "chetaev.plot.over_time": "series",
        "chetaev.core.scene.scene": "Scene",
        "chetaev.core.scene.shapes": " ".join(kind.__name__ for kind in SHAPES.values()),
        "chetaev.plot.spectrum": "eigenvalues",
        "chetaev.plot.style": "Picture label",
    },
)
