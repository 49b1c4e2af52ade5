"""The front door: names and one-line help of all commands; a command's module is imported when it is called."""

from __future__ import annotations

import atexit
import contextlib
import importlib
import os
import sys
import threading

import click

from tailrace.cli.hints import hint_of
from tailrace.cli.options import Context, everywhere
from tailrace.cli.redact import redacted, visible, visible_error
from tailrace.cli.standard_output import close_output, prepare_output
from tailrace.core.errors import TailraceError
from tailrace.version import __version__

COMMANDS = {
    "demo": "Sample logs → lake → first answers; nothing to configure.",
    "collect": "Collect logs into the lake.",
    "query": "Answer SQL over the lake, or open a shell for it.",
    "connect": "Open the lake to DuckDB, DBeaver, Grafana, Powerpipe and notebooks.",
    "export": "Copy tables out of the lake, as a hive tree or as Iceberg tables.",
    "push": "Copy days of partitions to another lake.",
    "pull": "Copy days of partitions from another lake.",
    "table": "List tables, or show one: columns, size, partitions.",
    "partition": "List partitions, show one, delete rows, or restore them.",
    "maintain": "Delete rows past their retention and files that nobody needs, and shorten logs.",
    "quarantine": "List records that could not be stored, show them, try them again, or delete them.",
    "window": "Logs of OpenTelemetry as OTAP tables: windows of time, SQL, sampling; in and out.",
    "compact": "Merge small files of the lake into large ones.",
    "serve": "Take live data from listeners and store it in sinks.",
    "send": "Send files to a listener.",
    "sink": "Show how sinks of live data stand.",
    "source": "List kinds of source and configured sources, or show one.",
    "format": "List formats, or show one.",
    "connection": "List connections, or show one.",
    "schema": "List schemas, or show one.",
    "store": "List stores and their tiers, or show one.",
    "plugin": "List what is installed and what it provides.",
    "spark": "Keep a Spark server warm for queries, or pack an environment for a cluster.",
    "config": "Check the configuration, or show it and where each value comes from.",
    "mcp": "Serve the lake to assistants (Model Context Protocol).",
    "completion": "Print a script that completes commands and names in a shell.",
    "doctor": "Check Python, Java, Spark, the configuration and the lake.",
}
SYNONYMS = {"collection": "partition"}


class LazyGroup(click.Group):
    """A group that knows its commands by name and imports one only to run it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = SYNONYMS.get(cmd_name, cmd_name)
        if name not in COMMANDS:
            return None
        module = importlib.import_module(f"tailrace.cli.{name}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and name not in SYNONYMS and not name.startswith("-"):
            from tailrace.core.registry import nearest

            guess = nearest(name, [*COMMANDS, *SYNONYMS])
            ctx.fail(f"no such command '{name}'" + (f"; did you mean '{guess}'?" if guess else ""))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, "--version", message="tailrace %(version)s")
@everywhere
def cli(context: Context) -> None:
    """Collect logs into an open lakehouse and answer SQL over them."""


def report(error: TailraceError, *, warning: bool = False) -> None:
    """An error, or what is only a warning, as a person reads it: what, where, and what to do."""
    for part in getattr(error, "errors", [error]):
        kind, colour = ("warning", "yellow") if warning else ("error", "red")
        click.secho(f"{kind}[{part.code}]: ", fg=colour, bold=not warning, nl=False, err=True)
        click.echo(visible_error(part), err=True)
        for line in getattr(part, "excerpt", "").splitlines():
            click.echo(visible(line), err=True)
        if hint := hint_of(part):
            click.echo(f"  hint: {visible(hint)}", err=True)
        if page := getattr(part, "page", ""):
            click.echo(f"  more: {page}", err=True)
    current = click.get_current_context(silent=True)
    context = current.find_object(Context) if current else None
    if context and context.verbose >= 2 and error.__cause__ is not None:
        _print_traceback(error.__cause__)


def _print_traceback(error: BaseException) -> None:
    import traceback

    click.echo(redacted("".join(traceback.format_exception(error))), err=True, nl=False)


def _invoke(arguments: list[str]) -> None:
    """Like `cli.main`, which would answer a broken pipe with code 1."""
    try:
        with cli.make_context("tailrace", arguments) as context:
            cli.invoke(context)
    finally:
        sys.stdout.flush()


def _open_closed_files() -> None:
    """Stand-ins for standard files that the caller has closed (`>&-`): no file of the lake may get their numbers."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(number, True)
    os.close(number)
    sys.stdin = sys.stdin or open(0, closefd=False)  # noqa: SIM115 (as long as the process)
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115


def main() -> None:
    """The program: it ends here."""
    code = 0
    try:
        run()
    except SystemExit as leave:
        if not isinstance(leave.code, int):
            raise
        code = leave.code
    _end(code)


def _end(code: int) -> None:
    """Without taking apart, piece by piece, what Python and DuckDB hold: a tenth of the time of a short question.

    The system frees all of it at once. What asked to be called at the end is, and where others still work all goes the
    usual way; for a daemon, such as a statement that was given up, nobody waits.
    """
    if sum(not thread.daemon for thread in threading.enumerate()) > 1:
        sys.exit(code)
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def run() -> None:
    """Runs the command line; exit codes as documented."""
    _open_closed_files()
    prepare_output()
    if "_TAILRACE_COMPLETE" in os.environ:
        from tailrace.cli.completion import ASKED, answer

        answer(cli, os.environ[ASKED])
        return
    try:
        _invoke(sys.argv[1:])
    except TailraceError as error:
        with contextlib.suppress(BrokenPipeError):  # nobody reads it: the code still says it
            report(error)
        sys.exit(error.exit_code)
    except click.exceptions.Exit as leave:
        sys.exit(leave.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except BrokenPipeError:
        # The reader of our output has gone: not an error.
        close_output()
        sys.exit(141)
    except Exception as error:  # with -vv only: otherwise it has become an error of one line
        _print_traceback(error)
        sys.exit(1)


if __name__ == "__main__":
    main()
