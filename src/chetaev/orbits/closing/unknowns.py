"""The argument `unknown` of `periodic`: names of jets of the start, of parameters, and the period."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from chetaev.core.errors import ParameterError, UsageError, about, did_you_mean
from chetaev.core.fixes import SetArgument
from chetaev.core.notation.lexer import spell
from chetaev.core.symbols import Place
from chetaev.orbits.flow import Flow

PERIOD = "period"
"""The name of the period among the unknowns, unless a parameter has this name."""


@dataclass(frozen=True)
class Unknowns:
    """The quantities that Newton's iteration changes; all others keep their values."""

    names: tuple[str, ...]
    jets: tuple[int, ...]
    """Indices in the state."""
    parameters: tuple[int, ...]
    """Indices among the parameters."""
    period: bool


def unknowns_of(flow: Flow, given: Sequence[str] | str) -> Unknowns:
    """Read the names of the unknowns.

    Args:
        flow: The flow of the equations.
        given: Names in a list, or in one string, separated by blanks.

    Returns:
        The unknowns, in the order of the state and of the parameters.

    Raises:
        UsageError: If no unknown is named, or if the period is named and the equations depend on time.
        ParameterError: For a name that is neither a jet of the state nor a parameter.
    """
    jets = [z.name for z in flow.run.jets if not isinstance(z, Place)]
    parameters = [str(z.name) for z in flow.equations.system.parameters]
    known = [*jets, *parameters, *([] if PERIOD in parameters else [PERIOD])]
    names = list(dict.fromkeys(spell(_text(name, flow)) for name in (given.split() if isinstance(given, str) else given)))
    if not names:
        raise UsageError(
            "no unknown is named.", where=flow.where, hint=(SetArgument("unknown", [known[0]]), f", of {' '.join(known)}; or leave it out")
        )
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known) or f"jets: {' '.join(jets)}; parameters: {' '.join(parameters) or 'none'}; {PERIOD}"
            raise ParameterError(
                f"{name} is neither a jet of the state nor a parameter.", where=about(flow.where, "unknown", name), hint=hint
            )
    period = PERIOD in names and PERIOD not in parameters
    if period and not flow.autonomous:
        raise UsageError(
            "the equations depend on time, so the period is given and cannot be unknown.",
            where=flow.where,
            hint=('leave "period" out of unknown; ', SetArgument("period", "2*pi/w"), " follows an unknown parameter w"),
        )
    state = list(flow.names)
    return Unknowns(
        tuple(names),
        tuple(sorted(state.index(name) for name in names if name in jets)),
        tuple(sorted(parameters.index(name) for name in names if name in parameters)),
        period,
    )


def _text(name: Any, flow: Flow) -> str:
    if not isinstance(name, str):
        raise UsageError(f"{name!r} is not the name of an unknown.", where=flow.where, hint=SetArgument("unknown", ["x'", "k", "period"]))
    return name
