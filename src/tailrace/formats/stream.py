"""From the bytes of an artifact to the text streams in it: compression and archives are known by content."""

from __future__ import annotations

import codecs
import tempfile
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import BinaryIO

from tailrace.formats.archives import RECORD, Tar, is_tar, zip_members
from tailrace.formats.base import Bad, Bomb, CorruptStream, Stream
from tailrace.formats.compression import LONGEST_MAGIC, BombGuard, compression, decompressed
from tailrace.formats.feed import Blocks, Feed, gathered, read_blocks

_LAYERS = 6
"Compression in archives in compression: deeper than this nobody stores logs."
_UTF8_BOM = b"\xef\xbb\xbf"
_WIDE = {b"\xff\xfe\0\0": "utf-32", b"\0\0\xfe\xff": "utf-32", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_RECODED_AT_ONCE = 1024 * 1024

Pairs = Generator[tuple[str | None, Stream], None, bool]


class Streams:
    """The streams of one artifact in order, each with its name inside the archive (None: no archive).

    Read each to its end before asking for the next, and store nothing before all have ended: `CorruptStream`
    can come from a stream or from the step to the next. A stream that raised leaves other members readable.
    """

    def __init__(self, pairs: Pairs, surplus: list[Bad] | None = None) -> None:
        self.truncated = False
        "After the end: was a stream cut off, or the archive itself?"
        self.surplus = [] if surplus is None else surplus
        "After the end: other bytes that followed compressed data."
        self._pairs = pairs

    def __iter__(self) -> Iterator[tuple[str | None, Stream]]:
        return self

    def __next__(self) -> tuple[str | None, Stream]:
        try:
            return next(self._pairs)
        except StopIteration as end:
            self.truncated = self.truncated or bool(end.value)
            raise


def open_streams(raw: BinaryIO, name: str, seen: Callable[[bytes], None] | None = None) -> Streams:
    """The streams in `raw`, which stands at its start; `name` is the artifact's, for its suffix.

    `seen` is shown the bytes as they are read.
    """
    feed = Feed(read_blocks(raw, seen))
    opener = _Opener(raw, feed)
    return Streams(opener.open(feed, name, 0), opener.surplus)


def open_text(raw: BinaryIO, seen: Callable[[bytes], None]) -> Stream:
    """The text from where `raw` stands to its end: more of what is known to be a text as it is stored."""
    return Feed(read_blocks(raw, seen))


def alone(stream: Stream) -> Pairs:
    """One stream by itself."""
    yield None, stream
    return stream.truncated


def is_plain(head: bytes, name: str) -> bool:
    """Do texts that are stored as they are begin like this?"""
    marked = head.startswith((_UTF8_BOM, *_WIDE)) or b"\0" in head
    return not marked and compression(head[:LONGEST_MAGIC], name) is None and not is_tar(head)


class _Opener:
    def __init__(self, raw: BinaryIO, stored: Feed) -> None:
        self._raw = raw
        self._stored = stored
        self.surplus: list[Bad] = []
        self._size = 0
        self._guard = BombGuard(lambda: max(self._size, self._stored.taken))

    def open(self, feed: Feed, name: str, layer: int) -> Pairs:
        if layer > _LAYERS:
            raise CorruptStream(f"archive: more than {_LAYERS} layers of compression")
        kind = compression(feed.peek(LONGEST_MAGIC), name)
        if kind == "zip":
            return (yield from self._zip(feed, layer))
        if kind:
            inner = Feed(gathered(self._guard.checked(decompressed(feed, kind, self.surplus.append))))
            return (yield from self.open(inner, name.rpartition(".")[0], layer + 1))
        head = feed.peek(RECORD)
        if is_tar(head) or (name.lower().endswith(".tar") and head and not head.strip(b"\0")):
            tar = Tar(feed)
            cut = yield from self._members(tar, layer)
            return cut or tar.truncated
        text = _as_utf8(feed)
        yield None, text
        return text.truncated

    def _zip(self, feed: Feed, layer: int) -> Pairs:
        if feed is self._stored and self._raw.seekable():
            self._size = self._raw.seek(0, 2)
            return (yield from self._zip_file(self._raw, layer))
        with tempfile.TemporaryFile() as spooled:
            for block in feed:
                spooled.write(block)
            return (yield from self._zip_file(spooled, layer))

    def _zip_file(self, file: BinaryIO, layer: int) -> Pairs:
        guarded = ((name, Feed(self._guard.checked(iter_blocks(member)))) for name, member in zip_members(file))
        return (yield from self._members(guarded, layer))

    def _members(self, members: Iterable[tuple[str, Feed]], layer: int) -> Pairs:
        times_seen: Counter[str] = Counter()
        truncated = False
        for name, feed in members:
            if _is_litter(name):
                continue
            times_seen[name] += 1
            # An archive may hold one name twice; rows are told apart by name and position.
            label = name if times_seen[name] == 1 else f"{name}#{times_seen[name]}"
            inner = self.open(feed, name, layer + 1)
            while True:
                try:
                    below, stream = next(inner)
                except StopIteration as end:
                    truncated = truncated or bool(end.value)
                    break
                except Bomb:
                    raise
                except CorruptStream as error:
                    yield label, Feed.failed(error)
                    break
                yield (f"{label}!{below}" if below else label), stream
        return truncated


def iter_blocks(feed: Feed) -> Blocks:
    """The feed as a generator that returns its `truncated`."""
    yield from feed
    return feed.truncated


def _is_litter(name: str) -> bool:
    """What macOS adds to archives."""
    last = name.rpartition("/")[2]
    return name.startswith("__MACOSX/") or last.startswith("._") or last == ".DS_Store"


def _as_utf8(feed: Feed) -> Feed:
    head = feed.peek(4)
    if head.startswith(_UTF8_BOM):
        feed.take(len(_UTF8_BOM))
        return feed
    encoding = next((name for mark, name in _WIDE.items() if head.startswith(mark)), None)
    return Feed(_recoded(feed, encoding)) if encoding else feed


def _recoded(feed: Feed, encoding: str) -> Blocks:
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    while block := feed.take(_RECODED_AT_ONCE):
        yield decoder.decode(block).encode()
    if not feed.truncated:
        yield decoder.decode(b"", final=True).encode()
    return feed.truncated
