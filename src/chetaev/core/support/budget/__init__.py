"""Budgets for work of unpredictable length. They count operations, so that an answer does not depend on the machine or its load.

A budget is stated in seconds and counted in operations, `OPERATIONS` to the second. An operation is a term of a polynomial, an entry of a
matrix, a node of an expression, or a call of one of SymPy's constructors: about ten microseconds of Python. There are two kinds of work.

**Our own loops** announce what they do by `spend(operations)`. Inside `with allowance(seconds) as spent:` the block ends, without an error,
at the announcement that exceeds the budget; `spent.expired` is True then, and what the block assigned before is kept. Budgets may be
nested: an inner one is spent from the outer one, and each ends only its own block. Answers that are cached are computed `apart`.

**Calls of SymPy** announce nothing, cannot be foreseen, and cannot be stopped safely from outside. `limited(function, *args, seconds=...)`
runs such a call in a process of its own, which counts the calls that SymPy's cache sees and the operations on polynomials, and which ends
itself when they exceed the budget. Nothing is ever interrupted in the process of the user: no exception is sent to a thread. The answer has
a `value`, or a `reason` why there is none. A caller that knows a call to be short says `small=True`, by the `size` of the expressions or by
their kind, and the call runs in place; starting the process takes about half a second, once. Whatever was counted is spent from the
allowance around the call. Results are cached, also those of calls that ran out.

**The clock** is a last ceiling for work that is not counted, such as arithmetic with very long numbers: ten times the seconds of processor
time, and, for a process that does not respond, a hundred times the seconds on the wall. `by_clock` and `reason` say if it decided, and a
`core.errors.ClockWarning` reports it.

The count in the process is exact for our own operations. For SymPy it repeats to about a part in a hundred: SymPy iterates over sets of
classes, whose order may differ from process to process, and keeps facts about numbers that earlier imports asked for. A call for which no
process can be made (a frozen program, a platform without processes) has no value and says so; a call with objects of classes that only
`__main__` defines runs in place.

| module | what it does |
|---|---|
| `counting` | `allowance`, `spend`, `tally`, `apart`, `give_up`, `remaining` |
| `calls` | `limited` with its cache, and `size`, a bound for the work on an expression |
| `worker` | the process as its owner sees it: start, ask, end |
| `process` | the process itself: read, count, answer |
"""

from chetaev.core.support.budget.calls import OUT_OF_WORK, Answer, limited, size
from chetaev.core.support.budget.counting import (
    OPERATIONS,
    Allowance,
    OutOfWork,
    allowance,
    apart,
    give_up,
    remaining,
    spend,
    tally,
)

__all__ = [
    "OPERATIONS",
    "OUT_OF_WORK",
    "Allowance",
    "Answer",
    "OutOfWork",
    "allowance",
    "apart",
    "give_up",
    "limited",
    "remaining",
    "size",
    "spend",
    "tally",
]
