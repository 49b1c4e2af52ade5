"""HTTP request lines → method, target, protocol, without losing what is none."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.formats.fit import Texts, null_where
from tailrace.formats.tokens import PROTOCOL, Request

_WHOLE = rf"(?s)^(?P<m>[^ ]*) (?P<t>.*) (?P<p>{PROTOCOL}[^ ]*)$"
_PARTIAL = r"(?s)^(?P<m>[^ ]*)(?: (?P<t>.*))?$"


def split_request(texts: pa.Array, request: Request, null: str | None) -> Texts:
    """The three parts; the text itself remains, under its own name, where it is not exactly these three."""
    texts = null_where(texts, null)
    whole = pc.extract_regex(texts, _WHOLE)
    clean = whole.is_valid()
    parts = [null_where(whole.field(name), null) for name in ("m", "t", "p")]
    raw = pc.if_else(pc.or_(clean, pc.equal(texts, "").fill_null(False)), pa.scalar(None, pa.string()), texts)
    if raw.null_count < len(raw):
        partial = pc.extract_regex(texts, _PARTIAL)
        for place, name in enumerate(("m", "t")):
            part = null_where(partial.field(name), "", null)
            parts[place] = pc.if_else(clean, parts[place], part)
    parts = [_where(texts, part) for part in parts]
    return {**dict(zip(request.parts, parts, strict=True)), request.name: raw}


def _where(texts: pa.Array, part: pa.Array) -> pa.Array:
    """A struct's child keeps its slot where the struct is null: null there as well."""
    return part if not texts.null_count else pc.if_else(texts.is_valid(), part, pa.scalar(None, pa.string()))
