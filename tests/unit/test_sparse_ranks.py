"""Large sparse matrices: the answers of an elimination against decompositions into singular values."""

import numpy as np
import pytest

from chetaev.mechanics.ranks.factored import _solution_of, is_regular
from chetaev.mechanics.ranks.sparse import clearly_regular, is_sparse, log_scales, sparse_fit, sparse_least_norm
from chetaev.mechanics.ranks.split import rank_of, split


def banded(n, extra=0):
    chance = np.random.default_rng(n)
    found = np.zeros((n, n + extra))
    for k in range(n):
        found[k, k : k + 3] = chance.uniform(0.2, 1, min(3, n + extra - k)) * (1, 0.3, 0.2)[: n + extra - k]
    return found


def test_a_solution_of_least_norm():
    a, right = banded(150, 40), np.random.default_rng(1).normal(size=150)
    assert is_sparse(a)
    np.testing.assert_allclose(sparse_least_norm(a, right, 1e-10), np.linalg.lstsq(a, right)[0], rtol=0, atol=1e-12)


def test_least_squares():
    a, right = banded(150, 40).T, np.random.default_rng(1).normal(size=190)
    np.testing.assert_allclose(sparse_fit(a, right, 1e-10), np.linalg.lstsq(a, right)[0], rtol=0, atol=1e-12)
    a[:, 70] = a[:, 20]
    assert sparse_fit(a, right, 1e-10) is None


@pytest.mark.parametrize("distance", [0.0, 1e-12, 1e-9])
def test_rows_that_are_nearly_dependent_are_left_to_a_decomposition(distance):
    a = banded(150, 40)
    a[70] = a[20]
    a[70, 75] += distance
    assert sparse_least_norm(a, np.ones(150), 1e-10) is None


def test_more_rows_than_unknowns_are_left_to_a_decomposition():
    assert sparse_least_norm(banded(150, 40).T, np.ones(190), 1e-10) is None


@pytest.mark.parametrize("units", [False, True])
def test_a_matrix_that_is_clearly_regular(units):
    a = banded(150)
    if units:
        chance = np.random.default_rng(3)
        a = 10 ** chance.uniform(-12, 12, 150)[:, None] * a * 10 ** chance.uniform(-12, 12, 150)
    doubts = 1e-15 * np.abs(a)
    assert clearly_regular(a, doubts, 1e-9)
    assert is_regular(a, doubts, 150)


@pytest.mark.parametrize("size", [0.0, 1e-14, 1e-10])
def test_a_matrix_that_is_not_clearly_regular(size):
    a = banded(150)
    a[70] = a[20]
    a[70, 75] += size
    assert not clearly_regular(a, None, 1e-9)
    a = banded(150)
    a[:, 70] = 0.0
    assert not clearly_regular(a, None, 1e-9)


def test_doubts_make_a_matrix_unclear():
    a = banded(150)
    assert not clearly_regular(a, 0.1 * np.abs(a), 1e-9)


def test_scales_of_a_pattern_with_two_parts():
    present = np.zeros((120, 130), dtype=bool)
    present[:60, :65], present[60:, 65:] = banded(60, 5) != 0, banded(60, 5) != 0
    logs = np.where(present, np.random.default_rng(2).normal(size=present.shape), 0.0)
    sums = np.concatenate([logs.sum(axis=1), logs.sum(axis=0)])[None]
    np.testing.assert_allclose(log_scales(present, sums)[0], _solution_of(present.tobytes(), 120, 130) @ sums[0], rtol=0, atol=1e-9)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 5), (5, 2), (4, 4)])
@pytest.mark.parametrize("wanted", [0, 1, 2])
def test_rank_and_null_space_of_one_split_are_the_columns(shape, wanted):
    """The product of random factors has the rank of the smaller factor; null vectors are annihilated, and rows orthogonal to them."""
    chance = np.random.default_rng(7)
    inner = min(wanted, *shape)
    matrix = chance.normal(size=(shape[0], inner)) @ chance.normal(size=(inner, shape[1]))
    found = split(matrix)
    assert found.rank == inner == rank_of(matrix) and found.rank + found.null.shape[1] == shape[1]
    assert np.abs(matrix @ found.null).max(initial=0.0) < 1e-13 and np.abs(found.rows.T @ found.null).max(initial=0.0) < 1e-14


def test_the_cut_of_a_split_refers_to_the_largest_singular_value_or_to_a_given_size():
    matrix = np.diag([1e-3, 1e-9])
    assert rank_of(matrix, 1e-7) == 2 and rank_of(matrix, 1e-5) == 1
    assert rank_of(matrix, 1e-7, size=1.0) == 1 and rank_of(matrix, 1e-2, at_least=1.0) == 0
