"""Where people say that something is to be written: links are followed, and what is no plain file stays what it is."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tailrace.core.errors import UsageError, one_line

STDOUT = "standard output"
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
"What a disk says that takes no more; all else may be somebody else's error, such as a socket's."
NO_ROOM_IN_WORDS = tuple(map(os.strerror, (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)))
"Of other programs' errors no more is left."


def is_special(path: Path) -> bool:
    """A device, a pipe or a socket, itself or by a link: it is written into, never replaced."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def target_of(path: Path) -> Path:
    """The file that a name stands for. What is special keeps its name: `/dev/fd/1` leads to none that can be opened."""
    return path if is_special(path) else Path(os.path.realpath(path))


def cannot_write(what: Path | str, error: Exception) -> UsageError:
    """As it is told; a library may have errors of its own for what the operating system says."""
    number, reason = (error.errno, error.strerror) if isinstance(error, OSError) else (None, None)
    hint = "make room there, or write elsewhere" if number in _NO_ROOM else "choose a place that you may write to"
    return UsageError(f"cannot write {what}: {reason or one_line(error)}", code="usage.cannot-write", hint=hint)


@contextmanager
def room_for(what: Path | str) -> Iterator[None]:
    """A disk that is full is told by what was to be written."""
    try:
        yield
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        raise cannot_write(what, error) from None
