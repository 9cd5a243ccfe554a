"""The docstring of every public function names its arguments, its result and its errors; those of classes name their fields."""

import ast
import enum
import inspect
import re
from functools import cache
from itertools import pairwise
from types import ModuleType

import pytest

import chetaev as ch

MODULES = (ch, ch.errors, ch.sweeps, ch.transforms, ch.singular, ch.forms, ch.groups, ch.plot)
SECTION = re.compile(r"^(Args|Returns|Raises):\n((?:[ ]{4}.*\n?)+)", re.MULTILINE)


def public() -> dict[str, object]:
    """Everything callable that a user reaches from `ch`, by its path."""
    names = [(module, name) for module in MODULES for name in module.__all__] + [(ch, name) for name in ch.ALSO]
    found = {f"{module.__name__}.{name}": getattr(module, name) for module, name in names}
    return {path: thing for path, thing in found.items() if not isinstance(thing, ModuleType) and callable(thing)}


FUNCTIONS = {path: thing for path, thing in public().items() if inspect.isfunction(thing)}
CLASSES = {path: thing for path, thing in public().items() if inspect.isclass(thing)}


def sections(thing: object) -> dict[str, str]:
    return dict(SECTION.findall(inspect.getdoc(thing) or ""))


def parameters(thing: object) -> list[str]:
    if inspect.isclass(thing) and not getattr(thing.__init__, "__module__", "").startswith("chetaev"):
        return []  # a constructor that is documented elsewhere
    return [name for name in inspect.signature(thing).parameters if name not in ("self", "cls")]


@cache
def definitions(module: ModuleType) -> dict[str, ast.AST]:
    return {node.name: node for node in ast.parse(inspect.getsource(module)).body if isinstance(node, ast.FunctionDef)}


def raised(thing: object) -> set[str]:
    """The errors that a function raises itself or through functions of its own module."""
    known, found, seen, names = definitions(inspect.getmodule(thing)), set(), set(), [thing.__name__]
    while names:
        name = names.pop()
        if name in seen or name not in known:
            continue
        seen.add(name)
        for node in ast.walk(known[name]):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and isinstance(node.exc.func, ast.Name):
                found.add(node.exc.func.id)
            elif isinstance(node, ast.Name):
                names.append(node.id)
    return {name for name in found if name.endswith("Error")}


@pytest.mark.parametrize("path", FUNCTIONS)
def test_a_function_lists_its_arguments_its_result_and_its_errors(path):
    thing = FUNCTIONS[path]
    told = sections(thing)
    assert re.findall(r"^    (\w+): \S", told.get("Args", ""), re.MULTILINE) == parameters(thing)
    assert told.get("Returns", "").strip()
    missing = {name for name in raised(thing) if name not in told.get("Raises", "")}
    assert not missing


def described(thing: type) -> str:
    """The docstrings of a class, of its bases, of its constructor, and the names of fields with a sentence below them."""
    texts = []
    for base in thing.__mro__:
        if not base.__module__.startswith("chetaev"):
            continue
        texts += [base.__doc__ or "", getattr(vars(base).get("__init__"), "__doc__", "") or ""]
        body = ast.parse(inspect.getsource(base)).body[0].body
        for line, after in pairwise(body):
            if isinstance(line, ast.AnnAssign) and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                texts.append(f"`{line.target.id}`")
    return "\n".join(texts)


@pytest.mark.parametrize("path", CLASSES)
def test_a_class_says_what_its_fields_are(path):
    thing = CLASSES[path]
    if issubclass(thing, enum.Enum):
        assert thing.__doc__
        return
    text = described(thing)
    missing = [name for name in parameters(thing) if not re.search(rf"`{name}\b|^\s+{name}: \S", text, re.MULTILINE)]
    assert not missing
