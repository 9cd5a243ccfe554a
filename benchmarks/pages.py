"""(k) Pages with sliders: from moving a slider to the repainted motion, in Chromium.

For each system of the gallery the page that `chetaev animate` writes, with the sliders that the studio gives it. A slider is set to values
across its range, `chetaev.set` computes the motion anew, and two frames of the browser later the picture has been painted. The page's own
figure is the time from the change to the drawn canvas; the second figure includes the wait for the browser's next frames.
"""

from __future__ import annotations

import glob
import shutil
import statistics
import tempfile
from pathlib import Path
from typing import Any

from measure import Effort, Table

import chetaev as ch
from chetaev.studio.live import slider_ranges

FRAME = 16.0
"""Milliseconds of one frame at sixty frames a second: a motion that takes longer is seen to lag behind the slider."""
ROUNDS = 7
"""Values that each slider is set to."""
SLIDERS = 4
"""Sliders of a page that are moved. A scene in space takes a tenth of a second per frame where no graphics card draws it."""
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]

MOVE = """
async ({name, values}) => {
    const own = [], painted = [];
    for (const value of values) {
        const before = performance.now();
        await window.chetaev.set({[name]: value});
        await new Promise(done => requestAnimationFrame(done));
        painted.push(performance.now() - before);
        own.push(window.chetaev.milliseconds.at(-1));
    }
    return {own, painted};
}
"""


def tables(effort: Effort) -> list[Table]:
    """The time from slider to picture for the gallery, the slowest systems first."""
    found = Table(
        "(k) From slider to picture",
        ["system", "sliders", "the page's own figure", "until the next frame", "below 16 ms"],
        "Milliseconds in Chromium without a graphics card, median over all sliders of the page. Lines: the ten slowest, then all.",
    )
    chromium = shutil.which("chromium") or next(iter(glob.glob("/usr/bin/google-chrome*")), None)
    if chromium is None:
        found.note += " Not measured: chromium is not installed."
        return [found]
    measured = _measured(chromium, 5 if effort.quick else ROUNDS)
    for name, (sliders, own, painted) in sorted(measured.items(), key=lambda item: -item[1][1])[:10]:
        found.add(name, sliders, own, painted, str(own < FRAME))
    fast = sum(own < FRAME for _, own, _ in measured.values())
    halves = [statistics.median(values[k] for values in measured.values()) for k in (1, 2)]
    found.add(f"all {len(measured)}", None, *halves, f"{fast} of {len(measured)}")
    return [found]


def _measured(chromium: str, rounds: int) -> dict[str, tuple[int, float, float]]:
    from playwright.sync_api import sync_playwright

    found = {}
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        for name in ch.gallery():
            try:
                motion = ch.simulate(ch.gallery(name))
            except ch.ChetaevError:  # this system asks for a choice first: a branch, or a gauge
                continue
            sliders = dict(list(slider_ranges(motion)[0].items())[:SLIDERS])
            if not sliders:
                continue
            page = Path(folder) / f"{name}.html"
            page.write_text(ch.animate(motion, sliders=sliders).page())
            found[name] = _one(browser, page, sliders, rounds)
        browser.close()
    return found


def _one(browser: Any, page: Path, sliders: dict[str, tuple[float, float]], rounds: int) -> tuple[int, float, float]:
    tab = browser.new_page(viewport={"width": 1200, "height": 800})
    tab.goto(page.as_uri())
    tab.evaluate("() => window.chetaev.ready")
    own, painted = [], []
    for name, (low, high) in sliders.items():
        values = [low + (high - low) * (0.1 + 0.8 * k / (rounds - 1)) for k in range(rounds)]
        answer = tab.evaluate(MOVE, {"name": name, "values": values})
        own += answer["own"]
        painted += answer["painted"]
        tab.evaluate(MOVE, {"name": name, "values": [(low + high) / 2]})
    tab.close()
    return len(sliders), statistics.median(own), statistics.median(painted)
