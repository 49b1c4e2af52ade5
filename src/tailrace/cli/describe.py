"""Parts of a configuration in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING

from tailrace.core import Delimited, Format, Grok, Json, Jsonl, Layout, Pairs, Regex

if TYPE_CHECKING:
    from tailrace.cli.listing import Row
    from tailrace.config.attributes import Attrs

_BLANKS = r"\s"


def format_words(fmt: Format) -> str:
    """How the bytes are read, in words."""
    if isinstance(fmt, Json):
        return f"json, records under {fmt.records}" if fmt.records else "json"
    if isinstance(fmt, Jsonl):
        return "jsonl"
    if isinstance(fmt, Delimited):
        header = {None: "header if there is one", True: "with header", False: "no header"}[fmt.header]
        return f"delimited by {'blanks' if fmt.delimiter == _BLANKS else repr(fmt.delimiter)}, {header}"
    if isinstance(fmt, Layout):
        return f"{fmt.dialect} layout {fmt.text}"
    kind = fmt.dialect if isinstance(fmt, Pairs) else type(fmt).__name__.lower()
    return f"{kind} {fmt.layout}" if isinstance(fmt, Grok | Regex) else kind


def format_values(fmt: Format) -> Row:
    """What makes the format differ from one of its kind that was given nothing; pairs are a map."""
    found: Row = {}
    for field in fields(fmt):
        value = getattr(fmt, field.name)
        if value != field.default:
            pairs = isinstance(value, tuple) and all(isinstance(item, tuple) and len(item) == 2 for item in value)
            found[field.name] = dict(value) if pairs else value
    return found


def attribute_rows(attributes: Attrs) -> list[Row]:
    """What a block takes, from its declaration."""
    from tailrace.config.attributes import KIND_WORDS

    return [
        {
            "name": name,
            "type": KIND_WORDS[attribute.kind],
            "required": attribute.required,
            "default": attribute.default,
            "description": attribute.doc if attribute.active else f"{attribute.doc} Not active yet.",
        }
        for name, attribute in attributes.items()
    ]


def with_defaults(given: Mapping[str, object], declared: Attrs) -> Row:
    """Every attribute that has a spelling of its own, as given or as it is by default."""
    return {name: given.get(name, attribute.default) for name, attribute in declared.items() if not attribute.same_as}
