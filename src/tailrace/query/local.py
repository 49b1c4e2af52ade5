"""Files of the lake as DuckDB can open them: where they lie, or fetched from an object store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tailrace.lake.cache import Cache
    from tailrace.lake.paths import Lake
    from tailrace.lake.place import Place

Announce = Callable[[int, int], None]


class LocalFiles:
    """`announce` is told of files that are about to be fetched: how many, and their bytes."""

    def __init__(self, lake: Lake, announce: Announce | None = None) -> None:
        self.lake, self.announce = lake, announce
        self.proceed: Callable[[], None] = lambda: None
        "Called after each file that was fetched; raises where the others are not wanted any more."

    def paths(self, place: Place, names: Sequence[str], sizes: Sequence[int | None]) -> Sequence[str]:
        """Paths of files of a place; of some the sizes are known."""
        far = [(name, size) for name, size in zip(names, sizes, strict=True) if not place.has_near(name)]
        fetched = dict(zip((name for name, _ in far), self._cache.at_hand(place, far), strict=True)) if far else {}
        return [fetched.get(name) or place.address(name) for name in names]

    @cached_property
    def _cache(self) -> Cache:
        from tailrace.lake.cache import Cache

        return Cache(self.lake.cache_size, announce=self.announce, proceed=lambda: self.proceed())
