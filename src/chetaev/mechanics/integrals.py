"""Integrals of integrable 1-forms: functions whose differential is a multiple of the form.

The general case is a partial differential equation; three simple ones cover what occurs in mechanics: closed forms, forms that become
closed with a factor depending on one variable, and combinations that row reduction finds.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import sympy
from sympy import Expr, S, Symbol

from chetaev.core.notation.show import in_notation
from chetaev.core.support.budget import deadline
from chetaev.core.zero import seems_zero, vanishes
from chetaev.mechanics.distributions import Pfaffian, apply


def integrals(system: Pfaffian, seconds: float = 5.0) -> list[Expr]:
    """Independent integrals of a system of forms, as many as are found in the time; each is verified along all fields."""
    found: list[Expr] = []
    with deadline(seconds):  # the number of integrals is known from the rank; what is found in time is verified
        part = system.integrable_part
        forms = [*system.forms, *[part.reduced.rows[a] for a in part.reduced.pivots]]
        while _search(forms, system, found):
            pass
    return found


def _search(forms: Sequence[Sequence[Expr]], system: Pfaffian, found: list[Expr]) -> bool:
    """Look once through all forms; a variable that is itself an integral counts as a constant from then on."""
    moving = [z for z in system.variables if z not in found]
    before = len(found)
    for form in forms:
        components = [a for a, z in zip(form, system.variables, strict=True) if z in moving]
        candidate = _integral(components, moving)
        if candidate is not None and _is_integral(candidate, system) and _is_new(candidate, found, system):
            found.append(candidate)
    return len(found) > before


def _integral(form: Sequence[Expr], variables: Sequence[Symbol]) -> Expr | None:
    factor = _integrating_factor(form, variables)
    if factor is None:
        return None
    return _potential([factor * a for a in form], variables)


def _integrating_factor(form: Sequence[Expr], variables: Sequence[Symbol]) -> Expr | None:
    """A factor of one variable that closes the form: 1 if it is closed already."""
    n = len(variables)
    curl = {(i, j): form[j].diff(variables[i]) - form[i].diff(variables[j]) for i, j in combinations(range(n), 2)}
    if all(seems_zero(c) for c in curl.values()):
        return S.One
    for k in range(n):
        # mu(z_k) closes the form if d(form) = -(mu'/mu) dz_k ^ form
        if any(not seems_zero(c) for (i, j), c in curl.items() if k not in (i, j)):
            continue
        rates = [-(curl[(k, j)] if k < j else -curl[(j, k)]) / form[j] for j in range(n) if j != k and form[j] != 0]
        if not rates or any(not seems_zero(r - rates[0]) for r in rates):
            continue
        rate = sympy.simplify(rates[0])
        if rate.free_symbols & set(variables) <= {variables[k]}:
            return sympy.simplify(sympy.exp(sympy.integrate(rate, variables[k])))
    return None


def _potential(form: Sequence[Expr], variables: Sequence[Symbol]) -> Expr | None:
    """The function whose differential is a closed form, one variable after the other."""
    potential: Expr = S.Zero
    for a, z in zip(form, variables, strict=True):
        rest = sympy.simplify(a - potential.diff(z))
        antiderivative = sympy.integrate(rest, z)
        if not in_notation(antiderivative):
            return None
        potential = potential + antiderivative
    return potential if potential.free_symbols & set(variables) else None


def _is_integral(function: Expr, system: Pfaffian) -> bool:
    return all(vanishes(apply(x, function)) for x in system.fields)


def _is_new(function: Expr, known: Sequence[Expr], system: Pfaffian) -> bool:
    rows = tuple(tuple(f.diff(z) for z in system.variables) for f in [*known, function])
    return Pfaffian(system.variables, rows, system.points).rank == len(rows)
