"""Rows that are stored and not in a file yet, as questions see them: each once, at every moment."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import flatwrite as fw
import pyarrow.parquet as pq
import pytest
from livesink import DAY, HOUR, MIXED, NOW, TODAY, Sink, engine_over, frames, lines

from tailrace.core.errors import LakeError
from tailrace.query.engine import Engine
from tailrace.query.limits import Limits
from tailrace.streams import batches, looking, manifests, publish, segments
from tailrace.streams.kinds import EVENTS, KINDS
from tailrace.streams.looking import look
from tailrace.streams.records import LOG_LINES
from tailrace.streams.sink_files import SinkError

ALL = "SELECT event_name FROM sink_parquet.events"


@pytest.fixture
def sink(tmp_path: Path) -> Sink:
    return Sink(tmp_path)


@pytest.fixture
def engine(sink: Sink, tmp_path: Path) -> Engine:
    return engine_over(sink.options, tmp_path)


@pytest.fixture(params=[False, True], ids=["free", "sandboxed"])
def any_engine(sink: Sink, tmp_path: Path, request: pytest.FixtureRequest) -> Engine:
    """Also one that may read nothing else."""
    return engine_over(sink.options, tmp_path, Limits(sandboxed=request.param))


def waits(sink: Sink, *numbers: int, workspace: int = 42, at: int = NOW) -> None:
    """Events that are in no file."""
    some = [fw.event(number, timestamp=at) for number in numbers]
    sink.send(frames(fw.events(some), workspace=workspace, at=at), publish=False)


def answer(engine: Engine, sql: str) -> list[Any]:
    (found,) = engine.run(sql)
    return [row[0] for row in found.rows]


def names(engine: Engine) -> list[str]:
    return sorted(answer(engine, ALL))


def wanted(*numbers: int) -> list[str]:
    return sorted(f"page_view_{number}" for number in numbers)


def test_rows_are_seen_before_they_are_published(sink: Sink, any_engine: Engine) -> None:
    sink.send(frames(*MIXED), publish=False)
    assert not sink.tree()
    for kind, count in zip(KINDS, (30, 20, 10), strict=True):
        assert answer(any_engine, f"SELECT count(*) FROM sink_parquet.{kind}") == [count]
    before = list(next(any_engine.run("FROM sink_parquet.events ORDER BY ALL")).rows)
    sink.publisher.publish(10, everything=True)
    assert sink.tree()
    assert list(next(any_engine.run("FROM sink_parquet.events ORDER BY ALL")).rows) == before


def test_nothing_is_written_where_nothing_waits(sink: Sink) -> None:
    sink.events(fw.event(1))
    found = look(sink.options, EVENTS)
    assert found.paths == (str(sink.options.path / TODAY / "events.parquet"),)


@pytest.fixture
def at_each_step(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[str], None]], None]:
    def hook(called: Callable[[str], None]) -> None:
        for module in (batches, manifests, publish, segments):
            monkeypatch.setattr(module, "reached", called)

    return hook


def test_each_row_once_at_each_step(
    sink: Sink, any_engine: Engine, at_each_step: Callable[[Callable[[str], None]], None]
) -> None:
    """Of decoding, publishing, folding, sealing, and beginning anew."""
    seen: list[tuple[str, list[str]]] = []
    at_each_step(lambda step: seen.append((step, names(any_engine))))
    stored: list[int] = []
    for turn in range(3):
        new = [10 * turn + n for n in range(3)]
        seen.clear()
        waits(sink, *new)
        hidden, shown = wanted(*stored), wanted(*stored, *new)
        assert [found for _, found in seen] == [shown if step == "manifest-named" else hidden for step, found in seen]
        stored += new
        if turn == 1:
            waits(sink, 99, at=NOW + DAY)
            stored.append(99)
        seen.clear()
        sink.publisher.publish(10, everything=True)
        assert {step for step, _ in seen} >= {"file-staged", "file-renamed", "fold-staged", "fold-marked"}
        assert {tuple(found) for _, found in seen} == {tuple(wanted(*stored))}
        seen.clear()
        sink.restart()
        assert names(any_engine) == wanted(*stored)
    sink.publisher.look_for_files(looking.files(sink.options))
    assert sink.publisher.seal(NOW + 30 * DAY) == 2
    assert {tuple(found) for _, found in seen} == {tuple(wanted(*stored))}
    assert names(any_engine) == wanted(*stored)


@pytest.mark.parametrize("step", ["file-renamed", "fold-staged", "fold-marked"])
def test_whoever_publishes_was_killed(
    step: str, sink: Sink, engine: Engine, at_each_step: Callable[[Callable[[str], None]], None]
) -> None:
    sink.events(fw.event(0))
    waits(sink, 1)
    waits(sink, 2, workspace=7)

    def killed(reached: str) -> None:
        if reached == step:
            raise KeyboardInterrupt

    at_each_step(killed)
    with pytest.raises(KeyboardInterrupt):
        sink.publisher.publish(10, everything=True)
    at_each_step(lambda step: None)
    assert names(engine) == wanted(0, 1, 2)
    sink.restart()
    assert names(engine) == wanted(0, 1, 2)
    sink.publisher.publish(10, everything=True)
    assert names(engine) == wanted(0, 1, 2)
    assert not list((sink.options.state / "manifests").iterdir())


@pytest.mark.parametrize("place", ["_part", "_pinned", "_written", "_published"])
def test_published_in_the_middle_of_a_look(
    place: str, sink: Sink, any_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink.events(fw.event(0))
    waits(sink, 1)
    waits(sink, 2, workspace=7)
    real: Callable[..., Any] = getattr(looking, place)

    def meanwhile(*args: Any) -> Any:
        sink.publisher.publish(10, everything=True)
        return real(*args)

    monkeypatch.setattr(looking, place, meanwhile)
    assert names(any_engine) == wanted(0, 1, 2)


def test_runs_that_went_between_their_manifest_and_a_look(
    sink: Sink, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits(sink, 1)
    real = manifests.read_manifests

    def late(state: Path) -> Iterator[manifests.Manifest]:
        found = list(real(state))
        sink.publisher.publish(10, everything=True)
        yield from found

    monkeypatch.setattr(manifests, "read_manifests", late)
    assert names(engine) == wanted(1)


def test_published_between_a_look_and_its_reading(sink: Sink, tmp_path: Path) -> None:
    """What was looked at is what is read, whatever becomes of it."""
    sink.events(fw.event(0))
    waits(sink, 1)
    found = look(sink.options, EVENTS)
    sink.publisher.publish(10, everything=True)
    waits(sink, 2)
    sink.publisher.publish(10, everything=True)
    (sink.options.path / TODAY / "events.parquet").unlink()
    rows = [name for path in found.paths for name in pq.ParquetFile(path).read()["event_name"].to_pylist()]
    assert sorted(rows) == wanted(0, 1)
    found.close()
    assert not any(Path(path).exists() for path in found.paths)


def test_a_file_that_may_be_renewed_is_held_though_nothing_waits(sink: Sink, any_engine: Engine) -> None:
    """DuckDB opens it twice."""
    now = int(time.time() * 1000)
    sink.events(fw.event(1, timestamp=now), at=now)
    sink.events(fw.event(2))  # years ago
    found = look(sink.options, EVENTS)
    old = str(sink.options.path / TODAY / "events.parquet")
    assert old in found.paths
    (held,) = set(found.paths) - {old}
    waits(sink, 3, at=now)
    sink.publisher.publish(10, everything=True)
    assert pq.ParquetFile(held).read()["event_name"].to_pylist() == ["page_view_1"]
    assert names(any_engine) == wanted(1, 2, 3)


def test_a_run_that_somebody_deleted_is_told(sink: Sink) -> None:
    waits(sink, 1)
    for path in (sink.options.state / "runs").iterdir():
        path.unlink()
    with pytest.raises(SinkError, match="are gone"):
        look(sink.options, EVENTS)


def test_only_what_is_asked_for_is_taken(sink: Sink, any_engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """By tenant and time, of rows that wait; by tenant, of files."""
    for tenant in range(1, 11):
        for hour in range(3):
            waits(sink, 10 * tenant + hour, workspace=tenant, at=NOW - hour * HOUR)
    monkeypatch.setattr(looking, "_WORTH", 1)
    taken: list[int] = []
    real = looking._written

    def counted(held: Any, schema: Any, parts: list[Any]) -> str:
        taken.append(sum(part.rows.num_rows for part in parts))
        return real(held, schema, parts)

    monkeypatch.setattr(looking, "_written", counted)
    for condition, rows, matter in (
        ("workspace_id = 3", 3, 3),
        (f"workspace_id IN (3, 4) AND timestamp > {NOW - HOUR}", 2, 2),
        (f"timestamp = {NOW - HOUR}", 10, 10),
        ("event_name = 'page_view_31'", 1, 30),
        ("workspace_id > 9 OR event_name = 'page_view_31'", 4, 30),
        ("workspace_id >= 9 AND workspace_id < 10", 3, 3),
        ("timestamp <= 5 ", 0, 0),
    ):
        taken.clear()
        assert len(answer(any_engine, f"{ALL} WHERE {condition}")) == rows
        assert sum(taken) == matter
    sink.publisher.publish(10, everything=True)
    found = look(sink.options, EVENTS, lambda bounds: bounds["workspace_id"] == (3, 3))
    assert found.paths == (str(sink.options.path / "3" / TODAY.partition("/")[2] / "events.parquet"),)
    assert answer(any_engine, f"{ALL} WHERE workspace_id = 3") == ["page_view_32", "page_view_31", "page_view_30"]


def test_tables_without_a_prefix_views_and_transactions(sink: Sink, engine: Engine) -> None:
    list(engine.run("USE sink_parquet"))
    waits(sink, 1)
    assert answer(engine, "SELECT count(*) FROM events") == [1]
    waits(sink, 2)
    assert answer(engine, "SELECT count(*) FROM events") == [2]
    list(engine.run("CREATE TEMP VIEW mine AS SELECT * FROM sink_parquet.events"))
    waits(sink, 3)
    assert answer(engine, "SELECT count(*) FROM mine") == [3]
    list(engine.run("BEGIN"))
    assert answer(engine, "SELECT count(*) FROM sink_parquet.events") == [3]
    waits(sink, 4)
    assert answer(engine, "SELECT count(*) FROM sink_parquet.events e JOIN sink_parquet.logs l USING (timestamp)") == [
        0
    ]
    assert answer(engine, "SELECT count(*) FROM sink_parquet.events") == [4]
    list(engine.run("ROLLBACK"))
    sink.publisher.publish(10, everything=True)
    assert answer(engine, "SELECT count(*) FROM sink_parquet.events") == [4]
    listed = list(next(engine.run("SHOW ALL TABLES")).rows)
    assert [row[2] for row in listed if row[1] == "sink_parquet"] == sorted(KINDS)


def test_a_first_question_in_a_transaction(sink: Sink, engine: Engine) -> None:
    waits(sink, 1)
    list(engine.run("BEGIN; SELECT 1"))
    assert names(engine) == wanted(1)
    list(engine.run("ROLLBACK"))
    waits(sink, 2)
    assert names(engine) == wanted(1, 2)


def test_many_files_that_have_rows_waiting(sink: Sink, engine: Engine) -> None:
    """Each is held open: as many as the system allows, and it is said where those are too few."""
    tenants = range(1, 101)
    for _ in range(2):
        sink.send(*(frames(fw.events([fw.event(n)]), workspace=n) for n in tenants), publish=False)
        if not sink.tree():
            sink.publisher.publish(10, everything=True)
    assert len(sink.tree()) == 100
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (90, before[1]))
        assert len(names(engine)) == 200
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 90
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_too_many_files_that_have_rows_waiting(sink: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    sink.send(*(frames(fw.events([fw.event(n)]), workspace=n) for n in range(1, 101)))
    sink.send(*(frames(fw.events([fw.event(n)]), workspace=n) for n in range(1, 101)), publish=False)
    monkeypatch.setattr(looking, "allow_more", lambda: False)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (90, before[1]))
        with pytest.raises(LakeError, match="Too many open files"):
            look(sink.options, EVENTS)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_waiting_rows_of_an_earlier_configuration(sink: Sink, tmp_path: Path) -> None:
    sink.send(frames(*MIXED), lines(b'{"message": "m"}', LOG_LINES), publish=False)
    for options in (
        replace(sink.options, workspace_id_type="int64"), replace(sink.options, data_format="binary"),
        replace(sink.options, partition_by="processing_time", flush_interval=timedelta(hours=1)),
    ):  # fmt: skip
        engine = engine_over(options, tmp_path / options.workspace_id_type)
        assert answer(engine, "SELECT sum(workspace_id)::BIGINT FROM sink_parquet.events") == [30 * 42]
        assert answer(engine, "SELECT count(*) FROM sink_parquet.logs") == [21]


def test_a_damaged_file_is_told_by_its_name(sink: Sink, engine: Engine) -> None:
    sink.events(fw.event(0))
    waits(sink, 1)
    path = sink.options.path / TODAY / "events.parquet"
    path.write_bytes(b"no parquet at all")
    with pytest.raises(Exception, match=r"events\.parquet"):
        names(engine)
