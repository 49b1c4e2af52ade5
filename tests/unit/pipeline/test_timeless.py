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


COMPUTED = """
format "regex" "words" {{
  layout = `^(?P<at>\\S+ \\S+) (?P<n>\\S+) (?P<m>\\S+)$`
}}
table "t" {{
  column "tp_timestamp" {{
    transform = "{time}"
  }}
  column "n" {{
    type      = "integer"
    transform = "n::integer"
    {more}
  }}
  column "m" {{
    type      = "integer"
    transform = "m::integer"
  }}
}}
partition "t" "p" {{
  {filter}
  source "file" {{
    paths  = ["{logs}"]
    format = format.regex.words
  }}
}}
"""
GOOD, LATE = "18.11.2026 10:00:00", "18.11.2026 25:61:00"
FIVE = "transform of n: Conversion Error: Could not convert string 'five' to INT32"
SIX = "transform of m: Conversion Error: Could not convert string 'six' to INT32"
PARSED = r"strptime(\"at\", '%d.%m.%Y %H:%M:%S')"
TAKEN = r"(split_part(split_part(\"at\", ' ', 1), '.', 3) || '-11-18 ' || split_part(\"at\", ' ', 2))::timestamp"


def computed(world: World, time: str, lines: str, more: str = "", filter: str = "") -> list[str]:
    logs = world.home.parent / "logs"
    logs.mkdir()
    (logs / "a.log").write_text(lines)
    world.write_config(COMPUTED.format(logs=logs, time=time, more=more, filter=filter))
    (report,) = world.collect()
    assert report.clean, report.troubles
    assert report.counts.stored == 1
    return [reason for (reason,) in world.query("select reason from tp_quarantine order by position")]


@pytest.mark.parametrize(("time", "wrong"), [(PARSED, "Invalid Input Error: "), (TAKEN, "Conversion Error: ")])
@pytest.mark.parametrize("more", ["", "required = true"])
@pytest.mark.parametrize("filter", ["", 'filter = "n + 1 > 0"'])
def test_an_expression_that_raises_is_the_reason(world: World, time: str, wrong: str, more: str, filter: str) -> None:
    lines = f"{GOOD} 1 2\n{GOOD} five 2\n{GOOD} 5 six\n{LATE} 5 6\n"
    five, six, late = computed(world, time, lines, more, filter)
    assert five.startswith(FIVE)
    assert six.startswith(SIX)
    assert late.startswith(f"transform of tp_timestamp: {wrong}")
    assert "25:61:00" in late


def test_more_rows_than_are_asked_about_tell_the_column(world: World) -> None:
    reasons = computed(world, PARSED, f"{GOOD} 1 2\n" + f"{GOOD} five 2\n{GOOD} 5 six\n" * 60)
    assert (len(reasons), reasons[-2:]) == (120, [f"transform of {name}: the expression raises" for name in "nm"])


def test_a_time_is_computed_from_what_its_own_column_cannot_read(world: World) -> None:
    """Fields that no column declares are columns by themselves: here, of times."""
    lines = "".join(f"2026-11-18 {end}\n" for end in ("10:00:00 1 2", "10:00:01 five 2", "25:61:00 5 6"))
    five, late = computed(world, r"\"at\"::timestamp", lines)
    assert five.startswith(FIVE)
    assert late == f"row: no timestamp ('2026-11-18 25:61:00' in at {UNREAD}"
