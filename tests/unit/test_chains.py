"""The constraint algorithm on systems whose Gröbner bases grow beyond the budget; accelerations are worked out by hand."""

from math import cos, sin, tan

import pytest

import chetaev as ch
from chetaev.core.values import Tape


def number(expression, values):
    """The value of a formula of a leaf; its symbols by name."""
    return float(Tape([expression])({z: values[z.name] for z in expression.free_symbols})[0])


def rocard_by_hand():
    """Rocard's tyre: parameters, and a state with epsilon', psi'' and all multipliers from the closed form of the hidden constraint."""
    I, J, M, K, a = 0.7, 0.9, 1.5, 2.0, 3.0
    psi, theta, epsilon, psi1, theta1 = 0.2, 0.5, 0.15, 1.8, 0.6
    bend = (a / M) * sin(epsilon) * (I + M * cos(epsilon)) / (M + I * cos(epsilon))  # psi'*(theta' - epsilon')
    epsilon1 = theta1 - bend / psi1
    psi2 = (bend - a / M * tan(epsilon)) / tan(epsilon)
    turned, turning = theta - epsilon, theta1 - epsilon1
    x1, x2 = psi1 * cos(turned), psi1 * sin(turned)
    x1_2 = psi2 * cos(turned) - psi1 * turning * sin(turned)
    x2_2 = psi2 * sin(turned) + psi1 * turning * cos(turned)
    state = {"psi": psi, "theta": theta, "epsilon": epsilon, "x1": 0.1, "x2": -0.2, "psi'": psi1, "theta'": theta1, "epsilon'": epsilon1}
    state |= {"x1'": x1, "x2'": x2, "lambda1": -M * x1_2, "lambda2": -M * x2_2, "lambda3": -K * epsilon, "lambda3'": -K * epsilon1}
    rates = {"psi'": psi2, "theta'": -K * epsilon / J, "x1'": x1_2, "x2'": x2_2}
    return {"I": I, "J": J, "M": M, "K": K, "a": a}, state, rates


def test_rocards_tyre_is_finished_and_leaves_the_hidden_constraint():
    tree = ch.constraint_algorithm(ch.gallery("rocard"))
    assert tree.complete
    assert {(leaf.dimension, leaf.free_functions, leaf.real) for leaf in tree.leaves} == {(8, 0, "yes")}
    assert len(tree.leaves) == 2  # forwards and backwards
    parameters, state, rates = rocard_by_hand()
    forwards = next(leaf for leaf in tree.leaves if leaf.point["psi'"] > 0)
    values = {**state, **parameters, "t": 0.0}
    for name, expected in rates.items():
        assert number(forwards.field[name], values) == pytest.approx(expected, rel=1e-12)
    # the derivatives of lambda1 and lambda2 occur in constraints of their own, which are not worked out by hand
    own = [e for e in forwards.constraints if not {"lambda1'", "lambda2'"} & {z.name for z in e.free_symbols}]
    assert len(own) == len(forwards.constraints) - 2
    assert max(abs(number(e, values)) for e in own) < 1e-12
    assert max(abs(number(e, values | {"epsilon'": state["epsilon'"] + 1e-3})) for e in own) > 1e-4


def test_a_quadratic_row_of_second_order():
    r"""$x'' = \lambda$, $y'' = -y'\lambda$, $\lambda^2 - y'\lambda = xy$: the sheets meet where $2\lambda = y'$."""
    system = ch.System("x y", lagrangian="(x'^2 + y'^2)/2", kinematic=["x''^2 + y'' = x*y"], variational=["δx = y'*δy"])
    tree = ch.constraint_algorithm(ch.derive(system, ch.VirtualWork()))
    assert tree.complete
    generic, rest_y, rest = tree.leaves
    assert (generic.dimension, rest_y.dimension, rest.dimension) == (5, 3, 2)
    x, y, x1, y1 = 0.7, 1.1, -0.4, 0.3
    lam = (y1 + (y1**2 + 4 * x * y) ** 0.5) / 2
    y2 = -y1 * lam
    lam1 = (x1 * y + x * y1 + y2 * lam) / (2 * lam - y1)
    y3 = -y2 * lam - y1 * lam1
    lam2 = (lam * y + 2 * x1 * y1 + x * y2 + y3 * lam + 2 * y2 * lam1 - 2 * lam1**2) / (2 * lam - y1)
    state = {"x": x, "y": y, "x'": x1, "y'": y1, "x''": lam, "y''": y2, "lambda1": lam, "lambda1'": lam1, "lambda1''": lam2}
    assert generic.contains(state)
    assert not generic.contains(state | {"lambda1'": lam1 + 1e-3})
    assert number(generic.field["x''"], state) == pytest.approx(lam1, rel=1e-12)
    assert number(generic.field["y''"], state) == pytest.approx(y3, rel=1e-12)
    # y = 0: a free particle on the line; x = 0 with y fixed: rest
    zero = dict.fromkeys(state, 0.0)
    assert rest_y.contains(zero | {"x": 2.0, "x'": 3.0})
    assert rest.contains(zero | {"y": 2.0})
    assert not rest.contains(zero | {"y": 2.0, "x'": 1.0})


@pytest.mark.parametrize(
    ("kinematic", "variational", "dimension"),
    [
        # the determinant 3*sin(th)*cos(th) + 2 has no real zero
        (["x'*sin(th) - y'*cos(th) = th'"], ["cos(th)*δx + sin(th)*δy = δth"], 6),
        (["x''*cos(th) + y''*sin(th) = x'*y'"], ["cos(th)*δx + 2*sin(th)*δy = 0"], 7),
    ],
)
def test_rows_with_rotations(kinematic, variational, dimension):
    coordinates = {"x": "line", "y": "line", "th": "angle"}
    lagrangian = "(x'^2 + 2*y'^2 + 3*th'^2)/2 - x*y"
    system = ch.System(coordinates, lagrangian=lagrangian, kinematic=kinematic, variational=variational)
    tree = ch.constraint_algorithm(ch.derive(system, ch.VirtualWork()))
    assert tree.complete
    assert [(leaf.dimension, leaf.free_functions, leaf.excluded) for leaf in tree.leaves] == [(dimension, 0, ())]


def test_two_rotated_multipliers_are_determined_together():
    r"""Rows $x'' = \varphi''\cos\theta$, $y' = \varphi'\sin\theta$: the matrix of the multipliers is the identity plus a rotated dyad."""
    coordinates = {"x": "line", "y": "line", "th": "angle", "ph": "angle"}
    lagrangian = "(x'^2 + 2*y'^2 + 3*th'^2 + ph'^2)/2 - x"
    kinematic = ["x'' = ph''*cos(th)", "y' = ph'*sin(th)"]
    system = ch.System(coordinates, lagrangian=lagrangian, kinematic=kinematic, variational=["δx = cos(th)*δph", "δy = sin(th)*δph"])
    (leaf,) = (tree := ch.constraint_algorithm(ch.derive(system, ch.VirtualWork()))).leaves
    assert tree.complete
    assert (leaf.dimension, leaf.free_functions) == (8, 0)
    th, th1, ph1 = 0.4, 0.7, -1.2
    c, s = cos(th), sin(th)
    # virtual work: (x'' + 1) c + 2 y'' s + ph'' = 0 with x'' = ph'' c and y'' = ph'' s + ph' th' c
    ph2 = -(c + 2 * ph1 * th1 * c * s) / (c**2 + 2 * s**2 + 1)
    x2, y2 = ph2 * c, ph2 * s + ph1 * th1 * c
    values = {"x": 0.3, "y": 0.1, "th": th, "ph": 0.2, "x'": 0.5, "y'": ph1 * s, "th'": th1, "ph'": ph1, "t": 0.0}
    values |= {"lambda1": x2 + 1, "lambda2": 2 * y2}  # the rows of the form are -x'' - 1 + lambda1 and -2*y'' + lambda2
    own = [e for e in leaf.constraints if not {"lambda1'", "lambda2'"} & {z.name for z in e.free_symbols}]
    assert max(abs(number(e, values)) for e in own) < 1e-12
    found = [number(leaf.field[name], values) for name in ("x'", "y'", "th'", "ph'")]
    assert found == pytest.approx([x2, y2, 0.0, ph2], rel=1e-12)
