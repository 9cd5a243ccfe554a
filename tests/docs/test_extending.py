"""What the page Extending adds goes through every verb, and gives the numbers of derivations by hand."""

import ast
import contextlib
import io
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from generate.blocks import blocks
from scipy.integrate import solve_ivp

import chetaev as ch
from chetaev.core.notation import Function
from chetaev.core.support import registry
from chetaev.export import Language
from chetaev.mechanics.principles import of_words

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"
SECTIONS = {
    "gallery": "A new gallery system",
    "principle": "A new principle",
    "method": "A new method of integration",
    "group": "A new group",
    "function": "A new function of the notation",
    "transformation": "A new transformation",
    "language": "A new language of exported code",
}


@pytest.fixture(scope="module")
def page(registries, tmp_path_factory):
    """All names of the page, and the model with which each section ends; every section has a namespace of its own."""
    text = PAGE.read_text(encoding="utf-8")
    heads = {text.count("\n", 0, found.start()) + 1: found[1] for found in re.finditer(r"^## (.*)$", text, re.MULTILINE)}
    spaces = {}
    with contextlib.chdir(tmp_path_factory.mktemp("page")), contextlib.redirect_stdout(io.StringIO()):
        for block in blocks(PAGE):
            if block.runs:
                section = heads[max(line for line in heads if line < block.line)]
                exec(compile(block.text, str(PAGE), "exec"), spaces.setdefault(section, {"__name__": "__main__"}))  # noqa: S102
    every = {name: value for space in spaces.values() for name, value in space.items()}
    return every, {section: space.get("model") for section, space in spaces.items()}


def by_hand(name, t):
    """The name of a jet, and its value at the end of an interval from equations derived by hand."""

    def end(rates, start):
        return solve_ivp(rates, t, start, rtol=1e-12, atol=1e-12).y[:, -1]

    if name == "gallery":  # 2 x'' = -8 x
        return "x", np.cos(2 * t[1])
    if name == "principle":  # x' = theta, 2 theta'' = theta' cos(theta) + sin(theta), whatever the motor on x does
        x, _, _ = end(lambda _, y: [y[1], y[2], (y[2] * np.cos(y[1]) + np.sin(y[1])) / 2], [0, 0.1, 0.2])
        return "x", x
    if name in ("method", "transformation"):  # x = sin(phi), y = -cos(phi), phi'' = -9.81 sin(phi)
        phi, _ = end(lambda _, y: [y[1], -9.81 * np.sin(y[0])], [np.pi / 2, 0])
        return "y", -np.cos(phi)
    if name == "group":  # L = (x'^2 + 2 y'^2 + 3 w^2)/2 - z with w = z' - x y', in the coordinates x y z of the matrix
        *_, z = end(
            lambda _, y: [y[2], y[3], -3 * y[3] * y[4], (3 * y[2] * y[4] - y[0]) / 2, -1 / 3, y[4] + y[0] * y[3]],
            [0.1, 0.2, 0.5, 0.3, 0.1, 0.3],
        )
        return "A.z", z
    return "x", end(lambda _, y: [y[1], -2 * np.tanh(y[0] / 2)], [1, 0])[0]  # the slope of log(2 + 2 cosh(x))


@pytest.mark.parametrize("name", SECTIONS)
def test_what_is_added_goes_through_every_verb(page, name, tmp_path):
    model, (jet, value) = page[1][SECTIONS[name]], by_hand(name, page[1][SECTIONS[name]].t)
    equations = ch.derive(model)
    assert ch.analyze(equations).verdict is ch.Verdict.REGULAR
    assert all(np.isfinite(ch.evaluate(model)[f"{q}''"]) for q in model.system.coordinates)
    middle = (ch.simulate(model).final[jet] + ch.evaluate(model)[jet]) / 2
    motion = ch.simulate(model, events=[f"{jet.replace('A.z', 'A13')} - ({middle!r})"])
    assert motion.outcome == "finished" and motion.verify().worst < 1e-4
    assert len(motion.events) == 1 and motion.at(motion.events[0].t)[jet] == pytest.approx(middle, abs=20 * model.tolerance)
    assert motion.final[jet] == pytest.approx(value, abs=20 * model.tolerance)
    assert type(motion.method).__name__ == ("RungeKutta" if name == "method" else "Explicit")
    many = ch.simulate_many(model)
    assert many.final[jet] == pytest.approx(ch.simulate(model, keep="final").final[jet], rel=1e-12)
    other = ch.Chetaev() if model.principle == ch.DAlembert() else ch.DAlembert()
    compared = ch.compare(replace(model, also={other: {}}), [model.principle, other])
    assert compared.pairs[0].identical
    ch.save(model, tmp_path / "model.toml")
    assert ch.load(tmp_path / "model.toml") == model
    motion.save(tmp_path / "motion.npz")
    loaded = ch.load(tmp_path / "motion.npz")
    assert loaded.final[jet] == motion.final[jet] and loaded.method == motion.method
    report = ch.report(model).html
    assert name != "method" or ("RungeKutta()" in report and "W. Kutta" in report and "DOP853" not in report)


def test_a_method_of_somebody_else_keeps_constraints_and_slides(page):
    """A pendulum stays on its circle; dry friction, x'' = -sign(x'), brings x' = 1 to rest at t = 1, x = 1/2, where it stays."""
    method = page[0]["RungeKutta"]()
    motion = ch.simulate(page[1][SECTIONS["method"]])
    assert np.abs(motion["x"] ** 2 + motion["y"] ** 2 - 1).max() < 1e-12 and max(motion.drift.values()) < 1e-6
    sliding = ch.System("x", lagrangian="x'^2/2", forces={"x": "-sign(x')"})
    rest = ch.simulate(ch.derive(sliding, ch.DAlembert()), {"x": 0, "x'": 1}, (0, 2), method=method)
    assert rest.outcome == "finished" and rest.final["x"] == pytest.approx(0.5, abs=1e-9) and rest.final["x'"] == 0
    assert [switch.t for switch in rest.switches] == pytest.approx([1], abs=1e-9)


def test_exported_code_of_somebody_else_gives_the_acceleration(page):
    written = {}
    exec(ch.code(page[1][SECTIONS["language"]], "python"), written)  # noqa: S102
    assert written["unknowns"](0.0, written["START"]) == pytest.approx([-2 * np.tanh(0.5)], rel=1e-14)


def test_registered_words_are_unique_and_files_know_no_others(page, tmp_path):
    with pytest.raises(ch.UsageError, match="the word of RungeKutta"):
        ch.register(type("Other", (ch.Method,), {"word": "rk4"}))
    with pytest.raises(ch.UsageError, match=r"the word of [Ii]mplicit"):
        ch.register(type("Other", (ch.Method,), {"word": "implicit"}))
    with pytest.raises(ch.UsageError, match="another language"):
        ch.register(Language("c", page[0]["python_file"]))
    with pytest.raises(ch.UsageError, match="another function"):
        ch.register(Function("softplus", "u", "u"))
    for name, arguments, expression in (("f", "", "1"), ("f", "sin", "sin"), ("f", "f", "f"), ("D", "u", "u"), ("2f", "u", "u")):
        with pytest.raises(ch.UsageError):
            Function(name, arguments, expression)
    for expression in ("v", "g(u)", "f(u)"):
        with pytest.raises(ch.NotationError):
            Function("f", "u", expression)
    with pytest.raises(ch.UsageError):
        ch.register(3)
    ch.save(page[1][SECTIONS["method"]], tmp_path / "model.toml")
    text = (tmp_path / "model.toml").read_text()
    assert 'method = "rk4"' in text
    for wrong in ('"rk5"', '{name = "rk4", order = 3}', "{order = 3}", "3"):
        (tmp_path / "model.toml").write_text(text.replace('"rk4"', wrong))
        with pytest.raises(ch.ChetaevError):
            ch.load(tmp_path / "model.toml")


def test_a_registered_function_can_be_declared_and_grows_within_bounds(page):
    system = ch.System("softplus", lagrangian="softplus'^2/2 - softplus(softplus)")
    assert ch.evaluate(ch.derive(system), {"softplus": 0.3, "softplus'": 0})["softplus''"] == pytest.approx(-1 / (1 + np.exp(-0.3)))
    ch.register(Function("doubled", "u", "u*(1 + sin(u))"))
    with pytest.raises(ch.NotationError):
        ch.parse("doubled(" * 40 + "x" + ")" * 40, coordinates="x")
    ch.register(Function("power", "u v", "u^v"))
    with pytest.raises(ch.NotationError):
        ch.parse("power(2, 10^9)", coordinates="x")


def test_installed_extensions_are_imported_for_typed_words_and_never_for_files(page, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(registry, "import_extensions", lambda: asked.append(1))
    model = tmp_path / "model.toml"
    ch.save(page[1][SECTIONS["method"]], model)
    model.write_text(model.read_text().replace('"rk4"', '"unheard"').replace("dalembert", "unheard"))
    with pytest.raises(ch.ChetaevError):
        ch.load(model)
    with pytest.raises(ch.NotationError):
        ch.parse("unheard(x)", coordinates="x")
    assert not asked
    with pytest.raises(ch.PrincipleError, match="unheard is not a principle"):
        of_words("unheard", "test")
    with pytest.raises(ch.UsageError, match="not a language"):
        ch.code(page[1][SECTIONS["language"]], "unheard")
    assert len(asked) == 2


def cells(cell, value=1, *others):
    """A 3x3 matrix with `value` in one cell, 1 in the others, and zeros."""
    values = {cell: value, **dict.fromkeys(others, 1)}
    return tuple(tuple(values.get((i, j), 0) for j in range(3)) for i in range(3))


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"word": "heis"}, "begins with a capital"),
        ({"word": "SO3"}, "another group"),
        ({"word": "Heis", "places": ("x", "y", "u")}, "another group"),
        ({"places": ("x", "y", "w")}, "none w"),
        ({"places": ("x", "y")}, "as many as dimensions"),
        ({"orthogonal": 3}, "only groups of the library"),
        ({"identity": (1, 0, 0)}, "not the identity"),
        ({"sided": False}, "its velocities differ"),
        ({"basis": (((0, 1.5), (0, 0)),)}, "matrices of integers"),
        ({"basis": (cells((0, 1), 1, (1, 2)), cells((1, 2)), cells((0, 1)))}, "others lack"),
        ({"basis": (cells((0, 1)), cells((1, 2)), cells((0, 0)))}, "not a sum of integer"),
        ({"basis": (cells((0, 1)), cells((1, 2)), cells((0, 2), -1))}, "not those of its matrix"),
        ({"rates": lambda self, z, v, body, cos, sin: [v[0], v[1], v[2] + z[0] * v[1]]}, "spatial side are not those"),
        ({"velocity": lambda self, z, v, body, cos, sin: [v[0], v[1], v[2] + z[0] * v[1]]}, "not the inverse"),
        ({"of_matrix": lambda self, rows: [rows[0][1], rows[0][2], rows[1][2]]}, "does not return the place"),
    ],
)
def test_a_group_whose_formulas_do_not_belong_together_is_refused(page, changed, fault):
    kind = type("Other", (page[0]["Heisenberg"],), {"word": "Other", **changed})
    with pytest.raises(ch.UsageError, match=fault):
        ch.register(kind)
    assert ch.register(page[0]["Heisenberg"]).word == "Heis"


def test_elements_of_a_group_of_somebody_else_in_all_their_forms(page):
    """The matrix, the numbers, many of either; the other side; the algebra; ordinary coordinates."""
    equations = ch.derive(page[0]["charge"])
    rates = {"A1'": 0.5, "A2'": 0.3, "A3'": 0.1}
    matrix = [[1, 0.1, 0.3], [0, 1, 0.2], [0, 0, 1]]
    motion = ch.simulate(equations, {"A": matrix, **rates}, (0, 1))
    assert motion.matrix("A")[0] == pytest.approx(np.array(matrix), abs=1e-15)
    assert motion.final["A.z"] == ch.simulate(equations, {"A": "[0.1, 0.2, 0.3]", **rates}, (0, 1)).final["A.z"]
    x, y = motion["A.x"], motion["A.y"]
    spatial = motion["A3'"] + x * motion["A2'"] - y * motion["A1'"]  # Ad_A of the body velocity: A xi A^-1
    assert motion.velocity("A", "spatial")[:, 2] == pytest.approx(spatial, abs=1e-12)
    two = ch.simulate_many(equations, {"A": [[0.1, 0.2, 0.3], [0, 0, 0]], **rates}, (0, 1))
    assert two.final["A.z"][0] == pytest.approx(motion.final["A.z"], rel=1e-12)
    with pytest.raises(ch.InitialError, match=r"off the group by 0\.5"):
        ch.evaluate(equations, {"A": [[1, 0, 0], [0, 1, 0], [0, 0.5, 1]], **rates})
    with pytest.raises(ch.InitialError, match="may be one matrix, or 3 elements"):
        ch.simulate_many(equations, {"A": matrix, "A1'": [1, 2, 3], "A2'": 0, "A3'": 0}, (0, 1))
    free = page[0]["charge"].replace(lagrangian="(A1'^2 + 2*A2'^2 + 3*A3'^2)/2")
    reduced = ch.groups.reduce(ch.derive(free), group="A").system
    assert reduced.kinds["A"] == "heis body"
    chart = ch.groups.in_coordinates(page[0]["charge"])
    assert ch.parse("A_1'^2/2 + A_2'^2 + 3*(A_3' - A_1*A_2')^2/2 - A_3", chart).equals(chart.lagrangian)
    assert len(ch.animate(motion).scene.shapes) == 3


def _defines(node):
    """Whether a statement of the page defines or registers something, and is no example of its use."""
    constant = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]).isupper()
    registers = isinstance(node, ast.Expr) and ast.unparse(node).startswith("ch.register(")
    return constant or registers or isinstance(node, ast.Import | ast.ImportFrom | ast.ClassDef | ast.FunctionDef)


def test_an_installed_extension_serves_files_on_the_command_line(tmp_path):
    """A distribution on the path announces a module; it adds a group, a function, a principle, a theorem, a method and a language."""
    code = "\n".join(block.text for block in blocks(PAGE) if block.runs)
    kept = [node for node in ast.parse(code).body if _defines(node)]
    (tmp_path / "page_extension.py").write_text(ast.unparse(ast.Module(kept, [])), encoding="utf-8")
    about = tmp_path / "page_extension-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: page-extension\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[chetaev]\npage = page_extension\n")
    assert "[project.entry-points.chetaev]" in PAGE.read_text(encoding="utf-8")
    model = tmp_path / "own.toml"
    model.write_text(
        'lagrangian = "(A1\'^2 + 2*A2\'^2 + 3*A3\'^2)/2 - softplus(A13) + x\'^2/2"\n[coordinates]\nA = "Heis body"\nx = "line"\n'
        '[constraints]\nkinematic = ["x\' = A1\'"]\n[principle]\nname = "gliding"\n'
        '[initial]\nfixed = ["A = [0.1, 0.2, 0.3]", "A1\' = 0.5", "A2\' = 0.3", "A3\' = 0.1", "x = 0"]\n'
        '[simulate]\nt = [0, 0.1]\nmethod = "rk4"\n'
    )

    def said(*words):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
        return subprocess.run([sys.executable, "-m", "chetaev.cli", *words], capture_output=True, text=True, env=environment, cwd=tmp_path)  # noqa: S603

    alone = said("derive", "own.toml")
    assert alone.returncode != 0 and "gliding is not a principle" in alone.stderr  # a file imports nothing
    assert "Gliding()" in said("--extensions", "derive", "own.toml").stdout
    run = said("--extensions", "simulate", "own.toml")
    assert run.returncode == 0 and "finished" in run.stdout
    assert "def unknowns" in said("--extensions", "derive", "own.toml", "--code", "python").stdout
