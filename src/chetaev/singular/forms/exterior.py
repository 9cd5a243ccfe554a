r"""Exterior calculus: differential forms with exact coefficients, and the operations that exist on every manifold.

A form of degree $p$ is a sum $\sum c\; dz_1 \wedge \dots \wedge dz_p$ over variables $z$: time, jets, or any other symbol. Forms on
$J^r Y$ are forms in $t$ and jets of order at most $r$; a form is identified with its pull-back to every higher $J^s Y$, so $\pi_{s,r}^*$ is
never written. Parameters are constants. An input $u$ is a given function of time, hence $du = u'\, dt$.

    >>> from chetaev.core.symbols import TIME, Coordinate
    >>> x = Coordinate("x")
    >>> theta = x.d(1) * d(x) - x.d(1) ** 2 / 2 * d(TIME)
    >>> print(d(theta))
    -dx∧dx' - x'*dx'∧dt

Coefficients are not simplified. `is_zero` decides whether a form is zero: True (proved), False (a point is known where it is not), or None.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from typing import Any, Literal, TypeAlias

from sympy import Add, Expr, S, Symbol

from chetaev.core.calculus import partials
from chetaev.core.errors import UsageError
from chetaev.core.fixes import Ask
from chetaev.core.notation.show import in_notation, show
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.letters import MOST_PRIMES
from chetaev.core.support.public import public
from chetaev.core.support.rationals import exact_number, is_real_number
from chetaev.core.symbols import TIME, Input, Jet, Parameter, symbols_in
from chetaev.core.zero import vanishes

Place = tuple[int, int, str]

Blade = tuple[Symbol, ...]
"""The variables of a product of differentials, in standard order."""


@public
@dataclass(frozen=True)
class Form:
    """A differential form of a `degree`: `terms` maps products of differentials to coefficients.

    Products are put in standard order (jets by order and name, `dt` last) with the sign of the permutation, coefficients of equal
    products are added, and coefficients that are literally zero are omitted.
    """

    degree: int
    terms: Mapping[Blade, Expr]

    def __post_init__(self) -> None:
        gathered: dict[Blade, list[Expr]] = {}
        for blade, coefficient in self.terms.items():
            if len(blade) != self.degree:
                where = f"a form of degree {self.degree}"
                raise UsageError(f"a product of {len(blade)} differentials has another degree.", where=where)
            sign, ordered = in_order(blade)
            if sign:
                gathered.setdefault(ordered, []).append(sign * exact(coefficient))
        sums = {blade: Add(*parts) for blade, parts in gathered.items()}
        order = sorted((blade for blade, c in sums.items() if c != 0), key=lambda blade: tuple(map(place, blade)))
        object.__setattr__(self, "terms", Frozen({blade: sums[blade] for blade in order}))

    def coefficient(self, *variables: Symbol) -> Expr:
        """The coefficient of a product of differentials, with the sign of its order.

        Args:
            variables: The variables of the differentials, in the order of the product.
        """
        sign, blade = in_order(variables)
        return sign * self.terms.get(blade, S.Zero)

    @property
    def variables(self) -> tuple[Symbol, ...]:
        """The variables of the differentials and of the coefficients, without parameters."""
        found = {z for blade in self.terms for z in blade}.union(*[c.free_symbols for c in self.terms.values()])
        return tuple(sorted((z for z in found if not isinstance(z, Parameter)), key=place))

    def map(self, change: Any) -> Form:
        """The form with a function applied to every coefficient, such as `expand`.

        Args:
            change: A function from expressions to expressions.
        """
        return Form(self.degree, {blade: change(c) for blade, c in self.terms.items()})

    def __call__(self, *fields: Mapping[Symbol, Expr]) -> Expr:
        r"""The value $\eta(X_1, \dots, X_p)$ on vector fields."""
        if len(fields) != self.degree:
            raise UsageError(f"{len(fields)} vector fields for a form of degree {self.degree}.", where="value of a form")
        return reduce(lambda form, field: interior(field, form), fields, self).coefficient()

    def __add__(self, other: FormLike) -> Form:
        other = as_form(other)
        if not other.terms:
            return self
        if not self.terms:
            return other
        if other.degree != self.degree:
            raise UsageError(f"forms of degrees {self.degree} and {other.degree} have no sum.", where="sum of forms")
        keys = [*self.terms, *(k for k in other.terms if k not in self.terms)]
        return Form(self.degree, {k: self.terms.get(k, S.Zero) + other.terms.get(k, S.Zero) for k in keys})

    def __neg__(self) -> Form:
        return self.map(lambda c: -c)

    def __sub__(self, other: FormLike) -> Form:
        return self + (-as_form(other))

    def __mul__(self, factor: Any) -> Form:
        if isinstance(factor, Form):
            return NotImplemented
        number = exact(factor)
        return self.map(lambda c: number * c)

    __rmul__ = __mul__

    def __radd__(self, other: Any) -> Form:
        return as_form(other) + self

    def __rsub__(self, other: Any) -> Form:
        return as_form(other) - self

    def __truediv__(self, divisor: Any) -> Form:
        return self * (S.One / divisor)

    def __str__(self) -> str:
        return combination((c, "∧".join(letter("d", z) for z in blade)) for blade, c in self.terms.items())

    def latex(self) -> str:
        """The form as LaTeX."""
        names = {blade: r" \wedge ".join(rf"d {show(z, 'latex')}" for z in blade) for blade in self.terms}
        return combination(((c, names[blade]) for blade, c in self.terms.items()), "latex")

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"


FormLike: TypeAlias = Form | Expr | int


def exact(given: Any) -> Expr:
    """Return an expression unchanged and a number as a rational; raise a UsageError for anything else, such as a string."""
    if isinstance(given, Expr):
        return given
    if is_real_number(given) and math.isfinite(given):
        return exact_number(given)
    raise UsageError(
        f"{given!r} where an expression is needed.", where="forms", hint=(Ask("ch.parse", "text, coordinates=..."), " reads text")
    )


@public
def as_form(given: FormLike) -> Form:
    """Return a form unchanged, and a function as a form of degree 0.

    Args:
        given: A form, an expression or a number.

    Returns:
        The form.

    Raises:
        UsageError: If `given` is something else, such as a string.
    """
    return given if isinstance(given, Form) else Form(0, {(): exact(given)})


@public
def zero_form(degree: int) -> Form:
    """The form 0 of a degree.

    Args:
        degree: The degree.

    Returns:
        The form.
    """
    return Form(degree, {})


def in_order(variables: Sequence[Symbol]) -> tuple[int, Blade]:
    """A product of differentials in standard order with the sign of the permutation; the sign is 0 if one occurs twice."""
    if len(set(variables)) < len(variables):
        return 0, tuple(variables)
    keys = [place(z) for z in variables]
    swaps = sum(keys[j] > keys[i] for i in range(len(keys)) for j in range(i))
    return (-1) ** swaps, tuple(sorted(variables, key=place))


def gradient(function: Expr) -> dict[Symbol, Expr]:
    """The coefficients of the differential of a function. Inputs are functions of time and add to the coefficient of `dt`."""
    found: dict[Symbol, list[Expr]] = {}
    moving = sorted((z for z in symbols_in(function) if not isinstance(z, Parameter)), key=place)
    for z, slope in zip(moving, partials(function, moving), strict=True):
        if isinstance(z, Input):
            found.setdefault(TIME, []).append(slope * z.d())
        else:
            found.setdefault(z, []).append(slope)
    return {z: Add(*parts) for z, parts in found.items()}


@public
def d(form: FormLike) -> Form:
    r"""The exterior derivative, $d(c\, dz_1 \wedge \dots) = dc \wedge dz_1 \wedge \dots$

    Args:
        form: A form or a function.

    Returns:
        The derivative, of one degree more.

    Raises:
        UsageError: If an argument is not a form, an expression or a number.
    """
    form = as_form(form)
    parts: dict[Blade, list[Expr]] = {}
    for blade, c in form.terms.items():
        for z, partial in gradient(c).items():
            sign, ordered = in_order((z, *blade))
            if sign:
                parts.setdefault(ordered, []).append(sign * partial)
    return Form(form.degree + 1, {blade: Add(*some) for blade, some in parts.items()})


@public
def wedge(*forms: FormLike) -> Form:
    """The exterior product, in the order given.

    Args:
        forms: Forms or functions.

    Returns:
        The product; the function 1 without arguments.

    Raises:
        UsageError: If an argument is not a form, an expression or a number.
    """
    return reduce(_wedge, map(as_form, forms), as_form(S.One))


def _wedge(a: Form, b: Form) -> Form:
    parts: dict[Blade, list[Expr]] = {}
    for (left, c), (right, e) in product(a.terms.items(), b.terms.items()):
        sign, ordered = in_order(left + right)
        if sign:
            parts.setdefault(ordered, []).append(sign * c * e)
    return Form(a.degree + b.degree, {blade: Add(*some) for blade, some in parts.items()})


@public
def interior(field: Mapping[Symbol, Expr], form: Form) -> Form:
    r"""The interior product $i_X \eta$: the field is the first argument of the form.

    Args:
        field: A vector field.
        form: A form.

    Returns:
        The product, of one degree less; 0 for a function.

    Raises:
        UsageError: If an argument is not a form, an expression or a number.
    """
    form = as_form(form)
    if form.degree == 0:
        return zero_form(0)
    parts: dict[Blade, list[Expr]] = {}
    for blade, c in form.terms.items():
        for k, z in enumerate(blade):
            if z in field:
                parts.setdefault(blade[:k] + blade[k + 1 :], []).append((-1) ** k * c * field[z])
    return Form(form.degree - 1, {blade: Add(*some) for blade, some in parts.items()})


@public
def pull_back(form: FormLike, mapping: Mapping[Symbol, Expr]) -> Form:
    r"""The pull-back along a map that replaces the variables in `mapping` by functions and keeps the others.

    Every $z$ becomes its function, every $dz$ the differential of that function. For a section, or a change of fibre coordinates,
    `chetaev.singular.forms.prolonged_map` gives the functions of the derivatives.

    Args:
        form: A form or a function.
        mapping: The functions for the variables that the map changes.

    Returns:
        The form on the source of the map.

    Raises:
        UsageError: If the map changes the time of a form with inputs.
    """
    form = as_form(form)
    functions = {z: exact(f) for z, f in mapping.items()}
    moved = functions.get(TIME, TIME) != TIME
    if moved and any(c.atoms(Input) for c in form.terms.values()):
        raise UsageError(
            "the map changes the time of a form with inputs.",
            where="pull_back",
            why="An input is a function of the old time.",
            hint="write the input as an expression in t first",
        )
    result = zero_form(form.degree)
    for blade, c in form.terms.items():
        result = result + wedge(c.xreplace(functions), *[d(functions.get(z, z)) for z in blade])
    return result


@public
def is_zero(form: FormLike) -> bool | None:
    """Whether all coefficients vanish identically: True (proved), False (a point is known), None (undecided).

    Args:
        form: A form or a function.

    Returns:
        True if that is proved, False if a point is known where it is not zero, None if undecided.

    Raises:
        UsageError: If an argument is not a form, an expression or a number.
    """
    return all_of(vanishes(c) for c in as_form(form).terms.values())


@public
def equal(a: FormLike, b: FormLike) -> bool | None:
    """Whether two forms are equal: True, False or None as for `is_zero`.

    Args:
        a: A form or a function.
        b: A form or a function.

    Returns:
        True, False or None, as for `is_zero`.

    Raises:
        UsageError: If the degrees differ.
    """
    return is_zero(as_form(a) - b)


@public
def cleared(form: Form) -> Form:
    """The form without coefficients that are proved to vanish.

    Args:
        form: A form.

    Returns:
        The form without these coefficients.
    """
    return Form(form.degree, {blade: c for blade, c in form.terms.items() if vanishes(c) is not True})


def all_of(answers: Iterable[bool | None]) -> bool | None:
    """The conjunction of three-valued answers: False if one is False, else None if one is None, else True."""
    known = list(answers)
    if False in known:
        return False
    return None if None in known else True


def place(z: Symbol) -> Place:
    """The sort key of a variable: jets by order and name, time last."""
    if z == TIME:
        return 1, 0, ""
    return 0, z.order if isinstance(z, Jet) else 0, z.base if isinstance(z, Jet) else z.name


def letter(symbol: str, z: Symbol) -> str:
    """A variable with a letter in front, such as `dx'` or `∂t`; with brackets if the variable's name is not a word."""
    plain = not isinstance(z, Jet) or z.order <= MOST_PRIMES
    return f"{symbol}{z.name}" if plain else f"{symbol}({z.name})"


def combination(terms: Iterable[tuple[Expr, str]], form: Literal["text", "latex"] = "text") -> str:
    """A sum of coefficients times basis elements, as text or as LaTeX; an empty name stands for the number 1."""
    opening, closing, times = ("(", ")", "*") if form == "text" else (r"\left(", r"\right)", r"\, ")
    pieces: list[str] = []
    for coefficient, name in terms:
        text = show(coefficient, form) if form == "latex" or in_notation(coefficient) else str(coefficient)
        if name and coefficient.is_Add:
            text = f"{opening}{text}{closing}"
        sign, text = ("-", text[1:]) if text.startswith("-") and not coefficient.is_Add else ("+", text)
        text = text if not name else name if text == "1" else f"{text}{times}{name}"
        pieces.append(f" {sign} {text}" if pieces else ("-" if sign == "-" else "") + text)
    return "".join(pieces) or "0"
