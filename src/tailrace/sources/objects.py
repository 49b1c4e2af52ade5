"""Sources that list and read objects of a bucket or container.

The layout is matched against the key below the prefix, else below a directory on the way to it, so that
`s3://bucket/AWSLogs/*` and the layout `AWSLogs/…` fit together.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, BinaryIO, Protocol, cast
from urllib.parse import quote, unquote

from tailrace.clouds.errors import told, told_of_listing
from tailrace.config.model import Location
from tailrace.core import Artifact, ConfigError, SourceError, TimeRange
from tailrace.sources.base import SPECIAL, Found, Given, Skipped, Unreadable
from tailrace.sources.buckets import Bucket, Entry, ObstoreBucket, OddName, is_exact
from tailrace.sources.key_ranges import starting_with
from tailrace.sources.layout import Layout, PathMatch, layout_given
from tailrace.sources.object_listing import Listing
from tailrace.sources.object_reader import ObjectReader

if TYPE_CHECKING:
    from obstore.store import ObjectStore

SAFE = "/=:+,@"
"What stays as it is in a URI; `!` does not, because it sets off members of archives."
_SHARED = 10_000


class Access(Protocol):
    """How to reach the containers of a service. Plain values: it travels to the tasks, its secrets still wrapped."""

    @property
    def scheme(self) -> str: ...

    def store(self, container: str) -> ObjectStore:
        """A client, kept for the life of the process."""
        ...

    def exact_bucket(self, container: str) -> Bucket | None:
        """A second client for keys that obstore cannot tell exactly."""
        ...

    def exact_open(self, container: str, key: str, location: str) -> BinaryIO | None: ...


@dataclass(frozen=True, slots=True)
class ObjectSource:
    """Objects of one or several locations."""

    kind: str
    places: tuple[Location, ...]
    access: Access
    layout: Layout | None = None
    late: timedelta = timedelta(days=7)
    "Services deliver within hours, and catch up after days when something broke."
    requests_at_once: int = 32
    "How many small artifacts may be fetched ahead."

    def discover(self, window: TimeRange) -> Iterator[Found]:
        skipped: dict[str, tuple[int, str]] = {}
        for place in self.places:
            yield from self._discover(place, window, skipped)
        yield from (Skipped(reason, count, example) for reason, (count, example) in skipped.items())

    def open(self, artifact: Artifact) -> BinaryIO:
        """The object's bytes in blocks; what breaks on the way is taken up again."""
        container, key = self._place_of(artifact.uri)
        if not artifact.size:
            return io.BytesIO()
        try:
            if not is_exact(key):
                opened = self.access.exact_open(container, key, artifact.location)
                if opened is None:
                    raise SourceError("has a name that cannot be asked for", code=SPECIAL, where=artifact.location)
                return opened
            store = self.access.store(container)
        except SourceError:
            raise
        except Exception as error:
            reason, code = told(error)
            raise SourceError(f"cannot be read: {reason}", code=code, where=artifact.location) from None
        return cast(BinaryIO, ObjectReader(store, key, artifact))

    def fetch(self, artifact: Artifact) -> BinaryIO:
        """A small object as a whole, with one request."""
        with self.open(artifact) as opened:
            return io.BytesIO(opened.read())

    def reachable(self) -> Iterator[tuple[str, str | None]]:
        """Asks for the first page of every place."""
        for place in self.places:
            problem = None
            try:
                next(ObstoreBucket(self.access.store(place.container)).pages(starting_with(place.prefix)), None)
            except OddName:
                pass  # it answered
            except SourceError as error:
                problem = error.message
            except Exception as error:
                problem = f"cannot be listed: {told_of_listing(error)[0]}"
            yield f"{self._root(place.container)}{place.prefix}", problem

    def _discover(self, place: Location, window: TimeRange, skipped: dict[str, tuple[int, str]]) -> Iterator[Found]:
        root = self._root(place.container)
        try:
            bucket = ObstoreBucket(self.access.store(place.container))
        except SourceError as error:
            yield Unreadable(f"{root}{place.prefix}", error.message, root, error.code, TimeRange())
            return
        shared: dict[PathMatch, PathMatch] = {}
        listing = Listing(bucket, lambda: self.access.exact_bucket(place.container), place, self.layout, root)
        for entry in listing.entries(window):
            if isinstance(entry, Unreadable):
                yield entry
                continue
            match = listing.match(entry.key)
            if match is None:
                count, example = skipped.get("layout", (0, entry.key))
                skipped["layout"] = (count + 1, example)
            elif match.meets(window):
                # Objects of one directory mostly tell the same: a hundred thousand need not each keep their own.
                if len(shared) < _SHARED:
                    match = shared.setdefault(match, match)
                yield self._artifact(place.container, entry, match)

    def _root(self, container: str) -> str:
        return f"{self.access.scheme}://{container}/"

    def _place_of(self, uri: str) -> tuple[str, str]:
        """Container and key: the container has as many segments as those of the source."""
        rest = uri.partition("://")[2]
        container = next(p.container for p in self.places if rest.startswith(f"{p.container}/"))
        return container, unquote(rest[len(container) + 1 :])

    def _artifact(self, container: str, entry: Entry, match: PathMatch) -> Artifact:
        return Artifact(
            uri=self._root(container) + quote(entry.key, safe=SAFE),
            size=entry.size,
            version=entry.version,
            source_type=self.kind,
            source_name=container,
            location=entry.key,
            day=match.day,
            hour=match.hour,
            fields=match.fields,
            modified=entry.modified,
        )


def object_source(kind: str, given: Given, access: Access) -> ObjectSource:
    """The source that a block describes; ConfigError when its layout or patterns are wrong."""
    bucket, prefix = given.args.get("bucket"), given.args.get("prefix", "")
    named = (Location(str(bucket), str(prefix), "*"),) if bucket else ()
    if not given.locations and not named:
        raise ConfigError(f"source '{kind}' names no place to list", code="config.bad-argument")
    return ObjectSource(kind, given.locations or named, access, layout_given(given.args))
