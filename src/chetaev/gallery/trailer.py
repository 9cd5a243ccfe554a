"""A tractor with n trailers."""

from __future__ import annotations

from chetaev.core.errors import ModelError, about
from chetaev.core.scene import Body, Frame, Ground, Rod, Scene, Shape, Trace, Tyre
from chetaev.core.state import State
from chetaev.core.system import System
from chetaev.mechanics.model import Model
from chetaev.mechanics.principles import DAlembert


def model(n: int = 3) -> Model:
    """A tractor that pulls n trailers, each hitched to the middle of the axle before it."""
    if n < 0:
        raise ModelError(f"n = {n} trailers.", where=about("gallery 'trailer'", "n"), hint="n = 0, 1, 2, ...")
    axles, trailers = range(n + 1), range(1, n + 1)
    pairs = [(j, k) for k in trailers for j in range(1, k)]
    kinetic = " + ".join(
        ["mu0/2*(x'^2 + y'^2)"]
        + [f"J{k}/2*theta{k}'^2" for k in axles]
        + [f"mu{k}/2*d{k}^2*theta{k}'^2 + mu{k}*d{k}*theta{k}'*(x'*sin(theta{k}) - y'*cos(theta{k}))" for k in trailers]
        + [f"mu{k}*d{j}*d{k}*theta{j}'*theta{k}'*cos(theta{j} - theta{k})" for j, k in pairs]
    )
    rows = [
        f"x'*sin(theta{k}) - y'*cos(theta{k})"
        + "".join(f" + d{j}*theta{j}'*cos(theta{j} - theta{k})" for j in range(1, k))
        + (f" + d{k}*theta{k}'" if k else "")
        + " = 0"
        for k in axles
    ]
    system = System(
        coordinates={"x": "line", "y": "line", **{f"theta{k}": "angle" for k in axles}},
        parameters=[*(f"m{k}" for k in axles), *(f"J{k}" for k in axles), *(f"d{k}" for k in trailers)],
        where={f"mu{k}": " + ".join(f"m{j}" for j in range(k, n + 1)) for k in axles},
        lagrangian=kinetic,
        kinematic=rows,
        name=f"tractor with {n} trailers" if n != 1 else "tractor with a trailer",
    )
    masses, inertias, lengths, angles = (1.6, 0.9, 1.2, 0.7), (0.5, 0.3, 0.4), (0.8, 1.1, 0.6, 0.9), (0.4, 0.1, -0.3, 0.2, -0.1)
    values = {f"m{k}": masses[k % 4] for k in axles} | {f"J{k}": inertias[k % 3] for k in axles}
    values |= {f"d{k}": lengths[(k - 1) % 4] for k in trailers}
    return Model(
        system,
        DAlembert(),
        parameters=values,
        start=State({"x": 0.2, "y": -0.1, **{f"theta{k}": angles[k % 5] for k in axles}, "x'": 1.3, "theta0'": 0.25}),
        invariants={"energy": kinetic, "spin of the tractor": "theta0'"},
        prose="""
            x and y are the middle of the tractor's axle, theta0 its heading. Trailer k follows on a bar of length d_k, with the
            heading theta_k, its mass m_k and inertia J_k at its own axle. Every axle is a knife edge, so n + 3 coordinates with
            n + 1 rows leave two velocities: the tractor's speed and its spin. Its speed v passes down the train as
            d_k*theta_k' = v_(k-1)*sin(theta_(k-1) - theta_k), v_k = v_(k-1)*cos(theta_(k-1) - theta_k). Without torque on the
            tractor its spin is constant, and energy then gives v as a function of the angles. However long the train, two
            velocities steer it: the rows form a Goursat distribution, and a driver can park the whole train anywhere, with any
            angles at the hitches. Going forward the trailers fall into line; backwards the train folds up.
        """,
        reference="Laumond, Controllability of a multibody mobile robot, IEEE Transactions on Robotics and Automation 9 (1993), 755-763; "
        "Jean, The car with n trailers: characterisation of the singular configurations, ESAIM: COCV 1 (1996), 241-266.",
        scene=_scene(n),
    )


def _scene(n: int) -> Scene:
    """The train from above: every axle with its two wheels, and the bars between them."""
    shapes: list[Shape] = [Ground(), Trace("x, y")]
    x, y = "x", "y"
    bodies: list[Shape] = []
    for k in range(n + 1):
        if k:
            hitch = f"{x}, {y}"
            x, y = f"{x} - d{k}*cos(theta{k})", f"{y} - d{k}*sin(theta{k})"
            shapes.append(Rod(hitch, f"{x}, {y}", "grey"))
        box = (
            ["-0.18, -0.2", "0.42, -0.2", "0.42, 0.2", "-0.18, 0.2"] if k == 0 else ["-0.25, -0.2", "0.25, -0.2", "0.25, 0.2", "-0.25, 0.2"]
        )
        heading = f"theta{k}"
        bodies.append(Body(f"{x}, {y}", heading, box, colour="blue" if k else "red"))
        bodies.append(Frame(f"{x}, {y}", [("0, -0.26", "0, 0.26")], heading, colour="grey"))
        sides = (f"{x} {a} 0.26*sin({heading}), {y} {b} 0.26*cos({heading})" for a, b in ("-+", "+-"))
        bodies += [Tyre(side, heading, 0.26) for side in sides]
    return Scene([*shapes, *bodies], follow="x, y", room=1.3)
