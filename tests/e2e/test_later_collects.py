"""What later collects do: nothing twice, new files join, changed files replace their rows, ranges widen.

The first of them and those between are made without a JVM where another one says the same.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta

import pytest
from lakecheck import check, stored
from logfiles import CLOUDTRAIL_LAYOUT, access_lines, cloudtrail, today, write

from tailrace.core import TimeRange

pytestmark = pytest.mark.warm

DAY = date(2024, 5, 1)
WEB = """
partition "nginx_access_log" "web" {
  source "file" { paths = ["LOGS/*.log"] }
}
"""
TRAIL = """
partition "aws_cloudtrail_log" "trail" {
  source "file" {
    paths       = ["LOGS"]
    file_layout = `LAYOUT`
  }
}
"""


def counts(summary: dict, partition: str = "nginx_access_log.web") -> dict[str, int]:
    return {name: count for name, count in summary[partition]["rows"].items() if count}


def test_nothing_twice_new_joins_changed_replaces(home, world, tmp_path):
    logs = tmp_path / "logs"
    home.configure(WEB.replace("LOGS", str(logs)))
    write(logs / "a.log", access_lines(DAY, 40))
    write(logs / "b.log", access_lines(DAY, 100, first=60))
    assert counts(home.collect()) == {"received": 80, "stored": 80}
    first = stored(home.path)

    again = world.summary()["nginx_access_log.web"]
    assert again["artifacts"]["unchanged"] == 2
    assert (again["rows"]["received"], again["files"]) == (0, 0)
    assert stored(home.path) == first

    # b.log grows, c.log is new, and d.log holds the very bytes of a.log.
    write(logs / "b.log", access_lines(DAY, 100, first=60) + access_lines(DAY + timedelta(days=1), 5))
    write(logs / "c.log", access_lines(DAY, 10))
    write(logs / "d.log", access_lines(DAY, 40))
    summary = world.summary()
    assert counts(summary) == {"received": 55, "stored": 55}, "what b.log held before is not read again"
    assert summary["nginx_access_log.web"]["artifacts"]["unchanged"] == 1
    rows = stored(home.path)
    assert rows.total() == len(rows) == 80 + 5 + 10 + 40
    assert first <= rows, "rows that were there keep their ids"
    check(home.path, "nginx_access_log", "web")
    (same,) = home.query(
        "select count(*) as rows, count(distinct request_uri) as pages from nginx_access_log "
        "where tp_source_location like '%/a.log' or tp_source_location like '%/d.log'"
    )
    assert same == {"rows": 80, "pages": 40}, "the same bytes under another path are other rows"

    # b.log is rotated after it got another line, and c.log loses one.
    with (logs / "b.log").open("a") as file:
        file.write(access_lines(DAY + timedelta(days=2), 1))
    (logs / "b.log").rename(logs / "b.1.log")
    write(logs / "b.log", access_lines(DAY + timedelta(days=3), 2))
    write(logs / "c.log", "".join(access_lines(DAY, 10).splitlines(keepends=True)[:9]))
    assert counts(home.collect()) == {"received": 1 + 2 + 9, "stored": 1 + 2 + 9, "replaced": 10}
    later = stored(home.path)
    assert later.total() == len(later) == rows.total() + 1 + 2 - 1
    assert sum((rows - later).values()) == 1, "all others keep their ids"
    check(home.path, "nginx_access_log", "web")


def test_a_wider_range_adds_only_what_is_missing(home, world, tmp_path):
    logs = tmp_path / "logs"
    home.configure(WEB.replace("LOGS", str(logs)))
    write(logs / "a.log", access_lines(DAY, 24) + access_lines(DAY + timedelta(days=1), 24))
    window = TimeRange(datetime(2024, 5, 1, 6), datetime(2024, 5, 2))
    assert counts(world.summary(window=window)) == {"received": 48, "stored": 18, "out_of_range": 30}
    early = stored(home.path)
    summary = home.collect("--from", "2024-05-01", "--to", "2024-05-02T12:00:00Z")
    assert counts(summary) == {"received": 48, "stored": 36, "out_of_range": 12, "replaced": 18}
    rows = stored(home.path)
    assert rows.total() == len(rows) == 36
    assert early <= rows
    assert counts(world.summary(window=window)) == {}
    assert stored(home.path) == rows
    check(home.path, "nginx_access_log", "web")


def test_initial_collection_looks_thirty_days_back(home, world, tmp_path):
    logs = tmp_path / "logs"
    home.configure(TRAIL.replace("LOGS", str(logs)).replace("LAYOUT", CLOUDTRAIL_LAYOUT))
    old, recent = today() - timedelta(days=60), today() - timedelta(days=2)
    cloudtrail(logs, old, 10)
    cloudtrail(logs, recent, 10)
    name = "aws_cloudtrail_log.trail"
    assert world.summary()[name]["last_day"] == str(recent)
    assert stored(home.path).total() == 10
    assert home.collect("trail", "--from", str(old))[name]["last_day"] == str(old)
    assert stored(home.path).total() == 20


def test_selectors(home, world, tmp_path):
    logs = tmp_path / "logs"
    write(logs / "a.log", access_lines(DAY, 10))
    text = WEB.replace("LOGS", str(logs))
    home.configure(text + text.replace('"web"', '"web-2"') + text.replace("nginx_access_log", "apache_access_log"))
    summary = home.collect("nginx_*.web*")
    assert {name: counts(summary, name)["stored"] for name in summary} == {
        "nginx_access_log.web": 10,
        "nginx_access_log.web-2": 10,
    }
    assert set(world.summary("web")) == {"nginx_access_log.web", "apache_access_log.web"}


def test_demo(home):
    done = home.run("demo")
    assert done.code == 0, done.err
    assert done.err == ""
    assert done.out.count("✓ ") == 3
    answers = done.out.split("\n\n")[1:4]
    assert [answer.splitlines()[0][-1] for answer in answers] == ["?", "?", "."]
    assert all(answer.rstrip().endswith(("row", "rows")) for answer in answers)
    assert "StopLogging" in answers[1]
    asked = home.run("--home", str(home.path / "demo"), "query", "select count(*) from nginx_access_log")
    assert "2400" in asked.out
