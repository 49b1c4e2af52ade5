"""Source `kafka`: messages of topics, from where the last run ended to the end of each partition.

An artifact is a run of offsets, `kafka://cluster/topic/3/1200-5600`, and never changes. What has been collected lies in
the ledger, so the ledger says where the next artifact begins: offsets that the broker has meanwhile deleted stay
collected, and consumer groups decide on nothing.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, ClassVar
from urllib.parse import quote, unquote

from tailrace.config.model import ConnectionSpec
from tailrace.core import Artifact, ConfigError, SourceError, TimeRange
from tailrace.core.extras import install
from tailrace.sources.base import DENIED, GONE, IO, Asked, Found, Given, Unreadable
from tailrace.sources.credentials import Secrets, secret_of, text_of, wrapped
from tailrace.sources.streaming import as_line, streamed

LONGEST = 100_000
"Offsets of one artifact."
_PATIENCE = 30.0
_AT_ONCE = 5_000
_URI = re.compile(r"kafka://([^/]+)/([^/]+)/(\d+)/(\d+)-(\d+)")
_DENIED = ("AUTHENTICATION", "AUTHORIZATION", "SASL")


@dataclass(frozen=True, slots=True)
class KafkaSource(Asked):
    """Messages of topics, a line each."""

    kind: ClassVar[str] = "kafka"
    brokers: tuple[str, ...]
    topics: tuple[str, ...]
    group: str = ""
    options: Secrets = ()
    connection: ConnectionSpec | None = None
    known: tuple[tuple[str, int, int], ...] = ()
    "Artifacts of earlier runs: cluster, topic and partition as their URIs name them, first offset, end."

    def after(self, uris: Iterable[str]) -> KafkaSource:
        found = (_URI.fullmatch(uri) for uri in uris)
        return replace(self, known=tuple((f"{m[1]}/{m[2]}/{m[3]}", int(m[4]), int(m[5])) for m in found if m))

    def discover(self, window: TimeRange) -> Iterator[Found]:
        """Known artifacts that can still be read whole, and new ones up to the end of each partition."""
        consumer = self._consumer("listing")
        try:
            held = consumer.list_topics(timeout=_PATIENCE)
            for topic in self.topics:
                told = held.topics.get(topic)
                if told is None or told.error is not None:
                    reason = str(told.error) if told and told.error else "there is no such topic"
                    yield Unreadable(f"kafka://{held.cluster_id}/{topic}", reason, topic, GONE, TimeRange())
                    continue
                for number in sorted(told.partitions):
                    yield from self._partition(consumer, f"{held.cluster_id}/{quote(topic, safe='')}", topic, number)
        except _library().KafkaException as error:
            raise _told(error, ",".join(self.brokers)) from None
        finally:
            consumer.close()

    def _partition(self, consumer: Any, place: str, topic: str, number: int) -> Iterator[Found]:
        low, end = consumer.get_watermark_offsets(_library().TopicPartition(topic, number), timeout=_PATIENCE)
        place = f"{place}/{number}"
        known = sorted((first, last) for where, first, last in self.known if where == place)
        reached = known[-1][1] if known else low
        if reached > end:
            reason = f"its offsets end at {end}, and {reached} have been collected: it was made anew"
            yield Unreadable(f"kafka://{place}", f"{reason}; collect it into another partition", f"kafka://{place}")
            return
        for first, last in known:
            if first >= low:
                yield _artifact(place, first, last)
        at = low
        for first, last in [*known, (end, end)]:
            for begin in range(at, first, LONGEST):
                yield _artifact(place, begin, min(begin + LONGEST, first))
            at = max(at, last)
        if self.group:
            # Whoever watches the group's lag sees what the lake holds; nothing is read by it.
            begin = _library().TopicPartition(topic, number, max(reached, low))
            consumer.commit(offsets=[begin], asynchronous=False)

    def open(self, artifact: Artifact) -> BinaryIO:
        found = _URI.fullmatch(artifact.uri)
        if found is None:
            raise SourceError("is no run of offsets", code=GONE, where=artifact.location)
        _, topic, number, first, end = found.groups()
        return streamed(self._messages(unquote(topic), int(number), int(first), int(end), artifact.location))

    def _messages(self, topic: str, number: int, first: int, end: int, where: str) -> Generator[bytes]:
        library = _library()
        consumer = self._consumer("reading")
        try:
            consumer.assign([library.TopicPartition(topic, number, first)])
            at = first
            while at < end:
                batch = consumer.consume(min(_AT_ONCE, end - at), _PATIENCE)
                if not batch:
                    raise SourceError(f"no message within {_PATIENCE:g} seconds", code=IO, where=where)
                lines: list[bytes] = []
                for message in batch:
                    if message.error() is None:
                        at = message.offset() + 1
                        if first < at <= end and message.value() is not None:
                            lines.append(as_line(message.value()))
                    elif message.error().code() == library.KafkaError._PARTITION_EOF:
                        at = end  # the last offsets are marks of transactions, or were compacted away
                    else:
                        raise library.KafkaException(message.error())
                yield b"".join(lines)
        except library.KafkaException as error:
            raise _told(error, where) from None
        finally:
            consumer.close()

    def _consumer(self, purpose: str) -> Any:
        settings: dict[str, Any] = {
            "bootstrap.servers": ",".join(self.brokers),
            "group.id": self.group or "tailrace",
            "client.id": f"tailrace-{purpose}",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "log_level": 2,
            **_security(self.connection),
            **{name: value.reveal() for name, value in self.options},
        }
        try:
            return _library().Consumer(settings)
        except _library().KafkaException as error:
            message = f"`options` of source 'kafka': {error.args[0].str()}"
            raise ConfigError(message, code="config.bad-argument") from None


def make(given: Given) -> KafkaSource:
    brokers, topics = (given.args.get(name) for name in ("brokers", "topics"))
    if not isinstance(brokers, (list, tuple)) or not isinstance(topics, (list, tuple)) or not brokers or not topics:
        raise ConfigError(
            "source 'kafka' needs `brokers` and `topics`", code="config.bad-argument",
            hint='brokers = ["kafka-1:9092"], topics = ["audit"]',
        )  # fmt: skip
    _library()
    group, options = given.args.get("group"), wrapped(given.args.get("options"))
    name = group if isinstance(group, str) else ""
    return KafkaSource(tuple(brokers), tuple(dict.fromkeys(topics)), name, options, given.connection)


def _security(connection: ConnectionSpec | None) -> dict[str, str]:
    user, password = text_of(connection, "username"), secret_of(connection, "password")
    tls = bool(connection and connection.args.get("tls"))
    protocol = ("SASL_SSL" if tls else "SASL_PLAINTEXT") if user else ("SSL" if tls else "PLAINTEXT")
    settings = {"security.protocol": protocol}
    if user:
        settings["sasl.mechanism"] = text_of(connection, "mechanism") or "PLAIN"
        settings["sasl.username"] = user
        settings["sasl.password"] = password.reveal() if password else ""
    authority = text_of(connection, "ca_file")
    return settings | ({"ssl.ca.location": authority} if authority else {})


def _artifact(place: str, first: int, end: int) -> Artifact:
    uri = f"kafka://{place}/{first}-{end}"
    return Artifact(uri, 0, "whole", "kafka", location=uri)


def _told(error: Any, where: str) -> SourceError:
    held = error.args[0]
    code = DENIED if any(word in held.name() for word in _DENIED) else IO
    hint = "check the connection's user, password and mechanism" if code == DENIED else None
    return SourceError(f"the broker cannot be asked: {held.str()}", code=code, where=where, hint=hint)


def _library() -> Any:
    try:
        import confluent_kafka
    except ImportError:
        raise ConfigError(
            "this source needs the package confluent-kafka", code="config.missing-package",
            hint=install("kafka"),
        ) from None  # fmt: skip
    return confluent_kafka
