"""`file_layout`: a grok pattern over the path below the base, and what it says about time.

Everything between the `%{…}` is a regular expression. `%{DATA}` stays within one segment of the path: only
then can whole directories be passed over unread. At the very beginning of a layout it may span several, so
that `%{DATA}.log` and `(%{DATA:prefix}/)?AWSLogs/…` mean what they mean elsewhere.
`%{GREEDYDATA}` always may. Of a name that is captured twice the last wins.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, cast

from tailrace.core import ConfigError, TimeRange
from tailrace.core.errors import PatternError
from tailrace.core.patterns import LONGEST, too_long
from tailrace.core.ranges import whole_days
from tailrace.core.registry import nearest
from tailrace.sources.calendar_bands import Band, bands, last_day, path_days

if TYPE_CHECKING:
    import regex

_PLAIN = re.compile(r"[\w/.=-]*")
_TOKEN = re.compile(r"%\{(\w+)(?::(\w+))?(?::\w+)?\}")
_BEGINNING = re.compile(r"(?:\(\?:|[(^])*")
_GLOB_HINT = "a layout is grok, not a glob: write %{DATA} for *"
_ESCAPE_HINT = "put a backslash before a sign that is meant as it stands, such as \\( or \\["
_SECONDS_PER_PATH = 1.0
"Users' patterns may backtrack without end; a path never needs this long."
_MOST_DAYS = 400

_DATA_ANYWHERE = ".*?"
PATTERNS: dict[str, str] = {
    "DATA": "[^/]*?",
    "GREEDYDATA": ".*",
    "NOTSPACE": r"[^\s/]+",
    "SPACE": r"\s*",
    "WORD": r"\b\w+\b",
    "USERNAME": r"[\w.-]+",
    "USER": r"[\w.-]+",
    "HOSTNAME": r"[\w-]+(?:\.[\w-]+)*\.?",
    "IPV4": r"\d{1,3}(?:\.\d{1,3}){3}",
    "UUID": r"[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}",
    "INT": r"[+-]?\d+",
    "POSINT": r"[1-9]\d*",
    "NONNEGINT": r"\d+",
    "NUMBER": r"[+-]?\d+(?:\.\d+)?",
    "BASE10NUM": r"[+-]?\d+(?:\.\d+)?",
    "BASE16NUM": r"(?:0[xX])?[0-9A-Fa-f]+",
    "YEAR": r"\d{4}|\d{2}",
    "MONTH": r"(?i:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sep(?:tember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)",
    "MONTHNUM": "1[0-2]|0?[1-9]",
    "MONTHNUM2": "1[0-2]|0[1-9]",
    "MONTHDAY": r"[12]\d|3[01]|0?[1-9]",
    "HOUR": r"2[0-3]|[01]?\d",
    "MINUTE": r"[0-5]?\d",
    "SECOND": r"(?:60|[0-5]?\d)(?:[.,]\d+)?",
    "ISO8601_TIMEZONE": r"Z|[+-]\d\d:?\d\d",
    "TIMESTAMP_ISO8601": r"\d{4}-?\d\d-?\d\d[T ]?\d\d:?\d\d(?::?\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?",
}
_BOUNDED_BY = {"YEAR": "year", "MONTHNUM": "month", "MONTHNUM2": "month", "MONTHDAY": "day"}
"Patterns that can be narrowed to a time range, when they capture that name."


@dataclass(frozen=True, slots=True)
class PathMatch:
    """What a path says."""

    fields: tuple[tuple[str, str], ...]
    first: date | None
    "First and last day that the path can mean; None where it does not say."
    last: date | None
    hour: int | None

    @property
    def day(self) -> date | None:
        return self.first if self.first == self.last else None

    def meets(self, window: TimeRange) -> bool:
        """May an artifact with this path hold rows of the window?"""
        if self.first is None or self.last is None:
            return True
        ends_after_start = window.start is None or self.last >= window.start.date()
        return ends_after_start and (window.end is None or self.first <= last_day(window.end))


@dataclass(frozen=True)
class Layout:
    """A compiled `file_layout`."""

    text: str
    patterns: tuple[tuple[str, str], ...] = ()

    @cached_property
    def _whole(self) -> regex.Pattern[str]:
        return _compiled(self._expand({}))

    def match(self, path: str) -> PathMatch | None:
        """The path below the base, with `/` between its segments."""
        found = self._timed(self._whole, path, partial=False)
        if found is None:
            return None
        fields = {name: value for name, value in found.groupdict().items() if value is not None}
        first, last, hour = path_days(fields)
        return PathMatch(tuple(fields.items()), first, last, hour)

    def directories(self, window: TimeRange) -> DirectoryRule:
        """Which directories can hold a match whose date meets the window."""
        narrowed = {self._expand(band) for band in bands(window)}
        return DirectoryRule(self, [_compiled(pattern) for pattern in sorted(narrowed)])

    def days(self, directory: str, window: TimeRange) -> TimeRange:
        """From the first to the last day of the window that a directory may hold."""
        last = last_day(window.end) if window.end else datetime.now(UTC).date() + timedelta(days=1)
        if window.start is None or (last - window.start.date()).days > _MOST_DAYS:
            return TimeRange()
        days = (window.start.date() + timedelta(days=n) for n in range((last - window.start.date()).days + 1))
        held = [day for day in days if self.directories(whole_days(day, day)).may_hold(directory)]
        return whole_days(held[0], held[-1]) if held else TimeRange()

    def _timed(self, pattern: regex.Pattern[str], path: str, *, partial: bool) -> regex.Match[str] | None:
        try:
            return pattern.fullmatch(path, partial=partial, timeout=_SECONDS_PER_PATH)
        except TimeoutError:
            raise ConfigError(
                f"file_layout takes more than {_SECONDS_PER_PATH:g} s on the path {path!r}",
                code="config.slow-layout",
                hint="avoid nested repetitions such as (a+)+",
            ) from None

    def _expand(self, band: Band) -> str:
        own = dict(self.patterns)
        names = [m[2] for text in (self.text, *own.values()) for m in _TOKEN.finditer(text)]
        beginning = cast("re.Match[str]", _BEGINNING.match(self.text)).end()

        def body(token: re.Match[str]) -> str:
            pattern, name = token[1], token[2]
            if pattern in own:
                inner = _TOKEN.sub(body, own[pattern])
            elif pattern == "DATA" and token.string is self.text and token.start() <= beginning:
                inner = _DATA_ANYWHERE
            elif _BOUNDED_BY.get(pattern) == name and names.count(name) == 1:
                # Only a name captured once: of two the last wins, and the first may lie outside the range.
                inner = band.get(name) or PATTERNS[pattern]
            else:
                inner = PATTERNS[pattern]
            return f"(?P<{name}>{inner})" if name else f"(?:{inner})"

        return _TOKEN.sub(body, self.text)


@dataclass(frozen=True, slots=True)
class DirectoryRule:
    """Passes over directories below which no path can match."""

    layout: Layout
    narrowed: Sequence[regex.Pattern[str]]

    def may_hold(self, directory: str) -> bool:
        """The directory's path below the base, without a slash at its end."""
        opening = directory + "/"
        return any(self.layout._timed(p, opening, partial=True) is not None for p in self.narrowed)


def _compiled(pattern: str) -> regex.Pattern[str]:
    import regex

    return regex.compile(pattern, regex.DOTALL)


def compile_layout(text: str, patterns: Mapping[str, str] | None = None) -> Layout:
    """Check a layout and its own patterns; ConfigError says what is wrong and at which character."""
    own = dict(patterns or {})
    if max(map(len, (text, *own.values()))) > LONGEST:
        raise too_long("file_layout", text, "config.bad-layout")
    _check("file_layout", text, own)
    for name, body in own.items():
        _check(f"pattern '{name}'", body, own)
        _refuse_recursion(name, own)
    if _expanded_length(text, own, {}) > LONGEST:
        raise too_long("file_layout", text, "config.bad-layout")
    return Layout(text.lstrip("/"), tuple(own.items()))


def layout_given(args: Mapping[str, object]) -> Layout | None:
    """`file_layout` and `patterns` of a source block."""
    patterns = args.get("patterns") or {}
    if not isinstance(patterns, Mapping) or not all(isinstance(p, str) for p in patterns.values()):
        raise ConfigError("`patterns` must map names to grok patterns", code="config.bad-argument")
    layout = args.get("file_layout")
    if layout is not None and not isinstance(layout, str):
        raise ConfigError("`file_layout` must be a text", code="config.bad-argument")
    return compile_layout(layout, patterns) if layout else None


def _check(what: str, text: str, own: Mapping[str, str]) -> None:
    for at in (m.start() for m in re.finditer(r"%\{", text)):
        token = _TOKEN.match(text, at)
        if token is None:
            problem = "a token that is not %{PATTERN} or %{PATTERN:name}"
            raise _wrong(what, text, at, problem, r"write \%\{ for the signs themselves")
        if token[1] not in own and token[1] not in PATTERNS:
            guess = nearest(token[1], [*own, *PATTERNS])
            remedy = f"did you mean '{guess}'?" if guess else "define it in `patterns`"
            raise _wrong(what, text, at, f"unknown pattern '{token[1]}'", remedy)
        if token[2] and not token[2].isidentifier():
            raise _wrong(what, text, token.start(2), f"'{token[2]}' is not a name", "a name begins with a letter")
    # Tokens become as many letters, so that positions in the error are positions in the text.
    skeleton = _TOKEN.sub(lambda m: "x" * len(m[0]), text)
    # Most layouts are tokens and names: nothing in them can be wrong, and the library takes long to import.
    if _PLAIN.fullmatch(skeleton):
        return
    import regex

    try:
        regex.compile(skeleton)
    except regex.error as error:
        hint = _GLOB_HINT if text.startswith("*") else _ESCAPE_HINT
        raise _wrong(what, text, error.pos or 0, str(error.msg), hint) from None


def _refuse_recursion(name: str, own: Mapping[str, str]) -> None:
    inside, todo = set[str](), [name]
    while todo:
        uses = {m[1] for m in _TOKEN.finditer(own.get(todo.pop(), ""))} & own.keys()
        if name in uses:
            raise _wrong(f"pattern '{name}'", own[name], 0, "it contains itself", "spell it out")
        todo.extend(uses - inside)
        inside |= uses


def _expanded_length(text: str, own: Mapping[str, str], known: dict[str, int]) -> int:
    """Characters when own patterns have taken the place of their names; each of them is counted once."""
    length = len(text)
    for token in _TOKEN.finditer(text):
        name = token[1]
        if name in own and name not in known:
            known[name] = _expanded_length(own[name], own, known)
        length += known[name] if name in own else len(PATTERNS[name])
    return length


def _wrong(what: str, text: str, at: int, problem: str, hint: str | None = None) -> PatternError:
    message = f"{what}: {problem} at character {at + 1} of {text!r}"
    return PatternError(message, pattern=text, at=at, code="config.bad-layout", hint=hint)
