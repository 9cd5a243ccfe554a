"""Reading a model file."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cached_property, partial
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

from chetaev.core.errors import ChetaevError, Location, ModelError, NotationError, ParameterError, PrincipleError, UsageError
from chetaev.core.fixes import UsePrinciple
from chetaev.core.notation import Vocabulary, parse_expression
from chetaev.core.notation.lexer import spell
from chetaev.core.parts import PARTS
from chetaev.core.sampled import Sampled
from chetaev.core.scene import Scene, read_scene
from chetaev.core.state import State
from chetaev.core.support.files import read_bytes
from chetaev.core.support.plain import DECIMAL
from chetaev.core.support.public import public
from chetaev.core.symbols import Parameter
from chetaev.core.system import System
from chetaev.io.meaning import Meaning
from chetaev.io.places import place, place_in_scene
from chetaev.io.schema import check
from chetaev.io.spans import span_of
from chetaev.mechanics.model import MODEL_TEXTS, Model
from chetaev.mechanics.principles import PRINCIPLES, AsStated, DAlembert, Hamilton, Principle, Vakonomic, of_spec
from chetaev.numerics.motion.run_settings import RUN_SETTINGS, Form, finite
from chetaev.numerics.start.attitude import split_list

LARGEST_FILE = 1_000_000
"""Largest size of a file in bytes. A longer file is refused, because it may be hostile, and reading takes time proportional to its size."""
_ARCHIVE = b"PK\x03\x04"
"""The first bytes of a zip archive, such as a saved motion."""
_TABLES = (".csv", ".nc", ".mat", ".parquet")
"""Extensions of tables that `save` writes; they contain neither the system nor the settings, so that `load` cannot restore a motion."""
_LONG_KEY = re.compile(r"""(?<![\w.'"-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){20}(?=[\w"'.-])""")
_TOML_PLACE = re.compile(r"line (\d+), column (\d+)")
"""The place in a message of tomllib, which before Python 3.14 gives it nowhere else."""
_CONSTRAINTS = tuple(part.name for part in PARTS if part.table)
"""The parts of a system that have a key in `[constraints]`."""


@public
def load(path: str | PathLike[str]) -> Any:
    """Load a model from a file, or a motion from a file `.npz`. Nothing in the file is executed, and no other file is read.

    Args:
        path: The path of the file.

    Returns:
        The model, or the motion.

    Raises:
        ModelError: If the file cannot be read or its contents are inconsistent; the message has the file, the table and the line.
        NotationError: For a string that is not in the notation.
    """
    file = Path(path)
    if file.suffix.lower() == ".npz":
        from chetaev.numerics.motion.storage import load as load_motion

        return load_motion(file)
    if file.suffix.lower() in _TABLES and file.exists():
        hint = f"motion.save({file.stem + '.npz'!r}) keeps the whole motion; pandas and xarray read tables"
        raise ModelError("a table has the values of a motion, but not its equations and settings.", where=file.name, hint=hint)
    return loads(read_text(file), file.name)


def read_text(path: Any) -> str:
    """Return the text of a file of at most `LARGEST_FILE` bytes; reading stops there, since a device or pipe may have no end."""
    try:
        return _as_text(read_bytes(path, LARGEST_FILE + 1), Path(path).name)
    except OSError as cause:
        raise ModelError(f"the file cannot be read: {cause.strerror or cause}.", where=str(path)) from None
    except ValueError as cause:  # a path with a zero byte
        raise ModelError(f"the file cannot be read: {cause}.", where=repr(str(path))) from None


def decoded(stream: BinaryIO, source: str) -> str:
    """Return the text in a stream of bytes."""
    return _as_text(stream.read(LARGEST_FILE + 1), source)


def _as_text(raw: bytes, source: str) -> str:
    if raw.startswith(_ARCHIVE):
        what = "this is an archive, not a text file."
        raise ModelError(what, where=source, hint="a saved motion has the extension .npz, a model .toml")
    if len(raw) > LARGEST_FILE:
        raise ModelError(f"the file has more than {LARGEST_FILE} bytes, the largest size allowed.", where=source)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as cause:
        line = raw.count(b"\n", 0, cause.start) + 1
        where = Location.in_file(source, "", line)
        raise NotationError(f"byte {cause.start} is not UTF-8.", where=where, hint="save the file as UTF-8 text") from None


def loads(text: str, source: str = "model") -> Model:
    """Return the model that a text in the format of model files describes."""
    if len(text) > LARGEST_FILE:
        raise ModelError(f"the text has {len(text)} characters; at most {LARGEST_FILE} are allowed.", where=source)
    try:
        data = _parsed(text, source)
        check(data, source, text)
        model = _File(data, text, source).model()
        Meaning(model, data, text, source).check()
        return model
    except ChetaevError as fault:
        from chetaev.io.fixes import in_the_file

        fault.where = fault.place.spanning(*span_of(fault, text))
        fault.voice = in_the_file if fault.voice is str else fault.voice
        raise


def read_gallery(text: str, source: str) -> Model:
    """Read a file of the gallery: like `loads`, but without the checks of names and values, which the tests make for every entry.

    Most of the time of these checks is spent on the expressions of the scene.
    """
    return _File(_parsed(text, source), text, source).model()


def _parsed(text: str, source: str) -> dict[str, Any]:
    long_key = _LONG_KEY.search(text)
    if long_key:  # the time of tomllib grows with the square of the number of parts
        raise NotationError("a key has too many parts.", where=_at_line(source, text, long_key.start()), hint="a key without dots")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as cause:
        message, _, at = str(cause).partition(" (at ")
        found = _TOML_PLACE.match(at)
        where = Location.in_file(source, "", int(found[1]), int(found[2]), 1) if found else Location.in_file(source, "at its end")
        raise NotationError(
            f"this is not TOML: {message[:1].lower()}{message[1:]}.", where=where, hint="check quotes and brackets"
        ) from None
    except RecursionError:
        deepest = max(re.finditer(r"[\[{ \t]*", text), key=lambda found: len(found[0]))
        raise NotationError("the brackets are nested too deeply.", where=_at_line(source, text, deepest.start())) from None
    except ValueError:  # a number with thousands of digits
        longest = max(re.finditer(r"[0-9_]*", text), key=lambda found: len(found[0]))
        where = _at_line(source, text, longest.start())
        raise NotationError(
            f"a number has {len(longest[0])} digits.", where=where, hint="a number that fits into double precision"
        ) from None


def _at_line(source: str, text: str, position: int) -> Location:
    return Location.in_file(source, "", text.count("\n", 0, position) + 1)


class _File:
    """The parsed data of a file that `schema.check` has accepted, and the model made from them."""

    def __init__(self, data: dict[str, Any], text: str, source: str) -> None:
        self.data, self.text, self.source = data, text, source

    def model(self) -> Model:
        return Model(
            self._system(),
            self._principle(self.data.get("principle", {}), "principle"),
            parameters={name: self._value(name, e) for name, e in self.data.get("parameters", {}).items() if _has_value(e)},
            start=State(self._initial("fixed"), self._initial("guess")),
            inputs={name: self._input(name, given) for name, given in self.data.get("values", {}).items()},
            also=self._also(),
            invariants=self.data.get("invariants", {}),
            **{name: self.data[name] for name in MODEL_TEXTS if name in self.data},
            scene=self._scene(),
            **dict(self._settings()),
        )

    def _input(self, name: str, given: Any) -> Any:
        """An input: an expression, or samples."""
        if isinstance(given, str):
            return given
        try:
            times, values = (map(float, given.get(key, ())) for key in ("times", "values"))
            return Sampled(times, values, given.get("interpolation", "linear"), given.get("origin", ""))
        except UsageError as fault:
            raise ModelError(fault.what, where=place(self.source, self.text, "values", name), hint=fault.advice) from None

    def _settings(self) -> Iterator[tuple[str, Any]]:
        """Yield the settings of the run that the file gives, by name."""
        for setting in RUN_SETTINGS:
            name, table = setting.name, "simulate" if setting.form is Form.KEY else ""
            entries = self.data.get(table, {}) if table else self.data
            if name not in entries:
                continue
            if setting.form is Form.LIST:
                places = [place(self.source, self.text, name, "", k) for k in range(len(entries[name]))]
                yield name, tuple(map(setting.read, entries[name], places))
            else:
                yield name, setting.read(entries[name], place(self.source, self.text, table, name))

    def _scene(self) -> Scene | None:
        if "scene" not in self.data:
            return None
        try:
            return read_scene(self.data["scene"], lambda key, k: place_in_scene(self.source, self.text, key, k))
        except UsageError as fault:
            raise ModelError(fault.what, where=fault.where, why=fault.why, hint=fault.advice) from None

    def _system(self) -> System:
        data = self.data
        for key in ("lagrangian", "coordinates"):
            if key not in data and not (key == "lagrangian" and "equations" in data):
                raise ModelError(
                    f"{key} is missing.", where=Location.in_file(self.source, key), hint='lagrangian = "..." and a table [coordinates]'
                )
        given = {part.name: (data.get(part.table, {}) if part.table else data).get(part.name, part.default) for part in PARTS}
        given["parameters"] = {name: e["kind"] if isinstance(e, dict) else "real" for name, e in given["parameters"].items()}
        for part in [part for part in PARTS if part.open_word]:
            given[part.name] = {name: None if e == part.open_word else e for name, e in given[part.name].items()}
        try:
            return System(**given)
        except ChetaevError as fault:
            fault.where = self._in_file(fault.place)
            raise

    def _in_file(self, found: Location) -> Location:
        """Return the location in the file of a part of the system, or of an entry of that part."""
        part, key = found.part, found.key
        if not part:
            return Location.in_file(self.source, "")
        if part in _CONSTRAINTS:
            table, inner = (f"constraints.{part}", key) if isinstance(key, str) else ("constraints", part)
            there = place(self.source, self.text, table, inner, index=None if isinstance(key, str) else key)
        else:
            entries = self.data.get(part)
            written = [name for name in entries if spell(name) == spell(str(key))] if isinstance(entries, dict) and key is not None else []
            there = place(self.source, self.text, *((part, written[0]) if written else ("", part)))
        return there.about(part, key)

    def _principle(self, given: dict[str, Any], table: str, occurrence: int = 0) -> Principle:
        where = place(self.source, self.text, table, "name", occurrence)
        if not given and table == "principle" and self.data.get("equations"):
            return AsStated()  # a dynamical form needs no principle
        if "name" not in given:
            raise self._unnamed(table)
        try:
            return of_spec({key: value for key, value in given.items() if key != "fixed"}, where)
        except (PrincipleError, UsageError) as fault:
            wrong = ModelError(fault.what, where=where, why=fault.why, hint=fault.advice)
            from chetaev.io.fixes import in_the_file

            wrong.voice = partial(in_the_file, principle_table="[principle]" if table == "principle" else f"[[{table}]]")
            raise wrong from None

    def _unnamed(self, table: str) -> ModelError:
        """The error if no principle is named; its hint lists principles that suit the constraints first."""
        usual = [UsePrinciple(DAlembert()), UsePrinciple(Vakonomic())] if self.data.get("constraints") else [UsePrinciple(Hamilton())]
        rest = f"; the names are {' '.join(PRINCIPLES)}"
        wrong = ModelError("no principle is named.", where=place(self.source, self.text, table), hint=(*usual, rest))
        from chetaev.io.fixes import in_the_file

        wrong.voice = partial(in_the_file, principle_table="[principle]" if table == "principle" else f"[[{table}]]")
        return wrong

    def _value(self, name: str, entry: Any) -> Any:
        value = entry["value"] if isinstance(entry, dict) else entry
        if isinstance(value, int | float) and not finite(value):
            raise ParameterError(f"{name} = {value} is not a finite number.", where=place(self.source, self.text, "parameters", name))
        return float(value) if isinstance(value, int) and not isinstance(value, bool) else value

    def _initial(self, key: str) -> dict[str, Any]:
        rows = self.data.get("initial", {}).get(key, [])
        return self._data(rows, "initial", key)

    def _data(self, rows: list[str], table: str, key: str, occurrence: int = 0) -> dict[str, Any]:
        """Read rows `name = value` into a mapping."""
        found: dict[str, Any] = {}
        for k, row in enumerate(rows):
            name, equals, value = (part.strip() for part in row.partition("="))
            where = place(self.source, self.text, table, key, occurrence, k)
            if not equals or not name or not value or "=" in value:
                raise NotationError(f"{row!r} is not a datum.", where=where, hint='a row such as "theta\' = 0.5"')
            if name in found:
                raise ModelError(f"{name} is given twice.", where=where, hint="remove one of the two")
            found[name] = self._datum(value, where)
        return found

    def _datum(self, value: str, where: str, depth: int = 0) -> Any:
        """Read a number, an expression, or lists of these for an element of a group."""
        if value.startswith("["):
            if depth > 1:
                raise NotationError("an element of a group is at most a matrix.", where=where, hint='"A = [0, 0, pi/2]"')
            return tuple(self._datum(part, where, depth + 1) for part in split_list(value, where))
        if not DECIMAL.fullmatch(value):
            parse_expression(value, self._constants, where)  # raises if it cannot be read; the string is kept
            return value
        if not finite(value):
            raise NotationError(f"{value} is not a finite number.", where=where, hint="a number below 1e308")
        return float(value)

    @cached_property
    def _constants(self) -> Vocabulary:
        """The names that a value may use: parameters."""
        return Vocabulary(parameters={name: Parameter(name) for name in self.data.get("parameters", {})})

    def _also(self) -> dict[Principle, dict[str, Any]]:
        found: dict[Principle, dict[str, Any]] = {}
        own = self._principle(self.data.get("principle", {}), "principle")
        for k, entry in enumerate(self.data.get("compare", [])):
            principle = self._principle(entry, "compare", k)
            if principle in found or principle == own:
                where = place(self.source, self.text, "compare", "name", k)
                raise ModelError(f"{principle} is named twice.", where=where, hint="remove one of the two")
            found[principle] = self._data(entry.get("fixed", []), "compare", "fixed", k)
        return found


def _has_value(entry: Any) -> bool:
    """Tell whether an entry of `[parameters]` gives a value and not only a kind."""
    return not isinstance(entry, dict) or "value" in entry
