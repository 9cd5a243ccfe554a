"""Rows and masses that almost depend on each other have one right answer, or are ill-conditioned, by every verb alike."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ortho_group

import chetaev as ch
from chetaev.mechanics.ranks.factored import Factored

FREE = "(x'^2 + y'^2 + z'^2)/2 - 3*x - 2*y - z"
KINDS = {
    "velocities": ("x y z", FREE, ["x' = y'", "x' = (1 + E)*y'"], {"x": 0.1, "y": 0.2, "z": 0, "z'": 1}),
    "positions": ("x y z", FREE, ["x = y", "x = (1 + E)*y"], {"z": 0, "z'": 1}),
    "three rows": (
        "x y z w",
        f"{FREE} + w'^2/2 - w",
        ["x' = y' + z'", "y' = 2*z' - x'", "2*y' - z' = E*x'"],
        {"x": 0.1, "y": 0.2, "z": 0, "w": 0, "w'": 1},
    ),
    "masses": (
        "x y z",
        "(x' + y')^2/2 + (y' + z')^2/2 + (x' + 2*y' + z')^2/2 + E*z'^2/2 - x - y",
        [],
        {"x": 0.1, "y": 0.1, "z": 0, "x'": 0.3, "y'": 0.3, "z'": 0},
    ),
}
"""Coordinates, L, rows and a start; E stands for the small number."""


def stated(kind, e, as_parameter):
    """Equations, a start and the values of the parameters."""
    names, lagrangian, rows, start = KINDS[kind]
    word = "e" if as_parameter else e
    lagrangian, *rows = (text.replace("E", word) for text in (lagrangian, *rows))
    system = ch.System(names, parameters="e" if as_parameter else "", lagrangian=lagrangian, kinematic=rows)
    principle = ch.DAlembert() if rows else ch.Hamilton()
    return system, principle, start, {"e": float(e)} if as_parameter else {}


def answers(system, principle, start, values):
    """What every verb says: "ill-conditioned", "answers", or another refusal."""
    equations = ch.derive(system, principle)
    many = {name: [float(v), float(v)] for name, v in start.items()}

    def ensemble():
        ends = ch.simulate_many(equations, many, (0, 0.1), parameters=values)
        if len(ends.failed):
            raise ch.StateError(str(ends.message(0)), where="simulate_many")

    verbs = {
        "evaluate": lambda: ch.evaluate(equations, start, parameters=values),
        "simulate": lambda: ch.simulate(equations, start, (0, 0.1), parameters=values),
        "simulate_many": ensemble,
        "linearize": lambda: ch.linearize(equations, start, parameters=values),
        "code": lambda: ch.code(ch.Model(system, principle=principle, parameters=values, start=start, t=(0, 0.1)), "numpy"),
    }
    found = {}
    for name, verb in verbs.items():
        try:
            verb()
            found[name] = "answers"
        except ch.ChetaevError as refused:
            found[name] = "ill-conditioned" if "ill-conditioned" in str(refused) else str(refused)
    return found


@pytest.mark.parametrize("as_parameter", [False, True], ids=["number", "parameter"])
@pytest.mark.parametrize("e", ["1e-10", "1e-14", "1e-17"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_doubles_cannot_show_is_ill_conditioned_for_every_verb(kind, e, as_parameter):
    """Below 1e-16 the sum 1 + e is 1 in doubles; taken for dependent, the rows would let x and y fall together."""
    assert set(answers(*stated(kind, e, as_parameter)).values()) == {"ill-conditioned"}


@pytest.mark.parametrize("as_parameter", [False, True], ids=["number", "parameter"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_doubles_show_has_its_answer(kind, as_parameter):
    system, principle, start, values = stated(kind, "1e-3", as_parameter)
    assert set(answers(system, principle, start, values).values()) == {"answers"}
    now = ch.evaluate(ch.derive(system, principle), start, parameters=values)
    if kind == "masses":  # with s = x' + y', u = y' + z': 2*s' + u' = -1, E*z'' = 0, and E_y is the sum of the two others less E*z''
        mass = np.array([[2, 3, 1], [3, 6, 3], [1, 3, 2 + 1e-3]])
        right = np.linalg.solve(mass, [-1, -1, 0])
        assert [now["x''"], now["y''"], now["z''"]] == pytest.approx(right, rel=1e-9)
    else:
        assert [now["x''"], now["y''"]] == pytest.approx([0, 0], abs=1e-9)


@pytest.mark.parametrize("e", ["1e-4", "1e-6", "1e-8"])
def test_in_between_every_verb_says_the_same(e):
    """The rows have x' = y' = 0 as their only solution, whatever e: an answer other than rest would be wrong."""
    system, principle, start, values = stated("velocities", e, False)
    found = set(answers(system, principle, start, values).values())
    assert found in ({"ill-conditioned"}, {"answers"})
    if found == {"answers"}:
        now = ch.evaluate(ch.derive(system, principle), start)
        assert [now["x''"], now["y''"]] == pytest.approx([0, 0], abs=1e-6)


def test_the_message_has_the_number():
    system, principle, start, values = stated("velocities", "1e-14", True)
    with pytest.raises(ch.StateError, match=r"a singular value of the matrix for lambda1 lambda2 is 1e-14 of the largest"):
        ch.evaluate(ch.derive(system, principle), start, parameters=values)


def test_parameters_with_round_off_of_their_own_leave_rows_redundant():
    """0.1 + 0.2 differs from 0.3 in the last digit: both rows say x' = 0.3*y', and one multiplier is open."""
    system = ch.System("x y", parameters="p q", lagrangian="(x'^2 + y'^2)/2 - y", kinematic=["x' = p*y'", "x' = q*y'"])
    values = {"p": 0.1 + 0.2, "q": 0.3}
    now = ch.evaluate(ch.derive(system, ch.DAlembert()), {"x": 0, "y": 0, "y'": 1}, parameters=values)
    assert now["y''"] == pytest.approx(-1 / 1.09, rel=1e-12)
    motion = ch.simulate(ch.derive(system, ch.DAlembert()), {"x": 0, "y": 0, "y'": 1}, (0, 1), parameters=values)
    assert motion.final["y"] == pytest.approx(1 - 0.5 / 1.09, rel=1e-9)


def sparse_with_a_small_value(seed, smallest):
    """A sparse matrix with 200 rows: orthogonal blocks on both sides of a diagonal, whose last entry a block hides among large ones."""
    chance = np.random.default_rng(seed)
    diagonal = chance.uniform(0.5, 1, 200)
    diagonal[-1] = smallest
    left, right = (np.zeros((200, 200)) for _ in range(2))
    for k in range(0, 200, 5):
        left[k : k + 5, k : k + 5] = ortho_group.rvs(5, random_state=chance)
        right[k : k + 5, k : k + 5] = ortho_group.rvs(5, random_state=chance)
    return (left @ np.diag(diagonal) @ right)[:, chance.permutation(200)]


@pytest.mark.parametrize("seed", range(3))
def test_rank_and_null_space_of_a_sparse_matrix_come_from_one_decomposition(seed):
    matrix = sparse_with_a_small_value(seed, 1e-12)
    assert (matrix != 0).mean() < 0.03
    found = Factored(matrix)
    assert (found.rank, found.nullity, found.null.shape[1]) == (199, 1, 1)
    assert found.ill_conditioned
    null = found.null_in(np.ones(200))
    assert np.abs(matrix @ null).max() < 1e-11
    full = Factored(sparse_with_a_small_value(seed, 0.5))
    assert (full.rank, full.nullity, full.null.shape[1]) == (200, 0, 0)


def test_a_small_unit_is_no_small_singular_value():
    """An entry that is alone in its row and column is as large as its unit makes it."""
    matrix = sparse_with_a_small_value(1, 0.5)
    matrix[0] *= 1e-12
    found = Factored(matrix)
    assert (found.rank, found.nullity) == (200, 0)
