"""000, section IV equation by equation: friction as a constraint, on the library's own rows and against Newton's equations by hand."""

import numpy as np
import pytest
import sympy

import chetaev as ch

LAGRANGIAN = "(1 + t/2)*(x'^2 + 3*y'^2)/2 + 2*y*x' - x^2*y - x*sin(t)"
DISSIPATION = "((2 + x^2)*x'^2 + 2*y*x'*y' + (3 + y^2)*y'^2)/2"
AS_FORCES = {"x": "-(2 + x^2)*x' - y*y' + 0.7*y", "y": "-y*x' - (3 + y^2)*y' - 0.4*x*t"}
POINT = {"x": 0.6, "y": -0.8, "x'": 0.9, "y'": 1.3}
TIME = 0.5


def particle(forces=False, **rows):
    """Friction R(q) with a given force, by Rayleigh's function or within the forces, and a Lagrangian with time and a gyroscopic term."""
    given = {"forces": AS_FORCES} if forces else {"dissipation": DISSIPATION, "forces": {"x": "0.7*y", "y": "-0.4*x*t"}}
    return ch.System("x y", lagrangian=LAGRANGIAN, **given, **rows)


def newton(point, t):
    """Accelerations by hand: m*(x'' , 3*y'') = -m'*v + gyroscopic - gradient + u - R*v with m = 1 + t/2."""
    x, y, u, v = point["x"], point["y"], point["x'"], point["y'"]
    m = 1 + t / 2
    friction = np.array([(2 + x**2) * u + y * v, y * u + (3 + y**2) * v])
    other = np.array([0.7 * y, -0.4 * x * t])
    gyro = np.array([-2 * v, 2 * u])
    potential = np.array([-2 * x * y - np.sin(t), -(x**2)])
    mass = np.diag([m, 3 * m])
    return mass, potential + gyro + other - friction - np.array([u, 3 * v]) / 2, friction


def energy_rate(point, t, acceleration):
    """dE/dt along a curve with this acceleration, E = m*(x'^2 + 3*y'^2)/2 + x^2*y + x*sin(t)."""
    x, y, u, v = point["x"], point["y"], point["x'"], point["y'"]
    m = 1 + t / 2
    return (
        (u**2 + 3 * v**2) / 4
        + m * (u * acceleration[0] + 3 * v * acceleration[1])
        + 2 * x * y * u
        + x**2 * v
        + u * np.sin(t)
        + x * np.cos(t)
    )


def numbers(row, coordinates, values):
    """The coefficients of a variational row at a point."""
    found = [sympy.sympify(row.coefficients.get(q, 0)) for q in coordinates]
    return [float(e.subs({s: values[s.name] for s in e.free_symbols})) for e in found]


@pytest.mark.parametrize("forces", [False, True])
def test_eq_58_and_59_theorem_20_rows_of_friction(forces):
    r"""$C_K$: $dE/dt = -2F + u\dot q - \partial_t L$; $C_V$: $\langle\mathbb F F, \delta q\rangle = 0$; the motion is Newton's."""
    source = particle(forces)
    target = ch.friction_as_constraint(source)
    mass, right, friction = newton(POINT, TIME)
    expected = np.linalg.solve(mass, right)
    (kinematic,), (variational,) = target.system.kinematic, target.system.variational
    values = POINT | {"x''": expected[0], "y''": expected[1], "t": TIME}
    at = {s: values[s.name] for s in kinematic.residual.free_symbols}
    assert abs(float(kinematic.residual.subs(at))) < 1e-12
    # off the motion the row is the defect of the energy's balance
    off = values | {"x''": 0.3, "y''": -0.2}
    power = friction @ [POINT["x'"], POINT["y'"]]
    u = np.array([0.7 * POINT["y"], -0.4 * POINT["x"] * TIME]) @ [POINT["x'"], POINT["y'"]]
    explicit = (POINT["x'"] ** 2 + 3 * POINT["y'"] ** 2) / 4 - POINT["x"] * np.cos(TIME)
    balance = energy_rate(POINT, TIME, (0.3, -0.2)) + power - u + explicit
    found = float(kinematic.residual.subs({s: off[s.name] for s in kinematic.residual.free_symbols}))
    assert found == pytest.approx(balance, rel=1e-12)
    first, second = numbers(variational, target.system.coordinates, POINT)
    assert first * friction[1] == pytest.approx(second * friction[0], rel=1e-12)
    now = ch.evaluate(target.target, POINT, t=TIME)
    assert [now["x''"], now["y''"]] == pytest.approx(expected, rel=1e-12)
    assert abs(second) > 1


def test_eq_68_the_energy_falls_by_twice_rayleighs_function():
    """Without time and other forces: the kinematic row is dE/dt + 2F."""
    source = ch.System("x y", lagrangian="(x'^2 + 3*y'^2)/2 + 2*y*x' - x^2*y", dissipation=DISSIPATION)
    target = ch.friction_as_constraint(source)
    x, y = target.system.coordinates
    rate = x.d() * x.d(2) + 3 * y.d() * y.d(2) + 2 * x * y * x.d() + x**2 * y.d()
    twice = (2 + x**2) * x.d() ** 2 + 2 * y * x.d() * y.d() + (3 + y**2) * y.d() ** 2
    assert sympy.expand(target.system.kinematic[0].residual - rate - twice) == 0
    motion = ch.simulate(target.target, POINT, np.linspace(0, 0.6, 601), tolerance=1e-11)
    u, v, xs, ys = (motion[name] for name in ("x'", "y'", "x", "y"))
    energy = (u**2 + 3 * v**2) / 2 + xs**2 * ys
    power = (2 + xs**2) * u**2 + 2 * ys * u * v + (3 + ys**2) * v**2
    lost = np.concatenate([[0.0], np.cumsum((power[1:] + power[:-1]) / 2 * np.diff(motion.t))])
    assert np.abs(energy - energy[0] + lost).max() < 1e-5 * energy[0]
    assert energy[-1] < energy[0] / 2


def test_the_row_of_energy_knows_that_inputs_depend_on_time():
    """E = T + u*x changes by u'*x through the input, which is no power of friction: the row contains no u'."""
    source = ch.System("x y", inputs={"u": None}, lagrangian="(x'^2 + y'^2)/2 - u*x", dissipation="(2*x'^2 + 3*y'^2)/2")
    (row,) = ch.friction_as_constraint(source).system.kinematic
    x, y = source.coordinates
    u = source.inputs and next(iter(source.inputs))
    wanted = x.d() * x.d(2) + y.d() * y.d(2) + u * x.d() + 2 * x.d() ** 2 + 3 * y.d() ** 2
    assert sympy.expand(row.residual - wanted) == 0


def knife(**more):
    """A skate with friction: the reaction does no work, so that Theorem 26 holds with the row of energy."""
    return ch.System(
        {"x": "line", "y": "line", "a": "angle"},
        lagrangian="(x'^2 + y'^2 + 2*a'^2)/2 - x*y",
        dissipation="(x'^2 + 2*y'^2 + 3*a'^2 + x'*a')/2",
        kinematic=["x'*sin(a) = y'*cos(a)"],
        **more,
    )


def skate_by_hand(point):
    """Accelerations of the skate with friction by Newton's equations and one multiplier."""
    x, y, a, v, w = (point[n] for n in ("x", "y", "a", "v", "a'"))
    c, s = np.cos(a), np.sin(a)
    u = np.array([v * c, v * s, w])
    friction = np.array([[1, 0, 0.5], [0, 2, 0], [0.5, 0, 3]]) @ u
    force = np.array([-y, -x, 0.0]) - friction
    row = np.array([s, -c, 0.0])
    matrix = np.block([[np.diag([1.0, 1.0, 2.0]), -row[:, None]], [row[None, :], np.zeros((1, 1))]])
    return u, friction, np.linalg.solve(matrix, [*force, -w * (c * u[0] + s * u[1])])[:3]


def test_eq_72_to_74_theorem_26_friction_besides_a_constraint():
    target = ch.friction_as_constraint(ch.derive(knife(), ch.DAlembert()))
    point = {"x": 0.3, "y": -0.5, "a": 0.7, "v": 1.2, "a'": -0.6}
    u, friction, expected = skate_by_hand(point)
    # (73): the rows of the source and one of second order; (74): the annihilator of the source's rows and of the friction
    orders = sorted(max(z.order for z in row.residual.free_symbols if hasattr(z, "order")) for row in target.system.kinematic)
    assert orders == [1, 2]
    values = {"x": 0.3, "y": -0.5, "a": 0.7, "x'": u[0], "y'": u[1], "a'": u[2]}
    rows = np.array([numbers(row, target.system.coordinates, values) for row in target.system.variational])
    assert len(rows) == 2
    wanted = np.array([friction, [np.sin(0.7), -np.cos(0.7), 0.0]])
    assert np.linalg.matrix_rank(np.vstack([rows, wanted]), tol=1e-10) == 2
    now = ch.evaluate(target.target, values)
    assert [now["x''"], now["y''"], now["a''"]] == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("forces", [False, True])
def test_theorem_26_with_the_projected_velocity(forces):
    """An affine row does work, so the velocity is projected on C_V with the friction as metric; the motion is Newton's."""
    given = {"kinematic": ["x' + 2*y' = 1 + x"], "variational": ["δx + 2*δy = 0"]}
    target = ch.friction_as_constraint(ch.derive(particle(forces, **given), ch.VirtualWork()), projected=True)
    x, y1 = POINT["x"], POINT["y'"]
    point = POINT | {"x'": 1 + x - 2 * y1}
    mass, right, _ = newton(point, TIME)
    row = np.array([1.0, 2.0])
    matrix = np.block([[mass, -row[:, None]], [row[None, :], np.zeros((1, 1))]])
    expected = np.linalg.solve(matrix, [*right, point["x'"]])[:2]
    now = ch.evaluate(target.target, point, t=TIME)
    assert [now["x''"], now["y''"]] == pytest.approx(expected, rel=1e-11)


def test_friction_that_is_not_symmetric_is_refused_with_the_entries():
    with pytest.raises(ch.PrincipleError, match="not symmetric"):
        ch.friction_as_constraint(ch.System("x y", lagrangian="(x'^2 + y'^2)/2", forces={"x": "-2*x' - y'", "y": "y' - 3*y' + x'"}))
    # opposite entries would pass a test of R + R^T
    with pytest.raises(ch.PrincipleError, match="not symmetric"):
        ch.friction_as_constraint(ch.System("x y", lagrangian="(x'^2 + y'^2)/2", forces={"x": "-2*x' - y'", "y": "x' - 3*y'"}))
