r"""Shadows: integrals of watched functions that depend on time by themselves, so that error control sees them.

A body at rest gives the integrator no reason for small steps, however fast the force on it changes; a step could pass over the moment
where friction no longer holds it. The components $q' = g(t, x)$ for such functions $g$ make the step resolve them. They influence nothing
else, and are cut off afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from sympy import Expr

from chetaev.frozen import Frozen
from chetaev.functions import Magnitude, Maximum, Minimum, Sign
from chetaev.numerics.compiled import Array
from chetaev.numerics.flow import Flow
from chetaev.numerics.machine import Kernel, compile_kernel
from chetaev.numerics.pieces import Setting
from chetaev.numerics.remembered import Remembered
from chetaev.symbols import TIME, Input


@dataclass(frozen=True)
class Motor:
    """What moves the state: rates and projection, with shadows or without."""

    rates: ca.Function
    rhs: Kernel
    project: Kernel | None
    shadows: int

    def widened(self, native: Array) -> Array:
        """A state with its shadows at zero."""
        return np.append(native, np.zeros(self.shadows))

    def narrowed(self, run: Any) -> Any:
        """A run without its shadows."""
        if not self.shadows:
            return run
        n = len(run.y) - self.shadows
        flat = {name: getattr(run, name)[:n] for name in ("y", "minima", "maxima")}
        tables = {name: getattr(run, name)[:, :n] for name in ("states", "found_states")}
        return run._replace(**flat, **tables, coefficients=run.coefficients[:, :, :n])


_KNOWN: Remembered[Motor] = Remembered(64)


def motor(here: Setting, watched: Sequence[Expr], conserve: bool) -> Motor:
    """The motor of a setting in which some functions are watched; remembered."""
    functions = tuple(e for e in dict.fromkeys(watched) if not e.has(Sign, Magnitude, Minimum, Maximum))
    key = (functions, Frozen(here.binding.inputs), conserve)
    return _KNOWN.get(here.compiled, key, lambda: _made(here, functions, conserve))


def _made(here: Setting, functions: Sequence[Expr], conserve: bool) -> Motor:
    flow, compiled = here.flow, here.compiled
    project = compiled.conserving() if conserve else compiled.project
    moving = [e for e in map(here.written, functions) if _by_itself(flow, e)]
    if not moving:
        return Motor(flow.rhs(), compiled.rhs, project, 0)
    rates = _wide(flow.rhs(), flow.function(moving), len(moving))
    back = flow.project(conserve)
    projecting = None if back is None else compile_kernel(_wide(back, None, len(moving)))
    return Motor(rates, compile_kernel(rates), projecting, len(moving))


def _by_itself(flow: Flow, e: ca.SX) -> bool:
    """Whether an expression on the state depends on time directly, or through inputs."""
    return any(z == TIME or isinstance(z, Input) for z in flow.graph.symbols(e))


def _wide(narrow: ca.Function, shadows: ca.Function | None, count: int) -> ca.Function:
    """A function of (t, x, p) on states with shadows: these follow their own function, or stay."""
    n = narrow.size1_in(1)
    t, x, p = ca.SX.sym("t"), ca.SX.sym("x", n + count), ca.SX.sym("p", narrow.size1_in(2))
    rest = x[n:] if shadows is None else shadows(t, x[:n], p)
    return ca.Function(narrow.name(), [t, x, p], [ca.densify(ca.vertcat(narrow(t, x[:n], p), rest))])
