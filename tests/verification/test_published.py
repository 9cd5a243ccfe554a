"""Systems of other programs, test sets and textbooks, against published numbers, closed forms, or SciPy on equations worked out by hand.

Sources: Test Set for IVP Solvers (Pleiades, Fekete, slider crank), GeometricProblems (Lotka-Volterra, vortices, massless particle,
Henon-Heiles, figure eight), Hairer, Norsett, Wanner (Arenstorf), SymPy's and PyDy's examples (cart with pendulums, chaos pendulum, rolling
disc), DLMF (Mathieu, elliptic functions), and textbooks of mechanics.
"""

from __future__ import annotations

from math import asin, cos, log, pi, radians, sin, sqrt

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from scipy.special import ellipj, ellipk, mathieu_a, mathieu_cem

import chetaev as ch


def end(system, start, t, principle=None, tolerance=1e-12, **given):
    """The end of a motion that finishes, with its own check between the steps."""
    motion = ch.simulate(ch.derive(system, principle or ch.Hamilton()), start, (0, t), tolerance=tolerance, **given)
    assert motion.outcome.value == "finished"
    assert motion.certificate.ok
    return motion.final


def by_scipy(rates, start, t):
    return solve_ivp(rates, (0, t), start, "DOP853", rtol=1e-12, atol=1e-13).y[:, -1]


def close(final, names, right, tolerance):
    assert [final[name] for name in names.split()] == pytest.approx(list(right), rel=tolerance, abs=tolerance)


def gravity(masses):
    """Bodies in the plane that attract each other, with the constant of gravity 1."""
    n = range(len(masses))
    moving = [f"{masses[i]}*(x{i}'^2 + y{i}'^2)/2" for i in n]
    pulling = [f"{masses[i] * masses[j]}/sqrt((x{i} - x{j})^2 + (y{i} - y{j})^2)" for i in n for j in range(i)]
    return ch.System(" ".join(f"x{i} y{i}" for i in n), lagrangian=" + ".join(moving + pulling))


def test_pleiades():
    """Seven stars; the end at t = 3 as the test set prints it."""
    places = [(3, 3), (3, -3), (-1, 2), (-3, 0), (2, 0), (-2, -4), (2, 4)]
    speeds = [(0, 0), (0, 0), (0, 0), (0, -1.25), (0, 1), (1.75, 0), (-1.5, 0)]
    start = {f"{c}{i}": v for i, place in enumerate(places) for c, v in zip("xy", place, strict=True)}
    start |= {f"{c}{i}'": v for i, speed in enumerate(speeds) for c, v in zip("xy", speed, strict=True)}
    final = end(gravity(range(1, 8)), start, 3, tolerance=1e-13)
    x = [0.3706139143970502, 3.237284092057233, -3.222559032418324, 0.6597091455775310, 0.3425581707156584, 1.562172101400631]
    y = [-3.943437585517392, -3.271380973972550, 5.225081843456543, -2.590612434977470, 1.198213693392275, -0.2429682344935824]
    close(final, "x0 x1 x2 x3 x4 x5 x6", [*x, -0.7003092922212495], 1e-9)
    close(final, "y0 y1 y2 y3 y4 y5 y6", [*y, 1.091449240428980], 1e-9)


def test_figure_eight():
    """Three equal bodies on one curve (Chenciner, Montgomery; data of Simo with eight digits)."""
    x, y, u, v = 0.97000436, -0.24308753, -0.93240737, -0.86473146
    start = {"x0": x, "y0": y, "x1": -x, "y1": -y, "x2": 0, "y2": 0}
    start |= {"x0'": -u / 2, "y0'": -v / 2, "x1'": -u / 2, "y1'": -v / 2, "x2'": u, "y2'": v}
    close(end(gravity([1, 1, 1]), start, 6.32591398), " ".join(start), start.values(), 2e-7)


def test_kepler_with_eccentricity_99_hundredths():
    e, t = 0.99, 2.0
    system = ch.System("x y", lagrangian="(x'^2 + y'^2)/2 + 1/sqrt(x^2 + y^2)")
    anomaly = brentq(lambda E: E - e * sin(E) - t, 0, 7, xtol=1e-15)
    final = end(system, {"x": 1 - e, "y": 0, "x'": 0, "y'": sqrt((1 + e) / (1 - e))}, t, tolerance=1e-13)
    close(final, "x y", [cos(anomaly) - e, sqrt(1 - e * e) * sin(anomaly)], 1e-9)


def test_three_bodies_restricted():
    """Arenstorf's orbit closes; libration points on the axis; Routh's frequencies of the triangle."""
    mu = 0.012277471
    text = "(x'^2 + y'^2)/2 + x*y' - y*x' + (x^2 + y^2)/2 + (1 - mu)/sqrt((x + mu)^2 + y^2) + mu/sqrt((x - 1 + mu)^2 + y^2)"
    system = ch.System("x y", "mu", lagrangian=text)
    start = {"x": 0.994, "y": 0, "x'": 0, "y'": -2.00158510637908252240537862224}
    close(end(system, start, 17.0652165601579625588917206249, tolerance=1e-13, parameters={"mu": mu}), "x y", [0.994, 0], 1e-7)
    equations = ch.derive(system)

    def along(x):
        return x - (1 - mu) * (x + mu) / abs(x + mu) ** 3 - mu * (x - 1 + mu) / abs(x - 1 + mu) ** 3

    for guess, between in ((0.8, (0.5, 0.98)), (1.15, (0.999, 1.5)), (-1.0, (-1.5, -0.5))):
        found = ch.equilibria(equations, {"x": guess, "y": 0}, parameters={"mu": mu})
        assert found["x"] == pytest.approx(brentq(along, *between, xtol=1e-15), rel=1e-12)
    triangle = ch.linearize(equations, {"x": 0.5 - mu, "y": sqrt(3) / 2, "x'": 0, "y'": 0}, {"mu": mu})
    root = sqrt(1 - 27 * mu * (1 - mu))
    frequencies = sorted(abs(triangle.eigenvalues.imag))[::2]
    assert frequencies == pytest.approx([sqrt((1 - root) / 2), sqrt((1 + root) / 2)], rel=1e-10)


def test_lagrangians_of_first_order_in_velocities():
    """Lotka-Volterra: q1' = q1 (1.3 q2 - 0.9), q2' = -q2 (q1 - 0.7). Two vortices turn about their centre. A charge without mass drifts."""
    system = ch.System("q1 q2", lagrangian="log(q2)/q1*q1' - (q1 + 1.3*q2 - 0.7*log(q1) - 0.9*log(q2))")
    right = by_scipy(lambda t, q: [q[0] * (1.3 * q[1] - 0.9), -q[1] * (q[0] - 0.7)], [1.5, 0.8], 20)
    close(end(system, {"q1": 1.5, "q2": 0.8}, 20), "q1 q2", right, 1e-9)

    a, b, d = 1.3, 0.6, 1.5
    text = f"{a}/2*(x1*y1' - y1*x1') + {b}/2*(x2*y2' - y2*x2') + {a * b}/(4*pi)*log((x1 - x2)^2 + (y1 - y2)^2)"
    x1, x2, angle = d * b / (a + b), -d * a / (a + b), -(a + b) / (2 * pi * d * d) * 5
    final = end(ch.System("x1 y1 x2 y2", lagrangian=text), {"x1": x1, "y1": 0, "x2": x2, "y2": 0}, 5)
    close(final, "x1 y1 x2 y2", [x1 * cos(angle), x1 * sin(angle), x2 * cos(angle), x2 * sin(angle)], 1e-9)

    def drift(t, q):  # B x' = -dphi/dy, B y' = dphi/dx with B = dA_y/dx - dA_x/dy
        x, y = q
        field = 3 * (1 + x * x + y * y) + 4 * x * x + 2 * y * y
        return [-cos(y) / field, -sin(x) / field]

    system = ch.System("x y", lagrangian="-y*(1 + x^2 + y^2)*x' + 2*x*(1 + x^2 + y^2)*y' - (cos(x) + sin(y))")
    close(end(system, {"x": 1, "y": 1}, 100), "x y", by_scipy(drift, [1, 1], 100), 1e-9)


def test_oscillators_in_closed_form():
    """Duffing, Mathews and Lakshmanan, Mathieu, Foucault, and a pendulum after a whole period."""
    a = 1.3
    final = end(ch.System("x", lagrangian="x'^2/2 - x^2/2 - x^4/4"), {"x": a, "x'": 0}, 10)
    close(final, "x", [a * ellipj(sqrt(1 + a * a) * 10, a * a / (2 * (1 + a * a)))[1]], 1e-10)

    k, w, a = 0.4, 1.2, 0.7
    rate = w / sqrt(1 + k * a * a)
    system = ch.System("x", "k w", lagrangian="(x'^2 - w^2*x^2)/(2*(1 + k*x^2))")
    close(end(system, {"x": 0, "x'": a * rate}, 7, parameters={"k": k, "w": w}), "x", [a * sin(7 * rate)], 1e-10)

    system = ch.System("x", "a", lagrangian="x'^2/2 - (a - 2*cos(2*t))*x^2/2")
    final = end(system, {"x": mathieu_cem(2, 1, 0)[0], "x'": 0}, 3, parameters={"a": mathieu_a(2, 1)})
    close(final, "x", [mathieu_cem(2, 1, np.degrees(3))[0]], 1e-9)

    turn, stiffness, t = 0.4, 3.0, 9.0  # z'' + 2 i W z' + k z = 0
    n = sqrt(turn**2 + stiffness)
    z = np.exp(-1j * turn * t) * (cos(n * t) + 1j * turn / n * sin(n * t))
    system = ch.System("x y", lagrangian="(x'^2 + y'^2)/2 + 0.4*(x*y' - y*x') - 3*(x^2 + y^2)/2")
    close(end(system, {"x": 1, "y": 0, "x'": 0, "y'": 0}, t), "x y", [z.real, z.imag], 1e-10)

    quarter = ellipk(sin(1.25) ** 2)
    system = ch.System("x y", lagrangian="(x'^2 + y'^2)/2 - y", kinematic=["x^2 + y^2 = 1"])
    final = end(system, {"x": sin(2.5), "y": -cos(2.5), "x'": 0, "y'": 0}, quarter, ch.DAlembert())
    close(final, "x y x' lambda1", [0, -1, -sqrt(2 * (1 - cos(2.5))), -(1 + 2 * (1 - cos(2.5))) / 2], 1e-9)


def test_henon_heiles():
    system = ch.System("x y", lagrangian="(x'^2 + y'^2)/2 - (x^2 + y^2)/2 - x^2*y + y^3/3")
    start = {"x": 0.1, "y": 0.1, "x'": 0.05, "y'": 0.1}
    right = by_scipy(lambda t, q: [q[2], q[3], -q[0] - 2 * q[0] * q[1], -q[1] - q[0] ** 2 + q[1] ** 2], list(start.values()), 60)
    close(end(system, start, 60, tolerance=1e-13), "x y x' y'", right, 1e-9)


def test_cart_with_ten_pendulums():
    n, length, mass = 10, 0.5, 0.2
    text, x, y = "3*x'^2/2", "x", "0"
    for k in range(n):
        x, y = f"{x} + 0.5*sin(a{k})", f"{y} - 0.5*cos(a{k})"
        text += f" + 0.2*(D({x}, 1)^2 + D({y}, 1)^2)/2 - 0.2*9.81*({y})"
    names = ["x", *(f"a{k}" for k in range(n))]

    def rates(t, state):  # Newton's law for the cart and each bob, projected on the directions in which they move
        q, v = state[: n + 1], state[n + 1 :]
        matrix, force = np.zeros((n + 1, n + 1)), np.zeros(n + 1)
        matrix[0, 0], force[0] = 3, 0.4 * sin(t)
        for bob in range(n):
            along, bend = np.zeros((2, n + 1)), np.array([0.0, 9.81])
            along[0, 0] = 1
            for k in range(1, bob + 2):
                along[:, k] = length * cos(q[k]), length * sin(q[k])
                bend += length * v[k] ** 2 * np.array([-sin(q[k]), cos(q[k])])
            matrix += mass * along.T @ along
            force -= mass * along.T @ bend
        return [*v, *np.linalg.solve(matrix, force)]

    places, speeds = [0.1, *(0.3 - 0.05 * k for k in range(n))], [0.2, *[0.1] * n]
    start = dict(zip(names, places, strict=True)) | {f"{q}'": v for q, v in zip(names, speeds, strict=True)}
    final = end(ch.System(" ".join(names), lagrangian=text, forces={"x": "0.4*sin(t)"}), start, 0.5, tolerance=1e-11)
    close(final, " ".join(names), by_scipy(rates, places + speeds, 0.5)[: n + 1], 1e-9)


def test_chaos_pendulum():
    """A plate hinged across a pendulum: its inertia about the pendulum's axis changes as it turns."""
    a, b, c, d, w = 0.0062, 0.0004, 0.0001, 0.0005, 0.21
    system = ch.System("th ph", lagrangian=f"({a} + {b}*cos(ph)^2 + {c}*sin(ph)^2)*th'^2/2 + {d}*ph'^2/2 + {w}*cos(th)")

    def rates(t, q):
        bend = (b - c) * sin(q[1]) * cos(q[1])
        inertia = a + b * cos(q[1]) ** 2 + c * sin(q[1]) ** 2
        return [q[2], q[3], (-w * sin(q[0]) + 2 * bend * q[2] * q[3]) / inertia, -bend * q[2] ** 2 / d]

    start = [pi / 2, radians(1), 0, 0]
    final = end(system, dict(zip(("th", "ph", "th'", "ph'"), start, strict=True)), 2)
    close(final, "th ph", by_scipy(rates, start, 2)[:2], 1e-8)


def test_slider_crank():
    """Driven at 150 rad/s: all motions and reactions follow from the angle of the crank."""
    m2, m3, l1, l2, j2, w, t = 0.151104, 0.075552, 0.15, 0.3, 0.0045339259, 150.0, 0.1
    text = f"0.002727*a'^2/2 + {j2}*b'^2/2 + {m3}*x'^2/2"
    text += f" + {m2}/2*(D({l1}*cos(a) + {l2}/2*cos(b), 1)^2 + D({l1}*sin(a) + {l2}/2*sin(b), 1)^2)"
    rows = [f"{l1}*sin(a) + {l2}*sin(b) = 0", f"x = {l1}*cos(a) + {l2}*cos(b)", f"a = {w}*t"]
    final = end(ch.System("a b x", lagrangian=text, kinematic=rows), {"a": 0, "b": 0, "x": 0.45, "a'": w}, t, ch.DAlembert())
    a, b = w * t, -asin(l1 * sin(w * t) / l2)
    b1 = -l1 * cos(a) * w / (l2 * cos(b))
    b2 = (l1 * sin(a) * w**2 + l2 * sin(b) * b1**2) / (l2 * cos(b))
    x2 = -l1 * cos(a) * w**2 - l2 * (cos(b) * b1**2 + sin(b) * b2)
    middle = [-l1 * cos(a) * w**2 - l2 / 2 * (cos(b) * b1**2 + sin(b) * b2), -l1 * sin(a) * w**2 + l2 / 2 * (cos(b) * b2 - sin(b) * b1**2)]
    push = m3 * x2
    rod = j2 * b2 + m2 * l2 / 2 * (middle[1] * cos(b) - middle[0] * sin(b))
    side = (rod - push * l2 * sin(b)) / (l2 * cos(b))
    crank = m2 * l1 * (middle[1] * cos(a) - middle[0] * sin(a)) - side * l1 * cos(a) - push * l1 * sin(a)
    close(final, "b b' lambda1 lambda2 lambda3", [b, b1, side, push, crank], 1e-8)


def test_fekete_points():
    """Six charges with friction on a sphere come to rest at the corners of an octahedron: energy -9 log 2, lambda = -5/4 each."""
    places = [(0.1, 0.7), (1.9, -0.3), (3.3, 0.4), (4.4, -0.9), (5.2, 0.2), (2.6, 1.2)]
    n = range(6)
    text = " + ".join(f"(x{i}'^2 + y{i}'^2 + z{i}'^2)/2" for i in n)
    text += "".join(f" + log((x{i} - x{j})^2 + (y{i} - y{j})^2 + (z{i} - z{j})^2)/2" for i in n for j in range(i))
    system = ch.System(
        " ".join(f"x{i} y{i} z{i}" for i in n),
        lagrangian=text,
        dissipation=" + ".join(f"0.25*(x{i}'^2 + y{i}'^2 + z{i}'^2)" for i in n),
        kinematic=[f"x{i}^2 + y{i}^2 + z{i}^2 = 1" for i in n],
    )
    start = {}
    for i, (a, b) in enumerate(places):
        start |= {f"x{i}": cos(a) * cos(b), f"y{i}": sin(a) * cos(b), f"z{i}": sin(b)}
    final = end(system, start | {f"{name}'": 0 for name in start}, 100, ch.DAlembert(), tolerance=1e-8)
    found = np.array([[final[f"{c}{i}"] for c in "xyz"] for i in n])
    energy = -sum(log(np.linalg.norm(found[i] - found[j])) for i in n for j in range(i))
    assert energy == pytest.approx(-9 * log(2), rel=1e-8)
    close(final, " ".join(f"lambda{i + 1}" for i in n), [-1.25] * 6, 1e-6)


def test_tops():
    """Euler's equations of a free body, and Kowalevski's top with its integral |(p + i q)^2 - c (g1 + i g2)|."""
    speeds = [1.0, 0.1, 0.8]
    start = {"A": np.eye(3)} | {f"A{k + 1}'": v for k, v in enumerate(speeds)}
    final = end(ch.System({"A": "SO3 body"}, lagrangian="(A1'^2 + 2*A2'^2 + 3*A3'^2)/2"), start, 10)
    close(final, "A1' A2' A3'", by_scipy(lambda t, w: [-w[1] * w[2], w[2] * w[0], -w[0] * w[1] / 3], speeds, 10), 1e-9)

    up, speeds = np.array([0, sin(0.6), cos(0.6)]), [0.5, -0.3, 1.2]
    place = np.array([[1, 0, 0], [0, cos(0.6), -sin(0.6)], [0, sin(0.6), cos(0.6)]])

    def rates(t, state):  # I w' = I w x w - c e1 x g, g' = g x w
        w, g = state[:3], state[3:]
        torque = np.cross([2 * w[0], 2 * w[1], w[2]], w) - 0.7 * np.cross([1, 0, 0], g)
        return [*(torque / [2, 2, 1]), *np.cross(g, w)]

    system = ch.System({"A": "SO3 body"}, lagrangian="(2*A1'^2 + 2*A2'^2 + A3'^2)/2 - 0.7*A31")
    final = end(system, {"A": place} | {f"A{k + 1}'": v for k, v in enumerate(speeds)}, 8)
    close(final, "A1' A2' A3' A31 A32 A33", by_scipy(rates, [*speeds, *up], 8), 1e-8)
    before = abs((speeds[0] + 1j * speeds[1]) ** 2 - 0.7 * (up[0] + 1j * up[1]))
    assert abs((final["A1'"] + 1j * final["A2'"]) ** 2 - 0.7 * (final["A31"] + 1j * final["A32"])) == pytest.approx(before, rel=1e-9)


def test_balls_that_roll():
    """In a vertical pipe a ball does not fall but swings with sqrt(2/7) of its rate; on a tilted turntable a = 2/7 W x v + 5/7 g."""
    system = ch.System(
        {"A": "SO3 spatial", "phi": "angle", "z": "line"},
        lagrangian="(0.36*phi'^2 + z'^2)/2 + 0.002*(A1'^2 + A2'^2 + A3'^2) - 9.81*z",
        kinematic=["0.6*phi' + 0.1*A3' = 0", "z' + 0.1*(A1'*sin(phi) - A2'*cos(phi)) = 0"],
    )
    final = end(system, {"A": np.eye(3), "phi": 0.2, "z": 0, "phi'": 2, "A1'": 0, "A2'": 0}, 3, ch.DAlembert())
    rate = 2 * sqrt(2 / 7)
    close(final, "z phi", [-5 / 7 * 9.81 / rate**2 * (1 - cos(3 * rate)), 6.2], 1e-9)

    system = ch.System(
        {"A": "SO3 spatial", "x": "line", "y": "line"},
        lagrangian="(x'^2 + y'^2)/2 + 0.002*(A1'^2 + A2'^2 + A3'^2) - 2*x",
        kinematic=["x' - 0.1*A2' = -1.3*y", "y' + 0.1*A1' = 1.3*x"],
    )
    final = end(system, {"A": np.eye(3), "x": 0.1, "y": 0.2, "x'": 0.3, "y'": -0.1, "A3'": 0.4}, 4, ch.DAlembert())
    k = 2 / 7 * 1.3
    right = by_scipy(lambda t, q: [q[2], q[3], -k * q[3] - 10 / 7, k * q[2]], [0.1, 0.2, 0.3, -0.1], 4)
    close(final, "x y x' y'", right, 1e-9)


def test_a_sliding_ball_begins_to_roll():
    mu, g, v, w, t = 0.3, 9.81, 3.0, -4.0, 2.0
    slip = "sign(x' - 0.2*a')"
    system = ch.System("x a", lagrangian="x'^2/2 + 0.008*a'^2", forces={"x": f"-{mu * g!r}*{slip}", "a": f"{0.2 * mu * g!r}*{slip}"})
    rolls = 2 * (v - 0.2 * w) / (7 * mu * g)
    last = v - mu * g * rolls
    final = end(system, {"x": 0, "a": 0, "x'": v, "a'": w}, t)
    close(final, "x x' a'", [v * rolls - mu * g * rolls**2 / 2 + last * (t - rolls), last, last / 0.2], 1e-9)


@pytest.mark.parametrize("part", [0.5, 0.98, 1.02])
def test_critical_speed_of_a_rolling_disc(part):
    """Upright rolling is stable beyond v^2 = g r/3; the growing root below it is that of the linear equations by hand."""
    r, g = 0.5, 9.81
    x, y, z = "x + 0.5*sin(lean)*sin(yaw)", "y - 0.5*sin(lean)*cos(yaw)", "0.5*cos(lean)"
    turning = f"{r * r / 8}*(lean'^2 + (yaw'*cos(lean))^2) + {r * r / 4}*(spin' + yaw'*sin(lean))^2"
    text = f"(D({x}, 1)^2 + D({y}, 1)^2 + D({z}, 1)^2)/2 + {turning} - 9.81*{z}"
    system = ch.System("x y yaw lean spin", lagrangian=text, kinematic=["x' = 0.5*spin'*cos(yaw)", "y' = 0.5*spin'*sin(yaw)"])
    w = part * sqrt(g * r / 3) / r
    start = dict.fromkeys(("x", "y", "yaw", "lean", "spin", "yaw'", "lean'"), 0) | {"spin'": w}
    grows = max(ch.linearize(ch.derive(system, ch.DAlembert()), start).eigenvalues.real)
    square = (g * r - 3 * r * r * w * w) / (5 * r * r / 4)
    assert grows == pytest.approx(sqrt(max(square, 0)), abs=1e-7)


def test_a_platform_on_three_ropes_moves_like_a_spherical_pendulum():
    rows = [
        f"(x + {a}*A11 + {b}*A12 - {a})^2 + (y + {a}*A21 + {b}*A22 - {b})^2 + (z + {a}*A31 + {b}*A32 - 2)^2 = 4".replace("- -1", "+ 1")
        for a, b in ((1, 1), (1, -1), (-1, 1))
    ]
    text = "0.65*(x'^2 + y'^2 + z'^2) + 0.2*(A1'^2 + A2'^2 + 2*A3'^2) - 1.3*9.81*z"
    system = ch.System({"A": "SO3 body", "x": "line", "y": "line", "z": "line"}, lagrangian=text, kinematic=rows)
    start = {"A": np.eye(3)} | dict.fromkeys(("x", "y", "z", "A1'", "A2'", "A3'"), 0) | {"x'": 0.7, "y'": 0.2}
    final = end(system, start, 2, ch.DAlembert(), tolerance=1e-10)

    def rates(t, state):
        arm, v, down = state[:3] - np.array([0, 0, 2]), state[3:], np.array([0, 0, -9.81])
        return [*v, *(down - (down @ arm + v @ v) / 4 * arm)]

    close(final, "x y z", by_scipy(rates, [0, 0, 0, 0.7, 0.2, 0], 2)[:3], 1e-8)
