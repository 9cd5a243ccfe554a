"""The subject of a report: equations, classification, analysis and motions of a model, computed once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sympy import Expr, preorder_traversal

from chetaev.core.errors import ChetaevError, StateError, UsageError
from chetaev.core.fixes import Ask
from chetaev.core.state import State
from chetaev.core.support.budget import allowance
from chetaev.core.support.frozen import Frozen
from chetaev.mechanics.analysis import Analysis
from chetaev.mechanics.classify import Classification, classify
from chetaev.mechanics.derivation import derive
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.model import Model
from chetaev.numerics.motion.settings import model_of
from chetaev.numerics.motion.simulate import simulate
from chetaev.numerics.motion.trajectory import Trajectory
from chetaev.numerics.verdict.analyze import analyze

_CLASSIFICATION_SECONDS = 2.0
"""Budget, in seconds of counted operations, of the classification of constraints; the report states if it was too small."""
_MOST_STEPS = 100_000
"""Largest number of steps of a motion under another principle, which bounds the time of a report; a longer motion ends early."""
_LONG = 1500
"""Nodes of the Lagrangian and the constraints above which equations would fill pages and are summarised."""


@dataclass(frozen=True)
class Subject:
    """A model, its equations, their analysis and the motions."""

    model: Model
    equations: Equations
    classification: Classification | None
    """The classification of the constraints; None if the budget did not suffice."""
    analysis: Analysis
    motion: Trajectory | None
    refusal: ChetaevError | None
    """The reason why there is no motion, if the verdict excludes one."""
    others: Mapping[str, Trajectory] = field(default_factory=Frozen)
    """Motions under the other principles of the model, by their names."""
    refused: Mapping[str, ChetaevError] = field(default_factory=Frozen)
    """The reasons why there is no motion under other principles, by their names."""

    @property
    def title(self) -> str:
        """The name of the system."""
        return self.equations.system.name or "system without a name"

    @property
    def long(self) -> bool:
        """Whether the equations would fill pages."""
        system = self.equations.system
        return _nodes([system.lagrangian, *(row.residual for row in system.kinematic)]) > _LONG


def subject_of(given: Any, start: Any, t: Any, settings: Mapping[str, Any]) -> Subject:
    """Derive, classify, analyze and simulate. A verdict that excludes a motion is part of the result; wrong data raise an error."""
    if isinstance(given, Trajectory):
        return _about(model_of(given), given.equations, given, None)
    if not isinstance(given, Model | Equations):
        what = f"report takes a model, equations or a motion, not {type(given).__name__}."
        raise UsageError(
            what,
            where="report",
            hint=(Ask("report", 'ch.gallery("rocard")'), ", or ", Ask("report", "ch.derive(...), start, (0, 10), parameters=...")),
        )
    equations = derive(given) if isinstance(given, Model) else given
    model = _completed(given, start, t, settings)
    if not model.start.fixed and not model.start.guess:
        return _about(model, equations, None, None)
    try:
        motion = simulate(equations, model.start, model.t, parameters=model.parameters, inputs=model.inputs, progress=False, **model.run)
    except StateError as verdict:  # no motion, several manifolds, free functions, or a singular start
        return _about(model, equations, None, verdict)
    return _about(model, equations, motion, None)


def _completed(given: Model | Equations, start: Any, t: Any, settings: Mapping[str, Any]) -> Model:
    """Return the model with the arguments of `report`; equations become a model of their system."""
    base = given if isinstance(given, Model) else Model(given.system, given.principle)
    state = base.start if start is None else start if isinstance(start, State) else State(dict(start))
    return replace(
        base,
        parameters={**base.parameters, **(settings.get("parameters") or {})},
        start=state,
        t=base.t if t is None else tuple(map(float, t)),
        inputs={**base.inputs, **(settings.get("inputs") or {})},
        keep=None,  # a page shows the whole motion
        **{name: value for name, value in settings.items() if name in base.run and value is not None},
    )


def _about(model: Model, equations: Equations, motion: Trajectory | None, refusal: ChetaevError | None) -> Subject:
    found: Classification | None = None
    with allowance(_CLASSIFICATION_SECONDS):
        found = classify(equations.system)
    others: dict[str, Trajectory] = {}
    refused: dict[str, ChetaevError] = {}
    for principle in model.also if motion is not None else ():
        try:
            others[str(principle)] = simulate(model.under(principle), progress=False, max_steps=_MOST_STEPS)
        except StateError as verdict:
            refused[str(principle)] = verdict
    return Subject(model, equations, found, analyze(equations), motion, refusal, Frozen(others), Frozen(refused))


def _nodes(expressions: list[Expr]) -> int:
    """Count the nodes of expressions, up to one above `_LONG`."""
    count = 0
    for e in expressions:
        for _ in preorder_traversal(e):
            count += 1
            if count > _LONG:
                return count
    return count
