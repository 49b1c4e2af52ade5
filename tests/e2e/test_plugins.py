"""The package that the documentation shows: built, installed, listed, collected with, and tested by the suite."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from commandline import SOURCE, Finished, Home
from packages import ROOT, claim, example_config, install, write_example, write_worked_example

LINES = "2024-07-05T10:00:00Z|alice|192.0.2.7|login|12\n2024-07-05T10:00:02Z|bob|192.0.2.8|logout|soon\nnothing\n"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
SHORT = "2024-07-06T10:00:00Z|carol|192.0.2.9|login\n"


@pytest.fixture(scope="module")
def acme(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the package is installed."""
    project, target = tmp_path_factory.mktemp("project"), tmp_path_factory.mktemp("installed")
    write_example(project)
    install(project, target)
    return target


def path(*places: Path) -> str:
    return os.pathsep.join([SOURCE, *map(str, places)])


def fill(home: Home, directory: Path, acme: Path) -> None:
    """Logs in an archive and in a file, and the configuration of the documentation for them."""
    program = "import sys; from pathlib import Path; from acme_logs.testing import archive; "
    program += "archive(Path(sys.argv[1]), {'first day': sys.argv[2].encode()})"
    command = [sys.executable, "-c", program, str(directory), LINES]
    subprocess.run(command, env={**os.environ, "PYTHONPATH": path(acme)}, check=True)
    (directory / "branch.log").write_text(SHORT)
    config = example_config().replace("/var/lib/acme/logs.db", str(directory / "logs.db"))
    home.configure(config.replace("/var/log/acme", str(directory / "*.log")))


def test_table_source_and_format_of_a_package_are_collected_with(home: Home, tmp_path: Path, acme: Path) -> None:
    fill(home, tmp_path, acme)
    report = home.collect("--from", "2024-01-01", PYTHONPATH=path(acme))
    assert report["acme_audit_log.office"]["rows"]["stored"] == 2
    assert report["acme_audit_log.office"]["rows"]["quarantined"] == 1
    assert report["acme_audit_log.branch"]["rows"]["stored"] == 1
    columns = "tp_partition, user, took, tp_source_type, tp_source_location, tp_source_ip"
    sql = f"select {columns} from acme_audit_log order by timestamp"
    # A query does not need the package any more.
    rows = [tuple(row.values()) for row in home.query(sql)]
    branch = str(tmp_path / "branch.log")
    assert rows == [
        ("office", "alice", 12, "acme_archive", "first day", "192.0.2.7"),
        ("office", "bob", None, "acme_archive", "first day", "192.0.2.8"),
        ("branch", "carol", None, "file", branch, "192.0.2.9"),
    ]
    again = home.run("collect", "--dry-run", "--from", "2024-01-01", "--output", "json", PYTHONPATH=path(acme))
    assert ok(again).json() == [], "nothing is read twice"


@pytest.fixture
def plain(tmp_path: Path) -> Home:
    """A home for commands that start no JVM."""
    return Home(tmp_path / "home")


def ok(done: Finished) -> Finished:
    assert done.code == 0, done.err
    return done


def test_it_is_listed_with_what_it_provides(plain: Home, tmp_path: Path, acme: Path) -> None:
    fill(plain, tmp_path, acme)

    def rows(*command: str) -> list[dict[str, object]]:
        found = ok(plain.run(*command, "--output", "json", PYTHONPATH=path(acme))).json()
        return found if isinstance(found, list) else [found]

    (package,) = rows("plugin", "show", "acme-logs")
    assert package | {"hidden": []} == {
        "name": "acme-logs", "version": "1.2.0", "description": "Audit logs of Acme.", "tables": ["acme_audit_log"],
        "sources": ["acme_archive"], "formats": ["acme_pipes"], "hidden": [],
        "partitions": ["acme_audit_log.office", "acme_audit_log.branch"],
    }  # fmt: skip
    assert [row["name"] for row in rows("plugin", "list")] == ["tailrace", "acme-logs"]
    (table,) = rows("table", "show", "acme_audit_log")
    assert (table["plugin"], table["description"]) == ("acme-logs", "Who did what at Acme.")
    assert {row["name"]: row["plugin"] for row in rows("source", "list")}["acme_archive"] == "acme-logs"
    assert rows("source", "show", "acme_archive")[0]["properties"][0]["name"] == "path"  # type: ignore[index]
    assert rows("format", "show", "acme_pipes")[0]["location"] == "package acme-logs"
    assert rows("format", "show", "acme_pipes.short")[0]["fields"] == ["timestamp", "user", "ip", "action"]
    told = plain.run("doctor", "--output", "json", PYTHONPATH=path(acme)).json()
    assert {"ok"} == {f["state"] for f in told if f["name"] in ("acme_audit_log", "acme_archive", "acme_pipes")}


def test_two_packages_of_one_name_are_an_error_until_one_is_preferred(plain: Home, tmp_path: Path, acme: Path) -> None:
    fill(plain, tmp_path, acme)
    rival = tmp_path / "rival"
    claim(rival, "rival-logs", "tailrace.tables", "acme_audit_log", "rival_logs.audit")
    refused = plain.run("config", "validate", PYTHONPATH=path(acme, rival))
    assert refused.code == 3
    assert "error[config.plugin-conflict]" in refused.err
    assert "test.tpc:5:11: table acme_audit_log is provided by acme-logs and rival-logs" in refused.err
    assert 'prefer_plugins = ["acme-logs"]' in refused.err
    file = plain.path / "config" / "test.tpc"
    text = file.read_text()
    file.write_text('workspace "default" {\n  prefer_plugins = ["Acme_Logs"]\n}\n' + text)
    ok(plain.run("config", "validate", PYTHONPATH=path(acme, rival)))
    file.write_text('workspace "default" {\n  prefer_plugins = ["rival-logs"]\n}\n' + text)
    broken = plain.run("config", "validate", PYTHONPATH=path(acme, rival))
    assert "acme_audit_log of package rival-logs cannot be used: rival_logs.audit cannot be imported" in broken.err
    # Other tables are not affected.
    assert ok(plain.run("query", "select 1 as one", "--output", "csv", PYTHONPATH=path(acme, rival))).out == "one\n1\n"


LOOKED_UP = """
import atexit, sys
def tell():
    plugins = sys.modules.get("tailrace.core.plugins")
    print(bool(plugins and plugins._installed.cache_info().misses), "acme_logs" in sys.modules)
atexit.register(tell)
from tailrace.cli.main import main
main()
"""


@pytest.mark.parametrize("command", [["--help"], ["query", "select 1"], ["config", "validate"], ["partition", "list"]])
def test_nothing_is_looked_up_where_no_name_is_missed(plain: Home, acme: Path, command: list[str]) -> None:
    environment = plain.environment(PYTHONPATH=path(acme))
    program = [sys.executable, "-c", LOOKED_UP, *command]
    done = subprocess.run(program, env=environment, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "False False", done.stderr


def suite(installed: Path, *options: str) -> str:
    """What `pytest --pyargs tailrace.testing` says."""
    command = [sys.executable, "-m", "pytest", "-p", "tailrace.testing.options", "-q", "-p", "no:cacheprovider"]
    return subprocess.run(
        [*command, "--pyargs", "tailrace.testing", *options],
        env={**os.environ, "PYTHONPATH": path(installed)}, cwd=installed.parent, capture_output=True, text=True,
    ).stdout  # fmt: skip


def test_the_suite_finds_it_and_what_is_wrong_with_it(acme: Path, tmp_path: Path) -> None:
    given = acme / "acme_logs/golden/acme_audit_log/in.log"
    pair = tmp_path / "acme_audit_log"
    pair.mkdir()
    shutil.copy(given, pair)
    golden = ("--tailrace-golden", str(tmp_path))
    assert "7 passed" in suite(acme, "-k", "acme_audit_log", *golden, "--tailrace-update-golden")
    told = suite(acme, "-k", "acme", *golden)
    assert "28 passed" in told, told
    (pair / "in.log").write_text(given.read_text().replace("|soon", "|13"))
    told = suite(acme, "-k", "acme_audit_log", *golden)
    assert "1 failed, 6 passed" in told
    assert "At index 2 diff" in told
    assert "out.jsonl is missing: --tailrace-update-golden writes it" in suite(acme, "-k", "acme_audit_log")


def test_the_worked_example_is_shipped(tmp_path: Path) -> None:
    project, target = tmp_path / "project", tmp_path / "installed"
    write_worked_example(project)
    install(project, target)
    assert "7 passed" in suite(target, "-k", "caddy_access_log", "--tailrace-update-golden")
    written = target / "caddy_logs/golden/caddy_access_log/out.jsonl"
    assert written.read_text().splitlines()[0] in CONTRIBUTING.read_text()
