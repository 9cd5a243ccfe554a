"""The gallery derived a second time, by another road, and compared number by number.

Nothing of chetaev is used but the public data of a `System`: its Lagrangian, kinematic rows, stated variational rows, forces,
dissipation and inputs, as SymPy expressions in functions of time. Nothing is differentiated symbolically and no rows are formed. A
test curve is a Taylor polynomial with coefficients of 40 digits; along it every expression is a truncated power series in time, d/dt
is a shift of coefficients, and partial derivatives are the chain rule on series. The forms of the theory are others than the
library's, too:

- unconstrained motion, d'Alembert, Chetaev, virtual work: `E_i - u_i + dF/dq'_i - lambda_a R_V[a, i] = 0` along the curve;
- vakonomic: equation (3.3a) of paper 004, `E_i(L) = -lambda_a E_i(g_a) - lambda_a' dg_a/dq'_i`, no extended Lagrangian;
- Herglotz: the free Euler-Lagrange equations of `L - mu*(s' - L) - mu_b*psi_b` (errata, part B), `mu` a multiplier with arbitrary
  initial value, `lambda_b = -mu_b/(1 + mu)`; and once more with the integrating factor `exp(-int L_s dt)`.

A system on a group is derived in a chart of its own, `charts_by_hand`: products of turns, where the library has frames and structure
constants. Rows of the chart are `J^T` times those of the group, where `J` takes the rates of the chart to the components of the velocity.

Constraints are differentiated in time as series until they speak of the accelerations. The linear system for accelerations and multipliers
is then solved in 40 digits and must be regular, so what `evaluate` returns is compared with the only solution. The elastic balls have a
row more than unknowns: there the solution of least squares has to satisfy all rows.
"""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass, field
from functools import cache, cached_property

import numpy as np
import pytest
import sympy
from charts_by_hand import CENTRE, TIME, Chart, mp
from sympy.calculus.euler import euler_equations
from sympy.core.function import AppliedUndef

import chetaev as ch

TOLERANCE = 1e-12
GAUGE = mp.mpf("0.37")
"""The initial value of `mu` in the extended Lagrangian: it only sets a scale, so any value but -1 must do."""

SINGULAR = {"cawley", "krupkova", "transformer"}
"""No unique accelerations: rows are compared, not solutions."""

MIXED = {"rocard": ({"epsilon": 1}, (1, 1, 0)), "pais-uhlenbeck": ({"q": 4}, ())}
"""Highest derivatives and numbers of differentiations where they are not 2 and 2 minus the order of the row."""

FAMILIES = {
    "chain": [{}, {"n": 1}, {"n": 2}, {"n": 4}],
    "trailer": [{}, {"n": 0}, {"n": 1}],
    "rocard": [{}, {"forward": False}],
    "cart-pendulum": [{}, {"friction": False}],
    "two-firms": [{}, {"discount": False}],
    "elastic-ball": [{}, {"guise": "second-order"}, {"guise": "dalembert"}],
    "suslov": [{}, {"coupled": False}],
    "rattleback": [{}, {"backward": False}],
}

SPECIAL = {"elastic-ball", "elastic-ball-inhomogeneous"}
"""Overdetermined: a zero among their initial data is a condition of the motion, and stays zero at other states."""


# --------------------------------------------------------------------------- power series in time


def product(a, b):
    return [sum((a[j] * b[k - j] for j in range(1, k + 1)), a[0] * b[k]) for k in range(len(a))]


def plus(a, b):
    return [x + y for x, y in zip(a, b, strict=True)]


def times(factor, a):
    return [factor * x for x in a]


def rate(a, count=1):
    """The time derivative; the last coefficients are lost and become NaN, which no result may depend on."""
    for _ in range(count):
        a = [*(k * x for k, x in enumerate(a) if k), mp.nan]
    return a


def composed(taylor, inner):
    """`f(inner)` from the Taylor coefficients of `f` at `inner[0]`."""
    step = [mp.zero, *inner[1:]]
    total = [taylor[-1]] + [mp.zero] * (len(inner) - 1)
    for coefficient in reversed(taylor[:-1]):
        total = product(total, step)
        total[0] += coefficient
    return total


def sine(a):
    return composed([mp.sin(a[0] + k * mp.pi / 2) / math.factorial(k) for k in range(len(a))], a)


def cosine(a):
    return composed([mp.cos(a[0] + k * mp.pi / 2) / math.factorial(k) for k in range(len(a))], a)


def exponential(a):
    return composed([mp.exp(a[0]) / math.factorial(k) for k in range(len(a))], a)


def power(a, exponent):
    return composed([mp.binomial(exponent, k) * a[0] ** (exponent - k) for k in range(len(a))], a)


def tangent(a):
    return product(sine(a), power(cosine(a), -1))


def signum(a):
    return [mp.sign(a[0])] + [mp.zero] * (len(a) - 1)


FUNCTIONS = {sympy.sin: sine, sympy.cos: cosine, sympy.tan: tangent, sympy.exp: exponential, sympy.sign: signum}
SLOPES = {
    sympy.sin: cosine,
    sympy.cos: lambda a: times(-1, sine(a)),
    sympy.tan: lambda a: power(cosine(a), -2),
    sympy.exp: exponential,
    sympy.sign: lambda a: [mp.zero] * len(a),
}


# --------------------------------------------------------------------------- expressions along a curve


@cache
def jet(name, order=0):
    """`name` differentiated `order` times, as SymPy writes it."""
    function = sympy.Function(name)(TIME)
    return sympy.Derivative(function, (TIME, order)) if order else function


@cache
def leaves(expression):
    """The symbols, functions of time and their derivatives in an expression."""
    if isinstance(expression, sympy.Symbol | AppliedUndef | sympy.Derivative):
        return frozenset([expression])
    return frozenset().union(*map(leaves, expression.args))


@cache
def orders(expression, name):
    """The orders of the derivatives of `name` that occur."""
    found = []
    for leaf in leaves(expression):
        if isinstance(leaf, AppliedUndef) and leaf.func.__name__ == name:
            found.append(0)
        if isinstance(leaf, sympy.Derivative) and leaf.expr.func.__name__ == name:
            found.append(int(leaf.derivative_count))
    return sorted(found)


class Path:
    """A curve, given by its jets at time `t`; expressions along it are power series."""

    def __init__(self, jets, t, constants, inputs, terms):
        self.jets, self.terms = jets, terms
        self.known = {TIME: self.padded([mp.mpf(t), mp.one] + [mp.zero] * terms)}
        self.known |= {sympy.Symbol(name): self.constant(v) for name, v in constants.items()}
        self.known |= {jet(name): self.value(expression) for name, expression in inputs.items()}
        self.slopes = {}

    def constant(self, number):
        return [mp.mpf(number)] + [mp.zero] * (self.terms - 1)

    def padded(self, coefficients):
        return [*coefficients, *[mp.nan] * self.terms][: self.terms]

    def unknown_function(self, name, order):
        jets = self.jets[name][order:]
        return self.padded([mp.mpf(v) / math.factorial(k) for k, v in enumerate(jets)])

    def value(self, e):
        """The series of an expression."""
        if e not in self.known:
            self.known[e] = self._value(e)
        return self.known[e]

    def _value(self, e):
        if isinstance(e, AppliedUndef):
            return self.unknown_function(e.func.__name__, 0)
        if isinstance(e, sympy.Derivative):
            return self.unknown_function(e.expr.func.__name__, int(e.derivative_count))
        if e.is_Rational:
            return self.constant(mp.mpf(e.p) / e.q)
        if e is sympy.pi:
            return self.constant(mp.pi)
        parts = [self.value(a) for a in e.args]
        if e.is_Add:
            return [mp.fsum(column) for column in zip(*parts, strict=True)]
        if e.is_Mul:
            return self._product(parts)
        if e.is_Pow:
            return self._power(parts[0], e.exp)
        return FUNCTIONS[e.func](parts[0])

    def _product(self, parts):
        total = parts[0]
        for part in parts[1:]:
            total = product(total, part)
        return total

    def _power(self, base, exponent):
        assert exponent.is_Rational
        if exponent.is_Integer and exponent >= 0:
            return self._product([self.constant(1), *[base] * int(exponent)])
        return power(base, mp.mpf(exponent.p) / exponent.q)

    def slope(self, e, leaf):
        """The series of the partial derivative by one leaf, all other leaves being independent of it."""
        if leaf not in leaves(e):
            return self.constant(0)
        if (e, leaf) not in self.slopes:
            self.slopes[e, leaf] = self._slope(e, leaf)
        return self.slopes[e, leaf]

    def _slope(self, e, leaf):
        if e == leaf:
            return self.constant(1)
        total = self.constant(0)
        for k, part in enumerate(e.args):
            if leaf not in leaves(part):
                continue
            inner = self.slope(part, leaf)
            if e.is_Mul:
                inner = self._product([inner, *[self.value(a) for i, a in enumerate(e.args) if i != k]])
            elif e.is_Pow:
                assert k == 0
                inner = product(inner, times(mp.mpf(e.exp.p) / e.exp.q, self._power(self.value(part), e.exp - 1)))
            elif not e.is_Add:
                inner = product(inner, SLOPES[e.func](self.value(part)))
            total = plus(total, inner)
        return total

    def euler(self, e, name):
        """`E = sum_k (-1)^(k+1) D^k de/dq^(k)` for the function `name`: `d/dt dL/dq' - dL/dq` at first order."""
        total = self.constant(0)
        for k in orders(e, name):
            total = plus(total, times((-1) ** (k + 1), rate(self.slope(e, jet(name, k)), k)))
        return total


# --------------------------------------------------------------------------- the second derivation


@dataclass(frozen=True)
class Case:
    """A gallery system under one of its principles."""

    name: str
    options: tuple
    principle: ch.Principle

    @property
    def model(self):
        return read(self)

    def __str__(self):
        return "-".join([self.name, *(f"{k}={v}" for k, v in self.options), str(self.principle)])


@cache
def read(case):
    return ch.gallery(case.name, **dict(case.options)).under(case.principle)


@dataclass
class Second:
    """The equations of a model, as residuals along a curve."""

    case: Case
    model: ch.Model = field(init=False)

    def __post_init__(self):
        self.model = self.case.model
        system = self.model.system
        self.charts = {name: Chart(name, kind) for name, kind in system.kinds.items() if name in system.groups}
        self.components = {a: (chart, k) for chart in self.charts.values() for k, a in enumerate(chart.components)}
        self.coordinates = [y for name in system.kinds for y in (self.charts[name].names if name in self.charts else [name])]
        self.lagrangian = self.read(system.lagrangian)
        self.constraints = [self.read(row.lhs) - self.read(row.rhs) for row in system.kinematic]
        self.forces = self.dual({q.base: self.read(u) for q, u in system.forces.items()})
        self.dissipation = self.read(sympy.sympify(system.dissipation))
        self.inputs = {z.base: ch.to_sympy(e, TIME) for z, e in system.inputs.items()}
        principle = self.model.principle
        self.action = system.action.base if isinstance(principle, ch.Herglotz) else None
        self.inner = principle.inner if self.action else principle
        self.vakonomic = isinstance(self.inner, ch.Vakonomic)
        stated = [self.dual({q.base: self.read(c) for q, c in row.coefficients.items()}) for row in system.variational or ()]
        self.stated = stated if isinstance(self.inner, ch.VirtualWork) else None
        count = len(stated) if self.stated is not None else len(self.constraints)
        self.multipliers = [f"lambda{k + 1}" for k in range(count)]

    def read(self, e):
        """A public expression, with entries and velocities of group coordinates written in the chart."""
        e, table = ch.to_sympy(e, TIME), {}
        for chart in self.charts.values():
            table |= chart.entries()
            for name, velocity in zip(chart.components, chart.velocities, strict=True):
                table |= {jet(name, k): velocity.diff(TIME, k - 1) if k > 1 else velocity for k in (1, 2) if orders(e, name)[-1:] >= [k]}
        return e.xreplace(table)

    def dual(self, row):
        """Coefficients of variations (or forces) by component of the group's, as coefficients by coordinate of the chart."""
        found = {q: c for q, c in row.items() if q not in self.components}
        for chart in self.charts.values():
            for b, y in enumerate(chart.names):
                found[y] = sympy.Add(*[row[a] * chart.directions[k, b] for k, a in enumerate(chart.components) if a in row])
        return found

    def origins(self, elements):
        """The constants of the charts for elements of the groups, by name."""
        return {c: v for name, chart in self.charts.items() for c, v in chart.origin(elements[name]).items()}

    def velocity(self, path, name, order):
        """A derivative of a component of a group's velocity along a curve."""
        chart, k = self.components[name]
        return rate(path.value(chart.velocities[k]), order - 1)[0]

    def place(self):
        """The coordinates of the charts at the state."""
        return {y: mp.mpf(v) for chart in self.charts.values() for y, v in zip(chart.names, CENTRE, strict=True)}

    def raise_in_charts(self, jets, wanted, t, constants):
        """Rates of the charts' coordinates, one order further, from those of the velocity: `xi^(k) = J y^(k+1) + ...`."""
        for chart in self.charts.values():
            order = len(jets[chart.names[0]])
            trial = {**jets, **{y: [*jets[y], mp.zero] for y in chart.names}}
            path = Path(trial, t, constants, self.inputs, order)
            rest = mp.matrix([wanted[a][order - 1] - self.velocity(path, a, order) for a in chart.components])
            step = self.turning(path, chart) ** -1 * rest
            jets = {**jets, **{y: [*jets[y], v] for y, v in zip(chart.names, step, strict=True)}}
        return jets

    @cached_property
    def public(self):
        """The coordinates as the library calls them, with the order of the highest derivative to be found."""
        return {q: top for q, top in self.tops.items() if q not in self.place()} | dict.fromkeys(self.components, 2)

    def jets_behind(self, jets, name):
        """The lists of jets that a public name needs; none for the action, whose rate is always known."""
        names = self.components[name][0].names if name in self.components else [] if name == self.action else [name]
        return [jets[n] for n in names]

    def on_the_group(self, path, rows):
        """Rows of motion by the library's label: `E_y = J^T E_A` inverted for group coordinates."""
        found = {}
        for q in self.model.system.coordinates:
            chart, k = self.components.get(q.base, (None, 0))
            if chart is None:
                found[f"E_{q.base}"] = rows[q.base]
            else:
                found[f"E_{q.base}"] = (self.turning(path, chart).T ** -1 * mp.matrix([rows[y] for y in chart.names]))[k]
        return found

    def turning(self, path, chart):
        """The matrix J at the first point of a curve."""
        return mp.matrix([[path.value(chart.directions[a, b])[0] for b in range(3)] for a in range(3)])

    def order(self, constraint):
        return max(k for q in self.coordinates for k in [*orders(constraint, q), 0])

    @cached_property
    def tops(self):
        """The order of the highest derivative to be found, by coordinate."""
        return dict.fromkeys(self.coordinates, 2) | MIXED.get(self.case.name, ({}, ()))[0]

    @cached_property
    def differentiations(self):
        """How often each constraint is differentiated until it contains the highest derivatives."""
        return MIXED.get(self.case.name, ({}, ()))[1] or tuple(2 - self.order(g) for g in self.constraints)

    @cached_property
    def multiplier_tops(self):
        """Reactions are unknown themselves; vakonomic multipliers of nonholonomic rows are state, their rates unknown."""
        if not self.vakonomic:
            return dict.fromkeys(self.multipliers, 0)
        return {m: min(1, self.order(g)) for m, g in zip(self.multipliers, self.constraints, strict=True)}

    @cached_property
    def extended(self):
        """Errata, part B: `L - mu*(s' - L) - mu_b*psi_b`."""
        mu = jet("mu_s")
        free = (1 + mu) * self.lagrangian - mu * jet(self.action, 1)
        return free - (sum(jet(f"mu_{m}") * g for m, g in zip(self.multipliers, self.constraints, strict=True)) if self.vakonomic else 0)

    def path(self, jets, t, constants, terms):
        """The curve, with `s' = L` and the multipliers of the extended Lagrangian if there is an action variable."""
        jets = {name: list(v) for name, v in jets.items()}
        if self.action:
            jets[self.action] = jets[self.action][:1]
            jets["mu_s"] = [GAUGE]
            for m in self.multipliers if self.vakonomic else ():
                jets[f"mu_{m}"] = [-(1 + GAUGE) * jets[m][0]]
            now = Path(jets, t, constants, self.inputs, 1)
            jets[self.action].append(now.value(self.lagrangian)[0])
            jets["mu_s"].append(-now.slope(self.extended, jet(self.action))[0])  # its Euler-Lagrange equation of s
            for m in self.multipliers if self.vakonomic else ():
                if len(jets[m]) > 1:
                    jets[f"mu_{m}"].append(-(1 + GAUGE) * jets[m][1] - jets["mu_s"][1] * jets[m][0])
        return Path(jets, t, constants, self.inputs, terms)

    def applied(self, path, q):
        """External force, friction and reaction on a coordinate."""
        total = plus(path.value(self.forces.get(q, sympy.S.Zero)), times(-1, path.slope(self.dissipation, jet(q, 1))))
        for m, row in [] if self.vakonomic else zip(self.multipliers, self.reactions(path), strict=True):
            total = plus(total, product(path.unknown_function(m, 0), row[q]))
        return total

    def reactions(self, path):
        """R_V: as stated, or the constraint by its own highest derivatives."""
        if self.stated is not None:
            return [{q: path.value(row.get(q, sympy.S.Zero)) for q in self.coordinates} for row in self.stated]
        return [{q: path.slope(g, jet(q, self.order(g))) for q in self.coordinates} for g in self.constraints]

    def dynamics(self, path):
        """The equations of motion, by coordinate, as series that must vanish."""
        return {q: plus(self.inertia(path, q), times(-1, self.applied(path, q))) for q in self.coordinates}

    def inertia(self, path, q):
        if self.action:
            scale = power(plus(path.constant(1), path.unknown_function("mu_s", 0)), -1)
            return product(scale, path.euler(self.extended, q))
        total = path.euler(self.lagrangian, q)
        for m, g in zip(self.multipliers, self.constraints, strict=True) if self.vakonomic else ():  # (3.3a) of 004
            assert self.order(g) <= 1
            total = plus(total, product(path.unknown_function(m, 0), path.euler(g, q)))
            if orders(g, q)[-1:] == [1]:
                total = plus(total, product(path.unknown_function(m, 1), path.slope(g, jet(q, 1))))
        return total

    def integrating_factor_form(self, path):
        """Herglotz once more: Euler-Lagrange equations of `w*L`, where `w' = -L_s*w` and `s` are given functions of time."""
        lagrangian = self.lagrangian
        if self.vakonomic:
            lagrangian = lagrangian + sum(jet(m) * g for m, g in zip(self.multipliers, self.constraints, strict=True))
        path.jets["w"] = [mp.one, -path.slope(lagrangian, jet(self.action))[0]]
        w = path.unknown_function("w", 0)
        rows = {}
        for q in self.coordinates:
            rows[q] = plus(path.euler(jet("w") * lagrangian, q), times(-1, product(w, self.applied(path, q))))
        return rows

    def terms(self, level=0):
        order = max(k for q in self.coordinates for k in [*orders(self.lagrangian, q), 0])
        return 1 + level + max(order, *self.differentiations, 1)

    def residuals(self, jets, t, constants, level=0):
        """Everything that fixes the derivatives at this level: rows of motion, then constraints."""
        path = self.path(jets, t, constants, self.terms(level))
        rows = [times(math.factorial(level), e)[level] for e in self.dynamics(path).values()]
        counts = [c + level for c in self.differentiations]
        return rows + [rate(path.value(g), k)[0] for g, k in zip(self.constraints, counts, strict=True)]

    def hidden(self, jets, t, constants):
        """The constraints and those of their derivatives that restrict the state."""
        path = self.path(jets, t, constants, self.terms())
        return [rate(path.value(g), k)[0] for g, count in zip(self.constraints, self.differentiations, strict=True) for k in range(count)]

    def state(self, data, guess, t, constants):
        """All jets below the highest, from the given ones and the constraints: Newton's method in 40 digits."""
        demands = {z: v for z, v in data.items() if z[0] in self.components}
        data = {**data, **{(y, 0): v for y, v in self.place().items()}}
        jets = {q: [data.get((q, k)) for k in range(top)] for q, top in self.tops.items()}
        jets |= {m: [data.get((m, 0))] if top else [] for m, top in self.multiplier_tops.items()}
        jets |= {self.action: [data[self.action, 0]]} if self.action else {}
        missing = [(name, k) for name, v in jets.items() for k, given in enumerate(v) if given is None]

        def put(values):
            for (name, k), v in zip(missing, values, strict=True):
                jets[name][k] = v
            path = Path(jets, t, constants, self.inputs, 1) if demands else None
            return self.hidden(jets, t, constants) + [self.velocity(path, *z) - v for z, v in demands.items()]

        trial = [mp.mpf(guess.get(z, 0)) for z in missing]
        for _ in range(20 if missing else 0):
            residual = mp.matrix(put(trial))
            columns = [put([v + (i == j) * mp.mpf("1e-20") for i, v in enumerate(trial)]) for j in range(len(missing))]
            jacobian = mp.matrix(
                [[(columns[j][i] - residual[i]) * mp.mpf("1e20") for j in range(len(missing))] for i in range(len(residual))]
            )
            step = mp.lu_solve(jacobian, -residual)
            trial = [v + s for v, s in zip(trial, step, strict=True)]
            if mp.norm(step, mp.inf) < mp.mpf("1e-30"):
                break
        assert all(abs(v) < mp.mpf("1e-30") for v in put(trial))
        return jets

    def raised(self, jets, values):
        """One more derivative of every unknown."""
        return {**jets, **{name: [*jets[name], v] for name, v in zip(self.tops | self.multiplier_tops, values, strict=True)}}

    def linear_system(self, jets, t, constants, level=0):
        """Matrix and right-hand side for the derivatives at one level: as many rows as unknowns."""
        assert all(len(jets[name]) == top + level for name, top in (self.tops | self.multiplier_tops).items())
        size = len(self.tops) + len(self.multipliers)
        zero = self.residuals(self.raised(jets, [mp.zero] * size), t, constants, level)
        assert len(zero) == size or (len(zero) > size and self.case.name in SPECIAL)
        units = [[mp.mpf(i == j) for i in range(size)] for j in range(size)]
        columns = [self.residuals(self.raised(jets, unit), t, constants, level) for unit in units]
        matrix = mp.matrix([[columns[j][i] - zero[i] for j in range(size)] for i in range(len(zero))])
        return matrix, -mp.matrix(zero)

    def solve(self, jets, t, constants, level=0):
        """The jets with their derivatives at one level more: the only solution of a regular linear system."""
        matrix, right = self.linear_system(jets, t, constants, level)
        inverse = matrix**-1 if matrix.rows == matrix.cols else (matrix.T * matrix) ** -1 * matrix.T
        assert mp.mnorm(matrix, mp.inf) * mp.mnorm(inverse, mp.inf) < 1e6, "a state too close to a singular one for 12 digits"
        solved = self.raised(jets, list(inverse * right))
        assert all(abs(r) < mp.mpf("1e-30") for r in self.residuals(solved, t, constants, level)), (
            "the rows are affine, and all of them hold"
        )
        return solved


# --------------------------------------------------------------------------- states


def split(name):
    """A library name of a jet as (base, order)."""
    if name.startswith("D("):
        base, order = name[2:-1].split(",")
        return base, int(order)
    return name.rstrip("'"), name.count("'")


def joined(base, order):
    return base + "'" * order if order <= 3 else f"D({base}, {order})"


def generator(case, seed):
    return np.random.default_rng([seed, zlib.crc32(str(case).encode())])


def number(value, constants):
    """A number, or a text that may contain parameters."""
    named = {name: sympy.Symbol(name) for name in constants}
    return float(sympy.sympify(value, named).subs({named[name]: v for name, v in constants.items()}))


def moved(value, rng, special=False):
    """A value near another one; for special states zero stays zero."""
    if isinstance(value, list):
        return [moved(v, rng, special) for v in value]
    return value if special and not value else value * (1 + 0.15 * rng.uniform(-1, 1)) + 0.08 * rng.uniform(-1, 1)


def situation(case, seed):
    """Start, parameters and time: the model's own for seed 0, others near them for the other seeds."""
    model = case.model
    rng, constants, t = generator(case, seed), {name: float(v) for name, v in model.parameters.items()}, float(model.t[0])
    fixed = {
        name: [number(c, constants) for c in v] if name in model.system.groups else number(v, constants)
        for name, v in model.start.fixed.items()
    }
    if seed:
        fixed = {name: moved(v, rng, case.name in SPECIAL) for name, v in fixed.items()}
        constants = {name: v * (1 + 0.08 * rng.uniform(-1, 1)) for name, v in constants.items()}
        t = rng.uniform(-1, 2)
    return ch.State(fixed, model.start.guess), constants, t


def every_case():
    for name in ch.gallery():
        for options in FAMILIES.get(name, [{}]):
            for principle in ch.gallery(name, **options).principles:
                yield Case(name, tuple(options.items()), principle)


CASES = list(every_case())
REGULAR = [case for case in CASES if case.name not in SINGULAR]
HERGLOTZ = [case for case in CASES if isinstance(case.principle, ch.Herglotz)]


@cache
def second(case):
    return Second(case)


@cache
def first(case):
    return ch.derive(case.model)


def measured(case, seed):
    """What the library says, parameters with the constants of charts around the elements it found, and the time."""
    start, constants, t = situation(case, seed)
    now = ch.evaluate(first(case), start, parameters=constants, t=t) if seed else ch.evaluate(case.model)
    own = second(case)
    return now, constants | own.origins({name: mp.matrix(now.rotation(name).tolist()) for name in own.charts}), t


def as_jets(own, now, t, constants):
    """Jets by name, those of group coordinates as jets of the charts."""
    jets = {}
    for name, v in sorted(now.items(), key=lambda item: split(item[0])[1]):
        if "." not in name:  # the numbers of a quaternion are read as a matrix
            jets.setdefault(split(name)[0], []).append(mp.mpf(v))
    jets = {**{y: [v] for y, v in own.place().items()}, **jets}
    for _ in range(2):
        jets = own.raise_in_charts(jets, jets, t, constants)
    return {name: v for name, v in jets.items() if name not in own.components}


def assert_close(values, expected, context):
    """Every value within the tolerance, relative to max(1, size); a NaN is not."""
    wrong = {k: (values[k], float(v)) for k, v in expected.items() if not abs(values[k] - v) <= TOLERANCE * max(1, abs(v))}
    assert not wrong, (context, wrong)


def assert_zero(residuals, scale, context):
    wrong = {k: float(r) for k, r in enumerate(residuals) if not abs(r) <= TOLERANCE * scale}
    assert not wrong, (context, wrong)


# --------------------------------------------------------------------------- tests


@pytest.mark.parametrize("case", REGULAR, ids=str)
def test_evaluate_returns_the_unique_solution(case):
    """State, accelerations and multipliers, signs included, against the solution of the second equations in 40 digits."""
    own = second(case)
    for seed in range(3):
        now = measured(case, seed)[0]
        start, constants, t = situation(case, seed)
        elements = {name: chart.element(start.fixed[name]) for name, chart in own.charts.items()}
        for name, element in elements.items():
            assert np.abs(now.rotation(name) - np.array(element.tolist(), dtype=float)).max() < TOLERANCE
        constants |= own.origins(elements)
        given = {split(name): mp.mpf(v) for name, v in start.fixed.items() if name not in elements}
        guess = {split(name): mp.mpf(v) for name, v in start.guess.items()}
        jets = own.state(given, guess, t, constants)
        wanted = [split(name) for name in now if "." not in name]
        level = 0
        while any(k >= len(v) for name, k in wanted for v in own.jets_behind(jets, name)):
            jets = own.solve(jets, t, constants, level)
            level += 1
        path = own.path(jets, t, constants, 3)
        assert {name for name, _ in wanted} == {*own.public, *own.multipliers, *filter(None, [own.action])}
        assert all((q, max(2, top)) in wanted for q, top in own.public.items())
        assert all((m, int(own.vakonomic)) in wanted for m in own.multipliers)
        expected = {joined(*z): own.velocity(path, *z) if z[0] in own.components else path.jets[z[0]][z[1]] for z in wanted}
        assert_close(now, expected, (str(case), seed))


@pytest.mark.parametrize("case", REGULAR, ids=str)
def test_what_evaluate_returns_satisfies_the_second_equations(case):
    """The library's numbers put into the second equations, the constraints and all their derivatives up to the accelerations."""
    own = second(case)
    for seed in (0, 11, 12):
        now, constants, t = measured(case, seed)
        jets = as_jets(own, now, t, constants)
        rows = own.residuals(jets, t, constants) + own.hidden(jets, t, constants)
        assert_zero(rows, max(1, *map(abs, now.values())), (str(case), seed))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rows_agree_at_random_jets(case):
    """Row by row and sign by sign, away from any motion; so both sets of rows vanish at the same places, for singular systems too."""
    _, constants, t = situation(case, 21)
    rng = generator(case, 22)
    own = second(case)
    heights = {q: max(2, top) for q, top in own.tops.items()} | dict.fromkeys(own.multipliers, int(own.vakonomic))
    for _ in range(3):
        jets = {name: [mp.mpf(v) for v in rng.uniform(-1.5, 1.5, top + 1)] for name, top in heights.items()}
        if own.action:
            jets[own.action] = [mp.mpf(rng.uniform(-1, 1))]
        elements = {name: chart.element(rng.uniform(-1, 1, 3)) for name, chart in own.charts.items()}
        jets |= {y: [v, *jets[y][1:]] for y, v in own.place().items()}
        inner = constants | own.origins(elements)
        path = own.path(jets, t, inner, max(3, own.terms()))
        expected = own.on_the_group(path, {q: row[0] for q, row in own.dynamics(path).items()})
        expected |= {f"kinematic[{k}]": path.value(g)[0] for k, g in enumerate(own.constraints)}
        values = {joined(name, k): float(v) for name in heights if name not in own.place() for k, v in enumerate(jets[name])}
        values |= {joined(a, k): float(own.velocity(path, a, k)) for a in own.components for k in (1, 2)}
        values |= {name: np.array(element.tolist(), dtype=float) for name, element in elements.items()}
        if own.action:
            speed = rng.uniform(-1, 1)
            values |= {own.action: float(jets[own.action][0]), f"{own.action}'": speed}
            expected["action"] = speed - path.value(own.lagrangian)[0]
        found = ch.residual(first(case), values, parameters=constants, t=t)
        assert list(found) == list(expected)
        assert_close(found, expected, str(case))


@pytest.mark.parametrize("case", HERGLOTZ, ids=str)
def test_herglotz_with_an_integrating_factor(case):
    """`d/dt(w L_v) - w L_q = w (u + lambda R_V)` with `w = exp(-int L_s dt)` holds on the library's numbers, and so does `s' = L`."""
    own = second(case)
    for seed in (0, 31, 32):
        now, constants, t = measured(case, seed)
        jets = as_jets(own, now, t, constants)
        path = own.path(jets, t, constants, own.terms())
        rows = [row[0] for row in own.integrating_factor_form(path).values()]
        rows.append(jets[own.action][1] - path.value(own.lagrangian)[0])
        assert_zero(rows, max(1, *map(abs, now.values())), (str(case), seed))


@pytest.mark.parametrize("name", [name for name in ch.gallery() if ch.gallery(name).principle == ch.Hamilton()])
def test_the_series_agree_with_sympy(name):
    """The Euler-Lagrange operator on series against SymPy's, whose sign is the opposite one."""
    case = Case(name, (), ch.Hamilton())
    own, rng = second(case), generator(case, 41)
    _, constants, t = situation(case, 41)
    constants |= own.origins({name: chart.element([0.4, -0.3, 0.6]) for name, chart in own.charts.items()})
    jets = {q: [mp.mpf(v) for v in rng.uniform(-1, 1, 5)] for q in own.coordinates}
    path = own.path(jets, t, constants, own.terms())
    numbers = {jet(q, k): sympy.Float(v, 40) for q in own.coordinates for k, v in reversed(list(enumerate(jets[q])))}
    numbers |= {sympy.Symbol(c): sympy.Float(v, 40) if isinstance(v, mp.mpf) else sympy.Rational(v) for c, v in constants.items()}
    rows = euler_equations(own.lagrangian, [jet(q) for q in own.coordinates], TIME)
    for q, row in zip(own.coordinates, rows, strict=True):
        theirs = mp.mpf(row.lhs.doit().expand().xreplace(numbers).evalf(35)) if row is not sympy.true else mp.zero
        assert abs(theirs + path.euler(own.lagrangian, q)[0]) < mp.mpf("1e-25")


@pytest.mark.parametrize("case", [case for case in CASES if case.name in SINGULAR], ids=str)
def test_the_excused_systems_are_singular(case):
    """Where solutions are not compared, the second matrix is singular too, at a state without any special property."""
    own, rng = second(case), generator(case, 51)
    constants = situation(case, 51)[1]
    jets = {name: [mp.mpf(v) for v in rng.uniform(-1, 1, top)] for name, top in (own.tops | own.multiplier_tops).items()}
    assert mp.det(own.linear_system(jets, 0.0, constants)[0]) == 0


def test_the_list_of_excused_systems_is_up_to_date():
    assert set(ch.gallery()) >= SINGULAR | MIXED.keys() | FAMILIES.keys()
