r"""Antiderivatives and potentials in the functions of the notation, each verified by differentiation.

`antiderivative(e, z)` is one integral. `potential(b, z)` is a function with $\partial f/\partial z_\nu = b_\nu$, `vector_potential(b, z)` a
1-form with $\partial_\sigma w_\nu - \partial_\nu w_\sigma = b_{\sigma\nu}$. Both integrate one variable after the other, which needs no
star-shaped domain: $1/q$ and $x/(x^2+y^2)$ have primitives although they are singular at 0. None means that no primitive was found, not
that none exists.

`root_integral` integrates $P(z)\,Q(z)^r$ with polynomials $P, Q$ and a fractional exponent $r$, where the primitive is of the same kind:
if a polynomial $N$ solves $N' Q + (r + 1) N Q' = P$ then $N Q^{r+1}$ is a primitive. Kepler's potential and the relativistic kinetic
energy need these integrals, with constants of unknown sign in $Q$.
"""

from __future__ import annotations

from collections.abc import Sequence

import sympy
from sympy import Expr, Piecewise, Poly, PolynomialError, Rational, S, Symbol
from sympy.integrals.manualintegrate import manualintegrate

from chetaev.core.functions import in_own_functions
from chetaev.core.notation.show import in_notation
from chetaev.core.support.budget import limited
from chetaev.core.zero import known_zero
from chetaev.singular.inverse.variation import tidy, without_jets

_LARGEST_DEGREE = 12
"""Largest degree of the unknown polynomial in a primitive with a root; its coefficients solve as many linear equations with symbols."""

_INTEGRAL_SECONDS = 2.0
"""Budget, in seconds of counted operations, for an integral that is not a power; SymPy may take minutes for integrals it does not find."""


def antiderivative(expression: Expr, z: Symbol) -> Expr | None:
    """A function of the notation whose derivative with respect to z is the expression, or None."""
    expression = tidy(expression)
    found = S.Zero
    by_factor: dict[Expr, Expr] = {}
    for term in sympy.Add.make_args(expression):
        coefficient, moving = term.as_independent(z, as_Add=False)
        by_factor[moving] = by_factor.get(moving, S.Zero) + coefficient
    powers = {moving: whole for moving in by_factor if (whole := _power_rule(moving, z)) is not None}
    found += sympy.Add(*[by_factor[moving] * whole for moving, whole in powers.items()])
    rest = sympy.Add(*[c * moving for moving, c in by_factor.items() if moving not in powers])
    if rest == 0:
        return found
    part: Expr | None = None
    if _has_roots(rest, z):
        part = root_integral(rest, z)
    if part is None:
        part = _term_by_term(rest, z)
    if part is None and rest.is_Add:
        part = _integral(rest, z)
    return None if part is None else found + part


def _has_roots(e: Expr, z: Symbol) -> bool:
    """Whether a root contains a sum with z."""
    return any(p.base.is_Add and z in p.base.free_symbols and not p.exp.is_Integer for p in e.atoms(sympy.Pow))


def _term_by_term(expression: Expr, z: Symbol) -> Expr | None:
    found = S.Zero
    for term in sympy.Add.make_args(expression):
        coefficient, moving = term.as_independent(z, as_Add=False)
        part = _integral(moving, z)
        if part is None:
            return None
        found += coefficient * part
    return found


def potential(components: Sequence[Expr], variables: Sequence[Symbol]) -> Expr | None:
    """A function with the given partial derivatives, or None; the components must form a closed 1-form."""
    found: Expr = S.Zero
    for k, z in enumerate(variables):
        rest = _without(tidy(components[k] - found.diff(z)), variables[:k])
        part = S.Zero if rest == 0 else antiderivative(rest, z)
        if part is None:
            return None
        found += part
    return found if _is_potential(found, components, variables) else None


def vector_potential(curl: Sequence[Sequence[Expr]], variables: Sequence[Symbol]) -> list[Expr] | None:
    r"""A 1-form w with $\partial_\sigma w_\nu - \partial_\nu w_\sigma$ = `curl[sigma][nu]`, or None; the 2-form must be closed.

    With $w_1 = 0$ the rows of the first variable give $w_\nu = \int b_{1\nu}\,dz_1$; the remaining rows do not contain $z_1$.
    """
    n = len(variables)
    w = [S.Zero] * n
    for s, z in enumerate(variables):
        for v in range(s + 1, n):
            rest = _without(tidy(curl[s][v] - w[v].diff(z) + w[s].diff(variables[v])), variables[:s])
            part = S.Zero if rest == 0 else antiderivative(rest, z)
            if part is None:
                return None
            w[v] += part
    good = all(known_zero(w[v].diff(variables[s]) - w[s].diff(variables[v]) - curl[s][v]) for s in range(n) for v in range(s + 1, n))
    return w if good else None


def _is_potential(f: Expr, components: Sequence[Expr], variables: Sequence[Symbol]) -> bool:
    return all(known_zero(f.diff(z) - b) for b, z in zip(components, variables, strict=True))


def _without(rest: Expr, earlier: Sequence[Symbol]) -> Expr:
    """`rest`, which does not depend on the variables `earlier`, with these replaced by numbers."""
    return S.Zero if known_zero(rest) else without_jets(rest, earlier)


def _power_rule(e: Expr, z: Symbol) -> Expr | None:
    if z not in e.free_symbols:
        return e * z
    base, exponent = e.as_base_exp()
    if base != z or z in exponent.free_symbols:
        return None
    return sympy.log(z) if exponent == -1 else z ** (exponent + 1) / (exponent + 1)


def _integral(e: Expr, z: Symbol) -> Expr | None:
    """One integral by SymPy within `_INTEGRAL_SECONDS`; None if it is not found."""
    for sign in (1, -1, None) if _has_roots(e, z) else (None, 1, -1):
        integrand, variable, back = _abstracted(e, z, sign)
        for rule in (manualintegrate, _by_sympy):
            found = limited(rule, integrand, variable, seconds=_INTEGRAL_SECONDS).value  # an integral that takes longer counts as not found
            if found is None:
                continue
            found = _generic(found)
            found = in_own_functions(found.xreplace(back))
            if in_notation(found) and known_zero(found.diff(z) - e):
                return tidy(sympy.factor_terms(found))
        if len(back) == 1:
            break  # there are no constants whose sign could be assumed
    return None


def _abstracted(e: Expr, z: Symbol, sign: int | None) -> tuple[Expr, Symbol, dict[Symbol, Expr]]:
    """The integrand in positive symbols; with `sign`, every part without z becomes a constant of that sign.

    SymPy integrates roots such as $(a - z^2)^{3/2}$ only for $a$ of known sign. The result is verified by differentiation, so the
    assumptions are harmless.
    """
    variable = sympy.Dummy(z.name, real=True)
    known: dict[Expr, Expr] = {z: variable}
    back: dict[Symbol, Expr] = {variable: z}

    def constant(part: Expr) -> Expr:
        if part.is_Rational:
            return part
        if part not in known:
            dummy = sympy.Dummy(positive=True)
            known[part] = -dummy if sign == -1 else dummy
            back[dummy] = -part if sign == -1 else part
        return known[part]

    def walk(node: Expr) -> Expr:
        if node == z:
            return variable
        if z not in node.free_symbols and (sign is not None or node.is_Symbol):
            return constant(node)
        if sign is not None and (node.is_Add or node.is_Mul):
            fixed, moving = node.as_independent(z, as_Add=bool(node.is_Add))
            parts = [walk(a) for a in node.func.make_args(moving)]
            return node.func(constant(fixed), *parts)
        return node.func(*[walk(a) for a in node.args]) if node.args else node

    return walk(e), variable, back


def _by_sympy(e: Expr, z: Symbol) -> Expr:
    return sympy.integrate(e, z, meijerg=False)


def _generic(e: Expr) -> Expr:
    """The branch of each case distinction that holds for general values of the symbols."""

    def branch(*cases: tuple[Expr, sympy.Basic]) -> Expr:
        for value, condition in cases:
            if not condition.has(sympy.Eq):
                return value
        return cases[-1][0]

    return e.replace(Piecewise, branch)


def root_integral(e: Expr, z: Symbol) -> Expr | None:
    """A primitive $N Q^{r+1}$, or None if the expression is not $P Q^r$ or has no such primitive."""
    found = _polynomial_times_root(tidy(e), z)
    if found is None:
        return None
    p, q, r = found
    size = max(p.degree(), 0) + 1 + q.degree() * max(0, int(sympy.ceiling(-r)) - 1)
    if size > _LARGEST_DEGREE:
        return None
    unknowns = [sympy.Dummy() for _ in range(size + 1)]
    n = Poly(unknowns[::-1], z)
    difference = n.diff(z) * q + (r + 1) * n * q.diff(z) - p
    solutions = list(sympy.linsolve(difference.all_coeffs(), unknowns))
    if not solutions:
        return None
    coefficients = [c.xreplace(dict.fromkeys(unknowns, S.Zero)) for c in solutions[0]]
    numerator = sympy.Add(*[sympy.factor(c) * z**k for k, c in enumerate(coefficients)])
    return numerator * q.as_expr() ** (r + 1)


def _polynomial_times_root(e: Expr, z: Symbol) -> tuple[Poly, Poly, Rational] | None:
    """P, Q and r of a sum of terms that contain powers of one sum Q, or of -Q, and are polynomials in z otherwise."""
    powers = [p for p in e.atoms(sympy.Pow) if p.base.is_Add and z in p.base.free_symbols and p.exp.is_Rational]
    bases = {p.base for p in powers if not p.exp.is_Integer}
    if len(bases) != 1:
        return None
    (base,) = bases
    opposite = tidy(-base)
    if any(p.base not in (base, opposite) for p in powers):
        return None
    w = sympy.Dummy(positive=True)
    marked = e.xreplace({p: (w if p.base == base else -w) ** p.exp for p in powers})
    parts = [(term.as_powers_dict().get(w, S.Zero), term) for term in sympy.Add.make_args(marked)]
    lowest = min(exponent for exponent, _ in parts)
    if not all((exponent - lowest).is_Integer for exponent, _ in parts):
        return None
    polynomial = sympy.Add(*[term / w**exponent * base ** (exponent - lowest) for exponent, term in parts])
    try:
        return Poly(sympy.expand(polynomial), z), Poly(base, z), lowest
    except PolynomialError:
        return None
