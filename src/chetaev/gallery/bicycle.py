"""The bicycle that rides itself: Whipple's model, written out from its geometry."""

from __future__ import annotations

import math
from collections.abc import Sequence

from chetaev.core.scene import Frame, Ground, Point, Scene, Trace, Wheel
from chetaev.core.state import State
from chetaev.core.system import System
from chetaev.mechanics.model import Model
from chetaev.mechanics.principles import DAlembert

Vector = tuple[str, str, str]

_VALUES = {
    "w": 1.02, "c": 0.08, "tilt": math.pi / 10, "g": 9.81,
    "rR": 0.3, "mR": 2.0, "IRx": 0.0603, "IRy": 0.12,
    "xB": 0.3, "zB": -0.9, "mB": 85.0, "IBx": 9.2, "IBxz": 2.4, "IBy": 11.0, "IBz": 2.8,
    "xH": 0.9, "zH": -0.7, "mH": 4.0, "IHx": 0.05892, "IHxz": -0.00756, "IHy": 0.06, "IHz": 0.00708,
    "rF": 0.35, "mF": 3.0, "IFx": 0.1405, "IFy": 0.28,
}  # fmt: skip
"""The benchmark of Meijaard, Papadopoulos, Ruina and Schwab (2007), table 1, in SI units."""


def model() -> Model:
    """Two wheels, a rear frame with a rigid rider, and a fork that turns about a tilted axis; knife-edge wheels, no slip."""
    named = _Names()
    # axes: x forward, y to the right, z down; the rear frame is yawed, leaned and pitched, the fork steered about the tilted axis
    yawed = named.matrix("Y", _turn("z", "yaw"))
    leaned = named.matrix("L", _product(yawed, _turn("x", "lean")))
    frame = named.matrix("B", _product(leaned, _turn("y", "pitch")))
    steered = named.matrix("S", _product(_product(_turn("y", "tilt"), _turn("z", "steer")), _turn("y", "-tilt")))
    fork = named.matrix("H", _product(frame, steered))

    # places: the rear contact is (x, y, 0) because its wheel stands on the ground by construction
    rear = named.vector("R", _sum(("x", "y", "0"), _times(leaned, ("0", "0", "-rR"))))
    body = named.vector("G", _sum(rear, _times(frame, ("xB", "0", "zB + rR"))))
    axis = named.vector("A", _sum(rear, _times(frame, ("w + c", "0", "rR"))))
    hand = named.vector("K", _sum(axis, _times(fork, ("xH - w - c", "0", "zH"))))
    hub = named.vector("F", _sum(axis, _times(fork, ("-c", "0", "-rF"))))

    # angular velocities, each in the axes of its own body; a wheel spins about the second axis of its frame
    roll = named.vector("u", _sum(_back(_turn("x", "lean"), ("0", "0", "yaw'")), ("lean'", "0", "0")))
    turn = named.vector("o", _sum(_back(_turn("y", "pitch"), roll), ("0", "pitch'", "0")))
    pivot = _times(_turn("y", "tilt"), ("0", "0", "steer'"))
    swing = named.vector("h", _sum(_back(steered, turn), pivot))
    rear_spin, front_spin = _sum(turn, ("0", "rear'", "0")), _sum(swing, ("0", "front'", "0"))

    # the lowest point of the front wheel: straight down, made orthogonal to the axle
    axle = (fork[0][1], fork[1][1], fork[2][1])
    cosine = named.scalar("q", f"sqrt(1 - ({axle[2]})^2)")
    down = named.vector("n", tuple(f"({e} - ({axle[2]})*({a}))/{cosine}" for e, a in zip("001", axle, strict=True)))
    slip_rear = _sum(_rate(rear), _cross(_times(frame, rear_spin), _times(leaned, ("0", "0", "rR"))))
    slip_front = _sum(_rate(hub), _cross(_times(fork, front_spin), tuple(f"rF*{e}" for e in down)))

    bodies = [
        ("mR", rear, ("IRx", "IRy", "IRx", "0"), rear_spin),
        ("mB", body, ("IBx", "IBy", "IBz", "IBxz"), turn),
        ("mH", hand, ("IHx", "IHy", "IHz", "IHxz"), swing),
        ("mF", hub, ("IFx", "IFy", "IFx", "0"), front_spin),
    ]
    kinetic = " + ".join(_kinetic(mass, _rate(place), inertia, spin) for mass, place, inertia, spin in bodies)
    potential = " - ".join(["0", *[f"{mass}*g*({place[2]})" for mass, place, _, _ in bodies]])
    angles = ("yaw", "lean", "pitch", "steer", "rear", "front")
    system = System(
        coordinates={"x": "line", "y": "line", **dict.fromkeys(angles, "angle")},
        parameters=list(_VALUES),
        where=named.found,
        lagrangian=f"{kinetic} - ({potential})",
        kinematic=[
            f"{hub[2]} + rF*{cosine} = 0",
            *[f"{e} = 0" for e in slip_rear[:2]],
            *[f"{e} = 0" for e in slip_front[:2]],
        ],
        name="bicycle",
    )
    start = {
        "x": 0.0,
        "y": 0.0,
        "yaw": 0.2,
        "lean": 0.1,
        "steer": -0.15,
        "rear": 0.0,
        "front": 0.0,
        "lean'": 0.3,
        "steer'": -0.2,
        "rear'": -15.0,
    }
    return Model(
        system,
        DAlembert(),
        parameters=_VALUES,
        start=State(start, guess={"pitch": 0.0}),
        t=(0, 5),
        invariants={"energy": f"{kinetic} + {potential}"},
        prose="""
            The rear frame carries a rigid rider. x and y are the point where the rear wheel touches the ground, yaw, lean and
            pitch turn the rear frame, steer turns the fork about an axis tilted back by the angle tilt, rear and front are the
            angles of the wheels against their frames, negative in forward motion because y points to the right and z down. The
            wheel base is w and the trail c. That the rear wheel stands on the ground is built into the coordinates; that the
            front wheel does is the first row, which determines the pitch nonlinearly. The other rows forbid slip at both
            contacts. So eight coordinates have three free velocities: lean, steer and the speed. Without a rider's hand the
            bicycle is stable between 4.3 and 6.0 metres per second: below, the weave grows; above, it capsizes, slowly. No single
            cause is behind it: neither the gyroscopic wheels nor the trail are needed.
        """,
        reference="Whipple, Quarterly Journal of Pure and Applied Mathematics 30 (1899), 312-348; Meijaard, Papadopoulos, Ruina, Schwab, "
        "Proceedings of the Royal Society A 463 (2007), 1955-1982.",
        scene=_scene(),
    )


def _scene() -> Scene:
    """Wheels, frame and fork with a rider in between; the picture has z upwards, the model downwards."""
    rear, fork = "x pi, z yaw, x lean, y pitch", "x pi, z yaw, x lean, y pitch, y tilt, z steer, y -tilt"
    head, crown = "0.81, 0, -0.60", "0.86, 0, -0.44"
    seat, crank, shoulder = "0.22, 0, -0.62", "0.45, 0, -0.02", "0.46, 0, -1.12"
    tubes = [("0, 0, 0", crank), ("0, 0, 0", seat), (crank, seat), (seat, head), (crank, crown)]
    legs = [pair for y in ("0.1", "-0.1") for pair in ((seat, f"0.60, {y}, -0.42"), (f"0.60, {y}, -0.42", f"0.45, {y}, -0.06"))]
    arms = [(shoulder, f"0.70, {y}, -0.72") for y in ("0.22", "-0.22")]
    bars = [("-0.32, 0, -1.0", f"-0.36, {y}, -1.02") for y in ("0.26", "-0.26")]
    return Scene(
        [
            Ground(0),
            Trace("x, -y, 0"),
            Trace("F1 + rF*n1, -F2 - rF*n2, 0", "red"),
            Wheel("R1, -R2, -R3", "rR", rotation=f"{rear}, y rear", axis="y", spokes=16),
            Wheel("F1, -F2, -F3", "rF", rotation=f"{fork}, y front", axis="y", spokes=16),
            Frame("R1, -R2, -R3", tubes, rotation=rear, width=0.045, colour="blue"),
            Frame(
                "A1, -A2, -A3", [("-c, 0, -rF", "-0.24, 0, -0.74"), ("-0.24, 0, -0.74", "-0.32, 0, -1.0"), *bars], rotation=fork, width=0.04
            ),
            Frame("R1, -R2, -R3", [(seat, shoulder), *legs, *arms], rotation=rear, width=0.09, colour="dark"),
            Point("R1 + 0.53*B11 - 1.30*B13, -R2 - 0.53*B21 + 1.30*B23, -R3 - 0.53*B31 + 1.30*B33", 0.13),
        ],
        follow="R1 + 0.5*B11, -R2 - 0.5*B21, 0.6",
        room=1.25,
        view=(-35, 14),
    )


class _Names:
    """Collects named expressions; an entry that is a single word or number gets no name."""

    def __init__(self) -> None:
        self.found: dict[str, str] = {}

    def scalar(self, name: str, text: str) -> str:
        if text.replace(".", "").isalnum():
            return text
        self.found[name] = text
        return name

    def vector(self, name: str, entries: Sequence[str]) -> Vector:
        x, y, z = (self.scalar(f"{name}{i}", e) for i, e in enumerate(entries, 1))
        return x, y, z

    def matrix(self, name: str, rows: Sequence[Sequence[str]]) -> list[Vector]:
        return [self.vector(f"{name}{i}", row) for i, row in enumerate(rows, 1)]


def _turn(axis: str, angle: str) -> list[Vector]:
    """The rotation about a coordinate axis, as a matrix from turned to unturned components."""
    c, s = f"cos({angle})", f"sin({angle})"
    if axis == "x":
        return [("1", "0", "0"), ("0", c, f"-{s}"), ("0", s, c)]
    if axis == "y":
        return [(c, "0", s), ("0", "1", "0"), (f"-{s}", "0", c)]
    return [(c, f"-{s}", "0"), (s, c, "0"), ("0", "0", "1")]


def _dot(a: Sequence[str], b: Sequence[str]) -> str:
    terms = [q if p == "1" else p if q == "1" else f"({p})*({q})" for p, q in zip(a, b, strict=True) if "0" not in (p, q)]
    return " + ".join(terms) or "0"


def _times(matrix: Sequence[Sequence[str]], vector: Sequence[str]) -> Vector:
    x, y, z = (_dot(row, vector) for row in matrix)
    return x, y, z


def _back(matrix: Sequence[Sequence[str]], vector: Sequence[str]) -> Vector:
    """The transposed matrix times a vector."""
    return _times(list(zip(*matrix, strict=True)), vector)


def _product(a: Sequence[Sequence[str]], b: Sequence[Sequence[str]]) -> list[Vector]:
    columns = [_times(a, column) for column in zip(*b, strict=True)]
    x, y, z = zip(*columns, strict=True)
    return [x, y, z]


def _sum(a: Sequence[str], b: Sequence[str]) -> Vector:
    x, y, z = (q if p == "0" else p if q == "0" else f"{p} + {q}" for p, q in zip(a, b, strict=True))
    return x, y, z


def _cross(a: Sequence[str], b: Sequence[str]) -> Vector:
    x, y, z = (f"({a[i]})*({b[j]}) - ({a[j]})*({b[i]})" for i, j in ((1, 2), (2, 0), (0, 1)))
    return x, y, z


def _rate(place: Sequence[str]) -> Vector:
    """The velocity of a named place."""
    x, y, z = (f"{e}'" for e in place)
    return x, y, z


def _kinetic(mass: str, velocity: Sequence[str], inertia: Sequence[str], spin: Sequence[str]) -> str:
    """The kinetic energy of a body that is symmetric about its plane x z."""
    v2 = " + ".join(f"({e})^2" for e in velocity)
    xx, yy, zz, xz = inertia
    turning = f"{xx}*({spin[0]})^2 + {yy}*({spin[1]})^2 + {zz}*({spin[2]})^2"
    mixed = "" if xz == "0" else f" + 2*{xz}*({spin[0]})*({spin[2]})"
    return f"{mass}/2*({v2}) + ({turning}{mixed})/2"
