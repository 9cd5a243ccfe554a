"""001, (45) on the library's forms, and the reduced principles (47)-(54), (57)-(60) as first variations of integrals, by quadrature."""

from functools import cache

import numpy as np
import pytest
import sympy

import chetaev as ch
from chetaev.singular.forms import d, equal, interior, is_zero, wedge

T = np.linspace(0.0, 1.0, 4001)


# ---- (45) and the sign of omega_L -----------------------------------------------------------------------------------------------------


@cache
def curved():
    return ch.System("q r", "m", lagrangian="m*(1 + r^2)*q'^2/2 + r'^2/2 + q'*r'*sin(q) + q*r' - q^2*r")


def vertical(field):
    """S of TQ by hand: the components along q become those along q', the others are lost."""
    q, r = curved().coordinates
    return {q.d(): field.get(q, sympy.S.Zero), r.d(): field.get(r, sympy.S.Zero)}


def test_eq_45_the_vertical_endomorphism_is_skew_for_the_lagrangian_two_form():
    """S* o omega = -omega o S on every pair of basis fields; for S S, and for a form that is not Lagrangian, it fails."""
    omega, _, names = ch.lagrangian_forms(curved())
    basis = [{z: sympy.S.One} for z in names]

    def pair(form, a, b):
        return interior(b, interior(a, form))

    for a in basis:
        for b in basis:
            assert is_zero(pair(omega, vertical(a), b) + pair(omega, a, vertical(b)))
    q, r = curved().coordinates
    other = wedge(d(q), d(r.d()))
    assert not is_zero(
        pair(other, vertical({r: sympy.S.One}), {q: sympy.S.One}) + pair(other, {r: sympy.S.One}, vertical({q: sympy.S.One}))
    )


def test_eq_45_and_46_the_two_form_is_dq_wedge_dp_and_gives_the_accelerations():
    """omega_L = dq^i ^ dp_i; i_X omega_L = dE_L for the field of the accelerations that `evaluate` has, and not with the other sign."""
    omega, energy, _ = ch.lagrangian_forms(curved())
    lagrangian, (q, r) = curved().lagrangian, curved().coordinates
    by_hand = wedge(d(q), d(lagrangian.diff(q.d()))) + wedge(d(r), d(lagrangian.diff(r.d())))
    assert equal(omega, by_hand)
    assert sympy.expand(energy - (q.d() * lagrangian.diff(q.d()) + r.d() * lagrangian.diff(r.d()) - lagrangian)) == 0
    state, m = {"q": 0.4, "r": -0.7, "q'": 0.9, "r'": 0.3}, curved().parameters[0]
    now = ch.evaluate(ch.derive(curved()), state, parameters={"m": 1.3})
    values = {q: 0.4, r: -0.7, q.d(): 0.9, r.d(): 0.3, m: 1.3}
    field = {q: q.d(), r: r.d(), q.d(): sympy.Float(now["q''"], 17), r.d(): sympy.Float(now["r''"], 17)}
    left = interior(field, omega) - d(energy)
    wrong = interior(field, -omega) - d(energy)
    assert max(abs(float(c.subs(values))) for c in left.terms.values()) < 1e-13
    assert max(abs(float(c.subs(values))) for c in wrong.terms.values()) > 0.1


# ---- (47)-(51): the first variation of the reduced integral ---------------------------------------------------------------------------

INERTIA = np.array([1.0, 2.0, 3.5])
MASS = 0.8


@cache
def reduced():
    """A ball with unequal constants, so that the bracket in (48) shows; on so(3) x R^2 after reduction by right translations."""
    system = ch.System(
        {"A": "SO3 spatial", "a1": "line", "a2": "line"},
        "M",
        lagrangian="A1'^2/2 + 2*A2'^2/2 + 3.5*A3'^2/2 + M/2*(a1'^2 + a2'^2)",
        kinematic=["a1' = A2'", "a2' = -A1'", "A3' = 0"],
        variational=["δa1 = δA2", "δa2 = -δA1"],
    )
    return ch.reduce(ch.derive(system, ch.VirtualWork()), group="A")


def curve():
    """omega(t), V(t) and their derivatives; no motion of the system, so that nothing vanishes by itself."""
    omega = np.array([np.sin(2 * T) + 0.5, np.cos(T) * T, 0.7 - T**2])
    rate = np.array([2 * np.cos(2 * T), np.cos(T) - T * np.sin(T), -2 * T])
    velocity, pull = np.array([np.cos(3 * T), T - T**3]), np.array([-3 * np.sin(3 * T), 1 - 3 * T**2])
    return omega, rate, velocity, pull


def variation(ends):
    """alpha(t) and its derivative; with `ends` zero it vanishes at both times."""
    shape, slope = T * (1 - T), 1 - 2 * T
    base = np.array([1 + T, 2 - T, np.exp(T)])
    step = np.array([np.ones_like(T), -np.ones_like(T), np.exp(T)])
    return shape * base + ends, slope * base + shape * step


def integral(values):
    from scipy.integrate import simpson

    return float(simpson(values, x=T))


def rows_along(equations, omega, rate, velocity, pull, multipliers):
    """The residuals of the rows E_A1 ... E_a2 along the curve, with arbitrary multipliers."""
    labels = ("E_A1", "E_A2", "E_A3", "E_a1", "E_a2")
    residuals = [next(r.residual for r in equations.rows if r.label == label) for label in labels]
    names = ["A1'", "A2'", "A3'", "A1''", "A2''", "A3''", "a1'", "a2'", "a1''", "a2''", *multipliers]
    symbols = [ch.parse(name, equations) for name in names]
    values = [*omega, *rate, *velocity, *pull, *[np.full_like(T, v) for v in multipliers.values()]]
    rest = dict.fromkeys(equations.system.parameters, MASS)
    function = sympy.lambdify(symbols, [e.xreplace(rest) for e in residuals], "numpy")
    return np.array([np.broadcast_to(line, T.shape) for line in function(*values)], dtype=float)


def first_variation(alpha, alpha_rate, w_rate, sign=-1.0):
    """The variation of (47) with (48) and (50): delta omega = alpha' - [omega, alpha], delta V = w'."""
    omega, _, velocity, _ = curve()
    delta = alpha_rate + sign * np.cross(omega, alpha, axis=0)
    return integral((INERTIA[:, None] * omega * delta).sum(axis=0) + MASS * (velocity * w_rate).sum(axis=0))


def test_eq_47_to_51_the_rows_are_the_first_variation():
    """delta of the integral is minus that of the rows times the variations, which vanish at the ends; with + [omega, alpha] it is not."""
    equations = reduced().target
    alpha, alpha_rate = variation(0.0)
    w, w_rate = alpha[:2] * np.array([[2.0], [-1.0]]), alpha_rate[:2] * np.array([[2.0], [-1.0]])
    work = rows_along(equations, *curve(), {"lambda1": 0.0, "lambda2": 0.0})
    rows = integral((work[:3] * alpha).sum(axis=0) + (work[3:] * w).sum(axis=0))
    assert first_variation(alpha, alpha_rate, w_rate) == pytest.approx(-rows, abs=1e-10)
    assert abs(first_variation(alpha, alpha_rate, w_rate, +1.0) + rows) > 0.1


def test_eq_49_and_51_without_them_the_ends_contribute():
    """With alpha(t_i) = (1, 1, 1) and w = (alpha_2, -alpha_1) the difference is the jump of I omega alpha + M V w."""
    omega, _, velocity, _ = curve()
    alpha, alpha_rate = variation(1.0)
    w, w_rate = np.array([alpha[1], -alpha[0]]), np.array([alpha_rate[1], -alpha_rate[0]])
    work = rows_along(reduced().target, *curve(), {"lambda1": 0.0, "lambda2": 0.0})
    rows = integral((work[:3] * alpha).sum(axis=0) + (work[3:] * w).sum(axis=0))
    ends = ((INERTIA[:, None] * omega * alpha).sum(axis=0) + MASS * (velocity * w).sum(axis=0))[[0, -1]]
    assert first_variation(alpha, alpha_rate, w_rate) == pytest.approx(ends[1] - ends[0] - rows, abs=1e-10)


def test_eq_52_to_54_reduced_constraints():
    """Reactions do no work for w = (alpha_2, -alpha_1) with any alpha_3; the kinematic rows are V = (omega_2, -omega_1), omega_3 = 0."""
    equations = reduced().target
    a = sympy.symbols("alpha1:4")
    along = {"A1": a[0], "A2": a[1], "A3": a[2], "a1": a[1], "a2": -a[0]}
    assert sympy.expand(sum(equations.reaction(name) * c for name, c in along.items())) == 0
    assert sympy.expand(sum(equations.reaction(name) * c for name, c in {**along, "a2": a[0]}.items())) != 0
    rows = [r.residual for r in equations.rows if r.label.startswith("kinematic")]
    by_hand = [ch.parse(text, equations) for text in ("a1' - A2'", "a2' + A1'", "A3'")]
    assert [sympy.expand(found - row) for found, row in zip(rows, by_hand, strict=True)] == [0, 0, 0]
    assert reduced().target.system.kinds["A"] == "so3 spatial"


# ---- (57)-(60): the ball on a moving plane --------------------------------------------------------------------------------------------


def test_eq_57_to_60_virtual_work_on_a_moving_plane():
    """(57) varied by (58)-(60) is minus the work of the rows for every multiplier, with delta a = r*(alpha_2, -alpha_1) for the gallery's
    radius r, whatever the plane's velocity is; with the plane's velocity in (60) it is not."""
    model = ch.gallery("ball-on-moving-plane")
    equations, values = ch.derive(model), model.parameters
    alpha, alpha_rate = variation(0.0)
    w, w_rate = (values["r"] * np.array([c[1], -c[0]]) for c in (alpha, alpha_rate))
    omega, rate, velocity, pull = curve()
    place = {"a1": np.sin(3 * T) / 3, "a2": T**2 / 2 - T**4 / 4}
    labels = ("E_A1", "E_A2", "E_A3", "E_a1", "E_a2")
    residuals = [next(r.residual for r in equations.rows if r.label == label) for label in labels]
    names = ["A1'", "A2'", "A3'", "A1''", "A2''", "A3''", "a1'", "a2'", "a1''", "a2''", "a1", "a2", "lambda1", "lambda2"]
    symbols = [ch.parse(name, equations) for name in names]
    given = [*omega, *rate, *velocity, *pull, *place.values(), 0.7 + 0 * T, -1.9 + T]
    numbers = {z: values[z.name] for z in equations.system.parameters}
    work = [np.broadcast_to(line, T.shape) for line in sympy.lambdify(symbols, [e.xreplace(numbers) for e in residuals], "numpy")(*given)]
    rows = integral(sum(e * c for e, c in zip(work, (*alpha, *w), strict=True)))
    inertia, mass = values["I"], values["M"]
    delta = alpha_rate - np.cross(omega, alpha, axis=0)
    found = integral(inertia * (omega * delta).sum(axis=0) + mass * (velocity * w_rate).sum(axis=0))
    assert found == pytest.approx(-rows, abs=1e-10)
    streamed = w + np.array([place["a2"], place["a1"]])
    other = integral(sum(e * c for e, c in zip(work, (*alpha, *streamed), strict=True)))
    assert abs(found + other) > 0.01
