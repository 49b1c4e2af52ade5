"""`tailrace quarantine` as typed, and the walk-through of its page."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from logfiles import write
from refusals import JSONL, WRONG, configure, counts, lines
from world import World

from tailrace.cli.main import cli
from tailrace.core import TailraceError
from tailrace.lake.identity import POSITION_LENGTH, artifact_prefix
from tailrace.lake.quarantined import as_text

PAGE = Path(__file__).resolve().parents[3] / "docs" / "commands" / "quarantine.md"
STRANGE = b"caf\xe9 au lait"


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Four refused records of two files, one of them no UTF-8; two fit the configuration that is there now."""
    made = World(tmp_path / "home")
    write(tmp_path / "logs" / "a.log", lines(1, 2) + "bad\n")
    write(tmp_path / "logs" / "b.log", "").write_bytes(STRANGE + b"\n")
    configure(made, tmp_path / "logs", WRONG)
    made.collect()
    configure(made, tmp_path / "logs", JSONL)
    return made


def run(world: World, *arguments: str, code: int = 0) -> Result:
    done = CliRunner().invoke(cli, ["--home", str(world.home), "quarantine", *arguments])
    assert done.exit_code == code, (done.output, done.exception)
    return done


def told(world: World, *arguments: str, code: int = 0) -> Any:
    return json.loads(run(world, *arguments, "--output", "json", code=code).stdout)


def refusal(world: World, *arguments: str) -> TailraceError:
    error = CliRunner().invoke(cli, ["--home", str(world.home), "quarantine", *arguments]).exception
    assert isinstance(error, TailraceError)
    return error


def test_list_counts_by_partition_reason_artifact_and_day(world: World, tmp_path: Path) -> None:
    (row,) = told(world, "list")
    first = lines(1).strip()
    assert (row["partition"], row["records"], row["artifacts"], row["reasons"]) == ("events.p", 4, 2, 1)
    assert (row["reason"], row["example"]) == ("regex: no match", first)
    assert row["size"] == len(lines(1, 2)) - 2 + len("bad") + len(STRANGE)
    assert row["first"] == row["last"]
    by_artifact = told(world, "list", "events", "--by", "artifact")
    assert [(r["artifact"], r["records"]) for r in by_artifact] == [
        (f"{tmp_path}/logs/{n}.log", c) for n, c in (("a", 3), ("b", 1))
    ]
    (day,) = told(world, "list", "--by", "day")
    assert day["day"] == row["first"][:10]
    (reason,) = told(world, "list", "--by", "reason", "--artifact", "b.log")
    assert (reason["reason"], reason["records"], reason["example"]) == ("regex: no match", 1, "caf\\xe9 au lait")
    assert told(world, "list", "--to", "T-1d") == told(world, "list", "--reason", "json") == []
    for form in ("table", "plain", "jsonl", "csv", "line"):
        assert "regex: no match" in run(world, "list", "--output", form).stdout


def test_records_with_one_reason_are_one_line_whatever_their_values(tmp_path: Path) -> None:
    world = World(tmp_path / "home")
    times = [f"14.11.2026 00:00:{n:02}" for n in range(60)]
    write(tmp_path / "logs" / "a.log", "".join(f'{{"at": "{time}", "n": "{time}"}}\n' for time in times))
    write(tmp_path / "logs" / "b.log", "".join(f'{{"at": "2026-11-14", "n": "{n}x"}}\n' for n in range(40)))
    world.write_config(f"""
        table "t" {{
          column "tp_timestamp" {{ source = "at" }}
          column "m" {{
            type      = "bigint"
            transform = "case when n like '%x' then n::bigint end"
          }}
        }}
        partition "t" "p" {{
          source "file" {{ paths = ["{tmp_path}/logs"] }}
        }}
    """)
    world.collect()
    unread, raised = told(world, "list", "--by", "reason")
    assert unread["reason"].startswith("row: no timestamp ('*' in tp_timestamp is no ISO 8601 time")
    assert (unread["records"], unread["example"]) == (60, f'{{"at": "{times[0]}", "n": "{times[0]}"}}')
    assert (raised["records"], "'*'" in raised["reason"]) == (40, True), raised
    shown = told(world, "show", "--reason", unread["reason"], "--limit", "0")
    assert [f"'{time}'" in record["reason"] for time, record in zip(times, shown, strict=True)] == [True] * 60
    (both,) = told(world, "list")
    assert both["reasons"] == 2


def test_show_has_bytes_places_and_reasons(world: World, tmp_path: Path) -> None:
    shown = told(world, "show", "p", "--limit", "0")
    assert [(r["position"], r["form"], r["raw"]) for r in shown][2:] == [
        (len(lines(1, 2)), "text", "bad"),
        (0, "escaped", "caf\\xe9 au lait"),
    ]
    assert {r["location"] for r in shown} == {f"{tmp_path}/logs/{name}.log" for name in "ab"}
    some = run(world, "show", "--limit", "1")
    assert some.stdout.startswith("id           ")
    assert "1 of 4 records are shown" in some.stderr
    assert told(world, "show", shown[2]["id"]) == [shown[2]]
    assert [row["raw"] for row in csv.DictReader(io.StringIO(run(world, "show", "--output", "csv").stdout))][2] == "bad"


def test_an_id_is_the_tp_id_of_the_row_to_be(world: World) -> None:
    first, second = (row["id"] for row in told(world, "show")[:2])
    (row,) = told(world, "replay", second)
    assert (row["tried"], row["stored"]) == (1, 1)
    assert world.query("select tp_id from events") == [(second,)]
    (row,) = told(world, "replay", "events.*", "--dry-run")
    assert (row["tried"], row["stored"], row["quarantined"]) == (3, 1, 2)
    assert counts(world) == (1, 3)
    told(world, "replay", "p")
    assert world.query("select tp_id from events order by 1") == [(first,), (second,)]


def test_purge_asks_tells_and_can_be_undone(world: World) -> None:
    assert refusal(world, "purge", "p").code == "usage.not-confirmed"
    (row,) = told(world, "purge", "p", "--artifact", "b.log", "--dry-run")
    assert (row["records"], counts(world)) == (1, (0, 4))
    (row,) = told(world, "purge", "p", "--artifact", "b.log", "--force")
    assert (row["records"], counts(world)) == (1, (0, 3))
    assert told(world, "purge", "p", "--artifact", "b.log", "--force") == []
    words = row["undo"].split()
    CliRunner().invoke(cli, words[words.index("--home") :])
    assert counts(world) == (0, 4)


def test_partitions_without_a_block_or_a_record(world: World, tmp_path: Path) -> None:
    assert refusal(world, "show", "nobody").code == "usage.unknown-partition"
    world.write_config("")
    assert [row["records"] for row in told(world, "list")] == [4]
    assert refusal(world, "replay", "p").code == "config.unknown-partition"
    assert told(World(tmp_path / "empty"), "list") == []


def test_what_cannot_be_tried_is_told(world: World, tmp_path: Path) -> None:
    """Another way to divide a file needs the file; exit code 5."""
    configure(world, tmp_path / "logs", "format.json.default")
    (tmp_path / "logs" / "a.log").unlink()
    done = run(world, "replay", "p", "--output", "plain", code=5)
    assert done.stdout.split()[-1] == "3"
    assert "warning[quarantine.artifact-gone]" in done.stderr
    assert f"{tmp_path}/logs/a.log: 3 records can only be read with the whole artifact (regex: no match)" in done.stderr


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"", ("", "text")),
        ("grün\tund\n".encode(), ("grün\tund\n", "text")),
        (b"a\xffbcdef", ("a\\xffbcdef", "escaped")),
        (b"\x00\x01\x02", ("000102", "hex")),
        (b"\xff\xfe\xfd\xfc", ("fffefdfc", "hex")),
    ],
)
def test_bytes_as_text(raw: bytes, shown: tuple[str, str]) -> None:
    assert as_text(raw) == shown


def test_the_walk_through(tmp_path: Path) -> None:
    """What the page tells, done: the lines and the configuration are the page's own."""
    page = PAGE.read_text()
    (log,) = re.findall(r"^```log\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    (config,) = re.findall(r"^```hcl\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    answers = re.findall(r"^```text\n(?!tailrace)(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    commands = re.findall(r"^tailrace (quarantine \w+.* shop_log\.web.*)$", page, re.MULTILINE)
    world = World(tmp_path / "home")
    write(tmp_path / "logs" / "shop.log", log)
    world.write_config(config.replace("/var/log/shop", f"{tmp_path}/logs"))
    (report,) = world.collect()
    assert (report.counts.received, report.counts.quarantined) == (4, 4)
    show, look, replay, purge = (command.replace("'", "").split(" ")[1:] for command in commands)
    assert answers[0].split()[1] == artifact_prefix("file:///var/log/shop/shop.log") + "0" * POSITION_LENGTH
    shown = re.sub(r"(?<=id           ).*", "", run(world, *show).stdout.replace(f"{tmp_path}/logs", "/var/log/shop"))
    assert shown.startswith(re.sub(r"(?<=id           ).*", "", answers[0]))
    world.write_config(config.replace("/var/log/shop", f"{tmp_path}/logs").replace("[a-z]+", "[A-Z]+"))
    for command in (look, replay):
        assert run(world, *command, "--output", "plain").stdout == answers[1]
    assert len(world.query("select tp_timestamp, level, message, took_ms from shop_log order by 1")) == 3
    assert run(world, "purge", "shop_log.web", *purge[2:3], "no match", "--force").exit_code == 0
    assert told(world, "list") == []
