"""connect against closed forms to 1e-9, and complete lists of paths up to the second conjugate time."""

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp
from scipy.optimize import brentq, fsolve
from scipy.special import ellipe, ellipk

import chetaev as ch

ELASTICA = ch.System("x y theta", lagrangian="theta'^2/2", kinematic=["x' = cos(theta)", "y' = sin(theta)"], name="elastica")
CLAMPED = {"x": 0, "y": 0, "theta": 0}
ORIGIN = {"x": 0, "y": 0, "z": 0}


def up_to_the_second_conjugate_time(paths):
    return [path for path in paths if sum(t < 1 for t in path.conjugate_times) < 2]


def test_all_paths_of_the_heisenberg_group_up_to_the_second_conjugate_time():
    """(a - sin a)/(8 sin^2(a/2)) = z; the second conjugate time is 2 u/|a| with tan u = u, so that all |a| < 2 u belong to the list."""
    system = ch.System("x y z", lagrangian="(x'^2 + y'^2)/2", kinematic=["z' = (x*y' - y*x')/2"])
    most = 2 * brentq(lambda u: np.tan(u) - u, 4.4, 4.6, xtol=1e-15)

    def off(a):
        return (a - np.sin(a)) / (8 * np.sin(a / 2) ** 2) - 3

    grid = np.linspace(0.01, most, 40001)
    places = np.nonzero(np.diff(np.sign(off(grid))) * (np.abs(off(grid[:-1])) < 100))[0]
    expected = [brentq(off, grid[k], grid[k + 1], xtol=1e-14) for k in places]
    found = up_to_the_second_conjugate_time(ch.connect(system, ch.Vakonomic(), ORIGIN, {"x": 1, "y": 0, "z": 3}, seeds=8))
    assert len(expected) == 2
    assert [path.multipliers["lambda1"] for path in found] == pytest.approx(expected, abs=1e-9)
    assert [path.action for path in found] == pytest.approx([(a / np.sin(a / 2)) ** 2 / 8 for a in expected], rel=1e-10)


def integrated(guess, end):
    """A solution of theta'' = a sin(theta) - b cos(theta) between the ends by SciPy, from a guess of theta'(0), a, b."""

    def missed(u):
        def rates(_, y):
            return [y[1], u[1] * np.sin(y[0]) - u[2] * np.cos(y[0]), np.cos(y[0]), np.sin(y[0])]

        last = solve_ivp(rates, (0, 1), [0, u[0], 0, 0], method="DOP853", rtol=1e-13, atol=1e-13).y[:, -1]
        return [last[2] - end[0], last[3] - end[1], last[0] - end[2]]

    return fsolve(missed, guess, xtol=1e-13)


def test_the_elastica_with_its_ends_in_line():
    """Its inflectional arcs are Jacobi's: w = 4 K, theta'(0) = 2 k w, 2 E/K - 1 = 1/2. The next pair has a pull that is not
    along the line. All up to the second conjugate time are found: Newton's iteration from 6000 random starts found no other."""
    paths = ch.connect(ELASTICA, ch.Vakonomic(), CLAMPED, {"x": 0.5, "y": 0, "theta": 0}, seeds=20)
    m = brentq(lambda m: 2 * ellipe(m) / ellipk(m) - 1.5, 0.01, 0.9, xtol=1e-15)
    w = 4 * ellipk(m)
    for path in paths[:2]:
        assert abs(path.start["theta'"]) == pytest.approx(2 * np.sqrt(m) * w, rel=1e-10)
        assert path.multipliers["lambda1"] == pytest.approx(-(w**2), rel=1e-9)
        assert path.action == pytest.approx(2 * w**2 * (ellipe(m) / ellipk(m) - 1 + m), rel=1e-10)
    assert paths[0].start["theta'"] == pytest.approx(-paths[1].start["theta'"], rel=1e-10)
    found = up_to_the_second_conjugate_time(paths)
    assert len(found) == 4
    a = integrated([13.4, -91.7, 53.6], (0.5, 0, 0))
    for path, sign in zip(sorted(found[2:], key=lambda path: -path.start["theta'"]), (1, -1), strict=True):
        assert path.start["theta'"] == pytest.approx(sign * a[0], rel=1e-9)
        assert [path.multipliers["lambda1"], path.multipliers["lambda2"]] == pytest.approx([a[1], sign * a[2]], rel=1e-9)
    assert [path.minimum for path in found] == [True, True, False, False]


def test_the_elastica_between_oblique_ends():
    """The guesses were found by Newton's iteration from 6000 random starts; the fifth has two conjugate times."""
    end = (0.4, 0.3, 0.8)
    paths = ch.connect(ELASTICA, ch.Vakonomic(), CLAMPED, dict(zip(CLAMPED, end, strict=True)), seeds=20)
    guesses = [(-7.69, -35.5, -24.5), (9.85, -49.4, -40.3), (-8.75, -42.8, -87.1), (15.2, -114.5, -14.1)]
    found = up_to_the_second_conjugate_time(paths)
    assert len(found) == len(guesses)
    for path, guess in zip(found, guesses, strict=True):
        values = [path.start["theta'"], path.multipliers["lambda1"], path.multipliers["lambda2"]]
        assert values == pytest.approx(integrated(guess, end), rel=1e-9)


def test_martinets_normal_geodesics_by_elliptic_integrals():
    """y = 2 sqrt(m v/l) cn, x' = v (1 - 2 m sn^2), from one zero of cn to the next: sqrt(l v) = 2 K."""
    martinet = ch.System("x y z", lagrangian="(x'^2 + y'^2)/2", kinematic=["z' = y^2*x'/2"], name="martinet")
    first, second = ch.connect(martinet, ch.Vakonomic(), ORIGIN, {"x": 1, "y": 0, "z": 0.1}, seeds=6)[:2]

    def speed(m):
        return 1 / (2 * ellipe(m) / ellipk(m) - 1)

    def height(m):
        k, e, v = ellipk(m), ellipe(m), speed(m)
        squares = (e - (1 - m) * k) / m - 2 * ((2 - m) * e - 2 * (1 - m) * k) / (3 * m)
        return 2 * m * v**3 / (4 * k**2) * squares / k

    m = brentq(lambda m: height(m) - 0.1, 0.01, 0.8, xtol=1e-15)
    for path in (first, second):
        assert path.action == pytest.approx(speed(m) ** 2 / 2, rel=1e-10)
        assert abs(path.multipliers["lambda1"]) == pytest.approx(4 * ellipk(m) ** 2 / speed(m), rel=1e-9)
        assert (path.kind, path.minimum) == ("normal", True)
    assert first.start["y'"] == pytest.approx(-second.start["y'"], rel=1e-9)


def test_grushins_plane_away_from_the_axis():
    """x = a sin(l t)/l, y = a^2 (2 l t - sin(2 l t))/(4 l^2 ...): the ratio y/x^2 at the end gives l, and tan(l t) = l t is conjugate."""
    grushin = ch.System("x y u", lagrangian="(x'^2 + u'^2)/2", kinematic=["y' = x*u'"])
    best = ch.connect(grushin, ch.Vakonomic(), {"x": 0, "y": 0, "u": 0}, {"x": 1, "y": 2, "u": None}, seeds=4)[0]
    rate = brentq(lambda r: (2 * r - np.sin(2 * r)) / (4 * np.sin(r) ** 2) - 2, 0.1, 3.1, xtol=1e-15)
    a = rate / np.sin(rate)
    assert best.action == pytest.approx(a**2 / 2, rel=1e-10)
    assert abs(best.multipliers["lambda1"]) == pytest.approx(rate, rel=1e-9)
    assert best.start["x'"] == pytest.approx(a, rel=1e-10)
    assert best.minimum is True


def test_controls_may_be_coordinates_without_velocities():
    """Grushin's plane with its controls: u' does not occur, so that u is no part of the state; the path is that of the test above."""
    grushin = ch.System("x y u v", lagrangian="(u^2 + v^2)/2", kinematic=["x' = u", "y' = x*v"])
    best = ch.connect(grushin, ch.Vakonomic(), {"x": 0, "y": 0}, {"x": 1, "y": 2}, seeds=4)[0]
    rate = brentq(lambda r: (2 * r - np.sin(2 * r)) / (4 * np.sin(r) ** 2) - 2, 0.1, 3.1, xtol=1e-15)
    assert best.action == pytest.approx((rate / np.sin(rate)) ** 2 / 2, rel=1e-10)
    assert float(best.motion["u"][0]) == pytest.approx(rate / np.sin(rate), rel=1e-10)
    assert best.conjugate_times[0] == pytest.approx(brentq(lambda u: np.tan(u) - u, 4.4, 4.6, xtol=1e-15) / rate, rel=1e-8)
    assert best.minimum is True


def test_a_heading_is_a_control():
    """Zermelo's ship in the wind (y/2, 0): tan of the heading falls by t/2, and headings that differ by a turn are one path."""
    ship = ch.System("x y theta", lagrangian="1", kinematic=["x' = cos(theta) + y/2", "y' = sin(theta)"])
    paths = ch.connect(ship, ch.Vakonomic(), {"x": 0, "y": 0}, {"x": 2, "y": 1}, t=(0, None), seeds=6)
    first = np.tan(paths[0].start["theta"])

    def y(t):
        return 2 * (np.hypot(1, first) - np.hypot(1, first - t / 2))

    x = quad(lambda t: 1 / np.hypot(1, first - t / 2) + y(t) / 2, 0, paths[0].t, epsabs=1e-13, epsrel=1e-13)[0]
    assert (x, y(paths[0].t)) == pytest.approx((2, 1), abs=1e-9)
    assert (len(paths), paths[0].minimum) == (1, True)


def test_zermelos_ship_arrives_when_his_formula_says():
    """tan of the heading grows by t/2 in the wind (-y/2, 0); the place is an integral over the heading."""
    ship = ch.System("x y", lagrangian="1", kinematic=["(x' + y/2)^2 + y'^2 = 1"])
    path = ch.connect(ship, ch.Vakonomic(), {"x": 0, "y": 0}, {"x": -1.5, "y": 0.8}, t=(0, None), seeds=6)[0]

    def place(first, duration, sign):
        def speed(t):
            return sign / np.hypot(1, first + t / 2)

        def y(t):
            return sign * 2 * (np.hypot(1, first + t / 2) - np.hypot(1, first))

        x = quad(lambda t: speed(t) - y(t) / 2, 0, duration, epsabs=1e-13, epsrel=1e-13)[0]
        return x, y(duration)

    sign = np.sign(path.start["x'"])
    guess = [path.start["y'"] / path.start["x'"] + 0.01, path.t + 0.01]
    first, duration = fsolve(lambda u: np.subtract(place(*u, sign), (-1.5, 0.8)), guess, xtol=1e-13)
    assert path.t == pytest.approx(duration, rel=1e-10)
    assert path.start["y'"] / path.start["x'"] == pytest.approx(first, abs=1e-9)
    assert (path.kind, path.minimum) == ("normal", True)


def cycloid(depth, width):
    """The cycloid y = a (1 - cos u) from one depth to the depth 1: a and both angles."""

    def angles(a):
        return np.arccos(1 - depth / a), np.arccos(1 - 1 / a)

    def off(a):
        u, v = angles(a)
        return a * (v - u - np.sin(v) + np.sin(u)) - width

    a = brentq(off, 0.5 + 1e-9, 5, xtol=1e-15)
    return a, *angles(a)


def test_a_brachistochrone_under_herglotz_principle():
    """Friction that slows all speeds by exp(-c s) after the time s: s' = exp(c s) ds/sqrt(2 y) has the cycloid's time (1 - exp(-c s))/c."""
    fall = ch.System("y", "c", lagrangian="exp(c*s)*sqrt((1 + y'^2)/(2*y))", action="s")
    path = ch.connect(fall, ch.Herglotz(), {"y": "1/10", "s": 0}, {"y": 1}, t=(0, 1), parameters={"c": 0.3}, seeds=4)[0]
    a, u, v = cycloid(0.1, 1)
    free = np.sqrt(a) * (v - u)
    assert path.action == pytest.approx(-np.log(1 - 0.3 * free) / 0.3, rel=1e-10)
    assert path.start["y'"] == pytest.approx(1 / np.tan(u / 2), rel=1e-9)
    assert path.minimum is True


def test_a_brachistochrone_with_coulombs_friction():
    """The friction of the weight gives v^2 = 2 (y - mu x), a fall along an oblique direction: the cycloid is turned by atan(mu)."""
    mu, begin, finish = 0.2, 0.8, 2.6

    def x(u):
        return u - np.sin(u) - mu * (1 - np.cos(u))

    def y(u):
        return 1 - np.cos(u) + mu * (u - np.sin(u))

    rough = ch.System("y", "mu", lagrangian="sqrt((1 + y'^2)/(2*(y - mu*t)))")
    times = (x(begin), x(finish))
    path = ch.connect(rough, None, {"y": y(begin)}, {"y": y(finish)}, t=times, parameters={"mu": mu}, seeds=4)[0]
    assert path.action == pytest.approx(finish - begin, rel=1e-10)  # sqrt(1 + mu^2) cancels between the length and the oblique fall
    rise, run = np.sin(begin) + mu * (1 - np.cos(begin)), 1 - np.cos(begin) - mu * np.sin(begin)
    assert path.start["y'"] == pytest.approx(rise / run, rel=1e-9)


def test_a_brachistochrone_in_a_resisting_medium():
    """Euler 1744: v' = sin(theta) - k v^2 with a free final speed. Pontryagin's equations are integrated apart, from the path's start."""
    rows = ["x'^2 + y'^2 = v^2", "v' = y'/v - k*v^2"]
    drag = ch.System("x y v", "k", lagrangian="1", kinematic=rows, name="resisting medium")
    begin, end, k = {"x": 0, "y": 0, "v": 0.4}, {"x": 1, "y": 0.6, "v": None}, 0.3
    path = ch.connect(drag, ch.Vakonomic(), begin, end, t=(0, None), parameters={"k": k}, seeds=4)[0]
    heading = np.arctan2(path.start["y'"], path.start["x'"])

    def missed(u):
        first, duration, pv = u
        strength = 1 + pv * k * 0.4**2  # H = |(px v, py v + pv)| - pv k v^2 = 1 at the start, along the first heading
        px, py = strength * np.cos(first) / 0.4, (strength * np.sin(first) - pv) / 0.4

        def rates(_, s):
            v, p = s[2], s[3]
            c, d = np.array([px * v, py * v + p]) / np.hypot(px * v, py * v + p)
            return [v * c, v * d, d - k * v**2, -(px * c + py * d) + 2 * k * p * v]

        last = solve_ivp(rates, (0, duration), [0, 0, 0.4, pv], method="DOP853", rtol=1e-13, atol=1e-13).y[:, -1]
        return [last[0] - 1, last[1] - 0.6, last[3]]

    guesses = [(heading, path.t, pv) for pv in (0.3, 0.6, 1.0, 0.1)]
    solved = [u for guess in guesses for u, _, flag, _ in [fsolve(missed, guess, xtol=1e-13, full_output=True)] if flag == 1]
    assert any(abs(u[1] - path.t) < 1e-9 and abs(u[0] - heading) < 1e-8 for u in solved)
    assert path.motion.final["v"] < np.sqrt(0.4**2 + 1.2)  # slower than a fall without resistance


def test_the_oscillator_of_pais_and_uhlenbeck():
    """x'''' + 5 x'' + 4 x = 0: a sum of two oscillations, whose four amplitudes the ends give."""
    system = ch.System("x", lagrangian="x''^2/2 - 5/2*x'^2 + 2*x^2", name="Pais-Uhlenbeck")
    ends = {"x": 0.3, "x'": 1}, {"x": 1, "x'": 0.5}
    (path,) = ch.connect(system, None, *ends, t=(0, 2), seeds=4)

    def jets(t, order):
        turned = [f(w * t + order * np.pi / 2) * w**order for w in (1, 2) for f in (np.cos, np.sin)]
        return np.array(turned)

    matrix = [jets(0, 0), jets(0, 1), jets(2, 0), jets(2, 1)]
    amplitudes = np.linalg.solve(matrix, [0.3, 1, 1, 0.5])
    assert path.start["x''"] == pytest.approx(jets(0, 2) @ amplitudes, rel=1e-10)
    assert path.start["x'''"] == pytest.approx(jets(0, 3) @ amplitudes, rel=1e-10)

    def lagrangian(t):
        x, v, a = (jets(t, k) @ amplitudes for k in range(3))
        return a**2 / 2 - 2.5 * v**2 + 2 * x**2

    assert path.action == pytest.approx(quad(lagrangian, 0, 2, epsabs=1e-13)[0], rel=1e-10)
    assert path.conjugate_times[0] == pytest.approx(2 * np.pi, abs=1e-6)
    assert path.minimum is True


def lambert(duration, r, turn):
    """The semi-axes of all orbits from the distance 1 to r through an angle and any number of turns (Lancaster and Blanchard 1969)."""
    chord = np.sqrt(1 + r**2 - 2 * r * np.cos(turn))
    s = (1 + r + chord) / 2
    found = []
    for angle in (turn, 2 * np.pi - turn):
        q = np.sqrt(r) / s * np.cos(angle / 2)

        def late(x, turns, q=q):
            e = x**2 - 1
            z = np.sqrt(1 + q**2 * e)
            d = np.arctan2(np.sqrt(-e) * (z - q * x), x * z - q * e) + turns * np.pi
            return 2 * (x - q * z - d / np.sqrt(-e)) / e - np.sqrt(8 / s**3) * duration

        for turns in range(6):
            grid = np.linspace(-0.999, 0.999, 4001)
            places = np.nonzero(np.diff(np.sign(late(grid, turns))))[0]
            roots = [brentq(late, grid[k], grid[k + 1], args=(turns,), xtol=1e-14) for k in places]
            found += [(angle == turn, turns, s / 2 / (1 - x**2)) for x in roots]
    return found


def test_lamberts_problem_with_several_revolutions():
    """All found orbits are among Lancaster's and Blanchard's; up to three revolutions, and both senses."""
    kepler = ch.System("x y", lagrangian="(x'^2 + y'^2)/2 + 1/sqrt(x^2 + y^2)")
    paths = ch.connect(kepler, None, {"x": 1, "y": 0}, {"x": 0, "y": 1.2}, t=(0, 20), seeds=30)
    known, seen = lambert(20, 1.2, np.pi / 2), set()
    assert len(known) == 12
    for path in paths:
        direct = path.start["y'"] > 0
        axis = 1 / (2 - path.start["x'"] ** 2 - path.start["y'"] ** 2)
        sense, turns, a = min((case for case in known if case[0] == direct), key=lambda case: abs(case[2] - axis))
        assert axis == pytest.approx(a, rel=1e-9)
        seen.add((sense, turns))
    assert {(True, 0), (False, 0), (True, 1), (False, 1)} < seen
    assert max(turns for _, turns in seen) >= 2


@pytest.mark.parametrize("k", [5, 15, 30])
def test_paths_too_unstable_for_one_start_are_motions_in_pieces(k):
    """x'' = k^2 x over the time 2: nearby motions part by exp(2 k), up to 1e26. The states on the way are unknowns as well."""
    unstable = ch.System("x", "k", lagrangian="x'^2/2 + k^2*x^2/2", name="unstable")
    (path,) = ch.connect(unstable, None, {"x": 1}, {"x": -2}, t=(0, 2), parameters={"k": k}, seeds=2)
    t = np.linspace(0, 2, 41)
    exact = (np.sinh(k * (2 - t)) - 2 * np.sinh(k * t)) / np.sinh(2 * k)
    assert path.motion.at(t)["x"] == pytest.approx(exact, abs=1e-11)
    assert path.action == pytest.approx(k * (5 * np.cosh(2 * k) + 4) / np.sinh(2 * k) / 2, rel=1e-11)
    assert path.residual < 1e-11 and path.family == 0 and path.certificate.ok
    assert bool(path.motion.events) == (k > 10)
