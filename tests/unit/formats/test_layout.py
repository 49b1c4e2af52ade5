from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layoutread import NGINX, Chunks, read, table

from tailrace.core import ConfigError, col
from tailrace.formats.layout import layout_decoder
from tailrace.tables.apache_access_log import TABLE as APACHE
from tailrace.tables.aws_vpc_flow_log import TABLE as VPC

GOOD = b'1.2.3.4 - bob [17/May/2015:10:05:03 +0000] "GET /a HTTP/1.1" 200 12 "-" "Mozilla/5.0 (X11)"\n'
GOOD_ROW = {
    "remote_addr": "1.2.3.4",
    "remote_user": "bob",
    "time_local": "17/May/2015:10:05:03 +0000",
    "request_method": "GET",
    "request_uri": "/a",
    "server_protocol": "HTTP/1.1",
    "status": 200,
    "body_bytes_sent": 12,
    "http_user_agent": "Mozilla/5.0 (X11)",
}


def line(request: str = "GET /a HTTP/1.1", size: str = "12", agent: str = "x", user: str = "-") -> bytes:
    text = f'1.2.3.4 - {user} [17/May/2015:10:05:03 +0000] "{request}" 200 {size} "-" "{agent}"\n'
    return text.encode()


def test_combined() -> None:
    assert read(NGINX, GOOD).rows == [GOOD_ROW | {"at": 0}]
    assert read(NGINX, GOOD[:-1]).rows == [GOOD_ROW | {"at": 0}]
    assert read(NGINX, b"").rows == []


def test_line_ends_blanks_and_positions() -> None:
    crlf = GOOD.replace(b"\n", b"\r\n")
    result = read(NGINX, crlf + b"\n" + GOOD + b" \t\n\r\n" + crlf)
    assert result.rows == [GOOD_ROW | {"at": at} for at in (0, len(crlf) + 1, len(crlf) + len(GOOD) + 6)]
    assert result.skipped == 3


def request_of(text: str) -> tuple[Any, ...]:
    (row,) = read(NGINX, line(request=text)).rows
    parts = ("request_method", "request_uri", "server_protocol")
    return (*(row.get(name) for name in parts), row.get("extra", {}).get("request"))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("GET /a?b=c HTTP/2.0", ("GET", "/a?b=c", "HTTP/2.0", None)),
        ("GET /a b HTTP/1.1", ("GET", "/a b", "HTTP/1.1", None)),
        ("GET  HTTP/1.1", ("GET", "", "HTTP/1.1", None)),
        ("GET /a", ("GET", "/a", None, "GET /a")),
        ("GET /a XTTP/1.1", ("GET", "/a XTTP/1.1", None, "GET /a XTTP/1.1")),
        ("hello", ("hello", None, None, "hello")),
        (r"\x16\x03\x01", (r"\x16\x03\x01", None, None, r"\x16\x03\x01")),
        ("", (None, None, None, None)),
        ("-", (None, None, None, None)),
    ],
)
def test_requests(text: str, parts: tuple[Any, ...]) -> None:
    assert request_of(text) == parts


@pytest.mark.parametrize("agent", [r"a \"quoted\" b", r"back\\", r"a\x22b", 'a "b" c', "tab\there", "nul\0", "é", ""])
def test_odd_agents_are_kept_as_sent(agent: str) -> None:
    rows = read(NGINX, GOOD + line(agent=agent) + GOOD).rows
    assert [row.get("http_user_agent") for row in rows] == ["Mozilla/5.0 (X11)", agent, "Mozilla/5.0 (X11)"]
    assert all("extra" not in row for row in rows)


def test_a_quoted_field_may_be_a_bare_dash() -> None:
    bare = GOOD.replace(b'"-" "Mozilla/5.0 (X11)"', b"- -")
    without = {name: value for name, value in GOOD_ROW.items() if name != "http_user_agent"}
    assert read(NGINX, GOOD + bare).rows == [GOOD_ROW | {"at": 0}, without | {"at": len(GOOD)}]


def test_a_return_inside_a_line_is_data() -> None:
    rows = read(NGINX, GOOD + line(agent="a\rb") + GOOD).rows
    assert [row["http_user_agent"] for row in rows][1] == "a\rb"


def test_bad_lines_are_refused_and_their_neighbours_kept() -> None:
    unclosed = GOOD[:-2] + b"\n"
    short = b"1.2.3.4 - bob\n"
    shifted = b"vhost " + GOOD
    result = read(NGINX, GOOD + unclosed + GOOD + short + shifted + GOOD)
    assert [row["http_user_agent"] for row in result.rows] == ["Mozilla/5.0 (X11)"] * 3
    assert [(b.raw + b"\n", b.reason) for b in result.bad] == [
        (unclosed, "layout: no match"),
        (short, "layout: no match"),
        (shifted, "layout: no match"),
    ]
    assert [b.position for b in result.bad] == [92, 275, 289]


def test_surplus_is_kept() -> None:
    (row,) = read(NGINX, GOOD[:-1] + b' "9.9.9.9" 0.5\n').rows
    assert row == GOOD_ROW | {"at": 0, "extra": {"tp_rest": '"9.9.9.9" 0.5'}}
    (row,) = read(NGINX, GOOD[:-1] + b" \n").rows
    assert row == GOOD_ROW | {"at": 0}


def test_misfits_do_not_change_other_rows() -> None:
    rows = read(NGINX, line(size="1") + line(size="4000000000") + line(size="-") + line(size="")).rows
    assert [row.get("body_bytes_sent") for row in rows] == [1, None, None, None]
    assert [row.get("extra") for row in rows] == [
        None,
        {"tp_misfit": {"body_bytes_sent": "4000000000"}},
        None,
        None,
    ]


def test_invalid_utf8_is_flagged() -> None:
    rows = read(NGINX, GOOD + GOOD.replace(b"(X11)", b"\xff") + GOOD).rows
    assert rows[1]["http_user_agent"] == "Mozilla/5.0 \ufffd"
    assert rows[1]["extra"] == {"tp_misfit": {"tp_line": "invalid utf-8"}}
    assert "extra" not in rows[0] | rows[2]


def test_long_lines_are_refused() -> None:
    huge = [b"x" * 1_000_000] * 20
    result = read(NGINX, [GOOD, *huge, b"\n", GOOD])
    assert len(result.rows) == 2
    assert [(b.position, b.length) for b in result.bad] == [(len(GOOD), 20_000_000)]


def test_upstream_lists() -> None:
    text = "$remote_addr $upstream_addr $upstream_status $request_time"
    data = b"1.1.1.1 10.0.0.1:80 200 0.5\n1.1.1.1 10.0.0.1:80, 10.0.0.2:80 : 10.0.0.3:80 502, 200 0.7\n"
    first, second = read(NGINX, data, text=text).rows
    assert (first["upstream_addr"], first["upstream_status"]) == ("10.0.0.1:80", 200)
    assert second["upstream_addr"] == "10.0.0.1:80, 10.0.0.2:80 : 10.0.0.3:80"
    assert second["extra"] == {"tp_misfit": {"upstream_status": "502, 200"}}
    assert second["request_time"] == pytest.approx(0.7)


def test_other_separators_and_adjacent_text() -> None:
    data = b"1.1.1.1|a b|200\n1.1.1.1|c|404\n"
    rows = read(NGINX, data, text="$remote_addr|$http_user_agent|$status").rows
    assert [(r["http_user_agent"], r["status"]) for r in rows] == [("a b", 200), ("c", 404)]
    (row,) = read(NGINX, b'h.example:8080 "a b"\n', text='$host:$server_port "$uri $args"').rows
    assert (row["host"], row["server_port"], row["extra"]) == ("h.example", 8080, {"uri": "a", "args": "b"})


def test_brackets_of_any_width() -> None:
    data = b'a [one two three four five] "GET / HTTP/1.1"\na [b] "GET / HTTP/1.1"\na [-] "-"\n[x] [y  z] ""\n'
    text, split = 'a [b] "r"', (("r", ("m", "t", "p")),)
    rows = read(table(text, col("a"), col("b"), col("m"), split=split), data).rows
    assert [row.get("b") for row in rows] == ["one two three four five", "b", None, "y  z"]
    assert [row.get("m") for row in rows] == ["GET", "GET", None, None]
    assert rows[3]["a"] == "[x]"
    two = read(table('[a] [b] "c"', col("a"), col("b"), col("c")), b'[1 2] [3] "4"\n[1] x "4"\n[1] [2] "4"\n')
    assert [(row["a"], row["b"]) for row in two.rows] == [("1 2", "3"), ("1", "2")]
    assert len(two.bad) == 1


def test_optional_tail() -> None:
    layout = table('a ?"b" ?c', col("a", "integer"), col("b"), col("c"))
    rows = read(layout, b'1 "x y" z\n2 "-"\n3\n4 "" -\n5 "q" r s\n6 x\n').rows
    assert [{k: v for k, v in row.items() if k != "at"} for row in rows] == [
        {"a": 1, "b": "x y", "c": "z"},
        {"a": 2},
        {"a": 3},
        {"a": 4, "b": ""},
        {"a": 5, "b": "q", "c": "r", "extra": {"tp_rest": "s"}},
        {"a": 6, "c": "x"},
    ]


def test_comments_and_literals() -> None:
    layout = table("$host - x:$status", col("host"), col("status"), dialect="nginx", comment="#")
    result = read(layout, b"#Version: 1\n1 - x:2\n# - x:2\n1 + x:2\n")
    assert [(r["host"], r["status"]) for r in result.rows] == [("1", "2")]
    assert (len(result.bad), result.skipped) == (1, 2)
    assert read(table("a - b", col("a"), col("b")), b"1 - 2\n1 + 2\n").rows == [{"a": "1", "b": "2", "at": 0}]


def test_also() -> None:
    common = b'::1 - - [26/Dec/2016:16:16:29 +0200] "GET / HTTP/1.1" 404 209\n'
    combined = common[:-1] + b' "-" "curl"\n'
    data = combined + common + b"example.org:443 " + combined + b"example.org " + combined + common * 20
    rows = read(APACHE, data).rows
    assert {row["timestamp"] for row in rows} == {datetime(2016, 12, 26, 14, 16, 29)}
    assert [row.get("server_name") for row in rows[:4]] == [None, None, "example.org", "example.org"]
    assert rows[2]["server_port"] == 443
    assert [row.get("http_user_agent") for row in rows[:4]] == ["curl", None, "curl", "curl"]


def test_apache_times() -> None:
    text = "%h %{%Y-%m-%d %H:%M:%S}t %s %{usec}t"
    (row,) = read(APACHE, b"::1 2020-01-02 03:04:05 200 1577934245000001\n", text=text, also=()).rows
    assert row["timestamp"] == datetime(2020, 1, 2, 3, 4, 5)
    assert row["extra"] == {"timestamp_2": "1577934245000001"}


FLOW = b"2 123 eni-1 10.0.0.1 10.0.0.2 443 50000 6 10 4000 1600000000 1600000060 ACCEPT OK\n"


def test_configuration_errors() -> None:
    with pytest.raises(ConfigError, match="header"):
        layout_decoder(VPC, replace(VPC.format, header="("))  # type: ignore[type-var]


PIECES = [
    GOOD,
    FLOW,
    b"\n",
    b"\r\n",
    line(request="-"),
    line(agent=r"\""),
    b'"',
    b"# x\n",
    b"\xff\n",
    b"a b c\n",
]
PIECES += [
    line(size="x"),
    line(user='a"b'),
    line(agent="x\ry"),
    GOOD.replace(b"\n", b"\r\n"),
    GOOD[:-1] + b" more\n",
]


@settings(max_examples=20, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join), st.lists(st.integers(0, 1500), max_size=4))
def test_rows_do_not_depend_on_chunks(data: bytes, cuts: list[int]) -> None:
    edges = [0, *sorted(c % (len(data) + 1) for c in cuts), len(data)]
    chunks = [data[a:b] for a, b in pairwise(edges)]
    assert read(NGINX, chunks) == read(NGINX, data)
    assert read(APACHE, chunks) == read(APACHE, data)


ITEM = st.sampled_from(["a", "-", "", "1", "\\", "[", "]", "é", "x y", 'p"', "\t", ","])


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(ITEM, ITEM, ITEM, ITEM), min_size=1, max_size=6))
def test_tokenizer_and_patterns_agree(values: list[tuple[str, str, str, str]]) -> None:
    layout = table('a [b] "c" d', col("a"), col("b"), col("c"), col("d", "integer"))
    lines = [f'{a} [{b}] "{c}" {d}\n'.encode() for a, b, c, d in values]
    together = read(layout, b"".join(lines))
    # A line of which the tokenizer will have no part: all lines go to the patterns.
    alone = layout_decoder(layout, layout.format)  # type: ignore[arg-type]
    alone.main.tokenizers.clear()
    rows = sum(batch.rows for batch in alone.decode(Chunks([b"".join(lines)])))
    assert rows == len(together.rows)
    expected = [
        {k: v for k, v in zip("abcd", batch_row, strict=True) if v is not None}
        for batch in alone.decode(Chunks([b"".join(lines)]))
        if batch.rows
        for batch_row in zip(*(batch.columns[k].to_pylist() for k in "abcd"), strict=True)
    ]
    got = [{k: v for k, v in row.items() if k in "abcd"} for row in together.rows]
    assert sorted(map(repr, got)) == sorted(map(repr, expected))
