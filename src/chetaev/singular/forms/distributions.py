r"""Distributions of vector fields on jets: rank, annihilator, brackets, Frobenius' theorem, derived flag.

A distribution is spanned by fields, or annihilated by 1-forms; the two descriptions are exchanged by one elimination, and Frobenius'
condition and the derived flag are those of `chetaev.mechanics.distributions.Pfaffian`. Ranks are generic: they are computed at random
points of the whole space, or of a submanifold to which the fields are tangent (`on`). On a submanifold numerical values decide; otherwise
zeros are proved.

    >>> from chetaev.singular.forms.exterior import d
    >>> from chetaev.core.symbols import coordinates
    >>> x, y, z = coordinates("x y z")
    >>> contact = annihilated_by([d(z) - y * d(x)], [x, y, z])
    >>> [str(field) for field in contact.fields], is_involutive(contact)
    (['∂x + y*∂z', '∂y'], False)
    >>> [rank(step) for step in derived_flag(contact)]
    [2, 3]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from sympy import Expr, S, Symbol

from chetaev.core.errors import UsageError
from chetaev.core.support.public import public
from chetaev.core.symbols import Input
from chetaev.core.zero import vanishes
from chetaev.mechanics.distributions import Pfaffian
from chetaev.mechanics.ranks.generic import RANK_POINTS, Point, generic_rank, points_on
from chetaev.singular.forms.exterior import Form, all_of, interior, place
from chetaev.singular.forms.fields import VectorField, bracket


@public
@dataclass(frozen=True)
class Distribution:
    """The span of the vector `fields` on the space of `variables`; with `on`, at the points where these functions vanish."""

    variables: tuple[Symbol, ...]
    fields: tuple[VectorField, ...]
    on: tuple[Expr, ...] = ()

    def __post_init__(self) -> None:
        for field in self.fields:
            unknown = sorted(set(field) - set(self.variables), key=place)
            if unknown:
                raise UsageError(f"a field has a component for {unknown[0]}, which is not among the variables.", where="distribution")

    @cached_property
    def points(self) -> Sequence[Point]:
        """The random points at which ranks are taken."""
        entries = [c for field in self.fields for c in field.values()]
        return _points([*self.on, *entries], self.on, self.variables)

    @cached_property
    def pfaffian(self) -> Pfaffian:
        """The annihilating forms as a Pfaffian system."""
        rows = tuple(tuple(form.coefficient(z) for z in self.variables) for form in annihilator(self))
        return _pfaffian(self.variables, rows, self.points, bool(self.on))

    def __str__(self) -> str:
        return f"span{{{', '.join(map(str, self.fields))}}}"


@public
def annihilated_by(forms: Sequence[Form], variables: Sequence[Symbol], on: Sequence[Expr] = ()) -> Distribution:
    """The distribution that 1-forms annihilate, on the space of some variables (or at points where the functions `on` vanish).

    Args:
        forms: 1-forms.
        variables: The coordinates of the space.
        on: Functions that vanish on the submanifold to whose points the distribution is restricted.

    Returns:
        The distribution.

    Raises:
        UsageError: If a form is not a 1-form, has a differential of another variable, or the submanifold has no real point.
    """
    names = tuple(variables)
    for form in forms:
        if form.degree != 1:
            raise UsageError(f"a form has degree {form.degree}; only 1-forms define a distribution.", where="annihilated_by")
        unknown = sorted({z for (z,) in form.terms} - set(names), key=place)
        if unknown:
            raise UsageError(f"a form contains the differential of {unknown[0]}, which is not among the variables.", where="annihilated_by")
    rows = tuple(tuple(form.coefficient(z) for z in names) for form in forms)
    points = _points([*on, *(e for row in rows for e in row)], on, names)
    pfaffian = _pfaffian(names, rows, points, bool(on))
    return Distribution(names, tuple(map(VectorField, pfaffian.fields)), tuple(on))


@public
def annihilator(distribution: Distribution) -> tuple[Form, ...]:
    """A basis of the 1-forms that vanish on the distribution, generically.

    Args:
        distribution: A distribution.

    Returns:
        Independent 1-forms.
    """
    rows = tuple(tuple(field.get(z, S.Zero) for z in distribution.variables) for field in distribution.fields)
    # the annihilator is the kernel of the matrix of components, found by the same elimination as the fields of a Pfaffian system
    dual = _pfaffian(distribution.variables, rows, distribution.points, bool(distribution.on))
    return tuple(Form(1, {(z,): c for z, c in covector.items()}) for covector in dual.fields)


@public
def rank(distribution: Distribution, at: Mapping[Symbol, float] | None = None) -> int:
    """The dimension of the span: generic, or at a point.

    Args:
        distribution: A distribution.
        at: A point, with a value for every variable and parameter; None for the generic rank.

    Returns:
        The rank.
    """
    rows = [[field.get(z, S.Zero) for z in distribution.variables] for field in distribution.fields]
    return generic_rank(rows, distribution.points if at is None else [dict(at)]) if rows else 0


@public
def contains(distribution: Distribution, field: Mapping[Symbol, Expr]) -> bool | None:
    """Whether a field lies in the distribution everywhere: True, False or None (undecided). Not for distributions on submanifolds.

    Args:
        distribution: A distribution on the whole space.
        field: A vector field.

    Returns:
        True, False, or None if undecided.

    Raises:
        UsageError: If the distribution is restricted to a submanifold.
    """
    if distribution.on:
        raise UsageError("the distribution is restricted to a submanifold.", where="contains", hint="compare ranks instead")
    return all_of(vanishes(form(field)) for form in annihilator(distribution))


@public
def brackets(distribution: Distribution) -> tuple[VectorField, ...]:
    """The Lie brackets of all pairs of the spanning fields.

    Args:
        distribution: A distribution.

    Returns:
        The brackets, in the order of the pairs.
    """
    return tuple(bracket(x, y) for x, y in combinations(distribution.fields, 2))


@public
def is_involutive(distribution: Distribution) -> bool | None:
    """Frobenius' condition, that brackets of fields of the distribution lie in it: True, False or None (undecided).

    Args:
        distribution: A distribution.

    Returns:
        True, False, or None if undecided.
    """
    return distribution.pfaffian.integrable


@public
def derived_flag(distribution: Distribution) -> tuple[Distribution, ...]:
    r"""The sequence $\Delta \subset \Delta + [\Delta, \Delta] \subset \dots$ until it stops growing.

    Args:
        distribution: A distribution.

    Returns:
        The distributions of the flag, beginning with `distribution`.
    """
    flag = [distribution]
    system = distribution.pfaffian
    while True:
        larger = system.derived()
        if larger.rank == system.rank:
            return tuple(flag)
        system = _pfaffian(larger.variables, larger.forms, larger.points, larger.restricted)
        flag.append(Distribution(distribution.variables, tuple(map(VectorField, system.fields)), distribution.on))


@public
def associated_system(form: Form, variables: Sequence[Symbol]) -> tuple[Form, ...]:
    r"""The 1-forms $i_\xi \alpha$ of a 2-form, one for each coordinate field $\xi = \partial_z$ (003, section 2).

    Args:
        form: A 2-form.
        variables: The coordinates of the space.

    Returns:
        The 1-forms, in the order of `variables`.
    """
    return tuple(interior({z: S.One}, form) for z in variables)


@public
def characteristic_distribution(form: Form, variables: Sequence[Symbol], on: Sequence[Expr] = ()) -> Distribution:
    r"""The fields with $i_\xi \alpha = 0$, where the rank of the 2-form is the generic one.

    Args:
        form: A 2-form.
        variables: The coordinates of the space.
        on: Functions that vanish on the submanifold to which the distribution is restricted.

    Returns:
        The distribution.

    Raises:
        UsageError: If the form has a differential of another variable, or the submanifold has no real point.
    """
    return annihilated_by(associated_system(form, variables), variables, on)


def _pfaffian(variables: tuple[Symbol, ...], rows: tuple[tuple[Expr, ...], ...], points: Sequence[Point], restricted: bool) -> Pfaffian:
    """A Pfaffian system; without a row, a row of zeros, so that it keeps its width."""
    return Pfaffian(variables, rows or ((S.Zero,) * len(variables),), points, restricted)


def _points(entries: Sequence[Expr], on: Sequence[Expr], variables: Sequence[Symbol]) -> Sequence[Point]:
    symbols = {z for e in entries for z in e.free_symbols}
    given = sorted((z for z in symbols if isinstance(z, Input)), key=place)
    if given:
        why = "Brackets would need its derivative in time."
        raise UsageError(f"the input {given[0]} has no formula.", where="distribution", why=why, hint="replace it by an expression in t")
    found = points_on(list(on), [*variables, *symbols], count=RANK_POINTS)
    if not found:
        raise UsageError("no real point was found where the functions `on` vanish.", where="distribution")
    return found
