"""Statements about weighted sampling; numbers are those of the list in docs/windows.md. DuckDB runs the SQL here."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from samplereference import Floats, lognormal, sample, uniforms

from tailrace.core.errors import QueryError
from tailrace.windows.sampling import Sampling
from tailrace.windows.sql import Prepared, rewritten, sampled, window_values

GROUPED = """select _part_id, weighted_reservoir_sample(STRUCT(id, w), {sample_size}) as sampled
from items group by _part_id order by _part_id"""


def run(items: pa.Table, query: str, size: int, sampling: Sampling | None = None) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        connection.register("items", items)
        return connection.sql(rewritten(query, "duckdb", window_values(0, 1, size), sampling)).fetchall()


def items(count: int, parts: int = 1, weights: Floats | None = None) -> pa.Table:
    ids = np.tile(np.arange(count), parts)
    given = np.ones(count) if weights is None else weights
    names = pa.array([str(n) for n in range(parts)]).take(pa.array(np.repeat(np.arange(parts), count)))
    return pa.table({"_part_id": names, "id": ids, "w": np.tile(given, parts)})


def estimates(count: int, size: int, seeds: int, weights: Floats, rank: str = "pri") -> tuple[Floats, Floats]:
    """Sums of adjusted weights and of variances per seed, from the reference."""
    u = np.stack([uniforms(np.arange(count), str(seed)) for seed in range(seeds)])
    ranks = -np.log(u) / weights if rank == "exp" else u / weights
    order = np.argpartition(ranks, size, axis=1)[:, : size + 1]
    kept = np.take_along_axis(ranks, order, 1)
    tau = kept.max(axis=1, keepdims=True)
    drawn = weights[order] * (kept < tau)
    if rank == "exp":
        adjusted = np.where(kept < tau, drawn / -np.expm1(-weights[order] * tau), 0)
        return adjusted.sum(axis=1), adjusted.sum(axis=1)
    adjusted = np.where(kept < tau, np.maximum(drawn, 1 / tau), 0)
    variance = np.where(kept < tau, (1 / tau) * np.maximum(0, 1 / tau - drawn), 0)
    return adjusted.sum(axis=1), variance.sum(axis=1)


def z_score(found: Floats, truth: float) -> float:
    return float((found.mean() - truth) / (found.std(ddof=1) / math.sqrt(len(found))))


def test_a16_partitions_that_are_known_draw_what_others_draw() -> None:
    """Salts are written out for some partitions and computed for the rest: those with odd names, and those beyond."""
    table = items(300, 3, lognormal(300))
    names = pa.array(["one", "it's \\ odd", "three"]).take(table["_part_id"].cast(pa.int64()))
    table = table.set_column(0, "_part_id", names)
    expected = run(table, GROUPED, 12)
    for part, drawn in expected:
        told = {one["value"]["id"]: one["adjusted_weight"] for one in drawn}
        assert told == sample(np.arange(300), lognormal(300), 12, part)
    for parts in (("one",), ("three", "it's \\ odd", "none"), tuple(map(str, range(100)))):
        assert run(table, GROUPED, 12, Sampling(parts=parts)) == expected
    prepared = Prepared(GROUPED, "duckdb", 12, Sampling())
    for parts in ((), ("one", "three"), ("it's \\ odd",)):
        with duckdb.connect() as connection:
            connection.register("items", table)
            assert connection.sql(prepared.text(0, 1, parts)).fetchall() == expected


def test_a28_size_weights_and_form_of_a_sample() -> None:
    weights = lognormal(40)
    ((_, all_of_them),) = run(items(40, weights=weights), GROUPED, 40)
    assert {one["value"]["id"]: one["value"]["adjusted_weight"] for one in all_of_them} == dict(enumerate(weights))
    assert {one["value"]["variance"] for one in all_of_them} == {0.0}
    ((_, some),) = run(items(40, weights=weights), GROUPED, 10)
    assert len({one["value"]["id"] for one in some}) == len(some) == 10
    assert list(some[0]) == ["value", "adjusted_weight"]
    assert list(some[0]["value"]) == ["id", "input_weight", "adjusted_weight", "adjusted_count", "variance"]
    assert all(one["adjusted_weight"] == one["value"]["adjusted_weight"] for one in some)
    assert {one["value"]["id"]: one["adjusted_weight"] for one in some} == sample(np.arange(40), weights, 10, "0")
    for one in some:
        value = one["value"]
        assert value["adjusted_count"] == pytest.approx(value["adjusted_weight"] / value["input_weight"])


def test_a28_the_seed_and_ids_of_any_size_and_type() -> None:
    ids = np.array([-(2**63), -1, 0, 1, 2**31, 2**32, 2**63 - 1, *range(-50, -2)])
    table = pa.table({"_part_id": ["p"] * len(ids), "id": ids, "w": np.ones(len(ids))})
    for seed in (0, 7):
        ((_, drawn),) = run(table, GROUPED, 12, Sampling(seed=seed))
        expected = sample(ids, np.ones(len(ids)), 12, "p", seed)
        assert {one["value"]["id"]: one["adjusted_weight"] for one in drawn} == expected
    texts = table.set_column(1, "id", pa.array([f"log {n}" for n in ids]))
    ((_, drawn),) = run(texts, GROUPED, 12)
    assert len({one["value"]["id"] for one in drawn}) == 12
    inside = """select weighted_reservoir_sample(STRUCT(id, _part_id, w), 12) from items"""
    ((drawn,),) = run(table, inside, 12)
    assert {one["value"]["id"]: one["adjusted_weight"] for one in drawn} == sample(ids, np.ones(len(ids)), 12, "p")
    assert drawn[0]["value"]["_part_id"] == "p"
    window = "select id, weighted_reservoir_sample(STRUCT(id, w), 12) over (partition by _part_id) as s from items"
    rows = run(table, window, 12)
    assert len(rows) == len(ids)
    assert {one["value"]["id"] for one in rows[0][1]} == {one["value"]["id"] for one in drawn}


WIDE = ("n::UBIGINT + 9223372036854775807", "n::HUGEINT * 10::HUGEINT ** 30")
TYPED = ("encode('log ' || n)", "md5(n::TEXT)::UUID", "DATE '2026-09-21' + n::INT", "[n]", "{'trace': n}")


@pytest.mark.parametrize("made", [*WIDE, *TYPED, "TIMESTAMP '2026-09-21' + INTERVAL 1 HOUR * n"])
def test_items_of_any_type_are_drawn(made: str) -> None:
    """They are told apart by their text. A few were the whole sample, and all that it stood for."""
    source = f"WITH items AS (SELECT {made} AS id, 1.0 AS w FROM range(1, 401) AS r(n))"
    drawn = "weighted_reservoir_sample(STRUCT(id, w), 100) AS s FROM items"
    query = f"{source} SELECT count(DISTINCT d.value.id), sum(d.adjusted_weight) FROM (SELECT {drawn}), unnest(s) t(d)"
    ((count, estimate),) = duckdb.sql(sampled(query)).fetchall()
    assert count == 100
    assert 250 < estimate < 600


def test_a29_sums_and_subsets_are_unbiased() -> None:
    """400 seeds in one query: the salt of a partition is as good as another seed."""
    seeds, count = 400, 2_000
    weights = lognormal(count)
    totals = np.zeros((5, seeds))
    for place, (_, drawn) in enumerate(run(items(count, seeds, weights), GROUPED, 100)):
        ids = np.array([one["value"]["id"] for one in drawn])
        adjusted = np.array([one["adjusted_weight"] for one in drawn])
        totals[0, place] = adjusted.sum()
        for subset in range(4):
            totals[1 + subset, place] = adjusted[ids % 4 == subset].sum()
    truths = [weights.sum(), *(weights[subset::4].sum() for subset in range(4))]
    for found, truth in zip(totals, truths, strict=True):
        assert abs(z_score(found, truth)) <= 4
    assert abs(totals[0].mean() / truths[0] - 1) < 0.02
    assert abs(z_score(estimates(count, 100, seeds, weights, "exp")[0], truths[0])) <= 4


def test_a30_the_variance_is_told() -> None:
    """Unit weights have a closed form: n (n - k) / (k - 1)."""
    count, size, seeds = 1_000, 50, 2_000
    found, told = estimates(count, size, seeds, np.ones(count))
    truth = count * (count - size) / (size - 1)
    assert found.var() == pytest.approx(truth, rel=0.15)
    assert told.mean() == pytest.approx(truth, rel=0.1)
    covered = np.abs(found - count) <= 1.96 * np.sqrt(told)
    assert 0.92 <= covered.mean() <= 0.97
    # The same is in the answer of the engine.
    ((_, drawn),) = run(items(count), GROUPED, size)
    assert sum(one["value"]["variance"] for one in drawn) == pytest.approx(told[0])


def test_a31_wrong_estimators_are_caught() -> None:
    count, size, seeds = 500, 20, 2_000
    weights = lognormal(count)
    u = np.stack([uniforms(np.arange(count), str(seed)) for seed in range(seeds)])
    truth = weights.sum()

    def estimated(ranks: Floats, weigh: Any, nth: int) -> Floats:
        order = np.argsort(ranks, axis=1)
        tau = np.take_along_axis(ranks, order[:, nth : nth + 1], 1)
        chosen = order[:, :size]
        found: Floats = weigh(weights[chosen], tau, np.take_along_axis(ranks, chosen, 1)).sum(axis=1)
        return found

    right = estimated(u / weights, lambda w, tau, r: np.maximum(w, 1 / tau), size)
    assert abs(z_score(right, truth)) <= 4
    wrong = {
        "the last rank that is kept as τ": estimated(u / weights, lambda w, tau, r: np.maximum(w, 1 / tau), size - 1),
        "ranks that do not know weights": estimated(u, lambda w, tau, r: np.maximum(w, 1 / tau), size),
        "the formula of other ranks": estimated(u, lambda w, tau, r: w / (1 - np.exp(-w * tau)), size),
    }
    for name, found in wrong.items():
        assert abs(z_score(found, truth)) > 4, name


def test_a32_a_sample_of_a_sample_is_unbiased() -> None:
    count, seeds = 2_000, 400
    found = np.zeros(seeds)
    for seed in range(seeds):
        first = sample(np.arange(count), np.ones(count), 500, str(seed))
        ids, weights = np.array(list(first)), np.array(list(first.values()))
        found[seed] = sum(sample(ids, weights, 50, str(seed), seed=1).values())
    assert abs(z_score(found, count)) <= 4


@pytest.mark.parametrize("splits", [1, 7, 64])
def test_a33_parts_are_merged_without_a_difference(splits: int) -> None:
    count, size = 5_000, 100
    weights, ids = lognormal(count), np.arange(count)
    ranks = uniforms(ids, "p") / weights
    places = np.random.default_rng(splits).integers(0, splits, count)
    kept = [ids[places == n][np.argsort(ranks[places == n])][: size + 1] for n in range(splits)]
    merged = np.concatenate(kept[::-1])
    expected = sample(ids, weights, size, "p")
    assert sample(merged, weights[merged], size, "p") == expected
    table = pa.table({"_part_id": ["p"] * count, "id": ids, "w": weights})
    shuffled = table.take(pa.array(np.random.default_rng(splits).permutation(count)))
    ((_, drawn),) = run(shuffled, GROUPED, size)
    assert {one["value"]["id"]: one["adjusted_weight"] for one in drawn} == expected
    by_number = f"""select id from (select *, row_number() over (order by r, id) as n from ranked) where n <= {size}"""
    with duckdb.connect() as connection:
        connection.register("ranked", pa.table({"id": ids, "r": ranks}))
        assert {row[0] for row in connection.sql(by_number).fetchall()} == set(expected)


def test_a_condition_chooses_before_the_sample_is_drawn() -> None:
    """And DuckDB plans it in no time: filters do not wander through the arithmetic."""
    query = """with heavy as (select i.id, i._part_id, i.w from items i join items j on j.id = i.id where j.w > 0.5)
    select h._part_id, weighted_reservoir_sample(STRUCT(h.id, h.w), 5) as s from heavy h where h.w > 1
    group by h._part_id having count(*) > 1"""
    weights = lognormal(60)
    ((_, drawn),) = run(items(60, weights=weights), query, 5)
    ids = np.flatnonzero(weights > 1)
    assert {one["value"]["id"]: one["adjusted_weight"] for one in drawn} == sample(ids, weights[ids], 5, "0")


WEIGHTS = [None, "", "abc", "nan", "inf", "-inf", "0", "-1", "2.5", "1e300", "7"]


def test_a34_weights_that_are_none_count_as_one() -> None:
    table = pa.table({"_part_id": ["p"] * len(WEIGHTS), "id": range(len(WEIGHTS)), "w": pa.array(WEIGHTS)})
    ((_, drawn),) = run(table, GROUPED, 50)
    told = {one["value"]["id"]: one["value"]["input_weight"] for one in drawn}
    assert [told[place] for place in range(len(WEIGHTS))] == [1.0] * 8 + [2.5, 1e300, 7.0]
    ((_, drawn),) = run(table, GROUPED, 50, Sampling(invalid_weight="drop"))
    assert sorted(one["value"]["id"] for one in drawn) == [8, 9, 10]
    with pytest.raises(duckdb.Error, match="not finite and positive"):
        run(table, GROUPED, 50, Sampling(invalid_weight="fail"))
    ((_, drawn),) = run(table, GROUPED, 50, Sampling(uniform=True))
    assert {one["value"]["input_weight"] for one in drawn} == {1.0}
    numbers = table.set_column(2, "w", pa.array(range(1, len(WEIGHTS) + 1), pa.int32()))
    ((_, drawn),) = run(numbers, GROUPED, 50)
    assert {one["value"]["id"] + 1.0 for one in drawn} == {one["value"]["input_weight"] for one in drawn}


@pytest.mark.parametrize(
    "query",
    [
        "select weighted_reservoir_sample(STRUCT(id, w), 3) from items",
        "select _part_id, weighted_reservoir_sample(STRUCT(id, w), 0) from items group by _part_id",
        "select _part_id, weighted_reservoir_sample(STRUCT(id, w), 100000) from items group by _part_id",
        "select _part_id, weighted_reservoir_sample(STRUCT(id, w), n) from items group by _part_id",
        "select _part_id, weighted_reservoir_sample(id, 3) from items group by _part_id",
        "select i._part_id, weighted_reservoir_sample(STRUCT(i.id, w), 3) from items i join t on true group by 1",
    ],
)
def test_calls_that_cannot_be_meant(query: str) -> None:
    with pytest.raises(QueryError, match="weighted_reservoir_sample") as failure:
        rewritten(query, "duckdb", {})
    assert failure.value.hint


def test_numbers_look_like_chance() -> None:
    """Ids that follow each other, and partitions, have nothing to do with each other."""
    u = np.stack([uniforms(np.arange(4_000), str(part)) for part in range(20)])
    assert abs(u.mean() - 0.5) < 0.005
    assert abs(np.corrcoef(u).sum() - 20) < 1.5
    assert abs(np.corrcoef(u[0, :-1], u[0, 1:])[0, 1]) < 0.06
    assert all(np.unique(row).size == row.size for row in u)
    counts, _ = np.histogram(u, bins=100, range=(0, 1))
    expected = u.size / 100
    assert ((counts - expected) ** 2 / expected).sum() < 160
    assert all(a != b for a, b in pairwise(u[:, 0]))
