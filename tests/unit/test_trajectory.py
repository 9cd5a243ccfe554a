"""Certificates, files and tables of motions."""

import hashlib
import importlib.util
import io
import json
import pickle
import sys
import zipfile
from dataclasses import dataclass, replace

import numpy as np
import pytest

import chetaev as ch
from chetaev.core.support.frozen import Frozen
from chetaev.core.symbols import Coordinate, jets_in
from chetaev.numerics.motion.storage import column_names, load, save, to_pandas, to_xarray
from chetaev.numerics.motion.trajectory import Outcome, Trajectory
from chetaev.numerics.motion.verification.verify import verify

DRIVEN = ch.System(
    "x y",
    {"k": "positive", "m": "real"},
    lagrangian="m/2*(x'^2 + y'^2) - V",
    where={"V": "k/2*r2", "r2": "x^2 + y^2"},
    forces={"x": "u'"},
    inputs={"u": None, "w": "2*t"},
    kinematic=["y' = w*x"],
    name="driven",
)


def driven(**options):
    return ch.simulate(
        ch.derive(DRIVEN, ch.DAlembert()),
        {"x": 0.3, "y": 0, "x'": 1},
        (0.5, 3),
        parameters={"k": 2, "m": 1.5},
        inputs={"u": "k*sin(t)"},
        **options,
    )


@pytest.fixture(scope="module")
def rocard():
    return ch.simulate(ch.gallery("rocard"), t=(0, 3), tolerance=3e-11)


# ------------------------------------------------------------ the certificate


@dataclass(frozen=True)
class Closed:
    """A motion given by functions of time instead of a simulation."""

    columns: tuple
    reported: dict

    def states_at(self, times):
        return np.stack([f(times) for f in self.columns], axis=1)

    def values(self, expression, times, states, pieces=None):
        return np.broadcast_to(self.reported[expression.name](times), times.shape)

    def several(self, expressions, times, states):
        return np.array([self.values(e, times, states) for e in expressions])

    def energy(self, times, states, pieces=None):
        return np.zeros(len(times)), np.zeros(len(times))


def closed(equations, columns, reported=None, end=3.0):
    """A trajectory from functions, one per jet of the state by name."""
    t = np.linspace(0, end, 13)
    names = list(columns)
    jets = tuple(z.d(k) for z in equations.unknowns for k in range(3) if z.d(k).name in names)
    reader = Closed(tuple(columns[z.name] for z in jets), reported or {})
    states = reader.states_at(t)
    nothing = Frozen({})
    return Trajectory(equations, t, states, (end, states[-1]), jets, Outcome.FINISHED, "", nothing, nothing, (), nothing, reader)


def test_an_exact_motion_passes_and_a_wrong_frequency_is_measured():
    """x = cos(w t) leaves (1 - w^2) x of the row x'' + x = 0."""
    spring = ch.derive(ch.System("x", lagrangian="x'^2/2 - x^2/2"))
    exact = verify(closed(spring, {"x": np.cos, "x'": lambda t: -np.sin(t)}))
    assert exact.worst < 1e-9
    w = 1.01
    wrong = verify(closed(spring, {"x": lambda t: np.cos(w * t), "x'": lambda t: -w * np.sin(w * t)}))
    assert wrong["rate of x"].largest < 1e-12
    assert wrong.worst_row == "E_x"
    assert wrong["E_x"].largest * wrong["E_x"].scale == pytest.approx(w**2 - 1, rel=1e-3)


def test_a_circle_by_hand_and_the_sign_of_its_multiplier():
    """A mass on a circle at constant speed: x'' = 2 lambda x, so lambda = -w^2/2 (m = 1). With +w^2/2 only the rows E notice."""
    circle = ch.derive(ch.System("x y", lagrangian="(x'^2 + y'^2)/2", kinematic=["x^2 + y^2 = 1"]), ch.DAlembert())
    w = 1.3
    columns = {
        "x": lambda t: np.cos(w * t),
        "x'": lambda t: -w * np.sin(w * t),
        "y": lambda t: np.sin(w * t),
        "y'": lambda t: w * np.cos(w * t),
    }
    good = verify(closed(circle, columns, {"lambda1": lambda t: -(w**2) / 2}))
    assert good.worst < 1e-8
    wrong = verify(closed(circle, columns, {"lambda1": lambda t: w**2 / 2}))
    assert wrong["work of δx"].largest < 1e-8
    assert wrong["kinematic[0]"].largest < 1e-15
    assert wrong["E_x"].largest > 0.1
    assert wrong["E_y"].largest > 0.1


def test_virtual_work_needs_no_multipliers():
    """A circle run through at changing speed satisfies the constraint, but reactions along the path would be needed."""
    circle = ch.derive(ch.System("x y", lagrangian="(x'^2 + y'^2)/2", kinematic=["x^2 + y^2 = 1"]), ch.DAlembert())
    angle, rate = (lambda t: t + 0.1 * t**2), (lambda t: 1 + 0.2 * t)
    columns = {
        "x": lambda t: np.cos(angle(t)),
        "x'": lambda t: -rate(t) * np.sin(angle(t)),
        "y": lambda t: np.sin(angle(t)),
        "y'": lambda t: rate(t) * np.cos(angle(t)),
    }
    found = verify(closed(circle, columns, {"lambda1": lambda t: -(rate(t) ** 2) / 2}))
    assert found["kinematic[0]"].largest < 1e-14
    work = found["work of δx"]
    assert work.largest * work.scale == pytest.approx(0.2, rel=0.01)  # the tangential acceleration


@pytest.mark.parametrize(
    ("name", "principle"),
    [
        ("rocard", None),
        ("greidanus", None),
        ("cart-pendulum", None),
        ("leaning-disk", None),
        ("sleigh", ch.Vakonomic()),
        ("sleigh-contact", ch.Herglotz(ch.Vakonomic())),
        ("action-constraint", None),
        ("pais-uhlenbeck", None),
        ("constant-speed", None),
        ("disk-resistance", None),
        ("knife-edge", None),
    ],
)
def test_simulated_motions_are_certified(name, principle):
    model = ch.gallery(name) if principle is None else ch.gallery(name).under(principle)
    motion = ch.simulate(model, tolerance=1e-12)
    coarse, fine = verify(ch.simulate(model, tolerance=1e-7)), verify(motion)
    assert coarse.worst < 3e-5
    assert fine.worst < 1e-9
    for k, row in enumerate(motion.equations.system.kinematic):
        if jets_in(row.residual, Coordinate) <= set(motion.jets):  # nothing in it is differentiated
            assert fine[f"kinematic[{k}]"].largest < 1e-13


def test_the_rows_of_the_certificate(rocard):
    labels = list(verify(rocard))
    assert labels[0] == "nodes"
    assert [label for label in labels if label.startswith("rate")] == ["rate of psi", "rate of theta", "rate of x1", "rate of x2"]
    assert [label for label in labels if label.startswith("kinematic")] == ["kinematic[0]", "kinematic[1]", "kinematic[2]"]
    assert [label for label in labels if label.startswith("work")] == [f"work of δ{q}" for q in ("psi", "theta", "epsilon", "x1", "x2")]
    assert labels[-2:] == ["E_x2", "mode of psi'"]
    contact = verify(ch.simulate(ch.gallery("sleigh-contact").under(ch.Herglotz(ch.Vakonomic())), t=(0, 1)))
    assert list(contact)[-1] == "action"
    assert not any(label.startswith("work") for label in contact)


@dataclass(frozen=True)
class Corrupted:
    """A reader that returns other values."""

    inner: object
    states: object = None
    report: object = None

    def states_at(self, times):
        found = self.inner.states_at(times)
        return found if self.states is None else self.states(times, found.copy())

    def values(self, expression, times, states, pieces=None):
        found = self.inner.values(expression, times, states, pieces)
        return found if self.report is None else self.report(expression, found)

    def driven(self, expression, times, states, pieces=None):
        return self.inner.driven(expression, times, states, pieces)

    def several(self, expressions, times, states):
        return np.array([self.values(e, times, states) for e in expressions])

    def energy(self, times, states, pieces=None):
        return self.inner.energy(times, states, pieces)


@pytest.mark.parametrize("column", range(9))
def test_a_corrupted_column_is_detected(rocard, column):
    """Every jet of the state, moved by a smooth millionth of its size."""
    good = verify(rocard)

    def moved(times, states):
        states[:, column] *= 1 + 1e-5 * np.sin(3 * times)
        return states

    bad = verify(replace(rocard, reader=Corrupted(rocard.reader, states=moved)))
    assert good.worst < 1e-8
    assert bad.worst > 1e-6


def test_a_corrupted_node_is_detected(rocard):
    states = rocard.states.copy()
    states[len(states) // 2, 4] += 1e-6
    found = verify(replace(rocard, states=states))
    assert found.worst_row == "nodes"
    assert found["nodes"].t == rocard.t[len(states) // 2]
    t, last = rocard.end
    assert verify(replace(rocard, end=(t, last * 1.001))).worst_row == "nodes"


@pytest.mark.parametrize("multiplier", ["lambda1", "lambda2", "lambda3"])
def test_a_wrong_sign_of_a_multiplier_is_detected(rocard, multiplier):
    def flipped(expression, values):
        return -values if expression.name == multiplier else values

    found = verify(replace(rocard, reader=Corrupted(rocard.reader, report=flipped)))
    assert found.worst > 1e-3
    assert found.worst_row.startswith("E_")
    assert max(found[label].largest for label in found if not label.startswith("E_")) < 1e-7


def test_a_wrong_sign_of_a_vakonomic_multiplier_is_detected():
    motion = ch.simulate(ch.gallery("sleigh").under(ch.Vakonomic()), t=(0, 2))
    column = [z.name for z in motion.jets].index("lambda1")

    def flipped(_, states):
        states[:, column] *= -1
        return states

    reader = Corrupted(motion.reader, states=flipped)
    states = flipped(None, motion.states.copy())
    end = motion.end[0], flipped(None, motion.end[1][None].copy())[0]
    found = verify(replace(motion, reader=reader, states=states, end=end))
    assert found["nodes"].largest < 1e-15
    assert found.worst_row.startswith("E_")
    assert found.worst > 1e-2


def test_the_motion_of_another_system_is_detected():
    """The same constraint and the same energy, but the middle term of the sleigh's Lagrangian dropped."""
    model = ch.gallery("sleigh")
    other = model.system.replace(lagrangian="m/2*(x'^2 + y'^2) + (J + m*a^2)/2*theta'^2")
    motion = ch.simulate(ch.derive(other, ch.DAlembert()), model.start, (0, 2), parameters=model.parameters)
    assert verify(motion).worst < 1e-6
    found = verify(replace(motion, equations=ch.derive(model)))
    assert found["kinematic[0]"].largest < 1e-14
    assert found["work of δtheta"].largest > 1e-2


def test_a_motion_with_inputs_backwards_and_after_elimination():
    assert verify(driven(tolerance=1e-11)).worst < 1e-8
    model = ch.gallery("sleigh")
    assert verify(ch.simulate(model, t=(0, -2), tolerance=1e-11)).worst < 1e-8
    eliminated = ch.derive(model).eliminate()
    found = verify(ch.simulate(eliminated, model.start, (0, 2), parameters=model.parameters, tolerance=1e-11))
    assert found.worst < 1e-8
    assert "work of δtheta" in found
    assert "E_theta" not in found


def test_what_a_certificate_prints(rocard):
    found = verify(rocard, points=50)
    lines = str(found).splitlines()
    assert lines[:2] == ["Rocard's tyre · VirtualWork()", "  50 points; residuals relative to the terms of each row"]
    assert lines[-1] == f"  worst: {found.worst_row}, {found.worst:.1e}"
    assert len(lines) == len(found) + 4
    assert found.worst == max(r.largest for r in found.values())
    assert all(r.rms <= r.largest for r in found.values())


def test_motions_that_cannot_be_certified():
    model = ch.gallery("sleigh")
    with pytest.raises(ch.UsageError, match="single state"):
        verify(ch.simulate(model, t=(0, 1), keep="final"))
    with pytest.raises(ch.UsageError, match="only single times were kept"):
        verify(ch.simulate(model, t=[0, 0.5, 1]))
    with pytest.raises(ch.UsageError, match="points=0"):
        verify(ch.simulate(model, t=(0, 1)), points=0)


# ------------------------------------------------------------ files


def same(first, second):
    """Two motions agree in everything a user can read."""
    assert second.equations == first.equations
    assert str(second) == str(first)
    assert str(second.equations) == str(first.equations)
    assert str(second.equations.system) == str(first.equations.system)
    for name in column_names(first):
        assert np.array_equal(second[name], first[name], equal_nan=True), name
        assert second.final[name] == first.final[name]
    assert np.array_equal(second.t, first.t)
    assert np.array_equal(second.energy, first.energy)
    assert np.array_equal(second.balance, first.balance)
    assert (second.outcome, second.message, second.events) == (first.outcome, first.message, first.events)
    assert (second.drift, second.extrema, second.counts) == (first.drift, first.extrema, first.counts)


def test_a_motion_of_rocard_comes_back(rocard, tmp_path):
    path = save(rocard, tmp_path / "tyre.npz")
    back = load(path)
    same(rocard, back)
    times = np.linspace(0, 3, 17)
    for name in ("epsilon", "psi'", "lambda3", "psi'*sin(theta - epsilon) - x2'"):
        assert np.array_equal(back.at(times)[name], rocard.at(times)[name])
    assert np.array_equal(back.reaction("x1"), rocard.reaction("x1"))
    assert verify(back).worst == verify(rocard).worst


@pytest.mark.parametrize("name", ["sleigh", "sleigh-contact", "action-constraint", "viscous-particle", "snakeboard", "transformer-free"])
def test_motions_under_every_principle_come_back(name, tmp_path):
    if name == "transformer-free":  # named expressions, quasi-velocities, dissipation, a Lagrangian of second order
        system = ch.System(
            "x z",
            "c",
            lagrangian="x''^2/2 - x'^2/2 + z'^2/2 + w'*z/10",
            dissipation="c/2*z'^2",
            quasi={"w": "x'*cos(z)"},
            name="mixed",
        )
        start = {"x": 0, "x'": 0.1, "x''": 0.2, "x'''": 0, "z": 0.3, "z'": 0.4}
        motions = [ch.simulate(ch.derive(system), start, (0, 2), parameters={"c": 0.3})]
    else:
        model = ch.gallery(name)
        motions = [ch.simulate(model.under(principle)) for principle in model.principles]
    for motion in motions:
        same(motion, load(save(motion, tmp_path / "motion.npz")))


def test_inputs_and_named_expressions_come_back(tmp_path):
    motion = driven()
    back = load(save(motion, tmp_path / "driven.npz"))
    same(motion, back)
    for name in ("u'", "w", "V", "r2", "u'*x' - V'"):
        assert np.array_equal(back[name], motion[name])
    assert back.equations.system.inputs == DRIVEN.inputs


@pytest.mark.parametrize(
    "options",
    [
        {"t": [0, 0.5, 2.0]},
        {"t": (0, 2), "keep": "final"},
        {"t": (0, -2)},
        {"t": (0, 10), "events": [ch.On("theta - 1", terminal=True), "x"]},
        {"t": (0, 5), "conserve": "energy"},
    ],
)
def test_whatever_is_kept_comes_back(options, tmp_path):
    motion = ch.simulate(ch.gallery("sleigh"), **options)
    back = load(save(motion, tmp_path / "sleigh.npz"))
    same(motion, back)
    if motion.reader.dense:
        middle = (motion.t[0] + motion.t[-1]) / 2
        assert back.at(middle)["x"] == motion.at(middle)["x"]


def test_equations_after_elimination_come_back(tmp_path):
    model = ch.gallery("sleigh")
    equations = ch.derive(model).eliminate()
    motion = ch.simulate(equations, model.start, (0, 1), parameters=model.parameters)
    back = load(save(motion, tmp_path / "sleigh.npz"))
    assert back.equations == equations
    assert back.equations.assumptions == equations.assumptions
    assert np.array_equal(back["theta''"], motion["theta''"])


def test_a_system_whose_texts_have_grown_old(tmp_path):
    """`replace` keeps the text of the Lagrangian, which may then no longer say what the expression is: the expression is saved."""
    system = ch.System("x", "k", lagrangian="x'^2/2 - V", where={"V": "k/2*x^2"}).replace(where={"V": "x"})
    motion = ch.simulate(ch.derive(system), {"x": 1, "x'": 0}, (0, 1), parameters={"k": 2})
    back = load(save(motion, tmp_path / "old.npz"))
    assert back.equations.system == system
    assert np.array_equal(back["x''"], motion["x''"])


def test_equal_motions_make_equal_files_and_a_loaded_one_can_be_saved(tmp_path):
    first, second = (save(driven(), tmp_path / name) for name in ("a.npz", "b.npz"))
    again = save(load(first), tmp_path / "c.npz")
    assert first.read_bytes() == second.read_bytes() == again.read_bytes()


def test_a_file_explains_itself(rocard, tmp_path):
    path = save(rocard, tmp_path / "tyre.npz")
    with zipfile.ZipFile(path) as archive:
        model = json.loads(archive.read("model.json"))
    assert model["system"]["lagrangian"] == "I/2*psi'^2 + J/2*theta'^2 + M/2*(x1'^2 + x2'^2) - K/2*epsilon^2"
    assert model["system"]["variational"][2] == "δtheta - δepsilon = 0"
    assert model["principle"] == {"name": "virtual-work"}
    assert model["parameters"] == {"I": 0.7, "J": 0.9, "M": 1.5, "K": 2.0, "a": 3.0}
    assert model["start"]["psi'"] == 1.8
    assert model["outcome"] == "finished"
    assert model["drift"].keys() == rocard.drift.keys()
    with np.load(path, allow_pickle=False) as arrays:  # numpy alone reads the numbers
        assert np.array_equal(arrays["t"], rocard.t)
        assert np.array_equal(arrays["states"], rocard.states)
    contact = ch.simulate(ch.gallery("sleigh-contact").under(ch.Herglotz(ch.Vakonomic())), t=(0, 0.1))
    with zipfile.ZipFile(save(contact, tmp_path / "contact.npz")) as archive:
        assert json.loads(archive.read("model.json"))["principle"] == {"name": "herglotz", "inner": "vakonomic"}


def test_numbers_that_are_not_finite_come_back(tmp_path):
    motion = driven()
    odd = replace(motion, drift=Frozen({"balance": float("nan")}), extrema=Frozen({"x": (-np.inf, np.inf)}))
    back = load(save(odd, tmp_path / "odd.npz"))
    assert np.isnan(back.drift["balance"])
    assert back.extrema["x"] == (-np.inf, np.inf)


# ------------------------------------------------------------ files that were not written by save


@pytest.fixture(scope="module")
def members(tmp_path_factory):
    """The members of a small file, by name."""
    path = save(ch.simulate(ch.gallery("sleigh"), t=(0, 0.5)), tmp_path_factory.mktemp("hostile") / "sleigh.npz")
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(path, members, compression=zipfile.ZIP_STORED, signed=True):
    """A file of members, signed as an attacker who knows the format would sign it: digests of SHA-256, over sorted lines `name digest` for
    the arrays.
    """
    if signed:
        digests = {name: hashlib.sha256(content).hexdigest() for name, content in members.items()}
        lines = "".join(f"{name} {digests[name]}\n" for name in sorted(digests) if name.endswith(".npy"))
        said = {"model": digests.get("model.json"), "numbers": hashlib.sha256(lines.encode()).hexdigest()}
        members = {**members, "digests.json": json.dumps(said).encode()}
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def array(values):
    stream = io.BytesIO()
    np.save(stream, values)
    return stream.getvalue()


def changed(members, change):
    """The members with the model changed."""
    model = json.loads(members["model.json"])
    change(model)
    return {**members, "model.json": json.dumps(model).encode()}


def test_the_members_as_they_are_load(members, tmp_path):
    assert load(packed(tmp_path / "f.npz", members)).outcome == "finished"


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m.update(format="something else"),
        lambda m: m.update(version=1),
        lambda m: m.pop("system"),
        lambda m: m.update(system="x"),
        lambda m: m["system"].update(lagrangian="__import__('os').system('true')"),
        lambda m: m["system"].update(lagrangian=["x'^2"]),
        lambda m: m["system"].update(lagrangian="(" * 5000),
        lambda m: m["system"].update(lagrangian="x'^2 + 2^(2^(2^(2^2)))^x"),
        lambda m: m["system"].update(kinematic="x"),
        lambda m: m["system"].update(kinematic=[5]),
        lambda m: m["system"].update(coordinates={"x": "line"}),
        lambda m: m["system"].update(coordinates={"x": "circle", "y": "line", "theta": "angle"}),
        lambda m: m["system"].update(coordinates=["x", "y", "theta"]),
        lambda m: m["system"].update({"secret": "x"}),
        lambda m: m["system"].update(name=7),
        lambda m: m["principle"].update(name="vakonomic"),
        lambda m: m["principle"].update(name="newton"),
        lambda m: m["principle"].update(name=["dalembert"]),
        lambda m: m["principle"].update(name="herglotz", inner="herglotz"),
        lambda m: m.update(parameters={"m": 1.0}),
        lambda m: m["parameters"].update(m="nan"),
        lambda m: m["parameters"].update(m="1/0"),
        lambda m: m["parameters"].update(m=None),
        lambda m: m.update(inputs={"u": "t"}),
        lambda m: m.update(jets=["x"]),
        lambda m: m.update(outcome="won"),
        lambda m: m.update(drift=[1, 2]),
        lambda m: m.update(drift={"balance": "much"}),
        lambda m: m.update(extrema={"x": [1]}),
        lambda m: m.update(events=[{}]),
        lambda m: m.update(events="none"),
        lambda m: m.update(pieces=2),
        lambda m: m.update(pieces=10**9),
        lambda m: m.update(pieces="1"),
        lambda m: m.update(rewritten=[{"label": "E_x", "lhs": "x", "rhs": "open('x')", "origin": ""}]),
        lambda m: m.update(pieces=[]),
        lambda m: m["pieces"][0].update(energy={}),
        lambda m: m["pieces"][0].update(modes=[1]),
        lambda m: m["pieces"][0].update(basis="splines"),
        lambda m: m.update(tolerance=None),
        lambda m: m.update(switches=[{"text": "x", "t": 0, "before": 1, "after": 7}]),
        lambda m: m.update(counts={"accepted": "many"}),
        lambda m: m.update(message=None),
        lambda m: m.update(message="\x1b[2J"),
        lambda m: m.update(drift={"\x1b[2J": 0.0}),
        lambda m: m.update(secret=1),
        lambda m: m["pieces"][0].update(secret=1),
        lambda m: m["principle"].update(secret=1),
        lambda m: m["system"].update(name="a\nb"),
    ],
)
def test_a_changed_model_is_refused(members, tmp_path, change):
    with pytest.raises(ch.ModelError, match=r"load 'f\.npz'"):
        load(packed(tmp_path / "f.npz", changed(members, change)))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.npy", array(np.array([{"a": 1}], dtype=object))),  # a pickle
        ("t.npy", array(np.zeros((2, 2)))),
        ("t.npy", array(np.array([0.0, 0.2, 0.1]))),
        ("t.npy", array(np.array([0.0, np.nan]))),
        ("t.npy", b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }" + b" " * 51 + b"\n"),
        ("t.npy", b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }" + b" " * 62 + b"\n"),
        ("t.npy", b"nothing"),
        ("states.npy", array(np.zeros((3, 6), dtype=np.float32))),
        ("states.npy", array(np.zeros((1, 6)))),
        ("coefficients_0.npy", array(np.zeros((1, 7, 6)))),
        ("end_state.npy", array(np.zeros(5))),
        ("model.json", b""),
        ("model.json", b"[1, 2]"),
        ("model.json", b"\xff\xfe"),
        ("model.json", b'{"format": "chetaev motion", "version": 3}'),
        ("pieces.npy", array(np.array([0.0, 5.0]))),
        ("first_0.npy", array(np.zeros(2))),
        ("model.json", b"[" * 100_000),
        ("model.json", b'{"a":' * 100_000),
    ],
)
def test_a_changed_member_is_refused(members, tmp_path, name, content):
    with pytest.raises(ch.ModelError):
        load(packed(tmp_path / "f.npz", {**members, name: content}))


ALTERED = [
    ("its model is not the one", lambda m: changed(m, lambda model: model["parameters"].update(m=4.0))),
    ("its model is not the one", lambda m: changed(m, lambda model: model["system"].update(name="another"))),
    ("its model is not the one", lambda m: changed(m, lambda model: model.update(outcome="finished", message="as it should"))),
    ("its numbers are not those", lambda m: {**m, "states.npy": m["states.npy"][:-1] + bytes([m["states.npy"][-1] ^ 1])}),
    ("its numbers are not those", lambda m: {**m, "more.npy": m["t.npy"]}),
    ("its digests are missing", lambda m: {name: content for name, content in m.items() if name != "digests.json"}),
]


@pytest.mark.parametrize(("told", "change"), ALTERED)
def test_an_altered_file_is_told(members, tmp_path, told, change):
    """What the archive's own checksums cannot see: a file unpacked, changed by hand and packed again."""
    with pytest.raises(ch.ModelError, match=f"altered after it was saved: {told}"):
        load(packed(tmp_path / "f.npz", change(members), signed=False))


@pytest.mark.parametrize("name", ["t.npy", "states.npy", "node_states_0.npy", "coefficients_0.npy", "end_state.npy", "first_0.npy"])
def test_a_number_that_is_none_is_told(members, tmp_path, name):
    values = np.load(io.BytesIO(members[name]))
    values.flat[values.size // 2] = np.nan
    with pytest.raises(ch.ModelError, match="holds a number that is not finite"):
        load(packed(tmp_path / "f.npz", {**members, name: array(values)}))


def test_a_motion_that_grows_beyond_all_numbers_comes_back(tmp_path):
    """Backwards a damped blade of a tiny mass is faster than 1e154 at once; the polynomial of the last step has no finite numbers."""
    system = ch.System(
        "x y th",
        "m",
        lagrangian="m*(x'^2 + y'^2)/2 + th'^2/2 - x^2",
        kinematic=["y'*cos(th) = x'*sin(th)"],
        dissipation="0.05*y'^2",
    )
    start = {"x": 1, "y": 0, "th": 0.3, "x'": 0.2, "th'": 1}
    motion = ch.simulate(ch.derive(system, ch.DAlembert()), start, (1, 0), parameters={"m": 1e-12}, tolerance=1e-10)
    assert motion.outcome == "left_domain" and motion.final["x'"] > 1e100
    motion.save(tmp_path / "motion.npz")
    back = ch.load(tmp_path / "motion.npz")
    assert np.array_equal(back.states, motion.states) and str(back.final) == str(motion.final) and back.outcome == "left_domain"


@pytest.mark.parametrize("name", ["t.npy", "states.npy", "end_t.npy", "nodes_0.npy", "coefficients_0.npy", "model.json"])
def test_a_missing_member_is_noticed(members, tmp_path, name):
    with pytest.raises(ch.ModelError):
        load(packed(tmp_path / "f.npz", {key: v for key, v in members.items() if key != name}))


def test_what_is_not_a_motion_at_all(members, tmp_path):
    path = tmp_path / "f.npz"
    with pytest.raises(ch.ModelError, match="cannot be read"):
        load(path)
    for content in (b"", b"PK\x03\x04", b"not a zip", b"PK\x05\x06" + bytes(18)):
        path.write_bytes(content)
        with pytest.raises(ch.ModelError):
            load(path)
    with pytest.raises(ch.ModelError, match="is compressed"):  # a small file may not become a large one
        load(packed(path, members, zipfile.ZIP_DEFLATED))
    with pytest.raises(ch.ModelError, match="cannot be read"):
        load(tmp_path)


def test_damaged_files_never_raise_anything_else(members, tmp_path):
    """Truncated anywhere, or with any one byte changed: an error of the library, or a motion."""
    path = packed(tmp_path / "f.npz", members)
    whole = path.read_bytes()
    chance = np.random.default_rng(11)
    refused = 0
    for k in range(150):
        damaged = bytearray(whole)
        place = int(chance.integers(len(whole)))
        if k % 3:
            damaged[place] ^= int(chance.integers(1, 256))
        else:
            del damaged[place:]
        path.write_bytes(damaged)
        try:
            load(path)
        except ch.ChetaevError:
            refused += 1
    assert refused > 100  # the archive has checksums


def test_motions_that_cannot_be_saved(tmp_path):
    motion = driven()
    with pytest.raises(ch.UsageError, match="not made by simulate"):
        save(replace(motion, reader=Corrupted(motion.reader)), tmp_path / "f.npz")
    with pytest.raises(ch.ModelError, match="cannot be written"):
        save(motion, tmp_path / "nowhere" / "f.npz")


# ------------------------------------------------------------ tables


def test_the_columns_of_tables(rocard):
    assert column_names(rocard) == tuple(
        "psi psi' psi'' theta theta' theta'' epsilon epsilon' epsilon'' x1 x1' x1'' x2 x2' x2'' lambda1 lambda2 lambda3".split()
    )
    contact = ch.simulate(ch.gallery("sleigh-contact").under(ch.Herglotz(ch.Vakonomic())), t=(0, 0.1))
    assert column_names(contact) == tuple("x x' x'' y y' y'' theta theta' theta'' lambda1 lambda1' s s'".split())
    higher = ch.simulate(ch.gallery("pais-uhlenbeck"), t=(0, 0.1))
    assert column_names(higher) == ("q", "q'", "q''", "q'''", "D(q, 4)")


def _table(table):
    """(index, columns by name, attributes) of a table of either kind."""
    columns = {name: np.asarray(table[name]) for name in (table.columns if hasattr(table, "columns") else table.data_vars)}
    return np.asarray(table.index if hasattr(table, "columns") else table["t"]), columns, dict(table.attrs)


@pytest.mark.parametrize(("package", "convert"), [("pandas", to_pandas), ("xarray", to_xarray)])
def test_tables_hold_every_column(rocard, package, convert):
    if importlib.util.find_spec(package) is None:
        with pytest.raises(ch.UsageError, match=r"chetaev\[tables\]"):
            convert(rocard)
        return
    index, columns, attributes = _table(convert(rocard))
    assert np.array_equal(index, rocard.t)
    assert tuple(columns) == column_names(rocard)
    assert np.array_equal(columns["lambda2"], rocard["lambda2"])
    assert attributes["principle"] == "VirtualWork()"
    assert attributes["lagrangian"].startswith("I/2*psi'^2")


@pytest.mark.parametrize(("package", "convert"), [("pandas", to_pandas), ("xarray", to_xarray)])
def test_a_missing_package_is_named(rocard, package, convert, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ch.UsageError) as caught:
        convert(rocard)
    assert str(caught.value) == (
        f"UsageError · to_{package}\n  to_{package} needs the package {package}, which is not installed.\n  -> pip install {package}"
    )


def test_expressions_are_never_evaluated_as_python(members, tmp_path):
    """A text with a call in it is an undeclared name."""
    text = "exec(x)"
    with pytest.raises(ch.ModelError) as caught:
        load(packed(tmp_path / "f.npz", changed(members, lambda m: m["system"].update(lagrangian=text))))
    assert isinstance(caught.value.__cause__, ch.NotationError)


def test_a_motion_is_pickled_as_its_file():
    motion = driven()
    again = pickle.loads(pickle.dumps(motion))  # noqa: S301 - made here
    assert np.array_equal(again["lambda1"], motion["lambda1"])
    assert again.at(1.234)["x''"] == motion.at(1.234)["x''"]
    assert (again.outcome, again.drift, again.tolerance) == (motion.outcome, motion.drift, motion.tolerance)


@pytest.mark.parametrize("wrong", ["soon", None, [[0.6, 0.7]], object()])
def test_what_is_no_time(wrong):
    with pytest.raises(ch.UsageError, match="time"):
        driven().at(wrong)


def test_a_time_outside_says_what_is_known_and_a_path_must_be_one():
    with pytest.raises(ch.UsageError, match=r"known from t = 0.5 to 3"):
        driven().at(3.1)
    with pytest.raises(ch.UsageError, match="is not a path"):
        driven().save(None)
