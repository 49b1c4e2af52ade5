"""Source `kafka` with librdkafka's own broker, over TCP."""

from __future__ import annotations

import json

import pytest
from confluent_kafka import Consumer, TopicPartition
from kafkabroker import Broker

from tailrace.config.model import ConnectionSpec
from tailrace.config.places import Where
from tailrace.config.values import Secret
from tailrace.core import ConfigError, SourceError, TimeRange
from tailrace.sources import Unreadable, kafka, make_source


class Audit(Broker):
    """Messages that are numbered."""

    def number(self, count: int, topic: str = "audit", partition: int = 0, first: int = 0) -> None:
        self.send(topic, ({"n": n} for n in range(first, first + count)), lambda _: partition)

    def source(self, *topics: str, **args: object):
        given = {"brokers": (self.address,), "topics": topics or ("audit",), **args}
        return make_source("kafka", given)


@pytest.fixture
def broker() -> Audit:
    return Audit()


def read(source, artifact) -> list[int]:
    with source.open(artifact) as raw:
        return [json.loads(line)["n"] for line in raw.read().splitlines()]


def uris(source) -> list[str]:
    return [a.uri for a in source.discover(TimeRange())]


def test_runs_of_offsets(broker, monkeypatch):
    monkeypatch.setattr(kafka, "LONGEST", 40)
    broker.number(100)
    broker.number(5, partition=2, first=1000)
    source = broker.source()
    artifacts = list(source.discover(TimeRange()))
    place = f"kafka://{broker.cluster}/audit"
    assert [a.uri for a in artifacts] == [f"{place}/0/0-40", f"{place}/0/40-80", f"{place}/0/80-100", f"{place}/2/0-5"]
    assert {(a.version, a.day) for a in artifacts} == {("whole", None)}
    assert [n for a in artifacts for n in read(source, a)] == [*range(100), *range(1000, 1005)]
    assert read(source, artifacts[1]) == list(range(40, 80)), "as often as asked"


def test_the_next_run_goes_on_where_the_last_one_ended(broker):
    broker.number(10)
    source = broker.source()
    known = uris(source)
    assert uris(source.after(known)) == known, "nothing new"
    broker.number(7, first=10)
    fresh = [uri for uri in uris(source.after(known)) if uri not in known]
    assert fresh == [f"kafka://{broker.cluster}/audit/0/10-17"]
    # One in the middle was lost, such as by deleting rows: it comes again.
    middle = [f"kafka://{broker.cluster}/audit/0/0-4", f"kafka://{broker.cluster}/audit/0/9-17"]
    assert set(uris(source.after(middle))) - set(middle) == {f"kafka://{broker.cluster}/audit/0/4-9"}


def test_other_sources_of_the_partition_are_passed_over(broker):
    broker.number(3)
    assert len(uris(broker.source().after(["file:///a.log", "kafka://other/audit/0/0-9999"]))) == 1


def test_a_topic_that_was_made_anew_is_told(broker):
    broker.number(3)
    (found,) = broker.source().after([f"kafka://{broker.cluster}/audit/0/0-50"]).discover(TimeRange())
    assert isinstance(found, Unreadable)
    assert "offsets end at 3, and 50 have been collected" in found.reason


def test_topics_that_do_not_exist_do_not_hide_others(broker):
    broker.number(3)
    missing, present = broker.source("nothing", "audit").discover(TimeRange())
    assert isinstance(missing, Unreadable)
    assert present.uri.endswith("/audit/0/0-3")


def test_messages_are_lines(broker):
    for value in (b"plain\n", b'{"a":\n 1}', None, b"", b"two\nlines"):
        broker.producer.produce("text", value, partition=0)
    broker.producer.flush(10)
    source = broker.source("text")
    (artifact,) = source.discover(TimeRange())
    with source.open(artifact) as raw:
        assert raw.read() == b'plain\n{"a":  1}\n\ntwo\nlines\n'


def test_the_group_shows_what_the_lake_holds(broker):
    broker.number(10)
    source = broker.source(group="watched")
    uris(source.after([f"kafka://{broker.cluster}/audit/0/0-6"]))
    watcher = Consumer({"bootstrap.servers": broker.address, "group.id": "watched", "log_level": 0})
    (committed,) = watcher.committed([TopicPartition("audit", 0)], timeout=10)
    watcher.close()
    assert committed.offset == 6


def test_nobody_listens(monkeypatch):
    monkeypatch.setattr(kafka, "_PATIENCE", 1.0)
    source = make_source("kafka", {"brokers": ("127.0.0.1:1",), "topics": ("audit",)})
    with pytest.raises(SourceError, match="the broker cannot be asked") as error:
        uris(source)
    assert error.value.code == "source.io"


def test_connections_and_options():
    where = Where("a.tpc", 1, 1)
    given = {"username": "u", "password": Secret("hidden"), "mechanism": "SCRAM-SHA-512", "tls": True}
    connection = ConnectionSpec("kafka", "c", given, where)
    assert kafka._security(connection) == {
        "security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512", "sasl.username": "u",
        "sasl.password": "hidden",
    }  # fmt: skip
    args = {"brokers": ("a:1",), "topics": ("t",), "options": {"no.such.setting": Secret("1")}}
    source = make_source("kafka", args, connection)
    assert "hidden" not in repr(source)
    with pytest.raises(ConfigError, match=r"no\.such\.setting"):
        uris(source)
    with pytest.raises(ConfigError, match="needs `brokers` and `topics`"):
        make_source("kafka", {"brokers": ("a:1",)})
