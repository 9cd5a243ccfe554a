"""from_mechanics: convert an object of `sympy.physics.mechanics` to a system."""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import sympy
from sympy import Expr, Matrix

from chetaev.core.errors import ModelError, UsageError, VelocityWarning
from chetaev.core.fixes import Code, InPython, SetArgument
from chetaev.core.support.frames import level_of_user
from chetaev.core.support.public import public
from chetaev.core.system import System
from chetaev.interop.kinematics import Kinematics, fixed_point
from chetaev.mechanics.ranks.exact import exact_rank

_DIFFERS = 1e-9
"""Relative difference of two velocities at a random state above which they differ; both are computed with 15 digits."""
_WHERE = "from_mechanics"


@dataclass
class _Read:
    """The contents of an object of SymPy before conversion."""

    q: list[Expr]
    u: list[Expr]
    definitions: list[Expr]
    """Expressions in q' and u that vanish."""
    frame: Any
    bodies: list[Any]
    loads: list[Any]
    holonomic: list[Expr]
    velocity: list[Expr]
    """Expressions in q, q' and u that vanish."""
    lagrangian: Expr | None = None
    origin: Any = None
    auxiliary: list[Expr] = field(default_factory=list)


@public
def from_mechanics(obj: Any, *, origin: Any = None, name: str = "") -> System:
    """Convert an object of `sympy.physics.mechanics` to a system.

    The kinetic energy is found from the positions and orientations of the bodies. Declared velocities are compared with the derivatives of
    positions at a random state off the constraints; a `VelocityWarning` names those that differ, such as velocities that already contain
    rolling. Generalised speeds are replaced by the velocities of the coordinates; loads become forces; functions of time that are not
    coordinates become inputs.

    Args:
        obj: A `System`, `LagrangesMethod` or `KanesMethod`, or a model with a method `to_system`, such as those of symbrim, or with an
            attribute `system`.
        origin: A point at rest; by default the fixed point of the system, or one with velocity zero.
        name: The name of the system.

    Returns:
        The system; `derive(system, DAlembert())` has the equations of the object.

    Raises:
        UsageError: If `obj` is of another type.
        ModelError: If positions are missing, speeds are not defined, or two statements of the object contradict each other.

    >>> from sympy import symbols
    >>> from sympy.physics.mechanics import LagrangesMethod, dynamicsymbols
    >>> x, m, k = dynamicsymbols("x"), *symbols("m k")
    >>> print(from_mechanics(LagrangesMethod(m*x.diff()**2/2 - k*x**2/2, [x])).lagrangian)
    -k*x**2/2 + m*x'**2/2
    """
    read = _read(obj)
    origin = origin if origin is not None else read.origin
    slow = _speeds(read)

    def in_velocities(e: Any) -> Expr:
        return sympy.S(e).xreplace(slow)

    kinematics = None
    if read.bodies:
        kinematics = Kinematics(read.frame, origin if origin is not None else fixed_point(read.bodies, read.frame, _WHERE), _WHERE)
    elif read.loads:
        kinematics = Kinematics(read.frame, origin, _WHERE)
    lagrangian = _lagrangian(read, kinematics, in_velocities, guessed=origin is None)
    forces = _forces(read, kinematics, in_velocities) if read.loads and kinematics is not None else {}
    rows = [*read.holonomic, *_independent([in_velocities(e) for e in read.velocity], read)]
    known = {q.func.__name__ for q in read.q}
    everything = [lagrangian, *forces.values(), *rows]
    symbols = sorted({z.name for e in everything for z in e.free_symbols if z != _time()})
    driven = sorted({f.func.__name__ for e in everything for f in e.atoms(sympy.core.function.AppliedUndef)} - known)
    return System(
        [q.func.__name__ for q in read.q],
        symbols,
        lagrangian=lagrangian,
        kinematic=[sympy.Eq(row, 0, evaluate=False) for row in rows],
        forces={q.func.__name__: e for q, e in zip(read.q, forces.values(), strict=False) if e != 0},
        inputs=dict.fromkeys(driven),
        name=name,
    )


def _time() -> Any:
    from sympy.physics.mechanics import dynamicsymbols

    return dynamicsymbols._t


def _read(obj: Any) -> _Read:
    from sympy.physics.mechanics import KanesMethod, LagrangesMethod
    from sympy.physics.mechanics import System as Theirs

    if isinstance(obj, Theirs):
        return _of_system(obj)
    if isinstance(obj, LagrangesMethod):
        return _of_lagrange(obj)
    if isinstance(obj, KanesMethod):
        return _of_kane(obj)
    whole = obj.to_system() if callable(getattr(obj, "to_system", None)) else getattr(obj, "system", None)
    if isinstance(whole, Theirs):  # the attribute `system` of a model with parts may lack the bodies and constraints of the parts
        return _of_system(whole)
    raise UsageError(
        f"{type(obj).__name__} is not a system of sympy.physics.mechanics.",
        where=_WHERE,
        hint=("a System, LagrangesMethod or KanesMethod; for expressions: ", InPython("ch.System(...)"), ", which reads dynamicsymbols"),
    )


def _of_system(given: Any) -> _Read:
    loads = [*given.loads, *[load for actuator in given.actuators for load in actuator.to_loads()]]
    return _Read(
        q=list(given.q),
        u=list(given.u),
        definitions=list(given.kdes),
        frame=given.frame,
        bodies=list(given.bodies),
        loads=loads,
        holonomic=list(given.holonomic_constraints),
        velocity=list(given.nonholonomic_constraints),
        origin=given.fixed_point,
        auxiliary=list(given.u_aux),
    )


def _of_lagrange(given: Any) -> _Read:
    holonomic = list(given._hol_coneqs)
    return _Read(
        q=list(given.q),
        u=[],
        definitions=[],
        frame=given.inertial,
        bodies=list(given._bodies or []),
        loads=list(given._forcelist),
        holonomic=holonomic,
        velocity=list(given.coneqs)[len(holonomic) :],
        lagrangian=given._L[0],
    )


def _of_kane(given: Any) -> _Read:
    speeds = Matrix(given._u)
    definitions = given._k_kqdot_implicit * given._qdot + given._k_ku_implicit * speeds + given._f_k_implicit
    velocity = given._k_nh * speeds + given._f_nh if given._k_nh else []
    bodies = given._bodylist
    if not bodies:
        raise ModelError(
            "this KanesMethod has no bodies.",
            where=_WHERE,
            hint=InPython("KanesMethod(..., bodies=[...], forcelist=[...])"),
        )
    _require_accelerations(given)
    return _Read(
        q=list(given.q),
        u=list(given.u),
        definitions=list(definitions),
        frame=given._inertial,
        bodies=list(bodies),
        loads=list(given._forcelist or []),
        holonomic=list(given._f_h),
        velocity=list(velocity),
        auxiliary=list(given._uaux or []),
    )


def _require_accelerations(given: Any) -> None:
    """Raise a ModelError for acceleration rows that are not the derivatives of the velocity rows.

    Both are solved for the dependent accelerations at a random state that satisfies the velocity rows. With position rows, which that state
    does not satisfy, a difference may be harmless; then there is only a warning that the declared rows are not used.
    """
    rows, speeds, count = given._k_nh, Matrix(given.u), len(given._udep)
    if not count:
        return
    known = given._qdot_u_map or {}
    rest = (rows.diff(_time()) * speeds + given._f_nh.diff(_time())).xreplace(known)
    if (rows, rest) == (given._k_dnh, given._f_dnh):
        return
    own = len(speeds) - count
    point = _random_values([*rows, *given._f_nh, *rest, *given._k_dnh, *given._f_dnh, *speeds])

    def solved(matrix: Matrix, f: Matrix, first: Matrix) -> Matrix:
        numbers = matrix.xreplace(point).evalf()
        return numbers[:, own:].LUsolve(-(numbers[:, :own] * first + f.xreplace(point).evalf()))

    point |= dict(zip(speeds[own:], solved(rows, given._f_nh, Matrix(speeds[:own]).xreplace(point)), strict=True))
    free = Matrix([sympy.Rational(3 + k, 7) for k in range(own)])
    wanted, declared = solved(rows, rest, free), solved(given._k_dnh, given._f_dnh, free)
    if (wanted - declared).norm() <= _DIFFERS * max(wanted.norm(), declared.norm()):
        return
    what = "the acceleration constraints are not the time derivatives of the velocity constraints."
    if not len(given._f_h):
        raise ModelError(what, where=_WHERE, hint=(InPython("KanesMethod(...)"), " without acceleration_constraints computes them"))
    warnings.warn(f"At a state off the position rows, {what} They are not used.", VelocityWarning, stacklevel=level_of_user())


def _require_rigid(read: _Read) -> None:
    """Raise a ModelError for masses and inertias that change with the coordinates, for which Kane's and Lagrange's equations differ."""
    for body in read.bodies:
        inertia = getattr(body, "central_inertia", None)
        own = [sympy.S(body.mass), *([] if inertia is None else inertia.to_matrix(body.frame))]
        point = _random_values(own)
        usual = max(_size(e, point) for e in own)
        for z in (*read.q, *read.u):
            if any(_size(sympy.diff(e, z), point) > _DIFFERS * usual for e in own):
                raise ModelError(
                    f"the mass or the inertia of {body.name} changes with {z.func.__name__}.",
                    where=_WHERE,
                    why="Kane's and Lagrange's equations differ for such a body.",
                    hint=(InPython("ch.System(...)"), " with the intended Lagrangian and forces"),
                )


def _speeds(read: _Read) -> dict[Expr, Expr]:
    """The generalised speeds as functions of velocities; auxiliary speeds are zero."""
    found: dict[Expr, Expr] = dict.fromkeys(read.auxiliary, sympy.S.Zero)
    velocities = {q.diff(_time()) for q in read.q}
    speeds = [u for u in read.u if u not in velocities]
    if not speeds:
        return found
    rows = Matrix([e.xreplace(found) for e in read.definitions])
    matrix = rows.jacobian(speeds) if len(rows) else Matrix.zeros(0, len(speeds))
    pivots = matrix.T.rref()[1] if len(rows) else ()
    if len(pivots) < len(speeds):
        raise ModelError(
            f"the speeds {', '.join(u.func.__name__ for u in speeds[:6])} do not follow from the velocities of the coordinates.",
            where=_WHERE,
            why=f"There are {len(rows)} kinematical differential equations for {len(speeds)} speeds.",
            hint=(InPython("add_kdes(...)"), " with an equation for every speed"),
        )
    chosen = list(pivots)
    rest = rows.xreplace(dict.fromkeys(speeds, sympy.S.Zero))
    found |= dict(zip(speeds, matrix.extract(chosen, list(range(len(speeds)))).LUsolve(-rest.extract(chosen, [0])), strict=True))
    read.velocity += [rows[k].xreplace(found) for k in range(len(rows)) if k not in pivots]  # they restrict the velocities
    return found


def _lagrangian(read: _Read, kinematics: Kinematics | None, in_velocities: Any, guessed: bool) -> Expr:
    """The Lagrangian: as stated, or from the positions of the bodies."""
    if kinematics is None or not read.bodies:
        if read.lagrangian is None:
            raise ModelError("the object has no bodies and no Lagrangian.", where=_WHERE, hint=InPython("add_bodies(...)"))
        return in_velocities(read.lagrangian)
    kinetic = sympy.Add(*[in_velocities(kinematics.kinetic_energy(body)) for body in read.bodies])
    if read.lagrangian is not None:
        _require_inertia(read, kinetic)
        return in_velocities(read.lagrangian)
    _require_rigid(read)
    _compare(read, kinematics, in_velocities, guessed)
    potentials = [body.potential_energy for body in read.bodies]
    if any(v != 0 for v in potentials):
        if read.loads:
            raise ModelError(
                "bodies have potential energies, and there are loads.",
                where=_WHERE,
                why="Kane's equations ignore potential energies; whether the loads contain the same forces is not known.",
                hint="set the potential energies to 0, or omit the loads that they describe",
            )
        return kinetic - in_velocities(sympy.Add(*potentials))
    return kinetic


def _compare(read: _Read, kinematics: Kinematics, in_velocities: Any, guessed: bool) -> None:
    """Warn of declared velocities that differ from those of the positions, at a random state off the constraints.

    Raise a ModelError instead if the fixed point was guessed, as it may be a point of contact whose velocity is declared zero.
    """
    different = []
    for title, (declared, found) in kinematics.declared(read.bodies).items():
        vectors = (declared - found, declared, found)
        parts = [vector.to_matrix(read.frame).applyfunc(in_velocities) for vector in vectors]
        point = _random_values([e for part in parts for e in part])
        off, *usual = (max(_size(e, point) for e in part) for part in parts)
        if off > _DIFFERS * max(usual):
            different.append(title)
    if different:
        listed = ", ".join(different[:6]) + (f" and {len(different) - 6} more" if len(different) > 6 else "")
        if guessed:
            raise ModelError(
                f"with {kinematics.origin} as a fixed point, these are not the derivatives of positions: {listed}.",
                where=_WHERE,
                why=f"The velocity of {kinematics.origin} is declared zero, but a point of contact that rolls is not at rest.",
                hint=(
                    SetArgument("origin", Code("O"), "from_mechanics"),
                    " with a point O at rest, and positions of all bodies relative to it",
                ),
            )
        warnings.warn(
            f"{listed}: the declared value is not the derivative of the position off the constraints; it probably contains a constraint. "
            "The energies are computed from positions, as Lagrange's equations require.",
            VelocityWarning,
            stacklevel=level_of_user(),
        )


def _require_inertia(read: _Read, kinetic: Expr) -> None:
    """Raise a ModelError for a Lagrangian whose dependence on velocities is not that of the bodies."""
    velocities = [q.diff(_time()) for q in read.q]
    assert read.lagrangian is not None  # noqa: S101 - callers check
    point = _random_values([read.lagrangian, kinetic, *velocities])

    def inertia(e: Expr, a: Expr, b: Expr) -> float:
        return _size(sympy.diff(e, a, b), point)

    masses = {a: max(inertia(e, a, a) for e in (read.lagrangian, kinetic)) for a in velocities}
    pairs = [(a, b) for k, a in enumerate(velocities) for b in velocities[k:]]
    if any(inertia(read.lagrangian - kinetic, a, b) > _DIFFERS * math.sqrt(masses[a] * masses[b]) for a, b in pairs):
        raise ModelError(
            "the kinetic energy of the Lagrangian is not that of the bodies, computed from their positions.",
            where=_WHERE,
            why="Velocities that already contain a constraint give a Lagrangian that is correct only on the constraint.",
            hint=(
                "differentiate positions: ",
                InPython("body.masscenter.set_vel(N, body.masscenter.pos_from(O).dt(N))"),
                ", or omit the bodies",
            ),
        )


def _size(e: Expr, point: dict[Any, Any]) -> float:
    """The absolute value of an expression where its symbols have the values of `point`."""
    return abs(complex(e.xreplace(point).evalf()))


def _random_values(expressions: Iterable[Expr]) -> dict[Any, Any]:
    """Random numbers, with a fixed seed, for all symbols, functions of time and their derivatives in the expressions."""
    chance = random.Random(7)
    atoms: set[Any] = set()
    for e in expressions:
        atoms |= e.atoms(sympy.Derivative)
    rest: set[Any] = set()
    for e in expressions:
        rest |= e.free_symbols | e.atoms(sympy.core.function.AppliedUndef)
    return {z: sympy.Rational(chance.randint(20, 130), 100) for z in sorted(atoms | rest, key=str)}


def _forces(read: _Read, kinematics: Kinematics, in_velocities: Any) -> dict[Expr, Expr]:
    """The generalised forces of loads, from partial velocities of positions, or of declared velocities in Lagrange's method."""
    velocities = [q.diff(_time()) for q in read.q]
    found = dict.fromkeys(read.q, sympy.S.Zero)
    for load in read.loads:
        place, vector = load if isinstance(load, tuple) else (getattr(load, "point", None) or load.frame, load.vector)
        if vector == 0:
            continue
        moves = kinematics.load_velocity(place, declared=read.lagrangian is not None)
        for q, v in zip(read.q, velocities, strict=True):
            try:
                found[q] += in_velocities(moves.diff(v, read.frame, var_in_dcm=False) & vector)
            except ValueError:  # SymPy cannot multiply vectors of frames that are not oriented relative to each other
                raise ModelError(
                    f"the load on {place} and the velocity of {place} are vectors of frames without a known orientation.",
                    where=_WHERE,
                    hint=("orient the frames: ", InPython(f"A.orient_axis({read.frame}, ...)")),
                ) from None
    return found


def _independent(rows: Sequence[Expr], read: _Read) -> list[Expr]:
    """The velocity rows that do not follow from the derivatives of holonomic rows; Kane's method lists both."""
    if not read.holonomic:
        return list(rows)
    from chetaev.core.notation.convert import from_sympy

    names = [q.func.__name__ for q in read.q]
    velocities = [q.diff(_time()) for q in read.q]
    derived = [e.diff(_time()) for e in read.holonomic]
    everything = (*rows, *derived, *read.holonomic)  # includes the names of constant terms, which vanish from derivatives
    symbols = sorted({z.name for e in everything for z in e.free_symbols if z != _time()})
    functions = {f.func.__name__ for e in everything for f in e.atoms(sympy.core.function.AppliedUndef)} - set(names)
    blank = System(names, symbols, lagrangian="0", forces={names[0]: f"{names[0]}'"}, inputs=dict.fromkeys(sorted(functions)))

    def read_in(e: Expr) -> Expr:
        return from_sympy(e, blank.vocabulary, _WHERE)

    manifold = [read_in(e) for e in read.holonomic]
    kept: list[Expr] = []
    table = [[read_in(e.diff(v)) for v in velocities] for e in derived]
    known = exact_rank(table, manifold)
    for row in rows:
        wider = [*table, [read_in(row.diff(v)) for v in velocities]]
        rank = exact_rank(wider, manifold)
        if rank is None or known is None or rank > known:
            table, known, kept = wider, rank, [*kept, row]
    return kept
