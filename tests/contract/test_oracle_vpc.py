"""VPC flow logs as stored equal what splitting their lines at blanks finds."""

from __future__ import annotations

import gzip
import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from conformance import PYTHON, Expected, measure
from generated import generate

from tailrace.tables.aws_vpc_flow_log import TABLE

if TYPE_CHECKING:
    from tests.conftest import World

DEFAULT = (
    "version account-id interface-id srcaddr dstaddr srcport dstport protocol packets bytes start end action log-status"
)
RENAMED = {
    "srcaddr": "src_addr", "dstaddr": "dst_addr", "srcport": "src_port", "dstport": "dst_port",
    "start": "start_time", "end": "end_time", "pkt-srcaddr": "pkt_src_addr", "pkt-dstaddr": "pkt_dst_addr",
}  # fmt: skip
TYPES = {column.name: column.type for column in TABLE.columns}


def value(name: str, text: str) -> Any:
    if text == "-":
        return None
    if TYPES[name] == "timestamp":
        return datetime(1970, 1, 1) + timedelta(seconds=int(text))
    return int(text) if TYPES[name] in ("integer", "bigint") else text


def parsed(text: str) -> list[tuple[dict[str, Any], dict[str, str]]]:
    """Per line its columns, and the fields that have none; a header line names the fields after it."""
    names = DEFAULT.split()
    rows = []
    for line in text.splitlines():
        words = line.split(" ")
        if words[0] == "version":
            names = words
            continue
        pairs = [(RENAMED.get(n, n.replace("-", "_")), w) for n, w in zip(names, words, strict=True)]
        known = {n: v for n, w in pairs if n in TYPES and (v := value(n, w)) is not None}
        rows.append((known, {n: w for n, w in pairs if n not in TYPES and w != "-"}))
    return rows


def stored(world: World) -> list[tuple[dict[str, Any], dict[str, str]]]:
    names = [column.name for column in TABLE.columns]
    select = ", ".join(f'"{name}"' for name in names)
    rows = world.query(f"select {select}, tp_extra from aws_vpc_flow_log order by tp_source_location, tp_id")
    return [
        (
            {n: v for n, v in zip(names, row, strict=False) if v is not None},
            json.loads(row[-1] or "{}"),
        )
        for row in rows
    ]


OTEL = "otel-contrib/awslogsencodingextension/internal/unmarshaler/vpc-flow-log/testdata"


@pytest.mark.parametrize(
    "place",
    [
        f"{OTEL}/valid_tgw_flow_log.log",
        f"{OTEL}/valid_vpc_flow_log_ecs.log",
        f"{OTEL}/valid_vpc_flow_log_multi.log",
        f"{OTEL}/valid_vpc_flow_log_single.log",
        "clo-aws-solutions/pipeline/log-processor/test/datafile/vpcflow.log",
        "lambda-promtail-testdata/vpcflowlog.log.gz",
    ],
)
def test_real_files_equal_their_words(place: str, real_logs: Path, world: World) -> None:
    data = (real_logs / place).read_bytes()
    wanted = parsed((gzip.decompress(data) if place.endswith(".gz") else data).decode())
    columns: Expected = [row for row, _ in wanted]
    measured = measure(world, "aws_vpc_flow_log", real_logs, place, expected=columns, reader=PYTHON)
    measured.check()
    assert measured.stored == len(wanted) > 0
    assert stored(world) == wanted


def test_lines_of_another_width_are_kept(real_logs: Path, world: World) -> None:
    measure(world, "aws_vpc_flow_log", real_logs, f"{OTEL}/vpc_flow_log_too_*.log", bad=1).check()
    assert stored(world)[0][1] == {"tp_rest": "one-too-many"}
    ((raw, reason),) = world.query("select raw, reason from tp_quarantine")
    assert raw.startswith(b"2 12345678910 ")
    assert reason == "layout: no match"


def test_samples_with_their_fields(real_logs: Path, world: World, tmp_path: Path) -> None:
    """The samples' own fields were partly made up for another line; what stands in the line is what counts."""
    place = "opensearch-catalog/observability/amazon_vpc_flow/data/sample.json"
    samples = json.loads((real_logs / place).read_text())
    (tmp_path / "flow.log").write_text("".join(f"{sample['body']}\n" for sample in samples))
    wanted = [parsed(sample["body"])[0][0] for sample in samples]
    expected: Expected = [
        row | {"account_id": sample["aws"]["vpc"]["account-id"]} for row, sample in zip(wanted, samples, strict=True)
    ]
    measured = measure(world, "aws_vpc_flow_log", tmp_path, "flow.log", expected=expected, shown=place, reader=PYTHON)
    measured.check()
    assert (measured.stored, measured.differing) == (22, ())
    assert stored(world) == [(row, {}) for row in wanted]


def test_generated_flows_equal_their_words(world: World, tmp_path: Path) -> None:
    texts = generate(tmp_path / "logs", "write_vpc(root, rows=4000, files=4, days=2)")
    wanted = [row for text in texts for row in parsed(text)]
    report = world.collect_one("aws_vpc_flow_log", str(tmp_path / "logs"))
    assert report.counts.stored == len(wanted) == 4000
    assert stored(world) == wanted
