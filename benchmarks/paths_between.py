"""(h) Paths between two ends: `connect` beside a plain transcription of the same problem, written by hand with CasADi and solved by IPOPT.

The transcription has the midpoint rule in equal pieces, which is what is written down in an afternoon. It gives one curve from one guess.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from measure import Effort, Table
from scipy.optimize import brentq
from scipy.special import ellipe, ellipk

import chetaev as ch

_PIECES = (200, 800)
"""Pieces of the transcription."""


@dataclass(frozen=True)
class Case:
    """A problem with the least action in closed form."""

    title: str
    system: ch.System
    principle: Any
    start: dict[str, float]
    end: dict[str, float]
    action: float
    lagrangian: Callable[[Any, Any], Any]
    rows: Callable[[Any, Any], list[Any]]


def cases() -> list[Case]:
    """The problems."""
    angle = brentq(lambda a: (a - np.sin(a)) / (8 * np.sin(a / 2) ** 2) - 3, 0.1, 6.2, xtol=1e-15)
    m = brentq(lambda m: 2 * ellipe(m) / ellipk(m) - 1.5, 0.01, 0.9, xtol=1e-15)
    w = 4 * ellipk(m)
    rate = brentq(lambda r: (2 * r - np.sin(2 * r)) / (4 * np.sin(r) ** 2) - 2, 0.1, 3.1, xtol=1e-15)
    return [
        Case(
            "Heisenberg group, (1, 0, 3)",
            ch.System("x y z", lagrangian="(x'^2 + y'^2)/2", kinematic=["z' = (x*y' - y*x')/2"]),
            ch.Vakonomic(),
            {"x": 0, "y": 0, "z": 0},
            {"x": 1, "y": 0, "z": 3},
            (angle / np.sin(angle / 2)) ** 2 / 8,
            lambda q, v: (v[0] ** 2 + v[1] ** 2) / 2,
            lambda q, v: [v[2] - (q[0] * v[1] - q[1] * v[0]) / 2],
        ),
        Case(
            "elastica between clamped ends, half as far as long",
            ch.System("x y theta", lagrangian="theta'^2/2", kinematic=["x' = cos(theta)", "y' = sin(theta)"]),
            ch.Vakonomic(),
            {"x": 0, "y": 0, "theta": 0},
            {"x": 0.5, "y": 0, "theta": 0},
            2 * w**2 * (ellipe(m) / ellipk(m) - 1 + m),
            lambda q, v: v[2] ** 2 / 2,
            lambda q, v: [v[0] - ca.cos(q[2]), v[1] - ca.sin(q[2])],
        ),
        Case(
            "Grushin's plane, (1, 2)",
            ch.System("x y u", lagrangian="(x'^2 + u'^2)/2", kinematic=["y' = x*u'"]),
            ch.Vakonomic(),
            {"x": 0, "y": 0, "u": 0},
            {"x": 1, "y": 2, "u": None},
            (rate / np.sin(rate)) ** 2 / 2,
            lambda q, v: (v[0] ** 2 + v[2] ** 2) / 2,
            lambda q, v: [v[1] - q[0] * v[2]],
        ),
    ]


def tables(effort: Effort) -> list[Table]:
    """Digits of the least action, paths and seconds."""
    found = Table(
        "(h) Paths between two ends",
        ["problem", "by", "digits of the least action", "curves", "CPU, s"],
        "Transcription: the midpoint rule and IPOPT, from a straight line with a bump. Curves: those found; connect tells each with its "
        "multipliers, conjugate times and certificate.",
    )
    for case in cases():
        for seeds in (8,) if effort.quick else (8, 40):
            begin = time.process_time()
            paths = ch.connect(case.system, case.principle, case.start, case.end, seeds=seeds)
            found.add(case.title, f"connect, {seeds} seeds", _digits(paths[0].action, case), len(paths), time.process_time() - begin)
        for pieces in _PIECES:
            begin = time.process_time()
            action = _transcribed(case, pieces)
            found.add(case.title, f"{pieces} pieces", _digits(action, case), 0 if action is None else 1, time.process_time() - begin)
    return [found]


def _digits(action: float | None, case: Case) -> str:
    if action is None:
        return "no solution"
    error = abs(action / case.action - 1)
    return f"{-np.log10(max(error, 1e-16)):.1f}"


def _transcribed(case: Case, pieces: int) -> float | None:
    """The action of the curve that IPOPT finds; None if it finds none."""
    first, last = list(case.start.values()), list(case.end.values())
    n, h = len(first), 1 / pieces
    q = ca.SX.sym("q", n, pieces + 1)
    action, rows = ca.SX(0), []
    for k in range(pieces):
        middle, move = (q[:, k] + q[:, k + 1]) / 2, (q[:, k + 1] - q[:, k]) / h
        action += h * case.lagrangian(middle, move)
        rows += case.rows(middle, move)
    free = [k for k, v in enumerate(last) if v is None]
    s = np.linspace(0, 1, pieces + 1)
    ends = np.array([0.0 if v is None else v for v in last])
    guess = np.outer(first, 1 - s) + np.outer(ends, s) + 0.5 * np.sin(np.pi * s)
    low, high = np.full((n, pieces + 1), -np.inf), np.full((n, pieces + 1), np.inf)
    low[:, 0] = high[:, 0] = first
    low[:, -1] = high[:, -1] = ends
    low[free, -1], high[free, -1] = -np.inf, np.inf
    quiet: Any = {"ipopt": {"print_level": 0, "sb": "yes", "tol": 1e-12, "max_iter": 500}, "print_time": False}
    solver = ca.nlpsol("plain", "ipopt", {"x": ca.vec(q), "f": action, "g": ca.vertcat(*rows)}, quiet)
    answer = solver(x0=guess.ravel("F"), lbx=low.ravel("F"), ubx=high.ravel("F"), lbg=0, ubg=0)
    return float(answer["f"]) if solver.stats()["success"] else None
