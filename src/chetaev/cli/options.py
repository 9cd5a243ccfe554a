"""Options that several verbs share, and what they do to a model."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from chetaev.cli.session import session
from chetaev.core.errors import ChetaevError, Location, ParameterError, PrincipleError, UsageError, did_you_mean

if TYPE_CHECKING:
    from chetaev.mechanics.model import Model
    from chetaev.mechanics.principles import Principle

F = TypeVar("F", bound=Callable[..., Any])

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


class PrincipleType(click.ParamType):
    """A principle by its word in model files; `herglotz(vakonomic)` has an inner one."""

    name = "principle"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The words, and Herglotz' principle over each of the others."""
        from chetaev.mechanics.principles import PRINCIPLES

        plain = [word for word, kind in PRINCIPLES.items() if not kind.setting_names()]
        words = [*plain, "herglotz", *[f"herglotz({word})" for word in plain if word != "hamilton"]]
        return [CompletionItem(word) for word in words if word.startswith(incomplete)]


def setting(f: F) -> F:
    """The option --set."""
    text = 'Of a parameter, an input or the start: M=2, "theta\'=pi/6".'
    return click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help=text)(f)


def principle(f: F) -> F:
    """The option --principle."""
    text = 'hamilton dalembert chetaev virtual-work vakonomic herglotz "herglotz(vakonomic)"; the model\'s own unless given.'
    return click.option("--principle", "word", type=PrincipleType(), metavar="NAME", help=text)(f)


def choice(f: F) -> F:
    """The options --branch and --gauge."""
    f = click.option("--gauge", "gauges", multiple=True, metavar="NAME=f(t)", help='A function left free: "q2 = sin(t)".')(f)
    return click.option("--branch", metavar="N", help='One of several manifolds: its number, or "q3 = 0".')(f)


def run(f: F) -> F:
    """The options --t and --tolerance."""
    f = click.option("--tolerance", type=float, metavar="TOL", help="The error of a step; the model's own unless given.")(f)
    return click.option("--t", "interval", metavar="T0,T1", help="The interval; a single number is its end.")(f)


def changed(
    model: Model, word: str | None = None, settings: Sequence[str] = (), interval: str | None = None, tolerance: Any = None
) -> Model:
    """A model with the principle, values and run settings that the options give; the session remembers it."""
    if word is not None:
        model = under(model, read_principle(word))
    if settings:
        model = _with_settings(model, settings)
    if interval is not None:
        model = replace(model, t=_interval(interval, model))
    if tolerance is not None:
        model = replace(model, tolerance=tolerance)
    session().model = model
    return model


def under(model: Model, wanted: Principle) -> Model:
    """A model under a principle: with the data that it has for that principle, or its own."""
    return model.under(wanted) if wanted in model.principles else replace(model, principle=wanted, also={}, invariants={})


def read_principle(word: str, option: str = "--principle") -> Principle:
    """The principle of a word."""
    from chetaev.mechanics.principles import of_words

    return of_words(word, _location(option, word))


def _location(option: str, value: str = "") -> Location:
    """A place on the command line."""
    return Location(f"{option} {value}".rstrip(), source=option)


def pairs(given: Sequence[str], option: str, example: str) -> dict[str, str]:
    """Options `name = value` by name."""
    found: dict[str, str] = {}
    for text in given:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name or not value:
            what = f"{text!r} is not of the form name = value."
            raise UsageError(what, where=_location(option), hint=f"{option} {example}")
        if name in found:
            raise UsageError(f"{name} is given twice.", where=_location(option), hint="give it once")
        found[name] = value
    return found


def gauge_of(gauges: Sequence[str]) -> dict[str, str] | None:
    """The functions that --gauge gives, or None."""
    return pairs(gauges, "--gauge", '"q2 = sin(t)"') or None


def branch_of(branch: str | None) -> int | str | None:
    """A branch by number or by its constraints."""
    return int(branch) if branch is not None and re.fullmatch(r"\s*\d+\s*", branch) else branch


def _with_settings(model: Model, settings: Sequence[str]) -> Model:
    """A model with other values: what a name belongs to decides whether a parameter, an input or the start changes."""
    from chetaev.core.notation.lexer import spell
    from chetaev.core.state import State

    system = model.system
    known = {p.name for p in system.parameters}
    inputs = {z.base for z in system.inputs}
    parameters, functions, data = dict(model.parameters), dict(model.inputs), {}
    for name, text in pairs(settings, "--set", "M=2").items():
        value: Any = float(text) if _NUMBER.fullmatch(text) else text
        if spell(name) in known:
            parameters[spell(name)] = value
        elif spell(name) in inputs:
            functions[spell(name)] = text
        else:
            data[_start_name(model, name)] = value
    if data:
        own = {kind: {key: v for key, v in part.items() if _start_name(model, key) not in data} for kind, part in _parts(model.start)}
        model = replace(model, start=State({**own["fixed"], **data}, own["guess"]))
    return replace(model, parameters=parameters, inputs=functions)


def _parts(start: Any) -> list[tuple[str, Any]]:
    return [("fixed", start.fixed), ("guess", start.guess)]


def _start_name(model: Model, name: str) -> str:
    """The name of a jet, or an expression, in which the start may give a value."""
    from chetaev.core.notation import parse_expression
    from chetaev.core.notation.lexer import spell
    from chetaev.core.symbols import Input, Jet, jets_in
    from chetaev.mechanics.derivation import derive

    system = model.system
    if spell(name) in system.kinds:
        return spell(name)
    listed = [*[p.name for p in system.parameters], *[z.base for z in system.inputs], *[z.base for z in system.coordinates]]
    try:
        found = parse_expression(name, derive(model).vocabulary, _location("--set", name))
    except PrincipleError:
        raise
    except ChetaevError:
        found = None
    if found is None or not any(not isinstance(z, Input) for z in jets_in(found)):
        hint = f"{did_you_mean(name, listed)}  Known: {' '.join(listed)}".strip()
        what = f"{name} is neither a parameter nor an unknown of the motion."
        raise ParameterError(what, where=_location("--set", name), hint=hint) from None
    return str(found.name) if isinstance(found, Jet) else name


def _interval(text: str, model: Model) -> tuple[float, float]:
    """An interval `t0,t1`; a single number is its end."""
    from chetaev.core.errors import InitialError
    from chetaev.numerics.graphs.binding import number

    parts = re.split(r"[,:](?![^(]*\))", text)
    if len(parts) > 2 or not all(part.strip() for part in parts):
        raise UsageError(f"{text!r} is no interval.", where=_location("--t"), hint="--t 0,10")
    found = [number(part.strip(), {}, _location("--t", text), InitialError) for part in parts]
    return (model.t[0], found[0]) if len(found) == 1 else (found[0], found[1])
