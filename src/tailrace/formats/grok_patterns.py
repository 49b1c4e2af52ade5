"""The standard grok patterns, by name. They are text files in `patterns/`: one `NAME regex` per line.

None uses lookaround or atomic groups, so that all of them run in linear time; where such a group only said
'not inside a longer number or word', a word boundary stands for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from types import MappingProxyType


@lru_cache(maxsize=1)
def standard_patterns() -> Mapping[str, str]:
    """Name → grok text of every standard pattern."""
    found: dict[str, str] = {}
    for file in (resources.files("tailrace.formats") / "patterns").iterdir():
        if file.name.endswith(".txt"):
            for line in file.read_text(encoding="utf-8").splitlines():
                if line and not line.startswith("#"):
                    name, _, text = line.partition(" ")
                    found[name] = text
    return MappingProxyType(found)
