"""The schema of model files: tables, keys and the kinds of their values."""

from __future__ import annotations

from typing import Any

from chetaev.core.errors import ModelError, PrincipleError, did_you_mean
from chetaev.core.fixes import sentences
from chetaev.core.parts import PARTS, Kind
from chetaev.core.support.plain import ANY, CONSTANTS, CONTACTS, MATRICES, NUMBER, NUMBERS, ROWS, SETTING, TEXT, TEXTS, fits
from chetaev.io.places import line_of, place
from chetaev.mechanics.model import MODEL_TEXTS, TextForm
from chetaev.mechanics.principles import PRINCIPLES
from chetaev.numerics.motion.run_settings import RUN_SETTINGS, Form

TOP: dict[str, str] = {
    **{part.name: TEXT for part in PARTS if part.kind in (Kind.WORD, Kind.FORMULA)},
    **{name: TEXTS if form is TextForm.LIST else TEXT for name, form in MODEL_TEXTS.items()},
}
"""Keys above the first table."""

FIXED: dict[str, dict[str, str]] = {
    "constraints": {part.name: ROWS for part in PARTS if part.kind is Kind.ROWS},
    "initial": {"fixed": TEXTS, "guess": TEXTS},
    "simulate": {setting.name: setting.kind for setting in RUN_SETTINGS if setting.form is Form.KEY},
}
"""Tables with a fixed set of keys."""

NAMED: dict[str, str] = {
    **{part.name: TEXT for part in PARTS if part.kind in (Kind.NAMES, Kind.FORMULAS, Kind.UNITS)},
    "parameters": ANY,
    "values": TEXT,
    "invariants": TEXT,
    **{setting.name: setting.kind for setting in RUN_SETTINGS if setting.form is Form.TABLE},
}
"""Tables whose keys are the user's names; `values` has functions for inputs that the system declares without one."""

UNILATERAL = {part.name: CONTACTS for part in PARTS if part.kind is Kind.CONTACTS}
"""Tables, or lists, of inequalities with coefficients of restitution."""

COMPARE: dict[str, str] = {"fixed": TEXTS}
"""Keys of an entry of `compare` besides its principle: the additional initial data that the principle needs."""

GROUP: dict[str, str] = {"basis": MATRICES, "brackets": CONSTANTS, "dimension": NUMBER}
"""Keys of a table `[groups.G]`: a basis of matrices, or brackets with the dimension."""

SAMPLES: dict[str, str] = {"times": NUMBERS, "values": NUMBERS, "interpolation": TEXT, "origin": TEXT}
"""Keys of an input that is given by samples."""

LISTED = {setting.name: dict(setting.keys) for setting in RUN_SETTINGS if setting.form is Form.LIST}
"""Lists of tables, with the keys of an entry."""


def check(data: dict[str, Any], source: str, text: str) -> None:
    """Raise a ModelError with the location of the first unknown key or value of the wrong kind."""
    tables = {*FIXED, *NAMED, *LISTED, "principle", "compare", "scene", "groups", *UNILATERAL}
    for key, value in data.items():
        if key in TOP:
            _require(value, TOP[key], place(source, text, "", key))
        elif key in UNILATERAL:
            _require(value, UNILATERAL[key], place(source, text, "", key))
        elif key == "principle":
            _check_table(value, key, _keys_of_principle(value, place(source, text, key, "name")), source, text)
        elif key in FIXED:
            _check_table(value, key, FIXED[key], source, text)
        elif key in NAMED:
            _check_named(value, key, source, text)
        elif key == "compare":
            for k, entry in enumerate(_tables(value, key, source, text)):
                named = _keys_of_principle(entry, place(source, text, key, "name", k))
                _check_table(entry, key, {**named, **COMPARE}, source, text, k)
        elif key in LISTED:
            for k, entry in enumerate(_tables(value, key, source, text)):
                _check_table(entry, key, LISTED[key], source, text, k)
        elif key == "groups":  # checked by the system
            for word, entry in value.items() if isinstance(value, dict) else [(key, value)]:
                _check_table(entry, f"{key}.{word}", GROUP, source, text)
        elif key == "scene":  # `read_scene` checks its keys
            if not isinstance(value, dict):
                raise _wrong(value, "a table [scene]", place(source, text, "", key))
        else:
            line = place(source, text, "", key) if line_of(text, "", key) is not None else place(source, text, key)
            if key == "plot":
                raise ModelError("plot is not a key of the file.", where=line, hint="a picture is described in a table [scene]")
            raise _unknown(key, [*TOP, *tables], line, "the file")


def _check_table(value: Any, table: str, keys: dict[str, str], source: str, text: str, occurrence: int = 0) -> None:
    if not isinstance(value, dict):
        raise _wrong(value, f"a table [{table}]", place(source, text, "", table))
    for key, entry in value.items():
        where = place(source, text, table, key, occurrence)
        if key not in keys:
            raise _unknown(key, list(keys), where, f"[{table}]")
        _require(entry, keys[key], where)


def _check_named(value: Any, table: str, source: str, text: str) -> None:
    if not isinstance(value, dict):
        raise _wrong(value, f"a table [{table}]", place(source, text, "", table))
    for key, entry in value.items():
        where = place(source, text, table, key)
        if table == "parameters" and isinstance(entry, dict):
            if not {"kind"} <= set(entry) <= {"value", "kind"} or not isinstance(entry["kind"], str):
                raise ModelError(
                    f"{key} is not a parameter.", where=where, hint=f'{key} = 1.5, or {key} = {{value = 1.5, kind = "positive"}}'
                )
            entry = entry.get("value", 0)
        if table == "values" and not isinstance(entry, str):
            _check_samples(entry, key, where)
            continue
        _require(entry, NAMED[table], where)


def _check_samples(entry: Any, name: str, where: str) -> None:
    """Check the samples of an input, which are a table."""
    if not isinstance(entry, dict):
        raise ModelError(
            f"{name} is not an input.", where=where, hint=f'{name} = "sin(t)", or {name} = {{times = [0, 1], values = [0, 2.5]}}'
        )
    for key, value in entry.items():
        if key not in SAMPLES:
            raise _unknown(key, list(SAMPLES), where, f"the samples of {name}")
        _require(value, SAMPLES[key], where)


def _tables(value: Any, key: str, source: str, text: str) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise _wrong(value, f"a list of tables [[{key}]]", place(source, text, key))
    return value


def _keys_of_principle(value: Any, where: str) -> dict[str, str]:
    """Return the keys of a table that names a principle: `name`, and the settings of that principle; an unknown word is an error."""
    name = value.get("name") if isinstance(value, dict) else None
    if not isinstance(name, str):
        return {"name": TEXT}
    try:
        kind = PRINCIPLES.kind_of(name, where)
    except PrincipleError as unknown:
        raise ModelError(unknown.what, where=where, why=unknown.why, hint=unknown.advice) from None
    return {"name": TEXT, **dict.fromkeys(kind.setting_names(), SETTING)}


def _require(value: Any, kind: str, where: str) -> None:
    if not fits(value, kind):
        raise _wrong(value, kind, where)


def _wrong(value: Any, kind: str, where: str) -> ModelError:
    shown = {bool: "a truth value", int: "a number", float: "a number", str: "a text", list: "a list", dict: "a table"}
    return ModelError(f"{kind} is expected here, not {shown.get(type(value), 'a date')}.", where=where)


def _unknown(key: str, known: list[str], where: str, inside: str) -> ModelError:
    hint = sentences(did_you_mean(key, known), f"Known: {' '.join(sorted(known))}")
    return ModelError(f"{key} is not a key of {inside}.", where=where, hint=hint)
