"""Schemas, snapshots and earlier versions with the real command line."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from commandline import Home
from logfiles import access_lines, today, write
from world import World

pytestmark = pytest.mark.warm

SCHEMAS = """
partition "nginx_access_log" "web" {{
  source "file" {{ paths = ["{logs}"] }}
}}
schema "recent" {{
  start_date = formatdate("YYYY-MM-DD", timeadd(timestamp(), "-24h"))
}}
schema "kept" {{
  tables       = ["nginx_*"]
  materialized = true
}}
"""


def test_history_query_restore_and_a_snapshot(home: Home, world: World, tmp_path: Path) -> None:
    for back in range(4):
        write(tmp_path / "logs" / f"{back}.log", access_lines(today() - timedelta(days=back), 10))
    home.configure(SCHEMAS.format(logs=tmp_path / "logs"))
    assert all(report.clean for report in world.collect())

    def rows(*options: str, table: str = "nginx_access_log") -> int:
        done = home.run("query", f"select count(*) as n from {table}", "--output", "json", *options)
        assert done.code == 0, done.err
        found = done.json()[0]["n"]
        assert isinstance(found, int)
        return found

    assert (rows(), rows("--schema", "recent"), rows(table="recent.nginx_access_log")) == (40, 20, 20)
    done = home.run("query", "from kept.nginx_access_log")
    assert done.code == 5
    assert "`tailrace schema refresh kept` writes what it shows" in done.err
    (snapshot,) = home.run("schema", "refresh", "--output", "json").json()
    assert (snapshot["name"], snapshot["rows"]) == ("kept", 40)

    day = str(today() - timedelta(days=2))
    assert home.run("partition", "delete", "nginx_access_log.web", "--to", day, "--force").code == 0
    assert (rows(), rows("--schema", "kept")) == (30, 40)
    before = home.run("partition", "history", "nginx_access_log.web", "--output", "json").json()[1]
    version = str(before["version"])
    assert (rows("--at", version), rows("--at", before["at"]), rows("--at", "T-1d")) == (40, 40, 0)
    assert home.run("partition", "restore", "nginx_access_log.web", "--at", version).code == 0
    assert rows() == 40
    for options, code in ((("--at", "999"), 2), (("--schema", "kpt"), 2), (("--schema", "kept", "--at", version), 2)):
        done = home.run("query", "from nginx_access_log", *options)
        assert (done.code, done.out) == (code, "")
        assert "hint" in done.err
