r"""A Lie algebra by its structure constants: velocities without positions, as in a system that was reduced by its symmetry."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from numbers import Integral
from typing import Any, final

import sympy
from sympy import Expr, S

from chetaev.core.errors import ModelError
from chetaev.core.fixes import Advice, InPython
from chetaev.core.groups.exact_numbers import as_text, expression_of, real_number
from chetaev.core.groups.kinds import Brackets, Function, Group, Numbers
from chetaev.core.groups.matrix_group import MOST_DIMENSIONS
from chetaev.core.support.public import public


@public
@final
class LieAlgebra(Group):
    """A Lie algebra with structure constants; `lie_algebra` makes it. Equal constants make equal algebras.

    Args:
        dimension: The number of basis vectors.
        constants: The structure constants.
    """

    places = ()
    size = 0
    sided = False

    def __init__(self, dimension: int, constants: Brackets) -> None:
        self._dimension, self.brackets = dimension, constants

    @property
    def dimension(self) -> int:
        """The dimension of the algebra."""
        return self._dimension

    @property
    def basis(self) -> tuple[Any, ...]:
        """None: there are no matrices."""
        return ()

    @property
    def algebra_only(self) -> bool:
        return True

    def matrix(self, place: Numbers, cos: Function, sin: Function) -> list[list[Any]]:
        """Return no rows: a Lie algebra alone has no group elements."""
        return []

    def rates(self, place: Numbers, velocity: Numbers, body: bool, cos: Function, sin: Function) -> list[Any]:
        """Return no rates: a Lie algebra alone has no positions."""
        return []

    def velocity(self, place: Numbers, rates: Numbers, body: bool, cos: Function, sin: Function) -> list[Any]:
        """Not available: a Lie algebra alone has no positions."""
        raise NotImplementedError("a Lie algebra has no positions")

    @property
    def key(self) -> str:
        """A text without blanks from which `lie_algebra_of_key` makes the algebra again."""
        rows = [f"{a};{b};{c};{as_text(sympy.S(v))}" for (a, b), parts in sorted(self.brackets.items()) for c, v in sorted(parts.items())]
        return "|".join([f"algebra:{self._dimension}", *rows])

    @property
    def plain(self) -> dict[str, Any]:
        """The algebra as texts and tables, as a model file holds it."""
        constants = {
            f"{a + 1},{b + 1}": {str(c + 1): int(v) if S(v).is_Integer else as_text(S(v)) for c, v in sorted(parts.items())}
            for (a, b), parts in sorted(self.brackets.items())
            if parts
        }
        return {"dimension": self._dimension, "brackets": constants}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LieAlgebra) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __reduce__(self) -> tuple[Any, ...]:
        return lie_algebra_of_key, (self.key,)

    def __repr__(self) -> str:
        return f"lie_algebra of dimension {self._dimension}"


@public
def lie_algebra(brackets: Mapping[Any, Mapping[Any, Any]], dimension: int | None = None) -> LieAlgebra:
    """The Lie algebra with given brackets of its basis e1, e2, ...

    Args:
        brackets: `{(1, 2): {3: 1}}` for [e1, e2] = e3, counted from 1; brackets that are left out vanish. Numbers are exact, texts such as
            `"96/7"` included. In files the keys are texts, `"1,2"` and `"3"`.
        dimension: The number of basis vectors; the largest number that occurs, if it is left out.

    Returns:
        The algebra, for `System({"w": "h3"}, groups={"h3": ...}, ...)`: velocities w1', w2', ... on the body side, and no place.

    Raises:
        ModelError: If a key is not a pair of numbers, two entries contradict each other, or Jacobi's identity fails.

    >>> lie_algebra({(1, 2): {3: 1}}, dimension=3).brackets
    {(0, 1): {2: 1}, (0, 2): {}, (1, 2): {}}
    """
    if not isinstance(brackets, Mapping) or not all(isinstance(parts, Mapping) for parts in brackets.values()):
        raise _refused(
            "the brackets are not a mapping of pairs to combinations.", hint=(InPython("{(1, 2): {3: 1}}"), " for [e1, e2] = e3")
        )
    read = {_pair(key): {_number(c): real_number(v, f"lie_algebra, [{key}]") for c, v in parts.items()} for key, parts in brackets.items()}
    largest = max([0, *[k for pair, parts in read.items() for k in (*pair, *parts)]])
    if dimension is None:
        dimension = largest
    if isinstance(dimension, bool) or not isinstance(dimension, Integral) or not max(1, largest) <= dimension <= MOST_DIMENSIONS:
        what = f"dimension={dimension!r} does not fit: the brackets name e1 to e{largest}."
        raise _refused(what, hint=f"a number from {max(1, largest)} to {MOST_DIMENSIONS}")
    d = int(dimension)
    constants: dict[tuple[int, int], dict[int, Expr]] = {(a, b): {} for a in range(d) for b in range(a + 1, d)}
    for (a, b), parts in read.items():
        sign = 1 if a < b else -1
        found = {c - 1: sign * v for c, v in parts.items() if v != 0}
        if a == b and found:
            raise _refused(f"[e{a}, e{b}] is not zero.", why="A bracket is antisymmetric.", hint="leave it out")
        if a == b:
            continue
        if (b, a) in read and constants[min(a, b) - 1, max(a, b) - 1] not in ({}, found):
            raise _refused(f"[e{a}, e{b}] and [e{b}, e{a}] contradict each other.", why="A bracket is antisymmetric.", hint="give one")
        constants[min(a, b) - 1, max(a, b) - 1] = found
    _check_jacobi(d, constants)
    return LieAlgebra(d, constants)


def algebra_of(group: Group) -> LieAlgebra:
    """The Lie algebra of a group."""
    return LieAlgebra(group.dimension, {pair: {c: S(v) for c, v in parts.items()} for pair, parts in group.brackets.items()})


@lru_cache(maxsize=256)
def lie_algebra_of_key(key: str) -> LieAlgebra:
    """The algebra of a `key`."""
    head, *rows = key.split("|")
    d = int(head.partition(":")[2])
    constants: dict[tuple[int, int], dict[int, Expr]] = {(a, b): {} for a in range(d) for b in range(a + 1, d)}
    for row in rows:
        a, b, c, v = row.split(";")
        constants[int(a), int(b)][int(c)] = expression_of(v)
    return LieAlgebra(d, constants)


def _check_jacobi(d: int, constants: Mapping[tuple[int, int], Mapping[int, Expr]]) -> None:
    r"""$[[e_a, e_b], e_c] + [[e_b, e_c], e_a] + [[e_c, e_a], e_b] = 0$, exactly."""
    from chetaev.core.zero import vanishes

    def bracket(a: int, b: int) -> dict[int, Expr]:
        if a == b:
            return {}
        return dict(constants[a, b]) if a < b else {c: -v for c, v in constants[b, a].items()}

    for a in range(d):
        for b in range(a + 1, d):
            for c in range(b + 1, d):
                total: dict[int, Expr] = {}
                for x, y, z in ((a, b, c), (b, c, a), (c, a, b)):
                    for k, v in bracket(x, y).items():
                        for m, w in bracket(k, z).items():
                            total[m] = total.get(m, S.Zero) + v * w
                if any(v != 0 and vanishes(sympy.expand(v)) is not True for v in total.values()):
                    raise _refused(
                        f"Jacobi's identity fails for e{a + 1}, e{b + 1}, e{c + 1}.",
                        why="[[x, y], z] + [[y, z], x] + [[z, x], y] = 0 in every Lie algebra.",
                        hint="check the signs; numbers are exact, so -1.6667 is not -5/3",
                    )


def _pair(key: Any) -> tuple[int, int]:
    parts = key.replace(",", " ").split() if isinstance(key, str) else key
    if not isinstance(parts, tuple | list) or len(parts) != 2:
        raise _refused(f"{key!r} is not a pair of numbers.", hint=(InPython("{(1, 2): {3: 1}}"), " for [e1, e2] = e3"))
    return _number(parts[0]), _number(parts[1])


def _number(k: Any) -> int:
    if isinstance(k, str) and k.strip().isdigit():
        k = int(k)
    if isinstance(k, bool) or not isinstance(k, Integral) or not 1 <= int(k) <= MOST_DIMENSIONS:
        raise _refused(f"{k!r} is not the number of a basis vector.", hint=("they are counted from 1: ", InPython("{(1, 2): {3: 1}}")))
    return int(k)


def _refused(what: str, why: str = "", hint: Advice = "") -> ModelError:
    return ModelError(what, where="lie_algebra", why=why, hint=hint)
