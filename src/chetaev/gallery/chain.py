"""A chain of n pendulums in a plane."""

from __future__ import annotations

from itertools import pairwise

from chetaev.core.errors import ModelError, about
from chetaev.core.scene import Pivot, Point, Rod, Scene, Shape, Trace
from chetaev.core.state import State
from chetaev.core.system import System
from chetaev.mechanics.model import Model
from chetaev.mechanics.principles import Hamilton


def model(n: int = 3) -> Model:
    """A chain of n bobs on n massless rods, in angles against the downward vertical."""
    if n < 1:
        raise ModelError(f"n = {n} links.", where=about("gallery 'chain'", "n"), hint="n = 1, 2, 3, ...")
    links = range(1, n + 1)
    pairs = [(j, k) for k in links for j in range(1, k)]
    kinetic = " + ".join(
        [f"mu{k}/2*l{k}^2*theta{k}'^2" for k in links] + [f"mu{k}*l{j}*l{k}*theta{j}'*theta{k}'*cos(theta{j} - theta{k})" for j, k in pairs]
    )
    depth = " + ".join(f"mu{k}*l{k}*cos(theta{k})" for k in links)
    system = System(
        coordinates={f"theta{k}": "angle" for k in links},
        parameters=[*(f"m{k}" for k in links), *(f"l{k}" for k in links), "g"],
        where={f"mu{k}": " + ".join(f"m{j}" for j in range(k, n + 1)) for k in links},
        lagrangian=f"{kinetic} + g*({depth})",
        name=f"chain of {n} pendulums",
    )
    masses, lengths = (1.3, 0.8, 1.1, 0.6), (0.7, 1.2, 0.9, 0.5)
    angles, spins = (0.9, -0.4, 1.5, 0.3, -1.1), (-0.6, 0.8, 0.2)
    values = {f"m{k}": masses[(k - 1) % 4] for k in links} | {f"l{k}": lengths[(k - 1) % 4] for k in links}
    start = {f"theta{k}": angles[(k - 1) % 5] for k in links} | {f"theta{k}'": spins[(k - 1) % 3] for k in links}
    return Model(
        system,
        Hamilton(),
        parameters={**values, "g": 9.81},
        start=State(start),
        t=(0, 5),
        invariants={"energy": f"{kinetic} - g*({depth})"},
        prose="""
            Every rod of the chain carries the weight of all bobs below it: mu_k is the mass that hangs on rod k. The angles are
            absolute, so the mass matrix is mu_max(j,k)*l_j*l_k*cos(theta_j - theta_k): full, positive definite, and the reason
            why n links cost more than n pendulums. One link is the simple pendulum, two are the double pendulum; from two links
            on the motion is chaotic. As n grows at fixed length and mass the small oscillations tend to those of the hanging
            chain, whose modes are Bessel functions; Daniel Bernoulli found them in 1732, their first appearance.
        """,
        reference="D. Bernoulli, Theoremata de oscillationibus corporum filo flexili connexorum et catenae verticaliter suspensae, "
        "Commentarii Academiae Scientiarum Petropolitanae 6 (1738), 108-122; for n = 2 Landau, Lifshitz, Mechanics, section 5, problem 1.",
        scene=_scene(n),
    )


def _scene(n: int) -> Scene:
    """Rods and bobs; the path of the last."""
    colours = ("blue", "green", "purple", "orange")
    bobs = ["0, 0"]
    for k in range(1, n + 1):
        x = " + ".join(f"l{j}*sin(theta{j})" for j in range(1, k + 1))
        y = "".join(f" - l{j}*cos(theta{j})" for j in range(1, k + 1))
        bobs.append(f"{x}, {y}")
    rods: list[Shape] = [Rod(upper, lower) for upper, lower in pairwise(bobs)]
    points = [Point(bob, colour="red" if k == n else colours[k % 4]) for k, bob in enumerate(bobs[1:], 1)]
    return Scene([Trace(bobs[-1], seconds=3), *rods, Pivot("0, 0"), *points])
