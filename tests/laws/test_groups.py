"""Laws on groups: translations, gauge terms, principles that coincide, reduction by symmetry and reconstruction."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import chetaev as ch

SIDES = ("body", "spatial")
OTHER = {"body": "spatial", "spatial": "body"}
VALUES = {"I1": 1.0, "I2": 1.7, "I3": 0.8, "k": 0.6}
KINETIC = "(I1*A1'^2 + I2*A2'^2 + I3*A3'^2)/2 + k*A1'*A3' - k*A2'*A3'/3"
"""A quadratic form that no axis diagonalises: body components make it left-invariant, spatial ones right-invariant."""
FIRST = np.array([0.5, -0.9, 0.4])
RATES = {"A1'": 0.4, "A2'": -0.7, "A3'": 1.9}
MOVED = Rotation.from_rotvec([-1.1, 0.3, 2.0])
TIMES = np.linspace(0, 2, 9)


def system(side, lagrangian=KINETIC, **parts):
    return ch.System({"A": f"SO3 {side}"}, "I1 I2 I3 k", lagrangian=lagrangian, name=f"body, {side}", **parts)


def run(equations, start, times=TIMES, **settings):
    return ch.simulate(equations, start, times, parameters=VALUES, tolerance=1e-12, **settings)


def translated(side):
    """The first rotation moved from the side that leaves the declared velocity alone: left for body, right for spatial components."""
    first = Rotation.from_rotvec(FIRST)
    return (MOVED * first if side == "body" else first * MOVED).as_matrix()


# ---- invariance ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("side", SIDES)
def test_an_invariant_system_moves_alike_from_translated_starts(side):
    equations = ch.derive(system(side, kinematic=["A3' = A1' + A2'^2 - 0.7"]), ch.Chetaev())
    rates = {"A1'": 0.4, "A2'": 0.5}
    here, there = (run(equations, {"A": a, **rates}) for a in (Rotation.from_rotvec(FIRST).as_matrix(), translated(side)))
    assert np.abs(here.velocity("A", side) - there.velocity("A", side)).max() < 1e-11
    assert np.abs(here["lambda1"] - there["lambda1"]).max() < 1e-11
    moved = MOVED.as_matrix() @ here.rotation("A") if side == "body" else here.rotation("A") @ MOVED.as_matrix()
    assert np.abs(moved - there.rotation("A")).max() < 1e-11


@pytest.mark.parametrize("side", SIDES)
def test_momentum_of_the_other_side_is_constant(side):
    """Noether: a left-invariant Lagrangian conserves the spatial momentum, a right-invariant one the body momentum."""
    motion = run(ch.derive(system(side)), {"A": FIRST, **RATES})
    i = VALUES
    inertia = np.array([[i["I1"], 0, i["k"]], [0, i["I2"], -i["k"] / 3], [i["k"], -i["k"] / 3, i["I3"]]])
    own = motion.velocity("A", side) @ inertia
    r = motion.rotation("A")
    carried = np.einsum("tij,tj->ti", r if side == "body" else r.transpose(0, 2, 1), own)
    assert np.abs(carried - carried[0]).max() < 1e-11
    assert np.ptp(own, axis=0).max() > 0.1


@pytest.mark.parametrize("side", SIDES)
def test_the_inverse_of_a_motion_of_one_side_is_a_motion_of_the_other(side):
    """B = A^T has the spatial velocity -w where A has the body velocity w: the same quadratic form, declared on the other side."""
    motion = run(ch.derive(system(side)), {"A": FIRST, **RATES})
    start = {"A": -FIRST, **{name: -w for name, w in RATES.items()}}
    mirrored = run(ch.derive(system(OTHER[side])), start)
    assert np.abs(mirrored.rotation("A") - motion.rotation("A").transpose(0, 2, 1)).max() < 1e-11


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("principle", [ch.Chetaev(), ch.Vakonomic()])
def test_total_derivatives_of_functions_on_the_group_change_nothing(side, principle):
    """L + dG/dt, with G of entries and time; under vakonomic dynamics too."""
    potential = " - k*(A13 + A21*A32)"
    g = {"G": "A13*A22*sin(t) + A31^2"}
    row = ["A3' = A1'*A12 + A2'^2"]
    plain, gauged = (ch.derive(system(side, KINETIC + potential + more, kinematic=row, where=g), principle) for more in ("", " + G'"))
    start = {"A": FIRST, "A1'": 0.4, "A2'": -0.7} | ({"lambda1": 0.3} if principle == ch.Vakonomic() else {})
    a, b = run(plain, start), run(gauged, start)
    for name in ("A13", "A32", "A1''", "A3''", "lambda1"):
        assert np.abs(a[name] - b[name]).max() < 1e-9, name


@pytest.mark.parametrize("side", SIDES)
def test_gauge_terms_of_second_order_change_nothing(side):
    """G of the velocity makes L + dG/dt a Lagrangian of second order with equations of second order."""
    plain = ch.derive(system(side, KINETIC + " - k*A33"))
    gauged = ch.derive(system(side, KINETIC + " - k*A33 + G'", where={"G": "A13*A1'^2 + A2'*A3'"}))
    assert ch.analyze(gauged).dimension == 6
    now, then = (ch.evaluate(e, {"A": FIRST, **RATES}, parameters=VALUES) for e in (plain, gauged))
    assert max(abs(now[f"A{a}''"] - then[f"A{a}''"]) for a in (1, 2, 3)) < 1e-12


# ---- principles that coincide -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("side", SIDES)
def test_dalembert_is_vakonomic_on_holonomic_rows(side):
    parts = {"lagrangian": KINETIC + " - k*A13", "kinematic": ["A33 = 1/2", "A21 = A12/2"]}
    start = ch.State({"A3'": 0.7}, {"A": [0.8, 0.3, 0.1]})
    a, b = (run(ch.derive(system(side, **parts), principle), start) for principle in (ch.DAlembert(), ch.Vakonomic()))
    assert np.abs(a.rotation("A") - b.rotation("A")).max() < 1e-10
    for name in ("lambda1", "lambda2"):
        assert np.abs(a[name] - b[name]).max() < 1e-10


@pytest.mark.parametrize("side", SIDES)
def test_a_holonomic_row_and_its_derivative_restrict_the_motion_alike(side):
    """d'Alembert: the multiplier of A33 = 1/2 is that of A33' = 0."""
    position, velocity = (
        ch.derive(system(side, KINETIC + " - k*A13", kinematic=[row]), ch.DAlembert()) for row in ("A33 = 1/2", "A33' = 0")
    )
    attitude = Rotation.from_euler("ZXZ", [0.4, np.pi / 3, -0.2]).as_matrix()
    start = {"A": attitude, "A1'": 0.4, "A3'": 0.7}
    a, b = run(position, start), run(velocity, start)
    assert np.abs(a.rotation("A") - b.rotation("A")).max() < 1e-10
    assert np.abs(a["lambda1"] - b["lambda1"]).max() < 1e-10


def test_chetaev_is_dalembert_on_linear_rows_and_stated_rows_carry_the_multiplier():
    rows = {"kinematic": ["A3' = A13*A1'"]}
    start = {"A": FIRST, "A1'": 0.4, "A2'": -0.7}
    linear, nonlinear = (
        ch.evaluate(ch.derive(system("body", **rows), p), start, parameters=VALUES) for p in (ch.DAlembert(), ch.Chetaev())
    )
    assert dict(linear) == dict(nonlinear)
    stated = ch.derive(system("body", **rows, variational=["2*δA3 - 2*A13*δA1 = 0"]), ch.VirtualWork())
    halved = ch.evaluate(stated, start, parameters=VALUES)
    assert abs(2 * halved["lambda1"] - linear["lambda1"]) < 1e-14
    assert abs(halved["A1''"] - linear["A1''"]) < 1e-14
    with pytest.raises(ch.PrincipleError, match="variational rows that differ"):
        ch.derive(system("body", **rows, variational=["δA3 = 0"]), ch.DAlembert())


def test_herglotz_without_the_action_is_its_inner_principle():
    rows = {"kinematic": ["A3' = A13*A1'"]}
    start = {"A": FIRST, "A1'": 0.4, "A2'": -0.7}
    plain = run(ch.derive(system("body", **rows), ch.DAlembert()), start)
    contact = run(ch.derive(system("body", **rows, action="s"), ch.Herglotz(ch.DAlembert())), {**start, "s": 0})
    assert np.abs(plain.rotation("A") - contact.rotation("A")).max() < 1e-11
    assert np.abs(plain["lambda1"] - contact["lambda1"]).max() < 1e-11


@pytest.mark.parametrize("side", SIDES)
def test_reactions_do_no_virtual_work(side):
    equations = ch.derive(system(side, kinematic=["A3' = A13*A1' - A2'/2"]), ch.DAlembert())
    now = ch.evaluate(equations, {"A": FIRST, "A1'": 0.4, "A2'": -0.7}, parameters=VALUES)
    reaction = [now.reaction(f"A{a}") for a in (1, 2, 3)]
    assert abs(np.dot(reaction, [now[f"A{a}'"] for a in (1, 2, 3)])) < 1e-14
    assert abs(np.dot(reaction, [1, 0, now["A13"]])) < 1e-14
    assert np.linalg.norm(reaction) > 0.1


def test_the_frame_of_a_group_is_the_frame_of_its_matrices_on_a_product():
    """Two bodies, one in body and one in spatial components, coupled by A^T B: no torque from outside, so the momentum is constant."""
    pair = ch.System(
        {"A": "SO3 body", "B": "SO3 spatial"},
        "I1 I2 I3 k",
        lagrangian="(I1*A1'^2 + I2*A2'^2 + I3*A3'^2)/2 + k*(B1'^2 + B2'^2 + B3'^2) - third - second",
        where={"third": "A13*B13 + A23*B23 + A33*B33", "second": "A12*B12 + A22*B22 + A32*B32"},
    )
    start = {"A": FIRST, **RATES, "B": [0.2, 0.1, -0.7], "B1'": 0.3, "B2'": -0.2, "B3'": 0.6}
    motion = run(ch.derive(pair), start)
    inertia = np.array([VALUES["I1"], VALUES["I2"], VALUES["I3"]])
    first = np.einsum("tij,tj->ti", motion.rotation("A"), inertia * motion.velocity("A", "body"))
    second = 2 * VALUES["k"] * motion.velocity("B", "spatial")
    total = first + second
    assert np.abs(total - total[0]).max() < 1e-11
    assert np.ptp(first, axis=0).max() > 0.1
    assert np.abs(motion.energy - motion.energy[0]).max() < 1e-11


# ---- reduction and reconstruction ---------------------------------------------------------------------------------------------------


def reduced_and_whole(source, principle, start, position, group="A", times=TIMES):
    """The reduced motion, the motion it is reconstructed to, and the motion of the source itself."""
    reduction = ch.reduce(source, principle, group=group)
    shadow = run(reduction.target, start, (times[0], times[-1]))
    whole = reduction.reconstruct(shadow, {group: position})
    return reduction, shadow, whole, run(reduction.source, {group: position, **start}, (times[0], times[-1]))


REDUCIBLE = {
    "free": ({}, None, RATES),
    "Suslov": ({"kinematic": ["A3' = 0"]}, ch.DAlembert(), {"A1'": 0.4, "A2'": -0.7}),
    "vakonomic Suslov": ({"kinematic": ["A3' = 0"]}, ch.Vakonomic(), {"A1'": 0.4, "A2'": -0.7, "lambda1": 0.6}),
    "nonlinear": ({"kinematic": ["A3' = A1'*A2' + 1"]}, ch.Chetaev(), {"A1'": 0.4, "A2'": -0.7}),
    "other virtual displacements": (
        {"kinematic": ["A3' = A1'"], "variational": ["A2'*δA3 = 2*δA1 - δA2"]},
        ch.VirtualWork(),
        {"A1'": 0.4, "A2'": -0.7},
    ),
    "forces and dissipation": ({"forces": {"A1": "-A2'/3"}, "dissipation": "A1'^2*A2'^2/5"}, None, RATES),
    "Herglotz": ({"lagrangian": f"{KINETIC} - s/3", "action": "s"}, ch.Herglotz(), {**RATES, "s": 0.2}),
    "second order": (
        {"lagrangian": f"{KINETIC} + A1''^2/2 + A2''^2 + A3''^2"},
        None,
        {**RATES, "A1''": 0.1, "A2''": -0.2, "A3''": 0.0, "A1'''": 0.3, "A2'''": 0.0, "A3'''": 0.1},
    ),
    "time and input": ({"lagrangian": f"{KINETIC} + u*A1' + t*A2'^2/9", "inputs": {"u": "sin(t)"}}, None, RATES),
    "entries that cancel": ({"lagrangian": f"{KINETIC} + k*(A11^2 + A12^2 + A13^2)*A1'"}, None, RATES),
}


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("case", REDUCIBLE)
def test_reduction_and_reconstruction(side, case):
    parts, principle, start = REDUCIBLE[case]
    position = Rotation.from_rotvec(FIRST).as_matrix()
    reduction, shadow, whole, own = reduced_and_whole(system(side, **parts), principle, start, position)
    assert reduction.system.kinds["A"] == f"so3 {side}"
    assert not any(name in str(reduction.target) for name in ("A11", "A13", "A33"))
    assert ("left" if side == "body" else "right") in reduction.theorem
    assert np.abs(whole.rotation("A")[0] - position).max() < 1e-14
    assert np.abs(whole.rotation("A")[-1] - own.rotation("A")[-1]).max() < 1e-10
    for name in [n for n in start if n != "A"]:
        assert abs(whole.final[name] - shadow.final[name]) < 1e-9
    assert ch.analyze(reduction.target).dimension == ch.analyze(reduction.source).dimension - 3


@pytest.mark.parametrize("side", SIDES)
def test_reconstruction_is_the_product_integral_of_the_reduced_velocity(side):
    """A(t) by hand: exponentials of the reduced velocity over short steps, multiplied on the right or on the left (Magnus, order 4)."""
    _, shadow, whole, _ = reduced_and_whole(system(side), None, RATES, FIRST)
    steps = 400
    h = (TIMES[-1] - TIMES[0]) / steps
    middle = TIMES[0] + h * (np.arange(steps) + 0.5)
    gauss = np.sqrt(3) / 6 * h

    def omega(t):
        at = shadow.at(t)
        return np.stack([at[f"A{a}'"] for a in (1, 2, 3)], axis=-1)

    early, late = omega(middle - gauss), omega(middle + gauss)
    sign = 1 if side == "body" else -1
    turns = h / 2 * (early + late) + sign * np.sqrt(3) * h**2 / 12 * np.cross(early, late)
    found = Rotation.from_rotvec(FIRST)
    for turn in Rotation.from_rotvec(turns):
        found = found * turn if side == "body" else turn * found
    assert np.abs(found.as_matrix() - whole.rotation("A")[-1]).max() < 1e-10


def test_suslov_reduced_by_hand():
    """With w3 = 0: I1 w1' = -(k w1 - k w2/3) w2, I2 w2' = (k w1 - k w2/3) w1, and the multiplier from the third equation."""
    reduction = ch.reduce(system("body", kinematic=["A3' = 0"]), ch.DAlembert(), group="A")
    now = ch.evaluate(reduction.target, {"A1'": 0.4, "A2'": -0.7}, parameters=VALUES)
    i1, i2, k, w1, w2 = (*[VALUES[n] for n in ("I1", "I2", "k")], 0.4, -0.7)
    coupling = k * w1 - k * w2 / 3
    a1, a2 = -coupling * w2 / i1, coupling * w1 / i2
    assert now["A1''"] == pytest.approx(a1, abs=1e-14)
    assert now["A2''"] == pytest.approx(a2, abs=1e-14)
    assert now["A3''"] == pytest.approx(0, abs=1e-14)
    assert now["lambda1"] == pytest.approx(k * a1 - k / 3 * a2 + (i2 - i1) * w1 * w2, abs=1e-14)


def test_a_rolling_ball_reduces_to_the_algebra_times_the_plane():
    ball = ch.System(
        {"A": "SO3 spatial", "x": "line", "y": "line"},
        "I1 I2 I3 k",
        lagrangian="k*(A1'^2 + A2'^2 + A3'^2)/2 + (x'^2 + y'^2)/2",
        kinematic=["x' = A2' - y^2", "y' = -A1' + x*y"],
        name="ball on a moving plane",
    )
    start = {"x": 0.1, "y": -0.4, "A1'": 0.3, "A2'": 0.2, "A3'": -0.9}
    reduction, shadow, whole, own = reduced_and_whole(ball, ch.DAlembert(), start, FIRST)
    assert dict(reduction.system.kinds) == {"A": "so3 spatial", "x": "line", "y": "line"}
    for name in ("x", "y", "A1'", "lambda1"):
        assert abs(whole.final[name] - shadow.final[name]) < 1e-9
    assert np.abs(whole.rotation("A")[-1] - own.rotation("A")[-1]).max() < 1e-10
    assert reduction.check(own).largest < 1e-9


def test_other_groups_reduce():
    sleigh = ch.System(
        {"A": "SE2 body"}, "I1 I2 I3 k", lagrangian="(A1'^2 + (A2' + k*A3')^2 + I3*A3'^2)/2", kinematic=["A2' = 0"], name="sleigh"
    )
    _, shadow, whole, own = reduced_and_whole(sleigh, ch.DAlembert(), {"A1'": 0.4, "A3'": 0.9}, [0.3, -0.2, 0.7])
    assert np.abs(whole.rotation("A")[-1] - own.rotation("A")[-1]).max() < 1e-10
    a, w, k, j = shadow["A1'"], shadow["A3'"], VALUES["k"], VALUES["I3"]
    assert np.abs(shadow["A1''"] - k * w**2).max() < 1e-12
    assert np.abs(shadow["A3''"] + k * a * w / (j + k**2)).max() < 1e-12
    orbit = ch.System({"A": "S1", "r": "line"}, lagrangian="(r'^2 + r^2*A1'^2)/2 + 1/r")
    target = ch.reduce(orbit, group="A").target
    assert ch.analyze(target).dimension == 3
    body = ch.System({"A": "SE3 spatial"}, lagrangian="A1'^2 + 2*A2'^2 + 3*A3'^2 + A4'^2 + 2*A5'^2 + 3*A6'^2 + A1'*A5'")
    assert ch.analyze(ch.reduce(body, group="A").target).dimension == 6


@pytest.mark.parametrize(
    ("parts", "principle", "what", "term"),
    [
        ({"lagrangian": f"{KINETIC} - k*A33 + I1"}, None, "the Lagrangian", r"-k\*A33"),
        ({"kinematic": ["A3' = 2*A13"]}, ch.DAlembert(), r"kinematic\[0\]", r"-2\*A13"),
        ({"kinematic": ["A3' = 0", "A33 = 1/2"]}, ch.DAlembert(), r"kinematic\[1\]", "A33"),
        ({"forces": {"A2": "A1' - A12"}}, None, "the force on A2", "-A12"),
        ({"dissipation": "A1'^2 + A33^2*A2'^2"}, None, "the dissipation", r"A2'\^2\*A33\^2"),
        ({"kinematic": ["A3' = 0"], "variational": ["δA3 = A21*δA1"]}, ch.VirtualWork(), r"variational\[0\]", "-A21"),
    ],
)
@pytest.mark.parametrize("side", SIDES)
def test_what_is_not_invariant_is_refused_by_name(side, parts, principle, what, term):
    translations = "left" if side == "body" else "right"
    with pytest.raises(ch.ModelError, match=f"{what} is not invariant under {translations} translations of A: the term {term} changes"):
        ch.reduce(system(side, **parts), principle, group="A")


def test_a_system_may_be_symmetric_on_one_side_only():
    """Body inertia written in spatial components: left-invariant, so it is refused for right translations, and the hint names the body."""
    where = {f"b{j}": f"A1{j}*A1' + A2{j}*A2' + A3{j}*A3'" for j in (1, 2, 3)}
    with pytest.raises(ch.ModelError, match='"A": "SO3 body"'):
        ch.reduce(system("spatial", "(I1*b1^2 + I2*b2^2 + I3*b3^2)/2", where=where), group="A")
    homogeneous = ch.reduce(system("spatial", "(b1^2 + b2^2 + b3^2)/2", where=where), group="A")
    assert [str(row.residual) for row in homogeneous.target.rows] == ["A1''", "A2''", "A3''"]


def test_wrong_reductions():
    with pytest.raises(ch.UsageError, match="B is not a group coordinate"):
        ch.reduce(system("body"), group="B")
    reduction = ch.reduce(system("body"), group="A")
    with pytest.raises(ch.UsageError, match="A is not a group coordinate"):
        ch.reduce(reduction.target, group="A")
    shadow = run(reduction.target, RATES, (0, 1))
    with pytest.raises(ch.InitialError, match="no initial value for A"):
        reduction.reconstruct(shadow)
    with pytest.raises(ch.UsageError, match="this is a motion of"):
        reduction.reconstruct(run(reduction.source, {"A": FIRST, **RATES}, (0, 1)), {"A": FIRST})
    with pytest.raises(ch.InitialError, match="A has no position here"):
        run(reduction.target, {"A": FIRST, **RATES}, (0, 1))
    with pytest.raises(ch.NotationError, match="A13"):
        shadow["A13"]
