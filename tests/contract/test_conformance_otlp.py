"""OpenTelemetry's logs as other tools read them: the same records in JSON, protobuf and Parquet, and odd cases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from conformance import Expected, Measured, measure, record
from world import World

DEMO = "otlp2parquet-testdata"
CASES = "fluentbit-otlp/internal/data/opentelemetry/logs.json"
NAMED = {"service.name": "ServiceName", "service.namespace": "ServiceNamespace"}
ACCEPTED = {
    "resourceLogs_missing": "an empty message",
    "scopeLogs_missing": "a resource without logs is none too many",
    "resource_valid_scope_missing": "a resource without logs is none too many",
    "base64_encoded_trace_span": "generic protobuf libraries write ids in base64",
    "mixed_encoding_formats": "generic protobuf libraries write ids in base64",
}
"Cases that the other tool refuses and that lose nothing here."


def as_written(row: dict[str, Any]) -> dict[str, Any]:
    """A row of the other tool's Parquet file in terms of columns; attributes that it has columns for are put back."""
    attributes = json.loads(row["ResourceAttributes"]) | {k: row[v] for k, v in NAMED.items() if row[v]}
    return {
        "tp_timestamp": row["Timestamp"].replace(tzinfo=None),
        "coalesce(trace_id, repeat('0', 32))": row["TraceId"].hex(),
        "coalesce(span_id, repeat('0', 16))": row["SpanId"].hex(),
        "service_name": row["ServiceName"],
        "service_namespace": row["ServiceNamespace"],
        "resource_schema_url": row["ResourceSchemaUrl"],
        "scope_name": row["ScopeName"],
        "scope_version": row["ScopeVersion"],
        "scope_schema_url": row["ScopeSchemaUrl"],
        "coalesce(flags, 0)": row["TraceFlags"],
        "severity_text": row["SeverityText"],
        "severity_number": row["SeverityNumber"],
        "body": json.loads(row["Body"]),
        "len(json_keys(attributes))": len(json.loads(row["LogAttributes"])) or None,
        **{
            f"json_extract_string(attributes, '$.\"{k}\"')": str(v) for k, v in json.loads(row["LogAttributes"]).items()
        },
        **{f"json_extract_string(resource_attributes, '$.\"{k}\"')": str(v) for k, v in attributes.items()},
    }


def demo(world: World, data: Path, name: str) -> Measured:
    rows = pq.read_table(data / DEMO / "parquet/logs.parquet").to_pylist()
    return measure(world, "otlp_log", data, f"{DEMO}/{name}", expected=[as_written(row) for row in rows])


@pytest.mark.parametrize("name", ["logs.jsonl", "logs.pb"])
def test_as_another_tool_writes_it_to_parquet(name: str, world: World, real_logs: Path) -> None:
    measured = demo(world, real_logs, name)
    measured.check()
    assert (measured.stored, measured.equal) == (81, measured.compared)
    assert measured.compared > 1_500


def test_a_name_that_is_no_severity_is_kept_as_sent(world: World, real_logs: Path) -> None:
    measure(world, "otlp_log", real_logs, f"{DEMO}/invalid/log_invalid_severity.json").check()
    assert world.query("select severity_number, tp_extra ->> '$.tp_misfit.severity_number' from otlp_log") == [
        (None, "INVALID_SEVERITY_VALUE")
    ]


@pytest.mark.parametrize(("name", "stored"), [("logs", 1), ("events", 1), ("metrics", 0), ("trace", 0)])
def test_examples_of_the_protocol(name: str, stored: int, world: World, real_logs: Path) -> None:
    """Metrics and traces are no logs: they go to the quarantine."""
    measured = measure(world, "otlp_log", real_logs, f"otlp-proto-examples/{name}.json", bad=1 - stored)
    assert (measured.stored, measured.quarantined) == (stored, 1 - stored)


FLUENT = "fluentbit-otlp/integration/scenarios/in_opentelemetry/tests/data_files"


@pytest.mark.parametrize(
    ("dataset", "stored", "bad"),
    [
        ("lnav-logfiles/logfile_otel_collector.jsonl", 11, 0),
        ("otlp2parquet-testdata/log.json", 1, 0),
        ("fluentbit-otlp/runtime/data/opentelemetry/routing_logs.json", 5, 0),
        (f"{FLUENT}/test_logs_expect_batch.in.json", 4, 0),
        # The protocol allows names in lower camel case only.
        (f"{FLUENT}/test_logs_001.in.json", 0, 1),
        (f"{FLUENT}/test_logs_2038.in.json", 0, 1),
    ],
)
def test_messages_that_nobody_has_read_for_us(
    dataset: str, stored: int, bad: int, world: World, real_logs: Path
) -> None:
    measured = measure(world, "otlp_log", real_logs, dataset, bad=bad)
    measured.check()
    assert (measured.stored, measured.quarantined) == (stored, bad)


def cases(data: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads((data / CASES).read_text())
    return found


# The flags of a record are not compared: the other tool gives them a name that the protocol does not have.
COUNTED = {"dropped_attributes_count": "dropped_attributes_count"}


def first_record(case: dict[str, Any]) -> dict[str, Any]:
    """What the other tool makes of a case's first record, in terms of columns."""
    expected = case["expected"]
    told = expected["log_metadata"].get("otlp", {})
    body = expected["log_body"]
    fields = {name: told[name] for name in ("severity_number", "severity_text", "event_name") if name in told}
    fields |= {f"upper({name})": told[name] for name in ("trace_id", "span_id") if name in told}
    fields |= {column: told[name] for name, column in COUNTED.items() if name in told}
    for part in ("resource", "scope"):
        around = expected["group_body"].get(part, {})
        fields |= {f"{part}_{name}": around[name] for name in ("name", "version", "schema_url") if name in around}
    fields |= {"observed_time_unix_nano": told["observed_timestamp"]} if "observed_timestamp" in told else {}
    fields |= {
        f"json_extract_string(attributes, '$.\"{key}\"')": json.dumps(value).strip('"')
        for key, value in told.get("attributes", {}).items()
    }
    for part in ("resource", "scope"):
        attributes = expected["group_body"].get(part, {}).get("attributes", {})
        fields |= {
            f"coalesce(json_extract_string({part}_attributes, '$.\"{key}\"'), '')": str(value)
            for key, value in attributes.items()
        }
    if set(body) == {"log"}:
        return fields | {"body": str(body["log"])}
    nested = {f"try_cast(body as json) -> '$.{key}'": value for key, value in body.items() if value}
    return fields | {key: json.dumps(value, separators=(",", ":")) for key, value in nested.items()}


def edge_cases(world: World, data: Path, folder: Path) -> Measured:
    """The cases that the other tool takes and that have a time, one file each."""
    chosen = {
        name: case
        for name, case in cases(data).items()
        if "log_body" in case.get("expected", {}) and name != "missing_timestamp"
    }
    expected: Expected = []
    for number, case in enumerate(chosen.values()):
        (folder / f"{number:03d}.json").write_text(json.dumps(case["input"]))
        records = [
            record
            for resource in case["input"]["resourceLogs"]
            for scope in resource["scopeLogs"]
            for record in scope["logRecords"]
        ]
        expected += [first_record(case), *({} for _ in records[1:])]
    return measure(world, "otlp_log", folder.parent, folder.name, expected=expected, shown=CASES)


def test_edge_cases_that_are_taken(world: World, real_logs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "cases"
    folder.mkdir()
    measured = edge_cases(world, real_logs, folder)
    assert (measured.quarantined, measured.stored >= 20, measured.compared > 30) == (0, True, True)
    # A plain map in place of a value is no value of the protocol: it is read, and kept as sent.
    assert not measured.differing
    (told,) = world.query(
        "select tp_extra -> '$.tp_misfit.body' from otlp_log where json_exists(tp_extra, '$.tp_misfit.body')"
    )
    assert "kvlistValue" in told[0]


def test_edge_cases_that_are_refused(world: World, real_logs: Path, tmp_path: Path) -> None:
    """Each is in the quarantine or has a row that tells what did not fit."""
    told: dict[str, tuple[int, int, int]] = {}
    for name, case in cases(real_logs).items():
        if "expected_error" not in case:
            continue
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(case["input"]))
        own = World(tmp_path / name)
        counts = own.collect_one("otlp_log", str(path)).counts
        flagged = own.query("select 1 from otlp_log where tp_extra is not null") if counts.stored else []
        told[name] = (counts.stored, counts.quarantined, len(flagged))
    assert {name for name, (_, refused, flagged) in told.items() if not refused and not flagged} == set(ACCEPTED)
    stored, refused, _ = map(sum, zip(*told.values(), strict=True))
    record(Measured("otlp_log", f"{CASES} (refused)", stored + refused, stored, refused, bad=refused))
