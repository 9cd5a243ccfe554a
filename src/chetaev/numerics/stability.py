r"""Linearised motion on the constraint manifold: its matrix and eigenvalues, equilibria, and eigenvalues along a parameter.

The state $x$ moves by $x' = f(t, x)$ on the manifold $H(t, x) = 0$ of all constraints, hidden ones too. Independent jets $y$ of the state
are a chart, $x = x(y)$, in which the motion is $y' = g(y) = f_y(x(y))$, and

$$ \frac{\partial g}{\partial y} = A_y X, \qquad A = \frac{\partial f}{\partial x}, \qquad
   X = \frac{\partial x}{\partial y}, \quad H_x X = 0, \quad X_y = 1. $$

Nothing is divided by a rate and no acceleration is left in the matrix, so this holds at any state. $A$ follows from the rows
$F(x, w) = 0$ that determine the jets $w$ at the top, by $\partial w/\partial x = -F_w^{-1} F_x$. Eigenvalues tell about stability where
all that influences the motion is at rest: at equilibria, and at steady motions, where only places, headings and the like change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eig, matrix_balance, qr
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from chetaev.analysis.ranks import Matrix
from chetaev.declarations import read_value
from chetaev.derivation import derive
from chetaev.equations import Equations
from chetaev.errors import ChetaevError, InitialError, ParameterError, StateError, UsageError, did_you_mean
from chetaev.frozen import Frozen
from chetaev.model import Model
from chetaev.notation.lexer import spell
from chetaev.numerics.binding import bind, number
from chetaev.numerics.evaluate import Evaluation, evaluate
from chetaev.numerics.initial import State, complete, read_state
from chetaev.numerics.prolong import Pair, Problem, Prolongation, prolongation
from chetaev.symbols import TIME, Action, Input, Jet, Multiplier

Complex = NDArray[np.complex128]
Start = State | Mapping[str, Any]

_CUT = 1e-9
_CLEARED = 1e-13
_EPSILON = 2.220446049250313e-16
_NOTHING = (np.zeros(0), np.zeros((0, 0)))
_NEGLIGIBLE = 1e-6
_DOUBT = 1e-12
_FAMILY = 0.05
_KEPT = 1e-8
_SWEEPS = 12
_STEPS = 200
_HALVINGS = 12
_SOLVED = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class Linearization:
    """The linearised motion about a state, in independent jets of the state."""

    matrix: Matrix
    """The derivative of the rates of `names` by `names`, on the constraint manifold."""
    names: tuple[str, ...]
    """The independent jets: a chart of the constraint manifold."""
    eigenvalues: Complex
    """Of the matrix, the largest real part first."""
    stable: bool | None
    """True: all disturbances decay, but for those that lead to another steady motion of a family. False: one grows. None: undecided."""
    verdict: str
    """A sentence that gives the reason."""
    steady: bool
    """Whether all that influences the motion is at rest, so that the eigenvalues are those of the motion and not of an instant."""
    full: Matrix
    """The derivative of all rates by all jets of the state, constraints disregarded."""
    tangent: Matrix
    """The derivative of all jets of the state by the independent ones: its columns span the tangent space."""
    state: Mapping[str, float]
    """The jets of the state, in the order of `full` and of the rows of `tangent`."""
    rates: Mapping[str, float]
    """The rate of every jet of the state: all zero at an equilibrium."""
    title: str

    def __post_init__(self) -> None:
        for name in ("matrix", "eigenvalues", "full", "tangent"):
            getattr(self, name).setflags(write=False)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        size = float(np.abs(self.eigenvalues).max(initial=0.0))
        written = ",  ".join(_complex_text(v, size) for v in self.eigenvalues)
        lines = [self.title, f"  {'eigenvalues':<12} {written or 'none'}"]
        lines.append(f"  {'stability':<12} {self.verdict}")
        cells = [["", *self.names], *[[f"({name})'", *map(_number_text, row)] for name, row in zip(self.names, self.matrix, strict=True)]]
        widths = [max(len(line[j]) for line in cells) for j in range(len(cells[0]))]
        lines += ["  " + "  ".join(cell.rjust(w) for cell, w in zip(line, widths, strict=True)) for line in cells if self.names]
        return "\n".join(lines)


@dataclass(frozen=True, eq=False, repr=False)
class Equilibrium(Mapping[str, float]):
    """A state that stays: its jets by name, usable as a start; `now` has multipliers and accelerations too."""

    now: Evaluation
    names: tuple[str, ...]
    residual: float
    """The largest rate that should be zero and is not quite."""

    def __getitem__(self, name: str) -> float:
        return self.now[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        width = max(map(len, (*self.names, "residual")))
        lines = [f"{name:<{width}}  {self.now[name]: .15g}" for name in self.names]
        return "\n".join([*lines, f"{'residual':<{width}}  {self.residual: .1e}"])


def linearize(
    equations: Any,
    state: Start | None = None,
    *,
    parameters: Mapping[str, Any] | None = None,
    t: float | None = None,
    inputs: Mapping[str, Any] | None = None,
) -> Linearization:
    r"""The linearised motion at a state, reduced to independent jets $y$ of it: $\delta y' = A_y X\, \delta y$ as above.

    The state is completed from the constraints as in `evaluate`, and need not be an equilibrium: at a steady motion, such as straight
    rolling, the eigenvalues decide in the same way. Zero eigenvalues are disregarded where a family of steady motions explains them
    (another place, heading or speed); a zero eigenvalue of another kind, or a pair on the imaginary axis, leaves `stable` at None,
    because terms of higher order decide there.

    >>> from chetaev import System
    >>> pendulum = derive(System("theta", "g l", lagrangian="l^2*theta'^2/2 + g*l*cos(theta)", name="pendulum"))
    >>> print(linearize(pendulum, {"theta": "pi", "theta'": 0}, parameters={"g": 9, "l": 1}))
    linearisation of 'pendulum' at an equilibrium
      eigenvalues  3,  -3
      stability    unstable: a disturbance grows as exp(3*t).
                 theta  theta'
       (theta)'      0       1
      (theta')'      9       0

    V. I. Arnold, V. V. Kozlov, A. I. Neishtadt, Mathematical Aspects of Classical and Celestial Mechanics, 3rd ed., chapter 7;
    Ju. I. Neimark, N. A. Fufaev, Dynamics of Nonholonomic Systems (AMS 1972), chapter VI.
    """
    return _local("linearize", equations, state, parameters, t, inputs).linearization()


@overload
def equilibria(
    equations: Any,
    guess: Start,
    *,
    parameters: Mapping[str, Any] | None = None,
    t: float = 0.0,
    inputs: Mapping[str, Any] | None = None,
    fixed: Sequence[str] | str = (),
) -> Equilibrium: ...


@overload
def equilibria(
    equations: Any,
    guess: Sequence[Start],
    *,
    parameters: Mapping[str, Any] | None = None,
    t: float = 0.0,
    inputs: Mapping[str, Any] | None = None,
    fixed: Sequence[str] | str = (),
) -> list[Equilibrium]: ...


def equilibria(
    equations: Any,
    guess: Start | Sequence[Start],
    *,
    parameters: Mapping[str, Any] | None = None,
    t: float = 0.0,
    inputs: Mapping[str, Any] | None = None,
    fixed: Sequence[str] | str = (),
) -> Equilibrium | list[Equilibrium]:
    """A state near the guess in which all rates vanish; for a list of guesses the list of different states they lead to.

    Coordinates and multipliers without a guess start at 0; coordinates that no equation determines stay near their guess. Names in `fixed`
    keep their guess. A velocity may be fixed, too: its coordinate may then grow at that rate, cyclic coordinates follow as they must,
    and a steady motion is sought in place of an equilibrium (straight rolling at a given psi', a conical pendulum at a given phi').
    The action of Herglotz' principle is required to rest only where it has an effect.

    >>> from chetaev import System
    >>> spring = derive(System("x", "k m g", lagrangian="m*x'^2/2 - k*x^2/2 - m*g*x"))
    >>> equilibria(spring, {"x": 0}, parameters={"k": 2, "m": 1, "g": 10})["x"]
    -5.0
    """
    equations, parameters, inputs = _read_model("equilibria", equations, parameters, inputs)
    where = f"equilibria of {equations.system.label}"
    search = _Search(equations, parameters, inputs, t, _names(fixed, where), where)
    if isinstance(guess, Mapping | State):
        return search.near(guess)
    if isinstance(guess, str) or not isinstance(guess, Sequence) or not guess:
        hint = '{"x": 0}, or a list of such guesses'
        raise UsageError(f"a guess is a mapping from names to values, not {guess!r}.", where=where, hint=hint)
    found: list[Equilibrium] = []
    failures: list[InitialError] = []
    for one in guess:
        try:
            state = search.near(one)
        except InitialError as failure:
            failures.append(failure)
            continue
        if not any(_same(state, other) for other in found):
            found.append(state)
    if not found:
        last = failures[-1]
        raise InitialError(f"none of {len(guess)} guesses leads to an equilibrium; the last: {last.what}", where=where, hint=last.hint)
    return found


def eigenvalue_sweep(
    equations: Any,
    state: Start | Callable[[float], Start] | None,
    parameter: str,
    values: Any,
    *,
    parameters: Mapping[str, Any] | None = None,
    t: float | None = None,
    inputs: Mapping[str, Any] | None = None,
) -> Complex:
    """Eigenvalues of the linearised motion for each value of a parameter, a row per value, each column one eigenvalue followed.

    `state` is a state, or a function that gives one for a value: the equilibrium moves with the parameter. `parameter` may also be a
    jet of the state such as `psi'`. Neighbouring rows are matched as a whole so that the columns continue as smoothly as possible.

    >>> from chetaev import System
    >>> well = derive(System("x", "k", lagrangian="x'^2/2 - k*x^2/2"))
    >>> eigenvalue_sweep(well, {"x": 0, "x'": 0}, "k", [-4, 4]).round(12)
    array([[ 2.+0.j, -2.+0.j],
           [ 0.+2.j,  0.-2.j]])
    """
    if isinstance(equations, Model):
        state = equations.start if state is None else state
        t = equations.t[0] if t is None else t
    equations, parameters, inputs = _read_model("eigenvalue_sweep", equations, parameters, inputs)
    where = f"eigenvalue_sweep {equations.system.label}"
    is_jet = _is_jet(equations, parameter, where)
    points = _points(values, where)
    rows: list[Complex] = []
    for k, v in enumerate(points):
        at: Any = state(float(v)) if callable(state) else state
        changed = parameters if is_jet else {**_without(parameters, parameter), parameter: float(v)}
        at = _with_value(at, parameter, float(v)) if is_jet else at
        found = _sorted(_local("eigenvalue_sweep", equations, at, changed, t, inputs).spectrum[0])
        if rows and len(found) != len(rows[0]):
            what = f"the motion has {len(rows[0])} free values at first and {len(found)} at {parameter} = {v:g}."
            raise StateError(what, where=where, why="Eigenvalues cannot be followed through a change of dimension.")
        rows.append(found if k == 0 else found[_matched(rows, points[: k + 1], found)])
    return np.array(rows)


# -- a state and the motion near it ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Spot:
    """Rates and constraints at one state, with their derivatives."""

    x: Matrix
    rates: Matrix
    full: Matrix
    sizes: Matrix
    """The sizes of what was added up in `full`."""
    residual: Matrix
    rows: Matrix
    """The derivative of the constraints."""

    @property
    def negligible(self) -> Matrix:
        """What a rate may be for the state to count as at rest."""
        found: Matrix = _NEGLIGIBLE * (self.sizes @ np.maximum(np.abs(self.x), 1.0)) + 1e-12
        return found


def _spot(problem: Problem, x: Matrix) -> _Spot:
    r"""The rates $f$, and $A$ from the rows by implicit differentiation."""
    system = problem.system
    state, top = system.structure.state, system.structure.top
    jets = dict(zip(state, map(float, x), strict=True))
    pairs, both, n = system.stage(0), (*state, *top), len(state)
    values, jacobian = problem.numbers(pairs, both, {**jets, **dict.fromkeys(top, 0.0)})
    inverse, rank = _inverse(jacobian[:, n:])
    tops = -inverse @ values
    values, jacobian = problem.numbers(pairs, both, {**jets, **dict(zip(top, map(float, tops), strict=True))})
    tops = tops - inverse @ values  # removes round-off
    if rank < len(top) - (system.generic_nullity or 0):
        raise StateError("the accelerations are not determined at this state.", where=problem.where, hint="a state off this locus")
    slopes, sizes = -inverse @ jacobian[:, :n], np.abs(inverse) @ np.abs(jacobian[:, :n])
    rises, reached = _places(system)
    full, terms, rates = np.zeros((n, n)), np.zeros((n, n)), np.zeros(n)
    full[rises[:, 0], rises[:, 1]] = terms[rises[:, 0], rises[:, 1]] = 1.0
    rates[rises[:, 0]] = x[rises[:, 1]]
    full[reached[:, 0]], terms[reached[:, 0]], rates[reached[:, 0]] = slopes[reached[:, 1]], sizes[reached[:, 1]], tops[reached[:, 1]]
    hidden = system.hidden()
    residual, rows = problem.numbers(hidden, state, jets) if hidden else (np.zeros(0), np.zeros((0, n)))
    return _Spot(np.array(x, dtype=float), rates, full, terms, residual, rows)


@lru_cache(maxsize=32)
def _places(system: Prolongation) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of places: a jet and its derivative within the state, and a jet of the state whose derivative is at the top."""
    state = {z: i for i, z in enumerate(system.structure.state)}
    top = {z: j for j, z in enumerate(system.structure.top)}
    rises = [(i, state[z.d()]) for z, i in state.items() if z.d() in state]
    reached = [(i, top[z.d()]) for z, i in state.items() if z.d() in top]
    return np.array(rises, dtype=np.int64).reshape(-1, 2), np.array(reached, dtype=np.int64).reshape(-1, 2)


@dataclass(frozen=True)
class _Chart:
    """Independent jets and the ones the constraints bind, by their places in the state."""

    free: tuple[int, ...]
    bound: tuple[int, ...]

    def reduced(self, spot: _Spot) -> tuple[Matrix, Matrix, Matrix]:
        """$X$, $A_y X$, and how much of its entries may be round-off."""
        free, bound = list(self.free), list(self.bound)
        tangent = np.zeros((len(spot.x), len(free)))
        tangent[free] = np.eye(len(free))
        if bound:
            inverse, right = _inverse(spot.rows[:, bound])[0], spot.rows[:, free]
            found = -inverse @ right
            found[np.abs(found) <= _CLEARED * (np.abs(inverse) @ np.abs(right))] = 0.0
            tangent[bound] = found
        return tangent, spot.full[free] @ tangent, _CLEARED * (spot.sizes[free] @ np.abs(tangent))


def _chart(problem: Problem, x: Matrix) -> _Chart:
    """The bound jets stage by stage, from the highest jets of each row: constant coefficients first, then cyclic coordinates.

    A jet with a constant coefficient (x' in x' = R*psi'*cos(phi)) is expressed by the others without denominators, and a chart of the
    others respects the symmetries of the system.
    """
    structure = problem.system.structure
    cyclic = _cyclic(problem.system)
    bound: list[int] = []
    shifts = np.random.default_rng(1).uniform(0.01, 0.05, (2, len(x)))
    nearby = [x, *[x + shift * np.maximum(np.abs(x), 1.0) for shift in shifts]]
    for k in problem.system.stages():
        pairs = problem.system.stage(k)
        jets = [z.d(d + k) for z, d in zip(structure.unknowns, structure.unknown_offsets, strict=True) if d + k >= 0]
        found = [a for a in (_jacobian(problem, pairs, jets, point) for point in nearby) if a is not None]
        varies = np.max([np.abs(a - found[0]).max(axis=0, initial=0.0) for a in found], axis=0)
        weights = np.where(varies > _CUT * np.abs(found[0]).max(axis=0, initial=0.0), 0.1, 1.0) * np.array(
            [1.0 if z.base in cyclic else 0.7 for z in jets]
        )
        r, order = qr(_scaled(found[0])[1] * weights * (1 + 1e-6 * np.arange(len(jets))), mode="r", pivoting=True)
        sizes = np.abs(np.diag(r))
        rank = int(np.sum(sizes > _CUT * sizes[0])) if len(sizes) and sizes[0] > 0 else 0
        bound += [structure.state.index(jets[j]) for j in order[:rank]]
    return _Chart(tuple(i for i in range(len(structure.state)) if i not in bound), tuple(sorted(bound)))


def _jacobian(problem: Problem, pairs: Sequence[Pair], jets: Sequence[Jet], x: Matrix) -> Matrix | None:
    try:
        return problem.numbers(pairs, jets, dict(zip(problem.system.structure.state, map(float, x), strict=True)))[1]
    except StateError:
        return None


def _cyclic(system: Prolongation) -> set[str]:
    """Unknowns that occur only by their derivatives."""
    present = system.symbols([*system.hidden(), *system.stage(0)])
    return {z.base for z, d in zip(system.structure.unknowns, system.structure.unknown_offsets, strict=True) if d and z not in present}


@dataclass(frozen=True)
class _View:
    """A state seen in a chart."""

    spot: _Spot
    tangent: Matrix
    matrix: Matrix


def _view(problem: Problem, chart: _Chart, x: Matrix) -> _View:
    """With entries of the matrix that are round-off cleared: those that change when the last digits of the state do.

    Only then do the blocks of the matrix separate.
    """
    spot = _spot(problem, x)
    tangent, matrix, noise = chart.reduced(spot)
    for digits in np.random.default_rng(4).uniform(-8, 8, (3, len(x))):
        other = chart.reduced(_spot(problem, x + digits * _EPSILON * np.maximum(np.abs(x), 1.0)))[1]
        noise = np.maximum(noise, 10 * np.abs(other - matrix))
    sizes = np.abs(matrix)
    return _View(spot, tangent, np.where(sizes <= np.maximum(noise, 0.1 * _CLEARED * _least(matrix)), 0.0, matrix))


def _least(matrix: Matrix) -> Matrix:
    """The smaller of the largest entries in the row and in the column of each entry."""
    sizes = np.abs(matrix)
    found: Matrix = np.minimum(sizes.max(axis=1, initial=0.0)[:, None], sizes.max(axis=0, initial=0.0)[None, :])
    return found


@dataclass(frozen=True)
class _Local:
    """The motion near a state in a chart."""

    problem: Problem
    chart: _Chart
    view: _View

    @classmethod
    def of(cls, problem: Problem, x: Matrix) -> _Local:
        """At a consistent state."""
        chart = _chart(problem, x)
        found = cls(problem, chart, _view(problem, chart, x))
        rows, tangent = np.abs(found.view.spot.rows), np.abs(found.view.tangent)
        left = np.abs(found.view.spot.rows @ found.view.tangent) > _KEPT * rows.max(axis=1, initial=0.0)[:, None] * tangent.max(axis=0)
        if left.any():
            label = problem.system.label(problem.system.hidden()[int(np.argmax(left.any(axis=1)))])
            raise StateError(
                f"the constraints have a singular point here: {label} binds no direction of its own.",
                where=problem.where,
                why="The states that satisfy all constraints form no manifold at this one.",
                hint="a state nearby",
            )
        return found

    @property
    def y(self) -> Matrix:
        """The independent jets."""
        found: Matrix = self.view.spot.x[list(self.chart.free)]
        return found

    @cached_property
    def quotient(self) -> tuple[Matrix, Matrix]:
        """Coordinates $z = L y$ of all that influences the motion, and a lift $y = R z$.

        Directions in which the rates are constant, at this state and nearby, are divided out: places, headings, the sum of angles of
        coupled rotors. What is left may have new such directions, until none is found.
        """
        matrices = [self.view.matrix]
        for shift in np.random.default_rng(3).uniform(-0.03, 0.03, (3, len(self.y))):
            x = self._on_manifold(self.problem, self.y + shift * np.maximum(np.abs(self.y), 1.0))
            if x is not None:
                matrices.append(_view(self.problem, self.chart, x).matrix)
        down = up = np.eye(len(self.y))
        while len(down):
            left, right = _without_null([down @ m @ up for m in matrices])
            if len(left) == len(down):
                break
            down, up = left @ down, up @ right
        return down, up

    @cached_property
    def spectrum(self) -> tuple[Complex, Matrix]:
        """Eigenvalues and how far round-off may move them; those of directions divided out are zero."""
        down, up = self.quotient
        values, doubts = _spectrum(down @ self.view.matrix @ up)
        more = len(self.y) - len(values)
        return np.concatenate([values, np.zeros(more)]), np.concatenate([doubts, np.zeros(more)])

    def linearization(self) -> Linearization:
        """With the verdict."""
        spot = self.view.spot
        stable, verdict = self._verdict()
        state = self.problem.system.structure.state
        at_rest = bool(np.all(np.abs(spot.rates) <= spot.negligible))
        kind = "an equilibrium" if at_rest and self.steady else "a steady motion" if self.steady else "a state that passes"
        return Linearization(
            matrix=self.view.matrix,
            names=tuple(state[i].name for i in self.chart.free),
            eigenvalues=_sorted(self.spectrum[0]),
            stable=stable,
            verdict=verdict,
            steady=self.steady,
            full=spot.full,
            tangent=self.view.tangent,
            state=Frozen(zip((z.name for z in state), map(float, spot.x), strict=True)),
            rates=Frozen(zip((z.name for z in state), map(float, spot.rates), strict=True)),
            title=f"linearisation of {self.problem.system.equations.system.label} at {kind}",
        )

    @cached_property
    def steady(self) -> bool:
        """Whether all that influences the motion is at rest, now and later, and its matrix does not change in time."""
        if not self._rests(self.view.spot):
            return False
        if not self._depends_on_time():
            return True
        down, up = self.quotient
        matrix = down @ self.view.matrix @ up
        fastest = float(np.abs(self.spectrum[0]).max(initial=0.0)) or 1.0
        for s in (0.37, 1.23, 0.37 / fastest, 1.23 / fastest):
            later = replace(self.problem, t=self.problem.t + s)
            x = self._on_manifold(later, self.y)
            view = None if x is None else _view(later, self.chart, x)
            if view is None or not self._rests(view.spot):
                return False
            changed = np.abs(down @ view.matrix @ up - matrix)
            if np.any(changed > _NEGLIGIBLE * np.maximum(_least(matrix), np.abs(matrix))):
                return False
        return True

    def _rests(self, spot: _Spot) -> bool:
        down, free = self.quotient[0], list(self.chart.free)
        return bool(np.all(np.abs(down @ spot.rates[free]) <= np.abs(down) @ spot.negligible[free]))

    def _depends_on_time(self) -> bool:
        system = self.problem.system
        return any(z == TIME or isinstance(z, Input) for z in system.symbols([*system.hidden(), *system.stage(0)]))

    def _verdict(self) -> tuple[bool | None, str]:
        values, doubts = self.spectrum
        if not self.steady:
            return None, "undecided: this is no steady motion, the matrix changes along it; ch.equilibria finds steady ones."
        moving = np.abs(values) > doubts
        zeros = int(np.sum(~moving))
        if not moving.any():
            return None, "undecided: no eigenvalue differs from zero." if zeros else "undecided: the constraints leave nothing free."
        k = int(np.argmax(np.where(moving, values.real, -np.inf)))
        if values[k].real > doubts[k]:
            return False, f"unstable: a disturbance grows as exp({values[k].real:.6g}*t)."
        neutral = moving & (np.abs(values.real) <= doubts)
        if neutral.any():
            size = np.abs(values[neutral]).max()
            return None, f"undecided: an oscillation, of frequency {size:.6g}, neither grows nor decays to first order."
        if not zeros:
            return True, "stable: every disturbance decays."
        if self._zeros_are_a_family():
            return True, f"stable: disturbances decay, but for {zeros} {'direction' if zeros == 1 else 'directions'} of like motions."
        return None, f"undecided: like motions do not explain every zero eigenvalue ({zeros} in all); terms of higher order decide."

    def _zeros_are_a_family(self) -> bool:
        """Whether the zero eigenvalues belong to steady motions nearby, and not to a bifurcation.

        What influences the motion is at rest, and must be at rest at states a finite distance away in every direction of its null
        space, corrected across it.
        """
        down, up = self.quotient
        matrix = down @ self.view.matrix @ up
        values, doubts = _spectrum(matrix)
        count = int(np.sum(np.abs(values) <= doubts))
        if not count:
            return True
        fastest = float(np.abs(values).max())
        balanced, (scale, _) = matrix_balance(matrix, permute=False, separate=True)
        u, s, vt = np.linalg.svd(balanced)
        rank = int(np.sum(s > _CUT * max(fastest, s[0])))
        if len(matrix) - rank != count:
            return False
        inverse = scale[:, None] * ((vt[:rank].T / s[:rank]) @ u[:, :rank].T) / scale
        mixed = np.random.default_rng(2).normal(size=(count, 2 * count)) if count > 1 else np.zeros((1, 0))
        directions = scale[:, None] * (vt[rank:].T @ np.hstack([np.eye(count), mixed]))
        return all(self._continues(sign * column, inverse, scale, fastest) for column in directions.T for sign in (1, -1))

    def _continues(self, direction: Matrix, inverse: Matrix, scale: Matrix, fastest: float) -> bool:
        """Whether there is a state at rest at a distance in a direction of the quotient."""
        down, up = self.quotient
        shift = _FAMILY * direction / np.max(np.abs(up @ direction) / np.maximum(np.abs(self.y), 1.0))
        small = _KEPT * fastest * float(np.linalg.norm(shift / scale))
        for _ in range(30):
            x = self._on_manifold(self.problem, self.y + up @ shift)
            if x is None:
                return False
            rates = down @ _spot(self.problem, x).rates[list(self.chart.free)]
            if float(np.linalg.norm(rates / scale)) <= small:
                return True
            shift = shift - inverse @ rates
        return False

    def _on_manifold(self, problem: Problem, y: Matrix) -> Matrix | None:
        """The state with given independent jets, by Newton's iteration from this state; None if there is none."""
        x = self.view.spot.x.copy()
        x[list(self.chart.free)] = y
        bound = list(self.chart.bound)
        state, hidden = problem.system.structure.state, problem.system.hidden()
        try:
            for _ in range(20):
                residual, rows = problem.numbers(hidden, state, dict(zip(state, map(float, x), strict=True))) if bound else _NOTHING
                step = _inverse(rows[:, bound])[0] @ residual
                x[bound] -= step
                if np.abs(step).max(initial=0.0) < 1e-13 * max(1.0, np.abs(x).max(initial=0.0)):
                    _spot(problem, x)
                    return x
        except StateError:
            pass
        return None


def _without_null(matrices: Sequence[Matrix]) -> tuple[Matrix, Matrix]:
    """Maps down to the quotient by the common null space of several matrices, and up; zero columns are left out as they stand."""
    size = len(matrices[0])
    stacked = np.vstack(matrices)
    kept = np.any(stacked != 0, axis=0)
    if not kept.all():
        chosen = np.eye(size)[kept]
        return chosen, chosen.T
    _, scaled, columns = _scaled(stacked)
    s, vt = np.linalg.svd(scaled, full_matrices=True)[1:]
    rank = int(np.sum(s > _CUT * s[0]))
    if rank == size:
        return np.eye(size), np.eye(size)
    return vt[:rank] * columns, (vt[:rank] / columns).T


def _inverse(matrix: Matrix) -> tuple[Matrix, int]:
    """The inverse, or one that solves consistent systems, and the rank; scaling makes units irrelevant."""
    rows, scaled, columns = _scaled(matrix)
    u, s, vt = np.linalg.svd(scaled, full_matrices=False)
    rank = int(np.sum(s > _CUT * s[0])) if len(s) and s[0] > 0 else 0
    if rank == len(rows) == len(columns):
        inverse = np.linalg.inv(scaled)  # keeps zeros that the singular vectors would fill with round-off
    else:
        inverse = (vt[:rank].T / s[:rank]) @ u[:, :rank].T
    found: Matrix = inverse / columns[:, None] / rows
    return found, rank


def _scaled(matrix: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """Row scales, scaled matrix and column scales: the largest entry of each row and column becomes 1.

    Entries that are small because a value of the state is round-off do not count here, as they would in geometric means.
    """
    a = np.array(matrix, dtype=float)
    rows, columns = np.ones(a.shape[0]), np.ones(a.shape[1])
    for _ in range(_SWEEPS):
        r, c = np.sqrt(np.abs(a).max(axis=1, initial=0.0)), np.sqrt(np.abs(a).max(axis=0, initial=0.0))
        r[r == 0], c[c == 0] = 1.0, 1.0
        a, rows, columns = a / r[:, None] / c, rows * r, columns * c
    return rows, a, columns


def _spectrum(matrix: Matrix) -> tuple[Complex, Matrix]:
    """Eigenvalues with their doubts, block by block: a block is a set of variables that all influence each other.

    Blocks keep the zero eigenvalues of nested quadratures exact, where a Jordan block would spread them as a root of round-off.
    """
    values: list[complex] = []
    doubts: list[float] = []
    if len(matrix):
        _, labels = connected_components(csr_array(matrix != 0), directed=True, connection="strong")
        for label in range(labels.max() + 1):
            block = matrix[np.ix_(labels == label, labels == label)]
            balanced = matrix_balance(block)[0]
            w, left, right = eig(balanced, left=True, right=True)
            condition = np.maximum(np.abs(np.sum(left.conj() * right, axis=0)), 1e-9)
            values += w.tolist()
            doubts += (2e-14 * np.linalg.norm(balanced, 2) / condition).tolist()
    found = np.array(values, dtype=complex)
    return found, np.maximum(np.array(doubts), _DOUBT * np.abs(found).max(initial=0.0))


def _sorted(values: Complex) -> Complex:
    """The largest real part first, then the largest imaginary part; round-off does not decide."""
    unit = 1e-9 * np.abs(values).max(initial=0.0) or 1.0
    found: Complex = values[np.lexsort((-values.imag, -np.round(values.real / unit)))]
    return found


def _matched(rows: Sequence[Complex], points: Matrix, found: Complex) -> NDArray[np.int64]:
    """Which new eigenvalue continues each old one, judged by where the last two rows lead."""
    expected = rows[-1]
    if len(rows) > 1 and points[-2] != points[-3]:
        expected = expected + (rows[-1] - rows[-2]) * (points[-1] - points[-2]) / (points[-2] - points[-3])
    chosen: NDArray[np.int64] = linear_sum_assignment(np.abs(expected[:, None] - found[None, :]))[1]
    return chosen


# -- equilibria --------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Search:
    """The search for states that stay."""

    equations: Equations
    parameters: Mapping[str, Any]
    inputs: Mapping[str, Any]
    t: float
    fixed: tuple[str, ...]
    where: str

    def near(self, guess: Start) -> Equilibrium:
        """The one a guess leads to."""
        binding = bind(self.equations.system, self.parameters, self.inputs, self.where)
        t = number(self.t, dict(binding.parameters), f"{self.where}, t", InitialError)
        system = _system(self.equations, guess, self.parameters, t, self.inputs, "equilibria of")
        data = read_state(self.equations, guess, binding, self.where)
        problem = Problem(system, binding, t, self.where)
        given = {**data.guess, **data.fixed}
        held = self._held(given, data.fixed if isinstance(guess, State) else {})
        at = self._settled(problem, given, held)
        return self._checked(problem, at, held)

    def _held(self, given: Mapping[Jet, float], fixed: Mapping[Jet, float]) -> dict[Jet, float]:
        """The jets that keep their value."""
        known = [z.base for z in self.equations.unknowns]
        held = dict(fixed)
        for name in self.fixed:
            jet = read_value(name, self.equations.vocabulary, self.where)
            if not isinstance(jet, Jet) or jet.base not in known:
                hint = f"jets of {' '.join(known)}.  {did_you_mean(name, known)}".rstrip()
                raise InitialError(f"{name} is not an unknown of the motion.", where=self.where, hint=hint)
            if jet not in given:
                raise InitialError(f"{name} is fixed, and the guess gives it no value.", where=self.where, hint=f'{{"{name}": ...}}')
            held[jet] = given[jet]
        steep = [z.name for z in held if z.order > 1]
        if steep:
            raise InitialError(f"{steep[0]} cannot be fixed: it vanishes in a steady motion.", where=self.where, hint="fix a velocity")
        return held

    def _settled(self, problem: Problem, given: Mapping[Jet, float], held: Mapping[Jet, float]) -> dict[Jet, float]:
        """Damped Gauss-Newton of least norm for the coordinates and multipliers, all derivatives zero but the fixed ones."""
        structure = problem.system.structure
        pairs = [*problem.system.hidden(), *problem.system.stage(0)]
        jets = [*structure.state, *structure.top]
        first = at = {z: held.get(z, given.get(z, 0.0) if z.order == 0 else 0.0) for z in jets}
        running = self._running(problem, held)
        unknowns = [z for z in jets if z not in held and (z.order == 0 or z in running)]
        for moved in ([z for z in unknowns if z in running or isinstance(z, Multiplier)], unknowns):
            for _ in range(_STEPS):
                better = self._stepped(problem, pairs, moved, at)
                if better is None:
                    break
                at = better
        at = {z: 0.0 if abs(v) <= 1e-13 * abs(first[z]) else v for z, v in at.items()}
        residual, jacobian = problem.numbers(pairs, jets, at)
        sizes = np.abs(jacobian) @ np.array([max(1.0, abs(at[z])) if z in unknowns else 0.0 for z in jets])
        sizes = np.where(sizes > 0, sizes, np.abs(jacobian).max(axis=1, initial=0.0))
        scaled = np.abs(residual) / np.where(sizes > 0, sizes, 1.0)
        worst = int(np.argmax(scaled)) if len(scaled) else 0
        if len(scaled) and scaled[worst] > _SOLVED:
            raise InitialError(
                f"no equilibrium found from this guess: {problem.system.label(pairs[worst])} is left with {residual[worst]:.3g}.",
                where=self.where,
                why=f"With all other rates zero, the search ends at {_listed(at, unknowns)}.",
                hint=f'another guess; or fix a velocity, such as fixed=["{structure.unknowns[0].base}\'"], to look for a steady motion',
            )
        return at

    def _numbers(self, problem: Problem, pairs: Sequence[Pair], unknowns: Sequence[Jet], at: Mapping[Jet, float]) -> tuple[Matrix, Matrix]:
        """Residuals and their Jacobian; entries that change with the last digits of the unknowns are round-off of zero."""
        residual, jacobian = problem.numbers(pairs, unknowns, at)
        noise = np.zeros_like(jacobian)
        for digits in np.random.default_rng(5).uniform(-8, 8, (2, len(unknowns))):
            moved = {z: float(at[z] + d * _EPSILON * max(1.0, abs(at[z]))) for z, d in zip(unknowns, digits, strict=True)}
            noise = np.maximum(noise, np.abs(problem.numbers(pairs, unknowns, {**at, **moved})[1] - jacobian))
        return residual, np.where(np.abs(jacobian) <= 10 * noise, 0.0, jacobian)

    def _running(self, problem: Problem, held: Mapping[Jet, float]) -> list[Jet]:
        """The derivatives that need not vanish: of an action without effect, and, in a steady motion, of cyclic coordinates."""
        structure, cyclic = problem.system.structure, _cyclic(problem.system)
        moving = any(z.order for z in held)
        kept = {z.base for z in held if z.order}
        jets = [z for z in (*structure.state, *structure.top) if z.order and z.base in cyclic and z.base not in kept]
        return [z for z in jets if moving or isinstance(z, Action)]

    def _stepped(self, problem: Problem, pairs: Sequence[Pair], unknowns: Sequence[Jet], at: dict[Jet, float]) -> dict[Jet, float] | None:
        """One step, halved until the scaled residual falls; None at the end."""
        residual, jacobian = self._numbers(problem, pairs, unknowns, at)
        step = -_inverse(jacobian)[0] @ residual
        largest, longest = max([1.0, *(abs(at[z]) for z in unknowns)]), np.abs(step).max(initial=0.0)
        if longest <= 1e-15 * largest:
            return None
        scales = np.abs(jacobian).max(axis=1, initial=0.0)
        scales = np.where(scales > 0, scales, 1.0)
        factor = min(1.0, 0.5 * largest / longest)
        for _ in range(_HALVINGS):
            moved = {**at, **{z: float(at[z] + factor * s) for z, s in zip(unknowns, step, strict=True)}}
            try:
                found, _ = problem.numbers(pairs, unknowns, moved)
            except StateError:
                found = np.full(len(pairs), np.inf)
            if np.linalg.norm(found / scales) < np.linalg.norm(residual / scales):
                return moved
            factor /= 2
        return None

    def _checked(self, problem: Problem, at: Mapping[Jet, float], held: Mapping[Jet, float]) -> Equilibrium:
        """The state if the equations keep it."""
        state = problem.system.structure.state
        try:
            local = _Local.of(problem, np.array([at[z] for z in state]))
        except StateError:
            start = {z.name: at[z] for z in state}
            _explain(self.equations, start, self.parameters, problem.t, self.inputs, "equilibria of")
            raise
        if not local.steady:
            raise InitialError(
                f"the state {_listed(at, list(state))} is passed through, not kept.",
                where=self.where,
                why="Accelerations vanish there, but not a moment later.",
                hint="fix other velocities, or none"
                if any(z.order for z in held)
                else "an equilibrium needs forces that do not change in time",
            )
        moving = {*held, *self._running(problem, held)}
        rates = [abs(r) for z, r in zip(state, local.view.spot.rates, strict=True) if z.d() not in moving]
        now = Evaluation(self.equations, Frozen(at), problem.binding, problem.t, problem.system.undetermined)
        return Equilibrium(now, tuple(z.name for z in state), float(max(rates, default=0.0)))


def _same(a: Equilibrium, b: Equilibrium) -> bool:
    return all(abs(a[name] - b[name]) <= 1e-6 * max(1.0, abs(a[name])) for name in a)


# -- what the user gives -----------------------------------------------------------------------------------------------------------


def _read_model(
    verb: str, equations: Any, parameters: Mapping[str, Any] | None, inputs: Mapping[str, Any] | None
) -> tuple[Equations, Mapping[str, Any], Mapping[str, Any]]:
    """Equations with values; a model brings its own, and what is given takes precedence."""
    if isinstance(equations, Model):
        parameters, inputs = {**equations.parameters, **(parameters or {})}, {**equations.inputs, **(inputs or {})}
        equations = derive(equations)
    if not isinstance(equations, Equations):
        hint = f"{verb}(ch.derive(system, principle), ...)"
        raise UsageError(f"{verb} takes equations or a model, not {type(equations).__name__}.", where=verb, hint=hint)
    return equations, parameters or {}, inputs or {}


def _local(
    verb: str,
    equations: Any,
    start: Start | None,
    parameters: Mapping[str, Any] | None,
    t: float | None,
    inputs: Mapping[str, Any] | None,
) -> _Local:
    """The motion near a state, which is completed from the constraints."""
    if isinstance(equations, Model):
        start = equations.start if start is None else start
        t = equations.t[0] if t is None else t
    equations, parameters, inputs = _read_model(verb, equations, parameters, inputs)
    where = f"{verb} {equations.system.label}"
    if start is None:
        raise UsageError("no state is given.", where=where, hint=f'{verb}(equations, {{"x": 0, ...}}, ...)')
    binding = bind(equations.system, parameters, inputs, where)
    t = number(0.0 if t is None else t, dict(binding.parameters), f"{where}, t", InitialError)
    problem = Problem(_system(equations, start, parameters, t, inputs, verb), binding, t, where)
    jets = complete(problem, read_state(equations, start, binding, where))
    try:
        return _Local.of(problem, np.array([jets[z] for z in problem.system.structure.state]))
    except StateError:
        _explain(equations, start, parameters, t, inputs, verb)
        raise


def _system(
    equations: Equations, start: Start, parameters: Mapping[str, Any], t: float, inputs: Mapping[str, Any], verb: str
) -> Prolongation:
    """The rows and their derivatives, if they determine the motion."""
    system = prolongation(equations)
    if system is None or system.generic_nullity is None:
        _explain(equations, start, parameters, t, inputs, verb)
        raise StateError("the equations do not determine the motion.", where=f"{verb} {equations.system.label}")
    return system


def _explain(equations: Equations, start: Start, parameters: Mapping[str, Any], t: float, inputs: Mapping[str, Any], verb: str) -> None:
    """What evaluate has to say about a state, in the name of another function: it finds the locus."""
    with _in_the_name_of(verb):
        evaluate(equations, start, parameters=parameters, t=t, inputs=inputs)


@contextmanager
def _in_the_name_of(verb: str) -> Iterator[None]:
    """Errors of evaluate name the function the user has called."""
    try:
        yield
    except ChetaevError as error:
        error.where = error.where.replace("evaluate", verb, 1)
        error.hint = error.hint.replace("evaluate(", f"{verb.split()[0]}(", 1)
        raise


def _is_jet(equations: Equations, parameter: str, where: str) -> bool:
    """Whether the sweep runs over a jet of the state; a ParameterError if it is neither that nor a parameter."""
    known = [p.name for p in equations.system.parameters]
    if not isinstance(parameter, str):
        raise UsageError(f"the parameter is given as {type(parameter).__name__}.", where=where, hint='its name, such as "m"')
    if spell(parameter) in known:
        return False
    names = [z.base for z in equations.unknowns]
    if spell(parameter).rstrip("'") in names:
        return True
    hint = f"parameters: {' '.join(known)}.  " if known else "the system has no parameter.  "
    hint += did_you_mean(parameter, known) or "A jet such as psi' will do, too."
    raise ParameterError(f"{parameter} is not a parameter.", where=where, hint=hint)


def _with_value(start: Any, name: str, v: float) -> Any:
    """A state with one more fixed value."""
    if isinstance(start, State):
        guess = {k: g for k, g in start.guess.items() if spell(str(k)) != spell(name)}
        return State({**_without(start.fixed, name), name: v}, guess)
    return {**_without(start, name), name: v} if isinstance(start, Mapping) else start


def _without(given: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {k: v for k, v in given.items() if spell(str(k)) != spell(name)}


def _points(values: Any, where: str) -> Matrix:
    hint = "numpy.linspace(0, 1, 50)"
    try:
        points = np.array(values, dtype=float)
    except (TypeError, ValueError):
        raise UsageError("the values of the parameter are not numbers.", where=where, hint=hint) from None
    if points.ndim != 1 or not len(points):
        raise UsageError("the values of the parameter are not a list of numbers.", where=where, hint=hint)
    if not np.all(np.isfinite(points)):
        raise ParameterError("a value of the parameter is not finite.", where=where, hint=hint)
    return points


def _names(given: Sequence[str] | str, where: str) -> tuple[str, ...]:
    names = given.split() if isinstance(given, str) else given
    if isinstance(names, Mapping) or not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise UsageError("fixed is not a list of names.", where=where, hint='fixed=["x", "psi\'"]; values are those of the guess')
    return tuple(names)


def _listed(at: Mapping[Jet, float], jets: Sequence[Jet]) -> str:
    return ", ".join(f"{z.name} = {at[z]:.6g}" for z in jets) or "the state given"


def _number_text(v: float) -> str:
    return f"{v:.6g}"


def _complex_text(v: complex, size: float) -> str:
    real = 0.0 if abs(v.real) < 1e-12 * size else v.real
    imag = 0.0 if abs(v.imag) < 1e-12 * size else v.imag
    if not imag:
        return f"{real:.6g}"
    sign = "-" if imag < 0 else "+" if real else ""
    return f"{real:.6g} {sign} {abs(imag):.6g}i" if real else f"{sign}{abs(imag):.6g}i"
