"""One object of gigabytes (TAILRACE_HUGE_GB, 20 unless told), over connections that break, in bounded memory."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

from commandline import Home, killed_afterwards
from hugeobject import HugeObject, serving

Noted = Callable[[str, object], None]
GIGABYTES = float(os.environ.get("TAILRACE_HUGE_GB", "20"))
MOST_MEMORY = 2_000_000_000
"Of all processes together, JVM included."
CONFIG = """
partition "nginx_access_log" "huge" {
  source "aws_s3_bucket" { bucket = "logs" }
}
"""


def block(count: int = 100_000) -> bytes:
    """Lines of one day that differ in every field."""
    return b"".join(
        b'10.%d.%d.%d - user%d [17/Oct/2026:%02d:%02d:%02d +0000] "GET /item/%d?session=%08x HTTP/1.1" %d %d '
        b'"https://example.com/%d" "Mozilla/5.0 (X11; Linux x86_64; rv:%d.0) Gecko/20100101 Firefox/%d.0"\n'
        % (n % 8, n % 250, n % 199, n % 500, n // 10_800 % 24, n // 180 % 60, n // 3 % 60, n, n * 2654435761 % 2**32,
           200 + n % 4, n % 90_000, n % 700, n % 90, n % 90)
        for n in range(count)
    )  # fmt: skip


def memory(home: Home) -> tuple[int, int]:
    """Resident bytes of all processes of the home: as each counts them, and with shared pages counted once."""
    rss = pss = 0
    for pid in home.processes():
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        told = {line.split(":")[0]: int(line.split()[1]) << 10 for line in lines[1:]}
        rss, pss = rss + told["Rss"], pss + told["Pss"]
    return rss, pss


def test_an_object_of_many_gigabytes(home: Home, record_property: Noted) -> None:
    lines = block()
    repeats = int(GIGABYTES * 1e9) // len(lines) + 1
    home.configure(CONFIG)
    keys = {"AWS_ACCESS_KEY_ID": "AKIDTEST", "AWS_SECRET_ACCESS_KEY": "stand-in", "AWS_REGION": "eu-west-1"}
    most_rss = most_pss = 0
    with serving(HugeObject(lines, repeats, cut_every=2_000_000_000)) as held:
        began = time.monotonic()
        with killed_afterwards(home.start("collect", "--output", "json", AWS_ENDPOINT_URL=held.url, **keys)) as process:
            while process.poll() is None:
                rss, pss = memory(home)
                most_rss, most_pss = max(most_rss, rss), max(most_pss, pss)
                time.sleep(0.5)
            out, err = process.communicate()
        seconds = time.monotonic() - began
    assert process.returncode == 0, err
    (partition,) = json.loads(out)["partitions"]
    record_property("MB of one object", held.size // 1_000_000)
    record_property("rows", partition["rows"]["stored"])
    record_property("seconds", round(seconds))
    record_property("times that the connection broke", len(held.ranges) - 1)
    record_property("largest sum of all processes, PSS in MB", most_pss // 1_000_000)
    record_property("largest sum of all processes, RSS in MB", most_rss // 1_000_000)
    assert partition["rows"]["received"] == partition["rows"]["stored"] == 100_000 * repeats
    assert len(held.ranges) - 1 >= held.size // 2_100_000_000
    assert held.ranges == sorted(held.ranges)
    assert most_pss < MOST_MEMORY
    (row,) = home.query(
        "select count(*) as n, sum(body_bytes_sent)::bigint as bytes, count(distinct request_uri) as targets "
        "from nginx_access_log"
    )
    assert row == {
        "n": 100_000 * repeats,
        "bytes": repeats * sum(n % 90_000 for n in range(100_000)),
        "targets": 100_000,
    }
