"""erf, a function of the notation with one line in the table of functions: every verb knows it."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import chetaev as ch
from chetaev.core.functions import FUNCTIONS, SMOOTH
from chetaev.core.zero import vanishes

WELL = ch.System("x", "k w", lagrangian="x'^2/2 - k*erf(x/w)^2", name="well")
VALUES = {"k": 0.8, "w": 0.3}


def acceleration(x):
    """-dV/dx of V = k erf(x/w)^2, by hand."""
    return -VALUES["k"] * 2 * math.erf(x / VALUES["w"]) * 2 / math.sqrt(math.pi) * math.exp(-((x / VALUES["w"]) ** 2)) / VALUES["w"]


def test_accelerations_and_motions():
    equations = ch.derive(WELL)
    now = ch.evaluate(equations, {"x": 0.17, "x'": 0.4}, parameters=VALUES)
    assert now["x''"] == pytest.approx(acceleration(0.17), rel=1e-13)
    motion = ch.simulate(equations, {"x": 0.17, "x'": 0.4}, (0, 5), parameters=VALUES, tolerance=1e-10)
    reference = solve_ivp(lambda t, y: [y[1], acceleration(y[0])], (0, 5), [0.17, 0.4], rtol=1e-12, atol=1e-13, method="DOP853")
    assert motion.outcome == "finished"
    assert (motion.final["x"], motion.final["x'"]) == pytest.approx(tuple(reference.y[:, -1]), abs=1e-8)
    many = ch.simulate_many(equations, {"x": [0.17, 0.2], "x'": 0.4}, (0, 5), parameters=VALUES, tolerance=1e-10)
    assert many.final["x"][0] == motion.final["x"]
    for method in (ch.Implicit(), ch.Taylor()):
        other = ch.simulate(equations, {"x": 0.17, "x'": 0.4}, (0, 5), parameters=VALUES, tolerance=1e-9, method=method)
        assert other.final["x"] == pytest.approx(reference.y[0, -1], abs=1e-6)


def test_a_narrow_ramp_is_not_leapt_over():
    """V rises by 2 h within a millimetre at x = 3: a slower body turns back, a faster one loses 2 h."""
    ramp = ch.derive(ch.System("x", "h", lagrangian="x'^2/2 - h*(1 + erf(1000*(x - 3)))"))
    passed = ch.simulate(ramp, {"x": 0, "x'": 2}, (0, 4), parameters={"h": 0.75})
    assert passed.outcome == "finished" and passed.final["x'"] == pytest.approx(1.0, rel=1e-7)
    turned = ch.simulate(ramp, {"x": 0, "x'": 1.5}, (0, 4), parameters={"h": 0.75})
    assert turned.outcome == "finished" and turned.final["x'"] == pytest.approx(-1.5, rel=1e-7)


def test_identities_are_known_and_near_misses_are_not_zero():
    x = ch.parse("x", WELL)
    erf = FUNCTIONS["erf"][0]
    assert vanishes(erf(-x) + erf(x)) is True
    assert vanishes(erf(x) - x) is False
    assert vanishes(erf(x - 5) + 1) is False
    assert vanishes(erf(x).diff(x) - 2 * ch.parse("exp(-x^2)/sqrt(pi)", WELL)) is True


def test_code_in_other_languages(tmp_path):
    text = ch.code(ch.Model(WELL, ch.Hamilton(), parameters=VALUES, start={"x": 0.17, "x'": 0.4}, t=(0, 1)), "numpy")
    namespace = {"__name__": "exported"}
    exec(text, namespace)  # noqa: S102
    assert float(np.ravel(namespace["rhs"](0.0, np.array([0.17, 0.4])))[1]) == pytest.approx(acceleration(0.17), rel=1e-13)
    for language in ("c", "casadi"):
        assert "erf(" in ch.code(ch.Model(WELL, ch.Hamilton(), parameters=VALUES, start={"x": 0.17, "x'": 0.4}, t=(0, 1)), language)


def test_texts_files_and_typeset_forms(tmp_path):
    model = ch.Model(WELL, ch.Hamilton(), parameters=VALUES, start={"x": 0.17, "x'": 0.4}, t=(0, 1))
    ch.save(model, tmp_path / "well.toml")
    assert ch.load(tmp_path / "well.toml").system.lagrangian == WELL.lagrangian
    assert "erf" in str(ch.derive(WELL)) and "erf" in ch.derive(WELL).latex()
    assert "erf" in ch.report(model).html


def test_every_smooth_function_has_its_rules_everywhere():
    """A line in the table without values in exact arithmetic, a slope or intervals would fail here, not at a user's."""
    for name in SMOOTH:
        inside = f"{name}(0.3 + x^2/9)" if name != "acosh" else "acosh(1.5 + x^2/9)"
        equations = ch.derive(ch.System("x", lagrangian=f"x'^2/2 - {inside}*x"))
        motion = ch.simulate(equations, {"x": 0.2, "x'": 0.3}, (0, 0.5), tolerance=1e-10)
        assert motion.outcome == "finished" and motion.verify().worst < 1e-5, name


def test_a_rising_function_is_one_line_of_the_table():
    """expm1, added to the table of functions, moves as exp(x) - 1 does: in machine code, implicitly, by Taylor's series."""
    code = """
import importlib.util, sys
spec = importlib.util.find_spec("chetaev.core.functions")
table = importlib.util.module_from_spec(spec)
text = open(spec.origin, encoding="utf-8").read()
line = 'Smooth(__import__("sympy.codegen.cfunctions", fromlist=["expm1"]).expm1, 0, "", "", True, "exp(u)")'
assert text.count('    "sqrt": Smooth(') == 1
sys.modules[spec.name] = table
exec(compile(text.replace('    "sqrt": Smooth(', f'    "expm1": {line},\\n    "sqrt": Smooth('), spec.origin, "exec"), table.__dict__)
import chetaev as ch
ends = []
for force in ("-expm1(x)", "1 - exp(x)"):
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": force}))
    assert ch.analyze(equations).verdict is ch.Verdict.REGULAR
    for method in (None, ch.Implicit(), ch.Taylor()):
        motion = ch.simulate(equations, {"x": 1, "x'": 0.3}, (0, 5), method=method, tolerance=1e-6)
        assert motion.outcome == "finished" and motion.verify().worst < 1e-3, method
        ends.append(motion.final["x"])
print(*ends)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)  # noqa: S603
    assert not done.returncode, done.stderr
    own, written = np.array(done.stdout.split(), dtype=float).reshape(2, 3)
    assert own == pytest.approx(written, abs=1e-9)


def test_its_name_may_be_declared():
    """erf is a function only before a bracket: erf'' = -erf(1), a parabola, and code in every language calls the function."""
    system = ch.System("erf", lagrangian="erf'^2/2 - erf*erf(1)")
    model = ch.Model(system, ch.Hamilton(), start={"erf": 1, "erf'": 0}, t=(0, 1))
    assert ch.simulate(model).final["erf"] == pytest.approx(1 - math.erf(1) / 2, abs=1e-12)
    well = ch.Model(ch.System("erf", lagrangian="erf'^2/2 - erf(erf)"), ch.Hamilton(), start={"erf": 1, "erf'": 0}, t=(0, 1))
    assert ch.evaluate(ch.derive(well), {"erf": 1, "erf'": 0})["erf''"] == pytest.approx(-2 / math.sqrt(math.pi) / math.e, rel=1e-14)
    namespace: dict[str, object] = {}
    exec(ch.code(well, "numpy"), namespace)  # noqa: S102 - the code that is tested
    assert all(ch.code(well, language) for language in ("c", "javascript", "casadi"))


ONE_MORE = """
from sympy.codegen.cfunctions import expm1
import chetaev.core.functions as table
table.SMOOTH["expm1"] = table.Smooth(expm1, latex=r"\\\\operatorname{expm1}", opaque=True, slope="exp(u)", increasing=True)
table.FUNCTIONS["expm1"] = (expm1, 1)
table.SPELLING[expm1] = "expm1"
import chetaev as ch

def model(f):
    L = f"x'^2/2 + y'^2/2 - k*({f('x')} - x) - y^2/2"
    system = ch.System("x y", "k", lagrangian=L, kinematic=[f"y' = {f('x')}*x'"])
    return ch.Model(system, ch.DAlembert(), parameters={"k": 2}, start={"x": 0.5, "x'": 0, "y": 0.1}, t=(0, 2))

new, known = model(lambda u: f"expm1({u})"), model(lambda u: f"(exp({u}) - 1)")
for method in ({}, {"method": ch.Taylor()}, {"method": ch.Implicit()}):
    a, b = ch.simulate(new, events=["expm1(x)"], **method), ch.simulate(known, events=["x"], **method)
    assert a.outcome == "finished" and abs(a.final["x"] - b.final["x"]) < 1e-9 and a.verify().worst < 1e-5
    assert len(a.events) == 1 and abs(a.events[0].t - b.events[0].t) < 1e-8
assert ch.analyze(ch.derive(new)).verdict is ch.Verdict.REGULAR and "expm1" in ch.derive(new).latex()
assert all("expm1(" in ch.code(new, language) for language in ("numpy", "c", "casadi", "javascript"))
"""


def test_another_function_is_one_entry_of_the_table():
    """expm1 is exp(u) - 1 by one entry: motions with events under all methods, the verdict, LaTeX and code agree with the formula."""
    done = subprocess.run([sys.executable, "-c", ONE_MORE], capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr
