"""Lists of texts made from columns: `tp_ips`, `tp_akas` and the like.

Their values are codes of one dictionary from the beginning: each text is hashed once, numbers are compared and moved
instead of texts, and Parquet takes the dictionary as it is.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

CODED = pa.dictionary(pa.int32(), pa.string())
LIST = pa.list_(CODED)
Codes = npt.NDArray[np.int32]
_NONE = -1
"Code of what belongs in no list: null and the empty text."


def plain(array: pa.Array) -> pa.Array:
    """The texts that codes stand for, also those in lists."""
    if pa.types.is_dictionary(array.type):
        return array.dictionary_decode()
    if pa.types.is_list(array.type) and pa.types.is_dictionary(array.type.value_type):
        return array.cast(pa.list_(array.type.value_type.value_type))
    return array


def coded(array: pa.Array) -> pa.Array:
    """Texts, or lists of them, as codes."""
    if pa.types.is_list(array.type):
        empty = array.is_null() if array.null_count else None
        return pa.ListArray.from_arrays(*_unsliced(array), mask=empty)
    return array if array.type == CODED else plain(array).cast(pa.string()).dictionary_encode()


def list_of(candidates: list[pa.Array], rows: int) -> pa.Array | None:
    """One list per row of the candidates' values, in order, each once, without nulls and empty texts."""
    candidates = [candidate for candidate in candidates if candidate.null_count < rows]
    if not candidates:
        return None
    codes, words = _codes(candidates)
    grid = np.stack(codes, axis=1)
    wanted = grid != _NONE
    for later in range(1, len(candidates)):
        for earlier in range(later):
            wanted[:, later] &= grid[:, later] != grid[:, earlier]
    return _lists(grid[wanted], words, wanted.sum(axis=1))


def merged_lists(lists: list[pa.Array], rows: int) -> pa.Array | None:
    """Several list columns as one, each value once per row, in order of appearance, without nulls and empty texts."""
    if not lists:
        return None
    codes, words = _codes([column.flatten() for column in lists])
    owner = np.concatenate([pc.list_parent_indices(column).to_numpy() for column in lists])
    code = np.concatenate(codes)
    order = np.flatnonzero(code != _NONE)
    order = order[np.argsort(owner[order], kind="stable")]
    _, first = np.unique(owner[order].astype(np.int64) << 32 | code[order], return_index=True)
    first.sort()
    kept = order[first]
    return _lists(code[kept], words, np.bincount(owner[kept], minlength=rows)) if len(kept) else None


def _codes(arrays: list[pa.Array]) -> tuple[list[Codes], pa.Array]:
    """The arrays as codes of one dictionary."""
    chunks = [coded(array) for array in arrays]
    if len(chunks) > 1:
        chunks = pa.chunked_array(chunks).unify_dictionaries().chunks
    words = chunks[0].dictionary
    codes = [chunk.indices.fill_null(_NONE).to_numpy() for chunk in chunks]
    blank = pc.index(words, "").as_py()
    return [np.where(c == blank, _NONE, c) if blank >= 0 else c for c in codes], words


def _lists(codes: Codes, words: pa.Array, counts: npt.NDArray[np.int64]) -> pa.Array:
    """So many codes for each row; null instead of an empty list."""
    offsets = np.zeros(len(counts) + 1, np.int32)
    np.cumsum(counts, out=offsets[1:])
    empty = pa.array(counts == 0) if (counts == 0).any() else None
    values = pa.DictionaryArray.from_arrays(pa.array(codes), words)
    return pa.ListArray.from_arrays(pa.array(offsets), values, mask=empty)


def _unsliced(array: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Offsets from zero and values of a list column."""
    lengths = array.value_lengths().fill_null(0).to_numpy()
    offsets = np.zeros(len(array) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return pa.array(offsets), coded(array.flatten())
