"""The integration of all members: their states, and the order of elimination of each."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, partial
from typing import Any

import numpy as np

from chetaev.mechanics.ranks.factored import is_regular
from chetaev.numerics.enclosures.global_bounds import may_vanish
from chetaev.numerics.enclosures.kernels import nodes_kernel, turns_kernel
from chetaev.numerics.ensemble.agreement import agreeing, relative
from chetaev.numerics.ensemble.arguments import Given
from chetaev.numerics.ensemble.batch import Array, Indices, Mask, as_slice
from chetaev.numerics.ensemble.completion import Completed, noted
from chetaev.numerics.ensemble.pivoted import Pivoted, pivoted
from chetaev.numerics.ensemble.result import COUNTS, NOT_STARTED
from chetaev.numerics.ensemble.side_by_side import count_steps, make_code, wide_of
from chetaev.numerics.ensemble.threads import Task, Workers
from chetaev.numerics.flow.compiled import Compiled
from chetaev.numerics.flow.elimination import PivotOrder, pivot_orders
from chetaev.numerics.flow.pivot_choice import WORST_PIVOT, constant_entries
from chetaev.numerics.graphs.identity_cache import Remembered
from chetaev.numerics.graphs.rounding_bounds import EPSILON
from chetaev.numerics.machine.kernels import Kernel
from chetaev.numerics.machine.rounding_bounds import doubting
from chetaev.numerics.methods import dop853
from chetaev.numerics.methods.accuracy import Accuracy
from chetaev.numerics.methods.base import UNREDUCED, angles_of, columns_read, ends_kernel
from chetaev.numerics.methods.dop853 import codes
from chetaev.numerics.methods.lanes import ONE_BY_ONE, run_side_by_side, suits
from chetaev.numerics.motion.run import REORDERINGS
from chetaev.numerics.motion.transitions.switches import FALLEN_PIVOT
from chetaev.numerics.smooth_pieces.surface_values import ON_SURFACE

_PORTIONS = 16
"""Tasks per processor into which an ensemble is divided; a processor that is done takes the next one. Fewer leave processors idle at the
end, where motions differ in length."""
_LEAST, _MOST = 128, 16384
"""Fewest and most members of a task: where it ends, lanes wait for the last of its members; larger tasks take memory for their results, and
progress is shown after each."""
_FEW = 4
"""Fewest members at the same time that are integrated together; fewer are integrated one by one."""

_CODES: Remembered[tuple[dop853.Code, dict[str, Kernel | None]]] = Remembered(64)

_PERHAPS_NOISE = (dop853.Status.STEP_TOO_SMALL, dop853.Status.TOO_MANY_STEPS)
"""How runs end in which steps became small or many, perhaps because of round-off, which a run of one member looks for."""


def may_touch_zero(read: Given) -> bool:
    """Whether the determinant of some member may touch zero, with values of the parameters, and of modes as they were chosen at the starts,
    between the least and the largest.
    """
    return may_vanish(read.batch.compiled.flow, read.ranges)


class Integration:
    """Integrates an ensemble from its completed data to its ends. Members that meet a corner are left to `simulate`.

    `touching` says whether the determinant of some member may touch zero. States at `times` are written to `series`, unless that is None.
    """

    def __init__(
        self,
        read: Given,
        completion: Completed,
        accuracy: Accuracy,
        max_steps: int,
        max_step: float,
        workers: Workers,
        touching: bool,
        times: Array,
        series: Array | None,
    ) -> None:
        self.read, self.completion, self.touching = read, completion, touching
        self.times, self.series = times, series
        self.tolerance, self.max_steps, self.max_step, self.workers = accuracy.relative, max_steps, max_step, workers
        self.pivoted = [pivoted(read.switched, read.batch.compiled)]
        compiled = self.pivoted[0].compiled
        self.measures = accuracy.measures(compiled.flow.state, compiled.size).without_work(compiled.flow.has_power)
        self.orders: dict[PivotOrder, int] = {compiled.flow.order: 0}
        size = read.size
        self.which = np.zeros(size, dtype=np.int64)
        """The order of elimination of each member."""
        self.at, self.y = np.full(size, read.t), completion.states.copy()
        self.status, self.index = np.full(size, NOT_STARTED), np.full(size, -1)
        self.counts = np.zeros((len(COUNTS), size), dtype=np.int64).T  # columns are written and read
        self.inputs = compiled.inputs(read.binding)
        self.cornered = completion.alone.copy()
        """Members that `simulate` has to run: they meet a switching surface, elimination finds no other order for them, or they fail the
        checks of the certificate."""

    @cached_property
    def measured(self) -> Array:
        """The largest residuals, and the sizes of their terms. This array and the next are the loop's if one call runs all members."""
        return np.full((self.read.size, self.pivoted[0].compiled.measure.n_out), np.nan)

    @cached_property
    def low(self) -> Array:
        """The least values of the state."""
        return self.completion.states.copy()

    @cached_property
    def high(self) -> Array:
        """The largest values of the state."""
        return self.completion.states.copy()

    @cached_property
    def worst(self) -> Array:
        """The largest ratio of a node's bound between evaluated points to its values there (`Enclosed.worst`)."""
        return np.ones(self.read.size)

    @cached_property
    def usual(self) -> Array:
        """The integral of the fourth root of the terms of the energy over time."""
        return np.zeros(self.read.size)

    @cached_property
    def inside(self) -> Array:
        """Results of the comparisons inside steps."""
        return np.zeros((self.read.size, codes.INSIDE, self.pivoted[0].compiled.size))

    def to(self, t1: float) -> None:
        """Run all members that started to the end, with other pivots where the first ones become too small."""
        batch = self.read.batch
        if self.read.switched.by_itself:
            self.leave_to_simulate()
            return
        active = np.flatnonzero(~noted(self.completion.notes, self.read.size) & ~self.cornered)
        compiled = self.pivoted[0].compiled
        make_code(compiled.stepping.rhs, (compiled.energy, self.pivoted[0].pivots, compiled.lowest_pivot))
        batch.p[as_slice(active), -1] = batch.values(compiled.energy, self.at, self.y, active)[:, 0]
        self._leave_corners(active, t1)
        active = active[~self.cornered[active]]
        self._reordered(active[~(self._pivots(active)[:, 1] > WORST_PIVOT)])
        reorderings = 0
        while len(active) and not self.workers.stopped and reorderings < REORDERINGS:
            active = self._reordered(self._advanced(active, t1))
            reorderings += 1
        if (self.status == dop853.Status.FINISHED).all():  # the usual case
            self.cornered[~agreeing(self, np.arange(self.read.size))] = True
            return
        self._find_loci()
        reduced = np.array([kernels.compiled.reduced_stepping is not None for kernels in self.pivoted])
        self.cornered |= np.isin(self.status, UNREDUCED) & reduced[self.which]  # `simulate` repeats such runs with all jets
        # `simulate` knows more about a start without finite rates: whether another order of elimination has them
        self.cornered |= (self.status == dop853.Status.NOT_FINITE) & (self.counts[:, 0] == 0)
        finished = np.flatnonzero((self.status == dop853.Status.FINISHED) & ~self.cornered)
        self.cornered[finished[~agreeing(self, finished)]] = True

    @property
    def drift(self) -> Array:
        """Residuals of all members relative to the largest sums of their terms: constraints, then the balance."""
        n = self.measured.shape[1] // 2
        found = np.empty((n, self.read.size))
        for k in range(n):  # column by column, which takes a third of the time
            found[k] = relative(self.measured[:, k], self.measured[:, n + k])
        return found.T

    def by_order(self, members: Indices) -> list[tuple[int, Any]]:
        """The orders of elimination of members, and the places of those that have them."""
        which = self.which[as_slice(members)]
        if not which.any():
            return [(0, slice(None))] if len(members) else []
        return [(int(k), np.flatnonzero(which == k)) for k in np.unique(which)]

    def leave_to_simulate(self) -> None:
        """Leave all members without contradictory data to `simulate`, from their data as given."""
        notes = self.completion.notes
        for member in [k for k in notes if k not in self.read.notes]:
            del notes[member]
        self.cornered |= ~noted(notes, self.read.size)

    def _find_loci(self) -> None:
        """Report a singular locus where steps became too small and a pivot or the determinant has fallen far, as in `simulate`."""
        small = np.flatnonzero((self.status == dop853.Status.STEP_TOO_SMALL) & ~self.cornered)
        begun, first = np.full(self.read.size, self.read.t), self.completion.states
        for k in np.unique(self.which[small]):
            members, compiled = small[self.which[small] == k], self.pivoted[k].compiled
            for kernel in (compiled.flow.pivots, compiled.determinant):
                now, before = (np.abs(self.read.batch.values(kernel, t, y, members)) for t, y in ((self.at, self.y), (begun, first)))
                self.status[members[(now < FALLEN_PIVOT * before).any(axis=1)]] = dop853.Status.FLOOR

    def _leave_corners(self, members: Indices, t1: float) -> None:
        """Leave members on a switching surface, or on the wrong side of one, to `simulate`."""
        count = len(self.read.switched.modes)
        if not count or not len(members):
            return
        first = len(self.read.switched.original.system.parameters)
        modes = self.read.batch.p[members, first : first + count]
        found = self.read.batch.values(self.pivoted[0].surfaces, self.at, self.y, members)
        values, terms, rates = found[:, :count], found[:, count : 2 * count], found[:, 2 * count :]
        sizes = np.fmax(terms, np.abs(rates) * abs(t1 - self.read.t))  # as `Surfaces.vanishing` measures them
        clear = (modes * values > ON_SURFACE * self.tolerance * sizes).all(axis=1)
        self.cornered[members] |= ~clear | self.pivoted[0].timed

    def _pivots(self, members: Indices, kernels: Pivoted | None = None) -> Array:
        """The determinant and the smallest pivot of some members where they are."""
        kernels, known = kernels or self.pivoted[0], self.completion.pivots
        if known is not None and kernels is self.pivoted[0] and not self.counts.any():  # no member has left its start
            return np.asarray(known[as_slice(members)])
        return self.read.batch.values(kernels.pivots, self.at, self.y, members)

    def _advanced(self, members: Indices, t1: float) -> Indices:
        """Integrate members; return those whose pivots became too small."""
        here = as_slice(members)
        before = self.counts[here, 0].copy()
        tasks = [task for _, some in self.by_order(members) for task in self._tasks(members[some], t1)]
        self.workers.run(tasks)
        status = self.status[here]
        if (status == dop853.Status.FINISHED).all() and not self.read.switched.modes:
            return members[:0]  # the usual case
        at_once = (status == dop853.Status.NOT_FINITE) & (self.counts[here, 0] == before)
        self.cornered[here] |= (status == dop853.Status.WATCH) & (self.index[here] >= 2)
        self._leave_corners(members[status != NOT_STARTED], t1)
        return members[((status == dop853.Status.FLOOR) | at_once) & ~self.cornered[here]]

    def _tasks(self, members: Indices, t1: float) -> Iterator[Task]:
        """Yield tasks of members with the same pivots at the same time."""
        kernels = self.pivoted[self.which[members[0]]]
        compiled, n = kernels.compiled, kernels.changing
        stepping, p = compiled.stepping, self.parameters_of(kernels, members)
        flow = self.pivoted[0].compiled.flow
        lasting = n == 0 and self._pivots_last(compiled, members, p)
        code, used = _CODES.get(kernels, (lasting, self.touching, self.read.switched.inputs), lambda: self._code(kernels, lasting))
        own = self.measures.limits(self.max_step, self.max_steps)._replace(before=0.0)
        limits = own.of_further(flow.size, stepping.like)
        noisy = compiled.flow.has_constant_jacobian
        few = limits._replace(max_steps=min(dop853.MANY_STEPS, self.max_steps)) if noisy else limits
        here = as_slice(members)
        begun = self.counts[here, 0] > 0
        watching = dop853.Watching(
            directions=[0, 0, *[-1] * n],
            terminal=[True, False, *[True] * n],
            floor=[0.0, 0.5, *[0.0] * n],
            closely=[False, False, *[True] * n],
            places=[-1, -1, *kernels.places],
        )
        watching = dop853.Watching() if lasting else watching
        starts, times = self.y[here].copy(), self.at[here].copy()
        parameters = len(self.read.equations.system.parameters)
        wide = wide_of(len(members), parameters, stepping.begin, **used) if lasting or suits(watching) else ONE_BY_ONE

        def together(t0: float, some: Indices) -> None:
            these = as_slice(some)
            target, wanted = self._room(members[these])
            run = run_side_by_side(
                code, wide, t0, t1, starts[these], p[these], few, watching, times=wanted, series=target, flag=self.workers.flag
            )
            if target is not None and self.series is not None and not np.shares_memory(target, self.series):
                self.series[members[some]] = target
            count_steps(stepping.rhs, int(run.accepted.sum()))
            again = np.isin(run.status, _PERHAPS_NOISE) if noisy and run.status.any() else np.zeros(len(some), bool)
            stored = run if not again.any() else dop853.Ensemble._make(rows[~again] for rows in run)
            self._store(members[these] if stored is run else members[some[~again]], stored)
            for k in some[again]:
                alone(int(k))

        def alone(k: int) -> None:
            member = int(members[k])
            known = own._replace(before=self._largest(member)).of_further(flow.size, stepping.like) if begun[k] else limits
            heard = partial(self._round_off, compiled, member, t1 - times[k]) if noisy else None
            keep, wanted = (dop853.FINAL, ()) if self.series is None else (dop853.TIMES, self._after(float(times[k]), bool(begun[k])))
            run = dop853.run(
                code, times[k], t1, starts[k], p[k], known, watching, keep=keep, times=wanted, flag=self.workers.flag, round_off=heard
            )
            if self.series is not None:
                first = len(self.times) - len(wanted)
                self.series[member, first : first + len(run.states)] = run.states
            self._store(members[k : k + 1], run)

        for same in _classes(times):
            parts = _PORTIONS * self.workers.threads if self.workers.threads > 1 else 1
            portion = min(max(_FEW, -(-len(same) // parts), _LEAST), _MOST)
            for some in (same[first : first + portion] for first in range(0, len(same), portion)):
                if len(some) < _FEW or begun[as_slice(some)].any():
                    yield from ((partial(alone, int(k)), 1) for k in some)
                else:
                    yield partial(together, float(times[some[0]]), some), len(some)

    def _code(self, kernels: Pivoted, lasting: bool) -> tuple[dop853.Code, dict[str, Kernel | None]]:
        """The code of members with these pivots, `lasting` if no pivot becomes too small, and the kernels that it consists of. It also
        depends on `touching` and on the inputs.
        """
        compiled, n, touching = kernels.compiled, kernels.changing, self.touching and not lasting
        stepping, watch = compiled.stepping, None if lasting else kernels.watch
        flow, driven = self.pivoted[0].compiled.flow, self.read.switched.inputs
        nodes, turns = nodes_kernel(flow, driven).kernel, turns_kernel(flow, driven) if touching else None
        used: dict[str, Kernel | None] = {
            "rhs": stepping.rhs,
            "project": stepping.project,
            "inputs": self.inputs,
            "watch": watch,
            "measure": compiled.measure,
            "nodes": nodes,
            "bounds": kernels.bounds if n else None,
            "turns": turns,
            "determinant": compiled.determinant if touching else None,
            "ends": ends_kernel(stepping.rhs, watch, compiled.measure),
        }
        code = dop853.Code(**{name: 0 if kernel is None else kernel.address for name, kernel in used.items()})._replace(
            first_input=len(self.read.equations.system.parameters),
            n_watch=0 if lasting else 2 + n,
            n_measure=compiled.measure.n_out,
            n_nodes=0 if nodes is None else nodes.n_out // 2,
            columns=columns_read(flow.size, nodes, kernels.bounds, turns),
            boxed=flow.size,
            angles=angles_of(compiled, stepping, self.inputs, watch),
            doubting=doubting(stepping.rhs, self.inputs, len(self.read.equations.system.parameters), often=True),
            begin=0 if stepping.begin is None else stepping.begin.address,
            like=stepping.like,
        )
        return code, used

    def _room(self, members: Indices) -> tuple[Array | None, Array]:
        """Room for the series of members, in place where they follow each other; and the times."""
        if self.series is None:
            return None, self.times[:0]
        first, last = int(members[0]), int(members[-1]) + 1
        if last - first == len(members):
            return self.series[first:last], self.times
        return np.full((len(members), *self.series.shape[1:]), np.nan), self.times

    def _after(self, t: float, begun: bool) -> Array:
        """The times that a run from t on has to keep: all for one that begins there."""
        if not begun:
            return self.times
        forward = 1.0 if self.times[-1] > self.times[0] else -1.0
        return self.times[forward * (self.times - t) > 0]

    def _round_off(self, compiled: Compiled, member: int, span: float, t: float, y: Array) -> Array:
        """What rounding alone may make of a member's rates at a state, in a duration."""
        p = self.read.batch.at(np.full(self.read.size, t), np.array([member]))[0]
        return compiled.round_off(self.read.bound(member), t, y, p, span)

    def _largest(self, member: int) -> Array:
        """The largest absolute values of a member's jets so far, and 0 for the work done, as `simulate` knows them after a piece."""
        found = np.maximum(np.abs(self.low[member]), np.abs(self.high[member]))
        found[len(self.pivoted[0].compiled.flow.state) :] = 0.0
        return found

    def _store(self, members: Indices, done: Any) -> None:
        """Store the results of one or several runs."""
        if not len(members):
            return  # every member of the group goes on alone
        here, inside = as_slice(members), done.inside.reshape(len(members), codes.INSIDE, -1)
        first = (self.status[here] == NOT_STARTED).all()
        whole = first and len(members) == self.read.size and isinstance(done, dop853.Ensemble)
        if whole:  # nothing to compare with, and nothing copied
            self.at, self.y, self.status, self.index = done.t, done.y, done.status, done.index
            self.measured, self.low, self.high = done.measured, done.minima, done.maxima
            self.worst, self.usual, self.inside = done.worst, done.usual, inside
        else:
            self.at[here], self.y[here], self.status[here], self.index[here] = done.t, done.y, done.status, done.index
        if first and not whole:
            self.measured[here], self.low[here], self.high[here] = done.measured, done.minima, done.maxima
            self.worst[here], self.usual[here], self.inside[here] = done.worst, done.usual, inside
        if first:
            for k, name in enumerate(COUNTS):
                self.counts[here, k] = getattr(done, name)
            return
        self.measured[here] = np.fmax(self.measured[here], done.measured)
        self.low[here], self.high[here] = np.minimum(self.low[here], done.minima), np.maximum(self.high[here], done.maxima)
        self.worst[here] = np.maximum(self.worst[here], done.worst)
        self.usual[here] += done.usual
        self._store_inside(here, inside)
        for k, name in enumerate(COUNTS):
            self.counts[here, k] += getattr(done, name)

    def _store_inside(self, here: Any, seen: Array) -> None:
        """Store the comparisons inside the steps of some members: the largest defects, and the sums of round-off."""
        known = self.inside[here]
        rounded = known[:, codes.ROUNDED] + seen[:, codes.ROUNDED]
        self.inside[here] = np.where(seen[:, None, codes.OFF] > known[:, None, codes.OFF], seen, known)
        self.inside[here, codes.ROUNDED] = rounded

    def parameters_of(self, kernels: Pivoted, members: Indices) -> Array:
        """Return the vectors p with the lower limits of pivots, which are those of `simulate`."""
        found = self._pivots(members, kernels)
        floors = np.fmin(found[:, 1:2], 1.0) * WORST_PIVOT
        return np.concatenate([self.read.batch.at(self.at, members), floors], axis=1)

    def _pivots_last(self, compiled: Compiled, members: Indices, p: Array) -> bool:
        """Whether no pivot of these members falls below its limit, the last entry of their p, at any state, as `simulate` asks."""
        lowest, asked = compiled.lowest_pivot, members[:1] if self.read.alike else members  # it depends on parameters alone
        return lowest is not None and bool((self.read.batch.values(lowest, self.at, self.y, asked)[:, 0] > p[:, -1]).all())

    def _reordered(self, unfit: Indices) -> Indices:
        """Choose other pivots for members whose pivots became too small although the state is not singular.

        A member at a regular state without better pivots is left to `simulate`.
        """
        flow = self.pivoted[0].compiled.flow
        if not len(unfit) or not flow.system.plain or flow.extended is not None or flow.order.signs:  # no other order is tried here
            self.cornered[unfit] = True
            return unfit[:0]
        n = len(flow.order.pairs)
        now = self.read.batch.values(self.pivoted[0].jacobian, self.at, self.y, unfit).reshape(-1, n, n)
        found = [unfit[:0]]
        for order, some in pivot_orders(now, flow.samples, n, constant_entries(flow.system), flow.residues).items():
            members = unfit[some]
            kernels = self._kernels(order)
            good: Mask = self._pivots(members, kernels)[:, 1] > 10 * WORST_PIVOT
            good &= self.which[members] != self.orders[order]
            self.which[members[good]] = self.orders[order]
            found.append(members[good])
        better = np.sort(np.concatenate(found))
        doubts = EPSILON * np.abs(now)
        for k in np.flatnonzero(~np.isin(unfit, better) & np.isfinite(now).all(axis=(1, 2))):
            self.cornered[unfit[k]] |= is_regular(now[k], doubts[k], n)
        return better

    def _kernels(self, order: PivotOrder) -> Pivoted:
        if order not in self.orders:
            self.orders[order] = len(self.pivoted)
            self.pivoted.append(pivoted(self.read.switched, self.read.batch.compiled, order))
        return self.pivoted[self.orders[order]]


def _classes(times: Array) -> list[Indices]:
    """Return the indices of equal values; usually all are equal."""
    if not len(times) or (times == times[0]).all():
        return [np.arange(len(times))]
    return [np.flatnonzero(times == t) for t in np.unique(times)]
