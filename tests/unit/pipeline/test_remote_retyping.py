"""A table in a bucket that holds nothing any more takes other types, as one on disk does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lakecheck import check
from remotelake import BUCKET, bucket_place, moto_process
from world import World

from tailrace.core import TimeRange
from tailrace.lake.undo import erase
from tailrace.lake.vacuum import forget

CONFIG = """
table "t" {{
  map_fields = []
  format     = format.jsonl.default
  column "tp_timestamp" {{ source = "ts" }}
  column "n" {{ type = "{type}" }}
}}
partition "t" "p" {{
  source "file" {{ paths = ["{logs}/*.jsonl"] }}
}}
"""


def test_another_type_in_a_bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAILRACE_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "logs").mkdir()
    with moto_process(tmp_path / "log", BUCKET) as moto:
        world = World(tmp_path / "home", elsewhere=bucket_place(moto.url, tmp_path.name))

        def collected(type: str, n: int) -> str | None:
            (tmp_path / "logs" / f"{n}.jsonl").write_text(json.dumps({"ts": "2024-03-01T00:00:00Z", "n": n}) + "\n")
            world.write_config(CONFIG.format(type=type, logs=tmp_path / "logs"))
            (report,) = world.collect()
            return report.error and report.error.code

        assert collected("integer", 1) is None
        assert collected("bigint", 2**40) == "lake.type-change"
        erase(world.lake, "t", "p", TimeRange())
        assert collected("bigint", 2**40) == "lake.type-change", "rows can be restored"
        forget(world.lake, "t", "p")
        assert collected("bigint", 2**40) is None
        assert world.query("select n from t order by n") == [(1,), (2**40,)]
        check(world.lake, "t", "p")
