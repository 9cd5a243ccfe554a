"""lyapunov_certificate: a region around an equilibrium from which every motion is proved to go there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sympy import Expr, Integer

from chetaev.core.calculus import SymbolicAlgebra
from chetaev.core.declarations import parse
from chetaev.core.errors import UsageError
from chetaev.core.fixes import InPython, SetArgument
from chetaev.core.functions import Magnitude, Sign
from chetaev.core.notation.show import show
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.core.values import value as number_of
from chetaev.mechanics.ranks.generic import Matrix
from chetaev.numerics.attraction.candidates import NoProof, Proved, Setting, prove_energy, prove_quadratic, quadratic_form
from chetaev.numerics.attraction.enclosed import Box
from chetaev.numerics.attraction.reduced_field import NotReduced, ReducedField, local_or_reason, reduced_field
from chetaev.numerics.flow.energy import energy_and_power
from chetaev.numerics.stability.arguments import Start, local_motion
from chetaev.numerics.stability.motion_near_state import Local
from chetaev.numerics.stability.position import directions

_POINTS_COMPARED = 4000
"""Random points of a box by which the sizes of two proved regions are compared; only the choice between them depends on it."""


@public
@dataclass(frozen=True, eq=False, repr=False)
class LyapunovCertificate:
    """A function and a level below which all motions go to the equilibrium; or, with `found` False, what was tried."""

    found: bool
    """Whether a region is proved."""
    function: str
    """The function V, in the notation of the system; empty if none was found."""
    level: float
    """Every motion from V <= level, within `box`, goes to the equilibrium; NaN if none was found."""
    box: Mapping[str, tuple[float, float]]
    """Ranges of the independent jets that contain the region."""
    how: str
    """The proof of the region in a sentence; "none found" without one."""
    tried: tuple[str, ...]
    """Every function that was tried, with the result."""
    equilibrium: Mapping[str, float]
    """The equilibrium in the independent jets; jets that influence no other one, such as the position of a vehicle, are left out."""
    matrix: Matrix | None
    """The matrix P of a quadratic form, in the order of `equilibrium`; None for other functions."""
    title: str
    """The heading of the printed certificate."""
    expression: Expr | None
    """The function as an expression."""
    values: Mapping[Any, float]
    """The values of the parameters."""

    def __bool__(self) -> bool:
        return self.found

    def contains(self, state: Mapping[str, float]) -> bool:
        """Whether a state lies in the proved region; only the independent jets are read.

        Args:
            state: Numbers by the names of the independent jets; other names are ignored.

        Returns:
            True inside the region, with doubles; always False if none was found.

        Raises:
            UsageError: If an independent jet has no value.
        """
        missing = [name for name in self.equilibrium if name not in state]
        if missing:
            raise UsageError(f"{missing[0]} has no value.", where="certificate", hint=InPython(f'{{"{missing[0]}": ...}}'))
        if not self.found or not all(low <= float(state[name]) <= high for name, (low, high) in self.box.items()):
            return False
        if self.matrix is not None:
            away = np.array([float(state[name]) - e for name, e in self.equilibrium.items()])
            return bool(away @ self.matrix @ away <= self.level)
        assert self.expression is not None  # noqa: S101 - every other function has one
        point = {z: float(state[z.name]) if z.name in self.equilibrium else self.values[z] for z in self.expression.free_symbols}
        return bool(number_of(self.expression, point) <= self.level)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        at = ", ".join(f"{name} = {v:.6g}" for name, v in self.equilibrium.items())
        lines = [f"{self.title} at {at or 'the state'}"]
        if self.found:
            ranges = ", ".join(f"{name} in [{low:.6g}, {high:.6g}]" for name, (low, high) in self.box.items())
            lines += [f"  region  V <= {self.level:.6g} with {ranges}", f"  V       {self.function}", f"  proof   {self.how}"]
        else:
            lines.append("  none found")
        return "\n".join([*lines, *[f"  tried   {line}" for line in self.tried]])


@public
def lyapunov_certificate(
    equations: Any,
    equilibrium: Start | None = None,
    box: Mapping[str, Any] | None = None,
    *,
    parameters: Mapping[str, Any] | None = None,
    candidate: str | Expr | None = None,
    inputs: Mapping[str, Any] | None = None,
) -> LyapunovCertificate:
    r"""A region around an equilibrium from which every motion is proved to go there, or "none found".

    Without a `candidate` two functions are tried: the quadratic form of the linearised motion, and the energy. Rates and their slopes are
    bounded over boxes that cover the region, by interval arithmetic with outward rounding, for the given parameters and their neighbouring
    doubles. A larger region than the proved one may be attracted; `basin` estimates it. On groups the region consists of velocities, if
    their rates do not depend on the group element; `groups.in_coordinates` gives a chart for other systems.

    Args:
        equations: Equations or a model. Time must not occur, and constraints must be affine in the jets that they determine.
        equilibrium: The state, completed from the constraints; None for a model's start.
        box: Ranges of independent jets that the region must not leave: `{"theta": (-1, 1), "theta'": (-2, 2)}`. Without it the quadratic
            form is not limited, and other functions are tried within one typical size of each jet.
        parameters: Values of the parameters, by name.
        candidate: A function V to try, a text or an expression in jets and parameters; "quadratic" or "energy" for one of these alone.
        inputs: Inputs by name, as in `simulate`.

    Returns:
        The function, its level, how the region is proved, and what was tried.

    Raises:
        UsageError: If `box` names a jet that is not independent, or a value is not a range.
        StateError: If the motion is not determined at the state.

    >>> from chetaev import System, derive
    >>> pendulum = System("theta", "c", lagrangian="theta'^2/2 + cos(theta)", dissipation="c/2*theta'^2", name="pendulum")
    >>> found = lyapunov_certificate(derive(pendulum), {"theta": 0, "theta'": 0}, {"theta": (-3, 3), "theta'": (-3, 3)},
    ...                              parameters={"c": 0.5}, candidate="energy")
    >>> found.found, found.contains({"theta": 2, "theta'": 0.5}), found.contains({"theta": 3, "theta'": 1})
    (True, True, False)

    H. K. Khalil, Nonlinear Systems, 3rd ed., sections 4.1 to 4.3 and 8.2.
    """
    local = local_motion("lyapunov_certificate", equations, equilibrium, parameters, None, inputs)
    label = local.problem.system.equations.system.label
    where, title = f"lyapunov_certificate {label}", f"Lyapunov certificate of {label}"
    try:
        reason = local_or_reason(local)
        if reason:
            raise NotReduced(reason)
        field = reduced_field(local)
    except NotReduced as refused:
        return _none(title, {}, (str(refused),))
    given = _ranges(box, field, where)
    setting = Setting(field)
    limits = None if box is None else given
    words = ["quadratic", "energy"] if candidate is None else [candidate]
    proved: list[LyapunovCertificate] = []
    tried: list[str] = []
    for word in words:
        try:
            proved.append(_proved(word, setting, local, limits, given, title))
            tried.append(f"{_word(word)}: proved up to {proved[-1].level:.6g}")
        except (NoProof, NotReduced) as failed:
            tried.append(f"{_word(word)}: {failed}")
    rests = dict(zip([z.name for z in field.jets], map(float, field.centre), strict=True))
    if not proved:
        return _none(title, rests, tuple(tried))
    best = max(proved, key=_size) if len(proved) > 1 else proved[0]
    return LyapunovCertificate(**{**vars(best), "tried": tuple(tried)})


def _proved(word: str | Expr, setting: Setting, local: Local, limits: Box | None, given: Box, title: str) -> LyapunovCertificate:
    """The certificate of one candidate; `NoProof` or `NotReduced` with the reason if there is none."""
    field = setting.field
    names = [z.name for z in field.jets]
    rests = Frozen(zip(names, map(float, field.centre), strict=True))
    if word == "quadratic":
        matrix = _linear(local, field)
        P = quadratic_form(matrix, _units(setting, limits))
        found = prove_quadratic(setting, P, limits)
        return _certificate(found, _text(P, names, field), None, P, rests, field, title)
    if word == "energy":
        expression = energy_and_power(local.problem.system.equations, SymbolicAlgebra())[0]
        if not expression.free_symbols:
            raise NoProof("these equations have no energy")
    else:
        expression = parse(word, local.problem.system.equations) if isinstance(word, str) else word
    found = prove_energy(setting, field.read(_with_signs(expression, field)), given)
    strange = [z for z in expression.free_symbols if z not in field.jets and z not in field.parameters]
    if strange:
        raise NoProof(f"it contains {strange[0].name}, which is not an independent jet: write it by {' '.join(names)}")
    return _certificate(found, show(expression), expression, None, rests, field, title)


def _with_signs(expression: Expr, field: ReducedField) -> Expr:
    """`expression` with abs and sign of parameters replaced according to the signs of their values, on which identities may depend."""
    known = {z: v for z, v in field.parameters.items() if v}
    sizes = {Magnitude(z): z if v > 0 else -z for z, v in known.items()}
    signs = {Sign(z): Integer(1) if v > 0 else Integer(-1) for z, v in known.items()}
    found: Expr = expression.xreplace({**sizes, **signs})
    return found


def _certificate(
    found: Proved, text: str, expression: Expr | None, P: Matrix | None, rests: Mapping[str, float], field: ReducedField, title: str
) -> LyapunovCertificate:
    box = Frozen(zip(rests, found.box, strict=True))
    return LyapunovCertificate(True, text, found.level, box, found.how, (), rests, P, title, expression, Frozen(field.parameters))


def _none(title: str, rests: Mapping[str, float], tried: tuple[str, ...]) -> LyapunovCertificate:
    return LyapunovCertificate(False, "", float("nan"), Frozen({}), "none found", tried, Frozen(rests), None, title, None, Frozen({}))


def _linear(local: Local, field: ReducedField) -> Matrix:
    """The matrix of the linearised motion in the jets of the field."""
    state = directions(local.problem.system)
    places = [list(local.chart.free).index(state.index(z)) for z in field.jets]
    found: Matrix = local.view.matrix[np.ix_(places, places)]
    return found


def _units(setting: Setting, limits: Box | None) -> Matrix:
    """Units of the jets for a quadratic form: half the sides of the box, or typical sizes."""
    if limits is None:
        return setting.field.units
    return np.array([0.5 * (high - low) for low, high in limits])


def _ranges(box: Mapping[str, Any] | None, field: ReducedField, where: str) -> Box:
    """The ranges of the independent jets; one typical size around the equilibrium for those that are not named."""
    box = {} if box is None else box
    names = [z.name for z in field.jets]
    if not isinstance(box, Mapping):
        raise UsageError("a box is a mapping from names to ranges.", where=where, hint=SetArgument("box", {names[0]: (-1, 1)}))
    strange = [name for name in box if name not in names]
    if strange:
        what = f"{strange[0]} is not one of the independent jets {' '.join(names)} that influence the motion."
        raise UsageError(what, where=where, hint=SetArgument("box", {names[0]: (-1, 1)}))
    found = []
    for name, centre, unit in zip(names, field.centre.tolist(), field.units.tolist(), strict=True):
        found.append(read_range(name, box.get(name, (centre - unit, centre + unit)), where))
    return tuple(found)


def read_range(name: str, given: Any, where: str) -> tuple[float, float]:
    """A range of a box: two numbers, the smaller one first."""
    try:
        low, high = (float(side) for side in given)
    except (TypeError, ValueError):
        raise UsageError(f"{given!r} is not a range of {name}.", where=where, hint=SetArgument("box", {name: (-1, 1)})) from None
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise UsageError(f"the range of {name} is empty or not bounded: {given!r}.", where=where, hint=SetArgument("box", {name: (-1, 1)}))
    return low, high


def _text(P: Matrix, names: list[str], field: ReducedField) -> str:
    """A quadratic form in the notation of the system."""
    away = [
        name if not c else f"({name} - {c:.12g})" if c > 0 else f"({name} + {-c:.12g})"
        for name, c in zip(names, field.centre.tolist(), strict=True)
    ]
    terms = []
    for i in range(len(names)):
        for j in range(i, len(names)):
            factor = float(P[i, j]) * (1 if i == j else 2)
            if factor:
                terms.append(f"{factor:.12g}*{away[i]}^2" if i == j else f"{factor:.12g}*{away[i]}*{away[j]}")
    return " + ".join(terms).replace("+ -", "- ")


def _word(word: str | Expr) -> str:
    return {"quadratic": "a quadratic form", "energy": "the energy"}.get(str(word), f"V = {word}")


def _size(found: LyapunovCertificate) -> float:
    """The approximate volume of a proved region."""
    names = list(found.box)
    low, high = (np.array([found.box[name][k] for name in names]) for k in (0, 1))
    points = np.random.default_rng(6).uniform(low, high, (_POINTS_COMPARED, len(names)))
    share = np.mean([found.contains(dict(zip(names, p, strict=True))) for p in points])
    return float(share * np.prod(high - low))
