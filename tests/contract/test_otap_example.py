"""The example of docs/windows.md, command by command: estimates and their errors beside the truth."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from otaptables import simple
from otlprequests import json_request

from tailrace.cli.main import cli

PAGE = Path(__file__).parents[2] / "docs" / "windows.md"
LOGS = {"shop": 5_000, "bank": 900, "post": 40}


def test_the_example_runs_and_says_what_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    requests = [simple(name, ["x"] * count) for name, count in LOGS.items()]
    for request in requests:
        for number, record in enumerate(request[0]["scopes"][0]["records"]):
            record["severity"] = 17 if number % 5 == 0 else 9
    (tmp_path / "logs.jsonl").write_text("".join(f"{json_request(request)}\n" for request in requests))
    monkeypatch.chdir(tmp_path)
    section = PAGE.read_text().partition("## An example from end to end")[2]
    commands, query, said = re.findall(r"```(?:sh|text)\n(.*?)```", section, re.DOTALL)[:3]
    imported, sampled = (shlex.split(line.replace("$(cat estimates.sql)", query)) for line in _lines(commands))
    # The sample depends on `_part_id`, which is another one every time.
    with monkeypatch.context() as patch:
        patch.setattr("tailrace.windows.writer.uuid.uuid4", lambda: "0f8fad5b-d9cb-469f-a165-70867728950e")
        assert CliRunner().invoke(cli, imported).exit_code == 0
    told = CliRunner().invoke(cli, [*sampled, "--output", "json"])
    assert told.exit_code == 0, (told.output, told.exception)
    for row in json.loads(told.stdout):
        truth = LOGS[row["service"]]
        assert (row["logs_in_truth"], row["errors_in_truth"], row["drawn"]) == (truth, truth // 5, min(truth, 200))
        assert abs(row["logs"] - truth) <= 2 * row["plus_minus"] + 1
        assert abs(row["errors"] - truth / 5) <= 2 * row["plus_minus"] + 1
    shown = CliRunner().invoke(cli, [*sampled, "--output", "plain"])
    assert shown.stdout.split() == said.split(), shown.stdout


def _lines(commands: str) -> list[str]:
    return [line.removeprefix("tailrace ") for line in commands.splitlines()]
