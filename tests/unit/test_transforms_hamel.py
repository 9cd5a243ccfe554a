"""hamel: equations in quasi-velocities, against the literature, brackets taken by hand and the accelerations of the source."""

import itertools

import numpy as np
import pytest
import sympy
from sympy import cos, sin

import chetaev as ch
from chetaev.core.symbols import TIME, Coordinate, Jet
from chetaev.core.zero import vanishes
from quasi_velocities import BLADE, ROWS, SLEIGH, START, checked, compared, random_system, sleigh

BODY = {
    "w1": "phi'*sin(theta)*sin(psi) + theta'*cos(psi)",
    "w2": "phi'*sin(theta)*cos(psi) - theta'*sin(psi)",
    "w3": "phi'*cos(theta) + psi'",
}
"""Angular velocity about the axes of the body, by Euler's angles 3-1-3."""


def same_row(morphism, label, text):
    """A row of the target is `text = 0`, not only up to a factor."""
    assert vanishes(morphism.target[label].residual - ch.parse(text, morphism.target)) is True, morphism.target[label]


def same(expression, text, morphism):
    assert vanishes(expression - ch.parse(text, morphism.target)) is True, expression


def rates(morphism):
    return {row.lhs.name: row.rhs for row in morphism.system.kinematic if isinstance(row.lhs, Jet)}


# ------------------------------------------------------------ known equations


def top(potential="0"):
    kinetic = "(I1*w1'^2 + I2*w2'^2 + I3*w3'^2)/2"
    return ch.System("phi theta psi", "I1 I2 I3 k", lagrangian=f"{kinetic} - k*({potential})", quasi=BODY, name="top")


def test_euler_angles_and_body_velocities_give_eulers_equations():
    morphism = ch.hamel(top())
    same_row(morphism, "E_w1", "I1*w1' + (I3 - I2)*w2*w3")
    same_row(morphism, "E_w2", "I2*w2' + (I1 - I3)*w3*w1")
    same_row(morphism, "E_w3", "I3*w3' + (I2 - I1)*w1*w2")
    assert str(morphism.target["E_w1"].lhs).count("sin") == 0
    same(rates(morphism)["phi'"], "(w1*sin(psi) + w2*cos(psi))/sin(theta)", morphism)
    same(rates(morphism)["theta'"], "w1*cos(psi) - w2*sin(psi)", morphism)
    assert [ch.show(e) for e in morphism.target.assumptions] == ["sin(theta)"]
    same(morphism.expressions["L"], "(I1*w1^2 + I2*w2^2 + I3*w3^2)/2", morphism)
    names = {name: e for name, e in morphism.expressions.items() if name.startswith("C_")}
    assert names == {"C_w1_w2^w3": 1, "C_w1_w3^w2": -1, "C_w2_w3^w1": 1}


def test_a_heavy_body_feels_the_torque_of_its_weight():
    """U = k*(a1*G1 + a3*G3) with G the vertical seen from the body, G' = G x w: the torque about axis 1 is -(G x e1).grad U, and so on."""
    vertical = ("sin(theta)*sin(psi)", "sin(theta)*cos(psi)", "cos(theta)")
    morphism = ch.hamel(top(f"2*{vertical[0]} + 3*{vertical[2]}"))
    g1, g2, g3 = vertical
    same_row(morphism, "E_w1", f"I1*w1' + (I3 - I2)*w2*w3 - 3*k*{g2}")
    same_row(morphism, "E_w2", f"I2*w2' + (I1 - I3)*w3*w1 + k*(3*{g1} - 2*{g3})")
    same_row(morphism, "E_w3", f"I3*w3' + (I2 - I1)*w1*w2 + 2*k*{g2}")
    start = {"phi": 0.3, "theta": 1.1, "psi": -0.4, "phi'": 0.7, "theta'": -0.9, "psi'": 1.3}
    motion, there = checked(morphism, start, {"I1": 0.7, "I2": 1.1, "I3": 1.6, "k": 2.3})
    energy = there.reader.values(morphism.expressions["E"], there.t, there.states)
    assert np.abs(energy - motion.energy[0]).max() < 1e-10


def test_chaplygins_sleigh():
    """Neimark and Fufaev (1972), chapter III; Bloch (2003), section 1.7: v' = a*omega^2, (J + m*a^2)*omega' = -m*a*v*omega."""
    morphism = ch.hamel(sleigh(), ch.DAlembert())
    same_row(morphism, "E_v", "m*v' - m*omega*u - m*a*omega^2")
    same_row(morphism, "E_u", "m*u' + m*a*omega' + m*omega*v - lambda1")
    same_row(morphism, "E_omega", "(J + m*a^2)*omega' + m*a*u' + m*a*omega*v")
    assert str(morphism.system.kinematic[0]) == "u = 0"
    assert {k: e for k, e in morphism.expressions.items() if k[0] == "C"} == {"C_v_omega^u": -1, "C_u_omega^v": 1}
    assert morphism.target.assumptions == ()
    assert morphism.notes == ()
    now = ch.evaluate(morphism.target, {"x": 0.1, "y": -0.2, "theta": 0.6, "v": 1.7, "omega": -0.9}, parameters=SLEIGH)
    m, j, a = SLEIGH.values()
    turned = -m * a * 1.7 * -0.9 / (j + m * a**2)
    expected = {"u": 0, "u'": 0, "v'": a * 0.9**2, "omega'": turned, "lambda1": m * a * turned + m * -0.9 * 1.7}
    for name, value in expected.items():
        assert now[name] == pytest.approx(value, abs=1e-13), name
    assert now["x'"] == pytest.approx(1.7 * np.cos(0.6), abs=1e-14)
    checked(morphism, {"x": 0.1, "y": -0.2, "theta": 0.6, "x'": 0.8, "theta'": -0.9}, SLEIGH)


def test_nothing_is_singular_where_an_entry_of_the_frame_vanishes():
    """The sleigh stands exactly across the axis, cos(theta) = 0, and along it; an inverse by pivots would divide by zero."""
    morphism = ch.hamel(sleigh(), ch.DAlembert())
    for theta in ("pi/2", 0, "pi", "-pi/2"):
        now = ch.evaluate(morphism.target, {"x": 0, "y": 0, "theta": theta, "v": 1, "omega": 0.5}, parameters=SLEIGH)
        assert now["v'"] == pytest.approx(0.7 * 0.25, abs=1e-13)


def test_the_target_follows_from_its_system_and_principle():
    """The rows are rearranged for reading only: what is saved and loaded again moves the same way."""
    morphism = ch.hamel(sleigh(), ch.DAlembert())
    again = ch.derive(morphism.system, morphism.target.principle)
    assert [row.label for row in again.rows] == [row.label for row in morphism.target.rows]
    for ours, theirs in zip(morphism.target.rows, again.rows, strict=True):
        assert vanishes(ours.residual - theirs.residual) is True
    assert morphism.target.reaction("u") == again.reaction("u") == ch.parse("lambda1", again)


def test_the_rows_of_the_constraints_keep_their_numbers():
    morphism = ch.hamel(sleigh(), ch.DAlembert())
    assert morphism.target.labels == tuple("E_v E_u E_omega kinematic[0] kinematic[1] kinematic[2] kinematic[3]".split())
    assert str(morphism.target["kinematic[0]"].origin) == "stated by the user"
    assert str(morphism.target["kinematic[1]"].origin) == "definition of the quasi-velocities"


def test_a_frame_that_turns_with_time_brings_coriolis_terms():
    """A free particle seen from axes that turn at the rate W: u' = W*v, v' = -W*u, for W constant and for an input."""
    turning = {"u": "x'*cos(W*t) + y'*sin(W*t)", "v": "y'*cos(W*t) - x'*sin(W*t)"}
    free = ch.System("x y", "m W", lagrangian="m/2*(x'^2 + y'^2)")
    morphism = ch.hamel(free, velocities=turning)
    same_row(morphism, "E_u", "m*u' - m*W*v")
    same_row(morphism, "E_v", "m*v' + m*W*u")
    same(morphism.expressions["C_u_t^v"], "-W", morphism)
    same(morphism.expressions["C_v_t^u"], "W", morphism)
    driven = ch.System("x y", "m", lagrangian="m/2*(x'^2 + y'^2)", inputs={"angle": None})
    turning = {"u": "x'*cos(angle) + y'*sin(angle)", "v": "y'*cos(angle) - x'*sin(angle)"}
    morphism = ch.hamel(driven, velocities=turning)
    same_row(morphism, "E_u", "m*u' - m*angle'*v")
    same_row(morphism, "E_v", "m*v' + m*angle'*u")


def test_velocities_measured_from_a_moving_belt():
    """w = x' - u(t) - W*y: the belt's own acceleration appears, and so does its shear."""
    belt = ch.System("x y", "m W k", lagrangian="m/2*(x'^2 + y'^2) - k*(x - u)^2/2", inputs={"u": None})
    morphism = ch.hamel(belt, velocities={"w": "x' - u - W*y", "v": "y'"})
    same(rates(morphism)["x'"], "w + u + W*y", morphism)
    same_row(morphism, "E_w", "m*(w' + u' + W*v) + k*(x - u)")
    same_row(morphism, "E_v", "m*v'")
    values = {"m": 1.2, "W": 0.6, "k": 3}
    checked(morphism, {"x": 0.2, "y": 0.1, "x'": 1, "y'": -0.4}, values, inputs={"u": "sin(2*t) + t^2"})


# ------------------------------------------------------------ structure functions


FRAMES = {
    "blade": ("x y theta", BLADE),
    "body": ("phi theta psi", BODY),
    "other order": ("theta x y", BLADE),
    "skew": ("x y z", {"a": "(2 + sin(y))*z' + x'", "b": "y'*exp(x/3) - x*z'", "c": "x'*(3 + cos(z)) + y'"}),
    "moving": ("x y", {"a": "(2 + sin(t*y))*x' + y'*t + x*y", "b": "(3 + x^2)*y' - t^2*x"}),
}


@pytest.mark.parametrize(("names", "definition"), FRAMES.values(), ids=FRAMES)
def test_structure_functions_are_those_of_the_brackets(names, definition):
    """The fields are read off the rows q' = X w, time is a coordinate with rate 1, and brackets are taken component by component."""
    system = ch.System(names, lagrangian=" + ".join(f"{q}'^2" for q in names.split()))
    morphism = ch.hamel(system, velocities=definition)
    places = [*system.coordinates, TIME]
    w = [Coordinate(name) for name in definition]
    by_name = rates(morphism)
    values = [by_name[q.d().name] for q in system.coordinates]
    fields = {z.base: [e.diff(z) for e in values] + [sympy.S.Zero] for z in w}
    fields["t"] = [e.xreplace(dict.fromkeys(w, sympy.S.Zero)) for e in values] + [sympy.S.One]
    found = 0
    for a, b in itertools.combinations(fields, 2):
        x, y = fields[a], fields[b]
        components = {c: morphism.expressions.get(f"C_{a}_{b}^{c}", sympy.S.Zero) for c in definition}
        found += sum(e != 0 for e in components.values())
        for i in range(len(places)):
            bracket = sum(x[j] * y[i].diff(z) - y[j] * x[i].diff(z) for j, z in enumerate(places))
            combination = sum(e * fields[c][i] for c, e in components.items())
            at = {z: sympy.Rational(k + 3, 7) for k, z in enumerate(places)}
            assert abs((bracket - combination).subs(at).evalf(40)) < 1e-30
    assert found == sum(name.startswith("C_") for name in morphism.expressions) > 0


# ------------------------------------------------------------ accelerations of random systems


@pytest.mark.parametrize(("seed", "moving"), [(0, False), (2, True)], ids=["0", "2 moving"])
def test_accelerations_of_random_systems(seed, moving):
    system, definition = random_system(seed, moving)
    compared(ch.hamel(system, velocities=definition), definition, START, {"k": 1.7}, 0.6)


@pytest.mark.parametrize(("principle", "rows", "fixed", "guessed", "moving"), ROWS.values(), ids=ROWS)
def test_accelerations_and_multipliers_under_constraints(principle, rows, fixed, guessed, moving):
    system, definition = random_system(11, moving, full=False, **rows)
    state = ch.State({name: START[name] for name in fixed.split()}, {name: START[name] for name in guessed.split()})
    compared(ch.hamel(system, principle, velocities=definition), definition, state, {"k": 1.7}, 0.6)


def test_lagrangians_of_second_order():
    """Fourth derivatives of the positions are third derivatives of the quasi-velocities; both sides are carried along a motion."""
    beam = ch.System(
        "x y",
        "k",
        lagrangian="(x''^2 + 2*y''^2)*(1 + x^2/5)/2 + x''*y'/3 - x'^2*y/2 - k*(x^2 + y^2)/2 + t*x*y/4",
        forces={"x": "y''/5 - x'"},
        name="beam",
    )
    definition = {"f": "x' + y'*sin(y)", "g": "y'*(1 + x^2/4) + t*x/3"}
    morphism = ch.hamel(beam, velocities=definition)
    assert max(z.order for z in morphism.target["E_f"].lhs.free_symbols if isinstance(z, Coordinate) and z.base in "fg") == 3
    start = {"x": 0.3, "y": -0.2, "x'": 0.5, "y'": 0.7, "x''": -0.4, "y''": 0.1, "x'''": 0.2, "y'''": -0.6}
    motion, _ = checked(morphism, start, {"k": 1.4})
    carried = morphism.forward(motion)
    rate = ch.parse("D(x' + y'*sin(y), 3)", beam)
    assert np.abs(carried["f'''"] - motion.reader.values(rate, motion.t, motion.states)).max() < 1e-10


# ------------------------------------------------------------ other principles, other sources


def test_vakonomic_multipliers_are_coordinates_of_the_target():
    morphism = ch.hamel(sleigh(), ch.Vakonomic())
    assert [z.base for z in morphism.target.unknowns] == "x y theta v u omega mu1".split()
    same_row(morphism, "E_u", "m*u' + m*a*omega' + m*omega*v + mu1'")
    same_row(morphism, "E_v", "m*v' - m*omega*u - m*a*omega^2 - omega*mu1")
    same_row(morphism, "E_omega", "(J + m*a^2)*omega' + m*a*u' + m*a*omega*v + v*mu1 - 0")
    start = {"x": 0.1, "y": -0.2, "theta": 0.6, "x'": 0.8, "theta'": -0.9, "lambda1": 0.3}
    checked(morphism, start, SLEIGH)


def test_herglotz_action_is_a_coordinate_of_the_target():
    """L = m/2*(x'^2 + y'^2) - g*s in polar speeds: the friction -g*p appears in every row."""
    damped = ch.System("x y", "m g", lagrangian="m/2*(x'^2 + y'^2) - g*s", action="s", name="damped")
    morphism = ch.hamel(damped, ch.Herglotz(), velocities={"u": "x' + x*y'", "v": "y'*(2 + x^2)"})
    compared(
        morphism, {"u": "x' + x*y'", "v": "y'*(2 + x^2)"}, {"x": 0.3, "y": 0.5, "s": 0.2, "x'": 1, "y'": -0.8}, {"m": 1.3, "g": 0.4}, 0.0
    )
    assert rates(morphism)["s'"] == morphism.expressions["L"]
    checked(morphism, {"x": 0.3, "y": 0.5, "s": 0.2, "x'": 1, "y'": -0.8}, {"m": 1.3, "g": 0.4})


def test_equations_without_multipliers_are_a_source_too():
    equations = ch.derive(sleigh(), ch.DAlembert()).eliminate()
    morphism = ch.hamel(equations)
    motion = ch.simulate(equations, {"x": 0, "y": 0, "theta": 0.6, "x'": 0.8, "theta'": -0.9}, (0, 1), parameters=SLEIGH, tolerance=1e-12)
    found = morphism.check(motion)
    assert found.largest < 1e-10
    assert found.motion["lambda1"].shape == found.motion.t.shape


def test_fewer_quasi_velocities_are_completed_and_said_so():
    definition = {"v": BLADE["v"], "omega": "theta'"}
    morphism = ch.hamel(sleigh(), ch.DAlembert(), velocities=definition)
    assert morphism.notes == ("Added to v omega, because there are more coordinates than quasi-velocities: v_y = y'.",)
    assert [ch.show(e) for e in morphism.target.assumptions] == ["cos(theta)"]
    start = {"x": 0.1, "y": -0.2, "theta": 0.6, "x'": 0.8, "theta'": -0.9}
    compared(morphism, {**definition, "v_y": "y'"}, start, SLEIGH, 0.0)
    checked(morphism, start, SLEIGH)


def test_a_frame_is_completed_where_it_stays_regular():
    """The shorter coefficient t vanishes at the start, and x*(1 + y^2) at the origin: neither is relied on."""
    free = ch.System("x y z", lagrangian="x'^2 + y'^2 + z'^2", name="free")
    morphism = ch.hamel(free, velocities={"w": "t*x' + (2 + sin(x))*y' + x*(1 + y^2)*z'"})
    assert morphism.notes == ("Added to w, because there are more coordinates than quasi-velocities: v_x = x', v_z = z'.",)
    assert [ch.show(e) for e in morphism.target.assumptions] == ["sin(x) + 2"]


def test_new_names_do_not_meet_old_ones():
    held = ch.System("x y", "v_y mu1", lagrangian="v_y*x'^2/2 + mu1*y'^2/2", kinematic=["x' = y*y'"], name="held")
    morphism = ch.hamel(held, ch.Vakonomic(), velocities={"w": "x' + y'/2"})
    added = [z.base for z in morphism.target.unknowns[3:]]
    assert added in (["v_x", "mu1_"], ["v_y_", "mu1_"])


def test_a_coordinate_on_which_nothing_acts_has_no_row():
    """y only follows x; the source has one row of motion, and so has the target although the frame mixes both directions."""
    follower = ch.System("x y", "m k", lagrangian="m*x'^2/2 - k*x^2/2", kinematic=["y' = x*y"], variational=[], name="follower")
    definition = {"f": "x' + y'", "g": "x' - 2*y'*(1 + x^2)"}
    morphism = ch.hamel(follower, ch.VirtualWork(), velocities=definition)
    assert morphism.target.counts == (4, 4)
    assert morphism.notes == ("The variation of y has no row of its own: E_f would follow from the other rows.",)
    compared(morphism, definition, {"x": 0.4, "y": 0.7, "x'": 1.2}, {"m": 1.3, "k": 2.1}, 0.0)
    again = ch.derive(morphism.system, morphism.target.principle)
    assert vanishes(again["E_g"].residual - morphism.target["E_g"].residual) is True


def test_formulas_given_as_sympy_expressions_and_by_names_of_the_system():
    x, y, theta = ch.coordinates("x y theta")
    given = {"v": x.d() * cos(theta) + y.d() * sin(theta), "u": "u'", "spin": "2*omega'"}
    morphism = ch.hamel(sleigh(), ch.DAlembert(), velocities=given)
    same_row(morphism, "E_v", "m*v' - m*spin*u/2 - m*a*spin^2/4")
    same_row(morphism, "E_spin", "(J + m*a^2)*spin'/4 + m*a*u'/2 + m*a*spin*v/4")


def test_velocities_that_only_seem_to_enter_nonlinearly():
    morphism = ch.hamel(ch.System("x y", lagrangian="x'^2 + y'^2"), velocities={"w": "(x'*y' + 2*x'^2)/x'", "v": "x' + x*y"})
    same(rates(morphism)["x'"], "v - x*y", morphism)
    same(rates(morphism)["y'"], "w - 2*v + 2*x*y", morphism)


def test_root_of_a_square_stays_a_function_of_the_notation():
    """SymPy writes sqrt(x^2) as its own Abs, for which there is no word in the notation."""
    morphism = ch.hamel(ch.System("x y", lagrangian="sqrt(x^2*(2 + sin(y)))*(x'^2 + y'^2)"), velocities={"v": "x' + y'", "w": "y' - x'"})
    assert not any(row.residual.has(sympy.Abs) for row in morphism.target.rows)
    compared(morphism, {"v": "x' + y'", "w": "y' - x'"}, {"x": -0.7, "y": 0.3, "x'": 0.5, "y'": 0.9}, {}, 0.0)


# ------------------------------------------------------------ refusals


def refused(call, *sentences, error):
    with pytest.raises(error) as found:
        call()
    for sentence in sentences:
        assert sentence in str(found.value), str(found.value)
    assert found.value.where.startswith("hamel")
    assert found.value.hint


def test_what_are_no_quasi_velocities():
    free = ch.System("x y", "m", lagrangian="m/2*(x'^2 + y'^2)", name="free")

    def of(**velocities):
        return lambda: ch.hamel(free, velocities=velocities)

    refused(of(a="x' + y'", b="2*x' + 2*y'"), "the quasi-velocities a b depend on each other", error=ch.ModelError)
    refused(of(a="x'*(sin(y)^2 + cos(y)^2) + y'", b="x' + y'"), "depend on each other", error=ch.ModelError)
    refused(of(a="x*y"), "the quasi-velocities a depend on each other", error=ch.ModelError)
    refused(of(a="x'", b="y'", c="x' + y'"), "3 quasi-velocities are given for 2 coordinates", error=ch.ModelError)
    refused(of(a="x'*y'"), "a is not linear in the velocities: x'*y'", error=ch.ModelError)
    refused(of(a="abs(x')"), "a is not linear in the velocities", error=ch.ModelError)
    refused(of(a="x''"), "a contains x''", "A quasi-velocity is a function of positions, velocities and time", error=ch.ModelError)
    refused(of(m="x'"), "m already has a meaning", error=ch.UsageError)
    refused(of(x="x'"), "x already has a meaning", error=ch.UsageError)
    refused(lambda: ch.hamel(free), "no quasi-velocity is given", error=ch.UsageError)
    refused(lambda: ch.hamel(free, velocities=["x'"]), "velocities are given as list, not by name", error=ch.UsageError)
    refused(
        lambda: ch.hamel(ch.derive(free), ch.DAlembert(), {"w": "x'"}),
        "the equations are under Hamilton(), not under DAlembert()",
        error=ch.UsageError,
    )
    with pytest.raises(ch.NotationError, match="unknown name"):
        of(a="x' + zeta'")()


def test_dependence_is_decided_on_the_constraint_manifold():
    """x' and (x - y)*y' + x' are independent in space, but not on x = y."""
    line = ch.System("x y", lagrangian="x'^2 + y'^2", kinematic=["x = y"], name="line")
    refused(lambda: ch.hamel(line, ch.DAlembert(), {"a": "x'", "b": "x' + (x - y)*y'"}), "depend on each other", error=ch.ModelError)


def test_group_coordinates_are_refused():
    ball = ch.System({"A": "SO3 body"}, "I", lagrangian="I/2*(A1'^2 + A2'^2 + A3'^2)", name="ball")
    refused(lambda: ch.hamel(ball, velocities={"w": "A1' + A2'"}), "A is an element of SO3", error=ch.ModelError)
