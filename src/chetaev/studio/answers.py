"""Compute the answers to requests about a model, as plain data for the page."""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from chetaev.core.errors import ChetaevError
from chetaev.core.notation.show import mathml
from chetaev.core.rows.unilateral import Contact
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.registry import words_of
from chetaev.export import code
from chetaev.gallery import gallery
from chetaev.io.writing import dumps
from chetaev.mechanics.analysis import Analysis
from chetaev.mechanics.classify import classify
from chetaev.mechanics.derivation import derive
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.model import Model, under
from chetaev.mechanics.principles import of_words
from chetaev.numerics.comparison.compare import compare
from chetaev.numerics.motion.simulate import simulate
from chetaev.numerics.motion.trajectory import Trajectory
from chetaev.numerics.verdict.analyze import analyze
from chetaev.plot.animation import animate
from chetaev.studio.faults import failed, own_fault, refusal
from chetaev.studio.live import around_parameter, around_start, motion_page
from chetaev.studio.request import Asked, MalformedError, read, require_text, require_two
from chetaev.sweeps.measures import read_measures
from chetaev.sweeps.points import read_points
from chetaev.sweeps.study import OUTCOMES, Study

_FILM_SECONDS = 4.0
"""Largest length of a film in seconds: its hundred pictures take about five seconds to draw, well within the time limit of a request."""
_FILM_WIDTH = 480
"""Width of a film in pixels."""
_TIMES_SENT = 401
"""Number of times at which a motion is sent to the page: enough for a smooth curve on a wide screen, and some tens of kilobytes."""
_MEASURE = "measured"
"""Name of the quantity inside a sweep; the page shows its expression."""


def answer(verb: str, body: Any) -> dict[str, Any]:
    """Return the answer to a request; an error of the model is part of an answer.

    Raises:
        MalformedError: If a field is missing or has a wrong type.
    """
    if verb == "gallery":
        return _gallery(require_text(body, "name"))
    asked = read(body)
    try:
        return {"ok": True, **_ANSWERS[verb](asked)}
    except ChetaevError as fault:
        return refusal(fault, asked.text)
    except MalformedError:
        raise
    except MemoryError:
        return failed("Memory", "the computation needs more memory than a request may use.", hint="a smaller model, or the command line")
    except RecursionError:
        return failed("Memory", "the expressions of the model are nested too deeply.", hint="name parts of them in [where]")
    except Exception as fault:
        return own_fault(fault)


def _derive(asked: Asked) -> dict[str, Any]:
    model = asked.model()
    return {
        "name": model.system.name,
        "principle": str(model.principle),
        "principles": [words_of(p) for p in model.principles],
        "ranges": _ranges(model),
        **_equations(derive(model)),
    }


def _equations(equations: Equations) -> dict[str, Any]:
    typeset = equations.mathml()
    rows = [{"label": row.label, "text": equations.row_text(row), "mathml": typeset[row.label]} for row in equations.rows]
    rows += [_contact(equations, contact) for contact in equations.system.unilateral]
    return {"rows": rows, "unknowns": [z.name for z in equations.unknowns], "count": equations.count_text()}


def _contact(equations: Equations, contact: Contact) -> dict[str, str]:
    """Return the condition of a contact as a row: gap and multiplier are not negative, and one of them is zero."""
    gap, multiplier = (mathml(e).partition(">")[2].removesuffix("</math>") for e in (contact.gap, contact.multiplier))
    condition = f"<mrow>{gap}</mrow><mo>≥</mo><mn>0</mn><mtext>, </mtext><mrow>{multiplier}</mrow><mo>≥</mo><mn>0</mn>"
    words = f"<mtext>, one of them is 0; restitution {escape(str(contact.bounce))}</mtext>"
    return {"label": "contact", "text": equations.contact_text(contact), "mathml": f"<math>{condition}{words}</math>"}


def _analyze(asked: Asked) -> dict[str, Any]:
    model = asked.model()
    analysis = analyze(model)
    return {**_verdict(analysis), "text": str(analysis), "classification": classify(model.system).lines}


def _verdict(analysis: Analysis) -> dict[str, Any]:
    return {
        "verdict": str(analysis.verdict),
        "sentence": analysis.verdict.sentence,
        "dimension": analysis.dimension,
        "index": analysis.index,
        "free_data": list(analysis.free_data),
        "free_functions": list(analysis.free_functions),
        "hidden": list(analysis.hidden),
        "undetermined": list(analysis.undetermined),
        "facts": [line.strip() for line in analysis.lines],
        "branches": [_branch(k, branch, analysis) for k, branch in enumerate(analysis.branches)],
    }


def _branch(number: int, branch: Analysis, whole: Analysis) -> dict[str, Any]:
    """Return a branch as data; `number` is the value of the field `branch` in a request."""
    found = _verdict(branch)
    relations = " or ".join(branch.sides) or ", ".join(f"{row} = 0" if "=" not in row else row for row in branch.hidden)
    return {"number": number, "relations": relations or "no further relation", "selectable": whole.verdict.allows_motion, **found}


def _simulate(asked: Asked) -> dict[str, Any]:
    model = asked.model()
    return _motion(simulate(model))


def _motion(motion: Trajectory) -> dict[str, Any]:
    times = _times(motion)
    names = [z.name for z in motion.jets] + [m.name for m in motion.equations.multipliers if m.name not in {z.name for z in motion.jets}]
    section = motion.at(times) if motion.reader.dense else None
    values: dict[str, list[float | None]] = {}
    for name in names:
        column = motion[name] if section is None else section[name]
        values[name] = _numbers(column)
    return {
        "outcome": str(motion.outcome),
        "message": motion.message,
        "t": _numbers(times),
        "values": values,
        "drift": {name: _number(v) for name, v in motion.drift.items()},
        "certified": bool(motion.certificate.ok),
        "text": str(motion),
        "events": [{"text": event.text, "t": _number(event.t)} for event in motion.events[:1000]],
    }


def _times(motion: Trajectory) -> Any:
    if not motion.reader.dense or len(motion.t) < 2:
        return motion.t
    return np.linspace(float(motion.t[0]), float(motion.t[-1]), _TIMES_SENT)


def _compare(asked: Asked) -> dict[str, Any]:
    model = replace(asked, principle=()).model()
    wanted = tuple(of_words(word, f"principle {word}") for word in asked.principle) or model.principles
    require_two(wanted)
    sides = []
    for principle in dict.fromkeys(wanted):
        side: dict[str, Any] = {"principle": str(principle), "words": principle.in_words()}
        try:
            sides.append({**side, "ok": True, **_equations(derive(under(model, principle)))})
        except ChetaevError as fault:
            sides.append({**side, **refusal(fault, asked.text)})
    found: dict[str, Any] = {"sides": sides}
    if not all(side["ok"] for side in sides):
        return found
    try:
        return {**found, **_compared(model, wanted, asked.start, sides)}
    except ChetaevError as fault:  # the equations are compared even if a motion needs more data
        return {**found, "errors": refusal(fault, asked.text)["errors"]}


def _compared(model: Model, wanted: Any, start: Mapping[str, Any], sides: list[dict[str, Any]]) -> dict[str, Any]:
    cases = {p: under(model, p) for p in dict.fromkeys(wanted)}
    first = next(iter(cases.values()))
    data = {p: {k: v for k, v in case.start.fixed.items() if first.start.fixed.get(k) != v} | dict(start) for p, case in cases.items()}
    found = compare(replace(first, also={p: data[p] for p in list(cases)[1:]}), list(cases))
    for side, motion in zip(sides, found.motions.values(), strict=True):
        side |= _motion(motion)
    return {"text": str(found), "pairs": [line for pair in found.pairs for line in pair.lines()]}


def _code(asked: Asked) -> dict[str, Any]:
    return {"language": asked.language, "code": code(asked.model(), asked.language)}


def _page(asked: Asked) -> dict[str, Any]:
    return motion_page(asked.model())


def _report(asked: Asked) -> dict[str, Any]:
    from chetaev.report import report

    made = report(asked.model())
    return {"title": made.title, "html": made.html}


def _film(asked: Asked) -> dict[str, Any]:
    """Return a film of the motion as a GIF in base 64, with its outcome."""
    motion = simulate(asked.model())
    animation = animate(motion)
    if animation.seconds > _FILM_SECONDS:
        animation = animate(motion, seconds=_FILM_SECONDS)
    with tempfile.TemporaryDirectory() as folder:
        path = animation.save(Path(folder) / "film.gif", width=_FILM_WIDTH)
        content = path.read_bytes()
    return {"outcome": str(motion.outcome), "gif": base64.b64encode(content).decode("ascii")}


def _gallery(name: str) -> dict[str, Any]:
    try:
        return {"ok": True, "name": name, "text": dumps(gallery(name))}
    except ChetaevError as fault:
        return refusal(fault, "")


def _sweep(asked: Asked) -> dict[str, Any]:
    """Return a quantity at the end of the motion (None if it did not finish) over a parameter or an initial value, and the outcomes.

    Raises:
        MalformedError: If `over` or `measure` is missing.
    """
    if asked.over is None or not asked.measure:
        raise MalformedError("over and measure are missing.")
    model, over = asked.model(), asked.over
    where = f"sweep {model.system.label}"
    points = read_points({over.name: np.linspace(over.low, over.high, over.count)}, where)
    study = Study(model, Frozen(read_measures({_MEASURE: asked.measure}, points.values, where)), where)
    columns = points.columns((slice(None),))
    study.check({name: values[:1] for name, values in columns.items()})
    found, codes = study.run(columns, threads=1)
    [(name, values)] = columns.items()
    measured = [float(v) if np.isfinite(v) else None for v in found[_MEASURE].tolist()]
    return {"name": name, "measure": asked.measure, "over": values.tolist(), "values": measured, "outcomes": [OUTCOMES[k] for k in codes]}


def _ranges(model: Model) -> list[dict[str, Any]]:
    """Return the parameters and given initial values that can be varied, each with a range around its value."""
    found = []
    for kind, given, around in (("parameters", model.parameters, around_parameter), ("start", model.start.fixed, around_start)):
        for name, value in given.items():
            if isinstance(value, int | float) and np.isfinite(value):
                low, high = around(float(value))
                found.append({"name": str(name), "kind": kind, "low": low, "high": high})
    return found


def _numbers(column: Any) -> list[float | None]:
    return [_number(v) for v in np.asarray(column, dtype=float).tolist()]


def _number(value: float) -> float | None:
    """A finite number, or None, because JSON has no infinities and NaN."""
    return float(value) if np.isfinite(value) else None


_ANSWERS: dict[str, Callable[[Asked], dict[str, Any]]] = {
    "derive": _derive,
    "analyze": _analyze,
    "simulate": _simulate,
    "compare": _compare,
    "code": _code,
    "motion": _page,
    "report": _report,
    "sweep": _sweep,
    "film": _film,
}
"""The function that answers each verb."""
