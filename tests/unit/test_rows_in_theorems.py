"""Theorems keep the names of rows, and decide by the normal form of a principle, not by its class."""

import numpy as np
import pytest

import chetaev as ch
from chetaev.mechanics.principles import PRINCIPLES, Lowered
from chetaev.mechanics.principles.base import multipliers
from chetaev.transforms.tangent import names_of_variations
from chetaev.transforms.tools.theorem import THEOREMS

LAGRANGIAN = "m/2*(x'^2 + y'^2 + z'^2) - m*z"
ROWS = {"slope": "z' = x*y'", "blade": "y' = t + x*x'"}
NAMED = ch.System("x y z", "m", lagrangian=LAGRANGIAN, kinematic=ROWS, name="named")
VARIED = NAMED.replace(variational={"rail": "δz - x*δy = 0", "motor": "δy = 0"})
RUBBED = VARIED.replace(dissipation="m/2*(x'^2 + y'^2 + z'^2)")
MIXED = ch.Mixed({"slope": ch.DAlembert(), "blade": ch.Vakonomic()})
DAMPED = ch.System("x y", "c", lagrangian="x'^2/2 + y'^2/2 - c*s", kinematic={"blade": "y' = x*x'"}, action="s", name="damped")
POLAR = {"formulas": {"x": "r*cos(phi)", "y": "r*sin(phi)"}}
SPEEDS = {"velocities": {"u": "x' + y'", "v": "x' - y'", "w": "z'"}}


@pytest.mark.parametrize(
    ("verb", "source", "options"),
    [
        ("change-coordinates", ch.derive(NAMED, ch.DAlembert()), POLAR),
        ("change-coordinates", ch.derive(VARIED, ch.VirtualWork()), POLAR),
        ("change-coordinates", ch.derive(NAMED, MIXED), POLAR),
        ("lift", ch.derive(NAMED, ch.DAlembert()), {"n": 2}),
        ("lift", ch.derive(VARIED, ch.VirtualWork()), {"n": 2}),
        ("linearize-constraints", ch.derive(NAMED, ch.DAlembert()), {}),
        ("linearize-constraints", ch.derive(VARIED, ch.VirtualWork()), {}),
        ("hamiltonian", ch.derive(NAMED, ch.DAlembert()), {}),
        ("hamiltonian", ch.derive(VARIED, ch.VirtualWork()), {}),
        ("hamel", ch.derive(NAMED, ch.DAlembert()), SPEEDS),
        ("hamel", ch.derive(VARIED, ch.VirtualWork()), SPEEDS),
        ("hamel", ch.derive(NAMED, ch.Vakonomic()), SPEEDS),
        ("tangent", ch.derive(NAMED, MIXED), {}),
        ("tangent", ch.derive(VARIED, ch.VirtualWork()), {}),
        ("tangent", ch.derive(DAMPED, ch.Herglotz(ch.DAlembert())), {}),
        ("tangent", ch.derive(DAMPED, ch.Herglotz(ch.Vakonomic())), {}),
        ("contact-as-nonholonomic", ch.derive(DAMPED, ch.Herglotz(ch.DAlembert())), {}),
        ("contact-as-vakonomic", ch.derive(DAMPED, ch.Herglotz(ch.Vakonomic())), {}),
        (
            "friction-as-constraint",
            ch.derive(RUBBED, ch.VirtualWork()),
            {"projected": True},
        ),
    ],
)
def test_rows_keep_their_names(verb, source, options):
    target = THEOREMS[verb].verb(source, **options).system
    stated = [row.name for row in source.system.kinematic]
    assert [label for label in target.kinematic_labels if label in stated] == stated
    if source.system.variational is not None:
        stated = [row.name for row in source.system.variational]
        assert [label for label in target.variational_labels if label in stated] == stated


def test_a_row_in_another_form_is_the_row_of_that_name():
    """y' = x*x' + t with x = 2*u is y' = 4*u*u' + t; with tau it is y' = x*x' + t*tau'."""
    turned = ch.change_coordinates(ch.derive(NAMED, ch.DAlembert()), {"x": "2*u"}).target
    assert str(turned["blade"]) == str(ch.derive(NAMED, ch.DAlembert())["blade"]).replace("x*x'", "4*u*u'")
    linear = ch.linearize_constraints(ch.derive(NAMED, ch.DAlembert())).target
    assert (linear["blade"].residual - ch.parse("y' - x*x' - t*tau'", linear.system)).expand() == 0
    assert (linear["slope"].residual - ch.parse("z' - x*y'", linear.system)).expand() == 0


def test_rows_of_group_coordinates_keep_their_names():
    ball = ch.System(
        {"x": "line", "A": "SO3 body"},
        lagrangian="x'^2/2 + (A1'^2 + A2'^2 + A3'^2)/2",
        kinematic={"rolling": "x' = A1'", "pivot": "A3' = 0"},
        variational={"contact": "δx - δA1 = 0", "spin": "δA3 = 0"},
    )
    flat = ch.groups.in_coordinates(ball)
    assert flat.kinematic_labels == ("rolling", "pivot") and flat.variational_labels == ("contact", "spin")
    reduced = ch.reduce(ch.derive(ball, ch.VirtualWork()), group="A").system
    assert reduced.kinematic_labels == ("rolling", "pivot") and reduced.variational_labels == ("contact", "spin")


def test_names_of_linearised_rows_do_not_collide():
    assert names_of_variations(["a", "", "b"]) == ["da", "", "db"]
    twice = ch.System("x y z", lagrangian="x'^2 + y'^2 + z'^2", kinematic={"a": "z' = x*y'", "da": "y' = t"})
    lifted = ch.tangent(ch.derive(twice, ch.Mixed({"a": ch.Vakonomic(), "da": ch.DAlembert()})))
    assert lifted.system.kinematic_labels == ("a", "da", "dda", "ddda")
    assert ch.tangent(lifted.target).system.kinematic_labels[:4] == lifted.system.kinematic_labels


def test_rows_to_follow_replace_no_row_of_the_system():
    cart = ch.System("x y", lagrangian="x'^2/2 + y'^2/2", kinematic={"rail": "y = 2*x"})
    with pytest.raises(ch.UsageError, match="already has a row 'rail'"):
        ch.servo(cart, {"rail": "x = sin(t)"}, {"u": {"x": "1"}})
    assert ch.servo(cart, ["x = sin(t)"], {"u": {"x": "1"}}).system.kinematic_labels == ("rail", "kinematic[1]")


def test_the_hamiltonian_of_a_mixture_carries_its_motion():
    equations = ch.derive(NAMED.replace(lagrangian=LAGRANGIAN + " - m*y*z"), MIXED)
    morphism = ch.hamiltonian(equations)
    assert morphism.system.kinematic_labels == ("slope",)
    start = {"x": 0.3, "y": 0.1, "z": 0.2, "x'": 0.5, "lambda2": 0.4}
    motion = ch.simulate(equations, start, (0, 2), tolerance=1e-11, parameters={"m": 1.3})
    assert morphism.check(motion).largest < 1e-8


def test_symmetries_of_a_mixture_are_conserved_along_a_motion():
    """y is cyclic in L + lambda2*(y' - x*z'): its momentum m*y' + lambda2 is constant, and so is the energy; z is not cyclic."""
    rows = {"floor": "z = x^2", "blade": "y' = x*z'"}
    equations = ch.derive(NAMED.replace(kinematic=rows), ch.Mixed({"floor": ch.DAlembert(), "blade": ch.Vakonomic()}))
    found = ch.symmetries(equations)
    assert [q.base for q in found.cyclic] == ["y"]
    assert {str(s).partition(":")[0] for s in found} == {"-d/dt", "d/dy"} and all(s.proved for s in found)
    assert len(found.conserved) == 2
    motion = ch.simulate(equations, {"x": 0.7, "y": 0.2, "x'": 0.4, "lambda2": 0.3}, (0, 3), tolerance=1e-12, parameters={"m": 1.5})
    values = [motion[ch.show(momentum)] for momentum in (*found.conserved, ch.parse("m*y' + lambda2", equations))]
    assert all(np.ptp(v) < 1e-9 for v in values) and np.ptp(motion["m*y'"]) > 0.1


def test_symmetries_of_a_mixture_with_a_group_coordinate():
    rows = {"roll": "x' = A1'", "lean": "y' = A2'"}
    top = ch.System({"x": "line", "y": "line", "A": "SO3 body"}, lagrangian="(x'^2 + y'^2 + A1'^2 + A2'^2 + A3'^2)/2", kinematic=rows)
    found = ch.symmetries(ch.derive(top, ch.Mixed({"roll": ch.DAlembert(), "lean": ch.Vakonomic()})))
    assert {"x", "y"} == {q.base for q in found.cyclic}
    assert "lambda2 + y'" in {ch.show(e) for e in found.conserved}


class Agreed(ch.Principle):
    """d'Alembert's principle under another name."""

    word = "agreed"

    def rewrite(self, system):
        return ch.DAlembert().normal_form(system)


class Pushed(ch.Principle):
    """Every row has a reaction along the first coordinate."""

    word = "pushed"

    def rewrite(self, system):
        rows = multipliers(len(system.kinematic))
        return Lowered(system, system.lagrangian, {m: {system.coordinates[0]: 1} for m in rows})


class Spread(ch.Principle):
    """Reactions to rows on positions do no work; those to other rows are the same on every coordinate, whatever the coordinates are."""

    word = "spread"

    def rewrite(self, system):
        lowered = ch.DAlembert().normal_form(system)
        even = dict.fromkeys(system.coordinates, 1)
        rows = zip(lowered.reactions.items(), system.kinematic, strict=True)
        return Lowered(system, system.lagrangian, {m: even if row.order else own for (m, own), row in rows})


@pytest.fixture
def registered():
    for kind in (Agreed, Pushed, Spread):
        ch.register(kind)
    yield
    for kind in (Agreed, Pushed, Spread):
        del PRINCIPLES[kind.word]


BOWL = ch.System(
    "x y z w", lagrangian="(x'^2 + y'^2 + z'^2 + w'^2)/2 - z", kinematic={"floor": "z = x^2", "blade": "w' = y*x'"}, name="bowl"
)
STATE = {"x": 0.6, "y": 0.5, "w": 0.1, "x'": 0.3, "y'": -0.8}


def both(blade):
    return ch.Mixed({"floor": ch.DAlembert(), "blade": blade})


@pytest.mark.parametrize(
    ("principle", "costate"),
    [
        (Agreed(), 0),
        (both(ch.DAlembert()), 0),
        (both(Agreed()), 0),
        (ch.Mixed({"floor": ch.Vakonomic(), "blade": ch.DAlembert()}), 0),
        (both(ch.Vakonomic()), 0.7),
        (ch.Vakonomic(), 0.7),
    ],
    ids=str,
)
def test_restrict_removes_the_rows_whose_reactions_do_no_work(registered, principle, costate):
    """x''*(1 + 4*x^2 + y^2) = -4*x*x'^2 - 2*x - y*y'*x' + lambda2*y', without the last term where the blade has a reaction."""
    morphism = ch.restrict(ch.derive(BOWL, principle))
    assert morphism.system.kinematic_labels == ("blade",) and [q.base for q in morphism.system.coordinates] == ["x", "y", "w"]
    x, y, v, u = (STATE[name] for name in ("x", "y", "x'", "y'"))
    expected = (-4 * x * v**2 - 2 * x - y * u * v + costate * u) / (1 + 4 * x**2 + y**2)
    given = {"lambda1": costate} if costate else {}
    assert ch.evaluate(morphism.target, {**STATE, **given})["x''"] == pytest.approx(expected, rel=1e-12)


def test_restrict_renumbers_the_rows_of_a_mixture():
    numbered = BOWL.replace(kinematic=["z = x^2", "w' = y*x'"])
    found = ch.restrict(ch.derive(numbered, ch.Mixed({"kinematic[0]": ch.DAlembert(), "kinematic[1]": ch.Vakonomic()}))).target
    assert found.principle == ch.Mixed({"kinematic[0]": ch.Vakonomic()})


def test_restrict_of_a_dynamical_form():
    """x'' + 2*x*z'' = -2*x on z = x^2, so x''*(1 + 4*x^2) = -2*x - 4*x*x'^2."""
    form = ch.System("x z", equations={"x": "-x''", "z": "-z'' - 1"}, kinematic=["z = x^2"])
    found = ch.evaluate(ch.restrict(ch.derive(form, ch.DAlembert())).target, {"x": 0.4, "x'": 0.5})
    assert found["x''"] == pytest.approx((-0.8 - 1.6 * 0.25) / (1 + 0.64), rel=1e-12)


def test_restrict_refuses_reactions_along_the_surface_and_other_lagrangians(registered):
    floor = BOWL.replace(kinematic={"floor": "z = x^2"})
    with pytest.raises(ch.PrincipleError, match=r"under Pushed\(\), in which lambda1 acts along the surface"):
        ch.restrict(ch.derive(floor, Pushed()))
    with pytest.raises(ch.PrincipleError, match=r"under Spread\(\), in which the surface changes the row of lambda2"):
        ch.restrict(ch.derive(BOWL, Spread()))
    integrable = BOWL.replace(kinematic={"floor": "z = x^2", "blade": "w' = x*z'"})
    with pytest.raises(ch.PrincipleError, match="varies another function than the Lagrangian"):
        ch.restrict(ch.derive(integrable, ch.Vakonomic(abnormal=True)))


def test_a_theorem_for_one_principle_takes_its_normal_form(registered):
    both_varied = ch.Mixed({"slope": ch.Vakonomic(), "blade": ch.Vakonomic()})
    for verb in (ch.vakonomic_as_free, ch.reduced_phase_space):
        assert verb(ch.derive(NAMED, both_varied)).target.lowered == verb(ch.derive(NAMED, ch.Vakonomic())).target.lowered
    with pytest.raises(ch.PrincipleError, match=r"is under Agreed\(\); vakonomic_as_free needs Vakonomic\(\)"):
        ch.vakonomic_as_free(ch.derive(NAMED, Agreed()))
