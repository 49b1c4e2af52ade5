"""How many files and connections this process may have open."""

from __future__ import annotations

import sys
from contextlib import suppress


def allowed() -> int:
    """So many at a time."""
    import resource

    now, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if now == resource.RLIM_INFINITY else now


def allow_more() -> bool:
    """As many as this process may allow itself; is that more than before?"""
    import resource

    before = allowed()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return allowed() > before
