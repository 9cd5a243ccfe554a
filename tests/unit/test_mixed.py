"""Mixed: some rows varied with the Lagrangian, others with reactions; and principles that users add."""

from __future__ import annotations

import pytest
import sympy

import chetaev as ch
from chetaev.mechanics.principles import PRINCIPLES, Lowered, of_spec, of_words, spec_of
from chetaev.mechanics.principles.base import multipliers

ROWS = ["z' = y*x'", "y' = 0.3*x' + 0.1*z"]
SYSTEM = ch.System("x y z", lagrangian="(x'^2 + y'^2 + z'^2)/2 - x*z", kinematic=ROWS, name="two rows")
MIXED = ch.Mixed({"kinematic[0]": ch.Vakonomic(), "kinematic[1]": ch.DAlembert()})
START = {"x": 0.1, "y": 0.2, "z": 0.3, "x'": 0.5, "lambda1": 0.7}


def by_hand(values):
    """x'', y'', z'', lambda1', lambda2 from the rows written by hand: E[L + lambda1 (z' - y x')] = lambda2 d(y' - 0.3 x' - 0.1 z)/dq'."""
    ax, ay, az, rate, force = sympy.symbols("ax ay az rate force")
    x, y, z, vx, m = (sympy.Rational(str(values[name])) for name in ("x", "y", "z", "x'", "lambda1"))
    vy = sympy.Rational(3, 10) * vx + z / 10
    vz = y * vx
    rows = [
        ax - rate * y - m * vy + z + sympy.Rational(3, 10) * force,
        ay + m * vx - force,
        az + rate + x,
        az - vy * vx - y * ax,
        ay - sympy.Rational(3, 10) * ax - vz / 10,
    ]
    found = sympy.solve(rows, [ax, ay, az, rate, force], dict=True)[0]
    return [float(found[s]) for s in (ax, ay, az, rate, force)]


def test_one_row_is_varied_and_the_other_has_a_reaction():
    now = ch.evaluate(ch.derive(SYSTEM, MIXED), START)
    assert [now[name] for name in ("x''", "y''", "z''", "lambda1'", "lambda2")] == pytest.approx(by_hand(START), rel=1e-12)
    assert ch.analyze(ch.derive(SYSTEM, MIXED)).dimension == 5


def test_all_rows_under_one_principle_are_that_principle():
    for principle in (ch.Vakonomic(), ch.DAlembert()):
        mixed = ch.derive(SYSTEM, ch.Mixed({f"kinematic[{k}]": principle for k in range(2)}))
        assert mixed.rows == ch.derive(SYSTEM, principle).rows


def test_the_order_of_rows_does_not_matter():
    """The same mixture with the rows exchanged: lambda1 and lambda2 change places."""
    turned = ch.System("x y z", lagrangian="(x'^2 + y'^2 + z'^2)/2 - x*z", kinematic=ROWS[::-1])
    mixed = ch.Mixed({"kinematic[1]": ch.Vakonomic(), "kinematic[0]": ch.DAlembert()})
    start = {**{k: v for k, v in START.items() if k != "lambda1"}, "lambda2": 0.7}
    now = ch.evaluate(ch.derive(turned, mixed), start)
    assert [now[name] for name in ("x''", "y''", "z''", "lambda2'", "lambda1")] == pytest.approx(by_hand(START), rel=1e-12)


def test_a_mixture_moves_is_verified_and_comes_back_from_files(tmp_path):
    model = ch.Model(SYSTEM, MIXED, start=START, t=(0, 2))
    motion = ch.simulate(model)
    assert motion.outcome == "finished" and motion.verify().worst < 1e-6
    ch.save(model, tmp_path / "mixed.toml")
    assert ch.load(tmp_path / "mixed.toml").principle == MIXED
    motion.save(tmp_path / "mixed.npz")
    assert ch.load(tmp_path / "mixed.npz").equations == motion.equations
    many = ch.simulate_many(model, {**START, "x": [0.1, 0.4]})
    assert many.final["z"][0] == motion.final["z"]
    assert "for kinematic[1]" in ch.report(model).html


def test_contact_dynamics_of_a_mixture():
    """A costate is damped: lambda1' follows from E_z, lambda1' = -z'' - x - c (z' + lambda1)."""
    damped = ch.System("x y z", "c", lagrangian="(x'^2 + y'^2 + z'^2)/2 - x*z - c*s", kinematic=ROWS, action="s")
    now = ch.evaluate(ch.derive(damped, ch.Herglotz(MIXED)), {**START, "s": 0}, parameters={"c": 0.3})
    assert now["lambda1'"] == pytest.approx(-now["z''"] - 0.1 - 0.3 * (now["z'"] + 0.7), rel=1e-12)


def test_rows_without_a_principle_and_principles_without_a_row_are_refused():
    with pytest.raises(ch.PrincipleError, match=r"no principle is named for kinematic\[1\]"):
        ch.derive(SYSTEM, ch.Mixed({"kinematic[0]": ch.Vakonomic()}))
    with pytest.raises(ch.PrincipleError, match=r"kinematic\[2\] is not a kinematic row"):
        ch.derive(SYSTEM, ch.Mixed({"kinematic[2]": ch.Vakonomic()}))
    for wrong in ({}, {"kinematic[0]": "vakonomic"}, {"kinematic[0]": ch.Herglotz()}, {"kinematic[0]": MIXED}):
        with pytest.raises(ch.UsageError):
            ch.Mixed(wrong)


def test_a_costate_is_matched_with_its_row():
    lowered = ch.derive(SYSTEM, MIXED).lowered
    assert [m.base for m in lowered.multipliers] == ["lambda1", "lambda2"]
    assert {k: m.base for k, m in lowered.varied_rows.items()} == {0: "lambda1"}


class Weighted(ch.Principle):
    """Reactions along one coordinate, times a weight."""

    word = "weighted"

    def __init__(self, weight=1, along="x"):
        self.weight, self.along = weight, along

    def rewrite(self, system):
        coordinate = next(q for q in system.coordinates if q.base == self.along)
        return Lowered(system, system.lagrangian, {multipliers(1)[0]: {coordinate: self.weight}})


@pytest.fixture
def weighted():
    ch.register(Weighted)
    yield Weighted
    del PRINCIPLES["weighted"]


def test_principles_with_settings_are_values(weighted):
    assert Weighted(1) != Weighted(2) and Weighted(2) == Weighted(2) and len({Weighted(2), Weighted(2), Weighted(3)}) == 2
    assert repr(Weighted(2)) == "Weighted(weight=2, along='x')"
    for principle in (Weighted(2.5, "y"), ch.Herglotz(Weighted(3)), MIXED, ch.Herglotz(MIXED), ch.Herglotz(), ch.Chetaev()):
        assert of_spec(spec_of(principle), "test") == principle
    assert of_words("weighted(2, along=y)", "test") == Weighted(2, "y")
    assert of_words("mixed(kinematic[0]=vakonomic, kinematic[1]=herglotz(x))".replace("herglotz(x)", "dalembert"), "test") == MIXED


def test_a_principle_of_somebody_else_goes_through_every_verb(weighted, tmp_path):
    """x' = theta held by a motor on x: theta'' follows without the multiplier, 2 theta'' = theta' cos(theta) + sin(theta)."""
    cart = ch.System("x theta", lagrangian="x'^2/2 - x'*theta'*cos(theta) + theta'^2 - cos(theta)", kinematic=["x' = theta"])
    model = ch.Model(cart, Weighted(2), start={"x": 0, "theta": 0.1, "theta'": 0.2}, t=(0, 1))
    equations = ch.derive(model)
    now = ch.evaluate(equations, model.start)
    assert now["theta''"] == pytest.approx((0.2 * float(sympy.cos(0.1)) + float(sympy.sin(0.1))) / 2, rel=1e-12)
    assert now["lambda1"] == pytest.approx(ch.evaluate(ch.derive(cart, Weighted(1)), model.start)["lambda1"] / 2, rel=1e-12)
    assert ch.analyze(equations).verdict is ch.Verdict.REGULAR
    motion = ch.simulate(model, events=["theta - 0.2"])
    assert motion.outcome == "finished" and len(motion.events) == 1 and motion.verify().worst < 1e-6
    assert ch.simulate_many(model, {"x": [0, 1], "theta": 0.1, "theta'": 0.2}).final["theta"][0] == motion.final["theta"]
    assert ch.compare(cart, [Weighted(2, "theta"), ch.DAlembert()], model.start, t=(0, 1)).pairs[0].identical is False
    ch.save(model, tmp_path / "cart.toml")
    assert ch.load(tmp_path / "cart.toml").principle == Weighted(2)
    motion.save(tmp_path / "cart.npz")
    assert ch.load(tmp_path / "cart.npz").equations.principle == Weighted(2)
    assert "Weighted(weight=2" in ch.report(model).html


def test_what_is_no_principle_is_refused(weighted):
    for text in ("weighted(", "weighted(2", "weighted)2(", "weighted(2;3)", "(", "", "weighted(1,2,3)", "weighted(size=2)", "3"):
        with pytest.raises(ch.PrincipleError):
            of_words(text, "test")
    deep = "herglotz(" * 50 + "vakonomic" + ")" * 50
    with pytest.raises(ch.PrincipleError):
        of_words(deep, "test")
    with pytest.raises(ch.PrincipleError, match="no setting size"):
        of_spec({"name": "weighted", "size": 2}, "test")
    with pytest.raises(ch.UsageError, match="the word of DAlembert"):
        ch.register(type("Other", (ch.Principle,), {"word": "dalembert", "rewrite": Weighted.rewrite}))
    with pytest.raises(ch.UsageError):
        ch.register(3)


def test_the_normal_form_is_checked():
    first, second = multipliers(2)
    x = SYSTEM.coordinates[0]
    with pytest.raises(ch.PrincipleError, match="has a reaction and is a costate"):
        Lowered(SYSTEM, SYSTEM.lagrangian + first * x, {first: {x: 1}}, (first,))
    with pytest.raises(ch.PrincipleError, match="not a coordinate"):
        Lowered(SYSTEM, SYSTEM.lagrangian, {first: {ch.Coordinate("w"): 1}})
    with pytest.raises(ch.PrincipleError, match="not a multiplier"):
        Lowered(SYSTEM, SYSTEM.lagrangian, {"lambda1": {x: 1}})
    for text in ("__import__('os').getcwd()", None, True):
        with pytest.raises(ch.PrincipleError, match="is not an expression"):
            Lowered(SYSTEM, SYSTEM.lagrangian, {first: {x: text}})
    assert Lowered(SYSTEM, SYSTEM.lagrangian, {first: {x: 0.1}}).reactions[first][x] == sympy.Rational(1, 10)
    assert hash(Lowered(SYSTEM, SYSTEM.lagrangian, {first: {x: 1}, second: {x: sympy.S(2)}}))
