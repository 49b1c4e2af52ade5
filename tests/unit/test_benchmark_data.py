"""The logs that benchmarks measure with: the same on every machine, and what they claim to be."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def generate(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    import generate

    return generate


def texts(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): gzip.decompress(p.read_bytes()) for p in sorted(root.rglob("*.gz"))}


def test_cloudtrail_is_valid_and_as_counted(generate: ModuleType, tmp_path: Path) -> None:
    found = generate.write_cloudtrail(tmp_path, events=600, files=6, days=2)
    files = texts(tmp_path)
    events = [event for text in files.values() for event in json.loads(text)["Records"]]
    assert len(files) == 6
    assert len(events) == found["rows"] == 600
    assert sum("errorCode" in event for event in events) == found["errors"]
    assert sum(event["readOnly"] for event in events) == found["reads"]
    assert len({event["eventID"] for event in events}) == 600
    assert found["raw_bytes"] / 600 > 1300


def test_lines_are_as_counted(generate: ModuleType, tmp_path: Path) -> None:
    nginx = generate.write_nginx(tmp_path / "nginx", rows=500, hosts=2, days=2)
    vpc = generate.write_vpc(tmp_path / "vpc", rows=500, files=4, days=2)
    assert sum(text.count(b"\n") for text in texts(tmp_path / "nginx").values()) == nginx["rows"] == 500
    flows = [line.split() for text in texts(tmp_path / "vpc").values() for line in text.splitlines()[1:]]
    assert len(flows) == vpc["rows"] == 500
    assert {len(flow) for flow in flows} == {14}
    assert sum(int(flow[9]) for flow in flows if flow[9] != b"-") == vpc["bytes"]


def test_the_same_seed_gives_the_same_bytes(generate: ModuleType, tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        generate.write_cloudtrail(tmp_path / name, events=50, files=2, days=1, seed=seed)
    assert texts(tmp_path / "a") == texts(tmp_path / "b")
    assert texts(tmp_path / "a") != texts(tmp_path / "c")


def test_a_simulated_log_is_planned_and_listed_like_a_real_one(generate: ModuleType, tmp_path: Path) -> None:
    import scaling
    from tailrace.lake.extents import partition_extents
    from tailrace.lake.paths import Lake
    from tailrace.lake.snapshot import snapshot

    scaling.grown(tmp_path, 40, 3)
    assert scaling.planned(Lake(tmp_path)) == 3
    seen = snapshot(Lake(tmp_path), scaling.TABLE)
    assert sum(extent.files for extent in partition_extents(seen)) == 120
    assert len(scaling.stats(scaling.LATEST, 0)) > 1500, "as large as those of a collection"
    assert {"plan", "list", "reading_rss"} <= scaling.measured(tmp_path, "reading").keys()
    assert {"open", "commit", "catch_up", "checkpoint"} <= scaling.measured(tmp_path, "writing").keys()
    assert scaling.log_bytes(tmp_path)["checkpoint_bytes"] > 0


def test_a_simulated_log_is_multiplied(generate: ModuleType, tmp_path: Path) -> None:
    import scaling
    from tailrace.lake.paths import Lake
    from tailrace.lake.snapshot import snapshot

    scaling.grown(tmp_path, 40, 1)
    scaling.multiplied(tmp_path, 5)
    assert scaling.planned(Lake(tmp_path)) == 5
    assert len(set(snapshot(Lake(tmp_path), scaling.TABLE).files.column("path").to_pylist())) == 200
