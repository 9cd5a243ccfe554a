"""A tape written as formulas: what is needed once stands in its place, what is needed again gets a name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chetaev.core.errors import UsageError
from chetaev.export.spelling import ATOM, SUM, Spelling
from chetaev.export.tape import CONSTANT, INPUT, Tape

_LONGEST = 72
"""A formula that grows longer is given a name and continued on the next line."""


@dataclass(frozen=True)
class Formulas:
    """Assignments to be carried out in order, and a formula for each result: None where it is zero."""

    assignments: tuple[str, ...]
    results: tuple[str | None, ...]
    used: frozenset[int]
    """The places of the inputs that occur."""


def formulas(tape: Tape, inputs: Sequence[str], spelling: Spelling, temporary: str) -> Formulas:
    """The tape in a language; `inputs` are the names of the inputs, names of intermediate results begin with `temporary`."""
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
        if count > 1 or len(text) > _LONGEST:
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
