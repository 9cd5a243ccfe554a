"""A sweep for tests, and the bytes of its store. As a program it runs the sweep: `python sweeping.py STORE [WORKERS or ADDRESS]`."""

import sys
import time
from pathlib import Path

import chetaev as ch
from chetaev.sweeps.store import Store

PENDULUM = ch.Model(
    ch.System("th", "g c", lagrangian="th'^2/2 + g*cos(th)", forces={"th": "-c*th'"}, name="pendulum"),
    ch.Hamilton(),
    {"g": 2, "c": 0.1},
    {"th": 0.4, "th'": 0.3},
    t=(0, 6),
)


def contents(folder: Path) -> dict[str, bytes]:
    """All files of a store with their bytes."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


CHUNKS = 40
"""The chunks of the sweep below."""


def long_sweep(path: Path, **options: object) -> ch.Sweep:
    """A sweep of 40 chunks, about a second of work."""
    over = {"g": ch.grid(1, 8, 40), "th'": ch.grid(-1, 2, 3)}
    measure = {"end": "th", "hits": ch.count("th")}
    return ch.sweep(PENDULUM, over, measure, to=path, chunk=3, progress=False, **options)


PAUSE = 0.1
"""Seconds that the program rests after each chunk, so that it is still at work when a busy machine gets round to killing it."""


def _rest_after_writing() -> None:
    write = Store.write

    def written(self: Store, *given: object) -> None:
        write(self, *given)  # type: ignore[arg-type]
        time.sleep(PAUSE)

    Store.write = written  # type: ignore[method-assign]


if __name__ == "__main__":
    _rest_after_writing()
    given = sys.argv[2] if len(sys.argv) > 2 else None
    if given is None:
        long_sweep(Path(sys.argv[1]))
    elif given.isdigit():
        long_sweep(Path(sys.argv[1]), cluster="local", workers=int(given))
    else:
        long_sweep(Path(sys.argv[1]), cluster=given)
