"""The heaviest assignment against SciPy's, on matrices like the signatures of systems: small whole numbers, many absent, many equal."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from chetaev.mechanics.structure import heaviest_assignment, sparse_assignment

ABSENT = -(10**6)


@pytest.mark.parametrize("seed", range(20))
def test_total_weight_is_that_of_scipy(seed):
    random = np.random.default_rng(seed)
    for _ in range(50):
        shape = tuple(random.integers(0, 12, 2))
        weights = random.integers(-2, 4, shape)
        weights[random.random(shape) < random.choice([0.0, 0.4, 0.8])] = ABSENT
        rows, columns = heaviest_assignment(weights)
        assert rows.tolist() == sorted(set(rows.tolist()))
        assert len(rows) == len(set(columns.tolist())) == min(shape)
        assert weights[rows, columns].sum() == weights[linear_sum_assignment(weights, maximize=True)].sum()


@pytest.mark.parametrize("seed", range(20))
def test_weights_that_are_present_alone_give_the_same_assignment(seed):
    random = np.random.default_rng(seed)
    for _ in range(50):
        n = int(random.integers(1, 14))
        weights = random.integers(-2, 4, (n, n))
        weights[random.random((n, n)) < random.choice([0.0, 0.4, 0.8])] = ABSENT
        found = sparse_assignment([{j: int(v) for j, v in enumerate(line) if v != ABSENT} for line in weights])
        rows, columns = heaviest_assignment(weights)
        whole = bool((weights[rows, columns] != ABSENT).all())
        assert found == (columns.tolist() if whole else None)


def test_same_matrix_same_assignment():
    weights = np.random.default_rng(3).integers(0, 2, (30, 30))
    first, second = heaviest_assignment(weights), heaviest_assignment(weights.copy())
    assert [a.tolist() for a in first] == [a.tolist() for a in second]


def test_large_weights_are_exact():
    """Differences of one beside sizes of 10^15: rounding to doubles would lose nothing here, rounding to less would."""
    big = 10**15
    rows, columns = heaviest_assignment(np.array([[big, big + 1], [big + 1, big + 3]]))
    assert columns[np.argsort(rows)].tolist() == [0, 1]
