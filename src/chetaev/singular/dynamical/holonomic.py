r"""Holonomic and semiholonomic constraints (003, 10.3, 11.6, 11.7).

A holonomic constraint $u^i(t, q) = 0$ induces no constraint in the tangent bundle of $\mathcal P = J^{s-1}\mathcal Q_0$: the constrained
system is the pull-back $J^{s-1}\iota_0^*\,\alpha$, and for a Lagrangian system the one of the pulled-back Lagrangian. A *semiholonomic*
constraint of degree $p$ is $f^i = d^p u^i/dt^p$; the values of $u$ and its derivatives below $p$ are then first integrals of the
constraint alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sympy import Add, Expr, binomial

from chetaev.core.calculus import total_derivative
from chetaev.core.errors import UsageError
from chetaev.core.symbols import Coordinate, Jet, jets_in
from chetaev.core.zero import vanishes
from chetaev.singular.dynamical.constraint_structure import ConstraintStructure
from chetaev.singular.dynamical.dynamical import DynamicalForm
from chetaev.singular.forms.exterior import all_of, exact
from chetaev.singular.forms.fields import prolonged_map


def pulled_back(form: DynamicalForm, surface: Mapping[Jet, Any]) -> DynamicalForm:
    r"""The dynamical form on a holonomic surface $q^i = g^i(t, q^l)$: $E'_l = (E_l + E_i\,\partial g^i/\partial q^l) \circ J^s\iota_0$.

    >>> plane = DynamicalForm("x y", ["-x''", "-y'' - 1"])
    >>> x, y = plane.coordinates
    >>> pulled_back(plane, {y: x**2}).rows
    (2*x*(-2*x*x'' - 2*x'**2 - 1) - x'',)
    """
    where = f"pull-back of {form.label}"
    values = {q: exact(e) for q, e in surface.items()}
    rest = [q for q in form.coordinates if q not in values]
    for q, e in values.items():
        if q not in form.coordinates:
            raise UsageError(f"{q} is not a coordinate.", where=where, hint=f"one of {' '.join(z.base for z in form.coordinates)}")
        wrong = sorted((z for z in jets_in(e) if z.order or z not in rest), key=lambda z: z.name)
        if wrong:
            raise UsageError(
                f"{q} is given by {wrong[0]}.", where=where, hint="positions of the surface depend on time and the other coordinates"
            )
    if not rest:
        raise UsageError("no coordinate is left.", where=where, hint="give fewer coordinates")
    section = prolonged_map(values, form.highest)
    by_name = dict(zip(form.coordinates, form.rows, strict=True))
    rows = []
    for q in rest:
        row = Add(by_name[q], *[by_name[z] * e.diff(q) for z, e in values.items()])
        rows.append(row.xreplace(section))
    return DynamicalForm(rest, rows, [*form.parameters], name=form.name)


def semiholonomic(coordinates: Any, functions: Sequence[Any], degree: int, parameters: Any = "") -> ConstraintStructure:
    r"""The semiholonomic constraint $d^p u^i/dt^p = 0$ of a degree $p \ge 1$.

    >>> print(semiholonomic("x y", ["x*y"], 2).rows[0])
    x*y'' + 2*x'*y' + x''*y
    """
    if isinstance(degree, bool) or not isinstance(degree, int) or degree < 1:
        raise UsageError(f"a degree of {degree!r}.", where="semiholonomic", hint="degree=1 for a constraint du/dt = 0")
    read = DynamicalForm(coordinates, functions, parameters)
    rows = [total_derivative(u, degree) for u in read.rows]
    return ConstraintStructure.of_rows(read.coordinates, rows, read.parameters)


def semiholonomic_degree(row: Expr, coordinates: Sequence[Jet] | None = None) -> int | None:
    r"""The largest $p$ with $f = d^p u/dt^p$ for some function $u$; 0 if $f$ is no total derivative, None if that could not be decided.

    $f$ is a $p$-th total derivative exactly if the higher Euler operators
    $E^{(k)}_\sigma f = \sum_{j \ge k} \binom{j}{k} (-D)^{j-k}\, \partial f/\partial q_j^\sigma$ vanish for $k < p$.

    >>> from chetaev.core.symbols import coordinates
    >>> x, y = coordinates("x y")
    >>> [semiholonomic_degree(f) for f in (x.d(1) * y, x.d(1) * y + x * y.d(1), x.d(2) + y.d(2) * y + y.d(1) ** 2)]
    [0, 1, 2]
    """
    found = sorted({Coordinate(z.base) for z in jets_in(row, Coordinate)}, key=lambda q: q.base) if coordinates is None else coordinates
    top = max((z.order for z in jets_in(row)), default=0)
    for p in range(top + 1):
        answer = all_of(vanishes(_higher_euler(row, q, p, top)) for q in found)
        if answer is None:
            return None
        if not answer:
            return p
    return top + 1


def _higher_euler(f: Expr, q: Jet, k: int, top: int) -> Expr:
    terms = [binomial(j, k) * (-1) ** (j - k) * total_derivative(f.diff(q.d(j)), j - k) for j in range(k, top + 1)]
    return Add(*terms)
