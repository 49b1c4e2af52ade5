"""Listing the objects of a time range: prefixes from the layout, side by side, in a stable order."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import count, islice

from tailrace.clouds.errors import pause_after_break, told, told_of_listing
from tailrace.config.model import Location
from tailrace.core import TimeRange
from tailrace.sources.base import GONE, IO, SPECIAL, Unreadable
from tailrace.sources.buckets import Bucket, Entry, OddName
from tailrace.sources.key_ranges import EVER, KeyRange, Spelling, dated, is_padded, starting_with
from tailrace.sources.layout import Layout, PathMatch
from tailrace.sources.object_keys import fits, matched
from tailrace.sources.object_walk import Trunk, Walk

LISTERS = 16
"Requests at a time."
_PROBED = 3
Listed = Entry | Unreadable


@dataclass(slots=True)
class Listing:
    """One listing of one location."""

    bucket: Bucket
    exact: Callable[[], Bucket | None]
    "Lists names that obstore cannot tell; None where nothing else is at hand."
    place: Location
    layout: Layout | None
    root: str
    "How URIs begin, for messages."
    _failed: list[Unreadable] = field(default_factory=list)

    def entries(self, window: TimeRange) -> Iterator[Listed]:
        """Objects whose keys may meet the window; what could not be listed comes last."""
        with ThreadPoolExecutor(LISTERS, thread_name_prefix="list") as pool:
            trunks = Walk(self.layout, self.place.prefix).trunks(lambda names: list(pool.map(self._names, names)))
            ranges = self._ranges(trunks, window)
            yield from self._wanted(self._in_order(pool, ranges))
        yield from self._failed

    def match(self, key: str) -> PathMatch | None:
        return matched(key, self.place, self.layout)

    def _names(self, directory: str) -> Sequence[str]:
        for tries in count(1):
            try:
                return self.bucket.level(directory)[0]
            except OddName:
                return self._exact_names(directory)
            except Exception as error:
                if not pause_after_break(error, tries):
                    self._note(directory, error)
                    break
        return ()

    def _exact_names(self, directory: str) -> Sequence[str]:
        exact = self.exact()
        try:
            if exact is not None:
                return exact.level(directory)[0]
            self._note(directory, None)
        except Exception as error:
            self._note(directory, error)
        return ()

    def _ranges(self, trunks: Sequence[Trunk], window: TimeRange) -> list[KeyRange]:
        ranges: dict[KeyRange, None] = {}
        spelling = self._spelling(trunks)
        dated_trunks = sum(trunk.dates is not None for trunk in trunks)
        for trunk in trunks:
            if trunk.dates is None or (window.start is None and window.end is None):
                ranges[starting_with(trunk.prefix)] = None
            else:
                ranges.update(dict.fromkeys(dated(trunk.prefix, trunk.dates, window, spelling, dated_trunks)))
        return list(ranges)

    def _spelling(self, trunks: Sequence[Trunk]) -> Spelling:
        """How dates are written, by the first keys that have one: `2026/01/05`, or `2026/1/5`."""
        spelling = Spelling()
        for trunk in [trunk for trunk in trunks if trunk.dates][:_PROBED]:
            try:
                page = next(self.bucket.pages(starting_with(trunk.prefix)), [])
            except Exception:
                continue  # the listing itself tells what is wrong
            matches = [match for entry in islice(page, 1000) if (match := self.match(entry.key)) and match.first]
            if matches:
                written = [dict(match.fields) for match in matches]
                padded = is_padded([w.get(name, "") for w in written for name in ("month", "day")])
                padded = self._padded_below(trunk) if padded is None else padded
                spelling = Spelling(len(written[0]["year"]) == 4, padded is not False)
                if padded is not None:
                    break
        return spelling

    def _padded_below(self, trunk: Trunk) -> bool | None:
        """The same by the names of directories, where the first keys are all of days and months after the ninth."""
        levels = trunk.dates.levels if trunk.dates else 0
        directories = [trunk.prefix] if levels and (trunk.prefix.endswith("/") or not trunk.prefix) else []
        for level in range(levels):
            listed = [(directory, name) for directory in directories for name in self._names(directory)]
            listed = [(d, n) for d, n in listed if level or (trunk.dates and trunk.dates.open_with(n))]
            padded = is_padded([number for _, name in listed for number in re.findall(r"\d+", name)])
            if padded is not None:
                return padded
            directories = [f"{directory}{name}/" for directory, name in listed[-_PROBED:]]
        return None

    def _in_order(self, pool: ThreadPoolExecutor, ranges: list[KeyRange]) -> Iterator[Entry]:
        if len(ranges) == 1:
            yield from self._range(ranges[0])
            return
        under_way: deque[Future[list[Entry]]] = deque()
        for keys in ranges:
            under_way.append(pool.submit(lambda keys: list(self._range(keys)), keys))
            if len(under_way) >= 2 * LISTERS:
                yield from under_way.popleft().result()
        while under_way:
            yield from under_way.popleft().result()

    def _range(self, keys: KeyRange) -> Iterator[Entry]:
        try:
            yield from without_markers(_until_end(self.bucket, keys))
        except OddName:
            yield from self._around_odd_names(keys)
        except Exception as error:
            self._note(keys.directory, error, keys.days)

    def _around_odd_names(self, keys: KeyRange) -> Iterator[Entry]:
        """Exact names from another client, else all directories but the one that holds such a name."""
        try:
            exact = self.exact()
            if exact is not None:
                yield from without_markers(_until_end(exact, keys))
                return
            names, entries = self.bucket.level(keys.directory)
        except OddName:
            self._note(keys.directory, None)
            return
        except Exception as error:
            self._note(keys.directory, error, keys.days)
            return
        yield from (entry for entry in entries if keys.holds(entry.key))
        for name in names:
            yield from self._range(KeyRange(f"{keys.directory}{name}/", keys.after, keys.last, keys.days))

    def _wanted(self, entries: Iterator[Entry]) -> Iterator[Entry]:
        seen: set[str] = set()
        for entry in entries:
            if fits(entry.key, self.place) and entry.key not in seen:
                seen.add(entry.key)
                yield entry

    def _note(self, directory: str, error: Exception | None, days: TimeRange = EVER) -> None:
        odd = ("holds a name that cannot be asked for, such as `a//b`", SPECIAL)
        reason, code = odd if error is None else told_of_listing(error)
        # A directory cannot be missing: it is the bucket that is.
        place, hides = self.root if code == GONE else f"{self.root}{directory}", None if error is None else days
        self._failed.append(Unreadable(place, f"cannot be listed: {reason}", self.root, code, hides))


def _until_end(bucket: Bucket, keys: KeyRange) -> Iterator[Entry]:
    """A listing that breaks between two pages, or whose next page has expired, goes on after the last key."""
    after, reached, tries = keys.after, keys.after, 0
    while True:
        try:
            for page in bucket.pages(replace(keys, after=after)):
                yield from (entry for entry in page if keys.holds(entry.key))
                if page and keys.is_past(page[-1].key):
                    return
                reached = page[-1].key if page else reached
            return
        except OddName:
            raise
        except Exception as error:
            tries = tries + 1 if after == reached else 0
            if told(error)[1] != IO or (tries and not pause_after_break(error, tries)):
                raise
            after = reached


def without_markers(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Some programs put an empty object in the place of a directory; obstore shows it without its slash."""
    held: Entry | None = None
    for entry in entries:
        if held is not None and not entry.key.startswith(f"{held.key}/"):
            yield held
        held = entry if not entry.size else None
        if held is None:
            yield entry
        elif held.key.endswith("/"):
            held = None
    if held is not None:
        yield held
