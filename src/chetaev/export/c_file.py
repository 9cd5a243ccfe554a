"""A right-hand side as a C file, which `gcc -O2 file.c -lm` compiles to a program."""

from __future__ import annotations

import json
import re

from chetaev.core.support.text import in_c_comment
from chetaev.export.problem import RightHandSide
from chetaev.export.program import Formulas, Program, numbers
from chetaev.export.spelling import C

_HELPERS = {
    "sq": "static double sq(double a) { return a * a; }",
    "sign": "static double sign(double a) { return (double)((a > 0.0) - (a < 0.0)); }",
}

_ELIMINATE = """\
/* Solves n rows in place by elimination with scaled partial pivoting: the last columns of a become the solution.
   Returns 0, or 1 where the matrix is singular. */
static int eliminate(int n, int width, double *a)
{
    for (int k = 0; k < n; k++) {
        int best = -1;
        double largest = 0.0;
        for (int i = k; i < n; i++) {
            double scale = 0.0;
            for (int j = k; j < n; j++)
                if (fabs(a[i * width + j]) > scale) scale = fabs(a[i * width + j]);
            if (scale > 0.0 && fabs(a[i * width + k]) / scale > largest) {
                largest = fabs(a[i * width + k]) / scale;
                best = i;
            }
        }
        if (best < 0) return 1;
        for (int j = 0; j < width; j++) {
            double swapped = a[k * width + j];
            a[k * width + j] = a[best * width + j];
            a[best * width + j] = swapped;
        }
        for (int i = k + 1; i < n; i++) {
            double factor = a[i * width + k] / a[k * width + k];
            if (factor != 0.0)
                for (int j = k; j < width; j++) a[i * width + j] -= factor * a[k * width + j];
        }
    }
    for (int c = n; c < width; c++)
        for (int i = n - 1; i >= 0; i--) {
            for (int j = i + 1; j < n; j++) a[i * width + c] -= a[i * width + j] * a[j * width + c];
            a[i * width + c] /= a[i * width + i];
        }
    return 0;
}"""

_MAIN = """\
#ifndef CHETAEV_WITHOUT_MAIN
#include <stdio.h>
#include <stdlib.h>

/* The motion from START over INTERVAL as a table, by Runge and Kutta's method of order 4; the argument is the number of steps. */
int main(int count, char **arguments)
{
    const int steps = count > 1 ? atoi(arguments[1]) : 1000;
    const double h = (INTERVAL[1] - INTERVAL[0]) / steps;
    double state[STATE], moved[STATE], rates[4][STATE];
    for (int i = 0; i < STATE; i++) state[i] = START[i];
    printf("t");
    for (int i = 0; i < STATE; i++) printf(",%s", STATE_NAMES[i]);
    printf("\\n");
    for (int k = 0; k <= steps; k++) {
        const double t = INTERVAL[0] + k * h;
        if (steps < 100 || k % (steps / 100) == 0) {
            printf("%.17g", t);
            for (int i = 0; i < STATE; i++) printf(",%.17g", state[i]);
            printf("\\n");
        }
        for (int stage = 0; stage < 4; stage++) {
            const double step = stage == 0 ? 0.0 : stage == 3 ? h : h / 2;
            for (int i = 0; i < STATE; i++) moved[i] = stage ? state[i] + step * rates[stage - 1][i] : state[i];
            if (rhs(t + step, moved, PARAMETERS, rates[stage])) {
                fprintf(stderr, "the equations are singular at t = %g\\n", t);
                return 1;
            }
        }
        for (int i = 0; i < STATE; i++)
            state[i] += h / 6 * (rates[0][i] + 2 * rates[1][i] + 2 * rates[2][i] + rates[3][i]);
    }
    return 0;
}
#endif
"""


def c_file(source: RightHandSide) -> str:
    """Return the file for C: functions `unknowns`, `rhs`, `constraints`, and a program that integrates the motion."""
    program = Program(source, C)
    unknowns, constraints = _unknowns(program), _constraints(program)
    rhs = _rhs(program)
    body = "\n".join([*unknowns, *constraints, rhs])
    helpers = [text for name, text in _HELPERS.items() if re.search(rf"\b{name}\(", body)]
    parts = [_head(program), "#include <math.h>", _data(source), *helpers, _ELIMINATE, "\n".join(unknowns), rhs]
    return "\n\n".join([*parts, "\n".join(constraints), _MAIN])


def _head(program: Program) -> str:
    needs = "Compile it with: gcc -O2 file.c -lm. With -DCHETAEV_WITHOUT_MAIN it is a library of three functions."
    text = "\n".join(f"   {line}".rstrip() for line in program.head(needs)).strip()
    return f"/* {in_c_comment(text)} */"


def _data(source: RightHandSide) -> str:
    sizes = {
        "STATE": len(source.state),
        "UNKNOWNS": len(source.unknowns),
        "PARAMETER_COUNT": len(source.parameters),
        "CONSTRAINTS": len(source.labels),
    }
    return "\n".join(
        [
            f"enum {{ {', '.join(f'{name} = {size}' for name, size in sizes.items())} }};",
            "",
            _names("STATE_NAMES", [z.name for z in source.state]),
            _names("UNKNOWN_NAMES", [z.name for z in source.unknowns]),
            _names("PARAMETER_NAMES", [p.name for p in source.parameters]),
            _array("PARAMETERS", list(source.parameters.values())),
            _array("START", list(source.start)),
            _array("INTERVAL", list(source.interval)),
        ]
    )


def _unknowns(program: Program) -> list[str]:
    source = program.source
    n, width, every = source.size, source.width, len(source.unknowns)
    lines = [
        "/* The unknowns at a state, in the order of UNKNOWN_NAMES. Returns 0, or 1 where they are not determined. */",
        "int unknowns(double t, const double *state, const double *parameters, double *found)",
        "{",
        *[f"    {line}" for line in _read(program, program.system)],
        *[f"    {line}" for line in program.system.assignments],
        f"    double matrix[{n}][{width}] = {{{{0.0}}}}; /* the last column is the right side */",
        *[f"    matrix[{i}][{j}] = {text};" for i, j, text in program.entries()],
        f"    if (eliminate({n}, {width}, &matrix[0][0])) return 1;",
    ]
    if source.opened or every != n:
        lines.append("    for (int i = 0; i < UNKNOWNS; i++) found[i] = 0.0;")
    lines += [f"    found[{j}] = matrix[{i}][{width - 1}];" for i, j in enumerate(source.columns)]
    lines += [f"    {line}" for line in _least_norm(source)]
    return [*lines, "    return 0;", "}"]


def _least_norm(source: RightHandSide) -> list[str]:
    """Return the lines that choose, among the solutions that redundant constraints allow, the one of least norm."""
    n, k = source.size, len(source.opened)
    if not k:
        return []
    lines = [f"double null[UNKNOWNS][{k}] = {{{{0.0}}}}, normal[{k}][{k + 1}];"]
    lines += [f"null[{j}][{c}] = -matrix[{i}][{n + c}];" for i, j in enumerate(source.columns) for c in range(k)]
    lines += [f"null[{j}][{c}] = 1.0;" for c, j in enumerate(source.opened)]
    return [
        *lines,
        f"for (int i = 0; i < {k}; i++)",
        f"    for (int j = 0; j <= {k}; j++) {{",
        "        normal[i][j] = 0.0;",
        f"        for (int m = 0; m < UNKNOWNS; m++) normal[i][j] += null[m][i] * (j < {k} ? null[m][j] : found[m]);",
        "    }",
        f"if (eliminate({k}, {k + 1}, &normal[0][0])) return 1;",
        "for (int m = 0; m < UNKNOWNS; m++)",
        f"    for (int i = 0; i < {k}; i++) found[m] -= null[m][i] * normal[i][{k}];",
    ]


def _rhs(program: Program) -> str:
    texts = {"state": "state[{}]", "unknowns": "solved[{}]"}
    turning = program.turning
    rates = [texts[array].format(k) if array in texts else turning.results[k] or "0.0" for array, k in program.source.rates()]
    read = [f"const double {name} = {array}[{k}];" for name, array, k in program.used(turning)]
    return "\n".join(
        [
            "/* The rates of the state. Returns 0, or 1 where they are not determined. */",
            "int rhs(double t, const double *state, const double *parameters, double *rates)",
            "{",
            "    double solved[UNKNOWNS];",
            "    if (unknowns(t, state, parameters, solved)) return 1;",
            *[f"    {line}" for line in [*read, *turning.assignments]],
            *[f"    rates[{i}] = {text};" for i, text in enumerate(rates)],
            "    return 0;",
            "}",
        ]
    )


def _constraints(program: Program) -> list[str]:
    found = program.constraints
    return [
        "/* The residuals of the constraints, which vanish on every state of a motion: CONSTRAINTS numbers. */",
        "void constraints(double t, const double *state, const double *parameters, double *left)",
        "{",
        *[f"    {line}" for line in _read(program, found)],
        *[f"    {line}" for line in found.assignments],
        *([] if found.results else ["    (void)left;"]),
        *[f"    left[{k}] = {text or '0.0'};" for k, text in enumerate(found.results)],
        "}",
    ]


def _read(program: Program, found: Formulas) -> list[str]:
    """Return the lines that assign the needed inputs to their names; unused arguments are cast to void to avoid compiler warnings."""
    used = program.used(found)
    arrays = {array for _, array, _ in used} | ({"t"} if 0 in found.used else set())
    unused = [f"(void){name};" for name in ("t", "state", "parameters") if name not in arrays]
    return [*unused, *[f"const double {name} = {array}[{k}];" for name, array, k in used]]


def _array(name: str, values: list[float]) -> str:
    return f"const double {name}[] = {{{numbers(values, C) or '0.0'}}};"


def _names(name: str, names: list[str]) -> str:
    return f"const char *const {name}[] = {{{', '.join(map(json.dumps, names or ['']))}}};"
