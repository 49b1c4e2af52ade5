"""The same requests in every format that is compared: one file each, as programs write them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np

from synthetic_lines import AGENTS, METHODS, PATHS, STATUS_ODDS, STATUSES, callers

FIRST = int(datetime(2026, 9, 1, tzinfo=UTC).timestamp())
USERS = (None,) * 5 + ("admin", "reports", "jane.doe")
DOCUMENT = 1_000
"Records of one document of `json` and `otlp`."


@dataclass(frozen=True, slots=True)
class Request:
    """What every format says of one request."""

    time: int
    addr: str
    user: str | None
    method: str
    path: str
    status: int
    size: int
    took: float
    agent: str

    @property
    def iso(self) -> str:
        return f"{datetime.fromtimestamp(self.time, UTC):%Y-%m-%dT%H:%M:%S}Z"


def requests(count: int) -> list[Request]:
    """So many requests, the same ones every time."""
    rng = np.random.default_rng(4)
    agents = [agent for agent in AGENTS if "\\" not in agent and agent != "-"]
    columns = (
        (FIRST + np.sort(rng.integers(0, 86_400, count))).tolist(),
        callers(rng, count),
        [USERS[n] for n in rng.integers(0, len(USERS), count).tolist()],
        [METHODS[n] for n in rng.integers(0, len(METHODS), count).tolist()],
        [PATHS[n] for n in rng.integers(0, len(PATHS), count).tolist()],
        STATUSES[rng.choice(len(STATUSES), count, p=STATUS_ODDS)].tolist(),
        rng.lognormal(8, 1.6, count).astype(np.int64).tolist(),
        [round(took, 3) for took in rng.exponential(0.2, count).tolist()],
        [agents[n] for n in rng.integers(0, len(agents), count).tolist()],
    )
    return [Request(*row) for row in zip(*columns, strict=True)]


def _named(request: Request) -> dict[str, object]:
    return {
        "time": request.iso, "addr": request.addr, "user": request.user, "method": request.method,
        "path": request.path, "status": request.status, "size": request.size, "took": request.took,
        "agent": request.agent,
    }  # fmt: skip


def _lines(line: Callable[[Request], str], head: str = "") -> Callable[[list[Request]], bytes]:
    return lambda rows: (head + "".join(f"{line(row)}\n" for row in rows)).encode()


def _documents(rows: list[Request]) -> Iterator[list[Request]]:
    return (rows[at : at + DOCUMENT] for at in range(0, len(rows), DOCUMENT))


def _json(rows: list[Request]) -> bytes:
    return b"".join(
        json.dumps({"Records": [_named(row) for row in part]}).encode() + b"\n" for part in _documents(rows)
    )


def _csv(rows: list[Request]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_named(rows[0]))
    writer.writerows(_named(row).values() for row in rows)
    return text.getvalue().encode()


def _combined(row: Request) -> str:
    time = f"{datetime.fromtimestamp(row.time, UTC):%d/%b/%Y:%H:%M:%S} +0000"
    request = f'"{row.method} {row.path} HTTP/1.1"'
    return f'{row.addr} - {row.user or "-"} [{time}] {request} {row.status} {row.size} "-" "{row.agent}"'


def _words(row: Request) -> str:
    return f"{row.time} {row.addr} {row.user or '-'} {row.method} {row.path} {row.status} {row.size} {row.took}"


def _w3c(row: Request) -> str:
    time = f"{datetime.fromtimestamp(row.time, UTC):%Y-%m-%d %H:%M:%S}"
    agent = row.agent.replace(" ", "+")
    return f"{time} {row.addr} {row.user or '-'} {row.method} {row.path} {row.status} {row.size} {row.took} {agent}"


def _cef(row: Request) -> str:
    escaped = row.path.replace("\\", "\\\\").replace("=", "\\=")
    return (
        f"CEF:0|Example|Gate|1.0|{row.status}|request|3|rt={row.time * 1000} src={row.addr} suser={row.user or 'none'} "
        f"requestMethod={row.method} request={escaped} out={row.size} requestClientApplication={row.agent}"
    )


def _logfmt(row: Request) -> str:
    user = f" user={row.user}" if row.user else ""
    return (
        f'time={row.iso} addr={row.addr}{user} method={row.method} path="{row.path}" status={row.status} '
        f'size={row.size} took={row.took} agent="{row.agent}"'
    )


def _syslog(row: Request) -> str:
    return (
        f"<134>1 {row.iso} web-01 gate {row.status} access - {row.addr} {row.method} {row.path} {row.size} {row.agent}"
    )


_ZEEK = """#separator \\x09
#set_separator\t,
#empty_field\t(empty)
#unset_field\t-
#path\trequest
#fields\tts\taddr\tuser\tmethod\tpath\tstatus\tsize\ttook\tagent
#types\ttime\taddr\tstring\tstring\tstring\tcount\tcount\tinterval\tstring
"""


def _zeek(row: Request) -> str:
    words = (f"{row.time}.000000", row.addr, row.user or "-", row.method, row.path, row.status, row.size, row.took)
    return "\t".join(map(str, (*words, row.agent)))


def _xml(row: Request) -> str:
    fields = "".join(
        f"<{name}>{escape(str(value))}</{name}>" for name, value in _named(row).items() if value is not None
    )
    return f"<Request>{fields}</Request>"


def _otlp(rows: list[Request]) -> bytes:
    def value(of: object) -> dict[str, object]:
        return {"intValue": str(of)} if isinstance(of, int) else {"stringValue": of}

    def record(row: Request) -> dict[str, object]:
        told = {"addr": row.addr, "method": row.method, "path": row.path, "status": row.status, "size": row.size}
        attributes = [{"key": key, "value": value(of)} for key, of in told.items()]
        time = str(row.time * 1_000_000_000)
        body = {"stringValue": row.agent}
        return {
            "timeUnixNano": time,
            "severityNumber": 9,
            "severityText": "INFO",
            "body": body,
            "attributes": attributes,
        }

    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "gate"}}]}
    parts = (
        {"resourceLogs": [{"resource": resource, "scopeLogs": [{"scope": {"name": "http"}, "logRecords": records}]}]}
        for records in ([record(row) for row in part] for part in _documents(rows))
    )
    return b"".join(json.dumps(part).encode() + b"\n" for part in parts)


W3C_FIELDS = "date time c-ip cs-username cs-method cs-uri-stem sc-status sc-bytes time-taken cs(User-Agent)"
TEXTS: dict[str, Callable[[list[Request]], bytes]] = {
    "json": _json,
    "jsonl": _lines(lambda row: json.dumps(_named(row))),
    "delimited": _csv,
    "combined": _lines(_combined),
    "words": _lines(_words),
    "w3c": _lines(_w3c, f"#Version: 1.0\n#Fields: {W3C_FIELDS}\n"),
    "cef": _lines(_cef),
    "logfmt": _lines(_logfmt),
    "syslog": _lines(_syslog),
    "zeek": _lines(_zeek, _ZEEK),
    "xml": lambda rows: b"<Requests>" + _lines(_xml)(rows) + b"</Requests>",
    "otlp": _otlp,
}


def write(folder: Path, count: int) -> dict[str, Path]:
    """All files: input → path."""
    rows = requests(count)
    found = {name: folder / f"{name}.log" for name in TEXTS}
    for name, path in found.items():
        path.write_bytes(TEXTS[name](rows))
    return found | _written_by_others(folder, rows)


def _written_by_others(folder: Path, rows: list[Request]) -> dict[str, Path]:
    import polars as pl

    told = [_named(row) | {"time": row.time * 1_000_000} for row in rows]
    frame = pl.DataFrame(told).with_columns(pl.col("time").cast(pl.Datetime("us")))
    frame.write_parquet(folder / "parquet.log", compression="zstd")
    frame.write_avro(folder / "avro.log")
    return {name: folder / f"{name}.log" for name in ("parquet", "avro")}
