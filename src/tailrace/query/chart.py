"""Two columns as a picture of characters: bars, and where the first column is a time, a histogram over it."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from tailrace.core.errors import UsageError
from tailrace.query.render import cell, is_number, width

if TYPE_CHECKING:
    from tailrace.query.engine import Result

BARS = 40
"At most: one screen, and not more than can be compared."
ROWS = 100_000
"That are looked at."
_LABEL = 40
"Characters of a label."
_EIGHTHS = " ▏▎▍▌▋▊▉"
_STEPS = [
    timedelta(seconds=seconds)
    for seconds in (1, 5, 10, 30, 60, 300, 600, 900, 1800, 3600, 10_800, 21_600, 43_200)
] + [timedelta(days=days) for days in (1, 2, 7, 14, 30, 90, 365, 3650)]  # fmt: skip
_DAY = timedelta(days=1)
_EPOCH = datetime(1970, 1, 5)
"A Monday: weeks begin with it."


class Bar(NamedTuple):
    """One line of a chart."""

    label: str
    value: float


def draw(result: Result, out: TextIO, columns: int | None = None) -> None:
    """Writes the chart of an answer."""
    label, value = _places(result)
    rows = list(islice(result.rows, ROWS))
    points = [(row[label], float(row[value])) for row in rows if _is_finite(row[value])]
    is_time = result.types[label].startswith(("TIMESTAMP", "DATE"))
    bars = over_time(points) if is_time else _as_they_come(points)
    out.writelines(lines(bars, columns or shutil.get_terminal_size((80, 24)).columns))
    if next(result.rows, None) is not None:
        out.write(f"only the first {ROWS:,} rows are shown\n")


def _places(result: Result) -> tuple[int, int]:
    """Which column names the bars, and which measures them."""
    if len(result.columns) == 2:
        for label, value in ((0, 1), (1, 0)):
            if is_number(result.types[value]):
                return label, value
    hint = "such as: select date_trunc('hour', tp_timestamp), count(*) from … group by all"
    raise UsageError("a chart needs two columns, one of them of numbers", code="usage.no-chart", hint=hint)


def _is_finite(value: Any) -> bool:
    return value is not None and math.isfinite(value)


def _as_they_come(points: Sequence[tuple[Any, float]]) -> list[Bar]:
    """In the order of the answer; what no longer fits is one bar."""
    bars = [Bar(_short("null" if label is None else cell(label)), value) for label, value in points]
    if len(bars) <= BARS:
        return bars
    rest = bars[BARS - 1 :]
    return [*bars[: BARS - 1], Bar(f"({len(rest):,} more)", sum(bar.value for bar in rest))]


def over_time(points: Iterable[tuple[date | None, float]]) -> list[Bar]:
    """Values summed up in steps of equal length, those without any too."""
    known = sorted((_moment(time), value) for time, value in points if time is not None)
    if not known:
        return []
    first, last = known[0][0], known[-1][0]
    step, origin = _step([time for time, _ in known], first, last)
    sums: dict[int, float] = {}
    for time, value in known:
        number = (time - origin) // step
        sums[number] = sums.get(number, 0.0) + value
    pattern = (
        "%Y-%m-%d" if _is_daily(step, origin) else "%Y-%m-%d %H:%M" + (":%S" if _has_seconds(step, origin) else "")
    )
    numbers = range((first - origin) // step, (last - origin) // step + 1)
    return [Bar((origin + number * step).strftime(pattern), sums.get(number, 0.0)) for number in numbers]


def _moment(time: date) -> datetime:
    if isinstance(time, datetime):
        return time.replace(tzinfo=None) - (time.utcoffset() or timedelta())
    return datetime(time.year, time.month, time.day)


def _step(times: Sequence[datetime], first: datetime, last: datetime) -> tuple[timedelta, datetime]:
    """The distance of the times, if they have one and are few; else the shortest step that makes them few."""
    gaps = {later - earlier for earlier, later in pairwise(times) if later > earlier}
    if not gaps:
        return _DAY, first
    least = min(gaps)
    if (last - first) / least < BARS and not any(gap % least for gap in gaps):
        return least, first
    step = next((s for s in _STEPS if s >= least and (last - first) / s < BARS - 1), None)
    step = step or timedelta(days=math.ceil((last - first) / _DAY / (BARS - 2)))
    return step, first - (first - _EPOCH) % step


def _is_daily(step: timedelta, origin: datetime) -> bool:
    return not step % _DAY and origin.time() == datetime.min.time()


def _has_seconds(step: timedelta, origin: datetime) -> bool:
    return bool(step % timedelta(minutes=1) or origin.second)


def lines(bars: Sequence[Bar], columns: int) -> list[str]:
    """Label, bar and value of each; the largest value fills the line."""
    if not bars:
        return ["no rows\n"]
    values = [_number(bar.value) for bar in bars]
    labels = max(width(bar.label) for bar in bars)
    room = max(columns - labels - max(map(len, values)) - 4, 8)
    largest = max(abs(bar.value) for bar in bars) or 1.0
    return [
        f"{bar.label}{' ' * (labels - width(bar.label))} │{_blocks(bar.value / largest * room)} {value}\n"
        for bar, value in zip(bars, values, strict=True)
    ]


def _blocks(length: float) -> str:
    """Eighths of characters; what is below zero is drawn pale."""
    if length < 0:
        return "░" * max(round(-length), 1)
    whole, eighths = divmod(round(length * 8), 8)
    return "█" * whole + (_EIGHTHS[eighths] if eighths else "") or ("▏" if length else "")


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.2f}" if abs(value) >= 1 else f"{value:.3g}"


def _short(label: str) -> str:
    return label if len(label) <= _LABEL else label[: _LABEL - 1] + "…"
