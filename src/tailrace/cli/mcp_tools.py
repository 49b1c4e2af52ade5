"""What an assistant may ask of a lake: which tables there are, what they mean, what is in them. Nothing is changed."""

from __future__ import annotations

import inspect
import io
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from tailrace.cli.mcp_server import Call, Message, Refused, Tool
from tailrace.core.errors import TailraceError, one_line

if TYPE_CHECKING:
    from tailrace.cli.listing import Row
    from tailrace.cli.options import Context
    from tailrace.config import Config
    from tailrace.lake.paths import Lake
    from tailrace.query.engine import Result
    from tailrace.query.limits import Limits

INSTRUCTIONS = """\
Tables of logs, one row per event, in DuckDB's SQL. Begin with list_tables; describe_table tells the columns of one \
and suggests queries. Every table has tp_timestamp (UTC, without zone), tp_date, tp_partition, tp_index, and the \
lists tp_ips, tp_usernames, tp_domains, tp_akas with whatever of the kind occurs in a row. A condition on \
tp_timestamp or tp_date, or from and to, keeps a query quick. Columns of type json take ->> and structs take dots."""
ONLY_LOOKING = "only SELECT over the tables of list_tables runs here"
LARGEST = 200_000
"Characters of the rows of an answer: more would fill whatever reads them."
_SHOWN = ("name", "description", "rows", "size", "first", "last", "changed", "partitions", "state")
_SELECTORS = "Only these partitions: table.partition, or the name of either; wildcards."
_Value = str | int | float | bool | None
T = TypeVar("T", bound=Struct)


class ListTables(Struct, forbid_unknown_fields=True):
    """Tables of the lake with what they hold: rows, size, first and last day, partitions; and those of live sinks."""

    names: Annotated[list[str], Meta(description="Only tables whose names these wildcards fit, such as aws_*.")] = []
    empty: Annotated[bool, Meta(description="Also tables that nothing has been collected into.")] = False


class DescribeTable(Struct, forbid_unknown_fields=True):
    """Columns of a table with their types and meanings, its partitions, and queries to begin with."""

    table: Annotated[str, Meta(description="Name of the table.")]


class Query(Struct, forbid_unknown_fields=True):
    """Run SQL in DuckDB's dialect. It can only look at tables; time, memory and rows are limited."""

    sql: Annotated[str, Meta(description="One SELECT, or several statements: the last one's rows are returned.")]
    parameters: Annotated[
        dict[str, _Value] | list[_Value],
        Meta(description="Values for $name in the SQL as an object, or for $1, $2 … as an array."),
    ] = {}
    start: Annotated[str | None, Meta(description="Only rows at or after: 2024-01-31, 2024-01-31T15:04:05Z, T-7d.")] = (
        msgspec.field(name="from", default=None)
    )
    end: Annotated[str | None, Meta(description="Only rows before this time.")] = msgspec.field(name="to", default=None)
    partitions: Annotated[list[str], Meta(description=_SELECTORS)] = []
    indexes: Annotated[list[str], Meta(description="Only rows with these values of tp_index; wildcards.")] = []
    schema: Annotated[str, Meta(description="The schema whose tables need no prefix.")] = "tailrace"
    limit: Annotated[int, Meta(ge=1, description="Most rows to return.")] = 100


class ListPartitions(Struct, forbid_unknown_fields=True):
    """Partitions, the units of collection: rows, days, days without rows, when they were last collected."""

    names: Annotated[list[str], Meta(description=_SELECTORS)] = []


class RecentCollections(Struct, forbid_unknown_fields=True):
    """What was collected or changed lately, newest first: time, kind of change, rows added and removed."""

    names: Annotated[list[str], Meta(description=_SELECTORS)] = []
    limit: Annotated[int, Meta(ge=1, le=200, description="Most changes to return.")] = 20


class SuggestQueries(Struct, forbid_unknown_fields=True):
    """Questions that a table can answer, each with SQL that runs as it is."""

    table: Annotated[str | None, Meta(description="Name of the table; without it all that have rows.")] = None


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools over one lake. Each call sees lake and configuration as they are then."""

    context: Context
    limits: Limits
    most_rows: int

    def all(self) -> list[Tool]:
        return [
            tool("list_tables", "List tables", ListTables, self.list_tables),
            tool("describe_table", "Describe a table", DescribeTable, self.describe_table),
            tool("query", "Run SQL", Query, self.query),
            tool("list_partitions", "List partitions", ListPartitions, self.list_partitions),
            tool("recent_collections", "Recent collections", RecentCollections, self.recent_collections),
            tool("suggest_queries", "Suggest queries", SuggestQueries, self.suggest_queries),
        ]

    def list_tables(self, asked: ListTables, _: Call) -> Message:
        from tailrace.cli.sink_tables import facts
        from tailrace.cli.table import table_rows

        config, lake = self._seen()
        rows = table_rows(config, lake, asked.names)
        shown = [row for row in rows if asked.empty or row["rows"] or row["state"] == "damaged"]
        tables = [{name: row[name] for name in _SHOWN} for row in shown]
        return {"tables": tables, **({"sinks": found} if (found := facts(config)) and not asked.names else {})}

    def describe_table(self, asked: DescribeTable, _: Call) -> Message:
        from tailrace.cli.example_queries import examples
        from tailrace.cli.sink_tables import facts
        from tailrace.cli.table import table_facts

        config, lake = self._seen()
        for sink in facts(config, asked.table):
            return sink
        name = _table(config, lake, asked.table)
        queries = [{"question": each.question, "sql": each.sql} for each in examples(name)]
        return {**table_facts(config, lake, name), "queries": queries}

    def list_partitions(self, asked: ListPartitions, _: Call) -> Message:
        from tailrace.cli.partition import partition_rows

        return {"partitions": partition_rows(*self._seen(), asked.names)}

    def recent_collections(self, asked: RecentCollections, _: Call) -> Message:
        from tailrace.cli.partition import partition_rows
        from tailrace.lake.undo import history

        config, lake = self._seen()
        found: list[Row] = []
        for row in partition_rows(config, lake, asked.names):
            if row["rows"] is not None:
                name = str(row["name"])
                table, partition = name.split(".", 1)
                found += (
                    {"partition": name, "at": c.at, "change": c.kind, "artifacts": c.artifacts, "files": c.files,
                     "rows_added": c.added, "rows_removed": c.removed, "version": c.version}
                    for c in history(lake, table, partition, asked.limit)
                )  # fmt: skip
        found.sort(key=lambda change: str(change["at"]), reverse=True)
        return {"changes": found[: asked.limit]}

    def suggest_queries(self, asked: SuggestQueries, _: Call) -> Message:
        from tailrace.cli.example_queries import examples
        from tailrace.cli.table import table_rows

        config, lake = self._seen()
        chosen: list[tuple[str, int | None]]
        if asked.table is not None:
            chosen = [(_table(config, lake, asked.table), None)]
        else:
            # Of many tables a few questions each: the rest is asked for by name.
            chosen = [(str(row["name"]), 3) for row in table_rows(config, lake) if row["rows"]]
        return {
            "queries": [
                {"table": name, "question": each.question, "sql": each.sql}
                for name, most in chosen
                for each in islice(examples(name), most)
            ]
        }

    def query(self, asked: Query, call: Call) -> Message:
        import duckdb

        from tailrace.cli.seeing import Configured, is_default, scope_of
        from tailrace.cli.settings import open_lake
        from tailrace.cli.sink_tables import beside
        from tailrace.query.engine import Engine
        from tailrace.query.process_memory import bounded

        lake = open_lake(self.context)
        configured = Configured(self.context, required=not is_default(asked.schema))
        scope = scope_of(
            lake, configured, schema=asked.schema, start=asked.start, end=asked.end,
            partitions=asked.partitions, indexes=asked.indexes, at=(),
        )  # fmt: skip
        sinks = beside(configured, scope, self.limits)
        seen = (configured.tables, configured.schemas, scope)
        engine = Engine(lake, *seen, limits=self.limits, tiers=configured.tiers, beside=sinks)
        call.stop = engine.connection.interrupt
        try:
            answer: Message = {"columns": [], "rows": []}
            given = asked.parameters
            values = given if isinstance(given, dict) else {str(n): value for n, value in enumerate(given, 1)}
            with bounded(engine.connection):
                for result in engine.run(asked.sql, values):
                    answer = _answer(result, min(asked.limit, self.most_rows))
            return answer | ({"warnings": list(engine.warnings)} if engine.warnings else {})
        finally:
            call.stop = None
            # A step of DuckDB that cannot be stopped keeps it: it goes when that has ended.
            with suppress(duckdb.ResourceInUseException):
                engine.connection.close()

    def _seen(self) -> tuple[Config, Lake]:
        from tailrace.cli.settings import load_config, open_lake

        config = load_config(self.context)
        return config, open_lake(self.context, config)


def tool(name: str, title: str, kind: type[T], run: Callable[[T, Call], Message]) -> Tool:
    """A tool whose arguments are described by their type."""
    _, described = msgspec.json.schema_components([kind])
    schema = {key: value for key, value in described[kind.__name__].items() if key not in ("title", "description")}

    def answer(given: Mapping[str, Any], call: Call) -> Message:
        from tailrace.cli.listing import as_json
        from tailrace.cli.redact import redacted

        try:
            found: Message = json.loads(as_json(run(msgspec.convert(given, kind), call)))
            return found
        except msgspec.ValidationError as error:
            raise Refused(f"error[usage]: {error}") from None
        except TailraceError as error:
            wanted = ONLY_LOOKING if error.code == "query.not-allowed" else error.hint
            hint = f"\nhint: {wanted}" if wanted else ""
            raise Refused(redacted(f"error[{error.code}]: {error}{hint}")) from error
        except Exception as error:  # one call that fails must not be the end of all others
            raise Refused(redacted(f"error[unexpected]: {type(error).__name__}: {one_line(error)}")) from error

    return Tool(name, title, inspect.getdoc(kind) or "", schema, answer)


def _table(config: Config, lake: Lake, name: str) -> str:
    from tailrace.cli.matching import chosen
    from tailrace.cli.table import known_tables
    from tailrace.core.registry import ALIASES

    found = chosen("table", ALIASES.get(name, name), known_tables(config, lake))
    return found[0]


def _answer(result: Result, most: int) -> Message:
    """Rows as JSON has them, as many as fit."""
    types = dict(zip(result.columns, result.types, strict=True))
    rows: list[Message] = []
    size, is_cut = 0, False
    for line in _lines(result, most + 1):
        size += len(line)
        if len(rows) == most or size > LARGEST:
            is_cut = True
            break
        rows.append(json.loads(line))
    answer: Message = {"columns": types, "rows": rows}
    if is_cut:
        answer["truncated"] = "there are more rows: aggregate, add conditions, or name fewer columns"
    return answer


def _lines(result: Result, most: int) -> Iterator[str]:
    from tailrace.query.engine import Result
    from tailrace.query.render import render

    if not result.columns:
        return
    for row in islice(result.rows, most):
        out = io.StringIO()
        render(Result(result.columns, result.types, iter([row])), "jsonl", out)
        yield out.getvalue()
