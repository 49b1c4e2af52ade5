"""DuckDB's way to typed columns, format by format: its own reader where it has one, else lines and regular expressions.

`$path` stands for the file. Records inside of documents are read by `from_json` over whole documents, which takes a
sixth of the time of `read_json` with typed columns; for flat lines `read_json` is the faster one.
"""

from __future__ import annotations

import json
from typing import Any

TYPES = {
    "time": "TIMESTAMP", "addr": "VARCHAR", "user": "VARCHAR", "method": "VARCHAR", "path": "VARCHAR",
    "status": "INTEGER", "size": "BIGINT", "took": "DOUBLE", "agent": "VARCHAR",
}  # fmt: skip
COMBINED = (
    r'^(\S+) \S+ (\S+) \[([^\]]*)\] "(\S+) (\S+) ([^"]*)" (\d+) (\d+) "([^"]*)" "([^"]*)"$',
    ("addr", "user", "time", "method", "path", "protocol", "status", "size", "referer", "agent"),
)
SYSLOG = (
    r"^<(\d+)>(\d+) (\S+) (\S+) (\S+) (\S+) (\S+) \S+ (.*)$",
    ("priority", "version", "time", "hostname", "app_name", "proc_id", "msg_id", "message"),
)
LOCAL = "'%d/%b/%Y:%H:%M:%S %z'"


def columns(types: dict[str, str]) -> str:
    return "{" + ", ".join(f"'{name}': '{kind}'" for name, kind in types.items()) + "}"


def csv(options: str, types: dict[str, str]) -> str:
    return f"read_csv('$path', auto_detect=false, {options}, columns={columns(types)})"


def documents(types: dict[str, str]) -> str:
    return f"read_json('$path', format='newline_delimited', columns={columns(types)})"


def inside(structure: Any) -> str:
    """Whole documents, typed as `from_json` is told, as column `d`."""
    return f"(select from_json(json, '{json.dumps(structure)}') d from read_ndjson_objects('$path'))"


LINES = csv("delim=chr(1), quote='', escape='', header=false", {"line": "VARCHAR"})


def matched(select: str, pattern: tuple[str, tuple[str, ...]]) -> str:
    """Lines by one regular expression with a list of names."""
    expression, names = pattern
    return f"select {select} from (select regexp_extract(line, '{expression}', {list(names)}) x from {LINES})"


def after(key: str, value: str = r"(\S+)") -> str:
    """The value that stands after a key in a line."""
    return rf"regexp_extract(line, '\b{key}={value}', 1)"


def without(*names: str) -> dict[str, str]:
    return {name: kind for name, kind in TYPES.items() if name not in names}


QUOTED = '"([^"]*)'
JSON = f"""
    select unnest(r, recursive := true) from (select unnest(d.Records) r from {inside({"Records": [TYPES]})})
"""
QUOTES = f"""
    select addr, user, strptime(substr(day, 2) || ' ' || rtrim(zone, ']'), {LOCAL})::timestamp as time,
      split_part(request, ' ', 1) as method, split_part(request, ' ', 2) as path,
      split_part(request, ' ', 3) as protocol, status, size, referer, agent
    from {
    csv(
        '''delim=' ', quote='"', escape='', header=false, nullstr='-' ''',
        dict.fromkeys(("addr", "ident", "user", "day", "zone", "request"), "VARCHAR")
        | {"status": "INTEGER", "size": "BIGINT", "referer": "VARCHAR", "agent": "VARCHAR"},
    )
}
"""
MATCHED = matched(
    f"""x.addr, nullif(x.user, '-') as user, strptime(x.time, {LOCAL})::timestamp as time, x.method, x.path,
    x.protocol, x.status::integer as status, x.size::bigint as size, nullif(x.referer, '-') as referer, x.agent""",
    COMBINED,
)
WORDS = f"""
    select * replace (make_timestamp(time * 1000000) as time)
    from {csv("delim=' ', header=false, nullstr='-'", without("agent") | {"time": "BIGINT"})}
"""
W3C = f"""
    select * exclude (date, clock), (date || ' ' || clock)::timestamp as time
    from {
    csv("delim=' ', header=false, comment='#', nullstr='-'", {"date": "VARCHAR", "clock": "VARCHAR"} | without("time"))
}
"""
ZEEK = f"""
    select * replace (make_timestamp((time * 1000000)::bigint) as time)
    from {csv("delim=chr(9), header=false, comment='#', nullstr='-'", TYPES | {"time": "DOUBLE"})}
"""
CEF = rf"""
    select regexp_extract(line, '^CEF:0\|([^|]*)', 1) as device_vendor,
      make_timestamp({after("rt")}::bigint * 1000) as time, {after("src")} as addr, {after("suser")} as user,
      {after("requestMethod")} as method, replace({after("request")}, '\=', '=') as path,
      {after("out")}::bigint as size, {after("requestClientApplication", "(.*)$")} as agent
    from {LINES}
"""
LOGFMT = f"""
    select {after("time")}::timestamptz::timestamp as time, {after("addr")} as addr,
      nullif({after("user")}, '') as user, {after("method")} as method, {after("path", QUOTED)} as path,
      {after("status")}::integer as status,
      {after("size")}::bigint as size, {after("took")}::double as took, {after("agent", QUOTED)} as agent
    from {LINES}
"""
TOLD = matched(
    """x.priority::integer as priority, x.time::timestamptz::timestamp as time, x.hostname, x.app_name, x.proc_id,
    x.msg_id, x.message""",
    SYSLOG,
)
ATTRIBUTES = [{"key": "VARCHAR", "value": "JSON"}]
LOG = {
    "timeUnixNano": "BIGINT", "severityNumber": "INTEGER", "severityText": "VARCHAR",
    "body": {"stringValue": "VARCHAR"}, "attributes": ATTRIBUTES,
}  # fmt: skip
RESOURCE = {
    "resource": {"attributes": ATTRIBUTES},
    "scopeLogs": [{"scope": {"name": "VARCHAR"}, "logRecords": [LOG]}],
}
OTLP = f"""
    select make_timestamp_ns(l.timeUnixNano) as time, l.severityNumber, l.severityText, l.body.stringValue as body,
      to_json(map_from_entries(list_transform(l.attributes, lambda a: struct_pack(k := a.key, v := a.value)))) as told,
      scope, service
    from (select unnest(s.logRecords) l, s.scope.name scope, service
    from (select unnest(r.scopeLogs) s, r.resource.attributes[1].value ->> 'stringValue' service
    from (select unnest(d.resourceLogs) r from {inside({"resourceLogs": [RESOURCE]})})))
"""
PLAIN = {
    "jsonl": f"select * from {documents(TYPES)}",
    "delimited": f"select * from {csv('header=true', TYPES)}",
    "parquet": "select * from read_parquet('$path')",
}
