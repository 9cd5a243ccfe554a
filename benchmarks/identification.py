"""(i) Which principle, and are errors honest? Many noisy records of known motions.

Each record has one per cent of noise, of the spread of its columns, with a seed of its own. Candidates are fitted from first values that
are not the true ones. A candidate that is wrong is never to be named; where motions differ by more than the noise the right one is to be
named every time, and where they do not differ the answer is "cannot tell". Run by itself, with the number of records, for the whole study:

python benchmarks/identification.py 200
python benchmarks/identification.py 200 skate
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from measure import Effort, Table

import chetaev as ch

NOISE = 0.01
"""Standard deviation of the noise, relative to that of a column."""
SKATE = ch.System(
    "x y th", "m J g", lagrangian="m*(x'^2 + y'^2)/2 + J*th'^2/2 - m*g*x", kinematic=["y'*cos(th) = x'*sin(th)"], name="skate"
)
BEAD = ch.System("x y", "g", lagrangian="(x'^2 + y'^2)/2 - g*y", kinematic=["y = x^2/2"], name="bead")


@dataclass(frozen=True)
class Case:
    """A motion that is known, and what is to be found from its records."""

    truth: ch.Model
    columns: tuple[str, ...]
    unknown: Mapping[str, Any]
    first: Mapping[str, float]
    """First values of the unknowns; other values of the model are the true ones. Multipliers are left to the search."""
    candidates: tuple[Any, ...]
    told: bool = True
    """Whether the motions under the candidates differ by more than the noise."""
    times: int = 40

    @property
    def values(self) -> dict[str, float]:
        """The true values of the unknowns."""
        given = {**self.truth.start.fixed, **self.truth.parameters}
        return {name: float(given[name]) for name in self.unknown}

    @property
    def model(self) -> ch.Model:
        """The model with the first values, without multipliers."""
        start = {name: self.first.get(name, v) for name, v in self.truth.start.fixed.items() if not name.startswith("lambda")}
        parameters = {name: self.first.get(name, v) for name, v in self.truth.parameters.items()}
        return replace(self.truth, parameters=parameters, start=ch.State(start, self.truth.start.guess))


def _cases() -> dict[str, Case]:
    start = {"x": 0, "y": 0, "th": 0.3, "x'": 0.5, "th'": 1.1}
    ice = ch.Model(SKATE, ch.DAlembert(), {"m": 1, "J": 0.5, "g": 1.3}, start, (0, 3))
    vakonomic = replace(ice, principle=ch.Vakonomic(), start={**start, "lambda1": 0.4})
    both, first = (ch.DAlembert(), ch.Vakonomic()), {"g": 1.0, "th'": 0.9}
    bounds = {"g": (0.5, 3), "th'": (0.5, 2)}
    table = replace(ch.gallery("ball-on-turntable"), t=(0, 3))
    bead = ch.Model(BEAD, ch.DAlembert(), {"g": 2}, {"x": 1, "x'": 0}, (0, 3))
    straight = replace(ice, parameters={"m": 1, "J": 0.5, "g": 1.3}, start={"x": 0, "y": 0, "th": 0, "x'": 0.5, "th'": 0})
    return {
        "skate": Case(ice, ("x", "y"), bounds, first, both),
        "skate, vakonomic": Case(vakonomic, ("x", "y"), bounds, first, both),
        "ball on a turntable": Case(
            table, ("a1", "a2"), {"Omega": None}, {"Omega": 0.8 * float(table.parameters["Omega"])}, both, times=50
        ),
        "bead on a wire": Case(bead, ("x",), {"g": (1, 4)}, {"g": 1.5}, both, told=False),
        "skate that goes straight": Case(straight, ("x", "y", "th"), {"g": (0.5, 3)}, {"g": 1.0}, both, told=False),
    }


@dataclass
class Found:
    """How often a study answered what."""

    right: int = 0
    wrong: int = 0
    nothing: int = 0
    within: int = 0
    """Records whose unknowns all lie within three standard errors of the truth."""

    @property
    def records(self) -> int:
        return self.right + self.wrong + self.nothing


def study(case: Case, records: int, say: bool = False) -> Found:
    """Answer for many records of one motion."""
    times = np.linspace(float(case.truth.t[0]), float(case.truth.t[-1]), case.times)
    seen = ch.simulate(case.truth, tolerance=1e-11).at(times)
    found = Found()
    for seed in range(records):
        random = np.random.default_rng(seed)
        exact = {name: np.asarray(seen[name]) for name in case.columns}
        size = max(float(np.std(v)) for v in exact.values())
        data = {"t": times} | {name: v + NOISE * (np.std(v) or size) * random.standard_normal(len(times)) for name, v in exact.items()}
        answer = ch.which(case.model, list(case.candidates), data, unknown=dict(case.unknown))
        own = next(row.fit for row in answer.table if row.candidate == case.truth.principle)
        within = all(abs(own.values[name] - v) <= 3 * own.errors[name] for name, v in case.values.items())
        found.within += within
        found.right += answer.best == case.truth.principle
        found.nothing += answer.best is None
        found.wrong += answer.best not in (case.truth.principle, None)
        if say and (not within or (answer.best is None) == case.told):
            print(f"record {seed}: {answer}\n{own}", flush=True)
    return found


def tables(effort: Effort) -> list[Table]:
    """Few records of each case; the whole study is run by itself."""
    return [_table(1 if effort.quick else 10, list(_cases()), False)]


def _table(records: int, names: list[str], say: bool) -> Table:
    found = Table(
        "(i) Principles from noisy records",
        ["motion", "principle", "can be told", "records", "right", "wrong", "cannot tell", "unknowns within three errors"],
        "One per cent of noise. Unknowns: the speed of the table; gravity and an angular velocity; and multipliers of vakonomic motions.",
    )
    for name in names:
        case = _cases()[name]
        one = study(case, records, say)
        told = "yes" if case.told else "no"
        found.add(name, case.truth.principle, told, one.records, one.right, one.wrong, one.nothing, f"{one.within}/{one.records}")
    return found


if __name__ == "__main__":
    print(_table(int(sys.argv[1]), sys.argv[2:] or list(_cases()), True))
