"""Identity of rows: a hash of where they came from, and their position in it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

ALPHABET = b"0123456789abcdefghijklmnopqrstuv"
"Base 32 whose characters sort as their values do, so ids of an artifact sort by position."
PREFIX_LENGTH = 16
POSITION_LENGTH = 10
"50 bits: a petabyte of one artifact."
ID_LENGTH = PREFIX_LENGTH + POSITION_LENGTH

_PAIR_BITS = 10
_PAIRS = np.frombuffer(bytes(c for a in ALPHABET for b in ALPHABET for c in (a, b)), dtype=np.uint16)


def artifact_prefix(uri: str, member: str | None = None) -> str:
    """The 16 characters with which every `tp_id` of an artifact (or of one member of an archive) begins."""
    identity = uri if member is None else f"{uri}!{member}"
    digest = hashlib.blake2b(identity.encode("utf-8", "surrogateescape"), digest_size=10).digest()
    number = int.from_bytes(digest, "big")
    return bytes(ALPHABET[number >> shift & 31] for shift in range(75, -1, -5)).decode()


def tp_ids(prefixes: Sequence[str], owner: npt.NDArray[np.integer], positions: npt.NDArray[np.int64]) -> pa.StringArray:
    """One id per row: the prefix of its owner, then its position, which lies in [0, 2^50)."""
    rows = len(positions)
    text = np.empty((rows, ID_LENGTH // 2), dtype=np.uint16)
    known = np.frombuffer("".join(prefixes).encode(), dtype=np.uint16).reshape(-1, PREFIX_LENGTH // 2)
    text[:, : PREFIX_LENGTH // 2] = known[owner] if len(prefixes) > 1 else known
    for pair in range(POSITION_LENGTH // 2):
        shift = _PAIR_BITS * (POSITION_LENGTH // 2 - 1 - pair)
        text[:, PREFIX_LENGTH // 2 + pair] = _PAIRS[positions >> shift & 1023]
    offsets = np.arange(0, (rows + 1) * ID_LENGTH, ID_LENGTH, dtype=np.int32)
    return pa.StringArray.from_buffers(rows, pa.py_buffer(offsets), pa.py_buffer(text))
