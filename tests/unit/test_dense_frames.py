"""Frames whose inverse is not written out, dense constraints whose multipliers are eliminated, and long rows in print."""

import re

import numpy as np
import pytest

import chetaev as ch
import quasi_velocities as small
from chetaev.core.symbols import TIME, symbols_in
from chetaev.core.values import value
from chetaev.transforms.tools import velocity_frame


@pytest.fixture
def dense(monkeypatch):
    """Every frame counts as dense."""
    monkeypatch.setattr(velocity_frame, "_LONGEST_DETERMINANT", 0)


def names(n):
    return [f"q{k + 1}" for k in range(n)]


def entry(a, b, n):
    """The coefficient of the velocity b in the formula a, as (constant, weight of sin(q_b), weight of cos(q_{a+1}))."""
    return (n + 1 if a == b else 0), ((3 * a + 5 * b) % 7 + 1) / 10, ((2 * a + b) % 5 + 1) / 10


def formula(a, n):
    parts = [(*entry(a, b, n), b) for b in range(n)]
    return " + ".join(f"({c} + {s}*sin(q{b + 1}) + {k}*cos(q{(a + 1) % n + 1}))*q{b + 1}'" for c, s, k, b in parts)


def coefficients(a, n, q, v):
    """The coefficients of a formula at positions q and their rates at velocities v, without the library."""
    e = [entry(a, b, n) for b in range(n)]
    other = (a + 1) % n
    slopes = np.array([c + s * np.sin(q[b]) + k * np.cos(q[other]) for b, (c, s, k) in enumerate(e)])
    rates = np.array([s * np.cos(q[b]) * v[b] - k * np.sin(q[other]) * v[other] for b, (_, s, k) in enumerate(e)])
    return slopes, rates


def oscillators(n, rows=(), **more):
    """Masses 1, 2, ... on springs 2, 3, ..., a gyroscopic force and a constant one: no sign is hidden by a symmetry."""
    q = names(n)
    lagrangian = " + ".join(f"{k + 1}*{x}'^2/2 - {k + 2}*{x}^2/2" for k, x in enumerate(q))
    return ch.System(
        " ".join(q),
        lagrangian=lagrangian,
        forces={"q1": "0.7*q2' + 1.3", "q2": "-0.7*q1'"},
        kinematic=list(rows),
        name="oscillators",
        **more,
    )


def by_hand(n, count, first, q, v):
    """Accelerations and multipliers from the equations of motion and the differentiated constraints: one linear system."""
    mass = np.diag(np.arange(1.0, n + 1))
    force = -np.arange(2.0, n + 2) * q
    force[0] += 0.7 * v[1] + 1.3
    force[1] -= 0.7 * v[0]
    rows, rates = zip(*[coefficients(a, n, q, v) for a in range(first, first + count)], strict=True)
    rows, rates = np.array(rows), np.array(rates)
    whole = np.block([[mass, -rows.T], [rows, np.zeros((count, count))]])
    found = np.linalg.solve(whole, np.concatenate([force, -rates @ v]))
    return found[:n], found[n:]


def allowed(n, count, first, q, seed):
    """Velocities that the constraints allow."""
    rows = np.array([coefficients(a, n, q, np.zeros(n))[0] for a in range(first, first + count)])
    free = np.random.default_rng(seed).normal(size=n)
    return free - np.linalg.pinv(rows) @ (rows @ free)


# ------------------------------------------------------------ hamel


@pytest.mark.parametrize("n", [5, 8])
def test_a_dense_frame_has_short_rows_and_the_same_motion(n):
    """One quasi-velocity is held at zero: accelerations and the multiplier, with its sign, against a linear system by hand."""
    definition = {f"w{a + 1}": formula(a, n) for a in range(n)}
    system = oscillators(n, [f"w{n}' = 0"], quasi=definition)
    morphism = ch.hamel(system, ch.DAlembert())
    assert len(str(morphism.target)) < 8000
    assert str(morphism.system.kinematic[0]) == f"w{n} = 0"
    assert morphism.notes[0].startswith("The inverse of the frame is too long")
    q = 0.2 + 0.1 * np.arange(n)
    v = allowed(n, 1, n - 1, q, 3)
    w = [coefficients(a, n, q, v)[0] @ v for a in range(n)]
    there = dict(zip(names(n), q, strict=True)) | {f"w{a + 1}": w[a] for a in range(n - 1)}
    now = ch.evaluate(morphism.target, there)
    accelerations, (multiplier,) = by_hand(n, 1, n - 1, q, v)
    assert [now[f"{x}'"] for x in names(n)] == pytest.approx(v, abs=1e-13)
    assert [now[f"{x}''"] for x in names(n)] == pytest.approx(accelerations, abs=1e-12)
    assert now["lambda1"] == pytest.approx(multiplier, abs=1e-12)
    assert abs(multiplier) > 0.1
    expected = [coefficients(a, n, q, v)[0] @ accelerations + coefficients(a, n, q, v)[1] @ v for a in range(n)]
    assert [now[f"w{a + 1}'"] for a in range(n)] == pytest.approx(expected, abs=1e-12)
    start = {z: value for z, value in zip([*names(n), *[f"{x}'" for x in names(n)]], [*q, *v], strict=True) if z != "q1'"}
    motion = ch.simulate(morphism.source, start, (0, 2), tolerance=1e-12)
    found = morphism.check(motion)
    assert found.largest < 1e-9, found
    assert found.motion.certificate.ok


def test_both_forms_of_a_frame_have_the_same_accelerations(monkeypatch):
    n = 3
    definition = {f"w{a + 1}": formula(a, n) for a in range(n)}
    implicit = ch.hamel(oscillators(n), velocities=definition)
    monkeypatch.setattr(velocity_frame, "_LONGEST_DETERMINANT", 10**6)
    written = ch.hamel(oscillators(n), velocities=definition)
    assert written.target.labels[:3] == ("E_w1", "E_w2", "E_w3")
    assert implicit.target.labels[:3] == ("E_q1", "E_q2", "E_q3")
    start = {"q1": 0.3, "q2": -0.4, "q3": 0.8, "w1": 1.1, "w2": -0.7, "w3": 0.5}
    one, other = ch.evaluate(implicit.target, start), ch.evaluate(written.target, start)
    for name in ("q1'", "q2'", "q3'", "q1''", "q2''", "q3''", "w1'", "w2'", "w3'"):
        assert one[name] == pytest.approx(other[name], abs=1e-12), name


def test_structure_functions_along_coordinates_give_those_of_the_frame(monkeypatch):
    """C_ab^c = C_ij^c X_a^i X_b^j, with the fields from the other form and the inverse of NumPy."""
    n = 3
    definition = {f"w{a + 1}": formula(a, n) for a in range(n)}
    implicit = ch.hamel(oscillators(n), velocities=definition)
    monkeypatch.setattr(velocity_frame, "_LONGEST_DETERMINANT", 10**6)
    written = ch.hamel(oscillators(n), velocities=definition)
    q = np.array([0.3, -0.4, 0.8])
    at = dict(zip(implicit.source.system.coordinates, q.tolist(), strict=True))
    fields = np.linalg.inv([coefficients(a, n, q, np.zeros(n))[0] for a in range(n)])
    curls = np.zeros((n, n, n))
    for c in range(n):
        for i in range(n):
            for j in range(i + 1, n):
                e = implicit.expressions.get(f"C_q{i + 1}_q{j + 1}^w{c + 1}")
                curls[i, j, c] = 0 if e is None else value(e, at)
                curls[j, i, c] = -curls[i, j, c]
    whole = np.einsum("ijc,ia,jb->abc", curls, fields, fields)
    for a in range(n):
        for b in range(a + 1, n):
            for c in range(n):
                e = written.expressions.get(f"C_w{a + 1}_w{b + 1}^w{c + 1}")
                assert whole[a, b, c] == pytest.approx(0 if e is None else value(e, at), abs=1e-13)
    assert np.abs(whole).max() > 1e-3


@pytest.mark.parametrize(("principle", "rows", "fixed", "guessed", "moving"), small.ROWS.values(), ids=small.ROWS)
def test_rows_of_every_kind_in_a_dense_frame(dense, principle, rows, fixed, guessed, moving):
    system, definition = small.random_system(11, moving, full=False, **rows)
    state = ch.State({name: small.START[name] for name in fixed.split()}, {name: small.START[name] for name in guessed.split()})
    morphism = ch.hamel(system, principle, velocities=definition)
    assert morphism.target.labels[0] == "E_x"
    small.compared(morphism, definition, state, {"k": 1.7}, 0.6)


@pytest.mark.parametrize(("seed", "moving"), [(0, False), (2, True)], ids=["0", "2 moving"])
def test_forces_dissipation_and_time_in_a_dense_frame(dense, seed, moving):
    system, definition = small.random_system(seed, moving)
    small.compared(ch.hamel(system, velocities=definition), definition, small.START, {"k": 1.7}, 0.6)


def test_costates_and_the_action_in_a_dense_frame(dense):
    vakonomic = ch.hamel(small.sleigh(), ch.Vakonomic())
    assert [z.base for z in vakonomic.target.unknowns] == "x y theta v u omega mu1".split()
    assert str(vakonomic.system.kinematic[0]) == "u = 0"
    small.checked(vakonomic, {"x": 0.1, "y": -0.2, "theta": 0.6, "x'": 0.8, "theta'": -0.9, "lambda1": 0.3}, small.SLEIGH)
    damped = ch.System("x y", "m g", lagrangian="m/2*(x'^2 + y'^2) - g*s", action="s", name="damped")
    herglotz = ch.hamel(damped, ch.Herglotz(), velocities={"u": "x' + x*y'", "v": "y'*(2 + x^2)"})
    small.checked(herglotz, {"x": 0.3, "y": 0.5, "s": 0.2, "x'": 1, "y'": -0.8}, {"m": 1.3, "g": 0.4})


def test_inputs_and_higher_orders_in_a_dense_frame(dense):
    belt = ch.System("x y", "m W k", lagrangian="m/2*(x'^2 + y'^2) - k*(x - u)^2/2", inputs={"u": None})
    morphism = ch.hamel(belt, velocities={"w": "x' - u - W*y", "v": "y'"})
    small.checked(morphism, {"x": 0.2, "y": 0.1, "x'": 1, "y'": -0.4}, {"m": 1.2, "W": 0.6, "k": 3}, inputs={"u": "sin(2*t) + t^2"})
    beam = ch.System("x y", "k", lagrangian="(x''^2 + 2*y''^2)*(1 + x^2/5)/2 - k*(x^2 + y^2)/2 + t*x*y/4", forces={"x": "y''/5 - x'"})
    morphism = ch.hamel(beam, velocities={"f": "x' + y'*sin(y)", "g": "y'*(1 + x^2/4) + t*x/3"})
    start = {"x": 0.3, "y": -0.2, "x'": 0.5, "y'": 0.7, "x''": -0.4, "y''": 0.1, "x'''": 0.2, "y'''": -0.6}
    small.checked(morphism, start, {"k": 1.4})


def test_a_coordinate_on_which_nothing_acts_in_a_dense_frame(dense):
    follower = ch.System("x y", "m k", lagrangian="m*x'^2/2 - k*x^2/2", kinematic=["y' = x*y"], variational=[], name="follower")
    definition = {"f": "x' + y'", "g": "x' - 2*y'*(1 + x^2)"}
    morphism = ch.hamel(follower, ch.VirtualWork(), velocities=definition)
    small.compared(morphism, definition, {"x": 0.4, "y": 0.7, "x'": 1.2}, {"m": 1.3, "k": 2.1}, 0.0)


# ------------------------------------------------------------ eliminate


@pytest.mark.parametrize(("n", "count"), [(6, 4), (7, 5), (8, 6)])
def test_multipliers_of_dense_constraints_are_eliminated(n, count):
    """Accelerations against a linear system by hand; pivots of an elimination, other than their determinant, vanish near these motions."""
    equations = ch.derive(oscillators(n, [f"{formula(a, n)} = 0" for a in range(count)]), ch.DAlembert())
    without = equations.eliminate()
    assert not without.multipliers
    assert len(without.assumptions) == 1
    q = 0.2 + 0.1 * np.arange(n)
    v = allowed(n, count, 0, q, 5)
    start = dict(zip(names(n), q, strict=True)) | {f"q{k + 1}'": v[k] for k in range(count, n)}
    now = ch.evaluate(without, start)
    assert [now[f"{x}'"] for x in names(n)] == pytest.approx(v, abs=1e-12)
    assert [now[f"{x}''"] for x in names(n)] == pytest.approx(by_hand(n, count, 0, q, v)[0], abs=1e-11)
    one, other = (ch.simulate(each, start, (0, 0.5), tolerance=1e-10) for each in (equations, without))
    assert other.outcome.name == "FINISHED"
    assert len(other.t) < 3 * len(one.t)
    for x in names(n):
        assert other[x][-1] == pytest.approx(one[x][-1], abs=1e-8)


# ------------------------------------------------------------ print


def test_long_rows_are_printed_with_names_for_their_parts():
    """The bicycle has rows of 1.5 million characters. Names put back give the rows."""
    without = ch.derive(ch.gallery("bicycle")).eliminate()
    text = str(without)
    assert len(text) < 100_000
    parts = dict(re.findall(r"^  where +(P\d+) = (.*)$", text, flags=re.MULTILINE))
    assert len(parts) > 50
    printed, named = without._printed
    assert [str(name) for name, _ in named] == list(parts)
    chance = np.random.default_rng(1)
    symbols = symbols_in(*[side for row in without.rows for side in (row.lhs, row.rhs)], *without.assumptions)
    at = {z: float(chance.uniform(0.3, 0.9)) for z in sorted(symbols, key=str)} | {TIME: 0.0}
    known = dict(at)
    for name, e in named:
        known[name] = value(e, known)
    for ours, theirs in zip(printed.rows, without.rows, strict=True):
        assert value(ours.lhs, known) == pytest.approx(value(theirs.lhs, at), rel=1e-9, abs=1e-9)
        assert value(ours.rhs, known) == pytest.approx(value(theirs.rhs, at), rel=1e-9, abs=1e-9)
    for ours, theirs in zip(printed.assumptions, without.assumptions, strict=True):
        assert value(ours, known) == pytest.approx(value(theirs, at), rel=1e-9)
    assert without.latex().count("P_{") >= len(parts)


def test_short_rows_are_printed_without_names():
    assert not re.search(r"\bP\d+ = ", str(ch.derive(ch.gallery("rattleback")).eliminate()))
