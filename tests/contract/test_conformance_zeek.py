"""Zeek's logs: every entry is stored, and its fields are those that the header of the log names."""

from __future__ import annotations

import csv
import gzip
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from conformance import PYTHON, Measured, measure
from world import World

ZAT = "zeek-zat"
LOGS = (
    "app_stats", "conn", "conn_date_issue", "dhcp", "dhcp_002", "dns", "files", "ftp", "http", "http_empty", "notice",
    "smtp", "ssl", "tor_ssl", "weird", "x509",
)  # fmt: skip
JSON_LOGS = (
    "capture_loss",
    "conn",
    "dce_rpc",
    "dhcp",
    "dns",
    "files",
    "http",
    "kerberos",
    "ntp",
    "packet_filter",
    "smb_files",
    "smb_mapping",
    "ssl",
    "stats",
    "weird",
    "x509",
)
COLUMNS = {"uid": "uid", "id.orig_h": "id_orig_h", "id.resp_h": "id_resp_h", "query": "query", "host": "host"}
NUMBERS = {"id.orig_p": "id_orig_p", "id.resp_p": "id_resp_p"}
EPOCH = datetime(1970, 1, 1)


def entries(path: Path) -> list[dict[str, str]]:
    """The log read by Python's own means."""
    data = path.read_bytes()
    lines = (gzip.decompress(data) if path.suffix == ".gz" else data).decode().split("\n")
    (names,) = {line for line in lines if line.startswith("#fields")}
    rows = csv.reader((line for line in lines if line and line[0] != "#"), delimiter="\t", quoting=csv.QUOTE_NONE)
    return [dict(zip(names.split("\t")[1:], row, strict=True)) for row in rows]


def moment(text: str | float) -> datetime:
    return EPOCH + timedelta(microseconds=round(float(text) * 1_000_000))


def expected(entry: dict[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {"ts": moment(entry["ts"])}
    row |= {column: _told(entry[field]) for field, column in COLUMNS.items() if field in entry}
    return row | {column: int(entry[field]) for field, column in NUMBERS.items() if _told(entry.get(field)) is not None}


def _told(text: str | None) -> str | None:
    return None if text in (None, "-") else "" if text == "(empty)" else text


def tsv(world: World, data: Path, name: str) -> Measured:
    found = [expected(entry) for entry in entries(data / ZAT / name)]
    return measure(world, "zeek_log", data, f"{ZAT}/{name}", expected=found, reader=PYTHON)


@pytest.mark.parametrize("name", [*(f"{log}.log" for log in LOGS), "http.log.gz", "dhcp.log.gz", "dhcp_002.log.gz"])
def test_every_entry_and_its_fields(name: str, real_logs: Path, world: World) -> None:
    tsv(world, real_logs, name).check()


@pytest.mark.parametrize("name", JSON_LOGS)
def test_json(name: str, real_logs: Path, world: World) -> None:
    path = real_logs / ZAT / "json" / f"{name}.log"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    told = [_iso(row) for row in rows]
    measure(world, "zeek_log", real_logs, f"{ZAT}/json/{name}.log", expected=told, reader=PYTHON).check()


def _iso(entry: dict[str, Any]) -> dict[str, Any]:
    if isinstance(entry["ts"], str):
        time = datetime.fromisoformat(entry["ts"]).astimezone(UTC).replace(tzinfo=None)
        return expected(entry | {"ts": 0}) | {"ts": time}
    return expected(entry)


@pytest.mark.parametrize(("table", "kind", "records"), [("zeek_log", "conn", 92), ("zeek_log", "http", 197)])
def test_logs_of_old_versions(table: str, kind: str, records: int, real_logs: Path, world: World) -> None:
    name = f"lnav-logfiles/logfile_bro_{kind}.log.0"
    told = [expected(entry) for entry in entries(real_logs / name)]
    measured = measure(world, table, real_logs, name, expected=told, reader=PYTHON)
    measured.check()
    assert measured.stored == records


def test_scripts_have_no_time(real_logs: Path, world: World) -> None:
    measure(world, "zeek_log", real_logs, f"{ZAT}/json/loaded_scripts.log", bad=50).check()


def test_what_was_cut_off_keeps_what_came_before(real_logs: Path, world: World) -> None:
    found = measure(world, "zeek_log", real_logs, f"{ZAT}/http.log.corrupt.gz", bad=1)
    found.check()
    assert (found.stored, found.quarantined) == (150, 1)


def test_connections(real_logs: Path, world: World) -> None:
    told = [
        {
            "ts": moment(entry["ts"]),
            "proto": entry["proto"],
            "service": _told(entry["service"]),
            "duration": float(entry["duration"]) if entry["duration"] != "-" else None,
            "orig_bytes": int(entry["orig_bytes"]) if entry["orig_bytes"] != "-" else None,
            "conn_state": entry["conn_state"],
            "history": _told(entry["history"]),
            "resp_ip_bytes": int(entry["resp_ip_bytes"]),
        }
        for entry in entries(real_logs / ZAT / "conn.log")
    ]
    measure(world, "zeek_conn", real_logs, f"{ZAT}/conn.log", expected=told, reader=PYTHON).check()
