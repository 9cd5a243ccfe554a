"""Verdicts, hidden constraints, free data, singular loci."""

import math

import numpy as np
import pytest

import chetaev as ch


def analyzed(*args, principle=None, **parts):
    system = ch.System(*args, **parts)
    return ch.analyze(ch.derive(system, principle))


OTHERS = ("krupkova", "cawley", "transformer", "action-constraint", "elastic-ball-inhomogeneous")


@pytest.mark.parametrize("name", [n for n in ch.gallery() if n not in OTHERS])
def test_the_regular_systems_of_the_gallery(name):
    assert ch.analyze(ch.gallery(name)).verdict == "REGULAR"


def test_the_inhomogeneous_elastic_ball_of_the_gallery_is_inconsistent():
    """The row that fails is the one without a reaction; what remains rolls about a horizontal principal axis."""
    found = ch.analyze(ch.gallery("elastic-ball-inhomogeneous"))
    assert (found.verdict, found.dimension) == ("INCONSISTENT", None)
    assert "kinematic[2]' fails by" in found.evidence
    (special,) = found.branches
    assert (special.verdict, special.dimension) == ("CONSTRAINED", 5)


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
    assert (found.verdict, found.dimension, found.free_data) == ("CONSTRAINED", 2, ("I1", "I2"))
    assert len(found.hidden) == 5
    assert found.origins["consequence[0]"] == ("E_I1", "E_I2", "E_epsilon'")


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


def test_cawleys_lagrangian_branches():
    """003, 9.2: {q2 = q2' = 0} with four free values, {q3 = q3' = 0} with a free function in q2."""
    found = ch.analyze(ch.gallery("cawley"))
    assert found.verdict == "BRANCHING"
    assert {b.verdict.value: (b.dimension, len(b.free_functions)) for b in found.branches} == {"CONSTRAINED": (4, 0), "GAUGE": (4, 1)}
    gauge = next(b for b in found.branches if b.verdict == "GAUGE")
    assert gauge.free_functions == ("q2",) and set(gauge.free_data) == {"q1", "q1'", "q2", "q2'"}
    assert [b.hidden for b in found.branches] == [("q2", "q2'"), ("q3", "q3'")]
    assert "branch 1" in str(found)


def ball(third, **changes):
    """A ball that rolls without sliding, in Euler angles; a third row restricts its spin, without a reaction."""
    parts = {
        "coordinates": "theta phi psi a1 a2",
        "parameters": "I M",
        "lagrangian": "I/2*(theta'^2 + phi'^2 + psi'^2 + 2*phi'*psi'*cos(theta)) + M/2*(a1'^2 + a2'^2)",
        "quasi": {
            "w1": "psi'*sin(theta)*sin(phi) + theta'*cos(phi)",
            "w2": "-psi'*sin(theta)*cos(phi) + theta'*sin(phi)",
            "w3": "phi' + psi'*cos(theta)",
        },
        "kinematic": ["a1' = w2'", "a2' = -w1'", third],
        "variational": ["δa1 = δw2", "δa2 = -δw1"],
    }
    return ch.analyze(ch.derive(ch.System(**(parts | changes)), ch.VirtualWork()))


def test_the_elastic_ball_is_overdetermined_and_fine():
    found = ball("w3' = 0")
    assert (found.verdict, found.dimension) == ("REGULAR", 7)


def test_the_elastic_ball_of_second_order_branches():
    """Constant angular velocity makes the row w3 (w1^2 + w2^2) = 0: no spin (7 free values), or spinning in place (6)."""
    found = ball("w1'*w2'' - w2'*w1'' = w3'*(w1'^2 + w2'^2)")
    assert found.verdict == "BRANCHING"
    assert sorted(b.dimension for b in found.branches) == [6, 7]


def test_the_inhomogeneous_ball_is_inconsistent():
    """Special motions: a principal axis horizontal (one condition), rotation about it (another): 10 - 3 - 2 free values."""
    body = {
        "b1": "phi'*sin(theta)*sin(psi) + theta'*cos(psi)",
        "b2": "phi'*sin(theta)*cos(psi) - theta'*sin(psi)",
        "b3": "phi'*cos(theta) + psi'",
    }
    lagrangian = "(I1*b1^2 + I2*b2^2 + I3*b3^2)/2 + M/2*(a1'^2 + a2'^2)"
    found = ball("w3' = 0", where=body, lagrangian=lagrangian, parameters="I1 I2 I3 M")
    assert (found.verdict, found.dimension) == ("INCONSISTENT", None)
    assert "kinematic[2]' fails by" in found.evidence and "motions only where" in found.evidence
    (special,) = found.branches
    assert (special.verdict, special.dimension) == ("CONSTRAINED", 5)


def test_a_row_that_only_time_can_satisfy():
    found = analyzed("x", lagrangian="x'^2/2", kinematic=["x' = t", "x' = 2*t + 1"], variational=[], principle=ch.VirtualWork())
    assert (found.verdict, found.dimension) == ("INCONSISTENT", None)
    assert "kinematic[0], kinematic[1]" in found.evidence


def test_relations_between_rows_are_consequences():
    """x' = y and x' = z: a relation between y and z that no single row shows."""
    system = {"lagrangian": "(x'^2 + y'^2 + z'^2)/2", "kinematic": ["x' = y", "x' = z"]}
    found = analyzed("x y z", **system, principle=ch.DAlembert())
    assert (found.verdict, found.dimension, found.undetermined) == ("CONSTRAINED", 3, ("lambda1", "lambda2"))
    assert found.origins == {"consequence[0]": ("kinematic[0]'", "kinematic[1]'")}


def test_a_small_coefficient_is_a_mass_and_zero_is_none():
    """cos of a decimal pi/2 is 6e-17, a mass; for zero the user writes pi/2, and then x = 0 follows."""
    found = analyzed("x y", lagrangian="x'^2/2 + cos(1.5707963267948966)*y'^2/2 - x*y")
    assert (found.verdict, found.dimension) == ("REGULAR", 4)
    found = analyzed("x y", lagrangian="x'^2/2 + cos(pi/2)*y'^2/2 - x*y")
    assert (found.verdict, found.dimension) == ("CONSTRAINED", 0)


@pytest.mark.parametrize(
    ("lagrangian", "names", "functions"),
    [
        ("(q1' - q2)^2/2", "q1 q2", 1),
        ("((x' + q*y)^2 + (y' - q*x)^2)/2 - (x^2 + y^2)/2", "x y q", 1),
        ("(a' - b)^2 + (c' - d)^2", "a b c d", 2),
    ],
)
def test_free_functions_are_counted(lagrangian, names, functions):
    found = analyzed(names, lagrangian=lagrangian)
    assert (found.verdict, len(found.free_functions)) == ("GAUGE", functions)


def test_a_pole_of_coordinates_is_no_family_of_its_own():
    """The spherical pendulum at its pole leaves phi open, but regular states come arbitrarily near."""
    assert ch.analyze(ch.gallery("spherical-pendulum")).branches == ()


def test_a_linkage_with_a_redundant_crank():
    """One degree of freedom; collinear positions, where two motions meet, do not mislead the sampling."""
    rows = []
    for k, crank in enumerate("abc"):
        rows += [f"X + {k}*cos(phi) = {k} + r*cos({crank})", f"Y + {k}*sin(phi) = r*sin({crank})"]
    found = analyzed(
        "X Y phi a b c", "r J", lagrangian="(X'^2 + Y'^2 + phi'^2 + a'^2 + b'^2 + c'^2)/2 - J*Y", kinematic=rows, principle=ch.DAlembert()
    )
    assert (found.verdict, found.dimension) == ("REGULAR", 2)
    assert found.undetermined == tuple(f"lambda{k}" for k in range(1, 7))


def test_underdetermined_kinematics():
    found = analyzed("x y z", lagrangian="0", kinematic=["z' = y*x'"], variational=[], principle=ch.VirtualWork())
    assert found.verdict == "GAUGE"


def test_overdetermined_but_consistent():
    """Nothing restricts the state but the row x' = 1 as it is stated: x'' = 0 keeps it."""
    found = analyzed("x y", lagrangian="(x'^2 + y'^2)/2", kinematic=["x' = 1"], variational=[], principle=ch.VirtualWork())
    assert (found.verdict, found.dimension, found.hidden) == ("REGULAR", 3, ("kinematic[0]",))


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
        "  REGULAR: unique motion; no constraints beyond yours and their time derivatives",
        "  2 free initial values, for example x x'",
        "  initial values must satisfy: kinematic[0] = 0 kinematic[0]' = 0",
        "  differentiation index 3",
    ]


FREE = "(x'^2 + y'^2 + z'^2)/2"
TOP = {
    "coordinates": {"A": "SO3 body"},
    "parameters": "I1 I2 I3",
    "lagrangian": "I1/2*A1'^2 + I2/2*A2'^2 + I3/2*A3'^2",
    "principle": ch.DAlembert(),
}


@pytest.mark.parametrize(
    ("coordinates", "lagrangian", "rows", "dimension"),
    [
        ({"x": "line", "y": "line"}, "(x'^2 + y'^2)/2", ["x^2 + y^2 = 0"], 0),
        ("x y z", FREE, ["x^2 + y^2 = 0"], 2),
        ("x y z", FREE, ["(x - y)^2 = 0"], 4),
        ("x y z", FREE, ["x^4 + y^4 = 0"], 2),
        ("x y z", FREE, ["x^2 + y^2 + z^2 = 1", "z = 1"], 0),
    ],
)
def test_rows_whose_rank_drops_wherever_they_hold(coordinates, lagrangian, rows, dimension):
    """The set is smaller than the rank at points off it tells: a circle of radius zero, a plane that touches a sphere."""
    found = analyzed(coordinates, lagrangian=lagrangian, kinematic=rows, principle=ch.DAlembert())
    assert "no regular point" in found.evidence
    assert found.verdict == "CONSTRAINED"  # the constraint algorithm finds the set itself
    assert found.dimension == dimension


FREE_PLANE = "(x'^2 + y'^2)/2"


@pytest.mark.parametrize(
    "row",
    [
        "x^2 + y^2 = 0",
        "(x^2 + y^2)^2 = 0",
        "exp(x^2 + y^2) = 1",
        "log(1 + x^2 + y^2) = 0",
        "cosh(x)*cosh(y) = 1",
        "cos(x) + cos(y) = 2",
        "sqrt(1 + x^2 + y^2) = 1",
    ],
)
@pytest.mark.parametrize(("potential", "verdict", "dimension"), [("", "CONSTRAINED", 0), (" - y", "INCONSISTENT", None)])
def test_smooth_rows_for_one_point_have_one_verdict(row, potential, verdict, dimension):
    """Each holds at isolated points, where its slopes vanish: without a force a particle rests there; y'' = -1 + 0*lambda moves it."""
    found = analyzed("x y", lagrangian=FREE_PLANE + potential, kinematic=[row], principle=ch.DAlembert())
    assert (found.verdict, found.dimension) == (verdict, dimension)
    assert "kinematic[0] has no regular point: all its slopes vanish" in found.evidence


@pytest.mark.parametrize(
    "row",
    [
        "sqrt(x^2 + y^2) = 0",
        "abs(x) + abs(y) = 0",
        "max(abs(x), abs(y)) = 0",
        "sqrt((x - 300)^2 + (y + 500)^2) = 0",
        "(x^2 + y^2)^(3/4) = 0",
        "abs(x) = 0",
        "sqrt(x) = 0",
        "sqrt(abs(x)) = 0",
        "abs(x^2 + y^2 - 1) = 0",
    ],
)
def test_rows_whose_slopes_jump_wherever_they_hold_decide_nothing(row):
    """The slopes at opposite sides of the tip of a cone, or of an edge, are opposite, and those of a root grow without bound."""
    found = analyzed("x y", lagrangian=FREE_PLANE, kinematic=[row], principle=ch.DAlembert())
    assert (found.verdict, found.dimension) == ("UNDECIDED", None)
    assert "kinematic[0] has no regular point: slopes jump, or have no value, wherever it holds" in found.evidence


@pytest.mark.parametrize("row", ["sqrt(x'^2 + y'^2) = 0", "abs(x') + abs(y') = 0"])
def test_velocities_whose_slopes_jump_wherever_they_vanish_decide_nothing(row):
    """Chetaev's virtual displacements are defined by slopes in velocities, and rest is the tip of the cone."""
    found = analyzed("x y", lagrangian=FREE_PLANE, kinematic=[row], principle=ch.Chetaev())
    assert (found.verdict, found.dimension) == ("UNDECIDED", None)
    assert "slopes jump" in found.evidence


def test_a_cone_among_other_rows_is_named():
    """x = y = 0 follows from the first row alone; the second has a slope and is not to blame."""
    found = analyzed("x y z", lagrangian=FREE, kinematic=["z = x", "sqrt(x^2 + y^2) = 0"], principle=ch.DAlembert())
    assert found.verdict == "UNDECIDED"
    assert found.evidence.startswith("kinematic[1] has no regular point")


@pytest.mark.parametrize("row", ["abs(x) + x = 0", "max(x, 0) = 0"])
def test_an_inequality_written_as_a_row_decides_nothing(row):
    """Both hold in the half-plane x <= 0, where they have no slope."""
    found = analyzed("x y", lagrangian=FREE_PLANE, kinematic=[row], principle=ch.DAlembert())
    assert found.verdict == "UNDECIDED"
    assert "on a set that slopes do not describe" in found.evidence


def test_a_sign_that_vanishes_decides_nothing():
    """sign(x) = 0 is x = 0, and its slope is zero everywhere else."""
    found = analyzed("x y", lagrangian=FREE_PLANE, kinematic=["sign(x) = 0"], principle=ch.DAlembert())
    assert (found.verdict, found.dimension) == ("UNDECIDED", None)
    assert "by jumps only" in found.evidence


@pytest.mark.parametrize("row", ["(x^2 + y^2)^(5/4) = 0", "abs(x)^3 + abs(y)^3 = 0", "x*abs(x) = 0"])
def test_slopes_that_vanish_without_being_smooth_decide_nothing(row):
    """r^(5/2) has slopes that vanish at r = 0 and third derivatives that do not exist: nothing is proved by differentiating it."""
    found = analyzed("x y", lagrangian=FREE_PLANE, kinematic=[row], principle=ch.DAlembert())
    assert (found.verdict, found.dimension) == ("UNDECIDED", None)
    assert "all its slopes vanish" in found.evidence


def test_a_sum_of_sizes_that_is_negative_has_no_known_point():
    """|x| + |y| = -1 holds nowhere: manifolds of which no real point is known are no branches."""
    found = analyzed("x y", lagrangian=FREE_PLANE, kinematic=["abs(x) + abs(y) = -1"], principle=ch.DAlembert())
    assert found.verdict == "UNDECIDED"
    assert "no point was found" in found.evidence


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        ("sqrt(x^2 + y^2) = 1", "REGULAR"),
        ("sqrt(x^2 + y^2) = 1/1000000", "REGULAR"),
        ("abs(x) = 1", "REGULAR"),
        ("abs(x) + abs(y) = 1", "REGULAR"),
        ("abs(x) = abs(y)", "REGULAR"),
        ("max(x, y) = 0", "REGULAR"),
        ("x + abs(x)/10 = 0", "REGULAR"),
        ("exp(x) = y", "REGULAR"),
        ("x*y = 0", "REGULAR"),
        ("x^2 = y^2", "REGULAR"),
        ("x^2 = 0", "CONSTRAINED"),
        ("x^3 = 0", "CONSTRAINED"),
        ("x^8 = 0", "CONSTRAINED"),
    ],
)
def test_corners_beside_regular_points_do_no_harm(row, verdict):
    """On a curve one coordinate and its velocity are free. x + |x|/10 has slopes 0.9 and 1.1 at x = 0, and no mean of them vanishes."""
    found = analyzed("x y", lagrangian=FREE_PLANE, kinematic=[row], principle=ch.DAlembert())
    assert (found.verdict, found.dimension) == (verdict, 2)


def test_a_force_across_a_set_without_slope_leaves_no_motion():
    """m x'' = -m + 2 lambda x cannot hold at x = 0."""
    found = analyzed("x y z", lagrangian=f"{FREE} - x", kinematic=["x^2 + y^2 = 0"], principle=ch.DAlembert())
    assert found.verdict == "INCONSISTENT"
    assert "kinematic[0] has no regular point" in found.evidence


@pytest.mark.parametrize("row", ["A33 = 1", "A11 + A22 + A33 = 3", "(A13 - A31)^2 = 0", "A31^2 + A32^2 = 0"])
def test_a_rotation_at_the_edge_of_what_a_row_can_be(row):
    """The largest value of a function is taken where all its slopes vanish."""
    found = analyzed(**TOP, kinematic=[row])
    assert found.verdict == "UNDECIDED"
    assert found.dimension is None
    assert "kinematic[0] has no regular point" in found.evidence


def test_a_row_that_no_rotation_satisfies():
    """The first row of a rotation has length one."""
    found = analyzed(**TOP, kinematic=["A11^2 + A12^2 + A13^2 = 2"])
    assert found.verdict == "INCONSISTENT"
    assert "kinematic[0] cannot hold" in found.evidence


def test_an_entry_that_no_rotation_has():
    """A33 = 2 has slopes and no solution: no point is found, and no more is claimed."""
    found = analyzed(**TOP, kinematic=["A33 = 2"])
    assert found.verdict == "UNDECIDED"
    assert "no point was found" in found.evidence


@pytest.mark.parametrize(
    ("rows", "dimension"),
    [(["x = 0", "x*(1 + y) = 0"], 4), (["x*y = 0"], 4), (["x^2 + y^2 = z^2"], 4), (["(x^2 + y^2)*(x - z) = 0"], 4), (["x^3 = y^3"], 4)],
)
def test_rows_with_regular_points_stay_regular(rows, dimension):
    """Rows that repeat others on the set, cones and unions of sets have regular points."""
    found = analyzed("x y z", lagrangian=FREE, kinematic=rows, principle=ch.DAlembert())
    assert "no regular point" not in found.evidence
    assert (found.verdict, found.dimension) == ("REGULAR", dimension)


def test_a_rotation_that_keeps_a_direction_level_is_regular():
    found = analyzed(**TOP, kinematic=["A33 = 1/2"])
    assert (found.verdict, found.dimension) == ("REGULAR", 4)


# far away, and small


@pytest.mark.parametrize(
    "row",
    ["x^2 + y^2 + z^2 = 40000", "x - 500 = 0", "(x-300)^2 + y^2 = 1", "sqrt(x^2+y^2) = 1000", "x^2 + y^2 + z^2 = 1/1000000000000"],
)
def test_sets_far_from_the_origin_and_small_ones_are_regular(row):
    """A pendulum in millimetres, and one of a micrometre in metres, are pendulums: two coordinates and two velocities are free."""
    system = ch.System("x y z", lagrangian="(x'^2+y'^2+z'^2)/2 - 9.81*z", kinematic=[row])
    found = ch.analyze(ch.derive(system, ch.DAlembert()))
    assert found.verdict is ch.Verdict.REGULAR
    assert found.dimension == 4


def test_a_pendulum_in_millimetres_swings_as_one_in_metres():
    def end(length, g):
        system = ch.System("x y", lagrangian=f"x'^2/2 + y'^2/2 - {g}*y", kinematic=[f"x^2 + y^2 = {length}^2"])
        start = ch.State({"x": 0.6 * length, "x'": 0}, {"y": -0.8 * length})
        return ch.simulate(ch.derive(system, ch.DAlembert()), start, (0, 1), tolerance=1e-11).final["x"] / length

    assert abs(end(200, 9810) - end(0.2, 9.81)) < 1e-8


@pytest.mark.parametrize(("row", "dimension", "y"), [("sign(x)*y = 0", 4, 0.0), ("sign(x)*y' = 1", 5, 2.0), ("sign(x)*y' = -1", 5, -2.0)])
def test_a_row_with_a_factor_sign_keeps_it(row, dimension, y):
    """sign has no slope, and the row depends on it all the same: on the side x > 0 these are y = 0, y' = 1 and y' = -1."""
    found = analyzed("x y z", lagrangian=FREE, kinematic=[row], principle=ch.DAlembert())
    assert (found.verdict, found.dimension) == ("REGULAR", dimension)
    motion = ch.simulate(found.equations, {"x": 1, "y": 0, "z": 0, "x'": 0.3, "z'": 0.1}, (0, 2))
    assert (motion.final["x"], motion.final["y"], motion.final["z"]) == pytest.approx((1.6, y, 0.2), abs=1e-9)


def test_the_singular_locus_is_sought_by_sizes_and_not_by_the_clock(monkeypatch):
    """The leaning disk: its determinant by hand is cos(theta) (up to sign and power) times the moments about the contact point."""
    from chetaev.mechanics import singular_locus as locus

    found = ch.analyze(ch.gallery("leaning-disk"))
    assert sorted(map(ch.show, found.singular_locus)) == ["I", "I + R^2*m", "J + R^2*m", "cos(theta)"]
    assert "no formula" not in str(found)
    long = ch.analyze(ch.gallery("trailer"))
    assert long.singular_locus is None and "(its determinant is too long for a formula)" in str(long)
    locus._locus.cache_clear()
    monkeypatch.setattr(locus, "_SEARCH_SECONDS", 0.001)
    monkeypatch.setattr(locus, "_LARGEST_IN_PLACE", 0)
    assert locus.no_formula(ch.derive(ch.gallery("leaning-disk"))) == "the search for a formula was ended: the work allowed ran out"
    locus._locus.cache_clear()


def test_what_numbers_decide_does_not_wait_for_the_constraint_algorithm(monkeypatch):
    """More rows than unknowns, all of them stated; and what was run once is not run again by another verb."""
    from chetaev.singular import algorithm as package

    system = ch.System(
        "x y z",
        lagrangian="x'^2 + y'^2 + z'^2/2 - sin(x)",
        kinematic=["x' + y*y' + 0.3 = 0", "z' = 0.3"],
        variational=["δx + cos(x)*δy = 0"],
    )
    asked = []
    run = package.constraint_algorithm
    monkeypatch.setattr(package, "constraint_algorithm", lambda *a, **k: (asked.append(a), run(*a, **k))[1])
    equations = ch.derive(system, ch.VirtualWork())
    assert ch.analyze(equations).verdict == "REGULAR" and not asked
    # z'' = 0; x'' + y*y'' + y'^2 = 0 and 2*x'' + cos(x) = -mu, 2*y'' = -mu*cos(x) with the row's multiplier mu eliminated
    now = ch.evaluate(equations, {"x": 0.1, "y": 0.5, "z": 0, "y'": 0.2})
    acceleration = np.linalg.solve([[1, 0.5], [2 * np.cos(0.1), -2]], [-0.04, -(np.cos(0.1) ** 2)])
    assert [now["x''"], now["y''"]] == pytest.approx(acceleration) and not asked
    cawley = ch.derive(ch.gallery("cawley").system.replace(name="once"))
    ch.analyze(cawley)
    ch.evaluate(cawley, {"q1": 0, "q1'": 0, "q2": 1, "q2'": 0, "q3": 0, "q3'": 0}, gauge={"q2": "1"})
    assert len(asked) == 1


def test_a_verdict_says_whether_there_is_a_motion_and_whether_one_has_to_be_chosen():
    assert {str(v) for v in ch.Verdict if v.unique_motion} == {"REGULAR", "CONSTRAINED"}
    assert {str(v) for v in ch.Verdict if not v.allows_motion} == {"INCONSISTENT", "UNDECIDED"}
    assert {str(v) for v in ch.Verdict if v.needs_choice} == {"GAUGE", "BRANCHING"}
    assert ch.Verdict("GAUGE") is ch.Verdict.GAUGE == "GAUGE"
