"""Whatever is in the files: everything good is stored, everything else is counted, named and kept."""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import json
import lzma
import os
import shutil
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import zstandard

from tailrace.core import Artifact, SourceError, TimeRange
from tailrace.pipeline import unit as units
from tailrace.pipeline.job import Job, Unit, UnitResult
from tailrace.pipeline.report import PartitionReport
from tailrace.pipeline.unit import run_unit

if TYPE_CHECKING:
    from tests.conftest import World

NGINX = "nginx_access_log"
CLOUDTRAIL = "aws_cloudtrail_log"
REST = '[17/May/2015:10:05:03 +0000] "GET /{} HTTP/1.1" 200 12 "-" "curl/8"'


def line(target: object = "", user: str = "-", end: str = "\n") -> bytes:
    return f"1.2.3.4 - {user} {REST.format(target)}{end}".encode()


def lines(count: int) -> bytes:
    return b"".join(line(n) for n in range(count))


def event(**more: Any) -> dict[str, Any]:
    return {"eventTime": "2024-05-06T07:08:09Z", "eventName": "GetObject", **more}


@dataclass
class Inbox:
    """A folder that is collected, with one good file in it."""

    world: World
    folder: Path
    table: str = NGINX

    def put(self, name: str | bytes, data: bytes) -> Path:
        path = Path(os.fsdecode(os.path.join(os.fsencode(self.folder), os.fsencode(name))))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    def collect(self) -> PartitionReport:
        """Collects the folder and a good neighbour; what the neighbour holds must be there whatever else is."""
        good = lines(3) if self.table == NGINX else json.dumps({"Records": [event(eventID="good")] * 3}).encode()
        self.put("~good~.log", good)
        report = self.world.collect_one(self.table, str(self.folder))
        counts = report.counts
        refused = counts.filtered + counts.out_of_range + counts.quarantined
        assert counts.received == counts.stored + refused
        assert self.count() == counts.stored
        assert self.count("tp_source_location like '%~good~.log'") == 3
        counts.received -= 3
        counts.stored -= 3
        return report

    def count(self, where: str = "true") -> int:
        ((number,),) = self.world.query(f"select count(*) from {self.table} where {where}")
        return int(number)

    def refused(self) -> list[tuple[str, bytes, int]]:
        rows = self.world.query("select reason, raw, length from tp_quarantine order by location, position")
        return [(reason, bytes(raw), length) for reason, raw, length in rows]


@pytest.fixture
def inbox(world: World, tmp_path: Path) -> Inbox:
    folder = tmp_path / "logs"
    folder.mkdir()
    return Inbox(world, folder)


@pytest.fixture
def trail(inbox: Inbox) -> Inbox:
    inbox.table = CLOUDTRAIL
    return inbox


STRANGE = {
    "nothing": (b"", 0, 0),
    "nothing compressed": (gzip.compress(b""), 0, 0),
    "blank lines": (b"\n\r\n \t\n\n", 0, 0),
    "no line end": (line(1) + line(2, end=""), 2, 0),
    "mixed line ends": (line(1, end="\r\n") + line(2) + line(3, end="\r\n"), 3, 0),
    "byte order mark": (b"\xef\xbb\xbf" + line(1), 1, 0),
    "utf-16": (lines(4).decode().encode("utf-16"), 4, 0),
    "utf-16 big endian": (b"\xfe\xff" + lines(4).decode().encode("utf-16-be"), 4, 0),
    "NUL in a field": (line("a\0b") + line(2), 2, 0),
    "NUL lines": (line(1) + b"\0" * 512 + b"\n" + line(2), 2, 1),
    "invalid utf-8": (line(1).replace(b"curl", b"\xff\xfe\x80") + line(2), 2, 0),
    "garbage": (line(1) + b"no access log\n" + line(2), 2, 1),
    "torn line": (line(1) + line(2)[:40] + b"\n" + line(3), 2, 1),
    "two lines in one": (line(1) + line(2)[:40] + line(3), 1, 1),
    "two lines in one, by a blank": (line(1) + line(2)[:41] + line(3), 1, 1),
    "binary": (line(1) + bytes(range(256)) * 4 + b"\n" + line(2), 2, 5),
    "month 13": (line(1) + line(2).replace(b"May", b"Foo"), 1, 1),
    "31 February": (line(1).replace(b"17/May", b"31/Feb"), 0, 1),
    "named gz, plain": (lines(2), 2, 0),
    "gz members and padding": (gzip.compress(line(1)) + gzip.compress(line(2)) + b"\0" * 100, 2, 0),
}


@pytest.mark.parametrize("kind", STRANGE)
def test_strange_text(kind: str, inbox: Inbox) -> None:
    data, stored, refused = STRANGE[kind]
    inbox.put(f"{kind}.log.gz", data)
    report = inbox.collect()
    assert report.clean
    assert (report.counts.stored, report.counts.quarantined) == (stored, refused)
    for reason, raw, length in inbox.refused():
        assert raw in data
        assert length == len(raw)
        assert reason.startswith(("layout: no match", "row: no timestamp"))


def test_what_is_not_utf8_is_flagged(inbox: Inbox) -> None:
    inbox.put("a.log", line(1).replace(b"curl", b"c\xffrl"))
    assert inbox.collect().counts.flagged == 1
    ((agent, extra),) = inbox.world.query(f"select http_user_agent, tp_extra from {NGINX} where tp_extra is not null")
    assert agent == "c\ufffdrl/8"
    assert "tp_misfit" in json.loads(extra)


def test_only_stored_rows_count_as_flagged(inbox: Inbox) -> None:
    odd = line(1).replace(b" 200 ", b" 2x0 ")
    inbox.put("a.log", odd + odd.replace(b"May", b"Foo") + line(2))
    counts = inbox.collect().counts
    assert (counts.stored, counts.quarantined, counts.flagged) == (2, 1, 1)


def test_values_out_of_range_are_kept(inbox: Inbox) -> None:
    inbox.put("a.log", line(1).replace(b" 200 12 ", b" 99999999999 -7x "))
    assert inbox.collect().counts.flagged == 1
    ((status, size, extra),) = inbox.world.query(
        f"select status, body_bytes_sent, tp_extra from {NGINX} where tp_extra is not null"
    )
    assert (status, size) == (None, None)
    assert json.loads(extra)["tp_misfit"] == {"status": "99999999999", "body_bytes_sent": "-7x"}


def compressed(kind: str, data: bytes) -> bytes:
    ways: dict[str, Callable[[bytes], bytes]] = {
        "gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress,
        "zst": zstandard.ZstdCompressor(write_checksum=True).compress,
    }  # fmt: skip
    return ways[kind](data)


@pytest.mark.parametrize("kind", ["gz", "xz", "zst"])
def test_cut_off(kind: str, inbox: Inbox) -> None:
    """The whole lines before the cut are stored; the torn one is refused."""
    data = b"".join(line(os.urandom(64).hex()) for _ in range(3000))
    inbox.put(f"a.log.{kind}", compressed(kind, data)[:-30_000])
    report = inbox.collect()
    ((where, message, code),) = [(t.where, t.message, t.code) for t in report.troubles]
    assert where.endswith(f"a.log.{kind}")
    assert "ends too early" in message
    assert code == "data.partial-artifact"
    assert 0 < report.counts.stored < 3000
    assert report.counts.quarantined <= 1
    for reason, raw, _ in inbox.refused():
        assert reason == "line: truncated"
        assert raw in data


def test_a_whole_file_replaces_the_one_cut_off(inbox: Inbox) -> None:
    data = gzip.compress(b"".join(line(os.urandom(64).hex()) for _ in range(3000)))
    inbox.put("a.log.gz", data[:-30_000])
    assert inbox.collect().partial == 1
    inbox.put("a.log.gz", data)
    (report,) = inbox.world.collect()
    assert report.clean
    assert inbox.count() == 3003


@pytest.mark.parametrize("kind", ["gz", "bz2", "xz", "zst"])
@pytest.mark.parametrize("count", [50, 40_000])
def test_corrupt(kind: str, count: int, inbox: Inbox) -> None:
    """Nothing of it is stored, though most of its rows were read, and some written, before that was known."""
    if kind == "bz2" and count > 50:
        count = 20_000
    data = bytearray(compressed(kind, lines(count)))
    place = -6 if kind == "gz" else -30 if kind == "xz" else -2
    data[place] ^= 0xFF
    inbox.put(f"a.log.{kind}", bytes(data))
    inbox.put("b.log", lines(20_000))
    report = inbox.collect()
    (trouble,) = report.troubles
    assert trouble.where.endswith(f"a.log.{kind}")
    assert trouble.code == "data.failed-artifact"
    assert report.counts.stored == 20_000
    ((reason, raw, length),) = inbox.refused()
    assert reason.startswith("artifact: ")
    assert (raw, length) == (b"", len(data))
    assert (inbox.folder / f"a.log.{kind}").read_bytes() == data
    inbox.put(f"a.log.{kind}", compressed(kind, lines(count)))
    (report,) = inbox.world.collect()
    assert report.clean
    assert inbox.count() == 20_003 + count


def test_nothing_is_left_behind_by_a_corrupt_file(inbox: Inbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tailrace.pipeline.write.BUFFER_BYTES", 1 << 20)
    data = bytearray(gzip.compress(lines(60_000)))
    data[-6] ^= 0xFF
    inbox.put("a.log.gz", bytes(data))
    inbox.collect()
    root = inbox.world.lake.table_root(NGINX)
    assert len(list(root.rglob("*.parquet"))) == 1


def test_other_bytes_after_gz(inbox: Inbox) -> None:
    inbox.put("a.log.gz", gzip.compress(lines(5)) + b"something else")
    report = inbox.collect()
    assert (report.failed, report.counts.stored) == (1, 0)


@pytest.mark.parametrize("count", [5, 40_000])
def test_zip_with_a_broken_member(count: int, inbox: Inbox) -> None:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("first.log", lines(count))
        archive.writestr("broken.log", lines(count))
        archive.writestr("last.log", lines(count))
        offset = archive.getinfo("broken.log").header_offset
    data = bytearray(held.getvalue())
    data[offset + 80] ^= 0xFF
    inbox.put("a.zip", bytes(data))
    report = inbox.collect()
    (trouble,) = report.troubles
    assert trouble.where.endswith("a.zip")
    assert trouble.code == "data.partial-artifact"
    assert "member broken.log" in trouble.message
    assert report.counts.stored == 2 * count
    assert inbox.count("tp_source_location like '%a.zip!broken.log'") == 0
    assert inbox.world.query("select member from tp_quarantine") == [("broken.log",)]


def test_tar_cut_off(inbox: Inbox) -> None:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w:gz") as archive:
        for name in ("first.log", "second.log"):
            member = tarfile.TarInfo(name)
            data = b"".join(line(os.urandom(16).hex()) for _ in range(1000))
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    inbox.put("a.tar.gz", held.getvalue()[:-5000])
    report = inbox.collect()
    assert report.partial == 1
    assert 1000 <= report.counts.stored < 2000


def test_tar_with_a_wrong_checksum(inbox: Inbox) -> None:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w:gz") as archive:
        member = tarfile.TarInfo("first.log")
        member.size = len(lines(100))
        archive.addfile(member, io.BytesIO(lines(100)))
    data = bytearray(held.getvalue())
    data[-6] ^= 0xFF
    inbox.put("a.tar.gz", bytes(data))
    report = inbox.collect()
    assert (report.failed, report.counts.stored) == (1, 0)


def test_bomb(inbox: Inbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tailrace.formats.compression._BOMB_SIZE", 1 << 20)
    inbox.put("a.log.gz", gzip.compress(b"\n" * (8 << 20)))
    report = inbox.collect()
    assert report.failed == 1
    assert "bomb" in report.troubles[0].message


def test_a_line_of_100_megabytes(inbox: Inbox) -> None:
    long = b"x" * (100 << 20)
    inbox.put("a.log", line(1) + long + b"\n" + line(2))
    report = inbox.collect()
    assert (report.counts.stored, report.counts.quarantined) == (2, 1)
    ((reason, raw, length),) = inbox.refused()
    assert reason.startswith("line: longer than ")
    assert length == len(long)
    assert raw == long[:65536]


def test_a_record_of_100_megabytes(trail: Inbox) -> None:
    records = [json.dumps(event(eventID=str(n))).encode() for n in range(4)]
    records[2] = json.dumps(event(userAgent="x" * (100 << 20))).encode()
    data = b'{"Records":[' + b",".join(records) + b"]}"
    trail.put("a.json", data)
    report = trail.collect()
    assert (report.counts.stored, report.counts.quarantined) == (3, 1)
    ((reason, raw, length),) = trail.refused()
    assert reason.startswith("json: longer than ")
    assert (raw, length) == (records[2][:65536], len(records[2]))


GOOD = json.dumps(event(eventID="1"))
DOCUMENTS = {
    "nothing": ("", 0, 0),
    "empty object": ("{}", 0, 1),
    "no records": ('{"Records":[]}', 0, 0),
    "records are null": ('{"Records":null}', 0, 0),
    "an array": (f"[{GOOD},{GOOD}]", 2, 0),
    "one object": (GOOD, 1, 0),
    "lines": (f"{GOOD}\n{GOOD}\n", 2, 0),
    "trailing comma": (f'{{"Records":[{GOOD},{GOOD},]}}', 2, 0),
    "missing comma": (f'{{"Records":[{GOOD}\n{GOOD}]}}', 2, 0),
    "missing end": (f'{{"Records":[{GOOD},{GOOD}', 2, 0),
    "cut off": (f'{{"Records":[{GOOD},{GOOD[:-9]}', 1, 1),
    "no object": (f'{{"Records":[{GOOD},17,"x",null,{GOOD}]}}', 2, 3),
    "no JSON": ("<html>\n<body>not found</body>", 0, 1),
    "single quotes": ("{'eventTime': '2024-01-01T00:00:00Z'}", 0, 1),
    "no time": (f'{{"Records":[{GOOD},{{"eventName":"x"}}]}}', 1, 1),
    "time is a number": (f'{{"Records":[{GOOD},{{"eventTime":17}}]}}', 1, 1),
    "time of no day": (f'{{"Records":[{GOOD},{{"eventTime":"2024-02-31T00:00:00Z"}}]}}', 1, 1),
    "lone surrogate": (GOOD[:-1] + r',"userAgent":"\ud800"}', 1, 0),
    "NaN": (GOOD[:-1] + ',"requestParameters":{"a":NaN}}', 1, 0),
    "control character": (GOOD[:-1] + ',"userAgent":"a\tb"}', 1, 0),
    "deep": (GOOD[:-1] + ',"requestParameters":' + "[" * 5000 + "]" * 5000 + "}", 0, 1),
    "key twice": (GOOD[:-1] + ',"eventName":"Second"}', 1, 0),
    "byte order mark": ("\ufeff" + GOOD, 1, 0),
}


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_strange_json(kind: str, trail: Inbox) -> None:
    text, stored, refused = DOCUMENTS[kind]
    data = text.encode()
    trail.put("a.json", data)
    report = trail.collect()
    assert report.clean
    assert (report.counts.stored, report.counts.quarantined) == (stored, refused)
    for _, raw, length in trail.refused():
        assert raw in data
        assert length == len(raw)
    trail.world.query(f"select tp_extra->>'$.a', request_parameters->>'$.a' from {CLOUDTRAIL}")


def test_a_document_cut_off(trail: Inbox) -> None:
    records = [json.dumps(event(eventID=os.urandom(64).hex())) for _ in range(2000)]
    trail.put("a.json.gz", gzip.compress(('{"Records":[' + ",".join(records) + "]}").encode())[:-20_000])
    report = trail.collect()
    assert report.partial == 1
    assert 0 < report.counts.stored < 2000
    assert report.counts.quarantined <= 1
    for _, raw, _ in trail.refused():
        assert records[report.counts.stored].encode().startswith(raw)


def test_wrong_types_are_kept(trail: Inbox) -> None:
    wrong = {"readOnly": "perhaps", "userIdentity": [1], "eventName": {"a": 1}, "managementEvent": "true"}
    trail.put("a.json", json.dumps({"Records": [event() | wrong]}).encode())
    assert trail.collect().counts.flagged == 1
    ((read_only, name, managed, extra),) = trail.world.query(
        f"select read_only, event_name, management_event, tp_extra from {CLOUDTRAIL} where tp_extra is not null"
    )
    assert (read_only, name, managed) == (None, '{"a": 1}', True)
    assert json.loads(extra)["tp_misfit"] == {"read_only": "perhaps", "user_identity": [1]}


def test_refused_rows_of_many_batches_have_their_own_bytes(trail: Inbox) -> None:
    bad = [json.dumps({"eventName": f"bad {n}", "userAgent": "x" * 300}) for n in range(6000)]
    trail.put("a.json", ('{"Records":[' + ",".join(bad) + "]}").encode())
    assert trail.collect().counts.quarantined == 6000
    assert [raw.decode() for _, raw, _ in trail.refused()] == bad


ODD_NAMES = [
    b"with blanks.log", b"quote'\"s.log", "ünïcödé ☃.log".encode(), b"new\nline.log", b"100%.log", b"a%20b.log",
    b"not-utf8-\xff\xfe.log", b"back\\slash.log", b"bang!member.log", b"$(touch x);#.log", b"[glob]*.log",
]  # fmt: skip


def test_odd_names(inbox: Inbox) -> None:
    for name in ODD_NAMES:
        inbox.put(name, lines(2))
    report = inbox.collect()
    assert report.clean
    assert report.counts.stored == 2 * len(ODD_NAMES)
    places = {place for (place,) in inbox.world.query(f"select distinct tp_source_location from {NGINX}")}
    assert places >= {str(inbox.folder / name.decode("utf-8", "replace")) for name in ODD_NAMES}
    ((ids,),) = inbox.world.query(f"select count(distinct tp_id) from {NGINX}")
    assert ids == inbox.count()
    (again,) = inbox.world.collect()
    assert again.wanted == 0


def test_link_loops(inbox: Inbox) -> None:
    inbox.put("inner/a.log", lines(2))
    (inbox.folder / "inner/up").symlink_to(inbox.folder)
    (inbox.folder / "itself").symlink_to(inbox.folder / "itself")
    (inbox.folder / "nowhere.log").symlink_to(inbox.folder / "missing")
    (inbox.folder / "again.log").symlink_to(inbox.folder / "inner/a.log")
    report = inbox.collect()
    assert report.counts.stored == 2
    assert sorted(Path(t.where).name for t in report.troubles) == ["itself", "nowhere.log"]


def between(world: World, change: Callable[[], object]) -> None:
    """Does something after the files were listed and before they are read."""

    def run(_: Any, job: Job, some: tuple[Unit, ...]) -> list[UnitResult]:
        change()
        return [run_unit(job, unit) for unit in some]

    world.run = run


def test_a_directory_that_vanishes(inbox: Inbox) -> None:
    inbox.put("gone/a.log", lines(2))
    inbox.put("gone/b.log", lines(2))
    between(inbox.world, lambda: shutil.rmtree(inbox.folder / "gone"))
    report = inbox.collect()
    assert sorted(Path(t.where).name for t in report.troubles) == ["a.log", "b.log"]
    assert all("no such file" in t.message for t in report.troubles)
    assert (report.failed, report.counts.stored) == (2, 0)


def test_a_path_that_does_not_exist(world: World, tmp_path: Path) -> None:
    report = world.collect_one(NGINX, str(tmp_path / "missing"))
    assert [t.where for t in report.troubles] == [str(tmp_path / "missing")]


@pytest.mark.parametrize("became", [5, 1, 0])
def test_a_file_that_grows_or_shrinks(became: int, inbox: Inbox) -> None:
    path = inbox.put("a.log", lines(2))
    between(inbox.world, lambda: path.write_bytes(lines(became)))
    assert inbox.collect().counts.stored == became
    between(inbox.world, lambda: None)
    (report,) = inbox.world.collect()
    assert report.clean
    assert inbox.count("tp_source_location like '%/a.log'") == became


def test_a_pipe_in_place_of_a_file(inbox: Inbox) -> None:
    path = inbox.put("a.log", lines(2))
    between(inbox.world, lambda: (path.unlink(), os.mkfifo(path)))
    (trouble,) = inbox.collect().troubles
    assert "not a regular file" in trouble.message


@pytest.mark.parametrize(("code", "rolled_back"), [("source.denied", False), ("source.io", True)])
def test_a_file_that_cannot_be_read(
    code: str, rolled_back: bool, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = units.open_artifact

    def refuse(artifact: Artifact) -> object:
        if artifact.location.endswith("a.log"):
            raise SourceError("cannot be read: permission denied", code=code, where=artifact.location)
        return real(artifact)

    inbox.put("a.log", lines(2))
    monkeypatch.setattr(units, "open_artifact", refuse)
    if not rolled_back:
        report = inbox.collect()
        assert [(t.where, t.code) for t in report.troubles] == [(str(inbox.folder / "a.log"), "data.failed-artifact")]
        assert "permission denied" in report.troubles[0].message
    else:
        report = inbox.world.collect_one(NGINX, str(inbox.folder))
        (trouble,) = report.troubles
        assert trouble.code == "collect.rolled-back"
        assert str(inbox.folder / "a.log") in trouble.message
    monkeypatch.undo()
    (report,) = inbox.world.collect()
    assert report.clean
    assert inbox.count("tp_source_location like '%/a.log'") == 2


def test_first_and_last_days_of_the_calendar(trail: Inbox) -> None:
    moments = ["0001-01-01T00:00:00Z", "1582-10-10T00:00:00Z", "1969-12-31T23:59:59Z", "9999-12-31T23:59:59Z"]
    trail.put("a.json", json.dumps({"Records": [event() | {"eventTime": m} for m in moments]}).encode())
    report = trail.collect()
    assert (report.counts.stored, report.first_day, report.last_day) == (4, "0001-01-01", "9999-12-31")
    rows = trail.world.query(
        f"select strftime(tp_timestamp, '%Y-%m-%dT%H:%M:%SZ'), tp_date = tp_timestamp::date from {CLOUDTRAIL} "
        "where event_id is null order by tp_timestamp"
    )
    assert [same for _, same in rows] == [True] * 4
    assert [moment.rjust(20, "0") for moment, _ in rows] == moments


ODD_INDEXES = [
    "a/b", "..", ".", "...", "x=y", "ünï", "%2F", "new\nline", " ", "a" * 300, "💧" * 100, "con", "",
    "__HIVE_DEFAULT_PARTITION__", "default", "../../up", "a\\b", "'", '"',
]  # fmt: skip


def test_index_values_that_are_odd_names(trail: Inbox) -> None:
    trail.put("a.json", json.dumps([event(recipientAccountId=v) for v in [*ODD_INDEXES, "a\0b"]]).encode())
    trail.world.write_config(
        f'partition "{CLOUDTRAIL}" "p" {{\n tp_index = "recipient_account_id"\n'
        f' source "file" {{\n paths = ["{trail.folder}"]\n}}\n}}'
    )
    (report,) = trail.world.collect()
    assert (report.counts.stored, report.counts.quarantined) == (len(ODD_INDEXES), 1)
    rows = trail.world.query(f"select recipient_account_id, tp_index from {CLOUDTRAIL}")
    assert sorted(account for account, _ in rows) == sorted(ODD_INDEXES)
    for account, index in rows:
        cut = len(account) > 50
        short = "default" if account in ("", "__HIVE_DEFAULT_PARTITION__") else account
        assert index == short or (cut and index[:40] == account[:40])
    ((reason, _, _),) = trail.refused()
    assert "NUL" in reason
    root = trail.world.lake.table_root(CLOUDTRAIL)
    assert all(p.is_relative_to(root / "tp_partition=p") for p in root.rglob("*.parquet"))


def test_very_many_index_values(trail: Inbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tailrace.pipeline.publish.MANY_INDEXES", 100)
    trail.put("a.json", json.dumps([event(recipientAccountId=str(n)) for n in range(120)]).encode())
    trail.world.write_config(
        f'partition "{CLOUDTRAIL}" "p" {{\n tp_index = "recipient_account_id"\n'
        f' source "file" {{\n paths = ["{trail.folder}"]\n}}\n}}'
    )
    (report,) = trail.world.collect()
    assert report.clean
    assert report.counts.stored == trail.count() == 120
    (advice,) = report.advice
    assert "tp_index" in advice.message
    assert "test.tpc" in str(advice.hint)


def test_many_days_in_one_file(trail: Inbox, monkeypatch: pytest.MonkeyPatch) -> None:
    days = 300
    most = 0
    real = os.listdir

    def opened(*args: Any, **more: Any) -> Any:
        nonlocal most
        most = max(most, len(real("/proc/self/fd")))
        return parquet_writer(*args, **more)

    import pyarrow.parquet as pq

    parquet_writer = pq.ParquetWriter
    monkeypatch.setattr(pq, "ParquetWriter", opened)
    records = [event() | {"eventTime": f"{2000 + n // 360}-{n // 30 % 12 + 1:02}-{n % 28 + 1:02}T00:00:00Z"}
               for n in range(days)]  # fmt: skip
    before = len(real("/proc/self/fd"))
    trail.put("a.json", json.dumps(records).encode())
    report = trail.collect()
    assert report.counts.stored == days
    assert most - before < 100
    ((stored,),) = trail.world.query(f"select count(distinct tp_date) from {CLOUDTRAIL}")
    assert stored == report.days


@pytest.mark.parametrize(
    "spelled", ["request_uri[2:]::int > 1", "(select u.n > 1 from (select request_uri[2:]::int as n) u)"]
)
def test_a_filter_that_raises(spelled: str, inbox: Inbox) -> None:
    inbox.put("a.log", lines(5) + line("x") + line("y"))
    inbox.world.write_config(
        f'partition "{NGINX}" "p" {{\n filter = "{spelled}"\n source "file" {{\n paths = ["{inbox.folder}"]\n}}\n}}'
    )
    (report,) = inbox.world.collect()
    counts = report.counts
    assert (counts.received, counts.stored, counts.filtered, counts.quarantined) == (7, 3, 2, 2)
    assert [raw for _, raw, _ in inbox.refused()] == [line("x", end=""), line("y", end="")]
    assert all(reason.startswith("filter: ") and "INT32" in reason for reason, _, _ in inbox.refused())


def test_rows_outside_the_range_are_counted(inbox: Inbox) -> None:
    inbox.put("a.log", lines(5) + line().replace(b"2015", b"2014"))
    inbox.world.write_config(f'partition "{NGINX}" "p" {{\n source "file" {{\n paths = ["{inbox.folder}"]\n}}\n}}')
    (report,) = inbox.world.collect(window=TimeRange(datetime(2015, 1, 1)))
    assert (report.counts.received, report.counts.stored, report.counts.out_of_range) == (6, 5, 1)


def test_a_full_disk(inbox: Inbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is committed and nothing is left; the next run has it all."""

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    inbox.put("a.log", lines(5))
    monkeypatch.setattr("pyarrow.parquet.ParquetWriter.write_table", full)
    report = inbox.world.collect_one(NGINX, str(inbox.folder))
    (trouble,) = report.troubles
    assert "No space left on device" in trouble.message
    assert trouble.code == "collect.rolled-back"
    root = inbox.world.lake.table_root(NGINX)
    assert not list(root.rglob("*.parquet"))
    monkeypatch.undo()
    (report,) = inbox.world.collect()
    assert report.clean
    assert inbox.count() == 5
