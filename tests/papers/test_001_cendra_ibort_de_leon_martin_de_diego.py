"""Cendra, Ibort, de León, Martín de Diego, A generalization of Chetaev's principle for a class of higher order nonholonomic constraints,
J. Math. Phys. 45 (2004): its equations, by number.

The paper's EL_i = d/dt dL/dq'^i - dL/dq^i is the library's E_i. Right-hand sides are typed from the paper; where a printed form is
wrong, the test asserts that it fails and that the corrected one holds. The rolling ball (sections 2 and 6) is not treated here.
"""

import math

import numpy as np
import pytest
import sympy
from scipy.integrate import solve_ivp

import chetaev as ch

TOLERANCE = 1e-12
WRONG = 1e-3

ROCARD = {"I": 0.7, "J": 0.9, "M": 1.5, "K": 2.0, "a": 3.0}
ROCARD_START = {"psi": 0.2, "theta": 0.5, "epsilon": 0.15, "x1": 0.1, "x2": -0.2, "psi'": 1.8, "theta'": 0.6}
GREIDANUS = {"I": 0.7, "J": 0.9, "M": 1.5, "alpha": 1.2, "beta": 2.0}


def agree(found, expected, tolerance=TOLERANCE):
    """Equal up to round-off, relative for numbers greater than 1."""
    found, expected = np.atleast_1d(found).astype(float), np.atleast_1d(expected).astype(float)
    return found.shape == expected.shape and bool(np.all(np.abs(found - expected) <= tolerance * np.maximum(1.0, np.abs(expected))))


def vanishes(expression):
    """Whether an expression is zero identically."""
    return sympy.simplify(sympy.expand(sympy.expand_trig(expression))) == 0


def row(equations, label):
    """`lhs - rhs` of a row."""
    return next(r.residual for r in equations.rows if r.label == label)


def jets(equations, names):
    """Jets by name."""
    return [ch.parse(name, equations) for name in names.split()]


def virtual_work(equations, displacement):
    """E_i - reactions, contracted with a virtual displacement given by text; multipliers drop out if it lies in C_V."""
    return sum(row(equations, f"E_{q}") * ch.parse(component, equations) for q, component in displacement.items())


def forces_are(equations, forces):
    """Whether the reactions on the coordinates are those typed; a coordinate left out has none."""
    return all(vanishes(equations.reaction(q.base) - ch.parse(forces.get(q.base, "0"), equations)) for q in equations.system.coordinates)


# Section 3: Rocard's tyre


def rocard():
    return ch.derive(ch.gallery("rocard"))


def rocard_states(seed, count=4):
    """Random states, rolling forward and backward, |epsilon| between 0.1 and 0.6; the reference state first."""
    rng = np.random.default_rng(seed)
    found = [ROCARD_START, ROCARD_START | {"psi'": -1.8}]
    for k in range(count):
        epsilon, psi1 = rng.uniform(0.1, 0.6) * rng.choice([-1, 1]), rng.uniform(0.5, 2) * (-1) ** k
        psi, theta, x1, x2, theta1 = rng.uniform(-1, 1, 5)
        found.append({"psi": psi, "theta": theta, "epsilon": epsilon, "x1": x1, "x2": x2, "psi'": psi1, "theta'": theta1})
    return found


def rocard_now(state, **changes):
    return ch.evaluate(rocard(), state, parameters=ROCARD | changes)


ROCARD_ENERGY_RATE = "I*psi'*psi'' + J*theta'*theta'' + M*(x1'*x1'' + x2'*x2'') + K*epsilon*epsilon'"


def test_eq_18_19_20_rocard_kinematic_constraints():
    """(18)-(20) with the Lagrangian before them."""
    equations = rocard()
    assert vanishes(equations.lagrangian - ch.parse("I/2*psi'^2 + J/2*theta'^2 + M/2*(x1'^2 + x2'^2) - K/2*epsilon^2", equations))
    rows = [
        "x1' - psi'*cos(theta - epsilon)",
        "x2' - psi'*sin(theta - epsilon)",
        "-psi''*tan(epsilon) + psi'*(theta' - epsilon') - sign(psi')*a/M*tan(epsilon)",
    ]
    for k, text in enumerate(rows):
        assert vanishes(row(equations, f"kinematic[{k}]") - ch.parse(text, equations))


def test_eq_20_follows_from_rocards_force():
    """(20) is F = <M x'', N> = sign(psi') a sin(epsilon), N = (-sin(theta), cos(theta)), with x'' from (18), (19): exactly, in no
    approximation."""
    equations = rocard()
    x1, x2 = jets(equations, "x1'' x2''")
    first, second = (equations.total(row(equations, f"kinematic[{k}]")) for k in range(2))
    acceleration = {x1: x1 - first, x2: x2 - second}  # from the derivatives of (18), (19)
    force = ch.parse("M*(-x1''*sin(theta) + x2''*cos(theta)) - sign(psi')*a*sin(epsilon)", equations).xreplace(acceleration)
    assert vanishes(force - ch.parse("M*cos(epsilon)", equations) * row(equations, "kinematic[2]"))


@pytest.mark.parametrize("state", rocard_states(0))
def test_eq_20_side_force_on_the_motion(state):
    """Rocard's formula F = sign(psi') a sin(epsilon) for both signs of psi'; |F| = a sin|epsilon|."""
    now = rocard_now(state)
    force = now["M*(-x1''*sin(theta) + x2''*cos(theta))"]
    assert agree(force, math.copysign(1, state["psi'"]) * 3.0 * math.sin(state["epsilon"]))
    assert agree(abs(force), 3.0 * math.sin(abs(state["epsilon"])))


def test_eq_21_22_23_rocard_variational_constraints():
    """(21)-(23): the forces of constraint, one multiplier per row in this order."""
    forces = {
        "psi": "lambda1*cos(theta) + lambda2*sin(theta)",
        "x1": "-lambda1",
        "x2": "-lambda2",
        "theta": "lambda3",
        "epsilon": "-lambda3",
    }
    assert forces_are(rocard(), forces)


def test_eq_24_25_rocard_dynamics():
    """(24), (25): the virtual work in the displacements (δpsi, δx) = (1, cos, sin) and δtheta = δepsilon = 1."""
    equations = rocard()
    rolling = virtual_work(equations, {"psi": "1", "x1": "cos(theta)", "x2": "sin(theta)"})
    turning = virtual_work(equations, {"theta": "1", "epsilon": "1"})
    assert vanishes(rolling - ch.parse("I*psi'' + M*x1''*cos(theta) + M*x2''*sin(theta)", equations))
    assert vanishes(turning - ch.parse("J*theta'' + K*epsilon", equations))


def test_eq_24_25_rocard_dynamics_by_elimination():
    """(24), (25) are what `eliminate` leaves."""
    equations = rocard()
    rows = [r.residual for r in equations.eliminate().rows if r.label.startswith("E_")]
    texts = ["I*psi'' + M*x1''*cos(theta) + M*x2''*sin(theta)", "J*theta'' + K*epsilon"]
    assert len(rows) == 2
    assert all(vanishes(found - ch.parse(text, equations)) for found, text in zip(rows, texts, strict=True))


@pytest.mark.parametrize("state", rocard_states(1))
def test_eq_24_25_rocard_forces_of_constraint(state):
    """The reactions in (24), (25): lambda1, lambda2 = -M x'' and lambda3 = -K epsilon = J theta''."""
    now = rocard_now(state)
    assert agree([now["lambda1"], now["lambda2"]], [now["-M*x1''"], now["-M*x2''"]])
    assert agree([now["lambda3"], now["J*theta''"]], [-2.0 * state["epsilon"]] * 2)
    assert agree(now["I*psi''"], now["-M*x1''*cos(theta) - M*x2''*sin(theta)"])


@pytest.mark.parametrize("state", rocard_states(2))
def test_eq_24_closed_form_of_the_spin(state):
    """Not in the paper, from (18)-(20), (24): psi'' = -sign(psi') a sin^2(epsilon)/(M + I cos(epsilon))."""
    e = state["epsilon"]
    expected = -math.copysign(1, state["psi'"]) * 3.0 * math.sin(e) ** 2 / (1.5 + 0.7 * math.cos(e))
    assert agree(rocard_now(state)["psi''"], expected)


@pytest.mark.parametrize("state", rocard_states(3))
def test_eq_20_24_hidden_constraint_of_first_order(state):
    """Not in the paper: psi' (theta' - epsilon') = sign(psi') (a/M) sin(e) (I + M cos(e))/(M + I cos(e)), so epsilon' is no free value."""
    e, sign = state["epsilon"], math.copysign(1, state["psi'"])
    hidden = sign * 3.0 / 1.5 * math.sin(e) * (0.7 + 1.5 * math.cos(e)) / (1.5 + 0.7 * math.cos(e))
    now = rocard_now(state)
    assert agree(now["psi'*(theta' - epsilon')"], hidden)
    rate = state["theta'"] - hidden / state["psi'"]
    assert agree(rocard_now(state | {"epsilon'": rate})["psi''"], now["psi''"])
    with pytest.raises(ch.InitialError):
        rocard_now(state | {"epsilon'": rate + 0.1})


def test_eq_20_acceleration_matrix_is_singular():
    """epsilon'' occurs in no equation of motion: (20) and (24) together restrict the velocities."""
    equations = rocard()
    assert all(ch.parse("epsilon''", equations) not in r.residual.free_symbols for r in equations.rows)


@pytest.mark.parametrize("state", rocard_states(4))
def test_eq_20_sign_of_the_deviation(state):
    """After (20): epsilon (theta' - epsilon') >= 0, exactly for |epsilon| < pi/2 and either sign of psi'."""
    assert rocard_now(state)["epsilon*(theta' - epsilon')"] > 0


@pytest.mark.erratum("001", "section 3", r"$\mathbf{n}$ points to the concave side", r"only if $\psi'(\theta' - \epsilon') > 0$")
@pytest.mark.parametrize("state", rocard_states(4))
def test_section_3_normal_vector_printed_direction_fails(state):
    """Section 3: n = (-sin(theta - e), cos(theta - e)) is said to point to the concave side. <x'', n> is psi' (theta' - e'), whose sign is
    that of psi' e; so it does only where psi' e > 0."""
    now = rocard_now(state)
    bend = now["-x1''*sin(theta - epsilon) + x2''*cos(theta - epsilon)"]
    assert agree(bend, now["psi'*(theta' - epsilon')"])
    assert (bend > 0) == (state["psi'"] * state["epsilon"] > 0)


@pytest.mark.parametrize("direction", [1, -1])
def test_eq_20_inflection_without_deviation(direction):
    """After (20): where epsilon = 0 the path has a point of inflection, theta' - epsilon' = 0, and psi'' = 0."""
    now = rocard_now(ROCARD_START | {"epsilon": 0, "psi'": 1.8 * direction})
    assert agree([now["theta' - epsilon'"], now["psi''"], now[ROCARD_ENERGY_RATE]], [0, 0, 0])
    assert agree(now["x1'*x2'' - x2'*x1''"], 0)


@pytest.mark.parametrize("state", rocard_states(5))
def test_eq_18_19_speed_and_spin(state):
    """After (25): x'.x'' = psi' psi''."""
    now = rocard_now(state)
    assert agree(now["x1'*x1'' + x2'*x2''"], now["psi'*psi''"])


@pytest.mark.erratum(
    "001", "after (25)", r"$(I + M)\psi'\psi'' - K\epsilon(\theta' - \epsilon') = 0$", "this is $E'$ to lowest order, not zero"
)
@pytest.mark.parametrize("state", rocard_states(6))
def test_eq_25_printed_energy_line_fails(state):
    """The line '(I + M) psi' psi'' - K epsilon (theta' - epsilon') = 0' of the proof is false: the left side is E', which is not zero."""
    now = rocard_now(state)
    line = now["(I + M)*psi'*psi'' - K*epsilon*(theta' - epsilon')"]
    assert agree(now[ROCARD_ENERGY_RATE], line)
    assert abs(line) > WRONG


def test_eq_25_energy_rate_at_the_reference_state():
    """E' = -0.1706 at the reference state."""
    assert agree(rocard_now(ROCARD_START)[ROCARD_ENERGY_RATE], -0.1706, 5e-5)


@pytest.mark.parametrize("state", rocard_states(7))
def test_eq_24_25_exact_energy_rate(state):
    """Exactly, E' = -[(I + M) M psi'^2 sin(e)/(I + M cos(e)) + K e] (theta' - e') < 0. The printed rate is not exact."""
    now = rocard_now(state)
    exact = "-((I + M)*M*psi'^2*sin(epsilon)/(I + M*cos(epsilon)) + K*epsilon)*(theta' - epsilon')"
    assert agree(now[ROCARD_ENERGY_RATE], now[exact])
    assert now[ROCARD_ENERGY_RATE] < 0


@pytest.mark.erratum(
    "001",
    "after (25)",
    r"$E' = -(M\psi'^2 + K)\,\epsilon(\theta' - \epsilon')$ modulo $\epsilon^2$",
    r"modulo $\epsilon^4$; it is itself of order $\epsilon^2$",
)
@pytest.mark.parametrize("direction", [1, -1])
@pytest.mark.parametrize("e", [0.02, -0.01])
def test_eq_24_25_order_of_the_printed_energy_rate(e, direction):
    """Printed E' = -(M psi'^2 + K) e (theta' - e') 'mod e^2' is itself of order e^2. The exact rate exceeds it by
    sign(psi') a psi' (I - 2M) e^4/(6(I + M)) and terms of order e^6."""
    now = rocard_now(ROCARD_START | {"epsilon": e, "psi'": 1.8 * direction})
    exact, printed = now[ROCARD_ENERGY_RATE], now["-(M*psi'^2 + K)*epsilon*(theta' - epsilon')"]
    assert abs(printed) > e**2
    predicted = 3.0 * 1.8 * (0.7 - 2 * 1.5) * e**4 / (6 * (0.7 + 1.5))
    assert agree((exact - printed) / predicted, 1, e**2)


def test_eq_24_25_printed_energy_rate_is_not_exact():
    """At epsilon = 0.6 the printed rate is off by much more than round-off."""
    now = rocard_now(ROCARD_START | {"epsilon": 0.6})
    assert abs(now[ROCARD_ENERGY_RATE] - now["-(M*psi'^2 + K)*epsilon*(theta' - epsilon')"]) > WRONG


@pytest.mark.parametrize("e", [0.02, -0.01])
def test_eq_24_spin_to_first_order(e):
    """Before the rate of energy: (I + M) psi'' = -M psi' e (theta' - e') up to higher order."""
    now = rocard_now(ROCARD_START | {"epsilon": e})
    assert agree(now["(I + M)*psi''"] / now["-M*psi'*epsilon*(theta' - epsilon')"], 1, e**2)


def test_eq_18_to_25_reference_motion():
    """The reference motion at t = 0: accelerations, epsilon' and multipliers with their signs."""
    now = rocard_now(ROCARD_START)
    expected = {
        "psi''": -0.030561585397270375,
        "theta''": -0.3333333333333333,
        "x1''": -0.13077276757441805,
        "x2''": 0.26912620039910773,
        "epsilon'": 0.43463805319812976,
        "lambda1": 0.19615915136162707,
        "lambda2": -0.4036893005986616,
        "lambda3": -0.3,
    }
    assert agree([now[name] for name in expected], list(expected.values()))


def test_eq_18_to_25_reference_motion_at_its_end():
    """The reference motion at t = 2, from the library's rows and the derivatives of (18), (19), which are linear in the unknowns."""
    equations = rocard()
    constraints = [row(equations, f"kinematic[{k}]") for k in range(3)]
    rows = [r.residual for r in equations.eliminate().rows if r.label.startswith("E_")] + constraints
    rows = sympy.Matrix([*rows, *[equations.total(e) for e in constraints[:2]]])
    rows = rows.xreplace({z: ROCARD[z.name] for z in rows.free_symbols if z.name in ROCARD})
    unknowns, state = jets(equations, "psi'' theta'' epsilon' x1' x2' x1'' x2''"), jets(equations, " ".join(ROCARD_START))
    affine = [rows.jacobian(unknowns), -rows.xreplace(dict.fromkeys(unknowns, sympy.S.Zero))]
    numbers = sympy.lambdify(state, affine, [{"Sign": np.sign}, "numpy"])

    def rate(_, y):
        matrix, right = numbers(*y)
        known = dict(zip(unknowns, np.linalg.solve(matrix, np.ravel(right)), strict=True)) | dict(zip(state, y, strict=True))
        return [known[z.d()] for z in state]

    run = solve_ivp(rate, (0, 2), list(ROCARD_START.values()), method="DOP853", rtol=1e-13, atol=1e-14)
    expected = {
        "psi": 3.666204903745213,
        "theta": 0.7424669230441151,
        "epsilon": -0.002488766298465032,
        "x1": 2.958991916344226,
        "x2": 1.707209962233198,
        "psi'": 1.697613748163916,
        "theta'": -0.1787364047191673,
    }
    assert agree(run.y[:, -1], [expected[z.name] for z in state], 1e-11)


# Section 4: the principle


GENERAL = ch.System(
    "q r",
    "m k",
    lagrangian="m/2*(1 + r^2)*q'^2 + m/2*r'^2 + k*q*r' + k*q'^4/4 - k*cos(q)*r",
    kinematic=["q' = sin(r)"],
    variational=["r'*δq + q*δr = 0"],
)


def test_section_4_sign_of_the_euler_lagrange_operator():
    """Section 4: EL_i = d/dt dL/dq'^i - dL/dq^i, the library's sign (000 has the opposite one)."""
    equations = ch.derive(GENERAL, ch.VirtualWork())
    first = "(m*(1 + r^2) + 3*k*q'^2)*q'' + 2*m*r*r'*q' - k*r' - k*sin(q)*r - lambda1*r'"
    second = "m*r'' + k*q' - m*r*q'^2 + k*cos(q) - lambda1*q"
    assert vanishes(row(equations, "E_q") - ch.parse(first, equations))
    assert vanishes(row(equations, "E_r") - ch.parse(second, equations))


def rocard_matrix(theta):
    """R_V of (21)-(23) in the order psi theta epsilon x1 x2."""
    c, s = math.cos(theta), math.sin(theta)
    return np.array([[c, 0, 0, -1, 0], [s, 0, 0, 0, -1], [0, 1, -1, 0, 0]])


@pytest.mark.erratum("001", "section 4", r"$EL_i \in R_V^\circ$", "$EL$ lies in the row span of $R_V$, the annihilator of $C_V$")
@pytest.mark.parametrize("state", rocard_states(8))
def test_section_4_dynamical_equations_printed_space_fails(state):
    """Section 4: EL lies in the row span of R_V, the annihilator of C_V. The paper prints EL in R_V^o, the kernel of R_V: R_V EL != 0."""
    now = rocard_now(state)
    operator = np.array([now["I*psi''"], now["J*theta''"], now["K*epsilon"], now["M*x1''"], now["M*x2''"]])
    matrix = rocard_matrix(state["theta"])
    assert agree(matrix.T @ [now["lambda1"], now["lambda2"], now["lambda3"]], operator)
    assert np.abs(matrix @ operator).max() > WRONG
    c, s = math.cos(state["theta"]), math.sin(state["theta"])
    assert agree(np.array([[1, 0, 0, c, s], [0, 1, 1, 0, 0]]) @ operator, [0, 0])


@pytest.mark.erratum("001", "(26)", "$R_K$ as a map of positions and velocities", r"it contains $\psi''$")
def test_eq_26_27_kinematic_map_contains_the_acceleration():
    """(26), (27): R_K of the tyre, n = 5, k = 2, r = 3, l = 0. The arguments printed in (26) lack psi'', on which (27) depends."""
    system = ch.gallery("rocard").system
    assert (len(system.coordinates), len(system.kinematic)) == (5, 3)
    assert [constraint.order for constraint in system.kinematic] == [1, 1, 2]
    assert vanishes(system.kinematic[2].residual.diff(ch.parse("psi''", system)) + ch.parse("tan(epsilon)", system))
    coefficients = [c for r in system.variational for c in r.coefficients.values()]
    assert {z.name for c in coefficients for z in c.free_symbols} == {"theta"}


def test_section_4_chetaev_first_order():
    """Section 4: for R_K(q, q') = 0, nonlinear, Chetaev's R_V is dR_K/dq'."""
    system = ch.System("x y z", "m c", lagrangian="m/2*(x'^2 + y'^2 + z'^2)", kinematic=["x'^2*y + y'^2 - c*x'*z'^3 = z"])
    equations = ch.derive(system, ch.Chetaev())
    assert forces_are(equations, {"x": "lambda1*(2*x'*y - c*z'^3)", "y": "lambda1*2*y'", "z": "-3*lambda1*c*x'*z'^2"})


def test_section_4_dalembert_is_chetaev_for_linear_rows():
    """Section 4: for a distribution, k = 1 and l = 0, C_V is C_K itself under both principles."""
    system = ch.System("x y z", "m", lagrangian="m/2*(x'^2 + y'^2 + z'^2)", kinematic=["z' = y*x'", "x'*cos(z) + y'*sin(z) = 0"])
    forces = {"x": "-lambda1*y + lambda2*cos(z)", "y": "lambda2*sin(z)", "z": "lambda1"}
    assert forces_are(ch.derive(system, ch.DAlembert()), forces)
    assert forces_are(ch.derive(system, ch.Chetaev()), forces)


CURVATURE = ch.System("x y", "m k", lagrangian="m/2*(x'^2 + y'^2)", kinematic=["x'*y'' - y'*x'' = k*(x'^2 + y'^2)^(3/2)"])


def test_remark_4_1_chetaev_second_order():
    """Remark 4.1: for R_K(q, q', q'') = 0 the extended R_V is dR_K/dq''; here for a path of curvature k."""
    assert forces_are(ch.derive(CURVATURE, ch.Chetaev()), {"x": "-lambda1*y'", "y": "lambda1*x'"})


@pytest.mark.parametrize("velocity", [(0.3, -0.8), (-1.2, 0.5), (0.9, 1.1)])
def test_remark_4_1_motion_of_prescribed_curvature(velocity):
    """Remark 4.1: the force is normal to the velocity, so x'' = -k |v| y', y'' = k |v| x', and lambda1 = m k |v|."""
    start = {"x": 0, "y": 0, "x'": velocity[0], "y'": velocity[1]}
    now = ch.evaluate(ch.derive(CURVATURE, ch.Chetaev()), start, parameters={"m": 1.4, "k": 0.6})
    speed = math.hypot(*velocity)
    assert agree([now["x''"], now["y''"]], [-0.6 * speed * velocity[1], 0.6 * speed * velocity[0]])
    assert agree(now["lambda1"], 1.4 * 0.6 * speed)


def test_remark_4_1_does_not_give_rocards_variational_constraints():
    """Section 4: C_V of the tyre is no consequence of C_K. The highest derivatives of (18)-(20) are dx1', dx2', -tan(epsilon) dpsi''."""
    system = ch.gallery("rocard").system
    with pytest.raises(ch.PrincipleError):
        ch.derive(system, ch.Chetaev())
    equations = ch.derive(system.replace(variational=None), ch.Chetaev())
    spin = "-lambda1*cos(theta - epsilon) - lambda2*sin(theta - epsilon) - lambda3*tan(epsilon)"
    assert forces_are(equations, {"psi": spin, "x1": "lambda1", "x2": "lambda2"})


# Section 4: Greidanus' tyre


GREIDANUS_SHARED = "psi theta epsilon xi psi' theta' xi'"


def greidanus():
    return ch.derive(ch.gallery("greidanus"))


def greidanus_x():
    return ch.derive(ch.gallery("greidanus-x"))


def greidanus_states(seed, count=4):
    """Random data of the tyre with its contact zone at (x1, x2)."""
    rng = np.random.default_rng(seed)
    names = [*GREIDANUS_SHARED.split(), "x1", "x2"]
    return [dict(zip(names, rng.uniform(-0.6, 0.6, len(names)), strict=True)) for _ in range(count)]


def in_y(state):
    """(34), (35): y1 = x1 + xi sin(theta), y2 = x2 - xi cos(theta)."""
    y1 = state["x1"] + state["xi"] * math.sin(state["theta"])
    y2 = state["x2"] - state["xi"] * math.cos(state["theta"])
    return {name: state[name] for name in GREIDANUS_SHARED.split()} | {"y1": y1, "y2": y2}


def greidanus_now(state):
    return ch.evaluate(greidanus(), in_y(state), parameters=GREIDANUS)


def y_in_x(text):
    """An expression in y1'', y2'' as one in the x-coordinates, with (34), (35) differentiated twice by hand."""
    y1 = "(x1'' + xi''*sin(theta) + 2*xi'*theta'*cos(theta) + xi*theta''*cos(theta) - xi*theta'^2*sin(theta))"
    y2 = "(x2'' - xi''*cos(theta) + 2*xi'*theta'*sin(theta) + xi*theta''*sin(theta) + xi*theta'^2*cos(theta))"
    return text.replace("y1''", y1).replace("y2''", y2)


GREIDANUS_DYNAMICS = {
    42: "I*psi'' + M*y1''*cos(theta) + M*y2''*sin(theta)",
    43: "J*theta'' + M*xi*y1''*cos(theta) + M*xi*y2''*sin(theta) + beta*epsilon",
    44: "-M*y1''*sin(theta) + M*y2''*cos(theta) - alpha*xi",
}
GREIDANUS_DISPLACEMENTS = {
    42: {"psi": "1", "y1": "cos(theta)", "y2": "sin(theta)"},
    43: {"theta": "1", "epsilon": "1", "y1": "xi*cos(theta)", "y2": "xi*sin(theta)"},
    44: {"xi": "-1", "y1": "-sin(theta)", "y2": "cos(theta)"},
}
GREIDANUS_X_DISPLACEMENTS = {
    42: {"psi": "1", "x1": "cos(theta)", "x2": "sin(theta)"},
    43: {"theta": "1", "epsilon": "1"},
    44: {"xi": "-1"},
}


def test_eq_28_29_30_greidanus_kinematic_constraints():
    """(28)-(30), in the coordinates of the contact zone."""
    rows = ["x1' - psi'*cos(theta - epsilon)", "x2' - psi'*sin(theta - epsilon)", "theta' - epsilon' - psi'*(alpha*xi + beta*epsilon)"]
    for k, text in enumerate(rows):
        assert vanishes(row(greidanus_x(), f"kinematic[{k}]") - ch.parse(text, greidanus_x()))


def test_eq_31_32_33_greidanus_variational_constraints():
    """(31)-(33), in the coordinates of the contact zone."""
    forces = {
        "psi": "-lambda1*cos(theta) - lambda2*sin(theta)",
        "x1": "lambda1",
        "x2": "lambda2",
        "theta": "lambda3",
        "epsilon": "-lambda3",
    }
    assert forces_are(greidanus_x(), forces)


def test_eq_34_35_projection_of_the_centre():
    """(34), (35): in the x-form the kinetic energy is that of the wheel's centre y, (34), (35) differentiated by hand."""
    equations = greidanus_x()
    centre = "(x1' + xi'*sin(theta) + xi*theta'*cos(theta))^2 + (x2' - xi'*cos(theta) + xi*theta'*sin(theta))^2"
    lagrangian = f"I/2*psi'^2 + J/2*theta'^2 + M/2*({centre}) - alpha/2*xi^2 - beta/2*epsilon^2"
    assert vanishes(equations.lagrangian - ch.parse(lagrangian, equations))


def test_eq_36_37_38_greidanus_kinematic_constraints_in_y():
    """(36)-(38) and the Lagrangian, in the coordinates of the wheel's centre."""
    equations = greidanus()
    lagrangian = "I/2*psi'^2 + J/2*theta'^2 + M/2*(y1'^2 + y2'^2) - alpha/2*xi^2 - beta/2*epsilon^2"
    rows = [
        "y1' - psi'*cos(theta - epsilon) - xi'*sin(theta) - xi*cos(theta)*theta'",
        "y2' - psi'*sin(theta - epsilon) + xi'*cos(theta) - xi*sin(theta)*theta'",
        "theta' - epsilon' - psi'*(alpha*xi + beta*epsilon)",
    ]
    assert vanishes(equations.lagrangian - ch.parse(lagrangian, equations))
    for k, text in enumerate(rows):
        assert vanishes(row(equations, f"kinematic[{k}]") - ch.parse(text, equations))


def test_eq_39_40_41_greidanus_variational_constraints_in_y():
    """(39)-(41), in the coordinates of the wheel's centre."""
    forces = {
        "psi": "-lambda1*cos(theta) - lambda2*sin(theta)",
        "theta": "-lambda1*xi*cos(theta) - lambda2*xi*sin(theta) + lambda3",
        "epsilon": "-lambda3",
        "y1": "lambda1",
        "y2": "lambda2",
        "xi": "-lambda1*sin(theta) + lambda2*cos(theta)",
    }
    assert forces_are(greidanus(), forces)


@pytest.mark.parametrize("number", [42, 43, 44])
def test_eq_42_43_44_greidanus_dynamics(number):
    """(42)-(44): the virtual work in a basis of (39)-(41)."""
    found = virtual_work(greidanus(), GREIDANUS_DISPLACEMENTS[number])
    assert vanishes(found - ch.parse(GREIDANUS_DYNAMICS[number], greidanus()))


def test_eq_42_43_44_greidanus_dynamics_by_elimination():
    """(42)-(44) are what `eliminate` leaves, (44) up to its sign."""
    rows = [r.residual for r in greidanus().eliminate().rows if r.label.startswith("E_")]
    typed = [sign * ch.parse(GREIDANUS_DYNAMICS[k], greidanus()) for k, sign in ((42, 1), (43, 1), (44, -1))]
    assert len(rows) == 3
    assert all(vanishes(found - expected) for found, expected in zip(rows, typed, strict=True))


@pytest.mark.parametrize("number", [42, 43, 44])
def test_eq_42_43_44_greidanus_dynamics_in_x(number):
    """(42)-(44) again, from the x-form and (31)-(33), with y = y(x, xi, theta) of (34), (35): the two forms are equivalent."""
    found = virtual_work(greidanus_x(), GREIDANUS_X_DISPLACEMENTS[number])
    assert vanishes(found - ch.parse(y_in_x(GREIDANUS_DYNAMICS[number]), greidanus_x()))


@pytest.mark.parametrize("state", greidanus_states(10))
def test_eq_36_to_44_greidanus_motion(state):
    """(36)-(44) on the motion, with the reactions lambda1, lambda2 = M y'' and lambda3 = -beta epsilon."""
    now = greidanus_now(state)
    assert agree([now[text] for text in GREIDANUS_DYNAMICS.values()], [0, 0, 0])
    assert agree(now["y1'"], now["psi'*cos(theta - epsilon) + xi'*sin(theta) + xi*cos(theta)*theta'"])
    assert agree(now["y2'"], now["psi'*sin(theta - epsilon) - xi'*cos(theta) + xi*sin(theta)*theta'"])
    assert agree(now["epsilon'"], now["theta' - psi'*(alpha*xi + beta*epsilon)"])
    assert agree([now["lambda1"], now["lambda2"], now["lambda3"]], [now["M*y1''"], now["M*y2''"], now["-beta*epsilon"]])


@pytest.mark.parametrize("state", greidanus_states(11))
def test_eq_28_to_35_greidanus_motion_in_x(state):
    """(28)-(35) on the motion: the equations of the x-form, with y'' typed out, and its reactions."""
    now = ch.evaluate(greidanus_x(), state, parameters=GREIDANUS)
    assert agree([now[y_in_x(text)] for text in GREIDANUS_DYNAMICS.values()], [0, 0, 0])
    assert agree([now["x1'"], now["x2'"]], [now["psi'*cos(theta - epsilon)"], now["psi'*sin(theta - epsilon)"]])
    assert agree([now["lambda1"], now["lambda2"]], [now[y_in_x("M*y1''")], now[y_in_x("M*y2''")]])
    assert agree(now["lambda3"], now["-beta*epsilon"])


@pytest.mark.parametrize("state", greidanus_states(12))
def test_eq_34_35_x_form_and_y_form_agree(state):
    """The x-form and the y-form have the same motion and the same multipliers; y'' is that of (34), (35)."""
    x, y = ch.evaluate(greidanus_x(), state, parameters=GREIDANUS), greidanus_now(state)
    names = ["psi''", "theta''", "epsilon'", "epsilon''", "xi''", "lambda1", "lambda2", "lambda3"]
    assert agree([x[name] for name in names], [y[name] for name in names])
    assert agree([x[y_in_x("y1''")], x[y_in_x("y2''")]], [y["y1''"], y["y2''"]])


GREIDANUS_ENERGY_RATE = "I*psi'*psi'' + J*theta'*theta'' + M*(y1'*y1'' + y2'*y2'') + alpha*xi*xi' + beta*epsilon*epsilon'"


@pytest.mark.parametrize("state", greidanus_states(13))
def test_eq_42_43_44_exact_energy_rate(state):
    """Exactly, E' = -beta e (theta' - e') - alpha psi' xi sin(e) + I psi' psi'' (1 - cos(e))."""
    now = greidanus_now(state)
    exact = "-beta*epsilon*(theta' - epsilon') - alpha*psi'*xi*sin(epsilon) + I*psi'*psi''*(1 - cos(epsilon))"
    assert agree(now[GREIDANUS_ENERGY_RATE], now[exact])


def test_eq_28_to_33_dalembert_gives_another_motion():
    """Section 4: C_V is not the distribution (28)-(30), though the rows are linear. d'Alembert is refused, and would move otherwise."""
    system = ch.gallery("greidanus-x").system
    assert [constraint.kind for constraint in system.kinematic] == ["linear"] * 3
    with pytest.raises(ch.PrincipleError):
        ch.derive(system, ch.DAlembert())
    state = greidanus_states(14)[0]
    own = ch.evaluate(greidanus_x(), state, parameters=GREIDANUS)
    other = ch.evaluate(ch.derive(system.replace(variational=None), ch.DAlembert()), state, parameters=GREIDANUS)
    assert abs(own["theta''"] - other["theta''"]) > WRONG
    assert abs(other[y_in_x(GREIDANUS_DYNAMICS[42])]) > WRONG


def test_eq_42_43_without_lateral_displacement_are_rocards():
    """For alpha -> infinity: with xi = xi' = xi'' = 0 and K = beta, (42), (43) are (24), (25)."""
    equations = greidanus_x()
    straight = dict.fromkeys(jets(equations, "xi xi' xi''"), sympy.S.Zero)
    expected = {42: "I*psi'' + M*x1''*cos(theta) + M*x2''*sin(theta)", 43: "J*theta'' + beta*epsilon"}
    for number, text in expected.items():
        found = virtual_work(equations, GREIDANUS_X_DISPLACEMENTS[number]).xreplace(straight)
        assert vanishes(found - ch.parse(text, equations))


@pytest.mark.erratum(
    "001",
    "after (44)",
    r"$\alpha\to\infty$ gives Rocard's tyre",
    r"(30) tends to $\theta' - \epsilon' = \beta\psi'\epsilon/(1 - M\psi'^2)$, not to (20)",
)
def test_eq_30_44_limit_is_not_rocards_constraint():
    """For alpha -> infinity the side force alpha xi of (44) stays finite, and (30) tends to theta' - e' = beta psi' e/(1 - M psi'^2), to
    first order in e, where psi'' = O(e^2) drops out. Rocard's (20) gives theta' - e' = a e/(M psi') instead."""
    equations = greidanus_x()
    alpha, xi, e, rate, spin = jets(equations, "alpha xi epsilon epsilon' psi'")
    rows = [row(equations, f"kinematic[{k}]") for k in range(3)]
    acceleration = {z: z - equations.total(r) for z, r in zip(jets(equations, "x1'' x2''"), rows, strict=False)}
    force = sympy.Symbol("force")
    quasistatic = {xi: force / alpha, **dict.fromkeys(jets(equations, "xi' xi'' psi''"), sympy.S.Zero)}
    lateral = virtual_work(equations, GREIDANUS_X_DISPLACEMENTS[44]).xreplace(acceleration).subs(quasistatic)
    limit = sympy.limit(sympy.expand(lateral), alpha, sympy.oo)
    [found] = sympy.solve([limit, sympy.expand(rows[2].subs(quasistatic))], [force, rate], dict=True)
    slope = (ch.parse("theta'", equations) - found[rate]).diff(e).subs(e, 0)
    assert vanishes(slope - ch.parse("beta*psi'/(1 - M*psi'^2)", equations))
    assert slope.subs(spin, 0) == 0  # Rocard's a/(M psi') is infinite there, whatever a is


def straight_rolling(equations):
    """The characteristic polynomial of the library's rows at straight rolling psi' = v along x1, without its zero roots and (I + M)."""
    s, v = sympy.symbols("s v")
    names = [q.base for q in equations.system.coordinates]
    base = {z: sympy.S.Zero for n in names if n not in ("psi", "y1", "y2") for z in jets(equations, f"{n} {n}' {n}''")}
    base |= dict.fromkeys(jets(equations, "y2' psi'' y1'' y2''"), sympy.S.Zero) | dict.fromkeys(jets(equations, "psi' y1'"), v)
    rows = [r.residual for r in equations.eliminate().rows]
    assert all(sympy.simplify(r.subs(base)) == 0 for r in rows)
    matrix = [[sum(r.diff(z).subs(base) * s**k for k, z in enumerate(jets(equations, f"{n} {n}' {n}''"))) for n in names] for r in rows]
    inertia = ch.parse("I + M", equations)
    return sympy.Poly(sympy.cancel(sympy.Matrix(matrix).det() / (s**5 * inertia)), s), v


def test_eq_36_to_44_characteristic_polynomial_of_straight_rolling():
    """Straight rolling, linearised from (36)-(44) by hand, and Hurwitz' determinant -J^2 M^2 v^4 alpha beta^2 (J alpha - M beta)."""
    equations = greidanus()
    polynomial, v = straight_rolling(equations)
    alpha, beta, J, M = jets(equations, "alpha beta J M")
    by_hand = [J * M, J * M * v * beta, J * alpha * (1 - M * v**2) + M * beta, J * v * alpha * beta, alpha * beta * (1 - M * v**2)]
    assert all(vanishes(found - expected) for found, expected in zip(polynomial.all_coeffs(), by_hand, strict=True))
    a4, a3, a2, a1, a0 = polynomial.all_coeffs()
    assert vanishes(a3 * a2 * a1 - a4 * a1**2 - a3**2 * a0 + J**2 * M**2 * v**4 * alpha * beta**2 * (J * alpha - M * beta))


def growth(alpha, speed):
    """The largest real part of the roots of straight rolling, and its root's."""
    polynomial, v = straight_rolling(greidanus())
    values = {z: (GREIDANUS | {"alpha": alpha})[z.name] for c in polynomial.all_coeffs() for z in c.free_symbols if z != v}
    return max(np.roots([float(c.subs(values).subs(v, speed)) for c in polynomial.all_coeffs()]).real)


@pytest.mark.parametrize(("alpha", "speed", "stable"), [(1.2, 0.6, True), (3.2, 0.6, True), (3.5, 0.6, False), (1.2, 0.9, False)])
def test_eq_36_to_44_stability_of_straight_rolling(alpha, speed, stable):
    """Straight rolling is stable iff alpha < beta M/J = 3.33 and M psi'^2 < 1, for psi' > 0."""
    assert (growth(alpha, speed) < 0) == stable


@pytest.mark.erratum(
    "001",
    "after (44)",
    r"dissipative for large $\alpha$",
    r"unstable there; straight rolling is stable iff $\alpha < \beta M/J$ and $M\psi'^2 < 1$, for $\psi' > 0$",
)
@pytest.mark.parametrize("speed", [0.3, 0.6])
def test_section_4_high_alpha_is_not_dissipative(speed):
    """The paper says that for high alpha the tyre is dissipative. It is unstable: the fast mode grows at M beta v^3/(2(1 - M v^2))."""
    found = growth(1e9, speed)
    assert found > WRONG
    assert agree(found, 1.5 * 2.0 * speed**3 / (2 * (1 - 1.5 * speed**2)), 1e-5)


def test_section_4_energy_grows_backward():
    """The paper's dissipation fails for psi' < 0 at any alpha: with alpha = 1e4 and a quasi-static xi energy grows."""
    values, speed, e = GREIDANUS | {"alpha": 1e4}, -0.6, 0.05
    bend = 2.0 * speed * e / (1 - 1.5 * speed**2)  # theta' - epsilon' of the quasi-static limit
    state = {"psi": 0, "theta": 0, "epsilon": e, "x1": 0, "x2": 0, "xi": 1.5 * speed * bend / 1e4, "psi'": speed, "theta'": 0.1, "xi'": 0}
    now = ch.evaluate(greidanus(), in_y(state), parameters=values)
    assert agree(now["theta' - epsilon'"], bend)
    assert now[GREIDANUS_ENERGY_RATE] > WRONG
    forward = ch.evaluate(greidanus(), in_y(state | {"psi'": -speed}), parameters=values)
    assert forward[GREIDANUS_ENERGY_RATE] < 0


# Section 5: the equations of motion by the symplectic form


def test_eq_46_symplectic_form_gives_minus_the_operator():
    """(46), M_V: with omega_L = dq^i ^ dp_i, i omega_L - dE_L = -EL_i dq^i along a second order curve, and no dq'-part."""
    equations = ch.derive(GENERAL.replace(kinematic=[], variational=None))
    q, v, a = (jets(equations, names) for names in ("q r", "q' r'", "q'' r''"))
    lagrangian = equations.lagrangian
    p = [lagrangian.diff(z) for z in v]
    energy = sum(p[i] * v[i] for i in range(2)) - lagrangian
    rate = [sum(p[i].diff(q[j]) * v[j] + p[i].diff(v[j]) * a[j] for j in range(2)) for i in range(2)]
    horizontal = [sum(v[i] * p[i].diff(q[j]) for i in range(2)) - rate[j] - energy.diff(q[j]) for j in range(2)]
    vertical = [sum(v[i] * p[i].diff(v[j]) for i in range(2)) - energy.diff(v[j]) for j in range(2)]
    assert all(vanishes(e) for e in vertical)
    assert all(vanishes(e + row(equations, label)) for e, label in zip(horizontal, ("E_q", "E_r"), strict=True))
