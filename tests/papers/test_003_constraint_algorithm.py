"""Differential systems in higher-order mechanics (Krupková), sections 5, 7 and 9: the constraint algorithm.

The expected constraints and vector fields are typed from the paper with the corrections: P~ = {q2 q3 = 0} (printed q2 q3' = 0), and the
distribution (9.6) is not completely integrable. The circuit of Vignolo and Bruno, section 4, example 3, runs through the same algorithm.
"""

from functools import cache

import pytest
import sympy
from leaf_soundness import faults, on_a_leaf, prolonged_points

import chetaev as ch

U1, U2 = sympy.symbols("u1 u2", real=True)


@cache
def tree(name, dynamics="proper"):
    return ch.constraint_algorithm(ch.gallery(name), dynamics)


def rates(leaf, **texts):
    """The expected rates as expressions, by jet."""
    free = {"u1": U1, "u2": U2, "u3": sympy.Symbol("u3", real=True)}
    return {name: free.get(text) if text in free else ch.parse(text, leaf.form) for name, text in texts.items()}


def leaf_with(found, *constraints):
    """The leaf whose constraints are these."""
    wanted = {ch.parse(text, found.form) for text in constraints}
    return next(leaf for leaf in found.leaves if set(leaf.constraints) == wanted)


@pytest.mark.parametrize("dynamics", ["proper", "extended"])
@pytest.mark.parametrize("name", ["krupkova", "cawley", "pais-uhlenbeck", "transformer", "cartesian-pendulum"])
def test_leaves_are_sound(name, dynamics):
    """At real points of every leaf, with random free functions, rows and derivatives of constraints vanish."""
    found = tree(name, dynamics)
    assert found.complete and found.leaves
    for leaf in found.leaves:
        count, worst, dimensions = faults(leaf)
        assert count == 3 and worst < 1e-12
        assert dimensions == {leaf.dimension}
        assert leaf.real == "yes"


@pytest.mark.parametrize(("name", "levels"), [("krupkova", 0), ("cawley", 3), ("transformer", 3), ("cartesian-pendulum", 4)])
def test_states_of_motions_lie_on_leaves(name, levels):
    """Points of the rows and their total derivatives, found numerically, lie on a leaf (9.1: q1^2 = 0 is singular, so no probe)."""
    form = tree(name).form
    states = prolonged_points(form, levels) if levels else []
    assert states or not levels
    assert all(on_a_leaf(tree(name), state) for state in states)


# ---- 9.1 ------------------------------------------------------------------------------------------------------------------------------


def test_9_1_a_extended_dynamics():
    """M = {q1 = q1' = 0}, rank 3, spanned by d/dt + f d/dq2 + g d/dq2'."""
    (leaf,) = tree("krupkova", "extended").leaves
    assert leaf == leaf_with(tree("krupkova", "extended"), "q1", "q1'")
    assert (leaf.rank, leaf.free_functions, leaf.dimension) == (3, 2, 3)
    assert dict(leaf.field) == rates(leaf, **{"q1": "0", "q2": "u1", "q1'": "0", "q2'": "u2"})
    assert leaf.class_ == "semiregular" and leaf.involutive


def test_9_1_b_proper_dynamics_is_eq_9_2():
    """(9.2): d/dt + q2' d/dq2 + g d/dq2' on M."""
    (leaf,) = tree("krupkova").leaves
    assert leaf == leaf_with(tree("krupkova"), "q1", "q1'")
    assert (leaf.rank, leaf.free_functions, leaf.dimension) == (2, 1, 3)
    assert dict(leaf.field) == rates(leaf, **{"q1'": "0", "q2'": "u1"})
    assert leaf.class_ == "weakly regular" and not leaf.involutive


def test_9_1_primary_constraints():
    """P = P~ = {q1 = 0}: the radical, although the row is q1^2/2."""
    (leaf,) = tree("krupkova").leaves
    q1 = ch.coordinates("q1")
    assert leaf.steps == ((q1,), (q1.d(),))
    found = ch.regularity(ch.gallery("krupkova"))
    assert [stratum.constraints for stratum in found.proper.strata] == [(q1,)]
    assert [stratum.constraints for stratum in found.extended.strata] == [(q1,)]


# ---- 9.2 ------------------------------------------------------------------------------------------------------------------------------


def test_9_2_primary_constraint_set_corrected():
    """rank F = rank (F|A) iff q2 q3 = 0; the printed q2 q3' = 0 fails at (q2, q3, q3') = (2, 3, 0) and at (2, 0, 5)."""
    lepage = ch.DynamicalForm.of(ch.gallery("cawley")).lepage
    names = {z.name: z for z in lepage.form.phase}

    def ranks(q2, q3, v3):
        point = {names["q2"]: q2, names["q3"]: q3, names["q3'"]: v3}
        return lepage.F.xreplace(point).rank(), lepage.F_and_A.xreplace(point).rank()

    assert ranks(2, 3, 0) == (4, 5)
    assert ranks(2, 0, 5) == (4, 4)


def test_eq_9_4_to_9_6_extended_dynamics():
    """{q2 = 0} with (9.5), involutive of rank 2; {q3 = q3' = 0} with (9.6), of rank 3, NOT involutive (printed: integrable)."""
    found = tree("cawley", "extended")
    assert len(found.leaves) == 2
    first, second = leaf_with(found, "q2"), leaf_with(found, "q3", "q3'")
    assert dict(first.field) == rates(first, **{"q1": "q1'", "q2": "0", "q3": "q3'", "q1'": "0", "q2'": "u1", "q3'": "0"})
    assert (first.rank, first.dimension, first.involutive) == (2, 6, True)
    assert dict(second.field) == rates(second, **{"q1": "q1'", "q2": "u1", "q3": "0", "q1'": "q2^2/2", "q2'": "u2", "q3'": "0"})
    assert (second.rank, second.dimension, second.involutive) == (3, 5, False)


def test_eq_9_7_to_9_9_proper_dynamics():
    """{q2 = q2' = 0} regular with (9.7); {q3 = q3' = 0} weakly regular with (9.8) and one free function."""
    found = tree("cawley")
    assert len(found.leaves) == 2
    first, second = leaf_with(found, "q2", "q2'"), leaf_with(found, "q3", "q3'")
    assert dict(first.field) == rates(first, **{"q1'": "0", "q2'": "0", "q3'": "0"})
    assert (first.rank, first.dimension, first.class_, first.involutive) == (1, 5, "regular", True)
    assert dict(second.field) == rates(second, **{"q1'": "q2^2/2", "q2'": "u1", "q3'": "0"})
    assert (second.rank, second.dimension, second.class_, second.involutive) == (2, 5, "weakly regular", False)


@pytest.mark.erratum("003", "section 7.1, step 3", r"$S_{(2)} = \bigcap_\iota S_{(2)\iota}$", r"$\bigcup_\iota S_{(2)\iota}$")
def test_9_2_states_belong_to_the_leaves_through_them():
    """Where both manifolds cross a state lies on both: the union of 7.1, not the intersection printed in step 3."""
    found = tree("cawley")
    first, second = leaf_with(found, "q2", "q2'"), leaf_with(found, "q3", "q3'")
    off = {"q1": 0.4, "q2": 0.0, "q3": 0.7, "q1'": 0.3, "q2'": 0.0, "q3'": -0.2}
    assert first.contains(off) and not second.contains(off)
    both = {**off, "q3": 0.0, "q3'": 0.0}
    assert first.contains(both) and second.contains(both)
    assert not first.contains({**off, "q2": 0.1})


def test_9_2_classes_of_the_whole_form():
    """The system carries primary constraints, so it is neither weakly regular nor semiregular."""
    found = ch.regularity(ch.gallery("cawley"))
    assert (found.regular, found.weakly_regular, found.semiregular, found.strongly_semiregular) == (False,) * 4


# ---- other systems of the text --------------------------------------------------------------------------------------------------------


def test_section_8_pais_uhlenbeck_is_regular():
    """A regular fourth-order system: no constraint, one field."""
    (leaf,) = tree("pais-uhlenbeck").leaves
    assert not leaf.constraints and not leaf.excluded
    assert (leaf.rank, leaf.dimension, leaf.class_) == (1, 5, "regular")
    assert sympy.expand(leaf.field["q'''"] - ch.parse("-(w1^2 + w2^2)*q'' - w1^2*w2^2*q", leaf.form)) == 0
    assert ch.regularity(ch.gallery("pais-uhlenbeck")).regular is True


def test_section_8_10_first_order_lagrangian_can_be_regular():
    """L = x y' - y x' - x^2 - x y: antisymmetric regular B on Y itself."""
    system = ch.System("x y", lagrangian="x*y' - y*x' - x^2 - x*y")
    (leaf,) = ch.constraint_algorithm(system).leaves
    assert not leaf.constraints
    assert dict(leaf.field) == rates(leaf, x="-x/2", y="x + y/2")
    assert ch.regularity(system).regular is True


@pytest.mark.erratum("003", "Theorem 5.5", r"$1 \le r \le m$", r"$1 \le r \le m + 1$")
def test_theorem_5_5_rank_may_be_m_plus_1():
    """Printed 1 <= r <= m: for q q'' = 0 at q = 0 the semisprays span rank 2 = m + 1."""
    strata = {stratum.rank: stratum.constraints for stratum in ch.regularity(ch.DynamicalForm("q", ["q*q''"])).proper.strata}
    assert strata == {1: (), 0: (ch.coordinates("q"),)}


def test_gauge_lagrangian_restricted_distribution_is_not_involutive():
    """L = (q1' - q2)^2/2: the distribution on {q1' = q2} has rank 3 and is not involutive, although the form is closed."""
    (leaf,) = ch.constraint_algorithm(ch.System("q1 q2", lagrangian="(q1' - q2)^2/2"), "extended").leaves
    assert (leaf.rank, leaf.dimension, leaf.involutive) == (3, 4, False)


# ---- the circuit of Vignolo and Bruno ---------------------------------------------------------------------------------------------------


def test_circuit_three_steps():
    """Three steps with 3, 1 and 1 new constraints; the first are Kirchhoff's laws and lambda1 = -2 I1."""
    (leaf,) = tree("transformer", "extended").leaves
    assert [len(step) for step in leaf.steps] == [3, 1, 1]
    assert (leaf.dimension, leaf.rank) == (6, 4)
    names = {z.name: z for z in leaf.form.phase}
    first = sympy.solve(leaf.steps[0], [names["I1'"], names["I2'"], names["lambda1"]], dict=True)[0]
    assert sympy.simplify(first[names["lambda1"]] + 2 * names["I1"]) == 0
    for text in ("epsilon - R1*I1 - L1*I1' - M*I2'", "R2*I2 + L2*I2' + M*I1'"):
        assert sympy.simplify(ch.parse(text, leaf.form).xreplace(first)) == 0


def test_circuit_motions():
    """The SODE submanifold: I1'' = alpha I1 and I2'' = alpha I2 with alpha = R1 R2^2/(R2 M^2 + R1 L2^2), and M R2 lambda2 = 2 R1 L2 I1."""
    (leaf,) = tree("transformer").leaves
    assert (leaf.dimension, leaf.rank, leaf.class_) == (3, 1, "regular")
    names = {z.name: z for z in leaf.form.phase}
    kept = [names["I1"], names["I2"]]
    others = [z for z in leaf.form.phase if z not in kept]
    solved = sympy.solve(leaf.constraints, others, dict=True)[0]
    alpha = ch.parse("R1*R2^2/(R2*M^2 + R1*L2^2)", leaf.form)
    for name in ("I1", "I2"):
        assert sympy.simplify(leaf.field[f"{name}'"].xreplace(solved) - alpha * names[name]) == 0
    assert sympy.simplify(solved[names["lambda2"]] - ch.parse("2*R1*L2*I1/(M*R2)", leaf.form)) == 0
    flow = {"I1'": "R2*(L2*R1*I1 - M*R2*I2)/(L2^2*R1 + M^2*R2)", "I2'": "-R2*(M*R1*I1 + L2*R1*I2)/(L2^2*R1 + M^2*R2)"}
    for name, text in flow.items():
        assert sympy.simplify(solved[names[name]] - ch.parse(text, leaf.form)) == 0


def test_circuit_assumptions():
    """L1 L2 != M^2 and M != 0 are needed, which the paper does not say."""
    for dynamics in ("proper", "extended"):
        listed = {sympy.factor(e) for e in tree("transformer", dynamics).assumptions}
        assert {ch.parse("M", tree("transformer").form), ch.parse("L1*L2 - M^2", tree("transformer").form)} <= listed


def test_vakonomic_disk():
    """Eight free values: four positions, two velocities and two multipliers, with time a leaf of dimension nine."""
    found = ch.constraint_algorithm(ch.derive(ch.gallery("disk").system, ch.Vakonomic()))
    (leaf,) = found.leaves
    assert found.complete
    assert (leaf.dimension, leaf.rank) == (9, 1)
    count, worst, dimensions = faults(leaf)
    assert count and worst < 1e-12 and dimensions == {9}
