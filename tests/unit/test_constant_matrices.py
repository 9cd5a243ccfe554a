"""What is made of a constant mass matrix is remembered between motions, and made anew where its numbers are others."""

from weakref import WeakKeyDictionary

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import chetaev as ch
from chetaev.mechanics.ranks.sparse import same_numbers
from chetaev.numerics.flow import local_rank


def _chain(n):
    names = [f"u{k}" for k in range(n)]
    energy = " + ".join(f"m*{name}'^2/2" for name in names) + f" + m*{names[0]}'*{names[1]}'/3"
    springs = " - ".join(f"({b} - {a})^2/2" for a, b in zip(["0", *names], [*names, "0"], strict=True))
    return names, ch.derive(ch.System(names, "m", lagrangian=f"{energy} - {springs}"))


@pytest.mark.parametrize("n", [6, 130])
def test_another_mass_is_another_matrix(n):
    """With three times the mass the motion is slower by the root of three."""
    names, equations = _chain(n)
    start = {name: np.sin(k) for k, name in enumerate(names)} | {f"{name}'": 0.0 for name in names}
    one = ch.simulate(equations, start, (0, 2), parameters={"m": 1}, tolerance=1e-10).final
    slow = ch.simulate(equations, start, (0, 2 * 3**0.5), parameters={"m": 3}, tolerance=1e-10).final
    again = ch.simulate(equations, start, (0, 2), parameters={"m": 1}, tolerance=1e-10).final
    assert [slow[name] for name in names] == pytest.approx([one[name] for name in names], abs=1e-7)
    assert [again[name] for name in names] == [one[name] for name in names]
    with pytest.raises(ch.ChetaevError):
        ch.simulate(equations, start, (0, 2), parameters={"m": 0})


def test_what_is_made_of_a_matrix_is_made_once():
    """For each tape, while its matrix has the same numbers."""
    made, one, other = [], _Tape(), _Tape()
    known = WeakKeyDictionary()

    def ask(tape, number):
        return local_rank._made_once(known, tape, np.array([[number]]), lambda matrix: made.append(1) or float(2 * matrix[0, 0]))

    assert [ask(tape, x) for tape, x in ((one, 1), (one, 1), (other, 1), (one, 2), (one, 1), (other, 1))] == [2, 2, 2, 4, 2, 2]
    assert len(made) == 4


class _Tape:
    """What a matrix comes from."""


def test_matrices_with_the_same_numbers():
    matrix = np.array([[1.0, 0.0], [2.0, 3.0]])
    assert same_numbers(matrix, matrix.copy())
    assert not same_numbers(matrix, matrix * (1 + 1e-15))
    assert same_numbers(csr_matrix(matrix), csr_matrix(matrix))
    assert not same_numbers(csr_matrix(matrix), matrix)
    assert not same_numbers(csr_matrix(matrix), csr_matrix(matrix.T))
    assert not same_numbers(np.array([[np.nan]]), np.array([[np.nan]]))
