"""The constraint algorithm where multipliers enter linearly: leaves against Newton's equations and closed forms."""

from functools import cache

import numpy as np
import pytest

import chetaev as ch
from chetaev.singular.algorithm.tree import Tree


def oscillators(n: int) -> ch.System:
    """Neumann's problem: oscillators with squares of frequencies 1, 2, ..., n on the unit sphere."""
    names = [f"x{i}" for i in range(1, n + 1)]
    energy = " + ".join(f"{x}'^2/2 - {i}*{x}^2/2" for i, x in enumerate(names, 1))
    return ch.System(" ".join(names) + " l", lagrangian=f"{energy} + l*({' + '.join(f'{x}^2' for x in names)} - 1)")


@pytest.mark.parametrize("n", [3, 6, 20])
def test_oscillators_on_a_sphere(n: int) -> None:
    """2 l = x.K x - x'.x' on the sphere, and x'' = -K x + 2 l x (Neumann, 1859)."""
    tree = ch.constraint_algorithm(oscillators(n))
    assert tree.complete
    (leaf,) = tree.leaves
    assert (leaf.dimension, leaf.free_functions, leaf.real) == (2 * n - 1, 0, "yes")
    random = np.random.default_rng(n)
    x, v = random.normal(size=(2, n))
    x /= np.linalg.norm(x)
    v -= (v @ x) * x
    k = np.arange(1, n + 1)
    l, rate = (x @ (k * x) - v @ v) / 2, 0.0
    a = -k * x + 2 * l * x
    rate = x @ (k * v) - v @ a
    state = {f"x{i + 1}": x[i] for i in range(n)} | {f"x{i + 1}'": v[i] for i in range(n)} | {"l": l, "l'": rate}
    assert leaf.contains(state)
    assert not leaf.contains({**state, "l": l + 1e-3})
    found = [_value(leaf.field[f"x{i + 1}'"], state) for i in range(n)]
    np.testing.assert_allclose(found, a, rtol=1e-10, atol=1e-10)


PENDULUM = "(x1'^2 + y1'^2)/2 + 3*(x2'^2 + y2'^2)/2 - 2*y1 - 6*y2"
RODS = ("x1^2 + y1^2 = 1", "(x2 - x1)^2 + (y2 - y1)^2 = 4")


@cache
def double_pendulum(way: str) -> Tree:
    if way == "coordinates":
        added = "l1*(x1^2 + y1^2 - 1) + l2*((x2 - x1)^2 + (y2 - y1)^2 - 4)"
        return ch.constraint_algorithm(ch.System("x1 y1 x2 y2 l1 l2", lagrangian=f"{PENDULUM} + {added}"))
    if way == "gravity":
        symbolic = "(x1'^2 + y1'^2)/2 + 3*(x2'^2 + y2'^2)/2 - g*y1 - 3*g*y2"
        system = ch.System("x1 y1 x2 y2", "g", lagrangian=symbolic, kinematic=list(RODS))
    elif way == "all symbols":
        symbolic = "m1*(x1'^2 + y1'^2)/2 + m2*(x2'^2 + y2'^2)/2 - m1*g*y1 - m2*g*y2"
        rods = ["x1^2 + y1^2 = a^2", "(x2 - x1)^2 + (y2 - y1)^2 = b^2"]
        system = ch.System("x1 y1 x2 y2", dict.fromkeys(["m1", "m2", "a", "b", "g"], "positive"), lagrangian=symbolic, kinematic=rods)
    elif way == "multiples":  # the sign of m is not known; that of a mass relative to the other is
        symbolic = "m*(x1'^2 + y1'^2)/2 + 3*m*(x2'^2 + y2'^2)/2 - m*g*y1 - 3*m*g*y2"
        system = ch.System("x1 y1 x2 y2", "m g", lagrangian=symbolic, kinematic=list(RODS))
    else:
        system = ch.System("x1 y1 x2 y2", lagrangian=PENDULUM, kinematic=list(RODS))
    return ch.constraint_algorithm(ch.derive(system, ch.Vakonomic()))


@pytest.mark.parametrize(
    ("way", "names"),
    [
        ("coordinates", ("l1", "l2")),
        ("vakonomic", ("lambda1", "lambda2")),
        ("gravity", ("lambda1", "lambda2")),
        ("multiples", ("lambda1", "lambda2")),
        ("all symbols", ("lambda1", "lambda2")),
    ],
)
def test_the_double_pendulum_with_two_multipliers(way: str, names: tuple[str, str]) -> None:
    """Masses 1 and 3, rods 1 and 2, gravity 2, or symbols: multipliers and accelerations from the rods' second derivatives, by NumPy."""
    tree = double_pendulum(way)
    assert tree.complete
    (leaf,) = tree.leaves
    assert (leaf.dimension, leaf.free_functions, leaf.real, leaf.excluded) == (5, 0, "yes", ())
    a, b, u, w = 0.7, -1.9, 0.6, -1.1  # angles and their rates
    first, second = np.array([np.sin(a), -np.cos(a)]), 2 * np.array([np.sin(b), -np.cos(b)])
    q = np.concatenate([first, first + second])
    moved, turned = u * np.array([np.cos(a), np.sin(a)]), 2 * w * np.array([np.cos(b), np.sin(b)])
    v = np.concatenate([moved, moved + turned])

    def accelerations(q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """With J the Jacobian of the rods: m q'' = J^T l - m g and J q'' + J' v = 0."""
        inverse = np.array([1, 1, 1 / 3, 1 / 3])

        def jacobian(q: np.ndarray) -> np.ndarray:
            d = q[2:] - q[:2]
            return 2 * np.array([[q[0], q[1], 0, 0], [-d[0], -d[1], d[0], d[1]]])

        j, force = jacobian(q), np.array([0, -2, 0, -2])
        l = np.linalg.solve(j * inverse @ j.T, -jacobian(v) @ v - j @ force)
        return force + inverse * (j.T @ l), l

    qdd, l = accelerations(q, v)
    step = 1e-5
    rates = (accelerations(q + step * v, v + step * qdd)[1] - accelerations(q - step * v, v - step * qdd)[1]) / (2 * step)
    state = dict(zip(("x1", "y1", "x2", "y2"), q, strict=True)) | dict(zip(("x1'", "y1'", "x2'", "y2'"), v, strict=True))
    state |= {names[0]: l[0], names[1]: l[1], f"{names[0]}'": rates[0], f"{names[1]}'": rates[1]}
    state |= {"g": 2.0, "m": 1.0, "m1": 1.0, "m2": 3.0, "a": 1.0, "b": 2.0} if way not in ("coordinates", "vakonomic") else {}
    sign = 1
    if not leaf.contains(state, tolerance=1e-6):  # the sign with which a principle adds multipliers
        sign = -1
        state |= {name: -state[name] for name in state if name.startswith(names[0][0])}
    assert leaf.contains(state, tolerance=1e-6)
    assert not leaf.contains({**state, names[0]: sign * l[0] + 1e-2}, tolerance=1e-6)
    found = [_value(leaf.field[name], state) for name in ("x1'", "y1'", "x2'", "y2'")]
    np.testing.assert_allclose(found, qdd, rtol=1e-9)


def test_velocities_orthogonal_to_rods() -> None:
    """Vakonomic motion with x x' + y y' = 0 loses the rank of its constraint at the origin, where another branch is looked at."""
    system = ch.System("x y", lagrangian="(x'^2 + y'^2)/2 - y", kinematic=["x*x' + y*y' = 0"])
    tree = ch.constraint_algorithm(ch.derive(system, ch.Vakonomic()))
    assert tree.complete
    largest = tree.leaves[0]
    # lambda' = -(v.v - y)/(x^2 + y^2) up to the sign of the multiplier, and x'' = lambda' x in that sign
    state = {"x": 0.6, "y": -0.8, "x'": 0.4, "y'": 0.3}
    rate = -(0.4**2 + 0.3**2 + 0.8)
    values = [{**state, "lambda1": 0.2, "lambda1'": side * rate} for side in (1, -1)]
    inside = [value for value in values if largest.contains(value)]
    assert len(inside) == 1
    assert _value(largest.field["x'"], inside[0]) == pytest.approx(rate * 0.6)
    assert _value(largest.field["y'"], inside[0]) == pytest.approx(-rate * 0.8 - 1)


def _value(expression: object, state: dict[str, float]) -> float:
    names = {z: state[z.name] for z in expression.free_symbols}  # type: ignore[attr-defined]
    return float(expression.subs(names))  # type: ignore[attr-defined]


def test_an_unfinished_search_names_the_masses_whose_signs_would_shorten_it() -> None:
    """With m1 m2 < 0 the multipliers are not determined everywhere, so that an unknown sign brings further cases."""
    energy = "m1*(x1'^2 + y1'^2)/2 + m2*(x2'^2 + y2'^2)/2 - m1*g*y1 - m2*g*y2"
    system = ch.System("x1 y1 x2 y2", "m1 m2 g", lagrangian=energy, kinematic=list(RODS))
    tree = ch.constraint_algorithm(ch.derive(system, ch.Vakonomic()), seconds=2)
    assert not tree.complete
    assert (
        'the work allowed ran out with 1 branch open; with signs of masses that are known, as in parameters={"m1": "positive", '
        in tree.reason
    )
    assert "g" not in tree.reason.partition("parameters=")[2].partition("}")[0]


def test_a_coefficient_that_vanishes_is_looked_at_before_its_equation() -> None:
    """Rods as constraints of velocities: the search met x x' + y y' = 0 and one coefficient again and again, and found no leaf.

    It is not complete; one of its leaves has the rods upright, where the forces l1 and l2 along them carry weights 8 and 6.
    """
    rods = ["x1*x1' + y1*y1' = 0", "(x2 - x1)*(x2' - x1') + (y2 - y1)*(y2' - y1') = 0"]
    tree = ch.constraint_algorithm(ch.derive(ch.System("x1 y1 x2 y2", lagrangian=PENDULUM, kinematic=rods), ch.Chetaev()))
    at_rest = dict.fromkeys(("x1", "x2", "x1'", "y1'", "x2'", "y2'", "lambda1'", "lambda2'"), 0.0)
    upright = at_rest | {"y1": -1.0, "y2": -3.0, "lambda1": -8.0, "lambda2": -3.0}
    assert any(leaf.contains(upright) for leaf in tree.leaves)
    assert not any(leaf.contains(upright | {"lambda1": 8.0}) for leaf in tree.leaves)
