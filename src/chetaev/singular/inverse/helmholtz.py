r"""Is a system of differential equations the Euler-Lagrange system of a Lagrangian? The Helmholtz conditions for any order.

A form $E_\sigma(t, q, \dots, q_s)$ is variational exactly if the Anderson-Duchamp-Krupka identities, (8.1) of Krupková, hold for
$0 \le k \le s$:

$$ \frac{\partial E_\sigma}{\partial q_k^\nu} - \sum_{j=k}^s (-1)^j \binom{j}{k} D^{j-k} \frac{\partial E_\nu}{\partial q_j^\sigma} = 0. $$

They state that the linearised operator equals its adjoint, so those of $(\nu, \sigma)$ follow from those of $(\sigma, \nu)$. They test the
rows as given: rows in another order, or multiplied by a factor, may be variational if these are not (`integrating_factor`). The input is a
dynamical form, equations, a system or a model, with as many rows as coordinates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import sympy
from sympy import Expr, S

from chetaev.core.errors import ModelError, UsageError
from chetaev.core.fixes import InPython
from chetaev.core.notation import show
from chetaev.core.support.budget import allowance, limited, size, spend
from chetaev.core.support.public import public
from chetaev.core.support.recursion import deep
from chetaev.core.symbols import Jet, jet_name
from chetaev.core.system import System
from chetaev.core.zero import known_zero, vanishes
from chetaev.mechanics.derivation import derive
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.group_charts.chart import require_coordinates
from chetaev.singular.dynamical.dynamical_form import DynamicalForm, form_of, input_values
from chetaev.singular.inverse.lagrangians import Candidate, contracted_lagrangian, homogeneous_lagrangian, minimal_lagrangian, reproduces
from chetaev.singular.inverse.variation import adjoint, linearised, tidy


@dataclass(frozen=True)
class Source:
    r"""Coordinates and rows $E_\sigma$ with the sign of Krupková, and the Lagrangian the rows come from if there is one."""

    coordinates: tuple[Jet, ...]
    rows: tuple[Expr, ...]
    label: str
    lagrangian: Expr | None = None


def read_source(given: Any, verb: str) -> Source:
    """The coordinates and rows of a form, equations, a system or a model."""
    lagrangian: Expr | None = None
    if isinstance(given, DynamicalForm):
        form = form_of(given)  # inputs are replaced by functions of time
    elif isinstance(given, Equations | System) or isinstance(getattr(given, "system", None), System):
        equations = given if isinstance(given, Equations) else derive(given)
        require_coordinates(equations.system, verb)
        form, lagrangian = DynamicalForm.of(equations), _lagrangian(equations)
    else:
        raise UsageError(
            f"{verb} takes a DynamicalForm, Equations, a System or a Model, not {type(given).__name__}.",
            where=verb,
            hint=InPython(f'{verb}(ch.DynamicalForm("q", ["-q\'\' - q"]))'),
        )
    if len(form.coordinates) != len(form.rows):
        raise ModelError(
            f"{len(form.rows)} rows for {len(form.coordinates)} unknowns.",
            where=f"{verb} {form.label}",
            why="The rows of a variational form are indexed by its coordinates.",
            hint="state one row for each coordinate, in their order",
        )
    return Source(form.coordinates, form.rows, form.label, lagrangian)


def _lagrangian(equations: Equations) -> Expr | None:
    """The Lagrangian of equations that are exactly its Euler-Lagrange equations, with inputs replaced by functions; otherwise None."""
    lowered, system = equations.lowered, equations.system
    forced = (
        bool(lowered.reactions)
        or bool(system.equations)
        or lowered.action is not None
        or system.dissipation != 0
        or any(system.forces.values())
    )
    if forced or equations.rewritten is not None or (system.kinematic and not lowered.costates):
        return None
    values = input_values([lowered.lagrangian], system.inputs)
    return None if None in values.values() else lowered.lagrangian.xreplace(values)


_POLISH = 2.0
"""Budget, in seconds of counted operations, for a shorter form of the Lagrangian; beyond it the Lagrangian is correct but longer."""
_LEAST_SECONDS = 0.2
"""Least budget of each part, in seconds of counted operations, even if the whole budget is spent, so that short proofs are always found."""
_SHARE_FOR_LAGRANGIAN = 0.7
"""Fraction of the remaining budget for finding a Lagrangian; the rest is for proofs."""
_WIDEST = 200
"""Largest number of characters of an identity that are printed."""
_SHOWN = 400
"""Operations in an expression above which it is not expanded for reading."""


@dataclass(frozen=True)
class Identity:
    """One identity (8.1): the coordinates sigma and nu, the order k, and the expression that should vanish."""

    sigma: str
    nu: str
    k: int
    expression: Expr
    order: int
    """The highest derivative of sigma in the row of nu: the last term of the identity."""

    @property
    def text(self) -> str:
        """The left-hand side in words of partial derivatives."""
        terms = [f"dE_{self.sigma}/d{jet_name(self.nu, self.k)}"]
        for j in range(self.k, self.order + 1):
            factor, times = int(sympy.binomial(j, self.k)), j - self.k
            partial = f"dE_{self.nu}/d{jet_name(self.sigma, j)}"
            derived = partial if times == 0 else f"D({partial})" if times == 1 else f"D({partial}, {times})"
            terms.append(f"{'+' if j % 2 else '-'} {'' if factor == 1 else f'{factor}*'}{derived}")
        return " ".join(terms)

    def __str__(self) -> str:
        value = show(self.expression)
        if len(value) > _WIDEST:
            value = f"{value[:_WIDEST]} ... ({sympy.count_ops(self.expression)} operations)"
        return f"sigma = {self.sigma}, nu = {self.nu}, k = {self.k}:  {self.text} = {value}"


@public
@dataclass(frozen=True)
class Variationality:
    r"""The answer of `helmholtz`.

    `variational` is True, False, or None if a zero test or the budget did not decide. `violations` are the identities that fail,
    `undecided` those that no test decided. `lagrangian` satisfies $E_\sigma = L_q - D L_{q'} + ...$, verified by forming these
    expressions; `made_by` names the construction. It is None if the form is not variational or no integral was found.
    """

    coordinates: tuple[Jet, ...]
    rows: tuple[Expr, ...]
    variational: bool | None
    violations: tuple[Identity, ...]
    undecided: tuple[Identity, ...]
    lagrangian: Expr | None
    made_by: str
    proved: bool | None
    """Whether the Lagrangian is proved to give the rows; None if that was verified at random points only."""
    complete: bool
    """False if the budget ran out before every identity was tested and every construction tried."""

    def __str__(self) -> str:
        word = {True: "variational", False: "not variational", None: "undecided whether variational"}[self.variational]
        lines = [f"{word}: {' '.join(q.base for q in self.coordinates)}"]
        lines += [f"  violated   {identity}" for identity in self.violations]
        lines += [f"  undecided  {identity}" for identity in self.undecided]
        if self.lagrangian is not None:
            proof = "" if self.proved else "  (checked at random points, not proved)"
            lines.append(f"  L = {show(self.lagrangian)}   ({self.made_by}){proof}")
        elif self.variational is not False:
            lines.append("  no Lagrangian was found in closed form")
        if self.variational is False:
            lines.append("  -> integrating_factor(form) looks for a multiplier that makes it variational")
        if not self.complete:
            lines.append("  the work allowed ran out")
        return "\n".join(lines)


@public
def helmholtz(form: Any, *, seconds: float = 20.0) -> Variationality:
    """Decide whether rows, as given, are the Euler-Lagrange expressions of a Lagrangian, and find it.

    Rows derived from a Lagrangian alone are variational by construction, and that Lagrangian is returned. For others the identities are
    tested. If every term of the rows is homogeneous in the jets, the Lagrangian is that of Vainberg and Tonti; otherwise that of lowest
    order, or that of Vainberg and Tonti about a centre where the form is defined. `reduce_order` lowers the order of any of them.

    Args:
        form: A dynamical form, equations, a system or a model, with one row for each unknown.
        seconds: The budget, counted in operations, so that the answer does not depend on the machine.

    Returns:
        The answer, the identities that fail, and a Lagrangian.

    Raises:
        UsageError: If `form` has no rows.
        ModelError: If the numbers of rows and unknowns differ.

    >>> from chetaev.singular.dynamical.dynamical_form import DynamicalForm
    >>> print(helmholtz(DynamicalForm("q", ["-q'' - b*q' - k*q"], parameters="b k")))
    not variational: q
      violated   sigma = q, nu = q, k = 1:  dE_q/dq' + dE_q/dq' - 2*D(dE_q/dq'') = -2*b
      -> integrating_factor(form) looks for a multiplier that makes it variational
    """
    source = read_source(form, "helmholtz")
    if source.lagrangian is not None:
        own = Candidate(source.lagrangian, "the Lagrangian the rows were derived from", True)
        return _verdict(source.coordinates, source.rows, True, own)
    with deep():
        return decide(source.coordinates, source.rows, seconds)


def decide(coordinates: Sequence[Jet], rows: Sequence[Expr], seconds: float) -> Variationality:
    """`helmholtz` for coordinates and rows.

    A random point where an identity fails refutes. Otherwise a Lagrangian that provably gives the rows is the cheapest proof; only without
    one the identities are proved.
    """
    violated: list[Identity] = []
    doubtful: list[Identity] = []
    found: Candidate | None = None
    with allowance(seconds) as testing:  # identities tested in time are reported
        for identity in identities(coordinates, rows):
            spend(size(identity.expression))
            if identity.expression != 0:
                (doubtful if known_zero(identity.expression) else violated).append(identity)
    complete, left = not testing.expired, seconds - testing.seconds
    if complete and not violated:
        with allowance(max(_LEAST_SECONDS, _SHARE_FOR_LAGRANGIAN * (seconds - testing.seconds))) as building:
            found = lagrangian_of(coordinates, rows)
        complete, left = not building.expired, seconds - testing.seconds - building.seconds
    if found is not None:
        with allowance(_POLISH):  # a shorter form is optional
            found = _polished(found, coordinates, rows)
    undecided: list[Identity] = []
    if not violated and not (found is not None and found.proved):
        undecided = list(doubtful)
        with allowance(max(_LEAST_SECONDS, left)) as proving:
            for identity in doubtful:
                spend(size(identity.expression))
                if vanishes(identity.expression):
                    undecided.remove(identity)
        complete = complete and not proving.expired
    known = not testing.expired and not undecided
    variational = False if violated else True if known else None
    return _verdict(coordinates, rows, variational, found, violated, undecided, complete)


def _verdict(
    coordinates: Sequence[Jet],
    rows: Sequence[Expr],
    variational: bool | None,
    found: Candidate | None,
    violations: Sequence[Identity] = (),
    undecided: Sequence[Identity] = (),
    complete: bool = True,
) -> Variationality:
    lagrangian, made_by, proved = (None, "", None) if found is None else (found.lagrangian, found.made_by, found.proved)
    return Variationality(
        tuple(coordinates), tuple(rows), variational, tuple(violations), tuple(undecided), lagrangian, made_by, proved, complete
    )


def identities(coordinates: Sequence[Jet], rows: Sequence[Expr]) -> Iterator[Identity]:
    """The expressions of (8.1) with sigma not after nu, whether they vanish or not."""
    for i, sigma in enumerate(coordinates):
        for nu, row in list(zip(coordinates, rows, strict=True))[i:]:
            first, second = linearised(rows[i], nu), adjoint(linearised(row, sigma))
            for k in range(max(len(first), len(second))):
                left = first[k] if k < len(first) else S.Zero
                right = second[k] if k < len(second) else S.Zero
                difference = left - right
                if sympy.count_ops(difference) < _SHOWN:
                    difference = tidy(difference)
                yield Identity(sigma.base, nu.base, k, difference, len(second) - 1)


def lagrangian_of(coordinates: Sequence[Jet], rows: Sequence[Expr]) -> Candidate | None:
    """A verified Lagrangian of a form, by the cheapest construction that succeeds."""
    makers = (homogeneous_lagrangian, minimal_lagrangian, contracted_lagrangian)
    return next((made for make in makers if (made := make(coordinates, rows)) is not None), None)


def _polished(found: Candidate, coordinates: Sequence[Jet], rows: Sequence[Expr]) -> Candidate:
    """The Lagrangian in a shorter form, if SymPy finds one that still gives the rows."""
    if all(p.base.is_Symbol for p in found.lagrangian.atoms(sympy.Pow)) and not found.lagrangian.atoms(sympy.Function):
        return found  # powers of symbols have no shorter form
    simplified = limited(sympy.simplify, found.lagrangian, seconds=_POLISH).or_else(found.lagrangian)
    shorter = tidy(simplified)
    if sympy.count_ops(shorter) >= sympy.count_ops(found.lagrangian):
        return found
    return Candidate(shorter, found.made_by, True) if reproduces(shorter, coordinates, rows) else found
