"""Contact forms, horizontal and contact parts, prolongations and distributions: laws, and cases done by hand."""

import itertools
import random

import pytest
import sympy

import chetaev as ch
from chetaev.core.calculus import total_derivative
from chetaev.core.errors import UsageError
from chetaev.core.symbols import TIME, Parameter
from chetaev.singular.forms import (
    Distribution,
    Form,
    VectorField,
    adapted,
    annihilated_by,
    annihilator,
    associated_system,
    bracket,
    brackets,
    characteristic_distribution,
    contact_component,
    contact_form,
    contact_part,
    contains,
    d,
    derived_flag,
    equal,
    horizontal_part,
    is_contact,
    is_horizontal_over,
    is_involutive,
    is_k_contact,
    is_semispray,
    is_zero,
    lie_derivative,
    order_of,
    prolong,
    prolonged_map,
    pull_back,
    rank,
    semispray,
    vanishing,
    wedge,
    zero_form,
)

X, Y, Z, Q = ch.coordinates("x y z q")
J1 = (X, Y, X.d(), Y.d(), TIME)
SECTION = {X: sympy.sin(TIME) + TIME**2, Y: sympy.exp(TIME) - 3 * TIME}


def form(seed, degree, variables=J1):
    chance = random.Random(seed)
    blades = list(itertools.combinations(variables, degree))
    terms = {}
    for blade in chance.sample(blades, min(4, len(blades))):
        terms[blade] = chance.randint(1, 5) * sympy.Mul(*chance.choices(variables, k=2)) - chance.choice(variables)
    return Form(degree, terms)


# ---- horizontal and contact parts -------------------------------------------------------------------------------------------------


def test_a_form_of_degree_one_by_hand():
    f, g = X * Y.d(), TIME**2
    eta = f * d(X) + g * d(Y.d()) + Y * d(TIME)
    assert horizontal_part(eta) == (f * X.d() + g * Y.d(2) + Y) * d(TIME)
    assert is_zero(contact_part(eta) - f * contact_form(X) - g * contact_form(Y.d())) is True
    assert adapted(contact_part(eta)).terms == {(X,): f, (Y.d(),): g}


def test_a_form_of_degree_two_by_hand():
    """dx ^ dx' = omega_0 ^ omega_1 + (x'' omega_0 - x' omega_1) ^ dt."""
    alpha = wedge(d(X), d(X.d()))
    w0, w1 = contact_form(X), contact_form(X.d())
    assert equal(contact_component(alpha, 2), wedge(w0, w1)) is True
    assert equal(contact_component(alpha, 1), wedge(X.d(2) * w0 - X.d() * w1, d(TIME))) is True
    assert str(adapted(alpha, 2)) == "ωx∧ωx' + x''*ωx∧dt - x'*ωx'∧dt"
    assert (
        adapted(alpha, 2).latex()
        == r"\omega^{x} \wedge \omega^{x}_{1} + \ddot{x}\, \omega^{x} \wedge d t - \dot{x}\, \omega^{x}_{1} \wedge d t"
    )
    assert str(adapted(alpha)) == "ωx∧dx' - x'*dx'∧dt"


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("degree", [0, 1, 2, 3])
def test_components_add_up_and_are_projections(seed, degree):
    eta = form(seed, degree)
    components = [contact_component(eta, k) for k in range(degree + 1)]
    assert equal(sum(components[1:], components[0]), eta) is True
    assert equal(horizontal_part(eta) + contact_part(eta), eta) is True
    for k, component in enumerate(components):
        assert is_k_contact(component, k) is True
        assert component.terms == {} or k in (degree - 1, degree)
        for other in range(degree + 1):
            assert other == k or is_zero(contact_component(component, other)) is True
    assert equal(adapted(eta).form, eta) is True
    assert equal(adapted(eta, 4).form, eta) is True


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_h_is_what_sections_see(seed):
    """J^r gamma^* eta = J^{r+1} gamma^* h eta, and h is a homomorphism with h df = (Df) dt."""
    eta, f, g = form(seed, 1), form(seed, 0).coefficient(), form(seed + 7, 0).coefficient()
    jets = prolonged_map(SECTION, 3)
    assert pull_back(eta, jets).terms
    assert is_zero(pull_back(eta, jets) - pull_back(horizontal_part(eta), jets)) is True
    assert is_zero(pull_back(contact_part(eta), jets)) is True
    assert equal(horizontal_part(d(f)), total_derivative(f) * d(TIME)) is True
    assert equal(horizontal_part(wedge(f, eta)), wedge(f, horizontal_part(eta))) is True
    assert equal(horizontal_part(d(f * g)), f * horizontal_part(d(g)) + g * horizontal_part(d(f))) is True
    assert horizontal_part(wedge(eta, d(g))) == zero_form(2)


def test_contact_and_horizontal_forms_are_recognised():
    assert is_contact(contact_form(X) * Y + contact_form(Y.d(2))) is True
    assert is_contact(d(X)) is False
    assert is_contact(wedge(d(X), d(TIME))) is True
    assert is_horizontal_over(X.d() * d(TIME)) is True
    assert is_horizontal_over(X.d() * d(TIME) + d(X)) is False
    assert is_horizontal_over(X.d(3) * wedge(d(X), d(TIME)), 0) is True
    assert is_horizontal_over(wedge(d(X.d()), d(TIME)), 0) is False
    assert order_of(X.d(3) * d(X)) == 3 and order_of(d(X.d(2))) == 2


def test_inputs_are_functions_of_time_for_contact_forms_too():
    u = ch.inputs("u")
    assert horizontal_part(d(u * X)) == (u.d() * X + u * X.d()) * d(TIME)
    assert order_of(u.d(5) * d(X)) == 0


def test_a_form_does_not_fit_into_a_lower_order():
    with pytest.raises(UsageError, match="is not defined on"):
        adapted(X.d(2) * d(X), 1)
    with pytest.raises(UsageError, match="neither time nor a jet"):
        adapted(d(sympy.Symbol("w", real=True)))


# ---- prolongation -----------------------------------------------------------------------------------------------------------------

SCALE = VectorField({TIME: TIME**2, X: TIME * X, Y: X * Y - TIME})
TURN = VectorField({TIME: 3, X: -Y + TIME, Y: X**2})


def test_the_first_prolongation_by_hand():
    lifted = prolong(SCALE, [X, Y], 1)
    assert sympy.expand(lifted[X.d()] - (X + TIME * X.d() - 2 * TIME * X.d())) == 0
    assert sympy.expand(lifted[Y.d()] - (X.d() * Y + X * Y.d() - 1 - 2 * TIME * Y.d())) == 0


@pytest.mark.parametrize("field", [SCALE, TURN, VectorField({TIME: X * TIME, Y: Y**2})])
def test_prolonged_fields_keep_the_contact_structure(field):
    """Also for a field whose time component depends on positions: its flow still maps contact forms to contact forms."""
    lifted = prolong(field, [X, Y], 3)
    for q in (X, Y, X.d(), Y.d(), X.d(2)):
        assert is_contact(lie_derivative(lifted, contact_form(q))) is True
    wrong = lifted + VectorField({X.d(): 1})
    assert is_contact(lie_derivative(wrong, contact_form(X))) is False


def test_prolongation_is_the_derivative_of_prolonged_maps():
    e = Parameter("e")
    moved = prolonged_map({z: z + e * SCALE[z] for z in (TIME, X, Y)}, 2)
    lifted = prolong(SCALE, [X, Y], 2)
    for z in lifted:
        assert sympy.expand(moved[z].diff(e).subs(e, 0) - lifted[z]) == 0


def test_prolongation_respects_brackets():
    difference = prolong(bracket(SCALE, TURN), [X, Y], 2) - bracket(prolong(SCALE, [X, Y], 2), prolong(TURN, [X, Y], 2))
    assert vanishing(difference) is True
    assert vanishing(bracket(SCALE, TURN)) is False


def test_prolongation_refuses_what_is_no_field_on_configurations():
    with pytest.raises(UsageError, match="depends on x'"):
        prolong({X: X.d()}, [X], 1)
    with pytest.raises(UsageError, match="not among the coordinates"):
        prolong({Y: X}, [X], 1)


def test_a_change_of_coordinates_and_time_acts_on_jets():
    """With new time 2t, velocities are halved and accelerations quartered; contact forms go to contact forms."""
    new = prolonged_map({TIME: 2 * TIME, X: X * Y, Y: Y}, 2)
    assert sympy.expand(new[X.d()] - (X.d() * Y + X * Y.d()) / 2) == 0
    assert sympy.expand(new[Y.d(2)] - Y.d(2) / 4) == 0
    assert is_contact(pull_back(contact_form(X.d()), new)) is True


def test_semisprays():
    field = semispray({X: -Y, Y: X * X.d()}, 1)
    assert field == VectorField({TIME: 1, X: X.d(), Y: Y.d(), X.d(): -Y, Y.d(): X * X.d()})
    assert is_semispray(field * X, [X, Y], 1) is True
    assert is_semispray(field + VectorField({X: 1}), [X, Y], 1) is False
    assert is_semispray({X.d(): 1}, [X, Y], 1) is False


# ---- distributions ----------------------------------------------------------------------------------------------------------------


def test_the_contact_distribution_of_the_first_jets_grows_to_everything():
    """omega = 0 on J^2 of one coordinate: the flag 2, 3, 4 of Engel's normal form."""
    engel = annihilated_by([contact_form(X), contact_form(X.d())], [X, X.d(), X.d(2), TIME])
    assert rank(engel) == 2 and is_involutive(engel) is False
    assert [rank(step) for step in derived_flag(engel)] == [2, 3, 4]
    assert contains(engel, VectorField({X.d(2): X})) is True
    assert contains(engel, brackets(engel)[0]) is False


def test_annihilators_and_distributions_are_exchanged():
    fields = (VectorField({X: Y, Z: 1}), VectorField({Y: X, Z: X**2 / Y}))
    plane = Distribution((X, Y, Z), fields)
    (covector,) = annihilator(plane)
    assert all(is_zero(covector(field) * d(X)) is True for field in fields)
    again = annihilated_by([covector], (X, Y, Z))
    assert all(contains(again, field) for field in fields) and rank(again) == 2


def test_frobenius():
    assert is_involutive(annihilated_by([X * d(Y) + Y * d(X) + 2 * Z * d(Z)], [X, Y, Z])) is True
    assert is_involutive(annihilated_by([X * d(Y) - Y * d(X) + d(Z)], [X, Y, Z])) is False
    everything = Distribution((X, Y), (VectorField({X: 1}), VectorField({Y: X})))
    assert is_involutive(everything) is True and annihilator(everything) == ()
    nothing = Distribution((X, Y), ())
    assert rank(nothing) == 0 and len(annihilator(nothing)) == 2 and is_involutive(nothing) is True


def test_the_rank_at_a_point_may_be_smaller():
    fields = Distribution((X, Y), (VectorField({X: 1}), VectorField({Y: X})))
    assert rank(fields) == 2 and rank(fields, at={X: 0.0, Y: 1.0}) == 1


def test_on_a_submanifold_the_rank_and_the_brackets_are_those_of_the_submanifold():
    """On the sphere the rotations span its tangent plane, and their brackets stay in it."""
    sphere = X**2 + Y**2 + Z**2 - 1
    rotations = (VectorField({X: -Y, Y: X}), VectorField({Y: -Z, Z: Y}), VectorField({Z: -X, X: Z}))
    tangent = Distribution((X, Y, Z), rotations, on=(sphere,))
    assert rank(tangent) == 2 and is_involutive(tangent) is True


def test_characteristic_distributions():
    """The dynamics of an oscillator is the kernel of d(x' dx - H dt)."""
    alpha = d(X.d() * d(X) - (X.d() ** 2 + X**2) / 2 * d(TIME))
    kernel = characteristic_distribution(alpha, [X, X.d(), TIME])
    assert rank(kernel) == 1 and contains(kernel, semispray({X: -X}, 1)) is True
    assert len(associated_system(alpha, [X, X.d(), TIME])) == 3


def test_distributions_refuse_what_they_cannot_decide():
    u = ch.inputs("u")
    with pytest.raises(UsageError, match="has no formula"):
        annihilated_by([d(X) - u * d(Y)], [X, Y, TIME])
    with pytest.raises(UsageError, match="no real point"):
        rank(Distribution((X,), (VectorField({X: 1}),), on=(X**2 + 1,)))
    with pytest.raises(UsageError, match="not among the variables"):
        annihilated_by([d(Z)], [X, Y])
    with pytest.raises(UsageError, match="degree 2"):
        annihilated_by([wedge(d(X), d(Y))], [X, Y])
