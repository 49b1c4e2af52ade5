"""What happens to decoded rows before they are stored: filters, redaction, samples, reduction, patterns, one after
another.

Rows keep their workspace and sender whatever happens to them. A transform that fails at a row keeps that row out of the
files, and holds up no other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

import pyarrow as pa

from tailrace.streams.shape import as_json

TEXTS = ("event_name", "source", "service", "entity")
"Columns whose text clients choose."


@dataclass(frozen=True, slots=True)
class Changed:
    """What a transform leaves of rows."""

    rows: pa.Table
    dropped: int = 0
    "Rows that it took away, as it was told to."


class Transform(Protocol):
    """One `transform` block; a value, since tasks of Spark get it as well."""

    @property
    def name(self) -> str: ...

    @property
    def keeps_secrets(self) -> bool:
        """May what it, or one before it, failed at be shown to nobody?"""
        ...

    def apply(self, kind: str, rows: pa.Table) -> Changed: ...


@runtime_checkable
class Remembering(Protocol):
    """A transform that learns from rows."""

    def remembering(self, directory: Path) -> Transform:
        """The same one, that keeps there what it learns."""
        ...


@dataclass(frozen=True, slots=True)
class Chains:
    """What happens to rows on their way into a sink: first that of their listener, by its id, then that of the sink."""

    own: tuple[Transform, ...] = ()
    of_listeners: Mapping[str, tuple[Transform, ...]] = field(default_factory=dict)

    def of(self, listener: str) -> tuple[Transform, ...]:
        return (*self.of_listeners.get(listener, ()), *self.own)


NOTHING = Chains()


@dataclass(slots=True)
class Transformed:
    """What a chain of transforms leaves."""

    rows: pa.Table
    dropped: int = 0
    failed: list[pa.Table] = field(default_factory=list)
    "Rows with the `reason` why they may not be stored."


def transform(chain: Sequence[Transform], kind: str, rows: pa.Table, memory: Path | None = None) -> Transformed:
    """All of them, in their order; what they learn is kept in `memory`."""
    if not chain or not rows.num_rows:
        return Transformed(rows)
    found = Transformed(_with_documents(rows))
    for place, one in enumerate(chain):
        parts: list[pa.Table] = []
        # Of a row that was not redacted yet nothing is shown either.
        hides = any(other.keeps_secrets for other in chain[place:])
        if memory is not None and isinstance(one, Remembering):
            one = one.remembering(memory)
        _bisect(one, kind, found.rows, parts.append, found, hides=hides)
        found.rows = pa.concat_tables(parts) if parts else found.rows.slice(0, 0)
    return found


def _bisect(
    one: Transform, kind: str, rows: pa.Table, keep: Callable[[pa.Table], None], found: Transformed, *, hides: bool
) -> None:
    """A row that it fails at is found by halves."""
    if not rows.num_rows:
        return
    try:
        changed = one.apply(kind, rows)
    except OSError:  # nothing is wrong with the rows: they wait until the disk is mended
        raise
    except Exception as error:
        if rows.num_rows == 1:
            found.failed.append(_failed(one, rows, error, hides))
            return
        half = rows.num_rows // 2
        _bisect(one, kind, rows.slice(0, half), keep, found, hides=hides)
        _bisect(one, kind, rows.slice(half), keep, found, hides=hides)
        return
    found.dropped += changed.dropped
    keep(changed.rows)


def _failed(one: Transform, rows: pa.Table, error: Exception, hides: bool) -> pa.Table:
    reason = f"transform: {one.name}: {type(error).__name__}"
    if hides:  # what could not be redacted is not shown elsewhere
        for name in ("payload", "document", *TEXTS):
            if name in rows.column_names:
                rows = set_column(rows, name, pa.array([b""]).cast(rows.schema.field(name).type))
    else:
        reason = f"{reason}: {error}"
    return rows.append_column("reason", pa.array([reason], pa.string()))


def _with_documents(rows: pa.Table) -> pa.Table:
    """Payloads as JSON, which is what transforms look at."""
    rows = rows.combine_chunks()
    payload, document = (rows[name].combine_chunks() for name in ("payload", "document"))
    return set_column(rows, "document", as_json(payload, document))


def set_column(rows: pa.Table, name: str, values: pa.Array) -> pa.Table:
    place = rows.schema.get_field_index(name)
    return rows.set_column(place, rows.schema.field(place), values)


def with_new_documents(rows: pa.Table, documents: pa.Array) -> pa.Table:
    """Rows whose payload is what a transform made of it."""
    return set_column(set_column(rows, "document", documents), "payload", documents)
