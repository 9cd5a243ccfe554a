"""The names that a text may use, and the quantities they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import sympy

from chetaev.core.calculus import SYMBOLIC, Calculus, Frame
from chetaev.core.errors import did_you_mean
from chetaev.core.fixes import Advice, Fix, Replace, SetPart, sentences
from chetaev.core.support.letters import MOST_PRIMES
from chetaev.core.symbols import Coordinate, Input, Jet, Parameter


@dataclass(frozen=True)
class Vocabulary:
    """The names known at one place of a system.

    `jets` are the bases of everything that can carry primes; `expressions` are named sub-expressions, `quasi` the quasi-velocities
    (`w'` is the expression), `variations` what `δname` stands for; where variations make no sense it is None.
    `forbidden` maps a name (primes included) to the reason why it cannot stand here. `entries` are those of the matrices of group
    coordinates, and `frame` says how these move.
    """

    jets: Mapping[str, Jet] = field(default_factory=dict)
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    expressions: Mapping[str, sympy.Expr] = field(default_factory=dict)
    quasi: Mapping[str, sympy.Expr] = field(default_factory=dict)
    variations: Mapping[str, sympy.Expr] | None = None
    forbidden: Mapping[str, str] = field(default_factory=dict)
    entries: Mapping[str, sympy.Expr] = field(default_factory=dict)
    frame: Frame = field(default_factory=lambda: Frame((), ()))

    @cached_property
    def positions(self) -> Mapping[str, int]:
        """The position of each moving quantity in the order of declaration."""
        return {name: k for k, name in enumerate(self.jets)}

    def coordinate(self, text: str) -> Coordinate | None:
        """The jet if `text` is only the name of a coordinate with at most three primes; else None. Faster than parsing."""
        base = text.rstrip("'")
        order, found = len(text) - len(base), self.jets.get(base)
        forbidden = self.forbidden.keys() & {base, f"{base}'", text}
        return found.d(order) if isinstance(found, Coordinate) and order <= MOST_PRIMES and not forbidden else None

    def total(self, expression: sympy.Expr) -> sympy.Expr:
        """The total derivative of an expression in these names."""
        return Calculus(SYMBOLIC, self.frame).total(expression)

    def names(self) -> list[str]:
        """Every name that may be written."""
        return [*self.jets, *self.parameters, *self.expressions, *self.quasi, *self.entries]

    def unknown(self, name: str) -> Advice:
        """The message for an unknown name: the known names, and a suggestion."""
        listed = {
            "Coordinates": [n if n not in self.forbidden else f"{n}'" for n, jet in self.jets.items() if isinstance(jet, Coordinate)],
            "Entries": list(self.entries),
            "Inputs": [n for n, jet in self.jets.items() if isinstance(jet, Input)],
            "Parameters": list(self.parameters),
            "Named": [*self.expressions, *self.quasi],
        }
        parts = [f"{kind}: {_few(names)}." for kind, names in listed.items() if names]
        if name == "s":
            return [*sentences("unknown name.", *parts, "The action variable?"), "  ", SetPart("action", "s"), "."]
        return sentences("unknown name.", *parts, self._meant(name))

    def _meant(self, name: str) -> str | Fix | None:
        """A suggestion for names of other notations, such as `xdot`, or for one that is spelled like a known one."""
        for q in self.jets:
            if name in (f"{q}dot", f"{q}_dot", f"d{q}", f"{q}_d", f"dot{q}", f"{q}d"):
                plain = self.variations is None
                return Replace(
                    f"{q}'", name, f"Velocities are written {q}'." if plain else f"Variations are written δ{q}, velocities {q}'."
                )
            if name in (f"{q}ddot", f"{q}_ddot", f"ddot{q}", f"{q}dd"):
                return Replace(f"{q}''", name, f"Accelerations are written {q}''.")
        if name in ("Pi", "PI"):
            return Replace("pi", name, "Write pi.")
        return "Write exp(x) for a power of e." if name == "e" else did_you_mean(name, self.names())


def _few(names: list[str], most: int = 12) -> str:
    return " ".join(names[:most]) + (f" … ({len(names)} in all)" if len(names) > most else "")
