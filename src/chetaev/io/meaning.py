"""Check the data of a model file against its system: names must be known, values must be numbers.

A system checks its parts when it is made. Initial data, values of parameters and inputs, and invariants would only be checked on use; here
they are checked while the file, the table and the line are known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from chetaev.core.errors import InitialError, ModelError, ParameterError, did_you_mean
from chetaev.core.fixes import Advice, sentences
from chetaev.core.notation import Vocabulary, parse_expression
from chetaev.core.notation.lexer import spell
from chetaev.core.symbols import TIME, Input, Multiplier, jets_in, moved_by
from chetaev.io.places import place, place_in_scene
from chetaev.mechanics.model import Model
from chetaev.numerics.graphs.binding import number

_MULTIPLIER = re.compile(r"lambda(\d+)'*")
_MOST_IN_SCENE = 10_000
"""Largest number of distinct expressions in a scene, the same as for the rows of a system. Reading them takes about two seconds; without a
limit a file from an untrusted source could take any time."""


@dataclass(frozen=True)
class Meaning:
    """A model and the file it was read from."""

    model: Model
    data: dict[str, Any]
    text: str
    source: str

    def check(self) -> None:
        """Raise the errors that `simulate` or `evaluate` would raise later, with their location in the file."""
        self._parameters()
        self._inputs()
        initial = self.data.get("initial", {})
        for key in ("fixed", "guess"):
            self._names(initial.get(key, []), "initial", key)
        for k, entry in enumerate(self.data.get("compare", [])):
            self._names(entry.get("fixed", []), "compare", "fixed", k)
        self._expressions()
        self._scene()

    def _parameters(self) -> None:
        positive = {p.name for p in self.model.system.parameters if p.is_positive}
        for name, given in self.model.parameters.items():
            where = self._place("parameters", name)
            value = number(given, {}, where, ParameterError)
            if spell(name) in positive and value <= 0:
                raise ParameterError(
                    f"{name} = {value:g}, but it is declared positive.", where=where, hint="a positive value, or declare it real"
                )

    def _inputs(self) -> None:
        known = {z.base for z in self.model.system.inputs}
        for name, text in self.model.inputs.items():
            where = self._place("values", name)
            if spell(name) not in known:
                raise ParameterError(f"{name} is not an input.", where=where, hint=_one_of(name, known))
            if isinstance(text, str):
                parse_expression(text, self.model.system.vocabulary, where)

    def _names(self, rows: Iterable[str], table: str, key: str, occurrence: int = 0) -> None:
        """Check that the left sides of initial data are unknowns of the motion and their right sides numbers."""
        for k, row in enumerate(rows):
            name, _, value = (part.strip() for part in row.partition("="))
            where = place(self.source, self.text, table, key, occurrence, k)
            if name in self.model.system.kinds:  # a coordinate; the value of a group coordinate may be a matrix
                continue
            if not self._is_multiplier(name) and not self._is_rate_of_action(name):
                said = parse_expression(name, self.model.system.vocabulary, where)
                moving = [z for z in jets_in(said) if not isinstance(z, Input)]
                if not moving and not moved_by(said):
                    known = [q.base for q in self.model.system.coordinates]
                    raise InitialError(f"{name} is not an unknown of the motion.", where=where, hint=f"jets of {' '.join(known)}")
            if TIME in parse_expression(value, self._constants, where).free_symbols:
                raise InitialError(f"{value!r} depends on time.", where=where, hint="a number, or an expression such as pi/6")

    def _is_multiplier(self, name: str) -> bool:
        """Tell whether `name` is that of a multiplier; there is one for each constraint."""
        found = _MULTIPLIER.fullmatch(name)
        system = self.model.system
        if any(contact.multiplier.base == name for contact in system.unilateral):
            return True
        return found is not None and 1 <= int(found[1]) <= max(len(system.kinematic), len(system.variational or ()))

    def _is_rate_of_action(self, name: str) -> bool:
        """Tell whether `name` is s', which may be given in initial data although rows replace it by the Lagrangian."""
        action = self.model.system.action
        return action is not None and name == action.d().name

    def _expressions(self) -> None:
        """Check that invariants, events, scales and gauge functions can be read; they may use multipliers."""
        known = self._along_motions
        for k, event in enumerate(self.data.get("events", [])):
            if event.get("direction", 0) not in (-1, 0, 1):
                where = place(self.source, self.text, "events", "direction", k)
                raise ModelError(f"direction = {event['direction']} is not known.", where=where, hint="1 rising, -1 falling, 0 both")
            parse_expression(event["expression"], known, place(self.source, self.text, "events", "expression", k))
            for text in (part for entry in event.get("reset", {}).items() for part in entry):
                parse_expression(text, known, place(self.source, self.text, "events", "reset", k))
        for name, size in self.model.scale.items():
            if not jets_in(parse_expression(name, known, self._place("scale", name))):
                raise InitialError(f"{name} is not a jet.", where=self._place("scale", name), hint="x = 1e-9")
            if not size > 0:
                raise InitialError(f"{name} = {size:g} is not positive.", where=self._place("scale", name), hint=f"{name} = 1e-9")
        for name, text in self.model.gauge.items():
            for part in (name, text):
                parse_expression(part, known, self._place("gauge", name))
        for name, text in self.model.invariants.items():
            parse_expression(text, self._along_motions, self._place("invariants", name))

    def _scene(self) -> None:
        scene = self.model.scene
        if scene is None:
            return
        first: dict[str, tuple[str, int | None]] = {}  # each expression with its first location, since shapes share many expressions
        for text in scene.follow or ():
            first.setdefault(str(text), ("follow", None))
        for index, shape in enumerate(scene.shapes):
            for key, text in shape.expressions:
                first.setdefault(text, (key, index))
        if len(first) > _MOST_IN_SCENE:
            what = f"a scene with {len(first)} expressions; at most {_MOST_IN_SCENE} are read."
            raise ModelError(what, where=self._place("scene", "shapes"))
        for text, (key, k) in first.items():
            parse_expression(text, self._along_motions, place_in_scene(self.source, self.text, key, k))

    @cached_property
    def _along_motions(self) -> Vocabulary:
        """The names that have values along a motion: the names of the system, and multipliers."""
        names = self.model.system.vocabulary
        count = max(len(self.model.system.kinematic), len(self.model.system.variational or ()))
        multipliers = {f"lambda{k + 1}": Multiplier(f"lambda{k + 1}") for k in range(count)}
        contacts = {contact.multiplier.base: contact.multiplier for contact in self.model.system.unilateral}
        return replace(names, jets={**names.jets, **multipliers, **contacts})

    @property
    def _constants(self) -> Vocabulary:
        return Vocabulary(parameters={p.name: p for p in self.model.system.parameters})

    def _place(self, table: str, key: str) -> str:
        return place(self.source, self.text, table, key)


def _one_of(name: str, known: Iterable[str]) -> Advice:
    listed = " ".join(sorted(known))
    return sentences(did_you_mean(name, known), f"one of {listed}") if listed else "declare it in [inputs]"
