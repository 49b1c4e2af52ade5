"""Local files that were read before: which grew, which were renamed, copied or compressed, which took another's place.

What a file is called is a hint; that it begins with the bytes of a fingerprint is the proof.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from tailrace.core import NOTHING_MORE, Artifact, Format, Resume
from tailrace.formats.continuing import goes_on
from tailrace.lake.ledger import KnownFile
from tailrace.pipeline.fingerprint import LEAD, lead_in, lead_of, resembles
from tailrace.pipeline.peek import Peek, Peeks
from tailrace.pipeline.plan import Wanted
from tailrace.pipeline.tailing import SETTLED
from tailrace.sources import Source
from tailrace.sources.file import is_there

_MARKS = ".-_"
"What stands between the name of a log and what rotation adds to it."
_PACKED = re.compile(r"\.(?:gz|zst|bz2|xz|Z)$")
_NUMBERS = re.compile(r"[._-]\d[\dT:._-]*(?=\.[^./]*$|$)")


@dataclass(slots=True)
class Recognised:
    """The files that were listed, with the identities under which they are known."""

    artifacts: list[Wanted] = field(default_factory=list)
    moved: dict[str, Artifact] = field(default_factory=dict)
    "By key, files that were renamed or copied since they were last read."
    copies: list[Artifact] = field(default_factory=list)
    "What begins another file, all of which has been read."
    anew: dict[str, Artifact] = field(default_factory=dict)
    "By key of what was there before: files with other content, of which nothing was found elsewhere."


class Recognition:
    """The files of one listing beside those of the ledger. A file of the ledger is found once at most."""

    def __init__(
        self, sources: Sequence[Source], formats: Sequence[Format], files: dict[str, KnownFile], now: datetime
    ) -> None:
        self.formats, self.files, self.now = formats, files, now
        self.peeks = Peeks(sources)
        self.at = {file.uri: key for key, file in files.items()}
        self.nodes = {file.node: key for key, file in files.items() if file.fingerprint}
        self.names = set(files)
        self.listed: dict[str, int] = {}
        self.claimed: dict[str, Wanted] = {}
        self.here: dict[str, str] = {}
        "By URI, the keys of files that were found."
        self.found = Recognised()
        self._leads: dict[str, list[str]] | None = None

    def recognise(self, listed: Sequence[Wanted]) -> Recognised:
        """Cheap proofs first: a file that nothing was done to is not even opened."""
        self.listed = {item.artifact.uri: number for number, item in enumerate(listed)}
        rest = [item for item in listed if not self._unchanged(item)]
        rest = [item for item in rest if not self._known_by(item, self.nodes.get(item.artifact.node))]
        rest = [item for item in rest if not self._known_by(item, self.at.get(item.artifact.uri))]
        rest = [item for item in rest if not self._copied(item)]
        for item in rest:
            self._other(item)
        self.found.artifacts.sort(key=lambda item: self.listed[item.artifact.uri])
        return self.found

    def _unchanged(self, item: Wanted) -> bool:
        artifact = item.artifact
        if artifact.node is None:
            self.found.artifacts.append(item)
            return True
        key = self.at.get(artifact.uri)
        if key is None or self.files[key].version != artifact.version or self._is_replaced(item, self.files[key]):
            return False
        file = self.files[key]
        # Its last line had no end: nothing comes any more.
        unread = file.offset is not None and file.offset < artifact.size and self._is_settled(artifact)
        self._take(item, key, _resume(file) if unread else None)
        return True

    def _is_replaced(self, item: Wanted, file: KnownFile) -> bool:
        """Another file of the same size and time of change? Its number tells for nothing that it may be.

        Where it is not, as on file systems whose numbers change, the bytes are those of the fingerprint.
        """
        if file.node is None or file.node == item.artifact.node or file.fingerprint is None:
            return False
        with self.peeks.open(item) as peek:
            return peek is not None and not peek.begins_with(file.fingerprint, whole=file.offset is None)

    def _known_by(self, item: Wanted, key: str | None) -> bool:
        """Does it begin as that file did?"""
        if key is None or key in self.claimed or self.files[key].fingerprint is None:
            return False
        file = self.files[key]
        with self.peeks.open(item) as peek:
            if not peek or not peek.is_plain or not peek.begins_with(file.fingerprint or "", whole=file.offset is None):
                return self._same_file(item, key, peek)
            return self._goes_on(item, key, peek)

    def _same_file(self, item: Wanted, key: str, peek: Peek | None) -> bool:
        """What is no text is the same only as a whole."""
        file = self.files[key]
        if not peek or peek.is_plain or file.offset is not None:
            return False
        if file.uri == item.artifact.uri or not peek.begins_with(file.fingerprint or "", whole=True):
            return False
        self._take(item, key, NOTHING_MORE)
        return True

    def _goes_on(self, item: Wanted, key: str, peek: Peek) -> bool:
        """The same file, perhaps with more in it."""
        file, size = self.files[key], item.artifact.size
        stays = file.uri == item.artifact.uri
        if file.offset is None:
            self._take(item, key, None if stays else NOTHING_MORE)
        elif not file.offset or (stays and size == file.offset):
            # Written to, and no longer than before: only what it holds can tell what was done.
            self._take(item, key, None)
        else:
            final = self._is_settled(item.artifact)
            begins = goes_on(self.formats[item.source], *peek.around(file.offset), final=final)
            if size == file.offset:
                self._take(item, key, NOTHING_MORE)
            elif begins:
                self._take(item, key, _resume(file))
            elif begins is None:
                self._claim(item, key)
            else:
                self._take(item, key, None)
        return True

    def _copied(self, item: Wanted) -> bool:
        """A copy, or a compressed one: of a file that is gone from its place it is the heir."""
        with self.peeks.open(item) as peek:
            if not peek:
                return False
            for key in self._alike(item, peek):
                if not self._is_elsewhere(key) and self._inherits(item, key, peek):
                    return True
            return self._rotates(item, peek)

    def _is_elsewhere(self, key: str) -> bool:
        """Was it found, or does it lie where nobody has looked this time?"""
        file = self.files[key]
        return key in self.claimed or (file.uri not in self.listed and is_there(file.uri, file.node))

    def _inherits(self, item: Wanted, key: str, peek: Peek) -> bool:
        file = self.files[key]
        if peek.text_begins_with(file.fingerprint or ""):
            before, after = peek.text_around(file.offset or 0)
            begins = goes_on(self.formats[item.source], before, after, final=True)
            self._take(item, key, _resume(file, packed=not peek.is_plain) if begins or not after else None)
            return True
        # A copy that was made before all that was read had been written has nothing new. That it is one is certain
        # only where the log itself is still written to: what begins alike and lies elsewhere may be another file.
        is_copy = file.uri != item.artifact.uri and file.uri in self.listed
        named = len(peek.head) >= LEAD and _family(file.uri) == _family(item.artifact.uri)
        short = is_copy and named and peek.text_ends_before(file.offset or 0)
        if short:
            self._take(item, key, NOTHING_MORE)
        return short

    def _alike(self, item: Wanted, peek: Peek) -> Iterator[str]:
        """Keys of files that began like it, the last first. A few bytes prove nothing unless the names agree too."""
        if self._leads is None:
            self._leads = {}
            for key, file in reversed(self.files.items()):
                if file.fingerprint and file.offset:
                    lead = lead_in(file.fingerprint) if file.offset >= LEAD else _family(file.uri)
                    self._leads.setdefault(lead, []).append(key)
        if len(peek.head) >= LEAD:
            yield from self._leads.get(lead_of(peek.head), ())
        yield from self._leads.get(_family(item.artifact.uri), ())

    def _rotates(self, item: Wanted, peek: Peek) -> bool:
        """Is it being made of a file that is still there? Then it is left alone until that one is gone or emptied."""
        for uri in _origins(item.artifact.uri):
            key = self.here.get(uri)
            if key is None:
                continue
            original = self.claimed[key]
            with self.peeks.open(original) as other:
                if not other or other.shrank or peek.is_beginning_of(other):
                    if other and other.size and peek.is_whole and peek.text_size <= (self.files[key].offset or 0):
                        self.found.copies.append(_as(item, self._free(item.artifact.uri), None).artifact)
                    return True
        return False

    def _other(self, item: Wanted) -> None:
        """Changed, or another file in the place of one that was read before, or new."""
        key = self.at.get(item.artifact.uri)
        if key is not None and key not in self.claimed:
            file = self.files[key]
            if file.version == item.artifact.version:
                # Only what it holds has changed; whoever reads it notes its true version.
                item = replace(item, artifact=replace(item.artifact, version=f"{file.version}-{item.artifact.node}"))
            if not file.offset or not file.rows or self._is_changed(item, file):
                self._take(item, key, None)
                return
            self.found.anew[key] = item.artifact
        self.found.artifacts.append(_as(item, self._free(item.artifact.uri), None))

    def _is_changed(self, item: Wanted, file: KnownFile) -> bool:
        with self.peeks.open(item) as peek:
            return not peek or not peek.is_plain or resembles(peek.read_at, file.lines or "", file.offset or 0)

    def _is_settled(self, artifact: Artifact) -> bool:
        return artifact.modified is None or self.now - artifact.modified > timedelta(seconds=SETTLED)

    def _claim(self, item: Wanted, key: str) -> None:
        self.claimed[key] = item
        self.here[item.artifact.uri] = key

    def _take(self, item: Wanted, key: str, resume: Resume | None) -> None:
        self._claim(item, key)
        known = _as(item, key, resume)
        self.found.artifacts.append(known)
        if self.files[key].uri != item.artifact.uri:
            self.found.moved[key] = known.artifact

    def _free(self, uri: str) -> str:
        """A name that no rows have yet."""
        name, number = uri, 1
        while name in self.names:
            number += 1
            name = f"{uri}#{number}"
        self.names.add(name)
        return name


def _as(item: Wanted, key: str, resume: Resume | None) -> Wanted:
    identity = key if key != item.artifact.uri else None
    if identity is None and resume is None:
        return item
    return replace(item, artifact=replace(item.artifact, identity=identity, resume=resume))


def _resume(file: KnownFile, *, packed: bool = False) -> Resume | None:
    return Resume(file.offset, file.fingerprint or "", file.ruling or b"", packed) if file.offset else None


def _family(uri: str) -> str:
    """What all files that a log becomes have in common: `a.log.1.gz` and `a-20240501.log` → `a.log`."""
    return _NUMBERS.sub("", _PACKED.sub("", uri))


def _origins(uri: str) -> Iterator[str]:
    """What a file may have been called before it was rotated: `a.log.1.gz` → `a.log.1`, `a.log`, `a`."""
    folder, _, name = uri.rpartition("/")
    stem, dot, suffix = name.rpartition(".")
    for end in range(len(name) - 1, 0, -1):
        if name[end] in _MARKS:
            yield f"{folder}/{name[:end]}"
            if dot and end < len(stem):  # a-20240501.log
                yield f"{folder}/{name[:end]}.{suffix}"
