"""The code blocks of a page, run in order in one namespace, as a reader would run them.

| block | what happens |
|---|---|
| `python` | runs in the page's namespace; if it prints, the next block must be `text` and show exactly that |
| `{code-block} toml` (or `python`) with a caption | is written to the file that the caption names |
| `console` | lines that begin with `$ chetaev` run through the command line; the lines below are its output, `...` stands for any lines |
| `sh` | for making and installing; the tests only check that the targets exist |

All other blocks are for reading. Output is compared word by word; only residuals, numbers such as `2.2e-16` below 1e-6, depend on the
machine, and need to agree within a factor of 100, or to be both at the level of round-off.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(r"^(?P<ticks>```+)(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=ticks)[ ]*$", re.MULTILINE | re.DOTALL)
OPTION = re.compile(r"^:(\w+):[ ]*(.*)$")
COMMAND = re.compile(r"^\$ (?P<command>.*)\n(?P<shown>(?:(?!\$ ).*\n)*)", re.MULTILINE)
RESIDUAL = re.compile(r"\b\d(?:\.\d+)?e-(?:0[6-9]|[1-9]\d)\b|\b0(?:\.0+)?e\+00\b")
ROUND_OFF = 1e-13


class PageError(AssertionError):
    """A block that does not do what its page says."""


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, the file it is to be written to (if any), its text, and where it stands."""

    language: str
    file: str
    text: str
    line: int
    shown: str | None = None

    @property
    def runs(self) -> bool:
        """Whether it is executed."""
        return self.language == "python" and not self.file


def blocks(page: Path) -> list[Block]:
    """All blocks of the page in order; a `text` block right below a `python` one is the output it shows."""
    source = page.read_text(encoding="utf-8")
    found: list[Block] = []
    end = 0
    for fence in FENCE.finditer(source):
        line = source.count("\n", 0, fence.start()) + 2
        block = _block(fence["info"].strip(), fence["body"], line)
        follows = not source[end : fence.start()].strip()
        if block.language == "text" and found and found[-1].runs and follows:
            last = found[-1]
            found[-1] = Block(last.language, last.file, last.text, last.line, block.text)
        else:
            found.append(block)
        end = fence.end()
    return found


def _block(info: str, body: str, line: int) -> Block:
    if not info.startswith("{code-block}"):
        return Block(info, "", body, line)
    lines, file = body.splitlines(keepends=True), ""
    while lines and (option := OPTION.match(lines[0].strip())):
        file = option[2] if option[1] == "caption" else file
        line += 1
        lines = lines[1:]
    return Block(info.removeprefix("{code-block}").strip(), file, "".join(lines).lstrip("\n"), line)


def run(page: Path, directory: Path, command: Callable[[list[str]], str] | None = None) -> int:
    """Run the page's blocks with `directory` as the current one; the number of blocks that ran. Raises PageError."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    count = 0
    with contextlib.chdir(directory):
        for block in blocks(page):
            if block.file:
                Path(block.file).write_text(block.text, encoding="utf-8")
            elif block.runs:
                _run_python(page, block, namespace)
                count += 1
            elif block.language == "console":
                count += _run_console(page, block, command)
    return count


def _run_python(page: Path, block: Block, namespace: dict[str, object]) -> None:
    printed = io.StringIO()
    code = compile("\n" * (block.line - 1) + block.text, str(page), "exec")
    with contextlib.redirect_stdout(printed):
        exec(code, namespace)  # noqa: S102
    _compare(page, block.line, block.shown or "", printed.getvalue())


def _run_console(page: Path, block: Block, command: Callable[[list[str]], str] | None) -> int:
    count = 0
    for given in COMMAND.finditer(block.text):
        words = shlex.split(given["command"], comments=True)
        if words[0] != "chetaev":
            raise PageError(f"{page.name}:{block.line}: console blocks hold chetaev commands only, not {words[0]!r}")
        if command is not None:
            _compare(page, block.line, given["shown"], command(words[1:]))
            count += 1
    return count


def _compare(page: Path, line: int, shown: str, printed: str) -> None:
    wanted, got = [[row.rstrip() for row in text.strip("\n").splitlines()] for text in (shown, printed)]
    if not _matches(wanted, got):
        raise PageError(f"{page.name}:{line}: the page shows\n{chr(10).join(wanted)}\nbut this is printed\n{chr(10).join(got)}")


def _matches(wanted: list[str], got: list[str]) -> bool:
    """Line by line; a line `...` stands for any number of lines."""
    if not wanted:
        return not got
    if wanted[0].strip() == "...":
        return any(_matches(wanted[1:], got[skipped:]) for skipped in range(len(got) + 1))
    return bool(got) and _same(wanted[0], got[0]) and _matches(wanted[1:], got[1:])


def _same(wanted: str, got: str) -> bool:
    """Equal lines, up to the size of residuals."""
    first, second = RESIDUAL.findall(wanted), RESIDUAL.findall(got)
    if len(first) != len(second) or RESIDUAL.sub("", wanted) != RESIDUAL.sub("", got):
        return False
    pairs = [(max(float(a), ROUND_OFF), max(float(b), ROUND_OFF)) for a, b in zip(first, second, strict=True)]
    return all(a < 100 * b and b < 100 * a for a, b in pairs)


def pages(docs: Path) -> Iterator[Path]:
    """The pages written by hand, in alphabetical order."""
    yield from sorted(page for page in docs.rglob("*.md") if not any(part.startswith("_") for part in page.relative_to(docs).parts))
