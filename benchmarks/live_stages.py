"""Where the CPU time of a row goes that came as a JSON line over HTTP: every step by itself, in one thread.

What uvicorn, the kernel and the disk cost on top is in live.py's figures only.
"""

from __future__ import annotations

import argparse
import functools
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from live_traffic import EACH, requests
from tailrace.streams import records, segments
from tailrace.streams.decode import decode
from tailrace.streams.json_lines import check
from tailrace.streams.kinds import EVENTS
from tailrace.streams.manifests import make_state, read_range, write_run
from tailrace.streams.records import MAGIC, Record
from tailrace.streams.shape import shape
from tailrace.streams.sink_files import FileKey, FileState, FileWriter
from tailrace.streams.sink_options import SinkOptions


def spent(steps: dict[str, float], name: str, work: Callable[[], Any]) -> Any:
    """CPU seconds of the process, added up under the step's name."""
    before = time.process_time()
    found = work()
    steps[name] = steps.get(name, 0.0) + time.process_time() - before
    return found


def steps_of(root: Path, batches: int) -> dict[str, float]:
    """Seconds by step, for so many requests in one segment."""
    now = time.time_ns() // 1_000_000
    sent = [batch.stamped(now - turn).tobytes() for turn, batch in enumerate(requests())]
    pool = [request.partition(b"\r\n\r\n")[2] for request in sent]
    bodies = [pool[turn % len(pool)] for turn in range(batches)]
    options = SinkOptions("p", root / "parquet")
    make_state(options.state)
    steps: dict[str, float] = {}
    packed: list[bytes] = []
    for body in bodies:  # one after the other, as requests come: what is held in memory costs as well
        lines = spent(steps, "check", functools.partial(check, EVENTS, body, 10_000))
        packed.append(spent(steps, "pack", _record(lines.body, now).packed))
    segment = root / "segment"
    segment.write_bytes(MAGIC + b"".join(packed))
    read = spent(steps, "scan", lambda: list(segments.read(segment)))
    decoded = spent(steps, "decode", lambda: decode(read).table(EVENTS))
    shaped = spent(steps, "shape", lambda: shape(EVENTS, decoded, options).table)
    run = spent(steps, "write run", lambda: write_run(options.state, EVENTS, shaped, 1))
    (part,) = run.ranges
    rows = spent(steps, "read run", lambda: read_range(options.state, run, part))
    key, writer = FileKey(42, part.period, EVENTS), FileWriter(options)
    spent(steps, "write file", lambda: writer.renew(key, FileState(), rows, 1, root / "file"))
    return steps


def _record(body: bytes, now: int) -> Record:
    return Record(records.EVENT_LINES, 42, now, bytes(16), "http.h", body)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, default=2000)
    options = parser.parse_args()
    found: list[dict[str, float]] = []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as made:
            found.append(steps_of(Path(made), options.batches))
    rows = options.batches * EACH
    best = {name: sorted(steps[name] for steps in found)[1] / rows * 1e6 for name in found[0]}
    print(json.dumps({name: round(cost, 3) for name, cost in best.items()} | {"all": round(sum(best.values()), 2)}))


if __name__ == "__main__":
    main()
