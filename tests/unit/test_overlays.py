"""Several motions in one picture, and pictures inside figures of the user."""

import numpy as np
import pytest
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
    for draw in (ch.plot.series, ch.plot.phase, ch.plot.path, ch.plot.compare, ch.plot.balance):
        with pytest.raises(ch.UsageError, match="motions by label are needed"):
            draw(wrong)
    with pytest.raises(ch.UsageError, match="drift draws a single motion"):
        ch.plot.drift(wrong)
