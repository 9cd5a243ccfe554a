"""Every map against a derivation that shares no code with it, and every hypothesis in a case where it fails."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import chetaev as ch

TIMES = np.linspace(0, 2, 21)


def by_hand(rhs, state, times=TIMES):
    """A reference motion by SciPy."""
    found = solve_ivp(rhs, (times[0], times[-1]), state, method="DOP853", rtol=2e-13, atol=1e-14, t_eval=times)
    assert found.success
    return found.y


def moved(morphism, start, values, times=TIMES, **more):
    """The target's own motion from the image of a start."""
    image = morphism.forward(start, parameters=values, t=float(times[0]), **more)
    there = morphism.parameters(start, parameters=values, t=float(times[0]), **more)
    return ch.simulate(morphism.target, image, times, tolerance=1e-12, parameters=there, **more)


def close(a, b, tolerance=1e-10):
    assert np.abs(np.asarray(a) - b).max() < tolerance * max(1.0, np.abs(b).max())


def refused(call, *sentences, error=ch.PrincipleError):
    with pytest.raises(error) as found:
        call()
    for sentence in sentences:
        assert sentence in str(found.value), str(found.value)


# lift


def test_lift_of_a_second_order_servo_constraint():
    """x'' = y*x' held by a force along x, while y falls: closed form."""
    motor = ch.System("x y", "g", lagrangian="x'^2/2 + y'^2/2 - g*y", kinematic=["x'' = y*x'"], variational=["δx = 0"], name="motor")
    morphism = ch.lift(motor)
    motion = moved(morphism, {"x": 0.2, "y": 0.3, "x'": 0.7, "y'": 0.1}, {"g": 0.4})
    y = 0.3 + 0.1 * TIMES - 0.2 * TIMES**2
    speed = 0.7 * np.exp(0.3 * TIMES + 0.05 * TIMES**2 - 0.2 * TIMES**3 / 3)
    close(motion["y"], y)
    close(motion["x1"], speed)
    close(motion["x'"], speed)
    close(motion["lambda1"], y * speed)  # E_x = x'' = lambda1


def test_lift_needs_n_large_enough():
    rocard = ch.derive(ch.gallery("rocard"))
    refused(lambda: ch.lift(rocard, n=1), "n = 1 is too small", "order k = 2", "at least max(k, l + 1)", "lift(system, n=2)")
    particle = ch.derive(ch.gallery("viscous-particle"))  # the variational row contains velocities: l = 1
    refused(lambda: ch.lift(particle, n=1), "jets of order l = 1")
    pais = ch.derive(ch.gallery("pais-uhlenbeck"))
    refused(lambda: ch.lift(pais), "the Lagrangian contains second or higher derivatives", "hamiltonian(system)")


def test_lift_from_k_plus_one_on_is_affine():
    """Theorem 33: a row that is curved in its highest derivatives becomes affine with one coordinate more."""
    system = ch.System("x y", lagrangian="x'^2/2 + y'^2/2", kinematic=["x'^2 + y'^2 = 1"], variational=["x'*δx + y'*δy = 0"])
    assert ch.lift(system, n=2).system.kinematic[0].kind == "holonomic"
    assert all(row.kind in ("holonomic", "linear", "affine") for row in ch.lift(system, n=2).system.kinematic)
    assert ch.lift(system, n=2).target.unknowns[:4] == tuple(ch.coordinates("x y x1 y1"))


# linearize_constraints


def test_linear_version_of_a_moving_belt():
    """x' = y with a force along x: y'' = -y, x = integral of y; tau counts the time."""
    belt = ch.System("x y", lagrangian="x'^2/2 + y'^2/2 - y^2/2", kinematic=["x' = y + 3"], variational=["δx = 0"], name="belt")
    morphism = ch.linearize_constraints(belt)
    motion = moved(morphism, {"x": 0.5, "y": 0.2, "y'": -0.6}, {}, TIMES + 1)
    t = TIMES
    y = 0.2 * np.cos(t) - 0.6 * np.sin(t)
    close(motion["y"], y)
    close(motion["x"], 0.5 + 3 * t + 0.2 * np.sin(t) - 0.6 * (1 - np.cos(t)))
    close(motion["lambda1"], -0.2 * np.sin(t) - 0.6 * np.cos(t))
    close(motion["tau"], t + 1)
    close(motion["tau'"], 1 + 0 * t)
    assert "only motions with tau' = 1" in morphism.notes[0]


def test_another_rate_of_tau_is_another_system():
    """000, Theorem 36 corrected: tau' = c is not another clock."""
    belt = ch.System("x y", lagrangian="x'^2/2 + y'^2/2 - y^2/2", kinematic=["x' = y"], variational=["δx = 0"], name="belt")
    target = ch.linearize_constraints(belt).target
    motion = ch.simulate(target, {"x": 0, "y": 0.2, "y'": 0.1, "tau": 0, "tau'": 2}, TIMES, tolerance=1e-12)
    close(motion["y"], 0.2 * np.cos(TIMES) + 0.1 * np.sin(TIMES))  # y keeps its own clock, x runs twice as fast
    close(motion["x"], 2 * (0.2 * np.sin(TIMES) + 0.1 * (1 - np.cos(TIMES))))


def test_linearize_refuses_curved_rows():
    curve = ch.derive(ch.gallery("appell-hamel"))
    refused(lambda: ch.linearize_constraints(curve), "kinematic[0] is not affine in the velocities", "lift(system) first")


# friction_as_constraint


def test_friction_without_constraints_is_a_reaction():
    """Theorem 20 with a tensor that is not diagonal, a force and a Lagrangian that depends on time and on an input."""
    system = ch.System(
        "x y",
        "c",
        lagrangian="x'^2/2 + y'^2 - x*y/3 + u*x + t*y/4",
        dissipation="c*(x'^2 + x'*y' + 2*y'^2)/2",
        forces={"x": "-x^3/5"},
        inputs={"u": "sin(2*t)"},
        name="friction",
    )
    morphism = ch.friction_as_constraint(system)
    start = {"x": 0.4, "y": -0.3, "x'": 0.9, "y'": 0.5}
    motion = moved(morphism, start, {"c": 0.3})

    def rhs(t, s):
        x, y, v, w = s
        return [v, w, -y / 3 + np.sin(2 * t) - x**3 / 5 - 0.3 * (v + w / 2), (-x / 3 + t / 4 - 0.3 * (v / 2 + 2 * w)) / 2]

    found = by_hand(rhs, list(start.values()))
    close(motion["x"], found[0])
    close(motion["y'"], found[3])
    close(motion["lambda1"], -1 + 0 * TIMES)


def test_friction_on_a_knife_edge():
    """Theorem 26 is true here: the blade does no work. Speed and spin decay by exponentials."""
    model = ch.gallery("knife-edge-friction")
    p = model.parameters
    motion = moved(ch.friction_as_constraint(ch.derive(model)), model.start, p)
    v0, spin0 = 1.6 / np.cos(0.7), -0.9
    v, spin = v0 * np.exp(-p["k"] / p["m"] * TIMES), spin0 * np.exp(-p["c"] / p["J"] * TIMES)
    close(motion["x'*cos(theta) + y'*sin(theta)"], v)
    close(motion["theta'"], spin)
    close(motion["lambda1"], p["m"] * v * spin)
    close(motion["lambda2"], -1 + 0 * TIMES)


def test_theorem_26_is_refused_where_reactions_work_and_repaired_by_projection():
    model = ch.gallery("cart-pendulum")
    refused(
        lambda: ch.friction_as_constraint(ch.derive(model)),
        "the reaction lambda1 does work on the velocity",
        "the converse of Theorem 26 of 000 is false here",
        "projected=True",
    )
    m, l, i, g, a, b, _, nu = (model.parameters[n] for n in "m l I g a b mu nu".split())
    morphism = ch.friction_as_constraint(ch.derive(model), projected=True)
    motion = moved(morphism, model.start, model.parameters)

    def rhs(_, s):
        _, theta, w = s
        c = np.cos(theta)
        acceleration = (m * g * l * np.sin(theta) - (nu - m * l * a * c**2) * w) / (i + m * l * b * c)
        return [a * np.sin(theta) - b * w, w, acceleration]

    x, theta, w = by_hand(rhs, [0.3, 0.5, -0.4])
    n = len(motion.t)  # where theta' = 0 the constraint is a multiple of theta', and says nothing
    assert n > 5 and np.all(w[:n] < 0) and motion.outcome == "left_domain" and "theta' = 0" in motion.message
    close(motion["theta"], theta[:n])
    close(motion["x"], x[:n])
    close(motion["theta'"], w[:n])
    close(motion["lambda2"], -1 + 0 * TIMES[:n])
    force = ch.simulate(model, t=TIMES, tolerance=1e-12)
    close(motion["lambda1"], force["lambda1"][:n])


def test_the_unrepaired_row_of_remark_27_has_other_motions():
    """What the printed theorem would give: the row of energy without the power of the control force."""
    model = ch.gallery("cart-pendulum")
    system = model.system.replace(
        kinematic=[*model.system.kinematic, "E' = -(mu*x'^2 + nu*theta'^2)"],
        variational=["δx = 0", "mu*x'*δx + nu*theta'*δtheta = 0"],
        dissipation=None,
        where={"E": "m/2*x'^2 - m*l*theta'*x'*cos(theta) + I/2*theta'^2 + m*g*l*cos(theta)"},
    )
    printed = ch.evaluate(ch.derive(system, ch.VirtualWork()), model.start, parameters=model.parameters)
    assert abs(printed["theta''"] - ch.evaluate(model)["theta''"]) > 0.1


def test_hypotheses_of_friction():
    twisted = ch.System("x y", lagrangian="x'^2/2 + y'^2/2", forces={"x": "-x' - 2*y'", "y": "-y'"}, name="twisted")
    refused(lambda: ch.friction_as_constraint(twisted), "the friction tensor is not symmetric", "R[1,0] = 0, R[0,1] = 2", "gyroscopic")
    cubic = ch.System("x", lagrangian="x'^2/2", dissipation="abs(x')^3/3", name="cubic")
    refused(lambda: ch.friction_as_constraint(cubic), "the friction is not linear in the velocities")
    free = ch.System("x", lagrangian="x'^2/2", name="free")
    refused(lambda: ch.friction_as_constraint(free), "there is no friction")
    long = ch.System("x", lagrangian="x''^2/2", dissipation="x'^2/2", name="long")
    refused(lambda: ch.friction_as_constraint(long), "second or higher derivatives")
    half = ch.System("x y", "a", lagrangian="x'^2/2 + y'^2/2", dissipation="x'^2/2", kinematic=["x' + y' = a"], variational=["δx = 0"])
    refused(lambda: ch.friction_as_constraint(half, projected=True), "the friction tensor is degenerate")


# contact


def test_contact_oscillator_on_the_product():
    system = ch.System("x", "k c", lagrangian="x'^2/2 - k*x^2/2 - c*s", action="s", name="damped")
    values, start = {"k": 1.7, "c": 0.4}, {"x": 0.6, "x'": -0.3, "s": 0.2}
    w = np.sqrt(1.7 - 0.04)
    x = np.exp(-0.2 * TIMES) * (0.6 * np.cos(w * TIMES) + (-0.3 + 0.12) / w * np.sin(w * TIMES))
    plain = moved(ch.contact_as_nonholonomic(system), start, values)
    close(plain["x"], x)
    close(plain["lambda1"], 0.4 + 0 * TIMES)  # minus dL/ds
    scaled = moved(ch.contact_as_vakonomic(system), start, values)
    close(scaled["x"], x)
    close(1 - scaled["lambda1"], np.exp(0.4 * TIMES))  # 1 - mu = exp(-integral of L_s)
    close(scaled["s"], plain["s"])


def test_mu_is_a_scale_and_one_is_abnormal():
    system = ch.System("x", "k c", lagrangian="x'^2/2 - k*x^2/2 - c*s", action="s", name="damped")
    morphism = ch.contact_as_vakonomic(system)
    values, start = {"k": 1.7, "c": 0.4}, {"x": 0.6, "x'": -0.3, "s": 0.2}
    usual = ch.simulate(morphism.target, {**start, "lambda1": 0}, TIMES, tolerance=1e-12, parameters=values)
    other = ch.simulate(morphism.target, {**start, "lambda1": -3.5}, TIMES, tolerance=1e-12, parameters=values)
    close(other["x"], usual["x"])
    close((1 - other["lambda1"]) / 4.5, 1 - usual["lambda1"])
    assert any("abnormal" in note for note in morphism.notes)
    with pytest.raises(ch.ChetaevError):
        ch.simulate(morphism.target, {**start, "lambda1": 1}, TIMES, parameters=values)


def test_hypotheses_of_the_contact_maps():
    disk = ch.gallery("disk-contact")
    refused(lambda: ch.contact_as_vakonomic(ch.derive(disk)), "Its constraints have reactions", "contact_as_nonholonomic")
    vakonomic = ch.derive(disk.under(ch.Herglotz(ch.Vakonomic())))
    refused(lambda: ch.contact_as_nonholonomic(vakonomic), "Its multipliers are part of the state", "contact_as_vakonomic")
    refused(lambda: ch.contact_as_nonholonomic(ch.derive(ch.gallery("disk"))), "has no action variable")
    pushed = ch.System("x", lagrangian="x'^2/2 - s", action="s", forces={"x": "1"}, name="pushed")
    refused(lambda: ch.contact_as_vakonomic(pushed), "forces act on 'pushed'", "multiplied by 1 - mu")
    assert ch.contact_as_nonholonomic(pushed).system.forces  # there a force does no harm


def test_a_force_in_contact_dynamics_is_carried_to_the_product():
    """x'' + c*x' = f in closed form."""
    pushed = ch.System("x", "c f", lagrangian="x'^2/2 - c*s", action="s", forces={"x": "f"}, name="pushed")
    motion = moved(ch.contact_as_nonholonomic(pushed), {"x": 0.1, "x'": 2.0, "s": 0}, {"c": 0.5, "f": -0.3})
    close(motion["x'"], -0.6 + 2.6 * np.exp(-0.5 * TIMES))


# vakonomic_as_free


def vakonomic_disk(p):
    """The vakonomic rolling disk solved for its accelerations by hand."""
    m, r, i, j = (p[n] for n in "m R I J".split())

    def rhs(_, s):
        _, _, _, phi, w, spin, l1, l2 = s
        c, d = np.cos(phi), np.sin(phi)
        rate = r * spin * (l2 * c - l1 * d) / (i + m * r**2)
        return [
            r * w * c,
            r * w * d,
            w,
            spin,
            rate,
            r * w * (l1 * d - l2 * c) / j,
            -m * r * (rate * c - w * spin * d),
            -m * r * (rate * d + w * spin * c),
        ]

    return rhs


def test_vakonomic_disk_as_free_motion_and_in_momenta():
    model = ch.gallery("disk").under(ch.Vakonomic())
    found = by_hand(vakonomic_disk(model.parameters), [0.3, -0.4, 0.2, 0.5, 2.1, -0.8, 0.7, -0.4])
    free = moved(ch.vakonomic_as_free(ch.derive(model)), model.start, model.parameters)
    close(free["varphi"], found[3])
    close(free["mu1"], found[6])
    close(free["mu2"], found[7])
    legendre = ch.hamiltonian(ch.derive(model))
    phase = moved(legendre, model.start, model.parameters)
    close(phase["varphi"], found[3])
    close(legendre.backward(phase)["lambda2"], found[7])
    assert phase.equations.counts == (8, 8)  # (q, p): twice the number of coordinates, no multiplier


def test_vakonomic_as_free_speaks_of_vakonomic_motion():
    refused(lambda: ch.vakonomic_as_free(ch.derive(ch.gallery("disk"))), "is under DAlembert(); vakonomic_as_free needs Vakonomic()")


# hamiltonian


def test_canonical_equations_of_a_charge():
    """A particle in a magnetic field and a time-dependent potential: momenta are not mass times velocity."""
    charge = ch.System("x y", "m B", lagrangian="m/2*(x'^2 + y'^2) + B*x*y' - t*x^2/5", name="charge")
    legendre = ch.hamiltonian(charge)
    assert ch.parse("p_x^2/(2*m) + (p_y - B*x)^2/(2*m) + t*x^2/5", legendre.target).expand() == legendre.expressions["H"].expand()
    motion = moved(legendre, {"x": 0.3, "y": 0.1, "x'": -0.4, "y'": 0.7}, {"m": 1.4, "B": 0.8})

    def rhs(t, s):
        x, _, p, q = s
        v = (q - 0.8 * x) / 1.4
        return [p / 1.4, v, 0.8 * v - 2 * t * x / 5, 0]

    found = by_hand(rhs, [0.3, 0.1, -0.56, 1.4 * 0.7 + 0.24])
    for name, values in zip("x y p_x p_y".split(), found, strict=True):
        close(motion[name], values)


def test_ostrogradsky_momenta_of_the_pais_uhlenbeck_oscillator():
    """H of Mannheim and Davidson, Phys. Rev. A 71 (2005) 042110, for gamma = 1, and its canonical equations."""
    model = ch.gallery("pais-uhlenbeck")
    legendre = ch.hamiltonian(ch.derive(model))
    literature = ch.parse("p_q*q1 + p_q_1^2/2 + (w1^2 + w2^2)*q1^2/2 - w1^2*w2^2*q^2/2", legendre.target)
    assert (legendre.expressions["H"] - literature).expand() == 0
    w1, w2 = model.parameters["w1"], model.parameters["w2"]
    motion = moved(legendre, model.start, model.parameters)

    def rhs(_, s):
        q, q1, p, p1 = s
        return [q1, p1, w1**2 * w2**2 * q, -p - (w1**2 + w2**2) * q1]

    close(motion["q"], by_hand(rhs, [motion[n][0] for n in "q q1 p_q p_q_1".split()])[0])
    close(motion["p_q"], -(w1**2 + w2**2) * motion["q1"] - motion["q1''"])


def test_friction_survives_the_lowering_of_the_order():
    """-x'''' = -c*x' with L = x''^2/2: the velocity becomes a coordinate, and the friction must act on x all the same."""
    beam = ch.System("x", "c", lagrangian="x''^2/2", dissipation="c*x'^2/2", name="beam")
    motion = moved(ch.hamiltonian(beam), {"x": 1.0, "x'": 0.3, "x''": -0.2, "x'''": 0.4}, {"c": 0.7})
    found = by_hand(lambda _, s: [s[1], s[2], s[3], 0.7 * s[1]], [1.0, 0.3, -0.2, 0.4])
    close(motion["x"], found[0])
    close(motion["p_x"], -found[3])


def test_contact_hamiltonian_equations():
    """q' = H_p, p' = -H_q - p*H_s, s' = p*H_p - H, with H = p^2/(2*m) + k*x^2/2 + c*p*s (so that L_s depends on the velocity)."""
    system = ch.System("x", "m k c", lagrangian="m/2*(x' - c*s)^2 - k*x^2/2", action="s", name="odd friction")
    legendre = ch.hamiltonian(ch.derive(system, ch.Herglotz()))
    m, k, c = 1.3, 0.8, 0.4
    motion = moved(legendre, {"x": 0.5, "x'": 0.7, "s": 0.2}, {"m": m, "k": k, "c": c})

    def rhs(_, y):
        x, p, s = y
        h = p**2 / (2 * m) + k * x**2 / 2 + c * p * s
        return [p / m + c * s, -k * x - p * c * p, p * (p / m + c * s) - h]

    found = by_hand(rhs, [0.5, m * (0.7 - c * 0.2), 0.2])
    for name, values in zip("x p_x s".split(), found, strict=True):
        close(motion[name], values)


def test_reactions_stay_in_momenta():
    """The sleigh in (q, p): v' = a*w^2, and the force across the blade."""
    model = ch.gallery("sleigh")
    motion = moved(ch.hamiltonian(ch.derive(model)), model.start, model.parameters)
    v, w, across = sleigh(model.parameters)
    close(motion["x'*cos(theta) + y'*sin(theta)"], v)
    close(motion["theta'"], w)
    close(motion["lambda1"], across)


def sleigh(p):
    """Speed, spin and the force across the blade of Chaplygin's sleigh, by its reduced equations."""
    m, j, a = p["m"], p["J"], p["a"]

    def rhs(_, s):
        v, w = s
        return [a * w**2, -m * a * v * w / (j + m * a**2)]

    v, w = by_hand(rhs, [-0.8 / np.cos(-0.3), 1.1])
    return v, w, m * v * w - m * a * m * a * v * w / (j + m * a**2)


def test_hypotheses_of_the_legendre_map():
    cawley = ch.derive(ch.gallery("cawley"))
    refused(lambda: ch.hamiltonian(cawley), "the Lagrangian contains no velocity of q2", "momentum of this coordinate vanishes")
    singular = ch.System("x y", lagrangian="(x' + y')^2/2 - x*y", name="singular")
    refused(lambda: ch.hamiltonian(singular), "the Legendre map is not invertible", "second derivatives of L with respect to x' y'")
    quartic = ch.System("x", lagrangian="x'^4/4 - x'^2/2", name="quartic")
    refused(lambda: ch.hamiltonian(quartic), "velocities belong to the same momenta")
    pendulum = ch.derive(ch.gallery("cartesian-pendulum").under(ch.Vakonomic()))
    refused(lambda: ch.hamiltonian(pendulum), "kinematic[0] is not affine in the highest derivatives", "restrict(system)")


# routh


def test_routh_on_the_spherical_pendulum():
    model = ch.gallery("spherical-pendulum")
    system = model.system
    cyclic = next(q.base for q in system.coordinates if q.base in ("phi", "varphi"))
    morphism = ch.routh(system, cyclic)
    agreement = morphism.check(ch.simulate(model, t=(0, 2), tolerance=1e-12))
    assert agreement.largest < 1e-10
    planet = ch.System("r phi", "k", lagrangian="r'^2/2 + r^2*phi'^2/2 + k/r", name="planet")
    start = {"r": 1.3, "phi": 0.2, "r'": -0.2, "phi'": 0.6}
    there = ch.routh(planet, "phi")
    mu = 1.3**2 * 0.6
    assert there.parameters(start, parameters={"k": 1.1}) == pytest.approx({"k": 1.1, "mu_phi": mu})
    motion = moved(there, start, {"k": 1.1})
    found = by_hand(lambda _, s: [s[1], mu**2 / s[0] ** 3 - 1.1 / s[0] ** 2, mu / s[0] ** 2], [1.3, -0.2, 0.2])
    close(motion["r"], found[0])
    close(motion["phi"], found[2])


def test_hypotheses_of_routh():
    planet = ch.System("r phi", "k", lagrangian="r'^2/2 + r^2*phi'^2/2 + k/r", name="planet")
    refused(lambda: ch.routh(planet, "r"), "r is not cyclic: r occurs in the Lagrangian", "Its momentum is not constant")
    refused(lambda: ch.routh(planet, "z"), "z is not a coordinate", error=ch.UsageError)
    pushed = planet.replace(forces={"phi": "-1"})
    refused(lambda: ch.routh(pushed, "phi"), "a force acts on phi")
    steered = planet.replace(forces={"r": "sin(phi)"})
    refused(lambda: ch.routh(steered, "phi"), "a force depends on phi")
    rubbed = planet.replace(dissipation="phi'^2/2")
    refused(lambda: ch.routh(rubbed, "phi"), "a force acts on phi")
    refused(lambda: ch.routh(ch.derive(ch.gallery("disk")), "theta"), "routh needs Hamilton()")


# change_coordinates


def test_a_rotating_frame():
    """A free particle seen from a turntable: a straight line in other coordinates."""
    plane = ch.System("x y", "w", lagrangian="x'^2/2 + y'^2/2", name="plane")
    formulas = {"x": "X*cos(w*t) - Y*sin(w*t)", "y": "X*sin(w*t) + Y*cos(w*t)"}
    morphism = ch.change_coordinates(plane, formulas)
    motion = moved(morphism, {"x": 1.0, "y": 0.2, "x'": -0.3, "y'": 0.4}, {"w": 0.9})
    x, y = 1 - 0.3 * TIMES, 0.2 + 0.4 * TIMES
    c, s = np.cos(0.9 * TIMES), np.sin(0.9 * TIMES)
    close(motion["X"], c * x + s * y)
    close(motion["Y"], c * y - s * x)
    close(morphism.backward(motion)["x'"], -0.3 + 0 * TIMES)


def test_polar_coordinates_keep_the_reaction():
    """A bead on a circle in polar coordinates: lambda1 is the same number, and m*v^2/r its size."""
    ring = ch.System("x y", "m c", lagrangian="m/2*(x'^2 + y'^2)", kinematic=["x^2 + y^2 = c^2"], name="ring")
    equations = ch.derive(ring, ch.DAlembert())
    polar = ch.change_coordinates(
        equations, {"x": "r*cos(phi)", "y": "r*sin(phi)"}, inverse={"r": "sqrt(x^2 + y^2)", "phi": "atan2(y, x)"}, kinds={"phi": "angle"}
    )
    assert polar.system.kinds["phi"] == "angle"
    values, start = {"m": 1.5, "c": 2.0}, {"x": 2.0, "y": 0.0, "y'": 0.6}
    motion = moved(polar, start, values)
    close(motion["phi"], 0.3 * TIMES)
    close(motion["lambda1"], -1.5 * 0.36 / (2 * 4) + 0 * TIMES)  # m*x'' = 2*lambda1*x


def test_hypotheses_of_a_change_of_coordinates():
    plane = ch.System("x y", lagrangian="x'^2/2 + y'^2/2", name="plane")
    polar = {"x": "r*cos(phi)", "y": "r*sin(phi)"}
    wrong = {"r": "sqrt(x^2 + y^2)", "phi": "atan2(x, y)"}
    refused(lambda: ch.change_coordinates(plane, polar, inverse=wrong), "the inverse does not lead back to x")
    few = lambda: ch.change_coordinates(plane, polar, inverse={"r": "sqrt(x^2 + y^2)"})  # noqa: E731
    refused(few, "the inverse gives r; the new coordinates are phi r", error=ch.UsageError)
    folded = {"x": "u + v", "y": "2*u + 2*v"}
    refused(lambda: ch.change_coordinates(plane, folded), "the formulas depend on each other", error=ch.ModelError)
    refused(lambda: ch.change_coordinates(plane, {"x": "u + v + w"}), "2 coordinates become 4", error=ch.ModelError)
    refused(lambda: ch.change_coordinates(plane, {"x": "u'"}), "contains a derivative", error=ch.ModelError)
    refused(lambda: ch.change_coordinates(plane, {"z": "u"}), "z is not a coordinate", error=ch.UsageError)


def test_a_start_is_not_carried_by_half_a_map():
    """Polar coordinates without their inverse: motions come back, a start does not go forward."""
    plane = ch.System("x y", lagrangian="x'^2/2 + y'^2/2", name="plane")
    morphism = ch.change_coordinates(plane, {"x": "r*cos(phi)", "y": "r*sin(phi)"})
    motion = ch.simulate(morphism.target, {"r": 1, "phi": 0, "r'": 0, "phi'": 0.5}, TIMES, tolerance=1e-12)
    close(morphism.backward(motion)["y"], 0.5 * TIMES)
    refused(
        lambda: morphism.forward({"x": 1, "y": 0, "x'": 0, "y'": 1}), "the map does not determine phi r", "inverse", error=ch.UsageError
    )
