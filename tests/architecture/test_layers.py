"""What a part of the library may import: the layers, the rooms of the numerics, and the packages of others.

Every import counts, those inside functions and those for types too. A package may import itself, and what its row names.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import chetaev

SOURCE = Path(chetaev.__file__).parent
ROCARD = Path(__file__).parents[2] / "examples" / "rocard.toml"
HEAVY = ("casadi", "llvmlite", "numba", "matplotlib", "heyoka", "zarr", "dask", "distributed")

LAYERS = {
    "core": "",
    "mechanics": "core",
    "singular": "core mechanics",
    "numerics": "core mechanics singular",
    "transforms": "core mechanics singular numerics",
    "gallery": "core mechanics io",
    "export": "core mechanics numerics",
    "io": "core mechanics numerics",
    "plot": "core mechanics singular numerics export",
    "report": "core mechanics numerics io plot",
    "studio": "core mechanics numerics gallery io export plot report sweeps",
    "cli": "core mechanics numerics transforms gallery io export plot report studio sweeps",
    "__main__": "cli",
    "interop": "core mechanics numerics",
    "groups": "core mechanics transforms",
    "control": "core mechanics numerics paths",
    "orbits": "core mechanics numerics transforms",
    "paths": "core mechanics numerics transforms singular orbits",
    "registration": "core mechanics numerics transforms export",
    "sweeps": "core mechanics numerics transforms io plot",
}
"""Each part of the library, and the parts it may import. `groups` and `control` are the public modules of these names; `registration` has
`ch.register`."""

ROOMS = (
    "machine",
    "graphs",
    "flow",
    "driving",
    "corners",
    "enclosures",
    "start",
    "verdict",
    "methods",
    "smooth_pieces",
    "slopes",
    "evaluation",
    "motion",
    "prepared",
    "comparison",
    "stability",
    "ensemble",
    "attraction",
    "identification",
)
"""The rooms of the numerics: each may import those before it."""

OTHERS = {
    "core": "sympy mpmath",
    "mechanics": "sympy numpy scipy",
    "singular": "sympy numpy",
    "numerics": "sympy numpy scipy mpmath casadi llvmlite numba tqdm control",
    "transforms": "sympy numpy",
    "gallery": "",
    "export": "sympy casadi",
    "io": "sympy numpy",
    "plot": "sympy numpy matplotlib PIL imageio_ffmpeg",
    "report": "sympy numpy matplotlib",
    "studio": "numpy anywidget traitlets",
    "cli": "click rich",
    "__main__": "",
    "interop": "sympy numpy jax torch",
    "groups": "",
    "control": "",
    "orbits": "sympy numpy scipy",
    "paths": "sympy numpy scipy casadi",
    "registration": "",
    "sweeps": "numpy scipy zarr dask distributed tqdm",
}
"""The packages of others that each part may import."""


@cache
def tree(path: Path) -> ast.Module:
    """The syntax of a file; several rules read all files."""
    return ast.parse(path.read_text())


@cache
def imports(path: Path) -> list[tuple[int, str]]:
    """The modules that a file imports, with the lines."""
    return list(_imports(path))


def _imports(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, each.name) for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level:
            yield node.lineno, "a relative name"  # no row allows it: it would hide the part
        elif isinstance(node, ast.ImportFrom):
            for each in node.names:
                below = SOURCE.parent.joinpath(*node.module.split("."), each.name)
                is_module = below.is_dir() or below.with_suffix(".py").exists()
                yield node.lineno, f"{node.module}.{each.name}" if is_module else node.module


def files(part: str) -> list[Path]:
    folder = SOURCE / part
    return sorted(folder.rglob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]


def test_every_part_has_its_row():
    parts = {path.stem for path in SOURCE.iterdir() if (path.is_dir() and any(path.glob("*.py"))) or path.suffix == ".py"}
    assert parts - {"__init__"} == set(LAYERS) == set(OTHERS)
    rooms = {path.name for path in (SOURCE / "numerics").iterdir() if path.is_dir() and any(path.glob("*.py"))}
    assert rooms == set(ROOMS)


@pytest.mark.parametrize("part", LAYERS)
def test_a_part_imports_only_what_its_row_allows(part):
    allowed = {part, *LAYERS[part].split()}
    others = {*OTHERS[part].split(), *sys.stdlib_module_names}
    wrong = []
    for path in files(part):
        for line, name in imports(path):
            top, *rest = name.split(".")
            good = rest[:1] and rest[0] in allowed if top == "chetaev" else top in others
            if not good:
                wrong.append(f"{path.relative_to(SOURCE)}:{line} imports {name}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_of_the_numerics_imports_only_those_before_it(room):
    allowed = ROOMS[: ROOMS.index(room) + 1]
    wrong = [
        f"{path.relative_to(SOURCE)}:{line} imports {name}"
        for path in files(f"numerics/{room}")
        for line, name in imports(path)
        if name.startswith("chetaev.numerics.") and name.split(".")[2] not in allowed
    ]
    assert not wrong, "\n".join(wrong)


def test_no_module_imports_a_private_name_of_another():
    wrong = [
        f"{path.relative_to(SOURCE)}:{node.lineno} imports {each.name} from {node.module}"
        for path in sorted(SOURCE.rglob("*.py"))
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("chetaev")
        for each in node.names
        if each.name.startswith("_")
    ]
    assert not wrong, "\n".join(wrong)


FOLDERS = sorted({path.parent for path in SOURCE.rglob("*.py")})


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_folder_has_at_most_fifteen_modules(folder):
    """More modules than this have no order that a reader could keep in mind; the gallery is a list of systems."""
    modules = [path for path in folder.glob("*.py") if path.name != "__init__.py"]
    assert folder.name == "gallery" or len(modules) <= 15
    assert description(folder)


def description(folder: Path) -> str:
    """The docstring of a package."""
    return ast.get_docstring(tree(folder / "__init__.py")) or ""


@pytest.mark.parametrize("folder", [f for f in FOLDERS if f not in (SOURCE, SOURCE / "gallery")], ids=lambda folder: folder.name)
def test_the_description_of_a_package_names_each_of_its_parts(folder):
    """A reader finds the module for a change from the docstring; those of the library itself and of the gallery are for users."""
    parts = {path.stem for path in folder.glob("*.py") if not path.stem.startswith("__")}
    parts |= {path.parent.name for path in folder.glob("*/__init__.py")}
    named = set(re.findall(r"\w+", description(folder)))
    assert not parts - named


NO_SOLVER = {
    "the package": "import chetaev as ch",
    "a model file": f"model = ch.load({str(ROCARD)!r})",
    "a printed model": "str(model)",
    "a gallery system": "ch.gallery('sleigh')",
    "exact arithmetic": "import chetaev.core.exact.signature",
}


def test_what_needs_no_solver_loads_none():
    """One process takes the steps one after the other: what is loaded stays, so the first step that loads too much is seen."""
    told = "print(*{name.partition('.')[0] for name in sys.modules})"
    text = "\n".join(["import sys", *[f"{step}\n{told}" for step in NO_SOLVER.values()]])
    found = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)  # noqa: S603
    loaded = dict(zip(NO_SOLVER, map(str.split, found.stdout.splitlines()), strict=True))
    assert {step: set(HEAVY).intersection(names) for step, names in loaded.items()} == {step: set() for step in NO_SOLVER}


@pytest.mark.parametrize(
    "call", ["ch.simulate(ch.gallery('sleigh')).verify()", "ch.report(ch.gallery('sleigh'))"], ids=["motion", "report"]
)
def test_an_ordinary_system_loads_no_scipy(call):
    """SciPy takes half a second of CPU to import, more than most motions take; it is loaded where it computes.

    Numba loads it where it has to compile the loops; so another process has them compiled first.
    """
    prepare = "from chetaev.numerics.methods import loops; loops.prepare()"
    subprocess.run([sys.executable, "-c", prepare], check=True)  # noqa: S603
    text = f"import sys, chetaev as ch\n{call}\nprint('scipy' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)  # noqa: S603
    assert found.stdout.split() == ["False"]
