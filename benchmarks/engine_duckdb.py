"""The jobs by DuckDB: its own readers with every type given, so that nothing is sniffed."""

from __future__ import annotations

import json
from typing import Any

from columns import CLOUDTRAIL, NGINX, NGINX_REGEX, THREADS, VPC, event_type, spelled


def _copy(select: str, out: str) -> None:
    import duckdb

    with duckdb.connect() as con:
        con.execute(f"SET threads={THREADS}; SET preserve_insertion_order=false; SET enable_progress_bar=false")
        con.execute("SET TimeZone='UTC'")
        con.execute(f"COPY ({select}) TO '{out}' (FORMAT parquet, COMPRESSION zstd, PARTITION_BY (tp_date))")


def _shared(identity: str, address: str, more: str = "") -> str:
    """What form `same` adds to a table's columns."""
    return (
        f", md5({identity}) AS tp_id, filename AS tp_source_location, "
        f"{address} AS tp_source_ip, [{address}{more}] AS tp_ips"
    )


def _from_read_json(logs: str, same: bool) -> str:
    """Events by `read_json` with columns: the documented way."""
    source = (
        f"read_json('{logs}/**/*.gz', format='newline_delimited', "
        f"columns={{'Records': '{event_type('duckdb')}[]'}}, filename={str(same).lower()})"
    )
    return f"SELECT unnest(Records) AS e{_position('Records', same)} FROM {source}"


def _from_objects(logs: str, same: bool) -> str:
    """Events by whole documents and `from_json`: a quarter of the cost of `read_json`."""
    structure = json.dumps({"Records": [_structure(dict(CLOUDTRAIL.values()))]})
    source = f"read_ndjson_objects('{logs}/**/*.gz', filename={str(same).lower()})"
    place = ", filename" if same else ""
    documents = f"SELECT from_json(json, '{structure}').Records AS records{place} FROM {source}"
    return f"SELECT unnest(records) AS e{_position('records', same)} FROM ({documents})"


def _position(records: str, same: bool) -> str:
    return f", filename, generate_subscripts({records}, 1) AS position" if same else ""


def _structure(kind: Any) -> Any:
    """A type as `from_json` wants it."""
    return spelled(kind, "duckdb") if isinstance(kind, str) else {k: _structure(v) for k, v in kind.items()}


def _events(rows: str, out: str, same: bool) -> None:
    columns = ", ".join(f'e."{key}" AS {name}' for name, (key, _) in CLOUDTRAIL.items())
    shared = order = ""
    if same:
        shared = f", event_time AS tp_timestamp{_shared('filename || position', 'source_ip_address')}"
        order = " ORDER BY tp_timestamp"
    _copy(f"SELECT {columns}, event_time::DATE AS tp_date{shared} FROM ({rows}){order}", out)


def cloudtrail(logs: str, out: str, same: bool) -> None:
    """Documents, `from_json` and `unnest`; JSON columns stay text."""
    _events(_from_objects(logs, same), out, same)


def cloudtrail_read_json(logs: str, out: str, same: bool) -> None:
    """`read_json` and `unnest`; JSON columns stay text."""
    _events(_from_read_json(logs, same), out, same)


def _request_columns() -> str:
    """Columns of an nginx line over the struct `x` of its fields."""
    parts = ("request_method", "request_uri", "server_protocol")
    whole = "CASE WHEN x.request LIKE '% % %' THEN split_part(x.request, ' ', {}) END AS {}"
    return ", ".join(
        (
            "x.remote_addr AS remote_addr",
            "nullif(x.remote_user, '-') AS remote_user",
            "x.time_local AS time_local",
            "strptime(x.time_local, '%d/%b/%Y:%H:%M:%S %z')::TIMESTAMP AS tp_timestamp",
            *(whole.format(n + 1, name) for n, name in enumerate(parts)),
            "x.status::INTEGER AS status",
            "nullif(x.body_bytes_sent, '-')::BIGINT AS body_bytes_sent",
            "nullif(x.http_referer, '-') AS http_referer",
            "nullif(x.http_user_agent, '-') AS http_user_agent",
            "tp_timestamp::DATE AS tp_date",
        )
    )


def nginx(logs: str, out: str, same: bool) -> None:
    """Whole lines by the CSV reader, then one regex with a list of names."""
    lines = (
        f"read_csv('{logs}/**/*.gz', delim=chr(1), quote='', escape='', header=false, auto_detect=false, "
        f"columns={{'line': 'VARCHAR'}}, filename={str(same).lower()})"
    )
    rows = f"SELECT *, regexp_extract(line, '{NGINX_REGEX}', {list(NGINX)}) AS x FROM {lines}"
    shared = _shared("filename || line", "remote_addr") if same else ""
    order = " ORDER BY tp_timestamp" if same else ""
    _copy(f"SELECT {_request_columns()}{shared} FROM ({rows}){order}", out)


def nginx_csv(logs: str, out: str, same: bool) -> None:
    """The CSV reader alone: faster than any regex, but values with a backslash come out changed."""
    names = ("remote_addr", "ident", "remote_user", "day", "zone", *NGINX[3:])
    columns = ", ".join(f"'{name}': 'VARCHAR'" for name in names)
    source = (
        f"read_csv('{logs}/**/*.gz', delim=' ', quote='\"', escape='\\', header=false, auto_detect=false, "
        f"columns={{{columns}}})"
    )
    fields = ", ".join(f"{name} := {name}" for name in NGINX if name != "time_local")
    packed = f"struct_pack({fields}, time_local := substr(day, 2) || ' ' || rtrim(zone, ']'))"
    _copy(f"SELECT {_request_columns()} FROM (SELECT {packed} AS x FROM {source})", out)


def vpc(logs: str, out: str, same: bool) -> None:
    """The CSV reader; a header line per file."""
    columns = ", ".join(f"'{name}': '{spelled(kind, 'duckdb')}'" for name, kind in VPC.items())
    source = (
        f"read_csv('{logs}/**/*.gz', delim=' ', quote='', escape='', header=true, nullstr='-', "
        f"auto_detect=false, columns={{{columns}}}, filename={str(same).lower()})"
    )
    start, end = (f"make_timestamp(v.{name} * 1000000)" for name in ("start_time", "end_time"))
    others = ", ".join(f"v.{name}" for name in VPC if not name.endswith("_time"))
    select = f"{others}, {start} AS start_time, {end} AS end_time, {start}::DATE AS tp_date"
    if not same:
        return _copy(f"SELECT {select} FROM {source} v", out)
    identity = "concat_ws(' ', filename, interface_id, src_addr, src_port, dst_addr, dst_port, v.start_time, bytes)"
    shared = f", {start} AS tp_timestamp{_shared(identity, 'src_addr', ', dst_addr')}"
    return _copy(f"SELECT {select}{shared} FROM {source} v ORDER BY tp_timestamp", out)
