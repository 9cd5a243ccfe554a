"""A model as a JavaScript module that integrates its motion, for pages without a server and for node."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from chetaev.core.symbols import Jet
from chetaev.export.browser_problem import BrowserProblem
from chetaev.export.problem import INPUT, Tape
from chetaev.export.program import Formulas, Program
from chetaev.export.spelling import JAVASCRIPT
from chetaev.numerics.methods.dop853 import tableau

_HELPERS = {
    "square": "function square(a) { return a * a; }",
    "copysign": "function copysign(a, b) { return b < 0 || Object.is(b, -0) ? -Math.abs(a) : Math.abs(a); }",
    "erf": """\
// The error function: a power series, or a continued fraction for large arguments.
function erf(a) {
  const x = Math.abs(a), sign = a < 0 ? -1 : 1;
  if (x < 3) {
    let term = x, sum = x;
    for (let n = 1; n < 120 && Math.abs(term) > 1e-17 * Math.abs(sum); n++) {
      term *= (-x * x) / n;
      sum += term / (2 * n + 1);
    }
    return (sign * 2 * sum) / Math.sqrt(Math.PI);
  }
  let fraction = 0;
  for (let n = 60; n > 0; n--) fraction = n / 2 / (x + fraction);
  return sign * (1 - Math.exp(-x * x) / Math.sqrt(Math.PI) / (x + fraction));
}""",
}
"""Functions that JavaScript lacks."""


def javascript_file(source: BrowserProblem) -> str:
    """Return the module: names, numbers, `rates`, `unknowns`, `constraints`, `project`, `energy`, `simulate`."""
    program = Program(source.side, JAVASCRIPT)
    body = "\n\n".join(_functions(source, program))
    helpers = [text for name, text in _HELPERS.items() if re.search(rf"\b{name}\(", body)]
    parts = ["integrator.js", *(["switches.js"] if source.surface_names else []), *(["events.js"] if source.events else [])]
    runtime = [files("chetaev.export").joinpath("web", part).read_text(encoding="utf-8") for part in parts]
    return "\n\n".join([_head(program), _data(source), _method(), *helpers, body, *runtime])


def _head(program: Program) -> str:
    lines = "\n".join(program.head("A module without imports, for browsers and node.")).splitlines()
    return "\n".join(f"// {_plain(line)}".rstrip() for line in lines)


def _plain(line: str) -> str:
    """A line of a comment, with characters removed that would end the line or a script element of a page."""
    return re.sub(r"[\u2028\u2029\x00-\x1f\x7f]", " ", line).replace("</", "< /").replace("<!--", "< !--")


def _text(value: Any) -> str:
    """A value in JavaScript; no text in it can end a script element."""
    return json.dumps(value, ensure_ascii=True).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _data(source: BrowserProblem) -> str:
    side = source.side
    own = list(side.parameters)[: source.own]
    values = {p.name: v for p, v in side.parameters.items() if p in own}
    codes = {"state": 0, "unknowns": 1, "turning": 2}
    events = [
        {"text": event.text, "terminal": event.terminal, "direction": event.direction, "reset": list(jets)}
        for event, (jets, _) in zip(source.events, source.resets, strict=True)
    ]
    exported = {
        "name": side.equations.system.name,
        "principle": str(side.equations.principle),
        "stateNames": [z.name for z in side.state],
        "unknownNames": [z.name for z in side.unknowns],
        "parameterNames": [p.name for p in own],
        "constraintNames": list(side.labels),
        "parameters": values,
        "start": list(side.start),
        "interval": list(side.interval),
        "tolerance": source.tolerance,
    }
    constants = {
        "SIZE": side.size,
        "COLUMNS": list(side.columns),
        "OPENED": list(side.opened),
        "RATES": [[codes[array], k] for array, k in side.rates()],
        "ORDERS": [z.order if isinstance(z, Jet) else 0 for z in side.state],
        "TURNS": bool(side.turning.results),
        "QUATERNIONS": [list(places) for places in source.quaternions],
        "GIVEN": list(source.given),
        "SURFACES": list(source.surface_names),
        "EVENTS": events,
        "MAX_STEP": source.max_step,
        "MAX_STEPS": source.max_steps,
        "ENERGY_NEEDS": any(k > len(side.symbols) - 1 for k in _inputs(source.energy)),
        "OUTPUTS_NEED": any(k > len(side.symbols) - 1 for k in _inputs(source.outputs)),
    }
    lines = [f"export const {name} = {_text(value)};" for name, value in exported.items()]
    return "\n".join([*lines, "", *[f"const {name} = {_text(value)};" for name, value in constants.items()]])


def _inputs(tape: Tape) -> set[int]:
    return {node.place for node in tape.nodes if node.operation == INPUT}


def _method() -> str:
    """The coefficients of the Runge-Kutta pair 8(5,3) of Dormand and Prince."""
    stages = [[[], []], *[list(map(list, getattr(tableau, f"A{k}"))) for k in range(1, 12)]]
    nodes = [0.0, *[getattr(tableau, f"C{k}") for k in range(1, 12)]]
    inside = [[getattr(tableau, f"C{k}"), *getattr(tableau, f"A{k}")] for k in (13, 14, 15)]
    rows = [getattr(tableau, f"D{k}") for k in (3, 4, 5, 6)]
    named = {"STAGES": stages, "NODES": nodes, "WEIGHTS": tableau.B, "FIFTH": tableau.E5, "THIRD": tableau.E3}
    named |= {"INSIDE": inside, "ROWS": rows}
    head = "// The Runge-Kutta pair 8(5,3) of Dormand and Prince: E. Hairer, S. P. Norsett, G. Wanner, Solving ODEs I, section II.10."
    return "\n".join([head, *[f"const {name} = {_text(value)};" for name, value in named.items()]])


def _functions(source: BrowserProblem, program: Program) -> list[str]:
    side = source.side
    width = side.width
    return [
        _filling("matrixAt", program, program.system, side.size * width),
        _listing("residualsAt", "t, s, p", program, program.constraints),
        _filling("slopesAt", program, program.formulas(source.slopes), len(side.labels) * len(side.state)),
        _listing("surfacesAt", "t, s, p", program, program.formulas(source.surfaces)),
        _filling("surfaceSlopesAt", program, program.formulas(source.surface_slopes), _slots(source)),
        _listing("turningAt", "t, s, p, solved", program, program.turning),
        _listing("eventsAt", "t, s, p, solved", program, program.formulas(source.event_values)),
        _single("energyAt", "t, s, p, solved", program, program.formulas(source.energy)),
        _listing("givenAt", "p", program, program.formulas(source.given_values)),
        _resets(source, program),
        *([_listing("outputsAt", "t, s, p, solved", program, program.formulas(source.outputs))] if source.outputs.results else []),
    ]


def _slots(source: BrowserProblem) -> int:
    return len(source.surface_names) * (1 + len(source.side.state))


_ARRAYS = {"state": "s", "parameters": "p", "solved": "solved"}
"""The arguments of the functions, by the arrays of a program."""


def _read(program: Program, found: Formulas) -> list[str]:
    return [*[f"const {name} = {_ARRAYS[array]}[{k}];" for name, array, k in program.used(found)], *found.assignments]


def _listing(name: str, arguments: str, program: Program, found: Formulas) -> str:
    return _function(name, arguments, [*_read(program, found), f"return [{', '.join(text or '0' for text in found.results)}];"])


def _single(name: str, arguments: str, program: Program, found: Formulas) -> str:
    return _function(name, arguments, [*_read(program, found), f"return {found.results[0] or '0'};"])


def _filling(name: str, program: Program, found: Formulas, size: int) -> str:
    """A function that fills and returns an array that all calls share, so that the next call overwrites the result."""
    entries = [f"a[{k}] = {text};" for k, text in enumerate(found.results) if text is not None]
    body = _function(name, "t, s, p", [f"const a = {name}Filled.fill(0);", *_read(program, found), *entries, "return a;"])
    return f"const {name}Filled = new Float64Array({size});\n{body}"


def _resets(source: BrowserProblem, program: Program) -> str:
    parts = []
    for k, (_, tape) in enumerate(source.resets):
        found = program.formulas(tape)
        lines = [*_read(program, found), f"return [{', '.join(text or '0' for text in found.results)}];"]
        parts += [f"if (k === {k}) {{", *[f"  {line}" for line in lines], "}"]
    return _function("resetAt", "k, t, s, p, solved", [*parts, "return [];"])


def _function(name: str, arguments: str, lines: Sequence[str]) -> str:
    return "\n".join([f"function {name}({arguments}) {{", *[f"  {line}" for line in lines], "}"])
