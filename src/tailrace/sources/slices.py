"""Time cut into slices: what a service is asked for at once is an artifact.

A slice that ended long enough ago is read once. One that goes on, or whose late events may still come, has the moment
of asking as its version: it is asked for again, and its rows are replaced in one commit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, urlencode

from tailrace.config.functions import duration
from tailrace.core import Artifact, ConfigError, TimeRange
from tailrace.sources.base import DENIED, Found, Unreadable

Pairs = tuple[tuple[str, str], ...]
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
LOOK_BACK = 30 * DAY
_WHOLE = "whole"
_EPOCH = datetime(1970, 1, 1)
_STAMP = "%Y-%m-%dT%H:%M:%SZ"


class Slice(NamedTuple):
    """[start, end) in UTC without zone."""

    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class Slicing:
    """How time is cut."""

    length: timedelta = HOUR
    settle: timedelta = HOUR
    "How long after its end a slice may still get events."
    keeps: timedelta | None = None
    "How far back the service remembers."

    def slices(self, window: TimeRange, now: datetime) -> Iterator[Slice]:
        """Whole slices that touch the window and have begun, newest first."""
        end = min(window.end or now, now)
        start = window.start or end - LOOK_BACK
        if self.keeps:
            start = max(start, now - self.keeps)
        first = self._begin(start)
        begin = self._begin(end - timedelta(microseconds=1))
        while begin >= first:
            yield Slice(begin, begin + self.length)
            begin -= self.length

    def version(self, piece: Slice, now: datetime) -> str:
        return _WHOLE if piece.end + self.settle <= now else _told(now)

    def _begin(self, moment: datetime) -> datetime:
        return _EPOCH + (moment - _EPOCH) // self.length * self.length


HOURLY = Slicing()
DAILY = Slicing(DAY)


def slicing_of(args: Mapping[str, object], usual: Slicing) -> Slicing:
    """As the arguments `slice` and `settle` say."""
    length, settle = (args.get(name) for name in ("slice", "settle"))
    slicing = Slicing(
        duration(length) if isinstance(length, str) else usual.length,
        duration(settle) if isinstance(settle, str) else usual.settle,
        usual.keeps,
    )
    if slicing.length < timedelta(minutes=1) or DAY % slicing.length:
        raise ConfigError(
            "`slice` must be a minute or more, and days must be made of whole slices",
            code="config.bad-argument",
            hint='slice = "1h"',
        )
    return slicing


def sliced(kind: str, address: str, asked: Pairs, slicing: Slicing, window: TimeRange) -> Iterator[Found]:
    """An artifact per slice; `asked` is what else decides on the answer, and so belongs to its name."""
    now = utc_now()
    oldest = now - slicing.keeps if slicing.keeps else None
    if oldest and window.start and window.start < oldest:
        reason = f"the service remembers {slicing.keeps} at most: nothing before {stamp(oldest)} can be asked for"
        yield Unreadable(named(address, asked), reason, named(address, asked), DENIED)
    for piece in slicing.slices(window, now):
        uri = named(address, (*asked, ("from", stamp(piece.start)), ("to", stamp(piece.end))))
        hour = piece.start.hour if slicing.length <= HOUR else None
        version = slicing.version(piece, now)
        yield Artifact(uri, 0, version, kind, location=uri, day=piece.start.date(), hour=hour)


def undated(kind: str, uri: str) -> Artifact:
    """What cannot be asked for by time: everything, every time; its rows replace those of the run before."""
    now = utc_now()
    return Artifact(uri, 0, _told(now), kind, location=uri, modified=now)


def named(address: str, asked: Pairs) -> str:
    """A URI; it never holds credentials."""
    return f"{address}?{urlencode(asked, quote_via=quote, safe=':,/')}" if asked else address


def is_slice(artifact: Artifact) -> bool:
    """Was it a slice that was over when it was listed?"""
    return artifact.version == _WHOLE and artifact.day is not None


def slice_of(artifact: Artifact) -> Slice | None:
    """The slice that the artifact is; None when it is no slice."""
    told = dict(parse_qsl(artifact.uri.rpartition("?")[2])[-2:])
    if told.keys() != {"from", "to"}:
        return None
    return Slice(*(datetime.strptime(told[name], _STAMP) for name in ("from", "to")))


def stamp(moment: datetime) -> str:
    return moment.strftime(_STAMP)


def _told(moment: datetime) -> str:
    """Exact: two runs in a second are two."""
    return f"{moment.isoformat()}Z"


def utc_now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)
