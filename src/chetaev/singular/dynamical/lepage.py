r"""Lepage 2-forms of a dynamical form, Hamilton's equations, and the distributions they define.

The Lepage class of $E$ consists of $\alpha = \omega^\sigma \wedge (A_\sigma\,dt + B_{\sigma\nu}\,dq^\nu_{s-1}) + \eta$ with an arbitrary
2-contact form $\eta$, (3.5). One member is chosen here: if $E$ is variational the closed one, the Lepagean equivalent $\alpha_E$ of (8.2),
(8.3); otherwise $\eta = 0$. Components satisfy $F^{ij}_{\sigma\nu} = -F^{ji}_{\nu\sigma}$, so that $2F^{0,s-1} = B$ and
$2F^{s-1,0} = -B^T$ (the printed (3.7), (5.10) transpose $B$, and corollary 8.6 misses a factor 1/2).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sympy import Add, Expr, Matrix, S, binomial, zeros

from chetaev.core.calculus import SYMBOLIC
from chetaev.core.declarations import read_value
from chetaev.core.errors import ModelError, UsageError
from chetaev.core.fixes import InPython, SetArgument
from chetaev.core.notation import parse_expression
from chetaev.core.symbols import TIME, Jet, jets_in
from chetaev.core.zero import vanishes
from chetaev.singular.dynamical.dynamical_form import DynamicalForm
from chetaev.singular.forms.contact import adapted, order_of
from chetaev.singular.forms.exterior import Form, d, is_zero, wedge, zero_form


@dataclass(frozen=True)
class Lepage:
    r"""A Lepage 2-form $\alpha$ of a dynamical form, by its matrix $F$."""

    form: DynamicalForm
    closed: bool
    """Whether the form is closed: the Lepagean equivalent of a variational form."""
    F: Matrix
    """The matrix $(2F^{ik}_{\\sigma\\nu})$ of (5.9): rows $(i, \\sigma)$, columns $(k, \\nu)$, ordered as the phase space."""

    @cached_property
    def F_and_A(self) -> Matrix:  # noqa: N802 - the paper's letters
        """The matrix $(F|A)$ of (5.9)."""
        m, s = len(self.form.coordinates), self.form.order
        return self.F.row_join(self.form.A.col_join(zeros(m * (s - 1), 1)))

    def hamilton_rows(self) -> tuple[tuple[Expr, ...], ...]:
        r"""Hamilton's equations (4.5), (5.10) for a field with rates $\xi_k^\nu$: coefficients of the rates, then the term without them.

        Row $(i, \sigma)$ is $\sum_k 2F^{ik}_{\sigma\nu}\,\xi_k^\nu - \sum_{k<s-1} 2F^{ik}_{\sigma\nu}\,q_{k+1}^\nu + \delta^{i0} A_\sigma$.
        """
        form = self.form
        m = len(form.coordinates)
        rows = []
        for r in range(self.F.rows):
            below = [self.F[r, c] * z.d() for c, z in enumerate(form.phase) if z.order < form.order - 1]
            constant = Add(form.A[r] if r < m else S.Zero, *[-term for term in below])
            rows.append((*self.F.row(r), constant))
        return tuple(rows)

    def hamilton_form(self) -> tuple[Expr, ...]:
        r"""The components of the Hamilton form, (4.4) with the limit corrected.

        $H^i_\sigma = E_\sigma\,\delta^{0i} + \sum_{k=0}^{s-1} 2F^{ik}_{\sigma\nu}(q^\nu_{k,1} - q^\nu_{k+1})$.

        The rates $q_{k,1}^\nu$ on $J^1(J^{s-1}Y)$ are written as derivatives of jets named `q_k`, for example `q_0'` and `q_1'`.
        """
        rates = [Jet.__new__(type(z), f"{z.base}_{z.order}", 1) for z in self.form.phase]
        rows = self.hamilton_rows()
        return tuple(Add(row[-1], *[c * r for c, r in zip(row, rates, strict=False)]) for row in rows)

    @cached_property
    def two_form(self) -> Form:
        r"""$\alpha$ itself, on $J^{s-1}Y$."""
        form = self.form
        dt, s = d(TIME), form.order
        total = zero_form(2)
        for sigma, q in enumerate(form.coordinates):
            omega = d(q) - q.d() * dt if s > 1 else d(q)
            pull = form.A[sigma] * dt
            if s > 1:
                pull = pull + _sum([form.B[sigma, nu] * d(p.d(s - 1)) for nu, p in enumerate(form.coordinates)])
            total = total + wedge(omega, pull)
        for r, z in enumerate(form.phase):
            for c, w in enumerate(form.phase):
                inner = z.order <= s - 2 and w.order <= s - 2
                if self.F[r, c] != 0 and (inner or s == 1):
                    total = total + self.F[r, c] / 2 * wedge(_contact(z, s), _contact(w, s))
        return total

    def dynamical_annihilator(self) -> tuple[Form, ...]:
        r"""1-forms that span $\Delta_\alpha^0$, (5.7): the $\eta^i_\sigma$ of (5.5)."""
        return tuple(_row_form(row, self.form) for row in self.hamilton_rows())

    def characteristic_annihilator(self) -> tuple[Form, ...]:
        r"""1-forms that span $\mathcal{D}_\alpha^0$, (5.4): those of $\Delta_\alpha^0$ and $\eta_0$."""
        rows = self.hamilton_rows()
        first = _sum([row[-1] * d(z) for row, z in zip(rows, self.form.phase, strict=True)])
        return (first, *self.dynamical_annihilator())

    def dynamical_distribution(self) -> Any:
        r"""$\Delta_\alpha$ on the phase space with its generic rank; the rank may be smaller at special points."""
        from chetaev.singular.forms.distributions import annihilated_by

        return annihilated_by([f for f in self.dynamical_annihilator() if f.terms], [TIME, *self.form.phase])

    def characteristic_distribution(self) -> Any:
        r"""$\mathcal{D}_\alpha$, generically."""
        from chetaev.singular.forms.distributions import annihilated_by

        return annihilated_by([f for f in self.characteristic_annihilator() if f.terms], [TIME, *self.form.phase])


def lepage(form: DynamicalForm) -> Lepage:
    """The Lepagean equivalent of a variational form; of any other form the Lepage 2-form without further contact part."""
    if len(form.rows) != len(form.coordinates):
        raise ModelError(
            f"{len(form.rows)} rows for {len(form.coordinates)} coordinates.",
            where=f"Lepage form of {form.label}",
            why="A dynamical form has one row for each coordinate.",
            hint=("state one row for each coordinate, or use ", SetArgument("dynamics", "proper")),
        )
    closed = form.variational if form.variational is not None else is_variational(form)
    return Lepage(form, closed, _closed_matrix(form) if closed else _plain_matrix(form))


def member(form: DynamicalForm, eta: Any) -> Lepage:
    r"""The member of the Lepage class (3.5) with a 2-contact form $\eta$ of the user's choice.

    Args:
        form: A dynamical form of order $s \ge 2$.
        eta: A 2-contact form on $J^{s-1}Y$; or coefficients by pairs of names, `{("x", "y"): "x*y'"}` for $x y'\,\omega^x \wedge \omega^y$.

    Returns:
        The Lepage form $\omega^\sigma \wedge (A_\sigma\,dt + B_{\sigma\nu}\,dq^\nu_{s-1}) + \eta$.

    Raises:
        UsageError: If `eta` is not 2-contact, or not a form on $J^{s-1}Y$.
    """
    s, where = form.order, f"Lepage form of {form.label}"
    plain = Lepage(form, False, _plain_matrix(form)) if len(form.rows) == len(form.coordinates) else lepage(form)
    places = {z: k for k, z in enumerate(form.phase)}
    found = plain.F.copy()
    for (z, w), coefficient in _pairs(form, eta, where).items():
        inside = z in places and w in places and max(z.order, w.order) <= s - 2
        if not inside or any(y.order > s - 1 for y in jets_in(coefficient)):
            raise UsageError(
                f"the term in {z} and {w} is not a 2-contact term on the jets of order {s - 1}.",
                where=where,
                why="η is a sum of products of two contact forms ω_k with k <= s - 2, with coefficients on the phase space.",
                hint=(InPython('{("x", "y"): "x*y\'"}'), " for x*y'*ω_x∧ω_y"),
            )
        found[places[z], places[w]] += coefficient
        found[places[w], places[z]] -= coefficient
    made = Lepage(form, False, found)
    return Lepage(form, is_zero(d(made.two_form)) is True, found)


def _pairs(form: DynamicalForm, eta: Any, where: str) -> dict[tuple[Any, Any], Expr]:
    """The coefficients of products of two contact forms, by their jets."""
    if isinstance(eta, Form):
        if eta.degree != 2:
            raise UsageError(f"η has degree {eta.degree}.", where=where, hint="a 2-form")
        terms = adapted(eta, max(order_of(eta), form.order - 1)).terms
        return {(blade[0], blade[1]): c for blade, c in terms.items() if vanishes(c) is not True}
    read = {pair: [parse_expression(str(name), form.vocabulary, where) for name in pair] for pair in dict(eta)}
    return {(z, w): read_value(dict(eta)[pair], form.vocabulary, where) for pair, (z, w) in read.items()}


def is_variational(form: DynamicalForm) -> bool:
    r"""Whether the Anderson-Duchamp-Krupka identities (8.1) are proved; without a proof False, since $\eta = 0$ is always a member."""
    q, top = form.coordinates, form.highest
    for sigma, a in enumerate(q):
        for nu, b in enumerate(q):
            for k in range(top + 1):
                later = [
                    (-1) ** j * binomial(j, k) * form.total(form.rows[nu].diff(a.d(j)), j - k)
                    for j in range(k, top + 1)
                    if a.d(j) in form.rows[nu].free_symbols
                ]
                if vanishes(form.rows[sigma].diff(b.d(k)) - Add(*later)) is not True:
                    return False
    return True


def _closed_matrix(form: DynamicalForm) -> Matrix:
    r"""$2F^{jk}_{\sigma\nu} = \sum_l (-1)^{j+l} \binom{j+l}{l} D^l\, \partial E_\sigma/\partial q^\nu_{j+k+l+1}$ for $j + k < s$, (8.3)."""
    s, m, q = form.order, len(form.coordinates), form.coordinates
    found = zeros(m * s, m * s)
    for j in range(s):
        for k in range(s - j):
            for sigma in range(m):
                for nu in range(m):
                    terms = [
                        (-1) ** (j + i) * binomial(j + i, i) * form.total(form.rows[sigma].diff(q[nu].d(j + k + i + 1)), i)
                        for i in range(s - j - k)
                    ]
                    found[j * m + sigma, k * m + nu] = _projected(Add(*terms), s)
    return found


def _projected(e: Expr, s: int) -> Expr:
    """An expression that does not depend on jets of order s and more, although they occur in it (lemma 8.4)."""
    return SYMBOLIC.without(e, [z for z in jets_in(e) if z.order >= s])


def _plain_matrix(form: DynamicalForm) -> Matrix:
    r"""$2F^{0,s-1} = B$, $2F^{s-1,0} = -B^T$, and zero elsewhere; $B$ itself on $Y$, where it is antisymmetric."""
    s, m = form.order, len(form.coordinates)
    if s == 1:
        return form.B
    found = zeros(m * s, m * s)
    for sigma in range(m):
        for nu in range(m):
            found[sigma, (s - 1) * m + nu] = form.B[sigma, nu]
            found[(s - 1) * m + nu, sigma] = -form.B[sigma, nu]
    return found


def _contact(z: Jet, s: int) -> Form:
    return d(z) - z.d() * d(TIME) if s > 1 else d(z)


def _row_form(row: tuple[Expr, ...], form: DynamicalForm) -> Form:
    return _sum([row[-1] * d(TIME), *[c * d(z) for c, z in zip(row, form.phase, strict=False)]])


def _sum(forms: list[Form]) -> Form:
    total = zero_form(1)
    for f in forms:
        total = total + f
    return total
