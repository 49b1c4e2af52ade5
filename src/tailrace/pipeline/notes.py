"""What the ledger says of a local file after it was read, read on, could not be read, or was renamed."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from tailrace.core import Artifact, Resume
from tailrace.lake.ledger import Entry
from tailrace.pipeline.job import Mark

_SUMS = ("rows", "received", "quarantined", "filtered", "out_of_range", "duplicates")
_PLACES = ("rows", "dates", "members", "offset", "fingerprint", "lines", "ruling", "duplicates")


def marked(entry: Entry, mark: Mark) -> Entry:
    """With what is remembered of the bytes."""
    return replace(
        entry,
        version=mark.version,
        node=mark.node,
        offset=mark.offset,
        fingerprint=mark.fingerprint,
        lines=mark.lines,
        ruling=mark.ruling or None,
    )


def after_failure(entry: Entry, before: Entry) -> Entry:
    """The earlier version's rows stay until a good one replaces them: remember where they are."""
    return replace(entry, **{name: getattr(before, name) for name in _PLACES})


def read_on(entry: Entry, before: Entry, resume: Resume) -> Entry:
    """What was read before, and more."""
    sums = {name: getattr(before, name) + getattr(entry, name) for name in _SUMS}
    dates = tuple(sorted({*before.dates, *entry.dates}))
    return replace(entry, **sums, dates=dates, generation=before.generation, resumed=resume.offset)


def moved(entry: Entry, artifact: Artifact, now: datetime) -> Entry:
    """The same rows, of a file that lies elsewhere now."""
    identity = entry.key if entry.key != artifact.uri else None
    return replace(
        entry,
        uri=artifact.uri,
        identity=identity,
        version=artifact.version if artifact.unread == 0 else entry.version,
        node=artifact.node,
        at=now,
        resumed=entry.offset or entry.size,
    )
