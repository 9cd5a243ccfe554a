"""The syntax tree of the notation: what a text says, in its order, before any name has a meaning.

    text    --parser-->  tree  --meaning-->  SymPy
    SymPy   --show---->  tree  --show----->  text
                         tree  --latex---->  LaTeX, in one piece or in pieces between which a line may end

Brackets are not kept: they are written again where the tree needs them. A node knows where it stands in its text, so that a fault
found later can be pointed at; nodes made from expressions stand nowhere. Nodes are tuples, which are made three times as fast as frozen
dataclasses: reading a text makes one for every word.
"""

from __future__ import annotations

from typing import Any, NamedTuple

Span = tuple[int, int]
"""Where something begins and ends in a text."""
_NOWHERE: Span = (0, 0)


class Number(NamedTuple):
    """A number as it is written, without a sign."""

    text: str
    span: Span = _NOWHERE


class Name(NamedTuple):
    """A name with its primes; `span` is that of the name alone."""

    name: str
    primes: int = 0
    span: Span = _NOWHERE


class Varied(NamedTuple):
    """`δx`; written `delta x`, `delta` is the place of the first word, which may be a name of its own."""

    name: str
    span: Span = _NOWHERE
    delta: Span | None = None


class Call(NamedTuple):
    """A function of its arguments; `span` is that of the name, `stop` the end of the closing bracket."""

    name: str
    arguments: tuple[Tree, ...]
    span: Span = _NOWHERE
    stop: int = 0


class Derived(NamedTuple):
    """`D(inner, times)`; `times` is None where it is not written."""

    inner: Tree
    times: int | None
    span: Span = _NOWHERE


class Sum(NamedTuple):
    """Terms, each with its sign `+` or `-`; also a single one with a minus before it."""

    terms: tuple[tuple[str, Tree], ...]
    places: tuple[int, ...] = ()
    """Where the signs between the terms stand."""


class Product(NamedTuple):
    """Factors, each after `*` or `/`; the first after `*`."""

    factors: tuple[tuple[str, Tree], ...]
    places: tuple[int, ...] = ()


class Power(NamedTuple):
    """A base and its exponent; `span` is that of the sign between them."""

    base: Tree
    exponent: Tree
    span: Span = _NOWHERE


class Listed(NamedTuple):
    """`(x', y')`, which only running text has."""

    parts: tuple[Tree, ...]


class Foreign(NamedTuple):
    """An expression of SymPy that the notation has no words for."""

    expression: Any


Tree = Number | Name | Varied | Call | Derived | Sum | Product | Power | Listed | Foreign


def negative(tree: Tree) -> Sum:
    """The tree with a minus before it."""
    return Sum((("-", tree),))
