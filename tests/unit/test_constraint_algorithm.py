"""The constraint algorithm: leaves of many singular systems, their soundness at real points, and that nothing is missing."""

import math
from functools import cache

import pytest
import sympy
from leaf_soundness import faults, on_a_leaf, prolonged_points

import chetaev as ch
from chetaev.core.exact.factors import irreducible
from chetaev.core.symbols import TIME, Coordinate
from chetaev.singular.algorithm.points import Faults, largest_fault
from chetaev.singular.algorithm.translation import Translation


def rows(coordinates, *texts, parameters=""):
    return lambda: ch.DynamicalForm(coordinates, list(texts), parameters)


def lagrangian(coordinates, text, parameters=""):
    return lambda: ch.DynamicalForm.of(ch.System(coordinates, parameters, lagrangian=text))


# For each system the leaves as (constraints, dimension with time, free functions), and how often rows are differentiated in the probe
# (0: no probe, because Newton's iteration does not converge to singular zeros).
SYSTEMS = {
    "gauge": (lagrangian("q1 q2", "(q1' - q2)^2/2"), [("q1' - q2", 4, 1)], 2),
    "empty": (lagrangian("q1 q2", "q1'^2/2 + q2"), [], 0),
    "three velocities": (lagrangian("x y z", "(x' - z)^2/2 + (y' - z)^2/2"), [("x' + y' - 2*z", 6, 1)], 2),
    "affine in velocities": (lagrangian("x y", "x^2*y' - y*x' - x*y^2 + x^3/3"), [("", 3, 0)], 1),
    "index 3": (lagrangian("x y l", "(x'^2 + y'^2)/2 - 2*y + l*(x^2 + y^2 - 1)"), [(None, 3, 0)], 4),
    "sphere": (lagrangian("x y z l", "(x'^2 + y'^2 + z'^2)/2 - z + l*(x^2 + y^2 + z^2 - 1)"), [(None, 5, 0)], 4),
    "parabola": (lagrangian("x y l", "(x'^2 + y'^2)/2 - y + l*(y - x^2)"), [(None, 3, 0)], 4),
    # envelopes
    "parabolas": (rows("q", "q'^2 - 4*q"), [("q'^2 - 4*q", 2, 0), ("q, q'", 1, 0)], 3),
    "Clairaut": (rows("q", "q - t*q' - q'^2"), [("q'^2 + t*q' - q", 2, 0), ("4*q + t^2, 2*q' + t", 1, 0)], 3),
    "Clairaut, cubic": (rows("q", "q - t*q' + q'^3"), [("q + q'^3 - t*q'", 2, 0), ("3*q'^2 - t, q + q'^3 - t*q'", 1, 0)], 2),
    "circle and tangents": (rows("q", "q'^2 + q^2 - 1"), [("q^2 + q'^2 - 1", 2, 0), ("q - 1, q'", 1, 0), ("q + 1, q'", 1, 0)], 3),
    "second order envelope": (rows("q", "q''^2 - 4*q'"), [("q''^2 - 4*q'", 3, 0), ("q', q''", 2, 0)], 3),
    # the reals
    "sum of squares": (rows("x y", "x^2 + y^2", "y'' + x"), [("x, y, x', y'", 1, 0)], 0),
    "hidden sum of squares": (rows("x y z", "(x - y)^2 + z^2", "y'' + z", "x'' - y''"), [("x - y, z, x' - y', z'", 3, 0)], 0),
    "square with a coefficient": (
        rows("x y z", "x'^2 + (y - z)^2", "y'' + z'' - x", "z - t*y"),
        [("x, y, z, x', y', z'", 1, 0)],
        0,
    ),
    "logarithm that is no number at -1": (rows("x y", "log(x) - y", "x'' + y''"), [("y - log(x), x' - x*y'", 3, 0)], 0),
    "logarithm in a product": (rows("x y", "log(x)*y", "x'' + 2*y''"), [("log(x), x'", 3, 0), ("y, y'", 3, 0)], 0),
    "sum of squares in a Lagrangian": (
        lagrangian("x y z", "x'^2/2 + z*(x^2 + y^2)"),
        [("x, y, x', y'", 3, 1)],
        0,
    ),
    "no real point": (rows("x y", "x^2 + y^2 + 1", "y''"), [], 0),
    "exponential without zero": (rows("x y", "exp(x) + y^2", "y''"), [], 0),
    "pair of lines": (
        rows("x y", "x^2 - 2*y^2", "y'' + x"),
        [("x - sqrt(2)*y, x' - sqrt(2)*y'", 3, 0), ("x + sqrt(2)*y, x' + sqrt(2)*y'", 3, 0)],
        2,
    ),
    "lines over a parameter": (
        rows("x y", "x^2 - k*y^2", "y''", parameters={"k": "positive"}),
        [("x - sqrt(k)*y, x' - sqrt(k)*y'", 3, 0), ("x + sqrt(k)*y, x' + sqrt(k)*y'", 3, 0)],
        2,
    ),
    "smooth although quadratic": (rows("x y", "x^2 - 2", "y'' + x"), [("x^2 - 2, x'", 3, 0)], 2),
    # products
    "product": (rows("x y", "x*(x - y)", "y'' + x"), [("x - y, x' - y'", 3, 0), ("x, x'", 3, 0)], 2),
    "squares": (lagrangian("x y z", "x'*z' + y^2*z^2/2"), [("y, y'", 5, 0), ("z, z'", 5, 1)], 3),
    "axes": (
        rows("x y", "x*y", "x'^2 + y'^2 - 1"),
        [("y, x' - 1, y'", 2, 0), ("y, x' + 1, y'", 2, 0), ("x, x', y' - 1", 2, 0), ("x, x', y' + 1", 2, 0)],
        2,
    ),
    "quadratic in the top derivative": (rows("x", "x''^2 - x^2"), [("x'' - x", 3, 0), ("x'' + x", 3, 0)], 2),
    # ranks that change
    "no constraint at all": (rows("q", "q*q''"), [("", 3, 0)], 1),
    "not locally closed": (rows("q1 q2", "q1*q1'' + q2", "q2''"), [("", 5, 0), ("q1, q2, q1', q2'", 1, 0)], 3),
    "singular time": (rows("q", "t*q'' - q'"), [("", 3, 0)], 1),
    "mass that vanishes": (lagrangian("x y", "x^2*y'^2/2 + x'^2/2"), [("", 5, 0), ("x, x'", 3, 1)], 2),
    "cusp": (rows("x y", "x^2 - y^3", "y''"), [(None, 3, 0), ("x, y, x', y'", 1, 0)], 2),
    # gauge models
    "Christ and Lee, polar": (lagrangian("r theta z", "r'^2/2 + r^2*(theta' - z)^2/2 - r^2/2"), [("theta' - z", 6, 1), ("r, r'", 5, 2)], 3),
    "Christ and Lee, Cartesian": (
        lagrangian("x y z", "((x' + z*y)^2 + (y' - z*x)^2)/2 - w*(x^2 + y^2)/2", "w"),
        [("z*(x^2 + y^2) + y*x' - x*y'", 6, 1)],
        2,
    ),
    "Proca": (
        lagrangian("a0 a1 a2", "(a1' - k1*a0)^2/2 + (a2' - k2*a0)^2/2 + m^2/2*(a0^2 - a1^2 - a2^2)", "k1 k2 m"),
        [(None, 5, 0)],
        3,
    ),
    "Maxwell": (
        lagrangian("a0 a1 a2", "(a1' - k1*a0)^2/2 + (a2' - k2*a0)^2/2 - (k1*a2 - k2*a1)^2/2", "k1 k2"),
        [("k1*(a1' - k1*a0) + k2*(a2' - k2*a0)", 6, 1)],
        2,
    ),
    "einbein": (lagrangian("n x y", "(x'^2 - y'^2)/(2*n) - n*m^2/2", "m"), [("m^2*n^2 + x'^2 - y'^2", 6, 1)], 2),
    "relativistic": (lagrangian("x y", "sqrt(x'^2 - y'^2)"), [("", 5, 1)], 1),
    "geodesics": (lagrangian("x y", "(1 + x^2)*sqrt(x'^2 + y'^2)"), [("", 5, 1)], 1),
    "multiplies a square": (lagrangian("x y z", "x'*z' - y*z^2/2"), [("z, z'", 5, 1)], 3),
    # functions
    "sine constraint": (
        lagrangian("q p", "q'^2/2 + p*sin(q)"),
        [("sin(q), cos(q) + 1, p, p', q'", 1, 0), ("sin(q), cos(q) - 1, p, p', q'", 1, 0)],
        4,
    ),
    "sine mass": (
        lagrangian("q p", "(1 + cos(q)^2)*q'^2/2 + p'^2*sin(q)^2/2"),
        [("", 5, 0), ("cos(q) - 1, sin(q), q'", 3, 1), ("cos(q) + 1, sin(q), q'", 3, 1)],
        2,
    ),
    "driven": (
        rows("x y z", "x' - y", "y' - z", "x - sin(t)"),
        [("x - sin(t), y - cos(t), z + sin(t), x' - cos(t), y' + sin(t), z' + cos(t)", 1, 0)],
        3,
    ),
    "moving constraint": (rows("x y", "x'' + y", "x - t^2"), [("x - t^2, y + 2, x' - 2*t, y'", 1, 0)], 3),
    "exponential mass": (lagrangian("q1 q2", "q1'^2*exp(q2)/2"), [("q1'", 4, 1)], 2),
    "damped by time": (lagrangian("x", "exp(b*t)*(m*x'^2 - k*x^2)/2", "m k b"), [("", 3, 0)], 1),
    "dry friction": (rows("x", "x'' + a*sign(x')", parameters="a"), [("sign(x') - 1", 3, 0), ("sign(x') + 1", 3, 0)], 0),
}


@cache
def tree_of(name):
    """The tree of one of the systems, made once."""
    return ch.constraint_algorithm(SYSTEMS[name][0]())


@pytest.mark.parametrize("name", SYSTEMS)
def test_leaves(name):
    """Number, constraints, dimension and free functions of the leaves; every leaf is sound at real points."""
    _, expected, _ = SYSTEMS[name]
    tree = tree_of(name)
    assert tree.complete, tree.reason
    left = list(tree.leaves)
    for constraints, dimension, free in expected:
        found = next(
            (leaf for leaf in left if (leaf.dimension, leaf.free_functions) == (dimension, free) and same(leaf, constraints)), None
        )
        assert found is not None, f"{constraints} is not among\n{tree}"
        left.remove(found)
    assert not left, f"{left[0]}"
    for leaf in tree.leaves:
        count, worst, dimensions = faults(leaf)
        assert count, f"no real point of\n{leaf}"
        assert worst < 1e-12, str(leaf)
        assert dimensions == {leaf.dimension}
        assert leaf.rank == 1 + leaf.free_functions == 1 + len(leaf.free)
        assert leaf.real == "yes" and leaf.confirmed


def same(leaf, texts):
    """Whether the constraints of a leaf are these, as polynomials that reduce each other to zero."""
    if texts is None:
        return True
    wanted = [ch.parse(text, leaf.form) for text in texts.split(",") if text.strip()]
    if not wanted or not leaf.constraints:
        return not wanted and not leaf.constraints
    functions = sorted(set().union(*[e.atoms(sympy.Function) for e in [*wanted, *leaf.constraints]]), key=str)
    plain = {f: sympy.Symbol(f"f{k}") for k, f in enumerate(functions)}
    relation = [
        plain[f] ** 2 + plain[sympy.cos(f.args[0])] ** 2 - 1
        for f in functions
        if isinstance(f, sympy.sin) and sympy.cos(f.args[0]) in plain
    ]
    sets = [[e.xreplace(plain) for e in some] + relation for some in (wanted, leaf.constraints)]
    symbols = sorted(set().union(*[e.free_symbols for some in sets for e in some]) - set(leaf.form.parameters), key=str)
    options = {"domain": sympy.QQ.frac_field(*leaf.form.parameters)} if leaf.form.parameters else {"extension": True}
    if leaf.form.parameters and any(not p.exp.is_Integer for some in sets for e in some for p in e.atoms(sympy.Pow)):
        options = {}  # roots of parameters
    bases = [sympy.groebner(some, *symbols, order="grevlex", **options) for some in sets]
    return set(bases[0].exprs) == set(bases[1].exprs)


@pytest.mark.parametrize("name", [name for name, (_, _, levels) in SYSTEMS.items() if levels])
def test_nothing_is_missing(name):
    """States from the rows and their total derivatives, found without the algorithm, all lie on a leaf."""
    make, _, levels = SYSTEMS[name]
    tree = tree_of(name)
    states = prolonged_points(make(), levels)
    assert states
    for state in states:
        assert on_a_leaf(tree, state), f"{state} is on no leaf of\n{tree}"


EXTENDED = {
    "gauge": [("q1' - q2", 4, 2, False)],
    "index 3": [(None, 4, 1, True)],
    "affine in velocities": [("", 3, 0, True)],
    "Christ and Lee, polar": None,
    "Maxwell": None,
    "relativistic": None,
    "sine constraint": None,
    "mass that vanishes": None,
    "no constraint at all": None,
    "damped by time": [("", 3, 0, True)],
}


@pytest.mark.parametrize("name", EXTENDED)
def test_extended_dynamics(name):
    """Hamilton paths: sound at real points; where given, the leaves with dimension, free functions and involutivity."""
    tree = ch.constraint_algorithm(SYSTEMS[name][0](), dynamics="extended")
    assert tree.complete and tree.leaves
    for leaf in tree.leaves:
        count, worst, dimensions = faults(leaf)
        assert count and worst < 1e-12 and dimensions == {leaf.dimension}
        assert set(leaf.field) == {z.name for z in leaf.form.phase}
    expected = EXTENDED[name]
    if expected is not None:
        assert [(leaf.dimension, leaf.free_functions, leaf.involutive) for leaf in tree.leaves] == [e[1:] for e in expected]
        assert all(same(leaf, e[0]) for leaf, e in zip(tree.leaves, expected, strict=True))


# ---- what a leaf says ---------------------------------------------------------------------------------------------------------------


def test_envelope_moves_differently():
    """Clairaut: straight lines on one leaf, the parabola they envelop on the other."""
    lines, envelope = tree_of("Clairaut").leaves
    assert lines.field["q'"] == 0
    assert envelope.field["q'"] == -sympy.Rational(1, 2)


def test_rates_of_the_pendulum():
    """x'' = 2 lambda x with lambda eliminated, from Newton's law by hand."""
    (leaf,) = tree_of("index 3").leaves
    names = {z.name: z for z in leaf.form.phase}
    angle, speed = 0.7, 1.3
    x, y = sympy.sin(angle), -sympy.cos(angle)
    state = {"x": x, "y": y, "x'": speed * sympy.cos(angle), "y'": speed * sympy.sin(angle)}
    state["l"] = -(speed**2 - 2 * y) / 2
    state["l'"] = 3 * state["y'"]
    assert leaf.contains({k: float(v) for k, v in state.items()})
    assert not leaf.contains({**{k: float(v) for k, v in state.items()}, "l": 0.0})
    swing = -2 * sympy.sin(angle)  # theta'' = -g sin(theta) with g = 2
    expected = swing * sympy.cos(angle) - speed**2 * sympy.sin(angle)
    value = leaf.field["x'"].xreplace({names[k]: v for k, v in state.items()})
    assert abs(float(value - expected)) < 1e-14


def test_free_functions_are_named():
    (leaf,) = tree_of("gauge").leaves
    assert dict(leaf.free) == {"u1": "q2'"}
    assert leaf.field["q2'"] == sympy.Symbol("u1", real=True)
    assert leaf.class_ == "weakly regular"


def test_free_functions_avoid_the_names_of_the_user():
    form = ch.DynamicalForm("u1 q", ["u1' - q"])
    (leaf,) = ch.constraint_algorithm(form).leaves
    assert list(leaf.free) == ["uu1"]


def test_excluded_is_where_the_formulas_fail():
    (leaf,) = tree_of("affine in velocities").leaves
    (locus,) = leaf.excluded
    assert sympy.expand(locus - (2 * ch.coordinates("x") + 1)) == 0
    assert not leaf.contains({"x": -0.5, "y": 0.3})
    assert leaf.contains({"x": 0.5, "y": 0.3})


def test_residuals_need_all_names():
    (leaf,) = tree_of("gauge").leaves
    assert leaf.residuals({"q1'": 2.0, "q2": 0.5}) == {"q1' - q2": 1.5}
    with pytest.raises(ch.UsageError, match="no value for q1'"):
        leaf.contains({"q2": 0.5})


def test_discarded_sets_have_a_certificate():
    tree = tree_of("no real point")
    (empty,) = tree.discarded
    assert empty.real == "no"
    assert "cannot vanish" in str(empty)
    assert tree.leaves == () and tree.complete


def test_parameter_expressions_that_were_divided_by_are_listed():
    form = ch.DynamicalForm("x y", ["(a - b)*x'' + y", "c*y - x"], parameters="a b c")
    tree = ch.constraint_algorithm(form)
    a, b, c = form.parameters
    listed = {sympy.expand(e) for e in tree.assumptions} | {sympy.expand(-e) for e in tree.assumptions}
    assert {a - b, c} <= listed
    positive = ch.DynamicalForm("x", ["m*x'' + x"], parameters={"m": "positive"})
    assert ch.constraint_algorithm(positive).assumptions == ()


def test_a_contradiction_between_parameters_is_an_assumption():
    """L = q1'^2/2 + a q2 has no motion unless a = 0."""
    tree = ch.constraint_algorithm(ch.System("q1 q2", "a", lagrangian="q1'^2/2 + a*q2"))
    assert tree.complete and not tree.leaves
    assert [str(e) for e in tree.assumptions] == ["a"]
    assert "no motion" in str(tree) and "a != 0" in str(tree)


def test_rows_without_content():
    (leaf,) = ch.constraint_algorithm(ch.DynamicalForm("x", ["0"])).leaves
    assert (leaf.dimension, leaf.free_functions, leaf.constraints) == (2, 1, ())
    assert ch.constraint_algorithm(ch.DynamicalForm("x", ["1"])).leaves == ()


def test_a_leaf_that_needs_negative_parameters_is_undecided():
    form = ch.DynamicalForm("x y", ["(m + k*y^2)*x'' + x", "y'"], parameters="m k")
    tree = ch.constraint_algorithm(form)
    special = [leaf for leaf in tree.leaves if leaf.real != "yes"]
    assert [leaf.real for leaf in special] == ["undecided"]
    assert special[0].point["m"] * special[0].point["k"] < 0


def test_a_budget_that_ran_out_is_told():
    """Four links of a chain with symbolic masses are too much for half a second."""
    masses, lengths = "m1 m2 m3 m4", "l1 l2 l3 l4"
    names = [f"x{k} y{k}" for k in range(1, 5)]
    kinetic = " + ".join(f"m{k}/2*(x{k}'^2 + y{k}'^2)" for k in range(1, 5))
    links = ["x1^2 + y1^2 - l1^2"] + [f"(x{k} - x{k - 1})^2 + (y{k} - y{k - 1})^2 - l{k}^2" for k in range(2, 5)]
    system = ch.System(" ".join(names), f"{masses} {lengths}", lagrangian=kinetic, kinematic=links)
    form = ch.DynamicalForm.of(system, ch.DAlembert())
    tree = ch.constraint_algorithm(form, seconds=0.5)
    assert not tree.complete
    assert "the work allowed ran out" in tree.reason
    assert "incomplete" in str(tree)


def test_relations_beyond_algebra_are_told():
    """Where atan2(x, y) vanishes x does too, which algebra in x, y and the angle does not see: the answer says so."""
    tree = ch.constraint_algorithm(ch.DynamicalForm("x y", ["atan2(x, y)*x''", "y''"]))
    assert not tree.complete
    assert "may not be radical" in tree.reason
    assert tree.leaves[0].field["x'"] == 0 and tree.leaves[0].dimension == 5


def test_wrong_words_are_errors():
    form = SYSTEMS["gauge"][0]()
    with pytest.raises(ch.UsageError, match="dynamics='full' is unknown"):
        ch.constraint_algorithm(form, dynamics="full")
    with pytest.raises(ch.UsageError, match="seconds"):
        ch.constraint_algorithm(form, seconds=0)


def test_systems_and_models_are_accepted():
    system = ch.System("q1 q2", lagrangian="(q1' - q2)^2/2")
    assert ch.constraint_algorithm(system).leaves == ch.constraint_algorithm(ch.derive(system)).leaves
    assert len(ch.constraint_algorithm(ch.gallery("cawley")).leaves) == 2


def test_report_tells_the_tree():
    text = tree_of("parabolas").report()
    assert "q'^2/4" in text or "q'^2 - 4*q" in text
    assert "final" in text and "distinction" in text


def test_related_functions_are_found_again():
    """On x = y the sines of x and y agree: a relation beyond algebra in sin x, sin y, x, y."""
    form = ch.DynamicalForm("x y z", ["x - y", "z''*(1 + sin(x) - sin(y)) + x", "x''"])
    (leaf,) = ch.constraint_algorithm(form).leaves
    assert leaf.dimension == 5
    assert leaf.field["z'"] in (-ch.coordinates("x"), -ch.coordinates("y"))
    assert TIME not in leaf.field["z'"].free_symbols


def test_decimals_in_arguments_do_not_become_powers_of_a_tiny_unit():
    """1.379^2 and 0.265^2 have the common unit 1e-6: one generator for both exponentials would stand there with the power 1901641."""
    x = ch.coordinates("x")
    long = [sympy.exp(-(sympy.Rational(n, 1000) ** 2) * x**2) for n in (1379, 265)]
    reader = Translation(long)
    assert all(len(e.free_symbols) == 1 and abs(sympy.degree(1 / e)) == 1 for e in map(reader.rational, long))
    a, b = sympy.Rational("1.379"), sympy.Rational("0.88")
    sines = sympy.sin(a * x) * sympy.cos(b * x) + sympy.cos(a * x) * sympy.sin(b * x) - sympy.sin((a + b) * x)
    reader = Translation([sines])
    assert sympy.expand(reader.rational(sines)) == 0
    assert len(reader.generators) == 4
    small = Translation([sympy.cos(2 * x) - sympy.cos(3 * x)])
    assert (
        sympy.expand(small.rational(sympy.cos(2 * x) - 2 * sympy.cos(x) ** 2 + 1))
        .subs(small.generators[1].symbol ** 2, 1 - small.generators[0].symbol ** 2)
        .expand()
        == 0
    )
    assert len(small.generators) == 2


def test_a_slave_beside_exponentials_with_decimals():
    """z = 0.524/0.949*x' adds to the mass of x; singular where the masses are no more than the square of their coupling."""
    system = ch.System(
        "x y z",
        lagrangian="0.743*x'^2/2 + 1.608*y'^2/2 + 0.115*exp(-(1.379*x)^2)*x'*y' - 1.138*exp(-(0.265*x)^2) + 0.524*z*x' - 0.949*z^2/2",
    )
    found = ch.analyze(ch.derive(system))
    assert found.dimension == 4
    (factor,) = found.singular_locus
    value = sympy.lambdify(ch.coordinates("x"), factor)
    mass = (0.743 + 0.524**2 / 0.949) * 1.608
    right = (mass - 0.115**2 * math.exp(-2 * (1.379 * 0.4) ** 2)) / (mass - 0.115**2)
    assert value(0.4) / value(0.0) == pytest.approx(right, rel=1e-12)


@pytest.mark.parametrize("number", ["1e-18", "1e8", "1e18"])
def test_real_points_are_found_in_any_units(number):
    """y is the cube root of number - x^2, which is real."""
    tree = ch.constraint_algorithm(ch.DynamicalForm("x y", [f"y^3 + x^2 - {number}", "x'' + x"]))
    assert [(leaf.real, leaf.confirmed, leaf.dimension) for leaf in tree.leaves] == [("yes", True, 3)]


def test_a_small_factor_makes_no_real_point():
    """1e-12 (x^4 + x^2 y^2 + 1) is below any absolute threshold near x = 0, and nowhere zero."""
    tree = ch.constraint_algorithm(ch.DynamicalForm("x y", ["1e-12*(x^4 + x^2*y^2 + sin(y)^2 + 1)", "x'' + x"]))
    assert all(leaf.real != "yes" for leaf in tree.leaves)


def test_factors_are_split_off_linear_variables():
    """Products of factors that are irreducible at sight: linear in a variable with coprime coefficients, or a sum of squares."""
    ring, a, b, x, y = sympy.ring("a b x y", sympy.QQ)
    factors = {a * x + b: 1, a**2 - x * y: 1, y**2 + 1: 2, 2 * a * y - 3 * x: 1}
    whole = math.prod((f**power for f, power in factors.items()), start=ring(sympy.Rational(-5, 7)))
    assert dict(irreducible(whole)) == factors
    assert dict(irreducible(6 * x * (y - 1))) == {x: 1, y - 1: 1}


def test_faults_at_several_points_are_relative_to_terms_and_changes():
    """Both coordinates count with the larger of them: x*y - 2 at (1, 3) is off by 1, and changes by 3*3 + 1*3 with them."""
    x, y = Coordinate("x"), Coordinate("y")
    ready = Faults([x * y - 2, 1 / (x - 5) + y])
    assert ready.largest({x: 1.0, y: 3.0}) == pytest.approx(2.75 / 3.25)  # of the second: its terms are larger than its change
    assert ready.largest({x: 5.0, y: 0.4}) == math.inf
    assert Faults([x * y - 2]).largest({x: 1.0, y: 3.0}) == largest_fault([x * y - 2], {x: 1.0, y: 3.0}) == pytest.approx(1 / 12)
    assert Faults([x * y - 2]).largest({x: 1.0, y: 2.0}) == 0


@pytest.mark.parametrize(
    ("lagrangian", "wanted"),
    [
        ("y'^2/2 + a*x*y + a*x^2*y", {"a"}),  # a common factor of an equation
        ("x'^2/2 + y'^2/2 + w*(x^2 + a^2*y^2)", {"a"}),  # a coefficient of a square
        ("x'^2/2 + y'^2/2 + w*((x - y)^2 + a^2*(y - 1)^2)", {"a"}),
        ("x'^2/2 + y'^2/2 + w*(x^2 + a^2)", {"a"}),
        ("x'^2/2 + y'^2/2 + w*(y^2 + (a^2 + b^2)*x^2)", {"a**2 + b**2"}),
        ("x'^2/2 + y'^2/2 + w*(x^2 + (a^2 + 1)*y^2)", set()),
        ("x'^2/2 + y'^2/2 + w*(x^2 + y^2/c)", set()),
    ],
)
def test_common_factors_and_coefficients_of_squares_are_assumed_not_to_vanish(lagrangian: str, wanted: set[str]) -> None:
    """At a = 0 the first system leaves x free, and x^2 + a^2 y^2 = 0 leaves y free: the trees for numbers are other ones there."""
    names = "x y" if "w" not in lagrangian else "x y w"
    tree = ch.constraint_algorithm(ch.System(names, {"a": "real", "b": "real", "c": "positive"}, lagrangian=lagrangian))
    assert tree.complete
    assert {str(e) for e in tree.assumptions} == wanted
    if wanted == {"a"}:
        zero = ch.constraint_algorithm(ch.System(names, lagrangian=lagrangian.replace("a", "0")))
        described = {(leaf.dimension, leaf.free_functions) for leaf in tree.leaves}
        assert {(leaf.dimension, leaf.free_functions) for leaf in zero.leaves} != described
