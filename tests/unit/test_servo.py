"""Servo-constraints: actuator forces by Newton's laws, and what a reaction normal to the row would give instead."""

import numpy as np
import pytest

import chetaev as ch

TROLLEY = ch.System("x th", "m g l", lagrangian="x'^2/2 + m*(x'^2 + 2*l*x'*th'*cos(th) + l^2*th'^2)/2 + m*g*l*cos(th)", name="trolley")
VALUES = {"m": 2.0, "g": 9.81, "l": 0.8}


def test_the_force_that_moves_a_trolley():
    """By Newton: u = x'' + m d^2/dt^2 (x + l sin th), and l th'' + x'' cos th + g sin th = 0."""
    model = ch.servo(TROLLEY, ["x = sin(2*t)"], {"u": {"x": "1"}})
    motion = ch.simulate(model, {"th": 0.3, "th'": -0.4}, (0, 2), parameters=VALUES, tolerance=1e-11)
    th, rate, t = motion["th"], motion["th'"], motion.t
    x2 = -4 * np.sin(2 * t)
    th2 = -(x2 * np.cos(th) + 9.81 * np.sin(th)) / 0.8
    force = x2 + 2.0 * (x2 + 0.8 * (th2 * np.cos(th) - rate**2 * np.sin(th)))
    np.testing.assert_allclose(motion["u"], force, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(motion["th''"], th2, rtol=1e-9, atol=1e-9)
    assert motion.outcome == "finished"


def test_the_actuator_acts_where_it_is_and_not_along_the_row():
    """The load follows a path while the force acts on the trolley: E_th has no reaction, and th'' follows from the row alone."""
    model = ch.servo(TROLLEY, ["x + l*sin(th) = t^3"], {"u": {"x": "1"}})
    now = ch.evaluate(model, {"th": 0.4, "th'": 0.1}, parameters=VALUES, t=0.5)
    assert now["th''"] * 0.8 + now["x''"] * np.cos(0.4) + 9.81 * np.sin(0.4) == pytest.approx(0, abs=1e-10)
    assert now["x''"] + 0.8 * (now["th''"] * np.cos(0.4) - 0.01 * np.sin(0.4)) == pytest.approx(3.0, rel=1e-12)
    assert now["u"] == pytest.approx(now["x''"] + 2.0 * 3.0, rel=1e-12)


def test_loss_of_rank_is_told():
    model = ch.servo(TROLLEY, ["x + l*sin(th) = t^3"], {"u": {"x": "1"}})
    assert "cos(th) - 1" in str(ch.analyze(model)) or "sin(th)" in str(ch.analyze(model))
    with pytest.raises(ch.StateError):
        ch.evaluate(model, {"th": 0, "th'": 0.1}, parameters=VALUES, t=0.5)


def test_an_input_of_the_forces_becomes_the_actuator():
    system = TROLLEY.replace(inputs={"u": None, "s": None}, forces={"x": "2*u - x'", "th": "u*cos(th)"})
    model = ch.servo(system, {"place": "x = 3*s"}, ["u"])
    now = ch.evaluate(model, {"th": 0.2, "th'": 0.7}, parameters=VALUES, inputs={"s": "sin(t)"}, t=0.6)
    values = {**VALUES, "x2": -3 * np.sin(0.6), "x1": 3 * np.cos(0.6)}
    c, s = np.cos(0.2), np.sin(0.2)
    # unknowns th'' and u: rows of E_th and E_x
    m, g, l = VALUES.values()
    th2, u = np.linalg.solve(
        [[m * l**2, -c], [m * l * c, -2]],
        [-m * l * values["x2"] * c - m * g * l * s, -(1 + m) * values["x2"] + m * l * 0.49 * s - values["x1"]],
    )
    assert (now["th''"], now["u"]) == (pytest.approx(th2, rel=1e-12), pytest.approx(u, rel=1e-12))


def test_rows_of_the_system_keep_their_reactions():
    sleigh = ch.System(
        "x y theta", "m J", lagrangian="m/2*(x'^2 + y'^2) + J/2*theta'^2", kinematic={"blade": "y'*cos(theta) = x'*sin(theta)"}
    )
    model = ch.servo(sleigh, ["theta' = cos(t)"], {"T": {"theta": "1"}})
    motion = ch.simulate(model, {"x": 0, "y": 0, "theta": 0.2, "x'": np.cos(0.2)}, (0, 2), parameters={"m": 1.5, "J": 2})
    np.testing.assert_allclose(motion["T"], -2 * np.sin(motion.t), atol=1e-8)
    np.testing.assert_allclose(motion["lambda1"], 1.5 * np.cos(motion.t), atol=1e-7)  # m v theta' with v = 1


def test_a_servo_model_survives_its_file(tmp_path):
    model = ch.servo(ch.Model(TROLLEY, ch.Hamilton(), VALUES, {"th": 0.3, "th'": -0.4}, (0, 1)), ["x = sin(2*t)"], {"u": {"x": "1"}})
    ch.save(model, tmp_path / "servo.toml")
    again = ch.simulate(ch.load(tmp_path / "servo.toml"))
    assert again.final["u"] == ch.simulate(model).final["u"]


def test_refusals():
    with pytest.raises(ch.UsageError, match="2 row"):
        ch.servo(TROLLEY, ["x = t", "th = t"], {"u": {"x": "1"}})
    with pytest.raises(ch.ModelError, match="taken"):
        ch.servo(TROLLEY, ["x = t"], {"m": {"x": "1"}})
    with pytest.raises(ch.ModelError, match="z is not a coordinate"):
        ch.servo(TROLLEY, ["x = t"], {"u": {"z": "1"}})
    with pytest.raises(ch.ModelError, match="no direction"):
        ch.servo(TROLLEY, ["x = t"], {"u": {"x": "0"}})
    with pytest.raises(ch.ModelError, match="u is not an open input"):
        ch.servo(TROLLEY, ["x = t"], ["u"])
