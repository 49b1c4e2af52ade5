"""Log records with what stands around them → columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.formats.base import RAW_LIMIT, Bad
from tailrace.formats.fit import Texts
from tailrace.formats.otlp_values import SEVERITIES, LogRecord, attributes_text, body_text, hexadecimal

GROUP_FIELDS = (
    "resource_attributes", "resource_dropped_attributes_count", "resource_schema_url",
    "scope_name", "scope_version", "scope_attributes", "scope_dropped_attributes_count", "scope_schema_url",
    "service_name", "service_namespace", "service_instance_id", "host_name",
)  # fmt: skip
NAMED_ATTRIBUTES = {
    "service_name": "service.name",
    "service_namespace": "service.namespace",
    "service_instance_id": "service.instance.id",
    "host_name": "host.name",
}
"Fields made from attributes of the resource, so that they need not be looked up in every row."
RECORD_FIELDS = (
    "time_unix_nano", "observed_time_unix_nano", "severity_number", "severity_text", "body", "attributes",
    "dropped_attributes_count", "flags", "trace_id", "span_id", "event_name",
)  # fmt: skip
FIELDS = (*RECORD_FIELDS, *GROUP_FIELDS)
DOCUMENTS = ("attributes", "resource_attributes", "scope_attributes")
Texted = dict[str, str]


@dataclass(frozen=True, slots=True)
class Group:
    """What the records of a resource and scope share: fields, texts that fit none, and JSON that has none."""

    fields: dict[str, Any]
    misfits: Texted
    beside: Texted

    def joined(self, other: Group) -> Group:
        return Group(self.fields | other.fields, self.misfits | other.misfits, self.beside | other.beside)


@dataclass(slots=True)
class Rows:
    """Fields of records as arrays, what fits no field, and what is no record. Positions are counted by the reader."""

    size: int
    fields: Texts
    misfits: Texts
    beside: Texts
    raw: Callable[[int], bytes]
    bad: list[Bad]
    skipped: int = 0


@dataclass(slots=True)
class Records:
    """Records as they are found in JSON."""

    records: list[LogRecord] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    bad: list[Bad] = field(default_factory=list)
    skipped: int = 0

    def add(self, group: Group, records: Sequence[LogRecord]) -> None:
        if records:
            self.records += records
            self.groups.append(group)
            self.counts.append(len(records))

    def append(self, other: Records) -> None:
        """Takes the others' records behind its own."""
        self.records += other.records
        self.groups += other.groups
        self.counts += other.counts
        self.bad += other.bad
        self.skipped += other.skipped

    def refuse(self, raw: bytes, reason: str, length: int | None = None) -> None:
        self.bad.append(Bad(len(self.bad), raw[:RAW_LIMIT], len(raw) if length is None else length, reason))

    def rows(self) -> Rows:
        """All of them as arrays."""
        records = self.records
        misfits: dict[str, dict[int, str]] = {}
        fields: Texts = {
            "time_unix_nano": _moments([r.time_unix_nano for r in records]),
            "observed_time_unix_nano": _moments([r.observed_time_unix_nano for r in records]),
            "severity_number": _numbers([_severity(r.severity_number) for r in records]),
            "severity_text": pa.array([r.severity_text or None for r in records], pa.string()),
            "body": pa.array([body_text(r.body) for r in records], pa.string()),
            "attributes": _documents([attributes_text(r.attributes) for r in records]),
            "dropped_attributes_count": _numbers([r.dropped_attributes_count for r in records]),
            "flags": _numbers([r.flags for r in records]),
            "trace_id": _ids([r.trace_id for r in records], 16, misfits.setdefault("trace_id", {})),
            "span_id": _ids([r.span_id for r in records], 8, misfits.setdefault("span_id", {})),
            "event_name": pa.array([r.event_name or None for r in records], pa.string()),
        }
        owners = np.repeat(np.arange(len(self.groups)), self.counts)
        fields |= group_fields([g.fields for g in self.groups], owners)
        told = {name: _sparse(texts, len(records)) for name, texts in misfits.items() if texts}
        told |= _spread([g.misfits for g in self.groups], owners)
        beside = _spread([g.beside for g in self.groups], owners)
        raw = lambda row: msgspec.json.encode(records[row])  # noqa: E731
        return Rows(len(records), fields, told, beside, raw, self.bad, self.skipped)


def group_fields(groups: Sequence[dict[str, Any]], owners: np.ndarray[Any, np.dtype[np.int64]]) -> Texts:
    """Fields of groups, repeated for their rows."""
    places = pa.array(owners, pa.int64())
    told = [g | named(g.get("resource_attributes")) for g in groups]
    return {name: pa.array([g.get(name) for g in told], pa.string()).take(places) for name in GROUP_FIELDS}


def named(attributes: str | None) -> dict[str, str]:
    """Fields that stand among the attributes of a resource."""
    if not attributes:
        return {}
    found = msgspec.json.decode(attributes)
    return {name: str(found[key]) for name, key in NAMED_ATTRIBUTES.items() if found.get(key) is not None}


def _spread(groups: Sequence[Texted], owners: np.ndarray[Any, np.dtype[np.int64]]) -> Texts:
    names = dict.fromkeys(name for group in groups for name in group)
    places = pa.array(owners, pa.int64())
    return {name: pa.array([g.get(name) for g in groups], pa.string()).take(places) for name in names}


def _sparse(texts: dict[int, str], size: int) -> pa.Array:
    return pa.array([texts.get(row) for row in range(size)], pa.string())


def _severity(value: int | str | None) -> int | str | None:
    return (SEVERITIES.get(value, value) if isinstance(value, str) else value) or None


def _moments(values: list[Any]) -> pa.Array:
    """Nanoseconds; zero means unknown."""
    return _numbers([None if value in (0, "0", "") else value for value in values])


def _numbers(values: list[Any]) -> pa.Array:
    """Whole numbers; the texts themselves where one is none."""
    if values.count(None) == len(values):
        return pa.nulls(len(values), pa.int64())
    for texts in (values, [value if value is None else str(value) for value in values]):
        try:
            return pa.array(texts, pa.string()).cast(pa.int64())
        except (pa.ArrowTypeError, pa.ArrowInvalid):
            continue
    return pa.array(texts, pa.string())


def _documents(texts: list[bytes | None]) -> pa.Array:
    return pa.array(texts, pa.binary()).cast(pa.string())


def _ids(given: list[str | None], size: int, misfits: dict[int, str]) -> pa.Array:
    """Ids in hexadecimal; those that are written otherwise one by one."""
    texts = pc.ascii_lower(pa.array(given, pa.string()))
    right = pc.match_substring_regex(texts, f"^[0-9a-f]{{{2 * size}}}$").fill_null(False)
    right = pc.and_(right, pc.not_equal(texts, "0" * 2 * size).fill_null(False))
    ids = pc.if_else(right, texts, pa.scalar(None, pa.string()))
    others = [row for row in pc.indices_nonzero(pc.invert(right)).to_pylist() if given[row]]
    if not others:
        return ids
    found: dict[int, str] = {}
    for row in others:
        try:
            found[row] = hexadecimal(given[row], size) or ""
        except ValueError:
            misfits[row] = str(given[row])
    told = _sparse({row: text for row, text in found.items() if text}, len(given))
    return pc.coalesce(ids, told)
