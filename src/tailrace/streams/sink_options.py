"""What is asked of a Parquet sink."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tailrace.streams.transforms import Transform

CODECS = {"snappy": "snappy", "gzip": "gzip", "lz4": "lz4", "zstd": "zstd", "uncompressed": "none"}
"As Arrow calls them; its lz4 is LZ4_RAW on disk, which every engine reads."


@dataclass(frozen=True, slots=True)
class SinkOptions:
    """A `sink "parquet"` block."""

    name: str
    path: Path
    rotation: str = "daily"
    compression: str = "snappy"
    data_format: str = "json"
    row_group_size: int = 100_000
    partition_by: str = "event_time"
    workspace_id_type: str = "uint64"
    flush_interval: timedelta = timedelta(seconds=10)
    max_lateness: timedelta = timedelta(days=7)
    retention: timedelta | None = None
    metrics_enabled: bool = True
    metrics_interval: timedelta = timedelta(seconds=10)
    listeners: frozenset[str] | None = None
    "Whose rows it takes; None = everybody's."
    transforms: tuple[Transform, ...] = ()
    of_listeners: Mapping[str, tuple[Transform, ...]] = field(default_factory=dict)
    "What happens to rows of a listener before, by its id."

    def chain(self, listener: str) -> tuple[Transform, ...]:
        """What happens to rows of a listener."""
        return (*self.of_listeners.get(listener, ()), *self.transforms)

    @property
    def state(self) -> Path:
        """What is not published yet: beside the tree, on the same filesystem, so that a rename moves it in."""
        return self.path.with_name(f".{self.path.name}.tailrace")

    @property
    def period(self) -> int:
        """Milliseconds that one file covers."""
        return 3_600_000 if self.rotation == "hourly" else 86_400_000
