"""Writing a model file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from chetaev.core.constraints import by_label
from chetaev.core.errors import ModelError, UsageError
from chetaev.core.scene import Scene, written
from chetaev.core.support.files import require_ending, write_text
from chetaev.core.system import System
from chetaev.io import values
from chetaev.io.wording import Wording
from chetaev.mechanics.model import Model
from chetaev.numerics.motion.settings import described, in_words
from chetaev.numerics.motion.trajectory import Trajectory


def save(model: Model | Trajectory, path: Any) -> Path:
    """Write a model to a file `.toml` that `load` reads back as the same model; or a motion, as `motion.save` does.

    Arrays, numbers of NumPy and a Rotation of SciPy are written as their numbers. What a file cannot hold is refused before one is made.
    """
    if isinstance(model, Trajectory):
        found: Path = model.save(path)
        return found
    if not isinstance(model, Model):
        what = f"save takes a model, not {type(model).__name__}."
        raise UsageError(what, where="save", hint="save(ch.Model(system, principle, parameters=..., start=...), path)")
    require_ending(path, (".toml",), f"save {model.system.label}")
    file, text = Path(path), dumps(model)
    try:
        write_text(file, text)
    except OSError as cause:
        raise ModelError(f"the file cannot be written: {cause.strerror or cause}.", where=f"save {file}", hint="another path") from None
    return file


def dumps(model: Model) -> str:
    """A model in the format of model files: everything as the user wrote it, or else in the notation."""
    system, wording = model.system, Wording(model.system)
    blocks = [_head(model, wording), _table("coordinates", {name: _text(kind) for name, kind in system.kinds.items()})]
    blocks.append(_table("parameters", {p.name: _parameter(p, model) for p in system.parameters}))
    blocks.append(_table("where", {name: _text(wording.part(f"where {name}", e)) for name, e in system.where.items()}))
    blocks.append(_table("quasi", {name: _text(wording.part(f"quasi {name}'", e)) for name, e in system.quasi.items()}))
    inputs = {z.base: "open" if e is None else wording.part(f"input {z.base}", e) for z, e in system.inputs.items()}
    blocks.append(_table("inputs", {name: _text(e) for name, e in inputs.items()}))
    blocks.append(_constraints(system, wording))
    blocks.append(_table("forces", {q.base: _text(wording.part(f"force {q.base}", u)) for q, u in system.forces.items()}))
    blocks.append(_table("principle", values.principle_keys(model.principle)))
    data = {"fixed": model.start.fixed, "guess": model.start.guess}
    blocks.append(_table("initial", {key: _list(_data(part, model)) for key, part in data.items() if part or key == "fixed"}))
    blocks.append(_table("simulate", values.run(model)))
    blocks.append(_table("values", {name: _text(values.function(name, value, model)) for name, value in model.inputs.items()}))
    blocks.append(_table("scale", values.scale(model)))
    blocks.append(_table("gauge", {in_words(name): _text(in_words(value)) for name, value in model.gauge.items()}))
    for event in map(described, model.events):
        blocks.append("[" + _table("events", {key: values.setting(value) for key, value in event.items()}).replace("]", "]]", 1))
    for principle, more in model.also.items():
        blocks.append(
            "[" + _table("compare", {**values.principle_keys(principle), "fixed": _list(_data(more, model))}).replace("]", "]]", 1)
        )
    blocks.append(_table("invariants", {name: _text(e) for name, e in model.invariants.items()}))
    blocks.append(_scene(model.scene))
    return "\n\n".join(block for block in blocks if block) + "\n"


def _head(model: Model, wording: Wording) -> str:
    system = model.system
    lines = {"name": _text(system.name), "lagrangian": _text(wording.lagrangian())}
    if system.dissipation != 0:
        lines["dissipation"] = _text(wording.part("dissipation", system.dissipation))
    if system.action is not None:
        lines["action"] = _text(system.action.base)
    if model.reference:
        lines["reference"] = _text(model.reference)
    if model.corrections:
        lines["corrections"] = _list(model.corrections)
    if model.prose:
        lines["prose"] = _paragraph(model.prose)
    return "\n".join(f"{key} = {value}" for key, value in lines.items())


def _constraints(system: System, wording: Wording) -> str:
    """Lists of rows, and a table of its own for a part whose rows have names."""
    lists, tables = {}, []
    for part, rows, labels in (
        ("kinematic", system.kinematic or None, system.kinematic_labels),
        ("variational", system.variational, system.variational_labels),
    ):
        if rows is None:
            continue
        found = by_label(rows, labels, list(map(wording.row, rows)))
        if isinstance(found, list):
            lists[part] = _list(found)
        else:
            tables.append(_table(f"constraints.{part}", {values.key(label): _text(row) for label, row in found.items()}))
    return "\n\n".join(part for part in (_table("constraints", lists), *tables) if part)


def _scene(scene: Scene | None) -> str:
    """The picture, a line for every shape."""
    if scene is None:
        return ""
    entries = written(scene)
    shapes = "".join(f"  {values.setting(shape)},\n" for shape in entries.pop("shapes"))
    return _table("scene", {**{key: values.setting(value) for key, value in entries.items()}, "shapes": f"[\n{shapes}]"})


def _parameter(symbol: Any, model: Model) -> str:
    """A value; a table where there is more to say, or no value."""
    kind = "positive" if symbol.is_positive else "real"
    if symbol.name not in model.parameters:
        return f'{{kind = "{kind}"}}'
    given = values.constant(symbol.name, model.parameters[symbol.name], model)
    value = _text(given) if isinstance(given, str) else repr(given)
    return value if kind == "real" else f'{{value = {value}, kind = "{kind}"}}'


def _data(given: Mapping[str, Any], model: Model) -> list[str]:
    return [f"{name} = {values.datum(name, value, model)}" for name, value in given.items()]


def _table(name: str, entries: Mapping[str, str]) -> str:
    if not entries:
        return ""
    return "\n".join([f"[{name}]", *[f"{values.key(key)} = {value}" for key, value in entries.items()]])


def _list(texts: Iterable[str]) -> str:
    entries = [_text(text) for text in texts]
    one_line = f"[{', '.join(entries)}]"
    return one_line if len(one_line) < 100 else "[\n" + "".join(f"  {entry},\n" for entry in entries) + "]"


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _paragraph(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return f'"""\n{escaped}"""'
