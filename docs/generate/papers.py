"""The pages of the five papers: their numbered equations, and the errata that the tests prove.

What an equation says and where it lives is written in `docs/papers/<number>.toml`. Whether it is right is read off the tests in
`tests/papers`: an equation counts as tested if a test names it (`test_eq_36_to_44_...`) and runs the home that its row states. What a test
runs is measured (`make homes`) and kept in `docs/papers/ran.json`. Tests that a row lists, or that name an equation without running its
home, use it. A test with the marker `erratum` shows a printed statement to be wrong.
"""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from generate.api import MODULES
from generate.markdown import table

ROOT = Path(__file__).parents[2]
PAPERS = ("000", "001", "002", "003", "004")
NAMED = re.compile(r"(?:^|_)eq((?:_(?:\d+[a-f]?|to|and))+)")
INDEX_OF = {"definition": "definition", "proof": "step of a proof"}


@dataclass(frozen=True)
class Erratum:
    """One fault of a paper, and the test that shows it."""

    paper: str
    place: str
    printed: str
    correct: str
    file: str
    test: str

    @property
    def equations(self) -> tuple[str, ...]:
        """The numbers of the equations it is about: those that its place writes in brackets, unless it is before or after them."""
        if self.place.startswith(("before", "after", "section")):
            return ()
        return tuple(n for n in re.findall(r"\(([\d.]+)\)", self.place))


@dataclass(frozen=True)
class Row:
    """Some equations that say one thing."""

    numbers: tuple[str, ...]
    label: str
    says: str
    home: str
    kind: str
    listed: tuple[str, ...]


@cache
def tests() -> dict[tuple[str, str], ast.FunctionDef]:
    """All test functions of the papers by file and name."""
    found = {}
    for file in sorted((ROOT / "tests" / "papers").glob("test_*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
        found.update({(file.stem, node.name): node for node in functions})
    return found


@cache
def errata() -> tuple[Erratum, ...]:
    """All errata that tests carry, in the order of the papers and of the tests."""
    found = [Erratum(*given, file, name) for (file, name), node in tests().items() for given in _markers(node)]
    return tuple(sorted(found, key=lambda e: e.paper))


def _markers(node: ast.FunctionDef) -> Iterator[list[Any]]:
    for mark in node.decorator_list:
        if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.erratum":
            yield [ast.literal_eval(value) for value in mark.args]


def expand(text: str) -> tuple[str, ...]:
    """`1-3` is 1, 2, 3, and `3.9-3.11` is 3.9, 3.10, 3.11; parts are separated by blanks.

    >>> expand("1-3 7")
    ('1', '2', '3', '7')
    >>> expand("3.9-3.11")
    ('3.9', '3.10', '3.11')
    """
    numbers: list[str] = []
    for part in text.split():
        first, _, last = part.partition("-")
        head, _, low = first.rpartition(".")
        high = (last or first).rpartition(".")[2]
        numbers += [f"{head}.{k}".lstrip(".") for k in range(int(low), int(high) + 1)]
    return tuple(numbers)


def named_equations(test: str, decimal: bool) -> set[str]:
    """The equations that a test's name names; `decimal` for papers that number by section.

    >>> sorted(named_equations("test_eq_19_and_23_accelerations", False)), sorted(named_equations("test_eq_3_29_to_3_31_flow", True))
    (['19', '23'], ['3.29', '3.30', '3.31'])
    """
    found: set[str] = set()
    for match in NAMED.finditer(test):
        words = [re.sub(r"(?<=\d)[a-f]$", "", word) for word in match[1].strip("_").split("_")]
        numbers: list[str] = []
        while words:
            word = words.pop(0)
            if word in ("to", "and") or not decimal:
                numbers.append(word)
            elif words and words[0].isdigit():
                numbers.append(f"{word}.{words.pop(0)}")
        for k, number in enumerate(numbers):
            if number == "to" and 0 < k < len(numbers) - 1:
                found |= set(expand(f"{numbers[k - 1]}-{numbers[k + 1]}"))
            elif number not in ("to", "and"):
                found.add(number)
    return found


@cache
def paper(number: str) -> dict[str, Any]:
    """The file of one paper."""
    return tomllib.loads((ROOT / "docs" / "papers" / f"{number}.toml").read_text(encoding="utf-8"))


@cache
def rows(number: str) -> tuple[Row, ...]:
    """The rows of one paper's index."""
    return tuple(
        Row(expand(r["equations"]), r["equations"], r["says"], r["home"], r.get("kind", ""), tuple(r.get("tests", "").split()))
        for r in paper(number)["row"]
    )


@cache
def ran() -> dict[str, dict[str, Any]]:
    """For every test the homes that it ran, and the digest of its text when that was measured."""
    found: dict[str, dict[str, Any]] = json.loads((ROOT / "docs" / "papers" / "ran.json").read_text(encoding="utf-8"))
    return found


@cache
def checks(number: str) -> dict[str, list[str]]:
    """The tests of every equation of a paper: those that name it and run the home that its row states."""
    return _tests_of(number)[0]


@cache
def uses(number: str) -> dict[str, list[str]]:
    """The other tests of every equation: listed by its row, or named after it without running its home."""
    return _tests_of(number)[1]


def _tests_of(number: str) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    decimal = "." in paper(number)["numbers"]
    tested: dict[str, list[str]] = {n: [] for n in expand(paper(number)["numbers"])}
    used: dict[str, list[str]] = {n: [] for n in tested}
    for file, name in tests():
        named = named_equations(name, decimal) if file.startswith(f"test_{number}") else set()
        homes_run = ran().get(f"{file}::{name}", {}).get("homes", [])
        for row in rows(number):
            for n in row.numbers:
                if n in named and row.home in homes_run:
                    tested[n].append(name)
                elif n in named or name in row.listed:
                    used[n].append(name)
    return tested, used


def verdict(number: str, row: Row) -> str:
    """What the tests say about a row."""
    wrong = [n for e in errata() if e.paper == number for n in e.equations]
    parts: dict[str, list[str]] = {}
    for n in row.numbers:
        tested = bool(checks(number)[n])
        other = INDEX_OF.get(row.kind, "used by tests" if uses(number)[n] else "not checked")
        word = "**corrected**" if n in wrong else "right" if tested else other
        parts.setdefault(word, []).append(n)
    if len(parts) == 1:
        return next(iter(parts))
    return "; ".join(f"{word}: {', '.join(f'({n})' for n in ns)}" for word, ns in parts.items())


def homes(row: Row) -> str:
    """Where the library has it."""
    import chetaev as ch

    name = row.home.removeprefix("chetaev.")
    if name in MODULES:
        return f"[ch.{name}](../api/module_{name}.md)"
    if name in (*ch.__all__, *ch.ALSO):
        return f"{{py:obj}}`{name} <chetaev.{name}>`"
    if name.startswith("gallery."):
        system = name.removeprefix("gallery.").replace("_", "-")
        return f"[gallery: {system}](../gallery/{system}.md)"
    return f"`{row.home}`"


def counted(row: Row, number: str) -> str:
    """How many tests check it."""
    names = {name for n in row.numbers for name in checks(number)[n]}
    return str(len(names)) if names else ""


def page(number: str) -> str:
    """The page of one paper."""
    data = paper(number)
    wrong = [e for e in errata() if e.paper == number]
    parts = [
        f"# {number}: {data['title']}",
        f"{data['authors']}, {data['source']}.",
        data["about"].strip(),
        f"**Signs.** {data['sign']}",
        "## Errata",
        "Each line is proved by the test it names: the printed form is shown to fail and the correct one to hold. Places that are not "
        "equations are sections, theorems and remarks of the paper.",
        "::::{container} errata",
        table(["place", "printed", "correct", "test"], [[e.place, e.printed, e.correct, f"`{e.test}`"] for e in wrong]),
        "::::",
        "## Equations",
        "*Right* means: as printed; at least one test names the equation and runs the code that is stated as its home, as measured for "
        "each test. *Corrected* means: see above. *Used by tests* means: tests rest on it, and none is named after it and runs its home. "
        "A *definition* or a *step of a proof* claims nothing that could be computed. *Not checked* means what it says.",
        table(
            ["equation", "what it says", "where it lives", "as printed", "tests"],
            [[row.label.replace("-", " to "), row.says, homes(row), verdict(number, row), counted(row, number)] for row in rows(number)],
        ),
    ]
    return "\n\n".join(parts) + "\n"


def index() -> str:
    """The list of papers with counts."""
    lines = []
    for number in PAPERS:
        numbers = checks(number)
        wrong = {n for e in errata() if e.paper == number for n in e.equations}
        tested = sum(bool(found) for found in numbers.values())
        faults = sum(e.paper == number for e in errata())
        title = f"[{paper(number)['title']}]({number}.md)"
        lines.append([number, title, paper(number)["authors"], str(len(numbers)), str(tested), str(len(wrong)), str(faults)])
    parts = [
        "# The papers",
        "The constructions of the library come from five papers, cited everywhere by number. Each page lists every numbered equation, "
        "where it lives in the library, and whether the printed form is right. The errata are generated from the tests: a test that "
        "carries the marker `erratum` shows the printed form to fail and the correct one to hold.",
        table(["", "paper", "authors", "equations", "checked by tests", "corrected", "errata"], lines),
        "Faults may belong to the text from which the paper was read rather than to the paper. If you find one of these corrections wrong, "
        "please report it.",
        "```{toctree}\n:hidden:\n\n" + "\n".join(PAPERS) + "\n```",
    ]
    return "\n\n".join(parts) + "\n"


def write(source: Path) -> None:
    """Write the pages to `source/papers`."""
    folder = source / "papers"
    folder.mkdir(parents=True, exist_ok=True)
    for number in PAPERS:
        (folder / f"{number}.md").write_text(page(number), encoding="utf-8")
    (folder / "index.md").write_text(index(), encoding="utf-8")
