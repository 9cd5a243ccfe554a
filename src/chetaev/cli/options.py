"""Options that several verbs share, and their effect on a model."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from chetaev.cli.session import session
from chetaev.core.errors import ChetaevError, Location, ModelError, ParameterError, PrincipleError, UsageError, did_you_mean
from chetaev.core.fixes import sentences
from chetaev.core.support.plain import DECIMAL

if TYPE_CHECKING:
    from chetaev.mechanics.model import Model
    from chetaev.mechanics.principles import Principle

F = TypeVar("F", bound=Callable[..., Any])


class PrincipleType(click.ParamType):
    """A principle by its word in model files; `herglotz(vakonomic)` contains another one."""

    name = "principle"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the words, and Herglotz' principle with each of the others inside."""
        from chetaev.mechanics.principles import PRINCIPLES

        plain = [word for word, kind in PRINCIPLES.items() if not any(map(kind.nests, kind.setting_names()))]
        words = [*plain, "herglotz", *[f"herglotz({word})" for word in plain if word != "hamilton"]]
        return [CompletionItem(word) for word in words if word.startswith(incomplete)]


def setting(f: F) -> F:
    """The option --set."""
    text = 'Set a parameter, an input or an initial value: M=2, "theta\'=pi/6".'
    return click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help=text)(f)


def principle(f: F) -> F:
    """The option --principle."""
    text = 'hamilton dalembert chetaev virtual-work vakonomic herglotz "herglotz(vakonomic)" "mixed(kinematic[0]=vakonomic, ...)", '
    text += "or a registered one; the model's own unless given."
    return click.option("--principle", "word", type=PrincipleType(), metavar="NAME", help=text)(f)


def choice(f: F) -> F:
    """The options --branch and --gauge."""
    f = click.option("--gauge", "gauges", multiple=True, metavar="NAME=f(t)", help='Choose a free function: "q2 = sin(t)".')(f)
    return click.option("--branch", metavar="N", help='One of several manifolds: its number, or "q3 = 0".')(f)


def run(f: F) -> F:
    """The options --t and --tolerance."""
    f = click.option("--tolerance", type=float, metavar="TOL", help="The error of a step; the model's own unless given.")(f)
    return click.option("--t", "interval", metavar="T0,T1", help="The interval; a single number is its end.")(f)


def slider(f: F) -> F:
    """The option --slider."""
    text = "A slider of the page, which then computes the motion while the slider moves: a=0.1:1."
    return click.option("--slider", "sliders", multiple=True, metavar="NAME=LOW:HIGH", help=text)(f)


def slider_ranges(given: Sequence[str]) -> dict[str, tuple[str, str]] | None:
    """Return the ranges of sliders by name; None without sliders."""
    found: dict[str, tuple[str, str]] = {}
    for text in given:
        name, is_given, limits = text.partition("=")
        low, is_range, high = limits.partition(":")
        if not (is_given and is_range and name.strip() and low.strip() and high.strip()):
            raise UsageError(f"{text!r} is not a slider.", where="--slider", hint="--slider a=0.1:1")
        if name.strip() in found:
            raise UsageError(f"{name.strip()} has two sliders.", where="--slider", hint="one range for each name")
        found[name.strip()] = (low.strip(), high.strip())
    return found or None


def changed(
    model: Model, word: str | None = None, settings: Sequence[str] = (), interval: str | None = None, tolerance: Any = None
) -> Model:
    """Return a model with the principle, values and run settings of the options; the session keeps it for messages."""
    if word is not None:
        from chetaev.mechanics.model import under

        model = under(model, read_principle(word))
        session().options["principle"] = [f"--principle {word}"]
    if settings:
        model = _with_settings(model, settings)
    if interval is not None:
        model = replace(model, t=_run_setting("t", _interval(interval, model), f"--t {interval}", "--t 0,10"))
    if tolerance is not None:
        model = replace(model, tolerance=_run_setting("tolerance", tolerance, f"--tolerance {tolerance}", "--tolerance 1e-9"))
    session().model = model
    return model


def _run_setting(name: str, given: Any, option: str, hint: str) -> Any:
    """Return a setting of the run that an option gives, by the rules for model files."""
    from chetaev.numerics.motion.run_settings import RUN_SETTINGS

    place = Location(option, source=option.split()[0])
    try:
        return next(setting for setting in RUN_SETTINGS if setting.name == name).read(given, place)
    except ModelError as wrong:
        raise UsageError(wrong.what, where=place, hint=hint) from None


def _note(table: str, option: str) -> None:
    """Keep, once, that an option gave a value in place of one in a table of the file, for messages."""
    noted = session().options.setdefault(table, [])
    if option not in noted:
        noted.append(option)


def read_principle(word: str, option: str = "--principle") -> Principle:
    """Return the principle that a word names."""
    from chetaev.mechanics.principles import of_words

    return of_words(word, _location(option, word))


def read_principles(words: str) -> list[Principle]:
    """Return the principles of --principles, which commas separate."""
    from chetaev.core.support.specs.words import split_words

    found = [read_principle(word, "--principles") for word in split_words(words)]
    session().options["principle"] = [f"--principles {words}"]
    return found


def _location(option: str, value: str = "") -> Location:
    """Return an option and its value as a location for messages."""
    return Location(f"{option} {value}".rstrip(), source=option)


def pairs(given: Sequence[str], option: str, example: str) -> dict[str, str]:
    """Read options `name = value` into a mapping."""
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
    """Return the functions given by --gauge, or None."""
    return pairs(gauges, "--gauge", '"q2 = sin(t)"') or None


def branch_of(branch: str | None) -> int | str | None:
    """Return a branch as its index, or as the text of its constraints."""
    return int(branch) if branch is not None and re.fullmatch(r"\s*\d+\s*", branch) else branch


def _with_settings(model: Model, settings: Sequence[str]) -> Model:
    """Return a model with other values of parameters, inputs or the start, depending on each name."""
    from chetaev.core.notation.lexer import spell
    from chetaev.core.state import State

    system = model.system
    known = {p.name for p in system.parameters}
    inputs = {z.base for z in system.inputs}
    parameters, functions, data = dict(model.parameters), dict(model.inputs), {}
    for name, text in pairs(settings, "--set", "M=2").items():
        value: Any = float(text) if DECIMAL.fullmatch(text) else text
        table = "parameters" if spell(name) in {*known, *inputs} else "initial"
        _note(table, f"--set {name}={text}")
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
    """The name of a jet, or an expression, to which the start may give a value."""
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
        hint = sentences(did_you_mean(name, listed), f"Known: {' '.join(listed)}")
        what = f"{name} is neither a parameter nor an unknown of the motion."
        raise ParameterError(what, where=_location("--set", name), hint=hint) from None
    return str(found.name) if isinstance(found, Jet) else name


def _interval(text: str, model: Model) -> tuple[float, float]:
    """Read an interval `t0,t1`; a single number is its end."""
    from chetaev.core.errors import InitialError
    from chetaev.numerics.graphs.binding import number

    parts = re.split(r"[,:](?![^(]*\))", text)
    if len(parts) > 2 or not all(part.strip() for part in parts):
        raise UsageError(f"{text!r} is not an interval.", where=_location("--t"), hint="--t 0,10")
    found = [number(part.strip(), {}, _location("--t", text), InitialError) for part in parts]
    return (model.t[0], found[0]) if len(found) == 1 else (found[0], found[1])


@dataclass(frozen=True)
class MotionOptions:
    """The values of --set, --principle, --t, --tolerance, --branch and --gauge."""

    settings: tuple[str, ...]
    word: str | None
    interval: str | None
    tolerance: float | None
    branch: str | None
    gauges: tuple[str, ...]

    def model(self, model: Model) -> Model:
        """Return `model` with these values, principle and run settings."""
        return changed(model, self.word, self.settings, self.interval, self.tolerance)

    @property
    def choice(self) -> dict[str, Any]:
        """Branch and gauge as arguments of `simulate`."""
        return {"branch": branch_of(self.branch), "gauge": gauge_of(self.gauges)}


def motion_options(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Add all options about a motion to a verb, which receives them as `wanted`."""

    @setting
    @principle
    @run
    @choice
    @wraps(verb)
    def collected(*args: Any, **given: Any) -> Any:
        return verb(*args, wanted=MotionOptions(**{part.name: given.pop(part.name) for part in fields(MotionOptions)}), **given)

    return collected


def examples(*lines: str) -> str:
    """Return command lines as the examples at the end of a verb's help."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)
