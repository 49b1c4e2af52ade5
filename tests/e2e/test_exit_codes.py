"""Every exit code that the documentation names, from a real command."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from commandline import Home, ended, killed_afterwards, wait_for
from logfiles import access_lines, today, write

from tailrace.lake.lock import partition_lock
from tailrace.lake.paths import Lake

WEB = 'partition "nginx_access_log" "web" {\n source "file" { paths = ["LOGS"] }\n}\n'
COLLECT = ("collect", "--from", f"{today()}")


@dataclass(frozen=True)
class Case:
    """A command, what is in the log and the configuration, and what comes of it."""

    code: int
    command: tuple[str, ...]
    says: str = ""
    log: str = ""
    config: str = WEB

    def __str__(self) -> str:
        return f"{self.code}-{'-'.join(self.command[:2])}"


GOOD, BAD = access_lines(today(), 3), "bad line\n"
CASES = [
    Case(0, ("query", "select 1")),
    Case(0, (*COLLECT, "--max-errors", "1"), "3 stored, 0 filtered, 0 out of range, 1 quarantined", GOOD + BAD),
    Case(1, ("query", "select nothing from nowhere"), "error[query"),
    Case(2, ("colect",), "did you mean 'collect'?"),
    Case(2, ("collect", "--from", "some day"), "error[usage"),
    Case(2, ("collect", "nobody.*"), "error[usage"),
    Case(2, ("partition", "delete", "web"), "error[usage"),
    Case(3, COLLECT, "error[config", config='partition "nginx_access_log" "web" {'),
    *(
        Case(3, COLLECT, f"test.tpc:2:{place}", GOOD, WEB.replace("paths", f"{line}\n paths"))
        for place, line in (
            ("33: file_layout: unknown pattern 'YAER'", "file_layout = `%{YAER:year}`"),
            ("61: missing )", "format = { type = `regex`, layout = `(?<x>a` }"),
            ("27: the layout names no field", "format = `- -`"),
        )
    ),
    Case(3, ("config", "validate"), "error[config", config='partition "no_such_table" "x" {\n source "file" {}\n}\n'),
    Case(4, (*COLLECT, "--max-errors", "0"), "1 quarantined", GOOD + BAD),
    Case(5, COLLECT, "nowhere", config=WEB.replace("LOGS", "/nowhere/at/all")),
]


@pytest.fixture
def log(home: Home, tmp_path: Path) -> Path:
    home.configure(WEB.replace("LOGS", f"{tmp_path}/logs"))
    return write(tmp_path / "logs" / "a.log", GOOD)


@pytest.mark.warm
@pytest.mark.parametrize("case", CASES, ids=str)
def test_code(home: Home, log: Path, case: Case) -> None:
    write(log, case.log)
    home.configure(case.config.replace("LOGS", str(log.parent)))
    done = home.run(*case.command)
    assert done.code == case.code, done
    assert case.says in done.out + done.err
    assert "Traceback" not in done.err


def test_locked_is_6(home: Home, log: Path) -> None:
    assert log.exists()
    with partition_lock(Lake(home.path), "nginx_access_log", "web", "a test"):
        done = home.run("collect")
    assert (done.code, "error[lake.locked]" in done.err) == (6, True), done


def test_interrupted_is_130(home: Home, log: Path) -> None:
    script = write(log.with_name("script"), "sleep 100\necho over")
    home.configure(WEB.replace('"file" { paths = ["LOGS"] }', f'"command" {{ command = ["sh", "{script}"] }}'))
    with killed_afterwards(home.start("collect")) as process:
        wait_for(lambda: any("sleep 100" in c for c in home.processes().values()) or process.poll() is not None)
        process.send_signal(signal.SIGINT)
        done = ended(process)
    assert (done.code, "interrupted" in done.err) == (130, True), done
    home.assert_no_process_is_left()


@pytest.mark.parametrize("flag", ["-v", "-vv"])
def test_a_traceback_is_for_those_who_ask(home: Home, log: Path, flag: str) -> None:
    """Damage that nobody foresaw: a line and a hint, and with -vv the place in the code."""
    assert log.exists()
    fold = home.path / "meta" / "default" / "ledger" / "nginx_access_log" / "web" / "fold-x.parquet"
    write(fold, "no number, and no fold")
    done = home.run(flag, "collect")
    assert done.code in (1, 5), done
    assert "error[" in done.err
    assert ("Traceback" in done.err) == (flag == "-vv"), done.err


def test_the_documented_codes_are_these() -> None:
    page = (Path(__file__).parents[2] / "docs" / "commands" / "README.md").read_text()
    rows = re.findall(r"^\| (\d+) \|", page, re.MULTILINE)
    assert {int(code) for code in rows} == {*(case.code for case in CASES), 6, 130}


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)])
def test_standard_files_that_are_closed_are_no_error(home: Home, closed: tuple[int, ...]) -> None:
    shut = " ".join(f"{number}>&-" for number in closed)
    command = f'exec "$0" -m tailrace.cli.main query "select 41 + 1 as x" --output csv {shut}'
    done = subprocess.run(
        ["bash", "-c", command, sys.executable], env=home.environment(), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    assert done.stdout == ("" if 1 in closed else "x\n42\n")
