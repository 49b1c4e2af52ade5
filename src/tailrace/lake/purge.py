"""Quarantined records that nobody wants any more: taken out in one commit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.lake.commit import Change
from tailrace.lake.ledger import Entry
from tailrace.lake.paths import Lake
from tailrace.lake.quarantine import Page, of_artifacts, owned, pages, read_file, write_quarantine
from tailrace.lake.removal import entries_of
from tailrace.lake.sought import Sought
from tailrace.lake.undo import changing

PURGE = "purge"


@dataclass(frozen=True, slots=True)
class Purged:
    """What was taken out."""

    records: int
    version: int
    "Of the table, before."


def purge(lake: Lake, table: str, partition: str, sought: Sought) -> Purged:
    """Take records out of the quarantine; the caller holds the partition's lock."""
    with changing(lake, table, partition) as writer:
        before, ledger = writer.version, writer.ledger()
        gone = Counter(_refused(pages(lake, table, partition, ledger), sought))
        if gone:
            touched = {uri for uri, _ in gone}
            lifted, written = _rewritten(pages(lake, table, partition, ledger), sought, touched, writer.run)
            entries = [_without(entry, gone[entry.key, True]) for entry in entries_of(ledger, touched)]
            writer.commit(Change(entries, quarantine=written, lifted=lifted, kind=PURGE))
    return Purged(gone.total(), before)


def _rewritten(found: Iterator[Page], sought: Sought, touched: set[str], run: str) -> tuple[list[str], list[str]]:
    """Names of the files that hold no longer, and of those with what stays of them."""
    lifted: list[str] = []
    written: list[str] = []
    for page in found:
        if not (page.holds & of_artifacts(page.rows, touched)).any():
            continue
        lifted.append(page.name)
        stays = page.holds & ~sought.mask(page.rows)
        if stays.any():
            written.append(f"{run}-purge-{len(written)}.parquet")
            rows = read_file(page.place, page.name).filter(pa.array(stays))
            write_quarantine(page.place, written[-1], owned(rows, touched, run))
    return lifted, written


def _without(entry: Entry, records: int) -> Entry:
    return replace(entry, quarantined=max(entry.quarantined - records, 0))


def _refused(found: Iterator[Page], sought: Sought) -> Iterator[tuple[str, bool]]:
    """Per record that is meant: its artifact, and whether it is one of its records and not all of it."""
    for page in found:
        rows = page.rows.filter(pa.array(page.holds & sought.mask(page.rows)))
        inner = pc.greater_equal(rows.column("position"), 0).to_pylist()
        yield from zip(rows.column("uri").to_pylist(), inner, strict=True)
