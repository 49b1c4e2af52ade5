"""CloudTrail as stored equals what Python's own JSON reader finds in the raw files."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from conformance import GENERATED, PYTHON, measure
from generated import generate

from tailrace.core import Column, Struct, camel
from tailrace.tables.aws_cloudtrail_log import TABLE

if TYPE_CHECKING:
    from tests.conftest import World


def events(path: Path) -> list[dict[str, Any]]:
    text = path.read_text()
    try:
        found = json.loads(text)
    except json.JSONDecodeError:
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    if isinstance(found, dict):
        found = found.get("Records", [found])
    return list(found)


def expected(column: Column, value: Any) -> Any:
    """A value as the column should hold it; JSON columns are compared as values."""
    if value is None:
        return None
    if isinstance(column.type, Struct):
        return {c.name: expected(c, value.get(c.src or camel(c.name))) for c in column.type.columns}
    if column.time is not None or column.type == "timestamp":
        moment = datetime.fromisoformat(value)
        moment = moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment
        if column.type == "timestamp":
            return moment
        return round((moment - datetime(1970, 1, 1)).total_seconds() * 1000)
    if column.type == "boolean":
        return value if isinstance(value, bool) else {"true": True, "false": False}[value]
    if column.type == "varchar":
        return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
    return value


def stored(column: Column, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(column.type, Struct):
        inner = {c.name: stored(c, value.get(c.name)) for c in column.type.columns}
        return None if all(v is None for v in inner.values()) else inner
    return json.loads(value) if column.type == "json" else value


def emptied(value: Any) -> Any:
    """A struct of nulls and a null struct say the same."""
    if isinstance(value, dict) and all(emptied(v) is None for v in value.values()):
        return None
    return {k: emptied(v) for k, v in value.items()} if isinstance(value, dict) else value


@pytest.mark.parametrize(
    ("dataset", "records"),
    [
        ("cloudtrail-stratus/*.json", 310),
        ("cloudtrail-traildiscover/*.json*", 314),
        ("opensearch-catalog/observability/aws_cloudtrail/data/samples-large.repaired.ndjson", 840),
    ],
)
def test_stored_values_equal_the_raw_files(dataset: str, records: int, real_logs: Path, world: World) -> None:
    wanted = [event for path in sorted(real_logs.glob(dataset)) for event in events(path)]
    assert len(wanted) == records
    assert_stored(world, real_logs, dataset, wanted)


def test_sampled_events_equal_the_raw_files(real_logs: Path, world: World, tmp_path: Path) -> None:
    """Events inside documents of another tool."""
    dataset = "opensearch-catalog/observability/aws_cloudtrail/data/samples.json"
    wanted = [sample["aws"]["cloudtrail"] for sample in events(real_logs / dataset)]
    (tmp_path / "events.json").write_text(json.dumps(wanted))
    assert_stored(world, tmp_path, "events.json", wanted, shown=dataset)


def test_generated_events_equal_the_raw_files(world: World, tmp_path: Path) -> None:
    texts = generate(tmp_path / "logs", "write_cloudtrail(root, events=3000, files=8, days=2)")
    wanted = [event for text in texts for event in json.loads(text)["Records"]]
    assert len(wanted) == 3000
    assert_stored(world, tmp_path, "logs", wanted, shown=GENERATED)


def assert_stored(world: World, data: Path, dataset: str, wanted: list[dict[str, Any]], shown: str = "") -> None:
    """The events of a data set are stored as they are, column by column."""
    columns = {f'"{column.name}"': column for column in TABLE.columns}
    answers = [
        {name: expected(c, event.get(c.src or camel(c.name))) for name, c in columns.items()} for event in wanted
    ]
    measured = measure(
        world, TABLE.name, data, dataset, expected=answers, reader=PYTHON, shown=shown,
        same=lambda name, found, want: emptied(stored(columns[name], found)) == emptied(want),
    )  # fmt: skip
    assert (measured.stored, measured.differing) == (len(wanted), ())


BROKEN = 53
"47 whole events inside other objects, and six pieces of the one that is torn."


def test_malformed_sample_is_stored_but_for_what_is_broken(real_logs: Path, world: World) -> None:
    """Commas are missing in it, one event is torn, and 48 events stand inside another object."""
    place = real_logs / "opensearch-catalog/observability/aws_cloudtrail/data"
    repaired = [json.loads(line) for line in (place / "samples-large.repaired.ndjson").read_text().splitlines()]
    dataset = str((place / "samples-large.json").relative_to(real_logs))
    measured = measure(world, "aws_cloudtrail_log", real_logs, dataset, bad=BROKEN)
    measured.check()
    assert (measured.stored, measured.quarantined) == (len(repaired) - 48, BROKEN)
    ids = {row[0] for row in world.query("select event_id from aws_cloudtrail_log")}
    refused = [raw for (raw,) in world.query("select raw from tp_quarantine where reason like 'row: no timestamp%'")]
    whole = [event["aws"]["cloudtrail"] for raw in refused if "aws" in (event := json.loads(raw))]
    ids |= {event["eventID"] for event in whole}
    assert len({e["eventID"] for e in repaired} - ids) <= 2


def test_fields_of_the_shipper_are_kept(real_logs: Path, world: World, tmp_path: Path) -> None:
    """Logstash has moved `eventTime` to `@timestamp`: here it is put back, the other additions stay."""
    path = real_logs / "otrf-aws/ec2_proxy_s3_exfiltration_2020-09-14011940.json"
    wanted = [json.loads(line) for line in path.read_text().splitlines()]
    wanted = [event | {"eventTime": event["@timestamp"]} for event in wanted]
    copy = tmp_path / "shipped.json"
    copy.write_text("".join(json.dumps(event) + "\n" for event in wanted))
    report = world.collect_one("aws_cloudtrail_log", str(copy))
    assert report.counts.stored == len(wanted) == 103
    rows = world.query("select event_id, tp_extra from aws_cloudtrail_log order by tp_id")
    known = {c.src or camel(c.name) for c in TABLE.columns}
    for (event_id, extra), event in zip(rows, wanted, strict=True):
        assert event_id == event["eventID"]
        kept = {k: v for k, v in json.loads(extra).items() if k not in known and k != "tp_misfit"}
        assert kept == {k: v for k, v in event.items() if k not in known}


def test_events_without_a_time_are_refused_whole(real_logs: Path, world: World) -> None:
    dataset = "otrf-aws/ec2_proxy_s3_exfiltration_2020-09-14011940.json"
    path = real_logs / dataset
    measure(world, "aws_cloudtrail_log", real_logs, dataset, bad=103).check()
    raw = world.query("select raw from tp_quarantine where reason like 'row: no timestamp%' order by position")
    assert [json.loads(r) for (r,) in raw] == [json.loads(line) for line in path.read_text().splitlines()]
