"""Print a suggested fix as the table and keys of a model file."""

from __future__ import annotations

from chetaev.core.fixes import Fix, Guess, SetInitial, SetInput, SetParameter, UsePrinciple
from chetaev.io.values import principle_keys


def in_the_file(fix: Fix, principle_table: str = "[principle]") -> str:
    """Return `fix` as a table and its keys. A fix that has no key in a file, such as a choice among branches, is printed as Python.

    >>> in_the_file(SetParameter(("m", "J")))
    '[parameters] m = ..., J = ...'
    """
    match fix:
        case SetParameter(names):
            return f"[parameters] {', '.join(f'{name} = ...' for name in names)}"
        case SetInput(names, example):
            return "[values] " + ", ".join(f'{name} = "{example or "..."}"' for name in names)
        case SetInitial(names):
            return f"[initial] fixed = [..., {_rows(names)}]"
        case Guess(names):
            return f"[initial] guess = [{_rows(names)}]"
        case UsePrinciple(principle):
            return f"{principle_table} {', '.join(f'{key} = {value}' for key, value in principle_keys(principle).items())}"
    return str(fix)


def _rows(names: tuple[str, ...]) -> str:
    return ", ".join(f'"{name} = ..."' for name in names)
