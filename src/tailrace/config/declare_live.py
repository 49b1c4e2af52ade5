"""The vocabulary of live data and windows: listeners, sinks, transforms, windows."""

from __future__ import annotations

from tailrace.config.attributes import Attr, Attrs, BlockType

_NOTE: Attrs = {"description": Attr("text", "What it is for.")}
_ENABLED: Attrs = {"enabled": Attr("flag", "Is it in use?", default=True), **_NOTE}
_CODECS = ("snappy", "gzip", "lz4", "zstd", "uncompressed")
_FIELD_OPERATORS = (
    "eq", "ne", "contains", "starts_with", "ends_with", "regex", "exists", "gt", "lt", "gte", "lte",
)  # fmt: skip


def _type(
    name: str, doc: str, attributes: Attrs, labels: tuple[str, ...] = ("type", "name"), active: bool = False
) -> BlockType:
    return BlockType(name, doc, attributes, labels, active=active)


def _types(*types: BlockType) -> dict[str, BlockType]:
    return {found.name: found for found in types}


_CONDITION = _type("condition", "One comparison.", {
    "field": Attr("text", "Dotted path of a field.", required=True),
    "operator": Attr("text", "How it is compared.", choices=_FIELD_OPERATORS, default="eq"),
    "value": Attr("any", "With what."),
}, ())  # fmt: skip
_FIELD = _type("field", "One field to redact.", {
    "path": Attr("text", "Dotted path of the field.", required=True),
    "pattern": Attr("text", "Only where its value is such a thing."),
    "strategy": Attr("text", "How.", choices=("redact", "hash")),
}, ())  # fmt: skip
TRANSFORMS = _types(
    BlockType("filter", "Drop rows, or keep them.", {
        "action": Attr("text", "What happens to rows that match.", choices=("drop", "keep"), default="drop"),
        "match": Attr("text", "Do all conditions have to hold, or any?", choices=("all", "any"), default="all"),
        "where": Attr("text", "In place of conditions: a DuckDB condition."),
    }, ("type",), {"condition": _CONDITION}),
    BlockType("redact", "Take personal data out; a row that cannot be redacted is not stored.", {
        "strategy": Attr("text", "By a word, or by a keyed hash.", choices=("redact", "hash"), default="redact"),
        "hash_key": Attr("text", "Key of the hash.", secret=True),
        "patterns": Attr("texts", "What is looked for.", choices=(
            "email", "phone", "credit_card", "ssn_us", "cpr_dk", "nino_uk", "bsn_nl", "ipv4", "ipv6", "passport",
            "iban",
        )),
        "custom_patterns": Attr("map", "Own expressions by name."),
        "scan_all": Attr("flag", "Look into every text.", default=False),
    }, ("type",), {"field": _FIELD}),
    _type("sample", "Keep a share of the rows.", {
        "rate": Attr("number", "Share between 0 and 1.", required=True, fraction=True),
        "key": Attr("text", "Field whose equal values stay or go together."),
    }, ("type",), active=True),
    _type("reduce", "Keep the first of similar rows, with their number.", {
        "group_by": Attr("texts", "Fields that tell similar rows.", required=True),
        "window": Attr("duration", "How long rows are gathered.", default="5s"),
        "max_events": Attr("number", "Rows of a group at most.", default=1000, least=1),
        "min_events": Attr("number", "Smaller groups stay as they are.", default=2, least=1),
    }, ("type",), active=True),
    _type("pattern", "Tell by which template a message was written.", {
        "field": Attr("text", "Dotted path of the message.", default="message"),
        "similarity_threshold": Attr(
            "number", "Share of equal words from which messages are alike.", default=0.5, fraction=True
        ),
        "max_child_nodes": Attr("number", "First words that are told apart, for each length.", default=100, least=1),
        "cache_size": Attr("number", "Templates at most.", default=100_000, least=1),
    }, ("type",), active=True),
)  # fmt: skip
TRANSFORM = BlockType(
    "transform",
    "What happens to decoded rows before they are stored.",
    _NOTE,
    ("type",),
    types=TRANSFORMS,
)
_COUNTED: Attrs = {
    "flush_interval": Attr("duration", "How long rows may wait before they are written.", default="10s"),
    "metrics_enabled": Attr("flag", "Are counters published?", default=True),
    "metrics_interval": Attr("duration", "How often.", default="10s"),
}
_FLUSHED: Attrs = {
    **_COUNTED,
    "retention": Attr("duration", "Age at which files are deleted."),
    **_ENABLED,
}
_LATE = "Rows that come later are quarantined."
_LATENESS: Attrs = {"max_lateness": Attr("duration", _LATE, default="7d")}
_OF_ANY_AGE: Attrs = {"max_lateness": Attr("duration", _LATE, default="3650d")}
"The lake has a day for rows of any age; a clock that begins with 1970 is wrong all the same."
SINKS = _types(
    _type("parquet", "One Parquet file per kind of row, workspace and period.", {
        "path": Attr("text", "Output directory; a relative one counts from the working directory.", required=True),
        "rotation": Attr("text", "Period of a file.", choices=("daily", "hourly"), default="daily"),
        "compression": Attr(
            "text", "Codec.", choices=_CODECS, default="snappy"
        ),
        "data_format": Attr("text", "How payloads are stored.", choices=("json", "binary"), default="json"),
        "row_group_size": Attr("number", "Rows of a row group.", default=100_000, least=1),
        "partition_by": Attr(
            "text", "Which time says the period.", choices=("event_time", "processing_time"), default="event_time"
        ),
        "workspace_id_type": Attr(
            "text", "`int64` lets Spark skip row groups.", choices=("uint64", "int64"), default="uint64"
        ),
        **_LATENESS, **_FLUSHED,
    }, active=True),
    _type("lake", "A table of the lake.", {
        "table": Attr("table", "The table.", to=("table",), required=True),
        "partition": Attr(
            "text", "Name of the partition; what a `partition` block of the table and name says holds too.",
            default="live",
        ),
        "kinds": Attr(
            "texts", "What is taken of HTTP and FlatBuffers; syslog and OTLP are logs.",
            choices=("events", "logs", "snapshots"), default=("events", "logs", "snapshots"),
        ),
        "format": Attr(
            "reference", "How lines and messages are read; without it as the table says, or as they come.",
            to=("format",),
        ),
        "filter": Attr("text", "A DuckDB condition: other rows are not stored."),
        "tp_index": Attr("text", "Column whose value becomes tp_index."),
        **_OF_ANY_AGE, **_COUNTED, **_ENABLED,
    }, active=True),
    _type("otap", "Logs as the four OTAP tables that windows read.", {
        "path": Attr("text", "Output directory.", required=True),
        "compression": Attr("text", "Codec.", choices=_CODECS, default="zstd"),
        **_FLUSHED,
    }, active=True),
)  # fmt: skip
SINK = BlockType(
    "sink", "Where live rows are written.",
    {"listeners": Attr("references", "Listeners that it takes rows from; all when absent.", to=("listener",))},
    ("type", "name"), {"transform": TRANSFORM}, SINKS,
    example='sink "parquet" "events" {\n  path     = "parquet/"\n  rotation = "daily"\n}',
)  # fmt: skip
_SERVER: Attrs = {
    "host": Attr("text", "Address that it listens on.", default="127.0.0.1"),
    "tls_cert": Attr("text", "File of the certificate."),
    "tls_key": Attr("text", "File of the certificate's key."),
    "max_connections": Attr("number", "Connections at a time.", default=1000, least=1),
    "max_per_address": Attr(
        "number",
        "Connections of one address at a time; trusted proxies and gRPC are not counted.",
        default=500,
        least=1,
    ),
    "rate_limit": Attr("number", "Requests a second of one key or address, or messages.", least=0.001, fraction=True),
    "sinks": Attr("references", "Sinks that get its rows; all when absent.", to=("sink",)),
    **_ENABLED,
}
_KEYS: Attrs = {"api_keys_file": Attr("text", "File of `key:workspace:name` lines.")}
_TENANT: Attrs = {"workspace_id": Attr("number", "Tenant of what arrives here.", default=1)}


def _port(number: int) -> Attrs:
    return {"port": Attr("number", "Port; 0 = any that is free.", default=number)}


LISTENERS = _types(
    _type("http", "JSON lines and FlatBuffers over HTTP.", {
        **_port(8080), **_SERVER, **_KEYS,
        "max_body": Attr("size", "Largest body, before and after decompression.", default="10MB"),
        "max_lines": Attr("number", "Lines of a request.", default=10_000, least=1),
        "max_depth": Attr("number", "Nesting of JSON.", default=32, least=1),
        "request_timeout": Attr("duration", "For the head of a request, and again for its body.", default="30s"),
        "trusted_proxies": Attr("texts", "Networks whose `X-Forwarded-For` is believed."),
    }, active=True),
    _type("tcp", "Framed FlatBuffers over TCP.", {
        **_port(50000), **_SERVER, **_KEYS,
        "max_frame": Attr("size", "Largest frame.", default="16MB"),
        "frame_timeout": Attr("duration", "How long one frame may take to come.", default="60s"),
        "event_layout": Attr("text", "Version of events.", choices=("auto", "v1", "v2"), default="auto"),
        "trusted_proxies": Attr("texts", "Networks that may name the sender's address."),
    }, active=True),
    _type("syslog", "Syslog, RFC 3164 and 5424.", {
        **_port(514), **_SERVER, **_TENANT,
        "protocol": Attr("text", "How it arrives.", choices=("tcp", "udp", "both"), default="both"),
        "max_message": Attr("size", "Longest message.", default="64KB"),
        "idle_timeout": Attr("duration", "Silence after which a connection is closed.", default="30s"),
    }, active=True),
    _type("otlp", "OpenTelemetry logs over HTTP or gRPC.", {
        **_port(4318), **_SERVER, **_KEYS, **_TENANT,
        "protocol": Attr("text", "How they arrive.", choices=("http", "grpc"), default="http"),
        "max_body": Attr("size", "Largest body, before and after decompression.", default="10MB"),
        "trusted_proxies": Attr("texts", "Networks whose `X-Forwarded-For` is believed."),
    }, active=True),
)  # fmt: skip
LISTENER = BlockType(
    "listener", "Where live rows arrive.", {}, ("type", "name"), {"transform": TRANSFORM}, LISTENERS,
    example='listener "http" "public" {\n  port  = 8080\n  sinks = [sink.parquet.events]\n}',
)  # fmt: skip

TEMPORAL: Attrs = {
    "window_granularity": Attr("duration", "Length of a window; windows are aligned to the clock.", default="1m"),
    "processing_delay": Attr("duration", "How long late arrivals are waited for.", default="10m"),
    "max_clock_drift": Attr("duration", "How far clocks may differ.", default="1m"),
    "max_file_duration": Attr("duration", "Longest time that one file covers.", default="1m"),
    "safety_margin": Attr("duration", "The sum of the three before; given, it has to be just that."),
}
PASS_THROUGH = (
    "SELECT * FROM log_attributes WHERE timestamp_unix_nano >= {window_start_ns} "
    "AND timestamp_unix_nano < {window_end_ns} ORDER BY _part_id, parent_id, key"
)
WINDOW = BlockType(
    "window", "A query over every window of time.",
    {
        "base_uri": Attr("text", "Directory or URL that holds `logs`, `log_attrs` …", required=True),
        "path": Attr("text", "The same as `base_uri`.", same_as="base_uri"),
        "connection": Attr("reference", "Credentials for it.", to=("connection",)),
        "signal_types": Attr("texts", "What is read.", choices=("logs",), default=("logs",)),
        "query": Attr(
            "text", "SQL with `{window_start_ns}`, `{window_end_ns}`, `{sample_size}`; all logs when absent.",
            default=PASS_THROUGH,
        ),
        **TEMPORAL,
        "start_at": Attr("text", "First window: `earliest`, `now` or a time.", default="earliest"),
        "late_files": Attr("text", "Files that come too late.", choices=("drop", "emit", "fail"), default="drop"),
        "undated": Attr("text", "Rows without a time.", choices=("ingest_time", "drop"), default="ingest_time"),
        "attributeless": Attr("text", "Logs without attributes.", choices=("sentinel", "drop"), default="sentinel"),
        "resource_resolution": Attr("text", "Files with short ids.", choices=("recover", "strict"), default="recover"),
        "allow_unpartitioned": Attr("flag", "Read files outside of `_part_id=` directories.", default=False),
        "engine": Attr("text", "Where the query runs.", choices=("auto", "duckdb", "spark"), default="auto"),
        "state_dir": Attr("text", "Where finished windows are recorded."),
        "check_interval": Attr("duration", "How often new files are looked for.", default="30s"),
        "query_timeout": Attr(
            "duration", "After which a window's query is stopped, and the run with it; `0s` = never.", default="5m"
        ),
        **_ENABLED,
    },
    blocks={
        "temporal": BlockType("temporal", "The times, gathered in a block.", TEMPORAL, ()),
        "sampling": BlockType("sampling", "What `weighted_reservoir_sample` does.", {
            "sample_size": Attr("number", "Rows of a sample.", default=100, least=1),
            "strategy": Attr(
                "text", "How rows are drawn.", choices=("weighted", "uniform", "stratified"), default="weighted"
            ),
            "seed": Attr("number", "The same seed draws the same rows.", default=0),
            "preserve_weights": Attr("flag", "Weights that rows bring along count.", default=True),
            "invalid_weight": Attr("text", "Weights that are none.", choices=("one", "drop", "fail"), default="one"),
            "adjusted_count_type": Attr(
                "text", "`double` makes a number of `sampling.adjusted_count` where the query gives a text.",
                choices=("string", "double"), default="string",
            ),
        }, ()),
        "performance": BlockType("performance", "How much at a time.", {
            "batch_size": Attr("number", "Logs of an output batch.", default=65535, least=1),
            "target_partitions": Attr("number", "Tasks of a shuffle, where Spark answers.", default=8, least=1),
            "max_concurrent_windows": Attr(
                "number", "Windows under way at a time; absent, one per core, and one where Spark answers.", least=1
            ),
            "max_concurrent_files": Attr(
                "number", "Files of a window read at a time from a bucket; on disk it is one.", default=10, least=1
            ),
            "memory_limit": Attr(
                "size", "What DuckDB may hold for a window before it uses the disk, beside the window's rows.",
                default="1GB",
            ),
            "enable_arrow_optimization": Attr(
                "flag", "Taken for compatibility, without effect: rows are always Arrow's.", default=True
            ),
        }, ()),
        "output": BlockType("output", "Where results go.", {
            "format": Attr(
                "text", "What is written.",
                choices=("otlp_proto", "otlp_json", "otap_parquet", "otap_ipc", "parquet"), default="otlp_proto",
            ),
            "path": Attr("text", "Directory or URL."),
            "endpoint": Attr("text", "OTLP/HTTP address that gets them as well."),
            "headers": Attr("map", "Headers of every request to it.", secret=True),
            "connection": Attr("reference", "Credentials for `path`.", to=("connection",)),
        }, ()),
    },
    example='window "errors" {\n  base_uri           = "/data/otap"\n  window_granularity = "1m"\n'
    "  query              = <<-SQL\n    SELECT la.* FROM log_attributes la JOIN logs l ON l.id = la.parent_id\n"
    "    AND l._part_id = la._part_id WHERE l.severity_number >= 17\n  SQL\n}",
)  # fmt: skip
