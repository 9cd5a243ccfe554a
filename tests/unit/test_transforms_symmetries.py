"""symmetries: fields, momenta and their rates, against textbook results and along motions."""

import numpy as np
import pytest
import sympy

import chetaev as ch
from chetaev.core.symbols import TIME
from chetaev.transforms.tools.noether import Fate


def fields(found):
    return {str(s).split(":")[0]: s for s in (*found, *found.horizontal)}


def equal(expression, text, equations):
    left = ch.parse(text, equations)
    return sympy.simplify(expression - left) == 0


def check_along(found, motion, parameters):
    """The rate of every momentum along a motion, by differences of the dense output (independent of the symbolic rate)."""
    times = np.linspace(motion.t[0], motion.t[-1], 9)[1:-1]
    h = 1e-3
    for s in (*found, *found.horizontal):
        weights = ((-2, 1 / 12), (-1, -2 / 3), (1, 2 / 3), (2, -1 / 12))
        slope = sum(w * value(motion, s.momentum, times + k * h) for k, w in weights) / h
        rate = value(motion, s.rate, times)
        scale = max(1.0, np.abs(value(motion, s.momentum, times)).max())
        assert np.abs(slope - rate).max() < 2e-8 * scale, s


def value(motion, expression, times):
    section = motion.at(times)
    return motion.reader.values(expression, section.t, section.states)


def test_two_bodies_have_the_ten_galilean_momenta_less_those_of_space():
    """In the plane: energy, two momenta, one angular momentum, two boosts."""
    bodies = ch.System(
        "x1 y1 x2 y2",
        "m M k",
        lagrangian="m/2*(x1'^2 + y1'^2) + M/2*(x2'^2 + y2'^2) + k/sqrt((x1 - x2)^2 + (y1 - y2)^2)",
        name="two bodies",
    )
    found = ch.symmetries(bodies)
    equations = found.equations
    assert len(found) == 6
    assert found.complete
    assert all(s.fate is Fate.CONSERVED and s.proved for s in found)
    by = fields(found)
    assert equal(by["d/dx1 + d/dx2"].momentum, "m*x1' + M*x2'", equations)
    assert equal(by["t*d/dx1 + t*d/dx2"].momentum, "t*(m*x1' + M*x2') - m*x1 - M*x2", equations)
    assert equal(by["y1*d/dx1 - x1*d/dy1 + y2*d/dx2 - x2*d/dy2"].momentum, "m*(x1'*y1 - x1*y1') + M*(x2'*y2 - x2*y2')", equations)


def test_uniform_field_is_invariant_up_to_a_total_derivative():
    fall = ch.System("x y", "m g", lagrangian="m/2*(x'^2 + y'^2) - m*g*y", name="fall")
    found = ch.symmetries(fall)
    by = fields(found)
    assert equal(by["d/dy"].momentum, "m*y' + m*g*t", found.equations)
    assert by["d/dy"].gauge == -TIME * ch.parse("m*g", fall)
    assert by["d/dx"].gauge == 0
    assert found.cyclic == (ch.Coordinate("x"),)


def test_magnetic_translations_do_not_commute_with_the_gauge():
    charge = ch.System("x y", "m B", lagrangian="m/2*(x'^2 + y'^2) + B*x*y'", name="charge")
    by = fields(ch.symmetries(charge))
    equations = ch.derive(charge)
    assert equal(by["d/dx"].momentum, "m*x' - B*y", equations)
    assert equal(by["d/dy"].momentum, "m*y' + B*x", equations)
    assert equal(by["y*d/dx - x*d/dy"].momentum, "m*(x'*y - x*y') - B*(x^2 + y^2)/2", equations)


def test_a_scaling_with_rational_coefficients_and_none_where_there_is_none():
    """L = x'*y' - x^2*y^2... keeps x -> e*x, y -> y/e; a generic potential keeps nothing but time."""
    boost = ch.System("x y", lagrangian="x'*y' - x*y/2 - (x*y)^2", name="hyperbola")
    assert "x*d/dx - y*d/dy" in fields(ch.symmetries(boost))
    bare = ch.System("x y", lagrangian="x'^2/2 + y'^2/2 - x^3*y - y^2", name="bare")
    assert list(fields(ch.symmetries(bare))) == ["-d/dt"]
    driven = ch.System("x", lagrangian="x'^2/2 - x^4*(2 + sin(t))", name="driven")
    found = ch.symmetries(driven)
    assert len(found) == 0
    assert "no affine symmetry" in str(found)


def test_a_travelling_wave_keeps_a_combination_of_time_and_space():
    wave = ch.System("x", lagrangian="x'^2/2 + cos(x - 3*t/2)", name="wave")
    (only,) = ch.symmetries(wave)
    assert only.fate is Fate.CONSERVED
    assert only.field.time != 0
    ratio = dict(only.field.components)[ch.Coordinate("x")] / only.field.time
    assert ratio == sympy.Rational(3, 2)


def test_coefficients_that_depend_on_parameters_are_not_found():
    """Documented: the rotation of an anisotropic oscillator with equal frequencies needs sqrt(m/M)."""
    unlike = ch.System("x y", "m M", lagrangian="m*x'^2/2 + M*y'^2/2 - (m*x^2 + M*y^2)/2", name="unlike masses")
    assert list(fields(ch.symmetries(unlike))) == ["-d/dt"]


def test_forces_and_friction_change_momenta():
    sled = ch.System("x y", "m c f", lagrangian="m/2*(x'^2 + y'^2)", dissipation="c*x'^2/2", forces={"y": "f"}, name="sled")
    found = ch.symmetries(sled)
    by = fields(found)
    assert by["d/dx"].fate is Fate.CHANGES
    assert equal(by["d/dx"].rate, "-c*x'", found.equations)
    assert equal(by["d/dy"].rate, "f", found.equations)
    assert equal(by["-d/dt"].rate, "-c*x'^2 + f*y'", found.equations)


def test_ostrogradsky_momenta():
    plane = ch.System("x y", "m", lagrangian="(x''^2 + y''^2)/2 - m*(x'^2 + y'^2)/2", name="curved")
    found = ch.symmetries(plane)
    by = fields(found)
    assert equal(by["d/dx"].momentum, "-m*x' - x'''", found.equations)
    rotation = by["y*d/dx - x*d/dy"]
    assert equal(rotation.momentum, "y*(-m*x' - x''') - x*(-m*y' - y''') + x''*y' - y''*x'", found.equations)
    motion = ch.simulate(
        found.equations,
        {"x": 0.3, "y": 0.1, "x'": 0.5, "y'": -0.2, "x''": 0.1, "y''": 0.4, "x'''": -0.3, "y'''": 0.2},
        (0, 2),
        parameters={"m": 0.8},
        tolerance=1e-12,
    )
    check_along(found, motion, {"m": 0.8})


CASES = [
    ("sleigh", ch.DAlembert()),
    ("sleigh", ch.Vakonomic()),
    ("disk", ch.DAlembert()),
    ("disk", ch.Vakonomic()),
    ("heisenberg", ch.DAlembert()),
    ("knife-edge-friction", ch.DAlembert()),
    ("disk-contact", ch.Herglotz(ch.DAlembert())),
    ("sleigh-contact", ch.Herglotz(ch.Vakonomic())),
    ("cartesian-pendulum", ch.DAlembert()),
    ("rocard", ch.VirtualWork()),
    ("snakeboard", ch.DAlembert()),
    ("two-firms", ch.Vakonomic()),
    ("foucault", ch.Hamilton()),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c[0]}-{c[1]}")
def test_rates_hold_along_motions(case):
    model = ch.gallery(case[0]).under(case[1])
    found = ch.symmetries(ch.derive(model))
    assert len(found)
    motion = ch.simulate(
        found.equations, model.start, (model.t[0], model.t[0] + 1.5), parameters=model.parameters, inputs=model.inputs, tolerance=1e-12
    )
    check_along(found, motion, model.parameters)


def test_a_virtual_displacement_is_conserved_and_others_are_changed_by_reactions():
    """The rolling disk: the vertical spin and, along a combination, the spin about the axle."""
    found = ch.symmetries(ch.derive(ch.gallery("disk")))
    by = fields(found)
    assert by["d/dvarphi"].fate is Fate.CONSERVED
    assert equal(by["d/dx"].rate, "lambda1", found.equations)
    (axle,) = found.horizontal
    assert axle.fate is Fate.CONSERVED
    assert axle.proved
    assert equal(axle.momentum, "I*theta' + R*m*(x'*cos(varphi) + y'*sin(varphi))", found.equations)


def test_the_nonholonomic_momentum_equation_of_the_sleigh():
    """Momentum along the blade: d/dt (m*v) = m*a*w^2 on the constraint, without any multiplier."""
    found = ch.symmetries(ch.derive(ch.gallery("sleigh")))
    along = next(s for s in found.horizontal if len(s.field.components) == 2)
    assert equal(along.momentum, "m*(x'*cos(theta) + y'*sin(theta))", found.equations)
    assert "lambda" not in str(along.rate)
    on_blade = {
        ch.parse("x'", found.equations): sympy.cos(sympy.Symbol("h")),
        ch.parse("y'", found.equations): sympy.sin(sympy.Symbol("h")),
    }
    theta = ch.Coordinate("theta")
    rate = along.rate.xreplace({theta: sympy.Symbol("h")}).xreplace(on_blade)
    assert sympy.simplify(rate - ch.parse("m*a*theta'^2", found.equations)) == 0


def test_dissipated_quantities_and_their_conserved_quotient():
    """002: df/dt = L_s f for momenta of symmetries and for the energy."""
    disk = ch.gallery("disk-contact")
    found = ch.symmetries(ch.derive(disk))
    assert len(found.dissipated) == 3  # energy, vertical spin, spin about the axle
    assert found.conserved == ()
    motion = ch.simulate(disk, t=(0, 3), tolerance=1e-12)
    columns = [motion.reader.values(e, motion.t, motion.states) for e in found.dissipated]
    for column in columns:
        assert np.abs(column - column[0] * np.exp(-0.3 * motion.t)).max() < 1e-9
    ratio = columns[0] / columns[1]
    assert np.ptp(ratio) < 1e-9


def test_vakonomic_multipliers_turn_with_the_disk():
    """The rotation of the plane must turn (lambda1, lambda2) as well."""
    found = ch.symmetries(ch.derive(ch.gallery("disk").under(ch.Vakonomic())))
    turning = next(s for s in found if len(s.field.components) == 5)
    assert turning.fate is Fate.CONSERVED
    assert equal(turning.momentum, "J*varphi' + x*(m*y' + lambda2) - y*(m*x' + lambda1)", found.equations)


def test_energy_under_moving_constraints_is_not_conserved():
    """x' = t: the constraint does work, and time translation keeps it only together with a boost."""
    pulled = ch.System("x y", lagrangian="x'^2/2 + y'^2/2", kinematic=["x' = t"], name="pulled")
    found = ch.symmetries(ch.derive(pulled, ch.DAlembert()))
    assert all(s.field.components for s in found)
    mixed = next(s for s in found if s.field.time != 0)
    assert dict(mixed.field.components) == {ch.Coordinate("x"): mixed.field.time * TIME}
    steady = ch.System("x y", lagrangian="x'^2/2 + y'^2/2 - x^2", kinematic=["x' = 2"], name="steady")
    by = fields(ch.symmetries(ch.derive(steady, ch.DAlembert())))
    assert str(by["-d/dt"].rate) == "lambda1*x'"


def test_printed():
    text = str(ch.symmetries(ch.derive(ch.gallery("heisenberg"))))
    assert "cyclic: x y z" in text
    assert "d/dx:  m*x'  changes at the rate -lambda1*y" in text
    assert "combinations that are virtual displacements\n    d/dx + y*d/dz:  M*y*z' + m*x'  changes at the rate M*y'*z'" in text
