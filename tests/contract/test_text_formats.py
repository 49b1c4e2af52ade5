"""Formats of text in `format` blocks and as `format.<type>.default`, from configuration to rows."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from world import World

from tailrace.core import ConfigError, TimeRange

CONFIG = """
table "app" {{
  format = {format}
  {more}
  column "tp_timestamp" {{
    source = "{time}"
    type   = "timestamp"
    {spelled}
  }}
}}
partition "app" "p" {{ source "file" {{ paths = ["{path}"] }} }}
"""


def rows(
    world: World, path: Path, text: str, sql: str, *, format: str, time: str, more: str = "", spelled: str = ""
) -> list[tuple[Any, ...]]:
    path.write_text(text)
    own = 'map_fields = ["*"]' + more
    world.write_config(CONFIG.format(format=format, more=own, time=time, spelled=spelled, path=path))
    (report,) = world.collect()
    assert report.clean
    return world.query(sql)


def test_logfmt_keys_become_columns(world: World, tmp_path: Path) -> None:
    text = (
        'time=2024-07-05T10:00:00Z level=info msg="two words" took=12\ntime=2024-07-05T10:00:01Z level=warn extra=1\n'
    )
    sql = "select level, msg, extra, tp_timestamp from app order by tp_timestamp"
    found = rows(world, tmp_path / "app.log", text, sql, format="format.logfmt.default", time="time")
    assert [row[:3] for row in found] == [("info", "two words", None), ("warn", None, "1")]


def test_ltsv(world: World, tmp_path: Path) -> None:
    spelled = 'time = "[%d/%b/%Y:%H:%M:%S %z]"'
    text = "time:[05/Jul/2024:12:00:00 +0200]\thost:192.0.2.1\tstatus:200\n"
    found = rows(
        world, tmp_path / "app.log", text, "select host, status, tp_timestamp::varchar from app",
        format='{ type = "ltsv" }', time="time", spelled=spelled,
    )  # fmt: skip
    assert found == [("192.0.2.1", "200", "2024-07-05 10:00:00")]


def test_zeek_columns_are_typed_by_the_header(world: World, tmp_path: Path) -> None:
    text = (
        "#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n#path\tdns\n"
        "#fields\tts\tquery\trcode\trtt\trejected\tanswers\n#types\ttime\tstring\tcount\tinterval\tbool\tvector[string]\n"
        "1720173600.5\twww.example.com\t0\t0.25\tF\t192.0.2.1,192.0.2.2\n1720173601.5\tx.example.com\t3\t-\tT\t-\n"
    )
    sql = "select query, rcode + 1, rtt * 2, rejected, answers ->> 0 from app order by tp_timestamp"
    found = rows(
        world, tmp_path / "dns.log", text, sql, format="format.zeek.default", time="ts", spelled='time = "epoch_s"'
    )
    assert found == [("www.example.com", 1, 0.5, False, "192.0.2.1"), ("x.example.com", 4, None, True, None)]


def test_w3c_with_fields_of_ones_own(world: World, tmp_path: Path) -> None:
    text = "2024-07-05 10:00:00 192.0.2.1 200\n#Fields: date time sc-status\n2024-07-05 10:00:01 404\n"
    found = rows(
        world, tmp_path / "app.log", text, 'select "c-ip", "sc-status" from app order by tp_timestamp',
        format='{ type = "w3c", fields = ["date", "time", "c-ip", "sc-status"] }', time="date_time",
    )  # fmt: skip
    assert found == [("192.0.2.1", "200"), (None, "404")]


@pytest.mark.parametrize(
    "format",
    [
        "{ type = \"regex\", layout = `^(?P<at>\\S+) (?P<message>.*)$`, start = `^\\d{4}` }",
        "{ type = \"grok\", layout = `^%{NOTSPACE:at} %{GREEDYDATA:message}$`, start = `^\\d{4}` }",
    ],
)  # fmt: skip
def test_stack_traces_stay_whole(format: str, world: World, tmp_path: Path) -> None:
    text = "2024-07-05T10:00:00Z boom\n  at a\n\n  at b\n2024-07-05T10:00:01Z fine\n"
    sql = "select message from app order by tp_timestamp"
    found = rows(world, tmp_path / "app.log", text, sql, format=format, time="at")
    assert found == [("boom\n  at a\n\n  at b",), ("fine",)]


def test_a_start_that_is_wrong_is_told_before_anything_is_read(world: World, tmp_path: Path) -> None:
    format = '{ type = "regex", layout = `^(?P<at>.*)$`, start = `(` }'
    (tmp_path / "app.log").write_text("x\n")
    own, path = 'map_fields = ["*"]', tmp_path / "app.log"
    world.write_config(CONFIG.format(format=format, more=own, time="at", spelled="", path=path))
    (report,) = world.collect()
    assert isinstance(report.error, ConfigError)
    assert "begins a record" in str(report.error)
    assert report.done == 0


def test_the_year_is_that_of_the_file(world: World, tmp_path: Path) -> None:
    path = tmp_path / "messages"
    path.write_text("Dec 31 23:59:59 h a: old\nJan  1 00:00:01 h a: new\n")
    os.utime(path, (1546300900, 1546300900))  # 2019-01-01
    assert world.collect_one("syslog", str(path)).clean
    assert world.query("select message, timestamp::varchar from syslog order by timestamp") == [
        ("old", "2018-12-31 23:59:59"), ("new", "2019-01-01 00:00:01")
    ]  # fmt: skip


def test_the_year_is_that_of_the_path(world: World, tmp_path: Path) -> None:
    path = tmp_path / "2017-03-02" / "messages"
    path.parent.mkdir()
    path.write_text("Mar  2 10:00:00 h a: x\n")
    layout = "`%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}/messages`"
    world.collect_one("syslog", str(tmp_path), file_layout=layout)
    assert all(report.clean for report in world.collect(window=TimeRange(datetime(2017, 1, 1))))
    assert world.query("select timestamp::varchar from syslog") == [("2017-03-02 10:00:00",)]


def test_otlp_in_a_table_of_ones_own(world: World, tmp_path: Path) -> None:
    record = '{"timeUnixNano":"1720173600000000000","severityNumber":9,"body":{"stringValue":"hello"}}'
    text = f'{{"resourceLogs":[{{"scopeLogs":[{{"logRecords":[{record}]}}]}}]}}\n'
    found = rows(
        world, tmp_path / "app.json", text, "select body, severity_number + 1, tp_timestamp::varchar from app",
        format="format.otlp.default", time="time_unix_nano", spelled='time = "epoch_ns"',
    )  # fmt: skip
    assert found == [("hello", 10, "2024-07-05 10:00:00")]
