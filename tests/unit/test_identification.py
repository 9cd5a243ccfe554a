"""Unknown values and principles from synthetic records whose truth is known."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import chetaev as ch
from chetaev.numerics.motion import progress

OSCILLATOR = ch.System("x", "m k c", lagrangian="m*x'^2/2 - k*x^2/2", dissipation="c*x'^2/2", name="oscillator")
MODEL = ch.Model(OSCILLATOR, ch.Hamilton(), {"m": 1, "k": 4, "c": 0.3}, {"x": 1, "x'": 0}, (0, 6))
SKATE = ch.System(
    "x y th", "m J g", lagrangian="m*(x'^2 + y'^2)/2 + J*th'^2/2 - m*g*x", kinematic=["y'*cos(th) = x'*sin(th)"], name="skate"
)
ON_ICE = ch.Model(SKATE, ch.DAlembert(), {"m": 1, "J": 0.5, "g": 1.3}, {"x": 0, "y": 0, "th": 0.3, "x'": 0.5, "th'": 1.1}, (0, 3))


def exact(t, k=4.0, c=0.3, x=1.0):
    """x'' + c*x' + k*x = 0 from rest."""
    w = np.sqrt(k - c**2 / 4)
    return x * np.exp(-c * t / 2) * (np.cos(w * t) + c / (2 * w) * np.sin(w * t))


def noisy(columns, seed, part=0.01):
    random = np.random.default_rng(seed)
    return {name: v if name == "t" else v + part * np.std(v) * random.standard_normal(len(v)) for name, v in columns.items()}


@cache
def oscillated():
    times = np.linspace(0, 6, 40)
    return noisy({"t": times, "x": exact(times)}, 5)


@cache
def skated():
    times = np.linspace(0, 3, 40)
    at = ch.simulate(ON_ICE, tolerance=1e-11).at(times)
    return {"t": times, "x": at["x"], "y": at["y"]}


def test_exact_data_give_the_values_back():
    times = np.linspace(0, 6, 50)
    first = replace(MODEL, parameters={"m": 1, "k": 3, "c": 0.1})
    found = ch.fit(first, {"t": times, "x": exact(times)}, {"k": (1, 10), "c": None, "x": (0.5, 2)})
    assert found.values["k"] == pytest.approx(4, rel=1e-8)
    assert found.values["c"] == pytest.approx(0.3, rel=1e-7)
    assert found.values["x"] == pytest.approx(1, rel=1e-8)
    assert found.unidentifiable == []
    assert found.model.parameters["k"] == found.values["k"]
    assert found.motion.final["x"] == pytest.approx(exact(6.0), rel=1e-7)


def test_errors_are_those_of_linear_regression_on_the_closed_form():
    times = np.linspace(0, 6, 60)
    data = noisy({"t": times, "x": exact(times)}, 5)
    found = ch.fit(MODEL, data, {"k": None, "c": None})
    k, c, h = found.values["k"], found.values["c"], 1e-5
    slopes = np.stack(
        [(exact(times, k + h, c) - exact(times, k - h, c)) / (2 * h), (exact(times, k, c + h) - exact(times, k, c - h)) / (2 * h)], 1
    )
    residuals = exact(times, k, c) - data["x"]
    covariance = np.linalg.inv(slopes.T @ slopes) * (residuals @ residuals) / (len(times) - 2)
    assert found.covariance == pytest.approx(covariance, rel=1e-5)
    assert found.errors["k"] == pytest.approx(np.sqrt(covariance[0, 0]), rel=1e-5)
    correlation = covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1])
    assert 1e-3 < abs(correlation) < 1
    assert found.correlations == pytest.approx(np.array([[1, correlation], [correlation, 1]]), abs=1e-5)
    assert found.residuals["x"] == pytest.approx(residuals, abs=1e-9)
    low, high = found.interval("k")
    assert low < 4 < high
    weight = 1 / (0.01 * np.std(exact(times)))
    weighted = ch.fit(MODEL, data, {"k": None, "c": None}, weights={"x": weight})
    assert weighted.covariance == pytest.approx(np.linalg.inv(slopes.T @ slopes) / weight**2, rel=1e-3)


def test_a_column_that_determines_more_unknowns_has_fewer_values_left():
    """A free particle: x(0) and x' are a regression of x, y' is one of y, and nothing joins the two."""
    random = np.random.default_rng(3)
    times, n = np.linspace(0, 2, 6), 6
    data = {"t": times, "x": 1 + 2 * times + 0.1 * random.standard_normal(n), "y": 3 * times + 0.01 * random.standard_normal(n)}
    free = ch.Model(ch.System("x y", lagrangian="(x'^2 + y'^2)/2"), ch.Hamilton(), {}, {"x": 1, "x'": 1, "y": 0, "y'": 1}, (0, 2))
    found = ch.fit(free, data, {"x": None, "x'": None, "y'": None})
    matrix = np.array([np.ones(n), times]).T
    off = data["x"] - matrix @ np.linalg.lstsq(matrix, data["x"])[0]
    of_x = np.sqrt(np.diag(np.linalg.inv(matrix.T @ matrix)) * (off @ off) / (n - 2))
    slope = times @ data["y"] / (times @ times)
    of_y = np.sqrt(((data["y"] - slope * times) ** 2).sum() / (n - 1) / (times @ times))
    assert np.allclose(list(found.errors.values()), [*of_x, of_y], rtol=1e-6)


def test_values_lie_within_three_errors():
    times = np.linspace(0, 6, 40)
    outside = 0
    for seed in range(30):
        found = ch.fit(MODEL, noisy({"t": times, "x": exact(times)}, seed), {"k": None, "c": None})
        outside += abs(found.values["k"] - 4) > 3 * found.errors["k"] or abs(found.values["c"] - 0.3) > 3 * found.errors["c"]
    assert outside <= 2


def test_what_the_data_leave_open_is_named():
    times = np.linspace(0, 6, 50)
    found = ch.fit(MODEL, {"t": times, "x": exact(times)}, {"m": (0.5, 2), "k": (1, 10), "c": (0, 1)})
    (combination,) = found.unidentifiable
    assert combination["m"] / combination["k"] == pytest.approx(found.values["m"] / found.values["k"], rel=1e-5)
    assert combination["c"] / combination["k"] == pytest.approx(found.values["c"] / found.values["k"], rel=1e-5)
    assert found.errors["k"] == np.inf
    assert "together change nothing" in str(found)


def test_unknowns_without_any_influence_are_named_one_by_one():
    """The path of the skate depends neither on m nor on J; derivatives by them are round-off or zero."""
    found = ch.fit(ON_ICE, noisy(skated(), 2), {"g": None, "th'": None, "m": None, "J": None})
    assert sorted(map(list, found.unidentifiable)) == [["J"], ["m"]]
    assert (found.values["m"], found.values["J"]) == pytest.approx((1, 0.5), rel=1e-6)  # nothing moves them
    known = np.isfinite(found.correlations)
    assert list(found.values) == ["g", "th'", "m", "J"] and np.array_equal(known, np.outer([1, 1, 0, 0], [1, 1, 0, 0]) == 1)
    assert np.isfinite([found.errors["g"], found.errors["th'"]]).all() and np.isinf([found.errors["m"], found.errors["J"]]).all()


def test_several_experiments_and_expressions():
    times = np.linspace(0, 6, 30)
    models = [MODEL, replace(MODEL, start={"x": 2, "x'": 0})]
    data = [{"t": times, "x": exact(times)}, {"t": times[5:], "k*x^2": 4 * exact(times[5:], x=2.0) ** 2}]
    found = ch.fit(models, data, {"k": (1, 6), "c": (0, 1)})
    assert found.values["k"] == pytest.approx(4, rel=1e-7)
    assert set(found.residuals) == {"1: x", "2: k*x^2"}


def test_a_picture_of_what_is_left():
    times = np.linspace(0, 6, 30)
    found = ch.fit(MODEL, noisy({"t": times, "x": exact(times), "x'": exact(times)}, 3), {"k": (1, 6)})
    picture = ch.plot.residuals(found)
    assert [ax.get_ylabel() for ax in picture.axes] == ["$x$", "residual", r"$\dot{x}$", "residual"]
    with pytest.raises(ch.UsageError, match="y is not a column"):
        found.column("y")


def test_a_report_has_a_section_on_the_fit():
    times = np.linspace(0, 6, 30)
    found = ch.fit(MODEL, noisy({"t": times, "x": exact(times)}, 3), {"k": (1, 6), "c": None})
    html = ch.report(found, animation=False).html
    section = html[html.index('id="fit"') : html.index('id="motion"')]
    assert "Fit to data" in section and "from 30 measured values" in section and "28 degrees of freedom" in section
    assert f"{found.values['k']:.8g}" in section and "<svg" in section
    assert 'id="fit"' not in ch.report(found.model, animation=False).html


def test_tables_of_other_packages():
    pandas, xarray = pytest.importorskip("pandas"), pytest.importorskip("xarray")
    times = np.linspace(0, 6, 30)
    frame = pandas.DataFrame({"x": exact(times)}, index=pandas.Index(times, name="t"))
    assert ch.fit(MODEL, frame, {"k": (1, 6)}).values["k"] == pytest.approx(4, rel=1e-8)
    dataset = xarray.Dataset({"x": ("t", exact(times))}, {"t": times})
    assert ch.fit(MODEL, dataset, {"k": (1, 6)}).values["k"] == pytest.approx(4, rel=1e-8)


@pytest.mark.parametrize(
    ("data", "unknown", "words"),
    [
        ({"x": [1, 2]}, {"k": None}, "no times"),
        ({"t": [0, 1, 2], "x": [1, np.nan, 2]}, {"k": None}, "not finite, the first in line 2"),
        ({"t": [0, 1, 2], "q": [1, 2, 3]}, {"k": None}, "column 'q' is not an expression"),
        ({"t": [0, 1, 9], "x": [1, 2, 3]}, {"k": None}, "t = 9 is outside the run"),
        ({"t": [0, 2, 1], "x": [1, 2, 3]}, {"k": None}, "do not increase"),
        ({"t": [0, 1], "x": [1, 2, 3]}, {"k": None}, "3 values for 2 times"),
        ({"t": [1], "x": [1]}, {"k": None, "c": None}, "1 values for 2 unknowns"),
        ({"t": [0, 1], "x": [1, 2]}, {"q": None}, "neither a parameter nor an initial value"),
        ({"t": [0, 1], "x": [1, 2]}, {}, "names no values"),
        ({"t": [0, 1], "x": [1, 2]}, {"k": (2, 1)}, "bounds of k"),
        ({"t": [0, 1], "x": ["a", "b"]}, {"k": None}, "not numbers"),
        ({"t": [0, 1, 2], "x": np.ma.masked_array([1.0, 2.0, 3.0], [0, 0, 1])}, {"k": None}, "not finite, the first in line 3"),
        ({"t": [0, 1], "x": [1j, 2]}, {"k": None}, "complex"),
        ({"t": np.array(["2020-01-01", "2020-01-02"], "datetime64[s]"), "x": [1, 2]}, {"k": None}, "dates or durations"),
        ([], {"k": None}, "no data"),
        (3, {"k": None}, "not a table"),
    ],
)
def test_data_that_cannot_be_used_are_refused(data, unknown, words):
    with pytest.raises(ch.UsageError, match=words):
        ch.fit(MODEL, data, unknown)


def test_other_arguments_that_cannot_be_used_are_refused():
    data = {"t": [0, 1, 2], "x": [1, 2, 3]}
    for weights in ({"x": [1, 2]}, {"x": "a"}):
        with pytest.raises(ch.UsageError, match="neither numbers nor arrays"):
            ch.fit(MODEL, data, {"k": None}, weights=weights)
    with pytest.raises(ch.UsageError, match="t=5 is not an interval"):
        ch.fit(MODEL, data, {"k": None}, t=5)
    with pytest.raises(ch.UsageError, match="seeds=0 is not a number"):
        ch.which(MODEL, [ch.Hamilton()], data, unknown={"k": None}, seeds=0)


def test_data_that_say_nothing_leave_the_value_open():
    found = ch.fit(MODEL, {"t": np.zeros(5), "x": np.ones(5)}, {"k": (1, 6)})
    assert found.unidentifiable == [{"k": 1.0}] and found.errors["k"] == np.inf


def test_a_coefficient_of_restitution_from_a_bouncing_ball():
    """The record is made of parabolas; the fit passes two impacts."""
    ball = ch.System("y", "g e", lagrangian="y'^2/2 - g*y", unilateral={"floor": ("y >= 0", "e")}, name="ball")
    model = ch.Model(ball, ch.Hamilton(), {"g": 9.0, "e": 0.5}, {"y": 1, "y'": 0}, (0, 1.2))
    g, e, times, heights = 9.81, 0.6, np.linspace(0, 1.2, 40), []
    for t in times:
        at, speed = np.sqrt(2 / g), e * np.sqrt(2 * g)
        while at + 2 * speed / g < t:
            at, speed = at + 2 * speed / g, e * speed
        heights.append(1 - g * t**2 / 2 if t < np.sqrt(2 / g) else speed * (t - at) - g * (t - at) ** 2 / 2)
    found = ch.fit(model, {"t": times, "y": heights}, {"g": (5, 15), "e": (0.3, 0.9)})
    assert (found.values["g"], found.values["e"]) == (pytest.approx(g, rel=1e-7), pytest.approx(e, rel=1e-7))


def test_the_principle_is_found_from_noisy_data():
    answer = ch.which(ON_ICE, [ch.Vakonomic(), ch.DAlembert()], noisy(skated(), 1), unknown={"g": (0.5, 3), "th'": (0.5, 2)}, seeds=4)
    assert answer.best == ch.DAlembert()
    assert [row.unknowns for row in answer.table] == [2, 3]
    assert answer.table[0].fits and not answer.table[1].fits
    assert answer.table[0].prediction < answer.table[1].prediction
    assert "DAlembert() fits best" in str(answer)


def test_equal_motions_cannot_be_told_apart():
    """Where the constraint is holonomic both principles have the same motions."""
    system = ch.System("x y", "g", lagrangian="(x'^2 + y'^2)/2 - g*y", kinematic=["y = x^2/2"], name="bead")
    model = ch.Model(system, ch.DAlembert(), {"g": 2}, {"x": 1, "x'": 0}, (0, 3))
    times = np.linspace(0, 3, 30)
    data = noisy({"t": times, "x": ch.simulate(model, tolerance=1e-11).at(times)["x"]}, 2)
    answer = ch.which(model, [ch.DAlembert(), ch.Vakonomic()], data, unknown={"g": (1, 4)}, seeds=1)
    assert answer.best is None and "cannot tell" in answer.reason


def test_no_principle_fits_another_law():
    times = np.linspace(0, 6, 40)
    data = {"t": times, "x": np.exp(-times) + 0.3 * times}
    answer = ch.which([MODEL, replace(MODEL, start={"x": 1, "x'": 0.2})], data, unknown={"k": (1, 10)}, seeds=2)
    assert answer.best is None and "no candidate fits" in answer.reason


def lorenz_record(end, count):
    """A record by SciPy of Lorenz' system with rho = 28 and noise of 0.1; neighbouring motions part by a factor e in 1.1 units of time."""
    times = np.linspace(0, end, count)

    def rate(t, u):
        return [10 * (u[1] - u[0]), u[0] * (28 - u[2]) - u[1], u[0] * u[1] - 8 / 3 * u[2]]

    seen = solve_ivp(rate, (0, end), [1.2, 0.9, 20.3], method="DOP853", rtol=1e-13, atol=1e-13, t_eval=times).y
    random = np.random.default_rng(3)
    return {"t": times, "x": seen[0] + 0.1 * random.standard_normal(count), "z": seen[2] + 0.1 * random.standard_normal(count)}


def test_a_chaotic_record_is_fitted_in_segments():
    rows = {"x": "x' - sigma*(y - x)", "y": "y' - x*(rho - z) + y", "z": "z' - x*y + beta*z"}
    lorenz = ch.System("x y z", "sigma rho beta", equations=rows, name="Lorenz")
    model = ch.Model(lorenz, ch.AsStated(), {"sigma": 10, "rho": 26, "beta": 8 / 3}, {"x": 1, "y": 1, "z": 20}, (0, 20))
    data, unknown = lorenz_record(20, 400), {"rho": None, "x": None, "y": None, "z": None}
    assert ch.fit(model, data, unknown, segments=1).deviations["x"] > 3  # one motion finds a wrong minimum
    found = ch.fit(model, data, unknown)
    for name, truth in {"rho": 28, "x": 1.2, "y": 0.9, "z": 20.3}.items():
        assert abs(found.values[name] - truth) < 3 * found.errors[name]
    assert found.unidentifiable == [] and 1e-4 < found.errors["rho"] < 2e-3
    assert found.deviations["x"] == pytest.approx(0.1, rel=0.15) and found.deviations["z"] == pytest.approx(0.1, rel=0.15)
    assert found.curve("x", data["t"]) - data["x"] == pytest.approx(found.residuals["x"], abs=1e-3)


def test_segments_between_constrained_states_change_nothing():
    data = noisy(skated(), 4)
    unknown = {"g": (0.5, 3), "th'": (0.5, 2)}
    one, several = (ch.fit(ON_ICE, data, unknown, segments=count) for count in (1, 3))
    for name in unknown:
        assert several.values[name] == pytest.approx(one.values[name], rel=1e-6)
        assert several.errors[name] == pytest.approx(one.errors[name], rel=1e-4)
    with pytest.raises(ch.UsageError, match="40 segments for 80 values with 5 free initial data"):
        ch.fit(ON_ICE, data, unknown, segments=40)
    with pytest.raises(ch.UsageError, match="segments=0 is not a number of segments"):
        ch.fit(ON_ICE, data, unknown, segments=0)


def test_a_long_search_shows_its_progress_and_a_short_one_nothing(capsys, monkeypatch):
    model, data = MODEL, oscillated()
    ch.fit(model, data, {"k": None}, progress=True)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(progress, "SHOWN_AFTER", 0.0)
    monkeypatch.setattr(progress, "RENEWED_EVERY", 0.0)
    watched = ch.fit(model, data, {"k": None}, progress=True)
    shown = capsys.readouterr().err
    assert "motions" in shown and "residual" in shown
    ch.which(model, [ch.Hamilton()], data, {"k": None}, progress=True)
    assert "which" in (shown := capsys.readouterr().err) and "Hamilton()" in shown
    assert ch.fit(model, data, {"k": None}).values == watched.values
    assert capsys.readouterr().err == ""  # this is no terminal
    with pytest.raises(ch.UsageError, match="progress"):
        ch.fit(model, data, {"k": None}, progress="yes")


def test_a_search_that_reached_its_limit_says_so():
    model, data = MODEL, oscillated()
    short = ch.fit(model, data, {"k": 0.5, "x": None}, steps=2)
    assert "limit of steps" in str(short) and "limit of steps" in short._repr_html_()
    assert "limit of steps" in str(ch.which(model, [ch.Hamilton()], data, {"k": 0.5, "x": None}, steps=2, seeds=1))
    assert not ch.fit(short.model, data, {"k": None, "x": None}).remarks
    with pytest.raises(ch.UsageError, match="steps=0"):
        ch.fit(model, data, {"k": None}, steps=0)


def test_the_principle_is_found_from_several_records_and_from_segments():
    several = [noisy(skated(), seed) for seed in (1, 2)]
    both = [ch.DAlembert(), ch.Vakonomic()]
    found = ch.which(ON_ICE, both, several, {"g": (0.5, 3)}, seeds=2)
    assert found.best == ch.DAlembert()
    assert set(found.table[0].fit.residuals) == {"1: x", "1: y", "2: x", "2: y"}
    assert ch.which(ON_ICE, both, several[0], {"g": (0.5, 3)}, seeds=1, segments=2).best == ch.DAlembert()
    models = [ON_ICE, replace(ON_ICE, principle=ch.Vakonomic())]
    with pytest.raises(ch.UsageError, match="at once"):
        ch.which(models, both, several, {"g": (0.5, 3)})
    with pytest.raises(ch.UsageError, match="segments"):
        ch.which(ON_ICE, both, several, {"g": (0.5, 3)}, segments=0)
