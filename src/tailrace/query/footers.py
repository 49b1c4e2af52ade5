"""Files that can hold an id, by their bloom filters: where those lie is read from each file once, and kept.

Ids are random, so that least and greatest say nothing, and DuckDB would read the footers of all files to come to their
filters. A file of the lake is never changed: what its footer says can be kept in the cache directory for good.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from tailrace.lake.kept_snapshot import keep, place_of
from tailrace.query.conditions import Condition
from tailrace.query.xxhash import xxh64

if TYPE_CHECKING:
    from tailrace.lake.snapshot import Snapshot

SIFT_FROM = 64
"Files: DuckDB opens fewer in no time."
_BLOCK = 32
"Bytes: one of them has all bits of a value."
_SALT = (0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31)
_SCHEMA = pa.schema([
    ("path", pa.string()), ("column", pa.string()), ("starts", pa.list_(pa.int64())), ("blocks", pa.list_(pa.int32())),
])  # fmt: skip
Filters = tuple[tuple[int, int], ...]
"Of a column in one file: where each row group's filter begins, and of how many blocks it is."
Known = dict[str, dict[str, Filters]]
"By path and column; a file without any filter has none."


def sifted(
    seen: Snapshot, files: pa.Table, scans: Sequence[Sequence[Condition]], proceed: Callable[[], None] = lambda: None
) -> pa.Table:
    """The files that may hold an id which a scan asks for; all, where one of the scans asks for none.

    `proceed` is called for each footer that has to be read, and may raise.
    """
    asked = [[c for c in scan if _is_id(c)] for scan in scans]
    if files.num_rows < SIFT_FROM or not asked or not all(asked) or not seen.root.is_near:
        return files
    paths: list[str] = files["path"].to_pylist()
    if not all(map(seen.root.has_near, paths)):
        return files
    known = _load(place_of(seen.root, "footers"))
    with_filter = known[paths[0]] if paths[0] in known else _read_or_none(seen.root.address(paths[0]))
    asked = [[c for c in scan if c.column in with_filter] for scan in asked]
    if not all(asked):
        return files
    _complete(known, seen, paths, proceed)
    hashes = {value: xxh64(value.encode()) for scan in asked for c in scan for value in c.values}
    kept = [
        any(all(_may_hold(seen.root.address(path), known[path], c, hashes) for c in scan) for scan in asked)
        for path in paths
    ]
    return files.filter(pa.array(kept))


def _is_id(condition: Condition) -> bool:
    return condition.operator == "=" and all(isinstance(value, str) for value in condition.values)


def _may_hold(address: str, filters: dict[str, Filters], condition: Condition, hashes: dict[str, int]) -> bool:
    """Without a filter, or where it cannot be read, it may."""
    found = filters.get(condition.column)
    if not found:
        return True
    try:
        file = os.open(address, os.O_RDONLY)
    except OSError:
        return True
    try:
        return any(
            _has(os.pread(file, _BLOCK, start + _BLOCK * ((digest >> 32) * blocks >> 32)), digest)
            for start, blocks in found
            for digest in (hashes[value] for value in condition.values)
        )
    finally:
        os.close(file)


def _has(block: bytes, digest: int) -> bool:
    """Are all bits of the value set? One in each word."""
    low = digest & 0xFFFFFFFF
    return len(block) < _BLOCK or all(
        int.from_bytes(block[4 * n : 4 * n + 4], "little") >> ((low * salt & 0xFFFFFFFF) >> 27) & 1
        for n, salt in enumerate(_SALT)
    )


def _read_or_none(address: str) -> dict[str, Filters]:
    """A file that is missing or damaged may hold anything: who reads its rows says what is wrong with it."""
    try:
        return _read(address)
    except (OSError, pa.ArrowException):
        return {}


def _read(address: str) -> dict[str, Filters]:
    """From a file's footer."""
    import pyarrow.parquet as pq

    found: dict[str, list[tuple[int, int]]] = {}
    with open(address, "rb") as file:
        metadata = pq.read_metadata(file)
        for group in (metadata.row_group(number) for number in range(metadata.num_row_groups)):
            for column in (group.column(number) for number in range(group.num_columns)):
                offset, length = column.bloom_filter_offset, column.bloom_filter_length
                if offset is not None and length is not None:
                    found.setdefault(column.path_in_schema, []).append(_place(file.fileno(), offset, length))
    groups = metadata.num_row_groups
    # A group without a filter may hold anything.
    return {name: tuple(some) for name, some in found.items() if len(some) == groups and all(b for _, b in some)}


def _place(file: int, offset: int, length: int) -> tuple[int, int]:
    """Where the bits begin behind the filter's header, and how many blocks they are; 0: it is of another kind."""
    header = os.pread(file, 16, offset)
    size = shift = 0
    # Thrift: the first field is a whole number, in groups of seven bits and with its sign at the end.
    for byte in header[1:6]:
        size |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            break
    size >>= 1
    is_known = header[:1] == b"\x15" and size % _BLOCK == 0 and 0 < size < length
    return (offset + length - size, size // _BLOCK) if is_known else (0, 0)


# What is kept


def _complete(known: Known, seen: Snapshot, paths: Sequence[str], proceed: Callable[[], None]) -> None:
    """Footers that were never looked at are read now, and kept."""
    missing = [path for path in paths if path not in known]
    if missing:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            try:
                for path, filters in zip(
                    missing, pool.map(_read_or_none, map(seen.root.address, missing)), strict=True
                ):
                    known[path] = filters
                    proceed()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        _keep(place_of(seen.root, "footers"), known, seen.files["path"].to_pylist())


def _load(place: Path) -> Known:
    known: Known = {}
    with suppress(OSError, pa.ArrowInvalid, KeyError), pa.memory_map(str(place)) as file:
        table = pa.ipc.open_file(file).read_all()
        for row in zip(*(table[name].to_pylist() for name in _SCHEMA.names), strict=True):
            path, column, starts, blocks = row
            filters = known.setdefault(path, {})
            if column is not None:
                filters[column] = tuple(zip(starts, blocks, strict=True))
    return known


def _keep(place: Path, known: Known, active: Iterable[str]) -> None:
    """Without files that are gone."""
    rows: list[dict[str, object]] = []
    for path in (path for path in active if path in known):
        filters = known[path]
        rows += [
            {"path": path, "column": column, "starts": [s for s, _ in some], "blocks": [b for _, b in some]}
            for column, some in filters.items()
        ]
        rows += [] if filters else [{"path": path}]
    keep(place, pa.Table.from_pylist(rows, _SCHEMA))
