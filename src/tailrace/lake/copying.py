"""A data file from one place to another, byte for byte, and the proof that it arrived."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable

from tailrace.core.errors import LakeError
from tailrace.lake.damage import COLLECT_AGAIN, DAMAGED_FILE, not_mounted
from tailrace.lake.place import Place

Told = Callable[[int], None]
"Bytes that have been copied since the last time."
_BLOCK = 4 << 20
_ORIGIN = re.compile(r"-of-([0-9a-f]{20})\.parquet$")


def origin(path: str) -> str:
    """What a file has in common with all copies of it, wherever they lie and however often they were copied."""
    name = path.rpartition("/")[2]
    found = _ORIGIN.search(name)
    return found[1] if found else hashlib.blake2b(name.encode(), digest_size=10).hexdigest()


def copy_name(run: str, label: str, path: str) -> str:
    """The name of a copy that a run makes: it begins with the run, as all names do, and ends with the origin."""
    return f"{run}-{label}-of-{origin(path)}.parquet"


def copy_whole(source: Place, name: str, target: Place, path: str, size: int, told: Told = lambda _: None) -> None:
    """What was written is read again, and has to be what was read; and that has to be as large as the log says."""
    read, digest = _copy(source, name, target, path, told)
    if read != size:
        target.delete([path])
        message = f"the file has {read:,} bytes, and the log says {size:,}"
        raise LakeError(message, code=DAMAGED_FILE, where=source.address(name), hint=COLLECT_AGAIN)
    if digest != _digest(target, path):
        message, hint = "a copy differs from its original, which is kept", "`tailrace doctor` looks for damaged files"
        raise LakeError(message, code="lake.bad-copy", where=target.address(path), hint=hint)


def _copy(source: Place, name: str, target: Place, path: str, told: Told) -> tuple[int, str]:
    """Returns how many bytes were read, and what they hash to."""
    digest, read = hashlib.blake2b(digest_size=16), 0
    draft = target.create(path)
    try:
        with source.open(name) as opened, open(draft.path, "wb") as copy:
            while block := opened.read(_BLOCK):
                digest.update(block)
                copy.write(block)
                read += len(block)
                told(len(block))
        draft.close()
        draft.wait()
    except FileNotFoundError:
        draft.discard()
        raise not_mounted(source, [name]) or LakeError(
            "the file is missing", code=DAMAGED_FILE, where=source.address(name), hint=COLLECT_AGAIN
        ) from None
    except BaseException:
        draft.discard()
        raise
    return read, digest.hexdigest()


def _digest(place: Place, path: str) -> str:
    digest = hashlib.blake2b(digest_size=16)
    with place.open(path) as opened:
        while block := opened.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
