"""Figures: labels, data equal to the motion's values, marks, and nothing of pyplot's global state."""

import io
import itertools
import re
import subprocess
import sys

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

import chetaev as ch
from chetaev.plot.curves import smooth
from chetaev.plot.style import ALERT, Picture, power_of_ten, styled, wrapped

BALL = ch.System("y", "g", lagrangian="y'^2/2 - g*y", name="bouncing ball")


@pytest.fixture(scope="module")
def disk():
    return ch.simulate(ch.gallery("disk"))


@pytest.fixture(scope="module")
def tyre():
    return ch.simulate(ch.gallery("rocard"))


@pytest.fixture(scope="module")
def bounces():
    floor = ch.On("y", direction=-1, reset={"y'": "-0.8*y'"})
    return ch.simulate(ch.derive(BALL), {"y": 1, "y'": 0}, (0, 2), parameters={"g": 9.81}, events=[floor])


def data(line):
    return np.asarray(line.get_xdata(), dtype=float), np.asarray(line.get_ydata(), dtype=float)


def curves(ax):
    """Lines that are curves, not marks."""
    return [line for line in ax.get_lines() if len(line.get_xdata()) > 2]


def legend_words(figure):
    boxes = [ax.get_legend() for ax in figure.axes] + list(figure.legends)
    return [[text.get_text() for text in box.get_texts()] for box in boxes if box is not None]


def test_every_figure_names_its_axes_and_has_no_empty_legend(tyre, bounces):
    disks = ch.compare(ch.gallery("disk"))
    pictures = [
        ch.plot.series(tyre),
        ch.plot.series(bounces, ["y", "y'"]),
        ch.plot.phase(tyre, "theta", "theta'"),
        ch.plot.path(tyre),
        ch.plot.balance(tyre),
        ch.plot.drift(tyre),
        ch.plot.compare(disks),
        ch.plot.path(disks.motions),
    ]
    for picture in pictures:
        picture.draw_without_rendering()
        assert any(ax.get_xlabel() for ax in picture.axes)
        for ax in picture.axes:
            assert ax.get_ylabel() or ax.get_legend() is not None or [t for t in ax.get_yticklabels() if t.get_text()]
        for words in legend_words(picture):
            assert words
            assert all(word.strip() and not word.startswith("_") for word in words)


def test_labels_come_from_the_system(tyre):
    picture = ch.plot.series(tyre)
    assert [ax.get_ylabel() for ax in picture.axes[:5]] == [r"$\psi$", r"$\theta$", r"$\epsilon$", "$x_{1}$", "$x_{2}$"]
    assert legend_words(picture) == [[r"$\lambda_{1}$", r"$\lambda_{2}$", r"$\lambda_{3}$"]]
    assert picture.axes[-1].get_xlabel() == "$t$"
    assert picture.get_suptitle() == "Rocard's tyre · VirtualWork()"


def test_series_pass_through_the_nodes_and_the_dense_output(tyre):
    picture = ch.plot.series(tyre, ["epsilon", "psi'", "lambda3", "M*x1'^2/2"])
    for ax, name in zip(picture.axes, ["epsilon", "psi'", "lambda3", "M*x1'^2/2"], strict=True):
        t, v = data(curves(ax)[0])
        assert len(t) > 5 * len(tyre.t)
        at_nodes = np.isin(t, tyre.t)
        assert np.array_equal(t[at_nodes], tyre.t)
        assert v[at_nodes] == pytest.approx(tyre[name], rel=1e-13, abs=1e-14)
        assert v[~at_nodes] == pytest.approx(tyre.at(t[~at_nodes])[name], rel=1e-13, abs=1e-14)


def test_the_path_of_the_disk_is_its_circle(disk):
    """R*theta'/varphi' = 0.6*2.1/0.8 about (x - r*sin(varphi), y + r*cos(varphi)) with r = -1.575."""
    ax = ch.plot.path(disk).axes[0]
    x, y = data(curves(ax)[0])
    r = 0.6 * 2.1 / -0.8
    centre = (0.3 - r * np.sin(0.5), -0.4 + r * np.cos(0.5))
    assert np.hypot(x - centre[0], y - centre[1]) == pytest.approx(abs(r), rel=1e-8)
    assert ax.get_aspect() == 1
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("$x$", "$y$")
    ax.figure.draw_without_rendering()
    corner = ax.transData.transform([(0, 0), (1, 1)])
    wide, tall = corner[1] - corner[0]
    assert wide == pytest.approx(tall, rel=1e-6)


def test_angles_are_wrapped_only_where_that_helps(disk):
    line = curves(ch.plot.series(disk, ["theta"]).axes[0])[0]
    assert data(line)[1].max() == pytest.approx(0.2 + 2.1 * 10)
    t, v = data(curves(ch.plot.series(disk, ["theta"], wrap=True).axes[0])[0])
    kept = np.isfinite(v)
    assert v[kept].min() > -np.pi
    assert v[kept].max() <= np.pi
    assert np.cos(v[kept]) == pytest.approx(np.cos(0.2 + 2.1 * t[kept]), abs=1e-7)
    assert (~kept).sum() == int((0.2 + 21 + np.pi) // (2 * np.pi))
    assert np.nanmax(np.abs(np.diff(v))) < np.pi
    x, _ = data(curves(ch.plot.phase(disk, "theta", "x").axes[0])[0])
    assert np.nanmax(np.abs(x)) <= np.pi
    swing = ch.simulate(ch.gallery("cart-pendulum"))
    x, _ = data(curves(ch.plot.phase(swing, "theta", "theta'").axes[0])[0])
    assert np.isfinite(x).all()


def test_wrapping_is_onto_the_half_open_interval():
    angles = np.array([0.0, np.pi, -np.pi, 3 * np.pi, 1.0 + 8 * np.pi, -1.0 - 8 * np.pi])
    assert wrapped(angles) == pytest.approx([0, np.pi, np.pi, np.pi, 1, -1])


def test_ticks_of_angles_are_multiples_of_pi(disk):
    picture = ch.plot.series(disk, ["theta", "x"])
    picture.draw_without_rendering()
    words = [t.get_text() for t in picture.axes[0].get_yticklabels()]
    assert r"$2\pi$" in words
    assert not any("pi" in t.get_text() for t in picture.axes[1].get_yticklabels())


def test_powers_of_ten_are_plain_text(disk):
    """A formula takes matplotlib milliseconds to set, and a report has dozens of them."""
    picture = ch.plot.drift(disk)
    picture.draw_without_rendering()
    words = [t.get_text() for t in picture.axes[0].get_xticklabels()]
    assert all(re.fullmatch("10⁻?[⁰¹²³⁴-⁹]+", word) for word in words) and power_of_ten(1e-12) == "10⁻¹²"
    assert not any("$" in word for word in words)
    assert power_of_ten(2.5e-12) == "2.5e-12", "no tick between two powers is called by the nearest"
    assert power_of_ten(0.0) == ""


def test_all_figures_share_what_sets_formulas(disk):
    parsers = []
    for picture in (ch.plot.balance(disk), ch.plot.series(disk)):
        parsers.append(picture._get_renderer()._text2path.mathtext_parser)
    assert parsers[0] is parsers[1]


def test_jumps_are_gaps_and_events_are_marked(bounces):
    """The ball falls from 1: impacts at sqrt(2/g)*(1 + 2*(0.8 + 0.8^2 + ...))."""
    picture = ch.plot.series(bounces, ["y", "y'"])
    t, v = data(curves(picture.axes[1])[0])
    fall = np.sqrt(2 / 9.81)
    impacts = [fall * (1 + 2 * sum(0.8**k for k in range(1, n + 1))) for n in range(4)]
    impacts = [at for at in impacts if at < 2]
    gaps = t[:-1][np.isnan(v[1:])]
    assert gaps == pytest.approx(impacts)
    before, after = v[:-2][np.isnan(v[1:-1])], v[2:][np.isnan(v[1:-1])]
    assert after == pytest.approx(-0.8 * before)
    marks = [line.get_xdata()[0] for line in picture.axes[0].get_lines() if line.get_linestyle() == "--"]
    assert marks == pytest.approx(impacts)
    assert f"{len(impacts)} times" in picture.get_suptitle()


def test_an_early_end_is_marked_and_told():
    """x*x'^2/2 is singular at x = 0, which x = (1 - 3t/2)^(2/3) reaches at 2/3."""
    motion = ch.simulate(ch.derive(ch.System("x", lagrangian="x*x'^2/2", name="light")), {"x": 1, "x'": -1}, (0, 2))
    assert motion.outcome == "left_domain"
    picture = ch.plot.series(motion)
    red = [line.get_xdata()[0] for line in picture.axes[0].get_lines() if line.get_color() == ALERT]
    assert red == pytest.approx([2 / 3], abs=1e-4)
    assert "left the domain at t = 0.666" in picture.get_suptitle()


def test_switches_are_marked():
    dry = ch.derive(ch.System("x", lagrangian="x'^2/2 - x^2/2", forces={"x": "-sign(x')/10"}, name="dry"))
    motion = ch.simulate(dry, {"x": 1, "x'": 0}, (0, 7))
    picture = ch.plot.series(motion)
    marks = [line.get_xdata()[0] for line in picture.axes[0].get_lines() if line.get_linestyle() == ":"]
    assert marks == pytest.approx([s.t for s in motion.switches])
    assert r"$\dot{x} = 0$" in picture.get_suptitle()


def test_the_balance_shows_energy_and_what_is_left(tyre):
    picture = ch.plot.balance(tyre)
    upper, lower = picture.axes
    t, energy = data(curves(upper)[0])
    m, i, j, k = (tyre[name][0] for name in "MIJK")
    at_nodes = np.isin(t, tyre.t)
    kinetic = (i * tyre["psi'"] ** 2 + j * tyre["theta'"] ** 2 + m * (tyre["x1'"] ** 2 + tyre["x2'"] ** 2)) / 2
    assert energy[at_nodes] == pytest.approx(kinetic + k * tyre["epsilon"] ** 2 / 2)
    assert data(curves(upper)[1])[1] == pytest.approx(energy, abs=1e-9)
    assert lower.get_yscale() == "log"
    t, left = data(curves(lower)[0])
    assert t == pytest.approx(tyre.t)
    shown = np.abs(tyre.balance) > 0
    assert left[shown] == pytest.approx(np.abs(tyre.balance[shown]))
    assert np.isnan(left[~shown]).all()


def test_drift_shows_every_residual_and_zeros_stand_apart(tyre):
    ax = ch.plot.drift(tyre).axes[0]
    assert ax.get_xscale() == "log"
    assert [t.get_text() for t in ax.get_yticklabels()] == list(tyre.drift)
    marks = {line.get_label()[1:]: line for line in ax.get_lines() if line.get_marker() == "o"}
    for name, size in tyre.drift.items():
        assert marks[name].get_xdata()[0] == size
    cawley = ch.simulate(ch.gallery("cawley"))
    assert set(cawley.drift.values()) == {0.0}
    ax = ch.plot.drift(cawley).axes[0]
    for line in ax.get_lines():
        if line.get_marker() == "o":
            assert line.get_markerfacecolor() == "none"
            assert line.get_xdata()[0] > 0
    assert "0" in [text.get_text() for text in ax.texts]
    ch.plot.balance(cawley).draw_without_rendering()


def test_compare_draws_the_distance_from_the_first():
    found = ch.compare(ch.gallery("disk"))
    picture = ch.plot.compare(found)
    assert [line.get_label() for line in curves(picture.axes[0])] == ["DAlembert()", "Chetaev()", "Vakonomic()"]
    last = picture.axes[-1]
    (line,) = curves(last)
    t, distance = data(line)
    apart = found.pairs[1].distance
    assert t == pytest.approx(found.t)
    assert distance[1:] == pytest.approx(apart[1:])
    assert np.isnan(distance[0]), "both start from the same state, and zero has no logarithm"
    assert [text.get_text() for text in last.texts] == ["exactly zero: Chetaev()"]
    assert last.get_ylabel() == "distance from\nDAlembert()"


def test_compare_takes_motions_over_different_times():
    spring = ch.derive(ch.System("x", "k", lagrangian="x'^2/2 - k*x^2/2", name="spring"))
    short = ch.simulate(spring, {"x": 1, "x'": 0}, (0, 3), parameters={"k": 1}, tolerance=1e-12)
    long = ch.simulate(spring, {"x": 1, "x'": 0}, (0, 5), parameters={"k": 4}, tolerance=1e-12)
    single = ch.simulate(spring, {"x": 1, "x'": 0}, np.linspace(0, 3, 400), parameters={"k": 4})
    t, distance = data(curves(ch.plot.compare({"soft": short, "stiff": long}).axes[-1])[0])
    assert t[-1] == 3
    assert distance[1:] == pytest.approx(np.abs(np.cos(t) - np.cos(2 * t))[1:], abs=1e-9)
    t, distance = data(curves(ch.plot.compare({"soft": short, "stiff": single}).axes[-1])[0])
    assert distance[1:] == pytest.approx(np.abs(np.cos(t) - np.cos(2 * t))[1:], abs=1e-4)


def test_eigenvalues_along_a_parameter():
    """x'' = -k*x - c*x': the roots of mu^2 + c*mu + k; stable for k > 0."""
    spring = ch.derive(ch.System("x", "k c", lagrangian="x'^2/2 - k*x^2/2", dissipation="c/2*x'^2"))
    values = np.linspace(-1, 3, 41)
    sweep = ch.eigenvalue_sweep(spring, {"x": 0, "x'": 0}, "k", values, parameters={"c": 0.4})
    picture = ch.plot.eigenvalues(sweep, values, "k")
    upper, lower = picture.axes
    assert lower.get_xlabel() == "$k$"
    roots = np.array([np.roots([1, 0.4, k]) for k in values])
    for ax, part in ((upper, np.real), (lower, np.imag)):
        drawn = np.sort([data(line)[1] for line in curves(ax)], axis=0)
        assert drawn == pytest.approx(np.sort(part(roots), axis=1).T, abs=1e-7)
    shaded = upper.collections[0].get_paths()[0].vertices[:, 0]
    assert shaded.min() == pytest.approx(0, abs=0.11)
    assert shaded.max() == 3
    assert legend_words(picture) == [["no real part is positive"]]
    plane = ch.plot.eigenvalues(sweep)
    assert plane.axes[0].get_xlabel() == r"$\mathrm{Re}\ \mu$"
    alone = ch.plot.eigenvalues(ch.linearize(spring, {"x": 0, "x'": 0}, parameters={"k": 1, "c": 0.4}))
    assert len(alone.axes[0].get_lines()) == 4


def boxes_of(picture):
    return [p for p in picture.get_children() if isinstance(p, FancyBboxPatch)]


def extent(box):
    return box.get_x(), box.get_y(), box.get_x() + box.get_width(), box.get_y() + box.get_height()


@pytest.mark.parametrize("name", ["cawley", "transformer", "krupkova", "rocard"])
def test_trees_have_boxes_that_do_not_touch_and_hold_their_texts(name):
    picture = ch.plot.tree(ch.analyze(ch.gallery(name)))
    wide, tall = picture.get_size_inches()
    places = [extent(box) for box in boxes_of(picture)]
    assert len(places) > 1
    for left, low, right, high in places:
        assert left > 0
        assert low > 0
        assert right < wide
        assert high < tall
    for a, b in itertools.combinations(places, 2):
        assert a[2] < b[0] or b[2] < a[0] or a[3] < b[1] or b[3] < a[1]
    picture.draw_without_rendering()
    for text in picture.texts[1:]:
        x0, y0, x1, y1 = text.get_window_extent().bounds / np.array(picture.dpi)
        x1, y1 = x0 + x1, y0 + y1
        assert any(left <= x0 and low <= y0 and x1 <= right and y1 <= high for left, low, right, high in places), text.get_text()


def test_the_tree_of_cawley_has_two_leaves():
    picture = ch.plot.tree(ch.analyze(ch.gallery("cawley")))
    words = [text.get_text() for text in picture.texts]
    assert words[0] == "Cawley's Lagrangian · Hamilton()"
    assert {"$q_{2} = 0$", r"$\dot{q}_{2} = 0$", "$q_{3} = 0$", r"$\dot{q}_{3} = 0$"} <= set(words)
    assert "leaf 0: dimension 5, unique motion" in words
    assert "leaf 1: dimension 5, 1 free function" in words
    assert len(boxes_of(picture)) == 5


def test_leaves_of_a_wider_tree_stand_at_their_own_constraints():
    form = ch.DynamicalForm("x y z", ["-x'' + y*z", "x*y*(z - 1)", "y^2*z - x'"])
    found = ch.constraint_algorithm(form, seconds=20)
    picture = ch.plot.tree(found)
    words = " ".join(text.get_text() for text in picture.texts)
    assert all(f"leaf {k}: dimension {leaf.dimension}" in words for k, leaf in enumerate(found.leaves))
    assert len(boxes_of(picture)) == len(found.entries)


def test_sets_without_a_motion_are_red():
    stuck = ch.derive(ch.System("x y", lagrangian="x'^2/2 + y", name="stuck"))
    picture = ch.plot.tree(ch.analyze(stuck))
    assert any(box.get_edgecolor() == pytest.approx(rgba(ALERT)) for box in boxes_of(picture))


def rgba(colour):
    from matplotlib.colors import to_rgba

    return to_rgba(colour)


def test_group_coordinates_show_their_velocity():
    top = ch.gallery("euler-top")
    motion = ch.simulate(top)
    picture = ch.plot.series(motion)
    (words,) = legend_words(picture)
    names = [f"{q.base}'" for group in top.system.groups.values() for q in group.components]
    assert words == [ch.plot.label(None, name) for name in names]
    _, v = data(curves(picture.axes[0])[2])
    assert v[-1] == motion[names[2]][-1]


def test_very_long_motions_are_thinned_but_keep_their_ends_and_jumps(bounces):
    spring = ch.derive(ch.System("x", lagrangian="x'^2/2 - x^2/2"))
    many = ch.simulate(spring, {"x": 1, "x'": 0}, np.linspace(0, 100, 30_001))
    curve = smooth(many)
    assert len(curve.t) < 10_000
    assert (curve.t[0], curve.t[-1]) == (0, 100)
    assert curve["x"] == pytest.approx(np.cos(curve.t), abs=1e-6)
    assert np.sum(np.diff(smooth(bounces).t) == 0) == len(bounces.events)


def test_motions_of_single_times_are_drawn_through_these():
    spring = ch.derive(ch.System("x", lagrangian="x'^2/2 - x^2/2"))
    motion = ch.simulate(spring, {"x": 1, "x'": 0}, [0, 1, 2, 4])
    t, v = data(curves(ch.plot.series(motion).axes[0])[0])
    assert t.tolist() == [0, 1, 2, 4]
    assert v == pytest.approx(np.cos(t), abs=1e-7)


def test_what_cannot_be_drawn_is_refused(disk):
    spring = ch.derive(ch.System("x", lagrangian="x'^2/2 - x^2/2", name="spring"))
    motion = ch.simulate(spring, {"x": 1, "x'": 0}, (0, 1))
    with pytest.raises(ch.UsageError, match="no two coordinates"):
        ch.plot.path(motion)
    with pytest.raises(ch.UsageError, match="nothing to draw"):
        ch.plot.series(motion, [])
    with pytest.raises(ch.UsageError, match="single state"):
        ch.plot.series(ch.simulate(spring, {"x": 1, "x'": 0}, (0, 1), keep="final"))
    with pytest.raises(ch.UsageError, match="motions by label"):
        ch.plot.compare(3)
    with pytest.raises(ch.UsageError, match="a tree or an analysis"):
        ch.plot.tree(motion)
    with pytest.raises(ch.UsageError, match="3 values of the parameter for 2 rows"):
        ch.plot.eigenvalues(np.eye(2), [1, 2, 3])
    with pytest.raises(ch.NotationError):
        ch.plot.series(disk, ["no_such_name"])


def test_the_style_of_the_session_does_not_matter(disk):
    import matplotlib

    def ink():
        picture = ch.plot.series(disk, ["x"])
        picture.draw_without_rendering()
        return picture.axes[0].xaxis.get_ticklabels()[0].get_color(), curves(picture.axes[0])[0].get_color()

    usual = ink()
    with matplotlib.rc_context({"xtick.labelcolor": "red", "lines.linewidth": 9, "axes.facecolor": "black"}):
        assert ink() == usual
    assert ch.plot.series(disk, ["x"])._repr_png_()[:4] == b"\x89PNG"


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)  # noqa: S603


def test_saving_draws_once_and_as_matplotlib_does(disk, monkeypatch):
    """The layout alone replaces the first of matplotlib's two draws: the file is the same."""
    draws = []
    whole = Figure.draw

    def counted(figure, renderer):
        draws.append(figure)
        whole(figure, renderer)

    def twice(figure, renderer):
        with styled():
            Figure.draw(figure, renderer)

    def saved():
        held = io.BytesIO()
        with matplotlib.rc_context({"svg.hashsalt": "the same"}):
            ch.plot.series(disk).savefig(held, format="svg", metadata={"Date": None})
        return held.getvalue()

    monkeypatch.setattr(Figure, "draw", counted)
    ours = saved()
    assert len(draws) == 1
    monkeypatch.setattr(Picture, "draw", twice)
    assert saved() == ours
    assert len(draws) == 3


def test_pyplot_is_never_imported():
    code = "import sys, chetaev as ch; ch.plot.series(ch.simulate(ch.gallery('disk'))); print('matplotlib.pyplot' in sys.modules)"
    assert run(code).stdout.strip() == "False"


def test_without_matplotlib_the_extra_is_named():
    code = "import sys; sys.modules['matplotlib'] = None\nimport chetaev as ch\ntry: ch.plot.series\nexcept ch.UsageError as e: print(e)"
    assert run(code).stdout == "UsageError · plot\n  pictures need matplotlib.\n  -> pip install matplotlib\n"
