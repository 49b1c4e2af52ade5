"""Syslog: what a writer of either RFC writes is read back, years are found, any bytes are stored or refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tailrace.core import Common, Syslog, Table, col
from tailrace.formats import decoder
from tailrace.formats.base import Bad, Dated
from tailrace.formats.years import MONTHS, with_years

NAMES = ("priority", "version", "timestamp", "hostname", "app_name", "proc_id", "msg_id", "structured_data", "message")
COLUMNS = tuple(col(name, "timestamp" if name == "timestamp" else "varchar") for name in (*NAMES, "level"))
TABLE = Table("t", "", Syslog(), COLUMNS, Common(time=()))
DECODER = decoder(TABLE, Syslog())
MOMENT = datetime(2024, 3, 2, 12, 0)


@dataclass
class Whole:
    data: bytes
    truncated: bool = False

    def __iter__(self) -> Iterator[bytes]:
        return iter([self.data])


def read(data: bytes) -> tuple[list[dict[str, Any]], list[Bad]]:
    rows: list[tuple[int, dict[str, Any]]] = []
    bad: list[Bad] = []
    for batch in DECODER.decode(Dated(Whole(data), MOMENT)):
        for row in range(batch.rows):
            values = {name: array[row].as_py() for name, array in batch.columns.items()}
            rows.append((int(batch.positions[row]), {n: v for n, v in values.items() if v is not None}))
        bad += batch.bad
    return [row for _, row in sorted(rows, key=lambda pair: pair[0])], bad


def test_the_year_is_the_latest_that_is_possible() -> None:
    texts = pa.array(["Mar  2 12:00:00", "Mar  3 11:59:59.5", "Mar  3 12:00:01", "Dec 31 23:59:59", "Feb 29 01:02:03"])
    assert with_years(texts, MOMENT).to_pylist() == [
        "2024-03-02 12:00:00",
        "2024-03-03 11:59:59.5",
        "2023-03-03 12:00:01",
        "2023-12-31 23:59:59",
        "2024-02-29 01:02:03",
    ]
    assert with_years(texts[4:], replace_year(2026)).to_pylist() == ["2024-02-29 01:02:03"]
    new_year = with_years(pa.array(["Jan  1 00:00:01", "Dec 31 23:00:00"]), datetime(2023, 12, 31, 23, 30))
    assert new_year.to_pylist() == ["2024-01-01 00:00:01", "2023-12-31 23:00:00"]


def replace_year(year: int) -> datetime:
    return MOMENT.replace(year=year)


def test_years_that_are_said_stay() -> None:
    texts = pa.array(["Mar  2 2019 12:00:00", "Mar  2 12:00:00 2018", "2017-03-02T12:00:00Z", None])
    assert with_years(texts, MOMENT).to_pylist() == [
        "2019-03-02 12:00:00", "2018-03-02 12:00:00", "2017-03-02T12:00:00Z", None
    ]  # fmt: skip


@given(st.datetimes(datetime(2015, 1, 1), datetime(2035, 1, 1)), st.timedeltas(timedelta(0), timedelta(days=363)))
@example(datetime(2021, 12, 31, 12), timedelta(days=363))
@example(datetime(2021, 2, 27), timedelta(days=363))
def test_times_within_a_year_get_their_year_back(moment: datetime, before: timedelta) -> None:
    written = (moment - before).replace(microsecond=0)
    text = f"{MONTHS[written.month - 1]} {written.day:2} {written:%H:%M:%S}"
    assert with_years(pa.array([text]), moment).to_pylist() == [f"{written:%Y-%m-%d %H:%M:%S}"]


word = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=8).filter(lambda t: t != "-")
name = word.map(lambda text: "x" + "".join(c for c in text if c not in '="][ '))
text = st.text(st.characters(exclude_characters="\n\r\ufeff", exclude_categories=("Cs", "Cc")), max_size=12)
message = text.map(lambda t: "m" + t)


def escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("]", "\\]")


@given(
    st.integers(0, 191),
    st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1)),
    st.tuples(word, word, word, word),
    st.dictionaries(name, st.dictionaries(name, text, max_size=2), max_size=2),
    st.none() | message,
)
def test_what_rfc_5424_writes_is_read_back(
    priority: int, time: datetime, words: tuple[str, ...], elements: dict[str, dict[str, str]], told: str | None
) -> None:
    data = "".join(
        f"[{key}{''.join(f' {n}={chr(34)}{escaped(v)}{chr(34)}' for n, v in inner.items())}]"
        for key, inner in elements.items()
    )
    line = f"<{priority}>1 {time.isoformat()}Z {' '.join(words)} {data or '-'}" + (f" {told}" if told else "")
    rows, bad = read(line.encode() + b"\n")
    assert not bad
    (row,) = rows
    found = json.loads(row.pop("structured_data", "{}"))
    assert found == elements
    expected = dict(zip(("hostname", "app_name", "proc_id", "msg_id"), words, strict=True))
    expected |= {"message": told} if told else {}
    assert row == expected | {"priority": str(priority), "version": "1", "timestamp": time}


@given(st.integers(0, 191), name, name, st.none() | st.integers(0, 99999), message)
def test_what_rfc_3164_writes_is_read_back(priority: int, host: str, app: str, pid: int | None, told: str) -> None:
    host, app = host.rstrip(":") or "h", app.replace(":", "").replace("(", "").replace(")", "")
    process = "" if pid is None else f"[{pid}]"
    rows, bad = read(f"<{priority}>Feb  1 01:02:03 {host} {app}{process}: {told}\n".encode())
    assert not bad
    expected = {"priority": str(priority), "timestamp": datetime(2024, 2, 1, 1, 2, 3), "hostname": host}
    expected |= {"app_name": app, "message": told} | ({"proc_id": str(pid)} if process else {})
    assert rows == [expected]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("94 <34>1 2024-03-01T10:00:00Z h a - - - \ufeffhello", {"message": "hello", "app_name": "a"}),
        ("Mar  1 10:00:00 h Google Chrome[12]: hi", {"app_name": "Google Chrome", "proc_id": "12"}),
        ("Mar  1 10:00:00 h launchd[1] (com.x[2]): hi", {"app_name": "launchd", "message": "hi"}),
        ("Mar  1 10:00:00 h a[1] <Warning>: hi", {"level": "Warning", "message": "hi"}),
        (
            "Mar  1 10:00:00: --- last message repeated 5 times ---",
            {"message": "--- last message repeated 5 times ---"},
        ),
        ("*Mar  1 10:00:00.123 router %SYS-5-CONFIG: hi", {"hostname": "router", "message": "hi"}),
        ("2024-03-01T10:00:00+00:00 h no tag at all", {"hostname": "h", "message": "no tag at all"}),
    ],
)
def test_forms(line: str, expected: dict[str, str]) -> None:
    rows, bad = read(f"{line}\n".encode())
    assert not bad
    assert expected.items() <= rows[0].items()


@given(st.binary(max_size=120))
def test_any_bytes_are_stored_or_refused(data: bytes) -> None:
    rows, bad = read(data)
    assert len(rows) + len(bad) <= data.count(b"\n") + 1


@given(st.text("<>1234 JanFeb:[]-\n", max_size=80))
def test_nearly_syslog_is_stored_or_refused(data: str) -> None:
    rows, bad = read(data.encode())
    assert len(rows) + len(bad) <= data.count("\n") + 1


def test_a_message_goes_on_to_the_next_that_begins() -> None:
    rows, bad = read(b"Mar  1 10:00:00 h a: one\n  two\n\nthree\nMar  1 10:00:01 h a: four\n")
    assert [row["message"] for row in rows] == ["one\n  two\n\nthree", "four"]
    assert not bad


def test_tables_may_leave_fields_out() -> None:
    table = replace(TABLE, columns=(col("message"),))
    batches = decoder(table, Syslog()).decode(Whole(b"Mar  1 10:00:00 h a: one\n"))
    (batch,) = [batch for batch in batches if batch.rows]
    assert batch.columns["message"].to_pylist() == ["one"]
