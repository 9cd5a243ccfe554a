"""The nine systems on all sides: the gallery's models, the equations by hand, how their states are related, and reference solutions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import hand
import numpy as np
import symbolic
from numba import njit
from peer import Rhs, lambdified

import chetaev as ch

LINKS, TRAILERS = 20, 10
"""How long the chain and the train are."""


@dataclass(frozen=True)
class Case:
    """A system on all sides. `named` turns the hand's state into the values of `names`, by which errors are measured.

    `peer` is the system for SymPy, where that takes no minutes; `made` makes the model if it is not simply the gallery's; `constants` are
    what the hand has besides the parameters; `defined` goes to the preprocessor of C; `finer` multiplies the steps of the reference.
    """

    name: str
    t: float
    rhs: Callable[[Any, Any, Any, Any], None]
    from_start: Callable[[Any], Sequence[float]]
    names: Sequence[str]
    named: Callable[[Any, Any], Sequence[Any]]
    peer: Callable[[Sequence[float], Sequence[float]], symbolic.Symbolic] | None = None
    made: Callable[[], ch.Model] | None = None
    constants: Callable[[Any], Sequence[float]] = lambda now: ()
    defined: Sequence[str] = ()
    finer: int = 1

    @cached_property
    def model(self) -> ch.Model:
        """The model of the library."""
        return ch.gallery(self.name) if self.made is None else self.made()

    @cached_property
    def now(self) -> Any:
        """The start, completed."""
        return ch.evaluate(self.model)

    @cached_property
    def p(self) -> Any:
        """Parameters in the model's order, then constants of the hand's own."""
        return np.array([*[float(v) for v in self.model.parameters.values()], *self.constants(self.now)])

    @cached_property
    def y0(self) -> Any:
        """The hand's state at the start."""
        return np.array(self.from_start(self.now), dtype=float)

    @cached_property
    def jitted(self) -> Rhs:
        """The right-hand side compiled by numba, for solve_ivp."""
        inner, p = njit(self.rhs), self.p

        @njit
        def rhs(t: float, y: Any) -> Any:
            out = np.empty(y.size)
            inner(t, y, p, out)
            return out

        rhs(0.0, self.y0)
        found: Rhs = rhs
        return found

    @cached_property
    def lambdified(self) -> Rhs:
        """The peer's right-hand side, in all coordinates and velocities."""
        assert self.peer is not None  # noqa: S101 - nobody asks for it otherwise
        return lambdified(self.peer(list(self.p), self.full_start))

    @cached_property
    def full_start(self) -> list[float]:
        """All coordinates, then all velocities."""
        jets = [z.name for z in self.model.system.coordinates]
        return [self.now[z] for z in jets] + [self.now[f"{z}'"] for z in jets]

    @cached_property
    def full_names(self) -> list[str]:
        """What the peer's state is called."""
        jets = [z.name for z in self.model.system.coordinates]
        return jets + [f"{z}'" for z in jets]


def _sleigh_named(y: Any, p: Any) -> list[Any]:
    return [y[0], y[1], y[2], y[3] * np.cos(y[2]), y[3] * np.sin(y[2]), y[4]]


def _disk_named(y: Any, p: Any) -> list[Any]:
    return [*y[:7], y[7] + y[5] * np.sin(y[3])]


_ROCARD = ("psi", "theta", "epsilon", "x1", "x2", "psi'", "theta'")
_TOP = (*[f"A{i}{j}" for i in (1, 2, 3) for j in (1, 2, 3)], "A1'", "A2'", "A3'")
_HEADINGS = tuple(f"theta{k}" for k in range(TRAILERS + 1))
_CHAIN = tuple(f"theta{k}{dot}" for dot in ("", "'") for k in range(1, LINKS + 1))


def _quaternion_and_spin(now: Any) -> list[float]:
    """From the matrix of a rotation by less than half a turn."""
    w = np.sqrt(1.0 + now["A11"] + now["A22"] + now["A33"]) / 2
    axis = [(now[a] - now[b]) / (4 * w) for a, b in (("A32", "A23"), ("A13", "A31"), ("A21", "A12"))]
    return [w, *axis, now["A1'"], now["A2'"], now["A3'"]]


def _top_named(y: Any, p: Any) -> list[Any]:
    w, x, u, z = y[:4]
    rows = [
        [1 - 2 * (u * u + z * z), 2 * (x * u - w * z), 2 * (x * z + w * u)],
        [2 * (x * u + w * z), 1 - 2 * (x * x + z * z), 2 * (u * z - w * x)],
        [2 * (x * z - w * u), 2 * (u * z + w * x), 1 - 2 * (x * x + u * u)],
    ]
    return [*rows[0], *rows[1], *rows[2], *y[4:]]


def _vakonomic_disk() -> ch.Model:
    model = ch.gallery("disk")
    free = model.also[ch.Vakonomic()]
    return replace(model, principle=ch.Vakonomic(), start=ch.State({**model.start.fixed, **free}), also={}, invariants={})


def _momenta(now: Any) -> list[float]:
    return [now[e] for e in ("m*x' + lambda1", "m*y' + lambda2", "I*theta' - R*(lambda1*cos(varphi) + lambda2*sin(varphi))")]


def _vakonomic_named(y: Any, p: Any) -> list[Any]:
    m, R, I, _, p1, p2, p3 = p  # noqa: E741
    s, c = np.sin(y[3]), np.cos(y[3])
    spin = (p3 + R * (p1 * c + p2 * s)) / (I + m * R * R)
    return [*y, spin, p1 - m * R * spin * c, p2 - m * R * spin * s]


CASES = (
    Case(
        "double_pendulum",
        5.0,
        hand.double_pendulum,
        lambda now: [now["theta1"], now["theta2"], now["theta1'"], now["theta2'"]],
        ("theta1", "theta2", "theta1'", "theta2'"),
        lambda y, p: y,
        symbolic.double_pendulum,
    ),
    Case(
        "sleigh",
        10.0,
        hand.sleigh,
        lambda now: [now["x"], now["y"], now["theta"], now["x'*cos(theta) + y'*sin(theta)"], now["theta'"]],
        ("x", "y", "theta", "x'", "y'", "theta'"),
        _sleigh_named,
        symbolic.sleigh,
    ),
    Case(
        "leaning_disk",
        5.0,
        hand.leaning_disk,
        lambda now: [now[z] for z in ("x", "y", "phi", "theta", "psi", "phi'", "theta'", "psi' - phi'*sin(theta)")],
        ("x", "y", "phi", "theta", "psi", "phi'", "theta'", "psi'"),
        _disk_named,
        symbolic.leaning_disk,
    ),
    Case(
        "cartesian_pendulum",
        10.0,
        hand.cartesian_pendulum,
        lambda now: [now[z] for z in ("x", "y", "x'", "y'")],
        ("x", "y", "x'", "y'"),
        lambda y, p: y,
        symbolic.cartesian_pendulum,
    ),
    Case(
        "rocard",
        10.0,
        hand.rocard,
        lambda now: [now[z] for z in _ROCARD],
        _ROCARD,
        lambda y, p: y,
    ),
    Case("lagrange_top", 1.0, hand.lagrange_top, _quaternion_and_spin, _TOP, _top_named, finer=4),
    Case(
        "vakonomic_disk",
        10.0,
        hand.vakonomic_disk,
        lambda now: [now[z] for z in ("x", "y", "theta", "varphi", "varphi'")],
        ("x", "y", "theta", "varphi", "varphi'", "theta'", "lambda1", "lambda2"),
        _vakonomic_named,
        made=_vakonomic_disk,
        constants=_momenta,
    ),
    Case(
        "trailer",
        10.0,
        hand.trailer,
        lambda now: [now[z] for z in ("x", "y", *_HEADINGS, "x'*cos(theta0) + y'*sin(theta0)", "theta0'")],
        ("x", "y", *_HEADINGS, "x'", "y'", "theta0'"),
        lambda y, p: [*y[:-2], y[-2] * np.cos(y[2]), y[-2] * np.sin(y[2]), y[-1]],
        made=lambda: ch.gallery("trailer", n=TRAILERS),
        defined=(f"TRAILERS={TRAILERS}",),
    ),
    Case(
        "chain",
        0.5,
        hand.chain,
        lambda now: [now[z] for z in _CHAIN],
        _CHAIN,
        lambda y, p: y,
        made=lambda: ch.gallery("chain", n=LINKS),
        defined=(f"LINKS={LINKS}",),
        finer=4,
    ),
)


def reference(case: Case, steps_per_unit: int = 64, columns: int = 8) -> list[float]:
    """The values at the end by extrapolation of the midpoint rule (Gragg, Bulirsch, Stoer) of order 16 in long doubles."""
    y = np.array(case.y0, np.longdouble)
    p = np.array(case.p, np.longdouble)
    steps = round(case.t * steps_per_unit * case.finer)
    h = np.longdouble(case.t) / steps
    for _ in range(steps):
        y = _extrapolated(case.rhs, y, p, h, columns)
    return [float(v) for v in case.named(y, p)]


def _extrapolated(rhs: Callable[..., None], y: Any, p: Any, h: Any, columns: int) -> Any:
    rows: list[Any] = []
    for j in range(1, columns + 1):
        new = [_midpoints(rhs, y, p, h, 2 * j)]
        for k, old in enumerate(rows):
            new.append(new[k] + (new[k] - old) / ((np.longdouble(j) / (j - k - 1)) ** 2 - 1))
        rows = new
    return rows[-1]


def _midpoints(rhs: Callable[..., None], y: Any, p: Any, h: Any, n: int) -> Any:
    step, slope = h / n, np.empty_like(y)
    rhs(0, y, p, slope)
    before, at = y, y + step * slope
    for _ in range(n - 1):
        rhs(0, at, p, slope)
        before, at = at, before + 2 * step * slope
    return at
