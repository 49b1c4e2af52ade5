"""Sources that somebody else writes to: names and archives that mean harm come to nothing but rows or a report."""

from __future__ import annotations

import io
import os
import tarfile
import time
import zipfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from bucketserver import BucketServer, serving
from inboxes import NGINX, Inbox, lines
from objectsources import EVER, s3_source
from queues import notification, record
from world import World

from tailrace.clouds import gcs, s3
from tailrace.clouds.settings import Settings
from tailrace.core import Artifact, ConfigError, TimeRange
from tailrace.sources.objects import ObjectSource
from tailrace.sources.s3_announcements import announced
from tailrace.sources.s3_notified import NotifiedObjects, notified

KEYS = {
    "parents": "../../../../tmp/tailrace-was-here.log",
    "parents within": "logs/../../../x.log",
    "dots": "./.../..log",
    "double slash": "a//b//c.log",
    "line break": "a\nb\r\n.log",
    "control characters": "a\x01\x1b[31m\x7f.log",
    "SQL": "'; drop table nginx_access_log; select '1.log",
    "SQL comment": '"); delete from nginx_access_log --.log',
    "HTML": "<script>alert('x')</script>&amp;.log",
    "template": "${env.HOME}/%{DATA}/{url}.log",
    "percent": "%2e%2e%2f%00.log",
    "wildcards": "[*?]{a,b}.log",
    "member sign": "a!b!../c.log",
    "right to left": "\u202egol.exe.log",
    "long": "k" * 1020 + ".log",
    "deep": "d/" * 500 + "x.log",
    "hive": "tp_date=1999-01-01/tp_index=x/a.log",
}
CONFIG = """
connection "aws" "stand_in" {{
  endpoint_url = "{url}"
  access_key   = "AKIDTEST"
  secret_key   = "hidden"
  region       = "us-east-1"
}}
partition "nginx_access_log" "web" {{
  {index}
  source "{kind}" {{
    {connection}
    bucket = "logs"
    {layout}
  }}
}}
"""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[BucketServer]:
    s3.store.cache_clear()
    gcs.store.cache_clear()
    with serving(BucketServer()) as server:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", server.url)
        yield server


def configure(
    world: World, server: BucketServer, kind: str = "aws_s3_bucket", layout: str = "", index: str = ""
) -> None:
    connection = "connection = connection.aws.stand_in" if kind == "aws_s3_bucket" else ""
    world.write_config(CONFIG.format(url=server.url, kind=kind, connection=connection, layout=layout, index=index))


def outside(world: World) -> set[Path]:
    """Everything near the home that is not in it."""
    return {path for path in world.home.parent.rglob("*") if world.home not in (path, *path.parents)}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS.keys())
def test_a_key_is_a_label(key: str, world: World, server: BucketServer) -> None:
    server.objects = {key: lines(4), "good.log": lines(3)}
    configure(world, server)
    before = outside(world)
    (report,) = world.collect()
    assert report.clean, report.troubles
    found = world.query("select tp_source_location, count(*) from nginx_access_log group by all order by all")
    assert dict(found) == {key: 4, "good.log": 3}
    assert outside(world) == before
    assert not Path("/tmp/tailrace-was-here.log").exists()
    assert world.collect()[0].counts.stored == 0


@pytest.mark.parametrize("key", ["/absolute.log", "/../x.log"])
def test_a_key_with_a_slash_in_front_is_told_and_costs_no_other(key: str, world: World, server: BucketServer) -> None:
    server.objects = {key: lines(4), "good.log": lines(3)}
    configure(world, server)
    (report,) = world.collect()
    assert report.counts.stored in (3, 7)
    assert report.counts.stored == 7 or not report.clean
    assert world.query("select count(*) from nginx_access_log where tp_source_location = 'good.log'") == [(3,)]


@pytest.mark.parametrize("key", [KEYS[name] for name in ("SQL", "HTML", "percent", "right to left", "long")])
def test_a_key_is_a_label_on_google(key: str, world: World, server: BucketServer) -> None:
    server.objects = {key: lines(4), "good.log": lines(3)}
    configure(world, server, "gcp_storage_bucket")
    assert world.collect()[0].clean
    assert world.query("select count(distinct tp_source_location), count(*) from nginx_access_log") == [(2, 7)]


@pytest.mark.parametrize("key", [*KEYS.values(), "nul\0byte.log", "/absolute.log"])
def test_an_announced_key_is_a_label(key: str) -> None:
    (found,) = announced(notification(record(key, b"x")))
    assert found.key == key
    source = s3_notified()
    artifact = source._found(found, EVER)
    assert isinstance(artifact, Artifact)
    assert source._place_of(artifact.uri) == ("trails", key)
    assert artifact.uri.isascii()
    assert artifact.uri.isprintable()


def s3_notified() -> NotifiedObjects:
    source = s3_source("http://127.0.0.1:9", bucket="trails")
    assert isinstance(source, ObjectSource)
    return notified(source, "https://sqs.eu-west-1.amazonaws.com/1/q", Settings("aws", "default"))


TENANTS = ["..", ".", "a'; drop table t; --", "x=1&tp_date=1999-01-01", "%2e%2e", "a\nb", "ü", "t" * 300, "\u202e"]


def test_an_index_from_a_path_leads_nowhere_else(world: World, server: BucketServer) -> None:
    server.objects = {f"{tenant}/2015-05-17.log": lines(2) for tenant in TENANTS}
    layout = "file_layout = `%{DATA:tenant}/%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}.log`"
    configure(world, server, layout=layout, index='tp_index = "tenant"')
    before = outside(world)
    (report,) = world.collect(window=TimeRange(datetime(2015, 5, 1), datetime(2015, 6, 1)))
    assert report.counts.stored == 2 * len(TENANTS), report.troubles
    assert outside(world) == before
    root = world.lake.table_root(NGINX).path
    assert all(root in path.resolve().parents for path in root.rglob("*.parquet"))
    stored = dict(world.query("select tp_index, count(*) from nginx_access_log group by all"))
    assert sorted(stored.values()) == [2] * len(TENANTS)
    assert {tenant for tenant in TENANTS if len(tenant) < 200} <= stored.keys()


@pytest.mark.parametrize("name", ["x'; drop table y; --", "../up", "a/b", "<b>", "", "a\\nb", "${x}"])
def test_a_partition_name_that_is_no_name(name: str, world: World) -> None:
    world.write_config(f'partition "nginx_access_log" "{name}" {{\n source "file" {{\n paths = ["/x"]\n}}\n}}')
    with pytest.raises(ConfigError):
        world.config()


MEMBERS = [
    "../../evil.log",
    "/etc/evil.log",
    "C:\\evil.log",
    "a/../../../evil.log",
    "'; drop table t; --.log",
    "a\nb.log",
]


def archived(kind: str) -> bytes:
    held = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(held, "w") as archive:
            for name in MEMBERS:
                archive.writestr(name, lines(2))
        return held.getvalue()
    with tarfile.open(fileobj=held, mode="w:gz") as tar:
        for name in MEMBERS:
            member = tarfile.TarInfo(name)
            member.size = len(lines(2))
            tar.addfile(member, io.BytesIO(lines(2)))
        for number, special in enumerate((tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE)):
            member = tarfile.TarInfo(f"special{number}")
            member.type, member.linkname = special, "/etc/passwd"
            tar.addfile(member)
    return held.getvalue()


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_members_that_climb_out_of_their_archive_are_labels(kind: str, inbox: Inbox) -> None:
    inbox.put(f"a.{kind}", archived(kind))
    before = outside(inbox.world)
    report = inbox.collect()
    assert report.clean, report.troubles
    assert report.counts.stored == 2 * len(MEMBERS)
    found = inbox.world.query(f"select distinct tp_source_location from {NGINX} where tp_source_location like '%!%'")
    assert {place.partition("!")[2] for (place,) in found} == set(MEMBERS)
    assert outside(inbox.world) - before == {inbox.folder / "~good~.log"}
    assert not Path("/etc/evil.log").exists()


def test_a_layout_that_a_path_makes_slow_is_told(inbox: Inbox) -> None:
    inbox.put("a" * 200 + ".log", lines(1))
    inbox.world.write_config(
        f'partition "{NGINX}" "p" {{\n source "file" {{\n paths = ["{inbox.folder}"]\n'
        "file_layout = `%{SLOW:x}!`\n patterns = { SLOW = `(a+a?)+` }\n}\n}"
    )
    began = time.monotonic()
    (report,) = inbox.world.collect()
    assert time.monotonic() - began < 20
    assert report.counts.stored == 0


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/urandom", "/proc/self/mem", "/proc/kmsg", "/proc", "/sys/kernel"])
def test_what_has_no_end_is_not_opened(path: str, world: World) -> None:
    began = time.monotonic()
    report = world.collect_one(NGINX, path)
    assert time.monotonic() - began < 10
    assert {(t.where, t.code) for t in report.troubles} == {(path, "source.special")}
    assert report.counts.received == 0


def test_links_that_lead_to_devices_pipes_the_kernel_and_around(inbox: Inbox) -> None:
    os.mkfifo(inbox.folder / "pipe.log")
    for name, target in {"zero.log": "/dev/zero", "proc": "/proc", "self": ".", "up": "..", "me": "me"}.items():
        (inbox.folder / name).symlink_to(target)
    began = time.monotonic()
    report = inbox.collect()
    assert time.monotonic() - began < 10
    places = {Path(t.where).name for t in report.troubles}
    assert places >= {"pipe.log", "zero.log", "proc", "me"}
    assert report.counts.stored == 0
