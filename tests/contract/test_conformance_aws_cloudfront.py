"""CloudFront's logs equal what splitting their lines at tabs finds, in each of the ways they are written."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from conformance import PYTHON, Expected, measure
from world import World

from tailrace.tables.aws_cloudfront_access_log import FIELDS, TABLE

NAME = TABLE.name
COLUMNS = {column.src: column for column in TABLE.columns if column.src in FIELDS}
DATASETS = [
    ("aws-waf-security-automations/E3HXCM7PFRG6HT.2023-04-24-21.d740d76bCloudFront.gz", 152),
    ("aws-waf-security-automations/cf-access-log-sample.gz", 28949),
    ("clo-aws-solutions/pipeline/log-processor/test/datafile/cloudfront.log", 2),
    ("lambda-promtail-testdata/cloudfront.log.gz", 2),
    ("opensearch-catalog/observability/amazon_cloudfront/data/raw.log", 40),
]


def lines_of(path: Path) -> list[str]:
    data = path.read_bytes()
    text = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    return [line for line in text.decode().split("\n") if line and not line.startswith("#")]


def value(field: str, text: str) -> Any:
    if text in ("", "-"):
        return None
    kind = COLUMNS[field].type
    return int(text) if kind in ("integer", "bigint") else float(text) if kind == "double" else text


def answer(line: str) -> dict[str, Any]:
    words = dict(zip(FIELDS, line.split("\t"), strict=False))
    row = {COLUMNS[field].name: value(field, text) for field, text in words.items() if field in COLUMNS}
    return row | {"strftime(tp_timestamp, '%Y-%m-%d %H:%M:%S')": f"{words['date']} {words['time']}"}


@pytest.mark.parametrize(("dataset", "records"), DATASETS)
def test_lines_equal_their_words(dataset: str, records: int, real_logs: Path, world: World) -> None:
    answers: Expected = [answer(line) for line in lines_of(real_logs / dataset)]
    measured = measure(world, NAME, real_logs, dataset, expected=answers, reader=PYTHON)
    measured.check()
    assert measured.stored == records
    assert not measured.differing


def test_values_that_do_not_fit_are_kept(real_logs: Path, world: World) -> None:
    measured = measure(world, NAME, real_logs, "clo-aws-solutions/microbatch/test/data/cloudfront.log.gz")
    measured.check()
    rows = world.query(f"select tp_extra ->> '$.tp_misfit.sc_content_len' from {NAME} order by tp_id")
    assert rows == [("570129.7648412298",), ("677955.7753429408",)]


def test_json_holds_the_same(real_logs: Path, world: World, tmp_path: Path) -> None:
    lines = lines_of(real_logs / "opensearch-catalog/observability/amazon_cloudfront/data/raw.log")
    records = [dict(zip(FIELDS, line.split("\t"), strict=True)) | {"DistributionId": "E1"} for line in lines]
    (tmp_path / "v2.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    report = world.collect_one(NAME, str(tmp_path / "v2.jsonl"), format=f"format.{NAME}.json")
    assert report.clean
    fields = list(answer(lines[0]))
    found = world.query(f"select {', '.join(fields)}, distribution_id from {NAME} order by tp_id")
    assert found == [(*answer(line).values(), "E1") for line in lines]
