"""How a collection is shown: live on a terminal, and as a summary in the end."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

from tailrace.cli.hints import hint_for
from tailrace.cli.options import Context
from tailrace.cli.redact import redacted, visible, visible_line
from tailrace.core import TailraceError, TooManyBadRows

if TYPE_CHECKING:
    from tailrace.config import PartitionSpec
    from tailrace.pipeline.compact_report import CompactionReport
    from tailrace.pipeline.report import PartitionReport, ReplayReport

SHOWN_TROUBLES = 15
NOTHING = "no file matches"
NOTHING_HINT = "check `paths` and `file_layout`; a first collection goes back 30 days unless --from says otherwise"


def note_nothing_found(reports: list[PartitionReport], specs: Iterable[PartitionSpec]) -> None:
    """Sources without a single file are no error, but seldom meant: the report says where it was looked."""
    from tailrace.pipeline.report import Trouble

    by_name = {spec.full_name: spec for spec in specs}
    for report in reports:
        if report.discovered or report.announced or report.interrupted or not report.clean:
            continue
        where = ", ".join(_paths(by_name[report.name]))
        message = f"none of {count(report.unmatched, 'file')} matches `file_layout`" if report.unmatched else NOTHING
        report.advice.append(Trouble(where, message, "source.nothing-found", NOTHING_HINT))


def _paths(spec: PartitionSpec) -> Iterator[str]:
    for source in spec.sources:
        paths = source.args.get("paths", ())
        yield from [paths] if isinstance(paths, str) else map(str, paths)  # type: ignore[call-overload]


def print_summary(
    reports: list[PartitionReport], output: str, context: Context, seconds: float | None, interrupted: bool = False
) -> None:
    """The same facts for people and for programs, on stdout; troubles go to stderr.

    `seconds`: the whole run; None where they have been told.
    """
    if output == "json":
        import json

        told = {"interrupted": interrupted, "error": None, "partitions": [r.as_dict() for r in reports]}
        click.echo(redacted(json.dumps(told, indent=2)))
        return
    several = len(reports) > 1
    for report in reports:
        # Partitions are collected side by side: their durations would not add up.
        _print_report(report, context, "" if several or seconds is None else f"  {duration(report.seconds)}")
    if several and seconds is not None:
        click.echo(f"all took {duration(seconds)}")


def print_failure(error: TailraceError, output: str) -> None:
    """Programs get a document also where nothing could be begun; people are told on stderr, as of any error."""
    if output == "json":
        import json

        told = {"interrupted": False, "error": {"code": error.code, "message": str(error)}, "partitions": []}
        click.echo(redacted(json.dumps(told, indent=2)))


def mark(report: PartitionReport) -> str:
    """Whether somebody should look."""
    bad, received = report.counts.quarantined, report.counts.received
    well = report.clean and not report.interrupted and bad * 2 <= received and (report.counts.stored or not bad)
    nothing = any(note.code == "source.nothing-found" for note in report.advice)
    return "✓" if well and not nothing else "!"


def _print_report(report: PartitionReport, context: Context, took: str) -> None:
    sign = mark(report)
    coloured = click.style(sign, fg="green" if sign == "✓" else "yellow")
    click.echo(f"{coloured} {click.style(report.name, bold=True)}{took}")
    if report.error is None:
        for name, text in _facts(report, context):
            click.echo(f"  {name:<9}  {text}")
    sys.stdout.flush()
    print_troubles(report)


def _facts(report: PartitionReport, context: Context) -> Iterator[tuple[str, str]]:
    c = report.counts
    further = {
        "collected before": report.unchanged, "failed": report.failed, "cut off": report.partial,
        "kept as they were": report.kept,
        "not matching file_layout": report.unmatched,
    }  # fmt: skip
    if report.interrupted:
        yield "stopped", "before its end; what is counted here is stored, the next run collects the rest"
    if not report.discovered:
        if not report.interrupted:
            unlisted = any(trouble.code.startswith("source.") for trouble in report.troubles)
            yield "artifacts", f"none: {'the source could not be listed' if unlisted else NOTHING}"
        return
    more = "".join(f", {number:,} {what}" for what, number in further.items() if number)
    yield "artifacts", f"{report.done - report.failed - report.kept:,} of {report.discovered:,}{more}"
    rows = [
        f"{c.received:,} received", f"{c.stored:,} stored{_instead(report)}", f"{c.filtered:,} filtered",
        f"{c.out_of_range:,} out of range", f"{c.quarantined:,} quarantined",
    ]  # fmt: skip
    if c.deleted:
        rows.insert(4, f"{c.deleted:,} in a deleted range")
    if c.duplicates:
        rows.insert(2, f"{c.duplicates:,} duplicates")
    if c.flagged:
        rows.append(f"{c.flagged:,} stored with a value that did not fit (tp_extra.tp_misfit)")
    yield "rows", ", ".join(rows)
    if report.first_day == report.last_day:
        days = f", on {report.first_day}" if report.first_day else ""
    else:
        days = f", {count(report.days, 'day')} from {report.first_day} to {report.last_day}"
    yield "written", f"{count(report.files, 'file')} ({size(report.bytes)}){days}"
    if report.compaction is not None and report.compaction.files_before:
        merged = report.compaction
        yield "merged", f"{count(merged.files_before, 'file')} into {merged.files_after:,} ({size(merged.bytes_after)})"
    if c.quarantined or report.failed:
        yield "see", f"{context.command} quarantine show {shlex.quote(report.name)}"


def _instead(report: PartitionReport) -> str:
    """Artifacts that are read again bring rows that were there before: not all that is stored is more."""
    return f" in place of {count(report.replaced, 'earlier one')}" if report.replaced else ""


def print_troubles(report: PartitionReport | ReplayReport | CompactionReport) -> None:
    """Errors and warnings, on stderr."""
    from tailrace.cli.main import report as report_error

    if report.error is not None:
        report_error(report.error)
    for trouble in (*report.advice, *report.troubles[:SHOWN_TROUBLES]):
        click.secho(f"  warning[{trouble.code}]: ", fg="yellow", nl=False, err=True)
        click.echo(f"{visible_line(trouble.where)}: {visible(trouble.message)}", err=True)
        hint = trouble.hint or hint_for(trouble.code, trouble.message)
        if hint:
            click.echo(f"    hint: {visible(hint)}", err=True)
    more = len(report.troubles) - SHOWN_TROUBLES
    if more > 0:
        click.echo(f"  … and {more:,} more; all of them with --output json", err=True)


def exit_code(reports: list[PartitionReport], max_errors: int | None) -> int:
    """As documented in `tailrace collect --help`; a partition's own error says its own code."""
    errors = [r.error for r in reports if r.error is not None]
    if errors:
        return max(e.exit_code for e in errors)
    if any(r.troubles for r in reports):
        return 5
    bad = sum(r.counts.quarantined for r in reports)
    return TooManyBadRows.exit_code if max_errors is not None and bad > max_errors else 0


def count(number: int, what: str) -> str:
    """A number of things."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def size(number: float) -> str:
    """Bytes as people read them."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if number < 1000 or unit == "TB":
            return f"{number:,.0f} {unit}" if unit == "B" else f"{number:,.1f} {unit}"
        number /= 1000
    raise AssertionError


def duration(seconds: float) -> str:
    """A span as people read it."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"
