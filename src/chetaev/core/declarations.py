"""The declarations of a system: names, their roles, named expressions; and `parse`, which reads one text in declared names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from typing import Any

import sympy
from sympy import Expr

from chetaev.core.calculus import SYMBOLIC, Calculus, Frame
from chetaev.core.errors import Location, ModelError, UsageError, about, did_you_mean, with_article
from chetaev.core.fixes import Advice, Ask, SetArgument, SetPart, sentences
from chetaev.core.functions import DECLARABLE, FUNCTIONS, has_corner_in
from chetaev.core.groups.coordinate import GroupCoordinate, coordinate_of, reserved_names
from chetaev.core.groups.kinds import GROUPS, SIDES
from chetaev.core.groups.lookup import Own, key_of
from chetaev.core.groups.ready_made import EXAMPLES
from chetaev.core.notation import Vocabulary, from_sympy, parse_expression
from chetaev.core.notation.bounds import MOST_NAMED, written_size
from chetaev.core.notation.lexer import Kind, spell, tokens
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.letters import NAME
from chetaev.core.support.public import public
from chetaev.core.support.text import LONGEST_NAME, fault
from chetaev.core.symbols import Action, Coordinate, Input, Jet, Multiplier, Parameter, Variation, jets_in
from chetaev.core.zero import known_zero

COORDINATE_KINDS = ("line", "angle")
"""Kinds of coordinates besides Lie groups; the first is the default."""
PARAMETER_KINDS = ("real", "positive")
"""Kinds of parameters; the first is the default."""
_MOST_QUASI = 5_000
"""Largest number of quasi-velocities. Each is checked to be affine, which takes half a millisecond."""

_NONE: Own = Frozen()
"""The groups of a system that defines no groups."""
_MULTIPLIER = re.compile(r"lambda[0-9]+|lambda_s")
"""Names reserved for multipliers."""
_PARTS = {
    "coordinate": "coordinates",
    "parameter": "parameters",
    "input": "inputs",
    "action variable": "action",
    "named expression": "where",
    "quasi-velocity": "quasi",
}
"""The parts of a system that declare names, by the role of the name."""


class Names:
    """The names of one system while it is being read: each declared once, none reserved."""

    def __init__(self, where: str) -> None:
        self.where = where if isinstance(where, Location) else Location(where)
        self._roles: dict[str, str] = {}

    def declare(self, name: str, role: str) -> str:
        """The ASCII spelling of a new name."""
        ascii_name = spell(str(name))
        refusal = self._refusal(ascii_name, role)
        if not NAME.fullmatch(ascii_name):
            refusal = f"{name!r} is not a name.", "names are Latin or Greek letters, digits and _, beginning with a letter"
        if refusal:
            raise self.error(*refusal, role, str(name))
        self._roles[ascii_name] = role
        return ascii_name

    def _refusal(self, name: str, role: str) -> tuple[str, str] | None:
        """The reason why `name` cannot be declared, and a hint; None if it can."""
        what = f"{name} cannot be declared as {with_article(role)}"
        if name in ("t", "pi"):
            return f"{what}: it is {'time' if name == 't' else 'the number 3.14159'}.", f"another name, such as {name}1"
        if name in FUNCTIONS and name not in DECLARABLE:
            return f"{what}: it is a function.", f"another name, such as {name}1"
        if _MULTIPLIER.fullmatch(name):
            return f"{what}: the name is reserved for a multiplier.", "another name, such as mu1"
        if name in self._roles:
            first = self._roles[name]
            both = f" as {with_article(role)}" if first == role else f": as {with_article(first)} and as {with_article(role)}"
            return f"{name} is declared twice{both}.", "rename one of the two"
        return None

    def error(self, what: str, hint: Advice, role: str, name: str | None = None) -> ModelError:
        """The error for the part of a system that declares names of `role`, or for one such `name`."""
        part = _PARTS.get(role, "coordinates")  # a group coordinate reserves names
        return ModelError(what, where=self.where.about(part, name), hint=hint)


def checked_name(name: Any, where: str) -> str:
    """The name of a system or a form: any text of one line without control characters."""
    reason = fault(str(name))
    if reason is None and len(str(name)) > LONGEST_NAME:
        reason = f"has {len(str(name))} characters; at most {LONGEST_NAME} are kept."
    if reason:
        raise ModelError(
            f"the name {reason}", where=Location(where).about("name"), hint=("one line of text: ", SetPart("name", "double pendulum"))
        )
    return str(name)


def read_names(given: Any, role: str, kinds: tuple[str, ...], names: Names, own: Own = _NONE) -> dict[str, str]:
    """Names with their kinds, from a string, a list of names or symbols, or a mapping to kinds."""
    if isinstance(given, str):
        given = given.replace(",", " ").split()
    if isinstance(given, sympy.Symbol):
        given = [given]
    if isinstance(given, Mapping):
        pairs = list(given.items())
    else:
        pairs = [(item, _own_kind(item, kinds)) for item in _items(given, role, names)]
    read = {}
    for item, kind in pairs:
        name = names.declare(_text(item, role, names), role)
        kind = kinds[0] if kind is None else kind
        key = key_of(kind.split()[0], own) if role == "coordinate" and isinstance(kind, str) and kind.split() else None
        if key is not None:
            kind = str(_group(name, key, kind.split(), names))
        elif kind not in kinds:
            hint: Advice = _kinds_of_coordinates(str(kind), own) if role == "coordinate" else _one_of(str(kind), kinds)
            if isinstance(kind, int | float):
                hint = "values come later: ", SetArgument("parameters", {name: kind}, "evaluate")
            raise names.error(f"{role} {name} is declared as {kind!r}, which is not a kind of {role}.", hint, role, name)
        read[name] = kind
    return read


def _one_of(kind: str, known: Sequence[str]) -> Advice:
    return sentences(f"one of {', '.join(map(repr, known))}.", did_you_mean(kind, known))


def _kinds_of_coordinates(kind: str, own: Own) -> Advice:
    """What a coordinate may be declared as: the hint for a `kind` that is none of these."""
    groups = list(dict.fromkeys([*own, *GROUPS, *EXAMPLES]))
    meant = did_you_mean((kind.split() or [""])[0], [*COORDINATE_KINDS, *groups])
    listed = (
        f"{', '.join(map(repr, COORDINATE_KINDS))}, or a group, 'SO3 spatial' or 'SO3 body': {' '.join(groups)}, SO5, SL3, ... likewise."
    )
    own_group = ("  A group of your own: ", SetPart("groups", {...: ...}), ", or ", Ask("ch.register", "its class"))
    return [*sentences(meant, listed), *own_group, " first; chetaev --extensions ... imports installed ones"]


def groups_in(kinds: Mapping[str, str], own: Own) -> dict[str, GroupCoordinate]:
    """The group coordinates among declared coordinates; `own` are the groups of the system."""
    words = {name: kind.split() for name, kind in kinds.items() if kind not in COORDINATE_KINDS}
    keys = {name: (key_of(word, own), "spatial" not in side) for name, (word, *side) in words.items()}
    return {name: coordinate_of(name, key, body) for name, (key, body) in keys.items() if key is not None}


def components_of(kinds: Mapping[str, str], own: Own) -> tuple[Coordinate, ...]:
    """The coordinates in which equations are written: for a group coordinate A its components A1, A2, ..."""
    groups = groups_in(kinds, own)
    return tuple(q for name in kinds for q in (groups[name].components if name in groups else (Coordinate(name),)))


def base_vocabulary(
    kinds: Mapping[str, str], own: Own, parameters: Mapping[str, str], inputs: Mapping[Input, Any], action: Action | None
) -> Vocabulary:
    """The names that a system declares, before its named expressions and quasi-velocities."""
    coordinates, groups = components_of(kinds, own), groups_in(kinds, own)
    jets: dict[str, Any] = {q.base: q for q in coordinates} | {z.base: z for z in inputs}
    entries = {name: entry for group in groups.values() for name, entry in group.entries.items()}
    forbidden = {name: reason for group in groups.values() for name, reason in _not_written(group).items()}
    if action is not None:
        jets[action.base] = action
        forbidden[f"{action.base}'"] = f"{action.base}' cannot be written: it is the Lagrangian.  Write the expression instead."
    symbols = {n: Parameter(n, positive=kind == "positive") for n, kind in parameters.items()}
    frame = Frame.of_coordinates(coordinates, groups.values()) if groups else Frame((), ())
    return Vocabulary(jets=jets, parameters=symbols, forbidden=forbidden, entries=entries, frame=frame)


def _not_written(group: GroupCoordinate) -> dict[str, str]:
    """The names of a group coordinate that are no values, and what to write instead."""
    a, first = group.name, group.components[0].base
    reason = f"{a} is an element of {group.word}: write its velocity {first}', its variation δ{first}, or its entries {a}11, ..."
    if group.reduced:
        reason = f"only the velocity of {a} is known: write {first}' or δ{first}."
    return dict.fromkeys([a, f"{a}'", *[q.base for q in group.components]], reason)


def _group(name: str, key: str, words: list[str], names: Names) -> GroupCoordinate:
    """A group coordinate from its kind, with the names it reserves declared."""
    coordinate, sides = coordinate_of(name, key, "spatial" not in words[1:]), words[1:]
    group = coordinate.group
    if len(sides) > 1 or any(side not in SIDES for side in sides) or (group.sided and not sides):
        raise names.error(
            f"coordinate {name} is declared as {' '.join(words)!r}: which velocity do {name}1', {name}2', ... mean?",
            f'"{words[0]} spatial" for that of {name}\'{name}^-1, or "{words[0]} body" for that of {name}^-1{name}\''
            if group.sided
            else f'"{words[0]}"',
            "coordinate",
            name,
        )
    for reserved in reserved_names(name, group):
        names.declare(reserved, f"part of the group coordinate {name}")
    return coordinate


def read_value(given: Any, vocabulary: Vocabulary, where: str) -> Expr:
    """An expression given as text, number or SymPy expression."""
    if isinstance(given, str):
        plain = vocabulary.coordinate(given)
        return parse_expression(given, vocabulary, where) if plain is None else plain
    return from_sympy(given, vocabulary, where)


def with_multipliers(vocabulary: Vocabulary, multipliers: Sequence[Multiplier]) -> Vocabulary:
    """The vocabulary of forces, which may contain the multipliers of rows."""
    reason = "the multiplier of a reaction carries no prime: it is not part of the state."
    primed = {f"{m.base}'": reason for m in multipliers}
    own = {m.base: m for m in multipliers}
    elsewhere = {name: why for name, why in vocabulary.forbidden.items() if name not in own}
    return replace(vocabulary, jets={**vocabulary.jets, **own}, forbidden={**elsewhere, **primed})


def without_multipliers(vocabulary: Vocabulary, multipliers: Sequence[Multiplier]) -> Vocabulary:
    """The vocabulary of every other part, in which a multiplier has no meaning."""
    reason = "a multiplier may stand in forces only: it follows from the equations that the other parts make."
    return replace(vocabulary, forbidden={**{m.base: reason for m in multipliers}, **vocabulary.forbidden})


def read_named(where_given: Mapping[str, Any], quasi_given: Mapping[str, Any], base: Vocabulary, names: Names) -> Vocabulary:
    """The vocabulary enlarged by named expressions and quasi-velocities, which may use each other in any order."""
    if len(quasi_given) > _MOST_QUASI:
        what = f"{len(quasi_given)} quasi-velocities are declared; at most {_MOST_QUASI} are read."
        raise names.error(what, "not more than there are coordinates", "quasi-velocity")
    texts = {names.declare(name, "named expression"): value for name, value in where_given.items()}
    quasi_texts = {names.declare(name, "quasi-velocity"): value for name, value in quasi_given.items()}
    both = texts | quasi_texts
    part = {**dict.fromkeys(texts, "where"), **dict.fromkeys(quasi_texts, "quasi")}
    uses = {name: _names_in(value, names.where.about(part[name], name)) & both.keys() for name, value in both.items()}
    try:
        order = list(TopologicalSorter(uses).static_order())
    except CycleError as cycle:
        loop = cycle.args[1][::-1]
        what = f"named expressions are defined by each other: {' -> '.join(loop)}."
        raise ModelError(what, where=names.where.about(part[loop[0]], loop[0]), hint="write one of them out") from None
    expressions: dict[str, Expr] = {}
    quasi: dict[str, Expr] = {}
    sizes: dict[Expr, int] = {}
    total = 0
    for name in order:
        known = replace(base, expressions=expressions, quasi=quasi)
        if name in texts:
            expressions[name] = read_value(texts[name], known, names.where.at("where", name))
        else:
            quasi[name] = _velocity(read_value(quasi_texts[name], known, names.where.at("quasi", name)), name, names)
        total += written_size(expressions[name] if name in texts else quasi[name], sizes)
        if total > MOST_NAMED:
            what = f"the named expressions up to {name} have more than {MOST_NAMED} terms when they are written out."
            raise ModelError(what, where=names.where.about(part[name], name), hint="fewer names, or shorter expressions")
    in_given_order = {name: expressions[name] for name in texts}
    return replace(base, expressions=in_given_order, quasi={name: quasi[name] for name in quasi_texts})


def with_variations(vocabulary: Vocabulary, action: Action | None) -> Vocabulary:
    """The vocabulary of variational rows: `δ` of coordinates, of named expressions of order 0 and of quasi-velocities."""
    coordinates = [z for z in vocabulary.jets.values() if isinstance(z, Coordinate)]
    variations: dict[str, Expr] = {q.base: Variation(q.base) for q in coordinates}
    forbidden = dict(vocabulary.forbidden)
    for name, expression in vocabulary.expressions.items():
        if any(z.order or isinstance(z, Action) for z in jets_in(expression) if not isinstance(z, Input)):
            forbidden[f"δ{name}"] = f"δ{name} has no meaning: {name} is not a function of the coordinates alone."
        variations[name] = _variation(vocabulary, expression, coordinates)
    for name, entry in vocabulary.entries.items():
        variations[name] = _variation(vocabulary, entry, coordinates)
    for name, expression in vocabulary.quasi.items():
        variations[name] = sympy.Add(*[expression.diff(q.d()) * Variation(q.base) for q in coordinates])
    if action is not None:
        variations[action.base] = sympy.S.Zero
        forbidden[f"δ{action.base}"] = f"δ{action.base} follows from the principle: Herglotz sets δ{action.base} = p_i δq_i."
    return replace(vocabulary, variations=variations, forbidden=forbidden)


def _variation(vocabulary: Vocabulary, expression: Expr, coordinates: Sequence[Coordinate]) -> Expr:
    """The variation of an expression in the configuration: its derivatives along the fields of the frame."""
    slopes = Calculus(SYMBOLIC, vocabulary.frame).gradient(expression, coordinates)
    return sympy.Add(*[slope * Variation(q.base) for q, slope in zip(coordinates, slopes, strict=True)])


def _velocity(expression: Expr, name: str, names: Names) -> Expr:
    """A quasi-velocity must be affine in the velocities and contain no higher derivative."""
    jets = [z for z in jets_in(expression) if not isinstance(z, Input)]
    velocities = [z for z in jets if z.order == 1]
    curved = has_corner_in(expression, velocities) or any(
        not known_zero(expression.diff(v).diff(w)) for v in velocities for w in velocities
    )
    if not velocities or curved or any(z.order > 1 for z in jets):
        raise names.error(
            f"quasi.{name} is not affine in the velocities.",
            f"write {name}' as a sum of coefficient times velocity",
            "quasi-velocity",
            name,
        )
    return expression


def _names_in(given: Any, where: str) -> set[str]:
    if not isinstance(given, str):
        return set()
    return {token.text for token in tokens(given, where) if token.kind is Kind.NAME}


def _items(given: Any, role: str, names: Names) -> list[Any]:
    if not isinstance(given, Iterable) or isinstance(given, set | frozenset):
        raise names.error(f"{role}s are given as {type(given).__name__}.", f'a string of names such as "x y", or a list of {role}s', role)
    return list(given)


def _text(item: Any, role: str, names: Names) -> str:
    if isinstance(item, str):
        return item
    if isinstance(item, Jet) and item.order == 0:
        return item.base
    if isinstance(item, sympy.Symbol) and not isinstance(item, Jet):
        return str(item.name)
    if isinstance(item, sympy.Function) and len(item.args) == 1:
        return str(item.func.__name__)
    raise names.error(f"{item!r} is not the name of a {role}.", f"a name, or a {role.capitalize()}", role)


def _own_kind(item: Any, kinds: tuple[str, ...]) -> str:
    return "positive" if "positive" in kinds and isinstance(item, Parameter) and item.is_positive else kinds[0]


_TEXT = about("expression", "text")
"""The place of faults in a text that `parse` is given."""


@public
def parse(text: str, about: Any = None, *, coordinates: Any = "", parameters: Any = "", inputs: Any = "") -> Expr:
    """Parse a text of the notation, in the names of a system, equations or model, or in names declared here.

    Args:
        text: The text, such as `"m/2*x'^2"`.
        about: A system, equations or a model whose names the text uses; None to declare names here.
        coordinates: Names of coordinates, as in `System`.
        parameters: Names of parameters, as in `System`.
        inputs: Names of inputs.

    Returns:
        The expression, in SymPy.

    Raises:
        NotationError: If the text is not in the notation or uses an unknown name.
        UsageError: If `about` has no names.
        ModelError: If a name cannot be declared.

    >>> parse("m/2*x'^2", coordinates="x", parameters="m")
    m*x'**2/2
    """
    if about is not None:
        known = getattr(about, "vocabulary", None) or getattr(getattr(about, "system", None), "vocabulary", None)
        if not isinstance(known, Vocabulary):
            what = f"parse takes the names of a system, equations or model, not {type(about).__name__}."
            raise UsageError(
                what, where="parse", hint=(Ask("parse", "text, system"), ", or ", Ask("parse", 'text, coordinates="x", parameters="m"'))
            )
        return parse_expression(text, known, _TEXT)
    declared = Names("parse")
    jets: dict[str, Any] = {n: Coordinate(n) for n in read_names(coordinates, "coordinate", COORDINATE_KINDS, declared)}
    kinds = read_names(parameters, "parameter", PARAMETER_KINDS, declared)
    jets |= {n: Input(n) for n in read_names(inputs, "input", ("given",), declared)}
    symbols = {n: Parameter(n, positive=kind == "positive") for n, kind in kinds.items()}
    return parse_expression(text, Vocabulary(jets=jets, parameters=symbols), _TEXT)
