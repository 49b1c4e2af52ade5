"""The jobs by ClickHouse, through chDB."""

from __future__ import annotations

import importlib
from pathlib import Path

from columns import CLOUDTRAIL, NGINX, NGINX_REGEX, THREADS, VPC, event_type, spelled

COMMON = (
    f"max_threads={THREADS}",
    f"max_parsing_threads={THREADS}",
    f"max_insert_threads={THREADS}",
    "session_timezone='UTC'",
    "output_format_parquet_compression_method='zstd'",
    "max_partitions_per_insert_block=1000",
    "max_bytes_before_external_sort=4000000000",
)
JSON = tuple(
    f"input_format_json_{name}=1"
    for name in (
        "read_objects_as_strings",
        "read_arrays_as_strings",
        "ignore_unknown_keys_in_named_tuple",
        "defaults_for_missing_elements_in_named_tuple",
    )
)


def _insert(select: str, out: str, *settings: str) -> None:
    Path(out).mkdir(parents=True, exist_ok=True)
    target = f"file('{out}/{{_partition_id}}.parquet', 'Parquet')"
    importlib.import_module("chdb").query(
        f"INSERT INTO FUNCTION {target} PARTITION BY toYYYYMMDD(tp_date) {select} "
        f"SETTINGS {', '.join((*COMMON, *settings))}"
    )


def _shared(identity: str, address: str, more: str = "") -> str:
    """What form `same` adds to a table's columns."""
    return (
        f", hex(sipHash128({identity})) AS tp_id, _path AS tp_source_location, "
        f"{address} AS tp_source_ip, [{address}{more}] AS tp_ips"
    )


def _events(logs: str, out: str, same: bool, order: str) -> None:
    """Objects and arrays that are to stay JSON are read as strings: the setting that makes it fast."""
    source = f"file('{logs}/**/*.gz', 'JSONEachRow', 'Records Array({event_type('clickhouse')})')"
    time = "parseDateTime64BestEffort(assumeNotNull(e.`eventTime`), 6, 'UTC')"
    columns = ", ".join(
        f"{time if kind == 'time' else f'e.`{key}`'} AS {name}" for name, (key, kind) in CLOUDTRAIL.items()
    )
    rows, shared = f"SELECT arrayJoin(Records) AS e FROM {source}", ""
    if same:
        pairs = "arrayJoin(arrayZip(Records, arrayEnumerate(Records))) AS p"
        rows = f"SELECT _path, p.1 AS e, p.2 AS position FROM (SELECT _path, {pairs} FROM {source})"
        shared = f", event_time AS tp_timestamp{_shared('_path, position', 'source_ip_address')}"
    select = f"SELECT {columns}, toDate32(event_time) AS tp_date{shared} FROM ({rows}){order}"
    _insert(select, out, *JSON)


def cloudtrail(logs: str, out: str, same: bool) -> None:
    """Straight from the files to the days."""
    _events(logs, out, same, " ORDER BY tp_timestamp" if same else "")


def cloudtrail_by_day(logs: str, out: str, same: bool) -> None:
    """Ordered by day before writing: half the CPU, as long as the sort need not go to disk much."""
    _events(logs, out, same, " ORDER BY tp_date")


def nginx(logs: str, out: str, same: bool) -> None:
    """Whole lines and `extractGroups`, which beats the `Regexp` format."""
    regex = NGINX_REGEX.replace("\\", "\\\\")
    source = f"file('{logs}/**/*.gz', 'LineAsString', 'line String')"
    parsed = f"extractGroups(line, '{regex}') AS x, splitByChar(' ', x[4]) AS parts"
    rows = f"SELECT _path, line, {parsed} FROM {source}"
    names = ("request_method", "request_uri", "server_protocol")
    columns = (
        "x[1] AS remote_addr",
        "nullIf(x[2], '-') AS remote_user",
        "x[3] AS time_local",
        "toDateTime64(parseDateTimeInJodaSyntax(x[3], 'dd/MMM/yyyy:HH:mm:ss Z', 'UTC'), 6) AS tp_timestamp",
        *(f"if(length(parts) = 3, parts[{n + 1}], NULL) AS {name}" for n, name in enumerate(names)),
        f"toInt32(x[{NGINX.index('status') + 1}]) AS status",
        f"toInt64OrNull(x[{NGINX.index('body_bytes_sent') + 1}]) AS body_bytes_sent",
        f"nullIf(x[{NGINX.index('http_referer') + 1}], '-') AS http_referer",
        f"nullIf(x[{NGINX.index('http_user_agent') + 1}], '-') AS http_user_agent",
        "toDate32(tp_timestamp) AS tp_date",
    )
    shared = _shared("_path, line", "remote_addr") if same else ""
    order = " ORDER BY tp_timestamp" if same else ""
    _insert(f"SELECT {', '.join(columns)}{shared} FROM ({rows}){order}", out)


def vpc(logs: str, out: str, same: bool) -> None:
    """Fields between blanks by the CSV rules; a header line per file, `-` is null."""
    columns = ", ".join(f"{name} {spelled(kind, 'clickhouse')}" for name, kind in VPC.items())
    source = f"file('{logs}/**/*.gz', 'CustomSeparatedWithNames', '{columns}')"
    others = ", ".join(name for name in VPC if not name.endswith("_time"))
    start, end = (f"toDateTime64(assumeNotNull(v.{name}), 6, 'UTC')" for name in ("start_time", "end_time"))
    select = f"SELECT {others}, {start} AS start_time, {end} AS end_time, toDate32({start}) AS tp_date"
    shared = order = ""
    if same:
        identity = "_path, interface_id, src_addr, src_port, dst_addr, dst_port, v.start_time, bytes"
        shared = f", {start} AS tp_timestamp{_shared(identity, 'src_addr', ', dst_addr')}"
        order = " ORDER BY tp_timestamp"
    _insert(
        f"{select}{shared} FROM {source} AS v{order}",
        out,
        "format_custom_field_delimiter=' '",
        "format_custom_escaping_rule='CSV'",
        "format_csv_null_representation='-'",
        "input_format_with_names_use_header=0",
    )
