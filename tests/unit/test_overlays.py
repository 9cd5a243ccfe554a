"""Several motions in one picture, and pictures inside figures of the user."""

import numpy as np
import pytest
import xarray
from matplotlib.figure import Figure

import chetaev as ch

WELL = ch.derive(ch.System("x y", "k", lagrangian="x'^2/2 + y'^2/2 - k*x^2/2 - 2*y^2", name="well"))
START = {"x": 1, "y": 0, "x'": 0, "y'": 1}


@pytest.fixture(scope="module")
def motions():
    return {f"k = {k}": ch.simulate(WELL, START, (0, 3), parameters={"k": k}) for k in (1, 2)}


def curves(ax):
    return [line for line in ax.get_lines() if not line.get_label().startswith("_") and len(line.get_xdata()) > 2]


def test_series_draws_several_motions_over_each_other(motions):
    picture = ch.plot.series(motions, ["x", ["x'", "y'"]])
    first, second = picture.axes
    assert [line.get_label() for line in curves(first)] == ["k = 1", "k = 2"] and len(curves(second)) == 4
    assert len({line.get_color() for line in curves(second)}) == 2 and len({line.get_linestyle() for line in curves(second)}) == 2
    for line, k in zip(curves(first), (1, 2), strict=True):
        assert np.allclose(line.get_ydata(), np.cos(np.sqrt(k) * line.get_xdata()), atol=1e-7)  # each curve is its own motion
    assert [t.get_text() for t in picture.legends[0].get_texts()] == ["k = 1", "k = 2"]


def test_lists_comparisons_and_ensembles_are_motions_too(motions):
    listed = list(motions.values())
    assert [line.get_label() for line in curves(ch.plot.series(listed, "x").axes[0])] == ["0", "1"]
    ensemble = ch.simulate_many(WELL, START | {"x": [1, 2, 3]}, np.linspace(0, 1, 5), parameters={"k": 1})
    drawn = curves(ch.plot.series(ensemble, "x").axes[0])
    assert [line.get_label() for line in drawn] == ["member 0", "member 1", "member 2"]
    assert [line.get_ydata()[0] for line in drawn] == [1, 2, 3]
    for draw in (ch.plot.phase, ch.plot.path, ch.plot.compare, ch.plot.balance):
        assert len(draw(ensemble).axes[0].get_lines()) >= 3 and len(draw(listed).axes[0].get_lines()) >= 2
    compared = ch.compare(ch.gallery("disk"))
    assert [line.get_label() for line in curves(ch.plot.series(compared, "x").axes[0])] == ["DAlembert()", "Chetaev()", "Vakonomic()"]


def test_every_picture_can_be_drawn_into_given_axes(motions):
    one = motions["k = 1"]
    sweep = ch.eigenvalue_sweep(WELL, {"x": 0, "y": 0, "x'": 0, "y'": 0}, "k", [1, 2])
    for count, draw in (
        (1, lambda ax: ch.plot.series(one, "x", ax=ax)),
        (2, lambda ax: ch.plot.series(motions, ["x", "y"], ax=ax)),
        (1, lambda ax: ch.plot.phase(one, ax=ax)),
        (1, lambda ax: ch.plot.path(motions, ax=ax)),
        (2, lambda ax: ch.plot.balance(one, ax=ax)),
        (1, lambda ax: ch.plot.drift(one, ax=ax)),
        (3, lambda ax: ch.plot.compare(motions, ax=ax)),
        (2, lambda ax: ch.plot.eigenvalues(sweep, [1, 2], "k", ax=ax)),
        (1, lambda ax: ch.plot.eigenvalues(sweep, ax=ax)),
    ):
        figure = Figure()
        axes = figure.subplots(count)
        assert draw(axes) is figure and len(figure.axes) == count and all(ax.lines for ax in figure.axes)
        with pytest.raises(ch.UsageError, match=f"ax is {count + 1} axes, but {count} panel"):
            draw(Figure().subplots(count + 1))
    with pytest.raises(ch.UsageError, match="ax is str"):
        ch.plot.phase(one, ax="here")


@pytest.mark.parametrize("wrong", ["x", 3, [], {}, [1, 2], None])
def test_what_is_no_motion_is_refused(wrong):
    for draw in (ch.plot.series, ch.plot.phase, ch.plot.path, ch.plot.compare, ch.plot.balance, ch.plot.drift):
        with pytest.raises(ch.UsageError, match="motions by label are needed"):
            draw(wrong)


def test_drift_draws_several_motions_beside_each_other():
    """One mark for each constraint of each motion, at the residual that the motion states, in the colour of its motion."""
    skate = ch.gallery("disk")
    motions = {f"tolerance {size:g}": ch.simulate(skate, tolerance=size) for size in (1e-9, 1e-5)}
    compared = ch.compare(skate)
    ensemble = ch.simulate_many(WELL, START | {"x": [1, 2, 3]}, np.linspace(0, 1, 5), parameters={"k": 1})
    members = [ensemble[k] for k in range(3)]
    for given, shown in (
        (motions, list(motions.values())),
        (list(motions.values()), list(motions.values())),
        (compared, list(compared.motions.values())),
        (ensemble, members),
    ):
        [axes] = ch.plot.drift(given).axes
        marks = [line for line in axes.get_lines() if line.get_marker() == "o" and len(line.get_xdata()) == 1]
        wanted = sorted(v for one in shown for v in one.drift.values() if v > 1e-19)
        assert sorted(float(mark.get_xdata()[0]) for mark in marks if mark.get_markerfacecolor() != "none") == pytest.approx(wanted)
        assert len({mark.get_color() for mark in marks}) == len(shown)
        assert len({float(mark.get_ydata()[0]) for mark in marks}) == len(marks)  # none hides another
    legend = ch.plot.drift(motions).legends[0]
    assert [text.get_text() for text in legend.get_texts()] == list(motions)


def test_residuals_of_what_is_no_fit_are_refused(motions):
    with pytest.raises(ch.UsageError, match="a Trajectory has no residuals"):
        ch.plot.residuals(motions["k = 1"])


def test_results_are_drawn_into_given_axes():
    well = ch.derive(ch.System("x", lagrangian="x'^2/2 + x^2/2 - x^4/4", dissipation="x'^2/2"))
    basin = ch.basin(well, {"x": 1, "x'": 0}, {"x": (-1.5, 1.5), "x'": (-1, 1)}, grid=5, halvings=0, checks=0)
    hoop = ch.derive(ch.System("th", "w", lagrangian="th'^2/2 + w^2*sin(th)^2/2 + cos(th)"))
    family = ch.orbits.continuation(hoop, {"th": 0}, along="w", until=(0, 2), parameters={"w": 0.5})
    ensemble = ch.simulate_many(WELL, START | {"x": [1, 2, 3]}, np.linspace(0, 1, 5), parameters={"k": 1})
    t = np.linspace(0, 3, 20)
    model = ch.Model(ch.System("x", "k", lagrangian="x'^2/2 - k*x^2/2"), None, {"k": 1.2}, {"x": 1, "x'": 0})
    fit = ch.fit(model, {"t": t, "x": np.cos(t)}, unknown={"k": (0.5, 2)})
    cells = xarray.Dataset({"top": (("a", "b"), np.outer([0.0, 1, 2], [1.0, 2]))}, coords={"a": [0.0, 1, 2], "b": [1.0, 2]})
    for count, extra, draw in (
        (1, 0, lambda ax: ch.plot.fan(ensemble, "x", ax=ax)),
        (2, 0, lambda ax: ch.plot.fan(ensemble, ["x", "y"], ax=ax)),
        (1, 0, lambda ax: ch.plot.family(family, ax=ax)),
        (1, 0, lambda ax: ch.plot.basin(basin, ax=ax)),
        (1, 1, lambda ax: ch.plot.chart(cells, ax=ax)),  # with a colour bar
        (1, 0, lambda ax: ch.plot.chart(cells.isel(b=0), ax=ax)),
        (2, 0, lambda ax: ch.plot.residuals(fit, ax=ax)),
    ):
        figure = Figure()
        given = figure.subplots(count)
        alone = draw(None)
        assert draw(given) is figure and len(figure.axes) == count + extra
        for one, other in zip(figure.axes, alone.axes, strict=True):
            assert [len(line.get_xdata()) for line in one.get_lines()] == [len(line.get_xdata()) for line in other.get_lines()]
            assert len(one.collections) == len(other.collections) and one.get_xlabel() == other.get_xlabel()
        with pytest.raises(ch.UsageError, match=f"ax is {count + 1} axes, but {count} panel"):
            draw(Figure().subplots(count + 1))


@pytest.mark.parametrize("size", [(2.5, 2), (4, 9), (9, 9)])
def test_a_tree_fits_into_given_axes(size):
    found = ch.analyze(ch.gallery("cawley"))
    figure = Figure(figsize=size)
    axes = figure.subplots()
    assert ch.plot.tree(found, ax=axes) is figure
    figure.canvas.draw()
    room = axes.get_window_extent()
    texts = [text for text in axes.texts if text.get_text()]
    assert sorted(text.get_text() for text in texts) == sorted(t.get_text() for t in ch.plot.tree(found, title="").texts if t.get_text())
    for box in (*(patch.get_window_extent() for patch in axes.artists or axes.patches), *(text.get_window_extent() for text in texts)):
        assert room.x0 - 1 <= box.x0 < box.x1 <= room.x1 + 1 and room.y0 - 1 <= box.y0 < box.y1 <= room.y1 + 1
    with pytest.raises(ch.UsageError, match="ax is 2 axes, but 1 panel"):
        ch.plot.tree(found, ax=Figure().subplots(2))
