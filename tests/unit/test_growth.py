"""Growth vectors: F. Jean, ESAIM COCV 1 (1996) 241-266 for trailers; J.-P. Laumond (ed.), Robot Motion Planning, 1998."""

import math

import pytest

import chetaev as ch

IDLE = "0"
"""Growth concerns kinematic rows only."""
MARTINET = ch.System("x y z", lagrangian=IDLE, kinematic=["z' = y^2/2*x'"])
UNICYCLE = ch.System("x y theta", lagrangian=IDLE, kinematic=["y'*cos(theta) = x'*sin(theta)"])
CAR = ch.System(
    "x y theta phi",
    "l",
    lagrangian=IDLE,
    kinematic=["y'*cos(theta) = x'*sin(theta)", "l*theta'*cos(phi) = (x'*cos(theta) + y'*sin(theta))*sin(phi)"],
)
BALL = ch.System({"A": "SO3 spatial", "a1": "line", "a2": "line"}, lagrangian=IDLE, kinematic=["a1' = A2'", "a2' = -A1'", "A3' = 0"])
ENGEL = ch.System("x y z w", lagrangian=IDLE, kinematic=["z' = y*x'", "w' = z*x'"])
HEISENBERG = ch.System("x y z", lagrangian=IDLE, kinematic=["z' = (x*y' - y*x')/2"])
CARTAN = ch.System("x y z u v", lagrangian=IDLE, kinematic=["z' = x*y'", "u' = z*x'", "v' = z*y'"])
GRUSHIN = ch.System("x y", lagrangian=IDLE, inputs={"u": None, "v": None}, kinematic=["x' = u", "y' = x*v"])


def trailers(n):
    """A car, th0, that pulls n trailers, th1 ... thn; x and y are the place of the last one."""
    speed = ["*".join(["v", *[f"cos(th{j} - th{j + 1})" for j in range(k)]]) for k in range(n + 1)]
    rows = [f"x' = {speed[n]}*cos(th{n})", f"y' = {speed[n]}*sin(th{n})", "th0' = w"]
    rows += [f"th{k + 1}' = {speed[k]}*sin(th{k} - th{k + 1})" for k in range(n)]
    return ch.System(["x", "y", *[f"th{k}" for k in range(n + 1)]], lagrangian=IDLE, inputs={"v": None, "w": None}, kinematic=rows)


CASES = {
    "unicycle": (UNICYCLE, None, (2, 3)),
    "unicycle at zero": (UNICYCLE, {"theta": 0}, (2, 3)),
    "car": (CAR, None, (2, 3, 4)),
    "car with turned wheels": (CAR, {"phi": "pi/2", "theta": 0}, (2, 3, 4)),
    "plate and ball": (BALL, None, (2, 3, 5)),
    "Engel": (ENGEL, None, (2, 3, 4)),
    "Heisenberg": (HEISENBERG, {"x": 0, "y": 0, "z": 0}, (2, 3)),
    "Cartan": (CARTAN, None, (2, 3, 5)),
    "Martinet": (MARTINET, None, (2, 3)),
    "Martinet off its surface": (MARTINET, {"y": 1e-9}, (2, 3)),
    "Martinet on its surface": (MARTINET, {"x": 0.3, "y": 0, "z": 1}, (2, 2, 3)),
    "Grushin": (GRUSHIN, None, (2,)),
    "Grushin on its line": (GRUSHIN, {"x": 0, "y": 0}, (1, 2)),
}


@pytest.mark.parametrize(("system", "at", "vector"), CASES.values(), ids=CASES)
def test_growth_vectors_of_the_literature(system, at, vector):
    found = ch.control.growth(system, at)
    assert (found.vector, found.degree, found.spans, found.controllable) == (vector, len(vector), True, True)


@pytest.mark.parametrize("n", range(1, 6))
def test_trailers_at_a_generic_place_grow_by_one(n):
    assert ch.control.growth(trailers(n)).vector == tuple(range(2, n + 4))


@pytest.mark.parametrize(("n", "angles", "degree"), [(2, "pi/2 0 0.3", 5), (3, "pi/2 0 -pi/2 0.2", 8), (3, "0 pi/2 0 0.2", 8)])
def test_folded_trailers_need_as_many_steps_as_fibonacci_says(n, angles, degree):
    at = {f"th{k}": angle for k, angle in enumerate(angles.split())}
    assert ch.control.growth(trailers(n), at).degree == degree


def test_a_float_may_be_a_right_angle():
    assert ch.control.growth(trailers(2), {"th0": math.pi / 2, "th1": 0, "th2": 0.3}).vector == (2, 3, 4, 4, 5)
    assert ch.control.growth(trailers(2), {"th0": 1.570796, "th1": 0, "th2": 0.3}).vector == (2, 3, 4, 5)


def test_integrable_rows_reach_fewer_directions():
    rolling = ch.System("x phi psi", "r", lagrangian=IDLE, kinematic=["x' = r*phi'"])
    found = ch.control.growth(rolling)
    assert (found.vector, found.degree, found.spans, found.controllable) == ((2,), None, False, False)


def test_rows_on_positions_take_directions_away():
    circle = ch.System("x y z", lagrangian=IDLE, kinematic=["x^2 + y^2 = 1"])
    found = ch.control.growth(circle)
    assert found.vector == (2,) and found.spans is True


def test_the_surface_of_martinet_is_named():
    assert "other growth possible where y = 0" in str(ch.control.growth(MARTINET))


DRIFT = {
    "chain of integrators": ("x y z", ["x' = y", "y' = u", "z' = x"], (1, 2, 3), True),
    "even power": ("x y", ["x' = y^2", "y' = u"], (1, 1, 2), None),
    "odd power": ("x y", ["x' = y^3", "y' = u"], (1, 1, 1, 2), True),
}


@pytest.mark.parametrize(("names", "rows", "vector", "controllable"), DRIFT.values(), ids=DRIFT)
def test_drift_at_rest(names, rows, vector, controllable):
    """Sussmann's test: x' = y^2 only moves to the right, and nothing but the test's failure is known to the library."""
    system = ch.System(names, lagrangian=IDLE, inputs={"u": None}, kinematic=rows)
    found = ch.control.growth(system, dict.fromkeys(names.split(), 0))
    assert (found.vector, found.controllable, found.drift) == (vector, controllable, True)


def test_parameters_may_make_a_place_special():
    weighted = ch.System("x y z", "c", lagrangian=IDLE, kinematic=["z' = (y^2 + c*y)*x'"])
    assert ch.control.growth(weighted, {"y": 0}).vector == (2, 3)
    assert ch.control.growth(weighted, {"y": 0}, {"c": 0}).vector == (2, 2, 3)


def test_refusals():
    with pytest.raises(ch.ModelError, match="not affine"):
        ch.control.growth(ch.System("x y", lagrangian=IDLE, kinematic=["x'^2 = y'"]))
    with pytest.raises(ch.ModelError, match="depends on t"):
        ch.control.growth(ch.System("x y", lagrangian=IDLE, kinematic=["x' = t*y'"]))
    with pytest.raises(ch.StateError, match="depend on each other"):
        ch.control.growth(ch.System("x y z", lagrangian=IDLE, kinematic=["x*z' = y*x'"]), {"x": 0, "y": 0})
    with pytest.raises(ch.ModelError, match="q is not a coordinate"):
        ch.control.growth(MARTINET, {"q": 1})
    with pytest.raises(ch.UsageError, match="growth takes a System"):
        ch.control.growth("x")
