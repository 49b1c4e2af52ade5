"""Windows over OTAP tables, beside DuckDB and DataFusion with the equivalent SQL on the same files.

    python benchmarks/windows.py --logs 10000000 --tiny 10000

Every log has six attributes. Parts: one warm window of a minute; a batch of windows, written as protobuf, beside DuckDB
that runs the same windows one after the other and writes its rows; many windows of 500 logs, and what a window costs
when ten or all of them are behind it; protobuf in and out on one core. Figures go to `benchmarks/results/windows.json`.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from tailrace.lake.place import LocalPlace
from tailrace.pipeline.session import SessionOptions, session
from tailrace.windows.ingest import read_stream
from tailrace.windows.reading import read_parts
from tailrace.windows.run import Places, Runner, WindowRun, run_here
from tailrace.windows.sampling import Sampling
from tailrace.windows.schema import ATTRS, LOGS, RESOURCE, SCOPE, Tables, fitted
from tailrace.windows.spec import Temporal, WindowSpec
from tailrace.windows.tasks import run_on_spark
from tailrace.windows.to_proto import messages
from tailrace.windows.writer import OtapWriter

MINUTE = 60_000_000_000
START = 1_790_000_040_000_000_000
SERVICES = 20
KEYS = ("http.method", "http.status_code", "user", "duration", "ok", "region")
PASS = "SELECT * FROM log_attributes"
FILTER = """SELECT la.* FROM log_attributes la JOIN logs l ON l.id = la.parent_id AND l._part_id = la._part_id
WHERE l.severity_number >= 17"""
SAMPLE = """WITH named AS (SELECT l.id, l._part_id, ra.str AS service FROM logs l JOIN resource_attributes ra
    ON ra.parent_id = l.id AND ra._part_id = l._part_id AND ra.key = 'service.name'),
drawn AS (SELECT service, _part_id, weighted_reservoir_sample(STRUCT(id, 1.0), 100) AS s
    FROM named GROUP BY service, _part_id),
chosen AS (SELECT _part_id, d.value.id AS id FROM drawn CROSS JOIN UNNEST(s) AS t(d))
SELECT la.* FROM log_attributes la JOIN chosen c ON c.id = la.parent_id AND c._part_id = la._part_id"""
QUERIES = {"pass-through": PASS, "filter": FILTER, "sampling": SAMPLE}
TIMED = "l.time_unix_nano >= {moment}({start}) AND l.time_unix_nano < {moment}({end})"
JOINED = f"SELECT a.* FROM log_attrs a JOIN logs l ON l.id = a.parent_id AND l._part_id = a._part_id WHERE {TIMED}"
PLAIN = {
    "pass-through": JOINED,
    "filter": f"{JOINED} AND l.severity_number >= 17",
    "sampling": f"""WITH named AS (SELECT l.id, l._part_id, r.str AS service FROM logs l JOIN resource_attrs r
        ON r.parent_id = {{resource}} AND r._part_id = l._part_id AND r.key = 'service.name' WHERE {TIMED}),
    chosen AS (SELECT _part_id, id FROM (SELECT *, row_number() OVER (PARTITION BY service, _part_id
        ORDER BY md5(CAST(id AS VARCHAR))) AS n FROM named) WHERE n <= 100)
    SELECT a.* FROM log_attrs a JOIN chosen c ON c.id = a.parent_id AND c._part_id = a._part_id""",
}


def tables(count: int, first: int, width: int) -> Tables:
    """Logs spread evenly over a span of time, of as many resources as there are services."""
    numbers = np.arange(count)
    owners = numbers * SERVICES // count
    struct = {
        "resource": pa.StructArray.from_arrays(
            [pa.array(owners, pa.uint32()), pa.nulls(count, pa.string()), pa.nulls(count, pa.uint32())],
            fields=list(RESOURCE),
        ),
        "scope": pa.StructArray.from_arrays(
            [pa.array(owners, pa.uint32()), pa.repeat("lib", count), pa.nulls(count, pa.string()),
             pa.nulls(count, pa.uint32())], fields=list(SCOPE),
        ),
    }  # fmt: skip
    logs = pa.table(
        {
            "id": pa.array(numbers, pa.uint32()),
            **struct,
            "time_unix_nano": pa.array(first + numbers * width // count).cast(pa.timestamp("ns")),
            "severity_number": pa.array(np.where(numbers % 20 == 0, 17, 9), pa.int32()),
        }
    )
    names = pa.table({"parent_id": np.arange(SERVICES), "key": ["service.name"] * SERVICES, "type": [1] * SERVICES,
                      "str": [f"service {n}" for n in range(SERVICES)]})  # fmt: skip
    resource_attrs = fitted(names, ATTRS)
    return Tables(fitted(logs, LOGS), _attributes(count), resource_attrs, ATTRS.empty_table())


def _attributes(count: int) -> pa.Table:
    parents = np.repeat(np.arange(count), len(KEYS))
    places = np.tile(np.arange(len(KEYS)), count)
    types = np.array([1, 2, 1, 3, 4, 1])[places]
    texts = pa.array([f"user {n}" for n in range(1_000)])
    rows = pa.table(
        {
            "parent_id": parents,
            "key": pa.array(KEYS).take(pa.array(places)),
            "type": types,
            "str": texts.take(pa.array(np.where(types == 1, parents % 1_000, 0), mask=types != 1)),
            "int": pa.array(200 + parents % 300, mask=types != 2),
            "double": pa.array(parents / 7, mask=types != 3),
            "bool": pa.array(parents % 2 == 0, mask=types != 4),
        }
    )
    return fitted(rows, ATTRS)


def write(base: Path, windows: int, size: int, per_file: int) -> None:
    with OtapWriter(LocalPlace(str(base)), rows_per_file=per_file) as writer:
        for number in range(windows):
            writer.write(tables(size, START + number * MINUTE, MINUTE))


def spec_of(root: Path, name: str, query: str, form: str = "otlp_proto") -> WindowSpec:
    return WindowSpec(
        name=name, base=LocalPlace(str(root / "in")), out=LocalPlace(str(root / f"out-{name}")), form=form, query=query,
        temporal=Temporal(MINUTE, 0), start_at="earliest", late_files="drop", keep_undated=True, sentinels=True,
        strict=False, unpartitioned=False, sampling=Sampling(), sample_size=100, batch_size=65_535, check_interval=30.0,
    )  # fmt: skip


def timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return round(time.perf_counter() - began, 3)


def plain(engine: str, name: str, number: int) -> str:
    """The SQL that somebody would write who has but the files; both engines can prune by time."""
    start = START + number * MINUTE
    moment = "make_timestamp_ns" if engine == "duckdb" else "to_timestamp_nanos"
    resource = "l.resource.id" if engine == "duckdb" else "l.resource['id']"
    return PLAIN[name].format(start=start, end=start + MINUTE, moment=moment, resource=resource)


def connected(root: Path) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(config={"threads": 2})
    for table in ("logs", "log_attrs", "resource_attrs"):
        path = f"{root}/in/{table}/*/*.parquet"
        connection.execute(f"CREATE VIEW {table} AS SELECT * FROM read_parquet('{path}', hive_partitioning = true)")
    return connection


def fused(root: Path) -> Any:
    from datafusion import SessionConfig, SessionContext

    context = SessionContext(SessionConfig().with_target_partitions(2))
    for table in ("logs", "log_attrs", "resource_attrs"):
        context.register_parquet(table, f"{root}/in/{table}/", table_partition_cols=[("_part_id", pa.string())])
    return context


def single(root: Path, runner: Runner, windows: int) -> dict[str, Any]:
    """One warm window, the median of five; rows are written by all."""
    connection, context = connected(root), fused(root)
    found: dict[str, Any] = {}
    for name, query in QUERIES.items():
        spec = spec_of(root, name, query)
        run = WindowRun(spec, Places(LocalPlace(str(root / f"state-{name}"))), runner)
        run.run(START + MINUTE)
        ours, theirs, others = [], [], []
        for number in range(1, 6):
            ours.append(timed(lambda end=START + (number + 1) * MINUTE, run=run: run.run(end)))  # type: ignore[misc]
            copy = f"COPY ({plain('duckdb', name, number)}) TO '{root}/duckdb.parquet'"
            theirs.append(timed(lambda copy=copy: connection.execute(copy)))  # type: ignore[misc]
            text = plain("datafusion", name, number)
            others.append(timed(lambda text=text: context.sql(text).collect()))  # type: ignore[misc]
        median = {who: statistics.median(times) for who, times in
                  (("tailrace", ours), ("duckdb", theirs), ("datafusion", others))}  # fmt: skip
        found[name] = median | {"met": median["tailrace"] <= median["duckdb"] + 0.5}
        found[name] |= {"batch": batch(root, runner, connection, name, query, min(windows, 20))}
    return found


def batch(
    root: Path, runner: Runner, connection: duckdb.DuckDBPyConnection, name: str, query: str, windows: int
) -> dict[str, Any]:
    """Windows in one run, beside DuckDB doing them one after the other."""
    spec = spec_of(root, f"batch-{name}", query, "parquet")
    run = WindowRun(spec, Places(LocalPlace(str(root / f"state-batch-{name}"))), runner)
    ours = timed(lambda: run.run(START + windows * MINUTE))

    def alone() -> None:
        for number in range(windows):
            connection.execute(f"COPY ({plain('duckdb', name, number)}) TO '{root}/duckdb-{number}.parquet'")

    theirs = timed(alone)
    rows = sum(done.rows for done in run.state.last.windows) if run.state.last else 0
    return {"windows": windows, "tailrace": ours, "duckdb": theirs, "met": ours <= 2 * theirs, "rows": rows,
            "rows a second": round(rows / ours)}  # fmt: skip


def tiny(root: Path, runner: Runner, windows: int) -> dict[str, Any]:
    """Many small windows, and what the next one costs early and late."""
    write(root / "in", windows + 20, 500, 500 * 20)
    spec = spec_of(root, "tiny", PASS)
    places = Places(LocalPlace(str(root / "state-tiny")))
    WindowRun(spec, places, run_here).run(START + 10 * MINUTE)
    early = [timed(lambda n=n: WindowRun(spec, places, run_here).run(START + (11 + n) * MINUTE)) for n in range(5)]  # type: ignore[misc]
    whole = timed(lambda: WindowRun(spec, places, runner).run(START + windows * MINUTE))
    late = [timed(lambda n=n: WindowRun(spec, places, run_here).run(START + (windows + 1 + n) * MINUTE))  # type: ignore[misc]
            for n in range(5)]  # fmt: skip
    per = whole / (windows - 15)
    return {"windows": windows, "seconds": whole, "seconds a window": round(per, 4), "met": per * 10_000 <= 300,
            "one window, early": statistics.median(early), "one window, late": statistics.median(late)}  # fmt: skip


def codecs(count: int) -> dict[str, Any]:
    """Protobuf on one core."""
    pa.set_cpu_count(1)
    body = b"".join(messages(tables(count, START, MINUTE)))
    began = time.process_time()
    read = [found.tables for found in read_stream(_Whole(body))]
    into = time.process_time() - began
    began = time.process_time()
    for one in read:
        for _ in messages(one):
            pass
    out = time.process_time() - began
    return {"logs": count, "in a second": round(count / into), "out a second": round(count / out)}


class _Whole:
    """A stream of one piece."""

    truncated = False

    def __init__(self, body: bytes) -> None:
        self._body = body

    def __iter__(self) -> Iterator[bytes]:
        yield self._body


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", type=int, default=10_000_000)
    parser.add_argument("--tiny", type=int, default=10_000)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "windows.json")
    options = parser.parse_args()
    root = Path(tempfile.mkdtemp(prefix="windows-"))
    size = 100_000
    windows = max(options.logs // size, 6)
    try:
        found: dict[str, Any] = {"codecs": codecs(200_000)}
        write(root / "in", windows, size, 1_000_000)
        with session(SessionOptions(master="local[2]", home=root / "home")) as spark:

            def runner(units: list[Any]) -> Any:
                return run_on_spark(spark, units) if len(units) > 1 else run_here(units)

            runner([])
            found["windows"] = single(root, runner, windows)
            (root / "tiny").mkdir()
            found["tiny"] = tiny(root / "tiny", runner, options.tiny)
        found["logs"], found["attributes"] = windows * size, windows * size * len(KEYS)
        peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        found["largest process, MB"] = peak // 1024
        assert sum(1 for _ in read_parts(LocalPlace(str(root / "in")))) > 0
    finally:
        shutil.rmtree(root, ignore_errors=True)
    print(json.dumps(found, indent=2))
    options.out.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
