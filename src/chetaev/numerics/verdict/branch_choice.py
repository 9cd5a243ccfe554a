r"""The choice of a motion: a branch, and a gauge for unknowns that the equations leave free.

Regular equations are returned unchanged. If the system Jacobian is singular, the constraint algorithm runs. A single branch is taken; among
several, the named one, or the only one that contains the start. Free functions need a gauge. The result is equations that determine the
motion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sympy import Expr, S, Symbol

from chetaev.core.calculus import total_derivative
from chetaev.core.errors import BranchError, NotationError, PrincipleError, StateError, UsageError, about
from chetaev.core.fixes import Ask, ChooseBranch
from chetaev.core.notation import parse_row
from chetaev.core.state import State
from chetaev.core.support.frozen import Frozen
from chetaev.core.symbols import Coordinate, Input, Jet
from chetaev.core.values import Tape, Undefined
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.origins import ActionRate, Sliding, Stated
from chetaev.mechanics.structure import structure
from chetaev.numerics.corners.mode import Direction
from chetaev.numerics.corners.modes import smooth
from chetaev.numerics.flow.closure import Closure, End, closure_of, hidden_rank
from chetaev.numerics.flow.constraint_set.families import families
from chetaev.numerics.flow.prolongation import Prolongation, prolongation, square_prolongation
from chetaev.numerics.graphs.algebra import GraphAlgebra
from chetaev.numerics.graphs.binding import Binding
from chetaev.numerics.start.completed import Completed, decided_by_state
from chetaev.numerics.start.data import read_state
from chetaev.numerics.start.state_faults import not_determined
from chetaev.numerics.verdict.branches import SECONDS, SECONDS_DECIDED, Branch, Branches, branches_of
from chetaev.numerics.verdict.gauge import Gauge, Given, fixed, gauge_missing, gauge_missing_by_numbers, read_gauge


@dataclass(frozen=True)
class Selection:
    """The user's data that select a motion, for the public function `verb`."""

    start: State | Mapping[str, Any]
    t: float
    branch: Any
    gauge: Any
    where: str
    verb: str
    """The public function that takes branch and gauge."""
    instant: bool = False
    """Whether only the state is evaluated. A motion needs its branch, because it may reach states where the stated rows are singular and
    those of the branch are not."""


@dataclass(frozen=True)
class Chosen:
    """Equations whose motion is determined, the start with the values that branch and gauge add, and the place for messages."""

    equations: Equations
    start: State | Mapping[str, Any]
    where: str
    completed: Completed | None = None
    """The completed state, if it decided the choice."""


def chosen(equations: Equations, binding: Binding, selection: Selection) -> Chosen:
    """Return the equations of the chosen branch and gauge; raise a BranchError or GaugeError where a choice is missing."""
    if equations.system.unilateral:
        return _with_contacts(equations, selection)
    gauges = read_gauge(equations, selection.gauge, selection.where)
    suffice = _random_states_suffice(equations, selection)
    if not suffice:
        there = _decided(equations, binding, gauges, selection)
        if there is not None:
            return Chosen(equations, selection.start, selection.where, there)
    if decided_by_numbers(equations):
        if gauges:
            raise _not_needed("gauge", "the equations leave no function free.", selection.where)
        if selection.branch is None:
            return Chosen(equations, selection.start, selection.where)
    there = _decided(equations, binding, gauges, selection) if suffice else None
    found = branches_of(equations, Frozen(binding.inputs), SECONDS if there is None else SECONDS_DECIDED)
    if there is not None and not found.complete:
        return Chosen(equations, selection.start, selection.where, there)
    if not found.branches:
        return _by_numbers(equations, found, binding, gauges, selection)
    branch = _branch(found, equations, binding, gauges, selection)
    if branch is None:
        return _by_numbers(equations, found, binding, gauges, selection)
    return _on_branch(branch, found, binding, gauges, selection)


def _with_contacts(equations: Equations, selection: Selection) -> Chosen:
    """Return equations with contacts, which have to determine the motion while all contacts are open."""
    if selection.branch is not None or selection.gauge is not None or not decided_by_numbers(equations):
        raise PrincipleError(
            "the equations with open contacts leave branches or free functions.",
            where=selection.where,
            why="Contacts open and close on motions that the equations determine.",
            hint=(Ask("analyze", "equations"), " shows what is left open; a system with contacts takes neither branch nor gauge"),
        )
    return Chosen(equations, selection.start, selection.where)


def _decided(equations: Equations, binding: Binding, gauges: Sequence[Gauge], selection: Selection) -> Completed | None:
    """Return the state if it determines the motion and the user names neither a branch nor a gauge."""
    if gauges or selection.branch is not None:
        return None
    if any(isinstance(mode, Direction) for mode in smooth(equations, Frozen(binding.inputs)).modes):
        return None  # at rest the direction of a velocity has no value: its side is chosen later
    return decided_by_state(equations, selection.start, binding, selection.t, selection.where, instant=selection.instant)


def several_at(equations: Equations, binding: Binding, selection: Selection) -> BranchError | None:
    """Return an error if the state lies on several branches, such as a line and its envelope, which leave the motion undetermined."""
    if equations.system.unilateral or smooth(equations, Frozen(binding.inputs)).implicit_modes:
        return None  # all signs of multipliers were compared
    if not families(equations).others and not bends_in_tops(equations):
        return None
    found = branches_of(equations, Frozen(binding.inputs))
    known = _known(equations, binding, (), selection)
    there = [b for b in found.branches if b.contains(known)]
    return _ambiguous(found, there, selection.where) if len(there) > 1 else None


def _random_states_suffice(equations: Equations, selection: Selection) -> bool:
    """Tell whether the stated rows determine the motion at random states.

    If not, random states may lie on another component than the given state, which then decides. For `instant` that is enough.
    """
    system = square_prolongation(smooth(equations, Frozen({})).smooth)
    return system is None or (not selection.instant and system.generic_nullity is not None)


def is_regular(equations: Equations) -> bool:
    """Tell whether the rows as stated determine the motion, and only rows that the user stated restrict the state.

    A row of motion that restricts the state may be a product, such as Cawley's $q_2 q_3 = 0$, and then hides branches. Where coordinates
    have accelerations, rows that restrict the state only because they are not affine in these do not count: a guess selects their roots.
    """
    equations = smooth(equations, Frozen({})).smooth  # each side of a corner is tested separately
    system = prolongation(equations)
    if system is None or system.generic_nullity is None or not system.square or system.added:
        return False
    return _stated_only(system) or stated_only_as_written(equations)


def decided_by_numbers(equations: Equations) -> bool:
    """Tell whether a system is regular, or its rows, if rows and unknowns differ in number, determine the motion as stated.

    The constraint algorithm would add nothing useful then, and seldom ends within its budget on such systems.
    """
    if is_regular(equations):
        return True
    found = closure_of(equations)
    return found.determined and not found.consequences and not found.others and _stated_only(found.system)


def _stated_only(system: Prolongation) -> bool:
    return all(isinstance(system.origin(i), Stated | Sliding | ActionRate) for i, _ in system.hidden())


@lru_cache(maxsize=32)
def stated_only_as_written(equations: Equations) -> bool:
    """As `_stated_only`, decided before rows are differentiated, if every coordinate has a derivative of its own."""
    found = structure(equations, GraphAlgebra())
    if found is None or not _stated_only(Prolongation(equations, found)):
        return False
    return all(d > 0 for z, d in zip(found.unknowns, found.unknown_offsets, strict=True) if isinstance(z, Coordinate))


@lru_cache(maxsize=32)
def bends_in_tops(equations: Equations) -> bool:
    """Tell whether rows are not affine in their highest derivatives, so that an envelope of motions may be a motion (Clairaut)."""
    system = square_prolongation(equations)
    if system is None or not system.hidden():
        return False
    below = [z for z in system.structure.state if z.d() in system.structure.top]
    if not system.curved(system.stage(-1), below):
        return False
    plain = structure(equations, GraphAlgebra())
    return plain is not None and plain.unknown_offsets != system.structure.unknown_offsets


def _on_branch(branch: Branch, found: Branches, binding: Binding, gauges: Sequence[Gauge], selection: Selection) -> Chosen:
    several = len(found.branches) > 1 or selection.branch is not None
    where = f"{selection.where}, branch {branch.text}" if several else selection.where
    if gauges and not branch.free:
        raise _not_needed("gauge", "the equations leave no function free.", where)
    if branch.free and not gauges:
        raise gauge_missing(branch.free, where, selection.verb, _given(branch.equations, binding, selection))
    enough = not several and _suffices(branch)
    equations = branch.equations if enough else branch.restricted
    start = _started(equations, binding, selection, branch.leaf.constraints if several else (), gauges)
    if gauges:
        return Chosen(fixed(equations, gauges, len(branch.free), where, selection.verb), start, where)
    if prolongation(equations) is None or not (enough or closure_of(equations).determined):
        raise StateError(
            "the rows of the branch do not close numerically.",
            where=where,
            why=str(closure_of(equations).end),
            hint=(Ask("analyze"), " gives details"),
        )
    return Chosen(equations, start, where)


def on_one_branch(equations: Equations, inputs: Frozen[str, Expr]) -> bool:
    """Tell whether the constraint algorithm finds one branch and no free function, and the rows as stated determine the motion on it."""
    found = branches_of(equations, inputs)
    return found.complete and len(found.branches) == 1 and not found.branches[0].free and _suffices(found.branches[0])


def _suffices(branch: Branch) -> bool:
    """Tell whether the rows as stated leave as many values free as the branch, so that the rows of the branch are not needed."""
    plain = closure_of(branch.equations)
    return plain.end is End.CLOSED and len(plain.free) == len(branch.free) and not _bends_away(plain, branch)


def _bends_away(plain: Closure, branch: Branch) -> bool:
    """Tell whether the stated rows have a multiple root on the branch, as $q_1^2 = 0$ has: their slopes vanish exactly there."""
    if branch.point is None:
        return False
    return hidden_rank(plain.system, [branch.point]) < hidden_rank(plain.system, plain.system.points)


def _by_numbers(equations: Equations, found: Branches, binding: Binding, gauges: Sequence[Gauge], selection: Selection) -> Chosen:
    """Choose by the numerical analysis where the constraint algorithm has found no branch."""
    if selection.branch is not None:
        why = f"The branches are not all known: {found.reason}." if found.reason else "There is no motion."
        raise BranchError(f"no branch {selection.branch!r} is known.", where=about(selection.where, "branch"), why=why, hint="leave it out")
    there = _decided(equations, binding, gauges, selection)
    if there is not None:  # the state lies on one of several families with different ranks
        return Chosen(equations, selection.start, selection.where, there)
    closed = closure_of(equations)
    if found.complete and closed.end is not End.EMPTY and not found.branches:
        raise StateError(
            "the equations have no motion.",
            where=selection.where,
            why="The constraint algorithm ends without a real manifold of states.",
            hint=(Ask("analyze"), " gives details"),
        )
    if closed.end is End.CLOSED and closed.free:
        if not gauges:
            raise gauge_missing_by_numbers(closed, selection.where, selection.verb, _given(equations, binding, selection))
        rows = fixed(equations, gauges, len(closed.free), selection.where, selection.verb)
        return Chosen(rows, _started(equations, binding, selection, (), gauges), selection.where)
    if gauges and closed.determined:
        raise _not_needed("gauge", "the equations leave no function free.", selection.where)
    if closed.determined:
        return Chosen(equations, selection.start, selection.where)
    raise not_determined(equations, selection.where)


def _branch(found: Branches, equations: Equations, binding: Binding, gauges: Sequence[Gauge], selection: Selection) -> Branch | None:
    if selection.branch is not None:
        return _named(found, equations, selection)
    if len(found.branches) == 1:
        return found.branches[0] if found.complete or not closure_of(equations).determined else None
    known = _known(equations, binding, gauges, selection)
    there = [b for b in found.branches if b.contains(known)]
    if len(there) > 1 and gauges:
        there = [b for b in there if b.free] or there
    if len(there) == 1:
        return there[0]
    if not there and not found.complete and closure_of(equations).determined:
        return None  # a branch that was not found in time may contain the state; the numerical analysis decides
    raise _ambiguous(found, there, selection.where) if there else _off_all_branches(found, known, selection.where)


def _named(found: Branches, equations: Equations, selection: Selection) -> Branch:
    """Return the branch named by number, by object or by some of its constraints."""
    from chetaev.singular.algorithm import Leaf  # already loaded if there are branches

    given, branches = selection.branch, found.branches
    if len(branches) == 1 and found.complete:
        raise _not_needed("branch", "the equations have one branch.", selection.where)
    leaf = given if isinstance(given, Leaf) else getattr(given, "leaf", None)
    if leaf is not None:
        fitting = [b for b in branches if b.leaf.constraints == leaf.constraints]
    elif isinstance(given, int) and not isinstance(given, bool):
        fitting = [b for b in branches if b.number == given]
    elif isinstance(given, str):
        wanted = _constraints(given, equations, f"{selection.where}, branch")
        fitting = [b for b in branches if b.fulfils(wanted)]
    else:
        raise UsageError(f"a branch given as {type(given).__name__}.", where=about(selection.where, "branch"), hint=_how(branches))
    if len(fitting) == 1:
        return fitting[0]
    shown = given if isinstance(given, int | str) else "the given one"
    why = f"There are {_listed(branches)}."
    if fitting:
        raise BranchError(
            f"branch {shown!r} fits {len(fitting)} branches.", where=about(selection.where, "branch"), why=why, hint=_how(fitting)
        )
    raise BranchError(f"there is no branch {shown!r}.", where=about(selection.where, "branch"), why=why, hint=_how(branches))


def _constraints(text: str, equations: Equations, where: str) -> list[Expr]:
    """The expressions that vanish, of a text such as `q3 = 0`, `q3 = q3' = 0` or `{x = 0, y = 0}`."""
    body = text.strip()
    body = body[1:-1] if body.startswith("{") and body.endswith("}") else body
    found = []
    for part in body.split(","):
        sides = part.split("=")
        if len(sides) > 1 and not any(s.strip() for s in sides):
            raise NotationError("a side of the equation is missing.", where=where, text=text, span=(0, len(text)))
        last = sides[-1] if len(sides) > 1 else "0"
        for side in sides[:-1] or sides:
            lhs, rhs = parse_row(f"{side.strip()} = {last.strip()}", equations.vocabulary, where)
            found.append(lhs - rhs)
    return found


def _known(equations: Equations, binding: Binding, gauges: Sequence[Gauge], selection: Selection) -> dict[Symbol, float]:
    """Values of parameters, time, the jets that the start fixes, and those that follow from gauges."""
    data = read_state(equations, selection.start, binding, selection.where, expressions=True)
    fixed = {z: v for z, v in data.fixed.items() if not equations.lowered.is_reaction(z)}
    known: dict[Symbol, float] = {**binding.at(frozenset(), selection.t), **fixed}
    return _following(_derived(equations, binding, [g.target - g.value for g in gauges]), known)


def _given(equations: Equations, binding: Binding, selection: Selection) -> Given:
    """The values of jets that the start fixes, for examples of gauges that meet them."""
    data = read_state(equations, selection.start, binding, selection.where, expressions=True)
    return Given(float(selection.t), {z.name: float(v) for z, v in data.fixed.items()})


def _started(
    equations: Equations, binding: Binding, selection: Selection, constraints: Sequence[Expr], gauges: Sequence[Gauge]
) -> State | Mapping[str, Any]:
    """Return the start with guesses for jets that constraints of the branch, and the gauges, determine one by one."""
    rows = [*constraints, *_derived(equations, binding, [g.target - g.value for g in gauges])]
    if not rows:
        return selection.start
    data = read_state(equations, selection.start, binding, selection.where, expressions=True)
    given: dict[Symbol, float] = {**binding.at(frozenset(), selection.t), **data.fixed}
    algebraic = equations.lowered.is_reaction
    values = _following(rows, given)
    found = {z.name: v for z, v in values.items() if z not in given and z not in data.guess and not algebraic(z)}
    start = selection.start if isinstance(selection.start, State) else State(fixed=selection.start)
    return State(start.fixed, {**found, **start.guess})


def _derived(equations: Equations, binding: Binding, rows: Sequence[Expr]) -> list[Expr]:
    """Rows and their first derivatives, with inputs written out."""
    found = [equations.total(row, k) if k else row for k in (0, 1, 2) for row in rows]
    return [
        e.xreplace({z: total_derivative(binding.inputs[z.base], z.order) for z in e.free_symbols if isinstance(z, Input)}) for e in found
    ]


def _following(rows: Sequence[Expr], given: Mapping[Symbol, float]) -> dict[Symbol, float]:
    """Return the given values, and those of jets that are the only unknown of a row and enter it affinely."""
    known = dict(given)
    left = list(rows)
    while True:
        alone = [(e, next(iter(e.free_symbols - known.keys()))) for e in left if len(e.free_symbols - known.keys()) == 1]
        ready = [(e, z) for e, z in alone if isinstance(z, Jet) and z not in e.diff(z).free_symbols]
        if not ready:
            return known
        e, z = ready[0]
        left.remove(e)
        try:
            slope, rest = Tape([e.diff(z), e.xreplace({z: S.Zero})])(known)
        except Undefined:
            continue
        if slope:
            known[z] = float(-rest / slope)


def _ambiguous(found: Branches, there: Sequence[Branch], where: str) -> BranchError:
    return BranchError(
        f"the motions lie on {len(found.branches)} branches, and this state lies on {len(there)} of them: {_listed(there)}.",
        where=about(where, "branch"),
        why="Where branches cross, or data are missing, the equations do not decide which motion is meant.",
        hint=_how(there),
    )


def _off_all_branches(found: Branches, known: Mapping[Symbol, float], where: str) -> BranchError:
    offs = ", ".join(f"{b.distance(known):.2g} off {b.text}" for b in found.branches)
    jets = " ".join(z.name for z in known if isinstance(z, Jet))
    return BranchError(
        f"this state lies on none of the {len(found.branches)} branches: it is {offs}.",
        where=about(where, "start"),
        why=f"No motion passes through it, according to its values of {jets}.",
        hint="a state on a branch",
    )


def _listed(branches: Sequence[Branch]) -> str:
    return ", ".join(f"branch {b.number} {b.text}" for b in branches)


def _how(branches: Sequence[Branch]) -> list[ChooseBranch]:
    return [ChooseBranch(b.number) for b in branches]


def _not_needed(name: str, why: str, where: str) -> UsageError:
    return UsageError(
        f"{name} is given, and this system does not need it.",
        where=about(where, name),
        why=f"As far as is known {why}",
        hint="leave it out",
    )
