"""transform: an equivalent system, by a theorem."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from chetaev.cli import options
from chetaev.cli.options import examples
from chetaev.cli.output import check_output, write_text
from chetaev.cli.printing import note, say, with_option
from chetaev.cli.source import MODEL, read
from chetaev.core.errors import UsageError, did_you_mean
from chetaev.core.support.registry import import_extensions

if TYPE_CHECKING:
    from chetaev.mechanics.equations import Equations
    from chetaev.mechanics.model import Model
    from chetaev.transforms.tools.morphism import Morphism
    from chetaev.transforms.tools.theorem import Theorem

_EXAMPLES = {"formula": '--formula "x = r*cos(phi)" --formula "y = r*sin(phi)"', "coordinate": "--coordinate phi", "group": "--group A"}

_TABLES = ("formula", "inverse", "velocity")
"""Options that are given several times, as `"name = ..."`."""

_CHECKED = 1e-11
"""Relative tolerance of the motions that --check compares: with a larger one, integration errors would hide an error of the map."""


class TheoremType(click.ParamType):
    """A transformation by its name in Python, with hyphens."""

    name = "theorem"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        """Return the names that begin with `incomplete`."""
        from click.shell_completion import CompletionItem

        return [CompletionItem(name) for name in _theorems() if name.startswith(incomplete)]


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
@click.option("--simplify", is_flag=True, help="Simplify the maps and the equations, each for at most ten seconds.")
@click.option("--check", is_flag=True, help="Simulate both and say how far they are apart.")
@click.option("-o", "output", metavar="FILE.toml", help="Write the new system as a model file.")
def command(
    given: str,
    theorem: str,
    word: str | None,
    settings: tuple[str, ...],
    simplify: bool,
    check: bool,
    output: str | None,
    **details: Any,
) -> None:
    """A system equivalent to MODEL, with the maps between their motions."""
    theorem = _known(theorem)
    if output is not None:
        check_output(output, (".toml",))
    model = options.changed(read(given).model, word, settings)
    found = _transformed(model, theorem, details)
    shown = found.simplify() if simplify else found
    say(shown)
    click.echo()
    say(with_option(shown.target))
    if check:
        from chetaev.numerics.motion.simulate import simulate

        click.echo()
        say(found.check(simulate(model, tolerance=_CHECKED)))
    if output is not None:
        from chetaev.io.writing import dumps

        note(f"wrote {write_text(Path(output), dumps(_target(model, found)))}")


def _theorems() -> Mapping[str, Theorem]:
    """Return the theorems of the library and the registered ones."""
    import chetaev.transforms  # noqa: F401 - importing registers them
    from chetaev.transforms.tools.theorem import THEOREMS

    return THEOREMS


def _known(theorem: str) -> str:
    name, known = theorem.replace("_", "-"), _theorems()
    if name not in known:
        import_extensions()
    if name not in known:
        raise UsageError(
            f"{theorem} is not a transformation.",
            where="transform",
            hint=f"{did_you_mean(name, known)}  one of {' '.join(known)}".strip(),
        )
    return name


def _transformed(model: Model, name: str, details: dict[str, Any]) -> Morphism:
    """Return the morphism of a theorem with its options."""
    theorem = _theorems()[name]
    given = {option: value for option, value in details.items() if value}
    for option in given:
        if option not in theorem.options:
            raise UsageError(f"{name} takes no --{option}.", where=f"transform {name}", hint="leave it out")
    for option in theorem.needed:
        if option not in given:
            raise UsageError(f"{name} needs --{option}.", where=f"transform {name}", hint=_EXAMPLES.get(option, f"--{option} ..."))
    arguments = {
        theorem.options[option]: options.pairs(value, f"--{option}", '"x = ..."') if option in _TABLES else value
        for option, value in given.items()
    }
    found: Morphism = theorem.verb(model, **arguments)
    return found


def _not_derived(target: Equations) -> str:
    """Return the first row that does not follow from the target's system and principle (terms may change sides); empty if all do."""
    if target.rewritten is None:
        return ""
    from chetaev.core.zero import known_zero
    from chetaev.mechanics.derivation import derive

    derived = {row.label: row.residual for row in derive(target.system, target.principle).rows}
    for row in target.rows:
        other = derived.get(row.label)
        if other is None or not (known_zero(row.residual - other) or known_zero(row.residual + other)):
            return row.label
    return "" if len(derived) == len(target.rows) else f"the set of {len(target.rows)} rows"


def _target(model: Model, found: Morphism) -> Model:
    """Return the new system as a model, with the start and the values that the map carries over."""
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
