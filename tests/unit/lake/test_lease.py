"""Leases: who comes second, whose holder is gone, and what is renewed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bucketserver import serving
from motobuckets import Moto, moto_buckets
from remotelake import BUCKET, bucket_place
from writablebucket import WritableBucket

from tailrace.core import LockedError
from tailrace.core.errors import LakeError
from tailrace.lake import lease
from tailrace.lake.lock import partition_lock
from tailrace.lake.object_place import ObjectPlace
from tailrace.lake.paths import Lake


@pytest.fixture(scope="module")
def moto() -> Iterator[Moto]:
    with moto_buckets() as server:
        server.bucket(BUCKET, {})
        yield server


@pytest.fixture
def lake(tmp_path: Path, moto: Moto) -> Lake:
    return Lake(tmp_path, elsewhere=bucket_place(moto.url, tmp_path.name))


@pytest.mark.parametrize("conditions", ["ignored", "refused", "unmatched"])
def test_a_server_without_conditions_is_refused(tmp_path: Path, conditions: Any) -> None:
    with serving(WritableBucket({}, conditions=conditions)) as server:
        lake = Lake(tmp_path, elsewhere=bucket_place(server.url, max_error_retry_attempts=0))
        with pytest.raises(LakeError) as refused, partition_lock(lake, "t", "p", "mine"):
            pass
    assert refused.value.code == "lake.no-conditional-put"
    assert refused.value.where == f"s3://{BUCKET}/some/where/meta/locks/t/p"


def test_a_server_that_lets_nobody_change_what_is_there_is_told(tmp_path: Path) -> None:
    """Also where leases are from before: to wait for whoever seems to hold one would be no remedy."""
    with serving(WritableBucket({})) as server:
        lake = Lake(tmp_path, elsewhere=bucket_place(server.url, max_error_retry_attempts=0))
        with partition_lock(lake, "t", "p", "mine"):
            pass
        server.conditions = "unmatched"
        with pytest.raises(LakeError, match=r"\(If-Match\)") as refused, partition_lock(lake, "t", "p", "mine"):
            pass
    assert refused.value.code == "lake.no-conditional-put"
    assert "proxy" in str(refused.value.hint)


def test_a_proxy_may_mark_etags_as_weak(tmp_path: Path) -> None:
    with serving(WritableBucket({}, weak=True)) as server:
        lake = Lake(tmp_path, elsewhere=bucket_place(server.url, max_error_retry_attempts=0))
        for _ in range(2):
            with partition_lock(lake, "t", "p", "mine"):
                assert lake.meta("locks", "t", "p").read(lease.NAME)
                with pytest.raises(LockedError), partition_lock(lake, "t", "p", "other"):
                    pass
            assert lake.meta("locks", "t", "p").read(lease.NAME) == b"", "let go"


def test_who_comes_second_hears_who_holds_the_lease(lake: Lake) -> None:
    with partition_lock(lake, "t", "p", "tailrace collect t.p"):
        with pytest.raises(LockedError) as error, partition_lock(lake, "t", "p", "other"):
            pass
        assert "(`tailrace collect t.p`) since 2" in str(error.value)
        assert error.value.exit_code == 6
        with partition_lock(lake, "t", "q", "another partition is free"):
            pass
    with partition_lock(lake, "t", "p", "free again"):
        pass


def test_a_lease_is_held_from_the_moment_at_which_it_can_be_seen(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread of the same process would take it, as one that a process of the same number has left."""
    seen = []
    require = ObjectPlace.require_conditions

    def looked(place: ObjectPlace, name: str) -> None:
        seen.append(lease._is_left(place.read(name)))
        require(place, name)

    monkeypatch.setattr(ObjectPlace, "require_conditions", looked)
    with partition_lock(lake, "t", "p", "mine"):
        assert seen == [False]


def test_a_lease_of_the_dead_does_not_block(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    place = lake.meta("locks", "t", "p")
    # Of a process of this machine that is gone.
    holder = lease.Holder(2**22 + 1, lease.socket.gethostname(), "tailrace collect", "2024-01-01T00:00:00Z")
    place.put(lease.NAME, lease.msgspec.json.encode(lease.Lease(holder, "x", 0.0)), "")
    with partition_lock(lake, "t", "p", "mine"):
        pass
    # Of one elsewhere, until it has not been renewed for a while.
    holder = lease.replace(holder, host="elsewhere")
    place.put(lease.NAME, lease.msgspec.json.encode(lease.Lease(holder, "x", 0.0)), "")
    with pytest.raises(LockedError, match="on elsewhere"), partition_lock(lake, "t", "p", "mine"):
        pass
    with monkeypatch.context() as patch:
        later = lease.time.time() + 3600  # a clock that is wrong takes nobody's lease away
        patch.setattr(lease.time, "time", lambda: later)
        with pytest.raises(LockedError, match="on elsewhere"), partition_lock(lake, "t", "p", "mine"):
            pass
    monkeypatch.setattr(lease, "LASTS", -1.0)
    with partition_lock(lake, "t", "p", "mine"):
        pass


def test_a_lease_whose_renewal_was_not_answered(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is there is ours, under a version that we do not know of."""
    place = lake.meta("locks", "t", "p")
    monkeypatch.setattr(lease, "RENEWED_EVERY", 0.05)
    with partition_lock(lake, "t", "p", "mine"):
        renewed = lease.msgspec.json.decode(place.read(lease.NAME), type=lease.Lease)
        lost = lease.msgspec.json.encode(lease.replace(renewed, renewed=0.0))
        place.put(lease.NAME, lost, "")
        until = lease.time.monotonic() + 20
        while place.read(lease.NAME) == lost:
            assert lease.time.monotonic() < until
    assert place.read(lease.NAME) == b"", "let go"


def test_a_lease_is_renewed_and_given_up_when_lost(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    place = lake.meta("locks", "t", "p")
    monkeypatch.setattr(lease, "RENEWED_EVERY", 0.05)
    with partition_lock(lake, "t", "p", "mine"):
        first = place.read(lease.NAME)
        until = lease.time.monotonic() + 20
        while place.read(lease.NAME) == first:
            assert lease.time.monotonic() < until
        place.put(lease.NAME, b"somebody else's", "")
        lease.time.sleep(0.2)
    assert place.read(lease.NAME) == b"somebody else's"
