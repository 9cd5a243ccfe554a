r"""Special points of a curve of solutions: roots, on the curve, of test functions that change sign between two of its points.

| kind | test function |
|---|---|
| fold | the component of the tangent along the parameter |
| branch | $\det\,(U^T J;\ \tau^T)$; then the regular equations of G. Moore (1980) |
| period_doubling | $\det\,(M + 1)$ for the monodromy matrix $M$ |
| hopf | the growth of a pair of eigenvalues that are not real: $\mathrm{Re}\,\mu$, or $\log|\mu|$ of multipliers |
| double | $(\mu_1 - \mu_2)^2$ of two eigenvalues that meet and leave an axis |

Test functions are evaluated at points of the curve corrected to round-off, not between steps, so that roots are accurate. Pairs of a
conservative system that meet on the imaginary axis never cross it: their growth on one side is round-off, and they are not Hopf points.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from chetaev.core.errors import StateError, UnfinishedError
from chetaev.mechanics.tolerances import ALMOST_ZERO
from chetaev.numerics.stability.spectrum import Complex, matched
from chetaev.orbits.arclength import Array, Node, between, determinant, range_basis, solved, tangent_at

_MOST_ITERATIONS = 25
"""Limit of Newton's iterations for a branch point; from an estimate by the sign of a determinant four are enough."""
_OFF_THE_AXIS = 1e-9
"""Least growth, relative to the largest eigenvalue, of an eigenvalue off the axis; ten times its error bound counts too."""
_NEAR_REAL_AXIS = 1e-4
"""Least imaginary part of a pair at a Hopf point, relative to the largest eigenvalue."""
_SAME_SPECIAL_POINT = 1e-3
"""Distance in units of the unknowns within which a meeting of eigenvalues belongs to a fold, a branch point or a doubling: in a
conservative system eigenvalues meet there at zero (multipliers: at 1 or -1)."""
_LOST_DIMENSION = 1e-6
"""Relative to the largest singular value: a derivative with a smaller one has lost a rank, so that another family crosses."""
_FOLD_AT_BRANCH_POINT = 1e-5
"""Distance in units of the unknowns within which a fold is part of a branch point."""
_SHARE_ERROR = 1e-15
"""Absolute error of the share of a step at which a special point lies."""
_AT_FOLD = 1e-9
"""Component of the unit tangent along the followed quantity below which a node lies at a fold; with less, round-off would give it a
sign."""
_CUT = 1e-13
"""Relative: singular values of the extended system of a branch point below this are left out of a step. The system is regular at simple
branch points."""
_JUST_BEYOND = 1e-6
"""Share of a step after a meeting of eigenvalues from which their crossing of the axis is sought, so that the meeting itself is not found
again."""
_CONJUGATE = 1e-9
"""Relative difference of two eigenvalues that are complex conjugates of each other."""
_OPPOSITE = 1e-6
"""Relative difference of an eigenvalue from the mirror image of another one; the images have the errors of both."""


@dataclass(frozen=True, eq=False)
class Found:
    """A special point of a curve."""

    kind: str
    node: Node
    order: float
    """The index of the point before it plus the fraction of the way to the next."""
    eigenvalue: complex | None
    left: Array | None = None
    """At a branch point, a basis of the range of the derivative at regular points nearby."""


def special_points(nodes: Sequence[Node]) -> tuple[list[Found], tuple[str, ...]]:
    """All special points between the points of a curve, in their order, and a sentence for each that could not be decided."""
    undecided: list[str] = []
    found = list(_branches(nodes, undecided))
    found += list(_folds(nodes, found, undecided))
    found += _doublings(nodes, undecided)
    zero = list(found)  # eigenvalues that meet near one of these points belong to it
    for f in _of_eigenvalues(nodes, found, undecided):
        again = any(_near(f, g) and f.kind == g.kind and _same(f.eigenvalue, g.eigenvalue) for g in found)
        if not again and (f.kind == "hopf" or not any(_near(f, z, _SAME_SPECIAL_POINT) for z in zero)):
            found.append(f)
            zero += [] if f.kind in ("hopf", "double") else [f]
    return sorted(found, key=lambda f: f.order), tuple(undecided)


def _near(a: Found, b: Found, within: float = _FOLD_AT_BRANCH_POINT) -> bool:
    return float(np.abs(a.node.u - b.node.u).max()) < within


def _same(a: complex | None, b: complex | None) -> bool:
    """Whether two eigenvalues are equal or conjugate, or one is missing; symmetric systems have multiple eigenvalues."""
    return a is None or b is None or abs(abs(a.imag) - abs(b.imag)) + abs(a.real - b.real) <= _NEAR_REAL_AXIS * (abs(a) + abs(b))


def _signs(values: Sequence[float], most: int = 1) -> Iterator[tuple[int, int]]:
    """Pairs of indices between which the sign changes, with at most `most` zeros between: a point of the curve may be special itself."""
    last = None
    for k, v in enumerate(values):
        if v == 0 or np.isnan(v):
            continue
        if last is not None and values[last] * v < 0 and k - last <= 1 + most:
            yield last, k
        last = k


def _root(a: Node, b: Node, test: Callable[[Node], float], singular: bool = False) -> tuple[Node, float]:
    """The point between `a` and `b` where a test function vanishes, and the fraction of the way to it."""
    seen: dict[float, Node] = {}

    def value(share: float) -> float:
        seen[share] = between(a, b, share, singular)
        return test(seen[share])

    share = float(brentq(value, 0.0, 1.0, xtol=_SHARE_ERROR, rtol=4 * np.finfo(float).eps, maxiter=100))
    return (seen[share] if share in seen else between(a, b, share, singular)), share


def _located(
    kind: str, a: Node, b: Node, test: Callable[[Node], float], undecided: list[str], singular: bool = False
) -> tuple[Node, float] | None:
    """The result of `_root`; None, with a sentence appended to `undecided`, if the search for the root fails."""
    try:
        return _root(a, b, test, singular)
    except (StateError, ValueError, RuntimeError):  # no point between, no change of sign on the curve, or no convergence
        name = b.curve.name
        undecided.append(
            f"whether there is a {kind} point between {name} = {a.value:.6g} and {b.value:.6g}: no root was found on the curve"
        )
        return None


def _folds(nodes: Sequence[Node], branches: Sequence[Found], undecided: list[str]) -> Iterator[Found]:
    """Folds, except those at branch points, where a curve may be vertical without turning back."""

    def test(node: Node) -> float:
        return float(node.tangent @ node.curve.along)

    for i, j in _signs([0.0 if abs(test(n)) < _AT_FOLD else test(n) for n in nodes]):
        crossed = [b for b in branches if i <= b.order <= j]
        root = _located("fold", nodes[i], nodes[j], test, undecided, singular=bool(crossed))
        if root is None:
            continue
        fold = Found("fold", root[0], i + root[1] * (j - i), None)
        if not any(_near(fold, b, _SAME_SPECIAL_POINT) for b in crossed):
            yield fold


def _branches(nodes: Sequence[Node], undecided: list[str]) -> Iterator[Found]:
    """Branch points: sign changes of a determinant with the same basis of the range at both points, since bases differ between points."""
    last = 0
    for k, node in enumerate(nodes[1:], 1):
        before = nodes[last] if nodes[last].curve is node.curve else _moved(nodes[last], node.curve)
        left = max((range_basis(node.curve, n.u) for n in (before, node)), key=lambda c: c[1])[0]
        now = determinant(node, left)
        if now == 0:
            continue
        if determinant(before, left) * now < 0 and k - last <= 2:
            try:
                yield _branch(before, node, left, last, k)
            except StateError as failure:  # the family reports it as undecided
                undecided.append(failure.what)
        last = k


def _moved(node: Node, curve: Any) -> Node:
    """The node moved to `curve`, the same curve with other phase conditions."""
    try:
        u = solved(curve, node.u, lambda v: (float(node.tangent @ (v - node.u)), node.tangent))
        return Node(curve, u, tangent_at(curve, u, node.tangent), curve.value(u))
    except (StateError, UnfinishedError):
        return Node(curve, node.u, node.tangent, node.value)


def _branch(a: Node, b: Node, left: Array, i: int, j: int) -> Found:
    """The branch point between two points: an estimate by the determinant, refined by Moore's equations."""
    near, _ = _root(a, b, lambda n: determinant(n, left), singular=True)
    u = moore(b.curve, near.u, left)
    chord = b.u - a.u
    share = float(chord @ (u - a.u) / (chord @ chord))
    along = (b.u - a.u) / np.linalg.norm(b.u - a.u)
    return Found("branch", Node(b.curve, u, along, b.curve.value(u)), i + share * (j - i), None, left)


def moore(curve: Any, u: Array, left: Array) -> Array:
    r"""The branch point near a point: $U^T G + \beta\psi = 0$, $\psi^T U^T J = 0$, $\psi^T\psi = 1$, which is regular there."""
    n, value = len(u), curve.value(u)
    psi, beta = np.linalg.svd(left.T @ curve.numbers(u)[1])[0][:, -1], 0.0
    for _ in range(_MOST_ITERATIONS):
        residual, slopes = curve.numbers(u)
        g, j = left.T @ residual, left.T @ slopes
        second = np.zeros((n, n))
        for k in range(n):
            shift = curve.difference * np.eye(n)[k]
            second[:, k] = (psi @ left.T @ curve.numbers(u + shift)[1] - psi @ left.T @ curve.numbers(u - shift)[1]) / (
                2 * curve.difference
            )
        matrix = np.zeros((2 * n, 2 * n))
        matrix[: n - 1, :n], matrix[: n - 1, n : 2 * n - 1], matrix[: n - 1, -1] = j, beta * np.eye(n - 1), psi
        matrix[n - 1 : 2 * n - 1, :n], matrix[n - 1 : 2 * n - 1, n : 2 * n - 1] = second, j.T
        matrix[-1, n : 2 * n - 1] = 2 * psi
        right = -np.concatenate([g + beta * psi, j.T @ psi, [psi @ psi - 1]])
        step = np.linalg.lstsq(matrix, right, rcond=_CUT)[0]
        u, psi, beta = u + step[:n], psi + step[n : 2 * n - 1], beta + float(step[-1])
        if float(np.abs(step[:n]).max()) < 10 * curve.close:
            residual, _ = curve.numbers(u)
            if float(np.abs(residual).max(initial=0.0)) > 10 * curve.met:
                break
            return u
    what = f"whether a family branches off near {curve.name} = {value:.6g}: "
    what += f"Newton's iteration did not converge in {_MOST_ITERATIONS} iterations"
    raise StateError(what, where=curve.where)


def _doublings(nodes: Sequence[Node], undecided: list[str]) -> Iterator[Found]:
    def test(node: Node) -> float:
        return float(node.curve.doubling(node.u))

    if not nodes or not hasattr(nodes[0].curve, "doubling"):
        return
    for i, j in _signs([test(n) for n in nodes]):
        root = _located("period_doubling", nodes[i], nodes[j], test, undecided)
        if root is not None:
            yield Found("period_doubling", root[0], i + root[1] * (j - i), -1.0 + 0j)


def tracked(nodes: Sequence[Node]) -> tuple[list[Complex], list[Array]]:
    """The eigenvalues at the points of a curve, each followed in its own column, and their error bounds."""
    rows: list[Complex] = []
    doubts: list[Array] = []
    lengths: list[float] = []
    for k, node in enumerate(nodes):
        values, doubt = node.curve.spectrum(node.u)
        lengths.append(lengths[-1] + float(np.linalg.norm(node.u - nodes[k - 1].u)) if k else 0.0)
        if k and len(values) == len(rows[-1]):
            order = matched(rows, np.array(lengths), values)
            values, doubt = values[order], doubt[order]
        rows.append(values)
        doubts.append(doubt)
    return rows, doubts


def _of_eigenvalues(nodes: Sequence[Node], known: Sequence[Found], undecided: list[str]) -> list[Found]:
    rows, doubts = tracked(nodes)
    if len({len(row) for row in rows}) != 1 or not len(rows[0]):
        return []
    found = list(_crossings(nodes, rows, doubts, known, undecided))
    for k in range(len(nodes) - 1):
        found += _doubles(nodes, rows, doubts, k, undecided)
    return found


def _offset(node: Node, values: Complex, doubts: Array) -> Array:
    """The growth rates of eigenvalues; 0 for those on the axis within their error bounds `doubts`."""
    growth = node.curve.growth(values)
    size = np.maximum(10 * doubts, _OFF_THE_AXIS * np.abs(values).max(initial=0.0))
    return np.where(np.abs(growth) <= size, 0.0, growth)


def _imaginary(values: Complex, doubts: Array) -> NDArray[np.bool_]:
    """Which eigenvalues have a positive imaginary part beyond their error bounds `doubts`."""
    found: NDArray[np.bool_] = values.imag > np.maximum(10 * doubts, _OFF_THE_AXIS * np.abs(values).max(initial=0.0))
    return found


def _crossings(
    nodes: Sequence[Node], rows: Sequence[Complex], doubts: Sequence[Array], known: Sequence[Found], undecided: list[str]
) -> Iterator[Found]:
    """Eigenvalues that cross the axis: pairs at Hopf points, and real ones where no determinant changes its sign.

    Determinants may keep their sign where symmetries make several real eigenvalues cross together.
    """
    growths = np.array([_offset(n, w, d) for n, w, d in zip(nodes, rows, doubts, strict=True)])
    upper = np.array([_imaginary(w, d) for w, d in zip(rows, doubts, strict=True)])
    lower = np.array([_imaginary(w.conj(), d) for w, d in zip(rows, doubts, strict=True)])
    for column in range(growths.shape[1]):
        for i, j in _signs(list(growths[:, column])):
            if upper[i, column] and upper[j, column]:
                yield from _crossing(nodes, i, j, rows[i][column], rows[j][column], 0.0, undecided)
            elif not (upper | lower)[[i, j], column].any() and not any(i <= f.order <= j for f in known):
                yield from _real_crossing(nodes, i, j, rows[i][column].real, rows[j][column].real, undecided)


def _real_crossing(nodes: Sequence[Node], i: int, j: int, first: float, last: float, undecided: list[str]) -> Iterator[Found]:
    """The point where a real eigenvalue crosses the axis: a branch point, or a period doubling where a multiplier passes -1."""
    a, b = nodes[i], nodes[j]
    chord = b.u - a.u
    explained = min(n.curve.trivial(n.u) for n in (a, b))

    def here(node: Node) -> complex:
        share = float(chord @ (node.u - a.u) / (chord @ chord))
        values = node.curve.spectrum(node.u)[0]
        values = values[np.argsort(node.curve.from_trivial(values))[explained:]]
        return complex(values[np.argmin(np.abs(values - ((1 - share) * first + share * last)))])

    def test(node: Node) -> float:
        return float(node.curve.growth(np.array([here(node)]))[0])

    if test(a) * test(b) >= 0:
        return
    root = _located("branch", a, b, test, undecided)
    if root is None:
        return
    node, share = root
    kind = "period_doubling" if hasattr(node.curve, "doubling") and here(node).real < 0 else "branch"
    yield Found(kind, Node(node.curve, node.u, chord / np.linalg.norm(chord), node.value), i + share * (j - i), None)


def _crossing(nodes: Sequence[Node], i: int, j: int, first: complex, last: complex, begin: float, undecided: list[str]) -> Iterator[Found]:
    """The point where a complex pair crosses the axis: a Hopf point."""
    a, b = nodes[i], nodes[j]
    if begin > 0:
        a = between(a, b, begin)

    def here(node: Node) -> complex:
        share = float((b.u - a.u) @ (node.u - a.u) / ((b.u - a.u) @ (b.u - a.u)))
        values = node.curve.spectrum(node.u)[0]
        return complex(values[np.argmin(np.abs(values - ((1 - share) * first + share * last)))])

    def test(node: Node) -> float:
        return float(node.curve.growth(np.array([here(node)]))[0])

    if test(a) * test(b) >= 0:
        return
    root = _located("hopf", a, b, test, undecided)
    if root is None:
        return
    node, share = root
    at = here(node)
    if abs(at.imag) > _NEAR_REAL_AXIS * max(ALMOST_ZERO, float(np.abs(node.curve.spectrum(node.u)[0]).max())):
        yield Found("hopf", node, i + (begin + (1 - begin) * share) * (j - i), at if at.imag > 0 else at.conjugate())


def _doubles(nodes: Sequence[Node], rows: Sequence[Complex], doubts: Sequence[Array], k: int, undecided: list[str]) -> Iterator[Found]:
    """Eigenvalues that meet between two neighbouring points and leave the real axis, or the axis of a conservative system."""
    a, b = nodes[k], nodes[k + 1]
    pairs = [*_meeting(a, b, rows, doubts, k, k + 1), *_meeting(b, a, rows, doubts, k + 1, k)]
    for one, two in pairs:
        ends = [(rows[i][one], rows[i][two]) for i in (k, k + 1)]
        pair = _Pair(a, b, ends[0], ends[1])
        if pair.gaps[0].real * pair.gaps[1].real >= 0:
            continue
        root = _located("double", a, b, pair.test, undecided)
        if root is None:
            continue
        node, share = root
        meeting = pair.at(node)[0]
        for kind, product in b.curve.crossings():  # one of two real eigenvalues crosses before they meet
            met, ending = product(meeting, meeting).real, [product(*end).real for end in ends]
            if ending[0] * ending[1] < 0 and abs(met) > _NEAR_REAL_AXIS * max(map(abs, ending)):
                crossing = _located(kind, a, b, lambda n, pair=pair, product=product: float(product(*pair.both(n)).real), undecided)  # type: ignore[misc]
                if crossing is not None:
                    on, along = crossing[0], (b.u - a.u) / np.linalg.norm(b.u - a.u)
                    yield Found(kind, Node(on.curve, on.u, along, on.value), k + crossing[1], None)
        kind = "branch" if range_basis(node.curve, node.u)[1] < _LOST_DIMENSION else "double"
        yield Found(kind, node, k + share, meeting if kind == "double" else None)
        ahead, doubt = rows[k + 1][one], doubts[k + 1][one]
        grown = _offset(b, np.array([meeting, ahead]), np.array([doubt, doubt]))  # in a conservative system both are zero up to round-off
        if abs(ahead.imag) > 0 and grown[0] * grown[1] < 0:
            upper = ahead if ahead.imag > 0 else ahead.conjugate()
            yield from _crossing(nodes, k, k + 1, meeting, upper, min(share + _JUST_BEYOND, 1.0), undecided)


@dataclass(frozen=True, eq=False)
class _Pair:
    """Two eigenvalues that meet between two points: their mean and their squared difference are smooth there."""

    a: Node
    b: Node
    first: tuple[complex, complex]
    last: tuple[complex, complex]

    @property
    def gaps(self) -> tuple[complex, complex]:
        gap = self.a.curve.gap
        return gap(*self.first), gap(*self.last)

    def both(self, node: Node) -> tuple[complex, complex]:
        """The pair at a point between: of all pairs there, the one nearest to the interpolated mean and difference."""
        chord = self.b.u - self.a.u
        share = float(chord @ (node.u - self.a.u) / (chord @ chord))
        mean = (1 - share) * sum(self.first) / 2 + share * sum(self.last) / 2
        wide = (1 - share) * self.gaps[0] + share * self.gaps[1]
        values, unit = node.curve.spectrum(node.u)[0], max(map(abs, self.gaps)) ** 0.5
        found = [(p, q) for m, p in enumerate(values) for q in values[m + 1 :]]
        return min(found, key=lambda t: abs((t[0] + t[1]) / 2 - mean) + abs(node.curve.gap(*t) - wide) / unit)

    def at(self, node: Node) -> tuple[complex, float]:
        """The mean and the squared difference at a point between."""
        p, q = self.both(node)
        return (p + q) / 2, node.curve.gap(p, q).real

    def test(self, node: Node) -> float:
        """The squared difference."""
        return self.at(node)[1]


def _meeting(a: Node, b: Node, rows: Sequence[Complex], doubts: Sequence[Array], i: int, j: int) -> Iterator[tuple[int, int]]:
    """Pairs of columns that lie on an axis at `a` and have left it at `b`."""
    w, v = rows[i], rows[j]
    off_real = [_imaginary(r, d) | _imaginary(r.conj(), d) for r, d in ((w, doubts[i]), (v, doubts[j]))]
    grown = [_offset(n, r, d) for n, r, d in ((a, w, doubts[i]), (b, v, doubts[j]))]
    for one in range(len(w)):
        for two in range(one + 1, len(w)):
            real = not off_real[0][one] and not off_real[0][two]
            if real and off_real[1][one] and abs(v[one] - v[two].conjugate()) <= _CONJUGATE * abs(v[one]):
                yield one, two
            upper = w[one].imag > 0 and w[two].imag > 0 and off_real[0][one] and off_real[0][two]
            on_axis = grown[0][one] == 0 and grown[0][two] == 0
            if upper and on_axis and grown[1][one] * grown[1][two] < 0 and off_real[1][one]:
                opposite = a.curve.mirrored(v[one])
                if abs(opposite - v[two]) <= _OPPOSITE * abs(v[two]):
                    yield one, two
