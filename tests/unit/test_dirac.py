"""Dirac and Bergmann's analysis against the literature, against Euler-Lagrange equations by numbers, and against other algorithms."""

import itertools
from functools import cache

import numpy as np
import pytest
import sympy

import chetaev as ch
from chetaev.core.symbols import TIME, coordinates
from chetaev.core.values import Tape, Undefined
from chetaev.mechanics.ranks.generic import points_on
from chetaev.singular.dirac_bergmann.classes import poisson_bracket

SYSTEMS = {
    "gauge": ch.System("q1 q2", lagrangian="(q1' - q2)^2/2"),
    "christ-lee": ch.System("r theta z", "k", lagrangian="r'^2/2 + r^2*(theta' - z)^2/2 - k*r^4"),
    "affine term": ch.System("q1 q2", lagrangian="q1'^2/2 + q2*q1' - q1*q2^2"),
    "strong field": ch.System("x y", "B k", lagrangian="B/2*(x'*y - y'*x) - k*x^2*y"),
    "field that changes": ch.System("x y", lagrangian="(x + x^3/3)*y' - x*y - y^2"),
    "relativistic": ch.System("T x y", {"m": "positive"}, lagrangian="-m*sqrt(T'^2 - x'^2 - y'^2) - x*T'"),
    "rotor": ch.System("x y lam", {"m": "positive", "g": "real"}, lagrangian="m*(x'^2 + y'^2)/2 - m*g*y + lam*(x^2 + y^2 - 1)"),
    "cawley": ch.System("x y z", lagrangian="x'*z' + y*z^2/2"),
    "proca": ch.System("a0 a1 a2", {"M": "positive"}, lagrangian="((a1' - a0)^2 + (a2' - 2*a0)^2 + M^2*(a0^2 - a1^2 - a2^2))/2"),
    "moving": ch.System("q1 q2", lagrangian="(q1' - t*q2)^2/2 - q2^2*sin(t)/2 - q1^2"),
    "mixed": ch.System("x y z", lagrangian="(x' + y')^2/2 + z*(x - 2*y) - x^2"),
    "trigonometric": ch.System("a b c", lagrangian="(a' + b'*cos(a))^2/2 + c'*sin(b) - c*a"),
    "lorentz": ch.System("x y w", lagrangian="(x'^2 - y'^2)/2 + w*(x' - y'/2) + x*y"),
    "regular": ch.System("x y", "k", lagrangian="(x'^2 + 3*y'^2)/2 + x*y'*y - k*x*y"),
}


@cache
def analysed(name):
    return ch.dirac(SYSTEMS[name])


class _Found:
    def __getitem__(self, name):
        return analysed(name)


@pytest.fixture
def found():
    return _Found()


def points_of(analysis, count=4):
    symbols = [*analysis.coordinates, *analysis.momenta, *analysis.source.parameters, TIME]
    points = points_on(list(analysis.constraints), symbols, count=count)
    assert points
    return points


# ---- the motion -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_motion_solves_the_euler_lagrange_equations(found, name):
    """q' and q'' along the flow of the total Hamiltonian, with arbitrary free multipliers, put into d/dt L_v - L_q."""
    analysis = found[name]
    rates = dict(analysis.rates)
    free = {u: sympy.Symbol(f"{u.name}_dot", real=True) for u in analysis.free}
    rows = [row.residual for row in ch.derive(SYSTEMS[name]).rows]
    met = 0
    for number, point in enumerate(points_of(analysis, 6)):
        values = {
            **point,
            **{u: 0.4 + 0.3 * k + 0.1 * number for k, u in enumerate(free)},
            **{v: -0.7 + 0.2 * k for k, v in enumerate(free.values())},
        }
        jets = {}
        for q in analysis.coordinates:
            velocity = rates[q]
            terms = [velocity.diff(z) * e for z, e in rates.items()] + [velocity.diff(u) * v for u, v in free.items()]
            acceleration = sympy.Add(velocity.diff(TIME), *terms)
            jets[q.d()], jets[q.d(2)] = Tape([velocity, acceleration])(values)
        try:
            residual = Tape(rows)({**values, **jets})
        except Undefined:
            continue
        met += 1
        assert np.abs(residual).max() < 1e-9 * max(1.0, *map(abs, jets.values())) ** 2
    assert met


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_flow_stays_on_the_final_manifold(found, name):
    analysis = found[name]
    free = dict.fromkeys(analysis.free, 0.83)
    for e in analysis.constraints:
        rate = sympy.Add(e.diff(TIME), *[e.diff(z) * r for z, r in analysis.rates.items()])
        for point in points_of(analysis):
            assert abs(Tape([rate])({**point, **free})[0]) < 1e-9


def test_relativistic_particle_moves_as_it_should():
    """With u = 1: momenta constant but for the force, and the velocity parallel to the momentum (timelike part with the other sign)."""
    analysis = ch.dirac(ch.System("T x", {"m": "positive"}, lagrangian="-m*sqrt(T'^2 - x'^2)"))
    (u,) = analysis.free
    T, x = analysis.coordinates
    p_t, p_x = analysis.momenta
    assert analysis.hamiltonian == 0 and len(analysis.first_class) == 1
    assert u.name == "u1"
    # The velocity belongs to the momenta: p_T = -m T'/sqrt(T'^2 - x'^2), p_x = m x'/sqrt(...), so x'/T' = -p_x/p_T.
    assert sympy.cancel(analysis.rates[x] / analysis.rates[T] + p_x / p_t) == 0
    assert analysis.rates[x].has(u) and analysis.rates[p_t] == 0 and analysis.rates[p_x] == 0


# ---- literature -----------------------------------------------------------------------------------------------------------------------

EXPECTED = {  # generations, first class, second class, free functions, gauge directions
    "gauge": ((1, 1), 2, 0, 1, 2),
    "christ-lee": ((1, 1), 2, 0, 1, 2),
    "affine term": ((1, 1), 0, 2, 0, 0),
    "strong field": ((2,), 0, 2, 0, 0),
    "field that changes": ((2,), 0, 2, 0, 0),
    "relativistic": ((1,), 1, 0, 1, 1),
    "rotor": ((1, 1, 1, 1), 0, 4, 0, 0),
    "cawley": ((1, 1, 1), 3, 0, 1, 1),
    "proca": ((1, 1), 0, 2, 0, 0),
    "moving": ((1, 1), 0, 2, 0, 0),
    "lorentz": ((1, 1), 0, 2, 0, 0),
    "regular": ((), 0, 0, 0, 0),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_counts_of_the_literature(found, name):
    analysis = found[name]
    generations, first, second, free, directions = EXPECTED[name]
    assert tuple(map(len, analysis.generations)) == generations
    assert (len(analysis.first_class), len(analysis.second_class), analysis.free_functions) == (first, second, free)
    assert analysis.gauge_directions == directions
    assert len(analysis.second_class) % 2 == 0


def test_gauge_model(found):
    analysis = found["gauge"]
    assert [str(e) for e in analysis.constraints] == ["p_q2", "p_q1"]
    assert analysis.physical_dimension == 0 and analysis.conjecture is True


def test_christ_lee_generator_is_the_angular_momentum(found):
    analysis = found["christ-lee"]
    assert [str(e) for e in analysis.constraints] == ["p_z", "p_theta"]
    assert analysis.physical_dimension == 2 and ch.show(analysis.excluded[0]) == "r"


def test_cawley_breaks_the_conjecture(found):
    """The secondary constraint is a square; p_x and z are first class but move no state."""
    analysis = found["cawley"]
    assert [ch.show(e) for e in analysis.irregular] == ["z^2/2"]
    assert analysis.conjecture is False and "fails" in str(analysis)


def test_strong_field_bracket(found):
    """The guiding centre: up to a total derivative L = B y x', so B y is the momentum of x and [x, y] = 1/B."""
    analysis = found["strong field"]
    B, _ = analysis.source.parameters
    assert sympy.cancel(analysis.bracket("x", "y") - 1 / B) == 0
    assert sympy.cancel(analysis.bracket("y", "x") + 1 / B) == 0
    assert analysis.rates[analysis.coordinates[1]] != 0


def test_field_that_changes_bracket(found):
    """L = a(x) y': a is the momentum of y, so [y, a(x)] = 1 and [x, y] = -1/a' = -1/(1 + x^2)."""
    analysis = found["field that changes"]
    x = analysis.coordinates[0]
    assert sympy.cancel(analysis.bracket("x", "y") + 1 / (1 + x**2)) == 0
    assert not analysis.excluded


def test_rotor_brackets(found):
    """On the circle: [x, p_x] = 1 - x^2 = y^2, [x, p_y] = -x y, [p_x, p_y] = y p_x - x p_y, [x, y] = 0."""
    analysis = found["rotor"]
    x, y, lam = analysis.coordinates
    p_x, p_y, _ = analysis.momenta
    values = {
        ("x", "p_x"): y**2,
        ("y", "p_y"): x**2,
        ("x", "p_y"): -x * y,
        ("y", "p_x"): -x * y,
        ("p_x", "p_y"): y * p_x - x * p_y,
        ("x", "y"): 0 * x,
    }
    for (f, g), value in values.items():
        for point in points_of(analysis):
            a, b = Tape([analysis.bracket(f, g), value])(point)
            assert a == pytest.approx(b, abs=1e-10)
    m, g = analysis.source.parameters
    multiplier = analysis.reduce(lam)
    for point in points_of(analysis):
        # m x'' = 2 lam x, and the centripetal force is 2 lam = -m v^2 + m g y on the unit circle
        a, b = Tape([2 * multiplier, -(p_x**2 + p_y**2) / m + m * g * y])(point)
        assert a == pytest.approx(b, abs=1e-10)


def test_proca(found):
    """a0 is determined by the Gauss law: p1 + 2 p2 = M^2 a0 with p_i conjugate to a_i."""
    analysis = found["proca"]
    a0, _, _ = analysis.coordinates
    (M,) = analysis.source.parameters
    _, p1, p2 = analysis.momenta
    assert sympy.cancel(analysis.reduce(M**2 * a0 - p1 - 2 * p2)) == 0
    assert sympy.cancel(analysis.reduce(M**2 * a0 + p1 + 2 * p2)) != 0
    assert sympy.cancel(analysis.bracket("a0", "a1") + 1 / M**2) == 0


def test_inconsistent_lagrangian():
    analysis = ch.dirac(ch.System("q1 q2", lagrangian="q1'^2/2 + q2"))
    assert analysis.consistent is False and analysis.failing == (1,) and "no motion" in str(analysis)
    timed = ch.dirac(ch.System("q1 q2", lagrangian="(q1' - t*q2)^2/2 - sin(t)*q1"))
    assert timed.consistent is False


# ---- Dirac's bracket ------------------------------------------------------------------------------------------------------------------

SECOND = ["affine term", "field that changes", "rotor", "proca", "moving", "lorentz", "mixed", "trigonometric"]


@pytest.mark.parametrize("name", SECOND)
def test_second_class_constraints_commute_with_everything(found, name):
    """Everywhere in phase space, not only on the manifold."""
    analysis = found[name]
    assert analysis.second_class
    points = points_on([], [*analysis.coordinates, *analysis.momenta, *analysis.source.parameters, TIME], count=2)
    for chi in analysis.second_class:
        for z in (*analysis.coordinates, *analysis.momenta):
            value = analysis.classes.bracket(chi, z, analysis.pairs)
            for point in points:
                assert abs(Tape([value])(point)[0]) < 1e-8


@pytest.mark.parametrize("name", ["field that changes", "rotor", "proca"])
def test_jacobi_identity(found, name):
    analysis = found[name]

    def bracket(f, g):
        return analysis.classes.bracket(f, g, analysis.pairs)

    names = [*analysis.coordinates[:2], *analysis.momenta[:2]]
    (point,) = points_on([], [*analysis.coordinates, *analysis.momenta, *analysis.source.parameters, TIME], count=1)
    for f, g, h in itertools.combinations(names, 3):
        total = bracket(bracket(f, g), h * f) + bracket(bracket(g, h * f), f) + bracket(bracket(h * f, f), g)
        terms = Tape([total, bracket(bracket(f, g), h * f)])(point)
        assert abs(terms[0]) < 1e-8 * max(1.0, abs(terms[1]))


@pytest.mark.parametrize("name", SECOND)
def test_dirac_bracket_with_the_hamiltonian_gives_the_motion(found, name):
    """z' = [z, H]* + the part of explicit time, where no multiplier is free: -{z, chi_a} C^ab d chi_b/dt."""
    analysis = found[name]
    assert not analysis.free
    inverse, chi = analysis.classes.inverse, analysis.second_class
    for z in (*analysis.coordinates, *analysis.momenta):
        value = analysis.classes.bracket(z, analysis.hamiltonian, analysis.pairs)
        for a, b in itertools.product(range(len(chi)), repeat=2):
            value -= poisson_bracket(z, chi[a], analysis.pairs) * inverse[a, b] * chi[b].diff(TIME)
        for point in points_of(analysis):
            x, y = Tape([value, analysis.rates[z]])(point)
            assert x == pytest.approx(y, abs=1e-8)


@pytest.mark.parametrize("name", SYSTEMS)
def test_first_class_constraints_commute_with_all_constraints_on_the_manifold(found, name):
    analysis = found[name]
    for psi in analysis.first_class:
        for phi in analysis.constraints:
            value = poisson_bracket(psi, phi, analysis.pairs)
            for point in points_of(analysis):
                assert abs(Tape([value])(point)[0]) < 1e-9


# ---- other algorithms -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["gauge", "christ-lee", "affine term", "strong field", "rotor", "cawley", "proca", "mixed", "lorentz", "regular"]
)
def test_free_functions_are_those_of_the_constraint_algorithm(found, name):
    tree = ch.constraint_algorithm(SYSTEMS[name])
    assert tree.complete
    assert tree.leaves[0].free_functions == found[name].free_functions  # the largest leaf comes first
    if len(tree.leaves) > 1:  # the others lie where this analysis says that it does not hold
        assert found[name].excluded


@pytest.mark.parametrize("name", [n for n in SYSTEMS if n not in ("relativistic",)])
def test_presymplectic_algorithm_in_phase_space_agrees(found, name):
    """On the image of the Legendre map with the canonical form: the same final set."""
    analysis = found[name]
    omega = ch.forms.zero_form(2)
    for q, p in analysis.pairs:
        omega = omega + ch.forms.wedge(ch.forms.d(q), ch.forms.d(p))
    solved = {}
    for phi in analysis.primary:
        p = next(
            p
            for p in analysis.momenta
            if phi.diff(p) == 1 and p not in solved and not any(p in other.free_symbols for other in analysis.primary if other is not phi)
        )
        solved[p] = p - phi
    variables = [z for pair in analysis.pairs for z in pair if z not in solved]
    energy = analysis.hamiltonian
    if energy.has(TIME) or any(e.has(TIME) for e in solved.values()):
        full = ch.forms.pull_back(omega + ch.forms.wedge(ch.forms.d(energy), ch.forms.d(TIME)), solved)
        other = ch.presymplectic(full, None, [TIME, *variables])
    else:
        other = ch.presymplectic(ch.forms.pull_back(omega, solved), energy.xreplace(solved), variables)
    assert other.consistent and other.dimension == analysis.dimension
    assert other.free_components == analysis.free_functions
    for point in points_of(analysis):
        for e in other.constraints:
            assert abs(Tape([e])(point)[0]) < 1e-9
        if not analysis.free:
            for z in variables:
                a, b = Tape([other.field[z], analysis.rates[z]])(point)
                assert a == pytest.approx(b, abs=1e-8)


@pytest.mark.parametrize("name", ["gauge", "affine term", "strong field", "rotor", "cawley", "proca", "lorentz"])
def test_presymplectic_algorithm_on_velocities_agrees(found, name):
    """On TQ the final set is larger by the fibres of the Legendre map: as many dimensions as there are primary constraints."""
    omega, energy, variables = ch.lagrangian_forms(SYSTEMS[name])
    other = ch.presymplectic(omega, energy, variables)
    analysis = found[name]
    assert other.consistent and other.dimension == analysis.dimension + len(analysis.primary)


# ---- refusals -------------------------------------------------------------------------------------------------------------------------


def test_branching_is_refused_with_its_manifolds():
    with pytest.raises(ch.PrincipleError, match=r"\{q2 = 0\} or \{q3 = 0\}") as refusal:
        ch.dirac(ch.gallery("cawley"))
    assert "constraint_algorithm" in refusal.value.hint


def test_other_refusals():
    with pytest.raises(ch.PrincipleError, match="not those of a Lagrangian alone"):
        ch.dirac(ch.gallery("sleigh"))
    with pytest.raises(ch.PrincipleError, match="contains x''"):
        ch.dirac(ch.System("x", lagrangian="x''^2/2"))
    with pytest.raises(ch.PrincipleError, match="input f has no value"):
        ch.dirac(ch.System("x", lagrangian="x'^2/2 + f*x", inputs={"f": None}))
    with pytest.raises(ch.PrincipleError, match="no single formula"):
        ch.dirac(ch.System("x", lagrangian="x'^4/4 + x'^3/3"))
    with pytest.raises(ch.UsageError, match="seconds"):
        ch.dirac(SYSTEMS["gauge"], seconds=0)
    analysis = ch.dirac(SYSTEMS["gauge"])
    with pytest.raises(ch.UsageError, match="not a function of positions and momenta"):
        analysis.bracket("q1'", "q1")


def test_time_runs_out():
    with pytest.raises(ch.PrincipleError, match=r"not closed within a budget of 0\.02 seconds"):
        ch.dirac(ch.gallery("transformer"), seconds=0.02)


def test_inputs_are_written_out():
    analysis = ch.dirac(ch.System("x y", lagrangian="x'^2/2 + y*(x - f)", inputs={"f": "sin(2*t)"}))
    assert [ch.show(e) for e in analysis.generations[1]] == ["x - sin(2*t)"]
    x, p = analysis.coordinates[0], analysis.momenta[0]
    for point in points_of(analysis):
        assert point[p] == pytest.approx(2 * np.cos(2 * point[TIME])) and point[x] == pytest.approx(np.sin(2 * point[TIME]))


def test_constraints_that_depend_on_each_other_count_once():
    # r x p = 0 are three constraints of which two are independent; two of them alone also hold where r3 = p3 = 0, off the manifold
    text = "((r1' + a2*r3 - a3*r2)^2 + (r2' + a3*r1 - a1*r3)^2 + (r3' + a1*r2 - a2*r1)^2)/2 - g*(r1^2 + r2^2 + r3^2)"
    found = ch.dirac(ch.System("r1 r2 r3 a1 a2 a3", "g", lagrangian=text))
    r, p = sympy.Matrix(found.coordinates[:3]), sympy.Matrix(found.momenta[:3])
    assert all(abs(v) < 1e-8 for v in r.cross(p).xreplace(found.point))
    # a state is moved by three p_a and by the rotations that turn the common line of r and p: two of three
    assert (found.dimension, found.gauge_directions, found.physical_dimension, found.conjecture) == (7, 5, 2, True)


def test_manifolds_that_split_over_a_root_are_named():
    with pytest.raises(ch.PrincipleError) as fault:
        ch.dirac(ch.System("x y z", lagrangian="(x'^2 + y'^2)/2 + z*(x^2 - 2*y^2)"))
    assert "{x - sqrt(2)*y = 0} or {x + sqrt(2)*y = 0}" in str(fault.value)


def test_a_system_is_no_form():
    with pytest.raises(ch.UsageError, match="takes a 2-form, not System"):
        ch.presymplectic(ch.System("q1 q2", lagrangian="(q1' - q2)^2/2"))


def test_time_dependent_form_has_its_compatibility_conditions():
    """E = v^2/2 + z*(x - t) with omega = dx dv: the kernel is d/dz, Z(E) = x - t, then v = 1 and z = 0."""
    x, v, z = coordinates("x v z")
    energy = v**2 / 2 + z * (x - TIME)
    full = ch.forms.wedge(ch.forms.d(x), ch.forms.d(v)) + ch.forms.wedge(ch.forms.d(energy), ch.forms.d(TIME))
    found = ch.presymplectic(full, None, [TIME, x, v, z])
    assert found.compatibility == (x - TIME,)
    assert [dict(field) for field in found.kernel.fields] == [{z: 1}]
    assert found.constraints == (x - TIME, v - 1, z)
    assert "compatibility  x - t = 0" in str(found)
