"""Noise, and logs changed at random, through every format of every table: nothing crashes, hangs or swells."""

from __future__ import annotations

import random
import resource
import time
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from pathlib import Path

import pytest
from layoutread import Chunks
from spoiled import spoiled

from tailrace.core import Avro, Format, Otlp, Parquet, Table
from tailrace.core.registry import find_table, table_names
from tailrace.formats import decoder
from tailrace.formats.base import Batch, CorruptStream
from tailrace.pipeline.compute import Computer

GOLDEN = Path(__file__).parents[1] / "golden"
SECONDS = 5.0
"Longer than any of these may take on a busy machine; each takes a small part of it."
MEGABYTES = 200


def formats() -> Iterator[tuple[str, str, Table, Format]]:
    for name in table_names():
        table = find_table(name)
        assert table is not None
        for kind, fmt in [("default", table.format), *((preset.name, preset.format) for preset in table.presets)]:
            if kind == "default" or fmt != table.format:
                yield name, kind, table, fmt


def inputs(name: str, chance: random.Random) -> Iterator[bytes]:
    (given,) = (GOLDEN / name).glob("in.*")
    whole = given.read_bytes()
    yield from (spoiled(whole, chance) for _ in range(6))
    yield chance.randbytes(3_000)
    yield whole[:200] + chance.randbytes(500) + whole[200:]
    yield b"\n".join(chance.randbytes(chance.randrange(80)) for _ in range(40))
    yield bytes(chance.choice(b'"[]{}:,=|# \t\n\\-0aT<>') for _ in range(2_000))


def read(table: Table, fmt: Format, data: bytes) -> None:
    """Only formats that cannot go on after a fault may give up a file."""
    middle = len(data) // 2
    given_up = suppress(CorruptStream) if isinstance(fmt, Parquet | Avro | Otlp) else nullcontext()
    with given_up:
        for batch in decoder(table, fmt).decode(Chunks([data[:middle], data[middle:]])):
            check(table, batch)


def check(table: Table, batch: Batch) -> None:
    columns = dict(batch.columns)
    if batch.rows and any(column.sql for column in table.columns):
        Computer(table.columns, None, ()).compute(columns, batch.rows)
    for array in columns.values():
        assert len(array) == batch.rows
        array.validate(full=True)
    assert all(len(entry.raw) <= entry.length and ":" in entry.reason for entry in batch.bad)


CASES = list(formats())


@pytest.mark.parametrize(("name", "kind", "table", "fmt"), CASES, ids=[f"{name}-{kind}" for name, kind, *_ in CASES])
def test_any_bytes_are_stored_or_refused(name: str, kind: str, table: Table, fmt: Format) -> None:
    chance = random.Random(f"{name} {kind}")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for data in inputs(name, chance):
        began = time.process_time()
        read(table, fmt, data)
        assert time.process_time() - began < SECONDS
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MEGABYTES * 1024
