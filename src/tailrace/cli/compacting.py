"""One compaction from the command line: on a session that is started only for much work, until a signal comes."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from rich.table import Table as Grid

    from tailrace.cli.interrupts import Interrupts
    from tailrace.cli.options import Context
    from tailrace.core import LakeError
    from tailrace.lake.compaction import CompactionPlan
    from tailrace.lake.paths import Lake
    from tailrace.pipeline.compact_report import CompactionProgress, CompactionReport
    from tailrace.pipeline.hands import Hands


class Session(Protocol):
    """What a compaction needs of a session."""

    def get(self) -> SparkSession: ...

    def cores(self) -> int: ...

    def stop(self, patience: float | None = None) -> None: ...


@dataclass(slots=True)
class Compacted:
    """What has become of a compaction."""

    reports: list[CompactionReport] = field(default_factory=list)
    interrupted: bool = False
    hangs: bool = False
    "A job has not come back: nothing that waits for its thread may follow."
    problems: list[LakeError] = field(default_factory=list)
    "Tables that cannot be read."

    @property
    def exit_code(self) -> int:
        """As documented in `tailrace compact --help`; a partition's own error says its own code."""
        from tailrace.core import LockedError

        errors = [report.error.exit_code for report in self.reports if report.error is not None]
        errors += [problem.exit_code for problem in self.problems]
        codes = {trouble.code for report in self.reports for trouble in report.troubles}
        if codes and not errors:
            return LockedError.exit_code if codes == {LockedError.code} else 5
        return max(errors, default=0)


def compact(
    lake: Lake,
    plans: Sequence[CompactionPlan],
    session: Session,
    hands: Hands,
    interrupts: Interrupts,
    progress: CompactionProgress,
    patience: float | None = None,
) -> Compacted:
    """Compacts, and takes back what was not committed if it is interrupted."""
    from tailrace.cli.carrying_out import carried_out
    from tailrace.cli.redact import command_line
    from tailrace.pipeline.compact import Compaction
    from tailrace.pipeline.partition_compaction import CompactOptions

    options = CompactOptions(command_line(sys.argv[1:]), session.cores)
    if patience is not None:
        options = replace(options, patience=patience)
    compaction = Compaction(lake, options, session.get, progress, hands)
    compacted = Compacted(compaction.reports)
    compacted.hangs = not carried_out(lambda: compaction.compact(plans), compaction, session, interrupts)
    compacted.interrupted = interrupts.came
    return compacted


@contextmanager
def shown_compaction(visible: bool, context: Context) -> Iterator[CompactionProgress]:
    """A live display on stderr, or none."""
    from tailrace.pipeline.compact_report import Unseen

    if not visible:
        yield Unseen()
        return
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True, no_color=context.no_color or None)
    display = Display(max(console.height - 3, 3))
    with Live(get_renderable=display.render, console=console, refresh_per_second=4, transient=True):
        yield display


class Display:
    """One line per partition that is not done, as far as they fit, and how many are done."""

    def __init__(self, height: int = 40) -> None:
        self.height = height
        self.reports: dict[str, CompactionReport] = {}

    def update(self, report: CompactionReport) -> None:
        self.reports[report.name] = report

    def render(self) -> Grid:
        """Called by the display's own thread."""
        from rich.spinner import Spinner
        from rich.table import Table as Grid

        from tailrace.cli.summary import count, size

        grid = Grid.grid(padding=(0, 2))
        reports = list(self.reports.values())
        under_way = [report for report in reports if not report.seconds]
        for report in under_way[: self.height]:
            files = f"{report.files_before:,}/{report.found_files:,} files"
            grid.add_row(Spinner("dots"), report.name, files, f"{size(report.bytes_before)}/{size(report.found_bytes)}")
        if len(reports) > len(under_way):
            grid.add_row("✓", count(len(reports) - len(under_way), "partition"))
        return grid
