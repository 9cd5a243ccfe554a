"""The manifolds on which motions live, as a tree: the constraints that each step of a constraint algorithm adds.

A node is a set of states; its lines are the constraints added to those of its parent. Final constraint manifolds have a heavy frame and
show their dimension and the number of free functions of time; sets without a motion are red.
"""

from __future__ import annotations

from collections.abc import Sequence

from sympy import Expr

from chetaev.core.errors import UsageError
from chetaev.core.notation import show
from chetaev.core.support.text import in_mathtext
from chetaev.core.values import Tape, Undefined
from chetaev.core.zero import random_point
from chetaev.mechanics.analysis import Analysis
from chetaev.plot.boxes import Box, drawn
from chetaev.plot.style import ALERT, COLOURS, SOFT, Picture, label, shortened, title_of
from chetaev.singular.algorithm import Leaf, Tree
from chetaev.singular.algorithm.tree import Entry

_SHOWN = 4
"""Constraints in a box; the number of further ones is given."""
_WIDEST = 64
"""Characters of a formula in a box; a longer one is shown as text, shortened in the middle."""


def tree(found: Tree | Analysis, *, title: str | None = None) -> Picture:
    """Draw the tree of a constraint algorithm, or the branches in the analysis of a system. `title` replaces the default title.

    >>> from chetaev import analyze, gallery
    >>> picture = tree(analyze(gallery("cawley")))
    >>> sum("leaf" in text.get_text() for text in picture.texts)
    2
    """
    if isinstance(found, Tree):
        usual = in_mathtext(f"{found.form.name or 'dynamical form'} · {found.dynamics} dynamics")
        return drawn(_of_tree(found), usual if title is None else title, _notes(found))
    if not isinstance(found, Analysis):
        raise UsageError(f"a tree or an analysis is needed, not {type(found).__name__}.", where="tree", hint="tree(ch.analyze(equations))")
    title = title_of(found) if title is None else title
    if found.tree is not None and found.tree.entries:
        return drawn(_of_tree(found.tree), title, _notes(found.tree))
    return drawn(_of_analysis(found), title, [])


def _of_tree(found: Tree) -> Box:
    boxes: dict[int, Box] = {}
    by_number = {entry.number: entry for entry in found.entries}
    root: Box | None = None
    for entry in found.entries:
        boxes[entry.number] = box = _of_entry(entry, by_number.get(entry.parent if entry.parent is not None else -1), found)
        if entry.parent is not None:
            boxes[entry.parent].children.append(box)
        elif root is None:
            root = box
        else:
            root.children.append(box)
    return root or Box(["no states were examined"], ALERT)


def _of_entry(entry: Entry, parent: Entry | None, found: Tree) -> Box:
    lines = _relations([f"{show(e)} = 0" for e in entry.added])
    known = () if parent is None else parent.excluded
    lines += _relations([f"{show(e)} != 0" for e in entry.excluded if e not in known])
    if not lines:
        lines = [f"phase space, dimension {found.form.dimension}"] if parent is None else ["otherwise"]
    if entry.status == "inconsistent":
        return Box([*lines, "no motion"], ALERT, heavy=True)
    if entry.status != "final":
        return Box(lines, SOFT if entry.status != "open" else ALERT)
    leaf = _leaf_of(entry, found)
    if leaf is None:
        return Box([*lines, entry.status if entry.within is None else "part of another leaf"], SOFT)
    return Box([*lines, *_described(leaf, found.leaves.index(leaf))], COLOURS[2], heavy=True)


def _described(leaf: Leaf, number: int) -> list[str]:
    free = f"{leaf.free_functions} free function{'s' * (leaf.free_functions != 1)}" if leaf.free_functions else "unique motion"
    words = [f"leaf {number}: dimension {leaf.dimension}, {free}"]
    if leaf.excluded:
        words.append(f"without {', '.join(label(None, f'{show(e)} = 0', _WIDEST) for e in leaf.excluded[:_SHOWN])}")
    if leaf.real != "yes":
        words.append(f"real points: {leaf.real}")
    return words


def _relations(rows: Sequence[str]) -> list[str]:
    """Typeset the first `_SHOWN` rows, and say how many follow."""
    shown = [_relation(row) for row in rows[:_SHOWN]]
    return [*shown, f"and {len(rows) - _SHOWN} more"] if len(rows) > _SHOWN else shown


def _relation(row: str) -> str:
    """Typeset a row `e = 0` or `e != 0`; return the label of a row unchanged."""
    side, _, rest = row.rpartition(" != ")
    if side:
        return f"{label(None, side, _WIDEST)} $\\neq {rest}$"
    return row if "[" in row else label(None, row, _WIDEST)


def _leaf_of(entry: Entry, found: Tree) -> Leaf | None:
    """Return the leaf of a final node: its steps are those on the path to the node, up to constant factors."""
    by_number = {e.number: e for e in found.entries}
    way: list[tuple[Expr, ...]] = []
    at: Entry | None = entry
    while at is not None:
        if at.added:
            way.insert(0, at.added)
        at = by_number.get(at.parent) if at.parent is not None else None
    for leaf in found.leaves:
        if [len(step) for step in leaf.steps] == [len(step) for step in way]:
            pairs = [pair for one, other in zip(leaf.steps, way, strict=True) for pair in zip(one, other, strict=True)]
            if all(_proportional(a, b) for a, b in pairs):
                return leaf
    return None


def _proportional(a: Expr, b: Expr) -> bool:
    """Tell whether two expressions differ at most by a factor without jets, judged at two points with the same parameters."""
    tape = Tape([a, b])
    first, second = (random_point(tape.symbols, seed) for seed in (1, 2))
    second = {z: second[z] if hasattr(z, "order") else first[z] for z in second}
    try:
        (a1, b1), (a2, b2) = tape(first), tape(second)
    except Undefined:
        return a == b
    return abs(a1 * b2 - a2 * b1) <= 1e-9 * (abs(a1 * b2) + abs(a2 * b1))


def _notes(found: Tree) -> list[str]:
    notes = [shortened(f"no real point: {', '.join(f'{show(e)} = 0' for e in empty.constraints)}", 110) for empty in found.discarded]
    return notes if found.complete else [*notes, shortened(f"incomplete: {found.reason}", 110)]


def _of_analysis(found: Analysis) -> Box:
    """Return the tree of a numerical analysis: the stated rows, their derivatives, and the families of states."""
    root = Box([f"jets of the state: {len(found.state)}"], SOFT)
    if not found.branches:
        root.children.append(_of_branch(found))
    root.children += [_of_branch(branch) for branch in found.branches]
    return root


def _of_branch(found: Analysis) -> Box:
    lines = _relations([f"{row} = 0" for row in found.hidden])
    lines.append(f"{found.verdict}")
    if found.dimension is not None:
        lines.append(f"{found.dimension} free initial value{'s' * (found.dimension != 1)}")
    if found.free_functions:
        lines.append(f"free: {', '.join(label(None, name) for name in found.free_functions)}")
    colour = COLOURS[2] if found.verdict.allows_motion else ALERT
    return Box(lines, colour, heavy=True)
