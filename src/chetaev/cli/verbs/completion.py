"""completion: the script that makes a shell complete verbs, options, systems and files."""

from __future__ import annotations

import click

from chetaev.cli.options import examples


@click.command(
    "completion",
    epilog=examples(
        'eval "$(chetaev completion bash)"        in ~/.bashrc',
        'eval "$(chetaev completion zsh)"         in ~/.zshrc',
        "chetaev completion fish | source         in ~/.config/fish/config.fish",
    ),
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """The script that makes a shell complete verbs, systems and files."""
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    assert found is not None  # noqa: S101 - the choice is among those click knows
    click.echo(found(ctx.find_root().command, {}, "chetaev", "_CHETAEV_COMPLETE").source())
