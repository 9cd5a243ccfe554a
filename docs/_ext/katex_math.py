"""Mathematics by KaTeX, from the copy in `_static/katex`: pages need no network, and equations scroll inside their own box."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.nodes import SkipNode
from sphinx.application import Sphinx

FILES = ("katex/katex.min.js", "render_math.js")


def inline(writer: Any, node: nodes.math) -> None:
    """A formula in a line of text: the LaTeX is kept as the element's text and typeset when the page opens."""
    writer.body.append(f'<span class="math-inline">{writer.encode(node.astext())}</span>')
    raise SkipNode


def display(writer: Any, node: nodes.math_block) -> None:
    """A formula on lines of its own."""
    writer.body.append(f'<div class="math-display">{writer.encode(node.astext())}</div>\n')
    raise SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer `katex` and the files it needs."""
    app.add_html_math_renderer("katex", (inline, None), (display, None))
    app.add_css_file("katex/katex.min.css")
    for name in FILES:
        app.add_js_file(name, loading_method="defer")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
