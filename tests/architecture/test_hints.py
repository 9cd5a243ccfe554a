"""What an error advises is a value where it is code: each front end prints it in its own words (`chetaev.core.fixes`)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import chetaev
from python_code import python_code_in

SOURCE = Path(chetaev.__file__).parent
OWN_SYNTAX = ("cli", "report/motion.py", "io/schema.py", "io/reading.py", "numerics/motion/run_settings.py", "studio/jobs.py")
"""Front ends, whose hints are written in their own syntax."""
REFUSING = ("error", "_fault", "_refused", "refusal", "_refusal", "require_mapping", "number", "listed")
"""Functions that take the parts of a message by their positions."""


def hints(tree: ast.AST) -> Iterator[ast.expr]:
    """The expressions that are given as hints, or that a variable of this name gets."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from (given.value for given in node.keywords if given.arg in ("hint", "why"))
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            yield from node.args if name in REFUSING else ()
        elif isinstance(node, ast.Assign) and any(
            isinstance(to, ast.Name) and to.id in ("hint", "_HINT", "_EXAMPLE") for to in node.targets
        ):
            yield node.value


def plain_texts(node: ast.AST) -> Iterator[ast.Constant]:
    """The texts of a hint outside of fixes; in an f-string, `name` stands for what it computes."""
    if isinstance(node, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.Constant) else "name" for part in node.values]
        yield ast.copy_location(ast.Constant("".join(map(str, parts))), node)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node
    elif not isinstance(node, ast.Call | ast.FormattedValue):
        for child in ast.iter_child_nodes(node):
            yield from plain_texts(child)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "sentences":
        for child in node.args:
            yield from plain_texts(child)


def test_no_hint_has_code_in_its_text():
    wrong, seen = [], 0
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        if not name.startswith(OWN_SYNTAX):
            for hint in hints(ast.parse(path.read_text())):
                texts = list(plain_texts(hint))
                seen += len(texts)
                wrong += [f"{name}:{text.lineno}: {text.value}" for text in texts if python_code_in(text.value)]
    assert seen > 800 and not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("t=(0, 10), or an array of times", True),
        ("ch.classify shows it", True),
        ("restrict(system) removes them", True),
        ('{"x": 0, "y": None}', True),
        ("one of x y theta", False),
        ("tanh(50*x') for sign(x')", False),
        ('[initial] guess = ["y = ..."]', False),
        ('--set a=0.5 or --gauge "q2 = sin(t)"', False),
        ("in Python, ch.servo(system)", False),
    ],
)
def test_code_is_told_from_words(text, code):
    assert python_code_in(text) is code
