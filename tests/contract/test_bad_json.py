"""Strange documents, many days, odd index values: everything good is stored, the rest counted, named and kept."""

from __future__ import annotations

import gzip
import json
import os
from typing import Any

import pytest
from inboxes import CLOUDTRAIL, Inbox, event


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
    root = trail.world.lake.table_root(CLOUDTRAIL).path
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
