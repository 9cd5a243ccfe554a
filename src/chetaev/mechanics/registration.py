"""register: make something of the user's own known by its word to files, the command line and reports."""

from __future__ import annotations

from typing import Any

from chetaev.core.errors import UsageError
from chetaev.mechanics.principles import Principle, register_principle


def register(thing: Any) -> Any:
    """Register a class of principles under its `word`, and return it, so that `register` also serves as a decorator.

    Model files, motion files, `--principle` and reports then know it. A file chooses among registered words only: the program that reads
    it registers first.

    >>> from chetaev.mechanics.principles import DAlembert
    >>> register(DAlembert).word
    'dalembert'
    """
    if isinstance(thing, type) and issubclass(thing, Principle):
        return register_principle(thing)
    raise UsageError(f"register takes a class of principles, not {thing!r}.", where="register", hint="class Mine(ch.Principle): ...")
