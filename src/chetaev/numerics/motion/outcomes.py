"""The outcome of a simulation and its message, for single motions and for ensembles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from chetaev.core.certificate import Certificate
from chetaev.core.functions import SMOOTH
from chetaev.core.notation import show
from chetaev.core.symbols import Jet
from chetaev.core.values import Undefined, value
from chetaev.numerics.enclosures.nodes import nodes_of
from chetaev.numerics.flow.locus import locus_at, locus_factors
from chetaev.numerics.methods.dop853 import Status
from chetaev.numerics.motion.trajectory import Outcome
from chetaev.numerics.smooth_pieces.piece import Piece

_FALLEN = 1e-3
"""Relative to an earlier state: a factor of the determinant that fell below this is the locus. Larger factors may have fallen by chance."""

Verdict = tuple[Outcome, str]


@dataclass(frozen=True)
class Ending:
    """Data of an ending besides the status of the integrator."""

    t: float
    max_steps: int = 0
    event: str = ""
    """The terminal expression that vanished, if one did."""
    locus: str = ""
    """The singular locus, if one was found."""


def verdict(status: Status, ending: Ending) -> Verdict:
    """The outcome and its sentence.

    >>> verdict(Status.TOO_MANY_STEPS, Ending(2.5, max_steps=100))
    (<Outcome.STEP_TOO_SMALL: 'step_too_small'>, '100 steps did not suffice; t = 2.5 was reached.')
    """
    at = f"t = {ending.t:.12g}"
    if status is Status.FINISHED:
        return Outcome.FINISHED, "the end of the interval was reached."
    if status is Status.WATCH and ending.event:
        return Outcome.EVENT, f"{ending.event} = 0 at {at}."
    if status in (Status.WATCH, Status.FLOOR):
        return singular(ending)
    if status is Status.NOT_FINITE:
        where = f", where {ending.locus}" if ending.locus else ""
        return Outcome.LEFT_DOMAIN, f"the equations have no finite value near {at}{where}."
    if status is Status.DRIFT:
        return Outcome.DRIFT_EXCEEDED, f"the state cannot be brought back to the constraints at {at}."
    if status is Status.INTERRUPTED:
        return Outcome.INTERRUPTED, f"stopped by the user at {at}."
    if status is Status.TOO_MANY_STEPS:
        return Outcome.STEP_TOO_SMALL, f"{ending.max_steps} steps did not suffice; {at} was reached."
    if ending.locus:
        return Outcome.STEP_TOO_SMALL, f"the step became too small at {at}, where {ending.locus}."
    return Outcome.STEP_TOO_SMALL, f"the step became too small at {at}."


_BOUNDED = tuple(function.make for function in SMOOTH.values() if function.saturates)
"""Functions that have a limit on either side of a pole of their argument."""
_AT_A_POLE = 1e-9
"""Relative to its value at an earlier state: a smaller denominator has a zero here."""


def singular(ending: Ending) -> Verdict:
    """The motion met a singular locus."""
    where = f", where {ending.locus}" if ending.locus else ""
    return Outcome.LEFT_DOMAIN, f"the system Jacobian becomes singular at t = {ending.t:.12g}{where}."


def not_certified(certificate: Certificate, ended: Outcome) -> Verdict:
    """The checks of the motion failed, also after it was computed again."""
    how = "the end of the interval was reached" if ended is Outcome.FINISHED else "a terminal event was met"
    return Outcome.NOT_CERTIFIED, (
        f"{how}, but {certificate.sentence}  A second run with smaller steps did not agree better.  {_REMEDIES[certificate.kind]}; "
        "the certificate of the motion has all figures."
    )


def stopped_in_checks() -> Verdict:
    """The user stopped while a motion that had ended was computed again, because its checks needed that."""
    return Outcome.INTERRUPTED, "stopped by the user while the motion was computed again to check it."


_REMEDIES = dict.fromkeys(("rows", "defect", "grazing", "balance"), "A smaller tolerance may help, or another start") | {
    "rounding": "Numbers that nearly cancel can be written in another way, and narrow features belong near time and position zero; a "
    "larger tolerance asks for fewer digits",
}
"""What to do about a check that fails."""


def wrong_side(surface: str, t: float) -> Verdict:
    """A piece ended on the wrong side of a corner."""
    return Outcome.NOT_CERTIFIED, (
        f"at t = {t:.12g} the motion is on the other side of {surface} = 0 than the equations that were followed: a switch was missed.  "
        "A smaller tolerance, a limit of the step (max_step), or another method may help."
    )


def pole_on_surface(surface: str, t: float) -> Verdict:
    """A piece ends or begins at a pole."""
    return Outcome.LEFT_DOMAIN, (
        f"rates grow without bound towards {surface} = 0 at t = {t:.12g}: the equations have no finite value there, and the motion is not "
        "followed across it."
    )


def not_unique(surface: str, t: float, multipliers: str = "") -> Verdict:
    """A surface that pushes the motion away to both sides, or forces by `multipliers` that allow several motions."""
    if multipliers:
        return Outcome.LEFT_DOMAIN, (
            f"several motions continue from {surface} = 0 at t = {t:.12g}: forces depend on {multipliers}, and several signs agree with "
            f"the forces that they make (Painleve's paradox).  Start again from motion.final with a guess of {multipliers}."
        )
    return Outcome.EVENT, (
        f"the motion is not unique from t = {t:.12g} on: {surface} = 0 there, and the equations lead away from this surface to both "
        f"sides, or along it.  Start again from motion.final with {surface} a little above or below zero."
    )


def no_continuation(surface: str, t: float, reason: str, decided: bool = True) -> Verdict:
    """No side of a surface, nor the surface itself, carries the motion on, or it is not known which does."""
    what = "the motion cannot continue" if decided else "it is undecided how the motion continues"
    return Outcome.LEFT_DOMAIN, f"{what} from {surface} = 0 at t = {t:.12g}: {reason}"


def input_jumps(t: float, reason: str) -> Verdict:
    """The motion cannot follow an input that jumps, or whose derivative jumps where the constraints contain it."""
    return Outcome.LEFT_DOMAIN, (
        f"the motion cannot follow the inputs beyond t = {t:.12g}: {reason}  Constraints with an input need samples without jumps, also in "
        "the derivatives that they contain, such as those with cubic interpolation."
    )


def momentum_of_input(t: float, reason: str) -> Verdict:
    """A momentum contains an input that jumps, and the velocities that follow are not known."""
    return Outcome.LEFT_DOMAIN, (
        f"the motion cannot follow the inputs beyond t = {t:.12g}: {reason}  "
        "Samples without jumps can be followed, such as those with cubic interpolation."
    )


def corner_of_constraints(surface: str, t: float) -> Verdict:
    """A constraint has a corner on the surface, so that velocities would have to jump."""
    return Outcome.LEFT_DOMAIN, (
        f"at t = {t:.12g}, {surface} = 0, the state does not satisfy the constraints of the other side: a constraint has a corner there, "
        f"and velocities would have to jump.  An event at {surface} = 0 with a reset can say how."
    )


def accumulation(event: str, t: float, limit: float | None, contact: str = "") -> Verdict:
    """Events that follow each other faster and faster; `contact` is the inequality that carries the motion on, if there is one."""
    towards = "" if limit is None else f"; they accumulate at t = {limit:.12g}"
    further = f"  A contact carries the motion on, also at rest: state {contact} as unilateral, with its restitution." if contact else ""
    return Outcome.STEP_TOO_SMALL, f"events {event} = 0 follow each other without end near t = {t:.12g}{towards}.{further}"


def pole_near(piece: Piece, t: float, jets: Mapping[Jet, float]) -> str:
    """Return where the data have a pole, as an equation, if a piece ends at one; otherwise nothing.

    At an earlier state, at time t, the denominator was at least 1e9 times as large.
    """
    here = piece.setting
    equations = here.switched.equations(here.configuration)
    begin, end = here.point(t, jets), here.point(piece.end, here.named(piece.run.y))
    nodes = nodes_of(equations, here.binding.inputs)
    for node in nodes:
        if node.is_Pow and node.exp.is_number and node.exp < 0 and node.base.free_symbols <= begin.keys():
            try:
                if abs(float(value(node.base, end))) <= _AT_A_POLE * abs(float(value(node.base, begin))):
                    around = next((f for f in nodes if isinstance(f, _BOUNDED) and f.has(node.base)), None)
                    if around is None:
                        return f"{show(node.base)} = 0: a quotient has a pole there"
                    return (
                        f"{show(node.base)} = 0: {show(around)} jumps there, because its argument has a pole; where both limits are meant, "
                        f"sign says so, as in atan(1/u) = pi/2*sign(u) - atan(u)"
                    )
            except Undefined:
                continue
    return ""


def locus_near(piece: Piece, t: float, jets: Mapping[Jet, float]) -> str:
    """Return the locus at the end of a piece as an equation; empty if none was found.

    A run ends shortly before the locus, where no factor of the determinant vanishes to the last digit: then the factor that fell most since
    an earlier state is named.
    """
    here = piece.setting
    equations = here.switched.equations(here.configuration)
    end = here.point(piece.end, here.named(piece.run.y))
    found = locus_at(equations, end, here.flow.system)
    if found:
        return found
    begin = here.point(t, jets)
    falls = {}
    for factor in locus_factors(equations) or ():
        if factor.free_symbols <= begin.keys():
            try:
                falls[factor] = abs(float(value(factor, end))) / abs(float(value(factor, begin)))
            except (Undefined, ZeroDivisionError):
                continue
    lowest = min(falls, key=lambda factor: falls[factor], default=None)
    return f"{show(lowest)} = 0" if lowest is not None and falls[lowest] < _FALLEN else ""
