"""Systems of sympy.physics.mechanics, against the accelerations that SymPy's own methods give."""

import pytest
import sympy
from sympy import symbols
from sympy.physics import mechanics as me
from sympy.physics.mechanics import (
    Force,
    KanesMethod,
    LagrangesMethod,
    Lagrangian,
    Particle,
    Point,
    ReferenceFrame,
    RigidBody,
    System,
    Torque,
    dynamicsymbols,
    inertia,
)

import chetaev as ch
from chetaev.core.errors import ModelError, UsageError
from chetaev.interop.mechanics import VelocityWarning

N = ReferenceFrame("N")
M, m, l, g, r = symbols("M m l g r")
VALUES = {"M": 1.2, "m": 0.7, "l": 0.9, "g": 9.81, "r": 0.4}


def cart():
    """A pendulum on a cart, driven by a force."""
    x, th, v, w, force = dynamicsymbols("x th v w F")
    origin = Point("O")
    origin.set_vel(N, 0)
    turned = N.orientnew("A", "Axis", [th, N.z])
    hinge = origin.locatenew("P", x * N.x)
    bob = hinge.locatenew("Q", -l * turned.y)
    hinge.set_vel(N, x.diff() * N.x)
    bob.v2pt_theory(hinge, N, turned)
    bodies = [Particle("cart", hinge, M), Particle("bob", bob, m)]
    return origin, (x, th), (v, w), force, (hinge, bob), bodies


def numbers(names, values):
    return {sympy.Symbol(name): values[name] for name in names}


def test_a_system_with_loads_has_the_accelerations_of_kane():
    origin, (x, th), (v, w), force, (hinge, bob), bodies = cart()
    theirs = System(N, origin)
    theirs.add_coordinates(x, th)
    theirs.add_speeds(v, w)
    theirs.add_kdes(2 * v - x.diff(), w - th.diff())
    theirs.add_bodies(*bodies)
    theirs.add_loads(Force(hinge, (force - 3 * v) * N.x), Force(bob, -m * g * N.y), Force(hinge, -M * g * N.y))
    system = ch.from_mechanics(theirs, name="cart")
    state = {"x": 0.1, "th": 0.4, "x'": 0.3, "th'": -0.6}
    now = ch.evaluate(ch.derive(system), state, parameters={k: VALUES[k] for k in "Mmlg"}, inputs={"F": "2"})
    theirs.form_eoms()
    point = numbers("Mmlg", VALUES) | {x: 0.1, th: 0.4, v: 0.15, w: -0.6, force: 2}
    rates = theirs.mass_matrix.subs(point).LUsolve(theirs.forcing.subs(point))
    assert (now["x''"], now["th''"]) == pytest.approx((2 * float(rates[0]), float(rates[1])), rel=1e-12)
    assert [str(z) for z in system.inputs] == ["F"]


def test_a_lagrangian_is_taken_as_stated():
    origin, (x, th), _, force, (hinge, bob), bodies = cart()
    stated = Lagrangian(N, *bodies) - m * g * bob.pos_from(origin).dot(N.y)
    method = LagrangesMethod(stated, [x, th], bodies=bodies, frame=N, forcelist=[(hinge, force * N.x)])
    now = ch.evaluate(
        ch.derive(ch.from_mechanics(method)),
        {"x": 0.1, "th": 0.4, "x'": 0.3, "th'": -0.6},
        parameters={k: VALUES[k] for k in "Mmlg"},
        inputs={"F": "2"},
    )
    method.form_lagranges_equations()
    point = numbers("Mmlg", VALUES) | {x.diff(): 0.3, th.diff(): -0.6}
    solved = method.mass_matrix.subs({force: 2}).subs(point).subs({x: 0.1, th: 0.4}).LUsolve(
        method.forcing.subs({force: 2}).subs(point).subs({x: 0.1, th: 0.4})
    )  # fmt: skip
    assert (now["x''"], now["th''"]) == pytest.approx([float(a) for a in solved], rel=1e-12)


def disc(declared):
    """A rolling disc in five coordinates; `declared` is whether the velocity of its centre contains rolling."""
    x, y, yaw, lean, spin = dynamicsymbols("x y q1 q2 q3")
    u = dynamicsymbols("u1:4")
    yawed = N.orientnew("Y", "Axis", [yaw, N.z])
    leaned = yawed.orientnew("L", "Axis", [lean, yawed.x])
    rolled = leaned.orientnew("R", "Axis", [spin, leaned.y])
    origin = Point("O")
    origin.set_vel(N, 0)
    contact = origin.locatenew("C", x * N.x + y * N.y)
    centre = contact.locatenew("D", r * leaned.z)
    turning = rolled.ang_vel_in(N)
    touching = Point("T")
    touching.set_vel(N, 0)
    rolling = (turning ^ (r * leaned.z)).express(N)
    if declared:
        centre.set_vel(N, rolling)
    else:
        centre.set_vel(N, centre.pos_from(origin).dt(N))
    speeds = [u[0] - turning.dot(leaned.x), u[1] - turning.dot(leaned.y), u[2] - turning.dot(leaned.z)]
    tensor = inertia(leaned, m * r**2 / 4, m * r**2 / 2, m * r**2 / 4)
    body = RigidBody("disc", centre, rolled, m, (tensor, centre))
    slip = centre.pos_from(origin).dt(N) - rolling
    return origin, (x, y, yaw, lean, spin), u, speeds, body, (slip.dot(N.x), slip.dot(N.y)), centre


def kane_of_the_disc():
    """The published way: three speeds, rolling inside the velocities."""
    _, (_, _, yaw, lean, spin), u, speeds, body, _, centre = disc(declared=True)
    method = KanesMethod(N, [yaw, lean, spin], u, speeds, kd_eqs_solver="LU")
    solved = sympy.solve(speeds, [yaw.diff(), lean.diff(), spin.diff()])
    centre.set_vel(N, centre.vel(N).subs(solved))
    body.frame.set_ang_vel(N, body.frame.ang_vel_in(N).subs(solved))
    method.kanes_equations([body], [(centre, -m * g * N.z)])
    return method, (yaw, lean, spin), u, solved


@pytest.mark.parametrize("declared", [False, True])
def test_a_rolling_disc_is_right_whatever_velocity_is_declared(declared):
    origin, q, u, speeds, body, slip, centre = disc(declared)
    theirs = System(N, origin)
    theirs.add_coordinates(*q)
    theirs.add_speeds(*u, *dynamicsymbols("u4 u5"))
    extra = dynamicsymbols("u4 u5")
    theirs.add_kdes(*speeds, extra[0] - q[0].diff(), extra[1] - q[1].diff())
    theirs.add_bodies(body)
    theirs.add_loads(Force(centre, -m * g * N.z))
    theirs.add_nonholonomic_constraints(*slip)
    if declared:
        with pytest.warns(VelocityWarning, match="the velocity of D: the declared value"):
            system = ch.from_mechanics(theirs)
    else:
        system = ch.from_mechanics(theirs)
    state = {"x": 0, "y": 0, "q1": 0.3, "q2": 0.4, "q3": 0.1, "q1'": 0.5, "q2'": -0.2, "q3'": 2.0}
    now = ch.evaluate(ch.derive(system, ch.DAlembert()), state, parameters={k: VALUES[k] for k in "mgr"})
    method, angles, speeds_of, solved = kane_of_the_disc()
    values = numbers("mgr", VALUES)
    rates = dict(zip([a.diff() for a in angles], (0.5, -0.2, 2.0), strict=True))
    place = dict(zip(angles, (0.3, 0.4, 0.1), strict=True))
    found = sympy.solve([(e - a.diff()).subs(rates).subs(place) for a, e in ((a, solved[a.diff()]) for a in angles)], list(speeds_of))
    point = {**values, **place, **found}
    udot = method.mass_matrix.subs(point).LUsolve(method.forcing.subs(point))
    t = dynamicsymbols._t
    for angle in angles:
        second = solved[angle.diff()].diff(t).subs(dict(zip([s.diff() for s in speeds_of], udot, strict=True)))
        assert now[f"{angle.func.__name__}''"] == pytest.approx(float(second.subs(rates).subs(found).subs(place).subs(values)), rel=1e-10)


def test_rolling_inside_the_definitions_of_speeds_is_a_constraint():
    """Three speeds for five coordinates: the other two definitions restrict the velocities."""
    origin, q, u, speeds, body, slip, centre = disc(declared=False)
    rows = [*speeds, *slip]
    method = KanesMethod(N, list(q[2:]), list(u), speeds)
    assert method is not None  # the published form has no x and y
    theirs = System(N, origin)
    theirs.add_coordinates(*q)
    theirs.add_speeds(*u)
    theirs.add_kdes(*rows)
    theirs.add_bodies(body)
    theirs.add_loads(Force(centre, -m * g * N.z), Torque(body.frame, 0.3 * N.z))
    system = ch.from_mechanics(theirs)
    assert len(system.kinematic) == 2 and ch.classify(system) is not None


class Assembled:
    """A model of parts, as symbrim's: its own `system` has neither the other parts' bodies nor their constraints."""

    def __init__(self, part, whole):
        self.system, self._whole = part, whole

    def to_system(self):
        return self._whole


def test_a_model_of_parts_is_read_whole():
    """A bob that a rod joins to a cart, in Cartesian coordinates: the part has the cart alone, and would roll on without a force."""
    x, y, s = dynamicsymbols("x y s")
    u = dynamicsymbols("u1:4")
    origin = Point("O")
    origin.set_vel(N, 0)
    hinge, bob = origin.locatenew("P", s * N.x), origin.locatenew("Q", x * N.x + y * N.y)
    hinge.set_vel(N, s.diff() * N.x)
    bob.set_vel(N, x.diff() * N.x + y.diff() * N.y)
    part, whole = System(N, origin), System(N, origin)
    for system in (part, whole):
        system.add_coordinates(x, y, s)
        system.add_speeds(*u)
        system.add_kdes(u[0] - x.diff(), u[1] - y.diff(), u[2] - s.diff())
        system.add_bodies(Particle("cart", hinge, M))
    whole.add_bodies(Particle("bob", bob, m))
    whole.add_loads(Force(bob, -m * g * N.y))
    whole.add_holonomic_constraints((x - s) ** 2 + y**2 - l**2)
    read = ch.from_mechanics(Assembled(part, whole))
    start = {"x": 0.6, "y": -0.8, "s": 0, "x'": 0, "s'": 0}
    now = ch.evaluate(ch.derive(read, ch.DAlembert()), start, parameters={"M": 3, "m": 2, "l": 1, "g": 9.81})
    tension = 9.81 * 0.8 / (1 / 2 + 0.6**2 / 3)  # at rest, along the rod: the cart gives way with its share of the pull
    assert (now["s''"], now["x''"], now["y''"]) == pytest.approx(
        (tension * 0.6 / 3, -tension * 0.6 / 2, tension * 0.8 / 2 - 9.81), rel=1e-12
    )


def test_what_cannot_be_read_is_refused():
    with pytest.raises(UsageError, match="not a system of sympy"):
        ch.from_mechanics("pendulum")
    _, (x, th), (v, w), _, _, bodies = cart()
    lonely = System(N, Point("Z"))
    lonely.add_coordinates(x)
    lonely.add_bodies(bodies[0])
    with pytest.raises(ModelError, match="position of P relative to Z is not known"):
        ch.from_mechanics(lonely)
    theirs = System(N, Point("O"))
    theirs.add_coordinates(x, th)
    theirs.add_speeds(v, w)
    theirs.add_kdes(v - x.diff())
    theirs.add_bodies(*bodies)
    with pytest.raises(ModelError, match="do not follow from the velocities"):
        ch.from_mechanics(theirs)


def test_a_guessed_fixed_point_that_rolls_is_refused():
    """SymPy's rolling disc without its place: the point of contact has velocity zero and is not fixed."""
    yaw, lean, spin = dynamicsymbols("q1 q2 q3")
    u = dynamicsymbols("u1:4")
    yawed = N.orientnew("Y", "Axis", [yaw, N.z])
    leaned = yawed.orientnew("L", "Axis", [lean, yawed.x])
    rolled = leaned.orientnew("R", "Axis", [spin, leaned.y])
    contact = Point("C")
    contact.set_vel(N, 0)
    centre = contact.locatenew("D", r * leaned.z)
    centre.v2pt_theory(contact, N, rolled)
    turning = rolled.ang_vel_in(N)
    speeds = [u[0] - turning.dot(leaned.x), u[1] - turning.dot(leaned.y), u[2] - turning.dot(leaned.z)]
    body = RigidBody("disc", centre, rolled, m, (inertia(leaned, m * r**2 / 4, m * r**2 / 2, m * r**2 / 4), centre))
    method = KanesMethod(N, [yaw, lean, spin], list(u), speeds, bodies=[body], forcelist=[(centre, -m * g * N.z)])
    with pytest.raises(ModelError, match="a point of contact that rolls is not at rest"):
        ch.from_mechanics(method)


def test_a_lagrangian_with_rolling_inside_is_refused():
    origin, q, _, _, body, _, _ = disc(declared=True)
    method = LagrangesMethod(Lagrangian(N, body), list(q), bodies=[body], frame=N)
    with pytest.raises(ModelError, match="kinetic energy of the Lagrangian is not that of the bodies"):
        ch.from_mechanics(method, origin=origin)


def test_parameters_that_only_a_position_row_contains():
    """x^2 + y^2 = l^2: the derivative of the row does not contain l."""
    x, y = dynamicsymbols("x y")
    m, g, l = sympy.symbols("m g l")
    method = LagrangesMethod(m * (x.diff() ** 2 + y.diff() ** 2) / 2 - m * g * y, [x, y], hol_coneqs=[x**2 + y**2 - l**2])
    system = ch.from_mechanics(method)
    start, values = {"x": 0.6, "y": -0.8, "x'": 0.3}, {"m": 2, "g": 9.81, "l": 1}
    now = ch.evaluate(ch.derive(system, ch.DAlembert()), start, parameters=values)
    speed2 = 0.3**2 + (0.3 * 0.6 / 0.8) ** 2
    multiplier = 2 * (9.81 * -0.8 - speed2) / 2  # along the rod: 2*lambda*l^2 = m*(g*y - v^2)
    assert now["lambda1"] == pytest.approx(multiplier, rel=1e-12) and now["x''"] == pytest.approx(2 * multiplier * 0.6 / 2, rel=1e-12)


@pytest.mark.parametrize("size", [1e-20, 1, 1e20])
def test_differences_are_found_in_any_units(size):
    """A wheel of a tiny radius and mass, written as numbers: the declared velocity contains rolling, and so does the Lagrangian."""
    origin, q, u, speeds, body, slip, centre = disc(declared=True)
    small = {r: sympy.Rational(size), m: sympy.Rational(size)}
    body.mass, body.central_inertia = small[m], body.central_inertia.subs(small)
    centre.set_vel(N, centre.vel(N).subs(small))
    centre.set_pos(next(iter(centre._pos_dict)), centre.pos_from(next(iter(centre._pos_dict))).subs(small))
    theirs = System(N, origin)
    theirs.add_coordinates(*q)
    extra = dynamicsymbols("u4 u5")
    theirs.add_speeds(*u, *extra)
    theirs.add_kdes(*speeds, extra[0] - q[0].diff(), extra[1] - q[1].diff())
    theirs.add_bodies(body)
    theirs.add_nonholonomic_constraints(*[e.subs(small) for e in slip])
    with pytest.warns(VelocityWarning, match="the velocity of D: the declared value"):
        ch.from_mechanics(theirs)
    with pytest.raises(ModelError, match="kinetic energy of the Lagrangian is not that of the bodies"):
        ch.from_mechanics(LagrangesMethod(Lagrangian(N, body), list(q), bodies=[body], frame=N), origin=origin)


MASS = sympy.Symbol("m")


def kane(mass=MASS, accelerations=None):
    """A particle in the plane with the row u2 = q1*u1, and declared acceleration rows."""
    q1, q2, u1, u2 = me.dynamicsymbols("q1 q2 u1 u2")
    frame, origin = me.ReferenceFrame("N"), me.Point("O")
    origin.set_vel(frame, 0)
    point = origin.locatenew("P", q1 * frame.x + q2 * frame.y)
    point.set_vel(frame, u1 * frame.x + u2 * frame.y)
    rows = None if accelerations is None else [accelerations(q1, u1, u2)]
    found = me.KanesMethod(
        frame, [q1, q2], [u1], kd_eqs=[q1.diff() - u1, q2.diff() - u2], u_dependent=[u2],
        velocity_constraints=[u2 - q1 * u1], acceleration_constraints=rows,
    )  # fmt: skip
    found.kanes_equations([me.Particle("body", point, mass)], [])
    return found


@pytest.mark.parametrize(
    "rows",
    [
        None,
        lambda q, u, v: v.diff() - q * u.diff() - u**2,
        lambda q, u, v: 3 * (v.diff() - q * u.diff() - u * v / q),  # the same on the constraint
    ],
)
def test_acceleration_rows_that_follow_are_taken(rows):
    assert len(ch.from_mechanics(kane(accelerations=rows)).kinematic) == 1


@pytest.mark.parametrize("rows", [lambda q, u, v: v.diff() - q * u.diff(), lambda q, u, v: v.diff() - 5 * u.diff() - u**2])
def test_acceleration_rows_that_do_not_follow_are_refused(rows):
    with pytest.raises(ch.ModelError, match="not the time derivatives of the velocity constraints"):
        ch.from_mechanics(kane(accelerations=rows))


def test_a_mass_that_changes_with_the_place_is_refused():
    """Kane's equations of SymPy have d(m*v)/dt, those of Lagrange another term with the slope of the mass; one by time is no trouble."""
    m, q = MASS, me.dynamicsymbols("q1")
    with pytest.raises(ch.ModelError, match="the mass or the inertia of body changes with q1"):
        ch.from_mechanics(kane(mass=m * (1 + q)))
    assert ch.from_mechanics(kane(mass=m * me.dynamicsymbols._t)).lagrangian is not None


def test_a_load_at_a_point_with_a_declared_velocity_only():
    """The example in the docstring of SymPy's LagrangesMethod: m q'' + k q + b q' = 0."""
    q, b, k = dynamicsymbols("q"), *symbols("b k")
    point = Point("P")
    point.set_vel(N, q.diff() * N.x)
    mass = Particle("Pa", point, m)
    mass.potential_energy = k * q**2 / 2
    method = LagrangesMethod(Lagrangian(N, mass), [q], forcelist=[(point, -b * q.diff() * N.x)], frame=N)
    now = ch.evaluate(ch.derive(ch.from_mechanics(method)), {"q": 0.3, "q'": -0.7}, parameters={"m": 2, "k": 5, "b": 0.4})
    assert now["q''"] == pytest.approx((-5 * 0.3 + 0.4 * 0.7) / 2, rel=1e-14)


def test_a_torque_on_a_frame_with_a_declared_angular_velocity_only():
    q, b, inertia_about = dynamicsymbols("q"), *symbols("b J")
    turned = ReferenceFrame("A")
    turned.set_ang_vel(N, 3 * q.diff() * N.z)
    method = LagrangesMethod(inertia_about * q.diff() ** 2 / 2, [q], forcelist=[(turned, -b * N.z)], frame=N)
    assert [str(u) for u in ch.from_mechanics(method).forces.values()] == ["-3*b"]
    within = LagrangesMethod(inertia_about * q.diff() ** 2 / 2, [q], forcelist=[(turned, -b * turned.z)], frame=N)
    with pytest.raises(ModelError, match="frames without a known orientation"):
        ch.from_mechanics(within)
    for place in (Point("Z"), ReferenceFrame("Z")):
        with pytest.raises(ModelError, match="of Z in N is not known, and a load acts there"):
            ch.from_mechanics(LagrangesMethod(q.diff() ** 2, [q], forcelist=[(place, b * N.z)], frame=N))


def test_a_body_without_an_orientation_is_refused_in_words():
    q, w, b = *dynamicsymbols("q w"), symbols("b")
    turned, origin = ReferenceFrame("A"), Point("O")
    turned.set_ang_vel(N, q.diff() * N.z)
    origin.set_vel(N, 0)
    body = RigidBody("B", origin, turned, m, (inertia(turned, r, r, r), origin))
    loads = [(turned, -b * q.diff() * N.z)]
    stated = LagrangesMethod(r * q.diff() ** 2 / 2, [q], bodies=[body], forcelist=loads, frame=N)
    for method in (stated, KanesMethod(N, [q], [w], [w - q.diff()], bodies=[body], forcelist=loads)):
        with pytest.raises(ModelError, match="the orientation of A relative to N is not known"):
            ch.from_mechanics(method)
