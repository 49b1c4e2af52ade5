from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.core.errors import LakeError
from tailrace.lake import segments as book
from tailrace.lake.identity import artifact_prefix
from tailrace.lake.ledger import Entry, Ledger, Segment, entries_table, prefixes
from tailrace.lake.place import LocalPlace, Place

MakeEntry = Callable[..., Entry]


def segment(sequence: int, entries: list[Entry], **more: object) -> Segment:
    return Segment(sequence, "run", entries=entries_table(entries), **more)  # type: ignore[arg-type]


@pytest.fixture
def place(tmp_path: Path) -> LocalPlace:
    return LocalPlace(str(tmp_path))


def put(directory: Place, segment: Segment) -> None:
    directory.put(book.segment_name(segment.sequence), book.segment_bytes(segment), "test")


def test_segments_keep_everything(place: LocalPlace) -> None:
    entry = Entry(
        uri="s3://b/k ü.zip",
        version="etag",
        size=2**40,
        status="partial",
        at=datetime(2024, 1, 1, 2, 3, 4, 5),
        generation=3,
        source="s",
        day=date(2024, 1, 1),
        rows=1,
        received=10,
        quarantined=2,
        filtered=3,
        out_of_range=4,
        dates=(date(2024, 1, 1), date(2024, 1, 2)),
        taken_from=datetime(2024, 1, 1),
        members=("a", "b"),
        error="cut off",
    )
    written = segment(7, [entry], files=("f",), quarantine=("q",), notes={"range": "x"}, kind="collect")
    put(place, written)
    read = book.read_segment(place, 7)
    assert (read.sequence, read.run, read.files, read.quarantine, read.notes) == (
        7,
        "run",
        ("f",),
        ("q",),
        {"range": "x"},
    )
    row = read.entries.to_pylist()[0]
    assert row == {name: list(v) if isinstance(v := getattr(entry, name), tuple) else v for name in row}


@given(
    st.lists(st.lists(st.tuples(st.sampled_from("abc"), st.text("xyz")), max_size=3), max_size=6),
    st.integers(0, 6),
)
def test_fold_is_the_last_word_on_each_artifact_wherever_it_is_cut(
    commits: list[list[tuple[str, str]]], cut: int
) -> None:
    moment = datetime(2024, 1, 1)
    segments = [
        segment(n, [Entry(uri, version, 1, "ok", moment) for uri, version in commit])
        for n, commit in enumerate(commits, 1)
    ]
    expected = {uri: version for commit in commits for uri, version in commit}
    folded = Ledger().fold(segments[:cut]).fold(segments[cut:])
    assert {uri: known.version for uri, known in folded.known().items()} == expected


def test_validity_of_the_last_segment_is_the_logs_word(place: LocalPlace, make_entry: MakeEntry) -> None:
    for n in (1, 2, 3):
        put(place, segment(n, [make_entry(f"u{n}")], quarantine=(f"q{n}",)))
    assert set(book.load_ledger(place, 2, True).known()) == {"u1", "u2"}
    assert book.load_ledger(place, 3, False).quarantine == ("q1", "q2")
    assert book.load_ledger(place, 0, True).entries.num_rows == 0


def test_missing_segment_is_named(place: LocalPlace, make_entry: MakeEntry) -> None:
    put(place, segment(2, [make_entry("u")]))
    with pytest.raises(LakeError, match="segment 1 is missing"):
        book.load_ledger(place, 2, True)


def test_damaged_segment_is_named(place: LocalPlace) -> None:
    (place.path / book.segment_name(1)).write_bytes(b"junk")
    with pytest.raises(LakeError) as error:
        book.load_ledger(place, 1, True)
    assert error.value.code == "lake.damaged-ledger"


def test_foreign_parquet_is_no_segment(place: LocalPlace, make_entry: MakeEntry) -> None:
    path = place.path / book.segment_name(1)
    header = pq.read_schema(pa.BufferReader(book.segment_bytes(segment(1, [make_entry("u")])))).metadata
    for foreign in (pa.table({"a": [1]}), pa.table({"a": [1]}).replace_schema_metadata(header)):
        pq.write_table(foreign, path)
        with pytest.raises(LakeError, match="not a ledger") as error:
            book.load_ledger(place, 1, True)
        assert (error.value.code, error.value.where) == ("lake.damaged-ledger", str(path))


def test_the_run_that_read_and_the_run_that_stored(make_entry: MakeEntry) -> None:
    good, bad = make_entry("u"), replace(make_entry("u"), status="failed")
    first, second = segment(1, [good]), replace(segment(2, [bad]), run="later")
    for ledger in (Ledger().fold([first, second]), Ledger().fold([first]).fold([second])):
        assert [(r["run"], r["stored_by"]) for r in ledger.entries.to_pylist()] == [("later", "run")]
    assert Ledger().fold([second]).entries.column("stored_by").to_pylist() == [None]


def test_segments_at_or_below_the_fold_are_not_read(place: LocalPlace, make_entry: MakeEntry) -> None:
    for n in (1, 2, 3):
        put(
            place,
            segment(n, [make_entry("u", version=str(n))], quarantine=(f"q{n}",), notes={"n": str(n)}),
        )
    book.write_fold(place, book.load_ledger(place, 2, True), "run")
    (place.path / book.segment_name(1)).unlink()
    (place.path / book.segment_name(2)).unlink()
    ledger = book.load_ledger(place, 3, True)
    assert ledger.known()["u"].version == "3"
    assert (ledger.sequence, ledger.quarantine, ledger.notes) == (3, ("q1", "q2", "q3"), {"n": "3"})


def test_prefixes_include_members(make_entry: MakeEntry) -> None:
    table = entries_table([make_entry("a"), make_entry("b", members=("x", "y"))])
    expected = {
        artifact_prefix("a"),
        artifact_prefix("b"),
        artifact_prefix("b", "x"),
        artifact_prefix("b", "y"),
    }
    assert set(prefixes(table)) == expected


def test_thousands_of_segments_fold_quickly(place: LocalPlace, make_entry: MakeEntry) -> None:
    """Behind a fold every run reads a few dozen segments; without one it still must not take minutes."""
    data = book.segment_bytes(segment(1, [make_entry(f"u{i}") for i in range(10)]))
    for n in range(1, 3_001):
        (place.path / book.segment_name(n)).write_bytes(data)
    began = time.process_time()
    whole = book.load_ledger(place, 3_000, True)
    cold = time.process_time() - began
    book.write_fold(place, Ledger(3_000, whole.entries), "run")
    began = time.process_time()
    book.load_ledger(place, 3_000, True)
    warm = time.process_time() - began
    print(f"3,000 segments: {cold:.2f} s without a fold, {warm:.3f} s with one")
    assert cold < 10
    assert warm < 1


def test_a_hundred_thousand_artifacts(place: LocalPlace) -> None:
    moment = datetime(2024, 1, 1)
    entries = [Entry(f"s3://bucket/AWSLogs/{i}.json.gz", "etag", i, "ok", moment) for i in range(100_000)]
    ledger = Ledger().fold([segment(1, entries)])
    book.write_fold(place, ledger, "run")
    began = time.process_time()
    known = book.load_ledger(place, 1, True).known()
    taken = time.process_time() - began
    print(f"100,000 artifacts: {taken:.2f} s")
    assert len(known) == 100_000
    assert taken < 5
