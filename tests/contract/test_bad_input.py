"""Whatever is in the files: everything good is stored, everything else is counted, named and kept."""

from __future__ import annotations

import errno
import gzip
import json
from datetime import datetime
from typing import Any

import pytest
from inboxes import NGINX, Inbox, line, lines

from tailrace.core import TimeRange

STRANGE = {
    "nothing": (b"", 0, 0),
    "nothing compressed": (gzip.compress(b""), 0, 0),
    "blank lines": (b"\n\r\n \t\n\n", 0, 0),
    "no line end": (line(1) + line(2, end=""), 2, 0),
    "mixed line ends": (line(1, end="\r\n") + line(2) + line(3, end="\r\n"), 3, 0),
    "byte order mark": (b"\xef\xbb\xbf" + line(1), 1, 0),
    "utf-16": (lines(4).decode().encode("utf-16"), 4, 0),
    "utf-16 big endian": (b"\xfe\xff" + lines(4).decode().encode("utf-16-be"), 4, 0),
    "NUL in a field": (line("a\0b") + line(2), 2, 0),
    "NUL lines": (line(1) + b"\0" * 512 + b"\n" + line(2), 2, 1),
    "invalid utf-8": (line(1).replace(b"curl", b"\xff\xfe\x80") + line(2), 2, 0),
    "garbage": (line(1) + b"no access log\n" + line(2), 2, 1),
    "torn line": (line(1) + line(2)[:40] + b"\n" + line(3), 2, 1),
    "two lines in one": (line(1) + line(2)[:40] + line(3), 1, 1),
    "two lines in one, by a blank": (line(1) + line(2)[:41] + line(3), 1, 1),
    "binary": (line(1) + bytes(range(256)) * 4 + b"\n" + line(2), 2, 5),
    "month 13": (line(1) + line(2).replace(b"May", b"Foo"), 1, 1),
    "31 February": (line(1).replace(b"17/May", b"31/Feb"), 0, 1),
    "named gz, plain": (lines(2), 2, 0),
    "gz members and padding": (gzip.compress(line(1)) + gzip.compress(line(2)) + b"\0" * 100, 2, 0),
}


@pytest.mark.parametrize("kind", STRANGE)
def test_strange_text(kind: str, inbox: Inbox) -> None:
    data, stored, refused = STRANGE[kind]
    inbox.put(f"{kind}.log.gz", data)
    report = inbox.collect()
    assert report.clean
    assert (report.counts.stored, report.counts.quarantined) == (stored, refused)
    for reason, raw, length in inbox.refused():
        assert raw in data
        assert length == len(raw)
        assert reason.startswith(("layout: no match", "row: no timestamp"))


def test_what_is_not_utf8_is_flagged(inbox: Inbox) -> None:
    inbox.put("a.log", line(1).replace(b"curl", b"c\xffrl"))
    assert inbox.collect().counts.flagged == 1
    ((agent, extra),) = inbox.world.query(f"select http_user_agent, tp_extra from {NGINX} where tp_extra is not null")
    assert agent == "c\ufffdrl/8"
    assert "tp_misfit" in json.loads(extra)


def test_only_stored_rows_count_as_flagged(inbox: Inbox) -> None:
    odd = line(1).replace(b" 200 ", b" 2x0 ")
    inbox.put("a.log", odd + odd.replace(b"May", b"Foo") + line(2))
    counts = inbox.collect().counts
    assert (counts.stored, counts.quarantined, counts.flagged) == (2, 1, 1)


def test_values_out_of_range_are_kept(inbox: Inbox) -> None:
    inbox.put("a.log", line(1).replace(b" 200 12 ", b" 99999999999 -7x "))
    assert inbox.collect().counts.flagged == 1
    ((status, size, extra),) = inbox.world.query(
        f"select status, body_bytes_sent, tp_extra from {NGINX} where tp_extra is not null"
    )
    assert (status, size) == (None, None)
    assert json.loads(extra)["tp_misfit"] == {"status": "99999999999", "body_bytes_sent": "-7x"}


def test_a_line_of_100_megabytes(inbox: Inbox) -> None:
    long = b"x" * (100 << 20)
    inbox.put("a.log", line(1) + long + b"\n" + line(2))
    report = inbox.collect()
    assert (report.counts.stored, report.counts.quarantined) == (2, 1)
    ((reason, raw, length),) = inbox.refused()
    assert reason.startswith("line: longer than ")
    assert length == len(long)
    assert raw == long[:65536]


@pytest.mark.parametrize(
    "spelled", ["request_uri[2:]::int > 1", "(select u.n > 1 from (select request_uri[2:]::int as n) u)"]
)
def test_a_filter_that_raises(spelled: str, inbox: Inbox) -> None:
    inbox.put("a.log", lines(5) + line("x") + line("y"))
    inbox.world.write_config(
        f'partition "{NGINX}" "p" {{\n filter = "{spelled}"\n source "file" {{\n paths = ["{inbox.folder}"]\n}}\n}}'
    )
    (report,) = inbox.world.collect()
    counts = report.counts
    assert (counts.received, counts.stored, counts.filtered, counts.quarantined) == (7, 3, 2, 2)
    assert [raw for _, raw, _ in inbox.refused()] == [line("x", end=""), line("y", end="")]
    assert all(reason.startswith("filter: ") and "INT32" in reason for reason, _, _ in inbox.refused())


def test_rows_outside_the_range_are_counted(inbox: Inbox) -> None:
    inbox.put("a.log", lines(5) + line().replace(b"2015", b"2014"))
    inbox.world.write_config(f'partition "{NGINX}" "p" {{\n source "file" {{\n paths = ["{inbox.folder}"]\n}}\n}}')
    (report,) = inbox.world.collect(window=TimeRange(datetime(2015, 1, 1)))
    assert (report.counts.received, report.counts.stored, report.counts.out_of_range) == (6, 5, 1)


def test_a_full_disk(inbox: Inbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is committed and nothing is left; the next run has it all."""

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    inbox.put("a.log", lines(5))
    monkeypatch.setattr("pyarrow.parquet.ParquetWriter.write_table", full)
    report = inbox.world.collect_one(NGINX, str(inbox.folder))
    (trouble,) = report.troubles
    assert "No space left on device" in trouble.message
    assert trouble.code == "collect.rolled-back"
    root = inbox.world.lake.table_root(NGINX).path
    assert not list(root.rglob("*.parquet"))
    monkeypatch.undo()
    (report,) = inbox.world.collect()
    assert report.clean
    assert inbox.count() == 5
