"""The syntax tree of the notation: the structure of a text in its own order, before names get a meaning.

    text    --parser-->  tree  --meaning-->  SymPy
    SymPy   --show---->  tree  --show----->  text
                         tree  --typeset-->  LaTeX and MathML, in one piece or in pieces between which a line may end

Brackets are not kept: they are written again where the tree needs them. A node holds its place in the text, so that a later error can
point at it; nodes made from expressions have no place. Nodes are named tuples, which are made three times as fast as frozen dataclasses:
reading a text makes one for every word.
"""

from __future__ import annotations

from typing import Any, NamedTuple

Span = tuple[int, int]
"""The positions in a text at which a part of it begins and ends."""
NOWHERE: Span = (0, 0)
"""The span of a node that was not read from a text."""


class Number(NamedTuple):
    """A number as it is written, without a sign."""

    text: str
    span: Span = NOWHERE


class Name(NamedTuple):
    """A name with its primes; `span` is that of the name alone."""

    name: str
    primes: int = 0
    span: Span = NOWHERE


class Varied(NamedTuple):
    """`δx`; for `delta x`, `delta` is the span of the first word, which may turn out to be a declared name."""

    name: str
    span: Span = NOWHERE
    delta: Span | None = None


class Call(NamedTuple):
    """A function of its arguments, the total derivative `D(e, n)`, or without a name a list `(x', y')`, which only running text has.

    `span` is that of the name, `stop` the end of the closing bracket.
    """

    name: str
    arguments: tuple[Tree, ...]
    span: Span = NOWHERE
    stop: int = 0


class Sum(NamedTuple):
    """Terms, each with its sign `+` or `-`, and where the signs between them stand; also a single term with a minus before it."""

    terms: tuple[tuple[str, Tree], ...]
    places: tuple[int, ...] = ()


class Product(NamedTuple):
    """Factors, each after `*` or `/`, the first after `*`, and where these signs stand."""

    factors: tuple[tuple[str, Tree], ...]
    places: tuple[int, ...] = ()


class Power(NamedTuple):
    """A base and its exponent; `span` is that of the sign between them."""

    base: Tree
    exponent: Tree
    span: Span = NOWHERE


class Foreign(NamedTuple):
    """An expression of SymPy that the notation cannot write."""

    expression: Any


Tree = Number | Name | Varied | Call | Sum | Product | Power | Foreign


def negative(tree: Tree) -> Sum:
    """The tree with a minus before it."""
    return Sum((("-", tree),))
