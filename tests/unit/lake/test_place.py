"""What every place does, on disk and in a bucket."""

from __future__ import annotations

import errno
import os
import pickle
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from azuriteserver import Azurite, azurite_server
from bucketserver import serving
from motobuckets import Moto, moto_buckets
from remotelake import ACCESS_KEY, BUCKET, SECRET_KEY, azure_place, bucket_place, google_place
from writablebucket import WritableBucket

from tailrace.core.errors import LakeError
from tailrace.lake.place import LocalPlace, Place

ODD = "tp_index=größe%20東 x/a.parquet"


@pytest.fixture(scope="module")
def moto() -> Iterator[Moto]:
    with moto_buckets() as server:
        server.bucket(BUCKET, {"some/other": b"", "some/where-else/a": b""})
        yield server


@pytest.fixture(scope="module")
def azurite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Azurite]:
    with azurite_server(tmp_path_factory.mktemp("azurite")) as server:
        server.container(BUCKET, {"some/other": b"x"})
        yield server


@pytest.fixture(scope="module")
def google() -> Iterator[WritableBucket]:
    with serving(WritableBucket({"some/other": b""})) as server:
        yield server


@pytest.fixture(params=["disk", "s3", "gs", "az"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    prefix = f"some/where/{tmp_path.name}"
    match request.param:
        case "s3":
            return bucket_place(request.getfixturevalue("moto").url, prefix)
        case "gs":
            return google_place(request.getfixturevalue("google").url, prefix, monkeypatch)
        case "az":
            return azure_place(request.getfixturevalue("azurite"), prefix, monkeypatch)
    return LocalPlace(str(tmp_path / "some where"))


def test_only_one_of_many_writers_wins(place: Place) -> None:
    for n in range(10):
        with ThreadPoolExecutor(8) as pool:
            won = list(pool.map(lambda o: place.put_if_absent(str(n), o.encode(), o), "abcdefgh"))  # noqa: B023
        assert won.count(True) == 1
        assert place.read(str(n)).decode() == "abcdefgh"[won.index(True)]
    assert place.names() == [str(n) for n in range(10)]


def test_put_replaces(place: Place) -> None:
    place.put("a", b"1", "x")
    place.put("a", b"2", "x")
    assert place.read("a") == b"2"
    assert place.size("a") == 1


def test_what_there_is(place: Place) -> None:
    assert not place.exists()
    assert (place.names(), place.folders(), list(place.walk()), place.holds("")) == ([], [], [], False)
    for name in ("b/c/1.json", ODD, "b/2", "a", "d", "c"):
        place.put(name, b"x", "x")
    assert place.exists()
    assert place.names() == ["a", "c", "d"]
    assert place.names("a") == ["c", "d"]
    assert place.names("bb") == ["c", "d"]
    assert (place.sizes_behind(""), place.sizes_behind("a")) == ({"a": 1, "c": 1, "d": 1}, {"c": 1, "d": 1})
    assert place.folders() == ["b", "tp_index=größe%20東 x"]
    assert sorted(place.walk()) == sorted(["a", "b/2", "b/c/1.json", "c", "d", ODD])
    assert sorted(place.walk("b")) == ["b/2", "b/c/1.json"]
    assert sorted((place / "b").walk()) == ["2", "c/1.json"]
    assert (place / "b/c").holds(".json")
    assert not place.holds(".json")
    assert (place / "b" / "c").read("1.json") == b"x"
    assert place.address("b/2") == f"{place}/b/2" == str(place / "b/2")


def test_deleting(place: Place) -> None:
    names = [f"a/{n}" for n in range(3)]
    for name in names:
        place.put(name, b"x", "x")
    place.delete([*names[:2], "a/gone already", "b/never there"])
    assert list(place.walk()) == ["a/2"]
    place.clear()
    assert not list(place.walk())


def test_missing_files(place: Place) -> None:
    for look in (place.read, place.size, place.open):
        with pytest.raises(FileNotFoundError):
            look("nothing")


@pytest.mark.parametrize("rows", [100, 300_000])
def test_parquet_is_written_and_read_at_any_position(place: Place, rows: int) -> None:
    table = pa.table({"n": range(rows), "text": [f"{n * 7919 % rows:x}" * 2 for n in range(rows)]})
    draft = place.create(ODD)
    with pq.ParquetWriter(draft.path, table.schema) as writer:
        writer.write_table(table, row_group_size=50_000)
        assert draft.size() >= 0
    size = draft.close()
    draft.wait()
    assert place.size(ODD) == size
    with place.open(ODD) as opened, pq.ParquetFile(opened, pre_buffer=True) as file:
        assert file.read_row_group(file.num_row_groups - 1, ["n"]).column("n")[-1].as_py() == rows - 1
        assert file.read().equals(table)


@pytest.mark.parametrize("closed", [False, True])
def test_nothing_stays_of_a_draft_that_is_not_wanted(place: Place, closed: bool) -> None:
    draft = place.create("a/b.parquet")
    with pq.ParquetWriter(draft.path, pa.schema([("n", pa.int64())])) as writer:
        writer.write_table(pa.table({"n": range(10)}))
    if closed:
        draft.close()
    draft.discard()
    assert not list(place.walk())


def test_a_place_travels_and_shows_no_secret(place: Place) -> None:
    place.put("a", b"1", "x")
    copied = pickle.loads(pickle.dumps(place))
    assert copied == place
    assert hash(copied) == hash(place)
    assert copied.read("a") == b"1"
    for shown in (repr(place), str(place), f"{place!r}", repr(copied)):
        assert SECRET_KEY not in shown
        assert ACCESS_KEY not in shown


def test_staged_leftovers_are_no_files_and_are_cleared_away(tmp_path: Path) -> None:
    place = LocalPlace(str(tmp_path))
    (tmp_path / "a.parquet.run.tmp").write_bytes(b"")
    place.put("b", b"1", "x")
    assert place.names() == ["b"]
    place.clear_staged()
    assert [p.name for p in tmp_path.iterdir()] == ["b"]


def test_what_a_server_refuses_is_told_without_secrets(moto: Moto) -> None:
    place = bucket_place(moto.url, "denied")
    moto.denied.add(f"/{BUCKET}/denied/a")
    with pytest.raises(LakeError) as refused:
        place.put("a", b"1", "x")
    assert refused.value.code == "lake.denied"
    assert refused.value.where == f"s3://{BUCKET}/denied/a"
    assert SECRET_KEY not in str(refused.value)
    with pytest.raises(LakeError) as missing:
        bucket_place(moto.url, "x", "no-such-bucket").names()
    assert "no such bucket" in str(missing.value)


@pytest.mark.parametrize("number", [errno.EPERM, errno.ENOSPC])
def test_a_file_system_without_hard_links_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    place = LocalPlace(str(tmp_path))

    def refuse(source: str, target: str) -> None:
        raise OSError(number, os.strerror(number), source, None, target)

    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises((LakeError, OSError)) as told:
        place.put_if_absent("a", b"x", "me")
    if isinstance(told.value, LakeError):
        assert (told.value.code, told.value.where, bool(told.value.hint)) == ("lake.no-links", f"{tmp_path}/a", True)
    assert isinstance(told.value, LakeError) == (number == errno.EPERM)
    monkeypatch.undo()
    assert not list(tmp_path.iterdir())
    assert place.put_if_absent("a", b"x", "me")
