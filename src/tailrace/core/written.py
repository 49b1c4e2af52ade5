"""Where people say that something is to be written: links are followed, and what is no plain file stays what it is."""

from __future__ import annotations

import os
import stat
from pathlib import Path


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
