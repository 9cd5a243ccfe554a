r"""Symbols: coordinates, parameters, inputs, and the jets of whatever moves.

A derivative is a symbol of its own. `x`, `x'`, `x''` are three independent variables, the *jets* of `x`; they are
related by the total derivative $D$ of `chetaev.core.calculus`, not by a function of a global time.

    >>> x = Coordinate("x")
    >>> x.d(2)
    x''
    >>> x.d(1).base, x.d(1).order
    ('x', 1)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from operator import index
from typing import Any, Self

import sympy
from sympy.printing.latex import LatexPrinter

from chetaev.core.errors import UsageError
from chetaev.core.fixes import Ask
from chetaev.core.support.letters import HIGHEST_DERIVATIVE, MOST_PRIMES, NAME, spell, symbol_latex
from chetaev.core.support.public import public

TIME = sympy.Symbol("t", real=True)
"""Time, the one independent variable."""

MOST_ASKED = 120
"""Parts of an expression, symbols and numbers among them, up to which SymPy determines its sign: with more it takes too long."""

_MARKUP = re.compile(r"[\\{}$&#%~<>\"`]")
"""Characters that LaTeX, a web page or a program reads as markup; the name of a symbol is printed as it is."""


class Jet(sympy.Symbol):
    """Abstract: a quantity that moves, or one of its time derivatives. `base` names the quantity, `order` counts the dots."""

    __slots__ = ("base", "order")
    base: str
    order: int

    @classmethod
    def class_key(cls) -> tuple[int, int, str]:
        return 2, 0, "b"  # sorts after parameters in SymPy's products, as on paper

    def __new__(cls, base: str, order: int = 0) -> Self:
        found: Self = _jet(cls, str(base), index(order))  # 4 and 4.0 would be the same key of the cache
        return found

    def d(self, times: int = 1) -> Self:
        """The jet `times` derivatives further up.

        Args:
            times: The number of derivatives; negative numbers lower the order.
        """
        return type(self)(self.base, self.order + times)

    def __getnewargs_ex__(self) -> tuple[tuple[str, int], dict[str, Any]]:
        return (self.base, self.order), {}

    def _latex(self, printer: LatexPrinter) -> str:
        return symbol_latex(self.base, self.order)


def _new_jet(kind: type[Any], base: str, order: int) -> Any:
    if order < 0:
        raise ValueError(f"a jet has an order of at least 0, not {order}")
    _require_plain(base)
    self = sympy.Symbol.__xnew__(kind, jet_name(base, order), real=True)
    self.base, self.order = base, order
    return self


_jet: Callable[..., Any] = lru_cache(maxsize=10_000)(_new_jet)
"""A cache of jets, so that equal jets are mostly the same object and mappings find them without comparing names."""


class Coordinate(Jet):
    """A coordinate of the configuration space, or one of its derivatives: `Coordinate("x").d(1)` is the velocity."""

    __slots__ = ()


class Input(Jet):
    """A function of time that is given, not sought, or one of its derivatives."""

    __slots__ = ()


class Multiplier(Jet):
    """A Lagrange multiplier `lambda1`, `lambda2`, ..., or one of its derivatives (vakonomic motion)."""

    __slots__ = ()


class Action(Jet):
    """The action variable of Herglotz' principle, with `s' = L`."""

    __slots__ = ()


class Place(Jet):
    """One of the stored numbers of a group coordinate: `A.w`, `A.x`, `A.y`, `A.z` of the quaternion of a rotation A.

    The integrator's state contains places; in rows they occur only through the entries of the matrix. `components` are the names `A1`, ...
    of the velocities on which their rates depend.
    """

    __slots__ = ("components",)
    components: tuple[str, ...]

    def __new__(cls, base: str, order: int = 0, components: tuple[str, ...] = ()) -> Self:
        self: Self = _new_jet(cls, base, order)
        self.components = components
        return self

    def d(self, times: int = 1) -> Self:
        return type(self)(self.base, self.order + times, self.components)

    def _hashable_content(self) -> tuple[Any, ...]:
        return (*super()._hashable_content(), self.components)

    def __getnewargs_ex__(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return (self.base, self.order, self.components), {}


class Entry(sympy.Symbol):
    """An entry `A13` of the matrix of a group coordinate A; its rate depends on the components `A1'`, `A2'`, ... of the velocity."""

    __slots__ = ("column", "components", "group", "kind", "row")

    @classmethod
    def class_key(cls) -> tuple[int, int, str]:
        return 2, 0, "b"

    def __new__(cls, group: str, kind: str, row: int, column: int, components: tuple[str, ...]) -> Self:
        self: Self = sympy.Symbol.__xnew__(cls, entry_name(group, row, column), real=True)
        self.group, self.kind, self.row, self.column, self.components = group, kind, row, column, components
        return self

    def _hashable_content(self) -> tuple[Any, ...]:
        # A13 of a rotation and A13 of a rigid motion of the plane are different functions
        return (*super()._hashable_content(), self.kind)

    def __getnewargs_ex__(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return (self.group, self.kind, self.row, self.column, self.components), {}

    def _latex(self, printer: LatexPrinter) -> str:
        return symbol_latex(self.name)


class Parameter(sympy.Symbol):
    """A constant `name` whose value is given when the equations are evaluated. `positive=True` helps zero tests and simplification."""

    __slots__ = ()

    @classmethod
    def class_key(cls) -> tuple[int, int, str]:
        """The key by which SymPy sorts parameters among the terms of an expression."""
        return 2, 0, "a"

    def __new__(cls, name: str, positive: bool = False) -> Self:
        _require_plain(name)
        self: Self = sympy.Symbol.__xnew__(cls, name, **({"positive": True} if positive else {"real": True}))
        return self

    def __getnewargs_ex__(self) -> tuple[tuple[str, bool], dict[str, Any]]:
        return (self.name, bool(self.is_positive)), {}

    def _latex(self, printer: LatexPrinter) -> str:
        return symbol_latex(self.name)


class Variation(sympy.Symbol):
    """The component `δx` of a virtual displacement."""

    __slots__ = ()

    def __new__(cls, base: str) -> Self:
        self: Self = sympy.Symbol.__xnew__(cls, f"δ{base}", real=True)
        return self

    @property
    def coordinate(self) -> str:
        """The coordinate's name."""
        return str(self.name[1:])

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, Any]]:
        return (self.coordinate,), {}

    def _latex(self, printer: LatexPrinter) -> str:
        return rf"\delta {symbol_latex(self.coordinate)}"


def _require_plain(name: str) -> None:
    """Raise a ValueError for a name with markup. Names of a system are checked earlier; this is for symbols made by hand."""
    if not isinstance(name, str) or not name or not name.isprintable() or _MARKUP.search(name):
        raise ValueError(f"{name!r} cannot be the name of a symbol: letters, digits and _, beginning with a letter")


def component_name(group: str, k: int) -> str:
    """The name of the component number `k` of a group coordinate: `A3`, and from the tenth on `A_10`."""
    return f"{group}{k}" if k <= 9 else f"{group}_{k}"


def entry_name(group: str, row: int, column: int) -> str:
    """The name of an entry of the matrix of a group coordinate: `A13`, and `A_1_10` where a number has two digits."""
    return f"{group}{row}{column}" if max(row, column) <= 9 else f"{group}_{row}_{column}"


def jet_name(base: str, order: int) -> str:
    """The name of a jet in the notation: `x`, `x'`, `x''`, `x'''`, then `D(x, 4)`, and from order 21 `D(D(x, 20), 1)`."""
    if order <= MOST_PRIMES:
        return base + "'" * order
    if order <= HIGHEST_DERIVATIVE:
        return f"D({base}, {order})"
    return f"D({jet_name(base, HIGHEST_DERIVATIVE)}, {order - HIGHEST_DERIVATIVE})"


@public
def delta(coordinate: Coordinate) -> Variation:
    """The variation `δx` of a coordinate `x`.

    Args:
        coordinate: The coordinate, not one of its derivatives.

    Returns:
        The symbol `δx`, for variational rows.

    Raises:
        UsageError: If `coordinate` is not a coordinate of order 0.
    """
    if not isinstance(coordinate, Coordinate) or coordinate.order:
        order = isinstance(coordinate, Coordinate)
        what = f"{coordinate} is a derivative." if order else f"delta takes a coordinate, not {type(coordinate).__name__}."
        raise UsageError(what, where="delta", hint=Ask("delta", coordinate.base if order else 'ch.coordinates("x")'))
    return Variation(coordinate.base)


@public
def coordinates(names: str) -> Any:
    """Coordinates from names: `x, y = coordinates("x y")`.

    Args:
        names: Names separated by blanks or commas.

    Returns:
        A tuple of coordinates; a single coordinate for a single name.

    Raises:
        UsageError: If a name is not one.
    """
    return _symbols(Coordinate, names)


@public
def parameters(names: str) -> Any:
    """Parameters from names: `m, g = parameters("m g")`.

    Args:
        names: Names separated by blanks or commas.

    Returns:
        A tuple of parameters; a single parameter for a single name.

    Raises:
        UsageError: If a name is not one.
    """
    return _symbols(Parameter, names)


@public
def inputs(names: str) -> Any:
    """Inputs from names: `u, v = inputs("u v")`.

    Args:
        names: Names separated by blanks or commas.

    Returns:
        A tuple of inputs; a single input for a single name.

    Raises:
        UsageError: If a name is not one.
    """
    return _symbols(Input, names)


def _symbols(kind: type[sympy.Symbol], names: str) -> Any:
    word = kind.__name__.lower()
    if not isinstance(names, str):
        raise UsageError(f"{word}s takes a text with names, not {type(names).__name__}.", where=f"{word}s", hint=Ask(f"{word}s", '"x y"'))
    found = names.replace(",", " ").split()
    for name in found:
        if not NAME.fullmatch(spell(name)):
            hint = "names are Latin or Greek letters, digits and _, beginning with a letter"
            raise UsageError(f"{name!r} is not a name.", where=f"{word}s", hint=hint)
    made = tuple(kind(name) for name in found)
    return made[0] if len(made) == 1 else made


def order_in(expression: sympy.Expr, kind: type[Jet]) -> int:
    """The highest order at which jets of a kind occur in an expression; 0 if none does."""
    return max((z.order for z in jets_in(expression, kind)), default=0)


def jets_in(expression: sympy.Expr, kind: type[Jet] = Jet) -> set[Jet]:
    """All jets of a kind in an expression."""
    return {z for z in symbols_in(expression) if isinstance(z, kind)}


@lru_cache(maxsize=1024)
def symbols_in(*expressions: sympy.Expr) -> frozenset[sympy.Symbol]:
    """The symbols of `expressions`. Shared parts are visited once; SymPy's `free_symbols` visits each of their places."""
    if len(expressions) == 1 and expressions[0] in _NOTED:
        return _NOTED[expressions[0]]
    seen, stack = set(expressions), [*expressions]
    while stack:
        new = {a for a in stack.pop().args if a not in seen}
        seen |= new
        stack += new
    return frozenset(z for z in seen if isinstance(z, sympy.Symbol))


_NOTED: dict[sympy.Expr, frozenset[sympy.Symbol]] = {}
"""The symbols of expressions, recorded by `note_symbols`."""
_MOST_NOTED = 4096
"""Expressions in `_NOTED` at which it is emptied; only time depends on it."""


def note_symbols(expressions: Iterable[sympy.Expr]) -> None:
    """Find the symbols of expressions that consist of each other, such as nested corners, in one pass; `symbols_in` then knows them."""
    found: dict[sympy.Basic, frozenset[sympy.Symbol]] = {}
    asked = list(expressions)
    waiting: list[sympy.Basic] = [*asked]
    while waiting:
        node = waiting[-1]
        new = [] if node in found else [a for a in node.args if a not in found]
        if new:
            waiting += new
        else:
            own = [node] if isinstance(node, sympy.Symbol) else []
            found[waiting.pop()] = frozenset(own).union(*[found[a] for a in node.args])
    if len(_NOTED) + len(asked) > _MOST_NOTED:
        _NOTED.clear()
    _NOTED.update({e: found[e] for e in asked})


def largest_constants(*expressions: sympy.Expr) -> list[sympy.Expr]:
    """The parts of `expressions` without a symbol that are not inside a larger such part, in the order of reading; each part once.

    >>> x = Coordinate("x")
    >>> largest_constants(2 * x + sympy.cos(sympy.Rational(3, 2)) * x, sympy.sqrt(2) * x)
    [2, cos(3/2), sqrt(2)]
    """
    constant: dict[sympy.Basic, bool] = {}
    for expression in expressions:
        waiting = [expression]
        while waiting:
            node = waiting[-1]
            new = [] if node in constant else [a for a in node.args if a not in constant]
            if new:
                waiting += new
            else:
                constant[waiting.pop()] = not isinstance(node, sympy.Symbol) and all(constant[a] for a in node.args)
    seen: dict[sympy.Basic, None] = {}
    stack = [*reversed(expressions)]
    while stack:
        node = stack.pop()
        if node not in seen:
            seen[node] = None
            stack += [] if constant[node] else reversed(node.args)
    return [node for node in seen if constant[node] and isinstance(node, sympy.Expr)]


def long(expression: sympy.Expr, parts: int = MOST_ASKED) -> bool:
    """Whether an expression has more than `parts` parts; counting ends there, however long the expression is."""
    stack = [expression]
    while stack and parts >= 0:
        parts -= 1
        stack += stack.pop().args
    return parts < 0


def moved_by(expression: sympy.Expr) -> set[str]:
    """The coordinates an expression depends on, by name: through their jets, or through the entries of a group coordinate's matrix."""
    found: set[str] = set()
    for z in symbols_in(expression):
        if isinstance(z, Entry | Place):
            found.update(z.components)
        elif isinstance(z, Coordinate):
            found.add(z.base)
    return found


def highest_orders(symbols: Iterable[sympy.Symbol]) -> dict[str, int]:
    """The highest order of every quantity among `symbols`; places and entries of a group coordinate count as order 0 of its components."""
    found: dict[str, int] = {}
    for z in symbols:
        if isinstance(z, Entry | Place):
            for base in z.components:
                found.setdefault(base, 0)
        elif isinstance(z, Jet):
            found[z.base] = max(z.order, found.get(z.base, 0))
    return found
