"""An export that is killed at any step: the next one makes of the target what an undisturbed one would have made."""

from __future__ import annotations

import json
import signal
from collections import Counter
from pathlib import Path

import duckdb
import pytest
from commandline import Home
from exportsource import Source

from tailrace.export.run import Export, Kind
from tailrace.export.scope import Exported, Scope

STEPS: dict[Kind, tuple[str, ...]] = {
    "hive": ("export-staged", "export-placed", "export-listed", "export-removed"),
    "iceberg": ("export-placed", "export-committed"),
}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    return Source.made(tmp_path_factory.mktemp("source"))


def exported(source: Source, out: Path, kind: Kind, scope: Scope) -> Exported:
    (done,) = Export(source.world.lake, out, kind).run({"kinds": scope}, lambda _total, _more: None)
    return done


def ids(folder: Path, kind: Kind) -> Counter[str]:
    """What a reader finds: by glob, or by the table's metadata."""
    if kind == "iceberg":
        from pyiceberg.table import StaticTable

        return Counter(StaticTable.from_metadata(f"{folder}/kinds").scan().to_arrow()["tp_id"].to_pylist())
    found = duckdb.execute("select tp_id from read_parquet(?)", [f"{folder}/tp_table=kinds/*/*/*/*.parquet"])
    return Counter(row[0] for row in found.fetchall())


@pytest.mark.parametrize(("kind", "step"), [(kind, step) for kind, steps in STEPS.items() for step in steps])
def test_killed(source: Source, tmp_path: Path, kind: Kind, step: str) -> None:
    out = tmp_path / "out"
    exported(source, out, kind, Scope(frozenset({"a"})))
    source.delete_some("a")  # of files that were exported
    source.log("a", f"{kind}-{step}.jsonl", range(300, 310))
    source.collect()
    command = ("export", "kinds", "--out", str(out), "--as", kind)
    assert Home(source.world.home).run(*command, TAILRACE_KILL_AT=step).code == -signal.SIGKILL
    done = exported(source, out, kind, Scope())
    assert ids(out, kind) == source.ids()
    assert done.rows == source.ids().total()
    assert not (out / ".tailrace" / "staging").exists()
    if kind == "hive":
        listed = json.loads((out / "tp_table=kinds" / "_tailrace.json").read_text())["files"]
        on_disk = sorted(str(path.relative_to(out / "tp_table=kinds")) for path in out.rglob("*.parquet"))
        assert sorted(file["path"] for file in listed) == on_disk == source.active()
        assert sum(file["rows"] for file in listed) == done.rows
