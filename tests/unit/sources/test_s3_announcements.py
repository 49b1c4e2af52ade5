"""What messages about objects say, and which are none."""

from __future__ import annotations

import json

import pytest
from queues import TEST_EVENT, by_eventbridge, by_sns, etag, notification, record

from tailrace.sources.s3_announcements import NotUnderstood, announced

KEYS = ["a/b.json.gz", "with blank+plus.log", "per%cent=ü/日本.log", "line\nbreak.log"]


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("envelope", ["plain", "sns", "eventbridge", "eventbridge in sns"])
def test_an_object_in_every_envelope(key: str, envelope: str) -> None:
    body = by_eventbridge(key, b"data") if "eventbridge" in envelope else notification(record(key, b"data"))
    (found,) = announced(by_sns(body) if "sns" in envelope else body)
    assert (found.bucket, found.key, found.size, found.etag) == ("trails", key, 4, etag(b"data"))
    assert str(found.at) == "2026-11-01 10:00:00"


def test_cloudtrails_own_messages_name_keys_alone() -> None:
    body = json.dumps({"s3Bucket": "trails", "s3ObjectKey": ["AWSLogs/1/a.json.gz", "AWSLogs/1/b c.json.gz"]})
    assert [(a.key, a.size, a.etag) for a in announced(by_sns(body))] == [
        ("AWSLogs/1/a.json.gz", None, None), ("AWSLogs/1/b c.json.gz", None, None)
    ]  # fmt: skip


@pytest.mark.parametrize(
    "body",
    [
        TEST_EVENT,
        by_sns(TEST_EVENT),
        notification(record("a", b"", "ObjectRemoved:Delete"), record("a", b"", "ObjectRestore:Completed")),
        by_eventbridge("a", b"", "Object Deleted"),
        notification(),
    ],
)
def test_what_announces_nothing(body: str) -> None:
    assert announced(body) == []


def test_the_form_of_a_multipart_upload_and_of_an_older_prefix() -> None:
    kinds = ["ObjectCreated:CompleteMultipartUpload", "s3:ObjectCreated:Copy", "ObjectCreated:Post"]
    assert len(announced(notification(*(record("a", b"x", kind) for kind in kinds)))) == 3


@pytest.mark.parametrize(
    "body",
    [
        "",
        "not JSON",
        "[]",
        "17",
        "{}",
        '{"Records": [{}]}',
        '{"Records": [17]}',
        '{"Records": [{"eventSource": "aws:ses", "eventName": "ObjectCreated:Put"}]}',
        '{"Records": [{"eventSource": "aws:s3", "eventName": "ObjectCreated:Put", "s3": {"bucket": {"name": "b"}}}]}',
        '{"Type": "Notification", "Message": "words"}',
        '{"source": "aws.s3", "detail-type": "Object Created", "detail": null}',
        '{"s3Bucket": "b"}',
        notification(record("a", b"x")).replace('"a"', '"%FF%FE"'),
        by_sns(by_sns(by_sns(by_sns(by_sns("{}"))))),
        "[" * 100_000,
    ],
)
def test_what_is_no_notification(body: str) -> None:
    with pytest.raises(NotUnderstood):
        announced(body)
