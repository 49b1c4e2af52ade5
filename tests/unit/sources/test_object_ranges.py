"""Nothing is lost by asking for less: what the ranges of a layout find is what a look at every key would find."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.config.model import Location
from tailrace.core import TimeRange
from tailrace.core.registry import find_table, table_names
from tailrace.sources.buckets import Entry
from tailrace.sources.key_ranges import KeyRange
from tailrace.sources.layout import compile_layout
from tailrace.sources.layout_branches import branches
from tailrace.sources.object_listing import Listing

LAYOUTS = {
    (name, kind): layout for name in table_names() for kind, layout in find_table(name).file_layout if kind != "file"
}
WHOLE = {"aws_cost_and_usage_report", "aws_cost_and_usage_focus", "aws_cost_optimization_recommendation"} | {
    *("azure_cost_and_usage_actual", "azure_cost_and_usage_focus", "gcp_billing_report", "aws_cloudfront_access_log"),
}
"Tables whose names have no date, or have it in the middle: their prefix is listed as a whole."


@dataclass
class Shelf:
    """A bucket without a server."""

    keys: list[str]
    asked: list[str] = field(default_factory=list)

    def level(self, directory: str) -> tuple[list[str], list[Entry]]:
        self.asked.append(directory)
        below = [key[len(directory) :] for key in self.keys if key.startswith(directory)]
        return sorted({rest.partition("/")[0] for rest in below if "/" in rest}), []

    def pages(self, keys: KeyRange) -> Iterator[list[Entry]]:
        self.asked.append(keys.directory)
        found = sorted(key for key in self.keys if key.startswith(keys.directory) and key > (keys.after or ""))
        for start in range(0, len(found), 3):
            yield [Entry(key, 1, "v", datetime(2026, 1, 1)) for key in found[start : start + 3]]


@pytest.mark.parametrize(("table", "kind"), LAYOUTS)
def test_layouts_of_tables_lead_to_their_dates(table: str, kind: str) -> None:
    found = branches(compile_layout(LAYOUTS[table, kind]))
    assert all(branch.dates is not None for branch in found) is (table not in WHOLE)


SHAPES = [
    ("AWSLogs/(%{DATA:org_id}/)?%{NUMBER:account_id}/CloudTrail/%{DATA:region}/<Y>/<M>/<D>/%{DATA}.json.gz",
     ["AWSLogs/o-1/11/CloudTrail/eu/{}/{}/{}/a.json.gz", "AWSLogs/22/CloudTrail/us/{}/{}/{}/b.json.gz",
      "AWSLogs/22/CloudTrail-Digest/us/{}/{}/{}/b.json.gz"]),
    ("(%{DATA:top}/)?AWSLogs/%{NUMBER:id}/<Y>/<M>/<D>/conn.%{DATA}",
     ["AWSLogs/1/{}/{}/{}/conn.a", "x/y/AWSLogs/2/{}/{}/{}/conn.b", "x/AWSLogs/{}/{}/{}/conn.c"]),
    ("(%{NUMBER:id}/%{YEAR:partition_year}/)?<Y>-<M>-<D>-%{HOUR:hour}-%{DATA}",
     ["{}-{}-{}-01-a", "7/2026/{}-{}-{}-02-b", "8/2025/{}-{}-{}-03-c"]),
    ("%{WORD:app}/y=<Y>/m=<M>/d=<D>/h=%{HOUR:hour}/%{DATA}", ["web/y={}/m={}/d={}/h=01/a", "db/y={}/m={}/d={}/h=02/b"]),
    ("<Y>/<M>/<D>", ["{}/{}/{}"]),
    ("%{DATA:name}.<Y><M><D>.log", ["app.{}{}{}.log", "deep/down.{}{}{}.log"]),
    ("%{WORD:a}/<D>-<M>-<Y>/%{DATA}", ["x/{2}-{1}-{0}/a"]),
]  # fmt: skip
DAYS = st.dates(date(2025, 11, 20), date(2026, 3, 5))


@given(
    shape=st.sampled_from(SHAPES),
    days=st.lists(DAYS, min_size=1, max_size=12, unique=True),
    padded=st.booleans(),
    prefix=st.sampled_from(["", "logs/", "logs"]),
    first=st.none() | DAYS,
    count=st.none() | st.integers(1, 60),
)
def test_what_is_asked_for_is_all_there_is(
    shape: tuple[str, list[str]], days: list[date], padded: bool, prefix: str, first: date | None, count: int | None
) -> None:
    text, templates = shape
    flat = "<Y>-<M>" in text or "<Y><M>" in text
    for mark, token in (("<Y>", "YEAR:year"), ("<M>", "MONTHNUM:month"), ("<D>", "MONTHDAY:day")):
        text = text.replace(mark, f"%{{{token}}}")
    width = 2 if padded or flat else 1
    parts = [(f"{d.year}", f"{d.month:0{width}}", f"{d.day:0{width}}") for d in days]
    base = prefix and f"{prefix.rstrip('/')}/"
    shelf = Shelf([base + template.format(*part) for part in parts for template in templates])
    start = datetime(first.year, first.month, first.day) if first else None
    end = None if count is None else (start or datetime(2026, 1, 15)) + timedelta(days=count)
    window = TimeRange(start, end)
    listing = Listing(shelf, lambda: None, Location("b", prefix, "*"), compile_layout(text), "s3://b/")
    wanted = {key for key in shelf.keys if (match := listing.match(key)) and match.meets(window)}
    found = [entry.key for entry in listing.entries(window) if isinstance(entry, Entry)]
    assert wanted <= set(found)
    assert len(found) == len(set(found))
