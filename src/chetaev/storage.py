"""Motions in files and tables: save, load, to_pandas, to_xarray.

A saved motion is an `.npz` archive that explains itself. `model.json` in it holds the system in the words of the constructor, the
principle, the values and how the run ended; the other members are plain arrays of numbers, readable by `numpy.load`. Nothing in a file is
ever executed or unpickled: `load` reads texts with the parser of the notation and derives the equations again.

    unzip -p motion.npz model.json
"""

from __future__ import annotations

import json
import math
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from io import BytesIO
from os import PathLike
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

import chetaev
from chetaev.assemble import Row
from chetaev.certificate import Certificate, Figure
from chetaev.derivation import derive
from chetaev.equations import Equations
from chetaev.errors import ChetaevError, ModelError, UsageError
from chetaev.frozen import Frozen
from chetaev.notation import parse_expression, show
from chetaev.numerics.binding import Binding, bind
from chetaev.numerics.compiled import compile_equations
from chetaev.numerics.methods.base import NESTED, POWERS
from chetaev.numerics.modes import SLIDING, Configuration, Switched, smooth
from chetaev.numerics.pieces import Layout, Piece, Setting, setting
from chetaev.numerics.reader import Reader
from chetaev.principles import PRINCIPLES, Herglotz, Principle
from chetaev.symbols import Action, Coordinate, Jet, Multiplier
from chetaev.system import System
from chetaev.trajectory import Event, Outcome, Switch, Trajectory

Array = NDArray[np.float64]

_FORMAT, _VERSION = "chetaev motion", 2
_MODEL = "model.json"
_PARTS = "coordinates parameters lagrangian kinematic variational forces dissipation action inputs where quasi name".split()
_MOST_PIECES = 1_000_000
_LARGEST_MODEL = 64_000_000
"""Bytes of text that are read as a model."""


def save(motion: Trajectory, path: str | PathLike[str]) -> Path:
    """Write a motion, with its model, to an `.npz` file; returns the path. `load` gives the same motion back, dense output included."""
    where = f"save the motion of {motion.equations.system.label}"
    if not isinstance(path, str | PathLike):
        raise UsageError(f"{path!r} is not a path.", where=where, hint='motion.save("motion.npz")')
    target = Path(path)
    try:
        _write(motion, target)
    except OSError as cause:
        raise ModelError(f"the file cannot be written ({cause.strerror}).", where=where, hint="another path") from None
    return target


def _write(motion: Trajectory, target: Path | BytesIO) -> None:
    where = f"save the motion of {motion.equations.system.label}"
    reader: Any = motion.reader
    if not isinstance(reader, Reader):
        raise UsageError("this motion was not made by simulate or load.", where=where, hint="save(ch.simulate(...), path)")
    arrays = {"t": motion.t, "states": motion.states, "end_t": np.array([motion.end[0]]), "end_state": motion.end[1]}
    arrays["pieces"] = np.zeros(len(motion.t)) if motion.pieces is None else motion.pieces
    for k, piece in enumerate(reader.pieces):
        arrays[f"first_{k}"] = piece.first
        if reader.dense:
            arrays |= {f"nodes_{k}": piece.run.nodes, f"node_states_{k}": piece.run.states, f"coefficients_{k}": piece.run.coefficients}
    text = json.dumps(_described(motion, reader, where), indent=1, ensure_ascii=False, allow_nan=False)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:  # a fixed date in each entry: equal motions, equal files
        archive.writestr(zipfile.ZipInfo(_MODEL), text.encode())
        for name, values in arrays.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as stream:
                npy.write_array(stream, np.ascontiguousarray(values, dtype="<f8"), version=(1, 0), allow_pickle=False)


def packed(motion: Trajectory) -> bytes:
    """A motion as the bytes of the file that `save` would write: what pickle carries to another process."""
    stream = BytesIO()
    _write(motion, stream)
    return stream.getvalue()


def unpacked(content: bytes) -> Trajectory:
    """The motion that `packed` gave."""
    with zipfile.ZipFile(BytesIO(content)) as archive:
        return _loaded(_Archive(archive, len(content)))


def load(path: str | PathLike[str]) -> Trajectory:
    """The motion in a file that `save` wrote: equations derived again, every column and expression readable."""
    where = f"load {Path(path).name!r}"
    try:
        with zipfile.ZipFile(path) as archive:
            size = Path(path).stat().st_size
            return _loaded(_Archive(archive, size))
    except ChetaevError as error:
        raise ModelError(f"the model in the file is not valid: {error.what}", where=where, why=f"({error.where})") from error
    except OSError as cause:
        raise ModelError(f"the file cannot be read ({cause.strerror or cause}).", where=where) from None
    except Exception as cause:  # whatever a damaged or hostile file provokes
        detail = f"{type(cause).__name__}: {cause}" if str(cause) else type(cause).__name__
        raise ModelError(f"this is not a motion that save wrote ({detail}).", where=where, hint="save the motion again") from cause


def to_pandas(motion: Trajectory) -> Any:
    """A DataFrame over t: every jet of the state, the accelerations and the multipliers."""
    pandas = _package("pandas", "to_pandas")
    frame = pandas.DataFrame(_columns(motion), index=pandas.Index(motion.t, name="t"))
    frame.attrs.update(_attributes(motion))
    return frame


def to_xarray(motion: Trajectory) -> Any:
    """A Dataset over t: every jet of the state, the accelerations and the multipliers."""
    xarray = _package("xarray", "to_xarray")
    return xarray.Dataset({name: ("t", values) for name, values in _columns(motion).items()}, {"t": motion.t}, _attributes(motion))


# ------------------------------------------------------------ tables


def column_names(motion: Trajectory) -> tuple[str, ...]:
    """The jets a table shows: of each coordinate up to its acceleration, s and s', and the multipliers (their rates if vakonomic)."""
    equations = motion.equations
    least = {Coordinate: 2, Action: 1, Multiplier: int(equations.lowered.vakonomic)}
    standing: dict[Jet, tuple[Jet, ...]] = {}  # a group coordinate itself is shown by its place
    for group in equations.system.groups.values():
        standing |= {q: group.places if k == 0 else () for k, q in enumerate(group.components)}
    names = []
    for z in equations.unknowns:
        known = [w.order for w in motion.jets if w.base == z.base and type(w) is type(z)]
        top = max(least[type(z)], max(known, default=-1) + 1)
        names += [w.name for w in standing[z]] if z in standing else [z.name]
        names += [z.d(k).name for k in range(1, top + 1)]
    return tuple(names)


def _columns(motion: Trajectory) -> dict[str, Array]:
    return {name: motion[name] for name in column_names(motion)}


def _attributes(motion: Trajectory) -> dict[str, str]:
    system = motion.equations.system
    return {
        "system": system.name,
        "lagrangian": system.lagrangian_text or show(system.lagrangian),
        "principle": str(motion.equations.principle),
        "outcome": str(motion.outcome),
        "message": motion.message,
    }


def _package(name: str, verb: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise UsageError(
            f"{verb} needs the package {name}, which is not installed.", where=verb, hint='pip install "chetaev[tables]"'
        ) from None


# ------------------------------------------------------------ from a motion to a text


def _described(motion: Trajectory, reader: Reader, where: str) -> dict[str, Any]:
    equations, binding = motion.equations, reader.binding
    kept = len(motion.t) > 1
    found: dict[str, Any] = {
        "format": _FORMAT,
        "version": _VERSION,
        "chetaev": chetaev.__version__,
        "system": _written(equations.system, where),
        "principle": _named(equations.principle),
        "rewritten": None if equations.rewritten is None else [_row(row) for row in equations.rewritten],
        "assumptions": [show(a) for a in equations.assumptions],
        "parameters": {z.name: _number(v) for z, v in binding.parameters.items()},
        "inputs": {name: show(e) for name, e in binding.inputs.items()},
        "t": [_number(motion.t[0]) if kept else None, _number(motion.end[0])],
        "start": {z.name: _number(v) for z, v in zip(motion.jets, motion.states[0], strict=False)} if kept else None,
        "jets": [z.name for z in motion.jets],
        "outcome": motion.outcome.value,
        "message": motion.message,
        "drift": {name: _number(v) for name, v in motion.drift.items()},
        "scales": {name: _number(v) for name, v in motion.scales.items()},
        "certificate": {
            "repeated": motion.certificate.repeated,
            "figures": [
                [f.kind, _number(f.size), _number(f.allowed), f.subject, None if f.t is None else _number(f.t)]
                for f in motion.certificate.figures
            ],
        },
        "extrema": {name: [_number(a), _number(b)] for name, (a, b) in motion.extrema.items()},
        "events": [{"text": e.text, "t": _number(e.t), "state": {k: _number(v) for k, v in e.state.items()}} for e in motion.events],
        "counts": {name: int(n) for name, n in motion.counts.items()},
        "tolerance": _number(motion.tolerance),
        "switches": [{"text": s.text, "t": _number(s.t), "before": s.before, "after": s.after} for s in motion.switches],
        "dense": reader.dense,
        "pieces": [_piece(piece) for piece in reader.pieces],
    }
    return found


def _figure(found: Figure) -> list[Any]:
    return [found.kind, _number(found.size), _number(found.allowed), found.subject, None if found.t is None else _number(found.t)]


def _piece(piece: Piece) -> dict[str, Any]:
    """A piece without its arrays. The modes are +1, -1, and 0 while the motion slides."""
    return {
        "modes": list(piece.setting.configuration),
        "renewed": piece.setting.renewed,
        "basis": piece.basis,
        "conserve": piece.project != piece.setting.compiled.project,
        "energy": _number(piece.energy),
        "work": _number(piece.work),
        "t": [_number(piece.begin), _number(piece.end)],
    }


def _written(system: System, where: str) -> dict[str, Any]:
    """The parts of a system as texts: the user's own where they still say the same, else as `show` writes them."""
    for own_words in (True, False):
        parts = _parts(system, own_words)
        try:
            if _system(parts) == system:
                return parts
        except ChetaevError:
            continue
    raise ModelError("the system cannot be written in the notation.", where=where)


def _parts(system: System, own_words: bool) -> dict[str, Any]:
    def row(r: Any) -> str:
        return str(r if own_words else replace(r, text=""))

    def formula(title: str, e: Any) -> str:
        return (system.written.get(title, "") if own_words else "") or show(e)

    return {
        "name": system.name,
        "coordinates": dict(system.kinds),
        "parameters": {p.name: "positive" if p.is_positive else "real" for p in system.parameters},
        "lagrangian": (own_words and system.lagrangian_text) or show(system.lagrangian),
        "kinematic": [row(r) for r in system.kinematic],
        "variational": None if system.variational is None else [row(r) for r in system.variational],
        "forces": {q.base: formula(f"force {q.base}", u) for q, u in system.forces.items()},
        "dissipation": formula("dissipation", system.dissipation) if system.dissipation != 0 else None,
        "action": system.action.base if system.action else None,
        "inputs": {z.base: None if u is None else formula(f"input {z.base}", u) for z, u in system.inputs.items()},
        "where": {name: formula(f"where {name}", e) for name, e in system.where.items()},
        "quasi": {name: formula(f"quasi {name}'", e) for name, e in system.quasi.items()},
    }


def _named(principle: Principle) -> dict[str, str]:
    inner = {"inner": principle.inner.word} if isinstance(principle, Herglotz) else {}
    return {"name": principle.word, **inner}


def _row(row: Row[Any]) -> dict[str, str]:
    return {"label": row.label, "lhs": show(row.lhs), "rhs": show(row.rhs), "origin": row.origin}


def _number(v: Any) -> float | str:
    """JSON has no word for NaN and infinity."""
    return float(v) if math.isfinite(v) else str(float(v))


# ------------------------------------------------------------ from a text to a motion


class _Archive:
    """The members of a file, each checked before it is read. Nothing is compressed, so no member is larger than the file."""

    def __init__(self, archive: zipfile.ZipFile, size: int) -> None:
        self.archive, self.size = archive, size

    def model(self) -> dict[str, Any]:
        text = self._bytes(_MODEL, _LARGEST_MODEL)
        model = json.loads(text.decode())
        if not isinstance(model, dict) or model.get("format") != _FORMAT:
            raise ValueError("no model inside")
        if model.get("version") != _VERSION:
            raise ValueError(f"version {model.get('version')!r} of the format is not known here")
        return model

    def array(self, name: str, *shape: int | None) -> Array:
        """An array of floats of a given shape; None leaves a length open."""
        info = self.archive.getinfo(f"{name}.npy")
        self._check(info)
        with self.archive.open(info) as stream:
            if npy.read_magic(stream) != (1, 0):
                raise ValueError(f"{name} is not in version 1.0 of the npy format")
            found, fortran, dtype = npy.read_array_header_1_0(stream)
            rest = info.file_size - stream.tell()
            fits = len(found) == len(shape) and all(want in (None, have) for want, have in zip(shape, found, strict=True))
            if fortran or dtype != np.dtype("<f8") or not fits or 8 * math.prod(found) != rest:
                raise ValueError(f"{name} is an array of shape {found} and type {dtype}")
            return np.frombuffer(stream.read(rest), dtype="<f8").reshape(found).astype(np.float64)

    def _bytes(self, name: str, most: int) -> bytes:
        info = self.archive.getinfo(name)
        self._check(info)
        if info.file_size > most:
            raise ValueError(f"{name} is too large")
        return self.archive.read(info)

    def _check(self, info: zipfile.ZipInfo) -> None:
        if info.compress_type != zipfile.ZIP_STORED or info.file_size > self.size or info.file_size != info.compress_size:
            raise ValueError(f"{info.filename} is compressed")


def _loaded(archive: _Archive) -> Trajectory:
    model = archive.model()
    equations = _equations(model)
    binding = bind(equations.system, _mapping(model, "parameters"), _mapping(model, "inputs"), "parameters")
    switched = smooth(equations, Frozen(binding.inputs))
    jets = compile_equations(switched.smooth).flow.state
    if _texts(model["jets"], "jets") != [z.name for z in jets]:
        raise ValueError("the states are not those of the system")
    dense = model["dense"] is True
    described = _list(model["pieces"], "pieces")
    if not 0 < len(described) < _MOST_PIECES:
        raise ValueError("the pieces are not counted")
    pieces = tuple(_read_piece(archive, k, one, switched, binding, dense) for k, one in enumerate(described))
    layout = Layout(jets, any(piece.setting.flow.has_power for piece in pieces))
    t = _in_order(archive.array("t", None))
    which = archive.array("pieces", len(t)).astype(np.int64)
    if np.any(which < 0) or np.any(which >= len(pieces)):
        raise ValueError("the nodes do not belong to the pieces")
    return Trajectory(
        equations=equations,
        t=t,
        states=archive.array("states", len(t), layout.size),
        end=(float(archive.array("end_t", 1)[0]), archive.array("end_state", layout.size)),
        jets=jets,
        outcome=Outcome(model["outcome"]),
        message=_text(model["message"], "message"),
        drift=Frozen({name: float(v) for name, v in _mapping(model, "drift").items()}),
        extrema=Frozen({name: (float(a), float(b)) for name, (a, b) in _mapping(model, "extrema").items()}),
        events=tuple(_event(e) for e in _list(model["events"], "events")),
        counts=Frozen({name: int(n) for name, n in _mapping(model, "counts").items()}),
        reader=Reader(switched, binding, layout, pieces, dense),
        tolerance=float(model["tolerance"]),
        switches=tuple(_switch(s) for s in _list(model["switches"], "switches")),
        pieces=which,
        scales=Frozen({name: float(v) for name, v in _mapping(model, "scales").items()}),
        certificate=_certificate(_mapping(model, "certificate")),
    )


def _certificate(found: Mapping[str, Any]) -> Certificate:
    figures = [
        Figure(_text(kind, "certificate"), float(size), float(allowed), _text(subject, "certificate"), None if t is None else float(t))
        for kind, size, allowed, subject, t in _list(found["figures"], "certificate")
    ]
    return Certificate(tuple(figures), found["repeated"] is True)


def _equations(model: Mapping[str, Any]) -> Equations:
    """The equations, derived again from the system and the principle's word."""
    named = _mapping(model, "principle")
    inner = named.get("inner")
    principle = _principle(named["name"], None if inner is None else _principle(inner, None))
    equations = derive(_system(_mapping(model, "system")), principle)
    if model["rewritten"] is not None:
        rows = tuple(_read_row(row, equations) for row in _list(model["rewritten"], "rewritten"))
        assumptions = tuple(parse_expression(a, equations.vocabulary, "assumptions") for a in _texts(model["assumptions"], "assumptions"))
        equations = replace(equations, rewritten=rows, assumptions=assumptions)
    return equations


def _principle(word: Any, inner: Principle | None) -> Principle:
    kind = PRINCIPLES[_text(word, "principle")]
    return Herglotz(inner) if kind is Herglotz else kind()


def _system(parts: Mapping[str, Any]) -> System:
    """A system from texts; every part has its one type."""
    unknown = [name for name in parts if name not in _PARTS]
    if unknown:
        raise ValueError(f"a system has no part {unknown[0]!r}")
    optional = {name: None if parts[name] is None else _text(parts[name], name) for name in ("dissipation", "action")}
    return System(
        _named_texts(parts, "coordinates"),
        _named_texts(parts, "parameters"),
        lagrangian=_text(parts["lagrangian"], "lagrangian"),
        kinematic=_texts(parts["kinematic"], "kinematic"),
        variational=None if parts["variational"] is None else _texts(parts["variational"], "variational"),
        forces=_named_texts(parts, "forces"),
        inputs={name: None if v is None else _text(v, "inputs") for name, v in _mapping(parts, "inputs").items()},
        where=_named_texts(parts, "where"),
        quasi=_named_texts(parts, "quasi"),
        name=_text(parts["name"], "name"),
        **optional,
    )


def _read_row(row: Any, equations: Equations) -> Row[Any]:
    label, lhs, rhs, origin = (_text(row[key], key) for key in ("label", "lhs", "rhs", "origin"))
    names = equations.vocabulary
    return Row(label, parse_expression(lhs, names, label), parse_expression(rhs, names, label), origin)


def _read_piece(archive: _Archive, k: int, given: Any, switched: Switched, binding: Binding, dense: bool) -> Piece:
    here = setting(switched, _configuration(given["modes"], len(switched.modes)), binding)
    begin, end = (float(v) for v in given["t"])
    first = archive.array(f"first_{k}", here.compiled.size)
    if given["renewed"] is True:  # the pivots were chosen where the piece begins
        here = here.renew(begin, here.named(first))
    basis = _text(given["basis"], "basis")
    if basis not in (NESTED, POWERS):
        raise ValueError(f"the basis {basis!r} is not known")
    project = here.compiled.conserving() if given["conserve"] is True else here.compiled.project
    run = _run(archive, k, here, basis) if dense else None
    return Piece(here, run, basis, project, float(given["energy"]), float(given["work"]), begin, end, first)


def _configuration(given: Any, count: int) -> Configuration:
    if not isinstance(given, list) or len(given) != count or any(isinstance(m, bool) or m not in (1, -1, SLIDING) for m in given):
        raise ValueError("the modes are not those of the system")
    return tuple(given)


def _run(archive: _Archive, k: int, here: Setting, basis: str) -> Any:
    """The dense output of one piece."""
    size = here.compiled.size
    nodes = _in_order(archive.array(f"nodes_{k}", None))
    states = archive.array(f"node_states_{k}", len(nodes), size)
    rows = 7 if basis == NESTED else None
    return SimpleNamespace(nodes=nodes, states=states, coefficients=archive.array(f"coefficients_{k}", len(nodes) - 1, rows, size))


def _switch(given: Any) -> Switch:
    before, after = (int(given[key]) for key in ("before", "after"))
    if {before, after} - {1, -1, SLIDING}:
        raise ValueError("a mode is +1, -1 or 0")
    return Switch(_text(given["text"], "switch"), float(given["t"]), before, after)


def _event(given: Any) -> Event:
    state = Frozen({name: float(v) for name, v in _mapping(given, "state").items()})
    return Event(_text(given["text"], "event"), float(given["t"]), state)


def _in_order(times: Array) -> Array:
    """Times that never turn back; one that occurs twice is that of a jump."""
    steps = np.diff(times)
    if not len(times) or not np.isfinite(times).all() or not (np.all(steps >= 0) or np.all(steps <= 0)):
        raise ValueError("the times are not in order")
    return times


def _text(given: Any, name: str) -> str:
    if not isinstance(given, str):
        raise TypeError(f"{name} is not a text")
    return given


def _texts(given: Any, name: str) -> list[str]:
    return [_text(v, name) for v in _list(given, name)]


def _list(given: Any, name: str) -> list[Any]:
    if not isinstance(given, list):
        raise TypeError(f"{name} is not a list")
    return given


def _mapping(given: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = given[name]
    if not isinstance(found, dict):
        raise TypeError(f"{name} is not a mapping")
    return found


def _named_texts(given: Mapping[str, Any], name: str) -> dict[str, str]:
    return {key: _text(v, name) for key, v in _mapping(given, name).items()}
