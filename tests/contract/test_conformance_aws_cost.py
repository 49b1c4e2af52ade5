"""Cost reports: the same charges as a legacy CSV, a CSV of report 2.0 and Parquet give the same rows."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from world import World

REPORT, FOCUS = "aws_cost_and_usage_report", "aws_cost_and_usage_focus"
LEGACY = {
    "identity/LineItemId": "identity_line_item_id",
    "lineItem/UsageStartDate": "line_item_usage_start_date",
    "lineItem/UsageAmount": "line_item_usage_amount",
    "lineItem/UnblendedCost": "line_item_unblended_cost",
    "lineItem/LineItemDescription": "line_item_line_item_description",
    "product/ProductName": "product.product_name",
    "product/vcpu": "product.vcpu",
    "product/instanceType": "product_instance_type",
    "resourceTags/user:Team": "resource_tags.user_team",
}
CHARGES = [
    (
        f"id-{n}", f"2024-06-{n % 28 + 1:02}T06:00:00Z", n / 3, n * 0.1, f'line {n},\n"quoted"', "Amazon EC2",
        str(n % 8), "t3.small", f"team {n % 5}",
    )
    for n in range(500)
]  # fmt: skip
ASKED = (
    "identity_line_item_id, strftime(line_item_usage_start_date, '%Y-%m-%dT%H:%M:%SZ'), line_item_usage_amount, "
    "line_item_unblended_cost, line_item_line_item_description, product ->> 'product_name', product ->> 'vcpu', "
    "product_instance_type, resource_tags ->> 'user_team'"
)


def modern(charge: tuple[Any, ...]) -> dict[str, Any]:
    """The charge with the names of report 2.0, which puts maps in columns of their own."""
    row: dict[str, Any] = {}
    for name, value in zip(LEGACY.values(), charge, strict=True):
        column, _, key = name.partition(".")
        if key:
            row.setdefault(column, {})[key] = value
        else:
            row[column] = value
    return row


def write_csv(path: Path, header: list[str], rows: list[list[Any]]) -> None:
    with gzip.open(path, "wt", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def legacy_csv(path: Path) -> Path:
    write_csv(path / "report.csv.gz", list(LEGACY), [list(charge) for charge in CHARGES])
    return path / "report.csv.gz"


def modern_csv(path: Path) -> Path:
    rows = [modern(charge) for charge in CHARGES]
    texts = [[json.dumps(v) if isinstance(v, dict) else v for v in row.values()] for row in rows]
    write_csv(path / "data.csv.gz", list(rows[0]), texts)
    return path / "data.csv.gz"


def modern_parquet(path: Path) -> Path:
    maps = pa.map_(pa.string(), pa.string())
    rows = [modern(charge) for charge in CHARGES]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    arrays = {
        name: pa.array([list(v.items()) for v in values], maps) if isinstance(values[0], dict) else pa.array(values)
        for name, values in columns.items()
    }
    pq.write_table(pa.table(arrays), path / "data.parquet")
    return path / "data.parquet"


@pytest.mark.parametrize("write", [legacy_csv, modern_csv, modern_parquet])
def test_reports_hold_what_was_written(write: Any, world: World, tmp_path: Path) -> None:
    path: Path = write(tmp_path)
    more = {"format": f"format.{REPORT}.parquet"} if path.suffix == ".parquet" else {}
    report = world.collect_one(REPORT, str(path), **more)
    assert (report.counts.stored, report.counts.quarantined, report.counts.flagged) == (500, 0, 0)
    assert world.query(f"select {ASKED} from {REPORT} order by tp_id") == CHARGES


def test_focus_in_parquet(world: World, tmp_path: Path) -> None:
    table = pa.table({
        "ChargePeriodStart": pa.array(["2024-06-10 06:00:00"]).cast(pa.timestamp("ms")),
        "BilledCost": [0.25],
        "ServiceName": ["AWS Lambda"],
        "Tags": pa.array([[("team", "web")]], pa.map_(pa.string(), pa.string())),
        "x_UsageType": ["Requests"],
    })  # fmt: skip
    pq.write_table(table, tmp_path / "focus.parquet")
    report = world.collect_one(FOCUS, str(tmp_path / "focus.parquet"), format=f"format.{FOCUS}.parquet")
    assert report.clean
    rows = world.query(
        f"select tp_timestamp::varchar, billed_cost, service_name, tags ->> 'team', x_usage_type from {FOCUS}"
    )
    assert rows == [("2024-06-10 06:00:00", 0.25, "AWS Lambda", "web", "Requests")]
