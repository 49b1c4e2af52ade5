"""Files that can hold an id, by their bloom filters: where those lie is read from each file once, and kept.

Ids are random, so that least and greatest say nothing, and DuckDB would read the footers of all files to come to their
filters. A file of the lake is never changed: what its footer says can be kept in the cache directory for good.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tailrace.lake.kept import place_of
from tailrace.query.conditions import Condition
from tailrace.query.kept_footers import Filters, Footers
from tailrace.query.xxhash import xxh64

if TYPE_CHECKING:
    from tailrace.lake.listing import Files, Listing

SIFT_FROM = 64
"Files: DuckDB opens fewer in no time."
_BLOCK = 32
"Bytes: one of them has all bits of a value."
_SALT = (0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31)
_FEW = 8
"Values: of so many the blocks are read one by one, for more of them the whole filter is."


def sifted(
    seen: Listing, files: Files, scans: Sequence[Sequence[Condition]], proceed: Callable[[], None] = lambda: None
) -> Files:
    """The files that may hold an id which a scan asks for; all, where one of the scans asks for none.

    `proceed` is called for each file that has to be looked at, and may raise.
    """
    asked = [[c for c in scan if _is_id(c)] for scan in scans]
    if files.num_rows < SIFT_FROM or not asked or not all(asked) or not seen.root.is_near:
        return files
    names = files.paths
    if not all(map(seen.root.has_near, names)):
        return files
    known = Footers(place_of(seen.root, "footers"))
    _complete(known, seen, names[:1], proceed)
    with_filter = known.columns_of(names[0])
    asked = [[c for c in scan if c.column in with_filter] for scan in asked]
    if not all(asked):
        return files
    _complete(known, seen, names, proceed)
    wanted = [[(c.column, [xxh64(v.encode()) for v in c.values]) for c in scan] for scan in asked]
    kept = []
    for place, name in enumerate(names):
        proceed()
        address = seen.root.address(name)
        if any(all(_may_hold(address, known.filters(c, name), digests) for c, digests in scan) for scan in wanted):
            kept.append(place)
    return files.take(kept)


def _is_id(condition: Condition) -> bool:
    return condition.operator == "=" and all(isinstance(value, str) for value in condition.values)


def _may_hold(address: str, filters: Filters, digests: Sequence[int]) -> bool:
    """Without a filter, or where it cannot be read, it may."""
    if not filters:
        return True
    try:
        file = os.open(address, os.O_RDONLY)
    except OSError:
        return True
    try:
        return any(
            _holds_one(file, start, blocks, digests)
            if len(digests) <= _FEW
            else _holds_any(os.pread(file, _BLOCK * blocks, start), blocks, digests)
            for start, blocks in filters
        )
    finally:
        os.close(file)


def _holds_one(file: int, start: int, blocks: int, digests: Sequence[int]) -> bool:
    places = ((digest, start + _BLOCK * ((digest >> 32) * blocks >> 32)) for digest in digests)
    return any(_has(os.pread(file, _BLOCK, place), digest) for digest, place in places)


def _has(block: bytes, digest: int) -> bool:
    """Are all bits of the value set? One in each word."""
    low = digest & 0xFFFFFFFF
    return len(block) < _BLOCK or all(
        int.from_bytes(block[4 * n : 4 * n + 4], "little") >> ((low * salt & 0xFFFFFFFF) >> 27) & 1
        for n, salt in enumerate(_SALT)
    )


def _holds_any(bits: bytes, blocks: int, digests: Sequence[int]) -> bool:
    """The same for many values at once."""
    import numpy as np

    if len(bits) < _BLOCK * blocks:
        return True
    hashes = np.array(digests, np.uint64)
    words = np.frombuffer(bits, "<u4").reshape(blocks, -1)[(hashes >> 32) * np.uint64(blocks) >> 32]
    shifts = (hashes.astype(np.uint32)[:, None] * np.array(_SALT, np.uint32)) >> 27
    return bool((words >> shifts & 1).all(axis=1).any())


def _read_or_none(address: str) -> dict[str, Filters] | None:
    """A file that is missing or damaged may hold anything: who reads its rows says what is wrong with it."""
    import pyarrow as pa

    try:
        return _read(address)
    except (OSError, pa.ArrowException):
        return None


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


def _complete(known: Footers, seen: Listing, names: Sequence[str], proceed: Callable[[], None]) -> None:
    """Footers that were never looked at are read now, and kept with the others."""
    missing = [name for name in names if not known.knows(name)]
    if not missing:
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        try:
            for name, filters in zip(missing, pool.map(_read_or_none, map(seen.root.address, missing)), strict=True):
                # Of a file that could not be read nothing is kept: another time it may be.
                if filters is not None:
                    known.note(name, filters)
                proceed()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    if len(missing) > 1:
        active = set(seen.files.paths)
        # Files that this query leaves out are somebody else's to ask for.
        known.keep(lambda name: name in active or os.path.exists(seen.root.address(name)))
