"""The reference of all public names, written from signatures and docstrings.

Docstrings of the library are Markdown: names in backticks, mathematics between dollars, examples as sessions.
"""

from __future__ import annotations

import ast
import enum
import inspect
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import chetaev as ch

PAGES = {
    "systems": (
        "Systems and notation",
        "System coordinates parameters inputs delta Coordinate Parameter Input Constraint VariationalConstraint parse show to_sympy",
    ),
    "principles": (
        "Principles and equations",
        "derive Equations Principle Hamilton DAlembert Chetaev VirtualWork Vakonomic Herglotz AsStated classify compare Comparison",
    ),
    "motion": (
        "Analysis and motion",
        "analyze Analysis Verdict evaluate residual simulate State Trajectory Outcome On Method Implicit Taylor simulate_many Ensemble "
        "sweep Sweep open_sweep grid sample Sample count largest_lyapunov "
        "prepare Prepared equilibria Equilibrium linearize Linearization eigenvalue_sweep basin Basin lyapunov_certificate "
        "LyapunovCertificate",
    ),
    "transformations": (
        "Transformations",
        "Morphism lift linearize_constraints friction_as_constraint contact_as_nonholonomic contact_as_vakonomic vakonomic_as_free "
        "hamiltonian restrict change_coordinates reduce_velocities hamel routh reduce symmetries",
    ),
    "singular": (
        "Singular systems and the inverse problem",
        "DynamicalForm constraint_algorithm regularity helmholtz tonti_lagrangian integrating_factor reduce_order lepagean_equivalent "
        "ConstraintStructure constrain ConstrainedSystem semiholonomic semiholonomic_degree prolong_constraints implicit_equation "
        "contact_geometry ContactGeometry precontact Precontact dirac Dirac "
        "presymplectic Presymplectic lagrangian_forms lagrangian_bundle LagrangianBundle reduced_phase_space",
    ),
    "groups": ("Groups", ""),
    "files": ("Models, files, pictures", "Model gallery load save code animate report Report"),
    "errors": (
        "Errors",
        "ChetaevError NotationError ModelError PrincipleError ParameterError InitialError StateError GaugeError BranchError "
        "UnfinishedError UsageError",
    ),
    "more": ("Further names", ""),
}
MODULES = ("errors", "forms", "transforms", "groups", "plot", "singular", "sweeps")
BUILT = frozenset("System State On Model DynamicalForm ConstraintStructure Coordinate Parameter Input forms.Form".split())
"""Classes that users call; the others are results, whose fields are listed instead of their arguments."""


def assigned() -> dict[str, list[str]]:
    """Public names by page. A name no page claims goes to the last one, so that the reference is complete."""
    public = [name for name in (*ch.__all__, *ch.ALSO) if name not in MODULES]
    pages = {key: [name for name in names.split() if name in public] for key, (_, names) in PAGES.items()}
    rest = [name for name in public if not any(name in names for names in pages.values())]
    pages["groups"] += [name for name in rest if "groups" in home(name)]
    pages["more"] += [name for name in rest if "groups" not in home(name)]
    return {key: names for key, names in pages.items() if names}


def home(name: str) -> str:
    """The module in which a public name is defined."""
    return str(getattr(getattr(ch, name), "__module__", ""))


def write(source: Path) -> None:
    """Write the pages to `source/api`."""
    folder = source / "api"
    folder.mkdir(parents=True, exist_ok=True)
    pages = assigned()
    for key, names in pages.items():
        body = "\n\n".join(entry(f"chetaev.{name}", getattr(ch, name)) for name in names)
        (folder / f"{key}.md").write_text(f"# {PAGES[key][0]}\n\n```{{py:currentmodule}} chetaev\n```\n\n{body}\n", encoding="utf-8")
    modules = [name for name in MODULES if name in ch.__all__]
    for name in modules:
        (folder / f"module_{name}.md").write_text(module_page(name), encoding="utf-8")
    listed = "\n".join([*pages, *(f"module_{name}" for name in modules)])
    rows = "\n".join(
        f"- [{PAGES[key][0]}]({key}.md): " + ", ".join(f"{{py:obj}}`{n} <chetaev.{n}>`" for n in names) for key, names in pages.items()
    )
    text = (
        "# Reference\n\nEverything a first program uses is a name of `chetaev` itself: `import chetaev as ch`. Verbs are functions, "
        f"values are frozen, and nothing is imported before it is used.\n\n{rows}\n\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n"
    )
    (folder / "index.md").write_text(text, encoding="utf-8")


def module_page(name: str) -> str:
    """The further names of a module such as `ch.forms`."""
    module = getattr(ch, name)
    public = [
        n
        for n in getattr(module, "__all__", [n for n in vars(module) if not n.startswith("_")])
        if not inspect.ismodule(getattr(module, n))
    ]
    known = {id(getattr(ch, n)) for n in (*ch.__all__, *ch.ALSO) if n not in MODULES}
    fresh = [
        n
        for n in sorted(public, key=str.lower)
        if id(getattr(module, n)) not in known and str(getattr(getattr(module, n), "__module__", "")).startswith("chetaev")
    ]
    body = "\n\n".join(entry(f"chetaev.{name}.{n}", getattr(module, n)) for n in fresh)
    return f"# The module ch.{name}\n\n{markdown(inspect.getdoc(module) or '')}\n\n{body}\n"


@dataclass(frozen=True)
class Shown:
    """A directive of the Python domain with its text."""

    kind: str
    head: str
    text: str
    inner: str = ""

    def __str__(self) -> str:
        fence = ":" * (4 if not self.inner else 6)
        return f"{fence}{{py:{self.kind}}} {self.head}\n\n{self.text}\n\n{self.inner}\n{fence}"


def entry(path: str, thing: Any) -> str:
    """One public name."""
    name = path.removeprefix("chetaev.")
    if inspect.isclass(thing):
        return str(class_entry(name, thing))
    if callable(thing):
        return str(Shown("function", name + signature(thing), markdown(inspect.getdoc(thing) or "")))
    return str(Shown("data", name, markdown(inspect.getdoc(thing) or "")))


def class_entry(name: str, thing: type) -> Shown:
    """A class with the public names it defines itself."""
    if issubclass(thing, enum.Enum):
        rows = "\n\n".join(f"`{m.name}`\n: {getattr(m, 'sentence', m.value)}" for m in thing)
        return Shown("class", name, f"{markdown(inspect.getdoc(thing) or '')}\n\n{rows}")
    made_by_users = name in BUILT or issubclass(thing, ch.Principle | ch.Method)
    head = name + (signature(thing) if made_by_users and not inspect.isabstract(thing) else "")
    own = {} if made_by_users else fields(thing)
    plain = ", ".join(f"`{key}`" for key, text in own.items() if not text)
    members = [f"Fields: {plain}." if plain else ""]
    members += [str(Shown("attribute", f"{name}.{key}", markdown(text))) for key, text in own.items() if text]
    members += [member_entry(name, key, value) for key, value in vars(thing).items() if not key.startswith("_")]
    made = vars(thing).get("__init__") if made_by_users else None
    text = "\n\n".join(markdown(inspect.cleandoc(told)) for told in (thing.__doc__, getattr(made, "__doc__", None)) if told)
    return Shown("class", head, text or markdown(inspect.getdoc(thing) or ""), "\n\n".join(m for m in members if m))


def fields(thing: type) -> dict[str, str]:
    """The fields of a result and the sentences that stand below them in the source."""
    try:
        body = ast.parse(inspect.cleandoc(inspect.getsource(thing))).body[0].body  # type: ignore[attr-defined]
    except (OSError, TypeError, SyntaxError):
        return {}
    found = {}
    for line, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name) and not line.target.id.startswith("_"):
            told = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) and isinstance(after.value.value, str)
            found[line.target.id] = inspect.cleandoc(after.value.value) if told else ""  # type: ignore[union-attr]
    return found


def member_entry(owner: str, name: str, value: Any) -> str:
    """A method or property with a docstring; fields are told by the class."""
    if isinstance(value, property) or type(value).__name__ == "cached_property":
        return str(Shown("property", f"{owner}.{name}", text)) if (text := markdown(inspect.getdoc(value) or "")) else ""
    target = value.__func__ if isinstance(value, classmethod | staticmethod) else value
    if inspect.isfunction(target) and target.__doc__:
        return str(Shown("method", f"{owner}.{name}{signature(target)}", markdown(inspect.getdoc(target) or "")))
    return ""


def signature(thing: Any) -> str:
    """The names and defaults of the arguments; types stand in the source."""
    try:
        given = inspect.signature(thing)
    except (TypeError, ValueError):
        return "()"
    plain = [p.replace(annotation=inspect.Parameter.empty) for key, p in given.parameters.items() if key not in ("self", "cls")]
    try:
        text = str(inspect.Signature(plain))
    except ValueError:
        return "(...)"
    return re.sub(r"<[^<>]*>", "...", text)


SESSION = re.compile(r"(?:^[ ]*>>>.*\n?)(?:^[ ]*\S.*\n?)*", re.MULTILINE)


def markdown(docstring: str) -> str:
    """A docstring with its example sessions put into code blocks."""

    def session(found: re.Match[str]) -> str:
        return f"\n```pycon\n{inspect.cleandoc(found[0])}\n```\n"

    text = SESSION.sub(session, docstring)
    text = SECTION.sub(section, text)
    return re.sub(r"(?m)^(?=[ ]{4}\S)(?!.*```)", "", text)


SECTION = re.compile(r"^(Args|Returns|Raises):\n((?:[ ]{4}.*\n?)+)", re.MULTILINE)


def section(found: re.Match[str]) -> str:
    """The arguments, the result or the errors of a docstring as a list."""
    title = {"Args": "Arguments", "Returns": "Returns", "Raises": "Raises"}[found[1]]
    entries = re.sub(r"\n[ ]{8}\s*", " ", found[2])
    lines = [line.strip() for line in entries.splitlines()]
    if found[1] == "Returns":
        return f"**{title}:** {' '.join(lines)}\n"
    named = [re.sub(r"^(\w+):", r"`\1`:", line) for line in lines]
    return f"**{title}:**\n\n" + "".join(f"- {line}\n" for line in named)
