"""An object that is read at any position, as Parquet files are: the end, then what is wanted of the rest."""

from __future__ import annotations

import io
from functools import partial
from typing import TYPE_CHECKING

from tailrace.clouds.errors import patiently

if TYPE_CHECKING:
    from tailrace.lake.object_place import ObjectPlace

FIRST = 1 << 20
"Bytes that the first request brings: most small files are read with one."


class ObjectFile(io.RawIOBase):
    """Each reading is a request, but for what the first one brought."""

    def __init__(self, place: ObjectPlace, name: str) -> None:
        super().__init__()
        self._place, self._name = place, name
        self._key, self._store = place.key(name), place.store
        self._position = 0
        self._head = b""
        self._size = 0
        self._begin()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = base + offset
        return self._position

    def size(self) -> int:
        return self._size

    def read(self, size: int | None = -1, /) -> bytes:
        left = self._size - self._position
        wanted = left if size is None or size < 0 else min(size, left)
        if wanted <= 0:
            return b""
        start, self._position = self._position, self._position + wanted
        if start + wanted <= len(self._head):
            return self._head[start : start + wanted]
        return self._range(start, wanted)

    def _begin(self) -> None:
        import obstore

        from tailrace.lake.object_place import answered

        def ask() -> tuple[int, bytes]:
            found = obstore.get(self._store, self._key, options={"range": (0, FIRST)})
            size = found.meta["size"]
            return size, _whole(bytes(found.bytes()), min(size, FIRST))

        with answered(self._place.address(self._name)):
            self._size, self._head = patiently(ask)

    def _range(self, start: int, length: int) -> bytes:
        import obstore

        from tailrace.lake.object_place import answered

        with answered(self._place.address(self._name)):
            ranged = partial(obstore.get_range, self._store, self._key, start=start, length=length)
            return patiently(lambda: _whole(bytes(ranged()), length))


def _whole(answer: bytes, length: int) -> bytes:
    """An answer that ends before the range does, which obstore lets pass, says nothing of the object."""
    if len(answer) != length:
        raise ConnectionError(f"{len(answer)} bytes of {length}")
    return answer
