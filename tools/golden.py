"""Record what the library answers, and compare two records: the safety net of a refactoring.

    python tools/golden.py record before          # before the change
    python tools/golden.py record after           # after it
    python tools/golden.py compare before after   # what differs, and by how much

A record is a folder of JSON files, one per gallery model and principle, and one each for the command line, the messages and the public
names. Texts are kept as they are, floats as hex, so that "equal" means equal to the last bit. Records belong to a machine (other processors
round differently) and are not kept in the repository.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

TOLERANCE = 1e-9
"""Tolerance of the recorded motions; `compare` allows ends to differ by a tenth of it where the caller says so."""
COMMANDS = (
    ("gallery",),
    ("derive", "examples/rocard.toml"),
    ("derive", "examples/rocard.toml", "--code", "c"),
    ("derive", "examples/rocard.toml", "--code", "numpy"),
    ("analyze", "examples/rocard.toml"),
    ("simulate", "examples/rocard.toml"),
    ("compare", "examples/disk.toml"),
    ("--help",),
)


def attempt(work: Callable[[], Any]) -> Any:
    """What `work` returns, or the class and text of its refusal."""
    from chetaev import ChetaevError

    try:
        return work()
    except ChetaevError as refusal:
        return f"{type(refusal).__name__}: {refusal}"


def floats(values: Mapping[str, float]) -> dict[str, str]:
    """Numbers by name, to the last bit."""
    return {name: float(value).hex() for name, value in values.items()}


def answers(model: Any) -> Iterator[tuple[str, Any]]:
    """Everything that is recorded of one model under its principle."""
    import chetaev as ch

    equations = ch.derive(model)
    yield "derive", str(equations)
    yield "latex", equations.latex()
    yield "analyze", attempt(lambda: str(ch.analyze(equations)))
    yield "evaluate", attempt(lambda: floats(ch.evaluate(model)))

    def motion() -> dict[str, Any]:
        found = ch.simulate(model, tolerance=TOLERANCE)
        return {
            "outcome": str(found.outcome),
            "message": found.message,
            "steps": len(found.t),
            "final": floats({name: value for name, value in found.final.items() if isinstance(value, (int, float))}),
        }

    yield "simulate", attempt(motion)


def record(folder: Path, only: list[str]) -> None:
    """Write a record."""
    import chetaev as ch

    folder.mkdir(parents=True, exist_ok=True)
    for name in only or ch.gallery():
        whole = ch.gallery(name)
        for principle in whole.principles:
            found = dict(answers(whole.under(principle)))
            write(folder / f"{name} {principle}.json".replace("/", "_"), found)
    if only:
        return
    write(folder / "names.json", {name: sorted(dir(getattr(ch, name))) for name in sorted(ch.__all__)})
    write(folder / "command line.json", {" ".join(words): spoken(words) for words in COMMANDS})


def spoken(words: tuple[str, ...]) -> str:
    """What the command line prints, and its exit code."""
    from click.testing import CliRunner

    from chetaev.cli.application import application

    with contextlib.redirect_stderr(io.StringIO()):
        result = CliRunner().invoke(application, list(words))
    return f"{result.output}\nexit code {result.exit_code}"


def write(path: Path, found: Mapping[str, Any]) -> None:
    """Write one file of a record."""
    path.write_text(json.dumps(found, indent=1, ensure_ascii=False))


def compare(before: Path, after: Path) -> int:
    """Print what differs; the number of differences."""
    names = sorted({path.name for folder in (before, after) for path in folder.glob("*.json")})
    count = 0
    for name in names:
        if not (before / name).exists() or not (after / name).exists():
            print(f"{name}: only in {before if (before / name).exists() else after}")
            count += 1
            continue
        old, new = (json.loads((folder / name).read_text()) for folder in (before, after))
        for place, one, other in differences(old, new, ""):
            print(f"{name}{place}: {told(one, other)}")
            count += 1
    print(f"{count} differences in {len(names)} files")
    return count


def differences(old: Any, new: Any, place: str) -> Iterator[tuple[str, Any, Any]]:
    """The places where two records differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            yield from differences(old.get(key), new.get(key), f"{place} > {key}")
    elif old != new:
        yield place, old, new


def told(old: Any, new: Any) -> str:
    """A difference in a line: of numbers its size in units in the last place, of texts the first line that changed."""
    with contextlib.suppress(TypeError, ValueError):
        a, b = float.fromhex(old), float.fromhex(new)
        unit = math.ulp(max(abs(a), abs(b)))
        return f"{a!r} -> {b!r}  ({abs(a - b) / unit:.0f} units in the last place, {abs(a - b):.1e})"
    lines = [str(text).splitlines() for text in (old, new)]
    for one, other in zip(*lines, strict=False):
        if one != other:
            return f"{one!r} -> {other!r}"
    return f"{len(lines[0])} lines -> {len(lines[1])} lines"


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    recording = verbs.add_parser("record")
    recording.add_argument("folder", type=Path)
    recording.add_argument("--only", nargs="*", default=[])
    comparing = verbs.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    words = parser.parse_args()
    if words.verb == "record":
        record(words.folder, words.only)
        return 0
    return 1 if compare(words.before, words.after) else 0


if __name__ == "__main__":
    sys.exit(main())
