"""Families of steady motions whose attitude turns, without angles: a precessing top and a rolling disk, against closed forms and against
the same bodies in angles.
"""

from functools import cache

import mpmath
import numpy as np
import pytest

import chetaev as ch

follow = ch.orbits.continuation

I, J, K = 1.0, 0.6, 2.0
LEAN = 0.7
VALUES = {"I": I, "J": J, "k": K}
TOP = ch.derive(ch.System({"A": "SO3 body"}, "I J k", lagrangian="(I*(A1'^2 + A2'^2) + J*A3'^2)/2 - k*A33", name="top"))
EULER = ch.derive(
    ch.System(
        "th ph ps",
        "I J k",
        lagrangian="(I*(th'^2 + ph'^2*sin(th)^2) + J*(ps' + ph'*cos(th))^2)/2 - k*cos(th)",
        name="top in angles",
    )
)


def precessions(spin, lean=LEAN, k=K):
    """The slow and the fast precession: I cos(th) p^2 - J spin p + k = 0."""
    return np.sort(np.roots([I * np.cos(lean), -J * spin, k]))


def precessing(spin, rate):
    turn = np.array([[1, 0, 0], [0, np.cos(LEAN), -np.sin(LEAN)], [0, np.sin(LEAN), np.cos(LEAN)]])
    velocity = turn.T @ [0, 0, rate]
    return {"A": turn.tolist(), "A1'": velocity[0], "A2'": velocity[1], "A3'": spin}


def nutation(spin, rate):
    """The frequency of small nutations: the second derivative of the effective potential at given momenta."""
    about_axis, upward = J * spin, I * rate * np.sin(LEAN) ** 2 + J * spin * np.cos(LEAN)

    def potential(th):
        return (upward - about_axis * mpmath.cos(th)) ** 2 / (2 * I * mpmath.sin(th) ** 2) + K * mpmath.cos(th)

    with mpmath.workdps(40):
        return float(mpmath.sqrt(mpmath.diff(potential, LEAN, 2) / I))


@cache
def by_spin():
    spin = 5.0
    return follow(
        TOP,
        precessing(spin, precessions(spin)[1]),
        along="A3'",
        until=(3, 7),
        kind="steady",
        fixed=["A33"],
        parameters={"I": I, "J": J, "k": K},
    )


def test_slow_and_fast_precession_of_a_top_meet_at_a_fold():
    family = by_spin()
    assert [s.kind for s in family.special] == ["fold"]
    assert family.special[0].value == pytest.approx(np.sqrt(4 * I * np.cos(LEAN) * K) / J, abs=1e-9)
    sides = set()
    for p in family.points:
        slow, fast = precessions(p.value)
        rate = p.velocities["E3*A"]
        sides.add(abs(rate - fast) < abs(rate - slow))
        assert min(abs(rate - slow), abs(rate - fast)) < 1e-6 * (1 if fast - slow > 0.1 else 1e3)
        assert p.velocities["d/dA3"] == pytest.approx(p.value - rate * np.cos(LEAN), abs=1e-8)
    assert sides == {True, False} and family.points[0].value == family.points[-1].value == 7


def test_eigenvalues_of_a_precessing_top_are_its_nutations():
    for p in by_spin().points[::10]:
        frequency = nutation(p.value, p.velocities["E3*A"])
        assert len(p.eigenvalues) == 6 and p.stable is None
        assert np.abs(p.eigenvalues).max() == pytest.approx(frequency, abs=1e-6)
        assert np.sum(np.abs(p.eigenvalues) < 1e-6) == 4


def test_a_top_along_a_parameter_keeps_the_velocities_that_its_angles_keep():
    spin = 5.0
    rate = precessions(spin)[1]
    free = follow(TOP, precessing(spin, rate), along="k", until=(1.6, 2.4), kind="steady", parameters=VALUES)
    start = {"th": LEAN, "ph": 0, "ps": 0, "th'": 0, "ph'": rate, "ps'": spin - rate * np.cos(LEAN)}
    angles = follow(EULER, start, along="k", until=(1.6, 2.4), kind="steady", parameters=VALUES)
    for family, lean in (
        (free, lambda s: s["A.w"] ** 2 - s["A.x"] ** 2 - s["A.y"] ** 2 + s["A.z"] ** 2),
        (angles, lambda s: np.cos(s["th"])),
    ):
        for p in family.points:
            cosine = (J * (spin - rate * np.cos(LEAN)) * rate - p.value) / ((I - J) * rate**2)  # the quadratic, with ps' + ph' cos(th)
            assert lean(p.state) == pytest.approx(cosine, abs=1e-8)
    for end in (0, -1):
        np.testing.assert_allclose(np.abs(free.points[end].eigenvalues).max(), np.abs(angles.points[end].eigenvalues).max(), rtol=1e-8)


def test_a_sleeping_top_wakes_where_two_frequencies_meet():
    """Upright, rotations about the vertical and about the axis are one; below J^2 w^2 = 4 m g l I the top falls."""
    model = ch.gallery("lagrange-top")
    m, g, length, moment, axial = (float(model.parameters[name]) for name in ("m", "g", "l", "I", "J"))
    start = {"A": np.eye(3), "A1'": 0, "A2'": 0, "A3'": 100}
    family = follow(model, start, along="A3'", until=(80, 100), kind="steady")
    (point,) = family.special
    assert point.kind == "double" and point.value == pytest.approx(np.sqrt(4 * m * g * length * moment) / axial, rel=1e-10)
    assert [p.stable for p in family.points] == [False if p.value < point.value else None for p in family.points]


DISK = ch.gallery("rolling-disk")
M, R, DIAMETER, AXLE, G = (float(DISK.parameters[name]) for name in ("m", "R", "I", "J", "g"))


def circling(lean, turn):
    """A disk on a circle, by Newton and Euler: m g R sin(th) = ph' cos(th) ((J + m R^2) w + I ph' sin(th)), w about the axle."""
    about = (M * G * R * np.sin(lean) / (turn * np.cos(lean)) - DIAMETER * turn * np.sin(lean)) / (AXLE + M * R**2)
    spin = about + turn * np.sin(lean)
    half = (-np.pi / 2 - lean) / 2
    velocity = turn * np.array([0, 0, 1]) + spin * np.array([0, np.cos(lean), -np.sin(lean)])  # heading along x
    free = {
        "A": [np.cos(half), np.sin(half), 0, 0],
        "x": 0,
        "y": R * np.sin(lean),
        **dict(zip(["A1'", "A2'", "A3'"], velocity, strict=True)),
    }
    angles = {"x": 0, "y": 0, "phi": 0, "theta": lean, "psi": 0, "phi'": turn, "theta'": 0, "psi'": spin}
    return free, angles


def test_circles_of_a_rolling_disk():
    free, angles = circling(0.3, 1.7)
    family = follow(DISK, free, along="A33", until=(-0.5, -0.2), kind="steady", fixed=["A13*A1' + A23*A2' + A33*A3'"])
    assert family.points[0].value == pytest.approx(-0.5) and family.points[-1].value == pytest.approx(-0.2)
    axle = angles["psi'"] - angles["phi'"] * np.sin(0.3)
    for p in family.points:
        sine, cosine = -p.value, np.sqrt(1 - p.value**2)
        turn = -p.velocities["y*d/dx - x*d/dy - d/dA3"]
        assert M * G * R * sine == pytest.approx(turn * cosine * ((AXLE + M * R**2) * axle + DIAMETER * turn * sine), rel=1e-9)
    linear = ch.linearize(ch.gallery("leaning-disk"), angles)
    here = min(family.points, key=lambda p: abs(p.value + np.sin(0.3)))
    assert linear.steady and here.value == pytest.approx(-np.sin(0.3), abs=1e-12)
    turning = np.abs(linear.eigenvalues).max()
    assert np.abs(np.abs(here.eigenvalues) - turning).min() < 1e-8
    assert np.abs(np.abs(here.eigenvalues) - 1.7).min() < 1e-8  # displacements of the plane turn with the disk


def test_the_motion_from_a_point_of_a_family_is_carried_along():
    free, _ = circling(0.3, 1.7)
    family = follow(DISK, free, along="g", until=(9, 11), kind="steady", fixed=["A33"])
    p = family.points[0]
    motion = ch.simulate(DISK, dict(p.state), (0, 3), parameters={"g": p.value}, tolerance=1e-12)
    axis = np.array([motion["A13"], motion["A23"], motion["A33"]])
    np.testing.assert_allclose(axis[2], axis[2][0], atol=1e-9)
    heading = np.unwrap(np.arctan2(axis[1], axis[0]))
    turn = -p.velocities["y*d/dx - x*d/dy - d/dA3"]
    np.testing.assert_allclose(heading - heading[0], turn * motion.t, atol=1e-8)


def test_refusals():
    start = precessing(5.0, precessions(5.0)[1])
    with pytest.raises(ch.UsageError, match="outside the interval"):
        follow(TOP, start, along="A33", until=(-0.5, -0.2), kind="steady", fixed=["A3'"], parameters=VALUES)
    with pytest.raises(ch.ParameterError, match="A33"):
        follow(TOP, start, along="A33", until=(0.7, 0.9), kind="equilibria", parameters=VALUES)
    with pytest.raises(ch.NotationError, match="A44"):
        follow(TOP, start, along="k", until=(1, 3), kind="steady", fixed=["A44"], parameters=VALUES)
