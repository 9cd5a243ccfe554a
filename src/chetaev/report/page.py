"""The page: one file that needs no network, in light or dark colours and for print.

Figures are SVG by matplotlib; the colours of `chetaev.plot.style` become variables of the style sheet, and ids inside a drawing are made
unique in the page.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from html import escape
from typing import Any

import matplotlib

from chetaev.plot.style import ALERT, COLOURS, INK, LINES, PAPER, SOFT

VARIABLES = {INK: "ink", SOFT: "soft", LINES: "lines", ALERT: "alert", PAPER: "card"} | {c: f"curve{k}" for k, c in enumerate(COLOURS)}
"""The style sheet's names of the colours of figures."""

_LEAST_WIDTH = 0.62
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
    figure.suptitle("\n".join(figure.get_suptitle().splitlines()[1:]), fontsize=9.5)  # the page already has the title
    held = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": name, "svg.fonttype": "path"}):
        figure.savefig(held, format="svg", metadata={"Date": None, "Creator": None})
    text = _BLANK.sub(" ", _UNNEEDED.sub("", _HEAD.sub("", held.getvalue())))
    text = _ID.sub(rf"\g<1>{name}-\g<2>", _PATH.sub(lambda path: _DECIMALS.sub(r"\1", path[0]), text))
    text = _STYLED.sub(lambda style: f'style="{_HEX.sub(_variable, style[1])}"', text).replace("xlink:href", "href")
    found = _SIZE.search(text)
    width = float(found[2]) * 4 / 3 if found else 600.0
    text = _SIZE.sub(
        rf'\1 role="img" aria-label="{escape(caption)}" style="max-width:{width:.0f}px;min-width:{_LEAST_WIDTH * width:.0f}px"',
        text,
        count=1,
    )
    return f'<figure class="plot"><div>{text.strip()}</div><figcaption>{escape(caption)}</figcaption></figure>'


def _variable(found: re.Match[str]) -> str:
    colour = found.group()
    return f"var(--{VARIABLES[colour]})" if colour in VARIABLES else colour


_DARK = {
    INK: "#e6e8eb", SOFT: "#9aa4af", LINES: "#343b44", ALERT: "#ff7b72",
    **dict(zip(COLOURS, ("#5aa9f0", "#f08a54", "#3fc0a0", "#d58cc4", "#e0ac3a", "#8fc0f5", "#b8a78c", "#9a9cf0"), strict=True)),
}  # fmt: skip


def _colours(dark: bool) -> str:
    card, ground, shade = ("#171b21", "#0f1216", "#1e242c") if dark else ("#ffffff", "#f6f7f9", "#eef1f4")
    found = {VARIABLES[c]: _DARK[c] if dark else c for c in _DARK} | {"card": card, "ground": ground, "shade": shade}
    return ";".join(f"--{name}:{value}" for name, value in found.items())


_STYLE = (
    f"""
:root {{ color-scheme: light dark; {_colours(False)} }}
@media screen and (prefers-color-scheme: dark) {{ :root {{ {_colours(True)} }} }}
"""
    + """
* { box-sizing: border-box }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans",
  "Liberation Sans", sans-serif; -webkit-text-size-adjust: 100%; overflow-wrap: break-word }
main { max-width: 60rem; margin: 0 auto; padding: 1.5rem 1rem 3rem }
header h1 { font-size: 2rem; line-height: 1.2; margin: .3rem 0 .2rem }
header p { margin: 0; color: var(--soft) }
nav { display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; margin: 1rem 0; font-size: .93rem }
a { color: var(--curve0); text-decoration-thickness: 1px; text-underline-offset: 2px }
section { background: var(--card); border: 1px solid var(--lines); border-radius: .6rem; padding: .4rem 1.2rem 1.1rem; margin: 1rem 0 }
h2 { font-size: 1.3rem; margin: .7rem 0 .5rem }
h3 { font-size: 1.03rem; margin: 1.3rem 0 .4rem }
p { margin: .5rem 0 }
ul, ol { padding-left: 1.3rem; margin: .5rem 0 }
li { margin: .2rem 0 }
.soft, .unit { color: var(--soft) }
code, pre { font: .88em/1.5 ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace }
code { white-space: nowrap }
.hint code, .callout code { white-space: normal }
pre { overflow-x: auto; background: var(--shade); padding: .8rem 1rem; border-radius: .4rem; margin: .5rem 0 }
math { font-family: "Cambria Math", "STIX Two Math", "Latin Modern Math", "DejaVu Math TeX Gyre", "Noto Sans Math", math;
  font-size: 1.06em }
.rows { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .55rem 1.3rem; align-items: baseline; margin: .6rem 0 }
.label { color: var(--soft); font-size: .93rem }
.formula { font-size: 1.06rem; line-height: 2.1; padding-left: 1.6em; text-indent: -1.6em }
.formula > * { text-indent: 0 }
.values { display: flex; flex-wrap: wrap; gap: .3rem 1.6rem; margin: .4rem 0 }
.values div { display: flex; gap: .5em; align-items: baseline }
.values dd { margin: 0 }
.values dt::after { content: " ="; color: var(--soft) }
.scroll { overflow-x: auto; margin: .6rem 0 }
table { border-collapse: collapse; width: 100%; font-size: .94rem }
th { text-align: left; font-weight: 600; color: var(--soft); font-size: .87rem }
th, td { padding: .3rem .9rem .3rem 0; border-bottom: 1px solid var(--lines); vertical-align: baseline }
tbody tr:last-child td { border-bottom: 0 }
.numbers td { font-variant-numeric: tabular-nums; white-space: nowrap }
.numbers td:first-child, .from2 td:nth-child(2) { white-space: normal }
.from1 th:nth-child(n+2), .from1 td:nth-child(n+2), .from2 th:nth-child(n+3), .from2 td:nth-child(n+3) { text-align: right }
.formulas td:last-child { line-height: 2 }
figure.plot { margin: .9rem 0 }
figure.plot div { overflow-x: auto }
figure.plot svg { width: 100%; height: auto; display: block; margin: 0 auto }
figure.plot svg * { stroke-linejoin: round; stroke-linecap: butt }
figcaption { color: var(--soft); font-size: .88rem; text-align: center; margin-top: .2rem }
.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 22rem), 1fr)); gap: 0 1.4rem; align-items: center }
.badge { display: inline-block; font-size: .82rem; font-weight: 650; letter-spacing: .03em; padding: .05rem .6rem; border-radius: 1rem;
  border: 1.5px solid currentColor; margin-right: .3em }
.good { color: var(--curve2) } .bad { color: var(--alert) } .free { color: var(--curve4) }
.callout { border-left: 4px solid var(--curve4); background: var(--shade); padding: .4rem 1rem; margin: .6rem 0 }
details { margin: .8rem 0 } summary { cursor: pointer; color: var(--curve0) }
.animation { margin: .9rem auto; max-width: 46rem }
footer { color: var(--soft); font-size: .88rem; text-align: center }
@media (max-width: 34rem) {
  main { padding: .8rem .5rem 2rem } section { padding: .2rem .8rem .8rem } header h1 { font-size: 1.5rem }
  .rows { grid-template-columns: minmax(0, 1fr); gap: .1rem } .rows .label:empty { display: none } .formula { margin-bottom: .6rem }
}
@media print {
  body { background: none; font-size: 10.5pt } main { max-width: none; padding: 0 }
  section { border: 0; padding: 0; margin: 0 0 1rem } nav, .animation, summary { display: none }
  figure, tr, .callout, .rows > * { break-inside: avoid }
  figure.plot svg { min-width: 0 !important }
  h2, h3 { break-after: avoid } .scroll { overflow: visible }
  a { color: inherit; text-decoration: none } pre { white-space: pre-wrap }
}
"""
)


def page(title: str, subtitle: str, sections: Sequence[tuple[str, str, str]], footer: str) -> str:
    """Return a complete document; sections are (name, heading, html)."""
    large = title[:1].upper() + title[1:]
    links = "".join(f'<a href="#{name}">{escape(heading)}</a>' for name, heading, _ in sections)
    body = "".join(f'<section id="{name}"><h2>{escape(heading)}</h2>{html}</section>' for name, heading, html in sections)
    head = (
        f'<meta charset="utf-8"><title>{escape(title)}</title><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style>"
    )
    header = f"<header><h1>{escape(large)}</h1><p>{escape(subtitle)}</p></header><nav>{links}</nav>"
    main = f"<main>{header}\n{body}\n<footer><p>{escape(footer)}</p></footer></main>"
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>\n<body>{main}</body></html>\n'
