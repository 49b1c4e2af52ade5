"""Names that somebody else has chosen may hold what a terminal obeys; people are shown it, terminals are not told."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from world import World

from tailrace.cli.main import cli, report
from tailrace.cli.redact import visible, visible_error, visible_line
from tailrace.cli.summary import print_troubles
from tailrace.core import SourceError
from tailrace.pipeline.report import PartitionReport, Trouble

NAME = "esc\x1b]0;pwn\x07.gz"
SHOWN = r"esc\x1b]0;pwn\x07.gz"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (NAME, SHOWN),
        ("a\x9b31mb", r"a\x9b31mb"),
        ("\u202egz.exe", r"\u202egz.exe"),
        ("\udcff", r"\udcff"),
        ("ü 日 → 🙂", "ü 日 → 🙂"),
    ],
    ids=("title", "colour", "direction", "byte", "text"),
)
def test_what_cannot_be_seen_has_backslashes(text: str, shown: str) -> None:
    assert visible(text) == visible_line(text) == shown


def test_line_ends_in_a_name_begin_no_line() -> None:
    assert visible("two\nlines\r") == "two\nlines\\r"
    error = SourceError("cannot be read\n  ^", where="a\nerror[x]: forged")
    assert visible_error(error) == "a\\nerror[x]: forged: cannot be read\n  ^"


def test_errors_and_warnings(capsys: pytest.CaptureFixture[str]) -> None:
    report(SourceError(f"{NAME} is no file", where=f"/x/{NAME}", hint=f"look at {NAME}"))
    done = PartitionReport("t.p")
    done.troubles.append(Trouble(f"/x/{NAME}", f"{NAME} is broken", "data.failed-artifact", f"mend {NAME}"))
    print_troubles(done)
    told = capsys.readouterr().err
    assert told.count(SHOWN) == 6
    assert "\x1b" not in told.replace("\x1b[", "")
    assert "\x07" not in told


def test_commands_over_such_a_file(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / NAME).write_bytes(b"no gzip at all")
    world = World(tmp_path / "home")
    world.write_config(f'partition "syslog" "x" {{\n  source "file" {{ paths = ["{tmp_path}/logs"] }}\n}}\n')
    world.collect()
    for command in ("quarantine show", "quarantine list --by artifact", "source list --artifacts"):
        done = CliRunner().invoke(cli, ["--home", str(world.home), *command.split()])
        assert SHOWN in done.stdout, (command, done.output)
        assert not {"\x1b", "\x07"} & set(done.output)
