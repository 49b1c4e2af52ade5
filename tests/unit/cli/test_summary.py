"""How a collection is told: marks, numbers, and commands that can be pasted."""

from __future__ import annotations

import json
import subprocess
from datetime import datetime, time
from pathlib import Path

import pytest
from click.testing import CliRunner
from logfiles import access_lines, today, write
from world import World

from tailrace.cli.hints import hint_for
from tailrace.cli.main import cli
from tailrace.cli.options import Context
from tailrace.cli.summary import exit_code, note_nothing_found, print_summary
from tailrace.config import select
from tailrace.core import TimeRange
from tailrace.pipeline.report import PartitionReport, Trouble

CONTEXT = Context(home="/some home")


def told(capsys: pytest.CaptureFixture[str], *reports: PartitionReport) -> tuple[str, str]:
    print_summary(list(reports), "table", CONTEXT, 33.7)
    return tuple(capsys.readouterr())  # type: ignore[return-value]


def report(received: int, quarantined: int, name: str = "t.p") -> PartitionReport:
    made = PartitionReport(name, discovered=1, done=1, files=1, days=1, first_day="2024-05-01", last_day="2024-05-01")
    made.counts.received, made.counts.quarantined = received, quarantined
    made.counts.stored = received - quarantined
    return made


@pytest.mark.parametrize(
    ("received", "quarantined", "mark"), [(0, 0, "✓"), (9, 0, "✓"), (9, 4, "✓"), (9, 5, "!"), (1, 1, "!")]
)
def test_mark(capsys, received, quarantined, mark):
    out, _ = told(capsys, report(received, quarantined))
    assert out.startswith(f"{mark} t.p  0.0 s\n")
    assert "  written    1 file (0 B), on 2024-05-01\n" in out
    assert ("see" in out) == bool(quarantined)


def test_several_partitions_share_one_duration(capsys):
    out, _ = told(capsys, report(1, 0), report(2, 0, "t.q"))
    assert out.splitlines()[0] == "✓ t.p"
    assert out.splitlines()[-1] == "all took 33.7 s"


def test_the_advice_finds_the_rows(tmp_path: Path, capsys):
    good = access_lines(today(), 3)
    file = write(tmp_path / "logs" / "access.log", good + "junk\n")
    world = World(tmp_path / "home")
    out, _ = told(capsys, world.collect_one("nginx_access_log", f"{tmp_path}/logs"))
    (line,) = (line for line in out.splitlines() if line.startswith("  see"))
    script = f'tailrace() {{ printf "%s\\n" "$@"; }}; {line.removeprefix("  see")}'
    words = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True).stdout.splitlines()
    assert words == ["--home", "/some home", "quarantine", "show", "nginx_access_log.p"]
    shown = CliRunner().invoke(cli, ["--home", str(world.home), *words[2:], "--output", "json"])
    (record,) = json.loads(shown.stdout)
    assert (record["location"], record["position"], record["raw"]) == (str(file), len(good), "junk")


def test_what_a_url_carries_is_hidden_in_both_forms(capsys):
    made = report(1, 0)
    made.troubles.append(Trouble("https://h/a?token=hunter2", "https://u:hunter3@h is gone", "data.failed-artifact"))
    _, err = told(capsys, made)
    assert "https://h/a?token=***: https://u:***@h is gone" in err
    print_summary([made], "json", CONTEXT, 1.0)
    assert "hunter" not in capsys.readouterr().out


def test_nothing_found(tmp_path: Path, capsys):
    (tmp_path / "empty").mkdir()
    world = World(tmp_path / "home")
    found = [world.collect_one("nginx_access_log", f"{tmp_path}/empty")]
    note_nothing_found(found, select(world.config(), ()))
    out, err = told(capsys, *found)
    assert out.startswith("! nginx_access_log.p")
    assert "  artifacts  none: no file matches\n" in out
    assert f"warning[source.nothing-found]: {tmp_path}/empty: no file matches\n" in err
    assert exit_code(found, 0) == 0


def test_a_path_that_is_gone_has_a_hint(tmp_path: Path, capsys):
    world = World(tmp_path / "home")
    found = [world.collect_one("nginx_access_log", f"{tmp_path}/gone")]
    note_nothing_found(found, select(world.config(), ()))
    out, err = told(capsys, *found)
    assert "  artifacts  none: the source could not be listed\n" in out
    assert "warning[source.gone]" in err
    assert "hint: check the path in the configuration, or after --file" in err
    assert "nothing-found" not in err


def test_hints_by_code():
    assert "--home" in str(hint_for("lake.io", "/x: Permission denied"))
    assert "make room" in str(hint_for("lake.io", "/x: No space left on device"))
    assert "user" in str(hint_for("source.denied", "permission denied"))
    assert "connection test" in str(hint_for("source.denied", "cannot be listed: access denied (403)"))


def test_rows_that_were_only_replaced_are_told_apart(tmp_path: Path, capsys):
    log, world = tmp_path / "access.log", World(tmp_path / "home")
    write(log, access_lines(today(), 3))
    assert "3 received, 3 stored, 0 filtered" in told(capsys, world.collect_one("nginx_access_log", str(log)))[0]
    write(log, "# changed\n" + access_lines(today(), 4).partition("\n")[2])
    (report,) = world.collect(window=TimeRange(datetime.combine(today(), time.min)), overwrite=True)
    assert "4 received, 3 stored in place of 3 earlier ones, 0 filtered" in told(capsys, report)[0]
    assert report.as_dict()["rows"]["replaced"] == 3  # type: ignore[index]
