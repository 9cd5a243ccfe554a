r"""Dynamical forms: ordinary differential equations $E_\sigma(t, q, \dots, q_s) = 0$, with or without a Lagrangian.

A dynamical form is $E = E_\sigma\, dq^\sigma \wedge dt$ with

$$ E_\sigma = A_\sigma(t, q, \dots, q_{s-1}) + B_{\sigma\nu}(t, q, \dots, q_{s-1})\, q_s^\nu, $$

(3.1), (3.3) of Krupková. Rows that are not affine in their highest derivatives are rows on $J^{s+1}Y$ with $B = 0$ (remark 3.1). Rows of
first order live on $Y$ if $B$ is antisymmetric and on $J^1Y$, with $s = 2$ and $B = 0$, if it is not (theorem 3.2, remark 3.3). The phase
space is $J^{s-1}Y$. The sign is Krupková's, $E_\sigma = \sum_k (-1)^k D^k\, \partial L/\partial q_k^\sigma$: the negative of the rows of
`Equations`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import sympy
from sympy import Expr, Matrix, S

from chetaev.core.calculus import SYMBOLIC, partials, total_derivative
from chetaev.core.declarations import COORDINATE_KINDS, PARAMETER_KINDS, Names, checked_name, read_names, read_value
from chetaev.core.errors import ModelError, UsageError, about
from chetaev.core.fixes import Ask, InPython, SetInput
from chetaev.core.functions import has_corner_in, in_own_functions
from chetaev.core.notation import Vocabulary, from_sympy, parse_row, show
from chetaev.core.notation.bounds import NOT_FINITE
from chetaev.core.parts import name_of
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.core.support.recursion import deep
from chetaev.core.symbols import TIME, Coordinate, Entry, Input, Jet, Parameter, jets_in, symbols_in
from chetaev.core.system import System
from chetaev.core.zero import vanishes
from chetaev.mechanics.derivation import derive
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.group_charts.chart import in_coordinates, require_coordinates
from chetaev.mechanics.origins import Variation
from chetaev.mechanics.principles import AsStated, Principle, VirtualWork
from chetaev.mechanics.principles.given_forces import require_no_contact


@public
@dataclass(frozen=True, init=False)
class DynamicalForm:
    """Differential equations for some coordinates, of any order.

    >>> cawley = DynamicalForm("q1 q2 q3", ["-q3''", "q2*q3", "q2^2/2 - q1''"])
    >>> cawley.order, [z.name for z in cawley.phase]
    (2, ['q1', 'q2', 'q3', "q1'", "q2'", "q3'"])
    >>> cawley.B
    Matrix([
    [ 0, 0, -1],
    [ 0, 0,  0],
    [-1, 0,  0]])
    """

    coordinates: tuple[Jet, ...]
    parameters: tuple[Parameter, ...]
    rows: tuple[Expr, ...]
    labels: tuple[str, ...] = field(compare=False)
    name: str = field(compare=False)
    variational: bool | None = field(compare=False)
    """True if the rows are known to be the Euler-Lagrange expressions of a Lagrangian; None if that was not tested."""
    inputs: Frozen[Input, Expr | None] = field(default_factory=Frozen)
    """Given functions of time that occur in the rows; None for an input without a function."""
    source: Equations | None = field(default=None, compare=False, repr=False)
    """The equations from which the form was made; None if it was given by rows."""

    def __init__(
        self, coordinates: Any, rows: Sequence[Any], parameters: Any = "", *, inputs: Mapping[Any, Any] | None = None, name: str = ""
    ) -> None:
        """Read the rows.

        Args:
            coordinates: Names or symbols, as in `System`.
            rows: Strings in the notation or SymPy expressions in jets; `lhs = rhs` means `lhs - rhs`.
            parameters: Names or symbols, as in `System`.
            inputs: Given functions of time by name, as in `System`; None for an input that gets its function when equations are evaluated.
            name: The name of the form in messages.

        Raises:
            UsageError: If `rows` is not a list of rows.
            ModelError: If no coordinate is declared, or for an invalid name.
            NotationError: For a text that is not in the notation.
        """
        name = checked_name(name, "dynamical form")
        place = f"dynamical form {name!r}" if name else "dynamical form"
        names = Names(place)
        bases = tuple(Coordinate(n) for n in read_names(coordinates, "coordinate", COORDINATE_KINDS, names))
        kinds = read_names(parameters, "parameter", PARAMETER_KINDS, names)
        constants = {n: Parameter(n, positive=kind == "positive") for n, kind in kinds.items()}
        if not bases:
            raise ModelError(
                "no coordinate is declared.",
                where=about(place, "coordinates"),
                hint=InPython('DynamicalForm("q1 q2", ["-q1\'\'", "q1*q2"])'),
            )
        if isinstance(rows, str) or not isinstance(rows, Sequence) or not rows:
            raise UsageError(
                f"rows are given as {rows!r}.", where=about(place, "rows"), hint=("a list of rows: ", InPython('["-q1\'\'", "q1*q2"]'))
            )
        given = _read_inputs(inputs or {}, names, constants, place)
        jets: dict[str, Jet] = {q.base: q for q in bases} | {z.base: z for z in given}
        vocabulary = Vocabulary(jets=jets, parameters=constants)
        read = tuple(_read_row(row, vocabulary, f"{place}, rows[{k}]") for k, row in enumerate(rows))
        labels = tuple(f"E_{q.base}" for q in bases) if len(bases) == len(read) else tuple(f"rows[{k}]" for k in range(len(read)))
        _fill(self, bases, tuple(constants.values()), read, labels, name, None, inputs=Frozen(given))

    @staticmethod
    def of(given: Any, principle: Principle | None = None) -> DynamicalForm:
        """The form of equations, of a system or of a model: minus the rows $E_i$, then the kinematic rows, then `s' = L`.

        Multipliers, and the action variable of Herglotz' principle, are further coordinates. Rows that come from a Lagrangian, free or
        vakonomic, are then the Euler-Lagrange expressions with Krupková's sign. Inputs given as functions of time are written out.
        A form is written in jets of functions, which the velocities `A1'` of a group coordinate A are not: group coordinates are first
        written in coordinates near the identity (`groups.in_coordinates`), and the form belongs to these.

        Args:
            given: Equations, a system, a model, or a dynamical form, which is returned.
            principle: The principle for a system.

        Raises:
            UsageError: If `given` is none of these.
            ModelError: If an input has no value.
        """
        if isinstance(given, DynamicalForm):
            return given
        system = getattr(given, "system", given)
        return form_of(_in_coordinates(given, principle) if isinstance(system, System) and system.groups else given, principle)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The names that an expression about the form may contain."""
        jets: dict[str, Jet] = {q.base: q for q in self.coordinates} | {z.base: z for z in self.inputs}
        return Vocabulary(jets=jets, parameters={p.name: p for p in self.parameters})

    @cached_property
    def system(self) -> System:
        """The form as a system with equations instead of a Lagrangian; if the numbers
        of rows and coordinates differ, with kinematic rows.
        """
        if not all(isinstance(q, Coordinate) for q in self.coordinates):
            name = next(q.base for q in self.coordinates if not isinstance(q, Coordinate))
            raise ModelError(
                f"{name} is a multiplier or an action variable.",
                where=f"system of {self.label}",
                why="A system declares coordinates; these unknowns belong to the equations from which the form was made.",
                hint=(Ask("derive", "form"), " gives the equations of the form"),
            )
        names: dict[str, Any] = {"coordinates": list(self.coordinates), "parameters": list(self.parameters), "name": self.name}
        names["inputs"] = dict(self.inputs)
        if len(self.rows) == len(self.coordinates):
            return System(**names, equations=dict(zip(self.coordinates, self.rows, strict=True)))
        return System(**names, lagrangian=0, kinematic=list(self.rows), variational=[])

    def as_equations(self) -> Equations:
        """The equations of motion, for `derive(form)`: minus the rows, or the equations from which the form was made."""
        if self.source is not None:
            return self.source
        return derive(self.system, AsStated() if self.system.equations else VirtualWork())

    @property
    def label(self) -> str:
        """The name of the form in messages."""
        return f"'{self.name}'" if self.name else "form"

    @cached_property
    def highest(self) -> int:
        """The order of the highest derivative that occurs."""
        return max((z.order for e in self.rows for z in jets_in(e)), default=0)

    @cached_property
    def affine(self) -> bool:
        """Whether the rows are affine in the derivatives of highest order."""
        top = [q.d(self.highest) for q in self.coordinates]
        return not self.highest or all(_affine(e, top) for e in self.rows)

    @cached_property
    def order(self) -> int:
        """The order $s$ of remark 3.3: rows are affine in the derivatives of order $s$, and the phase space is $J^{s-1}Y$."""
        if not self.affine:
            return self.highest + 1
        if self.highest > 1:
            return self.highest
        square = len(self.rows) == len(self.coordinates)
        b = self._slopes(1)
        return 1 if square and all(vanishes(e) is True for e in (b + b.T)) else 2

    @cached_property
    def phase(self) -> tuple[Jet, ...]:
        """The coordinates of the phase space $J^{s-1}Y$ besides time."""
        return tuple(q.d(k) for k in range(self.order) for q in self.coordinates)

    @property
    def dimension(self) -> int:
        """The dimension $ms + 1$ of the phase space, time included."""
        return len(self.phase) + 1

    @cached_property
    def B(self) -> Matrix:  # noqa: N802 - the paper's letter
        r"""The matrix $B_{\sigma\nu} = \partial E_\sigma / \partial q_s^\nu$ of (5.8)."""
        return self._slopes(self.order)

    @cached_property
    def A(self) -> Matrix:  # noqa: N802 - the paper's letter
        r"""The column $A_\sigma$ of (3.3)."""
        top = [q.d(self.order) for q in self.coordinates]
        return Matrix([SYMBOLIC.without(e, top) for e in self.rows])

    @cached_property
    def B_and_A(self) -> Matrix:  # noqa: N802 - the paper's letters
        """The matrix $(B|A)$ of (5.8)."""
        return self.B.row_join(self.A)

    @cached_property
    def lepage(self) -> Any:
        """A Lepage 2-form of the form, with the matrices $F$ and $(F|A)$ and its distributions: see `chetaev.singular.dynamical.lepage`."""
        from chetaev.singular.dynamical.lepage import lepage

        return lepage(self)

    def representative(self, eta: Any) -> Any:
        r"""The member of the Lepage class with the 2-contact form $\eta$: a `Form`, or `{("x", "y"): "x*y'"}`.

        Args:
            eta: A 2-contact form, or its coefficients by pairs of names.

        Raises:
            UsageError: If `eta` is not 2-contact, or contains jets of too high an order.
        """
        from chetaev.singular.dynamical.lepage import member

        return member(self, eta)

    def total(self, expression: Expr, times: int = 1) -> Expr:
        """The total derivative $D$.

        Args:
            expression: An expression in jets of the coordinates.
            times: The number of derivatives.
        """
        return total_derivative(expression, times)

    def __str__(self) -> str:
        width = max(len(label) for label in self.labels)
        head = f"{self.name or 'dynamical form'} of order {self.order} for {' '.join(q.base for q in self.coordinates)}"
        note = "" if self.affine else f"  not affine in order {self.highest}: rows on the jets of order {self.order}, with B = 0"
        lines = [head, *[f"  {label:<{width}}  {show(e)}" for label, e in zip(self.labels, self.rows, strict=True)]]
        return "\n".join([*lines, note] if note else lines)

    def __repr__(self) -> str:
        return f"<DynamicalForm {self.label} of order {self.order}: {len(self.rows)} rows for {' '.join(q.base for q in self.coordinates)}>"

    def _slopes(self, order: int) -> Matrix:
        top = [q.d(order) for q in self.coordinates]
        none = dict.fromkeys(top, S.Zero)
        return Matrix([[g.xreplace(none) for g in SYMBOLIC.gradient(e, top)] for e in self.rows])


def _fill(
    form: DynamicalForm,
    coordinates: tuple[Jet, ...],
    parameters: tuple[Parameter, ...],
    rows: tuple[Expr, ...],
    labels: tuple[str, ...],
    name: str,
    variational: bool | None,
    *,
    inputs: Frozen[Input, Expr | None] | None = None,
    source: Equations | None = None,
) -> DynamicalForm:
    values = {"coordinates": coordinates, "parameters": parameters, "rows": rows, "labels": labels, "name": name}
    more = {"variational": variational, "inputs": Frozen() if inputs is None else inputs, "source": source}
    for key, value in {**values, **more}.items():
        object.__setattr__(form, key, value)
    return form


def _read_inputs(given: Mapping[Any, Any], names: Names, constants: Mapping[str, Parameter], place: str) -> dict[Input, Expr | None]:
    """The inputs with their functions of time and parameters."""
    known = Vocabulary(parameters=constants)
    declared = {Input(names.declare(name_of(key), "input")): value for key, value in given.items()}
    return {z: None if e is None else read_value(e, known, f"{place}, inputs[{z.base!r}]") for z, e in declared.items()}


def _read_row(given: Any, vocabulary: Vocabulary, where: str) -> Expr:
    if isinstance(given, str):
        lhs, rhs = parse_row(given, vocabulary, where)
        return lhs - rhs
    if isinstance(given, sympy.Eq):
        return from_sympy(given.lhs, vocabulary, where) - from_sympy(given.rhs, vocabulary, where)
    return from_sympy(given, vocabulary, where)


def _affine(e: Expr, top: Sequence[Jet]) -> bool:
    """Whether an expression is provably affine in some jets; False if undecided, because raising the order is always correct."""
    inside = symbols_in(e)
    present = [z for z in top if z in inside]
    if has_corner_in(e, present):
        return False
    curved = any(vanishes(in_own_functions(second)) is not True for slope in partials(e, present) for second in partials(slope, present))
    if curved:
        return False
    rest = SYMBOLIC.without(e, present)
    return not rest.has(*NOT_FINITE)


def _in_coordinates(given: Any, principle: Principle | None) -> Equations:
    """Equations of a system with group coordinates, in coordinates near the identity."""
    if isinstance(given, Equations) and given.rewritten is not None:
        require_coordinates(given.system, "a dynamical form")
    own = getattr(given, "principle", principle)
    return derive(in_coordinates(getattr(given, "system", given)), own)


def form_of(given: Any, principle: Principle | None = None) -> DynamicalForm:
    """The form of equations, of a system or of a model; velocities `A1'` of group coordinates are treated as those of coordinates.

    This is correct for ranks and constraints, but not for the question whether a form is variational.
    """
    if isinstance(given, DynamicalForm):
        return _written_out(given)
    if not isinstance(given, System | Equations) and not isinstance(getattr(given, "system", None), System):
        raise UsageError(
            f"a DynamicalForm, Equations, a System or a Model is needed, not {type(given).__name__}.",
            where="dynamical form",
            hint=InPython('ch.DynamicalForm("q", ["-q\'\' - q"])'),
        )
    equations = given if isinstance(given, Equations) else derive(given, principle)
    system, lowered = equations.system, equations.lowered
    require_no_contact(system, "the dynamical form of")
    if any(isinstance(z, Entry) for row in equations.rows for z in row.residual.free_symbols):
        require_coordinates(system, "a dynamical form")
    with deep():
        rows, labels = [], []
        for row in equations.rows:
            rows.append(-row.residual if isinstance(row.origin, Variation) else row.residual)
            labels.append(row.label)
        if _only_a_form(equations):  # keep the stated rows and inputs
            form = DynamicalForm.__new__(DynamicalForm)
            stated, named = tuple(system.equations.values()), tuple(f"E_{q.base}" for q in system.coordinates)
            return _fill(
                form, system.coordinates, system.parameters, stated, named, system.name, None, inputs=system.inputs, source=equations
            )
        if not lowered.reactions and not system.kinematic and equations.rewritten is None:
            varied = equations.variations
            others = [(row.residual, row.label) for row in equations.rows if not isinstance(row.origin, Variation)]
            rows = [
                *[-varied.get(q.base, S.Zero) for q in system.coordinates],
                *[e for e, _ in others],
            ]  # zero for one that L does not contain
            labels = [*[f"E_{q.base}" for q in system.coordinates], *[label for _, label in others]]
        written = _inputs_written_out(rows, system.inputs, equations.system.label)
    free = lowered.action is None and not lowered.reactions and not system.forces and system.dissipation == 0
    known = (
        free
        and not system.equations
        and equations.rewritten is None
        and not system.groups
        and (bool(lowered.costates) or not system.kinematic)
    )
    form = DynamicalForm.__new__(DynamicalForm)
    variational = True if known else None
    return _fill(form, equations.unknowns, system.parameters, tuple(written), tuple(labels), system.name, variational, source=equations)


def _only_a_form(equations: Equations) -> bool:
    """Whether the equations are those of a dynamical form without forces and constraints."""
    system = equations.system
    return bool(system.equations) and not (system.forces or system.dissipation != 0 or system.kinematic or equations.rewritten)


def _written_out(form: DynamicalForm) -> DynamicalForm:
    """The form with its inputs replaced by functions of time, so that it depends on jets of its coordinates only."""
    if not form.inputs:
        return form
    rows = tuple(_inputs_written_out(form.rows, form.inputs, form.label))
    made = DynamicalForm.__new__(DynamicalForm)
    return _fill(made, form.coordinates, form.parameters, rows, form.labels, form.name, form.variational, source=form.source)


def _inputs_written_out(rows: Sequence[Expr], inputs: Any, label: str) -> list[Expr]:
    """The rows with every input replaced by the function of time it stands for, derivatives included."""
    values = input_values(rows, inputs)
    missing = next((z.base for z, value in values.items() if value is None), None)
    if missing is not None:
        raise ModelError(
            f"the input {missing} has no value.",
            where=about(f"dynamical form of {label}", "inputs", missing),
            why="Constraints are differentiated in time, which needs a formula for the input.",
            hint=(SetInput((missing,), "sin(t)"), ", or a coordinate for an unknown quantity"),
        )
    return [e.xreplace(values) for e in rows]


def input_values(expressions: Sequence[Expr], inputs: Mapping[Input, Expr | None]) -> dict[Jet, Expr | None]:
    """The functions of time for the jets of inputs in `expressions`, by name; None for an input without a function."""
    given = {z.base: e for z, e in inputs.items()}
    found: dict[Jet, Expr | None] = {}
    for z in sorted({z for e in expressions for z in jets_in(e, Input)}, key=lambda z: z.name):
        value = given.get(z.base)
        found[z] = value if value is None or not z.order else in_own_functions(value.diff(TIME, z.order))
    return found
