"""Errors for missing, ambiguous or contradictory initial data, with the free data, the roots found, or the values needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

import numpy as np

from chetaev.core.errors import InitialError, StateError, about
from chetaev.core.fixes import Ask, Fix, Guess, LeaveOut, SetInitial
from chetaev.core.groups.coordinate import GroupCoordinate
from chetaev.core.groups.matrix_group import MatrixGroup
from chetaev.core.symbols import Jet, Multiplier, Place, jets_in
from chetaev.mechanics.ranks.factored import open_jets
from chetaev.mechanics.ranks.generic import rank
from chetaev.mechanics.tolerances import ALMOST_ZERO
from chetaev.numerics.start.attitude import written_element
from chetaev.numerics.start.blocks import solved_in_blocks
from chetaev.numerics.start.conditions import Conditions, Residual, residual_of
from chetaev.numerics.start.newton import Root, flat_here, null_at, roots, settle

SLOPELESS_AFTER_ITERATION = 1e-6
"""Slope, relative to slopes nearby, below which it counts as zero after an iteration, which finds a double root to half the digits."""
_PRINTED_AS_ZERO = 1e-6
"""Value, relative to the others or to the given one, below which a message prints it as 0; iterations may leave half the digits."""
_MOST_LISTED = 6
"""Solutions or values that a message lists."""
_LARGEST_RESIDUAL = 1e-9
"""Residual of a row, relative to its terms, below which the row holds."""


def needs_guess(
    rows: Conditions, curved: Sequence[Jet], unknowns: Sequence[Jet], known: Mapping[Jet, float], guess: Mapping[Jet, float]
) -> InitialError:
    """The error for missing jets that enter some rows nonlinearly, with the solutions found for them."""
    where = about(rows.problem.where, "start", [z.name for z in curved])
    found = roots(rows, unknowns, known, guess, solved_in_blocks(rows.problem, known, guess).several)
    if found and _freedom(found[0], unknowns, guess) > 0:
        state = set(rows.problem.system.structure.state)
        return too_few(rows, [z for z in unknowns if z in state], unknowns, known, guess)
    names, one = " ".join(z.name for z in curved), len(curved) == 1
    what = f"{names} {'is' if one else 'are'} missing, and the equations for {'it' if one else 'them'} are not linear."
    hint = f"give the value{'s' * (not one)}, or ", Guess(tuple(z.name for z in curved))
    if not found:
        fixed = {z: v for z, v in known.items() if z not in guess}
        told = _in_words(_needed(rows, fixed, known, unknowns, guess))
        return InitialError(what, where=where, why="  ".join(filter(None, ("No solution was found.", told))), hint=hint)
    return InitialError(what, where=where, why=_listed(rows, curved, unknowns, found), hint=hint)


def _listed(rows: Conditions, curved: Sequence[Jet], unknowns: Sequence[Jet], found: Sequence[Root]) -> str:
    differing = [z for z in curved if len({_digits(root.at, z) for root in found}) > 1] or list(curved)
    shown = list(dict.fromkeys(", ".join(f"{z.name} = {_digits(root.at, z)}" for z in differing) for root in found))
    more = " | ..." if len(shown) > _MOST_LISTED else ""
    text = f"{len(shown)} solution{'s' * (len(shown) > 1)} found: {' | '.join(shown[:_MOST_LISTED])}{more}."
    flat = flat_here(rows, unknowns, found[0].at, SLOPELESS_AFTER_ITERATION) if len(found) == 1 else []
    return f"{text}  {turning_point(flat)}" if flat else text


def turning_point(flat: Sequence[Jet]) -> str:
    """Return the reason why some jets are not determined here although they are at nearby states."""
    return f"These data are at a turning point: the rows have no slope in {' '.join(z.name for z in flat)} here."


def too_few(
    rows: Conditions, missing: Sequence[Jet], unknowns: Sequence[Jet], known: Mapping[Jet, float], guess: Mapping[Jet, float]
) -> InitialError:
    """Return an error that names the free data among the missing jets, lowest order first, and the jets that follow from them."""
    problem = rows.problem
    found = roots(rows, unknowns, known, guess)
    chance = np.random.default_rng(3)
    at = found[0].at if found else {**known, **{z: float(chance.uniform(0.3, 0.7)) for z in unknowns}}
    names = _free_data(rows, missing, unknowns, at)
    rest = [z.name for z in missing if z not in names]
    varied = problem.system.equations.lowered.is_costate
    moving = " in vakonomic motion"
    why = [f"{z.name} at t = {problem.t:g} is free data{moving * varied(z)}." for z in names if isinstance(z, Multiplier)][:1]
    if rest:
        why.append(f"{' '.join(rest)} then follow{'s' * (len(rest) == 1)} from the constraints.")
    flat = [z for z in flat_here(rows, unknowns, at, SLOPELESS_AFTER_ITERATION) if z in missing] if found else []
    if flat:
        why.append(turning_point(flat))
    what = f"no initial value{'s' * (len(names) > 1)} for {' '.join(z.name for z in names)}."
    hint = SetInitial(tuple(z.name for z in names)), ", or as many others" if rest else ""
    return InitialError(what, where=about(problem.where, "start", [z.name for z in names]), why="  ".join(why), hint=hint)


def _free_data(rows: Conditions, missing: Sequence[Jet], unknowns: Sequence[Jet], at: Mapping[Jet, float]) -> list[Jet]:
    """Missing jets that can be given independently, chosen greedily from the lowest order up."""
    null = null_at(rows, unknowns, at)
    lines = dict(zip(unknowns, null, strict=True))
    chosen: list[Jet] = []
    for z in sorted(missing, key=lambda z: z.order):
        if null.shape[1] and rank(np.array([lines[w] for w in [*chosen, z]])) > len(chosen):
            chosen.append(z)
    return chosen or list(missing)  # at nearby states the rows determine all of them, but not here


def contradiction(
    rows: Conditions,
    fixed: Mapping[Jet, float],
    at: Mapping[Jet, float],
    guess: Mapping[Jet, float],
    size: Residual,
    note: str = "",
    explain: bool = True,
) -> InitialError:
    """The error for the row that fails, with its residual; with `explain` also the values that each fixed value alone would have to be."""
    where = about(rows.problem.where, "start", row=rows.labels[size.worst])
    if not explain:
        return InitialError(f"the data contradict {rows.labels[size.worst]}: it is off by {size.value:.3g}.", where=where)
    loose = [z for z in at if z not in fixed]
    needed = _needed(rows, fixed, at, loose, guess)
    concerned = list(needed) or _names_in(rows, size.worst, fixed)
    named = rows.pairs[size.worst : size.worst + 1] if needed else rows.pairs
    said = _in_words(needed) or f"These must vanish on every state: {', '.join(rows.labels)}."
    return InitialError(
        f"the data contradict {rows.labels[size.worst]}: it is off by {size.value:.3g}.",
        where=where,
        why=f"{said}{f'  {note}' if note else ''}",
        hint=(*_without(rows, concerned), Ask("classify"), " shows whether the rows themselves contradict each other"),
        origins=tuple(rows.problem.system.origin(row) for row, _ in named),
    )


def _without(rows: Conditions, names: Sequence[str]) -> list[str | Fix]:
    """The advice to leave out one of the values `names`, or to give it as a guess.

    An element of a group cannot be left out, and one of a group of matrices cannot be a guess.
    """
    groups = rows.problem.system.equations.system.groups
    loose = [name for name in names if name not in groups]
    guessed = [name for name in names if name not in groups or not isinstance(groups[name].group, MatrixGroup)]
    if not guessed:
        return ["leave out some of the values, or give them as guesses; "]
    one = "it" if len(guessed) == 1 else "one of them"
    if not loose:
        return [f"give {guessed[0]} as a guess: ", Guess((guessed[0],)), "; "]
    return [LeaveOut(tuple(loose)), f", or give {one} as a guess: ", Guess((guessed[0],)), "; "]


def _needed(
    rows: Conditions, fixed: Mapping[Jet, float], at: Mapping[Jet, float], loose: Sequence[Jet], guess: Mapping[Jet, float]
) -> dict[str, str]:
    """Return `x = 0.6 would have to be 0.43589` for each fixed value, or element of a group, whose change alone removes the fault."""
    start = {**dict.fromkeys(loose, 0.0), **at}
    _, slopes = rows.numbers(list(fixed), start)
    steep = [z for z, slope in zip(fixed, np.abs(slopes).max(axis=0, initial=0.0), strict=True) if slope > 0]
    groups = [g for g in rows.problem.system.equations.system.groups.values() if not set(steep).isdisjoint(g.places)]
    found = {group.name: _element_needed(rows, group, start, loose, guess) for group in groups}
    found |= {z.name: _value_needed(rows, z, start, loose, guess) for z in steep if not isinstance(z, Place)}
    return dict(islice(((name, text) for name, text in found.items() if text), _MOST_LISTED))


def _names_in(rows: Conditions, row: int, fixed: Mapping[Jet, float]) -> list[str]:
    """Return the names of the fixed values in one of the rows; places of an element of a group are given under the name of the group."""
    system, count = rows.problem.system, len(rows.pairs)
    found = system.symbols([rows.pairs[row]]) if row < count else jets_in(rows.demands[row - count].expression)
    owner = {z: group.name for group in system.equations.system.groups.values() for z in group.places}
    return list(dict.fromkeys(owner.get(z, z.name) for z in fixed if z in found))[:_MOST_LISTED]


def _in_words(needed: Mapping[str, str]) -> str:
    return f"{', or '.join(needed.values())}." if needed else ""


def _value_needed(rows: Conditions, z: Jet, start: Mapping[Jet, float], loose: Sequence[Jet], guess: Mapping[Jet, float]) -> str:
    """Return the value of one jet that removes the fault, if there is one and it is isolated."""
    at, opened = _released(rows, [z], start, loose, guess)
    return f"{z.name} = {start[z]:g} would have to be {_digits(at, z, start[z])}" if at and z not in opened else ""


def _element_needed(
    rows: Conditions, group: GroupCoordinate, start: Mapping[Jet, float], loose: Sequence[Jet], guess: Mapping[Jet, float]
) -> str:
    """Return an element of a group that removes the fault, if there is one: usually there are many, and a nearby one is shown."""
    if isinstance(group.group, MatrixGroup):  # the entries cannot be moved one by one
        return f"{group.name} would have to be another matrix of its coset"
    at, opened = _released(rows, group.places, start, loose, guess)
    if not at:
        return ""
    before, after = (written_element(group, [values[z] for z in group.places]) for values in (start, at))
    form = f" ({group.group.shown}s)" if group.group.orthogonal == 3 else ""
    only = opened.isdisjoint(group.places)  # false for a quaternion, whose length is free: the rotation is named as an example
    return f"{group.name} = {before} would have to be {'' if only else 'another element, such as '}{after}{form}"


def _released(
    rows: Conditions, released: Sequence[Jet], start: Mapping[Jet, float], loose: Sequence[Jet], guess: Mapping[Jet, float]
) -> tuple[dict[Jet, float], set[Jet]]:
    """Return values that remove the fault if some fixed ones may change, and the jets that are still free then; empty if there are none."""
    unknowns = [*loose, *released]
    try:
        at = settle(rows, unknowns, start, guess)
        if residual_of(rows, at).scaled > _LARGEST_RESIDUAL:
            return {}, set()
        null = null_at(rows, unknowns, at)
    except StateError:
        return {}, set()
    return at, set(open_jets(unknowns, null))


def _freedom(root: Root, unknowns: Sequence[Jet], guess: Mapping[Jet, float]) -> int:
    """Return the number of missing values that a root leaves free; guesses count as given."""
    if not root.null.shape[1]:
        return 0
    guessed = [line for z, line in zip(unknowns, root.null, strict=True) if z in guess]
    return root.null.shape[1] - (rank(np.array(guessed)) if guessed else 0)


def _digits(at: Mapping[Jet, float], z: Jet, given: float = 0.0) -> str:
    """Return a value to six digits; round-off relative to the others, or to the `given` value, is written 0."""
    size = max(abs(given), *[abs(v) for w, v in at.items() if w.order == z.order])
    return "0" if abs(at[z]) <= _PRINTED_AS_ZERO * max(size, ALMOST_ZERO) else f"{at[z]:.6g}"
