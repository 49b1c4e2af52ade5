"""Logs that are odd in every way, through windows that Spark answers and windows that DuckDB answers: the same logs."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from otaptables import START
from otlprequests import proto_request, random_request, told_by_proto
from otlpwrite import span
from windowqueries import PASS_THROUGH, SAMPLED
from windowruns import MINUTE, places, results, spec_at

from tailrace.lake.place import LocalPlace
from tailrace.windows.run import WindowRun, run_here
from tailrace.windows.spark_engine import run_by_spark
from tailrace.windows.transfer import import_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NO_TEXT = b"\xff\xfe\x80 no text \xc3"


def text(value: str) -> dict[str, Any]:
    return {"stringValue": value}


def nested(depth: int, kind: str) -> dict[str, Any]:
    value = text("innermost")
    for _ in range(depth):
        inner = {"key": "", "value": value} if kind == "kvlistValue" else value
        value = {kind: {"values": [inner, inner] if kind == "kvlistValue" and depth < 9 else [inner]}}
    return value


def pairs(*values: tuple[Any, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": value} for key, value in values]


ODD: list[dict[str, Any]] = [
    {},
    {"body": {}, "attributes": []},
    {"body": None, "attributes": None, "severityText": ""},
    {"attributes": pairs(("", text("")), ("", {}), ("\u0000", text("\u0000")), ("ä🙂", text("\ud83d\ude42")))},
    {"attributes": pairs(("twice", text("a")), ("twice", text("b")), ("twice", {"intValue": "7"}))},
    {"attributes": [{"key": "no value"}, {"value": text("no key")}, {}]},
    {"attributes": pairs(*((f"{n}", {"doubleValue": n}) for n in ("NaN", "Infinity", "-Infinity", -0.0, 5e-324)))},
    {"attributes": pairs(("n", {"intValue": str(2**63 - 1)}), ("m", {"intValue": -(2**63)}))},
    {"attributes": pairs(("b", {"boolValue": False}))},
    {"attributes": pairs(("deep", nested(100, "arrayValue")), ("deep map", nested(9, "kvlistValue")))},
    {"attributes": pairs(("wide", nested(4, "kvlistValue")))},
    {"attributes": pairs(("none", {"arrayValue": {}}), ("no", {"kvlistValue": {}}))},
    {"body": nested(100, "arrayValue")},
    {"attributes": pairs(("bytes", {"bytesValue": ""}), ("b", {"bytesValue": "AP8="}))},
    {"traceId": "", "spanId": "0" * 16, "flags": 2**32 - 1, "severityNumber": 99, "droppedAttributesCount": 2**32 - 1},
    {"traceId": "not one"},
    {"attributes": {"a": 1}},
    {"severityNumber": "loud"},
    {"body": {"intValue": 1.5}},
    {"body": nested(250, "arrayValue")},
    {"attributes": pairs((5, text("a key that is no text")))},
]  # fmt: skip


def odd_logs(root: Path) -> None:
    """One file of JSON, one of protobuf with texts that are none, and many made at random."""
    for n, one in enumerate(ODD):
        one.setdefault("timeUnixNano", str(START + n))
    document = {"resourceLogs": [
        {"resource": {"attributes": pairs(("service.name", text("")), ("service.name", text("b")))}, "schemaUrl": "",
         "scopeLogs": [{"scope": {"name": "", "attributes": pairs(("s", {"doubleValue": "NaN"}))}, "logRecords": ODD}]},
        {"scopeLogs": [{"logRecords": ODD}, {}, {"scope": None, "logRecords": None}]}, {}, {"resource": {}},
    ]}  # fmt: skip
    (root / "odd.json").write_text(json.dumps(document))
    key_value = span(1, NO_TEXT) + span(2, span(1, NO_TEXT))
    time = b"\x09" + (START + 99).to_bytes(8, "little")
    record = time + span(3, NO_TEXT) + span(5, span(1, NO_TEXT)) + span(6, key_value) + span(12, NO_TEXT)
    scope = span(1, span(1, NO_TEXT)) + span(2, record) + span(2, time + span(9, b"short id")) + span(3, NO_TEXT)
    (root / "no-text.pb").write_bytes(span(1, span(1, span(1, key_value)) + span(2, scope)))
    dice = random.Random(9)
    for number in range(30):
        request = random_request(dice)
        for resource in request:
            for one in resource["scopes"]:
                for log in one["records"]:
                    log["time"] = START + dice.randrange(MINUTE)
        (root / f"{number}.pb").write_bytes(proto_request(request))
    import_files([str(path) for path in sorted(root.glob("*.*"))], LocalPlace(str(root / "in")))


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("odd")
    odd_logs(made)
    return made


QUERIES = {
    "all": PASS_THROUGH,
    "not a number": "select _part_id, parent_id from log_attributes where double > 1e300 or double = 'NaN'::double",
    "some": "select _part_id, parent_id, key, str from log_attributes where str >= '' or key = '' or key is null",
    "numbers": "select _part_id, parent_id, key, int + 0 as int from log_attributes where int <= 0",
    "bytes": "select _part_id, parent_id, key, bytes, ser from log_attributes where coalesce(bytes, ser) is not null",
    "resources": "select _part_id, parent_id from resource_attributes where str = '' or double is not null",
    "sample": SAMPLED.replace("100", "20"),
    "one table": "select _part_id, parent_id from otap_temporal where _table_type = 'scope_attributes'",
}


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_odd_logs_are_the_same_from_both_engines(spark: SparkSession, root: Path, tmp_path: Path, query: str) -> None:
    found = []
    for runner in (run_here, lambda units: run_by_spark(spark, units)):
        place = tmp_path / str(len(found))
        spec = spec_at(place, base=LocalPlace(str(root / "in")), query=query, target_partitions=2)
        WindowRun(spec, places(place), runner).run(START + 100 * MINUTE)
        found.append(sum(map(told_by_proto, results(place).values()), Counter()))
    assert found[0].total() > 1
    assert found[1] == found[0]
