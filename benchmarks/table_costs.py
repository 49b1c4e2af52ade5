"""What a table adds to the engine of its format: CPU time per byte, beside a plain table over the same bytes.

    python benchmarks/table_costs.py --size 16000000 --runs 3

The plain table has a column for every field, typed by what the first records hold, and computes nothing. Both read
two inputs, see `table_inputs.py`, with the memory settings of a worker.
"""

from __future__ import annotations

import argparse
import io
import json
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

import report
from formats import as_a_worker
from table_inputs import mixed, records, tables, usual
from tailrace.core import Artifact, Column, Common, Delimited, Json, Jsonl, Struct, Table, TimeRange, struct
from tailrace.formats import decoder
from tailrace.formats.base import Batch
from tailrace.formats.stream import open_streams
from tailrace.pipeline.compute import Computer
from tailrace.pipeline.infer import with_inferred
from tailrace.pipeline.joining import held_bytes, together
from tailrace.pipeline.unit import GATHER_BYTES, GATHER_ROWS
from tailrace.sources import make_source

LIMIT = 2.0
SCALARS = {bool: "boolean", int: "bigint", float: "double", str: "varchar"}


def plain(table: Table, path: Path) -> Table:
    """The table that a user gets who declares no column."""
    fmt = table.format
    if isinstance(fmt, Delimited) and not fmt.fields:
        fmt = replace(fmt, header=True)
    bare = Table("plain", "Anything.", fmt, (), Common(time=()), null=table.null, map_fields=("*",))
    source = make_source("file", {"paths": [str(path)]})
    artifacts = (found for found in source.discover(TimeRange()) if isinstance(found, Artifact))
    found = with_inferred(bare, None, ((source, artifact, fmt) for artifact in artifacts))
    if not isinstance(fmt, Json | Jsonl):
        return found
    samples = [json.loads(record) for record in records(table)]
    nested = {c.name: of_objects([s[c.name] for s in samples if s.get(c.name) is not None]) for c in found.columns}
    columns = {c.name.lower(): replace(c, type=nested[c.name] or c.type) for c in found.columns}
    named = {c.name for c in found.columns}
    for sample in samples:
        if not named & sample.keys():  # of a kind that stands too late in the file: none of its fields would be known
            columns = {name.lower(): of_values(name, [value]) for name, value in sample.items()} | columns
    return replace(found, columns=tuple(columns.values()))


def of_objects(values: list[object]) -> Struct | None:
    """The fields of objects as typed columns; None where they are no objects or have names of their own."""
    objects = [value for value in values if isinstance(value, dict)]
    names = {name: None for value in objects for name in value}
    if not names or len(objects) < len(values) or not all(name.strip("@#").isidentifier() for name in names):
        return None
    return struct(*(of_values(name, [value.get(name) for value in objects]) for name in names))


def of_values(name: str, values: list[object]) -> Column:
    told = [value for value in values if value is not None]
    inner = of_objects(told)
    kinds = {SCALARS.get(type(value), "json") for value in told}
    return Column(name, inner or (kinds.pop() if len(kinds) == 1 else "json"), name)


def cpu(table: Table, data: bytes) -> tuple[float, int]:
    """CPU seconds to decode the bytes and to compute columns, and the rows."""
    before, rows = time.process_time(), 0
    computer = Computer(table.columns, None, ())
    gathered: list[Batch] = []

    def compute() -> None:
        if computer.expressions and gathered:
            computer.compute(together(gathered), sum(batch.rows for batch in gathered))
        gathered.clear()

    for _, stream in open_streams(io.BytesIO(data), ""):
        for batch in decoder(table, table.format).decode(stream):
            assert not batch.bad, batch.bad[0]
            rows += batch.rows
            gathered += [batch] if batch.rows else []
            held = sum(held_bytes(batch.columns) for batch in gathered)
            if held >= GATHER_BYTES or sum(batch.rows for batch in gathered) >= GATHER_ROWS:
                compute()
    compute()
    return time.process_time() - before, rows


def measured(table: Table, size: int, runs: int, folder: Path) -> report.Result:
    """What both inputs cost; the second one's figures have names that end so."""
    path = folder / table.name
    path.write_bytes(mixed(table, size))
    engine = plain(table, path)
    costs = compared(table, engine, usual(table, size), runs)
    costs |= {f"{name}_mixed": value for name, value in compared(table, engine, path.read_bytes(), runs).items()}
    return {
        "table": table.name,
        "format": type(table.format).__name__.lower(),
        **costs,
        "columns": [len(table.columns), len(engine.columns)],
        "limit": LIMIT,
    }


def compared(table: Table, engine: Table, data: bytes, runs: int) -> report.Result:
    """Medians of runs that alternate, in ns a byte; a first run each is not counted."""
    own: list[float] = []
    other: list[float] = []
    for number in range(runs + 1):
        for which, costs in ((table, own), (engine, other)):
            seconds, rows = cpu(which, data)
            costs += [seconds] if number else []
    ours, theirs = (statistics.median(costs) / len(data) * 1e9 for costs in (own, other))
    return {"rows": rows, "bytes": len(data), "ours": ours, "engine": theirs}


def main() -> None:
    """Measure what the command line names, keep the rest, write the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=16_000_000, help="bytes of each input")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", default="", help="names of tables, with commas between them")
    parser.add_argument("--dry", action="store_true", help="print the figures, keep nothing")
    args = parser.parse_args()
    pa.set_cpu_count(1)
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for table in tables():
            if not args.only or table.name in args.only.split(","):
                results.append(measured(table, args.size, args.runs, Path(folder)))
                print(json.dumps(results[-1]), flush=True)
    if not args.dry:
        report.keep_named("tables", "table", results)
        report.write()


if __name__ == "__main__":
    as_a_worker()
    main()
