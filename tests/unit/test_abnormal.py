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
    with pytest.raises(ch.UsageError, match="no length"):
        ch.wavefront(HEISENBERG, ch.Vakonomic(), {"x": 0, "y": 0, "z": 0}, t=-1)
    with pytest.raises(ch.UsageError, match="mu is no multiplier"):
        ch.wavefront(HEISENBERG, ch.Vakonomic(), {"x": 0, "y": 0, "z": 0}, multipliers={"mu": [1]})
    with pytest.raises(ch.StateError, match="does not measure"):
        ch.wavefront(ch.System("x y", lagrangian="x'^2/2 - y'^2/2"), None, {"x": 0, "y": 0})
