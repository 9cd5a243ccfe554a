"""What the page Extending adds goes through every verb, and gives the numbers of derivations by hand."""

import contextlib
import io
import re
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
    "principle": "A new principle",
    "method": "A new method of integration",
    "function": "A new function of the notation",
    "transformation": "A new transformation",
    "language": "A new language of exported code",
}


@pytest.fixture(scope="module")
def page(registries, tmp_path_factory):
    """The namespace of the page, and the model with which each section ends."""
    text = PAGE.read_text(encoding="utf-8")
    heads = {text.count("\n", 0, found.start()) + 1: found[1] for found in re.finditer(r"^## (.*)$", text, re.MULTILINE)}
    namespace, models = {"__name__": "__main__"}, {}
    with contextlib.chdir(tmp_path_factory.mktemp("page")), contextlib.redirect_stdout(io.StringIO()):
        for block in blocks(PAGE):
            if block.runs:
                exec(compile(block.text, str(PAGE), "exec"), namespace)  # noqa: S102
                section = heads[max(line for line in heads if line < block.line)]
                models[section] = namespace.get("model")
    return namespace, models


def by_hand(name, t):
    """The name of a jet, and its value at the end of an interval from equations derived by hand."""

    def end(rates, start):
        return solve_ivp(rates, t, start, rtol=1e-12, atol=1e-12).y[:, -1]

    if name == "principle":  # x' = theta, 2 theta'' = theta' cos(theta) + sin(theta), whatever the motor on x does
        x, _, _ = end(lambda _, y: [y[1], y[2], (y[2] * np.cos(y[1]) + np.sin(y[1])) / 2], [0, 0.1, 0.2])
        return "x", x
    if name in ("method", "transformation"):  # x = sin(phi), y = -cos(phi), phi'' = -9.81 sin(phi)
        phi, _ = end(lambda _, y: [y[1], -9.81 * np.sin(y[0])], [np.pi / 2, 0])
        return "y", -np.cos(phi)
    return "x", end(lambda _, y: [y[1], -2 * np.tanh(y[0] / 2)], [1, 0])[0]  # the slope of log(2 + 2 cosh(x))


@pytest.mark.parametrize("name", SECTIONS)
def test_what_is_added_goes_through_every_verb(page, name, tmp_path):
    model, (jet, value) = page[1][SECTIONS[name]], by_hand(name, page[1][SECTIONS[name]].t)
    equations = ch.derive(model)
    assert ch.analyze(equations).verdict is ch.Verdict.REGULAR
    assert np.isfinite(ch.evaluate(model)[f"{jet}''"])
    middle = (ch.simulate(model).final[jet] + ch.evaluate(model)[jet]) / 2
    motion = ch.simulate(model, events=[f"{jet} - ({middle!r})"])
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
