"""A task that decodes quarantined records again, from the bytes that were kept of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.formats.again import Again, again
from tailrace.lake.quarantine import Mask, by_value, owned, read_file
from tailrace.pipeline.job import Counts, Outcome
from tailrace.pipeline.unit import Task, moment_of


class KeptTask(Task):
    """Goes through quarantine files: what fits now becomes rows, the rest is quarantined anew."""

    def read_all(self) -> None:
        """File by file; an artifact may have records in several."""
        self.outcomes += [Outcome(artifact.key, "ok", Counts(), {}) for artifact in self.unit.artifacts]
        numbers = {artifact.key: number for number, artifact in enumerate(self.unit.artifacts)}
        engines: dict[int, Again] = {}
        for file in self.unit.kept:
            rows = read_file(file.place, file.name)
            stays = rows.filter(pa.array(unpacked(file.stays, rows.num_rows)))
            self.waste.copy(owned(stays, set(numbers), self.job.run))
            self._try(rows.filter(pa.array(unpacked(file.tried, rows.num_rows))), numbers, engines)

    def _try(self, rows: pa.Table, numbers: dict[str, int], engines: dict[int, Again]) -> None:
        pairs, number = by_value(rows, "uri", "member")
        for which, (uri, member) in enumerate(pairs):
            place = numbers[str(uri)]
            artifact, source = self.unit.artifacts[place], self.unit.sources[place]
            if source not in engines:
                engines[source] = again(self.job.table, self.job.formats[source])
            some = rows.filter(pa.array(number == which)).sort_by("position")
            for since in some.column("ingested_at").unique().to_pylist():
                part = some.filter(pc.equal(some.column("ingested_at"), pa.scalar(since, pa.timestamp("us"))))
                origin = replace(self.origin(place, member), refused_at=since)
                positions = part.column("position").to_numpy()
                raws = part.column("raw").to_pylist()
                for batch in engines[source].decode(raws, positions, moment_of(artifact)):
                    self.take(origin, batch)


def packed(mask: Mask) -> bytes:
    """A bit per row."""
    return np.packbits(mask).tobytes()


def unpacked(bits: bytes, rows: int) -> Mask:
    """A truth value per row."""
    return np.unpackbits(np.frombuffer(bits, np.uint8), count=rows).astype(bool)
