"""The vocabulary: every block, its attributes, and what they must be."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tailrace.config.attributes import Attr, Attrs, BlockType
from tailrace.config.declare_formats import FORMAT_SYNONYMS as FORMAT_SYNONYMS
from tailrace.config.declare_formats import FORMATS as FORMATS
from tailrace.config.declare_formats import IGNORED_DELIMITED as IGNORED_DELIMITED
from tailrace.config.declare_formats import OF_TABLE as OF_TABLE
from tailrace.config.declare_formats import format_types
from tailrace.config.declare_live import LISTENER, SINK, WINDOW
from tailrace.config.declare_sources import CONNECTIONS, KINDS, SOURCE

NAME = re.compile(r"\w[\w \-]*")
_RETENTION = Attr("duration", "Age at which days expire, such as `400d`.")
_DEDUPE = Attr("names", "Columns that tell events apart: of rows with the same values in them one is stored.")
_DEDUPE_WINDOW = Attr("duration", "How far apart in time two rows of one event may be.", default="1d")

PARTITION: Attrs = {
    "table": Attr("table", "The table, where the block has one label only.", to=("table",)),
    "type": Attr("table", "The same as `table`.", to=("table",), same_as="table"),
    "description": Attr("text", "What is collected here."),
    "filter": Attr("text", "A DuckDB condition; rows for which it is not true are not stored."),
    "tp_index": Attr("text", "Column, or name in `file_layout`, whose value becomes `tp_index`; else `default`."),
    "source": Attr("references", "A top-level source, or a list of them: `source.file.web`.", to=("source",)),
    "source_format": Attr("format", "Format of sources that name none: a reference, a map or a layout."),
    "store": Attr("reference", "Where the days rest.", to=("store",)),
    "tiers": Attr("references", "Tiers where the days rest.", to=("tier", "partition")),
    "partitions": Attr("references", "The same as `tiers`.", to=("tier", "partition"), same_as="tiers"),
    "partition": Attr("references", "The same as `tiers`.", to=("tier", "partition"), same_as="tiers"),
    "retention": _RETENTION,
    "dedupe": _DEDUPE,
    "dedupe_window": _DEDUPE_WINDOW,
    "lookback": Attr("duration", "How far the first collection goes back.", default="30d"),
}
RESTING = frozenset({"store", "tiers", "retention"})
"Attributes of a partition that say where its days rest, and for how long."
COLUMN: Attrs = {
    "type": Attr("text", "A DuckDB type; varchar when absent."),
    "source": Attr("text", "The source field; by default the column's own name."),
    "transform": Attr("text", "A DuckDB expression over source fields, in place of `source`."),
    "time": Attr(
        "text",
        "How a timestamp is written: `epoch`, `epoch_ms`, or a strptime pattern; ISO 8601 when absent.",
    ),
    "null_if": Attr("text", "A text that means null."),
    "required": Attr("flag", "A row in which the column is null is quarantined."),
    "description": Attr("text", "What the column says."),
}
TABLE: Attrs = {
    "extends": Attr("table", "A built-in table whose columns and formats this one has too: `table.x`.", to=("table",)),
    "format": Attr("format", "Format of sources that name none."),
    "description": Attr("text", "What a row is."),
    "null_if": Attr("text", "A text that means null in every column."),
    "map_fields": Attr("texts", "Globs over source fields that become columns without being declared."),
    "dedupe": _DEDUPE,
    "dedupe_window": _DEDUPE_WINDOW,
    "retention": _RETENTION,
}
WORKSPACE: Attrs = {
    "base": Attr("reference", "Another workspace whose settings hold unless set here.", to=("workspace",)),
    "path": Attr("text", "Where the lake lies: a directory, or a URL: `s3://…`, `gs://…`, `az://…`."),
    "connection": Attr("reference", "Credentials for the path.", to=("connection",)),
    "query_cache_size": Attr("size", "How much of a lake elsewhere is kept on local disk.", default="10GB"),
    "lookback": Attr("duration", "How far first collections go back.", default="30d"),
    "retention": _RETENTION,
    "prefer_plugins": Attr("texts", "Packages that win, in this order, where several provide one name."),
    "log_level": Attr(
        "text", "How much is logged.", choices=("off", "error", "warn", "info", "debug", "trace"), active=False
    ),
    "memory_max_mb": Attr("number", "Upper bound of memory.", active=False),
    "update_check": Attr("flag", "Taken for compatibility: Tailrace never calls home.", active=False),
    "plugin_memory_max_mb": Attr("number", "Taken for compatibility.", active=False),
    "temp_dir_max_mb": Attr("number", "Taken for compatibility.", active=False),
}
TIER: Attrs = {
    "path": Attr("text", "Directory or URL: `s3://…`, `gs://…`, `az://…`.", required=True),
    "location": Attr("text", "The same as `path`.", same_as="path"),
    "connection": Attr("reference", "Credentials for the path.", to=("connection",)),
    "max_age": Attr("duration", "Days up to this age rest here."),
    "from": Attr("time", "First day that rests here."),
    "to": Attr("time", "A date: the last day that rests here; a time: the end."),
    "where": Attr("text", "A condition on `tp_*` columns; days for which it holds rest here."),
    "partition_by": Attr(
        "names", "Columns that make the directories.", default=("tp_partition", "tp_index", "tp_date")
    ),
    "attached": Attr("flag", "false: days are kept here, but are not part of the default schema.", default=True),
    "description": Attr("text", "What rests here."),
}
STORE: Attrs = {
    "retention": _RETENTION,
    "description": Attr("text", "What it is for."),
}
_ALL = ("*",)
SCHEMA: Attrs = {
    "tables": Attr("texts", "Wildcards over tables.", default=_ALL),
    "types": Attr("texts", "The same as `tables`.", same_as="tables"),
    "partitions": Attr("texts", "Wildcards over partitions.", default=_ALL),
    "collections": Attr("texts", "The same as `partitions`.", same_as="partitions"),
    "indexes": Attr("texts", "Wildcards over `tp_index`.", default=_ALL),
    "connections": Attr("texts", "The same as `indexes`.", same_as="indexes"),
    "stores": Attr("texts", "Wildcards over stores and tiers.", default=_ALL),
    "partition": Attr("texts", "The same as `stores`.", same_as="stores"),
    "start_date": Attr("time", "First day."),
    "end_date": Attr("time", "Last day, included."),
    "materialized": Attr("flag", "Keep a snapshot that `schema refresh` renews.", default=False),
    "description": Attr("text", "What it shows."),
}
VARIABLE: Attrs = {
    "type": Attr("any", "`string`, `number`, `bool`, `list(string)` …"),
    "default": Attr("any", "What holds when nothing is given."),
    "description": Attr("text", "What it is for."),
    "sensitive": Attr("flag", "Is never shown.", default=False),
}
_TIER = BlockType("tier", "A place where days rest, by age, by range or by condition.", TIER, synonyms=("partition",),
    example='tier "archive" {\n  path = "s3://archive/logs"\n}')  # fmt: skip
_COLUMN = BlockType("column", "One column of a table.", COLUMN)
_FILE = '  source "file" {\n    paths = ["/var/log/nginx"]\n  }\n'


def _blocks(*blocks: BlockType) -> dict[str, BlockType]:
    return {block.name: block for block in blocks}


BLOCK_TYPES: Mapping[str, BlockType] = _blocks(
    BlockType(
        "partition", "The unit of collection: a table, a name, and one or more sources.", PARTITION, ("table", "name"),
        {"source": BlockType("source", "Where the rows come from.", SOURCE, ("kind", "name"), types=KINDS),
         "tier": _TIER, "partition": _TIER},
        synonyms=("collection",), example=f'partition "nginx_access_log" "web" {{\n{_FILE}}}',
    ),
    BlockType(
        "source", "Where rows come from; several partitions may refer to it.", SOURCE, ("kind", "name"), types=KINDS,
        example='source "file" "web" {\n  paths = ["/var/log/nginx"]\n}',
    ),
    BlockType(
        "connection", "Credentials, and how to reach a service.", {}, ("type", "name"), types=CONNECTIONS,
        example='connection "aws" "prod" {\n  profile = "prod"\n}',
    ),
    BlockType(
        "format", "How bytes become columns.", {}, ("type", "name"), types=format_types(),
        example='format "jsonl" "app" {\n  field_map = {\n    src_ip = "from_addr"\n  }\n}',
    ),
    BlockType(
        "table", "A table of your own, or additions to a built-in one.", TABLE, blocks={"column": _COLUMN},
        example='table "app_log" {\n  format = format.jsonl.default\n'
        '  column "tp_timestamp" {\n    source = "time"\n  }\n  column "status" {\n    type = "integer"\n  }\n}',
    ),
    _COLUMN,
    BlockType(
        "workspace", "A lake, and settings that go with it.", WORKSPACE,
        example='workspace "default" {\n  path = "/data/lake"\n}',
    ),
    BlockType(
        "store", "Where the days of partitions rest.", STORE, blocks={"tier": _TIER, "partition": _TIER},
        example='store "default" {\n  tier "recent" {\n    path    = "/data/recent"\n    max_age = "7d"\n  }\n'
        '  tier "archive" {\n    path = "s3://archive/logs"\n  }\n}',
    ),
    _TIER,
    BlockType(
        "schema", "A named, filtered set of views.", SCHEMA, synonyms=("dataset",),
        example='schema "q1" {\n  tables     = ["aws_*"]\n  start_date = "2024-01-01"\n  end_date   = "2024-03-31"\n}',
    ),
    SINK,
    LISTENER,
    WINDOW,
    BlockType("locals", "Names for values: `local.x`.", {}, ()),
    BlockType("variable", "A value from outside: `var.x`.", VARIABLE),
)  # fmt: skip
"Every kind of block; those of `source`, `connection`, `format`, `sink` and `listener` take more by type."
BLOCK_SYNONYMS = {word: kind.name for kind in BLOCK_TYPES.values() for word in kind.synonyms if word != "partition"}
BLOCKS = frozenset({*BLOCK_TYPES, *BLOCK_SYNONYMS} - {"column"})
OTHER_BLOCKS = frozenset({"store", "tier", "schema", "sink", "listener", "window"})
"Blocks that are read as they are declared, without code of their own."
LATER_TABLES = frozenset(
    [
        "crowdstrike_aid_master", "crowdstrike_app_info", "crowdstrike_fdr_event", "crowdstrike_managed_asset",
        "crowdstrike_user_info", "kubernetes_audit_logs", "kubernetes_events", "kubernetes_pod_logs",
        "kubernetes_resources",
    ]
)  # fmt: skip
"Tables that partitions may name already; once a table is built in, being listed here means nothing."
