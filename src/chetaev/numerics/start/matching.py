"""Rows matched with unknowns, and the strongly connected components of what they need.

SciPy has both, but importing it takes longer than the rest of a start.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence


def matched(rows: Sequence[Collection[int]], columns: int) -> list[int]:
    """For each column its row in a largest matching of rows with columns that they contain, -1 for none.

    >>> matched([{0, 1}, {0}], 3)
    [1, 0, -1]
    """
    owner = [-1] * columns
    own: dict[int, int] = {}
    for start in range(len(rows)):
        end, came = _path(rows, owner, start)
        while end is not None:  # along the path every row takes the next column
            row = came[end]
            previous = own.get(row)
            owner[end], own[row], end = row, end, previous
    return owner


def _path(rows: Sequence[Collection[int]], owner: Sequence[int], start: int) -> tuple[int | None, dict[int, int]]:
    """The nearest free column that a row reaches by way of rows that give up their columns, and from which row each column was reached."""
    came: dict[int, int] = {}
    waiting = [start]
    for row in waiting:
        for column in sorted(rows[row]):
            if column in came:
                continue
            came[column] = row
            if owner[column] < 0:
                return column, came
            waiting.append(owner[column])
    return None, came


def strong_components(needs: Sequence[Collection[int]]) -> list[int]:
    """The number of the component of each node; nodes of a component need each other, directly or through others (R. E. Tarjan, 1972).

    >>> strong_components([{1}, {0}, {1}])
    [0, 0, 1]
    """
    found, low, order = [-1] * len(needs), [0] * len(needs), [-1] * len(needs)
    open_nodes: list[int] = []
    components = visited = 0
    for root in range(len(needs)):
        path = [(root, iter(sorted(needs[root])))] if order[root] < 0 else []
        while path:
            node, others = path[-1]
            if order[node] < 0:
                order[node] = low[node] = visited
                visited += 1
                open_nodes.append(node)
            for other in others:
                if order[other] < 0:
                    path.append((other, iter(sorted(needs[other]))))
                    break
                if found[other] < 0:
                    low[node] = min(low[node], low[other])
            else:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[node])
                if low[node] == order[node]:
                    while found[node] < 0:
                        found[open_nodes.pop()] = components
                    components += 1
    return found
