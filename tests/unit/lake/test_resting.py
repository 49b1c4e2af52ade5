"""In which tier a day rests."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from tailrace.lake.paths import Tier
from tailrace.lake.place import LocalPlace
from tailrace.lake.resting import Rule, moves
from tailrace.lake.rewrite import ActiveFile

FIRST = date(2024, 5, 1)
DAYS = [FIRST + timedelta(days=n) for n in range(5)]
spans = st.tuples(st.integers(-3, 8), st.integers(-3, 8)).map(lambda s: (min(s), max(s)))


@given(st.lists(st.tuples(spans, st.booleans(), st.booleans()), max_size=4))
def test_every_day_rests_in_the_first_tier_that_it_fits(declared: list[tuple[tuple[int, int], bool, bool]]) -> None:
    tiers = [Tier("s", f"t{n}", LocalPlace(f"/tiers/{n}")) for n in range(len(declared))]
    rules = [
        Rule(tier, FIRST + timedelta(days=first) if low else None, FIRST + timedelta(days=last) if high else None)
        for tier, ((first, last), low, high) in zip(tiers, declared, strict=True)
    ]
    files = [ActiveFile(f"f{n}", 1, "p", "default", day, 1) for n, day in enumerate(DAYS)]
    found = {f.day: move.tier for move in moves("t", files, rules) for f in move.files}
    for number, day in enumerate(DAYS):
        fits = [
            tier
            for tier, ((first, last), low, high) in zip(tiers, declared, strict=True)
            if (not low or first <= number) and (not high or number <= last)
        ]
        assert found.get(day) == (fits[0] if fits else None)
    # A second look finds everything where it should be.
    resting = [
        ActiveFile(
            f"{tier.called('t')}/x/{f.path}" if (tier := found.get(f.day)) else f.path, 1, "p", "default", f.day, 1
        )
        for f in files
    ]
    assert moves("t", resting, rules) == []


def test_a_condition_on_the_time_holds_for_whole_days() -> None:
    """As sketches of the configuration have it: a day counts from its beginning."""
    today = datetime.now(UTC).date()
    tier = Tier("s", "young", LocalPlace("/tiers/young"))
    files = [ActiveFile(f"f{back}", 1, "p", "default", today - timedelta(days=back), 1) for back in range(15)]
    (rule,) = [Rule(tier, where="tp_timestamp > current_date - interval '10' day")]
    young = {file.path for move in moves("t", files, [rule]) for file in move.files}
    assert young == {f"f{back}" for back in range(10)}
    exact = Rule(tier, where=f"tp_timestamp >= '{today - timedelta(days=1)}' and tp_timestamp < '{today}'")
    assert [file.path for move in moves("t", files, [exact]) for file in move.files] == ["f1"]
