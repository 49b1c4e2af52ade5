"""Lines of keys and values (logfmt, LTSV, CEF, LEEF): those with a column go there, the others to `tp_extra`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.core import ConfigError, Pairs, Struct, Table
from tailrace.formats.base import Batch, Positions, Stream, moment_of
from tailrace.formats.delimited_text import STAND_INS
from tailrace.formats.fit import Fitter, Texts, joined, quoted
from tailrace.formats.json_struct import source_keys
from tailrace.formats.line_texts import texts_of
from tailrace.formats.lines import LineBlock, cut_lines
from tailrace.formats.pair_dialects import DIALECTS
from tailrace.formats.syslog import ANY_TIME
from tailrace.formats.years import with_years


@dataclass(frozen=True, slots=True)
class Found:
    """All pairs of many lines, in their order."""

    rows: Positions
    keys: pa.Array
    values: pa.Array


class PairsDecoder:
    """Reads one dialect into the columns of a table."""

    def __init__(self, table: Table, fmt: Pairs) -> None:
        if fmt.dialect not in DIALECTS:
            known = ", ".join(DIALECTS)
            raise ConfigError(f"unknown dialect '{fmt.dialect}'", code="config.format", hint=f"known: {known}")
        self.kind = fmt.dialect
        self.dialect = DIALECTS[fmt.dialect]
        self.keep = table.keep
        sources = [c.src or c.name for c in table.columns if c.sql is None and not isinstance(c.type, Struct)]
        self.known = frozenset((*sources, *source_keys(table)))
        self.fitter = Fitter(table, (*self.known, *self.dialect.heads))
        alike = self.dialect.alike.items()
        self.alike = {name: other for name, other in alike if name not in self.known and other in self.known}

    def decode(self, stream: Stream) -> Iterator[Batch]:
        for block in cut_lines(stream):
            if block.bad:
                yield Batch({}, np.empty(0, np.int64), block.raw, bad=block.bad)
            if len(block):
                yield from self._batches(block, stream)

    def _batches(self, block: LineBlock, stream: Stream) -> Iterator[Batch]:
        signs = [sign.decode() for sign in STAND_INS if sign not in block.buffer]
        if len(signs) < 2 and len(block) > 1:
            for half in np.array_split(np.arange(len(block)), 2):
                yield from self._batches(block.narrowed(half), stream)
            return
        lines = texts_of(block)
        blank = pc.match_substring_regex(lines, r"^[ \t]*$").to_numpy(zero_copy_only=False)
        opened = self.dialect.opened(lines)
        ok = opened.ok & ~blank & (len(signs) > 1)
        rows = np.flatnonzero(ok)
        bad = [block.refuse(line, f"{self.kind}: no match") for line in np.flatnonzero(~ok & ~blank).tolist()]
        fields: Texts = {}
        extra, flagged = None, 0
        if len(rows):
            found = self._found(opened.body.filter(pa.array(ok)), signs[0], signs[1])
            fields, members = self._sorted(found, len(rows))
            fields |= self._head({name: texts.filter(pa.array(ok)) for name, texts in opened.head.items()}, stream)
            invalid = np.flatnonzero(np.isin(rows, list(block.originals))).tolist() if block.originals else []
            fields, extra, flagged = self.fitter.fit(fields, len(rows), invalid=invalid)
            extra = _with_members(extra, members)
        yield Batch(
            fields, block.positions[rows], lambda row: block.raw(int(rows[row])), extra, flagged, bad, int(blank.sum())
        )

    def _head(self, head: Texts, stream: Stream) -> Texts:
        """What stands before the pairs; of a syslog header the time."""
        prefix = head.pop("prefix", None)
        if prefix is not None:
            times = pc.struct_field(pc.extract_regex(prefix, ANY_TIME), "time")
            head["syslog_time"] = with_years(times, moment_of(stream))
        return head

    def _found(self, body: pa.Array, pair: str, value: str) -> Found:
        pieces = pc.split_pattern(self.dialect.marked(body, pair, value), pair)
        halves = pc.split_pattern(pieces.flatten(), value, max_splits=1)
        whole = pc.equal(pc.list_value_length(halves), 2)
        rows = pc.list_parent_indices(pieces).filter(whole).to_numpy()
        halves = halves.filter(whole)
        return Found(rows, pc.list_element(halves, 0), self.dialect.plain(pc.list_element(halves, 1)))

    def _sorted(self, found: Found, rows: int) -> tuple[Texts, pa.Array]:
        """A column for each key that the table knows, and the other pairs as members of a JSON object."""
        coded = found.keys.dictionary_encode()
        codes = coded.indices.to_numpy()
        spelled = coded.dictionary.to_pylist()
        names = [self.alike.get(name, name) for name in spelled]
        order = np.argsort(codes, kind="stable")
        bounds = np.searchsorted(codes[order], np.arange(len(names) + 1))
        fields: Texts = {}
        others = np.zeros(len(names), bool)
        for code, name in enumerate(names):
            if name in self.known:
                mine = order[bounds[code] : bounds[code + 1]]
                places = np.full(rows, -1)
                places[found.rows[mine]] = mine  # of a key that comes again the last wins
                values = found.values.take(pa.array(places, mask=places < 0))
                both = [values, fields[name]] if name in fields else [values]
                fields[name] = pc.coalesce(*both) if spelled[code] == name else pc.coalesce(*reversed(both))
            else:
                others[code] = self.keep == ("*",) or any(fnmatchcase(name, glob) for glob in self.keep)
        return fields, _members(found, codes, others[codes], rows)


def _members(found: Found, codes: Positions, which: np.ndarray[tuple[int], np.dtype[np.bool_]], rows: int) -> pa.Array:
    """Per row `"key":"value",…`, each key once; null where there are none."""
    chosen = np.flatnonzero(which)
    if not len(chosen):
        return pa.nulls(rows, pa.string())
    places = found.rows[chosen] * (int(codes.max()) + 1) + codes[chosen]
    _, last = np.unique(places[::-1], return_index=True)
    if len(last) < len(chosen):
        chosen = np.sort(chosen[::-1][last])
    taken = pa.array(chosen)
    members = joined(quoted(found.keys.take(taken)), ":", quoted(found.values.take(taken)))
    offsets = np.searchsorted(found.rows[chosen], np.arange(rows + 1)).astype(np.int32)
    lists = pa.ListArray.from_arrays(pa.array(offsets), members)
    texts = pc.binary_join(lists, ",")
    return pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)


def _with_members(extra: pa.Array | None, members: pa.Array) -> pa.Array | None:
    """JSON objects with more members in front."""
    if members.null_count == len(members):
        return extra
    alone = joined("{", members, "}")
    if extra is None:
        return alone
    both = joined("{", members, ",", pc.utf8_slice_codeunits(extra, 1))
    return pc.coalesce(both, extra, alone)
