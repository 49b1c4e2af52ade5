"""One question over OTAP tables, for a person who waits for the answer."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa

from tailrace.lake.place import Place
from tailrace.windows.data import load
from tailrace.windows.engine import answered, opened
from tailrace.windows.needed import needed
from tailrace.windows.reading import read_parts
from tailrace.windows.sampling import Sampling
from tailrace.windows.sql import rewritten, window_values

_ALWAYS = 2**63 - 1


def ask(
    base: Place, query: str, start: datetime | None = None, end: datetime | None = None, *,
    sample_size: int = 100, seed: int = 0, then: str | None = None,
) -> pa.Table:  # fmt: skip
    """The answer, over the logs of a range of time: all of them when none is given.

    `then` is asked next, and its answer given instead: it knows what the first one selects as `selected_ids`.
    """
    first, last = 0 if start is None else nanoseconds(start), _ALWAYS if end is None else nanoseconds(end)
    # First of all: a query that cannot be meant need not wait for its rows.
    values, sampling = window_values(first, last, sample_size), Sampling(seed)
    texts = [rewritten(one, "duckdb", values, sampling) for one in (query, then) if one is not None]
    data = load(read_parts(base, looked_at=needed(tuple(texts))), first, last)
    with opened(data) as connection:
        return [answered(connection, text) for text in texts][-1]


def nanoseconds(moment: datetime) -> int:
    """Since 1970; a moment without zone is UTC."""
    aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    past = aware - datetime(1970, 1, 1, tzinfo=UTC)
    return (past.days * 86_400 + past.seconds) * 1_000_000_000 + past.microseconds * 1_000
