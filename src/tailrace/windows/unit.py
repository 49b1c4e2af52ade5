"""Some windows in one go: their files are read once, then every window is asked and written by itself."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass, replace
from functools import lru_cache

import msgspec

from tailrace.core.errors import DataError
from tailrace.windows.data import WindowData, load
from tailrace.windows.engine import answered, given, invalid_weights, opened
from tailrace.windows.limits import limited
from tailrace.windows.needed import EVERYTHING, Needed, needed
from tailrace.windows.results import is_report, parts_of, selected
from tailrace.windows.sampling import Sampling
from tailrace.windows.schema import ATTRIBUTES
from tailrace.windows.sources import Reader, Source
from tailrace.windows.spec import WindowSpec, second_of
from tailrace.windows.sql import Prepared
from tailrace.windows.staged import Staged
from tailrace.windows.state import Done


@dataclass(frozen=True, slots=True)
class Wanted:
    """A window, and the files of logs that have rows in it."""

    start: int
    sources: tuple[Source, ...]
    late: int = 0
    logs: int = 0
    "Rows that the files have in it."
    answer: str = ""
    "Directory of the answer, where another engine has given it."


@dataclass(frozen=True, slots=True)
class Unit:
    """Windows for one task."""

    spec: WindowSpec
    windows: tuple[Wanted, ...]
    threads: int = 1
    "Those of one window: more than one where no other is under way."


def run_unit(unit: Unit) -> list[Done]:
    """Results are staged; nobody sees them before a segment names them."""
    spec = unit.spec
    query = _prepared(spec.query, spec.sample_size, replace(spec.sampling, counted=True))
    files = Reader(
        spec.base, keep_undated=spec.keep_undated, at_once=spec.concurrent_files, threads=unit.threads
    )  # fmt: skip
    with closing(files) as reader:
        return [_run(unit, wanted, reader, query) for wanted in unit.windows]


def _run(unit: Unit, wanted: Wanted, reader: Reader, query: Prepared) -> Done:
    began = time.perf_counter()
    looked_at = EVERYTHING if wanted.answer else needed((query.unbound(),), sentinels=unit.spec.sentinels)
    sources = _read(looked_at, wanted, whole=unit.spec.form != "parquet")
    done = _asked(unit, wanted, sources, reader, query) or _asked(unit, wanted, wanted.sources, reader, query)
    assert done is not None
    return msgspec.structs.replace(done, seconds=round(time.perf_counter() - began, 4))


def _read(looked_at: Needed, wanted: Wanted, *, whole: bool) -> tuple[Source, ...]:
    """Sources without what the answer does not depend on; `whole`: logs that are selected come with all they have."""
    tables = ATTRIBUTES if whole and not is_report(looked_at.columns) else looked_at.tables
    kept = looked_at.kept(source.file.part_id for source in wanted.sources)
    return tuple(
        replace(source, attributes=tuple(
            files if name in tables else () for name, files in zip(ATTRIBUTES, source.attributes, strict=True)
        )) if source.ours else source
        for source in wanted.sources
        if source.file.part_id in kept or not source.ours
    )  # fmt: skip


def _asked(unit: Unit, wanted: Wanted, sources: tuple[Source, ...], reader: Reader, query: Prepared) -> Done | None:
    """None where the answer names logs of a partition that was not read."""
    spec = unit.spec
    end = wanted.start + spec.temporal.granularity
    data = load(reader.parts(sources, wanted.start, end), wanted.start, end, keep_undated=spec.keep_undated)
    if spec.strict and data.unresolved:
        message = f"{data.unresolved} logs have no resource that is certain"
        hint = 'write resource_resolution = "recover" to let them pass without one'
        raise DataError(message, code="window.unresolved", where=label(wanted), hint=hint)
    left_out = {source.file.part_id for source in wanted.sources} - {source.file.part_id for source in sources}
    return _answer(unit, wanted, data, query, left_out)


@lru_cache(maxsize=16)
def _prepared(query: str, sample_size: int, sampling: Sampling) -> Prepared:
    """To read and rewrite a query takes as long as a small window."""
    return Prepared(query, "duckdb", sample_size, sampling)


def _answer(unit: Unit, wanted: Wanted, data: WindowData, query: Prepared, left_out: set[str]) -> Done | None:
    spec = unit.spec
    end = wanted.start + spec.temporal.granularity
    written = Staged(spec, label(wanted), unit.threads)
    chosen = 0
    with (
        opened(data, sentinels=spec.sentinels, memory=spec.memory_limit, threads=unit.threads) as connection,
        limited(connection.interrupt, spec.query_timeout, label(wanted)),
    ):
        invalid_weights(connection)  # those of one that failed are not ours
        if wanted.answer:
            answer = given(connection, spec.out, wanted.answer)
        else:
            parts = dict.fromkeys(source.file.part_id for source in wanted.sources)
            answer = answered(connection, query.text(wanted.start, end, parts))
        invalid = invalid_weights(connection)
        report = spec.form == "parquet" or is_report(answer.column_names)
        if not report and left_out and not left_out.isdisjoint(parts_of(answer)):
            return None
        if report:
            written.rows(answer)
        else:
            tables = selected(connection, answer, data, count_as_double=spec.count_as_double)
            chosen = len(tables.logs)
            if chosen:
                written.logs(tables)
    files = tuple(source.file.name for source in wanted.sources)
    return Done(
        start=wanted.start, end=end, late=wanted.late, files=files, outputs=tuple(written.outputs),
        logs=wanted.logs, rows=len(answer), selected=chosen, undated=data.undated, unresolved=data.unresolved,
        invalid_weights=invalid, bytes=written.bytes,
    )  # fmt: skip


def label(wanted: Wanted) -> str:
    """What a window's results are called."""
    moment, fraction = second_of(wanted.start)
    late = f"-late-{wanted.late}" if wanted.late else ""
    return f"window={moment:%Y%m%dT%H%M%S}{fraction}Z{late}"
