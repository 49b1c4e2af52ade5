"""The report on real logs is whole: every data set is in it, and every row comes from a test that is there."""

from __future__ import annotations

from pathlib import Path

import pytest
from conformance import Measured, key, reported

from tailrace.core.registry import table_names

ROOT = Path(__file__).resolve().parents[2]
ROWS = reported()
CUSTOM = {"app", "buckets", "gateway", "kafka", "web"}
COMPARED = (
    "otel-contrib", "beats-filebeat-apache2", "jc-fixtures", "opensearch-catalog", "snowplow-rdb-loader",
    "fluentbit-otlp", "s3access-dandi", "otlp2parquet-testdata",
)  # fmt: skip
"Data sets whose answers count."


def test_rows_are_distinct_and_their_tests_exist() -> None:
    assert len({key(row) for row in ROWS}) == len(ROWS) > 300
    for row in ROWS:
        file, _, name = row["test"].partition("::")
        assert f"def {name}(" in (ROOT / file).read_text(), row["test"]


def test_tables_are_known() -> None:
    assert {row["table"] for row in ROWS} <= set(table_names()) | CUSTOM


def test_every_data_set_is_measured(real_logs: Path) -> None:
    present = {path.name for path in real_logs.iterdir() if path.is_dir() and not path.name.startswith("_")}
    assert present <= {row["dataset"].partition("/")[0] for row in ROWS}


def test_every_row_keeps_the_promise() -> None:
    for row in ROWS:
        kept = {name: value for name, value in row.items() if name not in ("test", "reasons")}
        Measured(**kept).check()
        assert row["quarantined"] == row["bad"], row


@pytest.mark.parametrize("name", COMPARED)
def test_answers_of_others_are_met(name: str) -> None:
    rows = [row for row in ROWS if row["dataset"].startswith(f"{name}/") and row["reader"] == "published answer"]
    assert sum(row["equal"] for row in rows) >= 0.99 * sum(row["compared"] for row in rows) > 0
