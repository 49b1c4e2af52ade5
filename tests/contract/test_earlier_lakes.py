"""Lakes that earlier versions wrote: they open, answer as they did then, and are carried on."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from bucketserver import BucketServer, serving
from earlierlake import GONE, SHOP, WEB, answers, configure, objects, orders
from lakecheck import check, stored
from world import World

from tailrace.core import TimeRange
from tailrace.lake.undo import erase, history, restore

LAKES = sorted((Path(__file__).parents[1] / "fixtures").glob("lake-*.zip"))


@pytest.fixture(params=LAKES, ids=lambda path: path.stem)
def earlier(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    zipfile.ZipFile(request.param).extractall(tmp_path)
    return World(tmp_path / "home")


def test_its_rows_are_what_they_were(earlier: World) -> None:
    configure(earlier, "http://127.0.0.1:9")
    told = json.loads((earlier.home.parent / "expected.json").read_text())
    assert answers(earlier) == told
    assert {name: len(rows) for name, rows in told.items()} == {"orders": 27, "nginx_access_log": 45, "quarantine": 6}
    for place in (SHOP, WEB):
        check(earlier.home, *place)
    kinds = [commit.kind for commit in history(earlier.lake, *SHOP) if commit.kind != "settle"]
    assert kinds == ["restore", "reset", "collect", "collect"]


def test_it_is_carried_on(earlier: World) -> None:
    """What was refused is looked at once more where formats know more by now, nothing else is read twice; what is new
    or changed is read, and what was deleted stays away."""
    held = objects() | {"orders/1.jsonl": orders(1, 15), "orders/3.jsonl": orders(3, 6)}
    before = stored(earlier.home)
    with serving(BucketServer(held)) as server:
        configure(earlier, server.url)
        # Two files of the web server hold a refused line that a format may know by now; rows of the third were deleted.
        for looked_at in (2, 0):
            again = {report.name: report for report in earlier.collect()}
            assert all(report.clean for report in again.values())
            wanted = {name: report.wanted for name, report in again.items()}
            assert wanted == {"orders.shop": 0, "nginx_access_log.web": looked_at}
            assert stored(earlier.home) == before
        server.objects |= {"orders/2.jsonl": orders(2, 20), "orders/4.jsonl": orders(4, 12)}
        more = {report.name: report for report in earlier.collect()}
        assert all(report.clean for report in more.values())
        assert (more["orders.shop"].wanted, more["nginx_access_log.web"].wanted) == (2, 0)
    assert stored(earlier.home).total() == before.total() + 8 + 10
    for place in (SHOP, WEB):
        check(earlier.home, *place)


def test_it_can_be_changed_and_brought_back(earlier: World) -> None:
    configure(earlier, "http://127.0.0.1:9")
    told = answers(earlier)
    version = erase(earlier.lake, *WEB, TimeRange(None, GONE.start))
    assert earlier.query("select count(*) from nginx_access_log") == [(20,)]
    check(earlier.home, *WEB)
    restore(earlier.lake, *WEB, version)
    assert answers(earlier) == told
    first = history(earlier.lake, *WEB)[-1].version
    restore(earlier.lake, *WEB, first)
    assert earlier.query("select count(*) from nginx_access_log") == [(60,)]
    check(earlier.home, *WEB)
