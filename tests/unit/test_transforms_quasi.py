"""reduce_velocities: Maggi's equations in quasi-velocities, against equations derived by hand."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import chetaev as ch
from chetaev.core.zero import vanishes

TIMES = np.linspace(0, 2, 21)


def close(a, b, tolerance=1e-10):
    assert np.abs(np.asarray(a) - b).max() < tolerance * max(1.0, np.abs(b).max())


def moved(morphism, model, times=TIMES):
    start = morphism.forward(model.start, parameters=model.parameters, t=float(times[0]))
    return ch.simulate(morphism.target, start, times, tolerance=1e-12, parameters=model.parameters)


def rows_of(morphism):
    return {row.lhs.name: row.rhs for row in morphism.system.kinematic}


def same(expression, text, morphism):
    assert vanishes(expression - ch.parse(text, morphism.target)) is True


def test_the_sleigh_in_its_speed_and_spin():
    """Bloch (2003), section 1.7: v' = a*w^2, (J + m*a^2)*w' = -m*a*v*w; the force across the blade comes back from the accelerations."""
    model = ch.gallery("sleigh")
    morphism = ch.reduce_velocities(ch.derive(model))
    rows = rows_of(morphism)
    same(rows["x'"], "w1*cos(theta)", morphism)
    same(rows["w1'"], "a*w2^2", morphism)
    same(rows["w2'"], "-m*a*w1*w2/(J + m*a^2)", morphism)
    m, j, a = (model.parameters[n] for n in "m J a".split())
    found = solve_ivp(
        lambda _, s: [a * s[1] ** 2, -m * a * s[0] * s[1] / (j + m * a**2)],
        (0, 2),
        [-0.8 / np.cos(0.3), 1.1],
        "DOP853",
        TIMES,
        rtol=2e-13,
        atol=1e-14,
    ).y
    motion = moved(morphism, model)
    close(motion["w1"], found[0])
    close(motion["w2"], found[1])
    v, w = found
    close(morphism.backward(motion)["lambda1"], m * v * w * (1 - m * a**2 / (j + m * a**2)))
    energy = motion.reader.values(morphism.expressions["E"], motion.t, motion.states)
    close(energy, energy[0] + 0 * energy)


def test_the_basis_is_regular_where_a_pivot_would_vanish():
    """The knife edge turns through cos(theta) = 0 and sin(theta) = 0 without harm."""
    model = ch.gallery("knife-edge")
    morphism = ch.reduce_velocities(ch.derive(model))
    times = np.linspace(0, 10, 41)
    motion = moved(morphism, model, times)
    full = ch.simulate(model, t=times, tolerance=1e-12)
    assert full["theta"].max() - full["theta"].min() > np.pi
    close(motion["x"], full["x"], 1e-9)


def test_the_disk_spins_uniformly():
    model = ch.gallery("disk")
    morphism = ch.reduce_velocities(ch.derive(model))
    assert rows_of(morphism)["w1'"] == 0
    assert rows_of(morphism)["w2'"] == 0
    motion = moved(morphism, model)
    m, r = model.parameters["m"], model.parameters["R"]
    close(morphism.backward(motion)["lambda1"], m * r * 2.1 * 0.8 * np.sin(0.5 - 0.8 * TIMES))  # m*x''


def test_the_snakeboard_against_its_momentum_equation():
    """With x' = u*cos(phi)*cos(theta), theta' = u*sin(phi)/l and the rotor's momentum known, one equation is left for u."""
    model = ch.gallery("snakeboard")
    morphism = ch.reduce_velocities(ch.derive(model))
    motion = moved(morphism, model)
    p = model.parameters
    theta_rate, phi = motion["theta'"], motion["phi"]
    close(motion["x'*sin(theta) - y'*cos(theta)"], 0 * TIMES)
    close(theta_rate * p["l"] * np.cos(phi), motion["x'*cos(theta) + y'*sin(theta)"] * np.sin(phi))
    phi_rate = -1.005 + p["B"] / (2 * p["Jw"] * p["w"]) * (np.cos(p["beta"]) - np.cos(p["w"] * TIMES + p["beta"]))
    close(motion["phi'"], phi_rate)
    rotor = motion["theta' + psi'"]
    close(rotor, rotor[0] + p["A"] / (p["Jr"] * p["w"]) * (1 - np.cos(p["w"] * TIMES)))


def test_quasi_velocities_of_the_user():
    model = ch.gallery("sleigh")
    given = {"v": "x'*cos(theta) + y'*sin(theta)", "spin": "2*theta' + 1"}
    morphism = ch.reduce_velocities(ch.derive(model), given)
    same(rows_of(morphism)["theta'"], "(spin - 1)/2", morphism)
    same(rows_of(morphism)["v'"], "a*(spin - 1)^2/4", morphism)
    assert morphism.check(ch.simulate(model, t=(0, 2), tolerance=1e-12)).largest < 1e-10


def test_affine_rows_have_a_drift():
    """A turntable: x' = -w*y + u, with the cart-pendulum's one-sided reaction as a second case."""
    model = ch.gallery("cart-pendulum")
    morphism = ch.reduce_velocities(ch.derive(model))
    same(rows_of(morphism)["x'"], "a*sin(theta) - b*w1", morphism)
    same(
        rows_of(morphism)["w1'"],
        "(m*g*l*sin(theta) - (nu - m*l*a*cos(theta)^2)*w1)/(I + m*l*b*cos(theta))",
        morphism,
    )


def test_hypotheses_of_the_reduction():
    def refused(call, *sentences, error=ch.PrincipleError):
        with pytest.raises(error) as found:
            call()
        for sentence in sentences:
            assert sentence in str(found.value), str(found.value)

    refused(lambda: ch.reduce_velocities(ch.derive(ch.gallery("appell-hamel"))), "kinematic[0] is not affine in the velocities")
    refused(lambda: ch.reduce_velocities(ch.derive(ch.gallery("pais-uhlenbeck"))), "second or higher derivatives")
    refused(
        lambda: ch.reduce_velocities(ch.derive(ch.gallery("disk").under(ch.Vakonomic()))),
        "The theorem is about constraints with reactions",
    )
    one = ch.System("x y", lagrangian="x'^2/2 + y'^2/2", kinematic=["x' = y"], variational=["δx = 0", "δy = 0"], name="held")
    refused(lambda: ch.reduce_velocities(one), "1 velocities are free and 0 virtual displacements")
    flat = ch.System("x y", lagrangian="x'^2/2 - y^2/2", kinematic=["x' = y"], variational=["δx = 0"], name="flat")
    refused(lambda: ch.reduce_velocities(flat), "the mass matrix of the free velocities is singular")
    sleigh = ch.derive(ch.gallery("sleigh"))
    refused(lambda: ch.reduce_velocities(sleigh, {"v": "x'"}), "1 quasi-velocities are given; 2 velocities are free", error=ch.UsageError)
    refused(lambda: ch.reduce_velocities(sleigh, {"m": "x'", "w": "y'"}), "m already has a meaning", error=ch.UsageError)
    refused(lambda: ch.reduce_velocities(sleigh, {"u": "x'^2", "w": "y'"}), "u is not linear in the velocities", error=ch.ModelError)
    refused(
        lambda: ch.reduce_velocities(sleigh, {"u": "y'*cos(theta) - x'*sin(theta)", "w": "theta'"}),
        "the quasi-velocities depend on each other under the constraints",
        error=ch.ModelError,
    )
