"""What the files in all languages have in common: names, assignments, entries, and the words at their head."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from textwrap import wrap

from sympy import Symbol

from chetaev.core.support.version import VERSION
from chetaev.export.formulas import Formulas, formulas
from chetaev.export.names import identifiers
from chetaev.export.problem import RightHandSide
from chetaev.export.spelling import Spelling
from chetaev.export.tape import Tape

_LONGEST_TAPE = 600
"""Equations that take more operations are not quoted at the head of a file: nobody reads them, and forming them takes time."""
_WIDTH = 104


@dataclass(frozen=True)
class Program:
    """A right-hand side spelt in a language."""

    source: RightHandSide
    spelling: Spelling

    @cached_property
    def names(self) -> dict[Symbol, str]:
        """An identifier for every input."""
        return identifiers((*self.source.symbols, *self.source.unknowns), self.spelling.words)

    def formulas(self, tape: Tape) -> Formulas:
        """A tape as assignments and results."""
        return formulas(tape, list(self.names.values()), self.spelling, "w")

    @cached_property
    def system(self) -> Formulas:
        """The matrix and the right side."""
        return self.formulas(self.source.system)

    @cached_property
    def constraints(self) -> Formulas:
        """What vanishes on every state of a motion."""
        return self.formulas(self.source.constraints)

    @cached_property
    def turning(self) -> Formulas:
        """The rates of the places of group coordinates."""
        return self.formulas(self.source.turning)

    def entries(self) -> list[tuple[int, int, str]]:
        """The entries of matrix and right side that are not zero: row, column, formula."""
        width = self.source.width
        return [(k // width, k % width, text) for k, text in enumerate(self.system.results) if text is not None]

    def used(self, found: Formulas) -> list[tuple[str, str, int]]:
        """The inputs that formulas need: name, the array they stand in (`state`, `parameters` or `solved`), and their place in it."""
        source = self.source
        arrays = [("state", k) for k in range(len(source.state))] + [("parameters", k) for k in range(len(source.parameters))]
        arrays += [("solved", k) for k in range(len(source.unknowns))]
        names = list(self.names.values())[1:]
        return [(name, *at) for place, (name, at) in enumerate(zip(names, arrays, strict=True), 1) if place in found.used]

    def head(self, needs: str) -> list[str]:
        """What a reader should know first, line by line."""
        source = self.source
        system = source.equations.system
        title = f"{system.name or 'system'} under {source.equations.principle}"
        lines = [f"{title}: the right-hand side of its equations of motion.", ""]
        lines += [f"Written by chetaev {VERSION}. {needs}", ""]
        if source.branch:
            lines += [f"On {source.branch}.", ""]
        if len(source.system.nodes) <= _LONGEST_TAPE:
            lines += str(source.equations).splitlines()
        else:
            lines.append("The equations are too long to quote: chetaev derive prints them.")
        lines.append("")
        lines += self._explained()
        return lines

    def _explained(self) -> list[str]:
        source = self.source
        sentences = [
            "The rows, differentiated where that is needed, are linear in the unknowns: matrix*unknowns = right.",
            f"Unknowns: {' '.join(z.name for z in source.unknowns)}.",
        ]
        if source.opened:
            names = " ".join(source.unknowns[j].name for j in source.opened)
            sentences.append(f"Redundant constraints leave {names} open; the solution has the multipliers of least norm.")
        if source.labels:
            sentences.append("The constraints vanish on every state of a motion; integration lets them drift, and nothing here projects.")
        if source.equations.system.inputs:
            sentences.append("Inputs are written out as functions of t.")
        return [line for sentence in sentences for line in wrap(sentence, _WIDTH)]


def numbers(values: Sequence[float], spelling: Spelling) -> str:
    """Numbers in a row."""
    return ", ".join(spelling.number(float(v)) for v in values)
