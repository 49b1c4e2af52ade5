"""Which formats can be read on from a place inside a file, and where a record begins there."""

from __future__ import annotations

import pyarrow as pa

from tailrace.core import Delimited, Format, Grok, Jsonl, Layout, Pairs, Regex, Syslog, W3c, Zeek

_LINE_END = b"\n"


def continues(fmt: Format) -> bool:
    """Can its engine go on behind the last record, and leave one that is not whole?"""
    if isinstance(fmt, Layout):
        return fmt.dialect != "vpc"  # may be wrapped in documents
    if isinstance(fmt, Delimited):
        return fmt.new_line is None
    return isinstance(fmt, Jsonl | Grok | Regex | Syslog | W3c | Pairs | Zeek)


def goes_on(fmt: Format, before: bytes, after: bytes, *, final: bool) -> bool | None:
    """Does a record begin between the two, or do the new bytes belong to the last one that was read?

    None: that cannot be told before the line has an end. `final`: it will have none.
    """
    if before and not before.endswith(_LINE_END):
        rest = after.removeprefix(b"\r")
        if not rest.startswith(_LINE_END):
            return None if not rest and not final else False
        after = rest[1:]
    pattern = _start_of(fmt)
    if pattern is None:
        return True
    line, end, _ = after.lstrip(b"\r\n").partition(_LINE_END)
    if not end and not final:
        return None
    from tailrace.formats.multiline import Starts

    return not line or bool(Starts(pattern)(pa.array([line.decode(errors="replace")]))[0])


def _start_of(fmt: Format) -> str | None:
    if isinstance(fmt, Syslog):
        from tailrace.formats.syslog import START

        return START
    if isinstance(fmt, Regex) and fmt.start is not None and fmt.lead is not None:
        return f"(?:{fmt.start})|(?:{fmt.lead})"
    return fmt.start if isinstance(fmt, Grok | Regex) else None
