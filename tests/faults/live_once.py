"""A spool and a sink, killed at each step and begun again; prints what is in the end.

A program of its own: it forks, which a process with the threads of engines must not.
"""

from __future__ import annotations

import json
import sys
import threading
from datetime import timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
import flatwrite as fw
from dying import killed_at

from tailrace.lake.steps import SINKING, SPOOLING
from tailrace.streams import records, segments
from tailrace.streams.driver import Driver
from tailrace.streams.records import Record, address
from tailrace.streams.sink_options import SinkOptions
from tailrace.streams.spool import Spool, SpoolLimits

NOW = 1_700_000_000_000


def spooled(root: Path, first: int, acknowledged: Path) -> None:
    """Appends forty records, and notes each that was acknowledged."""
    spool = Spool(root, SpoolLimits(segment_bytes=400, reserve=0))
    with acknowledged.open("a", buffering=1) as told:
        for number in range(first, first + 40):
            spool.append(Record(records.EVENT_LINES, 1, 1, bytes(16), "l", b"%d" % number)).result(10)
            told.write(f"{number}\n")
    spool.close()


def spool_killed(root: Path, step: str) -> dict[str, object]:
    spool, told = root / step / "spool", root / step / "told"
    spool.parent.mkdir()
    kills = ["spool-synced:4" if step == "tail-cut" else f"{step}:3", step, ""]
    killed = [killed_at(kill, lambda at=at: spooled(spool, at * 100, told)) for at, kill in enumerate(kills)]
    found = []
    for number in segments.numbers(spool, segments.CLOSED):
        found += [int(bytes(r.body)) for r in segments.read(segments.path_of(spool, number, segments.CLOSED))]
    return {"killed": killed, "acknowledged": [int(line) for line in told.read_text().split()], "found": found}


def fill(root: Path, turn: int) -> None:
    """Rows of two tenants, two days and two kinds, and some that cannot be stored."""
    spool = Spool(root, SpoolLimits(segment_bytes=2000, reserve=0))
    for tenant in (1, 2):
        for number in range(turn * 6, turn * 6 + 6):
            rows = [
                fw.event(n + 10 * number, timestamp=NOW - 86_400_000 * (n % 2), name=f"{number}.{n}") for n in range(10)
            ]
            body = fw.framed(fw.events(rows), fw.logs([fw.log(number)]), b"no batch, but long enough")
            spool.append(Record(records.FRAMES, tenant, NOW, address("::1"), "tcp.x", body)).result(10)
    spool.close()


def drive(spool: Path, options: SinkOptions) -> None:
    stop = threading.Event()
    stop.set()
    Driver(spool, [options]).run(stop)


def sink_killed(root: Path, step: str) -> dict[str, object]:
    # Nothing is sealed: each process would import an engine for it.
    place = root / (step or "undisturbed")
    spool, options = place / "spool", SinkOptions("s", place / "parquet", max_lateness=timedelta(days=36500))
    spool.parent.mkdir()
    killed = []
    for turn in range(2):
        killed_at("", lambda turn=turn: fill(spool, turn))
        for kill in (f"{step}:{turn + 1}", "") if step else ("",):
            killed.append(killed_at(kill, lambda: drive(spool, options)))
    rows: list[list[object]] = []
    killed_at("", lambda: read_back(options, root / "rows.json"))
    rows = json.loads((root / "rows.json").read_text())
    left = [len(list((options.state / name).iterdir())) for name in ("runs", "manifests", "staging")]
    return {"killed": killed, "rows": rows, "left": left, "segments": segments.numbers(spool, segments.CLOSED)}


def read_back(options: SinkOptions, out: Path) -> None:
    import pyarrow.parquet as pq

    found = []
    for path in sorted(options.path.rglob("*.parquet")):
        table = pq.ParquetFile(path).read()
        name = table["event_name" if path.stem == "events" else "level"].to_pylist()
        where = str(path.relative_to(options.path))
        found += sorted([where, stamp, text] for stamp, text in zip(table["timestamp"].to_pylist(), name, strict=True))
    for path in sorted((options.state / "quarantine").iterdir()):
        found += [["quarantine", row["reason"], row["workspace_id"]] for row in pq.ParquetFile(path).read().to_pylist()]
    out.write_text(json.dumps(found))


if __name__ == "__main__":
    place = Path(sys.argv[1])
    told = {"spool": {step: spool_killed(place, step) for step in SPOOLING}}
    told["sink"] = {step: sink_killed(place, step) for step in ("", *SINKING)}
    print(json.dumps(told))
