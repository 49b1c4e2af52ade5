"""The notebook of docs/windows.md, cell by cell: a sample per service, with estimates and errors beside the truth."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from otaptables import simple
from otlprequests import json_request

from tailrace.cli.main import cli

PAGE = Path(__file__).parents[2] / "docs" / "windows.md"
LOGS = {"shop": 5_000, "bank": 900, "post": 40}


def cells() -> list[tuple[str, str]]:
    section = PAGE.read_text().partition("## In a notebook")[2].partition("\n## ")[0]
    return re.findall(r"```(sh|hcl|python)\n(.*?)```", section, re.DOTALL)


def test_the_cells_run_and_estimates_are_near_the_truth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    requests = [simple(name, ["x"] * count) for name, count in LOGS.items()]
    for request in requests:
        for number, record in enumerate(request[0]["scopes"][0]["records"]):
            record["severity"] = 17 if number % 5 == 0 else 9
    (tmp_path / "logs.jsonl").write_text("".join(f"{json_request(request)}\n" for request in requests))
    (tmp_path / "config").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TAILRACE_HOME", str(tmp_path))
    names: dict[str, Any] = {}
    for kind, told in cells():
        text = told.replace("/data/", f"{tmp_path}/")
        if kind == "hcl":
            (tmp_path / "config" / "sampled.tpc").write_text(text)
        elif kind == "sh":
            done = CliRunner().invoke(cli, shlex.split(text)[1:])
            assert done.exit_code == 0, (done.output, done.exception)
        else:
            exec(text, names)
    compared = names["compared"].set_index("service")
    assert compared["logs_in_truth"].to_dict() == LOGS
    assert compared["errors_in_truth"].to_dict() == {name: count // 5 for name, count in LOGS.items()}
    assert compared["drawn"].to_dict() == {"shop": 200, "bank": 200, "post": 40}
    for name, row in compared.iterrows():
        assert abs(row["logs"] - LOGS[str(name)]) <= 2 * row["plus_minus"] + 1e-6
        assert abs(row["errors"] - LOGS[str(name)] / 5) <= 2 * row["plus_minus"] + 1e-6
    assert compared["plus_minus"]["post"] == 0
    assert 0 < compared["plus_minus"]["shop"] < LOGS["shop"] / 2
