"""What a table's log costs as it grows: commits, planning, listing, bytes and memory, by days and files.

    python benchmarks/scaling.py --sizes 10x1,1000x1,1000x100,100000x1,100000x10

Logs are simulated: files are added that do not exist, with the statistics that real ones have, and no row is read. Of
more than 100,000 files the checkpoint of the first is written again with as many of each: delta-rs would need all
memory to write it. Readers and writers are measured in processes of their own, whose memory is told. DAYSxFILES are
days of ten partitions, and files of each.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import date, timedelta
from functools import cache, partial
from pathlib import Path
from typing import Any

import report
from generate import DATA

TABLE = "nginx_access_log"
PARTITIONS = 10
AT_ONCE = 100_000
"Files of one commit."
FIRST = date(2000, 1, 1)
SIZES = "10x1,1000x1,1000x20,100000x1,100000x3,100000x10"
LATEST = FIRST + timedelta(days=3)
MEMORY = 20
"Gigabytes that a process may have."
PATIENCE = 240
PARTS = ("reading", "writing")


def schema() -> Any:
    """Of a real table."""
    from tailrace.core.arrow import arrow_schema
    from tailrace.core.registry import find_table

    found = find_table(TABLE)
    assert found is not None
    return arrow_schema(found)


@cache
def columns() -> tuple[str, ...]:
    """Those that the statistics count nulls of."""
    return tuple(name for name in schema().names if name not in ("tp_partition", "tp_index", "tp_date"))


def stats(day: date, number: int) -> str:
    """As a collection of this table writes them: times, addresses, numbers and short texts."""
    texts = {
        "tp_id": f"{number:026d}", "tp_source_type": "file", "tp_source_name": "file",
        "tp_source_location": f"file:///var/log/nginx/{day}", "remote_addr": "192.0.2.1", "request_uri": "/index.html",
        "http_user_agent": "Mozilla/5.0 (X11; Linux x86_64) ", "method": "GET", "path": "/",
    }  # fmt: skip
    numbers = {"status": 200, "body_bytes_sent": 512}
    times = {"tp_timestamp": f"{day}T00:00:00.000000", "tp_ingest_timestamp": "2024-05-05T00:00:00.000000"}
    values = {**texts, **numbers, **times}
    nulls = {name: 0 if name in values else 1000 for name in columns()}
    known = {"numRecords": 1000, "minValues": values, "maxValues": values, "nullCount": nulls}
    return json.dumps(known, separators=(",", ":"))


def grown(home: Path, days: int, files: int) -> float:
    """A table with so many files, one commit after the other; returns seconds."""
    from tailrace.lake.actions import add_action
    from tailrace.lake.files import DataFile
    from tailrace.lake.paths import Lake, data_path
    from tailrace.lake.table import open_or_create

    began = time.perf_counter()
    delta = open_or_create(Lake(home), TABLE, schema())
    actions: list[Any] = []
    for number in range(days * files):
        spot = number // files
        partition, day = f"p{spot % PARTITIONS}", FIRST + timedelta(days=spot // PARTITIONS)
        path = f"{data_path(partition, 'default', day)}/20240505000000000000abcdefabcd-{number:08d}-0.parquet"
        file = DataFile(path, 60_000, partition, "default", day, 1000, stats(day, number), "")
        actions.append(add_action(file, True))
        if len(actions) == AT_ONCE or number == days * files - 1:
            committed(delta, actions)
            delta.update_incremental()
            actions = []
    delta.create_checkpoint()
    return time.perf_counter() - began


def committed(delta: Any, actions: list[Any]) -> None:
    """Files that join."""
    by = ["tp_partition", "tp_index", "tp_date"]
    delta.create_write_transaction(actions, "append", delta.schema(), partition_by=by)


class Clock:
    """Seconds of wall and CPU, by name; the median where something is done several times."""

    def __init__(self) -> None:
        self.taken: dict[str, list[tuple[float, float]]] = {}

    def time(self, name: str, call: Callable[[], object]) -> None:
        wall, cpu = time.perf_counter(), time.process_time()
        call()
        self.taken.setdefault(name, []).append((time.perf_counter() - wall, time.process_time() - cpu))

    def told(self) -> dict[str, float]:
        middle = {name: sorted(some)[len(some) // 2] for name, some in self.taken.items()}
        walls = {name: round(wall, 4) for name, (wall, _) in middle.items()}
        return walls | {f"{name}_cpu": round(cpu, 4) for name, (_, cpu) in middle.items()}


def multiplied(home: Path, times: int) -> None:
    """The same table with so many files in the place of each, as a checkpoint tells them."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    log = home / "data" / "default" / f"tp_table={TABLE}" / "_delta_log"
    path = max(log.glob("*.checkpoint.parquet"))
    larger = path.with_suffix(".larger")
    source = pq.ParquetFile(path)
    rows = 0
    with pq.ParquetWriter(larger, source.schema_arrow, compression="none") as writer:
        for batch in source.iter_batches(20_000):
            adds = batch.column("add")
            writer.write_batch(batch.filter(pc.invert(pc.is_valid(adds))), row_group_size=1 << 20)
            batch = batch.filter(pc.is_valid(adds))
            adds = batch.column("add")
            rows += batch.num_rows * times
            for number in range(times):
                paths = pc.replace_substring(adds.field("path"), "-0.parquet", f"-{number}.parquet")
                fields = [adds.type.field(place) for place in range(adds.type.num_fields)]
                parts = [paths if field.name == "path" else adds.field(field.name) for field in fields]
                entries = pa.StructArray.from_arrays(parts, fields=fields)
                place = batch.schema.get_field_index("add")
                writer.write_batch(batch.set_column(place, batch.schema.field(place), entries), row_group_size=1 << 20)
    larger.rename(path)
    last = json.loads((log / "_last_checkpoint").read_text())
    known = {"size": rows + 2, "numOfAddFiles": rows, "sizeInBytes": path.stat().st_size}
    (log / "_last_checkpoint").write_text(json.dumps(last | known))


def measured(home: Path, part: str) -> dict[str, Any]:
    """One process: what readers do, or what writers do."""
    from tailrace.lake.paths import Lake

    lake, clock = Lake(home), Clock()
    if part == "reading":
        read(lake, clock)
    else:
        written(lake, clock)
    return {**clock.told(), f"{part}_rss": most_memory()}


def most_memory() -> int:
    """Bytes that this program has had at most; what `getrusage` tells counts the process that started it."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024  # type: ignore[index]


def read(lake: Any, clock: Clock) -> None:
    """Plan a query, and list partitions, as commands do that find nothing kept."""
    from tailrace.lake.extents import partition_extents
    from tailrace.lake.logged_files import logged_amounts
    from tailrace.lake.snapshot import snapshot

    clock.time("plan", lambda: planned(lake))
    if clock.taken["plan"][0][0] < 1:  # once more, when libraries are loaded
        del clock.taken["plan"]
        clock.time("plan", lambda: planned(lake))
    clock.time("list", lambda: partition_extents(logged_amounts(lake, TABLE) or snapshot(lake, TABLE)))


def written(lake: Any, clock: Clock) -> None:
    """Open, commit."""
    from tailrace.lake.actions import add_action
    from tailrace.lake.files import DataFile
    from tailrace.lake.paths import data_path
    from tailrace.lake.table import open_table

    clock.time("open", lambda: open_table(lake.table_root(TABLE)))
    delta = open_table(lake.table_root(TABLE))
    for number in range(5):
        path = f"{data_path('p0', 'default', LATEST)}/20240505000000000000abcdefabcd-9{number:07d}-1.parquet"
        file = DataFile(path, 60_000, "p0", "default", LATEST, 1000, stats(LATEST, number), "")
        clock.time("commit", partial(committed, delta, [add_action(file, True)]))
        clock.time("catch_up", delta.update_incremental)
    clock.time("checkpoint", delta.create_checkpoint)


def planned(lake: Any) -> int:
    """The files of one day of one partition, as a query finds them."""
    from tailrace.lake.arrow_listing import listing_of
    from tailrace.lake.logged_files import logged_listing
    from tailrace.lake.snapshot import snapshot
    from tailrace.query.conditions import Condition
    from tailrace.query.prune import surviving

    seen = logged_listing(lake, TABLE) or listing_of(snapshot(lake, TABLE))
    wanted = [Condition("tp_partition", "=", ("p0",)), Condition("tp_date", "=", (LATEST,))]
    return len(surviving(seen.files, [wanted]).paths)


def in_process(home: Path, part: str, memory: int) -> dict[str, Any]:
    """With a bound on its memory and time: beyond them it is told that it failed."""

    def bounded() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (memory << 30, memory << 30))

    command = [sys.executable, __file__, "--measure", str(home), "--part", part]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, preexec_fn=bounded)
    except subprocess.TimeoutExpired:
        return {"failed": f"not over after {PATIENCE} s"}
    if done.returncode:
        return {"failed": f"more than {memory} GB" if "memory allocation" in done.stderr else done.stderr[-200:]}
    return dict(json.loads(done.stdout))


def log_bytes(home: Path) -> dict[str, int]:
    """Of commits, and of the last checkpoint."""
    log = home / "data" / "default" / f"tp_table={TABLE}" / "_delta_log"
    commits = sum(path.stat().st_size for path in log.glob("*.json"))
    last = max((path for path in log.glob("*.checkpoint.parquet")), default=None)
    return {"commit_bytes": commits, "checkpoint_bytes": last.stat().st_size if last else 0}


def main() -> None:
    """Grow, measure, keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default=SIZES, help="DAYSxFILES, separated by commas")
    parser.add_argument("--measure", type=Path, metavar="HOME", help=argparse.SUPPRESS)
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    parser.add_argument("--memory", type=int, default=MEMORY, metavar="GB", help="that a process may have")
    parser.add_argument("--dry-run", action="store_true", help="print the figures and keep none")
    args = parser.parse_args()
    if args.measure:
        print(json.dumps(measured(args.measure, args.part)))
        return
    results = []
    DATA.mkdir(exist_ok=True)
    for size in args.sizes.split(","):
        days, files = map(int, size.split("x"))
        home = Path(tempfile.mkdtemp(dir=DATA))
        try:
            times = files if days * files > AT_ONCE else 1
            seconds = grown(home, days, files // times)
            one: dict[str, Any] = {"size": size, "days": days, "files": days * files, "grown": round(seconds, 1)}
            if times > 1:
                multiplied(home, times)
            one |= log_bytes(home)
            one["commit_bytes"] *= times
            for part in PARTS:
                one |= in_process(home, part, args.memory)
        finally:
            with suppress(OSError):
                shutil.rmtree(home)
        results.append(one)
        print(json.dumps(one), flush=True)
    if not args.dry_run:
        report.keep_named("scaling", "size", results)
        report.write()


if __name__ == "__main__":
    main()
