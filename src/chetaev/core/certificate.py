"""The certificate of a motion: checks that `simulate` makes on its own result, each with a measured size and a limit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, isnan

from chetaev.core.support.public import public

ORDERS_ABOVE = 1e3
"""Times the tolerance: the largest relative residual of a certified motion. Below about 300 correct motions of the gallery would fail,
because the derivative of an interpolant is less exact than the interpolant."""
_ROUND_OFF_RESIDUAL = 1e-11
"""Relative residual that round-off alone can cause; a smaller limit would refuse correct motions at tight tolerances."""


def allowed_residual(tolerance: float) -> float:
    """The largest residual, relative to the terms of a row, that `verify` may find in a certified motion."""
    return max(ORDERS_ABOVE * tolerance, _ROUND_OFF_RESIDUAL)


class SignOf(str):
    """The subject of a figure that is about the function of an event or a switch: lost digits decide its sign."""

    function: str

    def __new__(cls, function: str) -> SignOf:
        found = super().__new__(cls, f"sign of {function}")
        found.function = function
        return found

    def __reduce__(self) -> tuple[object, ...]:
        return SignOf, (self.function,)


@dataclass(frozen=True)
class Figure:
    """One check at its worst place."""

    kind: str
    """`rows`, `defect`, `rounding` or `balance`."""
    size: float
    """The largest relative error that the check measured."""
    allowed: float
    """The limit for `size`."""
    subject: str
    """The row or jet with the largest error, or `SignOf` the function of an event or a switch."""
    t: float | None = None
    """The time of the largest error, where it is known."""

    @property
    def ok(self) -> bool:
        """Whether the size is within the limit; a size that is not a number is not."""
        return self.size <= self.allowed

    @property
    def ratio(self) -> float:
        """The size divided by the limit."""
        return inf if isnan(self.size) else self.size / self.allowed

    @property
    def where(self) -> str:
        """The row or jet, and the time."""
        return self.subject if self.t is None else f"{self.subject} at t = {self.t:.6g}"

    def __str__(self) -> str:
        return f"{self.kind:<8}  {self.size:.1e}  of at most {self.allowed:.0e}  {self.where}"


@public
@dataclass(frozen=True, repr=False)
class Certificate:
    """Four checks of a motion: residuals of the original rows, the defect of the continuous motion between steps, the effect of rounding,
    and the energy balance.

    `worst` is the size of the figure with the largest ratio to its limit, and `where` is its place. A motion whose certificate is not `ok`
    does not have the outcome `finished`.
    """

    figures: tuple[Figure, ...] = ()
    """The checks that were made."""
    repeated: bool = False
    """Whether the motion was computed a second time, with smaller steps, because the first one was not ok."""

    digits: bool = False
    """Whether the motion was computed a second time, with rates in many digits, because doubles lose too many."""

    beyond: tuple[str, ...] = ()
    """Sentences about what the checks cannot see, such as a Python function between the points at which it was called."""

    @property
    def failed(self) -> tuple[str, ...]:
        """The kinds of the checks that exceed their limits."""
        return tuple(figure.kind for figure in self.figures if not figure.ok)

    @property
    def ok(self) -> bool:
        """Whether all figures are within their limits."""
        return all(figure.ok for figure in self.figures)

    @property
    def _worst_figure(self) -> Figure | None:
        return max(self.figures, key=lambda figure: figure.ratio, default=None)

    def with_figures(self, other: Certificate, kind: str) -> Certificate:
        """The certificate with the figures of one kind from another certificate of the same motion."""
        figures = [*[figure for figure in self.figures if figure.kind != kind], *[f for f in other.figures if f.kind == kind]]
        order = list(_FACTS | _MORE)
        return replace(self, figures=tuple(sorted(figures, key=lambda figure: order.index(figure.kind))))

    @property
    def missing(self) -> tuple[str, ...]:
        """The checks that were not made: the defect, where the motion between the steps is less exact than they are."""
        known = {figure.kind for figure in self.figures}
        return tuple(kind for kind in _FACTS if kind not in known)

    @property
    def worst(self) -> float:
        """The size of the worst figure; 0 without figures."""
        return 0.0 if self._worst_figure is None else self._worst_figure.size

    @property
    def kind(self) -> str:
        """The kind of the worst figure; empty without figures."""
        return "" if self._worst_figure is None else self._worst_figure.kind

    @property
    def where(self) -> str:
        """The row or jet of the worst figure, and the time."""
        return "" if self._worst_figure is None else self._worst_figure.where

    @property
    def sentence(self) -> str:
        """A sentence about the worst figure if it is beyond its limit; otherwise empty."""
        found = self._worst_figure
        if found is None or found.ok:
            return ""
        place = "" if found.kind == "balance" else f" ({found.where})"
        fact = _SIGN_FACT if isinstance(found.subject, SignOf) else (_FACTS | _MORE)[found.kind]
        return f"{fact} by {found.size:.1e}{place}, and at most {found.allowed:.0e} is allowed."

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        words = "ok" if self.ok else "NOT ok"
        again = f"; {self.again}" if self.again else ""
        lines = [*map(str, self.figures), *self.left_out, *self.beyond]
        return "\n".join([f"certificate: {words}{again}", *[f"  {line}" for line in lines]])

    @property
    def again(self) -> str:
        """A phrase about the second computation of the motion; empty if it was computed once."""
        smaller = "computed twice, the second time with smaller steps" if self.repeated else ""
        return "computed twice, the second time with rates in many digits" if self.digits else smaller

    @property
    def left_out(self) -> tuple[str, ...]:
        """The checks that were not made, with the reasons."""
        return tuple(f"{kind:<8}  not checked: {_REASONS[kind]}" for kind in self.missing)

    def _repr_html_(self) -> str:
        from chetaev.core.display.parts import certificate_html

        return certificate_html(self)


_FACTS = {
    "rows": "the rates computed do not satisfy the rows they were derived from: a row is off",
    "defect": "the motion between two steps does not follow the equations: a jet is off",
    "rounding": "the equations lose digits: rounding alone makes a jet wrong",
    "balance": "energy and work do not balance: relative to the energies that occurred they differ",
}
"""The sentence for each check that fails, in the order in which a certificate lists the checks."""

_MORE = {
    "grazing": "the motion grazes a switching surface, and the tolerance does not decide how long it stays beyond: a jet may be wrong",
    "variation": "the action is not stationary: along an admissible variation it changes",
}
"""The sentences for checks of special motions: those that graze a surface, and paths between two ends."""

_SIGN_FACT = "an event or a switch is decided by lost digits: its sign would be right for a state that differs"
"""The sentence for a check of rounding that fails because of a sign."""

_REASONS = {
    "rows": "there is no motion",
    "defect": "the motion between the steps is less exact than they are, or there are no steps",
    "rounding": "there are no steps, or bounds of rounding errors cannot be computed here",
    "balance": "there is no motion",
}
"""The reason for each check that was not made."""
