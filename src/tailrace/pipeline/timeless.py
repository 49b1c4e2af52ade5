"""Why rows have no time: none was sent, or what was sent cannot be read as one."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.core import At, Table
from tailrace.formats.base import Batch
from tailrace.formats.json_struct import names_in

_MISFIT = "tp_misfit"
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
"Values as they were sent: a number may be too large for any type."
_SHOWN = 40
"Characters of a value that are told."
_MOST_FIELDS = 8
"So many fields of a record are told."


class Timeless:
    """The reasons of one table."""

    def __init__(self, table: Table) -> None:
        named = [c.path if isinstance(c, At) else c for c in table.common.time]
        self._absent = f"row: no timestamp (no time in {', '.join(named)})"
        self._forms = {column.name: column.time for column in table.columns}
        self._computed = {column.name for column in table.columns if column.sql is not None}
        self._places = dict.fromkeys(["tp_timestamp", *named])
        asked = [column for column in table.columns if column.name in self._places]
        # What a time is computed from may have been no value of its own column: then nothing was computed.
        self._places |= dict.fromkeys(name for column in asked if column.sql for name in names_in(column.sql))
        self._sources = [] if any(column.sql for column in asked) else [c.src or c.name for c in asked]

    def reasons(self, times: pa.Array, extra: pa.Array | None, batches: Sequence[Batch]) -> dict[int, str]:
        """By row without a time; `extra` holds the values that did not fit their columns, of all batches together."""
        missing = times.is_null().to_numpy(zero_copy_only=False)
        told: dict[int, str] = {}
        first = 0
        for batch in batches:
            rows = (np.flatnonzero(missing[first : first + batch.rows]) + first).tolist()
            first += batch.rows
            reason = self.without_field(batch.fields) if rows and batch.fields is not None else None
            if reason is not None or extra is None:
                told |= dict.fromkeys(rows, reason or self._absent)
            else:
                told |= {row: self._reason(extra[row].as_py()) for row in rows}
        return told

    def without_field(self, fields: tuple[str, ...]) -> str | None:
        """The reason of records that have these fields, none of which may hold a time; None where one may."""
        if not self._sources or not {s.lower() for s in self._sources}.isdisjoint(f.lower() for f in fields):
            return None
        more = f" and {len(fields) - _MOST_FIELDS} more" if len(fields) > _MOST_FIELDS else ""
        told = ", ".join(f"'{field}'" for field in fields[:_MOST_FIELDS])
        sought = " or ".join(f"'{source}'" for source in self._sources)
        return f"row: no timestamp (no field {sought}; the record has {told}{more})"

    def absent(self, times: pa.Array, extra: pa.Array | None) -> pa.Array:
        """Which rows tell no time at all: what cannot be read as one is not among them."""
        missing = times.is_null()
        if extra is None:
            return missing
        misfits = pc.and_(missing, pc.match_substring(extra, f'"{_MISFIT}"').fill_null(False))
        wrong = [self._reason(text) != self._absent for text in extra.filter(misfits).to_pylist()]
        return pc.replace_with_mask(missing, misfits, pc.invert(pa.array(wrong, pa.bool_())))

    def _reason(self, extra: str | None) -> str:
        told = bytes(_OBJECT.decode(extra).get(_MISFIT, b"")) if extra else b""
        misfits = _OBJECT.decode(told) if told.startswith(b"{") else {}
        place = next((name for name in self._places if name in misfits), None)
        if place is None:
            return self._absent
        form = self._forms.get(place)
        wrong = f"not written as `time = {form!r}` of the column says"
        if place in self._computed:
            wrong = "no time that the column's SQL reads"
        elif form is None:
            wrong = 'no ISO 8601 time; `time = "…"` of the column tells how it is written'
        return f"row: no timestamp ({_shown(misfits[place])} in {place} is {wrong})"


def _shown(value: msgspec.Raw) -> str:
    sent = bytes(value)
    text = msgspec.json.decode(sent, type=str) if sent.startswith(b'"') else sent.decode()
    return f"'{text}'" if len(text) <= _SHOWN else f"'{text[:_SHOWN]}…'"
