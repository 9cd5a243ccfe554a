"""Changes of sign of a function of one variable: all of them are found, and functions that cannot be seen end the search."""

import math
from itertools import pairwise

import numpy as np
import pytest

from chetaev.numerics.methods.changes import Change, root, sign_changes


class Counted:
    """A function that counts its calls."""

    def __init__(self, f):
        self.f, self.calls = f, 0

    def __call__(self, x):
        self.calls += 1
        return self.f(x)


def roots(f, left=0.0, sign=None):
    sign = int(np.sign(f(left))) if sign is None else sign
    changes, last = sign_changes(f, left, 1.0, sign)
    assert all(a.right <= b.left for a, b in pairwise(changes))
    assert all(b.sign == -a.sign for a, b in pairwise(changes))
    return [root(f, change) for change in changes], last


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 100, 3001])
def test_every_root_of_a_sine(count):
    """sin(w x + 0.3) has its roots at (k pi - 0.3)/w."""
    w = (count + 0.5) * math.pi - 0.3
    f = Counted(lambda x: math.sin(w * x + 0.3))
    found, last = roots(f)
    assert found == pytest.approx([(k * math.pi - 0.3) / w for k in range(1, count + 1)], abs=1e-14)
    assert last == (-1) ** count
    assert f.calls < 100 * (count + 1)


@pytest.mark.parametrize("waves", [4, 8, 64, 1024])
def test_a_wave_that_fits_into_the_samples(waves):
    """The samples at equal distances all have the value sin(0.3)."""
    found, last = roots(lambda x: math.sin(2 * math.pi * waves * x + 0.3))
    assert found == pytest.approx([(k * math.pi - 0.3) / (2 * math.pi * waves) for k in range(1, 2 * waves + 1)], abs=1e-14)
    assert last == 1


def test_no_oscillation_looks_like_a_slow_one():
    """Frequencies at random, and one that golden places would take for half a wave."""
    some = np.random.default_rng(5)
    for w, phase in [(7667.964714877928, 1332.0352851220725), *zip(some.uniform(3, 900, 100), some.uniform(0, 6, 100), strict=True)]:
        changes, _ = sign_changes(lambda x, w=w, phase=phase: math.sin(w * x + phase), 0.0, 1.0, int(np.sign(math.sin(phase))))
        assert len(changes) == math.floor((w + phase) / math.pi) - math.floor(phase / math.pi)


@pytest.mark.parametrize(("first", "where"), [(0, 0), (-1, 0), (1, 1)])
def test_a_search_for_the_first_change_is_short(first, where):
    f = Counted(lambda x: math.sin(1e4 * x + 0.3))
    changes, _ = sign_changes(f, 0.0, 1.0, 1, first=first)
    found = [change for change in changes if first in (0, change.sign)]
    assert root(f, found[0]) == pytest.approx(((where + 1) * math.pi - 0.3) / 1e4, abs=1e-15)
    assert f.calls < 400
    assert sign_changes(f, 0.0, 3e-4, 1)[0][0].right <= 3e-4


@pytest.mark.parametrize("depth", [1e-2, 1e-6, 1e-10])
@pytest.mark.parametrize("centre", [0.0003, 0.05, 0.31, 0.5001, 0.7321, 0.875, 0.96, 0.9997])
def test_where_it_turns_back_there_are_two_roots_or_none(depth, centre):
    """A square shifted downwards, bent by a cubic; both its roots must lie inside."""
    half = math.sqrt(depth)

    def f(x):
        return (2.0 + x) * ((x - centre) ** 2 - depth)

    if half < centre < 1 - half:
        assert roots(f)[0] == pytest.approx([centre - half, centre + half], abs=1e-12)
        assert roots(lambda x: -f(x))[0] == pytest.approx([centre - half, centre + half], abs=1e-12)
    assert roots(lambda x: (2.0 + x) * ((x - centre) ** 2 + depth)) == ([], 1)


def test_a_crossing_and_a_turn_together():
    assert roots(lambda x: (x - 0.1) * ((x - 0.7) ** 2 - 1e-6))[0] == pytest.approx([0.1, 0.699, 0.701], abs=1e-13)
    assert roots(lambda x: (x - 0.1) * (x - 0.2) * ((x - 0.65) ** 2 + 1e-9))[0] == pytest.approx([0.1, 0.2], abs=1e-13)


def test_a_root_beyond_which_there_is_no_value():
    found, last = roots(lambda x: math.sqrt(0.7 - x) - 0.1 if x <= 0.7 else math.nan)
    assert found == pytest.approx([0.69], abs=1e-14)
    assert last == -1
    assert roots(lambda x: math.nan, sign=1) == ([], 1)


def test_jumps_are_changes_too():
    """Thirty jumps, the last one at the end; a jump between two roots."""
    found, _ = roots(lambda x: math.floor(30 * x) % 2 - 0.5)
    assert found == pytest.approx(list(np.arange(1, 31) / 30), abs=1e-12)
    assert roots(lambda x: 1.0 + (x > 0.37) - 4.0 * x)[0] == pytest.approx([0.25, 0.37, 0.5], abs=1e-12)


def test_round_off_ends_the_search():
    """(x + 1)^2 - x^2 - 2x - 1 is no number to rely on: only both ends are looked at."""
    f = Counted(lambda x: (7 * x + 1) ** 2 - 49 * x**2 - 14 * x - 1)
    changes, _ = sign_changes(f, 0.0, 1.0, 1)
    assert len(changes) <= 1
    assert f.calls < 5000


def test_zeros_are_no_signs():
    assert sign_changes(lambda x: 0.0, 0.0, 1.0, -1) == ([], -1)
    assert sign_changes(lambda x: 0.0, 0.0, 1.0, 0) == ([], 0)
    assert roots(lambda x: x - 0.5) == ([0.5], 1)  # a sample
    assert roots(lambda x: (x - 0.5) ** 2) == ([], 1)
    assert roots(lambda x: 0.5 - x if x < 0.5 else 0.0) == ([], 1)
    assert sign_changes(lambda x: max(x - 0.5, 0.0), 0.0, 1.0, 0) == ([], 1)  # it begins without a sign


def test_the_sign_of_before_counts_at_the_left_end():
    """A step may begin in the root, or a rounding error beyond it."""
    for f in (lambda x: x, lambda x: x + 1e-17):
        (change,), last = sign_changes(f, 0.0, 1.0, -1)
        assert root(f, change) == 0.0
        assert (change.sign, last) == (1, 1)
        assert sign_changes(f, 0.0, 1.0, 1) == ([], 1)


@pytest.mark.parametrize("power", [1, 3, 9, 33])
def test_flat_roots_are_located_as_fast_as_by_halving(power):
    f = Counted(lambda x: (x - 0.7) ** power)
    found = root(f, Change(0.2, 0.9, 1))
    assert found == pytest.approx(0.7, abs=1e-9 if power > 9 else 1e-13)
    assert f.f(found) >= 0
    assert f.calls <= math.ceil(math.log2(1e13)) + 4


def test_a_root_is_as_sharp_as_what_was_known_of_it():
    """Of many roots in one step each is located in parts of its own bracket."""
    found = root(lambda x: math.sin(1e6 * x), Change(0.5 - 1e-6, 0.5 + 1e-6, 1 if math.cos(5e5) > 0 else -1))
    exact = round(5e5 / math.pi) * math.pi / 1e6
    assert found == pytest.approx(exact, abs=1e-15)
