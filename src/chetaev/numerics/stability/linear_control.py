r"""Linear control on the constraint manifold: controllability, optimal feedback and optimal estimation.

A naive pair $(A, B)$ in all jets of the state is never controllable, because the constraints bind some of them. In independent jets the
classical theory holds: R. E. Kalman, Contributions to the theory of optimal control, Bol. Soc. Mat. Mexicana 5 (1960) 102-119; B. D. O.
Anderson, J. B. Moore, Optimal Control: Linear Quadratic Methods (1990).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy
from scipy.linalg import matrix_balance, solve_continuous_are

from chetaev.core.errors import StateError, UsageError, about
from chetaev.core.fixes import InPython, SetArgument
from chetaev.core.notation import Vocabulary, parse_expression
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.core.symbols import Coordinate
from chetaev.mechanics.ranks.generic import Matrix
from chetaev.numerics.stability.spectrum import Complex, ordered

_UNREACHABLE_DIRECTION = 1e-9
"""Relative to the largest entry of the balanced pair: smaller directions of the reachable space count as zero. Round-off is near 1e-14."""
_ZERO_GAIN = 1e-12
"""Gain, relative to the largest, below which it is round-off and left out of the printed feedback."""
_RESIDUAL = 1e-7
"""Largest residual of the Riccati equation, relative to its largest terms, of a gain that is returned; beyond it the computed gain has no
digits."""


def reachable(a: Matrix, b: Matrix) -> Matrix:
    r"""Return an orthonormal basis of the space that inputs reach, $\mathrm{span}(B, AB, A^2B, \dots)$, in balanced coordinates.

    Every power is orthogonalised against the previous ones, so that no large power of $A$ hides a small direction.
    """
    found = np.zeros((len(a), 0))
    fresh = b / np.maximum(np.abs(b).max(axis=0, initial=0.0), np.finfo(float).tiny)
    while fresh.size and found.shape[1] < len(a):
        size = float(np.abs(fresh).max(initial=0.0))
        for _ in range(2):  # orthogonalising twice removes the round-off of the first pass
            fresh = fresh - found @ (found.T @ fresh)
        u, s, _ = np.linalg.svd(fresh, full_matrices=False)
        rank = int(np.sum(s > _UNREACHABLE_DIRECTION * max(size, np.finfo(float).tiny)))
        new = u[:, :rank]
        found = np.hstack([found, new])
        fresh = a @ new / max(float(np.abs(a).max(initial=0.0)), np.finfo(float).tiny)
        if not rank:
            break
    return found


def controllable(a: Matrix, b: Matrix) -> bool:
    """Whether inputs can bring the linearised motion from every state to every other one."""
    balanced, scale = _balanced(a)
    return reachable(balanced, b / scale[:, None]).shape[1] == len(a)


def observable(a: Matrix, c: Matrix) -> bool:
    """Whether outputs over some time determine the state: the dual pair is controllable."""
    return controllable(a.T, c.T)


def _balanced(a: Matrix) -> tuple[Matrix, Matrix]:
    """The matrix in units in which its rows and columns have similar sizes, and these units."""
    if not len(a):
        return a, np.zeros(0)
    balanced, (scale, _) = matrix_balance(a, permute=False, separate=True)
    return balanced, scale


@public
@dataclass(frozen=True, eq=False, repr=False)
class Gain:
    r"""An optimal feedback $u = u_0 - K (y - y_0)$, and the linearised motion under it."""

    matrix: Matrix
    """K: a row per input, a column per independent jet."""
    inputs: tuple[str, ...]
    names: tuple[str, ...]
    eigenvalues: Complex
    """Of $A - BK$, the largest real part first."""
    left: int
    """The number of directions without cost that no feedback can stabilise: the gain ignores them."""
    text: Mapping[str, str]
    """The feedback as an expression for each input, which `simulate(..., inputs=...)` and `System(forces=...)` read."""

    @property
    def K(self) -> Matrix:  # noqa: N802
        """The gain, `matrix`."""
        return self.matrix

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Matrix:
        return np.array(self.matrix, dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        lines = [f"  {name} = {self.text[name]}" for name in self.inputs if name in self.text]
        shown = ", ".join(f"{v:.6g}" for v in self.eigenvalues)
        return "\n".join(["optimal feedback", *lines, f"  eigenvalues  {shown}"])


def lqr(a: Matrix, b: Matrix, q: Any, r: Any, names: Sequence[str], inputs: Sequence[str], where: str) -> tuple[Matrix, Complex, int]:
    r"""Return the gain that minimises $\int (y^T Q y + u^T R u)\,dt$, the eigenvalues of $A - BK$, and the number of directions it ignores.

    Directions without cost at all times (those that the pair $(Q, A)$ does not observe) are divided out if no feedback can stabilise them,
    such as the position of a vehicle, or a speed that no input changes.
    """
    weight, price = _form(q, names, "Q", where), _form(r, inputs, "R", where)
    if not inputs:
        raise UsageError("the linearisation has no inputs.", where=where, hint=InPython('linearize(..., inputs=["u"]).lqr(Q, R)'))
    if np.linalg.eigvalsh(price).min(initial=1.0) <= 0:
        raise UsageError(
            "R is not positive definite.", where=where, why="Otherwise an unbounded input costs nothing.", hint=SetArgument("R", 1)
        )
    if len(weight) and np.linalg.eigvalsh(weight).min() < -_UNREACHABLE_DIRECTION * np.abs(weight).max():
        raise UsageError("Q is not positive semidefinite.", where=about(where, "Q"), hint="a sum of squares of names of the linearisation")
    scale = _balanced(a)[1]
    whole = np.eye(len(a)) * scale
    for basis in (whole, _costly(a, weight, scale)):
        down = np.linalg.pinv(basis)
        found = _solved(down @ a @ basis, down @ b, basis.T @ weight @ basis, price)
        if found is not None:
            gain = found @ down
            return gain, ordered(np.linalg.eigvals(a - b @ gain).astype(complex)), len(a) - basis.shape[1]
    raise StateError(
        "no feedback stabilises the directions that Q weighs.",
        where=where,
        why="A direction that costs something is reached by no input and does not decay, or stays on the imaginary axis.",
        hint="lin.controllable says whether; weigh only what the inputs reach, or add an input",
    )


def _costly(a: Matrix, weight: Matrix, scale: Matrix) -> Matrix:
    """A basis, in the units of `scale`, of a complement of the directions without cost at all times."""
    balanced = a / scale[:, None] * scale
    cost = weight * np.outer(scale, scale)
    return scale[:, None] * reachable(balanced.T, cost)


def _solved(a: Matrix, b: Matrix, q: Matrix, r: Matrix) -> Matrix | None:
    """The stabilising gain; None if there is none."""
    try:
        p = solve_continuous_are(a, b, (q + q.T) / 2, r)
    except (np.linalg.LinAlgError, ValueError):
        return None
    gain: Matrix = np.linalg.solve(r, b.T @ p)
    residual = a.T @ p + p @ a - p @ b @ gain + q
    terms = np.abs(a.T) @ np.abs(p) + np.abs(p) @ np.abs(a) + np.abs(p) @ np.abs(b) @ np.abs(gain) + np.abs(q)
    closed = np.linalg.eigvals(a - b @ gain)
    stable = bool(np.all(closed.real < -_UNREACHABLE_DIRECTION * np.abs(closed).max(initial=0.0)))
    return gain if stable and bool(np.all(np.abs(residual) <= _RESIDUAL * terms.max(initial=0.0))) else None


def _form(given: Any, names: Sequence[str], what: str, where: str) -> Matrix:
    """A symmetric matrix from a matrix, a diagonal, a number, or a text that is a quadratic form in `names`."""
    n = len(names)
    if isinstance(given, str):
        return quadratic_form(given, names, what, where)
    try:
        found = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        found = np.array(np.nan)
    if found.ndim == 0:
        found = float(found) * np.eye(n)
    elif found.ndim == 1:
        found = np.diag(found)
    if found.shape != (n, n) or not np.isfinite(found).all():
        hint = f'a {n} x {n} matrix, {n} numbers, a number, or a text such as "{names[0] if names else "x"}^2"'
        raise UsageError(f"{what} is not a quadratic form in {' '.join(names)}.", where=where, hint=hint)
    return (found + found.T) / 2


def quadratic_form(text: str, names: Sequence[str], what: str, where: str) -> Matrix:
    """The matrix of a quadratic form that is written as a text in `names`."""
    plain = [name for name in names if not name.startswith("δ")]
    jets = {base: Coordinate(base) for base in dict.fromkeys(name.rstrip("'") for name in plain)}
    variables = [jets[name.rstrip("'")].d(len(name) - len(name.rstrip("'"))) for name in plain]
    expression = parse_expression(text, Vocabulary(jets=jets), f"{where}, {what}")
    wrong = expression.free_symbols - set(variables)
    form = sympy.hessian(expression, variables) / 2 if variables and not wrong else sympy.zeros(len(variables))
    column = sympy.Matrix(variables)
    if wrong or form.free_symbols or sympy.expand(expression - (column.T * form * column)[0]) != 0:
        what_it_is = f"{what} = {text} is not a quadratic form in {' '.join(plain)}."
        raise UsageError(what_it_is, where=where, hint=SetArgument(what, f"{plain[0] if plain else 'x'}^2"))
    found = np.zeros((len(names), len(names)))
    places = [k for k, name in enumerate(names) if name in plain]
    found[np.ix_(places, places)] = np.array(form.tolist(), dtype=float)
    return found


def feedback_texts(
    gain: Matrix, names: Sequence[str], inputs: Sequence[str], state: Mapping[str, float], operating: Sequence[float]
) -> Frozen[str, str]:
    """The feedback of each input as a text; none where a name such as δA1 has no expression."""
    found: dict[str, str] = {}
    largest = float(np.abs(gain).max(initial=0.0))
    for name, row, value in zip(inputs, gain, operating, strict=True):
        used = [(k, z) for k, z in zip(row, names, strict=True) if abs(k) > _ZERO_GAIN * largest]
        if any(z.startswith("δ") for _, z in used):
            continue
        terms = [f"{-k!r}*({z} - ({state[z]!r}))" if state[z] else f"{-k!r}*{z}" for k, z in ((float(k), z) for k, z in used)]
        text = " + ".join([*([repr(float(value))] if value else []), *terms]) or "0"
        found[name] = text.replace("+ -", "- ")
    return Frozen(found)


def lqe(a: Matrix, g: Any, c: Matrix, w: Any, v: Any, where: str) -> tuple[Matrix, Complex]:
    r"""Return the gain $L$ of the optimal estimator $\hat y' = A \hat y + B u + L (z - C \hat y)$, and the eigenvalues of $A - LC$.

    Noise of covariance $W$ enters through $G$, noise of covariance $V$ disturbs the outputs: the dual of optimal feedback.
    """
    outputs = [f"output {k + 1}" for k in range(len(c))]
    gains = np.eye(len(a)) if g is None else np.asarray(g, dtype=float)
    if gains.ndim != 2 or gains.shape[0] != len(a):
        raise UsageError(f"G needs {len(a)} rows.", where=about(where, "G"), hint="None for noise in every direction")
    noise = gains @ _form(w, [f"noise {k + 1}" for k in range(gains.shape[1])], "W", where) @ gains.T
    found, _, _ = lqr(a.T, c.T, noise, _form(v, outputs, "V", where), [f"direction {k + 1}" for k in range(len(a))], outputs, where)
    return found.T, ordered(np.linalg.eigvals(a - found.T @ c).astype(complex))
