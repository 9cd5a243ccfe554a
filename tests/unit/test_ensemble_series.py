"""Ensembles that keep series: states at given times, single members, tables, files, events and choices."""

from __future__ import annotations

import pickle
from functools import cache

import numpy as np
import pytest

import chetaev as ch
from chetaev.numerics.ensemble import many, series

TIMES = np.linspace(0, 5, 11)


@cache
def _spring():
    return ch.derive(ch.System("x", "k", lagrangian="x'^2/2 - k*x^2/2"))


@cache
def _pendulum():
    """In Cartesian coordinates, with a multiplier."""
    return ch.derive(ch.System("x y", "g", lagrangian="(x'^2 + y'^2)/2 - g*y", kinematic=["x^2 + y^2 = 1"]), ch.DAlembert())


def _springs(t=TIMES, **options):
    starts = {"x": np.linspace(1, 2, 40), "x'": np.linspace(-1, 1, 40)}
    return ch.simulate_many(_spring(), starts, t, parameters={"k": np.linspace(0.5, 4, 40)}, tolerance=1e-11, **options)


def test_series_of_springs_are_cosines():
    found = _springs()
    a, b, w = np.linspace(1, 2, 40)[:, None], np.linspace(-1, 1, 40)[:, None], np.sqrt(np.linspace(0.5, 4, 40))[:, None]
    assert found["x"].shape == (40, 11) and (found.times == TIMES).all()
    np.testing.assert_allclose(found["x"], a * np.cos(w * TIMES) + b / w * np.sin(w * TIMES), atol=1e-9)
    np.testing.assert_allclose(found["x'"], b * np.cos(w * TIMES) - a * w * np.sin(w * TIMES), atol=1e-9)
    np.testing.assert_allclose(found["x''/x"], np.broadcast_to(-(w**2), (40, 11)), rtol=1e-9)
    np.testing.assert_allclose(found["x'^2/2 + k*x^2/2"], np.broadcast_to((b**2 + w**2 * a**2) / 2, (40, 11)), rtol=1e-9)
    assert (found["x"][:, -1] == found.final["x"]).all()


@pytest.mark.parametrize("times", [TIMES, TIMES[::-1], [0, 0.1, 7.0]])
def test_a_member_is_the_motion_of_simulate(times):
    found = _springs(times)
    for k in (0, 17, -1):
        motion = found[k]
        own = {"x": np.linspace(1, 2, 40)[k], "x'": np.linspace(-1, 1, 40)[k]}
        alone = ch.simulate(_spring(), own, times, parameters={"k": np.linspace(0.5, 4, 40)[k]}, tolerance=1e-11)
        assert isinstance(motion, ch.Trajectory) and motion.certificate.ok
        assert (motion["x"] == found["x"][k]).all() and (alone["x"] == found["x"][k]).all() and (alone["x'"] == motion["x'"]).all()


def test_without_times_the_ends_are_read_and_a_member_has_all_its_steps():
    found = _springs((0, 5))
    assert found.series is None and found.times is None and (found["x"] == found.final["x"]).all()
    motion = found[3]
    assert motion.final["x"] == found["x"][3] and len(motion.t) > 3 and isinstance(motion.at(2.5)["x'"], float)
    with pytest.raises(IndexError):
        found[40]
    with pytest.raises(ch.UsageError, match="neither a name nor the number"):
        found[1.5]


def test_multipliers_along_the_series_are_the_tension():
    a = np.linspace(0.1, 3.0, 12)
    found = ch.simulate_many(
        _pendulum(), {"x": np.sin(a), "y": -np.cos(a), "x'": 0, "y'": 0}, [0, 0.3, 1.1, 2], parameters={"g": 9.81}, tolerance=1e-11
    )
    x, y, u, v = (found[z] for z in ("x", "y", "x'", "y'"))
    pull = found["x''"] / x  # x'' = 2 lambda x with the row x^2 + y^2 = 1
    np.testing.assert_allclose(pull, 9.81 * y - u**2 - v**2, rtol=1e-7)
    np.testing.assert_allclose(np.abs(found["lambda1"]), np.abs(pull) / 2, rtol=1e-9)
    np.testing.assert_allclose((u**2 + v**2) / 2 + 9.81 * y, np.broadcast_to(-9.81 * np.cos(a)[:, None], y.shape), atol=1e-8)


@pytest.mark.parametrize("method", [None, ch.Taylor(), ch.Implicit()], ids=str)
def test_states_at_given_times_satisfy_the_constraints_to_round_off(method):
    """Also at a coarse tolerance, where polynomials between the steps leave the circle by a millionth."""
    start, times, options = {"x": 0.6, "y": -0.8, "x'": 0.3}, np.linspace(0, 5, 37), {"tolerance": 1e-6, "method": method}
    alone = ch.simulate(_pendulum(), start, times, parameters={"g": 9.81}, **options)
    together = ch.simulate_many(_pendulum(), start, times, parameters={"g": np.full(9, 9.81)}, **options)
    for motion in (alone, together):
        x, y, u, v = (motion[name] for name in ("x", "y", "x'", "y'"))
        assert np.abs(x * x + y * y - 1).max() < 1e-15 and np.abs(x * u + y * v).max() < 2e-15


def test_members_that_end_early_have_no_numbers_afterwards():
    wall = ch.derive(ch.System("x", "b", lagrangian="x'^2/2 - sqrt(b - x)"))
    found = ch.simulate_many(wall, {"x": 0, "x'": 1}, np.linspace(0, 2, 21), parameters={"b": [1.0, 50.0, 0.5]})
    assert found.outcome.tolist() == [ch.Outcome.LEFT_DOMAIN, ch.Outcome.FINISHED, ch.Outcome.LEFT_DOMAIN]
    kept = np.isfinite(found["x"])
    assert kept[1].all() and kept[0].sum() == np.sum(found.times <= found.t[0]) and (np.isfinite(found["x^2"]) == kept).all()


def test_corners_and_switches_by_member():
    block = ch.derive(ch.System("x", "mu", lagrangian="x'^2/2 - x^2/2", forces={"x": "-mu*sign(x')"}))
    start = {"x": [1.0, 2.0], "x'": 0.5}
    found = ch.simulate_many(block, start, np.linspace(0, 3, 7), parameters={"mu": 0.1})
    for k in range(2):
        alone = ch.simulate(block, {"x": start["x"][k], "x'": 0.5}, np.linspace(0, 3, 7), parameters={"mu": 0.1})
        assert (found["x"][k] == alone["x"]).all() and (found["x''"][k] == alone["x''"]).all()
        assert found.switches[k] == alone.switches and len(alone.switches) == 1
        t, v = alone.switches[0].t, 0.5  # x'' = -x - mu until x' = 0
        assert t == pytest.approx(np.arctan2(v, start["x"][k] + 0.1), abs=1e-8)


def test_events_by_member():
    ball = ch.derive(ch.System("z", lagrangian="z'^2/2 - z"))
    events = [ch.On("z", direction=-1, terminal=True)]
    found = ch.simulate_many(ball, {"z": [0.5, 2.0, 50.0], "z'": 0}, (0, 5), events=events)
    assert found.outcome.tolist() == [ch.Outcome.EVENT, ch.Outcome.EVENT, ch.Outcome.FINISHED]
    np.testing.assert_allclose(found.t, [1.0, 2.0, 5.0], atol=1e-12)
    assert [len(found.events[k]) for k in range(3)] == [1, 1, 0] and found.events[1][0].t == pytest.approx(2.0, abs=1e-12)
    assert found[1].events == found.events[1] and len(found.events) == 3
    with pytest.raises(ch.UsageError, match="not given as a list"):
        ch.simulate_many(ball, {"z": [1, 2], "z'": 0}, (0, 1), events="z")


def test_tables():
    found = _springs()
    data = found.to_xarray()
    assert data["x"].dims == ("member", "t") and data.sizes == {"member": 40, "t": 11}
    assert (data["x"].sel(member=3).values == found["x"][3]).all() and (data["k"].values == np.linspace(0.5, 4, 40)).all()
    assert set(data["outcome"].values) == {"finished"} and "x''" in data
    frame = found.to_pandas()
    assert frame.loc[(5, TIMES[2]), "x'"] == found["x'"][5, 2] and len(frame) == 440
    ends = _springs((0, 5))
    assert ends.to_xarray()["x"].dims == ("member",) and ends.to_pandas().loc[7, "x"] == ends["x"][7]


def test_an_ensemble_pickles_with_its_series():
    found = pickle.loads(pickle.dumps(_springs()))  # noqa: S301
    again = _springs()
    assert (found["x'"] == again["x'"]).all() and (found["x^2"] == again["x^2"]).all() and (found[4]["x"] == again["x"][4]).all()
    assert found.message(3) == again.message(3)


# ------------------------------------------------------------ room


def test_series_in_a_file_and_in_an_array_of_the_caller(tmp_path):
    usual = _springs()
    stored = _springs(series=tmp_path / "states.npy")
    assert isinstance(stored.series.states, np.memmap) and (stored["x"] == usual["x"]).all()
    stored.series.states.flush()
    assert (np.load(tmp_path / "states.npy")[:, :, 0] == usual["x"]).all()
    room = np.zeros((40, 11, 2))
    assert (_springs(series=room)["x'"] == usual["x'"]).all() and (room[:, :, 1] == usual["x'"]).all()


def test_room_that_does_not_fit_is_refused_before_the_run(tmp_path, monkeypatch):
    with pytest.raises(ch.UsageError, match=r"shape \(40, 11, 3\)"):
        _springs(series=np.zeros((40, 11, 3)))
    with pytest.raises(ch.UsageError, match="no array of floats"):
        _springs(series=np.zeros((40, 11, 2), np.float32))
    with pytest.raises(ch.UsageError, match="NumPy's format"):
        _springs(series=tmp_path / "states.txt")
    with pytest.raises(ch.UsageError, match="cannot be written"):
        _springs(series=tmp_path / "nowhere" / "states.npy")
    with pytest.raises(ch.UsageError, match="without times"):
        _springs((0, 5), series=np.zeros((40, 2, 2)))
    monkeypatch.setattr(series, "free_memory", lambda: 10_000.0)
    with pytest.raises(ch.UsageError, match="40 members, 11 times, 2 numbers each") as told:
        _springs()
    assert 'series="states.npy"' in str(told.value)


def test_blocks_of_members_are_invisible(monkeypatch):
    usual = _springs()
    monkeypatch.setattr(many, "_BLOCK", 7)
    found = _springs()
    assert (found["x"] == usual["x"]).all() and (found.final["x'"] == usual.final["x'"]).all()
    assert [found.message(k) for k in range(40)] == [usual.message(k) for k in range(40)]
    starts = [{"x": 1.0, "x'": 0.0}, {"x": np.nan, "x'": 0.0}, {"x": 2.0}, *[{"x": 1.0, "x'": float(k)} for k in range(20)]]
    mixed = ch.simulate_many(_spring(), starts, (0, 1), parameters={"k": 1.0})
    assert mixed.started.tolist() == [True, False, False, *[True] * 20] and "not finite" in mixed.message(1)
    assert mixed.final["x"][22] == pytest.approx(np.cos(1) + 19 * np.sin(1), abs=1e-8)


# ------------------------------------------------------------ choices


def test_a_gauge_for_all_members():
    """Cawley's system on q3 = 0: q1'' = q2^2/2 with any function q2, here sin(t)."""
    starts = {"q1": [0.0, 0.5], "q1'": [1.0, -1.0], "q3": 0.0, "q3'": 0.0}
    found = ch.simulate_many(ch.derive(ch.gallery("cawley")), starts, (0, 2), gauge={"q2": "sin(t)"}, tolerance=1e-11)
    q, v = np.array(starts["q1"]), np.array(starts["q1'"])
    np.testing.assert_allclose(found.final["q1"], q + 2 * v + 0.5 * (4 / 4 - np.sin(2) ** 2 / 4), atol=1e-9)
    np.testing.assert_allclose(found.final["q2"], np.sin(2), atol=1e-12)


def test_a_branch_for_all_members():
    """Cawley's system, L = q1' q3' + q2^2 q3/2: on the branch q2 = 0 both other coordinates move uniformly."""
    starts = {"q1": [0.0, 1.0], "q1'": [1.0, -2.0], "q3": [0.7, 0.5], "q3'": [-0.4, 3.0]}
    found = ch.simulate_many(ch.derive(ch.gallery("cawley")), starts, [0, 0.5, 1], branch="q2 = 0")
    q, v = np.array(starts["q3"])[:, None], np.array(starts["q3'"])[:, None]
    np.testing.assert_allclose(found["q3"], q + v * found.times, atol=1e-12)
    np.testing.assert_allclose(found["q1"][:, -1], [1.0, -1.0], atol=1e-12)
    assert (found["q2"] == 0).all() and (found[1]["q3"] == found["q3"][1]).all()
    with pytest.raises(ch.BranchError):
        ch.simulate_many(ch.derive(ch.gallery("cawley")), starts, (0, 1), branch="q1 = 0")


def test_sections_of_an_ensemble():
    """x = a cos(w t) crosses zero upwards at w t = 3 pi/2."""
    found = ch.simulate_many(_spring(), {"x": [1.0, 2.0, 3.0], "x'": 0}, (0, 4), parameters={"k": [4.0, 9.0, 0.01]}, tolerance=1e-11)
    crossed = ch.orbits.section(found, "x = 0", direction=1)
    assert crossed.member.tolist() == [0, 1, 1]
    np.testing.assert_allclose(crossed.t[:2], [1.5 * np.pi / 2, 1.5 * np.pi / 3], atol=1e-9)


@pytest.mark.parametrize("members", [5, 140])
def test_series_go_on_where_another_order_of_elimination_does(members):
    """Sleighs that turn through right angles, where the pivot x' of their constraint vanishes; few members run alone, many side by side."""
    model = ch.gallery("sleigh")
    equations, times = ch.derive(model), np.linspace(0, 3, 8)
    theta, spin = np.linspace(-0.5, 0.5, members), np.linspace(1.0, 3.0, members)
    starts = {"x": 0.0, "y": 0.0, "theta": theta, "x'": np.cos(theta), "theta'": spin}
    found = ch.simulate_many(equations, starts, times, parameters=model.parameters)
    assert (found.outcome == ch.Outcome.FINISHED).all() and np.isfinite(found["y'"]).all()
    np.testing.assert_allclose(found["x'*sin(theta) - y'*cos(theta)"], 0, atol=1e-8)
    for k in (0, members // 2, members - 1):
        own = {z: float(v[k]) if np.ndim(v) else v for z, v in starts.items()}
        alone = ch.simulate(equations, own, times, parameters=model.parameters)
        assert all((alone[z] == found[z][k]).all() for z in ("x", "y", "theta", "x'", "y'", "theta'"))
    assert np.abs(found["theta"]).max() > np.pi / 2
