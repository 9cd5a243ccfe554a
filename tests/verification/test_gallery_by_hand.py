"""Every gallery system worked out by hand: Newton's and Euler's laws, elimination on paper, the corrected formulas of the papers.

Each function below takes the given initial data `d`, the parameters `p` and the time `t`, and returns everything `evaluate` has to
find: the velocities that the constraints fix, the accelerations, the multipliers with their signs (and rates, where they are state),
and the rate of the action. Nothing is derived by machine. Signs: `E_i = d/dt dL/dq' - dL/dq = u_i + lambda_a R_V[a, i]`, with `R_V` the
gradient of `lhs - rhs` of the row; vakonomic multipliers stand in `L + lambda_a R_K[a]`.

Notation: e = (cos, sin) and n = (-sin, cos) of a heading, u the speed along it, so that (u e)' = u' e + u*theta' n.
"""

from __future__ import annotations

import zlib
from math import asin, cos, exp, pi, sin, sqrt, tan

import numpy as np
import pytest
import sympy
from bicycle_by_hand import bicycle
from bodies_by_hand import BODIES, element

import chetaev as ch

TOLERANCE = 1e-12
HAND = {}

OPTIONS = {
    "chain": [{}, {"n": 1}, {"n": 2}, {"n": 4}],
    "trailer": [{}, {"n": 0}, {"n": 1}, {"n": 4}],
    "rocard": [{}, {"forward": False}],
    "cart-pendulum": [{}, {"friction": False}],
    "two-firms": [{}, {"discount": False}],
    "elastic-ball": [{}, {"guise": "second-order"}, {"guise": "dalembert"}],
    "suslov": [{}, {"coupled": False}],
    "rattleback": [{}, {"backward": False}],
}
SPECIAL = {"elastic-ball", "elastic-ball-inhomogeneous"}
"""Overdetermined: a zero among their initial data is a condition of the motion, and stays zero at other states."""
SINGULAR = {"cawley", "krupkova", "transformer"}
"""Systems without unique accelerations; their rows and motions are checked one by one at the end of this file."""


def by_hand(name, *principles):
    """Register a derivation for a gallery system under these principles."""

    def register(function):
        HAND.update({(name, principle): function for principle in principles})
        return function

    return register


by_hand("bicycle", ch.DAlembert())(bicycle)
HAND.update(BODIES)


def along(theta, u, du, dtheta, x="x", y="y"):
    """A point that moves along its heading: velocity u e, acceleration u' e + u theta' n."""
    c, s = cos(theta), sin(theta)
    return {f"{x}'": u * c, f"{y}'": u * s, f"{x}''": du * c - u * dtheta * s, f"{y}''": du * s + u * dtheta * c}


# --------------------------------------------------------------------------- unconstrained systems


@by_hand("chain", ch.Hamilton())
def chain(d, p, t):
    """Newton's law for each bob, with the tensions of the rods: m_k r_k'' = m_k g - T_k w_k + T_(k+1) w_(k+1), w_k along rod k."""
    n = sum(name.startswith("m") for name in p)
    angle, spin = [d[f"theta{k + 1}"] for k in range(n)], [d[f"theta{k + 1}'"] for k in range(n)]
    mass, length = [p[f"m{k + 1}"] for k in range(n)], [p[f"l{k + 1}"] for k in range(n)]
    rod, across = [np.array([sin(a), -cos(a)]) for a in angle], [np.array([cos(a), sin(a)]) for a in angle]
    matrix, right = np.zeros((2 * n, 2 * n)), np.zeros(2 * n)
    for k in range(n):
        rows = slice(2 * k, 2 * k + 2)
        for j in range(k + 1):
            matrix[rows, j] = mass[k] * length[j] * across[j]
            right[rows] += mass[k] * length[j] * spin[j] ** 2 * rod[j]
        matrix[rows, n + k] = rod[k]
        if k + 1 < n:
            matrix[rows, n + k + 1] = -rod[k + 1]
        right[rows] += [0, -mass[k] * p["g"]]
    return {f"theta{k + 1}''": v for k, v in enumerate(np.linalg.solve(matrix, right)[:n])}


@by_hand("double-pendulum", ch.Hamilton())
def double_pendulum(d, p, t):
    """The textbook formula, solved for both accelerations."""
    m1, m2, l1, l2, g = (p[k] for k in ("m1", "m2", "l1", "l2", "g"))
    a, b, va, vb = d["theta1"], d["theta2"], d["theta1'"], d["theta2'"]
    common = 2 * m1 + m2 - m2 * cos(2 * a - 2 * b)
    first = -g * (2 * m1 + m2) * sin(a) - m2 * g * sin(a - 2 * b) - 2 * sin(a - b) * m2 * (vb**2 * l2 + va**2 * l1 * cos(a - b))
    second = 2 * sin(a - b) * (va**2 * l1 * (m1 + m2) + g * (m1 + m2) * cos(a) + vb**2 * l2 * m2 * cos(a - b))
    return {"theta1''": first / (l1 * common), "theta2''": second / (l2 * common)}


@by_hand("spherical-pendulum", ch.Hamilton())
def spherical_pendulum(d, p, t):
    """The acceleration of a point on a sphere, across the rod: theta'' - phi'^2 sin cos and sin*phi'' + 2 cos*theta'*phi'."""
    theta, v, w = d["theta"], d["theta'"], d["phi'"]
    return {"theta''": w**2 * sin(theta) * cos(theta) - p["g"] / p["l"] * sin(theta), "phi''": -2 * v * w / tan(theta)}


@by_hand("foucault", ch.Hamilton())
def foucault(d, p, t):
    """Coriolis acceleration -2 W z x v with the vertical part W of the Earth's rotation, and the restoring force of small swings."""
    w, stiffness = p["Omega"] * sin(p["beta"]), p["g"] / p["l"]
    return {"x''": 2 * w * d["y'"] - stiffness * d["x"], "y''": -2 * w * d["x'"] - stiffness * d["y"]}


@by_hand("pais-uhlenbeck", ch.Hamilton())
def pais_uhlenbeck(d, p, t):
    """(D^2 + w1^2)(D^2 + w2^2) q = 0."""
    a, b = p["w1"] ** 2, p["w2"] ** 2
    return {"D(q, 4)": -(a + b) * d["q''"] - a * b * d["q"]}


@by_hand("damped-oscillator", ch.Herglotz())
def damped_oscillator(d, p, t):
    """x'' + gamma x' + omega^2 x = 0."""
    x, v = d["x"], d["x'"]
    return {"x''": -p["gamma"] * v - p["omega"] ** 2 * x, "s'": v**2 / 2 - p["omega"] ** 2 * x**2 / 2 - p["gamma"] * d["s"]}


# --------------------------------------------------------------------------- holonomic rows


@by_hand("cartesian-pendulum", ch.DAlembert(), ch.Chetaev())
def cartesian_pendulum(d, p, t):
    """m r'' = m g + 2 lambda r and r.r'' = -v^2 on the circle, with the bob below the pivot."""
    m, g, l, x, v = p["m"], p["g"], p["l"], d["x"], d["x'"]
    y = -sqrt(l**2 - x**2)
    w = -x * v / y
    reaction = m * (g * y - v**2 - w**2) / (2 * l**2)
    return {"y": y, "y'": w, "x''": 2 * reaction * x / m, "y''": -g + 2 * reaction * y / m, "lambda1": reaction}


@by_hand("cartesian-pendulum", ch.Vakonomic())
def cartesian_pendulum_vakonomic(d, p, t):
    """The same, and v.v' = -g y' gives the rate of lambda = m (g y - v^2)/(2 l^2)."""
    found = cartesian_pendulum(d, p, t)
    return {**found, "lambda1'": 3 * p["m"] * p["g"] * found["y'"] / (2 * p["l"] ** 2)}


# --------------------------------------------------------------------------- one blade


@by_hand("knife-edge", ch.DAlembert())
def knife_edge(d, p, t):
    """Along the blade u' = G cos(theta), G = g sin(alpha); across it the reaction turns the velocity against gravity."""
    theta, w, pull = d["theta"], d["theta'"], p["g"] * sin(p["alpha"])
    u = d["x'"] / cos(theta)
    return {**along(theta, u, pull * cos(theta), w), "theta''": 0.0, "lambda1": p["m"] * (u * w + pull * sin(theta))}


@by_hand("knife-edge", ch.Vakonomic())
def knife_edge_vakonomic(d, p, t):
    """(m u e + lambda n)' = m G x-hat, and J theta'' = d(lambda v.n)/dtheta = -lambda u."""
    theta, w, pull, price = d["theta"], d["theta'"], p["g"] * sin(p["alpha"]), d["lambda1"]
    u = d["x'"] / cos(theta)
    return {
        **along(theta, u, pull * cos(theta) + price * w / p["m"], w),
        "theta''": -price * u / p["J"],
        "lambda1'": -p["m"] * (u * w + pull * sin(theta)),
    }


@by_hand("knife-edge-friction", ch.DAlembert())
def knife_edge_friction(d, p, t):
    """m u' = -k u, J theta'' = -c theta'; friction is along the blade, so the reaction is m u theta'."""
    theta, w = d["theta"], d["theta'"]
    u = d["x'"] / cos(theta)
    return {**along(theta, u, -p["k"] * u / p["m"], w), "theta''": -p["c"] * w / p["J"], "lambda1": p["m"] * u * w}


@by_hand("sleigh", ch.DAlembert())
def sleigh(d, p, t):
    """Newton for the centre of mass C = P + a e: m C'' = lambda n; about the blade (J + m a^2) theta'' = -m a u theta'."""
    m, a, theta, w = p["m"], p["a"], d["theta"], d["theta'"]
    u = d["x'"] / cos(theta)
    dw = -m * a * u * w / (p["J"] + m * a**2)
    return {**along(theta, u, a * w**2, w), "theta''": dw, "lambda1": m * (u * w + a * dw)}


@by_hand("sleigh", ch.Vakonomic())
def sleigh_vakonomic(d, p, t):
    """With P = lambda + m a theta': (m u e + P n)' = 0 and (J + m a^2) theta'' = -P u."""
    m, a, theta, w = p["m"], p["a"], d["theta"], d["theta'"]
    u, total = d["x'"] / cos(theta), d["lambda1"] + m * a * w
    dw = -total * u / (p["J"] + m * a**2)
    return {**along(theta, u, total * w / m, w), "theta''": dw, "lambda1'": -m * u * w - m * a * dw}


def sleigh_contact_rate(d, p, u):
    """L: kinetic energy of the centre of mass, moment of inertia 2, action."""
    w = d["theta'"]
    return ((u - p["beta"] * w) ** 2 + (p["alpha"] * w) ** 2) / 2 + w**2 + p["gamma"] * d["s"]


@by_hand("sleigh-contact", ch.Herglotz(ch.DAlembert()), ch.Herglotz(ch.Chetaev()))
def sleigh_contact(d, p, t):
    """C'' = gamma C' - lambda n, 2 theta'' = 2 gamma theta' + alpha lambda, C = P + alpha e + beta n; the row is -v.n = 0."""
    al, be, ga, theta, w = p["alpha"], p["beta"], p["gamma"], d["theta"], d["theta'"]
    u = d["x'"] / cos(theta)
    ahead = u - be * w
    dw = ga * w - al * ahead * w / (2 + al**2)
    du = be * dw + al * w**2 + ga * ahead
    return {**along(theta, u, du, w), "theta''": dw, "lambda1": -2 * ahead * w / (2 + al**2), "s'": sleigh_contact_rate(d, p, u)}


@by_hand("sleigh-contact", ch.Herglotz(ch.Vakonomic()))
def sleigh_contact_vakonomic(d, p, t):
    """(D - gamma)(C' - lambda n) = 0, and (D - gamma) of the angular momentum equals lambda u."""
    al, be, ga, theta, w, price = p["alpha"], p["beta"], p["gamma"], d["theta"], d["theta'"], d["lambda1"]
    u = d["x'"] / cos(theta)
    ahead = u - be * w
    excess = ahead * (price - al * w) / (2 + al**2)
    dw = ga * w + excess
    return {
        **along(theta, u, ga * ahead + be * dw + al * w**2 - price * w, w),
        "theta''": dw,
        "lambda1'": ga * price + al * excess + ahead * w,
        "s'": sleigh_contact_rate(d, p, u),
    }


@by_hand("action-constraint", ch.Herglotz(ch.DAlembert()), ch.Herglotz(ch.Chetaev()))
def action_constraint(d, p, t):
    """The blade has the heading -kappa s: v = u e, v' + gamma v + g y-hat = lambda n, and the blade turns at the rate -kappa L."""
    heading = -p["kappa"] * d["s"]
    u = d["x'"] / cos(heading)
    rate = u**2 / 2 - p["g"] * d["y"] - p["gamma"] * d["s"]
    turn = -p["kappa"] * rate
    motion = along(heading, u, -p["gamma"] * u - p["g"] * sin(heading), turn)
    return {**motion, "lambda1": u * turn + p["g"] * cos(heading), "s'": rate}


@by_hand("action-constraint", ch.Herglotz(ch.Vakonomic()))
def action_constraint_vakonomic(d, p, t):
    """(u e + lambda n)' + G (u e + lambda n) + g y-hat = 0, where G = gamma - kappa lambda u replaces the friction."""
    heading, price = -p["kappa"] * d["s"], d["lambda1"]
    u = d["x'"] / cos(heading)
    rate = u**2 / 2 - p["g"] * d["y"] - p["gamma"] * d["s"]
    turn, friction = -p["kappa"] * rate, p["gamma"] - p["kappa"] * price * u
    du = -friction * u - p["g"] * sin(heading) + price * turn
    return {**along(heading, u, du, turn), "lambda1'": -friction * price - p["g"] * cos(heading) - u * turn, "s'": rate}


# --------------------------------------------------------------------------- disks


@by_hand("disk", ch.DAlembert(), ch.Chetaev())
def disk(d, p, t):
    """Uniform circles; friction is the centripetal force."""
    w, turn = d["theta'"], d["varphi'"]
    motion = along(d["varphi"], p["R"] * w, 0.0, turn)
    return {**motion, "theta''": 0.0, "varphi''": 0.0, "lambda1": p["m"] * motion["x''"], "lambda2": p["m"] * motion["y''"]}


@by_hand("disk", ch.Vakonomic())
def disk_vakonomic(d, p, t):
    """m v + lambda is constant; with N = -lambda.n: J varphi'' = R theta' N and (I + m R^2) theta'' = -R varphi' N."""
    m, radius, w, turn = p["m"], p["R"], d["theta'"], d["varphi'"]
    across = d["lambda1"] * sin(d["varphi"]) - d["lambda2"] * cos(d["varphi"])
    dw = -radius * turn * across / (p["I"] + m * radius**2)
    motion = along(d["varphi"], radius * w, radius * dw, turn)
    rates = {"lambda1'": -m * motion["x''"], "lambda2'": -m * motion["y''"]}
    return {**motion, **rates, "theta''": dw, "varphi''": radius * w * across / p["J"]}


@by_hand("disk-contact", ch.Herglotz(ch.DAlembert()), ch.Herglotz(ch.Chetaev()))
def disk_contact(d, p, t):
    """002, 4.3 with the signs of the library: theta'' = d theta', varphi'' = d varphi', the reaction as without friction."""
    k, w, turn = p["d"], d["theta'"], d["varphi'"]
    reaction = {"lambda1": -w * turn * sin(d["varphi"]), "lambda2": w * turn * cos(d["varphi"])}
    action = {"s'": w**2 + turn**2 / 2 + k * d["s"]}
    return {**along(d["varphi"], w, k * w, turn), **reaction, **action, "theta''": k * w, "varphi''": k * turn}


@by_hand("disk-contact", ch.Herglotz(ch.Vakonomic()))
def disk_contact_vakonomic(d, p, t):
    """(D - d)(v + lambda) = 0, (D - d)(theta' - lambda.e) = 0, (D - d) varphi' = theta' N with N = -lambda.n."""
    k, w, turn = p["d"], d["theta'"], d["varphi'"]
    across = d["lambda1"] * sin(d["varphi"]) - d["lambda2"] * cos(d["varphi"])
    dw = k * w - turn * across / 2
    motion = along(d["varphi"], w, dw, turn)
    rates = {f"lambda{i}'": k * (motion[f"{x}'"] + d[f"lambda{i}"]) - motion[f"{x}''"] for i, x in ((1, "x"), (2, "y"))}
    return {**motion, **rates, "theta''": dw, "varphi''": k * turn + w * across, "s'": w**2 + turn**2 / 2 + k * d["s"]}


@by_hand("disk-resistance", ch.Vakonomic())
def disk_resistance(d, p, t):
    """Errata to 004 (4.1e, f): on the constraints lambda' = beta R w f (sin, -cos) + R^2 f N/(I2 + R^2) (cos, sin), without beta'."""
    radius, w, turn, phi = p["R"], d["theta'"], d["varphi'"], d["varphi"]
    beta, growth = 1 + 0.3 * sin(2 * t), 0.6 * cos(2 * t)
    across = d["lambda1"] * sin(phi) - d["lambda2"] * cos(phi)
    dw = -(growth * w + radius * turn * across / (p["I2"] + radius**2)) / beta
    pull, push = beta * radius * w * turn, radius**2 * turn * across / (p["I2"] + radius**2)
    return {
        **along(phi, radius * w, radius * dw, turn),
        "theta''": dw,
        "varphi''": (radius * w * across / p["I1"] - growth * turn) / beta,
        "lambda1'": pull * sin(phi) + push * cos(phi),
        "lambda2'": -pull * cos(phi) + push * sin(phi),
    }


@by_hand("disk-resistance", ch.DAlembert())
def disk_resistance_nonholonomic(d, p, t):
    """beta theta' and beta varphi' are constant; the reaction is the centripetal part of (beta v)'."""
    radius, w, turn, phi = p["R"], d["theta'"], d["varphi'"], d["varphi"]
    beta, growth = 1 + 0.3 * sin(2 * t), 0.6 * cos(2 * t)
    dw, pull = -growth * w / beta, beta * radius * w * turn
    motion = along(phi, radius * w, radius * dw, turn)
    return {**motion, "theta''": dw, "varphi''": -growth * turn / beta, "lambda1": -pull * sin(phi), "lambda2": pull * cos(phi)}


def leaning_disk_rates(d, p, torque_axial, torque_upward):
    """Euler's equations about the contact point in the frame h (heading), a (axle), u (upward in the disk), with extra torques.

    omega = -theta' h + phi' z + psi' a, the centre moves with v = R (omega_a h - omega_h a), and H' + R u x m (v' + g z) = torque.
    The frame turns at Omega = (omega_h, -phi' sin, omega_u), so that
    (I + m R^2) omega_h' = (J + m R^2) omega_u omega_a - I Omega_a omega_u - m g R sin,
    (J + m R^2) omega_a' = -m R^2 omega_u omega_h + torque_a,
    I omega_u' = (I Omega_a - J omega_a) omega_h + torque_u.
    """
    m, radius, inertia, axial, theta = p["m"], p["R"], p["I"], p["J"], d["theta"]
    c, s = cos(theta), sin(theta)
    wh, wu, wa, frame = -d["theta'"], d["phi'"] * c, d["psi'"] - d["phi'"] * s, -d["phi'"] * s
    roll = axial + m * radius**2
    dwh = (roll * wu * wa - inertia * frame * wu - m * p["g"] * radius * s) / (inertia + m * radius**2)
    dwa = (-m * radius**2 * wu * wh + torque_axial) / roll
    dwu = ((inertia * frame - axial * wa) * wh + torque_upward) / inertia
    turn = (dwu + d["phi'"] * d["theta'"] * s) / c
    spin = dwa + turn * s + d["phi'"] * d["theta'"] * c
    onward = radius * (dwa + wu * wh)
    sideways = radius * ((-dwh + wu * wa) * c + (-(wh**2) - frame * wa) * s)
    heading = d["phi"]
    centre = (onward * cos(heading) - sideways * sin(heading), onward * sin(heading) + sideways * cos(heading))
    motion = along(d["phi"], radius * d["psi'"], radius * spin, d["phi'"])
    return {**motion, "phi''": turn, "theta''": -dwh, "psi''": spin}, centre


@by_hand("leaning-disk", ch.DAlembert(), ch.Chetaev())
def leaning_disk(d, p, t):
    """Newton and Euler; lambda is the friction at the contact, m times the centre's horizontal acceleration."""
    motion, centre = leaning_disk_rates(d, p, 0.0, 0.0)
    return {**motion, "lambda1": p["m"] * centre[0], "lambda2": p["m"] * centre[1]}


@by_hand("leaning-disk", ch.Vakonomic())
def leaning_disk_vakonomic(d, p, t):
    """lambda' = -m times that acceleration, and the work of the rows' variation is that of a torque.

    With l = lambda.n: R phi' l against psi and -R psi' l against phi, that is R phi' l about the axle, -R omega_a l/cos upward.
    """
    across = -d["lambda1"] * sin(d["phi"]) + d["lambda2"] * cos(d["phi"])
    spin = d["psi'"] - d["phi'"] * sin(d["theta"])
    motion, centre = leaning_disk_rates(d, p, p["R"] * d["phi'"] * across, -p["R"] * spin * across / cos(d["theta"]))
    return {**motion, "lambda1'": -p["m"] * centre[0], "lambda2'": -p["m"] * centre[1]}


# --------------------------------------------------------------------------- other rows linear in the velocities


@by_hand("heisenberg", ch.DAlembert(), ch.Chetaev())
def heisenberg(d, p, t):
    """m x'' = -lambda y, m y'' = 0, M z'' = lambda, z'' = x' y' + y x''."""
    m, heavy, y, v, w = p["m"], p["M"], d["y"], d["x'"], d["y'"]
    a = -heavy * y * v * w / (m + heavy * y**2)
    lift = v * w + y * a
    return {"z'": y * v, "x''": a, "y''": 0.0, "z''": lift, "lambda1": heavy * lift}


@by_hand("heisenberg", ch.Vakonomic())
def heisenberg_vakonomic(d, p, t):
    """m x' - lambda y and M z' + lambda are constant, m y'' = -lambda x'."""
    m, heavy, y, v, w, price = p["m"], p["M"], d["y"], d["x'"], d["y'"], d["lambda1"]
    a = (price * w - heavy * y * v * w) / (m + heavy * y**2)
    lift = v * w + y * a
    return {"z'": y * v, "x''": a, "y''": -price * v / m, "z''": lift, "lambda1'": -heavy * lift}


@by_hand("martinet", ch.Vakonomic())
def martinet(d, p, t):
    """lambda and x' - lambda y^2/2 are constant, y'' = -lambda y x': the heading turns at the rate -lambda y, the speed is constant."""
    y, v, w, price = d["y"], d["x'"], d["y'"], d["lambda1"]
    turn = -price * y
    return {"z'": y**2 * v / 2, "x''": -turn * w, "y''": turn * v, "z''": y * w * v - y**2 * turn * w / 2, "lambda1'": 0.0}


@by_hand("snakeboard", ch.DAlembert())
def snakeboard(d, p, t):
    """The rows say v = u e and theta' = u tan(phi)/l; the difference of the axle forces turns and brakes, their sum steers."""
    m, l, theta, phi, dphi = p["m"], p["l"], d["theta"], d["phi"], d["phi'"]
    board, rotor, axles = p["J"] + 2 * p["Jw"], p["A"] * sin(p["w"] * t), p["B"] * sin(p["w"] * t + p["beta"])
    u = d["x'"] / cos(theta)
    w = u * tan(phi) / l
    swing = u * dphi / (l * cos(phi) ** 2)
    du = -(rotor + board * swing) * tan(phi) / l / (m + board * (tan(phi) / l) ** 2)
    dw = du * tan(phi) / l + swing
    difference, total = (board * dw + rotor) / (l * cos(phi)), m * u * w / cos(phi)
    return {
        **along(theta, u, du, w),
        "theta'": w,
        "theta''": dw,
        "psi''": rotor / p["Jr"] - dw,
        "phi''": axles / (2 * p["Jw"]),
        "lambda1": (total + difference) / 2,
        "lambda2": (total - difference) / 2,
    }


@by_hand("trailer", ch.DAlembert())
def trailer(d, p, t):
    """Speeds go down the train, forces come up: the force in each hitch follows from the trailer behind it, for any v0'."""
    n = sum(name.startswith("m") for name in p) - 1
    angle = [d[f"theta{k}"] for k in range(n + 1)]
    mass, inertia = [p[f"m{k}"] for k in range(n + 1)], [p[f"J{k}"] for k in range(n + 1)]

    def train(acceleration):
        u, du, w, dw = [d["x'"] / cos(angle[0])], [acceleration], [d["theta0'"]], [0.0]
        for k in range(1, n + 1):
            bar, bend = p[f"d{k}"], angle[k - 1] - angle[k]
            w.append(u[-1] * sin(bend) / bar)
            bending = w[k - 1] - w[k]
            dw.append((du[-1] * sin(bend) + u[-1] * cos(bend) * bending) / bar)
            u.append(u[-1] * cos(bend))
            du.append(du[-1] * cos(bend) - u[k - 1] * sin(bend) * bending)
        behind, blades = np.zeros(2), []
        for k in range(n, -1, -1):
            e, across = np.array([cos(angle[k]), sin(angle[k])]), np.array([-sin(angle[k]), cos(angle[k])])
            side = inertia[k] * dw[k] / p[f"d{k}"] if k else 0.0
            blades.insert(0, mass[k] * u[k] * w[k] - side + behind @ across)
            behind = (mass[k] * du[k] + behind @ e) * e + side * across
        tow = behind @ np.array([cos(angle[0]), sin(angle[0])])
        return u, du, w, dw, blades, tow

    rest, unit = train(0.0)[-1], train(1.0)[-1]
    u, du, w, dw, blades, _ = train(-rest / (unit - rest))
    found = along(angle[0], u[0], du[0], w[0])
    found |= {f"theta{k}'": w[k] for k in range(n + 1)} | {f"theta{k}''": dw[k] for k in range(n + 1)}
    return found | {f"lambda{k + 1}": -blades[k] for k in range(n + 1)}


@by_hand("two-firms", ch.Vakonomic())
def two_firms(d, p, t, discount=True):
    """(W A1 q1')' = lambda B, (W A2 q2' + lambda)' = lambda B, with W = exp(r t), r = -beta for a discount."""
    a1, a2, b, r = p["A1"], p["A2"], p["B"], -p["beta"] if discount else p["beta"]
    weight, price = exp(r * t), d["lambda1"]
    second = p["D"] - b * (d["q1"] + d["q2"])
    slowing = -b * (d["q1'"] + second)
    first = -r * d["q1'"] + price * b / (a1 * weight)
    return {"q2'": second, "q1''": first, "q2''": slowing, "lambda1'": price * b - weight * a2 * (r * second + slowing)}


@by_hand("two-firms", ch.DAlembert())
def two_firms_nonholonomic(d, p, t, discount=True):
    """The reaction acts on the second firm only."""
    r = -p["beta"] if discount else p["beta"]
    second = p["D"] - p["B"] * (d["q1"] + d["q2"])
    slowing = -p["B"] * (d["q1'"] + second)
    return {"q2'": second, "q1''": -r * d["q1'"], "q2''": slowing, "lambda1": exp(r * t) * p["A2"] * (slowing + r * second)}


# --------------------------------------------------------------------------- rows that are not linear, or of higher order


@by_hand("appell-hamel", ch.Chetaev())
def appell_hamel(d, p, t):
    """The inclined plane z'' = -g/(1 + a^2) in a fixed vertical plane, falling."""
    fall = -sqrt(d["x'"] ** 2 + d["y'"] ** 2) / p["a"]
    slide = -p["g"] / (1 + p["a"] ** 2)
    stretch = slide / fall
    motion = {"z'": fall, "x''": d["x'"] * stretch, "y''": d["y'"] * stretch, "z''": slide}
    return {**motion, "lambda1": -p["m"] * p["g"] / (2 * (1 + p["a"] ** 2) * fall)}


@by_hand("appell-hamel", ch.Vakonomic())
def appell_hamel_vakonomic(d, p, t):
    """The same motion; (m + 2 lambda) x' is constant."""
    found = appell_hamel(d, p, t)
    del found["lambda1"]
    return {**found, "lambda1'": -(p["m"] + 2 * d["lambda1"]) * found["z''"] / (2 * found["z'"])}


@by_hand("constant-speed", ch.Chetaev())
def constant_speed(d, p, t):
    """m v' = -m g y-hat + 2 lambda v, and v.v' = 0; upwards."""
    m, g, v = p["m"], p["g"], d["x'"]
    w = sqrt(p["c"] ** 2 - v**2)
    pull = g * w / p["c"] ** 2
    return {"y'": w, "x''": pull * v, "y''": -g + pull * w, "lambda1": m * pull / 2}


@by_hand("constant-speed", ch.Vakonomic())
def constant_speed_vakonomic(d, p, t):
    """((m + 2 lambda) v)' = -m g y-hat."""
    m, g, v = p["m"], p["g"], d["x'"]
    w = sqrt(p["c"] ** 2 - v**2)
    pull, mass = m * g * w / p["c"] ** 2, m + 2 * d["lambda1"]
    return {"y'": w, "x''": pull * v / mass, "y''": (pull * w - m * g) / mass, "lambda1'": -pull / 2}


@by_hand("prescribed-curvature", ch.Chetaev())
def prescribed_curvature(d, p, t):
    """Along the path u' = -g y'/u, across it kappa u^2; the reaction is lambda u n."""
    v, w = d["x'"], d["y'"]
    u = sqrt(v**2 + w**2)
    tangential, normal = -p["g"] * w / u, p["kappa"] * u**2
    motion = {"x''": (tangential * v - normal * w) / u, "y''": (tangential * w + normal * v) / u}
    return {**motion, "lambda1": p["m"] * (p["kappa"] * u + p["g"] * v / u**2)}


@by_hand("viscous-particle", ch.VirtualWork())
def viscous_particle(d, p, t):
    """m r'' = -grad V - F r', lambda = -1: Rayleigh's friction with the symmetric matrix F."""
    x, v, b, c = np.array([d["x"], d["y"], d["z"]]), np.array([d["x'"], d["y'"], d["z'"]]), p["b"], p["c"]
    drag = np.array([[0.8, 0.2, 0.1], [0.2, 0.5, -0.1], [0.1, -0.1, 0.6]]) + b * np.diag(x**2)
    slope = np.array([1, 2, 0.5]) * x + c * np.array([x[1] * x[2], x[0] * x[2], x[0] * x[1]])
    acceleration = -(slope + drag @ v) / p["m"]
    return {"x''": acceleration[0], "y''": acceleration[1], "z''": acceleration[2], "lambda1": -1.0}


@by_hand("cart-pendulum", ch.VirtualWork())
def cart_pendulum(d, p, t, friction=True):
    """000, (79): (I + m l b cos) theta'' + (nu - m l a cos^2) theta' = m g l sin; lambda is the force of the motor."""
    m, l, a, b, theta, w = p["m"], p["l"], p["a"], p["b"], d["theta"], d["theta'"]
    mu, nu = (p["mu"], p["nu"]) if friction else (0.0, 0.0)
    c, s = cos(theta), sin(theta)
    dw = (m * p["g"] * l * s - (nu - m * l * a * c**2) * w) / (p["I"] + m * l * b * c)
    v, dv = a * s - b * w, a * c * w - b * dw
    return {"x'": v, "x''": dv, "theta''": dw, "lambda1": m * dv - m * l * (dw * c - w**2 * s) + mu * v}


@by_hand("rocard", ch.VirtualWork())
def rocard(d, p, t, forward=True):
    """Errata to 001: psi'' = -sgn a sin^2/(M + I cos) and the hidden row for epsilon', here called `turn` for theta' - epsilon'."""
    heavy, light, eps, v = p["M"], p["I"], d["epsilon"], d["psi'"]
    strength = p["a"] if v > 0 else -p["a"]
    c, s = cos(eps), sin(eps)
    numerator, denominator = s * (light + heavy * c), heavy + light * c
    turn = strength / heavy * numerator / denominator / v
    deps = d["theta'"] - turn
    dv = -strength * s**2 / denominator
    d_numerator, d_denominator = (light * c + heavy * (c**2 - s**2)) * deps, -light * s * deps
    d_turn = strength / heavy * (d_numerator / denominator - numerator * d_denominator / denominator**2) / v - turn * dv / v
    ddtheta = -p["K"] * eps / p["J"]
    motion = along(d["theta"] - eps, v, dv, turn, "x1", "x2")
    return {
        **motion,
        "psi''": dv,
        "theta''": ddtheta,
        "epsilon'": deps,
        "epsilon''": ddtheta - d_turn,
        "lambda1": -heavy * motion["x1''"],
        "lambda2": -heavy * motion["x2''"],
        "lambda3": -p["K"] * eps,
    }


def greidanus_wheel(d, p):
    """The wheel's centre moves with A e + B n, A = psi' cos(eps) + xi theta', B = -psi' sin(eps) - xi', and M times its acceleration

    is the force (lambda1, lambda2), with -I psi'' along e and alpha xi along n. Besides J theta'' = xi I psi'' - beta eps.
    """
    light, inertia, heavy, alpha, beta = (p[k] for k in ("I", "J", "M", "alpha", "beta"))
    theta, eps, xi, v, w, slip = d["theta"], d["epsilon"], d["xi"], d["psi'"], d["theta'"], d["xi'"]
    c, s = cos(eps), sin(eps)
    turn = v * (alpha * xi + beta * eps)
    deps = w - turn
    dv = heavy * (beta * eps * xi / inertia - 2 * slip * w - v * s * turn) / (light + heavy * c + heavy * light * xi**2 / inertia)
    dw = (xi * light * dv - beta * eps) / inertia
    d_turn = dv * (alpha * xi + beta * eps) + v * (alpha * slip + beta * deps)
    e, n = np.array([cos(theta), sin(theta)]), np.array([-sin(theta), cos(theta)])
    force = -light * dv * e + alpha * xi * n
    found = {
        "psi''": dv,
        "theta''": dw,
        "epsilon'": deps,
        "epsilon''": dw - d_turn,
        "xi''": -dv * s - v * deps * c + (v * c + xi * w) * w - alpha * xi / heavy,
        "lambda1": force[0],
        "lambda2": force[1],
        "lambda3": -beta * eps,
    }
    return found, (v * c + xi * w) * e - (v * s + slip) * n, force / heavy, turn


@by_hand("greidanus", ch.VirtualWork())
def greidanus(d, p, t):
    found, velocity, acceleration, _ = greidanus_wheel(d, p)
    return {**found, "y1'": velocity[0], "y2'": velocity[1], "y1''": acceleration[0], "y2''": acceleration[1]}


@by_hand("greidanus-x", ch.VirtualWork())
def greidanus_x(d, p, t):
    """The same wheel; the contact zone moves along theta - epsilon with the speed psi'."""
    found, _, _, turn = greidanus_wheel(d, p)
    return {**found, **along(d["theta"] - d["epsilon"], d["psi'"], found["psi''"], turn, "x1", "x2")}


# --------------------------------------------------------------------------- the comparison


def every_case():
    for name in ch.gallery():
        for options in OPTIONS.get(name, [{}]):
            for principle in ch.gallery(name, **options).principles:
                if name not in SINGULAR:
                    label = "-".join([name, *(f"{k}={v}" for k, v in options.items()), str(principle)])
                    yield pytest.param(name, options, principle, id=label)


def perturbed(model, given, rng, special):
    """Data, parameters and time near those of the model; for special states zero stays zero."""

    def near(v):
        if isinstance(v, list):
            return [near(c) for c in v]
        return v if special and not v else v * (1 + 0.2 * rng.uniform(-1, 1)) + 0.1 * rng.uniform(-1, 1)

    parameters = {k: v * (1 + 0.08 * rng.uniform(-1, 1)) for k, v in model.parameters.items()}
    return {k: near(v) for k, v in given.items()}, parameters, rng.uniform(-1, 2)


def number(v, parameters):
    """A number, or a text that may contain parameters; element by element of a rotation."""
    if isinstance(v, list | tuple):
        return [number(c, parameters) for c in v]
    named = {k: sympy.Symbol(k) for k in parameters}
    return float(sympy.sympify(v, named).subs({named[k]: value for k, value in parameters.items()}))


def with_elements(given, system):
    """Data with elements of groups as matrices."""
    return {k: element(str(system.groups[k]), v) if k in system.groups else v for k, v in given.items()}


def assert_close(found, expected, context):
    """Every value within the tolerance, relative to max(1, size); a NaN is not."""
    wrong = {k: (found[k], v) for k, v in expected.items() if not abs(found[k] - v) <= TOLERANCE * max(1.0, abs(v))}
    assert not wrong, (context, wrong)


@pytest.mark.parametrize(("name", "options", "principle"), list(every_case()))
def test_gallery_by_hand(name, options, principle):
    """At the model's start and at random states near it, with random parameters and times: everything `evaluate` returns."""
    model = ch.gallery(name, **options).under(principle)
    derivation, choice = HAND[name, principle], {k: v for k, v in options.items() if k != "n"}
    own = {k: number(v, model.parameters) for k, v in model.start.fixed.items()}
    equations, rng = ch.derive(model), np.random.default_rng(zlib.crc32(f"{name} {options} {principle}".encode()))
    for turn in range(6):
        given, parameters, t = perturbed(model, own, rng, name in SPECIAL) if turn else (own, model.parameters, model.t[0])
        data = with_elements(given, model.system)
        expected = {k: v for k, v in data.items() if k not in model.system.groups} | derivation(data, parameters, t, **choice)
        start = ch.State(given, model.start.guess)
        now = ch.evaluate(equations, start, parameters=parameters, t=t) if turn else ch.evaluate(model)
        assert {z for z in now if "." not in z} == set(expected)  # the numbers of a quaternion are read as a matrix
        assert_close(now, expected, (given, parameters, t))
        for group in model.system.groups:
            assert np.abs(now.rotation(group) - data[group]).max() < TOLERANCE


def test_every_system_and_principle_is_worked_out():
    variants = [(name, options) for name in ch.gallery() if name not in SINGULAR for options in OPTIONS.get(name, [{}])]
    assert {(name, principle) for name, options in variants for principle in ch.gallery(name, **options).principles} == HAND.keys()
    assert set(ch.gallery()) >= SINGULAR | OPTIONS.keys()


# --------------------------------------------------------------------------- special states and printed numbers


def test_cart_pendulum_printed_numbers():
    """Errata 000-R27: theta'' = -8.7154 by (79), and E' = -1.33398 = -0.03978 (friction) - 1.29420 (control)."""
    now = ch.evaluate(ch.gallery("cart-pendulum"))
    assert now["theta''"] == pytest.approx(-8.7154, abs=5e-5)
    assert now["lambda1"] * now["x'"] == pytest.approx(-1.29420, abs=5e-6)
    assert -(0.1 * now["x'"] ** 2 + 0.2 * now["theta'"] ** 2) == pytest.approx(-0.03978, abs=5e-6)


def test_rocard_energy_rate_in_closed_form():
    """Errata 001-Ed: E' = -[(I+M) M psi'^2 sin/(I + M cos) + K eps] (theta' - eps'), from the values of `evaluate`."""
    model = ch.gallery("rocard")
    p, now = model.parameters, ch.evaluate(model)
    power = (p["I"] + p["M"]) * now["psi'"] * now["psi''"] + p["J"] * now["theta'"] * now["theta''"] + p["K"] * 0.15 * now["epsilon'"]
    inner = (p["I"] + p["M"]) * p["M"] * now["psi'"] ** 2 * sin(0.15) / (p["I"] + p["M"] * cos(0.15)) + p["K"] * 0.15
    assert power == pytest.approx(-inner * (now["theta'"] - now["epsilon'"]), rel=1e-12)


def test_vakonomic_disk_with_special_multipliers_is_the_nonholonomic_one():
    """lambda = -m v at the start."""
    model = ch.gallery("disk")
    plain = ch.evaluate(model)
    special = {f"lambda{k}": -1.7 * plain[f"{x}'"] for k, x in ((1, "x"), (2, "y"))}
    now = ch.evaluate(ch.derive(model.system, ch.Vakonomic()), {**model.start.fixed, **special}, parameters=model.parameters)
    assert_close(now, {f"{x}''": plain[f"{x}''"] for x in ("x", "y", "theta", "varphi")}, "disk")
    assert_close(now, {f"lambda{k}'": -plain[f"lambda{k}"] for k in (1, 2)}, "-lambda' plays the part of d'Alembert's lambda")


def test_conical_pendulum():
    """theta' = 0 and phi'^2 cos(theta) = g/l: a horizontal circle."""
    spin = sqrt(9.81 / (0.8 * cos(0.9)))
    now = ch.evaluate(ch.gallery("spherical-pendulum"), {"theta": 0.9, "phi": 0.1, "theta'": 0, "phi'": spin})
    assert_close(now, {"theta''": 0.0, "phi''": 0.0}, "cone")


def test_leaning_disk_on_a_circle_with_steady_lean():
    """Without theta' all accelerations vanish if (J + m R^2) omega_u omega_a + I phi' sin omega_u = m g R sin: the disk leans steadily."""
    p = ch.gallery("leaning-disk").parameters
    theta, turn = asin(0.3), 0.8
    c, s = cos(theta), sin(theta)
    roll = p["J"] + p["m"] * p["R"] ** 2
    axial = (p["m"] * p["g"] * p["R"] * s - p["I"] * turn**2 * s * c) / (roll * turn * c)
    start = {"x": 0, "y": 0, "phi": 0.2, "theta": theta, "psi": 0, "phi'": turn, "theta'": 0, "psi'": axial + turn * s}
    assert_close(ch.evaluate(ch.gallery("leaning-disk"), start), {"phi''": 0.0, "theta''": 0.0, "psi''": 0.0}, "circle")


def test_a_chain_of_two_is_the_double_pendulum_and_of_one_the_pendulum():
    one, two = ch.gallery("chain", n=1), ch.gallery("chain", n=2)
    g, p = two.parameters["g"], two.parameters
    now = ch.evaluate(one)
    assert_close(now, {"theta1''": -g / one.parameters["l1"] * sin(now["theta1"])}, "n = 1")
    start = two.start.fixed
    assert_close(ch.evaluate(two), double_pendulum(start, p, 0.0), "n = 2")


# --------------------------------------------------------------------------- the singular systems


def refuses_or_agrees(model, start, expected):
    """`evaluate` may say that it cannot, but must not say anything else than the truth."""
    try:
        now = ch.evaluate(model, start)
    except ch.ChetaevError:
        return
    assert_close(now, expected, model.name)


def random_rows(model, names, seed):
    """The library's residuals at random jets, and these jets."""
    rng = np.random.default_rng(seed)
    for _ in range(5):
        z = dict(zip(names.split(), rng.uniform(-2, 2, len(names.split())), strict=True))
        p = {k: v * (1 + 0.2 * rng.uniform(-1, 1)) for k, v in model.parameters.items()}
        yield z, p, ch.residual(ch.derive(model), z, parameters=p)


def test_krupkova_rows_and_motions():
    """q1'' = q1 q2 and q1^2 = 0: q1 = 0 for ever, q2 free. No acceleration of q2 may be invented."""
    model = ch.gallery("krupkova")
    for z, _, rows in random_rows(model, "q1 q1' q1'' q2 q2' q2''", 1):
        assert_close(rows, {"E_q1": z["q1''"] - z["q1"] * z["q2"], "E_q2": -(z["q1"] ** 2) / 2}, z)
    rest = {"q1": 0, "q1'": 0, "q1''": 0}
    assert ch.residual(ch.derive(model), {**rest, "q2": 0.4, "q2'": -0.3, "q2''": 17.0}) == {"E_q1": 0, "E_q2": 0}
    for data in (model.start.fixed, {**model.start.fixed, "q1": 0, "q1'": 0}, {"q1": 0.1, "q1'": 0, "q2": 0.4, "q2'": 0}):
        with pytest.raises(ch.ChetaevError):
            ch.evaluate(model, data)


def test_cawley_rows_and_motions():
    """q3'' = 0, q2 q3 = 0, q1'' = q2^2/2. With q3 != 0 all is uniform and q2 = 0; with q3 = q3' = 0 any q2(t) drives q1."""
    model = ch.gallery("cawley")
    for z, _, rows in random_rows(model, "q1 q1' q1'' q2 q2' q2'' q3 q3' q3''", 2):
        assert_close(rows, {"E_q1": z["q3''"], "E_q2": -z["q2"] * z["q3"], "E_q3": z["q1''"] - z["q2"] ** 2 / 2}, z)
    uniform = {"q1''": 0.0, "q2": 0.0, "q2'": 0.0, "q2''": 0.0, "q3''": 0.0}
    refuses_or_agrees(model, model.start, {**model.start.fixed, **uniform})
    refuses_or_agrees(model, ch.State(model.start.fixed, {"q2": 0.3, "q1''": 0.1, "q3''": 0.1}), {**model.start.fixed, **uniform})
    driven = {"q1": 0.2, "q1'": 0.5, "q1''": 0.32, "q2": 0.8, "q2'": -1.0, "q2''": 3.0, "q3": 0, "q3'": 0, "q3''": 0}
    assert_close(ch.residual(ch.derive(model), driven), {"E_q1": 0.0, "E_q2": 0.0, "E_q3": 0.0}, "q2(t) at will")
    with pytest.raises(ch.ChetaevError):
        ch.evaluate(model, {k: v for k, v in driven.items() if "''" not in k})


def transformer_motion(p, i1, i2):
    """Elimination by hand: A = I1 and B = -I2 are the bracketed terms of L divided by the resistances; E_epsilon gives lambda1 = -2 A,

    E_I1: M (2 B + lambda2)' = 2 R1 A, E_I2: L2 (2 B + lambda2)' = R2 lambda2. So lambda2 = 2 R1 L2 I1/(M R2), and with the second
    Kirchhoff law two linear equations for I1', I2' are left.
    """
    r1, r2, l1, l2, m = (p[k] for k in ("R1", "R2", "L1", "L2", "M"))
    flow = np.array([[l2 * r1 * r2, -m * r2**2], [-m * r1 * r2, -l2 * r1 * r2]]) / (l2**2 * r1 + m**2 * r2)
    current = np.array([i1, i2])
    rate, second, third = flow @ current, flow @ flow @ current, flow @ flow @ flow @ current
    values = {"I1": i1, "I2": i2, "I1'": rate[0], "I2'": rate[1], "I1''": second[0], "I2''": second[1]}
    for k, (low, high) in enumerate(((current, rate), (rate, second), (second, third))):
        values["epsilon" + "'" * k] = r1 * low[0] + l1 * high[0] + m * high[1]
    for k, low in enumerate((current, rate)):
        values |= {"lambda1" + "'" * k: -2 * low[0], "lambda2" + "'" * k: 2 * r1 * l2 * low[0] / (m * r2)}
    return values


def test_transformer_rows_and_motions():
    """The rows typed by hand; the closed form satisfies them and Kirchhoff's laws; its exponents are +-sqrt(alpha) of the paper."""
    model = ch.gallery("transformer")
    names = "I1 I1' I1'' I2 I2' I2'' epsilon epsilon' lambda1 lambda1' lambda2 lambda2'"
    for z, p, rows in random_rows(model, names, 3):
        r1, r2, l1, l2, m = (p[k] for k in ("R1", "R2", "L1", "L2", "M"))
        lost = (z["epsilon'"] - l1 * z["I1''"] - m * z["I2''"]) / r1
        gained = (l2 * z["I2''"] + m * z["I1''"]) / r2
        expected = {
            "E_I1": -2 * l1 * lost + 2 * m * gained - l1 * z["lambda1'"] + m * z["lambda2'"] + r1 * z["lambda1"],
            "E_I2": -2 * m * lost + 2 * l2 * gained - m * z["lambda1'"] + l2 * z["lambda2'"] - r2 * z["lambda2"],
            "E_epsilon": -2 * (z["epsilon"] - l1 * z["I1'"] - m * z["I2'"]) / r1 - z["lambda1"],
            "kinematic[0]": z["epsilon"] - r1 * z["I1"] - l1 * z["I1'"] - m * z["I2'"],
            "kinematic[1]": r2 * z["I2"] + l2 * z["I2'"] + m * z["I1'"],
        }
        assert_close(rows, expected, (z, p))
        motion = transformer_motion(p, z["I1"], z["I2"])
        assert_close(ch.residual(ch.derive(model), motion, parameters=p), dict.fromkeys(expected, 0.0), "motion")
    motion = transformer_motion(model.parameters, 0.5, -0.3)
    refuses_or_agrees(model, model.start, motion)
    growth = 1.0 * 0.8**2 / (0.8 * 0.7**2 + 1.0 * 1.2**2)
    assert_close(motion, {"I1''": growth * 0.5, "I2''": growth * -0.3}, "I'' = alpha I, alpha = R1 R2^2/(R2 M^2 + R1 L2^2)")


# --------------------------------------------------------------------------- points of motions known in closed form


def test_knife_edge_on_its_cycloid():
    """From rest downhill: x = G/(2 w^2) sin(w t)^2, y = G/(2 w^2) (w t - sin(2 w t)/2), at several points of the path."""
    model = ch.gallery("knife-edge")
    pull, w = 9.81 * sin(0.3), 1.3
    for t in (0.4, 1.0, 1.9):
        theta = w * t
        start = {"x": pull / (2 * w**2) * sin(theta) ** 2, "y": pull / (2 * w**2) * (theta - sin(2 * theta) / 2), "theta": theta}
        start |= {"x'": pull / (2 * w) * sin(2 * theta), "theta'": w}
        expected = {"y'": pull / w * sin(theta) ** 2, "x''": pull * cos(2 * theta), "y''": pull * sin(2 * theta), "theta''": 0.0}
        assert_close(ch.evaluate(model, start), {**expected, "lambda1": 2 * 1.3 * pull * sin(theta)}, t)


def test_constant_speed_stays_on_its_curve():
    """y = (c^2/g) log(cos(g x/c^2)): slope and curvature of the path at several points."""
    model = ch.gallery("constant-speed")
    c, g = 1.3, 0.9
    for angle in (0.2, -0.5, pi / 3):
        start = ch.State({"x": 0.0, "y": 0.0, "x'": c * cos(angle)}, {"y'": c * sin(angle)})
        now = ch.evaluate(model, start)
        turning = (now["x'"] * now["y''"] - now["y'"] * now["x''"]) / c**2
        assert turning == pytest.approx(-g * cos(angle) / c, abs=1e-12)
        assert now["x'"] * now["x''"] + now["y'"] * now["y''"] == pytest.approx(0, abs=1e-12)
