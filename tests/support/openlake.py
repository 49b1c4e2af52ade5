"""A lake with everything that other engines might stumble over, and the facts that all of them must find in it."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

from deltalake import DeltaTable
from world import World

Facts = tuple[object, ...]
TABLE = """
table "app" {
  format = format.jsonl.default
  column "ts" {
    type = "timestamp"
  }
  column "n" {
    type = "bigint"
  }
  column "never" {
    type = "bigint"
  }
}
"""
HOSTS = ("0042", "web 1/ü", "2024-01-01", "a=b", "%41")
FACTS = """
select count(*), sum(n), sum(late), count(never), max(tp_index), min(tp_index), count(distinct tp_index),
       count(distinct tp_date), min(tp_partition), max(tp_partition), min(tp_table),
       cast(min(tp_timestamp) as varchar(40))
from {}
"""
EXPECTED: Facts = (160, 12_520, 140, 0, "web 1/ü", "%41", 6, 3, "odd name", "plain", "app", "2024-05-01 10:00:00")


def make_lake(home: Path, folder: Path) -> str:
    """Partitions, one with odd names; columns that came late or never; a log that was replaced. The table's root."""
    world = World(home)
    source = f'source "file" {{\n paths = ["{folder}"]\n}}'
    world.write_config(
        f'{TABLE}\npartition "app" "plain" {{\n {source}\n}}\n'
        f'partition "app" "odd name" {{\n tp_index = "host"\n {source}\n}}'
    )
    _put(folder / "a.jsonl", range(40))
    _put(folder / "b.jsonl.gz", range(40, 60))
    assert all(report.clean for report in world.collect())
    _put(folder / "b.jsonl.gz", range(100, 130))
    _put(folder / "c.jsonl", range(200, 210), late=7)
    assert all(report.clean for report in world.collect())
    assert world.query(FACTS.format("app")) == [EXPECTED]
    root = world.lake.table_root("app").path
    assert len(list(root.rglob("*.parquet"))) > len(DeltaTable(root).file_uris()), "nothing was replaced"
    return str(root)


NESTED_EXPECTED: Facts = (40, 7, 30, "role2", 4, 435, 0, "000000000042", "000000000007")
"""Rows, different `user_identity.arn`, rows with a `user_identity.user_name`, the last issuer of a session, different
`bucketName` and the sum of `n` in the JSON of `request_parameters`, values of a column that no file has, and the last
and first `tp_index`: texts that look like numbers."""


def make_trail(home: Path, folder: Path) -> str:
    """Structs in structs, JSON, a column that no file has, an index of digits. The table's root."""
    world = World(home)
    world.write_config(
        f'partition "aws_cloudtrail_log" "trail" {{\n tp_index = "recipient_account_id"\n'
        f' source "file" {{\n paths = ["{folder}"]\n}}\n}}'
    )
    folder.mkdir(parents=True)
    users = [_event(n, "000000000042", _user(n), {"bucketName": f"b{n % 4}", "n": n}) for n in range(30)]
    roles = [_event(n, "000000000007", _role(n), None) for n in range(30, 40)]
    for name, events in (("users.json", users), ("roles.json", roles)):
        (folder / name).write_text(json.dumps({"Records": events}))
    assert all(report.clean for report in world.collect())
    (row,) = world.query("""
        select count(*), count(distinct user_identity.arn), count(user_identity.user_name),
               max(user_identity.session_context.session_issuer.user_name),
               count(distinct request_parameters->>'bucketName'), sum(cast(request_parameters->>'n' as int)),
               count(shared_event_id), max(tp_index), min(tp_index)
        from aws_cloudtrail_log""")
    assert row == NESTED_EXPECTED
    return str(world.lake.table_root("aws_cloudtrail_log"))


def _event(
    n: int, account: str, identity: dict[str, object], parameters: dict[str, object] | None
) -> dict[str, object]:
    return {
        "eventTime": f"2024-05-{1 + n % 2:02}T10:00:00Z",
        "eventName": "GetObject",
        "eventID": f"{n:08x}-0000-4000-8000-000000000000",
        "recipientAccountId": account,
        "userIdentity": identity,
        "requestParameters": parameters,
    }


def _user(n: int) -> dict[str, object]:
    return {"type": "IAMUser", "arn": f"arn:aws:iam::1:user/u{n % 4}", "userName": f"u{n % 4}"}


def _role(n: int) -> dict[str, object]:
    issuer = {"type": "Role", "userName": f"role{n % 3}"}
    return {"type": "AssumedRole", "arn": f"arn:aws:iam::1:role/r{n % 3}", "sessionContext": {"sessionIssuer": issuer}}


def _put(file: Path, numbers: range, **more: object) -> None:
    file.parent.mkdir(exist_ok=True)
    events = ({"ts": f"2024-05-{1 + n % 3:02}T10:00:00Z", "n": n, "host": HOSTS[n % 5], **more} for n in numbers)
    text = "".join(json.dumps(event) + "\n" for event in events).encode()
    file.write_bytes(gzip.compress(text) if file.suffix == ".gz" else text)
    os.utime(file, (numbers.start, numbers.start))
