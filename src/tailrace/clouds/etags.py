"""ETags as the store gave them: a proxy that may change how a body is packed marks them as weak on their way."""

from __future__ import annotations


def strong(etag: str | None) -> str | None:
    """Without that mark: no store takes a weak one for a condition (If-Match)."""
    return etag.removeprefix("W/") if etag else None
