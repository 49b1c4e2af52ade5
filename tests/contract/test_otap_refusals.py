"""Logs in JSON that are none: each is kept apart with a reason that names the field, and the others are imported."""

from __future__ import annotations

import base64
import errno
import fcntl
import json
import tracemalloc
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import IO, Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from dying import killed_at
from mounts import no_larger_files
from otaptables import simple, tables_of

from tailrace.cli.main import cli
from tailrace.core.errors import UsageError
from tailrace.formats.base import Bad
from tailrace.lake.place import LocalPlace
from tailrace.windows import writer
from tailrace.windows.refused import REFUSED
from tailrace.windows.schema import Tables
from tailrace.windows.transfer import READ, SHOWN, import_files
from tailrace.windows.writer import OtapWriter

NOW = "1700000000000000000"


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"timeUnixNano": "x"}, "timeUnixNano: 'x' is no whole number of 64 bits without a sign"),
        ({"timeUnixNano": 1.5}, "timeUnixNano: 1.5 is no whole number of 64 bits without a sign"),
        ({"flags": 2**32}, "flags: 4294967296 is no whole number of 32 bits without a sign"),
        ({"droppedAttributesCount": -1}, "droppedAttributesCount: -1 is no whole number of 32 bits without a sign"),
        ({"severityNumber": "loud"}, "severityNumber: 'loud' is no whole number"),
        ({"severityNumber": "SEVERITY_LOUD"}, "severityNumber: 'SEVERITY_LOUD' is no whole number"),
        ({"severityText": 7}, "severityText: 7 is no text"),
        ({"traceId": "zz"}, "traceId: 'zz' is no id of 16 bytes"),
        ({"spanId": 5}, "spanId: 5 is no id of 8 bytes"),
        ({"body": {"bytesValue": "a"}}, "bytesValue is no base64"),
        ({"body": {"intValue": "many"}}, "'many' is no whole number"),
        ({"body": {"intValue": "1_000"}}, "'1_000' is no whole number"),
        ({"body": {"intValue": True}}, "True is no whole number"),
        ({"body": {"doubleValue": "1_0.5"}}, "'1_0.5' is no number"),
        ({"timeUnixNano": True}, "timeUnixNano: True is no whole number of 64 bits without a sign"),
        ({"severityText": ["x" * 500]}, f"severityText: ['{'x' * 84} … {'x' * 37}'] is no text"),
        ({"attributes": 5}, "attributes are no list of objects"),
        ({"attributes": ["a"]}, "attributes are no list of objects"),
        ({"attributes": {"a": 1}}, "attributes are no list of objects"),
        ({"attributes": [{"key": 5}]}, "key: 5 is no text"),
        ({"attributes": [{"key": "a", "value": "b"}]}, "'b' is no object with a value"),
        ({"body": {"stringValue": 5}}, "stringValue: 5 is no text"),
        ({"body": {"boolValue": "true"}}, "boolValue: 'true' is no true or false"),
        ({"body": {"arrayValue": [1]}}, "arrayValue: [1] is no object with values"),
        ({"body": {"arrayValue": {"values": 1}}}, "arrayValue: 1 is no list of values"),
        ({"body": {"kvlistValue": {"values": {"a": 1}}}}, "kvlistValue: values are no list of objects"),
        ({"body": {"kvlistValue": {"values": [{"key": 5}]}}}, "key: 5 is no text"),
    ],
)
def test_a_log_that_is_none(tmp_path: Path, record: dict[str, Any], reason: str) -> None:
    good = {"timeUnixNano": NOW, "body": {"stringValue": "good"}, "severityNumber": "SEVERITY_NUMBER_INFO"}
    given = tmp_path / "logs.json"
    given.write_text(json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": [good, record, good]}]}]}))
    done = import_files([str(given)], LocalPlace(str(tmp_path / "out")))
    assert (done.logs, done.reasons) == (2, {f"otlp: {reason}": 1})
    (kept,) = (tmp_path / "out" / REFUSED).iterdir()
    assert reason in kept.read_text()
    assert sum(pq.read_metadata(path).num_rows for path in (tmp_path / "out" / "logs").rglob("*.parquet")) == 2


def test_addresses_of_schemas_resources_and_scopes_that_are_none(tmp_path: Path) -> None:
    given, scopes = tmp_path / "logs.json", {"schemaUrl": 6, "scope": "x", "logRecords": [{"timeUnixNano": NOW}]}
    given.write_text(json.dumps({"resourceLogs": [{"resource": [], "scopeLogs": [scopes]}]}))
    done = import_files([str(given)], LocalPlace(str(tmp_path / "out")))
    assert done.logs == 1
    assert done.reasons == {
        "otlp: schemaUrl: 6 is no text": 1, "otlp: a resource or scope is no object": 2,
    }  # fmt: skip


def test_many_reasons_are_counted_and_few_are_shown(tmp_path: Path) -> None:
    given = tmp_path / "logs.json"
    records = [{"timeUnixNano": NOW, "traceId": f"{n}"} for n in range(30)]
    given.write_text(json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}))
    done = CliRunner().invoke(
        cli, ["window", "import", str(given), "--to", str(tmp_path / "out"), "--max-errors", "50"]
    )
    assert done.exit_code == 0
    shown = [line for line in done.stderr.splitlines() if line.startswith("warning:")]
    assert len(shown) == 11
    assert shown[-1] == f"warning: refused 20: 20 other reasons, see {tmp_path / 'out' / REFUSED}"


def of_logs(path: Path, good: int, bad: int) -> str:
    """A file of JSON lines, of which each of the bad logs is told by its number."""
    ids = [{} for _ in range(good)] + [{"traceId": f"bad {n}"} for n in range(bad)]
    lines = ({"resourceLogs": [{"scopeLogs": [{"logRecords": [{"timeUnixNano": NOW, **one}]}]}]} for one in ids)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


def refused(base: Path) -> list[str]:
    """Ids of all records that are kept apart, of every import."""
    lines = [json.loads(line) for path in (base / REFUSED).glob("*.jsonl") for line in path.read_text().splitlines()]
    return [json.loads(base64.b64decode(line["raw"]))["traceId"] for line in lines]


@pytest.mark.parametrize("good", [0, 3])
@pytest.mark.parametrize("step", [READ, SHOWN])
def test_after_a_death_every_record_is_there_once_for_each_import(tmp_path: Path, step: str, good: int) -> None:
    given, base = of_logs(tmp_path / "logs.jsonl", good, 5), tmp_path / "out"
    expected = [f"bad {n}" for n in range(5)]
    assert killed_at(step, lambda: import_files([given], LocalPlace(str(base))) and None)
    assert refused(base) == []
    before = len(list((base / "logs").rglob("*.parquet")))
    assert before == (1 if good and step == SHOWN else 0)
    done = import_files([given], LocalPlace(str(base)))
    assert (done.logs, done.refused) == (good, 5)
    assert sorted(refused(base)) == sorted(expected * (before + 1))
    assert len(list((base / REFUSED).iterdir())) == before + 1


def test_records_of_an_import_under_way_are_left_alone(tmp_path: Path) -> None:
    base = LocalPlace(str(tmp_path / "out"))
    given = [of_logs(tmp_path / f"{n}.jsonl", 1, 2) for n in range(2)]

    def another(path: str) -> None:
        if path == given[1]:
            assert import_files([given[0]], base).refused == 2

    assert import_files(given, base, another).refused == 4
    assert len(refused(base.path)) == 6


def test_a_file_is_kept_that_another_import_sees_before_it_is_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base, given = LocalPlace(str(tmp_path / "out")), of_logs(tmp_path / "logs.jsonl", 1, 2)
    lock, others = fcntl.flock, [of_logs(tmp_path / "other.jsonl", 1, 3)]

    def late(file: IO[bytes], how: int) -> None:
        if how == fcntl.LOCK_EX and others:
            assert import_files([others.pop()], base).refused == 3
        lock(file, how)

    monkeypatch.setattr(fcntl, "flock", late)
    assert import_files([given], base).refused == 2
    assert len(refused(base.path)) == 5
    assert len(list((base.path / REFUSED).iterdir())) == 2


@pytest.mark.parametrize(("step", "kept"), [(READ, 0), (SHOWN, 2)])
def test_who_stops_an_import_keeps_its_refused_records_if_its_tables_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, kept: int
) -> None:
    def stopped(there: str) -> None:
        if there == step:
            raise KeyboardInterrupt

    monkeypatch.setattr("tailrace.windows.transfer.reached", stopped)
    base = LocalPlace(str(tmp_path / "out"))
    with pytest.raises(KeyboardInterrupt):
        import_files([of_logs(tmp_path / "logs.jsonl", 1, 2)], base)
    assert len(list((base.path / "logs").rglob("*.parquet"))) == (1 if kept else 0)
    assert len(refused(base.path)) == kept
    assert len(list((base.path / REFUSED).iterdir())) == (1 if kept else 0)


def test_refused_records_are_not_held_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = Tables.empty()

    def read(_: str) -> Iterator[tuple[Tables, list[Bad]]]:
        for n in range(200):
            yield nothing, [Bad(0, b"x" * 500_000, 500_000, f"reason {n}")]
        for n in range(20_000):
            yield nothing, [Bad(0, b"x", 1, f"another reason {n} " + "x" * 1_000)]

    monkeypatch.setattr("tailrace.windows.transfer._read", read)
    tracemalloc.start()
    done = import_files(["logs"], LocalPlace(str(tmp_path)))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 8_000_000
    (kept,) = (tmp_path / REFUSED).iterdir()
    assert kept.read_bytes().count(b"\n") == done.refused == 20_200
    assert len(done.reasons) == 1_000


def test_no_table_shows_before_all_was_read(tmp_path: Path) -> None:
    with OtapWriter(LocalPlace(str(tmp_path)), rows_per_file=2, together=True) as writer:
        for _ in range(3):
            writer.write(tables_of(simple("shop", ["a", "b"])))
            assert not list(tmp_path.rglob("*.parquet"))
    assert len(list((tmp_path / "logs").rglob("*.parquet"))) == 3
    writer = OtapWriter(LocalPlace(str(tmp_path)), rows_per_file=2, together=True)
    writer.write(tables_of(simple("shop", ["a", "b"])))
    writer.discard()
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 12


@pytest.mark.parametrize("step", ["close", "show"])
def test_an_import_that_finds_no_room_at_its_end_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    real, calls = getattr(writer._File, step), count()

    def full(file: object) -> object:
        if next(calls):
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(file)

    monkeypatch.setattr(writer._File, step, full)
    base = tmp_path / "out"
    with pytest.raises(OSError, match="No space"), OtapWriter(LocalPlace(str(base)), together=True) as written:
        written.write(tables_of(simple("shop", ["a", "b"])))
    assert [str(path) for path in base.rglob("*") if path.is_file()] == [str(base / name) for name in written.files]
    assert not list((base / "logs").rglob("*.parquet"))


def test_a_disk_that_is_full_is_told_with_the_place(tmp_path: Path) -> None:
    given, base = of_logs(tmp_path / "logs.jsonl", 500, 0), tmp_path / "otap"

    def told(*arguments: str) -> tuple[int, str]:
        with no_larger_files(2_000):
            done = CliRunner().invoke(cli, ["window", *arguments])
        error = done.exception
        assert isinstance(error, UsageError)
        return error.exit_code, error.message.partition(":")[0]

    assert told("import", given, "--to", str(base)) == (2, f"cannot write {base}")
    assert not [path for path in base.rglob("*") if path.is_file()]
    import_files([given], LocalPlace(str(base)))
    for form in ("otap_parquet", "otlp_json"):
        out = tmp_path / form
        assert told("export", str(base), "--out", str(out), "--as", form) == (2, f"cannot write {out}")
        assert not [path for path in tmp_path.rglob(f"{form}*") if path.is_file()]
        assert not [path for path in out.rglob("*") if path.is_file()]
