"""Transforms that choose rows: filter, sample and reduce. DuckDB looks at them, many at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.core.errors import ConfigError
from tailrace.lake.quoting import literal, quoted
from tailrace.streams.kinds import KINDS, decoded_schema
from tailrace.streams.transforms import Changed, with_new_documents

_HIDDEN = frozenset({"document"})
_COMPARED = {"gt": ">", "lt": "<", "gte": ">=", "lte": "<="}
PLACE = "_place"


def asked(sql: str, rows: pa.Table) -> pa.Table:
    """What a query says of `rows`, whose payload it sees as JSON."""
    shown = rows.drop_columns(["payload"]).rename_columns({"document": "payload"})
    places = shown.append_column(PLACE, pa.array(range(rows.num_rows), pa.int64()))
    with duckdb.connect() as engine:
        engine.execute("SET threads = 1")
        engine.register("given", places)
        # Payloads are bytes of UTF-8, known to be JSON.
        engine.execute("CREATE VIEW rows AS SELECT * REPLACE (decode(payload)::JSON AS payload) FROM given")
        return engine.sql(sql).to_arrow_table()


def field_of(path: str, kind: str) -> str:
    """A dotted path as SQL that gives text: a column where its first word is one, else a field of the payload."""
    first, _, rest = path.partition(".")
    columns = set(decoded_schema(kind).names) - _HIDDEN
    if first == "payload" and rest:
        first, _, rest = rest.partition(".")
    elif first in columns:
        return f"{quoted(first)}::VARCHAR"
    elif any(first in decoded_schema(other).names for other in KINDS):
        return "NULL::VARCHAR"  # a column of another kind of rows
    steps = "".join(f'."{step}"' for step in (first, *rest.split("."))[: None if rest else 1])
    return f"json_extract_string(payload, {literal('$' + steps)})"


@dataclass(frozen=True, slots=True)
class Condition:
    """One comparison of a field."""

    field: str
    operator: str
    value: object = None

    def sql(self, kind: str) -> str:
        """True or false, never null: a field that is missing is unequal to everything, and nothing else."""
        found, value = field_of(self.field, kind), literal(_text(self.value))
        if self.operator == "exists":
            return f"({found} IS NOT NULL)"
        if self.operator == "ne":
            return f"({found} IS DISTINCT FROM {value})"
        test = {
            "eq": f"{found} = {value}",
            "contains": f"contains({found}, {value})",
            "starts_with": f"starts_with({found}, {value})",
            "ends_with": f"ends_with({found}, {value})",
            "regex": f"regexp_matches({found}, {value})",
        }.get(self.operator)
        if test is None:
            number = isinstance(self.value, int | float) and not isinstance(self.value, bool)
            sides = (f"TRY_CAST({found} AS DOUBLE)", f"{self.value}::DOUBLE") if number else (found, value)
            test = f"{sides[0]} {_COMPARED[self.operator]} {sides[1]}"
        return f"coalesce({test}, false)"


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


@dataclass(frozen=True)
class Filter:
    """Drops rows that match, or all others."""

    action: str = "drop"
    match: str = "all"
    conditions: tuple[Condition, ...] = ()
    where: str | None = None
    name: str = "filter"
    keeps_secrets: bool = False

    @cached_property
    def known(self) -> frozenset[str]:
        """Kinds of rows that it can be asked of; a condition about columns that a kind has not matches none of it."""
        found, trouble = set(), ""
        for kind in KINDS:
            empty = decoded_schema(kind).empty_table()
            try:
                asked(f"SELECT ({self._sql(kind)})::BOOLEAN FROM rows", empty)
                found.add(kind)
            except duckdb.Error as error:
                trouble = str(error).splitlines()[0]
        if not found:
            raise ConfigError(f"the filter is no condition over rows: {trouble}", code="serve.filter")
        return frozenset(found)

    def apply(self, kind: str, rows: pa.Table) -> Changed:
        if kind not in self.known:
            matching = pa.array([False] * rows.num_rows)
        else:
            sql = f"SELECT coalesce(({self._sql(kind)})::BOOLEAN, false) AS m FROM rows ORDER BY {PLACE}"
            matching = asked(sql, rows)["m"]
        kept = rows.filter(pc.invert(matching) if self.action == "drop" else matching)
        return Changed(kept, rows.num_rows - kept.num_rows)

    def _sql(self, kind: str) -> str:
        if self.where is not None:
            return self.where
        word = " AND " if self.match == "all" else " OR "
        return word.join(condition.sql(kind) for condition in self.conditions) or "false"


@dataclass(frozen=True, slots=True)
class Sample:
    """Keeps a share of the rows; the same ones whenever it is asked."""

    rate: float
    key: str | None = None
    name: str = "sample"
    keeps_secrets: bool = False

    def apply(self, kind: str, rows: pa.Table) -> Changed:
        key = f"coalesce({field_of(self.key, kind)}, '')" if self.key else _whole(kind)
        most = int(self.rate * 2**64)
        sql = f"SELECT md5_number_lower({key})::HUGEINT < {most}::HUGEINT AS m FROM rows ORDER BY {PLACE}"
        kept = rows.filter(asked(sql, rows)["m"])
        return Changed(kept, rows.num_rows - kept.num_rows)


def _whole(kind: str) -> str:
    """All of a row as one text."""
    names = [name for name in decoded_schema(kind).names if name not in _HIDDEN]
    return "concat_ws(chr(31), " + ", ".join(f"{quoted(name)}::VARCHAR" for name in names) + ")"


@dataclass(frozen=True, slots=True)
class Reduce:
    """Keeps the first of similar rows of a window, and says in its payload how many they were."""

    group_by: tuple[str, ...]
    window: int = 5000
    "Milliseconds."
    max_events: int = 1000
    min_events: int = 2
    name: str = "reduce"
    keeps_secrets: bool = False

    def apply(self, kind: str, rows: pa.Table) -> Changed:
        """Rows that arrived together: what comes with the next batch begins groups of its own."""
        told = asked(self._sql(kind), rows)
        chosen = rows.take(told[PLACE])
        documents = pa.array(_noted(chosen["document"].to_pylist(), told), pa.binary())
        noted = with_new_documents(chosen, documents)
        return Changed(_where(pc.greater(told["n"], 1), noted, chosen), rows.num_rows - chosen.num_rows)

    def _sql(self, kind: str) -> str:
        fields = ", ".join(field_of(path, kind) for path in self.group_by)
        similar = f"workspace_id, timestamp // {self.window}, {fields}"
        return (
            f"WITH counted AS (SELECT {PLACE}, timestamp, (row_number() OVER w - 1) // {self.max_events} AS part, "
            f"hash({similar}) AS alike, count(*) OVER (PARTITION BY {similar}) AS all_ FROM rows "
            f"WINDOW w AS (PARTITION BY {similar} ORDER BY timestamp, {PLACE})), "
            f"alone AS (SELECT *, CASE WHEN all_ < {self.min_events} THEN {PLACE} ELSE -1 END AS own FROM counted) "
            f"SELECT arg_min({PLACE}, (timestamp, {PLACE})) AS {PLACE}, count(*) AS n, "
            f"max(timestamp) - min(timestamp) AS span FROM alone GROUP BY alike, part, own ORDER BY {PLACE}"
        )


def _noted(documents: Sequence[bytes], told: pa.Table) -> list[bytes]:
    counted = zip(documents, told["n"].to_pylist(), told["span"].to_pylist(), strict=True)
    return [_with_count(text, n, span) if n > 1 else text for text, n, span in counted]


def _with_count(text: bytes, count: int, span: int) -> bytes:
    more = b'"_reduced_count":%d,"_reduced_span_ms":%d}' % (count, span)
    if text[:1] != b"{":
        return b'{"value":%s,%s' % (text, more)
    front = text.rstrip()[:-1].rstrip()
    return front + (b"" if front.endswith(b"{") else b",") + more


def _where(chosen: pa.ChunkedArray, these: pa.Table, those: pa.Table) -> pa.Table:
    columns = [pc.if_else(chosen, these[name], those[name]) for name in these.column_names]
    return pa.Table.from_arrays(columns, schema=these.schema)
