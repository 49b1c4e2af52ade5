"""Filters, transforms and patterns are judged before anything is read, and pointed at by character."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import datetime

import pytest

from tailrace.config.load import load_texts
from tailrace.config.places import ConfigErrors, Problem, Text
from tailrace.pipeline.check import check, check_patterns

PARTITION = 'partition "%s" "p" {\n  source "file" {\n    paths = ["/x"]\n  }\n  %s\n}\n'
TABLE = 'table "t" {\n  %s\n  column "ts" {\n    type = "timestamp"\n  }\n}\n'


def problems(text: str) -> list[Problem]:
    return check(load_texts([Text("a.tpc", text.encode())], now=datetime(2024, 3, 31), environ={}))


def checked_patterns(text: str) -> None:
    """As `collect` does before it starts anything."""
    config = load_texts([Text("a.tpc", text.encode())], now=datetime(2024, 3, 31), environ={})
    check_patterns(config, config.partitions)


def nginx(line: str) -> str:
    return PARTITION % ("nginx_access_log", line)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (nginx('filter = "status = 1 and statu = 2"'), ["5:28: filter: unknown column 'statu'"]),
        (nginx('filter = "status ="'), ["5:21: filter: not an SQL expression: it ends too early"]),
        (nginx('filter = "status = \\"é\\" x y"'), ["5:28: filter: not an SQL expression: syntax error at or near"]),
        (nginx('filter = "${"status"} = (1"'), ["5:12: filter: not an SQL expression: it ends too early"]),
        (nginx('filter = " "'), ["5:12: filter: is empty"]),
        (nginx("filter = \"uper(host) = 'X'\""), ["5:13: filter: unknown function 'uper'"]),
        (nginx('filter = "row_number() over () = 1"'), ["5:12: filter: a window function looks at other rows"]),
        (nginx('filter = "sum(status) > 1"'), ["5:12: filter: an aggregate such as count() looks at other rows"]),
        (nginx('tp_index = "tp_id"'), ["5:14: tp_index: cannot be 'tp_id'"]),
        (nginx("filter = \"status >= 500 and list_contains(tp_ips, '192.0.2.1')\""), []),
    ],
)
def test_filters_and_indexes(text, expected):
    found = [str(problem) for problem in problems(text)]
    assert len(found) == len(expected)
    assert all(told.startswith(f"a.tpc:{wanted}") for told, wanted in zip(found, expected, strict=True))


SOURCES = {
    "file": 'paths = ["/x"]',
    "aws_s3_bucket": 'bucket = "b"',
    "gcp_storage_bucket": 'bucket = "b"',
    "azure_blob_storage": 'account_name = "a"\n    container = "c"',
}


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("file_layout = `%{YAER:year}/%{DATA}`", "20: file_layout: unknown pattern 'YAER'"),
        ("file_layout = `x/%{YEAR:1year}/%{DATA}`", "29: file_layout: '1year' is not a name"),
        ("file_layout = `x/(%{DATA}`", "30: file_layout: missing )"),
        ("file_layout = `x/%{DATA`", "22: file_layout: a token that is not %{PATTERN} or %{PATTERN:name}"),
        ('patterns = { HOST = "[a" }\n    file_layout = `%{HOST}`', "28: pattern 'HOST': unterminated character set"),
        ('patterns = { A = "%{A}" }\n    file_layout = `%{A}`', "23: pattern 'A': it contains itself"),
    ],
)
def test_layouts_of_files_and_objects(kind, lines, expected):
    top = f'source "{kind}" "top" {{\n    {lines}\n    {SOURCES[kind]}\n}}\n'
    inside = f'partition "nginx_access_log" "p" {{\n  source "{kind}" {{\n    {lines}\n    {SOURCES[kind]}\n  }}\n}}\n'
    for text, line in ((top, 2), (inside, 3)):
        (problem,) = problems(text)
        assert str(problem) == f"a.tpc:{line}:{expected}"
        assert problem.hint
    with pytest.raises(Problem, match=re.escape(f"3:{expected}")):
        checked_patterns(inside)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("format = { type = `grok`, layout = `%{YAER:x}` }", "unknown grok pattern 'YAER'"),
        ("format = { type = `regex`, layout = `(?<x>a` }", "missing )"),
        ("format = { type = `regex`, layout = `(?<x>a)`, start = `(?=x)` }", "cannot tell where a record begins"),
        ("format = { type = `regex`, layout = `(?<x>a)`, start = `(` }", "no regular expression: missing )"),
        ("format = `- -`", "the layout names no field"),
    ],
)
def test_formats_of_sources_and_tables(line, expected):
    source = nginx("").replace("  }", f"    {line}\n  }}", 1)
    texts = [source]
    if "type" in line:
        texts.append(TABLE % line + PARTITION % ("t", ""))
    for text in texts:
        (problem,) = problems(text)
        assert expected in problem.message
        with pytest.raises(Problem, match=re.escape(expected)):
            checked_patterns(text)


def test_all_that_is_wrong_with_the_patterns_of_partitions_is_told_at_once():
    bad = nginx("").replace("  }", "    file_layout = `%{YAER}`\n    format = { type = `grok`, layout = `(` }\n  }", 1)
    with pytest.raises(ConfigErrors) as raised:
        checked_patterns(bad + bad.replace('"p"', '"q"'))
    assert [error.place.line for error in raised.value.errors] == [4, 5, 12, 13]
    checked_patterns(nginx(""))


def test_columns_that_may_come_are_let_through():
    assert not problems(TABLE % "" + PARTITION % ("t", 'filter = "whatever + 1 > other.inner"'))
    closed = TABLE % 'map_fields = ["http_*"]'
    assert not problems(closed + PARTITION % ("t", 'filter = "http_status > 1"'))
    (problem,) = problems(closed + PARTITION % ("t", 'filter = "status > 1"'))
    assert problem.message == "filter: unknown column 'status'"


def test_transforms_see_the_fields_that_formats_name():
    column = '  column "c" {\n    transform = "upper(hsot)"\n  }\n  column "ts"'
    own = 'format = { type = "delimited", fields = ["ts", "host"] }'
    (problem,) = problems((TABLE % own).replace('  column "ts"', column))
    assert (str(problem), problem.hint) == (
        "a.tpc:4:24: transform of column c: unknown column 'hsot'",
        "did you mean 'host'?",
    )
    assert not problems((TABLE % "").replace('  column "ts"', column))


def test_a_fault_used_by_many_is_told_once():
    shared = 'format "regex" "r" {\n  layout = `(?<a>x) [`\n}\n'
    using = "".join(
        f'partition "nginx_access_log" "p{n}" {{\n  source "file" {{\n    paths = ["/x"]\n'
        "    format = format.regex.r\n  }\n}\n"
        for n in range(3)
    )
    (problem,) = problems(shared + using)
    assert problem.where == "a.tpc:2:22"


def test_plain_files_need_no_engine():
    program = f"""
import sys
from datetime import datetime
from tailrace.config.load import load_texts
from tailrace.config.places import Text
from tailrace.pipeline.check import check
assert not check(load_texts([Text("a.tpc", {nginx("")!r}.encode())], now=datetime(2024, 1, 1), environ={{}}))
print(sorted({{"duckdb", "pyarrow", "pyspark", "numpy"}} & sys.modules.keys()))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_sink_without_a_table() -> None:
    """It is refused as a block; what else there is can still be judged."""
    text = 'sink "lake" "x" {\n  tabel = "syslog"\n}\n' + nginx('filter = "statu = 1"')
    with pytest.raises(ConfigErrors) as failure:
        problems(text)
    assert failure.value.config is not None
    assert [problem.message for problem in check(failure.value.config)] == ["filter: unknown column 'statu'"]
