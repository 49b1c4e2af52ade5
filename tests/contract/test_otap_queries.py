"""Statements about SQL over OTAP tables; numbers are those of the list in docs/windows.md."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from otaptables import START, simple, told_by_tables, write
from otlprequests import Request, Told, told_by_proto, told_by_request
from windowqueries import (
    CORRELATED,
    COUNTED,
    DEFAULT,
    DEMO,
    FILTERED,
    ONE_TABLE,
    PASS_THROUGH,
    PLACEHOLDERS,
    SAMPLED,
)

from tailrace.core.errors import QueryError
from tailrace.lake.place import LocalPlace
from tailrace.windows.asking import ask
from tailrace.windows.data import WindowData, load
from tailrace.windows.engine import answered, opened
from tailrace.windows.reading import read_parts
from tailrace.windows.results import is_report, selected
from tailrace.windows.sql import rewritten, window_values
from tailrace.windows.to_proto import messages

MINUTE = 60_000_000_000


def window(base: Path) -> WindowData:
    return load(read_parts(LocalPlace(str(base))), START, START + MINUTE)


def answer(data: WindowData, query: str, size: int = 100) -> tuple[pa.Table, Told | None]:
    """The rows, and the logs that they select."""
    with opened(data) as connection:
        found = answered(connection, rewritten(query, "duckdb", window_values(START, START + MINUTE, size)))
        if is_report(found.column_names):
            return found, None
        tables = selected(connection, found, data)
        return found, sum((told_by_proto(message) for message in messages(tables)), Counter())


def severe(request: Request) -> Request:
    for record in request[0]["scopes"][0]["records"]:
        record |= {"severity": 17, "trace": bytes(range(16))}
    return request


@pytest.fixture(scope="module")
def requests() -> list[Request]:
    other_time = simple("shop", ["later"], time=START + MINUTE)
    return [
        simple("shop", ["a", "b"]), simple("bank", ["c", "d"], attributes=False), severe(simple("post", ["e"])),
        severe(simple("quay", ["f"], attributes=False)), other_time,
    ]  # fmt: skip


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory, requests: list[Request]) -> Path:
    made = tmp_path_factory.mktemp("otap")
    write(made, *requests[:3])
    write(made, *requests[3:])
    return made


def told(requests: list[Request]) -> Told:
    return sum(map(told_by_request, requests), Counter())


def test_a17_tables_and_their_other_names(base: Path) -> None:
    names = ("logs", "log_attrs", "resource_attrs", "scope_attrs", "log_attributes", "resource_attributes",
             "scope_attributes", "otap_temporal")  # fmt: skip
    with opened(window(base)) as connection:
        for name in names:
            found = answered(connection, f"select * from {name}")
            assert found.schema.field("_part_id").type == pa.string()
            assert len(found)
        kinds = answered(connection, "select distinct _table_type from otap_temporal order by 1")
    assert kinds["_table_type"].to_pylist() == ["log_attributes", "logs", "resource_attributes", "scope_attributes"]


def test_a18_the_queries_of_the_document_run_as_printed(base: Path, requests: list[Request]) -> None:
    data = window(base)
    assert answer(data, PASS_THROUGH)[1] == told(requests[:4])
    assert answer(data, FILTERED)[1] == told(requests[2:4])
    assert answer(data, PLACEHOLDERS)[1] == told(requests[:4])
    assert answer(data, DEFAULT)[1] == told([requests[0], requests[2]])
    assert answer(data, CORRELATED)[1] == told(requests[:1])
    demo = answer(data, DEMO)[1]
    assert demo is not None
    assert demo.total() == 6
    assert all("sampling.adjusted_count" in record for record in demo)
    found, _ = answer(data, SAMPLED)
    assert found.column_names == ["_part_id", "parent_id", "key", "str", "adjusted_weight"]
    report, logs = answer(data, COUNTED.replace("'service.name'", "'of'"))
    assert logs is None
    assert sorted(report["unique_logs"].to_pylist()) == [3]
    # As printed, the one over a single table names a table that is in no FROM: this is what it means.
    query = ONE_TABLE.replace("sample_weights", "sample_item.value").replace(
        "FROM otap_temporal la\n",
        "FROM otap_temporal la CROSS JOIN (select distinct sample from sampled_data) sampled_data\n",
    )
    assert len(answer(data, query.replace("'sampling.weight'", "'n'"))[0])


def test_a19_partitions_with_the_same_ids_never_mix(tmp_path: Path) -> None:
    pair = [simple("shop", ["a", "b"]), simple("bank", ["c", "d"])]
    for request in pair:
        write(tmp_path, request)
    assert answer(window(tmp_path), PASS_THROUGH)[1] == told(pair)
    query = """select l._part_id, l.id, ra.str as resource, la.str as own from logs l
    join resource_attributes ra on ra.parent_id = l.id and ra._part_id = l._part_id
    join log_attributes la on la.parent_id = l.id and la._part_id = l._part_id and la.key = 'of'"""
    rows = [tuple(row.values()) for row in ask(LocalPlace(str(tmp_path)), query).to_pylist()]
    assert len(rows) == 4
    assert all(resource == own for _, _, resource, own in rows)


def test_a20_attributes_of_the_resource_for_every_log(tmp_path: Path) -> None:
    requests = [simple(f"{n}", ["x"] * (n % 3 + 1)) + simple(f"{n}'", ["y"]) for n in range(12)]
    write(tmp_path, *requests)
    repeated = "select l.id, ra.str from logs l join resource_attributes ra on ra.parent_id = l.id order by 1"
    true = "select l.id, ra.str from logs l join resource_attrs ra on ra.parent_id = l.resource_id order by 1"
    place = LocalPlace(str(tmp_path))
    assert ask(place, repeated) == ask(place, true)
    own = "select l.id, la.str from logs l join log_attrs la on la.parent_id = l.id and la.key = 'of' order by 1"
    assert ask(place, repeated) == ask(place, own)


def test_a22_logs_without_attributes_are_there(base: Path, requests: list[Request]) -> None:
    data = window(base)
    counted, _ = answer(data, "select count(distinct (_part_id, parent_id)) as n from log_attributes")
    assert counted["n"].to_pylist() == [6] == [len(data.logs)]
    sampled = answer(data, SAMPLED)[1]
    assert sampled is not None
    assert sampled.total() == 6
    again = window(base)
    assert again.logs["id"].to_pylist() == data.logs["id"].to_pylist()
    assert sum(number < 0 for number in data.logs["id"].to_pylist()) == 3


def test_a22_a_log_may_have_an_id_and_no_attributes(tmp_path: Path) -> None:
    """Other writers give one to every log, and tables may be absent."""
    request = simple("shop", ["a", "b"])
    write(tmp_path, request)
    shutil.rmtree(tmp_path / "log_attrs")
    found, chosen = answer(window(tmp_path), PASS_THROUGH)
    assert found["parent_id"].to_pylist() == [0, 1]
    for record in request[0]["scopes"][0]["records"]:
        record["attributes"] = ()
    assert chosen == told_by_request(request)


def test_a23_what_an_answer_leaves_out_is_not_lost(tmp_path: Path) -> None:
    values: dict[str, Any] = {"i": 7, "d": 1.5, "b": True, "y": b"z", "m": (("k", [1]),), "l": [1, "x"], "s": "t"}
    request = simple("shop", ["a"])
    request[0]["scopes"][0]["records"][0]["attributes"] = tuple(values.items())
    write(tmp_path, request)
    data = window(tmp_path)
    expected = json.loads(json.dumps(list(values)))
    with opened(data) as connection:
        found = answered(connection, rewritten(SAMPLED, "duckdb", window_values(START, START + MINUTE, 100)))
        tables = selected(connection, found, data)
    assert tables.log_attrs["key"].to_pylist()[:7] == expected
    assert tables.log_attrs["type"].to_pylist() == [2, 3, 4, 7, 5, 6, 1, 1]
    changed = "select _part_id, parent_id, key, 'other' as str from log_attributes where key in ('i', 's')"
    with opened(data) as connection:
        tables = selected(connection, answered(connection, changed), data)
    rows = {row["key"]: (row["type"], row["str"]) for row in tables.log_attrs.to_pylist()}
    assert (rows["i"], rows["s"], len(rows)) == ((1, "other"), (1, "other"), 7)


def test_a35_one_count_per_log_and_the_counts_add_up(tmp_path: Path) -> None:
    """Also where the logs had one already, as those of a sample have."""
    counts = {"hot": 900, "cold": 40}
    requests = [simple(name, ["x"] * count) for name, count in counts.items()]
    for record in requests[1][0]["scopes"][0]["records"]:
        record["attributes"] += (("sampling.adjusted_count", "1.0"),)
    write(tmp_path, *requests)
    data = window(tmp_path)
    with opened(data) as connection:
        query = SAMPLED.replace("100", "{sample_size}")
        found = answered(connection, rewritten(query, "duckdb", window_values(START, START + MINUTE, 50)))
        tables = selected(connection, found, data)
        service = connection.execute(
            "select r.row, a.str from selected r join resource_attributes a on a.parent_id = r.id"
        ).fetchall()
    rows = tables.log_attrs.to_pylist()
    told_counts = Counter(row["parent_id"] for row in rows if row["key"] == "sampling.adjusted_count")
    assert set(told_counts.values()) == {1}
    assert len(told_counts) == len(tables.logs) == 90
    of = dict(service)
    sums: Counter[str] = Counter()
    for row in rows:
        if row["key"] == "sampling.adjusted_count":
            sums[of[row["parent_id"]]] += float(row["str"])
    assert sums["cold"] == 40
    # Four deviations of the closed form for unit weights.
    assert abs(sums["hot"] - 900) <= 4 * (900 * (900 - 50) / 49) ** 0.5


def test_a39_duckdb_alone_answers_the_same(base: Path) -> None:
    data = window(base)
    with duckdb.connect() as connection:
        for name, key in (("logs", "id"), ("log_attrs", "parent_id")):
            connection.execute(f"create view {name} as select * from read_parquet('{base}/{name}/*/*.parquet')")
            assert key
        times = f"epoch_ns(l.time_unix_nano) >= {START} and epoch_ns(l.time_unix_nano) < {START + MINUTE}"
        joined = f"from log_attrs a join logs l on l.id = a.parent_id and l._part_id = a._part_id where {times}"
        passed = connection.execute(
            f"select a._part_id, a.parent_id, a.key, a.str, a.int {joined} order by all"
        ).fetchall()
        filtered = connection.execute(
            f"select a._part_id, a.parent_id, a.key, a.str, a.int {joined} and l.severity_number >= 17 order by all"
        ).fetchall()
        counted = connection.execute(
            f"select a._part_id, count(*), count(distinct parent_id), 1 {joined} and key = 'of' group by 1 order by 1"
        ).fetchall()
    columns = ["_part_id", "parent_id", "key", "str", "int"]
    for query, expected in ((PASS_THROUGH, passed), (FILTERED, filtered)):
        found = answer(data, query)[0].select(columns).to_pylist()
        assert sorted((tuple(row.values()) for row in found if row["key"]), key=repr) == sorted(expected, key=repr)
    report = answer(data, COUNTED.replace("'service.name'", "'of'"))[0].to_pylist()
    assert [tuple(row.values()) for row in report] == counted


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("select 1; select 2", "one SELECT"), ("drop table logs", "one SELECT"), ("selec 1", "SELECT"),
        ("select {window_strat_ns}", "no placeholder"), ("select ?", "two bare"),
        ("select nothing from logs", "nothing"),
    ],
)  # fmt: skip
def test_queries_that_cannot_be_run(query: str, reason: str, base: Path) -> None:
    with pytest.raises(QueryError, match=reason):
        ask(LocalPlace(str(base)), query)


def test_sql_reaches_nothing_but_the_window(base: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("a\n1\n")
    with pytest.raises(QueryError, match="disabled"):
        ask(LocalPlace(str(base)), f"select * from read_csv('{tmp_path}/secret.csv')")
    assert told_by_tables(base).total() == 7
