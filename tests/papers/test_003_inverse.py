"""Differential systems in higher-order mechanics (Krupková), section 8: inverse problem and order reduction by the library's functions.

The rows and formulas typed here are the paper's, with the corrections that (8.8) means v q_{s-c} and that Cawley's name is misprinted.
"""

import pytest
import sympy
from by_hand import TIME, d_dt

import chetaev as ch
from chetaev.singular.dynamical.dynamical_form import DynamicalForm
from chetaev.singular.forms import d, is_zero, wedge
from chetaev.singular.inverse.helmholtz import decide
from chetaev.singular.inverse.lepage_equivalent import lepagean_equivalent

X, Y = ch.coordinates("x y")

# Lagrangians by the order s of their equations
LAGRANGIANS = {
    1: "x^2*y*y' - y^2*x'/3 - x*y^3 + t*x^2",
    2: "(1 + y^2)*x'^2/2 + x'*y'*x/3 + y'^3/6 + y'^2 - x*y^2*t",
    3: "x''*y' + x'^2*y^2/2 - x*y^2",
    4: "(1 + y^2)*x''^2/2 + x''*y''*x'/3 + y''^2 - x*y'^3 + t*x*y",
    6: "x'''^2*(2 + y)/2 + y'''^2 - x''*y'^2 + x*y^2",
}


def expressions(lagrangian, coordinates=(X, Y)):
    top = max((z.order for z in lagrangian.free_symbols if hasattr(z, "base")), default=0)
    return [sympy.expand(sympy.Add(*[(-1) ** k * d_dt(lagrangian.diff(q.d(k)), k) for k in range(top + 1)])) for q in coordinates]


def order_of(*es):
    return max(z.order for e in es for z in e.free_symbols if hasattr(z, "base"))


def bare(order):
    return DynamicalForm("x y", expressions(ch.parse(LAGRANGIANS[order], coordinates="x y")))


@pytest.mark.parametrize("order", LAGRANGIANS)
def test_eq_8_1_and_8_4(order):
    """(8.1) holds, and (8.4) is a Lagrangian of the order of the rows."""
    form = bare(order)
    verdict = ch.helmholtz(form)
    assert verdict.variational is True and verdict.proved is True and verdict.made_by == "Vainberg-Tonti"
    u = sympy.Symbol("u")
    scaled = [e.xreplace({z: u * z for z in e.free_symbols if hasattr(z, "base")}) for e in form.rows]
    integral = sympy.Add(*[q * sympy.integrate(sympy.expand(e), (u, 0, 1)) for q, e in zip((X, Y), scaled, strict=True)])
    assert sympy.expand(verdict.lagrangian - integral) == 0
    assert order_of(verdict.lagrangian) == order


@pytest.mark.parametrize("order", LAGRANGIANS)
def test_eq_8_1_every_identity_can_fail(order):
    """A term that is no Euler-Lagrange expression, of any order up to s, is noticed, and (8.1) names the pair it sits in."""
    form = bare(order)
    for k in range(order + 1):
        rows = [form.rows[0] + X.d() * Y.d(k), form.rows[1]]
        verdict = decide((X, Y), rows, 20.0)
        assert verdict.variational is False
        assert {"x", "y"} == {name for v in verdict.violations for name in (v.sigma, v.nu)}


@pytest.mark.parametrize("order", LAGRANGIANS)
def test_corollary_8_13_order_reduction(order):
    """Every Lagrangian reduces to the order s/2, or (s + 1)/2 for odd s; here from the Vainberg-Tonti Lagrangian and from the rows."""
    form = bare(order)
    for given in (ch.helmholtz(form), form):
        minimal = ch.reduce_order(given)
        assert minimal.order == (order + 1) // 2 and minimal.minimal
        assert all(sympy.expand(a - b) == 0 for a, b in zip(expressions(minimal.lagrangian), form.rows, strict=True))


@pytest.mark.parametrize("order", LAGRANGIANS)
def test_theorem_8_12_canonical_form(order):
    """(8.5): -dH^dt + dp^dq of the minimal Lagrangian is the differential of the Cartan form of any equivalent Lagrangian."""
    form = bare(order)
    verdict = ch.helmholtz(form)
    minimal = ch.reduce_order(verdict)
    terms = [wedge(d(p), d(q)) for q, p in minimal.momenta.items()]
    canonical = sum(terms, -wedge(d(minimal.hamiltonian), d(TIME)))
    assert is_zero(canonical - lepagean_equivalent(verdict.lagrangian, (X, Y)).alpha) is True
    assert len(minimal.momenta) == 2 * ((order + 1) // 2)
    assert all(z.order <= order - 1 for p in minimal.momenta.values() for z in p.free_symbols if hasattr(z, "base"))


def test_remark_8_10_regular_first_order_lagrangians():
    """Condition (i), condition (ii), and neither."""
    first = ch.reduce_order(ch.System("x y", lagrangian="x'*y' + x^2*y"))
    second = ch.reduce_order(ch.System("x y", lagrangian="(1 + x^2)*y' + x*y^3"))
    neither = ch.reduce_order(ch.System("x y", lagrangian="x'^2/2 + x*y'"))
    assert (first.regularity.regular, first.standard_regular, first.equations_order) == (True, True, 2)
    assert (second.regularity.regular, second.standard_regular, second.equations_order) == (True, False, 1)
    assert (neither.regularity.regular, neither.standard_regular, neither.equations_order) == (False, False, 2)
    assert sympy.expand(second.regularity.determinant - (2 * X) ** 2) == 0


def test_section_8_no_lagrangian_system_is_regular_if_ms_is_odd():
    for names, text in (("x y z", "x*y' + y*z' + z*x' + x^2*y'"), ("x y z", "x''*y' + y''*z' + z''*x'*2")):
        minimal = ch.reduce_order(ch.System(names, lagrangian=text))
        assert minimal.equations_order % 2 == 1 and minimal.regularity.regular is False


def test_section_9_1_momenta_hamiltonian_and_alpha():
    minimal = ch.reduce_order(ch.gallery("krupkova"))
    q1, q2 = ch.coordinates("q1 q2")
    assert minimal.momenta["q1"] == q1.d() and minimal.momenta["q2"] == 0
    assert sympy.expand(minimal.hamiltonian - (q1.d() ** 2 - q1**2 * q2) / 2) == 0
    inner = q1.d() * d(q1.d()) - q1**2 / 2 * d(q2) - q1 * q2 * d(q1)
    assert is_zero(minimal.equivalent.alpha - (wedge(d(q1.d()), d(q1)) - wedge(inner, d(TIME)))) is True
    assert minimal.regularity.regular is False


def test_section_9_2_alpha():
    """(9.3): alpha = (q2 q3 w2 + q2^2/2 w3)^dt - w1^dq3' - w3^dq1', from the rows alone."""
    form = DynamicalForm("q1 q2 q3", ["-q3''", "q2*q3", "q2^2/2 - q1''"])
    assert ch.helmholtz(form).variational is True
    q1, q2, q3 = form.coordinates
    w = {q: d(q) - q.d() * d(TIME) for q in form.coordinates}
    paper = wedge(q2 * q3 * w[q2] + q2**2 / 2 * w[q3], d(TIME)) - wedge(w[q1], d(q3.d())) - wedge(w[q3], d(q1.d()))
    assert is_zero(ch.reduce_order(form).equivalent.alpha - paper) is True
