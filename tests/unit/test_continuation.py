"""Families of equilibria, steady motions and periodic orbits, against closed forms, published numbers and SciPy."""

from functools import cache

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq, root
from scipy.special import ellipk, mathieu_a, mathieu_b

import chetaev as ch

follow = ch.orbits.continuation


def kinds(family):
    return [s.kind for s in family.special]


def only(family, kind):
    (found,) = [k for k, s in enumerate(family.special) if s.kind == kind]
    return found


@cache
def straight():
    return follow(ch.gallery("bicycle"), {"rear'": -15}, along="x'", until=(0, 12), kind="steady")


def test_the_speeds_of_the_bicycle():
    """Weave and capsize speed of Meijaard, Papadopoulos, Ruina, Schwab (2007), and the speed where two real eigenvalues meet."""
    family = straight()
    assert kinds(family) == ["double", "hopf", "branch"]
    published = [0.68428307889246, 4.29238253634111, 6.02426201538837]
    np.testing.assert_allclose([s.value for s in family.special], published, rtol=0, atol=1e-10)
    for p in family.points:
        assert p.stable is (published[1] < p.value < published[2])
    assert family.points[0].value == 0 and family.points[-1].value == 12
    columns = family.eigenvalues
    assert np.abs(np.diff(columns, axis=0)).max() < 1.2  # every column follows one eigenvalue, of which the fastest changes by 24
    for row, p in zip(columns, family.points, strict=True):
        np.testing.assert_allclose(np.sort_complex(row), np.sort_complex(p.eigenvalues))
    drawn = ch.plot.eigenvalues(family).axes
    assert drawn[1].get_xlabel() == r"$\dot{x}$" and drawn[0].lines[0].get_xdata().tolist() == family.values.tolist()
    assert len(family.points[0].eigenvalues) == 10  # as linearize has them: places and headings included


def test_circular_motions_of_the_bicycle_start_from_the_capsize_point():
    model, family = ch.gallery("bicycle"), straight()
    circles = family.switch(only(family, "branch"))
    assert circles.values.max() == pytest.approx(6.02426201538837, abs=1e-3)
    point = min(circles.points, key=lambda p: abs(p.state["lean"] - 0.2) + (p.state["steer"] < 0.01) + abs(p.value - 5.9))
    assert point.state["lean"] * point.state["yaw'"] > 0.05  # it leans into the turn
    now = ch.evaluate(ch.derive(model), dict(point.state), parameters=model.parameters)
    for name in ("lean''", "steer''", "rear''", "yaw''", "front''", "pitch''"):
        assert now[name] == pytest.approx(0, abs=1e-8)
    linear = ch.linearize(ch.derive(model), dict(point.state), parameters=model.parameters)
    assert linear.steady
    np.testing.assert_allclose(linear.eigenvalues[:3], point.eigenvalues[:3], atol=1e-7)


def test_the_weave_of_the_bicycle():
    """Motions that weave begin at the weave speed, with the published frequency; they are periodic up to a displacement.

    They exist where riding straight is unstable, and are therefore stable.
    """
    family = straight()
    weaving = family.switch(only(family, "hopf"), most=3)
    first = weaving.points[0]
    assert len(weaving) == 3 and np.all(np.diff(weaving.values) < 0)
    assert first.value == pytest.approx(4.29238253634111, abs=1e-3)
    assert first.period == pytest.approx(2 * np.pi / 3.43503384866144, abs=1e-3)
    amplitudes, off = np.abs(weaving["lean'"]), 4.29238253634111 - weaving.values
    np.testing.assert_allclose(off / amplitudes**2, (off / amplitudes**2)[0], rtol=0.05)  # a Hopf point: the square root of the distance
    assert all(p.stable for p in weaving.points)
    with pytest.raises(ch.UsageError, match="not a number of points"):
        family.switch(1, most=0)


HOOP = ch.System("th", "w g R", lagrangian="R^2*th'^2/2 + w^2*R^2*sin(th)^2/2 + g*R*cos(th)", name="hoop")


@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_a_bead_on_a_rotating_hoop(unit):
    family = follow(ch.derive(HOOP), {"th": 0}, along="w", until=(0.1, 3), parameters={"w": 0.4, "g": 2 * unit, "R": unit})
    assert kinds(family) == ["branch"]
    assert family.special[0].value == pytest.approx(np.sqrt(2), abs=1e-14)
    assert {p.stable for p in family.points if p.value < 1.4} == {None} and family.points[-1].stable is False
    other = family.switch(0)
    assert kinds(other) == ["branch"]  # no fold: the curve is vertical where it crosses the first
    np.testing.assert_allclose(np.cos(other["th"]), 2 / other["w"] ** 2, atol=1e-12)
    assert other["th"].min() < -1 and other["th"].max() > 1 and other.values.max() == 3


def test_the_start_may_give_the_value_of_the_parameter():
    hoop = ch.derive(HOOP)
    family = follow(hoop, {"th": 1, "w": np.cos(1.0) ** -0.5}, "w", (0.5, 2), "equilibria", {"g": 1, "R": 1})
    np.testing.assert_allclose(np.cos(family["th"]), family["w"] ** -2, atol=1e-12)
    family = follow(hoop, {"th": 0}, "w", (0.5, 2), "equilibria", {"g": 1, "R": 1})
    assert kinds(family) == ["branch"] and family.values[0] == 0.5


def test_equilibria_of_a_constraint_go_round_the_circle():
    """No two jets are independent all the way round; the equilibrium is x = sin(a), y = -cos(a)."""
    system = ch.System("x y", "a", lagrangian="(x'^2 + y'^2)/2 + x*sin(a) - y*cos(a)", kinematic=["x^2 + y^2 = 1"])
    start = {"x": np.sin(0.3), "y": -np.cos(0.3), "x'": 0, "y'": 0}
    family = follow(ch.derive(system, ch.DAlembert()), start, along="a", until=(-2, 5), parameters={"a": 0.3})
    assert kinds(family) == []
    np.testing.assert_allclose(family["x"], np.sin(family["a"]), atol=1e-10)
    np.testing.assert_allclose(family["y"], -np.cos(family["a"]), atol=1e-10)
    for p in family.points:
        np.testing.assert_allclose(p.eigenvalues, [1j, -1j], atol=1e-9)


def test_folds():
    form = ch.derive(ch.DynamicalForm("x", ["x' - mu + x^2"], parameters="mu"))
    family = follow(form, {"x": 1}, along="mu", until=(-1, 2), parameters={"mu": 1})
    assert kinds(family) == ["fold"] and family.special[0].value == pytest.approx(0, abs=1e-14)
    np.testing.assert_allclose(family["x"] ** 2, family["mu"], atol=1e-12)
    assert all(p.stable is (p.state["x"] > 0) for p in family.points)
    with pytest.raises(ch.UsageError, match="nothing branches off"):
        family.switch(0)
    with pytest.raises(ch.UsageError, match="does not exist"):
        family.switch(1)


def test_a_branch_point_without_symmetry():
    """Two curves of equilibria cross at an angle, in coordinates in which neither is straight; the crossing by SciPy."""

    def equations(x, y, mu):
        u, v = x - y + 0.3 * y**2, x + 2 * y
        return u * (mu - 0.5 - u + 0.2 * mu**2) + v**2, v + 0.1 * v * u

    texts = ["x' - (u*(mu - 1/2 - u + mu^2/5) + v^2) - v - u*v/10", "y' + v + u*v/10"]
    texts = [t.replace("u", "(x - y + 3*y^2/10)").replace("m(x - y + 3*y^2/10)", "mu").replace("v", "(x + 2*y)") for t in texts]
    form = ch.derive(ch.DynamicalForm("x y", texts, parameters="mu"))
    family = follow(form, {"x": 0, "y": 0}, along="mu", until=(-1, 2), parameters={"mu": 1.5})
    crossing = brentq(lambda mu: mu - 0.5 + 0.2 * mu**2, 0, 1, xtol=1e-15)
    assert family.special[only(family, "branch")].value == pytest.approx(crossing, abs=1e-13)
    other = family.switch(only(family, "branch"))
    assert np.ptp(other["x"]) > 0.1
    for p in other.points[:: len(other) // 5]:
        found = root(lambda z, mu=p.value: equations(*z, mu), [p.state["x"], p.state["y"]], tol=1e-14).x
        np.testing.assert_allclose([p.state["x"], p.state["y"]], found, atol=1e-9)


def test_a_hopf_point_and_its_orbits():
    system = ch.System("x", "mu", lagrangian="x'^2/2 - x^2/2", forces={"x": "(mu - x^2)*x'"}, name="van der Pol")
    family = follow(ch.derive(system), {"x": 0}, along="mu", until=(-1, 1), parameters={"mu": 0.0})  # the start is the Hopf point
    assert kinds(family) == ["hopf"] and family.special[0].value == pytest.approx(0, abs=1e-14)
    assert all(p.stable is (p.value < 0) for p in family.points if p.value)
    orbits = family.switch(0)
    assert orbits.kind == "periodic" and all(p.stable for p in orbits.points)
    assert orbits["period"][-1] == pytest.approx(6.6632868593231, rel=1e-10)
    small = orbits.points[0]
    assert np.hypot(small.state["x"], small.state["x'"]) == pytest.approx(2 * np.sqrt(small.value), rel=1e-3)
    assert small.period == pytest.approx(2 * np.pi, rel=1e-6)


def test_lorenz():
    """r = 1 and r = s (s + b + 3)/(s - b - 1) = 470/19 in closed form; the orbits are born unstable."""
    rows = ["x' - s*(y - x)", "y' - x*(r - z) + y", "z' - x*y + b*z"]
    form = ch.derive(ch.DynamicalForm("x y z", rows, parameters="s r b"))
    family = follow(form, {"x": 0, "y": 0, "z": 0}, along="r", until=(0, 28), parameters={"s": 10, "r": 0.5, "b": "8/3"})
    assert kinds(family) == ["branch"] and family.special[0].value == pytest.approx(1, abs=1e-13)
    other = family.switch(0)
    hopf = [k for k, s in enumerate(other.special) if s.kind == "hopf"]
    assert len(hopf) == 2
    for k in hopf:
        assert other.special[k].value == pytest.approx(470 / 19, abs=1e-11)
    np.testing.assert_allclose(other["z"], other["r"] - 1, atol=1e-9)


def test_conservative_pairs_that_meet_are_no_hopf_points():
    """A hill stabilised by gyroscopic forces: (s^2 - k)(s^2 - c) + G^2 s^2 = 0 has double roots where G = sqrt(k) + sqrt(c)."""
    system = ch.System("x y", "G", lagrangian="(x'^2 + y'^2)/2 + G*(x*y' - y*x')/2 + x^2/2 + 1.04*y^2/2")
    family = follow(ch.derive(system), {"x": 0, "y": 0}, along="G", until=(0.5, 4), parameters={"G": 3})
    assert kinds(family) == ["double"]
    assert family.special[0].value == pytest.approx(1 + np.sqrt(1.04), abs=1e-10)
    assert family.special[0].eigenvalue == pytest.approx(1.04**0.25 * 1j, abs=1e-6)


@pytest.mark.parametrize("damping", ["0", "(x'^2 + y'^2)/10"])
def test_a_symmetry_makes_two_eigenvalues_cross_at_once(damping):
    """No determinant changes its sign; the other equilibria are a circle, x^2 + y^2 = -k, of which one diameter is followed."""
    lagrangian = "(x'^2 + y'^2)/2 - k*(x^2 + y^2)/2 - (x^2 + y^2)^2/4"
    system = ch.derive(ch.System("x y", "k", lagrangian=lagrangian, dissipation=damping))
    family = follow(system, {"x": 0, "y": 0}, along="k", until=(-1, 1), parameters={"k": 0.55})
    assert family.special[only(family, "branch")].value == pytest.approx(0, abs=1e-12)
    other = family.switch(only(family, "branch"))
    np.testing.assert_allclose(other["x"] ** 2 + other["y"] ** 2, -other["k"], atol=1e-12)
    assert {p.stable for p in other.points if p.value < -0.01} == ({None} if damping == "0" else {True})


def test_a_family_of_more_dimensions_says_what_to_keep():
    model = ch.gallery("leaning-disk")
    start = {"theta": 0, "psi'": 5, "phi'": 0}
    with pytest.raises(ch.StateError, match="2 dimensions") as failure:
        follow(model, start, along="psi'", until=(0.1, 8), kind="steady")
    assert 'fixed=["phi\'"]' in str(failure.value)
    family = follow(model, start, along="psi'", until=(0.1, 8), kind="steady", fixed=["phi'"])
    m, R, I, J, g = (model.parameters[name] for name in "mRIJg")
    assert kinds(family) == ["double"]  # straight rolling becomes stable; the circles around it exist at every speed
    assert family.special[0].value == pytest.approx(np.sqrt(m * g * R * I / (J * (J + m * R**2))), abs=1e-8)


def test_a_steady_motion_along_a_parameter_keeps_its_velocity():
    system = ch.System("th phi", "g", lagrangian="(th'^2 + sin(th)^2*phi'^2)/2 + g*cos(th)", name="conical pendulum")
    family = follow(ch.derive(system), {"th": 1, "phi'": 1.9}, along="g", until=(1, 3), kind="steady", parameters={"g": 2})
    np.testing.assert_allclose(family["phi'"], 1.9, atol=1e-12)
    np.testing.assert_allclose(1.9**2 * np.cos(family["th"]), family["g"], atol=1e-10)


def test_equilibria_of_a_body_on_the_rotations():
    """A magnet in a field (k, 0, c): its axis points along the field; beyond a quarter turn no chart of rotation vectors is near."""
    potential = "c*A33 + k*A13 + A22^2/5"
    system = ch.System(
        {"A": "SO3 body"}, "c k", lagrangian=f"(A1'^2 + 2*A2'^2 + 3*A3'^2)/2 + {potential}", dissipation="A1'^2 + A2'^2 + A3'^2"
    )
    start = {"A": np.eye(3), "A1'": 0, "A2'": 0, "A3'": 0}
    family = follow(ch.derive(system), start, along="c", until=(-3, 1), parameters={"c": 1, "k": 1})
    assert family.values.min() == -3 and {p.stable for p in family.points} == {True}
    for point in family.points[:: len(family) // 5]:
        now = ch.evaluate(ch.derive(system), dict(point.state), parameters={"c": point.value, "k": 1})
        assert [now["A13"], now["A33"]] == pytest.approx([1 / np.hypot(1, point.value), point.value / np.hypot(1, point.value)], abs=1e-9)


def test_places_that_nothing_determines_are_kept_but_not_at_a_branch_point():
    start = {"x": 0.3, "y": -0.2, "theta": 0.7}
    standing = follow(ch.gallery("sleigh"), start, along="a", until=(0.1, 1))
    for name, value in start.items():
        np.testing.assert_allclose(standing[name], value, atol=1e-12)
    family = follow(ch.derive(HOOP), {"th": 0}, "w", (0.5, 2), "equilibria", {"w": 1, "g": 1, "R": 1})  # the start is the branch point
    assert kinds(family) == ["branch"] and np.ptp(family.switch(0)["th"]) > 2


@pytest.mark.parametrize("frequency", [10, 50])
def test_the_critical_amplitude_of_kapitza(frequency):
    """With tau = w t/2 the upper equilibrium is Mathieu's equation with a = -4/w^2 and q = 2 A; it gains stability on the curve a_0(q)."""
    system = ch.System("th", "A w", lagrangian="th'^2/2 - (1 - A*w^2*cos(w*t))*cos(th)")
    exact = brentq(lambda A: mathieu_a(0, 2 * A) + 4 / frequency**2, 1e-3, 0.5, xtol=1e-15)
    settings = {"along": "A", "until": (0, 2 * exact), "kind": "periodic", "period": "2*pi/w"}
    family = follow(ch.derive(system), {"th": 0, "th'": 0}, parameters={"A": 1.4 * exact, "w": frequency}, **settings)
    assert kinds(family) == ["branch"]
    assert family.special[0].value == pytest.approx(exact, abs=1e-9)
    assert family.special[0].value == pytest.approx({10: 0.1420381668, 50: 0.0282892204}[frequency], abs=1e-9)


def test_period_doublings_of_mathieu():
    system = ch.System("x", "d e", lagrangian="x'^2/2 - (d + e*cos(t))*x^2/2")
    values = {"d": 0.25, "e": 0.1}
    family = follow(ch.derive(system), {"x": 0, "x'": 0}, "d", (0.05, 0.6), "periodic", values, period="2*pi")
    assert kinds(family) == ["period_doubling", "period_doubling"]
    expected = sorted([mathieu_a(1, 0.2) / 4, mathieu_b(1, 0.2) / 4])
    np.testing.assert_allclose([s.value for s in family.special], expected, atol=1e-9)


def test_folds_and_doublings_of_duffing():
    """The doubling by SciPy: the closed orbit and its multiplier -1 as a root of three equations."""
    system = ch.System("x", "A", lagrangian="x'^2/2 + x^2/2 - x^4/4 + A*cos(t)*x", dissipation="0.3*x'^2/2", name="Duffing")
    family = follow(ch.derive(system), {"x": 1.2, "x'": 0}, "A", (0.1, 0.3), "periodic", {"A": 0.2}, period="2*pi")
    assert [k for k in kinds(family) if k != "double"] == ["fold", "fold", "period_doubling"]
    doubling = family.special[only(family, "period_doubling")]

    def equations(z):
        def rates(t, y):
            slope = 1 - 3 * y[0] ** 2
            return [
                y[1],
                y[0] - y[0] ** 3 - 0.3 * y[1] + z[2] * np.cos(t),
                y[3],
                slope * y[2] - 0.3 * y[3],
                y[5],
                slope * y[4] - 0.3 * y[5],
            ]

        end = solve_ivp(rates, (0, 2 * np.pi), [z[0], z[1], 1, 0, 0, 1], method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
        return [end[0] - z[0], end[1] - z[1], (end[2] + 1) * (end[5] + 1) - end[3] * end[4]]

    found = root(equations, [doubling.state["x"] + 1e-3, doubling.state["x'"], doubling.value + 1e-4], tol=1e-11).x
    assert doubling.value == pytest.approx(found[2], abs=1e-9)
    doubled = family.switch(only(family, "period_doubling"))
    assert doubled.points[0].period == pytest.approx(4 * np.pi, rel=1e-14)
    assert doubled.points[0].stable and doubled.values.min() == pytest.approx(doubling.value, abs=1e-4)
    last = doubled.points[-1]
    motion = ch.simulate(ch.derive(system), dict(last.state), (0, 4 * np.pi), parameters={"A": last.value}, tolerance=1e-12)
    assert motion.final["x"] == pytest.approx(last.state["x"], abs=1e-7)
    assert abs(motion.at(2 * np.pi)["x"] - last.state["x"]) > 0.05  # half of it is no period


def test_a_conservative_family_along_a_jet():
    pendulum = ch.derive(ch.System("th", lagrangian="th'^2/2 + cos(th)"))
    orbit = ch.orbits.periodic(pendulum, {"th": 1, "th'": 0}, period=6.7)  # a guess whose state needs no correction
    family = follow(pendulum, orbit, along="th", until=(0.2, 2.5), kind="periodic")
    assert kinds(family) == []
    np.testing.assert_allclose(family["period"], 4 * ellipk(np.sin(family["th"] / 2) ** 2), rtol=1e-9)


def test_bifurcations_of_henon_heiles():
    """M. Brack, Found. Phys. 31 (2001) 209: from the straight orbit A, others branch off at e = 6 E = 0.969309 and 0.986709."""
    henon = ch.derive(ch.System("x y", lagrangian="(x'^2 + y'^2)/2 - (x^2 + y^2)/2 - x^2*y + y^3/3"))
    family = follow(henon, {"x": 0, "y": 0.88, "x'": 0, "y'": 0}, along="y", until=(0.8, 0.94), kind="periodic", period=9.3)
    assert kinds(family) == ["period_doubling", "branch", "branch"]
    energies = [6 * (s.state["y'"] ** 2 / 2 + s.state["y"] ** 2 / 2 - s.state["y"] ** 3 / 3) for s in family.special]
    np.testing.assert_allclose(energies[1:], [0.969309, 0.986709], atol=2e-6)
    other = family.switch(1)  # an orbit that leaves the axis
    assert max(abs(other["x"]).max(), abs(other["x'"]).max()) > 0.01


def test_a_periodic_family_with_a_constraint_and_a_kept_integral():
    """A pendulum in Cartesian coordinates: the energy of the start is kept while gravity changes."""
    system = ch.System("x y", "g", lagrangian="(x'^2 + y'^2)/2 - g*y", kinematic=["x^2 + y^2 = 1"])
    start = ch.State({"x": np.sin(1.0), "x'": 0.0}, {"y": -0.5})
    family = follow(ch.derive(system, ch.DAlembert()), start, "g", (0.8, 2), "periodic", {"g": 1}, period=6.6)
    energy = (family["x'"] ** 2 + family["y'"] ** 2) / 2 + family["g"] * family["y"]
    np.testing.assert_allclose(energy, -np.cos(1.0), rtol=1e-8)
    exact = 4 / np.sqrt(family["g"]) * ellipk((1 - np.cos(1.0) / family["g"]) / 2)
    np.testing.assert_allclose(family["period"], exact, rtol=1e-8)


def test_a_family_is_printed_and_drawn():
    family = follow(ch.derive(HOOP), {"th": 0}, along="w", until=(0, 2), parameters={"w": 0.5, "g": 1, "R": 1})
    assert "[0] branch  w = 1" in str(family) and "unstable: w = " in str(family) and "the end of the interval" in str(family)
    picture = ch.plot.family([family, family.switch(0)])
    (axes,) = picture.axes
    assert axes.get_xlabel() == "$w$" and {"unstable", "branch"} <= {t.get_text() for t in axes.get_legend().get_texts()}
    with pytest.raises(ch.UsageError, match="no family"):
        ch.plot.family([])
    with pytest.raises(ch.UsageError, match="not in the state"):
        family["phi"]


def test_refusals():
    hoop, values = ch.derive(HOOP), {"w": 0.5, "g": 1, "R": 1}
    with pytest.raises(ch.UsageError, match="kind"):
        follow(hoop, {"th": 0}, "w", (0, 2), "chaotic", values)
    with pytest.raises(ch.ParameterError, match="neither a parameter nor a jet"):
        follow(hoop, {"th": 0}, "v", (0, 2), "equilibria", values)
    with pytest.raises(ch.ParameterError, match="no value"):
        follow(hoop, {"th": 0}, "w", (0, 2), "equilibria", {"g": 1})
    with pytest.raises(ch.UsageError, match="outside the interval"):
        follow(hoop, {"th": 0}, "w", (1, 2), "equilibria", values)
    with pytest.raises(ch.UsageError, match="interval"):
        follow(hoop, {"th": 0}, "w", 2, "equilibria", values)
    with pytest.raises(ch.UsageError, match="no period"):
        follow(hoop, {"th": 1}, "w", (0, 2), "periodic", values)
    with pytest.raises(ch.StateError, match="equilibrium"):
        follow(hoop, {"th": 0, "th'": 0}, "w", (0, 2), "periodic", values, period=6)
    driven = ch.derive(ch.System("x", "A", lagrangian="x'^2/2 - x^2 + A*cos(t)*x"))
    with pytest.raises(ch.StateError, match="do not repeat"):
        follow(driven, {"x": 0, "x'": 0}, "A", (0, 1), "periodic", {"A": 0.0}, period=5)
    with pytest.raises(ch.ChetaevError):
        follow(driven, {"x": 0}, "A", (0, 1), "equilibria", {"A": 0.5})
