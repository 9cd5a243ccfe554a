"""Groups of matrices by a basis and Lie algebras by brackets: what is read, refused, named, stored, and kept by a motion."""

import pickle
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
import sympy
from scipy.linalg import expm

import chetaev as ch
from chetaev.io.reading import loads
from chetaev.io.writing import dumps
from chetaev.mechanics.group_charts.chart import in_coordinates
from chetaev.mechanics.group_charts.product import exponential
from chetaev.numerics.graphs.group_equations import equations_of

H, X, Y = [[1, 0], [0, -1]], [[0, 1], [0, 0]], [[0, 0], [1, 0]]


@cache
def sl2():
    return ch.groups.matrix_group([H, X, Y])


def hand_commutator(a, b):
    return np.asarray(a) @ np.asarray(b) - np.asarray(b) @ np.asarray(a)


class TestBasis:
    def test_structure_constants_keep_their_denominators(self):
        third = ch.groups.matrix_group([[["96/7", 0], [0, 0]], X])
        assert third.brackets[0, 1] == {1: sympy.Rational(96, 7)}
        system = ch.System({"A": "G body"}, groups={"G": third}, lagrangian="(A1'^2 + A2'^2)/2")
        assert ch.show(ch.derive(system).rows[0].residual) == "A1'' + 96*A2'^2/7"

    def test_numbers_texts_arrays_and_sympy_matrices_mean_the_same(self):
        forms = [
            [np.array(H) / 2, np.array(X), np.array(Y)],
            np.array([np.array(H) / 2, X, Y]),
            [[["1/2", 0], [0, "-1/2"]], [["0", "1"], ["0", "0"]], Y],
            [sympy.Matrix(H) / 2, sympy.Matrix(X), sympy.Matrix(Y)],
            [[[Fraction(1, 2), 0], [0, -0.5]], X, Y],
        ]
        groups = [ch.groups.matrix_group(form) for form in forms]
        assert len(set(groups)) == 1 and groups[0].brackets[0, 1] == {1: 1}

    def test_irrational_and_complex_numbers(self):
        root = ch.groups.matrix_group([[["sqrt(2)", 0], [0, "-sqrt(2)"]], X, Y])
        assert root.brackets[0, 1] == {1: 2 * sympy.sqrt(2)} and root.brackets[1, 2] == {0: sympy.sqrt(2) / 2}
        pauli = [np.array([[0, 1], [1, 0]]), np.array([[0, -1j], [1j, 0]]), np.array([[1, 0], [0, -1]])]
        su2 = ch.groups.matrix_group([-0.5j * s for s in pauli])
        texts = ch.groups.matrix_group([[[0, "-i/2"], ["-i/2", 0]], [[0, "-1/2"], ["1/2", 0]], [["-i/2", 0], [0, "i/2"]]])
        assert su2 == texts == ch.groups.ready_made("SU2")
        assert su2.complex and su2.size == 4 and su2.brackets == {(0, 1): {2: 1}, (0, 2): {1: -1}, (1, 2): {0: 1}}
        for e, s in zip(su2.matrices, pauli, strict=True):
            z = -0.5j * s
            assert np.array_equal(np.array(e, dtype=float), np.block([[z.real, -z.imag], [z.imag, z.real]]))

    @pytest.mark.parametrize(
        ("basis", "words"),
        [
            ([X, Y], ["[E1, E2] is not a combination", "add [E1, E2]"]),
            ([H, X, [[2, 1], [0, -2]]], ["matrix 3 of the basis is a combination of those before it"]),
            ([[[1, 0], [0, -1.6667]], [["-5/3", 1], [0, "25/9"]]], ["[E1, E2]", "only up to", '"-5/3"']),
            ([H, [[1, 2, 3], [4, 5, 6], [7, 8, 9]]], ["different sizes"]),
            ([[[1, 2], [3]]], ["not a square matrix"]),
            ([], ["not a list of matrices"]),
            ("H X Y", ["not a list of matrices"]),
            ([[["x", 0], [0, 0]]], ["unknown name"]),
            ([[[True, 0], [0, 0]]], ["True is not a number"]),
            ([[[float("nan"), 0], [0, 0]]], ["not finite"]),
            ([[["__import__('os')", 0], [0, 0]]], ["entry 1 1"]),
        ],
    )
    def test_refusals(self, basis, words):
        with pytest.raises(ch.ChetaevError) as fault:
            ch.groups.matrix_group(basis)
        assert all(word in str(fault.value) for word in words), str(fault.value)

    @pytest.mark.parametrize("word", ["SO4", "SO5", "SL2", "SL3", "SU2", "SU3", "GL2", "H3", "H5", "Aff1", "Aff2"])
    def test_ready_made_groups_have_the_brackets_of_their_matrices_and_equations_of_their_elements(self, word):
        group = ch.groups.ready_made(word)
        basis = [np.array(e, dtype=float) for e in group.matrices]
        for (a, b), parts in group.brackets.items():
            assert np.allclose(hand_commutator(basis[a], basis[b]), sum((float(v) * basis[c] for c, v in parts.items()), 0 * basis[0]))
        equations = equations_of(group)
        assert equations.complete
        rng = np.random.default_rng(3)
        h = expm(np.einsum("k,kij->ij", rng.normal(size=len(basis)) / 2, np.array(basis)))
        h = h @ expm(np.einsum("k,kij->ij", rng.normal(size=len(basis)) / 2, np.array(basis)))
        assert np.abs(equations.residuals(h)).max(initial=0) < 1e-13 * max(1, np.abs(h).max() ** 2)
        flat = np.array([np.array(e, dtype=float).ravel() for e in group.envelope])
        noise = (rng.normal(size=len(flat)) @ flat).reshape(h.shape) * 1e-5
        back = equations.nearest(h + noise)
        assert np.abs(equations.residuals(back)).max(initial=0) < 1e-13 * max(1, np.abs(h).max() ** 2)
        assert np.abs(back - h).max() < 1e-3

    def test_rigid_motions_and_the_lorentz_group_as_matrix_groups(self):
        cell = np.eye(4)
        unit = lambda i, j: np.outer(cell[i], cell[j])  # noqa: E731
        turns = [unit(2, 1) - unit(1, 2), unit(0, 2) - unit(2, 0), unit(1, 0) - unit(0, 1)]
        se3 = ch.groups.matrix_group([*[unit(k, 3) for k in range(3)], *turns])
        lorentz = ch.groups.matrix_group([*[unit(k, 3) + unit(3, k) for k in range(3)], *turns])
        symplectic = [unit(0, 2), unit(1, 3), unit(2, 0), unit(3, 1), unit(0, 0) - unit(2, 2), unit(1, 1) - unit(3, 3)]
        symplectic += [unit(0, 3) + unit(1, 2), unit(2, 1) + unit(3, 0), unit(0, 1) - unit(3, 2), unit(1, 0) - unit(2, 3)]
        assert all(equations_of(g).complete for g in (se3, lorentz, ch.groups.matrix_group(symplectic)))


class TestBrackets:
    def test_a_lie_algebra_has_velocities_and_no_place(self):
        h3 = ch.groups.lie_algebra({(1, 2): {3: 1}}, dimension=3)
        equations = ch.derive(ch.System({"w": "h3"}, groups={"h3": h3}, lagrangian="(w1'^2 + 2*w2'^2 + 3*w3'^2)/2"))
        assert [ch.show(row.residual) for row in equations.rows] == ["w1'' + 3*w2'*w3'", "2*w2'' - 3*w1'*w3'", "3*w3''"]
        assert ch.analyze(equations).dimension == 3
        with pytest.raises(ch.InitialError, match="has no position"):
            ch.simulate(equations, {"w": np.eye(3), "w1'": 1, "w2'": 0, "w3'": 0}, (0, 1))

    def test_order_of_a_pair_is_a_sign(self):
        assert (
            ch.groups.lie_algebra({(2, 1): {3: -1}})
            == ch.groups.lie_algebra({(1, 2): {3: "1"}})
            == ch.groups.lie_algebra({"1,2": {"3": 1}})
        )

    @pytest.mark.parametrize(
        ("brackets", "dimension", "word"),
        [
            ({(1, 2): {3: 1}, (2, 3): {1: 1}, (1, 3): {1: 1}}, 3, "Jacobi's identity fails"),
            ({(1, 2): {2: 1}, (1, 3): {3: -1.6667}, (2, 3): {4: 1}, (1, 4): {4: "-2/3"}}, 4, "Jacobi's identity fails for e1, e2, e3"),
            ({(1, 1): {2: 1}}, 2, "antisymmetric"),
            ({(1, 2): {3: 1}, (2, 1): {3: 1}}, 3, "contradict"),
            ({(1, 2): {3: 1}}, 2, "dimension=2"),
            ({(0, 2): {3: 1}}, 3, "counted from 1"),
            ({1: {3: 1}}, 3, "not a pair"),
            ({(1, 2): 3}, 3, "not a mapping of pairs"),
            ({(1, 2): {3: "i"}}, 3, "not real"),
        ],
    )
    def test_refusals(self, brackets, dimension, word):
        with pytest.raises(ch.ModelError, match=word):
            ch.groups.lie_algebra(brackets, dimension)


class TestNames:
    def test_from_the_tenth_component_on_names_have_an_underscore(self):
        system = ch.System({"A": "SO5 body"}, lagrangian="(" + " + ".join([*[f"A{k}'^2" for k in range(1, 10)], "A_10'^2"]) + ")/2")
        assert [q.base for q in system.coordinates][-2:] == ["A9", "A_10"]
        assert ch.parse("A55", system).name == "A55"
        n = 11
        basis = [[[int((i, j) == (0, k)) for j in range(n)] for i in range(n)] for k in range(1, n)]
        large = ch.System({"B": "G spatial"}, groups={"G": ch.groups.matrix_group(basis)}, lagrangian="B_10'^2/2 - B_1_11 + B19")
        assert ch.parse("B_1_11'", large) != 0 and "B_1_11" in large.vocabulary.entries and "B111" not in large.vocabulary.entries

    def test_own_groups_shadow_ready_made_ones(self):
        plane = ch.groups.matrix_group([[[1, 0], [0, 0]], [[0, 0], [0, 1]]])
        system = ch.System({"A": "SL2 body"}, groups={"SL2": plane}, lagrangian="(A1'^2 + A2'^2)/2")
        assert len(system.coordinates) == 2
        ready = ch.System({"A": "SL2 body"}, lagrangian="(A1'^2 + A2'^2 + A3'^2)/2")
        assert ch.parse("A11", system) != ch.parse("A11", ready)  # other functions on other groups

    def test_kinds_and_groups_that_do_not_fit(self):
        with pytest.raises(ch.ModelError, match="which velocity"):
            ch.System({"A": "G"}, groups={"G": sl2()}, lagrangian="A1'^2")
        with pytest.raises(ch.ModelError, match="not a kind of coordinate"):
            ch.System({"A": "F body"}, groups={"G": sl2()}, lagrangian="A1'^2")
        with pytest.raises(ch.ModelError, match="not a group"):
            ch.System({"A": "G body"}, groups={"G": [H, X, Y]}, lagrangian="A1'^2")
        with pytest.raises(ch.ModelError, match="cannot be the word of a group"):
            ch.System({"A": "line"}, groups={"line": sl2()}, lagrangian="A'^2")

    def test_the_product_of_two_coordinates_in_own_groups_pickles_and_compares(self):
        system = ch.System({"A": "G body", "B": "G spatial"}, groups={"G": sl2()}, lagrangian="A1'^2 + B1'^2 - A11*B22")
        again = pickle.loads(pickle.dumps(system))  # noqa: S301 - the test's own bytes
        assert again == system and hash(again) == hash(system) and again.own_groups["G"] == sl2()


FILE = """
name = "file"
lagrangian = "(A1'^2 + 2*A2'^2 - A3'^2)/2 + (w1'^2 + w2'^2)/2"

[coordinates]
A = "SL2 body"
w = "solvable"

[groups.SL2]
basis = [[[1, 0], [0, -1]], [[0, "1"], [0, 0]], [[0, 0], ["1/1", 0.0]]]

[groups.solvable]
brackets = {"1,2" = {2 = "96/7"}}
dimension = 2

[principle]
name = "hamilton"

[initial]
fixed = ["A = [[1, 0], [0, 1]]", "A1' = 0.1", "A2' = 0.2", "A3' = 0.3", "w1' = 0.1", "w2' = 0.2"]
"""


class TestFiles:
    def test_groups_in_a_model_file(self):
        model = loads(FILE)
        assert model.system.own_groups["SL2"] == sl2()
        assert model.system.own_groups["solvable"] == ch.groups.lie_algebra({(1, 2): {2: "96/7"}})
        again = loads(dumps(model))
        assert again.system == model.system and again == model

    @pytest.mark.parametrize(
        ("old", "new", "words"),
        [
            ("[[[1, 0], [0, -1]]", "[[[1, 0], [0, 1]]", ["groups.SL2", "not a combination"]),
            ("dimension = 2", "dimensions = 2", ["dimensions is not a key"]),
            ('"96/7"}}', '"96/7"}, "1,3" = {1 = 1}}', ["groups.solvable", "dimension=2"]),
            ("dimension = 2", "dimension = 2\nbasis = [[[1]]]", ["groups.solvable", "not a group"]),
            ("basis = [[[1, 0], [0, -1]]", "basis = [[1, 0]", ["a list of matrices is expected"]),
        ],
    )
    def test_faults_have_their_place(self, old, new, words):
        with pytest.raises(ch.ModelError) as fault:
            loads(FILE.replace(old, new))
        assert all(word in str(fault.value) for word in words), str(fault.value)

    def test_own_complex_groups_are_stored_by_texts(self):
        basis = [[["i*sqrt(2)", 0], [0, "-i*sqrt(2)"]], [[0, 1], [-1, 0]], [[0, 1j], [1j, 0]]]
        system = ch.System({"U": "S body"}, groups={"S": ch.groups.matrix_group(basis)}, lagrangian="U1'^2 + U2'^2 + U3'^2 - U13")
        model = ch.Model(system, ch.Hamilton(), start={"U": np.eye(2), "U1'": 0.1, "U2'": 0.2, "U3'": 0.3}, t=(0, 1))
        assert loads(dumps(model)).system == system
        assert ch.parse("U13", system) == -ch.parse("U31", system) and ch.parse("U33", system) == ch.parse("U11", system)

    def test_a_complex_start_is_stored_as_its_real_block(self):
        system = ch.System({"U": "SU2 body"}, lagrangian="(U1'^2 + 2*U2'^2 + 3*U3'^2)/2", name="spin")
        u = expm(-0.5j * np.array([[0.3, 0.1 - 0.2j], [0.1 + 0.2j, -0.3]]))
        start = {"U": u, "U1'": 0.1, "U2'": 0.2, "U3'": 0.3}
        model = ch.Model(system, ch.Hamilton(), start=start, t=(0, 1))
        again = loads(dumps(model))
        one, other = ch.simulate(model), ch.simulate(again)
        assert np.abs(one.matrix("U")[0] - u).max() < 1e-15
        assert np.array_equal(one.matrix("U"), other.matrix("U"))


@cache
def moving():
    system = ch.System(
        {"A": "G body", "x": "line"},
        "m",
        groups={"G": sl2()},
        lagrangian="(A1'^2 + 2*A2'^2 + A3'^2)/2 + m*x'^2/2 - x^2/2",
        kinematic=["x' = A1' + 2*A3'"],
        name="on SL2",
    )
    equations = ch.derive(system, ch.DAlembert())
    start = {"A": [[2, 0], [1, 1]], "A1'": 0.3, "A2'": -0.5, "A3'": 0.8, "x": 0.2}
    return equations, start, ch.simulate(equations, start, (0, 3), parameters={"m": 1.5}, tolerance=1e-12)


class TestMotions:
    def test_stored_and_loaded(self, tmp_path):
        _, _, motion = moving()
        again = ch.load(motion.save(tmp_path / "motion.npz"))
        assert np.array_equal(again.matrix("A"), motion.matrix("A")) and again.equations == motion.equations
        assert pickle.loads(pickle.dumps(motion)).final["A1'"] == motion.final["A1'"]  # noqa: S301 - the test's own bytes

    def test_verified_and_continued(self):
        equations, start, motion = moving()
        assert motion.verify().worst < 1e-6
        middle = ch.simulate(equations, start, (0, 1.2), parameters={"m": 1.5}, tolerance=1e-12)
        rest = ch.simulate(equations, middle.final, (1.2, 3), parameters={"m": 1.5}, tolerance=1e-12)
        assert np.abs(rest.matrix("A")[-1] - motion.matrix("A")[-1]).max() < 1e-10
        assert np.ptp(np.linalg.det(np.concatenate([middle.matrix("A"), rest.matrix("A")]))) < 1e-13

    def test_ensembles_take_a_matrix_for_all_or_for_each(self):
        equations, start, motion = moving()
        several = {**start, "A": np.array([[[2, 0], [1, 1]], [[1, 0], [0, 1]]]), "x": np.array([0.2, 0.2])}
        ends = ch.simulate_many(equations, several, (0, 3), parameters={"m": 1.5}, tolerance=1e-12)
        assert np.abs(ends.matrix("A")[0] - motion.matrix("A")[-1]).max() < 1e-9
        assert np.abs(np.linalg.det(ends.matrix("A")) - [2, 1]).max() < 1e-13

    def test_reduced_and_reconstructed(self):
        equations, start, motion = moving()
        reduction = ch.groups.reduce(equations, group="A")
        small = {name: v for name, v in start.items() if name != "A"}
        reduced = ch.simulate(reduction.target, small, (0, 3), parameters={"m": 1.5}, tolerance=1e-12)
        whole = reduction.reconstruct(reduced, {"A": start["A"]})
        assert np.abs(whole.matrix("A")[-1] - motion.matrix("A")[-1]).max() < 1e-9
        assert ch.analyze(reduction.target).dimension == ch.analyze(equations).dimension - 3

    def test_what_only_the_coset_knows_is_not_reduced(self):
        system = ch.System({"A": "SL2 body"}, lagrangian="(A1'^2 + A2'^2 + A3'^2)/2*(A11*A22 - A12*A21)")
        with pytest.raises(ch.ModelError, match="left translations leave unchanged"):
            ch.groups.reduce(system, group="A")
        with pytest.raises(ch.ModelError, match="not invariant under left translations"):
            ch.groups.reduce(system.replace(lagrangian="A1'^2 + A2'^2 + A3'^2 + A11"), group="A")

    def test_linearized_at_a_steady_motion(self):
        """Rotation of SU2 about its middle axis is unstable, with the rate of the rigid body."""
        system = ch.System({"U": "SU2 body"}, lagrangian="(U1'^2 + 2*U2'^2 + 3*U3'^2)/2")
        found = ch.linearize(ch.derive(system), {"U": np.eye(2), "U1'": 0, "U2'": 0.7, "U3'": 0})
        rate = 0.7 * np.sqrt((3 - 2) * (2 - 1) / (1 * 3))
        assert abs(max(z.real for z in found.eigenvalues) - rate) < 1e-9

    def test_velocities_of_the_other_side(self):
        _, _, motion = moving()
        a = motion.matrix("A")
        inner = np.einsum("ta,aij->tij", motion.velocity("A", "body"), np.array([H, X, Y], dtype=float))
        outer = np.einsum("ta,aij->tij", motion.velocity("A", "spatial"), np.array([H, X, Y], dtype=float))
        assert np.abs(a @ inner - outer @ a).max() < 1e-12
        system = ch.System({"A": "H3 body"}, lagrangian="A1'^2 + A2'^2 + A3'^2")
        odd = ch.simulate(ch.derive(system), {"A": [[0, 0, 1], [0, 1, 0], [1, 0, 0]], "A1'": 1, "A2'": 1, "A3'": 0}, (0, 1))
        with pytest.raises(ch.UsageError, match="not a combination of the basis of H3"):
            odd.velocity("A", "spatial")

    def test_starts_that_are_no_matrices(self):
        equations, start, _ = moving()
        for given, word in (([[1, 1], [1, 1]], "singular"), (np.eye(3), "not given as a matrix"), ([1, 0, 0, 1], "not given as a matrix")):
            with pytest.raises(ch.InitialError, match=word):
                ch.evaluate(equations, {**start, "A": given}, parameters={"m": 1})
        with pytest.raises(ch.InitialError, match="not given as a matrix"):
            ch.evaluate(equations, {**start, "A": 1j * np.eye(2)}, parameters={"m": 1})

    def test_a_holonomic_row_on_entries_is_kept_on_the_group(self):
        """A12 = A21 on SL2: positive symmetric matrices where the projection moves along the group, not across it."""
        system = ch.System({"A": "SL2 body"}, lagrangian="(A1'^2 + 2*A2'^2 + A3'^2)/2 - A11", kinematic=["A12 = A21"])
        motion = ch.simulate(ch.derive(system, ch.DAlembert()), {"A": [[1.25, 0.5], [0.5, 1]], "A1'": 0.3, "A2'": 0.4}, (0, 5))
        a = motion.matrix("A")
        assert np.abs(a[:, 0, 1] - a[:, 1, 0]).max() < 1e-12 and np.abs(np.linalg.det(a) - 1).max() < 1e-12

    def test_equilibria_lie_in_the_coset_of_the_guess(self):
        """The least sum of squares of a matrix with determinant 1.04: a multiple of a rotation."""
        system = ch.System({"A": "SL2 body"}, lagrangian="(A1'^2 + 2*A2'^2 + A3'^2 - A11^2 - A12^2 - A21^2 - A22^2)/2")
        (found,) = ch.equilibria(ch.derive(system), [{"A": [[1.05, 0.1], [0.1, 1.0]]}])
        a = np.array([[found[f"A.e{i}{j}"] for j in (1, 2)] for i in (1, 2)])
        assert abs(np.linalg.det(a) - 1.04) < 1e-13 and np.abs(a @ a.T - 1.04 * np.eye(2)).max() < 1e-10

    def test_a_guess_of_a_matrix_is_refused(self):
        system = ch.System({"A": "SL2 body"}, lagrangian="A1'^2 + A2'^2 + A3'^2", kinematic=["A12 = A21"])
        with pytest.raises(ch.InitialError, match="stays in the coset of its start"):
            ch.simulate(ch.derive(system, ch.DAlembert()), ch.State({"A1'": 1, "A2'": 0}, {"A": np.eye(2)}), (0, 1))


class TestCharts:
    def test_exponentials_in_closed_form(self):
        y = sympy.Symbol("y", real=True)
        for rows in (
            [[0, 1, 2], [0, 0, 3], [0, 0, 0]],
            [[0, -2], [2, 0]],
            [[1, -1], [1, 1]],
            [[2, 1], [0, 2]],
            [[0, 1], [1, 0]],
            [[0, 2], [1, 0]],
        ):
            found = exponential(sympy.ImmutableMatrix(rows), y)
            assert np.allclose(np.array(found.subs(y, 0.3), dtype=float), expm(0.3 * np.array(rows, dtype=float)))
        assert exponential(sympy.ImmutableMatrix([[0, 0, 1], [1, 0, 1], [0, 1, 0]]), y) is None  # z^3 - z - 1

    @pytest.mark.parametrize("side", ["body", "spatial"])
    def test_a_motion_in_coordinates_of_the_second_kind(self, side):
        text = "(A1'^2 + 2*A2'^2 + A3'^2)/2 - A12^2/2 - A21"
        system = ch.System({"A": f"SL2 {side}"}, lagrangian=text)
        flat = in_coordinates(system)
        v = {"1": 0.3, "2": -0.4, "3": 0.2}
        one = ch.simulate(ch.derive(system), {"A": np.eye(2)} | {f"A{k}'": x for k, x in v.items()}, (0, 0.7), tolerance=1e-12)
        rest = {f"A_{k}": 0 for k in v} | {f"A_{k}'": x for k, x in v.items()}
        other = ch.simulate(ch.derive(flat), rest, (0, 0.7), tolerance=1e-12)
        y = [other.final[f"A_{k}"] for k in v]
        product = expm(y[0] * np.array(H)) @ expm(y[1] * np.array(X)) @ expm(y[2] * np.array(Y))
        assert np.abs(product - one.matrix("A")[-1]).max() < 1e-10

    def test_integrability_on_the_heisenberg_group(self):
        rows = {"A3' = 0": False, "A2' = 0": True}
        for row, expected in rows.items():
            system = ch.System({"A": "H3 body"}, lagrangian="A1'^2 + A2'^2 + A3'^2", kinematic=[row])
            assert ch.classify(system).integrable is expected
            h3 = ch.groups.lie_algebra({(1, 2): {3: 1}})
            reduced = ch.System({"A": "h3"}, groups={"h3": h3}, lagrangian="A1'^2 + A2'^2 + A3'^2", kinematic=[row])
            assert ch.classify(reduced).integrable is expected
