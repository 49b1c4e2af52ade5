from __future__ import annotations

import json
import os
import re
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st
from layoutread import Chunks

from tailrace.core import Common, DataError, Grok, Regex, Table, col
from tailrace.formats.base import Batch, Dated
from tailrace.formats.cutting import Cutting
from tailrace.formats.grok import Expression, compiled
from tailrace.formats.matchers import Backtracking, Matcher, Re2, portable
from tailrace.formats.regex_engine import cheapest, matchers, regex_decoder
from tailrace.formats.regex_split import Leaf, split

DATA = Path(os.environ.get("TAILRACE_TEST_DATA", Path(__file__).parents[4] / "shared" / "data"))
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the test data is not here")


def table_of(format: Regex | Grok, **types: str) -> Table:
    columns = tuple(col(name, types.get(name, "varchar")) for name in compiled(format).fields)
    return Table("t", "", format, columns, Common(time=()))


def decoded(format: Regex | Grok, data: bytes, **types: str) -> Batch:
    (batch,) = regex_decoder(table_of(format, **types), format).decode(Chunks([data]))
    return batch


def values(batch: Batch) -> dict[str, list[Any]]:
    return {name: array.to_pylist() for name, array in batch.columns.items()}


def test_fields_positions_and_bad_lines() -> None:
    batch = decoded(Regex(r"^(?<key>\w+)=(?<value>\d+)(?: #(?<note>.*))?$"), b"a=1\nnope\n\nb=22 #\r\nc=3 # x\n")
    assert values(batch) == {
        "key": ["a", "b", "c"],
        "value": ["1", "22", "3"],
        "note": [None, "", " x"],
    }
    assert batch.positions.tolist() == [0, 10, 18]
    assert [(b.position, b.raw, b.reason) for b in batch.bad] == [(4, b"nope", "regex: no match")]
    assert batch.skipped == 1
    assert batch.raw(1) == b"b=22 #"


def test_typed_captures_and_misfits() -> None:
    format = Grok("%{WORD:name} %{NOTSPACE:count:int}")
    assert compiled(format).types == {"count": "bigint"}
    batch = decoded(format, b"a 12\nb twelve\n", count="bigint")
    assert values(batch)["count"] == [12, None]
    assert batch.flagged == 1
    assert batch.extra is not None
    assert json.loads(batch.extra[1].as_py()) == {"tp_misfit": {"count": "twelve"}}


def test_of_groups_with_one_field_the_first_that_matched_wins() -> None:
    batch = decoded(Grok("a=%{INT:n}|b=%{INT:n}"), b"b=2\na=1\nc=3\n")
    assert values(batch) == {"n": ["2", "1"]}


def test_lines_that_are_not_utf8_are_flagged_and_raw_bytes_kept() -> None:
    batch = decoded(Grok("%{INT:n} %{GREEDYDATA:text}"), b"1 fine\n2 \xff\nx \xfe\n")
    assert values(batch)["text"] == ["fine", "\ufffd"]
    assert batch.flagged == 1
    assert batch.raw(1) == b"2 \xff"
    assert [b.raw for b in batch.bad] == [b"x \xfe"]


LAYOUTS = [
    "%{COMBINEDAPACHELOG}",
    '%{IP:a} %{USER:b} "%{DATA:c}" (?:%{INT:d}|-)',
    '^%{WORD:a} "%{GREEDYDATA:b}" %{INT:c}$',
    "%{NOTSPACE:a}: %{DATA:b}",
    "%{INT:a}ms %{QS:b} %{DQS:c}",
    '"%{DATA:a}" %{QS:b} %{QS:c}',
    r"\[%{DATA:a}\] %{WORD:b}(?: x%{INT:c})? %{GREEDYDATA:d}",
    "%{WORD:a},%{DATA:b},%{GREEDYDATA:c}",
    "%{SYSLOGLINE}",
    r"(?<a>\b\w+)z(?<b>\w+\b) (?<c>.*?)$",
]
LINE = st.lists(
    st.sampled_from(
        [
            *"abz1 0-\":,[]\\'é`\0\x0b",
            "1.2.3.4",
            "bob",
            '" ',
            ' "',
            "] ",
            "12ms ",
            "Jan  2 03:04:05 ",
            '\\"',
            ": ",
        ]
    ),
    max_size=14,
).map("".join)


@cache
def prepared(layout: str) -> tuple[Expression, list[Matcher]]:
    expression = compiled(Grok(layout))
    return expression, matchers(expression)


@pytest.mark.parametrize("layout", LAYOUTS)
@settings(max_examples=60, deadline=None)
@given(lines=st.lists(LINE, min_size=1, max_size=12))
def test_all_matchers_agree(layout: str, lines: list[str]) -> None:
    expression, candidates = prepared(layout)
    texts = pa.array(lines, pa.string())
    expected = [regex.search(portable(expression.text), line, regex.ASCII) for line in lines]
    for matcher in candidates:
        found = matcher.match(texts)
        assert found.ok.tolist() == [match is not None for match in expected], type(matcher)
        for capture in expression.captures:
            wanted = [match[capture.group] if match else None for match in expected]
            assert found.groups[capture.group].to_pylist() == wanted, (type(matcher), capture)


@settings(max_examples=150, deadline=None)
@given(
    parts=st.lists(
        st.sampled_from(
            ["(?<x{}>[^ ]*)", "(?<x{}>\\w+)", '"(?<x{}>.*?)"', "(?:(?<x{}>a|ab)|-)", "(?<x{}>.*)", "\\d+",
             "(?<x{}>\"[^\"]*\")", "(?<x{}>[ab]+)?", "(?:a b)", "(?<x{}>a(?<y{}>b?))"]
        ),
        min_size=1, max_size=5,
    ),
    glue=st.sampled_from([" ", ":", "b", " b", ""]),
    lines=st.lists(LINE, min_size=1, max_size=8),
)  # fmt: skip
def test_cutting_gives_what_a_search_gives(parts: list[str], glue: str, lines: list[str]) -> None:
    text = glue.join(part.format(i, i) for i, part in enumerate(parts))
    if "<x" not in text:
        return
    expression = compiled(Regex(text))
    for matcher in matchers(expression):
        found = matcher.match(pa.array(lines, pa.string()))
        for i, line in enumerate(lines):
            match = regex.search(expression.text, line, regex.ASCII)
            assert found.ok[i] == (match is not None), (type(matcher), text, line)
            for name, texts in found.groups.items():
                assert texts[i].as_py() == (match[name] if match else None), (type(matcher), text, line)


def test_combined_is_cut_into_nine_leaves() -> None:
    cut = split(portable(compiled(Grok("%{COMBINEDAPACHELOG}")).text))
    assert cut
    assert cut.quotes == 6
    assert sum(isinstance(part, Leaf) for part in cut.parts) == 9


@pytest.mark.parametrize("text", ["(?<a>.*) (?<b>.*)", "(?<a>a)|(?<b>b)", "(?i)(?<a>x) (?<b>y)", "(?<a>x)(?= ) b"])
def test_what_does_not_split_in_one_way_is_not_cut(text: str) -> None:
    assert split(portable(compiled(Regex(text)).text)) is None


def test_lookaround_and_references_backtrack() -> None:
    for text in (r"(?<a>\w+)(?!!) (?<b>.)", r"(?<q>['\"])(?<a>\w+)\1"):
        assert [type(m) for m in matchers(compiled(Regex(text)))] == [Backtracking]
    batch = decoded(Regex(r"(?<q>['\"])(?<a>\w+)\1"), b"say 'hi'\nsay 'hi\"\n")
    assert values(batch) == {"q": ["'"], "a": ["hi"]}
    assert len(batch.bad) == 1


def test_catastrophic_pattern_is_linear_where_it_can_be() -> None:
    batch = decoded(Regex(r"^(?<x>(a|aa)+)$"), (b"a" * 60 + b"!\n") * 3 + b"aaa\n")
    assert values(batch) == {"x": ["aaa"]}
    assert [b.reason for b in batch.bad] == ["regex: no match"] * 3


def test_catastrophic_pattern_times_out_by_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tailrace.formats.matchers.LINE_SECONDS", 0.01)
    format = Regex(r"^(?!b)(?<x>(a|aa)+)$")
    batch = decoded(format, b"a" * 60 + b"!\naaa\n")
    assert values(batch) == {"x": ["aaa"]}
    assert "no answer" in batch.bad[0].reason
    with pytest.raises(DataError, match="took more than"):
        decoded(format, (b"a" * 60 + b"!\n") * 101)


def test_a_pattern_that_often_times_out_leaves_backtracking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tailrace.formats.matchers.LINE_SECONDS", 0.005)
    expression = compiled(Regex(r"^(?<x>(a|aa)+)$"))
    matcher = Backtracking(expression, Re2(expression.text, ["f0"]))
    found = matcher.match(pa.array(["a" * 60 + "!"] * 12 + ["aa"]))
    assert found.ok.tolist() == [False] * 12 + [True]
    assert not found.slow
    assert matcher.timeouts == 3
    matcher.match(pa.array(["a" * 60 + "!"]))
    assert matcher.timeouts == 3


APACHE = re.compile(
    r'(\S+) (\S+) (\S+) \[([^]]+)\] "(?:(\w+) (\S+)(?: HTTP/([\d.]+))?|(.*?))" (\d+|-) (\d+|-) '
    r'("(?:[^"\\]|\\.)*") ("(?:[^"\\]|\\.)*")'
)


@needs_data
def test_apache_logs_equal_an_independent_reader() -> None:
    data = (DATA / "elastic-examples" / "apache_logs" / "apache_logs").read_bytes()
    format = Grok("%{COMBINEDAPACHELOG}")
    decoder = regex_decoder(table_of(format), format)
    batches = list(decoder.decode(Chunks([data])))
    rows = [row for batch in batches for row in zip(*values(batch).values(), strict=True)]
    wanted = []
    for line in data.decode().splitlines():
        if found := APACHE.match(line):
            wanted.append(tuple(None if i in (8, 9) and v == "-" else v for i, v in enumerate(found.groups())))
    bad = [entry for batch in batches for entry in batch.bad]
    assert rows == wanted
    assert len(rows) + len(bad) == 10_000


ERROR = {
    "loglevel": "log.level",
    "clientip": "source.address",
    "pid": "process.pid",
    "module": "apache.error.module",
}
NGINX = {"loglevel": "log.level", "pid": "process.pid", "tid": "process.thread.id", "message": "message"}
SYSLOG = {"logsource": "host.hostname", "program": "process.name", "pid": "process.pid", "message": "message"}
REDIS = {"message": "message"}
DARWIN = (
    r"%{SYSLOGTIMESTAMP:at} %{SYSLOGHOST:logsource} %{DATA:program}(?:\[%{POSINT:pid}\])?: "
    r"%{GREEDYDATA:message}"
)


@needs_data
@pytest.mark.parametrize(
    ("layout", "file", "fields", "least"),
    [
        ("%{HTTPD_ERRORLOG}", "apache/error/test/test.log", ERROR, 4),
        ("%{HTTPD_ERRORLOG}", "apache/error/test/darwin-2.4.23.log", ERROR, 2),
        ("%{HTTPD_ERRORLOG}", "apache/error/test/ubuntu-2.2.22.log", ERROR, 4),
        ("%{NGINX_ERRORLOG}", "nginx/error/test/error.log", NGINX, 3),
        ("%{SYSLOGLINE}", "system/syslog/test/suse-syslog.log", SYSLOG, 2),
        (DARWIN, "system/syslog/test/darwin-syslog.log", SYSLOG, 50),
        ("%{SYSLOGLINE}", "system/auth/test/secure-rhel7.log", SYSLOG, 50),
        ("%{REDISLOG2}|%{REDISLOG}", "redis/log/test/test.log", REDIS, 2),
    ],
)
def test_beats_files_equal_their_expected_fields(layout: str, file: str, fields: dict[str, str], least: int) -> None:
    path = DATA / "beats-filebeat-apache2" / file
    expected = {e["log.offset"]: e for e in json.loads(Path(f"{path}-expected.json").read_text())}
    format = Grok(layout)
    (batch,) = regex_decoder(table_of(format), format).decode(Chunks([path.read_bytes()]))
    got = values(batch)
    compared = 0
    for row, position in enumerate(batch.positions.tolist()):
        wanted = expected.get(position)
        if wanted and "\n" not in wanted.get("message", ""):
            compared += 1
            for name, other in fields.items():
                if other in wanted or other != "message":
                    value = None if wanted.get(other) is None else str(wanted[other])
                    assert got[name][row] == value, (position, name)
    assert compared >= least


def test_cheapest_prefers_an_equal_and_faster_matcher() -> None:
    expression = compiled(Grok("%{COMBINEDAPACHELOG}"))
    line = '1.2.3.4 - - [10/Oct/2000:13:55:36 -0700] "GET /a HTTP/1.0" 200 2326 "-" "curl/8"'
    assert isinstance(cheapest(matchers(expression), pa.array([line] * 500)), Cutting)


def test_times_without_a_year_get_that_of_the_artifact() -> None:
    format = Regex(r"^(?<at>\w+ +\d+ [\d:]+) (?<what>.*)$")
    columns = (col("at", "timestamp", time="%b %d %H:%M:%S"), col("what"))
    table = Table("t", "", format, columns, Common(time=("at",)))
    stream = Dated(Chunks([b"Dec 31 23:59:59 a\nJan  1 00:00:01 b\nnever c\n"]), datetime(2019, 1, 1, 12))
    (batch,) = regex_decoder(table, format).decode(stream)
    assert [str(value) for value in batch.columns["at"].to_pylist()] == ["2018-12-31 23:59:59", "2019-01-01 00:00:01"]
    assert len(batch.bad) == 1
