"""What shippers put before each line, and leave out between lines: the records are those of the log itself."""

from __future__ import annotations

import json

import numpy as np
import pytest
from layoutread import Chunks

from tailrace.core import Common, Format, Json, Jsonl, Table, col
from tailrace.core.registry import find_table
from tailrace.formats import decoder

COLUMNS = (col("a", "integer"), col("b"))
FRONTS = (
    b"2024-07-05T10:00:00.000Z ",
    b"2024-07-05T10:00:00.123456789Z stdout F ",
    b"Jul  5 10:00:00 ids suricata[12]: ",
    b"<134>1 2024-07-05T10:00:00Z ids suricata 12 - - @cee: ",
    b"ip-10-0-1-2.example.internal ",
)


def read(fmt: Format, *chunks: bytes) -> tuple[list[tuple[int, int | None]], list[bytes]]:
    """Places and values of the rows, and what was refused."""
    table = Table("t", "", fmt, COLUMNS, Common(time=()))
    rows: list[tuple[int, int | None]] = []
    bad: list[bytes] = []
    for batch in decoder(table, fmt).decode(Chunks(chunks)):
        values = batch.columns["a"].to_pylist() if batch.rows else []
        rows += zip(batch.positions.tolist(), values, strict=True)
        bad += [b.raw for b in batch.bad]
    return sorted(rows), bad


@pytest.mark.parametrize("front", FRONTS)
def test_lines_of_json_with_something_before_them(front: bytes) -> None:
    data = b"".join(b'%s{"a":%d,"b":"%s{}"}\n' % (front, n, front) for n in range(3))
    size = len(data) // 3
    expected = [(0, 0), (size, 1), (2 * size, 2)], []
    assert read(Jsonl(), data) == expected
    assert read(Jsonl(), *(data[at : at + 7] for at in range(0, len(data), 7))) == expected
    assert read(Json(), data) == ([(0, 0), (1, 1), (2, 2)], [])


def fields_without_column(fmt: Format, data: bytes) -> list[dict[str, object]]:
    """Per row, in the order of the log."""
    table = Table("t", "", fmt, COLUMNS, Common(time=()))
    extras: list[dict[str, object]] = []
    for batch in decoder(table, fmt).decode(Chunks([data])):
        texts = batch.extra.to_pylist() if batch.extra is not None else [None] * batch.rows
        extras += [json.loads(texts[row]) if texts[row] else {} for row in np.argsort(batch.positions).tolist()]
    return extras


@pytest.mark.parametrize("fmt", [Json(), Jsonl()])
@pytest.mark.parametrize("front", [*FRONTS, b'2024-07-05T10:00:00\\"Z \xff '])
def test_what_stands_before_is_kept(fmt: Format, front: bytes) -> None:
    data = b"".join(b'%s{"a":%d,"c":1}\n' % (front, n) for n in range(3)) + b'{"a":3}\n'
    before = {"tp_before": front.decode(errors="replace").strip(), "c": 1}
    assert fields_without_column(fmt, data) == [before, before, before, {}]


def test_lines_that_are_refused_are_kept_as_sent() -> None:
    lines = b'2024-07-05T10:00:00Z {"a":1}\n2024-07-05T10:00:01Z {"a":\n2024-07-05T10:00:02Z {"a":3,"b":"\xff"}\n'
    rows, bad = read(Jsonl(), lines)
    assert (rows, bad) == ([(0, 1), (56, 3)], [b'2024-07-05T10:00:01Z {"a":'])
    table = Table("t", "", Jsonl(), COLUMNS, Common(time=()))
    (batch,) = decoder(table, table.format).decode(Chunks([lines]))
    sent = lines.splitlines()
    assert [batch.raw(row) for row in np.argsort(batch.positions).tolist()] == [sent[0], sent[2]]


def test_only_the_first_line_tells() -> None:
    lines = b'{"a":1}\n2024-07-05T10:00:00.000Z {"a":2}\n'
    assert read(Jsonl(), lines) == ([(0, 1)], [b'2024-07-05T10:00:00.000Z {"a":2}'])


def test_a_line_without_what_the_others_have_before_them_is_a_line() -> None:
    assert read(Jsonl(), b'2024-07-05T10:00:00.000Z {"a":1}\n{"a":2}\nnone\n') == ([(0, 1), (33, 2)], [b"none"])


def test_objects_without_line_ends() -> None:
    """As Firehose delivers what its sources send."""
    assert read(Jsonl(), b'{"a":1}{"a":2}{"a":3,"b":"}{"}\n{"a":4}\n') == ([(0, 1), (7, 2), (14, 3), (31, 4)], [])
    assert read(Jsonl(), b'{"a":1}{"a":\n') == ([], [b'{"a":1}{"a":'])
    assert read(Jsonl(unwrap=("w",)), b'{"w":[{"a":1},{"a":2}]}{"w":{"a":3}}\n') == ([(0, 1), (1, 2), (23, 3)], [])


FLOW = b"2 123456789012 eni-1 192.0.2.1 192.0.2.2 20641 22 6 20 4249 1720173600 1720173660 ACCEPT OK"


@pytest.mark.parametrize(
    "data",
    [
        b"2024-07-05T10:00:00.000Z %s\n2024-07-05T10:00:01.000Z %s\n" % (FLOW, FLOW),
        b'{"events":[{"timestamp":1,"message":"%s"},{"message":"%s"}],"searchedLogStreams":[]}' % (FLOW, FLOW),
    ],
)
def test_flows_as_cloudwatch_exports_them(data: bytes) -> None:
    table = find_table("aws_vpc_flow_log")
    assert table is not None
    batches = list(decoder(table, table.format).decode(Chunks([data])))
    assert [port for batch in batches if batch.rows for port in batch.columns["dst_port"].to_pylist()] == [22, 22]
    assert not any(batch.bad for batch in batches)
