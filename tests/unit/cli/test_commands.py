"""Commands on a small lake, in this process."""

from __future__ import annotations

import json
import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result
from logfiles import access_lines, today, write
from world import World

from tailrace.cli.demo import YOURS
from tailrace.cli.describe import format_words
from tailrace.cli.main import cli
from tailrace.cli.options import Context
from tailrace.core import Delimited, Grok, Json, Jsonl, Layout, Regex
from tailrace.lake.place import LocalPlace

BROKEN = """
format "grok" "odd" {
  layout = `%{NO_SUCH:x}`
}
table "mine" {
  format = format.grok.odd
  column "tp_timestamp" { source = "x" }
}
partition "mine" "p" {
  source "file" { paths = ["/nowhere"] }
}
partition "nginx_access_log" "q" {
  filter = "statu > 1"
  source "file" { paths = ["/nowhere"] }
}
"""


@pytest.fixture
def world(tmp_path: Path) -> World:
    write(tmp_path / "logs" / "access.log", access_lines(today(), 3))
    made = World(tmp_path / "home")
    made.collect_one("nginx_access_log", f"{tmp_path}/logs")
    return made


def run(world: World, *arguments: str, stdin: str = "") -> Result:
    return CliRunner().invoke(cli, ["--home", str(world.home), *arguments], input=stdin)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("query", "nofile.sql"), "there is no file nofile.sql"),
        (("query", ""), "there is no SQL to run"),
        (("query",), "there is no SQL to run"),
        (("partition", "show", "q"), "no partition is called 'q'"),
        (("table", "show", "nginx"), "no table is called 'nginx'"),
        (("config", "show", "partition.wbe"), "nothing in the configuration begins with 'partition.wbe'"),
    ],
)
def test_usage(world, arguments, said):
    done = run(world, *arguments)
    assert getattr(done.exception, "exit_code", None) == 2
    assert said in str(done.exception)
    assert getattr(done.exception, "hint", None)


def test_what_the_demo_proposes_runs(world):
    assert len(world.query(YOURS)) == 3


def test_proposed_commands_can_be_pasted_without_an_active_environment(monkeypatch, tmp_path):
    program = tmp_path / "my env" / "tailrace"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setattr("sys.argv", [str(program), "demo"])
    monkeypatch.setenv("PATH", str(tmp_path))
    assert Context(home="/h").command == f"'{program}' --home /h"
    monkeypatch.setenv("PATH", str(program.parent))
    assert Context(home="/h").command == "tailrace --home /h"


def test_a_new_workspace_is_noted(world):
    for command in (("query", "select 1"), ("table", "list"), ("partition", "list")):
        assert "note: workspace 'typo' is new" in run(world, "--workspace", "typo", *command).stderr
        assert run(world, "-q", "--workspace", "typo", *command).stderr == ""
        assert run(world, *command).stderr == ""


@pytest.mark.parametrize("arguments", [("partition", "list"), ("config", "validate")])
def test_somebody_who_has_configured_nothing_is_told_where_to_begin(arguments, tmp_path):
    done = CliRunner().invoke(cli, ["--home", str(tmp_path), *arguments])
    assert done.exit_code == 0
    assert f"no partition is configured in {tmp_path}/config" in done.stderr
    assert "tailrace demo" in done.stderr


def test_partition_for_programs(world):
    shown = json.loads(run(world, "partition", "show", "p", "--output", "json").stdout)
    assert isinstance(shown["size"], int)
    assert shown["artifacts_ok"] == 1
    assert shown["sources"][0]["format"].startswith("nginx layout $remote_addr")
    assert not [key for key in shown if " " in key]
    table = json.loads(run(world, "table", "show", "nginx_access_log", "--output", "json").stdout)
    assert table["size"] == table["partitions"][0]["size"] == shown["size"]


def test_sizes_for_people(world):
    assert " kB" in run(world, "partition", "list").stdout
    assert " kB" in run(world, "table", "show", "nginx_access_log").stdout


def test_doctor_finds_what_cannot_run(world):
    world.write_config(BROKEN)
    done = run(world, "doctor", "--output", "json")
    assert done.exit_code == 1
    found = [f for f in json.loads(done.stdout) if f["state"] == "error"]
    assert [f["name"] for f in found] == ["configuration"] * 2
    assert re.search(r"\.tpc:\d+:\d+: .*NO_SUCH", found[0]["detail"])
    assert re.search(r"\.tpc:\d+:\d+: .*statu", found[1]["detail"])


def test_doctor_finds_files_that_are_missing(world, monkeypatch):
    """It looks at those that are named, and not at all that lies beside them."""
    monkeypatch.setattr(LocalPlace, "walk", lambda *_: pytest.fail("the whole tree is listed"))
    assert run(world, "doctor", "--output", "json").exit_code == 0
    (file,) = world.lake.table_root("nginx_access_log").path.rglob("*.parquet")
    file.unlink()
    done = run(world, "doctor", "--output", "json")
    assert done.exit_code == 1
    (found,) = (f for f in json.loads(done.stdout) if f["state"] == "error")
    assert (found["name"], file.name in found["detail"]) == ("nginx_access_log", True)
    assert "the file is missing" in found["detail"]


def test_doctor_warns_of_paths(world):
    world.write_config('partition "nginx_access_log" "p" {\n source "file" { paths = ["/nowhere"] }\n}')
    done = run(world, "doctor", "--output", "json")
    (found,) = (f for f in json.loads(done.stdout) if f["name"] == "nginx_access_log.p")
    assert (found["state"], found["hint"]) == ("warning", "check the path in the configuration, or after --file")


def test_spark_is_not_offered_where_none_runs(world):
    shown = {name: run(world, name, "--help").stdout for name in ("collect", "connect", "doctor")}
    assert ["--master" in text for text in shown.values()] == [True, False, True]
    assert run(world, "connect", "--master", "local").exit_code == 0


@pytest.mark.parametrize(
    ("fmt", "words"),
    [
        (Json("Records"), "json, records under Records"),
        (Jsonl(), "jsonl"),
        (Delimited("\t", header=True), r"delimited by '\t', with header"),
        (Delimited(r"\s"), "delimited by blanks, header if there is one"),
        (Layout("$a $b", "nginx"), "nginx layout $a $b"),
        (Grok("%{IP:a}"), "grok %{IP:a}"),
        (Regex("(?P<a>.)"), "regex (?P<a>.)"),
    ],
)
def test_formats_in_words(fmt, words):
    assert format_words(fmt) == words


@pytest.mark.parametrize("name", cli.list_commands(click.Context(cli)))
def test_a_list_of_commands_is_not_cut(name: str) -> None:
    assert "..." not in CliRunner().invoke(cli, [name, "--help"]).stdout.partition("Commands:")[2]
