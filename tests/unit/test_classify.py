"""Integrability, redundancy, and C_V against C_K."""

import pytest
import sympy

import chetaev as ch
from chetaev.core.symbols import Coordinate
from chetaev.mechanics.distributions import Pfaffian, bracket
from chetaev.mechanics.ranks.generic import points_on


def classified(coordinates, rows, **parts):
    lagrangian = " + ".join(f"{q}'^2" for q in coordinates.split())
    return ch.classify(ch.System(coordinates, parts.pop("parameters", ""), lagrangian=lagrangian, kinematic=rows, **parts))


@pytest.mark.parametrize(
    ("coordinates", "rows", "integrals"),
    [
        ("x y", ["x*x' + y*y' = 0"], ["x^2 + y^2"]),
        ("x y", ["x*y' - y*x' = 0"], ["y/x"]),
        ("x y z", ["y*z*x' + x*z*y' + x*y*z' = 0"], ["x*y*z"]),
        ("x y", ["x' = 2*t"], ["x - t^2"]),
        ("x y theta", ["y'*cos(theta) = x'*sin(theta)", "theta' = 0"], ["theta", "y*cos(theta) - x*sin(theta)"]),
        ("x y z", ["z' = x*y' + y*x'", "x' + y' = 0"], ["z - x*y", "x + y"]),
        ("x phi", ["x' = 3*phi'"], ["x - 3*phi"]),
        ("x y", ["x'*exp(y) + x*y'*exp(y) = 0"], ["x*exp(y)"]),
    ],
)
def test_holonomic_in_disguise(coordinates, rows, integrals):
    found = classified(coordinates, rows)
    assert found.integrable is True
    assert found.holonomic is True
    assert found.integral_count == len(integrals) == len(found.integrals)
    names = [Coordinate(q) for q in coordinates.split()] + [sympy.Symbol("t", real=True)]
    stated = [ch.parse(text, found.system) for text in integrals]
    jacobian = sympy.Matrix([[f.diff(z) for z in names] for f in [*stated, *found.integrals]])
    at = {z: sympy.Rational(k + 2, 3 * k + 4) for k, z in enumerate(names)}
    assert jacobian.subs(at).evalf(30).rank(iszerofunc=lambda e: abs(e) < 1e-20) == len(integrals)


@pytest.mark.parametrize(
    ("coordinates", "rows"),
    [
        ("x y z", ["z' = y*x'"]),
        ("x y theta", ["y'*cos(theta) = x'*sin(theta)"]),
        ("x y theta varphi", ["x' = theta'*cos(varphi)", "y' = theta'*sin(varphi)"]),
        ("x y", ["x' = y"]),
    ],
)
def test_nonholonomic(coordinates, rows):
    found = classified(coordinates, rows)
    assert found.integrable is False
    assert found.integral_count == 0


def test_rows_nonintegrable_alone_may_be_integrable_together():
    assert classified("x y z", ["z' = y*x'"]).integrable is False
    assert classified("x y z", ["z' = y*x'", "x' = 0"]).integrable is True
    assert classified("x y", ["x' = y", "y' = -x"]).integrable is True  # time included: the flow of a field


def test_an_integral_inside_a_nonintegrable_set_is_found():
    found = classified("x y z w", ["z' = y*x'", "w' = x'"])
    assert (found.integrable, found.integral_count) == (False, 1)
    assert [ch.show(f) for f in found.integrals] == ["w - x"]


def test_position_constraints_count_for_integrability():
    """z' = x*y' is nonholonomic in space and integrable on the circle x^2 + y^2 = 1."""
    assert classified("x y z", ["z' = x*y'"]).integrable is False
    assert classified("x y z", ["x^2 + y^2 = 1", "z' = x*y'"]).integrable is True


def test_inputs_are_functions_of_time():
    assert classified("x y", ["x' = u", "y' = u'"], inputs={"u": "sin(t)"}).integrable is True
    assert classified("x", ["x' = u"], inputs={"u": None}).integrable is True
    assert classified("x y", ["x' = u*y"], inputs={"u": None}).integrable is False


@pytest.mark.parametrize(
    ("rows", "redundant"),
    [
        (["x' = y", "2*x' = 2*y"], (1,)),
        (["x^2 + y^2 = 1", "x*x' + y*y' = 0"], (1,)),
        (["x*x' + y*y' = 0", "x^2 + y^2 = 1"], (0,)),
        (["x' = y", "x'' = y'"], (1,)),
        (["x' = y", "y' = x"], ()),
        (["x'^2 = y'^2 + 1", "x' = z", "y'^2 = z^2 - 1"], (2,)),
    ],
)
def test_redundant_rows(rows, redundant):
    assert classified("x y z", rows).redundant == redundant


def test_contradictory_rows():
    found = classified("x y", ["x' = 1", "x' = 2"])
    assert found.contradictory
    assert "no velocity satisfies" in str(found)


@pytest.mark.parametrize(
    ("variational", "word"),
    [
        (None, "not stated"),
        (["2*δx = 2*cos(varphi)*δtheta", "δy = sin(varphi)*δtheta"], "equals"),
        (["δx = cos(varphi)*δtheta"], "contains"),
        ([], "contains"),
        (["δx = cos(varphi)*δtheta", "δy = sin(varphi)*δtheta", "δvarphi = 0"], "is contained in"),
        (["δx = 0", "δy = 0"], "differs"),
    ],
)
def test_virtual_displacements_against_the_constraints(variational, word):
    rows = ["x' = theta'*cos(varphi)", "y' = theta'*sin(varphi)"]
    assert classified("x y theta varphi", rows, variational=variational).virtual == word


def test_equality_is_judged_on_the_constraint_manifold():
    """x'*δx + y'*δy = 0 and (x' + x'^2 + y'^2 - 1)*δx + y'*δy = 0 agree where the speed is 1 and nowhere else."""
    found = classified("x y", ["x'^2 + y'^2 = 1"], variational=["(x' + x'^2 + y'^2 - 1)*δx + y'*δy = 0"])
    assert found.virtual == "equals"


def test_brackets_and_annihilators():
    x, y, z = (Coordinate(n) for n in "xyz")
    assert bracket({x: sympy.S.One, z: y}, {y: sympy.S.One}) == {z: -1}
    heisenberg = Pfaffian((x, y, z), ((-y, sympy.S.Zero, sympy.S.One),), tuple(points_on([], [x, y, z])))
    assert heisenberg.rank == 1
    for field in heisenberg.fields:
        assert sympy.simplify(sum(c * f for c, f in zip(heisenberg.forms[0], [field.get(q, 0) for q in (x, y, z)], strict=True))) == 0
    assert heisenberg.integrable is False
    assert heisenberg.integrable_part.rank == 0


def test_the_curvature_is_that_of_frobenius():
    """theta^a([X_f, X_g]) = X_g(R^a_f) - X_f(R^a_g) for theta^a = dz_a + R^a_f dz_f, with SymPy's own derivatives."""
    variables = x, y, z, w = tuple(Coordinate(n) for n in "xyzw")
    forms = ((-y * sympy.sin(x), -w, sympy.S.One, sympy.S.Zero), (-x * y, -z * sympy.exp(x), sympy.S.Zero, sympy.S.One))
    found = Pfaffian(variables, forms, tuple(points_on([], list(variables))))
    rows, pivots, (f, g) = found.reduced.rows, found.reduced.pivots, list(found.reduced.free_columns())

    def along(k, e):
        return e.diff(variables[k]) - sum(rows[a][k] * e.diff(variables[p]) for a, p in pivots.items())

    expected = [along(g, rows[a][f]) - along(f, rows[a][g]) for a in pivots]
    assert len(found.curvature) == 1 and any(e != 0 for e in expected)
    assert [sympy.simplify(a - b) for a, b in zip(found.curvature[0], expected, strict=True)] == [0, 0]


def test_a_missing_principle_knows_what_is_integrable():
    system = ch.System("x y", lagrangian="x'^2 + y'^2", kinematic=["y' = x*x'"])
    with pytest.raises(ch.PrincipleError, match="One holonomic constraint"):
        ch.derive(system)


def test_the_report_reads_well():
    assert str(ch.classify(ch.gallery("rocard"))).splitlines() == [
        "Rocard's tyre",
        "  kinematic[0]  linear   x1' = psi'*cos(theta - epsilon)",
        "  kinematic[1]  linear   x2' = psi'*sin(theta - epsilon)",
        "  kinematic[2]  order 2  -psi''*tan(epsilon) + psi'*(theta' - epsilon') = sign(psi')*a/M*tan(epsilon)",
        "  kinematic[0] kinematic[1]: not integrable (nonholonomic)",
        "  virtual displacements: C_V differs from that of d'Alembert and Chetaev; only VirtualWork() applies",
    ]


@pytest.mark.parametrize(
    "rows",
    [
        ["l*sin(a) + l*sin(b) + l*sin(c) = d", "l*cos(a) + l*cos(c) = l*cos(b)"],
        ["sin(a) + sin(b) + sin(c) = d", "(l - k)*(cos(a) + cos(c)) = (l - k)*cos(b)"],
        ["l*sin(a) + l*sin(b) = d", "l*cos(a) = l*cos(b)"],
    ],
)
def test_rows_that_hold_for_special_parameters_are_not_redundant(rows):
    """l = 0, or l = k, makes a row hold for all angles; no such point tells about other values. Gradients are (cos, cos, cos) and
    (-sin, sin, -sin) up to factors, and independent."""
    system = ch.System("a b c", "l k d", lagrangian="a'^2 + b'^2 + c'^2", kinematic=rows)
    assert ch.classify(system).redundant == ()
    assert ch.analyze(ch.derive(system, ch.DAlembert())).dimension == 2
    again = system.replace(kinematic=[*rows, f"2*({rows[1].split(' = ')[0]}) = 2*({rows[1].split(' = ')[1]})"])
    assert ch.classify(again).redundant == (2,)
