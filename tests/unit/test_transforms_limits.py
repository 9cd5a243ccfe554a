"""Maps at the edge of their hypotheses, against formulas written by hand."""

import numpy as np
import pytest
import sympy
from scipy.integrate import solve_ivp

import chetaev as ch
from chetaev.transforms.tools.pullback import collapsed


def by_hand(rhs, state, times):
    """A reference motion by SciPy."""
    found = solve_ivp(rhs, (times[0], times[-1]), state, method="DOP853", rtol=2e-13, atol=1e-14, t_eval=times)
    assert found.success
    return found.y


def moved(morphism, start, values, times):
    """The target's own motion from the image of a start."""
    image = morphism.forward(start, parameters=values, t=float(times[0]))
    return ch.simulate(morphism.target, image, times, tolerance=1e-12, parameters=morphism.parameters(start, parameters=values))


def close(a, b, tolerance=1e-10):
    assert np.abs(np.asarray(a) - b).max() < tolerance * max(1.0, np.abs(b).max())


def refused(call, *sentences, error=ch.PrincipleError):
    with pytest.raises(error) as found:
        call()
    for sentence in sentences:
        assert sentence in str(found.value), str(found.value)


def test_a_lift_whose_state_contains_rates_of_reactions():
    """n = k + 2: the rate of the multiplier is part of the target's state and follows from the equations. E_x: x'' + y = lambda1."""
    pushed = ch.System(
        "x y",
        "c",
        lagrangian="x'^2/2 + y'^2 - x*y",
        kinematic=["D(x, 3) = c*y' - x''"],
        variational=["δx = 0"],
        name="pushed",
    )
    further = ch.lift(pushed, n=5)
    times = np.linspace(0, 2, 21)
    motion = moved(further, {"x": 0.1, "y": 0.2, "x'": 0.4, "y'": -0.5, "x''": 0.2}, {"c": 0.7}, times)
    x, v, a, y, _ = by_hand(lambda t, z: [z[1], z[2], 0.7 * z[4] - z[2], z[4], -z[0] / 2], [0.1, 0.4, 0.2, 0.2, -0.5], times)
    close(motion["x"], x)
    close(motion["x1"], v)
    close(motion["y"], y)
    close(motion["lambda1"], a + y)
    assert further.inverse.check(motion).largest < 1e-10
    refused(lambda: ch.lift(pushed, n=3.5), "n = 3.5 is not an integer", "lift(system, n=3)", error=ch.UsageError)


def test_friction_that_the_constraints_suppress_is_refused():
    """Friction across a blade has no power; and where no virtual displacement is left there is nothing to project on."""
    across = ch.System(
        "x y theta",
        "c",
        lagrangian="(x'^2 + y'^2 + theta'^2)/2 - x",
        kinematic=["x'*sin(theta) = y'*cos(theta)"],
        dissipation="c/2*(x'*sin(theta) - y'*cos(theta))^2",
    )
    refused(lambda: ch.friction_as_constraint(ch.derive(across, ch.DAlembert())), "the friction has no power along the virtual displ")
    led = ch.System("x y", "c", lagrangian="(x'^2 + y'^2)/2", kinematic=["x' = 1", "y' = x"], dissipation="c/2*(x'^2 + y'^2)")
    refused(lambda: ch.friction_as_constraint(ch.derive(led, ch.DAlembert()), projected=True), "the friction has no power along")


def test_friction_on_one_coordinate_alone():
    """A degenerate tensor is enough where nothing has to be projected."""
    sled = ch.System("x y", "c", lagrangian="x'^2/2 + y'^2/2 - x*y", dissipation="c/2*x'^2")
    times = np.linspace(0, 0.8, 9)
    motion = moved(ch.friction_as_constraint(sled), {"x": 0.3, "y": 0.2, "x'": 1, "y'": 0.7}, {"c": 0.4}, times)
    x, y, *_ = by_hand(lambda t, z: [z[2], z[3], -z[1] - 0.4 * z[2], -z[0]], [0.3, 0.2, 1, 0.7], times)
    close(motion["x"], x)
    close(motion["y"], y)
    close(motion["lambda1"], -1)


def test_friction_under_a_curved_constraint_is_projected():
    """For x'^2 + y'^2 = z' + 1 under Chetaev the velocity is no virtual displacement, so that the reaction does work."""
    curved = ch.System(
        "x y z", "c", lagrangian="(x'^2 + y'^2 + z'^2)/2 - z", kinematic=["x'^2 + y'^2 - z' = 1"], dissipation="c/2*(x'^2 + y'^2 + z'^2)"
    )
    equations = ch.derive(curved, ch.Chetaev())
    refused(lambda: ch.friction_as_constraint(equations), "the reaction lambda1 does work on the velocity")
    times = np.linspace(0, 0.5, 6)
    morphism = ch.friction_as_constraint(equations, projected=True)
    motion = moved(morphism, {"x": 0, "y": 0, "z": 0, "x'": 1, "y'": 0.5}, {"c": 0.4}, times)

    def reaction(z):
        """From 2*(x'*x'' + y'*y'') = z'' with the accelerations -c*v - (0, 0, 1) + lambda*(2*x', 2*y', -1)."""
        u, w, v = z[3:]
        return (0.8 * (u**2 + w**2) - 0.4 * v - 1) / (4 * (u**2 + w**2) + 1)

    def rhs(t, z):
        u, w, v = z[3:]
        force = reaction(z)
        return [u, w, v, -0.4 * u + 2 * u * force, -0.4 * w + 2 * w * force, -0.4 * v - 1 - force]

    found = by_hand(rhs, [0, 0, 0, 1, 0.5, 0.25], times)
    close([motion[name] for name in "xyz"], found[:3])
    close(motion["lambda1"], reaction(found))
    close(motion["lambda2"], -1)


@pytest.mark.parametrize("e", ["1e-11", "1e-3"])
def test_a_reaction_that_does_little_work_does_work(e):
    """By hand: on x' = y' the row (1, -(1 + e)) has the power -e*y', whatever e is."""
    system = ch.System(
        "x y z",
        lagrangian="(x'^2 + y'^2 + z'^2)/2",
        dissipation="(x'^2 + y'^2 + z'^2)/2",
        kinematic=["x' = y'"],
        variational=[f"δx = (1 + {e})*δy"],
    )
    refused(lambda: ch.friction_as_constraint(system), "the reaction lambda1 does work on the velocity")


def test_a_hamiltonian_is_shown_without_detours():
    """Potential terms stay outside of the fraction, and the products p*q' are cancelled against the Lagrangian."""
    sphere = ch.System("theta phi", "m l g", lagrangian="m*l^2/2*(theta'^2 + sin(theta)^2*phi'^2) + m*g*l*cos(theta)")
    assert ch.show(ch.hamiltonian(sphere).expressions["H"]) == "(p_phi^2/sin(theta)^2 + p_theta^2)/l^2/m/2 - g*l*m*cos(theta)"


def test_the_reduced_hamiltonian_against_a_bordered_matrix():
    """004, (3.29)-(3.31): velocities and multiplier from a*v + g*lambda = p, g.v = sin(t), solved by NumPy."""
    system = ch.System(
        "x y z", "c", lagrangian="x'^2/2 + y'^2/2 + x'*y'/5 + z'^2 - c*x*z + t*y", kinematic=["z' = x*y' + sin(t)"], name="tilted"
    )
    legendre = ch.hamiltonian(ch.derive(system, ch.Vakonomic()))
    x, y, z, t, c = 0.3, 0.4, 0.5, 0.6, 0.7
    p = np.array([0.2, -0.3, 0.9])
    a, g = np.array([[1, 0.2, 0], [0.2, 1, 0], [0, 0, 2]]), np.array([[0, -x, 1]])
    solved = np.linalg.solve(np.block([[a, g.T], [g, np.zeros((1, 1))]]), [*p, np.sin(t)])
    v, multiplier = solved[:3], solved[3]
    start = {"x": x, "y": y, "z": z, "p_x": p[0], "p_y": p[1], "p_z": p[2]}
    now = ch.evaluate(legendre.target, start, parameters={"c": c}, t=t)
    close([now["x'"], now["y'"], now["z'"]], v)
    close(now[ch.show(legendre.expressions["H"])], p @ v - (v @ a @ v / 2 - c * x * z + t * y))
    assert legendre.backward(start, parameters={"c": c}, t=t).fixed["lambda1"] == pytest.approx(multiplier, abs=1e-12)


def test_a_chart_with_the_constants_of_integrated_rows():
    """(x*z)' = y' and (x*y)' = t leave one coordinate: the user's chart may contain the constants c1 and c2."""
    system = ch.System("x y z", lagrangian="(x'^2 + y'^2 + z'^2)/2 - z*x", kinematic=["z*x' + x*z' = y'", "x'*y + x*y' = t"])
    equations = ch.derive(system, ch.DAlembert())
    y = "(c2 + t^2/2)/u"
    morphism = ch.restrict(equations, {"x": "u", "y": y, "z": f"(c1 + {y})/u"}, inverse={"u": "x"})
    start = {"x": 0.7, "y": 0.2, "z": 0.5, "x'": 0.3}
    assert morphism.parameters(start) == pytest.approx({"c1": 0.7 * 0.5 - 0.2, "c2": 0.7 * 0.2})
    motion = ch.simulate(equations, start, (0, 0.5), tolerance=1e-12)
    agreement = morphism.check(motion)
    assert {"lambda1", "lambda2"} <= set(agreement.backward)
    assert agreement.largest < 1e-10
    close(agreement.motion["u"] * morphism.backward(agreement.motion)["y"], 0.14 + agreement.motion.t**2 / 2)


def test_a_map_carries_motions_of_its_own_source_only():
    legendre = ch.hamiltonian(ch.System("x", "k", lagrangian="x'^2/2 - k*x^2/2", name="spring"))
    refused(lambda: legendre.check({"x": 1}), "check takes a motion, not dict", "simulate(morphism.source", error=ch.UsageError)
    motion = ch.simulate(legendre.target, {"x": 1, "p_x": 0}, (0, 1), parameters={"k": 2})
    refused(lambda: legendre.forward(motion), "this is a motion of 'spring, Hamiltonian'", "morphism.backward(motion)", error=ch.UsageError)
    refused(lambda: legendre.check(motion), "the map starts from 'spring'", error=ch.UsageError)
    close(legendre.backward(motion)["x'"], -np.sqrt(2) * np.sin(np.sqrt(2) * motion.t), 1e-8)


def test_hints_do_not_lead_to_the_next_refusal():
    rolling = ch.System("r phi", lagrangian="r'^2/2 + phi'^2/2", kinematic=["r' = phi'"])
    refused(lambda: ch.routh(ch.derive(rolling, ch.DAlembert()), "phi"), "restrict(...) first, where the constraints are holonomic")
    contact = ch.System("x y", lagrangian="x'^2/2 + y'^2/2 - s", action="s", kinematic=["y' = x"])
    refused(lambda: ch.vakonomic_as_free(ch.derive(contact, ch.Herglotz(ch.Vakonomic()))), "contact_as_vakonomic(...) first")
    curved = ch.System("x y", lagrangian="x'^2/2 + y'^2/2", kinematic=["y' = x'^2"])
    refused(lambda: ch.hamiltonian(ch.derive(curved, ch.Vakonomic())), "not affine", "reduced_phase_space(system)")


def test_squares_of_sines_and_cosines_collapse():
    """In charts with angles one reads the textbook's equations, with the textbook's tension."""
    pendulum = ch.System("x y", "m g l", lagrangian="m*(x'^2 + y'^2)/2 - m*g*y", kinematic=["x^2 + y^2 = l^2"], name="pendulum")
    restricted = ch.restrict(ch.derive(pendulum, ch.DAlembert()))
    assert ch.show(restricted.target.rows[0].residual) == "g*l*m*sin(alpha) + l^2*m*alpha''"
    assert ch.show(restricted.to_source[restricted.source.multipliers[0]]) == "-m*(g*cos(alpha) + l*alpha'^2)/l/2"
    plane = ch.System("x y", "k", lagrangian="x'^2/2 + y'^2/2 - k*(x^2 + y^2)^2", name="plane")
    polar = ch.change_coordinates(plane, {"x": "r*cos(phi)", "y": "r*sin(phi)"})
    assert ch.show(ch.routh(polar.target, "phi").expressions["R"]) == "r'^2/2 - k*r^4 - mu_phi^2/r^2/2"


def test_collapsing_keeps_the_value():
    """At a random point, for powers, products of angles and hyperbolic functions; also where nothing becomes shorter."""
    a, b = ch.coordinates("a b")
    cases = [
        sympy.sin(a) ** 4 + 2 * sympy.sin(a) ** 2 * sympy.cos(a) ** 2 + sympy.cos(a) ** 4,
        b * sympy.sin(a) ** 3 + b * sympy.sin(a) * sympy.cos(a) ** 2 - sympy.cos(b) ** 2,
        (sympy.cosh(a) ** 2 - sympy.sinh(a) ** 2) / (sympy.sin(a + b) ** 2 + sympy.cos(a + b) ** 2 + b),
        sympy.sin(a) ** 5 / (1 + sympy.cos(b)) + sympy.tan(a),
    ]
    for e in cases:
        short = collapsed(e)
        assert short.count_ops() <= e.count_ops()
        assert float((short - e).xreplace({a: sympy.Rational(7, 10), b: sympy.Rational(-13, 10)})) == pytest.approx(0, abs=1e-13)
    assert collapsed(cases[0]) == 1
    assert collapsed(cases[2]) == 1 / (1 + b)


def test_two_circles_have_two_angles():
    """Two pendulums of lengths 1 and 2, coupled by k*x*u: each circle has an angle of its own, measured from the downward line."""
    pair = ch.System(
        "x y u v",
        "k",
        lagrangian="(x'^2 + y'^2)/2 - y + u'^2 + v'^2 - 3*v - k*x*u",
        kinematic=["x^2 + y^2 = 1", "u^2 + v^2 = 4"],
        name="pair",
    )
    restricted = ch.restrict(ch.derive(pair, ch.DAlembert()))
    assert dict(restricted.system.kinds) == {"alpha": "angle", "beta": "angle"}
    times = np.linspace(0, 1, 11)
    start = {"x": 0.6, "y": -0.8, "u": 0, "v": -2, "x'": 0.4, "u'": 0.5}
    motion = moved(restricted, start, {"k": 0.3}, times)

    def rhs(t, z):
        a, b, da, db = z
        return [da, db, -np.sin(a) - 0.6 * np.cos(a) * np.sin(b), (-6 * np.sin(b) - 0.6 * np.sin(a) * np.cos(b)) / 8]

    a, b, da, db = by_hand(rhs, [np.arctan2(0.6, 0.8), 0, 0.4 / 0.8, 0.25], times)
    close(motion["alpha"], a)
    close(motion["beta"], b)
    back = restricted.backward(motion)
    close(back["u"], 2 * np.sin(b))
    close(back["lambda1"], -(da**2 + np.cos(a) - 0.6 * np.sin(a) * np.sin(b)) / 2)  # E = 2*lambda*(x, y), times (x, y)
    close(back["lambda2"], -(2 * 2 * db**2 * 2 + 2 * 3 * np.cos(b) - 0.6 * np.sin(a) * np.sin(b)) / 8)


def test_a_row_that_says_the_same_again():
    """A redundant row leaves no formula to find; its reaction cannot be told from the other one."""
    rail = ch.System("x y", "k", lagrangian="(x'^2 + y'^2)/2 - k*y^2/2", kinematic=["x = y + sin(t)", "2*x = 2*y + 2*sin(t)"], name="rail")
    restricted = ch.restrict(ch.derive(rail, ch.DAlembert()))
    times = np.linspace(0, 2, 9)
    motion = moved(restricted, {"x": 0.6, "x'": 0.4}, {"k": 0.3}, times)
    x, _ = by_hand(lambda t, z: [z[1], (-np.sin(t) - 0.3 * (z[0] - np.sin(t))) / 2], [0.6, 0.4], times)
    close(motion["x"], x)
