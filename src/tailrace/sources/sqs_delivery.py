"""Objects of S3 as a queue announces them. A message is deleted when all that it announces has been committed.

Until then it is kept from others by its visibility timeout, which is prolonged while the work goes on. Should this
process die, the messages come back by themselves, and the ledger knows what of them is stored.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from tailrace.core import Artifact, SourceError, TimeRange
from tailrace.sources.aws_session import told
from tailrace.sources.base import GONE, REFUSED, Found, Unreadable
from tailrace.sources.s3_announcements import Announced, NotUnderstood, announced

HELD = 300
"Seconds that a message is hidden from others, unless prolonged."
MOST = 100_000
"Messages of one run: SQS lets 120,000 be under way."
_BATCH = 10
_AT_ONCE = 8
_WAIT = 1
"A request that waits asks all servers of the queue; one that does not may miss messages."

Choose = Callable[[Sequence[Announced], TimeRange], Iterable[tuple[Announced, Found | None]]]
"What an object is for its source: an artifact, a skipped one, something unreadable; None: not of this range."
Place = tuple[str, str]
"Bucket and key."


@dataclass(slots=True)
class _Message:
    handle: str
    objects: list[Announced] = field(default_factory=list)
    open: set[str] = field(default_factory=set)
    "URIs that have to be stored before the message may go."
    kept: bool = False
    "It announces something that this run does not take."

    @property
    def may_go(self) -> bool:
        return not self.open and not self.kept


@dataclass(slots=True)
class SqsDelivery:
    """One run's hand on a queue."""

    client: Any
    queue: str
    choose: Choose
    _messages: dict[str, _Message] = field(default_factory=dict)
    _awaited: dict[str, list[str]] = field(default_factory=dict)
    "By URI, the messages that it keeps."
    _ended: threading.Event = field(default_factory=threading.Event)
    _keeper: threading.Thread | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __enter__(self) -> SqsDelivery:
        return self

    def __exit__(self, *_: object) -> None:
        """Gives back what was not stored, so that the next run need not wait for it."""
        self._ended.set()
        if self._keeper is not None:
            self._keeper.join()
        with suppress(Exception):
            self._hide(0)

    def discover(self, window: TimeRange) -> Iterator[Found]:
        bad = self._receive()
        self._keeper = threading.Thread(target=self._keep, name="sqs", daemon=True)
        self._keeper.start()
        by_place = self._by_place()
        told_already: set[Unreadable] = set()
        for announcement, found in self.choose(self._latest(), window):
            self._assign(by_place[announcement.bucket, announcement.key], found)
            if isinstance(found, Unreadable):
                if found in told_already:
                    continue
                told_already.add(found)
            if found is not None:
                yield found
        yield from self._not_understood(bad)
        try:
            self._delete([name for name, message in self._messages.items() if message.may_go])
        except SourceError as error:
            yield Unreadable(self.queue, error.message, self.queue, error.code)

    def stored(self, uris: Iterable[str]) -> None:
        finished: dict[str, None] = {}
        for uri in uris:
            for name in self._awaited.pop(uri, ()):
                message = self._messages[name]
                message.open.discard(uri)
                if message.may_go:
                    finished[name] = None
        self._delete(list(finished))

    def _by_place(self) -> dict[Place, list[str]]:
        places: dict[Place, list[str]] = {}
        for name, message in self._messages.items():
            for place in {(o.bucket, o.key) for o in message.objects}:
                places.setdefault(place, []).append(name)
        return places

    def _latest(self) -> list[Announced]:
        """Each object once, as the last of its announcements has it."""
        latest: dict[Place, Announced] = {}
        for announcement in (a for message in self._messages.values() for a in message.objects):
            place = (announcement.bucket, announcement.key)
            before = latest.get(place)
            if before is None or announcement.order >= before.order:
                latest[place] = announcement
        return list(latest.values())

    def _assign(self, names: Sequence[str], found: Found | None) -> None:
        """Which messages wait for this object; what is passed over on purpose keeps none."""
        for message in (self._messages[name] for name in names):
            if isinstance(found, Artifact):
                message.open.add(found.uri)
            elif found is None or (isinstance(found, Unreadable) and found.code != GONE):
                message.kept = True
        if isinstance(found, Artifact):
            self._awaited[found.uri] = list(names)

    def _receive(self) -> list[str]:
        """Takes messages until the queue is empty; returns those that cannot be read."""
        with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="sqs") as pool:
            return [bad for found in pool.map(lambda _: self._receive_some(), range(_AT_ONCE)) for bad in found]

    def _receive_some(self) -> list[str]:
        bad: list[str] = []
        while len(self._messages) < MOST:
            answer = self._ask(
                "receive_message", MaxNumberOfMessages=_BATCH, VisibilityTimeout=HELD, WaitTimeSeconds=_WAIT
            )
            with self._lock:
                fresh = [m for m in answer.get("Messages", ()) if self._is_fresh(m)]
                bad += [m["MessageId"] for m in fresh if not self._take(m)]
            if not fresh:
                return bad
        return bad

    def _is_fresh(self, received: dict[str, str]) -> bool:
        """A queue may give a message twice; the later receipt counts."""
        before = self._messages.get(received["MessageId"])
        if before is not None:
            before.handle = received["ReceiptHandle"]
        return before is None

    def _take(self, received: dict[str, str]) -> bool:
        message = _Message(received["ReceiptHandle"])
        self._messages[received["MessageId"]] = message
        try:
            message.objects = announced(received["Body"])
        except NotUnderstood:
            message.kept = True
        return not message.kept

    def _not_understood(self, bad: Sequence[str]) -> Iterator[Unreadable]:
        for name in bad[:_BATCH]:
            reason = f"message {name} is no notification about objects of S3; it stays in the queue"
            yield Unreadable(self.queue, reason, self.queue, REFUSED)
        if len(bad) > _BATCH:
            reason = f"{len(bad) - _BATCH:,} more messages are no notifications"
            yield Unreadable(self.queue, reason, self.queue, REFUSED)

    def _keep(self) -> None:
        """Prolongs the timeouts; if that fails, others may see the messages, and the ledger stops the second copy."""
        while not self._ended.wait(HELD / 3):
            with suppress(Exception):
                self._hide(HELD)

    def _hide(self, seconds: int) -> None:
        with self._lock:
            held = [(name, message.handle) for name, message in self._messages.items()]
        self._in_batches(
            "change_message_visibility_batch",
            [{"Id": name, "ReceiptHandle": handle, "VisibilityTimeout": seconds} for name, handle in held],
        )

    def _delete(self, names: Sequence[str]) -> None:
        with self._lock:
            handles = [(name, self._messages.pop(name).handle) for name in names]
        self._in_batches("delete_message_batch", [{"Id": name, "ReceiptHandle": handle} for name, handle in handles])

    def _in_batches(self, call: str, entries: Sequence[dict[str, object]]) -> None:
        parts = [entries[at : at + _BATCH] for at in range(0, len(entries), _BATCH)]
        if len(parts) <= _AT_ONCE:
            for part in parts:
                self._ask(call, Entries=part)
        else:
            with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="sqs") as pool:
                list(pool.map(lambda part: self._ask(call, Entries=part), parts))

    def _ask(self, call: str, **request: object) -> dict[str, Any]:
        return ask(self.client, self.queue, call, **request)


def ask(client: Any, queue: str, call: str, **request: object) -> dict[str, Any]:
    """One request to a queue; SourceError when it fails."""
    try:
        answer: dict[str, Any] = getattr(client, call)(QueueUrl=queue, **request)
        return answer
    except SourceError:
        raise
    except Exception as error:
        raise told(error, queue) from None
