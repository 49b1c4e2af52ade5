"""Published queries are found in pages, files and mods, and run as they are."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest
from world import World

TOOLS = Path(__file__).resolve().parents[2] / "tools"
MOD = """
locals {
  columns = replace("tp_timestamp, __WHO__ as who", "__WHO__", "remote_addr")
}

query "who" {
  sql = <<-EOQ
    select ${local.columns} from nginx_access_log where 'all' in ($1) or remote_addr in $1
  EOQ
}

dashboard "traffic" {
  container {
    card {
      sql = "select count(*) from nginx_access_log where $1 = 'true'"
    }
  }
}

query "lost" {
  sql = "select ${local.nothing}"
}
"""
PAGE = """
```sql
select status from nginx_access_log
```

```sh
ls
```

```sql
select nothing from nginx_access_log
```

```sql
select 1 from somewhere_else
```
"""


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(sys, "path", [str(TOOLS), *sys.path])
    import run_queries

    return run_queries


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "queries"
    (found / "mod" / "parts").mkdir(parents=True)
    (found / "page.md").write_text(PAGE)
    (found / "one.sql").write_text("select 1; select count(*) from nginx_access_log;")
    (found / "mod" / "mod.pp").write_text('mod "m" {}\n')
    (found / "mod" / "parts" / "traffic.pp").write_text(MOD)
    return found


def test_queries_run_as_they_are(tool: ModuleType, folder: Path, world: World, tmp_path: Path) -> None:
    (tmp_path / "access.log").write_text('192.0.2.1 - - [01/May/2024:10:00:00 +0000] "GET / HTTP/1.1" 200 1 "-" "-"\n')
    world.collect_one("nginx_access_log", str(tmp_path / "access.log"))
    engine = tool.engine_of(world.home)
    outcomes = [tool.run(engine, query) for query in tool.queries_in(folder)]
    told = {
        outcome.query.name: (outcome.state, outcome.rows) for outcome in outcomes if outcome.query.file.suffix == ".pp"
    }
    assert told == {"query who": ("ran", 1), "card": ("ran", 1), "query lost": ("failed", 0)}
    pages = [(outcome.state, outcome.rows) for outcome in outcomes if outcome.query.file.suffix == ".md"]
    assert pages == [("ran", 1), ("failed", 0), ("other table", 0)]
    assert [outcome.rows for outcome in outcomes if outcome.query.file.suffix == ".sql"] == [2]
    summary = tool.told(outcomes, [folder])
    assert "| queries | 6 | 4 | 4 | 2 | 66.7 % | 1 |" in summary


def test_two_engines_are_compared(tool: ModuleType, world: World, tmp_path: Path) -> None:
    line = '192.0.2.{} - - [01/May/2024:10:00:00 +0000] "GET / HTTP/1.1" 200 1 "-" "-"\n'
    (tmp_path / "access.log").write_text("".join(line.format(number) for number in range(5)))
    world.collect_one("nginx_access_log", str(tmp_path / "access.log"))
    engine = tool.engine_of(world.home)

    class Later:
        """Another order, and a fault if asked for."""

        def run(self, sql: str) -> object:
            if "count" in sql:
                raise tool.TailraceError("it cannot count")
            return engine.run(sql.replace("order by status", "order by status, remote_addr desc"))

    asked = {
        "select remote_addr from nginx_access_log": ("ran", ""),
        "select remote_addr from nginx_access_log order by status limit 1": ("ran", ""),
        "select count(*) from nginx_access_log": ("failed", "it cannot count"),
        "select list_sort(list(remote_addr))[1:1], 'order by status' from nginx_access_log": (
            "failed",
            "1 rows are missing",
        ),
    }
    for sql, (state, reason) in asked.items():
        outcome = tool.run(engine, tool.Query(tmp_path / "q.sql", "1", sql), Later())
        assert outcome.state == state, sql
        assert reason in outcome.reason


def test_a_run_goes_on_where_it_was_cut(tool: ModuleType, folder: Path, world: World, tmp_path: Path) -> None:
    queries = list(tool.queries_in(folder))
    kept = tmp_path / "found.json"
    assert tool.outcomes_of(queries, world.home, False, tool.Remembered(kept), until=0.0) == []
    first = tool.outcomes_of(queries, world.home, False, tool.Remembered(kept), until=float("inf"))
    assert len(first) == len(queries)
    assert tool.outcomes_of(queries, tmp_path / "nowhere", False, tool.Remembered(kept), until=0.0) == first
