"""000, section V equation by equation: the canonical n-lift and the linear version of affine constraints, on the library's own objects."""

import random

import numpy as np
import pytest
import sympy

import chetaev as ch
from chetaev.singular.forms import HigherVector, immersion

R = sympy.Rational


def hocs():
    """A system with k = 3 and l = 2 whose rows have no symmetry between signs or coordinates."""
    return ch.System(
        "x y z",
        lagrangian="(2*x'^2 + y'^2 + 3*z'^2)/2 + x*y' - x*z",
        kinematic=["D(z,3) = x*y'' + 2*x'^2 - z"],
        variational=["δz = x''*δy - 3*y'*δx"],
    )


def jets(n, seed=1):
    """Random rational jets of a curve up to order n, by name."""
    chance = random.Random(seed)
    return {f"{q}{chr(39) * k}": R(chance.randint(-9, 9), chance.randint(1, 5)) for q in "xyz" for k in range(n + 1)}


def name(q, k):
    """A coordinate of the n-lift: the k-th derivative of q."""
    return q if k == 0 else f"{q}{k}"


def lifted(values, n):
    """The point j_n of (84): the coordinates are jets below n, and their velocities the next jets."""
    place = {name(q, k): values[f"{q}{chr(39) * k}"] for q in "xyz" for k in range(n)}
    return place | {f"{name(q, k)}'": values[f"{q}{chr(39) * (k + 1)}"] for q in "xyz" for k in range(n)}


def residuals(system, values):
    return [row.residual.subs({s: values[s.name] for s in row.residual.free_symbols}) for row in system.kinematic]


def on_constraint(values):
    """The third derivative of z that the source's row asks for."""
    return values | {"z'''": values["x"] * values["y''"] + 2 * values["x'"] ** 2 - values["z"]}


@pytest.mark.parametrize("n", [3, 4])
def test_eq_80_to_84_the_kinematic_constraint_of_the_lift_is_the_image_of_the_sources(n):
    r"""$\tilde C_K = j_n((\tau^{(k,n)})^{-1}(C_K))$: a jet is on the rows of the source exactly if its image is on those of the lift."""
    source, target = hocs(), ch.lift(ch.derive(hocs(), ch.VirtualWork()), n).system
    good = on_constraint(jets(n))
    assert residuals(source, good) == [0]
    assert residuals(target, lifted(good, n)) == [0] * len(target.kinematic)
    bad = good | {"z'''": good["z'''"] + 1}
    assert residuals(source, bad) != [0]
    assert [r for r in residuals(target, lifted(bad, n)) if r != 0] == [r for r in residuals(source, bad) if r != 0]
    # (83): every velocity below the last one is the next coordinate, and nothing else is asked of velocities
    for q in "xyz":
        for k in range(n - 1):
            off = lifted(good, n)
            off[f"{name(q, k)}'"] += R(7, 3)
            changed = [abs(r) for r in residuals(target, off) if r != 0]
            assert R(7, 3) in changed
    # (84): the last velocities are free where no row of the source binds them
    free = lifted(good, n)
    free[f"{name('x', n - 1)}'"] += 5
    assert residuals(target, free) == [0] * len(target.kinematic)
    assert len(target.kinematic) == 3 * (n - 1) + 1


@pytest.mark.parametrize("n", [3, 4])
def test_eq_81_the_constraint_comes_back_through_the_immersion(n):
    r"""$C_K = \tau^{(k,n)}(j_n^{-1}(\tilde C_K))$: at an immersed jet the rows of the lift are the row of the source."""
    values = jets(n, seed=3)
    vector = HigherVector(tuple(tuple(values[f"{q}{chr(39) * k}"] for q in "xyz") for k in range(n + 1)))
    image = immersion(vector)
    place = {name(q, k): image.table[0][k][i] for k in range(n) for i, q in enumerate("xyz")}
    place |= {f"{name(q, k)}'": image.table[1][k][i] for k in range(n) for i, q in enumerate("xyz")}
    assert place == lifted(values, n)
    target = ch.lift(ch.derive(hocs(), ch.VirtualWork()), n).system
    (own,) = residuals(hocs(), values)
    assert own != 0
    assert [r for r in residuals(target, place) if r != 0] == [own]


def test_eq_85_the_variational_constraint_of_the_lift_leaves_new_displacements_free():
    target = ch.lift(ch.derive(hocs(), ch.VirtualWork()), 3).system
    (row,) = target.variational
    values = {"x2": R(3, 2), "y1": R(-2, 5)}
    found = {q.name: e.subs({s: values[s.name] for s in e.free_symbols}) for q, e in row.coefficients.items()}
    scale = found["z"]
    assert {q: e / scale for q, e in found.items() if e != 0} == {"z": 1, "y": -R(3, 2), "x": -3 * R(2, 5)}  # δz - x2*δy + 3*y1*δx


def test_eq_86_and_87_the_lagrangian_of_the_lift_reads_positions_and_their_velocities_only():
    source, target = hocs(), ch.lift(ch.derive(hocs(), ch.VirtualWork()), 4).system
    names = {s.name for s in target.lagrangian.free_symbols}
    assert names == {"x", "z", "x'", "y'", "z'"}
    values = jets(1, seed=5)
    at = [lagrangian.subs({s: values[s.name] for s in lagrangian.free_symbols}) for lagrangian in (source.lagrangian, target.lagrangian)]
    assert at[0] == at[1]
    x, y1 = values["x"], values["y'"]
    assert at[0] == values["x'"] ** 2 + y1**2 / 2 + R(3, 2) * values["z'"] ** 2 + x * y1 - x * values["z"]


def test_eq_88_theorem_33_above_the_order_of_the_rows_the_lift_is_affine():
    """n = 4 > k = 3: on the positions that the source allows the velocities fill an affine space along the last ones."""
    target = ch.lift(ch.derive(hocs(), ch.VirtualWork()), 4).system
    kinds = sorted(row.kind for row in target.kinematic)
    assert kinds.count("holonomic") == 1  # the row of the source is a condition on positions
    assert set(kinds) <= {"holonomic", "linear", "affine"}
    good = lifted(on_constraint(jets(4, seed=8)), 4)
    assert residuals(target, good) == [0] * len(target.kinematic)
    along = {f"{q}3'": value for q, value in zip("xyz", (R(2), R(-5), R(1, 3)), strict=True)}
    assert residuals(target, good | {z: good[z] + v for z, v in along.items()}) == [0] * len(target.kinematic)
    assert residuals(target, good | {"x2'": good["x2'"] + 1}) != [0] * len(target.kinematic)


def affine():
    return ch.System(
        "x y z",
        lagrangian="(x'^2 + 2*y'^2 + z'^2)/2 + y*x' - x*z",
        kinematic=["z' - x*y' = 1 + y^2", "2*x' + y' = -z"],
        variational=["δz = 3*x*δy", "δx = y*δz"],
    )


def test_eq_89_to_94_the_linear_version():
    source = affine()
    assert [row.kind for row in source.kinematic] == ["affine", "affine"]  # (89)
    assert [{q.name for q, e in row.coefficients.items() if e != 0} for row in source.variational] == [{"y", "z"}, {"x", "z"}]  # (90)
    target = ch.linearize_constraints(ch.derive(source, ch.VirtualWork())).system
    tau = target.coordinates[-1]
    assert [q.name for q in target.coordinates] == ["x", "y", "z", "tau"]
    assert sympy.expand(target.lagrangian - source.lagrangian - tau.d() ** 2 / 2) == 0  # (91)
    x, y, z = target.coordinates[:3]
    wanted = [z.d() - x * y.d() - (1 + y**2) * tau.d(), 2 * x.d() + y.d() + z * tau.d()]
    found = [row.residual for row in target.kinematic]
    assert all(any(sympy.expand(f - w) == 0 or sympy.expand(f + w) == 0 for f in found) for w in wanted)  # (92), (94)
    assert len(found) == 2
    assert all(row.kind == "linear" for row in target.kinematic)
    ours = [{q.name: e for q, e in row.coefficients.items() if e != 0} for row in target.variational]
    theirs = [{q.name: e for q, e in row.coefficients.items() if e != 0} for row in source.variational]
    assert ours == theirs  # (93): δtau is in no row


def test_eq_95_the_equations_of_the_linear_version_are_the_sources_and_tau_is_straight():
    source = ch.derive(affine(), ch.VirtualWork())
    linear = ch.linearize_constraints(source)
    place = {"x": 0.4, "y": -0.7, "z": 0.9}
    # velocities on the rows: z' = x*y' + 1 + y^2, x' = -(y' + z)/2
    y1 = 0.35
    x1, z1 = -(y1 + place["z"]) / 2, place["x"] * y1 + 1 + place["y"] ** 2
    state = {**place, "y'": y1, "x'": x1, "z'": z1}
    now = ch.evaluate(source, state)
    after = ch.evaluate(linear.target, {**state, "tau": 0.0, "tau'": 1.0})
    # by hand: E_x = x'' + y' + z, E_y = 2*y'' - x', E_z = z'' + x; virtual work of the displacement δ = (y, 1/(3x), 1)*δz
    x, y, z = place.values()
    matrix = np.array([[y, 2 / (3 * x), 1.0], [0.0, -x, 1.0], [2.0, 1.0, 0.0]])
    right = np.array([-(y * (y1 + z) - x1 / (3 * x) + x), x1 * y1 + 2 * y * y1, -z1])
    expected = np.linalg.solve(matrix, right)
    for name_, value in zip(("x''", "y''", "z''"), expected, strict=True):
        assert now[name_] == pytest.approx(value, rel=1e-12)
        assert after[name_] == pytest.approx(value, rel=1e-12)
    assert after["tau''"] == pytest.approx(0.0, abs=1e-14)
