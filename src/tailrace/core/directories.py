"""Where things lie on this machine that belong to no lake."""

from __future__ import annotations

import os
from pathlib import Path


def cache_directory() -> Path:
    """Where things that can be made again are kept."""
    own = os.environ.get("TAILRACE_CACHE_DIR")
    if own:
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tailrace"
