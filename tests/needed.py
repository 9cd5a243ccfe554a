"""The tests that a change needs, nearest first: `make quick` runs them, for less than a minute.

A test file is the nearer to a change the fewer imports lie between them. Imports are read from the text of the files, so that nothing has
to be recorded beforehand: `import` statements at any place, public names used as `ch.simulate`, and the `conftest.py` of the folder. A
changed test file, and the examples in the docstrings of a changed module, come first. A changed file that is not Python, such as a model
file, is next to the test files that mention it or one of its folders.

A change deep inside reaches nearly every test, so the time is limited, and what did not fit is said. `make test` runs everything.
"""

import argparse
import ast
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

import chetaev

ROOT = Path(__file__).parents[1]
SECONDS = 50.0
"""Wall-clock seconds after which no further test is begun; more would take `make quick`, with lint and types, beyond 90 seconds."""
PROCESSES = 2
"""How many processes run tests; more than the cores of a small machine would only wait for each other."""


def changed(root: Path = ROOT) -> list[str]:
    """Files that differ from the branch main, or from the last commit but one where that leaves nothing; paths from the root."""

    def git(*words: str) -> list[str]:
        done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True)  # noqa: S603, S607 - words of ours
        return done.stdout.splitlines() if done.returncode == 0 else []

    new = git("ls-files", "--others", "--exclude-standard")
    for base in (git("merge-base", "HEAD", "main") or ["HEAD"], ["HEAD~1"]):
        found = git("diff", "--name-only", "--relative", base[0]) + new
        if found:
            return sorted(set(found))
    return []


def order(changes: Iterable[str], root: Path = ROOT) -> dict[str, int]:
    """Test files by how far they are from the changes, nearest first; files that no change can reach are left out."""
    changes = set(changes)
    uses = imports(root)
    users: dict[str, set[str]] = {}
    for file, used in uses.items():
        for one in used:
            users.setdefault(one, set()).add(file)
    for file in changes - uses.keys():
        users[file] = mentions(file, root)
    distance = dict.fromkeys(changes, 0)
    nearest = sorted(changes)
    while nearest:
        further = sorted({user for file in nearest for user in users.get(file, ()) if user not in distance})
        distance |= dict.fromkeys(further, distance[nearest[0]] + 1)
        nearest = further
    run = [file for file in distance if file in uses and (file in changes or Path(file).name.startswith("test_"))]
    return {file: distance[file] for file in sorted(run, key=lambda file: (distance[file], file))}


@cache
def imports(root: Path = ROOT) -> Mapping[str, set[str]]:
    """What every Python file of sources and tests imports, as paths from the root."""
    sources = {_module(file, root / "src"): file for file in sorted((root / "src").rglob("*.py"))}
    tests = sorted((root / "tests").rglob("*.py"))
    helpers = {file.stem: file for file in tests if not file.name.startswith("test_") and file.name != "conftest.py"}
    found = {}
    for file in (*sources.values(), *tests):
        names = set(_imported(file))
        known = {sources.get(name) or helpers.get(name) for name in names} | {file.parent / "conftest.py"}
        if file.name == "__init__.py" and "files(__name__)" in file.read_text(encoding="utf-8"):
            known |= set(file.parent.glob("*.py"))  # a package that finds its modules by itself
        found[_path(file, root)] = {_path(one, root) for one in known if one and one != file and one.exists()}
    return found


def mentions(file: str, root: Path = ROOT) -> set[str]:
    """Test files beside a file, and those that mention its name or one of its folders in quotation marks."""
    words = [f'"{word}"' for word in Path(file).parts] + [f'"{file}"', f'{Path(file).name}"']
    tests = (root / "tests").rglob("test_*.py")
    return {_path(t, root) for t in tests if t.parent == (root / file).parent or any(w in t.read_text(encoding="utf-8") for w in words)}


@cache
def _imported(file: Path) -> tuple[str, ...]:
    """Names of modules that a file imports, and of the homes of the public names that it uses."""
    nodes = [n for n in ast.walk(ast.parse(file.read_text(encoding="utf-8"))) if isinstance(n, ast.Import | ast.ImportFrom | ast.Attribute)]
    found: set[str] = set()
    short = {"chetaev"}
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
            short |= {name.asname or name.name for name in node.names if name.name == "chetaev"}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= set(_from(node.module, [name.name for name in node.names]))
    used = {node.attr for node in nodes if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") in short}
    return tuple(sorted(found - {"chetaev"} | set(_from("chetaev", used))))


def _from(module: str, names: Iterable[str]) -> Iterator[str]:
    """The modules behind `from module import names`; a name of the package itself comes from where it is defined."""
    for name in names:
        yield f"{module}.{name}"
        if module != "chetaev":
            yield module
        elif name in chetaev._HOME:
            yield chetaev._HOME[name]


def _module(file: Path, folder: Path) -> str:
    parts = file.relative_to(folder).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _path(file: Path, root: Path) -> str:
    return file.relative_to(root).as_posix()


class Deadline:
    """A plugin of pytest: no test begins after the deadline."""

    def __init__(self, at: float) -> None:
        self.at = at
        self.left = 0
        self.failed = False

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Iterator[None]:
        self.left = len(session.items)
        return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed |= report.failed

    def pytest_runtest_logfinish(self) -> None:
        self.left -= 1

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        result = yield
        if time.time() > self.at and self.left:
            item.session.shouldstop = f"the time is over; {self.left} tests that are further from the change were not run"
        return result


def run(files: list[str], at: float) -> int:
    """Run some files until a deadline, in this process; the exit code is 0 unless a test failed."""
    deadline = Deadline(at)
    code = pytest.main(["-q", "-n", "0", "-p", "no:cacheprovider", *files], plugins=[deadline])
    in_time = code != pytest.ExitCode.INTERRUPTED or not deadline.left  # the deadline hides what failed before it
    return int(code) if in_time else int(deadline.failed)


def main() -> int:
    """Say what is run, deal it to processes, and fail if one of them fails."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("changes", nargs="*", help="changed files; those that git finds, if none is named")
    options.add_argument("--list", action="store_true", help="only list the test files, each with its distance")
    options.add_argument("--until", type=float, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.until:
        return run(given.changes, given.until)
    found = order(given.changes or changed())
    if given.list or not found:
        print("\n".join(f"{far} {file}" for file, far in found.items()) or "no test is near a change")
        return 0
    files, until = list(found), time.time() + SECONDS
    command = [sys.executable, __file__, "--until", str(until)]
    shares = [share for k in range(PROCESSES) if (share := files[k::PROCESSES])]
    running = [subprocess.Popen([*command, *share], cwd=ROOT) for share in shares]  # noqa: S603 - ourselves
    return max(process.wait() for process in running)


if __name__ == "__main__":
    sys.exit(main())
