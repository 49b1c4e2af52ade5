"""OTAP tables from their files, a file of logs at a time, with the attributes that belong to it wherever they lie."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.lake.place import Place
from tailrace.windows.batches import filled, struct_ids
from tailrace.windows.files import OtapFile, list_table, read_file
from tailrace.windows.footers import Footer, Range, read_footer
from tailrace.windows.needed import EVERYTHING, Needed
from tailrace.windows.schema import ATTRIBUTES, ATTRS, SCHEMAS, Tables
from tailrace.windows.upstream import Resolver

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Part:
    """What one file of logs and its attributes hold, or a part of it."""

    part_id: str
    file: OtapFile
    tables: Tables
    unresolved: int
    "Logs whose resource and scope cannot be told."
    rows: Ids
    "Which rows of the file its logs are."


def read_parts(base: Place, wanted: Collection[str] | None = None, looked_at: Needed = EVERYTHING) -> Iterator[Part]:
    """All logs, or those of files by name, in the order of writing within a partition.

    Logs are listed before attributes: whoever sees a file of logs sees all their attributes.
    """
    logs = sorted(list_table(base, "logs"), key=lambda file: (file.part_id, file.created_ms, file.name))
    chosen = looked_at.kept(file.part_id for file in logs if wanted is None or file.name in wanted)
    attributes = {name: [file for file in list_table(base, name) if file.part_id in chosen] for name in ATTRIBUTES}
    for part_id, files in groupby(logs, key=lambda file: file.part_id):
        if part_id in chosen:
            held = {name: [file for file in attributes[name] if file.part_id == part_id] for name in ATTRIBUTES}
            yield from _read_partition(base, list(files), held, wanted, looked_at.tables)


Held = dict[str, list[OtapFile]]


def _read_partition(
    base: Place, files: list[OtapFile], held: Held, wanted_files: Collection[str] | None, tables: Collection[str]
) -> Iterator[Part]:
    resolver: Resolver | None = None
    footers = {name: [(file, read_footer(base, file)) for file in held[name]] for name in tables}
    for file in files:
        is_wanted = wanted_files is None or file.name in wanted_files
        ours = read_footer(base, file).ours
        if ours and not is_wanted:
            continue
        logs, unresolved = read_file(base, file), 0
        if not ours:
            # What is certain in a file depends on those that were written before it.
            resolver = resolver or _resolver(base, held)
            found = resolver.resolve(logs)
            logs, unresolved = found.logs, found.unresolved
        if not is_wanted:
            continue
        wanted = parents_of(logs)
        attributes = [attributes_in(base, footers.get(name, []), wanted[name]) for name in ATTRIBUTES]
        yield Part(file.part_id, file, Tables(logs, *attributes), unresolved, np.arange(len(logs)))


def _resolver(base: Place, held: Held) -> Resolver:
    parents = []
    for name in ("resource_attrs", "scope_attrs"):
        columns = [read_file(base, file)["parent_id"] for file in held[name]]
        chunks = [chunk for column in columns for chunk in column.chunks]
        parents.append(pa.chunked_array(chunks, SCHEMAS[name].field("parent_id").type))
    return Resolver(*parents)


def parents_of(logs: pa.Table) -> dict[str, Range | None]:
    """Which attributes logs can have, by table; None for none."""
    ids = {"log_attrs": filled(logs["id"])}
    ids |= {f"{kind}_attrs": struct_ids(logs, kind) for kind in ("resource", "scope")}
    return {name: _range(values) for name, values in ids.items()}


def attributes_in(base: Place, held: list[tuple[OtapFile, Footer]], wanted: Range | None) -> pa.Table:
    """Attributes whose parents are in a range; only files that can hold some are opened."""
    return of_parents([read_file(base, file) for file, footer in held if footer.may_hold(wanted)], wanted)


def of_parents(tables: list[pa.Table], wanted: Range | None, schema: pa.Schema = ATTRS) -> pa.Table:
    """Rows whose parents are in a range."""
    if wanted is None or not tables:
        return schema.empty_table()
    table = pa.concat_tables(tables)
    ends = pc.min_max(table["parent_id"]).as_py()
    if not table["parent_id"].null_count and len(table) and wanted[0] <= ends["min"] and ends["max"] <= wanted[1]:
        return table
    parents = table["parent_id"].cast(pa.int64())
    inside = pc.and_(pc.greater_equal(parents, wanted[0]), pc.less_equal(parents, wanted[1]))
    return table.filter(inside)


def effective_times(logs: pa.Table, created_ms: int, keep_undated: bool) -> tuple[Ids, npt.NDArray[np.bool_]]:
    """When each log happened, -1 for never, and which have no time at all."""
    times, observed = (filled(logs[name].cast(pa.int64())) for name in ("time_unix_nano", "observed_time_unix_nano"))
    times = np.where(times <= 0, observed, times)
    undated = times <= 0
    return np.where(undated, created_ms * 1_000_000 if keep_undated else -1, times), undated


def _range(ids: Ids) -> Range | None:
    """Least and greatest id; None where there is none."""
    values = ids[ids >= 0]
    return (int(np.min(values)), int(np.max(values))) if len(values) else None
