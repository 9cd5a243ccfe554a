"""transform: an equivalent system, by a theorem."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from chetaev.cli import options
from chetaev.cli.examples import examples
from chetaev.cli.say import note, say
from chetaev.cli.source import MODEL, read
from chetaev.cli.writing import check_output, write_text
from chetaev.core.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from chetaev.mechanics.equations import Equations
    from chetaev.mechanics.model import Model
    from chetaev.transforms.tools.morphism import Morphism

_THEOREMS: dict[str, tuple[str, ...]] = {
    "lift": ("order",),
    "linearize-constraints": (),
    "friction-as-constraint": ("projected",),
    "contact-as-nonholonomic": (),
    "contact-as-vakonomic": (),
    "vakonomic-as-free": (),
    "hamiltonian": (),
    "restrict": ("formula", "inverse"),
    "change-coordinates": ("formula", "inverse"),
    "reduce-velocities": ("velocity",),
    "hamel": ("velocity",),
    "routh": ("coordinate",),
    "reduce": ("group",),
}
"""The verbs of the library that give a Morphism, and the options that each takes."""
_NEEDED = {"change-coordinates": "formula", "routh": "coordinate", "reduce": "group"}
_EXAMPLES = {"formula": '--formula "x = r*cos(phi)" --formula "y = r*sin(phi)"', "coordinate": "--coordinate phi", "group": "--group A"}

_CHECKED = 1e-11
"""Tolerance of the motions that a check compares: a theorem is judged, not an integrator."""


class TheoremType(click.ParamType):
    """A transformation by its name in Python, with hyphens."""

    name = "theorem"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        """The names that begin like the word."""
        from click.shell_completion import CompletionItem

        return [CompletionItem(name) for name in _THEOREMS if name.startswith(incomplete)]


@click.command(
    "transform",
    epilog="\b\nTHEOREM is one of\n  lift, linearize-constraints, friction-as-constraint, hamiltonian, routh,\n"
    "  restrict, change-coordinates, reduce-velocities, hamel, reduce,\n"
    "  vakonomic-as-free, contact-as-nonholonomic, contact-as-vakonomic\n\n"
    + examples(
        "chetaev transform double-pendulum hamiltonian --check",
        "chetaev transform rocard lift -o lifted.toml",
        "chetaev transform spherical-pendulum routh --coordinate phi",
    ),
)
@MODEL
@click.argument("theorem", type=TheoremType())
@options.principle
@options.setting
@click.option("--formula", multiple=True, metavar='"OLD = ..."', help="An old coordinate by new ones (change-coordinates, restrict).")
@click.option("--inverse", multiple=True, metavar='"NEW = ..."', help="A new coordinate by old ones.")
@click.option("--velocity", multiple=True, metavar='"V = ..."', help="A quasi-velocity (reduce-velocities, hamel).")
@click.option("--coordinate", metavar="NAME", help="The cyclic coordinate (routh).")
@click.option("--group", metavar="NAME", help="The group coordinate (reduce).")
@click.option("--order", type=int, metavar="N", help="The order of the lift.")
@click.option("--projected", is_flag=True, help="Where other reactions do work (friction-as-constraint).")
@click.option("--check", is_flag=True, help="Simulate both and say how far they are apart.")
@click.option("-o", "output", metavar="FILE.toml", help="Write the new system as a model file.")
def command(given: str, theorem: str, word: str | None, settings: tuple[str, ...], check: bool, output: str | None, **details: Any) -> None:
    """A system equivalent to MODEL, with the maps between their motions."""
    theorem = _known(theorem)
    if output is not None:
        check_output(output, (".toml",))
    model = options.changed(read(given).model, word, settings)
    found = _transformed(model, theorem, details)
    say(found)
    click.echo()
    say(found.target)
    if check:
        from chetaev.numerics.motion.simulate import simulate

        click.echo()
        say(found.check(simulate(model, tolerance=_CHECKED)))
    if output is not None:
        from chetaev.io.writing import dumps

        note(f"wrote {write_text(Path(output), dumps(_target(model, found)))}")


def _known(theorem: str) -> str:
    name = theorem.replace("_", "-")
    if name not in _THEOREMS:
        raise UsageError(
            f"{theorem} is not a transformation.",
            where="transform",
            hint=f"{did_you_mean(name, _THEOREMS)}  one of {' '.join(_THEOREMS)}".strip(),
        )
    return name


def _transformed(model: Model, theorem: str, details: dict[str, Any]) -> Morphism:
    """The morphism of a theorem, given the options that belong to it."""
    import chetaev as ch

    for option, value in details.items():
        if value and option not in _THEOREMS[theorem]:
            raise UsageError(f"{theorem} takes no --{option}.", where=f"transform {theorem}", hint="leave it out")
    needed = _NEEDED.get(theorem)
    if needed and not details[needed]:
        raise UsageError(f"{theorem} needs --{needed}.", where=f"transform {theorem}", hint=_EXAMPLES[needed])
    verb = getattr(ch, theorem.replace("-", "_"))
    tables = {option: options.pairs(details[option], f"--{option}", '"x = ..."') for option in ("formula", "inverse", "velocity")}
    found: Morphism
    if theorem == "change-coordinates":
        found = verb(model, tables["formula"], tables["inverse"] or None)
    elif theorem == "restrict":
        found = verb(model, tables["formula"] or None, tables["inverse"] or None)
    elif theorem == "reduce-velocities":
        found = verb(model, tables["velocity"] or None)
    elif theorem == "hamel":
        found = verb(model, velocities=tables["velocity"] or None)
    elif theorem == "routh":
        found = verb(model, details["coordinate"])
    elif theorem == "reduce":
        found = verb(model, group=details["group"])
    elif theorem == "lift":
        found = verb(model, details["order"])
    elif theorem == "friction-as-constraint":
        found = verb(model, details["projected"])
    else:
        found = verb(model)
    return found


def _not_derived(target: Equations) -> str:
    """The first row that the system and the principle of the target do not give, though perhaps with other terms on its sides."""
    if target.rewritten is None:
        return ""
    from chetaev.core.zero import seems_zero
    from chetaev.mechanics.derivation import derive

    derived = {row.label: row.residual for row in derive(target.system, target.principle).rows}
    for row in target.rows:
        other = derived.get(row.label)
        if other is None or not (seems_zero(row.residual - other) or seems_zero(row.residual + other)):
            return row.label
    return "" if len(derived) == len(target.rows) else f"the set of {len(target.rows)} rows"


def _target(model: Model, found: Morphism) -> Model:
    """The new system as a model, with the start and the values that the map carries over."""
    from chetaev.mechanics.model import Model

    failing = _not_derived(found.target)
    if failing:
        raise UsageError(
            f"{failing} does not follow from a system and a principle alone.",
            where=f"write {found.target.system.label}",
            why="A model file holds these two, and no rows.",
            hint="leave out -o; the equations are printed",
        )
    values: dict[str, Any] = {"parameters": model.parameters, "t": model.t[0], "inputs": model.inputs}
    return Model(
        found.target.system,
        found.target.principle,
        parameters=found.parameters(model.start, **values),
        start=found.forward(model.start, **values),
        t=model.t,
        tolerance=model.tolerance,
        max_step=model.max_step,
        method=model.method,
        inputs=model.inputs,
    )
