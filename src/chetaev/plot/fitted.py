"""The residuals of a fit: data with the fitted motion, and their differences, for one fit or several principles."""

from __future__ import annotations

from typing import Any

import numpy as np

from chetaev.core.errors import UsageError, with_article
from chetaev.core.fixes import Ask
from chetaev.core.support.public import public
from chetaev.core.support.text import in_mathtext
from chetaev.numerics.identification import Answer, Fit
from chetaev.plot.style import COLOURS, SOFT, Picture, figure, given_axes, in_unit, label, legend, styled, unit_font

_HEIGHT = 1.9
"""Height of the axes of a column, in inches."""
_WORD_SIZE = 10
"""Font size of words on axes, in points."""


@public
def residuals(found: Fit | Answer, *, ax: Any = None) -> Picture:
    """Draw the data with the fitted motion on the left, and the residuals on the right, a row for each column of the data.

    Args:
        found: A result of `fit`, or of `which`, whose candidates are all drawn.
        ax: Axes to draw into, two for each column of the data; by default those of a new figure.

    Returns:
        The figure.

    Raises:
        UsageError: If `found` is of another type.
    """
    if not isinstance(found, Fit | Answer):
        what = f"{with_article(type(found).__name__)} has no residuals."
        raise UsageError(what, where="residuals", hint=(Ask("ch.plot.residuals", "ch.fit(...)"), ", or ", Ask("which")))
    fits = [("", found)] if isinstance(found, Fit) else [(str(row.candidate), row.fit) for row in found.table]
    names = list(fits[0][1].residuals)
    if ax is None:
        picture: Any = figure(7.2, 0.6 + _HEIGHT * len(names), in_mathtext(fits[0][1].model.system.name or "system"))
        with styled():
            axes = picture.subplots(len(names), 2, sharex=True, squeeze=False)
    else:
        axes = np.reshape(np.array(given_axes(ax, 2 * len(names), "residuals"), dtype=object), (len(names), 2))
        picture = axes[0][0].figure
    with styled():
        for line, name in zip(axes, names, strict=True):
            _column(line, name, fits)
        for lowest in axes[-1]:
            lowest.set_xlabel("$t$")
        legend(axes[0][0], loc="best")
    return picture


def _column(line: Any, name: str, fits: list[tuple[str, Fit]]) -> None:
    left, right = line
    for k, (text, one) in enumerate(fits):
        t, data, _ = one.column(name)
        if k == 0:
            left.plot(t, data, ".", color=SOFT, markersize=4, label="data")
        fine = np.linspace(float(t[0]), float(t[-1]), 300)
        left.plot(fine, one.curve(name, fine), color=COLOURS[k % len(COLOURS)], label=text or "motion")
        right.plot(t, one.residuals[name], ".", color=COLOURS[k % len(COLOURS)], markersize=4)
    right.axhline(0.0, color=SOFT, linewidth=0.9)
    about = fits[0][1].model.system
    left.set_ylabel(in_unit(about, name, label(about, name)), **unit_font(about))
    right.set_ylabel("residual", fontsize=_WORD_SIZE)
