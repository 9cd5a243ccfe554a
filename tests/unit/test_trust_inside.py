"""Evidence from inside the steps of every run: the defect of the continuous motion, whatever is kept."""

import math

import casadi as ca
import pytest

import chetaev as ch
from chetaev.numerics.machine.kernels import compile_kernel
from chetaev.numerics.methods import dop853
from chetaev.numerics.methods.dop853 import codes, scale_constants

# ------------------------------------------------------------ the defect, whatever is kept


@pytest.mark.parametrize("given", [{}, {"keep": "final"}, {"t": [0, 1, 2, 10]}])
def test_every_motion_has_all_figures(given):
    motion = ch.simulate(ch.gallery("double-pendulum"), **given)
    assert motion.certificate.missing == ()


def test_what_is_kept_changes_neither_bits_nor_evidence():
    model = ch.gallery("double-pendulum")
    kept, final = ch.simulate(model), ch.simulate(model, keep="final")
    assert kept.end[1].tobytes() == final.end[1].tobytes()
    seen = [[f for f in motion.certificate.figures if f.kind == "defect"] for motion in (kept, final)]
    assert seen[0] and seen[0] == seen[1]


def test_the_defect_of_one_step_is_that_of_its_polynomial():
    """y' = cos(3 t) y in one step: the largest defect seen is that of the kept polynomial at the place of the look."""
    t, y, p = ca.SX.sym("t"), ca.SX.sym("y"), ca.SX.sym("p", 0)
    kernel = compile_kernel(ca.Function("f", [t, y, p], [ca.cos(3 * t) * y]))
    limits = dop853.Limits(rtol=1e-2, first_step=0.8)
    code = dop853.Code(kernel.address)
    kept = dop853.run(code, 0.0, 0.8, [1.0], limits=limits, keep=dop853.STEPS)
    final = dop853.run(code, 0.0, 0.8, [1.0], limits=limits, keep=dop853.FINAL)
    assert kept.accepted == final.accepted == final.looked == 1 and kept.y.tobytes() == final.y.tobytes()
    theta = scale_constants.FIRST_PLACE + scale_constants.PLACES * (scale_constants.GOLDEN_PART % 1.0)
    values, slopes = dop853.interpolate(kept.nodes, kept.states, kept.coefficients, [0.8 * theta])
    off = 0.8 * abs(slopes[0, 0] - math.cos(2.4 * theta) * values[0, 0])
    assert off > 1e-9
    for run in (kept, final):
        assert run.inside[codes.OFF, 0] == pytest.approx(off, rel=1e-4)
        assert run.inside[codes.WHEN, 0] == pytest.approx(0.8 * theta)


def test_a_defect_is_not_certified(monkeypatch):
    """Limits that nothing meets: a motion of which only the end is kept says so, and so does a member of an ensemble."""
    monkeypatch.setattr("chetaev.numerics.motion.step_evidence._DEFECT", 0.0)
    monkeypatch.setattr("chetaev.numerics.motion.step_evidence._LEAST_DEFECT", 1e-30)
    model = ch.gallery("double-pendulum")
    motion = ch.simulate(model, keep="final")
    assert motion.outcome == "not_certified" and "between two steps" in motion.message
    assert set(ch.simulate_many(model, [model.start] * 5).outcome) == {"not_certified"}
