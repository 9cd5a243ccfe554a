"""Motions that quick checks decide: these see every fault, and the records are those that are computed at once."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import chetaev as ch
from chetaev.numerics.flow.exact_rates import Exact
from chetaev.numerics.graphs.binding import bind
from chetaev.numerics.methods.dop853 import codes
from chetaev.numerics.methods.dop853.arguments import places_in_room
from chetaev.numerics.motion import certification
from chetaev.numerics.motion.one_piece import one_piece
from chetaev.numerics.motion.progress import Progress

CALLS = 60
"""Calls after which code is made for many calls."""


def known(name, t=0.3, **options):
    """A model, its equations, and their motions in one piece."""
    model = ch.gallery(name, **options)
    equations = ch.derive(model)
    for _ in range(CALLS):
        ch.simulate(equations, model.start, (0, t), parameters=model.parameters, keep="final")
    return model, equations, one_piece(equations, bind(equations.system, model.parameters, {}, "here").inputs)


def late(motion):
    """Whether records of a motion are still to be computed."""
    return "certificate" not in vars(motion)


@pytest.mark.parametrize("keep", ["final", "steps"])
@pytest.mark.parametrize("name", ["sleigh", "cartesian-pendulum", "lagrange-top", "viscous-particle", "cart-pendulum", "trailer"])
def test_late_records_are_those_that_are_computed_at_once(name, keep):
    """With other values than before, which no cache knows."""
    model, equations, piece = known(name)
    first = next(iter(model.parameters))
    values = {**model.parameters, first: 1.0625 * float(model.parameters[first])}

    def run():
        return ch.simulate(equations, model.start, (0, 0.4), parameters=values, tolerance=1e-8, keep=keep)

    found, short = run(), piece.short
    assert late(found)
    piece.short = None
    try:
        other = run()
    finally:
        piece.short = short
    assert not late(other)
    assert found.certificate == other.certificate and found.certificate.ok
    for field in ("drift", "scales", "extrema", "counts", "enclosed", "outcome", "message", "events", "jets", "tolerance", "asked"):
        assert getattr(found, field) == getattr(other, field), field
    assert found.states.tobytes() == other.states.tobytes() and found.t.tobytes() == other.t.tobytes()
    assert found.end[1].tobytes() == other.end[1].tobytes() and str(found) == str(other)
    assert found.energy.tobytes() == other.energy.tobytes()


TAYLOR = ch.Taylor()


def by_series(name):
    """A function that follows a model by Taylor series to its end, and what makes such motions at once."""
    model = ch.gallery(name)
    equations = ch.derive(model)
    first = next(iter(model.parameters))

    def run(part=1.0, factor=1.0, **options):
        values = {**model.parameters, first: factor * float(model.parameters[first])}
        options = {"method": TAYLOR, "tolerance": 1e-12, "keep": "final"} | options
        return ch.simulate(equations, model.start, (0, 0.4 * part), parameters=values, **options)

    for _ in range(3):
        run()
    return run, one_piece(equations, {}, TAYLOR)


def otherwise(piece, run):
    """The motion as all others are followed."""
    series, piece.series = piece.series, None
    try:
        return run()
    finally:
        piece.series = series


@pytest.mark.parametrize(
    "name",
    [
        "sleigh",
        "cartesian-pendulum",
        "lagrange-top",
        "viscous-particle",
        "cart-pendulum",
        "trailer",
        "double-pendulum",
        "greidanus",
        "knife-edge",
    ],
)
def test_ends_by_taylor_series_have_the_same_bits_and_records(name):
    """Forwards and backwards, with values that no cache knows."""
    call, piece = by_series(name)
    for part, factor, tolerance in ((1.0, 1.0, 1e-12), (-1.0, 1.0625, 1e-9), (3.0, 1.03125, (1e-12, 1e-10))):

        def run(part=part, factor=factor, tolerance=tolerance):
            return call(part, factor, tolerance=tolerance)

        found, other = run(), otherwise(piece, run)
        assert late(found) and not late(other)
        for field in ("drift", "scales", "extrema", "counts", "enclosed", "outcome", "message", "events", "jets", "tolerance", "asked"):
            assert getattr(found, field) == getattr(other, field), field
        assert found.certificate == other.certificate and found.certificate.ok and found.slopes is None
        assert found.states.tobytes() == other.states.tobytes() and found.t.tobytes() == other.t.tobytes()
        assert found.end[0] == other.end[0] and found.end[1].tobytes() == other.end[1].tobytes() and str(found) == str(other)
        assert found.energy.tobytes() == other.energy.tobytes() and found.pieces.tobytes() == other.pieces.tobytes()
        assert found.asked.method == TAYLOR


def test_ends_by_taylor_series_in_doubt_are_checked_at_once(monkeypatch):
    """Where the quick checks allow nothing, the certificate decides; where this one fails, the motion is followed as all others are."""
    run, piece = by_series("cartesian-pendulum")
    good, checks = run(), piece.series.checks
    assert late(good)
    monkeypatch.setattr(type(checks._here), "_judge", lambda here, tolerance, steps: here.allowed.fill(0.0))
    doubted = run()
    assert not late(doubted) and doubted.certificate == good.certificate and doubted.end[1].tobytes() == good.end[1].tobytes()
    monkeypatch.setattr(certification, "ROWS", 1e-300)  # as no motion has rows so exact
    failed, other = run(), otherwise(piece, run)
    assert not failed.certificate.ok and failed.certificate == other.certificate and failed.outcome is other.outcome
    assert failed.end[1].tobytes() == other.end[1].tobytes() and failed.message == other.message


def test_ends_by_taylor_series_that_are_not_reached_are_left_to_the_other_way():
    run, piece = by_series("double-pendulum")
    found = run(100.0, max_steps=70)
    assert found.outcome is ch.Outcome.STEP_TOO_SMALL and not piece.series.useful
    again = run(100.0, max_steps=70)
    assert again.message == found.message and again.end[1].tobytes() == found.end[1].tobytes() and again.counts == found.counts


def test_ends_by_taylor_series_before_ctrl_c_are_those_of_the_other_way(monkeypatch):
    """The flag that Ctrl-C sets is set at the first pause."""
    run, piece = by_series("double-pendulum")

    def stop(progress, t):
        progress.flag[0] = 1

    monkeypatch.setattr(Progress, "reached", stop)

    def stopped():
        with pytest.raises(KeyboardInterrupt) as caught:
            run(5000.0, tolerance=1e-9)
        return caught.value.motion

    found, other = stopped(), otherwise(piece, stopped)
    assert found.outcome is ch.Outcome.INTERRUPTED and found.outcome is other.outcome and found.message == other.message
    assert 0 < found.end[0] < 2000 and found.end[1].tobytes() == other.end[1].tobytes() and found.certificate == other.certificate


def test_ends_by_taylor_series_keep_limits_of_steps():
    run, piece = by_series("cartesian-pendulum")

    def short():
        return run(max_step=0.01, max_steps=50)

    found, other = short(), otherwise(piece, short)
    assert late(found) and found.counts == other.counts and found.counts["accepted"] >= 40 and found.asked == other.asked
    assert found.end[1].tobytes() == other.end[1].tobytes()


def test_other_wishes_with_taylor_series_take_the_other_way():
    """What the quick way does not know: events, slopes, nodes, subclasses."""

    class Own(ch.Taylor):
        """Another method, as far as is known."""

    run, _ = by_series("double-pendulum")
    assert late(run()) and not late(run(keep="steps")) and not late(run(method=Own())) and not late(run(method=ch.Implicit()))
    with pytest.raises(ch.UsageError, match="slopes need the explicit method"):
        run(slopes=["g"])


def test_a_motion_with_late_records_is_copied_and_stored_whole():
    model, equations, _ = known("sleigh")

    def run():
        return ch.simulate(equations, model.start, (0, 0.4), parameters=model.parameters)

    assert late(run()) and replace(run(), message="other").certificate == run().certificate
    stored = pickle.loads(pickle.dumps(run()))  # noqa: S301 - written here
    assert stored.certificate == run().certificate and stored.extrema == run().extrema
    with pytest.raises(AttributeError):
        _ = run().nothing


@pytest.mark.parametrize("name", ["sleigh", "cartesian-pendulum", "lagrange-top", "viscous-particle"])
def test_the_checks_see_every_fault(name):
    """The row of a good motion passes; one with another rate, a large defect, lost digits, an imbalance or a hidden row does not."""
    model, equations, piece = known(name)
    ch.simulate(equations, model.start, (0, 0.4), parameters=model.parameters, keep="final")
    short = piece.short
    here, layout, n = short._here, short.layout, short.states
    given = here.parameters.copy()

    def fault(place, value):
        row = here.row.copy()
        row[place] = value if value is np.nan else row[place] + value
        found = float(short.sound(0.4, row, given)), float(short.way(0.4, row, given))
        return found != (0.0, 0.0)  # as for what is no number

    assert not fault(0, 0.0)
    minima, _, measured, _, inside, _ = (layout.seen + place for place in places_in_room(short.whole, short.compiled.measure.n_out))
    balance = short.compiled.measure.n_out // 2 - 1
    velocities = [k for k, z in enumerate(piece.flow.state) if z.order]
    assert any(fault(short.width + k, 1e-6) for k in velocities) and all(fault(short.width + k, np.nan) for k in velocities)
    sizes = np.abs(here.row[minima : minima + n]) + 1.0
    for k in range(n):
        assert fault(inside + codes.OFF * short.whole + k, 1e3 * sizes[k]), "a defect inside a step"
        assert fault(inside + codes.ROUNDED * short.whole + k, 1e3 * sizes[k] ** 2), "lost digits"
        assert fault(inside + codes.OFF * short.whole + k, np.nan)
    assert fault(measured + balance, 1e3) and fault(measured + balance, np.nan) and fault(layout.ended + balance, np.nan)
    for k in range(short.rows):
        assert fault(layout.rows + k, 1e-3), "rounding may hide a row"
        assert fault(layout.rows + 3 * short.rows + k, np.nan), "the row has no value beside the state"


def test_a_motion_in_doubt_is_decided_as_before(monkeypatch):
    """Where the quick checks allow nothing, motions are those of the other way, and after some no more are tried."""
    model, equations, piece = known("sleigh")

    def run():
        return ch.simulate(equations, model.start, (0, 0.4), parameters=model.parameters, keep="final")

    good = run()
    monkeypatch.setattr(type(piece.short._here), "_judge", lambda here, tolerance, steps: here.allowed.fill(0.0))
    piece.short.doubts = piece.short.calls = 0
    doubted = [run() for _ in range(40)]
    assert not any(map(late, doubted)) and all(each.certificate == good.certificate for each in doubted)
    assert all(each.states.tobytes() == good.states.tobytes() for each in doubted)
    assert not piece.short.useful and piece.short.calls < 40


def test_a_motion_whose_rounding_has_large_bounds_is_judged_at_its_nodes():
    """Along a chain of twenty links bounds of rounding errors grow by ten digits, so rates in doubles are compared with those in pairs of
    doubles. Where these have errors that matter, these are added: the figure is above the one by rates in many digits.
    """
    model, equations, piece = known("chain", t=0.05, n=20)
    assert piece.short.doubts > 0 and piece.nodes
    found = ch.simulate(equations, model.start, (0, 0.5), parameters=model.parameters, keep="final", tolerance=1e-10)
    assert not late(found) and found.certificate.ok
    (bounded,) = (each for each in found.certificate.figures if each.kind == "rounding")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Exact, "enclosed", lambda *given: None)
        other = ch.simulate(equations, model.start, (0, 0.5), parameters=model.parameters, keep="final", tolerance=1e-10)
    (exact,) = (each for each in other.certificate.figures if each.kind == "rounding")
    assert 0 < exact.size < bounded.size <= bounded.allowed == exact.allowed
    assert found.end[1].tobytes() == other.end[1].tobytes()


def test_a_motion_of_many_steps_looks_for_rounding_on_its_way():
    model, equations, piece = known("double-pendulum")
    found = ch.simulate(equations, model.start, (0, 200), parameters=model.parameters, keep="final", tolerance=1e-10)
    assert found.counts["accepted"] > 1024 and piece.short.doubts > 0


def test_checked_nodes_are_nodes():
    assert certification.checked_nodes(0, 3).size == 0
    for count in (1, 7, 1000):
        found = certification.checked_nodes(count, 70)
        assert found.size and found.min() >= 0 and found.max() < count
