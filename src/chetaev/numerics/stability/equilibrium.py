"""equilibria: states of rest, and steady motions with given velocities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, overload

from chetaev.core.errors import InitialError, UsageError, about
from chetaev.core.fixes import Ask, InPython, SetArgument
from chetaev.core.state import State
from chetaev.core.support.public import public
from chetaev.mechanics.model import Model
from chetaev.numerics.stability.arguments import Start, read_model, refuse_choice
from chetaev.numerics.stability.search import Equilibrium, Search

_SAME_STATE = 1e-6
"""Largest difference of two equilibria that count as the same, relative to the sizes of their jets; iterations end far closer, and distinct
equilibria are rarely so near."""


@public
@overload
def equilibria(
    equations: Any,
    guess: Start | None = None,
    parameters: Mapping[str, Any] | None = None,
    *,
    t: float | None = None,
    inputs: Mapping[str, Any] | None = None,
    fixed: Sequence[str] | str = (),
    branch: None = None,
    gauge: None = None,
) -> Equilibrium: ...


@public
@overload
def equilibria(
    equations: Any,
    guess: Sequence[Start],
    parameters: Mapping[str, Any] | None = None,
    *,
    t: float | None = None,
    inputs: Mapping[str, Any] | None = None,
    fixed: Sequence[str] | str = (),
    branch: None = None,
    gauge: None = None,
) -> list[Equilibrium]: ...


@public
def equilibria(
    equations: Any,
    guess: Start | Sequence[Start] | None = None,
    parameters: Mapping[str, Any] | None = None,
    *,
    t: float | None = None,
    inputs: Mapping[str, Any] | None = None,
    fixed: Sequence[str] | str = (),
    branch: None = None,
    gauge: None = None,
) -> Equilibrium | list[Equilibrium]:
    """A state near a guess in which all rates vanish.

    Coordinates that no equation determines stay near their guess. With a velocity in `fixed`, a steady motion is sought: its coordinate
    grows at that rate, and cyclic coordinates have constant velocities (straight rolling at a given psi', a conical pendulum at a given
    phi'). The action of Herglotz' principle must be at rest only where it has an effect.

    Args:
        equations: Equations or a model.
        guess: Values of coordinates and multipliers, 0 if they are left out; or a list of guesses. By default the start of a model.
        parameters: Values of the parameters, by name.
        t: The time.
        inputs: Functions of time for the inputs, by name.
        fixed: Names that keep the value of their guess.
        branch: Not supported; only None is accepted.
        gauge: Not supported; only None is accepted.

    Returns:
        The equilibrium; for a list of guesses, the list of different equilibria found from them.

    Raises:
        UsageError: If no guess is given, or `guess` is not of this form.
        InitialError: If no equilibrium is found.

    >>> from chetaev import System, derive
    >>> spring = derive(System("x", "k m g", lagrangian="m*x'^2/2 - k*x^2/2 - m*g*x"))
    >>> equilibria(spring, {"x": 0}, parameters={"k": 2, "m": 1, "g": 10})["x"]
    -5.0
    """
    refuse_choice("equilibria", branch, gauge)
    if isinstance(equations, Model):
        guess = {**equations.start.guess, **equations.start.fixed} if guess is None else guess
        t = equations.t[0] if t is None else t
    equations, parameters, inputs = read_model("equilibria", equations, parameters, inputs)
    where = f"equilibria of {equations.system.label}"
    if guess is None:
        raise UsageError("no guess is given.", where=about(where, "guess"), hint=Ask("equilibria", 'equations, {"x": 0, ...}'))
    search = Search(equations, parameters, inputs, 0.0 if t is None else t, _names(fixed, where), where)
    if isinstance(guess, Mapping | State):
        return search.near(guess)
    if isinstance(guess, str) or not isinstance(guess, Sequence) or not guess:
        hint = (InPython('{"x": 0}'), ", or a list of such guesses")
        raise UsageError(f"a guess is a mapping from names to values, not {guess!r}.", where=about(where, "guess"), hint=hint)
    found: list[Equilibrium] = []
    failures: list[InitialError] = []
    for one in guess:
        try:
            state = search.near(one)
        except InitialError as failure:
            failures.append(failure)
            continue
        if not any(_same(state, other) for other in found):
            found.append(state)
    if not found:
        last = failures[-1]
        raise InitialError(
            f"none of {len(guess)} guesses leads to an equilibrium; the last: {last.what}", where=about(where, "guess"), hint=last.advice
        )
    return found


def _same(a: Equilibrium, b: Equilibrium) -> bool:
    return all(abs(a[name] - b[name]) <= _SAME_STATE * max(a.sizes.get(name, 1.0), abs(a[name])) for name in a)


def _names(given: Sequence[str] | str, where: str) -> tuple[str, ...]:
    names = given.split() if isinstance(given, str) else given
    if isinstance(names, Mapping) or not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise UsageError(
            "fixed is not a list of names.", where=where, hint=(SetArgument("fixed", ["x", "psi'"]), "; values are those of the guess")
        )
    return tuple(names)
