r"""connect: the extremals that join two ends, found from many seeds and ranked by action.

A boundary value problem of the calculus of variations has many solutions, and Newton's iteration finds an arbitrary one: for the Heisenberg
system from (0, 0, 0) to (1, 0, 3) it may find $\lambda = 10.9959$ instead of the minimiser's $5.2266$. Therefore many seeds are tried,
equal curves are merged, and all paths are returned with their action and conjugate times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import sympy

from chetaev.core.errors import ParameterError, UsageError, about, did_you_mean
from chetaev.core.fixes import InPython, SetArgument
from chetaev.core.notation.lexer import spell
from chetaev.core.support.public import public
from chetaev.core.symbols import Action, Jet, Multiplier
from chetaev.core.system import System
from chetaev.mechanics.derivation import derive
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.model import Model
from chetaev.numerics.graphs.binding import bind, number
from chetaev.numerics.prepared import prepare
from chetaev.orbits.flow import Flow
from chetaev.paths.boundary.attitudes import element_sizes
from chetaev.paths.boundary.counting import check_count, check_reachable
from chetaev.paths.boundary.ends import Array, Boundary, Ends, check_names, read_end
from chetaev.paths.boundary.shooting import Shooting, Shot, Unknowns
from chetaev.paths.boundary.sizes import completed_sizes
from chetaev.paths.path import Paths
from chetaev.paths.properties.paths_in_pieces import in_pieces
from chetaev.paths.properties.ranking import ranked
from chetaev.paths.search.seeds import mirrored, seeds_of
from chetaev.paths.search.transcription import rough_paths
from chetaev.paths.strictly_abnormal import strictly_abnormal

_TOLERANCE = 1e-12
"""Default tolerance of the motions; the residuals of paths are somewhat larger."""
_COARSE = 1e-8
"""Tolerance of the motions far from a path, where accurate ones would take twice as long."""
_WORTH_POLISHING = 1e-3
"""Relative residual up to which a shot is refined with accurate motions; larger ones are local minima of the residual, not paths."""
_SAME_PATH = 1e-8
"""Largest difference of the unknowns, relative to their sizes, of two shots that are the same path."""
_SMALLER = 1e-3
"""Errors of a jet are relative to at least this fraction of its typical size; otherwise a jet that is zero up to round-off would need tiny
steps."""
_MOST_STEPS = 20_000
"""Largest number of steps of a motion during the search. Paths need hundreds; a seed that needs more runs into a singularity."""
_MIRRORED = 6
"""Number of paths whose mirror images are tried as seeds."""
_MET = 1e-9
"""Largest residual of a path, relative to the sizes of the conditions."""
_ROUNDING_RESIDUAL = 1e-12
"""Residual that counts as round-off, however long Newton's next step is."""
_CLOSE = 1e-6
"""Largest Newton step from a path, relative to the sizes. Where paths branch, residuals vanish quadratically, and a small residual does not
mean that a path is near."""
_LARGEST_GROWTH = 1e6
"""Largest size of a motion relative to the data. Larger motions meet the ends only by cancellation, such as an oscillator of amplitude 1e16
over half a period."""


@public
def connect(
    system: Any,
    principle: Any = None,
    start: Mapping[str, Any] | None = None,
    end: Mapping[str, Any] | None = None,
    t: Any = (0, 1),
    parameters: Mapping[str, Any] | None = None,
    seeds: int = 40,
    *,
    periodic: Sequence[str] = (),
    unknown: Mapping[str, Any] | None = None,
    tolerance: float = _TOLERANCE,
) -> Paths:
    r"""Find the motions that join two ends, ordered by action.

    Conditions are values of jets or of expressions: `{"x": 0, "y": 0}`, `{"x^2 + y^2": 4, "y": None}`. None leaves a coordinate free, with
    its transversality condition: its momentum vanishes, not its velocity. Angles are literal, not modulo a turn. A group element is given
    as in a start, `{"A": matrix}`; any number of turns may lead to it. Each end must have a value or None for every coordinate; otherwise
    an error states the number of missing conditions.

    A path may be so unstable that no start in double precision leads to its end. Its motion then consists of pieces: at its events the
    state is reset, by less than the residual.

    Args:
        system: A system or a model.
        principle: The principle; by default that of the model, and none for a system without constraints.
        start: The conditions at the first time. Under Herglotz' principle the action variable needs a value here.
        end: The conditions at the last time.
        t: The interval `(t0, t1)`; `(t0, None)` for a free final time, with the condition that the energy vanishes at the end.
        parameters: Values of the parameters.
        seeds: The number of random starts from which the search begins.
        periodic: Jets with the same value at both ends; if that value is not given, their momenta also agree.
        unknown: Parameters to find: `{"a": (0, 1)}` with bounds, or `{"a": None}`. Each needs one more condition.
        tolerance: The tolerance of the motions.

    Returns:
        The paths, a sequence; if none was found it is empty and has the residual of the best attempt.

    Raises:
        UsageError: For too few, too many or invalid conditions.
        InitialError: For ends that contradict the constraints.
        ParameterError: For a missing or unknown parameter.

    >>> import chetaev as ch
    >>> heisenberg = ch.System("x y z", lagrangian="(x'^2 + y'^2)/2", kinematic=["z' = (x*y' - y*x')/2"])
    >>> paths = connect(heisenberg, ch.Vakonomic(), {"x": 0, "y": 0, "z": 0}, {"x": 1, "y": 0, "z": 3})
    >>> round(paths[0].multipliers["lambda1"], 9), round(paths[0].action, 9)
    (5.2266495, 13.440951173)

    A. Agrachev, D. Barilari, U. Boscain, A Comprehensive Introduction to Sub-Riemannian Geometry (Cambridge 2020).
    """
    equations, values = read_system("connect", system, principle, parameters)
    where = f"connect {equations.system.label}"
    if isinstance(seeds, bool) or not isinstance(seeds, int) or seeds < 1:
        raise UsageError(f"seeds={seeds!r} is not a positive number.", where=where, hint=SetArgument("seeds", 40))
    t0, t1 = _read_times(t, where)
    free, bounds, p = _read_unknown(equations.system, values, unknown, where)
    run = prepare(equations, t=(t0, t0 + 1.0 if t1 is None else t1), tolerance=tolerance)
    boundary = Boundary(equations)
    fixed = {z: float(v) for k, (z, v) in enumerate(zip(equations.system.parameters, p, strict=True)) if k not in free}
    ends = Ends(
        boundary,
        read_end({} if start is None else start, "start", equations, where, fixed),
        read_end({} if end is None else end, "end", equations, where, fixed),
        _read_periodic(periodic, equations, where),
        t1 is None,
        run.inputs,
    )
    check_names(ends, where)
    known = [{**_numbers(e.values, run.parameters, p), **e.places} for e in (ends.start, ends.end)]
    span = 1.0 if t1 is None else t1 - t0
    flow = Flow(equations, run, np.zeros(len(run.jets)), p, np.ones(len(run.jets)), where)
    shooting = Shooting(flow, ends, t1, free, bounds, span)
    shooting = shooting.with_sizes(_sizes(shooting, known))
    scale = {name: _SMALLER * float(size) for name, size in zip(run.state, shooting.flow.sizes, strict=True)}
    shooting = shooting.with_run(prepare(equations, t=run.t, tolerance=tolerance, scale=scale, max_steps=_MOST_STEPS))
    rough = prepare(equations, t=run.t, tolerance=max(tolerance, _COARSE), scale=scale, max_steps=_MOST_STEPS)
    curves = rough_paths(shooting, (known[0], known[1]), seeds)
    tried = seeds_of(shooting, known, seeds, rough)
    tried[1:1] = [curve.start for curve in curves]
    check_count(shooting, tried, where)
    reason = check_reachable(shooting, known, where)
    good, best = _search(shooting, shooting.with_run(rough), tried, known[0])
    paths = ranked(shooting, good, tolerance)
    paths += in_pieces(shooting, curves, paths, tolerance)
    paths += strictly_abnormal(connect, shooting, known, dict(zip(run.parameters, p.tolist(), strict=True)), paths)
    paths.sort(key=lambda path: path.action)
    return Paths(equations, tuple(paths), best, len(tried), "" if paths else reason)


def _search(shooting: Shooting, rough: Shooting, tried: Sequence[Unknowns], given: Mapping[Jet, float]) -> tuple[list[Shot], float]:
    """The distinct shots that meet the ends, and the least residual; `rough` has a coarse tolerance, `shooting` the final one."""
    good: list[Shot] = []
    best = np.inf
    queue = list(tried)
    while queue:
        seed = queue.pop(0)
        near = rough.closest(seed, 10 * _COARSE, good)
        if near is None:
            continue
        shot = shooting.closest(near.at) if near.worst < _WORTH_POLISHING else near
        if shot is None:
            continue
        best = min(best, shot.worst)
        if _is_path(shooting, shot) and all(shooting.distance(shot, other) > _SAME_PATH for other in good):
            good.append(shot)
            queue += mirrored(shooting, shot, given) if len(good) <= _MIRRORED else ()
    return good, float(best)


def _is_path(shooting: Shooting, shot: Shot) -> bool:
    """Whether a shot meets the ends, without cancellation of huge numbers."""
    large = np.abs(np.concatenate([shot.at.y, shot.end])) / np.concatenate([shooting.flow.sizes] * 2)
    return (
        shot.worst < _MET
        and float(large.max(initial=0.0)) < _LARGEST_GROWTH
        and (shot.worst < _ROUNDING_RESIDUAL or shot.next_step < _CLOSE)
    )


def read_system(verb: str, system: Any, principle: Any, parameters: Mapping[str, Any] | None) -> tuple[Equations, dict[str, Any]]:
    """The equations of a system or a model, and the values of its parameters; raise a UsageError for Lie algebras without a group."""
    values = dict(parameters or {})
    if isinstance(system, Model):
        values = {**system.parameters, **values}
        equations = derive(system) if principle is None else derive(system.system, principle)
    elif isinstance(system, Equations):
        equations = system
    elif isinstance(system, System):
        equations = derive(system, principle)
    else:
        hint = InPython(f"{verb}(system, ch.Vakonomic(), ...)")
        raise UsageError(f"{verb} takes a system or a model, not {type(system).__name__}.", where=verb, hint=hint)
    for group in equations.system.groups.values():
        if group.reduced:
            raise UsageError(
                f"{group.name} has no position.",
                where=f"{verb} {equations.system.label}",
                why=f"{group.name} is known only by its velocity; a path leads from one position to another.",
                hint=("a coordinate in a group: ", InPython(f'{{"{group.name}": "SO3 body"}}')),
            )
    return equations, values


def _read_times(t: Any, where: str) -> tuple[float, float | None]:
    hint = (SetArgument("t", (0, 1)), ", or ", SetArgument("t", (0, None)), " for a free final time")
    if not isinstance(t, Sequence) or isinstance(t, str) or len(t) != 2 or t[0] is None:
        raise UsageError(f"t={t!r} is not an interval.", where=about(where, "t"), hint=hint)
    t0 = number(t[0], {}, where, UsageError)
    t1 = None if t[1] is None else number(t[1], {}, where, UsageError)
    if t1 is not None and t1 == t0:
        raise UsageError("the interval is empty.", where=where, hint=hint)
    return t0, t1


def _read_unknown(
    system: System, values: Mapping[str, Any], unknown: Mapping[str, Any] | None, where: str
) -> tuple[tuple[int, ...], tuple[tuple[float, float] | None, ...], Array]:
    names = [str(z.name) for z in system.parameters]
    free: dict[str, tuple[float, float] | None] = {}
    for key, bounds in (unknown or {}).items():
        name = spell(str(key))
        if name not in names:
            raise ParameterError(f"{name} is not a parameter.", where=where, hint=did_you_mean(name, names) or " ".join(names))
        free[name] = None if bounds is None else _read_bounds(bounds, name, where)
    guesses = {name: 1.0 if bounds is None else (bounds[0] + bounds[1]) / 2 for name, bounds in free.items() if name not in values}
    binding = bind(system, {**guesses, **values}, None, where)
    places = tuple(names.index(name) for name in free)
    return places, tuple(free.values()), np.array([float(binding.parameters[z]) for z in system.parameters])


def _read_bounds(bounds: Any, name: str, where: str) -> tuple[float, float]:
    if not isinstance(bounds, Sequence) or isinstance(bounds, str) or len(bounds) != 2:
        raise UsageError(
            f"unknown[{name!r}] = {bounds!r} are not bounds.", where=where, hint=(SetArgument("unknown", {name: (0, 1)}), " or None")
        )
    low, high = (number(b, {}, where, UsageError) for b in bounds)
    if not low < high:
        raise UsageError(f"the bounds of {name} are empty.", where=where, hint=SetArgument("unknown", {name: (0, 1)}))
    return low, high


def _read_periodic(periodic: Sequence[str], equations: Equations, where: str) -> tuple[Jet, ...]:
    if isinstance(periodic, str) or not isinstance(periodic, Sequence):
        raise UsageError(f"periodic={periodic!r} is not a list of names.", where=where, hint=SetArgument("periodic", ["x"]))
    jets = []
    for name in periodic:
        found = equations.vocabulary.coordinate(str(name))
        found = found if found is not None else _jet(name, equations, where)
        jets.append(found)
    return tuple(jets)


def _jet(name: str, equations: Equations, where: str) -> Jet:
    from chetaev.core.declarations import read_value

    found = read_value(name, equations.vocabulary, f"{where}, periodic")
    if not isinstance(found, Jet):
        raise UsageError(f"{name} is not a jet.", where=f"{where}, periodic", hint=SetArgument("periodic", ["x", "x'"]))
    return found


def _numbers(values: Mapping[Jet, Any], names: Sequence[str], p: Array) -> dict[Jet, float]:
    point = dict(zip(names, p.tolist(), strict=True))
    found = {}
    for z, e in values.items():
        found[z] = float(e.xreplace({s: point[s.name] for s in e.free_symbols}))
    return found


def _angles(equations: Equations) -> set[str]:
    """The coordinates in sines and cosines, whose typical size is a radian."""
    system = equations.system
    turned = [f for e in (system.lagrangian, *[row.residual for row in system.kinematic]) for f in e.atoms(sympy.sin, sympy.cos)]
    return {z.base for f in turned for z in f.free_symbols if isinstance(z, Jet) and z.order == 0}


def _sizes(shooting: Shooting, known: Sequence[Mapping[Jet, float]]) -> Array:
    """Typical sizes of the jets of the state.

    Sizes of coordinates come from the values at the ends, those of derivatives from the duration, and those of multipliers from the
    momenta to which they contribute.
    """
    flow, span = shooting.flow, abs(shooting.span)
    start, end = known
    jets = flow.run.jets
    own = element_sizes(flow.equations.system, start, end)
    for base in {z.base for z in jets if not isinstance(z, Multiplier)} - set(own):
        sizes = [0.0]
        for z in {*start, *end}:
            if z.base == base:
                both = [values[z] for values in (start, end) if z in values]
                sizes.append((max(map(abs, both)) if len(both) < 2 or both[0] == both[1] else abs(both[1] - both[0])) * span**z.order)
        own[base] = max(sizes) or float(base in _angles(flow.equations))
    usual = completed_sizes(shooting, own)
    found = np.array([(own.get(z.base) or usual) / span**z.order for z in jets])
    momenta = shooting.ends.momenta
    chance = np.random.default_rng(1)
    lift = [k for k, z in enumerate(jets) if isinstance(z, Multiplier)]
    contact = [k for k, z in enumerate(jets) if isinstance(z, Action)]
    units = np.array(
        [found[jets.index(z)] if z in jets else (own.get(z.base) or usual) / span**z.order for z in shooting.ends.boundary.pairs]
    )
    ratios, works = [], []
    for _ in range(9 if lift or contact else 0):
        y = found * chance.normal(size=len(found))
        for z, v in start.items():
            if z in jets:
                y[jets.index(z)] = v
        y[lift] = 0.0
        y = flow.settled(y) if flow.equations.system.groups else y
        values, slopes = momenta.at(flow.t0, y, flow.p, np.zeros(0))
        work = float(np.abs(values) @ units)
        works.append(work)
        ratios.append([work / (float(np.abs(slopes[1][:, k]) @ units) or np.inf) for k in lift])
    if lift:
        middle = np.median(np.array(ratios), axis=0)
        found[lift] = np.where(np.isfinite(middle) & (middle > 0), middle, 1.0)
    for k in contact:
        found[k] = max(abs(start.get(jets[k], 0.0)), float(np.median(works)) or 1.0)
    return found
