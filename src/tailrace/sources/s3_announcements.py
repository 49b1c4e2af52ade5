"""What a message says about objects of S3: notifications of S3, SNS, EventBridge and CloudTrail."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote_plus

import msgspec

_DEEPEST = 4
"Envelopes in envelopes: SNS around EventBridge around nothing more."


@dataclass(frozen=True, slots=True)
class Announced:
    """An object that was written."""

    bucket: str
    key: str
    at: datetime | None = None
    size: int | None = None
    "None, as `etag`, where the message does not say."
    etag: str | None = None
    order: str = ""
    "Later versions of a key have a greater one, where it is told."


class NotUnderstood(Exception):
    """A message that is none of those."""


def announced(body: str) -> list[Announced]:
    """Objects that the message says were written; none for test messages and for objects that went away."""
    try:
        message = msgspec.json.decode(body)
        for _ in range(_DEEPEST):
            if not isinstance(message, dict):
                break
            if isinstance(message.get("Message"), str) and "Type" in message:
                message = msgspec.json.decode(message["Message"])
                continue
            return _objects(message)
    except (msgspec.DecodeError, KeyError, TypeError, ValueError, AttributeError, RecursionError):
        pass
    raise NotUnderstood


def _objects(message: Mapping[str, Any]) -> list[Announced]:
    if isinstance(message.get("Records"), list):
        written = [r for r in message["Records"] if _is_creation(r)]
        return [_of_s3(record) for record in written]
    if message.get("source") == "aws.s3":
        return [_of_eventbridge(message)] if message.get("detail-type") == "Object Created" else []
    if "s3Bucket" in message:
        return [Announced(str(message["s3Bucket"]), str(key)) for key in message["s3ObjectKey"]]
    if message.get("Event") == "s3:TestEvent":
        return []
    raise NotUnderstood


def _is_creation(record: Mapping[str, Any]) -> bool:
    if record["eventSource"] != "aws:s3":
        raise NotUnderstood
    return str(record["eventName"]).removeprefix("s3:").startswith("ObjectCreated:")


def _of_s3(record: Mapping[str, Any]) -> Announced:
    held = record["s3"]["object"]
    # Blanks are pluses here, as in forms.
    key = unquote_plus(held["key"], errors="strict")
    return Announced(record["s3"]["bucket"]["name"], key, _moment(record.get("eventTime")), *_version(held, "eTag"))


def _of_eventbridge(event: Mapping[str, Any]) -> Announced:
    """Here keys are as they are."""
    held = event["detail"]["object"]
    bucket = event["detail"]["bucket"]["name"]
    return Announced(bucket, held["key"], _moment(event.get("time")), *_version(held, "etag"))


def _version(held: Mapping[str, Any], name: str) -> tuple[int | None, str | None, str]:
    size, etag, order = held.get("size"), held.get(name), str(held.get("sequencer", ""))
    # Sequencers are hexadecimal numbers of different lengths.
    return (int(size) if size is not None else None), (str(etag).strip('"') if etag else None), order.rjust(64, "0")


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text).astimezone(UTC).replace(tzinfo=None) if text else None
