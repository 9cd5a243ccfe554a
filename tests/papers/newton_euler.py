"""Newton's and Euler's laws for rolling bodies, with vectors of numpy and nothing of Lagrange.

Unknown accelerations and contact forces are found together from the balance of momentum and of angular momentum, so that multipliers can be
compared with forces, signs included.
"""

import math

import numpy as np

UP = np.array([0.0, 0.0, 1.0])


def hat(v):
    """The matrix of the vector product with v."""
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def rolling_ball(inertia, mass, radius, w, pull=(0, 0, 0), stream=(0, 0, 0)):
    r"""$\omega'$, $a''$ and the contact force F: $J\omega' + \omega\times J\omega = -r e_3\times F$, $M a'' = F + pull$.

    The contact point moves with the ground: $a' - r\,\omega\times e_3 = v$, so $a'' - r\,\omega'\times e_3$ is the rate `stream` of v.
    `inertia` is the tensor in space.
    """
    zero = np.zeros((3, 3))
    matrix = np.block([[inertia, zero, radius * hat(UP)], [zero, mass * np.eye(3), -np.eye(3)], [radius * hat(UP), np.eye(3), zero]])
    right = np.concatenate([-np.cross(w, inertia @ w), pull, stream])
    return np.split(np.linalg.solve(matrix, right), 3)


def rolling_body(mass, weight, inertia, w, arm, arm_rate, torque=(0, 0, 0)):
    r"""$\omega'$, the acceleration of the centre and the contact force, from the balance of moments about the centre.

    `arm` leads from the centre to the contact, `arm_rate` is its rate in space, which includes how the contact moves over the body:
    $v = -\omega\times p$, so $v' = -\omega'\times p - \omega\times p'$. `torque` acts besides.
    """
    zero = np.zeros((3, 3))
    matrix = np.block([[inertia, zero, -hat(arm)], [zero, mass * np.eye(3), -np.eye(3)], [-hat(arm), np.eye(3), zero]])
    right = np.concatenate([torque - np.cross(w, inertia @ w), -weight * UP, -np.cross(w, arm_rate)])
    return np.split(np.linalg.solve(matrix, right), 3)


def hull(p, a):
    """The arm from the centre of mass to the lowest point of the ellipsoid, the image of the lowest point of a ball that is stretched."""
    stretch = np.diag([p["a"], p["b"], p["c"]])
    down = -(stretch @ a.T @ UP)
    return a @ (stretch @ down / np.linalg.norm(down) + [0, 0, p["h"]])


def rattleback_inertia(p, a):
    """The inertia tensor of the rattleback in space."""
    return a @ np.array([[p["I1"], p["I12"], 0], [p["I12"], p["I2"], 0], [0, 0, p["I3"]]]) @ a.T


def along(angle):
    """The unit vector of a direction in the plane."""
    return np.array([math.cos(angle), math.sin(angle)])


def left(v):
    """A vector of the plane turned by a quarter: angular velocity one times v."""
    return np.array([-v[1], v[0]])


def roller_racer(p, t, angle, v, w, phi, dphi):
    """Newton's and Euler's laws for both bodies in space, and the slip of the front axle.

    The unknowns are the acceleration of the rear axle (2), w', phi'', the force of body 1 on body 2 at the pivot (2), and the sideways
    forces of the ground at the rear and at the front axle.
    """
    rear, front, spin = along(angle), along(angle + phi), w + dphi
    mass1, pivot, mass2, axle2 = p["c"] * rear, p["l1"] * rear, -p["e"] * front, -p["l2"] * front
    torque = p["B"] * math.sin(p["w"] * t) - p["K"] * phi
    zero, one = np.zeros(2), np.eye(2)
    momentum1 = np.column_stack([p["m1"] * one, p["m1"] * left(mass1), zero, one, -left(rear), zero])
    momentum2 = np.column_stack([p["m2"] * one, p["m2"] * left(pivot + mass2), p["m2"] * left(mass2), -one, zero, -left(front)])
    about1 = [0, 0, p["J1"], 0, *left(pivot - mass1), left(mass1) @ left(rear), 0]
    about2 = [0, 0, p["J2"], p["J2"], *left(mass2), 0, left(mass2 - axle2) @ left(front)]
    grip1 = [*left(rear), 0, 0, 0, 0, 0, 0]
    grip2 = [*left(front), left(front) @ left(pivot + axle2), left(front) @ left(axle2), 0, 0, 0, 0]
    speed2 = v * rear + w * left(pivot) + spin * left(axle2)
    right = [
        *(p["m1"] * w**2 * mass1),
        -torque,
        *(p["m2"] * (w**2 * pivot + spin**2 * mass2)),
        torque,
        w * v,
        spin * speed2 @ front + left(front) @ (w**2 * pivot + spin**2 * axle2),
    ]
    return np.linalg.solve(np.vstack([momentum1, about1, momentum2, about2, grip1, grip2]), right), speed2 @ left(front)
