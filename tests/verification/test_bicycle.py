"""Whipple's bicycle against the published benchmark: Meijaard, Papadopoulos, Ruina, Schwab, Proc. R. Soc. A 463 (2007), table 2.

Their equations are linear in lean and steer and were derived by hand for small angles; ours are the full ones, written from the geometry.
"""

import math

import numpy as np
import pytest
from bicycle_by_hand import bicycle

import chetaev as ch

MODEL = ch.gallery("bicycle")
EQUATIONS = ch.derive(MODEL)

BENCHMARK = {
    # speed: castering, capsize, weave (real part, imaginary part)
    1: (-7.11008014637442, -3.13423125066578, 3.52696170990070, 0.8077402751993),
    2: (-8.67387984831735, -3.07158645641514, 2.68234517512745, 1.68066296590675),
    3: (-10.35101467245920, -2.63366137253667, 1.70675605663975, 2.31582447384325),
    4: (-12.15861426576450, -1.42944427361326, 0.41325331521125, 3.07910818603206),
    5: (-14.07838969279820, -0.32286642900409, -0.77534188219585, 4.46486771378823),
    6: (-16.08537123098030, -0.00406690076970, -1.52644486584142, 5.87673060598709),
    7: (-18.15788466125262, 0.10268170574766, -2.13875644258362, 7.19525913329805),
    8: (-20.27940894394569, 0.14327879765713, -2.69348683581097, 8.46037971396931),
    9: (-22.43788559040858, 0.15790184030917, -3.21675402252485, 9.69377351531791),
    10: (-24.62459635017404, 0.16105338653172, -3.72016840437287, 10.90681139476287),
}
STANDING = (-5.53094371765393, -3.13164324790656, 3.13164324790656, 5.53094371765393)
WEAVE_SPEED, WEAVE_FREQUENCY, CAPSIZE_SPEED = 4.29238253634111, 3.43503384866144, 6.02426201538837


def upright(speed):
    """Straight ahead; forward motion turns the wheels backwards about an axle that points to the right."""
    rest = dict.fromkeys(("x", "y", "yaw", "lean", "pitch", "steer", "rear", "front", "lean'", "steer'"), 0.0)
    return rest | {"rear'": -speed / 0.3}


def eigenvalues(speed):
    """The four that belong to lean and steer; the others are zeros of position, heading, wheel angles and speed."""
    found = np.array(ch.linearize(EQUATIONS, upright(speed), parameters=MODEL.parameters).eigenvalues)
    order = np.argsort(np.abs(found))
    assert np.abs(found[order[:-4]]).max() < 1e-6
    return found[order[-4:]]


@pytest.mark.parametrize("speed", BENCHMARK)
def test_eigenvalues_of_the_benchmark(speed):
    castering, capsize, real, imaginary = BENCHMARK[speed]
    expected = np.sort_complex([castering, capsize, complex(real, imaginary), complex(real, -imaginary)])
    assert np.abs(np.sort_complex(eigenvalues(speed)) - expected).max() < 1e-11


def test_eigenvalues_of_the_standing_bicycle():
    assert np.sort(eigenvalues(0).real) == pytest.approx(STANDING, abs=1e-11)
    assert np.abs(eigenvalues(0).imag).max() < 1e-12


def test_the_range_of_stable_speeds():
    weave = max(eigenvalues(WEAVE_SPEED), key=lambda z: z.imag)
    assert weave == pytest.approx(1j * WEAVE_FREQUENCY, abs=1e-11)
    for sign in (1, -1):  # on both sides of it capsize is slow, stable below and unstable above
        smallest = min(eigenvalues(CAPSIZE_SPEED - sign * 1e-3), key=abs)
        assert 0 < -sign * smallest.real < 1e-3


def test_the_front_wheel_decides_the_pitch():
    """A steered front wheel lowers the fork: the guess 0 is moved, and by as much as vector mechanics says."""
    now = ch.evaluate(MODEL)
    assert now["pitch"] == pytest.approx(bicycle(dict(MODEL.start.fixed), MODEL.parameters, 0)["pitch"], abs=1e-15)
    assert abs(now["pitch"]) > 1e-4
    for name, v in MODEL.start.fixed.items():
        assert now[name] == v


def test_riding_without_slip_loses_no_energy():
    motion = ch.simulate(EQUATIONS, MODEL.start, t=(0, 5), parameters=MODEL.parameters, tolerance=1e-11)
    assert motion.outcome == "finished"
    energy = np.asarray(motion.energy)
    assert np.ptp(energy) < 1e-10 * abs(energy[0])
    assert max(motion.drift[f"kinematic[{k}]"] for k in range(5)) < 1e-12
    end = {name: float(motion.final[name]) for name in motion.final}
    by_vectors = bicycle({k: end[k] for k in (*MODEL.start.fixed, "pitch")}, MODEL.parameters, 5)
    assert {k: end[k] for k in ("yaw'", "pitch'", "x'", "front'")} == pytest.approx(
        {k: by_vectors[k] for k in ("yaw'", "pitch'", "x'", "front'")}, abs=1e-10
    )


def test_at_five_metres_per_second_it_rides_itself():
    """After a push the lean dies out as the slowest eigenvalue of the benchmark says: exp(-0.3229 t)."""
    start = upright(5) | {"lean'": 1e-3}
    del start["pitch"]
    motion = ch.simulate(EQUATIONS, ch.State(start, {"pitch": 0.0}), t=[0, 22, 26], parameters=MODEL.parameters, tolerance=1e-11)
    _, early, late = (float(lean) for lean in motion["lean"])
    assert math.log(early / late) / 4 == pytest.approx(0.32286642900409, rel=1e-3)
