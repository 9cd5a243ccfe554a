"""Laws that hold for every system of the gallery, whatever its principle."""

import math
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
import sympy
from models_in_charts import in_chart, state_beside

import chetaev as ch
from chetaev.core.calculus import SYMBOLIC, Calculus, total_derivative
from chetaev.core.symbols import TIME, Action, Coordinate, Entry, Multiplier, Place, Variation, jets_in
from chetaev.core.values import Tape
from chetaev.mechanics.structure import structure

SINGULAR = {"krupkova", "cawley", "transformer"}  # their motion needs the constraint algorithm
NAMES = ch.gallery()
MODELS = [(name, principle) for name in NAMES for principle in ch.gallery(name).principles]
REGULAR = [(name, principle) for name, principle in MODELS if name not in SINGULAR]
ON_GROUPS = [case for case in REGULAR if ch.gallery(case[0]).system.groups]
ORDINARY = [case for case in REGULAR if case not in ON_GROUPS]
WITHOUT_THE_LARGEST = [case for case in REGULAR if case[0] != "bicycle"]
"""Its rows have a thousand terms; laws that rewrite them say of it what they say of the trailer, and its motion has tests of its own."""
ONCE = [case for case in ON_GROUPS if case[1] != ch.Chetaev()]  # on linear rows it is d'Alembert's, by a law below


def ids(case):
    return f"{case[0]}-{case[1]}"


def model_of(case):
    name, principle = case
    return ch.gallery(name).under(principle)


@cache
def derived(case):
    """The equations of a case; made once for all laws."""
    return ch.derive(model_of(case))


@cache
def now_of(case):
    """All unknowns of a case at its start; evaluated once for all laws."""
    return ch.evaluate(model_of(case))


def close(a, b, tolerance=1e-11):
    return abs(a - b) <= tolerance * max(1.0, abs(a), abs(b))


def compare(first, second, names=None):
    for name in first if names is None else names:
        assert close(first[name], second[name]), (name, first[name], second[name])


def with_system(model, system):
    return ch.evaluate(ch.derive(system, model.principle), model.start, parameters=model.parameters, t=model.t[0], inputs=model.inputs)


@pytest.mark.parametrize("case", REGULAR, ids=ids)
def test_what_evaluate_returns_satisfies_every_row(case):
    model = model_of(case)
    now = now_of(case)
    left = ch.residual(derived(case), dict(now), parameters=model.parameters, t=model.t[0], inputs=model.inputs)
    assert max(map(abs, left.values())) < 1e-11 * max(1.0, *map(abs, now.values()))


@pytest.mark.parametrize("case", [c for c in REGULAR if c[1] == ch.gallery(c[0]).principle], ids=ids)
def test_invariants_do_not_change(case):
    model = model_of(case)
    equations, now = derived(case), now_of(case)
    for text in model.invariants.values():
        rate = equations.total(ch.parse(text, equations))
        terms = Tape([model.system.charted(term) for term in sympy.Add.make_args(rate)])
        values = terms({**now.binding.at(terms.symbols, model.t[0]), **now.jets})
        assert abs(sum(values)) < 1e-11 * max(1.0, *map(abs, values)), text


def positions(system):
    """What tells where the system is: ordinary coordinates, and the entries of the matrix of a group coordinate."""
    turned = [z for group in system.groups.values() for z in group.entries.values() if isinstance(z, Entry)]
    return [q for q in system.coordinates if q.base in system.kinds] + turned


def gauge(system):
    """A function of position and time whose derivative may be added to the Lagrangian."""
    q = positions(system)
    first, last = q[0], q[-1]
    turned = [z for z in q if isinstance(z, Entry)]
    mixed = sum((sympy.Rational(k + 2, 11) * a * b for k, (a, b) in enumerate(pairwise(turned))), sympy.S.Zero)
    return first * sympy.sin(last) / 3 + TIME * last**2 / 5 + first**2 / 7 + mixed


@pytest.mark.parametrize("case", REGULAR, ids=ids)
def test_a_total_derivative_in_the_lagrangian_changes_nothing(case):
    """L + dG/dt has the same motion and the same multipliers; under Herglotz L(q, q', s - G) + dG/dt with s shifted by G.

    On a group G is a function of the entries, and the law ties their rates to the structure constants.
    """
    model = model_of(case)
    system = model.system
    g = gauge(system)
    if system.action is None:
        rate = Calculus(SYMBOLIC, system.frame).total(g)
        compare(now_of(case), with_system(model, system.replace(lagrangian=system.lagrangian + rate)))
        return
    s = system.action
    shifted = system.replace(
        lagrangian=system.lagrangian.xreplace({s: s - g}) + total_derivative(g),
        kinematic=[ch.Constraint(row.lhs.xreplace({s: s - g}), row.rhs.xreplace({s: s - g})) for row in system.kinematic],
    )
    now = now_of(case)
    offset = float(g.subs({**now.jets, TIME: model.t[0]}))
    start = ch.State({**model.start.fixed, s.base: model.start.fixed[s.base] + offset}, model.start.guess)
    moved = ch.evaluate(ch.derive(shifted, model.principle), start, parameters=model.parameters, t=model.t[0], inputs=model.inputs)
    compare(now, moved, [name for name in now if name not in (s.base, f"{s.base}'")])
    assert close(moved[s.base], now[s.base] + offset)


def curved_chart(case):
    """Old coordinates as functions of new ones with the same names: each bent a little by its neighbour.

    Neighbours have the same order in the equations: a chart that mixes orders hides the structure from the Sigma method.
    """
    found = structure(derived(case))
    orders = dict(zip(found.unknowns, found.unknown_offsets, strict=True))
    coordinates, chart = model_of(case).system.coordinates, {}
    for order in set(orders.values()):
        group = [q for q in coordinates if orders[q] == order]
        for q, neighbour in zip(group, group[1:] + group[:1], strict=True):
            chart[q] = q + (sympy.sin(neighbour) if neighbour != q else q**3) / 10
    return {q: chart[q] for q in coordinates}


def solve_chart(chart, old):
    """New coordinates and velocities from old ones, by fixed-point iteration and by linear algebra."""
    q = list(chart)
    bent = sympy.lambdify(q, [chart[z] - z for z in q], "math")
    new = [old[z] for z in q]
    for _ in range(200):
        new = [old[z] - shift for z, shift in zip(q, bent(*new), strict=True)]
    return dict(zip(q, new, strict=True))


@pytest.mark.parametrize("case", [case for case in ORDINARY if case in WITHOUT_THE_LARGEST], ids=ids)
def test_derive_commutes_with_a_change_of_coordinates(case):
    model = model_of(case)
    system = model.system
    chart = curved_chart(case)
    now = now_of(case)
    highest = max(z.order for z in now.jets if isinstance(z, Coordinate))
    substitution = {q.d(k): total_derivative(e, k) for q, e in chart.items() for k in range(highest + 3)}

    def bent(e):
        return e.xreplace(substitution)

    def pulled_back(row):
        form = sum(bent(c) * sum(chart[q].diff(p) * Variation(p.base) for p in system.coordinates) for q, c in row.coefficients.items())
        return sympy.expand(form)

    forces = {p: sum(bent(u) * chart[q].diff(p) for q, u in system.forces.items()) for p in system.coordinates if system.forces}
    transformed = system.replace(
        lagrangian=bent(system.lagrangian),
        kinematic=[ch.Constraint(bent(row.lhs), bent(row.rhs)) for row in system.kinematic],
        variational=None if system.variational is None else [pulled_back(row) for row in system.variational],
        forces=forces,
        dissipation=bent(system.dissipation),
        where={},
        quasi={},
    )
    new = {z.name: v for z, v in _new_jets(chart, now, highest).items()}
    state = {z.name for z in structure(derived(case)).state}
    extra = {z.name: now[z.name] for z in now.jets if isinstance(z, Action | Multiplier) and z.order == 0}
    start = {name: v for name, v in new.items() if name in state} | extra
    equations = ch.derive(transformed, model.principle)
    there = ch.evaluate(equations, start, parameters=model.parameters, t=model.t[0], inputs=model.inputs)
    for name in new:
        assert close(there[name], new[name], 1e-9), (name, there[name], new[name])
    for z in now.jets:
        if isinstance(z, Multiplier):
            assert close(there[z.name], now[z.name], 1e-9), z.name


def _new_jets(chart, now, highest):
    """Jets of the new coordinates up to the order known for each, from the jets of the old ones."""
    q = list(chart)
    orders = {z: max(k for k in range(highest + 1) if z.d(k) in now.jets) for z in q}
    lowest = min(orders.values())
    at = solve_chart(chart, {z: now.jets[z] for z in q})
    for k in range(1, lowest + 1):
        rows = [total_derivative(chart[z], k) for z in q]
        tops = [z.d(k) for z in q]
        matrix = np.array([[float(r.diff(top).subs(at)) for top in tops] for r in rows])
        rest = np.array([float(r.xreplace(dict.fromkeys(tops, sympy.S.Zero)).subs(at)) for r in rows])
        solved = np.linalg.solve(matrix, np.array([now.jets[z.d(k)] for z in q]) - rest)
        at |= dict(zip(tops, map(float, solved), strict=True))
    return at


@pytest.mark.parametrize("case", ONCE, ids=ids)
def test_derive_commutes_with_a_chart_of_the_group(case):
    """The group system and the same system in ordinary coordinates have the same accelerations and multipliers."""
    model = model_of(case)
    now, chart = now_of(case), in_chart(model)
    there = ch.evaluate(chart.model)
    for v, e in chart.velocities.items():
        assert close(there[ch.show(total_derivative(e))], now[v.d().name], 1e-9), v
    compare(now, there, [z.name for z in now.jets if not isinstance(z, Place) and z.base not in {v.base for v in chart.velocities}])


@pytest.mark.parametrize("case", ONCE, ids=ids)
def test_velocities_of_the_body_and_of_space_give_the_same_motion(case):
    r"""The same system with the velocities of the other side: $\xi_{body} = A^{-1} \xi_{spatial} A$ in expressions, rows and variations."""
    model = model_of(case)
    system, now = model.system, now_of(case)
    ((name, group),) = system.groups.items()
    mixed = _seen_from_the_other_side(group)
    velocities = [sympy.Add(*[mixed[a, b] * q.d() for b, q in enumerate(group.components)]) for a in range(len(group.components))]
    calculus = Calculus(SYMBOLIC, system.replace(coordinates=_other_side(system, name)).frame)
    substitution = {q.d(k): calculus.total(e, k - 1) for q, e in zip(group.components, velocities, strict=True) for k in (1, 2)}
    place = {q: a for a, q in enumerate(group.components)}

    def turned(e):
        return e.xreplace(substitution)

    def along(coefficients):
        """A row of coefficients by coordinate, dual to the variations of the other side."""
        found = {q: turned(c) for q, c in coefficients.items() if q not in place}
        for b, p in enumerate(group.components):
            found[p] = sympy.Add(*[turned(c) * mixed[place[q], b] for q, c in coefficients.items() if q in place])
        return found

    other = system.replace(
        coordinates=_other_side(system, name),
        lagrangian=turned(system.lagrangian),
        kinematic=[ch.Constraint(turned(row.lhs), turned(row.rhs)) for row in system.kinematic],
        variational=None
        if system.variational is None
        else [sum(c * Variation(q.base) for q, c in along(row.coefficients).items()) for row in system.variational],
        forces=along(system.forces) if system.forces else {},
        dissipation=turned(system.dissipation),
        where={},
        quasi={},
    )
    to_other = np.linalg.inv(np.array([[now._value(e) for e in mixed.row(a)] for a in range(mixed.rows)]))
    speeds = to_other @ [now[q.d().name] for q in group.components]
    start = {name: now.rotation(name), **{q.d().name: float(v) for q, v in zip(group.components, speeds, strict=True)}}
    start |= {z.name: now.jets[z] for z in state_beside(model, group)}
    there = ch.evaluate(ch.derive(other, model.principle), start, parameters=model.parameters, t=model.t[0], inputs=model.inputs)
    for q in group.components:
        for k in (1, 2):
            assert close(there._value(substitution[q.d(k)]), now[q.d(k).name], 1e-10), q.d(k)
    rest = [z.name for z in now.jets if not isinstance(z, Place) and z not in substitution]
    compare(now, there, rest)


def _other_side(system, name):
    words = {"body": "spatial", "spatial": "body"}
    return {n: " ".join(words.get(w, w) for w in kind.split()) if n == name else kind for n, kind in system.kinds.items()}


def _seen_from_the_other_side(group):
    r"""The matrix with $\xi^a = M^a{}_b\, \eta^b$, where $\eta$ is the velocity of the other side: $A^{-1} \eta A$ or $A \eta A^{-1}$."""
    a, n = sympy.Matrix(group.matrix), group.group.size
    turn, shift = (a, sympy.zeros(n, 0)) if group.word == "SO3" else (a[: n - 1, : n - 1], a[: n - 1, n - 1])
    inverse = turn.T if group.word == "SO3" else sympy.Matrix([[turn.T, -turn.T * shift], [sympy.zeros(1, n - 1), sympy.ones(1, 1)]])
    basis = [sympy.Matrix(e) for e in group.group.basis]
    moved = [inverse * e * a if group.body else a * e * inverse for e in basis]
    corner = {"SO3": [(2, 1), (0, 2), (1, 0)], "SE2": [(0, 2), (1, 2), (1, 0)]}[group.word]
    return sympy.Matrix(len(basis), len(basis), lambda i, b: moved[b][corner[i]])


def has_inertia(name):
    """Whether the Lagrangian is of first order with a mass for every coordinate (the tyres' epsilon has none)."""
    system = ch.gallery(name).system
    jets = jets_in(system.lagrangian, Coordinate)
    return system.action is None and all(z.order < 2 for z in jets) and set(system.velocities) <= jets


@pytest.mark.parametrize("name", [n for n in NAMES if n not in SINGULAR and has_inertia(n)])
def test_dalembert_equals_vakonomic_on_holonomic_constraints(name):
    """Every gallery system with its constraints replaced by a position constraint through the start."""
    model = ch.gallery(name)
    now = now_of((name, model.principle))
    q = positions(model.system)
    phi = sum(sympy.Rational(k + 2, 3) * z**2 / 2 for k, z in enumerate(q)) + sympy.sin(q[0])
    level = sympy.Rational(str(now._value(phi)))
    system = model.system.replace(kinematic=[ch.Constraint(phi, level)], variational=None)
    there = {z.base: now.jets[z] for z in q if isinstance(z, Coordinate)} | {name: now.rotation(name) for name in model.system.groups}
    start = ch.State(there, {v.name: now.jets[v] for v in model.system.velocities})
    given = {"parameters": model.parameters, "t": model.t[0], "inputs": model.inputs}
    a = ch.evaluate(ch.derive(system, ch.DAlembert()), start, **given)
    b = ch.evaluate(ch.derive(system, ch.Vakonomic()), start, **given)
    c = ch.evaluate(ch.derive(system, ch.Chetaev()), start, **given)
    compare(a, b, list(a))
    compare(a, c, list(a))


@pytest.mark.parametrize("case", [c for c in REGULAR if ch.gallery(c[0]).system.action is None], ids=ids)
def test_herglotz_without_the_action_in_the_lagrangian_is_the_inner_principle(case):
    model = model_of(case)
    system = model.system.replace(action="s_")
    start = ch.State({**model.start.fixed, "s_": 0.4}, model.start.guess)
    given = {"parameters": model.parameters, "t": model.t[0], "inputs": model.inputs}
    there = ch.evaluate(ch.derive(system, ch.Herglotz(model.principle)), start, **given)
    now = now_of(case)
    compare(now, there)
    lagrangian = float(now._value(model.system.lagrangian))
    assert close(there["s_'"], lagrangian)


@pytest.mark.parametrize("case", [c for c in REGULAR if str(c[1]) in ("DAlembert()", "Herglotz(DAlembert())")], ids=ids)
def test_chetaev_equals_dalembert_on_linear_constraints(case):
    model = model_of(case)
    other = ch.Herglotz(ch.Chetaev()) if model.system.action else ch.Chetaev()
    given = {"parameters": model.parameters, "t": model.t[0], "inputs": model.inputs}
    compare(now_of(case), ch.evaluate(ch.derive(model.system, other), model.start, **given))


@pytest.mark.parametrize("case", REGULAR, ids=ids)
def test_reactions_do_no_virtual_work(case):
    """In every direction of C_V; and no work at all on the motion for homogeneous scleronomic rows under d'Alembert and Chetaev."""
    model = model_of(case)
    equations, now = derived(case), now_of(case)
    if equations.lowered.costates or not equations.multipliers:
        return
    q = model.system.coordinates
    reaction = np.array([now.reaction(z.base) for z in q])
    rows = np.array([[float(now._value(row.get(z, sympy.S.Zero))) for z in q] for row in equations.variational])
    null = np.linalg.svd(rows)[2][np.linalg.matrix_rank(rows) :]
    assert np.abs(null @ reaction).max(initial=0.0) < 1e-11 * max(1.0, np.abs(reaction).max())
    ideal = "VirtualWork" not in str(model.principle) and all(row.kind == "linear" for row in model.system.kinematic)
    if ideal and not any(row.has_action for row in model.system.kinematic):
        power = float(reaction @ np.array([now[f"{z.base}'"] for z in q]))
        assert abs(power) < 1e-11 * max(1.0, float(np.abs(reaction).max()))


@pytest.mark.parametrize("case", WITHOUT_THE_LARGEST, ids=ids)
def test_energy_balance(case):
    """dE/dt = -dL/dt|explicit + (u_i - dF/dq'_i + lambda_a R_V[a, i]) q'^i + L_s E, with the lowered Lagrangian (of first order)."""
    model = model_of(case)
    equations, now = derived(case), now_of(case)
    lagrangian, system = equations.lagrangian, model.system
    if max(z.order for z in jets_in(lagrangian, Coordinate)) > 1:
        return
    energy = sum(v * lagrangian.diff(v) for v in system.velocities) - lagrangian
    explicit = lagrangian.diff(TIME) + sum(lagrangian.diff(z) * z.d() for z in jets_in(lagrangian, ch.Input))
    power = -explicit
    for q, v in zip(system.coordinates, system.velocities, strict=True):
        reaction = sympy.S.Zero if equations.lowered.costates else equations.reaction(q)
        power += (system.forces.get(q, 0) - system.dissipation.diff(v) + reaction) * v
    if system.action is not None:
        power += lagrangian.diff(system.action) * energy
    assert close(now._value(equations.total(energy)), now._value(power), 1e-10)


@pytest.mark.parametrize("case", MODELS, ids=ids)
def test_parse_after_show_is_the_identity_on_the_whole_gallery(case):
    equations = derived(case)
    for row in equations.rows:
        for side in (row.lhs, row.rhs):
            if jets_in(side, Action) and any(z.order for z in jets_in(side, Action)):
                continue  # s' is the label of a row, not something a user may write
            assert ch.parse(ch.show(side), equations) == side
    assert ch.parse(ch.show(equations.system.lagrangian), equations.system) == equations.system.lagrangian


@pytest.mark.parametrize("case", MODELS, ids=ids)
def test_every_gallery_system_prints_and_typesets(case, monkeypatch):
    if case[0] == "bicycle":  # its integrals are not found within any budget that a test could give; that it ends is tested elsewhere
        monkeypatch.setattr("chetaev.mechanics.classify._FLAG_SECONDS", 0.05)
    model = model_of(case)
    equations = derived(case)
    assert model.prose
    assert model.reference
    assert str(model.principle) in str(equations)
    latex = equations.latex()
    assert latex.count("{") == latex.count("}")
    assert "Coordinate(" not in latex
    assert model.name in str(model)
    assert "kinematic" in str(ch.classify(model))


@pytest.mark.parametrize(
    "case", [c for c in WITHOUT_THE_LARGEST if "Vakonomic" not in str(c[1]) and ch.gallery(c[0]).system.kinematic], ids=ids
)
def test_elimination_leaves_the_motion_unchanged(case):
    model = model_of(case)
    given = {"parameters": model.parameters, "t": model.t[0], "inputs": model.inputs}
    now = now_of(case)
    eliminated = derived(case).eliminate()
    assert not eliminated.multipliers
    start = ch.State({n: v for n, v in model.start.fixed.items() if "lambda" not in n}, model.start.guess)
    there = ch.evaluate(eliminated, start, **given)
    compare(there, now, [n for n in there if n != "s"])
    assert math.isfinite(sum(there.values()))
