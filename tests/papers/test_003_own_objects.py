"""003, sections 3 to 6, on the library's own objects: Lepage forms, Hamilton forms, distributions, regular systems; against i_xi alpha."""

from functools import cache

import pytest
import sympy
from by_hand import TIME

import chetaev as ch
from chetaev.singular.forms import annihilated_by, contact_component, contact_form, d, equal, interior, is_zero, rank, wedge

FORMS = {
    "not variational": ("x y", ["x'' + x*y'' + y'^2 - t*x", "2*y'' - x*x'' + x'*y"]),
    "variational": ("x y", ["-x'' + y' - x*y^2", "-2*y'' - x' - x^2*y"]),
    "third order": ("x y", ["D(y,3) + x*x'' - y", "-D(x,3)*(1 + x^2) + y''*x' + t"]),
    "singular": ("x y", ["x'' + y'' - x", "x'' + y'' + y'^2"]),
}


@cache
def form(name):
    return ch.DynamicalForm(*FORMS[name])


def total(forms, degree):
    found = 0 * d(TIME) if degree == 1 else 0 * wedge(d(TIME), d(form("singular").coordinates[0]))
    for each in forms:
        found = found + each
    return found


def unit_fields(found):
    """The coordinate fields of the phase space, time first."""
    return [{z: sympy.S.One} for z in (TIME, *found.phase)]


def same_span(first, second, phase):
    """Whether two lists of one-forms have the same annihilated distribution, by exact ranks."""
    one, two = ([f for f in fs if f.terms] for fs in (first, second))
    ranks = {rank(annihilated_by(fs, [TIME, *phase])) for fs in (one, two, [*one, *two])}
    return len(ranks) == 1


@pytest.mark.parametrize("name", FORMS)
def test_eq_3_5_to_3_6_the_lepage_form_has_the_one_contact_part_of_the_dynamical_form(name):
    """p_1 alpha = E_sigma omega^sigma ^ dt, prolonged; the sign of B and of A both enter."""
    found = form(name)
    alpha = found.lepage.two_form
    by_hand = total([row * wedge(contact_form(q), d(TIME)) for row, q in zip(found.rows, found.coordinates, strict=True)], 2)
    assert equal(contact_component(alpha, 1), by_hand) is True
    assert found.lepage.closed == (name == "variational")


@pytest.mark.parametrize("name", FORMS)
def test_eq_3_7_and_5_5_to_5_7_the_dynamical_distribution_is_that_of_vertical_fields(name):
    """Delta_alpha^0 is spanned by i_xi alpha over the vertical fields d/dq_k, of the library's own alpha."""
    found = form(name)
    by_hand = [interior({z: sympy.S.One}, found.lepage.two_form) for z in found.phase]
    assert same_span(found.lepage.dynamical_annihilator(), by_hand, found.phase)


@pytest.mark.parametrize("name", FORMS)
def test_eq_5_1_to_5_4_the_characteristic_distribution_is_that_of_all_fields(name):
    """D_alpha^0 is spanned by i_xi alpha over all fields, d/dt too: eta_0 belongs to it."""
    found = form(name)
    by_hand = [interior(field, found.lepage.two_form) for field in unit_fields(found)]
    assert same_span(found.lepage.characteristic_annihilator(), by_hand, found.phase)
    for field in found.lepage.characteristic_distribution().fields:
        assert is_zero(interior(field, found.lepage.two_form)) is True


def test_eq_5_4_without_eta_0_the_distribution_would_be_larger():
    """On "singular" eta_0 is no combination of the others: Delta_alpha has one field more than D_alpha."""
    found = form("singular").lepage
    assert rank(found.dynamical_distribution()) == rank(found.characteristic_distribution()) + 1
    first, *others = found.characteristic_annihilator()
    by_hand = interior({TIME: sympy.S.One}, found.two_form)
    assert equal(first, -1 * by_hand) is True or equal(first, by_hand) is True
    assert len(others) == len(found.form.phase)


def hamilton_by_hand(found):
    """alpha contracted with the vertical fields and then with d/dt + rates; the rates are named as the library's."""
    rates = {z: ch.Coordinate(f"{z.base}_{z.order}").d() for z in found.phase}
    alpha = found.lepage.two_form
    moving = {TIME: sympy.S.One, **rates}
    components = []
    for z in found.phase:
        inner = interior(moving, interior({z: sympy.S.One}, alpha))
        components.append(sympy.expand(inner.terms.get((), sympy.S.Zero) if hasattr(inner, "terms") else inner))
    return components


@pytest.mark.parametrize("name", FORMS)
def test_eq_4_1_to_4_5_the_hamilton_form_is_the_contraction_with_alpha(name):
    """H^i_sigma = alpha(d/dq_i^sigma, d/dt + q_{k,1} d/dq_k): signs of A, B and F all enter; (4.5), (5.10) are its coefficients."""
    found = form(name)
    own = [sympy.expand(e) for e in found.lepage.hamilton_form()]
    assert [sympy.expand(a - b) for a, b in zip(own, hamilton_by_hand(found), strict=True)] == [0] * len(own)
    rates = [ch.Coordinate(f"{z.base}_{z.order}").d() for z in found.phase]
    rows = found.lepage.hamilton_rows()
    again = [sympy.expand(row[-1] + sum(c * r for c, r in zip(row, rates, strict=False))) for row in rows]
    assert again == own


@pytest.mark.parametrize("name", ["not variational", "variational"])
def test_eq_5_10_and_5_15_fields_of_the_distribution_of_a_regular_form_are_the_semispray(name):
    """Delta_alpha has rank one, its field is d/dt + q_1 d/dq + ... and the accelerations that the rows give when solved by hand."""
    found = form(name)
    assert rank(found.lepage.dynamical_distribution()) == 1
    (field,) = found.lepage.dynamical_distribution().fields
    top = [q.d(found.order) for q in found.coordinates]
    solved = sympy.solve(found.rows, top, dict=True)[0]
    for z in found.phase:
        expected = solved[z.d()] if z.order == found.order - 1 else z.d()
        assert sympy.simplify(field[z] / field[TIME] - expected) == 0


@pytest.mark.parametrize(("name", "regular"), [("not variational", True), ("variational", True), ("singular", False)])
def test_eq_6_1_to_6_4_regular_means_det_b_rank_one_and_a_semispray(name, regular):
    """Theorem 6.1: det B != 0 and rank Delta = 1 are equivalent; for s <= 2, where no other member of the class has another rank."""
    found = form(name)
    B = sympy.Matrix([[row.diff(q.d(found.order)) for q in found.coordinates] for row in found.rows])
    assert (sympy.simplify(B.det()) != 0) == regular
    assert (ch.regularity(found).regular is True) == regular
    assert (rank(found.lepage.dynamical_distribution()) == 1) == regular
    assert sympy.simplify(found.B - B) == sympy.zeros(2, 2)
