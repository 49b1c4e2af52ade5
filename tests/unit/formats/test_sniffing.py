"""Tables that can be written in several formats take each stream for what it begins as."""

from __future__ import annotations

import io
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tailrace.core import Format, Parquet
from tailrace.core.registry import find_table
from tailrace.formats import decoder
from tailrace.formats.base import Batch, Dated, Growing, moment_of
from tailrace.formats.sniffing import Again, SniffingDecoder, begins_as, others
from tailrace.testing.decoding import Chunks
from tailrace.testing.golden import computed

GOLDEN = Path(__file__).parents[2] / "golden"
TEXT = b"2024-06-10 06:13:20 UTC [1] LOG:  ready\n"
RECORD = b'2024-06-10 06:13:21 UTC,"shop","orders",7,"192.0.2.7:1",a.1,1,"",2024-06-10 06:13:00 UTC,,0,LOG,00000,"x, y"'
CSV = RECORD + b",,,,,,,,,\n"
JSON = b'{"timestamp":"2024-06-10 06:13:22 UTC","pid":9,"error_severity":"LOG","message":"hello"}\n'


def table_of(name: str) -> Any:
    found = find_table(name)
    assert found is not None
    return found


def rows(name: str, *chunks: bytes) -> list[dict[str, Any]]:
    table = table_of(name)
    found: list[dict[str, Any]] = []
    for batch in decoder(table, table.format).decode(Chunks(chunks)):
        assert not batch.bad
        found += _rows(table, batch)
    return found


def _rows(table: Any, batch: Batch) -> list[dict[str, Any]]:
    columns = computed(table, batch)
    return [{name: columns[name][row].as_py() for name in columns} for row in range(batch.rows)]


@pytest.mark.parametrize(
    ("data", "second", "message"),
    [(TEXT, 20, "ready"), (CSV, 21, "x, y"), (JSON, 22, "hello"), (b"\n \n" + JSON, 22, "hello")],
)
@pytest.mark.parametrize("cut", [0, 1, 30])
def test_a_postgres_log_is_text_csv_or_json(data: bytes, second: int, message: str, cut: int) -> None:
    (row,) = rows("postgres_log", data[:cut], data[cut:])
    assert (row["log_time"], row["message"]) == (datetime(2024, 6, 10, 6, 13, second), message)


def test_windows_events_are_json_or_xml() -> None:
    xml = (
        b"<Event><System><Provider Name='p'/><EventID>4625</EventID>"
        b"<TimeCreated SystemTime='2024-06-10T06:13:20Z'/></System></Event>"
    )
    assert [row["event_id"] for row in rows("windows_event_log", xml)] == [4625]
    event = {"EventID": 4624, "EventTime": "2024-06-10T06:13:20Z"}
    assert [row["event_id"] for row in rows("windows_event_log", json.dumps([event, event]).encode())] == [4624, 4624]


def test_flow_logs_are_lines_or_parquet() -> None:
    file = io.BytesIO()
    pq.write_table(pa.table({"version": [5], "srcaddr": ["10.0.0.1"], "start": [1_718_000_000]}), file)
    (row,) = rows("aws_vpc_flow_log", file.getvalue()[:3], file.getvalue()[3:])
    assert (row["src_addr"], row["start_time"]) == ("10.0.0.1", datetime(2024, 6, 10, 6, 13, 20))


def test_leef_is_told_from_cef() -> None:
    leef = b"LEEF:1.0|Vendor|Product|1.0|login|devTime=1718000000000\tsrc=192.0.2.7\n"
    assert len(rows("cef", leef)) == len(rows("cef", b"CEF:0|V|P|1|7|login|5|rt=1718000000000 src=192.0.2.7\n")) == 1


def test_what_was_asked_for_is_what_is_read() -> None:
    table = table_of("postgres_log")
    presets: dict[str, Format] = {preset.name: preset.format for preset in table.presets}
    assert others(table, presets["csv"]) == ()
    assert others(table, table.format) == tuple(presets[n] for n in ("csv", "json", "cloudnative", "cloudsql"))
    assert not isinstance(decoder(table, presets["json"]), SniffingDecoder)
    assert others(table_of("syslog"), table_of("syslog").format) == ()


def test_own_golden_records_look_like_no_other_format() -> None:
    for directory in GOLDEN.iterdir():
        table = find_table(directory.name)
        if table is not None:
            (given,) = directory.glob("in.*")
            assert not any(begins_as(other, given.read_bytes()) for other in others(table, table.format)), table.name


def test_a_format_that_is_read_whole_is_not_read_on() -> None:
    file = io.BytesIO()
    pq.write_table(pa.table({"version": [5]}), file)
    for name, data, goes_on in (("aws_cost_and_usage_focus", file.getvalue(), False), ("postgres_log", JSON, True)):
        table = table_of(name)
        grows = Growing(Chunks([data]), lambda: True)
        list(decoder(table, table.format).decode(grows))
        assert grows.goes_on is goes_on


def test_a_look_at_the_beginning_hides_nothing() -> None:
    moment = datetime(2024, 6, 10)
    stream = Again(Dated(Chunks([b"ab", b"c"], truncated=True), moment))
    assert stream.head() == b"abc"
    assert b"".join(stream) == b"abc"
    assert (stream.truncated, moment_of(stream)) == (True, moment)
    assert begins_as(Parquet(), b"PAR1")
