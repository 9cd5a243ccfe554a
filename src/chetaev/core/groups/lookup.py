"""The group that a word names: one of a system, a registered one, or a ready-made one.

A symbol such as the entry `A11` must know its group wherever it goes, in a stored motion or another process. So a group that belongs to one
system has a *key*, its word followed by its data in braces, `SL2{real:2|1;0;0;-1|...}`; groups of the library have their word alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chetaev.core.errors import ModelError
from chetaev.core.fixes import Ask
from chetaev.core.groups.kinds import GROUPS, Group
from chetaev.core.groups.lie_algebra import LieAlgebra, algebra_of, lie_algebra, lie_algebra_of_key
from chetaev.core.groups.matrix_group import MatrixGroup, matrix_group, matrix_group_of_key
from chetaev.core.groups.ready_made import ready_made, spelled
from chetaev.core.support.letters import NAME

Own = Mapping[str, MatrixGroup | LieAlgebra]
"""Groups of one system by their words."""

_KEYS = ({"basis"}, {"brackets"}, {"brackets", "dimension"})
"""The sets of keys by which a table describes a group."""

_MOST_GROUPS = 500
"""Groups of one system. The brackets of each are checked exactly, which takes milliseconds to seconds."""


def group_of(key: str) -> Group | None:
    """The group of a key or word: its own, or in lower case that of its Lie algebra; None if it names no group."""
    _, brace, data = key.partition("{")
    if brace:
        return lie_algebra_of_key(data[:-1]) if data.startswith("algebra") else matrix_group_of_key(data[:-1])
    found = GROUPS.get(key) or next((group for name, group in GROUPS.items() if name.lower() == key), None)
    return found or ready_made(spelled(key))


def key_of(word: str, own: Own) -> str | None:
    """The key of a declared word; None if it names no group. Groups of the system come first."""
    if word in own:
        return f"{word}{{{own[word].key}}}"
    for name, group in own.items():
        if name.lower() == word:
            return f"{word}{{{algebra_of(group).key}}}"
    return word if "{" not in word and group_of(word) is not None else None  # a text of the user is a word, not a key


def read_groups(given: Any, where: Any) -> dict[str, MatrixGroup | LieAlgebra]:
    """The groups of a system, given as values or as tables with `basis`, or with `brackets` and `dimension`."""
    if len(given) > _MOST_GROUPS:
        what = f"{len(given)} groups are declared; at most {_MOST_GROUPS} are read."
        raise ModelError(what, where=where.about("groups"), hint="leave out those that no coordinate uses")
    found: dict[str, MatrixGroup | LieAlgebra] = {}
    for word, value in given.items():
        place = where.about("groups", str(word))
        if not isinstance(word, str) or not NAME.fullmatch(word) or word in ("line", "angle"):
            raise ModelError(
                f"{word!r} cannot be the word of a group.", where=place, hint="letters and digits, beginning with a letter: SL2"
            )
        try:
            found[word] = _group(value)
        except ModelError as error:
            error.where = place
            raise
    return found


def _group(value: Any) -> MatrixGroup | LieAlgebra:
    if isinstance(value, MatrixGroup | LieAlgebra):
        return value
    if isinstance(value, Mapping) and set(value) in _KEYS:
        return matrix_group(value["basis"]) if "basis" in value else lie_algebra(value["brackets"], value.get("dimension"))
    raise ModelError(
        "this is not a group.",
        where="groups",
        hint=(Ask("ch.groups.matrix_group", "basis"), ", or ", Ask("ch.groups.lie_algebra", "brackets, dimension=...")),
    )
