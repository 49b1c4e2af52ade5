"""The schema that is there without a declaration."""

from __future__ import annotations

DEFAULT_SCHEMA = "tailrace"
"The schema that holds everything and needs no prefix."
SCHEMA_ALIAS = "tailpipe"
"The same, as queries written for Tailpipe call it."
