r"""Gauges: functions of time that the equations leave free, chosen by the user.

A gauge $q_2 = \sin t$ is an additional row. With as many gauges as there are free functions the motion is determined: the rows are closed
by their consequences, and an error names unknowns that are still free.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sympy import Expr

from chetaev.core.declarations import read_value
from chetaev.core.errors import GaugeError, UsageError, about, require_mapping
from chetaev.core.fixes import ChooseGauge, SetArgument
from chetaev.core.symbols import Jet, jets_in
from chetaev.core.system import lowest_written
from chetaev.mechanics.assemble import Row
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.origins import Chosen
from chetaev.numerics.flow.closure import Closure, End, closure_of
from chetaev.numerics.verdict.branches import FreeFunction, with_rows

_EXAMPLE = SetArgument("gauge", {"q2": "sin(t)"})
_EXAMPLES = ("sin(t)", "cos(t)", "t", "0", "1")
_HIGHEST_ORDER = 6
"""Order of derivatives up to which an example of a gauge meets the given values; starts state hardly more than accelerations."""
_LONGEST_WHOLE = 1e15
"""Size below which whole numbers in an example are written without a power of ten."""
_WORDS = ("no", "one", "two", "three", "four", "five", "six")


@dataclass(frozen=True)
class Gauge:
    """An expression that the user equates to a function of time."""

    text: str
    target: Expr
    value: Expr

    @property
    def row(self) -> Row[Expr]:
        """The row `target = value`."""
        return Row(Chosen(self.text), self.target, self.value)


def read_gauge(equations: Equations, given: Any, where: str) -> tuple[Gauge, ...]:
    """The gauge functions by coordinate, jet or expression."""
    if given is None:
        return ()
    require_mapping(given, "gauge functions are", where, _EXAMPLE)
    if not given:
        raise UsageError("no gauge function is given.", where=about(where, "gauge"), hint=_EXAMPLE)
    unknowns = {z.base for z in equations.unknowns}
    found = []
    for key, text in given.items():
        place = about(f"{where}, gauge of {key}", "gauge", str(key))
        target = read_value(key, equations.vocabulary, place)
        if not any(z.base in unknowns for z in jets_in(target)):
            known = " ".join(lowest_written(equations.system, z) for z in equations.system.coordinates)
            raise GaugeError(f"{key} is not an unknown of the motion.", where=about(where, "gauge", str(key)), hint=f"jets of {known}")
        found.append(Gauge(str(key), target, read_value(text, equations.vocabulary, place)))
    return tuple(found)


def fixed(equations: Equations, gauges: Sequence[Gauge], expected: int, where: str, verb: str) -> Equations:
    """The equations with gauge rows; a GaugeError if they contradict, or leave a function free."""
    chosen = with_rows(equations, [gauge.row for gauge in gauges])
    names = " ".join(gauge.text for gauge in gauges)
    found = closure_of(chosen)
    if len(gauges) > expected:
        raise GaugeError(
            f"{len(gauges)} gauge functions are given, and there {'is' if expected == 1 else 'are'} {count_of(expected)}.",
            where=about(where, "gauge"),
            why=f"{names} cannot be chosen independently, or not all are needed.",
            hint="leave out functions that the equations determine",
        )
    if found.end is End.EMPTY:
        last = found.consequences[-1] if found.consequences else None
        why = f"With it {', '.join(last.origins)} cannot hold together." if last else "No state satisfies all rows with it."
        raise GaugeError(f"the gauge of {names} contradicts the equations.", where=about(where, "gauge"), why=why, hint="another function")
    if found.end is End.UNCLEAR:
        raise GaugeError(
            f"with the gauge of {names} the rows do not close.",
            where=about(where, "gauge"),
            why="Differentiation leads to no unique motion: the gauge contradicts the equations, or is not smooth enough.",
            hint="another function, or another coordinate",
        )
    if found.free:
        fault = gauge_missing_by_numbers(found, where, verb)
        fault.why = f"The gauge of {names} leaves {'it' if len(found.free) == 1 else 'them'} open."
        raise fault
    return chosen


@dataclass(frozen=True)
class Given:
    """The values of jets that a start states, at its time."""

    t: float
    jets: Mapping[str, float]


_NOTHING_GIVEN = Given(0.0, {})


def gauge_missing(free: Sequence[FreeFunction], where: str, verb: str, given: Given = _NOTHING_GIVEN) -> GaugeError:
    """Return the error for a free function without a gauge; its examples meet the given values."""
    names = list(dict.fromkeys(f.written for f in free))
    values = ", ".join(f"{f.name} = {f.jet.name}" for f in free)
    return _missing(names, values, len(free), where, verb, given)


def gauge_missing_by_numbers(found: Closure, where: str, verb: str, given: Given = _NOTHING_GIVEN) -> GaugeError:
    """Return the error of `gauge_missing` if only the numerical analysis found free functions."""
    jets: tuple[Jet, ...] = found.free
    names = [lowest_written(found.system.equations.system, z) for z in jets]
    return _missing(names, " ".join(z.name for z in jets), len(jets), where, verb, given)


def _missing(names: Sequence[str], values: str, count: int, where: str, verb: str, given: Given) -> GaugeError:
    examples = tuple((name, _meeting(name, given) or usual) for name, usual in zip(names, _EXAMPLES, strict=False))
    return GaugeError(_sentence(names, values, count), where=where, hint=ChooseGauge(examples, verb))


def _meeting(name: str, given: Given) -> str:
    """A function of time with the given values of a quantity and its derivatives; empty if none is given.

    >>> _meeting("q2", Given(0.0, {"q2": 0.4, "q2'": -0.3})), _meeting("q2", Given(1.0, {"q2": 2.0}))
    ('0.4 - 0.3*sin(t)', '2 + sin(t - 1)')
    """
    orders = {k: given.jets[jet] for k in range(_HIGHEST_ORDER + 1) if (jet := name + k * "'") in given.jets}
    if not orders:
        return ""
    since = "t" if not given.t else f"t {'-' if given.t > 0 else '+'} {_number(given.t)}"
    if max(orders) > 1:  # a polynomial, with zeros for the values that are not given
        powers = {0: "", 1: f"({since})", **{k: f"({since})^{k}" for k in range(2, _HIGHEST_ORDER + 1)}}
        terms = [(v / math.factorial(k), powers[k].replace("(t)", "t")) for k, v in orders.items()]
    else:
        terms = [(orders.get(0, 0.0), ""), (orders.get(1, 1.0), f"sin({since})")]
    return _sum_of(terms)


def _sum_of(terms: Sequence[tuple[float, str]]) -> str:
    """A sum of numbers times functions, without terms that vanish."""
    text = ""
    for factor, function in terms:
        if not factor:
            continue
        number = _number(factor)
        size = number if not function else function if number == "1" else f"{number}*{function}"
        sign = "-" if factor < 0 else "+"
        text += f" {sign} {size}" if text else f"{sign.strip('+')}{size}"
    return text or "0"


def _number(v: float) -> str:
    """The absolute value of a number, with all digits."""
    return f"{abs(v):.0f}" if abs(v) < _LONGEST_WHOLE and v == int(v) else repr(abs(v))


def _sentence(names: Sequence[str], values: str, count: int) -> str:
    listed = " and ".join(f"{name}(t)" for name in names)
    verb = "is" if len(names) == 1 else "are"
    return f"{listed} {verb} not fixed by the equations: {count_of(count)}, {values}."


def count_of(n: int) -> str:
    """`one free function`."""
    word = _WORDS[n] if n < len(_WORDS) else str(n)
    return f"{word} free function{'s' * (n != 1)}"
