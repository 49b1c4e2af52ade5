"""Rows of sinks by every door: commands, programs and assistants see the same, those that wait to be in a file too."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import click.testing
import flatwrite as fw
import pytest
from livesink import TODAY, Sink, frames

import tailrace
from tailrace.cli.main import cli
from tailrace.cli.mcp_server import Call, Refused
from tailrace.cli.mcp_tools import Tools
from tailrace.cli.options import Context
from tailrace.core import QueryError
from tailrace.query.limits import Limits

COUNT = "SELECT count(*) AS n FROM sink_live.events"
DOORS = ("query", "query --sandbox", "python", "python, sandboxed", "python, whole table", "mcp")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    (home / "config").mkdir(parents=True)
    (home / "config" / "live.tpc").write_text(f'sink "parquet" "live" {{ path = "{tmp_path}/parquet" }}\n')
    return home


@pytest.fixture
def sink(tmp_path: Path) -> Sink:
    """With a row in a file, one that waits to be in it, and one of a tenant that has no file."""
    sink = Sink(tmp_path)
    sink.events(fw.event(1))
    sink.send(frames(fw.events([fw.event(2)])), publish=False)
    sink.send(frames(fw.events([fw.event(3)]), workspace=7), publish=False)
    return sink


@pytest.fixture
def tools(home: Path) -> Tools:
    return Tools(Context(home=str(home), quiet=True), Limits(sandboxed=True, seconds=30, memory="512MB"), most_rows=10)


def ask(tools: Tools, name: str, **given: object) -> Any:
    return next(tool for tool in tools.all() if tool.name == name).run(given, Call())


def counted(door: str, home: Path, tools: Tools) -> int:
    if door == "mcp":
        (row,) = ask(tools, "query", sql=COUNT)["rows"]
        return int(row["n"])
    if door == "python, whole table":
        return len(tailrace.open(home).table("sink_live.events"))
    if door.startswith("python"):
        ((rows,),) = tailrace.open(home, sandbox=door.endswith("sandboxed")).sql(COUNT).rows()
        return int(rows)
    run = click.testing.CliRunner().invoke(
        cli, ["--home", str(home), *door.split(), COUNT, "--output", "jsonl"], catch_exceptions=False
    )
    return int(json.loads(run.stdout)["n"])


@pytest.mark.parametrize("door", DOORS)
def test_waiting_rows_are_seen_by_every_door(door: str, sink: Sink, home: Path, tools: Tools) -> None:
    assert counted(door, home, tools) == 3
    sink.send(frames(fw.events([fw.event(4)])), publish=False)
    assert counted(door, home, tools) == 4
    sink.publisher.publish(10, everything=True)
    assert counted(door, home, tools) == 4


def test_an_answer_keeps_what_it_looked_at(sink: Sink, home: Path) -> None:
    """Batches come later than the question, and more may have been published by then."""
    batches = tailrace.open(home).sql("SELECT event_name FROM sink_live.events").batches()
    sink.publisher.publish(10, everything=True)
    (sink.options.path / TODAY / "events.parquet").unlink()
    assert sorted(batches.read_all()["event_name"].to_pylist()) == [f"page_view_{n}" for n in (1, 2, 3)]


def test_an_assistant_finds_them(sink: Sink, tools: Tools) -> None:
    found = ask(tools, "list_tables")
    assert [one["name"] for one in found["sinks"]] == [f"sink_live.{kind}" for kind in ("events", "logs", "snapshots")]
    columns = {one["name"]: one["type"] for one in ask(tools, "describe_table", table="sink_live.events")["columns"]}
    assert (columns["timestamp"], columns["workspace_id"], columns["payload"]) == ("BIGINT", "UBIGINT", "BLOB")
    assert "sinks" not in ask(tools, "list_tables", names=["nginx_*"])


def test_a_sandbox_reads_them_by_their_names_alone(sink: Sink, tools: Tools, tmp_path: Path) -> None:
    file = sink.options.path / TODAY / "events.parquet"
    with file.open("rb") as held, (tmp_path / "gone").open("w+b") as unnamed:
        unnamed.write(file.read_bytes())
        unnamed.flush()
        (tmp_path / "gone").unlink()
        handles = [f"/proc/self/fd/{one.fileno()}" for one in (held, unnamed)]
        for path in (str(file), *handles, f"/proc/{os.getpid()}/fd/{held.fileno()}"):
            for sql in (
                f"FROM '{path}'",
                f'FROM "{path}"',
                f"FROM read_parquet('{path}')",
                f"SELECT * FROM glob('{path}')",
            ):
                with pytest.raises(Refused, match="not-allowed"):
                    ask(tools, "query", sql=f"{COUNT}; {sql}")


def test_filters_leave_no_sinks_in_a_sandbox(sink: Sink, home: Path, tools: Tools) -> None:
    """They would not act on them."""
    free, confined = tailrace.open(home), tailrace.open(home, sandbox=True)
    assert free.sql(COUNT, start="T-7d").rows() == [(3,)]
    with pytest.raises(QueryError, match="does not exist"):
        confined.sql(COUNT, start="T-7d").rows()
    with pytest.raises(Refused, match="does not exist"):
        ask(tools, "query", sql=COUNT, indexes=["a"])


def test_a_broken_configuration_stands_in_no_way_of_a_sandbox(sink: Sink, home: Path) -> None:
    (home / "config" / "other.tpc").write_text(f'sink "parquet" "other" {{ path = "{sink.options.path}" }}\n')
    confined = tailrace.open(home, sandbox=True)
    assert confined.sql("SELECT 1").rows() == [(1,)]
    with pytest.raises(tailrace.TailraceError, match="have the same path"):
        confined.sql(COUNT).rows()
