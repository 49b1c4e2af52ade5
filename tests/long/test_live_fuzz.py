"""Decoders of live data on spoiled input: nothing is raised, nothing grows, and nothing takes long.

`TAILRACE_FUZZ_SECONDS` says for how long each is tried, ten minutes otherwise, `TAILRACE_FUZZ_SEED` with what.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable

import flatwrite as fw
import pytest
from otlpwrite import json_resource_logs, resource_logs

from tailrace.streams import records
from tailrace.streams.decode import decode
from tailrace.streams.json_lines import check
from tailrace.streams.kinds import EVENTS, KINDS, LOGS, SNAPSHOTS
from tailrace.streams.records import IPV4_PREFIX, Record, framed
from tailrace.streams.syslog_listener import cut

SECONDS = float(os.environ.get("TAILRACE_FUZZ_SECONDS", "600"))
NOW = 1_700_000_000_000
LINES = {
    EVENTS: b'{"type":"track","device_id":"550e8400-e29b-41d4-a716-446655440000","event":"e","properties":{"a":[1]}}',
    LOGS: b'{"message":"m","level":"warn","data":{"a":{"b":null}},"session_id":"550e8400e29b41d4a716446655440000"}',
    SNAPSHOTS: b'{"source":"github","entity":"a/b","timestamp":1700000000000,"stars":7}',
}
SYSLOG = (
    b"<134>Jan 15 12:00:00 host app[17]: message 5", b'<134>1 2024-01-15T12:00:00.000Z h a 1 ID [x@1 k="v"] text',
    b"<13>plain",
)  # fmt: skip
LOG = {"time": NOW * 10**6, "body": "text", "severity": 17, "attributes": {"a": 1, "b": ["x", {"c": 2.5}]}}
STRANGE = (b"\0", b"\xff", b"\xff\xff\xff\x7f", b"\n", b'"', b"{", b"\\u0000", b"\xed\xa0\x80", b"1e999", b"<999>")


def spoiled(dice: random.Random, data: bytes) -> bytes:
    found = bytearray(data)
    for _ in range(dice.choice((1, 1, 2, 5, 20))):
        at = dice.randrange(len(found) + 1)
        kind = dice.randrange(5)
        if kind == 0 and found:
            found[at - 1] ^= 1 << dice.randrange(8)
        elif kind == 1:
            found[at:at] = dice.choice(STRANGE)
        elif kind == 2:
            del found[at : at + dice.randrange(1, 40)]
        elif kind == 3:
            found[at : at + 4] = dice.randrange(2**32).to_bytes(4, "little")
        else:
            found[at:at] = found[dice.randrange(len(found) + 1) :][:60]
    return bytes(found)


def frames(dice: random.Random) -> tuple[int, bytes]:
    some = [fw.event(n, service="s") for n in range(3)]
    message = dice.choice((
        fw.events(some), fw.events(some, "v1"), fw.built_events(some), fw.logs([fw.log(1)]),
        fw.snapshots([fw.snapshot(1)]),
    ))  # fmt: skip
    return records.FRAMES, framed([spoiled(dice, message) for _ in range(5)])


def lines(dice: random.Random) -> tuple[int, bytes]:
    kind = dice.choice(KINDS)
    body = b"\n".join(spoiled(dice, LINES[kind]) for _ in range(5))
    found = check(kind, body, 10_000)
    # What was accepted can be stored.
    number = {EVENTS: records.EVENT_LINES, LOGS: records.LOG_LINES, SNAPSHOTS: records.SNAPSHOT_LINES}[kind]
    rows = decode([Record(number, 1, NOW, bytes(16), "l", found.body)])
    assert not rows.refused
    assert rows.table(kind).num_rows == found.count
    return number, body


def syslog(dice: random.Random) -> tuple[int, bytes]:
    messages, rest = cut(b"\n".join(spoiled(dice, dice.choice(SYSLOG)) for _ in range(5)), at_end=True)
    assert not rest
    return records.SYSLOG, b"".join(IPV4_PREFIX + bytes(4) + framed([message]) for message in messages)


def otlp(dice: random.Random) -> tuple[int, bytes]:
    given = ({"service.name": "s"}, "scope", [LOG, LOG])
    if dice.randrange(2):
        return records.OTLP_PROTO, spoiled(dice, resource_logs(*given))
    return records.OTLP_JSON, spoiled(dice, json.dumps({"resourceLogs": [json_resource_logs(*given)]}).encode())


@pytest.mark.parametrize("make", [frames, lines, syslog, otlp])
def test_spoiled_input(
    make: Callable[[random.Random], tuple[int, bytes]], record_property: Callable[[str, object], None]
) -> None:
    seed = int(os.environ.get("TAILRACE_FUZZ_SEED", time.time_ns() % 10**9))
    dice, cases, rows = random.Random(seed), 0, 0
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        kind, body = make(dice)
        before = time.process_time()
        found = decode([Record(kind, 1, NOW, bytes(16), "l", body)])
        assert time.process_time() - before < 2, (seed, cases, body)
        # A decoder that fails is caught, so that it holds up nothing; here it is a defect.
        assert not [one for one in found.refused if one.reason.startswith("decode:")], (seed, cases, found.refused)
        for name in KINDS:
            table = found.table(name)
            rows += table.num_rows
            assert table.nbytes < 1000 * len(body) + 100_000, (seed, cases, body)
        cases += 1
    record_property(f"cases of {make.__name__}", cases)
    record_property(f"rows of {make.__name__}", rows)
