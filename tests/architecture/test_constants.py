"""Every numeric constant at the top of a module says in words what it is, and no small number stands without a name in a function.

A threshold without an explanation is copied and changed by people who cannot know what breaks.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import chetaev

_PACKAGE = Path(chetaev.__file__).parent
_TABLES = ("numerics/methods/dop853/tableau.py", "numerics/methods/compiled_steps/radau_tableau.py")
"""Modules of published coefficients, which their docstrings explain."""
_SMALL = 1e-3
"""Numbers up to this size in a function decide something, such as what is round-off, and need a name."""
_DATA = "gallery/"
"""The systems of the literature: the small numbers in their functions are values of parameters."""
_EXAMPLES = ("SetArgument",)
"""Calls whose numbers are printed as examples in messages, and decide nothing."""


def _is_number(value: ast.expr) -> bool:
    """Tell whether an expression is made of literal numbers, such as ``2.0**-52`` or ``(1.0, 60.0)``."""
    if isinstance(value, ast.Tuple | ast.List):
        return any(map(_is_number, value.elts))
    if isinstance(value, ast.UnaryOp):
        return _is_number(value.operand)
    if isinstance(value, ast.BinOp):
        return _is_number(value.left) or _is_number(value.right)
    return isinstance(value, ast.Constant) and type(value.value) in (int, float, complex)


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant) and isinstance(statement.value.value, str)


def _wordless(path: Path) -> Iterator[str]:
    """Yield ``file:line name`` of the numeric constants of a module that have no docstring or comment."""
    source = path.read_text()
    lines = source.splitlines()
    body = ast.parse(source).body
    for statement, following in zip(body, [*body[1:], ast.Pass()], strict=True):
        if isinstance(statement, ast.Assign):
            names, value = statement.targets, statement.value
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            names, value = [statement.target], statement.value
        else:
            continue
        if not _is_number(value) or _is_text(following):
            continue
        above = lines[statement.lineno - 2].strip() if statement.lineno > 1 else ""
        if "#" not in lines[statement.end_lineno - 1] and not above.startswith("#"):
            yield f"{path.relative_to(_PACKAGE)}:{statement.lineno} {', '.join(map(ast.unparse, names))}"


def test_every_numeric_constant_has_a_word() -> None:
    modules = [path for path in sorted(_PACKAGE.rglob("*.py")) if not path.relative_to(_PACKAGE).as_posix().startswith(_TABLES)]
    found = [line for module in modules for line in _wordless(module)]
    assert not found, "\n".join(found)


def _nameless(path: Path) -> Iterator[str]:
    """Yield ``file:line number`` of the small numbers in the bodies of functions of a module; defaults of arguments are not in a body."""
    tree = ast.parse(path.read_text())
    examples = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) in _EXAMPLES]
    skipped = {id(node) for example in examples for node in ast.walk(example)}
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)]
    bodies = [node for each in functions for node in (each.body if isinstance(each.body, list) else [each.body])]
    numbers = {id(node): node for body in bodies for node in ast.walk(body) if isinstance(node, ast.Constant)}
    for key, node in numbers.items():
        if key not in skipped and type(node.value) is float and 0 < abs(node.value) <= _SMALL:
            yield f"{path.relative_to(_PACKAGE)}:{node.lineno} {node.value!r}"


def test_every_small_number_in_a_function_has_a_name() -> None:
    modules = [path for path in sorted(_PACKAGE.rglob("*.py")) if not path.relative_to(_PACKAGE).as_posix().startswith(_DATA)]
    found = [line for module in modules for line in _nameless(module)]
    assert not found, "\n".join(found)
