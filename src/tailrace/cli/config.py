"""`tailrace config validate|show`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from tailrace.cli.completing import complete_values
from tailrace.cli.options import Context, output_option, report_option, without_spark

if TYPE_CHECKING:
    from tailrace.cli.listing import Row
    from tailrace.config import Config
    from tailrace.core import ConfigError, UsageError

KINDS = ("partition", "source", "table", "format", "connection", "workspace")


@click.group("config")
def command() -> None:
    """Check the configuration, or show it and where each value comes from."""


@command.command("validate", short_help="Find all that is wrong with the configuration.")
@report_option
@without_spark()
def validate(context: Context, output: str) -> None:
    """Find all that is wrong with the configuration, at once, before anything is collected.

    Also filters, transforms and formats are tried. Errors and warnings go to stderr, the sum of it to stdout; with
    --output json everything goes to stdout. Exits 3 when there is an error; warnings are none.
    """
    from tailrace.cli.examining import examined
    from tailrace.cli.hints import note_nothing
    from tailrace.core import ConfigError

    found = examined(context)
    config, problems, warnings = found.config, found.problems, found.warnings
    if output == "json":
        from tailrace.cli.listing import as_json

        facts = {
            "valid": not problems,
            "errors": [_problem(problem) for problem in problems],
            "warnings": [_problem(warning) for warning in warnings],
            **({"files": config.files, "blocks": _counts(config)} if config else {}),
        }
        click.echo(as_json(facts, indent=2))
    else:
        _print(config, problems, warnings)
        if config is not None and not config.files:
            note_nothing(context)
    sys.exit(ConfigError.exit_code if problems else 0)


def _print(config: Config | None, problems: tuple[ConfigError, ...], warnings: tuple[ConfigError, ...]) -> None:
    from tailrace.cli.main import report
    from tailrace.cli.summary import count

    for problem in sorted((*problems, *warnings), key=_in_order):
        report(problem, warning=problem in warnings)
    found = f"{count(len(problems), 'error') if problems else 'no errors'}, {count(len(warnings), 'warning')}"
    if config is None:
        click.echo(found)
        return
    held = [count(number, kind) for kind, number in _counts(config).items()]
    click.echo(f"{count(len(config.files), 'file')}, {', '.join(held) or 'nothing configured'}: {found}")


def _in_order(problem: ConfigError) -> tuple[str, int, int]:
    place = getattr(problem, "place", None)
    return (place.file, place.line, place.column) if place else ("", 0, 0)


def _problem(problem: ConfigError) -> Row:
    from tailrace.cli.redact import redacted

    place = getattr(problem, "place", None)
    if place is not None and not place.line:
        place = None  # an option or a variable of the environment
    return {
        "code": problem.code,
        "message": redacted(problem.message),
        "where": problem.where,
        "file": place.file if place else None,
        "line": place.line if place else None,
        "column": place.column if place else None,
        "excerpt": getattr(problem, "excerpt", ""),
        "hint": redacted(problem.hint) if problem.hint else None,
        "more": getattr(problem, "page", None),
    }


def _counts(config: Config) -> dict[str, int]:
    """How many blocks of each kind there are, where there are any."""
    counts = {kind: len(getattr(config, f"{kind}s")) for kind in KINDS}
    for block in config.others:
        counts[block.kind] = counts.get(block.kind, 0) + 1
    return {kind: number for kind, number in counts.items() if number}


@command.command("show", short_help="The configuration in force, and where it comes from.")
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=complete_values)
@click.option("--origin", is_flag=True, help="Where each value comes from, and what holds by default.")
@output_option
@without_spark()
def show(context: Context, names: tuple[str, ...], origin: bool, output: str) -> None:
    """The configuration in force: settings, then every attribute of every block, evaluated; secrets are hidden.

    A value comes from a flag, the environment, the project's tailrace.tpc, the user's files or a default, in this
    order. NAME is the beginning of a line, such as `partition` or `connection.aws`, and may hold wildcards.
    """
    from tailrace.cli.listing import show_rows
    from tailrace.cli.settings import load_config
    from tailrace.cli.values import block_values, setting_values

    config = load_config(context)
    rows = [*setting_values(context, config), *block_values(context, config)]
    rows = [row for row in rows if origin or row["origin"] != "default"]
    for name in names:
        if not any(_begins(str(row["name"]), name) for row in rows):
            raise _nothing(name, [str(row["name"]) for row in rows])
    if names:
        rows = [row for row in rows if any(_begins(str(row["name"]), name) for name in names)]
    columns = ("name", "value", "origin", "where") if origin else ("name", "value")
    show_rows([{column: row[column] for column in columns} for row in rows], columns, output)


def _nothing(name: str, known: list[str]) -> UsageError:
    from tailrace.cli.matching import hint_at
    from tailrace.core import UsageError

    beginnings = {".".join(line.split(".")[:length]) for line in known for length in range(1, line.count(".") + 2)}
    hint = hint_at(name, beginnings, "tailrace config show")
    return UsageError(f"nothing in the configuration begins with '{name}'", code="usage.unknown-value", hint=hint)


def _begins(name: str, pattern: str) -> bool:
    from fnmatch import fnmatchcase

    return fnmatchcase(name, pattern) or fnmatchcase(name, f"{pattern}.*")
