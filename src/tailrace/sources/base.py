"""What every source offers: artifacts of a time range, and their bytes."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import BinaryIO, ClassVar, Protocol, runtime_checkable

from tailrace.config.model import ConnectionSpec, Location
from tailrace.core import Artifact, SourceError, TimeRange
from tailrace.core.errors import DENIED as DENIED
from tailrace.core.errors import GONE as GONE
from tailrace.core.errors import IO as IO

SPECIAL = "source.special"
REFUSED = "source.refused"
TRANSIENT = frozenset({IO})
"Codes after which trying again may help; the others stay true until somebody acts."

_CODES = {
    errno.ENOENT: GONE,
    errno.ENOTDIR: GONE,
    errno.ELOOP: GONE,
    errno.ENAMETOOLONG: GONE,
    errno.EACCES: DENIED,
    errno.EPERM: DENIED,
    errno.EISDIR: SPECIAL,
    errno.ENXIO: SPECIAL,
}


@dataclass(frozen=True, slots=True)
class Given:
    """What a `source` block says."""

    args: Mapping[str, object]
    connection: ConnectionSpec | None = None
    "Its secrets are wrapped: they are revealed where a request is made, and nowhere else."
    locations: tuple[Location, ...] = ()
    "Containers and prefixes, for kinds that list remote objects."


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Something that should be collected and cannot be: reported, and the rest goes on."""

    location: str
    reason: str
    uri: str
    code: str = IO
    hides: TimeRange | None = None
    "Days of artifacts that may lie behind it, `TimeRange()` for all; None: it is one thing, and hides no other."

    @property
    def transient(self) -> bool:
        return self.code in TRANSIENT


@dataclass(frozen=True, slots=True)
class Skipped:
    """How many files were passed over on purpose, why, and one of them; comes last, once per reason."""

    reason: str
    "`layout`: the path does not match `file_layout`; `name`: hidden, temporary or an editor's copy."
    count: int
    example: str


Found = Artifact | Unreadable | Skipped


class Source(Protocol):
    """A place that holds artifacts; made from plain values: it is sent to the tasks that open them."""

    @property
    def kind(self) -> str: ...

    @property
    def late(self) -> timedelta | None:
        """How long after its day an artifact may still appear; None: listing is cheap, and is always done whole."""
        ...

    def discover(self, window: TimeRange) -> Iterator[Found]:
        """Artifacts that may hold rows of the window, in a stable order, and what could not be listed."""
        ...

    def open(self, artifact: Artifact) -> BinaryIO:
        """The artifact's bytes as stored; SourceError `source.gone`, `.denied`, `.special` or `.io`."""
        ...


class Asked:
    """A source that makes its artifacts when asked: opening one twice costs twice, and may cost money."""

    __slots__ = ()
    late: ClassVar[timedelta | None] = None


@runtime_checkable
class Continuing(Protocol):
    """A source whose artifacts begin where others ended, so that it has to be told which there are."""

    def after(self, uris: Iterable[str]) -> Source:
        """The same source, for listing, when those artifacts are known."""
        ...


class Delivery(Protocol):
    """Artifacts handed out until somebody says that they are stored; a context manager: its end gives back the rest."""

    def discover(self, window: TimeRange) -> Iterator[Found]:
        """What was handed out and may hold rows of the window."""
        ...

    def stored(self, uris: Iterable[str]) -> None:
        """These have been committed and need not be handed out again; SourceError when that cannot be told."""
        ...

    def __enter__(self) -> Delivery: ...

    def __exit__(self, *_: object) -> None: ...


@runtime_checkable
class Delivering(Protocol):
    """A source that announces what is new, and is told when it is stored. `discover` still lists all there is."""

    def delivery(self) -> Delivery:
        """Nothing is taken before it is entered."""
        ...

    def waiting(self) -> str:
        """What would be handed out, in words; takes nothing."""
        ...


def is_transient(error: SourceError) -> bool:
    """May the same call succeed a moment later?"""
    return error.code in TRANSIENT


def os_code(error: OSError) -> str:
    """The source code of an error of the operating system."""
    return _CODES.get(error.errno or 0, IO)


def os_reason(error: OSError) -> str:
    """The error in the system's own words, without number and path."""
    return (error.strerror or str(error) or type(error).__name__).lower()
