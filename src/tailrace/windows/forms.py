"""Forms of logs that are one file: how it is called, and what is in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tailrace.windows.ipc import records
from tailrace.windows.schema import Tables
from tailrace.windows.to_json import lines
from tailrace.windows.to_proto import messages

Write = Callable[[Tables, int, int], Iterator[bytes]]
"Of logs, with how many a batch may have and how many threads may write batches."
FORMS: dict[str, tuple[str, Write]] = {
    "otlp_proto": (".pb", messages), "otlp_json": (".jsonl", lines), "otap_ipc": (".otap", records),
}  # fmt: skip
