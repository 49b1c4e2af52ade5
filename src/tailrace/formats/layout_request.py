"""HTTP request lines → method, target, protocol, without losing what is none."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.formats.fit import Texts, null_where
from tailrace.formats.tokens import PROTOCOL, Request

_WHOLE = rf"(?s)^(?P<m>[^ ]*) (?P<t>.*) (?P<p>{PROTOCOL}[^ ]*)$"
_PARTIAL = r"(?s)^(?P<m>[^ ]*)(?: (?P<t>.*))?$"
_NULL = pa.scalar(None, pa.string())


def split_request(texts: pa.Array, request: Request, null: str | None) -> Texts:
    """The three parts; the text itself remains, under its own name, where it is not exactly these three."""
    # Load balancers write three markers for what was no HTTP.
    texts = null_where(texts, null, f"{null} {null} {null}", f"{null} {null} {null} ")
    whole = pc.extract_regex(texts, _WHOLE)
    clean = whole.is_valid()
    raw = null_where(pc.if_else(clean, _NULL, texts), "")
    partial = pc.extract_regex(raw, _PARTIAL)
    # A part that a pattern did not find is '' there, not null.
    lesser = [null_where(partial.field("m"), ""), null_where(partial.field("t"), ""), _NULL]
    parts = [pc.if_else(clean, whole.field(n), other) for n, other in zip("mtp", lesser, strict=True)]
    fields = {name: null_where(part, null) for name, part in zip(request.parts, parts, strict=True)}
    return {**fields, request.name: raw}
