"""The result of a fit: values, their errors, and the combinations that the data do not determine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from html import escape

import numpy as np

from chetaev.core.display.html import card, columns, facts, number, set_name
from chetaev.core.errors import UsageError
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.mechanics.model import Model
from chetaev.numerics.flow.compiled import Array
from chetaev.numerics.identification.experiments import Experiment, labels
from chetaev.numerics.motion.trajectory import Trajectory


@public
@dataclass(frozen=True, repr=False)
class Fit:
    """Values found by least squares, with their errors and the combinations that the data do not determine."""

    values: Frozen[str, float]
    """The value of each unknown."""
    covariance: Array
    """The covariance of the unknowns, in their order; infinite where data do not determine them."""
    unidentifiable: list[dict[str, float]]
    """Combinations of unknowns that the data do not determine, each as changes of the unknowns that do not change the motion at the
    data."""
    model: Model
    """The model with these values."""
    motions: tuple[Trajectory, ...]
    """The motion of each experiment."""
    residuals: Frozen[str, Array]
    """Motion minus data, by column; with several experiments the names have the number of the experiment: `2: x`."""
    chi2: float
    """The weighted sum of squares."""
    degrees: int
    """The number of values minus the number of unknowns that they determine."""
    weighted: bool
    """Whether the user gave weights."""
    message: str
    """How the search ended."""
    deviations: Frozen[str, float] = field(default_factory=Frozen)
    """The standard deviation of the residuals of each column."""
    experiments: tuple[Experiment, ...] = ()
    """The data."""
    segments: tuple[tuple[Trajectory, ...], ...] = ()
    """The motions of the segments of each experiment, if no single computed motion follows the record to its end because neighbouring
    motions separate too fast. Residuals are then those of the segments. Empty if `motions` follow the records."""
    remarks: tuple[str, ...] = ()
    """Further remarks, such as a search that ended at its limit of steps."""

    def column(self, name: str) -> tuple[Array, Array, Trajectory]:
        """The times and values of a column of the data, by its name in `residuals`, and the motion of its experiment.

        Args:
            name: A column of the data, as `residuals` names it.

        Raises:
            UsageError: If `name` is not a column of the data.
        """
        for k, own in labels(self.experiments):
            if name == (f"{k + 1}: {own}" if len(self.experiments) > 1 else own):
                return self.experiments[k].t, self.experiments[k].columns[own], self.motions[k]
        raise UsageError(f"{name} is not a column of the data.", where="fit", hint=f"columns: {', '.join(self.residuals)}")

    def curve(self, name: str, times: Array) -> Array:
        """The fitted motion of a column of the data, by its name in `residuals`, at any times of the record.

        Args:
            name: A column of the data, as `residuals` names it.
            times: Times within the record.

        Raises:
            UsageError: If `name` is not a column of the data.
        """
        _, _, motion = self.column(name)
        own = name.partition(": ")[2] if len(self.experiments) > 1 else name
        if not self.segments:
            return np.asarray(motion.at(times)[own])
        parts = self.segments[int(name.partition(": ")[0]) - 1 if len(self.experiments) > 1 else 0]
        place = np.clip(np.searchsorted([one.end[0] for one in parts], times, side="right"), 0, len(parts) - 1)
        found = np.empty(len(times))
        for k, one in enumerate(parts):
            found[place == k] = one.at(times[place == k])[own]
        return found

    @property
    def motion(self) -> Trajectory:
        """The motion of the first experiment."""
        return self.motions[0]

    @cached_property
    def errors(self) -> dict[str, float]:
        """The standard error of each unknown; without weights it is based on the variance of the residuals."""
        return {name: float(np.sqrt(v)) for name, v in zip(self.values, np.diag(self.covariance), strict=True)}

    @cached_property
    def correlations(self) -> Array:
        """The correlations of the unknowns, a matrix in the order of `values`; NaN where the data do not determine an unknown.

        Near 1 or -1 the data determine a combination of two unknowns better than either of them.
        """
        variances = np.diag(self.covariance)
        sizes = np.sqrt(np.where(np.isfinite(variances) & (variances > 0), variances, np.nan))
        found: Array = self.covariance / np.outer(sizes, sizes)
        return found

    def interval(self, name: str, level: float = 0.95) -> tuple[float, float]:
        """The confidence interval of an unknown, by Student's distribution.

        Args:
            name: An unknown of the fit.
            level: The probability that the interval contains the value.

        Raises:
            UsageError: If `name` is not an unknown of the fit.
        """
        from scipy import stats  # reports know fits, but few compute one

        if name not in self.values:
            raise UsageError(f"{name} is not an unknown of the fit.", where="fit", hint=f"unknowns: {' '.join(self.values)}")
        width = float(stats.t.ppf(0.5 + level / 2, max(self.degrees, 1))) * self.errors[name]
        return self.values[name] - width, self.values[name] + width

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        found = []
        for name, v in self.values.items():
            low, high = self.interval(name)
            found.append((set_name(name), number(v, 8), f"± {number(self.errors[name], 2)}", f"{number(low)} to {number(high)}"))
        table = columns(("", "value", "error", "95 %"), found)
        return card(self._title, table, facts(map(escape, self.facts)))

    @property
    def _title(self) -> str:
        return f"fit of {self.model.system.name or 'system'} · {self.model.principle}"

    def __str__(self) -> str:
        lines = [self._title]
        width = max(map(len, self.values))
        for name, v in self.values.items():
            low, high = self.interval(name)
            lines.append(f"  {name:<{width}}  {v:.8g} ± {self.errors[name]:.2g}  (95 %: {low:.6g} to {high:.6g})")
        return "\n".join([*lines, *(f"  {fact}" for fact in self.facts)])

    @property
    def facts(self) -> list[str]:
        """Sentences about the whole fit: the sum of squares, the residuals, segments, combinations that the data leave open, remarks."""
        kind = "chi squared" if self.weighted else "sum of squares, in units of the residuals' spread"
        found = [f"{kind}: {self.chi2:.6g}, {self.degrees} degrees of freedom"]
        found += [f"residuals of {name}: {size:.3g}" for name, size in self.deviations.items()]
        if self.segments:
            found.append(f"joined from {sum(map(len, self.segments))} segments: no computed motion follows the record to its end")
        return [*found, *(f"not determined: {_combination(one)}" for one in self.unidentifiable), *self.remarks]


def _combination(one: Mapping[str, float]) -> str:
    return ", ".join(f"{name} by {v:.4g}" for name, v in one.items()) + " together change nothing"
