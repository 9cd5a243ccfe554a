"""The gallery's bodies on groups, worked out by hand with vectors; see `test_gallery_by_hand` for the rules.

The attitude `d["A"]` is a matrix. Angular velocities are `w` in space and `b` in the body, `w = A b`, and `w' = A b'`.

Vakonomic motion. With a momentum `mu` of the multipliers against the angular velocity in space, `lambda . row = mu . w + ...`, the total
`pi = J w + mu` obeys `pi' + pi x w = J w x w` when `mu` does not turn with the body: `J w' + w x J w + mu' + mu x w = 0`.
"""

from __future__ import annotations

from math import atan2, cos, sin

import numpy as np
from newton_euler import UP, along, hat, roller_racer, rolling_ball, rolling_body
from scipy.spatial.transform import Rotation

import chetaev as ch

BODIES = {}


def body(name, *principles):
    """Register a derivation for a gallery system under these principles."""

    def register(function):
        BODIES.update({(name, principle): function for principle in principles})
        return function

    return register


def element(kind, numbers):
    """The matrix of initial data: a rotation vector, a quaternion with the scalar first, or place and angle in the plane."""
    if kind.startswith("SE2"):
        x, y, angle = numbers
        return np.array([[cos(angle), -sin(angle), x], [sin(angle), cos(angle), y], [0, 0, 1]])
    if len(numbers) == 3:
        return Rotation.from_rotvec(numbers).as_matrix()
    w, *v = np.array(numbers) / np.linalg.norm(numbers)
    return np.eye(3) + 2 * w * hat(v) + 2 * hat(v) @ hat(v)


def named(name, values, primes):
    """Values by name: `A1''`, `A2''`, ..."""
    return {f"{name}{k + 1}{primes}": v for k, v in enumerate(values)}


def rates(d):
    return np.array([d["A1'"], d["A2'"], d["A3'"]])


# --------------------------------------------------------------------------- balls


def ball(d, inertia, mass, radius, w, ground=(0, 0), slope=((0, 0), (0, 0)), pull=0.0):
    """Velocity, acceleration, angular acceleration in space and friction of a ball on ground that moves with a steady field."""
    v = np.array(ground) + radius * np.cross(w, UP)[:2]
    stream = np.array([*(np.array(slope) @ v), 0.0])
    dw, da, force = rolling_ball(inertia, mass, radius, w, (pull, 0, 0), stream)
    return {**named("a", v, "'"), **named("a", da[:2], "''"), **named("lambda", force[:2], "")}, dw


def vakonomic_ball(d, inertia, mass, radius, w, ground=(0, 0), slope=((0, 0), (0, 0)), pull=0.0, twist=False):
    """The same rows under the vakonomic principle, with a third one against twisting if asked for.

    `lambda . (a' - v - r w x e3) + lambda3 w3`: mu = -r e3 x lambda + lambda3 e3, and M a'' + lambda' = pull - Dv^T lambda.
    """
    price, dv = np.array([d["lambda1"], d["lambda2"], 0]), np.array(slope)
    v = np.array(ground) + radius * np.cross(w, UP)[:2]
    mu = -radius * np.cross(UP, price) + (d["lambda3"] * UP if twist else 0)
    count = 3 if twist else 2
    share = np.column_stack([-radius * hat(UP)[:, :2], UP])[:, :count]  # mu' by lambda'
    flat = np.eye(3)[:2]
    matrix = np.block(
        [
            [inertia, np.zeros((3, 2)), share],
            [np.zeros((2, 3)), mass * np.eye(2), np.eye(2, count)],
            [radius * flat @ hat(UP), np.eye(2), np.zeros((2, count))],
        ]
    )
    right = [*(-np.cross(w, inertia @ w) - np.cross(mu, w)), *(np.array([pull, 0]) - dv.T @ price[:2]), *(dv @ v)]
    if twist:
        matrix, right = np.vstack([matrix, [0, 0, 1, 0, 0, 0, 0, 0]]), [*right, 0]
    dw, da, dprice = np.split(np.linalg.solve(matrix, right), [3, 5])
    return {**named("a", v, "'"), **named("a", da, "''"), **named("lambda", dprice, "'")}, dw


def principle_of_ball(vakonomic):
    return vakonomic_ball if vakonomic else ball


def rigid_ball(vakonomic):
    def derivation(d, p, t):
        """A solid of revolution in every direction, pulled down the slope."""
        pull = p["M"] * p["g"] * sin(p["slope"])
        found, dw = principle_of_ball(vakonomic)(d, p["I"] * np.eye(3), p["M"], p["r"], rates(d), pull=pull)
        return {**found, **named("A", dw, "''")}

    return derivation


def ball_on_moving_plane(vakonomic):
    def derivation(d, p, t):
        """The ground streams with (u sin(a2/l) + w/4 sin(a1/l), w sin(a1/l))."""
        x, y, size = d["a1"] / p["l"], d["a2"] / p["l"], p["l"]
        ground = (p["u"] * sin(y) + p["w"] / 4 * sin(x), p["w"] * sin(x))
        slope = np.array([[p["w"] / 4 * cos(x), p["u"] * cos(y)], [p["w"] * cos(x), 0]]) / size
        found, dw = principle_of_ball(vakonomic)(d, p["I"] * np.eye(3), p["M"], p["r"], rates(d), ground, slope)
        return {**found, **named("A", dw, "''")}

    return derivation


@body("ball-on-turntable", ch.DAlembert(), ch.Chetaev())
def ball_on_turntable(d, p, t):
    """The place and the velocity of the centre are given; they determine the horizontal rotation."""
    turn = p["Omega"] * np.array([[0, -1], [1, 0]])
    ground = turn @ [d["a1"], d["a2"]]
    slip = (np.array([d["a1'"], d["a2'"]]) - ground) / p["r"]
    w = np.array([-slip[1], slip[0], d["A3'"]])
    found, dw = ball(d, p["I"] * np.eye(3), p["M"], p["r"], w, ground, turn)
    return {**found, **named("A", w, "'"), **named("A", dw, "''")}


def chaplygin_ball(vakonomic):
    def derivation(d, p, t):
        """Three different moments; rates are those in the body."""
        a = d["A"]
        inertia = a @ np.diag([p["I1"], p["I2"], p["I3"]]) @ a.T
        found, dw = principle_of_ball(vakonomic)(d, inertia, p["M"], p["r"], a @ rates(d))
        return {**found, **named("A", a.T @ dw, "''")}

    return derivation


for _name, _make in {"rigid-ball": rigid_ball, "ball-on-moving-plane": ball_on_moving_plane, "chaplygin-ball": chaplygin_ball}.items():
    body(_name, ch.DAlembert(), ch.Chetaev())(_make(vakonomic=False))
    body(_name, ch.Vakonomic())(_make(vakonomic=True))


@body("elastic-ball", ch.VirtualWork(), ch.DAlembert(), ch.Chetaev())
def elastic_ball(d, p, t, guise="overdetermined"):
    """No force and no torque, whatever forbids the twist: it rolls straight on."""
    rest = dict.fromkeys(["A1''", "A2''", "A3''", "a1''", "a2''", "lambda1", "lambda2"], 0.0)
    return {"a1'": d["A2'"], "a2'": -d["A1'"], **rest, **({"lambda3": 0.0} if guise == "dalembert" else {})}


@body("elastic-ball", ch.Vakonomic())
def elastic_ball_vakonomic(d, p, t, guise):
    """Jurdjevic's ball."""
    found, dw = vakonomic_ball(d, p["I"] * np.eye(3), p["M"], 1.0, rates(d), twist=True)
    return {**found, **named("A", dw, "''")}


@body("elastic-ball-inhomogeneous", ch.VirtualWork())
def elastic_ball_inhomogeneous(d, p, t):
    """About a horizontal principal axis the gyroscopic torque vanishes: it rolls like the homogeneous one."""
    moments = d["A"] @ np.diag([p["I1"], p["I2"], p["I3"]]) @ d["A"].T @ rates(d)
    assert np.abs(np.cross(rates(d), moments)).max() < 1e-15
    return elastic_ball(d, p, t)


# --------------------------------------------------------------------------- about a fixed point


def suslov_inertia(p):
    return np.array([[p["I1"], 0, p["I13"]], [0, p["I2"], p["I23"]], [p["I13"], p["I23"], p["I3"]]])


@body("suslov", ch.DAlembert(), ch.Chetaev())
def suslov(d, p, t, coupled=True):
    """I b' + b x I b = lambda e3 and b3' = 0: with s = I13 b1 + I23 b2, I1 b1' = -s b2 and I2 b2' = s b1."""
    b = np.array([d["A1'"], d["A2'"], 0])
    s = p["I13"] * b[0] + p["I23"] * b[1]
    db = np.array([-s * b[1] / p["I1"], s * b[0] / p["I2"], 0])
    reaction = (suslov_inertia(p) @ db + np.cross(b, suslov_inertia(p) @ b))[2]
    return {"A3'": 0.0, **named("A", db, "''"), "lambda1": reaction}


@body("suslov", ch.Vakonomic())
def suslov_vakonomic(d, p, t, coupled=True):
    """The momentum I b + lambda e3 is carried by the body: I b' + lambda' e3 = (I b + lambda e3) x b."""
    b = np.array([d["A1'"], d["A2'"], 0])
    s = p["I13"] * b[0] + p["I23"] * b[1] + d["lambda1"]
    db = np.array([-s * b[1] / p["I1"], s * b[0] / p["I2"], 0])
    rate = np.cross(suslov_inertia(p) @ b, b)[2] - (suslov_inertia(p) @ db)[2]
    return {"A3'": 0.0, **named("A", db, "''"), "lambda1'": rate}


def horizontal(d):
    """The angular velocity of Veselova's body, in the body and in space: the third rate makes it horizontal."""
    vertical = d["A"][2]
    b = np.array([d["A1'"], d["A2'"], -(vertical[0] * d["A1'"] + vertical[1] * d["A2'"]) / vertical[2]])
    return b, d["A"] @ b


def veselova(vakonomic):
    def derivation(d, p, t):
        """H' = lambda e3, or H' + lambda' e3 + lambda e3 x w = 0 under the vakonomic principle; w stays horizontal."""
        b, w = horizontal(d)
        inertia = d["A"] @ np.diag([p["I1"], p["I2"], p["I3"]]) @ d["A"].T
        matrix = np.block([[inertia, (1 if vakonomic else -1) * UP[:, None]], [UP, np.zeros(1)]])
        price = d["lambda1"] * np.cross(UP, w) if vakonomic else 0
        solved = np.linalg.solve(matrix, [*(-np.cross(w, inertia @ w) - price), 0])
        return {"A3'": b[2], **named("A", d["A"].T @ solved[:3], "''"), "lambda1'" if vakonomic else "lambda1": solved[3]}

    return derivation


body("veselova", ch.DAlembert(), ch.Chetaev())(veselova(vakonomic=False))
body("veselova", ch.Vakonomic())(veselova(vakonomic=True))


@body("euler-top", ch.Hamilton())
def euler_top(d, p, t):
    """I1 b1' = (I2 - I3) b2 b3, and so on round."""
    moments, b = np.array([p["I1"], p["I2"], p["I3"]]), rates(d)
    return named("A", np.cross(moments * b, b) / moments, "''")


@body("lagrange-top", ch.Hamilton())
def lagrange_top(d, p, t):
    """The weight acts at l e3 of the body, along minus the vertical, which is the third row of the matrix as seen from the body."""
    moments, b = np.array([p["I"], p["I"], p["J"]]), rates(d)
    torque = np.cross([0, 0, p["l"]], -p["m"] * p["g"] * d["A"][2])
    return named("A", (np.cross(moments * b, b) + torque) / moments, "''")


# --------------------------------------------------------------------------- bodies that roll on an edge or a hull


def disk(d, p, torque=(0, 0, 0)):
    """The arm is -R times the upward direction u/|u| in the disk, u = e3 - n3 n, where n is the axle and n' = w x n."""
    w, n = rates(d), d["A"][:, 2]
    u, size = UP - n[2] * n, np.sqrt(1 - n[2] ** 2)
    dn = np.cross(w, n)
    du = -dn[2] * n - n[2] * dn
    arm, arm_rate = -p["R"] * u / size, -p["R"] * (du / size - u * (u @ du) / size**3)
    inertia = d["A"] @ np.diag([p["I"], p["I"], p["J"]]) @ d["A"].T
    dw, dv, force = rolling_body(p["m"], p["m"] * p["g"], inertia, w, arm, arm_rate, torque)
    v = -np.cross(w, arm)
    return {"x'": v[0], "y'": v[1], "x''": dv[0], "y''": dv[1], **named("A", dw, "''")}, force


@body("rolling-disk", ch.DAlembert(), ch.Chetaev())
def rolling_disk(d, p, t):
    found, force = disk(d, p)
    return {**found, "lambda1": force[0], "lambda2": force[1]}


@body("rolling-disk", ch.Vakonomic())
def rolling_disk_vakonomic(d, p, t):
    """lambda' is minus the friction, and the work of the rows' variation is that of a torque.

    The row is the velocity of the contact point less R psi' along the heading h: with l = lambda.(e3 x h) the work is R phi' l against the
    spin psi about the axle n, and -R psi' l against the heading phi about the vertical. In the frame h, n, u, with u = h x n upward in the
    disk and e3 = cos u - sin n, that is the torque R phi' l n - R (w.n) l/cos u.
    """
    w, n = rates(d), d["A"][:, 2]
    lean = np.hypot(n[0], n[1])
    heading = np.cross(n, UP) / lean
    upward = np.cross(heading, n)
    across = np.cross(UP, heading) @ [d["lambda1"], d["lambda2"], 0]
    torque = p["R"] * across / lean * ((w @ upward) * n - (w @ n) * upward)
    found, force = disk(d, p, torque)
    return {**found, "lambda1'": -force[0], "lambda2'": -force[1]}


@body("rattleback", ch.DAlembert(), ch.Chetaev())
def rattleback(d, p, t, backward=True):
    """In the body the contact is S k/|k| + h e3 with k = -S g, where S holds the half axes, g is the vertical and g' = g x b."""
    a, b = d["A"], rates(d)
    stretch = np.diag([p["a"], p["b"], p["c"]])
    k, dk = -(stretch @ a[2]), -(stretch @ np.cross(a[2], b))
    size = np.linalg.norm(k)
    arm, drift = stretch @ k / size + [0, 0, p["h"]], stretch @ (dk / size - k * (k @ dk) / size**3)
    inertia = np.array([[p["I1"], p["I12"], 0], [p["I12"], p["I2"], 0], [0, 0, p["I3"]]])
    w, arm_rate = a @ b, a @ (drift + np.cross(b, arm))
    dw, dv, force = rolling_body(p["m"], p["m"] * p["g"], a @ inertia @ a.T, w, a @ arm, arm_rate)
    v = -np.cross(w, a @ arm)
    found = {"x'": v[0], "y'": v[1], "x''": dv[0], "y''": dv[1], "lambda1": force[0], "lambda2": force[1]}
    return {**found, **named("A", a.T @ dw, "''")}


# --------------------------------------------------------------------------- two bodies in the plane


@body("roller-racer", ch.DAlembert(), ch.Chetaev())
def racer(d, p, t):
    """The front axle does not slip sideways: l1 w cos(phi) - v sin(phi) = l2 (w + phi'). The rear one moves along its heading."""
    angle, phi, v = atan2(d["A"][1, 0], d["A"][0, 0]), d["phi"], d["A1'"]
    w = (v * sin(phi) + p["l2"] * d["phi'"]) / (p["l1"] * cos(phi) - p["l2"])
    solved, slip = roller_racer(p, t, angle, v, w, phi, d["phi'"])
    assert abs(slip) < 1e-13
    found = {"A2'": 0.0, "A3'": w, "A1''": solved[:2] @ along(angle), "A2''": 0.0, "A3''": solved[2], "phi''": solved[3]}
    return {**found, "lambda1": solved[6], "lambda2": solved[7]}
