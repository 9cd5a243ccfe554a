"""Matchings and components against SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components, maximum_bipartite_matching

from chetaev.numerics.start.blocks import matched, strong_components


def _random(seed: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    shape = generator.integers(1, 12, 2)
    return generator.random(shape) < generator.uniform(0.05, 0.6)


@pytest.mark.parametrize("seed", range(60))
def test_matching_is_one_and_as_large_as_possible(seed: int) -> None:
    present = _random(seed)
    owner = matched([set(np.flatnonzero(row).tolist()) for row in present], present.shape[1])
    taken = [(i, j) for j, i in enumerate(owner) if i >= 0]
    assert len({i for i, _ in taken}) == len(taken)
    assert all(present[i, j] for i, j in taken)
    assert len(taken) == int((maximum_bipartite_matching(csr_matrix(present), perm_type="row") >= 0).sum())


@pytest.mark.parametrize("seed", range(60))
def test_components_are_those_of_scipy(seed: int) -> None:
    square = _random(seed)[: (least := min(_random(seed).shape)), :least]
    ours = strong_components([set(np.flatnonzero(row).tolist()) for row in square])
    count, theirs = connected_components(csr_matrix(square), directed=True, connection="strong")
    assert len(set(zip(ours, theirs.tolist(), strict=True))) == count == len(set(ours))


def test_long_paths_need_no_recursion() -> None:
    size = 20_000
    assert matched([{k, k + 1} for k in range(size)], size + 1)[:3] == [0, 1, 2]
    assert strong_components([{(k + 1) % size} for k in range(size)]) == [0] * size
