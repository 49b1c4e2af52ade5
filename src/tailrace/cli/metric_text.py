"""Metrics in Prometheus' text format: what there is, how it is written, and read back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

PREFIX = "tailrace_"
Labels = tuple[tuple[str, str], ...]
Samples = dict[tuple[str, Labels], float]
"By name, without the prefix, and labels."


@dataclass(frozen=True, slots=True)
class Metric:
    """One family of samples."""

    kind: str
    "counter or gauge"
    help: str


METRICS: Mapping[str, Metric] = {
    "rows_received_total": Metric("counter", "Records read; the sum of the next six."),
    "rows_stored_total": Metric("counter", "Rows committed, also those read again because their artifact changed."),
    "rows_filtered_total": Metric("counter", "Records for which the partition's filter is not true."),
    "rows_out_of_range_total": Metric("counter", "Records before --from, or at or after --to."),
    "rows_deleted_total": Metric("counter", "Records of a range that `partition delete` has deleted."),
    "rows_duplicate_total": Metric("counter", "Rows that are stored already, by the partition's `dedupe`."),
    "rows_quarantined_total": Metric("counter", "Records that could not be stored and are in tp_quarantine."),
    "rows_replaced_total": Metric("counter", "Rows that went because those read again took their place."),
    "rows_misfit_total": Metric("counter", "Of the stored rows, those with a value in tp_extra.tp_misfit."),
    "artifacts_total": Metric(
        "counter", "Artifacts read, by result: whole, partial (cut off), failed or kept as they were."
    ),
    "artifact_bytes_total": Metric("counter", "Bytes of those artifacts as they lie at the source."),
    "written_files_total": Metric("counter", "Parquet files committed."),
    "written_bytes_total": Metric("counter", "Bytes of those files."),
    "failures_total": Metric("counter", "Collections of the partition in which something could not be read or stored."),
    "locked_total": Metric("counter", "Collections left out because another process held the partition."),
    "last_run_timestamp_seconds": Metric("gauge", "When the last collection of the partition ended."),
    "last_success_timestamp_seconds": Metric("gauge", "When the last one ended in which nothing failed."),
    "duration_seconds": Metric("gauge", "How long the last collection of the partition took."),
    "newest_row_timestamp_seconds": Metric("gauge", "Latest tp_timestamp in the partition."),
    "lag_seconds": Metric("gauge", "Time since the latest tp_timestamp, when this was written or asked for."),
    "rounds_total": Metric("counter", "Collections as a whole, by result: ok, failed (in part, too) or interrupted."),
    "round_duration_seconds": Metric("gauge", "How long the last collection took as a whole."),
    "config_valid": Metric("gauge", "1 if the configuration could be read by the last round, else 0."),
    "windows_total": Metric("counter", "Windows of time with logs that were finished."),
    "window_files_total": Metric("counter", "Files of logs that were read for them."),
    "window_logs_total": Metric("counter", "Logs in them."),
    "window_rows_total": Metric("counter", "Rows that their queries gave."),
    "window_selected_total": Metric("counter", "Logs that their queries selected."),
    "window_written_bytes_total": Metric("counter", "Bytes of their results."),
    "window_undated_total": Metric("counter", "Logs in them without any time."),
    "window_unresolved_total": Metric("counter", "Logs in them whose resource cannot be told."),
    "window_invalid_weights_total": Metric("counter", "Weights that were given and counted as 1."),
    "window_late_files_total": Metric("counter", "Files that came after one of their windows was finished."),
    "window_late_logs_total": Metric("counter", "Logs of such windows in those files."),
    "window_delivered_total": Metric("counter", "Results that were delivered."),
    "window_rejected_total": Metric("counter", "Logs of theirs that were not taken."),
    "window_failures_total": Metric(
        "counter", "Runs that a window ended, by the code of the error: `window.timeout`, `query.memory` …"
    ),
    "window_seconds_total": Metric("counter", "How long windows took."),
    "window_through_timestamp_seconds": Metric("gauge", "All windows that end here or before are finished."),
    "build_info": Metric("gauge", "1; the label is the version."),
}

_LINE = re.compile(rf"{PREFIX}(\w+)(?:\{{(.*)\}})? (\S+)")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n"}
_ESCAPED = re.compile(r"\\(.)")


def rendered(samples: Samples) -> str:
    """The whole page; families in their order, samples sorted."""
    by_name: dict[str, list[tuple[Labels, float]]] = {}
    for (name, labels), value in sorted(samples.items()):
        by_name.setdefault(name, []).append((labels, value))
    lines: list[str] = []
    for name, metric in METRICS.items():
        if name in by_name:
            lines += [f"# HELP {PREFIX}{name} {metric.help}", f"# TYPE {PREFIX}{name} {metric.kind}"]
            lines += [f"{PREFIX}{name}{_labels(labels)} {_number(value)}" for labels, value in by_name[name]]
    return "\n".join(lines) + "\n"


def read_back(text: str) -> Samples:
    """What `rendered` wrote; lines of others are passed over."""
    found: Samples = {}
    for line in text.splitlines():
        match = _LINE.fullmatch(line)
        if match is not None and match[1] in METRICS:
            labels = tuple((name, _unescaped(value)) for name, value in _LABEL.findall(match[2] or ""))
            try:
                found[match[1], labels] = float(match[3])
            except ValueError:
                continue
    return found


def added(before: Samples, more: Samples) -> Samples:
    """Counters go on from where they were; gauges are replaced."""
    sums = dict(before)
    for (name, labels), value in more.items():
        counts = METRICS[name].kind == "counter"
        sums[name, labels] = (before.get((name, labels), 0.0) if counts else 0.0) + value
    return sums


def _labels(labels: Iterable[tuple[str, str]]) -> str:
    told = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels)
    return f"{{{told}}}" if told else ""


def _escaped(value: str) -> str:
    return "".join(_ESCAPES.get(character, character) for character in value)


def _unescaped(value: str) -> str:
    return _ESCAPED.sub(lambda found: "\n" if found[1] == "n" else found[1], value)


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() else repr(value)
