"""How far a copy has come."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tailrace.cli.options import Context

Told = Callable[[int, int], None]
"Bytes that are to be copied in all, and bytes that have been since the last time."


@contextmanager
def byte_progress(context: Context, title: str) -> Iterator[Told]:
    """A bar on stderr, on a terminal only."""
    if context.quiet or not sys.stderr.isatty():
        yield lambda _total, _more: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn, TransferSpeedColumn

    console = Console(stderr=True, no_color=context.no_color or None)
    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(title, total=None)

        def told(total: int, more: int) -> None:
            bar.update(task, total=total, advance=more)

        yield told
