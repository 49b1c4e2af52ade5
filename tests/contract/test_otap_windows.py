"""Statements about windows of time; numbers are those of the list in docs/windows.md."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from otaptables import START, simple, tables_of, write
from otlprequests import Request, Told, told_by_request
from upstreamfiles import Exporter
from windowqueries import SAMPLED
from windowruns import MARGIN, MINUTE, places, results, run, spec_at, started, told

from tailrace.core.errors import DataError, LockedError
from tailrace.lake.place import LocalPlace, Place
from tailrace.windows import sources
from tailrace.windows import state as state_of_windows
from tailrace.windows.catalog import Catalog
from tailrace.windows.data import load as load_window
from tailrace.windows.files import OtapFile, list_table, new_name, opened
from tailrace.windows.reading import read_parts
from tailrace.windows.run import locked
from tailrace.windows.schema import ATTRIBUTES
from tailrace.windows.sources import Reader, Source
from tailrace.windows.spec import Temporal
from tailrace.windows.state import State
from tailrace.windows.writer import OtapWriter

SECOND = 1_000_000_000


def minutes(count: int, name: str = "shop") -> list[Request]:
    return [simple(name, ["a", "b"], attributes=n % 3 > 0, time=START + n * MINUTE) for n in range(count)]


def all_of(requests: list[Request]) -> Told:
    return sum(map(told_by_request, requests), Counter())


@given(st.integers(0, 2**62), st.sampled_from([SECOND, 7 * SECOND, MINUTE, 5 * MINUTE, 60 * MINUTE]))
def test_a02_every_time_is_in_one_window(time: int, size: int) -> None:
    temporal = Temporal(size, 0)
    start = temporal.start_of(time)
    assert start % size == 0
    assert start <= time < start + size
    assert temporal.start_of(start + size) == start + size


def test_a03_a_window_waits_for_its_margin_exactly(tmp_path: Path) -> None:
    write(tmp_path / "in", *minutes(1))
    ready = START + MINUTE + MARGIN
    assert run(tmp_path, ready - 1).state.windows == 0
    assert results(tmp_path) == {}
    assert run(tmp_path, ready).state.windows == 1
    assert told(tmp_path) == all_of(minutes(1))


def test_a04_a_young_file_counts(tmp_path: Path) -> None:
    """Files are written now, long after their windows."""
    write(tmp_path / "in", *minutes(2))
    assert run(tmp_path).state.windows == 2


def test_a05_logs_without_a_time(tmp_path: Path) -> None:
    request = simple("shop", ["observed", "never", "dated"])
    observed, never, _ = request[0]["scopes"][0]["records"]
    observed |= {"time": 0, "observed": START + 3 * MINUTE}
    never["time"] = 0
    write(tmp_path / "in", request)
    (file,) = (tmp_path / "in" / "logs").rglob("*.parquet")
    created = int(file.name.split("-")[1])
    file.rename(file.with_name(file.name.replace(str(created), str(START // 1_000_000 + 120_000))))
    kept = run(tmp_path)
    assert (kept.state.windows, kept.state.undated) == (3, 1)
    assert told(tmp_path) == all_of([request])
    dropped = tmp_path / "dropped"
    (dropped).mkdir()
    (dropped / "in").symlink_to(tmp_path / "in")
    assert run(dropped, keep_undated=False).state.windows == 2


@pytest.mark.parametrize("absent", [False, True])
def test_a05_a_time_that_another_writer_leaves_out(absent: bool, tmp_path: Path) -> None:
    """Null counts as zero does: logs have the time at which they were observed, in the catalog as in the window."""
    request = simple("shop", ["a", "b"])
    for record in request[0]["scopes"][0]["records"]:
        record |= {"time": 0, "observed": START + 3 * MINUTE}
    write(tmp_path / "in", request, simple("shop", ["c"]))
    (file,) = (tmp_path / "in" / "logs").rglob("*.parquet")
    parquet = pq.ParquetFile(file)
    rows, metadata = parquet.read(), parquet.metadata.metadata
    place = rows.schema.get_field_index("time_unix_nano")
    times = rows["time_unix_nano"]
    without = pc.if_else(pc.equal(times.cast(pa.int64()), 0), pa.scalar(None, times.type), times)
    kept = rows.set_column(place, "time_unix_nano", without)
    if absent:
        kept = rows.slice(0, 2).drop_columns(["time_unix_nano"])
    pq.write_table(kept.replace_schema_metadata({b"otap.ids": metadata[b"otap.ids"]}), file)
    found = run(tmp_path)
    assert found.state.undated == 0
    assert told(tmp_path) == all_of([request] if absent else [request, simple("shop", ["c"])])
    last = found.state.last
    assert last is not None
    starts = [done.start for done in last.windows if done.selected]
    assert starts == ([START + 3 * MINUTE] if absent else [START, START + 3 * MINUTE])


def test_a10_attributes_are_found_where_ids_need_the_32nd_bit(tmp_path: Path) -> None:
    """Footers tell such ids with a sign, and files may hold some on either side of it."""
    requests = [simple("shop", ["x"] * 3, time=START + n * MINUTE) for n in range(4)]
    with OtapWriter(LocalPlace(str(tmp_path / "in")), rows_per_file=6) as writer:
        writer._next_id = 2**31 - 4
        for request in requests:
            writer.write(tables_of(request))
    assert len(list((tmp_path / "in" / "log_attrs").rglob("*.parquet"))) == 2
    assert run(tmp_path).state.windows == 4
    assert told(tmp_path) == all_of(requests)


def test_a09_a_file_is_opened_once_and_windows_read_their_own(tmp_path: Path) -> None:
    write(tmp_path / "in", *minutes(8), rows_per_file=1)
    catalog = Catalog(spec_at(tmp_path), places(tmp_path).root)
    catalog.look()
    assert catalog.opened == 8
    assert [sorted(starts) for starts in catalog.files.values()] == [[START + n * MINUTE] for n in range(8)]
    again = Catalog(spec_at(tmp_path), places(tmp_path).root)
    again.look()
    assert (again.opened, again.files) == (0, catalog.files)
    again.close()
    catalog.close()
    last = run(tmp_path).state.last
    assert last is not None
    assert [len(done.files) for done in last.windows] == [1] * 8


def test_a09_of_a_thousand_files_a_window_opens_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And without pruning, when all are read, the rows are the same."""
    base = LocalPlace(str(tmp_path / "in"))
    folder = tmp_path / "in" / "logs" / "_part_id=p"
    folder.mkdir(parents=True)
    schema = pa.schema([("time_unix_nano", pa.timestamp("ns"))], metadata={"otap.ids": "partition"})
    for n in range(1_000):
        times = pa.array([START + n * MINUTE]).cast(pa.timestamp("ns"))
        pq.write_table(pa.table([times], schema=schema), folder / new_name(), compression="none")
    with closing(Catalog(spec_at(tmp_path), places(tmp_path).root)) as catalog:
        catalog.look()
        assert catalog.opened == 1_000
        start = START + 500 * MINUTE
        own = [name for name, starts in catalog.files.items() if start in starts]
        (source,) = catalog.sources(own).values()
    names: list[str] = []

    def noted(base: Place, file: OtapFile, *, keyed: bool) -> pq.ParquetFile:
        names.append(file.name)
        return opened(base, file, keyed=keyed)

    monkeypatch.setattr(sources, "opened", noted)
    pruned = load_window(Reader(base).parts([source], start, start + MINUTE), start, start + MINUTE)
    assert names == own
    everything = duckdb.sql(
        f"""select epoch_ns(time_unix_nano) from read_parquet('{folder}/*.parquet')
        where epoch_ns(time_unix_nano) >= {start} and epoch_ns(time_unix_nano) < {start + MINUTE}"""
    ).fetchall()
    assert [(time,) for time in pruned.logs["timestamp_unix_nano"].to_pylist()] == everything == [(start,)]


def test_a09_row_groups_of_other_times_are_not_read(tmp_path: Path) -> None:
    """Logs without attributes keep the ids that their place in the file gives them."""
    write(tmp_path / "in", *(simple("shop", ["a"], attributes=n % 2 > 0, time=START + n * MINUTE) for n in range(6)))
    base = LocalPlace(str(tmp_path / "in"))
    (file,) = list_table(base, "logs")
    attributes = tuple(tuple(list_table(base, name)) for name in ATTRIBUTES)
    for n in range(6):
        start = START + n * MINUTE
        (part,) = Reader(base).parts([Source(file, True, attributes)], start, start + MINUTE)
        assert (len(part.tables.logs), part.rows.tolist()) == (1, [n])
        pruned = load_window([part], start, start + MINUTE)
        assert pruned.logs == load_window(read_parts(base), start, start + MINUTE).logs


def test_a_clock_that_was_ahead_is_told_and_nothing_dropped(tmp_path: Path) -> None:
    write(tmp_path / "in", simple("shop", ["a"], time=START))
    run(tmp_path, START + 500 * MINUTE)
    write(tmp_path / "in", simple("shop", ["b"], time=START + 10 * MINUTE))
    with pytest.raises(DataError, match="in the future") as failure:
        run(tmp_path, START + 20 * MINUTE)
    assert failure.value.code == "window.clock"
    state = State.read(places(tmp_path).segments, LocalPlace(str(tmp_path / "out")))
    assert (state.late_files, len(results(tmp_path))) == (0, 1)


@pytest.mark.parametrize("policy", ["drop", "emit", "fail"])
def test_a12_files_that_come_too_late(policy: str, tmp_path: Path) -> None:
    write(tmp_path / "in", *minutes(3))
    run(tmp_path, START + 4 * MINUTE + MARGIN, late_files=policy)
    before = results(tmp_path)
    # It holds a minute that is finished and one that is to come.
    late = [simple("late", ["x"], time=START + MINUTE), simple("late", ["y"], time=START + 6 * MINUTE)]
    write(tmp_path / "in", *late)
    if policy == "fail":
        with pytest.raises(DataError, match="after their windows were finished"):
            run(tmp_path, late_files=policy)
        assert results(tmp_path) == before
        return
    for _ in range(2):
        state = run(tmp_path, late_files=policy).state
        assert (state.late_files, state.late_rows) == (1, 1)
    after = results(tmp_path)
    assert {name: after[name] for name in before} == before
    expected = all_of(minutes(3)) + told_by_request(late[1])
    assert told(tmp_path) == (expected + told_by_request(late[0]) if policy == "emit" else expected)
    assert sum("late-1" in name for name in after) == (policy == "emit")


def test_a14_a_restart_goes_on_where_it_was(tmp_path: Path) -> None:
    requests = minutes(9)
    write(tmp_path / "in", *requests[:2], *requests[5:])
    finished = [run(tmp_path, START + n * MINUTE + MARGIN).state for n in (1, 4, 4, 9)]
    assert [state.windows for state in finished] == [1, 2, 2, 6]
    assert [state.through for state in finished] == [START + n * MINUTE for n in (1, 4, 4, 9)]
    assert told(tmp_path) == all_of(requests[:2] + requests[5:])
    later = run(tmp_path, START + 20 * MINUTE + MARGIN).state
    assert (later.windows, later.through) == (6, START + 20 * MINUTE)


def test_a14_segments_are_folded_and_what_is_kept_may_be_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sum of segments says what they say; catalog and sum are made again, and logs come out once all the same."""
    monkeypatch.setattr(state_of_windows, "FOLD", 2)
    requests = minutes(7)
    write(tmp_path / "in", *requests)
    for n in range(1, 6):
        folded = run(tmp_path, START + n * MINUTE + MARGIN).state
    sums = tmp_path / "state" / "segments" / "folded" / "folded.json"
    assert sums.exists()
    kept = sums.read_bytes()
    sums.unlink()
    whole = State.read(places(tmp_path).segments, LocalPlace(str(tmp_path / "out")))
    names = ("segments", "through", "first", "seen", "windows", "logs", "selected")
    assert [getattr(whole, name) for name in names] == [getattr(folded, name) for name in names]
    sums.write_bytes(kept)
    (tmp_path / "state" / "files.db").write_bytes(b"no database")
    assert run(tmp_path).state.windows == 7
    assert told(tmp_path) == all_of(requests)
    # Who takes the segments away begins anew, whatever else is left.
    for path in (tmp_path / "state" / "segments").glob("*.json"):
        path.unlink()
    assert run(tmp_path).state.windows == 7


def test_the_first_window(tmp_path: Path) -> None:
    write(tmp_path / "in", *minutes(4))
    begun = run(tmp_path, START + 2 * MINUTE + 1, start_at="now").state
    assert (begun.windows, begun.through) == (0, START + 2 * MINUTE)
    later = run(tmp_path, start_at="now").state
    assert (later.windows, later.late_files) == (2, 0)
    assert told(tmp_path) == all_of(minutes(4)[2:])
    other = tmp_path / "other"
    other.mkdir()
    (other / "in").symlink_to(tmp_path / "in")
    assert run(other, start_at="2026-09-21T14:17:00Z").state.windows == 1


def test_a15_two_at_once_are_one_too_many(tmp_path: Path) -> None:
    write(tmp_path / "in", *minutes(1))
    with locked(places(tmp_path), "minutes"):
        with started(tmp_path, START + 100 * MINUTE) as second:
            _, said = second.communicate(timeout=60)
        assert second.returncode != 0
        assert LockedError.__name__ in said
    assert results(tmp_path) == {}


def test_a36_numbers_of_every_window(tmp_path: Path) -> None:
    write(tmp_path / "in", *minutes(3))
    last = run(tmp_path).state.last
    assert last is not None
    first = last.windows[0]
    assert (first.logs, first.rows, first.selected, len(first.files)) == (2, 2, 2, 1)
    assert first.bytes == len(next(iter(results(tmp_path).values())))
    assert set(last.digests) == {"query", "config", "seed"}
    assert all(done.seconds > 0 for done in last.windows)
    other = tmp_path / "weighed"
    other.mkdir()
    (other / "in").symlink_to(tmp_path / "in")
    weights = SAMPLED.replace("COALESCE(CAST(la.str AS DOUBLE), 1.0)", "CAST('-1' AS DOUBLE)")
    weighed = run(other, query=weights).state.last
    assert weighed is not None
    assert [done.invalid_weights for done in weighed.windows] == [2, 2, 2]
    (file,) = (tmp_path / "in" / "logs").rglob("*.parquet")
    write(tmp_path / "in", *minutes(1))
    file.write_bytes(file.read_bytes()[:-9])
    (tmp_path / "state" / "files.db").unlink()
    with pytest.raises(DataError, match="not a whole Parquet file") as failure:
        run(tmp_path)
    assert file.name in str(failure.value)


def test_upstream_files_may_have_to_be_certain(tmp_path: Path) -> None:
    exporter = Exporter(tmp_path / "in", "core-0")
    exporter.export(tables_of(simple("shop", ["a"], attributes=False)))
    exporter.flush()
    with pytest.raises(DataError, match="no resource that is certain"):
        run(tmp_path, strict=True)
    assert run(tmp_path).state.unresolved == 1
