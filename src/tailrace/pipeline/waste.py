"""Records that a task refuses → quarantine files, in bounded memory."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import msgspec
import pyarrow as pa

from tailrace.formats.again import framing
from tailrace.formats.base import Bad
from tailrace.formats.stream import Streams
from tailrace.lake.quarantine import QUARANTINE_SCHEMA, write_quarantine
from tailrace.pipeline.job import Job, Outcome, Unit
from tailrace.pipeline.shape import Origin

HELD_BYTES = 16 << 20


class QuarantineWriter:
    """Holds refused records until there are enough for a file; no file is made when nothing is refused."""

    def __init__(self, job: Job, unit: Unit, name: str) -> None:
        self.job, self.unit, self.name = job, unit, name
        self.says_all = True
        "Is everything that is known of a record in its bytes?"
        self.held: list[tuple[Origin, Bad]] = []
        self.bytes = 0
        self.files: list[str] = []

    def add(self, origin: Origin, bad: Bad) -> None:
        self.held.append((origin, bad))
        self.bytes += len(bad.raw) + 200
        if self.bytes > HELD_BYTES:
            self._write()

    def copy(self, rows: pa.Table) -> None:
        """Records that stay as they are."""
        if rows.num_rows:
            self._put(rows)

    def close(self) -> list[str]:
        """Names of the files written, relative to the quarantine's directory."""
        if self.held:
            self._write()
        return self.files

    def discard(self) -> None:
        self.job.quarantine_root.delete(self.files)
        self.files.clear()

    def _write(self) -> None:
        held, self.held, self.bytes = self.held, [], 0
        job, rows = self.job, len(held)
        told, cut, place = cache(self._told), cache(self._cut), cache(self._place)
        values: dict[str, list[object]] = {
            "table": [job.table.name] * rows,
            "partition": [job.partition] * rows,
            "run": [job.run] * rows,
            "uri": [o.uri for o, _ in held],
            "location": [place(o.artifact) or o.location for o, _ in held],
            "member": [o.member for o, _ in held],
            "position": [b.position for _, b in held],
            "length": [b.length for _, b in held],
            "raw": [b.raw for _, b in held],
            "reason": [b.reason for _, b in held],
            "day": [o.day for o, _ in held],
            "ingested_at": [o.refused_at or job.started for o, _ in held],
            "framing": [cut(o.artifact) for o, _ in held],
            "artifact": [told(o.artifact) for o, _ in held],
        }
        self._put(pa.table(values, schema=QUARANTINE_SCHEMA))

    def _told(self, artifact: int) -> str:
        return msgspec.json.encode(self.unit.artifacts[artifact]).decode()

    def _place(self, artifact: int) -> str | None:
        """Of an object, whose location is its key: with the bucket, or nobody would find it by that."""
        known = self.unit.artifacts[artifact]
        scheme = known.uri.partition("://")[0]
        is_key = "://" not in known.location and bool(known.source_name)
        is_object = is_key and known.uri.startswith(f"{scheme}://{known.source_name}/")
        return f"{scheme}://{known.source_name}/{known.location}" if is_object else None

    def _cut(self, artifact: int) -> str | None:
        return framing(self.job.formats[self.unit.sources[artifact]]) if self.says_all else None

    def _put(self, rows: pa.Table) -> None:
        name = f"{self.job.run}-{self.name}-{len(self.files)}.parquet"
        self.files.append(name)
        write_quarantine(self.job.quarantine_root, name, rows)


def tell_end(streams: Streams, outcome: Outcome, waste: QuarantineWriter, origin: Origin) -> None:
    """What was wrong with the end of an artifact whose records are whole up to there; all streams were read."""
    if streams.truncated:
        outcome.status, outcome.reason = "partial", "the compressed data ends too early"
    for bad in streams.surplus:
        outcome.status, outcome.reason = "partial", bad.reason
        waste.add(origin, replace(bad, reason=f"artifact: {bad.reason}"))
