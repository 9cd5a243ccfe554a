"""Animations: a motion drawn with a scene, as a picture, a film or an interactive page.

>>> import chetaev as ch
>>> motion = ch.simulate(ch.gallery("cartesian-pendulum"), t=(0, 2))
>>> ch.animate(motion)
animation of Cartesian pendulum: t = 0 to 2 in 2 s, 61 pictures
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from chetaev.core.errors import UsageError, about
from chetaev.core.fixes import Ask, InPython, SetArgument
from chetaev.core.scene import Scene
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.mechanics.model import Model
from chetaev.numerics.motion.settings import model_of
from chetaev.numerics.motion.trajectory import Trajectory
from chetaev.plot.scenes.compose import compose
from chetaev.plot.scenes.default import scene_of
from chetaev.plot.scenes.drawing import Array, Drawing
from chetaev.plot.scenes.live.sliders import Slide, read_sliders
from chetaev.plot.scenes.text import number

_SHORTEST_SECONDS, _LONGEST_SECONDS = 1.0, 60.0
"""Limits of the default length of an animation, in seconds; within them it lasts as long as the motion."""
_MOST_FRAMES, _MOST_FRAMES_IN_PAGE = 1800, 900
"""Largest numbers of frames of a film and of a web page. A page interpolates between frames, and its size grows with their number."""
_AT_THE_ENDS = 1e-9
"""Relative: a time this far outside the motion counts as its end, since users write rounded times."""


@public
@dataclass(frozen=True, repr=False, eq=False)
class Animation:
    """A motion with a scene and times. `frame(t)` returns a picture, `save` writes a film or a page, `html()` returns a part of a page."""

    motions: Mapping[str, Trajectory]
    """One motion, or several by name in the same picture."""
    scene: Scene
    times: Array
    seconds: float
    slides: tuple[Slide, ...] = ()
    """The sliders of its page."""

    @cached_property
    def repeated(self) -> Model:
        """The model that reproduces the motion, for pages that compute it."""
        return model_of(self.motion)

    @cached_property
    def drawing(self) -> Drawing:
        """The scene evaluated along the motion."""
        return compose(self.motions, self.scene, self.times)

    @cached_property
    def page_drawing(self) -> Drawing:
        """The drawing for a web page, with fewer frames of a long motion."""
        if len(self.times) <= _MOST_FRAMES_IN_PAGE:
            return self.drawing
        return compose(self.motions, self.scene, np.linspace(self.times[0], self.times[-1], _MOST_FRAMES_IN_PAGE))

    @property
    def motion(self) -> Trajectory:
        """The motion; the first one if there are several."""
        return next(iter(self.motions.values()))

    @property
    def speed(self) -> float:
        """Units of time of the motion per second of the animation."""
        return abs(float(self.times[-1] - self.times[0])) / self.seconds

    @property
    def clock(self) -> str:
        """The speed as text for the time label; empty if the animation runs in real time."""
        return "" if abs(self.speed - 1) < 0.005 else f"  ({number(self.speed, 2)}×)"

    def frame(self, t: float | None = None) -> Any:
        """Return a matplotlib figure of the frame nearest to `t`; of the last frame without `t`."""
        from chetaev.plot.scenes.matplotlib_painter import picture

        return picture(self.drawing, self._nearest(t), self.clock)

    def save(self, path: str | Path, *, width: int | None = None) -> Path:
        """Write a film (.mp4, .gif), a page (.html) or the last picture (.png, .svg, .pdf); `width` is that of films and pictures in
        pixels.
        """
        from chetaev.plot.scenes.films import write

        return write(self, Path(path), width)

    def html(self, library: bool = True, autoplay: bool = True) -> str:
        """Return a part of a page that plays the motion, including its scripts.

        A page with several animations needs the scripts once: pass `library=False` for all but the first.
        """
        from chetaev.plot.scenes.pages import enclosed, fragment

        if self.slides:  # a frame, because the page has its own security policy
            return enclosed(self)
        return fragment(self, library=library, autoplay=autoplay)

    def page(self) -> str:
        """Return a complete page."""
        from chetaev.plot.scenes.live.page import live_page
        from chetaev.plot.scenes.pages import page

        return live_page(self) if self.slides else page(self)

    def _repr_html_(self) -> str:
        from chetaev.plot.scenes.pages import enclosed

        return enclosed(self)

    def _nearest(self, t: float | None) -> int:
        if t is None:
            return len(self.times) - 1
        low, high = sorted((float(self.times[0]), float(self.times[-1])))
        slack = _AT_THE_ENDS * max(1.0, abs(low), abs(high))
        if not low - slack <= t <= high + slack:
            raise UsageError(f"t = {t:g} lies outside the motion.", where=about(self._where, "t"), hint=f"a time from {low:g} to {high:g}")
        return int(np.argmin(np.abs(self.times - t)))

    @property
    def _where(self) -> str:
        return f"animation of {self.motion.equations.system.label}"

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        name = self.motion.equations.system.name or "a system"
        name += f" ({', '.join(self.motions)})" if len(self.motions) > 1 else ""
        first, last = float(self.times[0]), float(self.times[-1])
        return f"animation of {name}: t = {first:g} to {last:g} in {self.seconds:g} s, {len(self.times)} pictures"


@public
def animate(
    motion: Any,
    scene: Scene | None = None,
    *,
    seconds: float | None = None,
    fps: float = 30,
    sliders: Mapping[str, tuple[Any, Any]] | None = None,
) -> Animation:
    """Make an animation of a motion.

    Args:
        motion: A motion; or several, by name as in `{"with friction": a, "without": b}` or as a comparison of principles. Several share one
            picture, each in its own colour, over their common interval.
        scene: The scene; by default that of the model, or one that follows from the kinds and names of the coordinates, as its caption
            states.
        seconds: The length of the animation; by default that of the motion with one second per unit of time, but at least a second and at
            most a minute. The time label shows another speed.
        fps: Pictures per second.
        sliders: Ranges of parameters and of initial values, `{"a": (0.1, 1), "theta'": (-1, 1)}`. A page then computes the motion while a
            slider is dragged, without a server and a network. A range that does not contain the value of the motion is widened to it.

    Returns:
        The animation, which notebooks show and `save` writes.

    Raises:
        UsageError: For an argument of a wrong type or value.
    """
    motions = _named(motion)
    first = next(iter(motions.values()))
    where = f"animate {first.equations.system.label}"
    scene = scene_of(first) if scene is None else scene
    if not isinstance(scene, Scene):
        raise UsageError(f"{type(scene).__name__} is not a scene.", where=where, hint=InPython('Scene([Point("x, y"), Trace("x, y")])'))
    if scene.abstract and len(motions) > 1:
        raise UsageError("a scene of sliders and dials shows a single motion.", where=where, hint="plot.compare, or a scene with positions")
    begin, end = _common(motions, where)
    span = abs(end - begin)
    lasts = float(np.clip(span, _SHORTEST_SECONDS, _LONGEST_SECONDS)) if seconds is None else _positive(seconds, "seconds", where)
    pictures = int(np.clip(round(lasts * _positive(fps, "fps", where)) + 1, 2, _MOST_FRAMES))
    times = np.linspace(begin, end, pictures)
    if sliders is None:
        return Animation(Frozen(motions), scene, times, lasts)
    return Animation(Frozen(motions), scene, times, lasts, _sliders(sliders, motions, where))


def _sliders(given: Any, motions: Mapping[str, Trajectory], where: str) -> tuple[Slide, ...]:
    """The sliders of a page; they need a single motion that a model can reproduce."""
    if len(motions) > 1:
        raise UsageError("sliders need a single motion.", where=where, hint=(Ask("animate", "motion, sliders=..."), " for each of them"))
    motion = next(iter(motions.values()))
    if motion.asked is None or motion.asked.besides:
        left = ", ".join(motion.asked.besides) if motion.asked is not None else "a motion that was not simulated"
        raise UsageError(
            "a page cannot compute this motion.",
            where=where,
            why=f"A model cannot contain: {left}.",
            hint=(Ask("animate", "motion"), " without sliders"),
        )
    return read_sliders(given, motion, model_of(motion), where)


def _named(given: Any) -> dict[str, Trajectory]:
    """The motions to show, by name."""
    if isinstance(given, Trajectory):
        return {"": given}
    found = getattr(given, "motions", given)  # of a comparison, by principle
    if isinstance(found, Mapping) and found and all(isinstance(motion, Trajectory) for motion in found.values()):
        return {str(name): motion for name, motion in found.items()}
    raise UsageError(f"animate takes a motion, not {type(given).__name__}.", where="animate", hint=Ask("animate", "simulate(model)"))


def _common(motions: Mapping[str, Trajectory], where: str) -> tuple[float, float]:
    """Return the interval of time that all motions cover, in their direction."""
    if any(len(motion.t) < 2 for motion in motions.values()):
        raise UsageError(
            "the motion has a single stored state.",
            where=where,
            hint=(SetArgument("t", (0, 10), "simulate"), " without ", SetArgument("keep", "final")),
        )
    spans = [(float(motion.t[0]), float(motion.end[0])) for motion in motions.values()]
    signs = {np.sign(end - begin) for begin, end in spans}
    sign = signs.pop()
    begin, end = (sign * pick(sign * t for t in ends) for pick, ends in zip((max, min), zip(*spans, strict=True), strict=True))
    if signs or not sign * (end - begin) > 0:
        raise UsageError("the motions have no interval of time in common.", where=where, hint="the same t for all")
    return begin, end


def _positive(value: float, name: str, where: str) -> float:
    if not (isinstance(value, int | float) and np.isfinite(value) and value > 0):
        raise UsageError(f"{name} = {value!r} is not a positive number.", where=where, hint=SetArgument(name, 10))
    return float(value)
