"""The docstring of every public function names its arguments, its result and its errors; those of classes name their fields.

The docstring of a public method names its arguments and its errors.
"""

import ast
import enum
import inspect
import re
import textwrap
from functools import cache
from itertools import pairwise
from types import FunctionType, ModuleType

import pytest

import chetaev as ch

MODULES = (ch, ch.errors, ch.sweeps, ch.transforms, ch.singular, ch.forms, ch.groups, ch.plot, ch.orbits, ch.control, ch.interop)
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


def errors_in(nodes: list[ast.AST]) -> set[str]:
    """The names of the errors that the `raise` statements in some functions construct."""
    raises = [node.exc for tree in nodes for node in ast.walk(tree) if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)]
    return {error.func.id for error in raises if isinstance(error.func, ast.Name) and error.func.id.endswith("Error")}


def raised_from(module: ModuleType, names: set[str]) -> set[str]:
    """The errors that functions of a module raise, themselves or through other functions of this module."""
    known, seen, left = definitions(module), set(), set(names)
    while left := {name for name in left if name in known} - seen:
        seen |= left
        left = {node.id for name in left for node in ast.walk(known[name]) if isinstance(node, ast.Name)}
    return errors_in([known[name] for name in seen])


def raised(thing: object) -> set[str]:
    """The errors that a function raises itself or through functions of its own module."""
    return raised_from(inspect.getmodule(thing), {thing.__name__})


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


def methods(thing: type) -> dict[str, FunctionType]:
    """The public methods of a class that the library defines, by their names, inherited ones included."""
    found: dict[str, FunctionType] = {}
    for base in reversed(thing.__mro__):
        if not base.__module__.startswith("chetaev"):
            continue
        for name, value in vars(base).items():
            method = getattr(value, "__func__", value)
            method = inspect.unwrap(method) if callable(method) else None
            if not inspect.isfunction(method) or not method.__module__.startswith("chetaev"):
                continue
            if not name.startswith("_") and not method.__name__.startswith("_"):
                found[name] = method
    return found


METHODS = {f"{path}.{name}": (thing, method) for path, thing in CLASSES.items() for name, method in methods(thing).items()}


def told_by_a_base(thing: type, name: str, section: str) -> str:
    """A section of the docstring of a method, or of the method of a base that it overrides."""
    told = [sections(vars(base)[name]).get(section, "") for base in thing.__mro__ if name in vars(base)]
    return next(filter(None, told), "")


def raised_by_a_method(thing: type, method: FunctionType) -> set[str]:
    """The errors that a method raises itself, through other methods of its class, or through functions of the modules of these methods."""
    found, seen, left = set(), set(), [method]
    while left:
        one = left.pop()
        if one in seen or not inspect.isfunction(one) or not one.__module__.startswith("chetaev"):
            continue
        seen.add(one)
        tree = ast.parse(textwrap.dedent(inspect.getsource(one)))
        used = list(ast.walk(tree))
        found |= errors_in([tree]) | raised_from(inspect.getmodule(one), {node.id for node in used if isinstance(node, ast.Name)})
        of_self = [node.attr for node in used if isinstance(node, ast.Attribute) and ast.unparse(node.value) in ("self", "cls")]
        of_self = [name for name in of_self if not name.startswith("__")]
        left += [inspect.unwrap(getattr(thing, name)) for name in of_self if callable(getattr(thing, name, None))]
    return found - {"NotImplementedError"}


@pytest.mark.parametrize("path", METHODS)
def test_a_method_lists_its_arguments_and_its_errors(path):
    thing, method = METHODS[path]
    name = path.rpartition(".")[2]
    assert inspect.getdoc(getattr(thing, name))
    assert re.findall(r"^    (\w+): \S", told_by_a_base(thing, name, "Args"), re.MULTILINE) == parameters(method)
    told = told_by_a_base(thing, name, "Raises")
    assert not {error for error in raised_by_a_method(thing, method) if error not in told}
