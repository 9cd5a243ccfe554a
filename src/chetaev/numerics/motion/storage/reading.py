"""Reading a motion from the members of a file: equations are derived again, and every key and kind of value is checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from chetaev.core.certificate import Certificate, Figure, SignOf
from chetaev.core.notation import parse_expression
from chetaev.core.sampled import Sampled
from chetaev.core.scene import read_scene
from chetaev.core.state import State
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.plain import list_of, mapping, require_keys, text_of, texts
from chetaev.core.system import System
from chetaev.mechanics.assemble import Row
from chetaev.mechanics.derivation import derive
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.origins import origin_of_spec
from chetaev.mechanics.principles import PRINCIPLES
from chetaev.numerics.corners.mode import SLIDING, Configuration
from chetaev.numerics.corners.modes import Switched, smooth
from chetaev.numerics.driving.schedule import Schedule, schedule
from chetaev.numerics.flow.prolongation import square_prolongation
from chetaev.numerics.graphs.binding import Binding, bind
from chetaev.numerics.methods import METHODS
from chetaev.numerics.methods.base import NESTED, POWERS
from chetaev.numerics.motion.reader import Reader
from chetaev.numerics.motion.run_settings import RUN_SETTINGS
from chetaev.numerics.motion.settings import Asked
from chetaev.numerics.motion.storage.archive import Archive, Array
from chetaev.numerics.motion.storage.specs import read_spec
from chetaev.numerics.motion.trajectory import Enclosed, Event, Outcome, Switch, Trajectory
from chetaev.numerics.slopes.directions import Directions, direction_of
from chetaev.numerics.slopes.motion_slopes import Integers, Slopes
from chetaev.numerics.slopes.variation import lanes_for
from chetaev.numerics.smooth_pieces.piece import ComponentState, Layout, Piece, Setting, setting

_KEYS = (
    "format version chetaev system principle rewritten assumptions parameters inputs t start jets outcome message drift extrema events "
    "counts tolerance switches dense pieces enclosed scales certificate asked scene slopes samples"
).split()
_PIECE = "modes renewed seated basis conserve energy work t".split()
_MOST_PIECES = 1_000_000
"""Most pieces of a motion that are read, a limit for hostile files; motions have at most one per step."""
_OVERFLOWING = 1e150
"""A component of a state above which the polynomial of its step may hold no finite numbers, since squares overflow: in the last step of a
motion that grows without bound. With a larger value such a motion could be saved and not be loaded."""


def read_motion(archive: Archive) -> Trajectory:
    """The motion that an archive holds."""
    model = archive.model()
    require_keys(model, _KEYS, "the file")
    equations = _equations(model)
    described = list_of(model["pieces"], "pieces")
    if not 0 < len(described) < _MOST_PIECES:
        raise ValueError("the pieces are not counted")
    samples = {name: _samples(one) for name, one in mapping(model.get("samples", {}), "samples").items()}
    binding = bind(equations.system, _mapping(model, "parameters"), _mapping(model, "inputs") | dict.fromkeys(samples, 0), "parameters")
    plan = _schedule(equations, samples, described) if samples else None
    driven, binding = (equations, binding) if plan is None else plan.first(binding)
    switched = smooth(driven, Frozen(binding.inputs))
    dense = model["dense"] is True
    pieces = tuple(_read_piece(archive, k, one, switched, _from(one, binding, plan), dense) for k, one in enumerate(described))
    first = pieces[0].setting
    jets = first.flow.state if first.on_one_component else setting(switched, tuple(m or 1 for m in first.configuration), binding).flow.state
    if texts(model["jets"], "jets") != [z.name for z in jets]:
        raise ValueError("the states are not those of the system")
    layout = Layout(jets, any(piece.setting.flow.has_power for piece in pieces))
    t = _in_order(archive.array("t", None))
    which = archive.array("pieces", len(t)).astype(np.int64)
    if np.any(which < 0) or np.any(which >= len(pieces)):
        raise ValueError("the nodes do not belong to the pieces")
    slopes = None if model.get("slopes") is None else _slopes(archive, model["slopes"], switched, layout, pieces, which, dense)
    return Trajectory(
        equations=equations,
        t=t,
        states=archive.array("states", len(t), layout.size),
        end=(float(archive.array("end_t", 1)[0]), archive.array("end_state", layout.size)),
        jets=jets,
        outcome=Outcome(model["outcome"]),
        message=text_of(model["message"], "message"),
        drift=Frozen({name: float(v) for name, v in _mapping(model, "drift").items()}),
        extrema=Frozen({name: (float(a), float(b)) for name, (a, b) in _mapping(model, "extrema").items()}),
        events=tuple(_event(e) for e in list_of(model["events"], "events")),
        counts=Frozen({name: int(n) for name, n in _mapping(model, "counts").items()}),
        reader=Reader(switched, binding, layout, pieces if slopes is None else slopes.pieces, dense, Frozen(samples)),
        slopes=slopes,
        tolerance=float(model["tolerance"]),
        switches=tuple(_switch(s) for s in list_of(model["switches"], "switches")),
        pieces=which,
        enclosed=_enclosed(model),
        scales=Frozen({name: float(v) for name, v in _mapping(model, "scales").items()}),
        certificate=_certificate(_mapping(model, "certificate")),
        asked=_asked(model["asked"]),
        scene=None if model.get("scene") is None else read_scene(_mapping(model, "scene"), _in_scene),
    )


def _samples(given: Any) -> Sampled:
    """The samples of an input."""
    require_keys(given, ("times", "values", "interpolation", "origin"), "samples")
    times, values = (map(float, list_of(given[key], key)) for key in ("times", "values"))
    return Sampled(times, values, text_of(given["interpolation"], "interpolation"), text_of(given.get("origin", ""), "origin"))


def _schedule(equations: Equations, samples: Mapping[str, Sampled], described: list[Any]) -> Schedule:
    """The schedule of inputs from the beginning of the first piece to the end of the last one."""
    first, last = (mapping(described[k], "a piece")["t"] for k in (0, -1))
    return schedule(equations, samples, float(first[0]), float(last[1]), 1.0, "a motion file")


def _from(piece: Any, binding: Binding, plan: Schedule | None) -> Binding:
    """The values with which a piece begins."""
    if plan is None:
        return binding
    return replace(binding, parameters={**binding.parameters, **plan.values(float(mapping(piece, "a piece")["t"][0]), None)})


def _in_scene(key: str, shape: int | None) -> str:
    return f"a motion file, scene{'' if shape is None else f', shape {shape}'}, {key}"


def _enclosed(model: Mapping[str, Any]) -> Enclosed:
    given = _mapping(model, "enclosed")
    nodes, left_out = (tuple(texts(given[name], name)) for name in ("nodes", "left_out"))
    shortened = int(_mapping(model, "counts").get("shortened", 0))
    return Enclosed(float(given["worst"]), shortened, partial(_pair, nodes, left_out))


def _pair(nodes: tuple[str, ...], left_out: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return nodes, left_out


def _figure(kind: Any, size: Any, allowed: Any, subject: Any, t: Any, mark: Any = "") -> Figure:
    text = text_of(subject, "certificate")
    about = SignOf(text) if mark == "sign" else text
    return Figure(text_of(kind, "certificate"), float(size), float(allowed), about, None if t is None else float(t))


def _certificate(found: Mapping[str, Any]) -> Certificate:
    figures = [_figure(*given) for given in list_of(found["figures"], "certificate")]
    beyond = tuple(texts(found.get("beyond", []), "certificate"))
    return Certificate(tuple(figures), found["repeated"] is True, found.get("digits") is True, beyond)


def _asked(given: Any) -> Asked | None:
    if given is None:
        return None
    require_keys(given, ("fixed", "guess", "t", "method", "besides", "settings"), "what was asked")
    times = tuple(float(v) for v in list_of(given["t"], "t"))
    method = None if given["method"] is None else read_spec(given["method"], METHODS, "a motion file, method")
    fixed, guess = ({name: _datum(v) for name, v in _mapping(given, kind).items()} for kind in ("fixed", "guess"))
    besides, settings = tuple(texts(given["besides"], "besides")), _settings(given.get("settings", {}))
    return Asked(State(fixed, guess), times, method, besides, settings)


def _settings(given: Any) -> Frozen[str, Any]:
    """Read the settings of the run, and check the kind of each. Files of earlier versions have none."""
    require_keys(given, _SETTINGS, "the settings")
    return Frozen({name: _SETTINGS[name].stored(value) for name, value in given.items()})


_SETTINGS = {setting.name: setting for setting in RUN_SETTINGS if setting.name not in Asked.__annotations__}
"""The settings that are not fields of `Asked`, by name."""


def _datum(given: Any) -> Any:
    """A number, a text, or lists of these for an element of a group."""
    if isinstance(given, list):
        return tuple(map(_datum, given))
    return float(given) if isinstance(given, int | float) and not isinstance(given, bool) else text_of(given, "a value")


def _equations(model: Mapping[str, Any]) -> Equations:
    """The equations, derived again from the system and the principle's word."""
    principle = read_spec(_mapping(model, "principle"), PRINCIPLES, "a motion file, principle")
    equations = derive(System.of_parts(_mapping(model, "system")), principle)
    if model["rewritten"] is not None:
        rows = tuple(_read_row(row, equations) for row in list_of(model["rewritten"], "rewritten"))
        assumptions = tuple(parse_expression(a, equations.vocabulary, "assumptions") for a in texts(model["assumptions"], "assumptions"))
        equations = replace(equations, rewritten=rows, assumptions=assumptions)
    return equations


def _read_row(row: Any, equations: Equations) -> Row[Any]:
    require_keys(row, ("lhs", "rhs", "origin"), "a row")
    lhs, rhs = (text_of(row[key], key) for key in ("lhs", "rhs"))
    try:
        origin = origin_of_spec(row["origin"])
    except (KeyError, TypeError, AttributeError) as wrong:
        raise ValueError("the origin of a row is not known") from wrong
    names = equations.vocabulary
    return Row(origin, parse_expression(lhs, names, origin.label), parse_expression(rhs, names, origin.label))


def _read_piece(archive: Archive, k: int, given: Any, switched: Switched, binding: Binding, dense: bool) -> Piece:
    require_keys(given, _PIECE, "a piece")
    begin, end = (float(v) for v in given["t"])
    configuration = _configuration(given["modes"], len(switched.modes))
    here = setting(switched, configuration, binding, _seat(archive, switched, configuration, begin, k) if given["seated"] else None)
    first = archive.array(f"first_{k}", here.compiled.size)
    if given["renewed"] is True:  # the pivots were chosen where the piece begins
        here = here.renew(begin, here.named(first))
    basis = text_of(given["basis"], "basis")
    if basis not in (NESTED, POWERS):
        raise ValueError(f"the basis {basis!r} is not known")
    project = here.compiled.conserving() if given["conserve"] is True else here.compiled.project
    run = _run(archive, k, here, basis) if dense else None
    return Piece(here, run, basis, project, float(given["energy"]), float(given["work"]), begin, end, first)


def _seat(archive: Archive, switched: Switched, configuration: Configuration, begin: float, k: int) -> ComponentState:
    """Return the state where a piece begins, on its component of the constraint set."""
    stated = square_prolongation(switched.equations(configuration))
    if stated is None:
        raise ValueError("the equations have no component of a state")
    return ComponentState(begin, dict(zip(stated.structure.state, map(float, archive.array(f"first_{k}", None)), strict=False)))


def _configuration(given: Any, count: int) -> Configuration:
    if not isinstance(given, list) or len(given) != count or any(isinstance(m, bool) or m not in (1, -1, SLIDING) for m in given):
        raise ValueError("the modes are not those of the system")
    return tuple(given)


def _run(archive: Archive, k: int, here: Setting, basis: str) -> Any:
    """The dense output of one piece."""
    size = here.compiled.size
    nodes = _in_order(archive.array(f"nodes_{k}", None))
    states = archive.array(f"node_states_{k}", len(nodes), size)
    rows = 7 if basis == NESTED else None
    coefficients = archive.array(f"coefficients_{k}", len(nodes) - 1, rows, size, finite=False)
    huge = np.maximum(np.abs(states[:-1]), np.abs(states[1:])).max(axis=1, initial=0.0) > _OVERFLOWING
    if not np.isfinite(coefficients[~huge]).all():
        raise ValueError(f"coefficients_{k} holds a number that is not finite")
    return SimpleNamespace(nodes=nodes, states=states, coefficients=coefficients)


def _slopes(
    archive: Archive, given: Any, switched: Switched, layout: Layout, pieces: tuple[Piece, ...], which: Integers, dense: bool
) -> Slopes:
    """The slopes of a motion, and its pieces with the slopes that were integrated together with their states."""
    directions = Directions(tuple(direction_of(_direction(one), switched.original) for one in list_of(given, "slopes")))
    k = len(directions)
    kept, beside = [], []
    for number, piece in enumerate(pieces):
        m = len(piece.setting.flow.state)
        kept.append(archive.array(f"slopes_{number}", int((which == number).sum()), m, k, finite=False))
        beside.append(_with_slopes(archive, number, piece, m * lanes_for(k)) if dense else piece)
    last = beside[-1]
    y = archive.array("last_state", last.setting.compiled.size)
    ends = archive.array("last_slopes", len(last.setting.flow.state) * lanes_for(k), finite=False)
    run = {} if last.run is None else {**vars(last.run)}
    run = {**run, "y": y, "beside": SimpleNamespace(**{**vars(run.get("beside", SimpleNamespace())), "y": ends})}
    beside[-1] = replace(last, run=SimpleNamespace(**run))
    return Slopes(directions, switched, layout, tuple(beside), tuple(kept), archive.array("end_moves", k, finite=False))


def _direction(given: Any) -> dict[str, Any]:
    require_keys(given, ("name", "parameter", "jet", "group", "component"), "a direction of slopes")
    return {key: value if key == "component" else text_of(value, key) for key, value in given.items()}


def _with_slopes(archive: Archive, k: int, piece: Piece, size: int) -> Piece:
    """A piece of dense output with the slopes at its nodes and their polynomials."""
    nodes = len(piece.run.nodes)
    states = archive.array(f"node_slopes_{k}", nodes, size, finite=False)
    coefficients = archive.array(f"slope_coefficients_{k}", nodes - 1, piece.run.coefficients.shape[1], size, finite=False)
    return replace(piece, run=SimpleNamespace(**vars(piece.run), beside=SimpleNamespace(states=states, coefficients=coefficients)))


def _switch(given: Any) -> Switch:
    require_keys(given, ("text", "t", "before", "after"), "a switch")
    before, after = (int(given[key]) for key in ("before", "after"))
    if {before, after} - {1, -1, SLIDING}:
        raise ValueError("a mode is +1, -1 or 0")
    return Switch(text_of(given["text"], "switch"), float(given["t"]), before, after)


def _event(given: Any) -> Event:
    require_keys(given, ("text", "t", "state"), "an event")
    state = Frozen({name: float(v) for name, v in _mapping(given, "state").items()})
    return Event(text_of(given["text"], "event"), float(given["t"]), state)


def _in_order(times: Array) -> Array:
    """Return the times, which must be monotonic; the time of a jump occurs twice."""
    steps = np.diff(times)
    if not len(times) or not (np.all(steps >= 0) or np.all(steps <= 0)):
        raise ValueError("the times are not in order")
    return times


def _mapping(given: Mapping[str, Any], name: str) -> dict[str, Any]:
    return mapping(given[name], name)
