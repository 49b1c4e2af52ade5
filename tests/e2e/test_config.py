"""`config validate` and `config show` as a person uses them; where configuration comes from; what is never printed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from commandline import Finished, Home

NGINX = """partition "nginx_access_log" "web" {
  source "file" {
    paths = ["/nowhere/*.log"]
  }
}
"""
BROKEN = """partition "nginx_acess_log" "web" {
  filter = "status >"
  source "fiel" {
    paths = ["/nowhere"]
  }
}
partition "nginx_access_log" "api" {
  filter = "statsu > 400"
  source "file" {
    pathz = ["/nowhere"]
  }
}
"""
SECRET = "hunter2-hunter2"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def run_in(home: Home, directory: Path, *args: str, **env: str) -> Finished:
    done = subprocess.run(
        [sys.executable, "-m", "tailrace.cli.main", *args],
        cwd=directory,
        env=home.environment(**env),
        capture_output=True,
        text=True,
        timeout=120,
    )
    return Finished(done.returncode, done.stdout, done.stderr)


def test_all_is_well(home: Home) -> None:
    home.configure(NGINX)
    done = home.run("config", "validate")
    assert (done.code, done.err) == (0, "")
    assert done.out == "1 file, 1 partition: no errors, 0 warnings\n"


def test_all_problems_at_once(home: Home) -> None:
    file = home.configure(BROKEN)
    done = home.run("config", "validate")
    assert done.code == 3
    for said in ("did you mean 'nginx_access_log'?", "did you mean 'file'?", "did you mean 'paths'?"):
        assert said in done.err
    assert f"{file}:10:5" in done.err
    assert "pathz = " in done.err
    found = home.run("config", "validate", "--output", "json")
    assert found.code == 3
    report = found.json()
    assert report["valid"] is False
    assert [e["line"] for e in report["errors"]] == sorted(e["line"] for e in report["errors"])
    assert {"config.unknown-table", "config.unknown-attribute"} <= {e["code"] for e in report["errors"]}
    assert all(e["file"] == str(file) and e["hint"] for e in report["errors"])
    assert done.err.count("error[") == len(report["errors"])


def test_expressions_are_tried(home: Home) -> None:
    file = home.configure(NGINX.replace("{\n", '{\n  filter = "statsu > 400"\n', 1))
    done = home.run("config", "validate")
    assert done.code == 3
    assert f"{file}:2:" in done.err
    assert "did you mean 'status'?" in done.err


def test_what_is_not_active_yet_is_a_warning(home: Home) -> None:
    home.configure(NGINX + 'workspace "default" { memory_max_mb = 512 }\n')
    done = home.run("config", "validate", "--output", "json")
    assert done.code == 0
    assert [warning["code"] for warning in done.json()["warnings"]] == ["config.not-active"]
    assert done.json()["blocks"] == {"partition": 1, "workspace": 1}


def test_no_engine_is_imported_for_plain_files(home: Home) -> None:
    home.configure(NGINX)
    command = [sys.executable, "-X", "importtime", "-m", "tailrace.cli.main", "config", "validate"]
    done = subprocess.run(command, env=home.environment(), capture_output=True, text=True, check=True)
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()}
    assert "click" in imported
    assert not imported & {"duckdb", "pyarrow", "pyspark", "deltalake", "rich", "numpy"}


def test_a_path_that_does_not_exist(home: Home) -> None:
    done = home.run("config", "validate", "--config-path", "/nowhere.tpc", "--output", "json")
    assert done.code == 3
    assert done.json()["errors"][0]["code"] == "config.no-such-path"


def profile(text: str) -> str:
    return f'connection "aws" "prod" {{\n  profile = "{text}"\n}}\n'


def chosen(done: Finished) -> tuple[str, str]:
    assert done.code == 0, done.err
    (row,) = [row for row in done.json() if row["name"] == "connection.aws.prod.profile"]
    return row["value"], row["origin"]


def test_flag_before_environment_before_project_before_user(home: Home, tmp_path: Path) -> None:
    show = ("config", "show", "--origin", "--output", "json")
    home.configure(profile("user") + NGINX)
    below = tmp_path / "project" / "a" / "b"
    below.mkdir(parents=True)
    assert chosen(run_in(home, below, *show)) == ("user", "user")
    (tmp_path / "project" / "tailrace.tpc").write_text(profile("project"))
    done = run_in(home, below, *show)
    assert chosen(done) == ("project", "project")
    assert any(row["name"].startswith("partition.nginx_access_log.web") for row in done.json())
    for origin in ("environment", "flag"):
        (tmp_path / origin).mkdir()
        (tmp_path / origin / "x.tpc").write_text(profile(origin))
    paths = os.pathsep.join([str(tmp_path / "environment"), ""])
    assert chosen(run_in(home, below, *show, TAILRACE_CONFIG_PATH=paths)) == ("environment", "environment")
    flagged = run_in(home, below, *show, "--config-path", str(tmp_path / "flag"), TAILRACE_CONFIG_PATH=paths)
    assert chosen(flagged) == ("flag", "flag")
    assert not any(row["name"].startswith("partition.") for row in flagged.json())


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
def test_a_project_file_of_somebody_else_is_passed_over(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "tailrace.tpc"
    file.write_text("nonsense {{{")
    os.chown(file, 12345, 12345)
    home.configure(NGINX)
    assert run_in(home, tmp_path, "config", "validate").code == 0


def test_variables_come_from_flag_file_and_environment(home: Home, tmp_path: Path) -> None:
    home.configure('variable "where" {\n  default = "none"\n}\n' + profile("${var.where}"))
    show = ("config", "show", "--origin", "--output", "json")
    values = tmp_path / "some.tpvars"
    values.write_text('where = "file"\n')

    def variable(*args: str, **env: str) -> tuple[str, str]:
        (row,) = [row for row in home.run(*show, *args, **env).json() if row["name"] == "var.where"]
        return row["value"], row["origin"]

    assert variable() == ("none", "default")
    assert variable(TAILRACE_VAR_where="env") == ("env", "environment")
    assert variable("--var-file", str(values), TAILRACE_VAR_where="env") == ("file", "file")
    assert variable("--var", "where=flag", "--var-file", str(values)) == ("flag", "flag")


SECRETS = f'variable "token" {{\n  sensitive = true\n}}\nconnection "aws" "prod" {{\n  secret_key = "{SECRET}"\n}}\n'


@pytest.mark.parametrize(
    "command",
    [
        ("config", "show", "--origin"),
        ("config", "validate"),
        ("connection", "show", "prod", "--output", "json"),
        ("doctor", "--output", "json"),
        ("collect", "-vv"),
        ("table", "list", "-vv"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("more", ["", "oops = 1\n", 'connection "aws" "x" { secret_key = ["hunter2-hunter2"] }\n'])
def test_secrets_are_printed_nowhere(home: Home, command: tuple[str, ...], more: str) -> None:
    home.configure(SECRETS + 'partition "nginx_access_log" "${var.token}" { filter = var.token }\n' * bool(more) + more)
    done = home.run(*command, "--var", f"token={SECRET}")
    assert SECRET not in done.out
    assert SECRET not in done.err


def test_a_traceback_holds_no_secret(home: Home) -> None:
    faulty = (
        f"import tailrace.cli.settings as s\ndef fail(*_): raise RuntimeError('said {SECRET}')\ns.open_lake = fail\n"
    )
    (home.path / "faults").mkdir(parents=True)
    (home.path / "faults" / "sitecustomize.py").write_text(faulty)
    home.configure(SECRETS)
    path = os.pathsep.join([str(home.path / "faults"), home.environment()["PYTHONPATH"]])
    for flags in ((), ("-vv",)):
        done = home.run("table", "list", *flags, "--var", f"token={SECRET}", PYTHONPATH=path)
        assert done.code == 1
        assert "said ***" in done.err
        assert SECRET not in done.err
