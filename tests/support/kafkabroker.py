"""librdkafka's own broker, over TCP; it lives as long as somebody holds it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from confluent_kafka import Producer


class Broker:
    """Where it listens, and what is sent to it."""

    def __init__(self) -> None:
        self.producer = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "mock", "log_level": 0})
        told = self.producer.list_topics(timeout=10)
        (broker,) = told.brokers.values()
        self.cluster, self.address = told.cluster_id, f"{broker.host}:{broker.port}"

    def send(self, topic: str, held: Iterable[object], partition: Callable[[int], int] = lambda _: 0) -> None:
        """Each as JSON, to the partition that its number says."""
        for number, event in enumerate(held):
            self.producer.produce(topic, json.dumps(event).encode(), partition=partition(number))
        assert self.producer.flush(10) == 0
