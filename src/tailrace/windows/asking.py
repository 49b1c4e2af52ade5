"""One question over OTAP tables, for a person who waits for the answer."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa

from tailrace.lake.place import Place
from tailrace.windows.data import load
from tailrace.windows.engine import answered, opened
from tailrace.windows.reading import read_parts
from tailrace.windows.sampling import Sampling
from tailrace.windows.sql import rewritten, window_values

_ALWAYS = 2**63 - 1


def ask(
    base: Place, query: str, start: datetime | None = None, end: datetime | None = None, *,
    sample_size: int = 100, seed: int = 0,
) -> pa.Table:  # fmt: skip
    """The answer, over the logs of a range of time: all of them when none is given."""
    first, last = 0 if start is None else nanoseconds(start), _ALWAYS if end is None else nanoseconds(end)
    # First of all: a query that cannot be meant need not wait for its rows.
    text = rewritten(query, "duckdb", window_values(first, last, sample_size), Sampling(seed))
    data = load(read_parts(base), first, last)
    with opened(data) as connection:
        return answered(connection, text)


def nanoseconds(moment: datetime) -> int:
    """Since 1970; a moment without zone is UTC."""
    aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    past = aware - datetime(1970, 1, 1, tzinfo=UTC)
    return (past.days * 86_400 + past.seconds) * 1_000_000_000 + past.microseconds * 1_000
