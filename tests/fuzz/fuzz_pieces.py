"""Pieces of random systems: functions, masses, potentials and rows whose coefficients are of order one."""

from __future__ import annotations

import random
from collections.abc import Sequence

Draw = random.Random

SMOOTH = (
    "sin({u})",
    "cos({u})",
    "tanh({u})",
    "exp(-({u})^2)",
    "1/(1 + ({u})^2)",
    "sqrt(2 + ({u})^2)",
    "log(2 + ({u})^2)",
    "({u})",
    "({u})^2",
)


def coefficient(draw: Draw, low: float = 0.2, high: float = 1.5) -> float:
    return round(draw.choice((-1, 1)) * draw.uniform(low, high), 3)


def positive(draw: Draw, low: float = 0.5, high: float = 2.0) -> float:
    return round(draw.uniform(low, high), 3)


def combination(draw: Draw, names: Sequence[str]) -> str:
    """A small linear combination of one or two names."""
    chosen = draw.sample(list(names), min(len(names), draw.choice((1, 1, 2))))
    return " + ".join(f"({coefficient(draw)})*{name}" for name in chosen)


def smooth(draw: Draw, names: Sequence[str]) -> str:
    return draw.choice(SMOOTH).format(u=combination(draw, names))


def coordinates(n: int) -> tuple[str, ...]:
    return tuple(f"q{k + 1}" for k in range(n))


def kinetic(draw: Draw, names: Sequence[str], order: int = 1) -> str:
    """Positive definite: every coupling is bounded by a tenth of the masses."""
    top = "'" * order
    parts = [f"{positive(draw)}*{q}{top}^2/2" for q in names]
    for _ in range(draw.randrange(0, 3)):
        a, b = draw.sample(list(names), 2) if len(names) > 1 else (names[0], names[0])
        function = draw.choice(("sin({u})", "cos({u})", "tanh({u})", "exp(-({u})^2)")).format(u=combination(draw, names))
        parts.append(f"{round(draw.uniform(0.05, 0.15), 3)}*{function}*{a}{top}*{b}{top}")
    return " + ".join(parts)


def potential(draw: Draw, names: Sequence[str]) -> str:
    parts = [f"{positive(draw, 0.1, 1)}*{q}^2/2" for q in names if draw.random() < 0.6]
    parts += [f"({coefficient(draw)})*{smooth(draw, names)}" for _ in range(draw.randrange(1, 3))]
    return " + ".join(parts)


def gyroscopic(draw: Draw, names: Sequence[str]) -> str:
    a, b = (draw.choice(list(names)) for _ in range(2))
    return f"({coefficient(draw)})*{smooth(draw, names)}*{a}'" if draw.random() < 0.5 else f"({coefficient(draw)})*{b}*{a}'"


def linear_row(draw: Draw, names: Sequence[str], which: int, affine: bool = True) -> str:
    """One row on velocities, solved for its own coordinate so that several rows are independent."""
    others = [q for q in names if q != names[which]]
    right = " + ".join(f"({coefficient(draw)})*{smooth(draw, names)}*{q}'" for q in draw.sample(others, min(2, len(others))))
    drift = f" + ({coefficient(draw)})" if affine and draw.random() < 0.4 else ""
    return f"{names[which]}' = {right}{drift}"


def holonomic_row(draw: Draw, names: Sequence[str], which: int) -> str:
    others = [q for q in names if q != names[which]]
    return f"{names[which]} = ({coefficient(draw)})*{smooth(draw, others)}"


def second_order_row(draw: Draw, names: Sequence[str], which: int) -> str:
    others = [q for q in names if q != names[which]]
    right = " + ".join(f"({coefficient(draw)})*{smooth(draw, names)}*{q}''" for q in others[:2])
    return f"{names[which]}'' = {right} + ({coefficient(draw)})*{draw.choice(others)}'"


def virtual_row(draw: Draw, names: Sequence[str], which: int) -> str:
    others = [q for q in names if q != names[which]]
    return f"δ{names[which]} = " + " + ".join(
        f"({coefficient(draw, 0.1, 0.6)})*{smooth(draw, names)}*δ{q}" for q in draw.sample(others, min(2, len(others)))
    )


def wish(draw: Draw, names: Sequence[str], order: int = 1, multipliers: int = 0) -> dict[str, float]:
    """Values for every jet a start may need."""
    values = {q + "'" * k: round(draw.choice((-1, 1)) * draw.uniform(0.1, 1.2), 3) for q in names for k in range(2 * order)}
    values |= {f"lambda{a + 1}" + "'" * k: coefficient(draw) for a in range(multipliers) for k in range(3)}
    return values | {"s": coefficient(draw)}
