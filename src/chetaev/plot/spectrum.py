"""Eigenvalues of the linearised motion: along a parameter, or in the complex plane."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from chetaev.core.errors import UsageError
from chetaev.core.fixes import Ask
from chetaev.core.support.public import public
from chetaev.plot.style import COLOURS, INK, SOFT, Array, Picture, figure, given_axes, label, legend, styled

_ZERO_REAL_PART = 1e-9
"""Real part, relative to the largest eigenvalue, below which it counts as zero; with 0 here, round-off would count as growth."""


@public
def eigenvalues(sweep: Any, values: Any = None, parameter: str = "", *, title: str = "", ax: Any = None) -> Picture:
    """Draw real and imaginary parts of eigenvalues over a parameter; without `values`, eigenvalues in the complex plane.

    The background is shaded where no real part is positive.

    Args:
        sweep: A result of `eigenvalue_sweep` (a row for each value, a column for each eigenvalue), a linearisation, or a family of
            `orbits.continuation`, which has its values and the name of its parameter.
        values: The values of the parameter for which the sweep was made.
        parameter: The name of the parameter.
        title: A title.
        ax: Axes to draw into, two for real and imaginary parts over `values`; by default those of a new figure.

    Returns:
        The figure.

    Raises:
        UsageError: If there are no eigenvalues, or the numbers of values and rows differ.

    >>> from chetaev import System, derive, eigenvalue_sweep
    >>> well = derive(System("x", "k", lagrangian="x'^2/2 - k*x^2/2"))
    >>> picture = eigenvalues(eigenvalue_sweep(well, {"x": 0, "x'": 0}, "k", [-1, 1, 2]), [-1, 1, 2], "k")
    >>> picture.axes[-1].get_xlabel()
    '$k$'
    """
    found = np.atleast_2d(np.asarray(getattr(sweep, "eigenvalues", sweep), dtype=complex))
    if found.ndim != 2 or not found.size:
        raise UsageError("no eigenvalues to draw.", where="eigenvalues", hint=Ask("eigenvalues", "eigenvalue_sweep(...), values"))
    if values is None and hasattr(sweep, "along"):
        values, parameter = sweep.values, parameter or sweep.along
    if values is None:
        return _in_the_plane(found, title, ax)
    points = np.asarray(values, dtype=float)
    if points.shape != (len(found),):
        what = f"{points.size} values of the parameter for {len(found)} rows of eigenvalues."
        raise UsageError(what, where="eigenvalues", hint="the values of the sweep")
    return _along(found, points, parameter, title, ax)


def _along(found: NDArray[np.complex128], points: Array, parameter: str, title: str, given: Any) -> Picture:
    picture = figure(6.4, 4.8, title) if given is None else given_axes(given, 2, "eigenvalues")[0].figure
    size = float(np.abs(found).max())
    growth = found.real.max(axis=1)
    stable = growth <= _ZERO_REAL_PART * size
    with styled():
        upper, lower = picture.subplots(2, 1, sharex=True) if given is None else given_axes(given, 2, "eigenvalues")
        for k in range(found.shape[1]):
            colour = COLOURS[k % len(COLOURS)]
            upper.plot(points, found[:, k].real, color=colour, label=f"_{k}", marker="." if len(points) < 25 else "")
            lower.plot(points, found[:, k].imag, color=colour, label=f"_{k}", marker="." if len(points) < 25 else "")
        upper.axhline(0, color=SOFT, linewidth=0.9)
        upper.set_ylabel(r"$\mathrm{Re}\ \mu$")
        lower.set_ylabel(r"$\mathrm{Im}\ \mu$")
        lower.set_xlabel(label(None, parameter) if parameter else "parameter")
        if stable.any():
            for ax in (upper, lower):
                ax.fill_between(
                    points, 0, 1, where=stable, transform=ax.get_xaxis_transform(), color=COLOURS[2], alpha=0.12, linewidth=0,
                    label="no real part is positive", zorder=0,
                )  # fmt: skip
            legend(upper, always=True, loc="best")
        for ax in (upper, lower):
            ax.margins(x=0.01)
    return picture


def _in_the_plane(found: NDArray[np.complex128], title: str, given: Any) -> Picture:
    picture = figure(5.0, 4.4, title) if given is None else given_axes(given, 1, "eigenvalues")[0].figure
    with styled():
        ax = picture.add_subplot() if given is None else given_axes(given, 1, "eigenvalues")[0]
        for k in range(found.shape[1]):
            colour = COLOURS[k % len(COLOURS)]
            if len(found) > 1:
                ax.plot(found[:, k].real, found[:, k].imag, color=colour, label=f"_{k}")
            ax.plot(found[:1, k].real, found[:1, k].imag, "o", color=colour, markersize=5, label="_first")
        if len(found) > 1:
            ax.plot([], [], "o", color=INK, markersize=5, label="first value of the parameter")
            legend(ax, always=True, loc="best")
        ax.axvline(0, color=SOFT, linewidth=0.9)
        ax.axhline(0, color=SOFT, linewidth=0.9)
        ax.set_xlabel(r"$\mathrm{Re}\ \mu$")
        ax.set_ylabel(r"$\mathrm{Im}\ \mu$")
        ax.margins(0.12)
    return picture
