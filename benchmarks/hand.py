"""Nine systems as a careful hand would write them for a numerical method: explicit first-order equations, y' = f(t, y, p).

Each function serves numba (SciPy's right-hand side), heyoka (executed once with its expressions) and NumPy's long doubles (the reference
solution); the C in `native/` is the same. `cases` says how the states are related to the names of the gallery's models.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def double_pendulum(t: Any, y: Any, p: Any, out: Any) -> None:
    """Angles and angular velocities; the mass matrix inverted by hand."""
    m1, m2, l1, l2, g = p[0], p[1], p[2], p[3], p[4]
    s, c = np.sin(y[0] - y[1]), np.cos(y[0] - y[1])
    m = m1 + m2
    a = -m2 * l2 * y[3] * y[3] * s - m * g * np.sin(y[0])
    b = l1 * y[2] * y[2] * s - g * np.sin(y[1])
    det = m1 + m2 * s * s
    out[0] = y[2]
    out[1] = y[3]
    out[2] = (a - m2 * c * b) / (l1 * det)
    out[3] = (m * b - c * a) / (l2 * det)


def sleigh(t: Any, y: Any, p: Any, out: Any) -> None:
    """Position, heading, speed along the blade v, spin w: v' = a w^2, (J + m a^2) w' = -m a v w."""
    m, J, a = p[0], p[1], p[2]
    v, w = y[3], y[4]
    out[0] = v * np.cos(y[2])
    out[1] = v * np.sin(y[2])
    out[2] = w
    out[3] = a * w * w
    out[4] = -m * a * v * w / (J + m * a * a)


def leaning_disk(t: Any, y: Any, p: Any, out: Any) -> None:
    """x, y, phi, theta, psi, phi', theta', and the axial spin w = psi' - phi' sin(theta).

    (J + m R^2) w' = m R^2 cos(theta) theta' phi', I cos(theta) phi'' = 2 I sin(theta) theta' phi' + J w theta',
    (I + m R^2) theta'' = m g R sin(theta) - (J + m R^2) w cos(theta) phi' - I phi'^2 cos(theta) sin(theta).
    """
    m, R, I, J, g = p[0], p[1], p[2], p[3], p[4]  # noqa: E741
    s, c = np.sin(y[3]), np.cos(y[3])
    turn, lean, w = y[5], y[6], y[7]
    rolling = m * R * R
    spin = w + turn * s
    out[0] = R * spin * np.cos(y[2])
    out[1] = R * spin * np.sin(y[2])
    out[2] = turn
    out[3] = lean
    out[4] = spin
    out[5] = lean * (2.0 * I * s * turn + J * w) / (I * c)
    out[6] = (m * g * R * s - (J + rolling) * w * c * turn - I * turn * turn * c * s) / (I + rolling)
    out[7] = rolling * c * lean * turn / (J + rolling)


def cartesian_pendulum(t: Any, y: Any, p: Any, out: Any) -> None:
    """x, y and their rates, with the tension from the twice differentiated constraint; nothing brings the bob back to the circle."""
    g = p[1]
    pull = (g * y[1] - y[2] * y[2] - y[3] * y[3]) / (y[0] * y[0] + y[1] * y[1])
    out[0] = y[2]
    out[1] = y[3]
    out[2] = pull * y[0]
    out[3] = pull * y[1] - g


def rocard(t: Any, y: Any, p: Any, out: Any) -> None:
    """psi, theta, epsilon, x1, x2, psi', theta' for psi' > 0.

    (M + I cos(epsilon)) psi'' = -a sin(epsilon)^2, psi' (theta' - epsilon') = tan(epsilon) (psi'' + a/M), J theta'' = -K epsilon.
    """
    I, J, M, K, a = p[0], p[1], p[2], p[3], p[4]  # noqa: E741
    s, c = np.sin(y[2]), np.cos(y[2])
    rolling, turning = y[5], y[6]
    slower = -a * s * s / (M + I * c)
    out[0] = rolling
    out[1] = turning
    out[2] = turning - s / c * (slower + a / M) / rolling
    out[3] = rolling * np.cos(y[1] - y[2])
    out[4] = rolling * np.sin(y[1] - y[2])
    out[5] = slower
    out[6] = -K * y[2] / J


def lagrange_top(t: Any, y: Any, p: Any, out: Any) -> None:
    """A unit quaternion (w, x, y, z), which nothing brings back to length one, and the angular velocity in the body."""
    m, g, l, I, J = p[0], p[1], p[2], p[3], p[4]  # noqa: E741
    w, x, u, z, a, b, c = y[0], y[1], y[2], y[3], y[4], y[5], y[6]
    pull = m * g * l
    out[0] = -0.5 * (x * a + u * b + z * c)
    out[1] = 0.5 * (w * a + u * c - z * b)
    out[2] = 0.5 * (w * b + z * a - x * c)
    out[3] = 0.5 * (w * c + x * b - u * a)
    out[4] = ((I - J) * b * c + pull * 2.0 * (u * z + w * x)) / I
    out[5] = ((J - I) * a * c - pull * 2.0 * (x * z - w * u)) / I
    out[6] = 0.0 * c


def vakonomic_disk(t: Any, y: Any, p: Any, out: Any) -> None:
    """x, y, theta, varphi, varphi'. Three momenta are constant and stand behind the parameters: m x' + lambda1, m y' + lambda2 and
    (I + m R^2) theta' - R (p1 cos(varphi) + p2 sin(varphi)).
    """
    m, R, I, J, p1, p2, p3 = p[0], p[1], p[2], p[3], p[4], p[5], p[6]  # noqa: E741
    s, c = np.sin(y[3]), np.cos(y[3])
    spin = (p3 + R * (p1 * c + p2 * s)) / (I + m * R * R)
    out[0] = R * spin * c
    out[1] = R * spin * s
    out[2] = spin
    out[3] = y[4]
    out[4] = R * spin * (p1 * s - p2 * c) / J


def trailer(t: Any, y: Any, p: Any, out: Any) -> None:
    """x, y, headings theta_0 ... theta_n, speed v and spin of the tractor, which is constant; masses, inertias, lengths of the bars.

    The speed of axle k is v g_k and its spin v h_k; the energy of the train v^2 G/2 with G = sum m_k g_k^2 + sum J_k h_k^2 is constant, so
    v' = -v G'/(2 G).
    """
    n = (len(p) - 2) // 3
    v, w = y[n + 3], y[n + 4]
    speed, change, before = 1.0, 0.0, w
    total, growth = p[0], 0.0
    out[0] = v * np.cos(y[2])
    out[1] = v * np.sin(y[2])
    out[2] = w
    for k in range(1, n + 1):
        s, c = np.sin(y[k + 1] - y[k + 2]), np.cos(y[k + 1] - y[k + 2])
        d = p[2 * n + 1 + k]
        turn = speed * s / d
        bend = before - v * turn
        turn_change = (change * s + speed * c * bend) / d
        speed, change = speed * c, change * c - speed * s * bend
        before = v * turn
        out[k + 2] = before
        total = total + p[k] * speed * speed + p[n + 1 + k] * turn * turn
        growth = growth + p[k] * speed * change + p[n + 1 + k] * turn * turn_change
    out[n + 3] = -v * growth / total
    out[n + 4] = 0.0 * w


def chain(t: Any, y: Any, p: Any, out: Any) -> None:
    """Angles of the rods and their rates, in O(n) operations: the tensions of the rods satisfy a tridiagonal system."""
    n = len(y) // 2
    g = p[2 * n]
    s, c = [np.sin(y[k]) for k in range(n)], [np.cos(y[k]) for k in range(n)]
    before = 1.0 / (1.0 / p[0])
    weight = p[n] * y[n] * y[n] + g * c[0]
    inverse, side, right = [before], [0.0 * g], [weight * before]
    for k in range(1, n):
        link = -(s[k] * s[k - 1] + c[k] * c[k - 1]) / p[k - 1]
        factor = link * before
        weight = p[n + k] * y[n + k] * y[n + k] - factor * weight
        before = 1.0 / (1.0 / p[k] + 1.0 / p[k - 1] - factor * link)
        inverse.append(before)
        side.append(link)
        right.append(weight * before)
    for k in range(n - 2, -1, -1):
        right[k] = right[k] - inverse[k] * side[k + 1] * right[k + 1]
    ax, ay = 0.0 * g, 0.0 * g
    for k in range(n):
        bx, by = -right[k] * s[k], -right[k] * c[k]
        if k + 1 < n:
            bx, by = bx + right[k + 1] * s[k + 1], by + right[k + 1] * c[k + 1]
        bx, by = bx / p[k], g + by / p[k]
        out[k] = y[n + k]
        out[n + k] = ((bx - ax) * c[k] - (by - ay) * s[k]) / p[n + k]
        ax, ay = bx, by
