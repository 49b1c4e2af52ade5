"""Listing touches what the range needs, whatever the layout; requests are counted on a real server."""

from __future__ import annotations

import pickle
from datetime import datetime

import pytest
from bucketserver import BucketServer, serving
from objectsources import EVER, TRAILS, days, keys, s3_source, trails, unreadable

from tailrace.core import Artifact, TimeRange
from tailrace.sources import Skipped

FLAT = "%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}-%{HOUR:hour}-%{DATA:suffix}"


def test_defect_j_one_day_of_many_asks_for_that_days_prefixes_alone() -> None:
    with serving(trails(accounts=20, count=30)) as server:
        found = list(s3_source(server.url, layout=TRAILS).discover(days("2026-10-07")))
    assert len(keys(found)) == 20
    assert all("/2026/10/07/" in key for key in keys(found))
    dated = [query["prefix"] for query in server.lists() if "/2026/" in query["prefix"]]
    assert len(dated) == 20
    assert all(prefix.endswith("/2026/10/07/") for prefix in dated)
    # One for the accounts, one for each account and each of its regions, and one to see how dates are written.
    assert len(server.lists()) == 1 + 20 + 20 + 1 + 20


def test_a_long_range_takes_few_requests_for_each_account() -> None:
    with serving(trails(accounts=20, count=30)) as server:
        found = list(s3_source(server.url, layout=TRAILS).discover(days("2026-10-03", 20)))
    assert len(keys(found)) == 20 * 20
    assert len(server.lists()) == 1 + 20 + 20 + 1 + 20
    assert all("start-after" in query for query in server.lists() if "/2026/" in query["prefix"])


def test_lesson_3_one_busy_prefix_is_listed_day_by_day_side_by_side() -> None:
    with serving(trails(accounts=1, count=30)) as server:
        found = list(s3_source(server.url, layout=TRAILS).discover(TimeRange(datetime(2026, 10, 1), None)))
    assert keys(found) == sorted(server.objects)
    assert len([query for query in server.lists() if "/2026/" in query["prefix"]]) > 20


@pytest.mark.parametrize(
    ("layout", "prefix", "wanted"),
    [
        (FLAT, "", "2026-10-07-01-a"),
        (FLAT, "access/", "access/2026-10-07-01-a"),
        (FLAT, "access/web-", "access/web-2026-10-07-01-a"),
        ("web-" + FLAT, "access/", "access/web-2026-10-07-01-a"),
        ("%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}/%{DATA}", "x", "x/2026/10/07/a"),
        ("y=%{YEAR:year}/m=%{MONTHNUM:month}/d=%{MONTHDAY:day}/h=%{HOUR:hour}/%{DATA}", "", "y=2026/m=10/d=07/h=01/a"),
        ("%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}/%{DATA}", "", "2026/10/7/a"),
        ("%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}/%{DATA}", "", "26/10/07/a"),
        ("%{MONTHDAY:day}.%{MONTHNUM:month}.%{YEAR:year}/%{DATA}", "", "07.10.2026/a"),
        ("%{YEAR:year}/%{MONTHNUM:month}/%{DATA}", "", "2026/10/a"),
        ("%{YEAR:year}/%{DATA:zone}/%{MONTHNUM:month}/%{MONTHDAY:day}.log", "", "2026/eu/10/07.log"),
        ("(%{DATA:top}/)?AWSLogs/%{DATA:region}/%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}/%{DATA}", "",
         "one/two/AWSLogs/eu/2026/10/07/a"),
        ("%{GREEDYDATA:top}/%{YEAR:year}%{MONTHNUM2:month}%{MONTHDAY:day}.log", "", "one/two/20261007.log"),
        ("%{DATA:name}.%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}.gz", "", "E2X.2026-10-07.gz"),
        ("(?:a|b)/%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}/%{DATA}", "", "b/2026/10/07/a"),
        (TRAILS, "AWSLogs/", "AWSLogs/o-1/111/CloudTrail/eu/2026/10/07/a.json.gz"),
        (TRAILS, "AWSLogs/11", "AWSLogs/111/CloudTrail/eu/2026/10/07/a.json.gz"),
        (TRAILS, "own/", "own/AWSLogs/111/CloudTrail/eu/2026/10/07/a.json.gz"),
        (None, "lo", "logs/a"),
        (None, "logs/a.gz", "logs/a.gz"),
    ],
)  # fmt: skip
def test_a_day_is_found_however_it_is_written(layout: str | None, prefix: str, wanted: str) -> None:
    others = {wanted.replace("07", day).replace("/7/", f"/{day}/"): b"x" for day in ("01", "06", "08", "28")}
    outside = {"elsewhere/x.log": b"x", "zz": b"x"}
    with serving(BucketServer({**(others if layout else {}), **outside, wanted: b"x"})) as server:
        source = s3_source(server.url, prefix, layout=layout)
        found = list(source.discover(days("2026-10-07")))
        ever = list(source.discover(EVER))
    by_month = layout is not None and "MONTHDAY" not in layout
    assert keys(found) == [wanted] or (by_month and wanted in keys(found))
    assert set(keys(ever)) >= {wanted, *(others if layout else {})}
    assert not set(keys(ever)) & set(outside)


def test_an_artifact_says_where_it_lies_and_what_its_path_tells() -> None:
    key = "AWSLogs/o-1/111/CloudTrail/eu-west-1/2026/10/07/a b%41ü!.json.gz"
    with serving(BucketServer({key: b"data"})) as server:
        source = s3_source(server.url, layout=TRAILS)
        (found,) = source.discover(days("2026-10-07"))
        assert isinstance(found, Artifact)
        assert source.open(found).read() == b"data"
        again = pickle.loads(pickle.dumps(source))
        assert again == source
        assert again.open(found).read() == b"data"
    assert found.uri == ("s3://logs/AWSLogs/o-1/111/CloudTrail/eu-west-1/2026/10/07/a%20b%2541%C3%BC%21.json.gz")
    assert (found.location, found.source_name, found.size, str(found.day)) == (key, "logs", 4, "2026-10-07")
    assert found.version == "8d777f385d3dfec8815d20f7496026dc"
    assert dict(found.fields)["org_id"] == "o-1"
    assert "hidden" not in repr(source)


def test_patterns_empty_objects_and_what_does_not_match() -> None:
    names = ("logs/a.gz", "logs/b.txt", "logs/deep/", "logs/deep/c.gz", "logs/empty.gz")
    data = {name: b"x" if name.endswith(("a.gz", "b.txt", "c.gz")) else b"" for name in names}
    with serving(BucketServer(data)) as server:
        globbed = list(s3_source(server.url, "logs/", pattern="logs/*.gz").discover(EVER))
        laid_out = list(s3_source(server.url, "logs/", layout="%{DATA:name}.gz").discover(EVER))
        everything = keys(s3_source(server.url, "logs/").discover(EVER))
    assert keys(globbed) == ["logs/a.gz", "logs/deep/c.gz", "logs/empty.gz"]
    assert everything == [name for name in names if name != "logs/deep/"]
    assert next(item for item in laid_out if isinstance(item, Skipped)).reason == "layout"


def test_odd_names_are_collected_and_spoil_no_others() -> None:
    odd = ["a//b.log", "c/./d.log", "tab\there.log", "x\x7fy.log"]
    plain = ["a/b.log", "q?#&+=;.log", "per%cent.log", "ü/日本.log", "back\\slash.log"]
    with serving(BucketServer({key: key.encode() for key in odd + plain})) as server:
        source = s3_source(server.url)
        found = [item for item in source.discover(EVER) if isinstance(item, Artifact)]
        for artifact in found:
            with source.open(artifact) as opened:
                assert opened.read() == artifact.location.encode()
    assert sorted(keys(found)) == sorted(odd + plain)
    assert len({artifact.uri for artifact in found}) == len(odd + plain)


def test_what_cannot_be_listed_is_told_and_the_rest_is_found() -> None:
    with serving(trails(accounts=3, count=3)) as server:
        server.faults["AWSLogs/111111111112/CloudTrail/eu-west-1/2026/10/02/"] = [403]
        found = list(s3_source(server.url, layout=TRAILS).discover(days("2026-10-02")))
    assert len(keys(found)) == 2
    (trouble,) = unreadable(found)
    assert trouble.code == "source.denied"
    assert trouble.location == "s3://logs/AWSLogs/111111111112/CloudTrail/eu-west-1/2026/10/02/"
    assert "AKIDTEST" not in trouble.reason


def test_many_pages_come_in_order() -> None:
    objects = {f"logs/{n:05}.log": b"x" for n in range(2500)}
    with serving(BucketServer(objects)) as server:
        assert keys(s3_source(server.url).discover(EVER)) == sorted(objects)
        assert len(server.lists()) == 3
