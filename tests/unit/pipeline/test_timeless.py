"""Rows without a time: the reason tells a time that was not sent from one that cannot be read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from world import World

CONFIG = """
table "t" {{
  column "tp_timestamp" {{
    source = "at"
    {time}
  }}
}}
partition "t" "p" {{
  source "file" {{
    paths  = ["{logs}"]
    format = format.{format}.default
  }}
}}
"""
CLF = "16/Nov/2026:10:00:00 +0000"
ABSENT = "row: no timestamp (no time in tp_timestamp)"
UNREAD = 'is no ISO 8601 time; `time = "…"` of the column tells how it is written)'


HEADED = 'format "delimited" "default" {\n  header = true\n}\n'


def reasons(world: World, text: str, format: str = "jsonl", time: str = "", format_named: str = "") -> list[str]:
    logs = world.home.parent / "logs"
    logs.mkdir()
    (logs / "a.log").write_text(text)
    world.write_config(format_named + CONFIG.format(logs=logs, format=format, time=time))
    (report,) = world.collect()
    assert report.clean, report.troubles
    return [reason for (reason,) in world.query("select reason from tp_quarantine order by position")]


@pytest.mark.parametrize(
    ("format", "text"),
    [("jsonl", f'{{"at": "{CLF}", "n": 1}}\n{{"n": 2}}\n'), ("delimited", f"at,n\n{CLF},1\n,2\n")],
)
def test_a_time_that_cannot_be_read_is_named(world: World, format: str, text: str) -> None:
    assert reasons(world, text, format) == [f"row: no timestamp ('{CLF}' in tp_timestamp {UNREAD}", ABSENT]


def test_a_form_that_does_not_fit_is_named(world: World) -> None:
    found = reasons(world, '{"at": "16.11.2026"}\n', time='time = "%d/%m/%Y"')
    told = "is not written as `time = '%d/%m/%Y'` of the column says"
    assert found == [f"row: no timestamp ('16.11.2026' in tp_timestamp {told})"]


@pytest.mark.parametrize(
    ("value", "shown"), [('"' + "x" * 50 + '"', "x" * 40 + "…"), ('{"a":1}', '{"a":1}'), ("1e400", "1e400")]
)
def test_of_a_long_value_the_beginning_is_told(world: World, value: str, shown: str) -> None:
    assert reasons(world, f'{{"at": {value}}}\n') == [f"row: no timestamp ('{shown}' in tp_timestamp {UNREAD}"]


@pytest.mark.parametrize(
    ("header", "told"),
    [
        ("at;who;amt", "'at;who;amt'"),
        ("when,who", "'when', 'who'"),
        (",".join("abcdefghij"), "'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h' and 2 more"),
    ],
)
def test_a_field_that_no_record_has_is_named_with_those_that_there_are(world: World, header: str, told: str) -> None:
    values = re.sub(r"\w+", CLF, header)
    found = reasons(world, f"{header}\n{values}\n{values}\n", "delimited", format_named=HEADED)
    assert found == [f"row: no timestamp (no field 'at'; the record has {told})"] * 2


def test_times_that_can_be_read_are_rows(world: World, tmp_path: Path) -> None:
    assert reasons(world, '{"at": "2026-11-16T10:00:00Z"}\n') == []
    assert len(world.query("select 1 from t")) == 1
