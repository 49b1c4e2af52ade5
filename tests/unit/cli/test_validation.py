"""`config validate` and `doctor` say the same of a configuration, each thing once and in order."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from world import World

from tailrace.cli.main import cli

UNUSED = 'format "grok" "unused" {\n  layout = `%{NOPE:x}`\n}\n'
FINE = 'partition "nginx_access_log" "fine" {\n  source "file" { paths = ["/nowhere"] }\n}\n'
EXPRESSIONS = """
partition "nginx_access_log" "a" {
  filter = "statu = 1"
  source "file" { paths = ["/nowhere"] }
}
partition "nginx_access_log" "b" {
  filter   = "count(*) > 1"
  tp_index = "tp_id"
  source "file" {
    paths       = ["/nowhere"]
    file_layout = `%{NOPE:x}.log`
  }
}
partition "nginx_access_log" "c" {
  filter = "no_such_fn(status)"
  source "file" {
    paths  = ["/nowhere"]
    format = format.regex.wrong
  }
}
format "regex" "wrong" {
  layout = `(?P<a>[a-z`
}
"""
UNREADABLE = 'partition "nginx_acess_log" "d" {\n  oops = 1\n  source "file" { }\n}\n'


def told(tmp_path: Path, config: str, *command: str) -> tuple[int, object]:
    world = World(tmp_path / "home")
    world.write_config(config)
    done = CliRunner().invoke(cli, ["--home", str(world.home), *command, "--output", "json"])
    return done.exit_code, json.loads(done.stdout)


@pytest.mark.parametrize(
    ("config", "count"),
    [(UNUSED, 1), (UNUSED + FINE, 1), (EXPRESSIONS, 6), (EXPRESSIONS + UNUSED + UNREADABLE, 10), (FINE, 0)],
    ids=["unused", "beside", "expressions", "unreadable", "fine"],
)
def test_doctor_says_what_validate_says(tmp_path: Path, config: str, count: int) -> None:
    code, validated = told(tmp_path, config, "config", "validate")
    assert isinstance(validated, dict)
    assert (code, len(validated["errors"])) == (3 if count else 0, count)
    code, findings = told(tmp_path, config, "doctor")
    assert isinstance(findings, list)
    errors = [(f["name"], f["detail"], f["hint"]) for f in findings if f["state"] == "error"]
    assert code == bool(count)
    assert errors == [("configuration", f"{e['where']}: {e['message']}", e["hint"]) for e in validated["errors"]]
    assert all(e["file"] and e["line"] for e in validated["errors"])


def test_a_wrong_index_is_one_error(tmp_path: Path) -> None:
    config = 'partition "nginx_access_log" "a" {\n  tp_index = "nix"\n  source "file" { paths = ["/nowhere"] }\n}\n'
    _, validated = told(tmp_path, config, "config", "validate")
    assert isinstance(validated, dict)
    assert [(e["line"], e["message"]) for e in validated["errors"]] == [(2, "unknown column 'nix'")]


@pytest.mark.parametrize("place", ["source", "table", "partition"])
def test_a_format_that_is_missing_is_not_one_that_was_not_named(tmp_path: Path, place: str) -> None:
    named = {"source": "", "table": "", "partition": ""} | {place: "format = format.grok.missing"}
    named["partition"] = named["partition"].replace("format =", "source_format =")
    config = f"""
        table "t" {{
          {named["table"]}
          column "tp_timestamp" {{ source = "at" }}
        }}
        partition "t" "p" {{
          {named["partition"]}
          source "file" {{
            paths = ["/nowhere"]
            {named["source"]}
          }}
        }}
    """
    _, validated = told(tmp_path, config, "config", "validate")
    assert isinstance(validated, dict)
    assert [e["code"] for e in validated["errors"]] == ["config.dangling-reference"]
    assert validated["warnings"] == []


def test_warnings_stand_among_the_errors_with_their_lines(tmp_path: Path) -> None:
    world = World(tmp_path / "home")
    warned = 'table "t" {\n  column "tp_timestamp" { source = "at" }\n}\n'
    warned += 'partition "t" "p" {\n  source "file" { paths = ["/nowhere"] }\n}\n'
    world.write_config(UNUSED + warned + UNREADABLE)
    done = CliRunner().invoke(cli, ["--home", str(world.home), "config", "validate"])
    lines = done.stderr.splitlines()
    headings = [(n, line) for n, line in enumerate(lines) if line.startswith(("error[", "warning["))]
    assert [line.partition("]")[0] for _, line in headings][:3] == [
        "error[config.unknown-grok-pattern", "warning[config.no-format", "error[config.unknown-table",
    ]  # fmt: skip
    assert lines[headings[1][0] + 1] == '  |   source "file" { paths = ["/nowhere"] }'


def test_a_function_is_suggested_only_if_it_is_like_the_one_that_is_missing(tmp_path: Path) -> None:
    config = "".join(
        f'partition "nginx_access_log" "{name}" {{\n  filter = "{name}(status) = 1"\n'
        '  source "file" { paths = ["/nowhere"] }\n}\n'
        for name in ("no_such_fn", "uper")
    )
    _, validated = told(tmp_path, config, "config", "validate")
    assert isinstance(validated, dict)
    strange, like = (e["hint"] for e in validated["errors"])
    assert "did you mean" not in strange
    assert like == "did you mean 'upper'?"


TIERS = """
connection "aws" "c" {{
  endpoint_url = "http://127.0.0.1:1"
  access_key   = "k"
  secret_key   = "s"
  region       = "us-east-1"
}}
workspace "default" {{
  {path}
}}
partition "nginx_access_log" "a" {{
  source "file" {{ paths = ["/nowhere"] }}
  tier "old" {{
    path = "{tier}"
    to   = "2024-05-02"
  }}
}}
"""


@pytest.mark.parametrize(
    ("path", "tier", "message"),
    [
        ('path = "s3://bucket/lake"\n connection = connection.aws.c', "/old", "the workspace is in an object store"),
        ("", "{home}/data/default/old", "the tier is in the workspace, or around it"),
        ("", "{home}/old", None),
    ],
)
def test_a_tier_where_no_day_may_rest(tmp_path: Path, path: str, tier: str, message: str | None) -> None:
    config = TIERS.format(path=path, tier=tier.format(home=tmp_path / "home"))
    code, validated = told(tmp_path, config, "config", "validate")
    assert isinstance(validated, dict)
    found = [(e["code"], e["message"], bool(e["file"] and e["line"])) for e in validated["errors"]]
    if message is None:
        assert (code, found) == (0, [])
        return
    ((problem, said, is_placed),) = found
    assert (code, problem, is_placed) == (3, "config.contradiction", True)
    assert said.startswith(message)


WINDOW = """window "w" {{
  base_uri = "{base}"
  query    = "{query}"
  output {{ {output} }}
}}
"""
PLACE = 'path = "/data/out"'


@pytest.mark.parametrize(
    ("base", "query", "output", "code", "line"),
    [
        ("/data/otap", "select * frm logs", PLACE, "config.bad-query", 3),
        ("/data/otap", "select {{nothing}} from logs", PLACE, "config.bad-query", 3),
        ("/data/otap", "select 1; select 2", PLACE, "config.bad-query", 3),
        ("data/otap", "select * from logs", PLACE, "config.bad-path", 1),
        ("/data/otap", "select * from logs", "", "config.missing-attribute", 1),
        ("/data/otap", "select * from logs where time_unix_nano >= {{window_start_ns}}", PLACE, None, 0),
    ],
)
def test_a_window_that_cannot_run(
    tmp_path: Path, base: str, query: str, output: str, code: str | None, line: int
) -> None:
    ended, validated = told(tmp_path, WINDOW.format(base=base, query=query, output=output), "config", "validate")
    assert isinstance(validated, dict)
    assert [(e["code"], e["line"]) for e in validated["errors"]] == ([(code, line)] if code else [])
    assert ended == (3 if code else 0)
