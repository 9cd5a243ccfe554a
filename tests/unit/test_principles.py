"""The six principles: what they compute, what they refuse, how they compose."""

import pytest
import sympy

import chetaev as ch
from chetaev.mechanics.principles import PRINCIPLES, Lowered, Principle
from chetaev.mechanics.principles.base import multipliers

DISK = ch.System(
    "x y theta varphi",
    lagrangian="(x'^2 + y'^2 + theta'^2 + varphi'^2)/2",
    kinematic=["x' = theta'*cos(varphi)", "y' = theta'*sin(varphi)"],
    name="disk",
)
CONTACT = DISK.replace(lagrangian="(x'^2 + y'^2 + theta'^2 + varphi'^2)/2 - s/5", action="s")
START = {"x": 0.1, "y": -0.2, "theta": 0.3, "varphi": 0.4, "theta'": 1.5, "varphi'": 0.7}
FREE = {"lambda1": 0.6, "lambda2": -0.45}


def accelerations(system, principle, start):
    now = ch.evaluate(ch.derive(system, principle), start)
    return tuple(round(now[f"{q.base}''"], 12) for q in system.coordinates)


def test_the_rolling_disk_has_exactly_four_motions():
    with_s = {**START, "s": 0.25}
    motions = {
        "dalembert": accelerations(DISK, ch.DAlembert(), START),
        "chetaev": accelerations(DISK, ch.Chetaev(), START),
        "vakonomic": accelerations(DISK, ch.Vakonomic(), START | FREE),
        "herglotz dalembert": accelerations(CONTACT, ch.Herglotz(ch.DAlembert()), with_s),
        "herglotz chetaev": accelerations(CONTACT, ch.Herglotz(ch.Chetaev()), with_s),
        "herglotz vakonomic": accelerations(CONTACT, ch.Herglotz(ch.Vakonomic()), with_s | FREE),
    }
    assert motions["dalembert"] == motions["chetaev"]
    assert motions["herglotz dalembert"] == motions["herglotz chetaev"]
    assert len(set(motions.values())) == 4


@pytest.mark.parametrize("principle", [ch.Hamilton(), ch.DAlembert(), ch.Chetaev(), ch.VirtualWork(), ch.Vakonomic()])
def test_with_an_action_variable_the_bare_principles_refuse(principle):
    with pytest.raises(ch.PrincipleError, match="action variable s"):
        ch.derive(CONTACT, principle)


def test_special_data_make_the_vakonomic_disk_nonholonomic():
    """002 and errata: lambda = -theta'(cos varphi, sin varphi) in our signs."""
    import math

    start = START | {"lambda1": -1.5 * math.cos(0.4), "lambda2": -1.5 * math.sin(0.4)}
    assert accelerations(DISK, ch.Vakonomic(), start) == pytest.approx(accelerations(DISK, ch.DAlembert(), START), abs=1e-12)


def test_stated_variational_rows_of_equal_span_carry_the_multipliers():
    stated = DISK.replace(variational=["2*δx - 2*cos(varphi)*δtheta = 0", "δy - sin(varphi)*δtheta + δx - cos(varphi)*δtheta = 0"])
    for principle in (ch.DAlembert(), ch.Chetaev(), ch.VirtualWork()):
        now = ch.evaluate(ch.derive(stated, principle), START)
        plain = ch.evaluate(ch.derive(DISK, ch.DAlembert()), START)
        assert now["x''"] == pytest.approx(plain["x''"], abs=1e-13)
        assert now["lambda2"] == pytest.approx(plain["lambda2"], abs=1e-13)
        assert now["lambda1"] == pytest.approx((plain["lambda1"] - plain["lambda2"]) / 2, abs=1e-13)
        assert now.reaction("theta") == pytest.approx(plain.reaction("theta"), abs=1e-13)


def test_stated_rows_that_differ_are_never_discarded():
    differing = DISK.replace(variational=["δx = 0", "δy = 0"])
    for principle in (ch.DAlembert(), ch.Chetaev(), ch.Vakonomic(), ch.Hamilton()):
        with pytest.raises(ch.PrincipleError):
            ch.derive(differing, principle)
    assert ch.derive(differing, ch.VirtualWork()).counts == (6, 6)


def test_dalembert_takes_rows_affine_as_written_and_chetaev_the_quotient():
    base = ch.System("x y z", lagrangian="(x'^2 + y'^2 + z'^2)/2 - z*x", kinematic=["x' = y'*tan(z)"])
    quotient = base.replace(kinematic=["x'/y' = tan(z)"])
    with pytest.raises(ch.PrincipleError, match="nonlinear"):
        ch.derive(quotient, ch.DAlembert())
    start = {"x": 0.1, "y": 0.2, "z": 0.3, "y'": 0.7, "z'": -0.4}
    a = ch.evaluate(ch.derive(base, ch.DAlembert()), start)
    b = ch.evaluate(ch.derive(quotient, ch.Chetaev()), ch.State(start, {"x'": 0.2}))
    assert [b[n] for n in ("x''", "y''", "z''")] == pytest.approx([a[n] for n in ("x''", "y''", "z''")], abs=1e-12)


def test_holonomic_rows_need_no_differentiation_by_hand():
    """Cartesian pendulum: lambda = -(m v^2 + m g y)/l^2 for x^2 + y^2 = l^2 written as a position constraint, with R_V = 2(x, y) halved."""
    system = ch.System("x y", "m g l", lagrangian="m/2*(x'^2 + y'^2) - m*g*y", kinematic=["(x^2 + y^2 - l^2)/2 = 0"])
    values = {"m": 1.3, "g": 9.81, "l": 1.0}
    start = {"x": 0.6, "y": -0.8, "x'": 0.8}
    for principle in (ch.DAlembert(), ch.Chetaev(), ch.Vakonomic()):
        now = ch.evaluate(ch.derive(system, principle), start, parameters=values)
        speed2 = now["x'"] ** 2 + now["y'"] ** 2
        tension = -(1.3 * speed2 + -1.3 * 9.81 * -0.8)
        assert now["y'"] == pytest.approx(0.6)
        assert now["lambda1"] == pytest.approx(tension, abs=1e-12)
        assert now["x''"] == pytest.approx(tension * 0.6 / 1.3, abs=1e-12)
        assert now["y''"] == pytest.approx(-9.81 + tension * -0.8 / 1.3, abs=1e-12)


def test_rheonomic_constraint_and_its_multiplier():
    """A bead on a moving table: y = sin(2 t). The reaction is m (y'' + g)."""
    system = ch.System("x y", "m g", lagrangian="m/2*(x'^2 + y'^2) - m*g*y", kinematic=["y = sin(2*t)"])
    now = ch.evaluate(ch.derive(system, ch.DAlembert()), {"x": 0, "x'": 1}, parameters={"m": 2, "g": 10}, t=0.3)
    assert now["lambda1"] == pytest.approx(2 * (-4 * sympy.sin(0.6) + 10), abs=1e-12)


def test_forces_and_dissipation_stand_on_the_right_with_the_right_sign():
    system = ch.System("x", "m c", lagrangian="m/2*x'^2", forces={"x": "3*t"}, dissipation="c/2*x'^2")
    assert ch.evaluate(ch.derive(system), {"x": 0, "x'": 2}, parameters={"m": 2, "c": 5}, t=4)["x''"] == pytest.approx((12 - 10) / 2)


def test_chetaev_of_second_order():
    """x'' + y'' = 1 with R_V = (1, 1): both accelerate by the mean force corrected equally."""
    system = ch.System("x y", lagrangian="(x'^2 + y'^2)/2", forces={"x": "2"}, kinematic=["x'' + y'' = 1"])
    now = ch.evaluate(ch.derive(system, ch.Chetaev()), {"x": 0, "y": 0, "x'": 0, "y'": 0})
    assert (now["x''"], now["y''"], now["lambda1"]) == pytest.approx((1.5, -0.5, -0.5))


def test_action_dependent_position_constraint():
    r"""phi(q, s) = 0 has R_V = phi_q + phi_s p; d'Alembert and vakonomic multipliers agree. Independent: eliminate by hand.

    L = (x'^2 + y'^2)/2 - s/3, phi = y - s: y' = L, R_V = (-x', 1 - y').
    """
    system = ch.System("x y", lagrangian="(x'^2 + y'^2)/2 - s/3", action="s", kinematic=["y - s = 0"])
    x, s, vx = 0.2, 0.5, 0.7
    # y' = L gives y'^2/2 - y' + vx^2/2 - s/3 = 0
    vy = float(1 - sympy.sqrt(1 - vx**2 + 2 * s / 3))
    # x'' = -x'/3 - lambda x', y'' = -y'/3 + lambda (1 - y'), y'' = x' x'' + y' y'' - s'/3, s' = y'
    a, b, lam = sympy.symbols("a b lam")
    solution = sympy.solve([a + vx / 3 + lam * vx, b + vy / 3 - lam * (1 - vy), b - vx * a - vy * b + vy / 3], [a, b, lam])
    start = ch.State({"x": x, "s": s, "y": s, "x'": vx}, {"y'": 0.1})
    for inner in (ch.DAlembert(), ch.Chetaev(), ch.Vakonomic()):
        now = ch.evaluate(ch.derive(system, ch.Herglotz(inner)), start)
        assert now["y'"] == pytest.approx(vy, abs=1e-13)
        assert [now["x''"], now["y''"], now["lambda1"]] == pytest.approx([float(solution[z]) for z in (a, b, lam)], abs=1e-12)


def test_herglotz_of_second_order():
    """(D - L_s)^2 L_a - (D - L_s) L_v + L_x = 0, by hand for L = x''^2/2 - x'^2 - 3x^2/2 - c s (errata: E = sum (-1)^(k+1) (D - L_s)^k)."""
    system = ch.System("x", "c", lagrangian="x''^2/2 - x'^2 - 3*x^2/2 - c*s", action="s")
    row = ch.derive(system, ch.Herglotz()).rows[0].residual
    x, c = system.coordinates[0], system.parameters[0]
    by_hand = -(x.d(4) + 2 * c * x.d(3) + c**2 * x.d(2)) + (-2 * x.d(2) - 2 * c * x.d(1)) + 3 * x
    assert sympy.expand(row - by_hand) == 0


def test_principles_are_values():
    assert ch.Herglotz(ch.DAlembert()) == ch.Herglotz(ch.DAlembert())
    assert ch.Herglotz() == ch.Herglotz(ch.Hamilton())
    assert ch.Herglotz() != ch.Herglotz(ch.DAlembert())
    assert len({ch.Hamilton(), ch.Hamilton(), ch.Chetaev()}) == 2
    assert repr(ch.Herglotz(ch.Vakonomic())) == "Herglotz(Vakonomic())"
    for inner in (ch.Herglotz(), "hamilton", 3):
        with pytest.raises(ch.UsageError):
            ch.Herglotz(inner)


def test_the_table_lists_every_principle():
    assert list(PRINCIPLES) == ["hamilton", "dalembert", "chetaev", "virtual-work", "vakonomic", "herglotz", "mixed", "as-stated"]


def test_a_seventh_principle_is_one_class():
    """Gauss' principle of ideal reactions perpendicular to the velocity, say: nothing else of the library has to change."""

    class Perpendicular(Principle):
        word = "perpendicular"

        def rewrite(self, system):
            rows = tuple(type(system.forces)({q: v}) for q, v in zip(system.coordinates, system.velocities, strict=True))
            return Lowered(system, system.lagrangian, dict(zip(multipliers(len(rows)), rows, strict=True)))

    system = ch.System("x y", lagrangian="(x'^2 + y'^2)/2", kinematic=["x' = y", "y' = 1"])
    equations = ch.derive(system, Perpendicular())
    assert equations.counts == (4, 4)
    now = ch.evaluate(equations, {"x": 0, "y": 2.0})
    assert (now["x''"], now["lambda1"]) == pytest.approx((1.0, 0.5))


def test_elimination_removes_multipliers_and_says_where_it_is_valid():
    equations = ch.derive(ch.gallery("rocard")).eliminate()
    assert equations.multipliers == ()
    assert equations.counts == (5, 5)
    skew = ch.System("x y", lagrangian="(x'^2 + y'^2)/2", kinematic=["x*x' + (1 + x^2)*y' = 0"])
    eliminated = ch.derive(skew, ch.DAlembert()).eliminate()
    assert [ch.show(e) for e in eliminated.assumptions] == ["x"]
    assert "valid where x != 0" in str(eliminated)
    start = {"x": 0.3, "y": 0.1, "y'": 0.5}
    full = ch.evaluate(ch.derive(skew, ch.DAlembert()), start)
    assert ch.evaluate(eliminated, start)["x''"] == pytest.approx(full["x''"], abs=1e-13)
    with pytest.raises(ch.PrincipleError, match="part of the state"):
        ch.derive(DISK, ch.Vakonomic()).eliminate()


def test_simplify_is_a_named_act_with_a_budget():
    system = ch.System("x", lagrangian="x'^2/2*(sin(x)^2 + cos(x)^2)")
    assert ch.show(ch.derive(system).simplify().rows[0].lhs) == "x''"
    untouched = ch.derive(system).simplify(seconds=0.0001)
    assert sympy.simplify(untouched.rows[0].residual) == system.coordinates[0].d(2)


def test_without_a_principle_only_a_free_system_is_accepted():
    assert ch.derive(ch.System("x", lagrangian="x'^2")).principle == ch.Hamilton()
    for system in (DISK, CONTACT, DISK.replace(variational=[]), CONTACT.replace(kinematic=[])):
        with pytest.raises(ch.PrincipleError, match="no principle"):
            ch.derive(system)


def test_counts_are_shown_when_they_differ():
    under = DISK.replace(kinematic=["x' = theta'*cos(varphi)"], variational=["δx = 0", "δy = 0"])
    assert "1 more unknown than equations" in str(ch.derive(under, ch.VirtualWork()))
    over = DISK.replace(variational=["δx = 0"])
    assert "1 more equation than unknowns" in str(ch.derive(over, ch.VirtualWork()))


def test_chetaev_refuses_a_square_that_vanishes():
    """x'^2 = 0 has the direction 2 x' dx, which is no direction where the row holds."""
    system = ch.System("x y", lagrangian="x'^2/2 + y'^2/2", kinematic=["x'^2 = 0"])
    with pytest.raises(ch.PrincipleError, match="no slope"):
        ch.derive(system, ch.Chetaev())
    assert ch.derive(system.replace(kinematic=["1e-5*x'^3 = y'"]), ch.Chetaev()).counts == (3, 3)
