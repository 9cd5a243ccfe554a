r"""Corner functions written with modes, from the inside out.

$$ \mathrm{sign}(s) \to m, \quad \mathrm{step}(s) \to \tfrac{1+m}{2}, \quad |s| \to m\,s, \quad
   \max(a, b) \to \tfrac{1+m}{2}\,a + \tfrac{1-m}{2}\,b, \quad \mathrm{piecewise}(s, a, b) \to a \text{ or } b, $$

where $m = \pm 1$ stands for the sign of the switching function $s$, which is $a - b$ for max and min.

*Corners inside one another.* The switching function of an outer corner $C$ contains the modes of the corners inside it. Where it is
continuous as such a mode changes, as with those of abs, min and max, $C$ switches at its root. Where it *jumps*, as in
$\max(0, \mathrm{sign}(t - 1))$, it changes its sign without a root. Then the corner is written out,

$$ C(u(m)) = \tfrac{1+m}{2}\,C(u(1)) + \tfrac{1-m}{2}\,C(u(-1)), $$

so that no switching function contains a mode with which it jumps. It jumps unless $u(1) - u(-1)$ is divisible by the switching function of
$m$.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import sympy
from sympy import Expr, Mul, S, Symbol

from chetaev.core.functions import Branch, Magnitude, Maximum, Minimum, Sign, Step, has_corner
from chetaev.core.rows.constraints import VariationalConstraint
from chetaev.core.support.frozen import Frozen
from chetaev.core.symbols import TIME, Jet, long, symbols_in
from chetaev.core.zero import zero_signatures
from chetaev.mechanics.equations import Equations

ModeOf = Callable[[Expr, Expr | None], Expr | None]
"""Maps a switching function, and the user's expression for it if known, to plus or minus the symbol of its mode; None if it has none."""
FunctionOf = Callable[[Symbol], Expr | None]
"""The switching function of a mode that may change; None for other symbols."""

_JUMPING = (Sign, Step, Branch)
"""Corner functions whose value jumps; the others are continuous."""
_MOST_EXPANDED = 120
"""Parts of a difference up to which it is expanded to divide it; beyond, it counts as a jump, and the corner is written out."""
_MOST_ALIKE = 6
"""Most modes inside a switching function for which it is tested whether the function vanishes identically on one side of one of them; the
number of tests doubles with each mode."""


class Rewriting:
    """Rewrites expressions with modes in place of corners. Results are cached, so that shared parts are rewritten once."""

    def __init__(self, mode_of: ModeOf, function_of: FunctionOf) -> None:
        self._mode_of, self._function_of = mode_of, function_of
        self._known: dict[Expr, Expr] = {}
        self._made: dict[tuple[type, tuple[Expr, ...]], Expr] = {}
        self._smooth: set[Expr] = set()
        """Expressions known to contain no corner."""
        self._modes_in: dict[Expr, frozenset[Symbol]] = {}
        """The modes in expressions that this object made; in others they are searched."""
        self._stepping: set[Symbol] = set()
        """Modes of sign, step and piecewise: an expression may jump with these only."""

    def __call__(self, e: Expr) -> Expr:
        """An expression without the corners that have a mode."""
        if e not in self._known:
            self._known[e] = self._rewritten(e)
        return self._known[e]

    def _rewritten(self, e: Expr) -> Expr:
        if not e.args or not has_corner(e, self._smooth):
            return e
        if isinstance(e, Maximum | Minimum):
            e = _without_repetitions(e)
        inner = tuple(self(a) for a in e.args)
        kind = type(e)
        if not isinstance(e, (Sign, Step, Branch, Magnitude, Maximum, Minimum)):
            return self._noted(e.func(*inner), inner)
        return self._corner(kind, inner, _argument(kind, e.args))

    def _corner(self, kind: type, arguments: tuple[Expr, ...], written: Expr | None) -> Expr:
        """A corner function of arguments without corners."""
        key = (kind, arguments)
        if key not in self._made:
            self._made[key] = self._new_corner(kind, arguments, written)
        return self._made[key]

    def _new_corner(self, kind: type, arguments: tuple[Expr, ...], written: Expr | None) -> Expr:
        u = _argument(kind, arguments)
        if u.is_number:  # such as max(0, 1)
            evaluated = kind(*arguments)
            if not isinstance(evaluated, kind):
                return evaluated
        m = self._divides(u, arguments)
        if m is not None:
            sides = []
            for value in (S.One, S.NegativeOne):
                there = {m: value}
                sides.append(self._corner(kind, tuple(a.xreplace(there) for a in arguments), None).xreplace(there))
            return self._noted(_mean(m, *sides), (m, *sides))
        symbol = self._mode_of(u, written)
        if symbol is None:
            return self._noted(kind(*arguments), arguments)
        found = self._noted(_smoothed(kind, arguments, u, symbol), (*arguments, symbol))
        if kind in _JUMPING:
            self._stepping |= self._modes(found)
        return found

    def _noted(self, made: Expr, parts: Sequence[Expr]) -> Expr:
        """Record the modes of `made` from those of its `parts`; searching them again for every surrounding corner would take quadratic
        time.
        """
        if made not in self._modes_in:
            self._modes_in[made] = frozenset[Symbol]().union(*map(self._modes, parts))
        return made

    def _modes(self, e: Expr) -> frozenset[Symbol]:
        """A superset of the modes on which `e` depends: those of its parts, of which some may have cancelled."""
        if e not in self._modes_in:
            self._modes_in[e] = frozenset(z for z in symbols_in(e) if self._function_of(z) is not None)
        return self._modes_in[e]

    def _divides(self, u: Expr, arguments: Sequence[Expr]) -> Symbol | None:
        """A mode at which the corner of u, a function of `arguments`, has to be written out."""
        inside = frozenset[Symbol]().union(*map(self._modes, arguments))
        jumping = next((m for m in _by_name(inside & self._stepping) if self._jumps(u, m)), None)
        if jumping is not None or len(inside) > _MOST_ALIKE:
            return jumping
        return next((m for m in _by_name(inside) if S.Zero in (u.xreplace({m: S.One}), u.xreplace({m: S.NegativeOne}))), None)

    def _jumps(self, u: Expr, m: Symbol) -> bool:
        """Tell whether an expression has two values where the switching function of a mode vanishes; true if undecided."""
        function = self._function_of(m)
        assert function is not None  # noqa: S101 - callers pass only modes that may change
        return not divisible(u.xreplace({m: S.One}) - u.xreplace({m: S.NegativeOne}), function)


def _by_name(modes: Iterable[Symbol]) -> list[Symbol]:
    return sorted(modes, key=lambda z: str(z.name))


def _argument(kind: type, arguments: tuple[Expr, ...]) -> Expr:
    """Return the switching function of a corner function."""
    return arguments[0] - arguments[1] if kind in (Maximum, Minimum) else arguments[0]


def _smoothed(kind: type, arguments: tuple[Expr, ...], u: Expr, m: Expr) -> Expr:
    if kind is Sign:
        return m
    if kind is Step:
        return (1 + m) / 2
    if kind is Magnitude:
        return m * u
    if kind is Branch:
        _, a, b = arguments
        return Branch(m, a, b)
    a, b = arguments
    return _mean(m, a, b) if kind is Maximum else _mean(m, b, a)


def _mean(m: Expr, above: Expr, below: Expr) -> Expr:
    """Return `above` where a mode is 1 and `below` where it is -1. Each occurs once, so that nested corners grow linearly."""
    return above if above == below else (1 + m) / 2 * above + (1 - m) / 2 * below


def _without_repetitions(e: Expr) -> Expr:
    """max(a, max(a, b)) as max(a, b), for any number of values."""
    kind = type(e)
    leaves: dict[Expr, None] = {}
    count, stack = 0, [e]
    while stack:
        node = stack.pop()
        if isinstance(node, kind):
            stack += reversed(node.args)
        else:
            count += 1
            leaves[node] = None
    if len(leaves) == count:
        return e
    first, *others = reversed(leaves)
    for other in others:
        first = kind(other, first)
    return first


def divisible(difference: Expr, s: Expr) -> bool:
    """Tell whether a difference is known to vanish where s does.

    If s is affine in one of its symbols, s = 0 is solved for it, and the signature of the difference there decides. Otherwise both are
    polynomials in their symbols and functions, and the difference has to be a multiple of s.
    """
    if difference == 0 or s in Mul.make_args(difference):
        return True
    if difference.has(Branch):
        return False
    for z in sorted((z for z in s.free_symbols if isinstance(z, Jet) or z == TIME), key=lambda z: str(z.name)):
        slope = s.diff(z)
        if z not in slope.free_symbols:
            there = difference.xreplace({z: -s.xreplace({z: S.Zero}) / slope})
            return not there.has(sympy.nan, sympy.zoo) and zero_signatures([there])[0]  # exp(-1/x) has no value at x = 0
    if long(difference, _MOST_EXPANDED) or long(s, _MOST_EXPANDED):
        return False
    letters = {f: sympy.Dummy() for e in (difference, s) for f in e.atoms(sympy.Function)}  # SymPy reads exp(10^6*x) as a power of exp(x)
    try:
        (dividend, divisor), _ = sympy.parallel_poly_from_expr((difference.xreplace(letters), s.xreplace(letters)), field=True)
    except sympy.PolynomialError:
        return False
    return bool(dividend.rem(divisor).is_zero)


def with_each_expression(equations: Equations, one: Callable[[Expr], Expr]) -> Equations:
    """Equations with `one` applied to every expression of their data."""
    lowered = equations.lowered
    system = lowered.system
    changed = system.exchange(
        lagrangian=one(system.lagrangian),
        kinematic=tuple(replace(row, lhs=one(row.lhs), rhs=one(row.rhs)) for row in system.kinematic),
        variational=None if system.variational is None else tuple(_variational(row, one) for row in system.variational),
        forces=Frozen({q: one(u) for q, u in system.forces.items()}),
        equations=Frozen({q: one(e) for q, e in system.equations.items()}),
        dissipation=one(system.dissipation),
    )
    new = lowered.exchange(
        system=changed,
        lagrangian=one(lowered.lagrangian),
        reactions=Frozen({m: Frozen({q: one(c) for q, c in row.items()}) for m, row in lowered.reactions.items()}),
    )
    rows = equations.rewritten
    written = None if rows is None else tuple(replace(row, lhs=one(row.lhs), rhs=one(row.rhs)) for row in rows)
    return replace(equations, lowered=new, rewritten=written)


def _variational(row: VariationalConstraint, one: Callable[[Expr], Expr]) -> VariationalConstraint:
    return replace(row, coefficients=Frozen({q: one(c) for q, c in row.coefficients.items()}))
