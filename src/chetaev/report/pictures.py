"""Figures as parts of a page: matplotlib's SVG in the colours of the page, light or dark.

The colours of `chetaev.plot.style` become variables of the style sheet; ids inside a drawing are made unique in the page.
"""

from __future__ import annotations

import io
import re
from html import escape
from typing import Any

import matplotlib

from chetaev.plot.style import ALERT, COLOURS, INK, LINES, PAPER, SOFT

VARIABLES = {INK: "ink", SOFT: "soft", LINES: "lines", ALERT: "alert", PAPER: "card"} | {c: f"curve{k}" for k, c in enumerate(COLOURS)}
"""The style sheet's names of the colours of figures."""

_LEAST = 0.62
"""Smallest width of a figure, relative to its full width. In a narrower window it scrolls; shrinking it further would make its labels
unreadable."""
_HEAD = re.compile(r"^.*?(?=<svg)", re.DOTALL)
_UNNEEDED = re.compile(r'\s*<metadata>.*?</metadata>|<!--.*?-->|<defs>\s*<style.*?</style>\s*</defs>| xmlns(:xlink)?="[^"]*"', re.DOTALL)
"""Parts of an SVG file that a page does not need."""
_BLANK = re.compile(r"\s+")
_SIZE = re.compile(r'(<svg[^>]*?) width="([\d.]+)pt" height="[\d.]+pt"')
_ID = re.compile(r'(\bid="|\bxlink:href="#|\burl\(#)([^")]+)')
_PATH = re.compile(r' d="[^"]*"')
_DECIMALS = re.compile(r"(\d+\.\d{2})\d+")
_STYLED = re.compile(r'style="([^"]*)"')
_HEX = re.compile(r"#[0-9a-f]{6}")


def drawn(figure: Any, name: str, caption: str) -> str:
    """Return a figure as HTML with a caption; `name` must be unique in the page."""
    figure.suptitle("\n".join(figure.get_suptitle().splitlines()[1:]), fontsize=9.5)  # the title is that of the page
    held = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": name, "svg.fonttype": "path"}):
        figure.savefig(held, format="svg", metadata={"Date": None, "Creator": None})
    text = _BLANK.sub(" ", _UNNEEDED.sub("", _HEAD.sub("", held.getvalue())))
    text = _ID.sub(rf"\g<1>{name}-\g<2>", _PATH.sub(lambda path: _DECIMALS.sub(r"\1", path[0]), text))
    text = _STYLED.sub(lambda style: f'style="{_HEX.sub(_variable, style[1])}"', text).replace("xlink:href", "href")
    found = _SIZE.search(text)
    width = float(found[2]) * 4 / 3 if found else 600.0
    text = _SIZE.sub(
        rf'\1 role="img" aria-label="{escape(caption)}" style="max-width:{width:.0f}px;min-width:{_LEAST * width:.0f}px"', text, count=1
    )
    return f'<figure class="plot"><div>{text.strip()}</div><figcaption>{escape(caption)}</figcaption></figure>'


def _variable(found: re.Match[str]) -> str:
    colour = found.group()
    return f"var(--{VARIABLES[colour]})" if colour in VARIABLES else colour
