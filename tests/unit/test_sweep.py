"""Sweeps: what is varied, what is measured, and that every value is the one of a single motion."""

import multiprocessing
from dataclasses import replace

import numpy as np
import pytest

import chetaev as ch
from sweeping import PENDULUM


def test_a_grid_of_parameters_and_starts_gives_the_values_of_single_motions(tmp_path):
    over = {"c": ch.grid(0, 0.4, 3), "th'": [-0.5, 0.3, 1.2, 2.5]}
    measure = {"end": "th' + c", "rate": "th''", "hits": ch.count("th"), "rising": ch.count("th", 1), "time": ch.On("th - 2")}
    found = ch.sweep(PENDULUM, over, measure, to=tmp_path / "chart.zarr", chunk=5)
    assert found.shape == (3, 4) and found.dimensions == ("c", "th'") and found.complete
    for i, c in enumerate(over["c"]):
        for j, rate in enumerate(over["th'"]):
            motion = ch.simulate(PENDULUM, {"th": 0.4, "th'": rate}, parameters={"c": c}, events=["th", "th - 2"])
            roots = [event for event in motion.events if event.text == "th"]
            far = [event.t for event in motion.events if event.text == "th - 2"]
            assert found["end"][i, j] == motion.final["th' + c"]
            assert found["rate"][i, j] == motion.final["th''"]
            assert found["hits"][i, j] == len(roots)
            assert found["rising"][i, j] == sum(event.state["th'"] > 0 for event in roots)
            assert found["time"][i, j] == far[0] if far else np.isnan(found["time"][i, j])
    assert np.isfinite(found["time"]).any() and np.isnan(found["time"]).any()
    assert (found["rising"] != found["hits"]).any()


def test_a_data_set_has_the_names_as_dimensions_and_the_measures_as_variables(tmp_path):
    ch.sweep(PENDULUM, {"g": [1, 2, 3], "th'": [0, 1]}, {"end": "th"}, to=tmp_path / "chart.zarr")
    data = ch.open_sweep(tmp_path / "chart.zarr").to_xarray()
    assert dict(data.sizes) == {"g": 3, "th'": 2}
    assert set(data.data_vars) == {"end", "outcome"}
    assert data.outcome.values.tolist() == [["finished"] * 2] * 3
    assert data["g"].values.tolist() == [1, 2, 3]


def test_xarray_reads_the_store_itself(tmp_path):
    import xarray

    found = ch.sweep(PENDULUM, {"g": [1, 2, 3]}, {"end": "th"}, to=tmp_path / "chart.zarr")
    with xarray.open_zarr(tmp_path / "chart.zarr", consolidated=False) as data:
        assert data["end"].values.tolist() == found["end"].tolist()
        assert data["g"].values.tolist() == [1, 2, 3]
        assert "th'^2/2 + g*cos(th)" in data.attrs["chetaev_sweep"]


def test_a_member_that_does_not_finish_has_nan_and_its_outcome(tmp_path):
    falling = ch.Model(ch.System("x", "a", lagrangian="x'^2/2 + a*log(x)"), ch.Hamilton(), {"a": -1}, {"x": 1, "x'": 0}, t=(0, 2))
    found = ch.sweep(falling, {"a": [1, -4]}, {"end": "x'", "hits": ch.count("x - 0.5")}, to=tmp_path / "chart.zarr")
    assert found["outcome"][0] == "finished" and found["outcome"][1] == ch.simulate(falling, parameters={"a": -4}).outcome != "finished"
    assert np.isfinite(found["end"][0]) and np.isnan(found["end"][1]) and np.isnan(found["hits"][1])


def test_a_start_without_a_motion_is_an_outcome_too(tmp_path):
    circle = ch.Model(ch.System("x y", lagrangian="(x'^2 + y'^2)/2", kinematic=["x^2 + y^2 = 1"]), ch.DAlembert(), {}, {"x": 0, "x'": 1})
    found = ch.sweep(circle, [{"x": 0, "y": 1}, {"x": 2, "y": 1}], {"end": "x"}, to=tmp_path / "circle.zarr")
    assert found["outcome"].tolist() == ["finished", "drift_exceeded"]
    assert np.isnan(found["end"]).tolist() == [False, True]


@pytest.mark.parametrize(
    ("lagrangian", "outcomes"),
    [("x'^2/2", ["finished", "finished", "left_domain"]), ("x'^2/2 - k*x^2/2", ["not_certified", "not_certified", "left_domain"])],
)
def test_starts_near_the_largest_number(lagrangian, outcomes, tmp_path):
    """A free body that rests at 1e308 stays there, damping needs no place, and x = v t has no value. Where the energy is 0 times infinity,
    nothing certifies the motion.
    """
    system = ch.System("x", "k c", lagrangian=lagrangian, forces={"x": "-c*x'"}, name="body")
    model = ch.Model(system, ch.Hamilton(), {"k": 0, "c": 0}, {"x": 0, "x'": 0}, t=(0, 2))
    starts = {"x": [1e308, 1e308, 0.0], "x'": [0.0, 1.0, 1e308], "c": [0.0, 1.0, 0.0]}
    points = [dict(zip(starts, values, strict=True)) for values in zip(*starts.values(), strict=True)]
    found = ch.sweep(model, points, {"end": "x", "v": "x'"}, to=tmp_path / "a.zarr")
    c = starts.pop("c")
    many = ch.simulate_many(ch.derive(model), starts, (0, 2), parameters={"k": 0, "c": c})
    assert found["outcome"].tolist() == many.outcome.tolist() == outcomes
    np.testing.assert_array_equal(many.final["x"][:2], 1e308)
    np.testing.assert_allclose(many.final["x'"][:2], [0, np.exp(-2)], atol=1e-8)
    assert np.isfinite(found["end"]).tolist() == np.isfinite(found["v"]).tolist() == [word == "finished" for word in outcomes]


def test_lists_and_samples_have_one_dimension(tmp_path):
    points = [{"c": 0, "th'": 1}, {"th'": "pi/3", "c": 0.2}]
    found = ch.sweep(PENDULUM, points, {"end": "th"}, to=tmp_path / "list.zarr")
    motion = ch.simulate(PENDULUM, {"th": 0.4, "th'": np.pi / 3}, parameters={"c": 0.2})
    assert found.dimensions == ("point",) and found["end"][1] == motion.final["th"]
    for kind in ("sobol", "latin"):
        sample = ch.sample({"c": (0, 1), "th'": ("-pi", 3)}, 16, kind=kind)
        found = ch.sweep(PENDULUM, sample, {"end": "th"}, to=tmp_path / f"{kind}.zarr", chunk=5)
        assert found.shape == (16,) and found.dimensions == ("sample",)
        assert len({int(16 * v) for v in found["c"]}) == 16  # a value in every sixteenth
        motion = ch.simulate(PENDULUM, {"th": 0.4, "th'": found["th'"][9]}, parameters={"c": found["c"][9]})
        assert found["end"][9] == motion.final["th"]
        assert found.to_xarray()["c"].dims == ("sample",)


def test_the_largest_exponent_of_a_saddle_is_its_rate(tmp_path):
    saddle = ch.Model(ch.System("x y", "k", lagrangian="(x'^2 + y'^2)/2 + k*x^2/2 - y^2/2"), ch.Hamilton(), {"k": 1}, t=(0, 60))
    start = ch.State({"x": 0, "y": 0.5, "x'": 0, "y'": 0.2})
    found = ch.sweep(replace(saddle, start=start), {"k": [0.25, 1, 4, 100]}, {"top": ch.largest_lyapunov()}, to=tmp_path / "a.zarr")
    off = np.abs(found["top"] - np.sqrt(found["k"]))
    assert off[2:].max() < 1e-8
    assert off[1] < 3e-3 and off[0] < 4 / 60  # slower growth has not quite left the first direction after a tenth of the time
    one = ch.orbits.lyapunov(ch.derive(saddle), start, T=60, parameters={"k": 4}, number=1)
    assert abs(found["top"][2] - one.exponents[0]) < 4 / 60


def test_exponents_on_constraints_and_groups(tmp_path):
    wire = ch.System("x y", "k", lagrangian="(x'^2 + 3*y'^2)/2 + k*x^2/2", kinematic=["y' = 2*x'"], name="wire")
    model = ch.Model(wire, ch.DAlembert(), {"k": 1}, {"x": 0, "y": 0, "x'": 0}, t=(0, 40))  # 13 x'' = k x
    found = ch.sweep(model, {"k": [13, 52]}, {"top": ch.largest_lyapunov(20)}, to=tmp_path / "wire.zarr")
    assert found["outcome"].tolist() == ["finished"] * 2 and np.allclose(found["top"], [1, 2], rtol=0, atol=[2e-3, 1e-5])
    suslov = replace(ch.gallery("suslov"), t=(0, 10))
    found = ch.sweep(suslov, {"I2": [1.5, 1.7]}, {"top": ch.largest_lyapunov(5)}, to=tmp_path / "suslov.zarr")
    assert np.isfinite(found["top"]).all()


def test_exponents_do_not_depend_on_units_or_on_other_members(tmp_path):
    pendulum = ch.System("th", "g l", lagrangian="(l*th')^2/2 + g*l*cos(th)")
    values = []
    for k, unit in enumerate((1.0, 1e9)):
        model = ch.Model(pendulum, ch.Hamilton(), {"g": 9.81 / unit**2, "l": 1}, {"th": 3.1, "th'": 0}, t=(0, 20 * unit))
        found = ch.sweep(model, {"th": [3.1, 0.3]}, {"top": ch.largest_lyapunov()}, to=tmp_path / f"{k}.zarr")
        alone = ch.sweep(model, {"th": [0.3]}, {"top": ch.largest_lyapunov()}, to=tmp_path / f"alone{k}.zarr")
        assert alone["top"][0] == found["top"][1]
        values.append(found["top"] * unit)
    assert np.allclose(*values, rtol=1e-5)


def test_exponents_are_refused_where_the_lift_does_not_hold(tmp_path):
    for model, why in (
        (replace(PENDULUM, events=(ch.On("th", reset={"th'": "-th'"}),)), "events"),
        (ch.Model(ch.System("x", lagrangian="x'^2/2", forces={"x": "-sign(x')"}), ch.DAlembert(), {}, {"x": 0, "x'": 1}), "corners"),
    ):
        with pytest.raises(ch.UsageError, match="largest_lyapunov is not available") as error:
            ch.sweep(model, {model.system.coordinates[0].name: [1, 2]}, {"top": ch.largest_lyapunov()}, to=tmp_path / "a.zarr")
        assert why in str(error.value).lower()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"over": {}}, "nothing is varied"),
        ({"over": {"q": [1]}}, "unknown name"),
        ({"over": {"g": 3}}, "not a list of values"),
        ({"over": {"g": [1, float("nan")]}}, "finite"),
        ({"over": [{"g": 1}, {"c": 1}]}, "other names"),
        ({"measure": {}}, "nothing is measured"),
        ({"measure": {"end": "lyapunov"}}, "unknown name"),
        ({"measure": {"outcome": "th"}}, "cannot name a measure"),
        ({"measure": {"g": "th"}}, "cannot name a measure"),
        ({"measure": {"a/b": "th"}}, "cannot name an array"),
        ({"measure": {"a\nb": "th"}}, "cannot name an array"),
        ({"over": {"g": ch.grid(1, 2, 1_000_000), "c": ch.grid(0, 1, 1_000_000)}}, "1000000000000 motions with 1 measure take 32000.0 GB"),
        ({"measure": {"end": 3}}, "not a measure"),
        ({"measure": {"end": ch.On("th", terminal=True)}}, "only observes motions"),
        ({"chunk": 0}, "not a number of members"),
        ({"cluster": 3}, "not known"),
        ({"workers": 2}, "local cluster"),
        ({"to": "missing/chart.zarr"}, "does not exist"),
        ({"model": ch.derive(PENDULUM)}, "takes a model"),
    ],
)
def test_wrong_arguments_are_said_before_anything_is_written(change, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = {"model": PENDULUM, "over": {"g": [1, 2]}, "measure": {"end": "th"}, "to": "chart.zarr"} | change
    with pytest.raises(ch.ChetaevError, match=words):
        ch.sweep(**given)
    assert list(tmp_path.iterdir()) == []


def test_a_program_that_is_read_again_by_its_workers_is_told_so(tmp_path, monkeypatch):
    """New processes read the file of the program: without a guard each would begin the sweep again."""
    monkeypatch.setattr(multiprocessing.current_process(), "_inheriting", True, raising=False)
    with pytest.raises(ch.ChetaevError, match=r'did not start[\s\S]*if __name__ == "__main__"'):
        ch.sweep(PENDULUM, {"g": [1, 2]}, {"end": "th"}, to=tmp_path / "a.zarr", cluster="local", workers=1)


def test_grids_of_any_length_are_no_grids():
    with pytest.raises(ch.UsageError, match="too many"):
        ch.grid(0, 1, 10**10)


def test_terminal_events_of_the_model_end_motions_and_can_be_measured(tmp_path):
    model = replace(PENDULUM, events=(ch.On("th", terminal=True),), parameters={"g": 2, "c": 0})
    found = ch.sweep(model, {"th'": [0, 1]}, {"time": ch.On("th"), "end": "th"}, to=tmp_path / "a.zarr")
    assert found["outcome"].tolist() == ["event", "event"]
    assert np.abs(found["end"]).max() < 1e-9
    assert found["time"].tolist() == [ch.simulate(model, {"th": 0.4, "th'": rate}).end[0] for rate in (0, 1)]


def test_charts_of_one_and_two_parameters(tmp_path):
    found = ch.sweep(PENDULUM, {"g": ch.grid(1, 8, 4), "c": ch.grid(0.1, 10, 3, scale="log")}, {"end": "th"}, to=tmp_path / "a.zarr")
    picture = ch.plot.chart(found)
    mesh = picture.axes[0].collections[0]
    assert np.asarray(mesh.get_array()).reshape(3, 4).tolist() == found["end"].T.tolist()
    assert picture.axes[0].get_yscale() == "log" and picture.axes[0].get_xscale() == "linear"
    assert mesh.get_clim()[0] == -mesh.get_clim()[1] and mesh.get_cmap()(0.5)[:3] == pytest.approx(
        (0.97, 0.97, 0.97), abs=0.02
    )  # zero is white
    assert picture.get_suptitle() == "pendulum"
    turned = ch.plot.chart(found.to_xarray().isel(g=[2, 0, 3, 1]), "end").axes[0].collections[0]  # values in any order
    assert np.asarray(turned.get_array()).tolist() == np.asarray(mesh.get_array()).tolist()
    said = picture.axes[0].format_coord(7.9, 0.11)
    assert said == f"g = 8, c = 0.1: end = {found['end'][3, 0]:.6g}"
    regimes = ch.plot.chart(found, "end", regimes={"left": 0, "right": np.inf})
    assert np.asarray(regimes.axes[0].collections[0].get_array()).reshape(3, 4).tolist() == (found["end"].T > 0).astype(float).tolist()
    line = ch.plot.chart(found.to_xarray().isel(c=0), "end").axes[0].lines[0]
    assert line.get_ydata().tolist() == found["end"][:, 0].tolist()
    assert "finished" in [text.get_text() for text in ch.plot.chart(found, "outcome").axes[0].get_legend().get_texts()]
    assert "data:image/png" in found._repr_html_()
    with pytest.raises(ch.UsageError, match="is not measured"):
        ch.plot.chart(found, "top")


def test_fans_and_curves_of_an_ensemble():
    times = np.linspace(0, 5, 26)
    spring = ch.derive(ch.System("x", lagrangian="x'^2/2 - x^2/2"))
    ensemble = ch.simulate_many(spring, {"x": np.linspace(1, 3, 5), "x'": 0}, times)
    fan = ch.plot.fan(ensemble, "x", quantiles=(0, 0.5, 1)).axes[0]
    assert np.allclose(fan.lines[0].get_ydata(), 2 * np.cos(times), atol=1e-6)
    edges = fan.collections[0].get_paths()[0].vertices[:, 1]
    assert np.isclose(edges.max(), 3) and np.isclose(edges.min(), 3 * np.cos(times).min(), atol=1e-6)
    drawn = ch.plot.series(ensemble, ["x", "x'"])
    assert len(drawn.axes) == 2 and len(drawn.axes[0].lines) == 5
    assert np.allclose(drawn.axes[1].lines[4].get_ydata(), -3 * np.sin(times), atol=1e-6)
    with pytest.raises(ch.UsageError, match="only the ends of its motions"):
        ch.plot.fan(ch.simulate_many(spring, {"x": [1, 2], "x'": 0}, (0, 1)))
    shown = ensemble._repr_html_()
    assert "greatest" in shown and f"{3 * np.cos(5):.6g}" in shown
