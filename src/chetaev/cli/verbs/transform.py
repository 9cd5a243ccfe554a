"""transform: an equivalent system, by a theorem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import click

from chetaev.cli import options
from chetaev.cli.options import examples
from chetaev.cli.output import check_output, write_text
from chetaev.cli.printing import note, say, with_option
from chetaev.cli.source import MODEL, read
from chetaev.cli.theorem_options import DESTINATION, argument_of, option_of
from chetaev.core.errors import UsageError, did_you_mean
from chetaev.core.fixes import sentences
from chetaev.core.support.registry import import_extensions

if TYPE_CHECKING:
    from chetaev.mechanics.equations import Equations
    from chetaev.mechanics.model import Model
    from chetaev.transforms.tools.morphism import Morphism
    from chetaev.transforms.tools.theorem import Theorem

_CHECKED = 1e-11
"""Relative tolerance of the motions that --check compares: with a larger one, integration errors would hide an error of the map."""
_NAMED, _MADE = "chetaev.transform.theorem", "chetaev.transform.options"
"""Keys of what a call of the command keeps: the theorem among its arguments, and the options made from the table of theorems."""


class TheoremType(click.ParamType):
    """A transformation by its name in Python, with hyphens."""

    name = "theorem"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        """Return the names that begin with `incomplete`."""
        from click.shell_completion import CompletionItem

        return [CompletionItem(name) for name in _theorems() if name.startswith(incomplete)]


class Transform(click.Command):
    """The command with the options of all theorems; those of the theorem among the arguments decide what is read."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Find the theorem first, among installed extensions too if a word or an option is not known."""
        if not ctx.resilient_parsing and not _knows(args, [name for param in self.params for name in param.opts]):
            import_extensions()
        ctx.meta[_NAMED] = next((name for word in reversed(args) if (name := _plain(word)) in _theorems()), None)
        return super().parse_args(ctx, args)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the options of every transformation, with those of the theorems before `--simplify`."""
        if _MADE not in ctx.meta:
            ctx.meta[_MADE] = _made(ctx.meta.get(_NAMED))
        own = super().get_params(ctx)
        at = [param.name for param in own].index("simplify")
        return [*own[:at], *ctx.meta[_MADE], *own[at:]]

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the names of all theorems, then examples."""
        names = wrap(", ".join(sorted(_theorems())), 76, break_on_hyphens=False)
        formatter.write("\n  THEOREM is one of\n" + "".join(f"    {line}\n" for line in names))
        super().format_epilog(ctx, formatter)


@click.command(
    "transform",
    cls=Transform,
    epilog=examples(
        "chetaev transform double-pendulum hamiltonian --check",
        "chetaev transform rocard lift -o lifted.toml",
        "chetaev transform spherical-pendulum routh --coordinate phi",
    ),
)
@MODEL
@click.argument("theorem", type=TheoremType())
@options.principle
@options.setting
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


def _plain(word: str) -> str:
    return word.replace("_", "-")


def _knows(args: Sequence[str], own: Sequence[str]) -> bool:
    """Tell whether a theorem is named, and every option is one of the command or of a theorem; a page of help needs no theorem."""
    theorems = _theorems()
    names = {*own, "--help", *[f"--{name}" for theorem in theorems.values() for name in theorem.options]}
    given = [_plain(word.partition("=")[0]) for word in args if word.startswith("--") and len(word) > 2]
    words = [word for word in args if not word.startswith("-")]
    return len(words) < 2 or (any(_plain(word) in theorems for word in words) and all(name in names for name in given))


def _made(chosen: str | None) -> list[click.Option]:
    """Return the options of all theorems, each once; those of the theorem `chosen` alone appear on the page of help."""
    owners: dict[str, list[str]] = {}
    for theorem, entry in _theorems().items():
        for name in entry.options:
            owners.setdefault(name, []).append(theorem)
    found = []
    for name, those in owners.items():
        owner = chosen if chosen in those else those[0]
        shown = chosen is None or chosen in those
        found.append(option_of(name, _theorems()[owner].options[name], [] if chosen else those, shown))
    return found


def _known(theorem: str) -> str:
    name, known = _plain(theorem), _theorems()
    if name not in known:
        import_extensions()
    if name not in known:
        raise UsageError(
            f"{theorem} is not a transformation.",
            where="transform",
            hint=sentences(did_you_mean(name, known), f"one of {' '.join(known)}"),
        )
    return name


def _transformed(model: Model, name: str, details: dict[str, Any]) -> Morphism:
    """Return the morphism of a theorem with its options."""
    theorem = _theorems()[name]
    given = {option.removeprefix(DESTINATION).replace("_", "-"): value for option, value in details.items() if value}
    for word in given:
        if word not in theorem.options:
            raise UsageError(f"{name} takes no --{word}.", where=f"transform {name}", hint="leave it out")
    for word, option in theorem.options.items():
        if option.needed and word not in given:
            raise UsageError(f"{name} needs --{word}.", where=f"transform {name}", hint=option.example or f"--{word} ...")
    arguments = {theorem.options[word].argument: argument_of(word, theorem.options[word], value) for word, value in given.items()}
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
