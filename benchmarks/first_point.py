"""One system from its Lagrangian to the first point of a trajectory, by the library or by its peer.

Alone, `python first_point.py chetaev trailer 5 0`, it is what a fresh process has to do; the last argument is a tag that makes the system
new. Each side imports only what it needs. The CPU time is printed.
"""

from __future__ import annotations

import sys
import time

FIRST = 1e-3
"""The interval of the first trajectory: one step."""
_TOLERANCE = 1e-9


def chetaev_side(family: str, n: int, tag: int, t: float = FIRST) -> list[float]:
    """System, derive, simulate; the coordinates at the end."""
    from texts import FAMILIES

    import chetaev as ch

    text = FAMILIES[family](n, tag)
    system = ch.System(text.coordinates, text.parameters, where=text.where, lagrangian=text.lagrangian, kinematic=text.rows)
    equations = ch.derive(system, ch.DAlembert() if text.rows else ch.Hamilton())
    motion = ch.simulate(equations, dict(text.start), (0, t), parameters=text.values, tolerance=_TOLERANCE)
    return [motion.final[name] for name in text.coordinates]


def peer_side(family: str, n: int, tag: int, t: float = FIRST) -> list[float]:
    """LagrangesMethod, lambdify, solve_ivp."""
    return _peer(family, n, tag, t, symbolic_inverse=False)


def symbolic_peer_side(family: str, n: int, tag: int, t: float = FIRST) -> list[float]:
    """The same with LagrangesMethod.rhs(), which inverts the mass matrix symbolically."""
    return _peer(family, n, tag, t, symbolic_inverse=True)


def _peer(family: str, n: int, tag: int, t: float, symbolic_inverse: bool) -> list[float]:
    from peer import integrate, lambdified
    from symbolic import FAMILIES

    system = FAMILIES[family](n, tag)
    end = integrate(lambdified(system, symbolic_inverse), t, system.start, _TOLERANCE)
    return [float(v) for v in end[: len(system.coordinates)]]


SIDES = {"chetaev": chetaev_side, "peer": peer_side, "symbolic": symbolic_peer_side}

if __name__ == "__main__":
    side, family, tag = SIDES[sys.argv[1]], sys.argv[2], int(sys.argv[4])
    if side is symbolic_peer_side:  # which is run in a process of its own for its limit, and measured warm
        side(family, 1, tag)
    start = time.process_time()
    side(family, int(sys.argv[3]), tag)
    print(time.process_time() - start)
