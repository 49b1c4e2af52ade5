"""Transform `pattern`: rows are told by which template their message was written."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.streams.row_rules import PLACE, asked, field_of
from tailrace.streams.templates import MASK, Template, Templates
from tailrace.streams.transforms import Changed, with_new_documents

FILE = "patterns.jsonl"
_LONGEST = 4096
"Characters of a message that are looked at."
_VARIABLE = "|".join((
    r"[A-Za-z][A-Za-z0-9+.-]*://[^\s\"'<>]+",  # URL
    r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+",  # e-mail
    r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b",  # UUID
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?",  # day, moment
    r"\b[0-9a-fA-F]{1,4}(?:::?[0-9a-fA-F]{1,4}){2,7}\b|\b[0-9a-fA-F]{1,4}::[0-9a-fA-F]{1,4}\b",  # IPv6, MAC
    r"(?:\b[A-Za-z]:)?(?:[/\\][\w.@~%+-]+){2,}[/\\]?",  # path
    r"\b0[xX][0-9a-fA-F]+\b",
    r"\b[0-9a-fA-F]{8,}\b",
    r"\d+(?:[.,:]\d+)*",
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pattern:
    """Adds `_pattern_id` and `_pattern` to the payload of rows that have a message."""

    field: str = "message"
    similarity_threshold: float = 0.5
    max_child_nodes: int = 100
    cache_size: int = 100_000
    file: Path | None = None
    "Where templates are kept; None: those of rows that come together, and no longer."
    name: str = "pattern"
    keeps_secrets: bool = False

    def remembering(self, directory: Path) -> Pattern:
        return replace(self, file=directory / FILE)

    def apply(self, kind: str, rows: pa.Table) -> Changed:
        found = asked(f"SELECT {field_of(self.field, kind)} AS m FROM rows ORDER BY {PLACE}", rows)["m"]
        messages, documents = found.combine_chunks(), rows["document"].combine_chunks()
        told = pc.and_(messages.is_valid(), pc.starts_with(documents, b"{"))
        if not pc.any(told).as_py():
            return Changed(rows)
        notes = self._notes(messages.filter(told))
        fronts = pc.replace_substring_regex(documents.filter(told), r"\s*\}\s*$", ",")
        fronts = pc.replace_substring_regex(fronts, r"^\{\s*,$", "{")  # it was empty
        noted = pc.binary_join_element_wise(fronts, notes, pa.scalar(b"", pa.binary()))
        changed = with_new_documents(rows, pc.replace_with_mask(documents, told, noted))
        # What has no message stays as it was sent.
        kept = pc.if_else(told, changed["payload"].combine_chunks(), rows["payload"].combine_chunks())
        return Changed(changed.set_column(changed.schema.get_field_index("payload"), "payload", kept))

    def _notes(self, messages: pa.Array) -> pa.Array:
        """How each document ends. Only messages that differ are looked at."""
        coded = messages.dictionary_encode()
        masked = mask(coded.dictionary).dictionary_encode()
        templates = _learned(self).of(masked.dictionary.to_pylist())
        ends = pa.array([_end(template) for template in templates], pa.binary())
        return ends.take(masked.indices).take(coded.indices)


def mask(messages: pa.Array) -> pa.Array:
    """Numbers, times, addresses, paths and ids are variables wherever they stand."""
    return pc.replace_substring_regex(pc.utf8_slice_codeunits(messages, 0, _LONGEST), _VARIABLE, MASK)


def _end(template: Template) -> bytes:
    return b'"_pattern_id":"%s","_pattern":%s}' % (template.id.encode(), msgspec.json.encode(template.text))


def _learned(pattern: Pattern) -> Templates:
    return _kept(pattern) if pattern.file is not None else _new(pattern)


def _new(pattern: Pattern) -> Templates:
    return Templates(pattern.similarity_threshold, pattern.max_child_nodes, pattern.cache_size, pattern.file)


_kept = lru_cache(maxsize=16)(_new)
"Of this process: whatever others learn is read from the file."
