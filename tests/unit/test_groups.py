"""Group coordinates: brackets, rates, entries, declarations, starts, what motions show, ensembles, structure."""

import itertools
import re

import numpy as np
import pytest
import sympy
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

import chetaev as ch
from chetaev.core.groups.coordinate import GroupCoordinate
from chetaev.core.groups.kinds import GROUPS
from chetaev.core.zero import zero_signatures
from chetaev.mechanics.structure import structure
from chetaev.numerics.motion.storage import load
from chetaev.numerics.start.attitude import quaternion_of, read_element

WORDS = ("SO3", "SE2", "SE3", "S1")
SIDES = ("body", "spatial")
BOTH = [(word, side) for word in WORDS for side in SIDES if word != "S1" or side == "body"]
VALUES = {"I1": 1.0, "I2": 1.7, "I3": 0.8, "k": 1.2}
RATES = {"A1'": 0.4, "A2'": -0.7, "A3'": 1.9}


def group(word, side="body"):
    return GroupCoordinate("A", word, side == "body")


def top(side="body", **parts):
    given = {"lagrangian": "(I1*A1'^2 + I2*A2'^2 + I3*A3'^2)/2 - k*A33", "name": "top", **parts}
    return ch.System({"A": f"SO3 {side}"}, "I1 I2 I3 k", **given)


def velocity_matrix(word, xi):
    return np.einsum("a,aij->ij", xi, np.array(GROUPS[word].basis, dtype=float))


# ---- the groups themselves ----------------------------------------------------------------------------------------------------------


def test_relations_between_entries_of_a_rotation_are_identities():
    """Columns have length one and are a right-handed basis, so A33 = A11*A22 - A12*A21; with the other sign that is no identity."""
    a = group("SO3").matrix
    length = a[0, 0] ** 2 + a[1, 0] ** 2 + a[2, 0] ** 2
    minor = a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]
    assert zero_signatures([length - 1, minor - a[2, 2], minor + a[2, 2], a[0, 1] - a[1, 0], 1 / (length + 1) - sympy.Rational(1, 2)]) == [
        True, True, False, False, True,
    ]  # fmt: skip


def test_basis_of_so3_is_the_vector_product():
    for a, (e, v) in enumerate(zip(GROUPS["SO3"].basis, np.eye(3), strict=True)):
        x = np.array([0.3, -0.8, 0.5])
        assert np.allclose(np.array(e) @ x, np.cross(v, x)), a


@pytest.mark.parametrize("word", WORDS)
def test_brackets_are_those_of_the_matrices(word):
    kind = GROUPS[word]
    basis = [np.array(e) for e in kind.basis]
    for a, b in itertools.combinations(range(kind.dimension), 2):
        expected = basis[a] @ basis[b] - basis[b] @ basis[a]
        found = sum((value * basis[c] for c, value in kind.brackets[a, b].items()), np.zeros_like(expected))
        assert np.array_equal(found, expected)
        assert group(word).structure[a, b] == kind.brackets[a, b]
        assert group(word, "spatial").structure[a, b] == {c: -value for c, value in kind.brackets[a, b].items()}


@pytest.mark.parametrize(("word", "side"), BOTH)
def test_rates_of_places_move_the_matrix_along_the_velocity(word, side):
    """The places moved by their rates for a short time against A exp(t xi) or exp(t xi) A, at a place that is not of unit length."""
    kind, rng = GROUPS[word], np.random.default_rng(3)
    place, xi, h = rng.normal(size=len(kind.places)), rng.normal(size=kind.dimension), 1e-3

    def matrix(z):
        return np.array(kind.matrix(list(z), np.cos, np.sin), dtype=float)

    def rates(z):
        return np.array(kind.rates(list(z), list(xi), side == "body", np.cos, np.sin), dtype=float)

    z = place.copy()
    k1 = rates(z)
    k2 = rates(z + h / 2 * k1)
    k3 = rates(z + h / 2 * k2)
    z = z + h / 6 * (k1 + 2 * k2 + 2 * k3 + rates(z + h * k3))
    step = expm(h * velocity_matrix(word, xi))
    expected = matrix(place) @ step if side == "body" else step @ matrix(place)
    assert np.abs(matrix(z) - expected).max() < 1e-13
    assert np.allclose(kind.velocity(list(place), list(k1), side == "body", np.cos, np.sin), xi, atol=1e-14)


@pytest.mark.parametrize("word", WORDS)
def test_a_matrix_is_on_the_group_whatever_its_place(word):
    kind = GROUPS[word]
    place = np.random.default_rng(1).normal(size=len(kind.places)) * 37
    a = np.array(kind.matrix(list(place), np.cos, np.sin), dtype=float)
    turn = kind.size - word.startswith("SE")
    r = a[:turn, :turn]
    assert np.abs(r @ r.T - np.eye(turn)).max() < 1e-15
    assert np.linalg.det(r) > 0
    assert np.array_equal(a[turn:], np.eye(kind.size)[turn:])


@pytest.mark.parametrize(("word", "side"), BOTH)
def test_fields_act_on_entries_as_on_matrices(word, side):
    """X_a A = A E_a or E_a A, and their commutators have the structure constants: on entries, and on places."""
    coordinate = group(word, side)
    a = coordinate.matrix

    def along(field, e):
        return sum((e.diff(z) * rate for z, rate in field.items()), sympy.S.Zero)

    for basis, field in zip(GROUPS[word].basis, coordinate.fields, strict=True):
        moved = a * sympy.Matrix(basis) if side == "body" else sympy.Matrix(basis) * a
        assert (a.applyfunc(lambda e, f=field: along(f, e)) - moved).is_zero_matrix
    functions = [*coordinate.places, a[0, 0] * a[1, 1]]
    point = {z: sympy.Rational(3 * k + 2, 7 + k) for k, z in enumerate(coordinate.places)}
    for (x, y), parts in coordinate.structure.items():
        first, second = coordinate.fields[x], coordinate.fields[y]
        for f in functions:
            left = along(first, along(second, f)) - along(second, along(first, f))
            right = sum((value * along(coordinate.fields[c], f) for c, value in parts.items()), sympy.S.Zero)
            found = (left - right).xreplace(coordinate.chart).xreplace(point)
            assert abs(float(found.evalf(30))) < 1e-25


@pytest.mark.parametrize("side", SIDES)
def test_total_derivatives_of_entries(side):
    system = top(side)
    w = sympy.Matrix([[ch.parse(f"A{a}'", system) for a in (1, 2, 3)]])
    hat = sympy.Matrix([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
    a = sympy.Matrix(3, 3, lambda i, j: ch.parse(f"A{i + 1}{j + 1}", system))
    rate = a * hat if side == "body" else hat * a
    acceleration = hat.applyfunc(lambda e: e.xreplace({z: z.d() for z in w}))
    second = rate * hat + a * acceleration if side == "body" else acceleration * a + hat * rate
    for i, j in itertools.product(range(3), range(3)):
        assert sympy.expand(ch.parse(f"A{i + 1}{j + 1}'", system) - rate[i, j]) == 0
        assert sympy.expand(ch.parse(f"A{i + 1}{j + 1}''", system) - second[i, j]) == 0
        assert ch.parse(f"D(A{i + 1}{j + 1}, 2)", system) == ch.parse(f"A{i + 1}{j + 1}''", system)


@pytest.mark.parametrize("side", SIDES)
def test_variations_of_entries_and_of_named_expressions(side):
    system = top(
        side,
        kinematic=["A3' = 0"],
        where={"height": "A13 + 2*A21"},
        variational=["δheight = 0", "δA13 + 2*δA21 = 0"],
    )
    first, second = (row.coefficients for row in system.variational)
    rate = ch.parse("A13' + 2*A21'", system)
    for q in system.coordinates:
        assert sympy.expand(first.get(q, 0) - rate.diff(q.d())) == 0
        assert sympy.expand(second.get(q, 0) - rate.diff(q.d())) == 0


def test_constant_entries_are_numbers():
    system = ch.System({"A": "SE3 spatial"}, lagrangian="A1'^2")
    assert [ch.parse(f"A4{j}", system) for j in (1, 2, 3, 4)] == [0, 0, 0, 1]
    assert ch.parse("A44'", system) == 0


# ---- declarations -------------------------------------------------------------------------------------------------------------------


def test_what_a_declaration_makes():
    system = ch.System({"x": "line", "A": "SO3 spatial", "B": "SE2 body", "C": "S1"}, lagrangian="x'^2")
    assert [q.name for q in system.coordinates] == ["x", "A1", "A2", "A3", "B1", "B2", "B3", "C1"]
    assert dict(system.kinds) == {"x": "line", "A": "SO3 spatial", "B": "SE2 body", "C": "S1"}
    assert system.replace(name="again").kinds == system.kinds
    assert "SO3 spatial" in str(system)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("SO3", "which velocity do A1', A2', ... mean"),
        ("SE2", "which velocity"),
        ("SO3 left", "which velocity"),
        ("SO3 body spatial", "which velocity"),
        ("so3", "which velocity"),
        ("SO2 body", "which is not a kind of coordinate"),
        ("R3", "which is not a kind of coordinate"),
    ],
)
def test_wrong_kinds(kind, words):
    with pytest.raises(ch.ModelError, match=words):
        ch.System({"A": kind}, lagrangian="A1'^2")


@pytest.mark.parametrize("name", ["A1", "A6", "A11", "A44", "A24"])
@pytest.mark.parametrize("role", ["coordinate", "coordinate before", "parameter", "input", "action", "where", "quasi"])
def test_reserved_names_clash(name, role):
    parts = {
        "coordinate": {"coordinates": {"A": "SO3 body", name: "line"}},
        "coordinate before": {"coordinates": {name: "line", "A": "SO3 body"}},
        "parameter": {"parameters": name},
        "input": {"inputs": {name: "sin(t)"}},
        "action": {"action": name},
        "where": {"where": {name: "2"}},
        "quasi": {"quasi": {name: "A1'"}},
    }[role]
    with pytest.raises(ch.ModelError, match=f"{name} is declared twice"):
        ch.System(**{"coordinates": {"A": "SO3 body"}, "lagrangian": "A1'^2", **parts})


def test_names_beyond_the_reserved_ones_are_free():
    system = ch.System({"A": "SO3 body", "A7": "line", "A45": "line", "A111": "line"}, "A0", lagrangian="A1'^2 + A7'^2 + A45*A111*A0")
    assert len(system.coordinates) == 6


@pytest.mark.parametrize("text", ["A1^2", "A", "A'", "A1'*A1", "2*A3"])
def test_positions_without_a_prime_have_no_meaning(text):
    with pytest.raises(ch.NotationError, match="write its velocity A1'"):
        ch.System({"A": "SO3 body"}, lagrangian=text)


@pytest.mark.parametrize("text", ["A4'^2", "A14", "A44", "A111"])
def test_names_the_group_does_not_have(text):
    with pytest.raises(ch.NotationError, match="unknown name"):
        ch.System({"A": "SO3 body"}, lagrangian=f"A1'^2 + {text}")


def test_wrong_rows_and_forces():
    with pytest.raises(ch.NotationError, match="carries no prime"):
        top(kinematic=["A1' = 0"], variational=["δA1' = 0"])
    with pytest.raises(ch.NotationError, match="no coordinate of this name"):
        top(kinematic=["A1' = 0"], variational=["δA = 0"])
    with pytest.raises(ch.NotationError, match="only in variational rows"):
        top(lagrangian="A1'^2 + δA1")
    with pytest.raises(ch.ModelError, match="a force on A13, which is not a coordinate"):
        top(forces={"A13": "1"})
    with pytest.raises(ch.ModelError, match="a force on A, which is not a coordinate"):
        top(forces={"A": "1"})
    for row in ("A11^2 + A12^2 + A13^2 = 1", "A11'*A11 + A12'*A12 + A13'*A13 = 0", "A11*A22 - A12*A21 = A33"):
        with pytest.raises(ch.ModelError, match="holds for every motion"):
            top(kinematic=[row])


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        ("A33 = 1/2", "holonomic"),
        ("A3' = 0", "linear"),
        ("A33' = 0", "linear"),
        ("A3' = A13", "affine"),
        ("A3'^2 = A1'", "nonlinear"),
        ("A1'*A2'' = A3'", "order 2"),
        ("A13'' = 0", "order 2"),
    ],
)
def test_kinds_of_rows(row, kind):
    assert top(kinematic=[row]).kinematic[0].kind == kind


@pytest.mark.parametrize(
    ("rows", "integrable"),
    [
        (["A3' = 0"], False),
        (["A1' = 0", "A2' = 0"], True),  # rotations about one axis
        (["A33' = 0"], True),
        (["A31*A1' + A32*A2' + A33*A3' = 0"], False),  # no rotation about the vertical
        (["A1' = 0", "A2' = A3'"], True),
    ],
)
def test_frobenius_on_the_group(rows, integrable):
    """Lines of the Lie algebra are subalgebras; no plane of so(3) is one."""
    assert ch.classify(top(kinematic=rows)).integrable is integrable


# ---- the start ----------------------------------------------------------------------------------------------------------------------

QUARTER = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])


@pytest.mark.parametrize(
    "given",
    [
        QUARTER,
        QUARTER.tolist(),
        tuple(map(tuple, QUARTER)),
        [np.sqrt(0.5), 0, 0, np.sqrt(0.5)],
        [-3, 0, 0, -3],
        [1e200, 0, 0, 1e200],
        [1e-200, 0, 0, 1e-200],
        [0, 0, np.pi / 2],
        np.array([0, 0, np.pi / 2 - 2 * np.pi]),
        "[0, 0, pi/2]",
        ["0", 0, "pi/2"],
        "[0, 0, quarter]",
        "[[0, -1, 0], [1, 0, 0], [0, 0, 1]]",
        "[sqrt(1/2), 0, 0, sqrt(1/2)]",
        QUARTER + 1e-10,
    ],
    ids=str,
)
def test_forms_of_a_rotation(given):
    system = ch.System({"A": "SO3 body"}, "quarter", lagrangian="A1'^2 + A2'^2 + A3'^2")
    now = ch.evaluate(ch.derive(system), {"A": given, **RATES}, parameters={"quarter": np.pi / 2})
    assert np.abs(now.rotation("A") - QUARTER).max() < (1e-15 if given is not None and np.shape(given) != (3, 3) else 2e-10)
    assert abs(np.linalg.norm([now[f"A.{z}"] for z in "wxyz"]) - 1) < 1e-15
    assert abs(now["A12"] + 1) < 2e-10


def test_a_rotation_vector_turns_the_right_way():
    v = np.array([0.3, -1.1, 0.8])
    now = ch.evaluate(ch.derive(top()), {"A": v, **RATES}, parameters=VALUES)
    assert np.abs(now.rotation("A") - Rotation.from_rotvec(v).as_matrix()).max() < 1e-15
    q = np.roll(Rotation.from_rotvec(v).as_quat(), 1, axis=-1)
    assert np.abs(ch.evaluate(ch.derive(top()), {"A": q, **RATES}, parameters=VALUES).rotation("A") - now.rotation("A")).max() < 1e-15


@pytest.mark.parametrize("seed", range(4))
def test_quaternions_of_matrices_near_half_turns(seed):
    rng = np.random.default_rng(seed)
    axis = rng.normal(size=3)
    for angle in (np.pi, np.pi - 1e-9, 1e-12, 0.0, 2.0):
        r = Rotation.from_rotvec(angle * axis / np.linalg.norm(axis)).as_matrix()
        q = quaternion_of(r)
        assert np.abs(np.array(GROUPS["SO3"].matrix(list(q), np.cos, np.sin)) - r).max() < 1e-15 * 4


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (1.0, "is not given as an element of SO3"),
        ([1, 2], "is not given as an element of SO3"),
        ([], "is not given as an element of SO3"),
        (np.eye(4), "is not given as an element of SO3"),
        ([[1, 2], 3, 4], "is not given as an element of SO3"),
        (np.eye(3)[None], "at most a matrix"),
        ([0, 0, 0, 0], "length zero"),
        (2 * np.eye(3), "off the group by 3"),
        (np.diag([1.0, 1.0, -1.0]), "it is a reflection"),
        (-np.eye(3), "it is a reflection"),
        ([np.nan, 0, 0], "not finite"),
        ([1j, 0, 0], "not a real number"),
        (None, "not a real number"),
        ("[0, 0", "never closed"),
        ("[0, 0]]", "do not match"),
        ("[0, 0, unknown]", "unknown name"),
    ],
)
def test_wrong_rotations(given, words):
    with pytest.raises(ch.ChetaevError, match=words):
        ch.evaluate(ch.derive(top()), {"A": given, **RATES}, parameters=VALUES)


def test_forms_of_the_other_groups():
    turned = np.array([[0.0, -1.0, 2.0], [1.0, 0.0, 3.0], [0.0, 0.0, 1.0]])
    places = {z.base: v for z, v in read_element(group("SE2"), turned, {}, "here").items()}
    assert places == pytest.approx({"A.x": 2, "A.y": 3, "A.angle": np.pi / 2})
    assert list(read_element(group("SE2"), "[1, 2, pi]", {}, "here").values()) == pytest.approx([1, 2, np.pi])
    for given in (0.5, [0.5], "1/2", np.array([[np.cos(0.5), -np.sin(0.5)], [np.sin(0.5), np.cos(0.5)]])):
        assert list(read_element(group("S1"), given, {}, "here").values()) == pytest.approx([0.5])
    matrix = np.block([[QUARTER, np.array([[1.0], [2.0], [3.0]])], [np.zeros((1, 3)), 1.0]])
    for given in (matrix, [1, 2, 3, 0, 0, np.pi / 2], [1, 2, 3, 2, 0, 0, 2], "[1, 2, 3, 0, 0, pi/2]"):
        half = np.sqrt(0.5)
        assert list(read_element(group("SE3"), given, {}, "here").values()) == pytest.approx([1, 2, 3, half, 0, 0, half])


@pytest.mark.parametrize(
    ("word", "given", "words"),
    [
        ("SE3", np.diag([1.0, 1, 1, 2]), "off the group by 1"),
        ("SE3", np.eye(4) + np.eye(4)[[3, 0, 1, 2]] * np.array([1, 0, 0, 0]), "off the group"),
        ("SE3", [1, 2, 3, 0, 0, 0, 0], "length zero"),
        ("SE3", [1, 2, 3, 4, 5], "not given as an element of SE3"),
        ("SE2", np.diag([1.0, -1.0, 1.0]), "it is a reflection"),
        ("SE2", [1, 2], "not given as an element of SE2"),
        ("S1", [1, 2], "not given as an element of S1"),
        ("so3", [0, 0, 0], "A has no position here"),
    ],
)
def test_wrong_elements_of_the_other_groups(word, given, words):
    with pytest.raises(ch.InitialError, match=words):
        read_element(group(word), given, {}, "here")


def test_what_is_missing_is_named():
    equations = ch.derive(top())
    with pytest.raises(ch.InitialError, match="no initial value for A"):
        ch.evaluate(equations, RATES, parameters=VALUES)
    with pytest.raises(ch.InitialError, match="no initial values for A2' A3'"):
        ch.evaluate(equations, {"A": [0, 0, 0], "A1'": 1}, parameters=VALUES)
    with pytest.raises(ch.NotationError, match="write its velocity A1'"):
        ch.evaluate(equations, {"A": [0, 0, 0], "A1": 1, **RATES}, parameters=VALUES)


def test_values_of_entries_may_be_demanded():
    """A guess moves until an entry has its value; a fixed rotation must have it."""
    equations = ch.derive(top())
    motion = ch.simulate(equations, ch.State({"A33": 0.5, **RATES}, {"A": [0.3, 0.2, 0.1]}), (0, 1), parameters=VALUES)
    assert abs(motion["A33"][0] - 0.5) < 1e-14
    now = ch.evaluate(equations, {"A": [0, 0, 1], "A33": 1, **RATES}, parameters=VALUES)
    assert now["A33"] == 1
    with pytest.raises(ch.InitialError, match="contradict"):
        ch.evaluate(equations, {"A": [0, 0, 1], "A33": 0.5, **RATES}, parameters=VALUES)


def test_holonomic_rows_move_a_guess_onto_the_group_and_the_constraint():
    system = top(kinematic=["A33 = 1/2", "A13 = A21"])
    start = ch.State({"A3'": 0.7}, {"A": [0.8, 0.3, 0.1]})
    motion = ch.simulate(ch.derive(system, ch.DAlembert()), start, (0, 5), parameters=VALUES, tolerance=1e-11)
    assert motion.outcome == "finished"
    assert np.abs(motion["A33"] - 0.5).max() < 1e-14
    assert np.abs(motion["A13"] - motion["A21"]).max() < 1e-14
    r = motion.rotation("A")
    assert np.abs(r @ r.transpose(0, 2, 1) - np.eye(3)).max() < 1e-14


# ---- what a motion shows ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def motion():
    return ch.simulate(ch.derive(top()), {"A": [0.5, -0.9, 0.4], **RATES}, (0, 3), parameters=VALUES, tolerance=1e-11)


def test_shapes_and_names(motion):
    n = len(motion.t)
    assert motion.rotation("A").shape == (n, 3, 3)
    assert motion.quaternion("A").shape == (n, 4)
    assert motion.angular_velocity("A", "body").shape == motion.velocity("A", "spatial").shape == (n, 3)
    assert [z.name for z in motion.jets] == ["A.w", "A.x", "A.y", "A.z", "A1'", "A2'", "A3'"]
    assert np.abs(np.linalg.norm(motion.quaternion("A"), axis=1) - 1).max() < 1e-15
    assert np.abs(np.diff(motion.quaternion("A"), axis=0)).max() < 1  # no jump of sign


def test_all_ways_to_read_a_rotation_agree(motion):
    r = motion.rotation("A")
    entries = np.stack([np.stack([motion[f"A{i}{j}"] for j in (1, 2, 3)], axis=-1) for i in (1, 2, 3)], axis=-2)
    assert np.abs(r - entries).max() < 1e-15
    assert np.abs(r - Rotation.from_quat(np.roll(motion.quaternion("A"), -1, axis=-1)).as_matrix()).max() < 1e-14
    body, space = (motion.angular_velocity("A", side) for side in SIDES)
    assert np.abs(body - np.stack([motion[f"A{a}'"] for a in (1, 2, 3)], axis=-1)).max() == 0
    assert np.abs(space - np.einsum("tij,tj->ti", r, body)).max() < 1e-14


def test_rates_of_entries_are_those_of_the_motion(motion):
    t, h = np.array([0.7, 1.9]), 1e-3
    for name in ("A13", "A21", "A1'"):
        ahead, behind = motion.at(t + h)[name], motion.at(t - h)[name]
        assert np.abs((ahead - behind) / (2 * h) - motion.at(t)[name + "'"]).max() < 1e-4
        assert np.abs(motion.at(t)[f"D({name}, 1)"] - motion.at(t)[name + "'"]).max() < 1e-15


def test_the_end_is_a_start(motion):
    equations = motion.equations
    again = ch.simulate(equations, motion.final, (3, 5), parameters=VALUES, tolerance=1e-11)
    whole = ch.simulate(equations, {"A": [0.5, -0.9, 0.4], **RATES}, (0, 5), parameters=VALUES, tolerance=1e-11)
    assert np.abs(again.rotation("A")[-1] - whole.rotation("A")[-1]).max() < 1e-9
    matrix = np.array([[motion.final[f"A{i}{j}"] for j in (1, 2, 3)] for i in (1, 2, 3)])
    rates = {name: motion.final[name] for name in RATES}
    from_matrix = ch.simulate(equations, {"A": matrix, **rates}, (3, 5), parameters=VALUES, tolerance=1e-11)
    assert np.abs(from_matrix.rotation("A")[-1] - again.rotation("A")[-1]).max() < 1e-9


def test_wrong_questions(motion):
    with pytest.raises(ch.UsageError, match="'left' is not a side"):
        motion.angular_velocity("A", "left")
    for name in ("B", "A1", "A13"):
        with pytest.raises(ch.UsageError, match=f"{name} is not a group coordinate"):
            motion.rotation(name)
    for name in ("A", "A1"):
        with pytest.raises(ch.NotationError, match="write its velocity"):
            motion[name]
    plane = ch.simulate(ch.derive(ch.System({"A": "S1"}, lagrangian="A1'^2")), {"A": 0, "A1'": 1}, (0, 1))
    with pytest.raises(ch.UsageError, match="has no quaternion"):
        plane.quaternion("A")


def test_saved_motions_come_back(motion, tmp_path):
    path = motion.save(tmp_path / "motion.npz")
    back = load(path)
    assert np.array_equal(back.rotation("A"), motion.rotation("A"))
    assert np.abs(back.at(1.5)["A13'"] - motion.at(1.5)["A13'"]) < 1e-14
    assert list(motion.to_pandas().columns)[:5] == ["A.w", "A.x", "A.y", "A.z", "A1'"]


def test_a_model_file_keeps_a_group_coordinate(tmp_path):
    start = ch.State({"A": [0.5, -0.9, 0.4], **RATES})
    model = ch.Model(top(), ch.Hamilton(), parameters=VALUES, start=start)
    ch.save(model, tmp_path / "top.toml")
    back = ch.load(tmp_path / "top.toml")
    assert back.system == model.system
    assert np.abs(ch.evaluate(back).rotation("A") - ch.evaluate(model).rotation("A")).max() < 1e-15


def test_motions_verify_themselves(motion):
    found = motion.verify()
    assert {"rate of A.w", "nodes", "E_A1"} <= set(found)
    assert found.worst < 1e-7


def test_other_methods_give_the_same_motion():
    start = {"A": [0.5, -0.9, 0.4], **RATES}
    equations = ch.derive(top())
    expected = ch.simulate(equations, start, (0, 2), parameters=VALUES, tolerance=1e-12).rotation("A")[-1]
    found = ch.simulate(equations, start, (0, 2), parameters=VALUES, tolerance=1e-10, method=ch.Implicit()).rotation("A")[-1]
    assert np.abs(found - expected).max() < 1e-7


def test_events_on_entries():
    found = ch.simulate(ch.derive(top()), {"A": [0.5, -0.9, 0.4], **RATES}, (0, 10), parameters=VALUES, events=["A33 + 1/5"])
    assert len(found.events) > 3
    for event in found.events:
        assert abs(found.at(event.t)["A33"] + 0.2) < 1e-12


def test_an_impact_changes_the_velocity_and_not_the_position():
    event = ch.On("A33 + 1/5", direction=-1, reset={"A3'": "-A3'*A33", "A1'": "A1' + A13"})
    found = ch.simulate(ch.derive(top()), {"A": [0.5, -0.9, 0.4], **RATES}, (0, 1.5), parameters=VALUES, events=[event])
    (hit,) = found.events
    before, after = np.flatnonzero(found.t == hit.t)
    r = found.rotation("A")
    assert np.abs(r[before] - r[after]).max() < 1e-14
    assert found["A3'"][after] == pytest.approx(-found["A3'"][before] * found["A33"][before], abs=1e-14)
    assert found["A1'"][after] == pytest.approx(found["A1'"][before] + found["A13"][before], abs=1e-14)
    assert found["A2'"][after] == found["A2'"][before]


# ---- ensembles ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["one", "vectors", "quaternions", "matrices", "starts"])
def test_ensembles_of_rotations(form):
    equations, n = ch.derive(top()), 5
    vectors = np.random.default_rng(2).normal(size=(n, 3))
    turned = Rotation.from_rotvec(vectors)
    first = np.linspace(0.1, 0.5, n)
    given = {
        "one": {"A": vectors[0], **RATES, "A1'": first},
        "vectors": {"A": vectors, **RATES, "A1'": first},
        "quaternions": {"A": 3 * np.roll(turned.as_quat(), 1, axis=-1), **RATES, "A1'": first},
        "matrices": {"A": turned.as_matrix(), **RATES, "A1'": first},
        "starts": [{"A": v, **RATES, "A1'": w} for v, w in zip(vectors, first, strict=True)],
    }[form]
    many = ch.simulate_many(equations, given, (0, 2), parameters=VALUES, tolerance=1e-11)
    for k in range(n):
        start = {"A": vectors[0 if form == "one" else k], **RATES, "A1'": first[k]}
        alone = ch.simulate(equations, start, (0, 2), parameters=VALUES, tolerance=1e-11)
        assert abs(many.final["A13"][k] - alone.final["A13"]) < 1e-12
        assert abs(many.final["A2'"][k] - alone.final["A2'"]) < 1e-12


def test_ensembles_on_constraints_and_other_groups():
    system = top(kinematic=["A33 = 1/2"])
    guess = np.random.default_rng(2).normal(size=(4, 3))
    start = ch.State({"A1'": 0.3, "A3'": np.linspace(0, 1, 4)}, {"A": guess})
    many = ch.simulate_many(ch.derive(system, ch.DAlembert()), start, (0, 2), parameters=VALUES)
    assert np.abs(many.final["A33"] - 0.5).max() < 1e-14
    pendulum = ch.derive(ch.System({"A": "S1"}, lagrangian="A1'^2/2 + A11"))
    angles = np.array([0.1, 0.7, 2.0])
    found = ch.simulate_many(pendulum, {"A": angles, "A1'": 0.2}, (0, 1))
    alone = [ch.simulate(pendulum, {"A": a, "A1'": 0.2}, (0, 1)).final["A11"] for a in angles]
    assert np.abs(found.final["A11"] - alone).max() < 1e-12


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (1.1 * np.stack([np.eye(3)] * 4), r"A\[0\].*off the group"),
        (np.ones((4, 2)), r"A\[0\].*not given as an element"),
        (np.zeros((4, 4)), r"length zero"),
        (np.ones((4, 3, 2)), r"not given as an element"),
    ],
)
def test_wrong_ensembles(given, words):
    with pytest.raises(ch.ChetaevError) as caught:
        ch.simulate_many(ch.derive(top()), {"A": given, **RATES}, (0, 1), parameters=VALUES)
    assert re.search(words, str(caught.value).replace("\n", " "))


# ---- which array is a matrix --------------------------------------------------------------------------------------------------------

THREE = np.array([[0.1, 0.2, 0.3], [-0.7, 0.4, 0.1], [1.1, -0.2, 0.6]])
"""Three rotation vectors: an array of the shape of a matrix."""


@pytest.mark.parametrize("where", ["start", "parameters"])
def test_three_rotation_vectors_for_three_members(where):
    """Other data state that there are three members, and no rotation matrix looks like this."""
    equations = ch.derive(top())
    first, inertia = ([0.1, 0.2, 0.3], VALUES["I1"]) if where == "start" else (0.1, [1.0, 1.2, 1.4])
    many = ch.simulate_many(equations, {"A": THREE, **RATES, "A1'": first}, (0, 0.5), parameters={**VALUES, "I1": inertia}, tolerance=1e-11)
    assert len(many) == 3
    assert np.abs(many.start.rotation("A") - Rotation.from_rotvec(THREE).as_matrix()).max() < 1e-14
    alone = {"A": THREE[2], **RATES, "A1'": np.broadcast_to(first, 3)[2]}
    motion = ch.simulate(equations, alone, (0, 0.5), parameters={**VALUES, "I1": np.broadcast_to(inertia, 3)[2]}, tolerance=1e-11)
    assert np.abs(many.rotation("A")[2] - motion.rotation("A")[-1]).max() < 1e-12


def test_one_matrix_for_more_members_than_it_has_rows():
    turned = Rotation.from_rotvec([0.1, 0.2, 0.3]).as_matrix()
    many = ch.simulate_many(ch.derive(top()), {"A": turned, **RATES, "A1'": np.linspace(0, 1, 4)}, (0, 0.1), parameters=VALUES)
    assert np.abs(many.start.rotation("A") - turned).max() < 1e-14


@pytest.mark.parametrize(
    ("element", "rates"),
    [
        (np.eye(3), [0.1, 0.2, 0.3]),  # one matrix for three members, or three turns by one radian
        (np.eye(3) + 1e-5, [0.1, 0.2, 0.3]),  # a careless matrix, or three turns
        (THREE, 0.1),  # no other data tell the number of members
        (np.eye(3), 0.1),
    ],
)
def test_a_square_array_that_may_be_both_is_refused(element, rates):
    with pytest.raises(ch.InitialError) as caught:
        ch.simulate_many(ch.derive(top()), {"A": element, **RATES, "A1'": rates}, (0, 0.1), parameters=VALUES)
    told = str(caught.value)
    assert "one matrix, or 3 elements, each a row with its rotation vector" in told
    assert "array of shape (1, 3, 3)" in told and "quaternions" in told


def test_what_the_refusal_of_a_square_array_suggests():
    equations, rates = ch.derive(top()), {**RATES, "A1'": [0.1, 0.2, 0.3]}
    one = ch.simulate_many(equations, {"A": np.eye(3)[None], **rates}, (0, 0.1), parameters=VALUES)
    assert np.abs(one.start.rotation("A") - np.eye(3)).max() < 1e-15
    quaternions = np.roll(Rotation.from_rotvec(np.eye(3)).as_quat(), 1, axis=-1)
    three = ch.simulate_many(equations, {"A": quaternions, **rates}, (0, 0.1), parameters=VALUES)
    assert np.abs(three.start.rotation("A") - Rotation.from_rotvec(np.eye(3)).as_matrix()).max() < 1e-14
    listed = ch.simulate_many(equations, [{"A": np.eye(3), **RATES} for _ in range(3)], (0, 0.1), parameters=VALUES)
    assert np.abs(listed.start.rotation("A") - np.eye(3)).max() < 1e-15


def test_three_members_in_the_plane():
    """Positions and angles of three members are a square array too; a homogeneous matrix ends with 0, 0, 1."""
    equations = ch.derive(ch.System({"A": "SE2 body"}, lagrangian="(A1'^2 + A2'^2 + A3'^2)/2"))
    given = np.array([[1.0, 2.0, 0.3], [0.5, -1.0, 2.0], [0.0, 1.0, -0.4]])
    many = ch.simulate_many(equations, {"A": given, "A1'": [1.0, 2.0, 3.0], "A2'": 0, "A3'": 0}, (0, 0.1))
    assert many.start.rotation("A")[:, :2, 2] == pytest.approx(given[:, :2])
    with pytest.raises(ch.InitialError, match="one matrix, or 3 elements, each a row with its position and angle"):
        ch.simulate_many(equations, {"A": given, "A1'": 1.0, "A2'": 0, "A3'": 0}, (0, 0.1))


def test_rotations_of_scipy_are_starts():
    """A Rotation stands for its matrix, whichever side its quaternion has the scalar on; a stack of them for an ensemble."""
    equations, turned = ch.derive(top()), Rotation.from_rotvec(THREE)
    for given in (turned[1], Rotation.from_rotvec(THREE[1:2])[0]):
        now = ch.evaluate(equations, {"A": given, **RATES}, parameters=VALUES)
        assert now["A12"] == pytest.approx(turned[1].as_matrix()[0, 1], abs=1e-14)
    motion = ch.simulate(equations, {"A": turned[2], **RATES}, (0, 0.1), parameters=VALUES)
    assert np.abs(motion.rotation("A")[0] - turned[2].as_matrix()).max() < 1e-14
    for given in (turned, list(turned)):
        many = ch.simulate_many(equations, {"A": given, **RATES}, (0, 0.1), parameters=VALUES)
        assert np.abs(many.start.rotation("A") - turned.as_matrix()).max() < 1e-14
    with pytest.raises(ch.InitialError, match="3 elements are given for A"):
        ch.evaluate(equations, {"A": turned, **RATES}, parameters=VALUES)


def test_one_rotation_of_scipy_is_no_riddle():
    """It is one element, however many members there are."""
    turned = Rotation.from_rotvec(THREE[0])
    for rates in (0.4, [0.1, 0.2, 0.3]):
        many = ch.simulate_many(ch.derive(top()), {"A": turned, **RATES, "A1'": rates}, (0, 0.1), parameters=VALUES)
        assert np.abs(many.start.rotation("A") - turned.as_matrix()).max() < 1e-14


def test_the_start_of_a_model_is_one_start():
    turned = Rotation.from_rotvec(THREE[0]).as_matrix()
    model = ch.Model(top(), ch.Hamilton(), parameters=VALUES, start={"A": turned.tolist(), **RATES}, t=(0, 0.1))
    for inertia in (1.0, [1.0, 1.2, 1.4]):
        many = ch.simulate_many(model, parameters={"I1": inertia})
        assert np.abs(many.start.rotation("A") - turned).max() < 1e-14


def test_what_ensembles_know_of_group_coordinates():
    equations = ch.derive(top())
    starts = [{"A": v, **RATES, "A1'": w} for v, w in zip(THREE, (0.1, 0.4, 0.9), strict=True)]
    many = ch.simulate_many(equations, starts, (0, 0.7), parameters=VALUES, tolerance=1e-11)
    for k, start in enumerate(starts):
        motion = ch.simulate(equations, start, (0, 0.7), parameters=VALUES, tolerance=1e-11)
        assert np.abs(many.rotation("A")[k] - motion.rotation("A")[-1]).max() < 1e-12
        assert np.abs(many.final.quaternion("A")[k] - motion.quaternion("A")[-1]).max() < 1e-12
        for side in ("body", "spatial"):
            assert many.final.angular_velocity("A", side)[k] == pytest.approx(motion.angular_velocity("A", side)[-1], abs=1e-12)
    with pytest.raises(ch.UsageError, match="not a group coordinate"):
        many.rotation("B")


# ---- structure ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "dimension"),
    [([], 6), (["A3' = 0"], 5), (["A33 = 1/2"], 4), (["A33 = 1/2", "A3' = A1'"], 3), (["A1' = 1", "A2' = t", "A3' = 0"], 3)],
)
def test_free_initial_values(rows, dimension):
    """A rotation counts three, not four: the length of the quaternion means nothing."""
    analysis = ch.analyze(ch.derive(top(kinematic=rows), ch.DAlembert() if rows else None))
    assert analysis.verdict == "REGULAR"
    assert analysis.dimension == dimension
    assert "A" in analysis.state


def test_orders_of_components_may_differ():
    """A1 of fourth order beside A2 and A3 of second: the place is in the state once."""
    system = ch.System({"A": "SO3 body"}, lagrangian="(A1'^2 + A2'^2 + A3'^2)/2 + A1''^2/2 - A33")
    equations = ch.derive(system)
    assert ch.analyze(equations).dimension == 8
    start = {"A": [0.1, 0.2, 0.3], **RATES, "A1''": 0.1, "A1'''": 0.2}
    motion = ch.simulate(equations, start, (0, 1), tolerance=1e-11)
    assert motion.verify().worst < 1e-7
    assert motion.drift["balance"] < 1e-9


def test_a_group_coordinate_without_inertia_is_still_part_of_the_state():
    """Its row says where it stands, and the derivative of the row moves it: as an angle does without inertia."""
    equations = ch.derive(ch.System({"A": "S1", "x": "line"}, lagrangian="x'^2/2 - (x - A21)^2 - 3*A11"))
    angled = ch.derive(ch.System("a x", lagrangian="x'^2/2 - (x - sin(a))^2 - 3*cos(a)"))
    found = structure(equations)
    assert [z.name for z in found.state] == ["A.angle", "x", "x'"]
    assert ch.analyze(equations).verdict == ch.analyze(angled).verdict
    assert ch.analyze(equations).dimension == ch.analyze(angled).dimension == 2
    motion = ch.simulate(equations, ch.State({"x": 0.3, "x'": 0.1}, {"A": 0.2}), (0, 3), tolerance=1e-11)
    other = ch.simulate(angled, ch.State({"x": 0.3, "x'": 0.1}, {"a": 0.2}), (0, 3), tolerance=1e-11)
    assert abs(motion.final["A21"] - np.sin(other.final["a"])) < 1e-12
    assert abs(motion.final["x"] - other.final["x"]) < 1e-12


def test_a_rotation_without_inertia_follows_its_equilibrium():
    """Springs hold a massless body; it turns as a mass on a line pulls it. The balance of torques holds to round-off."""
    pull = "x*A12/2 - x*A31/3"
    system = ch.System({"A": "SO3 body", "x": "line"}, lagrangian=f"x'^2/2 - x^2 + 3*A11 + 2*A22 + A33 + {pull}")
    motion = ch.simulate(ch.derive(system), ch.State({"x": 0.3, "x'": 0.1}, {"A": [0, 0, 0]}), (0, 5), tolerance=1e-11)
    assert motion.outcome == "finished"
    assert max(motion.drift[f"E_A{a}"] for a in (1, 2, 3)) < 1e-14
    r, x = motion.rotation("A"), motion["x"]
    stiffness = np.zeros((len(x), 3, 3))
    stiffness[:] = np.diag([3.0, 2.0, 1.0])
    stiffness[:, 0, 1], stiffness[:, 2, 0] = x / 2, -x / 3
    torque = np.einsum("tji,tjk->tik", r, stiffness)  # V = -tr(K^T A) is stationary where A^T K is symmetric
    assert np.abs(torque - torque.transpose(0, 2, 1)).max() < 1e-13
    assert motion.drift["balance"] < 1e-10


def test_a_momentum_about_one_axis_acts_on_the_others():
    """L = I w1^2/2: E_2 = I w1 w3 and E_3 = -I w1 w2 are rows although A2 and A3 do not occur in L."""
    equations = ch.derive(ch.System({"A": "SO3 body"}, "I", lagrangian="I/2*A1'^2"))
    rows = {row.label: row.residual for row in equations.rows}
    assert rows["E_A2"] == ch.parse("I*A1'*A3'", equations)
    assert rows["E_A3"] == ch.parse("-I*A1'*A2'", equations)
    plane = ch.derive(ch.System({"A": "SE2 body"}, "m", lagrangian="m/2*A1'^2"))
    assert [row.label for row in plane.rows] == ["E_A1", "E_A2", "E_A3"]
    still = ch.derive(ch.System({"A": "SE2 body"}, "J", lagrangian="J/2*A3'^2"))  # nothing acts on the translations
    assert [row.label for row in still.rows] == ["E_A3"]


def test_derivatives_of_components_read_back_as_they_are_shown():
    system = top()
    for text in ("A1'", "A2''", "A3'''", "A1''''", "D(A2', 5)"):
        e = ch.parse(text, system)
        assert ch.parse(ch.show(e), system) == e


def test_a_position_given_twice_is_refused_in_either_order():
    equations = ch.derive(top())
    for start in ({"A": [0, 0, 0], "A.w": 0.5, **RATES}, {"A.w": 0.5, "A": [0, 0, 0], **RATES}):
        with pytest.raises(ch.InitialError, match="given twice"):
            ch.evaluate(equations, start, parameters=VALUES)


def test_principles_are_compared_on_groups():
    """For the homogeneous ball vakonomic motion with multipliers zero is d'Alembert's: it rolls uniformly."""
    ball = ch.System(
        {"A": "SO3 spatial", "x": "line", "y": "line"},
        lagrangian="(A1'^2 + A2'^2 + A3'^2)/5 + (x'^2 + y'^2)/2",
        kinematic=["x' = A2'", "y' = -A1'"],
    )
    start = {"A": [0, 0, 0], "x": 0, "y": 0, "A1'": 0.3, "A2'": 0.4, "A3'": 0.2, "lambda1": 0.5, "lambda2": 0.1}
    (pair,) = ch.compare(ball, [ch.DAlembert(), ch.Vakonomic()], start, (0, 1)).pairs
    assert pair.identical is False
    assert pair.distance.max() > 0.1
    assert pair.coinciding == pytest.approx({"lambda1": 0, "lambda2": 0}, abs=1e-9)


@pytest.mark.parametrize("corner", ["abs(A33)", "max(A33, -A33)", "sign(A33)*A33"])
def test_corners_in_entries_are_switched(corner):
    """A body that turns about one axis sees A33 = cos(q): the same potential in one angle switches at the same times."""
    body = ch.System({"A": "SO3 body"}, lagrangian=f"(A1'^2 + A2'^2 + A3'^2)/2 - {corner}")
    angle = ch.System("q", lagrangian=f"q'^2/2 - {corner.replace('A33', 'cos(q)')}")
    turned = ch.simulate(ch.derive(body), {"A": [0.7, 0, 0], "A1'": 0.9, "A2'": 0, "A3'": 0}, (0, 8), tolerance=1e-10)
    wanted = ch.simulate(ch.derive(angle), {"q": 0.7, "q'": 0.9}, (0, 8), tolerance=1e-10)
    assert [s.t for s in turned.switches] == pytest.approx([s.t for s in wanted.switches], abs=1e-7)
    assert len(wanted.switches) >= 2
    assert turned.final["A33"] == pytest.approx(wanted.final["cos(q)"], abs=1e-7)


def test_there_and_back_again():
    """Backwards over a long time as well as forwards, and as many steps for a slow motion as for the same motion faster."""
    free = ch.derive(ch.System({"A": "SO3 body"}, lagrangian="(A1'^2 + 2*A2'^2 + 3*A3'^2)/2"))
    start = {"A": [0.4, -0.3, 0.2], "A1'": 0.3, "A2'": 0.7, "A3'": -0.2}
    there = ch.simulate(free, start, (0, -100), tolerance=1e-11)
    back = ch.simulate(free, there.final, (-100, 0), tolerance=1e-11)
    assert back.final.rotation("A") == pytest.approx(there.rotation("A")[0], abs=1e-8)
    slow = {**start, **{v: 1e-4 * start[v] for v in ("A1'", "A2'", "A3'")}}
    fast, slower = (ch.simulate(free, s, (0, 50 * k), tolerance=1e-8) for s, k in ((start, 1.0), (slow, 1e4)))
    assert slower.counts["accepted"] < 2 * fast.counts["accepted"]
    assert slower.final.rotation("A") == pytest.approx(fast.final.rotation("A"), abs=1e-5)


def test_what_a_reduced_motion_offers():
    """Of a reduced system only velocities are known; certificates and comparisons do with them."""
    small = ch.System({"A": "so3 body"}, lagrangian="(A1'^2 + 1.7*A2'^2 + 0.8*A3'^2)/2 + A1'*A3'/5", kinematic=["A3' = 0"])
    compared = ch.compare(small, [ch.Chetaev(), ch.DAlembert()], {"A1'": 0.3, "A2'": 0.2}, t=(0, 2))
    assert compared.pairs[0].identical is True
    motion = ch.simulate(ch.derive(small, ch.DAlembert()), {"A1'": 0.3, "A2'": 0.2}, (0, 2))
    assert motion.verify().worst < 1e-6


def test_charts_keep_out_of_the_way_of_names():
    system = ch.System({"A": "SO3 body", "A_1": "line"}, lagrangian="A1'^2 + 7*A_1'^2")
    assert len(ch.groups.in_coordinates(system).coordinates) == 4


def test_a_multiplier_that_runs_is_no_steady_motion():
    system = ch.System({"A": "SO3 body", "z": "line"}, lagrangian="(A1'^2 + A2'^2 + A3'^2)/2 + z", kinematic=["z' = A2'^2/2"])
    start = {"A": [0, 0, 0.3], "A1'": 0, "A2'": 0, "A3'": 1, "z": 0, "lambda1": 0.3}
    assert not ch.linearize(ch.derive(system, ch.Vakonomic()), start).steady


def test_a_file_may_state_entries(tmp_path):
    system = ch.System({"A": "SO3 body"}, lagrangian="(A1'^2 + A2'^2 + A3'^2)/2 - A33")
    start = ch.State({"A33": 0.5, "A1'": 0, "A2'": 0.1, "A3'": 1}, {"A": [0.3, 0, 0]})
    model = ch.Model(system, ch.Hamilton(), start=start, t=(0, 1))
    assert ch.load(ch.save(model, tmp_path / "x.toml")) == model
