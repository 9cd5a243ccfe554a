"""Signs that cancel in most tests: each one against a value by hand. `make mutants` breaks them one by one."""

import numpy as np
import pytest
import sympy

import chetaev as ch
from chetaev.core.symbols import TIME
from chetaev.singular.dirac_bergmann.lagrangian_bundle import lagrangian_bundle
from chetaev.singular.forms.exterior import as_form, d

PAULI = [np.array(m, dtype=complex) / 2j for m in ([[0, 1], [1, 0]], [[0, -1j], [1j, 0]], [[1, 0], [0, -1]])]


def test_a_form_is_subtracted_from_an_expression():
    x, y = ch.coordinates("x y")
    assert (x - as_form(y)).coefficient() == x - y
    assert (d(x) - d(y)).coefficient(y) == -1


def test_the_block_matrix_of_a_complex_group():
    """Re and Im of a complex matrix as [[Re, -Im], [Im, Re]], entry by entry, for a matrix whose entries all differ."""
    group = ch.groups.matrix_group(PAULI)
    whole = np.array([[1 + 2j, 3 - 4j], [-5 + 7j, 11 + 13j]])
    block = np.block([[whole.real, -whole.imag], [whole.imag, whole.real]])
    place = [block[i, j] for i in range(4) for j in range(2)]
    assert np.array_equal(np.array(group.matrix(place, np.cos, np.sin)), block)


def test_jacobis_identity_with_terms_that_cancel():
    """[d, p] = 2p, [d, q] = 3q, [p, q] = z, [d, z] = 5z: the three terms of (d, p, q) are 2z, -5z and 3z."""
    brackets = {(1, 2): {2: 2}, (1, 3): {3: 3}, (2, 3): {4: 1}, (1, 4): {4: 5}}
    assert ch.groups.lie_algebra(brackets, dimension=4).dimension == 4
    with pytest.raises(ch.ModelError, match="Jacobi"):
        ch.groups.lie_algebra(brackets | {(1, 4): {4: -5}}, dimension=4)


@pytest.mark.parametrize("side", ["body", "spatial"])
def test_the_brackets_of_momenta_on_a_group(side):
    """Euler's equations from the brackets alone: the rates of momenta of a free body under {p_1, p_2} = -+p_3."""
    body = ch.System({"A": f"SO3 {side}"}, lagrangian="(A1'^2 + 2*A2'^2 + 5*A3'^2)/2")
    found = ch.dirac(body)
    values = dict(zip(found.momenta, (0.3, -1.1, 0.7), strict=True))
    p = np.array([0.3, -1.1, 0.7])
    turned = np.cross(p, p / [1, 2, 5])  # p' = p x w on the body side
    expected = turned if side == "body" else -turned
    rates = [float(found.bracket(m, found.hamiltonian).subs(values)) for m in found.momenta]
    assert rates == pytest.approx(expected, rel=1e-12)


def test_the_hamiltonian_of_momenta_that_are_not_linear_in_the_velocities():
    """The momenta have length 2, and the energy is minus the constant of the Lagrangian."""
    found = ch.dirac(ch.System("x y", lagrangian="2*sqrt(x'^2 + y'^2) + 5"))
    assert found.hamiltonian == -5
    px, py = found.momenta
    (primary,) = found.primary
    assert sympy.expand(primary / primary.coeff(px, 2) - (px**2 + py**2 - 4)) == 0


def test_the_hamiltonian_of_a_cubic_kinetic_energy():
    r"""$L = x'^3/3 - x$ gives $H^2$ rational in the momentum: $(H - x)^2 = 4p^3/9$, and the energy $2x'^3/3 + x$ takes one root."""
    with pytest.raises(ch.PrincipleError, match="no single formula"):
        ch.dirac(ch.System("x", lagrangian="x'^3/3 - x"))


def test_the_image_of_a_legendre_map_that_is_a_cubic():
    r"""$L = u^2 x' + u^3 y' - u^4$ at its extremum in u: the momenta are $(u^2, u^3)$, and the energy is $u^4 = p_x^2$."""
    found = ch.dirac(ch.System("x y", lagrangian="u^2*x' + u^3*y' - u^4", where={"u": "(3*y' + sqrt(9*y'^2 + 32*x'))/8"}))
    px, py = found.momenta
    assert sympy.expand(found.hamiltonian - px**2) == 0
    (primary,) = found.primary
    assert sympy.expand(primary / primary.coeff(px, 3) - (px**3 - py**2)) == 0


def bundle():
    return lagrangian_bundle(ch.System("x y", lagrangian="(1 + t)*x'^2/2 + 3*y'^2/2 + 2*y*x' - x^2*y"))


def test_the_reduced_problem_moves_as_hamiltons_equations_say():
    """(2.28) of 004: H = (p_x - 2y)^2/(2(1 + t)) + p_y^2/6 + x^2*y."""
    found = bundle()
    x, y = found.source.coordinates
    px, py = found.source.momenta
    field = found.reduced.field
    speed = (px - 2 * y) / (1 + TIME)
    wanted = {x: speed, y: py / 3, px: -2 * x * y, py: 2 * speed - x**2}
    for z, rate in wanted.items():
        assert sympy.simplify(field[z] - rate) == 0
    second = found.second_order.field
    accelerations = {x.d(): (-2 * y.d() - 2 * x * y - x.d()) / (1 + TIME), y.d(): (2 * x.d() - x**2) / 3}
    for z, rate in accelerations.items():
        assert sympy.simplify(second[z] - rate) == 0
