"""Commands that need no lake: help, errors, empty tables; none of them starts a JVM."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from click.testing import CliRunner
from commandline import Home

from tailrace.cli.main import cli

VERBS = ("list", "show")
COMMANDS = [
    (), ("demo",), ("collect",), ("query",), ("table",), ("table", "list"), ("table", "show"),
    ("partition",), ("partition", "list"), ("partition", "show"), ("doctor",), ("completion",),
    ("config",), ("config", "validate"), ("config", "show"), ("plugin", "install"),
    *((noun, verb) for noun in ("source", "format", "connection", "schema", "store", "plugin") for verb in VERBS),
]  # fmt: skip
HEAVY = ("pyspark", "pyarrow", "duckdb", "deltalake", "rich", "numpy", "msgspec")
NGINX = 'partition "nginx_access_log" "web" {\n  source "file" {\n    paths = ["/nowhere/*.log"]\n  }\n}\n'


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path / "home")


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help(command):
    done = CliRunner().invoke(cli, [*command, "--help"])
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.startswith("Usage: ")
    assert "--home" in done.stdout or command in {("table",), ("partition",), ("config",)}


def test_help_imports_nothing_heavy(home):
    command = [sys.executable, "-X", "importtime", "-m", "tailrace.cli.main", "--help"]
    done = subprocess.run(command, env=home.environment(), capture_output=True, text=True, check=True)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "click" in imported
    assert not [name for name in imported if name.partition(".")[0] in HEAVY]


def test_version(home):
    done = home.run("--version")
    assert done.code == 0
    assert done.out.startswith("tailrace ")


def test_empty_tables_are_there(home):
    tables = ("aws_cloudtrail_log", "aws_vpc_flow_log", "nginx_access_log", "apache_access_log")
    asked = [f"select count(*) as n, max(tp_timestamp) as t from {table}" for table in tables]
    asked.append("select count(*), null from tp_quarantine")
    assert home.query(" union all ".join(asked)) == [{"n": 0, "t": None}] * len(asked)


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (("collect", "nginx_acess_log"), 2, "did you mean 'nginx_access_log'?"),
        (("collect", "nginx_access_log.wib"), 2, "did you mean 'nginx_access_log.web'?"),
        (("collect", "--from", "yesteryear"), 2, "yesteryear"),
        (("collect", "--from", "2024-02-01", "--to", "2024-01-01"), 2, "2024-01-01"),
        (("colect",), 2, "did you mean 'collect'?"),
        (("table", "show", "nginx_acces_log"), 2, "did you mean 'nginx_access_log'?"),
        (("partition", "show", "wep"), 2, "web"),
        (("query", "select * from nginx_acces_log"), 1, "did you mean 'nginx_access_log'?"),
        (("query", "selekt 1"), 1, "syntax error"),
        (("collect", "--output", "xml"), 2, "xml"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_does_not_exist(home, args, code, said):
    home.configure(NGINX)
    done = home.run(*args)
    assert done.code == code, done
    assert said in done.err
    assert "Traceback" not in done.err
    assert done.out == ""


def test_configuration_errors_name_the_place(home):
    file = home.configure(NGINX.replace("paths =", "pathz ="))
    done = home.run("collect")
    assert done.code == 3
    assert f"{file}:3:5" in done.err
    assert "did you mean 'paths'?" in done.err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('tp_index = "no_such_column"', "no_such_column"),
        ('filter = "statu >= 400"', "statu"),
        ('filter = "status >="', "filter"),
    ],
)
def test_expressions_are_checked_before_anything_runs(home, line, said):
    file = home.configure(NGINX.replace('"web" {\n', f'"web" {{\n  {line}\n'))
    done = home.run("collect")
    assert done.code == 3
    assert said in done.err
    assert f"{file}:2:" in done.err


def test_nothing_configured(home):
    done = home.run("collect")
    assert done.code == 2
    assert str(home.path / "config") in done.err


def test_the_unexpected_is_said_in_one_line(home):
    faulty = "import tailrace.cli.settings as settings\ndef load_config(context): raise RuntimeError('never seen')\n"
    (home.path / "faults").mkdir(parents=True)
    (home.path / "faults" / "sitecustomize.py").write_text(faulty + "settings.load_config = load_config\n")
    path = os.pathsep.join([str(home.path / "faults"), os.environ.get("PYTHONPATH", "")])
    brief, full = home.run("table", "list", PYTHONPATH=path), home.run("table", "list", "-vv", PYTHONPATH=path)
    assert (brief.code, full.code) == (1, 1)
    assert brief.err.startswith("error[unexpected]: ")
    assert "-vv" in brief.err
    assert "Traceback" not in brief.err
    assert "Traceback" in full.err
