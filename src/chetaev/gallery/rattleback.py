"""The rattleback, or celt: a stone that reverses its spin."""

from __future__ import annotations

from chetaev.core.scene import Ellipsoid, Ground, Scene, Trace
from chetaev.core.state import State
from chetaev.core.system import System
from chetaev.mechanics.model import Model
from chetaev.mechanics.principles import Chetaev, DAlembert


def model(backward: bool = True) -> Model:
    """An ellipsoid that rolls without sliding, with axes of inertia turned against its geometric axes.

    `backward=False` starts with the spin in the preferred direction.
    """
    kinetic = "m/2*(x'^2 + y'^2 + z'^2) + I1/2*A1'^2 + I2/2*A2'^2 + I3/2*A3'^2 + I12*A1'*A2'"
    system = System(
        coordinates={"A": "SO3 body", "x": "line", "y": "line"},
        parameters="m g a b c h I1 I2 I3 I12",
        where={
            "depth": "sqrt(a^2*A31^2 + b^2*A32^2 + c^2*A33^2)",
            "p1": "-a^2*A31/depth",
            "p2": "-b^2*A32/depth",
            "p3": "h - c^2*A33/depth",
            "z": "depth - h*A33",
            "v1": "p2*A3' - p3*A2'",
            "v2": "p3*A1' - p1*A3'",
            "v3": "p1*A2' - p2*A1'",
            "px": "x + A11*p1 + A12*p2 + A13*p3",
            "py": "y + A21*p1 + A22*p2 + A23*p3",
        },
        lagrangian=f"{kinetic} - m*g*z",
        kinematic=["x' = A11*v1 + A12*v2 + A13*v3", "y' = A21*v1 + A22*v2 + A23*v3"],
        name="rattleback",
    )
    return Model(
        system,
        DAlembert(),
        parameters={
            "m": 1.0,
            "g": 9.81,
            "a": 0.2,
            "b": 0.03,
            "c": 0.02,
            "h": 0.01,
            "I1": 2e-4,
            "I2": 1.6e-3,
            "I3": 1.7e-3,
            "I12": 2e-5,
        },
        start=State({"A": [0.0087, 0.0087, 0], "x": 0.0, "y": 0.0, "A1'": 0.0, "A2'": 0.0, "A3'": 5.0 if backward else -5.0}),
        t=(0, 8),
        also={Chetaev(): {}},
        invariants={"energy": f"{kinetic} + m*g*z"},
        prose="""
            The body's axes are those of the ellipsoid with the half axes a, b, c; the third one points up at rest. The centre of
            mass x, y, z lies the distance h below the centre of the ellipsoid. A31, A32, A33 is the vertical as seen from the body,
            and since it is the normal of the surface at the contact, the contact is at p = (p1, p2, p3) from the centre of mass.
            The rows say that the body's point there is at rest, so that the centre of mass has the velocity (v1, v2, v3) in the
            body; its vertical part is the rate of z. The product of inertia I12 turns the principal axes by less than a degree
            against the axes of the ellipsoid, and this small asymmetry of right and left has a large effect. Spun one way the body
            soon begins to rattle, that is to pitch, stops, and turns the other way. No law is broken: the friction of the ground
            exerts a torque about the vertical, and the energy is constant throughout. In the preferred direction a rolling
            oscillation grows instead, much more slowly. The exponents of a Hamiltonian system come in pairs of opposite sign; those
            of the steady spin do not: pitching grows, rolling dies out.
        """,
        reference="Walker, Quarterly Journal of Pure and Applied Mathematics 28 (1896), 175-184; Kane, Levinson, International Journal of "
        "Non-Linear Mechanics 17 (1982), 175-186, for the values; Borisov, Mamaev, Physics-Uspekhi 46 (2003), 393-403.",
        scene=_scene(),
    )


def _scene() -> Scene:
    """The lower half of the ellipsoid, and the path of the point of contact."""
    hull = Ellipsoid("x + h*A13, y + h*A23, z + h*A33", "a, b, c", rotation="A", half=True)
    return Scene([Ground(0), Trace("px, py, 0", seconds=0.4), hull], follow="x, y, z")
