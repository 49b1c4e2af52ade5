"""Names in a `file_layout` that were meant to tell a date and do not."""

from __future__ import annotations

from datetime import datetime

import pytest

from tailrace.config.load import load_texts
from tailrace.config.places import Text
from tailrace.core.registry import find_table, table_names


def warnings(layout: str, more: str = "") -> list[str]:
    text = f'source "file" "s" {{\n  paths = ["/x"]\n  file_layout = {layout}\n  {more}\n}}\n'
    text += 'locals {\n  one = join("/", ["%%{YEAR:yaer}", "x"])\n}\n'
    config = load_texts([Text("a.tpc", text.encode())], now=datetime(2024, 3, 31), environ={})
    return [f"{warning.place.line}:{warning.place.column} {warning.message}" for warning in config.warnings]


@pytest.mark.parametrize(
    ("layout", "expected"),
    [
        ("`%{YEAR:yaer}/%{MONTHNUM:month}`", ["3:25 file_layout: 'yaer' says nothing about the date"]),
        ('"%{YEAR:year}\\\\.%{MONTHNUM:mon}"', ["3:44 file_layout: 'mon' says nothing about the date"]),
        ("`%{INT:yaer}`", ["3:24 file_layout: 'yaer' says nothing about the date"]),
        ("`%{YEAR:year}/%{MONTHDAY:day}`", ["3:42 file_layout: 'day' without 'month' is no date"]),
        ("`%{MONTHNUM:month}`", ["3:29 file_layout: 'month' without 'year' is no date"]),
        ("local.one", ["3:17 file_layout: 'yaer' says nothing about the date"]),
        ("`%{YEAR:year}/%{YEAR:partition_year}/%{MONTHNUM:month}/%{MONTHDAY:day}/%{HOUR:hour}%{MINUTE:minute}`", []),
        ("`%{DATA:region}/%{NUMBER:account_id}/%{INT:part}/%{YEAR}`", []),
        ("`(?<year>20\\d\\d)/%{MONTHNUM:month}`", []),
    ],
)
def test_where_and_what(layout, expected):
    assert warnings(layout) == expected


def test_own_patterns_may_capture_the_date():
    assert not warnings("`%{WHEN}/%{MONTHNUM:month}`", 'patterns = { WHEN = "%{YEAR:year}" }')
    assert not warnings("`%{YEAR:age}`", 'patterns = { YEAR = "[a-z]+" }')


def test_nothing_is_odd_about_the_layouts_of_tables():
    layouts = [layout for name in table_names() for _, layout in find_table(name).file_layout]
    assert len(layouts) > 15
    assert [layout for layout in layouts if warnings(f"`{layout}`")] == []
