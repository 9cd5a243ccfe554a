"""The assembler: any order, explicit time, any frame, any algebra; checked against derivations that share no code with it."""

import numpy as np
import pytest
import sympy

import chetaev as ch
from chetaev.core.calculus import SYMBOLIC, Calculus, Frame, total_derivative
from chetaev.core.symbols import TIME, Coordinate, Jet
from chetaev.mechanics.assemble import euler_lagrange


def sympy_euler_lagrange(lagrangian, coordinates):
    """E_i by SymPy's own variational calculus on functions of time; its sign is L_q - D L_v."""
    from sympy.calculus.euler import euler_equations

    t = sympy.Symbol("t")
    functions = [sympy.Function(q.base)(t) for q in coordinates]
    return [sympy.expand(-eq.lhs.doit()) for eq in euler_equations(ch.to_sympy(lagrangian, t), functions, t)], t


@pytest.mark.parametrize(
    "text",
    [
        "m/2*x'^2 - k*x^4*t + x*y'*sin(y)",
        "x''^2/2*exp(y) - x'*y'*t + y'^4",
        "x'''^2*y + x''*y''*x' - t^2*x*y'",
        "x''*y'*x + t*x''",
    ],
)
def test_lagrangians_of_any_order_agree_with_sympys_variational_calculus(text):
    system = ch.System("x y", "m k", lagrangian=text)
    ours = [row.lhs for row in ch.derive(system).rows]
    theirs, t = sympy_euler_lagrange(system.lagrangian, system.coordinates)
    for a, b in zip(ours, theirs, strict=True):
        assert sympy.expand(ch.to_sympy(a, t).doit() - b) == 0


def test_a_total_time_derivative_has_no_euler_lagrange_expression():
    x, y = Coordinate("x"), Coordinate("y")
    for g in (x**2 * y * TIME, sympy.sin(x * y.d()), x.d() * y.d(2)):
        lagrangian = total_derivative(g)
        rows = euler_lagrange(Calculus(SYMBOLIC, Frame.of_coordinates([x, y])), lagrangian)
        assert [sympy.simplify(e) for e in rows] == [0, 0]


def rotating_frame():
    """Velocities along and across a skate, and its spin: a frame with brackets."""
    x, y, theta = (Coordinate(n) for n in ("x", "y", "theta"))
    u, v, w = (Coordinate(n).d() for n in ("u", "v", "w"))
    definitions = {
        u: x.d() * sympy.cos(theta) + y.d() * sympy.sin(theta),
        v: -x.d() * sympy.sin(theta) + y.d() * sympy.cos(theta),
        w: theta.d() * (2 + sympy.sin(x)),
    }
    return (x, y, theta), (u, v, w), definitions


def moving(coordinates, velocities):
    r"""The frame of $\xi^a = A^a_i(q)\, q'^i$: fields are the columns of $A^{-1}$; from $d\omega^c(X_a, X_b) = -\omega^c([X_a, X_b])$ the
    structure functions are $C^c_{ab} = \sum_{ij} (\partial_j A^c_i - \partial_i A^c_j) X_a^i X_b^j$.
    """
    forms = sympy.Matrix([[expression.diff(q.d()) for q in coordinates] for expression in velocities.values()])
    fields, n = forms.inv(), range(len(coordinates))

    def curl(c, a, b):
        slopes = {(i, j): forms[c, i].diff(coordinates[j]) - forms[c, j].diff(coordinates[i]) for i in n for j in n}
        return sympy.Add(*[slope * fields[i, a] * fields[j, b] for (i, j), slope in slopes.items()])

    structure = {(a, b): {c: e for c in n if (e := curl(c, a, b)) != 0} for a in n for b in n if a < b}
    columns = tuple({q: fields[i, a] for i, q in enumerate(coordinates) if fields[i, a] != 0} for a in n)
    return Frame(tuple(velocities), columns, structure)


@pytest.mark.parametrize("order", [1, 2])
def test_a_moving_frame_gives_the_projections_of_the_coordinate_rows(order):
    """E_a in the frame equals X_a^i E_i in coordinates, for a Lagrangian of first and of second order (Hamel)."""
    coordinates, velocities, definitions = rotating_frame()
    frame = moving(coordinates, definitions)
    x, y, theta = coordinates
    u, v, w = velocities
    in_frame = (3 * u**2 + 2 * u * w + v**2 * (1 + x**2) + w**2) / 2 - x * y * sympy.cos(theta)
    if order == 2:
        in_frame += u.d() * w.d() * (1 + y**2) + v.d() ** 2
    substitution = {z.d(k): total_derivative(e, k) for z, e in definitions.items() for k in range(order)}
    in_coordinates = in_frame.xreplace(substitution)

    framed = euler_lagrange(Calculus(SYMBOLIC, frame), in_frame)
    plain = euler_lagrange(Calculus(SYMBOLIC, Frame.of_coordinates(coordinates)), in_coordinates)

    written = {z.d(k): total_derivative(e, k) for z, e in definitions.items() for k in range(2 * order)}
    chance = np.random.default_rng(7)
    symbols = [q.d(k) for q in coordinates for k in range(2 * order + 1)]
    at = dict(zip(symbols, map(sympy.Float, chance.normal(size=len(symbols)), [40] * len(symbols)), strict=True))
    for field, e in zip(frame.fields, framed, strict=True):
        projected = sum(component * plain[coordinates.index(q)] for q, component in field.items())
        difference = (e.xreplace(written) - projected).subs(at).evalf(30)
        assert abs(difference) < 1e-25


def test_structure_functions_are_those_of_the_brackets():
    coordinates, _, definitions = rotating_frame()
    frame = moving(coordinates, definitions)
    at = dict(zip(coordinates, (0.3, -0.4, 0.5), strict=True))
    for (a, b), components in frame.structure.items():
        for q in coordinates:
            bracket = sum(
                frame.fields[a].get(z, 0) * sympy.diff(frame.fields[b].get(q, 0), z)
                - frame.fields[b].get(z, 0) * sympy.diff(frame.fields[a].get(q, 0), z)
                for z in coordinates
            )
            combination = sum(value * frame.fields[c].get(q, 0) for c, value in components.items())
            assert abs((bracket - combination).subs(at)) < 1e-14
    assert frame.bracket(1, 0) == {c: -e for c, e in frame.bracket(0, 1).items()}


def test_the_assembler_runs_on_another_algebra():
    """A second algebra, numbers carried by Taylor coefficients at one point, gives the numbers of the symbolic rows."""

    class Wrapped:
        """A stand-in for an automatic-differentiation graph: expressions behind a class that SymPy does not know."""

        def __init__(self, e):
            self.e = sympy.S(e)

        def __add__(self, other):
            return Wrapped(self.e + other.e)

        def __sub__(self, other):
            return Wrapped(self.e - other.e)

        def __mul__(self, other):
            return Wrapped(self.e * other.e)

    class WrappedAlgebra:
        def of(self, expression):
            return Wrapped(expression)

        def gradient(self, e, symbols):
            return [Wrapped(sympy.diff(e.e, z)) for z in symbols]

        def along(self, expressions, rates):
            return [Wrapped(sum((rate.e * sympy.diff(e.e, z) for z, rate in rates.items()), sympy.S.Zero)) for e in expressions]

        def symbols(self, e):
            return e.e.free_symbols

        def symbols_of(self, expressions):
            return set().union(*[e.e.free_symbols for e in expressions])

    for name in ("rocard", "disk-contact"):
        equations = ch.derive(ch.gallery(name))
        for ours, other in zip(equations.rows, equations.assembled(WrappedAlgebra()), strict=True):
            assert sympy.expand(ours.residual - other.residual.e) == 0


def test_total_derivative_includes_time_inputs_and_every_jet():
    system = ch.System("x", lagrangian="x'^2", inputs={"u": None})
    assert ch.parse("D(t^2*u*x')", system) == ch.parse("2*t*u*x' + t^2*u'*x' + t^2*u*x''", system)
    assert issubclass(Coordinate, Jet)


def test_dissipation_and_forces_enter_with_their_signs():
    """E_x = u - dF/dx': m x'' = u - c x' - 2 d x' y'^2, and a constraint's reaction is added."""
    system = ch.System(
        "x y", "m c d u", lagrangian="m*(x'^2 + y'^2)/2", dissipation="c*x'^2/2 + d*x'^2*y'^2", forces={"x": "u"}, kinematic=["y' = x*x'"]
    )
    equations = ch.derive(system, ch.DAlembert())
    row = next(r.residual for r in equations.rows if r.label == "E_x")
    by_hand = ch.parse("m*x'' - u + c*x' + 2*d*x'*y'^2", equations) - equations.reaction("x")
    assert sympy.expand(row - by_hand) == 0
    assert sympy.expand(equations.reaction("x") + ch.parse("lambda1*x", equations)) == 0
