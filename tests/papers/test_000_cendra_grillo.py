"""Cendra, Grillo, Lagrangian systems with higher order constraints, J. Math. Phys. 48 (2007): its equations, by number.

The paper writes EL = -(d/dt dL/dq' - dL/dq) and, in Theorem 20, EL = lambda FF. The library writes E = -EL = u + lambda R_V, so its
multipliers are minus the paper's. Right-hand sides are typed from the paper; where a printed form is wrong, the test asserts that it
fails and that the corrected one holds.
"""

import math

import numpy as np
import pytest
import sympy
from scipy.integrate import solve_ivp

import chetaev as ch

TOLERANCE = 1e-12
WRONG = 1e-3
MODULES = [{"Sign": np.sign}, "numpy"]

CART = {"m": 0.5, "l": 0.8, "I": 0.4, "g": 9.81, "a": 2.0, "b": -1.7, "mu": 0.1, "nu": 0.2}
CART_START = {"x": 0.3, "theta": 0.5, "theta'": -0.4}
CART_LAGRANGIAN = "m/2*x'^2 - m*l*theta'*x'*cos(theta) + I/2*theta'^2 - m*g*l*cos(theta)"
FLUID = {"m": 1.3, "b": 0.1, "c": 0.3}
FLUID_START = {"x": 1.0, "y": -0.5, "z": 0.7, "x'": 0.4, "y'": 0.9, "z'": -0.3}
TYRE = {"I": 0.7, "J": 0.9, "M": 1.5, "K": 2.0, "a": 3.0}
TYRE_START = {"psi": 0.2, "theta": 0.5, "epsilon": 0.15, "x1": 0.1, "x2": -0.2, "psi'": 1.8, "theta'": 0.6}


def agree(found, expected, tolerance=TOLERANCE):
    """Equal up to round-off, relative for numbers greater than 1."""
    found, expected = np.atleast_1d(found).astype(float), np.atleast_1d(expected).astype(float)
    return found.shape == expected.shape and bool(np.all(np.abs(found - expected) <= tolerance * np.maximum(1.0, np.abs(expected))))


def vanishes(expression):
    """Whether an expression is zero identically."""
    return sympy.simplify(sympy.expand(expression)) == 0


def row(equations, label):
    """`lhs - rhs` of a row."""
    return next(r.residual for r in equations.rows if r.label == label)


def states(names, count=5, seed=0, size=1.0):
    """Random states: values for the jets of a space-separated list."""
    rng = np.random.default_rng(seed)
    return [dict(zip(names.split(), rng.uniform(-size, size, len(names.split())), strict=True)) for _ in range(count)]


def integrated(rows, unknowns, start, values, span):
    """The end of the motion that some rows, linear in the unknowns, give; the state is what the start names."""
    parameters = {z: values[z.name] for r in rows for z in r.free_symbols if z.name in values}
    rows = sympy.Matrix([r.xreplace(parameters) for r in rows])
    state = list(start)
    numbers = sympy.lambdify(state, [rows.jacobian(unknowns), -rows.xreplace(dict.fromkeys(unknowns, sympy.S.Zero))], MODULES)

    def rate(_, y):
        matrix, right = numbers(*y)
        top = dict(zip(unknowns, np.linalg.solve(matrix, np.ravel(right)), strict=True)) | dict(zip(state, y, strict=True))
        return [top[z.d()] for z in state]

    run = solve_ivp(rate, span, [float(start[z]) for z in state], method="DOP853", rtol=1e-13, atol=1e-14)
    assert run.success
    return dict(zip([z.name for z in state], run.y[:, -1], strict=True))


def jets(equations, names):
    """Jets by name."""
    return [ch.parse(name, equations) for name in names.split()]


# Section II: the Euler-Lagrange operator


SPHERE = ch.System(
    "u v",
    "m k B",
    lagrangian="m/2*(1 + u^2)*u'^2 + m/2*u^2*v'^2 + k*u'*v'*cos(v) + B*u^2*v' + B*u'^4/4 - k*u*sin(v)",
    name="curved",
)


@pytest.mark.parametrize("principle", [ch.Hamilton(), ch.VirtualWork()])
def test_eq_17_euler_lagrange_equations(principle):
    """(17): d/dt dL/dq' - dL/dq = 0, multiplied out by hand for a Lagrangian that is curved, gyroscopic and not quadratic.
    It is also virtual work with C_V = TQ (III.B, first example)."""
    system = SPHERE if principle == ch.Hamilton() else SPHERE.replace(variational=[])
    equations = ch.derive(system, principle)
    first = "(m*(1 + u^2) + 3*B*u'^2)*u'' + k*cos(v)*v'' + m*u*u'^2 - k*sin(v)*v'^2 - m*u*v'^2 - 2*B*u*v' + k*sin(v)"
    second = "m*u^2*v'' + 2*m*u*u'*v' + k*cos(v)*u'' + 2*B*u*u' + k*u*cos(v)"
    assert vanishes(row(equations, "E_u") - ch.parse(first, equations))
    assert vanishes(row(equations, "E_v") - ch.parse(second, equations))


def covariant_terms(equations, connection):
    """-D/Dt FL + BL and <FL, T(q', .)> by component, from the connection coefficients Gamma^k_ij with nabla_i d_j = Gamma^k_ij d_k."""
    q, v, a = (sympy.Matrix(jets(equations, names)) for names in ("u v", "u' v'", "u'' v''"))
    lagrangian = equations.lagrangian
    p = [lagrangian.diff(z) for z in v]
    rate = [sum(p[j].diff(q[i]) * v[i] + p[j].diff(v[i]) * a[i] for i in range(2)) for j in range(2)]
    pairs = [(i, k) for i in range(2) for k in range(2)]
    covariant = [rate[j] - sum(connection[k][i][j] * v[i] * p[k] for i, k in pairs) for j in range(2)]
    base = [lagrangian.diff(q[j]) - sum(connection[k][j][i] * v[i] * p[k] for i, k in pairs) for j in range(2)]
    torsion = [sum((connection[k][i][j] - connection[k][j][i]) * v[i] * p[k] for i, k in pairs) for j in range(2)]
    return [base[j] - covariant[j] for j in range(2)], torsion


def test_eq_27_28_torsion_free_connection_gives_minus_the_library_rows():
    """(27), (28): -D/Dt FL + BL, with any torsion-free connection, is -(d/dt dL/dq' - dL/dq), the opposite of the library's E."""
    equations = ch.derive(SPHERE)
    u, v = jets(equations, "u v")
    symmetric = [[[u * v, sympy.sin(u)], [sympy.sin(u), v]], [[u**2, sympy.cos(v)], [sympy.cos(v), u - v]]]
    operator, torsion = covariant_terms(equations, symmetric)
    assert torsion == [0, 0]
    for j, label in enumerate(("E_u", "E_v")):
        assert vanishes(operator[j] + row(equations, label))


@pytest.mark.erratum(
    "000",
    "Remark 8",
    r"$-D\,\mathbb{F}L + \mathbb{B}L + \langle \mathbb{F}L, T(\gamma', \cdot)\rangle = 0$",
    r"$-\langle \mathbb{F}L, T(\gamma', \cdot)\rangle$",
)
def test_remark_8_printed_sign_of_the_torsion_fails():
    """Remark 8: with torsion the equation is -D FL + BL - <FL, T(q', .)> = 0; the paper prints + <FL, T(q', .)>."""
    equations = ch.derive(SPHERE)
    u, v = jets(equations, "u v")
    skew = [[[u * v, sympy.sin(u)], [u, v]], [[u**2, sympy.cos(v)], [v**2, u - v]]]
    operator, torsion = covariant_terms(equations, skew)
    at = {z: 0.3 + 0.1 * k for k, z in enumerate(jets(equations, "u v u' v' u'' v'' m k B"))}
    for j, label in enumerate(("E_u", "E_v")):
        assert vanishes(operator[j] - torsion[j] + row(equations, label))
        assert abs((operator[j] + torsion[j] + row(equations, label)).subs(at)) > WRONG


# Section III: virtual displacements


def test_section_iii_b_holonomic_constraint_forces():
    """III.B: for w(q) = 0 the constraint forces are f_i = lambda dw/dq^i."""
    system = ch.System("x y z", "m g R", lagrangian="m/2*(x'^2 + y'^2 + z'^2) - m*g*z", kinematic=["x^2 + x*y + z^3 = R"])
    equations = ch.derive(system, ch.DAlembert())
    for q, force in {"x": "lambda1*(2*x + y)", "y": "lambda1*x", "z": "lambda1*3*z^2"}.items():
        assert vanishes(equations.reaction(q) - ch.parse(force, equations))


def test_section_iii_b_affine_constraint_forces():
    """III.B: for w_i(q) q'^i = gamma(q) d'Alembert's principle gives f_i = lambda w_i(q); gamma plays no part."""
    system = ch.System("x y", "m", lagrangian="m/2*(x'^2 + y'^2)", kinematic=["x'*cos(y) + (1 + x^2)*y' = sin(x*y)"])
    equations = ch.derive(system, ch.DAlembert())
    assert vanishes(equations.reaction("x") - ch.parse("lambda1*cos(y)", equations))
    assert vanishes(equations.reaction("y") - ch.parse("lambda1*(1 + x^2)", equations))


def test_eq_47_chetaev_forces_of_nonlinear_constraints():
    """(47): for w(q, q') = 0 Chetaev's principle gives f_i = lambda_a dw^a/dq'^i, with no part of dw/dq."""
    system = ch.System(
        "x y z",
        "m c",
        lagrangian="m/2*(x'^2 + y'^2 + z'^2)",
        kinematic=["x'^2 + x'*y'*sin(z) - c*z'^3 = x", "y'*exp(x'/c) = z'"],
    )
    equations = ch.derive(system, ch.Chetaev())
    forces = {
        "x": "lambda1*(2*x' + y'*sin(z)) + lambda2*y'*exp(x'/c)/c",
        "y": "lambda1*x'*sin(z) + lambda2*exp(x'/c)",
        "z": "-3*lambda1*c*z'^2 - lambda2",
    }
    for q, force in forces.items():
        assert vanishes(equations.reaction(q) - ch.parse(force, equations))


SERVO = ch.System(
    "x y z",
    "m k",
    lagrangian="m/2*(x'^2 + y'^2 + z'^2) + k*x*y'*z - k/2*(x^2 + z^4)",
    kinematic=["x' + y*z' = sin(z)"],
    variational=["δx*y' - 2*δy + x*δz = 0"],
    name="servo",
)


@pytest.mark.parametrize("state", states("x y z y' z'"))
def test_theorem_17_eq_48_generalized_lagrange_dalembert(state):
    """Theorem 17, (48): <EL, δq> = 0 for all δq in C_V, although C_V is not the distribution of C_K."""
    now = ch.evaluate(ch.derive(SERVO, ch.VirtualWork()), state, parameters={"m": 1.3, "k": 0.7})
    e_x, e_y, e_z = now["m*x'' - k*y'*z + k*x"], now["m*y'' + k*(x'*z + x*z')"], now["m*z'' - k*x*y' + 2*k*z^3"]
    assert agree(2 * e_x + now["y'"] * e_y, 0)  # δq = (2, y', 0)
    assert agree(2 * e_z + now["x"] * e_y, 0)  # δq = (0, x, 2)
    assert agree(now["x' + y*z'"], now["sin(z)"])


@pytest.mark.parametrize("state", states("x y z y' z'", seed=1))
def test_remark_18_eq_51_forces_of_constraint(state):
    """Remark 18, (51): -D FL + BL lies in F_V, the span of R_V; in the library's sign it is -lambda1 R_V."""
    now = ch.evaluate(ch.derive(SERVO, ch.VirtualWork()), state, parameters={"m": 1.3, "k": 0.7})
    operator = [-now["m*x'' - k*y'*z + k*x"], -now["m*y'' + k*(x'*z + x*z')"], -now["m*z'' - k*x*y' + 2*k*z^3"]]
    assert agree(operator, [-now["lambda1*y'"], 2 * now["lambda1"], -now["lambda1*x"]])
    assert agree([now.reaction(q) for q in "xyz"], [-e for e in operator])


def test_theorem_17_eliminated_rows_are_the_virtual_work():
    """(48) without multipliers: each row of `eliminate` is <E, δq> for a δq in C_V, up to a factor, and there are n - #C_V of them."""
    rows = [r.residual for r in ch.derive(SERVO, ch.VirtualWork()).eliminate().rows if r.label.startswith("E_")]
    e_x, e_y, e_z = (ch.parse(e, SERVO) for e in ("m*x'' - k*y'*z + k*x", "m*y'' + k*(x'*z + x*z')", "m*z'' - k*x*y' + 2*k*z^3"))
    x, slope = ch.parse("x", SERVO), ch.parse("y'", SERVO)
    stated = [2 * e_x + slope * e_y, 2 * e_z + x * e_y]
    tops = [ch.parse(f"{q}''", SERVO) for q in "xyz"]
    point = {z: 0.2 + 0.1 * k for k, z in enumerate(sorted({s for e in stated for s in e.free_symbols} - set(tops), key=str))}
    matrix = np.array([[float(f.subs(point)) for f in coefficients(e, tops)] for e in [*rows, *stated]])
    assert len(rows) == 2
    assert np.linalg.matrix_rank(matrix, tol=1e-10) == np.linalg.matrix_rank(matrix[:2], tol=1e-10) == 2


def coefficients(expression, unknowns):
    """The coefficients of an affine expression, the constant last."""
    return [*[expression.diff(z) for z in unknowns], expression.xreplace(dict.fromkeys(unknowns, sympy.S.Zero))]


# Section IV.A: friction as a constraint


ORBIT = {
    "coordinates": "r phi",
    "parameters": "m k h",
    "lagrangian": "m/2*(r'^2 + r^2*phi'^2) - k/2*(r - 1)^2 - k*sin(phi)",
    "where": {
        "E": "m/2*(r'^2 + r^2*phi'^2) + k/2*(r - 1)^2 + k*sin(phi)",
        "f1": "(1 + r^2)*r' + h*phi'",
        "f2": "h*r' + (0.5 + sin(phi)^2)*phi'",
    },
}
ORBIT_VALUES = {"m": 1.4, "k": 0.8, "h": 0.3}
ORBIT_STATES = [{**s, "r": 1.5 + s["r"] / 2} for s in states("r phi r' phi'", seed=2)]


def orbit_as_hocs():
    """(58), (59) of Theorem 20 for the orbit."""
    return ch.System(**ORBIT, kinematic=["E' = -(r'*f1 + phi'*f2)"], variational=["f1*δr + f2*δphi = 0"], name="orbit, constrained")


def orbit_with_friction():
    """The orbit with Rayleigh's dissipation function F = A_ij q'^i q'^j/2."""
    return ch.System(**ORBIT, dissipation="(r'*f1 + phi'*f2)/2", name="orbit, friction")


def friction_accelerations(now):
    """(57) solved by hand: m r'' = m r phi'^2 - k(r - 1) - f1, m r^2 phi'' = -2 m r r' phi' - k cos(phi) - f2."""
    radial = now["(m*r*phi'^2 - k*(r - 1) - (1 + r^2)*r' - h*phi')/m"]
    return [radial, now["(-2*m*r*r'*phi' - k*cos(phi) - h*r' - (0.5 + sin(phi)^2)*phi')/(m*r^2)"]]


@pytest.mark.erratum(
    "000", "(56)", r"friction paired with $\delta\gamma'$", r"$\langle \mathbb{F}\mathcal{F}(\gamma'), \delta\gamma\rangle$"
)
@pytest.mark.parametrize("state", ORBIT_STATES)
def test_eq_55_56_57_friction_force(state):
    """(57): -D FL + BL - FF = 0 with FF = A_ij q'^j; in the corrected (56) FF is paired with δq. Paired with δq', as printed, it fails."""
    now = ch.evaluate(ch.derive(orbit_with_friction()), state, parameters=ORBIT_VALUES)
    assert agree([now["r''"], now["phi''"]], friction_accelerations(now))
    assert agree(now["(r'*f1 + phi'*f2)/2"], now["(1 + r^2)*r'^2/2 + h*r'*phi' + (0.5 + sin(phi)^2)*phi'^2/2"])
    printed = "m*r'' - m*r*phi'^2 + k*(r - 1) - f1'"  # what integration by parts makes of the printed pairing
    assert abs(now[printed]) > WRONG


@pytest.mark.parametrize("state", ORBIT_STATES)
def test_theorem_20_eq_58_59_friction_as_constraint(state):
    """Theorem 20: the HOCS (L, C_K, C_V) of (58), (59) has the motion of (57), and the paper's multiplier is 1, the library's -1."""
    now = ch.evaluate(ch.derive(orbit_as_hocs(), ch.VirtualWork()), state, parameters=ORBIT_VALUES)
    assert agree([now["r''"], now["phi''"]], friction_accelerations(now))
    assert agree(now["lambda1"], -1)


@pytest.mark.erratum(
    "000",
    "(61)",
    r"$\frac{\partial E}{\partial q'}q' + \frac{\partial E}{\partial q''}q'' = -2F$",
    r"$\frac{\partial E}{\partial q}q' + \frac{\partial E}{\partial q'}q'' = -2F$",
)
@pytest.mark.parametrize("state", ORBIT_STATES)
def test_eq_61_energy_constraint_printed_form_fails(state):
    """(61): dE/dq q' + dE/dq' q'' = -2F. The paper prints dE/dq' q' + dE/dq'' q'', which is twice the kinetic energy and not -2F."""
    now = ch.evaluate(ch.derive(orbit_with_friction()), state, parameters=ORBIT_VALUES)
    friction = now["(1 + r^2)*r'^2 + 2*h*r'*phi' + (0.5 + sin(phi)^2)*phi'^2"]
    corrected = "(m*r*phi'^2 + k*(r - 1))*r' + k*cos(phi)*phi' + m*r'*r'' + m*r^2*phi'*phi''"
    assert agree(now[corrected], -friction)
    printed = "m*r'*r' + m*r^2*phi'*phi'"
    assert abs(now[printed] + friction) > WRONG


@pytest.mark.erratum("000", "(62)", r"points listed as $(q, \delta q, q', \delta q')$", r"$(q, q', \delta q)$")
def test_eq_62_variational_constraint_of_friction():
    """(62): C_V is dF/dq'^i δq^i = A_ij q'^i δq^j = 0 at points (q, q', δq); the paper lists (q, δq, q', δq')."""
    equations = ch.derive(orbit_as_hocs(), ch.VirtualWork())
    assert vanishes(equations.reaction("r") - ch.parse("lambda1*((1 + r^2)*r' + h*phi')", equations))
    assert vanishes(equations.reaction("phi") - ch.parse("lambda1*(h*r' + (0.5 + sin(phi)^2)*phi')", equations))


@pytest.mark.erratum("000", "(63)", r"$-\langle dE(\gamma'), \gamma'\rangle$", r"$-\langle dE(\gamma'), \gamma''\rangle$")
def test_lemma_22_eq_60_63_power_of_the_euler_lagrange_expression():
    """Lemma 22, (63): E_i q'^i = dE/dt with E = dL/dq' q' - L (60), along any curve. The printed pairing <dE, q'> lacks the q''-part."""
    equations = ch.derive(SPHERE)
    energy = ch.parse(
        "m/2*(1 + u^2)*u'^2 + m/2*u^2*v'^2 + k*u'*v'*cos(v) + 3*B*u'^4/4 + k*u*sin(v)", equations
    )  # the gyroscopic term drops out, the quartic one is tripled
    u, v, du, dv, ddu, ddv = jets(equations, "u v u' v' u'' v''")
    power = row(equations, "E_u") * du + row(equations, "E_v") * dv
    horizontal = energy.diff(u) * du + energy.diff(v) * dv
    assert vanishes(power - horizontal - energy.diff(du) * ddu - energy.diff(dv) * ddv)
    at = {z: 0.3 + 0.1 * k for k, z in enumerate(jets(equations, "u v u' v' u'' v'' m k B"))}
    assert abs((power - horizontal).subs(at)) > WRONG


@pytest.mark.erratum(
    "000", "Lemma 21", r"$R(v,v) = 0 \Leftrightarrow R^\flat(v) = 0$ for positive semidefinite $R$", "$R$ symmetric as well"
)
def test_lemma_21_fails_for_a_tensor_that_is_not_symmetric():
    """Lemma 21, (55): R(v, v) = 0 iff R(v, .) = 0 needs R symmetric. A gyroscopic R has F = 0 but R(v, .) != 0: (55) loses it."""
    skew = ch.System("x y", "m w", lagrangian="m/2*(x'^2 + y'^2)", dissipation="x'*(w*y')/2 + y'*(-w*x')/2")
    now = ch.evaluate(ch.derive(skew), {"x": 0, "y": 0, "x'": 0.4, "y'": -0.7}, parameters={"m": 1, "w": 2})
    assert now["x''"] == now["y''"] == 0
    assert abs(now["w*y'"]) > WRONG
    symmetric = ch.System("x y", "m w", lagrangian="m/2*(x'^2 + y'^2)", dissipation="w/2*(x' + 2*y')^2")
    now = ch.evaluate(ch.derive(symmetric), {"x": 0, "y": 0, "x'": 0.4, "y'": -0.2}, parameters={"m": 1, "w": 2})
    assert agree([now["w/2*(x' + 2*y')^2"], now["x''"], now["y''"]], [0, 0, 0])


# Section IV.B: the viscous particle


DRAG = {  # F(x)*x', by component
    "x": "(0.8 + b*x^2)*x' + 0.2*y' + 0.1*z'",
    "y": "0.2*x' + (0.5 + b*y^2)*y' - 0.1*z'",
    "z": "0.1*x' - 0.1*y' + (0.6 + b*z^2)*z'",
}
SLOPE = {"x": "x + c*y*z", "y": "2*y + c*x*z", "z": "z/2 + c*x*y"}  # grad V
FLUID_STATES = [FLUID_START, *states("x y z x' y' z'", seed=3)]


def fluid():
    return ch.derive(ch.gallery("viscous-particle"))


def test_section_iv_b_eq_61_kinematic_constraint_of_the_particle():
    """IV.B: C_K is m x'.x'' + x'.grad V = -x'.F x'."""
    power = " + ".join(f"{q}'*(m*{q}'' + {SLOPE[q]} + {DRAG[q]})" for q in "xyz")
    assert vanishes(row(fluid(), "kinematic[0]") - ch.parse(power, fluid()))


@pytest.mark.parametrize("q", "xyz")
def test_section_iv_b_eq_62_variational_constraint_of_the_particle(q):
    """IV.B: C_V is x'.F δx = 0, so the rows are m x'' + grad V = lambda1 F x'."""
    expected = ch.parse(f"m*{q}'' + {SLOPE[q]} - lambda1*({DRAG[q]})", fluid())
    assert vanishes(row(fluid(), f"E_{q}") - expected)


@pytest.mark.parametrize("state", FLUID_STATES)
def test_section_iv_b_eq_57_the_particle_feels_friction(state):
    """IV.B: the motion is m x'' = -grad V - F x', and the multiplier is -1 (the paper's lambda = 1)."""
    now = ch.evaluate(fluid(), state, parameters=FLUID)
    assert agree([now[f"{q}''"] for q in "xyz"], [now[f"(-({SLOPE[q]}) - ({DRAG[q]}))/m"] for q in "xyz"])
    assert agree(now["lambda1"], -1)


@pytest.mark.parametrize("state", FLUID_STATES)
def test_eq_68_energy_of_the_particle_decays(state):
    """(68): dE/dt = -2F along the motion, which is negative."""
    now = ch.evaluate(fluid(), state, parameters=FLUID)
    rate = sum(now[f"{q}'*(m*{q}'' + {SLOPE[q]})"] for q in "xyz")
    dissipated = sum(now[f"{q}'*({DRAG[q]})"] for q in "xyz")
    assert agree(rate, -dissipated)
    assert dissipated > 0


def test_section_iv_b_reference_motion_of_the_particle():
    """The reference motion: accelerations at t = 0 and the state at t = 2, from the library's rows."""
    equations = fluid()
    now = ch.evaluate(equations, FLUID_START, parameters=FLUID)
    expected = [-1.0807692307692307, 0.1596153846153846, 0.03438461538461538, -1.0]
    assert agree([now[name] for name in ("x''", "y''", "z''", "lambda1")], expected)
    start = {ch.parse(k, equations): v for k, v in FLUID_START.items()}
    end = integrated([r.residual for r in equations.rows], jets(equations, "x'' y'' z'' lambda1"), start, FLUID, (0, 2))
    expected = {
        "x": 0.35744291031950365,
        "y": 0.4715261897957144,
        "z": 0.1263592057044939,
        "x'": -0.6020434150290146,
        "y'": -0.18412706519568117,
        "z'": -0.2665920071553069,
    }
    assert agree([end[k] for k in expected], list(expected.values()), 1e-11)


@pytest.mark.erratum("000", "Theorem 20", "$C_K^F$ is a submanifold", "not at states of rest, where its row has no differential")
def test_theorem_20_constraint_set_is_singular_at_rest():
    """Theorem 20: C_K is no submanifold at v = 0, m a = -grad V, where its row loses its differential; all (x, 0, a) belong to it."""
    equations = fluid()
    residual = row(equations, "kinematic[0]")
    rest = dict.fromkeys(jets(equations, "x' y' z'"), sympy.S.Zero)
    assert vanishes(residual.subs(rest))
    fall = {ch.parse(f"{q}''", equations): ch.parse(f"-({SLOPE[q]})/m", equations) for q in "xyz"}
    gradient = [residual.diff(z) for z in jets(equations, "x y z x' y' z' x'' y'' z''")]
    assert all(vanishes(e.subs(fall).subs(rest)) for e in gradient)
    with pytest.raises(ch.StateError):
        ch.evaluate(equations, {"x": 1, "y": 2, "z": 3, "x'": 0, "y'": 0, "z'": 0}, parameters=FLUID)


@pytest.mark.parametrize("size", [1e-3, 1e-6, 1e-10])
def test_theorem_20_accelerations_have_a_limit_at_rest(size):
    """Close to rest the constraint still gives m x'' = -grad V - F x'."""
    state = {k: v * size if k.endswith("'") else v for k, v in FLUID_START.items()}
    now = ch.evaluate(fluid(), state, parameters=FLUID)
    assert agree([now[f"{q}''"] for q in "xyz"], [now[f"(-({SLOPE[q]}) - ({DRAG[q]}))/m"] for q in "xyz"])


@pytest.mark.erratum(
    "000",
    "section IV.B",
    r"any real $3\times 3$ matrix $F(x)$",
    r"a symmetric one; otherwise the rows give $-F^T x'$ and (57) gives $-\frac12(F + F^T)x'$",
)
@pytest.mark.parametrize("state", states("x y x' y'", seed=4))
def test_section_iv_b_a_matrix_that_is_not_symmetric_fails(state):
    """IV.B needs F symmetric: otherwise the constraints give m x'' = -grad V - F^T x', while (57) gives -grad V - (F + F^T)/2 x'."""
    common = {"coordinates": "x y", "parameters": "m w", "lagrangian": "m/2*(x'^2 + y'^2) - x^2/2 - y^2"}
    form = "(0.8*x' + w*y')*x' + (0.1*x' + 0.5*y')*y'"  # x'.F x' with F = ((0.8, w), (0.1, 0.5))
    row_v = "(0.8*x' + 0.1*y')*δx + (w*x' + 0.5*y')*δy = 0"  # x'.F δx
    constrained = ch.System(**common, kinematic=[f"m*(x'*x'' + y'*y'') + x*x' + 2*y*y' = -({form})"], variational=[row_v])
    dissipative = ch.System(**common, dissipation=f"({form})/2")
    values = {"m": 1.2, "w": 0.6}
    now = ch.evaluate(ch.derive(constrained, ch.VirtualWork()), state, parameters=values)
    transposed = [now["(-x - 0.8*x' - 0.1*y')/m"], now["(-2*y - w*x' - 0.5*y')/m"]]
    assert agree([now["x''"], now["y''"]], transposed)
    now = ch.evaluate(ch.derive(dissipative), state, parameters=values)
    symmetric = [now["(-x - 0.8*x' - (w + 0.1)/2*y')/m"], now["(-2*y - (w + 0.1)/2*x' - 0.5*y')/m"]]
    assert agree([now["x''"], now["y''"]], symmetric)
    assert max(abs(p - q) for p, q in zip(transposed, symmetric, strict=True)) > WRONG


# Section IV.C: external forces


FORCED = SERVO.replace(forces={"x": "-k*x'*y", "y": "sin(x) + 2", "z": "-z'"})


@pytest.mark.erratum(
    "000", "(71), Theorem 24, Remark 25", "external force with $+u_i$ on the left", r"$(\frac{d}{dt}L_{q'} - L_q - u_i)\,\delta q^i = 0$"
)
@pytest.mark.parametrize("state", states("x y z y' z'", seed=5))
def test_theorem_24_eq_71_printed_sign_of_the_external_force_fails(state):
    """Theorem 24, Remark 25, (71): (d/dt dL/dq' - dL/dq - u_i) δq^i = 0; the paper prints + u_i, against its own Definition 23."""
    now = ch.evaluate(ch.derive(FORCED, ch.VirtualWork()), state, parameters={"m": 1.3, "k": 0.7})
    e_x, e_y, e_z = now["m*x'' - k*y'*z + k*x"], now["m*y'' + k*(x'*z + x*z')"], now["m*z'' - k*x*y' + 2*k*z^3"]
    u_x, u_y, u_z = now["-k*x'*y"], now["sin(x) + 2"], now["-z'"]
    assert agree(2 * (e_x - u_x) + now["y'"] * (e_y - u_y), 0)
    assert agree(2 * (e_z - u_z) + now["x"] * (e_y - u_y), 0)
    printed = [2 * (e_x + u_x) + now["y'"] * (e_y + u_y), 2 * (e_z + u_z) + now["x"] * (e_y + u_y)]
    assert max(map(abs, printed)) > WRONG
    assert agree([e_x - u_x, e_y - u_y, e_z - u_z], [now["lambda1*y'"], -2 * now["lambda1"], now["lambda1*x"]])


@pytest.mark.erratum("000", "Definition 23", "conditions joined by *or*", "by *and*")
def test_definition_23_needs_both_conditions():
    """Definition 23 joins its conditions by 'or'; a trajectory obeys C_K and the virtual work: neither implies the other."""
    equations = ch.derive(ch.gallery("cart-pendulum"))
    kinematic = {"x": 0.3, "theta": 0.5, "x'": 2 * math.sin(0.5) - 1.7 * 0.4, "theta'": -0.4, "x''": 0, "theta''": 0, "lambda1": 0}
    off = ch.residual(equations, kinematic, parameters=CART)
    assert agree(off["kinematic[0]"], 0)
    assert abs(off["E_theta"]) > WRONG
    free = (0.5 * 0.8 * 9.81 * math.sin(0.5) + 0.2 * 0.4) / 0.4  # E_theta = 0 with x'' = 0
    off = ch.residual(equations, {**kinematic, "x'": 0, "theta''": free}, parameters=CART)
    assert agree(off["E_theta"], 0)
    assert abs(off["kinematic[0]"]) > WRONG


@pytest.mark.parametrize("state", [CART_START, *states("x theta theta'", seed=6)])
def test_theorem_26_eq_73_74_direct_part_on_the_cart_pendulum(state):
    """Theorem 26: a motion with friction obeys E' + 2F = <f, q'> for some f in F_V, here f = lambda1 dx, and E in F_V + span(FF)."""
    now = ch.evaluate(ch.derive(ch.gallery("cart-pendulum")), state, parameters=CART)
    assert agree(now[CART_POWER] + now["mu*x'^2 + nu*theta'^2"], now["lambda1*x'"])
    assert agree(now["m*x'' - m*l*(theta''*cos(theta) - theta'^2*sin(theta))"], now["lambda1 - mu*x'"])
    assert agree(now["I*theta'' - m*l*x''*cos(theta) - m*g*l*sin(theta)"], now["-nu*theta'"])


CART_POWER = (
    "-m*g*l*sin(theta)*theta' + m*l*theta'^2*x'*sin(theta) + (m*x' - m*l*theta'*cos(theta))*x'' + (I*theta' - m*l*x'*cos(theta))*theta''"
)


def cart_with_friction_as_constraint(*kinematic):
    """The pendulum without dissipation, with (77), further rows, and C_V of Remark 27: δx = 0, mu x' δx + nu theta' δtheta = 0."""
    return ch.System(
        "x theta",
        "m l I g a b mu nu",
        lagrangian=CART_LAGRANGIAN,
        kinematic=["x' + b*theta' = a*sin(theta)", *kinematic],
        variational=["δx = 0", "mu*x'*δx + nu*theta'*δtheta = 0"],
        name="friction as a constraint",
    )


@pytest.mark.erratum(
    "000",
    "Theorem 26",
    r"the converse, with $\lambda = 1$",
    r"false unless the other reactions do no work on $\gamma'$: every $\lambda$ satisfies all conditions. "
    r"Take the row of energy along the projection of $\gamma'$ on $C_V$",
)
@pytest.mark.parametrize("paper_lambda", [1, 0, -2])
def test_theorem_26_converse_fails_on_the_cart_pendulum(paper_lambda):
    """Theorem 26 claims lambda = 1. Since f in F_V may do work, S_K is void and every lambda, 0 and -2 too, satisfies all conditions."""
    equations = ch.derive(cart_with_friction_as_constraint(), ch.VirtualWork())
    m, length, inertia, g, a, b, mu, nu = CART.values()
    angle, rate = CART_START["theta"], CART_START["theta'"]
    speed = a * math.sin(angle) - b * rate
    matrix = [[inertia, -m * length * math.cos(angle)], [b, 1]]
    theta2, x2 = np.linalg.solve(
        matrix, [m * g * length * math.sin(angle) - paper_lambda * nu * rate, a * math.cos(angle) * rate]
    )  # E_theta + lambda nu theta' = 0 and the derivative of (77)
    control = m * x2 - m * length * (theta2 * math.cos(angle) - rate**2 * math.sin(angle)) + paper_lambda * mu * speed
    point = {**CART_START, "x'": speed, "x''": x2, "theta''": theta2, "lambda1": control, "lambda2": -paper_lambda}
    assert agree(list(ch.residual(equations, point, parameters=CART).values()), [0, 0, 0])
    assert abs(speed) > WRONG  # so some f = f_x dx in F_V makes E' + 2F = <f, q'> true
    assert agree(theta2, -8.71544555798022) == (paper_lambda == 1)


def test_theorem_26_the_constraints_leave_one_function_free():
    """Theorem 26 on the cart-pendulum: three equations for four unknowns; any curve that obeys (77) is a 'trajectory'."""
    assert ch.derive(cart_with_friction_as_constraint(), ch.VirtualWork()).counts == (3, 4)


@pytest.mark.parametrize("state", [CART_START, *states("x theta theta'", seed=7)])
def test_theorem_26_repaired_by_the_projected_velocity(state):
    """Theorem 26 repaired: the energy row is <-E - FF, w> = 0 with w the R-orthogonal projection of q' on C_V, here (0, theta')."""
    repaired = "theta'*(I*theta'' - m*l*x''*cos(theta) - m*g*l*sin(theta)) = -nu*theta'^2"
    now = ch.evaluate(ch.derive(cart_with_friction_as_constraint(repaired), ch.VirtualWork()), state, parameters=CART)
    assert agree(now["lambda2"], -1)
    assert agree(now[EQUATION_79], 0)


@pytest.mark.parametrize("state", states("x y theta x' theta'", seed=8))
def test_theorem_26_holds_where_the_reactions_do_no_work(state):
    """Theorem 26 with the hypothesis q' in C_V, which makes it true: a knife edge with friction has lambda = 1 (the library's -1)."""
    edge = ch.System(
        "x y theta",
        "m J k c",
        lagrangian="m/2*(x'^2 + y'^2) + J/2*theta'^2",
        kinematic=["y'*cos(theta) = x'*sin(theta)", "m*(x'*x'' + y'*y'') + J*theta'*theta'' = -k*(x'^2 + y'^2) - c*theta'^2"],
        variational=["δy*cos(theta) - δx*sin(theta) = 0", "k*(x'*δx + y'*δy) + c*theta'*δtheta = 0"],
    )
    now = ch.evaluate(ch.derive(edge, ch.VirtualWork()), state, parameters={"m": 1.4, "J": 0.6, "k": 0.35, "c": 0.09})
    assert agree(now["lambda2"], -1)
    assert agree(now["theta''"], now["-c/J*theta'"])
    assert agree(now["x''*cos(theta) + y''*sin(theta)"], now["-k/m*(x'*cos(theta) + y'*sin(theta))"])


# Section IV.D: the cart-pendulum


EQUATION_79 = "(I + m*l*b*cos(theta))*theta'' + (nu - m*l*a*cos(theta)^2)*theta' - m*g*l*sin(theta)"
CART_STATES = [CART_START, *states("x theta theta'", seed=9)]


def cart(friction=True):
    return ch.derive(ch.gallery("cart-pendulum", friction=friction))


def cart_values(friction=True):
    return CART if friction else {k: v for k, v in CART.items() if k not in ("mu", "nu")}


def without_friction(text):
    return text.replace("(nu - m*l*a*cos(theta)^2)", "(-m*l*a*cos(theta)^2)").replace("mu*x'", "0").replace("nu*theta'", "0")


def test_eq_76_77_78_data_of_the_cart_pendulum():
    """(76)-(78): the Lagrangian, the affine kinematic constraint and δx = 0, whose only force of constraint is along x."""
    equations = cart()
    assert vanishes(equations.lagrangian - ch.parse(CART_LAGRANGIAN, equations))
    assert vanishes(row(equations, "kinematic[0]") - ch.parse("x' + b*theta' - a*sin(theta)", equations))
    assert (equations.reaction("x"), equations.reaction("theta")) == (ch.parse("lambda1", equations), 0)


@pytest.mark.parametrize("friction", [True, False])
def test_eq_78_theta_equation_of_the_cart_pendulum(friction):
    """Before (79): I theta'' - m l x'' cos(theta) - m g l sin(theta) + nu theta' = 0. (71) as printed would give -nu theta'."""
    [e_theta] = [r for r in cart(friction).eliminate().rows if r.label.startswith("E_")]
    expected = "I*theta'' - m*l*x''*cos(theta) - m*g*l*sin(theta) + nu*theta'"
    assert vanishes(e_theta.residual - ch.parse(expected if friction else without_friction(expected), cart(friction)))


@pytest.mark.parametrize("friction", [True, False])
def test_eq_79_cart_pendulum_symbolically(friction):
    """(79): the theta equation with x'' replaced by the derivative of (77)."""
    equations = cart(friction)
    reduced = row(equations, "E_theta") + ch.parse("m*l*cos(theta)", equations) * equations.total(row(equations, "kinematic[0]"))
    expected = EQUATION_79 if friction else without_friction(EQUATION_79)
    assert vanishes(reduced - ch.parse(expected, equations))


@pytest.mark.parametrize("state", CART_STATES)
@pytest.mark.parametrize("friction", [True, False])
def test_eq_79_cart_pendulum(friction, state):
    """(79) and the control force u_x = m x'' - m l (theta'' cos - theta'^2 sin) + mu x' = lambda1."""
    now = ch.evaluate(cart(friction), state, parameters=cart_values(friction))
    force = "m*x'' - m*l*(theta''*cos(theta) - theta'^2*sin(theta)) + mu*x'"
    assert agree(now[EQUATION_79 if friction else without_friction(EQUATION_79)], 0)
    assert agree(now["x' + b*theta'"], now["a*sin(theta)"])
    assert agree(now["lambda1"], now[force if friction else without_friction(force)])


def test_eq_79_reference_motion_of_the_cart_pendulum():
    """The reference motion: accelerations and control force at t = 0, and the state at t = 2, from the library's rows."""
    equations = cart()
    now = ch.evaluate(equations, CART_START, parameters=CART)
    expected = [-15.518323498078672, -8.71544555798022, -4.641184190532487]
    assert agree([now[name] for name in ("x''", "theta''", "lambda1")], expected)
    constraint = row(equations, "kinematic[0]")
    rows = [row(equations, "E_theta"), constraint, equations.total(constraint)]
    start = {ch.parse(k, equations): v for k, v in CART_START.items()}
    end = integrated(rows, jets(equations, "x'' theta'' x'"), start, CART, (0, 2))
    expected = {"x": -0.4208917443762907, "theta": 0.03022704915182999, "theta'": -0.22581837403184243}
    assert agree([end[k] for k in expected], list(expected.values()), 1e-11)


@pytest.mark.erratum("000", "Remark 27", r"$E' = -(\mu x'^2 + \nu\theta'^2)$", r"$E' = -(\mu x'^2 + \nu\theta'^2) + u_x x'$")
def test_remark_27_printed_energy_constraint_fails():
    """Remark 27 with E' = -(mu x'^2 + nu theta'^2) drops the power of the control: theta'' = -2.7744 instead of -8.7154."""
    printed = ch.derive(cart_with_friction_as_constraint(f"{CART_POWER} = -(mu*x'^2 + nu*theta'^2)"), ch.VirtualWork())
    wrong, right = (ch.evaluate(equations, CART_START, parameters=CART) for equations in (printed, cart()))
    assert agree(wrong["theta''"], -2.7744, 5e-5)
    assert agree(right["theta''"], -8.7154, 5e-5)
    assert abs(wrong[EQUATION_79]) > WRONG
    assert agree(right[EQUATION_79], 0)


@pytest.mark.parametrize("state", CART_STATES)
def test_remark_27_corrected_energy_rate(state):
    """Remark 27 corrected: E' = -(mu x'^2 + nu theta'^2) + u_x x'; without the last term it is not zero."""
    now = ch.evaluate(cart(), state, parameters=CART)
    assert agree(now[CART_POWER], now["-(mu*x'^2 + nu*theta'^2) + lambda1*x'"])
    assert abs(now[CART_POWER] - now["-(mu*x'^2 + nu*theta'^2)"]) > WRONG


def test_remark_27_energy_rate_at_the_reference_state():
    """The numbers: E' = -1.33398, of which friction takes -0.03978 and the control -1.29420."""
    now = ch.evaluate(cart(), CART_START, parameters=CART)
    found = [now[CART_POWER], now["-(mu*x'^2 + nu*theta'^2)"], now["lambda1*x'"]]
    assert agree(found, [-1.33398, -0.03978, -1.29420], 5e-6)


def test_remark_27_two_forms_of_the_variational_constraint():
    """Remark 27: {δx = 0, mu x' δx + nu theta' δtheta = 0} is {δx = 0, theta' δtheta = 0}; the forces span the same covectors."""
    equations = ch.derive(cart_with_friction_as_constraint(), ch.VirtualWork())
    assert vanishes(equations.reaction("x") - ch.parse("lambda1 + lambda2*mu*x'", equations))
    assert vanishes(equations.reaction("theta") - ch.parse("lambda2*nu*theta'", equations))


def linear_coefficients():
    """The coefficients of theta'', theta', theta in the library's equation for theta, at the upright position."""
    equations = cart()
    reduced = row(equations, "E_theta") + ch.parse("m*l*cos(theta)", equations) * equations.total(row(equations, "kinematic[0]"))
    upright = dict.fromkeys(jets(equations, "theta theta' theta''"), sympy.S.Zero)
    return [reduced.diff(z).subs(upright) for z in jets(equations, "theta'' theta' theta")]


def test_eq_79_linearised_at_the_upright_position():
    """After (79): (I + m l b) theta'' + (nu - m l a) theta' - m g l theta = 0 near theta = 0."""
    expected = ["I + m*l*b", "nu - m*l*a", "-m*g*l"]
    assert all(vanishes(found - ch.parse(text, cart())) for found, text in zip(linear_coefficients(), expected, strict=True))


def upright_roots(**changes):
    """The characteristic roots at the upright position."""
    values = CART | changes
    return np.roots([float(e.subs({z: values[z.name] for z in e.free_symbols})) for e in linear_coefficients()])


@pytest.mark.parametrize("a", [-1.0, 0.45, 0.55, 3.0])
@pytest.mark.parametrize("b", [-4.0, -1.05, -0.95, 2.0])
def test_section_iv_d_stability_of_the_upright_position(a, b):
    """The upright position is stable iff a > nu/(m l) = 0.5 and b < -I/(m l) = -1, sharply."""
    stable = bool(np.all(upright_roots(a=a, b=b).real < 0))
    assert stable == (a > 0.5 and b < -1.0)


@pytest.mark.erratum("000", "section IV.D", "node or focus depending on $b$", r"node iff $(mla - \nu)^2 > 4mgl\,\lvert I + mlb\rvert$")
@pytest.mark.parametrize(("a", "b"), [(2.0, -1.7), (12.0, -1.7), (2.0, -1.01)])
def test_section_iv_d_node_or_focus_depends_on_a_and_b(a, b):
    """The paper says it depends on b. It is a node iff (m l a - nu)^2 > 4 m g l |I + m l b|: b = -1.7 gives both, depending on a."""
    m, length, inertia, g, *_, nu = CART.values()
    node = bool(np.all(np.isreal(upright_roots(a=a, b=b))))
    assert node == ((m * length * a - nu) ** 2 > 4 * m * g * length * abs(inertia + m * length * b))
    assert node == ((a, b) != (2.0, -1.7))


def test_section_iv_d_position_of_the_cart_is_neutral():
    """x occurs in no row: the upright position attracts theta and theta', but x stops anywhere."""
    assert all(ch.parse("x", cart()) not in r.residual.free_symbols for r in cart().rows)


def swing(theta, a, until):
    """The largest |theta| in the last quarter of a motion from rest, nu = 0.2, m = 0.5, l = 0.8, I = 0.4, b = -3."""
    equations = cart()
    values = CART | {"a": a, "b": -3.0}
    reduced = row(equations, "E_theta") + ch.parse("m*l*cos(theta)", equations) * equations.total(row(equations, "kinematic[0]"))
    angle, rate, top = jets(equations, "theta theta' theta''")
    acceleration = sympy.solve(reduced.subs({z: values[z.name] for z in reduced.free_symbols if z.name in values}), top)[0]
    field = sympy.lambdify([angle, rate], acceleration, "math")

    def wall(_, y):
        return abs(y[0]) - 1.2309

    wall.terminal = True
    run = solve_ivp(lambda _, y: [y[1], field(*y)], (0, until), [theta, 0.0], rtol=1e-9, atol=1e-11, events=wall)
    return float(np.max(np.abs(run.y[0][run.t > 0.75 * run.t[-1]])))


@pytest.mark.erratum(
    "000",
    "section IV.D",
    r"basin $(-\theta_o, \theta_o)$ for all $a > \nu/ml$",
    r"for all $\theta'$ iff $a \ge \nu m l b^2/I^2$; otherwise an unstable cycle may bound it",
)
def test_section_iv_d_basin_printed_interval_fails():
    """The paper's basin (-theta_o, theta_o), cos theta_o = -I/(m l b), fails for a = 0.6 > nu/(m l): a cycle at 0.79420 bounds it."""
    assert agree(math.acos(0.4 / (0.5 * 0.8 * 3)), 1.23096, 5e-6)
    assert swing(0.78, 0.6, 60) < 0.77
    assert swing(0.81, 0.6, 60) > 0.85
    assert swing(1.0, 0.6, 60) > 1.0


@pytest.mark.parametrize("theta", [0.81, 1.0, 1.2])
def test_section_iv_d_basin_with_strong_control(theta):
    """With a >= nu m l b^2/I^2 = 4.5 the whole interval is attracted."""
    assert swing(theta, 5.0, 60) < 1e-2


@pytest.mark.parametrize("state", CART_STATES)
def test_section_iv_d_lyapunov_function(state):
    """V = theta'^2/2 - (g/|b|) ln h with h = m l |b| cos(theta) - I has V' = -(m l a cos^2(theta) - nu) theta'^2/h."""
    now = ch.evaluate(cart(), state, parameters=CART)
    rate = now["theta'*theta'' + g/abs(b)*m*l*abs(b)*sin(theta)*theta'/(m*l*abs(b)*cos(theta) - I)"]
    assert agree(rate, now["-(m*l*a*cos(theta)^2 - nu)*theta'^2/(m*l*abs(b)*cos(theta) - I)"])


# Section V.C: the lifted particle, as a statement about jets


def lifted_fluid(c):
    """V.C: the 2-lift of the particle in (x, v), with lambda' = c in its linear version; c = 1 is the lift itself."""
    drag = {q: DRAG[q].replace("x'", "v1").replace("y'", "v2").replace("z'", "v3") for q in "xyz"}
    v = dict(zip("xyz", ("v1", "v2", "v3"), strict=True))
    energy = " + ".join(f"m*{v[q]}*{v[q]}' + {c}*{v[q]}*({SLOPE[q]} + {drag[q]})" for q in "xyz")
    system = ch.System(
        "x y z v1 v2 v3",
        "m b c",
        lagrangian="m/2*(x'^2 + y'^2 + z'^2) - (x^2 + 2*y^2 + z^2/2)/2 - c*x*y*z",
        kinematic=[f"{energy} = 0", *[f"{q}' = {v[q]}*{c}" for q in "xyz"]],
        variational=[" + ".join(f"({drag[q]})*δ{q}" for q in "xyz") + " = 0"],
        name="lifted particle",
    )
    return ch.derive(system, ch.VirtualWork())


@pytest.mark.parametrize("state", FLUID_STATES)
@pytest.mark.parametrize("c", [1.0, 0.7, -1.5])
def test_section_v_c_lift_and_linear_version_of_the_particle(c, state):
    """V.C: for lambda' = 1 the lift holds on the motion with friction; for lambda' = c the paper's multiplier is
    c^2 + (c^2 - 1) v.grad V/(v.F v): another system, no change of time."""
    now = ch.evaluate(fluid(), state, parameters=FLUID)  # only to evaluate grad V and F v at (x, v)
    slope, drag, v = (np.array([now[text[q]] for q in "xyz"]) for text in (SLOPE, DRAG, {q: f"{q}'" for q in "xyz"}))
    multiplier = c**2 + (c**2 - 1) * (v @ slope) / (v @ drag)
    rate = (-slope - multiplier * drag) / (FLUID["m"] * c)
    point = {q: now[q] for q in "xyz"} | {"lambda1": -multiplier}
    for k, q in enumerate("xyz"):
        point |= {f"{q}'": c * v[k], f"{q}''": c * rate[k], f"v{k + 1}": v[k], f"v{k + 1}'": rate[k]}
    assert agree(list(ch.residual(lifted_fluid(c), point, parameters=FLUID).values()), np.zeros(7))
    assert (abs(multiplier - 1) > WRONG) == (c != 1)


# Section V.D: Rocard's tyre


def tyre(sign="1"):
    """The tyre as 000 writes it, without sign(psi'); or with it, as in 001 (20)."""
    system = ch.gallery("rocard").system
    third = f"-psi''*tan(epsilon) + psi'*(theta' - epsilon') = {sign}*a/M*tan(epsilon)"
    return ch.derive(
        system.replace(kinematic=["x1' = psi'*cos(theta - epsilon)", "x2' = psi'*sin(theta - epsilon)", third]), ch.VirtualWork()
    )


def tyre_states(direction, seed):
    """Random states of the tyre, rolling forward or backward."""
    found = states("psi theta epsilon x1 x2 psi' theta'", seed=seed)
    return [{**s, "epsilon": s["epsilon"] / 2 + math.copysign(0.1, s["epsilon"]), "psi'": direction * (1 + s["psi'"] / 2)} for s in found]


def test_section_v_d_eq_96_data_of_the_tyre():
    """V.D, (96): Lagrangian, the first two kinematic rows and the variational rows; (96) is (21), (22), (23) of 001."""
    equations = ch.derive(ch.gallery("rocard"))
    lagrangian = "M/2*(x1'^2 + x2'^2) + J/2*theta'^2 + I/2*psi'^2 - K/2*epsilon^2"
    assert vanishes(equations.lagrangian - ch.parse(lagrangian, equations))
    assert vanishes(row(equations, "kinematic[0]") - ch.parse("x1' - psi'*cos(theta - epsilon)", equations))
    assert vanishes(row(equations, "kinematic[1]") - ch.parse("x2' - psi'*sin(theta - epsilon)", equations))
    forces = {  # the gallery states (96) with the signs of 001: δpsi cos(theta) - δx1 = 0
        "psi": "lambda1*cos(theta) + lambda2*sin(theta)",
        "theta": "lambda3",
        "epsilon": "-lambda3",
        "x1": "-lambda1",
        "x2": "-lambda2",
    }
    assert all(vanishes(equations.reaction(q) - ch.parse(text, equations)) for q, text in forces.items())


@pytest.mark.parametrize("state", [TYRE_START, *tyre_states(1, 10)])
def test_section_v_d_constraint_without_sign_holds_forward(state):
    """V.D: without sign(psi') the third row is right for psi' > 0: the side force is M <x'', N> = a sin(epsilon)."""
    now = ch.evaluate(tyre(), state, parameters=TYRE)
    assert agree(now["M*(-x1''*sin(theta) + x2''*cos(theta))"], now["sign(psi')*a*sin(epsilon)"])
    assert agree(now["psi''"], now["-a*sin(epsilon)^2/(M + I*cos(epsilon))"])


@pytest.mark.erratum("000", "section V.D", r"Rocard's row without $\mathrm{sign}(\psi')$", "with it, as in 001, (20)")
@pytest.mark.parametrize("state", tyre_states(-1, 11))
def test_section_v_d_constraint_without_sign_fails_backward(state):
    """V.D: for psi' < 0 the printed row pushes the wrong way and energy grows; with sign(psi'), 001 (20), it falls."""
    energy = "(I*psi'*psi'' + J*theta'*theta'' + M*(x1'*x1'' + x2'*x2'') + K*epsilon*epsilon')"
    printed, corrected = (ch.evaluate(tyre(sign), state, parameters=TYRE) for sign in ("1", "sign(psi')"))
    assert abs(printed["M*(-x1''*sin(theta) + x2''*cos(theta)) - sign(psi')*a*sin(epsilon)"]) > WRONG
    assert printed[energy] > WRONG
    assert agree(corrected["M*(-x1''*sin(theta) + x2''*cos(theta))"], corrected["sign(psi')*a*sin(epsilon)"])
    assert corrected[energy] < 0


def test_section_v_d_printed_energy_grows_backward():
    """From the reference state with psi' = -1.8 the printed row takes the energy from 3.7485 to 4.2567 in 0.5 units of time."""

    def energy_of(s):
        kinetic = TYRE["I"] * s["psi'"] ** 2 + TYRE["J"] * s["theta'"] ** 2 + TYRE["M"] * s["psi'"] ** 2
        return (kinetic + TYRE["K"] * s["epsilon"] ** 2) / 2

    start = TYRE_START | {"psi'": -1.8}
    assert agree(energy_of(start), 3.7485, 5e-5)
    assert agree(energy_of(tyre_end(tyre(), start, 0.5)), 4.2567, 5e-5)
    assert energy_of(tyre_end(tyre("sign(psi')"), start, 0.5)) < 3.7485


def tyre_end(equations, start, until):
    """The tyre at a later time: (24), (25), (18)-(20) and the derivatives of (18), (19), linear in the unknowns."""
    free = equations.eliminate()
    constraints = [row(equations, f"kinematic[{k}]") for k in range(3)]
    rows = [r.residual for r in free.rows if r.label.startswith("E_")] + constraints + [equations.total(e) for e in constraints[:2]]
    unknowns = jets(equations, "psi'' theta'' epsilon' x1' x2' x1'' x2''")
    return integrated(rows, unknowns, {ch.parse(k, equations): v for k, v in start.items()}, TYRE, (0, until))


@pytest.mark.erratum(
    "000", "section V.D", "three kinematic rows of the 2-lift", r"the rows $x_1' = v_1, \dots, \psi' = \Omega_\psi$ belong to it"
)
@pytest.mark.parametrize("own_rate", [True, False])
def test_section_v_d_two_lift_printed_rows_are_incomplete(own_rate):
    """V.D: the three printed rows of the 2-lift hold for any epsilon', O' taking up the difference; O' = psi'', which follows from the
    missing row O = psi', fails unless epsilon' is that of the motion."""
    now = ch.evaluate(tyre(), TYRE_START, parameters=TYRE)
    turn = now["theta' - epsilon'"] if own_rate else 0.4
    lateral, along = TYRE_START["theta"] - TYRE_START["epsilon"], TYRE_START["psi'"]
    e, (inertia, spin, mass, stiffness, a) = TYRE_START["epsilon"], TYRE.values()
    psi2 = -mass * along * turn * math.sin(e) / (inertia + mass * math.cos(e))  # (24) with x'' from the first two rows
    x1_2 = psi2 * math.cos(lateral) - along * turn * math.sin(lateral)
    x2_2 = psi2 * math.sin(lateral) + along * turn * math.cos(lateral)
    rate = (along * turn - a / mass * math.tan(e)) / math.tan(e)  # O' from the third printed row
    point = TYRE_START | {"epsilon'": TYRE_START["theta'"] - turn, "x1'": along * math.cos(lateral), "x2'": along * math.sin(lateral)}
    point |= {"psi''": psi2, "theta''": -stiffness * e / spin, "x1''": x1_2, "x2''": x2_2, "O": along, "O'": rate}
    point |= {"lambda1": -mass * x1_2, "lambda2": -mass * x2_2, "lambda3": -stiffness * e}
    printed = ["x1' = psi'*cos(theta - epsilon)", "x2' = psi'*sin(theta - epsilon)"]
    printed.append("-O'*tan(epsilon) + psi'*(theta' - epsilon') = a/M*tan(epsilon)")
    lifted = ch.gallery("rocard").system.replace(coordinates="psi theta epsilon x1 x2 O", kinematic=printed)
    assert agree(list(ch.residual(ch.derive(lifted, ch.VirtualWork()), point, parameters=TYRE).values()), np.zeros(8))
    assert agree(rate, psi2) if own_rate else abs(rate - psi2) > WRONG


@pytest.mark.erratum("000", "(97)", r"$x_2' = \psi'\cos(\theta - \epsilon)$", r"$\psi'\sin(\theta - \epsilon)$")
@pytest.mark.parametrize("state", [TYRE_START, *tyre_states(1, 12)])
def test_eq_97_printed_second_row_fails(state):
    """(97): x2' = psi' sin(theta - epsilon); the paper prints cos."""
    now = ch.evaluate(tyre(), state, parameters=TYRE)
    assert agree(now["x1'"], now["psi'*cos(theta - epsilon)"])
    assert agree(now["x2'"], now["psi'*sin(theta - epsilon)"])
    assert abs(now["x2' - psi'*cos(theta - epsilon)"]) > WRONG


@pytest.mark.erratum(
    "000",
    "(97)",
    "third row quadratic in the velocities",
    r"$-\Omega_\psi'\tan\epsilon + [\Omega_\psi(\Omega_\theta - \Omega_\epsilon) - \frac{a}{M}\tan\epsilon]\,\lambda' = 0$, "
    r"$q' = v\,\lambda'$",
)
@pytest.mark.parametrize("state", [TYRE_START, *tyre_states(1, 13)])
@pytest.mark.parametrize("c", [1.0, 0.6])
def test_eq_97_printed_third_row_is_not_linear(c, state):
    """(97): linear is -O_psi' tan(e) + (O_psi (O_theta - O_e) - (a/M) tan(e)) lambda' = 0 with q' = v lambda'. On the motion both rows
    hold with lambda' = 1; scaling all velocities, lambda' too, by c must keep a linear row, and breaks the printed psi' (theta' - e')."""
    now = ch.evaluate(tyre(), state, parameters=TYRE)
    turn, slope = now["theta' - epsilon'"], now["a/M*tan(epsilon)"]
    printed = -c * now["psi''*tan(epsilon)"] + c * now["psi'"] * c * turn - slope * c
    corrected = -c * now["psi''*tan(epsilon)"] + (now["psi'"] * turn - slope) * c
    assert agree(corrected, 0)
    assert agree(printed, 0) if c == 1 else abs(printed) > WRONG
