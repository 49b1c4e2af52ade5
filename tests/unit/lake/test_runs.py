"""Manifests that a crash, a full disk or somebody's hand has spoiled."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from tailrace.core.errors import LakeError
from tailrace.lake import runs
from tailrace.lake.commit import Change, PartitionWriter
from tailrace.lake.compacting import APART
from tailrace.lake.files import DataFile
from tailrace.lake.paths import Lake
from tailrace.lake.place import LocalPlace
from tailrace.lake.quarantine import QUARANTINE_SCHEMA, write_quarantine
from tailrace.lake.snapshot import snapshot
from tailrace.lake.vacuum import Vacuum

WriteFile = Callable[..., DataFile]
SPOILED = [b"", b"{", b"\xff\xfe junk", b"null", b'{"run": "other", "sequence": 9, "pid": 1, "host": "h", "since": 1}']


def begun(lake: Lake, run: str, schema: pa.Schema, apart: str | None = None) -> PartitionWriter:
    writer = PartitionWriter(lake, "t", "p", run, schema, apart)
    writer.recover()
    return writer


def manifest_of(lake: Lake, run: str, kind: str = "runs") -> Path:
    return lake.meta(kind, "t", "p").path / f"{run}.json"


@pytest.mark.parametrize("content", SPOILED)
def test_the_run_is_dead_and_only_what_it_did_not_commit_goes(
    lake: Lake, schema: pa.Schema, write_file: WriteFile, content: bytes
) -> None:
    dead = begun(lake, "dead", schema)
    place = lake.meta("quarantine", "t", "p")
    for name in ("dead-1.parquet", "dead-2.parquet"):
        write_quarantine(place, name, QUARANTINE_SCHEMA.empty_table())
    first, second, orphan = (write_file(lake, "dead", ["a"], name=name) for name in ("1", "2", "3"))
    dead.commit(Change([], [first], quarantine=["dead-1.parquet"]))
    dead.commit(Change([], [second]))
    manifest_of(lake, "dead").write_bytes(content)
    assert runs.damaged_manifests(lake.meta("runs", "t", "p")) == [str(manifest_of(lake, "dead"))]
    recovered = begun(lake, "next", schema)
    root = lake.table_root("t").path
    assert [(root / file.path).exists() for file in (first, second, orphan)] == [True, True, False]
    assert place.names() == ["dead-1.parquet"]
    assert set(snapshot(lake, "t").files.column("path").to_pylist()) == {first.path, second.path}
    assert runs.damaged_manifests(lake.meta("runs", "t", "p")) == [], "it has been written anew"
    recovered.finish()


def test_files_of_earlier_versions_stay(lake: Lake, schema: pa.Schema, write_file: WriteFile) -> None:
    """A file that the run committed and that was removed since can still be restored."""
    dead = begun(lake, "dead", schema)
    file = write_file(lake, "dead", ["a"])
    dead.commit(Change([], [file]))
    dead.commit(Change([], merged=dead.active()))
    manifest_of(lake, "dead").write_bytes(b"")
    begun(lake, "next", schema).finish()
    assert snapshot(lake, "t").files.num_rows == 0
    assert (lake.table_root("t").path / file.path).exists()


def test_one_who_slept_meanwhile_does_not_commit(lake: Lake, schema: pa.Schema, write_file: WriteFile) -> None:
    sleeper = begun(lake, "sleeper", schema)
    file = write_file(lake, "sleeper", ["a"])
    manifest_of(lake, "sleeper").write_bytes(b"")
    begun(lake, "next", schema).finish()
    with pytest.raises(LakeError) as lost:
        sleeper.commit(Change([], [file]))
    assert lost.value.code == "lake.lost-race"
    assert snapshot(lake, "t").files.num_rows == 0


def test_a_compaction_that_cannot_read_its_own_loses(lake: Lake, schema: pa.Schema) -> None:
    """It may have been given up: what it wrote may be gone."""
    begun(lake, "r", schema).finish()
    writer = PartitionWriter(lake, "t", "p", "merging", schema, APART)
    writer.announce()
    writer.rejoin()
    manifest_of(lake, "merging", APART).write_bytes(b"")
    with pytest.raises(LakeError) as lost:
        writer.rejoin()
    assert lost.value.code == "lake.lost-race"
    begun(lake, "later", schema, APART).leave()
    assert runs.manifests(lake.meta(APART, "t", "p"))[0].swept is not None


def test_a_vacuum_leaves_files_of_a_run_that_may_live(lake: Lake, schema: pa.Schema, write_file: WriteFile) -> None:
    run = runs.new_run_id()
    begun(lake, run, schema)
    write_file(lake, run, ["a"])
    manifest_of(lake, run).write_bytes(b"")
    assert Vacuum(lake, "t", None).waste("p").files == ()


def test_files_beside_them_are_none(lake: Lake, schema: pa.Schema) -> None:
    begun(lake, "r", schema).finish()
    manifest_of(lake, "r-copy").write_bytes(b"")
    manifest_of(lake, "r").with_suffix(".txt").write_bytes(b"")
    assert runs.manifests(lake.meta("runs", "t", "p")) == []
    begun(lake, "next", schema).finish()


def test_it_is_on_disk_before_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a power failure may leave it empty."""
    steps: list[str] = []
    replace, sync = os.replace, os.fsync
    monkeypatch.setattr(os, "fsync", lambda number: (steps.append("synced"), sync(number)))
    monkeypatch.setattr(os, "replace", lambda *names: (steps.append("named"), replace(*names)))
    runs.write_manifest(LocalPlace(str(tmp_path)), runs.new_manifest("r", 0))
    assert steps == ["synced", "named"]
    assert [manifest.run for manifest in runs.manifests(LocalPlace(str(tmp_path)))] == ["r"]
