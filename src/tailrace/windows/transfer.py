"""OTLP files into OTAP tables, and OTAP tables out as OTLP files or as other tables."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tailrace.core.errors import SourceError, UsageError
from tailrace.core.written import room_for
from tailrace.formats.base import Bad
from tailrace.lake.place import LocalPlace, Place
from tailrace.lake.steps import reached
from tailrace.windows.batches import LARGEST_BATCH, batches
from tailrace.windows.forms import FORMS
from tailrace.windows.ingest import read_file
from tailrace.windows.reading import read_parts
from tailrace.windows.refused import refused_file
from tailrace.windows.schema import Tables
from tailrace.windows.writer import OtapWriter

READ, SHOWN = "import-read", "import-shown"
"Where an import can die."
REASONS = 1_000
"Reasons that are counted apart: each value may have one of its own."
Told = Callable[[str], None]


@dataclass(slots=True)
class Imported:
    """What came of an import."""

    part_id: str
    files: int = 0
    logs: int = 0
    refused: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    "Those that came first."

    def count(self, reason: str) -> None:
        self.refused += 1
        if reason in self.reasons or len(self.reasons) < REASONS:
            self.reasons[reason] = self.reasons.get(reason, 0) + 1


def import_files(paths: Iterable[str], base: LocalPlace, told: Told = lambda _: None) -> Imported:
    """Appends the logs of all files to the tables, as one partition; they show when all were read."""
    writer = OtapWriter(base, together=True)
    done = Imported(writer.part_id)
    with refused_file(base, writer.part_id) as refused:
        with room_for(str(base)), writer:
            for path in paths:
                told(path)
                for tables, bad in _read(path):
                    writer.write(tables)
                    done.logs += len(tables.logs)
                    for one in bad:
                        refused.add(path, one)
                        done.count(one.reason)
                done.files += 1
            refused.keep()
            reached(READ)
        reached(SHOWN)
        refused.show()
    return done


def _read(path: str) -> Iterator[tuple[Tables, list[Bad]]]:
    try:
        with open(path, "rb") as raw:
            for found in read_file(raw, path):
                yield found.tables, found.bad
    except OSError as error:
        hint = "name files of OTLP logs: JSON, JSON lines or protobuf"
        raise SourceError(error.strerror or str(error), code="source.io", where=path, hint=hint) from None


@dataclass(slots=True)
class Exported:
    """What came of an export."""

    logs: int = 0
    files: int = 0
    bytes: int = 0
    unresolved: int = 0


def export_tables(base: Place, out: Path, form: str, limit: int = LARGEST_BATCH) -> Exported:
    """All logs of the tables, written to `out`: a file, or a directory of tables."""
    done = Exported()
    if form == "otap_parquet":
        if out.exists() and LocalPlace(str(out)).folders():
            hint = "name a directory that does not exist yet"
            raise UsageError("there is something in it already", code="usage.export", where=str(out), hint=hint)
        with room_for(out), OtapWriter(LocalPlace(str(out))) as writer:
            for tables in _counted(base, done):
                for batch in batches(tables, limit):
                    writer.write(batch)
        done.files = len(writer.files)
        done.bytes = sum((out / name).stat().st_size for name in writer.files)
        return done
    _, write = FORMS[form]
    staged = out.with_name(f"{out.name}.tmp")
    staged.parent.mkdir(parents=True, exist_ok=True)
    try:
        with room_for(out), staged.open("wb") as file:
            for tables in _counted(base, done):
                for body in write(tables, limit, 1):
                    done.bytes += file.write(body)
        os.replace(staged, out)
    finally:
        staged.unlink(missing_ok=True)
    done.files = 1
    return done


def _counted(base: Place, done: Exported) -> Iterator[Tables]:
    for part in read_parts(base):
        done.logs += len(part.tables.logs)
        done.unresolved += part.unresolved
        yield part.tables
