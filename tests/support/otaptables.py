"""OTAP tables made from requests, and told again record by record."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from layoutread import Chunks
from otlprequests import Request, Told, proto_request, told_by_proto

from tailrace.lake.place import LocalPlace
from tailrace.windows.ingest import read_stream
from tailrace.windows.reading import read_parts
from tailrace.windows.schema import Tables
from tailrace.windows.to_proto import messages
from tailrace.windows.writer import OtapWriter


def tables_of(data: bytes | Request) -> Tables:
    """The one batch that a message is."""
    body = data if isinstance(data, bytes) else proto_request(data)
    found = list(read_stream(Chunks([body])))
    assert not [bad for read in found for bad in read.bad]
    return found[0].tables if found else Tables.empty()


def write(base: Path, *requests: Request, rows_per_file: int = 1_000_000) -> None:
    with OtapWriter(LocalPlace(str(base)), rows_per_file=rows_per_file) as writer:
        for request in requests:
            writer.write(tables_of(request))


def told_by_tables(base: Path) -> Told:
    """What comes out again."""
    told: Told = Counter()
    for part in read_parts(LocalPlace(str(base))):
        for message in messages(part.tables):
            told += told_by_proto(message)
    return told


START = 1_790_000_040_000_000_000
"A whole minute."


def simple(resource: str, bodies: list[str], *, attributes: bool = True, time: int = START) -> Request:
    """A request of one resource and scope."""
    records = [
        {
            "time": time + n,
            "observed": 0,
            "body": body,
            "attributes": (("n", n), ("of", resource)) if attributes else (),
        }
        for n, body in enumerate(bodies)
    ]
    scope = {"name": f"scope of {resource}", "attributes": (("scope", resource),), "records": records}
    return [{"attributes": (("service.name", resource),), "scopes": [scope]}]
