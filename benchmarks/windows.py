"""Windows over OTAP tables, beside DuckDB and DataFusion with the equivalent SQL on the same files in the same run.

    python benchmarks/windows.py data --logs 10000000 --tiny 10000 --at /tmp/otap
    python benchmarks/windows.py single batch tiny sampling codecs --at /tmp/otap

Every log has six attributes. `single`: one warm window of a minute. `batch`: twenty windows in one run, beside DuckDB
that runs them one after the other and writes its rows. `tiny`: many windows of 500 logs, and what the next one costs
when ten or all of them are behind it. `sampling`: the sampler on Spark beside a grouped pandas function
that draws the same sample. `codecs`:
protobuf in and out on one core. Each part puts its figures into `benchmarks/results/windows.json`; `data` makes the
files, and is not measured.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import report
from tailrace.lake.place import LocalPlace
from tailrace.pipeline.session import SessionOptions, session
from tailrace.windows.ingest import read_stream
from tailrace.windows.run import Places, Runner, WindowRun, run_here
from tailrace.windows.sampling import Sampling
from tailrace.windows.spec import Temporal, WindowSpec
from tailrace.windows.tasks import run_on_spark
from tailrace.windows.to_proto import messages
from windows_inputs import KEYS, MINUTE, START, tables, write
from windows_sampling import sampling
from windows_sql import PASS, QUERIES, connected, fused, plain

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WINDOW, TINY = 100_000, 500
"Logs of a window."
BATCH = 20
Found = dict[str, Any]


def spec_of(root: Path, base: Path, name: str, query: str, form: str = "otlp_proto") -> WindowSpec:
    return WindowSpec(
        name=name, base=LocalPlace(str(base)), out=LocalPlace(str(root / f"out-{name}")), form=form, query=query,
        temporal=Temporal(MINUTE, 0), start_at="earliest", late_files="drop", keep_undated=True, sentinels=True,
        strict=False, unpartitioned=False, sampling=Sampling(), sample_size=100, batch_size=65_535, check_interval=30.0,
    )  # fmt: skip


def timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return round(time.perf_counter() - began, 4)


def run_of(root: Path, spec: WindowSpec, runner: Runner) -> WindowRun:
    return WindowRun(spec, Places(LocalPlace(str(root / f"state-{spec.name}"))), runner)


def single(root: Path, base: Path) -> Found:
    """One warm window, the median of five after one that is not counted; rows are written by all."""
    connection, context = connected(base), fused(base)
    found: Found = {}
    for name, query in QUERIES.items():
        run = run_of(root, spec_of(root, base, name, query), run_here)
        run.run(START + MINUTE)
        times: dict[str, list[float]] = {"tailrace": [], "duckdb": [], "datafusion": []}
        for number in range(1, 6):
            copy = f"COPY ({plain('duckdb', name, number)}) TO '{root}/duckdb.parquet'"
            text, end = plain("datafusion", name, number), START + (number + 1) * MINUTE
            times["tailrace"].append(timed(lambda end=end, run=run: run.run(end)))  # type: ignore[misc]
            times["duckdb"].append(timed(lambda copy=copy: connection.execute(copy)))  # type: ignore[misc]
            times["datafusion"].append(timed(lambda text=text: context.sql(text).collect()))  # type: ignore[misc]
        found[name] = {who: statistics.median(several) for who, several in times.items()}
        found[name]["met"] = found[name]["tailrace"] <= found[name]["duckdb"] + 0.5
    return {"window": WINDOW, "queries": found, "largest_process_mb": largest()}


def batch(root: Path, base: Path, spark: SparkSession) -> Found:
    """Windows in one run, beside DuckDB doing them one after the other; both write Parquet."""
    connection = connected(base)
    found: Found = {}
    for name, query in QUERIES.items():
        spec = spec_of(root, base, f"batch-{name}", query, "parquet")
        here = run_of(root, spec_of(root, base, f"here-{name}", query, "parquet"), run_here)
        run = run_of(root, spec, lambda units: run_on_spark(spark, units))
        run.run(START + MINUTE)
        ours = timed(lambda run=run: run.run(START + (BATCH + 1) * MINUTE))  # type: ignore[misc]
        threads = timed(lambda here=here: here.run(START + BATCH * MINUTE))  # type: ignore[misc]

        def alone(name: str = name) -> None:
            for number in range(1, BATCH + 1):
                connection.execute(f"COPY ({plain('duckdb', name, number)}) TO '{root}/duckdb-{number}.parquet'")

        theirs = timed(alone)
        rows = sum(done.rows for done in run.state.last.windows) if run.state.last else 0
        found[name] = {
            "tasks": ours, "threads": threads, "duckdb": theirs, "met": min(ours, threads) <= 2 * theirs,
            "rows": rows, "rows_a_second": round(rows / min(ours, threads)),
            "windows_a_second": round(BATCH / min(ours, threads), 2),
        }  # fmt: skip
        shutil.rmtree(root / f"out-batch-{name}")
        shutil.rmtree(root / f"out-here-{name}")
    return {"windows": BATCH, "window": WINDOW, "queries": found, "largest_process_mb": largest()}


def tiny(root: Path, base: Path, spark: SparkSession) -> Found:
    """Many small windows, and what the next one costs early and late."""
    windows = sum(1 for _ in (base / "logs").rglob("*.parquet")) * 20 - 20
    spec = spec_of(root, base, "tiny", PASS)

    def one(end: int) -> float:
        return timed(lambda: run_of(root, spec, run_here).run(START + end * MINUTE))

    run_of(root, spec, run_here).run(START + 10 * MINUTE)
    early = [one(11 + n) for n in range(5)]
    whole = timed(lambda: run_of(root, spec, lambda units: run_on_spark(spark, units)).run(START + windows * MINUTE))
    late = [one(windows + 1 + n) for n in range(5)]
    each = whole / (windows - 15)
    return {
        "windows": windows, "window": TINY, "seconds": whole, "seconds_a_window": round(each, 5),
        "met": each * 10_000 <= 300, "one_early": statistics.median(early), "one_late": statistics.median(late),
        "largest_process_mb": largest(),
    }  # fmt: skip


def codecs(count: int) -> Found:
    """Protobuf on one core: CPU seconds, the median of five."""
    pa.set_cpu_count(1)
    made = tables(count, START, MINUTE)
    body = b"".join(messages(made))
    into, out = [], []
    for _ in range(5):
        began = time.process_time()
        assert sum(len(found.tables.logs) for found in read_stream(_Whole(body))) == count
        into.append(time.process_time() - began)
        began = time.process_time()
        assert sum(map(len, messages(made))) == len(body)
        out.append(time.process_time() - began)
    rates = {name: round(count / statistics.median(several)) for name, several in (("in", into), ("out", out))}
    return {"logs": count, "bytes": len(body), **rates, "met": min(rates.values()) >= 200_000}


class _Whole:
    """A stream of one piece."""

    truncated = False

    def __init__(self, body: bytes) -> None:
        self._body = body

    def __iter__(self) -> Iterator[bytes]:
        yield self._body


def largest() -> int:
    """Resident memory of the largest process so far, in MB."""
    return max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) // 1024


def measure(part: str, at: Path, rows: int) -> Found:
    root = at / f"run-{part}"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    try:
        if part == "single":
            return single(root, at / "large")
        if part == "codecs":
            return codecs(200_000)
        # Where Spark itself computes it compiles what it runs, as `engine = "spark"` does.
        options = SessionOptions(master="local[2]", home=root / "home", compiled=part == "sampling")
        with session(options) as spark:
            if part == "sampling":
                return sampling(rows, spark)
            return batch(root, at / "large", spark) if part == "batch" else tiny(root, at / "tiny", spark)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="+", choices=("data", "single", "batch", "tiny", "sampling", "codecs"))
    parser.add_argument("--logs", type=int, default=10_000_000)
    parser.add_argument("--tiny", type=int, default=10_000)
    parser.add_argument("--rows", type=int, default=10_000_000, help="of `sampling`")
    parser.add_argument("--at", type=Path, default=Path("/tmp/tailrace-windows"))
    options = parser.parse_args()
    for part in options.parts:
        if part == "data":
            shutil.rmtree(options.at, ignore_errors=True)
            write(options.at / "large", max(options.logs // WINDOW, BATCH + 1), WINDOW, 1_000_000)
            write(options.at / "tiny", options.tiny + 20, TINY, TINY * 20)
            continue
        found = measure(part, options.at, options.rows) | {"part": part, "commit": report.commit()}
        if part in ("single", "batch"):
            found["logs"] = options.logs
            found["attributes"] = options.logs * len(KEYS)
        print(found)
        report.keep_named("windows", "part", [found])


if __name__ == "__main__":
    main()
