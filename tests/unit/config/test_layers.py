"""Files of two strengths."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from tailrace.config import Config, ConfigErrors, load

USER = """
locals {
  logs = "/user"
  more = "/more"
}
connection "aws" "prod" { profile = "user" }
partition "nginx_access_log" "web" {
  source "file" { paths = [local.logs, local.more] }
}
partition "nginx_access_log" "api" {
  source "file" { paths = ["/api"] }
}
"""
PROJECT = """
locals { logs = "/project" }
connection "aws" "prod" { profile = "project" }
collection "nginx_access_log" "api" {
  source "file" { paths = ["/own"] }
}
"""


def loaded(root: Path, user: str, project: str) -> Config:
    (root / "user").mkdir()
    (root / "user" / "a.tpc").write_text(user)
    (root / "tailrace.tpc").write_text(project)
    return load([root / "tailrace.tpc"], weaker=[root / "user"], now=datetime(2024, 1, 1), environ={})


def test_a_block_of_the_same_name_is_replaced_and_the_others_join(tmp_path: Path) -> None:
    config = loaded(tmp_path, USER, PROJECT)
    assert [connection.args["profile"] for connection in config.connections] == ["project"]
    paths = {partition.name: partition.sources[0].args["paths"] for partition in config.partitions}
    assert paths == {"api": ("/own",), "web": ("/project", "/more")}
    assert config.files == (str(tmp_path / "tailrace.tpc"), str(tmp_path / "user" / "a.tpc"))


def test_within_one_strength_a_name_is_given_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigErrors, match="already exists"):
        loaded(tmp_path, USER, PROJECT + 'connection "aws" "prod" { profile = "again" }')


def test_errors_of_both_are_found(tmp_path: Path) -> None:
    with pytest.raises(ConfigErrors) as caught:
        loaded(tmp_path, USER.replace("paths = [", "pathz = ["), PROJECT.replace("paths", "pats"))
    assert {Path(problem.place.file).name for problem in caught.value.errors} == {"a.tpc", "tailrace.tpc"}
