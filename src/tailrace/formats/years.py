"""Times that leave out their year: `Mar  7 04:02:16`."""

from __future__ import annotations

from datetime import datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
MONTH = "|".join(MONTHS)
_YEARLESS = (
    rf"^(?:(?P<x>\d{{4}}) )?(?P<month>{MONTH}) +(?P<day>\d+) (?:(?P<y>\d{{4}}) )?(?P<time>[\d:.]+)(?: (?P<z>\d{{4}}))?$"
)
_SAID = ("%Y", "%y", "%G", "%s", "%c", "%x")


def is_yearless(spelled: str | None) -> bool:
    """Is a strptime pattern one of month, day and time alone?"""
    return spelled is not None and spelled.startswith("%b ") and not any(sign in spelled for sign in _SAID)


def with_years(texts: pa.Array, moment: datetime) -> pa.Array:
    """`Mar  7 04:02:16` → ISO 8601 in the latest year that is at most a day after the moment."""
    parts = pc.extract_regex(texts, _YEARLESS)
    if parts.null_count == len(texts):
        return texts
    early_year, month, day, year, time, late_year = parts.flatten()
    limit = moment + timedelta(days=1)
    number = pc.add(pc.index_in(month, pa.array(MONTHS)), 1).cast(pa.string())
    rest = pc.binary_join_element_wise(_padded(number), _padded(day), "-")
    rest = pc.binary_join_element_wise(rest, time, " ")
    late = pc.greater(rest, f"{limit:%m-%d %H:%M:%S}.999999")
    guess = pc.if_else(late, str(limit.year - 1), str(limit.year))
    leap = pc.if_else(late, str(_leap_year(limit.year - 1)), str(_leap_year(limit.year)))
    guess = pc.if_else(pc.starts_with(rest, "02-29"), leap, guess)
    said = pc.binary_join_element_wise(early_year, year, late_year, "")
    iso = pc.binary_join_element_wise(pc.if_else(pc.equal(said, ""), guess, said), rest, "-")
    return pc.coalesce(iso, texts)


def _padded(numbers: pa.Array) -> pa.Array:
    return pc.utf8_lpad(numbers, 2, "0")


def _leap_year(year: int) -> int:
    while year % 4 or (year % 100 == 0 and year % 400):
        year -= 1
    return year
