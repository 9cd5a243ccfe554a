"""Writing a model file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from chetaev.constraints import Constraint, VariationalConstraint
from chetaev.errors import UsageError
from chetaev.model import Model
from chetaev.notation import show
from chetaev.principles import Herglotz, Principle
from chetaev.system import System


def save(model: Model, path: Any) -> Path:
    """Write a model to a file that `load` reads back as the same model."""
    if not isinstance(model, Model):
        what = f"save takes a model, not {type(model).__name__}."
        raise UsageError(what, where="save", hint="save(ch.Model(system, principle, parameters=..., start=...), path)")
    file = Path(path)
    file.write_text(dumps(model), encoding="utf-8")
    return file


def dumps(model: Model) -> str:
    """A model in the format of model files: rows as the user wrote them, everything else in the notation."""
    system = model.system
    blocks = [_head(model), _table("coordinates", {name: _text(kind) for name, kind in system.kinds.items()})]
    blocks.append(_table("parameters", {p.name: _parameter(p, model.parameters) for p in system.parameters}))
    blocks += [
        _table(name, {key: _text(show(e)) for key, e in part.items()}) for name, part in (("where", system.where), ("quasi", system.quasi))
    ]
    blocks.append(_table("inputs", {z.base: _text("open" if e is None else show(e)) for z, e in system.inputs.items()}))
    blocks.append(_constraints(system))
    blocks.append(_table("forces", {q.base: _text(show(u)) for q, u in system.forces.items()}))
    blocks.append(_table("principle", _principle(model.principle)))
    data = {"fixed": model.start.fixed, "guess": model.start.guess}
    blocks.append(_table("initial", {key: _list(_data(part)) for key, part in data.items() if part or key == "fixed"}))
    blocks.append(_table("simulate", {"t": f"[{_number(model.t[0])}, {_number(model.t[1])}]", "tolerance": _number(model.tolerance)}))
    blocks.append(_table("values", {name: _text(_shown(value)) for name, value in model.inputs.items()}))
    for principle, more in model.also.items():
        blocks.append("[" + _table("compare", {**_principle(principle), "fixed": _list(_data(more))}).replace("]", "]]", 1))
    blocks.append(_table("invariants", {name: _text(e) for name, e in model.invariants.items()}))
    return "\n\n".join(block for block in blocks if block) + "\n"


def _head(model: Model) -> str:
    system = model.system
    lines = {"name": _text(system.name), "lagrangian": _text(system.lagrangian_text or show(system.lagrangian))}
    if system.dissipation != 0:
        lines["dissipation"] = _text(show(system.dissipation))
    if system.action is not None:
        lines["action"] = _text(system.action.base)
    if model.reference:
        lines["reference"] = _text(model.reference)
    if model.corrections:
        lines["corrections"] = _list(model.corrections)
    if model.prose:
        lines["prose"] = _paragraph(model.prose)
    return "\n".join(f"{key} = {value}" for key, value in lines.items())


def _constraints(system: System) -> str:
    rows = {}
    if system.kinematic:
        rows["kinematic"] = _list(map(_row, system.kinematic))
    if system.variational is not None:
        rows["variational"] = _list(map(_row, system.variational))
    return _table("constraints", rows)


def _row(row: Constraint | VariationalConstraint) -> str:
    return str(row)


def _principle(principle: Principle) -> dict[str, str]:
    found = {"name": _text(principle.word)}
    if isinstance(principle, Herglotz) and principle.inner.word != "hamilton":
        found["inner"] = _text(principle.inner.word)
    return found


def _parameter(symbol: Any, values: Mapping[str, Any]) -> str:
    """A value; a table where there is more to say, or no value."""
    kind = "positive" if symbol.is_positive else "real"
    if symbol.name not in values:
        return f'{{kind = "{kind}"}}'
    value = _value(values[symbol.name])
    return value if kind == "real" else f'{{value = {value}, kind = "{kind}"}}'


def _data(values: Mapping[str, Any]) -> list[str]:
    return [f"{name} = {_shown(value)}" for name, value in values.items()]


def _value(value: Any) -> str:
    return _text(value) if isinstance(value, str) else _number(value)


def _shown(value: Any) -> str:
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_shown, value))}]"
    return value if isinstance(value, str) else _number(value) if isinstance(value, int | float) else show(value)


def _number(value: Any) -> str:
    return repr(float(value))


def _table(name: str, entries: Mapping[str, str]) -> str:
    if not entries:
        return ""
    return "\n".join([f"[{name}]", *[f"{_key(key)} = {value}" for key, value in entries.items()]])


def _key(name: str) -> str:
    return name if name.replace("_", "a").isalnum() and name.isascii() else _text(name)


def _list(texts: Iterable[str]) -> str:
    entries = [_text(text) for text in texts]
    one_line = f"[{', '.join(entries)}]"
    return one_line if len(one_line) < 100 else "[\n" + "".join(f"  {entry},\n" for entry in entries) + "]"


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _paragraph(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return f'"""\n{escaped}"""'
