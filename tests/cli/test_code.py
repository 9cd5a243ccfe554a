"""Exported right-hand sides: files that run alone and give the accelerations that `evaluate` gives."""

import ctypes
import importlib.util
import shutil
import subprocess
import sys

import numpy as np
import pytest

import chetaev as ch
from chetaev.export.problem import right_hand_side

LIMIT = 1e-12
REDUNDANT = ch.Model(
    ch.System(
        "x y z",
        "m g",
        lagrangian="m/2*(x'^2 + y'^2 + z'^2) - m*g*z",
        kinematic=["x^2 + y^2 + z^2 = 1", "2*x^2 + 2*y^2 + 2*z^2 = 2"],
        name="twice",
    ),
    ch.DAlembert(),
    {"m": 1.3, "g": 9.81},
    ch.State({"x": 0.6, "y": 0, "x'": 0.4, "y'": 0.2}, guess={"z": -0.8}),
)
"""Two rows that say the same: their multipliers are not unique."""
CORNERS = ch.Model(
    ch.System(
        "x y",
        "mu",
        lagrangian="x'^2/2 + y'^2/2 - abs(x) - max(x, y)^2/2 - atan2(y, x)/7",
        forces={"x": "-mu*sign(x') + u", "y": "min(x', y')*u'"},
        inputs={"u": "sin(2*t)"},
    ),
    ch.Hamilton(),
    {"mu": 0.3},
    ch.State({"x": -0.7, "y": 0.4, "x'": 0.2, "y'": 0.5}),
    t=(0.3, 1.0),
)
TAKEN = ch.Model(
    ch.System(
        "state matrix w1 pow",
        "right NULL double",
        lagrangian="right*state'^2/2 + NULL*matrix'^2/2 + double*w1'^2/2 + pow'^2/2 - state*w1^3*pow",
    ),
    ch.Hamilton(),
    {"right": 1.5, "NULL": 2.5, "double": 0.5},
    ch.State({"state": 1, "matrix": 2, "w1": 3, "pow": 4, "state'": 5, "matrix'": 6, "w1'": 7, "pow'": 8}),
)
"""Names that the exported files, or C, have for themselves."""
CASES = {
    name: ch.gallery(name)
    for name in ("rocard", "sleigh", "disk-resistance", "transformer", "cawley", "suslov", "greidanus", "pais-uhlenbeck")
}
CASES |= {"twice": REDUNDANT, "corners": CORNERS, "taken": TAKEN, "sleigh, vakonomic": ch.gallery("sleigh").under(ch.Vakonomic())}
COMPILER = shutil.which("gcc") or shutil.which("cc")


@pytest.mark.parametrize("name", CASES)
def test_numpy_agrees_with_evaluate(name, tmp_path):
    module = _module(ch.code(CASES[name], "numpy"), tmp_path)
    _agrees(CASES[name], module.unknowns, dict(zip(module.STATE, module.START, strict=True)))


@pytest.mark.parametrize("name", CASES)
def test_casadi_agrees_with_evaluate(name, tmp_path):
    module = _module(ch.code(CASES[name], "casadi"), tmp_path)
    start = dict(zip(module.STATE, module.START, strict=True))
    _agrees(CASES[name], lambda t, state: module.unknowns(t, state, module.VALUES).full().ravel(), start)


@pytest.mark.skipif(COMPILER is None, reason="no C compiler on this machine")
@pytest.mark.parametrize("name", CASES)
def test_c_agrees_with_evaluate(name, tmp_path):
    source = right_hand_side(CASES[name])
    library = ctypes.CDLL(str(_compiled(ch.code(CASES[name], "c"), tmp_path, "-shared", "-fPIC", "-DCHETAEV_WITHOUT_MAIN")))

    def unknowns(t, state):
        found = (ctypes.c_double * len(source.unknowns))()
        values = (ctypes.c_double * max(1, len(source.parameters)))(*source.parameters.values())
        assert library.unknowns(ctypes.c_double(t), (ctypes.c_double * len(state))(*state), values, found) == 0
        return np.array(found)

    _agrees(CASES[name], unknowns, dict(zip([z.name for z in source.state], source.start, strict=True)))


@pytest.mark.parametrize("name", [name for name in ch.gallery() if name not in ("krupkova", *CASES)])
def test_the_whole_gallery_can_be_exported(name, tmp_path):
    model = ch.gallery(name)
    module = _module(ch.code(model, "numpy"), tmp_path)
    found, now = module.unknowns(model.t[0], module.START), ch.evaluate(model)
    wanted = np.array([now[unknown] for unknown in module.UNKNOWNS])
    assert np.max(np.abs(found - wanted) / np.maximum(1, np.abs(wanted))) < LIMIT
    assert np.max(np.abs(module.constraints(model.t[0], module.START)), initial=0.0) < 1e-9


def test_a_pendulum_by_hand(tmp_path):
    """theta'' = -g/l*sin(theta) + F/(m*l^2), with numbers that no symmetry hides."""
    system = ch.System("theta", "m l g", lagrangian="m/2*l^2*theta'^2 + m*g*l*cos(theta)", forces={"theta": "t^2"})
    model = ch.Model(system, ch.Hamilton(), {"m": 1.5, "l": 0.7, "g": 9.81}, ch.State({"theta": 0.4, "theta'": -1.1}))
    module = _module(ch.code(model, "numpy"), tmp_path)
    t, theta, speed = 0.8, -0.9, 2.2
    other = {"m": 2.0, "l": 1.1, "g": 1.62}
    assert module.rhs(t, [theta, speed], other) == pytest.approx([speed, -1.62 / 1.1 * np.sin(theta) + t**2 / (2.0 * 1.1**2)], rel=1e-14)


FEEDBACK = """\
name = "fed back"
lagrangian = "m*x'^2/2"
[coordinates]
x = "line"
[parameters]
m = 2.0
[inputs]
u = "open"
[values]
u = "sin(t) - m*x"
[forces]
x = "u"
[principle]
name = "hamilton"
[initial]
fixed = ["x = 0.3", "x' = 0"]
[simulate]
t = [0, 5]
"""


@pytest.mark.parametrize("language", ["numpy", "casadi"])
def test_feedback_is_written_out(language, chetaev, tmp_path):
    """m*x'' = sin(t) - m*x, with the present value of m."""
    module = _module(chetaev(f"derive - --code {language}", text=FEEDBACK).stdout, tmp_path)
    values = {"m": 3.0} if language == "numpy" else [3.0]
    found = module.unknowns(0.7, [0.4, 0.1], values)
    assert float(np.asarray(found).ravel()[0]) == pytest.approx((np.sin(0.7) - 3.0 * 0.4) / 3.0, rel=1e-14)


def test_feedback_has_code_in_every_language(chetaev):
    for language in ("c", "javascript"):
        found = chetaev(f"derive - --code {language}", text=FEEDBACK)
        assert found.exit_code == 0 and "sin(t)" in found.stdout
    wrong = chetaev("derive - --code c", text=FEEDBACK.replace('m*x"', 'm*y"'))
    assert wrong.exit_code != 0 and "unknown name" in wrong.stderr


def test_a_motion_made_with_the_file_is_the_motion(tmp_path):
    """SciPy integrates what was exported, also where the state holds a quaternion."""
    from scipy.integrate import solve_ivp

    for name in ("sleigh", "suslov"):
        module = _module(ch.code(ch.gallery(name), "numpy"), tmp_path)
        made = solve_ivp(module.rhs, (0, 2), module.START, rtol=1e-11, atol=1e-12)
        motion = ch.simulate(ch.gallery(name), t=(0, 2), tolerance=1e-12)
        wanted = motion.states[-1][: len(module.STATE)]
        assert [z.name for z in motion.jets] == list(module.STATE)
        assert made.y[:, -1] == pytest.approx(wanted, abs=1e-9)


@pytest.mark.skipif(COMPILER is None, reason="no C compiler on this machine")
def test_the_program_runs_alone(tmp_path):
    program = _compiled(ch.code(ch.gallery("sleigh"), "c"), tmp_path)
    lines = subprocess.run([program, "2000"], capture_output=True, text=True, check=True).stdout.splitlines()  # noqa: S603
    assert lines[0] == "t,x,x',y,y',theta,theta'"
    last = list(map(float, lines[-1].split(",")))
    motion = ch.simulate(ch.gallery("sleigh"), tolerance=1e-12)
    assert last == pytest.approx([10.0, *[motion.final[name] for name in lines[0].split(",")[1:]]], abs=1e-8)


@pytest.mark.parametrize("language", ["numpy", "casadi"])
def test_the_file_imports_nothing_of_chetaev(language, tmp_path):
    path = tmp_path / "alone.py"
    path.write_text(ch.code(ch.gallery("disk"), language), encoding="utf-8")
    check = f"import runpy, sys; runpy.run_path({str(path)!r}, run_name='__main__'); assert not any('chetaev' in m for m in sys.modules)"
    lines = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True).stdout.splitlines()  # noqa: S603
    assert lines[0].startswith("t,x,x'") and len(lines) == 102


def test_branches_and_gauges_are_written_out(tmp_path):
    """On q3 = 0 Cawley's q2 is ours to choose: q1'' = q2^2/2 with q2 = 1 + t."""
    model = ch.Model(ch.gallery("cawley").system, ch.Hamilton(), start=ch.State({"q1": 0.2, "q1'": -0.3, "q3": 0, "q3'": 0}))
    module = _module(ch.code(model, "numpy", branch="q3 = 0", gauge={"q2": "1 + t"}), tmp_path)
    state = dict(zip(module.STATE, module.START, strict=True))
    assert state["q2"] == 1.0
    rates = dict(zip(module.STATE, module.rhs(0.0, module.START), strict=True))
    assert rates["q1'"] == pytest.approx(0.5, abs=1e-14)


def test_what_cannot_be_exported(chetaev):
    assert chetaev("derive krupkova --code c").exit_code == 3
    assert "not a language" in chetaev("derive sleigh --code fortran").stderr
    found = chetaev("derive - --code numpy", text=SPRING.replace("k = 4.0", 'k = {kind = "real"}'))
    assert found.exit_code == 2 and "no value for parameter k" in found.stderr


SPRING = """\
name = "spring"
lagrangian = "x'^2/2 - k*x^2/2"
[coordinates]
x = "line"
[parameters]
k = 4.0
[principle]
name = "hamilton"
[initial]
fixed = ["x = 1", "x' = 0"]
"""


def test_the_command_writes_the_same(chetaev, tmp_path):
    found = chetaev("derive sleigh --code c -o sleigh.c --set a=0.5")
    assert found.exit_code == 0 and "wrote sleigh.c" in found.stderr
    assert "{1.2, 0.5, 0.5}" in (tmp_path / "sleigh.c").read_text()
    assert chetaev("derive sleigh --code casadi").stdout == ch.code(ch.gallery("sleigh"), "casadi")


def _agrees(model, unknowns, start):
    """The same accelerations and multipliers as `evaluate`, at the start and further along the motion."""
    names = [z.name for z in right_hand_side(model).unknowns]
    motion = ch.simulate(model, t=(model.t[0], model.t[0] + 0.3 * (model.t[1] - model.t[0])))
    states = [(model.t[0], list(start.values())), (motion.end[0], [motion.final[name] for name in start])]
    for t, state in states:
        now = ch.evaluate(model, _as_start(model, start, state), t=t)
        wanted = np.array([now[name] for name in names])
        assert np.max(np.abs(unknowns(t, np.array(state)) - wanted) / np.maximum(1, np.abs(wanted))) < LIMIT


def _as_start(model, start, state):
    """Values by name; the places of a rotation as the quaternion they are."""
    values = dict(zip(start, state, strict=True))
    quaternion = [values.pop(name) for name in list(values) if "." in name]
    return values | ({"A": tuple(quaternion)} if quaternion else {})


def _module(text, folder):
    path = folder / "exported.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("exported", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _compiled(text, folder, *flags):
    source, target = folder / "exported.c", folder / "exported.out"
    source.write_text(text, encoding="utf-8")
    warnings = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O1"]
    subprocess.run([COMPILER, *warnings, *flags, str(source), "-lm", "-o", str(target)], check=True)  # noqa: S603
    return target


@pytest.mark.skipif(COMPILER is None, reason="no C compiler on this machine")
def test_no_name_of_a_system_breaks_a_file(tmp_path):
    system = ch.System("x", lagrangian="x'^2/2 - x^4/4", name='end */ of """ a \\ comment')
    model = ch.Model(system, ch.Hamilton(), start=ch.State({"x": 2, "x'": 0}))
    assert _module(ch.code(model, "numpy"), tmp_path).rhs(0.0, [2.0, 1.0]) == pytest.approx([1.0, -8.0])
    assert _module(ch.code(model, "casadi"), tmp_path).rhs(0.0, [2.0, 1.0], []).full().ravel() == pytest.approx([1.0, -8.0])
    assert _compiled(ch.code(model, "c"), tmp_path).exists()
