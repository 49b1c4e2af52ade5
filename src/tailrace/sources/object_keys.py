"""Which keys a location means, and what a layout reads in them."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator
from functools import lru_cache

from tailrace.config.model import Location
from tailrace.sources.layout import Layout, PathMatch
from tailrace.sources.object_walk import bases

_UNSAID = PathMatch((), None, None, None)


def fits(key: str, place: Location) -> bool:
    """Does the key lie below the prefix, and is it as the wildcard says?"""
    return key.startswith(place.prefix) and (place.pattern == "*" or _wildcard(place.pattern).match(key) is not None)


def matched(key: str, place: Location, layout: Layout | None) -> PathMatch | None:
    """What the layout says of the key; None when it says no."""
    if layout is None:
        return _UNSAID
    return next((found for tail in _tails(key, place.prefix) if (found := layout.match(tail))), None)


def _tails(key: str, prefix: str) -> Iterator[str]:
    """What a layout is matched against, the likeliest first."""
    yield key[len(prefix) :].lstrip("/")
    yield from (key[len(base) :] for base in bases(prefix)[1:])


@lru_cache(maxsize=256)
def _wildcard(pattern: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(pattern))
