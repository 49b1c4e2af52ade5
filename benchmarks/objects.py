"""Many small objects of a bucket: what is asked for, how fast they come, and how much memory that takes.

The server is a stand-in for S3 (object_server.py) that answers every request after 20 ms. moto's server has the same
protocol, but looks at all objects for every page of a listing.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from socket import socket
from typing import Any

import report
from measure import Cost, measure
from object_server import EVENTS
from run import CACHE, make_archive

MANY, SOME, SINGLE = 100_000, 10_000, 1_000
DELAY = 0.02
KEYS = {"AWS_ACCESS_KEY_ID": "AKIDTEST", "AWS_SECRET_ACCESS_KEY": "stand-in", "AWS_REGION": "eu-west-1"}
CONFIG = """partition "aws_cloudtrail_log" "org" {
  source "aws_s3_bucket" { bucket = "trails" }
}
"""


@contextmanager
def server(count: int) -> Iterator[str]:
    """The stand-in with so many objects, in a process of its own."""
    with socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, str(report.HERE / "object_server.py"), str(port), str(count), str(DELAY)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def counts(url: str) -> dict[str, Any]:
    """What was asked since the last time."""
    with urllib.request.urlopen(f"{url}/-/counts") as answer:
        told: dict[str, Any] = json.load(answer)
    return {"lists": 0, "gets": 0, **told}


def collect(home: Path, url: str, *more: str) -> tuple[Cost, dict[str, Any]]:
    """One command of a user; its cost and its summary."""
    (home / "config").mkdir(parents=True, exist_ok=True)
    (home / "config" / "bench.tpc").write_text(CONFIG)
    tailrace = str(Path(sys.executable).with_name("tailrace"))
    command = [tailrace, "--home", str(home), "collect", "--no-progress", "--output", "json", *more]
    cost = measure(command, {**CACHE, **KEYS, "AWS_ENDPOINT_URL": url})
    if cost.returncode:
        sys.exit(f"{' '.join(command)}: exit code {cost.returncode}\n{cost.stderr}")
    (told,) = json.loads(cost.stdout)["partitions"]
    return cost, told


def result(what: str, cost: Cost, told: dict[str, Any], asked: dict[str, Any], **more: object) -> report.Result:
    taken, rows = told["artifacts"], told["rows"]["stored"]
    assert rows == taken["collected"] * EVENTS, told
    line = {
        "what": what, "wall": cost.wall, "cpu": cost.cpu, "peak_rss": cost.peak_rss, "peak_pss": cost.peak_pss,
        "listed": taken["discovered"], "collected": taken["collected"], "lists": asked["lists"], "gets": asked["gets"],
        **more,
    }  # fmt: skip
    print(json.dumps(line), flush=True)
    return line


def one_day(url: str, root: Path) -> list[report.Result]:
    """Only the prefixes of that day may be touched, below those of accounts and regions."""
    day = datetime.now(UTC) - timedelta(days=12)
    counts(url)
    window = ("--from", f"{day:%Y-%m-%d}", "--to", f"{day + timedelta(days=1):%Y-%m-%d}")
    cost, told = collect(root / "day", url, *window)
    asked = counts(url)
    days = {found[0] for prefix in asked["prefixes"] if (found := re.search(r"\d{4}/\d\d/\d\d/", prefix))}
    return [result("one day of 30", cost, told, asked, days_listed=sorted(days))]


def everything(url: str, root: Path) -> list[report.Result]:
    """All objects, and then nothing new."""
    counts(url)
    first = result("everything", *collect(root / "all", url), counts(url), most_memory=2_000)
    again = result("again, nothing new", *collect(root / "all", url), counts(url), most_wall=5.0)
    return [first, again]


def ahead(url: str, root: Path) -> list[report.Result]:
    """The whole command beside a loop that downloads one object after the other."""
    single = one_by_one(url)
    counts(url)
    cost, told = collect(root / "some", url)
    rate = told["artifacts"]["collected"] / cost.wall
    return [result("objects ahead", cost, told, counts(url), rate=rate, single=single, least_ratio=5)]


def one_by_one(url: str) -> float:
    """Objects a second, over one connection that is kept, with nothing else done."""
    import obstore
    from obstore.store import S3Store

    store = S3Store("trails", endpoint=url, region="eu-west-1", client_options={"allow_http": True},
                    access_key_id="AKIDTEST", secret_access_key="stand-in")  # fmt: skip
    names = [meta["path"] for chunk in obstore.list(store, chunk_size=1000) for meta in chunk][:SINGLE]
    began = time.perf_counter()
    for name in names:
        obstore.get(store, name).bytes()
    return len(names) / (time.perf_counter() - began)


Part = Callable[[str, Path], list[report.Result]]
PARTS: dict[str, tuple[int, Part]] = {
    "day": (MANY, one_day),
    "everything": (MANY, everything),
    "ahead": (SOME, ahead),
}


def main() -> None:
    """Starts the server of each part, and measures in a process beside it: what it holds is none of ours."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=PARTS, help="one part; without it, all")
    parser.add_argument("--at", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.at:
        with tempfile.TemporaryDirectory() as folder:
            report.keep_named("objects", "what", PARTS[args.only][1](args.at, Path(folder)))
        return
    make_archive()
    for name in [args.only] if args.only else PARTS:
        with server(PARTS[name][0]) as url:
            subprocess.run([sys.executable, __file__, "--only", name, "--at", url], env=os.environ, check=True)
    report.write()


if __name__ == "__main__":
    main()
