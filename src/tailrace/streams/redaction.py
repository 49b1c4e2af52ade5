"""Redaction: personal data in payloads and texts becomes a word or a keyed hash.

Rows in which nothing is found are told by one look at all of them together; the others are taken apart, because JSON
may write any letter as an escape.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.streams.transforms import TEXTS, Changed, set_column, with_new_documents

WORD = "[REDACTED]"
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_HEX = r"[0-9A-Fa-f]{1,4}"
_OCTET = r"(?:25[0-5]|2[0-4]\d|1?\d?\d)"


@dataclass(frozen=True, slots=True)
class Pattern:
    """What is looked for; the hash of a finding begins with `prefix`."""

    name: str
    regex: str
    prefix: str
    own: bool = False
    "Given by the configuration: nothing is known of what it can match."


PATTERNS = {
    name: Pattern(name, regex, prefix)
    for name, prefix, regex in (
        ("email", "usr_", r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+"),
        ("phone", "phn_", r"(?:\+\d{1,3}[ .-]?)?\(?\d{3}\)?[ .-]\d{3,4}[ .-]\d{3,4}\b|\+\d{8,15}\b"),
        ("credit_card", "cc_", r"\b\d(?:[ -]?\d){12,18}\b"),
        ("ssn_us", "ssn_", r"\b\d{3}-\d{2}-\d{4}\b"),
        ("cpr_dk", "cpr_", r"\b[0-3]\d[01]\d{3}-\d{4}\b"),
        ("nino_uk", "nin_", r"\b[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D]\b"),
        ("bsn_nl", "bsn_", r"\b\d{9}\b"),
        ("ipv4", "ip4_", rf"\b{_OCTET}(?:\.{_OCTET}){{3}}\b"),
        ("ipv6", "ip6_", rf"(?:{_HEX}:){{7}}{_HEX}|(?:{_HEX}:){{1,6}}(?::{_HEX}){{1,6}}|(?:{_HEX}:){{1,7}}:"),
        ("passport", "pas_", r"\b[A-Z]{1,2}\d{7,8}\b"),
        ("iban", "iba_", r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b"),
    )
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Field:
    """One field; all of its value, or what of it is such a thing."""

    path: str
    pattern: str | None = None
    strategy: str | None = None


@dataclass(frozen=True)
class Redact:
    """One `redact` block."""

    strategy: str = "redact"
    hash_key: str = field(default="", repr=False)
    patterns: tuple[Pattern, ...] = ()
    fields: tuple[Field, ...] = ()
    scan_all: bool = False
    name: str = "redact"
    keeps_secrets: bool = True

    def apply(self, kind: str, rows: pa.Table) -> Changed:
        for name in TEXTS:
            if name in rows.column_names:
                rows = self._redact_column(name, rows)
        documents = rows["document"].combine_chunks()
        suspect = self._suspect(documents)
        if pc.any(suspect).as_py():
            given = documents.filter(suspect).to_pylist()
            cleaned = [self._cleaned(text) for text in given]
            documents = pc.replace_with_mask(documents, suspect, pa.array(cleaned, pa.binary()))
            rows = _replaced(rows, suspect, documents)
        return Changed(rows)

    @property
    def scans(self) -> bool:
        """Are all texts looked into? Patterns without a field would otherwise be for nothing."""
        return bool(self.patterns) and (self.scan_all or not self.fields)

    def _suspect(self, documents: pa.Array) -> pa.Array:
        """Rows in which something may have to be redacted."""
        everything = pa.array([True] * len(documents))
        if any(one.path not in TEXTS for one in self.fields) or any(pattern.own for pattern in self.patterns):
            return everything
        if not self.scans:
            return pa.array([False] * len(documents))
        found = pc.match_substring(documents, b"\\")
        for pattern in self.patterns:
            found = pc.or_(found, pc.match_substring_regex(documents, pattern.regex.encode()))
        return found

    def _cleaned(self, text: bytes) -> bytes:
        value = msgspec.json.decode(text)
        for one in self.fields:
            if one.path not in TEXTS:
                value = _at(value, one.path.removeprefix("payload.").split("."), partial(self._field, field_=one))
        if self.scans:
            value = self._everywhere(value)
        return msgspec.json.encode(value)

    def _redact_column(self, name: str, rows: pa.Table) -> pa.Table:
        chosen = [one for one in self.fields if one.path == name]
        if not chosen and not self.scans:
            return rows
        texts = rows[name].to_pylist()
        for place, text in enumerate(texts):
            if text is not None:
                for one in chosen:
                    text = self._field(text, one)
                texts[place] = self._scanned(text) if self.scans else text
        return set_column(rows, name, pa.array(texts, pa.string()))

    def _field(self, found: Any, field_: Field) -> Any:
        """A value that is named: nothing of another kind than text or number is left of it."""
        if found is None or isinstance(found, bool):
            return found
        text = found if isinstance(found, str) else msgspec.json.encode(found).decode()
        if field_.pattern is None:
            return self._instead(text, "", field_.strategy)
        pattern = self._named[field_.pattern]
        if isinstance(found, dict | list):
            return self._everywhere(found, (pattern,), field_.strategy)
        cleaned = self._scanned(text, (pattern,), field_.strategy)
        return found if cleaned == text else cleaned

    @cached_property
    def _named(self) -> dict[str, Pattern]:
        return PATTERNS | {pattern.name: pattern for pattern in self.patterns}

    def _everywhere(self, value: Any, patterns: Iterable[Pattern] | None = None, strategy: str | None = None) -> Any:
        """Texts, numbers and names of fields."""
        if isinstance(value, dict):
            return {
                self._scanned(name, patterns, strategy): self._everywhere(inner, patterns, strategy)
                for name, inner in value.items()
            }
        if isinstance(value, list):
            return [self._everywhere(inner, patterns, strategy) for inner in value]
        if isinstance(value, str):
            return self._scanned(value, patterns, strategy)
        if isinstance(value, int | float) and not isinstance(value, bool):
            text = str(value)
            cleaned = self._scanned(text, patterns, strategy)
            return value if cleaned == text else cleaned
        return value

    def _scanned(self, text: str, patterns: Iterable[Pattern] | None = None, strategy: str | None = None) -> str:
        for pattern in self.patterns if patterns is None else patterns:

            def instead(found: re.Match[str], pattern: Pattern = pattern) -> str:
                if pattern.name == "credit_card" and not _is_card(found[0]):
                    return found[0]
                return self._instead(found[0], pattern.prefix, strategy)

            text = _compiled(pattern).sub(instead, text)
        return text

    def _instead(self, text: str, prefix: str, strategy: str | None) -> str:
        if (strategy or self.strategy) == "redact":
            return WORD
        return prefix + hashed(self.hash_key, text)


def hashed(key: str, text: str) -> str:
    """Equal texts have equal hashes: 96 bits of a keyed one, in base 62."""
    digest = hmac.new(key.encode(), text.encode("utf-8", "surrogatepass"), hashlib.sha256).digest()
    number, digits = int.from_bytes(digest[:12], "little"), []
    while number:
        number, rest = divmod(number, 62)
        digits.append(_DIGITS[rest])
    return "".join(reversed(digits)) or "0"


def _compiled(pattern: Pattern) -> re.Pattern[str]:
    """As RE2 reads it, which looks first: digits and letters are those of ASCII."""
    return re.compile(pattern.regex, 0 if pattern.own else re.ASCII)


def _is_card(text: str) -> bool:
    """Luhn's sum."""
    digits = [int(sign) for sign in reversed(text) if sign.isdigit()]
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    return (sum(digits[::2]) + sum(doubled)) % 10 == 0


def _at(value: Any, steps: list[str], change: Callable[[Any], Any]) -> Any:
    """The same value with what is at that path changed; lists are gone through."""
    if isinstance(value, list):
        return [_at(inner, steps, change) for inner in value]
    if not steps:
        return change(value)
    if isinstance(value, dict) and steps[0] in value:
        return value | {steps[0]: _at(value[steps[0]], steps[1:], change)}
    return value


def _replaced(rows: pa.Table, chosen: pa.Array, documents: pa.Array) -> pa.Table:
    changed = with_new_documents(rows, documents)
    payload = pc.if_else(chosen, documents, rows["payload"].combine_chunks())
    return set_column(changed, "payload", payload)
