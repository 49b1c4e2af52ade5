"""CloudTrail as stored equals what Python's own JSON reader finds in the raw files."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

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
    "place", ["cloudtrail-stratus", "cloudtrail-traildiscover", "opensearch-catalog/aws_cloudtrail"]
)
def test_stored_values_equal_the_raw_files(place: str, real_logs: Path, world: World) -> None:
    root = real_logs / place
    if not root.is_dir():
        root = next(iter(real_logs.glob(f"{place.partition('/')[0]}/**/{place.rpartition('/')[2]}/data")), root)
    files = sorted(p for p in root.rglob("*.json*") if "MANIFEST" not in p.name and "samples-large.json" != p.name)
    assert files
    for number, path in enumerate(files):
        copy = world.home / "in" / f"{number:04d}.json"
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.symlink_to(path)
    wanted = [e for path in files for e in events(path) if "eventTime" in e]
    report = world.collect_one("aws_cloudtrail_log", str(world.home / "in"))
    assert report.counts.stored == len(wanted)
    names = [c.name for c in TABLE.columns]
    select = ", ".join(f'"{n}"' for n in names)
    rows = world.query(f"select {select} from aws_cloudtrail_log order by tp_source_location, tp_id")
    assert len(rows) == len(wanted)
    for row, event in zip(rows, wanted, strict=True):
        for column, value in zip(TABLE.columns, row, strict=True):
            want = expected(column, event.get(column.src or camel(column.name)))
            assert emptied(stored(column, value)) == emptied(want), (column.name, event.get("eventID"))
