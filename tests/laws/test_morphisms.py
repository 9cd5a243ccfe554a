"""Laws of transformations: motions of source and target agree, in both directions, wherever a theorem applies in the gallery."""

from functools import cache

import numpy as np
import pytest
import sympy
from models_in_charts import in_chart

import chetaev as ch
from chetaev.core.calculus import total_derivative
from chetaev.core.symbols import Coordinate, Entry, order_in
from chetaev.transforms import Morphism

LEFT_OUT = {
    "cawley",  # no motion without the constraint algorithm
    "krupkova",  # its motion has a free function
    "bicycle",  # its rows take minutes in SymPy
}
SLOW_LEGENDRE = {
    ("leaning-disk", "Vakonomic()"),  # tested in other variables by the free system
    ("leaning-disk", "DAlembert()"),  # linear rows in ordinary coordinates as on the disk, the sleigh and the Heisenberg system
    ("snakeboard", "DAlembert()"),
    ("trailer", "DAlembert()"),
    ("sleigh-contact", "Herglotz(Vakonomic())"),  # as the disk with the same principle
}
"""Systems whose Hamiltonian takes seconds, each with others of its kind that are tested."""
SHORTER = {"trailer": {"n": 1}, "chain": {"n": 2}}  # with three links the formulas of the Hamiltonian take minutes
AGREE = 1e-10


def _principles(model):
    """All principles of a model, but not those that give the same rows as one before."""
    words = [str(p) for p in model.principles]
    return [p for p in model.principles if "Chetaev" not in str(p) or str(p).replace("Chetaev", "DAlembert") not in words]


ON_GROUPS = [(name, p) for name in ch.gallery() if ch.gallery(name).system.groups for p in ch.gallery(name).principles]
CASES = [
    (name, p) for name in ch.gallery() if name not in LEFT_OUT and not ch.gallery(name).system.groups for p in _principles(ch.gallery(name))
]
IN_A_CHART = ", in a chart"
"""Said of a system on a group that is written in ordinary coordinates: there the theorems apply."""


def ids(case):
    return "-".join(map(str, case))


@cache
def model_of(case):
    name, principle = case
    model = ch.gallery(name.removesuffix(IN_A_CHART), **SHORTER.get(name, {})).under(principle)
    return in_chart(model).model if name.endswith(IN_A_CHART) else model


@cache
def source_of(case):
    return ch.derive(model_of(case))


@cache
def motion_of(case):
    """A short motion of a gallery system, made once; charts end at half turns."""
    model = model_of(case)
    t = (model.t[0], min(model.t[1], model.t[0] + (0.5 if case[0].endswith(IN_A_CHART) else 2)))
    return ch.simulate(source_of(case), model.start, t, tolerance=3e-13, parameters=model.parameters, inputs=model.inputs)


def has_reactions(case):
    return "Herglotz" not in str(case[1]) and str(case[1]) != "Vakonomic()"


def first_order(case):
    return order_in(source_of(case).system.lagrangian, Coordinate) <= 1


def kinds(case):
    return {row.kind for row in source_of(case).system.kinematic}


def moves_everywhere(case):
    """Every coordinate has a velocity in the Lagrangian."""
    lagrangian = source_of(case).lagrangian
    return all(any(z.base == q.base and z.order for z in lagrangian.free_symbols if isinstance(z, Coordinate)) for q in _q(case))


def _q(case):
    return source_of(case).system.coordinates


def is_vakonomic(case):
    return "Vakonomic" in str(case[1])


def in_quasi_velocities(equations):
    """Hamel's equations in a frame that no system has chosen for itself."""
    first, last = (equations.system.coordinates[k].base for k in (0, -1))
    return ch.hamel(equations, velocities={"zeta": f"(2 + sin({last})/3)*{first}' + t*{last}'/2 - cos({first})"})


HAMEL = "sleigh rocard appell-hamel action-constraint pais-uhlenbeck cart-pendulum foucault disk-contact viscous-particle".split()


MAPS = {
    "lift": (ch.lift, lambda c: has_reactions(c) and first_order(c)),
    "lift further": (lambda e: ch.lift(e, n=3), lambda c: has_reactions(c) and c[0] in ("rocard", "sleigh", "prescribed-curvature")),
    "linearize_constraints": (ch.linearize_constraints, lambda c: has_reactions(c) and kinds(c) <= {"holonomic", "linear", "affine"}),
    "friction_as_constraint": (ch.friction_as_constraint, lambda c: c[0] == "knife-edge-friction"),
    "contact_as_nonholonomic": (ch.contact_as_nonholonomic, lambda c: "Herglotz" in str(c[1]) and not is_vakonomic(c)),
    "contact_as_vakonomic": (ch.contact_as_vakonomic, lambda c: str(c[1]) in ("Herglotz()", "Herglotz(Vakonomic())")),
    "vakonomic_as_free": (ch.vakonomic_as_free, lambda c: str(c[1]) == "Vakonomic()"),
    "hamiltonian": (
        ch.hamiltonian,
        lambda c: (
            ids(c) not in {"-".join(x) for x in SLOW_LEGENDRE}
            and moves_everywhere(c)
            and (not is_vakonomic(c) or kinds(c) <= {"linear", "affine"})
        ),
    ),
    "restrict": (ch.restrict, lambda c: "holonomic" in kinds(c)),
    "reduce_velocities": (
        ch.reduce_velocities,
        lambda c: has_reactions(c) and first_order(c) and bool(kinds(c)) and kinds(c) <= {"holonomic", "linear", "affine"},
    ),
    "hamel": (in_quasi_velocities, lambda c: c[0] in HAMEL),
}


@cache
def image(name, case) -> Morphism:
    return MAPS[name][0](source_of(case))


ROLLING, RACER, SUSLOV = (f"{name}{IN_A_CHART}" for name in ("rigid-ball", "roller-racer", "suslov"))
CHARTED = [(name, (body, ch.DAlembert())) for name in ("lift", "linearize_constraints", "reduce_velocities") for body in (ROLLING, RACER)]
CHARTED += [("lift", (SUSLOV, ch.DAlembert())), ("vakonomic_as_free", (SUSLOV, ch.Vakonomic()))]
"""Without the Hamiltonian: in these coordinates the inverse of the mass matrix is a formula of minutes."""

APPLICABLE = [(name, case) for name, (_, applies) in MAPS.items() for case in CASES if applies(case)] + CHARTED


def both_ids(value):
    return value if isinstance(value, str) else ids(value)


@pytest.mark.parametrize(("name", "case"), APPLICABLE, ids=both_ids)
def test_motions_of_both_sides_agree(name, case):
    agreement = image(name, case).check(motion_of(case), tolerance=3e-13)
    assert agreement.largest < AGREE, agreement
    reached = set(agreement.backward)
    assert {q.base for q in _q(case)} <= reached
    if has_reactions(case):
        assert {m.base for m in source_of(case).multipliers} <= reached


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_a_map_that_does_not_apply_refuses(case):
    """Where the hypothesis fails the answer is a sentence, never a wrong target."""
    for name, (function, applies) in MAPS.items():
        if name in ("lift further", "hamiltonian", "reduce_velocities", "hamel") or applies(case):
            continue
        with pytest.raises(ch.PrincipleError) as refused:
            function(source_of(case))
        assert refused.value.where.startswith(name)
        assert refused.value.hint


@pytest.mark.parametrize("case", ON_GROUPS, ids=ids)
def test_theorems_about_ordinary_coordinates_refuse_groups(case):
    """Whether their other hypotheses hold or not, and with the way out."""
    equations = source_of(case)
    ((group, kind),) = equations.system.groups.items()
    for function in (ch.restrict, ch.hamel):
        with pytest.raises(ch.ModelError, match=f"{group} is an element of {kind.word}, and .* works in ordinary coordinates") as refused:
            function(equations)
        assert "in_coordinates" in refused.value.hint


IN_EVERY_FRAME = ("vakonomic_as_free", "linearize_constraints", "lift", "friction_as_constraint", "reduce_velocities", "hamiltonian")
SHORT_ON_GROUPS = ("suslov", "euler-top", "lagrange-top", "rigid-ball")
"""Systems on groups whose rows are short."""


@pytest.mark.parametrize("case", [c for c in ON_GROUPS if c[0] in SHORT_ON_GROUPS and "Chetaev" not in str(c[1])], ids=ids)
def test_theorems_in_every_frame_apply_to_groups_or_refuse_in_words(case):
    """Where a hypothesis fails the answer is a PrincipleError; otherwise both sides have the same motions, entries included."""
    equations, motion = source_of(case), motion_of(case)
    applied = 0
    for name in IN_EVERY_FRAME:
        try:
            morphism = getattr(ch, name)(equations)
        except ch.PrincipleError:
            continue
        assert morphism.check(motion, tolerance=3e-13).largest < 1e-8, name
        applied += 1
    assert applied


@pytest.mark.parametrize("case", [c for c in ON_GROUPS if "Chetaev" not in str(c[1])], ids=ids)
def test_reduction_by_the_group_applies_to_whatever_does_not_contain_the_place(case):
    """Motions on the Lie algebra, reconstructed, are those on the group; a system that contains the place in any row is refused."""
    equations, model = source_of(case), model_of(case)
    ((name, _),) = equations.system.groups.items()
    parts = [equations.lagrangian, *[row.residual for row in equations.system.kinematic], *equations.system.forces.values()]
    if any(isinstance(z, Entry) for e in parts for z in e.free_symbols):
        with pytest.raises(ch.ModelError, match=rf"is not invariant under .* translations of {name}: the term .*{name}\d\d"):
            ch.reduce(equations, group=name)
        return
    reduction, motion = ch.reduce(equations, group=name), motion_of(case)
    given = {"parameters": model.parameters, "tolerance": 1e-12}
    start = ch.State({z: v for z, v in model.start.fixed.items() if z != name})
    reduced = ch.simulate(reduction.target, start, motion.t, **given)
    again = reduction.reconstruct(reduced, {name: model.start.fixed[name]})
    assert np.abs(again.rotation(name) - motion.rotation(name)).max() < AGREE
    lines = [q.base for q in _q(case) if q.base in equations.system.kinds]
    for text in [*lines, *[v.name for v in equations.system.velocities], *[m.base for m in equations.multipliers]]:
        assert np.abs(reduced[text] - motion[text]).max() < AGREE * max(1.0, np.abs(motion[text]).max()), text


@pytest.mark.parametrize(("name", "case"), APPLICABLE, ids=both_ids)
def test_there_and_back_is_the_identity_along_the_motion(name, case):
    """Lift then project, transform then transform back: every unknown of the source, read on the target and again on the source."""
    morphism, motion = image(name, case), motion_of(case)
    for z, e in morphism.to_source.items():
        if z.base.startswith("lambda") and name in ("contact_as_vakonomic", "restrict", "reduce_velocities"):
            continue  # ratios with a chosen scale, and multipliers found from accelerations of the target: compared by motions
        known = {w.base for w in morphism.to_target}
        assert {w.base for w in e.free_symbols if hasattr(w, "base") and not isinstance(w, ch.Input)} <= known
        around = motion.reader.values(morphism.pulled_back(e), motion.t, motion.states)
        assert np.abs(around - motion[z.name]).max() < 1e-9 * max(1.0, np.abs(motion[z.name]).max()), z


@pytest.mark.parametrize(("name", "case"), APPLICABLE, ids=both_ids)
def test_the_inverse_of_the_inverse_is_the_map(name, case):
    morphism = image(name, case)
    assert morphism.inverse.inverse == morphism
    assert morphism.inverse.source == morphism.target


COMPOSED = {
    "lift then linear": (
        lambda e: ch.lift(e),
        ch.linearize_constraints,
        [("rocard", ch.VirtualWork()), ("viscous-particle", ch.VirtualWork())],
    ),
    "linear then Hamiltonian": (ch.linearize_constraints, ch.hamiltonian, [("two-firms", ch.DAlembert())]),
    "free then itself again": (
        ch.vakonomic_as_free,
        lambda e: ch.change_coordinates(e, {"mu1": "nu1 + 2*t"}),
        [("sleigh", ch.Vakonomic())],
    ),
    "contact, then free": (ch.contact_as_vakonomic, ch.vakonomic_as_free, [("sleigh-contact", ch.Herglotz(ch.Vakonomic()))]),
    "friction, then lift": (ch.friction_as_constraint, ch.lift, [("knife-edge-friction", ch.DAlembert())]),
    "restricted, then Hamiltonian": (ch.restrict, ch.hamiltonian, [("cartesian-pendulum", ch.DAlembert())]),
}


@pytest.mark.parametrize(("name", "case"), [(n, c) for n, (_, _, cases) in COMPOSED.items() for c in cases], ids=both_ids)
def test_composed_maps_agree_with_maps_one_after_the_other(name, case):
    first_map, second_map, _ = COMPOSED[name]
    motion = motion_of(case)
    first = first_map(source_of(case))
    second = second_map(first.target)
    whole = first.then(second)
    assert whole.source == first.source
    assert whole.target == second.target
    assert whole.check(motion).largest < AGREE
    given = {"parameters": dict(model_of(case).parameters), "t": float(motion.t[0])}
    once = whole.forward(motion.at(float(motion.t[0])), **given).fixed
    between = first.forward(motion.at(float(motion.t[0])), **given)
    twice = second.forward(between, **given).fixed
    assert set(once) == set(twice)
    for jet, value in once.items():
        assert value == pytest.approx(twice[jet], abs=1e-10), jet


def test_maps_whose_ends_do_not_meet_are_not_composed():
    sleigh, disk = ch.derive(ch.gallery("sleigh")), ch.derive(ch.gallery("disk"))
    with pytest.raises(
        ch.UsageError, match="the second map starts from 'vertical rolling disk', the first ends at 'Chaplygin sleigh, 1-lift'"
    ):
        ch.lift(sleigh).then(ch.linearize_constraints(disk))


CHARTS = [c for c in CASES if c[0] in ("sleigh", "disk-contact", "rocard", "foucault", "snakeboard", "pais-uhlenbeck", "two-firms")]


@pytest.mark.parametrize("case", CHARTS, ids=ids)
def test_a_moving_change_of_coordinates_carries_motions_and_multipliers(case):
    """The first coordinate is stretched, sheared and shifted in time; nothing but the name of the position changes."""
    first = _q(case)[0].base
    morphism = ch.change_coordinates(source_of(case), {first: "2*zeta + sin(t)/3"})
    agreement = morphism.check(motion_of(case))
    assert agreement.largest < AGREE
    assert "zeta" in agreement.forward


@pytest.mark.parametrize("case", [c for c in CASES if c[0] in ("disk", "disk-contact", "foucault", "two-firms")], ids=ids)
def test_a_gauge_term_moves_nothing_but_the_momenta(case):
    """L + dG/dt (under Herglotz L(q, q', s - G) + dG/dt with s shifted by G), through the Legendre transformation: p shifts by dG/dq."""
    model = ch.gallery(case[0]).under(case[1])
    system, motion = model.system, motion_of(case)
    x, y = system.coordinates[:2]
    g = x**2 * y / 3 + sympy.sin(y) / 5
    s = system.action
    shift = {} if s is None else {s: s - g}
    changed = system.replace(
        lagrangian=system.lagrangian.xreplace(shift) + total_derivative(g),
        kinematic=[ch.Constraint(row.lhs.xreplace(shift), row.rhs.xreplace(shift)) for row in system.kinematic],
    )
    start = dict(model.start.fixed)
    if s is not None:
        start[s.base] += float(motion.reader.values(g, motion.t[:1], motion.states[:1])[0])
    other = ch.simulate(
        ch.derive(changed, case[1]), ch.State(start, model.start.guess), motion.t, tolerance=1e-12, parameters=model.parameters
    )
    for q in system.coordinates:
        assert np.abs(other[q.base] - motion[q.base]).max() < AGREE * max(1.0, np.abs(motion[q.base]).max())
    here, there = ch.hamiltonian(motion.equations), ch.hamiltonian(other.equations)
    for q in (x, y):
        p = f"p_{q.base}"
        moved = here.forward(motion)[p] + motion.reader.values(g.diff(q), motion.t, motion.states)
        assert np.abs(there.forward(other)[p] - moved).max() < 1e-9
