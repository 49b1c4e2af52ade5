"""A small collector for fault tests: `collect_once.py HOME RUN [PARTITION]`; LAKE_ENDPOINT: its lake is in a bucket."""

from __future__ import annotations

import json
import os
import sys
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from remotelake import remote_lake

from tailrace.core.errors import LakeError
from tailrace.lake.commit import Change, PartitionWriter
from tailrace.lake.files import DataFile, stats_json
from tailrace.lake.identity import artifact_prefix, tp_ids
from tailrace.lake.ledger import Entry
from tailrace.lake.paths import Lake, data_path
from tailrace.lake.quarantine import QUARANTINE_SCHEMA, write_quarantine
from tailrace.lake.steps import reached
from tailrace.lake.types import schema_fingerprint

TABLE = "fault_log"
SCHEMA = pa.schema(
    [
        ("version", pa.string()),
        ("tp_id", pa.string()),
        ("tp_partition", pa.string()),
        ("tp_index", pa.string()),
        ("tp_date", pa.date32()),
    ]
)
DAYS = [date(2024, 1, 1) + timedelta(days=n) for n in range(int(os.environ.get("DAYS", "3")))]
ROWS = 20


def artifacts(version: str) -> dict[date, dict[str, str]]:
    """URI → version, by day; a new version changes one artifact of each day and adds one."""
    found = {day: {f"file:///{day}/{n}.log": "1" for n in range(3)} for day in DAYS}
    if version != "1":
        for day in DAYS:
            found[day] |= {f"file:///{day}/0.log": version, f"file:///{day}/new.log": version}
    return found


def write_day(lake: Lake, partition: str, run: str, day: date, uris: dict[str, str]) -> list[DataFile]:
    """Rows of all artifacts of a day; half of each lies in the day after, and artifacts share files."""
    files = []
    for half, stored in enumerate((day, day + timedelta(days=1))):
        positions = np.arange(half, ROWS, 2)
        ids = pa.concat_arrays(
            [
                tp_ids([artifact_prefix(f"{partition}{uri}")], np.zeros(len(positions), np.int32), positions)
                for uri in uris
            ]
        )
        versions = [v for v in uris.values() for _ in positions]
        count = len(ids)
        columns = [versions, ids, [partition] * count, ["default"] * count, [stored] * count]
        rows = pa.table(columns, schema=SCHEMA)
        path = f"{data_path(partition, None, stored)}/{run}-{day}-{half}.parquet"
        draft = lake.table_root(TABLE).create(path)
        with pq.ParquetWriter(draft.path, SCHEMA) as writer:
            writer.write_table(rows, row_group_size=16)
        size = draft.close()
        draft.wait()
        files.append(
            DataFile(
                path=path,
                size=size,
                partition=partition,
                index="default",
                day=stored,
                rows=count,
                stats=stats_json(writer.writer.metadata, SCHEMA),
                fingerprint=schema_fingerprint(SCHEMA),
            )
        )
    return files


def quarantine_day(lake: Lake, partition: str, run: str, day: date, uris: dict[str, str]) -> str:
    name = f"{run}-{day}.parquet"
    rows = [{"uri": uri, "raw": version.encode(), "run": run, "day": day} for uri, version in uris.items()]
    table = pa.Table.from_pylist(rows, QUARANTINE_SCHEMA)
    write_quarantine(lake.meta("quarantine", TABLE, partition), name, table)
    return name


def entry(partition: str, uri: str, version: str, day: date, generation: int) -> Entry:
    return Entry(
        uri=f"{partition}{uri}",
        version=version,
        size=1,
        status="ok",
        at=datetime.now(UTC).replace(tzinfo=None),
        generation=generation,
        day=day,
        rows=ROWS,
        dates=(day, day + timedelta(days=1)),
    )


def collect(lake: Lake, partition: str, run: str, version: str) -> None:
    """Every artifact that the ledger does not hold in this version, a commit per day."""
    writer = PartitionWriter(lake, TABLE, partition, run, SCHEMA)
    writer.recover()
    versions = {uri: known.version for uri, known in writer.ledger().known().items()}
    try:
        for day, uris in artifacts(version).items():
            due = {u: v for u, v in uris.items() if versions.get(f"{partition}{u}") != v}
            if not due:
                continue
            files = write_day(lake, partition, run, day, due)
            quarantine = quarantine_day(lake, partition, run, day, due)
            write_day(lake, partition, f"{run}-failed", day, due)
            reached("files-written")
            entries = [entry(partition, u, v, day, 1) for u, v in due.items()]
            again = [f"{partition}{u}" for u in due if f"{partition}{u}" in versions]
            writer.commit(Change(entries, files, [quarantine], replace=again, notes={"last": str(day)}))
            reached("day-committed")
    finally:
        writer.finish()


def opened(home: Path) -> Lake:
    endpoint = os.environ.get("LAKE_ENDPOINT")
    return remote_lake(home, endpoint, os.environ["LAKE_PREFIX"]) if endpoint else Lake(home)


def main() -> int:
    home, run, *rest = sys.argv[1:]
    partition = rest[0] if rest else "main"
    try:
        collect(opened(Path(home)), partition, run, os.environ.get("SOURCE_VERSION", "1"))
    except LakeError as error:
        print(json.dumps({"code": error.code}))
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
