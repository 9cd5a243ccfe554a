"""Export: the right-hand side of a model as a file that runs alone, in Python with NumPy, as a CasADi graph, or in C."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chetaev.core.errors import UsageError, did_you_mean
from chetaev.export.c_file import c_file
from chetaev.export.problem import RightHandSide, right_hand_side
from chetaev.export.python_files import casadi_file, numpy_file

LANGUAGES: dict[str, Callable[[RightHandSide], str]] = {"numpy": numpy_file, "c": c_file, "casadi": casadi_file}
"""What writes a file, by language."""

__all__ = ["LANGUAGES", "code"]


def code(model: Any, language: str, *, branch: Any = None, gauge: Any = None) -> str:
    """The right-hand side of a model's equations as the text of a file that runs alone: `"numpy"`, `"c"` or `"casadi"`.

    The file has the model's parameters, a consistent start, and functions of time, state and parameters: `unknowns` gives accelerations
    and multipliers, `rhs` the rates of the state, `constraints` what vanishes along a motion. It solves the equations by an elimination
    with pivots, so it is right wherever the motion is determined. sign, abs, min and max are evaluated as they stand: where one of them
    switches, only `simulate` locates the moment.

    >>> import chetaev as ch
    >>> text = code(ch.gallery("sleigh"), "numpy")
    >>> "def rhs(t, state, parameters=PARAMETERS):" in text and "import chetaev" not in text
    True
    """
    if language not in LANGUAGES:
        known = " ".join(LANGUAGES)
        raise UsageError(
            f"{language!r} is not a language.", where="code", hint=f"{did_you_mean(str(language), LANGUAGES)}  one of {known}".strip()
        )
    return LANGUAGES[language](right_hand_side(model, branch, gauge))
