"""The pages of the gallery, one per system, written from the gallery's own files.

The light build shows the texts of the model: story, system, values, references. The full one derives, analyses, simulates and draws.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import chetaev as ch
from generate.markdown import fenced, formula, table, told

LONGEST = 2500
SHORT = 140
"""Rows with fewer characters are shown as they are."""
GROUPS = {
    "Holonomic": "cartesian-pendulum chain double-pendulum foucault spherical-pendulum",
    "Rolling and blades": "disk leaning-disk knife-edge knife-edge-friction sleigh snakeboard trailer bicycle heisenberg",
    "Nonlinear and of higher order": "appell-hamel constant-speed prescribed-curvature",
    "Tyres, friction and control by virtual work": "rocard greidanus greidanus-x viscous-particle cart-pendulum",
    "Vakonomic": "disk-resistance two-firms transformer martinet",
    "With dissipation, by the action": "damped-oscillator disk-contact sleigh-contact action-constraint",
    "Singular and of higher order": "cawley krupkova pais-uhlenbeck",
}
OTHERS = "More systems"


def groups() -> dict[str, list[str]]:
    """All gallery systems by kind; a system that no group names comes last, so that none is forgotten."""
    present = set(ch.gallery())
    sorted_in = {title: [name for name in names.split() if name in present] for title, names in GROUPS.items()}
    rest = sorted(present - {name for names in sorted_in.values() for name in names})
    bodies = [name for name in rest if ch.gallery(name).system.groups]
    found = {**sorted_in, "Rotations and rigid motions": bodies, OTHERS: [name for name in rest if name not in bodies]}
    return {title: names for title, names in found.items() if names}


def write(source: Path, pictures: Path | None) -> None:
    """Write the pages to `source/gallery`; with `pictures`, run everything and draw into `pictures/gallery/<name>`."""
    folder = source / "gallery"
    folder.mkdir(parents=True, exist_ok=True)
    for names in groups().values():
        for name in names:
            (folder / f"{name}.md").write_text(page(name, source, pictures), encoding="utf-8")
    if pictures:
        for picture in (pictures / "gallery").glob("*/thumbnail.png"):
            target = source / "pictures" / "gallery" / picture.parent.name / picture.name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(picture, target)
    (folder / "index.md").write_text(index(pictures), encoding="utf-8")


def index(pictures: Path | None) -> str:
    """The list of systems, as cards with pictures where there are any."""
    parts = [
        "# Gallery",
        "Systems of the literature, each with its story, good values and known invariants. Every verb takes a gallery model as it is: "
        '`ch.simulate(ch.gallery("rocard"))`. These pages are written from the models by the same code that a reader would run.',
    ]
    for title, names in groups().items():
        parts += [f"## {title}", ":::::{container} cards", *[card(name, pictures) for name in names], ":::::"]
    listed = "\n".join(name for names in groups().values() for name in names)
    parts.append(f"```{{toctree}}\n:hidden:\n\n{listed}\n```")
    return "\n\n".join(parts) + "\n"


def card(name: str, pictures: Path | None) -> str:
    """One entry of the list."""
    model = ch.gallery(name)
    picture = f"[![{model.name}]({_uri(name)})]({name}.md)\n\n" if pictures and (pictures / _file(name)).exists() else ""
    first = summary(name)
    return f"::::{{container}} card\n{picture}**[{capital(model.name)}]({name}.md)**\n\n{first}\n::::"


def summary(name: str) -> str:
    """The paragraph with which the file of the system begins."""
    from chetaev.gallery import description

    return told(description(name)[1], known(ch.gallery(name)))


def known(model: ch.Model) -> list[str]:
    """The names that a text about the model may use."""
    system = model.system
    entries = [z.name for group in system.groups.values() for z in group.chart]
    inputs = [z.base for z in system.inputs]
    return [q.base for q in system.coordinates] + [p.name for p in system.parameters] + [*system.where, *system.quasi, *inputs, *entries]


def capital(text: str) -> str:
    """With a capital letter."""
    return text[:1].upper() + text[1:]


@dataclass(frozen=True)
class Drawn:
    """What the full build shows of a motion: the film at the top, text and curves further down."""

    film: str
    motion: str


def page(name: str, source: Path, pictures: Path | None) -> str:
    """The page of one system."""
    model = ch.gallery(name)
    shown = moved(name, model, source, pictures) if pictures else Drawn("", "")
    parts = [f"# {capital(model.name)}", summary(name), shown.film, told(model.prose, known(model)), "## System", system_table(model)]
    if pictures:
        equations = ch.derive(model)
        parts += [f"## Equations under {model.principle}", *written(equations)]
        parts += ["## Analysis", fenced(str(ch.classify(model))), fenced(str(ch.analyze(equations)))]
    parts += ["## Values", values(model), "## The motion", fenced(program(name), "python"), shown.motion]
    if model.corrections:
        parts += ["## Corrections to the literature", "\n".join(f"- {told(text, known(model))}" for text in model.corrections)]
    if model.reference:
        parts += ["## Reference", told(model.reference, [])]
    return "\n\n".join(part for part in parts if part) + "\n"


def system_table(model: ch.Model) -> str:
    """Lagrangian, constraints and the rest, typeset."""
    listed = {"coordinates", "parameters", "action"}
    lines = [(title, text) for title, text in model.system._lines("text") if text]
    words = {title: f"`{text}`" for title, text in lines if title.startswith("group ")}
    words |= {title: ", ".join(map(formula, text.split())) for title, text in lines if title in listed}
    rows = [[f"`{title}`", words.get(title) or set_text(text)] for title, text in lines]
    return table(["part", ""], rows)


def set_text(text: str) -> str:
    """A row or an expression; one that fills a page is left out."""
    if text == "open":
        return "open: bound when it is evaluated or simulated"
    return formula(text) if len(text) < LONGEST else f"{len(text) // 1000} kB of text; `print(model.system)` shows it"


def written(equations: ch.Equations) -> list[str]:
    """The rows, simplified within a bounded time if that shortens them much."""
    plain, note = _texts(equations), ""
    if max(map(len, plain)) > SHORT:
        shorter = _texts(equations.simplify(seconds=5))
        if sum(map(len, shorter)) < 0.8 * sum(map(len, plain)):
            plain, note = shorter, "Simplified for reading; `ch.derive` shows them as they arise."
    if max(map(len, plain)) > LONGEST:
        return [f"Written out, the {len(plain)} rows take {sum(map(len, plain)) // 1000} kB; `print(ch.derive(model))` shows them."]
    labels = [row.label for row in equations.rows]
    return [note, "::::{container} rows", *(f"`{label}` {formula(text)}" for label, text in zip(labels, plain, strict=True)), "::::"]


def _texts(equations: ch.Equations) -> list[str]:
    return [equations.row_text(row) for row in equations.rows]


def values(model: ch.Model) -> str:
    """Parameters, start, interval, invariants and other principles."""
    rows = [["parameters", listed(model.parameters)], ["start", listed(model.start.fixed)], ["guess", listed(model.start.guess)]]
    rows += [["inputs", listed(model.inputs)], ["interval", f"t = {model.t[0]:g} to {model.t[1]:g}, tolerance {model.tolerance:g}"]]
    rows += [[f"constant: {name}", f"`{text}`"] for name, text in model.invariants.items()]
    rows += [["also under", f"`{principle}`" + (f" with {listed(data)}" if data else "")] for principle, data in model.also.items()]
    return table(["", ""], [row for row in rows if row[1]])


def listed(given: object) -> str:
    """`a = 1`, `b = 2` and so on."""
    return ", ".join(f"`{name} = {value}`" for name, value in dict(given).items())  # type: ignore[call-overload]


def _file(name: str) -> str:
    return f"gallery/{name}/thumbnail.png"


def _uri(name: str) -> str:
    return f"/pictures/gallery/{name}/thumbnail.png"


def program(name: str) -> str:
    """What a reader types to get the motion shown."""
    return f'import chetaev as ch\n\nmotion = ch.simulate(ch.gallery("{name}"))\nprint(motion)'


def moved(name: str, model: ch.Model, source: Path, pictures: Path) -> Drawn:
    """The motion of the model, or what stands against it: a free function that the user has to choose is an answer, too."""
    try:
        motion = ch.simulate(model, progress=False)
    except ch.GaugeError as verdict:
        return Drawn("", fenced(str(verdict)))
    return draw(name, motion, source, pictures)


def draw(name: str, motion: ch.Trajectory, source: Path, pictures: Path) -> Drawn:
    """Draw and film the motion; the Markdown that shows it. The film stands among the static files, where no page is made of it."""
    from generate.drawing import FILM, draw_system

    folder = pictures / "gallery" / name
    shown = draw_system(name, motion, folder)
    films = source / "_static" / "films"
    films.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(folder / FILM, films / f"{name}.html")
    figures = "\n\n".join(f"```{{picture}} {file}\n:alt: {alt}\n{caption}\n```" for file, alt, caption in shown)
    film = (
        f'<iframe class="film" src="../_static/films/{name}.html" title="{motion.equations.system.name}, animated" loading="lazy"></iframe>'
    )
    return Drawn(film, f"{fenced(str(motion))}\n\n{figures}")
