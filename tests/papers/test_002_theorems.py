"""002, Theorems 1-3 and section 5: contact dynamics on Q x R, multipliers with corrected signs."""

from functools import cache

import numpy as np
import pytest

import chetaev as ch

TIMES = np.linspace(0, 2, 21)


def close(a, b, tolerance=1e-10):
    assert np.abs(np.asarray(a) - b).max() < tolerance * max(1.0, np.abs(b).max())


@cache
def nonholonomic(name):
    model = ch.gallery(name)
    morphism = ch.contact_as_nonholonomic(ch.derive(model))
    start = morphism.forward(model.start, parameters=model.parameters)
    return morphism, ch.simulate(morphism.target, start, TIMES, tolerance=1e-12, parameters=model.parameters)


@cache
def vakonomic(name):
    model = ch.gallery(name).under(ch.Herglotz(ch.Vakonomic()))
    morphism = ch.contact_as_vakonomic(ch.derive(model))
    start = morphism.forward(model.start, parameters=model.parameters)
    return morphism, ch.simulate(morphism.target, start, TIMES, tolerance=1e-12, parameters=model.parameters)


def test_theorem_3_on_the_rolling_disk():
    """Section 4.3 in closed form: both spins grow as exp(d*t); lambda = theta'*varphi'*(-sin, cos) in our signs, and -L_s = -d."""
    _, motion = nonholonomic("disk-contact")
    d = -0.3
    theta, spin = 1.5 * np.exp(d * TIMES), 0.7 * np.exp(d * TIMES)
    phi = 0.4 + 0.7 * (np.exp(d * TIMES) - 1) / d
    close(motion["theta'"], theta)
    close(motion["varphi"], phi)
    close(motion["lambda1"], -theta * spin * np.sin(phi))
    close(motion["lambda2"], theta * spin * np.cos(phi))
    close(motion["lambda3"], -d + 0 * TIMES)


def test_theorem_3_with_a_constraint_that_contains_s():
    """4.4: the tangency contains phi_s*L; the product system has s as a coordinate and gives it by itself."""
    _, motion = nonholonomic("action-constraint")
    v = 1.2 / np.cos(0.5 * 0.4)
    s = motion["s"]
    speed = motion["x'*cos(kappa*s) - y'*sin(kappa*s)"]
    assert speed[0] == pytest.approx(v)
    lagrangian = motion["s'"]
    # m*a across the blade: v*(-kappa*s') = lambda1 - g*cos(kappa*s) ... with the gravity -g along y and the friction along the blade
    across = -speed * 0.5 * lagrangian
    close(motion["lambda1"], across + 0.3 * np.cos(0.5 * s))


def test_law_of_mu_without_constraints():
    """(22), (38), (39) corrected: 1 - mu = A*exp(-integral of L_s); printed is the other sign."""
    model = ch.gallery("damped-oscillator")
    morphism = ch.contact_as_vakonomic(ch.derive(model))
    start = morphism.forward(model.start, parameters=model.parameters)
    motion = ch.simulate(morphism.target, start, TIMES, tolerance=1e-12, parameters=model.parameters)
    gamma = model.parameters["gamma"]
    close(1 - motion["lambda1"], np.exp(gamma * TIMES))
    assert np.abs(1 - motion["lambda1"][-1] - np.exp(-gamma * 2)) > 0.1


@pytest.mark.parametrize(("name", "count"), [("disk-contact", 2), ("sleigh-contact", 1), ("action-constraint", 1)])
def test_laws_of_mu_and_nu_along_motions(name, count):
    """With our signs: (1 - mu)' = -(1 - mu)*L_s - lambda_b*psi_s and nu' = lambda'/(1 - mu) + (L_s + nu_a*psi_s)*nu."""
    morphism, motion = vakonomic(name)
    source = morphism.source
    scale = morphism.target.multipliers[-1].base
    one = 1 - motion[scale]
    s = source.lowered.action
    slope = {z: morphism.pushed_forward(source.system.lagrangian.diff(s)) for z in (s,)}[s]
    ls = motion.reader.values(slope, motion.t, motion.states)
    rows = [morphism.pushed_forward(row.residual.diff(s)) for row in source.system.kinematic]
    psi = [motion.reader.values(e, motion.t, motion.states) for e in rows]
    lam = [motion[f"lambda{b + 1}"] for b in range(count)]
    close(-motion[f"{scale}'"], -one * ls - sum(a * b for a, b in zip(lam, psi, strict=True)))
    nu = [a / one for a in lam]
    own = ch.simulate(
        source, ch.gallery(name).under(source.principle).start, TIMES, tolerance=1e-12, parameters=ch.gallery(name).parameters
    )
    drive = ls + sum(a * b for a, b in zip(nu, psi, strict=True))
    for b in range(count):
        close(own[f"lambda{b + 1}"], nu[b])
        close(own[f"lambda{b + 1}'"], motion[f"lambda{b + 1}'"] / one + drive * nu[b], 1e-9)
    if name != "action-constraint":
        printed = motion["lambda1'"] / one - drive * nu[0]  # the printed sign of the second term
        assert np.abs(own["lambda1'"] - printed).max() > 1e-2


def test_the_scaled_energy_is_conserved():
    """(1 + mu)*E of L - nu*psi in the paper's signs: a constant of the vakonomic motion."""
    _, motion = vakonomic("sleigh-contact")
    energy = np.array(motion.energy)
    close(energy, energy[0] + 0 * energy)


def test_nonholonomic_and_vakonomic_motions_differ_unless_nu_is_special():
    """002: the disk coincides for nu = theta'*(cos, sin), that is lambda = -theta'*(cos, sin) here; for the printed data they are apart."""
    model = ch.gallery("disk-contact")
    plain = ch.simulate(model, t=TIMES, tolerance=1e-12)
    equations = ch.derive(model.system, ch.Herglotz(ch.Vakonomic()))
    start = dict(model.start.fixed) | {"lambda1": -1.5 * np.cos(0.4), "lambda2": -1.5 * np.sin(0.4)}
    special = ch.simulate(equations, start, TIMES, tolerance=1e-12, parameters=model.parameters)
    close(special["x"], plain["x"])
    _, other = vakonomic("disk-contact")
    assert np.abs(other["x"] - plain["x"]).max() > 0.1


def test_eq_37_the_fibre_component_says_that_the_field_is_of_second_order():
    """The dv-component of i_Y omega - dE on T(Q x R x multipliers): (1 - mu) (A^h - v^h) L_{v^i v^h}, so A = v where L_vv is regular."""
    import sympy

    from chetaev.singular.forms import d, interior

    system = ch.System("x y", "c", lagrangian="x'^2*(1 + y^2)/2 + y'^2 + x'*y'*x - c*s*x' - y", action="s")
    free = ch.vakonomic_as_free(ch.contact_as_vakonomic(system).target).target
    omega, energy, names = ch.lagrangian_forms(free)
    rates = {z: sympy.Symbol(f"Y_{k}") for k, z in enumerate(names)}
    left = interior(rates, omega) - d(energy)
    lagrangian, (x, y) = system.lagrangian, system.coordinates
    others = [z for z in free.system.coordinates if z.name not in ("x", "y", "s")]
    assert len(others) == 1
    mu = others[0]
    for v in (x.d(), y.d()):
        by_hand = sum((rates[q] - q.d()) * lagrangian.diff(v, q.d()) for q in (x, y))
        found = sympy.expand(left.terms.get((v,), sympy.S.Zero))
        assert sympy.expand(found - (1 - mu) * by_hand) == 0 or sympy.expand(found + (1 - mu) * by_hand) == 0
        assert sympy.expand(by_hand) != 0


def test_theorem_1_carries_the_multiplier_of_the_action():
    """lambda_s = -L_s, as E_s of the target says, which is evaluated there; the map of states has the same value and sign."""
    system = ch.System("x", "k c", lagrangian="x'^2/2 - k*x^2/2 - c*s - s^2*x/5", action="s")
    morphism = ch.contact_as_nonholonomic(system)
    start, values = {"x": 0.4, "x'": -0.7, "s": 0.3}, {"k": 2.0, "c": 0.9}
    now = ch.evaluate(morphism.target, morphism.forward(start, parameters=values), parameters=values)
    by_hand = 0.9 + 2 * 0.3 * 0.4 / 5
    assert now["lambda1"] == pytest.approx(by_hand, abs=1e-14)
    told = morphism.to_target[morphism.target.multipliers[-1]]
    numbers = {z: {**start, **values}[z.name] for z in told.free_symbols}
    assert float(told.subs(numbers)) == pytest.approx(by_hand, abs=1e-14)
