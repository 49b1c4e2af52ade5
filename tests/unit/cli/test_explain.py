"""Commands that explain what is configured and what is stored, in this process."""

from __future__ import annotations

import csv
import io
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from logfiles import access_lines, today, write
from typed import rows, run
from world import World

from tailrace.cli.options import FORMS
from tailrace.core.registry import find_table, table_doc, table_names

CONFIG = """
variable "password" {
  default   = "correct-horse"
  sensitive = true
}
connection "aws" "prod" {
  profile    = "main"
  secret_key = "battery-staple"
}
connection "gcp" "prod" { project = "p" }
format "jsonl" "app" {
  field_map = { src_ip = "from_addr" }
}
source "file" "spare" {
  paths  = ["/nowhere"]
  format = format.jsonl.app
}
table "orders" {
  description = "What was ordered."
  format      = format.jsonl.app
  column "tp_timestamp" { source = "time" }
}
schema "quarter" { tables = ["aws_*"] }
store "cold" {
  tier "archive" { path = "s3://b/${var.password}/x" }
}
partition "nginx_access_log" "web" {
  store = store.cold
  source "file" { paths = ["LOGS"] }
}
partition "aws_cloudtrail_log" "prod" {
  source "aws_s3_bucket" {
    bucket     = "b"
    connection = connection.aws.prod
  }
}
"""


@pytest.fixture
def world(tmp_path: Path) -> World:
    for back in (0, 1, 4):
        write(tmp_path / "logs" / f"access-{back}.log", access_lines(today() - timedelta(days=back), 3))
    made = World(tmp_path / "home")
    made.collect_one("nginx_access_log", f"{tmp_path}/logs")  # as partition `p`, which is orphaned from now on
    made.write_config(CONFIG.replace("LOGS", f"{tmp_path}/logs"))
    return made


def by_name(listed: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in listed}


def test_table_list(world: World) -> None:
    found = by_name(rows(world, "table", "list"))
    assert found["nginx_access_log"]["rows"] == 9
    assert found["nginx_access_log"]["changed"].startswith(str(today().year))
    assert found["nginx_access_log"]["partitions"] == ["web"]
    assert found["orders"]["plugin"] == "custom"
    assert found["orders"]["rows"] is None
    assert {*table_names(), "orders"} == set(found)


def test_partition_list_knows_orphans_and_gaps(world: World) -> None:
    found = by_name(rows(world, "partition", "list"))
    states = {name: row["state"] for name, row in found.items()}
    assert states["nginx_access_log.p"] == "orphaned"
    assert states["nginx_access_log.web"] == states["aws_cloudtrail_log.prod"] == "configured"
    assert found["nginx_access_log.p"]["missing_days"] == 2
    shown = rows(world, "partition", "show", "nginx_access_log.p")
    (gap,) = shown["gaps"]
    assert (gap["from"], gap["days"]) == (str(today() - timedelta(days=3)), 2)
    assert shown["collected_by_source"][0]["artifacts"] == 3
    (stored,) = [p for p in rows(world, "table", "show", "nginx_access_log")["partitions"] if p["state"] == "orphaned"]
    assert stored["name"] == "p"


@pytest.mark.parametrize("noun", ["table", "partition", "source", "format", "connection", "schema", "store", "plugin"])
@pytest.mark.parametrize("output", FORMS)
def test_every_list_in_every_form(world: World, noun: str, output: str) -> None:
    done = run(world, noun, "list", "--output", output)
    assert done.exit_code == 0
    assert done.stdout.strip()
    if output == "csv":
        head, *body = csv.reader(io.StringIO(done.stdout))
        assert body
        assert all(len(line) == len(head) for line in body)
    if output == "jsonl":
        assert all(json.loads(line) for line in done.stdout.splitlines())


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (("table", "list", "aws_*"), [name for name in table_names() if name.startswith("aws_")]),
        (("partition", "list", "*.prod"), ["aws_cloudtrail_log.prod"]),
        (("connection", "list", "prod"), ["aws.prod", "gcp.prod"]),
        (("source", "list", "*cloudwatch*"), ["aws_cloudwatch_log_group"]),
        (("schema", "list", "q*"), ["quarter"]),
        (("store", "list"), ["default", "cold"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_wildcards(world: World, arguments: tuple[str, ...], names: list[str]) -> None:
    assert [row["name"] for row in rows(world, *arguments)] == names


def test_configured_sources_and_what_they_hold(world: World) -> None:
    found = rows(world, "source", "list", "--partition", "*")
    assert [(row["partition"], row["kind"]) for row in found] == [
        ("nginx_access_log.web", "file"),
        ("aws_cloudtrail_log.prod", "aws_s3_bucket"),
    ]
    assert found[1]["connection"] == "aws.prod"
    held = rows(world, "source", "list", "--artifacts", "--partition", "web")
    assert [row["state"] for row in held] == ["new"] * 3
    world.collect("web")
    held = rows(world, "source", "list", "--artifacts", "--partition", "web")
    assert [row["state"] for row in held] == ["collected"] * 3


def test_a_source_that_cannot_be_listed_does_not_hide_others(world: World, tmp_path: Path) -> None:
    two = "".join(
        f'partition "nginx_access_log" "{n}" {{ source "file" {{ paths = ["{tmp_path}/logs"] }} }}\n' for n in "ab"
    )
    world.write_config(two)
    world.collect("a")
    for segment in world.lake.meta("ledger", "nginx_access_log", "a").path.rglob("*.parquet"):
        segment.write_bytes(b"damaged")
    done = run(world, "source", "list", "--artifacts", "--output", "json")
    assert {row["partition"] for row in json.loads(done.stdout)} == {"nginx_access_log.b"}
    assert (done.exit_code, done.stderr.count("error[")) == (5, 1)


def test_a_partition_shows_sources_that_it_refers_to(world: World, tmp_path: Path) -> None:
    world.write_config(f"""
      source "file" "weblogs" {{ paths = ["{tmp_path}/logs"] }}
      partition "nginx_access_log" "web" {{ source = source.file.weblogs }}
    """)
    found = by_name(rows(world, "config", "show"))
    assert found["partition.nginx_access_log.web.source"]["value"] == ["source.file.weblogs"]
    assert found["source.file.weblogs.paths"]["value"] == [f"{tmp_path}/logs"]
    assert len([name for name in found if "weblogs" in name]) == 1


def test_collection_is_another_word_for_partition(world: World) -> None:
    for arguments in (("list",), ("list", "nginx*"), ("show", "web")):
        one, other = (run(world, noun, *arguments) for noun in ("partition", "collection"))
        assert one.exit_code == other.exit_code == 0
        assert one.stdout == other.stdout


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("web collect", "collect web"),
        ("web source list", "source list --partition web"),
        ("web source logs list", "source list logs --partition web --artifacts"),
        ("web show", "collection show web"),
    ],
)
def test_a_name_before_the_verb_is_answered_with_the_right_order(world: World, given: str, meant: str) -> None:
    done = run(world, "collection", *given.split())
    assert done.exit_code == 2
    assert f"the name comes last: tailrace {meant}\n" in done.stderr


def test_what_became_of_rows_by_source(world: World, tmp_path: Path) -> None:
    write(tmp_path / "logs" / "bad.log", "no request\n")
    world.collect("web")
    (source,) = rows(world, "partition", "show", "web")["collected_by_source"]
    assert (source["rows"], source["received"], source["quarantined"], source["artifacts"]) == (9, 10, 1, 4)


def test_show(world: World) -> None:
    kind = rows(world, "source", "show", "file")
    assert next(p for p in kind["properties"] if p["name"] == "paths")["required"] is True
    assert rows(world, "source", "show", "spare")["format"] == "jsonl"
    assert rows(world, "format", "show", "app")["field_map"] == {"src_ip": "from_addr"}
    assert rows(world, "format", "show", "csv")["type"] == "delimited"
    assert rows(world, "format", "show", "nginx_access_log.combined")["location"] == "built in"
    assert rows(world, "schema", "show", "quarter")["holds"] == ["aws_cloudtrail_log.prod"]
    assert rows(world, "store", "show", "cold")["partitions"] == ["nginx_access_log.web"]
    assert rows(world, "plugin", "show", "tailrace")["tables"] == table_names()
    assert [row["name"] for row in rows(world, "connection", "show", "*.prod")] == ["aws.prod", "gcp.prod"]


def test_secrets_are_shown_nowhere(world: World) -> None:
    commands = [
        ("connection", "show", "aws.prod"), ("connection", "list"), ("source", "list", "--partition", "*"),
        ("store", "show", "cold"), ("store", "list"), ("config", "show", "--origin"), ("config", "validate"),
        ("partition", "show", "aws_cloudtrail_log.prod"), ("doctor",),
    ]  # fmt: skip
    for command in commands:
        for output in ("table", "json"):
            done = run(world, *command, "--output", output)
            assert "battery-staple" not in done.output, command
            assert "correct-horse" not in done.output, command
    assert "***" in run(world, "connection", "show", "aws.prod").stdout


def test_config_show_traces_values(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAILRACE_WORKSPACE", "default")
    found = by_name(rows(world, "config", "show", "--origin"))
    file = world.home / "config" / "test.tpc"
    assert (found["home"]["origin"], found["home"]["where"]) == ("flag", "--home")
    assert (found["workspace"]["origin"], found["workspace"]["where"]) == ("environment", "TAILRACE_WORKSPACE")
    assert found["master"]["origin"] == "default"
    profile = found["connection.aws.prod.profile"]
    assert profile == {
        "name": "connection.aws.prod.profile",
        "value": "main",
        "origin": "user",
        "where": f"{file}:7:16",
    }
    assert found["var.password"]["value"] == "***"
    assert "master" not in by_name(rows(world, "config", "show"))
    only = rows(world, "config", "show", "connection.gcp")
    assert [row["name"] for row in only] == ["connection.gcp.prod.project"]


def test_a_project_file_that_is_a_link_to_nothing(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing else is taken in its place."""
    (tmp_path / "tailrace.tpc").symlink_to("gone.tpc")
    monkeypatch.chdir(tmp_path)
    done = run(world, "config", "validate")
    assert done.exit_code == 3
    assert "tailrace.tpc is a link to gone.tpc, where nothing is" in done.output


def test_a_damaged_table_is_listed_with_a_note(world: World) -> None:
    log = world.lake.table_root("nginx_access_log").path / "_delta_log"
    sorted(log.glob("*.json"))[-1].write_text("{ not json")
    done = run(world, "table", "list", "--output", "json")
    assert done.exit_code == 0
    assert by_name(json.loads(done.stdout))["nginx_access_log"]["state"] == "damaged"
    assert "warning[lake.damaged-log]" in done.stderr
    assert "nginx_access_log is damaged" in done.stderr
    done = run(world, "partition", "list", "--output", "json")
    assert by_name(json.loads(done.stdout))["nginx_access_log.web"]["state"] == "damaged"


@pytest.mark.parametrize("name", table_names())
def test_docs_of_tables_are_read_as_they_would_be_imported(name: str) -> None:
    table = find_table(name)
    assert table is not None
    assert table_doc(name) == table.doc


def test_plugin_install_says_what_to_do(world: World) -> None:
    assert "is built in: nginx_access_log" in run(world, "plugin", "install", "nginx").stderr
    assert run(world, "plugin", "install", "other-logs").stdout.endswith("-m pip install other-logs\n")
