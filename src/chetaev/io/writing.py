"""Writing a model file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from chetaev.core.errors import ModelError, UsageError
from chetaev.core.parts import PARTS, Kind, parts_of
from chetaev.core.scene import Scene, written
from chetaev.core.support.files import require_ending, write_text
from chetaev.io import values
from chetaev.io.wording import Wording
from chetaev.mechanics.model import Model
from chetaev.numerics.motion.settings import described, in_words
from chetaev.numerics.motion.trajectory import Trajectory


def save(model: Model | Trajectory, path: Any) -> Path:
    """Write a model to a file `.toml`, which `load` reads back as the same model; or a motion, as `motion.save` does.

    Arrays, NumPy numbers and a SciPy Rotation are written as their numbers.

    Args:
        model: A model or a motion.
        path: The path of the file.

    Returns:
        The path.

    Raises:
        UsageError: If `model` is neither, contains something that a file cannot hold, or the ending of `path` is wrong.
        ModelError: If the file cannot be written.
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
    blocks = [*_system(model), _table("principle", values.principle_keys(model.principle))]
    data = {"fixed": model.start.fixed, "guess": model.start.guess}
    blocks.append(_table("initial", {key: _list(_data(part, model)) for key, part in data.items() if part or key == "fixed"}))
    blocks.append(_table("simulate", {name: values.setting(value) for name, value in values.run(model).items()}))
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


def _system(model: Model) -> Iterator[str]:
    """The keys of the file, then the tables of the system: those that declare names come first."""
    given = parts_of(model.system, Wording(model.system))
    head = {part.name: given[part.name] for part in PARTS if part.kind in (Kind.WORD, Kind.FORMULA)}
    lines = {name: _text(text) for name, text in head.items() if text is not None}
    if model.reference:
        lines["reference"] = _text(model.reference)
    if model.corrections:
        lines["corrections"] = _list(model.corrections)
    if model.prose:
        lines["prose"] = _paragraph(model.prose)
    yield "\n".join(f"{key} = {value}" for key, value in lines.items())
    tables = [part for part in PARTS if part.kind in (Kind.NAMES, Kind.FORMULAS)]
    for part in [part for part in tables if part.declares]:
        entries = {name: _text(part.open_word if e is None else e) for name, e in given[part.name].items()}
        if part.name == "parameters":
            entries = {p.name: _parameter(p, model) for p in model.system.parameters}
        yield _table(part.name, entries)
    yield _constraints({part.name: given[part.name] for part in PARTS if part.kind is Kind.ROWS and given[part.name] != part.default})
    for part in [part for part in tables if not part.declares]:
        yield _table(part.name, {name: _text(e) for name, e in given[part.name].items()})


def _constraints(given: Mapping[str, list[str] | dict[str, str]]) -> str:
    """Lists of rows, and a table of its own for a part whose rows have names."""
    lists = {part: _list(rows) for part, rows in given.items() if isinstance(rows, list)}
    tables = [
        _table(f"constraints.{part}", {label: _text(row) for label, row in rows.items()})
        for part, rows in given.items()
        if isinstance(rows, dict)
    ]
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
