"""Artifacts: the files and objects that a source lists."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime


@dataclass(frozen=True, slots=True)
class Artifact:
    """One file or object: enough to open it, to know it again, and to place it in time."""

    uri: str
    "Canonical and stable: `file:///var/log/a.log`, `s3://bucket/key`. Identity of its rows."
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
