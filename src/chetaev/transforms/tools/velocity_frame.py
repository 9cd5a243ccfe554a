r"""Quasi-velocities as a frame: their definition, the dual fields, and the structure functions.

Quasi-velocities $w^a = A^a_i(t, q)\,\dot q^i + b^a(t, q)$ are the velocities of the frame $X_a = (A^{-1})^i_a\,\partial_i$. If time or
given functions of time enter, or $b$ does not vanish, the frame is on the product of configuration space and time: the forms
$\omega^a = A^a_i\,dq^i + b^a\,dt$ and $dt$ have the dual fields $X_a$ and $X_t = \partial_t - b^a X_a$, whose velocity is 1. In either
case $[X_a, X_b] = C_{ab}^c X_c$ with

$$ C_{ab}^c = -d\omega^c(X_a, X_b) = \sum_{ij} (\partial_j A^c_i - \partial_i A^c_j)\, X_a^i X_b^j . $$

J. G. Papastavridis, Analytical Mechanics (2002), section 2.9; G. Hamel, Math. Ann. 59 (1904) 416-434.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations
from math import comb, prod
from typing import Any

import numpy as np
import sympy
from sympy import Add, Expr, Matrix, Rational, S

from chetaev.core.calculus import SYMBOLIC, Calculus, Frame, degree
from chetaev.core.declarations import read_value
from chetaev.core.errors import ModelError, UsageError, about, require_mapping
from chetaev.core.fixes import SetArgument, SetPart
from chetaev.core.functions import has_corner_in, in_own_functions
from chetaev.core.notation import show
from chetaev.core.notation.bounds import written_size
from chetaev.core.notation.lexer import spell
from chetaev.core.symbols import TIME, Action, Coordinate, Input, Jet, jets_in
from chetaev.core.system import System, fresh_coordinates
from chetaev.core.zero import known_zero, vanishes
from chetaev.mechanics.assemble import euler_lagrange
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.principles.base import points_of
from chetaev.mechanics.ranks.generic import Point, matrices_at
from chetaev.mechanics.ranks.minors import Minors
from chetaev.mechanics.ranks.row_reduction import row_reduce
from chetaev.transforms.tools.nullspace import independent, tidy
from chetaev.transforms.tools.theorem import require_new_names

_CLOCK = Input("t")
"""Time as a direction of the frame; its velocity is 1."""
_TERMS = 300
"""Number of terms up to which an expression is expanded and sorted for reading; longer ones take seconds and stay unreadable."""
_SQUARES = 100
"""Number of terms up to which squares of sines and cosines are replaced; longer expressions take seconds."""
_DENSE = 4
"""Size of a block of the frame from which on its inverse is not expanded, because it would have thousands of terms."""
_LONGEST_DETERMINANT = 100
"""Number of terms of the frame's determinant up to which its inverse is written out. At 160 terms, for three quasi-velocities that depend
on three angles, rows of motion would have a million characters."""
_LARGEST_BLOCK = 8
"""Size of a block of the frame up to which the terms of its determinant are counted: their number, and the time, grow like 2^n."""
_FRACTION = 12
"""Number of terms up to which a fraction is reduced; SymPy takes seconds for longer ones."""


@dataclass(frozen=True)
class VelocityFrame:
    """As many quasi-velocities as coordinates, independent of each other."""

    coordinates: tuple[Coordinate, ...]
    names: tuple[Coordinate, ...]
    """The quasi-velocities, as coordinates without a prime."""
    matrix: tuple[tuple[Expr, ...], ...]
    """$A$, a row for each quasi-velocity."""
    drift: tuple[Expr, ...]
    """$b$."""

    @cached_property
    def drivers(self) -> tuple[Jet, ...]:
        """The directions besides those of the coordinates: time and the inputs that occur in the definition."""
        entries = [e for row in self.matrix for e in row]
        inputs = {z for e in (*entries, *self.drift) for z in jets_in(e, Input)}
        rheonomic = any(b != 0 for b in self.drift) or any(TIME in e.free_symbols for e in entries)
        return (*([_CLOCK] if rheonomic else []), *sorted(inputs, key=lambda z: z.name))

    @cached_property
    def inverse(self) -> tuple[tuple[Expr, ...], ...]:
        """$A^{-1}$, a row for each coordinate."""
        n = len(self.names)
        found = [[S.Zero] * n for _ in range(n)]
        for rows, columns, block, determinant in self._blocks:
            adjugate = block.adjugate().tolist() if len(rows) < _DENSE else Minors(block).adjugate()
            for i, column in enumerate(columns):
                for j, row in enumerate(rows):
                    found[column][row] = reduced(_tidied(adjugate[i][j]) / determinant)
        return tuple(map(tuple, found))

    @cached_property
    def is_dense(self) -> bool:
        """Whether the inverse is too long to be written out."""
        blocks = [[[self.matrix[a][i] for i in columns] for a in rows] for rows, columns in _parts(self.matrix)]
        return any(len(block) > _LARGEST_BLOCK or _terms_of_determinant(block) > _LONGEST_DETERMINANT for block in blocks)

    @property
    def determinant(self) -> Expr:
        r"""The factors of $\det A$ that may vanish; 1 if there is none."""
        factors = [factor for *_, d in self._blocks for factor in sympy.Mul.make_args(sympy.factor_terms(d))]
        bases = [factor.base if factor.is_Pow and factor.exp.is_Integer else factor for factor in factors]
        return sympy.Mul(*dict.fromkeys(e for e in bases if e.free_symbols and not e.is_positive))

    @cached_property
    def _blocks(self) -> tuple[tuple[list[int], list[int], Matrix, Expr], ...]:
        """The diagonal blocks of $A$ up to permutations of rows and columns, which are inverted separately."""
        blocks = []
        for rows, columns in _parts(self.matrix):
            block = Matrix([[self.matrix[a][i] for i in columns] for a in rows])
            determinant = block.det(method="berkowitz") if len(rows) < _DENSE else Minors(block).determinant()
            blocks.append((rows, columns, block, _tidied(determinant)))
        return tuple(blocks)

    @cached_property
    def frame(self) -> Frame:
        """The fields $X_a$, then those of time and of the inputs, with their structure functions."""
        n, places = range(len(self.names)), [*self.coordinates, *self.drivers]
        vectors = [[*[self.inverse[i][a] for i in n], *[S.Zero] * len(self.drivers)] for a in n]
        for k, driver in enumerate(self.drivers):
            moved = [reduced(-Add(*[c * b for c, b in zip(line, self.drift, strict=True)])) for line in self.inverse]
            moved = moved if driver == _CLOCK else [S.Zero] * len(n)
            vectors.append([*moved, *[S.One if j == k else S.Zero for j in range(len(self.drivers))]])
        timed = {TIME: _CLOCK}
        fields = tuple({z: e.xreplace(timed) for z, e in zip(places, vector, strict=True) if e != 0} for vector in vectors)
        velocities = (*self.names, *[z.d() for z in self.drivers])
        return Frame(velocities, fields, self._structure([[e.xreplace(timed) for e in vector] for vector in vectors]))

    def _curls(self) -> list[dict[tuple[int, int], Expr]]:
        r"""$\partial_j A^c_i - \partial_i A^c_j$ for each quasi-velocity, by directions of coordinates, time and inputs."""
        curls, places = [], [*self.coordinates, *self.drivers]
        for row, drift in zip(self.matrix, self.drift, strict=True):
            form = [e.xreplace({TIME: _CLOCK}) for e in (*row, *[drift if z == _CLOCK else S.Zero for z in self.drivers])]
            pairs = combinations(range(len(places)), 2)
            curls.append({(i, j): e for i, j in pairs if (e := form[i].diff(places[j]) - form[j].diff(places[i])) != 0})
        return curls

    def _structure(self, vectors: Sequence[Sequence[Expr]]) -> dict[tuple[int, int], dict[int, Expr]]:
        curls = self._curls()
        found: dict[tuple[int, int], dict[int, Expr]] = {}
        for (a, x), (b, y) in combinations(enumerate(vectors), 2):
            if a < len(self.names):
                parts = [reduced(Add(*[e * (x[i] * y[j] - x[j] * y[i]) for (i, j), e in curl.items()])) for curl in curls]
                found[a, b] = {c: e for c, e in enumerate(parts) if vanishes(e) is not True}
        return found

    @cached_property
    def structure(self) -> dict[str, Expr]:
        """The nonzero structure functions by name: `C_v_omega^u` is the component along u of the bracket of v and omega."""
        labels = [*[w.base for w in self.names], *[z.name for z in self.drivers]]
        brackets = self.frame.structure
        return {
            f"C_{labels[a]}_{labels[b]}^{labels[c]}": self.with_unit_time_rate(e)
            for (a, b), parts in brackets.items()
            for c, e in parts.items()
        }

    @cached_property
    def structure_by_coordinates(self) -> dict[str, Expr]:
        r"""The structure functions along coordinates: $C_{ab}^c = C_{ij}^c X_a^i X_b^j$, and `C_x_theta^v` is $C_{x\theta}^v$."""
        labels = [*[q.base for q in self.coordinates], *[z.name for z in self.drivers]]
        return {
            f"C_{labels[i]}_{labels[j]}^{w.base}": self.with_unit_time_rate(e)
            for w, curl in zip(self.names, self._curls(), strict=True)
            for (i, j), e in curl.items()
        }

    @cached_property
    def rates(self) -> dict[Jet, Expr]:
        r"""$\dot q^i = (A^{-1})^i_a (w^a - b^a)$."""
        calculus = Calculus(SYMBOLIC, self.frame)
        return {q.d(): self.with_unit_time_rate(calculus.total(q)) for q in self.coordinates}

    def euler_lagrange(self, lagrangian: Expr, action: Action | None = None, action_rate: Expr | None = None) -> list[Expr]:
        """The rows $E_a$ of the assembler, for a Lagrangian written in quasi-velocities."""
        timed = {TIME: _CLOCK} if _CLOCK in self.drivers else {}
        rate = None if action_rate is None else action_rate.xreplace(timed)
        found = euler_lagrange(Calculus(SYMBOLIC, self.frame, action, rate), lagrangian.xreplace(timed))
        return [self.with_unit_time_rate(e) for e in found[: len(self.names)]]

    def with_unit_time_rate(self, e: Expr) -> Expr:
        """An expression with the velocity of time set to 1."""
        clocks = {z: S.One if z.order == 1 else S.Zero for z in jets_in(e, Input) if z.base == _CLOCK.base and z.order}
        return e.xreplace({**clocks, _CLOCK: TIME})

    def written(self, e: Expr) -> Expr:
        """An expression in jets of the coordinates written in quasi-velocities and their derivatives."""
        return self.gathered(self._written(e, self._jets(e)))

    def along(self, covector: Mapping[Coordinate, Expr]) -> list[Expr]:
        r"""The components $R_i X_a^i$ of a covector, in quasi-velocities."""
        rows = [(self.inverse[i], self.written(covector[q])) for i, q in enumerate(self.coordinates) if q in covector]
        return [self.gathered(Add(*[line[a] * e for line, e in rows])) for a in range(len(self.names))]

    def gathered(self, e: Expr) -> Expr:
        """`e` sorted by monomials in quasi-velocities, multipliers and their derivatives, if that is shorter."""
        if _terms(e) > _TERMS:
            return e
        moving = [z for z in e.free_symbols if isinstance(z, Jet) and z not in self.coordinates and not isinstance(z, Input)]
        terms: dict[Expr, list[Expr]] = {}
        for term in Add.make_args(sympy.expand(e)):
            coefficient, rest = term.as_independent(*moving, as_Add=False)
            terms.setdefault(rest, []).append(coefficient)
        whole = in_own_functions(Add(*[reduced(Add(*parts)) * rest for rest, parts in terms.items()]))
        return min(e, whole, key=sympy.count_ops)

    def _jets(self, e: Expr) -> dict[Jet, Expr]:
        """The derivatives of coordinates in `e`, in quasi-velocities."""
        calculus = Calculus(SYMBOLIC, self.frame)
        wanted = {z for z in jets_in(e, Coordinate) if z.order and z.d(-z.order) in self.coordinates}
        return {z: self.with_unit_time_rate(calculus.total(z.d(-z.order), z.order)) for z in wanted}

    def _written(self, e: Expr, jets: Mapping[Jet, Expr]) -> Expr:
        """`e` with derivatives replaced; parts affine in the velocities are combined, so that the definition of `w` becomes `w` itself."""
        velocities = [z for z in jets if z in e.free_symbols]
        if not velocities:
            return e
        if isinstance(e, Jet) and e in jets:
            return jets[e]
        if e.is_Add and all(z.order == 1 for z in velocities) and degree(e, velocities) <= 1:
            slopes = {z: e.diff(z) for z in velocities}
            rest = e.xreplace(dict.fromkeys(velocities, S.Zero))
            return self.gathered(rest + Add(*[slope * jets[z] for z, slope in slopes.items()]))
        return e.func(*[self._written(part, jets) for part in e.args])


def reduced(e: Expr) -> Expr:
    """A shorter form of an expression in positions: trigonometric squares replaced, short fractions reduced."""
    e = _tidied(e)
    if _terms(e) > _FRACTION:
        return e
    numerator, denominator = (_tidied(part) for part in sympy.fraction(sympy.together(e)))
    if not denominator.free_symbols:
        return e
    return in_own_functions(min(e, numerator / denominator, _tidied(sympy.cancel(numerator / denominator)), key=sympy.count_ops))


def _tidied(e: Expr) -> Expr:
    """`tidy`, where a sine and a cosine of the same angle occur."""
    if _terms(e) > _SQUARES or not {f.args[0] for f in e.atoms(sympy.sin)} & {f.args[0] for f in e.atoms(sympy.cos)}:
        return e
    return tidy(e)


def _terms(e: Expr, known: dict[Expr, int] | None = None) -> int:
    """The number of terms of `e` after expansion, before like terms are combined; equal parts are counted once."""
    known = {} if known is None else known
    if e not in known:
        found = 1
        if e.is_Add:
            found = sum(_terms(part, known) for part in e.args)
        elif e.is_Mul:
            found = prod(_terms(part, known) for part in e.args)
        elif e.is_Pow and e.exp.is_Integer:
            found = min(_terms(e.base, known) ** min(abs(int(e.exp)), 9), _TERMS + 1)
        known[e] = found
    return known[e]


def _terms_of_determinant(matrix: Sequence[Sequence[Expr]]) -> int:
    """The number of terms of a determinant that is expanded along its rows, without expanding products."""
    sizes: dict[Expr, int] = {}

    @cache
    def terms(row: int, columns: frozenset[int]) -> int:
        present = [j for j in columns if matrix[row][j] != 0]
        rest = [terms(row + 1, columns - {j}) if row + 1 < len(matrix) else 0 for j in present]
        return sum(written_size(matrix[row][j], sizes) + 1 + size for j, size in zip(present, rest, strict=True))

    return terms(0, frozenset(range(len(matrix))))


def _parts(matrix: Sequence[Sequence[Expr]]) -> list[tuple[list[int], list[int]]]:
    """The rows and columns of a matrix in groups that no nonzero entry connects."""
    left, found = set(range(len(matrix))), []
    while left:
        rows, columns = {min(left)}, set[int]()
        while True:
            wider = {i for a in rows for i, e in enumerate(matrix[a]) if e != 0}
            more = {a for a in left for i in wider if matrix[a][i] != 0}
            if (rows, columns) == (more, wider):
                break
            rows, columns = more, wider
        found.append((sorted(rows), sorted(columns)))
        left -= rows
    return found


_MOST_CHOICES = 5000
"""Largest number of choices of coordinates that are compared with each other; for more, row reduction chooses."""
_SINGULAR_FRAME = 1e-9
"""Relative determinant below which a frame is singular at a point. With a smaller value, errors of points would make singular frames
regular."""


@dataclass(frozen=True)
class Definition:
    """Quasi-velocities as the user wrote them, completed to as many as there are coordinates."""

    source: Equations
    where: str
    given: Mapping[str, Any] | None

    @cached_property
    def plain(self) -> System:
        """The system without named expressions, whose names are free in the target."""
        return self.source.system.replace(where={}, quasi={})

    @cached_property
    def read(self) -> dict[str, Expr]:
        """The formulas by name."""
        system = self.source.system
        formulas = dict(system.quasi) if self.given is None else self._parsed(self.given)
        if not formulas:
            raise UsageError(
                "no quasi-velocity is given.",
                where=self.where,
                hint=(
                    SetPart("quasi", {...: ...}),
                    " in the system, or ",
                    SetArgument("velocities", {"v": "x'*cos(theta) + y'*sin(theta)", ...: ...}),
                ),
            )
        if len(formulas) > len(system.coordinates):
            raise ModelError(
                f"{len(formulas)} quasi-velocities are given for {len(system.coordinates)} coordinates.",
                where=self.where,
                why="They depend on each other.",
                hint=(f"at most {len(system.coordinates)} of them: ", SetArgument("velocities", {...: ...})),
            )
        return formulas

    def _parsed(self, given: Mapping[str, Any]) -> dict[str, Expr]:
        require_mapping(given, "velocities are", self.where, SetArgument("velocities", {"v": "..."}))
        names = [spell(str(name)) for name in given]
        require_new_names(names, self.plain, self.where)
        vocabulary = self.source.system.vocabulary
        return {n: read_value(e, vocabulary, f"{self.where}, {n}") for n, e in zip(names, given.values(), strict=True)}

    @cached_property
    def points(self) -> list[Point]:
        """Points of the constraint manifold."""
        return points_of(self.source.system, self.source.system.kinematic)

    @cached_property
    def formulas(self) -> dict[Coordinate, Expr]:
        """All quasi-velocities as functions of velocities."""
        slopes = [_affine(n, e, self.source.system, self.where)[0] for n, e in self.read.items()]
        if not independent(slopes, self.points):
            raise ModelError(
                f"the quasi-velocities {' '.join(self.read)} depend on each other.",
                where=about(self.where, "velocities"),
                why="Different velocities would have the same quasi-velocities.",
                hint="independent combinations of the velocities",
            )
        added = [self.source.system.coordinates[i] for i in self._free_columns(slopes)]
        names = fresh_coordinates(self.plain, [*self.read, *[f"v_{q.base}" for q in added]])
        return dict(zip(names, [*self.read.values(), *[q.d() for q in added]], strict=True))

    def _free_columns(self, slopes: Sequence[Sequence[Expr]]) -> list[int]:
        """The indices of the coordinates whose velocities complete the frame with the largest
        determinant, at random points and the origin.
        """
        count, width = len(slopes), len(self.source.system.coordinates)
        if comb(width, count) > _MOST_CHOICES:
            return row_reduce(slopes, self.points).free_columns()
        origin = {z: 0.0 for row in slopes for e in row for z in e.free_symbols if isinstance(z, Jet) or z == TIME}
        inside, everywhere = (matrices_at(slopes, points) for points in (self.points, [*self.points, origin]))

        def safety(columns: tuple[int, ...]) -> tuple[bool, float, float]:
            sizes = [
                abs(np.linalg.det(a[:, columns] / np.maximum(np.linalg.norm(a, axis=1, keepdims=True), _SINGULAR_FRAME)))
                for a in everywhere
            ]
            return min(sizes[: len(inside)]) > _SINGULAR_FRAME, round(min(sizes), 9), float(np.mean(sizes))

        chosen = max(combinations(range(width), count), key=safety)
        return [i for i in range(width) if i not in chosen]

    @cached_property
    def frame(self) -> VelocityFrame:
        """The quasi-velocities as a frame."""
        system = self.source.system
        slopes, rests = zip(*[_affine(w.base, e, system, self.where) for w, e in self.formulas.items()], strict=True)
        return VelocityFrame(system.coordinates, tuple(self.formulas), slopes, rests)

    @property
    def notes(self) -> tuple[str, ...]:
        """A note on the velocities that were added."""
        added = list(self.formulas.items())[len(self.read) :]
        if not added:
            return ()
        words = ", ".join(f"{w.base} = {show(e)}" for w, e in added)
        return (f"Added to {' '.join(self.read)}, because there are more coordinates than quasi-velocities: {words}.",)


def _affine(name: str, e: Expr, system: System, where: str) -> tuple[tuple[Expr, ...], Expr]:
    """The coefficients of the velocities in a quasi-velocity, and the rest."""
    velocities = system.velocities
    strange = [z for z in jets_in(e) if not isinstance(z, Input) and z not in (*system.coordinates, *velocities)]
    if strange:
        raise ModelError(
            f"{name} contains {sorted(z.name for z in strange)[0]}: {show(e)}",
            where=about(where, "velocities", name),
            why="A quasi-velocity is a function of positions, velocities and time.",
            hint=f"{name} as a sum of coefficient times velocity",
        )
    if degree(e, velocities) <= 1:
        slopes = tuple(e.diff(v) for v in velocities)
        return slopes, e.xreplace(dict.fromkeys(velocities, S.Zero))
    if has_corner_in(e, velocities) or any(not known_zero(e.diff(v).diff(w)) for v in velocities for w in velocities):
        raise ModelError(
            f"{name} is not linear in the velocities: {show(e)}",
            where=about(where, "velocities", name),
            why="Quasi-velocities are coordinates on the linear space of velocities.",
            hint=f"{name} as a sum of coefficient times velocity",
        )
    anywhere = dict.fromkeys(velocities, Rational(7, 5))  # the result does not depend on the velocities; at rest a formula may be 0/0
    slopes = tuple(e.diff(v).xreplace(anywhere) for v in velocities)
    return slopes, (e - Add(*[c * v for c, v in zip(slopes, velocities, strict=True)])).xreplace(anywhere)
