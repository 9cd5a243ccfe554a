"""The mathematics of a report: the system as the user wrote it, its constraints, equations and analysis; and the references."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from sympy import Expr

from chetaev.core.display.html import LONGEST, counted, number, set_formula, set_symbol
from chetaev.core.notation import show
from chetaev.core.parts import STORED, Kind, Part
from chetaev.core.rows.unilateral import Contact
from chetaev.core.sampled import Sampled
from chetaev.core.support.version import VERSION
from chetaev.core.symbols import Action
from chetaev.core.system import System
from chetaev.core.units.unit import typeset
from chetaev.mechanics.analysis import Analysis, Verdict
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.origins import Origin, Variation
from chetaev.mechanics.singular_locus import no_formula
from chetaev.report.html_text import sentence, set_general_form, set_relation, set_unit
from chetaev.report.page import drawn
from chetaev.report.prose import line, prose
from chetaev.report.subject import Subject

_MOST_UNFOLDED = 8
"""Largest number of named expressions that are shown without folding them away."""
_LONG_NAME = 130
"""Largest number of characters of a named expression that is typeset; longer ones are only in the model file."""
_KINDS = {"linear": "linear in the velocities", "affine": "affine in the velocities", "nonlinear": "nonlinear in the velocities"}
_SHOWN = 12
"""Largest number of hidden constraints that are typeset; the number of further ones is stated."""
_LONGEST_SHARING_A_LINE = 60
"""Largest total number of characters of formulas on one line; longer ones have a line each."""


def system(subject: Subject) -> str:
    """Return the system as the user wrote it, with the values of its parameters."""
    given, model = subject.equations.system, subject.model
    rows = [("coordinates", _coordinates(given.kinds))]
    if given.units:
        rows.append(("units", ", ".join(f"{set_symbol(name)} in {escape(typeset(unit))}" for name, unit in given.units.items())))
    for part in STORED:
        if part.kind is Kind.ROWS:
            rows += [(label, set_formula(*r.sides)) for label, r in part.rows(given)]
        elif part.kind is Kind.CONTACTS:
            rows += [(part.titled(c.name), _contact(c)) for c in given.unilateral]
        elif isinstance(given_part := getattr(given, part.name), Action):
            rows.append((part.title, set_symbol(given_part.base)))
        elif part.kind in (Kind.FORMULA, Kind.FORMULAS) and not part.defines:
            bound = model.inputs if part.open_word else {}
            rows += [_formula(part, name, bound.get(name, e)) for name, e in _formulas(part, given).items()]
    html = prose(model.prose, names_of(given)) + _rows(rows)
    for part in [part for part in STORED if part.defines]:
        html += _named(part.heading, {part.left_side.format(name): e for name, e in _formulas(part, given).items()})
    if given.parameters:
        values = [(set_symbol(p.name), _value(model.parameters.get(p.name)) + set_unit(given, p.name)) for p in given.parameters]
        html += '<h3>Values</h3><dl class="values">' + "".join(f"<div><dt>{n}</dt><dd>{v}</dd></div>" for n, v in values) + "</dl>"
    if model.corrections:
        html += (
            "<h3>Corrections to the literature</h3><ul>"
            + "".join(f"<li>{line(text, names_of(given))}</li>" for text in model.corrections)
            + "</ul>"
        )
    return html


def _contact(contact: Contact) -> str:
    """A contact with its coefficient of restitution."""
    larger, smaller = map(set_formula, contact.sides)
    return f"{larger} ≥ {smaller}, restitution {set_formula(contact.bounce)}"


def _formulas(part: Part, given: System) -> dict[str, Any]:
    """Return the formulas of a part as the user wrote them, or as expressions."""
    return {name: given.as_written(part.titled(name), e) for name, e in part.formulas(given).items()}


def _formula(part: Part, name: str, e: Any) -> tuple[str, str]:
    """Return the title of a formula, and the formula with its left side if it has one."""
    title, left = (part.heading or part.title).format(name), part.left_side.format(name)
    if e is None:
        return title, f"{set_symbol(name)}, {part.open_word}"
    if isinstance(e, Sampled):
        return title, f"{set_symbol(name)}, {escape(e.sentence)}"
    e = e if isinstance(e, str | Expr) else str(e)
    return title, set_formula(left, e) if left else set_formula(e)


def names_of(given: System) -> list[str]:
    """Return the names that formulas in running text may use."""
    named = [*given.kinds, *(p.name for p in given.parameters), *(z.base for z in given.inputs), *given.where, *given.quasi]
    named += [f"lambda{k + 1}" for k in range(len(given.kinematic) + len(given.variational or ()))]
    named += [contact.multiplier.base for contact in given.unilateral]
    named += [given.action.base] if given.action is not None else []
    for group in given.groups.values():
        named += [*(q.base for q in group.components), *group.entries]
    return named


def classification(subject: Subject) -> str:
    """Return the classification of the constraints."""
    rows, found = subject.equations.system.kinematic_rows(), subject.classification
    if not rows and subject.equations.system.variational is None:
        return ""
    by_kind: dict[str, list[str]] = {}
    for k, (label, row) in enumerate(rows):
        redundant = found is not None and k in found.redundant
        by_kind.setdefault(f"{row.kind}, redundant" if redundant else row.kind, []).append(f"<code>{escape(label)}</code>")
    html = _rows([(_KINDS.get(kind, kind), " ".join(labels)) for kind, labels in by_kind.items()])
    if found is None:
        return f"{html}<p>Whether they are integrable was not decided within the budget of a report; use <code>ch.classify</code>.</p>"
    integrals = {f"{show(f)} = constant" for f in found.integrals}
    facts = [f"<li>{sentence(fact, [label for label, _ in rows])}</li>" for fact in found.facts if fact.strip() not in integrals]
    html += f"<ul>{''.join(facts)}</ul>"
    if found.integrals:
        html += '<p class="lead">Constant on every motion:</p>' + _rows([("", set_formula(f)) for f in found.integrals])
    return html


def equations(subject: Subject, simplify: bool = False) -> str:
    """Return the equations of motion, every row with its label; simplified with `simplify`."""
    simplify = simplify and not subject.long
    found = subject.equations.simplify() if simplify else subject.equations
    count, unknowns = found.counts
    names = " ".join(set_symbol(z.base) for z in found.unknowns)
    counts = f"{counted(count, 'equation')} for {counted(unknowns, 'unknown')} {names}"
    words = " The rows are simplified, for at most ten seconds." if simplify else ""
    intro = f"<p>By {escape(found.principle.in_words())}: {counts}. {_multipliers(found)}{words}</p>"
    if subject.long:
        return intro + _in_short(found)
    rows = []
    for row in found.rows:
        size = len(found.row_text(row))
        body = set_formula(*found.sides(row)) if size <= LONGEST else f"{size} characters; <code>print(equations)</code> writes them"
        rows.append((labelled(row.origin), body))
    html = intro + _rows(rows, labelled=True)
    if found.assumptions:
        html += f"<p>They hold where {_nonzero(found.assumptions)}.</p>"
    return html


def _multipliers(found: Equations) -> str:
    """Return a sentence about the rows to which the multipliers belong."""
    if not found.multipliers:
        return ""
    if found.lowered.costates and found.lowered.reactions:
        return "Some kinematic rows, times their multipliers, are added to the Lagrangian before it is varied; the others have reactions."
    if found.lowered.costates:
        return "Each kinematic row, times its multiplier, is added to the Lagrangian before it is varied."
    rows = "variational" if found.system.variational is not None else "kinematic"
    return f"The multipliers belong to the {rows} rows in their order."


def _tree(found: Analysis, caption: str) -> str:
    from chetaev.plot.manifolds import tree

    return drawn(tree(found, title=""), "tree", caption)


def analysis(subject: Subject) -> str:
    """Return the verdict and its evidence."""
    found = subject.analysis
    html = _verdict(found)
    if found.tree is not None and len(found.tree.entries) > 1:
        html += _tree(
            found, "The constraints that each step of the algorithm adds, and the manifolds that remain; dimensions include time."
        )
    elif found.branches:
        html += _tree(found, "The families of states that were found.")
    for k, branch in enumerate(found.branches):
        special = found.verdict is Verdict.INCONSISTENT
        html += f"<h3>{'Motions that remain' if special else f'Branch {k}'}</h3>" + _verdict(branch)
    if found.assumptions:
        parts = [text.removesuffix(" != 0") for text in found.assumptions]
        html += f"<p>Assumed: {_nonzero(parts)}.</p>"
    return html + f'<p class="soft">Evidence: {sentence(found.evidence)}</p>'


def _verdict(found: Analysis) -> str:
    kind = "good" if found.verdict.unique_motion else "free" if found.verdict.allows_motion else "bad"
    html = f'<p><span class="badge {kind}">{found.verdict}</span> {sentence(found.verdict.sentence)}</p>'
    facts = []
    if found.dimension is not None:
        example = f", for example {' '.join(set_symbol(name) for name in found.free_data)}" if found.free_data else ""
        facts.append(f"{counted(found.dimension, 'free initial value')}{example}")
    if found.free_functions:
        names = " ".join(set_symbol(name) for name in found.free_functions)
        facts.append(f"{counted(len(found.free_functions), 'free function')} of time: {names}")
    if found.undetermined:
        names = " ".join(set_symbol(name) for name in found.undetermined)
        facts.append(f"not unique: {names} (redundant constraints; their reactions are unique)")
    if found.index is not None:
        facts.append(f"differentiation index {found.index}")
    if found.hidden:
        facts.append(f"initial values must satisfy: {_zeros(found.hidden, found.equations.labels)}")
    facts += [sentence(f"{name} follows from {', '.join(rows)}", found.equations.labels) for name, rows in found.origins.items()]
    facts += _singular(found)
    return html + (f"<ul>{''.join(f'<li>{fact}</li>' for fact in facts)}</ul>" if facts else "")


def _singular(found: Analysis) -> list[str]:
    if not found.verdict.unique_motion or found.offsets is None:
        return []
    factors = found.singular_locus
    if factors is None:
        return [f"singular where the smallest pivot of the system Jacobian vanishes ({no_formula(found.equations)})"]
    return [f"singular where {' or '.join(set_formula(f, '0') for f in factors)}"] if factors else []


def _zeros(rows: Iterable[str], known: Sequence[str]) -> str:
    """Return the hidden constraints: rows by label, then formulas, each on its own line unless they are short."""
    listed = list(rows)
    labels = [f"<code>{escape(row)}</code>" for row in listed if _is_label(row, known)]
    formulas = [f"{row} = 0" for row in listed if not _is_label(row, known)]
    parts = [f"{', '.join(labels)} {'vanish' if len(labels) > 1 else 'vanishes'}"] if labels else []
    short = sum(map(len, formulas)) < _LONGEST_SHARING_A_LINE
    shown = [set_formula(text) for text in formulas[:_SHOWN]]
    if shown:
        parts.append(", ".join(shown) if short else "".join(f'<div class="formula">{text}</div>' for text in shown))
    more = f" and {len(formulas) - _SHOWN} more" if len(formulas) > _SHOWN else ""
    return "; ".join(parts) + more


def _is_label(text: str, known: Sequence[str]) -> bool:
    """Tell whether a text is the label of a row, of its derivative or of a consequence of rows, and not a formula."""
    return text.rstrip("'") in known or "[" in text


def _nonzero(given: Iterable[str | Expr]) -> str:
    return ", ".join(f"{set_formula(e)} {set_relation('!=', '0')}" for e in given)


def _in_short(found: Equations) -> str:
    """Return the form of equations that are too long to read, and the constraints as written."""
    reactions = bool(found.lowered.reactions)
    form, coefficients = set_general_form(reactions)
    meaning = f"with the Euler-Lagrange expressions {set_symbol('E_i')} of the Lagrangian and the forces {set_symbol('u_i')}"
    meaning += f"; {coefficients} are the coefficients of the variational rows" if reactions else ""
    html = f"<p>Written out, the rows would fill pages. They are {form} {meaning}, and</p>"
    rows = [(f"<code>{escape(label)}</code>", set_formula(*r.sides)) for label, r in found.system.kinematic_rows()]
    return html + _rows(rows, labelled=True)


def labelled(origin: Origin) -> str:
    """Return the label of a row: `E_psi` as a symbol, `kinematic[0]` unchanged."""
    return set_symbol(origin.label) if isinstance(origin, Variation) else f"<code>{escape(origin.label)}</code>"


def _coordinates(kinds: Mapping[str, str]) -> str:
    by_kind: dict[str, list[str]] = {}
    for name, kind in kinds.items():
        if kind not in ("angle", "line"):
            kind = f"in {kind.replace(' ', ', ')} velocity:"
        by_kind.setdefault(kind, []).append(set_symbol(name))
    plural = {"angle": "angles", "line": "lengths"}
    parts = [
        f"{plural.get(kind, kind) if len(names) > 1 else kind.replace('line', 'length')} {' '.join(names)}"
        for kind, names in by_kind.items()
    ]
    return "; ".join(parts) if len(by_kind) > 1 or "angle" in by_kind else " ".join(next(iter(by_kind.values())))


def _value(given: Any) -> str:
    if given is None:
        return '<span class="soft">no value</span>'
    return set_formula(given) if isinstance(given, str) else number(given)


def _rows(rows: Iterable[tuple[str, str]], labelled: bool = False) -> str:
    """Return labels beside formulas; with `labelled` the labels are HTML."""
    parts = [f'<div class="label">{name if labelled else escape(name)}</div><div class="formula">{body}</div>' for name, body in rows]
    return f'<div class="rows">{"".join(parts)}</div>'


def _named(title: str, given: Mapping[str, str | Expr]) -> str:
    """Return named sub-expressions, folded away if there are more than `_MOST_UNFOLDED`; long ones are only in the model file."""
    shown = {name: e for name, e in given.items() if len(e if isinstance(e, str) else show(e)) <= _LONG_NAME}
    if not given:
        return ""
    body = _rows([("", set_formula(name, e)) for name, e in shown.items()])
    left = len(given) - len(shown)
    if left:
        body += f"<p>and {left} longer one{'s' * (left > 1)}, in the model file below.</p>"
    if len(given) <= _MOST_UNFOLDED:
        return f"<h3>{title.capitalize()}</h3>{body}"
    return f"<details><summary>{title.capitalize()}: {len(given)} named expressions</summary>{body}</details>"


_PAPERS = {
    "000": "H. Cendra, S. D. Grillo, Lagrangian systems with higher order constraints, Journal of Mathematical Physics (2007).",
    "001": "H. Cendra, A. Ibort, M. de León, D. Martín de Diego, A generalization of Chetaev's principle for a class of higher order "
    "non-holonomic constraints, Journal of Mathematical Physics (2004).",
    "002": "M. de León, M. Lainz, M. C. Muñoz-Lecanda, N. Román-Roy, Constrained Lagrangian dissipative contact dynamics (2021).",
    "003": "O. Krupková, Differential systems in higher-order mechanics (2000).",
    "004": "S. Vignolo, D. Bruno, Time-dependent vakonomic dynamics and presymplectic geometry (2002).",
    "Pryce": "J. D. Pryce, A simple structural analysis method for DAEs, BIT Numerical Mathematics 41 (2001) 364-394.",
    "Hairer": "E. Hairer, S. P. Nørsett, G. Wanner, Solving Ordinary Differential Equations I, Springer (1993): the method DOP853.",
    "Radau": "E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, Springer (1996): the method Radau IIA.",
    "Jorba": "À. Jorba, M. Zou, A software package for the numerical integration of ODEs by means of high-order Taylor methods, "
    "Experimental Mathematics 14 (2005) 99-117.",
}
_LIBRARY = f"The chetaev authors, chetaev: constrained Lagrangian mechanics, version {VERSION}, BSD-3-Clause."


def citations(subject: Subject) -> str:
    """Return the references of a report as a list."""
    found = [("the system", subject.model.reference)] if subject.model.reference else []
    for key in _used(subject):
        found.append((key if key.isdigit() else "", _PAPERS.get(key, key)))
    found.append(("this library", _LIBRARY))
    items = "".join(f"<li>{escape(text)}{f' <span class=soft>({name})</span>' if name else ''}</li>" for name, text in found)
    return f"<ol>{items}</ol>"


def _used(subject: Subject) -> list[str]:
    """Return the papers behind the principle, the analysis and the integration, and those that the corrections name by number.

    References of registered principles and methods follow those of the library.
    """
    keys = [*subject.equations.principle.cited()]
    if subject.analysis.tree is not None:
        keys.append("003")
    text = " ".join((*subject.model.corrections, subject.model.prose))
    keys += [key for key in _PAPERS if key.isdigit() and key in text.replace(".", " ").replace(",", " ").split()]
    if subject.analysis.offsets is not None:
        keys.append("Pryce")
    if subject.motion is not None and subject.motion.method is not None:
        keys += subject.motion.method.cited()
    return [*(key for key in _PAPERS if key in keys), *dict.fromkeys(key for key in keys if key not in _PAPERS)]
