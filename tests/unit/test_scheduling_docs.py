"""docs/scheduling.md: units, jobs and alerts can be read, their commands are understood, their metrics exist."""

from __future__ import annotations

import configparser
import re
import shlex
from pathlib import Path

import click
import yaml

from tailrace.cli.collect import command
from tailrace.cli.metric_text import METRICS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "scheduling.md").read_text()


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def assert_understood(words: list[str]) -> None:
    assert Path(words[0]).name == "tailrace"
    assert words[1] == "collect"
    command.make_context("collect", words[2:], parent=click.Context(click.Group("tailrace")))


def test_units() -> None:
    names = set()
    for text in blocks("ini"):
        unit = configparser.ConfigParser(interpolation=None)
        unit.optionxform = str  # type: ignore[assignment,method-assign]
        unit.read_string(text)
        names |= set(unit.sections())
        if unit.has_section("Service"):
            assert_understood(shlex.split(unit["Service"]["ExecStart"]))
            assert unit["Service"]["SuccessExitStatus"] == "130"
    assert names == {"Unit", "Service", "Install", "Timer"}


def test_cron() -> None:
    (line,) = blocks("crontab")
    fields = line.split(maxsplit=5)
    assert fields[:5] == ["7", "*", "*", "*", "*"]
    assert_understood(shlex.split(fields[5].partition("||")[0]))


def test_kubernetes_and_alerts() -> None:
    job, alerts = (yaml.safe_load(text) for text in blocks("yaml"))
    pod = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    assert_understood(pod["containers"][0]["command"])
    mounted = {mount["name"] for mount in pod["containers"][0]["volumeMounts"]}
    assert mounted == {volume["name"] for volume in pod["volumes"]}
    rules = alerts["groups"][0]["rules"]
    used = {name for rule in rules for name in re.findall(r"tailrace_(\w+)", rule["expr"])}
    assert used
    assert used <= set(METRICS)


def test_every_metric_is_documented() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (.*) \|$", PAGE, re.MULTILINE)
    assert [(name, METRICS[name].kind, METRICS[name].help) for name in METRICS] == rows
