"""Messages about objects of S3 in all their envelopes, and a queue of moto's that announces a bucket's objects."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import md5
from typing import Any
from urllib.parse import quote_plus

from motobuckets import Moto

BUCKET = "trails"


def etag(data: bytes) -> str:
    return md5(data, usedforsecurity=False).hexdigest()


def record(
    key: str, data: bytes, event: str = "ObjectCreated:Put", bucket: str = BUCKET, **more: Any
) -> dict[str, Any]:
    """As S3 writes it: the key is encoded as in forms."""
    held = {"key": quote_plus(key, safe="/"), "size": len(data), "eTag": etag(data), "sequencer": "0055AED6DCD90281E5"}
    return {
        "eventVersion": "2.1", "eventSource": "aws:s3", "awsRegion": "us-east-1",
        "eventTime": "2026-11-01T10:00:00.000Z", "eventName": event,
        "s3": {"s3SchemaVersion": "1.0", "bucket": {"name": bucket}, "object": held | more},
    }  # fmt: skip


def notification(*records: dict[str, Any]) -> str:
    return json.dumps({"Records": records})


def by_sns(message: str) -> str:
    return json.dumps({"Type": "Notification", "MessageId": "1", "TopicArn": "arn:aws:sns:::t", "Message": message})


def by_eventbridge(key: str, data: bytes, kind: str = "Object Created") -> str:
    """Here the key is as it is."""
    detail = {"bucket": {"name": BUCKET}, "object": {"key": key, "size": len(data), "etag": etag(data)}}
    event = {"version": "0", "source": "aws.s3", "detail-type": kind, "time": "2026-11-01T10:00:00Z", "detail": detail}
    return json.dumps(event)


TEST_EVENT = json.dumps({"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": BUCKET})


@dataclass
class Queue:
    """A queue on moto."""

    moto: Moto
    url: str

    def send(self, *bodies: str) -> None:
        for body in bodies:
            self.moto.client("sqs").send_message(QueueUrl=self.url, MessageBody=body)

    def counts(self) -> tuple[int, int]:
        """Messages that wait, and those that somebody has taken."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        told = self.moto.client("sqs").get_queue_attributes(QueueUrl=self.url, AttributeNames=names)["Attributes"]
        return int(told[names[0]]), int(told[names[1]])

    def put(self, key: str, data: bytes) -> str:
        """Stores the object; returns its notification."""
        self.moto.client().put_object(Bucket=BUCKET, Key=key, Body=data)
        return notification(record(key, data))


def queue_of(moto: Moto) -> Queue:
    moto.bucket(BUCKET, {})
    url = moto.client("sqs").create_queue(QueueName="announcements")["QueueUrl"]
    return Queue(moto, url)
