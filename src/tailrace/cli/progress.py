"""The live display of a collection, on stderr."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tailrace.cli.options import Context
from tailrace.cli.summary import count, duration, mark, size

if TYPE_CHECKING:
    from rich.table import Table as Grid

    from tailrace.pipeline.headway import Note
    from tailrace.pipeline.report import PartitionReport, Progress

_SMALLEST_SPAN = 1.0
"Seconds before a rate says anything."


@contextmanager
def shown_progress(visible: bool, context: Context) -> Iterator[Progress]:
    """A live display on stderr, or none."""
    from tailrace.pipeline.report import Silent

    if not visible:
        yield Silent()
        return
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True, no_color=context.no_color or None)
    with tempfile.TemporaryDirectory(prefix="tailrace-", dir=_shared(context), ignore_cleanup_errors=True) as notes:
        display = Display(notes, console.height - 2)
        with Live(get_renderable=display.render, console=console, refresh_per_second=4, transient=True):
            yield display


def _shared(context: Context) -> Path | None:
    """Where tasks on other machines see it, if they see the lake; None: in this machine's own place for such things."""
    from tailrace.cli.settings import session_options
    from tailrace.pipeline.options import settle

    if settle(session_options(context)).local:
        return None
    place = context.home_path / "progress"
    place.mkdir(parents=True, exist_ok=True)
    return place


@dataclass(slots=True)
class Line:
    """One partition as it goes."""

    report: PartitionReport
    began: float | None = None
    "When the first bytes had been read, which were so many."
    first: int = 0
    rows_then: int = field(default=0)

    @property
    def is_over(self) -> bool:
        return self.report.seconds > 0

    def cells(self, note: Note, now: float) -> tuple[str, ...]:
        """Artifacts, bytes, rows, rows a second, time left, and what could not be stored."""
        report, counts = self.report, self.report.counts
        if not report.run and not self.is_over:
            return (f"{report.discovered:,} artifacts found", "listing", "", "", "", "")
        done, read = report.done + note.artifacts, report.done_bytes + note.bytes
        rows, bad = counts.received + note.rows, counts.quarantined + note.bad
        found = f" of {report.discovered:,} found" if report.discovered > report.wanted else ""
        speed, left = "", ""
        if not self.is_over:
            speed, left = self._pace(read, rows, now)
        return (
            f"{done:,}/{report.wanted:,} artifacts{found}",
            f"{size(read)}/{size(report.wanted_bytes)}",
            f"{rows:,} rows",
            speed,
            left,
            f"{bad:,} quarantined" if bad else "",
        )

    def _pace(self, read: int, rows: int, now: float) -> tuple[str, str]:
        """Counted from the first bytes: what Spark needs to start says nothing about the rest."""
        if self.began is None:
            if read:
                self.began, self.first, self.rows_then = now, read, rows
            return "", ""
        span, new = now - self.began, read - self.first
        if span < _SMALLEST_SPAN or new <= 0:
            return "", ""
        left = max(0, self.report.wanted_bytes - read) * span / new
        return f"{max(0, rows - self.rows_then) / span:,.0f} rows/s", f"{duration(left)} left"


class Display:
    """One line per partition; where there are more than fit, those under way, and how many are done."""

    def __init__(self, notes: str | None = None, height: int = 40) -> None:
        self.notes, self.height = notes, max(height, 3)
        self.lines: dict[str, Line] = {}

    def update(self, report: PartitionReport) -> None:
        line = self.lines.get(report.name)
        if line is None or line.report is not report:
            self.lines[report.name] = Line(report)

    def render(self) -> Grid:
        """Called by the display's own thread."""
        from rich.spinner import Spinner
        from rich.table import Table as Grid

        now, grid = time.monotonic(), Grid.grid(padding=(0, 2))
        shown, over = self._shown()
        for line in shown:
            sign = mark(line.report) if line.is_over else Spinner("dots")
            grid.add_row(sign, line.report.name, *line.cells(self._note(line), now))
        if over:
            grid.add_row("", f"and {count(over, 'more partition')}")
        return grid

    def _shown(self) -> tuple[list[Line], int]:
        lines = list(self.lines.values())
        if len(lines) <= self.height:
            return lines, 0
        under_way = [line for line in lines if not line.is_over]
        shown = under_way[: self.height - 1]
        return shown, len(lines) - len(shown)

    def _note(self, line: Line) -> Note:
        from tailrace.pipeline.headway import Note, note_of

        if self.notes is None or line.is_over or not line.report.run:
            return Note()
        return note_of(Path(self.notes), line.report.run)
