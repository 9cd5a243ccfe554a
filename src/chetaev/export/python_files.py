"""A right-hand side as a Python file: with NumPy, or as a CasADi graph. Neither file imports chetaev."""

from __future__ import annotations

import json

from chetaev.export.problem import RightHandSide
from chetaev.export.program import Formulas, Program, numbers
from chetaev.export.spelling import CASADI, NUMPY

_LONGEST_LINE = 110
"""Number of characters above which a list is written with one entry per line."""

_RUN = '''


def main(steps=1000, lines=100):
    """The motion from START over INTERVAL as a table, by Runge and Kutta's method of order 4."""
    state, t = {start}, INTERVAL[0]
    h = (INTERVAL[1] - INTERVAL[0]) / steps
    print("t", *STATE, sep=",")
    for k in range(steps + 1):
        if k % max(1, steps // lines) == 0:
            print(t, *{shown}, sep=",")
        k1 = rhs(t, state{values})
        k2 = rhs(t + h / 2, state + h / 2 * k1{values})
        k3 = rhs(t + h / 2, state + h / 2 * k2{values})
        k4 = rhs(t + h, state + h * k3{values})
        state, t = state + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), INTERVAL[0] + (k + 1) * h


if __name__ == "__main__":
    main()
'''


def numpy_file(source: RightHandSide) -> str:
    """Return the file for NumPy: functions `unknowns`, `rhs`, `constraints`, and a `main` that integrates the motion."""
    program = Program(source, NUMPY)
    lines = [*_opening(program, "Needs numpy only."), "import numpy as np", "", *_data(program, "np.array([{}])", by_name=True), "", ""]
    lines += ["def unknowns(t, state, parameters=PARAMETERS):", '    """The unknowns at a state, in the order of UNKNOWNS."""']
    lines += [f"    {line}" for line in [*_read(program, program.system, by_name=True), *program.system.assignments, *_matrix(program)]]
    lines += [f"    {line}" for line in _numpy_solution(source)]
    lines += ["", "", "def rhs(t, state, parameters=PARAMETERS):"]
    lines += ['    """The rates of the state, as an argument of scipy.integrate.solve_ivp(rhs, INTERVAL, START)."""']
    lines += [
        "    solved = unknowns(t, state, parameters)",
        *_turned(program, by_name=True),
        *_returned("return np.array([{}])", _rates(program)),
    ]
    lines += [
        "",
        "",
        "def constraints(t, state, parameters=PARAMETERS):",
        '    """The residuals of the constraints, which vanish on every state of a motion."""',
    ]
    lines += [f"    {line}" for line in [*_read(program, program.constraints, by_name=True), *program.constraints.assignments]]
    lines += _returned("return np.array([{}])", _listed(program.constraints))
    if any("(math." in line for line in lines):  # NumPy has no error function
        lines.insert(lines.index("import numpy as np"), "import math\n")
    return "\n".join(lines) + _RUN.format(start="START.copy()", shown="state", values="")


def casadi_file(source: RightHandSide) -> str:
    """Return the file for CasADi: functions `unknowns`, `rhs`, `constraints` of (t, state, parameters), and a `main`."""
    program = Program(source, CASADI)
    lines = [*_opening(program, "Needs casadi only."), "import casadi as ca", "", *_data(program, "[{}]", by_name=False), ""]
    lines += ['t = ca.SX.sym("t")', 'state = ca.SX.sym("state", len(STATE))', 'parameters = ca.SX.sym("parameters", len(PARAMETERS))']
    lines += ["", "", "def _unknowns():", '    """The unknowns at a state, in the order of UNKNOWNS."""']
    lines += [f"    {line}" for line in [*_read(program, program.system, by_name=False), *program.system.assignments]]
    lines += [f"    {line}" for line in _matrix(program, "ca.SX({}, {})")]
    lines += [f"    {line}" for line in _casadi_solution(source)]
    lines += ["", "", "def _constraints():", '    """The residuals of the constraints, which vanish on every state of a motion."""']
    lines += [f"    {line}" for line in [*_read(program, program.constraints, by_name=False), *program.constraints.assignments]]
    lines += _returned("return ca.vertcat({})", _listed(program.constraints))
    lines += [
        "",
        "",
        "def _rates(solved):",
        '    """The rates of the state."""',
        *_turned(program, by_name=False),
        *_returned("return ca.vertcat({})", _rates(program)),
    ]
    lines += ["", ""]
    for name, value in (("unknowns", "_unknowns()"), ("rhs", "_rates(_unknowns())"), ("constraints", "_constraints()")):
        lines.append(f'{name} = ca.Function("{name}", [t, state, parameters], [{value}], ["t", "state", "parameters"], ["{name}_out"])')
    return "\n".join(lines) + "\n" + _RUN.format(start="ca.DM(START)", shown="state.full().ravel()", values=", VALUES")


def _opening(program: Program, needs: str) -> list[str]:
    quoted = "\n".join(program.head(needs)).replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return [f'"""{quoted}', '"""', ""]


def _data(program: Program, array: str, by_name: bool) -> list[str]:
    source, spelling = program.source, program.spelling
    values = [f"{json.dumps(p.name)}: {spelling.number(v)}" for p, v in source.parameters.items()]
    lines = [
        f"STATE = {_names([z.name for z in source.state])}",
        f"UNKNOWNS = {_names([z.name for z in source.unknowns])}",
        f"CONSTRAINTS = {_names(source.labels)}",
        f"PARAMETERS = {{{', '.join(values)}}}",
        f"START = {array.format(numbers(source.start, spelling))}",
        f"INTERVAL = ({numbers(source.interval, spelling)})",
    ]
    return lines if by_name else [*lines, "VALUES = list(PARAMETERS.values())"]


def _read(program: Program, found: Formulas, by_name: bool) -> list[str]:
    """Return the lines that assign the needed inputs to their names."""
    names = [p.name for p in program.source.parameters]
    return [
        f"{name} = {array}[{json.dumps(names[k]) if by_name and array == 'parameters' else k}]" for name, array, k in program.used(found)
    ]


def _matrix(program: Program, zeros: str = "np.zeros(({}, {}))") -> list[str]:
    """Return the lines that fill the matrix; its last column is the right side."""
    source = program.source
    lines = [f"matrix = {zeros.format(source.size, source.width)}  # the last column is the right side"]
    return lines + [f"matrix[{i}, {j}] = {text}" for i, j, text in program.entries()]


def _numpy_solution(source: RightHandSide) -> list[str]:
    n = source.size
    if not source.opened and len(source.unknowns) == n:
        return [f"return np.linalg.solve(matrix[:, :{n}], matrix[:, {n}])"]
    lines = [f"solution = np.linalg.solve(matrix[:, :{n}], matrix[:, {n}:])", f"found = np.zeros({len(source.unknowns)})"]
    lines += [f"found[{list(source.columns)}] = solution[:, -1]"]
    if source.opened:
        lines += [
            f"null = np.zeros(({len(source.unknowns)}, {len(source.opened)}))",
            f"null[{list(source.columns)}] = -solution[:, :-1]",
            f"null[{list(source.opened)}, range({len(source.opened)})] = 1.0",
            "found -= null @ np.linalg.solve(null.T @ null, null.T @ found)  # of least norm",
        ]
    return [*lines, "return found"]


def _casadi_solution(source: RightHandSide) -> list[str]:
    n, every = source.size, len(source.unknowns)
    lines = [f"left, right = matrix[:, :{n}], matrix[:, {n}:]", "solution = ca.solve(left, right)"]
    lines += ["solution += ca.solve(left, right - ca.mtimes(left, solution))  # removes the round-off of an elimination without pivots"]
    if not source.opened and every == n:
        return [*lines, "return solution"]
    lines += [f"found = ca.SX({every}, 1)", f"found[{list(source.columns)}] = solution[:, -1]"]
    if source.opened:
        lines += [f"null = ca.SX({every}, {len(source.opened)})", f"null[{list(source.columns)}, :] = -solution[:, :-1]"]
        lines += [f"null[{j}, {k}] = 1.0" for k, j in enumerate(source.opened)]
        lines += ["found -= ca.mtimes(null, ca.solve(ca.mtimes(null.T, null), ca.mtimes(null.T, found)))  # of least norm"]
    return [*lines, "return found"]


def _turned(program: Program, by_name: bool) -> list[str]:
    return [f"    {line}" for line in [*_read(program, program.turning, by_name), *program.turning.assignments]]


def _rates(program: Program) -> list[str]:
    turning = program.turning.results
    found = {"state": "state[{}]", "unknowns": "solved[{}]"}
    return [found[array].format(k) if array in found else turning[k] or "0.0" for array, k in program.source.rates()]


def _listed(found: Formulas) -> list[str]:
    return [text or "0.0" for text in found.results]


def _returned(template: str, entries: list[str]) -> list[str]:
    """Return a statement that contains a list, on one line or on several."""
    line = f"    {template.format(', '.join(entries))}"
    if len(line) <= _LONGEST_LINE:
        return [line]
    opening, closing = template.split("{}")
    return [f"    {opening}", *[f"        {entry}," for entry in entries], f"    {closing}"]


def _names(names: list[str] | tuple[str, ...]) -> str:
    listed = ", ".join(map(json.dumps, names))
    return f"({listed},)" if len(names) == 1 else f"({listed})"
