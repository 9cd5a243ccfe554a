"""From a motion to the members of its file."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sympy import Expr

from chetaev.core.certificate import Figure, SignOf
from chetaev.core.errors import ChetaevError, ModelError, UsageError
from chetaev.core.fixes import Ask
from chetaev.core.notation import show
from chetaev.core.parts import AsShown, AsWritten, parts_of
from chetaev.core.scene import written
from chetaev.core.support.version import VERSION as LIBRARY
from chetaev.core.system import System
from chetaev.mechanics.assemble import Row
from chetaev.mechanics.origins import spec_of_origin
from chetaev.mechanics.principles import PRINCIPLES
from chetaev.numerics.methods import METHODS
from chetaev.numerics.motion.reader import Reader
from chetaev.numerics.motion.run_settings import plain
from chetaev.numerics.motion.settings import Asked
from chetaev.numerics.motion.storage.archive import FORMAT, VERSION, Array, write
from chetaev.numerics.motion.storage.specs import written_spec
from chetaev.numerics.motion.trajectory import Trajectory
from chetaev.numerics.slopes.motion_slopes import Slopes
from chetaev.numerics.smooth_pieces.piece import Piece


def write_motion(motion: Trajectory, target: Any) -> None:
    """Write a motion to a path or a stream."""
    where = f"save the motion of {motion.equations.system.label}"
    reader: Any = motion.reader
    if not isinstance(reader, Reader):
        raise UsageError("this motion was not made by simulate or load.", where=where, hint=Ask("save", "ch.simulate(...), path"))
    write(target, _described(motion, reader, where), _arrays(motion, reader))


def _arrays(motion: Trajectory, reader: Reader) -> dict[str, Array]:
    arrays = {"t": motion.t, "states": motion.states, "end_t": np.array([motion.end[0]]), "end_state": motion.end[1]}
    arrays["pieces"] = np.zeros(len(motion.t)) if motion.pieces is None else motion.pieces.astype(float)
    for k, piece in enumerate(reader.pieces):
        arrays[f"first_{k}"] = piece.first
        if reader.dense:
            arrays |= {f"nodes_{k}": piece.run.nodes, f"node_states_{k}": piece.run.states, f"coefficients_{k}": piece.run.coefficients}
    return arrays | ({} if motion.slopes is None else _slopes(motion.slopes, reader.dense))


def _slopes(slopes: Slopes, dense: bool) -> dict[str, Array]:
    """The slopes at the stored times, at the end, and between the nodes of dense output."""
    last = slopes.pieces[-1].run
    arrays: dict[str, Array] = {"end_moves": slopes.end_moves, "last_state": last.y, "last_slopes": last.beside.y}
    for k, (piece, kept) in enumerate(zip(slopes.pieces, slopes.kept, strict=True)):
        arrays[f"slopes_{k}"] = kept
        if dense:
            beside = piece.run.beside
            arrays |= {f"node_slopes_{k}": beside.states, f"slope_coefficients_{k}": beside.coefficients}
    return arrays


def _described(motion: Trajectory, reader: Reader, where: str) -> dict[str, Any]:
    equations, binding = motion.equations, reader.binding
    kept = len(motion.t) > 1
    found: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "chetaev": LIBRARY,
        "system": _written(equations.system, where),
        "principle": written_spec(equations.principle, PRINCIPLES, where),
        "rewritten": None if equations.rewritten is None else [_row(row) for row in equations.rewritten],
        "assumptions": [show(a) for a in equations.assumptions],
        "parameters": {z.name: _number(binding.parameters[z]) for z in equations.system.parameters},
        "inputs": {name: show(e) for name, e in binding.inputs.items() if name not in reader.samples},
        "samples": {name: samples.described for name, samples in reader.samples.items()},
        "t": [_number(motion.t[0]) if kept else None, _number(motion.end[0])],
        "start": {z.name: _number(v) for z, v in zip(motion.jets, motion.states[0], strict=False)} if kept else None,
        "jets": [z.name for z in motion.jets],
        "outcome": motion.outcome.value,
        "message": motion.message,
        "drift": {name: _number(v) for name, v in motion.drift.items()},
        "scales": {name: _number(v) for name, v in motion.scales.items()},
        "certificate": {
            "repeated": motion.certificate.repeated,
            "digits": motion.certificate.digits,
            "beyond": list(motion.certificate.beyond),
            "figures": [_figure(f) for f in motion.certificate.figures],
        },
        "extrema": {name: [_number(a), _number(b)] for name, (a, b) in motion.extrema.items()},
        "events": [{"text": e.text, "t": _number(e.t), "state": {k: _number(v) for k, v in e.state.items()}} for e in motion.events],
        "counts": {name: int(n) for name, n in motion.counts.items()},
        "enclosed": {"nodes": motion.enclosed.nodes, "left_out": motion.enclosed.left_out, "worst": _number(motion.enclosed.worst)},
        "tolerance": _number(motion.tolerance),
        "switches": [{"text": s.text, "t": _number(s.t), "before": s.before, "after": s.after} for s in motion.switches],
        "dense": reader.dense,
        "asked": _asked(motion.asked, where),
        "slopes": None if motion.slopes is None else [by.described for by in motion.slopes.directions.several],
        "scene": None if motion.scene is None else written(motion.scene),
        "pieces": [_piece(piece) for piece in reader.pieces],
    }
    return found


def _asked(asked: Asked | None, where: str) -> dict[str, Any] | None:
    """Return the arguments of the simulation, without values that are neither numbers nor texts, and without unregistered methods."""
    if asked is None:
        return None
    named = written_spec(asked.method, METHODS, where) if asked.method is not None and METHODS.holds(asked.method) else None
    fixed, guess = ({name: _datum(v) for name, v in part.items()} for part in (asked.start.fixed, asked.start.guess))
    t = [_number(v) for v in asked.t]
    return {"fixed": fixed, "guess": guess, "t": t, "method": named, "besides": list(asked.besides), "settings": plain(asked.settings)}


def _datum(given: Any) -> Any:
    if isinstance(given, str):
        return given
    if isinstance(given, Expr):
        return show(given)
    if hasattr(given, "as_matrix"):
        given = given.as_matrix()
    if isinstance(given, list | tuple | np.ndarray) and np.ndim(given):
        return [_datum(part) for part in given]
    return float(given)


def _figure(found: Figure) -> list[Any]:
    """A figure; the function of an event or a switch, whose sign it is about, stands in place of the subject, and a mark behind."""
    signed = isinstance(found.subject, SignOf)
    subject = found.subject.function if isinstance(found.subject, SignOf) else found.subject
    plain = [found.kind, _number(found.size), _number(found.allowed), subject, None if found.t is None else _number(found.t)]
    return [*plain, "sign"] if signed else plain


def _piece(piece: Piece) -> dict[str, Any]:
    """A piece without its arrays. The modes are +1, -1, and 0 while the motion slides."""
    return {
        "modes": list(piece.setting.configuration),
        "renewed": piece.setting.renewed,
        "seated": piece.setting.on_one_component,
        "basis": piece.basis,
        "conserve": piece.project != piece.setting.compiled.project,
        "energy": _number(piece.energy),
        "work": _number(piece.work),
        "t": [_number(piece.begin), _number(piece.end)],
    }


def _written(system: System, where: str) -> dict[str, Any]:
    """The parts of a system as texts: the user's own where they still say the same, else as `show` writes them."""
    for words in (AsWritten(), AsShown()):
        parts = parts_of(system, words)
        try:
            if System.of_parts(parts) == system:
                return parts
        except ChetaevError:
            continue
    raise ModelError("the system cannot be written in the notation.", where=where)


def _row(row: Row[Any]) -> dict[str, Any]:
    return {"lhs": show(row.lhs), "rhs": show(row.rhs), "origin": spec_of_origin(row.origin)}


def _number(v: Any) -> float | str:
    """JSON has no word for NaN and infinity."""
    return float(v) if math.isfinite(v) else str(float(v))
