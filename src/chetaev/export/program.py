"""The parts that the files of all languages share: names, formulas, matrix entries, and the text at their head.

A tape becomes formulas: an operation that is used once is written in place, one that is used again gets a name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from textwrap import wrap

from sympy import Symbol

from chetaev.core.errors import UsageError
from chetaev.core.support.version import VERSION
from chetaev.core.symbols import TIME, Jet
from chetaev.export.problem import CONSTANT, INPUT, RightHandSide, Tape
from chetaev.export.spelling import ATOM, SUM, Spelling

_LONGEST_TAPE = 600
"""Largest number of operations of equations that are quoted at the head of a file; longer
ones would fill pages and take seconds to print."""
_CHARACTERS_PER_LINE = 104
"""Largest number of characters of a line of the explanation at the head of a file."""
_RESERVED = frozenset(
    "t state parameters values unknowns rates solved found left right matrix solution null constraints rhs "
    "STATE UNKNOWNS PARAMETERS START INTERVAL CONSTRAINTS VALUES".split()
)
"""Names that the exported files define."""
_LONGEST_FORMULA = 72
"""Number of characters above which a formula is assigned to a name, so that lines stay readable; results do not depend on it."""


@dataclass(frozen=True)
class Program:
    """A right-hand side written in the language of `spelling`."""

    source: RightHandSide
    spelling: Spelling

    @cached_property
    def names(self) -> dict[Symbol, str]:
        """An identifier for every input."""
        return identifiers((*self.source.symbols, *self.source.unknowns), self.spelling.words)

    def formulas(self, tape: Tape) -> Formulas:
        """Write a tape as assignments and results."""
        return formulas(tape, list(self.names.values()), self.spelling, "w")

    @cached_property
    def system(self) -> Formulas:
        """The matrix and the right side."""
        return self.formulas(self.source.system)

    @cached_property
    def constraints(self) -> Formulas:
        """The residuals that vanish on every state of a motion."""
        return self.formulas(self.source.constraints)

    @cached_property
    def turning(self) -> Formulas:
        """The rates of the numbers that represent group coordinates."""
        return self.formulas(self.source.turning)

    def entries(self) -> list[tuple[int, int, str]]:
        """Return the nonzero entries of matrix and right side: row, column, formula."""
        width = self.source.width
        return [(k // width, k % width, text) for k, text in enumerate(self.system.results) if text is not None]

    def used(self, found: Formulas) -> list[tuple[str, str, int]]:
        """Return the inputs that `found` needs: name, array (`state`, `parameters` or `solved`), and index in the array."""
        source = self.source
        arrays = [("state", k) for k in range(len(source.state))] + [("parameters", k) for k in range(len(source.parameters))]
        arrays += [("solved", k) for k in range(len(source.unknowns))]
        names = list(self.names.values())[1:]
        return [(name, *at) for place, (name, at) in enumerate(zip(names, arrays, strict=True), 1) if place in found.used]

    def head(self, needs: str) -> list[str]:
        """Return the lines at the head of the file; `needs` is a sentence about what the file needs to run."""
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
            "The rows, differentiated as often as necessary, are linear in the unknowns: matrix*unknowns = right.",
            f"Unknowns: {' '.join(z.name for z in source.unknowns)}.",
        ]
        if source.opened:
            names = " ".join(source.unknowns[j].name for j in source.opened)
            sentences.append(f"Redundant constraints do not determine {names}; the solution has the multipliers of least norm.")
        if source.labels:
            sentences.append(
                "The constraints vanish on every state of a motion; integration lets them drift, because this file does not project."
            )
        if source.equations.system.inputs:
            sentences.append("Inputs are replaced by functions of t.")
        return [line for sentence in sentences for line in wrap(sentence, _CHARACTERS_PER_LINE)]


def numbers(values: Sequence[float], spelling: Spelling) -> str:
    """Return `values` separated by commas."""
    return ", ".join(spelling.number(float(v)) for v in values)


@dataclass(frozen=True)
class Formulas:
    """Assignments in the order of execution, and a formula for each result, or None if it is zero."""

    assignments: tuple[str, ...]
    results: tuple[str | None, ...]
    used: frozenset[int]
    """Indices of the inputs that occur."""


def formulas(tape: Tape, inputs: Sequence[str], spelling: Spelling, temporary: str) -> Formulas:
    """Write `tape` in a language; `inputs` are the names of its inputs, names of intermediate results begin with `temporary`."""
    uses = tape.uses()
    texts: list[tuple[str, int]] = []
    assignments: list[str] = []
    used: set[int] = set()
    for node, count in zip(tape.nodes, uses, strict=True):
        if node.operation == INPUT:
            used.add(node.place)
            texts.append((inputs[node.place], ATOM))
            continue
        if node.operation == CONSTANT:
            number = spelling.number(node.value)
            texts.append((number, SUM if number.startswith("-") else ATOM))
            continue
        text, rank = _written(spelling, node.operation, [texts[a] for a in node.arguments])
        if count > 1 or len(text) > _LONGEST_FORMULA:
            name = f"{temporary}{len(assignments) + 1}"
            assignments.append(spelling.assignment.format(name=name, value=text))
            text, rank = name, ATOM
        texts.append((text, rank))
    return Formulas(tuple(assignments), tuple(None if k is None else texts[k][0] for k in tape.results), frozenset(used))


def _written(spelling: Spelling, operation: int, arguments: Sequence[tuple[str, int]]) -> tuple[str, int]:
    template = spelling.operations.get(operation)
    if template is None:
        raise UsageError(f"the operation {operation} of CasADi has no spelling in this language.", where="code", hint="another language")
    texts = [text if rank >= need else f"({text})" for (text, rank), need in zip(arguments, template.needs, strict=False)]
    return template.text.format(**dict(zip("ab", texts, strict=False))), template.rank


def identifiers(symbols: Iterable[Symbol], words: frozenset[str]) -> dict[Symbol, str]:
    """Name each symbol: `theta` for an angle, `theta_d` and `theta_dd` for its derivatives; an underscore is added to a taken name."""
    taken = set(words | _RESERVED)
    found: dict[Symbol, str] = {}
    for z in symbols:
        if z == TIME:
            found[z] = "t"
            continue
        name = _plain(z)
        while name in taken or re.fullmatch(r"w\d*", name):  # w1, w2, ... are intermediate results
            name += "_"
        taken.add(name)
        found[z] = name
    return found


def _plain(z: Symbol) -> str:
    if not isinstance(z, Jet) or z.order == 0:
        return re.sub(r"\W", "_", z.base if isinstance(z, Jet) else z.name)
    return f"{z.base}_{'d' * z.order if z.order <= 3 else f'd{z.order}'}"
