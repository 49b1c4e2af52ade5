"""Lines decoded in runs come out as one batch."""

from __future__ import annotations

import json

from jsonread import table

from tailrace.core import Jsonl, col
from tailrace.formats.feed import Once
from tailrace.formats.json_decode import json_decoder


def test_runs_of_a_block_are_one_batch() -> None:
    """Odd records in some of the runs; positions, bytes, extras and counts stay with their rows."""
    records: list[object] = [{"id": n, "text": "x" * 100} for n in range(12_000)]
    records[700] = {"id": "?", "text": "a"}
    records[9_000] = {"id": 9_000, "text": "b", "more": True}
    lines = [json.dumps(record).encode() for record in records]
    lines[5_000], lines[11_000] = b"{broken", b""
    (batch,) = json_decoder(table(col("id", "bigint"), col("text")), Jsonl()).decode(Once(b"\n".join(lines) + b"\n"))
    kept = [n for n in range(12_000) if n not in (5_000, 11_000)]
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    assert batch.positions.tolist() == [starts[n] for n in kept]
    assert batch.columns["id"].to_pylist() == [None if n == 700 else n for n in kept]
    assert [batch.raw(row) for row in (0, 700, 8_999, 11_997)] == [lines[n] for n in (0, 700, 9_000, 11_999)]
    assert (batch.flagged, batch.skipped, [bad.raw for bad in batch.bad]) == (1, 1, [b"{broken"])
    assert batch.extra is not None
    told = {row: json.loads(text) for row, text in enumerate(batch.extra.to_pylist()) if text}
    assert told == {700: {"tp_misfit": {"id": "?"}}, 8_999: {"more": True}}


def test_a_batch_has_not_too_many_rows() -> None:
    batches = list(json_decoder(table(col("id", "bigint")), Jsonl()).decode(Once(b"{}\n" * 200_000)))
    assert sum(batch.rows for batch in batches) == 200_000
    assert max(batch.rows for batch in batches) <= 2 * 32_768
