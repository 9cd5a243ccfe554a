"""The nodes: functions, quotients and powers in the data of a system that can have a feature narrower than a step."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import sympy
from sympy import Expr, Mul, Symbol

from chetaev.core.functions import SMOOTH, SPELLING
from chetaev.core.support.frozen import Frozen
from chetaev.core.symbols import TIME, Entry, Input, Jet, long, symbols_in
from chetaev.mechanics.equations import Equations
from chetaev.numerics.graphs.identity_cache import Remembered
from chetaev.numerics.graphs.rewriting.removable import Removable, removable

_TAME = frozenset(("sin", "cos", "asin", "acos", "acosh", "abs", "sign", "min", "max"))
"""Functions without narrow features. Sine and cosine stay between -1 and 1. An arcsine or a root is steep at the end of its domain, but has
only a kink there, which both sides show: sqrt(x'^2 + y'^2) where a body thrown upwards turns back. Corners are events."""
_HIGHEST_SMOOTH_POWER = 5
"""Powers with exponents from zero up to this are not monitored: (1 + cos(t))^50 is a narrow pulse, cos(t)^4 is not."""
_FACTORS_OF_A_PULSE = 8
"""Number of factors, or total exponent of nested powers, from which a product is a pulse much narrower than each factor: if all eight are
1/2, the product is below 1/200."""
_DIGITS_NEAR_POLE = 120
"""Decimal digits of values near a pole; enough for a few digits after cancellation at a distance of 1e-40."""
_NEAR = (sympy.Rational(1, 10**30), sympy.Rational(-1, 10**30), sympy.Rational(1, 10**40))
"""Distances from a pole at which the data are evaluated."""
_SAME = sympy.Rational(1, 10**15)
"""Relative difference up to which the values at these distances count as equal: the data then have no pole there."""
_EXPONENTIAL = (sympy.exp, sympy.sinh, sympy.cosh, sympy.tanh)
"""Functions whose argument is an exponent."""
_LARGEST_EXPONENT = 10**6
"""Largest exponent for which the data are evaluated near a pole; with a larger one the pole counts as a pole of the data. 10^8 takes
minutes."""
_GROWING = frozenset(("exp", "sinh", "cosh"))
"""Functions whose value shows as much as their slope."""
_RISING = frozenset(name for name, function in SMOOTH.items() if function.increasing and function.whole_line)
"""Increasing functions that are defined for all arguments."""
_MOST_SORTED = 50
"""Most nodes that are sorted in SymPy's order, that of printed equations, which takes a quarter of a second for this many."""
_PARTS: Remembered[tuple[tuple[Expr, ...], list[Expr]]] = Remembered(64)
_REMOVED: Remembered[Mapping[Expr, tuple[Expr, ...]]] = Remembered(64)


def nodes_of(equations: Equations, inputs: Mapping[str, Expr]) -> tuple[Expr, ...]:
    """The nodes of the data and of the inputs they are driven by, each once."""
    data, parts = _data_and_parts(equations, inputs)
    left_out = _shown_by_quotients(data, parts) | removed_poles_of(equations, inputs).keys()
    found = [e for e in parts if has_narrow_features(e) and _moves(e) and e not in left_out]
    found += [rest for e in left_out for rest in _left_by_series(e, parts) or () if rest.free_symbols]
    return _in_order(_steepest_powers(dict.fromkeys(found)))


def removed_poles_of(equations: Equations, inputs: Mapping[str, Expr]) -> Mapping[Expr, tuple[Expr, ...]]:
    """Return quotients whose pole the data do not have, as 1/x in sin(k*x)/x, with the slopes by which the data change around it: k.

    Instead of the pole the data have a maximum there, which is narrower for larger slopes. They are the slopes of the arguments of roots
    and functions that are not monitored themselves.
    """
    return _REMOVED.get(equations, Frozen(inputs), lambda: _removed_poles(*_data_and_parts(equations, inputs)))


def _removed_poles(data: Sequence[Expr], parts: Sequence[Expr]) -> dict[Expr, tuple[Expr, ...]]:
    found = {}
    for e in parts:
        if not (e.is_Pow and e.exp.is_Integer and e.exp < 0):
            continue
        z = _vanishes_with(e)
        around = [_terms_with(e, part) for part in data if part.has(e)]
        if (z is not None and all(_has_no_pole(e, z, part) for part in around)) or _left_by_series(e, parts) is not None:
            z = min(filter(_moves, symbols_in(e.base)), key=lambda z: z.name) if z is None else z
            inside = [a for a in _parts(around) if not has_narrow_features(a) and not a.has(e)]
            arguments = dict.fromkeys(a.args[0] for a in inside if a.is_Function or (a.is_Pow and not a.exp.is_Integer))
            found[e] = tuple(slope for a in arguments if (slope := a.diff(z)))
    return found


def angles_of(equations: Equations, inputs: Mapping[str, Expr]) -> tuple[Expr, ...]:
    """The arguments of sine and cosine in the data that move, each once."""
    found = {e.args[0]: None for e in _data_and_parts(equations, inputs)[1] if isinstance(e, sympy.sin | sympy.cos)}
    return _in_order([u for u in found if _moves(u)])


def _in_order(found: Collection[Expr]) -> tuple[Expr, ...]:
    """Sort by names, for the same order in every run. SymPy's own sort key takes a millisecond for a dozen symbols."""
    if all(isinstance(e, sympy.Symbol) for e in found):
        return tuple(sorted(found, key=lambda e: e.name))
    if len(found) > _MOST_SORTED:
        texts: dict[Expr, str] = {}
        return tuple(sorted(found, key=lambda e: _text(e, texts)))
    return tuple(sorted(found, key=sympy.default_sort_key) if len(found) > 1 else found)


def _text(e: Expr, known: dict[Expr, str]) -> str:
    """Write an expression with all its brackets; `known` caches the texts of parts."""
    if e not in known:
        known[e] = f"{type(e).__name__}({','.join([_text(a, known) for a in e.args])})" if e.args else str(e)
    return known[e]


def _data_and_parts(equations: Equations, inputs: Mapping[str, Expr]) -> tuple[tuple[Expr, ...], list[Expr]]:
    """Return the data of equations and their inputs, and all sub-expressions; cached for several callers."""
    return _PARTS.get(equations, Frozen(inputs), lambda: (data := (*_data(equations), *inputs.values()), _parts(data)))


def _parts(data: Iterable[Expr]) -> list[Expr]:
    """All parts of some expressions that are neither symbols nor numbers, each once."""
    seen: dict[Expr, None] = {}
    stack = [e for e in data if e.args]
    while stack:
        e = stack.pop()
        if e not in seen:
            seen[e] = None
            stack += [a for a in e.args if a.args]
    return list(seen)


def nested(e: Expr) -> bool:
    """Tell whether a node contains other nodes, so that neither shows where the whole is steep: 1/(1 + exp(u))."""
    return not (e.is_Mul or e.is_Add) and any(has_narrow_features(part) and _moves(part) for a in e.args for part in _parts([a]))


def products_of(equations: Equations, inputs: Mapping[str, Expr]) -> Mapping[Expr, tuple[Expr, ...]]:
    """Return products of several nodes, or of at least `_FACTORS_OF_A_PULSE` other factors, each with the constants that multiply it.

    If one factor decreases and another increases, the product may be large between, as x^n exp(-x) is; and (1 + cos(x))*(1 + cos(2*x))*...
    is a narrow pulse.
    """
    found: dict[Expr, dict[Expr, None]] = {}
    removed = removed_poles_of(equations, inputs)
    for e in _data_and_parts(equations, inputs)[1]:
        moving = [a for a in e.args if a.args and _moves(a) and a not in removed] if e.is_Mul else []
        wild = [a for a in moving if has_narrow_features(a)]
        if len(wild) > 1:
            found.setdefault(Mul(*wild), {})[_constant(e)] = None
        elif sum(int(a.exp) if a.is_Pow and a.exp.is_Integer and a.exp > 0 else 1 for a in moving) >= _FACTORS_OF_A_PULSE:
            found.setdefault(Mul(*moving), {})[_constant(e)] = None
    return {e: tuple(found[e]) for e in _in_order(found.keys())}


def factors_of(nodes: Sequence[Expr], equations: Equations, inputs: Mapping[str, Expr]) -> Mapping[Expr, tuple[Expr, ...]]:
    """Return the nodes that are monitored by value, each with the constants by which the data multiply it.

    Values can be compared with fixed limits only together with these constants: (x/50)^80 is x^80 times a number with 136 zeros, and x^80
    alone is huge long before it matters.
    """
    found: dict[Expr, dict[Expr, None]] = {e: {} for e in nodes if monitored_by_value(e)}
    for e in _data_and_parts(equations, inputs)[1]:
        for a in e.args:
            if a in found:
                found[a][_constant(e) if e.is_Mul else sympy.S.One] = None
    return {e: tuple(constants) or (sympy.S.One,) for e, constants in found.items()}


def _constant(product: Expr) -> Expr:
    """The factors of a product that do not move."""
    return Mul(*[a for a in product.args if not _moves(a)])


def sums_of(equations: Equations, inputs: Mapping[str, Expr]) -> tuple[tuple[Expr, ...], ...]:
    """Return the terms of sums of at least `_FACTORS_OF_A_PULSE` sines and cosines that depend on one moving symbol.

    Such a Fourier series is a narrow pulse where all of its terms have one sign, and almost vanishes elsewhere although its terms do not.
    """
    found: dict[tuple[Expr, ...], None] = {}
    for e in _data_and_parts(equations, inputs)[1]:
        if not e.is_Add or len(e.args) < _FACTORS_OF_A_PULSE:
            continue
        waves: dict[Symbol, list[Expr]] = {}
        for a in e.args:
            moving = [z for z in symbols_in(a) if _moves(z)] if a.has(sympy.sin, sympy.cos) else []
            if len(moving) == 1:
                waves.setdefault(moving[0], []).append(a)
        constant = [a for a in e.args if not _moves(a)]
        found.update({(*terms, *constant): None for terms in waves.values() if len(terms) >= _FACTORS_OF_A_PULSE})
    return tuple(found)


def _shown_by_quotients(data: Iterable[Expr], parts: Iterable[Expr]) -> set[Expr]:
    """Return hyperbolic cosines and tangents that occur in denominators only, as in 1/cosh(u)^2: the quotient is monitored instead."""
    below = {e.base for e in parts if e.is_Pow and e.exp.is_number and e.exp < 0 and isinstance(e.base, sympy.cosh | sympy.tan)}
    elsewhere = {a for e in parts for a in e.args if not (e.is_Pow and e.exp.is_number and e.exp < 0)}
    return below - elsewhere - set(data)


def _steepest_powers(nodes: Iterable[Expr]) -> list[Expr]:
    """Keep one power of every base: of 1/u and 1/sqrt(u) the first, which changes more."""
    lowest: dict[Expr, Expr] = {}
    others = []
    for e in nodes:
        if e.is_Pow and e.exp.is_number and e.exp < 0:
            known = lowest.get(e.base)
            lowest[e.base] = e if known is None or e.exp < known.exp else known
        else:
            others.append(e)
    return [*lowest.values(), *others]


def has_narrow_features(e: Expr) -> bool:
    """Tell whether an expression can have values or slopes much larger than at neighbouring points."""
    if e.is_Pow and e.exp.is_number and 0 < e.exp < 1:
        return bends(e) or bool(not long(e.base) and e.base.is_positive)
    if e.is_Pow:
        return not (e.exp.is_number and 0 <= e.exp < _HIGHEST_SMOOTH_POWER) or (e.base.has(sympy.Pow) and _degree(e) >= _FACTORS_OF_A_PULSE)
    return bool(e.is_Function) and SPELLING.get(type(e)) not in _TAME


def bends(e: Expr) -> bool:
    """Tell whether an expression is a root of squares and a parameter: sqrt(u^2 + w^2) has a bend as narrow as w, and a kink for w = 0."""
    if not (e.is_Pow and e.exp.is_number and 0 < e.exp < 1 and e.base.is_Add) or long(e.base):
        return False
    moving = [a for a in e.base.args if _moves(a)]
    return len(moving) < len(e.base.args) and all(a.is_nonnegative for a in moving)


def monitored_by_value(e: Expr) -> bool:
    """Tell whether a node is monitored by its value rather than its slope, as products and sums with removable singularities are."""
    if e.is_Mul or e.is_Add:
        return True
    return (
        bool(not e.exp.is_number or e.exp >= _HIGHEST_SMOOTH_POWER or _degree(e) >= _FACTORS_OF_A_PULSE)
        if e.is_Pow
        else SPELLING[type(e)] in _GROWING
    )


def _degree(e: Expr) -> int:
    """Return the product of exponents of powers inside one another, if they are positive integers: 16 of ((1 + cos(x))^4 + 1)^4."""
    degrees: dict[Expr, int] = {}
    for part in reversed(_parts([e])):  # inner parts first
        inside = max((degrees.get(a, 1) for a in part.args), default=1)
        degrees[part] = int(part.exp) * inside if part.is_Pow and part.exp.is_Integer and part.exp > 0 else inside
    return degrees[e]


def _vanishes_with(e: Expr) -> Symbol | None:
    """Return a moving symbol of which the base of a quotient is a multiple, up to a summand without it; None if there is none."""
    if not (e.is_Pow and e.exp.is_Integer and e.exp < 0) or long(e.base):
        return None
    slopes = ((z, e.base.diff(z)) for z in sorted(symbols_in(e.base), key=lambda z: z.name) if _moves(z))
    return next((z for z, slope in slopes if slope.is_Rational and slope), None)


def _left_by_series(e: Expr, parts: Sequence[Expr]) -> list[Expr] | None:
    """Return the factors of a quotient that remain if its poles with series (`removable`) are taken out: 1/(x + 3) of 1/(x^2 - 9) in (x -
    3)/(x^2 - 9), nothing of 1/(exp(x) - 1) in x/(exp(x) - 1), the whole of x/sin(x), which has other poles. None if no pole has a series,
    or other poles are not known.
    """
    if not (e.is_Pow and e.exp.is_Integer and e.exp < 0) or long(e.base) or not _moves(e.base):
        return None
    around = _regular_around(e, parts)
    if around is None:
        return None
    if _vanishes_with(e) is not None:
        return []
    symbols = symbols_in(e.base)
    (z,) = symbols if len(symbols) == 1 else (None,)
    if z is not None and all(found.argument == z and not found.turns for _, found in around):
        if _rises(e.base, z):
            return []
        known = set.intersection(*[{series.centre for series in found.series} for _, found in around])
        if known and e.base.is_polynomial(z):
            rest = sympy.Poly(e.base, z)
            for centre in known:
                while rest(centre) == 0:
                    rest = rest.quo(sympy.Poly(z - centre, z))
            if rest.is_ground or rest.count_roots() == 0:
                return []
            return [rest.as_expr() ** e.exp]
    return [sympy.Add(*[a for a in node.args if a not in found.terms]) if node.is_Add else node for node, found in around]


def _regular_around(e: Expr, parts: Sequence[Expr]) -> list[tuple[Expr, Removable]] | None:
    """Return the products and sums in which a pole of a quotient is removable; None if it occurs elsewhere, too."""
    found: list[tuple[Expr, Removable]] = []
    inside = [p for p in parts if e in p.args]
    while inside:
        part = inside.pop()
        known = removable(part)
        if known is not None and not any(other.has(e) for other in (*known.others, *known.terms)):
            found.append((part, known))
            continue
        sums = [p for p in parts if part in p.args]
        if not part.is_Mul or not sums or not all(p.is_Add for p in sums):
            return None
        inside += sums
    return found or None


def _rises(e: Expr, z: Symbol) -> bool:
    """Tell whether an expression is a number plus a multiple of an increasing function, whose argument is linear in `z`."""
    moving = [a for a in sympy.Add.make_args(e) if a.has(z)]
    factors = [f for f in sympy.Mul.make_args(moving[0]) if f.has(z)] if len(moving) == 1 else []
    if len(factors) != 1 or SPELLING.get(type(factors[0])) not in _RISING:
        return False
    return bool(factors[0].args[0].diff(z).is_Rational)


def _terms_with(e: Expr, part: Expr) -> Expr:
    """Return the terms of a sum that contain an expression."""
    return sympy.Add(*(a for a in part.args if a.has(e))) if part.is_Add else part


def _has_no_pole(e: Expr, z: Symbol, part: Expr) -> bool:
    """Tell whether data with a quotient have no pole where its base vanishes with a symbol: 1/x in sin(x)/x.

    The data are evaluated very near to the pole, with `_DIGITS_NEAR_POLE` digits; they have a pole if they grow towards it.
    """
    others = {s: sympy.Rational(k + 3, k + 7) for k, s in enumerate(sorted(symbols_in(part) - {z}, key=lambda s: s.name))}
    root = sympy.expand(z - e.base / e.base.diff(z)).xreplace(others)
    values = [v for d in _NEAR if (v := _many_digits(part, {**others, z: root + d})) is not None]
    if len(values) < len(_NEAR):
        return False
    return bool(max(abs(values[0] - v) for v in values[1:]) <= _SAME * (1 + abs(values[0])))


def _many_digits(e: Expr, at: Mapping[Symbol, Expr]) -> Expr | None:
    """Return the value of an expression with `_DIGITS_NEAR_POLE` digits; None if it has none, or an exponent is above `_LARGEST_EXPONENT`.

    Near x = 0 the exponent of exp(-1/x^400) is an integer of 12,000 digits, and SymPy would multiply that many times.
    """
    rounded = {z: value.evalf(_DIGITS_NEAR_POLE) for z, value in at.items()}
    powers = [f for f in e.atoms(sympy.Function, sympy.Pow) if isinstance(f, _EXPONENTIAL) or (f.is_Pow and not f.exp.is_number)]
    for f in sorted(powers, key=lambda f: int(f.count_ops())):  # inner ones first: only small exponents are evaluated further
        exponent = f.args[-1].xreplace(rounded).evalf(_DIGITS_NEAR_POLE)
        if not (exponent.is_Float or exponent.is_Rational) or abs(exponent) > _LARGEST_EXPONENT:
            return None
    value: Expr = e.xreplace(at).evalf(_DIGITS_NEAR_POLE)
    return value if value.is_Float or value.is_Rational else None


def _moves(e: Expr) -> bool:
    return any(z == TIME or isinstance(z, Jet | Entry | Input) for z in symbols_in(e))


def _data(equations: Equations) -> Iterator[Expr]:
    """All expressions from which the rows are assembled."""
    system, lowered = equations.system, equations.lowered
    if equations.rewritten is not None:
        yield from _sides(equations.rewritten)
    else:
        yield from (lowered.lagrangian, system.dissipation)
        yield from system.forces.values()
        yield from system.equations.values()
        for row in lowered.reactions.values():
            yield from row.values()
    yield from _sides(system.kinematic)


def _sides(rows: Iterable[object]) -> Iterator[Expr]:
    for row in rows:
        yield row.lhs  # type: ignore[attr-defined]
        yield row.rhs  # type: ignore[attr-defined]
