"""Families of systems as text, for the library: those of the gallery, and the chain as most people would write it.

Every call makes a system that did not exist before: `tag` enters all names and one number, so that no memory of an earlier one, in SymPy,
in the library or on disk, can help.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

MASSES, INERTIAS, LENGTHS = (1.6, 0.9, 1.2, 0.7), (0.5, 0.3, 0.4), (0.8, 1.1, 0.6, 0.9)
ANGLES, SPINS = (0.4, 0.1, -0.3, 0.2, -0.1), (-0.6, 0.8, 0.2)


@dataclass(frozen=True)
class Text:
    """A system as one writes it, with values and a start."""

    coordinates: Mapping[str, str]
    parameters: Sequence[str]
    where: Mapping[str, str]
    lagrangian: str
    rows: Sequence[str]
    values: Mapping[str, float]
    start: Mapping[str, float]


def unique(tag: int) -> str:
    """A number that no other system contains, close to one."""
    return f"{1 + (tag + 1) * 1e-7:.7f}"


def chain(n: int, tag: int) -> Text:
    """A chain of n pendulums."""
    links = range(1, n + 1)
    q, m, a, mu, g = (f"{letter}{tag}_" for letter in ("theta", "m", "l", "mu", "g"))
    kinetic = " + ".join(
        [f"{unique(tag) if k == 1 else 1}*{mu}{k}/2*{a}{k}^2*{q}{k}'^2" for k in links]
        + [f"{mu}{k}*{a}{j}*{a}{k}*{q}{j}'*{q}{k}'*cos({q}{j} - {q}{k})" for k in links for j in range(1, k)]
    )
    depth = " + ".join(f"{mu}{k}*{a}{k}*cos({q}{k})" for k in links)
    return Text(
        coordinates={f"{q}{k}": "angle" for k in links},
        parameters=[*(f"{m}{k}" for k in links), *(f"{a}{k}" for k in links), g],
        where={f"{mu}{k}": " + ".join(f"{m}{j}" for j in range(k, n + 1)) for k in links},
        lagrangian=f"{kinetic} + {g}*({depth})",
        rows=[],
        values={f"{m}{k}": MASSES[k % 4] for k in links} | {f"{a}{k}": LENGTHS[k % 4] for k in links} | {g: 9.81},
        start={f"{q}{k}": ANGLES[k % 5] for k in links} | {f"{q}{k}'": SPINS[k % 3] for k in links},
    )


def bobs(n: int, tag: int) -> Text:
    """The same chain from the positions of its bobs, as one writes it without thinking."""
    same, links = chain(n, tag), range(1, n + 1)
    q, m, a, x, y, g = (f"{letter}{tag}_" for letter in ("theta", "m", "l", "x", "y", "g"))
    where: dict[str, str] = {}
    for k in links:
        where[f"{x}{k}"] = (f"{x}{k - 1} + " if k > 1 else "") + f"{a}{k}*sin({q}{k})"
        where[f"{y}{k}"] = (f"{y}{k - 1} - " if k > 1 else "-") + f"{a}{k}*cos({q}{k})"
    energies = [f"{unique(tag) if k == 1 else 1}*{m}{k}/2*({x}{k}'^2 + {y}{k}'^2) - {m}{k}*{g}*{y}{k}" for k in links]
    return replace(same, where=where, lagrangian=" + ".join(energies))


def trailer(n: int, tag: int) -> Text:
    """A tractor with n trailers."""
    axles, trailers = range(n + 1), range(1, n + 1)
    q, m, J, d, mu = (f"{letter}{tag}_" for letter in ("theta", "m", "J", "d", "mu"))
    x, y = f"x{tag}", f"y{tag}"
    kinetic = " + ".join(
        [f"{mu}0/2*({x}'^2 + {y}'^2)"]
        + [f"{unique(tag) if k == 0 else 1}*{J}{k}/2*{q}{k}'^2" for k in axles]
        + [f"{mu}{k}/2*{d}{k}^2*{q}{k}'^2 + {mu}{k}*{d}{k}*{q}{k}'*({x}'*sin({q}{k}) - {y}'*cos({q}{k}))" for k in trailers]
        + [f"{mu}{k}*{d}{j}*{d}{k}*{q}{j}'*{q}{k}'*cos({q}{j} - {q}{k})" for k in trailers for j in range(1, k)]
    )
    rows = [
        f"{x}'*sin({q}{k}) - {y}'*cos({q}{k})"
        + "".join(f" + {d}{j}*{q}{j}'*cos({q}{j} - {q}{k})" for j in range(1, k))
        + (f" + {d}{k}*{q}{k}'" if k else "")
        + " = 0"
        for k in axles
    ]
    masses, inertias = {f"{m}{k}": MASSES[k % 4] for k in axles}, {f"{J}{k}": INERTIAS[k % 3] for k in axles}
    return Text(
        coordinates={x: "line", y: "line", **{f"{q}{k}": "angle" for k in axles}},
        parameters=[*masses, *inertias, *(f"{d}{k}" for k in trailers)],
        where={f"{mu}{k}": " + ".join(f"{m}{j}" for j in range(k, n + 1)) for k in axles},
        lagrangian=kinetic,
        rows=rows,
        values={**masses, **inertias, **{f"{d}{k}": LENGTHS[k % 4] for k in trailers}},
        start={x: 0.2, y: -0.1, **{f"{q}{k}": ANGLES[k % 5] for k in axles}, f"{x}'": 1.3, f"{q}0'": 0.25},
    )


FAMILIES = {"chain": chain, "bobs": bobs, "trailer": trailer}
TITLES = {"chain": "n-link pendulum", "bobs": "n-link pendulum, from positions", "trailer": "n-trailer"}
