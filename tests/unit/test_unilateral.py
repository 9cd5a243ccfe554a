"""Unilateral contacts: impacts, lift-off, rest after the last bounce, friction, and how they are stored and refused."""

from math import cos, pi, sin, sqrt
from pathlib import Path

import numpy as np
import pytest

import chetaev as ch
from chetaev.numerics.motion.trajectory import Outcome

GRAVITY = 9.81


def ball(**more: object) -> ch.System:
    parts = {"lagrangian": "m/2*(x'^2 + y'^2) - m*g*y", "unilateral": {"floor": ("y >= 0", "e")}, "name": "ball"}
    return ch.System("x y", "m g e mu R l A w", **(parts | more))  # type: ignore[arg-type]


def values(**changes: float) -> dict[str, float]:
    return {"m": 2.0, "g": GRAVITY, "e": 0.5, "mu": 0.3, "R": 1.0, "l": 1.0, "A": 0.1, "w": 15.0, **changes}


@pytest.mark.parametrize("e", [0.0, 0.3, 0.5, 0.8])
def test_a_bouncing_ball_comes_to_rest_and_stays(e: float) -> None:
    height = 1.3
    start = {"x": 0.2, "y": height, "x'": -0.7, "y'": 0}
    motion = ch.simulate(ch.derive(ball()), start, (0, 6), parameters=values(e=e))
    fall = sqrt(2 * height / GRAVITY)
    assert motion.outcome is Outcome.FINISHED and motion.certificate.ok
    assert motion.switches[-1].t == pytest.approx(fall * (1 + e) / (1 - e), abs=2e-8)
    assert [s.after for s in motion.switches] == [0]
    times = [event.t for event in motion.events]
    expected = [fall * (1 + 2 * sum(e**j for j in range(1, k + 1))) for k in range(min(6, len(times)))]
    assert times[: len(expected)] == pytest.approx(expected, rel=1e-11)
    assert motion.final["y"] == pytest.approx(0, abs=1e-14) and motion.final["y'"] == 0
    assert motion.final["x"] == pytest.approx(0.2 - 0.7 * 6, rel=1e-11)
    resting = motion.t > motion.switches[-1].t
    assert np.allclose(motion["lambda_floor"][resting], 2 * GRAVITY) and not motion["lambda_floor"][~resting][:-1].any()
    assert np.allclose(motion.reaction("y")[resting], 2 * GRAVITY) and not motion.reaction("x").any()
    assert motion["y"].min() > -1e-14
    assert np.abs(motion.balance).max() < 1e-12


def test_an_elastic_ball_keeps_its_energy() -> None:
    motion = ch.simulate(ch.derive(ball()), {"x": 0, "y": 1, "x'": 0, "y'": 0}, (0, 10), parameters=values(e=1))
    period = 2 * sqrt(2 / GRAVITY)
    left = (10 + period / 2) % period - period / 2
    assert motion.final["y"] == pytest.approx(1 - GRAVITY * left**2 / 2, abs=1e-9)
    assert np.ptp(motion.energy) < 1e-10 and len(motion.events) == 11


@pytest.mark.parametrize("unit", [1e-9, 1e6])
def test_units_do_not_matter(unit: float) -> None:
    start = {"x": 0, "y": 1.3 * unit, "x'": 0, "y'": 0}
    motion = ch.simulate(ch.derive(ball()), start, (0, 3), parameters=values(g=GRAVITY * unit))
    assert motion.switches[-1].t == pytest.approx(3 * sqrt(2.6 / GRAVITY), abs=1e-8)
    assert motion.final["lambda_floor"] == pytest.approx(2 * GRAVITY * unit, rel=1e-12)


def test_a_floor_far_from_the_origin() -> None:
    """Where the gap has large terms, bounces below their round-off are none."""
    system = ball(unilateral={"floor": ("y >= 1000", "e")})
    motion = ch.simulate(ch.derive(system), {"x": 0, "y": 1001.3, "x'": 0, "y'": 0}, (0, 3), parameters=values())
    assert motion.outcome is Outcome.FINISHED and motion.final["lambda_floor"] == pytest.approx(2 * GRAVITY, rel=1e-12)
    assert motion.switches[-1].t == pytest.approx(3 * sqrt(2.6 / GRAVITY), abs=1e-5)
    assert motion.final["y"] == pytest.approx(1000, abs=1e-12)


def test_starts_on_the_floor() -> None:
    equations, start = ch.derive(ball()), {"x": 0, "y": 0, "x'": 1, "y'": 0}
    assert ch.evaluate(equations, start, parameters=values())["lambda_floor"] == pytest.approx(2 * GRAVITY)
    up = ch.evaluate(equations, start | {"y'": 1}, parameters=values())
    assert (up["y''"], up["lambda_floor"]) == (-GRAVITY, 0)
    with pytest.raises(ch.StateError, match="hits y = 0"):
        ch.evaluate(equations, start | {"y'": -1}, parameters=values())
    motion = ch.simulate(equations, start | {"y'": -2}, (0, 0.1), parameters=values())
    assert motion.final["y'"] == pytest.approx(1 - GRAVITY * 0.1, rel=1e-12)  # rebounds with half the speed at once
    with pytest.raises(ch.InitialError, match="y >= 0 does not hold"):
        ch.simulate(equations, start | {"y": -0.1}, (0, 1), parameters=values())


def test_a_particle_leaves_a_sphere() -> None:
    """From the top with the speed v it leaves at the height R (2/3 + v^2/(3 g R)), where its weight no longer bends it enough."""
    sphere = ball(unilateral={"sphere": ("(x^2 + y^2 - R^2)/(2*R) >= 0", 0)})
    radius, speed = 0.8, 0.5
    start = {"x": 0, "y": radius, "x'": speed, "y'": 0}
    motion = ch.simulate(ch.derive(sphere), start, (0, 0.8), parameters=values(R=radius), tolerance=1e-11)
    height = radius * (2 / 3 + speed**2 / (3 * GRAVITY * radius))
    left = motion.switches[0]
    assert (left.before, left.after) == (0, 1)
    assert motion.at(left.t)["y"] == pytest.approx(height, rel=1e-9)
    assert motion["lambda_sphere"][0] == pytest.approx(2 * (GRAVITY - speed**2 / radius), rel=1e-12)
    on = motion.t < left.t
    squares = motion["x'^2 + y'^2"]
    assert np.allclose(motion["lambda_sphere"][on], 2 * (GRAVITY * motion["y"][on] - squares[on]) / radius, atol=1e-8)
    assert not motion["lambda_sphere"][motion.t > left.t].any()
    late = 0.8 - left.t
    v = sqrt(speed**2 + 2 * GRAVITY * (radius - height))
    assert motion.final["x"] == pytest.approx(sqrt(radius**2 - height**2) + v * height / radius * late, rel=1e-8)


def test_a_pendulum_whose_rope_becomes_slack() -> None:
    """Slack at cos(phi) = (2 g l - v^2)/(3 g l) from below; then a parabola to the circle, where the rope takes the radial speed."""
    rope = ball(unilateral={"rope": ("(x^2 + y^2)/(2*l) <= l/2", 0)})
    length, speed = 0.9, sqrt(3.5 * GRAVITY * 0.9)
    start = {"x": 0, "y": -length, "x'": speed, "y'": 0}
    motion = ch.simulate(ch.derive(rope), start, (0, 1.6), parameters=values(l=length), tolerance=1e-11)
    assert motion["lambda_rope"][0] == pytest.approx(2 * (speed**2 / length + GRAVITY), rel=1e-12)
    assert motion.reaction("y")[0] == pytest.approx(2 * (speed**2 / length + GRAVITY), rel=1e-12)  # upwards
    slack, taut = motion.switches[:2]
    angle = np.arccos((2 * GRAVITY * length - speed**2) / (3 * GRAVITY * length))
    x, y = length * sin(angle), -length * cos(angle)
    assert motion.at(slack.t)["y"] == pytest.approx(y, rel=1e-9)
    v = sqrt(speed**2 - 2 * GRAVITY * (y + length))
    vx, vy = v * cos(angle), v * sin(angle)
    path = np.poly1d([vx, x]) ** 2 + np.poly1d([-GRAVITY / 2, vy, y]) ** 2 - length**2
    roots = [r.real for r in path.roots if abs(r.imag) < 1e-9 and r.real > 1e-3]
    flight = min(roots)
    assert taut.t - slack.t == pytest.approx(flight, rel=1e-7)
    hit = np.array([x + vx * flight, y + vy * flight - GRAVITY * flight**2 / 2])
    velocity = np.array([vx, vy - GRAVITY * flight])
    kept = velocity - hit * (velocity @ hit) / length**2
    after = motion.at(taut.t)
    assert [after["x'"], after["y'"]] == pytest.approx(kept, abs=1e-6)


def test_two_bodies_collide() -> None:
    pair = ch.System("x1 x2", "m1 m2 e", lagrangian="m1/2*x1'^2 + m2/2*x2'^2", unilateral={"touch": ("x2 - x1 >= 1/10", "e")})
    given = {"m1": 1.0, "m2": 3.0, "e": 0.6}
    motion = ch.simulate(ch.derive(pair), {"x1": 0, "x2": 1, "x1'": 2, "x2'": -0.5}, (0, 1), parameters=given)
    assert motion.events[0].t == pytest.approx(0.9 / 2.5, rel=1e-12)
    momentum, relative = 2 - 1.5, 0.6 * 2.5
    expected = [(momentum - 3 * relative) / 4, (momentum + relative) / 4]
    assert [motion.final["x1'"], motion.final["x2'"]] == pytest.approx(expected, rel=1e-12)


def test_a_row_of_elastic_balls() -> None:
    """Newton's cradle with gaps: the last ball leaves with the speed of the first."""
    row = ch.System(
        "a b c", "m", lagrangian="m/2*(a'^2 + b'^2 + c'^2)", unilateral={"ab": ("b - a >= 0", 1), "bc": ("c >= b", "1")}, name="row"
    )
    start = {"a": -1, "b": 0, "c": 0.2, "a'": 1, "b'": 0, "c'": 0}
    motion = ch.simulate(ch.derive(row), start, (0, 2), parameters={"m": 0.3})
    assert [motion.final[v] for v in ("a'", "b'", "c'")] == pytest.approx([0, 0, 1], abs=1e-12)


def test_a_wall_beside_a_pendulum_acts_on_the_rod() -> None:
    """Bordered solve: with x^2 + y^2 = l^2 the impact reverses the angular velocity, and the rod's impulse is what the wall leaves over."""
    pendulum = ball(kinematic=["(x^2 + y^2)/2 = l^2/2"], unilateral={"wall": ("x <= 1/2", "e")})
    start = {"x": 0, "y": -1, "x'": 2, "y'": 0}
    motion = ch.simulate(ch.derive(pendulum, ch.DAlembert()), start, (0, 0.4), parameters=values(l=1), tolerance=1e-11)
    hit = motion.events[0].t
    speed = sqrt(4 - 2 * GRAVITY * (1 - cos(pi / 6)))
    after = motion.at(hit)
    assert [after["x"], after["y"]] == pytest.approx([0.5, -cos(pi / 6)], rel=1e-9)
    assert after["x'"] == pytest.approx(-0.5 * speed * cos(pi / 6), rel=1e-8)
    assert after["y'"] == pytest.approx(-0.5 * speed * sin(pi / 6), rel=1e-8)
    assert max(motion.drift.values()) < 1e-9


@pytest.mark.parametrize("mu", [0.1, 0.5])
def test_friction_at_the_floor_slides_and_sticks(mu: float) -> None:
    """Impact: v - mu (1 + e) |v_n|, or 0 where that would reverse; then mu g until rest."""
    rough = ball(forces={"x": "-mu*lambda_floor*sign(x')"}, unilateral={"floor": ("y >= 0", 0)})
    start = {"x": 0, "y": 0.2, "x'": 1, "y'": 0}
    motion = ch.simulate(ch.derive(rough), start, (0, 2), parameters=values(mu=mu))
    fall = sqrt(0.4 / GRAVITY)
    after = max(0.0, 1 - mu * GRAVITY * fall)
    assert motion.outcome is Outcome.FINISHED
    assert motion.at(fall + 1e-9)["x'"] == pytest.approx(after, abs=1e-7)
    assert motion.final["x"] == pytest.approx(fall + after**2 / (2 * mu * GRAVITY), rel=1e-9)
    assert motion.final["x'"] == 0 and motion.final["lambda_floor"] == pytest.approx(2 * GRAVITY)
    assert motion.certificate.ok


def test_friction_while_bouncing_with_the_size_of_the_multiplier() -> None:
    """abs(lambda_floor) is lambda_floor; each impact takes mu (1 + e) times the normal speed from the sliding speed."""
    rough = ball(forces={"x": "-mu*abs(lambda_floor)*sign(x')"})
    start = {"x": 0, "y": 1, "x'": -3, "y'": 0}
    motion = ch.simulate(ch.derive(rough), start, (0, 3), parameters=values(mu=0.1))
    normal = sqrt(2 * GRAVITY)
    first = motion.at(motion.events[0].t)
    assert first["x'"] == pytest.approx(-3 + 0.1 * 1.5 * normal, rel=1e-10)
    rest = 3 - 0.1 * 1.5 * normal / (1 - 0.5)  # all impacts together
    ends = sqrt(2 / GRAVITY) * 3
    assert motion.at(ends + 0.1)["x'"] == pytest.approx(-(rest - 0.1 * GRAVITY * 0.1), rel=1e-6)


def test_painleve_with_a_contact() -> None:
    """A rod whose end slides on a floor: where the coefficient of N is negative there is no motion, or an open and a closed one."""
    rod = ch.System(
        "X y theta",
        "m J l g mu",
        lagrangian="m/2*((X' - l*sin(theta)*theta')^2 + (y' + l*cos(theta)*theta')^2) + J/2*theta'^2 - m*g*(y + l*sin(theta))",
        unilateral={"floor": ("y >= 0", 0)},
        forces={"X": "-mu*lambda_floor*sign(X')"},
    )
    equations, given = ch.derive(rod), {"m": 1.0, "J": 1 / 3, "l": 1.0, "g": GRAVITY, "mu": 2.0}

    def start(rate: float, side: float) -> dict[str, float]:
        return {"X": 0, "y": 0, "theta": 1.0, "X'": side, "theta'": rate, "y'": 0}

    coefficient = 1 + 3 * cos(1) ** 2 - 6 * cos(1) * sin(1)
    assert coefficient < 0
    with pytest.raises(ch.StateError, match="no motion starts here"):
        ch.evaluate(equations, start(0, -1), parameters=given)
    with pytest.raises(ch.StateError, match="2 motions start here"):
        ch.evaluate(equations, start(4, -1), parameters=given)
    closed = ch.evaluate(equations, ch.State(start(4, -1), {"lambda_floor": 1}), parameters=given)
    assert closed["lambda_floor"] == pytest.approx((GRAVITY - 16 * sin(1)) / coefficient, rel=1e-12)
    assert ch.evaluate(equations, ch.State(start(4, -1), {"lambda_floor": 0}), parameters=given)["lambda_floor"] == 0
    usual = ch.evaluate(equations, start(0, 1), parameters=given)
    assert usual["lambda_floor"] == pytest.approx(GRAVITY / (1 + 3 * cos(1) ** 2 + 6 * cos(1) * sin(1)), rel=1e-12)
    assert ch.evaluate(equations, start(4, 1), parameters=given)["lambda_floor"] == 0  # it lifts off


def test_a_table_that_moves() -> None:
    """A particle on y >= A sin(w t) leaves where A w^2 sin(w t) = g."""
    table = ball(unilateral={"table": ("y - A*sin(w*t) >= 0", 0)})
    given = values(A=0.1, w=15.0)
    motion = ch.simulate(ch.derive(table), {"x": 0, "y": 0, "x'": 0, "y'": 1.5}, (0, 0.3), parameters=given)
    left = np.arcsin(GRAVITY / (0.1 * 225)) / 15
    assert motion.switches[0].t == pytest.approx(left, rel=1e-9)
    assert motion["lambda_table"][0] == pytest.approx(2 * GRAVITY, rel=1e-12)
    v, y = 1.5 * cos(15 * left), GRAVITY / 225
    late = 0.2 - left
    assert motion.at(0.2)["y"] == pytest.approx(y + v * late - GRAVITY * late**2 / 2, rel=1e-8)
    assert np.abs(motion.balance).max() < 1e-8


def test_a_corner_of_two_walls() -> None:
    corner = ball(lagrangian="m/2*(x'^2 + y'^2) - m*g*(y + x/2)", unilateral=["y >= 0", "x >= 0"])
    motion = ch.simulate(ch.derive(corner), {"x": 0.3, "y": 0.5, "x'": 0, "y'": 0}, (0, 2), parameters=values())
    assert [motion.final[z] for z in ("x", "y", "x'", "y'")] == pytest.approx([0] * 4, abs=1e-12)
    assert motion.final["lambda_u1"] == pytest.approx(2 * GRAVITY) and motion.final["lambda_u2"] == pytest.approx(GRAVITY)


def test_a_force_lifts_the_body_off() -> None:
    lifted = ball(forces={"y": "20*t"})
    motion = ch.simulate(ch.derive(lifted), {"x": 0, "y": 0, "x'": 0, "y'": 0}, (0, 2), parameters=values())
    left = 2 * GRAVITY / 20
    assert motion.switches[0].t == pytest.approx(left, rel=1e-10)
    assert motion.final["y"] == pytest.approx(20 * (2 - left) ** 3 / (6 * 2), rel=1e-8)


def test_a_plank_settles_on_two_feet() -> None:
    """Two contacts bounce against each other until both carry half of the weight."""
    plank = ch.System(
        "y theta",
        "m J g e",
        lagrangian="m/2*y'^2 + J/2*theta'^2 - m*g*y",
        unilateral={"left": ("y - sin(theta) >= 0", "e"), "right": ("y + sin(theta) >= 0", "e")},
    )
    given = {"m": 1.0, "J": 0.2, "g": GRAVITY, "e": 0.3}
    motion = ch.simulate(ch.derive(plank), {"y": 0.5, "theta": 0.2, "y'": 0, "theta'": 0}, (0, 3), parameters=given)
    assert motion.outcome is Outcome.FINISHED and motion.certificate.ok
    hit = sqrt(2 * (0.5 - sin(0.2)) / GRAVITY)
    assert motion.events[0].t == pytest.approx(hit, rel=1e-11)
    inverse = 1 + cos(0.2) ** 2 / 0.2  # of the mass that the left foot feels
    impulse = 1.3 * GRAVITY * hit / inverse
    after = motion.at(motion.events[0].t)
    assert after["y'"] == pytest.approx(-GRAVITY * hit + impulse, rel=1e-9)
    assert after["theta'"] == pytest.approx(-cos(0.2) * impulse / 0.2, rel=1e-9)
    assert [motion.final[f"lambda_{foot}"] for foot in ("left", "right")] == pytest.approx([GRAVITY / 2] * 2, rel=1e-9)


def test_a_spinning_disk_begins_to_roll() -> None:
    """Friction of all impacts and of sliding together keeps J phi' + m r x', so that it rolls with x' = J w/(m r^2 + J) r."""
    slip = "sign(x' - r*phi')"
    disk = ch.System(
        "x y phi",
        "m J g mu r e",
        lagrangian="m/2*(x'^2 + y'^2) + J/2*phi'^2 - m*g*y",
        unilateral={"floor": ("y >= r", "e")},
        forces={"x": f"-mu*lambda_floor*{slip}", "phi": f"r*mu*lambda_floor*{slip}"},
    )
    given = {"m": 1.0, "J": 0.005, "g": GRAVITY, "mu": 0.2, "r": 0.1, "e": 0.4}
    start = {"x": 0, "y": 1, "phi": 0, "x'": 0, "y'": 0, "phi'": 20}
    motion = ch.simulate(ch.derive(disk), start, (0, 4), parameters=given)
    first = motion.at(motion.events[0].t)
    normal = 1.4 * sqrt(2 * GRAVITY * 0.9)
    assert first["x'"] == pytest.approx(min(0.2 * normal, 2 / 3), rel=1e-10)
    assert motion.final["x'"] == pytest.approx(2 / 3, rel=1e-10) and motion.final["phi'"] == pytest.approx(20 / 3, rel=1e-10)
    assert motion.final["lambda_floor"] == pytest.approx(GRAVITY, rel=1e-12) and motion.certificate.ok


def test_a_skate_hits_a_wall() -> None:
    """The blade keeps its direction: the impulse of the wall reverses the speed along it, and the blade takes the rest."""
    skate = ch.System(
        "x y theta",
        "m J e",
        lagrangian="m/2*(x'^2 + y'^2) + J/2*theta'^2",
        kinematic=["y'*cos(theta) - x'*sin(theta) = 0"],
        unilateral={"wall": ("x <= 1", "e")},
    )
    start = {"x": 0, "y": 0, "theta": 0.4, "x'": 1, "theta'": 0.3}
    motion = ch.simulate(ch.derive(skate, ch.DAlembert()), start, (0, 3), parameters={"m": 1.0, "J": 0.7, "e": 0.5})
    speed = -0.5 / cos(0.4)
    assert motion.final["x'"] == pytest.approx(speed * cos(1.3), rel=1e-8)
    assert motion.final["y'"] == pytest.approx(speed * sin(1.3), rel=1e-8)
    assert motion.final["theta'"] == pytest.approx(0.3, rel=1e-12)


@pytest.mark.parametrize("method", [ch.Taylor(), ch.Implicit()])
def test_other_methods(method: object) -> None:
    motion = ch.simulate(ch.derive(ball()), {"x": 0, "y": 1.3, "x'": 0, "y'": 0}, (0, 3), parameters=values(), method=method)
    assert motion.switches[-1].t == pytest.approx(3 * sqrt(2.6 / GRAVITY), abs=1e-7)
    assert motion.final["lambda_floor"] == pytest.approx(2 * GRAVITY, rel=1e-12)


def test_contacts_run_forwards_only() -> None:
    with pytest.raises(ch.UsageError, match="backwards in time"):
        ch.simulate(ch.derive(ball()), {"x": 0, "y": 1, "x'": 0, "y'": 0}, (1, 0), parameters=values())


def test_what_is_printed() -> None:
    system, equations = ball(), ch.derive(ball())
    assert "contact floor   y >= 0, restitution e" in str(system)
    assert "y >= 0, lambda_floor >= 0, one of them is 0; restitution e" in str(equations)
    assert "2 equations and 1 contact for 3 unknowns: x y lambda_floor" in str(equations)
    found = ch.analyze(equations)
    assert found.verdict is ch.Verdict.BRANCHING and [b.dimension for b in found.branches] == [4, 2]
    assert ch.analyze(equations, {"x": 0, "y": 1, "x'": 0, "y'": 0}).dimension == 4
    assert system.replace(name="other").unilateral == system.unilateral
    named = ball(where={"h": "y - 1", "k": "e/2"}, unilateral={"floor": ("h >= 0", "k")})
    moved = named.replace(where={"h": "y - 2", "k": "e/3"}).unilateral[0]
    y, e = named.coordinates[1], named.parameters[2]
    assert (moved.gap, moved.restitution) == (y - 2, e / 3) and str(moved) == "h >= 0"


def test_files_and_reports(tmp_path: Path) -> None:
    model = ch.Model(ball(), ch.Hamilton(), parameters=values(), start={"x": 0, "y": 1, "x'": 1, "y'": 0}, t=(0, 3))
    ch.save(model, tmp_path / "ball.toml")
    again = ch.load(tmp_path / "ball.toml")
    assert again.system == model.system
    motion = ch.simulate(again)
    ch.save(motion, tmp_path / "ball.npz")
    read = ch.load(tmp_path / "ball.npz")
    for name in ("y", "lambda_floor", "y'"):
        assert np.array_equal(read[name], motion[name])
    assert read.at(2.5)["lambda_floor"] == pytest.approx(2 * GRAVITY)
    assert read.switches == motion.switches and read.equations == motion.equations
    assert motion.verify().worst < 1e-6
    text = ch.report(model)
    assert "contact floor" in text.html and "restitution" in text.html


def test_planar_friction_on_a_floor() -> None:
    """While the floor is touched it holds a puck at rest; its impulse at an impact is not known, and the message says so."""
    forces = {q: f"-mu*lambda_floor*{q}'/sqrt(x'^2 + y'^2)" for q in "xy"}
    puck = ch.System("x y z", "m g mu", lagrangian="m/2*(x'^2 + y'^2 + z'^2) - m*g*z", unilateral={"floor": ("z >= 0", 0)}, forces=forces)
    start = {"x": 0, "y": 0, "z": 0, "x'": 0.6, "y'": 0.8, "z'": 0}
    motion = ch.simulate(ch.derive(puck), start, (0, 2), parameters={"m": 1, "g": GRAVITY, "mu": 0.2})
    assert motion.outcome is Outcome.FINISHED
    assert [motion.final["x"], motion.final["y"]] == pytest.approx([0.6 / (0.4 * GRAVITY), 0.8 / (0.4 * GRAVITY)], rel=1e-9)
    fallen = ch.simulate(ch.derive(puck), start | {"z": 0.1}, (0, 2), parameters={"m": 1, "g": GRAVITY, "mu": 0.2})
    assert fallen.outcome is Outcome.LEFT_DOMAIN and "impulse is not known" in fallen.message


def test_what_is_refused() -> None:
    equations, start = ch.derive(ball()), {"x": 0, "y": 1, "x'": 1, "y'": 0}
    model = ch.Model(ball(), ch.Hamilton(), parameters=values(), start=start, t=(0, 3))
    for refused in (
        lambda: ch.prepare(equations, (0, 1)),
        lambda: ch.linearize(equations, start, parameters=values()),
        lambda: ch.transforms.tangent(equations, along=["e"]),
        lambda: ch.code(model, "numpy"),
        lambda: ch.code(model, "javascript"),
        lambda: ch.DynamicalForm.of(equations),
        lambda: ch.transforms.symmetries(equations),
        lambda: ch.transforms.hamiltonian(equations),
        equations.eliminate,
        lambda: ch.servo(ball(), follow=["x = t"], by={"u": {"x": "1"}}),
    ):
        with pytest.raises(ch.PrincipleError, match="contact floor opens and closes"):
            refused()
    for principle in (ch.Vakonomic(), ch.Herglotz()):
        with pytest.raises(ch.PrincipleError):
            ch.derive(ball(kinematic=["x = 0"]) if principle == ch.Vakonomic() else ball(action="s"), principle)
    motion = ch.simulate(ch.derive(ball()), start, (0, 3), parameters=values(e=1.5))
    assert motion.outcome is Outcome.LEFT_DOMAIN and "coefficient of restitution" in motion.message


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"a b": "y >= 0"}, "cannot be the name"),
        ({"floor": "y > 0"}, "not an inequality"),
        ({"floor": ("y >= 0", "2")}, "restitution is 2"),
        ({"floor": "y' >= 0"}, "contains a velocity"),
        ({"floor": "g >= 0"}, "no coordinate"),
        ("y >= 0", "given as str"),
        ({"s": "y >= 0"}, "reserved"),
        ({"floor": ("y >= 0", "q")}, "unknown name"),
    ],
)
def test_bad_contacts(given: object, word: str) -> None:
    with pytest.raises(ch.ChetaevError, match=word):
        ball(unilateral=given)


@pytest.mark.parametrize("span", [3.0, 1e5])
def test_rest_does_not_depend_on_the_duration_of_the_run(span: float) -> None:
    motion = ch.simulate(ch.derive(ball()), {"x": 0, "y": 1.3, "x'": 0, "y'": 0}, (0, span), parameters=values())
    assert motion.switches[-1].t == pytest.approx(3 * sqrt(2.6 / GRAVITY), abs=1e-4)
    last = motion.events[-1].t
    heights = [motion.at(float(t))["y"] for t in np.linspace(last, last + 1e-3, 5)]
    assert max(map(abs, heights)) < 2e-9


def test_three_balls_that_touch_share_one_impact() -> None:
    row = ch.System("a b c", "m", lagrangian="m/2*(a'^2 + b'^2 + c'^2)", unilateral={"ab": ("b >= a", 1), "bc": ("c >= b", 1)})
    motion = ch.simulate(ch.derive(row), {"a": -1, "b": 0, "c": 0, "a'": 1, "b'": 0, "c'": 0}, (0, 2), parameters={"m": 0.7})
    assert [motion.final[v] for v in ("a'", "b'", "c'")] == pytest.approx([-1 / 3, 2 / 3, 2 / 3], rel=1e-12)


def test_a_bead_with_friction_comes_to_rest_at_a_stop() -> None:
    """Friction by a bilateral row beside a contact. At rest the share of friction, between its limits, is not determined."""
    wire = ch.System(
        "x y",
        "m g mu a e",
        lagrangian="m/2*(x'^2 + y'^2) - m*g*(y*cos(a) - x*sin(a))",
        kinematic=["y = 0"],
        forces={"x": "-mu*abs(lambda1)*sign(x')"},
        unilateral={"stop": ("x <= 1", "e")},
    )
    given = {"m": 2.0, "g": GRAVITY, "mu": 0.1, "a": 0.2, "e": 0.5}
    motion = ch.simulate(ch.derive(wire, ch.DAlembert()), {"x": 0, "x'": 1}, (0, 4), parameters=given)
    rate = GRAVITY * (sin(0.2) - 0.1 * cos(0.2))
    assert motion.events[0].t == pytest.approx((sqrt(1 + 2 * rate) - 1) / rate, rel=1e-11)
    assert motion.outcome is Outcome.FINISHED and motion.final["x"] == pytest.approx(1, rel=1e-12)
    assert motion.final["lambda1"] == pytest.approx(2 * GRAVITY * cos(0.2), rel=1e-12)
    most = 2 * GRAVITY * (sin(0.2) + 0.1 * cos(0.2))
    assert 2 * rate * (1 - 1e-9) <= motion.final["lambda_stop"] <= most * (1 + 1e-9)


def test_a_group_coordinate_hits_the_floor() -> None:
    """A plank as an element of SE2 and in coordinates is the same motion."""
    turned = ch.System(
        {"A": "SE2 body"},
        "m J g e",
        lagrangian="m/2*(A1'^2 + A2'^2) + J/2*A3'^2 - m*g*A23",
        unilateral={"left": ("A23 - A21 >= 0", "e")},
    )
    plain = ch.System("y theta", "m J g e", lagrangian="m/2*y'^2 + J/2*theta'^2 - m*g*y", unilateral={"left": ("y >= sin(theta)", "e")})
    given = {"m": 1.0, "J": 0.2, "g": GRAVITY, "e": 0.3}
    matrix = [[cos(0.2), -sin(0.2), 0], [sin(0.2), cos(0.2), 0.5], [0, 0, 1]]
    one = ch.simulate(ch.derive(turned), {"A": matrix, "A1'": 0, "A2'": 0, "A3'": 0}, (0, 0.4), parameters=given)
    two = ch.simulate(ch.derive(plain), {"y": 0.5, "theta": 0.2, "y'": 0, "theta'": 0}, (0, 0.4), parameters=given)
    assert one.final["A23"] == pytest.approx(two.final["y"], abs=1e-8)
    assert one.final["A3'"] == pytest.approx(two.final["theta'"], rel=1e-8)
    assert one.events[0].t == pytest.approx(two.events[0].t, rel=1e-10)


def test_a_contact_that_never_opens_is_a_row() -> None:
    """A bead in a bowl under an input that jumps: the same motion and the same force as with the row y = x^2/2."""
    times = np.linspace(0, 2, 9)
    parts = {"lagrangian": "m/2*(x'^2 + y'^2) - m*g*y", "forces": {"x": "u"}, "inputs": {"u": None}, "dissipation": "x'^2/5"}
    bowl = ch.System("x y", "m g", unilateral={"bowl": ("y >= x^2/2", 0)}, **parts)  # type: ignore[arg-type]
    held = ch.System("x y", "m g", kinematic=["y = x^2/2"], **parts)  # type: ignore[arg-type]
    given = {"parameters": {"m": 1.0, "g": GRAVITY}, "inputs": {"u": ch.Sampled(times, np.sin(times), "hold")}}
    one = ch.simulate(ch.derive(bowl), {"x": 1, "y": 0.5, "x'": 0, "y'": 0}, (0, 2), **given)  # type: ignore[arg-type]
    two = ch.simulate(ch.derive(held, ch.DAlembert()), {"x": 1, "x'": 0}, (0, 2), **given)  # type: ignore[arg-type]
    assert one.outcome is Outcome.FINISHED and not one.switches
    assert one.final["x"] == pytest.approx(two.final["x"], abs=1e-9)
    assert one.final["lambda_bowl"] == pytest.approx(two.final["lambda1"], rel=1e-9)


@pytest.mark.parametrize("more", [{}, {"slopes": ["g"]}])
def test_a_body_comes_to_rest_in_the_corner_of_two_walls(more: dict[str, list[str]]) -> None:
    """It slides down one wall into a right angle: the last impact leaves no velocity, and each wall carries g/sqrt(2) of length sqrt(2)."""
    valley = ch.System("x y", "g", lagrangian="(x'^2 + y'^2)/2 - g*y", unilateral={"a": ("y >= x", 0), "b": ("y >= -x", 0)})
    motion = ch.simulate(ch.derive(valley), {"x": 0.1, "x'": 0, "y": 1, "y'": 0}, (0, 5), parameters={"g": 2}, **more)  # type: ignore[arg-type]
    assert motion.outcome is Outcome.FINISHED
    assert [motion.final[name] for name in ("x", "y", "x'", "y'")] == pytest.approx([0, 0, 0, 0], abs=1e-12)
    assert [motion.final["lambda_a"], motion.final["lambda_b"]] == pytest.approx([1, 1], rel=1e-12)
