"""Filters, transforms and patterns are judged before anything is read, and pointed at by character."""

from __future__ import annotations

import subprocess
import sys
from datetime import datetime

import pytest

from tailrace.config.load import load_texts
from tailrace.config.places import Problem, Text
from tailrace.pipeline.check import check

PARTITION = 'partition "%s" "p" {\n  source "file" {\n    paths = ["/x"]\n  }\n  %s\n}\n'
TABLE = 'table "t" {\n  %s\n  column "ts" {\n    type = "timestamp"\n  }\n}\n'


def problems(text: str) -> list[Problem]:
    return check(load_texts([Text("a.tpc", text.encode())], now=datetime(2024, 3, 31), environ={}))


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
        (nginx('tp_index = "tp_id"'), ["5:15: tp_index: cannot be 'tp_id'"]),
        (nginx("filter = \"status >= 500 and list_contains(tp_ips, '192.0.2.1')\""), []),
    ],
)
def test_filters_and_indexes(text, expected):
    found = [str(problem) for problem in problems(text)]
    assert len(found) == len(expected)
    assert all(told.startswith(f"a.tpc:{wanted}") for told, wanted in zip(found, expected, strict=True))


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
