"""Theorems by name with their options on the command line, for `chetaev transform`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from inspect import Parameter, signature
from typing import Any

from chetaev.core.errors import UsageError

Verb = Callable[..., Any]


@dataclass(frozen=True)
class Theorem:
    """A verb that returns a Morphism."""

    verb: Verb
    options: dict[str, str] = field(default_factory=dict)
    """The argument of the verb for each option of the command line."""
    needed: tuple[str, ...] = ()
    """Options that are required."""


THEOREMS: dict[str, Theorem] = {}
"""Every theorem under its name with hyphens."""


def theorem(*, needed: tuple[str, ...] = (), **options: str) -> Callable[[Verb], Verb]:
    """Register a verb for the command line: `@theorem(order="n")` maps the option `--order` to the argument `n`."""

    def known(verb: Verb) -> Verb:
        name = verb.__name__.replace("_", "-")
        other = THEOREMS.get(name)
        if other is not None and (other.verb.__module__, other.verb.__qualname__) != (verb.__module__, verb.__qualname__):
            raise UsageError(f"{name} is the name of another theorem.", where="theorem", hint="choose another name")
        THEOREMS[name] = Theorem(verb, options, needed)
        return verb

    return known


def register_theorem(verb: Verb) -> Verb:
    """Register the verb of an extension: a function of the source that returns a Morphism.

    Its other arguments are options of the command line under their own names; those without a default are required.
    """
    given = list(signature(verb).parameters.values())
    if not given or given[0].kind not in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD):
        hint = "def mine(source, *, order=1) -> ch.transforms.Morphism: ..."
        raise UsageError(f"{verb.__name__} takes no system to transform.", where="register", hint=hint)
    needed = tuple(p.name for p in given[1:] if p.default is Parameter.empty)
    return theorem(needed=needed, **{p.name: p.name for p in given[1:]})(verb)
