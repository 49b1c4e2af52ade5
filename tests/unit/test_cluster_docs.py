"""docs/cluster.md: the manifests fit each other, and their command and configuration are understood."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from typing import Any

import click
import yaml

from tailrace.cli.collect import command
from tailrace.config import load
from tailrace.pipeline.options import SessionOptions, parse_conf, settle

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "cluster.md").read_text()
(MANIFESTS,) = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def manifests() -> dict[str, Any]:
    return {each["kind"]: each for each in yaml.safe_load_all(MANIFESTS)}


def test_the_driver_is_a_command_that_is_understood(tmp_path: Path) -> None:
    found = manifests()
    pod = found["CronJob"]["spec"]["jobTemplate"]["spec"]["template"]
    (driver,) = pod["spec"]["containers"]
    words = driver["command"] + driver["args"]
    assert words[:4] == ["/opt/tailrace/bin/python", "-m", "tailrace.cli.main", "collect"]
    command.make_context("collect", words[4:], parent=click.Context(click.Group("tailrace")))
    conf = parse_conf(tuple(word.removeprefix("--spark-conf=") for word in words if word.startswith("--spark-conf=")))
    (master,) = (word.removeprefix("--master=") for word in words if word.startswith("--master="))
    settings = settle(SessionOptions(master, conf=conf), {})
    assert (settings.local, settings.direct) == (False, False)
    assert settings.conf["spark.kubernetes.container.image"] == driver["image"]
    (tmp_path / "logs.tpc").write_text(found["ConfigMap"]["data"]["logs.tpc"])
    config = load([tmp_path], now=datetime(2026, 1, 1), environ={})
    assert [spec.full_name for spec in config.partitions] == ["aws_cloudtrail_log.prod"]


def test_they_name_each_other() -> None:
    found = manifests()
    pod = found["CronJob"]["spec"]["jobTemplate"]["spec"]["template"]
    executor = yaml.safe_load(found["ConfigMap"]["data"]["executor.yaml"])
    account, claim = found["ServiceAccount"]["metadata"]["name"], found["PersistentVolumeClaim"]["metadata"]["name"]
    homes = []
    for spec in (pod["spec"], executor["spec"]):
        (container,) = spec["containers"]
        volumes = {volume["name"]: volume for volume in spec["volumes"]}
        assert {mount["name"] for mount in container["volumeMounts"]} == set(volumes)
        assert volumes["home"]["persistentVolumeClaim"]["claimName"] == claim
        assert spec["serviceAccountName"] == account
        homes += [mount["mountPath"] for mount in container["volumeMounts"] if mount["name"] == "home"]
        homes += [variable["value"] for variable in container["env"] if variable["name"] == "TAILRACE_HOME"]
    assert set(homes) == {"/tailrace"}
    assert pod["spec"]["securityContext"] == executor["spec"]["securityContext"], "both write to the volume"
    assert pod["metadata"]["labels"] == found["Service"]["spec"]["selector"]
    binding = found["RoleBinding"]
    assert binding["roleRef"]["name"] == found["Role"]["metadata"]["name"]
    assert [subject["name"] for subject in binding["subjects"]] == [account]
    (args,) = (container["args"] for container in pod["spec"]["containers"])
    assert f"--spark-conf=spark.driver.host={found['Service']['metadata']['name']}" in args
    for port in found["Service"]["spec"]["ports"]:
        assert any(word.endswith(f"ort={port['port']}") for word in args)
