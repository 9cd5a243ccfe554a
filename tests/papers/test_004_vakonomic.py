"""Time-dependent vakonomic dynamics and presymplectic geometry (Vignolo, Bruno), its equations of motion.

The right-hand sides are typed from the paper. Its sign is the library's: the extended Lagrangian is L + lambda_sigma g^sigma. Where the
paper is misprinted or wrong, a test shows that the printed form fails and that the corrected one holds.
"""

from functools import cache

import numpy as np
import pytest
import sympy
from by_hand import TIME, close, d_dt, gap, states, value

import chetaev as ch

X, Y, Z = ch.coordinates("x y z")
QS = (X, Y, Z)

# A regular time-dependent Lagrangian with two affine constraints that depend on time, for the general formulas of section 3.
GENERAL = "((1 + t^2)*x'^2 + 2*y'^2 + exp(x/2)*z'^2 + x'*y'*cos(z)/2)/2 + x*z'*t - x^2*y + y*x'"
FIRST = "z' - y*x' + t*x"
SECOND = "y' + sin(z)*x' - t^2 - z*x"
T = 0.6


# ---- tools ------------------------------------------------------------------------------------------------------------------------


def typed(text):
    return ch.parse(text, coordinates="x y z")


def numbers(matrix, values):
    """A typed matrix at named values."""
    return np.array(matrix.applyfunc(lambda e: value(e, values)), dtype=float)


# ---- section 3.1: vakonomic equations ---------------------------------------------------------------------------------------------------


@cache
def general():
    return ch.derive(ch.System("x y z", lagrangian=GENERAL, kinematic=[FIRST, SECOND]), ch.Vakonomic())


def multipliers():
    return [ch.parse(f"lambda{k}", general()) for k in (1, 2)]


def test_eq_3_3a_vakonomic_equations():
    """(3.3a): d/dt L_v - L_q = -lambda (d/dt g_v - g_q) - lambda' g_v."""
    lagrangian, gs = typed(GENERAL), [typed(FIRST), typed(SECOND)]
    for q, row in zip(QS, general().rows, strict=False):
        right = [-m * (d_dt(g.diff(q.d())) - g.diff(q)) - m.d() * g.diff(q.d()) for m, g in zip(multipliers(), gs, strict=True)]
        assert gap(d_dt(lagrangian.diff(q.d())) - lagrangian.diff(q) - sympy.Add(*right), row.residual) < 1e-12


def test_eq_3_3a_opposite_multiplier_sign_fails():
    """With lambda -> -lambda, the sign of 002, (3.3a) is not the library's row."""
    swap = {z: -z for m in multipliers() for z in (m, m.d())}
    assert all(gap(row.residual.xreplace(swap), row.residual) > 1e-3 for row in general().rows[:3])


def test_eq_3_3b_constraints():
    """(3.3b): g = 0."""
    for text, row in zip((FIRST, SECOND), general().rows[3:], strict=True):
        assert gap(typed(text), row.residual) == 0.0


def test_eq_3_4_extended_lagrangian():
    """(3.4): the same rows from L + lambda g as a free Lagrangian on (q, lambda); the rows of the multipliers are -g = 0."""
    lagrangian = f"{GENERAL} + l1*({FIRST}) + l2*({SECOND})"
    free = ch.derive(ch.System("x y z l1 l2", lagrangian=lagrangian), ch.Hamilton())
    names = {ch.Coordinate(f"l{k}", j): m.d(j) for k, m in enumerate(multipliers(), 1) for j in (0, 1)}
    found = [row.lhs.xreplace(names) for row in free.rows]
    assert all(gap(a, row.residual) < 1e-12 for a, row in zip(found, general().rows[:3], strict=False))
    assert all(gap(-a, typed(text)) == 0.0 for a, text in zip(found[3:], (FIRST, SECOND), strict=True))
    lowered = typed(GENERAL) + sympy.Add(*[m * typed(g) for m, g in zip(multipliers(), (FIRST, SECOND), strict=True)])
    assert gap(general().lagrangian, lowered) == 0.0


# ---- section 3.3: affine constraints ---------------------------------------------------------------------------------------------


def eq_3_20e(lagrangian, gs, ms, qs):
    """The covector a_ij F^i of (3.20e)."""
    found = []
    for j in qs:
        force = lagrangian.diff(j) - lagrangian.diff(TIME, j.d()) - sympy.Add(*[lagrangian.diff(k, j.d()) * k.d() for k in qs])
        for m, g in zip(ms, gs, strict=True):
            slope = g.diff(j.d())
            force -= m * (slope.diff(TIME) + sympy.Add(*[slope.diff(k) * k.d() for k in qs]) - g.diff(j))
        found.append(force)
    return sympy.Matrix(found)


def eq_3_20c_bracket(g, qs):
    """The terms of (3.20c) before F: the derivative of g = g_k q'^k + g_0 along the motion at fixed velocities."""
    rest = g.xreplace({q.d(): sympy.S.Zero for q in qs})

    def rate(e):
        return e.diff(TIME) + sympy.Add(*[e.diff(i) * i.d() for i in qs])

    return sympy.Add(*[rate(g.diff(k.d())) * k.d() for k in qs]) + rate(rest)


def eq_3_20(lagrangian, gs, ms, qs, values):
    """Z_sigma (3.20c) and the accelerations (3.20d) with F of (3.20e), as numbers."""
    inverse = np.linalg.inv(numbers(sympy.Matrix([[lagrangian.diff(p.d(), q.d()) for q in qs] for p in qs]), values))
    slopes = numbers(sympy.Matrix([[g.diff(q.d()) for q in qs] for g in gs]), values)
    f = inverse @ numbers(eq_3_20e(lagrangian, gs, ms, qs), values)
    bracket = numbers(sympy.Matrix([eq_3_20c_bracket(g, qs) for g in gs]), values)
    rates = np.linalg.solve(slopes @ inverse @ slopes.T, bracket + slopes @ f)
    return rates.ravel(), (f - inverse @ slopes.T @ rates).ravel()


def test_eq_3_20_rates_of_the_multipliers_and_accelerations():
    """(3.20c-e): lambda' = Z and q'' = Z^i for a general time-dependent system with affine constraints."""
    lagrangian, gs = typed(GENERAL), [typed(FIRST), typed(SECOND)]
    for state in states("x y z x' lambda1 lambda2"):
        now = ch.evaluate(general(), state, t=T)
        rates, accelerations = eq_3_20(lagrangian, gs, multipliers(), QS, {**now, "t": T})
        assert all(close(now[f"lambda{k + 1}'"], v) for k, v in enumerate(rates))
        assert all(close(now[f"{q.base}''"], v) for q, v in zip(QS, accelerations, strict=True))


@cache
def hamiltonian(which):
    """(3.24)-(3.26): symbols of the momenta, the velocities solved for, and p q' minus the extended or the bare Lagrangian."""
    extended = typed(GENERAL) + sympy.Add(*[m * typed(g) for m, g in zip(multipliers(), (FIRST, SECOND), strict=True)])
    ps = sympy.symbols("p1:4", real=True)
    solution = sympy.solve([p - extended.diff(q.d()) for p, q in zip(ps, QS, strict=True)], [q.d() for q in QS], dict=True)[0]
    lagrangian = {"extended": extended, "bare": typed(GENERAL)}[which]
    work = sympy.Add(*[p * q.d() for p, q in zip(ps, QS, strict=True)])
    return ps, solution, (work - lagrangian).xreplace(solution)


def chi_gap(which):
    """How far dH/dlambda is from -g, the claim (3.28)."""
    _, solution, h = hamiltonian(which)
    return max(gap(h.diff(m), -typed(g).xreplace(solution)) for m, g in zip(multipliers(), (FIRST, SECOND), strict=True))


@pytest.mark.erratum(
    "004", "(3.26)", r"$-H := L - p_i\dot q^i$", r"$-\mathbb{H} := \mathbb{L} - p_i\dot q^i$, with the extended Lagrangian"
)
def test_eq_3_26_printed_hamiltonian_fails():
    """(3.26) must read -H = L_extended - p q'; printed with the bare L, which contradicts (3.28), dH/dlambda = -g."""
    assert chi_gap("extended") < 1e-12
    assert chi_gap("bare") > 1e-3


def test_eq_3_28_derivative_of_chi():
    """(3.28): d chi/d lambda = b = g a^-1 g^T, so the multipliers are determined where det b is not zero."""
    _, solution, h = hamiltonian("extended")
    a = sympy.Matrix([[typed(GENERAL).diff(p.d(), q.d()) for q in QS] for p in QS])
    slopes = sympy.Matrix([[typed(g).diff(q.d()) for q in QS] for g in (FIRST, SECOND)])
    b = slopes * a.inv() * slopes.T
    for i, m in enumerate(multipliers()):
        for j, n in enumerate(multipliers()):
            assert gap(h.diff(m, n), b[i, j].xreplace(solution)) < 1e-12


def test_eq_3_31_hamiltonian_flow_is_the_vakonomic_flow():
    """(3.24), (3.31): along the library's motion p = L_v + lambda g_v obeys p' = -dH/dq and q' = dH/dp, with lambda as in (3.29)."""
    ps, _, h = hamiltonian("extended")
    extended = general().lagrangian
    for state in states("x y z x' lambda1 lambda2", seed=2):
        now = {**ch.evaluate(general(), state, t=T), "t": T}
        point = {**now, **{p.name: value(extended.diff(q.d()), now) for p, q in zip(ps, QS, strict=True)}}
        for p, q in zip(ps, QS, strict=True):
            assert close(value(h.diff(p), point), now[f"{q.base}'"])
            assert close(value(d_dt(extended.diff(q.d())), now), -value(h.diff(q), point))


@pytest.mark.erratum(
    "004",
    "footnote 3",
    r"$\det\lVert\partial\chi/\partial\lambda\rVert \ne 0$ for every quadratic $L$",
    r"iff $\det(g\,a^{-1}g^T) \ne 0$; false for $L = \dot q^1\dot q^2$, $g = \dot q^1$",
)
def test_footnote_3_is_false_for_an_indefinite_lagrangian():
    """Footnote 3 says det(d chi/d lambda) != 0 for every quadratic L; L = q1' q2' with g = q1' has b = 0 and leaves lambda open."""
    q1, q2 = ch.coordinates("q1 q2")
    lagrangian, g = q1.d() * q2.d(), q1.d()
    a = sympy.Matrix([[lagrangian.diff(p.d(), q.d()) for q in (q1, q2)] for p in (q1, q2)])
    slope = sympy.Matrix([[g.diff(q.d()) for q in (q1, q2)]])
    assert a.det() != 0 and (slope * a.inv() * slope.T)[0] == 0
    equations = ch.derive(ch.System("q1 q2", lagrangian=lagrangian, kinematic=[g]), ch.Vakonomic())
    with pytest.raises(ch.StateError):
        ch.evaluate(equations, {"q1": 0.1, "q2": 0.2, "q2'": 0.5, "lambda1": 0.3})


def test_footnote_3_counterexample_leaves_the_multiplier_open():
    """Its rows are q2'' + lambda' = 0 and q1'' = 0, q1' = 0: every q2(t) is a motion, with lambda = c - q2'."""
    equations = ch.derive(ch.System("q1 q2", lagrangian="q1'*q2'", kinematic=["q1' = 0"]), ch.Vakonomic())
    for push in (0.0, 1.3, -2.1):
        jets = {"q1'": 0, "q1''": 0, "q2''": push, "lambda1'": -push}
        assert set(ch.residual(equations, jets).values()) == {0.0}


def test_footnote_3_holds_for_a_definite_lagrangian():
    """With L = (q1'^2 + q2'^2)/2 and the same constraint b = 1, and the rate of lambda is determined."""
    equations = ch.derive(ch.System("q1 q2", lagrangian="(q1'^2 + q2'^2)/2", kinematic=["q1' = 0"]), ch.Vakonomic())
    now = ch.evaluate(equations, {"q1": 0.1, "q2": 0.2, "q2'": 0.5, "lambda1": 0.3})
    assert (now["q1''"], now["q2''"], now["lambda1'"]) == (0.0, 0.0, 0.0)


# ---- section 4, example 1: the disk against a resistance ---------------------------------------------------------------------------------


DISK = {"R": 0.8, "I1": 0.16, "I2": 0.32}
RESISTANCE = "1 + 0.3*sin(2*t)"
Z_1 = "lambda1'"
Z_2 = "lambda2'"
EQ_4_1 = {
    "a": f"-x'' - ({Z_1})/beta - beta'/beta*x'",
    "b": f"-y'' - ({Z_2})/beta - beta'/beta*y'",
    "c": "-varphi'' + (-beta'*I1*varphi' + lambda1*R*theta'*sin(varphi) - lambda2*R*theta'*cos(varphi))/(beta*I1)",
    "d": f"-theta'' + (R*cos(varphi)*{Z_1} + R*sin(varphi)*{Z_2} - beta'*I2*theta' - lambda1*R*varphi'*sin(varphi)"
    " + lambda2*R*varphi'*cos(varphi))/(beta*I2)",
    "e": f"-{Z_1} + beta*R*varphi'*theta'*sin(varphi) + (-beta'*x'*(I2 + R^2*sin(varphi)^2) + R*I2*beta'*theta'*cos(varphi)"
    " + beta'*R^2*y'*cos(varphi)*sin(varphi) + lambda1*R^2*varphi'*cos(varphi)*sin(varphi)"
    " - lambda2*R^2*varphi'*cos(varphi)^2)/(I2 + R^2)",
    "f": f"-{Z_2} - beta*R*varphi'*theta'*cos(varphi) + (-beta'*y'*(I2 + R^2*cos(varphi)^2) + R*I2*beta'*theta'*sin(varphi)"
    " + beta'*R^2*x'*cos(varphi)*sin(varphi) - lambda2*R^2*varphi'*cos(varphi)*sin(varphi)"
    " + lambda1*R^2*varphi'*sin(varphi)^2)/(I2 + R^2)",
}


@cache
def disk():
    return ch.derive(ch.gallery("disk-resistance"))


@cache
def disk_states():
    data = states("x y varphi theta varphi' theta' lambda1 lambda2", seed=3)
    return [ch.evaluate(disk(), state, parameters=DISK, t=0.3 + k) for k, state in enumerate(data)]


def test_section_4_example_1_data():
    """The Lagrangian and the rolling constraints of example 1 are those of the gallery."""
    paper = ch.parse("beta/2*(x'^2 + y'^2 + I1*varphi'^2 + I2*theta'^2)", disk())
    assert gap(disk().system.lagrangian, paper) == 0.0
    texts = ("x' - R*theta'*cos(varphi)", "y' - R*theta'*sin(varphi)")
    for constraint, text in zip(disk().system.kinematic, texts, strict=True):
        assert gap(constraint.residual, ch.parse(text, disk())) == 0.0


@pytest.mark.parametrize("letter", "abcd")
def test_eq_4_1_accelerations(letter):
    """(4.1a-d): the accelerations of x, y, varphi, theta."""
    assert max(abs(now[EQ_4_1[letter]]) for now in disk_states()) < 1e-12


@pytest.mark.parametrize("letter", "ef")
def test_eq_4_1_rates_of_the_multipliers(letter):
    """(4.1e, f): lambda1' = Z_1, lambda2' = Z_2."""
    assert max(abs(now[EQ_4_1[letter]]) for now in disk_states()) < 1e-12


@pytest.mark.parametrize("letter", "abcd")
def test_eq_4_1_accelerations_are_the_rows(letter):
    """(4.1a-d) times -beta and the inertia are the library's rows for any jets."""
    k = "abcd".index(letter)
    weight = ["-beta", "-beta", "-beta*I1", "-beta*I2"][k]
    paper = ch.parse(f"({weight})*({EQ_4_1[letter]})", disk())
    assert gap(paper, disk().rows[k].residual) < 1e-12


def test_eq_4_1_rate_of_resistance_cancels_on_the_constraints():
    """On g = 0 all terms with beta' cancel:
    Z = beta R varphi' theta' (sin, -cos) + R^2 varphi'/(I2 + R^2) (lambda1 sin - lambda2 cos) (cos, sin)."""
    common = "R^2*varphi'/(I2 + R^2)*(lambda1*sin(varphi) - lambda2*cos(varphi))"
    for now in disk_states():
        assert close(now[Z_1], now[f"beta*R*varphi'*theta'*sin(varphi) + {common}*cos(varphi)"])
        assert close(now[Z_2], now[f"-beta*R*varphi'*theta'*cos(varphi) + {common}*sin(varphi)"])


def test_eq_4_1_rates_do_not_feel_the_rate_of_resistance():
    """Two resistances with the same value and different slopes at t = 0 give the same lambda' and different accelerations."""
    state = states("x y varphi theta varphi' theta' lambda1 lambda2", seed=3)[0]
    steep, flat = (ch.evaluate(disk(), state, parameters=DISK, t=0, inputs={"beta": text}) for text in ("2 + 3*t", "2 - t"))
    assert close(steep[Z_1], flat[Z_1]) and close(steep[Z_2], flat[Z_2])
    assert abs(steep["theta''"] - flat["theta''"]) > 1e-3


def test_eq_4_1_holds_off_the_constraints():
    """(4.1) solves the rows and g' = 0 for any velocities, also where g is not zero."""
    rows = [row.residual for row in disk().rows]
    unknowns = [ch.parse(name, disk()) for name in ("x''", "y''", "varphi''", "theta''", "lambda1'", "lambda2'")]
    linear = [*rows[:4], d_dt(rows[4]), d_dt(rows[5])]
    for state in states("x y varphi theta x' y' varphi' theta' lambda1 lambda2 beta beta'", seed=9):
        known = {**state, **DISK}
        at = {z: sympy.Float(known[z.name]) for e in linear for z in e.free_symbols if z not in unknowns}
        matrix, right = sympy.linear_eq_to_matrix([e.xreplace(at) for e in linear], unknowns)
        solution = np.linalg.solve(np.array(matrix, dtype=float), np.array(right, dtype=float).ravel())
        point = {**known, **{z.name: v for z, v in zip(unknowns, solution, strict=True)}}
        assert abs(value(rows[4], point)) > 1e-3
        assert max(abs(value(ch.parse(text, disk()), point)) for text in EQ_4_1.values()) < 1e-12


def test_eq_4_1_as_the_general_formula_3_20():
    """(3.20) for the disk gives the same numbers as the library."""
    qs = disk().system.coordinates
    lagrangian = disk().system.lagrangian.xreplace({ch.Input("beta"): ch.parse(RESISTANCE, disk())})
    gs = [row.residual for row in disk().system.kinematic]
    ms = [ch.parse(f"lambda{k}", disk()) for k in (1, 2)]
    for k, now in enumerate(disk_states()):
        rates, accelerations = eq_3_20(lagrangian, gs, ms, qs, {**now, **DISK, "t": 0.3 + k})
        assert all(close(now[f"lambda{i + 1}'"], v) for i, v in enumerate(rates))
        assert all(close(now[f"{q.base}''"], v) for q, v in zip(qs, accelerations, strict=True))


DISK_MOMENTA = {
    "x": "beta*x' + lambda1",
    "y": "beta*y' + lambda2",
    "varphi": "beta*I1*varphi'",
    "theta": "beta*I2*theta' - R*(lambda1*cos(varphi) + lambda2*sin(varphi))",
}


def test_eq_3_29_to_3_31_reduced_hamiltonian_of_the_disk():
    """(3.29)-(3.31) for the disk: H = (p_varphi^2/I1 + (p_theta + R p_x cos + R p_y sin)^2/(I2 + R^2))/(2 beta) generates the motion."""
    px, py, pv, pt, beta, angle = sympy.symbols("px py pv pt beta angle", real=True)
    radius, i1, i2 = (sympy.Float(DISK[name]) for name in ("R", "I1", "I2"))
    rolling = pt + radius * (px * sympy.cos(angle) + py * sympy.sin(angle))
    h = (pv**2 / i1 + rolling**2 / (i2 + radius**2)) / (2 * beta)
    for k, now in enumerate(disk_states()):
        point = {p: now[DISK_MOMENTA[name]] for p, name in zip((px, py, pv, pt), DISK_MOMENTA, strict=True)}
        point |= {beta: now["beta"], angle: now["varphi"]}
        for p, name in zip((px, py, pv, pt), DISK_MOMENTA, strict=True):
            assert close(float(h.diff(p).xreplace({a: sympy.Float(b) for a, b in point.items()})), now[f"{name}'"])
        turning = -float(h.diff(angle).xreplace({a: sympy.Float(b) for a, b in point.items()}))
        rates = {name: value(d_dt(ch.parse(text, disk())), disk_point(now, 0.3 + k)) for name, text in DISK_MOMENTA.items()}
        assert close(rates["varphi"], turning)
        assert max(abs(rates[name]) for name in ("x", "y", "theta")) < 1e-12


def disk_point(now, t):
    """All values by name, with beta and beta' typed from the resistance."""
    return {**now, **DISK, "beta": 1 + 0.3 * np.sin(2 * t), "beta'": 0.6 * np.cos(2 * t)}


# ---- section 4, example 2: two firms ----------------------------------------------------------------------------------------------------


FIRMS = {"A1": 1.5, "A2": 0.7, "B": 0.4, "D": 2.0, "beta": 0.3}
DISCOUNT = [
    "-lambda1' + exp(-beta*t)*A2*(B*(q1' + q2') + beta*q2') + lambda1*B",
    "-q1'' + beta*q1' + lambda1*B*exp(beta*t)/A1",
    "-q2'' - B*(q1' + q2')",
]
GROWTH = [
    "-lambda1' + exp(beta*t)*A2*(B*(q1' + q2') - beta*q2') + lambda1*B",
    "-q1'' - beta*q1' + lambda1*B*exp(-beta*t)/A1",
    "-q2'' - B*(q1' + q2')",
]


@cache
def firms(discount):
    return ch.derive(ch.gallery("two-firms", discount=discount))


@cache
def firm_states(discount):
    data = states("q1 q2 q1' lambda1", seed=5)
    return [ch.evaluate(firms(discount), state, parameters=FIRMS, t=0.4 + k) for k, state in enumerate(data)]


def largest(texts, discount):
    return max(abs(now[text]) for now in firm_states(discount) for text in texts)


def test_eq_4_2_cost_is_a_discount_in_the_gallery():
    """(4.2) is printed with exp(+beta t); (4.4) and the Hamiltonian need exp(-beta t), the gallery's default. Both are there."""
    for discount, sign in ((True, "-"), (False, "")):
        paper = ch.parse(f"exp({sign}beta*t)/2*(A1*q1'^2 + A2*q2'^2)", firms(discount))
        assert gap(firms(discount).system.lagrangian, paper) == 0.0
    assert ch.gallery("two-firms").system == firms(True).system


def test_eq_4_3_constraint():
    """(4.3): q2' - D + B (q1 + q2), and the missing = 0."""
    for discount in (True, False):
        row = firms(discount).rows[2]
        assert gap(row.residual, ch.parse("q2' - D + B*(q1 + q2)", firms(discount))) == 0.0
    assert largest(["q2' - D + B*(q1 + q2)"], True) < 1e-12


def test_eq_4_4_belongs_to_the_discounted_cost():
    """(4.4a-c) as printed hold for the cost exp(-beta t)."""
    assert largest(DISCOUNT, True) < 1e-12


@pytest.mark.erratum("004", "(4.2) with (4.4), $H$", r"cost with $e^{+\beta t}$", r"(4.4a), (4.4b) and $H$ belong to $e^{-\beta t}$")
def test_eq_4_4_printed_combination_is_inconsistent():
    """(4.4a, b) fail for the cost exp(+beta t) of (4.2) as printed."""
    assert largest(DISCOUNT[:1], False) > 1e-3
    assert largest(DISCOUNT[1:2], False) > 1e-3


def test_eq_4_4_for_the_growing_cost():
    """For exp(+beta t): lambda' = exp(beta t) A2 (B (q1' + q2') - beta q2') + lambda B, q1'' = -beta q1' + lambda B exp(-beta t)/A1."""
    assert largest(GROWTH, False) < 1e-12
    assert largest(GROWTH[:1], True) > 1e-3 and largest(GROWTH[1:2], True) > 1e-3


def test_eq_4_4c_holds_for_both_costs():
    """(4.4c): q2'' = -B (q1' + q2'), the derivative of the constraint."""
    assert largest(DISCOUNT[2:], True) < 1e-12 and largest(DISCOUNT[2:], False) < 1e-12


def test_eq_4_4_reference_numbers():
    """The two firms at their reference state, t = 0.1."""
    start = {"q1": 0.5, "q2": 0.8, "q1'": 0.6, "lambda1": 0.25}
    now = ch.evaluate(firms(True), start, parameters=FIRMS, t=0.1)
    reference = {"q1''": 0.24869696893023446, "q2''": -0.832, "lambda1'": 0.9668019505655275}
    assert all(close(now[name], v) for name, v in reference.items())


def reduced(sign):
    """The reduced Hamiltonian for the cost exp(sign beta t); sign = -1 is the printed one."""
    names = sympy.symbols("q1 q2 p1 p2 t A1 A2 B D beta", real=True)
    q1, q2, p1, p2, t, a1, a2, b, d, beta = names
    rate = d - b * (q1 + q2)
    growth = sympy.exp(sign * beta * t)
    return (q1, q2, p1, p2), p1**2 / (2 * a1 * growth) + p2 * rate - growth * a2 * rate**2 / 2


def momenta(discount):
    """p_1 = L_v1, p_2 = L_v2 + lambda by (3.24), and their rates, at the evaluated states."""
    weight = "exp(-beta*t)" if discount else "exp(beta*t)"
    texts = {"p1": f"{weight}*A1*q1'", "p2": f"{weight}*A2*q2' + lambda1"}
    rates = {f"{p}'": d_dt(ch.parse(text, firms(discount))) for p, text in texts.items()}
    found = []
    for k, now in enumerate(firm_states(discount)):
        point = {**now, **FIRMS, "t": 0.4 + k}
        found.append({**point, **{p: now[text] for p, text in texts.items()}, **{p: value(e, point) for p, e in rates.items()}})
    return found


def hamilton_gap(sign, discount):
    """How far the motion is from q' = dH/dp, p' = -dH/dq."""
    (q1, q2, p1, p2), h = reduced(sign)
    pairs = [("q1'", h.diff(p1)), ("q2'", h.diff(p2)), ("p1'", -h.diff(q1)), ("p2'", -h.diff(q2))]
    return max(abs(point[name] - value(e, point)) for point in momenta(discount) for name, e in pairs)


def test_section_4_reduced_hamiltonian_of_the_firms():
    """Printed H = p1^2 exp(beta t)/(2 A1) + p2 X - exp(-beta t) A2 X^2/2, X = D - B (q1 + q2), generates the motion of exp(-beta t)."""
    assert hamilton_gap(-1, True) < 1e-12


def test_section_4_printed_hamiltonian_fails_for_the_printed_cost():
    """With the cost exp(+beta t) of (4.2) the printed H fails; H = p1^2 exp(-beta t)/(2 A1) + p2 X - exp(beta t) A2 X^2/2 holds."""
    assert hamilton_gap(-1, False) > 1e-3
    assert hamilton_gap(+1, False) < 1e-12


def printed_hamilton_equations(point, sign):
    """The printed Hamilton equations (sign = -1), or those of the growing cost."""
    growth = np.exp(sign * point["beta"] * point["t"])
    rate = point["D"] - point["B"] * (point["q1"] + point["q2"])
    force = point["B"] * (point["p2"] - growth * point["A2"] * rate)
    return {"q1'": point["p1"] / (growth * point["A1"]), "q2'": rate, "p1'": force, "p2'": force}


def test_section_4_hamilton_equations_of_the_firms():
    """q1' = p1 exp(beta t)/A1, q2' = X, p1' = p2' = B (p2 - exp(-beta t) A2 X) along the motions of exp(-beta t) only."""
    for sign, discount in ((-1, True), (+1, False)):
        for point in momenta(discount):
            assert all(close(point[name], v) for name, v in printed_hamilton_equations(point, sign).items())
    worst = max(abs(point[name] - v) for point in momenta(False) for name, v in printed_hamilton_equations(point, -1).items())
    assert worst > 1e-3


# ---- section 4, example 3: the transformer ----------------------------------------------------------------------------------------------


CIRCUIT = {"R1": 1.0, "R2": 0.8, "L1": 1.5, "L2": 1.2, "M": 0.7}


@cache
def transformer():
    return ch.derive(ch.gallery("transformer"))


def linear_flow():
    """K with (I1, I2)' = K (I1, I2)."""
    r1, r2, l2, m = (CIRCUIT[name] for name in ("R1", "R2", "L2", "M"))
    return np.array([[l2 * r1 * r2, -m * r2**2], [-m * r1 * r2, -l2 * r1 * r2]]) / (l2**2 * r1 + m**2 * r2)


def alpha():
    """alpha = R1 R2^2/(R2 M^2 + R1 L2^2)."""
    r1, r2, l2, m = (CIRCUIT[name] for name in ("R1", "R2", "L2", "M"))
    return r1 * r2**2 / (r2 * m**2 + r1 * l2**2)


def circuit(currents):
    """All jets on the final constraint manifold and on S, typed from the paper, for given currents."""
    r1, r2, l1, l2, m = (CIRCUIT[name] for name in ("R1", "R2", "L1", "L2", "M"))
    i1, i2 = currents
    d1, d2 = linear_flow() @ currents
    return {
        "I1": i1,
        "I2": i2,
        "I1'": d1,
        "I2'": d2,
        "I1''": alpha() * i1,
        "I2''": -(r2 * d2 + m * alpha() * i1) / l2,
        "epsilon": r1 * i1 + l1 * d1 + m * d2,
        "epsilon'": r1 * d1 - m * r2 / l2 * d2 + (l1 - m**2 / l2) * alpha() * i1,
        "lambda1": -2 * i1,
        "lambda2": 2 * r1 * l2 * i1 / (m * r2),
        "lambda1'": -2 * d1,
        "lambda2'": 2 * d2 + 2 * r1 / m * i1,
    }


CURRENTS = [np.array([0.5, -0.3]), np.array([-0.8, 0.9]), np.array([1.1, 0.4])]


def test_eq_4_5_kirchhoff_laws():
    """(4.5a, b) are the kinematic rows."""
    texts = ["epsilon - R1*I1 - L1*I1' - M*I2'", "R2*I2 + L2*I2' + M*I1'"]
    for text, row in zip(texts, transformer().rows[3:], strict=True):
        assert gap(ch.parse(text, transformer()), row.residual) == 0.0


def test_section_4_extended_lagrangian_of_the_transformer():
    """The extended Lagrangian: the heat of both resistors plus lambda1 g1 + lambda2 g2."""
    text = (
        "(epsilon - L1*I1' - M*I2')^2/R1 + (L2*I2' + M*I1')^2/R2"
        " + lambda1*(epsilon - R1*I1 - L1*I1' - M*I2') + lambda2*(R2*I2 + L2*I2' + M*I1')"
    )
    assert gap(transformer().lagrangian, ch.parse(text, transformer())) < 1e-12


@pytest.mark.parametrize("currents", CURRENTS, ids=["a", "b", "c"])
def test_section_4_transformer_flow_satisfies_the_rows(currents):
    """The final manifold M_3, the submanifold S and the field Z of the paper satisfy every derived row."""
    found = ch.residual(transformer(), circuit(currents), parameters=CIRCUIT)
    assert max(map(abs, found.values())) < 1e-12


@pytest.mark.parametrize("name", ["lambda1", "lambda2", "I1'", "I1''", "I2''", "epsilon'", "lambda1'", "lambda2'"])
def test_section_4_transformer_rows_feel_every_value(name):
    """Changing any one of these values breaks a row: the check above is not empty."""
    jets = circuit(CURRENTS[0])
    found = ch.residual(transformer(), {**jets, name: jets[name] + 0.1}, parameters=CIRCUIT)
    assert max(map(abs, found.values())) > 1e-3


def test_section_4_transformer_constraints_m3_from_the_rows():
    """M_3: the rows imply lambda1 = -2 I1, M R2 lambda2 + R1 L2 lambda1 = 0 and M R2 I2' + R1 R2 I1 - L2 R1 I1' = 0."""
    rows = [row.residual for row in transformer().rows]
    names = "R1 R2 L1 L2 M I1 I2 epsilon I1' I2' epsilon' I1'' I2'' lambda1 lambda2 lambda1' lambda2'"
    z = {name: ch.parse(name, transformer()) for name in names.split()}
    first = sympy.expand(z["R1"] * rows[2] + z["R1"] * z["lambda1"] + 2 * rows[3])  # E_epsilon on g1 = 0
    assert gap(first, -2 * z["R1"] * z["I1"]) < 1e-12
    # The second derivatives drop out of L2 E_1 - M E_2 after g1' = g2' = 0 and lambda1' = -2 I1'.
    on = sympy.solve([d_dt(rows[3]), d_dt(rows[4])], [z["I1''"], z["I2''"]], dict=True)[0]
    put = {z["lambda1'"]: -2 * z["I1'"], z["lambda1"]: -2 * z["I1"]}
    combined = (z["L2"] * rows[0] - z["M"] * rows[1]).xreplace(on).xreplace(put)
    paper = z["R1"] * z["L2"] * z["lambda1"] + z["M"] * z["R2"] * z["lambda2"]
    assert sympy.cancel(combined - paper.xreplace(put)) == 0
    remaining = rows[1].xreplace(on).xreplace(put)
    last = z["M"] * z["R2"] * z["I2'"] + z["R1"] * z["R2"] * z["I1"] - z["L2"] * z["R1"] * z["I1'"]
    level = {z["lambda2"]: 2 * z["R1"] * z["L2"] * z["I1"] / (z["M"] * z["R2"])}
    level[z["lambda2'"]] = 2 * z["R1"] * z["L2"] * z["I1'"] / (z["M"] * z["R2"])
    assert sympy.cancel(remaining.xreplace(level) * z["M"] * z["R2"] + 2 * z["L2"] * last) == 0


def test_section_4_transformer_linear_flow():
    """The flow solves (4.5b) and the last equation of M_3; K^2 = alpha, so tr K = 0, det K = -alpha, exponents +-sqrt(alpha)."""
    r1, r2, l2, m = (CIRCUIT[name] for name in ("R1", "R2", "L2", "M"))
    solution = np.linalg.solve([[m, l2], [-l2 * r1, m * r2]], [[0, -r2], [-r1 * r2, 0]])
    assert np.abs(solution - linear_flow()).max() < 1e-14
    assert np.abs(linear_flow() @ linear_flow() - alpha() * np.eye(2)).max() < 1e-14
    assert alpha() > 0


def test_section_4_transformer_alpha_in_the_field():
    """I1'' = alpha I1 and L2 I2'' = -(R2 I2' + M alpha I1), with alpha = R1 R2^2/(R2 M^2 + R1 L2^2), agree with K^2."""
    for currents in CURRENTS:
        jets, second = circuit(currents), linear_flow() @ linear_flow() @ currents
        assert close(jets["I1''"], second[0]) and close(jets["I2''"], second[1])
