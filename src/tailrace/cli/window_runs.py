"""`tailrace window run|status`."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tailrace.cli.completing import names_of
from tailrace.cli.metrics_options import MetricsOptions, metrics_options
from tailrace.cli.options import Context, everywhere, output_option, report_option, without_spark

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tailrace.cli.lazy_session import SessionOnDemand
    from tailrace.cli.listing import Row
    from tailrace.cli.metrics import Metrics
    from tailrace.windows.run import Places
    from tailrace.windows.spec import WindowSpec
    from tailrace.windows.state import Done, Segment
    from tailrace.windows.unit import Unit

    Told = Callable[[WindowSpec, Segment], None]

DONE = ("window", "start", "late", "files", "logs", "rows", "selected", "undated", "unresolved", "invalid_weights",
        "size", "seconds")  # fmt: skip
STATUS = ("window", "through", "finished", "logs", "selected", "late_files", "late_rows", "undated", "unresolved",
          "undelivered", "safety_margin", "out")  # fmt: skip
SPREAD = 128
"Windows from which a Spark session pays."


@click.command("run")
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=names_of("window"))
@click.option("--once", is_flag=True, help="Finish what is ready now, and end.")
@click.option("--until", metavar="TIME", help="End when all windows up to this time are finished.")
@report_option
@metrics_options
@everywhere
def run_windows(
    context: Context, names: tuple[str, ...], once: bool, until: str | None, output: str, metrics: MetricsOptions
) -> None:
    """Run the queries of all windows that are ready.

    `window` blocks say what is asked, and of which tables; one aligned window of time is run after the other. It is
    ready when its end is older than the safety margin. Its rows are selected, its results written, and it is never
    run again, also after kill -9. Without --once or --until this goes on, and looks for new files every
    `check_interval`. NAME may hold wildcards; without any, all windows are run.

    Exit codes: 0 all well, 1 the SQL does not run, 3 configuration, 5 a file cannot be read or written, 6 another
    process runs the window, 130 interrupted.
    """
    from tailrace.cli.lazy_session import SessionOnDemand
    from tailrace.cli.settings import now, session_options
    from tailrace.cli.window_metrics import samples_of
    from tailrace.core import parse_time
    from tailrace.windows.asking import nanoseconds

    specs = _specs(context, names)
    last = None if until is None else nanoseconds(parse_time(until, now()))
    rows: list[Row] = []
    # Spark compiles what it runs only where it answers itself: for tasks that would take longer than it saves.
    options = replace(session_options(context), compiled=any(spec.engine == "spark" for spec, _ in specs))
    with SessionOnDemand(options) as session, metrics.opened(context) as counted:

        def told(spec: WindowSpec, segment: Segment) -> None:
            rows.extend(_row(spec, done) for done in segment.windows)
            if counted is not None:
                counted.count(samples_of(spec.name, segment))
            if segment.late_files and not context.quiet:
                click.echo(f"warning: {spec.name}: {segment.late_files} late files, {segment.late_rows} logs", err=True)

        while True:
            waiting = _pass_all(specs, session, last, told, counted)
            if once or not any(waiting):
                break
            if rows and last is None:  # it may go on for weeks
                _tell(rows, output, context)
                rows.clear()
            time.sleep(min(spec.check_interval for spec, _ in specs))
    _tell(rows, output, context)


def _pass_all(
    specs: list[tuple[WindowSpec, Places]],
    session: SessionOnDemand,
    until: int | None,
    told: Told,
    counted: Metrics | None,
) -> list[bool]:
    """One window block after the other; one that fails is counted, and ends it."""
    from tailrace.cli.window_metrics import failure_of
    from tailrace.core.errors import TailraceError

    waiting = []
    for spec, places in specs:
        try:
            waiting.append(_pass(spec, places, session, until, told))
        except TailraceError as error:
            if counted is not None:
                counted.count(failure_of(spec.name, error))
                counted.save()
            raise
    if counted is not None:
        counted.save()
    return waiting


def _pass(spec: WindowSpec, places: Places, session: SessionOnDemand, until: int | None, told: Told) -> bool:
    """Everything of a window that is ready; True where there may be more to come."""
    from tailrace.windows.run import WindowRun, locked, run_here
    from tailrace.windows.tasks import run_on_spark

    def runner(units: list[Unit]) -> Iterable[list[Done]]:
        if spec.engine == "spark":
            from tailrace.windows.spark_engine import run_by_spark

            return run_by_spark(session.get(), units)
        many = spec.concurrent_windows != 1 and sum(len(unit.windows) for unit in units) >= SPREAD
        return run_on_spark(session.get(), units) if many else run_here(units)

    with locked(places, spec.name):
        run = WindowRun(spec, places, runner)
        run.run(time.time_ns(), until, lambda segment: told(spec, segment))
    finished = run.state.through
    return until is None or finished is None or finished < spec.temporal.start_of(until)


@click.command("status")
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=names_of("window"))
@output_option
@without_spark()
def show_status(context: Context, names: tuple[str, ...], output: str) -> None:
    """How far windows are, and what they have seen."""
    from tailrace.cli.listing import show_rows
    from tailrace.windows.state import State

    rows: list[Row] = []
    for spec, places in _specs(context, names, required=False):
        state = State.read(places.segments, spec.out)
        row: Row = {
            "window": spec.name,
            "through": None if state.through is None else _moment(state.through),
            "finished": state.windows,
            **{name: getattr(state, name) for name in ("logs", "selected", "late_files", "late_rows")},
            "undated": state.undated,
            "unresolved": state.unresolved,
            "undelivered": len(state.waiting),
            "safety_margin": f"{spec.temporal.margin // 1_000_000_000}s",
            "out": str(spec.out),
        }
        rows.append(row)
    show_rows(rows, STATUS, output)


def _specs(context: Context, names: tuple[str, ...], *, required: bool = True) -> list[tuple[WindowSpec, Places]]:
    from tailrace.cli.configured_windows import spec_of, windows
    from tailrace.cli.matching import listed
    from tailrace.cli.settings import load_config, open_lake
    from tailrace.core.errors import ConfigError
    from tailrace.lake.place import LocalPlace
    from tailrace.windows.run import Places
    from tailrace.windows.spec import require_directory

    config = load_config(context)
    known = windows(config)
    if not known and required:
        hint = "see `tailrace window run --help` and docs/config/window.md"
        raise ConfigError("no window is configured", code="window.none", hint=hint)
    root = open_lake(context, config).meta_root
    found = []
    for name in listed("window", names, known):
        given = known[name].args.get("state_dir")
        state = LocalPlace(str(Path(str(given)).expanduser().absolute()) if given else str(root / "windows" / name))
        require_directory(state, "state_dir", str(known[name].where))
        found.append((spec_of(config, known[name]), Places(state)))
    return found


def _row(spec: WindowSpec, done: Done) -> Row:
    counts = ("late", "logs", "rows", "selected", "undated", "unresolved", "invalid_weights")
    shown = {name: getattr(done, name) for name in counts}
    return {
        "window": spec.name, "start": _moment(done.start), "files": len(done.files), "size": done.bytes,
        "seconds": done.seconds, **shown,
    }  # fmt: skip


def _moment(nanoseconds: int) -> str:
    from tailrace.windows.spec import second_of

    moment, fraction = second_of(nanoseconds)
    return f"{moment:%Y-%m-%dT%H:%M:%S}{fraction}Z"


def _tell(rows: list[Row], output: str, context: Context) -> None:
    from tailrace.cli.listing import as_json, show_rows

    if output == "json":
        click.echo(as_json({"windows": rows}, indent=2))
    elif rows and not context.quiet:
        show_rows(rows, DONE, output)
    elif not context.quiet:
        click.echo("nothing is ready", err=True)
