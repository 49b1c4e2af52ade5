"""Objects of S3 that a queue announces: what is new is known without listing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from tailrace.clouds.errors import told
from tailrace.clouds.etags import strong
from tailrace.clouds.settings import Settings
from tailrace.core import ConfigError, SourceError, TimeRange
from tailrace.sources.aws_session import client_of
from tailrace.sources.base import REFUSED, Found, Skipped, Unreadable
from tailrace.sources.buckets import Entry
from tailrace.sources.object_keys import fits, matched
from tailrace.sources.objects import ObjectSource
from tailrace.sources.s3_announcements import Announced
from tailrace.sources.sqs_delivery import SqsDelivery, ask

_LOOKED_UP = 16
"Requests at a time, for objects of which the message does not tell size and ETag."


@dataclass(frozen=True, slots=True)
class NotifiedObjects(ObjectSource):
    """Lists as its base does when asked to; a collection takes what the queue announces."""

    queue: str = field(kw_only=True)
    settings: Settings = field(kw_only=True)

    def delivery(self) -> SqsDelivery:
        return SqsDelivery(self._client(), self.queue, self._chosen)

    def waiting(self) -> str:
        names = ["ApproximateNumberOfMessages"]
        answer = ask(self._client(), self.queue, "get_queue_attributes", AttributeNames=names)
        number = int(answer.get("Attributes", {}).get(names[0], 0))
        return f"about {number:,} message{'s' * (number != 1)} wait; which objects they announce is known once taken"

    def reachable(self) -> Iterator[tuple[str, str | None]]:
        yield from ObjectSource.reachable(self)
        try:
            self.waiting()
            yield self.queue, None
        except SourceError as error:
            yield self.queue, error.message

    def _client(self) -> Any:
        url = urlsplit(self.queue)
        region = re.match(r"sqs[\w-]*\.([a-z0-9-]+)\.", url.netloc)
        return client_of("sqs", self.settings, region[1] if region else None, f"{url.scheme}://{url.netloc}")

    def _chosen(self, announced: Sequence[Announced], window: TimeRange) -> Iterable[tuple[Announced, Found | None]]:
        with ThreadPoolExecutor(_LOOKED_UP, thread_name_prefix="head") as pool:
            yield from zip(announced, pool.map(lambda one: self._found(one, window), announced), strict=True)

    def _found(self, announced: Announced, window: TimeRange) -> Found | None:
        """None: of another range, and so for another run."""
        key = announced.key
        places = [place for place in self.places if place.container == announced.bucket]
        if not places:
            reason = f"announces objects of bucket {announced.bucket}, which this source does not name; they stay"
            return Unreadable(self.queue, reason, self.queue, REFUSED)
        place = next((place for place in places if fits(key, place)), None)
        match = matched(key, place, self.layout) if place else None
        if match is None:
            return Skipped("layout" if place else "place", 1, key)
        if not match.meets(window):
            return None
        if announced.size is None or announced.etag is None:
            return self._looked_up(announced, window)
        if announced.size == 0 and key.endswith("/"):
            return Skipped("name", 1, key)
        entry = Entry(key, announced.size, announced.etag, announced.at or datetime.now(UTC).replace(tzinfo=None))
        return self._artifact(announced.bucket, entry, match)

    def _looked_up(self, announced: Announced, window: TimeRange) -> Found | None:
        import obstore

        location = f"{self._root(announced.bucket)}{announced.key}"
        try:
            meta = obstore.head(self.access.store(announced.bucket), announced.key)
        except Exception as error:
            reason, code = told(error)
            return Unreadable(location, f"cannot be looked up: {reason}", location, code)
        etag = (strong(meta["e_tag"]) or "").strip('"') or meta["last_modified"].isoformat()
        moment = meta["last_modified"].astimezone(UTC).replace(tzinfo=None)
        return self._found(Announced(announced.bucket, announced.key, moment, meta["size"], etag), window)


def notified(listed: ObjectSource, queue: str, settings: Settings) -> NotifiedObjects:
    """The source with its queue; ConfigError when that is no address of one."""
    url = urlsplit(queue)
    if url.scheme not in ("http", "https") or not url.netloc or not url.path.strip("/"):
        raise ConfigError(
            f"'{queue}' is no URL of a queue", code="config.bad-argument",
            hint='sqs_queue_url = "https://sqs.eu-west-1.amazonaws.com/111122223333/trails"',
        )  # fmt: skip
    values = {f.name: getattr(listed, f.name) for f in fields(listed)}
    return NotifiedObjects(**values, queue=queue, settings=settings)
