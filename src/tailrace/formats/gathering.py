"""Fields that belong together by the beginning of their names, such as `resourceTags/user:Team` → one JSON column."""

from __future__ import annotations

import re
from collections.abc import Iterable

_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[^0-9A-Za-z]+")


def gather(src: str, fields: Iterable[str]) -> dict[str, str]:
    """Key → field, for the fields that `src` (`resourceTags/*`) takes; none for a `src` of another kind."""
    if not src.endswith("/*"):
        return {}
    beginning = src[:-1].casefold()
    found = [field for field in fields if field.casefold().startswith(beginning)]
    return {snake(field[len(beginning) :]): field for field in found}


def snake(name: str) -> str:
    """`user:CostCenter` → `user_cost_center`."""
    return "_".join(word.lower() for word in _WORDS.split(name) if word)
