"""Verdicts, hidden constraints, free data, singular loci."""

import math

import pytest

import chetaev as ch


def analyzed(*args, principle=None, **parts):
    system = ch.System(*args, **parts)
    return ch.analyze(ch.derive(system, principle))


@pytest.mark.parametrize("name", [n for n in ch.gallery() if n not in ("krupkova", "cawley", "transformer", "action-constraint")])
def test_the_regular_systems_of_the_gallery(name):
    assert ch.analyze(ch.gallery(name)).verdict == "REGULAR"


def test_rocards_tyre():
    found = ch.analyze(ch.gallery("rocard"))
    assert found.dimension == 7
    assert found.hidden == ("kinematic[0]", "kinematic[1]")
    assert found.free_data == ("psi", "psi'", "theta", "theta'", "epsilon", "x1", "x2")
    assert "epsilon'" not in found.state
    assert found.index == 2
    assert {ch.show(f) for f in found.singular_locus} >= {"psi'", "J"}
    i, m, e = 0.7, 1.5, 0.3
    third = next(f for f in found.singular_locus if f.has(ch.parse("epsilon", found.equations)))
    values = {"I": i, "M": m, "epsilon": e, "theta": 0.4}
    number = float(third.subs({z: values[z.name] for z in third.free_symbols}))
    assert abs(number) == pytest.approx(m + i * math.cos(e))


def test_the_pendulum_of_index_three():
    found = ch.analyze(ch.gallery("cartesian-pendulum"))
    assert (found.dimension, found.index) == (2, 3)
    assert found.hidden == ("kinematic[0]", "kinematic[0]'")
    assert "x^2 + y^2" in {ch.show(f) for f in found.singular_locus}


def test_the_transformer_is_constrained_with_two_free_values():
    """004, example 3: three steps adding 3, 1, 1 constraints; only I1 and I2 are free."""
    found = ch.analyze(ch.gallery("transformer"))
    assert (found.verdict, found.dimension) == ("CONSTRAINED", 2)


def test_a_gauge_system():
    found = analyzed("q1 q2", lagrangian="(q1' - q2)^2/2")
    assert found.verdict == "GAUGE"
    assert found.free_functions


def test_krupkova_leaves_a_function_free():
    found = ch.analyze(ch.gallery("krupkova"))
    assert (found.verdict, found.free_functions) == ("GAUGE", ("q2",))


def test_no_motion():
    """L = q1'^2/2 + q2 demands 1 = 0."""
    found = analyzed("q1 q2", lagrangian="q1'^2/2 + q2")
    assert found.verdict == "INCONSISTENT"
    assert "E_q2" in found.evidence


def test_redundant_constraints_are_not_gauge():
    rows = ["x^2 + y^2 = 1", "2*x^2 + 2*y^2 = 2"]
    found = analyzed("x y", lagrangian="(x'^2 + y'^2)/2 - y", kinematic=rows, principle=ch.DAlembert())
    assert (found.verdict, found.dimension, found.undetermined) == ("REGULAR", 2, ("lambda1", "lambda2"))


def test_underdetermined_kinematics():
    found = analyzed("x y z", lagrangian="0", kinematic=["z' = y*x'"], variational=[], principle=ch.VirtualWork())
    assert found.verdict == "GAUGE"


def test_overdetermined_but_consistent():
    found = analyzed("x y", lagrangian="(x'^2 + y'^2)/2", kinematic=["x' = 1"], variational=[], principle=ch.VirtualWork())
    assert (found.verdict, found.dimension) == ("CONSTRAINED", 3)


def test_vakonomic_multipliers_are_free_data():
    found = ch.analyze(ch.gallery("disk").under(ch.Vakonomic()))
    assert {"lambda1", "lambda2"} <= set(found.free_data)


def test_a_total_derivative_changes_no_verdict():
    plain = analyzed("x y", lagrangian="(x'^2 + y'^2)/2 - x^2*y")
    gauged = analyzed("x y", lagrangian="(x'^2 + y'^2)/2 - x^2*y + D(x*y'*sin(x))")
    assert (plain.dimension, plain.index, plain.offsets) == (gauged.dimension, gauged.index, gauged.offsets)


def test_the_report_reads_well():
    assert str(ch.analyze(ch.gallery("cartesian-pendulum"))).splitlines()[:5] == [
        "Cartesian pendulum · DAlembert()",
        "  REGULAR: unique motion; nothing restricts the state but the stated rows and their time derivatives",
        "  2 free initial values, for example x x'",
        "  on every state: kinematic[0] = 0 kinematic[0]' = 0",
        "  differentiation index 3",
    ]
