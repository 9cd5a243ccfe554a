"""Reading a model file."""

from __future__ import annotations

import math
import re
import tomllib
from functools import cached_property
from pathlib import Path
from typing import Any

from chetaev.errors import ChetaevError, ModelError, NotationError, ParameterError, did_you_mean
from chetaev.io.places import place
from chetaev.io.schema import check
from chetaev.model import Model
from chetaev.notation import Vocabulary, parse_expression
from chetaev.numerics.initial import State
from chetaev.principles import PRINCIPLES, Herglotz, Principle
from chetaev.symbols import Parameter
from chetaev.system import System

LARGEST_FILE = 1_000_000
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_PARTS = {"kinematic": "constraints.kinematic", "variational": "constraints.variational"}


def load(path: Any) -> Model:
    """The model a file holds. Nothing in it is run, and nothing else is read.

    Errors name the file, the table and the line.
    """
    file = Path(path)
    try:
        size = file.stat().st_size
        raw = b"" if size > LARGEST_FILE else file.read_bytes()
    except OSError as cause:
        raise ModelError(f"the file cannot be read: {cause.strerror or cause}.", where=str(path)) from None
    if size > LARGEST_FILE:
        raise ModelError(f"the file has {size} bytes; at most {LARGEST_FILE} are read.", where=file.name)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as cause:
        raise NotationError(f"byte {cause.start} is not UTF-8.", where=file.name, hint="save the file as UTF-8 text") from None
    return loads(text, file.name)


def loads(text: str, source: str = "model") -> Model:
    """The model a text in the format of model files describes."""
    if len(text) > LARGEST_FILE:
        raise ModelError(f"the text has {len(text)} characters; at most {LARGEST_FILE} are read.", where=source)
    data = _parsed(text, source)
    check(data, source, text)
    return _File(data, text, source).model()


def _parsed(text: str, source: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as cause:
        message, _, at = str(cause).partition(" (at ")
        line = re.search(r"line (\d+)", at)
        where = f"{source}, line {line[1]}" if line else f"{source}, at its end"
        raise NotationError(
            f"this is not TOML: {message[:1].lower()}{message[1:]}.", where=where, hint="check quotes and brackets"
        ) from None
    except RecursionError:
        raise NotationError("the brackets are nested too deeply.", where=source) from None
    except ValueError as cause:  # a number with thousands of digits
        raise NotationError(f"a number cannot be read ({cause}).", where=source) from None


class _File:
    """A file whose keys and kinds are right; its mathematics may not be."""

    def __init__(self, data: dict[str, Any], text: str, source: str) -> None:
        self.data, self.text, self.source = data, text, source

    def model(self) -> Model:
        simulate = self.data.get("simulate", {})
        return Model(
            self._system(),
            self._principle(self.data.get("principle", {}), "principle"),
            parameters={name: self._value(name, e) for name, e in self.data.get("parameters", {}).items() if _has_value(e)},
            start=State(self._initial("fixed"), self._initial("guess")),
            t=self._interval(simulate.get("t", [0.0, 10.0])),
            tolerance=self._positive(simulate.get("tolerance", 1e-9)),
            inputs=self.data.get("values", {}),
            also=self._also(),
            invariants=self.data.get("invariants", {}),
            prose=self.data.get("prose", ""),
            reference=self.data.get("reference", ""),
            corrections=tuple(self.data.get("corrections", [])),
        )

    def _system(self) -> System:
        data = self.data
        for key in ("lagrangian", "coordinates"):
            if key not in data:
                raise ModelError(f"{key} is missing.", where=self.source, hint='lagrangian = "..." and a table [coordinates]')
        constraints = data.get("constraints", {})
        inputs = {name: None if value == "open" else value for name, value in data.get("inputs", {}).items()}
        try:
            return System(
                coordinates=data["coordinates"],
                parameters={name: e["kind"] if isinstance(e, dict) else "real" for name, e in data.get("parameters", {}).items()},
                lagrangian=data["lagrangian"],
                kinematic=constraints.get("kinematic", []),
                variational=constraints.get("variational"),
                forces=data.get("forces"),
                dissipation=data.get("dissipation"),
                action=data.get("action"),
                inputs=inputs,
                where=data.get("where"),
                quasi=data.get("quasi"),
                name=data.get("name", ""),
            )
        except ChetaevError as fault:
            fault.where = self._place_of(fault.where)
            raise

    def _place_of(self, where: str) -> str:
        """A part of a system, `system 'x', kinematic[0]`, as a place in the file."""
        part = where.rpartition(", ")[2] if ", " in where else ""
        found = re.fullmatch(r"([a-z]+)(?:\.(\w+))?(?:\[(\d+)\])?", part)
        if not found:
            return self.source
        name, key, index = found.groups()
        table, _, inner = _PARTS.get(name, name).rpartition(".") if key is None else (name, "", key)
        return place(self.source, self.text, table, inner, index=int(index) if index else None)

    def _principle(self, given: dict[str, Any], table: str, occurrence: int = 0) -> Principle:
        where = place(self.source, self.text, table, "name", occurrence)
        if "name" not in given:
            raise ModelError(
                "no principle is named.", where=place(self.source, self.text, table), hint=f"name = one of {' '.join(PRINCIPLES)}"
            )
        for word in (given["name"], given.get("inner", "hamilton")):
            if word not in PRINCIPLES:
                hint = f"{did_you_mean(word, PRINCIPLES)}  Known: {' '.join(PRINCIPLES)}".strip()
                raise ModelError(f"{word} is not a principle.", where=where, hint=hint)
        kind = PRINCIPLES[given["name"]]
        if "inner" not in given:
            return kind()
        if kind is not Herglotz or given["inner"] == Herglotz.word:
            raise ModelError(f"{given['name']} has no inner principle.", where=where, hint='name = "herglotz", inner = "vakonomic"')
        return Herglotz(PRINCIPLES[given["inner"]]())

    def _value(self, name: str, entry: Any) -> Any:
        value = entry["value"] if isinstance(entry, dict) else entry
        if isinstance(value, int | float) and not _finite(value):
            raise ParameterError(f"{name} = {value} is not a finite number.", where=place(self.source, self.text, "parameters", name))
        return float(value) if isinstance(value, int) and not isinstance(value, bool) else value

    def _initial(self, key: str) -> dict[str, Any]:
        rows = self.data.get("initial", {}).get(key, [])
        return self._data(rows, "initial", key)

    def _data(self, rows: list[str], table: str, key: str, occurrence: int = 0) -> dict[str, Any]:
        """Rows `name = value` by name."""
        found: dict[str, Any] = {}
        for k, row in enumerate(rows):
            name, equals, value = (part.strip() for part in row.partition("="))
            where = place(self.source, self.text, table, key, occurrence, k)
            if not equals or not name or not value or "=" in value:
                raise NotationError(f"{row!r} is no datum.", where=where, hint='a row such as "theta\' = 0.5"')
            if name in found:
                raise ModelError(f"{name} is given twice.", where=where, hint="remove one of the two")
            if not _NUMBER.fullmatch(value):
                parse_expression(value, self._constants, where)  # only to refuse what cannot be read; the text stays as it is
            found[name] = float(value) if _NUMBER.fullmatch(value) else value
        return found

    @cached_property
    def _constants(self) -> Vocabulary:
        """The names a value may use: parameters."""
        return Vocabulary(parameters={name: Parameter(name) for name in self.data.get("parameters", {})})

    def _also(self) -> dict[Principle, dict[str, Any]]:
        entries = enumerate(self.data.get("compare", []))
        return {self._principle(entry, "compare", k): self._data(entry.get("fixed", []), "compare", "fixed", k) for k, entry in entries}

    def _interval(self, given: list[Any]) -> tuple[float, float]:
        if len(given) != 2 or not all(map(_finite, given)):
            raise ModelError(f"t = {given} is no interval.", where=place(self.source, self.text, "simulate", "t"), hint="t = [0, 10]")
        return float(given[0]), float(given[1])

    def _positive(self, given: Any) -> float:
        if not _finite(given) or given <= 0:
            where = place(self.source, self.text, "simulate", "tolerance")
            raise ModelError(f"tolerance = {given} is not a positive number.", where=where, hint="tolerance = 1e-9")
        return float(given)


def _has_value(entry: Any) -> bool:
    """Whether a parameter is not only declared."""
    return not isinstance(entry, dict) or "value" in entry


def _finite(value: Any) -> bool:
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False
