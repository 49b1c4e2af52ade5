"""Lines as servers and people write them are read back equal, whatever the values are; and bad patterns end in time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layoutread import Chunks

from tailrace.core import Common, Format, Grok, Layout, Regex, Table, col
from tailrace.formats import decoder
from tailrace.tables.apache_access_log import TABLE as APACHE
from tailrace.tables.nginx_access_log import TABLE as NGINX

NGINX_LINE = (
    '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent"'
)
APACHE_LINE = '%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i"'
anything = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
word = st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters='"\\[]'), min_size=1, max_size=9)


def rows(table: Table, fmt: Format, data: bytes, size: int) -> list[dict[str, Any]]:
    chunks = [data[at : at + size] for at in range(0, len(data), size)]
    found: list[tuple[int, dict[str, Any]]] = []
    for batch in decoder(table, fmt).decode(Chunks(chunks)):
        assert not batch.bad
        for n, position in enumerate(batch.positions.tolist()):
            found.append((position, {name: array[n].as_py() for name, array in batch.columns.items()}))
    return [row for _, row in sorted(found, key=lambda entry: entry[0])]


def nginx_escaped(text: str) -> str:
    """What nginx does with a value: quotes, backslashes and all that is not printable ASCII become `\\xXX`."""
    codes = text.encode()
    return "".join(chr(c) if 32 <= c < 127 and chr(c) not in '"\\' else f"\\x{c:02X}" for c in codes)


def apache_escaped(text: str) -> str:
    """What Apache does: quotes and backslashes get a backslash, other signs their letter or `\\xhh`."""
    signs = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    codes = (chr(c) for c in text.encode())
    return "".join(signs.get(c) or (c if " " <= c < "\x7f" else f"\\x{ord(c):02x}") for c in codes)


requests = st.tuples(
    st.ip_addresses().map(str),
    st.datetimes(datetime(1970, 1, 2), datetime(2100, 1, 1)).map(lambda t: t.replace(microsecond=0)),
    st.sampled_from(["GET", "POST", "PURGE"]),
    word.map(lambda text: "/" + text),
    st.integers(100, 599),
    st.integers(0, 2**31 - 1),
    anything,
    anything,
)


@pytest.mark.parametrize("server", ["nginx", "apache"])
@settings(max_examples=30, deadline=None)
@given(written=st.lists(requests, min_size=1, max_size=8), size=st.integers(1, 400))
def test_what_a_web_server_writes_is_read_back(server: str, written: list[tuple[Any, ...]], size: int) -> None:
    escaped, table = (nginx_escaped, NGINX) if server == "nginx" else (apache_escaped, APACHE)
    lines, expected = [], []
    for address, moment, method, target, status, length, referer, agent in written:
        told = (escaped(referer), escaped(agent))
        lines.append(
            f'{address} - - [{moment:%d/%b/%Y:%H:%M:%S} +0000] "{method} {escaped(target)} HTTP/1.1" {status} {length} '
            f'"{told[0]}" "{told[1]}"\n'
        )
        told_or_null = tuple(None if text == "-" else text for text in told)
        expected.append((address, moment, method, escaped(target), "HTTP/1.1", status, length, *told_or_null))
    layout = Layout(NGINX_LINE, "nginx") if server == "nginx" else Layout(APACHE_LINE, "apache")
    fmt = replace(layout, split=table.format.split)  # type: ignore[union-attr]
    found = rows(table, fmt, "".join(lines).encode(), size)
    names = ("request_method", "request_uri", "server_protocol", "status", "body_bytes_sent", "http_referer")
    assert [
        (row["remote_addr"], moment_of(row), *(row[name] for name in names), row["http_user_agent"]) for row in found
    ] == expected


def moment_of(row: dict[str, Any]) -> datetime:
    if "timestamp" in row:
        assert isinstance(row["timestamp"], datetime)
        return row["timestamp"]
    return datetime.strptime(row["time_local"], "%d/%b/%Y:%H:%M:%S %z").astimezone(UTC).replace(tzinfo=None)


events = st.tuples(
    st.datetimes(datetime(1970, 1, 1), datetime(2100, 1, 1)),
    st.sampled_from(["INFO", "WARN", "ERROR"]),
    st.ip_addresses().map(str),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
    st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=20),
)
COLUMNS = (
    col("at", "timestamp"), col("level"), col("ip"), col("n", "bigint"), col("took", "double"), col("told"),
)  # fmt: skip
GROK = (
    "^%{TIMESTAMP_ISO8601:at} %{LOGLEVEL:level} %{IP:ip} n=%{INT:n:int} took=%{NOTSPACE:took:float} %{GREEDYDATA:told}$"
)
REGEX = r"^(?<at>\S+ \S+) (?<level>\w+) (?<ip>\S+) n=(?<n>-?\d+) took=(?<took>\S+) (?<told>.*)$"
LOOKAROUND = REGEX.replace(r"(?<level>\w+)", r"(?<level>(?!DEBUG)\w+)")


@pytest.mark.parametrize("fmt", [Grok(GROK), Regex(REGEX), Regex(LOOKAROUND)], ids=["grok", "regex", "lookaround"])
@settings(max_examples=12, deadline=None)
@given(written=st.lists(events, min_size=1, max_size=8), size=st.integers(1, 400))
def test_what_a_program_writes_is_read_back(fmt: Grok | Regex, written: list[tuple[Any, ...]], size: int) -> None:
    lines = [f"{at} {level} {ip} n={n} took={took!r} {told}\n" for at, level, ip, n, took, told in written]
    table = Table("t", "", fmt, COLUMNS, Common(time=()))
    found = rows(table, fmt, "".join(lines).encode(), size)
    assert [tuple(row[column.name] for column in COLUMNS) for row in found] == written


QUANTIFIED = st.recursive(
    st.sampled_from(["a", "[a-z]", r"\w", "a|aa", "a?", ".*", r"\s*"]),
    lambda inner: st.tuples(
        st.lists(inner, min_size=1, max_size=3), st.sampled_from(["+", "*", "{2,9}", "?", "+?"])
    ).map(lambda made: f"(?:{'|'.join(made[0])}){made[1]}"),
    max_leaves=6,
)
BUDGET = 5.0
"Seconds of CPU for all lines of an example; a pattern that explodes would take years."


@settings(max_examples=40, deadline=None)
@given(part=QUANTIFIED, ahead=st.booleans())
def test_no_pattern_hangs(part: str, ahead: bool, line_seconds: None) -> None:
    layout = rf"^{'(?!#)' if ahead else ''}(?<x>{part})!$"
    fmt = Regex(layout)
    table = Table("t", "", fmt, (col("x"),), Common(time=()))
    lines = [b"a" * 40 + b"b", b"a" * 200 + b"?", b"ab" * 50, b" " * 100 + b"a", b"a!"]
    began = time.process_time()
    batches = list(decoder(table, fmt).decode(Chunks([b"\n".join(lines)])))
    assert time.process_time() - began < BUDGET
    assert sum(batch.rows + len(batch.bad) + batch.skipped for batch in batches) == len(lines)


@pytest.fixture(scope="module")
def line_seconds() -> Iterator[None]:
    patch = pytest.MonkeyPatch()
    patch.setattr("tailrace.formats.matchers.LINE_SECONDS", 0.02)
    yield
    patch.undo()
