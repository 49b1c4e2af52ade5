"""Values at dotted paths of a JSON text, taken out without reading the rest of it."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

Moment = datetime | int | float
_MILLISECONDS = 1e11
"Seconds beyond this lie in the year 5138: the number counts milliseconds."


def value_at(text: bytes | Raw, path: str, kind: Any) -> Any:
    """The value, None where it is null, UNSET where it is absent; raises msgspec.DecodeError."""
    decoder, depth = _decoder(path, kind)
    found: Any = decoder.decode(text)
    for _ in range(depth):
        if found is UNSET or found is None:
            return found
        found = found.inner
    return found


def array_at(text: bytes, path: str) -> list[Raw] | UnsetType | None:
    """The elements of the array at that path; without a path of the text itself, or the text as the one element."""
    if not path and text.lstrip()[:1] != b"[":
        return [msgspec.json.decode(text, type=Raw)]
    found: list[Raw] | UnsetType | None = value_at(text, path, list[Raw])
    return found


def moment_at(record: Raw, path: str) -> datetime | None:
    """When the record says it happened, UTC; None when it does not say it in a way that can be read."""
    try:
        found = value_at(record, path, Moment)
        if isinstance(found, datetime):
            return found.astimezone(UTC).replace(tzinfo=None) if found.tzinfo else found
        if isinstance(found, (int, float)):
            seconds = found / 1000 if abs(found) > _MILLISECONDS else found
            return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)
    except (msgspec.DecodeError, ValueError, OverflowError, OSError):
        pass
    return None


@cache
def _decoder(path: str, kind: Any) -> tuple[msgspec.json.Decoder[Any], int]:
    names = path.split(".") if path else []
    held: Any = kind | None if names else kind
    for name in reversed(names):
        struct = msgspec.defstruct("Holder", [("inner", held | UnsetType, UNSET)], rename={"inner": name})
        held = struct | None
    return msgspec.json.Decoder(held), len(names)
