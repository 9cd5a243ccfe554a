"""000, section II and III: deformations, the first variation, the principle itself, and the energy, each as its equation says."""

import numpy as np
import pytest
import sympy
from by_hand import TIME
from test_000_tangent import connection, double, higher, lagrangian

import chetaev as ch
from chetaev.core.calculus import SymbolicAlgebra
from chetaev.numerics.flow.energy import energy_and_power
from chetaev.singular.forms import (
    DoubleVector,
    HigherVector,
    base_derivative,
    base_point,
    beta,
    carrier,
    fibre_derivatives,
    flip,
    from_beta,
    from_zeta,
    immersion,
    split,
    zeta,
)

X, Y = ch.coordinates("x y")
LAMBDA = sympy.Symbol("lambda", real=True)
DEFORMED = (TIME**2 + LAMBDA * (TIME - 3 * TIME**3) + LAMBDA**2, 2 * TIME - TIME**3 + LAMBDA * TIME**2 * (1 + LAMBDA * TIME))
"""A deformation of a curve in the plane: Gamma(t, lambda)."""
R = sympy.Rational


def derivative(of_time, of_lambda, t, size=0):
    """A mixed derivative of the deformation at a point."""
    found = [sympy.diff(sympy.diff(e, TIME, of_time), LAMBDA, of_lambda) for e in DEFORMED]
    return tuple(sympy.expand(e.subs({TIME: t, LAMBDA: size})) for e in found)


def variation_velocity(t):
    """V = [Gamma_*(d/dlambda)]_*(d/dt): positions and variations, then their rates."""
    return DoubleVector(((derivative(0, 0, t), derivative(0, 1, t)), (derivative(1, 0, t), derivative(1, 1, t))))


def test_eq_6_a_deformation_gives_a_variation():
    t = R(3, 7)
    assert base_point(variation_velocity(t)) == HigherVector((derivative(0, 0, t), derivative(0, 1, t)))


def test_eq_9_10_and_12_the_involution_exchanges_the_parameters_of_a_surface():
    """kappa(V) = [Gamma_*(d/dt)]_*(d/dlambda), and (tau_Q)_* o kappa = tau_TQ."""
    t = R(-2, 5)
    v = variation_velocity(t)
    exchanged = DoubleVector(((derivative(0, 0, t), derivative(1, 0, t)), (derivative(0, 1, t), derivative(1, 1, t))))
    assert flip(v) == exchanged != v
    assert carrier(flip(v)) == base_point(v)


def test_eq_7_theorem_3_the_first_variation_through_the_involution():
    """d/dlambda of the action equals the integral of <dL, kappa(delta gamma')>, through fibre and base derivative of a connection."""
    function = (1 + X) * X.d() ** 2 + X.d() * Y.d() - 2 * Y.d() ** 2 + Y * X * X.d() - X**2 * Y
    gamma = connection(31)
    (fibre,), base = fibre_derivatives(function, gamma), base_derivative(function, gamma)
    places = dict(zip((X, Y), derivative(0, 0, TIME), strict=True)) | dict(zip((X.d(), Y.d()), derivative(1, 0, TIME), strict=True))
    _, y, z = beta(gamma, flip(variation_velocity(TIME)))
    through = sum(a * b for a, b in zip(base, y, strict=True)) + sum(a * b for a, b in zip(fibre, z, strict=True))
    integrated = sympy.integrate(sympy.expand(sympy.S(through).subs(places, simultaneous=True)), (TIME, 0, 1))
    along = dict(zip((X, Y), DEFORMED, strict=True)) | {q.d(): e.diff(TIME) for q, e in zip((X, Y), DEFORMED, strict=True)}
    action = sympy.integrate(sympy.expand(function.subs(along, simultaneous=True)), (TIME, 0, 1))
    assert sympy.simplify(integrated - action.diff(LAMBDA).subs(LAMBDA, 0)) == 0
    assert integrated != 0


def test_eq_19_beta_and_its_inverse():
    """beta_X(V) = Pi_*(V) + DW/Dt, and the inverse gives V back."""
    gamma, v = connection(33), double(34, 1, 1)
    x, y, z = beta(gamma, v)
    (point, carried), (rate, turned) = v.table
    assert (x, y) == (carried, rate)
    at = dict(zip((X, Y), point, strict=True))
    by_hand = [
        turned[i] + sum(sympy.S(gamma.symbols.get((i, j, k), 0)).xreplace(at) * rate[j] * carried[k] for j in range(2) for k in range(2))
        for i in range(2)
    ]
    assert list(z) == by_hand
    assert from_beta(gamma, point, x, y, z) == v


def test_eq_33_the_second_lift_of_a_curve_is_the_velocity_of_its_velocity():
    t = R(5, 3)
    jets = HigherVector(tuple(derivative(k, 0, t) for k in range(3)))
    assert immersion(jets).table == ((derivative(0, 0, t), derivative(1, 0, t)), (derivative(1, 0, t), derivative(2, 0, t)))


def test_eq_42_the_submersion_of_a_lifted_variation():
    t = R(1, 4)
    lifted = DoubleVector(tuple((derivative(k, 0, t), derivative(k, 1, t)) for k in range(4)))
    below, vector = split(lifted)
    assert below == HigherVector(tuple(derivative(k, 0, t) for k in range(4))) and vector == derivative(0, 1, t)


def test_eq_43_jets_are_sums_of_vectors():
    """zeta_k is one to one: its inverse gives the jet back, and other vectors give another jet."""
    gamma, v = connection(35), higher(36, 3)
    vectors = zeta(gamma, v)
    assert from_zeta(gamma, v.parts[0], vectors) == v
    changed = [list(w) for w in vectors]
    changed[1][0] += 1
    other = from_zeta(gamma, v.parts[0], [tuple(w) for w in changed])
    assert other.parts[:2] == v.parts[:2] and other.parts[2] != v.parts[2]


def bent():
    """Variations that are not the velocities allowed: y' = x*x', delta y = 2*x*delta x."""
    return ch.System("x y", lagrangian="(x'^2 + 2*y'^2)/2 + y*x' - x*y", kinematic=["y' = x*x'"], variational=["δy = 2*x*δx"])


def test_eq_46_definition_15_the_principle_as_an_integral():
    """The first variation of the action along a motion vanishes for variations in C_V with fixed ends, and not for others."""
    nodes, weights = np.polynomial.legendre.leggauss(24)
    times = np.concatenate([[0.0], (nodes + 1) / 2])
    motion = ch.simulate(ch.derive(bent(), ch.VirtualWork()), {"x": 0.7, "y": -0.2, "x'": 0.9}, times, tolerance=1e-12)
    x, y, u, v = (motion[name][1:] for name in ("x", "y", "x'", "y'"))
    t = times[1:]
    bump, rate = t**2 * (1 - t) ** 2, 2 * t * (1 - t) * (1 - 2 * t)
    momenta, forces = (u + y, 2 * v), (-y, u - x)

    def first_variation(dy, dy_rate):
        return float(weights / 2 @ (forces[0] * bump + forces[1] * dy + momenta[0] * rate + momenta[1] * dy_rate))

    assert abs(first_variation(2 * x * bump, 2 * u * bump + 2 * x * rate)) < 1e-11
    assert abs(first_variation(x * bump, u * bump + x * rate)) > 1e-3


def test_eq_52_to_54_the_equations_do_not_depend_on_the_chart():
    """The same system with w = x + y^2 in the place of x: accelerations and constraints go over into each other."""
    other = ch.System(
        "w y",
        lagrangian="((w' - 2*y*y')^2 + 2*y'^2)/2 + y*(w' - 2*y*y') - (w - y^2)*y",
        kinematic=["y' = (w - y^2)*(w' - 2*y*y')"],
        variational=["δy = 2*(w - y^2)*(δw - 2*y*δy)"],
    )
    x, y, u = 0.7, -0.2, 0.9
    v = x * u
    first = ch.evaluate(ch.derive(bent(), ch.VirtualWork()), {"x": x, "y": y, "x'": u, "y'": v})
    second = ch.evaluate(ch.derive(other, ch.VirtualWork()), {"w": x + y**2, "y": y, "w'": u + 2 * y * v, "y'": v})
    # by hand: y'' = u^2 + x*x'', and (x'' + y' + y) + (2*y'' - x' + x)*2*x = 0
    acceleration = -(v + y + 2 * x * (2 * u**2 - u + x)) / (1 + 4 * x**2)
    assert first["x''"] == pytest.approx(acceleration, rel=1e-12)
    assert first["y''"] == pytest.approx(u**2 + x * acceleration, rel=1e-12)
    assert second["w''"] == pytest.approx(acceleration + 2 * v**2 + 2 * y * first["y''"], rel=1e-12)
    assert second["y''"] == pytest.approx(first["y''"], rel=1e-12)


def test_eq_60_the_energy_is_the_liouville_derivative_minus_the_lagrangian():
    function = lagrangian(41, 1) + X.d() ** 4
    function = function.subs(TIME, 0)
    equations = ch.derive(ch.System([X, Y], lagrangian=function))
    found = energy_and_power(equations, SymbolicAlgebra())[0]
    liouville = sum(function.diff(q.d()) * q.d() for q in (X, Y))
    assert sympy.expand(found - liouville + function) == 0
