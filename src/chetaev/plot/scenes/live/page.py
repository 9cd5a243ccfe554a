"""Pages with sliders: one file that computes the motion while a slider moves.

The page contains the module that `chetaev.code(model, "javascript")` writes, with the expressions of the scene as further formulas, the
recipes of the drawing (`recipes`), and scripts of `plot/web`. Its content security policy allows only these scripts and its style, by their
digests, and no network. Every text of the model is in the page as escaped text or as data.
"""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from chetaev.export.browser_problem import browser_problem
from chetaev.export.javascript_file import javascript_file
from chetaev.export.minified import renamed, squeezed
from chetaev.plot.scenes.live.recipes import live_data
from chetaev.plot.scenes.live.sliders import Slide
from chetaev.plot.scenes.pages import in_script, script
from chetaev.plot.scenes.text import number, pretty

if TYPE_CHECKING:
    from chetaev.plot.animation import Animation

_MOST_FRAMES = 301
"""Largest number of frames that a page computes for every motion and interpolates. More make dragging a slider slow."""
_POINTS_OF_PATH = 1200
"""Approximate number of points of a path: with fewer it looks angular, more cost time."""


def live_page(animation: Animation) -> str:
    """Return a page that computes the motion of an animation with sliders."""
    model, slides = animation.repeated, animation.slides
    begin, end = model.interval
    n = min(len(animation.times), _MOST_FRAMES)
    finer = int(np.clip(np.ceil(_POINTS_OF_PATH / (n - 1)), 1, 8))
    shown = np.linspace(animation.times[0], animation.times[-1], n)
    data, columns = live_data(animation.motion, animation.scene, shown, finer)
    module = browser_problem(model, outputs=columns.texts)
    whole = abs(end - begin) / abs(float(animation.times[-1] - animation.times[0]))
    data |= {
        "t": [begin, end],
        "finer": finer,
        "seconds": animation.seconds * whole,
        "clock": animation.clock,
        "columns": [entry if isinstance(entry, float) else None for entry in columns.entries],
        "sliders": [slide.data for slide in slides],
        "names": [pretty(z.name) for z in module.side.state],
    }
    parts = ["plane.js", *(["space.js"] if data["space"] else []), "recipes.js"]
    inside = "\n".join([*(squeezed(script(name)) for name in parts), f"const DATA = {in_script(data)};", squeezed(script("live.js"))])
    return _page(data, slides, renamed(f"{squeezed(javascript_file(module))}\n{{\n{inside}\n}}\n"))


def _page(data: dict[str, Any], slides: Sequence[Slide], program: str) -> str:
    style = squeezed(script("live.css"))
    three = f"{script('three.min.js')}\ndelete window.__THREE__;\n" if data["space"] else ""
    scripts = [text for text in (three, program) if text]
    policy = (
        f"default-src 'none'; script-src {' '.join(map(_digest, scripts))}; style-src {_digest(style)}; base-uri 'none'; form-action 'none'"
    )
    title = html.escape(data["title"])
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n{_body(data, slides, title)}"
        + (f"<script>{three}</script>\n" if three else "")
        + f'<script type="module">{program}</script>\n</body>\n</html>\n'
    )


def _body(data: dict[str, Any], slides: Sequence[Slide], title: str) -> str:
    caption = f'<p class="caption">{html.escape(data["caption"])}</p>\n' if data["caption"] else ""
    rows = "".join(map(_row, slides))
    return f"""<main>
<header><h1>{title}</h1><span class="clock" data-chetaev="clock"></span></header>
<noscript><p>This page computes the motion with JavaScript.</p></noscript>
<div class="frame">
<div class="stage{" space" if data["space"] else ""}" data-chetaev="stage">
<canvas data-chetaev="canvas" role="img" aria-label="animation: {title}"></canvas></div>
{caption}<div class="bar"><button type="button" class="play" data-chetaev="play" aria-label="play"></button>
<input type="range" data-chetaev="time" min="0" max="1" step="any" value="0" aria-label="time">
<button type="button" class="pace" data-chetaev="pace" aria-label="speed">1×</button></div>
</div>
<div class="sliders">
{rows}</div>
<p class="said" data-chetaev="said" role="status"></p>
<div class="row"><span>energy <output data-chetaev="energy"></output></span> <span>drift <output data-chetaev="drift"></output></span>
<button type="button" data-chetaev="reset">reset</button> <a data-chetaev="link" href="#">link to these values</a>
<button type="button" data-chetaev="copy">copy link</button> <span class="soft" data-chetaev="copied" role="status"></span></div>
<div class="curves">
<figure><figcaption><label>curve of <select data-chetaev="choose" aria-label="quantity of the curve"></select></label></figcaption>
<canvas data-chetaev="curve" role="img" aria-label="the quantity over time"></canvas></figure>
<figure><figcaption>energy</figcaption><canvas data-chetaev="curve-energy" role="img" aria-label="the energy over time"></canvas></figure>
</div>
<p class="soft">Space plays and pauses; the arrow keys step, or move a slider that has the focus.</p>
</main>
"""


def _row(slide: Slide) -> str:
    name, words = html.escape(slide.name), html.escape(slide.words)
    title = f' title="{words}"' if words != name else ""
    return (
        f'<span class="name"{title} aria-hidden="true">{html.escape(pretty(slide.name))}</span>'
        f'<input type="range" data-chetaev-slider="{name}" aria-label="{words}" min="{slide.low!r}" max="{slide.high!r}" step="any" '
        f'value="{slide.value!r}"><output class="value" data-chetaev-value="{name}">{html.escape(number(slide.value, 4))}</output>\n'
    )


def _digest(text: str) -> str:
    """The source expression of a content security policy that allows a script or style with exactly this text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
