"""Herglotz' principle: contact dynamics, where the Lagrangian depends on the action."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, final

from chetaev.core.errors import PrincipleError, UsageError, about
from chetaev.core.fixes import SetPart, UsePrinciple
from chetaev.core.support.public import public
from chetaev.core.system import System
from chetaev.mechanics.principles.base import Lowered, Principle
from chetaev.mechanics.principles.dalembert import DAlembert
from chetaev.mechanics.principles.hamilton import Hamilton


@public
@final
class Herglotz(Principle):
    r"""The action variable obeys $s' = L$ and is stationary at the end of the motion (002, (13)):
    $E_i = \sum_k (-1)^{k+1} (D - L_s)^k\, \partial L/\partial q_i^{(k)}$ with the Lagrangian in the normal form of the principle `inner`.

    `Herglotz()` is `Herglotz(Hamilton())`; `Herglotz(DAlembert())` is the nonholonomic contact equation (27) of 002,
    `Herglotz(Vakonomic())` the reduced vakonomic equation of its section 5.4.
    """

    word = "herglotz"
    papers = ("002",)
    takes_action = True

    def __init__(self, inner: Principle | None = None) -> None:
        self.inner = Hamilton() if inner is None else inner
        if not isinstance(self.inner, Principle) or isinstance(self.inner, Herglotz):
            given = f"the class {inner.__name__}" if isinstance(inner, type) else repr(inner)
            raise UsageError(
                f"Herglotz takes one of the other principles, not {given}.",
                where=about("Herglotz", "inner"),
                hint=("for example ", UsePrinciple(Herglotz(DAlembert()))),
            )

    @classmethod
    def nests(cls, setting: str) -> bool:
        """Whether `setting` is `inner`, whose text in a file is the word of a principle."""
        return setting == "inner"

    def settings(self) -> dict[str, Any]:
        """The setting `inner`, unless it is Hamilton's principle."""
        return {} if self.inner == Hamilton() else {"inner": self.inner}

    def in_words(self) -> str:
        """The name of the principle in a report, with that of the inner principle unless it is Hamilton's."""
        return "Herglotz' principle" if self.inner == Hamilton() else f"Herglotz' principle over {self.inner.in_words()}"

    def cited(self) -> tuple[str, ...]:
        """The references of Herglotz' principle and of the inner principle."""
        return (*self.papers, *self.inner.cited())

    def for_rows(self, labels: Mapping[str, str]) -> Principle:
        return Herglotz(self.inner.for_rows(labels))

    def rewrite(self, system: System) -> Lowered:
        """Rewrite the system under the inner principle, and add the action variable with $s' = L$."""
        if system.action is None:
            raise self.refusal(
                system,
                "No action variable is declared.",
                part="action",
                why="Herglotz' principle needs a name for the action, with s' = L.",
                hint=SetPart("action", "s", whole=True),
            )
        try:
            return replace(self.inner.normal_form(system), action=system.action)
        except PrincipleError as refused:
            advice = [
                replace(part, principle=Herglotz(part.principle)) if isinstance(part, UsePrinciple) else part for part in refused.advice
            ]
            place = refused.place
            raise self.refusal(system, refused.what, why=refused.why, hint=advice, part=place.part, row=place.row) from None

    def __str__(self) -> str:
        return f"Herglotz({self.inner})" if self.inner != Hamilton() else "Herglotz()"
