"""The style of all pictures: sizes, colours, labels, axes for angles, and logarithmic axes for sizes that may be zero.

This module does not use pyplot: the caller owns a figure, and a notebook displays it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from chetaev.core.errors import ChetaevError, UsageError
from chetaev.core.fixes import Code, InPython, SetArgument
from chetaev.core.notation.formula import estimated_width
from chetaev.core.notation.show import latex
from chetaev.core.support.public import public
from chetaev.core.support.text import in_mathtext
from chetaev.core.system import System
from chetaev.core.units.unit import typeset
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.quantities import unit_of
from chetaev.plot.saving import Saved

try:
    import matplotlib
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.font_manager import FontProperties
    from matplotlib.layout_engine import ConstrainedLayoutEngine
    from matplotlib.textpath import text_to_path
    from matplotlib.ticker import FuncFormatter, MultipleLocator
except ModuleNotFoundError:
    raise UsageError("pictures need matplotlib.", where="plot", hint="pip install matplotlib") from None

Array = NDArray[np.float64]

COLOURS = ("#0b6bb8", "#d1501c", "#00876c", "#a8478f", "#c98a00", "#4a8fd0", "#7a6a53", "#5b5fc7")
"""Colours of successive curves; most colour-blind readers can distinguish them, on screen and on paper."""
DASHES = ("-", "--", "-.", ":")
INK = "#1f2328"
SOFT = "#6a737d"
LINES = "#d7dce1"
ALERT = "#c0262d"
"""The colour of failures and limits."""
PAPER = "#ffffff"

_STYLE: dict[str, Any] = {
    "font.size": 9.5,
    "mathtext.fontset": "cm",  # the dots of derivatives do not touch tall letters in this font
    "axes.labelsize": 13,
    "axes.titlesize": 10.5,
    "axes.edgecolor": SOFT,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": f"cycler('color', {list(COLOURS)})",
    "axes.formatter.limits": (-3, 4),
    "axes.unicode_minus": True,
    "grid.color": LINES,
    "grid.linewidth": 0.6,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "text.color": INK,
    "lines.linewidth": 1.5,
    "legend.frameon": False,
    "legend.fontsize": 10.5,
    "svg.fonttype": "path",
    "savefig.dpi": 150,
    "path.simplify_threshold": 0.2,
}
_WIDEST_LABEL = 34
"""Largest number of characters of a label; a longer formula is shown as text, shortened in the middle."""
_UNIT_SIZE = 10.5
"""Font size of axis labels with units, in points; formulas alone are larger."""
_FLOOR = 1e-20
"""Size below which a value counts as zero on a logarithmic axis: values near underflow would stretch the axis over 300 decades."""
_NO_SIZES = 1e-17
"""Lower limit of a logarithmic axis if no size is above `_FLOOR`: below the round-off of numbers of order one."""
_POWER_OF_TEN = 1e-9
"""Relative difference of a number from a power of ten that prints as this power."""


@public
class Picture(Saved, Figure):
    """A matplotlib figure that is always drawn and saved in the library's style, at a resolution for screens."""

    usual: ClassVar[dict[str, Any]] = {"dpi": _STYLE["savefig.dpi"]}

    def draw(self, renderer: Any) -> None:
        """Draw in the library's style; matplotlib creates ticks here, not when the figure is made.

        Before matplotlib saves a figure with a layout engine, it draws it once without output and keeps only the layout. Here that first
        draw computes the layout only.

        Args:
            renderer: A renderer of matplotlib.
        """
        _share_formulas(renderer)
        engine = self.get_layout_engine()
        with matplotlib.rc_context(_STYLE):
            if isinstance(engine, ConstrainedLayoutEngine) and self.axes and self.canvas.is_saving():
                engine.execute(self)
            else:
                super().draw(renderer)

    def _get_renderer(self) -> Any:
        """Return the renderer with which matplotlib lays out the figure."""
        return _share_formulas(super()._get_renderer())  # type: ignore[misc]  # matplotlib has no types


def _share_formulas(renderer: Any) -> Any:
    """Give a renderer the formula cache of all others. Matplotlib caches formulas for each renderer, and makes two renderers for every
    figure: parsing the same names and powers of ten again would take almost half of the time of a figure.
    """
    own = getattr(renderer, "_text2path", None)
    if own is not None:
        own.mathtext_parser = text_to_path.mathtext_parser
    return renderer


def styled() -> Any:
    """Return a context with the library's style, in which axes and labels are made."""
    return matplotlib.rc_context(_STYLE)


def figure(width: float = 6.4, height: float = 4.0, title: str = "") -> Picture:
    """Return an empty figure, sizes in inches, with a layout that clips no label."""
    with styled():
        made = Picture(figsize=(width, height), layout=ConstrainedLayoutEngine(w_pad=0.07, h_pad=0.06), facecolor=PAPER)
        if title:
            made.suptitle(title, fontsize=11, color=INK)
    return made


def grid(panels: int, columns: int, title: str = "", wide: float = 6.8, tall: float = 1.9) -> tuple[Picture, list[Any]]:
    """Return a figure of small panels, filled row by row; a single panel in the last row is as wide as the row."""
    rows = math.ceil(panels / columns)
    with styled():
        made = figure(wide, tall * rows + (1.1 if rows == 1 else 0.8), title)
        places = made.add_gridspec(rows, columns)
        spots = [places[k // columns, k % columns] for k in range(panels)]
        if panels % columns:
            spots[-1] = places[-1, (panels - 1) % columns :]
        axes = [made.add_subplot(spot) for spot in spots]
    return made, axes


def panels(ax: Any, count: int, columns: int, title: str, where: str) -> tuple[Any, list[Any]]:
    """Return a figure and axes for `count` panels: those given as `ax`, or a grid in a new figure with a title."""
    if ax is None:
        return grid(count, columns, title)
    found = given_axes(ax, count, where)
    return found[0].figure, found


def panel(ax: Any, size: tuple[float, float], title: str, where: str) -> tuple[Any, Any]:
    """Return a figure and its axes: those given as `ax`, or those of a new figure of a size in inches with a title."""
    if ax is not None:
        found = given_axes(ax, 1, where)[0]
        return found.figure, found
    made = figure(*size, title)
    with styled():
        return made, made.add_subplot()


def given_axes(ax: Any, count: int, where: str) -> list[Any]:
    """Return matplotlib axes, one or an array of them, as a list of `count`; raise a UsageError for anything else."""
    found = [ax] if isinstance(ax, Axes) else list(np.asarray(ax, dtype=object).ravel())
    if len(found) != count or not all(isinstance(one, Axes) for one in found):
        kind = f"{len(found)} axes" if all(isinstance(one, Axes) for one in found) else type(ax).__name__
        raise UsageError(
            f"ax is {kind}, but {count} {'panel is' if count == 1 else 'panels are'} drawn.",
            where=where,
            hint=(InPython(f"figure, axes = plt.subplots({count})"), "; ", SetArgument("ax", Code("axes"))),
        )
    return found


def time_axis(axes: list[Any], columns: int, about: System | Equations | None = None) -> None:
    """Name the time axis below the lowest panel of every column; all panels keep their ticks."""
    for k, ax in enumerate(axes):
        if k + columns >= len(axes):
            ax.set_xlabel(in_unit(about, "t", "$t$"), **unit_font(about))
        ax.margins(x=0.01)


def title_of(motion_or_analysis: Any) -> str:
    """Return the system and the principle, as in every printed heading."""
    equations = motion_or_analysis.equations
    return in_mathtext(f"{equations.system.name or 'system'} · {equations.principle}")


@public
def label(system: Any, name: str, widest: int = _WIDEST_LABEL) -> str:
    r"""Return a name or an expression as a label for matplotlib: `x1'` becomes $\dot{x}_1$.

    Args:
        system: A System, Equations or None.
        name: The name or the expression.
        widest: The width of a formula, in characters, above which it stays text.

    Returns:
        The label, in the syntax of matplotlib.

    >>> label(None, "x1'")
    '$\\dot{x}_{1}$'
    """
    try:
        formula = latex(name, tables=False)
    except ChetaevError:
        return in_mathtext(name)
    return f"${formula}$" if estimated_width(formula) <= widest and _can_be_set(formula) else shortened(name, widest + 14)


def in_unit(about: System | Equations | None, name: Any, text: str, between: str = " ") -> str:
    """Return the label `text` of a quantity with its unit in brackets, if the system has one."""
    unit = "" if about is None else unit_of(about, name)
    return f"{text}{between}[{in_mathtext(typeset(unit))}]" if unit else text


def unit_font(about: System | Equations | None) -> dict[str, float]:
    """Return the font size of axis labels with units, in which words are about as large as those of ticks."""
    system = about.system if isinstance(about, Equations) else about
    return {"fontsize": _UNIT_SIZE} if system is not None and system.units else {}


def shortened(text: str, width: int = 48) -> str:
    """Return a text of at most `width` characters; the middle of a longer one is omitted."""
    plain = text if len(text) <= width else f"{text[: width // 2]} … {text[-width // 3 :]}"
    return plain.replace("$", r"\$")


@lru_cache(maxsize=1000)
def _can_be_set(formula: str) -> bool:
    """Tell whether matplotlib can typeset a formula."""
    try:
        text_to_path.get_text_width_height_descent(f"${formula}$", FontProperties(math_fontfamily=_STYLE["mathtext.fontset"]), ismath=True)
    except ValueError:
        return False
    return True


def is_angle(system: Any, name: str) -> bool:
    """Tell whether `name` is a coordinate declared as an angle."""
    kinds: Mapping[str, str] = system.kinds
    return kinds.get(name) == "angle"


def wrapped(values: Array) -> Array:
    """Return angles wrapped into (-pi, pi]."""
    found: Array = np.pi - np.mod(np.pi - values, 2 * np.pi)
    return found


def turn_ticks(axis: Any, low: float, high: float) -> None:
    r"""Set ticks at multiples of $\pi$ if an angle ranges over at least half a turn; a smaller range keeps decimals."""
    span = high - low
    if not np.isfinite(span) or span < np.pi:
        return
    steps = [np.pi / 4, np.pi / 2, np.pi, *(np.pi * 2 * k * 10.0**e for e in range(6) for k in (1, 2, 5))]
    step = next((s for s in steps if span / s <= 5.5), steps[-1])
    axis.set_major_locator(MultipleLocator(step))
    axis.set_major_formatter(FuncFormatter(lambda v, _: _turns(v)))


def _turns(value: float) -> str:
    """Write a multiple of pi/4 as a fraction of pi."""
    quarters = round(4 * value / np.pi)
    if quarters == 0:
        return "0"
    divisor = math.gcd(quarters, 4)
    above, below = quarters // divisor, 4 // divisor
    sign, size = ("-" if above < 0 else ""), abs(above)
    number = "" if size == 1 else str(size)
    return rf"${sign}{number}\pi$" if below == 1 else rf"${sign}{number}\pi/{below}$"


def log_floor(sizes: Iterable[float]) -> float:
    """Return the lower limit of a logarithmic axis: below the smallest size above `_FLOOR`."""
    positive = [s for s in sizes if np.isfinite(s) and s > _FLOOR]
    return 10.0 ** math.floor(math.log10(min(positive)) - 0.5) if positive else _NO_SIZES


def logarithmic_limits(axis: Any, sizes: Iterable[float]) -> None:
    """Set the limits of a logarithmic axis to contain all nonzero sizes and at least two decades, with tick labels in plain text."""
    finite = [s for s in sizes if np.isfinite(s)]
    floor = log_floor(finite)
    top = max([*finite, 30 * floor])
    axis.set_view_interval(floor / 1.5, 4 * top, ignore=True)
    axis.set_major_formatter(FuncFormatter(lambda v, _: power_of_ten(v)))


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def power_of_ten(value: float) -> str:
    """Return a power of ten as text, because a formula would take matplotlib some milliseconds. Other numbers, which occur on axes of less
    than a decade, have three digits.

    >>> power_of_ten(1e-12), power_of_ten(2.5e-12)
    ('10⁻¹²', '2.5e-12')
    """
    if not value > 0:
        return ""
    exponent = round(math.log10(value))
    exact = math.isclose(value, 10.0**exponent, rel_tol=_POWER_OF_TEN)
    return f"10{str(exponent).translate(_RAISED)}" if exact else f"{value:.3g}"


FRAMED: dict[str, Any] = {"frameon": True, "framealpha": 0.85, "edgecolor": "none", "fontsize": 8.5}
"""Options of a legend inside given axes, where it may stand on colours or marks."""


def legend(axes: Any, always: bool = False, **options: Any) -> None:
    """Add a legend if there is more than one labelled curve, or with `always` if there is one."""
    handles, names = axes.get_legend_handles_labels()
    if len(names) > 1 or (always and names):
        axes.legend(handles, names, **options)
