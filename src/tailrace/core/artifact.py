"""Artifacts: the files and objects that a source lists."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime


@dataclass(frozen=True, slots=True)
class Resume:
    """Where an earlier reading of a growing file ended, and what the next one has to know."""

    offset: int
    "Bytes, after decompression, that have been read and committed; a record begins here."
    fingerprint: str
    "Of the bytes before it."
    ruling: bytes = b""
    "Header lines that rule the records from here on."
    packed: bool = False
    "The file was compressed since: all of it has to be read."


NOTHING_MORE = Resume(1 << 62, "")
"All that an artifact holds has been read."


@dataclass(frozen=True, slots=True)
class Artifact:
    """One file or object: enough to open it, to know it again, and to place it in time."""

    uri: str
    "Canonical and stable: `file:///var/log/a.log`, `s3://bucket/key`. Identity of its rows, unless it has another."
    size: int
    "Bytes as stored (compressed)."
    version: str
    "Changes when the content changes: an ETag, or size and mtime of a local file."
    source_type: str
    "Kind of source: `file`, `aws_s3_bucket`."
    source_name: str | None = None
    location: str = ""
    "Path or key shown to people (tp_source_location)."
    day: date | None = None
    "The day its path names; None when that is known only after opening."
    hour: int | None = None
    fields: tuple[tuple[str, str], ...] = ()
    "What `file_layout` captured."
    modified: datetime | None = None
    "When it was last written, UTC: tells the year of lines that leave it out."
    node: str | None = None
    "Of a local file: its number in the file system, which stays when it is renamed."
    identity: str | None = None
    "Of a local file that was renamed, or took the place of another: what its rows are known by instead of the URI."
    resume: Resume | None = None
    "Only what lies behind is to be read; None: all of it."

    @property
    def key(self) -> str:
        """What the ledger and the ids of its rows know it by."""
        return self.identity or self.uri

    @property
    def unread(self) -> int:
        """Bytes to read."""
        if self.resume is None or self.resume.packed:
            return self.size
        return max(self.size - self.resume.offset, 0)
