"""`tailrace doctor`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING

import click

from tailrace.cli.findings import Finding, on_disk, told
from tailrace.cli.options import Context, report_option, without_spark

if TYPE_CHECKING:
    from tailrace.config import Config, PartitionSpec

CONFIGURATION = "configuration"


@click.command("doctor")
@click.option("--deep", is_flag=True, help="Read every file of the lake, and compare it with the log.")
@report_option
@without_spark("--master", "--java-home")
def command(context: Context, deep: bool, output: str) -> None:
    """Check Python, Java, Spark, the configuration and the lake. Exits 1 if something is wrong. Starts no JVM.

    Of the lake's files it looks at size and end, with --deep at rows, days, times and every page.
    """
    from tailrace.cli.doctor_lake import lake, tiers
    from tailrace.cli.redact import redacted, visible

    checks = (_python, _java, _spark, _home, _config, _plugins, _partitions, tiers, partial(lake, deep=deep))
    found = _without_repeats(finding for check in checks for finding in _careful(check, context))
    findings = [replace(finding, detail=redacted(finding.detail)) for finding in found]
    if output == "json":
        click.echo(json.dumps([asdict(f) for f in findings], indent=2))
    else:
        colours = {"ok": "green", "warning": "yellow", "error": "red"}
        wide = max(len(f.name) for f in findings)
        for f in findings:
            click.echo(f"{click.style(f.state.ljust(7), colours[f.state])}  {f.name.ljust(wide)}  {visible(f.detail)}")
            if f.hint:
                click.echo(f"{' ' * (wide + 11)}hint: {visible(f.hint)}")
    sys.exit(any(f.state == "error" for f in findings))


def _without_repeats(findings: Iterable[Finding]) -> Iterator[Finding]:
    """What is wrong with the configuration is wrong with a partition too: it is told once."""
    said: set[str] = set()
    for finding in findings:
        if finding.name == CONFIGURATION:
            said.add(finding.detail)
        elif finding.detail in said:
            continue
        yield finding


def _careful(check: Callable[[Context], Iterator[Finding]], context: Context) -> Iterator[Finding]:
    name = check.func.__name__ if isinstance(check, partial) else check.__name__
    yield from told(name.strip("_"), check(context))


def _python(context: Context) -> Iterator[Finding]:
    from importlib.metadata import version

    from tailrace.version import __version__

    names = ("pyspark", "pyarrow", "duckdb", "deltalake", "msgspec")
    yield Finding("tailrace", "ok", __version__)
    packages = ", ".join(f"{name} {version(name)}" for name in names)
    yield Finding("python", "ok", f"{sys.version.split()[0]} at {sys.executable}; {packages}")


def _java(context: Context) -> Iterator[Finding]:
    from tailrace.pipeline.java import find_java

    java = find_java(context.java_home)
    yield Finding("java", "ok", f"{java.version} at {java.home} ({java.origin})")


def _spark(context: Context) -> Iterator[Finding]:
    from tailrace.cli.settings import session_options
    from tailrace.pipeline.options import settle

    settings = settle(session_options(context))
    yield Finding("spark", "ok", f"would run on {settings.remote or settings.master}; {os.cpu_count()} cores here")


def _home(context: Context) -> Iterator[Finding]:
    home = context.home_path
    yield on_disk("home", home, str(home), "choose another with --home or TAILRACE_HOME")


def _config(context: Context) -> Iterator[Finding]:
    """All that `config validate` says."""
    from tailrace.cli.examining import examined
    from tailrace.cli.summary import count

    found = examined(context, far=True)
    for problem in found.problems:
        yield Finding(CONFIGURATION, "error", str(problem), problem.hint)
    if found.config is not None and not found.problems:
        held = f"{count(len(found.config.files), 'file')}, {count(len(found.config.partitions), 'partition')}"
        yield Finding(CONFIGURATION, "ok", held)
    for warning in found.warnings:
        yield Finding(CONFIGURATION, "warning", str(warning), warning.hint)


def _plugins(context: Context) -> Iterator[Finding]:
    from tailrace.core import plugins

    for kind in ("table", "source", "format"):
        for name in plugins.offered(kind):
            yield from told(name, _plugin(kind, name))


def _plugin(kind: str, name: str) -> Iterator[Finding]:
    """What a package provides can be imported, and nobody else claims its name."""
    from tailrace.cli.packages import provider
    from tailrace.config.packaged import extension
    from tailrace.core.registry import find_table

    if kind == "table":
        find_table(name)
    else:
        extension(kind, name)
    yield Finding(name, "ok", f"{kind} of package {provider(kind, name, ())}")


def _partitions(context: Context) -> Iterator[Finding]:
    from tailrace.cli.settings import load_config
    from tailrace.core import ConfigError

    try:
        config = load_config(context)
    except ConfigError:
        return  # said already
    for spec in config.partitions:
        yield from told(spec.full_name, _partition(context, config, spec))


def _partition(context: Context, config: Config, spec: PartitionSpec) -> Iterator[Finding]:
    """All that `collect` does before it reads."""
    from tailrace.cli.hints import hint_for
    from tailrace.cli.settings import now, open_lake
    from tailrace.cli.summary import count, note_nothing_found
    from tailrace.config import require_available, tables_for
    from tailrace.core import TimeRange
    from tailrace.formats import decoder
    from tailrace.lake.intents import read_ledger
    from tailrace.pipeline.check import check_expressions, check_patterns
    from tailrace.pipeline.listing import list_sources
    from tailrace.pipeline.prepare import full_table, listing_window
    from tailrace.pipeline.report import PartitionReport

    for source in spec.sources:
        require_available(source)
    check_patterns(config, [spec])
    lake, report = open_lake(context, config), PartitionReport(spec.full_name)
    window = listing_window(TimeRange(), read_ledger(lake, spec.table, spec.name), now())
    listed = list_sources(spec, tables_for(config, spec.table), window, report, lake)
    table = full_table(config, spec, lake, listed)
    for fmt in listed.formats:
        decoder(table, fmt)
    check_expressions(table, spec, config)
    note_nothing_found([report], [spec])
    for trouble in (*report.advice, *report.troubles):
        hint = trouble.hint or hint_for(trouble.code, trouble.message)
        yield Finding(spec.full_name, "warning", f"{trouble.where}: {trouble.message}", hint)
    if report.discovered:
        yield Finding(spec.full_name, "ok", f"{count(report.discovered, 'artifact')} found")
