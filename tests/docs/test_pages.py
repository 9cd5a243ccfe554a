"""Every code block of the documentation runs and prints what its page shows."""

import re
from pathlib import Path

import pytest
from generate.blocks import Block, PageError, blocks, pages, run

DOCS = Path(__file__).parents[2] / "docs"
NAMES = [str(page.relative_to(DOCS).with_suffix("")) for page in pages(DOCS)]


def command_line(words):
    """What the command prints, by the same entry point as in a terminal."""
    from click.testing import CliRunner

    from chetaev.cli.application import application

    return CliRunner(env={"COLUMNS": "120", "NO_COLOR": "1"}).invoke(application, words, prog_name="chetaev").output


@pytest.mark.parametrize("name", [n for n in NAMES if any(b.runs or b.language == "console" for b in blocks(DOCS / f"{n}.md"))])
def test_the_code_of_a_page_does_what_the_page_says(name, tmp_path):
    page = DOCS / f"{name}.md"
    assert run(page, tmp_path, command_line) > 0
    drawn = re.findall(r"^```\{picture\} (\S+)", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert [picture for picture in drawn if not (tmp_path / picture).exists()] == []


def test_the_collector_can_fail(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A\n\n```python\na = 2\n```\n\nwords\n\n```python\nprint(a + 1)\n```\n\n```text\n4\n```\n", encoding="utf-8")
    assert blocks(page)[1] == Block("python", "", "print(a + 1)\n", 10, "4\n")
    with pytest.raises(PageError, match=r"page.md:10: the page shows\n4\nbut this is printed\n3"):
        run(page, tmp_path)
    page.write_text("```python\nprint(1)\n```\n", encoding="utf-8")
    with pytest.raises(PageError, match="this is printed"):  # what is printed must be shown
        run(page, tmp_path)
    page.write_text("```text\n4\n```\n\n```python\nprint('a', 'b', 'c', sep=chr(10))\n```\n\n```text\na\n...\nc\n```\n", encoding="utf-8")
    assert run(page, tmp_path) == 1


def test_files_and_commands(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "```{code-block} toml\n:caption: a.toml\n\nx = 1\n```\n\n```console\n$ chetaev show a.toml\nx = 1\n```\n", encoding="utf-8"
    )
    assert run(page, tmp_path, lambda words: Path(words[1]).read_text(encoding="utf-8")) == 1
    with pytest.raises(PageError):
        run(page, tmp_path, lambda words: "y = 1")


def test_shell_blocks_name_targets_that_exist():
    targets = set(re.findall(r"^(\w+):", (DOCS.parent / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    said = [line for name in NAMES for b in blocks(DOCS / f"{name}.md") if b.language == "sh" for line in b.text.splitlines()]
    made = {word for line in said if line.startswith("make ") for word in line.split("#")[0].split()[1:]}
    assert made <= targets
    assert all(line.split()[0] in {"make", "pip", "git", "cd", "python", "."} for line in said if line.strip())
