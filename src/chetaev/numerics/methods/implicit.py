"""Stiff systems: the implicit Runge-Kutta method Radau IIA of order 5."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import casadi as ca
import numpy as np

from chetaev.core.support.public import public
from chetaev.numerics.graphs.identity_cache import Remembered
from chetaev.numerics.machine.kernels import Kernel, compile_kernel
from chetaev.numerics.methods import METHODS
from chetaev.numerics.methods.base import Method, Task
from chetaev.numerics.methods.compiled_stepper import Strides
from chetaev.numerics.methods.compiled_steps.types import Newton
from chetaev.numerics.methods.dop853.arguments import width_of
from chetaev.numerics.methods.dop853.types import Integers

_ORDER = 4
"""The power of the step with which the estimated error grows."""
_SMALLEST_BAND = 12
"""Fewest components whose Jacobian is stored as a band: fewer are solved as fast with dense factors."""
_STAGES = (0.0, (4 - 6**0.5) / 10, (4 + 6**0.5) / 10, 1.0)
"""The points at which a step evaluates the rates, as parts of the step."""


@public
@METHODS.register
class Implicit(Method):
    """For stiff systems, where an explicit method takes very many small steps: `simulate(..., method=Implicit())`.

    Radau IIA of order 5, on compiled rates with their exact Jacobian. Events, switching, resets and projection work as with the default
    method. Tolerances mean the same, but errors are larger for the same tolerance; states between the nodes come from polynomials of
    degree 3 and are less exact than the nodes, and so are the times of events that neither end nor change the motion.

    Hairer, Wanner, Solving Ordinary Differential Equations II, section IV.8.
    """

    word = "implicit"
    papers = ("Radau",)
    smooth: ClassVar[bool] = False

    def stepper(self, task: Task) -> Strides:
        """Return the object that makes the steps of one smooth piece."""
        kernel, band = _jacobian(task.rates)
        found = Strides(task, "radau", kernel.address, 3, _STAGES, (_room(len(task.y0), band),))
        first = found.sizes.first_step(_ORDER, task.t1 - task.t0)
        found.shorten(task.t0, task.y0, max(first, 100 * float(np.spacing(abs(task.t0)))))
        return found


@dataclass(frozen=True)
class _Band:
    """The order of components in which a matrix has its entries near the diagonal, how far below and above it, and which of its entries
    these are, with their places in the rows of `compiled_steps.bands`; the components that no rate reads, and their entries.
    """

    order: Integers
    lower: int
    upper: int
    inside: Integers
    places: Integers
    found: Integers
    beside: Integers
    rows: Integers
    columns: Integers

    @property
    def width(self) -> int:
        """The length of a row, with room for what an exchange of rows fills."""
        return 2 * self.lower + self.upper + 1


_KNOWN: Remembered[tuple[Kernel, _Band | None]] = Remembered(16)


def _jacobian(rates: ca.Function) -> tuple[Kernel, _Band | None]:
    r"""$\partial f/\partial y$ in machine code, column by column; if it is a band, only its entries that may differ from zero."""

    def made() -> tuple[Kernel, _Band | None]:
        t, x, p = (ca.SX.sym(name, rates.size1_in(i)) for i, name in enumerate("txp"))
        slopes = ca.jacobian(rates(t, x, p), x)
        band = _band_of(slopes.sparsity())
        entries = ca.vec(slopes)
        if band is not None:
            entries = ca.vertcat(*[slopes.nz[k] for k in np.r_[band.inside, band.beside].tolist()])
        return compile_kernel(ca.Function("slopes", [t, x, p], [ca.densify(entries)], {"cse": True})), band

    return _KNOWN.get(rates, (), made)


def _band_of(pattern: ca.Sparsity) -> _Band | None:
    """The band of a Jacobian and a diagonal, in the order of Cuthill and McKee reversed; None where dense factors cost less."""
    n = int(pattern.size1())
    if n < _SMALLEST_BAND:
        return None
    from scipy.sparse import csr_matrix  # which takes a tenth of a second
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    rows, columns = (np.array(which, np.int64) for which in pattern.get_triplet())
    read = np.isin(np.arange(n), columns)
    kept, found = np.flatnonzero(read), np.flatnonzero(~read)
    if not len(kept):
        return None
    within = read[rows]
    inside, beside = np.flatnonzero(within), np.flatnonzero(~within)
    new = np.cumsum(read) - 1
    i, j = new[rows[inside]], new[columns[inside]]
    both = csr_matrix((np.ones(2 * len(i)), (np.r_[i, j], np.r_[j, i])), (len(kept), len(kept)))
    order = reverse_cuthill_mckee(both, True)
    place = np.argsort(order)
    away = place[j] - place[i]
    lower, upper = max(0, -int(away.min(initial=0))), max(0, int(away.max(initial=0)))
    if 6 * lower * (lower + upper) > n * n:
        return None
    places = place[i] * (2 * lower + upper + 1) + away + lower
    return _Band(kept[order].astype(np.int64), lower, upper, inside, places, found, beside, rows[beside], columns[beside])


def _room(n: int, band: _Band | None) -> Newton:
    shape, stages, none = (n, n), np.zeros((4, 3, n)), np.zeros(0, np.int64)
    if band is not None:
        shape = len(band.order), band.width
    square = np.zeros((3, *shape))
    return Newton(
        lower=0 if band is None else band.lower,
        order=none if band is None else band.order,
        places=none if band is None else band.places,
        found=none if band is None else band.found,
        rows=none if band is None else band.rows,
        columns=none if band is None else band.columns,
        diagonal=np.zeros(3),
        sorted=np.zeros((2, shape[0])),
        jacobian=np.zeros(n * n if band is None else len(band.places) + len(band.rows)),
        real=square[0],
        complex_real=square[1],
        complex_imaginary=square[2],
        pivots=np.zeros(n, np.int64),
        complex_pivots=np.zeros(n, np.int64),
        z=stages[0],
        w=stages[1],
        f=stages[2],
        d=stages[3],
        slope=np.zeros(n),
        error=np.zeros(n),
        before=np.zeros((n, width_of(3))),
        past=np.zeros(n),
    )
