"""Sums that are identically zero or constant, such as cos(t)^2 + sin(t)^2 - 1: as doubles they are the round-off of their terms.

A body at rest under such a force would follow noise, in steps that no tolerance allows to be longer. Leaving a term out needs a proof, so
the finite field decides (`core.exact.signature`); one point of doubles only selects the sums that are worth asking about.

In -x + cos(t)^2 + sin(t)^2 - 1 only some of the terms cancel. Terms that share no symbol with the others form a group of their own; a group
that cancels is constant. In x^2 + cosh(x)^2 - sinh(x)^2 a part of a group is: the terms that are no monomials, or two of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import isfinite

import casadi as ca
import numpy as np
import sympy
from numpy.typing import NDArray
from sympy import Expr, Rational

from chetaev.core.symbols import long, symbols_in

_CANCELS = 1e-8
"""Relative to the largest term: a sum that differs more from a number at one point is not that number. A larger value only costs time."""
_SIMPLE, _EXACTLY = 60, 1e-11
"""Largest denominator and size of a constant that some terms may amount to, and how exactly, relative to the largest term: with more, every
other number is one."""
_MOST_PARTS = 60
"""Sums that are written with more parts are one group: finding the symbols of all terms would take longer than all else."""
_MOST_PAIRED = 12
"""Most terms, other than monomials, for which all pairs are compared."""
_FIRST, _SPREAD, _GOLDEN = 0.31, 0.5, 0.6180339887498949
"""The value of symbol number k in the sample is `_FIRST + _SPREAD * ((k + 1) * _GOLDEN % 1)`, so that no two symbols are equal."""


@dataclass(frozen=True)
class Suspect:
    """Terms of a sum that may amount to a number."""

    node: Expr
    terms: tuple[Expr, ...]
    number: Expr


def may_cancel(node: Expr) -> bool:
    """Tell whether terms of a sum can cancel identically: SymPy has already collected monomials."""
    return bool(node.is_Add) and not all(_is_monomial(term) for term in node.args)


def suspects_in(sums: Sequence[Expr], graphs: Mapping[Expr, ca.SX], numbers: Mapping[str, float]) -> list[Suspect]:
    """The groups of terms, of those in `sums`, that amount to a number at one point as far as doubles tell, or have no value there.

    `graphs` has the terms as graphs, and `numbers` the values of those leaves of the graphs that stand for numbers, by name.
    """
    values = _sample([graphs[term] for node in sums for term in node.args], numbers)
    found, end = [], 0
    for node in sums:
        at = dict(zip(node.args, values[end : end + len(node.args)].tolist(), strict=True))
        end += len(node.args)
        fixed, groups = ([], [list(node.args)]) if long(node, _MOST_PARTS) else _groups(node.args)
        constant = sum(at[term] for term in fixed)
        for group in groups:
            left = set(group)
            for some in _parts(group):
                value, size = sum(at[term] for term in some), max(abs(at[term]) for term in some)
                number = _number(value, size, constant, fixed) if left.issuperset(some) else None
                if number is not None and (some == group or isfinite(value)):
                    found.append(Suspect(node, tuple(some), number))
                    left -= set(some)
    return found


def _parts(group: list[Expr]) -> list[list[Expr]]:
    """The terms of a group that may cancel: all, those that are no monomials, and pairs of these."""
    others = [term for term in group if not _is_monomial(term)]
    if not others:
        return []
    pairs = combinations(others, 2) if len(others) <= _MOST_PAIRED else ()
    return [part for k, part in enumerate([group, others, *map(list, pairs)]) if k == 0 or 1 < len(part) < len(group)]


def without(node: Expr, cancelled: Sequence[Suspect]) -> Expr:
    """A sum without the groups of its terms that are constant: their numbers take their places."""
    gone = {term for each in cancelled for term in each.terms}
    return sympy.Add(*[term for term in node.args if term not in gone], *[each.number for each in cancelled])


def _number(value: float, size: float, constant: float, fixed: Sequence[Expr]) -> Expr | None:
    """The number that a group of terms may amount to; None if there is none."""
    if not abs(value + constant) > _CANCELS * size:  # so it is if there is no value
        return -sympy.Add(*fixed)
    if abs(value) > _SIMPLE:
        return None
    simple = Fraction(value).limit_denominator(_SIMPLE)
    return None if abs(value - simple) > _EXACTLY * min(size, _SIMPLE) else Rational(simple.numerator, simple.denominator)


def _groups(terms: Sequence[Expr]) -> tuple[list[Expr], list[list[Expr]]]:
    """The terms without symbols, and groups of the others such that terms of different groups have no symbol in common."""
    fixed: list[Expr] = []
    groups: list[tuple[set[sympy.Symbol], list[Expr]]] = []
    for term in terms:
        symbols = set(symbols_in(term))
        if not symbols:
            fixed.append(term)
            continue
        joined = [term]
        apart = []
        for others, group in groups:
            if symbols.isdisjoint(others):
                apart.append((others, group))
            else:
                symbols |= others
                joined = group + joined
        groups = [*apart, (symbols, joined)]
    return fixed, [group for _, group in groups]


def _sample(graphs: Sequence[ca.SX], numbers: Mapping[str, float]) -> NDArray[np.float64]:
    """The values of graphs at a point of order one."""
    column = ca.densify(ca.vertcat(*graphs))
    leaves = ca.symvar(column)
    point = [numbers.get(leaf.name(), _FIRST + _SPREAD * ((k + 1) * _GOLDEN % 1)) for k, leaf in enumerate(leaves)]
    return np.array(ca.Function("sample", [ca.vertcat(*leaves)], [column])(point), dtype=float).ravel()


def _is_monomial(term: Expr) -> bool:
    factors = term.args if term.is_Mul else (term,)
    return all(f.is_Rational or f.is_Symbol or (f.is_Pow and f.base.is_Symbol and f.exp.is_Rational) for f in factors)
