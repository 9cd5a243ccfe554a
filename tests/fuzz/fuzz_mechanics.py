"""The independent mechanics: rows of every principle, their structure, accelerations and multipliers in many digits.

Rows are formed as `E_i = sum_k (-1)^(k+1) (D - L_s)^k dL/dq_i^(k) = u_i - dF/dq_i' + lambda_a R_V[a, i]`, together with the kinematic
rows. Which derivatives of which row determine which jets is found by Pryce's method on the jets that stand in the text; the
dense matrix of all rows is solved with partial pivoting. Where this matrix is singular the reference has no opinion.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import fuzz_graph as g
import mpmath
import numpy as np
import scipy.optimize
from fuzz_text import Reader

DIGITS = 40
"""Decimal digits of accelerations and multipliers; the library is judged at 1e-9, so even a condition of 1e25 leaves room."""


class NoOpinion(Exception):
    """The reference cannot decide the case."""


@dataclass(frozen=True)
class Case:
    """A system as texts, with its principle and a start: what both sides are given."""

    coordinates: tuple[str, ...]
    lagrangian: str
    principle: str = "hamilton"
    kinematic: tuple[str, ...] = ()
    variational: tuple[str, ...] | None = None
    forces: Mapping[str, str] = field(default_factory=dict)
    dissipation: str | None = None
    action: str | None = None
    inputs: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, float] = field(default_factory=dict)
    start: Mapping[str, float] = field(default_factory=dict)
    full: bool = True
    """Give the library the whole consistent state, or only what is free."""
    t: tuple[float, float] = (0.0, 1.0)
    max_step: float = float("inf")
    """For the reference only: narrow features are not to be missed by it."""
    watch: tuple[str, float, float] | None = None
    """For the reference only: a name (or t), a place and a width; steps are short near that place."""
    twin: Case | None = None
    """A case without redundant rows or other disguise, whose motion is the same; then multipliers are not compared."""
    slack: float = 0.0
    """Error that the condition of the rows allows to accelerations, relative to the largest."""
    may_refuse: bool = False
    """Where "ill-conditioned" is a right answer too."""
    kind: str = ""
    seed: str = ""

    def with_(self, **changes: Any) -> Case:
        return replace(self, **changes)


def jet(name: str, order: int) -> str:
    return name + "'" * order


class Mechanics:
    """The rows of a case and their structure."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.action = case.action
        self.lagrangian = g.ZERO
        base = self._read(case.lagrangian)
        rows = [self._read(text) for text in case.kinematic]
        inner = case.principle.removeprefix("herglotz").strip("()") or "hamilton"
        vakonomic = inner == "vakonomic"
        self.multipliers = [f"lambda{k + 1}" for k in range(len(rows) if case.variational is None or vakonomic else len(case.variational))]
        if inner == "hamilton":
            self.multipliers = []
        self.lagrangian = base
        if vakonomic:
            for name, row in zip(self.multipliers, rows, strict=True):
                self.lagrangian = g.add(self.lagrangian, g.mul(g.leaf(name), row))
        if self.action:  # rows were read before s' was known: read again, D uses s' = L
            rows = [self._read(text) for text in case.kinematic]
        self.rows = rows
        virtual = [] if inner in ("vakonomic", "hamilton") else self._virtual(inner, rows)
        self.equations = [self._euler(i, virtual) for i in case.coordinates] + rows
        self.unknowns = [*case.coordinates, *self.multipliers]

    def _names(self, name: str, primes: int) -> g.Node:
        if name == "pi":
            return g.mul(g.number(4), g.apply("atan", g.ONE))
        if name in self.case.inputs or name == "t":
            node = g.TIME if name == "t" else self._read(self.case.inputs[name])
            for _ in range(primes):
                node = self.rate(node)
            return node
        return g.leaf(name, primes)

    def _read(self, text: str) -> g.Node:
        return Reader(text, self._names, self.rate).row()

    def rate(self, a: g.Node) -> g.Node:
        """The total derivative, with s' = L."""

        def of(leaf: g.Leaf) -> g.Node:
            name, order = leaf
            if name == "t":
                return g.ONE
            if name == self.action:
                return self.lagrangian
            return g.ZERO if name in self.case.parameters else g.leaf(name, order + 1)

        return g.along(a, of)

    def _virtual(self, inner: str, rows: list[g.Node]) -> list[dict[str, g.Node]]:
        """R_V: per row, the coefficient of the variation of each coordinate."""
        if self.case.variational is not None:
            return [
                {c: slopes.get(("δ" + c, 0), g.ZERO) for c in self.case.coordinates}
                for slopes in map(g.gradient, map(self._read, self.case.variational))
            ]
        made = []
        for row in rows:
            slopes = g.gradient(row)
            top = max(k for name, k in slopes if name in self.case.coordinates)
            made.append({c: slopes.get((c, top), g.ZERO) for c in self.case.coordinates})
        return made

    def _euler(self, name: str, virtual: list[dict[str, g.Node]]) -> g.Node:
        slopes = g.gradient(self.lagrangian)
        by_action = slopes.get((self.action or "", 0), g.ZERO)
        result = g.ZERO
        for k in range(max((order for n, order in slopes if n == name), default=0) + 1):
            part = slopes.get((name, k), g.ZERO)
            for _ in range(k):
                part = g.sub(self.rate(part), g.mul(by_action, part))
            result = g.add(result, part if k % 2 else g.neg(part))
        if name in self.case.forces:
            result = g.sub(result, self._read(self.case.forces[name]))
        if self.case.dissipation is not None:
            result = g.add(result, g.gradient(self._read(self.case.dissipation)).get((name, 1), g.ZERO))
        for multiplier, row in zip(self.multipliers, virtual, strict=bool(virtual)):
            result = g.sub(result, g.mul(g.leaf(multiplier), row[name]))
        return result

    @cached_property
    def offsets(self) -> tuple[list[int], list[int]]:
        """Pryce's offsets: row i is differentiated c_i times and determines jets of order d_j."""
        n = len(self.unknowns)
        if len(self.equations) != n:
            raise NoOpinion("rows and unknowns differ in number")
        sigma = np.full((n, n), -1000)
        for i, row in enumerate(self.equations):
            for name, order in g.leaves([row]):
                if name in self.unknowns:
                    j = self.unknowns.index(name)
                    sigma[i, j] = max(sigma[i, j], order)
        _, columns = scipy.optimize.linear_sum_assignment(sigma, maximize=True)
        if any(sigma[i, columns[i]] < 0 for i in range(n)):
            raise NoOpinion("structurally singular")
        c = [0] * n
        while True:
            d = [max(int(sigma[i, j]) + c[i] for i in range(n)) for j in range(n)]
            new = [d[columns[i]] - int(sigma[i, columns[i]]) for i in range(n)]
            if new == c:
                return c, d
            c = new

    @cached_property
    def tops(self) -> list[g.Leaf]:
        return [(name, order) for name, order in zip(self.unknowns, self.offsets[1], strict=True)]

    @cached_property
    def state(self) -> list[g.Leaf]:
        below = [(name, k) for name, order in self.tops for k in range(order)]
        return below + ([(self.action, 0)] if self.action else [])

    @cached_property
    def prolonged(self) -> list[list[g.Node]]:
        """Each row with its derivatives up to the one that determines."""
        result = []
        for row, c in zip(self.equations, self.offsets[0], strict=True):
            chain = [row]
            for _ in range(c):
                chain.append(self.rate(chain[-1]))
            result.append(chain)
        return result

    @cached_property
    def system(self) -> tuple[list[list[g.Node]], list[g.Node]]:
        """The matrix of the rows by the tops, and the rows."""
        rows = [chain[-1] for chain in self.prolonged]
        slopes = [g.gradient(row) for row in rows]
        return [[s.get(top, g.ZERO) for top in self.tops] for s in slopes], rows

    def values(self, state: Mapping[g.Leaf, Any], t: Any = 0) -> dict[g.Leaf, Any]:
        return {**{(p, 0): v for p, v in self.case.parameters.items()}, ("t", 0): t, **state}

    def solve(self, state: Mapping[g.Leaf, Any], t: Any = 0) -> dict[str, Any]:
        """Tops and everything below at a state, by names."""
        with mpmath.workdps(DIGITS):
            matrix, rows = self.system
            n = len(rows)
            held = self.values(state, t) | dict.fromkeys(self.tops, mpmath.mpf(0))
            flat = g.evaluate([e for row in matrix for e in row] + rows, held)
            A = mpmath.matrix([flat[i * n : i * n + n] for i in range(n)])
            try:
                x = mpmath.lu_solve(A, -mpmath.matrix(flat[n * n :]))
            except ZeroDivisionError as error:
                raise NoOpinion("singular here") from error
            held |= dict(zip(self.tops, x, strict=True))
            flat = g.evaluate(rows, held)
            scale = max(abs(A[i, j] * x[j]) for i in range(n) for j in range(n)) + mpmath.mpf(10) ** -300
            if max(abs(r) for r in flat) > scale * mpmath.mpf(10) ** -20:
                raise NoOpinion("not affine in the highest jets, or nearly singular")
            found = {jet(*key): held[key] for key in [*self.state, *self.tops] if key[0] != "t"}
            if self.action:
                found[self.action + "'"] = g.evaluate([self.lagrangian], held)[0]
            return found

    def consistent(self, wish: Mapping[g.Leaf, float], t: float = 0.0) -> tuple[dict[g.Leaf, Any], list[g.Leaf]]:
        """A state on the constraints near a wish, in many digits, and the jets that were moved to get there.

        Stage by stage from the lowest derivatives; in each one as many jets are moved as there are rows, those that the rows fix best.
        """
        c, d = self.offsets
        with mpmath.workdps(DIGITS):
            state = {key: mpmath.mpf(wish[key]) for key in self.state}
            moved: list[g.Leaf] = []
            for k in range(-max(c), 0):
                rows = [chain[ci + k] for chain, ci in zip(self.prolonged, c, strict=True) if ci + k >= 0]
                keys = [(name, order + k) for name, order in zip(self.unknowns, d, strict=True) if order + k >= 0]
                if not rows:
                    continue
                slopes = [g.gradient(row) for row in rows]
                flat = [s.get(key, g.ZERO) for s in slopes for key in keys]
                J = np.array([float(v) for v in g.evaluate(flat, self.values(state, t))]).reshape(len(rows), len(keys))
                sizes = np.array([abs(float(state[key])) for key in keys])
                sizes = np.maximum(sizes, 0.1 * max(sizes.max(), 1e-300))
                J = J * sizes
                J = J / np.maximum(np.abs(J).max(axis=1, keepdims=True), 1e-300)
                chosen = _independent(J)
                picked = [keys[j] for j in chosen]
                self._newton(rows, slopes, picked, state, t)
                moved += picked
            return state, moved

    def completed(self, state: Mapping[g.Leaf, Any], free: list[g.Leaf], t: float = 0.0) -> dict[g.Leaf, Any]:
        """The state with the jets in `free` moved onto the constraints."""
        c, d = self.offsets
        with mpmath.workdps(DIGITS):
            moved = dict(state)
            for k in range(-max(c), 0):
                rows = [chain[ci + k] for chain, ci in zip(self.prolonged, c, strict=True) if ci + k >= 0]
                keys = [key for name, order in zip(self.unknowns, d, strict=True) if (key := (name, order + k)) in free]
                if len(rows) != len(keys):
                    raise NoOpinion("these jets are not what the constraints leave free")
                if rows:
                    self._newton(rows, [g.gradient(row) for row in rows], keys, moved, t)
            return moved

    def _newton(
        self, rows: list[g.Node], slopes: list[dict[g.Leaf, g.Node]], keys: list[g.Leaf], state: dict[g.Leaf, Any], t: float
    ) -> None:
        m = len(rows)
        flat = [s.get(key, g.ZERO) for s in slopes for key in keys] + rows
        for _ in range(60):
            found = g.evaluate(flat, self.values(state, t))
            A = mpmath.matrix([found[i * m : i * m + m] for i in range(m)])
            try:
                step = mpmath.lu_solve(A, mpmath.matrix(found[m * m :]))
            except ZeroDivisionError as error:
                raise NoOpinion("no state on the constraints") from error
            for key, dx in zip(keys, step, strict=True):
                state[key] -= dx
            if all(
                abs(dx) <= abs(state[key]) * mpmath.mpf(10) ** (-DIGITS + 8) + mpmath.mpf(10) ** -200
                for key, dx in zip(keys, step, strict=True)
            ):
                return
        raise NoOpinion("Newton's method did not arrive at the constraints")


def _independent(J: np.ndarray) -> list[int]:
    """Columns on which the rows are best conditioned: elimination with complete pivoting."""
    J, chosen = J.copy(), []
    rows = list(range(J.shape[0]))
    while rows:
        i, j = max(((i, j) for i in rows for j in range(J.shape[1]) if j not in chosen), key=lambda ij: abs(J[ij]))
        if abs(J[i, j]) < 1e-6:
            raise NoOpinion("the constraints are nearly dependent at the start")
        chosen.append(j)
        rows.remove(i)
        for k in rows:
            J[k] -= J[i] * (J[k, j] / J[i, j])
    return chosen
