"""Group systems written in ordinary coordinates, and what rests on that: accelerations, stability, classification, files, ensembles."""

import numpy as np
import pytest

import chetaev as ch
from chetaev.core.calculus import total_derivative
from chetaev.core.groups.coordinate import GroupCoordinate
from chetaev.groups import in_coordinates
from chetaev.io.reading import loads
from chetaev.io.writing import dumps
from chetaev.mechanics.group_charts.chart import _Chart

PLACES = {"SO3": [0.5, -0.3, 0.4, 0.7], "SE3": [0.2, 0.1, -0.4, 0.5, -0.3, 0.4, 0.7], "SE2": [0.3, 0.4, 0.9], "S1": [0.6]}
TOP = {"I": 1.3, "J": 0.7, "m": 1.1, "g": 9.81, "l": 0.4}


def sided(kinds=("SO3", "SE2", "SE3", "S1")):
    return [(word, side) for word in kinds for side in (("body", "spatial") if word != "S1" else ("",))]


@pytest.mark.parametrize(("word", "side"), sided())
def test_a_group_system_and_its_chart_have_the_same_accelerations(word, side):
    """Positions in L, forces, dissipation and a constraint; the chart goes through ordinary coordinates and shares no frame."""
    n = GroupCoordinate("A", word, True).group.dimension
    rng = np.random.default_rng(n)
    velocities = [f"A{a + 1}'" for a in range(n)]
    root = rng.normal(size=(n + 1, n + 1))
    mass = root @ root.T + np.eye(n + 1)
    moving = [*velocities, "x'"]
    lagrangian = " + ".join(f"({mass[i, j] / 2:.3f})*{moving[i]}*{moving[j]}" for i in range(n + 1) for j in range(n + 1))
    lagrangian += f" + 0.7*A11*x - 0.3*A12*x' + 0.2*A21^2*{velocities[-1]}" + ("" if word == "S1" else " - 0.4*A23*A12")
    system = ch.System(
        {"A": f"{word} {side}".strip(), "x": "line"},
        lagrangian=lagrangian,
        kinematic=["x' = 0.3*A1' + A12*0.2"],
        forces={"A1": "0.3*x' + A22"},
        dissipation="0.1*A1'^2 + 0.2*x'^2",
    )
    place = [str(c) for c in PLACES[word]]
    speeds = dict(zip(velocities, map(float, rng.normal(size=n)), strict=True))
    now = ch.evaluate(ch.derive(system, ch.DAlembert()), {"A": PLACES[word] if n > 1 else PLACES[word][0], "x": 0.3, **speeds})

    written = _Chart(system, system.groups["A"], place).velocities()
    flat = ch.derive(in_coordinates(system, {"A": place}), ch.DAlembert())
    start = {"x": 0.3, **{f"A_{a + 1}": 0 for a in range(n)}, **dict(zip(written, speeds.values(), strict=True))}
    other = ch.evaluate(flat, start)
    assert [other[ch.show(total_derivative(e))] for e in written] == pytest.approx([now[f"{v}'"] for v in velocities], abs=1e-12)
    assert (other["x''"], other["lambda1"]) == pytest.approx((now["x''"], now["lambda1"]), abs=1e-12)
    assert ch.classify(system).integrable is False


def test_the_sleeping_top_needs_spin():
    """Upright, a top is stable to first order if J^2 w^2 > 4 I m g l, and the growth rate below is that of the quadratic in s."""
    top = ch.System({"A": "SO3 body"}, "I J m g l", lagrangian="I/2*(A1'^2 + A2'^2) + J/2*A3'^2 - m*g*l*A33")
    critical = np.sqrt(4 * TOP["I"] * TOP["m"] * TOP["g"] * TOP["l"]) / TOP["J"]
    for factor in (0.9, 1.1):
        spin = factor * critical
        found = ch.linearize(ch.derive(top), {"A": np.eye(3), "A1'": 0, "A2'": 0, "A3'": spin}, parameters=TOP)
        assert found.steady
        # in space the axis obeys I z'' = i J w z' + m g l z; the body turns by w
        roots = np.roots([TOP["I"], -1j * TOP["J"] * spin, -TOP["m"] * TOP["g"] * TOP["l"]]) - 1j * spin
        wanted = sorted([*roots, *roots.conj(), 0, 0], key=lambda v: (round(v.real, 6), round(v.imag, 6)))
        got = sorted(found.eigenvalues, key=lambda v: (round(v.real, 6), round(v.imag, 6)))
        assert np.abs(np.array(got) - np.array(wanted)).max() < 1e-9
        assert found.stable is (False if factor < 1 else None)


def test_a_hanging_top_is_found_and_swings():
    top = ch.System({"A": "SO3 spatial"}, "I m g l", lagrangian="I/2*(A1'^2 + A2'^2 + A3'^2) - m*g*l*A33")
    values = {name: TOP[name] for name in "Imgl"}
    state = ch.equilibria(ch.derive(top), {"A": [2.9, 0.2, 0.1]}, parameters=values)
    assert state["A33"] == pytest.approx(-1, abs=1e-12)
    frequency = np.sqrt(TOP["m"] * TOP["g"] * TOP["l"] / TOP["I"])
    found = ch.linearize(ch.derive(top), state, parameters=values)
    assert sorted(abs(found.eigenvalues)) == pytest.approx([0, 0, *[frequency] * 4], abs=1e-7)


def test_rolling_of_a_ball_is_not_integrable_and_pivoting_adds_a_row():
    rolling = ["a1' = A2'", "a2' = -A1'"]
    ball = ch.System({"A": "SO3 spatial", "a1": "line", "a2": "line"}, lagrangian="A1'^2 + a1'^2", kinematic=rolling)
    assert (ch.classify(ball).integrable, ch.classify(ball).redundant) == (False, ())
    twice = ball.replace(kinematic=[*rolling, "A11'^2 + A21'^2 + A31'^2 + A12'^2 + A22'^2 + A32'^2 = 1", "2*a1' = 2*A2'"])
    assert ch.classify(twice).redundant == (3,)


def test_an_orthogonality_relation_restricts_nothing():
    with pytest.raises(ch.ModelError, match="holds for every motion"):
        ch.System({"A": "SO3 body"}, lagrangian="A1'^2", kinematic=["A11^2 + A21^2 + A31^2 = 1"])


def test_entries_of_different_groups_do_not_mix():
    """Both systems call an entry A12; it is a different function of different numbers."""
    plane = ch.derive(ch.System({"A": "SE2 body"}, lagrangian="A1'^2 + A2'^2 + A3'^2 - A12"))
    space = ch.derive(ch.System({"A": "SO3 body"}, lagrangian="A1'^2 + A2'^2 + A3'^2 - A12"))
    at_rest = {"A1'": 0, "A2'": 0, "A3'": 0}
    turned = np.array([[0.6, -0.8, 0], [0.8, 0.6, 0], [0, 0, 1]])
    assert ch.evaluate(plane, {"A": turned, **at_rest})["A3''"] == pytest.approx(0.3)
    assert ch.evaluate(space, {"A": turned, **at_rest})["A3''"] == pytest.approx(0.3)
    assert ch.evaluate(plane, {"A": turned, **at_rest})["A12"] == pytest.approx(-0.8)


def test_model_files_hold_elements_of_groups():
    top = ch.System({"A": "SO3 body", "x": "line"}, "I", lagrangian="I*(A1'^2 + A2'^2 + A3'^2) + x'^2 - A33", kinematic=["A13' = x'"])
    data = {"A": np.eye(3)[[1, 2, 0]], "x": 0, "A1'": "I/2", "A3'": 0}
    model = ch.Model(top, ch.Chetaev(), parameters={"I": 1.0}, start=ch.State(data, {"A2'": 0.4}))
    assert loads(dumps(model)) == model
    vector = dumps(model).replace("A = [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]", "A = [0, 0, pi/2]")
    assert ch.evaluate(loads(vector)).rotation("A")[0] == pytest.approx([0, -1, 0], abs=1e-15)


@pytest.mark.parametrize("form", ["vectors", "matrices", "quaternions", "list", "one"])
def test_ensembles_take_elements_of_groups(form):
    top = ch.derive(ch.System({"A": "SO3 body"}, "m", lagrangian="A1'^2 + 2*A2'^2 + 3*A3'^2 - m*A33"))
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(5, 3)) if form != "one" else np.repeat([[0.1, 0.2, 0.3]], 5, axis=0)
    speeds = rng.normal(size=5)
    alone = [
        ch.simulate(top, {"A": v, "A1'": s, "A2'": 0.1, "A3'": 1}, (0, 1), parameters={"m": 2})
        for v, s in zip(vectors, speeds, strict=True)
    ]
    first = [motion.at(0.0) for motion in alone]
    given = {
        "vectors": vectors,
        "matrices": np.array([motion.rotation("A")[0] for motion in alone]),
        "quaternions": np.array([[float(section[f"A.{z}"]) for z in "wxyz"] for section in first]),
        "one": "[0.1, 0.2, 0.3]",
    }
    starts = (
        [{"A": list(v), "A1'": s, "A2'": 0.1, "A3'": 1} for v, s in zip(vectors, speeds, strict=True)]
        if form == "list"
        else {"A": given[form], "A1'": speeds, "A2'": 0.1, "A3'": 1}
    )
    many = ch.simulate_many(top, starts, t=(0, 1), parameters={"m": 2})
    assert many.final["A23"] == pytest.approx([motion.final["A23"] for motion in alone], abs=1e-8)


@pytest.mark.parametrize("verb", ["restrict", "hamel", "change_coordinates", "helmholtz", "reduce_order"])
def test_theorems_about_coordinates_refuse_groups(verb):
    top = ch.System({"A": "SO3 body"}, lagrangian="A1'^2 + 2*A2'^2 + 3*A3'^2 - A33", name="top")
    more = ({"A1": "u"},) if verb == "change_coordinates" else ()
    with pytest.raises(ch.ModelError, match="ordinary coordinates"):
        getattr(ch, verb)(top, *more)
