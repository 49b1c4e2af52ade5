"""Source `aws_cloudwatch_log_group`: events of log groups, by slices of time. Each message is a line.

Streams that are named exactly are asked for together, a hundred at a time; a prefix is left to the service; any other
wildcard is matched against the streams that have events in the slice.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any, BinaryIO, ClassVar
from urllib.parse import quote

from tailrace.config.model import ConnectionSpec, Location
from tailrace.core import Artifact, ConfigError, SourceError, TimeRange
from tailrace.core.errors import one_line
from tailrace.sources.aws_session import client, told
from tailrace.sources.base import Asked, Found, Given
from tailrace.sources.credentials import text_of
from tailrace.sources.slices import HOURLY, Pairs, Slice, Slicing, slice_of, sliced, slicing_of
from tailrace.sources.streaming import as_line, streamed

_EPOCH = datetime(1970, 1, 1)
_MOST_STREAMS = 100
"So many names does a request take."
_WILD = frozenset("*?[")
_TOLD_LATE = 2 * 24 * 3600 * 1000


@dataclass(frozen=True, slots=True)
class LogGroupSource(Asked):
    """Events of log groups."""

    kind: ClassVar[str] = "aws_cloudwatch_log_group"
    groups: tuple[tuple[str, tuple[str, ...]], ...]
    "Log groups and the names or wildcards of their streams."
    region: str | None
    connection: ConnectionSpec | None
    pattern: str = ""
    slicing: Slicing = HOURLY

    def discover(self, window: TimeRange) -> Iterator[Found]:
        for group, streams in self.groups:
            chosen = () if streams == ("*",) else (("streams", ",".join(streams)),)
            asked: Pairs = (*chosen, *((("filter_pattern", self.pattern),) if self.pattern else ()))
            yield from sliced(self.kind, self._address(group), asked, self.slicing, window)

    def open(self, artifact: Artifact) -> BinaryIO:
        piece = slice_of(artifact)
        assert piece
        for group, streams in self.groups:
            if artifact.uri.startswith(f"{self._address(group)}?"):
                return streamed(self._messages(group, streams, piece, artifact.location))
        raise SourceError("is of no log group of this source", code="source.gone", where=artifact.location)

    def _address(self, group: str) -> str:
        return f"cloudwatch://{self.region or 'default'}/{quote(group.strip('/'), safe='/')}"

    def _messages(self, group: str, streams: tuple[str, ...], piece: Slice, where: str) -> Generator[bytes]:
        try:
            logs = client("logs", self.connection, self.region)
            for request in _requests(logs, group, streams, piece):
                more = {"filterPattern": self.pattern} if self.pattern else {}
                # Not every server that speaks the protocol heeds it.
                prefix = request.get("logStreamNamePrefix", "")
                for page in logs.get_paginator("filter_log_events").paginate(**request, **more):
                    events = [e for e in page["events"] if e["logStreamName"].startswith(prefix)]
                    yield b"".join(as_line(event["message"].encode()) for event in events)
        except (SourceError, ConfigError):
            raise
        except Exception as error:
            if type(error).__module__.startswith(("botocore", "boto3", "urllib3")):
                raise told(error, where) from None
            raise SourceError(one_line(error), code="source.io", where=where) from error


def _requests(logs: Any, group: str, streams: tuple[str, ...], piece: Slice) -> Iterator[dict[str, Any]]:
    """What FilterLogEvents is asked. Both its ends belong to the range, in milliseconds."""
    begin, end = (int((moment - _EPOCH) / timedelta(milliseconds=1)) for moment in piece)
    base = {"logGroupName": group, "startTime": begin, "endTime": end - 1}
    if "*" in streams:
        yield base
        return
    names = {name for name in streams if not _WILD & set(name)}
    wild = [name for name in streams if _WILD & set(name)]
    prefixes = {name[:-1] for name in wild if not _WILD & set(name[:-1]) and name.endswith("*")}
    if len(streams) == 1 and prefixes:
        yield base | {"logStreamNamePrefix": prefixes.pop()}
        return
    names.update(name for glob in wild for name in _streams(logs, group, glob, begin))
    ordered = sorted(names)
    for at in range(0, len(ordered), _MOST_STREAMS):
        yield base | {"logStreamNames": ordered[at : at + _MOST_STREAMS]}


def _streams(logs: Any, group: str, glob: str, begin: int) -> Iterator[str]:
    fixed = glob[: next(at for at, sign in enumerate(glob) if sign in _WILD)]
    prefix = {"logStreamNamePrefix": fixed} if fixed else {}
    for page in logs.get_paginator("describe_log_streams").paginate(logGroupName=group, **prefix):
        for stream in page["logStreams"]:
            # These times are told late; a stream that was last fed days before the slice holds nothing of it.
            fed = max(stream.get("lastEventTimestamp", begin), stream.get("lastIngestionTime", begin))
            if fed >= begin - _TOLD_LATE and fnmatchcase(stream["logStreamName"], glob):
                yield stream["logStreamName"]


def make(given: Given) -> LogGroupSource:
    groups: dict[str, list[str]] = {}
    for location in given.locations or _plain(given):
        groups.setdefault(location.container, []).append(location.pattern)
    if not groups:
        raise ConfigError(
            "source 'aws_cloudwatch_log_group' needs `log_group_name`", code="config.bad-argument",
            hint='log_group_name = "/aws/cloudtrail"',
        )  # fmt: skip
    region = given.args.get("region")
    return LogGroupSource(
        groups=tuple((group, tuple(sorted(set(streams)))) for group, streams in groups.items()),
        region=region if isinstance(region, str) else text_of(given.connection, "region"),
        connection=given.connection,
        pattern=str(given.args.get("filter_pattern") or ""),
        slicing=slicing_of(given.args, HOURLY),
    )


def _plain(given: Given) -> tuple[Location, ...]:
    group, names = given.args.get("log_group_name"), given.args.get("log_stream_names")
    chosen = names if isinstance(names, (list, tuple)) and names else ("*",)
    return tuple(Location(group, "", str(name)) for name in chosen) if isinstance(group, str) and group else ()
