"""Syslog of many writers: what was stored, and what jc found in the same lines."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from conformance import Expected, Measured, measure
from world import World

from tailrace.tables.cef import TABLE as CEF

JC = "jc-fixtures/generic"
AUTH = "elastic-examples/Machine Learning/Security Analytics Recipes/suspicious_login_activity/data/auth.log"
WHOLE = "concat(app_name, '[' || proc_id || ']', ': ' , message)"


def answers(data: Path, name: str) -> tuple[Expected, int]:
    """What jc reads, and how many lines it does not."""
    found = json.loads((data / JC / f"{name}.json").read_text())
    good = [answer for answer in found if "unparsable" not in answer]
    return good, len(found) - len(good)


def old(answer: dict[str, Any]) -> dict[str, Any]:
    tag, content = answer["tag"], answer["content"]
    row = {"priority": answer["priority"], "hostname": answer["hostname"]}
    if tag is None:
        return row | {"app_name": None, "message": content}
    return row | {f"rtrim({WHOLE})": tag + content if content[0] in "[(" else f"{tag}: {content}"}


def new(answer: dict[str, Any]) -> dict[str, Any]:
    names = {"hostname": "hostname", "appname": "app_name", "msg_id": "msg_id", "message": "message"}
    row = {column: answer[field] for field, column in names.items()}
    row |= {"priority": answer["priority"], "version": answer["version"]}
    row["try_cast(proc_id as integer)"] = answer["proc_id"]
    row["timestamp"] = datetime.fromisoformat(answer["timestamp"]).astimezone(UTC).replace(tzinfo=None)
    elements = answer["structured_data"]
    row["structured_data::json"] = (
        json.dumps({e["identity"]: e["parameters"] for e in elements}, separators=(",", ":")) if elements else None
    )
    return row


def rfc3164(world: World, data: Path) -> Measured:
    good, bad = answers(data, "syslog-3164")
    return measure(world, "syslog", data, f"{JC}/syslog-3164.out", expected=[old(a) for a in good], bad=bad)


def rfc5424(world: World, data: Path) -> Measured:
    """A message without a time is allowed to be sent but cannot be stored: rows are kept by day."""
    good, bad = answers(data, "syslog-5424")
    timed = [new(a) for a in good if a["timestamp"]]
    return measure(world, "syslog", data, f"{JC}/syslog-5424.out", expected=timed, bad=bad + len(good) - len(timed))


def test_rfc_3164_as_jc_reads_it(real_logs: Path, world: World) -> None:
    rfc3164(world, real_logs).check()


def test_rfc_5424_as_jc_reads_it(real_logs: Path, world: World) -> None:
    rfc5424(world, real_logs).check()


CEF_HEADER = {
    "deviceVendor": "device_vendor",
    "deviceProduct": "device_product",
    "deviceVersion": "device_version",
    "deviceEventClassId": "device_event_class_id",
    "name": "name",
    "agentSeverity": "severity",
}
CEF_COLUMNS = {column.src: column.name for column in CEF.columns if column.src and column.type == "varchar"}


def cef(answer: dict[str, Any]) -> dict[str, Any]:
    """The header, and of the extensions those that are text and have a column."""
    known = {name: value for name, value in answer.items() if name in CEF_COLUMNS and value}
    row = {CEF_COLUMNS[name]: value for name, value in known.items()}
    return row | {column: answer[name] for name, column in CEF_HEADER.items()}


def test_cef_as_jc_reads_it(real_logs: Path, world: World) -> None:
    """Events that tell no time, themselves or in a header before them, cannot be stored."""
    good, bad = answers(real_logs, "cef")
    lines = [line for line in (real_logs / JC / "cef.out").read_text().splitlines() if "CEF:" in line]
    told = [re.search(r"\b(rt|start|end|date)=[^%]", line) or not line.startswith("CEF:") for line in lines]
    timed = [cef(answer) for answer, time in zip(good, told, strict=True) if time]
    untimed = len(good) - len(timed)
    measured = measure(world, "cef", real_logs, f"{JC}/cef.out", expected=timed, bad=bad + untimed)
    measured.check()
    assert not measured.differing


@pytest.mark.parametrize(
    ("dataset", "records", "bad"),
    [
        (AUTH, 7121, 0),
        ("plaso-test-data/syslog/syslog", 16, 0),
        ("plaso-test-data/syslog/syslog_chromeos", 8, 0),
        ("plaso-test-data/syslog/syslog_cron.log", 9, 0),
        ("plaso-test-data/syslog/syslog_osx", 2, 0),
        ("plaso-test-data/syslog/syslog_rsyslog", 5, 0),
        ("plaso-test-data/syslog/syslog_rsyslog_SysklogdFileFormat", 9, 0),
        ("plaso-test-data/syslog/syslog_rsyslog_SyslogProtocol23Format", 9, 0),
        ("plaso-test-data/syslog/syslog_rsyslog_traditional", 8, 0),
        ("plaso-test-data/syslog/syslog_ssh.log", 9, 0),
        ("plaso-test-data/syslog/syslog_rsyslog_*ForwardFormat", 2, 0),
        ("plaso-test-data/syslog_copy", 13, 1),
        ("plaso-test-data/syslog.tgz", 13, 1),
        ("lnav-logfiles/logfile_syslog.[0-2]", 11, 0),
        ("lnav-logfiles/logfile_syslog.3", 7, 0),
        ("lnav-logfiles/logfile_syslog_with_access_log.0", 5, 0),
        # The name of the month in French.
        ("lnav-logfiles/logfile_syslog_fr.0", 1, 1),
        ("lnav-logfiles/logfile_syslog_with_header.0", 6, 2),
        ("lnav-logfiles/logfile_syslog_with_mixed_times.0", 13, 0),
    ],
)
def test_templates_of_many_writers(dataset: str, records: int, bad: int, real_logs: Path, world: World) -> None:
    found = measure(world, "syslog", real_logs, dataset, bad=bad)
    found.check()
    assert found.received == records
    assert not world.query("select 1 from syslog where message is null or tp_date > current_date + 1")
