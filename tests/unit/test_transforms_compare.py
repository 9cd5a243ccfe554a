"""compare: principles side by side, and multipliers that make vakonomic motions those of another principle."""

import numpy as np
import pytest

import chetaev as ch

DISK = ch.System(
    "x y theta phi",
    lagrangian="(x'^2 + y'^2 + theta'^2 + phi'^2)/2",
    kinematic=["x' = theta'*cos(phi)", "y' = theta'*sin(phi)"],
    name="unit disk",
)
START = {"x": 0.1, "y": -0.2, "theta": 0.3, "phi": 0.4, "theta'": 1.5, "phi'": 0.7}


def test_the_rolling_disk_coincides_for_one_set_of_multipliers():
    """002, end of section 5 in our signs: lambda(0) = -theta'*(cos(phi), sin(phi))."""
    found = ch.compare(DISK, [ch.DAlembert(), ch.Vakonomic()], {**START, "lambda1": 0.6, "lambda2": -0.45}, (0, 3))
    (pair,) = found.pairs
    assert pair.identical is False
    assert pair.reason == "the constraints are not integrable"
    assert pair.coinciding["lambda1"] == pytest.approx(-1.5 * np.cos(0.4), abs=1e-8)
    assert pair.coinciding["lambda2"] == pytest.approx(-1.5 * np.sin(0.4), abs=1e-8)
    assert pair.distance[0] == 0
    assert pair.distance[-1] > 0.1
    first, second = found[ch.DAlembert()], found[ch.Vakonomic()]
    apart = {name: np.abs(first[name] - second[name]).max() for name in ("x", "y", "theta", "phi")}
    assert f"largest differences here: {', '.join(f'{name} {size:.3g}' for name, size in apart.items())}" in str(found)
    assert "the motions coincide for lambda1 = -1.38159, lambda2 = -0.584128 at the start" in str(found)
    phi = START["phi"] + 0.7 * found.t
    assert np.abs(found[ch.DAlembert()]["phi"] - phi).max() < 1e-9
    agreeing = ch.simulate(ch.derive(DISK, ch.Vakonomic()), {**START, **pair.coinciding}, found.t, tolerance=1e-11)
    assert np.abs(agreeing["x"] - found[ch.DAlembert()]["x"]).max() < 1e-7


def test_principles_that_agree_are_said_to():
    ring = ch.System("x y", "g", lagrangian="x'^2/2 + y'^2/2 - g*y", kinematic=["x^2 + y^2 = 1"], name="ring")
    found = ch.compare(ring, [ch.DAlembert(), ch.Chetaev(), ch.Vakonomic()], {"x": 1, "y": 0, "y'": 0.3}, (0, 1), parameters={"g": 9.81})
    assert [pair.identical for pair in found.pairs] == [True, True, True]
    assert [pair.reason for pair in found.pairs] == [
        "the equations are the same, row by row",
        "the constraints are holonomic",
        "the constraints are holonomic",
    ]
    assert max(pair.distance.max() for pair in found.pairs) < 1e-8


def test_a_vakonomic_motion_that_no_multiplier_makes_nonholonomic():
    """The sleigh: under d'Alembert it settles, under the vakonomic principle it never does, whatever lambda1."""
    model = ch.gallery("sleigh")
    found = ch.compare(model, t=(0, 2))
    assert found.pairs[0].searched
    assert found.pairs[0].coinciding is None
    assert "no initial multipliers were found for which the motions coincide" in str(found)


def test_a_disk_on_a_slope_coincides_with_no_vakonomic_motion():
    """lambda = r*(cos, sin) and w = theta' + r would need w' = g*cos(phi) and w*phi' = -g*sin(phi), which contradict each other."""
    slope = ch.System("x y theta phi", lagrangian="(x'^2 + y'^2 + theta'^2 + phi'^2)/2 + x/2", kinematic=[r.text for r in DISK.kinematic])
    (pair,) = ch.compare(slope, [ch.DAlembert(), ch.Vakonomic()], {**START, "lambda1": 0, "lambda2": 0}, (0, 1)).pairs
    assert pair.searched
    assert pair.coinciding is None


def test_what_compare_needs():
    with pytest.raises(ch.UsageError, match="compare needs principles and a start"):
        ch.compare(DISK)
    with pytest.raises(ch.UsageError, match="no interval is given"):
        ch.compare(DISK, [ch.DAlembert()], START)


def test_jets_above_the_state_may_need_derivatives_of_inputs():
    """The third derivatives that coinciding motions are told by contain the second derivative of the moment, which no row contains."""
    found = ch.compare(ch.gallery("disk-resistance"), t=(0, 1))
    assert found.pairs[0].coinciding is not None
