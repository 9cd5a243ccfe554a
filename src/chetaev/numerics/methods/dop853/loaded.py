"""The compiled loop of DOP853, loaded on first use."""

from __future__ import annotations

from pathlib import Path

from chetaev.numerics.machine.precompiled import Precompiled

_HERE = Path(__file__)
_IN_PYTHON = "__init__ loaded repeated_calls whole_steps/__init__ whole_steps/step_code whole_steps/look_code".split()
"""Files that the machine code does not depend on."""

LOOP = Precompiled(
    "chetaev.numerics.methods.dop853.loop",
    ("integrate", "integrate_some", "interpolate", "settle", "evaluate"),
    sorted(set(_HERE.parent.rglob("*.py")) - {_HERE.parent / f"{name}.py" for name in _IN_PYTHON}),
)
