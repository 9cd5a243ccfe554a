"""Hints for the command line: what an error suggests in Python, as options."""

from __future__ import annotations

import re
from collections.abc import Callable
from shlex import quote

from chetaev.core.errors import ChetaevError

_MODEL = "MODEL"
"""Stands for the model that the user has given."""
_ENTRY = re.compile(r'"([^"]+)": ("([^"]*)"|\.\.\.)')


def _gauges(found: re.Match[str]) -> str:
    return " ".join(f'--gauge "{name} = {text or "..."}"' for name, _, text in _ENTRY.findall(found[1]))


def _settings(found: re.Match[str]) -> str:
    return " ".join(f"--set {name.strip()}=..." for name, _, _ in (entry.partition("=") for entry in found[1].split(",")))


def _functions(found: re.Match[str]) -> str:
    return " ".join(f'--set "{name} = {text or "..."}"' for name, _, text in _ENTRY.findall(found[1]))


def _data(found: re.Match[str]) -> str:
    return " ".join(f'--set "{name} = ..."' for name, _, _ in _ENTRY.findall(found[0]))


def _guesses(found: re.Match[str]) -> str:
    rows = ", ".join(f'"{name} = ..."' for name, _, _ in _ENTRY.findall(found[1]))
    return f"in the file, [initial] guess = [{rows}]"


def _principle(found: re.Match[str]) -> str:
    from chetaev.mechanics.principles import PRINCIPLES

    words = {kind.__name__: word for word, kind in PRINCIPLES.items()}
    inner = re.fullmatch(r"(\w+)\((?:(\w+)\(\))?\)", found[1])
    if not inner or inner[1] not in words:
        return ""
    outer = words[inner[1]]
    return f'--principle "{outer}({words[inner[2]]})"' if inner[2] in words else f"--principle {outer}"


_FORMS: tuple[tuple[str, Callable[[re.Match[str]], str]], ...] = (
    (r"gauge=\{([^}]*)\}", _gauges),
    (r"\bbranch=(\d+)", lambda found: f"--branch {found[1]}"),
    (r"parameters=dict\(([^)]*)\)", _settings),
    (r"inputs=\{([^}]*)\}", _functions),
    (r"guess=\{([^}]*)\}", _guesses),
    (r"^\{\.\.\., [^}]*\}", _data),
    (r"(?:derive\([^,()]*, |^)([A-Z]\w*\((?:\w+\(\))?\))", _principle),
    (r"ch\.(analyze|classify|derive)\b", lambda found: f"chetaev {found[1]} {_MODEL}"),
)


def on_the_command_line(fault: ChetaevError, model: str = _MODEL) -> str:
    """The hint of an error in options, or nothing if it has none to offer; `model` is what the user has given for MODEL.

    >>> from chetaev.core.errors import GaugeError
    >>> on_the_command_line(GaugeError("q2 is free.", where="simulate", hint='simulate(..., gauge={"q2": "sin(t)"})'))
    '--gauge "q2 = sin(t)"'
    """
    for pattern, translate in _FORMS:
        found = [text for match in re.finditer(pattern, fault.hint) if (text := translate(match))]
        if found:
            return "  or  ".join(dict.fromkeys(found)).replace(_MODEL, quote(model))
    return ""
