"""Several principles in one system: each kinematic row is treated by its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import final

from sympy import Add

from chetaev.core.errors import PrincipleError, UsageError, about, did_you_mean
from chetaev.core.fixes import Advice, Fix, UsePrinciple, sentences
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.core.symbols import Multiplier
from chetaev.core.system import System
from chetaev.mechanics.principles.base import Lowered, Principle, RowV, multipliers
from chetaev.mechanics.principles.dalembert import DAlembert
from chetaev.mechanics.principles.hamilton import Hamilton
from chetaev.mechanics.principles.herglotz import Herglotz
from chetaev.mechanics.principles.vakonomic import Vakonomic


@public
@final
class Mixed(Principle):
    r"""Some rows vakonomic, others by reactions: $E_i[L + \lambda_b R_K^b] = u_i + \lambda_a R_V^a{}_i$.

    `rows` maps the label of every kinematic row to its principle: `Mixed({"kinematic[0]": Vakonomic(), "kinematic[1]": DAlembert()})`. The
    multiplier of `kinematic[k]` is `lambda{k+1}`: a costate under the vakonomic principle, the multiplier of a reaction otherwise.
    """

    word = "mixed"

    def __init__(self, rows: Mapping[str, Principle]) -> None:
        if not isinstance(rows, Mapping) or not rows or not all(isinstance(p, Principle) for p in rows.values()):
            raise UsageError(
                "Mixed takes a principle for each row.",
                where=about("Mixed", "rows"),
                hint=UsePrinciple(Mixed({"kinematic[0]": Vakonomic()})),
            )
        for label, principle in rows.items():
            if isinstance(principle, Mixed) or principle.takes_action:
                hint: Advice = "one principle for each row"
                if principle.takes_action:
                    inner = {row: p.inner if isinstance(p, Herglotz) else p for row, p in rows.items()}
                    hint = UsePrinciple(Herglotz(Mixed({row: DAlembert() if p == Hamilton() else p for row, p in inner.items()})))
                raise UsageError(f"{principle} is not a principle for one row, {label}.", where=about("Mixed", "rows"), hint=hint)
        self.rows: Frozen[str, Principle] = Frozen({str(label): principle for label, principle in rows.items()})

    @classmethod
    def nests(cls, setting: str) -> bool:
        """Whether `setting` is `rows`, whose texts in a file are words of principles."""
        return setting == "rows"

    @classmethod
    def maps(cls, setting: str) -> bool:
        """Whether `setting` is `rows`, a mapping from labels of rows that the user chooses."""
        return setting == "rows"

    def in_words(self) -> str:
        """The name of the principle in a report: the names of the principles, each with its row."""
        parts = [f"{principle.in_words()} for {label}" for label, principle in self.rows.items()]
        return ", ".join(parts[:-1]) + f" and {parts[-1]}" if len(parts) > 1 else parts[0]

    def cited(self) -> tuple[str, ...]:
        """The references of all principles in `rows`, without repetition."""
        return tuple(dict.fromkeys(key for principle in self.rows.values() for key in principle.cited()))

    def __str__(self) -> str:
        return f"Mixed({{{', '.join(f'{label!r}: {principle}' for label, principle in self.rows.items())}}})"

    def for_rows(self, labels: Mapping[str, str]) -> Principle:
        return Mixed({new: self.rows[old] for old, new in labels.items()})

    def rewrite(self, system: System) -> Lowered:
        """Rewrite the rows of each principle by this principle, and join their reactions and costates in one normal form."""
        reactions: dict[Multiplier, RowV] = {}
        costates: list[Multiplier] = []
        added = []
        for principle, numbers in self._parts(system).items():
            if isinstance(principle, Vakonomic) and principle.abnormal:
                raise self.refusal(
                    system,
                    f"{principle} is for all rows together.",
                    why="The multiplier of L is zero for an abnormal extremal, and other rows would react to nothing.",
                    hint=UsePrinciple(Mixed({label: Vakonomic() if p == principle else p for label, p in self.rows.items()})),
                )
            try:
                part = principle.normal_form(self._with_rows(system, principle, numbers))
            except PrincipleError as refused:
                refused.advice = tuple(self._instead(principle, advised) for advised in refused.advice)
                raise
            if len(part.multipliers) != len(numbers):
                raise self.refusal(
                    system,
                    f"{principle} has {len(part.multipliers)} multipliers for {len(numbers)} kinematic rows.",
                    why="In a mixture each kinematic row has one multiplier.",
                    hint="state as many variational rows as kinematic rows under it",
                )
            own = multipliers(len(system.kinematic))
            names: dict[Multiplier, Multiplier] = {old: own[k] for old, k in zip(part.multipliers, numbers, strict=True)}
            reactions |= {names[m]: row for m, row in part.reactions.items()}
            costates += [names[m] for m in part.costates]
            added.append((part.lagrangian - system.lagrangian).xreplace(names))
        return Lowered(
            system,
            Add(system.lagrangian, *added),
            Frozen({m: reactions[m] for m in multipliers(len(system.kinematic)) if m in reactions}),
            tuple(m for m in multipliers(len(system.kinematic)) if m in costates),
        )

    def _instead(self, principle: Principle, advised: str | Fix) -> str | Fix:
        """Advice to use another principle, as a mixture in which it replaces the one that does not apply."""
        if not isinstance(advised, UsePrinciple) or isinstance(advised.principle, Mixed):
            return advised
        return replace(advised, principle=Mixed({label: advised.principle if p == principle else p for label, p in self.rows.items()}))

    def _parts(self, system: System) -> dict[Principle, list[int]]:
        """The numbers of the rows that each principle treats."""
        labels = system.kinematic_labels
        unknown = [label for label in self.rows if label not in labels]
        missing = [label for label in labels if label not in self.rows]
        if unknown:
            hint = sentences(did_you_mean(unknown[0], missing), f"the rows: {' '.join(labels) or 'none'}")
            raise self.refusal(system, f"{unknown[0]} is not a kinematic row.", hint=hint, row=unknown[0])
        if missing:
            raise self.refusal(
                system,
                f"no principle is named for {' '.join(missing)}.",
                hint=UsePrinciple(Mixed({**self.rows, **dict.fromkeys(missing, DAlembert())})),
                part="kinematic",
                row=missing[0],
            )
        found: dict[Principle, list[int]] = {}
        for k, label in enumerate(labels):
            found.setdefault(self.rows[label], []).append(k)
        return found

    def _with_rows(self, system: System, principle: Principle, numbers: Sequence[int]) -> System:
        """The system with the rows `numbers` under their labels; if one principle is `VirtualWork`, only it gets stated variations."""
        asks = any(p.word == "virtual-work" for p in self.rows.values())
        stated = system.variational if not asks or principle.word == "virtual-work" else None
        rows = [replace(system.kinematic[k], name=system.kinematic_labels[k]) for k in numbers]
        return system.replace(kinematic=rows, variational=stated)
