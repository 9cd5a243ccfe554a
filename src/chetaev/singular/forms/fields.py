r"""Vector fields on jets: brackets, Lie derivatives, prolongations, semisprays (003, section 2).

>>> from chetaev.core.symbols import TIME, Coordinate
>>> q = Coordinate("q")
>>> scaling = VectorField({TIME: TIME, q: 2 * q})
>>> print(prolong(scaling, [q], 2))
2*q*∂q + q'*∂q' + t*∂t
>>> print(bracket(VectorField({q: q}), VectorField({TIME: q})))
q*∂t
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sympy import Add, Expr, S, Symbol

from chetaev.core.calculus import total_derivative
from chetaev.core.errors import UsageError
from chetaev.core.notation import show
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.core.symbols import TIME, Input, Jet, Parameter, jets_in
from chetaev.core.zero import vanishes
from chetaev.singular.forms.exterior import Form, FormLike, all_of, as_form, combination, d, exact, gradient, interior, letter, place


@public
class VectorField(Frozen[Symbol, Expr]):
    r"""A vector field $X = X^z\, \partial_z$: a mapping from variables to those `components` that are not literally zero."""

    def __init__(self, components: Mapping[Symbol, Any]) -> None:
        given = {z: exact(components[z]) for z in sorted(components, key=place)}
        for z in given:
            if isinstance(z, Parameter | Input):
                raise UsageError(f"the field has a component for {z}, which is not a variable.", where="vector field")
        super().__init__({z: c for z, c in given.items() if c != 0})

    def __call__(self, function: Expr) -> Expr:
        """The derivative of a function along the field; inputs in it are functions of time."""
        return Add(*[self[z] * partial for z, partial in gradient(exact(function)).items() if z in self])

    def __add__(self, other: Mapping[Symbol, Expr]) -> VectorField:
        return VectorField({z: self.get(z, S.Zero) + other.get(z, S.Zero) for z in {**self, **other}})

    def __neg__(self) -> VectorField:
        return VectorField({z: -c for z, c in self.items()})

    def __sub__(self, other: Mapping[Symbol, Expr]) -> VectorField:
        return self + (-VectorField(other))

    def __mul__(self, factor: Any) -> VectorField:
        return VectorField({z: exact(factor) * c for z, c in self.items()})

    __rmul__ = __mul__

    def __str__(self) -> str:
        return combination((c, letter("∂", z)) for z, c in self.items())

    def __repr__(self) -> str:
        return str(self)

    def latex(self) -> str:
        """The field as LaTeX."""
        return combination(((c, rf"\frac{{\partial}}{{\partial {show(z, 'latex')}}}") for z, c in self.items()), "latex")

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"


@public
def bracket(x: Mapping[Symbol, Expr], y: Mapping[Symbol, Expr]) -> VectorField:
    r"""The Lie bracket $[X, Y]^z = X(Y^z) - Y(X^z)$.

    Args:
        x: A vector field.
        y: A vector field.

    Returns:
        The bracket.
    """
    x, y = VectorField(x), VectorField(y)
    return VectorField({z: x(y.get(z, S.Zero)) - y(x.get(z, S.Zero)) for z in {**x, **y}})


@public
def lie_derivative(field: Mapping[Symbol, Expr], form: FormLike) -> Form:
    r"""$L_X \eta = i_X\, d\eta + d\, i_X \eta$ (Cartan's formula); on functions it is $X(f)$.

    Args:
        field: A vector field.
        form: A form or a function.

    Returns:
        The derivative, of the same degree.
    """
    form = as_form(form)
    inner = interior(field, d(form))
    return inner + d(interior(field, form)) if form.degree else inner


@public
def vanishing(field: Mapping[Symbol, Expr]) -> bool | None:
    """Whether all components of a field vanish identically: True, False or None (undecided).

    Args:
        field: A vector field.

    Returns:
        True, False, or None if undecided.
    """
    return all_of(vanishes(c) for c in field.values())


@public
def prolong(field: Mapping[Symbol, Expr], coordinates: Sequence[Jet], order: int) -> VectorField:
    r"""The prolongation $J^r\xi = \xi^0 \partial_t + \xi^\sigma_i\, \partial_{q^\sigma_i}$ of a field on $Y$, with
    $\xi_i = D\xi_{i-1} - (D\xi^0)\, q_i$.

    The field's components depend on time and positions. 003 also requires that $\xi^0$ depend on time alone; the recursion holds without
    that, as in Lie's theory of point symmetries. All coordinates of $Y$ must be named, because a change of time changes all velocities.

    Args:
        field: A vector field on positions and time.
        coordinates: All coordinates of Y.
        order: The order r.

    Returns:
        The field on $J^rY$.

    Raises:
        UsageError: If a component depends on derivatives, or is for another variable.
    """
    field = VectorField(field)
    _must_live_on_configurations(field, coordinates)
    time = field.get(TIME, S.Zero)
    stretch = total_derivative(time)
    components: dict[Symbol, Expr] = {TIME: time}
    for q in coordinates:
        component = components[q] = field.get(q, S.Zero)
        for i in range(1, order + 1):
            component = components[q.d(i)] = total_derivative(component) - stretch * q.d(i)
    return VectorField(components)


@public
def prolonged_map(mapping: Mapping[Symbol, Expr], order: int) -> dict[Symbol, Expr]:
    r"""The functions of all derivatives up to an order under a map of $Y$: $\bar q_k = D\bar q_{k-1} / D\bar t$.

    A section `{q: f(t)}` gives its jet $J^r\gamma$; a change of coordinates, its action on jets. Coordinates that are not named do not
    change; with a new time all of them must be named.

    Args:
        mapping: The functions for positions, and for time if that changes.
        order: The highest order of derivatives.

    Returns:
        The functions for positions and derivatives.

    Raises:
        UsageError: If `mapping` contains a derivative.
    """
    stretch = total_derivative(exact(mapping.get(TIME, TIME)))
    result: dict[Symbol, Expr] = {z: exact(f) for z, f in mapping.items()}
    for q in [z for z in mapping if isinstance(z, Jet)]:
        if q.order:
            raise UsageError(f"{q} is a derivative; only positions can be given.", where="prolonged_map")
        for k in range(1, order + 1):
            result[q.d(k)] = total_derivative(result[q.d(k - 1)]) / stretch
    return result


@public
def semispray(highest: Mapping[Jet, Expr], order: int) -> VectorField:
    r"""The semispray of order $r$, $\partial_t + q_1 \partial_{q_0} + \dots + q_r \partial_{q_{r-1}} + \zeta\, \partial_{q_r}$, from the
    components $\zeta$ by coordinate.

    Args:
        highest: The components $\zeta$ by coordinate.
        order: The order r.

    Returns:
        The field on $J^rY$.
    """
    components: dict[Symbol, Expr] = {TIME: S.One}
    for q, component in highest.items():
        components |= {q.d(k): q.d(k + 1) for k in range(order)}
        components[q.d(order)] = component
    return VectorField(components)


@public
def is_semispray(field: Mapping[Symbol, Expr], coordinates: Sequence[Jet], order: int) -> bool | None:
    """Whether a field is not vertical and annihilates the contact forms of order below r: True, False or None (undecided).

    Args:
        field: A vector field.
        coordinates: The coordinates of Y.
        order: The order r.

    Returns:
        True, False, or None if undecided.
    """
    field = VectorField(field)
    time = field.get(TIME, S.Zero)
    vertical = vanishes(time)
    contact = all_of(vanishes(field.get(q.d(k), S.Zero) - q.d(k + 1) * time) for q in coordinates for k in range(order))
    return all_of([None if vertical is None else not vertical, contact])


def _must_live_on_configurations(field: VectorField, coordinates: Sequence[Jet]) -> None:
    for z, component in field.items():
        if z != TIME and z not in coordinates:
            raise UsageError(f"the field has a component for {z}, which is not among the coordinates.", where="prolong")
        high = sorted((y for y in jets_in(component) if y.order and not isinstance(y, Input)), key=place)
        if high:
            why = "Only fields on the space of positions and time are prolonged."
            raise UsageError(f"the component for {z} depends on {high[0]}.", where="prolong", why=why)
