"""Constraint structures and constrained systems, against multipliers solved by numbers and against the principle of Chetaev."""

import numpy as np
import pytest
import sympy
from models_in_charts import in_chart

import chetaev as ch
from chetaev.core.calculus import total_derivative
from chetaev.core.symbols import TIME
from chetaev.core.values import Tape
from chetaev.mechanics.ranks.generic import points_on
from chetaev.singular.dynamical.constrained_system import constrain, pulled_back, semiholonomic, semiholonomic_degree
from chetaev.singular.dynamical.constraint_structure import ConstraintStructure
from chetaev.singular.dynamical.dynamical_form import DynamicalForm
from chetaev.singular.forms import d, is_zero, rank

# ---- tools ------------------------------------------------------------------------------------------------------------------------


def at(expressions, point):
    return np.array(Tape(list(expressions))(point), dtype=float)


def matrix_at(matrix, point):
    return at(list(matrix), point).reshape(matrix.shape)


def states(structure, form, count=3):
    """Random points of the prolonged constraint in the phase space of a form."""
    symbols = [*form.phase, *structure.jets, *form.parameters, *structure.parameters, TIME]
    found = points_on([*structure.prolonged, *structure.rows], symbols, count=count)
    assert found
    return found


def by_multipliers(form, rows, orders, point):
    """q_s from the bordered system B q_s + A + M^T lambda = 0 and the rows differentiated up to order s."""
    s, m, k = form.order, len(form.coordinates), len(rows)
    tops = [q.d(s) for q in form.coordinates]
    raised = [total_derivative(f, s - r) for f, r in zip(rows, orders, strict=True)]
    zero = dict.fromkeys(tops, sympy.S.Zero)
    big = np.zeros((m + k, m + k))
    big[:m, :m] = matrix_at(form.B, point)
    slopes = sympy.Matrix([[f.diff(q.d(r)) for q in form.coordinates] for f, r in zip(rows, orders, strict=True)])
    big[:m, m:] = matrix_at(slopes, point).T
    big[m:, :m] = matrix_at(sympy.Matrix([[f.diff(z).xreplace(zero) for z in tops] for f in raised]), point)
    right = np.concatenate([at(form.A, point), at([f.xreplace(zero) for f in raised], point)])
    return np.linalg.solve(big, -right)[:m]


def by_reduction(system, point):
    """q_s from the reduced rows: those of the independent coordinates, then the others by the constraint."""
    form, structure = system.form, system.structure
    a, b = at(system.A, point), matrix_at(system.B, point)
    first = np.linalg.solve(b, -a)
    drift = matrix_at(system.drift, point)[:, 0]
    found = np.zeros(len(form.coordinates))
    found[list(structure.independent)] = first
    found[list(structure.dependent)] = drift + matrix_at(structure.gradient, point) @ first
    return found


NONSYMMETRIC = DynamicalForm(
    "x y z",
    [
        "(2 + x^2)*x'' + 3*y''*sin(z) - x*y' + t",
        "x''/2 - (3 + z'^2)*y'' + z''*x - y^2*z'",
        "y''*x' + 2*z'' + x*y*z - 1",
    ],
)

CONSTRAINTS = {
    "affine": ["z' = y*x' - t*x"],
    "quadratic": ["x'^2 + 2*y'^2 + z'*y = 3"],
    "implicit": ["z'^3 + z' + x'*y'*t = x - 1"],
    "trigonometric": ["x'*cos(y) + y'*sin(x) + z'^2 = 1/2"],
    "two": ["z'^2 + x'*y' = 2", "y'*x - x'*z + sin(t) = 0"],
    "below": ["x^2 + y*z + sin(z) = 1 + t"],
}


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_reduced_equations_agree_with_multipliers_for_nonsymmetric_b(name):
    structure = ConstraintStructure("x y z", CONSTRAINTS[name])
    system = constrain(NONSYMMETRIC, structure)
    assert system.case == ("below" if name == "below" else "equal")
    for point in states(system.structure, NONSYMMETRIC):
        expected = by_multipliers(NONSYMMETRIC, structure.own_rows, structure.own_orders, point)
        assert np.allclose(by_reduction(system, point), expected, rtol=1e-9, atol=1e-9)


def test_transposed_b_gives_another_motion():
    """The test above can fail: with B transposed in the reduction the accelerations differ."""
    structure = ConstraintStructure("x y z", CONSTRAINTS["quadratic"])
    tops = sympy.Matrix([q.d(2) for q in NONSYMMETRIC.coordinates])
    turned = DynamicalForm("x y z", list(NONSYMMETRIC.B.T * tops + NONSYMMETRIC.A))
    (point,) = states(structure, NONSYMMETRIC, 1)
    expected = by_multipliers(NONSYMMETRIC, structure.own_rows, structure.own_orders, point)
    assert np.abs(by_reduction(constrain(turned, structure), point) - expected).max() > 1e-2


THIRD = DynamicalForm("x y", ["x''' + y*y''' - x''*x' + t", "2*x''' - 3*y''' + y''*x + y'"])


@pytest.mark.parametrize("row", ["y'' = x''*x' + t*y", "y''^2 + x''*y = 4 + t", "y' = x'^2*x", "y = x^3 - t", "x'^2 + y'^2 + x*y' = 3"])
def test_third_order_forms_with_constraints_of_order_2_1_and_0(row):
    structure = ConstraintStructure("x y", [row])
    system = constrain(THIRD, structure)
    assert system.case == ("equal" if max(structure.own_orders) == 2 else "below")
    for point in states(system.structure, THIRD):
        expected = by_multipliers(THIRD, structure.own_rows, structure.own_orders, point)
        assert np.allclose(by_reduction(system, point), expected, rtol=1e-8, atol=1e-8)


# ---- the gallery under the principle of Chetaev ---------------------------------------------------------------------------------------

LARGE = {"bicycle"}  # its reduced equations are formulas of millions of operations
SINGULAR = {"transformer", "rocard"}  # under this principle further relations restrict the states, so that random states are none


def gallery_cases():
    found = []
    for name in ch.gallery():
        system = ch.gallery(name).system
        if name not in LARGE and not system.groups and system.action is None and system.kinematic:
            found.append(name)
    return found


def constrained(name):
    model = ch.gallery(name)
    system = model.system.replace(variational=None)
    free = DynamicalForm.of(ch.derive(system.replace(kinematic=()), ch.Hamilton()))
    return model, system, constrain(free, ConstraintStructure.of(system))


def named(point, symbols):
    return {z.name: point[z] for z in symbols}


@pytest.mark.parametrize("name", [n for n in gallery_cases() if n not in SINGULAR])
def test_gallery_agrees_with_chetaev(name):
    """Accelerations at random states: the pipeline with multipliers, and the reduced equations of 003."""
    _, system, reduced = constrained(name)
    equations = ch.derive(system, ch.Chetaev())
    structure, form = reduced.structure, reduced.form
    met = 0
    for point in states(structure, form, 4):
        parameters = named(point, system.parameters)
        try:
            now = ch.evaluate(equations, named(point, form.phase), parameters=parameters, t=point[TIME])
        except ch.StateError:
            continue
        met += 1
        values = {**point, **{z: now[z.name] for q in form.coordinates for z in (q, q.d(), q.d(2))}}
        scale = max(1.0, *(abs(now[q.d(2).name]) for q in form.coordinates))
        if reduced.case == "above":
            assert np.abs(at(reduced.rows, values)).max() < 1e-10 * scale**2
        else:
            expected = [now[q.d(2).name] for q in form.coordinates]
            assert np.allclose(by_reduction(reduced, point), expected, rtol=1e-12 * scale, atol=1e-12 * scale)
    assert met


@pytest.mark.parametrize("name", [n for n in ch.gallery() if ch.gallery(n).system.groups])
def test_jets_of_groups_are_refused(name):
    """Contact forms and constraint structures live on the jets of ordinary coordinates."""
    with pytest.raises(ch.ModelError, match="works in ordinary coordinates"):
        ConstraintStructure.of(ch.gallery(name).system)


CHARTED = ["suslov", "roller-racer"]


@pytest.mark.parametrize("name", CHARTED)
def test_groups_in_a_chart_agree_with_chetaev(name):
    """At the start of the gallery: accelerations of the group system, and those of the reduced equations in ordinary coordinates."""
    chart = in_chart(ch.gallery(name))
    now, system = ch.evaluate(ch.gallery(name)), chart.model.system
    free = DynamicalForm.of(ch.derive(system.replace(kinematic=()), ch.Hamilton()))
    reduced = constrain(free, ConstraintStructure.of(system))
    there = ch.evaluate(chart.model)
    point = {
        **{z: there.jets[z] for z in free.phase},
        **{p: chart.model.parameters[p.name] for p in system.parameters},
        TIME: chart.model.t[0],
    }
    tops = dict(zip([q.d(2) for q in free.coordinates], by_reduction(reduced, point), strict=True))
    for velocity, e in chart.velocities.items():
        found = float(total_derivative(e).subs({**point, **tops}))
        assert found == pytest.approx(now[velocity.d().name], rel=1e-10, abs=1e-10)
    for q in system.coordinates:
        if q.d(2).name in now:
            assert tops[q.d(2)] == pytest.approx(now[q.d(2).name], rel=1e-10, abs=1e-10)


def test_a_constraint_above_the_phase_space_has_no_b():
    _, _, reduced = constrained("prescribed-curvature")
    assert reduced.case == "above" and reduced.B.is_zero_matrix
    assert all(len(blade) == 2 and TIME in blade for blade in reduced.alpha.terms)


# ---- the structures themselves ------------------------------------------------------------------------------------------------------


def test_rank_of_the_constraint_distribution():
    """Rank rm + m + 1 - 2k on jets of order r, and corank k on the constraint."""
    for coordinates, rows in [("x y z", ["z' = x'*y'"]), ("x y z w", ["w'' = x''*y'' + z", "z'' = y*x''"]), ("x y", ["x'^2 + y'^2 = 1"])]:
        structure = ConstraintStructure(coordinates, rows)
        m, r, k = len(structure.coordinates), structure.order, structure.corank
        inside = rank(structure.canonical)
        assert inside == r * m + m + 1 - 2 * k
        if structure.solved is not None:
            assert len(structure.variables) - inside == k


def test_holonomic_rows_leave_no_form_and_semiholonomic_ones_are_integrable():
    holonomic = ConstraintStructure("x y", ["y = x^3"])
    assert holonomic.own_orders == (0,) and all(is_zero(form) for form in holonomic.canonical_forms)
    assert semiholonomic("x y z", ["z - x*y"], 1).integrable is True
    assert ConstraintStructure("x y z", ["z' = y*x'"]).integrable is False
    assert semiholonomic("x y z", ["z - x*y"], 2).order == 2


def test_refusals():
    with pytest.raises(ch.ModelError, match="not independent in their highest derivatives"):
        ConstraintStructure("x y z", ["x' + y' = 0", "x' + y' + z = 1"])
    with pytest.raises(ch.ModelError, match="2 rows for 2 coordinates"):
        ConstraintStructure("x y", ["x' = 1", "y' = 2"])
    with pytest.raises(ch.ModelError, match="no real point"):
        ConstraintStructure("x y", ["x'^2 + y'^2 + 1 = 0"])
    with pytest.raises(ch.ModelError, match="on the jets of x y"):
        constrain(NONSYMMETRIC, ConstraintStructure("x y", ["y' = x"]))
    with pytest.raises(ch.ModelError, match="not solved"):
        ConstraintStructure("x y", ["x'^2 + y'^2 = 1"]).semispray({})
    system = ch.gallery("trailer").system
    with pytest.raises(ch.ModelError, match=r"not formed within a budget of 0\.05 seconds: the work allowed ran out"):
        constrain(DynamicalForm.of(ch.derive(system.replace(kinematic=()))), ConstraintStructure.of(system), seconds=0.05)


def test_semiholonomic_degree():
    x, y = ch.coordinates("x y")
    u = sympy.sin(x) * y + TIME * x**2
    for p in range(4):
        assert semiholonomic_degree(total_derivative(u, p)) == p
    assert semiholonomic_degree(x * y.d() - y * x.d()) == 0
    assert semiholonomic_degree(total_derivative(x * y.d() - y * x.d())) == 1


def test_pull_back_to_a_moving_surface_is_the_euler_lagrange_form_of_the_restricted_lagrangian():
    free = ch.System("x y z", "g", lagrangian="(x'^2 + 2*y'^2 + z'^2*(1 + x^2))/2 + x*y'*z - g*z")
    x, y = ch.coordinates("x y")
    (g,) = (p for p in free.parameters)
    surface = x**2 * y - sympy.sin(TIME)
    bent = free.replace(
        coordinates="x y",
        lagrangian=free.lagrangian.xreplace({ch.Coordinate("z").d(): total_derivative(surface), ch.Coordinate("z"): surface}),
    )
    expected = DynamicalForm.of(ch.derive(bent))
    found = pulled_back(DynamicalForm.of(ch.derive(free)), {ch.Coordinate("z"): surface})
    assert g in found.parameters
    for a, b in zip(found.rows, expected.rows, strict=True):
        assert ch.forms.is_zero(a - b)


def test_second_order_lagrangian_on_a_holonomic_surface():
    """003, 11.6: also for a Lagrangian of second order, whose form has order four."""
    free = ch.System("x y", lagrangian="(x''^2 + 3*y''^2)/2 - x*y'^2")
    x, y = ch.coordinates("x y")
    put = {y.d(k): total_derivative(x**2, k) for k in range(3)}
    expected = DynamicalForm.of(ch.derive(ch.System("x", lagrangian=free.lagrangian.xreplace(put))))
    found = pulled_back(DynamicalForm.of(ch.derive(free)), {y: x**2})
    assert ch.forms.is_zero(found.rows[0] - expected.rows[0])
    reduced = constrain(DynamicalForm.of(ch.derive(free)), ConstraintStructure("x y", ["y = x^2"]))
    assert reduced.case == "below" and ch.forms.is_zero(reduced.rows[0] - expected.rows[0])


def test_equations_join_reduced_rows_and_constraints():
    system = constrain(DynamicalForm("x y", ["-x''", "-y'' - 1"]), ConstraintStructure("x y", ["y' = x*x'"]))
    assert len(system.equations.rows) == 2 and system.equations.rows[1] == system.own.own_rows[0]
    assert "codimension 1" in str(system.structure)


def test_forms_are_text_and_restrict_to_zero_along_paths():
    """h phi = f dt (10.4): along a section that obeys the rows the constraint forms vanish."""
    structure = ConstraintStructure("x y", ["y' = x*x'"])
    x, y = ch.coordinates("x y")
    section = ch.forms.prolonged_map({x: sympy.sin(TIME), y: sympy.sin(TIME) ** 2 / 2}, 1)
    assert is_zero(ch.forms.pull_back(structure.forms[0], section))
    wrong = ch.forms.prolonged_map({x: sympy.sin(TIME), y: sympy.sin(TIME)}, 1)
    assert is_zero(ch.forms.pull_back(structure.forms[0], wrong)) is False
    assert d(structure.forms[0]).degree == 2
