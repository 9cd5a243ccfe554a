"""The residuals of a fit: data with the fitted motion, and their differences, for one fit or several principles."""

from __future__ import annotations

from typing import Any

import numpy as np

from chetaev.core.support.public import public
from chetaev.numerics.identification import Answer, Fit
from chetaev.plot.style import COLOURS, SOFT, Picture, figure, legend, styled

_HEIGHT = 1.9
"""Height of the axes of a column, in inches."""
_WORD_SIZE = 10
"""Font size of words on axes, in points."""


@public
def residuals(found: Fit | Answer) -> Picture:
    """Draw the data with the fitted motion on the left, and the residuals on the right, a row for each column of the data.

    Args:
        found: A result of `fit`, or of `which`, whose candidates are all drawn.

    Returns:
        The figure.
    """
    fits = [("", found)] if isinstance(found, Fit) else [(str(row.candidate), row.fit) for row in found.table]
    names = list(fits[0][1].residuals)
    picture = figure(7.2, 0.6 + _HEIGHT * len(names), str(fits[0][1].model.system.name))
    with styled():
        axes = picture.subplots(len(names), 2, sharex=True, squeeze=False)
        for line, name in zip(axes, names, strict=True):
            _column(line, name, fits)
        for ax in axes[-1]:
            ax.set_xlabel("$t$")
        if len(fits) > 1:
            legend(axes[0][0], loc="best")
    return picture


def _column(line: Any, name: str, fits: list[tuple[str, Fit]]) -> None:
    left, right = line
    for k, (label, one) in enumerate(fits):
        t, data, _ = one.column(name)
        if k == 0:
            left.plot(t, data, ".", color=SOFT, markersize=4, label="data")
        fine = np.linspace(float(t[0]), float(t[-1]), 300)
        left.plot(fine, one.curve(name, fine), color=COLOURS[k % len(COLOURS)], label=label or "motion")
        right.plot(t, one.residuals[name], ".", color=COLOURS[k % len(COLOURS)], markersize=4)
    right.axhline(0.0, color=SOFT, linewidth=0.9)
    left.set_ylabel(name, fontsize=_WORD_SIZE)
    right.set_ylabel("residual", fontsize=_WORD_SIZE)
