"""abnormal and wavefront: singular curves of distributions, and the exponential map."""

import numpy as np
import pytest
import sympy

import chetaev as ch


def rows(coordinates, *kinematic, **more):
    return ch.System(coordinates, lagrangian="x'^2/2", kinematic=list(kinematic), **more)


MARTINET = rows("x y z", "z' = y^2*x'/2")


@pytest.mark.parametrize("row", ["z' = (x*y' - y*x')/2", "z' = x*y'", "2*z' + y*x' = x*y'"])
def test_contact_distributions_have_no_abnormal_curve(row):
    found = ch.abnormal(rows("x y z", row))
    assert (found.exists, found.field, found.locus) == (False, None, ())


def test_the_unicycle_has_none():
    assert ch.abnormal(rows("x y theta", "y'*cos(theta) = x'*sin(theta)")).exists is False


def test_martinets_line():
    found = ch.abnormal(MARTINET, {"x": 0.5, "y": 0, "z": 2})
    assert found.exists is True
    assert [e.name for e in found.locus] == ["y"]
    assert dict(found.field) == {"x": 1, "y": 0, "z": 0}
    (motion,) = found.motions
    assert [motion.final[name] for name in "xyz"] == pytest.approx([1.5, 0, 2], abs=1e-12)


def test_no_abnormal_curve_leaves_a_start_off_martinets_surface():
    found = ch.abnormal(MARTINET, {"x": 0, "y": 0.1, "z": 0})
    assert (found.exists, found.motions) == (False, ())


def test_engels_field_annihilates_the_second_brackets():
    """X1 = d/dx, X2 = d/dy + x d/dz + x^2/2 d/dw: [X1, [X1, X2]] = d/dw, [X2, [X1, X2]] = 0, so that X2 is the abnormal field."""
    found = ch.abnormal(rows("x y z w", "z' = x*y'", "w' = x^2*y'/2"))
    x = ch.Coordinate("x")
    assert found.exists is True
    assert dict(found.field) == {"x": 0, "y": 1, "z": x, "w": x**2 / 2}
    assert found.locus == ()


def test_a_factor_of_a_row_is_no_locus():
    assert ch.abnormal(rows("x y z", "y*z' = y*x*y'")).exists is False


def test_a_distribution_of_growth_2_3_5_has_a_family():
    found = ch.abnormal(rows("x y z u v", "z' = x*y'", "u' = x^2*y'/2", "v' = x*y*y'"))
    assert (found.exists, found.field) == (True, None)
    assert "family" in found.reason


def test_integrable_rows_make_every_curve_abnormal():
    found = ch.abnormal(rows("x y z", "x*x' + y*y' + z*z' = 0"))
    assert found.exists is True
    assert "leaf" in found.reason


def test_an_odd_number_of_velocities_has_a_direction():
    """d(omega) for omega = dz - x dw + (w - y) dx leaves out 2 d/dy + d/dw on the distribution."""
    found = ch.abnormal(rows("x y z w", "z' = x*w' - w*x' + y*x'"))
    field = {name: sympy.simplify(e / found.field["w"]) for name, e in found.field.items()}
    assert {name: str(e) for name, e in field.items()} == {"x": "0", "y": "2", "z": "x", "w": "1"}


def test_contact_in_five_dimensions():
    assert ch.abnormal(rows("x y u v z", "z' = x*y' + u*v'")).exists is False


def test_bad_input():
    with pytest.raises(ch.UsageError, match="no value for y z"):
        ch.abnormal(MARTINET, {"x": 0})
    with pytest.raises(ch.UsageError, match="q is not a coordinate"):
        ch.abnormal(MARTINET, {"q": 0})
    with pytest.raises(ch.ModelError, match="drift"):
        ch.abnormal(rows("x y", "y' = x'*y + 1"))
    with pytest.raises(ch.ModelError, match="not affine"):
        ch.abnormal(rows("x y z", "x'^2 + y'^2 = z'^2"))
    with pytest.raises(ch.UsageError, match="system or a model"):
        ch.abnormal("x' = y'")


HEISENBERG = ch.System("x y z", lagrangian="(x'^2 + y'^2)/2", kinematic=["z' = (x*y' - y*x')/2"])


def test_the_wavefront_of_the_heisenberg_group():
    """r = 2 sin(lambda t/2)/lambda, z = (lambda t - sin(lambda t))/(2 lambda^2)."""
    values = np.linspace(-9, 9, 12)
    front = ch.wavefront(HEISENBERG, ch.Vakonomic(), {"x": 0, "y": 0, "z": 0}, t=2, multipliers={"lambda1": values}, directions=7)
    assert front["x"].shape == (7, 12)
    assert np.hypot(front["x"], front["y"]) == pytest.approx(np.tile(np.abs(2 * np.sin(values) / values), (7, 1)), abs=1e-8)
    assert front["z"] == pytest.approx(np.tile((2 * values - np.sin(2 * values)) / (2 * values**2), (7, 1)), abs=1e-8)


def test_the_wavefront_of_a_sphere_in_angles():
    sphere = ch.System("a b", lagrangian="(a'^2 + cos(a)^2*b'^2)/2")
    front = ch.wavefront(sphere, None, {"a": 0, "b": 0}, t=1, directions=9)
    assert np.cos(front["a"]) * np.cos(front["b"]) == pytest.approx(np.full((9, 1), np.cos(1)), abs=1e-8)


def test_bad_wavefronts():
    with pytest.raises(ch.UsageError, match="no value for z"):
        ch.wavefront(HEISENBERG, ch.Vakonomic(), {"x": 0, "y": 0})
    with pytest.raises(ch.UsageError, match="not a length"):
        ch.wavefront(HEISENBERG, ch.Vakonomic(), {"x": 0, "y": 0, "z": 0}, t=-1)
    with pytest.raises(ch.UsageError, match="mu is not a multiplier"):
        ch.wavefront(HEISENBERG, ch.Vakonomic(), {"x": 0, "y": 0, "z": 0}, multipliers={"mu": [1]})
    with pytest.raises(ch.StateError, match="is not positive"):
        ch.wavefront(ch.System("x y", lagrangian="x'^2/2 - y'^2/2"), None, {"x": 0, "y": 0})


def test_a_strictly_abnormal_line_is_among_the_paths():
    """With (1 + y) x'^2 in L the line y = 0 is no normal extremal: y'' = x'^2/2 + lambda*y*x' does not vanish there, whatever lambda is."""
    bent = ch.System("x y z", lagrangian="((1 + y)*x'^2 + y'^2)/2", kinematic=["z' = y^2*x'/2"], name="bent martinet")
    origin = {"x": 0, "y": 0, "z": 0}
    paths = ch.connect(bent, ch.Vakonomic(), origin, {"x": -1, "y": 0, "z": 0}, seeds=3)
    line = paths[0]
    assert (line.kind, line.minimum, line.multipliers, line.conjugate_times) == ("abnormal", None, {}, ())
    assert line.action == pytest.approx(0.5, rel=1e-12)
    assert line.start["x'"] == pytest.approx(-1, rel=1e-11)
    assert line.motion.at(0.5)["x"] == pytest.approx(-0.5, abs=1e-11)
    assert all(path.kind == "normal" for path in paths[1:])
    beside = ch.connect(bent, ch.Vakonomic(), origin, {"x": -1, "y": 0, "z": -0.1}, seeds=3)
    assert beside and all(path.kind == "normal" for path in beside)


def test_the_conjugate_locus_of_the_heisenberg_group_is_its_axis():
    """After a full circle, 2 pi/|lambda|, the end lies on the axis at z = pi/lambda^2, with the sign of lambda."""
    values = np.array([-8.0, 4.0, 6.0])
    front = ch.wavefront(HEISENBERG, ch.Vakonomic(), {"x": 0, "y": 0, "z": 0}, t=1, multipliers={"lambda1": values}, directions=3)
    found = front.conjugate(2)
    assert found["t"] == pytest.approx(np.tile(2 * np.pi / np.abs(values), (3, 1)), rel=1e-8)
    assert np.hypot(found["x"], found["y"]) == pytest.approx(np.zeros((3, 3)), abs=1e-8)
    assert found["z"] == pytest.approx(np.tile(np.pi / values**2 * np.sign(values), (3, 1)), rel=1e-7)


def test_conjugate_and_cut_points_of_an_ellipsoid():
    """Gauss' curvature on the equator is 1/c^2: the first conjugate point there is at the length pi c. Mirror images meet on the equator,
    and not before (Jacobi's cut locus, a part of the equator)."""
    text = "((sin(a)^2 + c^2*cos(a)^2)*a'^2 + cos(a)^2*b'^2)/2"
    ellipsoid = ch.System("a b", "c", lagrangian=text, name="ellipsoid")

    def front(t, directions):
        return ch.wavefront(ellipsoid, None, {"a": 0, "b": 0}, t=t, parameters={"c": 0.8}, directions=directions)

    found = front(2.5, 9).conjugate(4)
    assert found["t"][[2, 6], 0] == pytest.approx([0.8 * np.pi] * 2, abs=1e-8)  # the second and the sixth run along the equator
    assert found["t"][[1, 3, 5, 7], 0] == pytest.approx([found["t"][1, 0]] * 4, abs=1e-8)
    assert len(front(2.45, 81).meetings()["a"]) == 0
    late = front(2.8, 81).meetings()
    assert late["a"] == pytest.approx([0, 0], abs=1e-9) and late["b"][0] == pytest.approx(-late["b"][1], abs=1e-9)
    assert 0.8 * np.pi < abs(late["b"][0]) < np.pi
    with pytest.raises(ch.UsageError, match="not a curve"):
        ch.wavefront(HEISENBERG, ch.Vakonomic(), {"x": 0, "y": 0, "z": 0}, multipliers={"lambda1": [1]}, directions=3).meetings()
    with pytest.raises(ch.UsageError, match="group coordinates"):
        ch.wavefront(ch.System({"A": "SO3 body"}, lagrangian="(A1'^2 + A2'^2 + A3'^2)/2"), None, {"A": [0, 0, 0]})
