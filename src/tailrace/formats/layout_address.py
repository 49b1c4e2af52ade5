"""`address:port` in one word → address and port, without losing what is neither."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.formats.fit import Texts, null_where

# The port is what follows the last colon: IPv6 addresses come with and without brackets.
_PORT = r"(?s)^\[?(?P<a>[^\[\]]*?)\]?:(?P<p>[0-9]{1,5}|-)$"
_ALONE = r"^\[?(?P<a>[0-9A-Za-z.-]+|[0-9A-Fa-f:.]*::?[0-9A-Fa-f:.]*)\]?$"
_NULL = pa.scalar(None, pa.string())


@dataclass(frozen=True, slots=True)
class AddressPort:
    """A field that holds an address with its port, and the names of the two."""

    name: str
    parts: tuple[str, str]


def split_address(texts: pa.Array, split: AddressPort, null: str | None) -> Texts:
    """The two parts; the text itself remains, under its own name, where it is neither of them."""
    texts = null_where(texts, null)
    whole = pc.extract_regex(texts, _PORT)
    found = whole.is_valid()
    rest = null_where(pc.if_else(found, _NULL, texts), "")
    addresses, ports = whole.field("a"), whole.field("p")
    if rest.null_count < len(rest):
        alone = pc.extract_regex(rest, _ALONE)
        addresses = pc.if_else(found, addresses, alone.field("a"))
        rest = pc.if_else(alone.is_valid(), _NULL, rest)
    masked = [pc.if_else(found, ports, _NULL), pc.if_else(texts.is_valid(), addresses, _NULL)]
    port, address = (null_where(part, "", null) for part in masked)
    return {split.parts[0]: address, split.parts[1]: port, split.name: rest}
