"""004, section 3: the Hamiltonian of vakonomic systems on the reduced phase space, and footnote 3."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import chetaev as ch
from chetaev.core.zero import vanishes

TIMES = np.linspace(0.1, 2.1, 21)
A1, A2, B, D, BETA = 1.5, 0.7, 0.4, 2.0, 0.3


def close(a, b, tolerance=1e-10):
    assert np.abs(np.asarray(a) - b).max() < tolerance * max(1.0, np.abs(b).max())


PRINTED = "p_q1^2*exp({0}beta*t)/(2*A1) + p_q2*(D - B*(q1 + q2)) - exp(-({0}beta*t))*A2*(D - B*(q1 + q2))^2/2"


@pytest.mark.parametrize(("discount", "sign"), [(True, ""), (False, "-")])
def test_the_economic_model_has_the_printed_hamiltonian_for_the_discount_only(discount, sign):
    """The Hamiltonian after (4.4) belongs to the cost exp(-beta*t); for exp(+beta*t) as in (4.2) all exponents change their sign."""
    model = ch.gallery("two-firms", discount=discount)
    legendre = ch.hamiltonian(ch.derive(model))
    found = legendre.expressions["H"]
    assert vanishes(found - ch.parse(PRINTED.format(sign), legendre.target)) is True
    assert (vanishes(found - ch.parse(PRINTED.format(""), legendre.target)) is True) is discount


def test_canonical_equations_of_the_economic_model():
    """Hamilton's equations of the printed H written out by hand, and the multiplier from (3.22)."""
    model = ch.gallery("two-firms")
    legendre = ch.hamiltonian(ch.derive(model))
    start = legendre.forward(model.start, parameters=model.parameters, t=0.1)
    motion = ch.simulate(legendre.target, start, TIMES, tolerance=1e-12, parameters=model.parameters)

    def rhs(t, s):
        q1, q2, p1, p2 = s
        x = D - B * (q1 + q2)
        slope = B * p2 - B * np.exp(-BETA * t) * A2 * x
        return [p1 * np.exp(BETA * t) / A1, x, slope, slope]

    weight = np.exp(-BETA * 0.1)
    x0 = D - B * 1.3
    first = [0.5, 0.8, weight * A1 * 0.6, weight * A2 * x0 + 0.25]
    found = solve_ivp(rhs, (0.1, 2.1), first, "DOP853", TIMES, rtol=2e-13, atol=1e-14).y
    for name, column in zip("q1 q2 p_q1 p_q2".split(), found, strict=True):
        close(motion[name], column)
    x = D - B * (found[0] + found[1])
    close(legendre.backward(motion)["lambda1"], found[3] - np.exp(-BETA * TIMES) * A2 * x)
    assert legendre.target.counts == (4, 4)


def test_footnote_3_is_false_for_indefinite_lagrangians():
    """L = x'*y' with the row x' = 0: det(g a^-1 g^T) = 0 although L is quadratic and regular."""
    saddle = ch.System("x y", lagrangian="x'*y' - x^2/2", kinematic=["x' = 0"], name="saddle")
    with pytest.raises(ch.PrincipleError) as refused:
        ch.hamiltonian(ch.derive(saddle, ch.Vakonomic()))
    text = str(refused.value)
    assert "velocities and multipliers do not follow from the momenta" in text
    assert "det(g a^-1 g^T) = 0" in text
    assert "footnote 3 corrected" in text
    definite = ch.System("x y", lagrangian="x'*y' + x'^2 + y'^2 - x^2/2", kinematic=["x' = 0"], name="definite")
    assert "H" in ch.hamiltonian(ch.derive(definite, ch.Vakonomic())).expressions


def test_an_indefinite_lagrangian_with_another_row_is_regular():
    """The condition is about the row, not about L alone: x' + y' = 0 has det(g a^-1 g^T) = 2."""
    saddle = ch.System("x y", lagrangian="x'*y' - x^2/2", kinematic=["x' + y' = x"], name="saddle")
    equations = ch.derive(saddle, ch.Vakonomic())
    legendre = ch.hamiltonian(equations)
    motion = ch.simulate(equations, {"x": 0.4, "y": 0.1, "x'": 0.3, "lambda1": 0.2}, (0, 2), tolerance=1e-12)
    assert legendre.check(motion).largest < 1e-10


def test_the_free_system_and_the_reduced_one_are_the_same_motion():
    """(3.3) and (3.29)-(3.31): extended Lagrangian on (q, lambda) and Hamiltonian on (q, p)."""
    model = ch.gallery("disk-resistance")
    equations = ch.derive(model.under(ch.Vakonomic()) if model.principle != ch.Vakonomic() else model)
    motion = ch.simulate(equations, model.start, (0, 1), tolerance=1e-12, parameters=model.parameters, inputs=model.inputs)
    assert ch.vakonomic_as_free(equations).check(motion).largest < 1e-10
    assert ch.hamiltonian(equations).check(motion).largest < 1e-10
