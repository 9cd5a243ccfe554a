"""Suggested fixes as options of the command line."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from shlex import quote
from typing import Any

from chetaev.core.fixes import (
    Ask,
    ChooseBranch,
    ChooseGauge,
    Code,
    Fix,
    Guess,
    InPython,
    LeaveOut,
    SetArgument,
    SetInitial,
    SetInput,
    SetParameter,
    SetPart,
    UsePrinciple,
    either,
    plain_number,
)

_SPECIAL = re.compile(r'["$`\\!]')
"""Characters that a shell does not leave alone between double quotation marks."""
_REPORTING = frozenset("derive analyze classify simulate compare animate report".split())
"""The functions of the library that are verbs with MODEL as their only argument."""


def on_the_command_line(fix: Fix, model: str = "MODEL", known: Collection[str] | None = None) -> str:
    """Return `fix` as options. What has no option is printed as a key of the model file, or as Python, and says so.

    Args:
        fix: The fix.
        model: The argument MODEL.
        known: The options of the verb that runs; None for any verb.

    >>> on_the_command_line(ChooseGauge((("q2", "sin(t)"),), "simulate"))
    '--gauge "q2 = sin(t)"'
    >>> on_the_command_line(SetArgument("t", (0, 10)))
    '--t 0,10'
    """
    return _option(fix, model, known) or _elsewhere(fix)


def _option(fix: Fix, model: str, known: Collection[str] | None) -> str:
    """Return options, or a call of another verb; empty if there is none."""
    match fix:
        case SetParameter(names):
            return " ".join(f"--set {name}=..." for name in names)
        case SetInput(names, example):
            return " ".join(f'--set "{name} = {example or "..."}"' for name in names)
        case SetInitial(names):
            return " ".join(f'--set "{name} = ..."' for name in names)
        case LeaveOut(names, argument):
            return _left_out(names, argument)
        case UsePrinciple(principle):
            from chetaev.core.support.registry import words_of

            words = words_of(principle)
            if words == principle.word:
                return f"--principle {words}"
            return f"--principle {quote(words)}" if _SPECIAL.search(words) else f'--principle "{words}"'
        case ChooseBranch(number):
            return f"--branch {number}"
        case ChooseGauge(functions):
            return " ".join(f'--gauge "{name} = {text}"' for name, text in functions)
        case SetArgument(name, value) if name in _OPTIONS:
            option, written = _OPTIONS[name]
            return written(option, value) if known is None or option in known else ""
        case Ask(verb):
            return _call(verb.rpartition(".")[2], model)
    return ""


def _left_out(names: tuple[str, ...], argument: bool) -> str:
    """Return words for what has to go: it stands among the options or in the file."""
    if not argument:
        return f"leave out {either(names)} (--set, or [initial] fixed in the file)"
    option = _OPTIONS[names[0]][0] if names[0] in _OPTIONS else ""
    return f"leave out {option}, or {names[0]} in the file" if option else f"leave out {names[0]} in the file"


def _elsewhere(fix: Fix) -> str:
    """Return `fix` as a key of the model file, or as Python; plain words stay as they are."""
    from chetaev.io.fixes import key_of

    in_file = key_of(fix) if isinstance(fix, Guess | SetArgument | SetPart) else ""
    if in_file:
        return f"in the file, {in_file}"
    return f"in Python, {fix}" if isinstance(fix, Ask | InPython | SetArgument | SetPart) else str(fix)


def _call(verb: str, model: str) -> str:
    """Return the command that calls a function of the library; empty if there is none."""
    if verb == "gallery":
        return "chetaev gallery"
    if verb in _REPORTING:
        return f"chetaev {verb} {quote(model)}"
    import chetaev.transforms  # noqa: F401 - importing registers the theorems
    from chetaev.transforms.tools.theorem import THEOREMS

    word = verb.replace("_", "-")
    return f"chetaev transform {quote(model)} {word}" if word in THEOREMS else ""


def _plain(option: str, value: Any) -> str:
    """A number, a text, or numbers with commas between them."""
    if isinstance(value, tuple) and all(isinstance(part, int | float) for part in value):
        return f"{option} {','.join(map(plain_number, value))}"
    word = value.word if isinstance(value, Code) else value
    if isinstance(word, str):
        return f"{option} {quote(word)}" if word else ""
    return f"{option} ..." if value is ... else f"{option} {plain_number(value)}" if isinstance(value, int | float) else ""


def _one_number(option: str, value: Any) -> str:
    return _plain(option, value) if isinstance(value, int | float) else ""


def _flag(option: str, value: Any) -> str:
    return option if value is True else ""


def _entries(between: str) -> Callable[[str, Any], str]:
    """Options that give a range for each name: `--unknown a=0,1`."""

    def written(option: str, value: Any) -> str:
        if not isinstance(value, Mapping):
            return ""
        given = {name: limits for name, limits in value.items() if isinstance(name, str)}
        return " ".join(f"{option} {quote(name)}" + _limits(limits, between) for name, limits in given.items())

    return written


def _limits(limits: Any, between: str) -> str:
    return f"={between.join(map(plain_number, limits))}" if isinstance(limits, tuple) else ""


def _texts(option: str, value: Any) -> str:
    """Options that give a formula for each name: `--formula "x = ..."`."""
    return " ".join(f'{option} "{name} = {text if isinstance(text, str) else "..."}"' for name, text in value.items())


_OPTIONS: dict[str, tuple[str, Callable[[str, Any], str]]] = {
    "t": ("--t", _plain),
    "tolerance": ("--tolerance", _one_number),
    "method": ("--method", _plain),
    "max_step": ("--max-step", _one_number),
    "points": ("--points", _plain),
    "seeds": ("--seeds", _plain),
    "seconds": ("--seconds", _plain),
    "fps": ("--fps", _plain),
    "unknown": ("--unknown", _entries(",")),
    "sliders": ("--slider", _entries(":")),
    "to": ("-o", _plain),
    "workers": ("--workers", _plain),
    "cluster": ("--cluster", _plain),
    "chunk": ("--chunk", _plain),
    "coordinate": ("--coordinate", _plain),
    "group": ("--group", _plain),
    "n": ("--order", _plain),
    "projected": ("--projected", _flag),
    "inverse": ("--inverse", _texts),
    "velocities": ("--velocity", _texts),
    "port": ("--port", _plain),
    "folder": ("--folder", _plain),
}
"""The arguments of functions of the library that are options, and how an option is written with its value."""
