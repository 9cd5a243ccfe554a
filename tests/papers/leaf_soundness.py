"""Checks of leaves that share no code with the constraint algorithm.

`faults` finds real points of a leaf by Newton's iteration from random starts with forty digits, chooses random free functions, and returns
the largest residual of the original rows and of the derivatives of all constraints. `prolonged_points` finds real points of the original
rows together with their total derivatives, from which every motion's state must come: a source of states that leaves have to contain.
"""

import random

import mpmath
import numpy as np
import sympy

from chetaev.core.functions import Sign

TIME = sympy.Symbol("t", real=True)
DIGITS = 40


def numeric(arguments, expressions):
    """A function of forty-digit numbers."""
    plain = [sympy.sympify(e).replace(Sign, sympy.sign) for e in expressions]
    return sympy.lambdify(arguments, plain, "mpmath")


def newton(function, jacobian, point, moving, steps=80):
    """Damped Gauss-Newton steps of least norm on the first entries of a point; None without convergence."""
    for _ in range(steps):
        try:
            residual, slopes = function(*point), jacobian(*point)
            matrix = np.array([float(v) for v in slopes]).reshape(len(residual), moving)
        except (ZeroDivisionError, ValueError, TypeError, OverflowError):
            return None
        if not np.isfinite(matrix).all():
            return None
        inverse = np.linalg.pinv(matrix, rcond=1e-9)
        step = [-mpmath.fsum(mpmath.mpf(float(a)) * r for a, r in zip(row, residual, strict=True)) for row in inverse]
        length = mpmath.sqrt(mpmath.fsum(h * h for h in step))
        damping = 1 if length < 1 else 1 / length
        point = [x + damping * h for x, h in zip(point, step, strict=False)] + point[moving:]
        if length < mpmath.mpf(10) ** -32:
            return point if max(map(abs, function(*point)), default=0) < mpmath.mpf(10) ** -28 else None
    return None


def approach(function, jacobian, point, moving, steps=40):
    """The same iteration in machine numbers, to come near; None without convergence."""
    x = np.array([float(v) for v in point])
    for _ in range(steps):
        try:
            residual = np.array(function(*x.tolist()), dtype=float)
            matrix = np.array(jacobian(*x.tolist()), dtype=float).reshape(len(residual), moving)
        except (ZeroDivisionError, ValueError, TypeError, OverflowError):
            return None
        if not np.isfinite(matrix).all() or not np.isfinite(residual).all():
            return None
        step = -np.linalg.pinv(matrix, rcond=1e-9) @ residual
        length = float(np.linalg.norm(step))
        x[:moving] += step * min(1.0, 1.0 / max(length, 1e-300))
        if length < 1e-12:
            return [mpmath.mpf(v) for v in x]
    return None


def rates(leaf):
    """The rate of every jet of the phase space and of time on a leaf."""
    found = {z: leaf.field[z.name] if z.name in leaf.field else z.d() for z in leaf.form.phase}
    return {**found, TIME: sympy.S.One}


def equations(leaf):
    """The original rows with the rates put in, and the derivatives of the constraints along the motion."""
    form, moving = leaf.form, rates(leaf)
    if leaf.dynamics == "proper":
        top = {q.d(form.order): leaf.field[q.d(form.order - 1).name] for q in form.coordinates}
        rows = [e.xreplace(top) for e in form.rows]
    else:
        rows = [sum((c * moving[z] for c, z in zip(row, form.phase, strict=False)), row[-1]) for row in form.lepage.hamilton_rows()]
    return rows + [sum((g.diff(z) * rate for z, rate in moving.items()), sympy.S.Zero) for g in leaf.constraints]


def faults(leaf, values=None, count=3, tries=60, seed=0):
    """Number of points, the largest residual there, and the dimensions (time included) of the leaf at these points."""
    with mpmath.workdps(DIGITS):
        form, chance = leaf.form, random.Random(seed)
        moving = [*form.phase, TIME]
        free = [sympy.Symbol(name, real=True) for name in leaf.free]
        arguments = [*moving, *form.parameters, *free]
        constraints = numeric(arguments, leaf.constraints)
        slopes = numeric(arguments, [g.diff(z) for g in leaf.constraints for z in moving])
        avoided, residuals = numeric(arguments, leaf.excluded), numeric(arguments, equations(leaf))
        found, worst, dimensions = 0, mpmath.mpf(0), set()
        for _ in range(tries):
            scale = chance.choice([0.5, 1, 1, 2])
            start = [mpmath.mpf(scale * chance.uniform(-1.2, 1.2)) for _ in moving]
            given = [mpmath.mpf((values or {}).get(p.name, chance.uniform(0.4, 1.6))) for p in form.parameters]
            start += given + [mpmath.mpf(chance.uniform(-1, 1)) for _ in free]
            point = newton(constraints, slopes, start, len(moving)) if leaf.constraints else start
            try:
                if point is None or min(map(abs, avoided(*point)), default=1) < 1e-3:
                    continue
                size = max(map(abs, residuals(*point)))
            except (ZeroDivisionError, ValueError, TypeError):
                continue
            found, worst = found + 1, max(worst, size)
            dimensions.add(form.dimension - rank(slopes(*point), len(moving)))
            if found == count:
                break
        return found, float(worst), dimensions


def rank(entries, columns):
    """The numerical rank of a matrix given by rows."""
    if not entries:
        return 0
    singular = np.linalg.svd(np.array([float(v) for v in entries]).reshape(-1, columns), compute_uv=False)
    return int(np.sum(singular > 1e-8 * max(1.0, singular[0])))


def total(e):
    """The total derivative of an expression in jets."""
    return sum((e.diff(z) * (z.d() if hasattr(z, "base") else 1) for z in e.free_symbols if hasattr(z, "base") or z == TIME), sympy.S.Zero)


def prolonged_points(form, levels, count=12, tries=120, seed=0, sparse=0.3):
    """States (with parameters) of real points of the rows and their total derivatives up to a level; some starts have many zeros."""
    with mpmath.workdps(DIGITS):
        rows, chance = list(form.rows), random.Random(seed)
        everything = list(rows)
        for _ in range(levels):
            rows = [total(e) for e in rows]
            everything += rows
        jets = sorted(
            {z for e in everything for z in e.free_symbols if hasattr(z, "base")} | set(form.phase), key=lambda z: (z.order, z.name)
        )
        arguments = [*jets, TIME, *form.parameters]
        gradient = [e.diff(z) for e in everything for z in [*jets, TIME]]
        function, slopes = numeric(arguments, everything), numeric(arguments, gradient)
        quick = [sympy.lambdify(arguments, some, "math") for some in (everything, gradient)]
        found = []
        for _ in range(tries):
            start = [mpmath.mpf(0 if chance.random() < sparse else chance.uniform(-1.5, 1.5)) for _ in [*jets, TIME]]
            start += [mpmath.mpf(chance.uniform(0.4, 1.6)) for _ in form.parameters]
            near = approach(*quick, start, len(jets) + 1)
            point = None if near is None else newton(function, slopes, near, len(jets) + 1, steps=6)
            if point is not None:
                found.append({z.name: float(v) for z, v in zip(arguments, point, strict=True)})
            if len(found) == count:
                break
        return found


def on_a_leaf(tree, state, tolerance=1e-6):
    """Whether a state satisfies the constraints of one of the leaves."""
    return any(
        max(map(abs, leaf.residuals(state, {p.name: state[p.name] for p in tree.form.parameters}).values()), default=0) < tolerance
        for leaf in tree.leaves
    )
