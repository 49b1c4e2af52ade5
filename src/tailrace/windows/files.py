"""Files of OTAP tables: where they lie, what they are called, what their footers say."""

from __future__ import annotations

import hashlib
import re
import time
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from tailrace.core.errors import DataError, one_line
from tailrace.lake.place import Place
from tailrace.windows.schema import IDS, PART_ID, SCHEMAS, UNPARTITIONED, fitted

_NAME = re.compile(r"part-(\d+)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.parquet")
_FILE_BITS = 35
_DIRECTORY = f"{PART_ID}="


@dataclass(frozen=True, slots=True)
class OtapFile:
    """A file of one table."""

    table: str
    part_id: str
    name: str
    "Relative to the directory of all tables."

    @property
    def created_ms(self) -> int:
        """When its writer began it: not when it became visible."""
        return int(self.name.rpartition("part-")[2].partition("-")[0])


def new_name(identity: str | None = None) -> str:
    return f"part-{time.time_ns() // 1_000_000}-{identity or uuid.uuid4()}.parquet"


def directory(table: str, part_id: str) -> str:
    return table if part_id == UNPARTITIONED else f"{table}/{_DIRECTORY}{part_id}"


def list_table(base: Place, table: str) -> Iterator[OtapFile]:
    """Files of a table in the order of partition and name; none where it has no directory."""
    for part_id in partitions(base, table):
        yield from list_partition(base, table, part_id)


def partitions(base: Place, table: str) -> Iterator[str]:
    """Those that have a directory, after the one of files that lie in none."""
    yield UNPARTITIONED
    for folder in (base / table).folders():
        if folder.startswith(_DIRECTORY):
            yield folder.removeprefix(_DIRECTORY)


def list_partition(base: Place, table: str, part_id: str) -> Iterator[OtapFile]:
    folder = directory(table, part_id)
    names = _parts(base / folder)
    if table == "logs":
        _require_numbers(base / folder, names)
    return (OtapFile(table, part_id, f"{folder}/{name}") for name in names)


def file_number(name: str) -> int:
    """The part of the ids of logs that have none which says in which file a log is."""
    digest = hashlib.blake2b(name.rpartition("/")[2].encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") & ((1 << _FILE_BITS) - 1)


def _require_numbers(folder: Place, names: list[str]) -> None:
    """Of two files with one number, logs would have the same ids."""
    held: dict[int, str] = {}
    for name in names:
        if (other := held.setdefault(file_number(name), name)) != name:
            message = f"ids of logs in {other} and {name} would be the same"
            hint = "rename the one that came last: another UUID in its name gives it other ids"
            raise DataError(message, code="window.same-ids", where=str(folder), hint=hint)


def _parts(place: Place) -> list[str]:
    """Only whole files: those under way, marks of other engines and hidden ones are called otherwise."""
    return [name for name in place.names() if _NAME.fullmatch(name)]


def read_file(base: Place, file: OtapFile) -> pa.Table:
    """A file with the columns of its table, whichever writer made it."""
    with opened(base, file) as parquet, damage_told(base, file):
        return read_groups(parquet, SCHEMAS[file.table], range(parquet.num_row_groups))


def read_groups(
    parquet: pq.ParquetFile, schema: pa.Schema, groups: Iterable[int], *, threads: bool = False
) -> pa.Table:
    """Some of its row groups; with `threads` several columns at a time."""
    chosen = list(groups)
    known = set(parquet.schema_arrow.names) - _empty_columns(parquet.metadata, chosen)
    columns = [name for name in schema.names if name in known]
    return fitted(parquet.read_row_groups(chosen, columns=columns, use_threads=threads), schema)


def _empty_columns(metadata: pq.FileMetaData, groups: list[int]) -> set[str]:
    """Columns that have no value in any of these row groups: most attributes are of two or three types."""
    found: set[str] | None = None
    for number in groups:
        group = metadata.row_group(number)
        columns = (group.column(n) for n in range(group.num_columns))
        told = {column.path_in_schema for column in columns if _is_empty(column)}
        found = told if found is None else found & told
    return found or set()


def _is_empty(column: pq.ColumnChunkMetaData) -> bool:
    statistics = column.statistics if column.is_stats_set else None
    return statistics is not None and statistics.has_null_count and statistics.null_count == column.num_values


def opened(base: Place, file: OtapFile, *, keyed: bool = False) -> pq.ParquetFile:
    """DataError where it is none. With `keyed` keys of attributes are not written out row by row."""
    with damage_told(base, file):
        source = base.open(file.name)
        parquet = pq.ParquetFile(source)
        if keyed and file.table != "logs" and "key" in parquet.schema_arrow.names:
            return pq.ParquetFile(source, metadata=parquet.metadata, read_dictionary=["key"])
        return parquet


class damage_told:
    """Errors of Arrow become errors that name the file."""

    def __init__(self, base: Place, file: OtapFile) -> None:
        self._where = base.address(file.name)

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, FileNotFoundError):
            hint = "run it again: it is not looked for any more; or bring the file back first"
            raise DataError("the file is gone", code="window.gone-file", where=self._where, hint=hint) from error
        if isinstance(error, pa.ArrowException | OSError):
            hint = "delete the file if it cannot be restored; nothing was written for it"
            message = f"not a whole Parquet file: {one_line(error)}"
            raise DataError(message, code="window.damaged-file", where=self._where, hint=hint) from error


def ids_are_of_partition(metadata: pq.FileMetaData) -> bool:
    """Did its writer number resources and scopes across the partition? Upstream's exporter does so per batch."""
    return (metadata.metadata or {}).get(IDS) == b"partition"
