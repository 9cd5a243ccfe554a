"""Events that change the state: impacts, accumulation, and what is stored where the state jumps."""

import math
import re

import numpy as np
import pytest

import chetaev as ch
from chetaev.numerics.motion.storage import load, save

BALL = ch.derive(ch.System("z", "g e", lagrangian="z'^2/2 - g*z", name="ball"))
BOUNCE = ch.On("z", direction=-1, reset={"z'": "-e*z'"})
G, E = 9.81, 0.8
FALL = math.sqrt(2 / G)
METHODS = [None, ch.Implicit(), ch.Taylor()]


def bouncing(end, **options):
    options = {"events": [BOUNCE], "tolerance": 1e-11, **options}
    return ch.simulate(BALL, {"z": 1, "z'": 0}, end if np.ndim(end) else (0, end), parameters={"g": G, "e": E}, **options)


def impacts(count):
    """Times of the first impacts of a ball dropped from height 1."""
    return np.array([FALL * (1 + 2 * sum(E**k for k in range(1, n + 1))) for n in range(count)])


def height(t):
    """The closed form, for times before the accumulation."""
    times = impacts(60)
    n = int(np.searchsorted(times, t, side="right"))
    if n == 0:
        return 1 - G * t**2 / 2
    s = t - times[n - 1]
    return E**n * G * FALL * s - G * s**2 / 2


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_a_bouncing_ball_follows_the_closed_form(method):
    motion = bouncing(3.0, method=method)
    assert motion.outcome == "finished"
    assert [e.t for e in motion.events] == pytest.approx(impacts(len(motion.events)), abs=1e-10)
    assert len(motion.events) == 6
    t = np.linspace(0, 3, 200)
    assert motion.at(t)["z"] == pytest.approx([height(s) for s in t], abs=1e-9)
    assert motion.verify().worst < 1e-8


def test_the_state_has_two_values_at_an_impact():
    motion = bouncing(1.0)
    k = int(np.flatnonzero(np.diff(motion.t) == 0)[0])
    speed = G * FALL
    assert motion["z'"][k : k + 2] == pytest.approx([-speed, E * speed], abs=1e-9)
    assert motion.at(motion.t[k])["z'"] == motion["z'"][k + 1]
    assert motion.events[0].state["z'"] == pytest.approx(-speed, abs=1e-9)
    assert motion["z''"][k : k + 2] == pytest.approx([-G, -G])


def test_energy_falls_at_impacts_and_the_balance_knows_it():
    motion = bouncing(2.0)
    k = int(np.flatnonzero(np.diff(motion.t) == 0)[0])
    assert motion.energy[k + 1] == pytest.approx(E**2 * motion.energy[k], abs=1e-9)
    assert np.abs(motion.balance).max() < 1e-10
    assert motion.drift["balance"] < 1e-10


def test_conserving_energy_between_impacts():
    pendulum = ch.gallery("cartesian-pendulum")
    wall = ch.On("x", reset={"x'": "-0.9*x'", "y'": "-0.9*y'"})
    motion = ch.simulate(pendulum, t=(0, 20), tolerance=1e-8, events=[wall], conserve="energy")
    assert len(motion.events) > 3
    assert motion.drift["balance"] < 1e-12
    levels = np.unique(np.round(motion.energy, 9))
    assert len(levels) == len(motion.events) + 1


def test_impacts_that_accumulate_are_an_outcome_with_the_limit():
    motion = bouncing(10.0)
    limit = FALL * (1 + E) / (1 - E)
    assert motion.outcome == "step_too_small"
    assert motion.message.startswith("events z = 0 follow each other without end")
    assert float(re.search(r"accumulate at t = ([0-9.]+)\.  ", motion.message)[1]) == pytest.approx(limit, abs=1e-9)
    assert motion.end[0] == pytest.approx(limit, abs=1e-6)


@pytest.mark.parametrize(("event", "down", "gap"), [("z", 1, "z >= 0"), ("2 - 3*z", -1, "2 - 3*z <= 0")])
def test_the_message_of_an_accumulation_names_the_contact_that_carries_the_motion_on(event, down, gap):
    """The contact that the message proposes ends at rest on the floor, where g = lambda/m."""
    bounce = ch.On(event, direction=-down, reset={"z'": "-e*z'"})
    start, values = {"z": 1, "z'": 0}, {"g": G, "e": 0.3}
    told = ch.simulate(BALL, start, (0, 4), parameters=values, events=[bounce]).message
    proposed = re.search(r"state (.*) as unilateral", told)[1]
    assert proposed == gap
    ball = ch.System("z", "g e", lagrangian="z'^2/2 - g*z", unilateral={"floor": (proposed, "e")})
    motion = ch.simulate(ch.derive(ball), start, (0, 4), parameters=values)
    assert motion.outcome == "finished" and motion.final["z''"] == pytest.approx(0, abs=1e-9)


def test_no_contact_is_proposed_for_events_of_velocities():
    bounce = ch.On("z + z'/1e6", direction=-1, reset={"z'": "-e*z'"})
    told = bouncing(5.0, events=[bounce]).message
    assert "follow each other without end" in told and "unilateral" not in told


def test_chosen_times_and_the_end_only():
    times = np.array([0, 0.3, 0.7, 1.0, 2.2, 3.0])
    kept = bouncing(times)
    assert np.array_equal(kept.t, times)
    assert kept["z"] == pytest.approx([height(t) for t in times], abs=1e-9)
    final = bouncing(3.0, keep="final")
    assert final.final["z"] == pytest.approx(height(3.0), abs=1e-9)
    assert final.extrema["z"] == pytest.approx((0.0, 1.0), abs=1e-9)
    assert len(final.reader.pieces) == 1


def test_a_time_that_is_the_time_of_a_reset_shows_the_state_after_it():
    clock = ch.derive(ch.System("x", lagrangian="x'^2/2"))
    kick = ch.On("t - 1", reset={"x'": "x' + 1"})
    kept = ch.simulate(clock, {"x": 0, "x'": 1}, [0, 0.5, 1, 2], events=[kick])
    assert np.array_equal(kept.t, [0, 0.5, 1, 2])
    assert kept["x"] == pytest.approx([0, 0.5, 1, 3])
    assert kept["x'"][[0, 1, 3]] == pytest.approx([1, 1, 2])
    assert kept["x'"][2] in (1.0, 2.0)


def test_a_reset_is_completed_by_the_constraints():
    """A pendulum in Cartesian coordinates meets a wall at x = 0.2: x' is given, y' follows, the position stays."""
    model = ch.gallery("cartesian-pendulum")
    motion = ch.simulate(model, t=(0, 3), tolerance=1e-11, events=[ch.On("x - 1/5", direction=-1, reset={"x'": "-x'/2"})])
    before = motion.events[0].state
    after = motion.at(motion.events[0].t)
    assert after["x'"] == pytest.approx(-before["x'"] / 2)
    assert after["y'"] == pytest.approx(-before["y'"] / 2, abs=1e-9)
    assert (after["x"], after["y"]) == pytest.approx((before["x"], before["y"]), abs=1e-12)
    assert max(size for label, size in motion.drift.items() if label != "balance") < 1e-12
    assert motion.verify().worst < 1e-8


def test_a_reset_that_contradicts_the_constraints_is_an_error():
    model = ch.gallery("cartesian-pendulum")
    with pytest.raises(ch.InitialError, match="reset where x = 0") as caught:
        ch.simulate(model, t=(0, 3), events=[ch.On("x", reset={"x'": "1", "y'": "1"})])
    assert "kinematic[0]'" in str(caught.value)


def test_a_reset_may_use_multipliers_and_numbers():
    model = ch.gallery("cartesian-pendulum")
    motion = ch.simulate(model, t=(0, 1), tolerance=1e-11, events=[ch.On("x", reset={"x'": "lambda1"})])
    plain = ch.simulate(model, t=(0, 1), tolerance=1e-11, events=[ch.On("x", terminal=True)])
    assert motion.at(plain.end[0])["x'"] == pytest.approx(plain.final["lambda1"], abs=1e-8)
    motion = ch.simulate(BALL, {"z": 1, "z'": 0}, (0, 1), parameters={"g": G, "e": E}, events=[ch.On("z", reset={"z": 2, "z'": 0})])
    assert motion.final["z"] == pytest.approx(2 - G * (1 - FALL) ** 2 / 2, abs=1e-8)


def test_a_reset_chooses_the_modes_anew():
    """A ball with drag of constant size: it decelerates by g + mu on the way up and accelerates by g - mu on the way down."""
    mu = 2.0
    drag = ch.derive(ch.System("z", "g e mu", lagrangian="z'^2/2 - g*z", dissipation="mu*abs(z')"))
    motion = ch.simulate(drag, {"z": 1, "z'": 0}, (0, 1.0), parameters={"g": G, "e": 1, "mu": mu}, tolerance=1e-11, events=[BOUNCE])
    speed = math.sqrt(2 * (G - mu))
    assert motion.events[0].t == pytest.approx(speed / (G - mu), abs=1e-10)
    assert motion.switches[-1].t == pytest.approx(speed / (G - mu) + speed / (G + mu), abs=1e-10)
    assert motion.at(motion.switches[-1].t)["z"] == pytest.approx((G - mu) / (G + mu), abs=1e-10)
    assert np.abs(motion.balance).max() < 1e-9


def test_backwards_in_time():
    """A ball that gains speed at every impact, backwards: the inverse of the closed form."""
    there = bouncing(1.0, tolerance=1e-12)
    back = ch.simulate(
        BALL, there.final, (1, 0), parameters={"g": G, "e": E}, events=[ch.On("z", direction=-1, reset={"z'": "-z'/e"})], tolerance=1e-12
    )
    assert back.final["z"] == pytest.approx(1.0, abs=1e-9)


def test_resets_come_back_from_files(tmp_path):
    motion = bouncing(2.0)
    again = load(save(motion, tmp_path / "ball.npz"))
    assert np.array_equal(again.t, motion.t)
    assert np.array_equal(again["z'"], motion["z'"])
    assert np.array_equal(again.energy, motion.energy)
    assert np.array_equal(again.balance, motion.balance)
    assert again.events == motion.events
    assert again.at(motion.events[0].t)["z'"] == motion.at(motion.events[0].t)["z'"]


@pytest.mark.parametrize(
    ("event", "match"),
    [
        (ch.On("z", reset={"z''": 0}), "cannot be reset"),
        (ch.On("z", reset={"g": 0}), "cannot be reset"),
        (ch.On("z", direction=2), "direction"),
    ],
)
def test_events_that_make_no_sense_are_refused(event, match):
    with pytest.raises(ch.UsageError, match=match):
        bouncing(1.0, events=[event])


def test_what_is_no_event_is_refused():
    with pytest.raises(ch.UsageError, match="by name"):
        ch.On("z", reset="z' = 0")
    with pytest.raises(ch.UsageError, match="list"):
        bouncing(1.0, events="z")
    with pytest.raises(ch.NotationError):
        bouncing(1.0, events=[ch.On("z", reset={"z'": "-f*z'"})])
