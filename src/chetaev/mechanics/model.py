"""A model: a system with its principle, values, initial data and run settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from html import escape
from inspect import cleandoc
from typing import Any

from chetaev.core.display.html import card, rows, set_name
from chetaev.core.display.parts import system_rows
from chetaev.core.errors import ModelError, PrincipleError, about
from chetaev.core.fixes import InPython, UsePrinciple
from chetaev.core.scene import Scene
from chetaev.core.state import State
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.core.support.text import fault
from chetaev.core.system import System
from chetaev.mechanics.principles import Principle

_RUN = ("tolerance", "max_step", "max_steps", "method", "conserve", "scale", "events", "branch", "gauge", "keep", "slopes")
"""The fields that are settings of a run; `numerics/motion/run_settings.py` reads and writes them in model files."""


class TextForm(Enum):
    """The form of a text about the model in a model file."""

    LINE = "a text"
    LIST = "a list of texts"
    PARAGRAPH = "a text of several lines"


MODEL_TEXTS = {"reference": TextForm.LINE, "corrections": TextForm.LIST, "prose": TextForm.PARAGRAPH}
"""The fields that are texts about the model, in the order of model files. A new one is a line here and a field."""


@public
@dataclass(frozen=True, repr=False)
class Model:
    """A system with its principle, values, initial data and settings: the contents of a model file. All verbs accept it."""

    system: System
    """The mechanical system."""
    principle: Principle
    """The principle of its motion."""
    parameters: Mapping[str, Any] = field(default_factory=Frozen)
    """Values of the parameters, by name."""
    start: State = field(default_factory=State)
    """Initial data; a mapping is read as fixed values."""
    t: tuple[float, ...] = (0.0, 10.0)
    """The interval of time; with three or more times, the states at these are stored instead of every step."""
    tolerance: float | tuple[float, float] = 1e-9
    """The relative tolerance, or the relative and the absolute one."""
    inputs: Mapping[str, Any] = field(default_factory=Frozen)
    """Functions of time for the inputs, by name."""
    also: Mapping[Principle, Mapping[str, Any]] = field(default_factory=Frozen)
    """Other principles for the same system, each with the additional initial data that it needs."""
    invariants: Mapping[str, str] = field(default_factory=Frozen)
    """Expressions that are constant along motions under `principle`, by name."""
    prose: str = ""
    """A description of the model."""
    reference: str = ""
    """The literature the model is from."""
    corrections: tuple[str, ...] = ()
    """Corrections of that literature."""
    max_step: float | None = None
    """The longest step of the integrator; None for no limit."""
    max_steps: int | None = None
    """The largest number of steps; None for the default."""
    method: Any = None
    """The integrator, a `Method`; None for the default one."""
    scale: Mapping[str, Any] = field(default_factory=Frozen)
    """Typical sizes of jets, by name."""
    conserve: str | None = None
    """`"energy"` to project onto the energy; None for no projection."""
    branch: int | str | None = None
    """The manifold of the motion, where there are several."""
    gauge: Mapping[str, Any] = field(default_factory=Frozen)
    """Functions of time for quantities that the equations leave free, by name."""
    events: tuple[Any, ...] = ()
    """Events: expressions, or `On(...)`."""
    keep: str | None = None
    """`"final"` to store the end, extrema and drift only; None for all steps, or all times of `t`."""
    slopes: tuple[str, ...] = ()
    """Parameters and initial values by which the motion is differentiated."""
    scene: Scene | None = None
    """The picture of the model; None for a default scene by the kinds and names of the coordinates."""

    def __post_init__(self) -> None:
        for name in [each.name for each in fields(self) if each.default_factory is Frozen]:
            object.__setattr__(self, name, Frozen(getattr(self, name)))
        if not isinstance(self.start, State):
            object.__setattr__(self, "start", State(self.start))
        if self.scene is not None and not isinstance(self.scene, Scene):
            what = f"{type(self.scene).__name__} is not a scene."
            raise ModelError(what, where=f"model {self.system.label}", hint=InPython('ch.plot.Scene([ch.plot.Point("x, y")])'))
        for name, form in MODEL_TEXTS.items():
            given = getattr(self, name)
            if form is not TextForm.LINE:
                object.__setattr__(self, name, tuple(given) if form is TextForm.LIST else cleandoc(given).replace("\r\n", "\n"))
        object.__setattr__(self, "events", (self.events,) if isinstance(self.events, str) else tuple(self.events))
        object.__setattr__(self, "slopes", (self.slopes,) if isinstance(self.slopes, str) else tuple(self.slopes))
        if hasattr(self.t, "tolist"):
            object.__setattr__(self, "t", tuple(self.t.tolist()))
        if isinstance(self.t, list):
            object.__setattr__(self, "t", tuple(self.t))
        if isinstance(self.tolerance, list):
            object.__setattr__(self, "tolerance", tuple(self.tolerance))
        self._check_texts()

    def _check_texts(self) -> None:
        """Raise a ModelError for prose, names or values with control characters."""
        several: dict[str, str] = {}  # these may have several lines, and so may expressions
        for name, form in MODEL_TEXTS.items():
            given = getattr(self, name)
            several |= {f"{name}[{k}]": text for k, text in enumerate(given)} if form is TextForm.LIST else {name: given}
        single: dict[str, str] = {}
        named = {"parameter": self.parameters, "input": self.inputs, "scale of": self.scale, "gauge of": self.gauge}
        named |= {"start": self.start.fixed, "guess": self.start.guess, "invariant": self.invariants}
        for kind, given in [*named.items(), *((f"start under {principle}:", data) for principle, data in self.also.items())]:
            single |= {f"the name of {kind} {name!r}": str(name) for name in given}
            values = {f"{kind} {name!r}": value for name, value in given.items() if isinstance(value, str)}
            several |= values if given is not self.invariants else {}
            single |= values if given is self.invariants else {}
        for title, text in (*several.items(), *single.items()):
            reason = fault(text, lines=title in several)
            if reason:
                raise ModelError(f"{title} {reason}", where=f"model {self.system.label}", hint="plain text")

    @property
    def name(self) -> str:
        """The system's name."""
        return self.system.name

    @property
    def principles(self) -> tuple[Principle, ...]:
        """The model's own principle, then the others."""
        return (self.principle, *self.also)

    @property
    def interval(self) -> tuple[float, float]:
        """The first and the last time of `t`."""
        return self.t[0], self.t[-1]

    @property
    def choice(self) -> dict[str, Any]:
        """The choice of `branch` and `gauge`, as arguments of `simulate` and `evaluate`."""
        return {name: self.run[name] for name in ("branch", "gauge")}

    @property
    def run(self) -> dict[str, Any]:
        """The settings of a run, as arguments of `simulate` besides start, interval and values."""
        found = {name: getattr(self, name) for name in _RUN}
        return {name: None if isinstance(value, Mapping | tuple) and not value else value for name, value in found.items()}

    def under(self, principle: Principle) -> Model:
        """A copy under another `principle` of `also`, with its additional initial data.

        Args:
            principle: The principle of this model, or one of `also`.

        Raises:
            PrincipleError: If the model has no initial data for `principle`.
        """
        if principle == self.principle:
            return self
        if principle not in self.also:
            known = [part for own in self.principles for part in (", ", UsePrinciple(own))]
            raise PrincipleError(
                f"no initial data for {principle}.", where=about(f"model '{self.name}'", "principle"), hint=("one of ", *known[1:])
            )
        start = State({**self.start.fixed, **self.also[principle]}, self.start.guess)
        return replace(self, principle=principle, start=start, also=Frozen(), invariants=Frozen(), branch=None, gauge=Frozen())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        values = [f"{set_name(name)} = {escape(str(v))}" for name, v in self.parameters.items()]
        data = [f"{set_name(name)} = {escape(str(v))}" for name, v in self.start.fixed.items()]
        data += [f"{set_name(name)} = {escape(str(v))} (guess)" for name, v in self.start.guess.items()]
        more = [("principle", escape(str(self.principle))), ("values", ", ".join(values)), ("start", ", ".join(data))]
        more += [("correction", escape(text)) for text in self.corrections]
        more += [("reference", escape(self.reference))]
        prose = "".join(f"<p>{escape(part)}</p>" for part in self.prose.split("\n\n") if part.strip())
        return card(self.system.name or "system", prose, rows([*system_rows(self.system), *[line for line in more if line[1]]]))

    def __str__(self) -> str:
        values = ", ".join(f"{name} = {v}" for name, v in self.parameters.items())
        data = [f"{name} = {v}" for name, v in self.start.fixed.items()]
        data += [f"{name} = {v} (guess)" for name, v in self.start.guess.items()]
        lines = [self.prose, "", str(self.system), f"{'principle':<15} {self.principle}"]
        if values:
            lines.append(f"{'values':<15} {values}")
        lines.append(f"{'start':<15} {', '.join(data)}")
        lines += [f"{'correction':<15} {text}" for text in self.corrections]
        if self.reference:
            lines.append(f"{'reference':<15} {self.reference}")
        return "\n".join(lines).lstrip("\n")


def under(model: Model, wanted: Principle) -> Model:
    """Return a model under `wanted`: with the data that it has for that principle, or otherwise its own data."""
    return model.under(wanted) if wanted in model.principles else replace(model, principle=wanted, also=Frozen(), invariants=Frozen())
