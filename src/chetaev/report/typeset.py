"""Formulas as SVG pictures that need no font: LaTeX typeset by ziamath, every glyph drawn once for the whole page.

A formula is a row of small pictures that flow like words, so that lines break at the window's edge and nothing is clipped. They have the
colour and the size of the text around them; their LaTeX is their label for screen readers and search.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from html import escape
from typing import Any
from xml.etree import ElementTree

from sympy import Expr

from chetaev.core.errors import UsageError
from chetaev.core.notation.show import latex, pieces

_SIZE = 20.0
"""Pixels: the font size given to ziamath. Pictures are scaled to the text, so only the rounding of coordinates depends on it."""
_WIDTH = 30
"""Characters: about the widest unbreakable piece of a formula. It has to fit the screen of a telephone."""
_UPRIGHT = {r"\phi": "\N{MATHEMATICAL ITALIC PHI SYMBOL}", r"\epsilon": "\N{MATHEMATICAL ITALIC EPSILON SYMBOL}"} | {
    r"\vartheta": "\N{MATHEMATICAL ITALIC THETA SYMBOL}"
}
"""Letters that ziamath would set upright, with their italic characters."""
_NAMES = re.compile("|".join(rf"{re.escape(name)}(?![A-Za-z])" for name in _UPRIGHT))
_SIGN = re.compile(r"-(?=\S)")
"""A minus that is a sign; ziamath would put spaces around it as for a subtraction."""
_GLYPHS: dict[str, str] = {}
"""Outlines of glyphs by name; there is one font and one size, so a name has one outline."""
_NUMBER = re.compile(r"-?\d+\.\d+")


@dataclass
class Typesetter:
    """Typesets formulas and collects their glyphs, which the page defines once."""

    glyphs: dict[str, str] = field(default_factory=dict)
    _set: dict[str, str] = field(default_factory=dict)

    def formula(self, *sides: str | Expr) -> str:
        """Typeset a row, by its sides or as one text, or an expression, in pieces between which a line may break."""
        first, *rest = pieces(*sides, width=_WIDTH)
        return self.latex(first) + "".join(f"{'<wbr>' if piece.startswith('=') else ' '}{self.latex(piece)}" for piece in rest)

    def symbol(self, text: str) -> str:
        """Typeset a short expression in one piece."""
        return self.latex(latex(text.replace(".", "_") if text[:1].isalpha() else text))  # A.w is a component of the rotation A

    def latex(self, formula: str) -> str:
        """Return a LaTeX formula as one picture."""
        if formula not in self._set:
            made = _drawn(formula)
            self.glyphs.update(made.glyphs)
            style = f"width:{made.width:.3f}em;height:{made.height:.3f}em;vertical-align:{-made.depth:.3f}em"
            name = f'role="img" aria-label="{escape(formula)}"'
            self._set[formula] = f'<svg class="m" {name} viewBox="{made.box}" style="{style}">{made.body}</svg>'
        return self._set[formula]

    def definitions(self) -> str:
        """Return the definitions of all glyphs used, to which the formulas refer."""
        drawn = "".join(f'<symbol id="{name}" {inner}</symbol>' for name, inner in sorted(self.glyphs.items()))
        return f'<svg class="glyphs" aria-hidden="true" width="0" height="0"><defs>{drawn}</defs></svg>'


@dataclass(frozen=True)
class Drawn:
    """A drawn formula: sizes in em, `depth` below the baseline."""

    box: str
    width: float
    height: float
    depth: float
    body: str
    glyphs: Mapping[str, str]


@lru_cache(maxsize=4000)
def _drawn(formula: str) -> Drawn:
    made = _library().Latex(_SIGN.sub("{-}", _NAMES.sub(lambda found: _UPRIGHT[found.group()], formula)), size=_SIZE)
    root = made.svgxml()
    _, top, width, height = (float(v) for v in root.attrib["viewBox"].split())
    glyphs: dict[str, str] = {}
    parts: list[str] = []
    for element in root:
        if element.tag == "symbol":
            name = element.attrib["id"]
            if name not in _GLYPHS:
                path = "".join(_short(ElementTree.tostring(child, encoding="unicode")) for child in element)
                _GLYPHS[name] = f'viewBox="{element.attrib["viewBox"]}">{path}'
            glyphs[name] = _GLYPHS[name]
        else:
            attributes = "".join(f' {name}="{escape(value)}"' for name, value in element.attrib.items() if name != "fill")
            parts.append(f"<{element.tag}{attributes}/>")
    depth = top + height
    return Drawn(root.attrib["viewBox"], width / _SIZE, height / _SIZE, depth / _SIZE, "".join(parts), glyphs)


def _short(text: str) -> str:
    """Round coordinates to two decimals, a hundredth of a pixel."""
    return _NUMBER.sub(lambda found: f"{float(found.group()):.2f}".rstrip("0").rstrip("."), text)


@lru_cache(maxsize=1)
def _library() -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # its font lookup is deprecated since Python 3.11
            import ziamath
    except ModuleNotFoundError:
        raise UsageError("a report needs ziamath, which sets its formulas.", where="report", hint='pip install "chetaev[report]"') from None
    return ziamath
