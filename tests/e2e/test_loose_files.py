"""Files without any configuration: named on the command line, or piped in."""

from __future__ import annotations

from pathlib import Path

import pytest
from commandline import Home
from logfiles import access_lines, today, write

pytestmark = pytest.mark.warm

TABLE = ("--table", "nginx_access_log")


@pytest.fixture
def home(tmp_path: Path, class_archive: dict[str, str]) -> Home:
    return Home(tmp_path / "home", class_archive)


def test_files_and_stdin(home: Home, tmp_path: Path) -> None:
    text = access_lines(today(), 20)
    file = write(tmp_path / "access.log", text)
    done = home.collect("--file", str(file), *TABLE)
    assert done["nginx_access_log.files"]["rows"]["stored"] == 20
    for stored in (20, 0):  # the same bytes again are the same rows
        piped = home.run("collect", "--file", "-", *TABLE, "--partition", "piped", "--output", "json", stdin=text)
        (partition,) = piped.json()["partitions"]
        assert (piped.code, partition["partition"]) == (0, "nginx_access_log.piped")
        assert partition["rows"]["stored"] == stored
    assert not list((home.path / "stdin").iterdir())
    counted = home.query("select tp_partition, count(*) as n from nginx_access_log group by 1 order by 1")
    assert counted == [{"tp_partition": "files", "n": 20}, {"tp_partition": "piped", "n": 20}]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--file", "x"), "--file needs --table"),
        (("--file", "x", "--table", "nginx_access_lgo"), "did you mean 'nginx_access_log'?"),
        (("--table", "nginx_access_log"), "--table goes with --file"),
        (("web", "--file", "x", "--table", "nginx_access_log"), "no other names"),
    ],
)
def test_what_does_not_go_together(home: Home, arguments: tuple[str, ...], said: str) -> None:
    done = home.run("collect", "--dry-run", *arguments)
    assert done.code in (2, 3)
    assert said in done.err
