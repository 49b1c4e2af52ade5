"""What is compared, format by format: a plain table of ours, and DuckDB's way to the same typed columns."""

from __future__ import annotations

from dataclasses import dataclass, replace

import format_duckdb as duckdb
from format_inputs import W3C_FIELDS
from tailrace.core import (
    Avro,
    Column,
    Common,
    Delimited,
    Format,
    Grok,
    Json,
    Jsonl,
    Layout,
    Otlp,
    Pairs,
    Parquet,
    Regex,
    Syslog,
    Table,
    W3c,
    Xml,
    Zeek,
    col,
)

LOCAL = "%d/%b/%Y:%H:%M:%S %z"
COLUMNS = tuple(col(name, kind.lower()) for name, kind in duckdb.TYPES.items())
NGINX = Layout(
    '$addr - $user [$time] "$request" $status $size "$referer" "$agent"',
    dialect="nginx",
    split=(("request", ("method", "path", "protocol")),),
)
GROK = Grok(
    r'^%{IPORHOST:addr} %{USER} %{USER:user} \[%{HTTPDATE:time}\] "%{WORD:method} %{NOTSPACE:path} '
    r'%{NOTSPACE:protocol}" %{NUMBER:status} %{NUMBER:size} "%{DATA:referer}" "%{DATA:agent}"$'
)
REGEX = Regex(
    r'^(?P<addr>\S+) \S+ (?P<user>\S+) \[(?P<time>[^\]]*)\] "(?P<method>\S+) (?P<path>\S+) (?P<protocol>[^"]*)" '
    r'(?P<status>\d+) (?P<size>\d+) "(?P<referer>[^"]*)" "(?P<agent>[^"]*)"$'
)
W3C = {
    "time": "date_time", "addr": "c-ip", "user": "cs-username", "method": "cs-method", "path": "cs-uri-stem",
    "status": "sc-status", "size": "sc-bytes", "took": "time-taken", "agent": "cs(User-Agent)",
}  # fmt: skip
CEF = {
    "time": "rt", "addr": "src", "user": "suser", "method": "requestMethod", "path": "request", "size": "out",
    "agent": "requestClientApplication",
}  # fmt: skip
SYSLOG = (
    col("priority", "integer"), col("time", "timestamp", "timestamp"), col("hostname"), col("app_name"),
    col("proc_id"), col("msg_id"), col("message"),
)  # fmt: skip
OTLP = (
    col("time", "timestamp", "time_unix_nano", time="epoch_ns"), col("severity_number", "integer"),
    col("severity_text"), col("body"), col("attributes", "json"), col("scope_name"), col("service_name"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Job:
    """One format; `limit`: how many times DuckDB's CPU time ours may take."""

    name: str
    input: str
    table: Table
    query: str = ""
    "DuckDB's; empty where it cannot read the format."
    way: str = ""
    limit: float | None = None


def table(fmt: Format, columns: tuple[Column, ...] = COLUMNS, null: str | None = None) -> Table:
    return Table("plain", "Requests.", fmt, columns, Common(time=("time",)), null=null)


def timed(time: str, *without: str) -> tuple[Column, ...]:
    """The columns but some, with a spelling of the time."""
    kept = (column for column in COLUMNS if column.name not in without)
    return tuple(replace(column, time=time) if column.name == "time" else column for column in kept)


def renamed(sources: dict[str, str], columns: tuple[Column, ...] = COLUMNS) -> tuple[Column, ...]:
    """Those of the columns that have a source, from there."""
    return tuple(replace(column, src=sources[column.name]) for column in columns if column.name in sources)


REQUEST = (*timed(LOCAL, "took"), col("protocol"), col("referer"))
WORDS = Layout("time addr user method path status size took")
ZEEK = {**dict(zip(duckdb.TYPES, duckdb.TYPES, strict=True)), "time": "ts"}
JOBS = (
    Job("json", "json", table(Json("Records")), duckdb.JSON, "from_json, unnest", 0.5),
    Job("jsonl", "jsonl", table(Jsonl()), duckdb.PLAIN["jsonl"], "read_json", 0.5),
    Job("delimited", "delimited", table(Delimited()), duckdb.PLAIN["delimited"], "read_csv", 0.5),
    Job("layout of words", "words", table(WORDS, timed("epoch_s", "agent"), "-"), duckdb.WORDS, "read_csv", 0.5),
    Job("layout with quotes", "combined", table(NGINX, REQUEST, "-"), duckdb.QUOTES, "read_csv", 0.5),
    Job("grok", "combined", table(GROK, REQUEST, "-"), duckdb.MATCHED, "regexp_extract", 1.0),
    Job("regex", "combined", table(REGEX, REQUEST, "-"), duckdb.MATCHED, "regexp_extract", 1.0),
    Job("w3c", "w3c", table(W3c((tuple(W3C_FIELDS.split()),)), renamed(W3C), "-"), duckdb.W3C, "read_csv"),
    Job(
        "cef", "cef", table(Pairs("cef"), (col("device_vendor"), *renamed(CEF, timed("epoch_ms")))),
        duckdb.CEF, "regexp_extract per key",
    ),
    Job("logfmt", "logfmt", table(Pairs("logfmt")), duckdb.LOGFMT, "regexp_extract per key"),
    Job("syslog", "syslog", table(Syslog(), SYSLOG), duckdb.TOLD, "regexp_extract"),
    Job("zeek", "zeek", table(Zeek(), renamed(ZEEK, timed("epoch_s")), "-"), duckdb.ZEEK, "read_csv"),
    Job("parquet", "parquet", table(Parquet()), duckdb.PLAIN["parquet"], "read_parquet"),
    Job("otlp json", "otlp", table(Otlp(), OTLP), duckdb.OTLP, "from_json, unnest"),
    Job("avro", "avro", table(Avro())),
    Job("xml", "xml", table(Xml("Request"))),
)  # fmt: skip
