"""Days handed over to a lake in a bucket and back: what is asked for, what is read, two who push at once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from lakecheck import check, stored
from remotelake import BUCKET, MotoProcess, bucket_place, moto_process, remote_lake
from twolakes import PLACE, ROWS, hand, made_in, rows_of, told

from tailrace.core import LakeError
from tailrace.lake.paths import Lake


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MotoProcess]:
    with moto_process(tmp_path_factory.mktemp("moto") / "requests", BUCKET) as process:
        yield process


def test_there_and_back(server: MotoProcess, tmp_path: Path) -> None:
    world, remote = made_in(tmp_path), remote_lake(tmp_path / "cache", server.url, "handed")
    assert told(hand("push", world.lake, remote)) == [("new", ROWS, 0, 0)] * 4
    check(remote, *PLACE)
    since = server.forget()
    assert told(hand("push", world.lake, remote)) == [("same", 0, 0, 0)] * 4
    assert not server.files_read(since), "the log tells it"
    here = Lake(tmp_path / "here")
    assert told(hand("pull", remote, here)) == [("new", ROWS, 0, 0)] * 4
    assert rows_of(here) == rows_of(world.lake)
    world.compact()
    assert {state for state, *_ in told(hand("push", world.lake, remote))} <= {"same", "differs"}
    assert stored(remote) == stored(world.home)


def test_a_bucket_that_is_not_there_is_told_with_what_to_do(server: MotoProcess, tmp_path: Path) -> None:
    world, nowhere = made_in(tmp_path), bucket_place(server.url, "lake", "no-such-bucket")
    with pytest.raises(LakeError) as refused:
        hand("push", world.lake, Lake(tmp_path / "cache", "default", nowhere))
    assert refused.value.code == "lake.gone"
    assert str(refused.value.hint).startswith("check its name, or make it")


def test_two_at_once(server: MotoProcess, tmp_path: Path) -> None:
    worlds = [made_in(tmp_path / name) for name in ("a", "b")]
    remote = remote_lake(tmp_path / "cache", server.url, "at-once")
    failed: list[BaseException] = []

    def push(lake: Lake) -> None:
        try:
            hand("push", lake, remote)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=push, args=(world.lake,)) for world in worlds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert stored(remote) == stored(worlds[0].home) + stored(worlds[1].home)
    check(remote, *PLACE)
