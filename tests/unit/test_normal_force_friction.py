"""Forces that contain multipliers: Coulomb friction by the normal force, sticking, and Painleve's paradox."""

from math import cos, sin, sqrt, tan

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import chetaev as ch
from chetaev.numerics.motion.trajectory import Outcome

GRAVITY = 9.81


def incline(row: str = "y = 0") -> ch.System:
    return ch.System(
        "x y",
        "m g mu a",
        lagrangian="m/2*(x'^2 + y'^2) - m*g*(y*cos(a) - x*sin(a))",
        kinematic=[row],
        forces={"x": "-mu*abs(lambda1)*sign(x')"},
        name="incline",
    )


def values(**changes: float) -> dict[str, float]:
    return {"m": 2.0, "g": GRAVITY, "mu": 0.3, "a": 0.2, **changes}


@pytest.mark.parametrize(("row", "sign"), [("y = 0", 1.0), ("-y = 0", -1.0), ("3*y = 0", 1 / 3)])
def test_a_block_slides_and_sticks_whatever_the_sign_and_the_scale_of_its_multiplier(row: str, sign: float) -> None:
    """The force follows what the user wrote: lambda1 of `3*y = 0` is a third of the normal force, so mu is three times as large there."""
    equations = ch.derive(incline(row), ch.DAlembert())
    friction = 0.3 * abs(1 / sign)
    motion = ch.simulate(equations, {"x": 0.1, "x'": 1}, (0, 3), parameters=values(mu=friction))
    slowing = GRAVITY * (0.3 * cos(0.2) - sin(0.2))
    assert motion.outcome is Outcome.FINISHED
    assert motion.final["x"] == pytest.approx(0.1 + 1 / (2 * slowing), rel=1e-12)
    assert motion.switches[0].t == pytest.approx(1 / slowing, rel=1e-12)
    assert np.allclose(motion["lambda1"], sign * 2 * GRAVITY * cos(0.2), rtol=1e-13)
    assert np.allclose(motion.reaction("y"), 2 * GRAVITY * cos(0.2), rtol=1e-13)
    assert not motion.reaction("x").any()  # friction is a force, no reaction of the row
    assert motion.certificate.ok


@pytest.mark.parametrize(("mu", "speed"), [(0.1, 0.0), (0.1, -1.0), (0.3, -1.0), (0.3, 0.0), (0.3, 2.0)])
def test_a_block_up_and_down_an_incline(mu: float, speed: float) -> None:
    motion = ch.simulate(ch.derive(incline(), ch.DAlembert()), {"x": 0, "x'": speed}, (0, 3), parameters=values(mu=mu))
    down, against = GRAVITY * sin(0.2), mu * GRAVITY * cos(0.2)
    x, t, v = 0.0, 0.0, speed
    if v:
        rate = down - np.sign(v) * against
        stops = -v / rate if v * rate < 0 else np.inf
        t = min(3.0, stops)
        x, v = v * t + rate * t**2 / 2, v + rate * t if stops > 3 else 0.0
    if t < 3 and down > against:
        x += (down - against) * (3 - t) ** 2 / 2
    assert motion.final["x"] == pytest.approx(x, rel=1e-10, abs=1e-12)


def test_the_critical_angle() -> None:
    equations = ch.derive(incline(), ch.DAlembert())
    for angle, sticks in ((np.arctan(0.3) - 1e-9, True), (np.arctan(0.3) + 1e-9, False)):
        now = ch.evaluate(equations, {"x": 0, "x'": 0}, parameters=values(a=angle))
        expected = 0.0 if sticks else GRAVITY * (sin(angle) - 0.3 * cos(angle))
        assert now["x''"] == pytest.approx(expected, abs=1e-14)
        assert now["lambda1"] == pytest.approx(2 * GRAVITY * cos(angle), rel=1e-14)


def test_units_do_not_matter() -> None:
    for unit in (1e-12, 1e9):
        start = {"x": 0, "x'": unit}
        motion = ch.simulate(ch.derive(incline(), ch.DAlembert()), start, (0, 3), parameters=values(g=GRAVITY * unit))
        assert motion.final["x"] == pytest.approx(unit / (2 * GRAVITY * (0.3 * cos(0.2) - sin(0.2))), rel=1e-11)


def test_two_walls_of_a_groove() -> None:
    groove = ch.System(
        "x y z",
        "m g mu a",
        lagrangian="m/2*(x'^2 + y'^2 + z'^2) - m*g*(z*cos(a) - x*sin(a))",
        kinematic=["(y + z)/sqrt(2) = 0", "(y - z)/sqrt(2) = 0"],
        forces={"x": "-mu*(abs(lambda1) + abs(lambda2))*sign(x')"},
    )
    motion = ch.simulate(ch.derive(groove, ch.DAlembert()), {"x": 0, "x'": 1}, (0, 2), parameters=values())
    slowing = GRAVITY * (0.3 * sqrt(2) * cos(0.2) - sin(0.2))
    assert motion.final["x"] == pytest.approx(1 / (2 * slowing), rel=1e-12)
    assert motion.final["lambda1"] == pytest.approx(2 * GRAVITY * cos(0.2) / sqrt(2), rel=1e-12)
    assert motion.final["lambda2"] == pytest.approx(-2 * GRAVITY * cos(0.2) / sqrt(2), rel=1e-12)


def test_a_bead_on_a_hoop() -> None:
    """Against theta'' = (-g cos(theta) - mu |lambda| sign(theta')/m)/R with lambda = m (g sin(theta) - R theta'^2), by SciPy."""
    m, mu, radius = 1.3, 0.2, 0.7
    friction = "-mu*abs(lambda1)*sign(x*y' - y*x')"
    hoop = ch.System(
        "x y",
        "m g mu R",
        lagrangian="m/2*(x'^2 + y'^2) - m*g*y",
        kinematic=["(x^2 + y^2 - R^2)/(2*R) = 0"],
        forces={"x": f"{friction}*(-y/R)", "y": f"{friction}*x/R"},
    )
    equations = ch.derive(hoop, ch.DAlembert())
    start = {"x": radius, "y": 0, "x'": 0, "y'": 3}
    motion = ch.simulate(equations, start, (0, 6), parameters={"m": m, "g": GRAVITY, "mu": mu, "R": radius}, tolerance=1e-11)

    def normal(angle: float, rate: float) -> float:
        return m * (GRAVITY * sin(angle) - radius * rate**2)

    def rates(_: float, y: np.ndarray, side: float) -> list[float]:
        return [y[1], (-GRAVITY * cos(y[0]) - mu * abs(normal(*y)) * side / m) / radius]

    t, angle, rate, side, turns = 0.0, 0.0, 3 / radius, 1.0, []
    while True:

        def turned(s: float, y: np.ndarray, side: float, begun: float = t) -> float:
            return float(y[1]) if s > begun + 1e-6 else side

        turned.terminal = True  # type: ignore[attr-defined]
        found = solve_ivp(rates, (t, 6), [angle, rate], "DOP853", args=(side,), events=turned, rtol=1e-12, atol=1e-13, max_step=0.02)
        t, angle, rate = float(found.t[-1]), float(found.y[0, -1]), 0.0
        turns.append(t)
        drive = -m * GRAVITY * cos(angle)
        if abs(drive) <= mu * abs(normal(angle, 0.0)):
            break
        side = float(np.sign(drive))
    met = [switch.t for switch in motion.switches if switch.text != "lambda1"]
    assert met == pytest.approx(turns, abs=1e-8)
    assert motion.final["x"] == pytest.approx(radius * cos(angle), abs=1e-8)
    assert motion.final["lambda1"] == pytest.approx(normal(angle, 0.0), abs=1e-7)
    assert motion.switches[0].text == "lambda1" and motion.switches[0].after == 1  # lifted to the outer side by gravity
    assert motion.final["x'"] == pytest.approx(0, abs=1e-12) and motion.certificate.ok


def test_stick_and_slip_on_a_belt() -> None:
    """With v the belt's speed and static = sliding friction: the block sticks until k x = mu m g, then swings about mu m g/k."""
    belt = ch.System(
        "x y",
        "m g k mu v",
        lagrangian="m/2*(x'^2 + y'^2) - m*g*y - k/2*x^2",
        kinematic=["y = 0"],
        forces={"x": "-mu*abs(lambda1)*sign(x' - v)"},
    )
    given = {"m": 1.5, "g": GRAVITY, "k": 20.0, "mu": 0.4, "v": 0.6}
    motion = ch.simulate(ch.derive(belt, ch.DAlembert()), {"x": 0, "x'": 0.6}, (0, 3), parameters=given)
    limit, rate = 0.4 * 1.5 * GRAVITY / 20, sqrt(20 / 1.5)
    assert motion.switches[0].t == pytest.approx(limit / 0.6, rel=1e-10)
    assert (motion.switches[0].text, motion.switches[0].after) == ("v - x'", 1)  # the belt is faster
    late = motion.t > limit / 0.6
    assert np.allclose(motion["x"][late], limit + 0.6 / rate * np.sin(rate * (motion.t[late] - limit / 0.6)), atol=1e-8)
    assert np.allclose(motion["lambda1"], 1.5 * GRAVITY)


ROD = ch.System(
    "X y theta",
    "m J l g mu",
    lagrangian="m/2*((X' - l*sin(theta)*theta')^2 + (y' + l*cos(theta)*theta')^2) + J/2*theta'^2 - m*g*(y + l*sin(theta))",
    kinematic=["y = 0"],
    forces={"X": "-mu*abs(lambda1)*sign(X')"},
    name="rod",
)
"""A rod of length 2*l whose end slides along a guide; J = m l^2/3."""
ROD_VALUES = {"m": 1.0, "J": 1 / 3, "l": 1.0, "g": GRAVITY, "mu": 2.0}


def normal_forces(angle: float, rate: float, side: int) -> list[float]:
    """All roots of N (1 + 3 cos^2) + 3 mu side cos sin |N| = m (g - l sin theta'^2), from Newton's laws of the rod."""
    found = []
    for sign in (1, -1):
        root = (GRAVITY - sin(angle) * rate**2) / (1 + 3 * cos(angle) ** 2 + 3 * 2.0 * side * sign * cos(angle) * sin(angle))
        found += [root] if root * sign > 0 else []
    return found


@pytest.mark.parametrize(
    ("angle", "rate", "side", "roots"),
    [(0.3, 1.0, -1, 1), (0.3, 1.0, 1, 1), (1.0, 0.0, -1, 0), (1.0, 0.0, 1, 2), (2.0, 0.0, 1, 0), (1.2, -4.0, -1, 2), (1.2, 4.0, 1, 0)],
)
def test_every_root_of_the_normal_force_is_told(angle: float, rate: float, side: int, roots: int) -> None:
    equations = ch.derive(ROD, ch.DAlembert())
    start = {"X": 0, "X'": side * 1.5, "theta": angle, "theta'": rate}
    expected = normal_forces(angle, rate, side)
    assert len(expected) == roots
    if roots == 1:
        now = ch.evaluate(equations, start, parameters=ROD_VALUES)
        assert now["lambda1"] == pytest.approx(expected[0], rel=1e-13)
        turning = 3 * (-expected[0] * cos(angle) - 2 * side * abs(expected[0]) * sin(angle))
        assert now["theta''"] == pytest.approx(turning, rel=1e-12)
        return
    for verb in (
        lambda: ch.evaluate(equations, start, parameters=ROD_VALUES),
        lambda: ch.simulate(equations, start, (0, 1), parameters=ROD_VALUES),
    ):
        with pytest.raises(ch.StateError, match="Painleve") as told:
            verb()
        assert ("no motion" if roots == 0 else "lambda1 > 0 or lambda1 < 0") in str(told.value)
    for root in expected:  # a guess says which one
        now = ch.evaluate(equations, ch.State(start, {"lambda1": root / 2}), parameters=ROD_VALUES)
        assert now["lambda1"] == pytest.approx(root, rel=1e-13)


def test_a_motion_that_runs_into_the_paradox_ends_with_its_locus() -> None:
    """The coefficient of N vanishes where 1 + 3 cos^2 = 6 sin cos: with u = tan(theta), u^2 - 6 u + 4 = 0."""
    start = {"X": 0, "X'": -30, "theta": 0.5, "theta'": 3}
    motion = ch.simulate(ch.derive(ROD, ch.DAlembert()), start, (0, 1), parameters=ROD_VALUES)
    assert motion.outcome is Outcome.LEFT_DOMAIN and "sin(2*theta)" in motion.message
    assert tan(motion.final["theta"]) == pytest.approx(3 - sqrt(5), abs=1e-5)
    assert np.isfinite(motion["lambda1"]).all() and (motion["lambda1"] > 0).all()


def test_analyze_names_the_locus_of_the_paradox() -> None:
    found = ch.analyze(ch.derive(ROD, ch.DAlembert()))
    assert found.verdict is ch.Verdict.REGULAR
    assert "sign(lambda1)" in str(found) and "mu" in str(found.singular_locus) and "Painleve" in found.evidence


def test_a_smooth_force_by_a_multiplier() -> None:
    """With u_x = c lambda1 the bead on the line y = x/2 has lambda1 = m g/(1 + 1/4 - c/2) from both equations of motion."""
    bead = ch.System(
        "x y", "m g c", lagrangian="m/2*(x'^2 + y'^2) - m*g*y", kinematic=["y - x/2 = 0"], forces={"x": "c*lambda1"}, name="bead"
    )
    equations = ch.derive(bead, ch.DAlembert())
    now = ch.evaluate(equations, {"x": 0, "x'": 0.3}, parameters={"m": 1.4, "g": GRAVITY, "c": 0.3})
    assert now["lambda1"] == pytest.approx(1.4 * GRAVITY / (1 + (0.5 - 0.3) / 2), rel=1e-13)
    assert now["x''"] == pytest.approx(now["lambda1"] * (0.3 - 0.5) / 1.4, rel=1e-13)
    without = equations.eliminate()
    same = ch.evaluate(without, {"x": 0, "x'": 0.3}, parameters={"m": 1.4, "g": GRAVITY, "c": 0.3})
    assert same["x''"] == pytest.approx(now["x''"], rel=1e-12)


def test_slopes_by_friction() -> None:
    equations = ch.derive(incline(), ch.DAlembert())
    motion = ch.simulate(equations, {"x": 0, "x'": 1}, (0, 3), parameters=values(), slopes=["mu", "a", "x'"])
    slowing = GRAVITY * (0.3 * cos(0.2) - sin(0.2))
    by_mu, by_angle = GRAVITY * cos(0.2), GRAVITY * (-0.3 * sin(0.2) - cos(0.2))
    assert motion.final.slope("x", "mu") == pytest.approx(-by_mu / (2 * slowing**2), rel=1e-9)
    assert motion.final.slope("x", "a") == pytest.approx(-by_angle / (2 * slowing**2), rel=1e-9)
    assert motion.final.slope("x", "x'") == pytest.approx(1 / slowing, rel=1e-9)
    assert motion.final.slope("lambda1", "a") == pytest.approx(-2 * GRAVITY * sin(0.2), rel=1e-12)


def test_ensembles_and_prepared_calls_agree() -> None:
    equations = ch.derive(incline(), ch.DAlembert())
    many = ch.simulate_many(equations, [{"x": 0, "x'": 1}, {"x": 0, "x'": -1}], t=np.linspace(0, 3, 4), parameters=values())
    single = [ch.simulate(equations, {"x": 0, "x'": v}, (0, 3), parameters=values()).final["x"] for v in (1, -1)]
    assert many["x"][:, -1] == pytest.approx(single, rel=1e-9)
    assert many["lambda1"][:, -1] == pytest.approx([2 * GRAVITY * cos(0.2)] * 2, rel=1e-12)
    run = ch.prepare(equations, t=(0, 0.5), outputs=["x", "lambda1"])
    y, p = run.start({"x": 0, "x'": 1}, parameters=values())
    rate = GRAVITY * (sin(0.2) - 0.3 * cos(0.2))
    assert run(y, p) == pytest.approx([0.5 + rate / 8, 2 * GRAVITY * cos(0.2)], rel=1e-9)


def test_a_stored_motion_reads_the_same(tmp_path: object) -> None:
    motion = ch.simulate(ch.derive(incline(), ch.DAlembert()), {"x": 0, "x'": 1}, (0, 3), parameters=values())
    path = f"{tmp_path}/block.npz"
    ch.save(motion, path)
    again = ch.load(path)
    assert again.equations == motion.equations
    assert np.array_equal(again["lambda1"], motion["lambda1"]) and np.array_equal(again["x"], motion["x"])
    assert again.at(0.5)["x"] == motion.at(0.5)["x"]


def test_a_feedback_by_a_multiplier() -> None:
    system = incline().replace(forces={"x": "u"}, inputs={"u": None})
    equations = ch.derive(system, ch.DAlembert())
    motion = ch.simulate(equations, {"x": 0, "x'": 1}, (0, 3), parameters=values(), inputs={"u": "-mu*abs(lambda1)*sign(x')"})
    assert motion.final["x"] == pytest.approx(1 / (2 * GRAVITY * (0.3 * cos(0.2) - sin(0.2))), rel=1e-11)


def test_refusals() -> None:
    rows = {"lagrangian": "m/2*(x'^2 + y'^2)", "kinematic": ["y = 0"]}
    with pytest.raises(ch.NotationError, match="multiplier may stand in forces only"):
        ch.System("x y", "m", **(rows | {"lagrangian": "m/2*(x'^2 + y'^2) + lambda1"}))
    with pytest.raises(ch.NotationError, match="Did you mean lambda1"):
        ch.System("x y", "m", **rows, forces={"x": "lambda2"})
    with pytest.raises(ch.NotationError, match="carries no prime"):
        ch.System("x y", "m", **rows, forces={"x": "lambda1'"})
    with pytest.raises(ch.PrincipleError, match="not the multiplier of a reaction under Vakonomic"):
        ch.derive(incline(), ch.Vakonomic())
    equations = ch.derive(incline(), ch.DAlembert())
    model = ch.Model(incline(), ch.DAlembert(), parameters=values(), start={"x": 0, "x'": 1}, t=(0, 1))
    for refused in (
        equations.eliminate,
        lambda: ch.transforms.symmetries(equations),
        lambda: ch.transforms.restrict(equations),
        lambda: ch.transforms.tangent(equations),
        lambda: ch.code(model, "numpy"),
        lambda: ch.code(model, "javascript"),
    ):
        with pytest.raises(ch.PrincipleError, match="lambda1"):
            refused()


def test_linearisation_in_motion() -> None:
    """Slopes of the rod's acceleration against differences of `evaluate`."""
    equations = ch.derive(ROD, ch.DAlembert())
    start = {"X": 0, "X'": -1.5, "theta": 0.3, "theta'": 1.0}
    found = ch.linearize(equations, ch.State(start, {"lambda1": 4}), parameters=ROD_VALUES)
    names = list(found.names)
    for name in ("theta", "theta'"):
        ends = [ch.evaluate(equations, start | {name: start[name] + h}, parameters=ROD_VALUES)["theta''"] for h in (1e-5, -1e-5)]
        slope = found.A[names.index("theta'"), names.index(name)]
        assert slope == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-7)


def test_a_puck_on_an_inclined_plane_comes_to_rest() -> None:
    """Planar friction with the multiplier is the same motion as with the normal force m g cos(a) written out, at rest too."""
    forces = {q: f"-mu*abs(lambda1)*{q}'/sqrt(x'^2 + y'^2)" for q in "xy"}
    puck = ch.System(
        "x y z", "m g mu a", lagrangian="m/2*(x'^2 + y'^2 + z'^2) - m*g*(z*cos(a) - x*sin(a))", kinematic=["-z = 0"], forces=forces
    )
    written = puck.replace(forces={q: u.replace("abs(lambda1)", "m*g*cos(a)") for q, u in forces.items()})
    start, given = {"x": 0, "y": 0, "x'": 0.3, "y'": 1}, values(mu=0.4)
    ours, theirs = (ch.simulate(ch.derive(s, ch.DAlembert()), start, (0, 3), parameters=given) for s in (puck, written))
    assert ours.outcome is Outcome.FINISHED and [s.after for s in ours.switches] == [0]
    assert ours.switches[0].t == pytest.approx(theirs.switches[0].t, rel=1e-12)
    assert [ours.final[q] for q in "xy"] == pytest.approx([theirs.final[q] for q in "xy"], rel=1e-12)
    assert ours.final["lambda1"] == pytest.approx(-2 * GRAVITY * cos(0.2), rel=1e-13)
    assert ours.verify().worst < 1e-6


def test_the_motion_satisfies_its_rows() -> None:
    for speed in (1, -1):
        motion = ch.simulate(ch.derive(incline(), ch.DAlembert()), {"x": 0, "x'": speed}, (0, 3), parameters=values())
        assert motion.verify().worst < 1e-9


@pytest.mark.parametrize(("blocks", "pull"), [(2, 2.0), (2, 4.0), (4, 4.0)])
def test_a_stack_of_blocks(blocks: int, pull: float) -> None:
    """The top block is pulled: below mu m g everything stays, above it slides alone. Four blocks have eight signs."""
    numbers = range(1, blocks + 1)

    def friction(i: int) -> str:
        return f"mu*abs(lambda{i})*sign(x{i}'{f' - x{i - 1}' + chr(39) if i > 1 else ''})"

    forces = {f"x{i}": f"-{friction(i)}" + (f" + {friction(i + 1)}" if i < blocks else " + F") for i in numbers}
    stack = ch.System(
        " ".join(f"x{i} y{i}" for i in numbers),
        "m g mu F",
        lagrangian=" + ".join(f"m/2*(x{i}'^2 + y{i}'^2) - m*g*y{i}" for i in numbers),
        kinematic=["y1 = 0", *[f"y{i} - y{i - 1} = 1" for i in numbers[1:]]],
        forces=forces,
    )
    start = {f"x{i}{prime}": 0 for i in numbers for prime in ("", "'")}
    given = {"m": 1.0, "g": GRAVITY, "mu": 0.3, "F": pull}
    motion = ch.simulate(ch.derive(stack, ch.DAlembert()), start, (0, 1), parameters=given)
    assert [motion.final[f"x{i}"] for i in numbers[:-1]] == [0] * (blocks - 1)
    assert motion.final[f"x{blocks}"] == pytest.approx(max(0.0, pull - 0.3 * GRAVITY) / 2, rel=1e-12)
    assert [motion.final[f"lambda{i}"] for i in numbers] == pytest.approx([GRAVITY * (blocks - i + 1) for i in numbers], rel=1e-12)


def test_friction_with_an_upper_limit_and_a_falling_law() -> None:
    capped = incline().replace(forces={"x": "-min(mu*abs(lambda1), 3)*sign(x')"})
    motion = ch.simulate(ch.derive(capped, ch.DAlembert()), {"x": 0, "x'": 1}, (0, 3), parameters=values())
    assert motion.final["x"] == pytest.approx(3 + (GRAVITY * sin(0.2) - 1.5) * 4.5, rel=1e-12)
    falling = incline().replace(forces={"x": "-abs(lambda1)*(mu + exp(-5*abs(x'))/10)*sign(x')"})
    motion = ch.simulate(ch.derive(falling, ch.DAlembert()), {"x": 0, "x'": 1}, (0, 3), parameters=values(mu=0.25))

    def rates(_: float, y: np.ndarray) -> list[float]:
        return [y[1], GRAVITY * (sin(0.2) - cos(0.2) * (0.25 + np.exp(-5 * y[1]) / 10))]

    def stops(_: float, y: np.ndarray) -> float:
        return float(y[1])

    stops.terminal = True  # type: ignore[attr-defined]
    found = solve_ivp(rates, (0, 3), [0, 1], "DOP853", events=stops, rtol=1e-12, atol=1e-13)
    assert motion.switches[0].t == pytest.approx(found.t[-1], rel=1e-8)
    assert motion.final["x"] == pytest.approx(found.y[0, -1], rel=1e-8)


def test_rest_with_a_force_that_is_not_linear_in_the_multiplier_is_refused_with_this_reason():
    """A block under friction mu*lambda1^2 slows down by mu*g^2, m = 1; it is its rest that is not computed."""
    forces = {"x": "-mu*lambda1^2*sign(x')"}
    block = ch.System("x y", "g mu", lagrangian="(x'^2 + y'^2)/2 - g*y", kinematic=["y = 0"], forces=forces, name="block")
    equations, parameters = ch.derive(block, ch.DAlembert()), {"g": 9.81, "mu": 0.02}
    motion = ch.simulate(equations, {"x": 0, "x'": 1}, (0, 2), parameters=parameters)
    assert not motion.outcome.reached_end and motion.end[0] == pytest.approx(1 / (0.02 * 9.81**2), rel=1e-9)
    assert "forces are not linear in lambda1" in motion.message and "corner" not in motion.message
    with pytest.raises(ch.InitialError, match="forces are not linear in lambda1"):
        ch.simulate(equations, {"x": 0, "x'": 0}, (0, 2), parameters=parameters)
