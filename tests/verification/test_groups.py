"""Motion on Lie groups against derivations of other kinds.

- `groups_by_hand`: the four formulations of Theorem 6.1 of 001, left and right, in power series with 40 digits; and the other principles
  from the same variations.
- Euler's angles: the same physical system through the library's route for ordinary coordinates, itself checked by hand.
- Newton and Euler: rigid bodies in space by their balance of momentum.
- Closed forms: tops and balls whose motion is known.
"""

from __future__ import annotations

import itertools
import random
import re
from decimal import Decimal, localcontext

import groups_by_hand as hand
import numpy as np
import pytest
import sympy
from groups_by_hand import COMPONENTS, ENTRIES, T
from scipy.spatial.transform import Rotation
from scipy.special import ellipk
from sympy import Rational as Q
from sympy import cos

import chetaev as ch

A, V, DV = ENTRIES, COMPONENTS[1], COMPONENTS[2]
C1, C2, K1, S, LAMBDA = sympy.symbols("c1 c2 k1 s lambda1")
SIDES = {"body": True, "spatial": False}
TIME = 0.375
EXACT = 1e-11


@pytest.fixture(autouse=True)
def many_digits():
    """Decimal numbers of 40 digits, for the derivations by hand."""
    with localcontext(hand.CONTEXT):
        yield


def off(found, expected):
    """The largest difference, relative to numbers above one."""
    return max(abs(float(a) - float(b)) / max(1.0, abs(float(b))) for a, b in zip(found, expected, strict=True))


def directions(curve):
    """The matrices g e_a, or e_a g."""
    return [curve.shift([hand.constant(int(a == b)) for b in range(3)]) for a in range(3)]


def turned(curve, e):
    """The derivatives of an expression in the entries along the three directions."""
    return [sum(curve.at(e.diff(A[i][j]))[0] * d[i][j][0] for i in range(3) for j in range(3)) for d in directions(curve)]


# --------------------------------------------------------------------------- Theorem 6.1 of 001


ROWS = {
    "free": [],
    "linear": [2 * V[0] - V[1] + K1 * V[2]],
    "linear with entries": [A[0][2] * V[0] - 2 * A[1][1] * V[1] + (K1 + A[2][0]) * V[2]],
    "affine": [V[0] - 3 * A[1][0] * V[1] + T * V[2] - C1 + A[2][2]],
    "nonlinear": [V[0] ** 2 - V[1] * V[2] + A[0][1] * V[0] - C1],
    "two rows": [2 * V[0] - V[1] + K1 * V[2], V[0] * V[1] ** 2 - A[2][0] * V[2] - C2],
    "second order": [V[0] * DV[1] - V[1] * DV[0] - V[2] * (V[0] ** 2 + V[1] ** 2) + A[1][2] * DV[2] - C1],
    "holonomic": [A[2][2] * A[0][0] - A[1][2] / 3 - C1],
}
FORCES = {0: A[0][0] * V[1] - T, 2: V[0] * V[2] / 3}
DISSIPATION = V[0] ** 2 / 7 + V[1] ** 2 * V[2] ** 2 / 11


def random_lagrangian(chance, entries):
    """Neither quadratic nor invariant: cubic, quartic, linear in the velocity, with and without entries and time."""

    def n():
        return Q(chance.randint(-9, 9), 7)

    e = sum((Q(9, 2) + abs(n())) * x**2 for x in V) / 2 + sum(n() * V[a] * V[b] for a in range(3) for b in range(a)) / 6
    e += V[0] ** 2 * V[1] * n() / 20 + V[2] ** 4 / 13 + n() * V[1]
    if entries:
        e += n() * A[0][2] * V[0] * V[2] / 3 + n() * A[1][2] + n() * A[2][0] * A[0][1]
        e += cos(A[2][1] - 2 * A[1][1]) * V[1] + n() * T * A[2][2] + T * V[2] ** 2 / 5
    return e


class Case:
    """A random system on SO(3) and a state of it, once as text for the library and once for the derivation by hand."""

    def __init__(self, side, kind, stated, entries, seed):
        chance = random.Random(f"{side} {kind} {stated} {entries} {seed}")
        self.side, self.left, self.kind, self.stated = side, SIDES[side], kind, stated
        self.lagrangian = random_lagrangian(chance, entries)
        self.quaternion = [chance.uniform(-1, 1) for _ in range(4)]
        self.rotation = hand.rotation(self.quaternion)
        self.velocity = [chance.uniform(-2, 2) for _ in range(3)]
        rows = ROWS[kind]
        if kind == "holonomic":  # the velocity must be tangent
            slopes = [float(x) for x in turned(self.curve([0] * 3), rows[0])]
            self.velocity[0] = -(slopes[1] * self.velocity[1] + slopes[2] * self.velocity[2]) / slopes[0]
        self.values = dict.fromkeys("c1 c2 k1".split(), 0.0)
        for row, p in itertools.product(rows, (C1, C2, K1)):  # constants that put the state on the constraints
            if p in row.free_symbols:
                left, slope = (self.curve([0] * 3).at(e.xreplace({p: Q(0)}))[0] for e in (row, row.diff(p)))
                self.values[p.name] = -float(left) / float(slope)
        self.rows = [row.xreplace({sympy.Symbol(p): Q(x) for p, x in self.values.items()}) for row in rows]

        def n():
            return Q(chance.randint(-9, 9), 5)

        self.variations = [[n() + A[0][1] * n() / 3 + V[1] * n() / 9 for _ in range(3)] for _ in rows] if stated else None

    def curve(self, acceleration):
        """A curve through the state."""
        return hand.Curve(self.rotation, list(map(list, zip(self.velocity, acceleration, strict=True))), self.left, TIME)

    def reaction(self, curve, r):
        """A row of R_V: stated, or Chetaev's."""
        if self.stated:
            return [curve.at(e)[0] for e in self.variations[r]]
        if self.kind == "holonomic":
            return turned(curve, self.rows[r])
        return [curve.at(self.rows[r].diff(z))[0] for z in (DV if self.kind == "second order" else V)]

    def residual(self, unknowns, formulation):
        """The equations of motion and the constraints differentiated down to accelerations."""
        curve = self.curve(unknowns[:3])
        found = [e[0] for e in formulation(curve, self.lagrangian)]
        for a in range(3):
            found[a] += curve.at(DISSIPATION.diff(V[a]))[0] - (curve.at(FORCES[a])[0] if a in FORCES else 0)
        for r, multiplier in enumerate(unknowns[3:]):
            found = [e - multiplier * c for e, c in zip(found, self.reaction(curve, r), strict=True)]
        times = {"second order": 0, "holonomic": 2}.get(self.kind, 1)
        return [*found, *[hand.rate(curve.at(row), times)[0] for row in self.rows]]

    def equations(self):
        """The same for the library, as text."""
        forms = [" + ".join(f"({e})*δA{a + 1}" for a, e in enumerate(row)) for row in self.variations or ()]
        system = ch.System(
            {"A": f"SO3 {self.side}"},
            "c1 c2 k1",
            lagrangian=str(self.lagrangian),
            kinematic=list(map(str, ROWS[self.kind])),
            variational=forms if self.stated else None,
            forces={f"A{a + 1}": str(e) for a, e in FORCES.items()},
            dissipation=str(DISSIPATION),
        )
        principle = ch.VirtualWork() if self.stated else ch.Chetaev() if self.rows else ch.Hamilton()
        return ch.derive(system, principle)

    def start(self):
        return {"A": self.quaternion, **{f"A{a + 1}'": w for a, w in enumerate(self.velocity)}}


CASES = [(kind, stated, True) for kind in ROWS for stated in (False, True) if ROWS[kind] or not stated]
CASES += [("free", False, False), ("linear", False, False), ("linear", True, False), ("second order", True, False)]


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize(("kind", "stated", "entries"), CASES)
def test_001_theorem_6_1_four_formulations_and_the_library_give_the_same_accelerations(side, kind, stated, entries):
    """(i) the action varied with the matrix, (ii) the equations in nine entries, (iii) the reduced action, (iv) the reduced equations."""
    case = Case(side, kind, stated, entries, 1)
    count = 3 + len(case.rows)
    expected = hand.affine_root(lambda x: case.residual(x, hand.row_reduced), count)
    for formulation in (hand.row_in_matrix, hand.row_in_entries, hand.row_in_velocity):
        for point in (expected, [Decimal(7 - 3 * k) / 5 for k in range(count)]):
            pairs = zip(case.residual(point, formulation), case.residual(point, hand.row_reduced), strict=True)
            assert all(abs(a - b) < Decimal("1e-25") for a, b in pairs)
    now = ch.evaluate(case.equations(), case.start(), parameters=case.values, t=TIME)
    found = [now[f"A{a + 1}''"] for a in range(3)] + [now[f"lambda{r + 1}"] for r in range(len(case.rows))]
    assert off(found, expected) < EXACT


def test_001_the_brackets_of_the_two_sides_differ_in_sign():
    """The check above can fail: with the bracket of the other side the reduced equations give other accelerations."""
    case = Case("body", "linear", False, True, 1)
    wrong = Case("spatial", "linear", False, True, 1)
    wrong.__dict__ |= {name: case.__dict__[name] for name in ("lagrangian", "quaternion", "rotation", "velocity", "rows", "values")}
    right = hand.affine_root(lambda x: case.residual(x, hand.row_reduced), 4)
    assert off(hand.affine_root(lambda x: wrong.residual(x, hand.row_reduced), 4), right) > 1e-2


# --------------------------------------------------------------------------- the other principles, by the same variations


QUATERNION, VELOCITY = (0.3, -0.8, 0.5, 0.4), (0.7, -1.1, 0.9)
FIRST = 2 * V[0] ** 2 + Q(3, 2) * V[1] ** 2 + V[2] ** 2 + V[0] * V[1] / 3 - A[0][2] + 2 * A[2][1] * A[1][1] + A[0][0] * V[1] / 3
FIRST += T * V[2] / 2 + V[0] ** 2 * V[2] / 9
CONTACT = FIRST - S * Q(2, 5) + S * V[1] / 7 + S**2 * A[1][2] / 11
SECOND = FIRST + DV[0] ** 2 / 2 + DV[1] ** 2 + Q(3, 4) * DV[2] ** 2 + DV[0] * V[1] * A[0][1] / 3 + DV[0] * DV[2] * A[1][1] / 5
SECOND += V[0] * V[1] * DV[2]
NONLINEAR = V[0] - 2 * A[1][2] * V[1] + V[2] * A[0][0] + V[1] ** 2 / 4
ACTION, MULTIPLIER = 0.6, 1.7


def curve_on(side, velocities, **more):
    return hand.Curve(hand.rotation(QUATERNION), velocities, SIDES[side], TIME, more)


def with_action(curve, rate):
    """The action variable along a curve, s' = L."""
    curve.table[S] = curve.series([ACTION])
    for _ in range(hand.LENGTH):
        curve.table[S] = hand.integral(curve.at(rate), ACTION)
    return curve


def with_forces(curve, rows):
    pushed = [curve.at(DISSIPATION.diff(z))[0] - (curve.at(FORCES[a])[0] if a in FORCES else 0) for a, z in enumerate(V)]
    return [e[0] + u for e, u in zip(rows, pushed, strict=True)]


def library(side, principle, start=None, **parts):
    system = ch.System(
        {"A": f"SO3 {side}"},
        "c",
        forces={f"A{a + 1}": str(e) for a, e in FORCES.items()},
        dissipation=str(DISSIPATION),
        **{k: str(v) if isinstance(v, sympy.Expr) else v for k, v in parts.items()},
    )
    first = {"A": QUATERNION, **{f"A{a + 1}'": w for a, w in enumerate(VELOCITY)}, **(start or {})}
    return ch.evaluate(ch.derive(system, principle), first, parameters={"c": constant_of(side)}, t=TIME)


def constant_of(side):
    return float(curve_on(side, [[w] for w in VELOCITY]).at(NONLINEAR)[0])


def on_constraint(side):
    return NONLINEAR - Q(constant_of(side))


@pytest.mark.parametrize("side", SIDES)
def test_vakonomic_motion_is_the_free_motion_of_L_plus_lambda_R(side):
    row = on_constraint(side)

    def residual(x):
        curve = curve_on(side, [list(z) for z in zip(VELOCITY, x[:3], strict=True)], lambda1=[MULTIPLIER, x[3]])
        return [*with_forces(curve, hand.row_in_matrix(curve, FIRST + LAMBDA * row)), hand.rate(curve.at(row))[0]]

    now = library(side, ch.Vakonomic(), {"lambda1": MULTIPLIER}, lagrangian=FIRST, kinematic=[f"{NONLINEAR} - c"])
    assert off([now[n] for n in ("A1''", "A2''", "A3''", "lambda1'")], hand.affine_root(residual, 4)) < EXACT


def contact_rows(side, x, lagrangian, multiplier=None):
    """Herglotz' rows with the integrating factor exp(-int L_s dt), along a curve with s' = L."""
    more = {} if multiplier is None else {"lambda1": multiplier}
    curve = with_action(curve_on(side, [list(z) for z in zip(VELOCITY, x[:3], strict=True)], **more), CONTACT)
    factor = hand.exponential(hand.times(-1, hand.integral(curve.at(lagrangian.diff(S)))))
    return curve, with_forces(curve, hand.row_in_matrix(curve, lagrangian, factor))


@pytest.mark.parametrize("side", SIDES)
def test_herglotz(side):
    expected = hand.affine_root(lambda x: contact_rows(side, x, CONTACT)[1], 3)
    now = library(side, ch.Herglotz(), {"s": ACTION}, lagrangian=CONTACT, action="s")
    assert off([now[f"A{a}''"] for a in (1, 2, 3)], expected) < EXACT


@pytest.mark.parametrize("side", SIDES)
def test_herglotz_with_a_nonlinear_constraint(side):
    row = on_constraint(side)

    def residual(x):
        curve, rows = contact_rows(side, x, CONTACT)
        return [*[e - x[3] * curve.at(row.diff(z))[0] for e, z in zip(rows, V, strict=True)], hand.rate(curve.at(row))[0]]

    now = library(side, ch.Herglotz(ch.Chetaev()), {"s": ACTION}, lagrangian=CONTACT, action="s", kinematic=[f"{NONLINEAR} - c"])
    assert off([now[n] for n in ("A1''", "A2''", "A3''", "lambda1")], hand.affine_root(residual, 4)) < EXACT


@pytest.mark.parametrize("side", SIDES)
def test_herglotz_vakonomic_with_the_action_in_the_constraint(side):
    row = on_constraint(side) + S * V[0] / 5 - Q(ACTION) * Q(VELOCITY[0]) / 5

    def residual(x):
        curve, rows = contact_rows(side, x, CONTACT + LAMBDA * row, [MULTIPLIER, x[3]])
        return [*rows, hand.rate(curve.at(row))[0]]

    start = {"s": ACTION, "lambda1": MULTIPLIER}
    now = library(side, ch.Herglotz(ch.Vakonomic()), start, lagrangian=CONTACT, action="s", kinematic=[str(row)])
    assert off([now[n] for n in ("A1''", "A2''", "A3''", "lambda1'")], hand.affine_root(residual, 4)) < EXACT


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("constrained", [False, True])
def test_lagrangians_of_second_order(side, constrained):
    """Fourth derivatives; and with the nonlinear row differentiated three times, its multiplier from Chetaev's rule."""
    row = on_constraint(side)
    jets = {"A''": (0.4, -0.3, 0.8), "A'''": (-0.2, 0.5, 0.1)}
    if constrained:  # the state has to obey the first two derivatives of the row
        jets["A''"] = (*jets["A''"][:2], last_of(side, row, 1, VELOCITY, jets["A''"][:2]))
        jets["A'''"] = (*jets["A'''"][:2], last_of(side, row, 2, VELOCITY, jets["A''"], jets["A'''"][:2]))

    def residual(x, formulation):
        curve = curve_on(side, [list(z) for z in zip(VELOCITY, *jets.values(), x[:3], strict=True)])
        rows = with_forces(curve, formulation(curve, SECOND))
        if not constrained:
            return rows
        return [*[e - x[3] * curve.at(row.diff(z))[0] for e, z in zip(rows, V, strict=True)], hand.rate(curve.at(row), 3)[0]]

    start = {name.replace("A", f"A{a + 1}"): x for name, line in jets.items() for a, x in enumerate(line)}
    kinematic = [f"{NONLINEAR} - c"] if constrained else []
    now = library(side, ch.Chetaev() if constrained else ch.Hamilton(), start, lagrangian=SECOND, kinematic=kinematic)
    names = ["D(A1, 4)", "D(A2, 4)", "D(A3, 4)", *(["lambda1"] if constrained else [])]
    for formulation in (hand.row_in_matrix, hand.row_in_entries, hand.row_in_velocity):
        expected = hand.affine_root(lambda x, f=formulation: residual(x, f), len(names))
        assert off([now[n] for n in names], expected) < EXACT


def last_of(side, row, times, *jets):
    """The third component of the highest jet that makes a derivative of a row vanish."""

    def left(x):
        columns = [*jets[:-1], (*jets[-1], x)]
        return hand.rate(curve_on(side, [list(z) for z in zip(*columns, strict=True)]).at(row), times)[0]

    return float(left(0) / (left(0) - left(1)))


# --------------------------------------------------------------------------- Euler's angles, through the route for ordinary coordinates


BODY = {
    "w1": "phi'*sin(theta)*sin(psi) + theta'*cos(psi)",
    "w2": "phi'*sin(theta)*cos(psi) - theta'*sin(psi)",
    "w3": "phi'*cos(theta) + psi'",
}
SPACE = {
    "w1": "theta'*cos(phi) + psi'*sin(theta)*sin(phi)",
    "w2": "theta'*sin(phi) - psi'*sin(theta)*cos(phi)",
    "w3": "phi' + psi'*cos(theta)",
}
MATRIX = {
    "a11": "cos(phi)*cos(psi) - sin(phi)*cos(theta)*sin(psi)",
    "a12": "-cos(phi)*sin(psi) - sin(phi)*cos(theta)*cos(psi)",
    "a13": "sin(phi)*sin(theta)",
    "a21": "sin(phi)*cos(psi) + cos(phi)*cos(theta)*sin(psi)",
    "a22": "-sin(phi)*sin(psi) + cos(phi)*cos(theta)*cos(psi)",
    "a23": "-cos(phi)*sin(theta)",
    "a31": "sin(theta)*sin(psi)",
    "a32": "sin(theta)*cos(psi)",
    "a33": "cos(theta)",
}
IN_BODY = {f"b{j}": f"A1{j}*A1' + A2{j}*A2' + A3{j}*A3'" for j in (1, 2, 3)}
"""Body components of the angular velocity where spatial ones are declared."""
IN_SPACE = {f"s{i}": f"A{i}1*A1' + A{i}2*A2' + A{i}3*A3'" for i in (1, 2, 3)}
"""Spatial components where body ones are declared."""


def rotations(phi, theta, psi):
    """Rz(phi) Rx(theta) Rz(psi)."""
    return Rotation.from_euler("ZXZ", np.stack(np.broadcast_arrays(phi, theta, psi), axis=-1)).as_matrix()


def euler(text):
    """A text about a rotation A in Euler's angles: `A1'` becomes a quasi-velocity, `A13` a named expression."""
    return re.sub(r"A([1-3])(?![0-9])", r"w\1", re.sub(r"A([1-3][1-3])", r"a\1", text))


def in_both(side, lines="", action=None, **parts):
    """The same texts as a system on SO(3) and as one in Euler's angles."""
    where, parameters = parts.pop("where", {}), parts.pop("parameters", "")
    group = ch.System({"A": f"SO3 {side}", **dict.fromkeys(lines.split(), "line")}, parameters, where=where, action=action, **parts)
    other = {name: euler(part) if isinstance(part, str) else list(map(euler, part)) for name, part in parts.items()}
    named = {**MATRIX, **{name: euler(text) for name, text in where.items()}}
    quasi = BODY if side == "body" else SPACE
    return group, ch.System(f"phi theta psi {lines}", parameters, quasi=quasi, where=named, action=action, **other)


ANGLES = {"phi": 0.3, "theta": 1.1, "psi": -0.5}


def compared(pair, principle, start, values, duration, names):
    """Accelerations, multipliers and the motion of both; `start` is one in Euler's angles."""
    group, angles = (ch.derive(system, principle) for system in pair)
    there = ch.evaluate(angles, {**ANGLES, **start}, parameters=values)
    here = start_on_group(there, start)
    now = ch.evaluate(group, here, parameters=values)
    assert off([now[n] for n in names], [there[euler(n)] for n in names]) < EXACT
    t = np.linspace(0, duration, 21)
    turning = ch.simulate(group, here, t, parameters=values, tolerance=1e-13)
    angled = ch.simulate(angles, {**ANGLES, **start}, t, parameters=values, tolerance=1e-13)
    assert angled.outcome == turning.outcome == "finished"
    assert np.abs(turning.rotation("A") - rotations(angled["phi"], angled["theta"], angled["psi"])).max() < 1e-10
    for name in names:
        assert np.abs(turning[name] - angled[euler(name)]).max() < 1e-9 * max(1, np.abs(turning[name]).max())
    return turning


def start_on_group(there, start):
    """A start of the group system from an evaluation in Euler's angles."""
    top = max(k.count("'") for k in start)
    velocities = {f"A{a}" + "'" * k: there[f"w{a}" + "'" * k] for a in (1, 2, 3) for k in range(1, top + 1)}
    rest = {k: v for k, v in start.items() if not k.startswith(("phi", "theta", "psi"))}
    return {"A": rotations(*ANGLES.values()), **velocities, **rest}


@pytest.mark.parametrize("side", SIDES)
def test_the_formulas_in_eulers_angles_by_hand(side):
    """The texts above against matrices: A' = A w and A' = w A for a curve of angles, by differences of high order."""
    named = ch.System("phi theta psi", lagrangian="phi'^2", quasi=BODY if side == "body" else SPACE, where=MATRIX)
    slopes = {"phi": 0.7, "theta": -0.4, "psi": 1.3}
    at = {**ANGLES, **{f"{name}'": v for name, v in slopes.items()}}

    def value(text):
        e = ch.parse(text, named)
        return float(e.subs({ch.parse(name, named): v for name, v in at.items()}))

    matrix = np.array([[value(f"a{i}{j}") for j in (1, 2, 3)] for i in (1, 2, 3)])
    assert np.abs(matrix - rotations(*ANGLES.values())).max() < 1e-15
    steps, h = np.arange(-4, 5), 1e-2
    weights = np.array([3, -32, 168, -672, 0, 672, -168, 32, -3]) / 840 / h
    rate = np.einsum("k,kij->ij", weights, rotations(*[ANGLES[n] + h * steps * slopes[n] for n in ANGLES]))
    turning = matrix.T @ rate if side == "body" else rate @ matrix.T
    assert np.abs(np.array([value(f"w{a}'") for a in (1, 2, 3)]) - [turning[2, 1], turning[0, 2], turning[1, 0]]).max() < 1e-13


TOP = {"I1": 1.0, "I2": 1.7, "I3": 0.8, "k": 1.2}
POTENTIAL = "k*(A31/3 - 2*A32/5 + A33)"
TURNING = {"phi'": 0.4, "theta'": -0.2, "psi'": 1.9}


def kinetic_energy(side):
    w = "A{}'" if side == "body" else "b{}"
    return "(I1*{}^2 + I2*{}^2 + I3*{}^2)/2".format(*[w.format(a) for a in (1, 2, 3)])


@pytest.mark.parametrize("side", SIDES)
def test_heavy_asymmetric_top(side):
    where = {} if side == "body" else IN_BODY
    pair = in_both(side, parameters="I1 I2 I3 k", lagrangian=f"{kinetic_energy(side)} - {POTENTIAL}", where=where)
    compared(pair, ch.Hamilton(), TURNING, TOP, 2.0, ["A1''", "A2''", "A3''", "A13", "A31'"])


SUSLOV = {**TOP, "J": 0.2, "K": -0.3}
SUSLOV_LAGRANGIAN = f"(I1*A1'^2 + I2*A2'^2 + I3*A3'^2)/2 + J*A1'*A3' + K*A2'*A3' - {POTENTIAL}"
NOT_ABOUT_THE_AXIS = {"phi'": 0.4, "theta'": -0.7, "psi'": -0.4 * np.cos(ANGLES["theta"])}


@pytest.mark.parametrize("principle", [ch.DAlembert(), ch.Chetaev(), ch.Vakonomic()])
def test_suslov(principle):
    pair = in_both("body", parameters="I1 I2 I3 J K k", lagrangian=SUSLOV_LAGRANGIAN, kinematic=["A3' = 0"])
    start, names = NOT_ABOUT_THE_AXIS, ["A1''", "A2''", "A3''", "lambda1"]
    if principle == ch.Vakonomic():
        start, names = {**start, "lambda1": 0.9}, [*names, "lambda1'"]
    compared(pair, principle, start, SUSLOV, 1.5, names)


def test_suslov_with_other_virtual_displacements():
    """C_V is not that of C_K: the reaction acts about another axis than the one that is blocked, and works."""
    variational = ["δA3 + A13*δA1 - δA2/3 = 0"]
    pair = in_both("body", parameters="I1 I2 I3 J K k", lagrangian=SUSLOV_LAGRANGIAN, kinematic=["A3' = 0"], variational=variational)
    turning = compared(pair, ch.VirtualWork(), NOT_ABOUT_THE_AXIS, SUSLOV, 1.5, ["A1''", "A2''", "A3''", "lambda1"])
    assert np.ptp(turning.energy) > 1e-2
    assert np.abs(turning.balance).max() < 1e-10


@pytest.mark.parametrize("side", SIDES)
def test_inhomogeneous_ball_on_a_rotating_table(side):
    """Chaplygin's ball with affine rows: the table does work."""
    s = "s{}" if side == "body" else "A{}'"
    pair = in_both(
        side,
        "x y",
        parameters="I1 I2 I3 m R W",
        lagrangian=f"{kinetic_energy(side)} + m/2*(x'^2 + y'^2)",
        kinematic=[f"x' - R*{s.format(2)} = -W*y", f"y' + R*{s.format(1)} = W*x"],
        where=IN_BODY if side == "spatial" else IN_SPACE,
    )
    values = {"I1": 1.0, "I2": 1.7, "I3": 0.8, "m": 1.3, "R": 0.6, "W": 0.8}
    names = ["A1''", "A2''", "A3''", "lambda1", "lambda2", "x''", "y", "x"]
    turning = compared(pair, ch.DAlembert(), {**TURNING, "x": 0.2, "y": -0.4}, values, 2.0, names)
    assert np.ptp(turning.energy) > 1e-2


def test_rolling_disk_against_the_gallery_in_angles():
    """The gallery's leaning disk has the contact point as coordinates and Euler's angles; here the centre and a rotation."""
    model = ch.gallery("leaning-disk")
    disk = ch.System(
        {"A": "SO3 spatial", "x": "line", "y": "line"},
        "m R I J g",
        where={
            "axial": "A12*A1' + A22*A2' + A32*A3'",
            "e": "sqrt(1 - A32^2)",
            "z": "R*e",
            "rx": "R*A32*A12/e",
            "ry": "R*A32*A22/e",
        },
        lagrangian="m/2*(x'^2 + y'^2 + z'^2) + I/2*(A1'^2 + A2'^2 + A3'^2) + (J - I)/2*axial^2 - m*g*z",
        kinematic=["x' - A2'*z - A3'*ry = 0", "y' + A3'*rx + A1'*z = 0"],
    )
    t = np.linspace(0, 1, 21)
    angled = ch.simulate(ch.derive(model), model.start, t, parameters=model.parameters, tolerance=1e-13)
    phi, theta, psi = (angled[name] for name in ("phi", "theta", "psi"))
    attitude = Rotation.from_euler("ZXY", np.stack([phi, -theta, psi], axis=-1)).as_matrix()
    # about the vertical, about the horizontal heading, about the axle
    heading = np.stack([np.cos(phi), np.sin(phi), 0 * phi], axis=-1)
    up, axle = np.array([0, 0, 1]), attitude[:, :, 1]
    omega = angled["phi'"][:, None] * up - angled["theta'"][:, None] * heading + angled["psi'"][:, None] * axle
    start = {"A": attitude[0], **{f"A{a + 1}'": omega[0, a] for a in range(3)}, "x": angled["xc"][0], "y": angled["yc"][0]}
    turning = ch.simulate(ch.derive(disk, ch.DAlembert()), start, t, parameters=model.parameters, tolerance=1e-13)
    assert np.abs(turning.rotation("A") - attitude).max() < 1e-10
    assert np.abs(turning.angular_velocity("A", "spatial") - omega).max() < 1e-9
    pairs = {"x": "xc", "y": "yc", "z": "zc", "x''": "xc''", "y''": "yc''", "lambda1": "lambda1", "lambda2": "lambda2"}
    for here, there in pairs.items():
        assert np.abs(turning[here] - angled[there]).max() < 1e-10 * max(1, np.abs(angled[there]).max())
    assert np.ptp(theta) > 0.05


def test_elastica_of_second_order():
    """|w'|^2 and a potential on SO(3), by the recursion for higher orders in Euler's angles."""
    pair = in_both("body", parameters="I1 I2 I3 k", lagrangian="(I1*A1''^2 + I2*A2''^2 + I3*A3''^2)/2 - k*A33 + A31/3 + A1'^2/2")
    higher = {"phi''": 0.1, "theta''": -0.3, "psi''": 0.2, "phi'''": 0.4, "theta'''": 0.1, "psi'''": -0.2}
    compared(pair, ch.Hamilton(), {**TURNING, **higher}, TOP, 0.5, ["A1''", "A2'''", "A1''''", "A2''''", "A3''''"])


def test_top_of_herglotz_loses_its_energy_at_a_constant_rate():
    lagrangian = f"(I1*A1'^2 + I2*A2'^2 + I3*A3'^2)/2 - {POTENTIAL} - 3*s/10"
    pair = in_both("body", parameters="I1 I2 I3 k", lagrangian=lagrangian, action="s")
    turning = compared(pair, ch.Herglotz(), {**TURNING, "s": 0.2}, TOP, 2.0, ["A1''", "A2''", "A3''", "s"])
    assert np.abs(turning.energy - turning.energy[0] * np.exp(-0.3 * turning.t)).max() < 1e-10


def test_vakonomic_ball_of_herglotz():
    """Free multipliers at the start, rows with entries."""
    pair = in_both(
        "spatial",
        "x y",
        parameters="I m R",
        lagrangian="I/2*(A1'^2 + A2'^2 + 2*A3'^2) + m/2*(x'^2 + y'^2) - s/5 - A13",
        kinematic=["x' = R*A2'", "y' = -R*A1' + R*A33"],
        action="s",
    )
    start = {**TURNING, "x": 0.2, "y": -0.4, "s": 0.1, "lambda1": 0.4, "lambda2": -0.6}
    names = ["A1''", "A2''", "A3''", "lambda1'", "lambda2'", "x''", "s"]
    compared(pair, ch.Herglotz(ch.Vakonomic()), start, {"I": 0.7, "m": 1.3, "R": 0.6}, 1.0, names)


# --------------------------------------------------------------------------- Newton and Euler


@pytest.mark.parametrize("side", SIDES)
def test_forces_are_dual_to_the_declared_variations(side):
    """A torque fixed in space and one fixed in the body: the spatial momentum changes by the time integral of the torque."""
    forces = {
        "body": {"A1": "A31*k", "A2": "A32*k + k/3", "A3": "A33*k"},
        "spatial": {"A1": "k/3*A12", "A2": "k/3*A22", "A3": "k + k/3*A32"},
    }[side]
    where = {} if side == "body" else IN_BODY
    system = ch.System({"A": f"SO3 {side}"}, "I1 I2 I3 k", lagrangian=kinetic_energy(side), where=where, forces=forces)
    omega, matrix, k = np.array([0.4, -0.7, 1.9]), rotations(*ANGLES.values()), TOP["k"]
    start = dict(zip(("A1'", "A2'", "A3'"), omega if side == "body" else matrix @ omega, strict=True))
    motion = ch.simulate(ch.derive(system), {"A": matrix, **start}, (0, 1), parameters=TOP, tolerance=1e-13)
    inertia = np.array([TOP["I1"], TOP["I2"], TOP["I3"]])
    momentum = np.einsum("tij,tj->ti", motion.rotation("A"), inertia * motion.angular_velocity("A", "body"))
    nodes, weights = np.polynomial.legendre.leggauss(8)
    impulse = np.zeros(3)
    for t0, t1 in itertools.pairwise(motion.t):
        at = motion.at((t0 + t1) / 2 + (t1 - t0) / 2 * nodes)
        torque = k * np.array([0, 0, 1]) + k / 3 * np.stack([at[f"A{i}2"] for i in (1, 2, 3)], axis=-1)
        impulse += (t1 - t0) / 2 * weights @ torque
    assert np.abs(momentum[-1] - momentum[0] - impulse).max() < 1e-11
    assert np.abs(np.cross(momentum[0], impulse)).max() > 0.1


MASS, CENTRE = 1.3, np.array([0.2, -0.1, 0.3])
INERTIA = np.array([[1.0, 0.1, -0.2], [0.1, 1.7, 0.05], [-0.2, 0.05, 0.8]])
"""About the centre of mass, in the body."""


def rigid_body(side):
    """A rigid body on SE(3) with the centre of mass off the origin of its frame, in a field of forces F(position of the centre)."""
    place = [f"A{i}4 + " + " + ".join(f"({c})*A{i}{j + 1}" for j, c in enumerate(CENTRE)) for i in (1, 2, 3)]
    where = {f"c{i + 1}": text for i, text in enumerate(place)}
    omega = "A{}'" if side == "body" else "b{}"
    w = [omega.format(4 + a if side == "body" else a + 1) for a in range(3)]
    if side == "spatial":
        where |= {f"b{j}": f"A1{j}*A4' + A2{j}*A5' + A3{j}*A6'" for j in (1, 2, 3)}
    turning = " + ".join(f"({INERTIA[a, b] / 2})*{w[a]}*{w[b]}" for a in range(3) for b in range(3))
    return ch.System(
        {"A": f"SE3 {side}"},
        where=where,
        lagrangian=f"{MASS / 2}*(c1'^2 + c2'^2 + c3'^2) + {turning} - c1^2*c2 + c3*c1 - A21*c2",
    )


@pytest.mark.parametrize("side", SIDES)
def test_rigid_body_on_se3_against_newton_and_euler(side):
    rng = np.random.default_rng(5)
    attitude, position = Rotation.from_rotvec([0.5, -0.9, 0.4]).as_matrix(), np.array([0.3, -0.5, 0.8])
    spin, velocity = rng.normal(size=3), rng.normal(size=3)  # in space, the velocity that of the origin of the body's frame
    matrix = np.block([[attitude, position[:, None]], [np.zeros((1, 3)), 1.0]])
    if side == "body":
        rates = [*attitude.T @ velocity, *attitude.T @ spin]
    else:
        rates = [*velocity - np.cross(spin, position), *spin]
    start = {"A": matrix, **{f"A{a + 1}'": x for a, x in enumerate(rates)}}
    now = ch.evaluate(ch.derive(rigid_body(side)), start)
    # by hand, in space: potential U = c1^2 c2 - c3 c1 + A21 c2 gives a force on the centre and a torque from the entry A21
    arm = attitude @ CENTRE
    c = position + arm
    force = -np.array([2 * c[0] * c[1] - c[2], c[0] ** 2 + attitude[1, 0], -c[0]])
    torque = -c[1] * np.array([np.cross(e, attitude[:, 0])[1] for e in np.eye(3)])
    inertia = attitude @ INERTIA @ attitude.T
    spin_rate = np.linalg.solve(inertia, torque - np.cross(spin, inertia @ spin))
    centre_rate = force / MASS
    origin_rate = centre_rate - np.cross(spin_rate, arm) - np.cross(spin, np.cross(spin, arm))
    if side == "body":
        expected = [*attitude.T @ (origin_rate - np.cross(spin, velocity)), *attitude.T @ spin_rate]
    else:
        expected = [*origin_rate - np.cross(spin_rate, position) - np.cross(spin, velocity), *spin_rate]
    assert off([now[f"A{a}''"] for a in range(1, 7)], expected) < EXACT
    assert off([now[f"c{i}''"] for i in (1, 2, 3)], centre_rate) < EXACT


def test_rigid_body_on_se3_moves_alike_in_body_and_in_spatial_components():
    attitude, position = Rotation.from_rotvec([0.5, -0.9, 0.4]).as_matrix(), np.array([0.3, -0.5, 0.8])
    spin, velocity = np.array([0.7, -0.4, 1.1]), np.array([-0.2, 0.6, 0.3])
    matrix = np.block([[attitude, position[:, None]], [np.zeros((1, 3)), 1.0]])
    rates = {
        "body": [*attitude.T @ velocity, *attitude.T @ spin],
        "spatial": [*velocity - np.cross(spin, position), *spin],
    }
    t = np.linspace(0, 1.5, 7)
    motions = {
        side: ch.simulate(
            ch.derive(rigid_body(side)), {"A": matrix, **{f"A{a + 1}'": x for a, x in enumerate(rates[side])}}, t, tolerance=1e-13
        )
        for side in SIDES
    }
    body, space = motions["body"], motions["spatial"]
    assert np.abs(body.rotation("A") - space.rotation("A")).max() < 1e-11
    for side in SIDES:
        assert np.abs(body.velocity("A", side) - space.velocity("A", side)).max() < 1e-10
        assert np.abs(body.angular_velocity("A", side) - space.velocity("A", side)[:, 3:]).max() < 1e-10


@pytest.mark.parametrize("side", SIDES)
def test_sleigh_on_se2_against_the_gallery(side):
    """The blade's velocity along and across it are the body components; in space they are read from the matrix."""
    model = ch.gallery("sleigh")
    along, across = ("A1'", "A2'") if side == "body" else ("(A11*A13' + A21*A23')", "(A12*A13' + A22*A23')")
    sleigh = ch.System(
        {"A": f"SE2 {side}"},
        "m J a",
        lagrangian=f"m/2*({along}^2 + {across}^2) + m*a*A3'*{across} + (J + m*a^2)/2*A3'^2",
        kinematic=[f"{across} = 0"],
    )
    t = np.linspace(0, 3, 13)
    other = ch.simulate(ch.derive(model), model.start, t, parameters=model.parameters, tolerance=1e-13)
    x, y, theta, spin = (other[name] for name in ("x", "y", "theta", "theta'"))
    rates = [other["v"][0], 0.0] if side == "body" else [other["x'"][0] + spin[0] * y[0], other["y'"][0] - spin[0] * x[0]]
    start = {"A": [x[0], y[0], theta[0]], "A1'": rates[0], "A2'": rates[1], "A3'": spin[0]}
    motion = ch.simulate(ch.derive(sleigh, ch.DAlembert()), start, t, parameters=model.parameters, tolerance=1e-13)
    matrices = motion.rotation("A")
    assert np.abs(matrices[:, :2, 2] - np.stack([x, y], axis=-1)).max() < 1e-10
    assert np.abs(matrices[:, :2, 0] - np.stack([np.cos(theta), np.sin(theta)], axis=-1)).max() < 1e-10
    assert np.abs(motion["A3''"] - other["theta''"]).max() < 1e-10
    assert np.abs(motion["lambda1"] - other["lambda1"]).max() < 1e-10


@pytest.mark.parametrize("side", SIDES)
def test_rolling_disk_on_se3(side):
    """Three rolling rows at the point of contact, the third holds the height; its multiplier is the normal force m (g + z'')."""
    model = ch.gallery("leaning-disk")
    values = dict(model.parameters)
    t = np.linspace(0, 1, 11)
    angled = ch.simulate(ch.derive(model), model.start, t, parameters=values, tolerance=1e-13)
    phi, theta, psi = (angled[name] for name in ("phi", "theta", "psi"))
    attitude = Rotation.from_euler("ZXY", np.stack([phi, -theta, psi], axis=-1)).as_matrix()
    centre = np.stack([angled[name] for name in ("xc", "yc", "zc")], axis=-1)
    velocity = np.array([angled[f"{name}'"][0] for name in ("xc", "yc", "zc")])
    heading = np.array([np.cos(phi[0]), np.sin(phi[0]), 0])
    spin = np.array([0, 0, angled["phi'"][0]]) - angled["theta'"][0] * heading + angled["psi'"][0] * attitude[0, :, 1]
    omega = {f"o{i}": f"B{i}1*B4' + B{i}2*B5' + B{i}3*B6'" if side == "body" else f"B{i + 3}'" for i in (1, 2, 3)}
    disk = ch.System(
        {"B": f"SE3 {side}"},
        "m R I J g",
        where={
            **omega,
            "e": "sqrt(1 - B32^2)",
            "p1": "R*B32*B12/e",
            "p2": "R*B32*B22/e",
            "p3": "-R*e",
            "axial": "B12*o1 + B22*o2 + B32*o3",
        },
        lagrangian="m/2*(B14'^2 + B24'^2 + B34'^2) + I/2*(o1^2 + o2^2 + o3^2) + (J - I)/2*axial^2 - m*g*B34",
        kinematic=["B14' + o2*p3 - o3*p2 = 0", "B24' + o3*p1 - o1*p3 = 0", "B34' + o1*p2 - o2*p1 = 0"],
    )
    if side == "body":
        rates = [*attitude[0].T @ velocity, *attitude[0].T @ spin]
    else:
        rates = [*velocity - np.cross(spin, centre[0]), *spin]
    matrix = np.block([[attitude[0], centre[0][:, None]], [np.zeros((1, 3)), 1.0]])
    start = {"B": matrix, **{f"B{a + 1}'": x for a, x in enumerate(rates)}}
    turning = ch.simulate(ch.derive(disk, ch.DAlembert()), start, t, parameters=values, tolerance=1e-13)
    assert np.abs(turning.rotation("B")[:, :3, :3] - attitude).max() < 1e-10
    assert np.abs(turning.rotation("B")[:, :3, 3] - centre).max() < 1e-10
    assert np.abs(turning["lambda1"] - angled["lambda1"]).max() < 1e-10
    assert np.abs(turning["lambda2"] - angled["lambda2"]).max() < 1e-10
    assert np.abs(turning["lambda3"] - values["m"] * (values["g"] + angled["zc''"])).max() < 1e-10


def test_pendulum_on_s1_against_an_angle():
    round_one = ch.derive(ch.System({"A": "S1"}, lagrangian="A1'^2/2 + A11 + A21/3", forces={"A1": "-A1'/10 + A12"}))
    angled = ch.derive(ch.System("a", lagrangian="a'^2/2 + cos(a) + sin(a)/3", forces={"a": "-a'/10 - sin(a)"}))
    t = np.linspace(0, 5, 11)
    motion = ch.simulate(round_one, {"A": 0.4, "A1'": 2.0}, t, tolerance=1e-13)
    other = ch.simulate(angled, {"a": 0.4, "a'": 2.0}, t, tolerance=1e-13)
    assert np.abs(motion.rotation("A")[:, :, 0] - np.stack([np.cos(other["a"]), np.sin(other["a"])], axis=-1)).max() < 1e-11
    assert np.abs(motion["A1''"] - other["a''"]).max() < 1e-11


# --------------------------------------------------------------------------- closed forms, singular angles, long runs


def test_free_symmetric_body_precesses_as_the_closed_form_says():
    """A(t) = exp(t L/I1) A(0) exp(t w3 (1 - I3/I1) e3): regular precession."""
    body = ch.System({"A": "SO3 body"}, "I1 I3", lagrangian="(I1*A1'^2 + I1*A2'^2 + I3*A3'^2)/2")
    first, w, i1, i3 = Rotation.from_rotvec([0.5, -0.9, 0.4]), np.array([0.3, -0.8, 2.1]), 1.3, 0.7
    t = np.linspace(0, 30, 61)
    motion = ch.simulate(
        ch.derive(body),
        {"A": first.as_matrix(), **{f"A{a + 1}'": x for a, x in enumerate(w)}},
        t,
        parameters={"I1": i1, "I3": i3},
        tolerance=1e-13,
    )
    momentum = first.apply([i1 * w[0], i1 * w[1], i3 * w[2]])
    spin = Rotation.from_rotvec(np.outer(t, [0, 0, w[2] * (1 - i3 / i1)]))
    expected = Rotation.from_rotvec(np.outer(t, momentum / i1)) * first * spin
    assert np.abs(motion.rotation("A") - expected.as_matrix()).max() < 1e-11


LAGRANGE = {"I1": 1.0, "I3": 1.7, "k": 1.2}


def lagrange_top(side="body"):
    omega = ["A1'", "A2'", "A3'"] if side == "body" else ["b1", "b2", "b3"]
    kinetic = "(I1*{}^2 + I1*{}^2 + I3*{}^2)/2".format(*omega)
    return ch.derive(ch.System({"A": f"SO3 {side}"}, "I1 I3 k", lagrangian=f"{kinetic} - k*A33", where={} if side == "body" else IN_BODY))


@pytest.mark.parametrize("side", SIDES)
def test_top_passes_exactly_through_the_vertical(side):
    """Where Euler's angles end: from theta = 0 forwards, backwards, and once through.

    On the way u = A33 obeys I1^2 u'^2 = 2 I1 (E - k u)(1 - u^2) - p^2 (1 - u)^2, because the momenta about the axis and about the vertical
    are both p; E is the energy without that of the spin.
    """
    spin, speed = 0.9, 1.6
    start = {"A": np.eye(3), "A1'": speed, "A2'": 0.0, "A3'": spin}
    there = ch.simulate(lagrange_top(side), start, (0, 4), parameters=LAGRANGE, tolerance=1e-13)
    back = ch.simulate(lagrange_top(side), start, (0, -4), parameters=LAGRANGE, tolerance=1e-13)
    u = there["A33"]
    p = LAGRANGE["I3"] * spin
    energy = LAGRANGE["I1"] * speed**2 / 2 + LAGRANGE["k"]
    expected = 2 * (energy - LAGRANGE["k"] * u) * (1 - u**2) / LAGRANGE["I1"] - p**2 * (1 - u) ** 2 / LAGRANGE["I1"] ** 2
    assert np.abs(there["A33'"] ** 2 - expected).max() < 1e-11
    assert u.min() < 0.2
    assert np.abs(back.at(np.array([-1.0, -2.5]))["A33"] - there.at(np.array([1.0, 2.5]))["A33"]).max() < 1e-11
    once_through = ch.simulate(lagrange_top(side), back.final, (-4, 4), parameters=LAGRANGE, tolerance=1e-13)
    assert np.abs(once_through.rotation("A")[-1] - there.rotation("A")[-1]).max() < 1e-10


@pytest.mark.parametrize("conserve", [None, "energy"])
def test_two_thousand_revolutions_of_a_top(conserve):
    start = {"A": [0.9, 0.3, -0.2], "A1'": 0.3, "A2'": -0.5, "A3'": 8.0}
    equations = lagrange_top()
    duration = 2e3 * 2 * np.pi / 8
    motion = ch.simulate(equations, start, (0, duration), parameters=LAGRANGE, tolerance=1e-12, max_steps=10**7, conserve=conserve)
    assert motion.outcome == "finished"
    found = motion.rotation("A")
    assert np.abs(np.einsum("tij,tkj->tik", found, found) - np.eye(3)).max() < 1e-14
    assert motion.drift["balance"] < (1e-10 if conserve is None else 1e-13) * abs(motion.energy[0])
    for momentum in ("A3'", "I1*(A31*A1' + A32*A2') + I3*A33*A3'"):
        assert np.abs(motion[momentum] - motion[momentum][0]).max() < 1e-8
    # the nutation has the period of an elliptic integral
    turns = motion.t[1:-1][(np.diff(motion["A33"])[:-1] < 0) & (np.diff(motion["A33"])[1:] >= 0)]
    assert abs((turns[-1] - turns[0]) / (len(turns) - 1) - nutation_period(start)) < 1e-4


def nutation_period(start):
    """2 int du / sqrt(f(u)) between the roots of f, u being the cosine of the inclination."""
    first = Rotation.from_rotvec(start["A"]).as_matrix()
    w = np.array([start[f"A{a}'"] for a in (1, 2, 3)])
    i1, i3, k = LAGRANGE["I1"], LAGRANGE["I3"], LAGRANGE["k"]
    momentum = np.array([i1, i1, i3]) * w
    axial, vertical = momentum[2], first[2] @ momentum
    energy = (i1 * w[0] ** 2 + i1 * w[1] ** 2) / 2 + k * first[2, 2]
    # i1^2 u'^2 = 2 i1 (energy - k u)(1 - u^2) - (vertical - axial u)^2
    cubic = np.array([2 * i1 * k, -2 * i1 * energy - axial**2, 2 * axial * vertical - 2 * i1 * k, 2 * i1 * energy - vertical**2])
    low, high, far = np.sort(np.roots(cubic).real)
    m = (high - low) / (far - low)
    return 2 * 2 * ellipk(m) * i1 / np.sqrt(cubic[0] * (far - low))


def chaplygin_ball(side):
    where = IN_BODY if side == "spatial" else IN_SPACE
    s = "A{}'" if side == "spatial" else "s{}"
    return ch.derive(
        ch.System(
            {"A": f"SO3 {side}", "x": "line", "y": "line"},
            "I1 I2 I3 m R",
            lagrangian=f"{kinetic_energy(side)} + m/2*(x'^2 + y'^2)",
            kinematic=[f"x' = R*{s.format(2)}", f"y' = -R*{s.format(1)}"],
            where=where,
        ),
        ch.DAlembert(),
    )


@pytest.mark.parametrize("side", SIDES)
def test_two_thousand_revolutions_of_chaplygins_ball(side):
    """The momentum about the point of contact is constant in space; energy and |K| follow, the rotation stays orthogonal."""
    values = {"I1": 0.4, "I2": 0.5, "I3": 0.7, "m": 1.3, "R": 0.6}
    attitude, spin = Rotation.from_rotvec([0.9, 0.3, -0.2]).as_matrix(), np.array([3.0, -0.5, 5.0])
    rates = spin if side == "spatial" else attitude.T @ spin
    start = {"A": attitude, "x": 0.0, "y": 0.0, **{f"A{a + 1}'": w for a, w in enumerate(rates)}}
    duration = 2e3 * 2 * np.pi / np.linalg.norm(spin)
    motion = ch.simulate(chaplygin_ball(side), start, (0, duration), parameters=values, tolerance=1e-12, max_steps=10**7, conserve="energy")
    assert motion.outcome == "finished"
    found, omega = motion.rotation("A"), motion.angular_velocity("A", "spatial")
    assert np.abs(np.einsum("tij,tkj->tik", found, found) - np.eye(3)).max() < 1e-14
    assert motion.drift["balance"] < 1e-13 * motion.energy[0]
    assert max(motion.drift[f"kinematic[{k}]"] for k in (0, 1)) < 1e-14
    inertia = np.array([values["I1"], values["I2"], values["I3"]])
    own = np.einsum("tij,tj->ti", found, inertia * motion.angular_velocity("A", "body"))
    rolling = values["m"] * values["R"] ** 2 * (omega - omega[:, 2:] * np.array([0, 0, 1]))
    momentum = own + rolling
    assert np.abs(momentum - momentum[0]).max() < 1e-8
