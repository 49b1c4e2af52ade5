"""What `collect --watch` says after each round: little where nothing is new."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from tailrace.cli.interrupts import EXIT_CODE
from tailrace.cli.redact import redacted, visible_error
from tailrace.cli.summary import count, duration, exit_code, print_summary
from tailrace.core.errors import LockedError, TailraceError

if TYPE_CHECKING:
    from tailrace.cli.options import Context
    from tailrace.cli.watching import Round
    from tailrace.pipeline.report import PartitionReport


class RoundSummary:
    """Remembers what was said of the configuration, so as not to say it every few minutes."""

    def __init__(self, context: Context, output: str, max_errors: int | None) -> None:
        self.context, self.output, self.max_errors = context, output, max_errors
        self._complaint = ""

    def tell(self, done: Round) -> None:
        """A document of one line, or a few lines for people."""
        if self.output == "json":
            self._print_json(done)
        else:
            self._print(done)
        sys.stdout.flush()

    def _print_json(self, done: Round) -> None:
        import json

        told = {
            "round": done.number,
            "started": f"{done.started:%Y-%m-%dT%H:%M:%SZ}",
            "seconds": round(done.collected.seconds, 3),
            "exit_code": _code(done, self.max_errors),
            "interrupted": done.collected.interrupted,
            "config_error": _error(done.config_error),
            "error": _error(done.error),
            "partitions": [report.as_dict() for report in done.collected.reports],
        }
        click.echo(redacted(json.dumps(told, separators=(",", ":"))))

    def _print(self, done: Round) -> None:
        from tailrace.cli.main import report as report_error

        complaint = "" if done.config_error is None else str(done.config_error)
        if done.config_error is not None and complaint != self._complaint:
            report_error(done.config_error)
            click.echo("the configuration cannot be read: the last good one is used until it can", err=True)
        elif self._complaint and not complaint:
            click.echo("the configuration can be read again, and is used from now on", err=True)
        self._complaint = complaint
        if done.error is not None:
            report_error(done.error)
            click.echo(f"round {done.number} failed; later ones go on", err=True)
        reports = done.collected.reports
        locked = [r for r in reports if isinstance(r.error, LockedError)]
        for error in (r.error for r in locked if r.error is not None):
            click.echo(f"{visible_error(error)}; the next round tries again", err=True)
        worth_telling = [r for r in reports if r not in locked and _has_news(r)]
        if self.context.quiet:
            worth_telling = [r for r in worth_telling if not r.clean]
        else:
            self._print_head(done, len(reports) - len(locked), len(worth_telling))
        if worth_telling:
            print_summary(worth_telling, self.output, self.context, None)

    def _print_head(self, done: Round, looked_at: int, told: int) -> None:
        news = "" if told or done.error else f"nothing new in {count(looked_at, 'partition')}, "
        head = f"{done.started:%Y-%m-%d %H:%M:%S} UTC  round {done.number}"
        click.echo(f"{head}: {news}{duration(done.collected.seconds)}")


def _has_news(report: PartitionReport) -> bool:
    told = report.advice or report.interrupted or not report.clean
    return bool(told or report.wanted or report.counts.received or report.files)


def _code(done: Round, max_errors: int | None) -> int:
    if done.collected.interrupted:
        return EXIT_CODE
    if done.error is not None:
        return done.error.exit_code
    return exit_code(done.collected.reports, max_errors)


def _error(error: TailraceError | None) -> dict[str, str] | None:
    return None if error is None else {"code": error.code, "message": str(error)}
