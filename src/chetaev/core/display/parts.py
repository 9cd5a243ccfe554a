"""A system, and the certificate of a motion, as notebooks show them."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from chetaev.core.display.html import badge, card, columns, rows, set_formula, set_row, set_symbol, size
from chetaev.core.parts import PARTS, Kind
from chetaev.core.symbols import Action
from chetaev.core.units.unit import typeset

if TYPE_CHECKING:
    from chetaev.core.certificate import Certificate
    from chetaev.core.system import System


def system_html(system: System) -> str:
    """Return a system with its parts, formulas as the user wrote them."""
    return card(system.name or "system", rows(system_rows(system)))


def system_rows(system: System) -> Iterator[tuple[str, str]]:
    """Yield the titles of all parts, and the parts as HTML."""
    for part in PARTS:
        if part.kind is Kind.NAMES:
            names = [name for name in system.kinds if name not in system.groups] if part.name == "coordinates" else None
            listed = [p.name for p in system.parameters] if names is None else names
            if listed:
                yield part.title, " ".join(map(set_symbol, listed))
            if names is not None:
                yield from ((f"group {name}", escape(str(group))) for name, group in system.groups.items())
        elif part.kind is Kind.ROWS:
            yield from ((label, set_row(str(row), *row.sides)) for label, row in part.rows(system))
        elif part.kind is Kind.UNITS:
            listed = [f"{set_symbol(name)} in {escape(typeset(unit))}" for name, unit in system.units.items()]
            yield from [(part.title, ", ".join(listed))] if listed else []
        elif part.kind in (Kind.FORMULA, Kind.FORMULAS):
            for name, e in part.formulas(system).items():
                title = part.titled(name)
                given = system.as_written(title, e)
                body = escape(part.open_word) if e is None else set_row(str(given), given)
                if part.kind is Kind.FORMULAS or e != 0:
                    yield title, body
        elif isinstance(getattr(system, part.name, None), Action):
            yield part.title, set_formula(getattr(system, part.name).base)


def certificate_html(given: Certificate) -> str:
    """Return the verdict and the checks of a certificate."""
    lines = [(escape(f.kind), size(f.size), size(f.allowed), escape(f.where)) for f in given.figures]
    more = [f"<p>{escape(text)}</p>" for text in (given.again, *given.left_out, *given.beyond) if text]
    verdict = badge("ok", "good") if given.ok else badge("NOT ok", "bad")
    table = columns(("check", "largest", "allowed", "where"), lines) if lines else ""
    return card("certificate", f"<p>{verdict}</p>", table, *more)
