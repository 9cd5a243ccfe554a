"""Writing a model file.

The user's formulas are written unchanged if they still have the same meaning. A formula may use names from `where` and `quasi`, which the
file defines too. But a system can be changed part by part, and then a formula could have another meaning in the file. So every formula is
read again with the names that the file defines; if the result differs from the expression of the system, the expression is written.

Arrays, NumPy numbers and SciPy rotations are written as numbers. A value that a file cannot contain, or that `evaluate` would not accept,
raises an error before anything is written; the message names the value and an acceptable form.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from sympy import Expr, S

from chetaev.core.declarations import read_value, with_variations
from chetaev.core.errors import ChetaevError, InitialError, ModelError, ParameterError, UsageError, did_you_mean
from chetaev.core.fixes import Ask, InPython, SetInput
from chetaev.core.notation import Vocabulary, parse_row, show
from chetaev.core.parts import PARTS, AsWritten, Kind, parts_of
from chetaev.core.rows.constraints import Constraint, VariationalConstraint
from chetaev.core.sampled import Feedback, Sampled, sampled_pair
from chetaev.core.scene import Scene, written
from chetaev.core.support.files import require_ending, write_text
from chetaev.core.support.letters import spell
from chetaev.core.support.public import public
from chetaev.core.symbols import delta
from chetaev.core.system import System
from chetaev.io.toml import in_toml, principle_keys, written_key
from chetaev.mechanics.model import MODEL_TEXTS, Model, TextForm
from chetaev.mechanics.principles import PRINCIPLES
from chetaev.numerics.graphs.binding import number
from chetaev.numerics.methods import METHODS
from chetaev.numerics.motion.run_settings import RUN_SETTINGS, Form
from chetaev.numerics.motion.trajectory import Trajectory
from chetaev.numerics.start.matrix_element import without_complex_numbers


@public
def save(model: Model | Trajectory, path: Any) -> Path:
    """Write a model to a file `.toml`, which `load` reads back as the same model; or a motion, like `motion.save`.

    Arrays, NumPy numbers and a SciPy Rotation are written as numbers.

    Args:
        model: A model or a motion.
        path: The path of the file.

    Returns:
        The path.

    Raises:
        UsageError: If `model` is of another type, or the extension of `path` is wrong.
        InitialError, ParameterError: If a value is of a type that a file cannot contain.
        ModelError: If the file cannot be written.
    """
    if isinstance(model, Trajectory):
        found: Path = model.save(path)
        return found
    if not isinstance(model, Model):
        what = f"save takes a model, not {type(model).__name__}."
        raise UsageError(what, where="save", hint=Ask("save", "ch.Model(system, principle, parameters=..., start=...), path"))
    require_ending(path, (".toml",), f"save {model.system.label}")
    file, text = Path(path), dumps(model)
    _require_same(text, model)
    try:
        write_text(file, text)
    except OSError as cause:
        raise ModelError(f"the file cannot be written: {cause.strerror or cause}.", where=f"save {file}", hint="another path") from None
    return file


def _require_same(text: str, model: Model) -> None:
    """Raise an error, before a file is written, if `load` would refuse it, or would read another model than the one that is meant."""
    from chetaev.io.reading import loads

    where = f"save {model.system.label}"
    for kind, given, known in (
        ("a parameter", model.parameters, [p.name for p in model.system.parameters]),
        ("an input", model.inputs, [z.base for z in model.system.inputs]),
    ):
        unknown = [str(name) for name in given if spell(str(name)) not in known]
        if unknown:
            raise ParameterError(f"{unknown[0]} is not {kind}.", where=where, hint=did_you_mean(unknown[0], known) or "")
    try:
        found = loads(text, "the file")
    except ChetaevError as fault:
        raise ModelError(f"load would not read this model: {fault.what}", where=where, why=f"({fault.where})", hint=fault.advice) from fault
    for read, meant in zip(found.principles, model.principles, strict=True):
        PRINCIPLES.require_same(read, meant, where)
    if found.method is not None and model.method is not None:
        METHODS.require_same(found.method, model.method, where)
    pairs = zip_longest(text.splitlines(), dumps(found).splitlines())
    other = next((f"the line {line!r} as {again!r}" for line, again in pairs if line != again), "")
    if found.system != model.system or other:
        what = f"load would read {other or 'another system'}."
        raise ModelError(what, where=where, hint="write this part in another way, and report it: such a model should be kept")


def dumps(model: Model, verb: str = "save") -> str:
    """Return `model` in the format of model files: the user's own text where there is one, otherwise the notation.

    Errors about values that a file cannot hold name `verb`.
    """
    where = f"{verb} {model.system.label}"
    blocks = [*_system(model, where), _table("principle", principle_keys(model.principle, where))]
    data = {"fixed": model.start.fixed, "guess": model.start.guess}
    blocks.append(_table("initial", {key: _list(_data(part, model, where)) for key, part in data.items() if part or key == "fixed"}))
    blocks.append(_settings("simulate", _run_settings(model, Form.KEY, where)))
    blocks.append(_table("values", {name: _input(name, value, where) for name, value in model.inputs.items()}))
    blocks += [_settings(name, table) for name, table in _run_settings(model, Form.TABLE, where).items()]
    blocks += [_settings(f"[{name}]", entry) for name, entries in _run_settings(model, Form.LIST, where).items() for entry in entries]
    for principle, more in model.also.items():
        blocks.append(_table("[compare]", {**principle_keys(principle, where), "fixed": _list(_data(more, model, where))}))
    blocks.append(_table("invariants", {name: _text(e) for name, e in model.invariants.items()}))
    blocks.append(_scene(model.scene))
    return "\n\n".join(block for block in blocks if block) + "\n"


def _system(model: Model, where: str) -> Iterator[str]:
    """Yield the top-level keys, then the tables of the system; tables that declare names come first."""
    given = parts_of(model.system, _UserTexts(model.system))
    head = {part.name: given[part.name] for part in PARTS if part.kind in (Kind.WORD, Kind.FORMULA)}
    lines = {name: _text(text) for name, text in head.items() if text is not None}
    written: dict[TextForm, Callable[[Any], str]] = {TextForm.LINE: _text, TextForm.LIST: _list, TextForm.PARAGRAPH: _paragraph}
    lines |= {name: written[form](getattr(model, name)) for name, form in MODEL_TEXTS.items() if getattr(model, name)}
    yield "\n".join(f"{key} = {value}" for key, value in lines.items())
    tables = [part for part in PARTS if part.kind in (Kind.NAMES, Kind.FORMULAS, Kind.UNITS)]
    for part in [part for part in tables if part.declares]:
        entries = {name: _text(part.open_word if e is None else e) for name, e in given[part.name].items()}
        if part.name == "parameters":
            entries = {p.name: _parameter(p, model, where) for p in model.system.parameters}
        yield _table(part.name, entries)
    yield from [_table(f"groups.{written_key(word)}", {k: in_toml(v) for k, v in group.items()}) for word, group in given["groups"].items()]
    yield _constraints({part.name: given[part.name] for part in PARTS if part.kind is Kind.ROWS and given[part.name] != part.default})
    for part in [part for part in tables if not part.declares]:
        yield _table(part.name, {name: _text(e) for name, e in given[part.name].items()})
    for part in [part for part in PARTS if part.kind is Kind.CONTACTS]:
        yield _table(part.name, {name: _list(pair) for name, pair in given[part.name].items()})


def _constraints(given: Mapping[str, list[str] | dict[str, str]]) -> str:
    """Return `[constraints]` with the lists of rows, and a table `[constraints.part]` for every part whose rows have names."""
    lists = {part: _list(rows) for part, rows in given.items() if isinstance(rows, list)}
    tables = [
        _table(f"constraints.{part}", {label: _text(row) for label, row in rows.items()})
        for part, rows in given.items()
        if isinstance(rows, dict)
    ]
    return "\n\n".join(part for part in (_table("constraints", lists), *tables) if part)


def _scene(scene: Scene | None) -> str:
    """Return the table `[scene]`, one line for each shape."""
    if scene is None:
        return ""
    entries = written(scene)
    shapes = "".join(f"  {in_toml(shape)},\n" for shape in entries.pop("shapes"))
    return _table("scene", {**{key: in_toml(value) for key, value in entries.items()}, "shapes": f"[\n{shapes}]"})


def _input(name: str, given: Any, where: str) -> str:
    """Return an input as a text, or as a table of its samples."""
    given = sampled_pair(given)
    if not isinstance(given, Sampled):
        return _text(_function_of_time(name, given, where))
    return in_toml(given.described)


def _parameter(symbol: Any, model: Model, where: str) -> str:
    """Return the value of a parameter, or an inline table where the parameter is declared positive or has no value."""
    kind = "positive" if symbol.is_positive else "real"
    values = {spell(str(name)): value for name, value in model.parameters.items()}
    if symbol.name not in values:
        return f'{{kind = "{kind}"}}'
    given = _constant(symbol.name, values[symbol.name], where)
    value = _text(given) if isinstance(given, str) else repr(given)
    return value if kind == "real" else f'{{value = {value}, kind = "{kind}"}}'


def _data(given: Mapping[str, Any], model: Model, where: str) -> list[str]:
    return [f"{name} = {_datum(name, value, model.system, where)}" for name, value in given.items()]


def _settings(name: str, entries: Mapping[str, Any]) -> str:
    return _table(name, {key: in_toml(value) for key, value in entries.items()})


def _table(name: str, entries: Mapping[str, str]) -> str:
    if not entries:
        return ""
    return "\n".join([f"[{name}]", *[f"{written_key(key)} = {value}" for key, value in entries.items()]])


def _list(texts: Iterable[str]) -> str:
    entries = [_text(text) for text in texts]
    one_line = f"[{', '.join(entries)}]"
    return one_line if len(one_line) < 100 else "[\n" + "".join(f"  {entry},\n" for entry in entries) + "]"


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _paragraph(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return f'"""\n{escaped}"""'


@dataclass(frozen=True)
class _UserTexts(AsWritten):
    """Write the formulas and rows of `system` for a model file."""

    system: System

    def formula(self, text: str, expression: Expr) -> str:
        """Return the user's `text` if it still has the value `expression`, otherwise the expression in the notation."""
        try:
            kept = bool(text) and read_value(text, self.system.vocabulary, "text") == expression
        except ChetaevError:  # the text uses a name that the system no longer has
            kept = False
        return text if kept else show(expression)

    def row(self, row: Constraint | VariationalConstraint) -> str:
        """Return the user's text of `row` if it still gives the row, otherwise the row in the notation."""
        return str(row if self._text_holds(row) else replace(row, text=""))

    def _text_holds(self, row: Constraint | VariationalConstraint) -> bool:
        """Tell whether the text of `row`, read again, gives this row; True for a row without a text."""
        if not row.text:
            return True
        try:
            lhs, rhs = parse_row(row.text, self.system.vocabulary if isinstance(row, Constraint) else self._with_variations)
        except ChetaevError:
            return False
        return (lhs, rhs) == (row.lhs, row.rhs) if isinstance(row, Constraint) else self._coefficients(lhs - rhs) == row.coefficients

    def _coefficients(self, form: Expr) -> dict[object, Expr]:
        flat = dict.fromkeys(map(delta, self.system.coordinates), S.Zero)
        found = {q: form.diff(delta(q)).xreplace(flat) for q in self.system.coordinates if delta(q) in form.free_symbols}
        return {q: c for q, c in found.items() if c != 0}

    @cached_property
    def _with_variations(self) -> Vocabulary:
        return with_variations(self.system.vocabulary, self.system.action)


_MOST_ENTRIES = 256
"""Number of entries of the largest matrix of a group, 16 by 16. A larger array counts as a batch of starts and is refused."""
_MOST_ROWS = 16
"""Number of rows of the largest matrix of a group. A longer column counts as a batch of starts and is refused."""


def _datum(name: str, given: Any, system: System, where: str) -> str:
    """Return the right side of a row `name = value` of initial data."""
    where = f"{where}, start {name}"
    group = system.groups.get(name)
    given = _plain(given if group is None else without_complex_numbers(group, given), name, where)
    if isinstance(given, list) and group is None:
        raise InitialError(
            f"{name} is given as {len(given)} values.",
            where=where,
            why="A model file has the start of a single motion, and a list only for an element of a group.",
            hint="one number; simulate_many takes columns of starts",
        )
    return _listed(given, where)


def _constant(name: str, given: Any, where: str) -> float | str:
    """Return the value of a parameter: a number, or the text that was given."""
    return given if isinstance(given, str) else _number(given, f"{where}, parameter {name}", ParameterError)


def _function_of_time(name: str, given: Any, where: str) -> str:
    """Return the function of time that an open input is bound to."""
    if (callable(given) and not isinstance(given, Expr)) or isinstance(given, Feedback):
        raise ParameterError(
            f"{name} is a Python function, which a model file cannot contain.",
            where=f"{where}, input {name}",
            why="The file of a motion, and a report, have samples of its inputs.",
            hint=("an expression in t: ", SetInput((name,), "sin(2*t)"), "; or ", InPython("motion.save(path)")),
        )
    return _scalar(given, f"{where}, input {name}", ParameterError)


def _run_settings(model: Model, form: Form, where: str) -> dict[str, Any]:
    """Return the settings of the run that have `form` in a model file, by name, as numbers, texts, lists and mappings."""
    kept = [setting for setting in RUN_SETTINGS if setting.form is form]
    found = {setting.name: setting.write(getattr(model, setting.name), where) for setting in kept}
    return {name: value for name, value in found.items() if value is not None}


def _plain(given: Any, name: str, where: str) -> Any:
    """Turn arrays, tuples and objects with `as_matrix`, such as SciPy's Rotation, into lists; return anything else unchanged."""
    if hasattr(given, "as_matrix"):
        given = np.asarray(given.as_matrix(), dtype=float)
    if isinstance(given, np.ndarray) and given.ndim and (given.ndim > 2 or given.size > _MOST_ENTRIES or len(given) > _MOST_ROWS):
        raise InitialError(
            f"{name} is given as an array of shape {given.shape}.",
            where=where,
            why="A model file has the start of a single motion.",
            hint="one number, or one matrix; simulate_many takes columns of starts",
        )
    if isinstance(given, np.ndarray) and given.ndim:
        return given.tolist()
    return [_plain(part, name, where) for part in given] if isinstance(given, list | tuple) else given


def _listed(given: Any, where: str) -> str:
    return f"[{', '.join(_listed(part, where) for part in given)}]" if isinstance(given, list) else _scalar(given, where, InitialError)


def _scalar(given: Any, where: str, kind: type[ChetaevError]) -> str:
    """Return a string unchanged, an expression in the notation, and any other value as a number that reads back exactly."""
    if isinstance(given, str):
        return given
    return show(given) if isinstance(given, Expr) else repr(_number(given, where, kind))


def _number(given: Any, where: str, kind: type[ChetaevError]) -> float:
    if not isinstance(given, Real | Expr) or isinstance(given, bool):
        hint = 'a number, or an expression such as "pi/6"; for an element of a group a NumPy array or a list of these'
        raise kind(f"a value of type {type(given).__name__} cannot be written.", where=where, hint=hint)
    return number(given, {}, where, kind)
