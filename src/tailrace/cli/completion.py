"""`tailrace completion bash|zsh|fish`, and the answers that the printed script asks for."""

from __future__ import annotations

import os
import sys
from contextlib import redirect_stderr

import click

from tailrace.cli.options import Context, without_spark

PROGRAM = "tailrace"
ASKED = "_TAILRACE_COMPLETE"
"The environment variable with which the script calls: `bash_complete` and so on."
SHELLS = ("bash", "zsh", "fish")
_SETUP = {
    "bash": "echo 'eval \"$(tailrace completion bash)\"' >> ~/.bashrc",
    "zsh": "echo 'eval \"$(tailrace completion zsh)\"' >> ~/.zshrc",
    "fish": "tailrace completion fish > ~/.config/fish/completions/tailrace.fish",
}


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
@without_spark()
def command(context: Context, shell: str) -> None:
    """Print a script that completes commands, options, tables and partitions in the shell.

    Evaluate it when the shell starts, as in: eval "$(tailrace completion bash)"
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(click.Group(PROGRAM), {}, PROGRAM, ASKED)
    click.echo(f"# For good: {_SETUP[shell]}")
    click.echo(script.source_template % script.source_vars())


def answer(cli: click.Command, asked: str) -> None:
    """What the script asks for while somebody types: proposals or nothing, but never an error."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(asked.partition("_")[0])
    if kind is None or not asked.endswith("_complete"):
        return
    with open(os.devnull, "w") as nowhere, redirect_stderr(nowhere):
        try:
            proposals = kind(cli, {}, PROGRAM, ASKED).complete()
        except Exception:  # whatever it is, it would be printed over the line that is being typed
            return
    sys.stdout.write(f"{proposals}\n")
    sys.stdout.flush()
