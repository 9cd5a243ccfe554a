"""Constrained Lagrangian dissipative contact dynamics (de León, Lainz, Muñoz-Lecanda, Román-Roy), equation by equation.

The right-hand sides are typed from the paper. Its operator is E_F = F_q - d/dt F_v, the negative of the library's rows, and its reaction
multipliers are the negatives of the library's: rows read d/dt L_v - L_q = u + lambda R_V. Where the paper is misprinted, a test shows that
the printed form fails and that the corrected one holds.
"""

from functools import cache

import numpy as np
import pytest
import sympy
from by_hand import TIME, close, d_dt, gap, solved, states, value

import chetaev as ch

X, Y, Z, S, MU, M1, M2 = ch.coordinates("x y z s mu m1 m2")

# A regular Lagrangian without symmetry, for the general formulas of section 2.
FREE = "(1 + x^2)*x'^2/2 + x'*y'*sin(y)/3 + y'^2 + y'^4/12 - k*x*y + x*y' + y^2*x'"
# Lagrangians that contain the action everywhere, also next to the velocities.
CONTACT = "(x'^2 + 2*y'^2 + x'*y')*exp(k*s)/2 + x*y'*s - k*s^2/2 - x^2*y"
SPACE = "(x'^2 + 2*y'^2 + z'^2 + x'*y'*cos(z)/2)*exp(k*s)/2 + x*z'*s - k*s^2/2 - x^2*y"
CONSTRAINTS = {
    "linear": "z' - y*x' + x*y'",
    "affine": "z' - y*x' - 1 - x",
    "nonlinear": "z' - x'^2/3 - y'^2*sin(x)/2",
    "with s": "z' - y*x'*cos(s) - s*y'",
}
WITHOUT_S = ["linear", "affine", "nonlinear"]


# ---- tools: chain rule, random states, comparison ---------------------------------------------------------------------------------


def operator(f, q, rates=None):
    """The component E_F = F_q - d/dt F_v of the paper's Euler-Lagrange operator (6)."""
    return f.diff(q) - d_dt(f.diff(q.d()), rates=rates)


def typed(text):
    """An expression in the names of all the general examples; s is a coordinate here."""
    return ch.parse(text, coordinates="x y z s mu m1 m2", parameters="k")


def known(now, parameters, t=0.0):
    """All values of an evaluation by name, parameters and time included."""
    return {**now, **parameters, "t": t}


def worst(residuals, values):
    """The largest of several typed residuals over several evaluated states."""
    return max(abs(value(e, v)) for v in values for e in residuals)


# ---- the systems of the general theory ---------------------------------------------------------------------------------------------


@cache
def free_rows():
    """The library's rows of the Lagrangian without constraints."""
    return [row.lhs for row in ch.derive(ch.System("x y", "k", lagrangian=FREE)).rows]


@cache
def contact(kind, inner=None):
    """The constrained contact system under Herglotz' principle; inner defaults to Chetaev."""
    system = ch.System("x y z", "k", lagrangian=SPACE, kinematic=[CONSTRAINTS[kind]], action="s")
    return ch.derive(system, ch.Herglotz(inner or ch.Chetaev()))


@cache
def contact_motions(kind):
    """Evaluated states of the nonholonomic contact system."""
    parameters = {"k": 0.4}
    found = [ch.evaluate(contact(kind), state, parameters=parameters) for state in states("x y z s x' y'")]
    return [known(now, parameters) for now in found]


@cache
def extended(kind):
    """The free Lagrangian L - mu*(s' - L) - m1*psi on (q, s, mu, m1), the vakonomic system of section 5."""
    text = f"({SPACE}) - mu*(s' - ({SPACE})) - m1*({CONSTRAINTS[kind]})"
    return ch.derive(ch.System("x y z s mu m1", "k", lagrangian=text), ch.Hamilton())


@cache
def extended_motions(kind):
    """Evaluated states of the vakonomic system: accelerations and the rates of the multipliers."""
    parameters = {"k": 0.4}
    data = [{**state, "mu": 0.3 * state["mu"]} for state in states("x y z s x' y' mu m1", seed=3)]
    return [known(ch.evaluate(extended(kind), state, parameters=parameters), parameters) for state in data]


def mixed(lagrangian, q, coordinates):
    """The sum of v^h L_{q^h v^i}."""
    return sympy.Add(*[h.d() * lagrangian.diff(h, q.d()) for h in coordinates])


def inertia(lagrangian, q, coordinates):
    """The sum of B^h L_{v^h v^i}."""
    return sympy.Add(*[h.d(2) * lagrangian.diff(h.d(), q.d()) for h in coordinates])


def energy(lagrangian, coordinates):
    """E_L = v L_v - L."""
    return sympy.Add(*[q.d() * lagrangian.diff(q.d()) for q in coordinates]) - lagrangian


# ---- section 2: Lagrangian, nonholonomic and vakonomic mechanics ---------------------------------------------------------------------


def eq_3(sign):
    """L_vv B - (L_{q^j v^i} + sign L_{v^j q^i}) v^i + L_{v^i q^j} v^i - L_q, with A = v by (4)."""
    lag, qs = typed(FREE), (X, Y)
    rows = []
    for j in qs:
        bracket = sympy.Add(*[(lag.diff(j, i.d()) + sign * lag.diff(j.d(), i)) * i.d() for i in qs])
        rows.append(inertia(lag, j, qs) - bracket + sympy.Add(*[i.d() * lag.diff(i.d(), j) for i in qs]) - lag.diff(j))
    return rows


def test_eq_3_lagrangian_vector_field():
    """(3) with the bracket L_{q^j v^i} - L_{v^j q^i} is the library's row."""
    for paper, row in zip(eq_3(-1), free_rows(), strict=True):
        assert gap(paper, row) < 1e-12


@pytest.mark.erratum("002", "(3)", "$-(L_{q^jv^i} + L_{v^jq^i})A^i$", "$-(L_{q^jv^i} - L_{v^jq^i})A^i$")
def test_eq_3_printed_sign_fails():
    """(3) is printed with a plus inside the bracket; that is not the Euler-Lagrange equation."""
    for paper, row in zip(eq_3(+1), free_rows(), strict=True):
        assert gap(paper, row) > 1e-3


def test_eq_5_both_members():
    """(5): L_vv q'' + L_vq q' - L_q = d/dt L_v - L_q, and both are the library's row."""
    lag, qs = typed(FREE), (X, Y)
    for q, row in zip(qs, free_rows(), strict=True):
        assert gap(inertia(lag, q, qs) + mixed(lag, q, qs) - lag.diff(q), row) < 1e-12
        assert gap(d_dt(lag.diff(q.d())) - lag.diff(q), row) < 1e-12


@pytest.mark.erratum("002", "(5)", "$L_{vv}q'' - L_{vq}q' + L_q$", "$L_{vv}q'' + L_{vq}q' - L_q$")
def test_eq_5_printed_signs_fail():
    """(5), middle member, is printed as L_vv q'' - L_vq q' + L_q: two wrong signs, and neither change alone repairs it."""
    lag, qs = typed(FREE), (X, Y)
    for q, row in zip(qs, free_rows(), strict=True):
        second, first, zeroth = inertia(lag, q, qs), mixed(lag, q, qs), lag.diff(q)
        for wrong in (second - first + zeroth, second + first + zeroth, second - first - zeroth):
            assert gap(wrong, row) > 1e-3


def test_eq_6_operator_is_minus_the_row():
    """(6), (7): E_L = L_q - d/dt L_v, the negative of d/dt L_v - L_q."""
    for q, row in zip((X, Y), free_rows(), strict=True):
        assert gap(operator(typed(FREE), q), -row) < 1e-12


def test_eq_8_operator_splits_over_configuration_and_action():
    """(8): on Q x R the operator has the components E^Q and F_s - d/dt F_{s'}, here for a function of s and s' as well."""
    text = f"({CONTACT})*s' + s'^2*x/2"
    rows = ch.derive(ch.System("x y s", "k", lagrangian=text), ch.Hamilton()).rows
    for q, row in zip((X, Y, S), rows, strict=True):
        assert gap(operator(typed(text), q), -row.lhs) < 1e-12


def test_section_2_2_operator_of_f_times_lagrangian():
    """E_{fL} = f E_L - f' d^v L for a function f of time."""
    rows = ch.derive(ch.System("x y", "k", lagrangian=f"f*({FREE})", inputs={"f": None})).rows
    f, lag = ch.Input("f"), typed(FREE)
    for q, row in zip((X, Y), rows, strict=True):
        assert gap(f * operator(lag, q) - f.d() * lag.diff(q.d()), -row.lhs) < 1e-12


@pytest.mark.erratum(
    "002",
    "section 2.4",
    r"$E_{\mu\psi} = \mu' d^v\psi + \mu E_\psi$",
    r"$E_{\mu\psi} = \mu E_\psi - \mu' d^v\psi$: the root of most faults of section 5",
)
def test_section_2_4_operator_of_mu_psi_printed_sign_fails():
    """E_{mu psi} = mu E_psi - mu' d^v psi; section 2.4 (iii) prints + mu' d^v psi against its own rule for E_{fL}."""
    psi_text = "z' - x'^2/3 - y'^2*sin(x)/2 + y*x'"
    psi, mu = typed(psi_text), ch.Input("mu")
    rows = ch.derive(ch.System("x y z", lagrangian=f"mu*({psi_text})", inputs={"mu": None})).rows
    for q, row in zip((X, Y, Z), rows, strict=True):
        assert gap(mu * operator(psi, q) - mu.d() * psi.diff(q.d()), -row.lhs) < 1e-12
        assert gap(mu * operator(psi, q) + mu.d() * psi.diff(q.d()), -row.lhs) > 1e-3


NONHOLONOMIC = "(x'^2 + 2*y'^2 + z'^2 + x'*y'*cos(z)/2)/2 - k*x^2*y + x*z'"


@pytest.mark.erratum("002", "section 2.3", r"$\frac{d}{dt}L_v - L_q = +\lambda_i\varphi^i_v$", r"$-\lambda_i\varphi^i_v$, by (10)")
@pytest.mark.parametrize("kind", WITHOUT_S)
def test_eq_10_nonholonomic_multiplier_changes_sign(kind):
    """(10), (11): E_L = lambda d^v phi; the library's multiplier is -lambda, the sign of the line after (11), which clashes with (11)."""
    lag, phi, lam = typed(NONHOLONOMIC), typed(CONSTRAINTS[kind]), sympy.Symbol("lambda")
    paper = [operator(lag, q) - lam * phi.diff(q.d()) for q in (X, Y, Z)] + [d_dt(phi)]
    system = ch.System("x y z", "k", lagrangian=NONHOLONOMIC, kinematic=[CONSTRAINTS[kind]])
    equations = ch.derive(system, ch.Chetaev())
    for state in states("x y z x' y'"):
        now = ch.evaluate(equations, state, parameters={"k": 0.4})
        expected = solved(paper, [X.d(2), Y.d(2), Z.d(2), lam], known(now, {"k": 0.4}))
        assert all(close(now[name], expected[name]) for name in ("x''", "y''", "z''"))
        assert close(now["lambda1"], -expected["lambda"])
        assert abs(now["lambda1"] - expected["lambda"]) > 1e-3


def vakonomic_rows(kind):
    """The library's rows under the vakonomic principle, with its multiplier and the typed L and phi."""
    system = ch.System("x y z", "k", lagrangian=NONHOLONOMIC, kinematic=[CONSTRAINTS[kind]])
    equations = ch.derive(system, ch.Vakonomic())
    rows = [row.residual for row in equations.rows[:3]]
    return rows, ch.parse("lambda1", equations), typed(NONHOLONOMIC), typed(CONSTRAINTS[kind])


@pytest.mark.parametrize("kind", WITHOUT_S)
def test_eq_12_vakonomic_equations(kind):
    """(12): E_{L + mu phi} = 0, written out d/dt L_v - L_q = -mu' phi_v - mu (d/dt phi_v - phi_q); mu is the library's lambda."""
    rows, mu, lag, phi = vakonomic_rows(kind)
    for q, row in zip((X, Y, Z), rows, strict=True):
        right = -mu.d() * phi.diff(q.d()) - mu * (d_dt(phi.diff(q.d())) - phi.diff(q))
        assert gap(d_dt(lag.diff(q.d())) - lag.diff(q) - right, row) < 1e-12
        assert gap(-operator(lag + mu * phi, q), row) < 1e-12


@pytest.mark.erratum(
    "002",
    "(12)",
    "coordinate form with $L$ on both sides",
    r"$\frac{d}{dt}L_v - L_q = -\mu'\varphi_v - \mu(\frac{d}{dt}\varphi_v - \varphi_q)$",
)
@pytest.mark.parametrize("kind", WITHOUT_S)
def test_eq_12_printed_coordinate_form_fails(kind):
    """The line after (12) repeats L where phi belongs: mu' phi_v + mu (d/dt L_v - L_q), wrong for either sign of mu."""
    rows, mu, lag, phi = vakonomic_rows(kind)
    for sign in (1, -1):
        printed = [
            d_dt(lag.diff(q.d())) - lag.diff(q) - sign * (mu.d() * phi.diff(q.d()) + mu * (d_dt(lag.diff(q.d())) - lag.diff(q)))
            for q in (X, Y, Z)
        ]
        assert all(gap(e, row) > 1e-3 for e, row in zip(printed, rows, strict=True))


@pytest.mark.erratum("002", "section 2.4 (iii)", "equivalent to (12)", r"to $E_{L - \mu\varphi} = 0$: the sign of $\mu$ differs")
@pytest.mark.parametrize("kind", WITHOUT_S)
def test_section_2_4_condition_iii_is_the_equation_of_l_minus_mu_phi(kind):
    """(iii) E_L = E_{mu phi} belongs to L - mu phi, so its mu is minus that of (12), contrary to what is printed."""
    rows, lam, lag, phi = vakonomic_rows(kind)
    mu = ch.Input("mu")
    back = {mu: -lam, mu.d(): -lam.d()}
    for q, row in zip((X, Y, Z), rows, strict=True):
        third = operator(lag, q) - (mu * operator(phi, q) - mu.d() * phi.diff(q.d()))
        assert gap(third.xreplace(back), -row) < 1e-12
        assert gap(third.xreplace({mu: lam, mu.d(): lam.d()}), -row) > 1e-3


@pytest.mark.erratum(
    "002",
    "section 4.1",
    "multipliers determined because $L$ is regular",
    r"iff $\det(\varphi_v W^{-1}\varphi_v^T) \ne 0$; true for definite $W$",
)
def test_section_4_1_regular_lagrangian_does_not_determine_the_multiplier():
    """4.1 says the multipliers follow because L is regular; L = v1 v2 with phi = v1 is regular and they do not: phi_v W^-1 phi_v = 0.

    Instead x'' + 2 x y = 0 with x' = 0 leaves x y = 0: on x = 0 the multiplier is free, on y = 0 it vanishes, elsewhere there is no motion.
    """
    system = ch.System("x y", lagrangian="x'*y' - x*y^2", kinematic=["x' = 0"])
    weights = sympy.Matrix([[0, 1], [1, 0]])
    assert weights.det() != 0 and (sympy.Matrix([[1, 0]]) * weights.inv() * sympy.Matrix([1, 0]))[0] == 0
    equations = ch.derive(system, ch.DAlembert())
    found = ch.analyze(equations)
    assert (found.verdict, [b.hidden[0] for b in found.branches]) == ("BRANCHING", ["x", "y"])
    with pytest.raises(ch.GaugeError):
        ch.evaluate(equations, {"x": 0, "y": 0.3, "y'": 0.5})
    assert ch.evaluate(equations, {"x": 0.2, "y": 0})["lambda1"] == 0
    with pytest.raises(ch.BranchError):
        ch.evaluate(equations, {"x": 0.2, "y": 0.3, "y'": 0.5})


# ---- section 2.5 and 3: Herglotz' equation, also as a nonholonomic and as a vakonomic system ------------------------------------------


@cache
def herglotz():
    return ch.derive(ch.System("x y", "k", lagrangian=CONTACT, action="s"), ch.Herglotz())


def with_coordinate_s(e):
    """The action variable of the library replaced by the coordinate s of the typed formulas."""
    return e.xreplace({z: S.d(z.order) for z in e.free_symbols if getattr(z, "base", "") == "s"})


def test_eq_13_herglotz_equation():
    """(13): L_q - d/dt L_v = -L_s L_v, with s' = L in the total derivative."""
    lag = typed(CONTACT)
    for q, row in zip((X, Y), herglotz().rows, strict=False):
        paper = operator(lag, q, {S: lag}) + lag.diff(S) * lag.diff(q.d())
        assert gap(paper, -with_coordinate_s(row.residual)) < 1e-12


def test_eq_13_opposite_sign_of_the_dissipation_fails():
    """The sign of the term L_s L_v in (13) is fixed: + L_s L_v on the right is another equation."""
    lag = typed(CONTACT)
    for q, row in zip((X, Y), herglotz().rows, strict=False):
        assert gap(operator(lag, q, {S: lag}) - lag.diff(S) * lag.diff(q.d()), -with_coordinate_s(row.residual)) > 1e-3


def test_eq_13_damped_oscillator():
    """(13) for x'^2/2 - omega^2 x^2/2 - gamma s: x'' + gamma x' + omega^2 x = 0, with the reference numbers."""
    model = ch.gallery("damped-oscillator")
    equations = ch.derive(model)
    paper = ch.parse("x'' + gamma*x' + omega^2*x", equations)
    assert sympy.expand(equations.rows[0].residual - paper) == 0
    now = ch.evaluate(equations, {"x": 0.8, "x'": -0.5, "s": 0.6}, parameters={"omega": 1.3, "gamma": 0.25})
    assert close(now["x''"], -1.227) and close(now["s'"], -0.5658)


@cache
def herglotz_motions():
    """Evaluated states of the unconstrained contact system."""
    return [known(ch.evaluate(herglotz(), state, parameters={"k": 0.4}), {"k": 0.4}) for state in states("x y s x' y'")]


def test_section_2_5_2_contact_hamiltonian_vector_field():
    """eta(X) = -E and L_X eta = L_s eta for eta = ds - L_v dq: on dq the second says L_q - d/dt L_v = -L_s L_v."""
    lag = typed(CONTACT)
    along = S.d() - sympy.Add(*[q.d() * lag.diff(q.d()) for q in (X, Y)]) + energy(lag, (X, Y))
    lie = [lag.diff(q) - d_dt(lag.diff(q.d())) + lag.diff(S) * lag.diff(q.d()) for q in (X, Y)]
    assert worst([along, *lie], herglotz_motions()) < 1e-12


def eq_19(sign):
    """v^h L_qv + sign B^h L_vv + L L_sv - L_q - L_s L_v."""
    lag, qs = typed(CONTACT), (X, Y)
    return [
        mixed(lag, q, qs) + sign * inertia(lag, q, qs) + lag * lag.diff(S, q.d()) - lag.diff(q) - lag.diff(S) * lag.diff(q.d()) for q in qs
    ]


def test_eq_18_component_of_the_dynamical_equation():
    """(18) with A = v, F = L and lambda = L_s, as printed."""
    lag, qs = typed(CONTACT), (X, Y)
    paper = []
    for q in qs:
        swirl = sympy.Add(*[h.d() * (lag.diff(q, h.d()) - lag.diff(h, q.d())) for h in qs])
        back = sympy.Add(*[h.d() * lag.diff(q, h.d()) for h in qs])
        left = swirl - inertia(lag, q, qs) - lag * lag.diff(S, q.d()) - back + lag.diff(q)
        paper.append(left + lag.diff(S) * lag.diff(q.d()))
    assert worst(paper, herglotz_motions()) < 1e-12


def test_eq_19_and_23_accelerations():
    """(19) = (23): v L_qv + B L_vv + L L_sv - L_q = L_s L_v gives the library's accelerations."""
    for now in herglotz_motions():
        expected = solved(eq_19(+1), [X.d(2), Y.d(2)], now)
        assert all(close(now[name], expected[name]) for name in expected)


@pytest.mark.erratum("002", "(19), (23)", "$-B^h L_{v^hv^i}$", "$+B^h L_{v^hv^i}$")
def test_eq_19_and_23_printed_sign_of_b_fails():
    """(19) and (23) are printed with -B^h L_vv."""
    assert worst(eq_19(-1), herglotz_motions()) > 1e-3


def test_eq_19_needs_the_mixed_derivative_in_s():
    """Without the term L L_sv the accelerations are others."""
    lag = typed(CONTACT)
    without = [e - lag * lag.diff(S, q.d()) for e, q in zip(eq_19(+1), (X, Y), strict=True)]
    assert worst(without, herglotz_motions()) > 1e-3


def test_section_3_1_energy_law():
    """L_X E_L = L_s E_L."""
    lag = typed(CONTACT)
    law = d_dt(energy(lag, (X, Y))) - lag.diff(S) * energy(lag, (X, Y))
    assert worst([law], herglotz_motions()) < 1e-12


@cache
def theorem_1_motions():
    """L on (q, s) with the nonholonomic row s' - L = 0, as an ordinary system under Chetaev's principle."""
    system = ch.System("x y s", "k", lagrangian=CONTACT, kinematic=[f"s' - ({CONTACT}) = 0"])
    equations = ch.derive(system, ch.Chetaev())
    return [known(ch.evaluate(equations, state, parameters={"k": 0.4}), {"k": 0.4}) for state in states("x y s x' y'")]


def test_theorem_1_herglotz_as_a_nonholonomic_system():
    """Theorem 1: with v_s - L = 0 as a nonholonomic constraint the accelerations are those of (13), and lambda = L_s, here -lambda1."""
    lag = typed(CONTACT)
    for now in theorem_1_motions():
        expected = solved(eq_19(+1), [X.d(2), Y.d(2)], now)
        assert all(close(now[name], expected[name]) for name in expected)
        assert close(-now["lambda1"], value(lag.diff(S), now))


def test_eq_20_last_component_of_the_vector_field():
    """(20): the v_s component is G = v L_q + B L_v + L L_s."""
    lag = typed(CONTACT)
    g = sympy.Add(*[q.d() * lag.diff(q) + q.d(2) * lag.diff(q.d()) for q in (X, Y)]) + lag * lag.diff(S)
    assert all(close(now["s''"], value(g, now)) for now in theorem_1_motions())


@cache
def theorem_2_equations():
    """The extended Lagrangian L - mu*(s' - L) on (q, s, mu) under Hamilton's principle."""
    return ch.derive(ch.System("x y s mu", "k", lagrangian=f"({CONTACT}) - mu*(s' - ({CONTACT}))"), ch.Hamilton())


@cache
def theorem_2_motions():
    data = states("x y s x' y' mu")
    return [known(ch.evaluate(theorem_2_equations(), state, parameters={"k": 0.4}), {"k": 0.4}) for state in data]


def test_theorem_2_herglotz_as_a_vakonomic_system():
    """Theorem 2: with v_s - L = 0 as a vakonomic constraint the accelerations are those of (13), whatever mu is."""
    for now in theorem_2_motions():
        expected = solved(eq_19(+1), [X.d(2), Y.d(2)], now)
        assert all(close(now[name], expected[name]) for name in expected)


def test_theorem_2_under_the_vakonomic_principle_itself():
    """The same with the row s' - L = 0 and Vakonomic(): lambda1 = -mu, lambda1' = (1 - lambda1) L_s as (12) says literally."""
    equations = ch.derive(ch.System("x y s", "k", lagrangian=CONTACT, kinematic=[f"s' - ({CONTACT}) = 0"]), ch.Vakonomic())
    slope = typed(CONTACT).diff(S)
    for state in states("x y s x' y' lambda1"):
        now = known(ch.evaluate(equations, state, parameters={"k": 0.4}), {"k": 0.4})
        expected = solved(eq_19(+1), [X.d(2), Y.d(2)], now)
        assert all(close(now[name], expected[name]) for name in expected)
        assert close(now["lambda1'"], (1 - now["lambda1"]) * value(slope, now))


def eq_21(sign):
    """The dq component: E_L = sign mu' L_v - mu L_q + mu (L_qv v + L_vv B + L_sv v_s)."""
    lag, qs = typed(CONTACT), (X, Y)
    rows = []
    for q in qs:
        rate = mixed(lag, q, qs) + inertia(lag, q, qs) + lag.diff(S, q.d()) * S.d()
        rows.append(lag.diff(q) - rate - (sign * MU.d() * lag.diff(q.d()) - MU * lag.diff(q) + MU * rate))
    return rows


@pytest.mark.erratum("002", "(21)", r"$-\mu' L_v$", r"$+\mu' L_v$")
def test_eq_21_printed_sign_of_mu_rate_fails():
    """(21) is printed with -mu' L_v; it is +mu' L_v."""
    assert worst(eq_21(+1), theorem_2_motions()) < 1e-12
    assert worst(eq_21(-1), theorem_2_motions()) > 1e-3


@pytest.mark.erratum("002", "(22)", r"$\mu' = (1 + \mu)L_s$", r"$\mu' = -(1 + \mu)L_s$")
def test_eq_22_printed_sign_of_mu_rate_fails():
    """(22) is printed mu' = (1 + mu) L_s; for L - mu psi it is mu' = -(1 + mu) L_s."""
    slope = typed(CONTACT).diff(S)
    assert worst([MU.d() + (1 + MU) * slope], theorem_2_motions()) < 1e-12
    assert worst([MU.d() - (1 + MU) * slope], theorem_2_motions()) > 1e-3


def test_eq_24_holds_as_printed():
    """(24): (mu + 1) E_L = -(mu + 1) L_s L_v; two slips cancel."""
    lag = typed(CONTACT)
    paper = [(MU + 1) * (operator(lag, q) + lag.diff(S) * lag.diff(q.d())) for q in (X, Y)]
    assert worst(paper, theorem_2_motions()) < 1e-12


def test_eq_24_is_empty_for_mu_minus_one():
    """mu = -1: the extended Lagrangian is v_s, so all rows but s' = L vanish for every acceleration, and mu stays where it is."""
    jets = {**states("x y s x' y' x'' y''")[0], "mu": -1.0, "mu'": 0.0, "s'": 0.0, "s''": 0.0}
    jets["s'"] = value(typed(CONTACT), {**jets, "k": 0.4})
    found = ch.residual(theorem_2_equations(), jets, parameters={"k": 0.4})
    assert all(abs(v) < 1e-12 for v in found.values())


# ---- section 4: nonholonomic contact systems ------------------------------------------------------------------------------------------


def eq_27(kind):
    """E_L^Q = -L_s d^v L + lambda d^v phi, and the tangency phi_q v + phi_v a + phi_s L = 0; lambda is a symbol."""
    lag, phi, lam = typed(SPACE), typed(CONSTRAINTS[kind]), sympy.Symbol("lambda")
    rows = [operator(lag, q, {S: lag}) + lag.diff(S) * lag.diff(q.d()) - lam * phi.diff(q.d()) for q in (X, Y, Z)]
    return [*rows, d_dt(phi, rates={S: lag})], lam


@pytest.mark.parametrize("kind", CONSTRAINTS)
def test_eq_27_nonholonomic_contact(kind):
    """(27), Theorem 3: accelerations, and lambda with its sign changed."""
    paper, lam = eq_27(kind)
    for now in contact_motions(kind):
        expected = solved(paper, [X.d(2), Y.d(2), Z.d(2), lam], now)
        assert all(close(now[name], expected[name]) for name in ("x''", "y''", "z''"))
        assert close(now["lambda1"], -expected["lambda"]) and abs(now["lambda1"]) > 1e-3


@pytest.mark.parametrize("kind", CONSTRAINTS)
def test_eq_26_component_of_the_dynamical_equation(kind):
    """(26) with A = v, F = L, lambda = L_s: -v L_qv - B L_vv - L L_sv + L_q = -L_s L_v + lambda_1 phi_v."""
    lag, phi, qs, lam = typed(SPACE), typed(CONSTRAINTS[kind]), (X, Y, Z), sympy.Symbol("lambda")
    paper = [
        lag.diff(q)
        - mixed(lag, q, qs)
        - inertia(lag, q, qs)
        - lag * lag.diff(S, q.d())
        + lag.diff(S) * lag.diff(q.d())
        - lam * phi.diff(q.d())
        for q in qs
    ]
    assert worst(paper, [{**now, "lambda": -now["lambda1"]} for now in contact_motions(kind)]) < 1e-12


@pytest.mark.parametrize("kind", CONSTRAINTS)
def test_theorem_3_as_an_ordinary_nonholonomic_system(kind):
    """(25), Theorem 3: L on (q, s) with the rows s' - L = 0 and phi = 0 gives the accelerations of (27); the first multiplier is L_s."""
    paper, lam = eq_27(kind)
    system = ch.System("x y z s", "k", lagrangian=SPACE, kinematic=[f"s' - ({SPACE}) = 0", CONSTRAINTS[kind]])
    equations = ch.derive(system, ch.Chetaev())
    for state in states("x y z s x' y'"):
        now = known(ch.evaluate(equations, state, parameters={"k": 0.4}), {"k": 0.4})
        expected = solved(paper, [X.d(2), Y.d(2), Z.d(2), lam], now)
        assert all(close(now[name], expected[name]) for name in ("x''", "y''", "z''"))
        assert close(-now["lambda1"], value(typed(SPACE).diff(S), now))
        assert close(-now["lambda2"], expected["lambda"])


@pytest.mark.parametrize("kind", WITHOUT_S)
def test_section_4_1_energy_law(kind):
    """dE/dt = L_s E - lambda Delta phi, which in the library's sign is L_s E + lambda1 Delta phi; Delta phi = v phi_v."""
    lag, phi, qs = typed(SPACE), typed(CONSTRAINTS[kind]), (X, Y, Z)
    work = sympy.Symbol("lambda1") * sympy.Add(*[q.d() * phi.diff(q.d()) for q in qs])
    law = d_dt(energy(lag, qs)) - lag.diff(S) * energy(lag, qs) - work
    assert worst([law], contact_motions(kind)) < 1e-12


@pytest.mark.erratum(
    "002", "section 4.1", r"$E' = L_sE + \lambda\Delta\varphi$, with a stray factor", r"$E' = L_sE - \lambda_a\Delta\varphi^a$"
)
@pytest.mark.parametrize("kind", ["affine", "nonlinear"])
def test_section_4_1_printed_energy_law_fails(kind):
    """Printed: + lambda Delta phi with the paper's lambda = -lambda1, and a stray factor L_s E in the middle member; both fail."""
    lag, phi, qs = typed(SPACE), typed(CONSTRAINTS[kind]), (X, Y, Z)
    work = -sympy.Symbol("lambda1") * sympy.Add(*[q.d() * phi.diff(q.d()) for q in qs])
    left = d_dt(energy(lag, qs)) - lag.diff(S) * energy(lag, qs)
    stray = lag.diff(S) * energy(lag, qs)
    for wrong in (left - work, left - work * stray, left + work * stray):
        assert worst([wrong], contact_motions(kind)) > 1e-3


# ---- section 4.3: the rolling disk -----------------------------------------------------------------------------------------------------


DISK = {"d": -0.3}
DISK_START = {"x": 0.1, "y": -0.2, "theta": 0.3, "varphi": 0.4, "theta'": 1.5, "varphi'": 0.7, "s": 0.25}


def disk_states():
    return [ch.evaluate(disk_equations(), state, parameters=DISK) for state in states("x y theta varphi s theta' varphi'", seed=4)]


@cache
def disk_equations():
    return ch.derive(ch.gallery("disk-contact"))


def test_section_4_3_rolling_disk_equations():
    """-x'' = -d x' + lambda_1, and so on for y, theta, varphi; the paper's multipliers are -lambda1, -lambda2."""
    equations = disk_equations()
    paper = [
        "-x'' + d*x' + lambda1",
        "-y'' + d*y' + lambda2",
        "-theta'' + d*theta' - lambda1*cos(varphi) - lambda2*sin(varphi)",
        "-varphi'' + d*varphi'",
    ]
    for text, row in zip(paper, equations.rows, strict=False):
        assert sympy.expand(ch.parse(text, equations) + row.residual) == 0


def test_section_4_3_same_multiplier_sign_fails():
    """With the paper's multipliers put equal to the library's the equations of 4.3 do not hold."""
    for text in ("-x'' + d*x' - lambda1", "-y'' + d*y' - lambda2"):
        assert max(abs(now[text]) for now in disk_states()) > 1e-3


def test_section_4_3_rolling_disk_solution():
    """theta'' = d theta', varphi'' = d varphi', lambda = (theta' varphi' sin varphi, -theta' varphi' cos varphi) in the paper's sign."""
    for now in disk_states():
        assert abs(now["theta'' - d*theta'"]) < 1e-12
        assert abs(now["varphi'' - d*varphi'"]) < 1e-12
        assert close(-now["lambda1"], now["theta'*varphi'*sin(varphi)"])
        assert close(-now["lambda2"], now["-theta'*varphi'*cos(varphi)"])


@pytest.mark.erratum(
    "002", "sections 4.3, 4.5", r"$\delta > 0$, $\gamma > 0$ is dissipation", r"$E' = \delta E$: friction needs $\delta < 0$"
)
def test_section_4_3_positive_delta_feeds_the_motion():
    """The paper calls d > 0 dissipation, but E' = d E: the kinetic energy grows for d > 0 and decays for d < 0."""
    rate = "x'*x'' + y'*y'' + theta'*theta'' + varphi'*varphi''"
    law = f"{rate} - d*s' - d*((x'^2 + y'^2 + theta'^2 + varphi'^2)/2 - d*s)"
    for d in (0.3, -0.3):
        now = ch.evaluate(disk_equations(), DISK_START, parameters={"d": d})
        assert abs(now[law]) < 1e-12
        assert now[rate] * d > 1e-3


def test_section_4_3_reference_numbers():
    """The nonholonomic disk at its reference state."""
    now = ch.evaluate(disk_equations(), DISK_START, parameters=DISK)
    reference = {
        "x''": -0.8233667067253813,
        "y''": 0.7918757896641366,
        "theta''": -0.45,
        "varphi''": -0.21,
        "lambda1": -0.408889259424083,
        "lambda2": 0.9671140437030293,
    }
    assert all(close(now[name], v) for name, v in reference.items())


# ---- section 4.4: constraints that contain s -------------------------------------------------------------------------------------------


SKATE = {"g": 0.3, "gamma": 0.3, "kappa": 0.5}


@cache
def skate(inner):
    return ch.derive(ch.gallery("action-constraint").system, ch.Herglotz(inner))


def test_section_4_4_action_dependent_constraint_has_the_same_rows():
    """4.4: E_L^Q = -L_s d^v L + lambda d^v_Q phi with s a parameter of d^v phi; here -lambda is the library's multiplier."""
    equations = skate(ch.DAlembert())
    paper = ["-x'' - gamma*x' + lambda1*sin(kappa*s)", "-g - y'' - gamma*y' + lambda1*cos(kappa*s)"]
    for text, row in zip(paper, equations.rows, strict=False):
        assert sympy.expand(ch.parse(text, equations) + row.residual) == 0


@pytest.mark.erratum("002", "section 4.4", "tangency as without $s$", r"it contains $\varphi_s L$")
def test_section_4_4_tangency_contains_phi_s_times_l():
    """The multiplier follows from phi_q v + phi_v a + phi_s L = 0; without phi_s L it would be another one."""
    tangency = "x''*sin(kappa*s) + y''*cos(kappa*s)"
    turning = "kappa*(x'*cos(kappa*s) - y'*sin(kappa*s))*((x'^2 + y'^2)/2 - g*y - gamma*s)"
    for state in states("x y s x'", seed=5):
        now = ch.evaluate(skate(ch.DAlembert()), state, parameters=SKATE)
        assert abs(now[f"{tangency} + {turning}"]) < 1e-12
        assert close(now["lambda1"], now[f"g*cos(kappa*s) - {turning}"])
        assert abs(now[turning]) > 1e-3 and abs(now["lambda1"] - now["g*cos(kappa*s)"]) > 1e-3


# ---- section 4.5: Chaplygin's sleigh ---------------------------------------------------------------------------------------------------


SLEIGH = {"alpha": 0.4, "beta": 0.25, "gamma": -0.2}
SLEIGH_L = (
    "((alpha*cos(theta) - beta*sin(theta))*theta' + y')^2/2 + ((beta*cos(theta) + alpha*sin(theta))*theta' - x')^2/2 + theta'^2 + gamma*s"
)
SLEIGH_PHI = "x'*sin(theta) - y'*cos(theta)"
EQ_31 = [
    "-x'' + (alpha*sin(theta) + beta*cos(theta))*theta'' + (alpha*cos(theta) - beta*sin(theta))*theta'^2",
    "-y'' - (alpha*cos(theta) - beta*sin(theta))*theta'' + (alpha*sin(theta) + beta*cos(theta))*theta'^2",
    "(alpha*sin(theta) + beta*cos(theta))*x'' - (alpha*cos(theta) - beta*sin(theta))*y'' - (alpha^2 + beta^2 + 2)*theta''",
]
EQ_31_PRINTED = [
    "x''*(-beta*cos(theta) - alpha*sin(theta) + 1)",
    "y''*(alpha*cos(theta) - beta*sin(theta) + 1)",
    "((beta*cos(theta) + alpha*sin(theta))*theta'^2 - (alpha*cos(theta) - beta*sin(theta))*theta')*x'"
    " - ((alpha*cos(theta) - beta*sin(theta))*theta'^2 + (beta*cos(theta) + alpha*sin(theta))*theta')*y'"
    " + theta''*(alpha^2 + beta^2 + (alpha - beta)*cos(theta) - (alpha + beta)*sin(theta) + 2)",
]
EQ_33 = [
    "-(beta*cos(theta) + alpha*sin(theta))*theta' + x'",
    "(alpha*cos(theta) - beta*sin(theta))*theta' + y'",
    "(alpha^2 + beta^2 + 2)*theta' - (beta*cos(theta) + alpha*sin(theta))*x' + (alpha*cos(theta) - beta*sin(theta))*y'",
]
EQ_34 = ["sin(theta)", "-cos(theta)", "0"]


@cache
def sleigh(inner):
    return ch.derive(ch.gallery("sleigh-contact").system, ch.Herglotz(inner))


def sleigh_states():
    data = states("x y theta s x' theta'", seed=6)
    return [ch.evaluate(sleigh(ch.DAlembert()), state, parameters=SLEIGH) for state in data]


def test_eq_28_lagrangian_of_the_sleigh():
    """(28) is the gallery's Lagrangian, which is written with the centre of mass."""
    model = ch.gallery("sleigh-contact")
    assert gap(ch.parse(SLEIGH_L, model), model.system.lagrangian) < 1e-12


@pytest.mark.erratum("002", "(28)", "radius of inertia 1", r"$\theta'^2$ means $I_{cm} = 2$")
def test_eq_28_moment_of_inertia_is_two():
    """The text says radius of inertia 1; theta'^2 means a moment of inertia 2, and theta'^2/2 would contradict (33)."""
    equations = sleigh(ch.DAlembert())
    nothing = dict.fromkeys(equations.system.parameters, sympy.S.Zero)
    assert sympy.expand(equations.rows[2].lhs.xreplace(nothing)) == ch.parse("2*theta''", equations)
    assert gap(ch.parse(EQ_33[2], equations).xreplace(nothing), ch.parse("2*theta'", equations)) == 0.0


def test_eq_29_constraint_of_the_action():
    """(29): phi = v_s - L = 0 is the library's row s' = L."""
    row = sleigh(ch.DAlembert()).rows[-1]
    assert gap(ch.parse(f"s' - ({SLEIGH_L})", sleigh(ch.DAlembert())), row.residual) < 1e-12


def test_eq_30_blade():
    """(30): x' sin theta - y' cos theta = 0."""
    row = sleigh(ch.DAlembert()).rows[3]
    assert row.residual == ch.parse(SLEIGH_PHI, sleigh(ch.DAlembert()))


def sleigh_operator():
    """E_L^Q of the sleigh from the library: minus the rows without constraint and without s."""
    free = ch.gallery("sleigh-contact").system.replace(kinematic=[])
    return ch.derive(free.replace(lagrangian="(X'^2 + Y'^2)/2 + theta'^2", action=None), ch.Hamilton())


def test_eq_31_operator_of_the_sleigh():
    """(31), corrected in all three components."""
    equations = sleigh_operator()
    for text, row in zip(EQ_31, equations.rows, strict=True):
        assert gap(ch.parse(text, equations), -row.lhs) < 1e-12


@pytest.mark.erratum(
    "002",
    "(31)",
    "all three components",
    r"$-x'' + (\alpha s + \beta c)\theta'' + (\alpha c - \beta s)\theta'^2$;"
    r" $-y'' - (\alpha c - \beta s)\theta'' + (\alpha s + \beta c)\theta'^2$;"
    r" $(\alpha s + \beta c)x'' - (\alpha c - \beta s)y'' - (\alpha^2 + \beta^2 + 2)\theta''$, with $c = \cos\theta$, $s = \sin\theta$",
)
def test_eq_31_printed_components_fail():
    """(31) as printed is wrong in every component, and with the opposite sign as well."""
    equations = sleigh_operator()
    for text, row in zip(EQ_31_PRINTED, equations.rows, strict=True):
        assert gap(ch.parse(text, equations), -row.lhs) > 1e-3
        assert gap(ch.parse(text, equations), row.lhs) > 1e-3


def test_eq_32_slope_in_the_action():
    """(32): L_s = gamma. It is the multiplier of v_s - L = 0 for the sleigh as an ordinary nonholonomic system; the library's is -gamma."""
    lagrangian = SLEIGH_L
    system = ch.System(
        "x y theta s", "alpha beta gamma", lagrangian=lagrangian, kinematic=[f"s' - ({lagrangian}) = 0", f"{SLEIGH_PHI} = 0"]
    )
    equations = ch.derive(system, ch.Chetaev())
    for state in states("x y theta s x' theta'", seed=6):
        assert close(ch.evaluate(equations, state, parameters=SLEIGH)["lambda1"], -SLEIGH["gamma"])


def test_eq_33_vertical_derivative():
    """(33): d^v L. The rows contain it as -gamma d^v L, because L_s = gamma and L_sv = 0."""
    equations = sleigh(ch.DAlembert())
    gamma = ch.parse("gamma", equations)
    for text, row in zip(EQ_33, equations.rows, strict=False):
        assert gap(ch.parse(text, equations), -row.lhs.diff(gamma)) < 1e-12


def test_eq_34_vertical_derivative_of_the_constraint():
    """(34): d^v phi^1 = sin theta dx - cos theta dy (printed d^v theta^1) is the library's row of R_V."""
    equations = sleigh(ch.DAlembert())
    for q, text in zip(equations.system.coordinates, EQ_34, strict=True):
        assert sympy.sympify(equations.variational[0].get(q, 0)) == ch.parse(text, equations)


def test_eq_27_of_the_sleigh_with_31_to_34():
    """(27) with (31) corrected, (32)-(34): E = -gamma d^v L + lambda d^v phi, where lambda = -lambda1."""
    equations = sleigh(ch.DAlembert())
    for e, p, f, row in zip(EQ_31, EQ_33, EQ_34, equations.rows, strict=False):
        paper = ch.parse(f"{e} + gamma*({p}) + lambda1*({f})", equations)
        assert gap(paper, -row.residual) < 1e-12


def test_eq_27_of_the_sleigh_with_31_printed_fails():
    """With (31) as printed the equations of motion of 4.5 are not satisfied by the sleigh."""
    texts = [f"{e} + gamma*({p}) + lambda1*({f})" for e, p, f in zip(EQ_31_PRINTED, EQ_33, EQ_34, strict=True)]
    right = [f"{e} + gamma*({p}) + lambda1*({f})" for e, p, f in zip(EQ_31, EQ_33, EQ_34, strict=True)]
    assert max(abs(now[text]) for now in sleigh_states() for text in right) < 1e-12
    assert all(max(abs(now[text]) for now in sleigh_states()) > 1e-3 for text in texts)


def test_section_4_5_energy_law_of_the_sleigh():
    """E' = gamma E: the blade does no work, and gamma > 0 feeds the motion."""
    kinetic = SLEIGH_L.replace(" + gamma*s", "")
    equations = sleigh(ch.DAlembert())
    law = d_dt(ch.parse(f"{kinetic} - gamma*s", equations)) - ch.parse(f"gamma*({kinetic} - gamma*s)", equations)
    assert worst([law], [known(now, SLEIGH) for now in sleigh_states()]) < 1e-12


# ---- section 5: vakonomic contact systems -----------------------------------------------------------------------------------------------


def test_section_5_1_operator_of_the_action_constraint():
    """E_psi = -E_L for psi = v_s - L, so its ds component is -L_s (first printed as +L_s in 5.1)."""
    rows = ch.derive(ch.System("x y s", "k", lagrangian=f"s' - ({CONTACT})"), ch.Hamilton()).rows
    lag = typed(CONTACT)
    for q, row in zip((X, Y), rows, strict=False):
        assert gap(-operator(lag, q), -row.lhs) < 1e-12
    assert gap(-lag.diff(S), -rows[2].lhs) < 1e-12
    assert gap(+lag.diff(S), -rows[2].lhs) > 1e-3


def eq_35(kind, sign):
    """E_L = E_{mu psi} + E_{m1 psi1} with E_{mu psi} = mu E_psi + sign mu' d^v psi, components dq."""
    lag, psi1 = typed(SPACE), typed(CONSTRAINTS[kind])
    psi = S.d() - lag
    rows = []
    for q in (X, Y, Z):
        extra = MU * operator(psi, q) + sign * MU.d() * psi.diff(q.d()) + M1 * operator(psi1, q) + sign * M1.d() * psi1.diff(q.d())
        rows.append(operator(lag, q) - extra)
    return rows


@pytest.mark.parametrize("kind", CONSTRAINTS)
def test_eq_35_vakonomic_equation(kind):
    """(35): E_L = E_{mu psi} + E_{m1 psi1}, with E_{mu psi} = mu E_psi - mu' d^v psi."""
    assert worst(eq_35(kind, -1), extended_motions(kind)) < 1e-12


@pytest.mark.erratum("002", "(35)", r"with $E_{\mu\psi}$ of section 2.4 as printed", r"with $E_{\mu\psi} = \mu E_\psi - \mu' d^v\psi$")
@pytest.mark.parametrize("kind", CONSTRAINTS)
def test_eq_35_with_the_printed_operator_fails(kind):
    """5.1 and 5.2 expand (35) with + mu' d^v psi and + m1' d^v psi1."""
    assert worst(eq_35(kind, +1), extended_motions(kind)) > 1e-3


@pytest.mark.parametrize("kind", CONSTRAINTS)
def test_eq_35_is_the_free_euler_lagrange_equation(kind):
    """(35) corrected is, for any jets, the row of L - mu (v_s - L) - m1 psi1."""
    for paper, row in zip(eq_35(kind, -1), extended(kind).rows, strict=False):
        assert gap(paper, -row.lhs) < 1e-12


def eq_36(kind, first, second):
    """The dq components written out; first and second are the signs of mu' L_v and of m1' psi_v."""
    lag, psi, qs = typed(SPACE), typed(CONSTRAINTS[kind]), (X, Y, Z)
    rows = []
    for q in qs:
        rate = mixed(lag, q, qs) + inertia(lag, q, qs) + lag.diff(S, q.d()) * S.d()
        right = first * MU.d() * lag.diff(q.d()) - MU * lag.diff(q) + MU * rate
        right += second * M1.d() * psi.diff(q.d()) - M1 * (mixed(psi, q, qs) + inertia(psi, q, qs)) + M1 * psi.diff(q)
        rows.append(lag.diff(q) - rate - right)
    return rows


@pytest.mark.erratum("002", "(36)", r"signs of $\mu'$ and $\mu_\beta'$", r"$+\mu' L_v$, $-\mu_\beta'\psi_v + \mu_\beta E_\psi$")
@pytest.mark.parametrize("kind", WITHOUT_S)
def test_eq_36_accelerations_printed_signs_fail(kind):
    """(36) is printed with -mu' L_v and + m1' psi_v; both signs are the opposite, and one change alone does not help."""
    motions = extended_motions(kind)
    assert worst(eq_36(kind, +1, -1), motions) < 1e-12
    for signs in ((-1, +1), (+1, +1), (-1, -1)):
        assert worst(eq_36(kind, *signs), motions) > 1e-3


@pytest.mark.erratum("002", "before (38)", r"$L_s = \mu' + \mu L_s$", r"$L_s = -\mu' - \mu L_s$")
@pytest.mark.parametrize("kind", WITHOUT_S)
def test_section_5_1_action_component_printed_form_fails(kind):
    """Before (38) the ds component is printed L_s = mu' + mu L_s; it is L_s = -mu' - mu L_s."""
    slope = typed(SPACE).diff(S)
    assert worst([slope + MU.d() + MU * slope], extended_motions(kind)) < 1e-12
    assert worst([slope - MU.d() - MU * slope], extended_motions(kind)) > 1e-3


@pytest.mark.erratum("002", "(38), (40)", r"$\mu' = (1 + \mu)L_s$", r"$\mu' = -(1 + \mu)L_s$")
@pytest.mark.parametrize("kind", WITHOUT_S)
def test_eq_38_and_40_printed_sign_of_mu_rate_fails(kind):
    """(38), (40) are printed mu' = (1 + mu) L_s; it is mu' = -(1 + mu) L_s."""
    slope = typed(SPACE).diff(S)
    assert worst([MU.d() + (1 + MU) * slope], extended_motions(kind)) < 1e-12
    assert worst([MU.d() - (1 + MU) * slope], extended_motions(kind)) > 1e-3


@pytest.mark.erratum("002", "(39), (42)", r"$1 + \mu = A\exp(+\int L_s)$", r"$A\exp(-\int L_s)$")
@pytest.mark.parametrize("kind", WITHOUT_S)
def test_eq_39_and_42_printed_exponent_fails(kind):
    """(39), (42): log(1 + mu) has the rate -L_s, so 1 + mu = A exp(-integral of L_s); the exponent is printed positive."""
    slope, rate = typed(SPACE).diff(S), d_dt(sympy.log(1 + MU))
    assert worst([rate + slope], extended_motions(kind)) < 1e-12
    assert worst([rate - slope], extended_motions(kind)) > 1e-3


def eq_41(kind, rate_sign, psi_sign):
    """(mu + 1) E_L = -(mu + 1) L_s L_v + rate_sign m1' d^v psi + psi_sign m1 E_psi."""
    lag, psi = typed(SPACE), typed(CONSTRAINTS[kind])
    return [
        (MU + 1) * (operator(lag, q) + lag.diff(S) * lag.diff(q.d()))
        - rate_sign * M1.d() * psi.diff(q.d())
        - psi_sign * M1 * operator(psi, q)
        for q in (X, Y, Z)
    ]


@pytest.mark.parametrize("kind", WITHOUT_S)
def test_eq_41_vakonomic_contact(kind):
    """(41) with -m1' d^v psi."""
    assert worst(eq_41(kind, -1, +1), extended_motions(kind)) < 1e-12


@pytest.mark.erratum("002", "(41)", r"$+\mu_\beta' d^v\psi$", r"$-\mu_\beta' d^v\psi$; no change of sign of $\mu_\beta$ repairs it")
@pytest.mark.parametrize("kind", WITHOUT_S)
def test_eq_41_printed_sign_fails(kind):
    """(41) is printed with +m1' d^v psi; m1 -> -m1 does not repair it."""
    assert worst(eq_41(kind, +1, +1), extended_motions(kind)) > 1e-3
    assert worst(eq_41(kind, -1, -1), extended_motions(kind)) > 1e-3


DISK_L = "(x'^2 + y'^2 + theta'^2 + varphi'^2)/2 + d*s"
DISK_PSI = ("x' - theta'*cos(varphi)", "y' - theta'*sin(varphi)")


@cache
def disk_extended():
    """L - mu (s' - L) - m1 psi1 - m2 psi2 for the disk."""
    text = f"({DISK_L}) - mu*(s' - ({DISK_L})) - m1*({DISK_PSI[0]}) - m2*({DISK_PSI[1]})"
    return ch.derive(ch.System("x y theta varphi s mu m1 m2", "d", lagrangian=text), ch.Hamilton())


def disk_eq_41(sign):
    """(41) of the disk with the given sign of the multipliers' rates, and the derivatives of the constraints."""
    equations = disk_extended()
    lag, *psis = [ch.parse(text, equations) for text in (DISK_L, *DISK_PSI)]
    d = ch.parse("d", equations)
    rows = []
    for q in equations.system.coordinates[:4]:
        terms = [m * operator(psi, q) + sign * m.d() * psi.diff(q.d()) for m, psi in zip((M1, M2), psis, strict=True)]
        rows.append((MU + 1) * (operator(lag, q) + d * lag.diff(q.d())) - sympy.Add(*terms))
    return rows + [d_dt(psi) for psi in psis]


def disk_solved(sign, state):
    unknowns = [q.d(2) for q in disk_extended().system.coordinates[:4]] + [M1.d(), M2.d()]
    return solved(disk_eq_41(sign), unknowns, {**state, **DISK})


def test_eq_41_rolling_disk_accelerations_and_multiplier_rates():
    """(41) corrected, solved by hand for the disk, gives the library's accelerations and rates of the multipliers."""
    for state in states("x y theta varphi s mu m1 m2 theta' varphi'", seed=8):
        now = ch.evaluate(disk_extended(), {**state, "mu": 0.3 * state["mu"]}, parameters=DISK)
        expected = disk_solved(-1, dict(now))
        assert all(close(now[name], v) for name, v in expected.items())


def test_eq_41_printed_sign_hides_from_the_energy_law():
    """At one state (41) as printed gives the right accelerations and E' = d E, but the rates of the multipliers with the wrong sign:
    the motions part although energy and constraints see nothing."""
    law = ch.parse("x'*x'' + y'*y'' + theta'*theta'' + varphi'*varphi'' - d*(x'^2 + y'^2 + theta'^2 + varphi'^2)", disk_extended())
    for state in states("x y theta varphi s mu m1 m2 theta' varphi'", seed=8):
        now = ch.evaluate(disk_extended(), {**state, "mu": 0.3 * state["mu"]}, parameters=DISK)
        printed = disk_solved(+1, dict(now))
        assert abs(value(law, {**known(now, DISK), **printed})) < 1e-12
        assert close(printed["varphi''"], now["varphi''"]) and close(printed["theta''"], now["theta''"])
        assert close(printed["m1'"], -now["m1'"]) and abs(printed["m1'"] - now["m1'"]) > 1e-3


@cache
def sleigh_extended():
    """L - mu (s' - L) - m1 psi for the sleigh."""
    text = f"({SLEIGH_L}) - mu*(s' - ({SLEIGH_L})) - m1*({SLEIGH_PHI})"
    return ch.derive(ch.System("x y theta s mu m1", "alpha beta gamma", lagrangian=text), ch.Hamilton())


def theorem_4(slope_sign, exponent_sign):
    """E_L = slope_sign L_s L_v + exp(exponent_sign gamma t)/A E_{m1 psi}, with the genuine E_{m1 psi} and L_s = gamma; A is a symbol."""
    equations = sleigh_extended()
    gamma, psi, scale = ch.parse("gamma", equations), ch.parse(SLEIGH_PHI, equations), sympy.Symbol("A")
    rows = []
    for q, e, p in zip(equations.system.coordinates, EQ_31, EQ_33, strict=False):
        force = M1 * operator(psi, q) - M1.d() * psi.diff(q.d())
        growth = sympy.exp(exponent_sign * gamma * TIME) / scale
        rows.append(ch.parse(e, equations) - slope_sign * gamma * ch.parse(p, equations) - growth * force)
    return rows


@cache
def theorem_4_motions():
    """States of the sleigh at a time t with 1 + mu = A exp(-gamma t)."""
    found = []
    for k, state in enumerate(states("x y theta s m1 x' theta'", seed=9)):
        t, scale = 0.7 + k, 1.3 + 0.2 * k
        start = {**state, "mu": scale * np.exp(-SLEIGH["gamma"] * t) - 1}
        found.append({**known(ch.evaluate(sleigh_extended(), start, parameters=SLEIGH), SLEIGH, t), "A": scale})
    return found


def test_theorem_4_vakonomic_sleigh():
    """Theorem 4 corrected: E_L = -L_s L_v + A^-1 exp(+integral of L_s) E_{m1 psi}."""
    assert worst(theorem_4(-1, +1), theorem_4_motions()) < 1e-12


@pytest.mark.erratum(
    "002",
    "Theorem 4",
    r"$E_L = +L_sL_v + A^{-1}e^{-\int L_s}E_{\mu_\beta\psi^\beta}$",
    r"$-L_sL_v + A^{-1}e^{+\int L_s}E_{\mu_\beta\psi^\beta}$",
)
def test_theorem_4_printed_form_fails():
    """Printed: E_L = +L_s L_v + A^-1 exp(-integral of L_s) E_{m1 psi}; wrong twice, and neither change alone repairs it."""
    for signs in ((+1, -1), (-1, -1), (+1, +1)):
        assert worst(theorem_4(*signs), theorem_4_motions()) > 1e-3


@pytest.mark.erratum("002", "section 5", "$A$ cannot be zero", "$A = 0$ gives abnormal extremals; exclude them by hypothesis")
def test_theorem_4_constant_a_may_vanish():
    """The paper says A cannot be zero. With 1 + mu = 0 the disk rolls straight at any speed: an abnormal extremal, E_{m psi} = 0."""
    c, s, speed, push = 0.8, 0.6, 1.4, 5.0
    angle = float(np.arctan2(s, c))
    jets = {"x": 0.1, "y": 0.2, "theta": 0.3, "varphi": angle, "varphi'": 0.0, "varphi''": 0.0, "theta'": speed, "theta''": push}
    jets |= {"x'": speed * c, "x''": push * c, "y'": speed * s, "y''": push * s, "mu": -1.0, "mu'": 0.0, "s": 0.5}
    jets |= {"m1": 2 * c, "m2": 2 * s, "m1'": 0.0, "m2'": 0.0, "s'": speed**2 - 0.3 * 0.5, "s''": 0.0}
    found = ch.residual(disk_extended(), jets, parameters=DISK)
    assert all(abs(v) < 1e-12 for v in found.values())


def eq_43(kind, slope_sign, psi_sign):
    lag, psi = typed(SPACE), typed(CONSTRAINTS[kind])
    return MU.d() - slope_sign * (1 + MU) * lag.diff(S) - psi_sign * M1 * psi.diff(S)


@pytest.mark.erratum("002", "(43)", r"$\mu' = (1 + \mu)L_s + \mu_\beta\psi^\beta_s$", r"$\mu' = -(1 + \mu)L_s + \mu_\beta\psi^\beta_s$")
def test_eq_43_printed_rate_of_mu_fails():
    """(43) with s in the constraint: mu' = -(1 + mu) L_s + m1 psi_s; printed with +(1 + mu) L_s, which no sign of psi_s repairs."""
    motions = extended_motions("with s")
    assert worst([eq_43("with s", -1, +1)], motions) < 1e-12
    for signs in ((+1, +1), (+1, -1), (-1, -1)):
        assert worst([eq_43("with s", *signs)], motions) > 1e-3


def eq_44(rate_sign, kind="with s"):
    """(mu + 1) E_L = -(mu + 1) L_s L_v + m1 psi_s L_v + rate_sign m1' psi_v + m1 E_psi."""
    lag, psi = typed(SPACE), typed(CONSTRAINTS[kind])
    return [
        (MU + 1) * (operator(lag, q) + lag.diff(S) * lag.diff(q.d()))
        - M1 * psi.diff(S) * lag.diff(q.d())
        - rate_sign * M1.d() * psi.diff(q.d())
        - M1 * operator(psi, q)
        for q in (X, Y, Z)
    ]


@pytest.mark.erratum("002", "(44)", r"$+\mu_\beta' d^v\psi$", r"$-\mu_\beta' d^v\psi$")
def test_eq_44_printed_sign_of_the_multiplier_rate_fails():
    """(44) needs -m1' d^v psi; printed with a plus."""
    assert worst(eq_44(-1), extended_motions("with s")) < 1e-12
    assert worst(eq_44(+1), extended_motions("with s")) > 1e-3


@pytest.mark.erratum("002", "after (44)", r"$\mu_\beta\psi_s\,d^v\psi$", r"$\mu_\beta\psi_s\,d^vL$")
def test_eq_44_next_line_takes_the_wrong_vertical_derivative():
    """After (44) m1 psi_s multiplies d^v psi; it must multiply d^v L, as in (44) itself."""
    lag, psi = typed(SPACE), typed(CONSTRAINTS["with s"])
    slip = [M1 * psi.diff(S) * (lag.diff(q.d()) - psi.diff(q.d())) for q in (X, Y, Z)]
    printed = [e + f for e, f in zip(eq_44(-1), slip, strict=True)]
    assert worst(printed, extended_motions("with s")) > 1e-3


@pytest.mark.erratum("002", "(45)", r"$+\frac{\mu_\beta'}{1+\mu}d^v\psi$", r"$-\frac{\mu_\beta'}{1+\mu}d^v\psi$")
def test_eq_45_printed_sign_fails():
    """(45) is (44) divided by 1 + mu, so it needs -(m1'/(1 + mu)) d^v psi."""
    for sign, bound in ((-1, True), (+1, False)):
        gap_found = worst([e / (1 + MU) for e in eq_44(sign)], extended_motions("with s"))
        assert (gap_found < 1e-12) is bound and (gap_found > 1e-3) is not bound


@pytest.mark.erratum(
    "002",
    "section 5.4",
    r"$\nu' = \frac{\mu_\beta'}{1+\mu} - (L_s + \mu_\alpha\psi_s)\nu_\beta$",
    r"$\nu_\beta' = \frac{\mu_\beta'}{1+\mu} + (L_s - \nu_\alpha\psi^\alpha_s)\nu_\beta$",
)
def test_section_5_4_rate_of_nu_printed_form_fails():
    """nu' = m1'/(1 + mu) + (L_s - nu psi_s) nu; printed -(L_s + m1 psi_s) nu."""
    slope, psi_s, nu = typed(SPACE).diff(S), typed(CONSTRAINTS["with s"]).diff(S), M1 / (1 + MU)
    rate = d_dt(nu) - M1.d() / (1 + MU)
    motions = extended_motions("with s")
    assert worst([rate - (slope - nu * psi_s) * nu], motions) < 1e-12
    for wrong in (-(slope + M1 * psi_s) * nu, -(slope - nu * psi_s) * nu, (slope + M1 * psi_s) * nu):
        assert worst([rate - wrong], motions) > 1e-3


# ---- section 5.4: the reduced equation ------------------------------------------------------------------------------------------------


NU = ch.Coordinate("nu")


@cache
def reduced_motions(kind):
    """Evaluated states of Herglotz(Vakonomic()), with nu = -lambda1."""
    equations = contact(kind, ch.Vakonomic())
    found = []
    for state in states("x y z s x' y' lambda1", seed=11):
        start = {**state, "lambda1": 0.4 * state["lambda1"]}
        now = known(ch.evaluate(equations, start, parameters={"k": 0.4}), {"k": 0.4})
        found.append({**now, "nu": -now["lambda1"], "nu'": -now["lambda1'"]})
    return found


def reduced(kind, sign=1):
    """E_{L - nu psi} = (-L_s + sign nu psi_s) d^v (L - nu psi)."""
    lag, psi = typed(SPACE), typed(CONSTRAINTS[kind])
    f = lag - NU * psi
    return [operator(f, q) - (-lag.diff(S) + sign * NU * psi.diff(S)) * f.diff(q.d()) for q in (X, Y, Z)]


@pytest.mark.parametrize("kind", CONSTRAINTS)
def test_section_5_4_reduced_equation(kind):
    """E_{L - nu psi} = (-L_s + nu psi_s) d^v (L - nu psi) holds as printed, with the genuine operator; nu = -lambda1."""
    assert worst(reduced(kind), reduced_motions(kind)) < 1e-12
    swapped = [{**now, "nu": now["lambda1"], "nu'": now["lambda1'"]} for now in reduced_motions(kind)]
    assert worst(reduced(kind), swapped) > 1e-3


def test_section_5_4_reduced_equation_sign_of_psi_s():
    """With s in the constraint the term nu psi_s has the printed sign and no other."""
    assert worst(reduced("with s", -1), reduced_motions("with s")) > 1e-3


@pytest.mark.parametrize("kind", CONSTRAINTS)
def test_section_5_4_reduction_of_the_extended_system(kind):
    """With nu = m1/(1 + mu) the motions of L - mu (v_s - L) - m1 psi satisfy the reduced equation, for every gauge mu."""
    nu = M1 / (1 + MU)
    paper = [e.xreplace({NU: nu, NU.d(): d_dt(nu)}) for e in reduced(kind)]
    assert worst(paper, extended_motions(kind)) < 1e-12


@pytest.mark.parametrize("kind", CONSTRAINTS)
def test_section_5_4_vakonomic_energy_law(kind):
    """dE/dt = (L_s - nu psi_s) E for E the energy of L - nu psi (not in the paper); E_L obeys it only if Delta psi = psi."""
    lag, psi, qs = typed(SPACE), typed(CONSTRAINTS[kind]), (X, Y, Z)
    slope = lag.diff(S) - NU * psi.diff(S)
    whole, bare = energy(lag - NU * psi, qs), energy(lag, qs)
    assert worst([d_dt(whole) - slope * whole], reduced_motions(kind)) < 1e-12
    of_bare = worst([d_dt(bare) - slope * bare], reduced_motions(kind))
    assert of_bare < 1e-12 if kind in ("linear", "with s") else of_bare > 1e-3


@pytest.mark.parametrize("kind", CONSTRAINTS)
def test_section_5_4_conserved_product(kind):
    """(1 + mu) times the energy of L - nu psi is conserved, because log(1 + mu) has the rate -(L_s - nu psi_s)."""
    lag, psi, nu = typed(SPACE), typed(CONSTRAINTS[kind]), M1 / (1 + MU)
    product = (1 + MU) * energy(lag - NU * psi, (X, Y, Z)).xreplace({NU: nu})
    assert worst([d_dt(product)], extended_motions(kind)) < 1e-12
    assert worst([d_dt(product / (1 + MU) ** 2)], extended_motions(kind)) > 1e-3


def test_section_5_4_reference_numbers_of_the_sleigh():
    """The vakonomic sleigh at its reference state, with L typed as in (28)."""
    system = ch.System("x y theta", "alpha beta gamma", lagrangian=SLEIGH_L, kinematic=["x'*sin(theta) - y'*cos(theta) = 0"], action="s")
    start = {"x": 0.2, "y": -0.1, "theta": 0.5, "x'": 1.0530990742684472, "theta'": 0.8, "s": 0.3, "lambda1": -0.35}
    reference = {
        "x''": -0.2685373561092982,
        "y''": 0.9472115439729889,
        "theta''": -0.4701851851851852,
        "lambda1'": 0.7459259259259259,
    }
    now = ch.evaluate(ch.derive(system, ch.Herglotz(ch.Vakonomic())), start, parameters=SLEIGH)
    assert all(close(now[name], v) for name, v in reference.items())


def test_section_5_4_reduced_equation_of_the_sleigh():
    """5.4 for the sleigh: E_L - E_{nu psi} = -gamma d^v (L - nu psi) with (31) corrected, (33), (34)."""
    psi_operator = ["-theta'*cos(theta)", "-theta'*sin(theta)", "x'*cos(theta) + y'*sin(theta)"]
    equations = sleigh(ch.Vakonomic())
    for e, p, f, g, row in zip(EQ_31, EQ_33, EQ_34, psi_operator, equations.rows, strict=False):
        paper = f"{e} + lambda1*({g}) - lambda1'*({f}) + gamma*({p} + lambda1*({f}))"
        assert gap(ch.parse(paper, equations), -row.residual) < 1e-12


def test_section_5_4_reduced_equation_of_the_skate():
    """5.4 for the constraint with s: nu psi_s joins -gamma in front of d^v (L - nu psi)."""
    equations = skate(ch.Vakonomic())
    slope = "(-gamma + lambda1*kappa*(x'*cos(kappa*s) - y'*sin(kappa*s)))"
    speed = "((x'^2 + y'^2)/2 - g*y - gamma*s)"
    paper = [
        f"-x'' - lambda1'*sin(kappa*s) - lambda1*kappa*{speed}*cos(kappa*s) + {slope}*(x' + lambda1*sin(kappa*s))",
        f"-g - y'' - lambda1'*cos(kappa*s) + lambda1*kappa*{speed}*sin(kappa*s) + {slope}*(y' + lambda1*cos(kappa*s))",
    ]
    for text, row in zip(paper, equations.rows, strict=False):
        assert gap(ch.parse(text, equations), -row.residual) < 1e-12


def disk_principles(nu):
    """The disk at its reference state under both principles; the vakonomic multipliers start at -nu."""
    system = ch.gallery("disk-contact").system
    nonholonomic = ch.evaluate(disk_equations(), DISK_START, parameters=DISK)
    start = {**DISK_START, "lambda1": -nu[0], "lambda2": -nu[1]}
    return nonholonomic, ch.evaluate(ch.derive(system, ch.Herglotz(ch.Vakonomic())), start, parameters=DISK)


def test_section_6_nonholonomic_and_vakonomic_disks_differ():
    """From the same state the two principles give different accelerations."""
    first, second = disk_principles((0.6, -0.45))
    assert max(abs(first[name] - second[name]) for name in ("theta''", "varphi''", "x''", "y''")) > 1e-2


def test_section_6_disks_part_even_from_vanishing_multipliers():
    """From nu = 0 the accelerations agree for an instant; then varphi'' differs by theta' (nu_2 cos varphi - nu_1 sin varphi)."""
    first, second = disk_principles((0.0, 0.0))
    assert all(close(second[name], first[name]) for name in ("theta''", "varphi''", "x''", "y''"))
    assert abs(second["theta'*(lambda2'*cos(varphi) - lambda1'*sin(varphi))"]) > 1e-2


def test_section_6_special_multipliers_make_the_two_disks_coincide():
    """With nu = theta' (cos varphi, sin varphi) the accelerations agree, and nu keeps that value: the motions coincide."""
    speed, angle = DISK_START["theta'"], DISK_START["varphi"]
    first, second = disk_principles((speed * np.cos(angle), speed * np.sin(angle)))
    assert all(close(second[name], first[name]) for name in ("theta''", "varphi''", "x''", "y''"))
    assert close(-second["lambda1'"], second["theta''*cos(varphi) - theta'*varphi'*sin(varphi)"])
    assert close(-second["lambda2'"], second["theta''*sin(varphi) + theta'*varphi'*cos(varphi)"])
