"""The theorems on group coordinates: both sides of each are simulated, and the formulas are compared with matrices by hand."""

from functools import cache

import numpy as np
import pytest
from matrix_groups_by_hand import coadjoint, constants
from test_matrix_groups import SL2, SO4

import chetaev as ch

A0 = [[1.2, 0.4], [-0.3, 0.9]]
V = {"A1'": 0.3, "A2'": -0.5, "A3'": 0.8}
KINETIC = "(A1'^2 + 2*A2'^2 + 1.5*A3'^2)/2 + 0.2*A1'*A2'"
POTENTIAL = " - A12^2/2 - 0.3*A22*A11"
ROW = {"kinematic": ["x' = A1' + A21*A3' + 0.2"]}


def system(side="body", lagrangian=KINETIC + POTENTIAL, more=None, **parts):
    return ch.System({"A": f"SL2 {side}", **(more or {})}, lagrangian=lagrangian, **parts)


def with_line(side):
    return system(side, KINETIC + POTENTIAL + " + x'^2/2", {"x": "line"}, **ROW)


CASES = {
    "vakonomic as free": (lambda side: ch.vakonomic_as_free(with_line(side)), {"x": 0.1, "lambda1": 0.3}),
    "linear constraints": (lambda side: ch.linearize_constraints(ch.derive(with_line(side), ch.DAlembert())), {"x": 0.1}),
    "reduced velocities": (lambda side: ch.reduce_velocities(ch.derive(with_line(side), ch.DAlembert())), {"x": 0.1}),
    "Legendre, d'Alembert": (lambda side: ch.hamiltonian(ch.derive(with_line(side), ch.DAlembert())), {"x": 0.1}),
    "Legendre, vakonomic": (lambda side: ch.hamiltonian(ch.derive(with_line(side), ch.Vakonomic())), {"x": 0.1, "lambda1": 0.3}),
    "Legendre": (lambda side: ch.hamiltonian(system(side)), {}),
    "Legendre, order 2": (
        lambda side: ch.hamiltonian(system(side, KINETIC + POTENTIAL + " + (A1''^2 + 2*A2''^2 + A3''^2)/2")),
        {"A1''": 0.1, "A2''": 0.2, "A3''": -0.1, "A1'''": 0.1, "A2'''": 0.2, "A3'''": -0.1},
    ),
    "contact, nonholonomic": (
        lambda side: ch.contact_as_nonholonomic(system(side, KINETIC + POTENTIAL + " - 0.3*s - 0.1*s^2", action="s")),
        {"s": 0.2},
    ),
    "contact, vakonomic": (
        lambda side: ch.contact_as_vakonomic(system(side, KINETIC + POTENTIAL + " - 0.3*s - 0.1*s^2", action="s")),
        {"s": 0.2},
    ),
    "friction": (
        lambda side: ch.friction_as_constraint(system(side, dissipation="0.1*A1'^2 + 0.2*A2'^2 + 0.05*A3'^2*(1 + A11^2)")),
        {},
    ),
    "lift": (
        lambda side: ch.lift(
            ch.derive(system(side, kinematic=["A1'' = A21*A3' + A2'"], variational=["δA1 = A12*δA3"]), ch.VirtualWork()), 3
        ),
        {},
    ),
    "Routh": (
        lambda side: ch.routh(system(side, KINETIC + POTENTIAL + " + (1 + A11^2)*phi'^2/2 + phi'*A1'", {"phi": "angle"}), "phi"),
        {"phi": 0.1, "phi'": 0.4},
    ),
}


BODY_ONLY = ("Legendre, d'Alembert", "Legendre, vakonomic", "lift", "contact, nonholonomic")
"""Cases that take long; the side enters by the frame alone, and the others show it."""


@pytest.mark.parametrize(("name", "side"), [(n, s) for n in CASES for s in ("body", "spatial") if s == "body" or n not in BODY_ONLY])
def test_both_sides_of_a_theorem_have_the_same_motions(name, side):
    verb, more = CASES[name]
    morphism = verb(side)
    motion = ch.simulate(morphism.source, {"A": A0, **V, **more}, (0, 1.2), tolerance=1e-12)
    assert motion.outcome == "finished"
    agreement = morphism.check(motion)
    assert agreement.largest < 1e-9
    assert "A11" in agreement.forward and "A12" in agreement.forward


def test_lie_poisson_equations_by_hand():
    r"""p_a' = p([xi, E_a]) - X_a H with xi = dH/dp."""
    target = ch.hamiltonian(system("body", KINETIC + " - A12^2/2")).target
    c = constants(SL2)
    mass = np.array([[1, 0.2, 0], [0.2, 2, 0], [0, 0, 1.5]])
    p = np.array([0.7, -0.4, 0.9])
    xi = np.linalg.solve(mass, p)
    a = np.array(A0)
    force = np.array([-a[0, 1] * (a @ e)[0, 1] for e in SL2])
    found = ch.evaluate(target, {"A": A0, "p_A1": 0.7, "p_A2": -0.4, "p_A3": 0.9})
    assert np.allclose([found[f"p_A{k}'"] for k in (1, 2, 3)], coadjoint(c, xi, p) + force, rtol=0, atol=1e-13)
    assert np.allclose([found[f"A{k}'"] for k in (1, 2, 3)], xi, rtol=0, atol=1e-13)


class TestSymmetries:
    @pytest.mark.parametrize("side", ["body", "spatial"])
    def test_momentum_map_of_an_invariant_lagrangian(self, side):
        """J_b = p(A^-1 E_b A), for spatial velocities p(A E_b A^-1): constant, and equal to the formula."""
        equations = ch.derive(system(side, KINETIC))
        found = ch.symmetries(equations)
        assert len(found.conserved) == 4
        motion = ch.simulate(equations, {"A": A0, **V}, (0, 2), tolerance=1e-12)
        mass = np.array([[1, 0.2, 0], [0.2, 2, 0], [0, 0, 1.5]])
        xi = np.stack([motion[f"A{k}'"] for k in (1, 2, 3)], axis=-1)
        flat = np.array([e.ravel() for e in SL2])
        names = {str(s).split(":")[0]: s.momentum for s in found}
        for b, e in enumerate(SL2):
            a = motion.matrix("A")
            inverse = np.linalg.inv(a)
            eta = (inverse @ e @ a if side == "body" else a @ e @ inverse).reshape(len(a), 4) @ np.linalg.pinv(flat)
            by_hand = np.einsum("ta,ab,tb->t", xi, mass, eta)
            formula = motion[ch.show(names[f"E{b + 1}*A" if side == "body" else f"A*E{b + 1}"])]
            assert np.ptp(by_hand) < 1e-9
            assert np.abs(formula - np.linalg.det(A0) * by_hand).max() < 1e-9  # A^-1 is written without its constant determinant

    def test_a_potential_keeps_the_translations_that_it_does_not_see(self):
        found = ch.symmetries(system("body", KINETIC + " - A11^2"))
        assert [str(s).split(":")[0] for s in found] == ["-d/dt", "E3*A"]

    def test_lagrange_top_on_so3(self):
        top = ch.System({"A": "SO3 body"}, lagrangian="(A1'^2 + A2'^2 + 2*A3'^2)/2 - A33")
        assert [str(s).split(":")[0] for s in ch.symmetries(top)] == ["-d/dt", "d/dA3", "E3*A"]

    def test_the_covector_of_vakonomic_motion_is_conserved_for_every_start(self):
        equations = ch.derive(_constrained(), ch.Vakonomic())
        found = ch.symmetries(equations)
        assert len(found.conserved) == 7
        start = {"A": np.diag([1, 2, 1, 1.0]), "A2'": 0.2, "A3'": 0.3, "A4'": 0.1, "A5'": -0.3, "A6'": 0.5, "lambda1": 0.2}
        motion = ch.simulate(equations, start, (0, 2), tolerance=1e-12)
        for momentum in found.conserved:
            assert np.ptp(motion[ch.show(momentum)]) < 1e-10
        # by hand for a start in the group: p = I xi + lambda R, J = A p A^T as skew matrices
        inside = ch.simulate(equations, {**start, "A": np.eye(4)}, (0, 2), tolerance=1e-12)
        p = np.array([[k * inside[f"A{k}'"] for k in range(1, 7)]])[0] + np.outer([1, -1, -2, 0, 0, 0], inside["lambda1"])
        a = inside.matrix("A")
        dual = a @ np.einsum("at,aij->tij", p, np.array(SO4)) @ np.swapaxes(a, 1, 2)
        assert np.ptp(dual, axis=0).max() < 1e-10

    def test_nonholonomic_momentum_equation(self):
        """Along body directions of the constraint the momentum obeys p_a' = p([xi, E_a]), without the multiplier."""
        equations = ch.derive(_constrained(), ch.DAlembert())
        found = ch.symmetries(equations)
        start = {"A": np.eye(4), "A2'": 0.2, "A3'": 0.3, "A4'": 0.1, "A5'": -0.3, "A6'": 0.5}
        now = ch.evaluate(equations, start)
        xi = np.array([now[f"A{k}'"] for k in range(1, 7)])
        by_hand = coadjoint(constants(SO4), xi, np.arange(1, 7) * xi)
        rates = {str(s).split(":")[0]: s for s in found.horizontal}
        assert len(rates) == 5
        wanted = {"d/dA1 + d/dA2": [1, 1, 0, 0, 0, 0], "2*d/dA1 + d/dA3": [2, 0, 1, 0, 0, 0], "d/dA5": [0, 0, 0, 0, 1, 0]}
        motion = ch.simulate(equations, start, (0, 0.1))
        for name, direction in wanted.items():
            assert abs(motion[ch.show(rates[name].rate)][0] - np.dot(direction, by_hand)) < 1e-12

    def test_starts_for_which_translations_hold(self):
        """A^-1 E A leaves su(2) if A is not unitary, and h3 if A is not unipotent; so(4), sl(2) and sl(3) have room for every A."""
        free = {"SO4": 6, "SL2": 3, "SL3": 8, "SU2": 3, "H3": 3}
        limited = set()
        for word, d in free.items():
            kinetic = " + ".join(f"{k}*A{k}'^2" for k in range(1, d + 1))
            if ch.symmetries(ch.System({"A": f"{word} body"}, lagrangian=kinetic)).notes:
                limited.add(word)
        assert limited == {"SU2", "H3"}

    def test_order_two_and_contact(self):
        cubic = ch.System({"A": "H3 body"}, lagrangian="(A1'^2 + 2*A2'^2 + 3*A3'^2 + A1''^2 + A2''^2 + A3''^2)/2")
        equations = ch.derive(cubic)
        rest = {"A1''": 0.1, "A2''": 0.2, "A3''": 0.1, "A1'''": 0.1, "A2'''": 0.2, "A3'''": 0.1}
        motion = ch.simulate(equations, {"A": [[1, 0.2, 0.3], [0, 1, 0.4], [0, 0, 1]], **V, **rest}, (0, 2), tolerance=1e-12)
        momenta = ch.symmetries(equations).conserved
        assert len(momenta) == 5  # the energy, the centre from either side, and two more translations
        assert max(np.ptp(motion[ch.show(e)]) for e in momenta) < 1e-10
        damped = ch.symmetries(ch.derive(system("body", KINETIC + " - 0.3*s", action="s"), ch.Herglotz()))
        assert len(damped.dissipated) == 4


@cache
def _constrained():
    lagrangian = "(A1'^2 + 2*A2'^2 + 3*A3'^2 + 4*A4'^2 + 5*A5'^2 + 6*A6'^2)/2"
    return ch.System({"A": "SO4 body"}, lagrangian=lagrangian, kinematic=["A1' = A2' + 2*A3'"])


class TestRouth:
    def test_a_central_component_leaves_a_force(self):
        heisenberg = ch.System({"A": "H3 body"}, lagrangian="(A1'^2 + 2*A2'^2 + 3*A3'^2)/2 + 0.2*A1'*A3' - A12^2/2")
        morphism = ch.routh(heisenberg, "A3")
        start = {"A": [[1, 0.2, 0.3], [0, 1, 0.4], [0, 0, 1]], **V}
        assert morphism.check(ch.simulate(morphism.source, start, (0, 2), tolerance=1e-12)).largest < 1e-9

    def test_other_components_have_no_constant_momentum(self):
        with pytest.raises(ch.PrincipleError, match="does not commute"):
            ch.routh(ch.System({"A": "H3 body"}, lagrangian="A1'^2 + A2'^2 + A3'^2"), "A1")


class TestDirac:
    def test_brackets_of_the_frame(self):
        """{p_a, p_b} = -c p, {z, p_a} = X_a z; on the spatial side the first has the other sign."""
        for side, sign in (("body", -1), ("spatial", 1)):
            found = ch.dirac(system(side, KINETIC + POTENTIAL))
            p = ch.parse("p_A2", coordinates="p_A2")
            assert found.poisson("p_A1", "p_A2") == sign * 2 * p
            assert ch.show(found.poisson("A12", "p_A2")) == ("A11" if side == "body" else "A22")
            assert found.dimension == 6 and not found.constraints

    def test_constraints_of_a_singular_lagrangian_by_hand(self):
        """L = (A2'^2 + A3'^2)/2 - A12: p_A1 = 0, then {p_A1, H} = A12 - 2 p2^2 + 2 p3^2."""
        found = ch.dirac(system("body", "(A2'^2 + A3'^2)/2 - A12"))
        assert [ch.show(e) for e in found.constraints] == ["p_A1", "p_A2^2 - A12/2 - p_A3^2"]
        assert len(found.second_class) == 2 and found.dimension == 4
        p2, p3, a11 = 0.8, 0.3, 1.1
        value = found.multipliers[next(iter(found.multipliers))]
        names = {z.name: z for z in value.free_symbols}
        number = float(value.subs({names["p_A2"]: p2, names["p_A3"]: p3, names["A11"]: a11}))
        assert number == pytest.approx(_by_hand_multiplier(p2, p3, a11, 2 * (p2**2 - p3**2)), rel=1e-12)

    def test_gauge_and_conditions_on_the_start(self):
        free = ch.dirac(ch.System({"A": "H3 body"}, lagrangian="(A1'^2 + A2'^2)/2 - A12^2/2"))
        assert free.free_functions == 1 and (free.dimension, free.physical_dimension) == (5, 4)
        with pytest.raises(ch.PrincipleError, match="A11 = 0 is a condition on the start"):
            ch.dirac(ch.System({"A": "H3 body"}, lagrangian="(A1'^2 + A2'^2)/2 - A13"))
        with pytest.raises(ch.PrincipleError, match="quadratic relations"):
            ch.dirac(ch.System({"A": "SO3 body"}, lagrangian="(A1'^2 + A2'^2)/2 - A33"))


def _by_hand_multiplier(p2, p3, a11, a12):
    """u in d/dt(p2^2 - A12/2 - p3^2) = 0 along p' = p([xi, E]) - X V with xi = (u, p2, p3) and p1 = 0, linear in u."""
    c = constants(SL2)
    a = np.array([[a11, a12], [0.0, 1 / a11]])

    def rate(u):
        xi, p = np.array([u, p2, p3]), np.array([0.0, p2, p3])
        dp = coadjoint(c, xi, p) - np.array([(a @ e)[0, 1] for e in SL2])
        da = a @ np.einsum("k,kij->ij", xi, np.array(SL2))
        return 2 * p2 * dp[1] - da[0, 1] / 2 - 2 * p3 * dp[2]

    return -rate(0.0) / (rate(1.0) - rate(0.0))


def test_a_dynamical_form_of_a_group_is_written_in_coordinates():
    form = ch.DynamicalForm.of(ch.System({"A": "H3 body"}, lagrangian="(A1'^2 + A2'^2 + A3'^2)/2 - A12^2/2"))
    assert [q.base for q in form.coordinates] == ["A_1", "A_2", "A_3"]
    # by hand, with xi = (y1', y2', y3' + y2 y1') and A12 = y1
    assert ch.show(form.rows[2]) == "-A_1'*A_2' - A_1''*A_2 - A_3''"
    assert ch.helmholtz(form).variational is True
