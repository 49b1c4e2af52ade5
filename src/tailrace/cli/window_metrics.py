"""What windows amount to, as metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailrace.cli.metric_text import Samples

if TYPE_CHECKING:
    from tailrace.core.errors import TailraceError
    from tailrace.windows.state import Segment

_SUMS = {
    "window_logs_total": "logs",
    "window_rows_total": "rows",
    "window_selected_total": "selected",
    "window_written_bytes_total": "bytes",
    "window_undated_total": "undated",
    "window_unresolved_total": "unresolved",
    "window_invalid_weights_total": "invalid_weights",
    "window_seconds_total": "seconds",
}


def samples_of(window: str, segment: Segment) -> Samples:
    """Those of one commit."""
    found = {name: sum(getattr(done, of) for done in segment.windows) for name, of in _SUMS.items()}
    found |= {
        "windows_total": sum(not done.late for done in segment.windows),
        "window_files_total": sum(len(done.files) for done in segment.windows),
        "window_late_files_total": segment.late_files,
        "window_late_logs_total": segment.late_rows,
        "window_delivered_total": len(segment.delivered),
        "window_rejected_total": segment.rejected,
        "window_through_timestamp_seconds": segment.through / 1e9,
    }
    return {(name, (("window", window),)): float(value) for name, value in found.items()}


def failure_of(window: str, error: TailraceError) -> Samples:
    """That of a run that ended with an error."""
    return {("window_failures_total", (("code", error.code), ("window", window))): 1.0}
