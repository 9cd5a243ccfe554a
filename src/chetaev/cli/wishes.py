"""What the options of a verb say about the motion that is meant, in one piece."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from typing import TYPE_CHECKING, Any

from chetaev.cli import options

if TYPE_CHECKING:
    from chetaev.mechanics.model import Model


@dataclass(frozen=True)
class Wishes:
    """The options --set, --principle, --t, --tolerance, --branch and --gauge as they were given."""

    settings: tuple[str, ...]
    word: str | None
    interval: str | None
    tolerance: float | None
    branch: str | None
    gauges: tuple[str, ...]

    def model(self, model: Model) -> Model:
        """The model with these values, principle and run settings."""
        return options.changed(model, self.word, self.settings, self.interval, self.tolerance)

    @property
    def choice(self) -> dict[str, Any]:
        """Branch and gauge as `simulate` takes them."""
        return {"branch": options.branch_of(self.branch), "gauge": options.gauge_of(self.gauges)}


def wishes(verb: Callable[..., Any]) -> Callable[..., Any]:
    """All options about a motion, which the verb receives as `wishes`."""

    @options.setting
    @options.principle
    @options.run
    @options.choice
    @wraps(verb)
    def collected(*args: Any, **given: Any) -> Any:
        return verb(*args, wishes=Wishes(**{part.name: given.pop(part.name) for part in fields(Wishes)}), **given)

    return collected
