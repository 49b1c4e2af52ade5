"""Logs with bytes changed, cut out, doubled and put in at random: nothing stops a run, nothing goes uncounted."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from spoiled import spoiled

if TYPE_CHECKING:
    from tests.conftest import World

_REST = '[17/May/2015:10:05:03 +0000] "GET /a?b=c HTTP/1.1" 200 12 "https://example.com/" "curl/8 (x; y)"'
_EVENT = {
    "eventVersion": "1.08", "eventTime": "2024-05-06T07:08:09Z", "eventName": "GetObject", "readOnly": True,
    "userIdentity": {"type": "IAMUser", "userName": "bob", "sessionContext": {"attributes": {"a": "b"}}},
    "requestParameters": {"key": "a/b", "list": [1, 2.5, None]}, "resources": [{"ARN": "arn:aws:s3:::b/k"}],
    "eventID": "e", "sourceIPAddress": "10.0.0.1",
}  # fmt: skip
SAMPLES = {
    "nginx_access_log": "".join(
        f"{front} - bob {_REST}{tail}\n"
        for front in ("1.2.3.4", "::1", "example.com:80 1.2.3.4", "1.1.1.1, 2.2.2.2", '"1.1.1.1" 2.2.2.2', "unix:")
        for tail in ("", ' "-"')
    ),
    "apache_access_log": "".join(f"{front} - - {_REST}\n" for front in ("1.2.3.4", "host", "www 1.2.3.4") * 4),
    "aws_vpc_flow_log": "version account-id interface-id srcaddr dstaddr srcport dstport protocol packets bytes "
    "start end action log-status\n"
    + "2 123456789010 eni-1235b8ca123456789 172.31.16.139 172.31.16.21 20641 22 6 20 4249 1418530010 1418530070 "
    "ACCEPT OK\n2 123456789010 eni-1 - - - - - - - 1431280876 1431280934 - NODATA\n" * 4,
    "aws_cloudtrail_log": json.dumps({"Records": [_EVENT] * 6}),
}


@pytest.mark.parametrize("table", SAMPLES)
def test_mutated_logs(table: str, world: World, tmp_path: Path) -> None:
    chance = random.Random(table)
    for number in range(40):
        data = spoiled(SAMPLES[table].encode(), chance)
        if number % 5 == 0:
            data = gzip.compress(data, mtime=0)
        if number % 10 == 0:
            data = spoiled(data, chance)
        (tmp_path / f"{number:02}.log").write_bytes(data)
    report = world.collect_one(table, str(tmp_path / "*.log"))
    counts = report.counts
    assert {t.code for t in report.troubles} <= {"data.failed-artifact", "data.partial-artifact"}
    assert counts.received == counts.stored + counts.quarantined
    assert counts.stored > 30
    rows = world.query(f"select tp_id, tp_timestamp, tp_extra->>'$.a' from {table}")
    assert len({row[0] for row in rows}) == len(rows) == counts.stored
    assert all(row[1] is not None for row in rows)
    refused = world.query("select count(*) from tp_quarantine where position >= 0")
    assert refused == [(counts.quarantined,)]
    world.query(f"select * from {table}")
    if table == "aws_cloudtrail_log":
        world.query(f"select request_parameters->>'$.a', resources->>'$.a' from {table}")
