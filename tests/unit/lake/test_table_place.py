"""Files of a table by the names that its log has for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailrace.core.errors import LakeError
from tailrace.lake.paths import Lake, Tier
from tailrace.lake.place import LocalPlace, Place
from tailrace.lake.table_place import TablePlace, is_elsewhere, link


def put(place: Place, name: str, data: bytes) -> None:
    draft = place.create(name)
    Path(draft.path).write_bytes(data)
    assert draft.close() == len(data)
    draft.wait()


def test_in_the_root_and_in_a_tier_on_disk(tmp_path: Path) -> None:
    tier = Tier("s", "t", LocalPlace(str(tmp_path / "tier é")))
    place = Lake(tmp_path / "home", tiers=(tier,)).table_root("t")
    near, far = "tp_partition=p/a b.parquet", f"{tier.called('t')}/tp_partition=p/100%25.parquet"
    link(place, tier.called("t"), tier.place / "tp_table=t")
    link(place, tier.called("t"), tier.place / "tp_table=t")
    assert not is_elsewhere(near)
    assert is_elsewhere(far)
    assert (tier.holds(near), tier.holds(far)) == (False, True)
    for name in (near, far):
        put(place, name, name.encode())
        assert place.read(name) == name.encode()
        assert place.size(name) == len(name.encode())
        assert place.has_near(name)
        assert Path(place.address(name)).read_bytes() == name.encode()
        with place.open(name) as opened:
            assert opened.read() == name.encode()
    assert (tmp_path / "tier é" / "tp_table=t" / "tp_partition=p" / "100%25.parquet").exists()
    # Whoever knows nothing of the tier follows the link.
    for known in (place, Lake(tmp_path / "home").table_root("t")):
        assert sorted(known.walk("tp_partition=p")) == sorted([near, far])
        assert [*known.walk("tp_partition=q")] == []
    place.delete([far, near, f"{tier.called('t')}/gone"])
    assert [*place.walk()] == []


def test_a_place_that_is_not_configured(tmp_path: Path) -> None:
    place = TablePlace(LocalPlace(str(tmp_path)))
    assert not place.has_near("s3://bucket/tp_table=t/x.parquet")
    with pytest.raises(LakeError) as refused:
        place.open("s3://bucket/tp_table=t/x.parquet")
    assert refused.value.code == "lake.unknown-tier"
    with pytest.raises(FileNotFoundError):
        place.size("_tiers/gone/x.parquet")
