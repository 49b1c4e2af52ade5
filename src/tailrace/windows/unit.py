"""Some windows in one go: their files are read once, then every window is asked and written by itself."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tailrace.core.errors import DataError
from tailrace.windows.batches import batches
from tailrace.windows.data import WindowData, load
from tailrace.windows.engine import answered, opened
from tailrace.windows.reading import read_parts
from tailrace.windows.results import is_report, selected
from tailrace.windows.schema import Tables
from tailrace.windows.spec import WindowSpec
from tailrace.windows.sql import Prepared
from tailrace.windows.state import STAGED, Done, Output
from tailrace.windows.to_json import lines
from tailrace.windows.to_proto import messages
from tailrace.windows.writer import OtapWriter


@dataclass(frozen=True, slots=True)
class Wanted:
    """A window, and the files of logs that have rows in it."""

    start: int
    files: tuple[str, ...]
    late: int = 0


@dataclass(frozen=True, slots=True)
class Unit:
    """Windows for one task."""

    spec: WindowSpec
    windows: tuple[Wanted, ...]


def run_unit(unit: Unit) -> list[Done]:
    """Results are staged; nobody sees them before a segment names them."""
    spec = unit.spec
    names = {name for wanted in unit.windows for name in wanted.files}
    query = Prepared(spec.query, "duckdb", spec.sample_size, spec.sampling)
    parts = list(read_parts(spec.base, names))
    found = []
    for wanted in unit.windows:
        began = time.perf_counter()
        end = wanted.start + spec.temporal.granularity
        own = (part for part in parts if part.file.name in wanted.files)
        data = load(own, wanted.start, end, keep_undated=spec.keep_undated)
        if spec.strict and data.unresolved:
            message = f"{data.unresolved} logs have no resource that is certain"
            hint = 'write resource_resolution = "recover" to let them pass without one'
            raise DataError(message, code="window.unresolved", where=label(wanted), hint=hint)
        found.append(_answer(spec, wanted, data, query, began))
    return found


def _answer(spec: WindowSpec, wanted: Wanted, data: WindowData, query: Prepared, began: float) -> Done:
    end = wanted.start + spec.temporal.granularity
    written = _Staged(spec, label(wanted))
    chosen = 0
    with opened(data, sentinels=spec.sentinels) as connection:
        answer = answered(connection, query.text(wanted.start, end))
        if spec.form == "parquet" or is_report(answer):
            written.rows(answer)
        else:
            tables = selected(connection, answer, data)
            chosen = len(tables.logs)
            if chosen:
                written.logs(tables)
    return Done(
        start=wanted.start, end=end, late=wanted.late, files=wanted.files, outputs=tuple(written.outputs),
        logs=len(data.logs), rows=len(answer), selected=chosen, undated=data.undated, unresolved=data.unresolved,
        bytes=written.bytes, seconds=round(time.perf_counter() - began, 4),
    )  # fmt: skip


def label(wanted: Wanted) -> str:
    """What a window's results are called."""
    moment = datetime.fromtimestamp(wanted.start // 1_000_000_000, UTC)
    late = f"-late-{wanted.late}" if wanted.late else ""
    return f"window={moment:%Y%m%dT%H%M%SZ}{late}"


class _Staged:
    """Results of one window, under names that nobody else has."""

    def __init__(self, spec: WindowSpec, name: str) -> None:
        self._spec, self._name = spec, name
        self._folder = f"{STAGED}/{uuid.uuid4().hex}"
        self.outputs: list[Output] = []
        self.bytes = 0

    def rows(self, answer: pa.Table) -> None:
        pq.write_table(answer, self._path(f"{self._name}.parquet"), compression="zstd")
        self._close()

    def logs(self, tables: Tables) -> None:
        limit = self._spec.batch_size
        if self._spec.form == "otap_parquet":
            with OtapWriter(self._spec.out / self._folder) as writer:
                for batch in batches(tables, limit):
                    writer.write(batch)
            # Attributes come before their logs, here as in a writer.
            self.outputs = [Output(f"{self._folder}/{name}", name) for name in writer.files]
            self._close()
            return
        suffix, write = (".jsonl", lines) if self._spec.form == "otlp_json" else (".pb", messages)
        self._write(self._path(self._name + suffix), write(tables, limit))

    def _write(self, path: Path, bodies: Iterator[bytes]) -> None:
        with path.open("wb") as file:
            for body in bodies:
                file.write(body)
        self._close()

    def _path(self, final: str) -> Path:
        staged = f"{self._folder}/{final}"
        self.outputs.append(Output(staged, final))
        path = self._spec.out.path / staged
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def _close(self) -> None:
        self.bytes = sum((self._spec.out.path / output.staged).stat().st_size for output in self.outputs)
