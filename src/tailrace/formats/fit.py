"""From fields as text to a table's columns: nulls, types, what does not fit, what has no column."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from fnmatch import fnmatchcase

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.core import Column, Struct, Table
from tailrace.core.arrow import arrow_type
from tailrace.formats.casts import cast_texts, is_text
from tailrace.formats.gathering import gather

REST = "tp_rest"
"The field that holds what a line has beyond its last field."
_WORD = re.compile(r'[A-Za-z_]\w*|"[^"]+"')
_SPECIAL = r'["\\\x00-\x1f]'
_INVALID_UTF8 = "invalid utf-8"
Texts = dict[str, pa.Array]


class Fitter:
    """Fits the fields of one format to the columns of one table."""

    def __init__(
        self,
        table: Table,
        fields: Iterable[str],
        *,
        times: Mapping[str, str] | None = None,
        always: Collection[str] = (REST,),
        documents: Collection[str] = (),
    ) -> None:
        """`times`: how a field writes its times, before what its column says; `always`: kept in any case;
        `documents`: fields whose texts are known to be JSON.
        """
        available = list(dict.fromkeys(fields))
        self.null = table.null
        self.times = dict(times or {})
        self.documents = frozenset(documents)
        self.fitted = [
            (column, column.src or column.name)
            for column in table.columns
            if column.sql is None and not isinstance(column.type, Struct) and (column.src or column.name) in available
        ]
        names = {column.name for column, _ in self.fitted}
        mentioned = {w.strip('"') for c in table.columns if c.sql for w in _WORD.findall(c.sql)}
        self.passed = [f for f in available if f in mentioned and f not in names]
        used = {source for _, source in self.fitted} | set(self.passed)
        self.gathered = [
            (column, gather(column.src or "", [f for f in available if f not in used])) for column in table.columns
        ]
        self.gathered = [(column, parts) for column, parts in self.gathered if parts]
        used |= {field for _, parts in self.gathered for field in parts.values()}
        self.kept = [
            f for f in available if f not in used and (f in always or any(fnmatchcase(f, glob) for glob in table.keep))
        ]

    def column_of(self, field: str) -> Column | None:
        """The one column that a field alone decides; None if it has none or its text is needed elsewhere."""
        columns = [column for column, source in self.fitted if source == field]
        return columns[0] if len(columns) == 1 and field not in self.passed else None

    def fit(
        self,
        fields: Texts,
        rows: int,
        *,
        marked: bool = False,
        invalid: Collection[int] = (),
        misfits: Mapping[str, pa.Array] | None = None,
        beside: Mapping[str, pa.Array] | None = None,
    ) -> tuple[Texts, pa.Array | None, int]:
        """Columns, `tp_extra` and the number of flagged rows.

        `marked`: the table's null marker is null already. `invalid`: rows whose line was not UTF-8.
        `misfits`: texts that were found to fit no column before. `beside`: JSON of fields without a column.
        """
        null = None if marked else self.null
        columns: Texts = {}
        misfits = dict(misfits or {})
        for column, source in self.fitted:
            values = fields.get(source)
            if values is None:
                continue
            values = null_where(values, null, column.null_if)
            if source in self.documents and column.type == "json":
                columns[column.name] = values
                continue
            columns[column.name], wrong = _fit(column, values, self.times.get(source))
            if wrong is not None:
                misfits[column.name] = wrong
        for column, parts in self.gathered:
            texts = {key: null_where(fields[f], null, "") for key, f in parts.items() if f in fields}
            columns[column.name] = together(texts, columns.get(column.name), rows)
        columns |= {f: null_where(fields[f], null) for f in self.passed if f in fields}
        kept = {f: null_where(fields[f], null) for f in self.kept if f in fields}
        kept = {f: v for f, v in kept.items() if v.null_count < rows}
        if invalid:
            misfits["tp_line"] = _at(invalid, rows)
        documents = {f: kept.pop(f) for f in list(kept) if f in self.documents} | dict(beside or {})
        if not kept and not misfits and not documents:
            return columns, None, 0
        return columns, *_extra(kept, misfits, documents, rows)


def null_where(values: pa.Array, *markers: str | None) -> pa.Array:
    """Null for texts that mean null."""
    if not pa.types.is_string(values.type):
        return values
    for marker in markers:
        if marker is not None:
            means_null = _equal(values, marker.encode())
            if means_null is not None:
                values = _without(values, means_null)
    return values


def _equal(values: pa.StringArray, text: bytes) -> npt.NDArray[np.bool_] | None:
    """Which of the texts are this one, nulls perhaps among them; None: no text is. Most differ in length alone."""
    _, places, data = values.buffers()
    offsets = np.frombuffer(places, np.int32)[values.offset : values.offset + len(values) + 1]
    alike = np.diff(offsets) == len(text)
    if not alike.any():
        return None
    if len(text) == 1:
        alike[alike] = np.frombuffer(data, np.uint8)[offsets[:-1][alike]] == text[0]
    elif text:
        alike &= pc.equal(values, text.decode()).fill_null(False).to_numpy(zero_copy_only=False)
    return alike if alike.any() else None


def _without(values: pa.StringArray, null: npt.NDArray[np.bool_]) -> pa.StringArray:
    """The same texts but for these, not copied."""
    valid = ~null
    if values.null_count:
        valid &= values.is_valid().to_numpy(zero_copy_only=False)
    _, places, data = values.buffers()
    validity = np.packbits(np.concatenate((np.zeros(values.offset, bool), valid)), bitorder="little")
    return pa.StringArray.from_buffers(len(values), places, data, pa.py_buffer(validity), -1, values.offset)


def _fit(column: Column, values: pa.Array, time: str | None) -> tuple[pa.Array, pa.Array | None]:
    """The column, and the texts that did not fit it (None = all did)."""
    if not pa.types.is_string(values.type) and values.type == arrow_type(column.type):
        return values, None
    out = cast_texts(column, values, time)
    if out.null_count == values.null_count:
        return out, None
    wrong = pc.and_(out.is_null(), values.is_valid())
    if not is_text(column) and pa.types.is_string(values.type):
        wrong = pc.and_(wrong, pc.not_equal(values, "").fill_null(False))
    if not pc.any(wrong).as_py():
        return out, None
    texts = values.cast(pa.string())
    return out, pc.if_else(wrong, texts, pa.scalar(None, pa.string()))


def together(texts: Texts, given: pa.Array | None, rows: int) -> pa.Array:
    """An object of the texts per row, null where there are none; a value that a row has already stays."""
    told = np.flatnonzero(_any_valid(list(texts.values()), rows))
    if not len(told):
        return pa.nulls(rows, pa.string()) if given is None else given
    places = np.zeros(rows, np.int64)
    places[told] = np.arange(len(told))
    silent = np.ones(rows, bool)
    silent[told] = False
    made = _object(_members(texts, told)).take(pa.array(places, mask=silent))
    return made if given is None else pc.coalesce(given, made)


def _at(rows: Collection[int], size: int) -> pa.Array:
    mask = np.ones(size, bool)
    mask[list(rows)] = False
    return pa.array(np.full(size, _INVALID_UTF8, object), pa.string(), mask=mask)


def _extra(kept: Texts, misfits: Texts, documents: Texts, rows: int) -> tuple[pa.Array, int]:
    """JSON text for the rows that have anything to say, and how many of them hold a misfit."""
    flagged = _any_valid(list(misfits.values()), rows)
    told = np.flatnonzero(_any_valid([*kept.values(), *misfits.values(), *documents.values()], rows))
    members = _members(kept, told)
    members += [joined(_key(name), values.take(pa.array(told))) for name, values in documents.items()]
    if misfits:
        inner = _object(_members(misfits, np.flatnonzero(flagged)))
        some = flagged[told]
        members.append(joined(_key("tp_misfit"), inner).take(pa.array(np.cumsum(some) - 1, mask=~some)))
    texts = _object(members)
    if len(told) == rows:
        return texts, int(flagged.sum())
    places = np.zeros(rows, np.int64)
    places[told] = np.arange(len(told))
    silent = np.ones(rows, bool)
    silent[told] = False
    return texts.take(pa.array(places, mask=silent)), int(flagged.sum())


def _members(texts: Texts, rows: npt.NDArray[np.int64]) -> list[pa.Array]:
    return [_member(_key(name), values.take(pa.array(rows))) for name, values in texts.items()]


def _member(key: str, values: pa.Array) -> pa.Array:
    """Texts as JSON has them; numbers as they are."""
    if pa.types.is_integer(values.type):
        return joined(key, values.cast(pa.string()))
    return joined(key, quoted(values)) if _may_be_special(values) else joined(key + '"', values, '"')


def _object(members: list[pa.Array]) -> pa.Array:
    """Members that are null are left out. Every row must have one that is not: Arrow drops the others."""
    return joined("{", pc.binary_join_element_wise(*members, ",", null_handling="skip"), "}")


def object_of(documents: Texts) -> pa.Array:
    """A JSON object per row, of texts that are JSON themselves."""
    members = [joined(_key(name), values.fill_null("null")) for name, values in documents.items()]
    return joined("{", pc.binary_join_element_wise(*members, ","), "}")


def joined(*parts: pa.Array | str) -> pa.Array:
    return pc.binary_join_element_wise(*(pa.scalar(p) if isinstance(p, str) else p for p in parts), "")


def quoted(texts: pa.Array) -> pa.Array:
    """JSON strings; only those that hold what JSON escapes are encoded one by one."""
    plain = joined('"', texts, '"')
    if not _may_be_special(texts):
        return plain
    special = pc.match_substring_regex(texts, _SPECIAL).fill_null(False)
    if not special.true_count:
        return plain
    encoded = [msgspec.json.encode(text).decode() for text in texts.filter(special).to_pylist()]
    return pc.replace_with_mask(plain, special, pa.array(encoded, pa.string()))


def _may_be_special(texts: pa.Array) -> bool:
    """Do the bytes of any text, or of what it was cut from, hold what JSON escapes?"""
    held = texts.buffers()[-1]
    data = np.frombuffer(held, np.uint8) if held is not None else np.empty(0, np.uint8)
    return bool((data < ord(" ")).any() or (data == ord('"')).any() or (data == ord("\\")).any())


def _any_valid(arrays: list[pa.Array], rows: int) -> npt.NDArray[np.bool_]:
    valid = np.zeros(rows, bool)
    for array in arrays:
        valid |= array.is_valid().to_numpy(zero_copy_only=False)
    return valid


def _key(name: str) -> str:
    return msgspec.json.encode(name).decode() + ":"
