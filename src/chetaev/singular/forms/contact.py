r"""Contact forms, and the splitting of forms into horizontal and contact parts (003, section 2).

On jets $dq_k = \omega_k + q_{k+1}\, dt$ with the contact forms

$$ \omega^\sigma_k = dq^\sigma_k - q^\sigma_{k+1}\, dt. \qquad (2.1) $$

Written in $dt$ and $\omega_0, \dots, \omega_r$, a form $\eta$ on $J^r Y$, pulled back to $J^{r+1}Y$, is the sum
$\pi_{r+1,r}^*\, \eta = h\eta + p_1 \eta + p_2 \eta + \dots$ of its $k$-contact components $p_k \eta$, which have exactly $k$ factors
$\omega$. Because there is only one $dt$, a $p$-form has the components $k = p - 1$ and $k = p$ alone.

    >>> from chetaev.core.symbols import Coordinate
    >>> q = Coordinate("q")
    >>> print(horizontal_part(d(q.d(1) ** 2)))
    2*q'*q''*dt
    >>> print(contact_part(d(q.d(1) ** 2)))
    2*q'*dq' - 2*q'*q''*dt
    >>> print(adapted(contact_part(d(q.d(1) ** 2))))
    2*q'*ωq'
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sympy import Add, Expr, S, Symbol

from chetaev.core.errors import UsageError
from chetaev.core.notation import show
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.core.symbols import TIME, Input, Jet
from chetaev.core.zero import vanishes
from chetaev.singular.forms.exterior import (
    Blade,
    Form,
    FormLike,
    all_of,
    as_form,
    combination,
    d,
    in_order,
    is_zero,
    letter,
    wedge,
    zero_form,
)


@public
@dataclass(frozen=True)
class Adapted:
    r"""A form on $J^r Y$ in the basis $dt, \omega_0, \dots, \omega_{r-1}, dq_r$ adapted to the contact structure.

    `degree` is that of the form. In `terms` a jet of order below `order` stands for its contact form, any other variable for its
    differential.
    """

    order: int
    degree: int
    terms: Mapping[Blade, Expr]

    @property
    def form(self) -> Form:
        """The form in the basis of differentials."""
        result = zero_form(self.degree)
        for blade, c in self.terms.items():
            result = result + wedge(c, *[contact_form(z) if self.is_contact(z) else d(z) for z in blade])
        return result

    def coefficient(self, *variables: Symbol) -> Expr:
        """The coefficient of a product of basis forms, with the sign of its order.

        Args:
            variables: The variables of the basis forms, in the order of the product.
        """
        sign, blade = in_order(variables)
        return sign * self.terms.get(blade, S.Zero)

    def is_contact(self, z: Symbol) -> bool:
        """Whether a variable stands for its contact form.

        Args:
            z: A variable of the form.
        """
        return isinstance(z, Jet) and z.order < self.order

    def __str__(self) -> str:
        return combination((c, "∧".join(letter("ω" if self.is_contact(z) else "d", z) for z in blade)) for blade, c in self.terms.items())

    def latex(self) -> str:
        r"""The form as LaTeX, contact forms as $\omega^{q}_{k}$."""
        return combination(((c, r" \wedge ".join(self._latex_of(z) for z in blade)) for blade, c in self.terms.items()), "latex")

    def _latex_of(self, z: Symbol) -> str:
        if isinstance(z, Jet) and self.is_contact(z):
            index = f"_{{{z.order}}}" if z.order else ""
            return rf"\omega^{{{show(z.d(-z.order), 'latex')}}}{index}"
        return rf"d {show(z, 'latex')}"

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"


@public
def contact_form(q: Jet) -> Form:
    r"""$\omega_k = dq_k - q_{k+1}\, dt$ of a jet $q_k$ (2.1).

    Args:
        q: The jet $q_k$.

    Returns:
        The 1-form.
    """
    return Form(1, {(q,): S.One, (TIME,): -q.d()})


@public
def order_of(form: FormLike) -> int:
    """The lowest $r$ such that the form is defined on $J^r Y$; inputs do not count.

    Args:
        form: A form or a function.

    Returns:
        The order r.
    """
    return max((z.order for z in as_form(form).variables if isinstance(z, Jet) and not isinstance(z, Input)), default=0)


@public
def adapted(form: FormLike, order: int | None = None) -> Adapted:
    r"""The form on $J^r Y$ in the basis adapted to the contact structure.

    Each $dq_k$ with $k < r$ is replaced by $\omega_k + q_{k+1}\, dt$; at most one factor can contribute its $dt$.

    Args:
        form: A form or a function.
        order: The order r; by default the order of the form.

    Returns:
        The form in the adapted basis.

    Raises:
        UsageError: If `order` is below the order of the form, or the form contains differentials of other variables than time and jets.
    """
    form = as_form(form)
    own = order_of(form)
    order = own if order is None else order
    if order < own:
        raise UsageError(f"the form has order {own}; it is not defined on J^{order}Y.", where="adapted")
    parts: dict[Blade, list[Expr]] = {}
    for blade, c in form.terms.items():
        parts.setdefault(blade, []).append(c)
        if TIME in blade:
            continue
        for k, z in enumerate(_fibre_variables(blade)):
            if z.order < order:
                sign, ordered = in_order((*blade[:k], TIME, *blade[k + 1 :]))
                parts.setdefault(ordered, []).append(sign * c * z.d())
    sums = {blade: Add(*some) for blade, some in parts.items()}
    return Adapted(order, form.degree, Frozen(Form(form.degree, sums).terms))


@public
def horizontal_part(form: FormLike) -> Form:
    r"""Horizontalization $h$: $h\,dt = dt$, $h\,dq_k = q_{k+1}\, dt$, $h f = f$; forms of degree 2 and more have none.

    In particular $h\,df = (Df)\, dt$. (003 defines $hf$ for a function on $J^sY$; the function is on $J^rY$.)

    Args:
        form: A form or a function.

    Returns:
        The horizontal part, a form on $J^{r+1}Y$.

    Raises:
        UsageError: If the form contains differentials of other variables than time and jets.
    """
    return contact_component(form, 0)


@public
def contact_part(form: FormLike) -> Form:
    r"""Contactization $p$: the form without its horizontal part, $p\,\eta = \pi_{r+1,r}^* \eta - h\eta$.

    Args:
        form: A form or a function.

    Returns:
        The contact part, a form on $J^{r+1}Y$.

    Raises:
        UsageError: If the form contains differentials of other variables than time and jets.
    """
    return as_form(form) - horizontal_part(form)


@public
def contact_component(form: FormLike, k: int) -> Form:
    r"""The $k$-contact component $p_k\, \eta$, a form on $J^{r+1}Y$; $p_0 = h$.

    Args:
        form: A form or a function.
        k: The number of contact factors.

    Returns:
        The component.

    Raises:
        UsageError: If the form contains differentials of other variables than time and jets.
    """
    form = as_form(form)
    split = adapted(form, order_of(form) + 1)
    some = {blade: c for blade, c in split.terms.items() if len(blade) - (TIME in blade) == k}
    return Adapted(split.order, form.degree, some).form


@public
def is_contact(form: FormLike) -> bool | None:
    r"""Whether $J^r\gamma^*\eta = 0$ for every section $\gamma$, that is $h\eta = 0$: True, False or None (undecided).

    Every form of degree 2 and more is contact, because the base has dimension 1.

    Args:
        form: A form or a function.

    Returns:
        True, False, or None if undecided.

    Raises:
        UsageError: If the form contains differentials of other variables than time and jets.
    """
    return is_zero(horizontal_part(form))


@public
def is_k_contact(form: FormLike, k: int) -> bool | None:
    """Whether a form equals its k-contact component.

    Args:
        form: A form or a function.
        k: The number of contact factors.

    Returns:
        True, False, or None if undecided.

    Raises:
        UsageError: If the form contains differentials of other variables than time and jets.
    """
    return is_zero(as_form(form) - contact_component(form, k))


@public
def is_horizontal_over(form: FormLike, order: int | None = None) -> bool | None:
    r"""Whether a form is $\pi_{r,k}$-horizontal for $k$ = `order`, or $\pi_r$-horizontal if no order is given.

    Its differentials are then $dt$ and $dq_0, \dots, dq_k$, or $dt$ alone.

    Args:
        form: A form or a function.
        order: The order k; None for the base.

    Returns:
        True, False, or None if undecided.

    Raises:
        UsageError: If the form contains differentials of other variables than time and jets.
    """
    lowest = -1 if order is None else order
    form = as_form(form)
    return all_of(vanishes(c) for blade, c in form.terms.items() if any(z.order > lowest for z in _fibre_variables(blade)))


def _fibre_variables(blade: Iterable[Symbol]) -> list[Jet]:
    """The jets of a product of differentials; raises a UsageError for variables other than time and jets, which have no contact form."""
    fibre = [z for z in blade if z != TIME]
    for z in fibre:
        if not isinstance(z, Jet):
            raise UsageError(f"{z} is neither time nor a jet.", where="contact forms", why="Only jets have a next derivative.")
    return fibre
