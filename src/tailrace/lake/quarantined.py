"""What the quarantine holds, for lists: records counted in groups, or one by one with their bytes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tailrace.lake.intents import read_ledger
from tailrace.lake.paths import Lake
from tailrace.lake.place import Place
from tailrace.lake.quarantine import Page, by_value, pages, read_file, record_ids
from tailrace.lake.sought import Sought

EXAMPLES = 200
"Groups of which an example is shown: each costs a look into a file."
SHORT = 100
"Characters of an example."
_CONTROL = frozenset(map(chr, range(32))) - {"\t", "\n", "\r"}
_UNREAD = re.compile(r"(?<=^row: no timestamp \()'.*?'(?= in \S+ is n)", re.DOTALL)
"A value that is no time."
_VALUE = re.compile(r"""(['"]).*?\1""", re.DOTALL)
Spot = tuple[Place, str, int]
"A quarantine file, and a row of it."
Row = dict[str, object]
Numbers = npt.NDArray[np.intp]


@dataclass(slots=True)
class Group:
    """Records that are counted together."""

    records: int = 0
    bytes: int = 0
    first: datetime | None = None
    last: datetime | None = None
    reasons: dict[str, int] = field(default_factory=dict)
    artifacts: set[str] = field(default_factory=set)
    example: Spot | None = None


def found_pages(lake: Lake, name: str, sought: Sought) -> Iterator[tuple[Page, Numbers]]:
    """Quarantine files of a partition, each with the numbers of the rows that are meant."""
    table, _, partition = name.partition(".")
    for page in pages(lake, table, partition, read_ledger(lake, table, partition)):
        yield page, np.flatnonzero(page.holds & sought.mask(page.rows))


def grouped(lake: Lake, names: Iterable[str], sought: Sought, by: str | None) -> list[Row]:
    """A row per partition, or per reason, artifact or day of it, the largest first."""
    groups: dict[tuple[str, str], Group] = {}
    for name in names:
        for page, numbers in found_pages(lake, name, sought):
            rows = _generally(page.rows.take(pa.array(numbers)))
            for key, part in _parts(rows, by):
                _add(
                    groups.setdefault((name, key), Group()),
                    rows.take(pa.array(part)),
                    (page.place, page.name, int(numbers[part[0]])),
                )
    ordered = sorted(
        groups.items(), key=lambda item: (item[0][0], *((item[0][1],) if by == "day" else (-item[1].records,)))
    )
    examples = _bytes_of([group.example for _, group in ordered[:EXAMPLES] if group.example])
    return [_row(name, key, by, group, examples) for (name, key), group in ordered]


def general(reason: str) -> str:
    """The reason without the value that a record happens to have: a `*` stands for it, as `--reason` takes it."""
    if " Error: " in reason:  # of an expression, in the words of the engine
        return _VALUE.sub(lambda found: f"{found[1]}*{found[1]}", reason)
    return _UNREAD.sub("'*'", reason, count=1)


def _generally(rows: pa.Table) -> pa.Table:
    values, number = by_value(rows, "reason")
    reasons = pa.array([reason and general(reason) for (reason,) in values], pa.string())
    return rows.set_column(rows.schema.get_field_index("reason"), "reason", reasons.take(pa.array(number)))


def _parts(rows: pa.Table, by: str | None) -> Iterator[tuple[str, Numbers]]:
    if not rows.num_rows:
        return
    column = {"reason": "reason", "artifact": "location"}.get(by or "", "table")
    if by == "day":
        days = rows.column("ingested_at").cast(pa.date32()).cast(pa.string())
        rows = rows.set_column(rows.schema.get_field_index("table"), "table", days)
    values, number = by_value(rows, column)
    for which, (value,) in enumerate(values):
        yield str(value), np.flatnonzero(number == which)


def _add(group: Group, rows: pa.Table, example: Spot) -> None:
    group.records += rows.num_rows
    group.bytes += int(rows.column("length").fill_null(0).to_numpy().sum())
    times = rows.column("ingested_at").to_numpy()
    first, last = (t.astype("datetime64[us]").item() for t in (times.min(), times.max()))
    group.first = first if group.first is None else min(group.first, first)
    group.last = last if group.last is None else max(group.last, last)
    values, number = by_value(rows, "reason", "location")
    for (reason, location), count in zip(values, np.bincount(number).tolist(), strict=True):
        group.reasons[str(reason)] = group.reasons.get(str(reason), 0) + count
        group.artifacts.add(str(location))
    group.example = group.example or example


def _row(name: str, key: str, by: str | None, group: Group, examples: dict[Spot, bytes]) -> Row:
    most = max(group.reasons, key=lambda reason: group.reasons[reason])
    raw = examples.get(group.example) if group.example else None
    example = None if raw is None else as_text(raw)[0][:SHORT]
    return {
        "partition": name,
        **({} if by in (None, "reason") else {by: key}),
        "records": group.records,
        "size": group.bytes,
        "artifacts": len(group.artifacts),
        "reasons": len(group.reasons),
        "first": _to_second(group.first),
        "last": _to_second(group.last),
        "reason": most,
        "example": example,
    }


def _to_second(moment: datetime | None) -> datetime | None:
    return moment and moment.replace(microsecond=0)


def records(lake: Lake, names: Iterable[str], sought: Sought, limit: int | None) -> tuple[list[Row], int]:
    """Records with their bytes, oldest first, and how many there are in all."""
    shown: list[Row] = []
    total = 0
    for name in names:
        for page, numbers in found_pages(lake, name, sought):
            total += len(numbers)
            some = numbers if limit is None else numbers[: max(limit - len(shown), 0)]
            if len(some):
                rows = read_file(page.place, page.name).take(pa.array(some))
                ids = record_ids(rows).to_pylist()
                shown += [_record(name, id, row) for id, row in zip(ids, rows.to_pylist(), strict=True)]
    return shown, total


def _record(name: str, id: str, row: Row) -> Row:
    raw = row["raw"] if isinstance(row["raw"], bytes) else b""
    text, form = as_text(raw)
    return {
        "id": id,
        "partition": name,
        "location": row["location"],
        "member": row["member"],
        "position": row["position"],
        "reason": row["reason"],
        "quarantined": row["ingested_at"],
        "length": row["length"],
        "kept": len(raw),
        "form": form,
        "raw": text,
    }


def as_text(raw: bytes) -> tuple[str, str]:
    """Bytes as they can be shown, and how: `text`, `escaped` (what is no UTF-8 as \\xNN) or `hex`."""
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        text = raw.decode(errors="backslashreplace")
        strange = text.count("\\x") - raw.count(b"\\x")
        return (text, "escaped") if strange * 3 < len(raw) and _CONTROL.isdisjoint(text) else (raw.hex(), "hex")
    return (text, "text") if _CONTROL.isdisjoint(text) else (raw.hex(), "hex")


def _bytes_of(spots: list[Spot]) -> dict[Spot, bytes]:
    """The bytes of records, file by file."""
    files: dict[tuple[Place, str], list[int]] = {}
    for place, name, row in spots:
        files.setdefault((place, name), []).append(row)
    found: dict[Spot, bytes] = {}
    for (place, name), rows in files.items():
        raws = read_file(place, name, ("raw",)).column("raw")
        found |= {(place, name, row): raws[row].as_py() for row in rows}
    return found
